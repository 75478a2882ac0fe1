"""The graph of a model: fitted to the rows, and which of them labels reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..graphs import KNNGraph
from ..messages import warn


def resolve_graph(graph: Any, X: Any, default: KNNGraph, precomputed: bool = False) -> KNNGraph:
    """Return a graph fitted to these rows.

    Parameters
    ----------
    graph : KNNGraph, array, sparse matrix or None
        A graph that was fitted to X is used as it is, another is fitted; an array is an affinity.
    X : array or CSR matrix of shape (n, d)
        The rows, or their Gram matrix.
    default : KNNGraph
        Used for None; an affinity gets the same kind of Laplacian.
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
        raise TypeError(
            f"graph must be a KNNGraph, an affinity matrix or None, got {type(graph).__name__}"
        )
    if precomputed and graph.metric != "precomputed":
        if not hasattr(graph, "affinity_"):
            graph = clone(graph).set_params(metric="precomputed")
        elif graph.n_samples_ == X.shape[0]:
            return graph  # fitted on the rows themselves, which are not given here
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
    """Return the graph of regressors by default.

    The normalised Laplacian penalises constants on nodes of unequal degree: a target with a mean
    would be drawn towards zero.
    """
    return KNNGraph(normalized=False)


def label_reach(
    component: np.ndarray,
    labelled: np.ndarray,
    consequence: str = "their predictions rest on the kernel alone",
    advice: str = "or raise n_neighbors of the graph",
) -> np.ndarray:
    """Return which rows share a component of the graph with a labelled one, and warn of others.

    ``consequence`` says what becomes of the others, unless it is empty: then nothing is said.
    """
    reached = np.isin(component, component[labelled])
    if consequence and not reached.all():
        warn(
            f"{int((~reached).sum())} rows lie in parts of the graph that no label reaches (see "
            f"label_reach_): {consequence}. Label a row of each part, {advice}"
        )
    return reached
