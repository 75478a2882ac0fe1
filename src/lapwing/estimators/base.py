"""The base class of all estimators: how a fit is checked, stored, repeated and saved.

An estimator is its parameters and a ``_fit`` that ends with ``_set_fitted``; all else is values and
functions. Must not know tasks: `model` adds what classifiers and regressors have.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays.packing import expect
from ..arrays.row_units import SAME_UNITS, Extent, RowUnits
from ..messages import warn
from ..solvers.driver import SolverResult
from ..spaces.predictors import Predictor
from .invariance import units_of
from .labels import labelled_part
from .parameters import Check, check_parameters, is_word
from .rows import FLOATS, ROW_DTYPE, Rows, check_new_rows, check_rows
from .run import Solution
from .targets import Targets

#: What is wrong with a model file, where `check_loaded` refuses it.
BAD_LABELS = "its labels do not fit its rows or its classes"


class Model(BaseEstimator):
    """Base of all estimators. A fit that fails changes nothing.

    An estimator implements ``_fit(rows, targets, refit=False)``, which ends with `_set_fitted`.
    ``refit`` means that the rows are those of the last fit, whose graph and landmarks are kept.
    """

    predictor_: Predictor
    result_: SolverResult
    transduction_: np.ndarray
    X_fit_: Any
    _targets: Targets
    _units: RowUnits  # of extreme rows only

    # Set by the estimators.
    unlabeled: Any

    #: Types of numbers that rows may have: those of scikit-learn, or any that are read in tiles.
    _row_dtype: Any = FLOATS
    #: Whether a fit keeps its rows, for `add_labels` or for predictions, and so copies them.
    _keeps_rows: bool = True
    #: Whether the model brings the columns of dense rows to a common scale itself.
    _scales_columns: bool = False
    #: Checks of parameters that differ from the shared ones, by name, see `parameters`.
    _checks: ClassVar[Mapping[str, Check]] = {}
    #: Attributes from which arrays of others are derived, see `arrays.packing`.
    _packed_first: ClassVar[tuple[str, ...]] = ()
    #: Parts of a model file whose arrays may contain NaN, see `arrays.packing`.
    MAY_BE_NAN: ClassVar[tuple[str, ...]] = ("parameters", "cv_results_")
    #: Names of the attributes that the last fit has set.
    _fitted: tuple[str, ...] = ()

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        raise NotImplementedError(f"{type(self).__name__} must implement _fit")

    def _check_targets(self, rows: Rows, y: Any, sample_weight: Any) -> Targets:
        raise NotImplementedError(f"{type(self).__name__} must implement _check_targets")

    def _relabelled(self, rows: Rows, index: Any, y: Any) -> Targets:
        raise NotImplementedError(f"{type(self).__name__} must implement _relabelled")

    def add_labels(self, index: Any, y: Any) -> Self:
        """Label more training rows and fit again from the present solution.

        The graph, landmarks and prototypes are kept.

        Parameters
        ----------
        index : array of int or bool
            Rows of the training data: numbers, which count from the end if they are negative, or a
            mask of all rows.
        y : array of the same length
            Their labels or targets, which may be new classes. The marker of unlabelled rows removes
            the label of a row, and changes nothing for a row that has none.

        Returns
        -------
        self
        """
        return self._fit(*self._check_new_labels(index, y), refit=True)

    def _check_new_labels(self, index: Any, y: Any) -> tuple[Rows, Targets]:
        """Return the training rows and their targets with new ones, after a check of both."""
        check_is_fitted(self, "predictor_")
        check_parameters(self)
        rows = self._training_rows()
        return rows, self._relabelled(rows, index, y)

    def _labelled_part(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Return the labelled rows with their labels and weights, for `score`."""
        check_is_fitted(self, "predictor_")
        rows, known, kept = labelled_part(X, y, self.unlabeled, sample_weight=sample_weight)
        if len(known) < len(y):
            warn(
                "rows without a label are not scored; in a cross-validation or a search, pass "
                "cv=LabeledKFold(), which keeps such rows out of the test parts"
            )
        return rows, known, kept["sample_weight"]

    def _values(self, X: Any) -> np.ndarray:
        """Return the values of the fitted function, shape (n, columns)."""
        check_is_fitted(self, "predictor_")
        return self.predictor_.values(self._new_rows(X))

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Targets]:
        """Return the rows and targets of a fit, after a check of the parameters."""
        check_parameters(self)
        rows = self._check_rows(X)
        return rows, self._check_targets(rows, y, sample_weight)

    def _check_rows(self, X: Any) -> Rows:
        """Return training rows, checked, in units in which the model can compute with them."""
        rows = check_rows(self, X, dtype=self._row_dtype)
        own = self._scales_columns and not sp.issparse(rows.X)
        units = SAME_UNITS if own else units_of(self, rows.X, Extent.of(rows.X))
        rows = rows.in_units(units, in_tiles=self._row_dtype == ROW_DTYPE)
        return rows.kept(X) if self._keeps_rows else rows

    def _new_rows(self, X: Any) -> Any:
        """Return rows to predict, checked, in the units of the training rows."""
        X = check_new_rows(self, X, dtype=self._row_dtype)
        if self._scales_columns and not sp.issparse(X):
            return X
        return getattr(self, "_units", SAME_UNITS).apply_new(X)

    def _training_rows(self) -> Rows:
        """Return the rows of the last fit."""
        names, units = getattr(self, "feature_names_in_", None), getattr(self, "_units", SAME_UNITS)
        return Rows(self._kept_rows(), self.n_features_in_, names, units)

    def _kept_rows(self) -> Any:
        """Return what is kept of the training rows."""
        return self.X_fit_

    def _set_fitted(
        self, rows: Rows, targets: Targets, solution: Solution, **attributes: Any
    ) -> Self:
        """Store a fit: its solution, and other attributes."""
        attributes |= solution.attributes
        linear = getattr(attributes.get("kernel_"), "is_linear", False)
        if linear and rows.units.origin is not None:  # f(x) is coef_·x + intercept_ for any row
            shift = attributes["coef_"] @ rows.units.origin
            attributes["intercept_"] = attributes["intercept_"] - shift
        return self._replace_fitted(
            **rows.attributes,
            predictor_=solution.predictor,
            result_=solution.result,
            n_iter_=solution.result.n_iter,
            _targets=targets,
            **attributes,
        )

    def _replace_fitted(self, **attributes: Any) -> Self:
        """Set all fitted attributes at once; those of an earlier fit are removed.

        What scikit-learn stores on an estimator is kept, such as its metadata requests.
        """
        caches = [n for n in vars(self) if isinstance(getattr(type(self), n, 0), cached_property)]
        for name in (*self._fitted, *caches, "extra_"):
            if name in vars(self):  # a pickle may lack some
                delattr(self, name)
        for name, value in attributes.items():
            setattr(self, name, value)
        self._fitted = tuple(attributes)
        return self

    def to_state(self) -> dict[str, Any]:
        """Return parameters and fitted attributes, for a model file."""
        parameters = self.get_params(deep=False)
        if "callback" in parameters:
            parameters["callback"] = None
        if not isinstance(parameters.get("random_state", 0), (int, np.integer)):
            parameters["random_state"] = None  # what was drawn from it is kept
        if type(parameters.get("unlabeled")).__name__ == "NAType":  # pd.NA means the same as None
            parameters["unlabeled"] = None
        names = sorted(self._fitted, key=lambda name: name not in self._packed_first)
        fitted = {name: getattr(self, name) for name in names if name in vars(self)}
        return {"parameters": parameters, "fitted": fitted}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the estimator of a model file."""
        model = cls(**state["parameters"])
        for name in state["fitted"]:
            if hasattr(cls, name) or not name.isidentifier() or name.startswith("__"):
                raise ValueError(f"{name!r} is not a fitted attribute of {cls.__name__}")
        return model._replace_fitted(**state["fitted"])

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        targets, found = self._targets, self.transduction_
        expect(isinstance(targets, Targets) and isinstance(self.predictor_, Predictor), BAD_LABELS)
        expect(isinstance(found, np.ndarray) and found.ndim == 1, BAD_LABELS)
        expect(found.dtype.kind in "biufU" and isinstance(self.result_, SolverResult), BAD_LABELS)
        n = len(found)
        index = targets.index
        expect(len(targets.given) == len(targets.row_weights) == n, BAD_LABELS)
        expect(index.dtype.kind == "i" and index.min() >= 0 and index.max() < n, BAD_LABELS)
        expect(isinstance(self.n_features_in_, int) and self.n_features_in_ >= 1, BAD_LABELS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = is_word(getattr(self, "kernel", None), "precomputed")
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
        return tags
