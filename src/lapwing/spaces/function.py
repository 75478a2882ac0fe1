"""Functions as solvers see them: coefficients together with values on the training rows.

Solvers add, scale and take inner products of functions; they never see a kernel. Every field is
linear in the function, so sums need no product with the Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Function:
    """A block of functions, one per output column.

    Attributes
    ----------
    coef : ndarray of shape (m, c)
        Coefficients in the space.
    intercept : ndarray of shape (c,)
        Intercepts.
    values : ndarray of shape (n, c)
        Values on the training rows, intercept included.
    S_values : ndarray of shape (n, c)
        S @ values, the Laplacian product. The manifold penalty is values @ (S @ values).
    """

    coef: np.ndarray
    intercept: np.ndarray
    values: np.ndarray
    S_values: np.ndarray

    def __add__(self, other: Function) -> Function:
        """Return the sum, column by column."""
        return Function(
            self.coef + other.coef,
            self.intercept + other.intercept,
            self.values + other.values,
            self.S_values + other.S_values,
        )

    def scaled(self, factors: np.ndarray | float) -> Function:
        """Return the functions times one factor per column."""
        return Function(
            self.coef * factors,
            self.intercept * factors,
            self.values * factors,
            self.S_values * factors,
        )
