"""Smooth surrogates of the hinge and of its counterpart for unlabelled rows.

Gradient methods with non-convex objectives need a continuous derivative, and nothing else. The
formulas neither overflow nor lose digits far from the margin.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr, expit

from .base import Loss, Pair, Targets


class SmoothHinge(Loss):
    """log(1 + exp(γ(1 − yf)))/γ, a smooth max(1 − yf, 0), Gieseke et al. (2013), §3.1.

    Parameters
    ----------
    sharpness : float, default=20.0
        γ > 0. The loss lies above the hinge by at most log(2)/γ.
    """

    name = "smooth_hinge"

    def __init__(self, sharpness: float = 20.0) -> None:
        self.sharpness = sharpness

    def value(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return log(1 + exp(γ(1 − yf)))/γ."""
        return self._value(self.sharpness * (1.0 - y * f))

    def derivative(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return −y/(1 + exp(−γ(1 − yf)))."""
        return -y * expit(self.sharpness * (1.0 - y * f))

    def value_and_derivative(self, f: np.ndarray, y: Targets) -> Pair:
        """Return both from one margin deficit."""
        t = self.sharpness * (1.0 - y * f)
        return self._value(t), -y * expit(t)

    def _value(self, t: np.ndarray) -> np.ndarray:
        return (np.maximum(t, 0.0) + np.log1p(np.exp(-np.abs(t)))) / self.sharpness

    def second_derivative(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return γ·p(1 − p) with p = 1/(1 + exp(−γ(1 − yf))) and y² = 1."""
        t = self.sharpness * (1.0 - y * f)
        return self.sharpness * expit(t) * expit(-t)

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return w(loss(f) − p·m − H(p)/γ), m = 1 − yf, p = −y·slope/w in [0, 1], H the entropy."""
        p = np.clip(-y * slope / weights, 0.0, 1.0)
        entropy = (entr(p) + entr(1.0 - p)) / self.sharpness
        return weights * (self.value(f, y) - p * (1.0 - y * f) - entropy)


class SmoothHat(Loss):
    """exp(−s·f²), a smooth hat loss max(1 − |f|, 0), Gieseke et al. (2013), eq. (4).

    It penalises decision values near zero whatever the label, and is not convex.

    Parameters
    ----------
    sharpness : float, default=3.0
        s > 0.
    """

    name = "smooth_hat"
    is_convex = False

    def __init__(self, sharpness: float = 3.0) -> None:
        self.sharpness = sharpness

    def value(self, f: np.ndarray, y: Targets = 0.0) -> np.ndarray:
        """Return exp(−s·f²)."""
        return np.exp(-self.sharpness * f * f)

    def derivative(self, f: np.ndarray, y: Targets = 0.0) -> np.ndarray:
        """Return −2s·f·exp(−s·f²)."""
        return -2.0 * self.sharpness * f * self.value(f)

    def value_and_derivative(self, f: np.ndarray, y: Targets = 0.0) -> Pair:
        """Return both from one exponential."""
        value = self.value(f)
        return value, -2.0 * self.sharpness * f * value

    def second_derivative(self, f: np.ndarray, y: Targets = 0.0) -> np.ndarray:
        """Return 2s(2s·f² − 1)·exp(−s·f²)."""
        s = self.sharpness
        return (4.0 * s * s * f * f - 2.0 * s) * self.value(f)


class TwoSidedHinge(Loss):
    """Smooth max(1, |f|) − y·f, a convex bound of the hat loss max(1 − |f|, 0).

    The hat loss is the convex max(1, |f|) plus the concave −|f|, here replaced by its tangent on
    the side y = sign(f) of a previous solution (concave-convex procedure). With y = 0 it is the
    convex part alone.

    Parameters
    ----------
    sharpness : float, default=20.0
        γ of the two smooth hinges.
    """

    name = "two_sided_hinge"

    def __init__(self, sharpness: float = 20.0) -> None:
        self._hinge = SmoothHinge(sharpness)

    def value(self, f: np.ndarray, y: Targets = 0.0) -> np.ndarray:
        """Return the smooth hinges of f and −f, less one and less y·f."""
        return self._hinge.value(f, 1.0) + self._hinge.value(f, -1.0) - 1.0 - y * f

    def derivative(self, f: np.ndarray, y: Targets = 0.0) -> np.ndarray:
        """Return the derivatives of both hinges, less y."""
        return self._hinge.derivative(f, 1.0) + self._hinge.derivative(f, -1.0) - y

    def value_and_derivative(self, f: np.ndarray, y: Targets = 0.0) -> Pair:
        """Return both from the pairs of the two hinges."""
        above, above_slope = self._hinge.value_and_derivative(f, 1.0)
        below, below_slope = self._hinge.value_and_derivative(f, -1.0)
        return above + below - 1.0 - y * f, above_slope + below_slope - y

    def second_derivative(self, f: np.ndarray, y: Targets = 0.0) -> np.ndarray:
        """Return the sum of those of the two hinges."""
        return self._hinge.second_derivative(f, 1.0) + self._hinge.second_derivative(f, -1.0)
