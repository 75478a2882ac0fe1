"""The exact solution path of a support vector machine in its regularisation parameter λ.

    min over c, b:   Σ wᵢ max(1 − yᵢfᵢ, 0) + (λ/2)·(cᵀGc + σb²),    f = Gc + t·b

With multipliers 0 ≤ aᵢ ≤ wᵢ the solution is c = ya/λ, b = β/λ, and (a, β) is a continuous,
piecewise linear function of λ: rows inside the margin have a = w, rows outside have a = 0, and only
the multipliers of rows on the margin (the elbow) change. Wang et al. (2006), §3. G is the reduced
kernel of the labelled rows; nothing here knows where it came from.

Notation: Q = yGy, q = yt, and g = Qa + qβ − λ, which is λ(yf − 1). Optimality requires gᵢ ≥ 0 where
aᵢ = 0, gᵢ ≤ 0 where aᵢ = wᵢ, and gᵢ = 0 in between; also qᵀa = σβ.

`tracer` follows the multipliers from event to event, including simultaneous ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays.threads import single_threaded_blas
from .tracer import MAX_EVENTS, ROUNDING, SIMULTANEOUS, LeastNorm, Tracer

#: Number of breakpoints after which the state is recomputed, so that rounding does not accumulate.
#: It is also recomputed when λ has halved: multipliers decrease with λ, and rounding does not.
_REFRESH = 25
#: The path ends where λ is below this share of the largest possible |λf|: f would be rounding.
_FLOOR = 1e-8
#: Share of λ by which a row may be on the wrong side of the margin before the path is ended.
_ASTRAY = 1e-6
#: λ, a, β and the number of rows on the elbow.
Point = tuple[float, np.ndarray, float, int]


@dataclass(frozen=True)
class SolutionPath:
    """Breakpoints of one path, λ descending; between them a and β are linear in λ.

    Attributes
    ----------
    lambdas : ndarray of shape (B,)
        Breakpoints; the last one is the requested end of the path.
    multipliers : ndarray of shape (B, l)
        a.
    offsets : ndarray of shape (B,)
        β = λb.
    elbows : ndarray of shape (B,)
        Number of rows on the elbow below each breakpoint.
    slope : float
        Derivative of β with respect to λ above the first breakpoint, where a is constant.
    above : int
        Number of rows on the elbow above the first breakpoint.
    complete : bool
        Whether the end was reached. If not, the breakpoints found are still correct.
    """

    lambdas: np.ndarray
    multipliers: np.ndarray
    offsets: np.ndarray
    elbows: np.ndarray
    slope: float
    above: int
    complete: bool = True

    @property
    def constant(self) -> bool:
        """Whether the path has no event."""
        return len(self.lambdas) == 1 and self.complete

    def scaled(self, factor: float) -> SolutionPath:
        """Return the path in other units of λ."""
        return replace(self, lambdas=factor * self.lambdas, offsets=factor * self.offsets)

    def at(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a of shape (k, l) and β of shape (k,) for k values of λ.

        Values of λ below the last breakpoint get the result of the last breakpoint.
        """
        lam = np.atleast_1d(np.asarray(lam, dtype=float))
        above = lam - self.lambdas[0]
        if len(self.lambdas) == 1:  # no events
            beta = self.offsets[0] + self.slope * above
            return np.repeat(self.multipliers, len(lam), axis=0), beta
        right = np.clip(np.searchsorted(-self.lambdas, -lam), 1, len(self.lambdas) - 1)
        high, low = self.lambdas[right - 1], self.lambdas[right]
        # Both shares are computed directly: one minus the other loses its digits near an end.
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

    It goes on where that breakpoint is larger than all breakpoints without an intercept could be,
    and ends earlier if λf gets close to its rounding error. Cost: a product with G and a
    system of the size of the elbow for each breakpoint.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Symmetric positive semi-definite.
    y : ndarray of shape (l,)
        ±1.
    weights : ndarray of shape (l,)
        Positive weights of the losses.
    t : ndarray of shape (l,) or None
        Change of f per unit of b; None without an intercept. All ones where ``sigma`` is zero.
    sigma : float
        Penalty of b.
    ratio : float
        Last λ relative to the first breakpoint.
    """
    weights, shift = np.asarray(weights, dtype=float), np.zeros(len(y))
    floor = _FLOOR * float((np.abs(G) @ weights).max(initial=0.0))
    if t is not None and sigma == 0:
        # A large common part of all rows, which the intercept absorbs, would cost digits of the
        # rest. Since yᵀa = 0, the centred kernel has the same path except for β.
        shift = G.mean(axis=1)
        G = G - shift[:, None] - shift + shift.mean()
        if float((np.abs(G) @ weights).max()) <= 1e-4 * floor:
            return _only_intercept(y, weights)
    Q = np.ascontiguousarray(y[:, None] * G * y, dtype=float)
    # Without a penalty q is exactly ±1, whatever the rounding of t.
    tracer = _HingePath(Q, weights, None if t is None else y * t if sigma > 0 else y, sigma)
    with single_threaded_blas():  # many small products, which threads would slow down
        tracer.start(floor)
        path = tracer.run(ratio)
    return replace(path, offsets=path.offsets - path.multipliers @ (y * shift))


def _only_intercept(y: np.ndarray, weights: np.ndarray) -> SolutionPath:
    """Return the path if all rows are equal: f is 1 with the sign of the heavier class."""
    excess = float(y @ weights)
    majority = np.sign(excess) if abs(excess) > 1e-12 * weights.sum() else 0.0
    few, many = weights[y != majority].sum(), weights[y == majority].sum()
    a = np.where(y == majority, weights * (few / many if many > 0 else 1.0), weights)
    elbow = int((y == majority).sum())
    return _as_path([(1.0, a, majority, elbow)], majority, elbow)


class _HingePath(Tracer):
    """The path in λ, which decreases as time passes."""

    def start(self, floor: float) -> None:
        """Set the state above the first breakpoint; the path ends at λ = ``floor``."""
        self.floor, self.reach = floor, 2.0 * self.size
        Q, q, upper = self.Q, self.q, self.upper
        self.a, self.beta = upper.copy(), 0.0
        excess = float(q @ upper)
        if not self.free:
            self.beta = excess / self.sigma
            self.size = max(self.size, float(np.abs(Q @ self.a + q * self.beta).max()))
        elif abs(excess) <= 1e-12 * upper.sum():  # Lemma 1: all multipliers at their bounds
            reach = Q @ self.a
            self.beta = (reach[q < 0].max() - reach[q > 0].max()) / 2.0
        self.lam = 4.0 * max(self.size, floor) or 1.0
        if self.free and abs(excess) > 1e-12 * upper.sum():
            self._start_unbalanced(np.sign(excess))
        self.g = Q @ self.a + q * self.beta - self.lam
        self.g[self.elbow] = 0.0

    def _start_unbalanced(self, majority: float) -> None:
        """Lemma 2: the minority at its bounds, the majority with least norm and the same sum."""
        many, few = np.flatnonzero(self.q == majority), np.flatnonzero(self.q != majority)
        base = self.Q[np.ix_(many, few)] @ self.upper[few]
        least = LeastNorm(self.Q[np.ix_(many, many)], self.upper[many], base)
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
        near = self._near()
        self.find_direction(near)
        slope, step = -self.d_beta, self.next_event()
        first = self._point(near)
        above = first[3]
        if self.lam - step <= self.floor:  # no events
            return _as_path([first], slope, above)
        self._fall(step)
        # Breakpoints above this reach are those of a weakly penalised intercept alone.
        end = max(ratio * min(self.lam, max(self.reach, _FLOOR * self.lam)), self.floor)
        most = 100 + MAX_EVENTS * len(self.a)
        points: list[Point] = []
        fresh, since, trusted = self.lam, 0, 1
        for _ in range(most):
            near = self._near()
            self.find_direction(near)
            if points and points[-1][0] <= self.lam:  # a step of length zero: same breakpoint
                points.pop()
            points.append(self._point(near))
            if self.lam <= end:
                break
            step, since = min(self.next_event(), self.lam - end), since + 1
            last = self.lam - step <= end
            if since >= _REFRESH or self.lam - step < fresh / 2.0 or last:
                # Recompute between events, where no multiplier is at its bound, and near the end.
                self._fall(step - min(step / 2.0, self.lam - step))
                self._refresh()
                if self._lost():
                    return _as_path(points[:trusted], slope, above, complete=False)
                fresh, since, trusted = self.lam, 0, len(points)
                step = min(self.next_event(), self.lam - end)
            self._fall(step)
        return _as_path(points, slope, above, complete=self.lam <= end)

    def _point(self, near: np.ndarray) -> Point:
        near[self.elbow] = False  # these are on the elbow; others stay there if g is at rest
        staying = np.count_nonzero(np.abs(self.rates[near]) <= self.quiet)
        return self.lam, self.a.copy(), self.beta, len(self.elbow) + int(staying)

    def _fall(self, step: float) -> None:
        self.move(step, SIMULTANEOUS * self.lam)
        self.lam -= step

    def _refresh(self) -> None:
        """Remove the accumulated rounding errors of a, β and g."""
        elbow = self.elbow
        for attempt in range(3 if len(elbow) or not self.free else 0):
            off = self.Q[elbow] @ self.a + self.q[elbow] * self.beta - self.lam
            balance = self.q @ self.a - self.sigma * self.beta
            if attempt and np.abs(off).max(initial=0.0) <= ROUNDING * self.size:
                break
            change = self.system.solve(elbow, -np.append(balance, off), direct=attempt == 2)
            a = self.a[elbow] + change[1:]
            beyond = np.maximum(-a, a - self.upper[elbow]).max(initial=0.0)
            if beyond > 1e-9 * self.upper.max():  # rows too similar: values do not determine a
                break
            self.beta += float(change[0])
            self.a[elbow] = np.clip(a, 0.0, self.upper[elbow])
        self.g = self.Q @ self.a + self.q * self.beta - self.lam
        self.g[elbow] = 0.0
        if not self.free:  # β decreases with λ
            self.size = max(self.reach / 2.0, float(np.abs(self.q * self.beta).max()), self.lam)

    def _lost(self) -> bool:
        """Return whether rounding has put a row on the wrong side of the margin."""
        beyond = np.where(self.a > 0, self.g, -self.g)
        return bool(beyond.max() > _ASTRAY * self.lam)

    def _near(self) -> np.ndarray:
        return self.near(SIMULTANEOUS * self.lam + ROUNDING * self.size)


def _as_path(
    points: list[Point], slope: float, above: int, *, complete: bool = True
) -> SolutionPath:
    columns = zip(*points, strict=True)
    lambdas, multipliers, offsets, elbows = (np.array(column) for column in columns)
    return SolutionPath(lambdas, multipliers, offsets, elbows, slope, above, complete)
