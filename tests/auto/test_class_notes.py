"""Known class shares in the default, and what its report says about predicted shares."""

import numpy as np
import pytest
from scipy.stats import multinomial

from helpers.data import fit_quietly
from lapwing import SemiSupervisedClassifier
from lapwing.auto import margin_family
from lapwing.auto.class_notes import _are_far, class_notes
from lapwing.auto.labels import Labels
from lapwing.auto.setup import MARGIN
from lapwing.estimators.targets import class_targets


def unbalanced(n=400, rare=0.1, gap=3.0, per_class=8, seed=0):
    """Two Gaussian clouds, of which the second is rare, with equally many labels of both."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < rare).astype(int)
    X = rng.normal(size=(n, 2)) + gap * truth[:, None] * [1.0, 0.0]
    y = np.full(n, -1)
    for code in (0, 1):
        y[rng.permutation(np.flatnonzero(truth == code))[:per_class]] = code
    return X, y, truth


def notes(labels, predicted, class_shares=None, names=("no", "yes", "maybe")):
    """Notes for counts of labels and of predictions by class."""
    given = np.repeat(np.arange(len(labels)), labels)
    codes = np.repeat(np.arange(len(predicted)), predicted)
    y = [names[k] for k in given] + [None] * len(codes)
    targets = class_targets(
        np.array(y, dtype=object),
        np.zeros((len(y), 1)),
        None,
        unlabeled=None,
        class_weight=None,
        class_shares=class_shares,
    )
    order = np.searchsorted(targets.classes, np.array(names)[np.append(given, codes)])
    return class_notes(targets, order)


# ---------------------------------------------------------------- when there is a note


def test_shares_far_from_those_of_the_labels():
    (note,) = notes([10, 10], [360, 40])
    assert "(no has 90 % of the predictions and 50 % of the labels)" in note
    for remedy in ("class_shares='labels' if the labels are a random sample", "nothing needs"):
        assert remedy in note


@pytest.mark.parametrize(
    ("labels", "predicted"),
    [
        ([10, 10], [220, 180]),  # close
        ([500, 500], [5500, 4500]),  # beyond chance, but close
        ([2, 2], [300, 100]),  # four labels may well be like that
        ([20, 1], [400, 0]),  # one label of a class that is not predicted
        ([10, 10], [2, 1]),  # three rows may well be like that
        ([10, 10], [0, 0]),
    ],
)
def test_no_note_where_chance_may_explain_the_difference(labels, predicted):
    assert notes(labels, predicted) == []


@pytest.mark.parametrize(("labels", "predicted"), [([5, 5], [297, 3]), ([2, 2], [60, 0])])
def test_nearly_all_rows_in_one_class(labels, predicted):
    (note,) = notes(labels, predicted)
    share = "99 %" if predicted[1] else "100 %"
    assert note.startswith(f"{share} of the unlabelled rows are predicted as no, where the labels")
    assert "class_shares='labels'" in note
    assert "label more rows" in note


def test_one_class_as_expected():
    assert notes([19, 1], [297, 3]) == []
    (scores,) = notes([5, 5], [297, 3], {"no": 0.99, "yes": 0.01})
    assert scores == "the scores are those of the models before class_shares is applied"


def test_one_class_against_class_shares():
    first, _ = notes([5, 5], [297, 3], {"no": 0.6, "yes": 0.4})
    assert "predicted as no, where class_shares says 60 %" in first
    assert "'labels'" not in first


def test_several_classes_are_compared_by_their_difference():
    (note,) = notes([20, 20, 20], [300, 60, 40])
    assert "(no has 75 % of the predictions and 33 % of the labels; maybe has 10 %" in note
    assert "yes has" not in note


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.9, 0.1], [0.7, 0.2, 0.1], [0.1] * 10])
@pytest.mark.parametrize("l", [10, 40])
def test_random_labels_are_rarely_far(shares, l):
    """The rule is wrong for at most about one random sample in a hundred."""
    draws = multinomial.rvs(l, shares, size=2000, random_state=0)
    u = 10_000
    found = [_are_far(given, np.round(u * np.array(shares)).astype(int)) for given in draws]
    assert np.mean(found) <= 0.015


# ---------------------------------------------------------------- the default


def test_the_default_gains_from_known_shares():
    gains = []
    for seed in range(3):
        X, y, truth = unbalanced(gap=2.0, seed=seed)
        rest = y < 0
        plain = fit_quietly(SemiSupervisedClassifier(method="manifold"), X, y)
        model = SemiSupervisedClassifier(method="manifold", class_shares={0: 0.9, 1: 0.1})
        fit_quietly(model, X, y)
        accuracy = [np.mean(m.transduction_[rest] == truth[rest]) for m in (plain, model)]
        gains.append(accuracy[1] - accuracy[0])
    assert min(gains) > 0.0
    assert np.mean(gains) > 0.02


@pytest.mark.parametrize("method", ["auto", "supervised", "graph", "margin"])
def test_all_that_the_default_says_is_consistent(method):
    X, y, _ = unbalanced()
    shares = {0: 0.9, 1: 0.1}
    model = fit_quietly(SemiSupervisedClassifier(method=method, class_shares=shares), X, y)
    P, rest = model.label_distributions_, y < 0
    np.testing.assert_allclose(P[rest].mean(axis=0), [0.9, 0.1], atol=1e-8, rtol=0)
    np.testing.assert_array_equal(model.transduction_[rest], P.argmax(axis=1)[rest])
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    np.testing.assert_array_equal(model.predict(X, reject=1e-9), model.predict(X))
    if method == "supervised":
        np.testing.assert_array_equal(model.supervised_transduction_, P.argmax(axis=1))


def test_notes_follow_added_labels():
    X, y, truth = unbalanced()
    model = fit_quietly(SemiSupervisedClassifier(), X, y)
    assert "differ from those among the labels" in model.report_.warnings[0]
    for text in (str(model.report_), model.report_._repr_html_()):
        assert "class_shares={class: share, …}" in " ".join(text.split()).replace("&#x27;", "'")
    rows = np.flatnonzero(y < 0)[:150]  # a random sample, and most of the labels
    model.add_labels(rows, truth[rows])
    assert not any("class_shares" in note for note in model.report_.warnings)


def test_the_margin_family_has_the_shares_as_its_ratio(monkeypatch):
    X, y, _ = unbalanced(80)
    seen = []

    class Recorded(margin_family.S3VC):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.asarray(self.positive_ratio))
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(margin_family, "S3VC", Recorded)
    fit_quietly(SemiSupervisedClassifier("margin", class_shares={0: 0.8, 1: 0.2}), X, y)
    np.testing.assert_allclose(seen, np.tile([0.8, 0.2], (len(seen), 1)), rtol=1e-12)
    seen.clear()
    fit_quietly(SemiSupervisedClassifier("margin"), X, y)
    np.testing.assert_allclose(seen[-1], [0.5, 0.5], rtol=1e-12)


def test_a_fold_without_a_class_has_the_shares_of_the_others(monkeypatch):
    X, y, _ = unbalanced(80)
    model = fit_quietly(SemiSupervisedClassifier("margin", class_shares="labels"), X, y)
    family = model._setup.families[MARGIN]
    codes = np.array([0, 0, 1, 1])
    signs = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    labels = Labels(np.arange(4), signs, np.ones(4), codes, np.array([0.6, 0.2, 0.2]))
    seen = []

    class Recorded(margin_family.S3VC):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.asarray(self.positive_ratio))
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(margin_family, "S3VC", Recorded)
    family.fit_some({"width": None, "reg": 0.01}, labels, slice(None))
    np.testing.assert_allclose(seen, [[0.75, 0.25]], rtol=1e-12)
