"""NFIClassifier against the objective of all rows written out densely; and its life."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from helpers import data
from helpers.data import gaussian
from lapwing import NFIClassifier

GAMMA, EPSILON, LAMBDA = 0.6, 0.05, 0.02
PRIORS = (None, "labeled", "equal", {0: 1.0, 1: 2.0, 2: 3.0}, [0.6, 0.3, 0.1])


blobs = partial(data.blobs, n=90, n_labelled=12, d=3)


def nfi(n_landmarks=30, **parameters):
    settings = {"gamma": GAMMA, "epsilon": EPSILON, "reg_manifold": LAMBDA}
    return NFIClassifier(n_landmarks, **(settings | parameters))


def naive_landmark_values(X, y, landmarks, weights=None, gamma=GAMMA, reg=LAMBDA, epsilon=EPSILON):
    """f of the landmarks where all n values minimise the objective; y of -1 is unlabelled."""
    n = len(X)
    weights = np.ones(n) if weights is None else weights
    W = gaussian(X, X, gamma)
    chosen = np.array([(landmarks == row).all(axis=1).any() for row in X])
    assert chosen.sum() == len(landmarks)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if chosen[i] or chosen[j]:  # ½ w (f_i - f_j)², twice
                L[i, i] += 0.5 * W[i, j]
                L[j, j] += 0.5 * W[i, j]
                L[i, j] -= 0.5 * W[i, j]
                L[j, i] -= 0.5 * W[i, j]
    loss = np.where(y >= 0, weights, 0.0)
    Y = np.where(y[:, None] == np.arange(y.max() + 1), 1.0, 0.0)
    f = np.linalg.solve(np.diag(loss) + reg * (L + epsilon * np.eye(n)), loss[:, None] * Y)
    order = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in landmarks]
    return f[order]


def naive_induction(rows, landmarks, values, gamma=GAMMA, epsilon=EPSILON):
    E = gaussian(rows, landmarks, gamma)
    return (E @ values) / (E.sum(axis=1) + epsilon)[:, None]


def shares_of(prior, counts):
    if prior == "labeled":
        return (counts + 1) / (counts + 1).sum()
    if prior == "equal":
        return np.full(3, 1 / 3)
    shares = np.array(list(prior.values()) if isinstance(prior, dict) else prior)
    return shares / shares.sum()


def one_column(values):
    return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values


def watched(model):
    """A copy of the model that keeps the values of labels left out."""

    class Watched(NFIClassifier):
        def _set_fitted(self, rows, targets, solution, **more):
            more |= {"index_": targets.index, "held_out_": solution.held_out}
            return super()._set_fitted(rows, targets, solution, **more)

    return Watched(**model.get_params())


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_landmarks", [12, 30, 90])
def test_landmarks_get_the_values_of_the_dense_objective(n_classes, n_landmarks):
    X, y, _ = blobs(n_classes=n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = nfi(n_landmarks).fit(X, y, sample_weight=weights)
    assert model.landmarks_.shape == (n_landmarks, 3)
    np.testing.assert_array_equal(model.landmarks_[:12], X[:12])
    f = naive_landmark_values(X, y, model.landmarks_, weights)
    np.testing.assert_allclose(model.coef_.T, one_column(f).reshape(n_landmarks, -1), atol=1e-8)
    new = np.random.default_rng(2).normal(size=(40, 3)) + 0.5
    for rows in (X, new):
        values = naive_induction(rows, model.landmarks_, f)
        np.testing.assert_allclose(model.decision_function(rows), one_column(values), atol=1e-8)
        np.testing.assert_array_equal(model.predict(rows), values.argmax(axis=1))
    values = naive_induction(X, model.landmarks_, f)
    np.testing.assert_array_equal(model.transduction_, np.where(y >= 0, y, values.argmax(axis=1)))
    np.testing.assert_allclose(model.class_mass_, values.sum(axis=0) / values.sum())


def test_all_rows_as_landmarks_are_the_full_method():
    X, y, _ = blobs(n_classes=2)
    model = nfi(1000).fit(X, y)
    W = gaussian(X, X, GAMMA)
    labelled = np.diag((y >= 0).astype(float))
    L = np.diag(W.sum(axis=1)) - W
    f = np.linalg.solve(
        labelled + LAMBDA * (L + EPSILON * np.eye(90)),
        labelled @ np.where(y == 1, 1.0, -1.0),
    )
    order = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in model.landmarks_]
    np.testing.assert_allclose(model.coef_[0], f[order], atol=1e-9)
    assert sorted(order) == list(range(90))


def test_more_labelled_rows_than_landmarks():
    X, y, _ = blobs(n_labelled=40)
    model = nfi(10).fit(X, y)
    np.testing.assert_array_equal(model.landmarks_, X[:40])
    f = naive_landmark_values(X, y, X[:40])
    np.testing.assert_allclose(model.coef_.T, f, atol=1e-8)


@pytest.mark.parametrize("reg", [1e-8, 1e-3, 1e3])
@pytest.mark.parametrize("epsilon", [1e-8, 1.0])
def test_weak_and_strong_graphs(reg, epsilon):
    X, y, _ = blobs()
    model = nfi(reg_manifold=reg, epsilon=epsilon).fit(X, y)
    f = naive_landmark_values(X, y, model.landmarks_, reg=reg, epsilon=epsilon)
    np.testing.assert_allclose(model.coef_.T, f, atol=1e-6)


def test_scale_is_the_sum_of_weights_over_that_of_similarities():
    X, y, _ = blobs()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = nfi(reg_manifold="scale", class_weight={0: 1.0, 1: 3.0, 2: 1.0})
    model.fit(X, y, sample_weight=weights)
    total = (weights * np.where(y == 1, 3.0, 1.0))[:12].sum()
    expected = total / gaussian(X, model.landmarks_, GAMMA).sum()
    assert model.reg_manifold_ == pytest.approx(expected, rel=1e-10)
    scaled = clone(model).fit(X, y, sample_weight=1e6 * weights)
    np.testing.assert_allclose(scaled.decision_function(X), model.decision_function(X), atol=1e-9)


def test_local_width():
    X, y, _ = blobs()
    model = NFIClassifier(30).fit(X, y)
    squares = ((X[:, None] - model.landmarks_[None]) ** 2).sum(axis=2)
    squares[squares < 1e-14] = np.inf
    assert model.kernel_.gamma == pytest.approx(6.0 / np.median(np.sort(squares)[:, 1]))


def test_two_moons():
    X, truth = make_moons(400, noise=0.06, random_state=0)
    y = np.full(400, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:4]] = c
    model = NFIClassifier(100, gamma=100.0).fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.95
    X_new, truth_new = make_moons(200, noise=0.06, random_state=7)
    assert model.score(X_new, truth_new) > 0.93
    probability = model.predict_proba(X_new)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X_new))


# ---------------------------------------------------------------- weights, priors, held-out values


@pytest.mark.parametrize("prior", PRIORS)
def test_values_add_up_to_the_prior(prior):
    X, y, _ = blobs()
    y[[0, 3, 6]] = -1  # classes of 1, 4 and 4 labels
    model = nfi(class_prior=prior).fit(X, y)
    f = naive_landmark_values(X, y, model.landmarks_)
    values = naive_induction(X, model.landmarks_, f)
    mass = values.sum(axis=0)
    if prior is not None:
        shares = shares_of(prior, np.array([1, 4, 4]))
        values = values * shares * mass.sum() / mass
        np.testing.assert_allclose(
            model.decision_function(X).sum(axis=0) / mass.sum(), shares, atol=1e-9
        )
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-8)
    np.testing.assert_allclose(model.class_mass_, mass / mass.sum(), atol=1e-9)


@pytest.mark.parametrize("prior", [None, "labeled", "equal", [0.6, 0.3, 0.1]])
def test_left_out_labels_are_those_of_dense_refits(prior):
    X, y, _ = blobs()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = watched(nfi(class_prior=prior)).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.index_, np.arange(12))
    for i in range(12):
        without = np.where(np.arange(90) == i, -1, y)
        f = naive_landmark_values(X, without, model.landmarks_, weights)
        if prior is not None:
            mass = naive_induction(X, model.landmarks_, f).sum(axis=0)
            counts = np.bincount(without[without >= 0], minlength=3)
            f = f * shares_of(prior, counts) * mass.sum() / mass
        np.testing.assert_allclose(model.held_out_[i], f[i], atol=1e-7)


def test_weights():
    X, y, _ = blobs(n_classes=2)
    by_class = nfi(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    by_row = nfi().fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-12)
    assert not np.allclose(nfi().fit(X, y).coef_, by_row.coef_, atol=1e-3)
    # A label of weight zero is none; with all rows as landmarks the order of these alone differs.
    weights = np.where(np.arange(90) < 3, 0.0, 1.0)
    zero = nfi(90).fit(X, y, sample_weight=weights)
    none = nfi(90).fit(X, np.where(weights > 0, y, -1))
    np.testing.assert_allclose(zero.decision_function(X), none.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(zero.transduction_[:3], y[:3])


def test_a_class_without_weight_is_told_and_not_divided_by():
    X, y, _ = blobs()
    weights = np.where(y == 2, 0.0, 1.0)
    with pytest.warns(UserWarning, match=r"next to nothing for \[2\].*set class_prior=None"):
        model = nfi(class_prior="equal").fit(X, y, sample_weight=weights)
    plain = nfi().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


# ---------------------------------------------------------------- forms of rows, edges


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, np.float32, np.asfortranarray, list])
def test_forms_of_rows(form):
    X, y, _ = blobs()
    X = np.round(4 * X) / 4  # exact in every form
    X[np.abs(X) < 0.5] = 0.0
    plain = nfi().fit(X, y)
    other = nfi().fit(form(X), y)
    np.testing.assert_allclose(other.landmarks_, plain.landmarks_)
    np.testing.assert_allclose(other.decision_function(X), plain.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(
        other.decision_function(form(X)), plain.decision_function(X), atol=1e-6
    )
    np.testing.assert_allclose(
        plain.decision_function(form(X)), plain.decision_function(X), atol=1e-6
    )


def test_tiles_and_threads_do_not_matter(monkeypatch):
    X, y, _ = blobs()
    plain = nfi().fit(X, y)
    for threads, tile in (("1", 1), ("3", 7), ("8", 64)):
        monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
        monkeypatch.setattr("lapwing.estimators.nfi.tile_rows", lambda m, tile=tile: tile)
        other = nfi().fit(X, y)
        np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-10)
        np.testing.assert_allclose(
            other.decision_function(X), plain.decision_function(X), atol=1e-10
        )


def test_far_rows_have_no_say_and_no_value():
    X, y, _ = blobs()
    model = nfi().fit(X, y)
    for distance in (1e3, 1e9, 1e100):
        np.testing.assert_array_equal(model.decision_function(X + distance), 0.0)
        np.testing.assert_allclose(model.predict_proba(X + distance), 1 / 3)
    far = np.vstack([X, X[:20] + 1e4])
    other = nfi(30).fit(far, np.append(y, np.full(20, -1)))
    assert np.isfinite(other.decision_function(far)).all()


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
    model = NFIClassifier(20).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine"])
def test_other_kernels(kernel):
    X, y, _ = blobs()
    positive = NFIClassifier(30, kernel=kernel).fit(np.abs(X) + 0.1, y)
    assert np.isfinite(positive.decision_function(np.abs(X))).all()
    # Similarities that are negative make no graph.
    with pytest.raises(ValueError, match=r"negative|zero or less"):
        NFIClassifier(30, kernel=kernel).fit(X - X.mean(axis=0), y)
    with pytest.raises(ValueError, match=r"negative|zero or less"):
        positive.predict(-np.abs(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_landmarks", 0),
        ("n_landmarks", 2.5),
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("reg_manifold", 0.0),
        ("reg_manifold", "auto"),
        ("reg_manifold", np.inf),
        ("gamma", -1.0),
        ("gamma", "global"),
        ("class_prior", "balanced"),
        ("class_prior", [0.5, 0.5]),
        ("class_prior", {0: 1.0, 1: 1.0}),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=f"^{name} must "):
        NFIClassifier(**{name: value}).fit(X, y)


def test_bad_input_is_refused():
    X, y, _ = blobs()
    model = NFIClassifier(20)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="no row is labelled"):
        model.fit(X, np.full(90, -1))
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.where(y == 1, 1, -1))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="X has 90 rows and y has 50"):
        model.fit(X, y[:50])
    with pytest.raises(ValueError, match="kernel='precomputed' has no values"):
        NFIClassifier(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(MemoryError, match=r"60 landmarks needs .* lower n_landmarks"):
        NFIClassifier(60, memory_limit="10kB").fit(X, y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="squares overflow"):
        NFIClassifier(20).fit(1e100 * X, y).predict(1e280 * X)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(X[:, :2])


# ---------------------------------------------------------------- life


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_added_labels_are_those_of_a_new_fit(form):
    X, y, truth = blobs()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    labels = y.copy()
    labels[[50, 51]] = truth[[50, 51]]
    grown = nfi(class_prior="labeled").fit(form(X), y, sample_weight=weights)
    grown.add_labels([50, 51], truth[[50, 51]])
    new = nfi(class_prior="labeled").fit(form(X), labels, sample_weight=weights)
    np.testing.assert_array_equal(grown.coef_, new.coef_)
    np.testing.assert_array_equal(grown.predict_proba(X), new.predict_proba(X))
    np.testing.assert_array_equal(grown.transduction_, new.transduction_)


def test_random_state():
    X, y, _ = blobs()
    first = nfi(random_state=3).fit(X, y)
    np.testing.assert_array_equal(first.landmarks_, nfi(random_state=3).fit(X, y).landmarks_)
    assert not np.array_equal(first.landmarks_, nfi(random_state=4).fit(X, y).landmarks_)


def test_negative_similarities_are_refused():
    X, y, _ = data.blobs(40, 2, 8)
    X[:20] = -np.abs(X[:20])
    X[20:] = np.abs(X[20:])
    with pytest.raises(ValueError, match=r"negative similarities.*use kernel='rbf'"):
        nfi(kernel="linear").fit(X, y)
