"""The loop that runs all solvers: history, time, stopping, callbacks and logging.

A solver is a generator of steps and knows none of these. The driver knows no mathematics.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..spaces.function import Function

logger = logging.getLogger("lapwing")

#: Called after each step; a true return value stops the solver.
Callback = Callable[["Step"], object]
#: Called after each step; returns the reason to stop, or None to continue.
StoppingRule = Callable[["Step"], str | None]


@dataclass(frozen=True)
class Step:
    """The state of a solver after an iteration.

    Attributes
    ----------
    iteration : int
        Number of iterations done.
    function : Function
        The current solution.
    objective : float
        Objective, summed over the columns.
    gap : float or None
        Upper bound of objective − optimum, rounding included, if it is known.
    passes : int
        Number of products with the Gram matrix so far.
    converged : bool
        Whether the stopping criterion of the solver is met.
    leave_one_out : callable or None
        Returns the values on the labelled rows, each computed without its own label.
    estimated_gap : float or None
        Estimate of objective − optimum where the bound is not worth its cost in each step.
    certified : callable or None
        Returns this step with its gap, if that was not computed.
    details : mapping
        Further entries of this step for the history.
    remark : str
        What is known about the solution beside the gap; used in the message of the result.
    """

    iteration: int
    function: Function
    objective: float
    gap: float | None
    passes: int
    converged: bool = False
    leave_one_out: Callable[[], np.ndarray] | None = None
    estimated_gap: float | None = None
    certified: Callable[[], Step] | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True)
class SolverResult:
    """The outcome of a fit.

    Attributes
    ----------
    status : {"converged", "stopped_early", "interrupted", "not_converged"}
        How the solver ended.
    message : str
        Description of the outcome, with advice if the solver did not converge.
    solver : str
        Name of the solver.
    n_iter : int
        Number of iterations.
    objective : float or None
        Final objective, summed over the columns; None where it is not computed.
    gap : float or None
        Certified bound of objective − optimum; None if the solver has none.
    passes : int
        Number of products with the Gram matrix, or of passes over the rows where there is none.
    seconds : float
        Wall-clock time of the solver.
    history : list of dict
        One entry per step: iteration, seconds, objective, gap, passes, and the step's details; some
        solvers estimate the gap on the way (``estimated_gap``) and certify the last step.
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
        """The certified gap divided by the objective."""
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

    Parameters
    ----------
    name : str
        Name of the solver, for the result and the log.
    steps : iterator of Step
        The solver.
    max_iter : int
        Number of iterations after which to stop.
    rules : sequence of StoppingRule
        Rules that may stop the solver early.
    callback : callable, optional
        Called with each step; a true return value stops the solver.

    Returns
    -------
    step : Step
        The last step, with the solution.
    result : SolverResult
        The outcome.
    """
    start = time.perf_counter()
    history: list[dict] = []
    status, reason = "not_converged", ""
    for step in steps:
        history.append(_entry(step, time.perf_counter() - start))
        logger.debug("%s %s", name, history[-1])
        if callback is not None and callback(step):
            status = "interrupted"
            break
        if step.converged:
            status = "converged"
            break
        reason = next(filter(None, [rule(step) for rule in rules]), "")
        if reason:
            status = "stopped_early"
            break
        if step.iteration >= max_iter:
            break
    else:  # the solver ended without convergence
        reason = "exhausted"
    if step.certified is not None:
        step = step.certified()
        history[-1] = _entry(step, time.perf_counter() - start)
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


def _entry(step: Step, seconds: float) -> dict:
    """Return a step as an entry of the history."""
    entry = {
        "iteration": step.iteration,
        "seconds": seconds,
        "objective": step.objective,
        "gap": step.gap,
        "passes": step.passes,
    }
    if step.estimated_gap is not None:
        entry["estimated_gap"] = step.estimated_gap
    return {**entry, **step.details}


def _message(status: str, reason: str, step: Step, max_iter: int) -> str:
    known = step.remark or "its distance from the optimum is not known"
    if step.gap is not None:
        gap = (
            f"objective {step.objective:.6g} is at most {max(step.gap, 0.0):.2g} above the optimum"
        )
        known = f"{step.remark}; {gap}" if step.remark else gap
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
            f"Not converged after {step.iteration} iterations, where rounding prevents further "
            f"progress: {known}. Raise tol, increase the weight of the norm, lower reg_manifold, "
            "or rescale the rows so that kernel values are of order one."
        )
    return (
        f"Not converged after {step.iteration} iterations: {known}. Raise max_iter (now "
        f"{max_iter}; memory_limit may lower it) or tol, increase the weight of the norm (raise "
        "reg_ambient, or lower C), or use fewer unlabelled rows."
    )
