"""Cross-validation over the labelled rows, for the tools of scikit-learn.

Those tools take the mark of an unlabelled row for a class: they put such rows into test parts and
count every prediction there as wrong. `LabeledKFold` keeps them out of the test parts and in the
training parts; `labeled_scorer` drops them before a score is taken. Neither knows which
estimator is judged, or how it is fitted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.metadata_routing import get_routing_for_object

from ..estimators.checks import check_count
from ..estimators.targets import encode_classes, labelled_rows

TRAIN_ORDERS = ("mixed", "unlabeled_first", "labeled_first")


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
        How often to do it all, with other folds each time. With few labels one repeat says little.
    stratify : {"auto", True, False}, default="auto"
        Whether each fold gets its share of each class, up to one row. "auto" does so where the
        labels are texts, truth values or whole numbers that occur twice on average or more often;
        other numbers are targets of a regression.
    shuffle : bool, default=True
        Whether to shuffle rows. Without, folds are those of `StratifiedKFold` or `KFold` on the
        labelled rows.
    unlabeled : object, default=-1
        The marker of unlabelled rows; ``None``, NaN and ``pd.NA`` count as unlabelled as well.
        For a regression with targets that may be −1, pass NaN.
    train_order : {"mixed", "unlabeled_first", "labeled_first"}, default="mixed"
        The order of the training rows, for `learning_curve`, which fits to the first so many of
        them. "mixed": any beginning holds the classes and the unlabelled rows in proportion, and
        one row of each class before any other. The others put all unlabelled, or all labelled,
        rows first, so that the curve shows what more labels, or more unlabelled rows, add.
        Labelled rows are mixed by class in each case.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling.

    Notes
    -----
    `cross_val_predict` wants each row in one test part and refuses this splitter. Scores of
    training parts (``return_train_score``, the first curve of `learning_curve`) do meet unlabelled
    rows: use `labeled_scorer` for them.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.selection import LabeledKFold
    >>> y = np.array([0, -1, 1, -1, 1, 0, -1, -1])
    >>> for train, test in LabeledKFold(2, shuffle=False).split(np.zeros((8, 1)), y):
    ...     print(np.sort(train), test)
    [1 3 4 5 6 7] [0 2]
    [0 1 2 3 6 7] [4 5]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 1,
        stratify: bool | str = "auto",
        shuffle: bool = True,
        unlabeled: Any = -1,
        train_order: str = "mixed",
        random_state: Any = 0,
    ) -> None:
        check_count("n_splits", n_splits, lowest=2)
        check_count("n_repeats", n_repeats)
        if not (isinstance(stratify, (bool, np.bool_)) or stratify == "auto"):
            raise ValueError(f'stratify must be True, False or "auto", got {stratify!r}')
        if not isinstance(shuffle, (bool, np.bool_)):
            raise ValueError(f"shuffle must be True or False, got {shuffle!r}")
        if n_repeats > 1 and not shuffle:
            raise ValueError(
                f"n_repeats={n_repeats} without shuffling gives the same folds {n_repeats} times: "
                "pass shuffle=True or n_repeats=1"
            )
        if train_order not in TRAIN_ORDERS:
            names = ", ".join(repr(name) for name in TRAIN_ORDERS)
            raise ValueError(f"train_order must be one of {names}, got {train_order!r}")
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.stratify = stratify
        self.shuffle = shuffle
        self.unlabeled = unlabeled
        self.train_order = train_order
        self.random_state = random_state

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
            All rows. Only their number is looked at.
        y : array-like of shape (n,)
            Labels or targets, with the marks of unlabelled rows.
        groups : None
            Not used; a warning is given if there are any.

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
            warnings.warn(
                "LabeledKFold ignores groups: rows of one group may lie in both parts. Split by "
                "groups with GroupKFold, and score with labeled_scorer",
                UserWarning,
                stacklevel=2,
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
            # Classes are numbered as they appear, so that renaming them changes nothing.
            _, first, codes = np.unique(known, return_index=True, return_inverse=True)
            code[labelled] = np.argsort(np.argsort(first))[codes]
            self._warn_of_small_classes(classes, np.bincount(codes))
        return self._parts(code)

    def _classes(self, values: np.ndarray, labelled: np.ndarray) -> np.ndarray | None:
        """Return the classes of the labelled rows, or None where folds are not stratified."""
        known = _plain(values[labelled])
        kind = known.dtype.kind
        discrete = kind in "USbiu" or (kind == "f" and bool(np.all(known == np.floor(known))))
        missing = ~labelled_rows(values, None)[1]
        if not discrete and missing.any() and (~labelled & ~missing).any():
            raise ValueError(
                f"y holds fractions, {self.unlabeled!r} and NaN (or None): it is not known whether "
                f"{self.unlabeled!r} is a target or marks an unlabelled row. If it is a target, "
                "pass unlabeled=np.nan; if it is a mark, use NaN for all unlabelled rows"
            )
        if not discrete:
            if self.stratify not in ("auto", False):
                raise ValueError(
                    "stratify=True needs classes, and y holds fractions: pass "
                    'stratify="auto" or False for a regression'
                )
            return None
        n_values = len(np.unique(known))
        counts = kind in "iuf" and 2 * n_values > len(known)  # of a regression, it seems
        if n_values > 1 and (not self.stratify or (self.stratify == "auto" and counts)):
            return None
        return encode_classes(values, labelled, self.unlabeled)  # refuses a single class

    def _warn_of_small_classes(self, classes: np.ndarray, sizes: np.ndarray) -> None:
        small = np.flatnonzero(sizes < self.n_splits)
        if len(small) == 0:
            return
        names = ", ".join(f"{classes[c].item()!r} ({sizes[c]})" for c in small)
        message = (
            f"classes with fewer labelled rows than n_splits={self.n_splits}: {names}. Some test "
            "parts hold no row of them"
        )
        if sizes.min() == 1:
            message += ", and where the only row of a class is tested, none is left to learn from"
        warnings.warn(message, UserWarning, stacklevel=3)

    def _parts(self, code: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the parts, given the class of each labelled row, and −1 for the others."""
        rng = check_random_state(self.random_state)
        for _ in range(self.n_repeats):
            fold = self._assign_folds(code, rng)
            rows = rng.permutation(len(code)) if self.shuffle else np.arange(len(code))
            for k in range(self.n_splits):
                train = rows[fold[rows] != k]
                yield train[_order(code[train], self.train_order)], np.flatnonzero(fold == k)

    def _assign_folds(self, code: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Return the fold of each labelled row, and −1 for the others.

        Places are dealt to the rows sorted by class, so that each class and the whole are spread
        evenly, up to one row; within a class they keep the order of the rows, or are shuffled.
        """
        sizes = np.bincount(code[code >= 0])
        order = rng.permutation(len(sizes)) if self.shuffle else np.arange(len(sizes))
        fold = np.full(len(code), -1)
        dealt = 0
        for c in order:
            places = np.sort((dealt + np.arange(sizes[c])) % self.n_splits)
            dealt += sizes[c]
            if self.shuffle:
                rng.shuffle(places)
            fold[code == c] = places
        return fold


def labeled_scorer(scoring: str | Callable[..., float], *, unlabeled: Any = -1) -> LabeledScorer:
    """Return a scorer that leaves unlabelled rows out.

    For parts that may hold unlabelled rows: test parts of `KFold`, `GroupKFold` and other splitters
    that know nothing of them, and training parts, as in `learning_curve`.

    Parameters
    ----------
    scoring : str or callable
        A name that scikit-learn knows, such as "accuracy", or a function
        ``scorer(estimator, X, y)``. For several scores make one such scorer each:
        ``{"accuracy": labeled_scorer("accuracy"), "f1": labeled_scorer("f1_macro")}``.
    unlabeled : object, default=-1
        The marker of unlabelled rows; ``None``, NaN and ``pd.NA`` count as unlabelled as well.

    Returns
    -------
    LabeledScorer
        For ``scoring=``. It raises ValueError where no row is labelled, which scikit-learn turns
        into ``error_score`` and a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapSVC
    >>> from lapwing.selection import labeled_scorer
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> y = np.array([0, -1, -1, 1, -1, -1])
    >>> model = LapSVC().fit(X, y)
    >>> round(model.score(X, y), 2), labeled_scorer("accuracy")(model, X, y)
    (0.33, 1.0)
    """
    if not (isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            'scoring must be a name such as "accuracy" or a function scorer(estimator, X, y), got '
            f"{scoring!r}; for several scores pass a dict of such scorers to scikit-learn"
        )
    return LabeledScorer(check_scoring(scoring=scoring), unlabeled)


class LabeledScorer:
    """What `labeled_scorer` returns: called with an estimator, rows and labels, gives a number."""

    def __init__(self, scorer: Callable[..., float], unlabeled: Any = -1) -> None:
        self.scorer = scorer
        self.unlabeled = unlabeled

    def __repr__(self) -> str:
        return f"labeled_scorer({self.scorer!r}, unlabeled={self.unlabeled!r})"

    def __call__(self, estimator: Any, X: Any, y: Any, **parameters: Any) -> float:
        """Return the score of the labelled rows; of parameters with as many rows, these rows."""
        X, y = indexable(X, y)
        values, labelled = labelled_rows(y, self.unlabeled)
        index = np.flatnonzero(labelled)
        if len(index) == 0:
            raise ValueError(
                f"none of the {len(values)} rows to score is labelled, so there is no score: use "
                "LabeledKFold, whose test parts are labelled, or fewer folds"
            )
        if hasattr(estimator, "unlabeled"):
            own = labelled_rows(y, estimator.unlabeled)[1]
            if not np.array_equal(own, labelled):
                raise ValueError(
                    f"the estimator marks unlabelled rows by {estimator.unlabeled!r} and this "
                    f"scorer by {self.unlabeled!r}, and y holds a row on which they differ: pass "
                    f"labeled_scorer(..., unlabeled={estimator.unlabeled!r})"
                )
        learnt = getattr(estimator, "classes_", ())
        if isinstance(learnt, np.ndarray) and not labelled_rows(learnt, self.unlabeled)[1].all():
            raise ValueError(
                f"the estimator has learnt {self.unlabeled!r} as a class, which marks unlabelled "
                "rows here: use an estimator that understands unlabelled rows, or, if it is a "
                "class, another marker, as in labeled_scorer(..., unlabeled=None)"
            )
        kept = {
            name: _safe_indexing(value, index) if _is_per_row(value, len(values)) else value
            for name, value in parameters.items()
        }
        return self.scorer(estimator, _safe_indexing(X, index), _plain(values[index]), **kept)

    def get_metadata_routing(self) -> Any:
        """Return what the scorer inside asks scikit-learn for, such as weights."""
        return get_routing_for_object(self.scorer)

    def _accept_sample_weight(self) -> bool:
        """Say whether weights can be passed; scikit-learn asks where metadata are not routed."""
        if hasattr(self.scorer, "_accept_sample_weight"):
            return bool(self.scorer._accept_sample_weight())
        return "sample_weight" in signature(self.scorer).parameters


def _order(groups: np.ndarray, train_order: str) -> np.ndarray:
    """Return the order in which groups are mixed in proportion; −1 is the unlabelled group.

    The r-th of the m rows of a group goes to the place r/m of the whole. So a beginning of k of n
    rows holds fewer than k·m/n + 1 of them.
    """
    unlabelled = groups < 0
    groups = np.where(unlabelled, groups.max() + 1, groups)  # last where places are equal
    sizes = np.bincount(groups)
    by_group = np.argsort(groups, kind="stable")
    rank = np.empty(len(groups), dtype=int)
    rank[by_group] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = rank / sizes[groups]
    if train_order == "mixed":
        return np.lexsort((groups, place))
    late = unlabelled if train_order == "labeled_first" else ~unlabelled
    return np.lexsort((groups, place, late))


def _plain(values: np.ndarray) -> np.ndarray:
    """Return known labels as an array of numbers or texts where they are objects."""
    return np.array(values.tolist()) if values.dtype == object else values


def _is_per_row(value: Any, n: int) -> bool:
    if isinstance(value, str) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    return (value.shape[0] if hasattr(value, "shape") else len(value)) == n
