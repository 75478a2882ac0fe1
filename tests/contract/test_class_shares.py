"""Every classifier matches the class shares that a user gives, in all that it says about rows."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import lapwing
from helpers.cases import assert_same_outputs, each_case, public_estimators, values_of
from helpers.data import fit_quietly
from lapwing import SemiSupervisedClassifier
from lapwing.spaces.predictors import Constant, WeightedSum

SHARES = {2: {0: 0.7, 1: 0.3}, 3: {0: 0.55, 1: 0.3, 2: 0.15}}
ADDED = np.array([30, 31, 40])
each_classifier = each_case(lambda case: case.is_classifier)
one_of_each = each_case(lambda case: case.is_classifier, one_a_class=True)


def row_probabilities(model, X):
    """Probabilities of the training rows; those of the default are not all those of new rows."""
    default = isinstance(model, SemiSupervisedClassifier)
    return model.label_distributions_ if default else model.predict_proba(X)


def mean_probabilities(model, X, y):
    """Of the unlabelled rows."""
    return row_probabilities(model, X)[y < 0].mean(axis=0)


def test_every_classifier_has_the_parameter():
    for kind in public_estimators():
        has = "class_shares" in kind().get_params(deep=False)
        assert has == hasattr(kind, "predict_proba"), kind


@pytest.mark.parametrize("n_classes", [2, 3])
@each_classifier
def test_mean_probabilities_are_the_shares(case, n_classes):
    X, y, _ = case.data(n_classes)
    shares = SHARES[n_classes]
    model = fit_quietly(case.new(class_shares=shares), X, y)
    found = mean_probabilities(model, X, y)
    np.testing.assert_allclose(found, list(shares.values()), atol=1e-6, rtol=0)
    assert model.class_offsets_.shape == (1 if n_classes == 2 else 3,)
    labelled = y >= 0
    np.testing.assert_array_equal(model.transduction_[labelled], y[labelled])
    likely = model.classes_[row_probabilities(model, X).argmax(axis=1)]
    np.testing.assert_array_equal(model.transduction_[~labelled], likely[~labelled])
    likely = model.classes_[model.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), likely)
    np.testing.assert_array_equal(values_of(model, X), model.predictor_.values(model._new_rows(X)))


@each_classifier
def test_without_shares_there_are_no_offsets(case):
    model = case.fitted()
    np.testing.assert_array_equal(model.class_offsets_, np.zeros(3))
    parts = model.predictor_.parts if isinstance(model.predictor_, WeightedSum) else ()
    assert not any(isinstance(part, Constant) for part in parts)


@pytest.mark.parametrize("n_classes", [2, 3])
@each_classifier
def test_shares_that_hold_already_change_no_decision(case, n_classes):
    """For the margin they are also its ratio, which must be the same in both fits."""
    X, y, _ = case.data(n_classes)
    ratio = {}
    if case.has("positive_ratio"):
        ratio = {"positive_ratio": np.full(n_classes, 1.0 / n_classes)}
    elif case.estimator.get_params().get("method") == "auto":
        ratio = {"method": "graph"}
    plain = fit_quietly(case.new(**ratio), X, y)
    found = dict(enumerate(mean_probabilities(plain, X, y)))
    model = fit_quietly(case.new(class_shares=found, **ratio), X, y)
    np.testing.assert_allclose(model.class_offsets_, 0.0, atol=1e-5)
    np.testing.assert_array_equal(model.transduction_, plain.transduction_)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@one_of_each
def test_shares_of_the_labels(case):
    X, y, _ = case.data()
    y = np.where((y == 2) & (np.arange(len(y)) > 9), -1, y)
    counts = np.bincount(y[y >= 0]) + 1.0
    model = fit_quietly(case.new(class_shares="labels"), X, y)
    if not isinstance(model, SemiSupervisedClassifier):  # which learns that they are a sample
        given = fit_quietly(case.new(class_shares=dict(enumerate(counts / counts.sum()))), X, y)
        np.testing.assert_allclose(values_of(model, X), values_of(given, X), atol=1e-9)
    found = mean_probabilities(model, X, y)
    np.testing.assert_allclose(found, counts / counts.sum(), atol=1e-6, rtol=0)


@one_of_each
def test_classes_are_named_as_in_y(case):
    X, y, _ = case.data()
    names = np.array(["a", "b", "c"])
    shares = dict(zip(names.tolist(), SHARES[3].values(), strict=True))
    expected = fit_quietly(case.new(class_shares=SHARES[3]), X, y)
    named = [None if v < 0 else names[v] for v in y]
    model = fit_quietly(case.new(class_shares=shares, unlabeled=None), X, named)
    np.testing.assert_allclose(values_of(model, X), values_of(expected, X), atol=1e-9)


@one_of_each
def test_without_unlabelled_rows_the_shares_are_those_of_all(case):
    X, _, truth = case.data()
    model = fit_quietly(case.new(class_shares=SHARES[3]), X, truth)
    found = row_probabilities(model, X).mean(axis=0)
    np.testing.assert_allclose(found, list(SHARES[3].values()), atol=1e-6, rtol=0)
    np.testing.assert_array_equal(model.transduction_, truth)


@each_classifier
def test_models_with_shares_are_saved_and_copied(case, tmp_path):
    X, y, truth = case.data()
    model = fit_quietly(case.new(class_shares=SHARES[3]), X, y)
    lapwing.save(model, tmp_path / "m")
    loaded = lapwing.load(tmp_path / "m")
    assert loaded.class_shares == SHARES[3]
    for copy in (loaded, pickle.loads(pickle.dumps(model))):
        assert_same_outputs(copy, model, X)
        np.testing.assert_array_equal(copy.transduction_, model.transduction_)
        np.testing.assert_array_equal(copy.class_offsets_, model.class_offsets_)
    assert clone(model).class_shares == SHARES[3]
    model.add_labels(ADDED, truth[ADDED])
    loaded.add_labels(ADDED, truth[ADDED])
    np.testing.assert_allclose(values_of(loaded, X), values_of(model, X), atol=1e-12)


@each_classifier
def test_offsets_are_matched_again_when_labels_are_added(case):
    X, y, truth = case.data()
    model = fit_quietly(case.new(class_shares=SHARES[3]), X, y)
    before = model.class_offsets_
    model.add_labels(ADDED, truth[ADDED])
    y[ADDED] = truth[ADDED]
    found = mean_probabilities(model, X, y)
    np.testing.assert_allclose(found, list(SHARES[3].values()), atol=1e-6, rtol=0)
    assert not np.array_equal(model.class_offsets_, before)


@one_of_each
def test_a_new_class_without_a_share_is_refused(case):
    X, y, _ = case.data()
    model = fit_quietly(case.new(class_shares=SHARES[3]), X, y)
    expected = values_of(model, X)
    with pytest.raises(ValueError, match="class_shares has no share for 3: give one to each"):
        model.add_labels([40], [3])
    np.testing.assert_array_equal(values_of(model, X), expected)
