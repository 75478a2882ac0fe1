"""The graph's part of an embedded model: virtual targets from the labels and the graph alone.

An intermediate function g on the rows is near the labels and smooth over the graph, and the model
f is fitted to g on all rows. The kernel of g, that of the graph, gives the virtual targets ỹ: the
best g where f does not matter. Knows neither f nor its kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graphs import KNNGraph
from ..messages import warn
from ..operators import DiagonalOperator, LowRankOperator, Operator
from ..plan import Plan
from ..spaces import graph_kernel, label_precision, spectral_embedding
from .parameters import check_count, check_not_negative, check_positive
from .targets import Targets


@dataclass(frozen=True)
class GraphPart:
    """The graph's part of an embedded problem.

    Attributes
    ----------
    kernel : Operator
        K_G.
    virtual : ndarray of shape (n, c)
        ỹ = K_G Λ y.
    held_out : ndarray of shape (l, c)
        The same on the labelled rows, each without its own target.
    constant : float
        Smallest energy of g, that of ỹ.
    attributes : dict
        Fitted attributes of the model, by name.
    """

    kernel: Operator
    virtual: np.ndarray
    held_out: np.ndarray
    constant: float
    attributes: dict[str, Any]


def check_embedding(settings: Any, n: int) -> None:
    """Refuse parameters that make no embedded problem of n rows."""
    check_not_negative("reg_manifold", settings.reg_manifold)
    for name in ("C", "reg_labeled", "tol"):
        check_positive(name, getattr(settings, name))
    check_count("max_iter", settings.max_iter)
    k = settings.n_eigenvectors
    if k is None:
        return
    check_count("n_eigenvectors", k)
    if k >= n:
        raise ValueError(
            f"n_eigenvectors={k} must be less than the {n} rows: use a smaller number, or None for "
            "the exact graph kernel"
        )


def graph_part(settings: Any, plan: Plan, graph: KNNGraph, targets: Targets) -> GraphPart:
    """Return graph kernel and virtual targets, Chen, Tsang & Xu (2012), eq. (19)-(20), (25)-(29).

    Without a manifold term the kernel is that of the labelled rows alone, since nothing ties g to
    the other rows.
    """
    index, y = targets.index, targets.values
    strengths = label_strengths(settings, targets)
    if plan.graph_kernel is None:
        return GraphPart(DiagonalOperator(1.0 / strengths), y, np.zeros(y.shape), 0.0, {})
    mu, attributes = float(settings.reg_manifold), {}
    precision = label_precision(graph.component_, index, strengths, y)
    if plan.graph_kernel == "low_rank":
        values, vectors = graph_spectrum(graph, int(settings.n_eigenvectors))
        embedding = spectral_embedding(values, vectors, int(graph.power), precision, mu)
        attributes["embedding_"] = embedding
        K_G: Operator = LowRankOperator(embedding)
    else:
        dense = plan.graph_kernel == "dense"
        K_G = graph_kernel(graph.laplacian_, precision, mu, dense=dense)
    weighted = np.zeros((len(precision), targets.n_columns))
    weighted[index] = strengths[:, None] * y
    virtual = K_G @ weighted
    attributes["virtual_targets_"] = one_column_as_vector(virtual)
    own = (K_G.diagonal_at(index) * strengths)[:, None]
    rest = np.where(own < 1.0 - 1e-9, 1.0 - own, np.inf)
    held_out = (virtual[index] - own * y) / rest
    energy = float((weighted[index] * (y - virtual[index])).sum())
    return GraphPart(K_G, virtual, held_out, 0.5 * energy, attributes)


def label_strengths(settings: Any, targets: Targets) -> np.ndarray:
    """Return λ times the weights of the labelled rows."""
    return float(settings.reg_labeled) * targets.weights


def graph_spectrum(graph: KNNGraph, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return k eigenvalues and eigenvectors of the graph, and warn if they miss components."""
    if graph.n_components_ > k:
        warn(
            f"the graph has {graph.n_components_} components and n_eigenvectors is {k}: only the "
            f"{k} largest components are told apart, and labels in others are not used. Raise "
            "n_eigenvectors, or n_neighbors of the graph"
        )
    return graph.eigenpairs(k)


def one_column_as_vector(columns: np.ndarray) -> np.ndarray:
    """Return one column as a vector, more as they are."""
    return columns[:, 0] if columns.shape[1] == 1 else columns
