"""The smallest eigenpairs of a Laplacian, against the dense decomposition."""

import pickle
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers.data import sparse_rows
from lapwing.graphs import KNNGraph, knn_graph, smallest_eigenpairs, spectrum
from lapwing.graphs.filters import spectrum_bound
from lapwing.operators.sparse import PowerOperator, SparseOperator

METHODS = ["dense", "chebyshev"]


def knn(n, seed=0, d=3):
    return KNNGraph(6).fit(np.random.default_rng(seed).normal(size=(n, d))).affinity_


def ring(n):
    step = sp.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    return step + step.T


def laplacian(W, normalized=True):
    return KNNGraph.from_affinity(W, normalized=normalized).laplacian_


def dense(operator):
    return operator @ np.eye(operator.shape[0])


def allowed(values, tol, upper):
    return tol * np.maximum(values, 1e-3 * upper) + 1e-12 * upper


def check(L, k, tol, method):
    """What is promised of every result; returns it with all eigenpairs of the dense matrix."""
    values, V = smallest_eigenpairs(L, k, tol=tol, method=method)
    upper = spectrum_bound(L)
    assert values.shape == (k,)
    assert V.shape == (L.shape[0], k)
    assert (values >= 0).all()
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    product = L @ V
    assert (np.linalg.norm(product - V * values, axis=0) <= allowed(values, tol, upper)).all()
    np.testing.assert_allclose((V * product).sum(axis=0), values, atol=1e-12 * upper)
    assert (V.max(axis=0) >= (1 - 1e-6) * np.abs(V).max(axis=0)).all()
    exact, vectors = np.linalg.eigh(dense(L))
    # Ritz values lie above the eigenvalues, and none of these is missed.
    assert (values >= exact[:k] - 1e-12 * upper).all()
    assert (values - exact[:k] <= allowed(exact[:k], 2 * tol, upper)).all()
    return values, V, exact, vectors


# Name, affinity, wanted pairs. Every k cuts the spectrum at a gap, so that the span is unique.
GRAPHS = [
    ("cloud", lambda: knn(250), 12),
    ("wide cloud", lambda: knn(200, d=10), 30),
    ("ring", lambda: ring(120), 9),
    ("complete", lambda: np.ones((80, 80)), 1),
    ("copies", lambda: sp.block_diag([knn(40)] * 5), 20),
    ("complete copies", lambda: sp.block_diag([np.ones((9, 9))] * 8), 8),
    ("isolated rows", lambda: sp.block_diag([knn(90), np.zeros((7, 7)), knn(50, 1)]), 14),
    ("small", lambda: knn(12), 4),
    ("two rows", lambda: np.ones((2, 2)), 1),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(("affinity", "k"), [g[1:] for g in GRAPHS], ids=[g[0] for g in GRAPHS])
def test_equals_the_dense_decomposition(affinity, k, normalized, method):
    L = laplacian(affinity(), normalized)
    for tol in (1e-2, 1e-7):
        _, V, exact, vectors = check(L, k, tol, method)
        gap = exact[k] - exact[k - 1]
        if gap > 1e-6 * exact[-1]:
            # Davis and Kahan: the sine is at most the residual of the block over the gap.
            sine = np.sin(subspace_angles(V, vectors[:, :k]).max())
            assert sine <= 2 * np.sqrt(k) * allowed(exact[k], tol, spectrum_bound(L)) / gap + 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("affinity", "k"),
    [
        (lambda: np.ones((80, 80)), 20),
        (lambda: ring(120), 10),
        (lambda: sp.block_diag([knn(20)] * 15), 23),
        (lambda: sp.block_diag([knn(15)] * 40), 45),
        (lambda: sp.block_diag([np.ones((9, 9))] * 8), 40),
    ],
    ids=["complete", "ring", "copies", "many copies", "complete copies"],
)
def test_k_may_cut_a_cluster_of_equal_eigenvalues(affinity, k, method):
    for tol in (1e-2, 1e-7):
        check(laplacian(affinity()), k, tol, method)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_without_a_known_null_space(method, normalized):
    for W in (knn(200), sp.block_diag([knn(60), knn(60, 1), knn(60, 2)])):
        check(SparseOperator(laplacian(W, normalized).matrix), 7, 1e-3, method)


@pytest.mark.parametrize("method", METHODS)
def test_a_laplacian_without_edges(method):
    for null_space in (None, sp.identity(70, format="csr")):
        values, V = smallest_eigenpairs(
            SparseOperator(sp.csr_matrix((70, 70)), null_space), 5, method=method
        )
        np.testing.assert_allclose(values, 0, atol=1e-15)
        np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [3, 7, 40, 70])
def test_all_pairs_but_one(n, method):
    check(laplacian(knn(n)), n - 1, 1e-6, method)


@pytest.mark.parametrize("method", METHODS)
def test_nearly_cut_graphs(method):
    W = sp.lil_array(sp.block_diag([knn(120), knn(120, 1)]))
    W[0, 200] = W[200, 0] = 1e-7
    values = check(laplacian(W), 5, 1e-3, method)[0]
    assert values[1] < 1e-8 < values[2]


@pytest.mark.parametrize("method", METHODS)
def test_null_vectors_of_the_largest_components_come_first(method):
    sizes = [4, 9, 1, 6, 9, 1]
    L = laplacian(sp.block_diag([np.ones((s, s)) for s in sizes]))
    values, V = smallest_eigenpairs(L, 10, method=method)
    np.testing.assert_array_equal(values[:6], 0)
    component = np.repeat(np.arange(6), sizes)
    expected = [1, 4, 3, 0, 2, 5]
    for v, c in zip(V[:, :6].T, expected, strict=True):
        np.testing.assert_allclose(v, (component == c) / np.sqrt(sizes[c]), atol=1e-15)
    for k in (1, 3, 6):
        np.testing.assert_array_equal(smallest_eigenpairs(L, k, method=method)[1], V[:, :k])


@pytest.mark.parametrize("method", METHODS)
def test_deterministic_for_a_seed(method):
    for W in (knn(200), np.ones((90, 90))):
        L = laplacian(W)
        first, second, other = (
            smallest_eigenpairs(L, 6, method=method, tol=1e-6, rng=np.random.default_rng(seed))
            for seed in (3, 3, 4)
        )
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_array_equal(first[1], second[1])
        np.testing.assert_allclose(first[0], other[0], atol=1e-8)
    default = smallest_eigenpairs(L, 6, method=method)[1]
    seeded = smallest_eigenpairs(L, 6, method=method, rng=np.random.default_rng(0))[1]
    np.testing.assert_array_equal(default, seeded)


@pytest.mark.parametrize("method", METHODS)
def test_signs_do_not_depend_on_the_start(method):
    L = laplacian(knn(150))
    first, second = (
        smallest_eigenpairs(L, 8, method=method, tol=1e-8, rng=np.random.default_rng(seed))[1]
        for seed in (0, 1)
    )
    np.testing.assert_allclose(first, second, atol=1e-6)
    assert (first[np.abs(first).argmax(axis=0), np.arange(8)] > 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_of_a_power_the_base_is_used(method):
    L = laplacian(knn(100))
    for found, expected in zip(
        smallest_eigenpairs(PowerOperator(L, 3), 5, method=method),
        smallest_eigenpairs(L, 5, method=method),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20)
@given(st.integers(2, 70), st.integers(0, 10**6), st.booleans(), st.data())
def test_properties(method, n, seed, normalized, data):
    rng = np.random.default_rng(seed)
    W = sparse_rows(n, n, min(1.0, 3 / n), rng)
    W = W.maximum(W.T)
    k = data.draw(st.integers(1, n - 1))
    tol = data.draw(st.sampled_from([0.5, 1e-2, 1e-6]))
    values = check(laplacian(W, normalized), k, tol, method)[0]
    order = rng.permutation(n)
    L = laplacian(W.tocsr()[order][:, order], normalized)
    again = smallest_eigenpairs(L, k, tol=tol, method=method)[0]
    assert (np.abs(values - again) <= allowed(values, 3 * tol, spectrum_bound(L))).all()


@pytest.mark.parametrize(
    ("n", "k", "chosen"), [(60, 3, 0), (600, 150, 0), (600, 3, 1), (900, 3, 1)]
)
def test_choice_of_the_method(monkeypatch, n, k, chosen):
    for method in METHODS:
        monkeypatch.setattr(
            spectrum, f"_{method}", Mock(return_value=(np.ones(k), np.ones((n, k))))
        )
    smallest_eigenpairs(SparseOperator(ring(n)), k)
    assert [getattr(spectrum, f"_{m}").called for m in METHODS] == [i == chosen for i in range(2)]


def test_looser_tolerance_costs_fewer_products():
    L = laplacian(knn(400))
    passes = []
    for tol in (1e-1, 1e-3, 1e-8):
        L.passes = 0
        smallest_eigenpairs(L, 10, tol=tol, method="chebyshev")
        passes.append(L.passes)
    assert passes == sorted(set(passes))


@pytest.mark.parametrize("degree", [1, 6, 40])
def test_low_pass_is_one_at_zero_and_even_above_the_cut(degree):
    cut, upper = 0.05, 1.5
    coefficients = spectrum._low_pass(degree, cut, upper)
    assert len(coefficients) == degree + 1
    x = np.linspace(cut, upper, 10_001)
    at_zero, *above = np.polynomial.chebyshev.chebval(
        np.append(0.0, x) * 2 / upper - 1, coefficients
    )
    assert at_zero == pytest.approx(1.0, rel=1e-9)
    # The smallest possible maximum above the cut: T(x) = cosh(degree · arccosh x) outside [-1, 1].
    least = 1.0 / np.cosh(degree * np.arccosh((upper + cut) / (upper - cut)))
    assert np.abs(above).max() == pytest.approx(least, rel=1e-6)


def test_a_miss_of_the_tolerance_is_told(monkeypatch):
    monkeypatch.setattr(spectrum, "_SWEEPS", 1)
    L = laplacian(knn(300))
    with pytest.warns(UserWarning, match="Raise tol=1e-06"):
        values, V = smallest_eigenpairs(L, 10, tol=1e-6, method="chebyshev")
    np.testing.assert_allclose(V.T @ V, np.eye(10), atol=1e-12)
    np.testing.assert_allclose((V * (L @ V)).sum(axis=0), values, atol=1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 0}, "at least 1"),
        ({"k": 2.5}, "whole number"),
        ({"k": True}, "whole number"),
        ({"k": 30}, "at most 29"),
        ({"k": 31}, "at most 29"),
        ({"tol": 0.0}, "tol must"),
        ({"tol": 1.0}, "tol must"),
        ({"tol": np.nan}, "tol must"),
        ({"tol": "small"}, "tol must"),
        ({"method": "magic"}, "method must be one of"),
    ],
)
def test_bad_input(changed, message):
    with pytest.raises(ValueError, match=message):
        smallest_eigenpairs(laplacian(knn(30)), **({"k": 3} | changed))


@pytest.fixture
def calls(monkeypatch):
    made = []

    def counted(laplacian, k, *, tol):
        made.append((k, tol))
        return smallest_eigenpairs(laplacian, k, tol=tol)

    monkeypatch.setattr(knn_graph, "smallest_eigenpairs", counted)
    return made


def fitted(n=60, **parameters):
    return KNNGraph(5, **parameters).fit(np.random.default_rng(0).normal(size=(n, 3)))


def test_graph_keeps_its_eigenpairs(calls):
    graph = fitted()
    values, V = graph.eigenpairs(8)
    np.testing.assert_array_equal(V, smallest_eigenpairs(graph.laplacian_, 8)[1])
    for k, tol in ((8, 1e-2), (3, 1e-2), (8, 0.1)):
        fewer, U = graph.eigenpairs(k, tol)
        np.testing.assert_array_equal(fewer, values[:k])
        np.testing.assert_array_equal(U, V[:, :k])
    assert calls == [(8, 1e-2)]
    graph.eigenpairs(9)
    graph.eigenpairs(4, tol=1e-4)  # no fewer pairs than before
    graph.eigenpairs(10, tol=1e-1)  # no worse ones
    assert calls[1:] == [(9, 1e-2), (9, 1e-4), (10, 1e-4)]
    assert graph.eigenpairs(9)[1].shape == (60, 9)
    assert len(calls) == 4


def test_graph_forgets_eigenpairs_when_refitted(calls):
    graph = fitted()
    old = graph.eigenpairs(4)[0]
    copy = clone(graph)
    graph.set_params(n_neighbors=9).fit(np.random.default_rng(1).normal(size=(50, 3)))
    assert graph.eigenpairs(4)[1].shape == (50, 4)
    np.testing.assert_array_equal(copy.eigenpairs(4)[0], old)
    assert len(calls) == 2


def test_clones_and_pickles_keep_the_eigenpairs(calls):
    graph = fitted()
    copy = clone(graph)
    V = copy.eigenpairs(5)[1]
    assert np.shares_memory(graph.eigenpairs(5)[1], V)  # found by the clone, known to both
    again = pickle.loads(pickle.dumps(graph))
    np.testing.assert_array_equal(again.eigenpairs(5)[1], V)
    assert len(calls) == 1
    assert graph.get_params() == again.get_params() == KNNGraph(5).get_params()
    assert again.fitted_to(np.random.default_rng(0).normal(size=(60, 3)))


def test_power_does_not_change_the_eigenpairs():
    for found, expected in zip(fitted(power=3).eigenpairs(5), fitted().eigenpairs(5), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_kept_eigenpairs_cannot_be_overwritten():
    for array in fitted().eigenpairs(3):
        with pytest.raises(ValueError, match="read-only"):
            array *= 2


def test_graph_refuses_bad_requests_even_when_it_has_eigenpairs():
    with pytest.raises(NotFittedError):
        KNNGraph().eigenpairs(3)
    graph = fitted()
    graph.eigenpairs(10)
    for request in ({"k": 0}, {"k": -2}, {"k": 60}, {"k": 2.0}, {"k": 3, "tol": -1.0}):
        with pytest.raises(ValueError, match=r"k must|k=60|tol must"):
            graph.eigenpairs(**request)
