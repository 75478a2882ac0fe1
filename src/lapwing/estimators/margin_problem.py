"""The problem of S3VC and its stages: what its solvers see, and what they report of each stage.

Knows neither kernels nor how the space was built.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..solvers import (
    MarginProblem,
    Stage,
    Step,
    concave_convex,
    decisions,
    deterministic_annealing,
    label_switching,
    quasi_newton,
)
from ..spaces import AffineSpace, Function, Space
from .margin_columns import CENTERED, Columns
from .targets import Targets


def margin_problem(
    settings: Any,
    space: Space,
    targets: Targets,
    unlabelled: np.ndarray,
    columns: Columns,
    memory: int,
) -> MarginProblem:
    """Return the objective of all columns over a space.

    Parameters
    ----------
    settings : object
        An S3VC; the weights of its objective, ``solver`` and ``fit_intercept`` are read.
    space : Space
        Functions without intercept.
    targets : Targets
        Labels and weights of the rows.
    unlabelled : ndarray of int
        The unlabelled rows that are used.
    columns : Columns
        Targets and weights of each column.
    memory : int
        Steps that L-BFGS remembers.
    """
    row_weights = targets.row_weights / targets.row_weights.max()
    weights = row_weights[unlabelled] / max(row_weights[unlabelled].sum(), 1e-300)
    balance = level = None
    if settings.fit_intercept:
        # Any centre serves a free intercept, and makes the descent independent of the origin.
        balance = row_weights / row_weights.sum()
    if columns.ratio is not None and settings.solver in CENTERED:
        balance = np.zeros(len(row_weights))
        balance[unlabelled] = weights
        level = 2.0 * columns.ratio - 1.0
    return MarginProblem(
        space=AffineSpace(space, balance, level, fit_intercept=bool(settings.fit_intercept)),
        labelled=targets.index,
        unlabelled=unlabelled,
        targets=columns.targets,
        labelled_weights=columns.weights,
        unlabelled_weights=weights[:, None],
        reg=np.full(columns.size, float(settings.reg)),
        reg_unlabeled=np.full(columns.size, float(settings.reg_unlabeled)),
        positive_ratio=columns.ratio,
        disturbance=columns.disturbance,
        memory=memory,
    )


def margin_steps(
    settings: Any, problem: MarginProblem, columns: Columns, start: np.ndarray | None
) -> Iterator[Step]:
    """Yield each stage of the solver as a step of the first run, the last as one of the best runs.

    Parameters
    ----------
    settings : object
        An S3VC; ``solver`` and the parameters of the solver are read.
    problem : MarginProblem
        Where no unlabelled row is used, the first stage, which is supervised, is the only one.
    columns : Columns
        Which of them are classes, restarts and folds.
    start : ndarray or None
        Vectors of the last solution, for a warm start.
    """
    unlabelled, evaluations = problem.unlabelled, 0
    supervised, origin = len(unlabelled) == 0, "supervised solution"
    first: np.ndarray | None = None
    before: np.ndarray | None = None
    if start is not None:
        before, origin = problem.values(start)[unlabelled], "last fit"
        first = decisions(before)
    for stage in _stages(settings, problem, start):
        minimum, best = stage.minimum, np.arange(columns.per_run)
        if stage.settled is not None:  # before the last stage restarts differ in their objectives
            best = columns.best(minimum.objective)
        values = minimum.values[:, best]
        now = decisions(values[unlabelled])
        first = now if first is None else first
        moved = 0 if before is None else int(np.sum(now != decisions(before[:, best])))
        before = minimum.values[unlabelled]
        evaluations += stage.evaluations
        settled = supervised or (stage.settled is not None and bool(stage.settled[best].all()))
        converged = bool(settled and minimum.converged[best].all())
        changed = (
            f"{int(np.sum(now != first))} of {len(unlabelled)} unlabelled rows have changed class "
            f"since the {origin}"
        )
        coef, intercept = problem.space.coef_and_intercept(minimum.vectors[:, best], best)
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
            remark=_remark(supervised, settled, converged, changed),
        )
        if supervised:
            return


def _remark(supervised: bool, settled: bool, converged: bool, changed: str) -> str:
    """Return what is known of a solution, since its distance from the optimum is not."""
    if supervised:
        return "the unlabelled rows are not used: this is the supervised model"
    if converged:
        return f"a local minimum; {changed}"
    if settled:
        return "the gradient of the last descent is not small yet: raise max_iter or tol"
    return "unlabelled rows still change class: raise reg, or lower reg_unlabeled"


def _stages(settings: Any, problem: MarginProblem, start: np.ndarray | None) -> Iterator[Stage]:
    common: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "start": start}
    if settings.solver == "quasi-newton":
        return quasi_newton(
            problem,
            annealing=tuple(settings.annealing),
            surrogate_gamma=settings.surrogate_gamma,
            unlabeled_sharpness=settings.unlabeled_sharpness,
            **common,
        )
    if settings.solver == "cccp":
        return concave_convex(problem, surrogate_gamma=settings.surrogate_gamma, **common)
    if settings.solver == "label-switching":
        return label_switching(problem, **common)
    return deterministic_annealing(problem, **common)
