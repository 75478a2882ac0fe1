"""Quadratic programs with box constraints, for the dual of the hinge loss.

    min over a, 0 ≤ a ≤ u:   ½ aᵀQa − 1ᵀa + max_b ( b·qᵀa − ½·σ·b² )

With σ = 0 the last term is the constraint qᵀa = 0 of an unpenalised intercept b; with σ > 0 it is
qᵀa squared over 2σ, an intercept that the manifold term holds back. A primal-dual interior-point
method (Mehrotra's predictor and corrector) treats both alike; the answer is then made exact on the
coordinates it left strictly inside the box.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

_MAX_ITER = 100
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
    # In units of the box every variable lies in (0, 1).
    Q_unit = Q * upper * upper[:, None]
    scale = max(float(np.abs(Q_unit).max()), float(upper.max()))
    Q_unit, linear = Q_unit / scale, upper / scale
    row = None if q is None else q * upper / scale
    a, b = _interior_point(Q_unit, linear, row, sigma / scale)
    a, b = _polish(Q_unit, linear, row, sigma / scale, a, b)
    return a * upper, b


def _interior_point(
    Q: np.ndarray, linear: np.ndarray, q: np.ndarray | None, sigma: float
) -> tuple[np.ndarray, float]:
    l = len(linear)
    a, b = np.full(l, 0.5), 0.0
    z_low, z_high = np.ones(l), np.ones(l)
    row = np.zeros(l) if q is None else q
    for _ in range(_MAX_ITER):
        slack = 1.0 - a
        dual = Q @ a - linear + row * b - z_low + z_high
        balance = 0.0 if q is None else float(row @ a) - sigma * b
        mean = float(z_low @ a + z_high @ slack) / (2 * l)
        if max(np.abs(dual).max(), abs(balance), mean) < _TOLERANCE:
            break
        H = Q.copy()
        H[np.diag_indices(l)] += z_low / a + z_high / slack
        factor = cho_factor(H, lower=True, check_finite=False)
        H_row = cho_solve(factor, row)

        def direction(
            low: np.ndarray,
            high: np.ndarray,
            factor: tuple = factor,
            H_row: np.ndarray = H_row,
            dual: np.ndarray = dual,
            balance: float = balance,
            slack: np.ndarray = slack,
            a: np.ndarray = a,
            z_low: np.ndarray = z_low,
            z_high: np.ndarray = z_high,
        ) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
            # low, high: wanted values of z_low·a and z_high·slack.
            rhs = -dual + (low - z_low * a) / a - (high - z_high * slack) / slack
            da, db = cho_solve(factor, rhs), 0.0
            if q is not None:
                db = (float(row @ da) + balance) / (float(row @ H_row) + sigma)
                da = da - H_row * db
            return da, db, (low - z_low * da) / a - z_low, (high + z_high * da) / slack - z_high

        da, db, dz_low, dz_high = direction(np.zeros(l), np.zeros(l))
        step = _longest((a, da), (slack, -da), (z_low, dz_low), (z_high, dz_high))
        after = (z_low + step * dz_low) @ (a + step * da)
        after += (z_high + step * dz_high) @ (slack - step * da)
        target = mean * min(1.0, float(after) / (2 * l) / mean) ** 3
        da, db, dz_low, dz_high = direction(target - dz_low * da, target + dz_high * da)
        step = 0.995 * _longest((a, da), (slack, -da), (z_low, dz_low), (z_high, dz_high))
        step = min(step, 1.0)
        a = a + step * da
        b = b + step * db
        z_low, z_high = z_low + step * dz_low, z_high + step * dz_high
    return a, b


def _longest(*pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the longest step, at most 1/0.995, that keeps every value positive."""
    longest = 1.0 / 0.995
    for value, change in pairs:
        falling = change < 0
        if falling.any():
            longest = min(longest, float((-value[falling] / change[falling]).min()))
    return longest


def _polish(
    Q: np.ndarray, linear: np.ndarray, q: np.ndarray | None, sigma: float, a: np.ndarray, b: float
) -> tuple[np.ndarray, float]:
    """Solve exactly on the coordinates inside the box; keep the result only if it is feasible."""
    near = 1e-7
    exact = np.where(a > 1 - near, 1.0, np.where(a < near, 0.0, a))
    free = (exact > 0) & (exact < 1)
    size = int(free.sum())
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = Q[np.ix_(free, free)]
    rhs = np.append(linear[free] - Q[np.ix_(free, ~free)] @ exact[~free], 0.0)
    if q is None:
        system[size, size] = 1.0
    else:
        system[:size, size] = system[size, :size] = q[free]
        system[size, size] = -sigma
        rhs[size] = -float(q[~free] @ exact[~free])
        if size == 0 and sigma == 0:  # the intercept is only bounded, not determined
            return a, b
    solution = np.linalg.lstsq(system, rhs, rcond=None)[0]
    exact[free] = solution[:size]
    b_exact = float(solution[size]) if q is not None else 0.0
    gradient = Q @ exact - linear + (0.0 if q is None else q * b_exact)
    allowed = 1e-9
    feasible = (exact > -allowed).all() and (exact < 1 + allowed).all()
    stationary = (
        (np.abs(gradient[free]) < allowed).all()
        and (gradient[exact == 0] > -allowed).all()
        and (gradient[exact == 1] < allowed).all()
    )
    return (np.clip(exact, 0, 1), b_exact) if feasible and stationary else (a, b)
