"""Machines with a Laplacian regulariser: LapSVC, LapRLSClassifier, LapRLSRegressor.

Each class is one row of loss × space × regulariser × solver; the work is done below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..losses import LOSSES, Loss, SquaredLoss
from ..solvers import Step
from .classifier import ManifoldClassifier
from .regressor import ManifoldRegressor


class LapSVC(ManifoldClassifier):
    """Laplacian support vector machine for few labels and many unlabelled rows.

    Minimises, for each class against the rest,

        ½·( Σ_labelled loss(y, f) + γ_A ‖f‖² + γ_I fᵀLᵖf )

    with the squared hinge max(1 - yf, 0)² or the hinge max(1 - yf, 0).

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of the labelled rows.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient : float, default=1e-4
        γ_A > 0, weight of the norm in the space of the kernel.
    reg_manifold : float, default=1.0 (regressors 0.1)
        γ_I ≥ 0, weight of the smoothness over the graph; 0 is the supervised machine.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph()``, for regressors ``KNNGraph(normalized=False)``. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    solver : {"auto", "newton", "pcg", "dual"}, default="auto"
        "newton" (squared hinge) and "dual" (hinge) factor a dense n × n matrix once and solve an
        l × l problem by Newton steps or a quadratic program. "pcg" is the preconditioned
        conjugate gradient of the paper (squared hinge). "auto" factors up to about 10 000 rows
        and iterates above, to a certified distance from the optimum.
    stopping : {"optimal", "stability", "validation", "mixed"}, default="optimal"
        Early stopping of iterative solvers by the decisions on unlabelled rows, the errors on
        validation rows, or both; "optimal" uses ``tol`` alone.
    n_landmarks : int or None, default=None
        Search among functions of so many k-means centres instead of all rows (of random rows if
        the kernel is precomputed): n·m² operations and n·m numbers, for more rows than an n × n
        matrix has room for. Narrow kernels, with which a centre speaks for few rows, want many.
        The solution is exact, from one m × m matrix; ``solver="pcg"`` is refused.
    tol : float, default=1e-3
        Iterative solvers are content when the certified distance to the optimum is below
        ``tol`` times the objective ("auto"), or the gradient's norm below ``tol`` times its
        first ("pcg").
    max_iter : int, default=1000
        Most iterations.
    random_state : int, RandomState or None, default=0
        For landmarks, those that the iterative solver uses included.
    warm_start : bool, default=False
        Whether a new fit on rows of the same shape starts from the last solution.
    verbose : int, default=0
        1 shows progress on the error stream.
    memory_limit : int, str or None, default=None
        Most memory for the Gram matrix, or the rows of it that are kept, and the solver, in bytes
        or such as "8GB"; None is 60 % of what is free. Storage in float64, float32 or tiles is
        chosen to fit, before anything is allocated.
    callback : callable, optional
        Called with each `Step`; a true return value stops the solver.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    landmarks_ : ndarray of shape (m, d)
        The centres, if ``n_landmarks`` is a number m; all distinct rows, if those are no more.
        ``dual_coef_`` and ``support_`` are then of centres instead of rows. Not for precomputed
        kernels, where coefficients of m rows are not zero.
    dual_coef_ : ndarray of shape (n_columns, n)
        Coefficients of the expansion (not for linear and cosine kernels).
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    intercept_ : ndarray of shape (n_columns,)
        Constants.
    support_ : ndarray
        Rows with a coefficient that is not zero.
    graph_ : KNNGraph
        The graph used.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    result_ : SolverResult
        Status, message, certified gap, passes over the Gram matrix and history.
    n_iter_ : int
        Iterations of the solver.

    Notes
    -----
    Linear and cosine kernels are solved for their d weights, by a d × d matrix, where d is at most
    n and at most 5 000 (for dense rows up to n = 10 000, and for direct solvers, at most n). With
    more columns, sparse rows and more than 10 000 dense ones are worked on by products with X
    alone; for fewer dense rows the n × n Gram matrix is formed.

    References
    ----------
    S. Melacci and M. Belkin (2011), "Laplacian Support Vector Machines Trained in the Primal",
    Journal of Machine Learning Research 12, 1149-1184.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LapSVC
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> y[:10] = truth[:10]
    >>> model = LapSVC(gamma=5.0).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth))
    1.0
    >>> model.result_.status
    'converged'
    """

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        kernel: str | Callable = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        reg_ambient: float = 1e-4,
        reg_manifold: float = 1.0,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = -1,
        class_weight: Any = None,
        solver: str = "auto",
        stopping: str = "optimal",
        n_landmarks: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.reg_ambient = reg_ambient
        self.reg_manifold = reg_manifold
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.solver = solver
        self.stopping = stopping
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.callback = callback

    def _loss(self) -> Loss:
        allowed = {"squared_hinge": ("auto", "newton", "pcg"), "hinge": ("auto", "dual")}
        if self.loss not in allowed:
            raise ValueError(f"loss must be 'squared_hinge' or 'hinge', got {self.loss!r}")
        if self.solver not in allowed[self.loss]:
            raise ValueError(
                f"solver={self.solver!r} does not go with loss={self.loss!r}: "
                f"use one of {', '.join(map(repr, allowed[self.loss]))}"
            )
        return LOSSES[self.loss]()


class LapRLSClassifier(ManifoldClassifier):
    """Laplacian regularised least squares for classes, few of them labelled.

    Minimises ½·( Σ_labelled (y - f)² + γ_A ‖f‖² + γ_I fᵀLᵖf ) with y = ±1 for each class against
    the rest.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient : float, default=1e-4
        γ_A > 0, weight of the norm in the space of the kernel.
    reg_manifold : float, default=1.0 (regressors 0.1)
        γ_I ≥ 0, weight of the smoothness over the graph; 0 is the supervised machine.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph()``, for regressors ``KNNGraph(normalized=False)``. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    solver : {"auto", "direct", "pcg"}, default="auto"
        "direct" factors a dense n × n matrix; "pcg" is the preconditioned conjugate gradient of
        the paper; "auto" factors up to about 10 000 rows and iterates above, to a certified
        distance from the optimum.
    stopping : {"optimal", "stability", "validation", "mixed"}, default="optimal"
        Early stopping of iterative solvers by the decisions on unlabelled rows, the errors on
        validation rows, or both; "optimal" uses ``tol`` alone.
    n_landmarks : int or None, default=None
        Search among functions of so many k-means centres instead of all rows (of random rows if
        the kernel is precomputed): n·m² operations and n·m numbers, for more rows than an n × n
        matrix has room for. Narrow kernels, with which a centre speaks for few rows, want many.
        The solution is exact, from one m × m matrix; ``solver="pcg"`` is refused.
    tol : float, default=1e-3
        Iterative solvers are content when the certified distance to the optimum is below
        ``tol`` times the objective ("auto"), or the gradient's norm below ``tol`` times its
        first ("pcg").
    max_iter : int, default=1000
        Most iterations.
    random_state : int, RandomState or None, default=0
        For landmarks, those that the iterative solver uses included.
    warm_start : bool, default=False
        Whether a new fit on rows of the same shape starts from the last solution.
    verbose : int, default=0
        1 shows progress on the error stream.
    memory_limit : int, str or None, default=None
        Most memory for the Gram matrix, or the rows of it that are kept, and the solver, in bytes
        or such as "8GB"; None is 60 % of what is free. Storage in float64, float32 or tiles is
        chosen to fit, before anything is allocated.
    callback : callable, optional
        Called with each `Step`; a true return value stops the solver.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    landmarks_ : ndarray of shape (m, d)
        The centres, if ``n_landmarks`` is a number m; all distinct rows, if those are no more.
        ``dual_coef_`` and ``support_`` are then of centres instead of rows. Not for precomputed
        kernels, where coefficients of m rows are not zero.
    dual_coef_ : ndarray of shape (n_columns, n)
        Coefficients of the expansion (not for linear and cosine kernels).
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    intercept_ : ndarray of shape (n_columns,)
        Constants.
    support_ : ndarray
        Rows with a coefficient that is not zero.
    graph_ : KNNGraph
        The graph used.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    result_ : SolverResult
        Status, message, certified gap, passes over the Gram matrix and history.
    n_iter_ : int
        Iterations of the solver.

    Notes
    -----
    Linear and cosine kernels are solved for their d weights, by a d × d matrix, where d is at most
    n and at most 5 000 (for dense rows up to n = 10 000, and for direct solvers, at most n). With
    more columns, sparse rows and more than 10 000 dense ones are worked on by products with X
    alone; for fewer dense rows the n × n Gram matrix is formed.

    References
    ----------
    S. Melacci and M. Belkin (2011), "Laplacian Support Vector Machines Trained in the Primal",
    Journal of Machine Learning Research 12, 1149-1184.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapRLSClassifier
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> y = ["left", None, None, "right", None, None]
    >>> LapRLSClassifier().fit(X, y).predict([[0.15], [5.15]])
    array(['left', 'right'], dtype='<U5')
    """

    def __init__(
        self,
        *,
        kernel: str | Callable = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        reg_ambient: float = 1e-4,
        reg_manifold: float = 1.0,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = -1,
        class_weight: Any = None,
        solver: str = "auto",
        stopping: str = "optimal",
        n_landmarks: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.reg_ambient = reg_ambient
        self.reg_manifold = reg_manifold
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.solver = solver
        self.stopping = stopping
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.callback = callback

    def _loss(self) -> Loss:
        return _squared_loss(self.solver)


class LapRLSRegressor(ManifoldRegressor):
    """Laplacian regularised least squares for numbers, known for few rows.

    Minimises ½·( Σ_labelled (y - f)² + γ_A ‖f‖² + γ_I fᵀLᵖf ).

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient : float, default=1e-4
        γ_A > 0, weight of the norm in the space of the kernel.
    reg_manifold : float, default=1.0 (regressors 0.1)
        γ_I ≥ 0, weight of the smoothness over the graph; 0 is the supervised machine.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph()``, for regressors ``KNNGraph(normalized=False)``. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    solver : {"auto", "direct", "pcg"}, default="auto"
        "direct" factors a dense n × n matrix; "pcg" is the preconditioned conjugate gradient of
        the paper; "auto" factors up to about 10 000 rows and iterates above, to a certified
        distance from the optimum.
    n_landmarks : int or None, default=None
        Search among functions of so many k-means centres instead of all rows (of random rows if
        the kernel is precomputed): n·m² operations and n·m numbers, for more rows than an n × n
        matrix has room for. Narrow kernels, with which a centre speaks for few rows, want many.
        The solution is exact, from one m × m matrix; ``solver="pcg"`` is refused.
    tol : float, default=1e-3
        Iterative solvers are content when the certified distance to the optimum is below
        ``tol`` times the objective ("auto"), or the gradient's norm below ``tol`` times its
        first ("pcg").
    max_iter : int, default=1000
        Most iterations.
    random_state : int, RandomState or None, default=0
        For landmarks, those that the iterative solver uses included.
    warm_start : bool, default=False
        Whether a new fit on rows of the same shape starts from the last solution.
    verbose : int, default=0
        1 shows progress on the error stream.
    memory_limit : int, str or None, default=None
        Most memory for the Gram matrix, or the rows of it that are kept, and the solver, in bytes
        or such as "8GB"; None is 60 % of what is free. Storage in float64, float32 or tiles is
        chosen to fit, before anything is allocated.
    callback : callable, optional
        Called with each `Step`; a true return value stops the solver.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    landmarks_ : ndarray of shape (m, d)
        The centres, if ``n_landmarks`` is a number m; all distinct rows, if those are no more.
        ``dual_coef_`` and ``support_`` are then of centres instead of rows. Not for precomputed
        kernels, where coefficients of m rows are not zero.
    dual_coef_ : ndarray of shape (n_columns, n)
        Coefficients of the expansion (not for linear and cosine kernels).
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    intercept_ : ndarray of shape (n_columns,)
        Constants.
    support_ : ndarray
        Rows with a coefficient that is not zero.
    graph_ : KNNGraph
        The graph used.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    result_ : SolverResult
        Status, message, certified gap, passes over the Gram matrix and history.
    n_iter_ : int
        Iterations of the solver.

    Notes
    -----
    Linear and cosine kernels are solved for their d weights, by a d × d matrix, where d is at most
    n and at most 5 000 (for dense rows up to n = 10 000, and for direct solvers, at most n). With
    more columns, sparse rows and more than 10 000 dense ones are worked on by products with X
    alone; for fewer dense rows the n × n Gram matrix is formed.

    References
    ----------
    S. Melacci and M. Belkin (2011), "Laplacian Support Vector Machines Trained in the Primal",
    Journal of Machine Learning Research 12, 1149-1184.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapRLSRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.where(np.arange(50) % 7 == 0, X[:, 0] ** 2, np.nan)
    >>> model = LapRLSRegressor(reg_manifold=1e-4).fit(X, y)
    >>> bool(np.abs(model.predict([[0.5]]) - 0.25)[0] < 0.02)
    True
    """

    def __init__(
        self,
        *,
        kernel: str | Callable = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        reg_ambient: float = 1e-4,
        reg_manifold: float = 0.1,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = np.nan,
        solver: str = "auto",
        n_landmarks: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.reg_ambient = reg_ambient
        self.reg_manifold = reg_manifold
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.callback = callback

    def _loss(self) -> Loss:
        return _squared_loss(self.solver)


def _squared_loss(solver: str) -> Loss:
    if solver not in ("auto", "direct", "pcg"):
        raise ValueError(f"solver must be 'auto', 'direct' or 'pcg', got {solver!r}")
    return SquaredLoss()
