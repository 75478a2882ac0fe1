"""Products in about twice double precision, whatever the BLAS.

Both factors are cut into slices of so few bits that products of slices, and their sums, are exact
in double precision; the results are added as pairs of doubles (Ozaki, Ogita, Oishi & Rump, 2012,
"Error-free transformations of matrix multiplication"). A product costs ten plain ones.

Solvers use it where a residual is a small difference of large numbers, and for certificates. Knows
arrays and operators only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.device import block_entries, like, map_where, on_host
from ..arrays.threads import map_blocks, n_threads, row_blocks
from .base import Operator
from .dense import TILE, TileOperator
from .rows import THREAD_WORK, row_parts

EPS = float(np.finfo(float).eps)
#: Slices of each factor: four of at least 17 bits are more than the 53 bits of a double.
_SLICES = 4
#: Entries of a dense matrix that are sliced at once: their slices stay in the cache.
_BLOCK_ENTRIES = 1 << 16


@dataclass(frozen=True)
class Twofold:
    """A block of numbers hi + lo, each with a bound of its error.

    Attributes
    ----------
    hi, lo : ndarray of shape (n, c)
        The rounded numbers, and the rest.
    error : ndarray of shape (n, c)
        Bound of the distance of hi + lo from the exact numbers.
    """

    hi: np.ndarray
    lo: np.ndarray
    error: np.ndarray

    @classmethod
    def exactly(cls, V: np.ndarray) -> Twofold:
        """Return numbers that have no error."""
        return cls(V, np.zeros(V.shape), np.zeros(V.shape))

    def __add__(self, V: Twofold | np.ndarray) -> Twofold:
        """Return the sum; numbers of an array have no error."""
        other = V if isinstance(V, Twofold) else Twofold.exactly(np.broadcast_to(V, self.hi.shape))
        hi, rest = _two_sum(self.hi, other.hi)
        hi, lo = _two_sum(hi, self.lo + other.lo + rest)
        rounding = 4.0 * EPS * (np.abs(self.lo) + np.abs(other.lo) + np.abs(rest))
        return Twofold(hi, lo, self.error + other.error + rounding)

    def rows(self, index: slice) -> Twofold:
        """Return some rows."""
        return Twofold(self.hi[index], self.lo[index], self.error[index])

    def scaled(self, factor: float) -> Twofold:
        """Return a multiple; the rounding of the products is added to the error."""
        high, low = _split(self.hi)
        top, bottom = _split(np.array(factor))
        hi = factor * self.hi
        rest = ((high * top - hi) + high * bottom + low * top) + low * bottom
        hi, lo = _two_sum(hi, factor * self.lo + rest)
        return Twofold(hi, lo, abs(factor) * self.error + 4.0 * EPS**2 * np.abs(hi))

    @property
    def width(self) -> np.ndarray:
        """Bound of the distance of hi alone from the exact numbers."""
        return np.abs(self.lo) + self.error


def work_bytes(n: int, m: int, n_columns: int) -> int:
    """Return the peak memory of `times`, for an n × m matrix and a block of columns."""
    block = min(n * m, max(_BLOCK_ENTRIES, m))
    return 8 * (6 * n_threads() * block + 16 * max(n, m) * n_columns)


def times(A: Operator | np.ndarray | sp.csr_matrix, V: Twofold | np.ndarray) -> Twofold:
    """Return the product of an operator, an array or a sparse matrix with a block of columns."""
    V = V if isinstance(V, Twofold) else Twofold.exactly(V)
    if not isinstance(A, Operator):
        return _times_matrix(A, V)
    base, power = A.as_power()
    for _ in range(power):
        V = _times_operator(base, V)
    return V


def column_sums(V: np.ndarray) -> np.ndarray:
    """Return the sum of each column, correctly rounded."""
    return np.array([math.fsum(column) for column in V.T])


def norm_bound(A: Operator) -> float:
    """Return an upper bound of the norm of a sparse or dense operator: its largest row sum."""
    base, power = A.as_power()
    if base.matrix is not None:
        return float(np.asarray(abs(base.matrix).sum(axis=1)).max(initial=0.0)) ** power
    entries = base.to_array()
    at_once = block_entries(entries, _BLOCK_ENTRIES)
    blocks = row_blocks(A.shape[0], max(1, at_once // max(A.shape[0], 1)))
    return (
        max((float(abs(entries[rows]).sum(axis=1).max()) for rows in blocks), default=0.0) ** power
    )


def _times_operator(A: Operator, V: Twofold) -> Twofold:
    A.passes += 1
    if A.matrix is not None or A.array is not None:
        return _times_matrix(A.array if A.matrix is None else A.matrix, V)
    if isinstance(A, TileOperator):
        return _times_tiles(A, V)
    blocks = row_blocks(A.shape[0], TILE)
    index = [np.arange(rows.start, rows.stop) for rows in blocks]
    return _stack([_times_matrix(A.submatrix(rows, slice(None)), V) for rows in index])


def _times_tiles(A: TileOperator, V: Twofold) -> Twofold:
    """Return the product from the tiles of the lower triangle, each of which is used twice."""
    parts = [V.rows(rows) for rows in A.blocks]
    sums = [Twofold.exactly(np.zeros(part.hi.shape)) for part in parts]
    for i in range(len(parts)):
        for j in range(i + 1):
            tile = A.tile(i, j).astype(np.float64, copy=False)
            sums[i] = sums[i] + _times_matrix(tile, parts[j])
            if j < i:
                sums[j] = sums[j] + _times_matrix(tile.T, parts[i])
    return _stack(sums)


def _times_matrix(A: Any, V: Twofold) -> Twofold:
    if 0 in A.shape:
        return Twofold.exactly(np.zeros((A.shape[0], V.hi.shape[1])))
    if sp.issparse(A):
        A = sp.csr_matrix(A)
        terms = int(np.diff(A.indptr).max(initial=1))
        sliced = _sliced_columns(V, terms)
        if A.nnz * sliced[0].shape[1] < THREAD_WORK:
            return _times_rows(A, V, *sliced, terms)
        parts = [part for _, part in row_parts(A)]
        return _stack(map_blocks(lambda part: _times_rows(part, V, *sliced, terms), parts))
    terms = A.shape[1]
    columns, bits = _sliced_columns(V, terms)
    columns = like(A, columns)

    def times_block(rows: slice) -> Twofold:
        found = _times_rows(A[rows].astype(float, copy=False), V, columns, bits, terms)
        return Twofold(*(on_host(part) for part in (found.hi, found.lo, found.error)))

    blocks = row_blocks(A.shape[0], max(1, block_entries(A, _BLOCK_ENTRIES) // terms))
    return _stack(map_where(A, times_block, blocks))


def _sliced_columns(V: Twofold, terms: int) -> tuple[np.ndarray, int]:
    """Return the slices of the columns side by side, and their bits for sums of so many terms."""
    bits = (53 - int(np.ceil(np.log2(max(terms, 2))))) // 2
    return np.hstack(_slices(V.hi, bits, axis=0)), bits


def _stack(parts: list[Twofold]) -> Twofold:
    return Twofold(
        *(np.vstack([getattr(p, name) for p in parts]) for name in ("hi", "lo", "error"))
    )


def _times_rows(A: Any, V: Twofold, columns: np.ndarray, bits: int, terms: int) -> Twofold:
    """Return the product of some rows. Exact but for slices beyond the last one."""
    c = V.hi.shape[1]
    if sp.issparse(A):
        layers = _slices(A.data, bits, axis=None)
        slices = [sp.csr_matrix((part, A.indices, A.indptr), shape=A.shape) for part in layers]
        largest = np.full((A.shape[0], 1), np.abs(A.data).max(initial=0.0))
    else:
        slices, largest = _slices(A, bits, axis=1), abs(A).max(axis=1, initial=0.0)[:, None]
    lo = A @ V.lo
    hi = np.zeros_like(lo)
    for i in range(_SLICES - 1, -1, -1):  # the small products first
        block = slices[i] @ columns[:, : c * (_SLICES - i)]
        for part in reversed(np.hsplit(block, _SLICES - i)):
            hi, rest = _two_sum(hi, part)
            lo += rest
    hi, lo = _two_sum(hi, lo)
    share = (_SLICES + 2) * 2.0 ** (-_SLICES * bits) + (terms + 16) * EPS**2
    error = terms * share * largest * np.abs(V.hi).max(axis=0, initial=0.0)
    if V.error.any():
        error = error + (1.0 + terms * EPS) * (abs(A) @ V.error)
    return Twofold(hi, lo, error)


def _slices(A: np.ndarray, bits: int, axis: int | None) -> list[np.ndarray]:
    """Return parts that sum to A up to 2^(−4·bits) of its largest entry along the axis."""
    parts, rest = [], A.astype(float)
    for _ in range(_SLICES):
        largest = abs(rest).max(axis=axis, keepdims=True, initial=0.0)
        shift = np.ldexp(0.75, np.frexp(largest)[1] + 53 - bits)
        part = (rest + shift) - shift
        rest -= part
        parts.append(part)
    return parts


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sum and its rounding error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _split(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two parts of 26 bits whose sum is a (Dekker)."""
    scaled = 134217729.0 * a
    high = scaled - (scaled - a)
    return high, a - high
