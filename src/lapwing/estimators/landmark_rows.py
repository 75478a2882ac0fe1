"""Landmarks that are rows of the data, for graph methods in which they stand for all others.

Chooses the rows and the kernel; knows neither labels nor what the landmarks are for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels import Kernel
from ..plan import Plan
from .kernel_choice import resolve_local_kernel
from .parameters import check_count, check_gamma


@dataclass(frozen=True)
class LandmarkRows:
    """Landmarks, and the kernel that compares rows with them.

    Attributes
    ----------
    index : ndarray of int, shape (m,)
        Which rows they are.
    points : ndarray of shape (m, d)
        The landmarks, dense.
    kernel : Kernel
        The kernel, with its width.
    """

    index: np.ndarray
    points: np.ndarray
    kernel: Kernel


def check_landmark_parameters(settings: Any) -> None:
    """Refuse a number of landmarks that is none, and kernels that do not go with them."""
    check_count("n_landmarks", settings.n_landmarks)
    check_gamma(settings.gamma)
    if isinstance(settings.kernel, str) and settings.kernel == "precomputed":
        raise ValueError(
            "kernel='precomputed' is not offered here: pass the rows and a kernel function"
        )


def choose_landmarks(
    settings: Any, plan: Plan, X: Any, seed: int, first: np.ndarray | None = None
) -> LandmarkRows:
    """Return as many landmarks as planned: the rows ``first``, and others at random.

    ``settings`` is an estimator, of which the parameters of the kernel are read.
    """
    first = np.empty(0, dtype=int) if first is None else first
    others = np.setdiff1d(np.arange(X.shape[0]), first)
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.choice(others, plan.n_points - len(first), replace=False))
    index = np.concatenate([first, drawn])
    rows = X[index]
    points = rows.toarray() if sp.issparse(rows) else np.array(rows)
    return LandmarkRows(index, points, resolve_local_kernel(settings, X, points))
