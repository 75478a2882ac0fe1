"""Supervised candidates: least squares on the labelled rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from ..kernels import GaussianKernel, Kernel, LinearKernel, resolve_gamma
from ..spaces import KernelExpansion, LinearFunction, Predictor, landmark_features
from . import limits
from .families import NO_SAMPLE, SUPERVISED, LinearSetting, kernel_reduction
from .labels import Labels


def kernel_of(gamma: float | None) -> Kernel:
    """Return the Gaussian kernel of a width for scaled rows, or the linear one for None."""
    return LinearKernel() if gamma is None else GaussianKernel(gamma)


class SupervisedFamily:
    """Least squares on the labelled rows alone, with a linear or Gaussian kernel.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    """

    def __init__(self, X: Any) -> None:
        self.X = X

    @cached_property
    def _median(self) -> float:
        return resolve_gamma("median", self.X)

    def _gamma(self, width: float | None) -> float | None:
        return None if width is None else width * self._median

    def candidates(self, labels: Labels, sample: np.ndarray) -> Iterator[LinearSetting]:
        """Yield the settings."""
        for width in (None, *limits.WIDTHS):
            kernel = kernel_of(self._gamma(width))
            rows = kernel.prepare(self.X[labels.index])
            R = kernel.block(rows, rows)
            on_sample = kernel.block(kernel.prepare(self.X[sample]), rows)
            on_sample = np.column_stack([on_sample, np.ones(len(sample))])
            for reg in limits.REGS:
                settings = {"width": width, "reg": reg}
                yield LinearSetting(SUPERVISED, settings, kernel_reduction(R), reg, on_sample)

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Predictor]:
        """Return the values on all rows, and the function, of one setting fitted to labels."""
        gamma = self._gamma(settings["width"])
        kernel, at = kernel_of(gamma), self.X[labels.index]
        if len(labels.index) > limits.MOST_LABELS:
            explicit = self._fit_features(gamma, at, settings["reg"], labels)
            return explicit.values(self.X), explicit
        rows = kernel.prepare(at)
        reduction = kernel_reduction(kernel.block(rows, rows))
        cell = LinearSetting(SUPERVISED, settings, reduction, settings["reg"], NO_SAMPLE)
        c, b = cell.solve(labels, slice(None))
        if gamma is None:
            function: Predictor = LinearFunction(np.asarray(at.T @ c), b)
        else:
            function = KernelExpansion(kernel, at, c, b)
        return function.values(self.X), function

    @staticmethod
    def _fit_features(gamma: float | None, at: Any, reg: float, labels: Labels) -> Predictor:
        """Return the function of the columns, or of landmarks, for very many labels."""
        features, back, centres = at, None, None
        if gamma is not None:
            centres = at[np.linspace(0, at.shape[0] - 1, limits.LANDMARKS).astype(int)]
            found = landmark_features(kernel_of(gamma), at, centres)
            features, back = found.values, found.back
        ridge = Ridge(alpha=reg).fit(features, labels.targets, sample_weight=labels.weights)
        coef = ridge.coef_.reshape(labels.targets.shape[1], -1).T
        intercept = np.asarray(ridge.intercept_).reshape(-1)
        if back is None:
            return LinearFunction(coef, intercept)
        return KernelExpansion(kernel_of(gamma), centres, back @ coef, intercept)
