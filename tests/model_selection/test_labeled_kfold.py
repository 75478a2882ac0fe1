"""LabeledKFold and labeled_scorer: the parts by their properties, and inside scikit-learn."""

import pickle
import warnings
from copy import deepcopy
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    check_cv,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

from helpers import data
from lapwing import KNNGraph, LapRLSRegressor, LapSVC
from lapwing.arrays.packing import pack, unpack
from lapwing.model_selection import LabeledKFold, labeled_scorer

moons = partial(data.moons, n=120, n_labelled=24, noise=0.06)


@st.composite
def partly_labelled(draw, smallest=1):
    """Labels of two to four classes, some rows −1, in any order, and a number of folds."""
    n_splits = draw(st.integers(2, 6))
    sizes = draw(st.lists(st.integers(smallest, 12), min_size=2, max_size=4))
    sizes[0] = max(sizes[0], n_splits)  # enough labels for the folds
    n_unlabelled = draw(st.integers(0, 40))
    y = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.full(n_unlabelled, -1)])
    return draw(st.permutations(y.tolist())), n_splits


def quiet_split(cv, y):
    """The parts, without the warning of small classes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "classes with fewer labelled rows")
        return list(cv.split(np.zeros((len(y), 1)), y))


def same_parts(first, second):
    return len(first) == len(second) and all(
        np.array_equal(a, c) and np.array_equal(b, d)
        for (a, b), (c, d) in zip(first, second, strict=True)
    )


few = settings(max_examples=25)
options = st.fixed_dictionaries(
    {
        "n_repeats": st.integers(1, 3),
        "stratify": st.sampled_from(["auto", True, False]),
        "train_order": st.sampled_from(["mixed", "unlabeled_first", "labeled_first"]),
        "random_state": st.integers(0, 99),
    }
)

# ---------------------------------------------------------------- the parts


@few
@given(partly_labelled(), options)
def test_each_labelled_row_is_tested_once_a_repeat_and_no_other_row_is(data, kwargs):
    y, n_splits = np.array(data[0]), data[1]
    cv = LabeledKFold(n_splits, **kwargs)
    parts = quiet_split(cv, y)
    assert len(parts) == cv.get_n_splits() == n_splits * kwargs["n_repeats"]
    for first in range(0, len(parts), n_splits):
        tested = np.concatenate([test for _, test in parts[first : first + n_splits]])
        np.testing.assert_array_equal(np.sort(tested), np.flatnonzero(y != -1))
    for train, test in parts:  # every row is in one of the two, once
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert len(test) > 0
        assert np.isin(np.flatnonzero(y == -1), train).all()


@few
@given(partly_labelled(), options)
def test_folds_are_balanced_within_one(data, kwargs):
    y, n_splits = np.array(data[0]), data[1]
    kwargs["stratify"] = True
    parts = quiet_split(LabeledKFold(n_splits, **kwargs), y)
    for first in range(0, len(parts), n_splits):
        tests = [test for _, test in parts[first : first + n_splits]]
        assert np.ptp([len(test) for test in tests]) <= 1
        for c in np.unique(y[y != -1]):
            assert np.ptp([np.sum(y[test] == c) for test in tests]) <= 1


@pytest.mark.parametrize("stratify", [True, False])
@few
@given(partly_labelled(smallest=6))
def test_without_shuffling_the_folds_are_those_of_scikit_learn(stratify, data):
    y, n_splits = np.array(data[0]), data[1]
    known = np.flatnonzero(y != -1)
    theirs = StratifiedKFold(n_splits) if stratify else KFold(n_splits)
    ours = quiet_split(LabeledKFold(n_splits, stratify=stratify, shuffle=False), y)
    for (_, test), (_, expected) in zip(ours, theirs.split(known, y[known]), strict=True):
        np.testing.assert_array_equal(test, known[expected])


def test_stratification_is_chosen_by_the_labels():
    """Sorted labels without shuffling: only stratified folds contain both ends."""

    def spread(y, **kwargs):
        parts = quiet_split(LabeledKFold(2, shuffle=False, **kwargs), y)
        return [y[test].tolist() for _, test in parts]

    classes = np.array([1, 1, 2, 2, -1])
    assert spread(classes) == spread(classes, stratify=True) == [[1, 2], [1, 2]]
    assert spread(classes, stratify=False) == [[1, 1], [2, 2]]
    assert spread(classes.astype(float)) == [[1, 2], [1, 2]]
    assert spread(np.array(["a", "a", "b", "c", "d"])) == [["a", "b", "d"], ["a", "c"]]
    assert spread(np.array([0.5, 0.5, 1.5, 1.5, np.nan])) == [[0.5, 0.5], [1.5, 1.5]]
    assert spread(np.array([1, 1, 2, 3, 4, 5])) == [[1, 1, 2], [3, 4, 5]]  # counts, not classes
    assert spread(np.array([1, 1, 2, 3, 4, 5]), stratify=True) != [[1, 1, 2], [3, 4, 5]]


@few
@given(partly_labelled(), options)
def test_a_seed_gives_the_same_parts_again(data, kwargs):
    y, n_splits = np.array(data[0]), data[1]
    cv = LabeledKFold(n_splits, **kwargs)
    assert same_parts(quiet_split(cv, y), quiet_split(cv, y))
    assert same_parts(quiet_split(deepcopy(cv), y), quiet_split(pickle.loads(pickle.dumps(cv)), y))


def test_seeds_and_repeats_differ():
    _, y, _ = moons()

    def folds(cv):  # in any order, and without the training parts, which are shuffled as well
        return [frozenset(test.tolist()) for _, test in cv.split(np.zeros(len(y)), y)]

    first, second = np.split(np.array(folds(LabeledKFold(4, n_repeats=2))), 2)
    assert set(first) != set(second)
    assert set(first) == set(folds(LabeledKFold(4, random_state=0)))
    assert set(first) != set(folds(LabeledKFold(4, random_state=1)))
    assert set(first) != set(folds(LabeledKFold(4, shuffle=False)))
    moving = LabeledKFold(4, random_state=np.random.RandomState(0))
    assert set(folds(moving)) != set(folds(moving))


@few
@given(partly_labelled())
def test_other_names_and_markers_give_the_same_parts(data):
    pd = pytest.importorskip("pandas")
    y, n_splits = np.array(data[0]), data[1]
    names = np.array(["z", "b", "y", "a"])
    text = [None if v == -1 else str(names[v]) for v in y]
    expected = quiet_split(LabeledKFold(n_splits, stratify=True), y)
    for marker, labels in [
        (-1, text),
        (None, text),
        ("", ["" if v is None else v for v in text]),
        ("", np.array(["" if v is None else v for v in text])),
        (-1, np.array([-1 if v is None else v for v in text], dtype=object)),
        (np.nan, np.where(y == -1, np.nan, y)),
        (9, np.where(y == -1, 9, y)),
        (-1, pd.Series(y)),
        (-1, pd.Series([pd.NA if v == -1 else v for v in y], dtype="Int64")),
        (-1, pd.Series(text, index=np.arange(len(y))[::-1] + 50, dtype="category")),
    ]:
        parts = quiet_split(LabeledKFold(n_splits, stratify=True, unlabeled=marker), labels)
        assert same_parts(parts, expected)


# ---------------------------------------------------------------- the order of training rows


@few
@given(partly_labelled(), st.booleans())
def test_every_beginning_of_a_mixed_training_part_is_in_proportion(data, shuffle):
    y, n_splits = np.array(data[0]), data[1]
    for train, _ in quiet_split(LabeledKFold(n_splits, stratify=True, shuffle=shuffle), y):
        labels = y[train]
        n_classes = len(np.unique(labels[labels != -1]))
        assert len(np.unique(labels[:n_classes])) == n_classes  # one of each class comes first
        assert -1 not in labels[:n_classes]
        for label in np.unique(labels):
            count = np.cumsum(labels == label)
            share = np.arange(1, len(labels) + 1) * np.mean(labels == label)
            assert (count < share + 1).all()
            assert (count > share - n_classes - 1).all()


@few
@given(partly_labelled())
def test_training_parts_can_begin_with_labelled_or_unlabelled_rows(data):
    y, n_splits = np.array(data[0]), data[1]
    u = np.sum(y == -1)
    mixed = quiet_split(LabeledKFold(n_splits, stratify=True), y)
    for order, labelled in [
        ("unlabeled_first", slice(u, None)),
        ("labeled_first", slice(-u or None)),
    ]:
        parts = quiet_split(LabeledKFold(n_splits, stratify=True, train_order=order), y)
        for (train, test), (usual, same_test) in zip(parts, mixed, strict=True):
            np.testing.assert_array_equal(test, same_test)
            # the labelled rows come together, in the order they have when mixed
            np.testing.assert_array_equal(train[labelled], usual[y[usual] != -1])
            assert np.sum(y[train] == -1) == u


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_splits": 1}, "n_splits must be a whole number of at least 2, got 1"),
        ({"n_splits": 2.5}, "n_splits must be a whole number"),
        ({"n_repeats": 0}, "n_repeats must be a whole number of at least 1"),
        ({"stratify": "yes"}, "stratify must be True, False"),
        ({"shuffle": 1}, "shuffle must be True or False"),
        ({"shuffle": False, "n_repeats": 2}, "same folds 2 times"),
        ({"train_order": "sorted"}, "train_order must be 'mixed', 'unlabeled_first' or"),
    ],
)
def test_bad_parameters_are_refused_at_once(kwargs, message):
    with pytest.raises(ValueError, match=message):
        LabeledKFold(**kwargs)


@pytest.mark.parametrize(
    ("y", "kwargs", "message"),
    [
        (None, {}, "needs y"),
        ([-1] * 8, {}, "no row is labelled"),
        ([None] * 8, {}, "no row is labelled"),
        ([0, 1, 0, 1] + [-1] * 4, {}, "n_splits=5 folds need as many labelled rows, and y has 4"),
        ([-1, 1] * 6, {}, "exactly -1 and \\+1"),
        ([-1, 1] * 6, {"stratify": False}, "exactly -1 and \\+1"),
        ([-1, 1] * 6, {"stratify": True}, "exactly -1 and \\+1"),
        ([-1.0, 1.0, np.nan] * 6, {}, "exactly -1 and \\+1"),
        ([-1, 2] * 6, {}, "only one class"),
        (["a", 1, None] * 4, {}, "labels mix types"),
        ([0.5, 1.5, np.nan] * 4, {"stratify": True}, "stratify=True needs classes"),
        ([0.5, -1.0, np.nan] * 8, {}, "not known whether -1 is a target"),
        (np.zeros((8, 2)), {}, "1d array"),
        ([0, 1, -1], {}, "inconsistent numbers"),
    ],
)
def test_labels_that_cannot_be_split_are_refused(y, kwargs, message):
    n = 8 if y is None or message == "inconsistent numbers" else len(y)
    with pytest.raises(ValueError, match=message):
        LabeledKFold(**kwargs).split(np.zeros((n, 1)), y)


def test_minus_one_is_a_label_where_it_is_no_marker():
    y = np.array([-1.0, 1.0, np.nan] * 6)
    for marker in (None, np.nan):
        parts = quiet_split(LabeledKFold(2, unlabeled=marker), y)
        np.testing.assert_array_equal(
            np.sort(np.concatenate([test for _, test in parts])), np.flatnonzero(~np.isnan(y))
        )


def test_small_classes_get_a_warning():
    y = [0] * 6 + [1] * 2 + [-1] * 3
    with pytest.warns(UserWarning, match=r"fewer labelled rows than n_splits=3: 1 \(2\)\."):
        LabeledKFold(3).split(np.zeros(11), y)
    with pytest.warns(UserWarning, match=r"'b' \(1\)\. .* none is left to learn from"):
        LabeledKFold(3).split(np.zeros(7), ["a"] * 5 + ["b", None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LabeledKFold(2).split(np.zeros(11), y)
        LabeledKFold(3, stratify=False).split(np.zeros(11), y)


def test_groups_are_not_ignored_in_silence():
    _, y, _ = moons()
    with pytest.warns(UserWarning, match="ignores groups"):
        LabeledKFold().split(np.zeros(len(y)), y, groups=y)


# ---------------------------------------------------------------- inside scikit-learn


def test_it_is_a_splitter_of_scikit_learn():
    cv = LabeledKFold(3, n_repeats=2, unlabeled="")
    assert check_cv(cv, classifier=True) is cv
    assert " ".join(repr(cv).split()) == (
        "LabeledKFold(n_repeats=2, n_splits=3, random_state=0, shuffle=True, "
        "stratify='auto', train_order='mixed', unlabeled='')"
    )
    copy = clone(GridSearchCV(LapSVC(), {}, cv=cv)).cv
    assert copy is not cv
    assert vars(copy) == vars(cv)


def test_a_splitter_can_be_packed():
    cv = LabeledKFold(3, n_repeats=2, unlabeled="", train_order="labeled_first")
    known = {"LabeledKFold": LabeledKFold}
    again = unpack(*pack(cv, known), known)
    assert vars(again) == vars(cv)


def test_cross_validation_equals_a_loop():
    X, y, _ = moons()
    cv = LabeledKFold(4, n_repeats=2)
    by_hand = [
        np.mean(LapSVC().fit(X[train], y[train]).predict(X[test]) == y[test])
        for train, test in cv.split(X, y)
    ]
    scores = cross_val_score(LapSVC(), X, y, cv=cv)
    np.testing.assert_allclose(scores, by_hand)
    assert scores.mean() > 0.9
    # Without it four fifths of each fold, the unlabelled rows, count as wrong.
    assert cross_val_score(LapSVC(), X, y, cv=4, scoring="accuracy").max() <= 0.2


@pytest.mark.parametrize(
    "estimator",
    [
        LabelSpreading(gamma=20),
        LabelPropagation(gamma=20),
        SelfTrainingClassifier(LogisticRegression()),
    ],
    ids=lambda e: type(e).__name__,
)
def test_estimators_of_scikit_learn(estimator):
    X, y, _ = moons()
    by_hand = []
    for train, test in LabeledKFold().split(X, y):
        predicted = clone(estimator).fit(X[train], y[train]).predict(X[test])
        by_hand.append(np.mean(predicted == y[test]))
    np.testing.assert_allclose(cross_val_score(estimator, X, y, cv=LabeledKFold()), by_hand)
    assert np.mean(by_hand) > 0.7


def test_text_labels_of_a_self_trained_model():
    """It needs texts as objects, with the number −1 between them."""
    X, y, _ = moons()
    text = np.array([-1 if v == -1 else "ab"[v] for v in y], dtype=object)
    model = SelfTrainingClassifier(LogisticRegression())
    scores = cross_val_score(model, X, text, cv=LabeledKFold(), error_score="raise")
    np.testing.assert_allclose(scores, cross_val_score(model, X, y, cv=LabeledKFold()))


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_searches_find_the_graph_that_helps(search):
    X, y, truth = moons(n=160, n_labelled=16)
    grid = {"graph__n_neighbors": [5, 150]}  # 150 of 160: the graph knows nothing
    how = {"n_iter": 2, "random_state": 0} if search is RandomizedSearchCV else {}
    model = LapSVC(gamma=5.0, reg_manifold=10.0, graph=KNNGraph())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = search(model, grid, cv=LabeledKFold(4, n_repeats=2), **how).fit(X, y)
    assert found.n_splits_ == 8
    assert found.best_params_ == {"graph__n_neighbors": 5}
    assert found.best_score_ > 0.9
    assert found.score(X, truth) > 0.9


@pytest.mark.parametrize("marker", [None, "", "?"])
def test_pandas_and_text_labels(marker):
    pd = pytest.importorskip("pandas")
    X, y, _ = moons()
    rows = pd.DataFrame(X, index=[f"row {i}" for i in range(len(X))])
    text = pd.Series([marker if v == -1 else "ab"[v] for v in y], index=rows.index)
    cv = LabeledKFold(unlabeled=marker)
    scores = cross_val_score(LapSVC(unlabeled=marker), rows, text, cv=cv, error_score="raise")
    np.testing.assert_allclose(scores, cross_val_score(LapSVC(), X, y, cv=LabeledKFold()))


def test_regression():
    t = np.linspace(0, 1, 150)
    X = np.column_stack([t * np.cos(9 * t), t * np.sin(9 * t)])
    y = np.full(150, np.nan)
    y[::8] = 2 * t[::8] - 1  # the first target is -1, and no mark
    model = LapRLSRegressor(reg_manifold=1.0, graph=KNNGraph(4, normalized=False))
    cv = LabeledKFold(4, unlabeled=np.nan)
    scoring = labeled_scorer("r2", unlabeled=np.nan)
    result = cross_validate(model, X, y, cv=cv, scoring=scoring, return_train_score=True)
    np.testing.assert_allclose(result["test_score"], cross_val_score(model, X, y, cv=cv))
    assert result["test_score"].min() > 0.9
    assert result["train_score"].min() > 0.95
    assert 0 in np.concatenate([test for _, test in cv.split(X, y)])
    with pytest.raises(ValueError, match=r"labeled_scorer\(..., unlabeled=nan\)"):
        labeled_scorer("r2")(model.fit(X, y), X, y)  # would drop the first target


@pytest.mark.parametrize("order", ["mixed", "unlabeled_first", "labeled_first"])
def test_learning_curves(order):
    X, y, _ = moons(n=150, n_labelled=50)
    cv = LabeledKFold(5, train_order=order)
    sizes = {
        "mixed": [0.1, 0.5, 1.0],
        "unlabeled_first": [104, 120, 140],
        "labeled_first": [40, 140],
    }
    seen = []

    class Watched(LapSVC):
        def fit(self, X, y, **kwargs):
            seen.append((np.sum(y != -1), np.sum(y == -1)))
            return super().fit(X, y, **kwargs)

    ticks, train, test = learning_curve(
        Watched(gamma=5.0),
        X,
        y,
        cv=cv,
        train_sizes=sizes[order],
        scoring=labeled_scorer("accuracy"),
        error_score="raise",
    )
    expected = {
        "mixed": [(4, 10), (20, 50), (40, 100)],
        "unlabeled_first": [(4, 100), (20, 100), (40, 100)],
        "labeled_first": [(40, 0), (40, 100)],
    }[order]
    assert ticks.tolist() == [labelled + unlabelled for labelled, unlabelled in expected]
    for got, (labelled, unlabelled) in zip(
        np.array(seen).reshape(5, -1, 2).mean(0), expected, strict=True
    ):
        assert abs(got[0] - labelled) <= 1
        assert abs(got[1] - unlabelled) <= 1
    assert test.mean(axis=1)[-1] > 0.95
    assert train.mean(axis=1)[-1] > 0.95  # as the unlabelled rows do not count


def test_out_of_fold_predictions_are_refused():
    X, y, _ = moons()
    with pytest.raises(ValueError, match="partitions"):
        cross_val_predict(LapSVC(), X, y, cv=LabeledKFold())


# ---------------------------------------------------------------- the scorer


def forms_of_input():
    X, y, _ = moons()
    yield "arrays", X, y
    yield "lists", X.tolist(), y.tolist()
    yield "None", X, np.array([None if v == -1 else v for v in y.tolist()], dtype=object)
    yield "list with None", X.tolist(), [None if v == -1 else v for v in y.tolist()]
    yield "NaN", X, np.where(y == -1, np.nan, y)
    for form in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        yield form.__name__, form(X), y
    try:
        import pandas as pd
    except ImportError:
        return
    index = np.arange(len(X))[::-1]  # labels of rows, which are not their positions
    yield "pandas", pd.DataFrame(X, index=index), pd.Series(y, index=index)
    yield "pd.NA", pd.DataFrame(X), pd.Series([pd.NA if v == -1 else v for v in y], dtype="Int64")


@pytest.mark.parametrize(("X", "y"), [pytest.param(*k[1:], id=k[0]) for k in forms_of_input()])
def test_scores_are_those_of_the_labelled_rows(X, y):
    rows, labels, truth = moons()
    model = LapSVC(reg_manifold=0.0).fit(rows[:, ::-1] * 0.3, truth)  # some errors
    known = labels != -1
    expected = np.mean(model.predict(rows[known]) == labels[known])
    assert 0.2 < expected < 0.98
    for scoring in ("accuracy", make_scorer(accuracy_score), get_scorer("accuracy")):
        assert labeled_scorer(scoring)(model, X, y) == pytest.approx(expected)
    assert labeled_scorer(lambda e, X, y: e.score(X, y))(model, X, y) == pytest.approx(expected)
    assert labeled_scorer("neg_log_loss")(model, X, y) == pytest.approx(
        get_scorer("neg_log_loss")(model, rows[known], labels[known])
    )


def test_plain_folds_score_their_labelled_rows():
    X, y, _ = moons()
    cv = KFold(4, shuffle=True, random_state=0)
    by_hand = []
    for train, test in cv.split(X):
        known = test[y[test] != -1]
        by_hand.append(LapSVC().fit(X[train], y[train]).score(X[known], y[known]))
    scoring = {"accuracy": labeled_scorer("accuracy"), "f1": labeled_scorer("f1_macro")}
    result = cross_validate(LapSVC(), X, y, cv=cv, scoring=scoring, error_score="raise")
    np.testing.assert_allclose(result["test_accuracy"], by_hand)
    assert result["test_f1"].mean() > 0.8


def test_a_part_without_labels_has_no_score():
    X, y, _ = moons()
    order = np.argsort(y == -1, kind="stable")  # labelled rows first, so the last folds have none
    X, y = X[order], y[order]
    scoring = labeled_scorer("accuracy")
    with pytest.warns(UserWarning, match="none of the 60 rows to score is labelled"):
        scores = cross_val_score(
            LapSVC(), X, y, cv=[(np.arange(60), np.arange(60, 120))], scoring=scoring
        )
    assert np.isnan(scores).all()
    with pytest.raises(ValueError, match="none of the 60 rows"):
        cross_val_score(
            LapSVC(),
            X,
            y,
            cv=[(np.arange(60), np.arange(60, 120))],
            scoring=scoring,
            error_score="raise",
        )


def test_an_estimator_that_has_learnt_the_marker_has_no_score():
    X, y, truth = moons()
    with pytest.raises(ValueError, match="has learnt -1 as a class"):
        labeled_scorer("accuracy")(LogisticRegression().fit(X, y), X, y)
    signs = 2 * truth - 1
    model = LapSVC(unlabeled=None).fit(X, signs)
    with pytest.raises(ValueError, match="unlabeled=None"):
        labeled_scorer("accuracy")(model, X, signs)
    assert labeled_scorer("accuracy", unlabeled=None)(model, X, signs) > 0.9


@pytest.mark.parametrize("scoring", [None, ["accuracy"], {"a": "accuracy"}, 3])
def test_what_is_no_scoring_is_refused(scoring):
    with pytest.raises(ValueError, match="scoring must be a name"):
        labeled_scorer(scoring)
    with pytest.raises(ValueError, match="metric function rather than a scorer"):
        labeled_scorer(accuracy_score)


def test_a_scorer_can_be_copied_and_printed():
    X, y, truth = moons()
    model = LapSVC().fit(X, y)
    scorer = labeled_scorer("accuracy", unlabeled=None)
    assert pickle.loads(pickle.dumps(scorer))(model, X, truth) == scorer(model, X, truth)
    assert (
        repr(scorer)
        == "labeled_scorer(make_scorer(accuracy_score, response_method='predict'), unlabeled=None)"
    )


def test_weights_follow_the_labelled_rows():
    X, y, truth = moons()
    known = y != -1
    model = LapSVC(reg_manifold=0.0).fit(X[:, ::-1] * 0.3, truth)
    w = np.random.default_rng(0).uniform(0.1, 5.0, len(X))
    right = model.predict(X) == y
    expected = np.average(right[known], weights=w[known])
    assert expected != pytest.approx(np.mean(right[known]))
    assert labeled_scorer("accuracy")(model, X, y, sample_weight=w) == pytest.approx(expected)
    assert labeled_scorer("accuracy")(model, X, y, sample_weight=None) == np.mean(right[known])


def test_weights_reach_the_score_through_a_search():
    X, y, _ = moons()
    w = np.arange(1.0, 121.0)
    seen = []

    def note(truth, predicted, sample_weight=None):
        seen.append(sample_weight)
        return 0.0

    cv = LabeledKFold(2)
    with config_context(enable_metadata_routing=True):
        scoring = labeled_scorer(make_scorer(note).set_score_request(sample_weight=True))
        model = LapSVC().set_fit_request(sample_weight=True)
        search = GridSearchCV(model, {}, cv=cv, scoring=scoring, refit=False, error_score="raise")
        search.fit(X, y, sample_weight=w)
    for got, (_, test) in zip(seen, cv.split(X, y), strict=True):
        np.testing.assert_array_equal(got, w[test])
    assert labeled_scorer("accuracy")._accept_sample_weight()
    assert labeled_scorer(lambda e, X, y, sample_weight: 0.0)._accept_sample_weight()
    assert not labeled_scorer(lambda e, X, y: 0.0)._accept_sample_weight()


def test_there_may_be_as_many_folds_as_labelled_rows():
    y = np.array([0, -1, 1, -1, 0, 1])
    tests = [
        test.tolist() for _, test in LabeledKFold(4, shuffle=False, stratify=False).split(y, y)
    ]
    assert tests == [[0], [2], [4], [5]]
    with pytest.raises(ValueError, match="folds need as many labelled rows"):
        list(LabeledKFold(5).split(y, y))
