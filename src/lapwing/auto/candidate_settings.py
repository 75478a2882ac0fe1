"""The families of candidates: their names, what they try, and settings linear in the labels.

A family yields the settings that it tries, each with a method ``values_of_folds``, by
``candidates(labels, sample)``, and fits one of them by ``fit(settings, labels)``. If a setting is
linear in the labels, a `Reduction` gives the solution for any labels, so that folds and classes
cost only small linear systems. No family knows a score.

Notation: l labels, h of them held out, c columns, s rows of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays.threads import single_threaded_blas
from ..kernels.functions import GaussianKernel, Kernel, LinearKernel
from ..losses import SquaredLoss
from ..solvers.label_problem import LabelProblem
from ..solvers.reduction import Reduction
from .labels import SUBSETS, Labels

SUPERVISED, MANIFOLD, GRAPH, MARGIN = "supervised", "manifold", "graph", "margin"
SELF_TRAINING = "self-training"
FAMILIES = (SUPERVISED, MANIFOLD, GRAPH, MARGIN, SELF_TRAINING)

#: Families in which every fold is a fit of its own. They count classes the same, whether or not the
#: labels are a random sample.
SLOW = (MARGIN, SELF_TRAINING)

#: Indices among the labels: those to learn from, and those held out.
Fold = tuple[np.ndarray, np.ndarray]
#: Values on held-out labels, shape (h, c), and on the sample, shape (s, c).
FoldValues = tuple[np.ndarray, np.ndarray]

#: Powers p and floors ε of the graph kernels (Lᵖ + εᵖ)⁻¹, over all neighbours, and over half of
#: them, which follow thin shapes better.
GRAPH_KERNELS = {"all": ((2, 0.01), (3, 0.1)), "half": ((1, 0.01), (2, 0.01))}
#: Width of the kernel of the manifold family.
MANIFOLD_WIDTH = 4.0
#: The settings that each family tries. A width is that of a Gaussian kernel in units of the median
#: one, 1/(2·median²); None is the linear kernel. A ratio is γ_I/γ_A, and reg is γ_A or λ.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    SUPERVISED: [
        {"width": width, "reg": reg} for width in (None, 1.0, 4.0) for reg in (0.01, 0.1, 1.0)
    ],
    MANIFOLD: [
        {"width": MANIFOLD_WIDTH, "ratio": ratio, "reg": reg}
        for ratio in (0.1, 1.0, 10.0, 100.0)
        for reg in (0.01, 0.1)
    ],
    GRAPH: [
        {"neighbours": neighbours, "power": power, "floor": floor, "reg": 0.1}
        for neighbours, kernels in GRAPH_KERNELS.items()
        for power, floor in kernels
    ],
    MARGIN: [{"width": None, "reg": 1e-2}, {"width": 2.0, "reg": 1e-3}],
    SELF_TRAINING: [{"added": "surest", "reg": 0.1}, {"added": "probable", "reg": 0.01}],
}


def are_known(family: str, settings: dict[str, Any]) -> bool:
    """Return whether a family tries these settings; with others a fit might take forever."""
    scale = settings.get("scale", 1.0)
    own = without_scale(settings)
    return own in SETTINGS[family] and isinstance(scale, float) and 0.0 < scale < np.inf


def without_scale(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings without the scale of a graph kernel, which depends on the labels."""
    return {name: value for name, value in settings.items() if name != "scale"}


@dataclass(frozen=True)
class LinearSetting:
    """One setting of a family that is linear in the labels.

    Attributes
    ----------
    family : str
        Name of the family.
    settings : dict
        Parameters, as they are reported and as ``fit`` of the family takes them.
    reduction : Reduction
        From labels to values on the labelled rows.
    on_sample : ndarray of shape (s, l + 1) or None
        From dual coefficients and intercept to values on the sample; None for a setting that is
        fitted and not compared.
    """

    family: str
    settings: dict[str, Any]
    reduction: Reduction
    on_sample: Any = None

    def solve(self, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        """Return the dual coefficients c and the intercept b.

        A class with more labels must not take rows from the others only because it has more:
        classes count the same. That is not enough where the labels are chosen by class, because
        the function of two labels varies more than that of forty. There, the solution is the mean
        of those for subsets with equal numbers of labels.
        """
        c, b, _ = self._problem(labels, labels.even_weights).solve()
        if labels.is_even or labels.sampled == 1.0:
            return c, b
        share = (1.0 - labels.sampled) / SUBSETS
        c, b = labels.sampled * c, labels.sampled * b
        subsets = np.array(list(labels.even_subsets()))
        c_own, b_own = self._problem(labels, labels.weights).solve_subsets(subsets)
        np.add.at(c, subsets, share * c_own)
        return c, b + share * b_own.sum(axis=0)

    def _problem(self, labels: Labels, weights: np.ndarray) -> LabelProblem:
        reg = self.settings["reg"]
        return self.reduction.problem(SquaredLoss(), labels.targets, weights, reg, True)

    def of(self, index: np.ndarray) -> LinearSetting:
        """Return the setting for some of the labels; it can be solved and not expanded."""
        R, t = self.reduction.R[np.ix_(index, index)], self.reduction.t[index]
        return replace(self, reduction=replace(self.reduction, R=R, t=t))

    def values_of_folds(self, labels: Labels, folds: Sequence[Fold]) -> list[FoldValues]:
        """Return what a model of each fold predicts for held-out labels and for the sample."""
        with single_threaded_blas():  # threads would wait for each other longer than they compute
            return [self._fold_values(labels, train, test) for train, test in folds]

    def _fold_values(self, labels: Labels, train: np.ndarray, test: np.ndarray) -> FoldValues:
        c, b = self.of(train).solve(labels.take(train))
        R, t, A = self.reduction.R, self.reduction.t, self.on_sample
        held_out = R[np.ix_(test, train)] @ c + np.outer(t[test], b)
        return held_out, A[:, train] @ c + np.outer(A[:, -1], b)


def kernel_reduction(R: np.ndarray) -> Reduction:
    """Return the reduction of a kernel that is given on the labelled rows."""
    return Reduction(0.0, (R + R.T) / 2.0, np.ones(len(R)), 0.0, np.empty((0, 0)), lambda x: x)


def kernel_of_width(width: float | None, median_gamma: float) -> Kernel:
    """Return the Gaussian kernel of a width in units of the median one, or the linear kernel."""
    return LinearKernel() if width is None else GaussianKernel(width * median_gamma)
