"""Kernel functions against their formulas, and the storages of the Gram matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from lapwing.kernels.expansion import evaluate
from lapwing.kernels.functions import (
    CallableKernel,
    CosineKernel,
    GaussianKernel,
    LinearKernel,
    PolynomialKernel,
    make_kernel,
    resolve_gamma,
)
from lapwing.kernels.gram import (
    choose_storage,
    gram_bytes,
    gram_operator,
    single_precision_suffices,
)
from lapwing.operators.dense import DenseOperator, TileOperator


def rows(n=30, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def naive(name, A, B):
    pairs = [[(a, b) for b in B] for a in A]
    functions = {
        "linear": lambda a, b: a @ b,
        "cosine": lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b),
        "rbf": lambda a, b: np.exp(-0.3 * ((a - b) ** 2).sum()),
        "poly": lambda a, b: (0.3 * (a @ b) + 1.5) ** 3,
        "callable": lambda a, b: a @ b + 1.0,
    }
    return np.array([[functions[name](a, b) for a, b in row] for row in pairs])


def make(name, X):
    kernel = (lambda A, B: A @ B.T + 1.0) if name == "callable" else name
    return make_kernel(kernel, X, gamma=0.3, degree=3, coef0=1.5)


NAMES = ["linear", "cosine", "rbf", "poly", "callable"]
every_kernel = pytest.mark.parametrize("name", NAMES)


@every_kernel
def test_block_equals_the_formula(name):
    A, B = rows(12), rows(9, seed=1)
    kernel = make(name, A)
    found = kernel.block(kernel.prepare(A), kernel.prepare(B))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, naive(name, A, B), rtol=1e-12, atol=1e-13)


@every_kernel
def test_kernels_are_what_they_declare(name):
    A, B = rows(12), rows(9, seed=1)
    kernel = make(name, A)
    prepared, others = kernel.prepare(A), kernel.prepare(B)
    block = kernel.block(prepared, others)
    if kernel.is_linear:
        np.testing.assert_allclose(prepared.data @ others.data.T, block, rtol=1e-12, atol=1e-13)
    assert kernel.has_unit_diagonal == (name == "rbf")
    assert kernel.is_user_defined == (name == "callable")
    assert kernel.is_positive_semidefinite == (name != "callable")
    assert kernel.is_radial == (name == "rbf")
    if kernel.is_radial:
        wide = kernel.with_gamma(1e-3)
        distances = -np.log(wide.block(prepared, others)) / 1e-3
        np.testing.assert_allclose(kernel.squared_distances(prepared, others), distances)
        relative = block / block.max(axis=1, keepdims=True)
        np.testing.assert_allclose(kernel.relative_block(prepared, others), relative, rtol=1e-12)
        far = kernel.relative_block(kernel.prepare(A + 1e3), others)
        assert (far.max(axis=1) == 1.0).all()
        return
    for method in (kernel.squared_distances, kernel.relative_block):
        with pytest.raises(NotImplementedError, match="not a function of distances"):
            method(prepared, others)
    with pytest.raises(NotImplementedError, match="not a function of distances"):
        kernel.with_gamma(1.0)


@pytest.mark.parametrize(
    ("coef0", "degree", "known"), [(0, 3, True), (-1, 2, False), (1, 1.5, False)]
)
def test_polynomials_that_are_known_to_be_positive_semidefinite(coef0, degree, known):
    assert PolynomialKernel(1.0, coef0, degree).is_positive_semidefinite == known


@pytest.mark.parametrize("name", ["linear", "cosine", "rbf", "poly"])
def test_sparse_rows_equal_dense_rows(name):
    A = sp.random(20, 30, density=0.2, random_state=0, format="csr")
    B = sp.random(15, 30, density=0.2, random_state=1, format="csr")
    sparse, dense = make(name, A), make(name, A.toarray())
    found = sparse.block(sparse.prepare(A), sparse.prepare(B))
    expected = dense.block(dense.prepare(A.toarray()), dense.prepare(B.toarray()))
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["linear", "cosine", "rbf", "poly"])
def test_single_precision_stays_single_and_close(name):
    A = rows()
    kernel = make(name, A)
    prepared = kernel.prepare(A, np.float32)
    found = kernel.block(prepared, prepared)
    assert found.dtype == np.float32
    expected = naive(name, A, A)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@every_kernel
def test_blocks_of_prepared_rows_are_parts_of_the_whole(name):
    A = rows(20)
    kernel = make(name, A)
    prepared = kernel.prepare(A)
    whole = kernel.block(prepared, prepared)
    part = kernel.block(prepared[3:9], prepared[np.array([1, 17])])
    np.testing.assert_allclose(part, whole[3:9][:, [1, 17]], rtol=1e-12)


@every_kernel
def test_data_are_left_alone(name):
    A = rows()
    copy = A.copy()
    kernel = make(name, A)
    kernel.block(kernel.prepare(A), kernel.prepare(A))
    np.testing.assert_array_equal(A, copy)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_gaussian_keeps_its_digits_far_from_the_origin(offset):
    A = rows() + offset
    expected, bound = naive("rbf", A, A), 1e-14 * offset
    dense, sparse = make("rbf", A), sp.csr_matrix(A)
    for B in (A, sparse):  # sparse rows of a model of dense ones
        found = dense.block(dense.prepare(A), dense.prepare(B))
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
        relative = dense.relative_block(dense.prepare(A), dense.prepare(B))
        np.testing.assert_allclose(relative, expected, rtol=0, atol=bound)
    assert resolve_gamma("median", A) == pytest.approx(
        resolve_gamma("median", A - offset), rel=bound
    )


@given(st.floats(1e-12, 1e12), st.integers(0, 10**6))
def test_gaussian_lies_between_zero_and_one(gamma, seed):
    X = np.random.default_rng(seed).integers(-2, 3, size=(8, 2)).astype(float)
    kernel = GaussianKernel(gamma, X.mean(axis=0))
    prepared = kernel.prepare(X)
    K = kernel.block(prepared, prepared)
    assert (K >= 0).all()
    assert (K <= 1).all()


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 8, 9])
def test_polynomial_powers(degree):
    A = rows(10)
    kernel = PolynomialKernel(0.5, 1.0, degree)
    prepared = kernel.prepare(A)
    expected = (0.5 * A @ A.T + 1.0) ** degree
    np.testing.assert_allclose(kernel.block(prepared, prepared), expected, rtol=1e-11, atol=1e-12)


def test_polynomial_of_broken_degree():
    A = np.abs(rows(10))
    kernel = PolynomialKernel(1.0, 1.0, 1.5)
    prepared = kernel.prepare(A)
    np.testing.assert_allclose(kernel.block(prepared, prepared), (A @ A.T + 1.0) ** 1.5)


def test_cosine_of_a_zero_row_is_zero():
    A = rows(6)
    A[2] = 0.0
    kernel = CosineKernel()
    prepared = kernel.prepare(A)
    K = kernel.block(prepared, prepared)
    np.testing.assert_allclose(K, cosine_similarity(A), atol=1e-14)
    assert not K[2].any()


def test_callable_of_the_wrong_shape_is_refused():
    kernel = CallableKernel(lambda A, B: np.ones(3))
    prepared = kernel.prepare(rows(4))
    with pytest.raises(ValueError, match=r"must return an array of shape \(4, 4\)"):
        kernel.block(prepared, prepared)


def test_unknown_kernel_and_negative_degree_are_refused():
    with pytest.raises(ValueError, match="kernel 'sigmoid' is unknown"):
        make_kernel("sigmoid", rows(), gamma=1.0, degree=3, coef0=0.0)
    with pytest.raises(ValueError, match="degree must not be negative"):
        make_kernel("poly", rows(), gamma=1.0, degree=-1, coef0=0.0)


# ---------------------------------------------------------------- widths


@pytest.mark.parametrize("sparse", [False, True])
def test_gamma_scale(sparse):
    X = np.round(rows(40), 1) * (np.random.default_rng(0).random((40, 5)) < 0.5)
    form = sp.csr_matrix if sparse else np.asarray
    found = resolve_gamma("scale", form(X))
    assert found == pytest.approx(1 / sum(X.var(axis=0)), rel=1e-12)
    # A constant added to a column changes no distance, and cancels no digits.
    shifted = form(X + np.array([0, 0, 0, 0, 1e7]))
    assert resolve_gamma("scale", shifted) == pytest.approx(found, rel=1e-8)
    centred = X - X.mean(axis=0)
    assert resolve_gamma("scale", form(centred)) == pytest.approx(1 / (5 * centred.var()))


@pytest.mark.parametrize("sparse", [False, True])
def test_gamma_median(sparse):
    X = rows(41)
    i, j = np.triu_indices(41, 1)
    median = np.median(((X[i] - X[j]) ** 2).sum(axis=1))
    found = resolve_gamma("median", sp.csr_matrix(X) if sparse else X)
    assert found == pytest.approx(1 / (2 * median), rel=1e-9)


def test_gamma_median_leaves_equal_rows_out():
    X = np.vstack([np.zeros((90, 2)), [[3.0, 4.0]]])
    assert resolve_gamma("median", X) == pytest.approx(1 / 50)


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_rounding_does_not_separate_equal_rows_far_from_zero(gamma):
    """Sparse rows are not centred, and means of equal rows differ from them by rounding."""
    row = 1e11 * np.random.default_rng(0).normal(size=50)
    X = sp.csr_matrix(np.tile(row, (20, 1)))
    kernel = make_kernel("rbf", X, gamma=gamma, degree=3, coef0=0.0)
    mean = kernel.prepare((1.0 + np.finfo(float).eps) * row[None])
    np.testing.assert_allclose(kernel.block(kernel.prepare(X), mean), 1.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(kernel.block(mean, mean), 1.0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_gamma_of_constant_rows_is_one(rule):
    assert resolve_gamma(rule, np.full((10, 3), 2.0)) == 1.0


def test_gamma_is_a_number_whatever_the_precision():
    X = rows(50)
    for rule in ("scale", "median"):
        single = resolve_gamma(rule, X.astype(np.float32))
        assert isinstance(single, float)
        assert single == pytest.approx(resolve_gamma(rule, X), rel=1e-5)


@pytest.mark.parametrize("gamma", [0, -1.0, np.inf, np.nan, "auto"])
def test_bad_gamma_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be"):
        resolve_gamma(gamma, rows())


# ---------------------------------------------------------------- storage of the Gram matrix


@every_kernel
@pytest.mark.parametrize("storage", ["float64", "triangle64", "triangle32", "tiled"])
@pytest.mark.parametrize("n", [30, 530])
def test_storages_agree(name, storage, n):
    A = rows(n)
    kernel = make(name, A)
    operator = gram_operator(kernel, kernel.prepare(A), storage)
    assert isinstance(operator, DenseOperator if storage == "float64" else TileOperator)
    prepared = kernel.prepare(A)
    expected = kernel.block(prepared, prepared)
    tolerance = 1e-6 if storage == "triangle32" else 1e-12
    found = operator @ np.eye(n)
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
    assert found.dtype == np.float64


def test_gaussian_gram_has_ones_on_its_diagonal():
    A = 100.0 * rows(530)
    kernel = make("rbf", A)
    for dtype in (np.float64, np.float32):
        for storage in ("float64", "triangle64", "triangle32", "tiled"):
            operator = gram_operator(kernel, kernel.prepare(A, dtype), storage)
            index = np.arange(0, 530, 7)
            np.testing.assert_array_equal(operator.columns(index)[index, range(len(index))], 1.0)


def test_gram_bytes():
    assert gram_bytes(1000, "float64") == 8_000_000
    assert gram_bytes(10_000, "triangle32") < 0.55 * 4 * 10_000**2
    assert gram_bytes(10**6, "tiled") == gram_bytes(10, "tiled")
    # The lower triangle that is really stored.
    blocks = [512, 512, 6]
    stored = sum(4 * a * b for i, a in enumerate(blocks) for b in blocks[: i + 1])
    assert gram_bytes(1030, "triangle32") >= stored


def test_storage_is_chosen_by_the_budget():
    n, work = 20_000, 10**7
    room = gram_bytes(n, "triangle32") + work
    assert choose_storage(n, room, work) == "triangle32"
    assert choose_storage(n, room - 1, work) == "tiled"
    least = gram_bytes(n, "tiled") + work
    assert choose_storage(n, least, work) == "tiled"
    with pytest.raises(MemoryError, match=r"20000 rows needs 26\.8 MB.*26\.8 MB"):
        choose_storage(n, least - 1, work)


def test_single_precision_is_refused_where_distances_are_large():
    A = rows(50)
    kernel = GaussianKernel(0.1, A.mean(axis=0))
    assert single_precision_suffices(kernel, kernel.prepare(A))
    wide = GaussianKernel(0.1, A.mean(axis=0) * 1e3)
    assert not single_precision_suffices(wide, wide.prepare(A * 1e3))
    assert single_precision_suffices(LinearKernel(), LinearKernel().prepare(A))


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_single_precision_is_as_good_as_promised(scale):
    A = scale * rows(200)
    kernel = GaussianKernel(0.05, A.mean(axis=0))
    if not single_precision_suffices(kernel, kernel.prepare(A)):
        pytest.skip("not promised for these rows")
    single, double = kernel.prepare(A, np.float32), kernel.prepare(A)
    error = kernel.block(single, single) - kernel.block(double, double)
    assert np.abs(error).max() < 2e-6


# ---------------------------------------------------------------- values on new rows


@every_kernel
@pytest.mark.parametrize("columns", [1, 3])
def test_expansion_on_new_rows(name, columns, monkeypatch):
    monkeypatch.setattr("lapwing.kernels.expansion._BLOCK_ENTRIES", 50)  # several blocks
    A, new = rows(20), rows(33, seed=5)
    coef = np.random.default_rng(2).normal(size=(20, columns))
    coef[4:9] = 0.0
    found = evaluate(make(name, A), new, A, coef)
    np.testing.assert_allclose(found, naive(name, new, A) @ coef, rtol=1e-9, atol=1e-10)


def test_expansion_without_support_or_rows():
    A = rows(20)
    kernel = make("rbf", A)
    assert not evaluate(kernel, A, A, np.zeros((20, 2))).any()
    assert evaluate(kernel, A[:0], A, np.ones((20, 2))).shape == (0, 2)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e9, 1e13])
def test_close_rows_far_from_the_centre(size, sparse):
    """Duplicate rows have the value 1, and close ones that of their difference."""
    rng = np.random.default_rng(0)
    A = np.round(size * rng.normal(size=(10, 4)))
    B = np.concatenate([A, A[::-1]])
    B[:3, 1] += 1.0
    kernel = GaussianKernel(0.3)
    found = kernel.block(*(kernel.prepare(sp.csr_matrix(X) if sparse else X) for X in (A, B)))
    np.testing.assert_allclose(found, naive("rbf", A, B), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[np.arange(3), np.arange(3)], np.exp(-0.3), rtol=1e-6)
    K = kernel.block(kernel.prepare(B), kernel.prepare(B))
    assert np.linalg.eigvalsh(K).min() > -1e-5
