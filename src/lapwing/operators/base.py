"""The interface of linear maps: a symmetric matrix that can be multiplied.

Operators know numbers only: nothing here may know what a kernel, a graph or a loss is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.device import is_on_device, like
from ..arrays.threads import row_blocks


class Operator:
    """Symmetric linear map of R^n, applied to vectors or to blocks of columns.

    Subclasses implement ``_apply(V)`` for a float64 block ``V`` of shape (n, c). Results are
    accumulated in float64 whatever the storage, because coefficients of ill-conditioned kernel
    expansions are large and alternate in sign.

    Attributes
    ----------
    shape : tuple of int
        (n, n).
    passes : int
        Number of products so far. A block of columns counts once, since the matrix is read once.
    null_space : sparse matrix of shape (n, k) or None
        Orthonormal columns that the map takes to zero, where they are known.
    array : ndarray of shape (n, n) or None
        The entries in float64, if they are stored as one array.
    matrix : CSR matrix of shape (n, n) or None
        The entries, if they are stored as a sparse matrix.
    n_additions : int
        Bound of the roundings that a term of a product meets, for bounds of its error.
    """

    array: np.ndarray | None = None
    matrix: sp.csr_matrix | None = None

    def __init__(self, n: int) -> None:
        self.shape = (n, n)
        self.passes = 0
        self.n_additions = n + 1
        self.null_space: sp.csr_matrix | None = None

    def __matmul__(self, V: Any) -> Any:
        """Return the product with a vector (n,) or a block (n, c), in float64, where that is."""
        V = V if is_on_device(V) else np.asarray(V)
        V = V.astype(np.float64, copy=False)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[1]:
            raise ValueError(f"cannot multiply {self.shape} by an array of shape {V.shape}")
        self.passes += 1
        block = self._apply(V.reshape(V.shape[0], -1))
        return block.reshape(V.shape)

    def without_null_space(self, V: np.ndarray) -> np.ndarray:
        """Return a block without its component in the known null space."""
        N = self.null_space
        if N is not None and is_on_device(V):
            N = like(V, N.toarray())
        return V if N is None else V - N @ (N.T @ V)

    def times_ones(self) -> np.ndarray:
        """Return the row sums, exactly zero if the vector of ones is in the known null space."""
        ones, rounding = np.ones(self.shape[0]), self.shape[0] * np.finfo(float).eps
        rest = np.abs(self.without_null_space(ones)).max(initial=0.0)
        return self @ ones if rest > rounding else np.zeros(len(ones))

    def as_power(self) -> tuple[Operator, int]:
        """Return a map B and p with B^p equal to this map; by default itself and 1."""
        return self, 1

    def to_array(self) -> np.ndarray:
        """Return the entries as an array in float64; not a copy if they are stored as one."""
        return self.columns(np.arange(self.shape[0]))

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return some columns of the matrix, shape (n, len(index)), in float64."""
        selector = np.zeros((self.shape[0], len(index)))
        selector[index, np.arange(len(index))] = 1.0
        return self @ selector

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, or an estimate of it."""
        raise NotImplementedError(f"{type(self).__name__} does not know its diagonal")

    def diagonal_at(self, index: np.ndarray) -> np.ndarray:
        """Return some entries of the diagonal, exactly."""
        parts = [index[b] for b in row_blocks(len(index), 64)]
        return np.concatenate([np.diag(self.submatrix(part, part)) for part in parts])

    def moved_to(self, X: Any) -> Operator:
        """Return the map with its entries where X is, or itself if they are on the host."""
        return self

    def submatrix(self, rows: np.ndarray, columns: np.ndarray | slice) -> np.ndarray:
        """Return the entries of some rows and columns, shape (len(rows), number of columns)."""
        return self.columns(rows)[columns].T

    def _apply(self, V: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} must implement _apply")
