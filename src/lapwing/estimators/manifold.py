"""What the manifold-regularised machines share: graph, plan, solve, store.

Which storage and which solver fit the rows and the memory is decided here; nothing is computed.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError

from ..arrays.memory import format_size, memory_budget
from ..graphs import KNNGraph
from ..kernels import (
    Kernel,
    LinearKernel,
    choose_storage,
    dense_operator,
    gram_bytes,
    gram_operator,
    single_precision_suffices,
)
from ..losses import Loss
from ..operators import Operator, TileOperator
from ..risk import RegularizedRisk
from ..solvers import (
    FEW_DIGITS,
    SolverResult,
    Step,
    StoppingRule,
    basis_bytes,
    dense_bytes,
    eliminate,
    eliminate_features,
    manifold_cg,
    manifold_cg_bytes,
    pcg,
)
from ..spaces import (
    Function,
    KernelSpace,
    Landmarks,
    LinearSpace,
    Space,
    kmeans_landmarks,
    landmark_features,
    submatrix_features,
)
from .base import KernelEstimator
from .checks import check_count, check_not_negative, check_positive
from .graph_choice import resolve_graph

logger = logging.getLogger("lapwing")

#: Rows up to which solver="auto" factors a dense matrix: (2/3)n³ operations beyond this take
#: longer than the iterations.
DENSE_ROWS = 10_000
#: Columns up to which linear kernels are solved by a d × d factorisation.
DENSE_FEATURES = 5_000
#: Iterations for which the iterative solver reserves memory.
_PLANNED_ITERATIONS = 40


class ManifoldEstimator(KernelEstimator):
    """Base of the Laplacian-regularised machines. See the public classes for the parameters."""

    # Set by __init__ of the public classes.
    reg_ambient: Any
    reg_manifold: Any
    graph: Any
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    #: Of the machines that have the parameter.
    n_landmarks: int | None = None

    def _fit(
        self,
        X: Any,
        labelled: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        loss: Loss,
        rules: Callable[[Kernel | None], list[StoppingRule]],
        *,
        stacklevel: int = 3,
    ) -> Step:
        """Build the problem for checked input, solve it and store what all machines share.

        ``stacklevel`` leads from here to the user's call of fit.
        """
        self._check_regularization()
        self._draw_seed()
        self._fit_graph(X, labelled, stacklevel=stacklevel + 1)
        start = self._previous_solution(X) if self.warm_start else None
        self._exact_gram: Operator | None = None
        landmarks: Landmarks | None = None
        if self.n_landmarks is None:
            kernel, space, method = self._plan(X, len(labelled), targets.shape[1])
        else:
            kernel, landmarks = self._plan_landmarks(X, len(labelled), loss)
            space, method = LinearSpace(landmarks.features.values), "eliminate_features"
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
        checks = rules(kernel)
        if landmarks is not None:
            checks = []  # they look at expansions over rows, and one exact step needs none
        step, result = self._solve(risk, method, checks, start, stacklevel + 1)
        del self._exact_gram
        if landmarks is not None:
            coef = landmarks.expansion(step.function.coef, kernel, X)
            step = replace(step, function=replace(step.function, coef=coef))
        self._store(X, step.function, result)
        if landmarks is not None and landmarks.centres is not None:
            self.landmarks_ = landmarks.centres
        return step

    def _solve(
        self,
        risk: RegularizedRisk,
        method: str,
        rules: list[StoppingRule],
        start: tuple[np.ndarray, np.ndarray] | None,
        stacklevel: int,
    ) -> tuple[Step, SolverResult]:
        if method == "pcg":
            first = None if start is None else _function(risk, *start)
            steps = pcg(risk, first, self.tol)
        elif method == "manifold_cg":
            expansion = None
            if start is not None and isinstance(risk.space, KernelSpace):
                expansion = start[0] if len(start[0]) == risk.n_rows else None
            steps = manifold_cg(
                risk, tol=self.tol, rng=self._rng(), start=expansion, exact=self._exact_gram
            )
        else:
            solve = eliminate_features if method == "eliminate_features" else eliminate
            steps = solve(risk, self.tol)
        max_iter = self.max_iter
        if method == "manifold_cg":
            max_iter = min(max_iter, self._iteration_room(risk))
        try:
            return self._drive(method, steps, max_iter, rules, stacklevel=stacklevel + 1)
        except LinAlgError as error:
            raise ValueError(f"no solution in double precision: {FEW_DIGITS}") from error

    def _refit_settings(self) -> dict[str, Any]:
        return {**super()._refit_settings(), "graph": self.graph_}

    def _default_graph(self) -> KNNGraph:
        return KNNGraph()

    def _ridge(self) -> float:
        """Return what is added to the diagonal of the Gram matrix."""
        return 0.0

    # Planning: which graph, which storage, which solver.

    def _fit_graph(self, X: Any, labelled: np.ndarray, *, stacklevel: int) -> None:
        """Find the graph and what labels reach in it; ``stacklevel`` leads to the call of fit."""
        self.graph_ = self._resolve_graph(X)
        self._find_reach(labelled, stacklevel=stacklevel + 1)

    def _find_reach(self, labelled: np.ndarray, *, stacklevel: int) -> None:
        reached = np.isin(self.graph_.component_, self.graph_.component_[labelled])
        self.label_reach_ = reached
        if np.max(self.reg_manifold) > 0 and not reached.all():
            warnings.warn(
                f"{int((~reached).sum())} rows lie in parts of the graph that no label reaches "
                "(see label_reach_): their predictions rest on the kernel alone. Label a row of "
                "each part, or raise n_neighbors of the graph",
                stacklevel=stacklevel,
            )

    def _resolve_graph(self, X: Any) -> KNNGraph:
        return resolve_graph(self.graph, X, self._default_graph(), self.kernel == "precomputed")

    def _plan(self, X: Any, n_labelled: int, n_columns: int) -> tuple[Kernel | None, Space, str]:
        """Choose kernel, space and method from sizes and memory, before allocating."""
        n, d = X.shape
        budget = memory_budget(self.memory_limit)
        direct = self.solver in ("newton", "dual", "direct")
        kernel = self._make_kernel(X)
        ridge = self._ridge()
        linear = isinstance(kernel, LinearKernel) and ridge == 0
        # A d × d matrix is better than an n × n one, but not always better than none.
        forms_gram = direct or (n <= DENSE_ROWS and not sp.issparse(X))
        forms_gram = forms_gram and self.reg_manifold > 0
        few_features = d <= (n if forms_gram else min(n, DENSE_FEATURES))
        if linear and self.solver != "pcg" and few_features and 24 * d * d <= budget:
            method = "eliminate_features"
        elif self.solver == "auto" and linear and sp.issparse(X) and self.reg_manifold > 0:
            method = "manifold_cg"  # wide text: K is never formed
        elif direct or (self.solver == "auto" and self._prefers_dense(n, n_labelled, budget)):
            method = "eliminate"
        else:
            method = "pcg" if self.solver == "pcg" else "manifold_cg"
        if kernel is None:
            self._check_room(method, n, n_labelled, n_columns, budget)
            return None, KernelSpace(dense_operator(X, ridge)), method
        gram = None
        if not linear or method == "eliminate":
            storage = self._storage(method, n, n_labelled, n_columns, budget)
            logger.info("%s with the Gram matrix stored as %s", method, storage)
            self._stored_as = storage
            prepared = double = kernel.prepare(X)
            exact = storage in ("float64", "triangle64") or self.reg_manifold == 0
            if not exact and single_precision_suffices(kernel, prepared):
                prepared = kernel.prepare(X, np.float32)
            gram = gram_operator(kernel, prepared, storage, ridge)
            if method == "manifold_cg" and (prepared is not double or storage == "triangle32"):
                self._exact_gram = gram_operator(kernel, double, "tiled", ridge)
        if linear:
            self._check_room(method, n, n_labelled, n_columns, budget)
            return kernel, LinearSpace(kernel.prepare(X).data, gram), method
        assert gram is not None
        return kernel, KernelSpace(gram), method

    def _plan_landmarks(
        self, X: Any, n_labelled: int, loss: Loss
    ) -> tuple[Kernel | None, Landmarks]:
        """Choose kernel and landmarks; the problem in their features is solved exactly."""
        if self.solver == "pcg":
            raise ValueError(
                "solver='pcg' does not go with n_landmarks, where one small matrix gives the exact "
                "solution: use solver='auto', or n_landmarks=None"
            )
        kernel = self._make_kernel(X)
        m = self._check_landmarks(kernel, X)
        work = basis_bytes(X.shape[0], m, 0, 1) + 8 * 6 * m * n_labelled
        if not loss.is_quadratic:
            work += 8 * 6 * n_labelled**2  # the problem of the labelled rows
        return kernel, self._make_landmarks(kernel, X, m, work)

    def _check_landmarks(self, kernel: Kernel | None, X: Any) -> int:
        """Return the number of landmarks, or refuse it."""
        m, n = self.n_landmarks, X.shape[0]
        check_count("n_landmarks", m)
        assert m is not None
        if isinstance(kernel, LinearKernel) or m > n:
            raise ValueError(
                "n_landmarks is for kernels that are not linear, and at most the number of "
                f"rows ({n}); got n_landmarks={m} with kernel={self.kernel!r}"
            )
        return m

    def _make_landmarks(self, kernel: Kernel | None, X: Any, m: int, work: int) -> Landmarks:
        """Return k-means centres with their features, or random rows of a precomputed kernel.

        There must be room for them and for ``work`` bytes.
        """
        n, d = X.shape
        needed, budget = 8 * m * (n + d) + work, memory_budget(self.memory_limit)
        if needed > budget:
            raise MemoryError(
                f"n_landmarks={m} with {n} rows needs {format_size(needed)} and memory_limit "
                f"allows {format_size(budget)}: lower n_landmarks, fit fewer rows, or raise "
                "memory_limit"
            )
        rng = self._rng()
        if kernel is None:
            rows = np.sort(rng.choice(n, m, replace=False))
            return Landmarks(submatrix_features(np.asarray(X, dtype=np.float64), rows), rows)
        centres = getattr(self, "landmarks_", None)
        same_rows = self.warm_start and X is getattr(self, "X_fit_", None)
        if not same_rows or centres is None or len(centres) != m:
            centres = kmeans_landmarks(X, m, rng)  # which takes longer than the rest of a fit
        return Landmarks(landmark_features(kernel, X, centres), centres=centres)

    def _prefers_dense(self, n: int, n_labelled: int, budget: int) -> bool:
        if self.reg_manifold == 0:
            return True
        return n <= DENSE_ROWS and dense_bytes(n, n_labelled) <= budget

    def _storage(self, method: str, n: int, n_labelled: int, n_columns: int, budget: int) -> str:
        if method == "eliminate":
            if self.reg_manifold == 0:
                return "tiled"
            self._check_room(method, n, n_labelled, n_columns, budget)
            return "float64"
        if method == "pcg":
            work = 8 * n * n_columns * 24
            if gram_bytes(n, "float64") + work <= budget:
                return "float64"
            return choose_storage(n, budget, work)
        work = manifold_cg_bytes(n, n_labelled, n_columns, _PLANNED_ITERATIONS)
        dense = dense_bytes(n, n_labelled) if n <= DENSE_ROWS else np.inf
        return choose_storage(n, budget, work, dense)

    def _check_room(
        self, method: str, n: int, n_labelled: int, n_columns: int, budget: int
    ) -> None:
        """Refuse what does not fit, where the storage of K is not there to choose."""
        if method == "eliminate" and self.reg_manifold > 0:
            needed, other = dense_bytes(n, n_labelled), "use solver='auto', or "
        elif method == "manifold_cg":
            needed = manifold_cg_bytes(n, n_labelled, n_columns, _PLANNED_ITERATIONS)
            other = "fit fewer unlabelled rows, or "
        else:
            return
        if needed > budget:
            raise MemoryError(
                f"solver={self.solver!r} needs {format_size(needed)} for {n} rows and "
                f"memory_limit allows {format_size(budget)}: {other}raise memory_limit"
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
        check_positive("reg_ambient", self.reg_ambient)
        check_not_negative("reg_manifold", self.reg_manifold)


def _function(risk: RegularizedRisk, coef: np.ndarray, intercept: np.ndarray) -> Function | None:
    """Return a warm start as a function, or None if it does not fit the problem."""
    if coef.shape != (risk.space.n_coef, risk.n_columns):
        return None
    return risk.function(coef, intercept)


__all__ = ["ManifoldEstimator"]
