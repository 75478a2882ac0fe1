"""Losses of the margin: smooth surrogates of the hinge, for rows with and without a label.

Each function returns the loss and its derivative with respect to f, entry by entry, in a form that
neither overflows nor loses digits. Notation: f are decision values.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

Pair = tuple[np.ndarray, np.ndarray]


def smooth_hinge(f: np.ndarray, y: np.ndarray | float, sharpness: float) -> Pair:
    """Return log(1 + exp(γ(1 − yf)))/γ, a smooth max(1 − yf, 0), and its derivative.

    Gieseke et al. (2013), §3.1, with γ the sharpness.
    """
    t = sharpness * (1.0 - y * f)
    value = (np.maximum(t, 0.0) + np.log1p(np.exp(-np.abs(t)))) / sharpness
    return value, -y * expit(t)


def squared_hinge(f: np.ndarray, y: np.ndarray | float) -> Pair:
    """Return max(1 − yf, 0)² and its derivative."""
    over = np.maximum(1.0 - y * f, 0.0)
    return over * over, -2.0 * y * over


def bump(f: np.ndarray, sharpness: float) -> Pair:
    """Return exp(−s·f²), a smooth max(1 − |f|, 0), and its derivative.

    Gieseke et al. (2013), eq. (4), with s the sharpness.
    """
    value = np.exp(-sharpness * f * f)
    return value, -2.0 * sharpness * f * value


def two_sided_hinge(f: np.ndarray, sharpness: float) -> Pair:
    """Return the smooth hinges of f and of −f together, less one: a smooth max(1, |f|).

    The convex part of max(1 − |f|, 0); the concave part is −|f|.
    """
    above, above_slope = smooth_hinge(f, 1.0, sharpness)
    below, below_slope = smooth_hinge(f, -1.0, sharpness)
    return above + below - 1.0, above_slope + below_slope
