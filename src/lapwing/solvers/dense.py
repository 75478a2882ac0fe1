"""Exact solution by elimination: one dense factorisation, then an l × l problem.

Only the l labelled rows carry a loss derivative, so stationarity, (I + μSK)α = Jᵀc − μS1·b with
c = −g/γ_A, makes α a linear function of the l + 1 numbers (c, b). One LU of I + μSK gives that
function for every loss, every class and every γ_A with the same ratio μ = γ_I/γ_A.

Melacci & Belkin (2011) factor an n × n matrix in every Newton step and for every class (eq. 10);
the iterates here are the same, the factorisation is done once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve

from ..arrays.threads import map_blocks, row_blocks
from ..operators import DenseOperator, Operator
from ..risk import RegularizedRisk
from ..spaces import Function, LinearSpace
from .driver import Step
from .reduced import ReducedProblem, reduced_problem

_COLUMN_BLOCK = 256
#: Gap that is zero for an objective that may be zero itself.
_ROUNDING = 1e-12


def dense_bytes(n: int, n_labelled: int) -> int:
    """Return the peak memory of `eliminate`: K, the factor, and n × l blocks."""
    return 8 * n * (2 * n + 4 * (n_labelled + 1) + 2 * _COLUMN_BLOCK)


def eliminate(risk: RegularizedRisk, tol: float = 1e-3) -> Iterator[Step]:
    """Yield the exact solution in one step. Cost: (2/3)n³ operations; K in float64.

    Without a manifold term it is the supervised machine, and costs l columns of K.
    """
    S, mu, labelled = risk.smoothness, risk.ratio, risk.labelled
    n, l = risk.n_rows, len(labelled)
    ones_rough = S @ np.ones(n)  # S1: zero for an unnormalised Laplacian
    solution = np.zeros((n, l + 1))
    solution[labelled, np.arange(l)] = 1.0
    if mu > 0:
        assert isinstance(risk.gram, DenseOperator)
        solution[:, l] = ones_rough
        system = _shifted_product(S, risk.gram.array, mu)
        factor = lu_factor(system, overwrite_a=True, check_finite=False)
        rhs = solution
        solution = lu_solve(factor, rhs, check_finite=False)
        values = risk.gram @ solution
        # One step of refinement: large kernel values leave the factor few digits.
        left = rhs - solution - mu * (S @ values)
        solution += lu_solve(factor, left, overwrite_b=True, check_finite=False)
        del system, factor
        values = risk.gram @ solution
    else:  # supervised: the labelled columns of K are all that is needed
        values = np.column_stack([risk.gram.columns(labelled), np.zeros(n)])
    A, q = solution[:, :l], solution[:, l]
    t = 1.0 - mu * (ones_rough @ values[:, :l])
    problem = reduced_problem(risk, values[labelled, :l], t, mu * float(q.sum()))
    c, b, steps = problem.solve()
    coef = risk.space.coef_of(A @ c - mu * np.outer(q, b))
    f_values = values[:, :l] @ c - mu * np.outer(values[:, l], b) + b
    yield _exact_step(risk, problem, Function(coef, b, f_values, S @ f_values), c, steps, tol)


def _shifted_product(S: Operator, K: np.ndarray, mu: float) -> np.ndarray:
    """Return I + μSK in Fortran order, by blocks of columns so that nothing else is allocated."""
    n = len(K)
    product = np.empty((n, n), order="F")

    def fill(columns: slice) -> None:
        product[:, columns] = S @ K[:, columns]
        product[:, columns] *= mu

    map_blocks(fill, row_blocks(n, _COLUMN_BLOCK))
    product[np.diag_indices(n)] += 1.0
    return product


def eliminate_features(risk: RegularizedRisk, tol: float = 1e-3) -> Iterator[Step]:
    """Yield the exact linear function in one step, from the d × d matrix I + μXᵀSX.

    For d below n no n × n matrix is formed. Cost: X times S, and (1/3)d³ operations.
    """
    assert isinstance(risk.space, LinearSpace)
    X, S, mu, labelled = risk.space.X, risk.smoothness, risk.ratio, risk.labelled
    n, d = X.shape
    ones_rough = S @ np.ones(n)
    system = np.eye(d)
    for columns in row_blocks(d, _COLUMN_BLOCK):
        system[:, columns] += mu * (X.T @ (S @ _dense(X[:, columns])))
    X_labelled = _dense(X[labelled])
    rhs = np.column_stack([X_labelled.T, X.T @ ones_rough])
    solution = cho_solve(cho_factor((system + system.T) / 2.0, lower=True), rhs)
    A, q = solution[:, :-1], solution[:, -1]
    pull = rhs[:, -1]
    sigma = mu * (float(ones_rough.sum()) - mu * float(pull @ q))
    problem = reduced_problem(risk, X_labelled @ A, 1.0 - mu * (A.T @ pull), sigma)
    c, b, steps = problem.solve()
    coef = A @ c - mu * np.outer(q, b)
    values = np.asarray(X @ coef) + b
    yield _exact_step(risk, problem, Function(coef, b, values, S @ values), c, steps, tol)


def _dense(block: Any) -> np.ndarray:
    return block.toarray() if sp.issparse(block) else block


def _exact_step(
    risk: RegularizedRisk,
    problem: ReducedProblem,
    f: Function,
    c: np.ndarray,
    steps: int,
    tol: float,
) -> Step:
    objective = float(risk.objective(f).sum())
    gap = float(risk.gap_bound(f, -risk.reg_ambient * c).sum())
    return Step(
        iteration=steps,
        function=f,
        objective=objective,
        gap=gap,
        passes=risk.gram.passes,
        converged=gap <= tol * objective or gap <= _ROUNDING,
        leave_one_out=lambda: problem.leave_one_out(c, f.values[risk.labelled]),
    )
