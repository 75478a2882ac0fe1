"""Supervised candidates: least squares on the labelled rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from ..spaces.features import landmark_features
from ..spaces.predictors import KernelExpansion, LinearFunction, Predictor
from . import limits
from .candidate_settings import (
    SETTINGS,
    SUPERVISED,
    LinearSetting,
    kernel_of_width,
    kernel_reduction,
)
from .labels import Labels


@dataclass(frozen=True)
class SupervisedFamily:
    """Least squares on the labelled rows alone, with a linear or Gaussian kernel.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    median_gamma : float
        Width of the Gaussian kernel that is the unit of all widths.
    """

    X: Any
    median_gamma: float

    def candidates(self, labels: Labels, sample: np.ndarray) -> Iterator[LinearSetting]:
        """Yield the settings."""
        for width, group in groupby(SETTINGS[SUPERVISED], itemgetter("width")):
            kernel = kernel_of_width(width, self.median_gamma)
            rows = kernel.prepare(self.X[labels.index])
            reduction = kernel_reduction(kernel.block(rows, rows))
            on_sample = kernel.block(kernel.prepare(self.X[sample]), rows)
            on_sample = np.column_stack([on_sample, np.ones(len(sample))])
            for settings in group:
                yield LinearSetting(SUPERVISED, settings, reduction, on_sample)

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Predictor]:
        """Fit one setting to labels; return the values on all rows, and the function."""
        explicit = len(labels.index) > limits.MOST_LABELS
        function = (self.fit_features if explicit else self._fit_kernel)(settings, labels)
        return function.values(self.X), function

    def _fit_kernel(self, settings: dict[str, Any], labels: Labels) -> Predictor:
        """Return the function from the kernel matrix of the labelled rows."""
        kernel = kernel_of_width(settings["width"], self.median_gamma)
        labelled = self.X[labels.index]
        rows = kernel.prepare(labelled)
        reduction = kernel_reduction(kernel.block(rows, rows))
        c, b = LinearSetting(SUPERVISED, settings, reduction).solve(labels)
        if settings["width"] is None:
            return LinearFunction(np.asarray(labelled.T @ c), b)
        return KernelExpansion(kernel, labelled, c, b)

    def fit_features(self, settings: dict[str, Any], labels: Labels) -> Predictor:
        """Return the function of the columns, or of landmarks, for very many labels."""
        labelled = self.X[labels.index]
        if settings["width"] is None:
            return LinearFunction(*_ridge(labelled, settings["reg"], labels))
        kernel = kernel_of_width(settings["width"], self.median_gamma)
        some = np.linspace(0, labelled.shape[0] - 1, limits.LANDMARKS).astype(int)
        landmarks = landmark_features(kernel, labelled, labelled[some])
        coef, intercept = _ridge(landmarks.values, settings["reg"], labels)
        return KernelExpansion(kernel, labelled[some], landmarks.back @ coef, intercept)


def _ridge(features: Any, reg: float, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of features, shape (features, c), and the intercepts."""
    ridge = Ridge(alpha=reg).fit(features, labels.targets, sample_weight=labels.weights)
    coef = ridge.coef_.reshape(labels.targets.shape[1], -1).T
    return coef, np.asarray(ridge.intercept_).reshape(-1)
