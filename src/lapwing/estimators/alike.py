"""Warnings where a fitted function does not tell the labelled rows apart.

This happens where one row of extreme values, or a kernel width far from the distances of the rows,
hides all differences. Only labelled rows count: that others are alike may be right. Knows neither
models nor kernels.
"""

from __future__ import annotations

import numpy as np

from ..messages import warn
from .run import Solution
from .targets import Targets

#: Relative difference up to which values are the same.
_SAME = 1e-3
#: Share of the labelled rows that are alike; a few may have extreme values of their own.
_MOST = 0.8
#: Decision values up to which they may be rounding errors.
_ROUNDING = 1e-12
#: Labelled rows of each class, or of all, that are looked at.
_SOME = 20

_REMEDY = (
    "correct or remove rows of extreme values, scale the columns of X, for example with "
    "sklearn.preprocessing.StandardScaler, or lower the regularisation"
)


def warn_if_alike(targets: Targets, solution: Solution) -> None:
    """Warn if labelled rows of different classes or targets get the same values.

    Parameters
    ----------
    targets : Targets
        The labels.
    solution : Solution
        What was fitted.
    """
    some = _some_labelled(targets)
    index, values = targets.index[some], solution.of_labelled
    if values is None:
        assert solution.values is not None
        values = solution.values[index]
    else:
        values = values[some]
    if targets.classes is None:
        _quantities(values[:, 0], targets.given[index])
    else:
        _classes(values, targets.given[index], targets.classes)


def _some_labelled(targets: Targets) -> np.ndarray:
    """Return some of the labelled rows: of each class, or of all targets."""
    l = len(targets.index)
    if targets.classes is None:
        return np.linspace(0, l - 1, min(_SOME, l)).astype(int)
    codes = targets.given[targets.index]
    return np.concatenate(
        [np.flatnonzero(codes == code)[:_SOME] for code in range(len(targets.classes))]
    )


def _classes(values: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> None:
    level = float(np.abs(values).max())
    near = np.abs(values - np.median(values, axis=0)).max(axis=1) <= _SAME * level
    found = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
    same = near.mean() >= _MOST and len(np.unique(codes[near])) > 1 and np.ptp(found[near]) == 0
    if same:
        alike = values[near]
        warn(
            f"the decision function is the same for labelled rows of different classes (values up "
            f"to {np.abs(alike).max():.1e} differ by {np.ptp(alike, axis=0).max():.1e}), which all "
            f"get the class {classes.tolist()[int(found[near][0])]!r}: {_REMEDY}"
        )
    elif level <= _ROUNDING:
        warn(
            f"the decision values of labelled rows are at most {level:.1e}, which may be rounding: "
            f"{_REMEDY}"
        )


def _quantities(values: np.ndarray, given: np.ndarray) -> None:
    spread = float(np.ptp(given))
    near = np.abs(values - np.median(values)) <= _SAME * spread
    if near.mean() >= _MOST and np.ptp(given[near]) > 0:
        warn(
            f"the predictions for rows with different targets are the same (they differ by "
            f"{np.ptp(values[near]):.1e}, and targets by {np.ptp(given[near]):.1e}): {_REMEDY} or "
            "epsilon"
        )
