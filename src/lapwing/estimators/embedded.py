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
from .docstrings import documented
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


@documented
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
    {embedding}
    {kernel}
    {graph}
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply λ.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the target.
    max_iter : int, default=10000
        Most working sets.
    {run}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    {embedding_attributes}
    {attributes}

    Notes
    -----
    {embedding_notes}

    The dual is solved by decomposition: working sets of a few hundred rows, made when they are
    used by products of blocks and kept in a cache that ``memory_limit`` bounds. Prediction costs
    in proportion to ``support_``.

    References
    ----------
    {chen}

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


@documented
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
    {embedding}
    {kernel}
    {graph}
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the target.
    max_iter : int, default=10000
        Most working sets.
    {run}

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    {embedding_attributes}
    {attributes}

    Notes
    -----
    {embedding_notes}

    The dual is solved by decomposition: working sets of a few hundred rows, made when they are
    used by products of blocks and kept in a cache that ``memory_limit`` bounds. Prediction costs
    in proportion to ``support_``.

    References
    ----------
    {chen}

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


@documented
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
    {embedding}
    {kernel}
    {graph}
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply λ.
    solver : {{"auto", "direct", "cg"}}, default="auto"
        "direct" factors a dense n × n matrix; "cg" is a preconditioned conjugate gradient of
        blocks; "auto" factors up to about 10 000 rows and iterates above, to a certified distance
        from the optimum.
    {common}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    {embedding_attributes}
    {attributes}

    Notes
    -----
    {embedding_notes}

    With ``n_eigenvectors`` the kernel enters by one block of linear systems, one for each
    eigenvector, whatever the number of classes. Without, it is `LapRLSClassifier` for the kernel
    K + I/C, γ_A = 1/λ and γ_I = μ/λ; C → ∞ gives that machine.

    References
    ----------
    {chen}

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


@documented
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
    {embedding}
    {kernel}
    {graph}
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    solver : {{"auto", "direct", "cg"}}, default="auto"
        "direct" factors a dense n × n matrix; "cg" is a preconditioned conjugate gradient of
        blocks; "auto" factors up to about 10 000 rows and iterates above, to a certified distance
        from the optimum.
    {common}

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    {embedding_attributes}
    {attributes}

    Notes
    -----
    {embedding_notes}

    With ``n_eigenvectors`` the kernel enters by one block of linear systems, one for each
    eigenvector. Without, it is `LapRLSRegressor` for the kernel K + I/C, γ_A = 1/λ and γ_I = μ/λ;
    C → ∞ gives that machine.

    References
    ----------
    {chen}

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
