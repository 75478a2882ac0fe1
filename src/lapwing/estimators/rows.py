"""Rows as users give them: checked as scikit-learn does, without changing the estimator.

The one door through which rows enter: what a fit keeps of them is its own, in units in which it can
compute with them.
"""

from __future__ import annotations

import copy
import mmap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..arrays.blocks import RowBlocks, canonical_rows
from ..arrays.row_collections import refuse_dask
from ..arrays.row_units import SAME_UNITS, Extent, RowsInUnits, RowUnits

if TYPE_CHECKING:
    from .targets import Targets

FLOATS = (np.float64, np.float32)
#: Rows may be of any type of number: tiles are converted as they are read.
ROW_DTYPE = "numeric"
#: Smallest positive weight of a row; the largest is its reciprocal. Squares of ratios are finite.
_LEAST_WEIGHT = 1e-75


def other_rows(positions: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the rows at these positions among the rows that are not in ``first``, ascending.

    Examples
    --------
    >>> other_rows(np.array([0, 1, 2]), np.array([1, 3]))
    array([0, 2, 4])
    """
    # The p-th other row comes after those of the first of which at most p others precede it.
    before = first - np.arange(len(first))
    return positions + np.searchsorted(before, positions, side="right")


@dataclass(frozen=True)
class RowSource:
    """Training rows that are read several times, in memory or in blocks.

    Attributes
    ----------
    blocks : RowBlocks
        Reads the rows.
    row_size : float
        Stored numbers per row, in the block that has most.
    labelled : ndarray of int or None
        Of rows in blocks, those with a label; targets are those of these rows alone.
    other_weights : tuple of float
        Of rows in blocks, the smallest and the largest weight of those without a label.
    """

    blocks: RowBlocks
    row_size: float
    labelled: np.ndarray | None = None
    other_weights: tuple[float, float] = (1.0, 1.0)

    @property
    def in_memory(self) -> bool:
        """Whether the rows are one array in memory or in a memory map."""
        return self.labelled is None

    def index_of(self, targets: Targets) -> np.ndarray:
        """Return the indices of the labelled rows of positive weight among all rows."""
        return targets.index if self.labelled is None else self.labelled[targets.index]


@dataclass(frozen=True)
class Rows:
    """Checked training rows, with the number and the names of their columns.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d), or None
        The rows, or their Gram matrix; None for rows in blocks.
    n_features : int
        d.
    names : ndarray of str or None
        Names of the columns, where they have any.
    units : RowUnits
        The units of X, and of new rows.
    source : RowSource or None
        Reads rows in blocks; None for rows in memory.
    beside : tuple of str
        Columns of labels and weights, which are no columns of the rows.
    """

    X: Any
    n_features: int
    names: np.ndarray | None = None
    units: RowUnits = SAME_UNITS
    source: RowSource | None = None
    beside: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0] if self.source is None else self.source.blocks.n_rows

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes that scikit-learn reads, and what is not the same for all rows."""
        named = {} if self.names is None else {"feature_names_in_": self.names}
        units = {} if self.units.identical else {"_units": self.units}
        beside = {"_beside": self.beside} if self.beside else {}
        source = {} if self.source is None else {"_source": self.source, "_from_blocks": True}
        return {"n_features_in_": self.n_features, **named, **units, **beside, **source}

    def in_units(self, units: RowUnits, largest: float, *, in_tiles: bool = False) -> Rows:
        """Return the rows, whose largest value is known, in these units.

        ``in_tiles`` converts dense ones as they are read.
        """
        if in_tiles and not sp.issparse(self.X):
            X = self.X if units.identical else RowsInUnits(self.X, units)
            return replace(self, X=X, units=units)
        return replace(self, X=units.apply(self.X, largest), units=units)

    def kept(self, given: Any) -> Rows:
        """Return rows that do not change when the user's object does.

        Rows in a memory map are used where they are.
        """
        if isinstance(self.X, RowsInUnits):
            inner = replace(self, X=self.X.X).kept(given).X
            return replace(self, X=replace(self.X, X=inner))
        shared = _shares_memory(self.X, given) and not _is_mapped(self.X)
        return replace(self, X=self.X.copy()) if shared else self

    def check_like(
        self, model: Any, X: Any, *, dtype: Any = FLOATS, least: int = 1
    ) -> tuple[Any, Extent]:
        """Return other rows, checked for the same columns before the model is fitted."""
        probe = copy.copy(model)
        for name, value in self.attributes.items():
            setattr(probe, name, value)
        return check_new_rows(probe, X, dtype=dtype, least=least)


def check_rows(model: Any, X: Any, *, least: int = 2, dtype: Any = FLOATS) -> tuple[Rows, Extent]:
    """Return training rows, an array or a CSR matrix without repeated entries, and their extent.

    The estimator is not changed: a fit that fails later leaves no trace. Cost: one pass over them.
    """
    probe = copy.copy(model)
    X, extent = _validated(probe, X, reset=True, least=least, dtype=dtype)
    if get_tags(model).input_tags.pairwise and X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed kernel must be a square matrix, got shape {X.shape}")
    return Rows(X, probe.n_features_in_, getattr(probe, "feature_names_in_", None)), extent


def check_new_rows(
    model: Any, X: Any, *, dtype: Any = FLOATS, least: int = 1
) -> tuple[Any, Extent]:
    """Return rows to predict, which must have the columns of the training rows; and their extent.

    Cost: one pass over them.
    """
    return _validated(model, X, reset=False, least=least, dtype=dtype)


def _validated(model: Any, X: Any, *, reset: bool, least: int, dtype: Any) -> tuple[Any, Extent]:
    refuse_dask(X, f"this method of {type(model).__name__}")
    _refuse_types(X)
    tags = get_tags(model).input_tags
    if sp.issparse(X) and not (tags.sparse or tags.pairwise):
        raise TypeError(
            f"X is sparse, and {type(model).__name__} needs dense rows: reduce them, for example "
            "with sklearn.decomposition.TruncatedSVD, or pass X.toarray() if it fits into memory"
        )
    # Numbers of another type may not be finite in float64, which the extent shows.
    with np.errstate(over="ignore", invalid="ignore"):
        X = validate_data(
            model,
            X,
            accept_sparse="csr" if tags.sparse else False,
            dtype=dtype if isinstance(dtype, str) else list(dtype),
            reset=reset,
            ensure_min_samples=least,
            ensure_all_finite=False,
        )
    X = canonical_rows(X)
    extent = Extent.of(X)
    if not np.isfinite(extent.largest):
        if X.dtype.itemsize > 8:  # too large for float64 alone
            with np.errstate(over="ignore"):
                X = X.astype(np.float64)
        assert_all_finite(X, estimator_name=type(model).__name__, input_name="X")
    return X, extent


def _refuse_types(X: Any) -> None:
    """Refuse dates and durations, whose numbers depend on their unit, and complex numbers.

    scikit-learn refuses the latter by a message that contains the whole array.
    """
    types = getattr(X, "dtypes", None)  # of the columns of a table
    types = [getattr(X, "dtype", None)] if types is None else list(types)
    kinds = {getattr(one, "kind", None) for one in types}
    if "c" in kinds:
        raise ValueError(
            "Complex data not supported: pass real and imaginary parts as columns of their own"
        )
    if kinds & {"m", "M"}:
        raise ValueError(
            "X holds dates or durations (datetime64, timedelta64): convert them to numbers, for "
            "example to days, (X - X.min()) / np.timedelta64(1, 'D')"
        )


def given_rows(model: Any) -> Any:
    """Return the training rows that a model keeps, in the units of the user."""
    return getattr(model, "_units", SAME_UNITS).restore(model.X_fit_)


def check_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Return one weight per row, zero or of a size with which solvers can compute."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    if _are_zero(np.asarray(sample_weight)):
        refuse_zero_weights()  # scikit-learn has a message of its own
    try:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold one finite number per row: {error}") from error
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative")
    check_weight_range("sample_weight", weights)
    return weights


def _are_zero(weights: np.ndarray) -> bool:
    return weights.size > 0 and weights.dtype.kind in "biuf" and not weights.any()


def _shares_memory(X: Any, given: Any) -> bool:
    """Return whether rows may be stored in the memory of the object they were read from."""
    if not (isinstance(given, np.ndarray) or sp.issparse(given)):
        return not isinstance(given, (list, tuple))  # tables and tensors may share theirs
    pairs = zip(_arrays(X), _arrays(given), strict=False)
    return any(np.may_share_memory(one, other) for one, other in pairs)


def _arrays(X: Any) -> tuple[np.ndarray, ...]:
    if not sp.issparse(X):
        return (X,)
    return tuple(getattr(X, name) for name in ("data", "indices", "indptr") if hasattr(X, name))


def _is_mapped(X: Any) -> bool:
    """Return whether an array is a view of a memory map."""
    while isinstance(X, np.ndarray):
        X = X.base
    return isinstance(X, mmap.mmap)


def refuse_blocks() -> NoReturn:
    """Raise the error for labels that are added to rows in blocks."""
    raise ValueError("the rows came in blocks, which are not kept: fit again with the new labels")


def refuse_zero_weights() -> NoReturn:
    """Raise the error for labelled rows none of which counts."""
    raise ValueError(
        "sample_weight is zero for every labelled row, so that no label counts: give labelled rows "
        "positive weights, or leave sample_weight out"
    )


def check_weight_range(name: str, weights: np.ndarray) -> None:
    """Refuse positive weights whose squares or reciprocals would overflow in a solver."""
    extreme = weights[(weights > 0) & ((weights < _LEAST_WEIGHT) | (weights > 1.0 / _LEAST_WEIGHT))]
    if len(extreme):
        raise ValueError(
            f"{name} holds {extreme[0]:.1e}: weights must be zero or between {_LEAST_WEIGHT:.0e} "
            f"and {1.0 / _LEAST_WEIGHT:.0e}. Multiply all of them by one factor, or set those that "
            "should not count to zero"
        )
