"""The targets that solvers fit, made of the labels of all rows or of labels that are added later.

Which rows are labelled, and what may be a class, is the matter of `labels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight

from ..arrays.row_units import ORDINARY
from ..messages import warn
from .class_shares import resolve_shares
from .labels import check_new_classes, encode_classes, labelled_rows, listed
from .rows import check_weight_range, check_weights, refuse_zero_weights

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
    shares : ndarray of shape (n_classes,) or None
        Expected shares of the classes among the unlabelled rows; None where they are not known.
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
    shares: np.ndarray | None = None

    def restored(self, values: np.ndarray) -> np.ndarray:
        """Return values of a solver in the units of y: level + scale·values."""
        return values if self.classes is not None else self.level + self.scale * values

    def without_unit(self, name: str, value: float) -> float:
        """Return a parameter that is in units of y as a pure number, or refuse it by name."""
        number = float(value) / self.scale
        if number != 0 and not ORDINARY[0] <= number <= ORDINARY[1]:
            raise ValueError(
                f"{name}={value!r} is in units of y, whose spread is {self.scale:.1e}: choose a "
                "value closer to it"
            )
        return number

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


def class_targets(
    y: Any,
    X: Any,
    sample_weight: Any,
    *,
    unlabeled: Any,
    class_weight: Any,
    class_shares: Any = None,
) -> Targets:
    """Return the targets of a classifier for checked rows X."""
    values, labelled = labelled_rows(y, unlabeled)
    _check_length(values, X)
    row_weights = check_weights(sample_weight, X)
    if labelled.any() and not row_weights[labelled].any():
        refuse_zero_weights()
    classes = encode_classes(values, labelled, unlabeled)
    given = np.full(len(values), -1)
    given[labelled] = np.searchsorted(classes, values[labelled].astype(classes.dtype))
    return _coded_targets(classes, given, row_weights, class_weight, class_shares)


def _coded_targets(
    classes: np.ndarray,
    given: np.ndarray,
    row_weights: np.ndarray,
    class_weight: Any,
    class_shares: Any,
) -> Targets:
    """Return the targets of class codes, −1 for unlabelled rows; every class has a labelled row."""
    labelled = given >= 0
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
    counts = np.bincount(given[index], minlength=len(classes))
    shares = resolve_shares(class_shares, classes, counts)
    return Targets(classes, given, row_weights, index, signs, weights, shares=shares)


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
    labelled = ~np.isnan(given)
    if not labelled.any():
        raise ValueError("no row has a target: give the target of at least one row")
    if not row_weights[labelled].any():
        refuse_zero_weights()
    index = np.flatnonzero(labelled & (row_weights > 0))
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
        raise ValueError(
            f"X has {X.shape[0]} rows and y has {len(values)}: give one label or target per "
            "row, the marker for rows that have none"
        )


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


def relabelled_quantities(
    targets: Targets, index: Any, y: Any, X: Any, *, unlabeled: Any, centred: bool
) -> Targets:
    """Return the targets of a regressor after some rows were given other quantities, or none.

    Parameters
    ----------
    targets : Targets
        Those of the last fit.
    index : array of int or bool
        Rows, as numbers or as a mask of all rows.
    y : array of the same length
        Their quantities; ``unlabeled``, None, NaN and ``pd.NA`` remove what they had.
    X : array or CSR matrix
        All rows.
    unlabeled : object
        Parameter of the estimator.
    centred : bool
        Whether the model has an intercept, see `quantity_targets`.
    """
    rows, given = _row_numbers(index, len(targets.given)), targets.given.copy()
    given[rows] = _one_for_each(rows, numeric_targets(_column(y), unlabeled))
    return quantity_targets(given, X, targets.row_weights, unlabeled=np.nan, centred=centred)


def relabelled_classes(
    targets: Targets,
    index: Any,
    y: Any,
    *,
    unlabeled: Any,
    class_weight: Any,
    class_shares: Any = None,
) -> Targets:
    """Return the targets of a classifier after some rows were given other labels, or none.

    The parameters are those of `relabelled_quantities`, and ``class_weight`` and ``class_shares``
    of the estimator.
    """
    assert targets.classes is not None
    rows, given = _row_numbers(index, len(targets.given)), targets.given.copy()
    values, labelled = labelled_rows(_column(y), unlabeled)
    known = check_new_classes(values[labelled], targets.classes, unlabeled)
    classes = np.unique(np.concatenate([targets.classes, known]))
    codes = np.full(len(values), -1)
    codes[labelled] = np.searchsorted(classes, known)
    given[given >= 0] = np.searchsorted(classes, targets.classes)[given[given >= 0]]
    given[rows] = _one_for_each(rows, codes)
    used = np.unique(given[given >= 0])
    if len(used) < 2:
        left = f"only {listed(classes[used])}" if len(used) else "none"
        raise ValueError(
            f"of the classes {listed(targets.classes)}, {left} would still be labelled: a "
            "classifier needs labelled rows of at least two classes"
        )
    given[given >= 0] = np.searchsorted(used, given[given >= 0])
    return _coded_targets(classes[used], given, targets.row_weights, class_weight, class_shares)


def _column(y: Any) -> Any:
    """Return labels of several rows, also where a user gives the label of one row as it is."""
    return y if np.ndim(y) > 0 else [y]


def _row_numbers(index: Any, n: int) -> np.ndarray:
    """Return numbers from 0 to n − 1 of the rows that a user names."""
    rows = np.atleast_1d(index)
    if rows.dtype == bool and rows.shape == (n,):
        return np.flatnonzero(rows)
    if rows.size == 0:  # an empty list is an array of floats
        rows = rows.astype(int)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or ((rows < -n) | (rows >= n)).any():
        raise ValueError(
            f"index must hold row numbers of the {n} training rows, got {rows.tolist()!r}"
        )
    return rows.astype(np.int64) % n


def _one_for_each(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values of the rows, if each row has one."""
    if len(values) != len(rows):
        raise ValueError(
            f"index names {len(rows)} rows and y holds {len(values)}: give one label per row"
        )
    _, first, number = np.unique(rows, return_index=True, return_inverse=True)
    expected = values[first][number]
    different = (values != expected) & ~(np.isnan(values) & np.isnan(expected))
    if different.any():
        raise ValueError(
            f"index names row {rows[different][0]} more than once, with different labels in y: "
            "give each row once"
        )
    return values
