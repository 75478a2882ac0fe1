"""Inverses of symmetric positive definite maps, by conjugate gradients on blocks of columns.

The columns share one Krylov space, so a block needs fewer products than separate columns. Nothing
here knows where the map comes from. Preconditioners are applied by the caller, as a symmetric split
on both sides.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .base import Operator

#: Relative residual of the columns of an inverse, and the largest number of products.
_TOLERANCE = 1e-9
_MAX_PRODUCTS = 5_000


def block_cg(
    product: Callable[[np.ndarray], np.ndarray], B: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield approximations X of A⁻¹B and their residuals B − AX. Cost: one product each.

    The block method of Dubrulle (2001), which keeps the residuals orthonormal by QR and therefore
    handles linearly dependent columns of B. It ends when rounding prevents further steps.

    Parameters
    ----------
    product : callable
        Applies A, symmetric positive definite, to a block.
    B : ndarray of shape (n, c)
        Right-hand sides.
    """
    X = np.zeros(B.shape)
    Q, C = np.linalg.qr(B)
    P, S = np.zeros(Q.shape), np.zeros((len(C), len(C)))
    yield X, B
    while True:
        P = Q + P @ S.T
        W = product(P)
        inner = P.T @ W
        try:
            factor = cho_factor((inner + inner.T) / 2.0, check_finite=False)
        except LinAlgError:
            return
        X = X + P @ cho_solve(factor, C, check_finite=False)
        Q, S = np.linalg.qr(Q - W @ cho_solve(factor, np.eye(len(C)), check_finite=False))
        C = S @ C
        yield X, Q @ C


class InverseOperator(Operator):
    """A⁻¹, applied by conjugate gradients with the diagonal of A as preconditioner.

    Parameters
    ----------
    base : Operator
        A, symmetric positive definite.
    diagonal : ndarray of shape (n,)
        Its diagonal, or an estimate of it; positive.
    """

    def __init__(self, base: Operator, diagonal: np.ndarray) -> None:
        super().__init__(base.shape[0])
        self.base = base
        self._root = np.sqrt(diagonal)[:, None]
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._lock = threading.Lock()

    def submatrix(self, rows: np.ndarray, columns: np.ndarray | slice) -> np.ndarray:
        """Return some entries. The last rows are cached, for further columns of the same rows."""
        with self._lock:
            if self._last is None or not np.array_equal(self._last[0], rows):
                self._last = rows, self.columns(rows)
            solved = self._last[1]
        return solved[columns].T.copy()

    def _apply(self, V: np.ndarray) -> np.ndarray:
        root = self._root
        B = V / root
        goal = _TOLERANCE * np.linalg.norm(B, axis=0)
        steps = block_cg(lambda P: (self.base @ (P / root)) / root, B)
        for products, (X, residual) in enumerate(steps):
            if (np.linalg.norm(residual, axis=0) <= goal).all():
                return X / root
            if products >= _MAX_PRODUCTS:
                break
        raise LinAlgError(
            f"conjugate gradients did not converge in {products} products with a sparse "
            "matrix: it is close to singular"
        )
