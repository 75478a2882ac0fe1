"""Sparse symmetric positive definite systems: a factorisation, or conjugate gradients.

What a factorisation costs is bounded before it is made, from the places of the entries alone: rows
are put in the order of Cuthill & McKee, in which no entry arises left of the first one of a row.
SuperLU's own order, of least degree, fills less than that. A graph along a curve or on a sheet is
factored in no time; one of neighbours in many dimensions fills up to a tenth of the whole matrix.

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
from ..operators import SparseOperator, block_cg

#: Share of entries above which a dense factorisation is the faster one.
_DENSE_SHARE = 0.1
#: Bytes of a number of SuperLU's factors, with its place and room to grow.
_ENTRY_BYTES = 14
#: Columns that conjugate gradients work on together: more share more products, but n·c² operations
#: make them orthogonal.
_COLUMNS = 25

#: How much larger than asked for a residual may be, once it is computed anew.
_SLACK = 2.0


@dataclass(frozen=True)
class FactorCost:
    """Upper bounds of what a factorisation takes.

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
    """What conjugate gradients found.

    Attributes
    ----------
    X : ndarray of shape (n, columns)
        The solution.
    residual : ndarray of shape (columns,)
        Lengths of the columns of B - AX.
    n_iter : int
        Products with A, of the block of columns that took most.
    converged : bool
        Whether all residuals are small enough.
    """

    X: np.ndarray
    residual: np.ndarray
    n_iter: int
    converged: bool


def factor_cost(A: sp.csr_array) -> FactorCost:
    """Return what `factorise` takes. Cost: a pass over the entries."""
    n = A.shape[0]
    if _is_dense(A):
        return FactorCost(16 * n * n, n**3 / 3)
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(sp.csr_matrix(A), symmetric_mode=True)] = np.arange(n)
    first = np.arange(n)  # of each row, in the new order
    np.minimum.at(first, np.repeat(place, np.diff(A.indptr)), place[A.indices])
    widths = np.arange(n) - first + 1.0
    return FactorCost(int(2 * _ENTRY_BYTES * widths.sum()), float((widths**2).sum()))


def factorise(A: sp.csr_array) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function B ↦ A⁻¹B."""
    if _is_dense(A):
        factor = cho_factor(A.toarray(), lower=True, overwrite_a=True, check_finite=False)
        return lambda B: cho_solve(factor, B, check_finite=False)
    # No pivots: none are needed for definite matrices, and they would undo the order.
    factor = splu(
        sp.csc_matrix(A),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return lambda B: factor.solve(np.asfortranarray(B))


def solve_blocks(A: sp.csr_array, B: np.ndarray, tol: float, max_iter: int) -> BlockSolution:
    """Solve by conjugate gradients on blocks of columns, with A scaled to a diagonal of ones.

    Each column goes on until its residual is at most ``tol`` times its length (a column of zeros:
    times that of the longest), in the scaled system.
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
            done = bool((np.linalg.norm(step[1], axis=0) <= goal).all())
            if done or products >= max_iter:
                break
        X[:, part] = step[0] / root
        # Those of the iterations shrink on where rounding keeps the true ones from doing so.
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

    Those of conjugate gradients are wrong by less than r²/λ, with residuals of length r and least
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
