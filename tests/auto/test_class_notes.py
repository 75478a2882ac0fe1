"""Known class shares in the default, and what its report says about predicted shares."""

import numpy as np
import pytest
from scipy.stats import multinomial

from helpers.data import fit_quietly, unbalanced
from lapwing import SemiSupervisedClassifier
from lapwing.auto.class_notes import _are_far, class_notes
from lapwing.auto.labels import Labels
from lapwing.auto.margin_family import Columns
from lapwing.estimators.targets import class_targets


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


@pytest.mark.parametrize("method", ["auto", "supervised", "graph", "margin", "self-training"])
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
    X, y, truth = unbalanced(gap=4.0)
    model = fit_quietly(SemiSupervisedClassifier(), X, y)
    assert "differ from those among the labels" in model.report_.warnings[0]
    for text in (str(model.report_), model.report_._repr_html_()):
        assert "class_shares={class: share, …}" in " ".join(text.split()).replace("&#x27;", "'")
    rows = np.flatnonzero(y < 0)[:150]  # a random sample, and most of the labels
    model.add_labels(rows, truth[rows])
    assert not any("class_shares" in note for note in model.report_.warnings)


def ratios(codes, shares):
    """Expected shares of three classes in one column each, for labels with these codes."""
    codes = np.array(codes)
    signs = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    known = None if shares is None else np.array(shares)
    labels = Labels(np.arange(len(codes)), signs, np.ones(len(codes)), codes, shares=known)
    return Columns.of(labels, [np.arange(len(codes))]).ratio


def test_the_margin_family_has_the_shares_as_its_ratio():
    np.testing.assert_allclose(ratios([0, 0, 1, 2], [0.6, 0.3, 0.1]), [0.6, 0.3, 0.1])
    np.testing.assert_allclose(ratios([0, 0, 1, 2], None), [1 / 3] * 3)


def test_a_fold_without_a_class_has_the_shares_of_the_others():
    np.testing.assert_allclose(ratios([0, 0, 1, 1], [0.6, 0.2, 0.2]), [0.75, 0.25, 0.0])


def test_the_margin_family_follows_the_shares():
    X, y, _ = unbalanced(80)
    found = [
        fit_quietly(SemiSupervisedClassifier("margin", class_shares={0: 1 - p, 1: p}), X, y)
        for p in (0.1, 0.5)
    ]
    rare, even = (np.mean(model.transduction_[y < 0] == 1) for model in found)
    assert rare < 0.25
    assert even > 0.35
