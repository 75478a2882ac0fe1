"""The whole grid of (γ_A, γ_I), with all folds and classes, from one reduction for each ratio.

For each ratio μ = γ_I/γ_A the problem is reduced to the labelled rows once; every γ_A, every fold
and every class is then an l × l problem. Folds hide labels and not rows: a row that is held out
stays in the graph as an unlabelled one, which is what a row is for the machine in use.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import get_scorer

from ..arrays.memory import format_size, memory_budget
from ..estimators.checks import check_not_negative, check_positive
from ..estimators.classifier import LabelledData
from ..estimators.folds import Fold, labelled_folds
from ..estimators.manifold import ManifoldEstimator
from ..graphs import KNNGraph
from ..kernels import Kernel, LinearKernel, gram_operator
from ..losses import Loss
from ..operators import DenseOperator
from ..risk import RegularizedRisk
from ..solvers import (
    FEW_DIGITS,
    BasisReductions,
    Reduction,
    Step,
    basis_bytes,
    certified_step,
    cholesky_basis,
    decisions,
    expansion_of,
)
from ..spaces import Function, LinearSpace

#: The values of Melacci and Belkin (2011), §6, for γ_A and for γ_I.
GRID = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class _Basis:
    """Coordinates H of the rows, and the way from coefficients there to those of the machine."""

    H: Any
    expand: Callable[[np.ndarray], np.ndarray]
    landmarks: np.ndarray | None = None


@dataclass(frozen=True)
class _Setting:
    """A kernel and a graph, with the reductions of all ratios."""

    kernel: Kernel | None
    graph: KNNGraph
    basis: _Basis
    reductions: dict[float, Reduction]


class GridEstimator(ManifoldEstimator):
    """Base of the machines that choose γ_A and γ_I. See the public classes for the parameters."""

    # Set by __init__ of the public classes; the two weights are sequences here.
    reg_ambient: Any
    reg_manifold: Any
    n_landmarks: int | None
    cv: Any
    scoring: Any

    warm_start = False
    callback = None
    verbose = 0

    def _loss(self) -> Loss:
        raise NotImplementedError(f"{type(self).__name__} must implement _loss")

    def _fold_weights(self, data: LabelledData, train: np.ndarray) -> np.ndarray:
        """Return the weights of the losses where the labels of a fold are all there are."""
        return data.weights[train]

    def _fit_grid(self, data: LabelledData, *, stacklevel: int = 3) -> Step:
        """Score the whole grid, and store the best cell fitted to all labels.

        ``stacklevel`` leads from here to the user's call of fit.
        """
        self._draw_seed()
        loss = self._loss()
        closed = self.cv is None and loss.is_quadratic  # leave-one-out in closed form
        folds = self._folds(data, closed)
        axes = _axis("reg_ambient", self.reg_ambient), _axis("reg_manifold", self.reg_manifold)
        gammas, graphs = _choices(self.gamma), _choices(self.graph)
        params: list[dict[str, Any]] = []
        scores: list[list[float]] = []
        losses: list[float] = []
        best: tuple[tuple[float, float], int, _Setting] | None = None
        fitted = [self._with("graph", graph)._resolve_graph(data.X) for graph in graphs]
        for gamma, (graph, rows_graph) in product(gammas, zip(graphs, fitted, strict=True)):
            first = len(params)
            setting = self._reduce(gamma, rows_graph, data, axes)
            cells = self._held_out(setting, data, loss, folds, axes, closed)
            for (ambient, manifold), held in cells:
                params.append({"reg_ambient": ambient, "reg_manifold": manifold})
                params[-1] |= {"gamma": gamma} if len(gammas) > 1 else {}
                params[-1] |= {"graph": graph} if len(graphs) > 1 else {}
                parts = [(data, test, part) for (_, test), part in zip(folds, held, strict=True)]
                scores.append([self._score(*part) for part in parts])
                losses.append(float(np.mean([_mean_loss(loss, *part) for part in parts])))
            ranking = [(float(np.mean(s)), -e) for s, e in zip(scores, losses, strict=True)]
            place = max(range(first, len(params)), key=lambda i: _comparable(ranking[i]))
            if best is None or _comparable(ranking[place]) > _comparable(best[0]):
                best = ranking[place], place, setting
        assert best is not None
        self._store_table(params, np.array(scores), np.array(losses), best[1], closed)
        return self._store_best(data, loss, best[2], stacklevel + 1)

    # The grid: which cells, which folds, which basis.

    def _folds(self, data: LabelledData, closed: bool) -> list[Fold]:
        l, y, classifier = len(data.index), data.values[data.index], is_classifier(self)
        if classifier:
            y = y.astype(self.classes_.dtype)
        cv = 5 if self.cv is None else self.cv
        if isinstance(cv, (int, np.integer)) and cv > 1:
            most = int(np.unique(y, return_counts=True)[1].max()) if classifier else l
            if most < 2:
                raise ValueError(
                    "no class has two labels (or there is one target), so there is nothing to "
                    "learn from when one is held out: label more rows, or choose the weights "
                    f"yourself with {type(self).__name__.removesuffix('CV')}"
                )
            cv = min(int(cv), most)
        if closed:
            return [2 * (np.arange(l),)]
        return labelled_folds(cv, data, y, classifier=classifier)

    def _with(self, name: str, value: Any) -> Self:
        """Return a copy with another value of a parameter, fitted graphs and all."""
        probe = copy.copy(self)
        setattr(probe, name, value)
        return probe

    def _reduce(self, gamma: Any, graph: KNNGraph, data: LabelledData, axes: tuple) -> _Setting:
        """Build kernel and basis of a setting, and reduce it for each ratio."""
        kernel = self._with("gamma", gamma)._make_kernel(data.X)
        ratios = sorted({_ratio(*pair) for pair in product(*axes)})
        basis = self._basis(kernel, data, len(ratios))
        reductions = BasisReductions(basis.H, graph.laplacian_, data.index)
        return _Setting(kernel, graph, basis, {mu: reductions.at(mu) for mu in ratios})

    def _basis(self, kernel: Kernel | None, data: LabelledData, n_ratios: int) -> _Basis:
        """Choose coordinates for the rows, after looking at the memory."""
        X, (n, d) = data.X, data.X.shape
        linear = isinstance(kernel, LinearKernel)
        budget, sizes = memory_budget(self.memory_limit), (len(data.index), n_ratios)
        if self.n_landmarks is not None:
            m = self._check_landmarks(kernel, X)
            found = self._make_landmarks(kernel, X, m, basis_bytes(n, m, *sizes))
            back = partial(found.expansion, kernel=kernel, X=X)
            return _Basis(found.features.values, back, found.centres)
        if linear and d <= n:
            _check_room(basis_bytes(n, d, *sizes), budget, n, "use fewer columns")
            assert kernel is not None
            return _Basis(kernel.prepare(X).data, lambda theta: theta)
        advice = "pass n_landmarks (such as 1000) to search in the span of so many functions"
        _check_room(8 * n * n + basis_bytes(n, n, *sizes), budget, n, advice)
        if kernel is None:
            K = np.array(X, dtype=np.float64)
        else:
            gram = gram_operator(kernel, kernel.prepare(X), "float64")
            assert isinstance(gram, DenseOperator)
            K = gram.array
        H, pivots = cholesky_basis(K)

        def expand(theta: np.ndarray) -> np.ndarray:
            coef = expansion_of(H, pivots, theta)
            if isinstance(kernel, LinearKernel):
                coef = np.asarray(kernel.prepare(X).data.T @ coef)
            return coef

        return _Basis(H, expand)

    def _held_out(
        self,
        setting: _Setting,
        data: LabelledData,
        loss: Loss,
        folds: list[Fold],
        axes: tuple,
        closed: bool,
    ) -> Iterator[tuple[tuple[float, float], list[np.ndarray]]]:
        """Yield each cell with the values of the rows that each fold holds out."""
        starts: dict[tuple[float, int], np.ndarray] = {}
        for ambient, manifold in product(*axes):
            mu = _ratio(ambient, manifold)
            reduction, held = setting.reductions[mu], []
            for number, (train, test) in enumerate(folds):
                weights = np.zeros(len(data.index))
                weights[train] = self._fold_weights(data, train)
                problem = reduction.problem(
                    loss, data.targets, weights, ambient, self.fit_intercept, train
                )
                c, b, _ = problem.solve(starts.get((mu, number)))
                starts[mu, number] = c
                values = reduction.R[test][:, train] @ c + np.outer(reduction.t[test], b)
                if closed:
                    values = problem.leave_one_out(c, values)
                held.append(values)
            yield (ambient, manifold), held

    # The scores.

    def _score(self, data: LabelledData, test: np.ndarray, values: np.ndarray) -> float:
        targets = data.targets[test]
        if self.scoring is None:
            if is_classifier(self):
                return float(np.mean(decisions(values) == decisions(targets)))
            return -float(np.mean((values - targets) ** 2))
        given = data.values[data.index[test]]
        if is_classifier(self):
            predicted: Any = _PredictedClasses(values, self.classes_)
            given = given.astype(self.classes_.dtype)
        else:
            predicted = _PredictedNumbers(values)
        return float(get_scorer(self.scoring)(predicted, data.X[data.index[test]], given))

    def _store_table(
        self, params: list[dict], scores: np.ndarray, losses: np.ndarray, best: int, closed: bool
    ) -> None:
        mean = scores.mean(axis=1)
        spread = np.full(len(mean), np.nan) if closed else scores.std(axis=1)
        order = np.where(np.isnan(mean), -np.inf, mean)
        names = list(params[0])
        self.cv_results_ = {
            "params": params,
            **{f"param_{name}": _masked([cell[name] for cell in params]) for name in names},
            **{f"split{k}_test_score": part for k, part in enumerate(scores.T)},
            "mean_test_score": mean,
            "std_test_score": spread,
            "rank_test_score": 1 + (order[None, :] > order[:, None]).sum(axis=1),
            "mean_test_loss": losses,
        }
        self.best_index_ = best
        self.best_params_ = dict(params[best])
        self.best_score_ = float(mean[best])
        self.n_splits_ = scores.shape[1]

    def _store_best(
        self, data: LabelledData, loss: Loss, setting: _Setting, stacklevel: int
    ) -> Step:
        """Fit the best cell to all labels: an l × l problem of a reduction that is there."""
        ambient = self.best_params_["reg_ambient"]
        reduction = setting.reductions[_ratio(ambient, self.best_params_["reg_manifold"])]
        problem = reduction.problem(loss, data.targets, data.weights, ambient, self.fit_intercept)
        c, b, steps = problem.solve()
        theta, values = reduction.expand(c, b)
        S = setting.graph.laplacian_
        risk = RegularizedRisk(
            space=LinearSpace(setting.basis.H),
            loss=loss,
            labelled=data.index,
            targets=data.targets,
            weights=data.weights,
            smoothness=S,
            reg_ambient=ambient,
            reg_manifold=self.best_params_["reg_manifold"],
            fit_intercept=bool(self.fit_intercept),
        )
        leave_one_out = partial(problem.leave_one_out, c)
        f = Function(theta, b, values, S @ values)
        step = certified_step(risk, f, -ambient * c, steps, 1e-3, leave_one_out)
        if not step.converged:
            step = replace(step, remark=FEW_DIGITS)
        f = replace(f, coef=setting.basis.expand(theta))
        step = replace(step, function=f)
        self.graph_, self.kernel_ = setting.graph, setting.kernel
        self._find_reach(data.index, stacklevel=stacklevel + 1)
        _, result = self._drive("grid", iter([step]), steps + 1, [], stacklevel=stacklevel + 1)
        self._store(data.X, f, result)
        if setting.basis.landmarks is not None:
            self.landmarks_ = setting.basis.landmarks
        return step


def _axis(name: str, values: Any) -> list[float]:
    """Return one side of the grid as a list of checked numbers."""
    try:
        numbers = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or len(numbers) == 0:
        raise ValueError(f"{name} must be a sequence of numbers, or one number, got {values!r}")
    for number in numbers.tolist():
        (check_positive if name == "reg_ambient" else check_not_negative)(name, number)
    return numbers.tolist()


def _choices(value: Any) -> list:
    """Return the settings to try: several only if they come in a list, a tuple or numbers."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [value]
    if len(value) == 0:
        raise ValueError("an empty list of settings: give at least one")
    return list(value)


def _ratio(ambient: float, manifold: float) -> float:
    """Return μ, the same for cells whose ratios differ by rounding alone."""
    return float(f"{manifold / ambient:.12g}")


def _comparable(ranking: tuple[float, float]) -> tuple[float, float]:
    """Return a score and what breaks its ties, with NaN below everything."""
    score, other = ranking
    return (-np.inf if np.isnan(score) else round(score, 12), other)


def _mean_loss(loss: Loss, data: LabelledData, test: np.ndarray, values: np.ndarray) -> float:
    return float(loss.value(values, data.targets[test]).mean())


def _masked(values: list) -> np.ma.MaskedArray:
    if all(isinstance(value, float) for value in values):
        return np.ma.array(values)
    column = np.ma.array(np.empty(len(values), dtype=object))
    column[:] = values
    return column


def _check_room(needed: int, budget: int, n: int, advice: str) -> None:
    if needed > budget:
        raise MemoryError(
            f"the grid of {n} rows needs {format_size(needed)} and memory_limit allows "
            f"{format_size(budget)}: {advice}, fit fewer unlabelled rows, or raise memory_limit. "
            "Iterative solvers are not used here, because scores of solutions that have not "
            "converged mean nothing"
        )


class _PredictedClasses(ClassifierMixin, BaseEstimator):
    """Held-out values as a classifier, for scikit-learn's scorers."""

    def __init__(self, values: np.ndarray, classes_: np.ndarray) -> None:
        self.values = values
        self.classes_ = classes_

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[decisions(self.values).astype(int)]

    def decision_function(self, X: Any) -> np.ndarray:
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values


class _PredictedNumbers(RegressorMixin, BaseEstimator):
    """Held-out values as a regressor, for scikit-learn's scorers."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def predict(self, X: Any) -> np.ndarray:
        return self.values[:, 0]
