"""Piecewise linear paths of multipliers in a box, from event to event.

    0 ≤ a ≤ w,   g = Qa + qβ + (external terms),   qᵀa − σβ given

Optimality requires gᵢ ≥ 0 where aᵢ = 0, gᵢ ≤ 0 where aᵢ = wᵢ, and gᵢ = 0 in between: these rows are
on the elbow. As the external terms change in time, a and β change at constant rates until a row
reaches the elbow or a bound.

Several rows may do so at once. Which of them change from there on is a small quadratic program for
the rates of change. It is solved by the active-set method of Lawson and Hanson for non-negative
least squares, which ends after finitely many exchanges. A row joins the moving rows only if its g
would change sign otherwise, so the system of the elbow is never singular: duplicates of a row on
the elbow stay at their bound. If no row can move, a row at its bound determines β.

Knows neither λ nor labels: `path` does.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymv

from .elbow import ElbowSystem

#: Share of the time, or of a bound, within which events are simultaneous.
SIMULTANEOUS = 1e-10
#: Rounding of g relative to its largest term.
ROUNDING = 1e-14
#: Number of events per row after which a path is ended.
MAX_EVENTS = 200
#: Rates of g, in units of the drift, that count as zero.
_AT_REST = 1e-9
#: Shares of that: residual to which rates are refined, and largest residual when a row joins.
_EXACT, _WORN = 0.1, 1e3
#: Number of rounds for which `LeastNorm` tries to exchange all rows at once.
_ROUNDS = 30


class Tracer:
    """State of a path: a, β, g and the rows on the elbow whose multipliers change (`elbow`).

    Per unit of time the external part of g changes by `drift`, and qᵀa − σβ by `inflow`. For the
    path in λ, time is the decrease of λ: drift one, no inflow.
    """

    drift, inflow = 1.0, 0.0

    a: np.ndarray
    beta: float
    g: np.ndarray

    def __init__(
        self, Q: np.ndarray, upper: np.ndarray, q: np.ndarray | None, sigma: float
    ) -> None:
        self.Q, self.upper = Q, upper
        self.q = np.zeros(len(Q)) if q is None else q
        self.sigma = 1.0 if q is None else sigma  # without an intercept β stays zero
        #: An unpenalised intercept: qᵀa is given, and a does not determine β.
        self.free = self.sigma == 0.0
        # An upper bound of |Qa|, so no row is on the elbow where λ is above twice this value.
        self.size = float((np.abs(Q) @ upper).max(initial=0.0))
        self.at_rest = self.quiet = _AT_REST
        self.elbow = self.stuck = np.zeros(0, dtype=int)
        self.rates = np.zeros(0)  # not computed yet
        self.system = ElbowSystem(Q, self.q, self.sigma)

    def next_event(self) -> float:
        """Return the time until a row reaches the elbow or a bound; inf if never."""
        speed = np.where(self.a > 0, self.rates, -self.rates)  # towards the elbow
        speed[self.elbow] = 0.0
        speed[self.stuck] = 0.0
        approaching = np.flatnonzero(speed > self.quiet)
        ahead = self.g[approaching]
        times = np.where(self.a[approaching] > 0, -ahead, ahead) / speed[approaching]
        self.room = self._time_to_bounds()
        step = min(self.room.min(initial=np.inf), times.min(initial=np.inf))
        return max(float(step), 0.0)

    def near(self, distance: float) -> np.ndarray:
        """Return which rows are on the elbow up to a distance, or on its wrong side."""
        return np.where(self.a > 0, self.g >= -distance, self.g <= distance)

    def _time_to_bounds(self) -> np.ndarray:
        """Return the time until each row of the elbow reaches a bound, and keep these bounds."""
        speed = np.abs(self.d)
        self.bounds = np.where(self.d > 0, self.upper[self.elbow], 0.0)
        way = np.abs(self.bounds - self.a[self.elbow])
        return np.divide(way, speed, out=np.full(len(way), np.inf), where=speed > 0)

    def move(self, step: float, together: float) -> None:
        """Advance the time after `next_event`; events within ``together`` are simultaneous."""
        elbow, room = self.elbow, self.room
        a = self.a[elbow] + step * self.d
        reach = np.flatnonzero(room <= step + together)
        if len(reach):
            bounds = self.bounds[reach]
            close = np.abs(bounds - a[reach]) <= SIMULTANEOUS * self.upper[elbow[reach]]
            there = close | (room[reach] <= step)
            a[reach[there]] = bounds[there]
        self.a[elbow] = a
        self.beta += step * self.d_beta
        self.g += step * self.rates
        self.g[elbow] = 0.0

    def find_direction(self, near: np.ndarray) -> None:
        """Set the rows that move and the rates of a, β and g; ``near`` are the rows with g = 0.

        The rates minimise ½dᵀQd + drift·1ᵀd, where rows inside the box are free, rows at a bound
        may only move inwards, and qᵀd − σ·dβ is the inflow.
        """
        a = self.a[self.elbow]
        inside = (a > 0) & (a < self.upper[self.elbow])
        # If no row has left, the current rates are those of the free rows.
        solved = len(self.rates) > 0 and len(inside) > 0 and bool(inside.all())
        free_rows = self.elbow[inside]
        near[free_rows] = False
        resting = np.flatnonzero(near)
        side = np.where(self.a[resting] > 0, -1.0, 1.0)  # direction away from the bound
        joined: list[int] = []  # positions in `resting`
        if self.free and len(free_rows) == 0:
            joined = self._first_to_move(resting, side)
            if len(joined) == 0:  # no row moves, but β follows one of them
                high = np.flatnonzero(side < 0)
                followed = np.append(high, np.arange(len(resting)))[:1]
                self.elbow = resting[followed]
                self.d = np.zeros(len(followed))
                self.d_beta = -float(self.q[self.elbow].sum())
                self.rates = self.q * self.d_beta + self.drift
                self.quiet, self.stuck = self.at_rest, resting[:0]
                return
        self._exchange(free_rows, resting, side, joined, solved=solved)

    def _first_to_move(self, resting: np.ndarray, side: np.ndarray) -> list[int]:
        """Return the first rows to move if no row is inside the box, as positions."""
        positive = np.flatnonzero((side < 0) & (self.q[resting] > 0))
        negative = np.flatnonzero((side < 0) & (self.q[resting] < 0))
        if len(positive) and len(negative):  # eq. (14) and (15)
            return [int(positive[0]), int(negative[0])]
        return []

    def _exchange(
        self,
        free_rows: np.ndarray,
        resting: np.ndarray,
        side: np.ndarray,
        joined: list[int],
        *,
        solved: bool,
    ) -> None:
        """Lawson and Hanson's method: rows join while one violates its sign, or drop out again.

        A row that drops out immediately violates by rounding only, and is left out (`stuck`).
        """
        barred = np.zeros(len(resting), dtype=bool)
        present = np.zeros(len(resting))  # rates of the resting rows, away from their bounds
        rows, k = free_rows, len(free_rows)
        for _ in range(100 + 10 * len(resting)):
            if not solved:
                rows = np.concatenate([free_rows, resting[joined]])
                solution, rates = self._solve_rates(rows)
                if joined and np.abs(rates[rows]).max() > _WORN * self.at_rest:
                    barred[joined.pop()] = True  # linearly dependent on the elbow up to rounding
                    continue
                wanted = solution[1 + k :] * side[joined]
                turned = wanted <= 0
                if turned.any():
                    have = present[joined]
                    way = np.where(turned & (have > 0), have - wanted, 1.0)
                    shares = np.where(turned, have / way, np.inf)
                    share = float(shares.min())
                    present[joined] = have + share * (wanted - have)
                    out = np.array(joined)[shares <= share]
                    barred[np.array(joined)[(shares <= share) & (have == 0)]] = True
                    present[out] = 0.0
                    joined = [position for position in joined if position not in out]
                    continue
                present[joined] = wanted
                self.d, self.d_beta, self.elbow = solution[1:], float(solution[0]), rows
                self.rates = rates
            # The rates of rows on the elbow, which should be zero, estimate the rounding of all.
            error = float(np.abs(self.rates[rows]).max(initial=0.0))
            self.quiet, self.stuck = self.at_rest + 10.0 * error, resting[barred]
            violation = -side * self.rates[resting]
            violation[barred] = 0.0
            violation[joined] = 0.0
            if violation.max(initial=0.0) <= self.quiet:
                return
            joined.append(int(violation.argmax()))
            solved = False

    def _solve_rates(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates of β and of the multipliers of these rows, and those of all g."""
        rhs = np.full(len(rows) + 1, -self.drift)
        rhs[0] = self.inflow
        solution = self.system.solve(rows, rhs)
        rates = self._g_rates(rows, solution)
        for attempt in range(4):
            d = solution[1:]
            missing = self.inflow + self.sigma * solution[0] - self.q[rows] @ d
            balanced = abs(missing) <= 1e-12 * np.abs(d).sum()
            if balanced and np.abs(rates[rows]).max(initial=0.0) <= _EXACT * self.at_rest:
                break
            residual = np.append(missing, -rates[rows])
            if attempt == 0 and np.abs(residual).max() > _WORN * self.at_rest:
                self.system.recompute()
            solution = solution + self.system.solve(rows, residual, direct=attempt >= 2)
            rates = self._g_rates(rows, solution)
        return solution, rates

    def _g_rates(self, rows: np.ndarray, solution: np.ndarray) -> np.ndarray:
        if 6 * len(rows) < len(self.Q):
            rates = solution[1:] @ self.Q[rows]
        else:  # a symmetric product, without a copy of rows of Q
            spread = np.zeros(len(self.Q))
            spread[rows] = solution[1:]
            rates = dsymv(1.0, self.Q.T, spread)
        rates += self.q * solution[0]
        rates += self.drift
        return rates


class LeastNorm(Tracer):
    """Multipliers of one class with least norm for an increasing sum, as in Lemma 2.

    Time is the sum, from zero. A row's g is its value minus the common value −β of the rows inside
    the box.
    """

    drift, inflow = 0.0, 1.0

    def __init__(self, Q: np.ndarray, upper: np.ndarray, base: np.ndarray) -> None:
        super().__init__(Q, upper, np.ones(len(Q)), 0.0)
        self.size = max(self.size, float(np.abs(base).max(initial=0.0)))
        self.at_rest = self.quiet = _AT_REST * float(np.abs(np.diag(Q)).mean())
        self.a, self.beta, self.base, self.g = np.zeros(len(Q)), 0.0, base, base.copy()

    def run(self, total: float) -> None:
        """Increase the sum to ``total``, which is below the sum of the bounds."""
        if self._jump(total):
            return
        passed = 0.0
        for _ in range(100 + MAX_EVENTS * len(self.a)):
            low = self.a == 0
            if (low | (self.a == self.upper)).all():  # all at bounds: β is not unique
                shift = float(self.g[low].min())
                self.g -= shift
                self.beta -= shift
            self.find_direction(self.near(100.0 * ROUNDING * self.size))
            step = min(self.next_event(), total - passed)
            self.move(step, SIMULTANEOUS * total)
            self.g = self.base + self.Q @ self.a + self.beta
            self.g[self.elbow] = 0.0
            passed += step
            if passed >= (1.0 - 1e-13) * total:
                return

    def _jump(self, total: float) -> bool:
        """Try to reach the end at once by exchanging all rows on the wrong side together.

        This usually succeeds after a few rounds. It is not tried for linearly dependent rows.
        """
        upper, allowed = self.upper, 1e-12 * self.size
        inside, high = np.ones(len(upper), dtype=bool), np.zeros(len(upper), dtype=bool)
        for _ in range(_ROUNDS):
            rows, a = np.flatnonzero(inside), np.where(high, upper, 0.0)
            if len(rows) == 0 or not self._independent(rows):
                return False
            rest = self.base + self.Q @ a
            solution = self.system.solve(rows, np.append(total - a.sum(), -rest[rows]), direct=True)
            a[rows] = solution[1:]
            g = self.base + self.Q @ a + solution[0]
            below, above = inside & (a < 0), inside & (a > upper)
            back = ~inside & np.where(high, g > allowed, g < -allowed)
            if not (below | above | back).any():
                self.a, self.beta, self.elbow = a, float(solution[0]), rows
                return bool(np.abs(g[rows]).max() <= allowed)
            inside = (inside & ~below & ~above) | back
            high = (high & ~back) | above
        return False

    def _independent(self, rows: np.ndarray) -> bool:
        """Return whether the rows are linearly independent, also of the constant function."""
        block = self.Q[rows[:, None], rows] + self.size / len(self.Q)
        try:
            pivots = np.diag(np.linalg.cholesky(block))
        except np.linalg.LinAlgError:
            return False
        return bool(pivots.min() ** 2 > 1e-9 * pivots.max() ** 2)

    def _first_to_move(self, resting: np.ndarray, side: np.ndarray) -> list[int]:
        return [int(np.flatnonzero(side > 0)[0])]
