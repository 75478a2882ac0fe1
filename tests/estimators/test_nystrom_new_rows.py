"""NystromLGCClassifier as a function of any row: new rows, labelled ones, duplicates, blocks."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

import lapwing
from helpers import data
from helpers.data import gaussian
from helpers.in_blocks import cut, same_model
from lapwing import NystromLGCClassifier
from lapwing.spaces.predictors import SpreadShares

GAMMA, ALPHA = 0.6, 0.9

blobs = partial(data.blobs, n=90, n_labelled=12, d=3)
METHODS = ("predict", "predict_proba", "decision_function")


def lgc(**parameters):
    settings = {"alpha": ALPHA, "n_landmarks": 30, "gamma": GAMMA}
    return NystromLGCClassifier(**(settings | parameters))


def shares(F):
    return F / np.abs(F).sum(axis=1, keepdims=True)


def one_column(values):
    return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values


def spread(X, new, model, Y, alpha=ALPHA):
    """F/(1-α) of training rows and of new ones, by dense n × n algebra.

    S of a new row are its similarities to the training rows, over the roots of both degrees.
    """
    rows, U = np.vstack([X, new]), model.landmarks_
    E, n = gaussian(rows, U, GAMMA), len(X)
    inverse = np.linalg.pinv(gaussian(U, U, GAMMA), rcond=1e-10, hermitian=True)
    K = E @ inverse @ E.T
    degrees = np.maximum(K[:, :n].sum(axis=1), np.diag(K))
    S = K / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(S[:n, :n])
    gain = 1 / (np.maximum(values, 1.0) * (1 - alpha * np.clip(values, 0.0, 1.0)))
    reached = alpha * S[:, :n] @ (vectors * gain) @ vectors.T @ Y
    return reached[:n] + Y, reached[n:]


def one_hot(y, weights=None):
    Y = (y[:, None] == np.arange(y.max() + 1)).astype(float)
    return Y if weights is None else Y * weights[:, None]


# ---------------------------------------------------------------- new rows


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.1, 0.999])
@pytest.mark.parametrize("n_landmarks", [3, 30])
def test_new_rows_have_the_values_of_the_formula(n_classes, alpha, n_landmarks):
    X, y, _ = blobs(n_classes=n_classes)
    new, _, _ = blobs(n=40, n_classes=n_classes, seed=5)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = lgc(alpha=alpha, n_landmarks=n_landmarks).fit(X, y, sample_weight=weights)
    _, F = spread(X, new, model, one_hot(y, weights), alpha)
    np.testing.assert_allclose(model.decision_function(new), one_column(shares(F)), atol=1e-8)
    np.testing.assert_array_equal(model.predict(new), F.argmax(axis=1))


@pytest.mark.parametrize("prior", ["labeled", "equal", {0: 1.0, 1: 2.0, 2: 3.0}])
def test_new_rows_have_the_factors_of_the_training_rows(prior):
    X, y, _ = blobs()
    y[[0, 3, 6]] = -1  # classes of 1, 4 and 4 labels
    new, _, _ = blobs(n=40, seed=5)
    model = lgc(class_prior=prior).fit(X, y)
    of_training, F = spread(X, new, model, one_hot(y))
    expected = {"labeled": [2, 5, 5], "equal": [1, 1, 1]}.get(str(prior), [1, 2, 3])
    F = F * expected / of_training.sum(axis=0)
    np.testing.assert_allclose(model.decision_function(new), shares(F), atol=1e-8)


def test_two_moons():
    X, truth = make_moons(400, noise=0.06, random_state=0)
    y = np.full(400, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:4]] = c
    model = NystromLGCClassifier(n_landmarks=80, gamma=100.0).fit(X, y)
    new, truth = make_moons(400, noise=0.06, random_state=1)
    assert model.score(new, truth) > 0.95


def test_new_rows_out_of_reach_have_no_values():
    X, y, _ = blobs()
    model = lgc().fit(X, y)
    far = X + 1e3
    np.testing.assert_array_equal(model.decision_function(far), 0.0)
    np.testing.assert_allclose(model.predict_proba(far), 1 / 3)


# ---------------------------------------------------------------- training rows


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("method", METHODS)
def test_training_rows_are_found_again_in_any_order(form, method):
    X, y, _ = blobs()
    X = np.round(8 * X) / 8  # exact in every form
    X, first = np.unique(X, axis=0, return_index=True)
    y = y[first]
    model = lgc().fit(form(X), y)
    order = np.random.default_rng(0).permutation(len(X))
    found = getattr(model, method)(form(X[order]))
    tol = 1e-6 if form is np.float32 else 1e-12
    np.testing.assert_allclose(found, getattr(model, method)(form(X))[order], atol=tol)
    F, _ = spread(X, X[:0], model, one_hot(y))
    np.testing.assert_allclose(model.decision_function(form(X)), shares(F), atol=1e-5)


def test_a_label_counts_for_its_own_row_alone():
    X, y, _ = blobs()
    model = lgc().fit(X, y)
    near = X[:12].copy()
    near[:, 2] = np.nextafter(near[:, 2], np.inf)
    F, without = spread(X, near, model, one_hot(y))
    np.testing.assert_allclose(model.decision_function(X[:12]), shares(F[:12]), atol=1e-8)
    np.testing.assert_allclose(model.decision_function(near), shares(without), atol=1e-8)
    assert np.abs(shares(F[:12]) - shares(without)).max() > 0.01


def with_duplicates():
    """Rows of which some equal labelled ones, whose labels are those of another class."""
    X, y, truth = blobs()
    y[:4] = (truth[:4] + 1) % 3
    X[50:54], X[12:16] = X[:4], X[:4]  # before and after them
    order = np.r_[12:16, 0:12, 16:90]
    X, y = X[order], y[order]
    X[60], y[60] = X[4], (y[4] + 1) % 3  # the same row with another label
    assert (X[4] == X[0]).all()
    return X, y


def test_duplicates_of_labelled_rows():
    X, y = with_duplicates()
    model = lgc().fit(X, y)
    F, _ = spread(X, X[:0], model, one_hot(y))
    # Each row has its own label or none.
    expected = np.where(y >= 0, y, F.argmax(axis=1))
    np.testing.assert_array_equal(model.transduction_, expected)
    assert (model.transduction_[:4] != y[4:8]).any()
    # A row alone does not say which of its duplicates it is: the label counts, the first of two.
    found, values = model.decision_function(X), shares(F)
    np.testing.assert_allclose(found[:4], values[4:8], atol=1e-8)
    np.testing.assert_allclose(found[50:54], values[4:8], atol=1e-8)
    np.testing.assert_allclose(found[60], values[4], atol=1e-8)
    others = np.r_[4:50, 54:60, 61:90]
    np.testing.assert_allclose(found[others], values[others], atol=1e-8)


@pytest.mark.parametrize("shares", [None, "labels"])
def test_duplicates_in_blocks(shares):
    X, y = with_duplicates()
    model = lgc(class_shares=shares, class_prior="labeled")
    plain = model.fit(X, y)
    found = lgc(class_shares=shares, class_prior="labeled").fit(cut(X, [2, 52]), y)
    same_model(found, plain, X)


# ---------------------------------------------------------------- blocks


def test_lost_rows_are_counted_in_blocks():
    X = np.sort(np.random.default_rng(0).normal(size=90))[:, None]
    y = np.full(90, -1)
    y[[10, 50, 80]] = 0, 1, 1
    weights = np.ones(90)
    weights[50] = 1e-40  # a label that is rounding as well
    messages, models = [], []
    for rows in (X, cut(X, [0, 11, 60])):
        model = NystromLGCClassifier(gamma=1e5, class_prior="equal")
        with pytest.warns(UserWarning, match=r"\d+ rows are so far from all labels") as caught:
            models.append(model.fit(rows, y, weights))
        messages += [str(one.message) for one in caught if "so far" in str(one.message)]
    assert len(messages) == 2
    assert messages[0] == messages[1]
    np.testing.assert_allclose(models[1].class_mass_, models[0].class_mass_, rtol=1e-12)
    # The shares of rows near the limit are rounding.
    np.testing.assert_array_equal(models[1].transduction_, models[0].transduction_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_rows_labelled_in_blocks(n_classes):
    X, _, truth = blobs(n_classes=n_classes)
    plain = lgc(class_shares="labels").fit(X, truth)
    found = lgc(class_shares="labels").fit(cut(X, [40]), truth)
    same_model(found, plain, X)
    np.testing.assert_allclose(found.class_mass_, plain.class_mass_, rtol=1e-10)
    assert found.temperature_ == pytest.approx(plain.temperature_, rel=1e-6)


def test_sparse_blocks():
    X, y, _ = blobs()
    X[np.abs(X) < 0.5] = 0.0
    plain = lgc().fit(sp.csr_matrix(X), y)
    found = lgc().fit([sp.csr_matrix(block) for block in cut(X, [40])], y)
    same_model(found, plain, sp.csr_matrix(X))


def test_a_model_of_blocks_does_not_grow_with_the_rows():
    sizes = []
    for n in (200, 5000):
        X, y, _ = blobs(n=n)
        model = lgc().fit(cut(X, [n // 2]), y)
        sizes.append(len(pickle.dumps(model)))
    assert abs(sizes[1] - sizes[0]) < 500


# ---------------------------------------------------------------- life


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("settings", [{}, {"class_shares": "labels"}])
def test_stored_models_predict_new_rows(form, settings, tmp_path):
    X, y, truth = blobs()
    new = form(np.vstack([X[:20], blobs(n=40, seed=5)[0]]))
    model = lgc(**settings).fit(form(X), y)
    lapwing.save(model, tmp_path / "model.lapwing")
    loaded = lapwing.load(tmp_path / "model.lapwing")
    for again in (loaded, pickle.loads(pickle.dumps(model))):
        for method in METHODS:
            np.testing.assert_array_equal(getattr(again, method)(new), getattr(model, method)(new))
    part = loaded.predictor_.parts[0] if settings else loaded.predictor_
    assert isinstance(part, SpreadShares)
    assert part.graph is loaded._system.graph  # stored once
    grown = loaded.add_labels([50, 51], truth[[50, 51]])
    labels = y.copy()
    labels[[50, 51]] = truth[[50, 51]]
    expected = lgc(**settings).fit(form(X), labels)
    np.testing.assert_allclose(
        grown.decision_function(new), expected.decision_function(new), atol=1e-8
    )


def test_predictions_do_not_warn():
    X, y, _ = blobs()
    model = lgc().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (X, X + 3.0, X + 15.0, 1e6 * X):
            assert np.isfinite(model.predict_proba(rows)).all()
