"""Machines that choose their own regularisation: LapSVCCV, LapRLSClassifierCV, LapRLSRegressorCV.

Each class is a loss, targets and a grid; the work is done in `grid` and below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ..estimators.classifier import KernelClassifier, LabelledData
from ..estimators.docstrings import documented
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


@documented
class LapSVCCV(GridClassifier):
    """`LapSVC` that chooses γ_A and γ_I by cross-validation, for the price of a few fits.

    The whole grid, all folds and all classes come from one reduction to the labelled rows for each
    ratio γ_I/γ_A. Folds hide labels and not rows: the rows held out stay in the graph.

    Parameters
    ----------
    loss : {{"squared_hinge", "hinge"}}, default="squared_hinge"
        Loss of the labelled rows.
    {kernel_grid}
    {grid}
    {graph_grid}
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    cv : int, splitter, iterable or None, default=None
        Folds over the labelled rows; None is 5, stratified. A splitter sees the labelled rows
        alone; an iterable of (train, test) holds numbers of rows of X.
    {grid_run}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    {grid_attributes}
    {landmark_attributes}
    {attributes}

    References
    ----------
    {melacci}

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


@documented
class LapRLSClassifierCV(GridClassifier):
    """`LapRLSClassifier` that chooses γ_A and γ_I by leave-one-out or cross-validation.

    The whole grid, all folds and all classes come from one reduction to the labelled rows for each
    ratio γ_I/γ_A. Folds hide labels and not rows: the rows held out stay in the graph.

    Parameters
    ----------
    {kernel_grid}
    {grid}
    {graph_grid}
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    {cv_squared}
    {grid_run}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    {grid_attributes}
    {landmark_attributes}
    {attributes}

    References
    ----------
    {melacci}

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


@documented
class LapRLSRegressorCV(KernelRegressor, GridEstimator):
    """`LapRLSRegressor` that chooses γ_A and γ_I by leave-one-out or cross-validation.

    The whole grid and all folds come from one reduction to the rows with a target for each ratio
    γ_I/γ_A. Folds hide targets and not rows: the rows held out stay in the graph.

    Parameters
    ----------
    {kernel_grid}
    {grid}
    {graph_grid}
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    {cv_squared}
    {grid_run}

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    {grid_attributes}
    {landmark_attributes}
    {attributes}

    References
    ----------
    {melacci}

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
