"""PVMClassifier and PVMRegressor: weights, scales, and the number of prototypes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from helpers.pvm import blobs, decide, dense_terms, every_choice, every_loss, every_model
from lapwing import PVMClassifier
from lapwing.estimators import row_source


def test_scale_is_the_sum_of_degrees_over_that_of_weights():
    X, y, _ = blobs()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = PVMClassifier(n_prototypes=15, class_weight={0: 1.0, 1: 3.0})
    model.fit(X, y, sample_weight=weights)
    _, _, K = dense_terms(model, X)
    total = (weights * np.where(y == 1, 3.0, 1.0))[:20].sum()
    assert model.reg_labeled_ == pytest.approx(K.sum() / total, rel=1e-9)


@every_model
def test_the_unit_of_weights_does_not_matter(model):
    X, y, _ = blobs()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    plain = clone(model).fit(X, y, sample_weight=weights)
    scaled = clone(model).fit(X, y, sample_weight=1e5 * weights)
    np.testing.assert_allclose(decide(scaled, X), decide(plain, X), atol=1e-7)


@every_model
@every_choice
def test_the_unit_the_origin_and_the_order_of_rows_do_not_matter(model, normalize):
    # Distinct rows as prototypes: k-means would depend on the order.
    X, y, _ = blobs(n=60, n_labelled=10)
    model = clone(model).set_params(n_prototypes=60, normalize_rows=normalize)
    plain = decide(clone(model).fit(X, y), X)
    moved = 1e3 * X + 7e3
    np.testing.assert_allclose(decide(clone(model).fit(moved, y), moved), plain, atol=1e-5)
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(decide(clone(model).fit(X[order], y[order]), X), plain, atol=1e-6)


@every_model
@every_choice
def test_all_rows_twice_change_nothing(model, normalize):
    # The graph's term and, by "scale", that of the labels are four times as large.
    X, y, _ = blobs(n=60, n_labelled=10)
    model = clone(model).set_params(n_prototypes=60, normalize_rows=normalize)
    plain = clone(model).fit(X, y)
    twice = clone(model).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert twice.prototypes_.shape == plain.prototypes_.shape
    assert twice.reg_labeled_ == pytest.approx(2 * plain.reg_labeled_)
    np.testing.assert_allclose(decide(twice, X), decide(plain, X), atol=1e-6)


@every_loss
def test_weights_of_classes_are_weights_of_rows(loss):
    X, y, _ = blobs(gap=1.0)
    model = PVMClassifier(loss, n_prototypes=12, reg_labeled=0.05)
    by_class = clone(model).set_params(class_weight={0: 1.0, 1: 2.0}).fit(X, y)
    by_row = clone(model).fit(X, y, sample_weight=np.where(y == 1, 2.0, 1.0))
    plain = clone(model).fit(X, y)
    np.testing.assert_allclose(decide(by_class, X), decide(by_row, X), atol=1e-8)
    assert not np.allclose(decide(by_class, X), decide(plain, X), atol=1e-3)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(decide(balanced, X), decide(plain, X), atol=1e-8)  # 10 of each


@every_model
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.5])
def test_labels_of_weight_zero_count_as_none(model, reg_unlabeled):
    X, y, _ = blobs()
    weights = np.where(np.arange(200) < 5, 0.0, 1.0)
    model = clone(model).set_params(reg_unlabeled=reg_unlabeled)
    without = clone(model).fit(X, np.where(weights > 0, y, -1))
    weighted = clone(model).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(decide(weighted, X), decide(without, X), atol=1e-9)
    np.testing.assert_array_equal(weighted.transduction_[:20], y[:20])


def test_more_weight_brings_prototypes_to_labelled_rows(monkeypatch):
    X, y, _ = blobs(n=600, n_labelled=8)

    def distance(model):
        V = model.fit(X, y).prototypes_
        return np.sqrt(((X[:8, None] - V[None]) ** 2).sum(axis=2)).min(axis=1).mean()

    for _ in range(2):
        plain = PVMClassifier(n_prototypes=10)
        default = plain.fit(X, y).prototypes_
        np.testing.assert_array_equal(
            plain.set_params(labeled_weight=1.0).fit(X, y).prototypes_, default
        )
        distances = [
            distance(PVMClassifier(n_prototypes=10, labeled_weight=w)) for w in (1, 30, 1e4)
        ]
        assert distances[0] > distances[1] > distances[2]
        assert distances[2] < 0.5 * distances[0]  # k-means of some versions merges two of them
        # And once more with a sample that does not hold all labelled rows.
        monkeypatch.setattr(row_source, "kmeans_rows", lambda k: 100)


def test_separate_landmarks():
    X, y, _ = blobs()
    model = PVMClassifier(n_prototypes=10, n_landmarks=25).fit(X, y)
    assert model.prototypes_.shape == (10, 3)
    assert model.landmarks_.shape == (25, 3)
    same = PVMClassifier(n_prototypes=10).fit(X, y)
    assert same.landmarks_ is same.prototypes_
    np.testing.assert_array_equal(same.prototypes_, model.prototypes_)
    assert not np.allclose(decide(same, X), decide(model, X), atol=1e-4)


@pytest.mark.parametrize(("n", "k"), [(5, 5), (150, 100), (1500, 150), (6000, 500)])
def test_automatic_number_of_prototypes(n, k):
    X, y, _ = blobs(n=n, n_labelled=4)
    found = len(PVMClassifier().fit(X, y).prototypes_)
    assert 0.95 * k <= found <= k  # centres of k-means that are equal count once


@every_loss
def test_two_moons(loss):
    X, truth = make_moons(1000, noise=0.06, random_state=0)
    y = np.full(1000, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:3]] = c
    model = PVMClassifier(loss, n_prototypes=30).fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.98
    X_new, truth_new = make_moons(200, noise=0.06, random_state=7)
    assert model.score(X_new, truth_new) > 0.97
    probability = model.predict_proba(X_new)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X_new))
