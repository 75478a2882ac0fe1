"""Candidates by margin: semi-supervised support vector machines.

They are not convex and not linear in the labels, so every fold is a fit of its own. The classes of
all folds are columns of one block, which share the products with the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..estimators import S3VC
from ..estimators.margin import margin_stages
from ..kernels.gram import gram_operator
from ..plan.default import MARGIN_WORK, margin_columns
from ..solvers.lbfgs import affordable_memory
from ..solvers.s3vm import MarginProblem
from ..solvers.stopping import decisions
from ..spaces.affine import AffineSpace
from ..spaces.kernel_space import KernelSpace, LinearSpace, Space
from ..spaces.predictors import KernelExpansion, LinearFunction, Predictor
from . import limits
from .candidate_settings import MARGIN, SETTINGS, Fold, FoldValues, kernel_of_width
from .labels import Labels, expected_shares


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
        function = self.fit_parts(settings, labels, [np.arange(len(labels.index))])
        return function.values(self.X), function

    def fit_parts(
        self, settings: dict[str, Any], labels: Labels, parts: Sequence[np.ndarray]
    ) -> Predictor:
        """Fit one setting to parts of the labels; return one function with the columns of each.

        For each part the rows of the other labels count as unlabelled. ``parts`` are indices among
        the labels.
        """
        X, n = self.X, self.X.shape[0]
        rows = np.arange(n)
        if n > limits.MARGIN_ROWS:
            drawn = np.random.default_rng(self.seed).choice(n, limits.MARGIN_ROWS, replace=False)
            rows = np.union1d(labels.index, drawn)
            X = X[rows]
        kernel = kernel_of_width(settings["width"], self.median_gamma)
        prepared = kernel.prepare(X)
        space: Space = (
            LinearSpace(prepared.data)
            if kernel.is_linear
            else KernelSpace(gram_operator(kernel, prepared, "float64"))
        )
        labelled, columns = np.searchsorted(rows, labels.index), Columns.of(labels, parts)
        coef = np.zeros((space.n_coef, len(columns.ratio)))
        intercept = np.full(len(columns.ratio), -1.0)  # of a class without labels
        n_coordinates = space.n_coef * (2 if space.is_expansion else 1)
        for block in columns.blocks(margin_columns(len(rows), n_coordinates)):
            part = columns.take(block)
            coef[:, block], intercept[block] = solve(space, labelled, part, settings["reg"])
        if kernel.is_linear:
            return LinearFunction(coef, intercept)
        return KernelExpansion(kernel, X, coef, intercept)


@dataclass(frozen=True)
class Columns:
    """The classes of all parts of the labels as columns, those of the first part first.

    Attributes
    ----------
    targets, weights : ndarray of shape (l, columns)
        ±1, and weights that sum to one in each column; zero where the part lacks the label.
    ratio : ndarray of shape (columns,)
        Expected share of positive rows; zero where the part has no label of the class.
    """

    targets: np.ndarray
    weights: np.ndarray
    ratio: np.ndarray

    @classmethod
    def of(cls, labels: Labels, parts: Sequence[np.ndarray]) -> Columns:
        """Return the columns of parts, which are given by indices among the labels."""
        l, c = labels.targets.shape
        codes = decisions(labels.targets).astype(int)
        weights, shares = np.zeros((l, len(parts))), np.zeros((len(parts), max(c, 2)))
        for j, part in enumerate(parts):
            weights[part, j] = labels.take(part).even_weights
            shares[j] = expected_shares(codes[part], max(c, 2), labels.shares)
        weights = np.repeat(weights / weights.sum(axis=0), c, axis=1)
        return cls(np.tile(labels.targets, len(parts)), weights, shares[:, -c:].ravel())

    def take(self, index: np.ndarray) -> Columns:
        """Return some of the columns."""
        return Columns(self.targets[:, index], self.weights[:, index], self.ratio[index])

    def blocks(self, size: int) -> list[np.ndarray]:
        """Return the columns of classes with a label as blocks of at most ``size``."""
        index = np.flatnonzero(self.ratio)
        return np.array_split(index, -(-len(index) // size))


def solve(
    space: Space, labelled: np.ndarray, columns: Columns, reg: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients and intercepts of an S3VC in all columns.

    A row without a label in a column is an unlabelled row there. Without any it is the supervised
    model.
    """
    n, size = space.gram.shape[0], len(columns.ratio)
    unlabelled = np.ones((n, size))
    unlabelled[labelled] = columns.weights == 0.0
    supervised = not unlabelled.any()
    if supervised:
        full = AffineSpace(space, columns.weights[np.argsort(labelled), 0])
    else:
        unlabelled /= unlabelled.sum(axis=0)
        full = AffineSpace(space, unlabelled, 2.0 * columns.ratio - 1.0)
    settings = S3VC()
    problem = MarginProblem(
        space=full,
        labelled=labelled,
        unlabelled=np.arange(n),
        targets=columns.targets,
        labelled_weights=columns.weights,
        unlabelled_weights=unlabelled,
        reg=np.full(size, reg),
        reg_unlabeled=np.full(size, settings.reg_unlabeled),
        memory=affordable_memory(n, full.n_coordinates, size, MARGIN_WORK),
    )
    stages = margin_stages(settings, problem)
    last = next(stages) if supervised else deque(stages, maxlen=1)[0]
    return full.coef_and_intercept(last.minimum.vectors, np.arange(size))


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

    def values_of_folds(self, labels: Labels, folds: Sequence[Fold]) -> list[FoldValues]:
        """Return what a model of each fold predicts for held-out labels and for the sample."""
        if not folds:
            return []
        X = self.margin_family.X
        function = self.margin_family.fit_parts(
            self.settings, labels, [train for train, _ in folds]
        )
        on_labelled = np.split(function.values(X[labels.index]), len(folds), axis=1)
        on_sample = np.split(function.values(X[self.sample]), len(folds), axis=1)
        tests = [test for _, test in folds]
        return [(f[test], g) for f, test, g in zip(on_labelled, tests, on_sample, strict=True)]
