"""Laplacian embedded least squares in the span of a few graph functions.

    min over f, b, ζ:   ½‖f‖² + (C/2)‖f(X) + b − g‖² + ½(g − y)ᵀΛ(g − y) + (μ/2)gᵀSg ,   g = Φζ ,

Chen, Tsang & Xu (2012), eq. (31) with the subspace of (23). With P = ΦᵀΛΦ + μΦᵀSΦ, r = ΦᵀΛy and
A = K + I/C, stationarity is

    Aα = Φζ − b1 ,    Pζ + Φᵀα = r ,    1ᵀα = 0 ,

so that after one block solve M = A⁻¹[Φ, −1], which is independent of the labels, every target, λ, μ
and leave-one-out takes a system with as many unknowns as graph functions. The graph kernel ΦP⁻¹Φᵀ,
which can be large and ill-conditioned, is not formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..operators import twofold
from ..operators.base import Operator
from ..operators.inverse import block_cg
from ..operators.twofold import EPS
from ..spaces.features import CUTOFF, nystrom_factor
from ..spaces.function import Function
from .driver import Step
from .refinement import columns_at_once, refined
from .ridge_certificate import certify_ridge

#: Number of columns of K for the preconditioner; at most a quarter of the rows are used.
N_LANDMARKS = 2000
#: Gap that counts as zero relative to the objective of g = 0, since the optimum may be zero.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class EmbeddedRidge:
    """Laplacian embedded least squares in a basis of graph functions.

    Attributes
    ----------
    gram : Operator
        K.
    ridge : float
        1/C.
    basis : ndarray of shape (n, k)
        Φ.
    penalty : ndarray of shape (k, k)
        P without the term of the labelled rows: the smoothness penalty of ζ.
    labelled : ndarray of shape (l,)
        Indices of the labelled rows.
    targets : ndarray of shape (l, c)
        y.
    label_precision : ndarray of shape (l,)
        Diagonal of Λ on these rows.
    fit_intercept : bool
        Whether there is an intercept b, the last of the unknowns.
    """

    gram: Operator
    ridge: float
    basis: np.ndarray
    penalty: np.ndarray
    labelled: np.ndarray
    targets: np.ndarray
    label_precision: np.ndarray
    fit_intercept: bool

    def right_hand_sides(self) -> np.ndarray:
        """Return B = [Φ, −1], shape (n, k) or (n, k + 1)."""
        if not self.fit_intercept:
            return self.basis
        return np.hstack([self.basis, np.full((len(self.basis), 1), -1.0)])

    def step(
        self, iteration: int, M: np.ndarray, residual: np.ndarray, tol: float, drift: float = 0.0
    ) -> Step:
        """Return the solution for an approximation M of A⁻¹B, with its certified gap.

        A residual that was updated from step to step may be off by ``drift`` times the length of
        the coefficients. The gap is computed anew, at the cost of one product, where that matters,
        and where there is no drift.
        """
        B, k = self.right_hand_sides(), self.basis.shape[1]
        inner = B.T @ M
        H = (inner + inner.T) / 2.0
        phi, weighted = self.basis[self.labelled], self.label_precision[:, None] * self.targets
        H[:k, :k] += self.penalty + phi.T @ (self.label_precision[:, None] * phi)
        rhs = np.zeros((len(H), self.targets.shape[1]))
        rhs[:k] = phi.T @ weighted
        unknowns = _solve_definite(H, rhs)
        zeta = unknowns[:k]
        b = unknowns[k] if self.fit_intercept else np.zeros(rhs.shape[1])
        alpha = M @ unknowns
        KM = B - residual - self.ridge * M
        values, left = KM @ unknowns + b, residual @ unknowns
        objective = self._objective(alpha, values - b, zeta, left)
        length, off = np.linalg.norm(left, axis=0), drift * np.linalg.norm(alpha, axis=0)
        gap = float((0.5 * (length + off) ** 2 / self.ridge).sum())
        gap += 4.0 * float((off * np.linalg.norm(alpha, axis=0)).sum())
        rounding = _ROUNDING * float((self.targets * weighted).sum())
        if drift == 0 or 0.5 * float((length**2).sum()) / self.ridge <= tol * objective:
            found = certify_ridge(self, alpha, b, zeta)
            objective, gap, values = found.objective, found.gap, found.values
        own = KM[self.labelled]  # from the unknowns to the values of the labelled rows
        if self.fit_intercept:
            own[:, k] += 1.0
        return Step(
            iteration=iteration,
            function=Function(alpha, b, values, np.zeros((0, rhs.shape[1]))),
            objective=objective,
            gap=gap,
            passes=self.gram.passes,
            converged=gap <= tol * objective or gap <= rounding,
            leave_one_out=partial(self._leave_one_out, H, rhs, own),
        )

    def _objective(
        self, alpha: np.ndarray, f: np.ndarray, zeta: np.ndarray, left: np.ndarray
    ) -> float:
        """Return the objective as sums of squares, so that large targets cost no digits."""
        norm = (alpha * f).sum(axis=0)
        error = ((left + self.ridge * alpha) ** 2).sum(axis=0) / self.ridge
        g = self.basis[self.labelled] @ zeta
        distance = self.label_precision @ (g - self.targets) ** 2
        smoothness = (zeta * (self.penalty @ zeta)).sum(axis=0)
        return 0.5 * float((norm + error + distance + smoothness).sum())

    def condition(self) -> float:
        """Return an upper bound of the condition number of K + I/C: K is at most its trace."""
        rows = np.arange(self.gram.shape[0])
        return 1.0 + float(np.abs(self.gram.diagonal_at(rows)).sum()) / self.ridge

    def _leave_one_out(self, H: np.ndarray, rhs: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return f of each labelled row from the system without the row's own term of Λ."""
        k, values = self.basis.shape[1], np.empty(self.targets.shape)
        for i, weight in enumerate(self.label_precision):
            row = self.basis[self.labelled[i]]
            system, sides = H.copy(), rhs.copy()
            system[:k, :k] -= weight * np.outer(row, row)
            sides[:k] -= weight * np.outer(row, self.targets[i])
            values[i] = own[i] @ _solve_definite(system, sides)
        return values


def ridge_direct(problem: EmbeddedRidge, tol: float = 1e-3) -> Iterator[Step]:
    """Yield the solution in one step; refuse a problem that double precision does not determine."""
    step = problem.step(1, *block_solution(problem), tol)
    if not step.converged and step.gap is not None:
        share = step.gap / max(step.objective, 1e-300)
        raise ValueError(
            f"no solution in double precision: with C = {1.0 / problem.ridge:.3g} the objective is "
            f"known up to {share:.2g} of itself, and {tol:g} is "
            "allowed. Lower C, or scale the columns of X so that kernel values are of order one"
        )
    yield step


def block_solution(problem: EmbeddedRidge) -> tuple[np.ndarray, np.ndarray]:
    """Return M = A⁻¹B and its residual, which serve all targets, λ, μ and subsets of the basis.

    For the first k columns of Φ, use the first k columns of M and, with an intercept, the last one.
    Cost: (1/3)n³ operations and a copy of K.
    """
    gram, B = problem.gram, problem.right_hand_sides()
    A = gram.to_array().copy()
    A[np.diag_indices(len(A))] += problem.ridge
    try:
        factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise ValueError(
            "K + I/C is singular to working precision: lower C, or rescale the rows so that kernel "
            "values are of order one"
        ) from None
    solve = partial(cho_solve, factor, check_finite=False)
    ridge = problem.ridge
    M, _ = refined(
        lambda V: solve(ridge * V),
        lambda V: (gram @ V) / ridge,
        lambda V: twofold.times(gram, V).scaled(1.0 / ridge),
        B / ridge,
        len(B),
    )
    return M, B - gram @ M - problem.ridge * M


def ridge_cg(problem: EmbeddedRidge, tol: float, rng: np.random.Generator) -> Iterator[Step]:
    """Yield steps of conjugate gradients for all columns of M together. Cost: one product each.

    Preconditioned by the leading eigenvectors of a Nyström approximation of K (Frangella, Tropp &
    Udell, 2023).
    """
    root, inverse_root = _nystrom_roots(problem.gram, problem.ridge, rng)
    gram, ridge = problem.gram, problem.ridge

    def product(P: np.ndarray) -> np.ndarray:
        P = inverse_root(P)
        return inverse_root(gram @ P + ridge * P)

    steps = block_cg(product, inverse_root(problem.right_hand_sides()))
    size = problem.condition() * ridge
    for iteration, (M, residual) in enumerate(steps):
        if iteration > 0:  # rounding of the products accumulates in the residuals
            drift = iteration * len(M) * EPS * size
            yield problem.step(iteration, inverse_root(M), root(residual), tol, drift)


def ridge_direct_bytes(n: int, n_functions: int) -> int:
    """Return the memory of `ridge_direct` beside K."""
    work = twofold.work_bytes(n, n, min(n_functions, columns_at_once(n)))
    return 8 * n * (2 * n + 4 * n_functions) + work


def ridge_cg_bytes(n: int, n_columns: int) -> int:
    """Return the memory of `ridge_cg` beside K."""
    return n * (24 * min(N_LANDMARKS, -(-n // 4)) + 8 * 12 * n_columns)


def _nystrom_roots(
    gram: Operator, ridge: float, rng: np.random.Generator
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    """Return the square root of the preconditioner and its inverse, as functions of a block."""
    n = gram.shape[0]
    landmarks = np.sort(rng.choice(n, min(N_LANDMARKS, -(-n // 4)), replace=False))
    Z = nystrom_factor(gram, landmarks)
    values, vectors = np.linalg.eigh(Z.T @ Z)
    keep = values > CUTOFF * values.max(initial=1e-290)
    U = Z @ (vectors[:, keep] / np.sqrt(values[keep]))
    del Z
    scale = np.sqrt((values[keep] + ridge) / (values[keep].min(initial=np.inf) + ridge))

    def scaled(factors: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda V: V + U @ ((factors - 1.0)[:, None] * (U.T @ V))

    return scaled(scale), scaled(1.0 / scale)


def _solve_definite(H: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve a positive definite system whose rows may have very different scales."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    scaled = H * scale * scale[:, None]
    try:
        solution = cho_solve(cho_factor(scaled, lower=True), rhs * scale[:, None])
    except LinAlgError:  # some direction is not determined
        solution = np.linalg.lstsq(scaled, rhs * scale[:, None], rcond=None)[0]
    return solution * scale[:, None]
