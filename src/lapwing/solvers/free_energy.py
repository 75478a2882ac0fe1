"""The objective of deterministic annealing, with the label probabilities eliminated.

Knows one temperature and the values of the unlabelled rows, but neither functions nor descents.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr, expit

from ..losses import Pair, SquaredHinge

_HINGE = SquaredHinge()
#: Largest error of the share of positive rows, and number of steps to find its multiplier.
_EXCESS, _STEPS = 1e-12, 100


class FreeEnergy:
    """Mean squared hinge minus temperature times entropy, for the optimal label probabilities.

    A row is positive with probability p = 1/(1 + exp((loss(f) − loss(−f))/T − ν)). The multiplier ν
    is such that the given share Σvp/Σv of the rows is positive, and zero if no share is given.
    These p are optimal, so the derivative with respect to f is the one for fixed p. The entropy is
    measured from its maximum, that of the share (one bit without one), so that the value is not
    negative.

    Parameters
    ----------
    temperature : float
        T > 0.
    weights : ndarray of shape (u, c)
        v ≥ 0, of the rows in each column.
    ratio : ndarray of shape (c,) or None
        Share of positive rows.
    """

    def __init__(self, temperature: float, weights: np.ndarray, ratio: np.ndarray | None) -> None:
        self.temperature = temperature
        self.weights, self.total = weights, weights.sum(axis=0)
        self.ratio = ratio
        even = np.full(weights.shape[1], 0.5) if ratio is None else ratio
        self.most = entr(even) + entr(1.0 - even)
        self._shift = np.zeros(weights.shape[1])  # ν, the start of the next search

    def __call__(self, f: np.ndarray, columns: np.ndarray) -> Pair:
        """Return the terms of the rows, and the derivatives of their weighted sum."""
        above, above_slope = _HINGE.value_and_derivative(f, 1.0)
        below, below_slope = _HINGE.value_and_derivative(f, -1.0)
        p = self._best(below - above, columns)
        missing_entropy = self.most[columns] - entr(p) - entr(1.0 - p)
        value = p * above + (1.0 - p) * below + self.temperature * missing_entropy
        if self.ratio is not None:  # corrects the sum for the rounding error of the share
            value -= self.temperature * self._shift[columns] * (p - self.ratio[columns])
        return value, p * above_slope + (1.0 - p) * below_slope

    def entropy(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean entropy of each column, and its contribution to the weighted sum."""
        p = self.probabilities(f)
        mean = (self.weights * (entr(p) + entr(1.0 - p))).sum(axis=0) / self.total
        return mean, self.temperature * self.total * (self.most - mean)

    def probabilities(self, f: np.ndarray) -> np.ndarray:
        """Return p for values of all columns."""
        gain = _HINGE.value(f, -1.0) - _HINGE.value(f, 1.0)
        return self._best(gain, np.arange(f.shape[1]))

    def _best(self, gain: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return p from loss(−f) − loss(f)."""
        gain = gain / self.temperature
        if self.ratio is None:
            return expit(gain)
        weights, ratio = self.weights[:, columns] / self.total[columns], self.ratio[columns]
        low, high = -gain.max(axis=0) - 40.0, -gain.min(axis=0) + 40.0
        shift = np.clip(self._shift[columns], low, high)
        for _ in range(_STEPS):  # Newton steps, or bisection where they leave the bracket
            p = expit(gain + shift)
            excess = (weights * p).sum(axis=0) - ratio
            narrow = high - low <= 4.0 * np.finfo(float).eps * np.maximum(np.abs(shift), 1.0)
            found = (np.abs(excess) < _EXCESS) | narrow
            if found.all():
                break
            high, low = np.where(excess > 0, shift, high), np.where(excess > 0, low, shift)
            rise = (weights * p * (1.0 - p)).sum(axis=0)
            newton = shift - excess / np.maximum(rise, 1e-300)
            inside = (newton > low) & (newton < high)
            shift = np.where(found, shift, np.where(inside, newton, 0.5 * (low + high)))
        self._shift[columns] = shift
        return p
