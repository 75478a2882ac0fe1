"""Landmarks, found as planned: k-means centres, random rows, or directions of kernel PCA.

Knows neither labels nor what the landmarks are used for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.blocks import RowBlocks
from ..kernels.functions import Kernel
from ..kernels.gram import gram_matrix
from ..plan.base import Plan
from ..spaces.features import Landmarks, landmark_features, principal_features, submatrix_features
from ..spaces.kmeans import kmeans_landmarks, kmeans_rows
from ..spaces.prototypes import Similarities
from .kernel_choice import resolve_local_kernel
from .rows import other_rows
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
    settings: Any, plan: Plan, blocks: RowBlocks, seed: int, first: np.ndarray | None = None
) -> Similarities:
    """Return the similarities of rows to landmarks, which are as many rows as planned.

    ``settings`` is an estimator, of which the parameters of the kernel are read; widths that come
    from the data are those of at most `kmeans_rows` evenly spaced rows. The rows ``first``, given
    by ascending indices, come first, and the others are drawn at random. Cost: a pass over the
    rows.
    """
    first, n = np.empty(0, dtype=int) if first is None else first, blocks.n_rows
    rng, m = np.random.default_rng(seed), plan.n_points
    drawn = np.sort(rng.choice(n - len(first), m - len(first), replace=False))
    index = np.concatenate([first, other_rows(drawn, first)])
    spread = np.unique(np.linspace(0, n - 1, min(n, kmeans_rows(m))).astype(int))
    taken = np.union1d(index, spread)
    X = blocks.take(taken)
    rows = X[np.searchsorted(taken, index)]
    points = rows.toarray() if sp.issparse(rows) else np.array(rows)
    sample = X if len(taken) == len(spread) else X[np.searchsorted(taken, spread)]
    return Similarities(resolve_local_kernel(settings, sample, points), points)
