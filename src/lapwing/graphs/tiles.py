"""Tiles of the matrix of half squared distances, d(i, j)^2 / 2, in rounded arithmetic.

A tile is fast, but not exact: each class has the unit roundoff of its arithmetic and the reach of
every row (its norm, enlarged by the error of centring), from which :func:`distance_error` bounds
the error of any entry. Knows nothing about neighbours.

Notation: s_i = |x_i|^2, so d(i, j)^2 / 2 = s_i / 2 + s_j / 2 - <x_i, x_j>.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.device import block_entries, is_on_device, map_where, on_host
from ..arrays.threads import row_blocks
from .points import CHUNK_BYTES, Points, squared_norms

# Nanoseconds for one multiply-add on one core; only the ratio matters. Products of CSR rows with a
# dense tile, 0.6 or more, are slower than one of these two at every density.
GEMM_COST, CSR_COST = 0.03, 4.0
DOUBLE = 2.0**-53  # unit roundoff of float64
STORED_BYTES = 128_000_000  # float32 copy of CSR rows as dense ones
DENSE_BLOCK_BYTES = 32_000_000  # one block of CSR rows, converted to dense ones


def distance_error(
    n_terms: int, roundoff: float, reach: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """Bound on the error of a computed squared distance of at most ``distance``.

    A neighbour within ``distance`` of a row lies within ``reach + distance`` of the origin, so
    the bound needs no maximum over all rows, which an outlier would enlarge.
    """
    # Sum of n_terms products: n_terms * roundoff * (|x| + |y|)^2; 10 more roundings cover the
    # rounding of the rows and of s; the last term covers underflow.
    factor = 1.01 * (n_terms + 10) * roundoff
    return factor * (2 * reach + distance) ** 2 + (n_terms + 10) * 2.0**-120


def distance_ceiling(
    n_terms: int, roundoff: float, reach: np.ndarray, squared: np.ndarray
) -> np.ndarray:
    """Largest true distance whose computed square can be at most ``squared``."""
    root = np.sqrt(1.01 * (n_terms + 10) * roundoff)
    return (np.sqrt(np.maximum(squared, 0)) + 2 * root * reach) / max(1 - root, 0.1)


class Frame:
    """Shift and scale that make products of rows accurate: x -> (x - centre) * scale."""

    def __init__(self, points: Points) -> None:
        self.points = points
        if points.sparse:  # centring would make the rows dense
            self.centre = np.zeros(points.n_features)
            peak = np.abs(points.X.data).max(initial=0.0)
        else:
            n = len(points)
            sample = np.sort(np.random.default_rng(0).permutation(n)[:512])
            # Any centre is valid; unlike the mean, the median is not affected by an outlier.
            self.centre = np.median(on_host(points.dense(sample)), axis=0)
            at_once = block_entries(points.rows, CHUNK_BYTES // 8)
            chunks = row_blocks(n, max(1, at_once // points.n_features))
            peak = max(map_where(points.rows, self._peak, chunks))
        # A power of two: scaling is exact, and squares do not overflow in float32.
        self.scale = float(2.0 ** -np.ceil(np.log2(peak))) if peak > 0 else 1.0

    def _peak(self, rows: slice) -> float:
        block = self.points.dense(rows)
        block -= self.centre
        return float(np.abs(block, out=block).max(initial=0.0))

    def rows(self, rows: slice | np.ndarray) -> Any:
        """The chosen rows in this frame, in float64, where distances are computed."""
        block = self.points.dense(rows)
        block -= self.centre
        block *= self.scale
        return block

    def reach(self, norms: np.ndarray, roundoff: float) -> np.ndarray:
        """Norms, enlarged so that a relative error of ``roundoff`` covers the centring too."""
        return norms + 2.0**-51 / roundoff * self.scale * np.linalg.norm(self.centre)


class DenseTiles:
    """Float32 tiles from one matrix product each, with the rows in the given order.

    Two additional columns hold s/2, so that the product is half the squared distance and no second
    pass over the tile adds the norms. CSR rows are converted to dense ones block by block, or once
    if these are few numbers.
    """

    roundoff = 2.0**-24
    dtype = np.float32

    def __init__(self, points: Points, order: np.ndarray, block_size: int) -> None:
        self.frame = Frame(points)
        self.order = order
        self.n_terms = points.n_features + 2
        norms = np.empty(len(order))
        stored, shape = None, (len(order), self.n_terms)
        if is_on_device(points.rows):
            stored = np.empty_like(points.rows, np.float32, shape=shape)
        elif not points.sparse or 4 * len(order) * self.n_terms <= STORED_BYTES:
            stored = np.empty(shape, dtype=np.float32)

        def prepare(rows: slice) -> None:
            block = self._right(rows)
            norms[rows] = on_host(np.sqrt(2.0 * block[:, -1]))
            if stored is not None:
                stored[rows] = block

        at_once = block_entries(points.rows, CHUNK_BYTES // 8)
        step = min(block_size, max(1, at_once // self.n_terms))
        map_where(points.rows, prepare, row_blocks(len(order), step))
        self._stored = stored
        self.scale = self.frame.scale
        self.reach = self.frame.reach(norms, self.roundoff)

    def left(self, rows: slice | np.ndarray) -> np.ndarray:
        """The left factor [-x, s/2, 1] of all tiles in a strip of rows."""
        right = self.right(rows)
        left = np.negative(right)
        left[:, -2] = right[:, -1]
        left[:, -1] = 1.0
        return left

    def right(self, rows: slice | np.ndarray) -> np.ndarray:
        """The right factor [y, 1, s/2]."""
        return self._right(rows) if self._stored is None else self._stored[rows]

    def padded(self, rows: slice, n: int) -> Any:
        """The right factor of some rows, and of rows infinitely far away up to n of them."""
        found = self.right(rows)
        padding = np.zeros_like(found, shape=(n - found.shape[0], self.n_terms))
        padding[:, -1] = np.inf
        return np.concatenate([found, padding])

    def tile(
        self, left: np.ndarray, rows: slice | np.ndarray, columns: slice, out: np.ndarray
    ) -> np.ndarray:
        """Half squared distances between two blocks of rows, written to ``out``."""
        return np.matmul(left, self.right(columns).T, out=out)

    def _right(self, rows: slice | np.ndarray) -> np.ndarray:
        exact = self.frame.rows(self.order[rows])
        block = np.empty_like(exact, np.float32, shape=(exact.shape[0], self.n_terms))
        block[:, :-2] = exact
        block[:, -2] = 1.0
        exact = block[:, :-2].astype(np.float64)
        block[:, -1] = np.einsum("ij,ij->i", exact, exact) / 2
        return block


class SparseTiles:
    """Float64 tiles from CSR products of rows that are not centred."""

    roundoff = DOUBLE
    dtype = np.float64
    scale = 1.0

    def __init__(self, points: Points, order: np.ndarray) -> None:
        self.X = sp.csr_array(points.X)[order].astype(np.float64)
        self.n_terms = points.n_features + 2
        self.halves = squared_norms(self.X) / 2
        self.reach = np.sqrt(2 * self.halves)

    def left(self, rows: slice | np.ndarray) -> sp.csr_array:
        """The left factor -x of all tiles in a strip of rows."""
        return -self.X[rows]

    def tile(
        self, left: sp.csr_array, rows: slice | np.ndarray, columns: slice, out: np.ndarray
    ) -> np.ndarray:
        """Half squared distances between two blocks of rows, in a new array."""
        tile = (left @ self.X[columns].T).toarray()
        tile += self.halves[rows, None]
        tile += self.halves[columns]
        return tile


def choose_tiles(
    points: Points, order: np.ndarray, block_size: int
) -> tuple[DenseTiles | SparseTiles, int]:
    """Return the cheaper type of tiles for these rows, and its number of rows per block."""
    if not gemm_is_faster(points):
        return SparseTiles(points, order), block_size
    if points.sparse:
        block_size = min(block_size, max(128, DENSE_BLOCK_BYTES // (8 * points.n_features)))
    return DenseTiles(points, order, block_size), block_size


def gemm_is_faster(points: Points) -> bool:
    """Return whether products of rows are faster as dense rows, even if these are sparse."""
    if not points.sparse:
        return True
    n, d = points.X.shape
    column_counts = np.bincount(points.X.indices, minlength=d).astype(np.float64)
    return CSR_COST * float(column_counts @ column_counts) >= GEMM_COST * d * n * n
