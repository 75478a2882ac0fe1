"""Classes, restarts and calibration folds as columns of one block.

They share every product with the data, which cost less together than one by one. Restarts
differ by random weights of the rows in all stages but the last; a fold leaves out the labels of
some rows, whose values then say how far the machine can be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ..solvers import MarginProblem, Stage, Step, decisions
from ..spaces import Function
from .classifier import LabelledData


@dataclass(frozen=True)
class Columns:
    """Runs of ``n_classes`` columns each: first the restarts, then the folds.

    Attributes
    ----------
    n_classes : int
        Columns of one run: one for two classes, else one per class.
    n_init : int
        Restarts.
    folds : list of ndarray of int
        Positions, among the labelled rows, of those whose label a fold leaves out.
    targets, weights : ndarray of shape (l, size)
        ±1, and weights of sum one a column.
    ratio : ndarray of shape (size,) or None
        Share of positive rows among the unlabelled.
    disturbance : ndarray of shape (n, size) or None
        Random factors of the weights; ones for the first run and the folds.
    """

    n_classes: int
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

    def best(self, objective: np.ndarray) -> np.ndarray:
        """Return, for each class, the column of the restart with the lowest objective."""
        runs = objective[: self.n_init * self.n_classes].reshape(self.n_init, self.n_classes)
        return runs.argmin(axis=0) * self.n_classes + np.arange(self.n_classes)

    def held_out(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the labelled rows in the folds that left them out."""
        out = np.empty((len(values), self.n_classes))
        for j, rows in enumerate(self.folds):
            first = (self.n_init + j) * self.n_classes
            out[rows] = values[rows, first : first + self.n_classes]
        return out


def make_columns(
    data: LabelledData,
    n_labels: int,
    positive_ratio: Any,
    *,
    n_init: int,
    n_folds: int,
    rng: np.random.Generator,
) -> Columns:
    """Return the columns of a fit.

    Parameters
    ----------
    data : LabelledData
        Checked input; gives targets and weights of one run.
    n_labels : int
        Number of classes.
    positive_ratio : "labeled", number, array or None
        As the user gives it.
    n_init, n_folds : int
        Restarts, and folds where every class has at least two labelled rows.
    rng : numpy.random.Generator
        For the folds and the disturbance.
    """
    n_classes = data.targets.shape[1]
    truth = decisions(data.targets).astype(int)
    folds: list[np.ndarray] = []
    n_folds = min(n_folds, int(np.bincount(truth, minlength=n_labels).min()))
    if n_folds >= 2:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
        folds = [out for _, out in splitter.split(truth, truth)]
    runs = n_init + len(folds)
    weights = np.repeat(data.weights[:, None] / data.weights.max(), runs * n_classes, axis=1)
    given = data.row_weights[data.index]
    known = np.repeat(given[:, None] / given.max(), runs * n_classes, axis=1)
    for j, rows in enumerate(folds):
        first = (n_init + j) * n_classes
        weights[rows, first : first + n_classes] = 0.0
        known[rows, first : first + n_classes] = 0.0
    targets = np.tile(data.targets, runs)
    ratio = None
    shares = given_ratio(positive_ratio, n_labels)
    if shares is not None:
        ratio = np.tile(shares, runs)
    elif positive_ratio is not None:  # "labeled"
        ratio = (known * (targets > 0)).sum(axis=0) / known.sum(axis=0)
    disturbance = None
    if n_init > 1:
        disturbance = np.ones((len(data.values), runs * n_classes))
        drawn = rng.exponential(size=(len(data.values), n_init - 1))
        # The classes of one run see the same weights.
        disturbance[:, n_classes : n_init * n_classes] = np.repeat(drawn, n_classes, axis=1)
    return Columns(
        n_classes, n_init, folds, targets, weights / weights.sum(axis=0), ratio, disturbance
    )


def given_ratio(positive_ratio: Any, n_labels: int) -> np.ndarray | None:
    """Return the share of each column's positive class, after refusing what cannot be one.

    None if it is not given but "labeled" or free.
    """
    if positive_ratio is None or (isinstance(positive_ratio, str) and positive_ratio == "labeled"):
        return None
    try:
        shares = np.asarray(positive_ratio, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"positive_ratio must be 'labeled', shares or None, got {positive_ratio!r}"
        ) from None
    if np.any(~(shares > 0)) or np.any(~(shares < 1)):
        raise ValueError(f"positive_ratio must lie between 0 and 1, got {positive_ratio!r}")
    if shares.ndim == 0 and n_labels == 2:
        return shares.reshape(1)
    if shares.shape != (n_labels,):
        raise ValueError(
            f"positive_ratio must give the share of each of the {n_labels} classes"
            f"{' or one number, the share of the second' if n_labels == 2 else ''}, got "
            f"{positive_ratio!r}"
        )
    if abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError(f"the shares of positive_ratio must add up to 1, got {positive_ratio!r}")
    return shares[1:] if n_labels == 2 else shares


def margin_steps(
    stages: Iterator[Stage],
    problem: MarginProblem,
    columns: Columns,
    *,
    only_first: bool,
    start: np.ndarray | None = None,
) -> Iterator[Step]:
    """Yield each stage as a step of the first run, the last as one of the best runs.

    ``only_first`` ends after the first stage, the supervised machine. ``start`` are the decisions
    on the unlabelled rows before the first stage of a warm start.
    """
    space, unlabelled = problem.space, problem.unlabelled
    first = start
    origin = "supervised solution" if start is None else "last fit"
    before: np.ndarray | None = None
    evaluations = 0
    for stage in stages:
        minimum, last = stage.minimum, stage.settled is not None
        # Before the last stage restarts have objectives of their own.
        best = columns.best(minimum.objective) if last else np.arange(columns.n_classes)
        values = minimum.values[:, best]
        coef, intercept = space.coef_and_intercept(minimum.vectors[:, best], best)
        now = decisions(values[unlabelled])
        earlier = start if before is None else decisions(before[:, best])
        moved = 0 if earlier is None else int(np.sum(now != earlier))
        before = minimum.values[unlabelled]
        first = now if first is None else first
        evaluations += stage.evaluations
        settled = only_first or (stage.settled is not None and bool(stage.settled[best].all()))
        converged = bool(settled and minimum.converged[best].all())
        if only_first:
            remark = "the unlabelled rows are not used, this is the supervised machine"
        elif converged:
            remark = (
                f"a local minimum; {int(np.sum(now != first))} of {len(unlabelled)} unlabelled "
                f"rows have changed class since the {origin}"
            )
        elif settled:
            remark = "the gradient of the last descent is not small yet: raise max_iter or tol"
        else:
            remark = "unlabelled rows still change sides: raise reg, or lower reg_unlabeled"
        labelled = minimum.values[problem.labelled]
        yield Step(
            iteration=evaluations,
            function=Function(coef, intercept, values, np.broadcast_to(0.0, values.shape)),
            objective=float(minimum.objective[best].sum()),
            gap=None,
            passes=evaluations,
            converged=converged,
            leave_one_out=partial(columns.held_out, labelled) if columns.folds else None,
            details={"stage": stage.name, "evaluations": stage.evaluations, "moved": moved},
            remark=remark,
        )
        if only_first:
            return
