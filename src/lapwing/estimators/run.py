"""Running a solver for an estimator: warm starts, units, progress, warnings, and the solution.

Solvers fit quantities of mean zero and deviation one (`targets`). What leaves a solver is in the
units of y again: its steps by `restored_steps`, a fitted function by `restored_predictor`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..messages import ProgressLine, warn
from ..solvers.driver import SolverResult, Step, StoppingRule, drive
from ..spaces.predictors import Constant, Predictor, WeightedSum
from .targets import Targets


@dataclass(frozen=True)
class Solution:
    """The outcome of a solver, as an estimator stores it.

    Attributes
    ----------
    predictor : Predictor
        The function of any row.
    result : SolverResult
        How the solver ended.
    values : ndarray of shape (n, c) or (n,), or None
        Values of the training rows, or their class codes; None for rows in blocks.
    held_out : ndarray of shape (l, c) or None
        Values of the labelled rows, each without its own label where that is known; None where
        probabilities have a temperature already.
    attributes : dict
        Fitted attributes, by name.
    of_labelled : ndarray of shape (l, c) or None
        Values of the labelled rows, where ``values`` does not hold them.
    of_unlabelled : ndarray of shape (u, c) or None
        Values of unlabelled rows, or a sample of them, to match class shares with; None where
        ``values`` holds them, or no shares are known.
    """

    predictor: Predictor
    result: SolverResult
    values: np.ndarray | None
    held_out: np.ndarray | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    of_labelled: np.ndarray | None = None
    of_unlabelled: np.ndarray | None = None

    def with_attributes(self, **attributes: Any) -> Solution:
        """Return the solution with more fitted attributes."""
        return replace(self, attributes={**self.attributes, **attributes})

    def shifted(self, offsets: np.ndarray) -> Solution:
        """Return the solution with an offset added to each column, also to its intercept."""
        predictor = WeightedSum((self.predictor, Constant(offsets)))
        values = None if self.values is None else self.values + offsets
        moved = replace(self, predictor=predictor, values=values)
        if "intercept_" not in self.attributes:
            return moved
        return moved.with_attributes(intercept_=self.attributes["intercept_"] + offsets)


@dataclass(frozen=True)
class WarmStart:
    """The values that a later fit to the same rows starts from.

    Attributes
    ----------
    seed : int
        The seed of the last fit, and with it its landmarks.
    coef, intercept : ndarray
        The solution in the coordinates of the solver.
    centres : ndarray or None
        Landmarks that are centres of k-means.
    """

    seed: int
    coef: np.ndarray
    intercept: np.ndarray
    centres: np.ndarray | None = None


def previous_solution(model: Any, X: Any, refit: bool) -> WarmStart | None:
    """Return the solution of the last fit, if it is to be used and has rows of this shape."""
    start = getattr(model, "_start", None)
    if not (refit or model.warm_start) or start is None or model.X_fit_.shape != X.shape:
        return None
    targets = model._targets
    if targets.classes is None:  # as the solver saw it
        coef, intercept = start.coef / targets.scale, start.intercept - targets.level
        start = replace(start, coef=coef, intercept=intercept / targets.scale)
    return start if X is model.X_fit_ else replace(start, centres=None)


def restored_steps(steps: Iterator[Step], targets: Targets) -> Iterator[Step]:
    """Return the steps of a solver in the units of y: functions, objectives and gaps."""
    return steps if targets.classes is not None else (_restored(step, targets) for step in steps)


def _restored(step: Step, targets: Targets) -> Step:
    f, square = step.function.scaled(targets.scale), targets.scale**2
    f = replace(f, intercept=f.intercept + targets.level, values=f.values + targets.level)
    held_out, certified, estimate = step.leave_one_out, step.certified, step.estimated_gap
    return replace(
        step,
        function=f,
        objective=square * step.objective,
        gap=None if step.gap is None else square * step.gap,
        leave_one_out=None if held_out is None else lambda: targets.restored(held_out()),
        estimated_gap=None if estimate is None else square * estimate,
        certified=None if certified is None else lambda: _restored(certified(), targets),
    )


def restored_predictor(function: Predictor, targets: Targets) -> Predictor:
    """Return a function that was fitted to the values of targets in the units of y."""
    if targets.classes is not None:
        return function
    return WeightedSum((function.times(targets.scale), Constant(np.array([targets.level]))))


def run_solver(
    settings: Any,
    method: str,
    steps: Iterator[Step],
    max_iter: int,
    rules: Sequence[StoppingRule] = (),
) -> tuple[Step, SolverResult]:
    """Run a solver, and warn if it does not converge.

    ``settings`` is the estimator; its ``verbose`` and ``callback`` are read, where it has them.
    """
    callback = getattr(settings, "callback", None)
    line = ProgressLine(method)
    if getattr(settings, "verbose", 0):
        callback = _showing(line, callback)
    step, result = drive(method, steps, max_iter=max_iter, rules=rules, callback=callback)
    line.close()
    if result.status == "not_converged":
        warn(result.message, ConvergenceWarning)
    return step, result


def direct_result(
    solver: str,
    started: float,
    *,
    passes: int,
    message: str = "",
    n_iter: int = 1,
    converged: bool = True,
) -> SolverResult:
    """Return the result of a solution in closed form, or of a method that has no steps to drive.

    Parameters
    ----------
    solver : str
        The method.
    started : float
        ``time.perf_counter()`` before it.
    passes : int
        Passes over the rows, or products with the graph.
    message : str, optional
        Default: that the solution is exact.
    n_iter : int, default=1
        Iterations.
    converged : bool, default=True
        Whether the solution is as exact as required.
    """
    return SolverResult(
        status="converged" if converged else "not_converged",
        message=message or "Solved in closed form: exact up to rounding.",
        solver=solver,
        n_iter=n_iter,
        objective=None,
        gap=None,
        passes=passes,
        seconds=time.perf_counter() - started,
        history=[],
    )


def held_out_values(step: Step, index: np.ndarray) -> np.ndarray:
    """Return the values of the labelled rows, each without its own label where that is known."""
    return step.function.values[index] if step.leave_one_out is None else step.leave_one_out()


def _showing(
    line: ProgressLine, callback: Callable[[Step], object] | None
) -> Callable[[Step], object]:
    def show(step: Step) -> object:
        gap = "" if step.gap is None else f", at most {step.gap:.3g} above the optimum"
        line.show(f"iteration {step.iteration}, objective {step.objective:.6g}{gap}")
        return callback(step) if callback is not None else None

    return show
