"""Laplacian embedded support vector machines: LapESVC and LapESVR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..solvers.driver import Step
from .embedded import check_embedding, fit_tube
from .graph_choice import graph_of_rows
from .model import Classifier, Regressor
from .parameters import check_not_negative_in_units, check_positive_in_units
from .rows import Rows
from .run import previous_solution
from .targets import Targets


@dataclass(repr=False, eq=False)
class LapESVC(Classifier):
    """Laplacian embedded support vector machine for few labels and very many unlabelled rows.

    A function g on the rows is fitted to the labels and the graph, and a kernel function f to g,
    within ε. Minimises, for each class against the rest, y = ±1,

        ½‖f‖² + C Σ_all max(|f - g| - ε, 0) + (λ/2) Σ_labelled (g - y)² + (μ/2) gᵀLᵖg

    Kernel and graph enter separately: the work grows with the rows of the Gram matrix that are used
    and with the edges of the graph, and no n × n matrix is needed when ``n_eigenvectors`` is a
    number.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the distance between f and g, positive.
    epsilon : float, default=0.1
        ε ≥ 0, the distance between f and g that costs nothing, in units of the target. Larger
        values give fewer support rows.
    reg_labeled : float, default=1e4
        λ > 0, weight of the distance between g and the labels.
    reg_manifold : float, default=100.0
        μ ≥ 0, weight of the smoothness of g over the graph; 0 is the supervised model. With small
        values g follows f rather than the graph.
    n_eigenvectors : int or None, default=None
        Number of eigenvectors of the graph, those of the smallest eigenvalues, of which g is a
        combination; 10 to 100 are usual. None leaves g free, which is exact, for up to about 10 000
        rows.
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
    unlabeled : object, default=-1
        Marker of unlabelled rows in y; None, NaN and pd.NA always count as unlabelled.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply those of the labelled rows.
    class_shares : dict, "labels" or None, default=None
        Shares of the classes among the unlabelled rows, by class; of all rows, if all are labelled.
        Decision values get an offset per class, with which the mean probabilities of these rows are
        the shares. "labels" takes the shares of the labelled rows, (count + 1) / (rows + classes),
        for labels that are a random sample. None adds no offsets.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, relative to the size of the targets: 1 for
        classes, the standard deviation of quantities (without an intercept, from zero).
    max_iter : int, default=10000
        Maximum number of working sets.
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
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
    temperature_ : float
        Factor of the decision values in `predict_proba`.
    class_offsets_ : ndarray of shape (n_columns,)
        What ``class_shares`` has added to the decision values; zeros without it.
    virtual_targets_ : ndarray of shape (n,) or (n, n_columns)
        Virtual targets ỹ, the g that fits the labels and the graph best without regard to f; only
        if ``reg_manifold`` is positive.
    embedding_ : ndarray of shape (n, n_eigenvectors)
        The rows in coordinates whose inner products are the graph kernel, for use in other
        estimators; only if ``n_eigenvectors`` is a number and ``reg_manifold`` is positive.
    dual_coef_ : ndarray of shape (n_columns, n)
        Coefficients of the expansion (not for linear and cosine kernels).
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    intercept_ : ndarray of shape (n_columns,)
        Intercepts, with ``class_offsets_``.
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
    The power p is that of the graph, ``KNNGraph(power=p)``. In a connected component of the graph
    without labels, the mean of g is free within about ten times the size of the targets.

    The dual is solved by decomposition into working sets of a few hundred rows. Rows of the Gram
    matrix are computed when they are used and kept in a cache, whose size ``memory_limit`` bounds.
    The cost of a prediction is proportional to the number of support rows.

    References
    ----------
    L. Chen, I. W. Tsang and D. Xu (2012), "Laplacian Embedded Regression for Scalable Manifold
    Regularization", IEEE Transactions on Neural Networks and Learning Systems 23(6), 902-915.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LapESVC
    >>> X, truth = make_moons(400, noise=0.05, random_state=0)
    >>> y = np.full(400, -1)
    >>> y[:10] = truth[:10]
    >>> model = LapESVC(n_eigenvectors=20, gamma=5.0).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth))
    1.0
    >>> model.result_.status
    'converged'
    """

    _: KW_ONLY
    C: float = 10.0
    epsilon: float = 0.1
    reg_labeled: float = 1e4
    reg_manifold: float = 100.0
    n_eigenvectors: int | None = None
    kernel: str | Callable = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    graph: Any = None
    fit_intercept: bool = True
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    tol: float = 1e-3
    max_iter: int = 10_000
    warm_start: bool = False
    verbose: int = 0
    memory_limit: float | str | None = None
    callback: Callable[[Step], object] | None = None

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        check_embedding(self, rows.X.shape[0])
        graph, reach = graph_of_rows(self, rows.X, targets, refit)
        start = previous_solution(self, rows.X, refit)
        found = fit_tube(self, rows.X, targets, graph, start)
        return self._set_fitted(rows, targets, found, graph_=graph, label_reach_=reach)


@dataclass(repr=False, eq=False)
class LapESVR(Regressor):
    """Laplacian embedded support vector regression for targets known for few of many rows.

    A function g on the rows is fitted to the targets and the graph, and a kernel function f to g,
    within ε. Minimises

        ½‖f‖² + C Σ_all max(|f - g| - ε, 0) + (λ/2) Σ_labelled (g - y)² + (μ/2) gᵀLᵖg

    Kernel and graph enter separately: the work grows with the rows of the Gram matrix that are used
    and with the edges of the graph, and no n × n matrix is needed when ``n_eigenvectors`` is a
    number.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the distance between f and g, positive.
    epsilon : float, default=0.1
        ε ≥ 0, the distance between f and g that costs nothing, in units of the target. Larger
        values give fewer support rows.
    reg_labeled : float, default=1e4
        λ > 0, weight of the distance between g and the labels.
    reg_manifold : float, default=100.0
        μ ≥ 0, weight of the smoothness of g over the graph; 0 is the supervised model. With small
        values g follows f rather than the graph.
    n_eigenvectors : int or None, default=None
        Number of eigenvectors of the graph, those of the smallest eigenvalues, of which g is a
        combination; 10 to 100 are usual. None leaves g free, which is exact, for up to about 10 000
        rows.
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
    tol : float, default=1e-3
        Largest violation of the optimality conditions, relative to the size of the targets: 1 for
        classes, the standard deviation of quantities (without an intercept, from zero).
    max_iter : int, default=10000
        Maximum number of working sets.
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
    virtual_targets_ : ndarray of shape (n,) or (n, n_columns)
        Virtual targets ỹ, the g that fits the labels and the graph best without regard to f; only
        if ``reg_manifold`` is positive.
    embedding_ : ndarray of shape (n, n_eigenvectors)
        The rows in coordinates whose inner products are the graph kernel, for use in other
        estimators; only if ``n_eigenvectors`` is a number and ``reg_manifold`` is positive.
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
    The power p is that of the graph, ``KNNGraph(power=p)``. In a connected component of the graph
    without labels, the mean of g is free within about ten times the size of the targets.

    With an intercept, y and f are measured from the weighted mean of the targets, also in the
    penalties, which makes a difference only under a normalised Laplacian. For targets a·y + b in
    other units, multiply ε and C by ``|a|``: with f = a·f̃, the objective is a² times that of f̃
    for C/a and ε/a. The model is then a times that of y, plus b.

    The dual is solved by decomposition into working sets of a few hundred rows. Rows of the Gram
    matrix are computed when they are used and kept in a cache, whose size ``memory_limit`` bounds.
    The cost of a prediction is proportional to the number of support rows.

    References
    ----------
    L. Chen, I. W. Tsang and D. Xu (2012), "Laplacian Embedded Regression for Scalable Manifold
    Regularization", IEEE Transactions on Neural Networks and Learning Systems 23(6), 902-915.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapESVR
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = np.where(np.arange(200) % 20 == 0, X[:, 0] ** 2, np.nan)
    >>> model = LapESVR(C=100.0, epsilon=0.01, n_eigenvectors=20).fit(X, y)
    >>> bool(np.abs(model.predict([[0.5]]) - 0.25)[0] < 0.03)
    True
    """

    _: KW_ONLY
    C: float = 10.0
    epsilon: float = 0.1
    reg_labeled: float = 1e4
    reg_manifold: float = 100.0
    n_eigenvectors: int | None = None
    kernel: str | Callable = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    graph: Any = None
    fit_intercept: bool = True
    unlabeled: Any = np.nan
    tol: float = 1e-3
    max_iter: int = 10_000
    warm_start: bool = False
    verbose: int = 0
    memory_limit: float | str | None = None
    callback: Callable[[Step], object] | None = None

    _checks = {"C": check_positive_in_units, "epsilon": check_not_negative_in_units}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        check_embedding(self, rows.X.shape[0])
        graph, reach = graph_of_rows(self, rows.X, targets, refit)
        start = previous_solution(self, rows.X, refit)
        found = fit_tube(self, rows.X, targets, graph, start)
        return self._set_fitted(rows, targets, found, graph_=graph, label_reach_=reach)
