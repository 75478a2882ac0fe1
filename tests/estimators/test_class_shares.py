"""Offsets of the classes that bring mean probabilities to given shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, root
from scipy.special import expit, logsumexp, softmax
from sklearn.model_selection import GridSearchCV

import lapwing
from helpers.data import fit_quietly, unbalanced
from lapwing import S3VC, LabeledKFold, LapSVC, LapSVCPath, PVMClassifier
from lapwing.estimators.calibration import (
    class_offsets,
    match_shares,
    probabilities,
    usual_temperature,
)
from lapwing.estimators.class_shares import resolve_shares
from lapwing.estimators.targets import class_targets

# ---------------------------------------------------------------- values without a scale


def test_half_of_the_rows_have_the_usual_odds():
    values = np.random.default_rng(0).normal(size=(101, 3)) * 1e-2
    P = np.sort(probabilities(values, usual_temperature(values)), axis=1)
    assert np.median(np.log(P[:, -1] / P[:, -2])) == pytest.approx(2.0)
    column = np.array([[0.1], [-0.3], [0.2]])  # two classes
    assert usual_temperature(column) == pytest.approx(2.0 / 0.4)


def test_the_usual_odds_are_not_forced_on_values_that_say_nothing():
    most = np.exp(6.0)
    assert usual_temperature(np.zeros((5, 3))) == pytest.approx(most)
    assert usual_temperature(np.full((5, 1), 1e-300)) == pytest.approx(most)
    assert usual_temperature(np.full((5, 1), 1e300)) == pytest.approx(1.0 / most)
    assert usual_temperature(np.zeros((0, 3))) == 1.0


# ---------------------------------------------------------------- the convex problem


def test_two_classes_are_the_root_of_a_monotone_function():
    scores = np.random.default_rng(0).normal(size=(50, 2)) * 3.0
    share = 0.2

    def excess(b):
        return expit(scores[:, 1] - scores[:, 0] + 2.0 * b).mean() - share

    expected = brentq(excess, -50.0, 50.0, xtol=1e-14)
    found = match_shares(scores, np.array([1.0 - share, share]))
    np.testing.assert_allclose(found, [-expected, expected], atol=1e-8, rtol=0)


def test_several_classes_are_the_root_of_a_system():
    rng = np.random.default_rng(1)
    scores, shares = 2.0 * rng.normal(size=(80, 4)), np.array([0.5, 0.3, 0.15, 0.05])

    def excess(free):
        b = np.append(free, -free.sum())
        weights = np.exp(scores + b - logsumexp(scores + b, axis=1)[:, None])
        return (weights.mean(axis=0) - shares)[:3]

    free = root(excess, np.zeros(3), tol=1e-13).x
    expected = np.append(free, -free.sum())
    np.testing.assert_allclose(match_shares(scores, shares), expected, atol=1e-7, rtol=0)


@given(
    n=st.integers(1, 60),
    c=st.integers(2, 8),
    size=st.floats(-3, 6),
    rarest=st.floats(-9, -1),
    rounded=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_any_shares_are_matched(n, c, size, rarest, rounded, seed):
    """Also by few rows, scores that are equal, and probabilities that are almost 0 and 1."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, c))
    scores = 10.0**size * (scores.round() if rounded else scores)
    shares = rng.dirichlet(np.ones(c)) + 10.0**rarest
    shares /= shares.sum()
    offsets = match_shares(scores, shares)
    assert abs(offsets.mean()) <= 1e-9 * max(1.0, np.abs(offsets).max())
    found = softmax(scores + offsets, axis=1).mean(axis=0)
    np.testing.assert_allclose(found, shares, atol=1e-7, rtol=0)


def test_shares_that_hold_already_need_no_offsets():
    scores = np.random.default_rng(2).normal(size=(30, 3))
    shares = softmax(scores, axis=1).mean(axis=0)
    np.testing.assert_allclose(match_shares(scores, shares), 0.0, atol=1e-8)


@pytest.mark.parametrize("labelled", [0, 7, 30], ids=["none", "some", "all"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_offsets_count_unlabelled_rows_or_all(n_classes, labelled):
    rng = np.random.default_rng(3)
    codes = np.arange(30) % n_classes
    given = np.where(np.arange(30) < max(labelled, n_classes), codes, -1)
    targets = class_targets(
        given, given[:, None], None, unlabeled=-1, class_weight=None, class_shares="labels"
    )
    values = rng.normal(size=(30, targets.n_columns))
    found = values + class_offsets(values, targets, 2.5)
    counted = found if labelled == 30 else found[given < 0]
    mean = probabilities(counted, 2.5).mean(axis=0)
    np.testing.assert_allclose(mean, targets.shares, atol=1e-8, rtol=0)


# ---------------------------------------------------------------- what users give


def test_shares_by_name_or_as_among_labels():
    classes, counts = np.array(["a", "b", "c"]), np.array([7, 1, 0]) + 1
    assert resolve_shares(None, classes, counts) is None
    np.testing.assert_allclose(
        resolve_shares("labels", classes, counts), np.array([9, 3, 2]) / 14, rtol=1e-15
    )
    rounded = resolve_shares({"c": 0.33, "b": 0.33, "a": 0.33}, classes, counts)
    np.testing.assert_allclose(rounded, 1.0 / 3.0, rtol=1e-15)


BAD = {
    "list": ([0.5, 0.5], "class_shares must be None, 'labels' or a dict"),
    "word": ("labelled", "class_shares must be None, 'labels' or a dict"),
    "empty": ({}, "class_shares must be None, 'labels' or a dict"),
    "zero": ({0: 1.0, 1: 0.0}, r"class_shares\[1\] must be positive and finite, got 0\.0"),
    "negative": ({0: 1.2, 1: -0.2}, r"class_shares\[1\] must be positive and finite, got -0\.2"),
    "text": ({0: 0.5, 1: "half"}, r"class_shares\[1\] must be positive and finite"),
    "nan": ({0: 0.5, 1: np.nan}, r"class_shares\[1\] must be positive and finite"),
    "percent": ({0: 90, 1: 10}, "must add up to 1, and their sum is 100: .* not per cent"),
    "sum": ({0: 0.5, 1: 0.4}, r"must add up to 1, and their sum is 0\.9"),
    "missing": ({0: 1.0}, "class_shares has no share for 1: give one to each of the classes 0, 1"),
    "unknown": ({0: 0.5, 1: 0.4, 2: 0.1}, "class_shares names 2, and no row has this label"),
}


@pytest.mark.parametrize(("shares", "message"), BAD.values(), ids=BAD)
def test_bad_shares_are_refused(shares, message):
    X, y, _ = unbalanced(60, per_class=5)
    with pytest.raises(ValueError, match=message):
        LapSVC(class_shares=shares).fit(X, y)


def test_a_class_without_weight_is_refused():
    X, y, _ = unbalanced(60, per_class=5)
    with pytest.raises(ValueError, match=r"a labelled row of positive weight of each class, .* 2:"):
        LapSVC(class_shares="labels").fit(
            np.vstack([X, X[:1]]), np.append(y, 2), sample_weight=np.append(np.ones(60), 0.0)
        )


# ---------------------------------------------------------------- estimators


def test_offsets_are_part_of_the_intercept():
    X, y, _ = unbalanced(per_class=5)
    for model in (LapSVC(kernel="linear"), S3VC(), LapSVCPath(kernel="linear")):
        model = fit_quietly(model.set_params(class_shares={0: 0.9, 1: 0.1}), X, y)
        np.testing.assert_allclose(
            X @ model.coef_[0] + model.intercept_, model.decision_function(X), atol=1e-9
        )


def test_a_path_has_the_same_offsets_for_every_lambda():
    X, y, _ = unbalanced(80, per_class=5)
    plain = LapSVCPath().fit(X, y)
    model = LapSVCPath(class_shares={0: 0.8, 1: 0.2}).fit(X, y)
    assert model.class_offsets_ != 0.0
    np.testing.assert_allclose(
        model.decision_function(X, model.lambda_), model.decision_function(X), atol=1e-9
    )
    lambdas = plain.lambdas_[[0, -1]]
    shifted = plain.decision_function(X, lambdas) + model.class_offsets_
    np.testing.assert_allclose(model.decision_function(X, lambdas), shifted, atol=1e-12)


def test_prototypes_of_blocks_match_the_shares():
    X, y, _ = unbalanced(per_class=5)
    shares = {0: 0.85, 1: 0.15}
    model = PVMClassifier(n_prototypes=20, class_shares=shares)
    model.fit([(X[:200], y[:200]), (X[200:], y[200:])])
    mean = model.predict_proba(X[y < 0]).mean(axis=0)
    np.testing.assert_allclose(mean, [0.85, 0.15], atol=1e-8, rtol=0)
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X[y < 0]))


def test_the_ratio_of_the_margin_is_the_given_share_unless_it_is_given_itself():
    X, y, _ = unbalanced(per_class=5)
    model = S3VC(class_shares={0: 0.9, 1: 0.1})
    assert fit_quietly(model, X, y).positive_ratio_ == pytest.approx([0.1])
    np.testing.assert_allclose(model.predict_proba(X[y < 0]).mean(axis=0)[1], 0.1, atol=1e-8)
    given = fit_quietly(model.set_params(positive_ratio=0.3), X, y)
    assert given.positive_ratio_ == pytest.approx([0.3])
    np.testing.assert_allclose(given.predict_proba(X[y < 0]).mean(axis=0)[1], 0.1, atol=1e-8)
    assert fit_quietly(model.set_params(positive_ratio=None), X, y).positive_ratio_ is None
    assert fit_quietly(S3VC(), X, y).positive_ratio_ == pytest.approx([0.5])


@pytest.mark.parametrize("seed", range(3))
def test_known_shares_help_where_labels_are_balanced(seed):
    X, y, truth = unbalanced(gap=2.5, per_class=5, seed=seed)
    rest = y < 0

    def accuracy(shares):
        model = LapSVC(reg_manifold=0.0, class_shares=shares).fit(X, y)
        return np.mean(model.transduction_[rest] == truth[rest])

    assert accuracy({0: 0.9, 1: 0.1}) > accuracy(None) + 0.01


def test_a_search_over_shares():
    X, y, _ = unbalanced(120, per_class=5)
    choices = [None, "labels", {0: 0.9, 1: 0.1}]
    search = GridSearchCV(LapSVC(), {"class_shares": choices}, cv=LabeledKFold(2))
    search.fit(X, y)
    assert search.cv_results_["param_class_shares"].tolist() == choices
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    model = search.best_estimator_
    assert model.class_shares == search.best_params_["class_shares"]


def test_classes_may_be_numbers_of_numpy(tmp_path):
    X, y, _ = unbalanced(60, per_class=5)
    classes, shares = np.unique(y[y >= 0]), np.array([0.75, 0.25])
    model = LapSVC(class_shares=dict(zip(classes, shares, strict=True))).fit(X, y)
    expected = LapSVC(class_shares={0: 0.75, 1: 0.25}).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    lapwing.save(model, tmp_path / "m")
    assert lapwing.load(tmp_path / "m").class_shares == {0: 0.75, 1: 0.25}
