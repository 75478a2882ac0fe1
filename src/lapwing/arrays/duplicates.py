"""Duplicate rows: placeholder."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .threads import row_blocks

#: Numbers in the blocks in which rows are hashed and compared.
_BLOCK_SIZE = 2**20


class RowIndex:
    """Finds rows among others by exact equality of their numbers, by a hash of 8 bytes a row.

    0.0 and -0.0 are equal; float32 is compared as float64; dense and sparse rows find each other.
    Of equal rows the first is found.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows; they are not kept.
    """

    def __init__(self, X: Any) -> None:
        hashes = _hash_rows(X)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._order = hashes[order], order

    def find(self, queries: Any, X: Any) -> np.ndarray:
        """Return for each row of ``queries`` the first equal row of X, or -1 where there is none.

        X are the rows of the index.
        """
        hashes = _hash_rows(queries)
        found = np.full(len(hashes), -1)
        position = np.searchsorted(self._hashes, hashes)
        open_rows = np.arange(len(hashes))
        while len(open_rows):  # more than one round only where hashes of unequal rows collide
            here = position[open_rows]
            same = here < len(self._hashes)
            same[same] = self._hashes[here[same]] == hashes[open_rows[same]]
            open_rows = open_rows[same]
            candidates = self._order[position[open_rows]]
            equal = _equal_rows(queries, open_rows, X, candidates)
            found[open_rows[equal]] = candidates[equal]
            open_rows = open_rows[~equal]
            position[open_rows] += 1
        return found


def _hash_rows(X: Any) -> np.ndarray:
    """Return 64 bits a row: a sum over its numbers, to which zeros add nothing."""
    factors = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * 2 + 1
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for rows in row_blocks(X.shape[0], _block_rows(X)):
        part = X[rows]
        if sp.issparse(part):
            part.sum_duplicates()
            terms = _bits(part.data) * factors[part.indices]
            sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
            hashes[rows] = sums[part.indptr[1:]] - sums[part.indptr[:-1]]
        else:
            hashes[rows] = _bits(part) @ factors
    return hashes


def _bits(numbers: np.ndarray) -> np.ndarray:
    # Adding zero turns -0.0 to 0.0. Round numbers have zeros in their last bits, and so would sums.
    bits = (np.ascontiguousarray(numbers, dtype=np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def _equal_rows(A: Any, rows_A: np.ndarray, B: Any, rows_B: np.ndarray) -> np.ndarray:
    """Return which of the pairs of rows of A and B are equal."""
    equal = np.empty(len(rows_A), dtype=bool)
    for block in row_blocks(len(rows_A), _block_rows(A, B)):
        left, right = A[rows_A[block]], B[rows_B[block]]
        if sp.issparse(left) or sp.issparse(right):
            unequal = sp.csr_array(left) != sp.csr_array(right)
            equal[block] = np.diff(sp.csr_array(unequal).indptr) == 0
        else:
            equal[block] = (left == right).all(axis=1)
    return equal


def _block_rows(*matrices: Any) -> int:
    """Return how many rows make a block of each of these."""
    widths = [X.nnz // max(1, X.shape[0]) if sp.issparse(X) else X.shape[1] for X in matrices]
    return max(1, _BLOCK_SIZE // max(1, *widths))
