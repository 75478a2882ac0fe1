"""The life of every estimator: listed, cloned, fitted, asked, pickled, given more labels."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers.cases import (
    CASES,
    N_LABELLED,
    N_ROWS,
    assert_same_outputs,
    each_case,
    public_estimators,
    values_of,
)
from helpers.contributing import AnchorSVC
from helpers.data import fit_quietly

ADDED = np.array([30, 31, 40])


def with_more_labels(y, truth):
    labels = y.copy()
    labels[ADDED] = truth[ADDED]
    return labels


def test_every_public_estimator_has_a_case():
    assert {type(case.estimator) for case in CASES} == {*public_estimators(), AnchorSVC}
    assert len({case.name for case in CASES}) == len(CASES)


# ---------------------------------------------------------------- parameters


@each_case()
def test_a_clone_has_the_parameters_and_not_the_fit(case):
    model = case.fitted()
    copy = clone(model)
    assert vars(copy).keys() == model.get_params(deep=False).keys()
    assert str(copy.get_params()) == str(model.get_params()) == str(case.new().get_params())


@each_case(one_a_class=True)
def test_fit_does_not_change_the_parameters(case):
    X, y, truth = case.data()
    model = case.new()
    before = model.get_params()
    assert fit_quietly(model, X, y) is model
    model.add_labels(ADDED, truth[ADDED])
    after = model.get_params()
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)


# ---------------------------------------------------------------- fits


@each_case()
def test_two_fits_give_the_same_bits(case):
    X, y, _ = case.data()
    assert_same_outputs(fit_quietly(clone(case.fitted()), X, y), case.fitted(), X)


@each_case(one_a_class=True)
def test_a_second_fit_forgets_the_first(case):
    few, labels, _ = case.data(2)
    model = fit_quietly(case.new(), few[:50], labels[:50])
    X, y, _ = case.data(3)
    assert_same_outputs(fit_quietly(model, X, y), case.fitted(3), X)


@each_case(one_a_class=True)
def test_what_is_not_fitted_says_so(case):
    X, _, truth = case.data()
    model = case.new()
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                getattr(model, method)(X)
    with pytest.raises(NotFittedError):
        model.score(X, truth)
    with pytest.raises(NotFittedError):
        model.add_labels([0], truth[[0]])


@each_case(lambda case: case.has("memory_limit"))
def test_too_little_memory_is_refused_by_name(case):
    X, y, _ = case.data()
    model = case.new(memory_limit="1KB")
    with pytest.raises(MemoryError, match="memory_limit"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@each_case(lambda case: case.has("memory_limit"), one_a_class=True)
def test_enough_memory_changes_nothing(case):
    X, y, _ = case.data()
    model = fit_quietly(case.new(memory_limit="1GB"), X, y)
    assert_same_outputs(model, case.fitted(), X)


# ---------------------------------------------------------------- predictions


@pytest.mark.parametrize("n_classes", [2, 3])
@each_case(lambda case: case.is_classifier)
def test_predictions_are_those_of_the_largest_value(case, n_classes):
    X, _, _ = case.data(n_classes)
    model = case.fitted(n_classes)
    values = model.decision_function(X)
    assert values.shape == ((N_ROWS,) if n_classes == 2 else (N_ROWS, 3))
    largest = (values > 0).astype(int) if n_classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[largest])
    shares = model.predict_proba(X)
    assert shares.shape == (N_ROWS, n_classes)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert (shares >= 0).all()
    # Probabilities follow the values, where they are not equal.
    ranked = np.sort(shares, axis=1)
    clear = ranked[:, -1] > ranked[:, -2] + 1e-9
    np.testing.assert_array_equal(shares.argmax(axis=1)[clear], largest[clear])


@each_case()
def test_rows_are_predicted_one_by_one_as_together(case):
    X, _, _ = case.data()
    model = case.fitted()
    together = values_of(model, X)
    for rows in (slice(0, 1), slice(7, 20), [3, 50, 3]):
        np.testing.assert_allclose(values_of(model, X[rows]), together[rows], atol=1e-9)


@each_case()
def test_it_learns(case):
    X, _, truth = case.data()
    assert case.fitted().score(X, truth) > (0.75 if case.is_classifier else 0.3)


# ---------------------------------------------------------------- pickles


@each_case()
def test_a_pickle_predicts_the_same_bits(case):
    X, _, truth = case.data()
    model = case.fitted()
    again = pickle.loads(pickle.dumps(model))
    assert_same_outputs(again, model, X)
    np.testing.assert_array_equal(again.transduction_, model.transduction_)
    if case.forgets_rows:
        with pytest.raises(ValueError, match="fit again"):
            again.add_labels(ADDED, truth[ADDED])
        return
    grown = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        values_of(again.add_labels(ADDED, truth[ADDED]), X),
        values_of(grown.add_labels(ADDED, truth[ADDED]), X),
    )


# ---------------------------------------------------------------- labels added later


@each_case()
def test_added_labels_equal_a_new_fit(case):
    X, y, truth = case.data()
    grown = fit_quietly(case.new(), X, y)
    assert grown.add_labels(ADDED, truth[ADDED]) is grown
    expected = fit_quietly(case.new(), X, with_more_labels(y, truth))
    if case.added_differs:
        assert grown.score(X, truth) > expected.score(X, truth) - 0.1
    else:
        atol = case.tol if case.iterates else 1e-12
        np.testing.assert_allclose(values_of(grown, X), values_of(expected, X), rtol=0, atol=atol)
    known = np.append(np.arange(N_LABELLED), ADDED)
    np.testing.assert_array_equal(grown.transduction_[known], truth[known])


@each_case(lambda case: case.is_classifier, one_a_class=True)
def test_an_added_label_may_be_a_new_class(case):
    X, y, _ = case.data()
    third = np.flatnonzero(y == 2)
    model = fit_quietly(case.new(), X, np.where(y == 2, -1, y))
    assert model.classes_.tolist() == [0, 1]
    model.add_labels(third, np.full(len(third), 2))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (N_ROWS, 3)
    if not case.added_differs:
        atol = case.tol if case.iterates else 1e-12
        expected = values_of(case.fitted(), X)
        np.testing.assert_allclose(values_of(model, X), expected, rtol=0, atol=atol)


@each_case(one_a_class=True)
def test_labels_of_no_row_are_refused(case):
    X, y, truth = case.data()
    model = fit_quietly(case.new(), X, y)
    for index, n_labels in (([N_ROWS], 1), ([-N_ROWS - 1], 1), ([1.5], 1), ([1, 2, 3], 2)):
        with pytest.raises((ValueError, IndexError, TypeError)):
            model.add_labels(index, truth[:n_labels])
    assert_same_outputs(model, case.fitted(), X)


@each_case(one_a_class=True)
def test_labels_that_do_not_fit_the_index_are_refused(case):
    model = case.fitted()
    before = model.transduction_.copy()
    label = model.transduction_[0]
    for index, y, message in [
        ([20, 21], [label], "2 rows and y holds 1"),
        ([20], [label, label], "1 rows and y holds 2"),
        ([10**6], [label], "row numbers"),
        ([1.5], [label], "row numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.add_labels(index, y)
    assert np.array_equal(model.transduction_, before)
