"""The graph as a kernel: as a matrix, by conjugate gradients, in its eigenbasis: all the same."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lapwing.graphs import KNNGraph
from lapwing.kernels.functions import make_kernel
from lapwing.operators.dense import DenseOperator
from lapwing.operators.inverse import InverseOperator
from lapwing.operators.low_rank import LowRankOperator
from lapwing.spaces.graph_kernel import (
    EmbeddedKernel,
    graph_kernel,
    graph_kernel_bytes,
    label_precision,
    reduced_precision,
    spectral_embedding,
)

N = 40


def graph_of(power=1, normalized=True, parts=1, seed=0):
    X = np.random.default_rng(seed).normal(size=(N, 3))
    X += 100.0 * (np.arange(N) * parts // N)[:, None]
    graph = KNNGraph(5, power=power, normalized=normalized).fit(X)
    assert graph.n_components_ == parts
    return graph


def precision_of(graph, strength=20.0, rows=(0, 1, 5)):
    rows = np.array(rows)
    return label_precision(
        graph.component_, rows, np.full(len(rows), strength), np.ones((len(rows), 1))
    )


def dense_laplacian(graph):
    """The first power, by its definition."""
    W = graph.affinity_.toarray()
    degree = W.sum(axis=1)
    L = np.diag(degree) - W
    if graph.normalized:
        root = np.sqrt(degree)
        L = L / root / root[:, None]
    return L


def precision(graph, Lam, mu):
    return np.diag(Lam) + mu * np.linalg.matrix_power(dense_laplacian(graph), graph.power)


every_graph = pytest.mark.parametrize("normalized", [True, False])
every_power = pytest.mark.parametrize("power", [1, 2, 3])


@every_graph
@every_power
@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("mu", [1e-2, 1.0, 50.0])
def test_matrix_and_conjugate_gradients_are_the_inverse(normalized, power, parts, mu):
    graph = graph_of(power, normalized, parts)
    Lam = precision_of(graph)
    expected = np.linalg.inv(precision(graph, Lam, mu))
    scale = np.abs(expected).max()
    matrix = graph_kernel(graph.laplacian_, Lam, mu, dense=True)
    assert isinstance(matrix, DenseOperator)
    np.testing.assert_allclose(matrix.array, expected, rtol=0, atol=1e-8 * scale)
    np.testing.assert_array_equal(matrix.array, matrix.array.T)
    applied = graph_kernel(graph.laplacian_, Lam, mu, dense=False)
    assert isinstance(applied, InverseOperator)
    V = np.random.default_rng(0).normal(size=(N, 3))
    np.testing.assert_allclose(
        applied @ V, expected @ V, rtol=0, atol=1e-6 * np.abs(expected @ V).max()
    )
    rows, columns = np.array([3, 0, 17]), np.array([1, 17, 39, 3])
    for operator in (matrix, applied):
        np.testing.assert_allclose(
            operator.submatrix(rows, columns), expected[np.ix_(rows, columns)],
            rtol=0, atol=1e-6 * scale,
        )  # fmt: skip


@every_graph
@every_power
@pytest.mark.parametrize("parts", [1, 3])
def test_all_eigenvectors_give_the_exact_graph_kernel(normalized, power, parts):
    graph = graph_of(power, normalized, parts)
    Lam = precision_of(graph)
    values, vectors = np.linalg.eigh(dense_laplacian(graph))
    embedding = spectral_embedding(np.maximum(values, 0.0), vectors, power, Lam, 0.7)
    exact = graph_kernel(graph.laplacian_, Lam, 0.7, dense=True).array
    found = LowRankOperator(embedding) @ np.eye(N)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8 * np.abs(exact).max())


@every_power
def test_few_eigenvectors_give_the_kernel_of_their_span(power):
    graph = graph_of(power)
    Lam = precision_of(graph)
    values, vectors = graph.eigenpairs(7)
    P = vectors.T @ precision(graph, Lam, 2.0) @ vectors
    np.testing.assert_allclose(
        reduced_precision(values, vectors, power, Lam, 2.0), P, rtol=0, atol=1e-9 * P.max()
    )
    embedding = spectral_embedding(values, vectors, power, Lam, 2.0)
    assert embedding.shape == (N, 7)
    expected = vectors @ np.linalg.inv(P) @ vectors.T
    np.testing.assert_allclose(
        embedding @ embedding.T, expected, rtol=0, atol=1e-9 * np.abs(expected).max()
    )


def test_small_eigenvalues_keep_their_digits_beside_firm_labels():
    # Labels Lam 10¹² times as much as the smoothness: squares would lose half the digits.
    graph = graph_of()
    Lam = precision_of(graph, strength=1e8)
    values, vectors = graph.eigenpairs(10)
    mu = 1e-4
    embedding = spectral_embedding(values, vectors, 1, Lam, mu)
    # In the directions that no label holds, the kernel is that of the smoothness alone.
    phi = vectors[Lam > 0]
    free = np.linalg.svd(phi)[2][len(phi) :].T
    expected = vectors @ free @ np.linalg.inv(free.T @ np.diag(mu * values) @ free) @ free.T
    expected = expected @ vectors.T
    np.testing.assert_allclose(
        embedding @ embedding.T, expected, rtol=0, atol=1e-6 * np.abs(expected).max()
    )


def test_directions_that_nothing_determines_are_left_out():
    graph = graph_of()
    values, vectors = graph.eigenpairs(4)
    embedding = spectral_embedding(values, vectors, 1, np.zeros(N), 1.0)  # no hold at all
    assert embedding.shape == (N, 3)
    expected = (vectors[:, 1:] / values[1:]) @ vectors[:, 1:].T
    np.testing.assert_allclose(embedding @ embedding.T, expected, atol=1e-9 * expected.max())


# ---------------------------------------------------------------- the hold of the labels


@every_graph
@every_power
def test_precision_is_definite_where_no_label_reaches(normalized, power):
    graph = graph_of(power, normalized, parts=4)
    labelled = np.flatnonzero(graph.component_ == graph.component_[0])[:3]
    Lam = label_precision(graph.component_, labelled, np.array([1.0, 2.0, 3.0]), np.ones((3, 1)))
    np.testing.assert_array_equal(Lam[labelled], [1.0, 2.0, 3.0])
    reached = graph.component_ == graph.component_[0]
    others = np.setdiff1d(np.flatnonzero(reached), labelled)
    assert not Lam[others].any()
    assert (Lam[~reached] > 0).all()
    eigenvalues = np.linalg.eigvalsh(precision(graph, Lam, 1.0))
    assert eigenvalues[0] > 1e-6
    kernel = graph_kernel(graph.laplacian_, Lam, 1.0, dense=True)
    assert np.isfinite(kernel.array).all()
    # Where nothing is known, ỹ is zero, and labels are followed where they are.
    weighted_targets = np.where(Lam > 0, Lam, 0.0) * np.isin(np.arange(N), labelled)
    virtual = kernel @ weighted_targets
    np.testing.assert_allclose(virtual[~reached], 0.0, atol=1e-9)
    assert virtual[labelled].min() > 0.1


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_free_level_is_ten_times_the_size_of_the_targets(size):
    component = np.array([0, 0, 0, 1, 1, 2])
    targets = size * np.array([[1.0], [-1.0]])
    Lam = label_precision(component, np.array([0, 1]), np.ones(2), targets)
    for part in (1, 2):
        rows = component == part
        # A constant c over the part costs ½c²ΣΛ: standard deviation 1/√ΣΛ.
        assert 1.0 / np.sqrt(Lam[rows].sum()) == pytest.approx(10.0 * size)


def test_targets_that_are_all_zero_leave_the_hold_finite():
    Lam = label_precision(np.array([0, 1, 1]), np.array([0]), np.ones(1), np.zeros((1, 2)))
    assert np.isfinite(Lam).all()
    assert (Lam > 0).all()


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    parts=st.integers(1, 6),
    n_labelled=st.integers(1, 5),
)
def test_every_part_is_held(seed, n, parts, n_labelled):
    rng = np.random.default_rng(seed)
    component = rng.integers(0, parts, n)
    component = np.unique(component, return_inverse=True)[1]
    labelled = np.sort(rng.choice(n, min(n_labelled, n), replace=False))
    strength = rng.uniform(0.1, 10.0, len(labelled))
    Lam = label_precision(component, labelled, strength, rng.normal(size=(len(labelled), 2)))
    assert (np.bincount(component, weights=Lam) > 0).all()
    np.testing.assert_array_equal(Lam[labelled], strength)


@every_graph
def test_graph_without_edges(normalized):
    graph = KNNGraph.from_affinity(sp.csr_matrix((6, 6)), normalized=normalized)
    Lam = label_precision(graph.component_, np.array([2]), np.array([5.0]), np.ones((1, 1)))
    for dense in (True, False):
        kernel = graph_kernel(graph.laplacian_, Lam, 1.0, dense=dense)
        np.testing.assert_allclose(kernel @ np.eye(6), np.diag(1.0 / Lam), rtol=1e-9)


def test_singular_precision_is_refused_with_advice():
    graph = graph_of(parts=2)
    Lam = np.zeros(N)
    Lam[0] = 1.0  # the second part has no label
    with pytest.raises(ValueError, match="n_eigenvectors"):
        graph_kernel(graph.laplacian_, Lam, 1.0, dense=True)


def test_bytes_of_the_matrix():
    assert graph_kernel_bytes(1000) >= 2 * 8 * 1000**2


# ---------------------------------------------------------------- both kernels together


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["rbf", "linear", "cosine", "poly", "function", "precomputed"])
def test_entries_of_both_kernels(name, dtype):
    X = np.random.default_rng(1).normal(size=(N, 3))
    graph = graph_of()
    K_G = graph_kernel(graph.laplacian_, precision_of(graph), 1.0, dense=True)
    if name == "precomputed":
        K = X @ X.T
        Q = EmbeddedKernel(None, K.astype(dtype), K_G)
    else:
        function = name if name != "function" else lambda A, B: A @ B.T + 1.0
        kernel = make_kernel(function, X, gamma=0.3, degree=2, coef0=1.0)
        rows = kernel.prepare(X)
        K = kernel.block(rows, rows)
        Q = EmbeddedKernel(kernel, kernel.prepare(X, dtype), K_G)
    expected = K + K_G.array
    tolerance = (1e-5 if dtype is np.float32 else 1e-12) * np.abs(expected).max()
    rows = np.array([7, 0, 39])
    for columns in (slice(None), slice(3, 20), np.array([0, 7, 7, 21]), np.arange(N)):
        block = Q.submatrix(rows, columns)
        np.testing.assert_allclose(block, expected[rows][:, columns], rtol=0, atol=tolerance)
        block += 1.0  # it is the caller's own
    np.testing.assert_allclose(Q.submatrix(rows, slice(None)), expected[rows], atol=tolerance)


def test_values_of_a_users_kernel_are_left_alone():
    # Whole numbers, and an array that the user keeps.
    kept = np.ones((N, N), dtype=int)
    graph = graph_of()
    K_G = graph_kernel(graph.laplacian_, precision_of(graph), 1.0, dense=True)
    kernel = make_kernel(
        lambda A, B: kept[: len(A), : len(B)], np.ones((N, 1)), gamma=1.0, degree=1, coef0=0.0
    )
    Q = EmbeddedKernel(kernel, kernel.prepare(np.ones((N, 1))), K_G)
    np.testing.assert_allclose(Q.submatrix(np.arange(5), slice(None)), K_G.array[:5] + 1.0)
    assert (kept == 1).all()
