"""The graph that a user chose: fitted to the rows, and which of them the labels reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..graphs import KNNGraph
from ..messages import warn
from .parameters import is_word
from .targets import Targets

#: What follows for rows that no label reaches, where models have a kernel.
KERNEL_ALONE = "their predictions rest on the kernel alone"
#: Estimators with a graph of landmarks, for messages.
_WITH_ANCHORS = "LapSVC, LapRLSClassifier and LapRLSRegressor"


def graph_of_rows(
    model: Any,
    X: Any,
    targets: Targets,
    refit: bool,
    *,
    default: KNNGraph | None = None,
    consequence: str = KERNEL_ALONE,
) -> tuple[KNNGraph, np.ndarray]:
    """Return the graph fitted to the rows, and which of them a label reaches.

    ``model`` is an estimator, of which parameters are read; ``refit`` uses the graph of its last
    fit, and ``default`` is by default that of the task. See `resolve_graph` and `label_reach`,
    which warns only where the graph has a weight.
    """
    if default is None:
        default = regression_graph() if targets.classes is None else KNNGraph()
    precomputed = is_word(getattr(model, "kernel", None), "precomputed")
    graph = resolve_graph(model.graph_ if refit else model.graph, X, default, precomputed)
    if getattr(model, "reg_manifold", 1.0) == 0:
        consequence = ""
    return graph, label_reach(graph.component_, targets.index, consequence)


def resolve_graph(graph: Any, X: Any, default: KNNGraph, precomputed: bool = False) -> KNNGraph:
    """Return a graph fitted to these rows.

    Parameters
    ----------
    graph : KNNGraph, array, sparse matrix or None
        A graph that was fitted to X is used as it is, another is fitted; an array is an affinity
        matrix.
    X : array or CSR matrix of shape (n, d)
        The rows, or their Gram matrix.
    default : KNNGraph
        Used for None; an affinity matrix gets a Laplacian that is normalised as this one.
    precomputed : bool, default=False
        Whether X is a Gram matrix.

    Returns
    -------
    KNNGraph
        Fitted.
    """
    if sp.issparse(graph) or isinstance(graph, np.ndarray):
        graph = KNNGraph.from_affinity(graph, normalized=default.normalized)
    elif graph is None:
        graph = default
    elif not isinstance(graph, KNNGraph):
        where = f", which {_WITH_ANCHORS} take" if is_word(graph, "anchors") else ""
        found = repr(graph) if where else type(graph).__name__
        raise TypeError(f"graph must be a KNNGraph, an affinity matrix or None, got {found}{where}")
    if precomputed and graph.metric != "precomputed":
        if not hasattr(graph, "affinity_"):
            graph = clone(graph).set_params(metric="precomputed")
        elif graph.n_samples_ == X.shape[0]:
            return graph  # fitted to the rows themselves, which are not given here
        else:
            raise ValueError(
                f"the graph was fitted to {graph.n_samples_} rows and the precomputed kernel "
                f"has {X.shape[0]}: fit the graph to the same rows, or pass an unfitted one"
            )
    if graph.fitted_to(X):
        return graph
    if hasattr(graph, "affinity_") and not hasattr(graph, "n_features_in_"):
        raise ValueError(
            f"the affinity matrix has {graph.n_samples_} rows and X has {X.shape[0]}: "
            "they must describe the same rows"
        )
    return clone(graph).fit(X)


def regression_graph() -> KNNGraph:
    """Return the default graph of regressors.

    A normalised Laplacian penalises constants where nodes have unequal degrees: predictions would
    be drawn towards zero.
    """
    return KNNGraph(normalized=False)


def label_reach(
    component: np.ndarray,
    labelled: np.ndarray,
    consequence: str = KERNEL_ALONE,
    advice: str = "or raise n_neighbors of the graph",
) -> np.ndarray:
    """Return which rows share a component of the graph with a labelled one, and warn of others.

    ``consequence`` is what follows for the others; if it is empty, there is no warning.
    """
    reached = np.isin(component, component[labelled])
    if consequence:
        warn_unreached(int((~reached).sum()), consequence, advice)
    return reached


def warn_unreached(
    n_rows: int, consequence: str, advice: str, *, mask: str | None = "label_reach_"
) -> None:
    """Warn of rows that no label reaches, if there are any; ``mask`` is the attribute with them."""
    if n_rows:
        warn(
            f"{n_rows} {'row lies' if n_rows == 1 else 'rows lie'} in parts of the graph that no "
            f"label reaches{f' (see {mask})' if mask else ''}: {consequence}. Label a row of each "
            f"part, {advice}"
        )
