"""The exact solution path of a hinge machine in its regularisation parameter λ.

    min over c, b:   Σ wᵢ max(1 − yᵢfᵢ, 0) + (λ/2)·(cᵀGc + σb²),    f = Gc + t·b

With multipliers 0 ≤ aᵢ ≤ wᵢ the solution is c = ya/λ, b = β/λ, and (a, β) is a continuous,
piecewise linear function of λ: rows inside the margin have a = w, rows outside have a = 0, and only
the rows on the margin (the elbow) move. Wang et al. (2006), §3. G is the reduced kernel of the
labelled rows; nothing here knows where it came from.

Notation: Q = yGy, q = yt, and g = Qa + qβ − λ, which is λ(yf − 1). Where aᵢ = 0 optimality asks for
gᵢ ≥ 0, where aᵢ = wᵢ for gᵢ ≤ 0, and between for gᵢ = 0; also qᵀa = σβ.

At a breakpoint several rows may reach the elbow or leave it at once. Which of them move is itself a
small quadratic program, for the rates of change; it is solved by the active-set method of Lawson
and Hanson for non-negative least squares, which ends after finitely many exchanges. A row joins the
elbow only if its g would change sign without it, so the system of the elbow is never singular:
copies of a row on the elbow rest at their bound. Where the elbow would be empty, one row that rests
at its bound holds β.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import dsymv

from ..arrays.threads import single_threaded_blas
from .elbow import ElbowSystem

#: Share of λ within which events are simultaneous, and rows on the elbow.
_TOGETHER = 1e-10
#: Rates of g, whose unit is the rate of λ, that are zero.
_AT_REST = 1e-9
#: Shares of that: what a solution is refined to, and what a row that joins may leave at most.
_EXACT, _WORN = 0.1, 1e3
#: Rounding of g in terms of its largest part.
_ROUNDING = 1e-14
#: Breakpoints after which the elbow is computed afresh, so that rounding does not add up; it also
#: is when λ has halved, because multipliers shrink with λ and rounding does not.
_REFRESH = 25
#: Share of the largest λf that any multipliers can make, below which λ is not followed: f would be
#: rounding.
_FLOOR = 1e-8
#: Share of λ by which a row may be beyond the margin before the path is given up.
_ASTRAY = 1e-6
#: Rounds after which the start is followed and not guessed.
_ROUNDS = 30
#: Breakpoints a row after which the path is given up.
_MOST = 200

#: λ, a, β and the number of rows on the elbow.
Point = tuple[float, np.ndarray, float, int]


@dataclass(frozen=True)
class SolutionPath:
    """Breakpoints of one path, λ descending; between them a and β are linear in λ.

    Attributes
    ----------
    lambdas : ndarray of shape (B,)
        Breakpoints; the last is where the path was asked to end.
    multipliers : ndarray of shape (B, l)
        a.
    offsets : ndarray of shape (B,)
        β = λb.
    elbows : ndarray of shape (B,)
        Rows on the elbow below each breakpoint.
    slope : float
        Change of β with λ above the first breakpoint, where a is constant.
    above : int
        Rows on the elbow above the first breakpoint.
    complete : bool
        Whether the end was reached; if not, what is there was still right.
    """

    lambdas: np.ndarray
    multipliers: np.ndarray
    offsets: np.ndarray
    elbows: np.ndarray
    slope: float
    above: int
    complete: bool = True

    def at(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a of shape (k, l) and β of shape (k,) for k values of λ.

        Below the last breakpoint the values of the last one are given.
        """
        lam = np.atleast_1d(np.asarray(lam, dtype=float))
        above = lam - self.lambdas[0]
        if len(self.lambdas) == 1:  # nothing happens anywhere
            beta = self.offsets[0] + self.slope * above
            return np.repeat(self.multipliers, len(lam), axis=0), beta
        right = np.clip(np.searchsorted(-self.lambdas, -lam), 1, len(self.lambdas) - 1)
        high, low = self.lambdas[right - 1], self.lambdas[right]
        # Both shares by themselves: one as the rest of the other has no digits near an end.
        before = np.clip((lam - low) / (high - low), 0.0, 1.0)
        after = np.clip((high - lam) / (high - low), 0.0, 1.0)
        a = self.multipliers[right - 1] * before[:, None]
        a += self.multipliers[right] * after[:, None]
        beta = self.offsets[right - 1] * before + self.offsets[right] * after
        return a, beta + self.slope * np.maximum(above, 0.0)


def hinge_path(
    G: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    t: np.ndarray | None,
    sigma: float = 0.0,
    *,
    ratio: float = 1e-4,
) -> SolutionPath:
    """Return the path from λ = ∞ down to ``ratio`` times its first breakpoint.

    It ends earlier where λf is near its rounding. Cost: a product with G and a system of the size
    of the elbow for each breakpoint.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Symmetric positive semi-definite.
    y : ndarray of shape (l,)
        ±1.
    weights : ndarray of shape (l,)
        Positive weights of the losses.
    t : ndarray of shape (l,) or None
        What a unit of b adds to f; None without an intercept. All ones if ``sigma`` is zero.
    sigma : float
        Penalty of b.
    ratio : float
        Where to end.
    """
    weights, shift = np.asarray(weights, dtype=float), np.zeros(len(y))
    floor = _FLOOR * float((np.abs(G) @ weights).max(initial=0.0))
    if t is not None and sigma == 0:
        # An intercept takes off what all rows have in common, which can hide all else in rounding:
        # since yᵀa = 0, centred kernels have the same path but for β.
        shift = G.mean(axis=1)
        G = G - shift[:, None] - shift + shift.mean()
        if float((np.abs(G) @ weights).max()) <= 1e-4 * floor:
            return _only_intercept(y, weights)
    Q = np.ascontiguousarray(y[:, None] * G * y, dtype=float)
    tracer = _HingePath(Q, weights, None if t is None else y * t, sigma)
    with single_threaded_blas():  # many small products, which threads would only slow down
        tracer.start(floor)
        path = tracer.run(ratio)
    return replace(path, offsets=path.offsets - path.multipliers @ (y * shift))


def _only_intercept(y: np.ndarray, weights: np.ndarray) -> SolutionPath:
    """Return the path where all rows are the same: f is 1 with the sign of the heavier class."""
    excess = float(y @ weights)
    majority = np.sign(excess) if abs(excess) > 1e-12 * weights.sum() else 0.0
    few, many = weights[y != majority].sum(), weights[y == majority].sum()
    a = np.where(y == majority, weights * (few / many if many > 0 else 1.0), weights)
    elbow = int((y == majority).sum())
    return _as_path([(1.0, a, majority, elbow)], majority, elbow)


class _Tracer:
    """Where a path stands: a, β, g and the rows on the elbow that move (`elbow`).

    As time passes g changes by `drift`, and qᵀa − σβ by `inflow`, beside what a and β do. For the
    path in λ time is the fall of λ: drift one, no inflow.
    """

    drift, inflow = 1.0, 0.0

    a: np.ndarray
    beta: float
    g: np.ndarray

    def __init__(
        self, Q: np.ndarray, upper: np.ndarray, q: np.ndarray | None, sigma: float
    ) -> None:
        self.Q, self.upper = Q, upper
        self.intercept = q is not None
        self.q = np.zeros(len(Q)) if q is None else q
        self.sigma = sigma if self.intercept else 1.0
        #: An unpenalised intercept: qᵀa is given, and β is not given by a alone.
        self.free = self.intercept and sigma == 0.0
        # No part of Qa is ever larger, so no row is on the elbow where λ is above twice this value.
        self.size = float((np.abs(Q) @ upper).max(initial=0.0))
        self.at_rest = self.quiet = _AT_REST
        self.elbow = self.stuck = np.zeros(0, dtype=int)
        self.rates = np.zeros(0)  # not yet known
        self.system = ElbowSystem(Q, self.q, self.sigma)

    def next_event(self) -> float:
        """Return the time until a row reaches the elbow or a bound; inf if never."""
        side = np.where(self.a > 0, -1.0, 1.0)
        towards = -side * self.rates
        towards[self.elbow] = 0.0
        towards[self.stuck] = 0.0
        coming = towards > self.quiet
        distance = (side * self.g)[coming] / towards[coming]
        self.room = self._room()
        step = min(self.room.min(initial=np.inf), distance.min(initial=np.inf))
        return max(float(step), 0.0)

    def near(self, distance: float) -> np.ndarray:
        """Return which rows are on the elbow, or beyond it by rounding."""
        return np.where(self.a > 0, self.g >= -distance, self.g <= distance)

    def _room(self) -> np.ndarray:
        """Return the time until each row of the elbow reaches a bound."""
        a, speed = self.a[self.elbow], np.abs(self.d)
        way = np.where(self.d > 0, self.upper[self.elbow] - a, a)
        return np.where(speed > 0, way / np.where(speed > 0, speed, 1.0), np.inf)

    def move(self, step: float, together: float) -> None:
        """Let time pass after `next_event`; events closer than ``together`` are simultaneous."""
        elbow, upper = self.elbow, self.upper[self.elbow]
        bounds, a = np.where(self.d > 0, upper, 0.0), self.a[elbow] + step * self.d
        room = self.room
        close = np.abs(bounds - a) <= _TOGETHER * upper
        self.a[elbow] = np.where((room <= step) | ((room <= step + together) & close), bounds, a)
        self.beta += step * self.d_beta
        self.g += step * self.rates
        self.g[elbow] = 0.0

    def find_direction(self, near: np.ndarray) -> None:
        """Set the rows that move, and the rates of a, β and g, from the rows whose g is zero.

        The rates minimise ½dᵀQd + drift·1ᵀd where rows inside the box are free, rows at a bound
        may only leave it, and qᵀd − σ·dβ is the inflow.
        """
        a = self.a[self.elbow]
        inside = (a > 0) & (a < self.upper[self.elbow])
        free_rows = self.elbow[inside]
        near[free_rows] = False
        resting = np.flatnonzero(near)
        side = np.where(self.a[resting] > 0, -1.0, 1.0)  # the way off the bound
        joined: list[int] = []  # places in `resting`
        if self.free and len(free_rows) == 0:
            joined = self._first_to_move(resting, side)
            if len(joined) == 0:  # no row moves, but β may have to follow one
                high = np.flatnonzero(side < 0)
                held = np.append(high, np.arange(len(resting)))[:1]
                self.elbow = resting[held]
                self.d = np.zeros(len(held))
                self.d_beta = -float(self.q[self.elbow].sum())
                self.rates = self.q * self.d_beta + self.drift
                self.quiet, self.stuck = self.at_rest, resting[:0]
                return
        self._exchange(free_rows, resting, side, joined)

    def _first_to_move(self, resting: np.ndarray, side: np.ndarray) -> list[int]:
        """Return rows that can move by themselves where no row is inside the box."""
        positive = np.flatnonzero((side < 0) & (self.q[resting] > 0))
        negative = np.flatnonzero((side < 0) & (self.q[resting] < 0))
        if len(positive) and len(negative):  # eq. (14) and (15)
            return [int(positive[0]), int(negative[0])]
        return []

    def _exchange(
        self, free_rows: np.ndarray, resting: np.ndarray, side: np.ndarray, joined: list[int]
    ) -> None:
        """Lawson and Hanson's method: rows join while one pulls, and drop out when they turn.

        A row that turns at once is pulled by rounding alone, and stays where it is (`stuck`).
        """
        barred = np.zeros(len(resting), dtype=bool)
        present = np.zeros(len(resting))  # rates of the resting rows, off their bounds
        rows, k = free_rows, len(free_rows)
        # Where no row has left, the present rates are those of the free rows.
        solved = len(self.rates) > 0 and k > 0 and np.array_equal(free_rows, self.elbow)
        for _ in range(100 + 10 * len(resting)):
            if not solved:
                rows = np.concatenate([free_rows, resting[joined]])
                solution, rates = self._solve_rates(rows)
                if joined and np.abs(rates[rows]).max() > _WORN * self.at_rest:
                    barred[joined.pop()] = True  # what it adds to the elbow is rounding
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
                    joined = [place for place in joined if place not in out]
                    continue
                present[joined] = wanted
                self.d, self.d_beta, self.elbow = solution[1:], float(solution[0]), rows
                self.rates = rates
            # What the rows of the elbow are off is what rounding does to all rates.
            off = float(np.abs(self.rates[rows]).max(initial=0.0))
            self.quiet, self.stuck = self.at_rest + 10.0 * off, resting[barred]
            pull = -side * self.rates[resting]
            pull[barred] = 0.0
            pull[joined] = 0.0
            if pull.max(initial=0.0) <= self.quiet:
                return
            joined.append(int(pull.argmax()))
            solved = False

    def _solve_rates(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates of β and of these rows' multipliers, and those of all g."""
        rhs = np.full(len(rows) + 1, -self.drift)
        rhs[0] = self.inflow
        solution = self.system.solve(rows, rhs)
        rates = self._g_rates(rows, solution)
        for attempt in range(4):
            d = solution[1:]
            missing = self.inflow + self.sigma * solution[0] - self.q[rows] @ d
            missing = missing if self.intercept else 0.0
            balanced = abs(missing) <= 1e-12 * np.abs(d).sum()
            if balanced and np.abs(rates[rows]).max(initial=0.0) <= _EXACT * self.at_rest:
                break
            left = np.append(missing, -rates[rows])
            if attempt == 0 and np.abs(left).max() > _WORN * self.at_rest:
                self.system.renew()
            solution = solution + self.system.solve(rows, left, direct=attempt >= 2)
            rates = self._g_rates(rows, solution)
        return solution, rates

    def _g_rates(self, rows: np.ndarray, solution: np.ndarray) -> np.ndarray:
        if 6 * len(rows) < len(self.Q):
            rates = solution[1:] @ self.Q[rows]
        else:  # half of Q, without taking rows out of it
            spread = np.zeros(len(self.Q))
            spread[rows] = solution[1:]
            rates = dsymv(1.0, self.Q.T, spread)
        rates += self.q * solution[0]
        rates += self.drift
        return rates


class _LeastNorm(_Tracer):
    """Multipliers of one class of least norm for a growing sum: Lemma 2 without a solver.

    Time is the sum, from zero; a row's g is its value less the common value −β of those inside.
    """

    drift, inflow = 0.0, 1.0

    def __init__(self, Q: np.ndarray, upper: np.ndarray, base: np.ndarray) -> None:
        super().__init__(Q, upper, np.ones(len(Q)), 0.0)
        self.size = max(self.size, float(np.abs(base).max(initial=0.0)))
        self.at_rest = self.quiet = _AT_REST * float(np.mean(np.diag(Q)))
        self.a, self.beta, self.base, self.g = np.zeros(len(Q)), 0.0, base, base.copy()

    def run(self, total: float) -> None:
        """Raise the sum to ``total``, which is below the sum of the bounds."""
        if self._jump(total):
            return
        passed = 0.0
        for _ in range(100 + _MOST * len(self.a)):
            low = self.a == 0
            if (low | (self.a == self.upper)).all():  # β is free between the two kinds
                shift = float(self.g[low].min())
                self.g -= shift
                self.beta -= shift
            self.find_direction(self.near(100.0 * _ROUNDING * self.size))
            step = min(self.next_event(), total - passed)
            self.move(step, _TOGETHER * total)
            self.g = self.base + self.Q @ self.a + self.beta
            self.g[self.elbow] = 0.0
            passed += step
            if passed >= (1.0 - 1e-13) * total:
                return

    def _jump(self, total: float) -> bool:
        """Go to the end at once by exchanging all rows on the wrong side together, if that ends.

        It mostly does, after a few rounds; where rows depend on each other it is not tried.
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
        """Return whether the values of these rows can be told apart, whatever the constant."""
        block = self.Q[rows[:, None], rows] + self.size / len(self.Q)
        try:
            pivots = np.diag(np.linalg.cholesky(block))
        except np.linalg.LinAlgError:
            return False
        return bool(pivots.min() ** 2 > 1e-9 * pivots.max() ** 2)

    def _first_to_move(self, resting: np.ndarray, side: np.ndarray) -> list[int]:
        return [int(np.flatnonzero(side > 0)[0])]


class _HingePath(_Tracer):
    """The path in λ; see the module."""

    def start(self, floor: float) -> None:
        """Place the state above the first breakpoint; λ is not followed below ``floor``."""
        self.floor = floor
        Q, q, upper = self.Q, self.q, self.upper
        self.a, self.beta = upper.copy(), 0.0
        excess = float(q @ upper)
        if not self.free:
            if self.intercept:
                self.beta = excess / self.sigma
            self.size = max(self.size, float(np.abs(Q @ self.a + q * self.beta).max()))
        elif abs(excess) <= 1e-12 * upper.sum():  # Lemma 1: all multipliers at their bounds
            reach = Q @ self.a
            self.beta = (reach[q < 0].max() - reach[q > 0].max()) / 2.0
        self.lam = 4.0 * max(self.size, floor) if floor > 0 else 1.0
        if self.free and abs(excess) > 1e-12 * upper.sum():
            self._start_unbalanced(np.sign(excess))
        self.g = Q @ self.a + q * self.beta - self.lam
        self.g[self.elbow] = 0.0

    def _start_unbalanced(self, majority: float) -> None:
        """Lemma 2: the minority at its bounds, the majority of least norm with the same sum."""
        many, few = np.flatnonzero(self.q == majority), np.flatnonzero(self.q != majority)
        base = self.Q[np.ix_(many, few)] @ self.upper[few]
        least = _LeastNorm(self.Q[np.ix_(many, many)], self.upper[many], base)
        least.run(float(self.upper[few].sum()))
        self.a[many] = least.a
        inside = (least.a > 0) & (least.a < self.upper[many])
        self.elbow = many[inside]
        value = -least.beta
        if not inside.any():  # the paper's second case, or no minority at all
            reach = base + least.Q @ least.a
            high = least.a > 0
            value = float(reach[high].max() if high.any() else reach.min())
        self.beta = majority * (self.lam - value)

    def run(self, ratio: float) -> SolutionPath:
        """Follow the path down to ``ratio`` times the first breakpoint."""
        self.find_direction(self._near())
        slope, step = -self.d_beta, self.next_event()
        above = self._point()[3]
        if self.lam - step <= self.floor:  # nothing ever happens
            return _as_path([self._point()], slope, above)
        self._fall(step)
        end, most = max(ratio * self.lam, self.floor), 100 + _MOST * len(self.a)
        points: list[Point] = []
        fresh, since, trusted = self.lam, 0, 1
        for _ in range(most):
            self.find_direction(self._near())
            if points and points[-1][0] <= self.lam:  # a step of no length: the same breakpoint
                points.pop()
            points.append(self._point())
            if self.lam <= end:
                break
            step, since = min(self.next_event(), self.lam - end), since + 1
            last = self.lam - step <= end
            if since >= _REFRESH or self.lam - step < fresh / 2.0 or last:
                # On the way, where no row is at its bound, and near the end, where a is small.
                self._fall(step - min(step / 2.0, self.lam - step))
                self._refresh()
                if self._lost():
                    return _as_path(points[:trusted], slope, above, complete=False)
                fresh, since, trusted = self.lam, 0, len(points)
                step = min(self.next_event(), self.lam - end)
            self._fall(step)
        return _as_path(points, slope, above, complete=self.lam <= end)

    def _point(self) -> Point:
        staying = self._near() & (np.abs(self.rates) <= self.quiet)
        staying[self.elbow] = True
        return self.lam, self.a.copy(), self.beta, int(staying.sum())

    def _fall(self, step: float) -> None:
        self.move(step, _TOGETHER * self.lam)
        self.lam -= step

    def _refresh(self) -> None:
        """Take off what rounding has added to a, β and g."""
        elbow = self.elbow
        for attempt in range(3 if len(elbow) or not self.free else 0):
            off = self.Q[elbow] @ self.a + self.q[elbow] * self.beta - self.lam
            balance = self.q @ self.a - self.sigma * self.beta if self.intercept else 0.0
            if attempt and np.abs(off).max(initial=0.0) <= _ROUNDING * self.size:
                break
            change = self.system.solve(elbow, -np.append(balance, off), direct=attempt == 2)
            a = self.a[elbow] + change[1:]
            beyond = np.maximum(-a, a - self.upper[elbow]).max(initial=0.0)
            if beyond > 1e-9 * self.upper.max():  # rows too alike: a is not given by its values
                break
            self.beta += float(change[0])
            self.a[elbow] = np.clip(a, 0.0, self.upper[elbow])
        self.g = self.Q @ self.a + self.q * self.beta - self.lam
        self.g[elbow] = 0.0

    def _lost(self) -> bool:
        """Return whether a row is on the wrong side of the margin: rounding has led astray."""
        beyond = np.where(self.a > 0, self.g, -self.g)
        return bool(beyond.max() > _ASTRAY * self.lam)

    def _near(self) -> np.ndarray:
        return self.near(_TOGETHER * self.lam + _ROUNDING * self.size)


def _as_path(
    points: list[Point], slope: float, above: int, *, complete: bool = True
) -> SolutionPath:
    lambdas, multipliers, offsets, elbows = zip(*points, strict=True)
    return SolutionPath(
        np.array(lambdas),
        np.array(multipliers),
        np.array(offsets),
        np.array(elbows),
        slope,
        above,
        bool(complete),
    )
