"""Laplacian embedded machines: LapESVC, LapESVR, LapERLSClassifier, LapERLSRegressor.

Each class is a loss and a kind of target with names for the parameters; the work is done below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..graphs import KNNGraph
from ..solvers import Step
from .classifier import KernelClassifier
from .embedding import EmbeddedEstimator, RidgeMachine, TubeMachine
from .regressor import KernelRegressor, regression_graph


class EmbeddedClassifier(KernelClassifier, EmbeddedEstimator):
    """Classifiers of the family. See the public classes for the parameters."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the labels; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        data = self._check_data(X, y, sample_weight)
        self._store_labels(data, self._fit_embedded(data))
        return self


class EmbeddedRegressor(KernelRegressor, EmbeddedEstimator):
    """Regressors of the family. See the public classes for the parameters."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows with and without targets.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows.
        y : array of shape (n,)
            Targets; NaN, None, ``pd.NA`` and ``unlabeled`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the targets; those of rows without a target are not used.

        Returns
        -------
        self
        """
        data = self._check_data(X, y, sample_weight)
        self._store_targets(data, self._fit_embedded(data).function.values[:, 0])
        return self

    def _default_graph(self) -> KNNGraph:
        return regression_graph()


class LapESVC(EmbeddedClassifier, TubeMachine):
    """Laplacian embedded support vector machine, for few labels and very many unlabelled rows.

    A function g on the rows follows the labels and the graph, and a machine f follows g within ε:
    for each class against the rest, y = ±1,

        ½‖f‖² + C Σ_all max(|f - g| - ε, 0) + (λ/2) Σ_labelled (g - y)² + (μ/2) gᵀLᵖg

    Kernel and graph stay apart: the work grows with the rows of the kernel that are used and with
    the edges of the graph, and no n × n matrix is needed when ``n_eigenvectors`` is a number.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the distance between f and g.
    epsilon : float, default=0.1
        ε ≥ 0, the distance that costs nothing, in units of the target. Larger values make
        for fewer support rows.
    reg_labeled : float, default=1e4
        λ > 0, weight of the distance between g and the labels.
    reg_manifold : float, default=100.0
        μ ≥ 0, weight of the smoothness of g over the graph; 0 is the supervised machine. Small
        values let g follow f instead of the graph.
    n_eigenvectors : int or None, default=None
        g is a combination of so many eigenvectors of the graph, those of the smallest eigenvalues;
        10 to 100 are usual. None leaves g free: exact, up to about 10 000 rows.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph()``, for regressors ``KNNGraph(normalized=False)``. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply λ.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the target.
    max_iter : int, default=10000
        Most working sets.
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
    virtual_targets_ : ndarray of shape (n,) or (n, n_columns)
        ỹ, what the graph alone makes of the labels: g where f has no say. Not for LapERLS with
        ``n_eigenvectors=None``, which does not form them.
    embedding_ : ndarray of shape (n, n_eigenvectors)
        The rows in coordinates whose inner products are the graph kernel, for other estimators to
        use; only if ``n_eigenvectors`` is a number.
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
    The power p is that of the graph, ``KNNGraph(power=p)``. Where no label reaches a part of the
    graph, the level of g is free there, within ten times the size of the targets.

    The dual is solved by decomposition: working sets of a few hundred rows, made when they are
    used by products of blocks and kept in a cache that ``memory_limit`` bounds. Prediction costs
    in proportion to ``support_``.

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

    def __init__(
        self,
        *,
        C: float = 10.0,
        epsilon: float = 0.1,
        reg_labeled: float = 1e4,
        reg_manifold: float = 100.0,
        n_eigenvectors: int | None = None,
        kernel: str | Callable = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = -1,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        warm_start: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.reg_labeled = reg_labeled
        self.reg_manifold = reg_manifold
        self.n_eigenvectors = n_eigenvectors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.callback = callback


class LapESVR(EmbeddedRegressor, TubeMachine):
    """Laplacian embedded support vector regression, for numbers known for few of many rows.

    A function g on the rows follows the targets and the graph, and a machine f follows g within ε:

        ½‖f‖² + C Σ_all max(|f - g| - ε, 0) + (λ/2) Σ_labelled (g - y)² + (μ/2) gᵀLᵖg

    Kernel and graph stay apart: the work grows with the rows of the kernel that are used and with
    the edges of the graph, and no n × n matrix is needed when ``n_eigenvectors`` is a number.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the distance between f and g.
    epsilon : float, default=0.1
        ε ≥ 0, the distance that costs nothing, in units of the target. Larger values make
        for fewer support rows.
    reg_labeled : float, default=1e4
        λ > 0, weight of the distance between g and the labels.
    reg_manifold : float, default=100.0
        μ ≥ 0, weight of the smoothness of g over the graph; 0 is the supervised machine. Small
        values let g follow f instead of the graph.
    n_eigenvectors : int or None, default=None
        g is a combination of so many eigenvectors of the graph, those of the smallest eigenvalues;
        10 to 100 are usual. None leaves g free: exact, up to about 10 000 rows.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph()``, for regressors ``KNNGraph(normalized=False)``. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the target.
    max_iter : int, default=10000
        Most working sets.
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
    virtual_targets_ : ndarray of shape (n,) or (n, n_columns)
        ỹ, what the graph alone makes of the labels: g where f has no say. Not for LapERLS with
        ``n_eigenvectors=None``, which does not form them.
    embedding_ : ndarray of shape (n, n_eigenvectors)
        The rows in coordinates whose inner products are the graph kernel, for other estimators to
        use; only if ``n_eigenvectors`` is a number.
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
    The power p is that of the graph, ``KNNGraph(power=p)``. Where no label reaches a part of the
    graph, the level of g is free there, within ten times the size of the targets.

    The dual is solved by decomposition: working sets of a few hundred rows, made when they are
    used by products of blocks and kept in a cache that ``memory_limit`` bounds. Prediction costs
    in proportion to ``support_``.

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

    def __init__(
        self,
        *,
        C: float = 10.0,
        epsilon: float = 0.1,
        reg_labeled: float = 1e4,
        reg_manifold: float = 100.0,
        n_eigenvectors: int | None = None,
        kernel: str | Callable = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = np.nan,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        warm_start: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.reg_labeled = reg_labeled
        self.reg_manifold = reg_manifold
        self.n_eigenvectors = n_eigenvectors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.callback = callback


class LapERLSClassifier(EmbeddedClassifier, RidgeMachine):
    """Laplacian embedded least squares for classes, for few labels and very many unlabelled rows.

    A function g on the rows follows the labels and the graph, and a machine f follows g: for each
    class against the rest, y = ±1,

        ½·( ‖f‖² + C Σ_all (f - g)² + λ Σ_labelled (g - y)² + μ gᵀLᵖg )

    Kernel and graph stay apart: the work grows with the rows of the kernel that are used and with
    the edges of the graph, and no n × n matrix is needed when ``n_eigenvectors`` is a number.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the distance between f and g.
    reg_labeled : float, default=1e4
        λ > 0, weight of the distance between g and the labels.
    reg_manifold : float, default=100.0
        μ ≥ 0, weight of the smoothness of g over the graph; 0 is the supervised machine. Small
        values let g follow f instead of the graph.
    n_eigenvectors : int or None, default=None
        g is a combination of so many eigenvectors of the graph, those of the smallest eigenvalues;
        10 to 100 are usual. None leaves g free: exact, up to about 10 000 rows.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph()``, for regressors ``KNNGraph(normalized=False)``. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply λ.
    solver : {"auto", "direct", "cg"}, default="auto"
        "direct" factors a dense n × n matrix; "cg" is a preconditioned conjugate gradient of
        blocks; "auto" factors up to about 10 000 rows and iterates above, to a certified distance
        from the optimum.
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
    virtual_targets_ : ndarray of shape (n,) or (n, n_columns)
        ỹ, what the graph alone makes of the labels: g where f has no say. Not for LapERLS with
        ``n_eigenvectors=None``, which does not form them.
    embedding_ : ndarray of shape (n, n_eigenvectors)
        The rows in coordinates whose inner products are the graph kernel, for other estimators to
        use; only if ``n_eigenvectors`` is a number.
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
    The power p is that of the graph, ``KNNGraph(power=p)``. Where no label reaches a part of the
    graph, the level of g is free there, within ten times the size of the targets.

    With ``n_eigenvectors`` the kernel enters by one block of linear systems, one for each
    eigenvector, whatever the number of classes. Without, it is `LapRLSClassifier` for the kernel
    K + I/C, γ_A = 1/λ and γ_I = μ/λ; C → ∞ gives that machine.

    References
    ----------
    L. Chen, I. W. Tsang and D. Xu (2012), "Laplacian Embedded Regression for Scalable Manifold
    Regularization", IEEE Transactions on Neural Networks and Learning Systems 23(6), 902-915.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LapERLSClassifier
    >>> X, truth = make_moons(400, noise=0.05, random_state=0)
    >>> y = np.full(400, -1)
    >>> y[:10] = truth[:10]
    >>> model = LapERLSClassifier(n_eigenvectors=20, gamma=5.0).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth))
    1.0
    >>> model.result_.status
    'converged'
    """

    def __init__(
        self,
        *,
        C: float = 10.0,
        reg_labeled: float = 1e4,
        reg_manifold: float = 100.0,
        n_eigenvectors: int | None = None,
        kernel: str | Callable = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = -1,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.C = C
        self.reg_labeled = reg_labeled
        self.reg_manifold = reg_manifold
        self.n_eigenvectors = n_eigenvectors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.callback = callback


class LapERLSRegressor(EmbeddedRegressor, RidgeMachine):
    """Laplacian embedded least squares for numbers known for few of many rows.

    A function g on the rows follows the targets and the graph, and a machine f follows g:

        ½·( ‖f‖² + C Σ_all (f - g)² + λ Σ_labelled (g - y)² + μ gᵀLᵖg )

    Kernel and graph stay apart: the work grows with the rows of the kernel that are used and with
    the edges of the graph, and no n × n matrix is needed when ``n_eigenvectors`` is a number.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the distance between f and g.
    reg_labeled : float, default=1e4
        λ > 0, weight of the distance between g and the labels.
    reg_manifold : float, default=100.0
        μ ≥ 0, weight of the smoothness of g over the graph; 0 is the supervised machine. Small
        values let g follow f instead of the graph.
    n_eigenvectors : int or None, default=None
        g is a combination of so many eigenvectors of the graph, those of the smallest eigenvalues;
        10 to 100 are usual. None leaves g free: exact, up to about 10 000 rows.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph()``, for regressors ``KNNGraph(normalized=False)``. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    solver : {"auto", "direct", "cg"}, default="auto"
        "direct" factors a dense n × n matrix; "cg" is a preconditioned conjugate gradient of
        blocks; "auto" factors up to about 10 000 rows and iterates above, to a certified distance
        from the optimum.
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
    virtual_targets_ : ndarray of shape (n,) or (n, n_columns)
        ỹ, what the graph alone makes of the labels: g where f has no say. Not for LapERLS with
        ``n_eigenvectors=None``, which does not form them.
    embedding_ : ndarray of shape (n, n_eigenvectors)
        The rows in coordinates whose inner products are the graph kernel, for other estimators to
        use; only if ``n_eigenvectors`` is a number.
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
    The power p is that of the graph, ``KNNGraph(power=p)``. Where no label reaches a part of the
    graph, the level of g is free there, within ten times the size of the targets.

    With ``n_eigenvectors`` the kernel enters by one block of linear systems, one for each
    eigenvector. Without, it is `LapRLSRegressor` for the kernel K + I/C, γ_A = 1/λ and γ_I = μ/λ;
    C → ∞ gives that machine.

    References
    ----------
    L. Chen, I. W. Tsang and D. Xu (2012), "Laplacian Embedded Regression for Scalable Manifold
    Regularization", IEEE Transactions on Neural Networks and Learning Systems 23(6), 902-915.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapERLSRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = np.where(np.arange(200) % 20 == 0, X[:, 0] ** 2, np.nan)
    >>> model = LapERLSRegressor(C=100.0, n_eigenvectors=20).fit(X, y)
    >>> bool(np.abs(model.predict([[0.5]]) - 0.25)[0] < 0.03)
    True
    """

    def __init__(
        self,
        *,
        C: float = 10.0,
        reg_labeled: float = 1e4,
        reg_manifold: float = 100.0,
        n_eigenvectors: int | None = None,
        kernel: str | Callable = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = np.nan,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.C = C
        self.reg_labeled = reg_labeled
        self.reg_manifold = reg_manifold
        self.n_eigenvectors = n_eigenvectors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.callback = callback
