"""Folds over the labelled rows, for the tools of scikit-learn.

Those tools treat the marker of unlabelled rows as a class: they put such rows into test parts and
count every prediction there as wrong. `LabeledKFold` keeps them in the training parts and out of
the test parts. It does not know which estimator is evaluated, or how it is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state, indexable

from ..estimators.labels import (
    encode_classes,
    labelled_rows,
    look_like_classes,
    may_be_classes,
    plain_labels,
)
from ..estimators.parameters import check_choice, check_count, draw_seed
from ..messages import warn

TRAIN_ORDERS = ("mixed", "unlabeled_first", "labeled_first")


@dataclass(repr=False, eq=False)
class LabeledKFold(BaseCrossValidator):
    """K folds over the labelled rows; unlabelled rows are in every training part.

    A splitter for ``cv=`` of `GridSearchCV`, `cross_val_score`, `learning_curve` and the like, with
    any estimator that understands unlabelled rows, those of scikit-learn included. Each labelled
    row is in exactly one test part of a repeat, and no unlabelled row is in any. Rows of the test
    part are absent from the training part altogether, so the score is that of new rows.

    Parameters
    ----------
    n_splits : int, default=5
        Folds, at least 2 and at most the number of labelled rows.
    n_repeats : int, default=1
        Number of repeats, each with other folds. With few labels one repeat is a noisy estimate.
    stratify : {"auto", True, False}, default="auto"
        Whether each fold gets its share of each class, up to one row. "auto" stratifies where the
        labels are texts, truth values or whole numbers that occur twice on average or more often;
        other numbers are taken for the targets of a regression.
    shuffle : bool, default=True
        Whether to shuffle the rows. If not, folds are those of `StratifiedKFold` or `KFold` on the
        labelled rows.
    unlabeled : object, default=-1
        Marker of unlabelled rows in y; None, NaN and pd.NA always count as unlabelled. For a
        regression with targets that may be −1, pass NaN.
    train_order : {"mixed", "unlabeled_first", "labeled_first"}, default="mixed"
        The order of the training rows, for `learning_curve`, which fits to the first rows of a
        training part. "mixed": the first rows contain the classes and the unlabelled rows in
        proportion, starting with one row of each class. The others put all unlabelled, or all
        labelled, rows first, so that the curve shows what more labels, or more unlabelled rows,
        add. Labelled rows are mixed by class in each case.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling.

    Notes
    -----
    `cross_val_predict` needs each row in one test part and refuses this splitter. Scores of
    training parts (``return_train_score``, the first curve of `learning_curve`) include unlabelled
    rows: use `labeled_scorer` for them.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.model_selection import LabeledKFold
    >>> y = np.array([0, -1, 1, -1, 1, 0, -1, -1])
    >>> for train, test in LabeledKFold(2, shuffle=False).split(np.zeros((8, 1)), y):
    ...     print(np.sort(train), test)
    [1 3 4 5 6 7] [0 2]
    [0 1 2 3 6 7] [4 5]
    """

    n_splits: int = 5
    _: KW_ONLY
    n_repeats: int = 1
    stratify: bool | str = "auto"
    shuffle: bool = True
    unlabeled: Any = -1
    train_order: str = "mixed"
    random_state: Any = 0

    def __post_init__(self) -> None:
        check_count("n_splits", self.n_splits, lowest=2)
        check_count("n_repeats", self.n_repeats)
        if not (isinstance(self.stratify, (bool, np.bool_)) or self.stratify == "auto"):
            raise ValueError(f'stratify must be True, False or "auto", got {self.stratify!r}')
        if not isinstance(self.shuffle, (bool, np.bool_)):
            raise ValueError(f"shuffle must be True or False, got {self.shuffle!r}")
        if self.n_repeats > 1 and not self.shuffle:
            raise ValueError(
                f"n_repeats={self.n_repeats} without shuffling gives the same folds "
                f"{self.n_repeats} times: pass shuffle=True or n_repeats=1"
            )
        check_choice("train_order", self.train_order, TRAIN_ORDERS)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of pairs that `split` yields; the arguments are ignored."""
        return int(self.n_splits * self.n_repeats)

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the indices of the training rows and of the test rows, fold by fold.

        Parameters
        ----------
        X : array-like of shape (n, d)
            All rows. Only their number is used.
        y : array-like of shape (n,)
            Labels or targets, with the markers of unlabelled rows.
        groups : None
            Not used; a warning is issued if it is given.

        Yields
        ------
        train, test : ndarray of int
            Training rows in the order of ``train_order``; test rows in ascending order.
        """
        if y is None:
            raise ValueError(
                "LabeledKFold needs y to know which rows are labelled: pass it, as in "
                "split(X, y) or cross_val_score(model, X, y, cv=LabeledKFold())"
            )
        if groups is not None:
            warn(
                "LabeledKFold ignores groups: rows of one group may lie in both parts. Split by "
                "groups with GroupKFold, and score with labeled_scorer"
            )
        _, y = indexable(X, y)
        values, labelled = labelled_rows(y, self.unlabeled)
        n_labelled = int(labelled.sum())
        if n_labelled == 0:
            raise ValueError(
                "no row is labelled, so there is nothing to test on "
                f"(rows with {self.unlabeled!r}, None or NaN count as unlabelled)"
            )
        if n_labelled < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} folds need as many labelled rows, and y has "
                f"{n_labelled} (rows with {self.unlabeled!r}, None or NaN count as unlabelled): "
                "lower n_splits or label more rows"
            )
        classes = self._classes(values, labelled)
        code = np.full(len(values), -1)  # the class of a labelled row
        code[labelled] = 0
        if classes is not None:
            known = values[labelled].astype(classes.dtype)
            # Classes are numbered in the order of appearance, so that their names do not matter.
            _, first, codes = np.unique(known, return_index=True, return_inverse=True)
            code[labelled] = np.argsort(np.argsort(first))[codes]
            self._warn_of_small_classes(classes, np.bincount(codes))
        return self._parts(code)

    def _classes(self, values: np.ndarray, labelled: np.ndarray) -> np.ndarray | None:
        """Return the classes of the labelled rows, or None where folds are not stratified."""
        known = plain_labels(values[labelled])
        discrete, missing = may_be_classes(known), ~labelled_rows(values, None)[1]
        if not discrete and missing.any() and (~labelled & ~missing).any():
            raise ValueError(
                f"y contains fractions, {self.unlabeled!r} and NaN (or None): it is not known "
                f"whether {self.unlabeled!r} is a target or marks an unlabelled row. If it is a "
                "target, pass unlabeled=np.nan; if it is a marker, use NaN for all unlabelled rows"
            )
        if not discrete and self.stratify not in ("auto", False):
            raise ValueError(
                "stratify=True needs classes, and y contains fractions: pass "
                'stratify="auto" or False for a regression'
            )
        several = len(np.unique(known)) > 1
        stratified = look_like_classes(known) if self.stratify == "auto" else bool(self.stratify)
        if not discrete or (several and not stratified):
            return None
        return encode_classes(values, labelled, self.unlabeled)  # refuses a single class

    def _warn_of_small_classes(self, classes: np.ndarray, sizes: np.ndarray) -> None:
        small = np.flatnonzero(sizes < self.n_splits)
        if len(small) == 0:
            return
        names = ", ".join(f"{classes[c].item()!r} ({sizes[c]})" for c in small)
        message = (
            f"classes with fewer labelled rows than n_splits={self.n_splits}: {names}. Some test "
            "parts contain no row of them"
        )
        if sizes.min() == 1:
            message += ", and where the only row of a class is tested, none is left to learn from"
        warn(message)

    def _parts(self, code: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the parts, given the class of each labelled row, and −1 for the others."""
        seed = self.random_state
        rng = check_random_state(draw_seed(seed) if isinstance(seed, np.random.Generator) else seed)
        for _ in range(self.n_repeats):
            fold = self._assign_folds(code, rng)
            rows = rng.permutation(len(code)) if self.shuffle else np.arange(len(code))
            for k in range(self.n_splits):
                train = rows[fold[rows] != k]
                yield train[_order(code[train], self.train_order)], np.flatnonzero(fold == k)

    def _assign_folds(self, code: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Return the fold of each labelled row, and −1 for the others.

        Folds are assigned in turn to the rows sorted by class, so that each class and all rows
        together are spread evenly, up to one row; within a class they keep the order of the rows,
        or are shuffled. `StratifiedKFold` does the same, but refuses folds without a class.
        """
        sizes = np.bincount(code[code >= 0])
        order = rng.permutation(len(sizes)) if self.shuffle else np.arange(len(sizes))
        fold = np.full(len(code), -1)
        assigned = 0
        for c in order:
            of_class = np.sort((assigned + np.arange(sizes[c])) % self.n_splits)
            assigned += sizes[c]
            if self.shuffle:
                rng.shuffle(of_class)
            fold[code == c] = of_class
        return fold


def _order(groups: np.ndarray, train_order: str) -> np.ndarray:
    """Return the order in which groups are mixed in proportion; −1 is the unlabelled group.

    The r-th of the m rows of a group has the position r/m in the whole. So the first k of n rows
    contain fewer than k·m/n + 1 of them.
    """
    unlabelled = groups < 0
    groups = np.where(unlabelled, groups.max() + 1, groups)  # last where positions are equal
    sizes = np.bincount(groups)
    by_group = np.argsort(groups, kind="stable")
    rank = np.empty(len(groups), dtype=int)
    rank[by_group] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    position = rank / sizes[groups]
    if train_order == "mixed":
        return np.lexsort((groups, position))
    late = unlabelled if train_order == "labeled_first" else ~unlabelled
    return np.lexsort((groups, position, late))
