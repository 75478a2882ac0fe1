"""Linear Laplacian models: a d × d system, and never an n × n matrix."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.data import sparse_rows
from lapwing import KNNGraph, LapRLSClassifier, LapRLSRegressor, LapSVR
from lapwing.plan import manifold

AMBIENT, MANIFOLD = 0.5, 0.2


def ring(n):
    """Affinity of rows that lie on a ring."""
    steps = np.arange(n)
    half = sp.csr_matrix((np.ones(n), (steps, np.roll(steps, 1))), shape=(n, n))
    return (half + half.T).tocsr()


def data(n, d, n_labelled, sparse=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    if sparse:
        X[rng.random((n, d)) < 0.7] = 0.0
    target = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=n)
    labelled = rng.choice(n, n_labelled, replace=False)
    return (sp.csr_matrix(X) if sparse else X), target, labelled


@pytest.mark.parametrize("n_labelled", [4, 40, 80])  # below d, above d, all
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("power", [1, 2])
def test_least_squares_solve_the_system_of_the_paper(n_labelled, sparse, power):
    # (X_lᵀX_l + γ_A I + γ_I XᵀLᵖX) w = X_lᵀy: Chen, Tsang & Xu (2012), §IV-A, in this scale.
    X, target, labelled = data(80, 6, n_labelled, sparse)
    graph = KNNGraph(5, normalized=False, power=power).fit(X)
    options = {
        "kernel": "linear", "reg_ambient": AMBIENT, "reg_manifold": MANIFOLD, "graph": graph,
        "fit_intercept": False,
    }  # fmt: skip
    rows = X.toarray() if sparse else X
    system = rows[labelled].T @ rows[labelled] + AMBIENT * np.eye(6)
    system += MANIFOLD * (rows.T @ (graph.laplacian_ @ rows))

    y = np.full(80, np.nan)
    y[labelled] = target[labelled]
    model = LapRLSRegressor(**options).fit(X, y)
    assert model.result_.solver == "eliminate_features"
    expected = np.linalg.solve(system, rows[labelled].T @ y[labelled])
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-9)

    classes = np.full(80, -1)
    classes[labelled] = np.arange(n_labelled) % 3
    model = LapRLSClassifier(**options).fit(X, classes)
    signs = np.where(classes[labelled][:, None] == np.arange(3), 1.0, -1.0)
    expected = np.linalg.solve(system, rows[labelled].T @ signs)
    np.testing.assert_allclose(model.coef_, expected.T, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_few_and_many_columns_lead_to_the_same_function(intercept, normalized):
    # Columns of zeros change nothing, but more columns than labelled rows go another way.
    X, target, labelled = data(60, 5, 20)
    graph = KNNGraph(5, normalized=normalized).fit(X)
    y = np.full(60, -1)
    y[labelled] = target[labelled] > 0
    options = {"kernel": "linear", "graph": graph.affinity_, "fit_intercept": intercept}
    weights = np.random.default_rng(1).uniform(0.2, 2.0, 60)
    narrow = LapRLSClassifier(**options).fit(X, y, sample_weight=weights)
    wide = np.hstack([X, np.zeros((60, 25))])
    other = LapRLSClassifier(**options).fit(wide, y, sample_weight=weights)
    assert narrow.result_.objective == pytest.approx(other.result_.objective, rel=1e-9)
    np.testing.assert_allclose(narrow.decision_function(X), other.decision_function(wide))
    # The probabilities rest on values without the own label.
    np.testing.assert_allclose(narrow.predict_proba(X), other.predict_proba(wide), atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_no_matrix_of_all_rows_is_formed(sparse, share):
    n, d = 20_000, 30
    X, target, labelled = data(n, d, int(share * n), sparse)
    y = np.full(n, np.nan)
    y[labelled] = target[labelled]
    classes = np.full(n, -1)
    classes[labelled] = target[labelled] > 0
    W = ring(n)
    for model, labels in (
        (LapRLSRegressor(kernel="linear", graph=W), y),
        (LapRLSClassifier(kernel="linear", graph=W), classes),
    ):
        tracemalloc.start()
        try:
            model.fit(X, labels)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert model.result_.solver == "eliminate_features"
        assert model.result_.status == "converged"
        assert peak < 10 * 8 * n * d  # where 8·n² would be 3.2 GB


def test_wide_sparse_rows_form_no_matrix_of_all_rows():
    n, d = 4000, 20_000
    X = sparse_rows(n, d, 1e-3)
    y = np.full(n, np.nan)
    y[:20] = np.asarray(X[:20].sum(axis=1)).ravel()
    model = LapRLSRegressor(kernel="linear", graph=ring(n), reg_ambient=1.0, tol=1e-2)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.result_.solver == "manifold_cg"
    assert model.result_.status == "converged"
    assert peak < 8 * n * n


@pytest.mark.parametrize(
    ("n", "d", "sparse", "solver", "expected"),
    [
        (40, 30, False, "auto", "eliminate_features"),
        (40, 60, False, "auto", "eliminate"),  # few rows: their Gram matrix is the smaller one
        (100, 30, False, "auto", "manifold_cg"),  # both too many
        (100, 30, False, "direct", "eliminate_features"),
        (100, 120, False, "auto", "manifold_cg"),
        (100, 120, False, "direct", "eliminate"),  # asked for
        (40, 30, True, "auto", "manifold_cg"),
        (40, 10, True, "auto", "eliminate_features"),
        (100, 120, True, "auto", "manifold_cg"),
    ],
)
def test_which_way_linear_kernels_go(n, d, sparse, solver, expected, monkeypatch):
    monkeypatch.setattr(manifold, "DENSE_ROWS", 50)
    monkeypatch.setattr(manifold, "DENSE_FEATURES", 20)
    X, target, _ = data(n, d, 1, sparse)
    y = np.where(np.arange(n) < 10, target, np.nan)
    model = LapRLSRegressor(kernel="linear", solver=solver, reg_ambient=1.0, graph=ring(n))
    assert model.fit(X, y).result_.solver == expected


def test_wide_rows_without_room_for_the_solver_are_refused():
    X = sparse_rows(2000, 20_000, 1e-3)
    y = np.where(np.arange(2000) < 10, 1.0, np.nan)
    for Model in (LapRLSRegressor, LapSVR):
        with pytest.raises(MemoryError, match=r"needs .*MB.*memory_limit"):
            Model(kernel="linear", graph=ring(2000), memory_limit="1MB").fit(X, y)
