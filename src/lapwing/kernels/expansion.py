"""Sums of kernel functions at new rows, which is what most predictions are.

Kernel values are computed in blocks and not stored. Must not know what the sums mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.threads import map_blocks, row_blocks
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
    new, train = kernel.prepare(X_new), kernel.prepare(X[support])
    coef = coef[support]
    if kernel.is_linear:
        return np.asarray(new.data @ (train.data.T @ coef))
    blocks = row_blocks(len(new), max(1, _BLOCK_ENTRIES // len(support)))
    return np.concatenate(map_blocks(lambda b: kernel.block(new[b], train) @ coef, blocks))
