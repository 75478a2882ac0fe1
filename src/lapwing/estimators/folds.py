"""Folds of a cross-validation that hides labels and not rows, for estimators that have it built in.

A held-out row stays in the graph as an unlabelled one, just as the unlabelled rows of a fit do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.class_weight import compute_sample_weight

from .targets import Targets

#: Positions among the labelled rows: those whose labels are used, and those held out.
Fold = tuple[np.ndarray, np.ndarray]


def labelled_folds(cv: Any, X: Any, targets: Targets) -> list[Fold]:
    """Return the folds of a number, a splitter or pairs of row indices.

    Parameters
    ----------
    cv : int, splitter or iterable
        A number means stratified folds where targets are classes. A splitter gets the labelled
        rows alone; pairs (train, test) hold indices of rows of X, of which the labelled ones
        count.
    X : array or CSR matrix of shape (n, d)
        All rows.
    targets : Targets
        Their labels.
    """
    index, known = targets.index, targets.known
    if hasattr(cv, "__iter__") and not hasattr(cv, "split"):
        position = np.full(X.shape[0], -1)
        position[index] = np.arange(len(index))
        folds = [tuple(position[part][position[part] >= 0] for part in fold) for fold in cv]
    else:
        splitter = check_cv(cv, known, classifier=targets.classes is not None)
        folds = list(splitter.split(X[index], known))
    if len(folds) == 0 or any(len(train) == 0 or len(test) == 0 for train, test in folds):
        raise ValueError(
            "cv gives no fold, or a fold without a labelled row to learn from or to score: use "
            "fewer folds, or LabeledKFold, or label more rows"
        )
    return folds


def fold_weights(targets: Targets, train: np.ndarray, class_weight: Any) -> np.ndarray:
    """Return the weights of the losses where only the labels of a fold are used.

    Labelled rows of weight zero count in balanced weights, as they do in a fit.
    """
    if not isinstance(class_weight, str):
        return targets.weights[train]
    rows = targets.index[train]
    without_weight = np.setdiff1d(np.flatnonzero(targets.labelled), targets.index)
    codes = targets.given[np.append(rows, without_weight)]
    return targets.row_weights[rows] * compute_sample_weight(class_weight, codes)[: len(rows)]
