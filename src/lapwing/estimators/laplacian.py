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
from .docstrings import documented
from .regressor import ManifoldRegressor


@documented
class LapSVC(ManifoldClassifier):
    """Laplacian support vector machine for few labels and many unlabelled rows.

    Minimises, for each class against the rest,

        ½·( Σ_labelled loss(y, f) + γ_A ‖f‖² + γ_I fᵀLᵖf )

    with the squared hinge max(1 - yf, 0)² or the hinge max(1 - yf, 0).

    Parameters
    ----------
    loss : {{"squared_hinge", "hinge"}}, default="squared_hinge"
        Loss of the labelled rows.
    {kernel}
    {regularization}
    {graph}
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    solver : {{"auto", "newton", "pcg", "dual"}}, default="auto"
        "newton" (squared hinge) and "dual" (hinge) factor a dense n × n matrix once and solve an
        l × l problem by Newton steps or a quadratic program. "pcg" is the preconditioned
        conjugate gradient of the paper (squared hinge). "auto" factors up to about 10 000 rows
        and iterates above, to a certified distance from the optimum.
    stopping : {{"optimal", "stability", "validation", "mixed"}}, default="optimal"
        Early stopping of iterative solvers by the decisions on unlabelled rows, the errors on
        validation rows, or both; "optimal" uses ``tol`` alone.
    {landmarks}
    {common}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    {landmark_attributes}
    {attributes}

    Notes
    -----
    {linear}

    References
    ----------
    {melacci}

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


@documented
class LapRLSClassifier(ManifoldClassifier):
    """Laplacian regularised least squares for classes, few of them labelled.

    Minimises ½·( Σ_labelled (y - f)² + γ_A ‖f‖² + γ_I fᵀLᵖf ) with y = ±1 for each class against
    the rest.

    Parameters
    ----------
    {kernel}
    {regularization}
    {graph}
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    solver : {{"auto", "direct", "pcg"}}, default="auto"
        "direct" factors a dense n × n matrix; "pcg" is the preconditioned conjugate gradient of
        the paper; "auto" factors up to about 10 000 rows and iterates above, to a certified
        distance from the optimum.
    stopping : {{"optimal", "stability", "validation", "mixed"}}, default="optimal"
        Early stopping of iterative solvers by the decisions on unlabelled rows, the errors on
        validation rows, or both; "optimal" uses ``tol`` alone.
    {landmarks}
    {common}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    {landmark_attributes}
    {attributes}

    Notes
    -----
    {linear}

    References
    ----------
    {melacci}

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


@documented
class LapRLSRegressor(ManifoldRegressor):
    """Laplacian regularised least squares for numbers, known for few rows.

    Minimises ½·( Σ_labelled (y - f)² + γ_A ‖f‖² + γ_I fᵀLᵖf ).

    Parameters
    ----------
    {kernel}
    {regularization}
    {graph}
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    solver : {{"auto", "direct", "pcg"}}, default="auto"
        "direct" factors a dense n × n matrix; "pcg" is the preconditioned conjugate gradient of
        the paper; "auto" factors up to about 10 000 rows and iterates above, to a certified
        distance from the optimum.
    {landmarks}
    {common}

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    {landmark_attributes}
    {attributes}

    Notes
    -----
    {linear}

    References
    ----------
    {melacci}

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
