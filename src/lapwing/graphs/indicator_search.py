"""Exact neighbours of sparse rows whose stored values are all the same, such as indicators.

Categories that are encoded one-hot have equal distances by the thousand, so that no few candidates
contain all rows that may be neighbours, and every distance would have to be computed in float64.
But the number of columns in which two rows differ is a whole number, which products in floating
point give exactly. That leaves digits to spare, which are used twice: a fraction that grows with
the index decides between equal distances, and several rows are multiplied at once. Knows nothing
about graphs or weights.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..arrays.threads import row_blocks
from .candidates import tile_candidates
from .points import Points
from .tiles import DENSE_BLOCK_BYTES, STORED_BYTES, SparseTiles, gemm_is_faster

#: Rows with fewer columns, up to 2**29 of them, have distances with fractions that float64
#: represents.
_MOST_FEATURES = 2**22
#: Binary digits of whole numbers that a type represents.
_DIGITS: dict[type, int] = {np.float32: 24, np.float64: 53}
#: The most rows that are multiplied at once: with more, the digits take longer than the product.
_MOST_PACKED = 4


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
    ones = sp.csr_array((np.ones(X.nnz, dtype=np.float32), X.indices, X.indptr), X.shape)
    rows = Points(ones, n_known=points.first or None)
    found = tile_candidates(rows, k, block_size, _choose_tiles)
    index = found.index.astype(np.intp)
    fraction = 2 * _step(n) * (np.arange(points.first, n)[:, None] + index)
    return (found.squared - fraction) * float(X.data[0]) ** 2, index


def _step(n: int) -> float:
    """Return what an index adds to half a squared distance: less than 1/2 for all indices."""
    return 0.5 ** ((n - 1).bit_length() + 1)


def _choose_tiles(
    ones: Points, order: np.ndarray, block_size: int
) -> tuple[IndicatorTiles | SparseTiles, int]:
    """Return tiles of d(i, j)²/2 + step·(i + j), exact, and their number of rows per block."""
    if gemm_is_faster(ones):
        block_size = min(block_size, max(128, DENSE_BLOCK_BYTES // (8 * ones.n_features)))
        return IndicatorTiles(ones, order, block_size), block_size
    tiles = SparseTiles(ones, order)
    tiles.halves += _step(len(ones)) * order
    return tiles, block_size


class IndicatorTiles:
    """Exact tiles of d(i, j)²/2 + step·(i + j), from one matrix product each.

    The row x_1 + Bx_2 + B²x_3 + …, for a B above the number of ones of any row, has products with
    other rows whose digits in base B are those of x_1, x_2, x_3, ….
    """

    scale, roundoff = 1.0, 0.0

    def __init__(self, ones: Points, order: np.ndarray, block_size: int) -> None:
        n, d = ones.X.shape
        counts = np.diff(ones.X.indptr)
        digits = int(counts.max()).bit_length()
        single = digits + (n - 1).bit_length() + 1 <= _DIGITS[np.float32]
        self.dtype = np.float32 if single else np.float64
        self.base = self.dtype(2**digits)
        self.packed = min(_DIGITS[self.dtype] // digits, _MOST_PACKED)
        self.X, self.n_terms = ones.X[order], d
        self.halves = (counts[order] / 2 + _step(n) * order).astype(self.dtype)
        self.reach = np.sqrt(counts[order])
        self._stored = None
        used_again = n - ones.first > block_size  # by more than one block of rows
        if used_again and self.base.nbytes * n * d <= STORED_BYTES:
            self._stored = np.empty((n, d), dtype=self.dtype)
            for rows in row_blocks(n, block_size):
                self._stored[rows] = self.X[rows].toarray()

    def left(self, rows: slice) -> np.ndarray:
        """The left factor of all tiles in a strip of rows: several rows in one."""
        block = self._right(rows)
        left = block[:: self.packed].copy()
        for digit in range(1, self.packed):
            part = block[digit :: self.packed]
            left[: len(part)] += self.base**digit * part
        return left

    def tile(self, left: np.ndarray, rows: slice, columns: slice, out: np.ndarray) -> np.ndarray:
        """The tile of two blocks of rows, written to ``out``."""
        rest = left @ self._right(columns).T
        for digit in reversed(range(self.packed)):
            product, part = rest, slice(digit, None, self.packed)
            if digit:
                product = np.floor(rest / self.base**digit)
                rest -= product * self.base**digit
            product = product[: len(out[part])]
            product -= self.halves[rows][part, None]
            np.subtract(self.halves[columns], product, out=out[part])
        return out

    def _right(self, rows: slice) -> np.ndarray:
        if self._stored is not None:
            return self._stored[rows]
        return self.X[rows].toarray().astype(self.dtype, copy=False)
