"""Laplacian embedded models: from checked input to a solution.

    targets → plan → virtual targets → problem → solution → predictor

An intermediate function g on the rows is close to the labels and smooth over the graph, and the
model f is fitted to g on all rows: within a tube of width ε, or by least squares. The kernel of g,
that of the graph, gives the virtual targets ỹ, the best g without regard to f.

Chen, Tsang & Xu (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays.device import to_device
from ..arrays.row_units import single_precision_holds
from ..graphs import KNNGraph
from ..kernels.gram import single_precision_suffices
from ..losses import SquaredLoss
from ..messages import warn
from ..operators.base import Operator
from ..operators.low_rank import LowRankOperator
from ..operators.sparse import DiagonalOperator
from ..plan.base import Plan
from ..plan.embedded import plan_embedded_ridge, plan_tube
from ..solvers.embedded_ridge import EmbeddedRidge
from ..solvers.methods import RIDGE_METHODS, Sizes, SolverOptions
from ..solvers.svr import TubeProblem, tube_steps
from ..spaces.graph_kernel import (
    EmbeddedKernel,
    graph_kernel,
    label_precision,
    reduced_precision,
    spectral_embedding,
)
from .kernel_choice import resolve_kernel
from .manifold import build_space, expansion_solution, fit_manifold
from .parameters import draw_seed
from .run import Solution, WarmStart, held_out_values, restored_steps, run_solver
from .targets import Targets


@dataclass(frozen=True)
class GraphPart:
    """The graph kernel of an embedded problem, and what follows from it and the labels.

    Attributes
    ----------
    kernel : Operator
        K_G.
    virtual : ndarray of shape (n, c)
        ỹ = K_G Λ y.
    held_out : ndarray of shape (l, c)
        The same on the labelled rows, each without its own target.
    constant : float
        Smallest energy of g, that of ỹ.
    attributes : dict
        Fitted attributes of the model, by name.
    """

    kernel: Operator
    virtual: np.ndarray
    held_out: np.ndarray
    constant: float
    attributes: dict[str, Any]


def check_embedding(settings: Any, n: int) -> None:
    """Refuse as many eigenvectors as there are rows, or more."""
    k = settings.n_eigenvectors
    if k is not None and k >= n:
        raise ValueError(
            f"n_eigenvectors={k} must be less than the {n} rows: use a smaller number, or None for "
            "the exact graph kernel"
        )


def graph_part(settings: Any, plan: Plan, graph: KNNGraph, targets: Targets) -> GraphPart:
    """Return the graph kernel and the virtual targets: eq. (19)-(20), (25)-(29).

    Without a manifold term the kernel has the labelled rows only, since g is free on the others.
    """
    index, y = targets.index, targets.values
    strengths = label_strengths(settings, targets)
    if plan.graph_kernel is None:
        return GraphPart(DiagonalOperator(1.0 / strengths), y, np.zeros(y.shape), 0.0, {})
    mu, attributes = float(settings.reg_manifold), {}
    precision = label_precision(graph.component_, index, strengths, y)
    if plan.graph_kernel == "low_rank":
        values, vectors = graph_spectrum(graph, int(settings.n_eigenvectors))
        embedding = spectral_embedding(values, vectors, int(graph.power), precision, mu)
        attributes["embedding_"] = embedding
        K_G: Operator = LowRankOperator(embedding)
    else:
        dense = plan.graph_kernel == "dense"
        K_G = graph_kernel(graph.laplacian_, precision, mu, dense=dense)
    weighted = np.zeros((len(precision), targets.n_columns))
    weighted[index] = strengths[:, None] * y
    virtual = K_G @ weighted
    attributes["virtual_targets_"] = one_column_as_vector(targets.restored(virtual))
    own = (K_G.diagonal_at(index) * strengths)[:, None]
    rest = np.where(own < 1.0 - 1e-9, 1.0 - own, np.inf)
    held_out = (virtual[index] - own * y) / rest
    energy = float((weighted[index] * (y - virtual[index])).sum())
    return GraphPart(K_G, virtual, held_out, 0.5 * energy, attributes)


def label_strengths(settings: Any, targets: Targets) -> np.ndarray:
    """Return λ times the weights of the labelled rows."""
    return float(settings.reg_labeled) * targets.weights


def graph_spectrum(graph: KNNGraph, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return k eigenvalues and eigenvectors of the graph, and warn if they miss components."""
    if graph.n_components_ > k:
        warn(
            f"the graph has {graph.n_components_} components and n_eigenvectors is {k}: only the "
            f"{k} largest components are distinguished, and labels in others are not used. Raise "
            "n_eigenvectors, or n_neighbors of the graph"
        )
    return graph.eigenpairs(k)


def one_column_as_vector(columns: np.ndarray) -> np.ndarray:
    """Return a single column as a vector, and several as they are."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def fit_tube(
    settings: Any, X: Any, targets: Targets, graph: KNNGraph, start: WarmStart | None
) -> Solution:
    """Plan, build and solve an embedded problem of the ε-insensitive loss: eq. (14) and (18).

    Kernel and graph kernel are added entry by entry, when the decomposition uses them; their sum is
    never formed as a matrix.

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
    used, rows = np.arange(sizes.n_rows), X
    if supervised:
        used = targets.index
        rows = X[np.ix_(used, used)] if kernel is None else X[used]
    shape = sizes.n_rows, sizes.n_columns
    first = start.coef[used] if start is not None and start.coef.shape == shape else None
    problem, precise = _problems(settings, plan, rows, part, targets)
    steps = tube_steps(problem, precise, tol=settings.tol, memory=plan.cache_bytes, start=first)
    steps = restored_steps(steps, targets)
    step, result = run_solver(settings, plan.method, steps, settings.max_iter)
    f = step.function
    coef = np.zeros(shape)
    coef[used] = f.coef
    converged = result.status == "converged"
    if converged and not coef.any():
        _warn_of_constant(settings, part, targets.scale)
    held_out = targets.restored(part.held_out)
    found = expansion_solution(kernel, X, replace(f, coef=coef), held_out, result)
    if supervised or not converged:  # values of rows that were set aside are not up to date
        values = found.predictor.values(X)
    else:
        values = f.values - part.kernel @ f.coef
    return replace(found, values=values).with_attributes(**part.attributes)


def _problems(
    settings: Any, plan: Plan, X: Any, part: GraphPart, targets: Targets
) -> tuple[TubeProblem, Callable[[], TubeProblem] | None]:
    """Return the problem and, if its entries are rounded, a function that makes a precise one."""
    kernel, there = plan.kernel, to_device(X) if plan.on_device else X
    C, epsilon = (targets.without_unit(n, getattr(settings, n)) for n in ("C", "epsilon"))

    def problem(rows: Any, dtype: type) -> TubeProblem:
        entries = EmbeddedKernel(kernel, rows, part.kernel)
        return TubeProblem(
            submatrix=entries.submatrix,
            values=entries.values,
            targets=part.virtual,
            C=C,
            epsilon=epsilon,
            fit_intercept=bool(settings.fit_intercept),
            dtype=dtype,
            constant=part.constant,
            where=entries.where,
        )

    if kernel is None:
        return problem(X, np.float64), None
    if not kernel.is_user_defined and single_precision_holds(X):
        rounded = kernel.prepare(there, np.float32)
        if single_precision_suffices(kernel, rounded):
            return problem(rounded, np.float32), lambda: problem(kernel.prepare(there), np.float64)
    return problem(kernel.prepare(there), np.float64), None


def _warn_of_constant(settings: Any, part: GraphPart, scale: float) -> None:
    """Warn that all dual coefficients are zero, unless the virtual targets are constant."""
    span = scale * float(np.ptp(part.virtual, axis=0).max())
    if span == 0:
        return
    name = "epsilon" if span <= 2.0 * settings.epsilon else "tol"
    warn(
        f"{name}={getattr(settings, name):g} is so large that a constant meets the stopping "
        f"criterion for the virtual targets, which span {span:.3g}: predictions are constant. "
        f"Lower {name}"
    )


def fit_embedded_least_squares(
    settings: Any, X: Any, targets: Targets, graph: KNNGraph, start: WarmStart | None
) -> Solution:
    """Plan, build and solve an embedded problem of the squared loss: eq. (31).

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
    if settings.n_eigenvectors is not None and settings.reg_manifold > 0:
        return _fit_eigenvectors(settings, X, targets, graph, start)
    # With g = f + ξ, the errors ξ are functions of the kernel I/C: this is LapRLS of g with the
    # kernel K + I/C.
    return fit_manifold(
        settings,
        X,
        targets,
        SquaredLoss(),
        graph,
        start,
        reg_ambient=1.0,
        loss_weight=float(settings.reg_labeled),
        ridge=1.0 / float(settings.C),
    )


def _fit_eigenvectors(
    settings: Any, X: Any, targets: Targets, graph: KNNGraph, start: WarmStart | None
) -> Solution:
    """Solve the problem for g in the span of eigenvectors: one block of systems with the kernel."""
    kernel, sizes = resolve_kernel(settings, X), Sizes.of(X, targets.values)
    plan = plan_embedded_ridge(
        kernel,
        sizes,
        n_eigenvectors=int(settings.n_eigenvectors),
        solver=settings.solver,
        memory_limit=settings.memory_limit,
    )
    seed = draw_seed(settings.random_state) if start is None else start.seed
    index, strengths = targets.index, label_strengths(settings, targets)
    mu, power = float(settings.reg_manifold), int(graph.power)
    precision = label_precision(graph.component_, index, strengths, targets.values)
    values, vectors = graph_spectrum(graph, int(settings.n_eigenvectors))
    embedding = spectral_embedding(values, vectors, power, precision, mu)
    unlabelled = precision.copy()
    unlabelled[index] = 0.0
    problem = EmbeddedRidge(
        gram=build_space(plan, X)[0].gram,
        ridge=1.0 / float(settings.C),
        basis=vectors,
        penalty=reduced_precision(values, vectors, power, unlabelled, mu),
        labelled=index,
        targets=targets.values,
        label_precision=strengths,
        fit_intercept=bool(settings.fit_intercept),
    )
    options = SolverOptions(settings.tol, np.random.default_rng(seed))
    steps = restored_steps(RIDGE_METHODS[plan.method].run(problem, options), targets)
    step, result = run_solver(settings, plan.method, steps, settings.max_iter)
    held_out = held_out_values(step, index)
    found = expansion_solution(kernel, X, step.function, held_out, result, seed=seed)
    virtual = embedding @ (embedding[index].T @ (strengths[:, None] * targets.values))
    return found.with_attributes(
        embedding_=embedding, virtual_targets_=one_column_as_vector(targets.restored(virtual))
    )
