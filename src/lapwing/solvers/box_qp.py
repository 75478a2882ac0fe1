"""Quadratic programs with box constraints, for the dual of the hinge loss.

    min over a, 0 ≤ a ≤ u:   ½ aᵀQa − 1ᵀa + max_b ( b·qᵀa − ½·σ·b² )

With σ = 0 the last term is the constraint qᵀa = 0 of an unpenalised intercept b; with σ > 0 it is
qᵀa squared over 2σ, an intercept that the manifold term holds back. A primal-dual interior-point
method (Mehrotra's predictor and corrector) treats both alike; the answer is then made exact on the
coordinates it left strictly inside the box.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

_MAX_ITER = 200
#: In units where Qa − 1 is of order one.
_TOLERANCE = 1e-11


def solve_box_qp(
    Q: np.ndarray, upper: np.ndarray, q: np.ndarray | None, sigma: float
) -> tuple[np.ndarray, float]:
    """Return the minimiser a and the multiplier b (0 without an intercept).

    Parameters
    ----------
    Q : ndarray of shape (l, l)
        Symmetric positive semi-definite.
    upper : ndarray of shape (l,)
        Positive upper bounds u.
    q : ndarray of shape (l,) or None
        Coefficients of the intercept; None if there is none.
    sigma : float
        Penalty of the intercept, at least 0.
    """
    # Units in which Q is of order one, so that tolerances mean the same for every problem.
    unit = float(np.mean(np.diag(Q)))
    unit = 1.0 / unit if unit > 0 else float(upper.max())
    row = np.zeros(len(upper)) if q is None else q
    scaled = Q * unit, upper / unit, row, sigma / unit, q is not None
    a, b, z = _interior_point(*scaled)
    a, b = _polish(*scaled, a, b, z)
    return np.clip(a * unit, 0.0, upper), b


def _interior_point(
    Q: np.ndarray, upper: np.ndarray, row: np.ndarray, sigma: float, intercept: bool
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return a, b and the difference of the multipliers of the two bounds."""
    l = len(upper)
    a, b = np.minimum(0.5 * upper, 1.0), 0.0
    slack = upper - a  # kept beside a: near the bound the difference would have no digits
    z_low, z_high = 1.0 / a, 1.0 / slack
    for _ in range(_MAX_ITER):
        dual = Q @ a - 1.0 + row * b - z_low + z_high
        balance = float(row @ a) - sigma * b if intercept else 0.0
        mean = float(z_low @ a + z_high @ slack) / (2 * l)
        size = 1.0 + float(np.abs(a).max())
        if np.abs(dual).max() < _TOLERANCE and abs(balance) + mean < _TOLERANCE * size:
            break
        factor = _factor(Q, z_low / a + z_high / slack)
        H_row = cho_solve(factor, row)
        state = a, slack, z_low, z_high, dual, balance
        pull = float(row @ H_row) + sigma
        pull = pull if intercept and pull > 0 else np.inf

        da, db, dz_low, dz_high = _direction(state, factor, row, H_row, pull, 0.0, 0.0)
        step = min(1.0, _longest((a, da), (slack, -da), (z_low, dz_low), (z_high, dz_high)))
        after = (z_low + step * dz_low) @ (a + step * da)
        after += (z_high + step * dz_high) @ (slack - step * da)
        target = mean * min(1.0, float(after) / (2 * l) / mean) ** 3
        da, db, dz_low, dz_high = _direction(
            state, factor, row, H_row, pull, target - dz_low * da, target + dz_high * da
        )
        longest = _longest((a, da), (slack, -da), (z_low, dz_low), (z_high, dz_high))
        step = min(1.0, 0.995 * longest)
        a, slack, b = a + step * da, slack - step * da, b + step * db
        z_low, z_high = z_low + step * dz_low, z_high + step * dz_high
        if step < 1e-12 or min(a.min(), slack.min(), z_low.min(), z_high.min()) < 1e-150:
            break  # rounding allows no more
    return a, b, z_low - z_high


def _direction(
    state: tuple,
    factor: tuple,
    row: np.ndarray,
    H_row: np.ndarray,
    pull: float,
    low: np.ndarray | float,
    high: np.ndarray | float,
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Return the Newton direction towards z_low·a = low and z_high·slack = high."""
    a, slack, z_low, z_high, dual, balance = state
    rhs = -dual + (low - z_low * a) / a - (high - z_high * slack) / slack
    da = cho_solve(factor, rhs)
    db = (float(row @ da) + balance) / pull
    da = da - H_row * db
    return da, db, (low - z_low * da) / a - z_low, (high + z_high * da) / slack - z_high


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


def _longest(*pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the longest step, at most 2, that keeps every value positive."""
    longest = 2.0
    for value, change in pairs:
        falling = change < 0
        if falling.any():
            longest = min(longest, float((-value[falling] / change[falling]).min()))
    return longest


def _polish(
    Q: np.ndarray,
    upper: np.ndarray,
    row: np.ndarray,
    sigma: float,
    intercept: bool,
    a: np.ndarray,
    b: float,
    z: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Solve exactly on the coordinates inside the box; keep the result only if it is optimal."""
    low, high = a < z, upper - a < -z  # which of the two factors of z·a → 0 is the small one
    free = ~low & ~high
    exact = np.where(high, upper, np.where(low, 0.0, a))
    size = int(free.sum())
    if size == 0:  # the intercept is only bounded, not determined
        return a, b
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = Q[np.ix_(free, free)]
    system[size, size] = 1.0
    rhs = np.append(1.0 - Q[np.ix_(free, ~free)] @ exact[~free], 0.0)
    if intercept:
        system[:size, size] = system[size, :size] = row[free]
        system[size, size] = -sigma
        rhs[size] = -float(row[~free] @ exact[~free])
    solution = np.linalg.lstsq(system, rhs, rcond=None)[0]
    exact[free] = solution[:size]
    b_exact = float(solution[size]) if intercept else 0.0
    gradient = Q @ exact - 1.0 + row * b_exact
    allowed = 1e-9
    inside = (exact >= 0).all() and (exact <= upper).all()
    optimal = (
        (np.abs(gradient[free]) < allowed).all()
        and (gradient[low] > -allowed).all()
        and (gradient[high] < allowed).all()
    )
    return (exact, b_exact) if inside and optimal else (a, b)
