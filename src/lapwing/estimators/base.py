"""What the manifold-regularised machines share: build, solve, store.

An estimator is a loss, a space, a graph and a solver with names for their parameters; nothing is
computed here.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..arrays.memory import format_size, memory_budget
from ..graphs import KNNGraph
from ..kernels import (
    CallableKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    choose_storage,
    gram_bytes,
    gram_operator,
    make_kernel,
    single_precision_suffices,
)
from ..losses import Loss
from ..operators import DenseOperator, Operator, TileOperator
from ..risk import RegularizedRisk
from ..solvers import (
    SolverResult,
    Step,
    StoppingRule,
    dense_bytes,
    drive,
    eliminate,
    eliminate_features,
    manifold_cg,
    manifold_cg_bytes,
    pcg,
)
from ..spaces import Function, KernelSpace, LinearSpace, Space, evaluate

logger = logging.getLogger("lapwing")

#: Rows up to which solver="auto" factors a dense matrix: (2/3)n³ operations beyond this take
#: longer than the iterations.
DENSE_ROWS = 10_000
#: Columns up to which linear kernels are solved by a d × d factorisation.
DENSE_FEATURES = 5_000
#: Iterations for which the iterative solver reserves memory.
_PLANNED_ITERATIONS = 40
#: Rows of the sample on which a kernel is checked for being positive semi-definite.
_PSD_ROWS = 300


class ManifoldEstimator(BaseEstimator):
    """Base of the Laplacian-regularised machines. See the public classes for the parameters."""

    # Set by __init__ of the public classes.
    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    reg_ambient: float
    reg_manifold: float
    graph: Any
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    random_state: Any
    warm_start: bool
    verbose: int
    memory_limit: Any
    callback: Callable[[Step], object] | None

    def _fit(
        self,
        X: Any,
        labelled: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        loss: Loss,
        rules: Callable[[Kernel | None], list[StoppingRule]],
    ) -> Step:
        """Build the problem for checked input, solve it and store what all machines share."""
        self._check_regularization()
        self.graph_ = self._resolve_graph(X)
        reached = np.isin(self.graph_.component_, self.graph_.component_[labelled])
        self.label_reach_ = reached
        if self.reg_manifold > 0 and not reached.all():
            warnings.warn(
                f"{int((~reached).sum())} rows lie in parts of the graph that no label reaches "
                "(see label_reach_): their predictions rest on the kernel alone. Label a row of "
                "each part, or raise n_neighbors of the graph",
                stacklevel=4,
            )
        start = self._previous_solution(X) if self.warm_start else None
        self._exact_gram: Operator | None = None
        kernel, space, method = self._plan(X, len(labelled), targets.shape[1])
        self.kernel_ = kernel
        risk = RegularizedRisk(
            space=space,
            loss=loss,
            labelled=labelled,
            targets=targets,
            weights=weights,
            smoothness=self.graph_.laplacian_,
            reg_ambient=float(self.reg_ambient),
            reg_manifold=float(self.reg_manifold),
            fit_intercept=bool(self.fit_intercept),
        )
        step, result = self._solve(risk, method, rules(kernel), start)
        del self._exact_gram
        self._store(X, step.function, result)
        return step

    def _solve(
        self,
        risk: RegularizedRisk,
        method: str,
        rules: list[StoppingRule],
        start: tuple[np.ndarray, np.ndarray] | None,
    ) -> tuple[Step, SolverResult]:
        if method == "pcg":
            first = None if start is None else _function(risk, *start)
            steps = pcg(risk, first, self.tol)
        elif method == "manifold_cg":
            expansion = None
            if start is not None and isinstance(risk.space, KernelSpace):
                expansion = start[0] if len(start[0]) == risk.n_rows else None
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            steps = manifold_cg(
                risk, tol=self.tol, rng=rng, start=expansion, exact=self._exact_gram
            )
        else:
            solve = eliminate_features if method == "eliminate_features" else eliminate
            steps = solve(risk, self.tol)
        callback = _Progress(method, self.callback) if self.verbose else self.callback
        max_iter = self.max_iter
        if method == "manifold_cg":
            max_iter = min(max_iter, self._iteration_room(risk))
        step, result = drive(method, steps, max_iter=max_iter, rules=rules, callback=callback)
        if self.verbose:
            sys.stderr.write("\n")
        if result.status == "not_converged":
            warnings.warn(result.message, ConvergenceWarning, stacklevel=5)
        return step, result

    def _store(self, X: Any, f: Function, result: SolverResult) -> None:
        self.result_ = result
        self.n_iter_ = result.n_iter
        self.intercept_ = f.intercept
        self.X_fit_ = X
        for name in ("coef_", "dual_coef_"):  # of an earlier fit with another kernel
            self.__dict__.pop(name, None)
        if isinstance(self.kernel_, LinearKernel):
            self.coef_ = f.coef.T
            self.support_ = np.arange(X.shape[0])
        else:
            self.dual_coef_ = f.coef.T
            self.support_ = np.flatnonzero(np.any(f.coef != 0, axis=1))

    def _refit(self, y: np.ndarray, **arguments: Any) -> Any:
        """Fit again to the same rows with other labels: same graph, from the present solution."""
        settings = self.graph, self.warm_start
        names = getattr(self, "feature_names_in_", None)
        try:
            self.graph, self.warm_start = self.graph_, True
            self.fit(self.X_fit_, y, sample_weight=self._row_weights, **arguments)
        finally:
            self.graph, self.warm_start = settings
            if names is not None:  # X_fit_ is a plain array
                self.feature_names_in_ = names
        return self

    def _previous_solution(self, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return coefficients and intercept of the last fit, if they fit these rows."""
        if not hasattr(self, "X_fit_") or self.X_fit_.shape != X.shape:
            return None
        return getattr(self, "dual_coef_", getattr(self, "coef_", np.empty(0))).T, self.intercept_

    def _decide(self, X: Any) -> np.ndarray:
        """Return the values of the fitted functions on new rows, shape (n, columns)."""
        check_is_fitted(self, "result_")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        coef = self.coef_ if isinstance(self.kernel_, LinearKernel) else self.dual_coef_
        return values_on(self.kernel_, X, self.X_fit_, coef.T) + self.intercept_

    def _default_graph(self) -> KNNGraph:
        return KNNGraph()

    # Planning: which graph, which storage, which solver.

    def _resolve_graph(self, X: Any) -> KNNGraph:
        graph = self.graph
        if sp.issparse(graph) or isinstance(graph, np.ndarray):
            graph = KNNGraph.from_affinity(graph, normalized=self._default_graph().normalized)
        elif graph is None:
            graph = self._default_graph()
        elif not isinstance(graph, KNNGraph):
            raise TypeError(
                f"graph must be a KNNGraph, an affinity matrix or None, got {type(graph).__name__}"
            )
        if self.kernel == "precomputed" and graph.metric != "precomputed":
            if not hasattr(graph, "affinity_"):
                graph = clone(graph).set_params(metric="precomputed")
            elif graph.n_samples_ == X.shape[0]:
                return graph  # fitted on the rows themselves, which are not given here
            else:
                raise ValueError(
                    f"the graph was fitted to {graph.n_samples_} rows and the precomputed kernel "
                    f"has {X.shape[0]}: fit the graph to the same rows, or pass an unfitted one"
                )
        if graph.fitted_to(X):
            return graph
        if hasattr(graph, "affinity_") and not hasattr(graph, "n_features_in_"):
            raise ValueError(
                f"the affinity matrix has {graph.n_samples_} rows and X has {X.shape[0]}: "
                "they must describe the same rows"
            )
        return clone(graph).fit(X)

    def _plan(self, X: Any, n_labelled: int, n_columns: int) -> tuple[Kernel | None, Space, str]:
        """Choose kernel, space and method from sizes and memory, before allocating."""
        n, d = X.shape
        budget = memory_budget(self.memory_limit)
        direct = self.solver in ("newton", "dual", "direct")
        kernel: Kernel | None = None
        if self.kernel == "precomputed":
            _check_gram(X)
        else:
            kernel = make_kernel(
                self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
            )
            _check_kernel(kernel, X)
        linear = isinstance(kernel, LinearKernel)
        few_features = linear and d <= min(n, DENSE_FEATURES) and 24 * d * d <= budget
        if few_features and self.solver != "pcg":
            method = "eliminate_features"
        elif self.solver == "auto" and linear and sp.issparse(X) and self.reg_manifold > 0:
            method = "manifold_cg"  # wide text: K is never formed
        elif direct or (self.solver == "auto" and self._prefers_dense(n, n_labelled, budget)):
            method = "eliminate"
        else:
            method = "manifold_cg" if self.solver == "auto" else self.solver
        if kernel is None:
            self._check_room(method, n, n_labelled, budget)
            return None, KernelSpace(DenseOperator(np.asarray(X, dtype=np.float64))), method
        gram = None
        if not linear or method == "eliminate":
            storage = self._storage(method, n, n_labelled, n_columns, budget)
            logger.info("%s with the Gram matrix stored as %s", method, storage)
            self._stored_as = storage
            prepared = double = kernel.prepare(X)
            exact = storage in ("float64", "triangle64") or self.reg_manifold == 0
            if not exact and single_precision_suffices(kernel, prepared):
                prepared = kernel.prepare(X, np.float32)
            gram = gram_operator(kernel, prepared, storage)
            if method == "manifold_cg" and (prepared is not double or storage == "triangle32"):
                self._exact_gram = gram_operator(kernel, double, "tiled")
        if linear:
            return kernel, LinearSpace(kernel.prepare(X).data, gram), method
        assert gram is not None
        return kernel, KernelSpace(gram), method

    def _prefers_dense(self, n: int, n_labelled: int, budget: int) -> bool:
        if self.reg_manifold == 0:
            return True
        return n <= DENSE_ROWS and dense_bytes(n, n_labelled) <= budget

    def _storage(self, method: str, n: int, n_labelled: int, n_columns: int, budget: int) -> str:
        if method == "eliminate":
            if self.reg_manifold == 0:
                return "tiled"
            self._check_room(method, n, n_labelled, budget)
            return "float64"
        if method == "pcg":
            work = 8 * n * n_columns * 24
            if gram_bytes(n, "float64") + work <= budget:
                return "float64"
            return choose_storage(n, budget, work)
        work = manifold_cg_bytes(n, n_labelled, n_columns, _PLANNED_ITERATIONS)
        dense = dense_bytes(n, n_labelled) if n <= DENSE_ROWS else np.inf
        return choose_storage(n, budget, work, dense)

    def _check_room(self, method: str, n: int, n_labelled: int, budget: int) -> None:
        needed = dense_bytes(n, n_labelled)
        if method == "eliminate" and self.reg_manifold > 0 and needed > budget:
            raise MemoryError(
                f"solver={self.solver!r} needs {format_size(needed)} for {n} rows and "
                f"memory_limit allows {format_size(budget)}: use solver='auto' or 'pcg', or "
                "raise memory_limit"
            )

    def _iteration_room(self, risk: RegularizedRisk) -> int:
        """Return how many iterations of growing subspaces the memory budget has room for."""
        sizes = risk.n_rows, len(risk.labelled), risk.n_columns
        stored = 0
        if isinstance(risk.gram, TileOperator):
            stored = gram_bytes(risk.n_rows, self._stored_as)
        fixed = manifold_cg_bytes(*sizes, 0)
        each = manifold_cg_bytes(*sizes, 1) - fixed
        room = memory_budget(self.memory_limit) - stored - fixed
        return max(int(room // each), _PLANNED_ITERATIONS)

    def _check_regularization(self) -> None:
        for name, lowest in (("reg_ambient", "positive"), ("reg_manifold", "not negative")):
            value = getattr(self, name)
            allowed = np.isfinite(value) and (value > 0 if lowest == "positive" else value >= 0)
            if not allowed:
                raise ValueError(f"{name} must be finite and {lowest}, got {value!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def check_rows(estimator: ManifoldEstimator, X: Any) -> Any:
    """Return X as a float array or CSR matrix, checked as scikit-learn does."""
    X = validate_data(
        estimator,
        X,
        accept_sparse=False if estimator.kernel == "precomputed" else "csr",
        dtype=[np.float64, np.float32],
        ensure_min_samples=2,
    )
    if estimator.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed kernel must be a square matrix, got shape {X.shape}")
    return X


def check_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Return one non-negative weight a row."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative")
    return weights


def values_on(kernel: Kernel | None, X_new: Any, X: Any, coef: np.ndarray) -> np.ndarray:
    """Return the expansion on new rows; X_new holds kernel values if the kernel is precomputed."""
    if kernel is None:
        return np.asarray(X_new @ coef)
    if isinstance(kernel, LinearKernel):
        return np.asarray(kernel.prepare(X_new).data @ coef)
    return evaluate(kernel, X_new, X, coef)


def _function(risk: RegularizedRisk, coef: np.ndarray, intercept: np.ndarray) -> Function | None:
    """Return a warm start as a function, or None if it does not fit the problem."""
    if coef.shape != (risk.space.n_coef, risk.n_columns):
        return None
    if isinstance(risk.space, LinearSpace):
        values = np.asarray(risk.space.X @ coef) + intercept
    else:
        values = risk.gram @ coef + intercept
    return Function(coef, intercept, values, risk.smoothness @ values)


def _check_gram(K: np.ndarray) -> None:
    scale = float(np.abs(K).max(initial=0.0))
    if not np.allclose(K, K.T, rtol=0, atol=1e-8 * max(scale, 1e-300)):
        raise ValueError("the precomputed kernel is not symmetric: pass K with K equal to K.T")
    _check_semidefinite(K[np.ix_(*[_sample(len(K))] * 2)])


def _check_kernel(kernel: Kernel, X: Any) -> None:
    """Refuse a kernel that is visibly not positive semi-definite on a sample of the rows."""
    doubtful = isinstance(kernel, CallableKernel) or (
        isinstance(kernel, PolynomialKernel)
        and (kernel.coef0 < 0 or kernel.degree != int(kernel.degree))
    )
    if doubtful:
        rows = kernel.prepare(X[_sample(X.shape[0])])
        K = kernel.block(rows, rows)
        if not np.isfinite(K).all():
            raise ValueError("the kernel gives NaN or infinite values: rescale the rows or gamma")
        if not np.allclose(K, K.T, atol=1e-8 * max(float(np.abs(K).max()), 1e-300)):
            raise ValueError("the kernel is not symmetric: k(a, b) must equal k(b, a)")
        _check_semidefinite(K)


def _check_semidefinite(K: np.ndarray) -> None:
    values = np.linalg.eigvalsh((K + K.T) / 2.0)
    if values[0] < -1e-6 * max(abs(values[-1]), 1e-300):
        raise ValueError(
            f"the kernel is not positive semi-definite (eigenvalues from {values[0]:.3g} to "
            f"{values[-1]:.3g} on {len(K)} rows): use a valid kernel, or add a multiple of the "
            "identity to a precomputed one"
        )


def _sample(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, _PSD_ROWS).astype(int))


class _Progress:
    """One line on the error stream, rewritten at each step (verbose=1)."""

    def __init__(self, method: str, callback: Callable[[Step], object] | None) -> None:
        self.method = method
        self.callback = callback

    def __call__(self, step: Step) -> object:
        gap = "" if step.gap is None else f", at most {step.gap:.3g} above the optimum"
        sys.stderr.write(
            f"\r{self.method}: iteration {step.iteration}, objective {step.objective:.6g}{gap}   "
        )
        sys.stderr.flush()
        return self.callback(step) if self.callback is not None else None


__all__ = ["ManifoldEstimator", "check_rows", "check_weights", "values_on"]
