"""Spaces of functions with an inner product: kernel expansions and linear functions.

A space turns a row gradient r, the derivatives with respect to the values on the training rows,
into its Riesz representer: the function h with ⟨h, g⟩ = rᵀg(X) for all g. It knows neither labels
nor losses nor graphs.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..operators.base import Operator
from ..operators.rows import RowGramOperator, Rows
from .function import Function


class KernelSpace:
    """Expansions Σ αᵢ k(xᵢ, ·) over the training rows; coefficients are α.

    Parameters
    ----------
    gram : Operator
        The Gram matrix K.

    Attributes
    ----------
    n_coef : int
        Number of coefficients of a function.
    is_expansion : bool
        Whether coefficients are those of an expansion over the training rows.
    features : None
        Explicit features of the training rows: there are none.
    """

    is_expansion = True
    features = None

    def __init__(self, gram: Operator) -> None:
        self.gram = gram
        self.n_coef = gram.shape[0]

    def represent(self, row_gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and values of the representer. Cost: one product with K."""
        return row_gradient, self.gram @ row_gradient

    def coef_of(self, expansion: np.ndarray) -> np.ndarray:
        """Return the coefficients of an expansion over the training rows: itself."""
        return expansion

    def values_of(self, coef: np.ndarray) -> np.ndarray:
        """Return the values Kα on the training rows. Cost: one product with K."""
        return self.gram @ coef

    def dot(self, f: Function, g: Function) -> np.ndarray:
        """Return ⟨f, g⟩ without intercepts, per column: αᵀKβ."""
        return (f.coef * (g.values - g.intercept)).sum(axis=0)


class LinearSpace:
    """Linear functions ⟨w, ·⟩; coefficients are w.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Training rows as prepared by the kernel (unit norm for the cosine kernel).
    gram : Operator, optional
        XXᵀ as a matrix; by default it is applied as two products with X.

    Attributes
    ----------
    n_coef : int
        Number of coefficients of a function.
    is_expansion : bool
        Whether coefficients are those of an expansion over the training rows.
    features : ndarray or CSR matrix of shape (n, d)
        X.
    """

    is_expansion = False

    def __init__(self, X: np.ndarray | sp.csr_matrix, gram: Operator | None = None) -> None:
        self.features = X
        self.rows = Rows(X)
        self.gram = RowGramOperator(self.rows) if gram is None else gram
        self.n_coef: int = X.shape[1]

    def represent(self, row_gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Xᵀr and XXᵀr. Cost: two products with X, counted as one with K."""
        coef = self.coef_of(row_gradient)
        self.gram.passes += 1
        return coef, self.values_of(coef)

    def coef_of(self, expansion: np.ndarray) -> np.ndarray:
        """Return the weights w = Xᵀα of an expansion over the training rows."""
        return self.rows.transposed_times(expansion)

    def values_of(self, coef: np.ndarray) -> np.ndarray:
        """Return the values Xw on the training rows."""
        return self.rows @ coef

    def dot(self, f: Function, g: Function) -> np.ndarray:
        """Return the inner products of the weights, per column."""
        return (f.coef * g.coef).sum(axis=0)


Space = KernelSpace | LinearSpace
