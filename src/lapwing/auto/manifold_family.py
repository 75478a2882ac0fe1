"""Candidates with a manifold term: least squares with a Gaussian kernel and the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..graphs import KNNGraph
from ..kernels import gram_operator, resolve_gamma
from ..operators import DenseOperator
from ..solvers import BasisReductions, cholesky_basis, expansion_of
from ..spaces import KernelExpansion, Predictor, landmark_features
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

    @cached_property
    def _basis(self) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], Any, float]:
        """H, the way from coefficients there to those of the centres, the centres, and gamma."""
        X, n = self.X, self.X.shape[0]
        gamma = limits.MANIFOLD_WIDTH * resolve_gamma("median", X)
        kernel = kernel_of(gamma)
        if n > limits.EXACT_ROWS:
            Z = X[self._landmarks(n)]
            features = landmark_features(kernel, X, Z)
            return features.values, lambda theta: features.back @ theta, Z, gamma
        gram = gram_operator(kernel, kernel.prepare(X), "float64")
        assert isinstance(gram, DenseOperator)
        H, pivots = cholesky_basis(gram.array)
        return H, lambda theta: expansion_of(H, pivots, theta), X, gamma

    def _landmarks(self, n: int) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        first = self.labelled if len(self.labelled) <= limits.LANDMARKS // 2 else self.labelled[:0]
        others = np.setdiff1d(np.arange(n), first)
        return np.append(first, rng.choice(others, limits.LANDMARKS - len(first), replace=False))

    def _reductions(self, labels: Labels) -> BasisReductions:
        kept = self.__dict__.get("_kept")
        if kept is None or not np.array_equal(kept.labelled, labels.index):
            kept = BasisReductions(self._basis[0], self.graph.laplacian_, labels.index)
            self._kept = kept
        return kept

    def candidates(self, labels: Labels, sample: np.ndarray) -> Iterator[LinearSetting]:
        """Yield the settings."""
        reductions, some = self._reductions(labels), self._basis[0][sample]
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
        _, back, centres, gamma = self._basis
        return values, KernelExpansion(kernel_of(gamma), centres, back(theta), b)
