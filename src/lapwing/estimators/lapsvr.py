"""Support vector regression with a Laplacian regulariser: LapSVR.

One row of loss × space × regulariser × solver; the work is done below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..losses import EpsilonInsensitive, Loss
from ..solvers import Step
from .checks import check_not_negative, check_positive
from .docstrings import documented
from .regressor import ManifoldRegressor


@documented
class LapSVR(ManifoldRegressor):
    """Laplacian support vector regression for numbers, known for few rows.

    Minimises

        ½‖f‖² + C Σ_labelled max(|f - y| - ε, 0) + (μ/2) fᵀLᵖf

    Errors below ε cost nothing, and larger ones cost in proportion: single wrong targets pull
    less than under the squared loss of `LapRLSRegressor`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, positive.
    epsilon : float, default=0.1
        ε ≥ 0, the error that costs nothing, in units of the target.
    reg_manifold : float, default=0.01
        μ ≥ 0, weight of the smoothness over the graph; 0 is support vector regression.
    {kernel}
    {graph}
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    solver : {{"auto", "dual"}}, default="auto"
        "dual" factors a dense n × n matrix once and solves a quadratic program of two variables a
        labelled row. "auto" does so up to about 10 000 rows and iterates above, to a certified
        distance from the optimum.
    {common}

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    {attributes}

    Notes
    -----
    In the scale of the other machines, ½·(Σ loss + γ_A‖f‖² + γ_I fᵀLᵖf), it is γ_A = 1, γ_I = μ and
    losses of weight 2C.

    {linear}

    References
    ----------
    {chen}
    The machine is that of eq. (4)-(10).

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

    #: The norm has weight one: C weighs the losses against it.
    reg_ambient = 1.0

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        reg_manifold: float = 0.01,
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
        self.epsilon = epsilon
        self.reg_manifold = reg_manifold
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

    def _loss(self) -> Loss:
        if self.solver not in ("auto", "dual"):
            raise ValueError(f"solver must be 'auto' or 'dual', got {self.solver!r}")
        check_not_negative("epsilon", self.epsilon)
        return EpsilonInsensitive(float(self.epsilon))

    def _loss_weight(self) -> float:
        check_positive("C", self.C)
        return 2.0 * float(self.C)
