"""What the Laplacian embedded machines share: graph kernel, virtual targets, plan, solve, store.

An intermediate function g on the rows is smooth over the graph and near the labels; the machine f
is fitted to g on all rows. Kernel and graph never meet in one matrix product. `TubeMachine` fits f
within a tube around g, `RidgeMachine` by least squares.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..arrays.memory import format_size, memory_budget
from ..kernels import (
    CallableKernel,
    Kernel,
    LinearKernel,
    choose_storage,
    dense_operator,
    gram_operator,
    single_precision_suffices,
)
from ..losses import SquaredLoss
from ..operators import (
    DenseOperator,
    DiagonalOperator,
    InverseOperator,
    LowRankOperator,
    Operator,
    RowGramOperator,
    Rows,
)
from ..solvers import (
    EmbeddedRidge,
    SolverResult,
    Step,
    TubeProblem,
    ridge_cg,
    ridge_cg_bytes,
    ridge_direct,
    tube_bytes,
    tube_steps,
)
from ..spaces import (
    EmbeddedKernel,
    Function,
    graph_kernel,
    graph_kernel_bytes,
    label_precision,
    reduced_precision,
    spectral_embedding,
)
from .base import values_on
from .checks import check_count, check_not_negative, check_positive
from .classifier import LabelledData
from .manifold import DENSE_ROWS, ManifoldEstimator

logger = logging.getLogger("lapwing")


@dataclass(frozen=True)
class GraphSide:
    """The graph's part of an embedded problem.

    Attributes
    ----------
    kernel : Operator
        K_G.
    virtual : ndarray of shape (n, c)
        ỹ = K_G Λ y, what the graph alone makes of the targets.
    held_out : ndarray of shape (l, c)
        The same on the labelled rows, each without its own target.
    constant : float
        Least energy of g, reached at ỹ.
    """

    kernel: Operator
    virtual: np.ndarray
    held_out: np.ndarray
    constant: float


class EmbeddedEstimator(ManifoldEstimator):
    """Base of the Laplacian embedded machines. See the public classes for the parameters."""

    # Set by __init__ of the public classes.
    C: float
    reg_labeled: float
    n_eigenvectors: int | None

    #: The norm has weight one: C and λ weigh the other terms against it.
    reg_ambient = 1.0

    def _begin(self, n: int) -> None:
        """Check the parameters for n rows, and forget what a fit does not always make."""
        for name in ("embedding_", "virtual_targets_"):
            self.__dict__.pop(name, None)
        self._check_regularization()
        for name in ("C", "reg_labeled", "tol"):
            check_positive(name, getattr(self, name))
        check_count("max_iter", self.max_iter)
        if self.n_eigenvectors is None:
            return
        check_count("n_eigenvectors", self.n_eigenvectors)
        if self.n_eigenvectors >= n:
            raise ValueError(
                f"n_eigenvectors={self.n_eigenvectors} must be less than the {n} rows: use a "
                "smaller number, or None for the exact graph kernel"
            )

    def _fit_embedded(self, data: LabelledData) -> Step:
        raise NotImplementedError(f"{type(self).__name__} must implement _fit_embedded")

    def _spectrum(self, *, stacklevel: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return eigenvalues and eigenvectors of the graph, and the power of the Laplacian."""
        k = int(self.n_eigenvectors or 0)
        if self.graph_.n_components_ > k:
            warnings.warn(
                f"the graph falls into {self.graph_.n_components_} parts and n_eigenvectors is "
                f"{k}: only the {k} largest parts are told apart, and labels in others are not "
                "used. Raise n_eigenvectors, or n_neighbors of the graph",
                stacklevel=stacklevel,
            )
        values, vectors = self.graph_.eigenpairs(k)
        return values, vectors, int(self.graph_.power)

    def _store(self, X: Any, function: Function, result: SolverResult) -> None:
        """Store an expansion over the rows, as weights where the kernel is linear."""
        self._expansion = coef = function.coef
        if isinstance(self.kernel_, LinearKernel):
            function = replace(function, coef=np.asarray(self.kernel_.prepare(X).data.T @ coef))
        super()._store(X, function, result)
        self.support_ = np.flatnonzero(coef.any(axis=1))

    def _previous_solution(self, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
        if super()._previous_solution(X) is None:
            return None
        return self._expansion, self.intercept_


class TubeMachine(EmbeddedEstimator):
    """Machines of the ε-insensitive loss, Chen, Tsang & Xu (2012), eq. (14) and (18)."""

    epsilon: float

    def _fit_embedded(self, data: LabelledData) -> Step:
        """Build and solve the problem for checked input; store what both kinds share."""
        n, n_columns = data.X.shape[0], data.targets.shape[1]
        self._begin(n)
        check_not_negative("epsilon", self.epsilon)
        self._fit_graph(data.X, data.index, stacklevel=4)
        previous = self._previous_solution(data.X) if self.warm_start else None
        kernel = self._make_kernel(data.X)
        self.kernel_ = kernel
        budget = memory_budget(self.memory_limit)
        supervised = self.reg_manifold == 0
        side = self._supervised(data) if supervised else self._graph_side(data, budget)
        used = data.index if supervised else np.arange(n)
        start = None
        if previous is not None and previous[0].shape == (n, n_columns):
            start = previous[0][used]
        room = budget
        if isinstance(side.kernel, DenseOperator):
            room -= 8 * len(used) ** 2
        elif isinstance(side.kernel, InverseOperator):  # blocks of conjugate gradients
            room -= 8 * tube_bytes(len(used), 0)
        least = tube_bytes(len(used), n_columns)
        if room < least:
            raise MemoryError(
                f"fitting {len(used)} rows needs at least {format_size(budget - room + least)} and "
                f"memory_limit allows {format_size(budget)}: raise memory_limit, or fit fewer "
                "unlabelled rows"
            )
        steps = tube_steps(
            *self._problems(
                kernel, data.X if len(used) == n else _part(data.X, used, kernel), side
            ),
            tol=self.tol,
            memory=room,
            start=start,
        )
        step, result = self._drive("decompose", steps, self.max_iter, [], stacklevel=4)
        f = step.function
        coef = np.zeros((n, n_columns))
        coef[used] = f.coef
        self._store(data.X, replace(f, coef=coef), result)
        if not supervised:
            self.virtual_targets_ = _flat(side.virtual)
        if supervised or result.status != "converged":  # rows set aside have values of the past
            weights = self.coef_ if isinstance(kernel, LinearKernel) else self.dual_coef_
            values = values_on(kernel, data.X, data.X, weights.T) + f.intercept
        else:
            values = f.values - side.kernel @ f.coef
        if not coef.any() and result.status == "converged":
            span = float(np.ptp(side.virtual, axis=0).max())
            name = "epsilon" if span <= 2.0 * self.epsilon else "tol"
            warnings.warn(
                f"{name}={getattr(self, name):g} is so large that a constant is good enough for "
                f"the virtual targets, which span {span:.3g}: the machine is that constant. Lower "
                f"{name}, or scale the targets up",
                stacklevel=3,
            )
        return replace(
            step, function=replace(f, values=values), leave_one_out=lambda: side.held_out
        )

    def _problems(
        self, kernel: Kernel | None, X: Any, side: GraphSide
    ) -> tuple[TubeProblem, Callable[[], TubeProblem] | None]:
        """Return the problem, and where single precision may not do, what makes a precise one."""
        rows: Any = X
        dtype: type = np.float64
        # What a user's function makes of rounded rows is not known.
        if kernel is not None and not isinstance(kernel, CallableKernel):
            rows, dtype = kernel.prepare(X, np.float32), np.float32
        if kernel is not None and (
            dtype is np.float64 or not single_precision_suffices(kernel, rows)
        ):
            rows, dtype = kernel.prepare(X), np.float64
        entries = EmbeddedKernel(kernel, rows, side.kernel)
        problem = TubeProblem(
            submatrix=entries.submatrix,
            values=entries.values,
            targets=side.virtual,
            C=float(self.C),
            epsilon=float(self.epsilon),
            fit_intercept=bool(self.fit_intercept),
            dtype=dtype,
            constant=side.constant,
        )

        def precise() -> TubeProblem:
            assert kernel is not None
            exact = EmbeddedKernel(kernel, kernel.prepare(X), side.kernel)
            return replace(
                problem, submatrix=exact.submatrix, values=exact.values, dtype=np.float64
            )

        return problem, None if dtype is np.float64 else precise

    def _graph_side(self, data: LabelledData, budget: int) -> GraphSide:
        """Return graph kernel and virtual targets, eq. (19)-(20) or (25)-(29)."""
        n = data.X.shape[0]
        mu, strength = float(self.reg_manifold), float(self.reg_labeled) * data.weights
        pull = label_precision(self.graph_.component_, data.index, strength, data.targets)
        if self.n_eigenvectors is None:
            dense = n <= DENSE_ROWS and graph_kernel_bytes(n) <= budget
            K_G = graph_kernel(self.graph_.laplacian_, pull, mu, dense=dense)
        else:
            self.embedding_ = spectral_embedding(*self._spectrum(stacklevel=5), pull, mu)
            K_G = LowRankOperator(self.embedding_)
        force = np.zeros((n, data.targets.shape[1]))
        force[data.index] = strength[:, None] * data.targets
        virtual = K_G @ force
        own = (K_G.diagonal_at(data.index) * strength)[:, None]
        rest = np.where(own < 1.0 - 1e-9, 1.0 - own, np.inf)
        held_out = (virtual[data.index] - own * data.targets) / rest
        given = float((force[data.index] * (data.targets - virtual[data.index])).sum())
        return GraphSide(K_G, virtual, held_out, 0.5 * given)

    def _supervised(self, data: LabelledData) -> GraphSide:
        """Return the same for μ = 0, where unlabelled rows are without any hold."""
        strength = float(self.reg_labeled) * data.weights
        return GraphSide(
            DiagonalOperator(1.0 / strength), data.targets, np.zeros(data.targets.shape), 0.0
        )


class RidgeMachine(EmbeddedEstimator):
    """Machines of the squared loss, Chen, Tsang & Xu (2012), eq. (31)."""

    def _fit_embedded(self, data: LabelledData) -> Step:
        """Build and solve the problem for checked input; store what both kinds share."""
        self._begin(data.X.shape[0])
        if self.solver not in ("auto", "direct", "cg"):
            raise ValueError(f"solver must be 'auto', 'direct' or 'cg', got {self.solver!r}")
        strength = float(self.reg_labeled) * data.weights
        if self.n_eigenvectors is None or self.reg_manifold == 0:
            # With g = f + ξ, the errors ξ are functions of the kernel I/C: this is LapRLS of g
            # with the kernel K + I/C.
            loss = SquaredLoss()
            step = self._fit(
                data.X, data.index, data.targets, strength, loss, lambda _: [], stacklevel=4
            )
            f = step.function
            values = f.values - self._ridge() * f.coef
            return replace(step, function=replace(f, values=values))
        self._fit_graph(data.X, data.index, stacklevel=4)
        mu = float(self.reg_manifold)
        pull = label_precision(self.graph_.component_, data.index, strength, data.targets)
        values, vectors, power = self._spectrum(stacklevel=4)
        self.embedding_ = spectral_embedding(values, vectors, power, pull, mu)
        loose = pull.copy()
        loose[data.index] = 0.0
        self.kernel_ = self._make_kernel(data.X)
        gram, method = self._gram(data.X, vectors.shape[1])
        problem = EmbeddedRidge(
            gram=gram,
            ridge=self._ridge(),
            basis=vectors,
            penalty=reduced_precision(values, vectors, power, loose, mu),
            labelled=data.index,
            targets=data.targets,
            label_precision=strength,
            fit_intercept=bool(self.fit_intercept),
        )
        if method == "direct":
            steps = ridge_direct(problem, self.tol)
        else:
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            steps = ridge_cg(problem, self.tol, rng)
        step, result = self._drive(method, steps, self.max_iter, [], stacklevel=4)
        self._store(data.X, step.function, result)
        force = self.embedding_[data.index].T @ (strength[:, None] * data.targets)
        self.virtual_targets_ = _flat(self.embedding_ @ force)
        return step

    def _ridge(self) -> float:
        return 1.0 / float(self.C)

    def _gram(self, X: Any, n_columns: int) -> tuple[Operator, str]:
        """Choose storage of the Gram matrix and method from sizes and memory."""
        n, kernel, budget = X.shape[0], self.kernel_, memory_budget(self.memory_limit)
        fits = 24 * n * n + 8 * n * 4 * n_columns <= budget
        direct = self.solver == "direct" or (self.solver == "auto" and n <= DENSE_ROWS and fits)
        if direct and not fits:
            raise MemoryError(
                f"solver='direct' needs {format_size(24 * n * n)} for {n} rows and memory_limit "
                f"allows {format_size(budget)}: use solver='auto', or raise memory_limit"
            )
        method = "direct" if direct else "cg"
        if kernel is None:
            return dense_operator(X), method
        if direct:
            return gram_operator(kernel, kernel.prepare(X), "float64"), method
        if isinstance(kernel, LinearKernel):
            return RowGramOperator(Rows(kernel.prepare(X).data)), method
        storage = choose_storage(n, budget, ridge_cg_bytes(n, n_columns + 1))
        rows = kernel.prepare(X, np.float32 if storage != "triangle64" else np.float64)
        if storage != "triangle64" and not single_precision_suffices(kernel, rows):
            rows = kernel.prepare(X)
        logger.info("%s with the Gram matrix stored as %s", method, storage)
        return gram_operator(kernel, rows, storage), method


def _part(X: Any, rows: np.ndarray, kernel: Kernel | None) -> Any:
    """Return some of the rows, of a Gram matrix also of its columns."""
    return X[np.ix_(rows, rows)] if kernel is None else X[rows]


def _flat(columns: np.ndarray) -> np.ndarray:
    """Return one column as a vector."""
    return columns[:, 0] if columns.shape[1] == 1 else columns
