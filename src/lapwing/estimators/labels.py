"""Labels as users give them: which rows are labelled, and what may be a class.

``None``, NaN and ``pd.NA`` always mean unlabelled; users may choose another marker. A class that
looks like the marker is refused, because rows would silently be labelled that should not be. Knows
neither rows nor weights.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets

from ..messages import warn

#: What missing labels become in an array of texts, besides blanks.
_MISSING_TEXTS = ("", "nan", "NaN", "None", "<NA>", "NaT")


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


def labelled_part(
    X: Any, y: Any, marker: Any, **per_row: Any
) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Return the labelled rows, their labels, and what else has an entry per row, for a score.

    Raises
    ------
    ValueError
        If no row is labelled, or if X and y have different lengths.
    """
    X, y = indexable(X, y)
    values, labelled = labelled_rows(y, marker)
    index = np.flatnonzero(labelled)
    if len(index) == 0:
        raise ValueError(
            f"none of the {len(values)} rows to score is labelled, so there is no score: use "
            "LabeledKFold, whose test parts are labelled, or fewer folds"
        )
    if len(index) == len(values):  # X may be large
        return X, plain_labels(values), per_row
    kept = {
        name: _safe_indexing(value, index) if _is_per_row(value, len(values)) else value
        for name, value in per_row.items()
    }
    return _safe_indexing(X, index), plain_labels(values[index]), kept


def encode_classes(values: np.ndarray, labelled: np.ndarray, marker: Any) -> np.ndarray:
    """Return the sorted classes of the labelled rows, after refusing labels that are ambiguous.

    Raises
    ------
    ValueError
        If no row is labelled, if only one class is, if the labels are exactly −1 and +1 while −1
        is the marker of unlabelled rows, or if a class looks like the marker.
    """
    known = values[labelled]
    if are_signs(known, values[~labelled], marker):
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
    classes = np.unique(_class_labels(known))
    _check_ambiguous(classes, marker)
    if len(classes) < 2:
        [label] = classes.tolist()
        hint = "; if -1 is the other class, pass unlabeled=None" if _same(-1, marker) else ""
        raise ValueError(
            f"only one class ({label!r}) is labelled: a classifier needs labelled rows of at least "
            f"two classes{hint if label == 1 else ''}"
        )
    return classes


def are_signs(known: np.ndarray, unlabelled: np.ndarray, marker: Any) -> bool:
    """Return whether labels are exactly −1 and +1, so that −1 may be a class or the marker."""
    return _same(-1, marker) and _are_ones(known) and _has_marker(unlabelled, marker)


def _are_ones(known: np.ndarray) -> bool:
    return len(known) > 0 and bool(np.all(known == 1))


def _has_marker(unlabelled: np.ndarray, marker: Any) -> bool:
    return any(not _is_missing(v) and _same(v, marker) for v in unlabelled.tolist())


def check_new_classes(known: np.ndarray, classes: np.ndarray, marker: Any) -> np.ndarray:
    """Return labels in the type of the classes of the last fit, or in one that holds both.

    Raises
    ------
    ValueError
        If they are of another kind than the classes: texts and numbers, for instance.
    """
    if len(known) == 0:
        return classes[:0]
    known = _class_labels(known)
    kept = known.astype(classes.dtype) if _is_text(known) == _is_text(classes) else None
    if kept is not None and np.array_equal(kept, known):
        known = kept
    elif kept is None or classes.dtype.kind == "b":
        raise ValueError(
            f"the classes are {listed(classes)}, and y holds {known.tolist()[0]!r}, which is of "
            "another type: give labels of the type that fit was given"
        )
    _check_ambiguous(np.setdiff1d(known, classes), marker)
    return known


def _class_labels(known: np.ndarray) -> np.ndarray:
    """Return labels, none of them missing, as numbers or texts; refuse what cannot be classes."""
    if known.dtype == object:
        texts = [isinstance(v, str) for v in known.tolist()]
        if any(texts) and not all(texts):
            names = sorted({type(v).__name__ for v in known.tolist()})
            raise ValueError(f"labels mix types ({', '.join(names)}): use one type for all classes")
    known = plain_labels(known)
    try:
        check_classification_targets(known)
    except ValueError as error:
        raise ValueError(
            f"{error} For quantities there are regressors: SemiSupervisedRegressor, "
            "LapRLSRegressor, LapSVR, LapESVR and PVMRegressor"
        ) from None
    return known


def _check_ambiguous(classes: np.ndarray, marker: Any) -> None:
    """Refuse classes that look like the marker; warn of texts that look like missing labels.

    With a marker that is None or NaN, everything else is a class.
    """
    if _is_missing(marker):
        return
    a_class = "if it is a class, pass unlabeled=None and mark unlabelled rows by None or NaN"
    for label in classes.tolist():
        if _reads_as(label, marker):
            raise ValueError(
                f"{label!r} is a class here, and {marker!r} marks unlabelled rows: if {label!r} "
                f"marks them, pass unlabeled={label!r}, or replace it by None; {a_class}"
            )
        if classes.dtype.kind == "u" and label == _wrapped(marker, classes.dtype):
            raise ValueError(
                f"{label} is a class here, and it is what {marker!r}, which marks unlabelled rows, "
                f"becomes in an array of {classes.dtype}: convert y by astype(int) before rows "
                f"are marked, or pass unlabeled={label}; {a_class}"
            )
    suspicious = [v for v in classes.tolist() if isinstance(v, str) and v.strip() in _MISSING_TEXTS]
    if suspicious:
        names = " and ".join(map(repr, suspicious))
        warn(
            f"{names} counts as a class here, and often means that a label is missing: if it does, "
            f"replace it by None, or pass unlabeled={suspicious[0]!r}; {a_class}"
        )


def _reads_as(label: Any, marker: Any) -> bool:
    """Return whether one is written like the other: "-1" and −1, or "?" and "? "."""
    if isinstance(label, str) and isinstance(marker, str):
        return label.strip() == marker.strip()
    if isinstance(label, str) or isinstance(marker, str):
        try:
            return float(label) == float(marker)
        except (TypeError, ValueError):
            return False
    return False


def _wrapped(marker: Any, dtype: np.dtype) -> int | None:
    """Return what a negative marker becomes in an array of unsigned numbers."""
    if isinstance(marker, Integral) and int(marker) < 0:
        return int(marker) % (int(np.iinfo(dtype).max) + 1)
    return None


def listed(classes: np.ndarray, most: int = 10) -> str:
    """Return the classes as a text for a message, at most ten of them."""
    names = [repr(label) for label in classes[:most].tolist()]
    return ", ".join(names) + (", …" if len(classes) > most else "")


def plain_labels(known: np.ndarray) -> np.ndarray:
    """Return labels, none of them missing, as an array of numbers or texts instead of objects."""
    return np.array(known.tolist()) if known.dtype == object else known


def may_be_classes(known: np.ndarray) -> bool:
    """Return whether labels can be classes at all: texts, truth values or whole numbers."""
    whole = known.dtype.kind == "f" and bool(np.all(known == np.floor(known)))
    return whole or known.dtype.kind in "USbiu"


def look_like_classes(known: np.ndarray) -> bool:
    """Return whether labels are probably classes rather than quantities.

    Texts and truth values are classes. Whole numbers are classes if they occur twice on average or
    more often. Other numbers are quantities.
    """
    if not may_be_classes(known):
        return False
    return known.dtype.kind in "USb" or 2 * len(np.unique(known)) <= len(known)


def _is_per_row(value: Any, n: int) -> bool:
    if isinstance(value, str) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    return (value.shape[0] if hasattr(value, "shape") else len(value)) == n


def _is_text(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "US"


def _is_mixed(y: Any) -> bool:
    """Return whether y may hold None, pd.NA or several types, which numpy would turn into text."""
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind == "O"
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
