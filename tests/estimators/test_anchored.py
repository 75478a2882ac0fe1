"""Laplacian models over the anchor graph of their landmarks."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_moons

from lapwing import LapRLSClassifier, LapRLSRegressor, LapSVC, LapSVCCV, LapSVCPath, LapSVR
from lapwing.graphs import AnchorGraph
from lapwing.plan.manifold import plan_anchored
from lapwing.solvers.methods import Sizes

MODELS = {
    "LapSVC": LapSVC(n_landmarks=30, graph="anchors"),
    "LapSVC hinge": LapSVC("hinge", n_landmarks=30, graph="anchors"),
    "LapRLSClassifier": LapRLSClassifier(n_landmarks=30, graph="anchors"),
    "LapRLSRegressor": LapRLSRegressor(n_landmarks=30, graph="anchors"),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def moons(n=400, n_labels=6, seed=0):
    X, truth = make_moons(n, noise=0.08, random_state=seed)
    y = np.full(n, -1)
    for code in (0, 1):
        y[np.flatnonzero(truth == code)[: n_labels // 2]] = code
    return X, y, truth


def data(model):
    X, y, _ = moons()
    if isinstance(model, LapRLSRegressor):
        return X, np.where(y >= 0, X[:, 0] + X[:, 1] ** 2, np.nan)
    return X, y


def laplacian(X, centres):
    """I − ZΛ⁻¹Zᵀ, with each row joined to its three nearest centres."""
    distances = cdist(X, centres)
    near = np.argsort(distances, axis=1)[:, :3]
    local = np.take_along_axis(distances, near, axis=1)
    weights = np.exp(-(local**2) / (2 * local[:, -1].mean() ** 2))
    Z = np.zeros(distances.shape)
    np.put_along_axis(Z, near, weights / weights.sum(axis=1, keepdims=True), axis=1)
    return np.eye(len(X)) - (Z / Z.sum(axis=0)) @ Z.T


def penalty(model, X):
    """The kernel values of rows at the landmarks, and the matrix of both penalties."""
    C, gamma = model.landmarks_, model.kernel_.gamma
    K, K_mm = np.exp(-gamma * cdist(X, C) ** 2), np.exp(-gamma * cdist(C, C) ** 2)
    return K, model.reg_ambient * K_mm + model.reg_manifold * K.T @ laplacian(X, C) @ K


def test_least_squares_are_those_of_the_normal_equations():
    X, y = data(MODELS["LapRLSRegressor"])
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = LapRLSRegressor(n_landmarks=30, graph="anchors", reg_manifold=0.02)
    model.fit(X, y, sample_weight=weights)
    K, P = penalty(model, X)
    known = ~np.isnan(y)
    w = weights[known]
    A = np.hstack([K[known], np.ones((known.sum(), 1))])
    system = A.T @ (w[:, None] * A)
    system[:-1, :-1] += P
    coef = np.linalg.solve(system, A.T @ (w * y[known]))
    np.testing.assert_allclose(model.predict(X), K @ coef[:-1] + coef[-1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["LapSVC", "LapRLSClassifier"])
def test_the_gradient_of_the_objective_is_zero(name):
    X, y = data(MODELS[name])
    model = clone(MODELS[name]).set_params(reg_manifold=0.1, reg_ambient=1e-3).fit(X, y)
    K, P = penalty(model, X)
    known, signs = y >= 0, np.where(y == 1, 1.0, -1.0)
    b, beta = model.intercept_[0], model.dual_coef_[0]
    f = K @ beta + b
    np.testing.assert_allclose(f, model.decision_function(X), rtol=1e-9, atol=1e-9)
    slack = 1.0 - signs * f
    if name == "LapSVC":
        slack = np.maximum(slack, 0.0)
    force = np.where(known, signs * slack, 0.0)
    np.testing.assert_allclose(P @ beta, K.T @ force, rtol=1e-6, atol=1e-8)
    assert abs(force.sum()) < 1e-8


@every_model
def test_without_a_weight_the_graph_does_not_matter(model):
    X, y = data(model)
    supervised = clone(model).set_params(reg_manifold=0.0)
    found = supervised.fit(X, y).predictor_.values(X)
    expected = clone(supervised).set_params(graph=None).fit(X, y).predictor_.values(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_labels_spread_along_the_moons():
    X, y, _ = moons()
    found = LapSVC(n_landmarks=30, gamma=3.0, graph="anchors").fit(X, y)
    supervised = LapSVC(n_landmarks=30, gamma=3.0, graph="anchors", reg_manifold=0.0).fit(X, y)
    new, _, moon = moons(seed=1)
    assert np.mean(found.predict(new) == moon) > 0.98
    assert np.mean(supervised.predict(new) == moon) < 0.95


@every_model
def test_fitted_attributes(model):
    X, y = data(model)
    found = clone(model).fit(X, y)
    assert isinstance(found.graph_, AnchorGraph)
    assert found.landmarks_.shape == (30, 2)
    assert found.dual_coef_.shape == (1, 30)
    assert found.label_reach_.shape == (400,)
    assert found.result_.passes == 3
    again = clone(model).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(again.predictor_.values(X), found.predictor_.values(X), atol=1e-6)


@every_model
def test_labels_can_be_added(model):
    X, y = data(model)
    more = y.copy()
    more[-3:] = 1
    found = clone(model).fit(X, y).add_labels([-3, -2, -1], more[-3:])
    expected = clone(model).fit(X, more)
    np.testing.assert_allclose(found.predictor_.values(X), expected.predictor_.values(X), atol=1e-9)


def test_rows_that_no_label_reaches():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(50, 2)), 100.0 + rng.normal(size=(30, 2))])
    y = np.full(80, -1)
    y[:4] = [0, 1, 0, 1]
    with pytest.warns(UserWarning, match="30 rows lie in parts of the graph that no label reaches"):
        model = LapSVC(n_landmarks=16, graph="anchors").fit(X, y)
    assert np.array_equal(model.label_reach_, np.arange(80) < 50)
    assert LapSVC(n_landmarks=16, graph="anchors", reg_manifold=0.0).fit(X, y).label_reach_.sum()


@every_model
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_landmarks": None}, "give their number, such as n_landmarks=500"),
        ({"n_landmarks": 500}, r"at most the number of rows \(400\)"),
        ({"kernel": "precomputed"}, "pass the rows and a kernel function"),
        ({"kernel": "linear"}, "n_landmarks is for kernels that are not linear"),
        ({"solver": "pcg"}, "does not go with"),
        ({"graph": "anchor"}, "graph must be a KNNGraph, an affinity matrix, 'anchors' or None"),
    ],
)
def test_what_does_not_fit_is_refused(model, parameters, message):
    X, y = data(model)
    X = X @ X.T if "precomputed" in parameters.values() else X
    error = TypeError if "graph" in parameters else ValueError
    with pytest.raises(error, match=message):
        clone(model).set_params(**parameters).fit(X, y)


def test_other_estimators_name_those_with_anchors():
    X, y, _ = moons()
    for model in (LapSVR(graph="anchors"), LapSVCPath(graph="anchors"), LapSVCCV(graph="anchors")):
        with pytest.raises(TypeError, match=r"'anchors', which LapSVC, .* LapRLSRegressor take"):
            model.fit(X, np.where(y >= 0, y * 1.0, np.nan))
    with pytest.raises(TypeError, match=r"None, got str$"):
        LapSVR(graph="anchor").fit(X, np.where(y >= 0, y * 1.0, np.nan))


@pytest.mark.parametrize("name", ["LapSVC", "LapRLSClassifier"])
def test_early_stopping_and_warm_starts_have_no_effect(name):
    X, y = data(MODELS[name])
    expected = clone(MODELS[name]).fit(X, y)
    found = clone(MODELS[name]).set_params(stopping="stability", warm_start=True)
    for _ in range(2):
        found.fit(X, y)
        assert np.array_equal(found.decision_function(X), expected.decision_function(X))


def test_memory_limit():
    X, y, _ = moons()
    with pytest.raises(MemoryError, match="lower n_landmarks"):
        LapSVC(n_landmarks=300, graph="anchors", memory_limit=1e5).fit(X, y)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(
    ("n", "d", "m", "in_blocks"),
    [(4000, 5, 800, False), (20_000, 5, 30, True), (4000, 300, 40, True)],
    ids=["landmarks", "rows", "columns"],
)
def test_what_is_counted_is_what_is_used(n, d, m, in_blocks, n_threads, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", str(n_threads))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), np.full(n, -1)
    y[:20] = np.arange(20) % 2
    plan = plan_anchored(Sizes(n, d, 20, 1), m, row_size=float(d), memory_limit="1GB")
    model = LapSVC(n_landmarks=m, graph="anchors", memory_limit=plan.n_bytes)
    rows = [X[: n // 2], X[n // 2 :]] if in_blocks else X
    LapSVC(n_landmarks=5, graph="anchors").fit(X[:500], y[:500])  # imports and caches
    tracemalloc.start()
    try:
        model.fit(rows, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert plan.n_bytes / 20 < peak < plan.n_bytes
    with pytest.raises(MemoryError, match=f"n_landmarks={m} with rows of {d} columns"):
        model.set_params(memory_limit=plan.n_bytes - 1).fit(rows, y)


def test_the_memory_is_checked_before_the_sample_is_read():
    X, y, _ = moons()
    read = []

    def blocks():
        read.append(True)
        yield X

    model = LapSVC(n_landmarks=30, graph="anchors", memory_limit=1e5)
    with pytest.raises(MemoryError, match="lower n_landmarks"):
        model.fit(blocks, y)
    assert len(read) == 1  # to check the rows
