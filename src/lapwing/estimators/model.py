"""The classes that scikit-learn requires for each task: classifiers and regressors.

`predict` and similar methods are written once here, on top of the fitted function. `base` has what
both tasks share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..arrays.device import follows_tensors
from ..arrays.packing import expect
from ..solvers.stopping import decisions
from .alike import warn_if_alike
from .base import BAD_LABELS, Model
from .calibration import class_offsets, fit_temperature, probabilities, share_offsets
from .rows import Rows
from .run import Solution
from .targets import (
    Targets,
    class_targets,
    quantity_targets,
    relabelled_classes,
    relabelled_quantities,
)


def _first_of_one(values: np.ndarray) -> np.ndarray:
    """Return the values, as one number per row if there is one column."""
    return values[:, 0] if values.shape[1] == 1 else values


class Classifier(ClassifierMixin, Model):
    """Base of the classifiers: one column per class, one column for two classes."""

    classes_: np.ndarray
    class_offsets_: np.ndarray
    temperature_: float

    # Set by the estimators.
    class_weight: Any
    class_shares: Any = None

    @follows_tensors
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows, labelled or not; a dataframe, files, blocks of rows or a Dask collection, see
            the guide "More rows than memory".
        y : array of shape (n,), or str
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one. A text is the name
            of a column of X.
        sample_weight : array of shape (n,), or str, optional
            Weights of the labelled rows, zero or between 1e-75 and 1e75; those of unlabelled rows
            are not used, except by `S3VC`.

        Returns
        -------
        self
        """
        return self._fit(*self._check(X, y, sample_weight))

    def _check_targets(self, rows: Rows, y: Any, sample_weight: Any) -> Targets:
        return class_targets(y, rows.X, sample_weight, **self._of_labels)

    def _relabelled(self, rows: Rows, index: Any, y: Any) -> Targets:
        return relabelled_classes(self._targets, index, y, **self._of_labels)

    @property
    def _of_labels(self) -> dict[str, Any]:
        """Parameters about labels and classes."""
        names = "unlabeled", "class_weight", "class_shares"
        return {name: getattr(self, name) for name in names}

    def _set_fitted(
        self, rows: Rows, targets: Targets, solution: Solution, **attributes: Any
    ) -> Self:
        """Store a fit: its solution, and other attributes.

        The temperature of the probabilities is fitted to the held-out values of the solution. Where
        there are none, it is among the attributes. Offsets of the classes are matched to their
        shares, unless they are among the attributes of the solution, and are added.
        """
        assert targets.classes is not None
        if solution.held_out is not None:
            index = targets.index
            attributes["temperature_"] = fit_temperature(
                solution.held_out, targets.given[index], targets.row_weights[index]
            )
        warn_if_alike(targets, solution)
        offsets = solution.attributes.get("class_offsets_")
        if offsets is None and solution.of_unlabelled is not None:
            offsets = share_offsets(solution.of_unlabelled, targets, attributes["temperature_"])
        elif offsets is None:
            offsets = class_offsets(solution.values, targets, attributes["temperature_"])
        if targets.shares is not None:
            solution = solution.shifted(offsets)
        attributes |= {"classes_": targets.classes, "class_offsets_": offsets}
        if solution.values is not None:
            values = solution.values
            codes = values if values.ndim == 1 else decisions(values).astype(int)
            found, labelled = targets.classes[codes], np.flatnonzero(targets.labelled)
            found[labelled] = targets.classes[targets.given[labelled]]
            attributes["transduction_"] = found
        return super()._set_fitted(rows, targets, solution, **attributes)

    @follows_tensors
    def decision_function(self, X: Any) -> Any:
        """Return the decision values, shape (n,) for two classes and (n, n_classes) for more."""
        return self._of_values(X, _first_of_one)

    @follows_tensors
    def predict(self, X: Any) -> Any:
        """Return the class of each row."""
        return self._of_values(X, self._from_values)

    @property
    def _from_values(self) -> Callable[[np.ndarray], np.ndarray]:
        check_is_fitted(self, "predictor_")
        classes = self.classes_
        return lambda values: classes[decisions(values).astype(int)]

    @property
    def _given_labels(self) -> np.ndarray:
        return self.classes_[self._targets.given]

    @follows_tensors
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities, shape (n, n_classes).

        A softmax of the decision values with one temperature, which is fitted to held-out values of
        the labelled rows: in closed form, or from folds that are fitted as well. Where there are
        none (``solver="pcg"``, no folds), it is fitted to the values of the labelled rows
        themselves, and the probabilities are too confident.
        """
        return self._of_values(X, self._probabilities)

    @property
    def _probabilities(self) -> Callable[[np.ndarray], np.ndarray]:
        """What `predict_proba` returns, as a function of values."""
        check_is_fitted(self, "predictor_")
        temperature = self.temperature_
        return lambda values: probabilities(values, temperature)

    @follows_tensors
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows.
        y : array of shape (n,)
            Their labels; rows without one do not count, and cause a warning.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        return float(super().score(*self._labelled_part(X, y, sample_weight)))

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        super().check_loaded()
        classes, targets = self.classes_, self._targets
        what = "its classes or its temperature are not valid"
        expect(classes.ndim == 1 and len(classes) > 1, what)
        expect(bool(np.all(classes[:-1] < classes[1:])) and 0.0 < self.temperature_ < np.inf, what)
        expect(self.class_offsets_.shape == (targets.n_columns,), what)
        expect(targets.given.dtype.kind == "i" and targets.given.max() < len(classes), BAD_LABELS)
        expect(np.array_equal(classes, np.asarray(targets.classes)), BAD_LABELS)
        found = vars(self).get("transduction_", classes)
        expect(bool(np.isin(found, classes).all()), BAD_LABELS)


class Regressor(RegressorMixin, Model):
    """Base of the regressors of one quantity."""

    @follows_tensors
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows with and without targets.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows; a dataframe, files, blocks of rows or a Dask collection, see the guide "More
            rows than memory".
        y : array of shape (n,), or str
            Targets; NaN, None, ``pd.NA`` and ``unlabeled`` mark rows without one. A text is the
            name of a column of X.
        sample_weight : array of shape (n,), or str, optional
            Weights of the rows with a target, zero or between 1e-75 and 1e75; others are not used.

        Returns
        -------
        self
        """
        return self._fit(*self._check(X, y, sample_weight))

    def _check_targets(self, rows: Rows, y: Any, sample_weight: Any) -> Targets:
        return quantity_targets(
            y, rows.X, sample_weight, unlabeled=self.unlabeled, centred=self._is_centred
        )

    def _relabelled(self, rows: Rows, index: Any, y: Any) -> Targets:
        return relabelled_quantities(
            self._targets, index, y, rows.X, unlabeled=self.unlabeled, centred=self._is_centred
        )

    @property
    def _is_centred(self) -> bool:
        """Whether targets are centred: not in a model without an intercept."""
        return bool(getattr(self, "fit_intercept", True))

    def _set_fitted(
        self, rows: Rows, targets: Targets, solution: Solution, **attributes: Any
    ) -> Self:
        """Store a fit: its solution, and other attributes."""
        warn_if_alike(targets, solution)
        if solution.values is not None:
            filled = np.where(targets.labelled, targets.given, solution.values[:, 0])
            attributes["transduction_"] = filled
        return super()._set_fitted(rows, targets, solution, **attributes)

    @follows_tensors
    def predict(self, X: Any) -> Any:
        """Return the predicted target of each row."""
        return self._of_values(X, self._from_values)

    @property
    def _from_values(self) -> Callable[[np.ndarray], np.ndarray]:
        return _first_of_one

    @property
    def _given_labels(self) -> np.ndarray:
        return self._targets.given

    @follows_tensors
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the share of explained variance, on the rows with a target.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows.
        y : array of shape (n,)
            Their targets; rows without one do not count, and cause a warning.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        return float(super().score(*self._labelled_part(X, y, sample_weight)))
