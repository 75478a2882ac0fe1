"""NystromLGCClassifier against dense n × n algebra; what it refuses; and its life."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from helpers import data
from helpers.data import gaussian
from lapwing import NystromLGCClassifier
from lapwing.estimators import nystrom_lgc

GAMMA, ALPHA = 0.6, 0.9
PRIORS = (None, "labeled", "equal", {0: 1.0, 1: 2.0, 2: 3.0}, [0.6, 0.3, 0.1])


blobs = partial(data.blobs, n=90, n_labelled=12, d=3)


def lgc(**parameters):
    settings = {"alpha": ALPHA, "n_landmarks": 30, "gamma": GAMMA}
    return NystromLGCClassifier(**(settings | parameters))


def low_rank(X, U, gamma=GAMMA):
    """K̃ of all rows, without directions that W does not have."""
    E = gaussian(X, U, gamma)
    return E @ np.linalg.pinv(gaussian(U, U, gamma), rcond=1e-10, hermitian=True) @ E.T


def naive_values(K, y, alpha=ALPHA, weights=None, n_classes=None):
    """F by dense algebra, for whole numbers y with -1 for unlabelled rows."""
    n = len(y)
    weights = np.ones(n) if weights is None else weights
    degrees = np.maximum(K.sum(axis=1), np.diag(K))
    S = K / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    S = (vectors * np.clip(values, 0.0, 1.0)) @ vectors.T
    Y = np.zeros((n, n_classes or y.max() + 1))
    for i in range(n):
        if y[i] >= 0:
            Y[i, y[i]] = weights[i]
    return (1 - alpha) * np.linalg.solve(np.eye(n) - alpha * S, Y)


def shares(F):
    return F / np.abs(F).sum(axis=1, keepdims=True)


def expected_shares(prior, counts):
    if prior == "labeled":
        return (counts + 1) / (counts + 1).sum()
    if prior == "equal":
        return np.full(3, 1 / 3)
    given = np.array(list(prior.values()) if isinstance(prior, dict) else prior)
    return given / given.sum()


def one_column(values):
    return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.1, 0.9, 0.999])
@pytest.mark.parametrize("n_landmarks", [3, 30])
def test_values_equal_dense_algebra(n_classes, alpha, n_landmarks):
    X, y, _ = blobs(n_classes=n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = lgc(alpha=alpha, n_landmarks=n_landmarks).fit(X, y, sample_weight=weights)
    assert model.landmarks_.shape == (n_landmarks, 3)
    F = naive_values(low_rank(X, model.landmarks_), y, alpha, weights)
    np.testing.assert_allclose(model.decision_function(X), one_column(shares(F)), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), F.argmax(axis=1))
    np.testing.assert_array_equal(model.transduction_, np.where(y >= 0, y, F.argmax(axis=1)))
    mass = F.sum(axis=0)
    np.testing.assert_allclose(model.class_mass_, mass / np.abs(mass).sum(), atol=1e-9)


@pytest.mark.parametrize("gamma", [1.0, 5.0])
def test_all_rows_as_landmarks_are_the_full_graph(gamma):
    X, y, _ = blobs()
    model = lgc(n_landmarks=1000, gamma=gamma).fit(X, y)
    assert model.landmarks_.shape == X.shape
    K = gaussian(X, X, gamma)
    assert np.linalg.cond(K) < 1e8
    degrees = K.sum(axis=1)
    F = np.linalg.solve(
        np.eye(90) - ALPHA * K / np.sqrt(np.outer(degrees, degrees)),
        (y[:, None] == np.arange(3)).astype(float),
    )
    np.testing.assert_allclose(model.decision_function(X), shares(F), atol=1e-6)


def test_degrees_that_come_out_negative(monkeypatch):
    X = np.append(np.linspace(-0.6, -0.4, 50), [2.2, 2.5])[:, None]
    y = np.full(52, -1)
    y[[0, 1, 50]] = 0, 1, 1

    choose, points = nystrom_lgc.landmark_rows, np.array([[0.0], [1.0]])

    def other_points(*given):
        return replace(choose(*given), points=points)

    monkeypatch.setattr(nystrom_lgc, "landmark_rows", other_points)
    model = lgc(n_landmarks=2).fit(X, y)
    K = low_rank(X, model.landmarks_)
    assert (K.sum(axis=1)[50:] < -0.1).all()  # or this is no test
    F = naive_values(K, y)
    np.testing.assert_allclose(model.decision_function(X), one_column(shares(F)), atol=1e-7)


def test_local_width():
    X, y, _ = blobs()
    model = NystromLGCClassifier(n_landmarks=30).fit(X, y)
    squares = ((X[:, None] - model.landmarks_[None]) ** 2).sum(axis=2)
    squares[squares < 1e-14] = np.inf
    assert model.kernel_.gamma == pytest.approx(6.0 / np.median(np.sort(squares)[:, 1]))


def test_two_moons():
    X, truth = make_moons(400, noise=0.06, random_state=0)
    y = np.full(400, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:4]] = c
    model = NystromLGCClassifier(n_landmarks=80, gamma=100.0).fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.95
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X))


def test_more_labelled_rows_than_landmarks():
    X, y, _ = blobs(n_labelled=60)
    model = lgc(n_landmarks=10).fit(X, y)
    assert model.landmarks_.shape == (10, 3)
    F = naive_values(low_rank(X, model.landmarks_), y)
    np.testing.assert_allclose(model.decision_function(X), shares(F), atol=1e-8)
    np.testing.assert_array_equal(model.transduction_[:60], y[:60])


# ---------------------------------------------------------------- weights, priors, held-out values


@pytest.mark.parametrize("prior", PRIORS)
def test_values_add_up_to_the_prior(prior):
    X, y, _ = blobs()
    y[[0, 3, 6]] = -1  # classes of 1, 4 and 4 labels
    model = lgc(class_prior=prior).fit(X, y)
    F = naive_values(low_rank(X, model.landmarks_), y)
    mass = F.sum(axis=0)
    assert (mass > 0).all()
    if prior is not None:
        F = F * expected_shares(prior, np.array([1, 4, 4])) / mass
    np.testing.assert_allclose(model.decision_function(X), shares(F), atol=1e-8)
    np.testing.assert_allclose(model.class_mass_, mass / mass.sum(), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", [None, "labeled", "equal"])
def test_left_out_labels_are_those_of_refits(n_classes, prior):
    X, y, _ = blobs(n_classes=n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))

    class Watched(NystromLGCClassifier):
        def _set_fitted(self, rows, targets, solution, **more):
            more |= {"index_": targets.index, "held_out_": solution.held_out}
            return super()._set_fitted(rows, targets, solution, **more)

    model = Watched(**lgc(class_prior=prior).get_params()).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.index_, np.arange(12))
    for i in range(12):
        without = np.where(np.arange(90) == i, -1, y)
        refit = lgc(class_prior=prior).fit(X, without, sample_weight=weights)
        np.testing.assert_allclose(
            model.held_out_[i], refit.decision_function(X[i : i + 1])[0], atol=1e-8
        )


def test_weights():
    X, y, _ = blobs(n_classes=2)
    by_class = lgc(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    by_row = lgc().fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))
    plain = lgc().fit(X, y)
    assert (by_row.decision_function(X) > plain.decision_function(X)).all()
    scaled = lgc().fit(X, y, sample_weight=np.full(90, 1e-70))
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X))
    weights = np.where(np.arange(90) < 3, 0.0, 1.0)
    zero = lgc().fit(X, y, sample_weight=weights)
    none = lgc().fit(X, np.where(weights > 0, y, -1))
    np.testing.assert_allclose(zero.decision_function(X), none.decision_function(X))
    np.testing.assert_array_equal(zero.transduction_[:3], y[:3])


def test_a_class_without_weight_is_told_and_not_divided_by():
    X, y, _ = blobs()
    weights = np.where(y == 2, 0.0, 1.0)
    with pytest.warns(UserWarning, match=r"next to nothing for \[2\].*set class_prior=None"):
        model = lgc(class_prior="equal").fit(X, y, sample_weight=weights)
    plain = lgc().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


# ---------------------------------------------------------------- forms of rows, edges


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, np.float32, np.asfortranarray, list])
def test_forms_of_rows(form):
    X, y, _ = blobs()
    X = np.round(4 * X) / 4  # exact in every form
    X[np.abs(X) < 0.5] = 0.0
    X = np.unique(X, axis=0)
    y = y[: len(X)]
    plain = lgc().fit(X, y)
    other = lgc().fit(form(X), y)
    np.testing.assert_allclose(
        other.decision_function(form(X)), plain.decision_function(X), atol=1e-7
    )
    np.testing.assert_allclose(other.decision_function(X), plain.decision_function(X), atol=1e-7)


def test_tiles_and_threads_do_not_matter(monkeypatch):
    X, y, _ = blobs()
    plain = lgc().fit(X, y)
    for threads, tile in (("1", 1), ("3", 7), ("8", 64)):
        monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
        monkeypatch.setattr(nystrom_lgc, "tile_rows", lambda m, tile=tile: tile)
        other = lgc().fit(X, y)
        np.testing.assert_allclose(
            other.decision_function(X), plain.decision_function(X), atol=1e-10
        )


def test_rows_out_of_reach():
    X, y, _ = blobs()
    far = np.vstack([X, X[:2] + 1e3, X[:1] + 2e3])
    labels = np.append(y, [-1, 2, -1])
    models = (lgc(n_landmarks=20, random_state=seed).fit(far, labels) for seed in range(20))
    model = next(m for m in models if m.landmarks_.max() < 100)  # none of those three
    values = model.decision_function(far)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values[90:], [[0, 0, 0], [0, 0, 1], [0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(far)[[90, 92]], 1 / 3)
    F = naive_values(low_rank(X, model.landmarks_), y)
    np.testing.assert_allclose(values[:90], shares(F), atol=1e-7)


def test_rounding_decides_nothing():
    """A narrow kernel cuts a line into pieces, of which some hold no label."""
    X = np.sort(np.random.default_rng(0).normal(size=90))[:, None]
    y = np.full(90, -1)
    y[[10, 80]] = 0, 1
    with pytest.warns(UserWarning, match="rows are so far from all labels that rounding hides"):
        model = NystromLGCClassifier(gamma=1e5).fit(X, y)
    K = gaussian(X, X, 1e5)
    joined = (np.linalg.matrix_power(K + np.eye(90), 90)[[10, 80]] > 1e-9).any(axis=0)
    assert 2 <= joined.sum() < 45
    np.testing.assert_array_equal(model.decision_function(X)[~joined], 0.0)


@pytest.mark.parametrize(
    "trouble",
    ["duplicates", "constant column", "all equal", "scales", "tiny", "tiniest", "large", "outlier"],
)
def test_awkward_rows_stay_finite(trouble):
    X, y, _ = blobs(n=60, n_classes=2)
    if trouble == "duplicates":
        X = np.repeat(X[:6], 10, axis=0)
    elif trouble == "constant column":
        X[:, 1] = 3.0
    elif trouble == "all equal":
        X = np.full((60, 4), 0.1)
    elif trouble == "scales":
        X[:, 0] *= 1e8
        X[:, 1] *= 1e-8
    elif trouble == "tiny":
        X *= 1e-100
    elif trouble == "tiniest":
        X *= 1e-160
    elif trouble == "large":
        X *= 1e100
    else:
        X[-1] = 1e9
    model = NystromLGCClassifier(n_landmarks=20).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine"])
def test_other_kernels(kernel):
    X, y, _ = blobs()
    for rows in (np.abs(X) + 0.1, X - X.mean(axis=0)):
        model = NystromLGCClassifier(kernel=kernel, n_landmarks=30).fit(rows, y)
        assert np.isfinite(model.decision_function(rows)).all()


@pytest.mark.parametrize("alpha", [1e-12, 1 - 1e-12])
def test_alpha_at_both_ends(alpha):
    X, y, _ = blobs()
    model = lgc(alpha=alpha).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    np.testing.assert_array_equal(model.transduction_[:12], y[:12])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0.0),
        ("alpha", 1.0),
        ("alpha", np.nan),
        ("alpha", "0.5"),
        ("n_landmarks", 0),
        ("n_landmarks", 2.5),
        ("gamma", -1.0),
        ("gamma", "global"),
        ("class_prior", "balanced"),
        ("class_prior", [0.5, 0.5]),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=f"^{name} must "):
        NystromLGCClassifier(**{name: value}).fit(X, y)


def test_bad_input_is_refused():
    X, y, _ = blobs()
    model = NystromLGCClassifier()
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="no row is labelled"):
        model.fit(X, np.full(90, -1))
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.where(y == 1, 1, -1))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="kernel='precomputed' has no values"):
        NystromLGCClassifier(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(MemoryError, match=r"60 landmarks needs .* lower n_landmarks"):
        NystromLGCClassifier(n_landmarks=60, memory_limit="10kB").fit(X, y)


# ---------------------------------------------------------------- life


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_added_labels_are_those_of_a_new_fit(form):
    X, y, truth = blobs()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    labels = y.copy()
    labels[[50, 51]] = truth[[50, 51]]
    model = lgc(class_prior="labeled")
    before = clone(model).fit(form(X), y, sample_weight=weights)
    grown = clone(model).fit(form(X), y, sample_weight=weights)
    grown.add_labels([50, 51], truth[[50, 51]])
    new = clone(model).fit(form(X), labels, sample_weight=weights)
    np.testing.assert_allclose(grown.decision_function(X), new.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(grown.predict_proba(X), new.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(grown.transduction_, new.transduction_)
    assert not np.allclose(before.decision_function(X), new.decision_function(X))


def test_random_state():
    X, y, _ = blobs()
    first = lgc(random_state=3).fit(X, y)
    np.testing.assert_array_equal(first.landmarks_, lgc(random_state=3).fit(X, y).landmarks_)
    assert not np.array_equal(first.landmarks_, lgc(random_state=4).fit(X, y).landmarks_)
