"""Scaling of rows: columns on a common scale, or text of unit length.

The scaling depends on the rows alone, not on labels. It is a few numbers per column, which are
applied to new rows as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from ..arrays.packing import expect, expect_finite
from ..arrays.row_units import (
    Extent,
    column_means,
    column_variances,
    largest_value,
    power_to_one,
    refuse,
    safe_precision,
)

SCALINGS = ("common", "columns", "text", "counts")
#: Ratio of the widest range of a column to the 5th percentile of all above which units differ.
_MOST_RATIO = 20.0
#: The same for the largest values of columns of sparse rows without negative values: weights of
#: words stay far below.
_MOST_SPARSE_RATIO = 1e4
#: Ranges of columns that are computed with as they are, in either precision.
_ORDINARY = (1e-10, 1e10)
#: Largest scaled value: a value of a new row that is farther off, or of an outlier, is moved there.
_FARTHEST = {"float64": 1e50, "float32": 1e10}
#: Share of the range of a column within which half of its values must not lie in all columns.
_LEAST_MIDDLE = 1e-12
#: Largest value of a column, such that a multiple of the differences of its values is finite.
_LARGEST = 1e305
#: A row is left out if a value is farther from the median of its column than this multiple of the
#: range of nine tenths of them: it may be a typing error, and would hide all others. If fewer rows
#: than this share are left, values are far apart by nature, and all are used.
_FAR, _MOST_USUAL = 100.0, 0.95
#: The most rows from which quantiles are learnt.
_QUANTILE_ROWS = 1000
#: The most rows from which ranges are learnt.
_MOST_ROWS = 20_000


@dataclass(frozen=True)
class RowScaling:
    """How rows are scaled.

    Attributes
    ----------
    kind : {"common", "columns", "text", "counts"}
        "common": one factor for all columns, which have the same unit, as pixels have. "columns":
        one factor for each, to equal variance, or to equal largest values of sparse rows. "text":
        sparse rows without negative values, scaled to unit length. "counts": the same after
        log(1 + count) times the inverse document frequency.
    center : ndarray of shape (d,) or None
        Subtracted from dense rows; None for sparse ones.
    factor : ndarray of shape (d,) or (1,)
        Factors of the columns.
    exponent : ndarray of int, shape (d,), or None
        Powers of two that are further factors, for columns of extreme values.
    """

    kind: str
    center: np.ndarray | None
    factor: np.ndarray
    exponent: np.ndarray | None = None

    def apply(self, X: Any) -> Any:
        """Return scaled rows, in the precision of X if it holds their squares."""
        if self.center is not None:
            X = X.toarray() if sp.issparse(X) else X
            X = safe_precision(X if X.dtype.name in _FARTHEST else X.astype(np.float64))
            if largest_value(X) > _LARGEST:
                X = np.clip(X, -_LARGEST, _LARGEST)
            most, scaled = _FARTHEST[X.dtype.name], X - self.center.astype(X.dtype)
            with np.errstate(over="ignore"):
                if self.exponent is not None:
                    np.ldexp(scaled, self.exponent, out=scaled)
                scaled *= self.factor.astype(X.dtype)
            return np.clip(scaled, -most, most, out=scaled)
        X = sp.csr_matrix(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        if self.kind in ("common", "columns"):
            factor = self.factor[X.indices] if self.kind == "columns" else self.factor
            X.data = np.clip(X.data * factor, -_FARTHEST["float64"], _FARTHEST["float64"])
            return X
        if self.kind == "counts":
            X.data = np.log1p(np.maximum(X.data, 0.0))
            X = sp.csr_matrix(X @ sp.diags_array(self.factor))
        return normalize(X, copy=False)

    def check_loaded(self) -> None:
        """Refuse contents of a model file that make no sense."""
        expect(self.kind in SCALINGS)
        expect_finite(self.factor, self.center)
        if self.exponent is not None:
            expect(self.exponent.dtype.kind == "i" and self.center is not None)
            expect(bool(np.all(np.abs(self.exponent) < 1200)))


def learn_scaling(X: Any) -> RowScaling:
    """Choose the scaling of rows.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All rows.
    """
    return scaling_of(X[:: scaling_step(X.shape[0])], X.shape[0], lambda: count_documents(X))


def scaling_step(n: int) -> int:
    """Return the step from one of the rows that `scaling_of` requires to the next."""
    return -(-n // _MOST_ROWS)


def count_documents(X: Any) -> np.ndarray:
    """Return the number of rows in which each column has an entry."""
    return np.bincount(sp.csr_matrix(X).indices, minlength=X.shape[1])


def scaling_of(some: Any, n: int, documents: Callable[[], np.ndarray]) -> RowScaling:
    """Choose the scaling of rows of which some are given.

    Parameters
    ----------
    some : ndarray or CSR matrix of shape (m, d)
        The rows 0, s, 2s, …, with the step s of `scaling_step`.
    n : int
        Number of all rows.
    documents : callable
        Returns what `count_documents` does of all rows; called for counts alone.
    """
    return _sparse_scaling(some, n, documents) if sp.issparse(some) else _dense_scaling(some)


def _sparse_scaling(some: Any, n: int, documents: Callable[[], np.ndarray]) -> RowScaling:
    values = some.data
    counts = len(values) > 0 and values.min() >= 0 and bool(np.all(values == np.rint(values)))
    if counts and values.max() > 1:
        return RowScaling("counts", None, np.log((1.0 + n) / (1.0 + documents())) + 1.0)
    squares = np.asarray(some.multiply(some).sum(axis=1)).ravel()
    usual = squares <= _FAR**2 * np.percentile(squares, 90, method="higher")
    if np.mean(usual) >= _MOST_USUAL:
        some, squares = some[usual], squares[usual]
    largest = np.zeros(some.shape[1])
    np.maximum.at(largest, some.indices, np.abs(some.data))
    used, signed = largest[largest > 0], len(values) > 0 and values.min() < 0
    most = _MOST_RATIO if signed else _MOST_SPARSE_RATIO
    if len(used) and used.max() > most * np.percentile(used, 5, method="lower"):
        unit = np.where(largest > 0, largest, np.median(used))
        return RowScaling("columns", None, 1.0 / np.maximum(unit, 1e-300))
    if len(used) and not signed:
        return RowScaling("text", None, np.ones(1))
    length = np.sqrt(float(squares.mean()))
    return RowScaling("common", None, np.array([1.0 / max(length, 1e-150)]))


def _dense_scaling(X: np.ndarray) -> RowScaling:
    X = X[_usual_rows(X)]
    extent = Extent.of(X)
    if extent.largest > _LARGEST:
        refuse(f"holds values up to {extent.largest:.1e}")
    ranges, varies = extent.ranges, extent.varies
    if not varies.any():
        extent.refuse_rounding()
        return RowScaling("common", column_means(X), np.ones(1))
    _refuse_unresolved(X, extent)
    is_common = ranges.max() <= _MOST_RATIO * np.percentile(ranges[varies], 5, method="lower")
    units = np.full_like(ranges, ranges.max()) if is_common else np.where(varies, ranges, 1.0)
    extreme = (units < _ORDINARY[0]) | (units > _ORDINARY[1])
    exponent = np.where(extreme, power_to_one(units), 0) if extreme.any() else None
    if exponent is None:
        center, spread = column_means(X), np.sqrt(column_variances(X))
    else:  # sums of a constant column cannot overflow
        own = np.where(varies, exponent, 0)
        X = np.ldexp(X, own)
        center, spread = np.ldexp(column_means(X), -own), np.sqrt(column_variances(X))
    if is_common:
        length = float(np.sqrt((spread**2).sum()))
        return RowScaling("common", center, np.array([1.0 / length]), exponent)
    factor = np.zeros(X.shape[1])
    factor[varies] = 1.0 / (spread[varies] * np.sqrt(varies.sum()))
    return RowScaling("columns", center, factor, exponent)


def _refuse_unresolved(X: np.ndarray, extent: Extent) -> None:
    """Refuse rows half of which are the same, in every column, beside the others."""
    some = X[:: -(-len(X) // _QUANTILE_ROWS)]
    low, high = np.percentile(some, [25, 75], axis=0)
    middle, ranges = (high - low)[extent.varies], extent.ranges[extent.varies]
    if middle.max() > 0 and (middle < _LEAST_MIDDLE * ranges).all():
        refuse(
            f"holds values up to {extent.largest:.1e} beside others, half of the rows, that differ "
            f"by at most {middle.max():.1e}",
            "Correct or remove the rows of extreme values, or transform X, for example to its "
            "logarithm",
        )


def _usual_rows(X: np.ndarray) -> np.ndarray:
    """Return which rows have no value far from all others of its column; all, if many have."""
    with np.errstate(over="ignore", invalid="ignore"):  # of columns that are refused later
        low, middle, high = np.percentile(X[:: -(-len(X) // _QUANTILE_ROWS)], [5, 50, 95], axis=0)
        reach = np.where(high > low, _FAR * (high - low), np.inf)
        far = np.maximum(X.max(axis=0) - middle, middle - X.min(axis=0)) > reach
        usual = (np.abs(X[:, far] - middle[far]) <= reach[far]).all(axis=1)
    return usual if np.mean(usual) >= _MOST_USUAL else np.ones(len(X), dtype=bool)
