"""Coordinates of the rows in which the norm of a kernel is the Euclidean one.

A basis H, one row of coordinates for each row of X, has HHᵀ = K: the functions are Hθ with norm
‖θ‖. The columns of X are such coordinates for a linear kernel, the factor of a pivoted Cholesky
decomposition of K is one for any kernel, and the features of landmarks span fewer functions. Each
comes with the way from θ to the coefficients of a model. Knows neither labels nor graphs nor
solvers; `solvers.BasisReductions` solves in a basis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from ..kernels.functions import Kernel
from ..kernels.gram import gram_matrix
from .features import Landmarks


@dataclass(frozen=True)
class Basis:
    """Coordinates of the rows, and the way from coordinates of a function to its coefficients.

    Attributes
    ----------
    H : ndarray or CSR matrix of shape (n, m)
        The coordinates.
    coef_of : callable
        From θ of shape (m, c) to the coefficients of the rows or centres; of the columns of X if
        the kernel is linear.
    centres : ndarray or None
        Centres of landmarks, if the coefficients belong to these.
    """

    H: Any
    coef_of: Callable[[np.ndarray], np.ndarray]
    centres: np.ndarray | None = None


def column_basis(kernel: Kernel, X: Any) -> Basis:
    """Return the columns of X, as a linear kernel prepares them."""
    return Basis(kernel.prepare(X).data, lambda theta: theta)


def kernel_basis(kernel: Kernel | None, X: Any) -> Basis:
    """Return a basis of all functions of the rows, from the Gram matrix; X holds it for None.

    Cost: n³/3 operations and 2n² numbers.
    """
    if kernel is None:
        return gram_basis(np.array(X, dtype=np.float64))
    rows = kernel.prepare(X)
    basis = gram_basis(gram_matrix(kernel, rows))
    if kernel.is_linear:  # from coefficients of the rows to those of the columns
        return replace(basis, coef_of=lambda theta: np.asarray(rows.data.T @ basis.coef_of(theta)))
    return basis


def gram_basis(K: np.ndarray) -> Basis:
    """Return a basis from a Gram matrix, which is overwritten; coefficients are those of rows."""
    H, pivots = cholesky_basis(K)
    return Basis(H, partial(expansion_of, H, pivots))


def landmark_basis(landmarks: Landmarks, kernel: Kernel | None, X: Any) -> Basis:
    """Return the features of landmarks."""
    coef_of = partial(landmarks.expansion, kernel=kernel, X=X)
    return Basis(landmarks.features.values, coef_of, landmarks.centres)


def cholesky_basis(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return H with HHᵀ = K up to rounding, and the rows that span it. K is overwritten.

    A pivoted Cholesky decomposition, which ends at the rank of K. Cost: n³/3 operations.
    """
    factor, order, rank, _ = dpstrf(K.T, lower=1, overwrite_a=1)
    order = order - 1
    H = np.empty((len(K), rank), order="F")
    for column in range(rank):  # what lies above the diagonal is left over from K
        factor[:column, column] = 0.0
        H[order, column] = factor[:, column]
    return H, order[:rank]


def expansion_of(H: np.ndarray, pivots: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the coefficients of Hθ over all rows; only those of the pivots are not zero."""
    coef = np.zeros((len(H), theta.shape[1]))
    if len(pivots) > 0:  # SciPy 1.13 solves no empty systems
        factor = H.T.take(pivots, axis=1).T  # rows of H, read in the order of memory
        coef[pivots] = solve_triangular(factor, theta, lower=True, trans="T")
    return coef
