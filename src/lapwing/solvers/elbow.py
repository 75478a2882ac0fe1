"""The linear system of the rows on the elbow, which changes by one row at a time.

    [ −σ   q_Eᵀ ]
    [ q_E  Q_EE ]       A_E of Wang et al. (2006), Theorem 1, with the first unknown β

For many rows the inverse is stored, with a rank-one update for each row that joins or leaves: a
breakpoint of a path costs k² operations instead of k³. Knows neither λ nor multipliers.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

#: Number of rows up to which the system is solved directly each time, and free slots of an inverse.
_FEW, _SLOTS = 16, 80
#: Share of a row's diagonal entry below which its Schur complement is rounding.
_DEPENDENT = 1e-13


class ElbowSystem:
    """The inverse of A_E. Each row has its own slot; slot 0 is β, and empty slots are zero.

    Parameters
    ----------
    Q : ndarray of shape (l, l)
        Symmetric positive semi-definite.
    q : ndarray of shape (l,)
        Coefficients of β.
    sigma : float
        Penalty of β.
    """

    def __init__(self, Q: np.ndarray, q: np.ndarray, sigma: float) -> None:
        self.Q, self.q, self.sigma = Q, q, sigma
        self.rows = np.zeros(0, dtype=int)
        self._slot = np.zeros(len(Q), dtype=int)  # 0: not on the elbow
        self._clear()

    def solve(self, rows: np.ndarray, rhs: np.ndarray, *, direct: bool = False) -> np.ndarray:
        """Return the solution for these rows, β first, in the order of the right-hand side.

        Few rows, or all if ``direct``, are solved by elimination, which is accurate even if the
        system is nearly singular. The inverse of many rows loses accuracy with each update.
        """
        if direct or len(rows) <= _FEW:
            if direct:
                self._clear()
            return self._eliminate(rows, rhs)
        self._set_rows(rows)
        slots = np.zeros(len(rhs), dtype=int)
        slots[1:] = self._slot[rows]
        spread = np.zeros(len(self._inverse))
        spread[slots] = rhs
        return dsymv(1.0, self._inverse, spread, lower=1)[slots]

    def recompute(self) -> None:
        """Compute the inverse anew, if there is one."""
        if len(self.rows):
            self._rebuild(self.rows)

    def _eliminate(self, rows: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        k = len(rows)
        system = np.empty((k + 1, k + 1))
        system[0, 0] = -self.sigma
        system[0, 1:] = system[1:, 0] = self.q[rows]
        system[1:, 1:] = self.Q[rows[:, None], rows]
        try:
            return np.linalg.solve(system, rhs)
        except np.linalg.LinAlgError:
            return np.linalg.lstsq(system, rhs, rcond=None)[0]

    def _rebuild(self, rows: np.ndarray) -> None:
        k = len(rows)
        self._clear(k)
        self._inverse[: k + 1, : k + 1] = self._eliminate(rows, np.eye(k + 1))
        self._slot[rows] = np.arange(1, k + 1)
        del self._empty[len(self._empty) - k :]
        self.rows = rows.copy()

    def _clear(self, room: int = 0) -> None:
        size = _SLOTS + room + room // 8
        self._inverse = np.zeros((size, size), order="F")
        self._slot[self.rows] = 0
        self._empty = list(range(size - 1, 0, -1))
        self.rows = np.zeros(0, dtype=int)

    def _set_rows(self, rows: np.ndarray) -> None:
        """Update the inverse such that it belongs to these rows."""
        joining = rows[self._slot[rows] == 0]
        leaving = self.rows[:0]
        if len(rows) - len(joining) < len(self.rows):
            wanted = np.zeros(len(self.Q), dtype=bool)
            wanted[rows] = True
            leaving = self.rows[~wanted[self.rows]]
        if len(leaving) + len(joining) > 2 + len(rows) // 8:
            self._rebuild(rows)
            return
        for row in leaving:
            self._leave(row)
        for row in joining:
            self._join(row)

    def _join(self, row: int) -> None:
        if len(self._empty) == 0:
            old, size = self._inverse, len(self._inverse)
            larger = size + _SLOTS
            self._inverse = np.zeros((larger, larger), order="F")
            self._inverse[:size, :size] = old
            self._empty = list(range(larger - 1, size - 1, -1))
        slot = self._empty.pop()
        column = np.zeros(len(self._inverse))
        column[0], column[self._slot[self.rows]] = self.q[row], self.Q[row, self.rows]
        change = dsymv(1.0, self._inverse, column, lower=1)
        rest = self.Q[row, row] - column @ change
        if rest <= _DEPENDENT * self.Q[row, row]:
            self._rebuild(np.append(self.rows, row))
            return
        change[slot] = -1.0
        self._inverse = dsyr(1.0 / rest, change, a=self._inverse, lower=1, overwrite_a=1)
        self._slot[row] = slot
        self.rows = np.append(self.rows, row)

    def _leave(self, row: int) -> None:
        slot = self._slot[row]
        self.rows = self.rows[self.rows != row]
        column = self._inverse[slot].copy()
        column[slot:] = self._inverse[slot:, slot]
        self._inverse = dsyr(-1.0 / column[slot], column, a=self._inverse, lower=1, overwrite_a=1)
        self._inverse[slot] = 0.0
        self._inverse[:, slot] = 0.0
        self._slot[row] = 0
        self._empty.append(slot)
