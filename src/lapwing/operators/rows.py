"""Products with the rows of a data matrix and with its transpose, dense or sparse.

SciPy multiplies sparse matrices on one thread. Here the rows are divided into one part per thread,
as views of the same arrays: no copy is made, and in particular no transposed one. A device, where
products are where the block is, has one of each.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.device import is_on_device
from ..arrays.device_sparse import sparse_on_device
from ..arrays.threads import map_blocks, n_threads
from .base import Operator

#: Number of multiplications below which starting threads costs more than it saves.
THREAD_WORK = 2_000_000
#: Number of columns up to which a product is formed column by column.
_FEW = 4


class Rows:
    """A matrix X, dense or CSR, with products X @ W and Xᵀ @ V.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows; dense ones may be on a device, and then blocks are.
    """

    def __init__(self, X: np.ndarray | sp.csr_matrix) -> None:
        self.X = X
        self.shape = X.shape
        self._parts = row_parts(X) if sp.issparse(X) else []  # BLAS has its own threads
        self._stored = sum(part.nnz for _, part in self._parts)

    def __matmul__(self, W: Any) -> Any:
        """Return XW for a block W of shape (d, c)."""
        if is_on_device(W):
            return (sparse_on_device(self, self.X, W) if sp.issparse(self.X) else self.X) @ W
        if not self._worth_threads(W):
            return times(self.X, W)
        return np.concatenate(map_blocks(lambda part: times(part[1], W), self._parts))

    def transposed_times(self, V: Any) -> Any:
        """Return XᵀV for a block V of shape (n, c)."""
        if is_on_device(V):
            if sp.issparse(self.X):
                return sparse_on_device(self, self.X, V, transposed=True) @ V
            return self.X.T @ V
        if not self._worth_threads(V):
            return times(self.X.T, V)
        products = map_blocks(lambda part: times(_transposed(part[1]), V[part[0]]), self._parts)
        return reduce(np.add, products)

    def _worth_threads(self, block: np.ndarray) -> bool:
        return len(self._parts) > 1 and self._stored * block.shape[1] >= THREAD_WORK


class RowGramOperator(Operator):
    """XXᵀ, applied in time proportional to the stored entries of X and never formed.

    Parameters
    ----------
    rows : Rows
        X.
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows.shape[0])
        self.rows = rows

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return inner products with some of the rows."""
        X = self.rows.X
        product = X @ X[index].T
        return product.toarray() if sp.issparse(product) else product

    def diagonal_at(self, index: np.ndarray) -> np.ndarray:
        """Return the squared lengths of some of the rows."""
        X = self.rows.X[index]
        squares = X.multiply(X) if sp.issparse(X) else X * X
        return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()

    def _apply(self, V: np.ndarray) -> np.ndarray:
        return self.rows @ self.rows.transposed_times(V)


def row_parts(matrix: sp.csr_matrix) -> list[tuple[slice, sp.csr_matrix]]:
    """Return one range of rows per thread, with about equally many stored entries, as views."""
    cuts = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, n_threads() + 1)[1:-1])
    bounds = [0, *(int(c) for c in cuts), matrix.shape[0]]
    parts = []
    for a, b in pairwise(bounds):
        if a < b:
            first, last = matrix.indptr[a], matrix.indptr[b]
            part = _view(
                sp.csr_matrix,
                (b - a, matrix.shape[1]),
                matrix.data[first:last],
                matrix.indices[first:last],
                matrix.indptr[a : b + 1] - first,
            )
            parts.append((slice(a, b), part))
    return parts


def _view(matrix_type: type, shape: tuple[int, int], *arrays: np.ndarray) -> sp.csr_matrix:
    """Return a sparse matrix over given arrays: data, indices, indptr.

    They are assigned one by one, since the constructor copies small slices of larger arrays.
    """
    matrix = matrix_type(shape, dtype=arrays[0].dtype)
    matrix.data, matrix.indices, matrix.indptr = arrays
    return matrix


def _transposed(part: sp.csr_matrix) -> sp.csr_matrix:
    return _view(sp.csc_matrix, part.shape[::-1], part.data, part.indices, part.indptr)


def times(X: np.ndarray | sp.csr_matrix, W: np.ndarray) -> np.ndarray:
    """Return XW on one thread.

    Few columns are multiplied one by one. Products of matrices take up to twice as long, since BLAS
    copies X for them and SciPy loops over so few columns for each stored entry.
    """
    if 0 < W.shape[1] <= _FEW:
        return np.array([X @ column for column in W.T]).T
    return np.asarray(X @ W)
