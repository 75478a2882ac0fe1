"""Edges of the graph of a sample, weighted by the rows that are not in the sample.

The more rows lie between two rows of the sample, the stronger their edge should be, and a sample
alone shows that badly. So each edge weight is multiplied by how many rows lie between its ends,
relative to what the rows of the sample let expect: nothing changes if the other rows are like them.
Knows no labels.

Notation: U the m rows of the sample, s_i(x) the share of the i-th one among the nearest neighbours
of a row x, as in `NeighborAverage`, which add up to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from ..arrays.blocks import RowBlocks, Sums
from ..arrays.duplicates import hash_rows
from ..arrays.packing import field_values
from ..graphs import KNNGraph
from ..graphs.neighbors import nearest_known
from ..spaces.predictors import neighbor_shares
from . import limits
from .rows import UsedRows
from .scaling import RowScaling

#: Rows whose neighbours are searched at a time.
_TILE_ROWS = 1_000
#: Neighbours that are found beyond those that count, in case that distances are equal.
_SPARE = 5


def weigh_edges(graph: KNNGraph, rows: UsedRows, blocks: RowBlocks) -> tuple[KNNGraph, int]:
    """Return the graph of the rows in use with weights by all rows, and how many these were.

    The weight of an edge is multiplied by (b + t)/(m + n) · m/b, where t = Σ_x s_i(x)s_j(x) over
    the n rows of all blocks, and b is the same over the m rows in use. Edges and components stay.
    Above `limits.EDGE_ROWS` rows, some are drawn by their values, whatever block they are in. Cost:
    n·m·d operations.

    Parameters
    ----------
    graph : KNNGraph
        Of the rows in use.
    rows : UsedRows
        The rows in use, and how they are scaled.
    blocks : RowBlocks
        All rows, not scaled.
    """
    W = sp.csr_array(graph.affinity_)
    W.sort_indices()
    m = W.shape[0]
    i = np.repeat(np.arange(m), np.diff(W.indptr))
    upper = i < W.indices
    codes = (i * m + W.indices)[upper]
    if not len(codes):
        return graph, 0
    add = _Between(rows.scaled, graph.n_neighbors + 1, codes, rows.scaling, _step(rows.n_rows))
    start = partial(_no_rows, len(codes))
    of_all, [n] = blocks.sum("weighing edges", start, add, _TILE_ROWS)
    own = RowBlocks.of(rows.scaled)
    [of_used, _] = own.sum("weighing edges", start, add.of_scaled, _TILE_ROWS)
    known = of_used > 0
    factor = np.ones(len(codes))
    factor[known] = m / (m + n) * (1.0 + of_all[known] / of_used[known])
    half = sp.csr_array((W.data[upper] * factor, (i[upper], W.indices[upper])), shape=W.shape)
    found = KNNGraph.from_affinity(half + half.T, normalized=graph.normalized, power=graph.power)
    return found.set_params(n_neighbors=graph.n_neighbors), int(n)


def _step(n: int) -> int:
    """Return one in how many rows counts."""
    return -(-n // limits.EDGE_ROWS)


def _no_rows(n_edges: int) -> Sums:
    return [np.zeros(n_edges), np.zeros(1)]


@dataclass(frozen=True)
class _Between:
    """Adds up the products s_i(x)s_j(x) of all edges ij, and counts rows; sent to workers of Dask.

    Attributes
    ----------
    known : ndarray or CSR matrix of shape (m, d)
        The rows in use, scaled.
    k : int
        Neighbours of a row that count.
    codes : ndarray of int
        The edges i·m + j with i < j, ascending.
    scaling : RowScaling
        How rows are scaled.
    step : int
        One in how many rows counts.
    """

    known: Any
    k: int
    codes: np.ndarray
    scaling: RowScaling
    step: int

    @cached_property
    def _search(self) -> NearestNeighbors:
        return NearestNeighbors().fit(self.known)  # by a tree, if there are few columns

    def __call__(self, sums: Sums, X: Any) -> None:
        if self.step > 1:
            X = X[np.flatnonzero((hash_rows(X) >> np.uint64(32)) % np.uint64(self.step) == 0)]
        if X.shape[0]:
            self.of_scaled(sums, self.scaling.apply(X))

    def of_scaled(self, sums: Sums, X: Any) -> None:
        """Add the terms of rows that are scaled already."""
        m = self.known.shape[0]
        distances, index = self._neighbors(X)
        shares = neighbor_shares(distances)
        shares /= shares.sum(axis=1, keepdims=True)
        one, other = np.triu_indices(index.shape[1], 1)
        i, j = index[:, one], index[:, other]
        codes = (np.minimum(i, j).astype(np.int64) * m + np.maximum(i, j)).ravel()
        products = (shares[:, one] * shares[:, other]).ravel()
        position = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        here = self.codes[position] == codes
        sums[0] += np.bincount(position[here], products[here], minlength=len(self.codes))
        sums[1] += X.shape[0]

    def _neighbors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances to the nearest rows in use, and their indices.

        Of rows at equal distances, the first ones count: which of them are found depends on
        rounding, and with it on the other rows of the tile.
        """
        k = min(self.k + _SPARE, self.known.shape[0])
        if sp.issparse(self.known):
            distances, index = nearest_known(self.known, X, k)
        else:
            distances, index = self._search.kneighbors(X, k)
        relative = distances / np.maximum(distances[:, -1:], 1e-150)
        order = np.lexsort((index, relative.astype(np.float32)), axis=-1)[:, : self.k]
        return np.take_along_axis(distances, order, 1), np.take_along_axis(index, order, 1)

    __getstate__ = field_values  # workers build the tree themselves
