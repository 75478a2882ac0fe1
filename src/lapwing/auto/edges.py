"""Edges of the graph of a sample, weighted by the rows that are not in the sample.

The more rows lie between two rows of the sample, the stronger their edge should be, and a sample
alone shows that badly. So each edge weight is multiplied by how many rows lie between its ends,
relative to what the rows of the sample let expect: nothing changes if the other rows are like them.
Knows no labels.

Notation: U the m rows of the sample, s_i(x) the share of the i-th one among the nearest neighbours
of a row x, as in `NeighborAverage`, which add up to one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.threads import row_blocks
from ..graphs import KNNGraph
from ..graphs.neighbors import nearest_known, nearest_neighbors
from ..spaces.predictors import neighbor_shares
from .rows import UsedRows

#: Rows whose neighbours are searched at a time.
_TILE_ROWS = 20_000


def weigh_edges(graph: KNNGraph, rows: UsedRows, others: Any) -> KNNGraph:
    """Return the graph of the rows in use with weights by these rows and others.

    The weight of an edge is multiplied by (t/n) / (b/m), where b = Σ_x s_i(x)s_j(x) over the m rows
    in use, and t is the same over these and the others, n rows together. Edges and components stay.
    Cost: n·m·d operations.

    Parameters
    ----------
    graph : KNNGraph
        Of the rows in use.
    rows : UsedRows
        The rows in use, and how they are scaled.
    others : ndarray or CSR matrix of shape (n − m, d)
        Other rows, not scaled.
    """
    W = sp.csr_array(graph.affinity_)
    W.sort_indices()
    m = W.shape[0]
    i = np.repeat(np.arange(m), np.diff(W.indptr))
    upper = i < W.indices
    codes = (i * m + W.indices)[upper]
    if not len(codes):
        return graph
    U, k = rows.scaled, min(graph.n_neighbors + 1, m)
    distances, index = nearest_neighbors(U, k - 1)
    itself = np.arange(m)[:, None]
    of_used = _sums(np.hstack([0.0 * itself, distances]), np.hstack([itself, index]), m, codes)
    of_all = of_used.copy()
    for tile in row_blocks(others.shape[0], _TILE_ROWS):
        of_all += _sums(*nearest_known(U, rows.scaling.apply(others[tile]), k), m, codes)
    known = of_used > 0
    factor = np.ones(len(codes))
    factor[known] = of_all[known] / of_used[known] * (m / (m + others.shape[0]))
    half = sp.csr_array((W.data[upper] * factor, (i[upper], W.indices[upper])), shape=W.shape)
    found = KNNGraph.from_affinity(half + half.T, normalized=graph.normalized, power=graph.power)
    return found.set_params(n_neighbors=graph.n_neighbors)


def _sums(distances: np.ndarray, index: np.ndarray, m: int, codes: np.ndarray) -> np.ndarray:
    """Return Σ_x s_i(x)s_j(x) of the edges i·m + j, i < j, ascending, over rows x.

    Given are the distances of the rows to their nearest rows in use, ascending, and these.
    """
    shares = neighbor_shares(distances)
    shares /= shares.sum(axis=1, keepdims=True)
    total = np.zeros(len(codes))
    for first in range(index.shape[1] - 1):
        i, j = index[:, first, None], index[:, first + 1 :]
        edges = np.minimum(i, j) * m + np.maximum(i, j)
        position = np.minimum(np.searchsorted(codes, edges), len(codes) - 1)
        here = codes[position] == edges
        products = (shares[:, first, None] * shares[:, first + 1 :])[here]
        total += np.bincount(position[here], products, minlength=len(codes))
    return total
