"""LapSVR: the optimum of an independent solver, SVR without the graph, and edges of the tube."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVR

import lapwing.plan.manifold as manifold
from helpers import reference
from helpers.data import gaussian
from lapwing import KNNGraph, LapSVR


def waves(n=120, n_labelled=25, seed=0):
    """Rows, targets that are NaN for all but a few of them, and the truth."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = 3.0 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)
    y = np.full(n, np.nan)
    y[:n_labelled] = truth[:n_labelled]
    return X, y, truth


@pytest.fixture
def iterative(monkeypatch):
    """Let "auto" iterate however few rows there are, as it does for many."""
    monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    monkeypatch.setattr(manifold, "DENSE_FEATURES", 0)


# ---------------------------------------------------------------- the optimum


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_objective_and_function_are_those_of_a_convex_solver(
    intercept, power, normalized, parts, C
):
    X, y, _ = waves(n=60)
    X[30:] += 100.0 * (parts - 1)  # the second half is then out of the reach of any label
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 60)
    graph = KNNGraph(5, normalized=normalized, power=power).fit(X)
    model = LapSVR(
        C=C, epsilon=reference.EPSILON, reg_manifold=0.5, gamma=0.7, graph=graph,
        fit_intercept=intercept,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* no label reaches", UserWarning)
        model.fit(X, y, sample_weight=weights)
    labelled = np.flatnonzero(~np.isnan(y))
    level = reference.level_of(y[labelled], weights[labelled], intercept)
    problem = reference.Problem(
        gaussian(X, X, 0.7), graph.laplacian_ @ np.eye(60), labelled, y[labelled] - level,
        2.0 * C * weights[labelled], "epsilon_insensitive", 1.0, 0.5, intercept,
    )  # fmt: skip
    best, f = reference.minimum(problem)
    assert model.result_.objective == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(model.predict(X), level + f, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_without_manifold_term_it_is_svr(kernel, epsilon, C):
    X, y, _ = waves()
    known = ~np.isnan(y)
    kernel = {"kernel": kernel, "gamma": 0.3, "coef0": 1.0, "degree": 2}
    svr = SVR(C=C, epsilon=epsilon, tol=1e-6, **kernel).fit(X[known], y[known])
    ours = LapSVR(C=C, epsilon=epsilon, reg_manifold=0.0, **kernel).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), svr.predict(X), atol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_equals_its_gram_matrix_and_sparse_rows(intercept):
    X, y, _ = waves()
    graph = KNNGraph(6, normalized=False).fit(X)
    options = {"graph": graph, "fit_intercept": intercept, "reg_manifold": 0.1}
    linear = LapSVR(kernel="linear", **options).fit(X, y)
    rows = LapSVR(kernel="linear", **{**options, "graph": graph.affinity_})
    gram = LapSVR(kernel="precomputed", **options).fit(X @ X.T, y)
    expected = linear.predict(X)
    assert linear.result_.solver == "eliminate_features"
    np.testing.assert_allclose(gram.predict(X @ X.T), expected, atol=1e-7)
    np.testing.assert_allclose(
        rows.fit(sp.csr_matrix(X), y).predict(sp.csr_matrix(X)), expected, atol=1e-7
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("normalized", [True, False])
def test_iterative_path_agrees_with_the_dense_one(kernel, normalized, iterative):
    X, y, _ = waves(n=300)
    graph = KNNGraph(6, normalized=normalized).fit(X)
    options = {"kernel": kernel, "graph": graph, "C": 10.0, "reg_manifold": 0.1}
    exact = LapSVR(solver="dual", **options).fit(X, y)
    found = LapSVR(tol=1e-6, **options).fit(X, y)
    assert exact.result_.solver.startswith("eliminate")
    assert found.result_.solver == "manifold_cg"
    assert found.result_.status == "converged"
    assert found.result_.objective == pytest.approx(exact.result_.objective, rel=1e-5)
    np.testing.assert_allclose(found.predict(X), exact.predict(X), atol=1e-2)


def test_too_little_memory_for_the_dense_way_iterates():
    X, y, _ = waves(n=2500)
    model = LapSVR(memory_limit="80MB").fit(X, y)
    assert model.result_.solver == "manifold_cg"
    assert model.result_.status == "converged"
    exact = LapSVR(graph=model.graph_).fit(X, y)
    assert exact.result_.solver == "eliminate"
    assert model.result_.objective == pytest.approx(exact.result_.objective, rel=2e-3)


def test_unlabelled_rows_help_along_a_curve():
    # A target that follows a spiral: rows that are near in space may be far along it.
    rng = np.random.default_rng(0)
    way = np.sort(rng.uniform(1, 4, 400))
    X = way[:, None] * np.column_stack([np.cos(4 * way), np.sin(4 * way)])
    y = np.where(np.arange(400) % 20 == 10, way, np.nan)
    options = {"C": 1e3, "epsilon": 0.01, "gamma": 10.0}
    helped = LapSVR(reg_manifold=1.0, **options).fit(X, y)
    alone = LapSVR(reg_manifold=0.0, **options).fit(X, y)
    assert helped.score(X, way) > 0.9
    assert helped.score(X, way) > alone.score(X, way) + 0.1


# ---------------------------------------------------------------- edges


@pytest.mark.parametrize("path", ["dense", "iterative"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", [True, False])
def test_tube_that_holds_all_targets_gives_a_constant(path, kernel, intercept, monkeypatch):
    if path == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
        monkeypatch.setattr(manifold, "DENSE_FEATURES", 0)
    X, y, _ = waves()
    model = LapSVR(epsilon=10.0, kernel=kernel, fit_intercept=intercept)
    with pytest.warns(UserWarning, match="different targets are the same .* or epsilon"):
        predicted = model.fit(X, y).predict(X)
    assert model.result_.status == "converged"
    assert model.result_.objective == pytest.approx(0.0, abs=1e-20)
    assert np.ptp(predicted) < 1e-9
    assert np.abs(predicted[0] - y[:25]).max() <= 10.0
    if not intercept:
        np.testing.assert_array_equal(predicted, 0.0)


@pytest.mark.parametrize("path", ["dense", "iterative"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("value", [0.0, -7.0, 1e6])
def test_equal_targets_give_that_constant(path, epsilon, value, monkeypatch):
    if path == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    X, y, _ = waves()
    model = LapSVR(epsilon=epsilon)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, np.where(np.isnan(y), np.nan, value))
    np.testing.assert_allclose(model.predict(X), value, atol=epsilon + 1e-8 * (1 + abs(value)))


@pytest.mark.parametrize("path", ["dense", "iterative"])
@pytest.mark.parametrize(("shift", "unit"), [(1e5, 1.0), (0.0, 1e6), (0.0, 1e-6)])
def test_targets_in_other_units_or_far_away(path, shift, unit, monkeypatch):
    if path == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    X, y, _ = waves()
    expected = LapSVR(solver="dual").fit(X, y).predict(X)
    model = LapSVR(epsilon=0.1 * unit, C=unit, tol=1e-5).fit(X, shift + unit * y)
    assert model.result_.status == "converged"
    np.testing.assert_allclose((model.predict(X) - shift) / unit, expected, atol=1e-2)


def test_one_target():
    X, y, _ = waves()
    model = LapSVR().fit(X, np.where(np.arange(len(y)) == 0, y, np.nan))
    assert np.abs(model.predict(X) - y[0]).max() <= 0.1


def test_outlier_pulls_no_more_than_its_side():
    # Beyond the tube only the sign of the error counts.
    X, y, _ = waves()
    model = LapSVR().fit(X, y)
    above = np.argmax(np.where(np.isnan(y), -np.inf, y - model.predict(X)))
    assert y[above] - model.predict(X)[above] > 0.1
    wild = y.copy()
    wild[above] += 1e3
    np.testing.assert_allclose(LapSVR().fit(X, wild).predict(X), model.predict(X), atol=1e-4)


# ---------------------------------------------------------------- life


@pytest.mark.parametrize("path", ["dense", "iterative"])
def test_added_targets_equal_a_fresh_fit(path, monkeypatch):
    if path == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    X, y, truth = waves()
    grown = LapSVR(tol=1e-8).fit(X, y)
    assert grown.add_labels([50, 60], truth[[50, 60]]) is grown
    grown.add_labels([], [])
    y[[50, 60]] = truth[[50, 60]]
    fresh = LapSVR(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(grown.predict(X), fresh.predict(X), atol=1e-3)
    np.testing.assert_array_equal(grown.transduction_[[50, 60]], truth[[50, 60]])


def test_fitted_attributes_and_pickle():
    X, y, _ = waves()
    model = LapSVR().fit(X, y)
    assert model.dual_coef_.shape == (1, len(X))
    assert model.intercept_.shape == (1,)
    known = ~np.isnan(y)
    np.testing.assert_array_equal(model.transduction_[known], y[known])
    np.testing.assert_allclose(model.transduction_[~known], model.predict(X)[~known], atol=1e-9)
    assert model.result_.relative_gap < 1e-6
    assert model.graph_.normalized is False
    assert "reg_ambient" not in model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
