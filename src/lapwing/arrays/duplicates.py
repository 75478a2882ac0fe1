"""Duplicate rows: the only place that decides whether two rows are equal.

Rows are equal if all their numbers are equal. 0.0 equals -0.0, float32 is compared as float64, and
dense and sparse rows are compared by value, also if zeros are stored or entries are repeated. Rows
are hashed to 8 bytes each, and rows with equal hashes are compared, so that results are exact.
Values must be finite. Knows nothing about labels or graphs, nor what the rows are used for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .threads import row_blocks

#: Number of values in a block of rows that are hashed or compared at a time.
_BLOCK_SIZE = 2**17


def representative_rows(X: Any, preferred: np.ndarray | None = None) -> np.ndarray:
    """Return the representative of each row: the first row that is equal to it.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows.
    preferred : ndarray of int, default None
        Rows that represent themselves, even if they are duplicates of each other. The first of
        them also represents its duplicates among the other rows.

    Returns
    -------
    representative : ndarray of shape (n,)
        ``representative == arange(n)`` holds for the preferred rows, and for one row of each group
        of equal rows that contains no preferred row.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.arrays.duplicates import representative_rows
    >>> X = np.array([[1.0], [2.0], [1.0], [2.0], [2.0]])
    >>> representative_rows(X).tolist()
    [0, 1, 0, 1, 1]
    >>> representative_rows(X, preferred=np.array([3, 4])).tolist()
    [0, 3, 0, 3, 4]
    """
    n = X.shape[0]
    hashes = hash_rows(X)
    if preferred is None:
        return _first_equal(X, np.arange(n), hashes)
    others = np.delete(np.arange(n), preferred)
    rows = np.concatenate([preferred, others])
    representative = np.empty(n, dtype=np.intp)
    representative[rows] = _first_equal(X, rows, hashes[rows])
    representative[preferred] = preferred
    return representative


def distinct_rows(X: Any, most: int) -> np.ndarray | None:
    """Return the first occurrence of each distinct row, or None if there are more than ``most``.

    Usually all rows are distinct. Therefore rows are read in blocks, and the first block is just
    large enough to show that there are too many.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows.
    most : int
        Largest number of distinct rows.

    Returns
    -------
    rows : ndarray of int, or None
        Indices, ascending.
    """
    n, size = X.shape[0], most + 1
    rows, hashes, start = np.arange(0), np.empty(0, dtype=np.uint64), 0
    while start < n:
        block = np.arange(start, min(start + size, n))
        rows = np.append(rows, block)
        hashes = np.append(hashes, hash_rows(X, block))
        is_first = _first_equal(X, rows, hashes) == rows
        rows, hashes = rows[is_first], hashes[is_first]
        if len(rows) > most:
            return None
        start, size = start + size, max(most + 1, min(2 * size, _block_rows(X)))
    return rows


def duplicate_groups(X: Any, rows: np.ndarray, least: int = 2) -> Iterator[np.ndarray]:
    """Yield the groups of at least ``least`` equal rows.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All rows.
    rows : ndarray of int
        Indices of the rows to compare, ascending.
    least : int, default 2
        Size of the smallest group.

    Yields
    ------
    group : ndarray of int
        Indices into X, ascending.
    """
    if len(rows) < least:
        return
    first = _first_equal(X, rows, hash_rows(X, rows))
    by_group = rows[np.argsort(first, kind="stable")]
    _, counts = np.unique(first, return_counts=True)
    ends = np.cumsum(counts)
    large = counts >= least
    for start, end in zip((ends - counts)[large], ends[large], strict=True):
        yield by_group[start:end]


class RowIndex:
    """Finds rows by exact equality; takes 16 bytes per row.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows. They are not stored.
    """

    def __init__(self, X: Any) -> None:
        hashes = hash_rows(X)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._order = hashes[order], order

    def find(self, queries: Any, X: Any) -> np.ndarray:
        """Return the first occurrence in X of each row of ``queries``, or -1 if there is none.

        Parameters
        ----------
        queries : ndarray or CSR matrix of shape (m, d)
            The rows to find.
        X : ndarray or CSR matrix of shape (n, d)
            The rows that the index was built from.
        """
        hashes = hash_rows(queries)
        found = np.full(len(hashes), -1)
        position = np.searchsorted(self._hashes, hashes)
        pending = np.arange(len(hashes))
        while len(pending):  # more than one round only where hashes of unequal rows collide
            here = position[pending]
            same = here < len(self._hashes)
            same[same] = self._hashes[here[same]] == hashes[pending[same]]
            pending = pending[same]
            candidates = self._order[position[pending]]
            equal = _equal_rows(queries, pending, X, candidates)
            found[pending[equal]] = candidates[equal]
            pending = pending[~equal]
            position[pending] += 1
        return found


def _first_equal(X: Any, rows: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Return for each of ``rows`` the first one that is equal to it."""
    first = rows.copy()
    pending = np.arange(len(rows))
    while len(pending):  # more than one round only where hashes of unequal rows collide
        _, head, group = np.unique(hashes[pending], return_index=True, return_inverse=True)
        head = pending[head[group]]
        later = pending != head
        pending, head = pending[later], head[later]
        equal = _equal_rows(X, rows[pending], X, rows[head])
        first[pending[equal]] = rows[head[equal]]
        pending = pending[~equal]
    return first


def hash_rows(X: Any, rows: np.ndarray | None = None) -> np.ndarray:
    """Return a 64-bit hash per row: a sum over its numbers to which zeros contribute nothing."""
    n = X.shape[0] if rows is None else len(rows)
    factors = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * 2 + 1
    hashes = np.empty(n, dtype=np.uint64)
    for block in row_blocks(n, _block_rows(X)):
        part = X[block if rows is None else rows[block]]
        if sp.issparse(part):
            part.sum_duplicates()
            terms = _bits(part.data) * factors[part.indices]
            sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
            hashes[block] = sums[part.indptr[1:]] - sums[part.indptr[:-1]]
        else:
            hashes[block] = _bits(part) @ factors
    return hashes


def _bits(numbers: np.ndarray) -> np.ndarray:
    # Adding zero turns -0.0 into 0.0. The last bits of round numbers are zero, and without mixing
    # those of the sums would be, too.
    bits = (np.ascontiguousarray(numbers, dtype=np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def _equal_rows(A: Any, rows_A: np.ndarray, B: Any, rows_B: np.ndarray) -> np.ndarray:
    """Return which of the pairs of rows of A and B are equal."""
    equal = np.empty(len(rows_A), dtype=bool)
    for block in row_blocks(len(rows_A), _block_rows(A, B)):
        left, right = A[rows_A[block]], B[rows_B[block]]
        if sp.issparse(left) or sp.issparse(right):
            unequal = sp.csr_array(left) != sp.csr_array(right)
            equal[block] = np.diff(unequal.indptr) == 0
        else:
            equal[block] = (left == right).all(axis=1)
    return equal


def _block_rows(*matrices: Any) -> int:
    """Return the number of rows of a block of each of these matrices."""
    widths = [X.nnz // max(1, X.shape[0]) if sp.issparse(X) else X.shape[1] for X in matrices]
    return max(1, _BLOCK_SIZE // max(1, *widths))
