"""Convex losses of labelled rows: least squares, hinges, and the ε-insensitive loss."""

from __future__ import annotations

import numpy as np

from .base import Loss, Pair, Targets


class SquaredLoss(Loss):
    """(y − f)², the loss of regularised least squares; every labelled row is always active."""

    name = "squared"
    is_quadratic = True
    is_piecewise_quadratic = True

    def value(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return (y − f)²."""
        return (y - f) ** 2

    def derivative(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return 2(f − y)."""
        return 2.0 * (f - y)

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return (2w(f − y) − slope)² / 4w."""
        return (2.0 * weights * (f - y) - slope) ** 2 / (4.0 * weights)


class SquaredHinge(Loss):
    """max(1 − yf, 0)², the L2 hinge of primal LapSVMs, Melacci & Belkin (2011), eq. (7)."""

    name = "squared_hinge"
    is_piecewise_quadratic = True

    def value(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return max(1 − yf, 0)²."""
        return np.maximum(1.0 - y * f, 0.0) ** 2

    def derivative(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return 2(f − y) on the error vectors (y² = 1) and 0 elsewhere."""
        return -2.0 * y * np.maximum(1.0 - y * f, 0.0)

    def value_and_derivative(self, f: np.ndarray, y: Targets) -> Pair:
        """Return both from one margin deficit."""
        deficit = np.maximum(1.0 - y * f, 0.0)
        return deficit * deficit, -2.0 * y * deficit

    def feasible(self, slope: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return slopes that pull towards the class."""
        return -y * np.maximum(-y * slope, 0.0)

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return w·max(m, 0)² + s²/4w − s·m with margin deficit m and s = −y·slope ≥ 0."""
        m, s = 1.0 - y * f, np.maximum(-y * slope, 0.0)
        deficit = np.maximum(m, 0.0)
        return (2.0 * weights * deficit - s) ** 2 / (4.0 * weights) + s * (deficit - m)

    def active(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return where the margin is below one."""
        return y * f < 1.0


class Hinge(Loss):
    """max(1 − yf, 0), the L1 hinge of the original LapSVM, Melacci & Belkin (2011), eq. (4)."""

    name = "hinge"
    is_smooth = False
    is_sum_of_hinges = True

    def value(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return max(1 − yf, 0)."""
        return np.maximum(1.0 - y * f, 0.0)

    def derivative(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return −y on the error vectors and 0 elsewhere."""
        return np.where(self.active(f, y), -y, 0.0)

    def feasible(self, slope: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return slopes that pull towards the class by at most w."""
        return -y * np.clip(-y * slope, 0.0, weights)

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return w·max(m, 0) − s·m with margin deficit m and s = −y·slope in [0, w]."""
        m = 1.0 - y * f
        s = np.clip(-y * slope, 0.0, weights)
        return weights * np.maximum(m, 0.0) - s * m

    def hinges(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return y and 1."""
        return y[None, :], np.ones((1, len(y)))

    def active(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return where the margin is below one."""
        return y * f < 1.0


class EpsilonInsensitive(Loss):
    """max(|f − y| − ε, 0), the loss of support vector regression, Chen et al. (2012), eq. (4).

    Parameters
    ----------
    epsilon : float, default=0.1
        ε ≥ 0; smaller errors cost nothing.
    """

    name = "epsilon_insensitive"
    is_smooth = False
    is_sum_of_hinges = True

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def value(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return max(|f − y| − ε, 0)."""
        return np.maximum(np.abs(f - y) - self.epsilon, 0.0)

    def derivative(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return the sign of f − y outside the tube and 0 inside."""
        return np.where(self.active(f, y), np.sign(f - y), 0.0)

    def feasible(self, slope: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return slopes of at most ±w."""
        return np.clip(slope, -weights, weights)

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return w·loss(f) + ε|s| − s·(f − y) with s = slope in [−w, w]."""
        s = np.clip(slope, -weights, weights)
        return weights * self.value(f, y) + self.epsilon * np.abs(s) - s * (f - y)

    def hinges(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return +1 with y − ε, for values that are too low, and −1 with −y − ε."""
        ones = np.ones(len(y))
        return np.array([ones, -ones]), np.array([y - self.epsilon, -y - self.epsilon])

    def active(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return where the error is larger than ε."""
        return np.abs(f - y) > self.epsilon
