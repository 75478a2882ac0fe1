"""What a family of candidates is, and the settings that are linear in the labels.

For each setting of a linear family a `Reduction` holds what any labels would give, so that folds
and classes cost small systems only. No family looks at a score.

Notation: l labels, c columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..losses import SquaredLoss
from ..solvers import Reduction
from . import limits
from .labels import Labels

SUPERVISED, MANIFOLD, GRAPH, MARGIN = "supervised", "manifold", "graph", "margin"
FAMILIES = (SUPERVISED, MANIFOLD, GRAPH, MARGIN)
#: The sample of a setting that is fitted, not compared.
NO_SAMPLE = np.empty((0, 0))


@dataclass(frozen=True)
class LinearSetting:
    """One setting of a family that is linear in the labels.

    Attributes
    ----------
    family : str
        Name.
    settings : dict
        Its parameters, for people and for ``fit`` of the family.
    reduction : Reduction
        From labels to values on the labelled rows.
    reg : float
        γ_A.
    on_sample : ndarray of shape (s, l + 1)
        From (c, b) to values on the rows of the sample.
    """

    family: str
    settings: dict[str, Any]
    reduction: Reduction
    reg: float
    on_sample: np.ndarray

    def solve(self, labels: Labels, index: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
        """Return c and b for some of the labels.

        Over the graph alone a class with more labels would take rows from the others: there all
        classes count the same.
        """
        weights = labels.weights.copy()
        if self.family == GRAPH:
            weights[index] = labels.take(index).even_weights
        problem = self.reduction.problem(
            SquaredLoss(), labels.targets, weights, self.reg, True, index
        )
        c, b, _ = problem.solve()
        return c, b


def kernel_reduction(R: np.ndarray) -> Reduction:
    """Return the reduction of a kernel that is given on the labelled rows."""
    return Reduction(0.0, (R + R.T) / 2.0, np.ones(len(R)), 0.0, np.empty((0, 0)), lambda x: x)


def known_settings(family: str, settings: Any) -> bool:
    """Return whether a family tries such settings: others may take forever."""
    own: dict[str, set] = {
        SUPERVISED: {(width, reg) for width in (None, *limits.WIDTHS) for reg in limits.REGS},
        MANIFOLD: {
            (limits.MANIFOLD_WIDTH, ratio, reg)
            for ratio in limits.RATIOS
            for reg in limits.MANIFOLD_REGS
        },
        GRAPH: {
            (name, *kernel, limits.GRAPH_REG)
            for name, kernels in limits.GRAPH_KERNELS.items()
            for kernel in kernels
        },
        MARGIN: set(limits.MARGIN_KERNELS),
    }
    scale = settings.get("scale", 1.0)
    given = tuple(value for key, value in settings.items() if key != "scale")
    return given in own[family] and isinstance(scale, float) and 0.0 < scale < np.inf
