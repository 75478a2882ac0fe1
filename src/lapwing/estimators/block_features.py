"""Features of rows in blocks: their columns, or kernel values at landmarks.

Landmarks are those that a fit in memory would draw. The width of a kernel comes from a sample of
the rows. Knows neither labels nor solvers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.functions import Kernel
from ..spaces.feature_blocks import FeatureBlocks, KernelRows, LandmarkRows
from ..spaces.function import Function
from ..spaces.kmeans import kmeans_landmarks, kmeans_rows
from ..spaces.predictors import Predictor
from .kernel_choice import resolve_kernel
from .manifold import expansion_predictor
from .rows import Rows, RowSource


@dataclass(frozen=True)
class BlockFeatures:
    """Features of rows in blocks, and what becomes of functions of them.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    rows : FeatureBlocks
        Computes the features.
    landmarks : LandmarkRows or None
        Landmarks, if there are any.
    """

    kernel: Kernel
    rows: FeatureBlocks
    landmarks: LandmarkRows | None

    def model(self, f: Function) -> tuple[Predictor, dict[str, Any]]:
        """Return the function of any row, and fitted attributes."""
        kernel, coef, points = self.kernel, f.coef, None
        attributes: dict[str, Any] = {"kernel_": kernel, "intercept_": f.intercept}
        if self.landmarks is not None:
            coef, points = self.landmarks.back @ coef, self.landmarks.points
            attributes["landmarks_"] = points
            if kernel.is_linear:
                coef = np.asarray(kernel.prepare(points).data.T @ coef)
        attributes["coef_" if kernel.is_linear else "dual_coef_"] = coef.T
        if not kernel.is_linear:
            attributes["support_"] = np.flatnonzero(np.any(coef != 0, axis=1))
        return expansion_predictor(kernel, points, coef, f.intercept), attributes


def sample_size(settings: Any, n: int) -> int:
    """Return the number of rows that are in memory for landmarks and for the kernel."""
    return 0 if settings.n_landmarks is None else min(n, kmeans_rows(settings.n_landmarks))


def choose_features(
    settings: Any, rows: Rows, source: RowSource, rng: np.random.Generator
) -> BlockFeatures:
    """Return the features that an S3VC searches functions of.

    Parameters
    ----------
    settings : object
        The estimator; ``kernel``, ``n_landmarks``, ``landmarks`` and the parameters of the kernel
        are read.
    rows : Rows
        The columns.
    source : RowSource
        Reads the rows.
    rng : numpy.random.Generator
        Draws landmarks.
    """
    d, blocks, size = rows.n_features, source.blocks, source.row_size
    if settings.n_landmarks is None:
        kernel = resolve_kernel(settings, np.zeros((1, d)))
        assert kernel is not None
        return BlockFeatures(kernel, FeatureBlocks(blocks, KernelRows(kernel), d, size), None)
    n, m = blocks.n_rows, int(settings.n_landmarks)
    drawn = np.empty(0, dtype=np.int64)
    if settings.landmarks == "random":
        drawn = np.sort(rng.choice(n, m, replace=False))
    most = sample_size(settings, n)
    chosen = np.arange(n) if most == n else np.sort(rng.choice(n, most, replace=False))
    index = np.union1d(chosen, drawn)
    X = blocks.take(index)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    sample = X[np.searchsorted(index, chosen)]
    points = X[np.searchsorted(index, drawn)] if len(drawn) else kmeans_landmarks(sample, m, rng)
    kernel = resolve_kernel(settings, sample)
    assert kernel is not None
    landmarks = LandmarkRows.of(kernel, points)
    r = landmarks.back.shape[1]
    features = FeatureBlocks(blocks, landmarks, r, size + m + r)
    features.passes += 1
    return BlockFeatures(kernel, features, landmarks)
