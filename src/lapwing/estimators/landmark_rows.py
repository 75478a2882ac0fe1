"""Landmarks that are rows of the data, for the graph methods that look at all others from there."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.memory import format_size, memory_budget
from ..arrays.threads import n_threads
from ..kernels import Kernel
from .base import draw_seed, local_kernel
from .checks import check_count, check_gamma

#: Matrices of landmarks by landmarks that are held at once, beside one for each thread.
_SQUARES = 8


class LandmarkRows:
    """The choice of the landmarks and of the kernel. See the public classes for the parameters."""

    # Set by __init__ of the public classes.
    n_landmarks: int
    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    random_state: Any
    memory_limit: Any

    landmarks_: np.ndarray
    kernel_: Kernel

    def _check_landmarks(self) -> None:
        check_count("n_landmarks", self.n_landmarks)
        check_gamma(self.gamma)
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' is not offered here: pass the rows and a kernel function"
            )

    def _choose_landmarks(self, X: Any, labelled: np.ndarray) -> np.ndarray:
        """Choose the rows, ``labelled`` ones first and others at random, and the kernel."""
        n = X.shape[0]
        m = min(max(self.n_landmarks, len(labelled)), n)
        needed, budget = 8 * (_SQUARES + n_threads()) * m**2, memory_budget(self.memory_limit)
        if needed > budget:
            raise MemoryError(
                f"{m} landmarks need {format_size(needed)} and memory_limit allows "
                f"{format_size(budget)}: lower n_landmarks, label fewer rows, or raise memory_limit"
            )
        others = np.setdiff1d(np.arange(n), labelled)
        rng = np.random.default_rng(draw_seed(self.random_state))
        drawn = np.sort(rng.choice(others, m - len(labelled), replace=False))
        index = np.concatenate([labelled, drawn])
        rows = X[index]
        self.landmarks_ = rows.toarray() if sp.issparse(rows) else np.array(rows)
        self.kernel_ = local_kernel(self, X, self.landmarks_)
        return index


__all__ = ["LandmarkRows"]
