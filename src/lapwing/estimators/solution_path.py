"""The solution path in λ: reduced to the labelled rows, followed for each class, cross-validated.

On the reduced kernel the path of a fold costs no more than its l × l problems, without another
factorisation. Stores nothing on the estimator.

Notation: S = Lᵖ, B breakpoints, l labelled rows, c columns (classes against the rest), k values
of λ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays.packing import expect
from ..arrays.threads import row_blocks
from ..losses import Hinge
from ..messages import warn
from ..operators.base import Operator
from ..plan.base import Plan
from ..risk import RegularizedRisk, weight_ratio
from ..solvers.driver import Step
from ..solvers.elimination import certified_step
from ..solvers.path import SolutionPath, hinge_path
from ..solvers.reduction import BasisReductions, Reduction, reduce_dense
from ..solvers.stopping import decisions
from ..spaces.function import Function
from ..spaces.kernel_space import Space
from .folds import Fold, fold_weights, labelled_folds
from .targets import Targets

#: Values of several λ that are computed at once.
BLOCK_ENTRIES = 2_000_000
#: Gap, as a share of the objective, up to which a solution counts as exact.
_TOL = 1e-3
#: What to do where rounding ends a path.
_MORE_DIGITS = "Raise rho, or scale the columns of X so that kernel values are of order one"


@dataclass(frozen=True)
class ClassPaths:
    """One path for each column of the targets, over the same labelled rows.

    Attributes
    ----------
    paths : tuple of SolutionPath
        The paths.
    targets : ndarray of shape (l, c)
        ±1.
    rho : float
        ρ.
    """

    paths: tuple[SolutionPath, ...]
    targets: np.ndarray
    rho: float

    @property
    def constant(self) -> bool:
        """Whether all paths are constant."""
        return all(path.constant for path in self.paths)

    @property
    def end(self) -> float:
        """The smallest λ that all paths have reached; 0 if they are constant."""
        return max((path.lambdas[-1] for path in self.paths if not path.constant), default=0.0)

    @property
    def breakpoints(self) -> np.ndarray:
        """Breakpoints of all paths down to the end, in descending order."""
        lambdas = np.unique(np.concatenate([path.lambdas for path in self.paths]))[::-1]
        return lambdas[lambdas >= self.end]

    def at(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients of the labelled rows, shape (k, l, c), and b, shape (k, c)."""
        found = [path.at(lam) for path in self.paths]
        a, beta = (np.stack(part, axis=-1) for part in zip(*found, strict=True))
        return a * self.targets / (self.rho * lam[:, None, None]), beta / lam[:, None]

    def attributes(self) -> dict[str, np.ndarray]:
        """Return the fitted attributes: the paths at the breakpoints of all of them."""
        lambdas = self.breakpoints
        found = [path.at(lambdas) for path in self.paths]
        return {
            "lambdas_": lambdas,
            "coef_path_": np.stack([a for a, _ in found], axis=1),
            "intercept_path_": np.stack([beta for _, beta in found], axis=1) / lambdas[:, None],
            "elbow_path_": np.stack([_elbow(path, lambdas) for path in self.paths], axis=1),
        }


@dataclass(frozen=True)
class PathFunctions:
    """Paths with their functions of any row, for predictions at a chosen λ.

    Attributes
    ----------
    paths : ClassPaths
        Of all labelled rows.
    coefficients : ndarray of shape (m, l + 1)
        Coefficients of the model for each entry of (c, −b/ρ).
    """

    paths: ClassPaths
    coefficients: np.ndarray

    def at(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (c, −b/ρ), shape (k, l + 1, c), and the intercepts b, shape (k, c)."""
        c, b = self.paths.at(lam)
        return np.concatenate([c, -(1.0 / self.paths.rho) * b[:, None, :]], axis=1), b

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        paths, (l, columns) = self.paths.paths, self.paths.targets.shape
        expect(len(paths) == columns and self.coefficients.shape[1:] == (l + 1,))
        expect(all(path.multipliers.shape == (len(path.lambdas), l) for path in paths))
        expect(bool(np.isfinite(self.coefficients).all()) and self.paths.rho > 0)


def _elbow(path: SolutionPath, lambdas: np.ndarray) -> np.ndarray:
    """Return the number of rows on the margin just below each λ."""
    last = np.searchsorted(-path.lambdas, -lambdas, side="right") - 1
    return np.where(last < 0, path.above, path.elbows[last])


@dataclass(frozen=True)
class PathProblem:
    """What all λ and all folds share.

    Attributes
    ----------
    reduction : Reduction
        For μ = 1/ρ, with coefficients in the space of the model.
    targets : Targets
        All labels.
    space : Space
        Where the functions are searched.
    smoothness : Operator
        S.
    """

    reduction: Reduction
    targets: Targets
    space: Space
    smoothness: Operator


def path_problem(
    plan: Plan, space: Space, targets: Targets, smoothness: Operator, rho: float
) -> PathProblem:
    """Return the problem of all λ, by one factorisation."""
    index, ratio = targets.index, weight_ratio(rho, 1.0)
    if plan.method == "eliminate_features":
        reduction = BasisReductions(space.features, smoothness, index).at(ratio)
    else:
        reduction = reduce_dense(space.gram, smoothness, index, ratio)
        if plan.space == "linear":
            coefficients = space.coef_of(reduction.coefficients)
            reduction = replace(
                reduction, coefficients=coefficients, values=space.values_of, correct=None
            )
    return PathProblem(reduction, targets, space, smoothness)


def follow_paths(
    settings: Any, problem: PathProblem, train: np.ndarray | None = None
) -> ClassPaths:
    """Return the path of each column.

    Parameters
    ----------
    settings : object
        The estimator; ``rho``, ``lambda_min_ratio``, ``fit_intercept`` and ``class_weight`` are
        read.
    problem : PathProblem
        Reduced for 1/ρ.
    train : ndarray of int, optional
        Positions of the labelled rows whose labels are used; by default all.
    """
    reduction, targets = problem.reduction, problem.targets
    train = np.arange(len(targets.index)) if train is None else train
    t = reduction.t[train] if settings.fit_intercept else None
    weights = fold_weights(targets, train, settings.class_weight)
    R, signs = reduction.R[np.ix_(train, train)], targets.values[train]
    least, rho = float(settings.lambda_min_ratio), float(settings.rho)
    # In units of λρ, the weight of the norm, which are those of R.
    found = [hinge_path(R, y, weights, t, reduction.sigma, ratio=least) for y in signs.T]
    paths = tuple(path.scaled(1.0 / rho) for path in found)
    lambdas = np.concatenate([path.lambdas for path in paths])
    if not (np.isfinite(lambdas).all() and lambdas.min() >= np.finfo(float).tiny):
        raise ValueError(
            f"double precision does not hold the λ of the path with rho={rho:.3g}, which "
            "are of order 1/rho: choose rho closer to 1 (now γ_I/γ_A = 1/rho)"
        )
    return ClassPaths(paths, signs, rho)


def choose_lambda(
    settings: Any, X: Any, problem: PathProblem, breakpoints: np.ndarray
) -> dict[str, Any]:
    """Return the fitted attributes of the λ with the best cross-validated accuracy.

    Parameters
    ----------
    settings : object
        The estimator; ``cv`` and what `follow_paths` needs are read.
    X : array or CSR matrix of shape (n, d)
        All rows, for the splitter.
    problem : PathProblem
        Reduced for 1/ρ.
    breakpoints : ndarray of shape (B,)
        Those of the paths of all labels. Without folds, λ is the last of them.
    """
    folds = _folds(settings.cv, X, problem.targets)
    if len(folds) == 0:
        names = ("best_interval_", "best_score_", "cv_lambdas_", "cv_accuracy_")
        return {"lambda_": float(breakpoints[-1]), **dict.fromkeys(names)}
    fold_paths = [follow_paths(settings, problem, train) for train, _ in folds]
    end = max(paths.end for paths in fold_paths)
    if end > breakpoints[-1] and not all(p.complete for fold in fold_paths for p in fold.paths):
        warn(
            f"rounding has ended the path of a fold at λ = {end:.3g}: smaller λ were not compared. "
            f"{_MORE_DIGITS}",
            ConvergenceWarning,
        )
    lambdas = with_midpoints(breakpoints)
    lambdas = lambdas[lambdas >= min(end, lambdas[0])]
    reduction, signs = problem.reduction, problem.targets.values
    n_correct = np.zeros(len(lambdas))
    blocks = row_blocks(len(lambdas), max(1, BLOCK_ENTRIES // signs.size))
    for (train, test), paths in zip(folds, fold_paths, strict=True):
        R, t = reduction.R[np.ix_(test, train)], reduction.t[test][:, None]
        for block in blocks:
            c, b = paths.at(lambdas[block])
            found = decide_each(R @ c + t * b[:, None, :])
            n_correct[block] += (found == decisions(signs[test])).sum(axis=1)
    accuracy = n_correct / sum(len(test) for _, test in folds)
    best = float(accuracy.max())
    low, high = _widest(lambdas, accuracy == best)
    return {
        "lambda_": float(np.sqrt(low) * np.sqrt(high)),
        "best_interval_": (low, high),
        "best_score_": best,
        "cv_lambdas_": lambdas,
        "cv_accuracy_": accuracy,
    }


def step_at(settings: Any, problem: PathProblem, paths: ClassPaths, lam: float) -> Step:
    """Return the solution at a λ, its distance from the optimum, and how the paths ended.

    ``rho`` and ``fit_intercept`` of the estimator are read.
    """
    reduction, targets = problem.reduction, problem.targets
    c, b = (part[0] for part in paths.at(np.array([lam])))
    coef, values = reduction.expand(c, b)
    risk = RegularizedRisk(
        space=problem.space,
        loss=Hinge(),
        labelled=targets.index,
        targets=targets.values,
        weights=targets.weights,
        smoothness=problem.smoothness,
        reg_ambient=lam * float(settings.rho) / 2.0,
        reg_manifold=lam / 2.0,
        fit_intercept=bool(settings.fit_intercept),
    )
    labels = reduction.problem(
        risk.loss, risk.targets, risk.weights, risk.reg_ambient, risk.fit_intercept
    )
    f = Function(coef, b, values, problem.smoothness @ values)
    n_breakpoints, leave_one_out = len(paths.breakpoints), partial(labels.leave_one_out, c)
    step = certified_step(
        risk, f, -risk.reg_ambient * c, n_breakpoints, _TOL, leave_one_out, reduction.correct
    )
    given_up = [path.lambdas[-1] for path in paths.paths if not path.complete]
    if not given_up:
        return step
    remark = f"rounding has ended a path at λ = {max(given_up):.3g}. {_MORE_DIGITS}"
    return replace(step, converged=False, remark=remark)


def decide_each(values: np.ndarray) -> np.ndarray:
    """Return the class codes of values of shape (…, n, c), shape (…, n)."""
    return decisions(values.reshape(-1, values.shape[-1])).reshape(values.shape[:-1])


def with_midpoints(lambdas: np.ndarray) -> np.ndarray:
    """Return breakpoints and the geometric middle of each pair, descending."""
    points = np.empty(2 * len(lambdas) - 1)
    points[::2] = lambdas
    points[1::2] = np.sqrt(lambdas[1:]) * np.sqrt(lambdas[:-1])  # their product may underflow
    return points


def _folds(cv: Any, X: Any, targets: Targets) -> list[Fold]:
    """Return the folds by which λ is chosen: fewer where a class has few labels, maybe none."""
    if isinstance(cv, (int, np.integer)):
        cv = min(int(cv), int(np.unique(targets.known, return_counts=True)[1].min()))
        if cv == 1:
            warn(
                "a class has one label, so no label can be held out to choose λ: the smallest λ "
                "of the path is used. Label more rows, or pass cv=None"
            )
            cv = None
    return [] if cv is None else labelled_folds(cv, X, targets)


def _widest(lambdas: np.ndarray, best: np.ndarray) -> tuple[float, float]:
    """Return (low, high) of the run of best points that is widest on the log scale."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], best.astype(int), [0]])))
    runs = list(zip(edges[::2], edges[1::2] - 1, strict=True))
    first, last = max(runs, key=lambda run: lambdas[run[0]] / lambdas[run[1]])
    return float(lambdas[last]), float(lambdas[first])
