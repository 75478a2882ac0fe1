"""Polynomials of the Laplacian, and the Green's function made of them."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from lapwing.graphs import KNNGraph
from lapwing.graphs.filters import GraphFilter, spectrum_bound
from lapwing.operators.dense import DenseOperator
from lapwing.operators.sparse import PowerOperator, SparseOperator
from lapwing.solvers.graph_filter import GreenFunction, green_filter


def graph(n=80, normalized=True, power=1, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, KNNGraph(5, normalized=normalized, power=power).fit(X)


def dense(operator):
    return operator @ np.eye(operator.shape[0])


@pytest.mark.parametrize("n", [10, 64, 65, 300])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_spectrum_bound_is_a_bound_and_a_tight_one(n, normalized, seed):
    laplacian = graph(n, normalized, seed=seed)[1].laplacian_
    largest = np.linalg.eigvalsh(dense(laplacian))[-1]
    assert largest <= spectrum_bound(laplacian) <= 1.1 * largest


@pytest.mark.parametrize("n", [10, 100])
def test_spectrum_bound_of_a_graph_without_edges_is_positive(n):
    assert 0 < spectrum_bound(SparseOperator(np.zeros((n, n)))) < 1e-6


@pytest.mark.parametrize("upper", [2.0, 37.0])
@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("ratio", [1e-2, 1.0, 1e2, 1e4])
def test_green_filter_leaves_the_right_rest(ratio, power, upper):
    def phi(x):
        return np.exp(-2 * x / upper) / upper**power

    coefficients = green_filter(phi, ratio, power, upper)
    x = np.linspace(0, upper, 20_001)
    q = chebyshev.chebval(2 * x / upper - 1, coefficients)
    rest = (1 - ratio * x**power * q) * (1 + ratio * x**power * phi(x))
    assert np.abs(rest - 1).max() < 0.71  # fitted on a grid
    assert (rest > 0).all()


@pytest.mark.parametrize("degree", [1, 2, 5, 16])
@pytest.mark.parametrize("columns", [1, 40, 70])
def test_filter_is_the_polynomial_of_the_dense_laplacian(degree, columns):
    _, fitted = graph()
    L, upper = dense(fitted.laplacian_), 2.1
    rng = np.random.default_rng(0)
    coefficients = rng.normal(size=degree + 1)
    V = rng.normal(size=(80, columns))
    values, vectors = np.linalg.eigh(L)
    response = chebyshev.chebval(2 * values / upper - 1, coefficients)
    expected = vectors @ (response[:, None] * (vectors.T @ V))
    found = GraphFilter(fitted.laplacian_, upper, coefficients)(V)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


def test_several_polynomials_of_one_recurrence_stand_side_by_side():
    _, fitted = graph()
    rng = np.random.default_rng(0)
    coefficients, v = rng.normal(size=(9, 3)), rng.normal(size=(80, 1))
    together = GraphFilter(fitted.laplacian_, 2.1, coefficients)(v)
    assert together.shape == (80, 3)
    for k in range(3):
        alone = GraphFilter(fitted.laplacian_, 2.1, coefficients[:, k])(v)
        np.testing.assert_allclose(together[:, [k]], alone, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 30])
@pytest.mark.parametrize("normalized", [True, False])
def test_single_precision_gives_the_same_in_the_same_order(degree, normalized):
    _, fitted = graph(normalized=normalized)
    L, rng = fitted.laplacian_, np.random.default_rng(0)
    coefficients, V = rng.normal(size=(degree + 1, 2)), rng.normal(size=(80, 20))
    double = GraphFilter(L, spectrum_bound(L), coefficients)
    expected, found = double(V), double.single_precision()(V.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("columns", [0, 3, 20])
def test_some_rows_of_a_filter(single, columns):
    _, fitted = graph()
    rng = np.random.default_rng(0)
    apply = GraphFilter(fitted.laplacian_, 2.1, rng.normal(size=(9, 2)))
    apply = apply.single_precision() if single else apply
    V = rng.normal(size=(80, columns)).astype(apply.coefficients.dtype)
    rows = np.array([7, 3, 3, 79])
    np.testing.assert_array_equal(apply(V, rows), apply(V)[rows])


@pytest.mark.parametrize("single", [False, True])
def test_other_coefficients_of_the_same_filter(single):
    _, fitted = graph()
    rng = np.random.default_rng(0)
    first, second, V = rng.normal(size=(4, 1)), rng.normal(size=(9, 2)), rng.normal(size=(80, 3))
    made = [GraphFilter(fitted.laplacian_, 2.1, c) for c in (first, second)]
    if single:
        made, V = [found.single_precision() for found in made], V.astype(np.float32)
    before = made[0](V)
    np.testing.assert_array_equal(made[0].with_coefficients(second)(V), made[1](V))
    np.testing.assert_array_equal(made[0](V), before)


def green(n_landmarks, ratio=100.0, n=150, normalized=True, power=1, size=1.0):
    X, fitted = graph(n, normalized, power)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 1e-3 * np.eye(n)
    K *= size
    S = fitted.laplacian_
    G = GreenFunction(DenseOperator(K), S, ratio, n_landmarks, rng=np.random.default_rng(0))
    return G, K, dense(S), ratio


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("n_landmarks", [10, 60])
def test_green_function_is_symmetric(n_landmarks, normalized, power):
    G, *_ = green(n_landmarks, normalized=normalized, power=power)
    matrix = G(np.eye(150))
    # Parts are kept in single precision.
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-5 * np.abs(matrix).max())


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("normalized", [True, False])
def test_green_function_is_positive(normalized, power):
    G, *_ = green(30, normalized=normalized, power=power)
    matrix = G(np.eye(150))
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    assert values[0] >= -1e-6 * values[-1]


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("normalized", [True, False])
def test_green_function_narrows_the_spectrum(normalized, power):
    G, K, S, ratio = green(40, normalized=normalized, power=power)
    system = np.linalg.inv(K) + ratio * S

    def spread(A):
        values = np.abs(np.linalg.eigvals(A))
        return values.max() / values.min()

    assert spread(G(system)) < 0.5 * spread(system)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("normalized", [True, False])
def test_expansions_of_the_green_function_narrow_the_spectrum(normalized, power):
    G, K, S, ratio = green(40, normalized=normalized, power=power)
    system = np.eye(150) + ratio * S @ K

    def spread(A):
        values = np.abs(np.linalg.eigvals(A))
        return values.max() / values.min()

    # r − μSGr stands for (I + μSK)⁻¹r.
    assert spread(system - ratio * S @ G(system)) < 0.5 * spread(system)


def test_green_function_takes_blocks_column_by_column():
    G = green(20)[0]
    V = np.random.default_rng(2).normal(size=(150, 3))
    # Single precision products of blocks and of columns differ in the last bits.
    np.testing.assert_allclose(G(V), np.hstack([G(V[:, [j]]) for j in range(3)]), atol=1e-4)


def test_green_function_with_more_landmarks_than_rows():
    G, K, S, ratio = green(1000, ratio=1.0)
    v = np.random.default_rng(3).normal(size=(150, 1))
    recovered = G((np.linalg.inv(K) + ratio * S) @ (K @ v))
    assert np.linalg.norm(recovered - K @ v) < 0.5 * np.linalg.norm(K @ v)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-40, 1e40])
def test_green_function_of_a_kernel_out_of_the_range_of_single_precision(size):
    """(K/s)⁻¹ + sμS has the Green function of K⁻¹ + μS, divided by s."""
    v = np.random.default_rng(3).normal(size=(150, 1))
    expected = green(40, ratio=100.0)[0](v)
    found = green(40, ratio=100.0 / size, size=size)[0](v) / size
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_green_function_of_a_kernel_of_zeros():
    G = green(20, size=0.0)[0]
    assert np.abs(G(np.ones((150, 2)))).max() < 1e-290


def test_power_is_read_off_the_operator():
    _, fitted = graph(power=3)
    assert isinstance(fitted.laplacian_, PowerOperator)
    assert fitted.laplacian_.power == 3
