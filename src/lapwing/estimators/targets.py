"""Labels as users give them: which rows are labelled, and what the solvers see.

``None``, NaN and ``pd.NA`` always mean unlabelled; the marker is the user's own way to say it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets


def labelled_rows(y: Any, marker: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return y as an array and the mask of its labelled rows."""
    values = column_or_1d(np.asarray(y, dtype=object) if _is_mixed(y) else y, warn=True)
    if values.dtype == object:
        missing = np.array([_is_missing(v) or _same(v, marker) for v in values], dtype=bool)
        return values, ~missing
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if not _is_missing(marker) and isinstance(marker, str) == (values.dtype.kind in "US"):
        missing |= values == marker
    return values, ~missing


def encode_classes(values: np.ndarray, labelled: np.ndarray, marker: Any) -> np.ndarray:
    """Return the sorted classes of the labelled rows, after refusing what cannot be meant.

    Raises
    ------
    ValueError
        If no row is labelled, if only one class is, or if the labels are exactly −1 and +1
        while −1 is the marker of unlabelled rows.
    """
    present = set(values.tolist()) if values.dtype == object else set(np.unique(values).tolist())
    present = {v for v in present if not _is_missing(v)}
    if _same(-1, marker) and present == {-1, 1}:
        raise ValueError(
            "the labels are exactly -1 and +1, and -1 also marks unlabelled rows, so it is not "
            "known which rows are labelled. If -1 is a class, pass unlabeled=None and mark "
            "unlabelled rows by None or NaN; if -1 means unlabelled, only one class is labelled: "
            "at least two classes are needed"
        )
    if not labelled.any():
        raise ValueError(
            "no row is labelled: give the label of at least one row of each class "
            f"(rows with {marker!r}, None or NaN count as unlabelled)"
        )
    known = values[labelled]
    if known.dtype == object:
        texts = [isinstance(v, str) for v in known.tolist()]
        if any(texts) and not all(texts):
            kinds = sorted({type(v).__name__ for v in known.tolist()})
            raise ValueError(f"labels mix types ({', '.join(kinds)}): use one type for all classes")
        known = np.array(known.tolist())
    check_classification_targets(known)
    classes = np.unique(known)
    if len(classes) < 2:
        raise ValueError(
            f"only one class ({classes[0]!r}) is labelled: a classifier needs labelled rows of at "
            "least two classes"
        )
    return classes


def one_vs_rest(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return ±1 targets, one column for two classes and one per class for more."""
    if len(classes) == 2:
        return np.where(values == classes[1], 1.0, -1.0)[:, None]
    return np.where(values[:, None] == classes[None, :], 1.0, -1.0)


def numeric_targets(y: Any, marker: Any) -> np.ndarray:
    """Return targets as floats, unlabelled rows as NaN; refuse infinite ones."""
    values, labelled = labelled_rows(y, marker)
    numbers = np.full(len(values), np.nan)
    try:
        numbers[labelled] = column_or_1d(values[labelled]).astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError("y must hold numbers; mark rows without a target by NaN") from error
    if np.isinf(numbers).any():
        raise ValueError("y contains infinity: targets must be finite, or NaN where unknown")
    return numbers


def _is_mixed(y: Any) -> bool:
    """Return whether y may hold None, pd.NA or several types, which numpy would turn into text."""
    if hasattr(y, "dtype") and not hasattr(y, "isna"):
        return y.dtype == object
    if hasattr(y, "isna"):
        return True
    if not isinstance(y, (list, tuple)):
        return False
    texts = [isinstance(v, str) for v in y]
    return any(v is None for v in y) or (any(texts) and not all(texts))


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _same(value: Any, marker: Any) -> bool:
    if _is_missing(marker) or isinstance(value, str) != isinstance(marker, str):
        return False
    return bool(value == marker)
