"""S3VC from checked input to a solution.

    targets → columns → plan → space → problem → stages → solution → predictor

Each of these is a value; nothing is stored on the estimator before the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.device import on_host, to_device
from ..messages import warn
from ..plan.base import Plan
from ..plan.margin import plan_margin
from ..solvers.driver import Step
from ..solvers.methods import Sizes
from ..solvers.s3vm import (
    MarginProblem,
    Stage,
    concave_convex,
    deterministic_annealing,
    label_switching,
    quasi_newton,
)
from ..spaces.affine import AffineSpace
from ..spaces.features import Landmarks
from ..spaces.function import Function
from ..spaces.kernel_space import LinearSpace, Space
from .kernel_choice import resolve_kernel
from .landmarks import make_landmarks
from .manifold import build_space, expanded, kernel_model
from .margin_changes import BlockChanges, StoredChanges
from .margin_columns import CENTERED, Columns, count_columns, make_columns
from .parameters import draw_seed
from .run import Solution, WarmStart, held_out_values, previous_solution, run_solver
from .targets import Targets

#: Share of the unlabelled rows in one class that causes a warning, and the largest expected share
#: for which it does.
_ONE_SIDED, _EXPECTED = 0.99, 0.95
#: Probability below which it is not by chance that all rows are in one class.
_BY_CHANCE = 0.01


Changes = StoredChanges | BlockChanges


@dataclass(frozen=True, kw_only=True)
class MarginStart(WarmStart):
    """The values that a later fit of S3VC to the same rows starts from.

    Attributes
    ----------
    basis : tuple
        The parameters on which the meaning of the coefficients depends.
    classes : ndarray
        The classes whose functions the solution has.
    calibrated : bool
        Whether the temperature of the probabilities was fitted to folds.
    """

    basis: tuple
    classes: np.ndarray
    calibrated: bool


def fit_margin(settings: Any, X: Any, targets: Targets, start: MarginStart | None) -> Solution:
    """Plan, build and solve the problem of an S3VC.

    Parameters
    ----------
    settings : object
        The estimator, of which parameters are read.
    X : array or CSR matrix
        Checked rows, or their Gram matrix.
    targets : Targets
        Their labels.
    start : MarginStart or None
        The last fit. Its landmarks are kept, and so are its solution and its temperature if there
        are unlabelled rows and the same classes; ``held_out`` is None if the temperature is kept.
    """
    assert targets.classes is not None
    unlabelled, last = unlabelled_rows(settings, targets), start
    if len(unlabelled) == 0 or (start and not np.array_equal(start.classes, targets.classes)):
        last = None
    seed = draw_seed(settings.random_state) if start is None else start.seed
    # A warm fit draws no folds but needs the landmarks of the last one: two streams.
    for_columns, for_landmarks = np.random.default_rng(seed).spawn(2)
    how = {"supervised": len(unlabelled) == 0, "warm": last is not None}
    kernel = resolve_kernel(settings, X)
    plan = plan_margin(
        kernel,
        Sizes(
            n_rows=X.shape[0],
            n_features=X.shape[1],
            n_labelled=len(targets.index),
            n_columns=count_columns(settings, targets, **how),
            is_sparse=sp.issparse(X),
        ),
        stored=X.nnz if sp.issparse(X) else X.size,
        solver=settings.solver,
        n_landmarks=settings.n_landmarks,
        landmarks=settings.landmarks,
        memory_limit=settings.memory_limit,
    )
    columns = make_columns(settings, targets, **how, rng=for_columns)
    landmarks: Landmarks | None = None
    if plan.space == "landmarks":
        landmarks = make_landmarks(plan, X, for_landmarks, start, settings.landmarks)
        features = landmarks.features.values
        space: Space = LinearSpace(to_device(features) if plan.on_device else features)
    else:
        space, _ = build_space(plan, X, exactly=True)
    problem = margin_problem(settings, space, targets, unlabelled, columns, plan)
    first = _first_vectors(problem, last)
    changes = StoredChanges(problem, first)
    steps = margin_steps(settings, problem, columns, first, changes)
    step, result = run_solver(settings, plan.method, steps, plan.max_iter)
    f = step.function
    warn_of_one_class(targets, columns, changes)
    kept = last is not None and last.calibrated
    expansion, centres = expanded(landmarks, f, kernel, X)
    predictor, attributes = kernel_model(kernel, X, expansion, centres)
    attributes["positive_ratio_"] = columns.positive_ratio
    attributes["_start"] = MarginStart(
        seed,
        f.coef,
        f.intercept,
        centres,
        basis=_basis(settings),
        classes=targets.classes,
        calibrated=kept or len(columns.folds) > 0,
    )
    held_out = None if kept else held_out_values(step, targets.index)
    return Solution(predictor, result, f.values, held_out, attributes)


def previous_margin(model: Any, X: Any, refit: bool) -> MarginStart | None:
    """Return the last solution, if it is to be used and has the same meaning for these rows."""
    start = previous_solution(model, X, refit)
    if not isinstance(start, MarginStart) or start.basis != _basis(model):
        return None
    return start


def unlabelled_rows(settings: Any, targets: Targets) -> np.ndarray:
    """Return the indices of the unlabelled rows that are used; none if the model is supervised.

    ``settings`` is an S3VC; ``reg_unlabeled`` and ``unlabeled`` are read.
    """
    index = np.flatnonzero(~targets.labelled & (targets.row_weights > 0))
    warn_if_all_labelled(settings, len(index))
    return index if settings.reg_unlabeled > 0 else index[:0]


def warn_if_all_labelled(settings: Any, n_unlabelled: int) -> None:
    """Warn if no row is unlabelled."""
    if n_unlabelled == 0:
        warn(
            "no row is unlabelled: this is the supervised model. Mark unlabelled rows of y by "
            f"{settings.unlabeled!r}, None or NaN"
        )


def warn_of_one_class(targets: Targets, columns: Columns, changes: Changes) -> None:
    """Warn if nearly all unlabelled rows are in one class, against the labels or the ratio."""
    if changes.n_rows == 0:
        return
    assert targets.classes is not None
    counts = changes.class_counts()
    largest = int(counts.argmax())
    share = counts[largest] / changes.n_rows
    positive = columns.positive_ratio
    if positive is None:
        positive = ((columns.targets > 0) * columns.weights).sum(axis=0)
    shares = [1.0 - positive[0], positive[0]] if len(targets.classes) == 2 else positive
    expected = shares[largest]
    by_chance = expected**changes.n_rows  # a few rows may well be of one class
    if share >= _ONE_SIDED and expected < _EXPECTED and by_chance < _BY_CHANCE:
        warn(
            f"{share:.1%} of the unlabelled rows are put in class "
            f"{targets.classes.tolist()[largest]!r}, where {expected:.1%} were expected: a "
            "degenerate minimum. Set positive_ratio, raise reg_unlabeled slowly from a small "
            "value, lower reg, or try n_init=10"
        )


def _basis(settings: Any) -> tuple:
    names = "kernel", "gamma", "degree", "coef0", "n_landmarks", "landmarks"
    return tuple(getattr(settings, name) for name in names)


def _first_vectors(problem: MarginProblem, last: MarginStart | None) -> np.ndarray | None:
    """Return the last solution as vectors, unless the number of features has changed."""
    if last is None or last.coef.shape[0] != problem.space.space.n_coef:
        return None
    return problem.space.vectors(last.coef, last.intercept)


def margin_problem(
    settings: Any,
    space: Space,
    targets: Targets,
    unlabelled: np.ndarray,
    columns: Columns,
    plan: Plan,
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
    plan : Plan
        Where the functions are, and how many steps L-BFGS remembers.
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
    where = to_device(np.empty(0)) if plan.on_device else None
    intercept = bool(settings.fit_intercept)
    return MarginProblem(
        space=AffineSpace(space, balance, level, fit_intercept=intercept, where=where),
        labelled=targets.index,
        unlabelled=unlabelled,
        targets=columns.targets,
        labelled_weights=columns.weights,
        unlabelled_weights=weights[:, None],
        reg=np.full(columns.size, float(settings.reg)),
        reg_unlabeled=np.full(columns.size, float(settings.reg_unlabeled)),
        positive_ratio=columns.ratio,
        disturbance=columns.disturbance,
        memory=plan.lbfgs_memory,
    )


def margin_steps(
    settings: Any,
    problem: MarginProblem,
    columns: Columns,
    start: np.ndarray | None,
    changes: Changes,
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
    changes : StoredChanges or BlockChanges
        Counts unlabelled rows that change class.
    """
    evaluations, supervised = 0, changes.n_rows == 0
    origin = "supervised solution" if start is None else "last fit"
    for stage in margin_stages(settings, problem, start):
        minimum, best = stage.minimum, np.arange(columns.per_run)
        if stage.settled is not None:  # before the last stage restarts differ in their objectives
            best = columns.best(minimum.objective)
        minimum = replace(minimum, values=on_host(minimum.values))
        values = minimum.values[:, best]
        changes.update(minimum, best)
        evaluations += stage.evaluations
        settled = supervised or (stage.settled is not None and bool(stage.settled[best].all()))
        converged = bool(settled and minimum.converged[best].all())
        changed = (
            f"{changes.changed} of {changes.n_rows} unlabelled rows have changed class since the "
            f"{origin}"
        )
        coef, intercept = problem.space.coef_and_intercept(minimum.vectors[:, best], best)
        labelled = minimum.values[problem.labelled]
        yield Step(
            iteration=evaluations,
            function=Function(coef, intercept, values, np.broadcast_to(0.0, values.shape)),
            objective=float(minimum.objective[best].sum()),
            gap=None,
            passes=evaluations if problem.beyond is None else problem.beyond.rows.passes,
            converged=converged,
            leave_one_out=partial(columns.held_out, labelled) if columns.folds else None,
            details={"stage": stage.name, "evaluations": stage.evaluations, "moved": changes.moved},
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


def margin_stages(
    settings: Any, problem: MarginProblem, start: np.ndarray | None = None
) -> Iterator[Stage]:
    """Yield the stages of the solver that the settings of an S3VC name."""
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
