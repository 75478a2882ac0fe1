"""The Laplacian support vector machine with a grid of weights: LapSVCCV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from ..estimators.lapsvc import LapSVC
from ..estimators.model import Classifier
from ..estimators.parameters import one_of
from ..estimators.rows import Rows
from ..estimators.targets import Targets
from ..graphs import KNNGraph
from ..losses import LOSSES
from .grid import CHECKS, GRID, fit_grid


@dataclass(repr=False, eq=False)
class LapSVCCV(Classifier):
    """`LapSVC` that chooses γ_A and γ_I by cross-validation, at the cost of a few fits.

    The whole grid, all folds and all classes come from one reduction to the labelled rows for each
    ratio γ_I/γ_A. Folds hide labels and not rows: held-out rows stay in the graph.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of the labelled rows.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A callable takes two arrays of rows and returns the matrix of kernel values.
    gamma : float, "scale", "median", or a sequence of these, default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is 1 / Σ Var(column),
        "median" is 1 / (2 · median distance²). Each value of a sequence is tried, and costs a grid
        of its own.
    degree, coef0 : float, default=3 and 0
        Parameters of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient, reg_manifold : sequences of float, default=(1e-6, 1e-4, 1e-2, 0.1, 1, 10, 100)
        The values of γ_A > 0 and γ_I ≥ 0 to try, in all pairs. The time is that of one
        factorisation for each ratio γ_I/γ_A.
    graph : KNNGraph, affinity matrix, a list of these, or None, default=None
        The graph of the rows; each graph of a list is tried, and built once. A graph that was
        fitted to X is used as it is, another one is fitted to X. None is ``KNNGraph()`` for
        classifiers and ``KNNGraph(normalized=False)`` for regressors. Its ``power`` is the p of Lᵖ.
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
    cv : int, splitter, iterable or None, default=None
        Folds over the labelled rows; None is 5 stratified folds. A splitter gets the labelled rows
        alone; pairs (train, test) of an iterable are indices of rows of X. Where no class has two
        labels, none can be held out: the weights next to the defaults of the plain estimator are
        used, with a warning.
    scoring : str, callable or None, default=None
        Score of the held-out rows, a name that scikit-learn knows or a function
        ``scorer(estimator, X, y)``, from classes or decision values (not from probabilities). None
        is accuracy for classifiers and the negative mean squared error for regressors. Of cells
        with the same score, the one with the smallest mean loss on the held-out rows is chosen.
    n_landmarks : int or None, default=None
        Number m of landmarks. The function is then an expansion over m k-means centres instead of
        all rows (over m random rows if the kernel is precomputed), which takes n·m² operations and
        n·m numbers: for more rows than an n × n matrix has room for. Narrow kernels need many
        landmarks.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the landmarks.
    memory_limit : int, str or None, default=None
        Memory that may be used for the basis and the reductions, in bytes or as text such as
        "8GB"; None is 60 % of the free memory.

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
    cv_results_ : dict of arrays
        The table of scikit-learn's `GridSearchCV`, without times; ``mean_test_loss`` breaks ties.
        Leave-one-out in closed form has one split, with all rows together.
    best_params_, best_score_, best_index_ : dict, float, int
        The parameters of the chosen cell, its mean score, and its index in the table.
    n_splits_ : int
        Number of folds.
    landmarks_ : ndarray of shape (m, d)
        The k-means centres, if ``n_landmarks`` is a number m; all distinct rows, if there are
        fewer. ``dual_coef_`` and ``support_`` then belong to the centres instead of the rows. Not
        for precomputed kernels, where m rows have nonzero coefficients.
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

    loss: str = "squared_hinge"
    _: KW_ONLY
    kernel: str | Callable = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 0.0
    reg_ambient: Sequence[float] = GRID
    reg_manifold: Sequence[float] = GRID
    graph: Any = None
    fit_intercept: bool = True
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    cv: Any = None
    scoring: Any = None
    n_landmarks: int | None = None
    random_state: Any = 0
    memory_limit: float | str | None = None

    _checks = {**CHECKS, "loss": one_of("squared_hinge", "hinge")}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        usual = LapSVC.reg_ambient, LapSVC.reg_manifold
        found = fit_grid(
            self, rows.X, targets, LOSSES[self.loss](), KNNGraph(), usual=usual, refit=refit
        )
        return self._set_fitted(rows, targets, found)
