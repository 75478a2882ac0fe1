"""Embedded models of the ε-insensitive loss: f within a tube around g, on all rows.

Chen, Tsang & Xu (2012), eq. (14) and (18). Kernel and graph kernel are added entry by entry, when
the decomposition uses them; they never meet in one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..graphs import KNNGraph
from ..kernels import Kernel, single_precision_suffices
from ..messages import warn
from ..plan import Sizes, plan_tube
from ..solvers import TubeProblem, tube_steps
from ..spaces import EmbeddedKernel
from .kernel_choice import resolve_kernel
from .manifold import expansion_solution
from .run import Solution, WarmStart, run_solver
from .targets import Targets
from .virtual_targets import GraphPart, graph_part


def fit_tube(
    settings: Any, X: Any, targets: Targets, graph: KNNGraph, start: WarmStart | None
) -> Solution:
    """Plan, build and solve an embedded problem of the ε-insensitive loss.

    Parameters
    ----------
    settings : object
        The estimator, of which parameters are read.
    X : array or CSR matrix
        Checked rows, or their Gram matrix.
    targets : Targets
        Their labels.
    graph : KNNGraph
        Fitted to the rows.
    start : WarmStart or None
        The last solution.
    """
    kernel, sizes = resolve_kernel(settings, X), Sizes.of(X, targets.values)
    plan = plan_tube(
        kernel,
        sizes,
        n_eigenvectors=settings.n_eigenvectors,
        reg_manifold=settings.reg_manifold,
        memory_limit=settings.memory_limit,
    )
    part = graph_part(settings, plan, graph, targets)
    supervised = plan.graph_kernel is None
    used = targets.index if supervised else np.arange(sizes.n_rows)
    shape = sizes.n_rows, sizes.n_columns
    first = start.coef[used] if start is not None and start.coef.shape == shape else None
    problem, precise = _problems(
        settings, kernel, _subset(X, used, kernel) if supervised else X, part
    )
    steps = tube_steps(problem, precise, tol=settings.tol, memory=plan.cache_bytes, start=first)
    step, result = run_solver(settings, plan.method, steps, settings.max_iter)
    f = step.function
    coef = np.zeros(shape)
    coef[used] = f.coef
    converged = result.status == "converged"
    if converged and not coef.any():
        _warn_of_constant(settings, part)
    found = expansion_solution(kernel, X, replace(f, coef=coef), part.held_out, result)
    if supervised or not converged:  # values of rows that were set aside are not up to date
        values = found.predictor.values(X)
    else:
        values = f.values - part.kernel @ f.coef
    return replace(found, values=values).with_attributes(**part.attributes)


def _problems(
    settings: Any, kernel: Kernel | None, X: Any, part: GraphPart
) -> tuple[TubeProblem, Callable[[], TubeProblem] | None]:
    """Return the problem and, if its entries are rounded, a function that makes a precise one."""

    def problem(rows: Any, dtype: type) -> TubeProblem:
        entries = EmbeddedKernel(kernel, rows, part.kernel)
        return TubeProblem(
            submatrix=entries.submatrix,
            values=entries.values,
            targets=part.virtual,
            C=float(settings.C),
            epsilon=float(settings.epsilon),
            fit_intercept=bool(settings.fit_intercept),
            dtype=dtype,
            constant=part.constant,
        )

    if kernel is None:
        return problem(X, np.float64), None
    if not kernel.is_user_defined:
        rounded = kernel.prepare(X, np.float32)
        if single_precision_suffices(kernel, rounded):
            return problem(rounded, np.float32), lambda: problem(kernel.prepare(X), np.float64)
    return problem(kernel.prepare(X), np.float64), None


def _subset(X: Any, index: np.ndarray, kernel: Kernel | None) -> Any:
    """Return some of the rows; of a Gram matrix also the same columns."""
    return X[np.ix_(index, index)] if kernel is None else X[index]


def _warn_of_constant(settings: Any, part: GraphPart) -> None:
    """Warn that no row has a dual coefficient."""
    span = float(np.ptp(part.virtual, axis=0).max())
    name = "epsilon" if span <= 2.0 * settings.epsilon else "tol"
    warn(
        f"{name}={getattr(settings, name):g} is so large that a constant meets the stopping "
        f"criterion for the virtual targets, which span {span:.3g}: predictions are constant. "
        f"Lower {name}, or scale the targets up"
    )
