"""Units in which rows of extreme values are computed with, and the refusal of what has none.

Squares and inner products of values such as 1e200 or 1e-200 leave the range of double precision,
and those of a column near 1e9 lose the digits of all others. Such rows enter as (x − origin)·2ᵉ,
which changes nothing that a model learns if it is indifferent to the unit and the origin of its
rows. Ordinary rows are left as they are. Knows neither models nor kernels: whether they are
indifferent is an argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from .device import block_entries, map_where
from .packing import expect, expect_finite
from .threads import map_blocks, row_blocks

#: Largest absolute values of ordinary rows, whose fourth powers are in range.
ORDINARY = (1e-50, 1e50)
#: The same for rows in single precision, of which others are converted to double precision.
_ORDINARY_SINGLE = (1e-10, 1e10)
#: Largest value of rows to predict; squares of larger ones overflow.
_MOST = 1e150
#: A column whose level is above this multiple of the widest range of a column gets an origin.
_FAR = 1e3
#: Below this ratio of the spread of rows to their level, inner products do not show the spread.
_LEAST_SPREAD = 1e-6
#: A column that holds fewer different values than this in its precision is rounding.
_LEAST_VALUES = 8
#: Size of most rows, beside a largest value of one, below which their squares vanish; and rows that
#: are looked at for it.
_LEAST_SIZE, _SAMPLE_ROWS = 1e-140, 1000
#: Numbers that are read at a time.
_BLOCK = 1_000_000


@dataclass(frozen=True)
class RowUnits:
    """Rows enter as (x − origin)·2ᵉ.

    Attributes
    ----------
    exponent : int
        e; 0 for ordinary rows.
    origin : ndarray of shape (d,) or None
        Subtracted from dense rows; None for zero.
    """

    exponent: int = 0
    origin: np.ndarray | None = None

    @property
    def identical(self) -> bool:
        """Whether rows are left as they are."""
        return self.exponent == 0 and self.origin is None

    def apply(self, X: Any, largest: float | None = None) -> Any:
        """Return checked rows in these units: X itself where they are those of X.

        ``largest`` is the largest absolute value of all rows, of which X may be a part; None takes
        that of X.
        """
        X = safe_precision(X, largest)
        if self.identical:
            return X
        if self.origin is not None:
            X = X.toarray() if sp.issparse(X) else X
            X = X - self.origin.astype(X.dtype if X.dtype.kind == "f" else np.float64)
        return _times_power(X, self.exponent)

    def apply_new(self, X: Any, largest: float) -> Any:
        """Return rows to predict in these units, or refuse what overflows in them.

        ``largest`` is their largest absolute value.
        """
        with np.errstate(over="ignore"):
            found = self.apply(X, largest)
        if not (largest if self.identical else largest_value(found)) <= _MOST:
            refuse(
                f"holds values up to {largest:.1e}, whose squares overflow in the unit of the "
                "training rows"
            )
        return found

    def restore(self, X: Any) -> Any:
        """Return rows in the units of the user again, up to rounding."""
        X = _times_power(X, -self.exponent)
        return X if self.origin is None else X + self.origin

    def check_loaded(self) -> None:
        """Refuse contents of a model file that make no sense."""
        expect(abs(self.exponent) < 1200)
        expect_finite(self.origin)


#: The units of ordinary rows.
SAME_UNITS = RowUnits()


@dataclass(frozen=True)
class RowsInUnits:
    """Dense rows that are converted as they are read, so that a memory map stays in its file.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The rows as they were given.
    units : RowUnits
        In which they are read.
    """

    X: Any
    units: RowUnits

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns."""
        return self.X.shape

    def __getitem__(self, rows: Any) -> Any:
        """Return some rows, in these units."""
        return self.units.apply(self.X[rows])


@dataclass(frozen=True)
class Extent:
    """The smallest and the largest value of each column, as far as they are known.

    Attributes
    ----------
    largest : float
        The largest absolute value; NaN or infinite if one of them is.
    low, high : ndarray of shape (d,) or None
        The ends of the columns; None for sparse rows.
    eps : float
        Relative distance of two numbers in the precision of the rows.
    """

    largest: float
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    eps: float = float(np.finfo(np.float64).eps)

    @classmethod
    def of(cls, X: Any) -> Extent:
        """Return the extent of rows. Cost: one pass over them."""
        if sp.issparse(X) or 0 in X.shape:
            return cls(largest_value(X))
        with np.errstate(invalid="ignore", over="ignore"):  # of NaN, and of numbers above float64
            ends = map_blocks(
                lambda rows: (X[rows].min(axis=0), X[rows].max(axis=0)), _blocks_of(X)
            )
            low = np.min([low for low, _ in ends], axis=0).astype(np.float64)
            high = np.max([high for _, high in ends], axis=0).astype(np.float64)
            largest = float(np.maximum(-low, high).max())
        eps = np.finfo(X.dtype if X.dtype.kind == "f" else np.float64).eps
        return cls(largest, low, high, float(eps))

    @property
    def ranges(self) -> np.ndarray:
        """Largest minus smallest value of each column of dense rows; infinite if it overflows."""
        assert self.low is not None and self.high is not None
        with np.errstate(over="ignore"):
            return self.high - self.low

    @property
    def levels(self) -> np.ndarray:
        """Largest absolute value of each column of dense rows."""
        assert self.low is not None and self.high is not None
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def varies(self) -> np.ndarray:
        """Which columns of dense rows hold more than the rounding of one value."""
        with np.errstate(over="ignore"):
            return self.ranges / (_LEAST_VALUES * self.eps) > self.levels

    def refuse_rounding(self) -> None:
        """Refuse dense rows whose widest column holds rounding only, and more than one value."""
        widest = int(self.ranges.argmax())
        if self.ranges[widest] > 0 and not self.varies[widest]:
            level, spread = self.levels[widest], self.ranges[widest]
            refuse(f"holds a column near {level:.1e} whose values differ by {spread:.1e} at most")

    def __or__(self, other: Extent) -> Extent:
        """Return the extent of both rows."""
        largest = max(self.largest, other.largest)
        if self.low is None or other.low is None or self.high is None or other.high is None:
            return Extent(largest)
        ends = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Extent(largest, *ends, max(self.eps, other.eps))


def choose_units(extent: Extent, *, any_scale: bool, any_origin: bool) -> RowUnits:
    """Return the units in which rows of this extent enter, or refuse the rows.

    Parameters
    ----------
    extent : Extent
        Of all training rows.
    any_scale, any_origin : bool
        Whether what is computed does not depend on the scale of the rows, or on their origin.
    """
    origin, largest = None, extent.largest
    if extent.low is not None and extent.high is not None:
        extent.refuse_rounding()
        ranges, levels = extent.ranges, extent.levels
        far = levels / _FAR > ranges.max()
        if any_origin and ranges.max() > 0 and far.any():
            origin = np.where(far, extent.low + ranges / 2.0, 0.0)
            largest = float(np.where(far, ranges, levels).max())
    if _is_ordinary(largest):
        return RowUnits(0, origin)
    if not any_scale:
        size = "small" if largest < 1.0 else "large"
        refuse(
            f"holds values up to {largest:.1e}, too {size} for this kernel or for a gamma or "
            "bandwidth that is given as a number"
        )
    return RowUnits(int(power_to_one(largest)), origin)


def check_outliers(X: Any, units: RowUnits) -> None:
    """Refuse rows of which a few are so large that squares of all others vanish beside them."""
    if units.exponent >= 0:
        return
    some = X[:: -(-X.shape[0] // _SAMPLE_ROWS)]
    if sp.issparse(some):
        size = np.median(abs(some).max(axis=1).toarray())
    else:
        low, high = np.percentile(some, [25, 75], axis=0)
        size = float((high / 2.0 - low / 2.0).max())
    if size > 0 and np.ldexp(size, units.exponent) < _LEAST_SIZE:
        refuse(
            f"holds values up to {largest_value(X):.1e} in a few rows, and others are about "
            f"{size:.1e} in size",
            "Correct or remove the rows of extreme values, or rescale X",
        )


def check_inner_products(X: Any, extent: Extent) -> None:
    """Refuse rows whose inner products do not show how the rows differ."""
    if extent.low is not None and extent.high is not None:
        spread, level = float((extent.high - extent.low).max()), extent.largest
    else:
        spread, level = spread_and_level(X)
    if 0 < spread < _LEAST_SPREAD * level:
        refuse(
            f"holds values near {level:.1e} that differ by {spread:.1e} at most, which inner "
            "products do not show"
        )


def spread_and_level(X: sp.csr_matrix) -> tuple[float, float]:
    """Return the standard deviation of sparse rows from their mean, and the largest norm of one."""
    power = int(power_to_one(largest_value(X)))
    X = _times_power(X.astype(np.float64), power)
    row_of_value = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    squares = np.bincount(row_of_value, X.data**2, minlength=1)
    spread, level = np.ldexp(np.sqrt([column_variances(X).sum(), squares.max()]), -power)
    return float(spread), float(level)


def column_means(X: np.ndarray) -> np.ndarray:
    """Return the mean of each column of dense rows, exactly for a constant column."""
    first = X[0].astype(np.float64)
    return first + np.sum([(X[r] - first).sum(axis=0) for r in _blocks_of(X)], axis=0) / len(X)


def column_variances(X: Any) -> np.ndarray:
    """Return the variance of each column, from differences from its mean: nothing cancels.

    A constant column has variance zero, and not that of the rounding of its mean.
    """
    n, d = X.shape
    if sp.issparse(X):
        stored, n_zeros = X.indices, n - np.bincount(X.indices, minlength=d)
        first = np.bincount(stored[: X.indptr[1]], X.data[: X.indptr[1]], minlength=d)
        values = X.data - first[stored]
        mean = (np.bincount(stored, values, minlength=d) - n_zeros * first) / n
        squares = np.bincount(stored, (values - mean[stored]) ** 2, minlength=d)
        return (squares + n_zeros * (first + mean) ** 2) / n
    mean, total = column_means(X), np.zeros(d)
    for rows in _blocks_of(X):
        centred = X[rows] - mean
        total += np.einsum("ij,ij->j", centred, centred)
    return total / n


def largest_value(X: Any) -> float:
    """Return the largest absolute value of rows; NaN if one of them is. Cost: a pass over them."""
    values = X.data if sp.issparse(X) else X
    with np.errstate(invalid="ignore"):  # of NaN
        found = map_where(values, lambda rows: _largest(values[rows]), _blocks_of(values))
        return float(np.max(found, initial=0.0))


def single_precision_holds(X: Any, largest: float | None = None) -> bool:
    """Return whether squares of rows are in the range of single precision.

    ``largest`` is their largest absolute value, where it is known.
    """
    low, high = _ORDINARY_SINGLE
    return low <= (largest_value(X) if largest is None else largest) <= high


def safe_precision(X: Any, largest: float | None = None) -> Any:
    """Return rows in double precision if single precision does not hold their squares."""
    unsafe = X.dtype == np.float32 and not single_precision_holds(X, largest)
    return X.astype(np.float64) if unsafe else X


def _blocks_of(X: np.ndarray) -> list[slice]:
    """Return slices of rows that fit into a cache."""
    n, size = X.shape[0], X.size
    return row_blocks(n, max(1, block_entries(X, _BLOCK) * n // size)) if size else []


def _largest(block: np.ndarray) -> float:
    return float(np.maximum(-float(block.min()), float(block.max())))


def check_kernel_matrix(largest: float) -> None:
    """Refuse a Gram matrix of extreme values, given the largest one."""
    if not _is_ordinary(largest):
        refuse(f"holds kernel values up to {largest:.1e}", "Divide them by the largest of them")


def refuse(what: str, remedy: str = "") -> NoReturn:
    """Raise the error for rows that cannot be computed with."""
    remedy = remedy or (
        "Rescale X, for example with sklearn.preprocessing.StandardScaler (MaxAbsScaler for sparse "
        "rows)"
    )
    raise ValueError(f"X {what}: double precision cannot resolve these rows. {remedy}")


def _is_ordinary(largest: float) -> bool:
    return largest == 0 or ORDINARY[0] <= largest <= ORDINARY[1]


def power_to_one(values: Any) -> Any:
    """Return the even powers of two that bring positive values to between 1/4 and 1."""
    exponent = -np.frexp(values)[1]
    return exponent - exponent % 2


def _times_power(X: Any, exponent: int) -> Any:
    """Return rows times 2ᵉ, exactly; e may be out of the range of floats themselves."""
    if exponent == 0:
        return X
    if not sp.issparse(X):
        return np.ldexp(X, exponent)
    return type(X)((np.ldexp(X.data, exponent), X.indices, X.indptr), shape=X.shape)
