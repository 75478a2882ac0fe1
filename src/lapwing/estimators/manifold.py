"""Manifold-regularised models: from checked input to a solution, for any loss.

    targets → graph → plan → problem → solution → predictor

Every station is a value; nothing is stored on the estimator before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from ..graphs import KNNGraph
from ..kernels import (
    Kernel,
    dense_operator,
    gram_operator,
    single_precision_suffices,
)
from ..losses import Loss
from ..operators import Operator
from ..plan import Plan, Sizes, plan_landmarks, plan_manifold
from ..risk import RegularizedRisk
from ..solvers import (
    FEW_DIGITS,
    SolverResult,
    Step,
    StoppingRule,
    eliminate,
    eliminate_features,
    manifold_cg,
    pcg,
)
from ..spaces import (
    Function,
    KernelExpansion,
    KernelSpace,
    Landmarks,
    LinearFunction,
    LinearSpace,
    Predictor,
    Space,
    kmeans_landmarks,
    landmark_features,
    submatrix_features,
)
from .graph_choice import label_reach, resolve_graph
from .kernel_choice import resolve_kernel
from .parameters import check_count, check_not_negative, check_positive, draw_seed
from .run import Solution, WarmStart, held_out_values, run_solver
from .targets import Targets

#: Makes stopping rules from the function that a step stands for.
Rules = Callable[[Callable[[Step], Predictor]], Sequence[StoppingRule]]


def fit_manifold(
    settings: Any,
    X: Any,
    targets: Targets,
    loss: Loss,
    graph: KNNGraph,
    start: WarmStart | None,
    *,
    reg_ambient: float,
    loss_weight: float = 1.0,
    ridge: float = 0.0,
    rules: Rules | None = None,
) -> Solution:
    """Plan, build and solve a problem with an ambient norm and a manifold term.

    Parameters
    ----------
    settings : object
        The estimator, of which parameters are read.
    X : array or CSR matrix
        Checked rows, or their Gram matrix.
    targets : Targets
        Their labels.
    loss : Loss
        Loss of the labelled rows.
    graph : KNNGraph
        Fitted to the rows.
    start : WarmStart or None
        The last solution.
    reg_ambient : float
        γ_A, weight of the norm.
    loss_weight : float
        Factor of the losses in ½·(Σ loss + …).
    ridge : float
        Added to the diagonal of the Gram matrix. What the solution owes to it is left out of the
        values, as it is of predictions.
    rules : callable, optional
        Gives stopping rules of the iterative solvers.
    """
    kernel, sizes = resolve_kernel(settings, X), Sizes.of(X, targets.values)
    seed = draw_seed(settings.random_state) if start is None else start.seed
    rng = np.random.default_rng(seed)
    landmarks: Landmarks | None = None
    exact: Operator | None = None
    memory = {"memory_limit": settings.memory_limit}
    if getattr(settings, "n_landmarks", None) is None:
        choices = {"solver": settings.solver, "reg_manifold": settings.reg_manifold}
        plan = plan_manifold(kernel, sizes, ridge=ridge, **choices, **memory)
        space, exact = build_space(plan, X, ridge, exactly=settings.reg_manifold == 0)
    else:
        check_landmarks(settings)
        quadratic = loss.is_quadratic
        plan = plan_landmarks(kernel, sizes, settings.n_landmarks, quadratic=quadratic, **memory)
        landmarks = make_landmarks(plan, X, rng, start)
        space = LinearSpace(landmarks.features.values)
    risk = RegularizedRisk(
        space=space,
        loss=loss,
        labelled=targets.index,
        targets=targets.values,
        weights=loss_weight * targets.weights,
        smoothness=graph.laplacian_,
        reg_ambient=float(reg_ambient),
        reg_manifold=float(settings.reg_manifold),
        fit_intercept=bool(settings.fit_intercept),
    )

    def predictor(step: Step) -> Predictor:
        return expansion_predictor(kernel, X, step.function.coef, step.function.intercept)

    checks: Sequence[StoppingRule] = () if rules is None else rules(predictor)
    if landmarks is not None:
        checks = ()  # one exact step needs none
    steps = _steps(plan, risk, settings.tol, rng, start, exact)
    step, result = _run(settings, plan, steps, checks)
    f = step.function
    if ridge > 0:
        f = replace(f, values=f.values - ridge * f.coef)
        step = replace(step, function=f)
    held_out = held_out_values(step, targets.index)
    if plan.space == "expansion":
        return expansion_solution(kernel, X, f, held_out, result, seed=seed)
    centres = None
    if landmarks is not None:
        centres = landmarks.centres
        f = replace(f, coef=landmarks.expansion(f.coef, kernel, X))
    start = WarmStart(seed, f.coef, f.intercept, centres)
    return _kernel_solution(kernel, X, f, held_out, result, start)


def graph_of_rows(
    model: Any, X: Any, targets: Targets, default: KNNGraph, refit: bool
) -> tuple[KNNGraph, np.ndarray]:
    """Return the graph fitted to the rows, and which of them a label reaches.

    ``refit`` takes the graph of the last fit.
    """
    precomputed = isinstance(model.kernel, str) and model.kernel == "precomputed"
    fitted = resolve_graph(model.graph_ if refit else model.graph, X, default, precomputed)
    used = np.max(model.reg_manifold) > 0
    consequence = "their predictions rest on the kernel alone" if used else ""
    return fitted, label_reach(fitted.component_, targets.index, consequence)


def previous_solution(model: Any, X: Any, refit: bool) -> WarmStart | None:
    """Return the solution of the last fit, if it is wanted and belongs to rows of this shape."""
    start = getattr(model, "_start", None)
    if not (refit or model.warm_start) or start is None or model.X_fit_.shape != X.shape:
        return None
    return start if X is model.X_fit_ else replace(start, centres=None)


def check_regularization(settings: Any) -> None:
    """Refuse weights of the two norms that make no problem."""
    check_positive("reg_ambient", settings.reg_ambient)
    check_not_negative("reg_manifold", settings.reg_manifold)


def check_landmarks(settings: Any) -> None:
    """Refuse a number of landmarks that is none, or a solver that does not go with them."""
    check_count("n_landmarks", settings.n_landmarks)
    if getattr(settings, "solver", "auto") == "pcg":
        raise ValueError(
            "solver='pcg' does not go with n_landmarks, where one small matrix gives the exact "
            "solution: use solver='auto', or n_landmarks=None"
        )


def build_space(
    plan: Plan, X: Any, ridge: float = 0.0, *, exactly: bool = False
) -> tuple[Space, Operator | None]:
    """Return the space of a plan, and K in double precision where the stored one is rounded.

    ``exactly`` keeps rows in double precision whatever the storage.
    """
    kernel, storage = plan.kernel, plan.storage
    if kernel is None:
        return KernelSpace(dense_operator(X, ridge)), None
    prepared = double = kernel.prepare(X)
    gram = exact = None
    if storage is not None:
        rounded = not exactly and storage not in ("float64", "triangle64")
        if rounded and single_precision_suffices(kernel, prepared):
            prepared = kernel.prepare(X, np.float32)
        gram = gram_operator(kernel, prepared, storage, ridge)
        if plan.method == "manifold_cg" and (prepared is not double or storage == "triangle32"):
            exact = gram_operator(kernel, double, "tiled", ridge)
    if plan.space == "linear":
        return LinearSpace(double.data, gram), exact
    assert gram is not None
    return KernelSpace(gram), exact


def make_landmarks(
    plan: Plan, X: Any, rng: np.random.Generator, start: WarmStart | None = None
) -> Landmarks:
    """Return k-means centres with their features, or random rows of a precomputed kernel."""
    m = plan.n_points
    if plan.kernel is None:
        rows = np.sort(rng.choice(X.shape[0], m, replace=False))
        return Landmarks(submatrix_features(np.asarray(X, dtype=np.float64), rows), rows)
    centres = None if start is None else start.centres
    if centres is None or len(centres) != m:
        centres = kmeans_landmarks(X, m, rng)  # which takes longer than the rest of a fit
    return Landmarks(landmark_features(plan.kernel, X, centres), centres=centres)


def expansion_solution(
    kernel: Kernel | None,
    X: Any,
    f: Function,
    held_out: np.ndarray,
    result: SolverResult,
    *,
    seed: int = 0,
) -> Solution:
    """Return the solution for an expansion over the rows.

    It is stored as weights of the columns where the kernel is linear; a warm start keeps the
    expansion itself.
    """
    start = WarmStart(seed, f.coef, f.intercept)
    if kernel is None or not kernel.is_linear:
        return _kernel_solution(kernel, X, f, held_out, result, start)
    weights = np.asarray(kernel.prepare(X).data.T @ f.coef)
    found = _kernel_solution(kernel, X, replace(f, coef=weights), held_out, result, start)
    support = np.flatnonzero(f.coef.any(axis=1))
    return replace(found, attributes={**found.attributes, "support_": support})


def _kernel_solution(
    kernel: Kernel | None,
    X: Any,
    f: Function,
    held_out: np.ndarray,
    result: SolverResult,
    start: WarmStart,
) -> Solution:
    """Return the solution for coefficients of rows, of centres, or of columns if it is linear."""
    attributes = {**kernel_attributes(kernel, X, f, start.centres), "_start": start}
    points = X if start.centres is None else start.centres
    predictor = expansion_predictor(kernel, points, f.coef, f.intercept)
    return Solution(predictor, result, f.values, held_out, attributes)


def expansion_predictor(
    kernel: Kernel | None, points: Any, coef: np.ndarray, intercept: np.ndarray
) -> Predictor:
    """Return the function with these coefficients: of points, or of columns if it is linear."""
    if kernel is None or kernel.is_linear:
        return LinearFunction(coef, intercept, kernel)
    return KernelExpansion(kernel, points, coef, intercept)


def kernel_attributes(
    kernel: Kernel | None, X: Any, f: Function, centres: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the fitted attributes of a kernel model."""
    attributes = {"kernel_": kernel, "X_fit_": X, "intercept_": f.intercept}
    if centres is not None:
        attributes["landmarks_"] = centres
    if kernel is not None and kernel.is_linear:
        return {**attributes, "coef_": f.coef.T, "support_": np.arange(X.shape[0])}
    support = np.flatnonzero(np.any(f.coef != 0, axis=1))
    return {**attributes, "dual_coef_": f.coef.T, "support_": support}


def _run(
    settings: Any, plan: Plan, steps: Iterator[Step], rules: Sequence[StoppingRule]
) -> tuple[Step, SolverResult]:
    max_iter = min(settings.max_iter, plan.max_iter)
    try:
        return run_solver(settings, plan.method, steps, max_iter, rules)
    except LinAlgError as error:
        raise ValueError(f"no solution in double precision: {FEW_DIGITS}") from error


def _steps(
    plan: Plan,
    risk: RegularizedRisk,
    tol: float,
    rng: np.random.Generator,
    start: WarmStart | None,
    exact: Operator | None,
) -> Iterator[Step]:
    if plan.method == "pcg":
        return pcg(risk, _first_function(risk, start), tol)
    if plan.method == "manifold_cg":
        expansion = None
        if start is not None and plan.space == "expansion" and len(start.coef) == risk.n_rows:
            expansion = start.coef
        return manifold_cg(risk, tol=tol, rng=rng, start=expansion, exact=exact)
    return (eliminate_features if plan.method == "eliminate_features" else eliminate)(risk, tol)


def _first_function(risk: RegularizedRisk, start: WarmStart | None) -> Function | None:
    """Return a warm start as a function, or None if it does not fit the problem."""
    if start is None or start.coef.shape != (risk.space.n_coef, risk.n_columns):
        return None
    coef, intercept = start.coef, start.intercept
    values = risk.space.values_of(coef) + intercept
    return Function(coef, intercept, values, risk.smoothness @ values)
