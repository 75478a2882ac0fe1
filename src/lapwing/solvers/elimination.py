"""Exact solution by elimination: one dense factorisation (`reduction`), then an l × l problem.

Only the l labelled rows have a loss term, so by stationarity, (I + μSK)α = Jᵀc − μS1·b with
c = −g/γ_A, the expansion α is a linear function of the l + 1 numbers (c, b).

Melacci & Belkin (2011) factor an n × n matrix in every Newton step and for every class (eq. 10).
The iterates here are the same, with one factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ..risk import RegularizedRisk
from ..spaces.function import Function
from .driver import Step
from .label_problem import definite_solver, label_problem
from .reduction import COLUMN_BLOCK, basis_bytes, reduce_dense, smoothness_in_basis, to_dense

#: From the values of the labelled rows to their leave-one-out values.
LeaveOneOut = Callable[[np.ndarray], np.ndarray]

#: Why an exact method can be far from the optimum, and what to do.
FEW_DIGITS = (
    "kernel values leave too few digits for the ratio of the two regularisation weights: scale the "
    "columns of X so that kernel values are of order one, or increase the weight of the norm"
)
#: Gap that counts as zero, since the objective itself may be zero.
_ROUNDING = 1e-12


def dense_bytes(n: int, n_labelled: int) -> int:
    """Return the peak memory of `eliminate`: K, the factor, and n × l blocks."""
    return 8 * n * (2 * n + 4 * (n_labelled + 1) + 2 * COLUMN_BLOCK)


def supervised_bytes(n: int, n_labelled: int) -> int:
    """Return the peak memory of `eliminate` without a manifold term, beside K."""
    return 8 * n * 4 * (n_labelled + 1)


def feature_bytes(n: int, d: int, n_labelled: int, *, is_quadratic: bool) -> int:
    """Return the peak memory of `eliminate_features` beside the features."""
    label_problem = 0 if is_quadratic else 8 * 6 * n_labelled**2
    return basis_bytes(n, d, 0, 1) + 8 * 6 * d * n_labelled + label_problem


def eliminate(risk: RegularizedRisk, tol: float = 1e-3) -> Iterator[Step]:
    """Yield the exact solution in one step. Cost: (2/3)n³ operations; K in float64.

    Without a manifold term this is the supervised solution, which costs l columns of K.
    """
    S = risk.smoothness
    reduction = reduce_dense(risk.gram, S, risk.labelled, risk.ratio)
    problem = label_problem(risk, reduction.R, reduction.t, reduction.sigma)
    c, b, steps = problem.solve()
    expansion, values = reduction.expand(c, b)
    f = Function(risk.space.coef_of(expansion), b, values, S @ values)
    leave_one_out = partial(problem.leave_one_out, c)
    yield certified_step(risk, f, -risk.reg_ambient * c, steps, tol, leave_one_out)


def eliminate_features(risk: RegularizedRisk, tol: float = 1e-3) -> Iterator[Step]:
    """Yield the exact linear function in one step, from the d × d matrix M = I + μXᵀSX.

    No n × n matrix is formed. Cost: X times S, n·d² and (1/3)d³ operations. With a quadratic loss
    and more labelled rows than columns, no l × l matrix is formed either: the system is then
    (X_lᵀX_l + γ_A I + γ_I XᵀSX) w = X_lᵀy of Chen et al. (2012), §IV-A.
    """
    X, S, mu, labelled = risk.space.features, risk.smoothness, risk.ratio, risk.labelled
    if X is None:
        raise TypeError("eliminate_features needs a space with explicit features, not a kernel")
    d = X.shape[1]
    S_ones = S.times_ones()
    M = mu * smoothness_in_basis(X, S)
    M[np.diag_indices(d)] += 1.0
    lower = cholesky(M, lower=True)
    # R = X_l M⁻¹ X_lᵀ as the square of X_l times the inverse root of M.
    half = solve_triangular(lower, to_dense(X[labelled]).T, lower=True)
    half_intercept = solve_triangular(lower, X.T @ S_ones, lower=True)
    t = 1.0 - mu * (half.T @ half_intercept)
    sigma = mu * (float(S_ones.sum()) - mu * float(half_intercept @ half_intercept))
    if risk.loss.is_quadratic and len(labelled) > d:
        half_coef, b, loss_gradient, leave_one_out = _ridge(risk, half, t, sigma)
        steps = 1
    else:
        problem = label_problem(risk, half.T @ half, t, sigma)
        c, b, steps = problem.solve()
        half_coef, loss_gradient = half @ c, -risk.reg_ambient * c
        leave_one_out = partial(problem.leave_one_out, c)
    half_coef = half_coef - mu * np.outer(half_intercept, b)
    coef = solve_triangular(lower, half_coef, lower=True, trans="T")
    values = np.asarray(X @ coef) + b
    f = Function(coef, b, values, S @ values)
    yield certified_step(risk, f, loss_gradient, steps, tol, leave_one_out)


def _ridge(
    risk: RegularizedRisk, half: np.ndarray, t: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, LeaveOneOut]:
    """Return θ and b that minimise ½ Σ w(y − halfᵀθ − t·b)² + ½ γ_A (‖θ‖² + σb²), and w(f − y)."""
    d, intercept, weights = len(half), risk.fit_intercept, risk.weights[:, None]
    H = np.column_stack([half.T, t]) if intercept else half.T
    penalty = risk.reg_ambient * np.append(np.ones(d), [max(sigma, 0.0)] * intercept)
    solve = definite_solver(H.T @ (weights * H) + np.diag(penalty))
    theta = solve(H.T @ (weights * risk.targets))
    b = theta[d] if intercept else np.zeros(risk.n_columns)

    def leave_one_out(f: np.ndarray) -> np.ndarray:
        leverage = risk.weights * (H * solve(H.T).T).sum(axis=1)
        others = np.maximum(1.0 - leverage, np.finfo(float).eps)[:, None]
        return f - leverage[:, None] / others * (risk.targets - f)

    return theta[:d], b, weights * (H @ theta - risk.targets), leave_one_out


def certified_step(
    risk: RegularizedRisk,
    f: Function,
    loss_gradient: np.ndarray,
    steps: int,
    tol: float,
    leave_one_out: LeaveOneOut,
) -> Step:
    """Return a solution as a step, with a certified gap that is computed on all rows.

    ``loss_gradient`` is g = −γ_A·c of the label problem.
    """
    objective = float(risk.objective(f).sum())
    gap = float(risk.gap_bound(f, loss_gradient).sum())
    return Step(
        iteration=steps,
        function=f,
        objective=objective,
        gap=gap,
        passes=risk.gram.passes,
        converged=gap <= max(tol * objective, _ROUNDING) or objective <= risk.rounding,
        leave_one_out=lambda: leave_one_out(f.values[risk.labelled]),
    )
