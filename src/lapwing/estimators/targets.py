"""Labels as users give them: which rows are labelled, and the targets that solvers fit.

``None``, NaN and ``pd.NA`` always mean unlabelled; users may choose another marker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ..messages import warn
from .rows import check_weight_range, check_weights

#: Smallest deviation of quantities from their level whose square is a normal number.
_LEAST_SPREAD = 1e-150
#: Rounding of quantities relative to their deviation at which users are warned.
_FEW_DIGITS = 1e-3


@dataclass(frozen=True)
class Targets:
    """Labels and weights of the training rows, checked.

    Attributes
    ----------
    classes : ndarray or None
        The sorted classes; None where targets are quantities.
    given : ndarray of shape (n,)
        Class codes, -1 for unlabelled rows; or quantities, NaN for rows without one.
    row_weights : ndarray of shape (n,)
        Weights as they were given.
    index : ndarray of int, shape (l,)
        The labelled rows of positive weight.
    values : ndarray of shape (l, c)
        What solvers fit: ±1 for each class against the rest (one column for two classes), or the
        quantities less ``level``, divided by ``scale``.
    weights : ndarray of shape (l,)
        Weights of their losses: that of the row times that of its class.
    level, scale : float
        Weighted mean and standard deviation of the quantities of ``index``. The level is 0 for a
        model without an intercept, the scale is 1 if it would be 0, and classes have 0 and 1.
    """

    MAY_BE_NAN: ClassVar[tuple[str, ...]] = ("given",)

    classes: np.ndarray | None
    given: np.ndarray
    row_weights: np.ndarray
    index: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    level: float = 0.0
    scale: float = 1.0

    def restored(self, values: np.ndarray) -> np.ndarray:
        """Return values of a solver in the units of y: level + scale·values."""
        return values if self.classes is not None else self.level + self.scale * values

    @property
    def labelled(self) -> np.ndarray:
        """Which rows have a label or a target, whatever their weight."""
        return ~np.isnan(self.given) if self.classes is None else self.given >= 0

    @property
    def n_columns(self) -> int:
        """Number of functions that are fitted."""
        return self.values.shape[1]

    @property
    def known(self) -> np.ndarray:
        """Labels or quantities of the rows of ``index``, as users write them."""
        known = self.given[self.index]
        return known if self.classes is None else self.classes[known]

    @property
    def one_hot(self) -> np.ndarray:
        """Indicators of the classes of the rows of ``index``, shape (l, n_classes)."""
        assert self.classes is not None
        return np.eye(len(self.classes))[self.given[self.index]]

    @property
    def weighted_one_hot(self) -> np.ndarray:
        """The indicators times the weights, of which the largest is one."""
        return (self.weights / self.weights.max())[:, None] * self.one_hot

    def with_labels(self, index: Any, y: Any) -> np.ndarray:
        """Return the labels of all rows, some of them new, as a user would pass them to fit."""
        index, y = np.atleast_1d(index), np.atleast_1d(np.asarray(y, dtype=object))
        if index.dtype == bool and len(index) == len(self.given):
            index = np.flatnonzero(index)
        if index.size == 0:  # an empty list is an array of floats
            index = index.astype(int)
        n = len(self.given)
        if index.ndim != 1 or index.dtype.kind not in "iu" or ((index < -n) | (index >= n)).any():
            raise ValueError(
                f"index must hold row numbers of the {n} training rows, got {index.tolist()!r}"
            )
        if y.shape != index.shape:
            raise ValueError(f"index names {len(index)} rows and y holds {y.size} labels")
        if self.classes is None:
            labels = self.given.copy()
            labels[index] = y.astype(float)
            return labels
        labels = self.classes.astype(object)[self.given]
        labels[~self.labelled] = None
        labels[index] = y
        return labels


def class_targets(
    y: Any, X: Any, sample_weight: Any, *, unlabeled: Any, class_weight: Any
) -> Targets:
    """Return the targets of a classifier for checked rows X."""
    values, labelled = labelled_rows(y, unlabeled)
    _check_length(values, X)
    row_weights = check_weights(sample_weight, X)
    classes = encode_classes(values, labelled, unlabeled)
    given = np.full(len(values), -1)
    given[labelled] = np.searchsorted(classes, values[labelled].astype(classes.dtype))
    of_class = np.ones(len(classes))
    if class_weight is not None:
        of_class = compute_class_weight(class_weight, classes=classes, y=classes[given[labelled]])
    weights = row_weights[labelled] * of_class[given[labelled]]
    check_weight_range("the product of sample_weight and class_weight", weights)
    index, weights = np.flatnonzero(labelled)[weights > 0], weights[weights > 0]
    if len(np.unique(given[index])) < 2:
        raise ValueError(
            "fewer than two classes have a labelled row of positive weight: a classifier needs at "
            "least two classes"
        )
    signs = np.where(given[index][:, None] == np.arange(len(classes)), 1.0, -1.0)
    signs = signs[:, 1:] if len(classes) == 2 else signs
    return Targets(classes, given, row_weights, index, signs, weights)


def quantity_targets(
    y: Any, X: Any, sample_weight: Any, *, unlabeled: Any, centred: bool
) -> Targets:
    """Return the targets of a regressor for checked rows X.

    Solvers get them with mean zero, if ``centred``, and standard deviation one. What they compute
    is then the same for y and for a·y + b, whatever the level and the unit of y.
    """
    given = numeric_targets(y, unlabeled)
    _check_length(given, X)
    row_weights = check_weights(sample_weight, X)
    index = np.flatnonzero(~np.isnan(given) & (row_weights > 0))
    if len(index) == 0:
        raise ValueError(
            "no row has a target and a positive weight: give the target of at least one row"
        )
    known, weights = given[index], row_weights[index]
    level, scale = _level_and_scale(known, weights, centred=centred)
    values = ((known - level) / scale)[:, None]
    return Targets(None, given, row_weights, index, values, weights, level, scale)


def _level_and_scale(
    known: np.ndarray, weights: np.ndarray, *, centred: bool
) -> tuple[float, float]:
    """Return the level and the scale of quantities, see `Targets`."""
    weights = weights / weights.max()
    weights = weights / weights.sum()
    lowest = float(known.min())
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        # Differences from one of them: equal targets have exactly this level.
        level = lowest + float(weights @ (known - lowest)) if centred else 0.0
        largest = float(np.abs(known - level).max())
    if largest == 0.0:
        return level, 1.0
    if not _LEAST_SPREAD <= largest <= 1.0 / _LEAST_SPREAD:
        raise ValueError(
            f"the targets in y range from {lowest:.1e} to {known.max():.1e}, and squares of their "
            "differences are outside the range of double precision: rescale y"
        )
    scale = largest * float(np.sqrt(weights @ ((known - level) / largest) ** 2))
    size = float(np.abs(known).max())
    if centred and np.finfo(float).eps * size > _FEW_DIGITS * scale:
        warn(
            f"the targets in y differ by {scale:.1e} around {level:.6g}, and double precision "
            "keeps less than three digits of that: subtract a constant before y is rounded"
        )
    return level, scale


def _check_length(values: np.ndarray, X: Any) -> None:
    if len(values) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y has {len(values)}")


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
    """Return the sorted classes of the labelled rows, after refusing labels that are ambiguous.

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
            names = sorted({type(v).__name__ for v in known.tolist()})
            raise ValueError(f"labels mix types ({', '.join(names)}): use one type for all classes")
    known = plain_labels(known)
    check_classification_targets(known)
    classes = np.unique(known)
    if len(classes) < 2:
        raise ValueError(
            f"only one class ({classes.tolist()[0]!r}) is labelled: a classifier needs labelled "
            "rows of at least two classes"
        )
    return classes


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
