"""Embedded models of the squared loss: f near g on all rows.

Chen, Tsang & Xu (2012), eq. (31). In the span of eigenvectors of the graph the kernel enters by one
block of linear systems; with a free g it is a manifold-regularised problem of another kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graphs import KNNGraph
from ..losses import SquaredLoss
from ..plan import Sizes, plan_embedded_ridge
from ..solvers import RIDGE_METHODS, EmbeddedRidge, SolverOptions
from ..spaces import label_precision, reduced_precision, spectral_embedding
from .kernel_choice import resolve_kernel
from .manifold import build_space, expansion_solution, fit_manifold
from .parameters import draw_seed
from .run import Solution, WarmStart, held_out_values, run_solver
from .targets import Targets
from .virtual_targets import graph_spectrum, label_strengths, one_column_as_vector


def fit_embedded_least_squares(
    settings: Any, X: Any, targets: Targets, graph: KNNGraph, start: WarmStart | None
) -> Solution:
    """Plan, build and solve an embedded problem of the squared loss.

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
    """Solve the problem for g in the span of eigenvectors of the graph."""
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
    steps = RIDGE_METHODS[plan.method].run(problem, options)
    step, result = run_solver(settings, plan.method, steps, settings.max_iter)
    held_out = held_out_values(step, index)
    found = expansion_solution(kernel, X, step.function, held_out, result, seed=seed)
    virtual = embedding @ (embedding[index].T @ (strengths[:, None] * targets.values))
    return found.with_attributes(
        embedding_=embedding, virtual_targets_=one_column_as_vector(virtual)
    )
