"""Classes, restarts and calibration folds as columns of one block.

They share every product with the data, which costs less than separate products. Restarts differ by
random weights of the rows in all stages but the last; a fold leaves out the labels of some rows,
whose values are then held-out values. Knows neither kernels nor solvers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from .parameters import draw_seed, is_word
from .targets import Targets

#: Solvers that fix the mean of f at 2·ratio − 1; the others label rows by the ratio.
CENTERED = ("quasi-newton", "cccp")


@dataclass(frozen=True)
class Columns:
    """Runs of ``per_run`` columns each: first the restarts, then the folds.

    Attributes
    ----------
    per_run : int
        Columns of one run: one for two classes, else one per class.
    n_init : int
        Number of restarts.
    folds : list of ndarray of int
        For each fold, the labelled rows whose label it leaves out, as indices into those.
    targets, weights : ndarray of shape (l, size)
        ±1, and weights that sum to one in each column.
    ratio : ndarray of shape (size,) or None
        Share of positive rows among the unlabelled ones; None where it is free.
    disturbance : ndarray of shape (n, size) or None
        Random factors of the weights; ones for the first run and the folds.
    """

    per_run: int
    n_init: int
    folds: list[np.ndarray]
    targets: np.ndarray
    weights: np.ndarray
    ratio: np.ndarray | None
    disturbance: np.ndarray | None

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.targets.shape[1]

    @property
    def positive_ratio(self) -> np.ndarray | None:
        """The ratio of each column of the first run."""
        return None if self.ratio is None else self.ratio[: self.per_run]

    def best(self, objective: np.ndarray) -> np.ndarray:
        """Return, for each class, the column of the restart with the lowest objective."""
        runs = objective[: self.n_init * self.per_run].reshape(self.n_init, self.per_run)
        return runs.argmin(axis=0) * self.per_run + np.arange(self.per_run)

    def held_out(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the labelled rows in the folds that left them out."""
        out = np.empty((len(values), self.per_run))
        for j, rows in enumerate(self.folds):
            first = (self.n_init + j) * self.per_run
            out[rows] = values[rows, first : first + self.per_run]
        return out


def make_columns(
    settings: Any, targets: Targets, *, supervised: bool, warm: bool, rng: np.random.Generator
) -> Columns:
    """Return the columns of a fit.

    Parameters
    ----------
    settings : object
        An S3VC; the parameters of restarts, folds and the ratio are read.
    targets : Targets
        Labels and weights of the rows.
    supervised : bool
        Whether no unlabelled row is used: restarts would all be the same, and no ratio is needed.
    warm : bool
        Whether the fit starts from the last solution: without restarts and folds.
    rng : numpy.random.Generator
        Draws the folds, then the disturbance.
    """
    per_run = targets.n_columns
    n_init = _restarts(settings, supervised, warm)
    folds = [] if warm else _draw_folds(targets, settings.calibration_folds, rng)
    signs = np.tile(targets.values, n_init + len(folds))
    weights = _column_weights(targets.weights, folds, n_init, per_run)
    ratio = _column_ratio(settings.positive_ratio, targets, folds, n_init)
    used = not supervised and (settings.fit_intercept or settings.solver not in CENTERED)
    disturbance = None
    if n_init > 1:
        n = len(targets.given)
        drawn = rng.exponential(size=(n, n_init - 1))
        disturbance = np.ones((n, signs.shape[1]))
        # The classes of one run have the same weights.
        disturbance[:, per_run : n_init * per_run] = np.repeat(drawn, per_run, axis=1)
    weights /= weights.sum(axis=0)
    return Columns(per_run, n_init, folds, signs, weights, ratio if used else None, disturbance)


def count_columns(settings: Any, targets: Targets, *, supervised: bool, warm: bool) -> int:
    """Return the number of columns that `make_columns` makes, from the same arguments."""
    n_folds = 0 if warm else _count_folds(targets, settings.calibration_folds)
    return targets.n_columns * (_restarts(settings, supervised, warm) + n_folds)


def _restarts(settings: Any, supervised: bool, warm: bool) -> int:
    return 1 if warm or supervised else settings.n_init


def given_ratio(positive_ratio: Any, n_classes: int) -> np.ndarray | None:
    """Return the share of each column's positive class, after refusing invalid shares.

    None if it is not given as numbers: if it is "labeled" or free.
    """
    if positive_ratio is None or is_word(positive_ratio, "labeled"):
        return None
    try:
        shares = np.asarray(positive_ratio, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"positive_ratio must be 'labeled', shares or None, got {positive_ratio!r}"
        ) from None
    if np.any(~(shares > 0)) or np.any(~(shares < 1)):
        raise ValueError(f"positive_ratio must lie between 0 and 1, got {positive_ratio!r}")
    if shares.ndim == 0 and n_classes == 2:
        return shares.reshape(1)
    if shares.shape != (n_classes,):
        raise ValueError(
            f"positive_ratio must give the share of each of the {n_classes} classes"
            f"{' or one number, the share of the second' if n_classes == 2 else ''}, got "
            f"{positive_ratio!r}"
        )
    if abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError(f"the shares of positive_ratio must add up to 1, got {positive_ratio!r}")
    return shares[1:] if n_classes == 2 else shares


def _draw_folds(targets: Targets, n_folds: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return folds of the labelled rows; none, where a class has fewer than two of these."""
    codes, n_folds = targets.given[targets.index], _count_folds(targets, n_folds)
    if n_folds == 0:
        return []
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=draw_seed(rng))
    return [left_out for _, left_out in splitter.split(codes, codes)]


def _count_folds(targets: Targets, n_folds: int) -> int:
    """Return the number of folds: at most that of the rows of the smallest class, or none."""
    assert targets.classes is not None
    counts = np.bincount(targets.given[targets.index], minlength=len(targets.classes))
    n_folds = min(n_folds, int(counts.min()))
    return n_folds if n_folds >= 2 else 0


def _column_weights(
    weights: np.ndarray, folds: list[np.ndarray], n_init: int, per_run: int
) -> np.ndarray:
    """Return the weights of the labelled rows in each column, zero where a fold leaves them out."""
    columns = (n_init + len(folds)) * per_run
    of_columns = np.repeat(weights[:, None] / weights.max(), columns, axis=1)
    for j, rows in enumerate(folds):
        first = (n_init + j) * per_run
        of_columns[rows, first : first + per_run] = 0.0
    return of_columns


def _column_ratio(
    positive_ratio: Any, targets: Targets, folds: list[np.ndarray], n_init: int
) -> np.ndarray | None:
    """Return the share of positive rows in each column, as given or as among the labelled rows."""
    assert targets.classes is not None
    shares = given_ratio(positive_ratio, len(targets.classes))
    if positive_ratio is None:
        return None
    if shares is None and targets.shares is not None:
        shares = given_ratio(targets.shares, len(targets.classes))
    runs = n_init + len(folds)
    if shares is not None:
        return np.tile(shares, runs)
    known = targets.row_weights[targets.index]
    known = _column_weights(known, folds, n_init, targets.n_columns)
    positive = np.tile(targets.values > 0, runs)
    return (known * positive).sum(axis=0) / known.sum(axis=0)
