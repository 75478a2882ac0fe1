"""The rows in use, their graph and the families over them: all that does not depend on labels.

So it is kept when labels are added. Knows no scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.packing import expect, field_values
from ..estimators.graph_choice import resolve_graph
from ..graphs import KNNGraph
from ..kernels.functions import resolve_gamma
from ..plan.default import DefaultPlan
from . import limits
from .candidate_settings import GRAPH, MANIFOLD, MARGIN, SELF_TRAINING, SUPERVISED
from .edges import weigh_edges
from .graph_family import GraphFamily
from .labels import Labels
from .manifold_family import ManifoldFamily
from .margin_family import MarginFamily
from .rows import UsedRows
from .self_training_family import SelfTrainingFamily
from .supervised_family import SupervisedFamily

#: The graph of a user who gives none. One bandwidth for all rows would be that of dense regions or
#: of sparse ones; local ones gain one to two points of accuracy over the graph.
DEFAULT_GRAPH = KNNGraph(bandwidth="local")


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
        Rows in use that are landmarks in any case: those labelled in the first fit.
    seed : int
        Seed of samples, folds and landmarks.
    n_others : int
        Rows that are not in use and by which the edges of the graph are weighed as well.
    """

    rows: UsedRows
    graph: KNNGraph
    landmarks: np.ndarray
    seed: int
    n_others: int = 0

    @cached_property
    def families(self) -> dict[str, Any]:
        """The families over the rows in use, by name; they keep what they have computed."""
        X = self.rows.scaled
        gamma = resolve_gamma("median", X)
        return {
            SUPERVISED: SupervisedFamily(X, gamma),
            GRAPH: GraphFamily(X, self.graph),
            MANIFOLD: ManifoldFamily(X, gamma, self.graph, self.landmarks, self.seed),
            MARGIN: MarginFamily(X, gamma, self.seed),
            SELF_TRAINING: SelfTrainingFamily(X, self.seed),
        }

    def including(self, index: np.ndarray) -> Setup:
        """Return a setup in which these rows are in use as well; the graph is built again."""
        if np.isin(index, self.rows.index).all():
            return self
        rows = self.rows.including(index)
        landmarks = np.searchsorted(rows.index, self.rows.index[self.landmarks])
        graph, n = resolve_graph(None, rows.scaled, DEFAULT_GRAPH), 0
        if self.n_others:
            others = rows.others(self.seed)
            graph, n = weigh_edges(graph, rows, others), others.shape[0]
        return Setup(rows, graph, landmarks, self.seed, n)

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        n = len(self.rows.index)
        expect(self.graph.n_samples_ == n and self.seed >= 0 and self.n_others >= 0)
        expect(self.landmarks.dtype.kind == "i" and self.landmarks.ndim == 1)
        expect(len(self.landmarks) == 0 or 0 <= self.landmarks.min() <= self.landmarks.max() < n)

    __getstate__ = field_values  # pickles leave out what is cached


def families_to_try(method: str, plan: DefaultPlan, labels: Labels, rows: UsedRows) -> list[str]:
    """Return the names of the families to try, the supervised one always."""
    if method != "auto":
        return list(dict.fromkeys([SUPERVISED, method]))
    l, n_rows = len(labels.targets), len(rows.index)
    if l == n_rows or l > limits.MOST_LABELS:
        return [SUPERVISED]
    worthwhile = {
        SUPERVISED: True,
        GRAPH: l * n_rows <= limits.GRAPH_WORK,
        MANIFOLD: plan.manifold_fits,
        MARGIN: plan.margin_fits and may_have_margin(labels),
        SELF_TRAINING: plan.self_training_fits and may_self_train(labels, rows.X),
    }
    return [family for family, tried in worthwhile.items() if tried]


def may_weigh_edges(settings: Any, n_labels: int, n_rows: int) -> bool:
    """Return whether a graph of our own may be used, of n_rows rows that are not read yet."""
    if settings.graph is not None or settings.method != "auto":
        return settings.graph is None and settings.method in (GRAPH, MANIFOLD)
    return n_labels < n_rows and n_labels <= limits.MOST_LABELS


def may_have_margin(labels: Labels) -> bool:
    """Return whether the margin family is for such labels: few classes."""
    return labels.codes is not None and labels.targets.shape[1] <= limits.MARGIN_CLASSES


def may_self_train(labels: Labels, X: Any) -> bool:
    """Return whether the self-training family is for such labels and rows: text of many classes.

    Dense rows have a graph that shows more, and for few classes a margin does.
    """
    most = limits.SELF_TRAINING_CLASSES
    return sp.issparse(X) and limits.MARGIN_CLASSES < labels.targets.shape[1] <= most
