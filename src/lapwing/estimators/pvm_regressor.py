"""Prototype vector machine for quantities: PVMRegressor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .model import Regressor
from .parameters import check_kernel_of_any_rows
from .pvm import fit_prototypes, kept_rows, state_without_rows
from .rows import ROW_DTYPE, Rows
from .targets import Targets


@dataclass(repr=False, eq=False)
class PVMRegressor(Regressor):
    r"""Prototype vector machine for regression, with targets of few rows.

    The function is the mean ȳ of the targets plus a mixture of the values of k prototypes,
    ȳ + f(x), f(x) = Σⱼ fⱼ h(x, vⱼ), and the graph of all rows is one of low rank, as in
    `PVMClassifier`; they minimise

        fᵀSf + C₁ Σ_labelled (y - ȳ - f)² + C₂ Σ_unlabelled f².

    The model of a·y + b is a times that of y, plus b.
    Time is linear in the rows, and memory does not grow with them.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        k, the prototypes of the function: k-means centres, or all distinct rows if there are at
        most k. "auto" is a tenth of the rows, but at least 100 and at most 500.
    n_landmarks : int or None, default=None
        m, the prototypes of the graph, if they are to be others; None takes the same for both.
    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        Kernel, which is also the similarity of the graph and should not be negative.
    gamma : float, "local", "scale" or "median", default="local"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "local" is 6 over the median squared
        distance of the rows to the second nearest prototype (for poly it is "scale"): a graph must
        join near rows. "scale" is 1 / Σ Var(column), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Parameters of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_labeled : float or "scale", default="scale"
        C₁ > 0, weight of the losses. The smoothness term grows with the rows and their degrees,
        and so does "scale": the sum of all degrees over the sum of the weights of the labelled
        rows.
    reg_unlabeled : float, default=0.0
        C₂ ≥ 0, shrinks the values of unlabelled rows to zero.
    normalize_rows : bool, default=True
        Whether f is a weighted mean of the values of the prototypes. Constants are then not
        penalised, and f is bounded far from all rows, where it would otherwise tend to zero.
    labeled_weight : float, default=1.0
        Number of rows that a labelled row counts for in k-means: larger values move prototypes
        closer to labelled rows.
    unlabeled : float, default=nan
        Marker of rows without a target; None, NaN and pd.NA always count as such.
    random_state : int, RandomState, Generator or None, default=0
        Seed of k-means and of the sample of rows that it uses.
    verbose : int, default=0
        1 shows progress on the standard error stream.
    memory_limit : int, str or None, default=None
        Memory that may be used for the fit in addition to X, in bytes or as text such as "8GB";
        None is 60 % of the free memory.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
    prototypes_ : ndarray of shape (k, d)
        The prototypes vⱼ of the function.
    landmarks_ : ndarray of shape (m, d)
        The prototypes uᵢ of the graph.
    coef_ : ndarray of shape (n_columns, k)
        The values fⱼ of the prototypes.
    intercept_ : ndarray of shape (n_columns,)
        ȳ, the weighted mean of the targets.
    kernel_ : Kernel
        The kernel, with the value of ``gamma``.
    reg_labeled_ : float
        The C₁ used.
    result_ : SolverResult
        Status, message, passes over the rows and time of the solver.
    n_iter_ : int
        Iterations of the solver: 1.

    Notes
    -----
    Cost: n·(m + k)·d operations for the similarities in each of three passes over the rows, and
    n·k·(m + k) for the products. k-means uses a random sample of 100 rows per prototype, at least
    20 000, and so do "local", "scale" and "median". Memory: about m² + k² numbers, a tile of rows
    for each thread, and the sample. X is not copied; integers are converted to floats tile by tile.

    Degrees of the low-rank graph may be negative for rows that are far from all prototypes: they
    are set to zero. Eigenvalues of A = HᵀSH + C₂H_uᵀH_u that are negative, or lost in rounding,
    are raised to 1e-10 of the largest. This is done in coordinates of the prototypes without the
    directions in which their kernel matrix is zero up to rounding.

    A pickle or a copy holds the prototypes but not the rows, which `add_labels` needs. A file
    written by ``lapwing.save`` holds both.

    References
    ----------
    K. Zhang, J. T. Kwok and B. Parvin (2009), "Prototype Vector Machine for Large Scale
    Semi-Supervised Learning", ICML; eqs. (4)-(6), (9), (10). The right-hand side of (9) lacks C₁.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import PVMRegressor
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.where(np.arange(500) % 10 == 0, X[:, 0] ** 2, np.nan)
    >>> model = PVMRegressor(reg_labeled=1e6).fit(X, y)
    >>> bool(np.abs(model.predict([[0.5]]) - 0.25)[0] < 0.01)
    True
    """

    _: KW_ONLY
    n_prototypes: int | str = "auto"
    n_landmarks: int | None = None
    kernel: str | Callable = "rbf"
    gamma: float | str = "local"
    degree: float = 3
    coef0: float = 0.0
    reg_labeled: float | str = "scale"
    reg_unlabeled: float = 0.0
    normalize_rows: bool = True
    labeled_weight: float = 1.0
    unlabeled: Any = np.nan
    random_state: Any = 0
    verbose: int = 0
    memory_limit: float | str | None = None

    _row_dtype = ROW_DTYPE
    _in_blocks = True
    _keeps_rows = False
    _checks = {"kernel": check_kernel_of_any_rows}
    #: Loss of the rows with a target; not a parameter.
    loss = "squared"

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        sums = self._kept.sums if refit else None
        found = fit_prototypes(self, rows, targets, sums)
        return self._set_fitted(rows, targets, found)

    _kept_rows = kept_rows
    __getstate__ = state_without_rows
