"""Independent answers: the objective written out densely, and its optimum by a convex solver.

Nothing here uses lapwing. Notation as in the package: K the Gram matrix, S = Lᵖ, J the labelled
rows; the objective is ½(Σ w·loss(y, f) + γ_A αᵀKα + γ_I fᵀSf) with f = Kα + b.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp

EPSILON = 0.1
LOSSES = {
    "squared": lambda y, f: (y - f) ** 2,
    "squared_hinge": lambda y, f: np.maximum(1 - y * f, 0) ** 2,
    "hinge": lambda y, f: np.maximum(1 - y * f, 0),
    "epsilon_insensitive": lambda y, f: np.maximum(np.abs(f - y) - EPSILON, 0),
}


@dataclass(frozen=True)
class Problem:
    """One column of targets, everything dense."""

    K: np.ndarray
    S: np.ndarray
    labelled: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    loss: str
    reg_ambient: float
    reg_manifold: float
    fit_intercept: bool


def level_of(y, weights, centred=True):
    """Weighted mean of quantities, from which a regressor with an intercept measures f and y.

    It matters where constants are penalised: by a normalised Laplacian, or without an intercept in
    the objective.
    """
    return float(np.average(y, weights=weights)) if centred else 0.0


def objective(problem, alpha, b=0.0):
    """Objective of the expansion alpha and the intercept b."""
    h = problem.K @ alpha
    f = h + b
    loss = problem.weights @ LOSSES[problem.loss](problem.y, f[problem.labelled])
    manifold = problem.reg_manifold * (f @ problem.S @ f)
    return 0.5 * (loss + problem.reg_ambient * (alpha @ h) + manifold)


def root(A):
    """C with CCᵀ = A, from the eigenvectors; A is positive semi-definite up to rounding."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    keep = values > 1e-14 * max(values[-1], 1e-300)
    return vectors[:, keep] * np.sqrt(values[keep])


def minimum(problem):
    """Optimal objective and optimal values on all rows, by an interior-point solver.

    Variables (z, b, ξ) with h = Cz, CCᵀ = K and the slacks ξ of the labelled rows, which are
    the residuals f − y for the squared loss.
    """
    C = root(problem.K)
    n, m = C.shape
    l = len(problem.labelled)
    H = np.column_stack([C, np.ones(n)]) if problem.fit_intercept else C
    smooth = root(problem.S).T @ H
    quadratic = problem.reg_manifold * (smooth.T @ smooth)
    quadratic[:m, :m] += problem.reg_ambient * np.eye(m)
    rows = H[problem.labelled]
    if problem.loss == "squared":
        # rows·u − ξ = y
        A, cones = np.hstack([rows, -np.eye(l)]), [clarabel.ZeroConeT(l)]
        right = problem.y
    elif problem.loss == "epsilon_insensitive":
        # |rows·u − y| ≤ ε + ξ and ξ ≥ 0
        signed = np.vstack([rows, -rows, np.zeros(rows.shape)])
        A = np.hstack([signed, -np.tile(np.eye(l), (3, 1))])
        right = np.concatenate([problem.y + EPSILON, EPSILON - problem.y, np.zeros(l)])
        cones = [clarabel.NonnegativeConeT(3 * l)]
    else:
        # 1 − y(rows·u) ≤ ξ and ξ ≥ 0
        margins = np.hstack([-problem.y[:, None] * rows, -np.eye(l)])
        A = np.vstack([margins, np.hstack([np.zeros((l, H.shape[1])), -np.eye(l)])])
        right = np.append(-np.ones(l), np.zeros(l))
        cones = [clarabel.NonnegativeConeT(2 * l)]
    if problem.loss in ("hinge", "epsilon_insensitive"):
        linear, slack = 0.5 * problem.weights, np.zeros(l)
    else:
        linear, slack = np.zeros(l), problem.weights
    P = np.zeros((H.shape[1] + l,) * 2)
    P[: H.shape[1], : H.shape[1]] = quadratic
    P[H.shape[1] :, H.shape[1] :] = np.diag(slack)
    u = quadratic_program(P, np.append(np.zeros(H.shape[1]), linear), A, right, cones)
    f = H @ u[: H.shape[1]]
    loss = problem.weights @ LOSSES[problem.loss](problem.y, f[problem.labelled])
    ambient = problem.reg_ambient * (u[:m] @ u[:m])
    return 0.5 * (loss + ambient + problem.reg_manifold * (f @ problem.S @ f)), f


def quadratic_program(P, q, A, right, cones):
    """Minimiser of ½xᵀPx + qᵀx with right − Ax in the cones."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 500
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(A), right, cones, settings
    )
    solution = solver.solve()
    scale = max(abs(solution.obj_val), 1e-300)
    assert abs(solution.obj_val - solution.obj_val_dual) < 1e-7 * scale, solution.status
    return np.array(solution.x)


def tube_minimum(Q, y, C, epsilon, intercept):
    """Optimal objective and values of ½‖h‖² + C Σ max(|h + b − y| − ε, 0), h of the kernel Q.

    Variables (z, b, ξ) with h = Rz, RRᵀ = Q.
    """
    R = root(Q)
    n, m = R.shape
    H = np.column_stack([R, np.ones(n)]) if intercept else R
    k = H.shape[1]
    A = np.vstack([H, -H, np.zeros((n, k))])
    A = np.hstack([A, -np.tile(np.eye(n), (3, 1))])
    right = np.concatenate([y + epsilon, epsilon - y, np.zeros(n)])
    P = np.zeros((k + n, k + n))
    P[:m, :m] = np.eye(m)
    linear = np.append(np.zeros(k), np.full(n, float(C)))
    u = quadratic_program(P, linear, A, right, [clarabel.NonnegativeConeT(3 * n)])
    values = H @ u[:k]
    over = np.maximum(np.abs(values - y) - epsilon, 0.0)
    return 0.5 * (u[:m] @ u[:m]) + C * over.sum(), values
