"""Affine functions as vectors, for gradient methods in function space.

A function ⟨w, φ(x)⟩ + b is one column of coordinates, such that sums of functions are sums of
columns and the inner product is one contraction. With balance weights u, features are centred at
Σuᵢφ(xᵢ) on the fly, so that sparse rows stay sparse. The constant is then the mean Σuᵢf(xᵢ), which
is either fixed at a given level or free. Knows neither labels nor losses.

Notation: a row gradient holds the derivative of an objective with respect to f(x) for every
training row x and every column.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..arrays.device import like, on_host
from .kernel_space import Space


class AffineSpace:
    """Functions of a space plus a constant.

    Parameters
    ----------
    space : Space
        Space of the functions without constant.
    balance : ndarray of shape (n,) or (n, c), optional
        Weights u ≥ 0 of sum one, the same for all columns or those of each; without them the
        features are not centred.
    level : ndarray of shape (c,), optional
        If given, Σuᵢf(xᵢ) equals the level of the column for every function.
    fit_intercept : bool
        Whether functions without a level have a free constant. It is the last coordinate and is not
        regularised.
    center : ndarray of shape (m,), optional
        Σuᵢφ(xᵢ), where the weighted rows are not those of the space but rows in blocks; instead of
        ``balance``. For spaces of explicit features.
    where : array, optional
        Vectors and values are where this array is, on the host by default. What is one number per
        column is on the host in any case.
    """

    def __init__(
        self,
        space: Space,
        balance: np.ndarray | None = None,
        level: np.ndarray | None = None,
        *,
        fit_intercept: bool = True,
        center: np.ndarray | None = None,
        where: Any = None,
    ) -> None:
        self.space = space
        self.where = np.empty(0) if where is None else where
        self.balance = balance = like(self.where, balance)
        self.level = level
        self.free = level is None and fit_intercept
        # In a kernel expansion ⟨f, g⟩ = αᵀKβ: the vectors hold Kα below α.
        self._carries_values = space.is_expansion
        m = space.n_coef
        self._coef = slice(0, m)
        self._dual = slice(m, 2 * m) if self._carries_values else self._coef
        self._constant = self._dual.stop if self.free else None
        self.n_rows: int = space.gram.shape[0]
        self.n_coordinates = self._dual.stop + int(self.free)

        # Σuᵢφ(xᵢ), stored such that its inner product with w is a contraction with coefficients.
        self._center = center
        if balance is not None:
            coef, values = space.represent(balance.reshape(self.n_rows, -1))
            center = values if self._carries_values else coef
            self._center = center if balance.ndim == 2 else center[:, 0]

    def of_columns(self, columns: np.ndarray) -> AffineSpace:
        """Return the space of some of the columns, whose levels and weights may differ."""
        part = copy(self)
        if self.level is not None:
            part.level = self.level[columns]
        if self.balance is not None and self.balance.ndim == 2:
            assert self._center is not None
            part.balance, part._center = self.balance[:, columns], self._center[:, columns]
        return part

    def zeros(self, n_columns: int) -> np.ndarray:
        """Return the zero functions (the constant level, if there is one)."""
        return np.zeros_like(self.where, float, shape=(self.n_coordinates, n_columns))

    def gradient(self, row_gradient: np.ndarray) -> np.ndarray:
        """Return the functions h with ⟨h, g⟩ = Σ row_gradientᵢ g(xᵢ) for all g.

        Cost: one product with K, or with Xᵀ.
        """
        shape = self.n_coordinates, row_gradient.shape[1]
        out = np.empty_like(row_gradient, shape=shape)
        if self._constant is not None:
            out[self._constant] = row_gradient.sum(axis=0)
        if self.balance is not None:
            balance = self.balance.reshape(self.n_rows, -1)
            row_gradient = row_gradient - balance * row_gradient.sum(axis=0)
        if self._carries_values:
            out[self._coef], out[self._dual] = self.space.represent(row_gradient)
        else:
            out[self._coef] = self.space.coef_of(row_gradient)
        if self.balance is None and self._center is not None:
            out[self._coef] -= np.outer(self._center, row_gradient.sum(axis=0))
        return out

    def gradient_of_sums(self, products: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Return the gradient of other rows from Σ rᵢφ(xᵢ) and Σ rᵢ, for explicit features.

        Parameters
        ----------
        products : ndarray of shape (m, c)
            Σ rᵢφ(xᵢ) of each column.
        totals : ndarray of shape (c,)
            Σ rᵢ of each column.
        """
        out = np.empty((self.n_coordinates, len(totals)))
        out[self._coef] = products
        if self._center is not None:
            out[self._coef] -= np.outer(self._center, totals)
        if self._constant is not None:
            out[self._constant] = totals
        return out

    def values(self, vectors: np.ndarray) -> np.ndarray:
        """Return f(x) minus the level on the training rows. Cost: none, or a product with X."""
        if self._carries_values:
            values = vectors[self._dual]
        else:
            values = self.space.values_of(vectors[self._coef])
        if self.balance is not None:
            values = values - _weighted_sums(self.balance, values)
        elif self._center is not None:
            values = values - self._center @ vectors[self._coef]
        return values if self._constant is None else values + vectors[self._constant]

    def dot(self, f: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the inner products, column by column, constants included."""
        products = self.norm_dot(f, g)
        if self._constant is None:
            return products
        return products + on_host(f[self._constant] * g[self._constant])

    def dual(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors whose contraction with the coordinates of others is the inner product."""
        if not self._carries_values:
            return vectors
        out = np.zeros_like(vectors)
        out[self._coef] = vectors[self._dual]
        if self._constant is not None:
            out[self._constant] = vectors[self._constant]
        return out

    def constants(self, vectors: np.ndarray) -> np.ndarray:
        """Return the free constants, zero where there are none."""
        if self._constant is None:
            return np.zeros(vectors.shape[1])
        return on_host(vectors[self._constant])

    def norm_dot(self, f: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the inner products without constants: those of the regulariser."""
        return on_host(np.einsum("ij,ij->j", f[self._coef], g[self._dual]))

    def without_constant(self, vectors: np.ndarray) -> np.ndarray:
        """Return the functions without their constants, which is half the gradient of ‖f‖²."""
        if self._constant is None:
            return vectors
        vectors = vectors.copy()
        vectors[self._constant] = 0.0
        return vectors

    def coef_and_intercept(
        self, vectors: np.ndarray, columns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts; the latter include level and centre.

        ``columns`` are the indices of the columns, whose levels and weights may differ.
        """
        part, coef = self.of_columns(columns), vectors[self._coef]
        mean = part.constants(vectors) if part.level is None else part.level
        if part._center is not None:
            mean = mean - on_host(_weighted_sums(part._center, coef))
        return on_host(coef), mean

    def vectors(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return functions given by coefficients and intercepts as vectors (a warm start).

        If the mean is fixed at a level, the intercepts follow from it.
        """
        out = self.zeros(coef.shape[1])
        out[self._coef] = coef = like(self.where, coef)
        if self._carries_values:
            out[self._dual] = self.space.represent(coef)[1]
        if self._constant is not None:
            center = 0.0 if self._center is None else _weighted_sums(self._center, coef)
            out[self._constant] = intercept + center
        return out


def _weighted_sums(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the weighted sum of each column; weights are those of all columns or of each."""
    return weights @ values if weights.ndim == 1 else np.einsum("ij,ij->j", weights, values)
