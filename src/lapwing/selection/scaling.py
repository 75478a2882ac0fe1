"""Rows as the machines see them: columns on a common scale, or text of unit length.

Looks at rows alone, never at labels. What is learnt is a few numbers a column, which new rows get
as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

#: Ratio of the ranges of columns (95th to 5th of a hundred) above which they have different units.
_UNITS = 20.0
#: Rows that are looked at to learn ranges and counts.
_LOOKED_AT = 20_000


@dataclass(frozen=True)
class RowScaling:
    """How rows are scaled.

    Attributes
    ----------
    kind : {"common", "columns", "text", "counts"}
        "common": one factor for all columns, which have one unit, as pixels have. "columns": each
        column has unit variance. "text": sparse rows without negative values, of unit length.
        "counts": the same after log(1 + count) times the inverse document frequency.
    center : ndarray of shape (d,) or None
        Subtracted from dense rows; None for sparse ones.
    factor : ndarray of shape (d,) or (1,)
        Multiplies the columns.
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
        if not sp.issparse(X):
            X = sp.csr_matrix(X)
        X = sp.csr_matrix(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        if self.kind == "common":
            return X * float(self.factor[0])
        if self.kind == "counts":
            X.data = np.log1p(np.maximum(X.data, 0.0))
            X = sp.csr_matrix(X @ sp.diags_array(self.factor))
        return normalize(X, copy=False)


def learn_scaling(X: Any) -> RowScaling:
    """Choose the scaling of rows.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All rows.
    """
    n = X.shape[0]
    some = X[:: -(-n // _LOOKED_AT)]
    if sp.issparse(X):
        values = some.data
        if len(values) == 0 or values.min() < 0:
            length = np.sqrt(float(np.square(values).sum()) / max(some.shape[0], 1))
            return RowScaling("common", None, np.array([1.0 / max(length, 1e-150)]))
        if values.max() <= 1 or not np.all(values == np.rint(values)):
            return RowScaling("text", None, np.ones(1))
        seen = np.bincount(sp.csr_matrix(X).indices, minlength=X.shape[1])
        return RowScaling("counts", None, np.log((1.0 + n) / (1.0 + seen)) + 1.0)
    center = X.mean(axis=0, dtype=np.float64)
    spread = some.std(axis=0, dtype=np.float64)
    moving = spread > 1e-12 * np.maximum(np.abs(center), 1e-300)
    if not moving.any():
        return RowScaling("common", center, np.ones(1))
    ranges = (some.max(axis=0) - some.min(axis=0)).astype(np.float64)[moving]
    low = np.percentile(ranges, 5, method="lower")
    if np.percentile(ranges, 95, method="higher") <= _UNITS * low:
        length = float(np.sqrt((spread**2).sum()))
        return RowScaling("common", center, np.array([1.0 / length]))
    factor = np.zeros(X.shape[1])
    factor[moving] = 1.0 / (spread[moving] * np.sqrt(moving.sum()))
    return RowScaling("columns", center, factor)
