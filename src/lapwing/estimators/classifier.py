"""What the classifiers share: classes, decisions, probabilities, new labels.

`LabelClassifier` knows labels alone; `KernelClassifier` joins them to a kernel machine, and
`ManifoldClassifier` adds the graph and the rules by which its solvers stop early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from ..kernels import Kernel
from ..losses import Loss
from ..solvers import (
    MixedCheck,
    StabilityCheck,
    Step,
    StoppingRule,
    ValidationCheck,
    decisions,
)
from .base import KernelEstimator, check_rows, check_weights, values_on
from .checks import valid_rows
from .manifold import ManifoldEstimator
from .targets import encode_classes, labelled_rows, one_vs_rest


@dataclass(frozen=True)
class LabelledData:
    """The input of a fit, checked.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        All rows.
    values : array of shape (n,)
        Labels as they are given, with the marks of unlabelled rows.
    labelled : array of bool, shape (n,)
        Which rows are labelled.
    row_weights : array of shape (n,)
        Weights as they are given.
    index : array of int, shape (l,)
        The labelled rows of positive weight.
    targets : array of shape (l, columns)
        ±1 for each class against the rest; one column for two classes.
    weights : array of shape (l,)
        Weights of their losses: of the row times of the class.
    """

    X: Any
    values: np.ndarray
    labelled: np.ndarray
    row_weights: np.ndarray
    index: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


class LabelClassifier(ClassifierMixin):
    """Classifiers with one column per class (one column for two classes).

    The class or another base implements `_decide` and `_refit`.
    """

    unlabeled: Any
    class_weight: Any

    if TYPE_CHECKING:  # methods here would hide those of a kernel machine, which comes later

        def _decide(self, X: Any) -> np.ndarray:
            """Return the values of the fitted functions on new rows, shape (n, columns)."""

        def _refit(self, y: np.ndarray, **arguments: Any) -> Any:
            """Fit again to the same rows with other labels."""

    def _check_labels(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        """Check labels and weights of checked rows, and find the classes."""
        values, labelled = labelled_rows(y, self.unlabeled)
        if len(values) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and y has {len(values)}")
        row_weights = check_weights(sample_weight, X)
        self.classes_ = encode_classes(values, labelled, self.unlabeled)
        known = values[labelled].astype(self.classes_.dtype)
        weights = row_weights[labelled] * self._class_weights(known)
        index = np.flatnonzero(labelled)[weights > 0]
        known, weights = known[weights > 0], weights[weights > 0]
        if len(np.unique(known)) < 2:
            raise ValueError(
                "fewer than two classes have a labelled row of positive weight: a classifier "
                "needs at least two classes"
            )
        targets = one_vs_rest(known, self.classes_)
        return LabelledData(X, values, labelled, row_weights, index, targets, weights)

    def _store_decisions(
        self, data: LabelledData, values: np.ndarray, held_out: np.ndarray
    ) -> None:
        """Store the labels, the transduction and the temperature of the probabilities.

        ``values`` are those of all rows, shape (n, columns), and ``held_out`` those of the
        labelled rows, each without the help of its own label where that is known.
        """
        self._store_classes(data, decisions(values).astype(int), held_out)

    def _store_classes(self, data: LabelledData, found: np.ndarray, held_out: np.ndarray) -> None:
        """Do the same from the numbers of the classes found for all rows."""
        self._labels, self._row_weights = data.values, data.row_weights
        self.transduction_ = self.classes_[found]
        given = data.values[data.labelled]
        self.transduction_[data.labelled] = given.astype(self.classes_.dtype)
        self._temperature = fit_temperature(held_out, data.targets, data.row_weights[data.index])

    def add_labels(self, index: Any, y: Any) -> Self:
        """Label more training rows and refit from the present solution, on the same graph if any.

        Parameters
        ----------
        index : array of int
            Rows of the training data.
        y : array
            Their labels.

        Returns
        -------
        self
        """
        check_is_fitted(self, "transduction_")
        index = np.atleast_1d(index)
        if index.size == 0:  # an empty list is an array of floats
            index = index.astype(int)
        labels = np.array(self._labels, dtype=object)
        labels[index] = np.asarray(y, dtype=object)
        return self._refit(labels)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision values, shape (n,) for two classes and (n, n_classes) for more."""
        values = self._decide(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        values = self._decide(X)
        return self.classes_[decisions(values).astype(int)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, shape (n, n_classes).

        A soft-max of the decision values, with one temperature fitted to the values that the
        labelled rows get when their own label is left out: in closed form, or in folds that were
        fitted along. Where there is neither (``solver="pcg"``, no folds), to their values as they
        are, which makes for too much confidence.
        """
        values = self._decide(X)
        return softmax(per_class(values) * self._temperature)

    def _class_weights(self, known: np.ndarray) -> np.ndarray:
        if self.class_weight is None:
            return np.ones(len(known))
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=known)
        return weights[np.searchsorted(self.classes_, known)]


class KernelClassifier(LabelClassifier, KernelEstimator):
    """Kernel machines that classify."""

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        """Check the input of fit and find the classes."""
        return self._check_labels(check_rows(self, X), y, sample_weight)

    def _store_labels(self, data: LabelledData, step: Step) -> None:
        """Store the labels, the transduction and the temperature of the probabilities."""
        values = step.function.values
        held_out = values[data.index] if step.leave_one_out is None else step.leave_one_out()
        self._store_decisions(data, values, held_out)


class ManifoldClassifier(KernelClassifier, ManifoldEstimator):
    """Classifiers over a graph, with early stopping. See the public classes for the parameters."""

    stopping: str

    def _loss(self) -> Loss:
        raise NotImplementedError(f"{type(self).__name__} must implement _loss")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, validation: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of unlabelled rows are not used.
        validation : tuple (X_v, y_v), optional
            Labelled rows for ``stopping="validation"`` and ``"mixed"``.

        Returns
        -------
        self
        """
        data = self._check_data(X, y, sample_weight)
        step = self._fit(
            data.X,
            data.index,
            data.targets,
            data.weights,
            self._loss(),
            lambda kernel: self._rules(kernel, data.X, data.labelled, validation),
        )
        self._validation = validation
        self._store_labels(data, step)
        return self

    def _refit(self, y: np.ndarray, **arguments: Any) -> Any:
        return super()._refit(y, validation=self._validation, **arguments)

    def _rules(
        self, kernel: Kernel | None, X: Any, labelled: np.ndarray, validation: Any
    ) -> list[StoppingRule]:
        if self.stopping == "optimal":
            return []
        if self.stopping not in ("stability", "validation", "mixed"):
            raise ValueError(
                f"stopping must be 'optimal', 'stability', 'validation' or 'mixed', "
                f"got {self.stopping!r}"
            )
        stability = StabilityCheck(~labelled)
        if self.stopping == "stability":
            return [stability]
        if validation is None:
            raise ValueError(
                f"stopping={self.stopping!r} looks at validation rows: pass "
                "validation=(X_v, y_v) to fit"
            )
        check = self._validation_check(kernel, X, validation)
        return [check] if self.stopping == "validation" else [MixedCheck(stability, check)]

    def _validation_check(self, kernel: Kernel | None, X: Any, validation: Any) -> ValidationCheck:
        X_v, y_v = validation
        X_v = valid_rows(self, X_v, reset=False)
        y_v, known = labelled_rows(y_v, self.unlabeled)
        if not known.any():
            raise ValueError("no validation row is labelled: validation=(X_v, y_v) needs labels")
        X_v, y_v = X_v[known], y_v[known]
        truth = np.searchsorted(self.classes_, y_v)
        truth[~np.isin(y_v, self.classes_)] = -1

        def error_rate(step: Step) -> float:
            values = values_on(kernel, X_v, X, step.function.coef) + step.function.intercept
            return float(np.mean(decisions(values) != truth))

        return ValidationCheck(error_rate, len(truth), X.shape[0])


def per_class(values: np.ndarray) -> np.ndarray:
    """Return one score per class; two classes share a column with opposite signs."""
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def one_column(values: np.ndarray) -> np.ndarray:
    """Return the second column minus the first for two classes; the values of more as they are."""
    return values[:, 1:] - values[:, :1] if values.shape[1] == 2 else values


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities that are proportional to the exponentials of each row."""
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def fit_temperature(values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
    """Return the factor of the decision values under which the weighted labels are most likely.

    A standard normal prior on its logarithm keeps it finite when few labels are all correct.
    """
    truth = decisions(targets).astype(int)
    scores = per_class(values)

    def loss(log_factor: float) -> float:
        probability = softmax(scores * np.exp(log_factor))[np.arange(len(truth)), truth]
        return float(-weights @ np.log(np.maximum(probability, 1e-300)) + 0.5 * log_factor**2)

    return float(np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x))
