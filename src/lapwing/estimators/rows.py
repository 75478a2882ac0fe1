"""Rows as users give them: checked as scikit-learn does, without changing the estimator."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..arrays.blocks import without_repeats
from ..graphs.neighbors import LARGEST_VALUE

FLOATS = (np.float64, np.float32)
#: Smallest positive weight of a row; the largest is its reciprocal. Squares of ratios are finite.
_LEAST_WEIGHT = 1e-75


@dataclass(frozen=True)
class Rows:
    """Checked training rows, with the number and the names of their columns.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows, or their Gram matrix.
    n_features : int
        d.
    names : ndarray of str or None
        Names of the columns, where they have any.
    """

    X: Any
    n_features: int
    names: np.ndarray | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes that scikit-learn reads."""
        named = {} if self.names is None else {"feature_names_in_": self.names}
        return {"n_features_in_": self.n_features, **named}

    def check_like(self, model: Any, X: Any, *, dtype: Any = FLOATS, least: int = 1) -> Any:
        """Return other rows, checked for the same columns before the model is fitted."""
        probe = copy.copy(model)
        for name, value in self.attributes.items():
            setattr(probe, name, value)
        return check_new_rows(probe, X, dtype=dtype, least=least)


def check_rows(model: Any, X: Any, *, least: int = 2, dtype: Any = FLOATS) -> Rows:
    """Return training rows, an array or a CSR matrix without repeated entries.

    The estimator is not changed: a fit that fails later leaves no trace.
    """
    probe = copy.copy(model)
    X = _validated(probe, X, reset=True, least=least, dtype=dtype)
    if get_tags(model).input_tags.pairwise and X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed kernel must be a square matrix, got shape {X.shape}")
    return Rows(X, probe.n_features_in_, getattr(probe, "feature_names_in_", None))


def check_new_rows(model: Any, X: Any, *, dtype: Any = FLOATS, least: int = 1) -> Any:
    """Return rows to predict, which must have the columns of the training rows."""
    return _validated(model, X, reset=False, least=least, dtype=dtype)


def _validated(model: Any, X: Any, *, reset: bool, least: int, dtype: Any) -> Any:
    X = validate_data(
        model,
        X,
        accept_sparse="csr" if get_tags(model).input_tags.sparse else False,
        dtype=dtype if isinstance(dtype, str) else list(dtype),
        reset=reset,
        ensure_min_samples=least,
    )
    return without_repeats(X)


def check_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Return one weight per row, zero or of a size with which solvers can compute."""
    try:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold one finite number per row: {error}") from error
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative")
    check_weight_range("sample_weight", weights)
    return weights


def check_weight_range(name: str, weights: np.ndarray) -> None:
    """Refuse positive weights whose squares or reciprocals would overflow in a solver."""
    extreme = weights[(weights > 0) & ((weights < _LEAST_WEIGHT) | (weights > 1.0 / _LEAST_WEIGHT))]
    if len(extreme):
        raise ValueError(
            f"{name} holds {extreme[0]:.1e}: weights must be zero or between {_LEAST_WEIGHT:.0e} "
            f"and {1.0 / _LEAST_WEIGHT:.0e}. Multiply all of them by one factor, or set those that "
            "should not count to zero"
        )


def check_magnitude(X: Any, dtype: Any) -> None:
    """Refuse rows whose squares overflow in a precision: "own" for theirs, None for no limit."""
    values = X.data if sp.issparse(X) else X
    if dtype is None or values.dtype.kind != "f":
        return
    largest = max(-float(values.min(initial=0.0)), float(values.max(initial=0.0)))
    limit = np.finfo(values.dtype if isinstance(dtype, str) else dtype).max
    if largest > LARGEST_VALUE or largest**2 > 1e-3 * float(limit):
        raise ValueError(
            f"X holds values up to {largest:.1e}, whose squares overflow: rescale X, for example "
            "with sklearn.preprocessing.StandardScaler"
        )
