"""The graph: affinity, Laplacian, components, and its life as an estimator."""

import logging
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers import graph_oracle
from lapwing.graphs import KNNGraph
from lapwing.operators.sparse import PowerOperator, SparseOperator


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def dense(operator):
    return operator @ np.eye(operator.shape[0])


@parametrize_with_checks([KNNGraph(n_neighbors=3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("d", [3, 20])
def test_equals_naive_graph(d, normalized):
    X = normal(60, d)
    graph = KNNGraph(4, normalized=normalized).fit(X)
    W, sigma = graph_oracle.heat_affinity(X, 4)
    np.testing.assert_allclose(graph.affinity_.toarray(), W, rtol=1e-9)
    assert graph.bandwidth_ == pytest.approx(sigma, rel=1e-12)
    np.testing.assert_allclose(
        dense(graph.laplacian_), graph_oracle.laplacian(W, normalized), atol=1e-12
    )
    assert graph.affinity_.dtype == np.float64
    assert (graph.n_samples_, graph.n_features_in_, graph.backend_) == (60, d, "exact")


@given(
    st.integers(1, 25),
    st.integers(1, 10),
    st.integers(1, 8),
    st.sampled_from(["heat", "binary", "cosine"]),
    st.sampled_from(["euclidean", "cosine"]),
    st.integers(0, 10**6),
)
def test_properties(n, d, k, weights, metric, seed):
    # Few distinct values: ties, duplicates and rows of zeros come by themselves.
    X = np.random.default_rng(seed).integers(-1, 2, size=(n, d)).astype(float)
    graph = KNNGraph(k, weights=weights, metric=metric, normalized=False).fit(X)
    W = graph.affinity_
    assert (W != W.T).nnz == 0
    assert not W.diagonal().any()
    assert W.nnz == 0 or (W.data.min() > 0 and W.data.max() <= 1)
    L = dense(graph.laplacian_)
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-12)
    normalized = dense(KNNGraph.from_affinity(W).laplacian_)
    np.testing.assert_array_equal(normalized, normalized.T)
    for matrix in (L, normalized):
        assert np.linalg.eigvalsh(matrix).min() > -1e-12
    isolated = np.asarray(W.sum(axis=1)).ravel() == 0
    assert not L[isolated].any()
    np.testing.assert_array_equal(np.diag(normalized), (~isolated).astype(float))
    # Each component carries one constant function of zero energy.
    assert (np.abs(np.linalg.eigvalsh(L)) < 1e-10).sum() >= graph.n_components_
    i, j = W.nonzero()
    np.testing.assert_array_equal(graph.component_[i], graph.component_[j])
    assert len(np.unique(graph.component_)) == graph.n_components_


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_local_bandwidth_is_that_of_both_ends(metric):
    X, k = normal(40, 5), 4
    graph = KNNGraph(k, bandwidth="local", metric=metric).fit(X)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    distances = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    order = np.argsort(distances, axis=1)
    last = distances[np.arange(40), order[:, k]]
    expected = np.zeros((40, 40))
    for i in range(40):
        for j in order[i, 1 : k + 1]:
            weight = np.exp(-2 * distances[i, j] ** 2 / (last[i] * last[j]))
            expected[i, j] = expected[j, i] = weight
    np.testing.assert_allclose(graph.affinity_.toarray(), expected, rtol=1e-9)
    assert graph.bandwidth_ is None


@given(st.integers(2, 25), st.integers(1, 6), st.integers(1, 8), st.integers(0, 10**6))
def test_local_bandwidth_with_duplicates(n, d, k, seed):
    X = np.random.default_rng(seed).integers(-1, 2, size=(n, d)).astype(float)
    W = KNNGraph(k, bandwidth="local").fit(X).affinity_
    assert (W != W.T).nnz == 0
    assert 0 < W.data.min() <= W.data.max() <= 1
    # Every row has an edge: to duplicates with weight one, otherwise by its own distances.
    assert (np.diff(W.indptr) > 0).all()


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_local_bandwidth_has_no_unit(factor):
    X = normal(30, 3)
    plain, scaled = (KNNGraph(4, bandwidth="local").fit(rows) for rows in (X, factor * X))
    np.testing.assert_allclose(scaled.affinity_.toarray(), plain.affinity_.toarray(), rtol=1e-6)


def test_bandwidth_of_another_type_is_refused():
    with pytest.raises(ValueError, match='must be "mean", "local" or a positive number'):
        KNNGraph(3, bandwidth=np.array([1.0, 2.0])).fit(normal(10, 2))


def test_local_bandwidth_follows_the_density():
    """Weights within a dense cluster and within a sparse one are the same."""
    X = normal(30, 2)
    both = np.vstack([X, 100.0 * X + 1e4])
    W = KNNGraph(4, bandwidth="local").fit(both).affinity_.toarray()
    np.testing.assert_allclose(W[30:, 30:], W[:30, :30], rtol=1e-6)


@given(st.integers(2, 40), st.integers(1, 12), st.integers(0, 10**6))
def test_permuted_rows_give_the_permuted_graph(n, d, seed):
    X = normal(n, d, seed)
    order = np.random.default_rng(seed + 1).permutation(n)
    first = KNNGraph(3).fit(X).affinity_.toarray()
    second = KNNGraph(3).fit(X[order]).affinity_.toarray()
    np.testing.assert_allclose(second, first[np.ix_(order, order)], rtol=1e-9, atol=1e-300)


def test_cosine_metric_heat_weights_use_distances_of_unit_vectors():
    X = normal(50, 12)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = KNNGraph(5, metric="cosine").fit(X)
    expected = KNNGraph(5).fit(unit)
    np.testing.assert_allclose(found.affinity_.toarray(), expected.affinity_.toarray(), rtol=1e-9)
    assert found.bandwidth_ == pytest.approx(expected.bandwidth_)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "precomputed"])
def test_cosine_weights(metric):
    X = normal(50, 12)
    X[7] = 0
    W = (
        KNNGraph(5, metric=metric, weights="cosine")
        .fit(X @ X.T if metric == "precomputed" else X)
        .affinity_.toarray()
    )
    cosines = 1 - graph_oracle.pair_distances(X, "cosine")
    np.testing.assert_allclose(W[W > 0], cosines[W > 0], rtol=1e-9)
    assert not W[7].any()
    if metric != "cosine":
        index = graph_oracle.neighbors(X, 5)[1]
        joined = np.zeros((50, 50), dtype=bool)
        joined[np.arange(50)[:, None], index] = True
        np.testing.assert_array_equal(W > 0, (joined | joined.T) & (cosines > 1e-12))


def test_sparse_and_precomputed_equal_dense():
    X = normal(40, 12)
    expected = KNNGraph(5).fit(X).affinity_.toarray()
    sparse = KNNGraph(5).fit(sp.csr_matrix(X)).affinity_.toarray()
    gram = KNNGraph(5, metric="precomputed").fit(X @ X.T).affinity_.toarray()
    np.testing.assert_allclose(sparse, expected, rtol=1e-12)
    np.testing.assert_allclose(gram, expected, rtol=1e-9)


def test_all_rows_equal_gives_weights_of_one():
    graph = KNNGraph(3).fit(np.ones((12, 4)))
    assert graph.bandwidth_ == 0
    assert set(graph.affinity_.data) == {1.0}


@pytest.mark.parametrize("normalized", [True, False])
def test_underflowing_weights_are_no_edges_and_leave_zero_rows(normalized):
    X = np.array([[0.0], [1.0], [1e6]])
    graph = KNNGraph(1, bandwidth=1.0, normalized=normalized).fit(X)
    assert graph.affinity_.nnz == 2
    assert graph.n_components_ == 2
    L = dense(graph.laplacian_)
    assert not L[2].any()
    assert not L[:, 2].any()
    assert L[0, 0] > 0


def test_far_too_small_bandwidth_is_an_empty_graph():
    graph = KNNGraph(2, bandwidth=1e-300).fit(normal(10, 12))
    assert graph.affinity_.nnz == 0
    assert graph.n_components_ == 10


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "precomputed"])
@pytest.mark.parametrize("weights", ["heat", "binary", "cosine"])
def test_one_row(weights, metric):
    graph = KNNGraph(weights=weights, metric=metric).fit([[2.0]])
    assert graph.affinity_.shape == (1, 1)
    assert graph.n_components_ == 1
    assert graph.laplacian_ @ np.ones(1) == 0


def test_more_neighbours_than_rows_are_clipped(caplog):
    with caplog.at_level(logging.INFO, logger="lapwing"):
        graph = KNNGraph(10, weights="binary").fit(normal(4, 2))
    assert "3 used" in caplog.text
    np.testing.assert_array_equal(graph.affinity_.toarray(), 1 - np.eye(4))
    assert graph.n_neighbors == 10


def test_power_is_applied_not_formed():
    X = normal(30, 3)
    once, thrice = KNNGraph(4).fit(X), KNNGraph(4, power=3).fit(X)
    assert isinstance(once.laplacian_, SparseOperator)
    assert isinstance(thrice.laplacian_, PowerOperator)
    L = dense(once.laplacian_)
    np.testing.assert_allclose(dense(thrice.laplacian_), L @ L @ L, atol=1e-12)


def test_from_affinity_gives_back_the_graph():
    graph = KNNGraph(4, normalized=False, power=2).fit(normal(30, 3))
    for W in (graph.affinity_, graph.affinity_.toarray(), sp.coo_matrix(graph.affinity_)):
        again = KNNGraph.from_affinity(W, normalized=False, power=2)
        np.testing.assert_array_equal(dense(again.laplacian_), dense(graph.laplacian_))
        assert again.n_components_ == graph.n_components_
        assert again.fitted_to(np.zeros((30, 7)))
        assert not again.fitted_to(np.zeros((31, 7)))
    assert not again.set_params(power=1).fitted_to(np.zeros((30, 7)))


def test_from_affinity_drops_the_diagonal_and_symmetrises_with_a_warning():
    W = np.array([[5.0, 1.0, 0.0], [2.0, 5.0, 0.0], [0.0, 0.0, 5.0]])
    with pytest.warns(UserWarning, match="not symmetric"):
        graph = KNNGraph.from_affinity(W)
    np.testing.assert_array_equal(graph.affinity_.toarray(), [[0, 2, 0], [2, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(W.diagonal(), 5.0)


@pytest.mark.filterwarnings("error")
def test_from_affinity_repairs_rounding_silently():
    W = np.array([[0.0, 1.0], [1.0 + 1e-15, 0.0]])
    found = KNNGraph.from_affinity(W).affinity_
    assert (found != found.T).nnz == 0


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[0, -1.0], [-1.0, 0]]), "negative"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
        (sp.csr_matrix(np.array([[0, np.inf], [np.inf, 0]])), "infinity"),
    ],
)
def test_from_affinity_refuses(W, message):
    with pytest.raises(ValueError, match=message):
        KNNGraph.from_affinity(W)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, np.asfortranarray])
def test_fitted_to(kind):
    X = normal(20, 3)
    graph = KNNGraph(3)
    assert not graph.fitted_to(kind(X))
    graph.fit(kind(X))
    assert graph.fitted_to(kind(X))
    assert graph.fitted_to(kind(X.copy()))
    changed = X.copy()
    changed[7, 1] += 1e-9
    assert not graph.fitted_to(kind(changed))
    assert not graph.fitted_to(kind(X[:-1]))
    assert not graph.fitted_to(kind(X[::-1]))
    assert not graph.set_params(n_neighbors=4).fitted_to(kind(X))
    assert graph.set_params(n_neighbors=3).fitted_to(kind(X))


def test_fitted_to_rows_however_they_are_stored():
    whole = sp.csr_matrix(normal(20, 3))
    halves = (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr)
    parts = sp.csr_matrix(halves, shape=whole.shape)
    backwards = sp.csr_matrix(whole)
    for row in range(20):
        part = slice(backwards.indptr[row], backwards.indptr[row + 1])
        backwards.indices[part] = backwards.indices[part][::-1].copy()
        backwards.data[part] = backwards.data[part][::-1].copy()
    backwards.has_sorted_indices = False
    for X in (whole, parts, backwards):
        graph = KNNGraph(3).fit(X)
        for other in (whole, parts, backwards):
            assert graph.fitted_to(other)


def test_clone_keeps_the_fit_and_is_independent():
    X = normal(20, 3)
    graph = KNNGraph(3).fit(X)
    copy = clone(graph)
    assert copy is not graph
    assert copy.affinity_ is graph.affinity_
    assert copy.fitted_to(X)
    copy.set_params(n_neighbors=5)
    assert not copy.fitted_to(X)
    copy.fit(X)
    assert copy.fitted_to(X)
    assert graph.fitted_to(X)
    assert copy.affinity_.nnz > graph.affinity_.nnz


def test_pickle_keeps_the_fit():
    X = normal(20, 3)
    graph = pickle.loads(pickle.dumps(KNNGraph(3, power=2).fit(X)))
    assert graph.fitted_to(X)
    assert graph.laplacian_.shape == (20, 20)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a whole number"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a whole number"),
        ({"power": 0}, "power must be a whole number"),
        ({"weights": "gauss"}, "weights must be one of"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"backend": "fast"}, "backend must be one of"),
        ({"bandwidth": 0.0}, "positive number"),
        ({"bandwidth": "median"}, "positive number"),
        ({"bandwidth": np.nan}, "positive number"),
    ],
)
def test_bad_parameters_say_what_is_wrong(parameters, message):
    with pytest.raises(ValueError, match=message):
        KNNGraph(**parameters).fit(normal(5, 2))


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.parametrize("weights", ["heat", "cosine"])
@pytest.mark.parametrize("factor", [2.0**-990, 2.0**990])
def test_graph_does_not_depend_on_the_unit_of_rows(metric, weights, factor):
    X = np.random.default_rng(0).normal(size=(30, 3))
    X = X @ X.T if metric == "precomputed" else X
    unit = np.sqrt(factor) if metric == "precomputed" else factor
    for bandwidth, scaled in (("mean", "mean"), (0.7, 0.7 * unit)):
        graph = KNNGraph(4, metric=metric, weights=weights, bandwidth=bandwidth).fit(X)
        other = KNNGraph(4, metric=metric, weights=weights, bandwidth=scaled).fit(factor * X)
        assert abs(other.affinity_ - graph.affinity_).max() < 1e-12
        if weights == "heat":
            assert other.bandwidth_ == pytest.approx(unit * graph.bandwidth_, rel=1e-12)


def test_bandwidth_far_below_all_distances_gives_no_edge():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert KNNGraph(4, bandwidth=1e-300).fit(1e300 * X).affinity_.nnz == 0


def test_rows_that_decide_the_bandwidth_are_named():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[[7, 30]] = [[1e4, 0.0, 0.0], [0.0, -1e4, 0.0]]
    with pytest.warns(UserWarning, match=r"times the median, because of rows .* \(7, 30\)"):
        KNNGraph(5).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KNNGraph(5, bandwidth=1.0).fit(X)
        KNNGraph(5, weights="binary").fit(X)
        KNNGraph(5).fit(np.delete(X, [7, 30], axis=0))
        KNNGraph(5).fit(np.exp(np.random.default_rng(0).normal(size=(50, 3))))  # of long tails
