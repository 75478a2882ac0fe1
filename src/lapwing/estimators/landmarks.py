"""Landmarks, found as planned: k-means centres, random rows, or directions of kernel PCA.

Knows neither labels nor what the landmarks are used for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels.functions import Kernel
from ..kernels.gram import gram_matrix
from ..plan.base import Plan
from ..spaces.features import Landmarks, landmark_features, principal_features, submatrix_features
from ..spaces.kmeans import kmeans_landmarks
from ..spaces.prototypes import Similarities
from .kernel_choice import resolve_local_kernel
from .run import WarmStart


def check_landmarks(settings: Any) -> None:
    """Refuse a solver that cannot use landmarks."""
    if getattr(settings, "solver", "auto") == "pcg":
        raise ValueError(
            "solver='pcg' does not go with n_landmarks, where one small matrix gives the exact "
            "solution: use solver='auto', or n_landmarks=None"
        )


def make_landmarks(
    plan: Plan,
    X: Any,
    rng: np.random.Generator,
    start: WarmStart | None = None,
    method: str = "kmeans",
) -> Landmarks:
    """Return landmarks with the features of all rows.

    Parameters
    ----------
    plan : Plan
        Gives the kernel and the number of landmarks.
    X : array or CSR matrix
        Checked rows, or their Gram matrix.
    rng : numpy.random.Generator
        Draws the landmarks.
    start : WarmStart or None
        Has the centres of the last fit to the same rows, if there are any.
    method : {"kmeans", "random", "pca"}
        How landmarks are found. A precomputed kernel has no centres: "kmeans" is "random".
    """
    kernel, m = plan.kernel, plan.n_points
    if method == "pca":
        return Landmarks(principal_features(_gram_array(kernel, X), m, rng))
    if kernel is None or method == "random":
        rows = np.sort(rng.choice(X.shape[0], m, replace=False))
        if kernel is None:
            return Landmarks(submatrix_features(_gram_array(kernel, X), rows), rows)
        return Landmarks(landmark_features(kernel, X, X[rows]), rows)
    centres = None if start is None else start.centres
    if centres is None or len(centres) != m:
        centres = kmeans_landmarks(X, m, rng)  # which takes longer than the rest of a fit
    return Landmarks(landmark_features(kernel, X, centres), centres=centres)


def _gram_array(kernel: Kernel | None, X: Any) -> np.ndarray:
    if kernel is None:
        return np.asarray(X, dtype=np.float64)
    return gram_matrix(kernel, kernel.prepare(X))


def landmark_rows(
    settings: Any, plan: Plan, X: Any, seed: int, first: np.ndarray | None = None
) -> tuple[np.ndarray, Similarities]:
    """Return the indices of as many rows as planned, and the similarities of rows to them.

    ``settings`` is an estimator, of which the parameters of the kernel are read. The rows ``first``
    come first, and the others are drawn at random.
    """
    first = np.empty(0, dtype=int) if first is None else first
    others = np.setdiff1d(np.arange(X.shape[0]), first)
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.choice(others, plan.n_points - len(first), replace=False))
    index = np.concatenate([first, drawn])
    rows = X[index]
    points = rows.toarray() if sp.issparse(rows) else np.array(rows)
    return index, Similarities(resolve_local_kernel(settings, X, points), points)
