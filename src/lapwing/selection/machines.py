"""Machines that choose their own regularisation: LapSVCCV, LapRLSClassifierCV, LapRLSRegressorCV.

Each class is a loss, targets and a grid; the work is done in `grid` and below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ..estimators.classifier import KernelClassifier, LabelledData
from ..estimators.folds import fold_weights
from ..estimators.regressor import KernelRegressor, regression_graph
from ..graphs import KNNGraph
from ..losses import LOSSES, Loss, SquaredLoss
from .grid import GRID, GridEstimator


class GridClassifier(KernelClassifier, GridEstimator):
    """Classifiers with a grid. See the public classes for the parameters."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the parameters by cross-validation over the labelled rows, and fit.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of unlabelled rows are not used, and scores have none.

        Returns
        -------
        self
        """
        data = self._check_data(X, y, sample_weight)
        self._store_labels(data, self._fit_grid(data))
        return self

    def _fold_weights(self, data: LabelledData, train: np.ndarray) -> np.ndarray:
        return fold_weights(data, train, self.class_weight, self.classes_.dtype)


class LapSVCCV(GridClassifier):
    """`LapSVC` that chooses γ_A and γ_I by cross-validation, for the price of a few fits.

    The whole grid, all folds and all classes come from one reduction to the labelled rows for each
    ratio γ_I/γ_A. Folds hide labels and not rows: the rows held out stay in the graph.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of the labelled rows.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale", "median", or a sequence of these, default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly; each of a sequence is tried, for the
        price of a grid of its own.
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient, reg_manifold : sequences of float, default=(1e-6, 1e-4, 1e-2, 0.1, 1, 10, 100)
        The values of γ_A > 0 and γ_I ≥ 0 to try, in all pairs. The time is that of one
        factorisation for each ratio γ_I/γ_A.
    graph : KNNGraph, affinity matrix, a list of these, or None, default=None
        The graph of the rows; each of a list is tried, and built once. A fitted graph is used as
        it is, another is fitted to X. None is ``KNNGraph()``, for regressors
        ``KNNGraph(normalized=False)``.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    cv : int, splitter, iterable or None, default=None
        Folds over the labelled rows; None is 5, stratified. A splitter sees the labelled rows
        alone; an iterable of (train, test) holds numbers of rows of X.
    scoring : str, callable or None, default=None
        Score of the rows held out, by scikit-learn's names, from classes or decision values (not
        from probabilities); None is accuracy for classes and the negative mean squared error for
        numbers. Of cells with the same score, that with the least
        mean loss on the rows held out is taken.
    n_landmarks : int or None, default=None
        Search among functions of so many k-means centres instead of all rows (of random rows if
        the kernel is precomputed): n·m² operations and n·m numbers, for more rows than an n × n
        matrix has room for. Narrow kernels, with which a centre speaks for few rows, want many.
    random_state : int, RandomState, Generator or None, default=0
        For the landmarks.
    memory_limit : int, str or None, default=None
        Most memory to use, in bytes or such as "8GB"; None is 60 % of what is free.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    cv_results_ : dict of arrays
        As scikit-learn's `GridSearchCV` gives it, without times; ``mean_test_loss`` breaks ties.
        Leave-one-out has one split, with all rows together.
    best_params_, best_score_, best_index_ : dict, float, int
        The cell that is used.
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

    References
    ----------
    S. Melacci and M. Belkin (2011), "Laplacian Support Vector Machines Trained in the Primal",
    Journal of Machine Learning Research 12, 1149-1184.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LapSVCCV
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> y[:10] = truth[:10]
    >>> model = LapSVCCV(gamma=5.0).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth))
    1.0
    >>> len(model.cv_results_["params"])
    49
    """

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        reg_ambient: Sequence[float] = GRID,
        reg_manifold: Sequence[float] = GRID,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = -1,
        class_weight: Any = None,
        cv: Any = None,
        scoring: Any = None,
        n_landmarks: int | None = None,
        random_state: Any = 0,
        memory_limit: float | str | None = None,
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
        self.cv = cv
        self.scoring = scoring
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.memory_limit = memory_limit

    def _loss(self) -> Loss:
        if self.loss not in ("squared_hinge", "hinge"):
            raise ValueError(f"loss must be 'squared_hinge' or 'hinge', got {self.loss!r}")
        return LOSSES[self.loss]()


class LapRLSClassifierCV(GridClassifier):
    """`LapRLSClassifier` that chooses γ_A and γ_I by leave-one-out or cross-validation.

    The whole grid, all folds and all classes come from one reduction to the labelled rows for each
    ratio γ_I/γ_A. Folds hide labels and not rows: the rows held out stay in the graph.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale", "median", or a sequence of these, default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly; each of a sequence is tried, for the
        price of a grid of its own.
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient, reg_manifold : sequences of float, default=(1e-6, 1e-4, 1e-2, 0.1, 1, 10, 100)
        The values of γ_A > 0 and γ_I ≥ 0 to try, in all pairs. The time is that of one
        factorisation for each ratio γ_I/γ_A.
    graph : KNNGraph, affinity matrix, a list of these, or None, default=None
        The graph of the rows; each of a list is tried, and built once. A fitted graph is used as
        it is, another is fitted to X. None is ``KNNGraph()``, for regressors
        ``KNNGraph(normalized=False)``.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    cv : int, splitter, iterable or None, default=None
        None is leave-one-out, exact and in closed form (with weights of classes from all labels).
        Else folds over the labelled rows: a splitter sees these alone, and an iterable of (train,
        test) holds numbers of rows of X.
    scoring : str, callable or None, default=None
        Score of the rows held out, by scikit-learn's names, from classes or decision values (not
        from probabilities); None is accuracy for classes and the negative mean squared error for
        numbers. Of cells with the same score, that with the least
        mean loss on the rows held out is taken.
    n_landmarks : int or None, default=None
        Search among functions of so many k-means centres instead of all rows (of random rows if
        the kernel is precomputed): n·m² operations and n·m numbers, for more rows than an n × n
        matrix has room for. Narrow kernels, with which a centre speaks for few rows, want many.
    random_state : int, RandomState, Generator or None, default=0
        For the landmarks.
    memory_limit : int, str or None, default=None
        Most memory to use, in bytes or such as "8GB"; None is 60 % of what is free.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    cv_results_ : dict of arrays
        As scikit-learn's `GridSearchCV` gives it, without times; ``mean_test_loss`` breaks ties.
        Leave-one-out has one split, with all rows together.
    best_params_, best_score_, best_index_ : dict, float, int
        The cell that is used.
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

    References
    ----------
    S. Melacci and M. Belkin (2011), "Laplacian Support Vector Machines Trained in the Primal",
    Journal of Machine Learning Research 12, 1149-1184.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LapRLSClassifierCV
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> y[:10] = truth[:10]
    >>> LapRLSClassifierCV(gamma=5.0).fit(X, y).best_score_
    1.0
    """

    def __init__(
        self,
        *,
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        reg_ambient: Sequence[float] = GRID,
        reg_manifold: Sequence[float] = GRID,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = -1,
        class_weight: Any = None,
        cv: Any = None,
        scoring: Any = None,
        n_landmarks: int | None = None,
        random_state: Any = 0,
        memory_limit: float | str | None = None,
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
        self.cv = cv
        self.scoring = scoring
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.memory_limit = memory_limit

    def _loss(self) -> Loss:
        return SquaredLoss()


class LapRLSRegressorCV(KernelRegressor, GridEstimator):
    """`LapRLSRegressor` that chooses γ_A and γ_I by leave-one-out or cross-validation.

    The whole grid and all folds come from one reduction to the rows with a target for each ratio
    γ_I/γ_A. Folds hide targets and not rows: the rows held out stay in the graph.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale", "median", or a sequence of these, default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly; each of a sequence is tried, for the
        price of a grid of its own.
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient, reg_manifold : sequences of float, default=(1e-6, 1e-4, 1e-2, 0.1, 1, 10, 100)
        The values of γ_A > 0 and γ_I ≥ 0 to try, in all pairs. The time is that of one
        factorisation for each ratio γ_I/γ_A.
    graph : KNNGraph, affinity matrix, a list of these, or None, default=None
        The graph of the rows; each of a list is tried, and built once. A fitted graph is used as
        it is, another is fitted to X. None is ``KNNGraph()``, for regressors
        ``KNNGraph(normalized=False)``.
    fit_intercept : bool, default=True
        Whether f has a constant b.
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    cv : int, splitter, iterable or None, default=None
        None is leave-one-out, exact and in closed form (with weights of classes from all labels).
        Else folds over the labelled rows: a splitter sees these alone, and an iterable of (train,
        test) holds numbers of rows of X.
    scoring : str, callable or None, default=None
        Score of the rows held out, by scikit-learn's names, from classes or decision values (not
        from probabilities); None is accuracy for classes and the negative mean squared error for
        numbers. Of cells with the same score, that with the least
        mean loss on the rows held out is taken.
    n_landmarks : int or None, default=None
        Search among functions of so many k-means centres instead of all rows (of random rows if
        the kernel is precomputed): n·m² operations and n·m numbers, for more rows than an n × n
        matrix has room for. Narrow kernels, with which a centre speaks for few rows, want many.
    random_state : int, RandomState, Generator or None, default=0
        For the landmarks.
    memory_limit : int, str or None, default=None
        Most memory to use, in bytes or such as "8GB"; None is 60 % of what is free.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    cv_results_ : dict of arrays
        As scikit-learn's `GridSearchCV` gives it, without times; ``mean_test_loss`` breaks ties.
        Leave-one-out has one split, with all rows together.
    best_params_, best_score_, best_index_ : dict, float, int
        The cell that is used.
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

    References
    ----------
    S. Melacci and M. Belkin (2011), "Laplacian Support Vector Machines Trained in the Primal",
    Journal of Machine Learning Research 12, 1149-1184.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapRLSRegressorCV
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.where(np.arange(50) % 7 == 0, X[:, 0] ** 2, np.nan)
    >>> model = LapRLSRegressorCV().fit(X, y)
    >>> bool(np.abs(model.predict([[0.5]]) - 0.25)[0] < 0.02)
    True
    """

    def __init__(
        self,
        *,
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        reg_ambient: Sequence[float] = GRID,
        reg_manifold: Sequence[float] = GRID,
        graph: Any = None,
        fit_intercept: bool = True,
        unlabeled: Any = np.nan,
        cv: Any = None,
        scoring: Any = None,
        n_landmarks: int | None = None,
        random_state: Any = 0,
        memory_limit: float | str | None = None,
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
        self.cv = cv
        self.scoring = scoring
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the parameters by cross-validation over the rows with a target, and fit.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows.
        y : array of shape (n,)
            Targets; NaN, None, ``pd.NA`` and ``unlabeled`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of rows without a target are not used, and scores have
            none.

        Returns
        -------
        self
        """
        data = self._check_data(X, y, sample_weight)
        step = self._fit_grid(data)
        self._store_targets(data, step.function.values[:, 0])
        return self

    def _loss(self) -> Loss:
        return SquaredLoss()

    def _default_graph(self) -> KNNGraph:
        return regression_graph()
