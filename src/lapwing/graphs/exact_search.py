"""Exact nearest neighbours of every row among the others.

The search has two stages. Fast tiles in rounded arithmetic give a few more candidates per row than
neighbours. A bound on the rounding error certifies rows whose candidates contain all neighbours:
these candidates are ranked by exact float64 distances. Other rows are searched again in float64.
Knows nothing about graphs or weights.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np

from ..arrays.duplicates import duplicate_groups
from ..arrays.threads import map_blocks, row_blocks
from .candidates import tile_candidates, tree_candidates
from .points import Points, squared_norms
from .tiles import DOUBLE, Frame, distance_ceiling, distance_error

logger = logging.getLogger(__name__)

TREE_FEATURES = 8  # number of columns up to which a k-d tree is faster than tiles
REDO_BYTES = 32_000_000  # float64 distances of one thread in the second stage


def exact_neighbors(
    points: Points, k: int, block_size: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other rows of every row: squared distances (float64) and indices.

    Sorted by distance, ties by index. The row itself is excluded by its index, so duplicate rows
    are neighbours at distance 0. Cost: n^2 / 2 row products, and memory for one float32 copy of the
    rows plus a few tiles.
    """
    n = len(points)
    kept = min(n - 1, k + max(6, k // 4))
    if not points.sparse and points.n_features <= TREE_FEATURES and block_size is None:
        candidates = tree_candidates(points, kept)
    else:
        candidates = tile_candidates(points, kept, block_size)
    nearest = candidates.squared[:, k - 1].astype(np.float64)
    ceiling = distance_ceiling(candidates.n_terms, candidates.roundoff, candidates.reach, nearest)
    error = distance_error(candidates.n_terms, candidates.roundoff, candidates.reach, ceiling)
    # The computed distance of a true neighbour never exceeds this limit.
    limit = nearest + 2 * error
    settled = candidates.squared[:, -1] > limit
    if kept == n - 1:
        settled[:] = True

    squared = np.empty((n, k))
    index = np.empty((n, k), dtype=np.intp)

    def rank(rows: slice) -> None:
        close = candidates.squared[rows] <= limit[rows, None]
        close[~settled[rows]] = False
        row, column = np.nonzero(close)
        other = candidates.index[rows][row, column].astype(np.intp)
        chosen = np.flatnonzero(settled[rows]) + rows.start
        exact = points.squared_distances(row + rows.start, other)
        squared[chosen], index[chosen] = k_smallest(row, other, exact, k)

    map_blocks(rank, row_blocks(n, 2048))
    pending = ~settled
    suspects = np.flatnonzero(pending & (nearest <= 2 * error))
    for rows, others in _duplicate_neighbors(points, suspects, k):
        squared[rows], index[rows] = 0.0, others
        pending[rows] = False
    redo = np.flatnonzero(pending)
    logger.debug("exact search: %d of %d rows searched again in float64", len(redo), n)
    if len(redo):
        squared[redo], index[redo] = exact_rows(points, redo, k)
    return squared, index


def k_smallest(
    row: np.ndarray, other: np.ndarray, value: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Per row the k smallest values and their ``other``; rows ascending, ties by ``other``.

    ``row`` is non-decreasing and every row that occurs has at least k entries.
    """
    order = np.lexsort((other, value, row))
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    chosen = order[starts[:, None] + np.arange(k)]
    return value[chosen], other[chosen]


def exact_rows(points: Points, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of the chosen rows among all others, from float64 products throughout."""
    distances = (_SparseRowDistances if points.sparse else _DenseRowDistances)(points)
    n_terms = points.n_features

    def search(part: slice) -> tuple[np.ndarray, np.ndarray]:
        mine = rows[part]
        computed, reach = distances(mine)
        computed[np.arange(len(mine)), mine] = np.inf
        nearest = np.partition(computed, k - 1, axis=1)[:, k - 1]
        ceiling = distance_ceiling(n_terms, DOUBLE, reach, nearest)
        limit = nearest + 2 * distance_error(n_terms, DOUBLE, reach, ceiling)
        row, other = np.nonzero(computed <= limit[:, None])
        return k_smallest(row, other, points.squared_distances(mine[row], other), k)

    size = int(np.clip(REDO_BYTES // (8 * max(len(points), points.n_features)), 1, 512))
    parts = map_blocks(search, row_blocks(len(rows), size))
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


class _DenseRowDistances:
    """Squared distances, in the units of the frame, from some rows to all rows."""

    def __init__(self, points: Points) -> None:
        self.frame = Frame(points)
        self.columns = row_blocks(len(points), max(1, REDO_BYTES // (16 * points.n_features)))

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        left = self.frame.rows(rows)
        s = np.einsum("ij,ij->i", left, left)
        result = np.empty((len(rows), len(self.frame.points)))
        for columns in self.columns:
            right = self.frame.rows(columns)
            tile = left @ right.T
            tile *= -2
            tile += s[:, None]
            tile += np.einsum("ij,ij->i", right, right)
            result[:, columns] = tile
        return result, self.frame.reach(np.sqrt(s), DOUBLE)


class _SparseRowDistances:
    """Squared distances from some CSR rows to all rows."""

    def __init__(self, points: Points) -> None:
        self.X = points.X.astype(np.float64)
        self.transposed = self.X.T.tocsr()
        self.s = squared_norms(self.X)

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        result = (self.X[rows] @ self.transposed).toarray()
        result *= -2
        result += self.s[rows, None]
        result += self.s
        return result, np.sqrt(self.s[rows])


def _duplicate_neighbors(
    points: Points, rows: np.ndarray, k: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Groups of more than k duplicate rows with their neighbours: the first others of the group.

    Their distance is 0, so no other row can be nearer, and no pairs need to be compared.
    """
    for equal in duplicate_groups(points.X, rows, least=k + 1):
        head = np.tile(equal[: k + 1], (len(equal), 1))
        is_self = head == equal[:, None]
        is_self[~is_self.any(axis=1), k] = True  # not among the first: drop the last instead
        yield equal, head[~is_self].reshape(len(equal), k)
