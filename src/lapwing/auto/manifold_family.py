"""Candidates with a manifold term: least squares with a Gaussian kernel and the graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..graphs import KNNGraph
from ..kernels import Kernel, resolve_gamma
from ..solvers import BasisReductions
from ..spaces import (
    Basis,
    KernelExpansion,
    Landmarks,
    Predictor,
    kernel_basis,
    landmark_basis,
    landmark_features,
)
from . import limits
from .families import MANIFOLD, NO_SAMPLE, LinearSetting
from .labels import Labels
from .supervised_family import kernel_of


class ManifoldFamily:
    """Least squares with a Gaussian kernel and the manifold term.

    Up to `EXACT_ROWS` over all rows, above over landmarks.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    graph : KNNGraph
        The graph of the rows.
    labelled : ndarray
        Rows that are landmarks in any case, unless they are many.
    seed : int
        For the other landmarks.
    """

    def __init__(self, X: Any, graph: KNNGraph, labelled: np.ndarray, seed: int) -> None:
        self.X, self.graph = X, graph
        self.labelled, self.seed = labelled, seed
        self._last: BasisReductions | None = None

    @cached_property
    def _kernel(self) -> Kernel:
        return kernel_of(limits.MANIFOLD_WIDTH * resolve_gamma("median", self.X))

    @cached_property
    def _basis(self) -> Basis:
        X, n = self.X, self.X.shape[0]
        if n <= limits.EXACT_ROWS:
            return kernel_basis(self._kernel, X)
        Z = X[self._landmarks(n)]
        landmarks = Landmarks(landmark_features(self._kernel, X, Z), centres=Z)
        return landmark_basis(landmarks, self._kernel, X)

    def _landmarks(self, n: int) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        first = self.labelled if len(self.labelled) <= limits.LANDMARKS // 2 else self.labelled[:0]
        others = np.setdiff1d(np.arange(n), first)
        return np.append(first, rng.choice(others, limits.LANDMARKS - len(first), replace=False))

    def _reductions(self, labels: Labels) -> BasisReductions:
        kept = self._last
        if kept is None or not np.array_equal(kept.labelled, labels.index):
            kept = BasisReductions(self._basis.H, self.graph.laplacian_, labels.index)
            self._last = kept
        return kept

    def candidates(self, labels: Labels, sample: np.ndarray) -> Iterator[LinearSetting]:
        """Yield the settings."""
        reductions, some = self._reductions(labels), self._basis.H[sample]
        for ratio in limits.RATIOS:
            reduction = reductions.at(ratio)
            on_sample = some @ reduction.coefficients
            on_sample[:, -1] = 1.0 - ratio * on_sample[:, -1]
            for reg in limits.MANIFOLD_REGS:
                settings = {"width": limits.MANIFOLD_WIDTH, "ratio": ratio, "reg": reg}
                yield LinearSetting(MANIFOLD, settings, reduction, reg, on_sample)

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Predictor]:
        """Return the values on all rows, and the function, of one setting fitted to labels."""
        reduction = self._reductions(labels).at(settings["ratio"])
        c, b = LinearSetting(MANIFOLD, settings, reduction, settings["reg"], NO_SAMPLE).solve(
            labels, slice(None)
        )
        theta, values = reduction.expand(c, b)
        basis = self._basis
        points = self.X if basis.centres is None else basis.centres
        return values, KernelExpansion(self._kernel, points, basis.coef_of(theta), b)
