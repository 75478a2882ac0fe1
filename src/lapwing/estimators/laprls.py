"""Laplacian regularised least squares: LapRLSClassifier and LapRLSRegressor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..arrays.device import follows_tensors
from ..losses import SquaredLoss
from ..solvers.driver import Step
from .anchored import fit_anchored, over_anchors
from .early_stopping import STOPPING, check_validation, early_stopping
from .graph_choice import graph_of_rows
from .manifold import fit_manifold
from .model import Classifier, Regressor
from .parameters import check_tolerance, one_of
from .rows import Rows
from .run import previous_solution
from .targets import Targets

SOLVERS = ("auto", "direct", "pcg")


@dataclass(repr=False, eq=False)
class LapRLSClassifier(Classifier):
    """Laplacian regularised least squares classifier for few labels and many unlabelled rows.

    Minimises ½·( Σ_labelled (y - f)² + γ_A ‖f‖² + γ_I fᵀLᵖf ) with y = ±1 for each class against
    the rest.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A callable takes two arrays of rows and returns the matrix of kernel values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is 1 / Σ Var(column),
        "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Parameters of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient : float, default=1e-4
        γ_A > 0, weight of the norm in the space of the kernel.
    reg_manifold : float, default=1.0
        γ_I ≥ 0, weight of the smoothness over the graph; 0 is the supervised model.
    graph : KNNGraph, affinity matrix, "anchors" or None, default=None
        The graph of the rows. A graph that was fitted to X is used as it is, another one is fitted
        to X. None is ``KNNGraph()`` for classifiers and ``KNNGraph(normalized=False)`` for
        regressors. Its ``power`` is the p of Lᵖ. "anchors" joins each row to the three nearest of
        the ``n_landmarks`` centres, and rows to each other through these; p is 1, the fit is linear
        in the rows, and these may come in blocks, see `PVMClassifier`. It is direct and starts
        anew: neither early stopping nor ``warm_start`` has an effect.
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
    solver : {"auto", "direct", "pcg"}, default="auto"
        "direct" factors a dense n × n matrix; "pcg" is the preconditioned conjugate gradient
        method of the paper; "auto" factors up to about 10 000 rows and iterates for more, to a
        certified distance from the optimum.
    stopping : {"optimal", "stability", "validation", "mixed"}, default="optimal"
        Early stopping of iterative solvers by the decisions on unlabelled rows, the errors on
        validation rows, or both; "optimal" uses ``tol`` alone.
    n_landmarks : int or None, default=None
        Number m of landmarks. The function is then an expansion over m k-means centres instead of
        all rows (over m random rows if the kernel is precomputed), which takes n·m² operations and
        n·m numbers: for more rows than an n × n matrix has room for. Narrow kernels need many
        landmarks. The solution is exact, from one m × m matrix; ``solver="pcg"`` is refused.
    tol : float, default=1e-3
        Iterative solvers stop when the certified distance to the optimum is below ``tol`` times the
        objective ("auto"), or the norm of the gradient below ``tol`` times its first value ("pcg").
        With 0 only ``max_iter`` and an early stopping rule end the iterations.
    max_iter : int, default=1000
        Maximum number of iterations.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the landmarks, those that the iterative solver uses included.
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
    graph_ : KNNGraph or AnchorGraph
        The graph used.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    result_ : SolverResult
        Status, message, certified gap, passes and history of the solver.
    n_iter_ : int
        Iterations of the solver.

    Notes
    -----
    With linear and cosine kernels the d weights are found from a d × d matrix if d is at most n and
    at most 5 000 (at most n for direct solvers and for up to 10 000 dense rows). With more columns,
    sparse rows and more than 10 000 dense rows are used through products with X alone; for fewer
    dense rows the n × n Gram matrix is formed.

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

    _: KW_ONLY
    kernel: str | Callable = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    reg_ambient: float = 1e-4
    reg_manifold: float = 1.0
    graph: Any = None
    fit_intercept: bool = True
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    solver: str = "auto"
    stopping: str = "optimal"
    n_landmarks: int | None = None
    tol: float = 1e-3
    max_iter: int = 1000
    random_state: Any = 0
    warm_start: bool = False
    verbose: int = 0
    memory_limit: float | str | None = None
    callback: Callable[[Step], object] | None = None

    _in_blocks = property(over_anchors)
    _for_blocks = "or set n_landmarks and graph='anchors', "
    _checks = {
        "solver": one_of(*SOLVERS),
        "stopping": one_of(*STOPPING),
        "tol": check_tolerance,
    }

    @follows_tensors
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, validation: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the labelled rows; those of unlabelled rows are not used.
        validation : tuple (X_v, y_v), optional
            Labelled rows for ``stopping="validation"`` and ``"mixed"``.

        Returns
        -------
        self
        """
        return self._fit(*self._check(X, y, sample_weight), validation)

    def _fit(
        self, rows: Rows, targets: Targets, validation: Any = None, *, refit: bool = False
    ) -> Self:
        validation = self._validation if refit else check_validation(self, rows, validation)
        rules = early_stopping(self.stopping, targets, validation)
        if self._in_blocks:
            found = fit_anchored(self, rows, targets, SquaredLoss(), refit=refit)
            return self._set_fitted(rows, targets, found, _validation=validation)
        graph, reach = graph_of_rows(self, rows.X, targets, refit)
        start, weight = previous_solution(self, rows.X, refit), self.reg_ambient
        found = fit_manifold(
            self, rows.X, targets, SquaredLoss(), graph, start, reg_ambient=weight, rules=rules
        )
        return self._set_fitted(
            rows, targets, found, graph_=graph, label_reach_=reach, _validation=validation
        )


@dataclass(repr=False, eq=False)
class LapRLSRegressor(Regressor):
    """Laplacian regularised least squares regression for targets known for few rows.

    Minimises ½·( Σ_labelled (y - f)² + γ_A ‖f‖² + γ_I fᵀLᵖf ).

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A callable takes two arrays of rows and returns the matrix of kernel values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is 1 / Σ Var(column),
        "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Parameters of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_ambient : float, default=1e-4
        γ_A > 0, weight of the norm in the space of the kernel.
    reg_manifold : float, default=0.1
        γ_I ≥ 0, weight of the smoothness over the graph; 0 is the supervised model.
    graph : KNNGraph, affinity matrix, "anchors" or None, default=None
        The graph of the rows. A graph that was fitted to X is used as it is, another one is fitted
        to X. None is ``KNNGraph()`` for classifiers and ``KNNGraph(normalized=False)`` for
        regressors. Its ``power`` is the p of Lᵖ. "anchors" joins each row to the three nearest of
        the ``n_landmarks`` centres, and rows to each other through these; p is 1, the fit is linear
        in the rows, and these may come in blocks, see `PVMClassifier`. It is direct and starts
        anew: neither early stopping nor ``warm_start`` has an effect.
    fit_intercept : bool, default=True
        Whether f has an intercept.
    unlabeled : float, default=nan
        Marker of rows without a target; None, NaN and pd.NA always count as such.
    solver : {"auto", "direct", "pcg"}, default="auto"
        "direct" factors a dense n × n matrix; "pcg" is the preconditioned conjugate gradient
        method of the paper; "auto" factors up to about 10 000 rows and iterates for more, to a
        certified distance from the optimum.
    n_landmarks : int or None, default=None
        Number m of landmarks. The function is then an expansion over m k-means centres instead of
        all rows (over m random rows if the kernel is precomputed), which takes n·m² operations and
        n·m numbers: for more rows than an n × n matrix has room for. Narrow kernels need many
        landmarks. The solution is exact, from one m × m matrix; ``solver="pcg"`` is refused.
    tol : float, default=1e-3
        Iterative solvers stop when the certified distance to the optimum is below ``tol`` times the
        objective ("auto"), or the norm of the gradient below ``tol`` times its first value ("pcg").
        With 0 only ``max_iter`` and an early stopping rule end the iterations.
    max_iter : int, default=1000
        Maximum number of iterations.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the landmarks, those that the iterative solver uses included.
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
    landmarks_ : ndarray of shape (m, d)
        The k-means centres, if ``n_landmarks`` is a number m; all distinct rows, if there are
        fewer. ``dual_coef_`` and ``support_`` then belong to the centres instead of the rows. Not
        for precomputed kernels, where m rows have nonzero coefficients.
    dual_coef_ : ndarray of shape (n_columns, n)
        Coefficients of the expansion (not for linear and cosine kernels).
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    intercept_ : ndarray of shape (n_columns,)
        Intercepts.
    support_ : ndarray of int
        Rows with a nonzero coefficient.
    graph_ : KNNGraph or AnchorGraph
        The graph used.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    result_ : SolverResult
        Status, message, certified gap, passes and history of the solver.
    n_iter_ : int
        Iterations of the solver.

    Notes
    -----
    With an intercept, y and f are measured from the weighted mean of the targets, also in the
    penalties: the model of a·y + b is a times that of y, plus b. This makes a difference only under
    a normalised Laplacian, which penalises constants.

    With linear and cosine kernels the d weights are found from a d × d matrix if d is at most n and
    at most 5 000 (at most n for direct solvers and for up to 10 000 dense rows). With more columns,
    sparse rows and more than 10 000 dense rows are used through products with X alone; for fewer
    dense rows the n × n Gram matrix is formed.

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

    _: KW_ONLY
    kernel: str | Callable = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    reg_ambient: float = 1e-4
    reg_manifold: float = 0.1
    graph: Any = None
    fit_intercept: bool = True
    unlabeled: Any = np.nan
    solver: str = "auto"
    n_landmarks: int | None = None
    tol: float = 1e-3
    max_iter: int = 1000
    random_state: Any = 0
    warm_start: bool = False
    verbose: int = 0
    memory_limit: float | str | None = None
    callback: Callable[[Step], object] | None = None

    _in_blocks = property(over_anchors)
    _for_blocks = "or set n_landmarks and graph='anchors', "
    _checks = {"solver": one_of(*SOLVERS), "tol": check_tolerance}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        if self._in_blocks:
            found = fit_anchored(self, rows, targets, SquaredLoss(), refit=refit)
            return self._set_fitted(rows, targets, found)
        graph, reach = graph_of_rows(self, rows.X, targets, refit)
        start = previous_solution(self, rows.X, refit)
        found = fit_manifold(
            self, rows.X, targets, SquaredLoss(), graph, start, reg_ambient=self.reg_ambient
        )
        return self._set_fitted(rows, targets, found, graph_=graph, label_reach_=reach)
