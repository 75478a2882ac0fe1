"""Rows worth labelling next, and a map of all rows: what people look at after a fit.

Knows rows, their graph and how unsure a model is of each; nothing of models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD

from ..arrays.duplicates import representative_rows
from ..estimators.parameters import check_count
from ..graphs import KNNGraph

#: Share of the rows in the largest component from which eigenvectors of the graph make a map.
_CONNECTED = 0.9
#: Components up to which those eigenvectors are looked for, and rows up to which they are cheap.
_MOST_COMPONENTS, _MOST_ROWS = 20, 30_000


def worth_labelling(
    X: Any, graph: KNNGraph, doubt: np.ndarray, labelled: np.ndarray, n: int
) -> np.ndarray:
    """Return rows, best first: unsure, with many neighbours, and unlike each other.

    Parameters
    ----------
    X : array or CSR matrix of shape (rows, d)
        The rows of the graph.
    graph : KNNGraph
        Their graph.
    doubt : ndarray of shape (rows,)
        How unsure the model is, from 0 to 1.
    labelled : ndarray of int
        Rows that have a label.
    n : int
        How many; fewer are returned where no others are left.
    """
    check_count("n", n)
    W = graph.affinity_
    degree = np.asarray(W.sum(axis=1)).ravel()
    standing = np.sqrt(degree / max(float(degree.mean()), 1e-300))
    worth = (doubt + 1e-3) * (standing + 1e-3)
    for row in labelled:
        _shade(worth, W, int(row))
    representative = representative_rows(X)
    known = np.zeros(X.shape[0], dtype=bool)
    known[representative[labelled]] = True
    found: list[int] = []
    for row in _unreached(graph, degree, labelled, max(n // 2, 1)):
        found.append(row)
        known[representative[row]] = True
        _shade(worth, W, row)
    while len(found) < n and worth.max(initial=0.0) > 0:
        row = int(worth.argmax())
        if not known[representative[row]]:
            found.append(row)
            known[representative[row]] = True
        _shade(worth, W, row)
    return np.array(found, dtype=int)


def _unreached(graph: KNNGraph, degree: np.ndarray, labelled: np.ndarray, n: int) -> list[int]:
    """Return the row with most neighbours of each part without a label, the largest parts first."""
    component = graph.component_
    sizes = np.bincount(component)
    sizes[np.unique(component[labelled])] = 0
    parts = np.argsort(-sizes, kind="stable")[:n]
    parts = parts[sizes[parts] > 1]
    return [int(np.where(component == part, degree, -1.0).argmax()) for part in parts]


def _shade(worth: np.ndarray, W: sp.csr_array, row: int) -> None:
    """Lower the worth of a row's neighbours, and of theirs; that of the row itself to nothing."""
    place = slice(W.indptr[row], W.indptr[row + 1])
    near, weights = W.indices[place], np.minimum(W.data[place], 1.0)
    worth[near] *= 1.0 - weights
    for other, weight in zip(near, weights, strict=True):
        further = slice(W.indptr[other], W.indptr[other + 1])
        worth[W.indices[further]] *= 1.0 - 0.3 * weight * np.minimum(W.data[further], 1.0)
    worth[row] = 0.0


def map_rows(X: Any, graph: KNNGraph) -> tuple[np.ndarray, str]:
    """Return coordinates of the rows of a graph in the plane, and what they are.

    Eigenvectors of the Laplacian where the graph hangs together, else principal components.
    """
    n, sizes = X.shape[0], np.bincount(graph.component_)
    connected = sizes.max() >= _CONNECTED * n and len(sizes) <= _MOST_COMPONENTS
    if connected and 10 < n <= _MOST_ROWS:
        degree = np.asarray(graph.affinity_.sum(axis=1)).ravel()
        vectors = graph.eigenpairs(len(sizes) + 2)[1][:, -2:]
        points = vectors / np.sqrt(np.maximum(degree, 1e-12))[:, None]
        return _within(points), "eigenvectors of the graph"
    if min(X.shape) < 3:
        flat = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)[:, :2]
        return _within(np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))), "columns"
    tool = TruncatedSVD if sp.issparse(X) else PCA
    points = tool(n_components=2, random_state=0).fit_transform(X)
    return _within(points), "principal components"


def _within(points: np.ndarray) -> np.ndarray:
    """Return points with outliers drawn in, so that the others can be seen."""
    low, high = np.percentile(points, [0.5, 99.5], axis=0)
    room = 0.2 * (high - low)
    return np.clip(points, low - room, high + room)
