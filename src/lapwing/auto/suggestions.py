"""Rows worth labelling next, and a map of all rows, for the user to look at after a fit.

Knows rows, their graph and how uncertain a model is of each row, and not the model itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD

from ..arrays.duplicates import representative_rows
from ..estimators.parameters import check_count
from ..graphs import KNNGraph

#: Share of the rows in the largest component from which eigenvectors of the graph are a map.
_CONNECTED = 0.9
#: The most components and rows for which those eigenvectors are computed.
_MOST_COMPONENTS, _MOST_ROWS = 20, 30_000


def class_doubt(P: np.ndarray) -> np.ndarray:
    """Return how uncertain a classifier is of rows with these probabilities, from 0 to 1."""
    P = np.sort(P, axis=1)
    return 1.0 - (P[:, -1] - P[:, -2])


def target_doubt(found: np.ndarray, supervised: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Return how uncertain a regressor is of rows, from 0 to 1.

    It is where supervised and semi-supervised predictions differ, and where no target reaches.
    """
    gap = np.abs(found - supervised)
    gap = gap / max(float(gap.max()), 1e-300)
    return 0.5 * gap + 0.5 * (~reach)


def worth_labelling(
    X: Any, graph: KNNGraph, doubt: np.ndarray, labelled: np.ndarray, n: int
) -> np.ndarray:
    """Return rows, the best first: uncertain, with many neighbours, and unlike each other.

    Parameters
    ----------
    X : array or CSR matrix of shape (rows, d)
        The rows of the graph.
    graph : KNNGraph
        Their graph.
    doubt : ndarray of shape (rows,)
        How uncertain the model is, from 0 to 1.
    labelled : ndarray of int
        Rows that have a label.
    n : int
        Number of rows; fewer are returned where no others are left.
    """
    check_count("n", n)
    W = graph.affinity_
    degree = np.asarray(W.sum(axis=1)).ravel()
    relative = np.sqrt(degree / max(float(degree.mean()), 1e-300))
    worth = (doubt + 1e-3) * (relative + 1e-3)
    found = _unreached(graph, degree, labelled, max(n // 2, 1))
    representative = representative_rows(X)
    known = set(representative[[*labelled, *found]].tolist())
    for row in (*labelled, *found):
        _lower_near(worth, W, int(row))
    while len(found) < n and worth.max(initial=0.0) > 0:
        row = int(worth.argmax())
        if representative[row] not in known:
            found.append(row)
            known.add(int(representative[row]))
        _lower_near(worth, W, row)
    return np.array(found, dtype=int)


def _unreached(graph: KNNGraph, degree: np.ndarray, labelled: np.ndarray, n: int) -> list[int]:
    """Return the row of highest degree of each component without a label, the largest first."""
    component = graph.component_
    sizes = np.bincount(component)
    sizes[component[labelled]] = 0
    largest = np.argsort(-sizes, kind="stable")[:n]
    return [
        int(np.where(component == number, degree, -1.0).argmax())
        for number in largest[sizes[largest] > 1]
    ]


def _lower_near(worth: np.ndarray, W: sp.csr_array, row: int) -> None:
    """Lower the worth of a row's neighbours, and of theirs; set that of the row itself to zero."""
    entries = slice(W.indptr[row], W.indptr[row + 1])
    near, weights = W.indices[entries], np.minimum(W.data[entries], 1.0)
    worth[near] *= 1.0 - weights
    for other, weight in zip(near, weights, strict=True):
        further = slice(W.indptr[other], W.indptr[other + 1])
        worth[W.indices[further]] *= 1.0 - 0.3 * weight * np.minimum(W.data[further], 1.0)
    worth[row] = 0.0


def map_rows(X: Any, graph: KNNGraph) -> tuple[np.ndarray, str]:
    """Return coordinates of the rows of a graph in the plane, and what they are.

    They are eigenvectors of the Laplacian where the graph is connected, apart from a few rows, and
    principal components otherwise.
    """
    n, sizes = X.shape[0], np.bincount(graph.component_)
    connected = sizes.max() >= _CONNECTED * n and len(sizes) <= _MOST_COMPONENTS
    if connected and 10 < n <= _MOST_ROWS:
        degree = np.asarray(graph.affinity_.sum(axis=1)).ravel()
        vectors = graph.eigenpairs(len(sizes) + 2)[1][:, -2:]
        points = vectors / np.sqrt(np.maximum(degree, 1e-12))[:, None]
        return _clip_outliers(points), "eigenvectors of the graph"
    if min(X.shape) < 3:
        flat = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)[:, :2]
        return _clip_outliers(np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))), "columns"
    components = TruncatedSVD if sp.issparse(X) else PCA
    points = components(n_components=2, random_state=0).fit_transform(X)
    return _clip_outliers(points), "principal components"


def _clip_outliers(points: np.ndarray) -> np.ndarray:
    """Return points with outliers moved inwards, so that the others can be told apart."""
    low, high = np.percentile(points, [0.5, 99.5], axis=0)
    margin = 0.2 * (high - low)
    return np.clip(points, low - margin, high + margin)
