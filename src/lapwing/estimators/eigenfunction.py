"""The classifier over eigenfunctions of the density: EigenfunctionClassifier."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..graphs.eigenfunctions import EigenfunctionBasis
from ..plan.points import check_bins
from ..solvers.smoother import fit_smoother
from ..spaces.predictors import EigenfunctionSeries
from .model import Classifier
from .parameters import draw_seed
from .row_source import source_of, with_share_values
from .rows import Rows
from .run import Solution, direct_result
from .targets import Targets


@dataclass(repr=False, eq=False)
class EigenfunctionClassifier(Classifier):
    r"""Least squares on functions that are smooth where rows are dense; linear in the rows.

    The rows are rotated to their principal axes. Along each axis a histogram of the rows gives
    the eigenfunctions of the weighted Laplace-Beltrami operator of that coordinate, and the
    smoothest of all axes, with the constant, are the basis U of f = Uα. For each class against
    the rest,

        min_α αᵀΣα + λ Σ_labelled (y - f)²,   (Σ + UᵀΛU) α = UᵀΛy

    with Σ the diagonal matrix of the eigenvalues and Λ that of λ on labelled rows and 0
    elsewhere. No graph is built. The method assumes that the density is a product over the axes,
    and gets worse the farther that is from the truth. It is meant for comparisons, and for very
    many rows of few dimensions.

    Parameters
    ----------
    n_components : int, default=64
        Largest number of principal axes; at most that of rows or columns.
    n_bins : int, default=50
        Bins of each histogram, at least 2, from the smallest to the largest value.
    n_eigenfunctions : int, default=64
        Number of functions in addition to the constant.
    reg_labeled : float, default=0.01
        λ > 0, weight of a labelled row. The functions have mean square one over the rows; with
        functions of norm one over the n rows, as eigenvectors are, the same solution needs n·λ.
    bandwidth : float or None, default=None
        ε of the affinity exp(-(s - t)² / 2ε²) along every axis; None is a fifth of the standard
        deviation along the first axis. With less than the width of a bin every function is smooth.
    unlabeled : object, default=-1
        Marker of unlabelled rows in y; None, NaN and pd.NA always count as unlabelled.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply those of the labelled rows.
    class_shares : dict, "labels" or None, default=None
        Shares of the classes among the unlabelled rows, by class; of all rows, if all are labelled.
        Decision values get an offset per class, with which the mean probabilities of these rows are
        the shares. "labels" takes the shares of the labelled rows, (count + 1) / (rows + classes),
        for labels that are a random sample. None adds no offsets.
    random_state : int, RandomState, Generator or None, default=0
        Draws the rows that ``class_shares`` are matched on, if there are more than 100 000.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
    basis_ : EigenfunctionBasis
        The functions; ``basis_(X)`` gives their values.
    eigenvalues_ : ndarray of shape (1 + n_eigenfunctions,)
        Their σ, ascending; the first is that of the constant. Fewer, where the bins allow no more.
    bandwidth_ : float
        ε.
    coef_ : ndarray of shape (n_columns, 1 + n_eigenfunctions)
        α; one column for two classes.
    temperature_ : float
        Factor of the decision values in `predict_proba`.
    class_offsets_ : ndarray of shape (n_columns,)
        What ``class_shares`` has added to the decision values; zeros without it.
    result_ : SolverResult
        Status, message, passes over the rows and time of the solver.
    n_iter_ : int
        Iterations of the solver: 1.

    Notes
    -----
    Cost: n·d² operations for the axes, then n·(d·n_components + n_eigenfunctions); memory for
    a copy of the rows, blocks of them and d².

    References
    ----------
    R. Fergus, Y. Weiss and A. Torralba (2009), "Semi-Supervised Learning in Gigantic Image
    Collections", NIPS 22; sections 2.1 and 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from lapwing import EigenfunctionClassifier
    >>> X, truth = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    >>> y = np.full(300, -1)
    >>> y[:9] = truth[:9]
    >>> model = EigenfunctionClassifier().fit(X, y)
    >>> float(np.mean(model.transduction_ == truth)) > 0.9
    True
    """

    n_components: int = 64
    _: KW_ONLY
    n_bins: int = 50
    n_eigenfunctions: int = 64
    reg_labeled: float = 0.01
    bandwidth: float | None = None
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    random_state: Any = 0

    _in_blocks = True

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        started, passes = time.perf_counter(), 1
        source = source_of(self, rows)
        if refit:
            basis = self.basis_
        else:
            n, d = rows.n_rows, rows.n_features
            check_bins(n, min(self.n_components, n, d), self.n_bins)
            sizes = self.n_components, self.n_bins, self.n_eigenfunctions
            basis = EigenfunctionBasis.build(source.blocks, *sizes, self.bandwidth)
            # Mean, axes, ends and counts of the histograms; values, or the first and labelled rows.
            passes = 5 if source.in_memory else 6
        U_l = basis(source.blocks.take(source.index_of(targets)))
        smoother = fit_smoother(
            U_l,
            targets.values,
            self.reg_labeled * targets.weights,
            np.diag(basis.eigenvalues),
        )
        predictor = EigenfunctionSeries(basis, smoother.coef)
        result = direct_result("cholesky", started, passes=passes)
        values = predictor.values(rows.X) if source.in_memory else None
        solution = Solution(
            predictor, result, values, smoother.held_out, of_labelled=U_l @ smoother.coef
        )
        return self._set_fitted(
            rows,
            targets,
            with_share_values(solution, source, targets, draw_seed(self.random_state)),
            basis_=basis,
            eigenvalues_=basis.eigenvalues,
            bandwidth_=basis.bandwidth,
            coef_=smoother.coef.T,
            X_fit_=rows.X,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
