"""The whole grid of (γ_A, γ_I), with all folds and classes, from one reduction for each ratio.

For each ratio μ = γ_I/γ_A the problem is reduced to the labelled rows once; every γ_A, every fold
and every class is then an l × l problem. Folds hide labels and not rows: a held-out row stays in
the graph as an unlabelled one, as the rows that the model will predict. Does not know how values
are scored; that is the task of `grid_scores`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np

from ..estimators.folds import Fold, fold_weights, labelled_folds
from ..estimators.graph_choice import label_reach, resolve_graph
from ..estimators.kernel_choice import resolve_kernel
from ..estimators.landmarks import check_landmarks, make_landmarks
from ..estimators.manifold import kernel_model
from ..estimators.parameters import (
    Check,
    check_not_negative,
    check_positive,
    check_width,
    draw_seed,
    each,
    is_word,
)
from ..estimators.run import Solution, WarmStart, held_out_values, restored_steps, run_solver
from ..estimators.targets import Targets
from ..graphs import KNNGraph
from ..kernels.functions import Kernel
from ..losses import Loss
from ..messages import warn
from ..plan.base import Plan
from ..plan.grid import plan_basis
from ..risk import RegularizedRisk
from ..solvers.driver import Step
from ..solvers.elimination import certified_step
from ..solvers.methods import Sizes
from ..solvers.reduction import BasisReductions, Reduction, ratio_of
from ..spaces.basis import Basis, column_basis, kernel_basis, landmark_basis
from ..spaces.function import Function
from ..spaces.kernel_space import LinearSpace
from .grid_scores import Cell, make_scorer, score_cell, table_attributes

#: The values of Melacci and Belkin (2011), §6, for γ_A and for γ_I.
GRID = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 100.0)
WEIGHTS = ("reg_ambient", "reg_manifold")


def _check_graphs(name: str, value: Any) -> None:
    if isinstance(value, (list, tuple)) and len(value) == 0:
        raise ValueError(f"{name} is an empty list: give at least one graph, or None")


#: Checks of the parameters of which several values may be tried.
CHECKS: dict[str, Check] = {
    "gamma": each(check_width),
    "graph": _check_graphs,
    "reg_ambient": each(check_positive),
    "reg_manifold": each(check_not_negative),
}
#: Number of folds where the user gives none and leave-one-out has no closed form.
_FOLDS = 5
#: Relative gap of the objective up to which a solution counts as exact.
_TOL = 1e-3


@dataclass(frozen=True)
class GridProblem:
    """The data, folds and weights that all cells of a grid share.

    Attributes
    ----------
    X : array or CSR matrix
        Checked rows, or their Gram matrix.
    targets : Targets
        Their labels.
    loss : Loss
        Loss of the labelled rows.
    weights : list of (γ_A, γ_I)
        The pairs to try.
    folds : list of Fold
        Indices among the labelled rows; none where there are too few labels to compare.
    fold_weights : list of ndarray of shape (l,)
        For each fold the weights of the losses, zero for labels that are held out.
    closed : bool
        Whether there is one fold that uses and scores all labels, by leave-one-out in closed form.
    """

    X: Any
    targets: Targets
    loss: Loss
    weights: list[tuple[float, float]]
    folds: list[Fold]
    fold_weights: list[np.ndarray]
    closed: bool

    def compared(self, choices: list) -> list:
        """Return the choices that are compared: the first one, where there are no folds."""
        return choices if self.folds else choices[:1]


@dataclass(frozen=True)
class ReducedGrid:
    """The grid of one kernel and one graph: the reductions of all ratios.

    Attributes
    ----------
    kernel : Kernel or None
        The kernel; None if X contains its values.
    graph : KNNGraph
        Fitted to the rows.
    basis : Basis
        Coordinates of the rows.
    reductions : dict
        One `Reduction` for each ratio.
    params : dict
        The kernel's width and the graph, as the user gave them, where several are tried.
    """

    kernel: Kernel | None
    graph: KNNGraph
    basis: Basis
    reductions: dict[float, Reduction]
    params: dict[str, Any]


def fit_grid(
    settings: Any,
    X: Any,
    targets: Targets,
    loss: Loss,
    default_graph: KNNGraph,
    *,
    usual: tuple[float, float],
    refit: bool,
) -> Solution:
    """Score the whole grid, and fit its best cell to all labels.

    Parameters
    ----------
    settings : object
        The estimator, whose parameters are used.
    X : array or CSR matrix
        Checked rows, or their Gram matrix.
    targets : Targets
        Their labels.
    loss : Loss
        Loss of the labelled rows.
    default_graph : KNNGraph
        The graph if the user gives none.
    usual : (γ_A, γ_I)
        The weights next to which one cell is chosen where there are too few labels to compare.
    refit : bool
        Whether to keep the graph, the seed and the landmarks of the last fit.

    Returns
    -------
    Solution
        Its attributes contain the table of the grid.
    """
    scorer = make_scorer(settings.scoring)
    problem = _grid_problem(settings, X, targets, loss, usual)
    if refit:
        graphs, start = settings.graph_, settings._start
    else:
        seed = draw_seed(settings.random_state)
        graphs, start = settings.graph, WarmStart(seed, np.empty(0), np.empty(0))
    precomputed = is_word(settings.kernel, "precomputed")
    fitted = [
        (graph, resolve_graph(graph, X, default_graph, precomputed))
        for graph in problem.compared(_choices(graphs))
    ]
    cells: list[Cell] = []
    best: tuple[int, ReducedGrid] | None = None
    for grid in _reduced_grids(settings, problem, fitted, start):
        for params, held_out in _held_out_values(grid, problem, settings.fit_intercept):
            params |= grid.params
            cells.append(score_cell(params, scorer, X, targets, loss, held_out))
            if best is None or cells[-1].rank > cells[best[0]].rank:
                best = len(cells) - 1, grid
    assert best is not None
    number, grid = best
    found = _fit_cell(settings, problem, grid, cells[number].params, start.seed)
    table = table_attributes(cells, number, closed=problem.closed)
    return found.with_attributes(**table)


def _grid_problem(
    settings: Any, X: Any, targets: Targets, loss: Loss, usual: tuple[float, float]
) -> GridProblem:
    ambient, manifold = (map(float, _choices(getattr(settings, name))) for name in WEIGHTS)
    pairs, l = list(product(ambient, manifold)), len(targets.index)
    if _too_few_labels(settings.cv, targets):
        pair = _nearest(pairs, usual)
        _warn_of_fallback(settings, targets, pair)
        return GridProblem(X, targets, loss, [pair], [], [], False)
    closed = settings.cv is None and loss.is_quadratic
    folds = [(np.arange(l), np.arange(l))]
    if not closed:
        folds = labelled_folds(_number_of_folds(settings.cv, targets), X, targets)
    class_weight = getattr(settings, "class_weight", None)
    weights = [np.zeros(l) for _ in folds]
    for of_fold, (train, _) in zip(weights, folds, strict=True):
        of_fold[train] = fold_weights(targets, train, class_weight)
    return GridProblem(X, targets, loss, pairs, folds, weights, closed)


def _most_labels(targets: Targets) -> int:
    """Return the number of labels of the largest class, or of targets."""
    if targets.classes is None:
        return len(targets.index)
    return int(np.bincount(targets.given[targets.index]).max())


def _too_few_labels(cv: Any, targets: Targets) -> bool:
    """Return whether nothing is left to learn from when a label is held out."""
    return (cv is None or isinstance(cv, Integral)) and _most_labels(targets) < 2


def _number_of_folds(cv: Any, targets: Targets) -> Any:
    """Return ``cv``; a number is at most that of the labels of the largest class."""
    cv = _FOLDS if cv is None else cv
    return min(int(cv), _most_labels(targets)) if isinstance(cv, Integral) else cv


def _nearest(pairs: list[tuple[float, float]], usual: tuple[float, float]) -> tuple[float, float]:
    """Return the pair of weights with the smallest ratios to the usual ones; zero is far away."""

    def distance(pair: tuple[float, float]) -> float:
        logs = [abs(np.log(w / u)) if w > 0 else 1e3 for w, u in zip(pair, usual, strict=True)]
        return float(sum(logs))

    return min(pairs, key=distance)


def _warn_of_fallback(settings: Any, targets: Targets, pair: tuple[float, float]) -> None:
    plain = type(settings).__name__.removesuffix("CV")
    reason = "no class has two labels" if targets.classes is not None else "one row has a target"
    warn(
        f"{reason}, so no label can be held out and nothing is compared: "
        f"reg_ambient={pair[0]:g} and reg_manifold={pair[1]:g} are used, the values of the grid "
        f"next to the defaults of {plain}, with the first gamma and the first graph. Label more "
        "rows"
    )


def _reduced_grids(
    settings: Any, problem: GridProblem, graphs: list[tuple[Any, KNNGraph]], start: WarmStart
) -> Iterator[ReducedGrid]:
    """Yield the grid of each width and each graph; all graphs share the basis of a width."""
    X, targets, gammas = problem.X, problem.targets, problem.compared(_choices(settings.gamma))
    ratios = sorted({ratio_of(*pair) for pair in problem.weights})
    if settings.n_landmarks is not None:
        check_landmarks(settings)
    for gamma in gammas:
        kernel = resolve_kernel(settings, X, gamma=gamma)
        plan = plan_basis(
            kernel,
            Sizes.of(X, targets.values),
            len(ratios),
            n_landmarks=settings.n_landmarks,
            memory_limit=settings.memory_limit,
        )
        basis = _build_basis(plan, X, start)
        start = replace(start, centres=basis.centres)  # centres do not depend on the width
        for given, graph in graphs:
            reductions = BasisReductions(basis.H, graph.laplacian_, targets.index)
            params = {"gamma": gamma} if len(gammas) > 1 else {}
            params |= {"graph": given} if len(graphs) > 1 else {}
            by_ratio = {ratio: reductions.at(ratio) for ratio in ratios}
            yield ReducedGrid(kernel, graph, basis, by_ratio, params)


def _build_basis(plan: Plan, X: Any, start: WarmStart) -> Basis:
    if plan.space == "landmarks":
        rng = np.random.default_rng(start.seed)
        return landmark_basis(make_landmarks(plan, X, rng, start), plan.kernel, X)
    if plan.space == "linear":
        assert plan.kernel is not None
        return column_basis(plan.kernel, X)
    return kernel_basis(plan.kernel, X)


def _held_out_values(
    grid: ReducedGrid, problem: GridProblem, fit_intercept: bool
) -> Iterator[tuple[dict[str, Any], list[tuple[np.ndarray, np.ndarray]]]]:
    """Yield each pair of weights with the held-out rows of each fold and their values."""
    targets, loss = problem.targets.values, problem.loss
    starts: dict[tuple[float, int], np.ndarray] = {}
    for ambient, manifold in problem.weights:
        ratio = ratio_of(ambient, manifold)
        reduction, held_out = grid.reductions[ratio], []
        for number, (train, test) in enumerate(problem.folds):
            weights = problem.fold_weights[number]
            labels = reduction.problem(loss, targets, weights, ambient, fit_intercept, train)
            c, b, _ = labels.solve(starts.get((ratio, number)))
            starts[ratio, number] = c
            values = reduction.R[test][:, train] @ c + np.outer(reduction.t[test], b)
            if problem.closed:
                values = labels.leave_one_out(c, values)
            held_out.append((test, values))
        yield {"reg_ambient": ambient, "reg_manifold": manifold}, held_out


def _fit_cell(
    settings: Any, problem: GridProblem, grid: ReducedGrid, params: dict[str, Any], seed: int
) -> Solution:
    """Fit one cell to all labels: an l × l problem of a reduction of the grid."""
    X, index, kernel, centres = problem.X, problem.targets.index, grid.kernel, grid.basis.centres
    step = _solve_cell(problem, grid, params, fit_intercept=bool(settings.fit_intercept))
    used = np.max(settings.reg_manifold) > 0
    consequence = "their predictions rest on the kernel alone" if used else ""
    reach = label_reach(grid.graph.component_, index, consequence)
    steps = restored_steps(iter([step]), problem.targets)
    step, result = run_solver(settings, "grid", steps, step.iteration + 1)
    f = replace(step.function, coef=grid.basis.coef_of(step.function.coef))
    predictor, attributes = kernel_model(kernel, X, f, centres)
    attributes |= {
        "graph_": grid.graph,
        "label_reach_": reach,
        "_start": WarmStart(seed, f.coef, f.intercept, centres),
    }
    return Solution(predictor, result, f.values, held_out_values(step, index), attributes)


def _solve_cell(
    problem: GridProblem, grid: ReducedGrid, params: dict[str, Any], *, fit_intercept: bool
) -> Step:
    """Return the solution in the basis, with a bound of its distance from the optimum."""
    ambient, manifold = params["reg_ambient"], params["reg_manifold"]
    reduction, S = grid.reductions[ratio_of(ambient, manifold)], grid.graph.laplacian_
    targets, loss = problem.targets, problem.loss
    risk = RegularizedRisk(
        space=LinearSpace(grid.basis.H),
        loss=loss,
        labelled=targets.index,
        targets=targets.values,
        weights=targets.weights,
        smoothness=S,
        reg_ambient=ambient,
        reg_manifold=manifold,
        fit_intercept=fit_intercept,
    )
    labels = reduction.problem(loss, targets.values, targets.weights, ambient, fit_intercept)
    c, b, n_steps = labels.solve()
    theta, values = reduction.expand(c, b)
    f = Function(theta, b, values, S @ values)
    leave_one_out = partial(labels.leave_one_out, c)
    gradient, correct = -ambient * c, reduction.correct
    return certified_step(risk, f, gradient, n_steps, _TOL, leave_one_out, correct)


def _choices(value: Any) -> list:
    """Return the values to try of a parameter: those of a list, tuple or 1-d array, or just one."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else [value]
