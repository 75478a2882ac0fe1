"""Grids of (γ_A, γ_I) for one set of labels, and the selection of a grid point."""

from __future__ import annotations

import numpy as np

from lapwing.losses import Loss
from lapwing.operators.base import Operator
from lapwing.solvers.reduction import BasisReductions, Reduction
from lapwing.spaces.basis import gram_basis

#: Values of γ_A and of γ_I in Melacci and Belkin (2011) and in Chen, Tsang and Xu (2012).
WEIGHTS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 100.0)


class ManifoldGrid:
    """Models of one Gram matrix, graph and set of labelled rows, for all weights and losses.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The Gram matrix in float64; overwritten.
    S : Operator
        Lᵖ.
    labelled : ndarray of shape (l,)
        The labelled rows.
    """

    def __init__(self, K: np.ndarray, S: Operator, labelled: np.ndarray) -> None:
        self._basis = gram_basis(K)
        self._reductions = BasisReductions(self._basis.H, S, labelled)
        self._at: dict[float, Reduction] = {}

    def solve(
        self,
        loss: Loss,
        targets: np.ndarray,
        reg_ambient: float,
        reg_manifold: float,
        weight: float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return values on all rows, coordinates in the basis, and intercepts."""
        mu = float(f"{reg_manifold / reg_ambient:.12g}")
        if mu not in self._at:
            self._at[mu] = self._reductions.at(mu)
        reduction, weights = self._at[mu], np.full(len(targets), weight)
        c, b, _ = reduction.problem(loss, targets, weights, reg_ambient, True).solve()
        theta, values = reduction.expand(c, b)
        return values, theta, b

    def expansion(self, theta: np.ndarray) -> np.ndarray:
        """Return the coefficients over all rows for coordinates in the basis."""
        return self._basis.coef_of(theta)


def one_vs_rest(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return targets ±1: one column per class, or a single column for two classes."""
    if len(classes) == 2:
        return np.where(y == classes[1], 1.0, -1.0)[:, None]
    return np.where(y[:, None] == classes, 1.0, -1.0)


def decided(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the predicted classes for columns of decision values."""
    if values.shape[1] == 1:
        return classes[(values[:, 0] > 0).astype(int)]
    return classes[values.argmax(axis=1)]


def smallest_error(errors: np.ndarray, losses: np.ndarray) -> int:
    """Return the index of the smallest error; ties are broken by the smallest loss."""
    return min(range(len(errors)), key=lambda k: (round(float(errors[k]), 9), losses[k]))
