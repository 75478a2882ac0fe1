"""The kernel that a user chose: made for the rows, and checked to be a valid one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.row_units import ORDINARY
from ..arrays.threads import map_blocks, row_blocks
from ..kernels.functions import Kernel, make_kernel
from ..spaces.prototypes import localised
from .parameters import is_word

#: Rows of the sample on which a kernel is checked to be positive semi-definite.
_PSD_ROWS = 300
#: Side of the tiles in which a Gram matrix is checked to be symmetric.
_TILE = 256


def resolve_kernel(settings: Any, X: Any, *, gamma: Any = None) -> Kernel | None:
    """Return the kernel of these rows, checked; None if X holds its values.

    Parameters
    ----------
    settings : object
        An estimator; ``kernel``, ``gamma``, ``degree`` and ``coef0`` are read.
    X : array or CSR matrix
        The rows, or their Gram matrix.
    gamma : float or str, optional
        Replaces that of the estimator.
    """
    if is_word(settings.kernel, "precomputed"):
        _check_gram(X)
        return None
    kernel = make_kernel(
        settings.kernel,
        X,
        gamma=settings.gamma if gamma is None else gamma,
        degree=settings.degree,
        coef0=settings.coef0,
    )
    check_kernel(kernel, X)
    return kernel


def resolve_local_kernel(settings: Any, X: Any, points: np.ndarray) -> Kernel:
    """Return the kernel where gamma may be "local", the width for these points."""
    local = is_word(settings.gamma, "local")
    kernel = resolve_kernel(settings, X, gamma="scale" if local else None)
    assert kernel is not None
    return localised(kernel, X, points) if local else kernel


def check_kernel(kernel: Kernel, X: Any) -> None:
    """Refuse a kernel that has values without meaning on a sample of the rows.

    Its values must be finite, of a size that can be computed with, and visibly positive
    semi-definite.
    """
    if kernel.is_linear or kernel.is_radial:
        return
    rows = kernel.prepare(X[_sample(X.shape[0])])
    with np.errstate(over="ignore", invalid="ignore"):
        K = kernel.block(rows, rows)
    largest = float(np.abs(K).max())
    if not largest <= ORDINARY[1]:
        size = f"up to {largest:.1e}" if np.isfinite(largest) else "that are NaN or infinite"
        raise ValueError(
            f"the kernel gives values {size}, with which double precision cannot compute: rescale "
            "the rows, gamma or coef0, or choose a smaller whole degree"
        )
    if not kernel.is_positive_semidefinite:
        if not np.allclose(K, K.T, atol=1e-8 * max(float(np.abs(K).max()), 1e-300)):
            raise ValueError("the kernel is not symmetric: k(a, b) must equal k(b, a)")
        _check_semidefinite(K)


def _check_gram(K: np.ndarray) -> None:
    """Refuse a matrix that is not symmetric or not positive semi-definite, tile by tile."""
    n = len(K)

    def compare(rows: slice) -> tuple[float, float]:
        asymmetry = 0.0
        for start in range(rows.start, n, _TILE):
            columns = slice(start, start + _TILE)
            difference = np.abs(K[rows, columns] - K[columns, rows].T)
            asymmetry = max(asymmetry, float(difference.max()))
        return asymmetry, float(np.abs(K[rows]).max())

    asymmetry, scale = np.max(map_blocks(compare, row_blocks(n, _TILE)), axis=0)
    if asymmetry > 1e-8 * scale:
        raise ValueError("the precomputed kernel is not symmetric: pass K with K equal to K.T")
    _check_semidefinite(K[np.ix_(*[_sample(n)] * 2)])


def _check_semidefinite(K: np.ndarray) -> None:
    values = np.linalg.eigvalsh((K + K.T) / 2.0)
    if values[0] < -1e-6 * max(abs(values[-1]), 1e-300):
        raise ValueError(
            f"the kernel is not positive semi-definite (eigenvalues from {values[0]:.3g} to "
            f"{values[-1]:.3g} on {len(K)} rows): use a valid kernel, or add a multiple of the "
            "identity to a precomputed one"
        )


def _sample(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, _PSD_ROWS).astype(int))
