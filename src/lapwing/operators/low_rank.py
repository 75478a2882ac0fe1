"""Symmetric matrices of low rank, ZZᵀ, stored as their factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.device import like
from .base import Operator


class LowRankOperator(Operator):
    """ZZᵀ.

    Parameters
    ----------
    factor : array of shape (n, r)
        Z, on the host for products.
    """

    def __init__(self, factor: Any) -> None:
        super().__init__(len(factor))
        self.factor = factor

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return some columns. Cost: r operations per entry."""
        return self.factor @ self.factor[index].T

    def diagonal_at(self, index: np.ndarray) -> np.ndarray:
        """Return some entries of the diagonal."""
        return np.einsum("ij,ij->i", self.factor[index], self.factor[index])

    def moved_to(self, X: Any) -> LowRankOperator:
        """Return the map with its factor where X is."""
        return LowRankOperator(like(X, self.factor))

    def submatrix(self, rows: np.ndarray, columns: np.ndarray | slice) -> Any:
        """Return some entries. Cost: r operations each."""
        return self.factor[rows] @ self.factor[columns].T

    def _apply(self, V: np.ndarray) -> np.ndarray:
        return self.factor @ (self.factor.T @ V)
