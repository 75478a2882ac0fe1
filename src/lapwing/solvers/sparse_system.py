"""Sparse symmetric positive definite systems: a factorisation, or conjugate gradients.

The cost of a factorisation is bounded beforehand, from the sparsity pattern alone: in the order of
Cuthill & McKee no fill-in arises left of the first entry of a row. SuperLU's own minimum-degree
order fills less than that. Graphs of low-dimensional data are cheap to factor; for neighbours in
many dimensions the fill-in reaches a tenth of the whole matrix.

Notation: A (n, n), B (n, columns), X = A⁻¹B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from ..arrays.threads import row_blocks
from ..operators.inverse import block_cg
from ..operators.sparse import SparseOperator

#: Share of entries above which a dense factorisation is faster.
_DENSE_SHARE = 0.1
#: Bytes per entry of SuperLU's factors, with its index and room to grow.
_ENTRY_BYTES = 14
#: Number of columns per block of conjugate gradients: larger blocks share more products, but their
#: orthogonalisation costs n·c² operations.
_COLUMNS = 25
#: Factor by which a recomputed residual may exceed the tolerance.
_SLACK = 2.0


@dataclass(frozen=True)
class FactorCost:
    """Upper bounds of the cost of a factorisation.

    Attributes
    ----------
    n_bytes : int
        Memory.
    operations : float
        Multiplications, (1/3)n³ for a full matrix.
    """

    n_bytes: int
    operations: float


@dataclass(frozen=True)
class BlockSolution:
    """Solution by conjugate gradients.

    Attributes
    ----------
    X : ndarray of shape (n, columns)
        The solution.
    residual : ndarray of shape (columns,)
        Norms of the columns of B - AX.
    n_iter : int
        Largest number of products with A for a block of columns.
    converged : bool
        Whether all residuals are small enough.
    """

    X: np.ndarray
    residual: np.ndarray
    n_iter: int
    converged: bool


def factor_cost(A: sp.csr_array) -> FactorCost:
    """Return bounds of the cost of `factorise`. Cost: a pass over the entries."""
    n = A.shape[0]
    if _is_dense(A):
        return FactorCost(16 * n * n, n**3 / 3)
    position = np.empty(n, dtype=np.int64)
    position[reverse_cuthill_mckee(sp.csr_matrix(A), symmetric_mode=True)] = np.arange(n)
    first = np.arange(n)  # first entry of each row in the new order
    np.minimum.at(first, np.repeat(position, np.diff(A.indptr)), position[A.indices])
    widths = np.arange(n) - first + 1.0
    return FactorCost(int(2 * _ENTRY_BYTES * widths.sum()), float((widths**2).sum()))


def factorise(A: sp.csr_array) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function B ↦ A⁻¹B."""
    if _is_dense(A):
        factor = cho_factor(A.toarray(), lower=True, overwrite_a=True, check_finite=False)
        return lambda B: cho_solve(factor, B, check_finite=False)
    # No pivoting: it is not needed for definite matrices and would change the order.
    factor = splu(
        sp.csc_matrix(A),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return lambda B: factor.solve(np.asfortranarray(B))


def solve_blocks(A: sp.csr_array, B: np.ndarray, tol: float, max_iter: int) -> BlockSolution:
    """Solve by conjugate gradients on blocks of columns, with A scaled to a unit diagonal.

    The stopping criterion is a residual of at most ``tol`` times the norm of the column (of the
    largest column for a column of zeros), in the scaled system.
    """
    root = np.sqrt(A.diagonal())[:, None]
    operator = SparseOperator(A)
    X, residual = np.empty(B.shape), np.empty(B.shape[1])
    n_iter, converged = 0, True
    for part in row_blocks(B.shape[1], _COLUMNS):
        scaled = B[:, part] / root
        lengths = np.linalg.norm(scaled, axis=0)
        goal = tol * np.where(lengths > 0, lengths, lengths.max())
        steps = block_cg(lambda P: (operator @ (P / root)) / root, scaled)
        for products, step in enumerate(steps):
            if products >= max_iter or (np.linalg.norm(step[1], axis=0) <= goal).all():
                break
        X[:, part] = step[0] / root
        # Recomputed: rounding limits the true residual, but not the one of the recurrence.
        rest = B[:, part] - operator @ X[:, part]
        residual[part] = np.linalg.norm(rest, axis=0)
        converged &= bool((np.linalg.norm(rest / root, axis=0) <= _SLACK * goal).all())
        n_iter = max(n_iter, products)
    return BlockSolution(X, residual, n_iter, converged)


def iterative_bytes(n: int, n_columns: int) -> int:
    """Return the memory of `solve_blocks`, B included."""
    return 8 * n * (2 * n_columns + 10 * min(n_columns, _COLUMNS))


def inverse_diagonal(
    solve: Callable[[np.ndarray], np.ndarray], n: int, index: np.ndarray
) -> np.ndarray:
    """Return some entries of the diagonal of A⁻¹, by solving for columns of the identity.

    With conjugate gradients the error is below r²/λ, for residuals of norm r and the smallest
    eigenvalue λ of A: e_iᵀ(A⁻¹ - X)e_i is the square of an error in the norm of A.
    """
    diagonal = np.empty(len(index))
    for part in row_blocks(len(index), _COLUMNS):
        rows = index[part], np.arange(len(index[part]))
        E = np.zeros((n, len(rows[1])))
        E[rows] = 1.0
        diagonal[part] = solve(E)[rows]
    return diagonal


def _is_dense(A: sp.csr_array) -> bool:
    return A.nnz > _DENSE_SHARE * A.shape[0] ** 2
