"""Checks of parameters and rows, with errors that name what is wrong."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ..arrays.blocks import without_repeats
from ..graphs.neighbors import LARGEST_VALUE


def valid_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool = True,
    least: int = 2,
    sparse: bool = True,
    dtype: Any = (np.float64, np.float32),
) -> Any:
    """Return rows as scikit-learn checks them, an array or a CSR matrix without repeated entries.

    New rows (not ``reset``) must have the columns of the fit, and one of them is enough.
    """
    X = validate_data(
        estimator,
        X,
        accept_sparse="csr" if sparse else False,
        dtype=dtype if isinstance(dtype, str) else list(dtype),
        reset=reset,
        ensure_min_samples=least if reset else min(least, 1),
    )
    return without_repeats(X)


def check_count(name: str, value: Any, lowest: int = 1) -> None:
    """Refuse what is no whole number of at least ``lowest``."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and int(value) >= lowest):
        raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """Refuse what is no positive finite number."""
    if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) > 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")


def check_not_negative(name: str, value: Any) -> None:
    """Refuse what is no finite number of at least zero."""
    if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) >= 0):
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")


def check_magnitude(X: Any, dtype: Any = None) -> None:
    """Refuse rows whose squares overflow, in a precision that is by default their own."""
    values = X.data if sp.issparse(X) else X
    largest = max(-float(values.min(initial=0.0)), float(values.max(initial=0.0)))
    if largest > LARGEST_VALUE or largest**2 > 1e-3 * float(np.finfo(dtype or values.dtype).max):
        raise ValueError(
            f"X holds values up to {largest:.1e}, whose squares overflow: rescale X, for example "
            "with sklearn.preprocessing.StandardScaler"
        )


def check_gamma(gamma: Any) -> None:
    """Refuse a text that names no width, where "local" is one."""
    if isinstance(gamma, str) and gamma not in ("local", "scale", "median"):
        raise ValueError(
            f"gamma must be a positive number, 'local', 'scale' or 'median', got {gamma!r}"
        )
