"""The classifier over eigenfunctions of the density: EigenfunctionClassifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..graphs.eigenfunctions import EigenfunctionBasis
from ..solvers import fit_smoother
from .checks import check_count, check_magnitude, check_positive
from .classifier import LabelClassifier, LabelledData


class EigenfunctionClassifier(LabelClassifier, BaseEstimator):
    r"""Least squares on functions that are smooth where rows are dense; linear in the rows.

    The rows are turned to their principal axes. Along each axis a histogram of the rows gives
    the eigenfunctions of the weighted Laplace-Beltrami operator of that coordinate, and the
    smoothest of all axes, with the constant, are the basis U of f = Uα. For each class against
    the rest,

        min_α αᵀΣα + λ Σ_labelled (y - f)²,   (Σ + UᵀΛU) α = UᵀΛy

    with Σ the diagonal matrix of the eigenvalues and Λ that of λ on labelled rows and 0
    elsewhere. No graph is built. It supposes that the density is a product over the axes, and
    is the weaker the less that is so: a comparator, for very many rows of few dimensions.

    Parameters
    ----------
    n_components : int, default=64
        Most principal axes; there are no more than rows or columns.
    n_bins : int, default=50
        Bins of each histogram, at least 2, from the least to the greatest value.
    n_eigenfunctions : int, default=64
        Functions besides the constant.
    reg_labeled : float, default=0.01
        λ > 0, weight of a labelled row. The functions have mean square one over the rows; with
        functions of length one over the n rows, as eigenvectors are, the same solution needs n·λ.
    bandwidth : float or None, default=None
        ε of the affinity exp(-(s - t)² / 2ε²) along every axis; None is a fifth of the standard
        deviation along the first axis. Less than the width of a bin makes every function smooth.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labelled rows of each class.
    random_state : int, RandomState or None, default=0
        Not used: nothing is drawn. All machines take it.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    basis_ : EigenfunctionBasis
        The functions; ``basis_(X)`` gives their values.
    eigenvalues_ : ndarray of shape (1 + n_eigenfunctions,)
        Their σ, ascending; the first is the constant's. Fewer, where the bins allow no more.
    bandwidth_ : float
        ε.
    coef_ : ndarray of shape (n_columns, 1 + n_eigenfunctions)
        α; one column for two classes.

    Notes
    -----
    Cost: n·d² operations for the axes, then n·(d·n_components + n_eigenfunctions); memory for
    blocks of rows and d².

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

    def __init__(
        self,
        n_components: int = 64,
        *,
        n_bins: int = 50,
        n_eigenfunctions: int = 64,
        reg_labeled: float = 0.01,
        bandwidth: float | None = None,
        unlabeled: Any = -1,
        class_weight: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_bins = n_bins
        self.n_eigenfunctions = n_eigenfunctions
        self.reg_labeled = reg_labeled
        self.bandwidth = bandwidth
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array of shape (n, d)
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        check_count("n_components", self.n_components)
        check_count("n_bins", self.n_bins, lowest=2)
        check_count("n_eigenfunctions", self.n_eigenfunctions)
        check_positive("reg_labeled", self.reg_labeled)
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_magnitude(X)
        data = self._check_labels(X, y, sample_weight)
        basis = EigenfunctionBasis.build(
            X, self.n_components, self.n_bins, self.n_eigenfunctions, self.bandwidth
        )
        self.basis_, self.X_fit_ = basis, X
        self.eigenvalues_, self.bandwidth_ = basis.eigenvalues, basis.bandwidth
        self._solve(data)
        return self

    def _solve(self, data: LabelledData) -> None:
        smoother = fit_smoother(
            self.basis_(data.X[data.index]),
            data.targets,
            self.reg_labeled * data.weights,
            np.diag(self.eigenvalues_),
        )
        self.coef_ = smoother.coef.T
        values = self.basis_.combine(data.X, smoother.coef)
        self._store_decisions(data, values, smoother.held_out)

    def _refit(self, y: np.ndarray, **arguments: Any) -> Self:
        self._solve(self._check_labels(self.X_fit_, y, self._row_weights))
        return self

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "basis_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self.basis_.combine(X, self.coef_.T)
