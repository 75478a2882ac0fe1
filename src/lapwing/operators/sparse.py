"""Sparse symmetric matrices and their powers, which are applied and never formed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.device import is_on_device
from ..arrays.device_sparse import sparse_on_device
from ..arrays.threads import map_blocks
from .base import Operator
from .rows import THREAD_WORK, row_parts, times


class SparseOperator(Operator):
    """A symmetric sparse matrix; large products are divided by rows among threads.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
        Symmetric.
    null_space : sparse matrix of shape (n, k), optional
        Orthonormal columns that the matrix maps to zero, where they are known.
    """

    matrix: sp.csr_matrix

    def __init__(self, matrix: sp.csr_matrix, null_space: sp.csr_matrix | None = None) -> None:
        super().__init__(matrix.shape[0])
        self.matrix = sp.csr_matrix(matrix, dtype=np.float64)
        self.null_space = null_space
        self._parts = [part for _, part in row_parts(self.matrix)]

    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""
        return self.matrix.diagonal()

    def _apply(self, V: Any) -> Any:
        if is_on_device(V):
            return sparse_on_device(self, self.matrix, V) @ V
        if self.matrix.nnz * V.shape[1] < THREAD_WORK:
            return times(self.matrix, V)
        return np.concatenate(map_blocks(lambda part: times(part, V), self._parts))


class PowerOperator(Operator):
    """The p-th power of an operator, applied p times.

    Parameters
    ----------
    base : Operator
        The map that is applied repeatedly.
    power : int
        At least 1.
    """

    def __init__(self, base: Operator, power: int) -> None:
        if power < 1:
            raise ValueError(f"power must be at least 1, got {power}")
        super().__init__(base.shape[0])
        self.base = base
        self.power = power
        self.null_space = base.null_space

    def as_power(self) -> tuple[Operator, int]:
        """Return the base and the power."""
        return self.base, self.power

    def diagonal(self) -> np.ndarray:
        """Return the powers of the diagonal: an estimate of the diagonal of the power."""
        return self.base.diagonal() ** self.power

    def _apply(self, V: np.ndarray) -> np.ndarray:
        for _ in range(self.power):
            V = self.base @ V
        return V


class ShiftedOperator(Operator):
    """factor · A + diag(shift).

    Parameters
    ----------
    base : Operator
        A, sparse or a power of a sparse matrix.
    factor : float
        Its factor.
    shift : ndarray of shape (n,)
        Added to the diagonal.
    """

    def __init__(self, base: Operator, factor: float, shift: np.ndarray) -> None:
        super().__init__(base.shape[0])
        self.base = base
        self.factor = factor
        self.shift = shift

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, for powers of a matrix that of the powers of its diagonal."""
        return self.factor * self.base.diagonal() + self.shift

    def _apply(self, V: np.ndarray) -> np.ndarray:
        product = self.base @ V
        product *= self.factor
        product += self.shift[:, None] * V
        return product


class DiagonalOperator(Operator):
    """diag(values)."""

    def __init__(self, values: np.ndarray) -> None:
        super().__init__(len(values))
        self.values = values

    def submatrix(self, rows: np.ndarray, columns: np.ndarray | slice) -> np.ndarray:
        """Return some entries."""
        columns = np.arange(self.shape[0])[columns]
        return np.where(rows[:, None] == columns, self.values[rows, None], 0.0)

    def _apply(self, V: np.ndarray) -> np.ndarray:
        return self.values[:, None] * V
