"""Exact neighbours of sparse rows whose stored values are all the same, such as indicators.

Categories that are encoded one-hot have equal distances by the thousand, so that no few candidates
contain all rows that may be neighbours, and every distance would have to be computed in float64.
But the number of columns in which two rows differ is an integer, which every arithmetic gives
exactly: the k-th smallest is found by fast tiles, and of the rows at this distance the first ones
are neighbours. Knows nothing about graphs or weights.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..arrays.threads import map_blocks, row_blocks
from .candidates import BLOCK_SIZE, tile_candidates
from .exact_rows import k_smallest
from .points import Points
from .tiles import choose_tiles

#: Rows with fewer columns have integer distances that float32 represents.
_MOST_FEATURES = 2**22


def are_indicators(points: Points) -> bool:
    """Return whether all stored values are the same."""
    if not points.sparse or points.X.nnz == 0 or points.n_features > _MOST_FEATURES:
        return False
    values = points.X.data
    return bool(values[0] != 0 and (values == values[0]).all())


def indicator_neighbors(
    points: Points, k: int, block_size: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other rows of every row: squared distances (float64) and indices.

    Sorted as by `exact_search.exact_neighbors`.
    """
    X, n = points.X, len(points)
    ones = Points(sp.csr_array((np.ones(X.nnz, dtype=np.float32), X.indices, X.indptr), X.shape))
    kept = min(n - 1, k + max(6, k // 4))
    candidates = tile_candidates(ones, kept, block_size)
    count, index = candidates.squared, candidates.index.astype(np.intp)
    farthest = count[:, k - 1]
    settled = (count[:, -1] > farthest) | (kept == n - 1)
    row, column = np.nonzero((count < farthest[:, None]) | settled[:, None])
    other, number = index[row, column], count[row, column]
    pending = np.flatnonzero(~settled)
    if len(pending):
        missing = k - np.sum(count[pending] < farthest[pending, None], axis=1)
        more_row, more = _first_at(ones, pending, farthest[pending], missing)
        row, other = np.append(row, more_row), np.append(other, more)
        number = np.append(number, farthest[more_row])
        by_row = np.argsort(row, kind="stable")
        row, other, number = row[by_row], other[by_row], number[by_row]
    number, index = k_smallest(row, other, number.astype(np.float64), k)
    return number * float(X.data[0]) ** 2, index


def _first_at(
    ones: Points, rows: np.ndarray, distance: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs: of each row the first ``wanted`` other rows at this squared distance.

    Columns are read in order, and a row is left as soon as it has enough, which is early if such
    rows are many.
    """
    tiles, block_size = choose_tiles(ones, np.arange(len(ones)), BLOCK_SIZE)
    blocks = row_blocks(len(ones), block_size)

    def search(part: slice) -> tuple[np.ndarray, np.ndarray]:
        mine, half, missing = rows[part], distance[part] / 2, wanted[part]
        left = tiles.left(mine)
        found_rows, found = [], []
        for columns in blocks:
            shape = (len(mine), columns.stop - columns.start)
            is_at = tiles.tile(left, mine, columns, np.empty(shape, tiles.dtype)) == half[:, None]
            own = np.flatnonzero((mine >= columns.start) & (mine < columns.stop))
            is_at[own, mine[own] - columns.start] = False
            row, column = np.nonzero(is_at)
            counts = np.bincount(row, minlength=len(mine))
            position = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
            early = position < missing[row]
            found_rows.append(mine[row[early]])
            found.append(column[early] + columns.start)
            missing = missing - counts
            if (missing <= 0).all():
                break
            left, mine, half, missing = (part[missing > 0] for part in (left, mine, half, missing))
        return np.concatenate(found_rows), np.concatenate(found)

    parts = map_blocks(search, row_blocks(len(rows), block_size))
    row, other = (np.concatenate(part) for part in zip(*parts, strict=True))
    return row, other
