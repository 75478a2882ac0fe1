"""Reduction of a problem on n rows to the l labelled ones, once for each ratio μ = γ_I/γ_A.

Only the labelled rows have a loss term, so for a given μ the solution is a linear function of l + 1
numbers (c, b), whatever the loss, the class, γ_A or the fold of a cross-validation: all of them
become label problems (`label_problem`) with the reduced kernel R_μ.

R_μ is computed in one of two ways: by an LU factorisation of the n × n matrix I + μSK, for one μ;
or in a basis H with HHᵀ = K (`spaces.basis`), where M = HᵀSH is formed once and each μ costs a
Cholesky factorisation of I + μM.

Notation: J selects the labelled rows, S = Lᵖ, h = f − b.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..arrays.dense_solve import definite_solver, general_solver
from ..arrays.device import block_entries, is_on_device, like, map_where, on_host, to_device
from ..arrays.threads import row_blocks
from ..losses import Loss
from ..operators import twofold
from ..operators.base import Operator
from ..operators.sparse import PowerOperator
from ..operators.twofold import Twofold
from ..risk import weight_ratio
from ..spaces.basis import cholesky_basis, expansion_of
from .label_problem import LabelProblem
from .refinement import ILL_CONDITIONED, Solve, columns_at_once, refined, relative_size

#: Columns of I + μSK that are formed at once; more would not stay in the cache.
COLUMN_BLOCK = 64
#: Number of entries of a block of columns that is multiplied by S.
_BLOCK_ENTRIES = 8_000_000
#: Rows up to which an ill-conditioned system is solved in a pivoted basis, on the host: with more,
#: that takes longer than what a device gains, and iterative refinement has to suffice.
BASIS_ROWS = 10_000
#: Most refinements of the solution of a dense system, and the relative size of the last one.
_MOST_REFINEMENTS, _ACCURATE = 3, 1e-8
#: Condition number of I + μM above which its solutions are refined.
_REFINED = 1e6


@dataclass(frozen=True)
class Reduction:
    """The reduced kernel of one ratio, and the map back to all rows.

    Attributes
    ----------
    ratio : float
        μ.
    R : ndarray of shape (l, l)
        J K (I + μSK)⁻¹ Jᵀ.
    t : ndarray of shape (l,)
        Change of f on the labelled rows per unit of b.
    sigma : float
        Penalty of b in units of γ_A.
    coefficients : ndarray of shape (m, l + 1)
        Coefficients of h for each entry of (c, −μb).
    values : callable
        From coefficients to the values of h on all rows.
    correct : callable or None
        From the error of (I + μSK)·(coefficients of h), or of (I + μM)·(them), to their own.
    """

    ratio: float
    R: np.ndarray
    t: np.ndarray
    sigma: float
    coefficients: np.ndarray
    values: Callable[[np.ndarray], np.ndarray]
    correct: Callable[[np.ndarray], np.ndarray] | None = None

    def problem(
        self,
        loss: Loss,
        targets: np.ndarray,
        weights: np.ndarray,
        reg_ambient: float,
        fit_intercept: bool,
        rows: np.ndarray | slice = slice(None),
    ) -> LabelProblem:
        """Return the label problem of some of the labelled rows."""
        R, t = self.R[rows][:, rows], self.t[rows] if fit_intercept else None
        return LabelProblem(R, t, self.sigma, loss, targets[rows], weights[rows], reg_ambient)

    def expand(self, c: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients of h and the values of f on all rows."""
        coef = self.coefficients @ np.vstack([c, -self.ratio * b])
        return coef, self.values(coef) + b


def ratio_of(reg_ambient: float, reg_manifold: float) -> float:
    """Return μ = γ_I/γ_A, the same number for pairs whose ratios differ by rounding alone."""
    return float(f"{weight_ratio(reg_ambient, reg_manifold):.12g}")


def _symmetric(R: np.ndarray) -> np.ndarray:
    return (R + R.T) / 2.0


def reduce_dense(gram: Operator, S: Operator, labelled: np.ndarray, mu: float) -> Reduction:
    """Return the reduction by elimination; coefficients are those of an expansion over all rows.

    Cost: (2/3)n³ operations with K in double precision; l columns of K if μ is zero.
    """
    n, l = gram.shape[0], len(labelled)
    rhs = np.zeros((n, l + 1))
    rhs[labelled, np.arange(l)] = 1.0
    if mu == 0:  # supervised: only the labelled columns of K are needed
        columns = gram.columns(labelled)
        R = _symmetric(columns[labelled])
        return Reduction(mu, R, np.ones(l), 0.0, rhs, lambda coef: columns @ coef[labelled])
    rhs[:, l] = S_ones = S.times_ones()  # zero for an unnormalised Laplacian
    ill_conditioned = mu * twofold.norm_bound(S) * twofold.norm_bound(gram) > ILL_CONDITIONED
    if ill_conditioned and (n <= BASIS_ROWS or not is_on_device(gram.array)):
        return _reduce_ill_conditioned(gram, S, labelled, mu)
    solve = _dense_solver(gram, S, mu)
    solution, last = solve(rhs), np.inf
    # Large kernel values cost digits of the factor, which iterative refinement restores.
    for _ in range(_MOST_REFINEMENTS):
        change = solve(rhs - solution - _product(gram, S, mu, solution))
        size = relative_size(change, solution)
        if not size < last:
            break
        solution, last = solution + change, size
        if size <= _ACCURATE:  # what is left is of the order of its square
            break
    values = gram @ solution
    R, t = _symmetric(values[labelled, :l]), 1.0 - mu * (S_ones @ values[:, :l])
    sigma = max(mu * float(solution[:, l].sum()), 0.0)
    return Reduction(mu, R, t, sigma, solution, gram.__matmul__, solve)


def _reduce_ill_conditioned(
    gram: Operator, S: Operator, labelled: np.ndarray, mu: float
) -> Reduction:
    """Return the same in the basis of a pivoted Cholesky decomposition of K.

    The condition of I + μSK can be the power 3/2 of μ‖S‖‖K‖, that of I + μM is μ‖S‖‖K‖.
    """
    H, pivots = cholesky_basis(np.array(on_host(gram.to_array())))
    found = BasisReductions(H, S, labelled).at(mu)
    expansion = partial(expansion_of, H, pivots)

    def correct(residual: np.ndarray) -> np.ndarray:
        assert found.correct is not None
        return expansion(found.correct(H.T @ residual))

    coefficients = expansion(found.coefficients)
    return replace(found, coefficients=coefficients, values=gram.__matmul__, correct=correct)


def _intercept(
    S: Operator, mu: float, squared_norm: float, h: Twofold, labelled: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return t and σ, given the optimal h per unit of b: f = h + 1 there, and its penalty.

    f may be a small difference and Sf a smaller one, so both are computed in twofold precision. σ
    is a sum of squares at its minimum: errors of h count quadratically.
    """
    f = h + np.ones((1, 1))
    smoothness = float(f.hi[:, 0] @ twofold.times(S, f).hi[:, 0])
    return f.hi[labelled, 0], max(squared_norm + mu * smoothness, 0.0)


def _product(gram: Operator, S: Operator, mu: float, V: np.ndarray) -> np.ndarray:
    """Return μSKV, computed where K is."""
    return on_host(mu * (S @ (gram @ like(gram.array, V))))


def _dense_solver(gram: Operator, S: Operator, mu: float) -> Solve:
    """Return what solves (I + μSK) X = rhs by a dense factorisation.

    For S = B², an even power, (I + μB²K)⁻¹ = I − μB(I + μBKB)⁻¹BK, whose matrix is symmetric and
    positive definite: its Cholesky factorisation takes half the operations of an LU.
    """
    K, (base, power) = gram.to_array(), S.as_power()
    if power % 2:
        return general_solver(_shifted_product(S, K, mu))
    B = base if power == 2 else PowerOperator(base, power // 2)
    inverse = None
    with suppress(LinAlgError):  # by rounding, where K is not quite semi-definite
        inverse = definite_solver(_shifted_product(B, K, mu, two_sided=True))
    if inverse is None:
        return general_solver(_shifted_product(S, K, mu))
    solve = inverse
    return lambda rhs: rhs - mu * (B @ solve(B @ (gram @ rhs)))


def _shifted_product(S: Operator, K: Any, mu: float, *, two_sided: bool = False) -> Any:
    """Return I + μSK in Fortran order, or I + μSKS, formed in place by blocks of columns."""
    n = len(K)
    rows = np.empty_like(K, shape=(n, n))  # of the transpose
    product = rows.T

    def fill(columns: slice) -> None:
        product[:, columns] = S @ K[:, columns]
        product[:, columns] *= mu

    def fill_rows(columns: slice) -> None:
        rows[:, columns] = S @ rows[:, columns]

    at_once = max(1, block_entries(K, n * COLUMN_BLOCK) // n)
    map_where(K, fill, row_blocks(n, at_once))
    if two_sided:
        map_where(K, fill_rows, row_blocks(n, at_once))
    product[np.diag_indices(n)] += 1.0
    return product


class BasisReductions:
    """Reductions for all ratios in a basis H of functions.

    Functions are Hθ with norm ‖θ‖. Cost: n·m² operations once and m³/3 for each ratio, with
    `basis_bytes` of memory.

    Parameters
    ----------
    H : ndarray or CSR matrix of shape (n, m)
        The basis, such that HHᵀ = K.
    S : Operator
        Lᵖ.
    labelled : ndarray of shape (l,)
        The labelled rows.
    """

    def __init__(self, H: Any, S: Operator, labelled: np.ndarray) -> None:
        self.H, self.S = H, S
        self._M = smoothness_in_basis(H, S)
        self._norm = _frobenius_norm(self._M)
        self._set_labelled(labelled)

    def _set_labelled(self, labelled: np.ndarray) -> None:
        S_ones = self.S.times_ones()
        self.labelled = labelled
        self._penalised = bool(S_ones.any())
        self._rhs = np.column_stack([to_dense(self.H[labelled]).T, self.H.T @ S_ones])

    def to(self, labelled: np.ndarray) -> BasisReductions:
        """Return the reductions to other labelled rows; M is the same."""
        other = copy(self)
        other._set_labelled(labelled)
        return other

    def at(self, mu: float) -> Reduction:
        """Return the reduction of one ratio."""
        H, coefficients, correct, ill_conditioned = self.H, self._rhs, None, False
        if mu > 0 and len(self._M) > 0:  # SciPy 1.13 solves no empty systems
            correct, solve = partial(self._solve_anew, mu), self._solver(mu)
            if mu * self._norm <= _REFINED:
                coefficients = solve(self._rhs)
            else:
                products = partial(self._product, mu), partial(self._twofold_product, mu)
                coefficients, ill_conditioned = refined(solve, *products, self._rhs, max(H.shape))
        l = len(self.labelled)
        R = _symmetric(self._rhs[:, :l].T @ coefficients[:, :l])
        t, sigma = np.ones(l), 0.0
        if mu > 0 and self._penalised:
            theta = -mu * coefficients[:, [l]]
            h = twofold.times(H, theta) if ill_conditioned else Twofold.exactly(H @ theta)
            t, sigma = _intercept(self.S, mu, float((theta**2).sum()), h, self.labelled)
        return Reduction(mu, R, t, sigma, coefficients, H.__matmul__, correct)

    def _solver(self, mu: float) -> Solve:
        """Return the function that solves (I + μM) X = rhs."""
        system = mu * self._M
        system[np.diag_indices(len(system))] += 1.0
        try:
            factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise ValueError(
                f"no solution in double precision: the matrix for the ratio γ_I/γ_A = {mu:.3g} is "
                "not positive definite, because this ratio or kernel values are too large. Raise "
                "the weight of the norm (reg_ambient or rho, or lower C), lower reg_manifold, or "
                "scale the columns of X (sklearn.preprocessing.StandardScaler) so that kernel "
                "values are of order one"
            ) from error
        return partial(cho_solve, factor, check_finite=False)

    def _product(self, mu: float, V: np.ndarray) -> np.ndarray:
        """Return μMV without the rounding of M."""
        return mu * (self.H.T @ (self.S @ (self.H @ V)))

    def _twofold_product(self, mu: float, V: np.ndarray) -> Twofold:
        """Return the same in twice double precision."""
        image = twofold.times(self.S, twofold.times(self.H, V))
        return twofold.times(self.H.T, image).scaled(mu)

    def _solve_anew(self, mu: float, rhs: np.ndarray) -> np.ndarray:
        """Factor again, since the factors of all ratios would take too much memory."""
        return self._solver(mu)(rhs)


def _frobenius_norm(M: np.ndarray) -> float:
    """Return the norm of a symmetric matrix of which only the lower triangle is complete."""
    below = sum(float(M[j + 1 :, j] @ M[j + 1 :, j]) for j in range(len(M)))
    return float(np.sqrt(2.0 * below + np.diag(M) @ np.diag(M)))


def basis_bytes(n: int, m: int, n_labelled: int, n_ratios: int) -> int:
    """Return the peak memory of `BasisReductions` beside H, with the reductions kept."""
    block = n_labelled + 1
    columns = max(block, min(m, _columns_at_once(n)))
    kept = 8 * (2 * m * m + m * block * (n_ratios + 2) + 3 * n * columns)
    return kept + twofold.work_bytes(n, m, min(block, columns_at_once(max(n, m))))


def smoothness_in_basis(H: Any, S: Operator) -> np.ndarray:
    """Return HᵀSH in Fortran order; only the lower triangle is complete.

    Cost: n·m² operations, by blocks of columns.
    """
    n, m = H.shape
    M = np.zeros((m, m), order="F")
    H = H if S.as_power()[0].matrix is None else to_device(H)
    for columns in row_blocks(m, _columns_at_once(n)):
        image = S @ to_dense(H[:, columns])
        M[columns.start :, columns] = on_host(H[:, columns.start :].T @ image)
    return M


def _columns_at_once(n: int) -> int:
    """Return the number of columns of length n per block: fast products in little memory.

    Products within a block are computed twice, above and below the diagonal, so it is not wide.
    """
    return int(np.clip(_BLOCK_ENTRIES // max(n, 1), 32, 256))


def to_dense(block: Any) -> np.ndarray:
    """Return a block of rows or columns as an array."""
    return block.toarray() if sp.issparse(block) else block
