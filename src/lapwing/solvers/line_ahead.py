"""A loss along lines whose evaluation is a pass over rows that are not in memory.

A pass costs far more than one more column in it. Where a first step has been refused, the steps
that doubling or bisection would try next are therefore evaluated in the same pass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: Steps of a column that are evaluated in one pass, after the first.
AHEAD = 3

#: A loss as a function of vectors (m, k) and the indices of their columns, which may repeat: its
#: values (k,) and its gradients in the space (m, k).
VectorLoss = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class LineAhead:
    """The loss at x + t·direction, for every column.

    Parameters
    ----------
    loss : VectorLoss
        The loss.
    x, direction : ndarray of shape (m, k)
        The lines.
    columns : ndarray of int, shape (k,)
        Indices of their columns.
    early : bool
        Whether the first pass evaluates further steps, too.

    Attributes
    ----------
    value, gradient : ndarray of shape (k,) and (m, k)
        The loss at the last step of each column.
    """

    def __init__(
        self,
        loss: VectorLoss,
        x: np.ndarray,
        direction: np.ndarray,
        columns: np.ndarray,
        *,
        early: bool,
    ) -> None:
        self.loss, self.x, self.direction, self.columns = loss, x, direction, columns
        self.value, self.gradient = np.empty(len(columns)), np.empty_like(direction)
        self._ahead = AHEAD if early else 1
        self._known: list[dict[float, tuple[float, np.ndarray]]] = [{} for _ in columns]

    def evaluate(
        self, which: np.ndarray, t: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values and gradients after steps t of some columns.

        ``low`` and ``high`` are the bounds between which the steps are.
        """
        missing = np.array([t[i] not in self._known[j] for i, j in enumerate(which)])
        if missing.any():
            self._read(which[missing], t[missing], low[missing], high[missing])
        for step, j in zip(t, which, strict=True):
            self.value[j], self.gradient[:, j] = self._known[j][step]
        return self.value[which], self.gradient[:, which]

    def _read(self, which: np.ndarray, t: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Evaluate the steps of these columns and those that may follow, in one pass."""
        steps = _next_steps(t, low, high)[: self._ahead]
        self._ahead = AHEAD
        at = np.tile(which, len(steps))
        vectors = self.x[:, at] + steps.ravel() * self.direction[:, at]
        values, gradients = self.loss(vectors, self.columns[at])
        for j in which:
            self._known[j].clear()
        for i, (j, step) in enumerate(zip(at, steps.ravel(), strict=True)):
            self._known[j][step] = float(values[i]), gradients[:, i]


def _next_steps(t: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return steps, and two that may follow each: shape (3, k).

    A step that was doubled or halved is likely to be so again; between two bounds, either half may
    be next.
    """
    doubled, halved = np.isinf(high), low == 0.0
    with np.errstate(invalid="ignore"):
        below, above = 0.5 * (low + t), 0.5 * (t + high)
    second = np.where(doubled, 2.0 * t, below)
    third = np.where(doubled, 4.0 * t, np.where(halved, 0.5 * below, above))
    return np.array([t, second, third])
