"""Quadratic programs with box constraints, for the dual of sums of hinges.

    min over a, 0 ≤ a ≤ u:   ½ aᵀQa − mᵀa + max_b ( b·qᵀa − ½·σ·b² )

With σ = 0 the last term is the constraint qᵀa = 0 of an unpenalised intercept b; with σ > 0 it is
(qᵀa)²/2σ, of an intercept that the manifold term penalises. A primal-dual interior-point method
(Mehrotra's predictor-corrector) treats both cases alike. The solution is then refined by solving
exactly for the coordinates strictly inside the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

_MAX_ITER = 200
#: Tolerance in units in which Qa − m + qb is of order one.
_TOLERANCE = 1e-11
#: Share of the complementarity that a step must leave at most, and share of it that is the aim of a
#: step without a corrector.
_PROGRESS, _CENTRE = 0.95, 0.3
#: Smallest unit relative to the linear term, whose rounding must stay below the tolerance.
_LEAST_HEIGHT = 1e-5


def solve_box_qp(
    Q: np.ndarray, linear: np.ndarray, upper: np.ndarray, q: np.ndarray | None, sigma: float
) -> tuple[np.ndarray, float]:
    """Return the minimiser a and the multiplier b (0 without an intercept).

    Parameters
    ----------
    Q : ndarray of shape (l, l)
        Symmetric positive semi-definite.
    linear : ndarray of shape (l,)
        The linear term m.
    upper : ndarray of shape (l,)
        Positive upper bounds u.
    q : ndarray of shape (l,) or None
        Coefficients of the intercept; None if there is none.
    sigma : float
        Penalty of the intercept, at least 0.
    """
    # Units in which Q and m − qb are of order one, so that the tolerances fit every problem; where
    # the box is smaller than that, units in which it is of order one. The part of the linear term
    # that an intercept explains, such as the mean of large targets, does not count: b starts there.
    size = float(np.mean(np.diag(Q)))
    row = np.zeros(len(upper)) if q is None else q
    square = float(row @ row) + sigma * size
    b = float(row @ linear) / square if square > 0 else 0.0
    height = float(max(np.abs(linear - row * b).max(), _LEAST_HEIGHT * np.abs(linear).max()))
    height = height if height > 0 else 1.0
    unit = float(upper.max())
    unit = min(unit, height / size) if size > 0 else unit
    scaled = _Problem(
        Q=Q * (unit / height),
        linear=linear / height,
        upper=upper / unit,
        row=row,
        sigma=1.0 if q is None else sigma * height / unit,
    )
    a, b = _polish(scaled, *_interior_point(scaled, b / height))
    return np.clip(a * unit, 0.0, upper), b * height


@dataclass(frozen=True)
class _Problem:
    """The program in scaled units; without an intercept the row is zero, and b stays zero."""

    Q: np.ndarray
    linear: np.ndarray
    upper: np.ndarray
    row: np.ndarray
    sigma: float

    def gradient(self, a: np.ndarray, b: float) -> np.ndarray:
        return self.Q @ a - self.linear + self.row * b

    def balance(self, a: np.ndarray, b: float) -> float:
        return float(self.row @ a) - self.sigma * b


def _interior_point(problem: _Problem, b: float) -> tuple[np.ndarray, float, np.ndarray]:
    """Return a, b and the difference of the multipliers of the two bounds; b is the start."""
    upper, row, l = problem.upper, problem.row, len(problem.upper)
    a = np.minimum(0.5 * upper, 1.0)
    slack = upper - a  # updated separately: near the bound the difference would lose its digits
    z_low, z_high = 1.0 / a, 1.0 / slack
    for _ in range(_MAX_ITER):
        dual = problem.gradient(a, b) - z_low + z_high
        balance = problem.balance(a, b)
        mean = float(z_low @ a + z_high @ slack) / (2 * l)
        size = 1.0 + float(np.abs(a).max())
        if np.abs(dual).max() < _TOLERANCE and abs(balance) + mean < _TOLERANCE * size:
            break
        factor = _factor(problem.Q, z_low / a + z_high / slack)
        H_row = cho_solve(factor, row)
        schur = float(row @ H_row) + problem.sigma
        schur = schur if schur > 0 else np.inf
        state = a, slack, z_low, z_high, dual, balance
        direction = partial(_direction, state, factor, row, H_row, schur)

        da, db, dz_low, dz_high, longest = direction(0.0, 0.0)
        step = min(1.0, longest)
        after = (z_low + step * dz_low) @ (a + step * da)
        after += (z_high + step * dz_high) @ (slack - step * da)
        target = mean * min(1.0, float(after) / (2 * l) / mean) ** 3
        da, db, dz_low, dz_high, longest = direction(target - dz_low * da, target + dz_high * da)
        step = min(1.0, 0.995 * longest)
        after = (z_low + step * dz_low) @ (a + step * da)
        after += (z_high + step * dz_high) @ (slack - step * da)
        if after > _PROGRESS * 2 * l * mean and np.abs(dual).max() < 1.0:
            # The corrector can cycle. Plain steps towards a centre do not.
            da, db, dz_low, dz_high, longest = direction(_CENTRE * mean, _CENTRE * mean)
            step = min(1.0, 0.9 * longest)
        a, slack, b = a + step * da, slack - step * da, b + step * db
        z_low, z_high = z_low + step * dz_low, z_high + step * dz_high
        if step < 1e-12 or min(a.min(), slack.min(), z_low.min(), z_high.min()) < 1e-150:
            break  # rounding prevents further progress
    return a, b, z_low - z_high


def _direction(
    state: tuple,
    factor: tuple,
    row: np.ndarray,
    H_row: np.ndarray,
    schur: float,
    low: np.ndarray | float,
    high: np.ndarray | float,
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray, float]:
    """Return the Newton direction towards z_low·a = low and z_high·slack = high.

    The last value is the longest step, at most 2, for which all four stay positive.
    """
    a, slack, z_low, z_high, dual, balance = state
    rhs = -dual + (low - z_low * a) / a - (high - z_high * slack) / slack
    da = cho_solve(factor, rhs)
    db = (float(row @ da) + balance) / schur
    da = da - H_row * db
    dz_low, dz_high = (low - z_low * da) / a - z_low, (high + z_high * da) / slack - z_high
    longest = 2.0
    for value, change in ((a, da), (slack, -da), (z_low, dz_low), (z_high, dz_high)):
        falling = change < 0
        longest = min(longest, float((-value[falling] / change[falling]).min(initial=2.0)))
    return da, db, dz_low, dz_high, longest


def _factor(Q: np.ndarray, diagonal: np.ndarray) -> tuple:
    """Return the Cholesky factor of Q + diagonal; Q may be indefinite by rounding."""
    if not np.isfinite(Q).all() or not np.isfinite(diagonal).all():
        raise LinAlgError("the quadratic program holds NaN or infinite values")
    jitter = 0.0
    while True:
        H = Q.copy()
        H[np.diag_indices(len(Q))] += diagonal + jitter
        try:
            return cho_factor(H, lower=True, check_finite=False)
        except LinAlgError:
            jitter = max(10.0 * jitter, 1e-14)


def _polish(problem: _Problem, a: np.ndarray, b: float, z: np.ndarray) -> tuple[np.ndarray, float]:
    """Solve exactly for the coordinates inside the box; use the result only if it is optimal."""
    Q, upper, row, sigma = problem.Q, problem.upper, problem.row, problem.sigma
    low, high = a < z, upper - a < -z  # which of the two factors of z·a → 0 is the small one
    free = ~low & ~high
    exact = np.where(high, upper, np.where(low, 0.0, a))
    size = int(free.sum())
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = Q[np.ix_(free, free)]
    system[:size, size] = system[size, :size] = row[free]
    system[size, size] = -sigma
    rhs = problem.linear[free] - Q[np.ix_(free, ~free)] @ exact[~free]
    rhs = np.append(rhs, -float(row[~free] @ exact[~free]))
    if size > 0 or sigma > 0:
        solution = np.linalg.lstsq(system, rhs, rcond=None)[0]
        exact[free] = solution[:size]
        b_exact = float(solution[size])
    else:
        b_exact = _middle(problem, exact, low)
    gradient = problem.gradient(exact, b_exact)
    allowed = 1e-9
    inside = (exact >= 0).all() and (exact <= upper).all()
    optimal = (
        (np.abs(gradient[free]) < allowed).all()
        and (gradient[low] > -allowed).all()
        and (gradient[high] < allowed).all()
        and abs(problem.balance(exact, b_exact)) < allowed * (1.0 + float(np.abs(exact).max()))
    )
    return (exact, b_exact) if inside and optimal else (a, b)


def _middle(problem: _Problem, a: np.ndarray, low: np.ndarray) -> float:
    """Return the middle of the interval of optimal intercepts if all of a is at its bounds."""
    acting = problem.row != 0
    row, low = problem.row[acting], low[acting]
    ends = (problem.linear - problem.Q @ a)[acting] / row  # where a row's gradient is zero
    at_least = (row > 0) == low
    lowest = float(ends[at_least].max(initial=-np.inf))
    highest = float(ends[~at_least].min(initial=np.inf))
    if np.isinf(lowest) or np.isinf(highest):
        return min(max(0.0, lowest), highest)
    return (lowest + highest) / 2.0
