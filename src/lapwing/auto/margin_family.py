"""Candidates by margin: semi-supervised support vector machines.

They are not convex and are fitted again for each fold.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..estimators import S3VC
from ..kernels import resolve_gamma
from ..solvers import decisions
from ..spaces import KernelExpansion, LinearFunction, Predictor
from . import limits
from .labels import Labels
from .supervised_family import kernel_of


@dataclass
class MarginFamily:
    """The semi-supervised support vector machine, which wants a gap between the classes.

    Above `MARGIN_ROWS` it sees all labelled rows and a sample of the others.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    seed : int
        For the sample of rows.
    """

    X: Any
    seed: int

    def settings(self) -> list[dict[str, Any]]:
        """Return what is tried."""
        return [{"width": width, "reg": reg} for width, reg in limits.MARGIN_KERNELS]

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Predictor]:
        """Return the values on all rows, and the function, of one setting fitted to labels."""
        function = self.fit_fold(settings, labels, slice(None))
        return function.values(self.X), function

    def fit_fold(
        self, settings: dict[str, Any], labels: Labels, index: np.ndarray | slice
    ) -> Predictor:
        """Return the function of one setting, fitted to some of the labels.

        The rows of the others count as unlabelled.
        """
        X, n = self.X, self.X.shape[0]
        rows = np.arange(n)
        if n > limits.MARGIN_ROWS:
            rng = np.random.default_rng(self.seed)
            drawn = rng.choice(n, limits.MARGIN_ROWS, replace=False)
            rows = np.union1d(labels.index, drawn)
            X = X[rows]
        used = labels.take(index)
        n_classes = max(used.targets.shape[1], 2)
        codes = decisions(used.targets).astype(int)
        y, weights = np.full(len(rows), -1), np.ones(len(rows))
        at = np.searchsorted(rows, used.index)
        y[at], weights[at] = codes, used.weights
        counts = np.bincount(codes, minlength=n_classes) + 1.0
        width = settings["width"]
        model = S3VC(
            kernel="linear" if width is None else "rbf",
            gamma=1.0 if width is None else width * self._median,
            reg=settings["reg"],
            positive_ratio=counts / counts.sum(),
            calibration_folds=0,
            random_state=self.seed,
        )
        with warnings.catch_warnings():  # a poor minimum will have a poor score
            warnings.simplefilter("ignore")
            model.fit(X, y, sample_weight=weights)
        if width is None:
            return LinearFunction(model.coef_.T, model.intercept_)
        points = self.X if len(rows) == n else model.X_fit_
        kernel = kernel_of(width * self._median)
        return KernelExpansion(kernel, points, model.dual_coef_.T, model.intercept_)

    @cached_property
    def _median(self) -> float:
        return resolve_gamma("median", self.X)
