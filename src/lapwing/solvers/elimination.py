"""Exact solution by elimination: one dense factorisation (`reduction`), then an l × l problem.

Only the l labelled rows have a loss term, so by stationarity, (I + μSK)α = Jᵀc − μS1·b with
c = −g/γ_A, the expansion α is a linear function of the l + 1 numbers (c, b).

Melacci & Belkin (2011) factor an n × n matrix in every Newton step and for every class (eq. 10).
The iterates here are the same, with one factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from ..arrays.device import DEVICE_WORK
from ..operators import twofold
from ..risk import RegularizedRisk
from ..spaces.function import Function
from .certificate import certify
from .driver import Step
from .label_problem import definite_solver, label_problem
from .reduction import (
    COLUMN_BLOCK,
    BasisReductions,
    Reduction,
    basis_bytes,
    reduce_dense,
    smoothness_in_basis,
    to_dense,
)

#: From the values of the labelled rows to their leave-one-out values.
LeaveOneOut = Callable[[np.ndarray], np.ndarray]

#: From the error of the stationarity conditions to that of the coefficients.
Correction = Callable[[np.ndarray], np.ndarray]

#: Gap that counts as zero, as a share of the objective of f = 0 and of the weights of the losses.
_NEGLIGIBLE, _ROUNDING = 1e-10, 1e-12
#: Relative gap above which coefficients are corrected, and how often.
_EXACT, _CORRECTIONS = 1e-7, 3


def dense_bytes(n: int, n_labelled: int) -> int:
    """Return the peak memory of `eliminate`: K, the factor, n × l blocks, and the certificate.

    An ill-conditioned system needs more if K has full rank, too.
    """
    return 8 * n * (2 * n + 2 * COLUMN_BLOCK) + blocks_bytes(n, n_labelled)


def blocks_bytes(n: int, n_labelled: int) -> int:
    """Return the same without matrices of n × n, which may be on a device."""
    return 32 * n * (n_labelled + 1) + twofold.work_bytes(n, n, 1)


def device_bytes(n: int, d: int, n_labelled: int) -> int:
    """Return the memory of `eliminate` on a device: K, the system, its factor and a copy of it.

    An ill-conditioned system of few rows is solved on the host, whose memory `dense_bytes` counts.
    """
    return 8 * n * (4 * n + 3 * d + 4 * (n_labelled + 1)) + min(DEVICE_WORK, 32 * n * n)


def supervised_bytes(n: int, n_labelled: int, n_columns: int) -> int:
    """Return the peak memory of `eliminate` without a manifold term, beside K."""
    l, c = n_labelled, n_columns
    return 8 * (n * (2 * l + 9 * c + 2) + l * l * (8 + c))


def feature_bytes(n: int, d: int, n_labelled: int, n_columns: int, *, is_quadratic: bool) -> int:
    """Return the peak memory of `eliminate_features` beside the features."""
    l, c = n_labelled, n_columns
    label_problem = 0 if is_quadratic else l * l * max(7, 2 + 6 * c // 5)
    return basis_bytes(n, d, 0, 1) + 8 * (6 * d * l + label_problem + 20 * n * (c - 1))


def eliminate(risk: RegularizedRisk, tol: float = 1e-3) -> Iterator[Step]:
    """Yield the exact solution in one step. Cost: (2/3)n³ operations; K in float64.

    Without a manifold term this is the supervised solution, which costs l columns of K.
    """
    reduction = reduce_dense(risk.gram, risk.smoothness, risk.labelled, risk.ratio)
    yield _reduced_solution(risk, reduction, tol)


def eliminate_features(risk: RegularizedRisk, tol: float = 1e-3) -> Iterator[Step]:
    """Yield the exact linear function in one step, from the d × d matrix M = I + μXᵀSX.

    No n × n matrix is formed. Cost: X times S, n·d² and (1/3)d³ operations. With a quadratic loss
    and more labelled rows than columns, no l × l matrix is formed either: the system is then
    (X_lᵀX_l + γ_A I + γ_I XᵀSX) w = X_lᵀy of Chen et al. (2012), §IV-A.
    """
    X = risk.space.features
    if X is None:
        raise TypeError("eliminate_features needs a space with explicit features, not a kernel")
    if risk.loss.is_quadratic and len(risk.labelled) > X.shape[1]:
        yield _ridge_solution(risk, X, tol)
    else:
        reduction = BasisReductions(X, risk.smoothness, risk.labelled).at(risk.ratio)
        yield _reduced_solution(risk, reduction, tol)


def _reduced_solution(risk: RegularizedRisk, reduction: Reduction, tol: float) -> Step:
    """Return the solution of the label problem on all rows."""
    problem = label_problem(risk, reduction.R, reduction.t, reduction.sigma)
    c, b, steps = problem.solve()
    coef, values = reduction.expand(c, b)
    correct = reduction.correct
    if risk.space.features is not None and len(coef) != risk.space.n_coef:
        coef, correct = risk.space.coef_of(coef), None  # an expansion of a linear function
    f = Function(coef, b, values, risk.smoothness @ values)
    leave_one_out = partial(problem.leave_one_out, c)
    return certified_step(risk, f, -risk.reg_ambient * c, steps, tol, leave_one_out, correct)


def _ridge_solution(risk: RegularizedRisk, X: Any, tol: float) -> Step:
    """Return the solution of least squares from systems of the size of the columns of X."""
    S, mu, d = risk.smoothness, risk.ratio, X.shape[1]
    S_ones = S.times_ones()
    M = mu * smoothness_in_basis(X, S)
    M[np.diag_indices(d)] += 1.0
    try:
        lower = cholesky(M, lower=True)
    except LinAlgError as error:
        raise ValueError(_without_digits(risk, np.inf, tol)) from error
    half = solve_triangular(lower, to_dense(X[risk.labelled]).T, lower=True)
    half_intercept = solve_triangular(lower, X.T @ S_ones, lower=True)
    t = 1.0 - mu * (half.T @ half_intercept)
    sigma = mu * (float(S_ones.sum()) - mu * float(half_intercept @ half_intercept))
    half_coef, b, loss_gradient, leave_one_out = _ridge(risk, half, t, sigma)
    half_coef = half_coef - mu * np.outer(half_intercept, b)
    coef = solve_triangular(lower, half_coef, lower=True, trans="T")
    values = np.asarray(X @ coef) + b
    f = Function(coef, b, values, S @ values)

    def correct(residual: np.ndarray) -> np.ndarray:
        half = solve_triangular(lower, residual, lower=True)
        return solve_triangular(lower, half, lower=True, trans="T")

    return certified_step(risk, f, loss_gradient, 1, tol, leave_one_out, correct)


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
    correct: Correction | None = None,
) -> Step:
    """Return a solution as a step, with a certified gap that is computed on all rows.

    ``loss_gradient`` is g = −γ_A·c of the label problem. Where rounding has left a gap, ``correct``
    refines the coefficients for these g; it takes the error of the stationarity conditions to that
    of the coefficients. A problem whose solution double precision does not determine is refused.
    """
    found = best = certify(risk, f, loss_gradient)
    lower = found.objective - found.gap
    for _ in range(_CORRECTIONS):
        if correct is None or found.gap <= _EXACT * found.objective:
            break
        coef = found.function.coef - correct(found.residual / risk.reg_ambient)
        better = certify(risk, replace(found.function, coef=coef), loss_gradient)
        # Both bounds hold whatever function they come from.
        lower = max(lower, better.objective - better.gap)
        best = better if better.objective < best.objective else best
        if not better.gap < 0.5 * found.gap:  # rounding is what is left
            break
        found = better
    f, objective, gap = best.function, best.objective, best.objective + best.rounding - lower
    if not gap <= max(tol * objective, _negligible(risk)):
        raise ValueError(_without_digits(risk, gap / max(objective, 1e-300), tol))
    return Step(
        iteration=steps,
        function=f,
        objective=objective,
        gap=gap,
        passes=risk.gram.passes,
        converged=True,
        leave_one_out=lambda: leave_one_out(f.values[risk.labelled]),
    )


def _negligible(risk: RegularizedRisk) -> float:
    """Return the gap that counts as zero, since the optimum itself may be zero."""
    nothing = float(risk.objective(risk.zero()).sum())
    largest = np.maximum(np.abs(risk.targets).max(axis=1), getattr(risk.loss, "epsilon", 0.0))
    size = 0.5 * float(risk.weights @ largest)
    return max(_NEGLIGIBLE * nothing, _ROUNDING * size)


def _without_digits(risk: RegularizedRisk, uncertainty: float, tol: float) -> str:
    """Return why a problem has no exact solution, and what to do."""
    return (
        f"no solution in double precision: with weights γ_A = {risk.reg_ambient:.3g} of the norm, "
        f"γ_I = {risk.reg_manifold:.3g} of the manifold term, and {risk.weights.min():.3g} to "
        f"{risk.weights.max():.3g} of the labels, the objective is known up to {uncertainty:.2g} "
        f"of itself, and {tol:g} is allowed. Raise the weight of the norm (reg_ambient or rho, or "
        "lower C), lower reg_manifold, use weights of labels of order one, or scale the columns of "
        "X so that kernel values are of order one"
    )
