"""Laplacian support vector regression: LapSVR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..losses import EpsilonInsensitive
from ..solvers.driver import Step
from .graph_choice import graph_of_rows
from .manifold import fit_manifold
from .model import Regressor
from .parameters import check_not_negative_in_units, check_positive_in_units, one_of
from .rows import Rows
from .run import previous_solution
from .targets import Targets


@dataclass(repr=False, eq=False)
class LapSVR(Regressor):
    """Laplacian support vector regression for targets known for few rows.

    Minimises

        ½‖f‖² + C Σ_labelled max(|f - y| - ε, 0) + (μ/2) fᵀLᵖf

    Errors below ε cost nothing, and the cost of larger errors is linear: wrong targets have less
    influence than under the squared loss of `LapRLSRegressor`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, positive, in units of the target.
    epsilon : float, default=0.1
        ε ≥ 0, the error that costs nothing, in units of the target.
    reg_manifold : float, default=0.01
        μ ≥ 0, weight of the smoothness over the graph; 0 is support vector regression.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A callable takes two arrays of rows and returns the matrix of kernel values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is 1 / Σ Var(column),
        "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Parameters of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A graph that was fitted to X is used as it is, another one is fitted
        to X. None is ``KNNGraph()`` for classifiers and ``KNNGraph(normalized=False)`` for
        regressors. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has an intercept.
    unlabeled : float, default=nan
        Marker of rows without a target; None, NaN and pd.NA always count as such.
    solver : {"auto", "dual"}, default="auto"
        "dual" factors a dense n × n matrix once and solves a quadratic program of two variables
        per labelled row. "auto" does so up to about 10 000 rows and iterates for more, to a
        certified distance from the optimum.
    tol : float, default=1e-3
        Iterative solvers stop when the certified distance to the optimum is below ``tol`` times the
        objective.
    max_iter : int, default=1000
        Maximum number of iterations.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the landmarks that the iterative solver uses.
    warm_start : bool, default=False
        Whether a new fit to rows of the same shape starts from the last solution.
    verbose : int, default=0
        1 shows progress on the standard error stream.
    memory_limit : int, str or None, default=None
        Memory that may be used for the Gram matrix and the solver, in bytes or as text such as
        "8GB"; None is 60 % of the free memory. How the Gram matrix is stored is chosen to fit,
        before anything is allocated.
    callback : callable, optional
        Called with each `Step`; a true return value stops the solver.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
    dual_coef_ : ndarray of shape (n_columns, n)
        Coefficients of the expansion (not for linear and cosine kernels).
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    intercept_ : ndarray of shape (n_columns,)
        Intercepts.
    support_ : ndarray of int
        Rows with a nonzero coefficient.
    graph_ : KNNGraph
        The graph used.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    result_ : SolverResult
        Status, message, certified gap, passes and history of the solver.
    n_iter_ : int
        Iterations of the solver.

    Notes
    -----
    In the scale of the other Laplacian models, ½·(Σ loss + γ_A‖f‖² + γ_I fᵀLᵖf), this is γ_A = 1,
    γ_I = μ and losses of weight 2C.

    With an intercept, y and f are measured from the weighted mean of the targets, also in the
    penalties, which makes a difference only under a normalised Laplacian. For targets a·y + b in
    other units, multiply ε and C by ``|a|``: with f = a·f̃, the objective is a² times that of f̃
    for C/a and ε/a. The model is then a times that of y, plus b.

    With linear and cosine kernels the d weights are found from a d × d matrix if d is at most n and
    at most 5 000 (at most n for direct solvers and for up to 10 000 dense rows). With more columns,
    sparse rows and more than 10 000 dense rows are used through products with X alone; for fewer
    dense rows the n × n Gram matrix is formed.

    References
    ----------
    L. Chen, I. W. Tsang and D. Xu (2012), "Laplacian Embedded Regression for Scalable Manifold
    Regularization", IEEE Transactions on Neural Networks and Learning Systems 23(6), 902-915.
    The model is that of eq. (4)-(10).

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapSVR
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.where(np.arange(50) % 7 == 0, X[:, 0] ** 2, np.nan)
    >>> model = LapSVR(C=100.0, epsilon=0.01, reg_manifold=1e-2).fit(X, y)
    >>> bool(np.abs(model.predict([[0.5]]) - 0.25)[0] < 0.02)
    True
    """

    _: KW_ONLY
    C: float = 1.0
    epsilon: float = 0.1
    reg_manifold: float = 0.01
    kernel: str | Callable = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    graph: Any = None
    fit_intercept: bool = True
    unlabeled: Any = np.nan
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = 1000
    random_state: Any = 0
    warm_start: bool = False
    verbose: int = 0
    memory_limit: float | str | None = None
    callback: Callable[[Step], object] | None = None

    _checks = {
        "C": check_positive_in_units,
        "epsilon": check_not_negative_in_units,
        "solver": one_of("auto", "dual"),
    }

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        loss = EpsilonInsensitive(targets.without_unit("epsilon", self.epsilon))
        weight = 2.0 * targets.without_unit("C", self.C)
        graph, reach = graph_of_rows(self, rows.X, targets, refit)
        start = previous_solution(self, rows.X, refit)
        found = fit_manifold(
            self, rows.X, targets, loss, graph, start, reg_ambient=1.0, loss_weight=weight
        )
        return self._set_fitted(rows, targets, found, graph_=graph, label_reach_=reach)
