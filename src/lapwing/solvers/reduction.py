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
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lu_factor, lu_solve

from ..arrays.threads import map_blocks, row_blocks
from ..losses import Loss
from ..operators.base import Operator
from .label_problem import LabelProblem

#: Columns of I + μSK that are formed at once; more would not stay in the cache.
COLUMN_BLOCK = 64
#: Number of entries of a block of columns that is multiplied by S.
_BLOCK_ENTRIES = 16_000_000
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
    """

    ratio: float
    R: np.ndarray
    t: np.ndarray
    sigma: float
    coefficients: np.ndarray
    values: Callable[[np.ndarray], np.ndarray]

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
    return float(f"{reg_manifold / reg_ambient:.12g}")


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
    system = _shifted_product(S, gram.to_array(), mu)
    factor = lu_factor(system, overwrite_a=True, check_finite=False)
    solution = lu_solve(factor, rhs, check_finite=False)
    # One step of iterative refinement: large kernel values cost digits of the factor.
    residual = rhs - solution - mu * (S @ (gram @ solution))
    solution += lu_solve(factor, residual, overwrite_b=True, check_finite=False)
    del system, factor
    values = gram @ solution
    R, t = _symmetric(values[labelled, :l]), 1.0 - mu * (S_ones @ values[:, :l])
    sigma = max(mu * float(solution[:, l].sum()), 0.0)
    return Reduction(mu, R, t, sigma, solution, gram.__matmul__)


def _shifted_product(S: Operator, K: np.ndarray, mu: float) -> np.ndarray:
    """Return I + μSK in Fortran order, formed in place by blocks of columns."""
    n = len(K)
    product = np.empty((n, n), order="F")

    def fill(columns: slice) -> None:
        product[:, columns] = S @ K[:, columns]
        product[:, columns] *= mu

    map_blocks(fill, row_blocks(n, COLUMN_BLOCK))
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
        self.H, self.S, self.labelled = H, S, labelled
        self._S_ones = S.times_ones()
        self._M = smoothness_in_basis(H, S)
        self._rhs = np.column_stack([to_dense(H[labelled]).T, H.T @ self._S_ones])
        self._norm = float(np.diag(self._M).sum())  # the trace bounds the norm of M

    def at(self, mu: float) -> Reduction:
        """Return the reduction of one ratio."""
        H, coefficients = self.H, self._rhs
        if mu > 0 and len(self._M) > 0:  # SciPy 1.13 solves no empty systems
            system = mu * self._M
            system[np.diag_indices(len(system))] += 1.0
            try:
                factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError as error:
                raise ValueError(
                    f"the matrix for the ratio γ_I/γ_A = {mu:.3g} is not positive definite in "
                    "double precision, because kernel values are too large. Scale the columns of X "
                    "(sklearn.preprocessing.StandardScaler) so that they are of order one"
                ) from error
            coefficients = cho_solve(factor, self._rhs, check_finite=False)
            if mu * self._norm > _REFINED:  # one step of refinement, without the rounding of M
                M_coefficients = H.T @ (self.S @ (H @ coefficients))
                residual = self._rhs - coefficients - mu * M_coefficients
                coefficients += cho_solve(factor, residual, overwrite_b=True, check_finite=False)
        intercept_column, l = self._rhs[:, -1], len(self.labelled)
        R = _symmetric(self._rhs[:, :l].T @ coefficients[:, :l])
        t = 1.0 - mu * (intercept_column @ coefficients[:, :l])
        sigma = mu * (float(self._S_ones.sum()) - mu * float(intercept_column @ coefficients[:, l]))
        return Reduction(mu, R, t, max(sigma, 0.0), coefficients, H.__matmul__)


def basis_bytes(n: int, m: int, n_labelled: int, n_ratios: int) -> int:
    """Return the peak memory of `BasisReductions` beside H, with the reductions kept."""
    block = n_labelled + 1
    columns = max(block, min(m, _columns_at_once(n)))
    return 8 * (2 * m * m + m * block * (n_ratios + 2) + 3 * n * columns)


def smoothness_in_basis(H: Any, S: Operator) -> np.ndarray:
    """Return HᵀSH in Fortran order; only the lower triangle is complete.

    Cost: n·m² operations, by blocks of columns.
    """
    n, m = H.shape
    M = np.zeros((m, m), order="F")
    for columns in row_blocks(m, _columns_at_once(n)):
        image = S @ to_dense(H[:, columns])
        M[columns.start :, columns] = H[:, columns.start :].T @ image
    return M


def _columns_at_once(n: int) -> int:
    """Return the number of columns of length n per block: fast products in little memory."""
    return int(np.clip(_BLOCK_ENTRIES // max(n, 1), 32, 1024))


def to_dense(block: Any) -> np.ndarray:
    """Return a block of rows or columns as an array."""
    return block.toarray() if sp.issparse(block) else block
