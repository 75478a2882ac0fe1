"""Sums of kernel functions at new rows, which is what most predictions are.

Kernel values are computed in blocks and not stored. Must not know what the sums mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.device import block_entries, like, map_where, on_host, to_device
from ..arrays.threads import row_blocks
from .functions import Kernel

#: Number of kernel values computed at a time, which limits a prediction to 16 MB per thread.
_BLOCK_ENTRIES = 2_000_000


def evaluate(kernel: Kernel, X_new: Any, X: Any, coef: np.ndarray) -> np.ndarray:
    """Return Σ coefᵢ k(xᵢ, x) for new rows x, shape (n_new, c), in blocks on all threads.

    Rows of X whose coefficients are all zero are skipped, so that the cost of a prediction is that
    of the support of the expansion.
    """
    support = np.flatnonzero(np.any(coef != 0, axis=1))
    if len(support) == 0 or X_new.shape[0] == 0:
        return np.zeros((X_new.shape[0], coef.shape[1]))
    points = X[support]
    if kernel.uses_device and not (sp.issparse(X_new) or sp.issparse(points)):
        X_new, points = to_device(X_new), to_device(points)
    new, train = kernel.prepare(X_new), kernel.prepare(points)
    if kernel.is_linear:
        return np.asarray(new.data @ (train.data.T @ coef[support]))
    coef = like(train.data, coef[support])
    at_once = block_entries(new.data, _BLOCK_ENTRIES)
    blocks = row_blocks(len(new), max(1, at_once // len(support)))

    def of_block(rows: slice) -> np.ndarray:
        return on_host(kernel.block(new[rows], train) @ coef)

    return np.concatenate(map_where(new.data, of_block, blocks))
