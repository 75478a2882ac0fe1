"""Losses of one labelled row: pure mathematics, vectorised over rows and columns.

The objective of the papers is ½·(Σ loss + …), so what solvers need is half the derivative.
Notation: f are decision values, y targets (±1 for margin losses), both of shape (l, c).
"""

from __future__ import annotations

import numpy as np


class Loss:
    """Interface of a loss.

    Attributes
    ----------
    name : str
        Its name in the public API.
    is_smooth : bool
        Whether the derivative is continuous, so that primal solvers apply. A loss that is not is a
        sum of `hinges`, and is solved by its dual.
    is_quadratic : bool
        Whether it is the square of a residual, so that one linear system gives the optimum.
    """

    name: str
    is_smooth: bool = True
    is_quadratic: bool = False

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss of every entry."""
        raise NotImplementedError(f"{type(self).__name__} must implement value")

    def half_derivative(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return ½ d loss / d f for every entry (a subgradient where there is a kink)."""
        raise NotImplementedError(f"{type(self).__name__} must implement half_derivative")

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return how far a slope is from being half the weighted derivative at f, per entry.

        It is ½w·loss(f) plus its convex conjugate at the slope minus slope·f (Fenchel-Young): zero
        for a subgradient, positive otherwise, in units of the objective.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement slack")

    def hinges(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return signs s and offsets m, both of shape (k, l), with loss(f) = Σ_k max(m − s·f, 0).

        For targets y of shape (l,), and only for losses that are not smooth.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement hinges")

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return ½ d² loss / d f² for every entry (generalised: 0 at a kink)."""
        return self.active(f, y).astype(float) if self.is_smooth else np.zeros(np.shape(f))

    def active(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return where the loss is not flat: the error vectors of Melacci & Belkin (2011), §3.1."""
        raise NotImplementedError(f"{type(self).__name__} must implement active")


class SquaredLoss(Loss):
    """(y − f)², for regularised least squares; every labelled row is always active."""

    name = "squared"
    is_quadratic = True

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return (y − f)²."""
        return (y - f) ** 2

    def half_derivative(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return f − y."""
        return f - y

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return (w(f − y) − slope)² / 2w."""
        return (weights * (f - y) - slope) ** 2 / (2.0 * weights)

    def active(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return all true."""
        return np.ones(np.shape(f), dtype=bool)


class SquaredHinge(Loss):
    """max(1 − yf, 0)², the L2 hinge of the primal machines, Melacci & Belkin (2011), eq. (7)."""

    name = "squared_hinge"

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return max(1 − yf, 0)²."""
        return np.maximum(1.0 - y * f, 0.0) ** 2

    def half_derivative(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return f − y on the error vectors (y² = 1) and 0 elsewhere."""
        return -y * np.maximum(1.0 - y * f, 0.0)

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return ½w·max(m, 0)² + s²/2w − s·m with margin deficit m and s = −y·slope ≥ 0."""
        m, s = 1.0 - y * f, np.maximum(-y * slope, 0.0)
        over = np.maximum(m, 0.0)
        return (weights * over - s) ** 2 / (2.0 * weights) + s * (over - m)

    def active(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return where the margin is below one."""
        return y * f < 1.0


class Hinge(Loss):
    """max(1 − yf, 0), the L1 hinge of the original LapSVM, Melacci & Belkin (2011), eq. (4)."""

    name = "hinge"
    is_smooth = False

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return max(1 − yf, 0)."""
        return np.maximum(1.0 - y * f, 0.0)

    def half_derivative(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return −y/2 on the error vectors and 0 elsewhere."""
        return np.where(self.active(f, y), -0.5 * y, 0.0)

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return ½w·max(m, 0) − s·m with margin deficit m and s = −y·slope in [0, w/2]."""
        m = 1.0 - y * f
        s = np.clip(-y * slope, 0.0, 0.5 * weights)
        return 0.5 * weights * np.maximum(m, 0.0) - s * m

    def hinges(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return y and 1."""
        return y[None, :], np.ones((1, len(y)))

    def active(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return where the margin is below one."""
        return y * f < 1.0


class EpsilonInsensitive(Loss):
    """max(|f − y| − ε, 0), the loss of support vector regression, Chen et al. (2012), eq. (4).

    Parameters
    ----------
    epsilon : float, default=0.1
        ε ≥ 0, the error that costs nothing.
    """

    name = "epsilon_insensitive"
    is_smooth = False

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return max(|f − y| − ε, 0)."""
        return np.maximum(np.abs(f - y) - self.epsilon, 0.0)

    def half_derivative(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return half the sign of f − y outside the tube and 0 inside."""
        return np.where(self.active(f, y), 0.5 * np.sign(f - y), 0.0)

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return ½w·loss(f) + ε|s| − s·(f − y) with s = slope in [−w/2, w/2]."""
        s = np.clip(slope, -0.5 * weights, 0.5 * weights)
        return 0.5 * weights * self.value(f, y) + self.epsilon * np.abs(s) - s * (f - y)

    def hinges(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return +1 with y − ε, for values that are too low, and −1 with −y − ε."""
        ones = np.ones(len(y))
        return np.array([ones, -ones]), np.array([y - self.epsilon, -y - self.epsilon])

    def active(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return where the error is larger than ε."""
        return np.abs(f - y) > self.epsilon


LOSSES: dict[str, type[Loss]] = {
    cls.name: cls for cls in (SquaredLoss, SquaredHinge, Hinge, EpsilonInsensitive)
}

__all__ = ["LOSSES", "EpsilonInsensitive", "Hinge", "Loss", "SquaredHinge", "SquaredLoss"]
