"""S3VC from checked input to a solution.

    targets → columns → plan → space → problem → solution → predictor

Every station is a value; nothing is stored on the estimator before the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..messages import warn
from ..plan import Sizes, plan_margin
from ..solvers import MarginProblem, decisions
from ..spaces import Landmarks, LinearSpace, Space
from .kernel_choice import resolve_kernel
from .landmarks import make_landmarks
from .manifold import build_space, expanded, kernel_model
from .margin_columns import Columns, make_columns
from .margin_problem import margin_problem, margin_steps
from .parameters import draw_seed
from .run import Solution, WarmStart, held_out_values, previous_solution, run_solver
from .targets import Targets

#: Share of the unlabelled rows in one class that deserves a warning, if the ratio expects less.
_ONE_SIDED, _EXPECTED = 0.99, 0.95
#: Probability below which it is no chance that all rows are in one class.
_BY_CHANCE = 0.01


@dataclass(frozen=True, kw_only=True)
class MarginStart(WarmStart):
    """What a later fit of S3VC to the same rows begins with.

    Attributes
    ----------
    basis : tuple
        The parameters under which coefficients mean the same.
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
    columns = make_columns(
        settings, targets, supervised=len(unlabelled) == 0, warm=last is not None, rng=for_columns
    )
    kernel = resolve_kernel(settings, X)
    plan = plan_margin(
        kernel,
        Sizes.of(X, columns.targets),
        solver=settings.solver,
        n_landmarks=settings.n_landmarks,
        landmarks=settings.landmarks,
        memory_limit=settings.memory_limit,
    )
    landmarks: Landmarks | None = None
    if plan.space == "landmarks":
        landmarks = make_landmarks(plan, X, for_landmarks, start, settings.landmarks)
        space: Space = LinearSpace(landmarks.features.values)
    else:
        space, _ = build_space(plan, X, exactly=True)
    problem = margin_problem(settings, space, targets, unlabelled, columns, plan.lbfgs_memory)
    steps = margin_steps(settings, problem, columns, _first_vectors(problem, last))
    step, result = run_solver(settings, plan.method, steps, plan.max_iter)
    f = step.function
    warn_of_one_class(targets, unlabelled, columns, f.values)
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
    """Return what the last fit left, if it is wanted and means the same for these rows."""
    start = previous_solution(model, X, refit)
    if not isinstance(start, MarginStart) or start.basis != _basis(model):
        return None
    return start


def unlabelled_rows(settings: Any, targets: Targets) -> np.ndarray:
    """Return the indices of the unlabelled rows that are used; none if the model is supervised.

    ``settings`` is an S3VC; ``reg_unlabeled`` and ``unlabeled`` are read.
    """
    index = np.flatnonzero(~targets.labelled & (targets.row_weights > 0))
    if len(index) == 0:
        warn(
            "no row is unlabelled: this is the supervised model. Mark unlabelled rows of y by "
            f"{settings.unlabeled!r}, None or NaN"
        )
    return index if settings.reg_unlabeled > 0 else index[:0]


def warn_of_one_class(
    targets: Targets, unlabelled: np.ndarray, columns: Columns, values: np.ndarray
) -> None:
    """Warn if nearly all unlabelled rows are in one class though labels or ratio say otherwise.

    ``values`` are those of all rows, shape (n, per_run).
    """
    if len(unlabelled) == 0:
        return
    assert targets.classes is not None
    counts = np.bincount(decisions(values[unlabelled]).astype(int))
    largest = int(counts.argmax())
    share = counts[largest] / len(unlabelled)
    positive = columns.positive_ratio
    if positive is None:
        positive = ((columns.targets > 0) * columns.weights).sum(axis=0)
    shares = [1.0 - positive[0], positive[0]] if len(targets.classes) == 2 else positive
    expected = shares[largest]
    by_chance = expected ** len(unlabelled)  # a few rows may well be of one class
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
    """Return the last solution as vectors, unless features of other rows are fewer or more."""
    if last is None or last.coef.shape[0] != problem.space.space.n_coef:
        return None
    return problem.space.vectors(last.coef, last.intercept)
