"""The exact solution path of the Laplacian support vector machine in λ: LapSVCPath.

Builds the reduced kernel of the labelled rows, follows one path per class, and finds the best λ on
paths of cross-validation folds, which cost no more than their l × l problems.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays.memory import format_size, memory_budget
from ..arrays.threads import row_blocks
from ..graphs import KNNGraph
from ..kernels import LinearKernel, dense_operator, gram_operator
from ..losses import Hinge
from ..risk import RegularizedRisk
from ..solvers import (
    FEW_DIGITS,
    BasisReductions,
    Reduction,
    SolutionPath,
    basis_bytes,
    certified_step,
    decisions,
    dense_bytes,
    hinge_path,
    reduce_dense,
)
from ..spaces import Function, KernelSpace, LinearSpace, Space
from .base import values_on
from .checks import check_positive, valid_rows
from .classifier import KernelClassifier, LabelledData
from .folds import Fold, fold_weights, labelled_folds
from .manifold import ManifoldEstimator
from .regressor import regression_graph
from .targets import labelled_rows

#: S1 below this share of ‖S‖ is zero: constants are not penalised.
_CONSTANTS_FREE = 1e-10
#: Values, for several λ, that are computed at once.
_BLOCK_ENTRIES = 2_000_000


class LapSVCPath(KernelClassifier, ManifoldEstimator):
    """Laplacian support vector machine for every λ at once: the exact solution path.

    For each class against the rest, and every λ from infinity down to a small share of the first
    breakpoint, the minimiser of

        Σ_labelled max(1 - yf, 0) + (λ/2)·( ρ ‖f‖² + fᵀLᵖf )

    whose coefficients are piecewise linear in λ. It is `LapSVC(loss="hinge")` with γ_A = λρ/2 and
    γ_I = λ/2.

    Parameters
    ----------
    rho : float, default=1e-3
        ρ > 0, weight of the norm in the space of the kernel, beside that of the graph.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    lambda_min_ratio : float, default=1e-4
        The path ends at this share of its first breakpoint (or where f is near its rounding).
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph(normalized=False)``, with which constants are not penalised, as in the source.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    cv : int, splitter, iterable or None, default=5
        Folds over the labelled rows by which ``lambda_`` is found; a path is followed for each. A
        splitter sees the labelled rows alone; pairs (train, test) hold numbers of rows of X.
        Fewer folds are used where a class has fewer labels, and none if it has one: ``lambda_``
        then is the smallest λ, as with None.
    memory_limit : int, str or None, default=None
        Most memory for the Gram matrix and its factor, in bytes or such as "8GB"; None is 60 % of
        what is free.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    lambdas_ : ndarray of shape (B,)
        Breakpoints of all classes, from large to small.
    coef_path_ : ndarray of shape (B, n_columns, l)
        Multipliers of the labelled rows at each breakpoint, between 0 and the row's weight; linear
        in λ between breakpoints, constant above the first.
    intercept_path_ : ndarray of shape (B, n_columns)
        b; λb is linear in λ between breakpoints.
    elbow_path_ : ndarray of shape (B, n_columns)
        Number of labelled rows on the margin just below each breakpoint.
    lambda_ : float
        The λ that `predict` uses unless told: the middle, on the log scale, of the best interval.
    best_interval_ : tuple (low, high) or None
        The widest interval of λ with the best cross-validated accuracy, which is computed at
        breakpoints and half-way between them.
    best_score_ : float or None
        That accuracy.
    cv_lambdas_, cv_accuracy_ : ndarrays or None
        Accuracy along λ by cross-validation.
    labelled_ : ndarray of shape (l,)
        The labelled rows.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows at ``lambda_``: given or predicted.
    dual_coef_, coef_, intercept_, support_
        The machine at ``lambda_``, as in `LapSVC`.
    graph_, label_reach_, result_, n_iter_
        As in `LapSVC`; iterations are breakpoints.

    Notes
    -----
    Cost: one factorisation of an n × n matrix, (2/3)n³ operations, and for each breakpoint a
    product with an l × l matrix. Where the graph penalises constants (a normalised Laplacian), b
    is part of fᵀLᵖf as it is in `LapSVC`.

    References
    ----------
    G. Wang, T. Chen, D.-Y. Yeung and F. H. Lochovsky (2006), "Solution Path for Semi-Supervised
    Classification with Manifold Regularization", International Conference on Data Mining.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LapSVCPath
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> y[:10] = truth[:10]
    >>> model = LapSVCPath(gamma=5.0).fit(X, y)
    >>> float(np.mean(model.predict(X) == truth))
    1.0
    >>> model.predict(X[:3], lam=model.lambdas_[0]).shape
    (3,)
    """

    # What other machines let users set.
    reg_manifold, warm_start, callback, verbose, random_state = 1.0, False, None, 0, 0

    def __init__(
        self,
        rho: float = 1e-3,
        *,
        kernel: str | Callable = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        lambda_min_ratio: float = 1e-4,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = -1,
        class_weight: Any = None,
        cv: Any = 5,
        memory_limit: float | str | None = None,
    ) -> None:
        self.rho = rho
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lambda_min_ratio = lambda_min_ratio
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.cv = cv
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Follow the path of each class, and find the best λ by cross-validation.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        check_positive("rho", self.rho)
        check_positive("lambda_min_ratio", self.lambda_min_ratio)
        if self.lambda_min_ratio >= 1:
            raise ValueError(
                f"lambda_min_ratio must be between 0 and 1, got {self.lambda_min_ratio!r}"
            )
        data = self._check_data(X, y, sample_weight)
        self._fit_graph(data.X, data.index, stacklevel=3)
        reduction, space = self._reduce(data)
        self._ratio, self._coefficients = reduction.ratio, reduction.coefficients
        self.labelled_, self._targets = data.index, data.targets
        self._paths = self._follow(reduction, data, np.arange(len(data.index)))
        self._store_paths()
        self._choose(reduction, data)
        self._store_machine(reduction, space, data)
        return self

    def decision_function(self, X: Any, lam: Any = None) -> np.ndarray:
        """Return the values of f at a λ: one column per class, or one number for two classes.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        lam : float or array of shape (k,), optional
            λ; by default ``lambda_``. An array puts an axis of k in front of the result.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes), with k in front if ``lam`` is an array
        """
        values = self._decide_at(X, lam)
        return values[..., 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any, lam: Any = None) -> np.ndarray:
        """Return the class of each row at a λ, by default ``lambda_``; see `decision_function`."""
        found = _decide_each(self._decide_at(X, lam)).astype(int)
        return self.classes_[found]

    def accuracy_path(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return λ at the breakpoints and between them, descending, and the accuracy there.

        Rows without a label do not count.
        """
        lambdas = _between(self.lambdas_)
        return lambdas, self.accuracy(X, y, lambdas)

    def accuracy(self, X: Any, y: Any, lambdas: Any) -> np.ndarray:
        """Return the accuracy at each λ of an array, on the rows of X that have a label in y."""
        values, known = labelled_rows(y, self.unlabeled)
        X = X if hasattr(X, "shape") else np.asarray(X)
        if len(values) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and y has {len(values)}")
        if not known.any():
            raise ValueError("no row of y has a label, so there is no accuracy")
        X, truth, lambdas = X[known], values[known], np.atleast_1d(lambdas)
        blocks = row_blocks(len(lambdas), max(1, _BLOCK_ENTRIES // (len(truth) + 1)))
        found = [np.mean(self.predict(X, lambdas[block]) == truth, axis=1) for block in blocks]
        return np.concatenate(found)

    # The reduced kernel.

    def _reduce(self, data: LabelledData) -> tuple[Reduction, Space]:
        """Return the reduction for μ = 1/ρ, with coefficients in the space of the machine."""
        X, (n, d), ratio = data.X, data.X.shape, 1.0 / self.rho
        S, kernel = self.graph_.laplacian_, self._make_kernel(X)
        self.kernel_ = kernel
        budget, l = memory_budget(self.memory_limit), len(data.index)
        linear = isinstance(kernel, LinearKernel)
        in_basis = linear and d <= n
        needed = basis_bytes(n, d, l, 1) if in_basis else dense_bytes(n, l)
        if needed > budget:
            raise MemoryError(
                f"the path needs {format_size(needed)} for {n} rows and memory_limit allows "
                f"{format_size(budget)}: fit fewer unlabelled rows, map the rows to fewer features "
                "(such as sklearn.kernel_approximation.Nystroem) with kernel='linear', or raise "
                "memory_limit"
            )
        if kernel is None:
            space: Space = KernelSpace(dense_operator(X, 0.0))
            return reduce_dense(space.gram, S, data.index, ratio), space
        rows = kernel.prepare(X)
        if in_basis:
            return BasisReductions(rows.data, S, data.index).at(ratio), LinearSpace(rows.data)
        gram = gram_operator(kernel, rows, "float64")
        reduction = reduce_dense(gram, S, data.index, ratio)
        if not linear:
            return reduction, KernelSpace(gram)
        space = LinearSpace(rows.data, gram)
        coefficients = space.coef_of(reduction.coefficients)
        return replace(reduction, coefficients=coefficients, values=space.values_of), space

    def _follow(
        self, reduction: Reduction, data: LabelledData, rows: np.ndarray
    ) -> list[SolutionPath]:
        """Return the path of each column for the labels of some of the labelled rows."""
        t: np.ndarray | None = reduction.t[rows]
        sigma = self.rho * reduction.sigma
        if not self.fit_intercept:
            t, sigma = None, 0.0
        elif self._constants_are_free():
            t, sigma = np.ones(len(rows)), 0.0
        weights = fold_weights(data, rows, self.class_weight, self.classes_.dtype)
        G = reduction.R[np.ix_(rows, rows)] / self.rho
        return [
            hinge_path(G, y, weights, t, sigma, ratio=self.lambda_min_ratio)
            for y in data.targets[rows].T
        ]

    def _constants_are_free(self) -> bool:
        S, n = self.graph_.laplacian_, self.graph_.n_samples_
        signs = np.where(np.arange(n) % 2, 1.0, -1.0)
        return bool(np.abs(S @ np.ones(n)).max() <= _CONSTANTS_FREE * np.abs(S @ signs).max())

    def _shares(
        self, paths: list[SolutionPath], targets: np.ndarray, lam: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return c of shape (k, l, columns) and b of shape (k, columns) at k values of λ."""
        found = [path.at(lam) for path in paths]
        a, beta = (np.stack(part, axis=-1) for part in zip(*found, strict=True))
        return a * targets / (self.rho * lam[:, None, None]), beta / lam[:, None]

    # What is stored: paths, the best λ, the machine there.

    def _store_paths(self) -> None:
        paths = self._paths
        end = max((path.lambdas[-1] for path in paths if not path.constant), default=0.0)
        lambdas = np.unique(np.concatenate([path.lambdas for path in paths]))[::-1]
        self.lambdas_ = lambdas[lambdas >= end]
        self._constant = all(path.constant for path in paths)
        found = [path.at(self.lambdas_) for path in paths]
        self.coef_path_ = np.stack([a for a, _ in found], axis=1)
        self.intercept_path_ = (
            np.stack([beta for _, beta in found], axis=1) / self.lambdas_[:, None]
        )
        places = [np.searchsorted(-p.lambdas, -self.lambdas_, side="right") - 1 for p in paths]
        elbows = [np.where(i < 0, p.above, p.elbows[i]) for i, p in zip(places, paths, strict=True)]
        self.elbow_path_ = np.stack(elbows, axis=1)

    def _choose(self, reduction: Reduction, data: LabelledData) -> None:
        """Find the interval of λ with the best cross-validated accuracy."""
        self.best_interval_ = self.best_score_ = self.cv_lambdas_ = self.cv_accuracy_ = None
        self.lambda_ = float(self.lambdas_[-1])
        folds = self._folds(data)
        if len(folds) == 0:
            return
        paths = [self._follow(reduction, data, train) for train, _ in folds]
        ends = [path.lambdas[-1] for each in paths for path in each if not path.constant]
        end = max(ends, default=0.0)
        lambdas = _between(self.lambdas_)
        lambdas = lambdas[lambdas >= min(end, lambdas[0])]
        right = np.zeros(len(lambdas))
        blocks = row_blocks(len(lambdas), max(1, _BLOCK_ENTRIES // data.targets.size))
        for (train, test), each in zip(folds, paths, strict=True):
            R, t = reduction.R[np.ix_(test, train)], reduction.t[test][:, None]
            for block in blocks:
                c, b = self._shares(each, data.targets[train], lambdas[block])
                found = _decide_each(R @ c + t * b[:, None, :])
                right[block] += (found == decisions(data.targets[test])).sum(axis=1)
        self.cv_lambdas_ = lambdas
        self.cv_accuracy_ = right / sum(len(test) for _, test in folds)
        self.best_score_ = float(self.cv_accuracy_.max())
        self.best_interval_ = _widest(lambdas, self.cv_accuracy_ == self.best_score_)
        self.lambda_ = float(np.sqrt(self.best_interval_[0] * self.best_interval_[1]))

    def _folds(self, data: LabelledData) -> list[Fold]:
        known = data.values[data.index].astype(self.classes_.dtype)
        cv = self.cv
        if isinstance(cv, (int, np.integer)):
            if cv < 2:
                raise ValueError(f"cv must be at least 2 folds, a splitter or None, got {cv!r}")
            cv = min(int(cv), int(np.unique(known, return_counts=True)[1].min()))
        if cv is None or (isinstance(cv, int) and cv == 1):
            return []
        return labelled_folds(cv, data, known, classifier=True)

    def _store_machine(self, reduction: Reduction, space: Space, data: LabelledData) -> None:
        """Store the machine at ``lambda_``, how far it is from the optimum, and how paths ended."""
        lam, S = self.lambda_, self.graph_.laplacian_
        c, b = (part[0] for part in self._shares(self._paths, data.targets, np.array([lam])))
        coef, values = reduction.expand(c, b)
        risk = RegularizedRisk(
            space=space,
            loss=Hinge(),
            labelled=data.index,
            targets=data.targets,
            weights=data.weights,
            smoothness=S,
            reg_ambient=lam * self.rho / 2.0,
            reg_manifold=lam / 2.0,
            fit_intercept=bool(self.fit_intercept),
        )
        problem = reduction.problem(
            Hinge(), data.targets, data.weights, risk.reg_ambient, risk.fit_intercept
        )
        step = certified_step(
            risk,
            Function(coef, b, values, S @ values),
            -risk.reg_ambient * c,
            len(self.lambdas_),
            1e-3,
            partial(problem.leave_one_out, c),
        )
        given_up = [path.lambdas[-1] for path in self._paths if not path.complete]
        if given_up:
            remark = f"rounding has ended a path at λ = {max(given_up):.3g}; {FEW_DIGITS} (rho)"
            step = replace(step, converged=False, remark=remark)
        elif not step.converged:
            step = replace(step, remark=f"{FEW_DIGITS} (rho)")
        step, result = self._drive("path", iter([step]), len(self.lambdas_) + 1, [], stacklevel=4)
        self._store(data.X, step.function, result)
        self._store_labels(data, step)

    def _decide_at(self, X: Any, lam: Any) -> np.ndarray:
        """Return values of shape (n, columns), or (k, n, columns) if ``lam`` is an array."""
        check_is_fitted(self, "result_")
        if lam is None:
            return self._decide(X)
        lambdas = np.atleast_1d(np.asarray(lam, dtype=float))
        if lambdas.ndim != 1 or not ((lambdas > 0) & np.isfinite(lambdas)).all():
            raise ValueError(
                f"lam must be a positive, finite number or a 1-D array of these, got {lam!r}"
            )
        if not self._constant and (lambdas < (1.0 - 1e-12) * self.lambdas_[-1]).any():
            raise ValueError(
                f"lam={lambdas.min():.3g} is below the end of the path, {self.lambdas_[-1]:.3g}: "
                "fit with a smaller lambda_min_ratio, unless f would be rounding there"
            )
        X = valid_rows(self, X, reset=False)
        c, b = self._shares(self._paths, self._targets, lambdas)
        shares = np.concatenate([c, -self._ratio * b[:, None, :]], axis=1)
        if np.ndim(lam) == 0:
            coef = self._coefficients @ shares[0]
            return values_on(self.kernel_, X, self.X_fit_, coef) + b[0]
        once = values_on(self.kernel_, X, self.X_fit_, self._coefficients)  # serves every λ
        return once @ shares + b[:, None, :]

    def _default_graph(self) -> KNNGraph:
        return regression_graph()


def _decide_each(values: np.ndarray) -> np.ndarray:
    """Return the decisions of values of shape (…, n, columns), shape (…, n)."""
    return decisions(values.reshape(-1, values.shape[-1])).reshape(values.shape[:-1])


def _between(lambdas: np.ndarray) -> np.ndarray:
    """Return breakpoints and the geometric middle of each pair, descending."""
    points = np.empty(2 * len(lambdas) - 1)
    points[::2] = lambdas
    points[1::2] = np.sqrt(lambdas[1:] * lambdas[:-1])
    return points


def _widest(lambdas: np.ndarray, best: np.ndarray) -> tuple[float, float]:
    """Return (low, high) of the run of best points that is widest on the log scale."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], best.astype(int), [0]])))
    runs = list(zip(edges[::2], edges[1::2] - 1, strict=True))
    first, last = max(runs, key=lambda run: lambdas[run[0]] / lambdas[run[1]])
    return float(lambdas[last]), float(lambdas[first])
