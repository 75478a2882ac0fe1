"""Data-based early stopping, Melacci & Belkin (2011), §4.1 and Algorithms 2 and 3.

Decisions usually stop changing long before the objective converges. Every θ iterations these rules
check the predicted classes and stop when they no longer change (stability), when the error on
validation rows no longer decreases (validation), or when both hold (mixed).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .driver import Step

#: η of Algorithm 2: share of changed decisions, each counting as a change from −1 to +1.
STABILITY_TOLERANCE = 0.015


def check_interval(n_rows: int) -> int:
    """Return θ = √n / 2, at least 1."""
    return max(1, round(np.sqrt(n_rows) / 2))


def decisions(values: np.ndarray) -> np.ndarray:
    """Return the predicted class: by sign for one column, else the column of the largest value."""
    return values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1)


class StabilityCheck:
    """Stop when the decisions on the unlabelled rows are stable (Algorithm 2).

    Parameters
    ----------
    unlabelled : ndarray of bool, shape (n,)
        The rows whose decisions are compared.
    """

    def __init__(self, unlabelled: np.ndarray) -> None:
        self.unlabelled = unlabelled
        self.interval = check_interval(len(unlabelled))
        self._previous: np.ndarray | None = None

    def __call__(self, step: Step) -> str | None:
        """Return the reason to stop, or None."""
        if step.iteration % self.interval or not self.unlabelled.any():
            return None
        current = decisions(step.function.values[self.unlabelled])
        previous, self._previous = self._previous, current
        if previous is None:
            return None
        # ‖d − d_old‖₁/u with decisions ±1: a changed row counts twice.
        changed = float(np.mean(current != previous))
        if 2.0 * changed < STABILITY_TOLERANCE:
            return f"{changed:.2%} of the decisions on unlabelled rows changed"
        return None


class ValidationCheck:
    """Stop when the error on validation rows no longer decreases (Algorithm 3).

    Parameters
    ----------
    error_rate : callable
        Maps a step to the share of misclassified validation rows.
    n_validation : int
        Number of validation rows; the smallest improvement that counts is one of them.
    n_rows : int
        Number of training rows, for θ.
    """

    def __init__(self, error_rate: Callable[[Step], float], n_validation: int, n_rows: int) -> None:
        self.error_rate = error_rate
        self.improvement = 1.0 / n_validation
        self.interval = check_interval(n_rows)
        self._previous = 1.0

    def __call__(self, step: Step) -> str | None:
        """Return the reason to stop, or None."""
        if step.iteration % self.interval:
            return None
        error = self.error_rate(step)
        # Half a row of tolerance: the difference of two shares is not exact in floating point.
        if error > self._previous - 0.5 * self.improvement:
            return f"the validation error stays at {error:.2%}"
        self._previous = error
        return None


class MixedCheck:
    """Stop when the decisions are stable and the validation error no longer decreases."""

    def __init__(self, stability: StabilityCheck, validation: ValidationCheck) -> None:
        self.rules = (stability, validation)

    def __call__(self, step: Step) -> str | None:
        """Return the reason to stop, or None."""
        reasons = [rule(step) for rule in self.rules]
        return " and ".join(r for r in reasons if r) if all(reasons) else None
