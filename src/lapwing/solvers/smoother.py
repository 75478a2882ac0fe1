"""Least squares with a quadratic penalty, and its leave-one-out values.

The classifiers over anchors and over eigenfunctions solve this problem with different features.

Notation: Φ (l, m) features of the labelled rows, w their weights, Y (l, columns) their targets,
R (m, m) the penalty, a (m, columns) the solution, f = Φa, h leverages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from ..arrays.threads import map_blocks, row_blocks

#: Ridge relative to the mean of the system's diagonal. It determines what neither labels nor
#: penalty do; iterative refinement removes its effect elsewhere.
_RIDGE = 1e-10
_REFINEMENTS = 3
#: Smallest 1 - h above rounding. Below it, the value of a row without its label is undetermined.
_UNDECIDED = 1e-6
#: Rows of one block of leverages.
_BLOCK = 512


@dataclass(frozen=True)
class Smoother:
    """The minimiser of Σ w(y - φᵀa)² + aᵀRa, which is a = (ΦᵀWΦ + R)⁻¹ΦᵀWY.

    If the system is singular, a is close to the solution of least norm.

    Attributes
    ----------
    coef : ndarray of shape (m, columns)
        The solution.
    held_out : ndarray of shape (l, columns)
        Leave-one-out values of the labelled rows, (f - hy) / (1 - h).
    features : ndarray or CSR matrix of shape (l, m)
        Φ.
    inverse : ndarray of shape (m, m)
        Inverse of the system.
    held_out_residuals : ndarray of shape (l, columns)
        Weighted leave-one-out residuals w(y - f) / (1 - h).
    """

    coef: np.ndarray
    held_out: np.ndarray
    features: np.ndarray | sp.csr_array
    inverse: np.ndarray
    held_out_residuals: np.ndarray

    def held_out_product(self, q: np.ndarray) -> np.ndarray:
        """Return qᵀa for the l solutions without one label each, shape (l, columns)."""
        change = (self.features @ (self.inverse @ q))[:, None] * self.held_out_residuals
        return q @ self.coef - change


def fit_smoother(
    features: np.ndarray | sp.csr_array,
    targets: np.ndarray,
    weights: np.ndarray,
    penalty: np.ndarray,
) -> Smoother:
    """Solve the penalised least-squares problem. Cost: 3m³ + lm² operations; memory 4m²."""
    weighted = sp.diags_array(weights) @ features
    system = np.asarray(penalty + features.T @ weighted)
    identity = np.eye(len(system))
    ridge = _RIDGE * max(float(np.trace(system)) / len(system), 1e-300)
    inverse = cho_solve(cho_factor(system + ridge * identity), identity)
    right = weighted.T @ targets
    coef = inverse @ right
    for _ in range(_REFINEMENTS):
        coef += inverse @ (right - system @ coef)
    others = 1.0 - weights * _quadratic_form(features, inverse)
    residuals, held_out = _leave_one_out(targets, features @ coef, others)
    return Smoother(coef, held_out, features, inverse, weights[:, None] * residuals)


@dataclass(frozen=True)
class Ridge:
    """The minimiser θ of ‖θ‖² + Σ w(y − φᵀθ)².

    Attributes
    ----------
    coef : ndarray of shape (r, c)
        θ.
    held_out : ndarray of shape (l, c)
        Leave-one-out values of the labelled rows.
    noise_root : ndarray of shape (r, k)
        AAᵀ is the covariance of θ for targets with errors of variance w̄/w, w̄ the mean of w.
    """

    coef: np.ndarray
    held_out: np.ndarray
    noise_root: np.ndarray

    def gains(self, features: np.ndarray) -> np.ndarray:
        """Return by which factor errors of targets are multiplied in the values of rows."""
        return np.linalg.norm(features @ self.noise_root, axis=1)


def fit_ridge(features: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> Ridge:
    """Return the solution for features of shape (l, r) and targets of shape (l, c).

    Uses singular values, which are accurate even if some features are far larger than others.
    Cost: of the order of l·r² operations.
    """
    root = np.sqrt(weights)[:, None]
    U, sizes, Vt = np.linalg.svd(root * features, full_matrices=False)
    share = sizes**2 / (1.0 + sizes**2)
    projected = U.T @ (root * targets)
    back = Vt.T * (sizes / (1.0 + sizes**2))
    others = 1.0 - (U**2) @ share
    held_out = _leave_one_out(targets, U @ (share[:, None] * projected) / root, others)[1]
    return Ridge(back @ projected, held_out, back * np.sqrt(weights.mean()))


def _leave_one_out(
    targets: np.ndarray, fitted: np.ndarray, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return leave-one-out residuals and values for f and 1 - h; zero if undetermined."""
    known = others > _UNDECIDED
    residuals = (targets - fitted) / np.where(known, others, np.inf)[:, None]
    return residuals, np.where(known[:, None], targets - residuals, 0.0)


def _quadratic_form(features: np.ndarray | sp.csr_array, A: np.ndarray) -> np.ndarray:
    """Return φᵀAφ of every row."""

    def of_rows(rows: slice) -> np.ndarray:
        part = features[rows]
        product = part @ A
        if isinstance(part, np.ndarray):
            return np.einsum("ij,ij->i", part, product)
        return np.asarray(part.multiply(product).sum(axis=1)).ravel()

    return np.concatenate(map_blocks(of_rows, row_blocks(features.shape[0], _BLOCK)))
