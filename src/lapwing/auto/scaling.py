"""Scaling of rows: columns on a common scale, or text of unit length.

The scaling depends on the rows alone, not on labels. It is a few numbers per column, which are
applied to new rows as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from ..arrays.packing import expect, expect_finite

SCALINGS = ("common", "columns", "text", "counts")
#: Ratio of the 95th to the 5th percentile of the columns' ranges above which their units differ.
_MOST_RATIO = 20.0
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
        one factor for each, to equal variance. "text": sparse rows without negative values, scaled
        to unit length. "counts": the same after log(1 + count) times the inverse document
        frequency.
    center : ndarray of shape (d,) or None
        Subtracted from dense rows; None for sparse ones.
    factor : ndarray of shape (d,) or (1,)
        Factors of the columns.
    """

    kind: str
    center: np.ndarray | None
    factor: np.ndarray

    def apply(self, X: Any) -> Any:
        """Return scaled rows, in the precision of X."""
        if self.center is not None:
            X = X.toarray() if sp.issparse(X) else X
            dtype = X.dtype if X.dtype.kind == "f" else np.float64
            return (X - self.center.astype(dtype)) * self.factor.astype(dtype)
        X = sp.csr_matrix(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        if self.kind == "common":
            return X * float(self.factor[0])
        if self.kind == "counts":
            X.data = np.log1p(np.maximum(X.data, 0.0))
            X = sp.csr_matrix(X @ sp.diags_array(self.factor))
        return normalize(X, copy=False)

    def check_loaded(self) -> None:
        """Refuse contents of a model file that make no sense."""
        expect(self.kind in SCALINGS)
        expect_finite(self.factor, self.center)


def learn_scaling(X: Any) -> RowScaling:
    """Choose the scaling of rows.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All rows.
    """
    some = X[:: -(-X.shape[0] // _MOST_ROWS)]
    return _sparse_scaling(X, some) if sp.issparse(X) else _dense_scaling(X, some)


def _sparse_scaling(X: Any, some: Any) -> RowScaling:
    n, values = X.shape[0], some.data
    if len(values) == 0 or values.min() < 0:
        length = np.sqrt(float(np.square(values).sum()) / max(some.shape[0], 1))
        return RowScaling("common", None, np.array([1.0 / max(length, 1e-150)]))
    if values.max() <= 1 or not np.all(values == np.rint(values)):
        return RowScaling("text", None, np.ones(1))
    n_documents = np.bincount(sp.csr_matrix(X).indices, minlength=X.shape[1])
    return RowScaling("counts", None, np.log((1.0 + n) / (1.0 + n_documents)) + 1.0)


def _dense_scaling(X: np.ndarray, some: np.ndarray) -> RowScaling:
    usual = _usual_rows(some)
    X, some = (X, some) if usual.all() else (some[usual], some[usual])
    center = X.mean(axis=0, dtype=np.float64)
    spread = some.std(axis=0, dtype=np.float64)
    varies = spread > 1e-12 * np.maximum(np.abs(center), 1e-300)
    if not varies.any():
        return RowScaling("common", center, np.ones(1))
    ranges = (some.max(axis=0) - some.min(axis=0)).astype(np.float64)[varies]
    low = np.percentile(ranges, 5, method="lower")
    if np.percentile(ranges, 95, method="higher") <= _MOST_RATIO * low:
        length = float(np.sqrt((spread**2).sum()))
        return RowScaling("common", center, np.array([1.0 / length]))
    factor = np.zeros(X.shape[1])
    factor[varies] = 1.0 / (spread[varies] * np.sqrt(varies.sum()))
    return RowScaling("columns", center, factor)


def _usual_rows(X: np.ndarray) -> np.ndarray:
    """Return which rows have no value far from all others of its column; all, if many have."""
    low, middle, high = np.percentile(X[:: -(-len(X) // _QUANTILE_ROWS)], [5, 50, 95], axis=0)
    reach = np.where(high > low, _FAR * (high - low), np.inf)
    far = np.maximum(X.max(axis=0) - middle, middle - X.min(axis=0)) > reach
    usual = (np.abs(X[:, far] - middle[far]) <= reach[far]).all(axis=1)
    return usual if np.mean(usual) >= _MOST_USUAL else np.ones(len(X), dtype=bool)
