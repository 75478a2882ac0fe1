"""Candidates by margin: semi-supervised support vector machines.

They are not convex and not linear in the labels, so they are fitted again for each fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..estimators import S3VC
from ..solvers.stopping import decisions
from ..spaces.predictors import KernelExpansion, LinearFunction, Predictor
from . import limits
from .candidate_settings import MARGIN, SETTINGS, FoldValues, kernel_of_width
from .labels import Labels


@dataclass(frozen=True)
class MarginFamily:
    """The semi-supervised support vector machine, which looks for a gap between the classes.

    Above `MARGIN_ROWS` it sees all labelled rows and a sample of the others.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    median_gamma : float
        Width of the Gaussian kernel that is the unit of all widths.
    seed : int
        Seed of the sample of rows.
    """

    X: Any
    median_gamma: float
    seed: int

    def candidates(self, labels: Labels, sample: np.ndarray) -> Iterator[MarginSetting]:
        """Yield the settings."""
        for settings in SETTINGS[MARGIN]:
            yield MarginSetting(self, settings, sample)

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Predictor]:
        """Fit one setting to labels; return the values on all rows, and the function."""
        function = self.fit_some(settings, labels, slice(None))
        return function.values(self.X), function

    def fit_some(
        self, settings: dict[str, Any], labels: Labels, index: np.ndarray | slice
    ) -> Predictor:
        """Fit one setting to some of the labels; the rows of the others count as unlabelled."""
        X, n = self.X, self.X.shape[0]
        rows = np.arange(n)
        if n > limits.MARGIN_ROWS:
            drawn = np.random.default_rng(self.seed).choice(n, limits.MARGIN_ROWS, replace=False)
            rows = np.union1d(labels.index, drawn)
            X = X[rows]
        used = labels.take(index)
        classes, codes = np.unique(decisions(used.targets).astype(int), return_inverse=True)
        y, weights = np.full(len(rows), -1), np.ones(len(rows))
        position = np.searchsorted(rows, used.index)
        y[position], weights[position] = codes, used.even_weights
        ratio = np.ones(len(classes)) if used.shares is None else used.shares[classes]
        linear = settings["width"] is None
        model = S3VC(
            kernel="linear" if linear else "rbf",
            gamma=1.0 if linear else settings["width"] * self.median_gamma,
            reg=settings["reg"],
            positive_ratio=ratio / ratio.sum(),
            calibration_folds=0,
            random_state=self.seed,
        )
        with warnings.catch_warnings():  # a poor minimum will have a poor score
            warnings.simplefilter("ignore")
            model.fit(X, y, sample_weight=weights)
        coef, intercept = (model.coef_ if linear else model.dual_coef_).T, model.intercept_
        if coef.shape[1] < used.targets.shape[1]:
            coef, intercept = _all_columns(coef, intercept, classes, used.targets.shape[1])
        if linear:
            return LinearFunction(coef, intercept)
        points = self.X if len(rows) == n else model.X_fit_
        kernel = kernel_of_width(settings["width"], self.median_gamma)
        return KernelExpansion(kernel, points, coef, intercept)


@dataclass(frozen=True)
class MarginSetting:
    """One setting of the margin family.

    Attributes
    ----------
    margin_family : MarginFamily
        The family.
    settings : dict
        Parameters.
    sample : ndarray of int
        Rows on which fold models are compared.
    """

    margin_family: MarginFamily
    settings: dict[str, Any]
    sample: np.ndarray

    family: ClassVar[str] = MARGIN

    def fold_values(self, labels: Labels, train: np.ndarray, test: np.ndarray) -> FoldValues:
        """Return what a model of some labels predicts for held-out ones and for the sample."""
        X = self.margin_family.X
        function = self.margin_family.fit_some(self.settings, labels, train)
        return function.values(X[labels.index[test]]), function.values(X[self.sample])


def _all_columns(
    coef: np.ndarray, intercept: np.ndarray, classes: np.ndarray, n_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients and intercepts with a column per class; -1 for a class without labels."""
    if len(classes) == 2:
        coef, intercept = np.column_stack([-coef, coef]), np.append(-intercept, intercept)
    whole, intercepts = np.zeros((len(coef), n_columns)), np.full(n_columns, -1.0)
    whole[:, classes], intercepts[classes] = coef, intercept
    return whole, intercepts
