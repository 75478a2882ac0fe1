"""One loop for all solvers: history, time, stopping, callbacks and logging.

A solver is a generator of steps and knows none of these; the driver knows no mathematics.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..spaces import Function

logger = logging.getLogger("lapwing")

#: Called after each step; a true return value stops the solver.
Callback = Callable[["Step"], object]


@dataclass(frozen=True)
class Step:
    """Where a solver stands.

    Attributes
    ----------
    iteration : int
        Number of iterations done.
    function : Function
        The current solution.
    objective : float
        Objective, summed over the columns.
    gap : float or None
        Upper bound of objective − optimum, where it is known.
    passes : int
        Products with the Gram matrix so far.
    converged : bool
        Whether the solver itself is content.
    leave_one_out : callable or None
        Gives the values on the labelled rows, each without the help of its own label.
    details : mapping
        What else the history should say of this step.
    remark : str
        What is known of the solution, where it is not a distance from the optimum.
    """

    iteration: int
    function: Function
    objective: float
    gap: float | None
    passes: int
    converged: bool = False
    leave_one_out: Callable[[], np.ndarray] | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    remark: str = ""


class StoppingRule(Protocol):
    """Looks at a step and gives a reason to stop, or None to go on."""

    def __call__(self, step: Step) -> str | None:
        """Return the reason, or None."""


@dataclass(frozen=True)
class SolverResult:
    """How a fit ended.

    Attributes
    ----------
    status : {"converged", "stopped_early", "interrupted", "not_converged"}
        What happened.
    message : str
        The same for people, with what to do next.
    solver : str
        The method that ran.
    n_iter : int
        Iterations done.
    objective : float or None
        Final objective, summed over the columns; None where it is not computed.
    gap : float or None
        Certified bound of objective − optimum; None where the solver has none.
    passes : int
        Products with the Gram matrix, or passes over the rows where there is none.
    seconds : float
        Wall-clock time of the solver.
    history : list of dict
        One entry a step: iteration, seconds, objective, gap, passes, and the step's details.
    """

    status: str
    message: str
    solver: str
    n_iter: int
    objective: float | None
    gap: float | None
    passes: int
    seconds: float
    history: list[dict] = field(repr=False)

    @property
    def relative_gap(self) -> float | None:
        """The certified gap over the objective."""
        if self.gap is None or self.objective is None:
            return None
        return self.gap / max(self.objective, 1e-300)


def drive(
    name: str,
    steps: Iterator[Step],
    *,
    max_iter: int,
    rules: Sequence[StoppingRule] = (),
    callback: Callback | None = None,
) -> tuple[Step, SolverResult]:
    """Run a solver until it converges, a rule or the callback stops it, or max_iter is reached.

    Returns
    -------
    step : Step
        The last step, with the solution.
    result : SolverResult
        How it ended.
    """
    start = time.perf_counter()
    history: list[dict] = []
    status, reason = "not_converged", ""
    for step in steps:
        seconds = time.perf_counter() - start
        entry = {
            "iteration": step.iteration,
            "seconds": seconds,
            "objective": step.objective,
            "gap": step.gap,
            "passes": step.passes,
            **step.details,
        }
        history.append(entry)
        logger.debug("%s %s", name, entry)
        if callback is not None and callback(step):
            status = "interrupted"
            break
        if step.converged:
            status = "converged"
            break
        reasons = [found for rule in rules if (found := rule(step)) is not None]
        if reasons:
            status, reason = "stopped_early", reasons[0]
            break
        if step.iteration >= max_iter:
            break
    else:  # the solver itself gave up
        reason = "exhausted"
    result = SolverResult(
        status=status,
        message=_message(status, reason, step, max_iter),
        solver=name,
        n_iter=step.iteration,
        objective=step.objective,
        gap=step.gap,
        passes=step.passes,
        seconds=time.perf_counter() - start,
        history=history,
    )
    logger.info("%s: %s", name, result.message)
    return step, result


def _message(status: str, reason: str, step: Step, max_iter: int) -> str:
    known = step.remark or (
        "its distance from the optimum is not known"
        if step.gap is None
        else f"objective {step.objective:.6g} is at most {step.gap:.2g} above the optimum"
    )
    if status == "converged":
        return f"Converged after {step.iteration} iterations: {known}."
    if status == "stopped_early":
        return f"Stopped early after {step.iteration} iterations: {reason}; {known}."
    if status == "interrupted":
        return f"Stopped by the callback after {step.iteration} iterations: {known}."
    if reason == "exhausted" and step.remark:
        return f"Not converged after {step.iteration} iterations: {known}."
    if reason == "exhausted":
        return (
            f"Not converged after {step.iteration} iterations, where rounding allows no more: "
            f"{known}. Raise tol, weigh the norm more, lower reg_manifold, or rescale the rows so "
            "that kernel values are of order one."
        )
    return (
        f"Not converged after {step.iteration} iterations: {known}. Raise max_iter (now "
        f"{max_iter}; memory_limit may lower it) or tol, weigh the norm more (reg_ambient up, or C "
        "down), or use fewer "
        "unlabelled rows."
    )
