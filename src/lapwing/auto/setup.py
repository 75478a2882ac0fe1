"""What a fit of the default stands on: rows in use, their graph, and the families over them.

It does not depend on the labels' values, so that more labels can be given later. Knows no scores.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays.packing import expect
from ..estimators.graph_choice import resolve_graph
from ..graphs import KNNGraph
from ..plan import DefaultPlan
from . import limits
from .families import GRAPH, MANIFOLD, MARGIN, SUPERVISED
from .graph_family import GraphFamily
from .labels import Labels
from .manifold_family import ManifoldFamily
from .margin_family import MarginFamily
from .rows import UsedRows
from .supervised_family import SupervisedFamily


@dataclass(frozen=True)
class Setup:
    """Rows, graph and seed of a fit, with the families over them.

    Attributes
    ----------
    rows : UsedRows
        The rows in use.
    graph : KNNGraph
        Their graph.
    landmarks : ndarray of int
        Indices among the rows in use that are landmarks in any case: the first labelled ones.
    seed : int
        For samples, folds and landmarks.
    """

    rows: UsedRows
    graph: KNNGraph
    landmarks: np.ndarray
    seed: int

    @cached_property
    def families(self) -> dict[str, Any]:
        """The families over the rows in use, by name; they keep what they have computed."""
        X = self.rows.scaled
        return {
            SUPERVISED: SupervisedFamily(X),
            GRAPH: GraphFamily(X, self.graph),
            MANIFOLD: ManifoldFamily(X, self.graph, self.landmarks, self.seed),
            MARGIN: MarginFamily(X, self.seed),
        }

    def including(self, index: np.ndarray) -> Setup:
        """Return a setup in which these rows are in use as well; the graph is built again."""
        if np.isin(index, self.rows.index).all():
            return self
        rows = self.rows.including(index)
        landmarks = np.searchsorted(rows.index, self.rows.index[self.landmarks])
        graph = resolve_graph(None, rows.scaled, KNNGraph())
        return Setup(rows, graph, landmarks, self.seed)

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        n = len(self.rows.index)
        expect(self.graph.n_samples_ == n and self.seed >= 0)
        expect(self.landmarks.dtype.kind == "i" and self.landmarks.ndim == 1)
        expect(len(self.landmarks) == 0 or 0 <= self.landmarks.min() <= self.landmarks.max() < n)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


def families_to_try(method: str, plan: DefaultPlan, labels: Labels, n_rows: int) -> list[str]:
    """Return the families that are tried: the supervised one always, and alone if so."""
    if method != "auto":
        return list(dict.fromkeys([SUPERVISED, method]))
    l = len(labels.index)
    if l in (n_rows, 0) or l > limits.MOST_LABELS:
        return [SUPERVISED]
    tried = [SUPERVISED]
    tried += [GRAPH] if l * n_rows <= limits.GRAPH_WORK else []
    tried += [MANIFOLD] if plan.manifold_fits else []
    few_classes = labels.codes is not None and labels.targets.shape[1] <= limits.MARGIN_CLASSES
    return [*tried, MARGIN] if few_classes and plan.margin_fits else tried
