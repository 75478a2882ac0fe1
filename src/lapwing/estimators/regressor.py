"""What the regressors share: targets, predictions, new targets.

`LabelRegressor` knows targets alone; `KernelRegressor` joins them to a kernel machine, and
`ManifoldRegressor` adds the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..graphs import KNNGraph
from ..losses import Loss
from .base import KernelEstimator, check_rows, check_weights
from .classifier import LabelledData
from .manifold import ManifoldEstimator
from .targets import numeric_targets


class LabelRegressor(RegressorMixin):
    """Regressors of one number a row.

    The class or another base implements `_decide` and `_refit`.
    """

    unlabeled: Any

    if TYPE_CHECKING:  # methods here would hide those of a kernel machine, which comes later

        def _decide(self, X: Any) -> np.ndarray:
            """Return the values of the fitted function on new rows, shape (n, 1)."""

        def _refit(self, y: np.ndarray, **arguments: Any) -> Any:
            """Fit again to the same rows with other targets."""

    def _check_numbers(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        """Check targets and weights of checked rows; ``values`` are NaN where there is none."""
        values = numeric_targets(y, self.unlabeled)
        if len(values) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and y has {len(values)}")
        row_weights = check_weights(sample_weight, X)
        labelled = ~np.isnan(values)
        index = np.flatnonzero(labelled & (row_weights > 0))
        if len(index) == 0:
            raise ValueError(
                "no row has a target and a positive weight: give the target of at least one row"
            )
        targets, weights = values[index][:, None], row_weights[index]
        return LabelledData(X, values, labelled, row_weights, index, targets, weights)

    def _store_targets(self, data: LabelledData, predicted: np.ndarray) -> None:
        """Store the targets and the transduction, from what is predicted for all rows."""
        self._labels, self._row_weights = data.values, data.row_weights
        self.transduction_ = np.where(data.labelled, data.values, predicted)

    def add_labels(self, index: Any, y: Any) -> Self:
        """Give targets to more training rows and refit from the present solution.

        Parameters
        ----------
        index : array of int
            Rows of the training data.
        y : array
            Their targets.

        Returns
        -------
        self
        """
        check_is_fitted(self, "transduction_")
        index = np.atleast_1d(index)
        if index.size == 0:  # an empty list is an array of floats
            index = index.astype(int)
        targets = self._labels.copy()
        targets[index] = y
        return self._refit(targets)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted target of each row."""
        return self._decide(X)[:, 0]


class KernelRegressor(LabelRegressor, KernelEstimator):
    """Kernel machines that predict one number a row."""

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        """Check the input of fit."""
        return self._check_numbers(check_rows(self, X), y, sample_weight)


class ManifoldRegressor(KernelRegressor, ManifoldEstimator):
    """Regressors over a graph. See the public classes for the parameters."""

    def _loss(self) -> Loss:
        raise NotImplementedError(f"{type(self).__name__} must implement _loss")

    def _loss_weight(self) -> float:
        """Return the factor of the losses in ½·(Σ loss + …)."""
        return 1.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows with and without targets.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows.
        y : array of shape (n,)
            Targets; NaN, None, ``pd.NA`` and ``unlabeled`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of rows without a target are not used.

        Returns
        -------
        self
        """
        data = self._check_data(X, y, sample_weight)
        loss, weights = self._loss(), self._loss_weight() * data.weights
        step = self._fit(data.X, data.index, data.targets, weights, loss, lambda _: [])
        self._store_targets(data, step.function.values[:, 0])
        return self

    def _default_graph(self) -> KNNGraph:
        return regression_graph()


def regression_graph() -> KNNGraph:
    """Return the graph of regressors by default.

    The normalised Laplacian penalises constants on nodes of unequal degree: a target with a mean
    would be bent towards zero.
    """
    return KNNGraph(normalized=False)
