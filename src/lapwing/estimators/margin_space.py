"""The space that S3VC searches, built as it was planned: of the kernel, or of landmarks.

Knows neither labels nor solvers, and decides nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels import Kernel, dense_operator, gram_operator
from ..operators import DenseOperator
from ..plan import Plan
from ..spaces import Landmarks, LinearSpace, Space, landmark_features, principal_features
from .manifold import build_space, make_landmarks
from .run import WarmStart


def margin_space(
    plan: Plan, X: Any, landmarks: str, rng: np.random.Generator, start: WarmStart | None
) -> tuple[Space, Landmarks | None]:
    """Return the space of a plan, and its landmarks if it has any.

    Parameters
    ----------
    plan : Plan
        From `plan_margin`.
    X : array or CSR matrix
        Checked rows, or their Gram matrix.
    landmarks : {"random", "kmeans", "pca"}
        How landmarks are found.
    rng : numpy.random.Generator
        Draws the landmarks.
    start : WarmStart or None
        Has the centres of the last fit to the same rows, if there are any.
    """
    if plan.space != "landmarks":
        return build_space(plan, X, exactly=True)[0], None
    found = _landmarks(plan, X, landmarks, rng, start)
    return LinearSpace(found.features.values), found


def _landmarks(
    plan: Plan, X: Any, landmarks: str, rng: np.random.Generator, start: WarmStart | None
) -> Landmarks:
    if landmarks == "pca":
        return Landmarks(principal_features(_gram(plan.kernel, X), plan.n_points, rng))
    if landmarks == "kmeans" or plan.kernel is None:
        return make_landmarks(plan, X, rng, start)
    rows = np.sort(rng.choice(X.shape[0], plan.n_points, replace=False))
    return Landmarks(landmark_features(plan.kernel, X, X[rows]), rows)


def _gram(kernel: Kernel | None, X: Any) -> np.ndarray:
    if kernel is None:
        return dense_operator(X).array
    gram = gram_operator(kernel, kernel.prepare(X), "float64")
    assert isinstance(gram, DenseOperator)
    return gram.array
