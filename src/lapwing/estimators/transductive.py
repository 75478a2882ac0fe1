"""Classifiers that know the rows they were fitted to and no others."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays.duplicates import RowIndex
from .checks import valid_rows
from .classifier import LabelClassifier, LabelledData


class TransductiveClassifier(LabelClassifier, BaseEstimator):
    """Base of the methods that define values for the training rows alone.

    ``decision_function``, ``predict`` and ``predict_proba`` look rows up among those of the fit, by
    exact equality, and refuse others. A subclass writes ``_solve(data)``, and in its fit:

        data = self._check_labels(X, y, sample_weight)   # X checked
        self._store_rows(X)
        self._solve(data)    # ends with self._store_decisions(data, values, held_out)

    `add_labels` calls ``_solve`` again with the labels of then.
    """

    def _solve(self, data: LabelledData) -> None:
        raise NotImplementedError(f"{type(self).__name__} must implement _solve")

    def _store_rows(self, X: Any) -> None:
        """Keep the rows, and what finds them again: 16 bytes a row."""
        self.X_fit_ = X
        self._row_index = RowIndex(X)

    def _store_decisions(
        self, data: LabelledData, values: np.ndarray, held_out: np.ndarray
    ) -> None:
        super()._store_decisions(data, values, held_out)
        self._values = values

    def _refit(self, y: np.ndarray, **arguments: Any) -> Self:
        self._solve(self._check_labels(self.X_fit_, y, self._row_weights))
        return self

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "transduction_")
        X = valid_rows(self, X, reset=False)
        found = self._row_index.find(X, self.X_fit_)
        if (found < 0).any():
            new = np.flatnonzero(found < 0)
            raise ValueError(
                f"{len(new)} of {X.shape[0]} rows, the first of them row {new[0]}, are not among "
                f"the rows that {type(self).__name__} was fitted to. It is transductive and gives "
                "no prediction for new rows: fit it to them as well, unlabelled, or use a "
                "classifier with a function of the rows, such as NFIClassifier, PVMClassifier or "
                "LapSVC"
            )
        return self._values[found]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
