"""The self-training family: a naive version with scikit-learn, folds, sparse rows, files."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.datasets import load_digits, make_blobs
from sklearn.linear_model import LogisticRegression

import lapwing
from lapwing import SemiSupervisedClassifier
from lapwing.auto import limits, self_training_family
from lapwing.auto.candidate_settings import SETTINGS
from lapwing.auto.folds import make_folds
from lapwing.auto.labels import Labels
from lapwing.auto.scaling import learn_scaling
from lapwing.auto.self_training_family import Coordinates, SelfTrainingFamily, fit_logistic

OWN = SETTINGS["self-training"]


def few_labels(y, per_class, classes=None):
    """Labels of the first rows of each class; of some classes only, if they are given."""
    n_classes = int(y.max()) + 1
    given = range(n_classes) if classes is None else classes
    index = np.sort(np.concatenate([np.flatnonzero(y == k)[:per_class] for k in given]))
    targets = np.where(y[index][:, None] == np.arange(n_classes), 1.0, -1.0)
    targets = targets[:, 1:] if n_classes == 2 else targets
    return Labels(index, targets, np.linspace(0.5, 1.5, len(index)), y[index])


@pytest.fixture(scope="module", params=[2, 5])
def data(request):
    X, y = load_digits(n_class=request.param, return_X_y=True)
    X, y = X[:250], y[:250]
    return learn_scaling(X).apply(X), y, few_labels(y, 4)


@pytest.fixture
def exact(monkeypatch):
    """Minimise until nothing changes."""
    stop = {"maxiter": 10_000, "maxfun": 100_000, "gtol": 1e-10, "ftol": 0.0}
    monkeypatch.setattr(self_training_family, "_STOP", stop)


def columns(values):
    """One column for two classes, else differences from the mean: softmax scores have no level."""
    if values.shape[1] == 2:
        return values[:, 1:] - values[:, :1]
    return values - values.mean(axis=1, keepdims=True)


def naive(X, y, labels, added, reg):
    """The same from the definition, in the columns of X, row by row."""
    n_classes = len(np.unique(y))
    unlabelled = np.setdiff1d(np.arange(len(X)), labels.index)
    weights = labels.even_weights
    rows, codes, all_weights = X[labels.index], labels.codes, weights

    def scores(rows, codes, all_weights):
        # For two classes scikit-learn penalises ‖w₁ − w₀‖², which is twice ‖w₀‖² + ‖w₁‖².
        C = (2.0 if n_classes == 2 else 1.0) / reg
        model = LogisticRegression(C=C, tol=1e-10, max_iter=20_000).fit(rows, codes, all_weights)
        f = model.decision_function(X)
        return np.column_stack([np.zeros(len(f)), f]) if n_classes == 2 else f

    def offsets(f):
        return -np.log(softmax(f[unlabelled], axis=1).mean(axis=0) * n_classes)

    f = scores(rows, codes, all_weights)
    for t in range(1, 9):
        P = softmax(f + offsets(f), axis=1)
        chosen = []
        for k in range(n_classes):
            own = [i for i in unlabelled if P[i].argmax() == k]
            own.sort(key=lambda i: -P[i].max())
            count = int(np.ceil(t / 8 * len(own)))
            chosen += own[:count] if added == "surest" else [i for i in own if P[i].max() > 0.75]
        weight = min(0.5, 5.0 * weights.sum() / max(len(chosen), 1))
        rows = np.vstack([X[labels.index], X[chosen]])
        codes = np.append(labels.codes, P.argmax(axis=1)[chosen]).astype(int)
        f = scores(rows, codes, np.append(weights, np.full(len(chosen), weight)))
    return columns(f + offsets(f))


@pytest.mark.parametrize("own", OWN)
def test_it_is_logistic_regression_on_its_own_predictions(data, exact, own):
    X, y, labels = data
    values, function = SelfTrainingFamily(X, 0).fit(own, labels)
    expected = naive(X, y, labels, own["added"], own["reg"])
    np.testing.assert_allclose(values, expected, atol=1e-3 * np.abs(expected).max())
    np.testing.assert_array_equal(function.values(X), values)


def test_without_unlabelled_rows_it_is_logistic_regression(data, exact):
    X, _, labels = data
    X, codes = X[labels.index], labels.codes
    labels = Labels(np.arange(len(X)), labels.targets, labels.weights, codes)
    for own in OWN:
        values, _ = SelfTrainingFamily(X, 0).fit(own, labels)
        C = (2.0 if labels.targets.shape[1] == 1 else 1.0) / own["reg"]
        model = LogisticRegression(C=C, tol=1e-10, max_iter=20_000)
        expected = model.fit(X, codes, labels.even_weights).decision_function(X)
        expected = expected.reshape(len(X), -1)
        if expected.shape[1] > 1:
            expected = columns(expected)
        np.testing.assert_allclose(values, expected, atol=1e-4 * np.abs(expected).max())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 5), reg=st.sampled_from([0.01, 0.1]))
def test_the_minimum_has_no_slope(seed, n_classes, reg):
    """And the default stopping rule comes close: predictions hardly differ."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((40, 6)) * np.logspace(0, -2, 6)
    codes = np.append(np.arange(n_classes), rng.integers(n_classes, size=40 - n_classes))
    weights, start = rng.uniform(0.1, 2.0, 40), np.zeros((7, n_classes))
    W = fit_logistic(Z, codes, weights, reg, start)
    P = softmax(Z @ W[:-1] + W[-1], axis=1)
    residual = weights[:, None] * (P - (codes[:, None] == np.arange(n_classes)))
    slope = np.vstack([Z.T @ residual + reg * W[:-1], residual.sum(axis=0)])
    assert np.abs(slope).max() < 0.05 * weights.sum()
    np.testing.assert_allclose(W.sum(axis=1), 0.0, atol=1e-8)


@pytest.mark.parametrize("own", OWN)
def test_folds_are_fits_without_the_labels_held_out(data, own):
    X, _, labels = data
    sample = np.arange(100, 140)
    folds = make_folds(labels.codes, len(labels.index), 0)[:4]
    (setting,) = (
        s for s in SelfTrainingFamily(X, 0).candidates(labels, sample) if s.settings == own
    )
    assert setting.values_of_folds(labels, []) == []
    found = setting.values_of_folds(labels, folds)
    for (train, test), (held_out, on_sample) in zip(folds, found, strict=True):
        values, _ = SelfTrainingFamily(X, 0).fit(own, labels.take(train))
        np.testing.assert_allclose(held_out, values[labels.index[test]], atol=1e-8)
        np.testing.assert_allclose(on_sample, values[sample], atol=1e-8)


@pytest.mark.parametrize("own", OWN)
def test_sparse_rows_give_what_dense_ones_give(data, exact, own):
    X, _, labels = data
    dense, _ = SelfTrainingFamily(X, 0).fit(own, labels)
    sparse, function = SelfTrainingFamily(sp.csr_matrix(X), 0).fit(own, labels)
    np.testing.assert_allclose(sparse, dense, atol=1e-5 * np.abs(dense).max())
    np.testing.assert_allclose(function.values(X), sparse, atol=1e-8)


def test_sparse_rows_are_never_made_dense():
    """Dense rows of ten million columns would take 4.8 GB, and a few of them 80 MB each."""
    n, d = 60, 10**7
    y, rng = np.arange(n) % 4, np.random.default_rng(0)
    columns = np.column_stack([y, rng.integers(d, size=(n, 5))]).ravel()
    X = sp.csr_matrix((np.ones(6 * n), (np.repeat(np.arange(n), 6), columns)), shape=(n, d))
    labels, sample = few_labels(y, 3), np.arange(30, 50)
    folds = make_folds(labels.codes, 12, 0)[:2]
    tracemalloc.start()
    for setting in SelfTrainingFamily(X, 0).candidates(labels, sample):
        for _, on_sample in setting.values_of_folds(labels, folds):
            assert (on_sample.argmax(axis=1) == y[sample]).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 8 * d  # SciPy has a few vectors of one entry a column


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_class_without_a_label_is_not_predicted(own, missing):
    X, y = make_blobs(90, centers=[[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], random_state=0)
    X = learn_scaling(X).apply(X)
    labels = few_labels(y, 4, [k for k in range(3) if k != missing])
    values, function = SelfTrainingFamily(X, 0).fit(own, labels)
    assert values.shape == (90, 3)
    others = y != missing
    assert (values.argmax(axis=1) != missing).all()
    assert np.mean(values.argmax(axis=1)[others] == y[others]) > 0.95
    np.testing.assert_array_equal(function.values(X), values)


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("present", [0, 1])
def test_one_class_of_two(own, present):
    X, y = make_blobs(50, centers=2, random_state=0)
    labels = few_labels(y, 4, [present])
    values, _ = SelfTrainingFamily(X, 0).fit(own, labels)
    assert values.shape == (50, 1)
    assert ((values[:, 0] > 0) == (present == 1)).all()


@pytest.mark.parametrize("own", OWN)
def test_constant_rows(own):
    labels = few_labels(np.arange(20) % 4, 2)
    values, _ = SelfTrainingFamily(np.zeros((20, 3)), 0).fit(own, labels)
    np.testing.assert_allclose(values, 0.0, atol=1e-8)


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("many", [0, 2])
def test_numbers_of_labels_are_not_taken_for_shares(own, many):
    X, y = make_blobs(300, centers=[[-3.0, 0.0], [3.0, 0.0], [0.0, 4.0]], random_state=0)
    X = learn_scaling(X).apply(X)
    counts = np.where(np.arange(3) == many, 40, 2)
    index = np.sort(np.concatenate([np.flatnonzero(y == k)[: counts[k]] for k in range(3)]))
    targets = np.where(y[index][:, None] == np.arange(3), 1.0, -1.0)
    labels = Labels(index, targets, np.ones(len(index)), y[index])
    values, _ = SelfTrainingFamily(X, 0).fit(own, labels)
    assert np.mean(values.argmax(axis=1) == y) > 0.93


@pytest.mark.parametrize("own", OWN)
def test_it_follows_expected_shares(own):
    X, y = make_blobs(400, centers=4, cluster_std=6.0, random_state=0)
    X = learn_scaling(X).apply(X)
    found = []
    for share in (0.1, 0.7):
        shares = np.append(np.full(3, (1.0 - share) / 3), share)
        labels = few_labels(y, 5)
        labels = Labels(labels.index, labels.targets, labels.weights, labels.codes, shares=shares)
        values, _ = SelfTrainingFamily(X, 0).fit(own, labels)
        found.append(np.mean(values.argmax(axis=1) == 3))
    assert found[0] < 0.2
    assert found[1] > 0.5


@pytest.mark.parametrize("own", OWN)
def test_it_sees_a_sample_of_many_rows(monkeypatch, own):
    monkeypatch.setattr(limits, "SELF_TRAINING_ROWS", 60)
    X, y = make_blobs(300, centers=[[-5.0, 0.0], [5.0, 0.0], [0.0, 8.0]], random_state=0)
    X = learn_scaling(X).apply(X)
    family = SelfTrainingFamily(X, 0)
    assert len(family.drawn) == family.coordinates.rows.shape[0] == 60
    labels = few_labels(y[::-1], 2)
    labels = Labels(299 - labels.index[::-1], labels.targets[::-1], np.ones(6), labels.codes[::-1])
    values, function = family.fit(own, labels)
    assert np.mean(values.argmax(axis=1) == y) == 1.0
    np.testing.assert_array_equal(function.values(X), values)


def test_coordinates_keep_inner_products(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 7))
    found = Coordinates.fit(X, 0)
    Z = found.of(X)
    assert Z.shape == (50, 7)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-8)
    W = rng.standard_normal((8, 3))
    np.testing.assert_allclose(found.function(W).values(X), Z @ W[:-1] + W[-1], atol=1e-10)
    # With fewer of them, those of the largest variance.
    monkeypatch.setattr(limits, "SELF_TRAINING_COLUMNS", 3)
    U, s, Vt = np.linalg.svd(X * np.logspace(0, -3, 7), full_matrices=False)
    Z = Coordinates.fit(U * s @ Vt, 0).of(U * s @ Vt)
    np.testing.assert_allclose(Z @ Z.T, (U[:, :3] * s[:3] ** 2) @ U[:, :3].T, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_files_and_new_labels(tmp_path, sparse):
    X, truth = load_digits(n_class=5, return_X_y=True)
    X, truth = X[:300], truth[:300]
    X = sp.csr_matrix(X) if sparse else X
    y = np.full(300, -1)
    index = few_labels(truth, 3).index
    y[index] = truth[index]
    model = SemiSupervisedClassifier("self-training").fit(X, y)
    assert model.report_.chosen == "self-training"
    model.save(tmp_path / "model.lapwing")
    loaded = lapwing.load(tmp_path / "model.lapwing")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    more = np.flatnonzero(y == -1)[:4]
    kept = model._setup.families["self-training"].coordinates
    for each in (model, loaded):
        each.add_labels(more, truth[more])
    assert model._setup.families["self-training"].coordinates is kept
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(model.transduction_[more], truth[more])


def test_settings_are_those_of_the_guide():
    assert [tuple(own.values()) for own in OWN] == [("surest", 0.1), ("probable", 0.01)]
    constants = self_training_family
    assert (constants.ROUNDS, constants._PSEUDO_WEIGHT, constants._PSEUDO_LABELS) == (8, 0.5, 5.0)


def text_like(n_classes=5):
    """Sparse rows of 200 words, of which each class uses its own more often; three labels each."""
    rng = np.random.default_rng(0)
    truth = np.arange(250) % n_classes
    own = np.arange(200) % n_classes == truth[:, None]
    X = sp.csr_matrix(rng.poisson(np.where(own, 0.25, 0.06)).astype(float))
    y = np.full(250, -1)
    index = few_labels(truth, 3).index
    y[index] = truth[index]
    return X, y, truth


def families(model):
    return {candidate.family for candidate in model.candidates_}


def test_the_default_tries_it_for_sparse_rows_of_many_classes(monkeypatch):
    X, y, _ = text_like()
    assert "self-training" in families(SemiSupervisedClassifier().fit(X, y))
    assert "self-training" not in families(SemiSupervisedClassifier().fit(X.toarray(), y))
    monkeypatch.setattr(limits, "SELF_TRAINING_CLASSES", 4)
    assert "self-training" not in families(SemiSupervisedClassifier().fit(X, y))
    X, y, _ = text_like(3)
    assert "self-training" not in families(SemiSupervisedClassifier().fit(X, y))


def test_it_uses_unlabelled_rows_of_words():
    X, y, truth = text_like()
    model = SemiSupervisedClassifier("self-training").fit(X, y)
    hidden = y == -1
    supervised = np.mean(model.supervised_transduction_[hidden] == truth[hidden])
    assert np.mean(model.transduction_[hidden] == truth[hidden]) > supervised + 0.05


def test_the_report_names_it_where_the_memory_is_too_small():
    X, y, _ = text_like()
    small = SemiSupervisedClassifier(memory_limit="2MB").fit(X, y).report_
    assert any("self-training families are not tried" in note for note in small.warnings)
    report = SemiSupervisedClassifier("self-training").fit(X, y).report_
    assert "predictions, regularisation 0." in str(report)
