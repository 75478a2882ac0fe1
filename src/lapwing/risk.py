"""The objective of manifold regularisation, for any loss and any space.

    ½·( Σ_labelled wᵢ loss(yᵢ, fᵢ) + γ_A ‖h‖² + γ_I fᵀSf ),    f = h(X) + b,  S = Lᵖ

Melacci & Belkin (2011), eq. (2) and (7). Columns are separate problems on the same rows (one per
class). They are solved together, so that each product with the Gram matrix serves all of them.

Notation: J selects the l labelled rows, g is the derivative of ½ Σ w·loss there, K the Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .losses import Loss
from .operators.base import Operator
from .spaces.function import Function
from .spaces.kernel_space import Space

#: Share of the objective at zero that is rounding.
_ROUNDING = 1e-15


#: Largest ratio of the weights: products of its squares with kernel values must not overflow.
_LARGEST_RATIO = 1e100


def weight_ratio(reg_ambient: float, reg_manifold: float) -> float:
    """Return γ_I / γ_A; refuse a ratio whose squares overflow."""
    if reg_manifold / _LARGEST_RATIO > reg_ambient:
        raise ValueError(
            f"the weight of the manifold term, γ_I = {reg_manifold:.3g}, is more than "
            f"{_LARGEST_RATIO:g} times that of the norm, γ_A = {reg_ambient:.3g}: lower "
            "reg_manifold, or raise the weight of the norm (reg_ambient or rho, or lower C)"
        )
    return reg_manifold / reg_ambient


@dataclass(frozen=True)
class RegularizedRisk:
    """Loss terms, ambient norm and manifold term.

    Attributes
    ----------
    space : Space
        The space of h.
    loss : Loss
        Loss of the labelled rows.
    labelled : ndarray of shape (l,)
        Indices of the labelled rows.
    targets : ndarray of shape (l, c)
        Targets; ±1 for margin losses.
    weights : ndarray of shape (l,)
        Positive weights of the labelled rows.
    smoothness : Operator
        S = Lᵖ.
    reg_ambient, reg_manifold : float
        γ_A > 0 and γ_I ≥ 0.
    fit_intercept : bool
        Whether b is free (it is not penalised by the norm, but it is part of fᵀSf).
    """

    space: Space
    loss: Loss
    labelled: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    smoothness: Operator
    reg_ambient: float
    reg_manifold: float
    fit_intercept: bool

    @property
    def gram(self) -> Operator:
        """The Gram matrix K."""
        return self.space.gram

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.gram.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of problems solved together."""
        return self.targets.shape[1]

    @property
    def ratio(self) -> float:
        """μ = γ_I / γ_A."""
        return weight_ratio(self.reg_ambient, self.reg_manifold)

    def zero(self) -> Function:
        """Return the zero function."""
        n, c = self.n_rows, self.n_columns
        return Function(
            np.zeros((self.space.n_coef, c)), np.zeros(c), np.zeros((n, c)), np.zeros((n, c))
        )

    def function(self, coef: np.ndarray, intercept: np.ndarray) -> Function:
        """Return the function of given coefficients. Cost: one product with K, or with X."""
        values = self.space.values_of(coef) + intercept
        return Function(coef, intercept, values, self.smoothness @ values)

    def inner(self, f: Function, g: Function) -> np.ndarray:
        """Return ⟨f, g⟩ in the space plus the product of the intercepts, per column."""
        return self.space.dot(f, g) + f.intercept * g.intercept

    def objective(self, f: Function) -> np.ndarray:
        """Return the objective per column. Cost: no product."""
        loss = self.weights @ self.loss.value(f.values[self.labelled], self.targets)
        # A large component in the null space of S would cost digits of the product.
        manifold = (self.smoothness.without_null_space(f.values) * f.S_values).sum(axis=0)
        manifold = np.maximum(manifold, 0.0)
        ambient = self.space.dot(f, f)
        return 0.5 * (loss + self.reg_ambient * ambient + self.reg_manifold * manifold)

    @property
    def rounding(self) -> float:
        """The value below which the objective, which is never negative, is zero up to rounding."""
        return _ROUNDING * float(self.objective(self.zero()).sum())

    def loss_gradient(self, f: Function) -> np.ndarray:
        """Return g = ½ w·loss′, the derivative with respect to labelled values, shape (l, c)."""
        derivative = self.loss.derivative(f.values[self.labelled], self.targets)
        return 0.5 * self.weights[:, None] * derivative

    def gradient(self, f: Function, loss_gradient: np.ndarray | None = None) -> Function:
        """Return the gradient as a function. Cost: one product with K.

        It is γ_A·h plus the Riesz representer of the row gradient γ_I S f + Jᵀg: the factor K of
        the gradient with respect to α is left out, which is the preconditioning of Melacci &
        Belkin (2011), eq. (12). ``loss_gradient`` is g, by default that of the loss at f.
        """
        row_gradient = self.reg_manifold * f.S_values
        g = self.loss_gradient(f) if loss_gradient is None else loss_gradient
        row_gradient[self.labelled] += g
        intercept = row_gradient.sum(axis=0) if self.fit_intercept else np.zeros(self.n_columns)
        coef, values = self.space.represent(row_gradient)
        coef = coef + self.reg_ambient * f.coef
        values = values + self.reg_ambient * (f.values - f.intercept) + intercept
        return Function(coef, intercept, values, self.smoothness @ values)
