"""Candidates with a manifold term: least squares with a Gaussian kernel and the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from ..arrays.threads import map_blocks
from ..graphs import KNNGraph
from ..solvers.reduction import BasisReductions, Reduction
from ..spaces.basis import Basis, kernel_basis, landmark_basis
from ..spaces.features import Landmarks, landmark_features
from ..spaces.predictors import KernelExpansion, Predictor
from . import limits
from .candidate_settings import MANIFOLD, MANIFOLD_WIDTH, SETTINGS, LinearSetting, kernel_of_width
from .labels import Labels


class ManifoldFamily:
    """Least squares with a Gaussian kernel and the manifold term.

    The functions are expansions over all rows up to `EXACT_ROWS`, above over landmarks.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    median_gamma : float
        Width of the Gaussian kernel that is the unit of all widths.
    graph : KNNGraph
        The graph of the rows.
    labelled : ndarray
        Rows that are landmarks in any case, unless they are many.
    seed : int
        Seed of the other landmarks.
    """

    def __init__(
        self, X: Any, median_gamma: float, graph: KNNGraph, labelled: np.ndarray, seed: int
    ) -> None:
        self.X, self.graph = X, graph
        self.labelled, self.seed = labelled, seed
        self.kernel = kernel_of_width(MANIFOLD_WIDTH, median_gamma)
        self._last: BasisReductions | None = None
        self._kept: dict[float, Reduction] = {}

    @cached_property
    def _basis(self) -> Basis:
        X = self.X
        if X.shape[0] <= limits.EXACT_ROWS:
            return kernel_basis(self.kernel, X)
        Z = X[self._landmarks()]
        landmarks = Landmarks(landmark_features(self.kernel, X, Z), centres=Z)
        return landmark_basis(landmarks, self.kernel, X)

    def _landmarks(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        first = self.labelled if len(self.labelled) <= limits.LANDMARKS // 2 else self.labelled[:0]
        others = np.setdiff1d(np.arange(self.X.shape[0]), first)
        return np.append(first, rng.choice(others, limits.LANDMARKS - len(first), replace=False))

    def _reductions(self, labels: Labels, ratios: Iterable[float]) -> dict[float, Reduction]:
        """Return the reductions to the labelled rows by ratio; those of the last labels are kept.

        Each takes one thread: several factorisations at a time are faster than one on all threads.
        """
        if self._last is None:
            self._last = BasisReductions(self._basis.H, self.graph.laplacian_, labels.index)
        elif not np.array_equal(self._last.labelled, labels.index):
            self._last, self._kept = self._last.to(labels.index), {}
        new = [ratio for ratio in ratios if ratio not in self._kept]
        self._kept.update(zip(new, map_blocks(self._last.at, new), strict=True))
        return self._kept

    def candidates(self, labels: Labels, sample: np.ndarray) -> Iterator[LinearSetting]:
        """Yield the settings."""
        H = self._basis.H[sample]
        groups = groupby(SETTINGS[MANIFOLD], itemgetter("ratio"))
        by_ratio = {ratio: list(group) for ratio, group in groups}
        reductions = self._reductions(labels, by_ratio)
        for ratio, group in by_ratio.items():
            on_sample = H @ reductions[ratio].coefficients
            on_sample[:, -1] = 1.0 - ratio * on_sample[:, -1]
            for settings in group:
                yield LinearSetting(MANIFOLD, settings, reductions[ratio], on_sample)

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Predictor]:
        """Fit one setting to labels; return the values on all rows, and the function."""
        ratio = settings["ratio"]
        reduction = self._reductions(labels, [ratio])[ratio]
        c, b = LinearSetting(MANIFOLD, settings, reduction).solve(labels)
        theta, values = reduction.expand(c, b)
        basis = self._basis
        points = self.X if basis.centres is None else basis.centres
        return values, KernelExpansion(self.kernel, points, basis.coef_of(theta), b)
