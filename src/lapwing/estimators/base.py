"""The base class of all estimators: how a fit is checked, stored, repeated and saved.

An estimator is its parameters and a ``_fit`` that ends with ``_set_fitted``; all else is values and
functions. Must not know tasks: `model` adds what classifiers and regressors have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays.blocks import located
from ..arrays.device import follows_tensors
from ..arrays.packing import expect
from ..arrays.row_collections import is_dask, open_rows, split_columns, without_columns
from ..arrays.row_units import SAME_UNITS, RowUnits
from ..messages import warn
from ..solvers.driver import SolverResult
from ..spaces.predictors import Predictor
from .invariance import units_of
from .labels import labelled_part
from .parameters import Check, check_parameters, is_word, without_objects
from .row_source import check_blocks, gather, refuse_no_labels
from .rows import (
    FLOATS,
    ROW_DTYPE,
    Rows,
    RowSource,
    check_new_rows,
    check_rows,
    refuse_blocks,
)
from .run import Solution
from .targets import Targets

#: Fitted attributes that predictions need.
_OF_PREDICTIONS = {"predictor_", "classes_", "temperature_", "n_features_in_"}
_OF_PREDICTIONS |= {"feature_names_in_", "_units", "_beside"}
#: Rows of which values are computed at a time.
_TILE_ROWS = 20_000
#: What is wrong with a model file, where `check_loaded` refuses it.
BAD_LABELS = "its labels do not fit its rows or its classes"


class Model(BaseEstimator):
    """Base of all estimators. A fit that fails changes nothing.

    An estimator implements ``_fit(rows, targets, refit=False)``, which ends with `_set_fitted`.
    ``refit`` means that the rows are those of the last fit, whose graph and landmarks are kept.
    """

    predictor_: Predictor
    result_: SolverResult
    X_fit_: Any
    _targets: Targets
    _units: RowUnits  # of extreme rows only

    # Set by the estimators.
    unlabeled: Any

    #: Types of numbers that rows may have: those of scikit-learn, or any that are read in tiles.
    _row_dtype: Any = FLOATS
    #: What to change for `_in_blocks`, for messages: a phrase that ends with a comma.
    _for_blocks: str = ""
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

    @property
    def _in_blocks(self) -> bool:
        """Whether a fit reads its rows in blocks, so that their number is not bounded by memory."""
        return False

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        raise NotImplementedError(f"{type(self).__name__} must implement _fit")

    def _check_targets(self, rows: Rows, y: Any, sample_weight: Any) -> Targets:
        raise NotImplementedError(f"{type(self).__name__} must implement _check_targets")

    def _relabelled(self, rows: Rows, index: Any, y: Any) -> Targets:
        raise NotImplementedError(f"{type(self).__name__} must implement _relabelled")

    @follows_tensors
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
        if getattr(self, "_from_blocks", False):
            refuse_blocks()
        rows = self._training_rows()
        return rows, self._relabelled(rows, index, y)

    def _labelled_part(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Return the labelled rows with their labels and weights, for `score`."""
        check_is_fitted(self, "predictor_")
        if open_rows(X, y, sample_weight) is not None:
            raise TypeError(
                "score takes rows in memory, and X is not: compare predict(X) with the labels"
            )
        X, y, sample_weight = split_columns(X, y, sample_weight)
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

    def _of_values(self, X: Any, function: Callable[[np.ndarray], np.ndarray]) -> Any:
        """Return a function of the values of rows, given in any form that `fit` takes.

        An array, or a lazy array for a Dask collection.
        """
        check_is_fitted(self, "predictor_")
        beside = getattr(self, "_beside", ())
        only = getattr(self, "feature_names_in_", None)
        self._check_width(X)
        collection = open_rows(X, only=only, without=beside)
        if collection is None:
            return function(self._values(without_columns(X, beside)))
        model = self._for_prediction()
        if collection.names is not None and collection.unit == "block":
            model.__dict__.pop("feature_names_in_", None)  # the columns of files are read by name

        unit, names = collection.unit, collection.names

        def of_block(number: int, X: Any) -> np.ndarray:
            with located(unit, number, X, names):
                return function(model._values(without_columns(X, beside)))

        like = function(np.zeros((0, self._targets.n_columns)))
        blocks = replace(collection.blocks, convert=attrgetter("X"))
        return blocks.map("predictions", of_block, None, like=like)

    def _check_width(self, X: Any) -> None:
        """Refuse a Dask array with other columns now, and not when it is computed."""
        width = X.shape[1] if is_dask(X) and getattr(X, "ndim", 0) == 2 else self.n_features_in_
        if not hasattr(X, "columns") and width != self.n_features_in_ and width == width:
            raise ValueError(
                f"X has {width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _for_prediction(self) -> Self:
        """Return a copy with what predictions need alone, to be sent to workers."""
        model = without_objects(self)
        model.__dict__ |= {n: one for n, one in vars(self).items() if n in _OF_PREDICTIONS}
        return model

    @cached_property
    def transduction_(self) -> Any:
        """Labels of training rows that came in blocks; they are read again."""
        source = vars(self).get("_source")
        if source is None:
            raise AttributeError(
                f"{type(self).__name__} has no transduction_: it is not fitted, or it was copied "
                "or stored after a fit to rows in blocks, which are not kept: predict these rows"
            )
        predictor, function = self._of_unlabelled, self._from_values

        def of_tile(X: Any) -> np.ndarray:
            return function(predictor.values(X))

        like = function(np.zeros((0, self._targets.n_columns)))
        given = self._known_rows(source)
        try:
            return source.blocks.map("transduction", of_tile, _TILE_ROWS, like=like, given=given)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"transduction_ reads the training rows again, and {error}: put it back, or "
                "predict other rows, which the model does not need it for"
            ) from error

    def _known_rows(self, source: RowSource) -> tuple[np.ndarray, np.ndarray]:
        """Return rows in blocks that need not be predicted, ascending, and their labels."""
        assert source.labelled is not None
        return source.labelled, self._given_labels

    @property
    def _of_unlabelled(self) -> Predictor:
        """The function whose values unlabelled training rows have."""
        return self.predictor_

    @property
    def _from_values(self) -> Callable[[np.ndarray], np.ndarray]:
        """What `predict` returns, as a function of values."""
        raise NotImplementedError(f"{type(self).__name__} must implement _from_values")

    @property
    def _given_labels(self) -> np.ndarray:
        """The labels of the labelled rows."""
        raise NotImplementedError(f"{type(self).__name__} must implement _given_labels")

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Targets]:
        """Return the rows and targets of a fit, after a check of the parameters."""
        check_parameters(self)
        beside = tuple(name for name in (y, sample_weight) if isinstance(name, str))
        collection, names = open_rows(X, y, sample_weight), None
        if collection is not None and self._in_blocks:
            found = check_blocks(self, collection)
            labelled = replace(found.rows, X=np.empty((len(found.labels), 0)))
            targets = self._check_targets(labelled, found.labels, found.weights)
            return replace(found.rows, beside=beside), targets
        if collection is not None:
            X, names, y, sample_weight = gather(self, collection)
        else:
            X, y, sample_weight = split_columns(X, y, sample_weight)
        if y is None:
            refuse_no_labels(self)
        rows = replace(self._check_rows(X), beside=beside)
        rows = rows if names is None else replace(rows, names=names)
        return rows, self._check_targets(rows, y, sample_weight)

    def _check_rows(self, X: Any) -> Rows:
        """Return training rows, checked, in units in which the model can compute with them."""
        rows, extent = check_rows(self, X, dtype=self._row_dtype)
        own = self._scales_columns and not sp.issparse(rows.X)
        units = SAME_UNITS if own else units_of(self, rows.X, extent)
        in_tiles = self._row_dtype == ROW_DTYPE
        rows = rows.in_units(units, extent.largest, in_tiles=in_tiles)
        return rows.kept(X) if self._keeps_rows else rows

    def _new_rows(self, X: Any) -> Any:
        """Return rows to predict, checked, in the units of the training rows."""
        X, extent = check_new_rows(self, X, dtype=self._row_dtype)
        if self._scales_columns and not sp.issparse(X):
            return X
        return getattr(self, "_units", SAME_UNITS).apply_new(X, extent.largest)

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
        result = solution.result
        if rows.source is not None:  # the pass that has checked the blocks
            result = replace(result, passes=result.passes + 1)
        linear = getattr(attributes.get("kernel_"), "is_linear", False)
        if linear and rows.units.origin is not None:  # f(x) is coef_·x + intercept_ for any row
            shift = attributes["coef_"] @ rows.units.origin
            attributes["intercept_"] = attributes["intercept_"] - shift
        return self._replace_fitted(
            **rows.attributes,
            predictor_=solution.predictor,
            result_=result,
            n_iter_=result.n_iter,
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

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        lost = ("_source", "transduction_") if "_source" in state else ()
        return {name: value for name, value in state.items() if name not in lost}

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
        fitted = {n: getattr(self, n) for n in names if n in vars(self) and n != "_source"}
        return {"parameters": parameters, "fitted": fitted}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the estimator of a model file."""
        model = cls(**state["parameters"])
        for name in state["fitted"]:
            known = hasattr(cls, name) and name != "transduction_"
            if known or not name.isidentifier() or name.startswith("__"):
                raise ValueError(f"{name!r} is not a fitted attribute of {cls.__name__}")
        return model._replace_fitted(**state["fitted"])

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        targets, found = self._targets, vars(self).get("transduction_")
        expect(isinstance(targets, Targets) and isinstance(self.predictor_, Predictor), BAD_LABELS)
        expect(isinstance(self.result_, SolverResult), BAD_LABELS)
        n, index = len(targets.given), targets.index
        expect(len(targets.row_weights) == n, BAD_LABELS)
        if found is not None:  # rows in blocks are not kept
            expect(isinstance(found, np.ndarray) and found.shape == (n,), BAD_LABELS)
            expect(found.dtype.kind in "biufU", BAD_LABELS)
        expect(index.dtype.kind == "i" and index.min() >= 0 and index.max() < n, BAD_LABELS)
        expect(isinstance(self.n_features_in_, int) and self.n_features_in_ >= 1, BAD_LABELS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = is_word(getattr(self, "kernel", None), "precomputed")
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
        return tags
