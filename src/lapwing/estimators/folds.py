"""Folds of a cross-validation that hide labels and not rows, for machines that have it built in."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from .classifier import LabelledData

#: Positions among the labelled rows: those whose labels are used, and those held out.
Fold = tuple[np.ndarray, np.ndarray]


def labelled_folds(cv: Any, data: LabelledData, y: np.ndarray, *, classifier: bool) -> list[Fold]:
    """Return the folds of a number, a splitter or pairs of row numbers.

    Parameters
    ----------
    cv : int, splitter or iterable
        A splitter sees the labelled rows alone; pairs (train, test) hold numbers of rows of X, of
        which the labelled ones count.
    data : LabelledData
        The input of the fit.
    y : array of shape (l,)
        Labels of the labelled rows.
    classifier : bool
        Whether a number of folds means stratified ones.
    """
    if hasattr(cv, "__iter__") and not hasattr(cv, "split"):
        place = np.full(data.X.shape[0], -1)
        place[data.index] = np.arange(len(data.index))
        folds = [tuple(place[part][place[part] >= 0] for part in fold) for fold in cv]
    else:
        folds = list(check_cv(cv, y, classifier=classifier).split(data.X[data.index], y))
    if len(folds) == 0 or any(len(train) == 0 or len(test) == 0 for train, test in folds):
        raise ValueError(
            "cv gives no fold, or one without a labelled row to learn from or to score: use "
            "fewer folds, or LabeledKFold, or label more rows"
        )
    return folds


def fold_weights(
    data: LabelledData, train: np.ndarray, class_weight: Any, dtype: Any
) -> np.ndarray:
    """Return the weights of the losses where the labels of a fold are all there are.

    ``dtype`` is that of the classes. Labelled rows of weight zero count in balanced weights, as
    they do in a fit.
    """
    if not isinstance(class_weight, str):
        return data.weights[train]
    rows = data.index[train]
    seen = np.append(rows, np.setdiff1d(np.flatnonzero(data.labelled), data.index))
    known = data.values[seen].astype(dtype)
    present, place, counts = np.unique(known, return_inverse=True, return_counts=True)
    balanced = len(known) / (len(present) * counts)
    return data.row_weights[rows] * balanced[place[: len(rows)]]
