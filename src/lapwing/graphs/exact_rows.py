"""Exact neighbours of chosen rows: what a search does with rows that it cannot settle.

All distances to the chosen rows are computed in float64, and near ones ranked by the float64
differences. Knows nothing about candidates.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays.device import on_host
from ..arrays.duplicates import duplicate_groups
from ..arrays.threads import map_blocks, row_blocks
from .points import Points, squared_norms
from .tiles import DOUBLE, Frame, distance_ceiling, distance_error, gemm_is_faster

REDO_BYTES = 32_000_000  # float64 distances of one thread


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
    distances = (_DenseRowDistances if gemm_is_faster(points) else _SparseRowDistances)(points)
    n_terms = points.n_features

    def search(part: slice) -> tuple[np.ndarray, np.ndarray]:
        mine = rows[part]
        computed, reach = distances(mine)
        computed[np.arange(len(mine)), mine] = np.inf
        computed[:, points.n_known :] = np.inf
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
            result[:, columns] = on_host(tile)
        return result, self.frame.reach(on_host(np.sqrt(s)), DOUBLE)


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


def duplicate_neighbors(
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
