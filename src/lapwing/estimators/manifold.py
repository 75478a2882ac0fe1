"""Manifold-regularised models: from checked input to a solution, for any loss.

    targets → graph → plan → problem → solution → predictor

Each of these is a value; nothing is stored on the estimator before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays.device import to_device
from ..graphs import KNNGraph
from ..kernels.functions import Kernel
from ..kernels.gram import dense_operator, gram_operator, single_precision_suffices
from ..losses import Loss
from ..operators.base import Operator
from ..plan.base import Plan
from ..plan.manifold import plan_landmarks, plan_manifold
from ..risk import RegularizedRisk
from ..solvers.driver import SolverResult, Step, StoppingRule
from ..solvers.methods import RISK_METHODS, Sizes, SolverOptions
from ..spaces.features import Landmarks
from ..spaces.function import Function
from ..spaces.kernel_space import KernelSpace, LinearSpace, Space
from ..spaces.predictors import KernelExpansion, LinearFunction, Predictor
from .kernel_choice import resolve_kernel
from .landmarks import check_landmarks, make_landmarks
from .parameters import draw_seed
from .run import Solution, WarmStart, held_out_values, restored_steps, run_solver
from .targets import Targets

#: Makes stopping rules from a function that gives the predictor of a step.
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
        Added to the diagonal of the Gram matrix. Its contribution to the solution is left out of
        the values, as it is left out of predictions.
    rules : callable, optional
        Makes stopping rules of the iterative solvers.
    """
    kernel = resolve_kernel(settings, X)
    sizes = Sizes.of(X, targets.values, is_quadratic=loss.is_quadratic)
    seed = draw_seed(settings.random_state) if start is None else start.seed
    rng, memory = np.random.default_rng(seed), {"memory_limit": settings.memory_limit}
    landmarks: Landmarks | None = None
    exact: Operator | None = None
    if getattr(settings, "n_landmarks", None) is None:
        choices = {"solver": settings.solver, "reg_manifold": settings.reg_manifold}
        plan = plan_manifold(kernel, sizes, ridge=ridge, **choices, **memory)
        space, exact = build_space(plan, X, ridge, exactly=settings.reg_manifold == 0)
    else:
        check_landmarks(settings)
        plan = plan_landmarks(kernel, sizes, settings.n_landmarks, **memory)
        landmarks = make_landmarks(plan, X, rng, start)
        space = LinearSpace(landmarks.features.values)
        rules = None  # one exact step needs none
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

    first = None if start is None else (start.coef, start.intercept)
    steps = RISK_METHODS[plan.method].run(risk, SolverOptions(settings.tol, rng, first, exact))
    steps = restored_steps(steps, targets)
    max_iter = min(settings.max_iter, plan.max_iter)
    checks = () if rules is None else rules(predictor)
    step, result = run_solver(settings, plan.method, steps, max_iter, checks)
    f = step.function
    if ridge > 0:
        f = replace(f, values=f.values - ridge * f.coef)
    held_out = held_out_values(replace(step, function=f), targets.index)
    if plan.space == "expansion":
        return expansion_solution(kernel, X, f, held_out, result, seed=seed)
    f, centres = expanded(landmarks, f, kernel, X)
    start = WarmStart(seed, f.coef, f.intercept, centres)
    return _kernel_solution(kernel, X, f, held_out, result, start)


def build_space(
    plan: Plan, X: Any, ridge: float = 0.0, *, exactly: bool = False
) -> tuple[Space, Operator | None]:
    """Return the space of a plan, and K in double precision where the stored one is rounded.

    ``exactly`` keeps rows in double precision whatever the storage.
    """
    kernel, storage = plan.kernel, plan.storage
    if kernel is None:
        return KernelSpace(dense_operator(X, ridge)), None
    moves = plan.on_device and kernel.uses_device
    prepared = double = kernel.prepare(to_device(X) if moves else X)
    gram = exact = None
    if storage is not None:
        rounded = not exactly and storage not in ("float64", "triangle64")
        if rounded and single_precision_suffices(kernel, prepared):
            prepared = kernel.prepare(X, np.float32)
        gram = gram_operator(kernel, prepared, storage, ridge)
        if plan.method == "manifold_cg" and (prepared is not double or storage == "triangle32"):
            exact = gram_operator(kernel, double, "tiled", ridge)
    if plan.space == "linear":
        return LinearSpace(to_device(double.data) if plan.on_device else double.data, gram), exact
    assert gram is not None
    return KernelSpace(gram), exact


def expanded(
    landmarks: Landmarks | None, f: Function, kernel: Kernel | None, X: Any
) -> tuple[Function, np.ndarray | None]:
    """Return a function of landmark features as an expansion, and the centres that it is over.

    Without landmarks the function is returned as it is; without centres it is over the rows.
    """
    if landmarks is None:
        return f, None
    return replace(f, coef=landmarks.expansion(f.coef, kernel, X)), landmarks.centres


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
    return found.with_attributes(support_=np.flatnonzero(f.coef.any(axis=1)))


def _kernel_solution(
    kernel: Kernel | None,
    X: Any,
    f: Function,
    held_out: np.ndarray,
    result: SolverResult,
    start: WarmStart,
) -> Solution:
    """Return the solution for coefficients of rows, of centres, or of columns if it is linear."""
    predictor, attributes = kernel_model(kernel, X, f, start.centres)
    return Solution(predictor, result, f.values, held_out, {**attributes, "_start": start})


def kernel_model(
    kernel: Kernel | None, X: Any, f: Function, centres: np.ndarray | None = None
) -> tuple[Predictor, dict[str, Any]]:
    """Return the function with the coefficients of f, and the fitted attributes of a kernel model.

    The coefficients are those of the rows X, of the centres, or of the columns if it is linear.
    """
    points = X if centres is None else centres
    predictor = expansion_predictor(kernel, points, f.coef, f.intercept)
    attributes = {"kernel_": kernel, "X_fit_": X, "intercept_": f.intercept}
    if centres is not None:
        attributes["landmarks_"] = centres
    if kernel is not None and kernel.is_linear:
        attributes |= {"coef_": f.coef.T, "support_": np.arange(X.shape[0])}
    else:
        support = np.flatnonzero(np.any(f.coef != 0, axis=1))
        attributes |= {"dual_coef_": f.coef.T, "support_": support}
    return predictor, attributes


def expansion_predictor(
    kernel: Kernel | None, points: Any, coef: np.ndarray, intercept: np.ndarray
) -> Predictor:
    """Return the function with these coefficients: of points, or of columns if it is linear."""
    if kernel is None or kernel.is_linear:
        return LinearFunction(coef, intercept, kernel)
    return KernelExpansion(kernel, points, coef, intercept)
