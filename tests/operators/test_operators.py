"""What every operator must do, whatever its storage, and what each does besides."""

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.operators.base import Operator
from lapwing.operators.dense import TILE, DenseOperator, TileOperator
from lapwing.operators.inverse import InverseOperator
from lapwing.operators.low_rank import LowRankOperator
from lapwing.operators.rows import RowGramOperator, Rows
from lapwing.operators.sparse import (
    DiagonalOperator,
    PowerOperator,
    ShiftedOperator,
    SparseOperator,
)


def semidefinite(n, seed=0):
    B = np.random.default_rng(seed).normal(size=(n, 8))
    return B @ B.T / 8


def tiles_of(A):
    def tile(i, j):
        return A[i * TILE : (i + 1) * TILE, j * TILE : (j + 1) * TILE]

    return tile


def sparse_symmetric(n, seed=0, density=0.1):
    A = sp.random(n, n, density=density, random_state=seed, format="csr")
    return sp.csr_matrix(A + A.T)


class Conformance:
    """Inherit and implement `make`, which returns an operator and its dense matrix."""

    tolerance = 1e-12

    def make(self):
        raise NotImplementedError

    @pytest.fixture
    def pair(self):
        return self.make()

    @pytest.fixture
    def rng(self):
        return np.random.default_rng(1)

    def close(self, found, expected):
        scale = max(np.abs(expected).max(), 1e-300)
        np.testing.assert_allclose(found, expected, rtol=0, atol=self.tolerance * scale)

    def test_is_an_operator_of_the_right_shape(self, pair):
        A, dense = pair
        assert isinstance(A, Operator)
        assert A.shape == dense.shape

    def test_equals_the_dense_matrix(self, pair, rng):
        A, dense = pair
        V = rng.normal(size=(len(dense), 5))
        self.close(A @ V, dense @ V)

    def test_vector_equals_block_of_one_column(self, pair, rng):
        A, dense = pair
        v = rng.normal(size=len(dense))
        product = A @ v
        assert product.shape == v.shape
        np.testing.assert_array_equal(product, (A @ v[:, None])[:, 0])

    def test_array_holds_all_entries(self, pair):
        A, dense = pair
        array = A.to_array()
        assert array.dtype == np.float64
        self.close(array, dense)
        assert A.array is None or A.array is array

    def test_is_the_power_that_it_declares(self, pair, rng):
        A, dense = pair
        base, power = A.as_power()
        V = rng.normal(size=(len(dense), 2))
        expected = A @ V
        for _ in range(power):
            V = base @ V
        self.close(V, expected)

    def test_diagonal_at_some_rows(self, pair, rng):
        A, dense = pair
        index = rng.integers(0, len(dense), 70)  # more than are worked on at a time
        self.close(A.diagonal_at(index), np.diag(dense)[index])

    def test_is_linear(self, pair, rng):
        A, dense = pair
        u, v = rng.normal(size=(2, len(dense)))
        self.close(A @ (2.5 * u - v), 2.5 * (A @ u) - A @ v)

    def test_is_symmetric(self, pair, rng):
        A, dense = pair
        u, v = rng.normal(size=(2, len(dense)))
        scale = np.linalg.norm(u) * np.linalg.norm(dense @ v)
        assert abs(u @ (A @ v) - (A @ u) @ v) <= 10 * self.tolerance * scale

    def test_columns_are_products_with_unit_vectors(self, pair, rng):
        A, dense = pair
        n = len(dense)
        index = np.array([n - 1, 0, n // 2, n // 2])
        units = np.zeros((n, 4))
        units[index, np.arange(4)] = 1.0
        columns = A.columns(index)
        assert columns.shape == (n, 4)
        assert columns.dtype == np.float64
        self.close(columns, A @ units)
        self.close(columns, dense[:, index])

    def test_columns_of_no_index(self, pair):
        A, dense = pair
        assert A.columns(np.array([], dtype=int)).shape == (len(dense), 0)

    @pytest.mark.parametrize("kind", ["index", "slice", "one row", "all columns", "none"])
    def test_submatrix_is_cut_out_of_the_dense_matrix(self, pair, kind):
        A, dense = pair
        n = len(dense)
        rows = np.array([n - 1, 0, n // 2])
        columns = {
            "index": np.array([n // 2, 0, n - 1, 0]),
            "slice": slice(n // 3, n),
            "one row": np.array([n - 1]),
            "all columns": slice(None),
            "none": np.array([], dtype=int),
        }[kind]
        if kind == "one row":
            rows = rows[:1]
        block = A.submatrix(rows, columns)
        expected = dense[rows][:, columns]
        assert block.shape == expected.shape
        assert block.dtype == np.float64
        scale = max(np.abs(dense).max(), 1e-300)
        np.testing.assert_allclose(block, expected, rtol=0, atol=self.tolerance * scale)

    def test_wrong_shapes_are_refused(self, pair):
        A, dense = pair
        n = len(dense)
        for shape in [(n + 1,), (n - 1, 2), (n + 2, n), (n, 1, 1), ()]:
            with pytest.raises(ValueError, match="cannot multiply"):
                A @ np.zeros(shape)

    def test_counts_its_passes(self, pair):
        A, dense = pair
        before = A.passes
        A @ np.ones(len(dense))
        A @ np.ones((len(dense), 7))
        assert A.passes == before + 2

    def test_result_is_double_precision_and_input_is_left_alone(self, pair, rng):
        A, dense = pair
        V = rng.normal(size=(len(dense), 2)).astype(np.float32)
        copy = V.copy()
        assert (A @ V).dtype == np.float64
        np.testing.assert_array_equal(V, copy)
        self.close(A @ V, dense @ V.astype(np.float64))

    def test_takes_columns_in_any_memory_order(self, pair, rng):
        A, dense = pair
        V = np.asfortranarray(rng.normal(size=(len(dense), 3)))
        self.close(A @ V, dense @ V)
        self.close(A @ V[:, ::2], dense @ V[:, ::2])

    def test_same_product_has_the_same_bits(self, pair, rng):
        A, dense = pair
        V = rng.normal(size=(len(dense), 3))
        np.testing.assert_array_equal(A @ V, A @ V)


class TestDense(Conformance):
    def make(self):
        A = semidefinite(30)
        return DenseOperator(A), A


@pytest.mark.parametrize("n", [1, 2, TILE - 1, TILE, TILE + 1, 1030])
class TestComputedTiles(Conformance):
    @pytest.fixture
    def pair(self, n):
        A = semidefinite(n)
        return TileOperator(n, tiles_of(A)), A


@pytest.mark.parametrize("n", [1, TILE - 1, TILE, TILE + 1, 1030])
class TestStoredTiles(Conformance):
    @pytest.fixture
    def pair(self, n):
        # Entries that single precision holds exactly: what remains is double precision sums.
        A = semidefinite(n).astype(np.float32).astype(np.float64)
        A = np.tril(A) + np.tril(A, -1).T
        return TileOperator.stored(n, tiles_of(A)), A


class TestTilesInSinglePrecision(Conformance):
    tolerance = 1e-6

    def make(self):
        A = semidefinite(600)
        return TileOperator.stored(600, tiles_of(A)), A


class TestDenseRowGram(Conformance):
    def make(self):
        X = np.random.default_rng(0).normal(size=(30, 4))
        return RowGramOperator(Rows(X)), X @ X.T


class TestSparseRowGram(Conformance):
    def make(self):
        X = sp.random(40, 9, density=0.3, random_state=0, format="csr")
        return RowGramOperator(Rows(X)), (X @ X.T).toarray()


class TestSparse(Conformance):
    def make(self):
        A = sparse_symmetric(50)
        return SparseOperator(A), A.toarray()


class TestSparseInThreads(Conformance):
    """Products that are divided among threads."""

    @pytest.fixture(autouse=True)
    def _threads(self, monkeypatch):
        monkeypatch.setattr("lapwing.operators.sparse.THREAD_WORK", 0)

    def make(self):
        A = sparse_symmetric(60)
        return SparseOperator(A), A.toarray()


class TestSparseWithoutEntries(Conformance):
    def make(self):
        return SparseOperator(sp.csr_matrix((20, 20))), np.zeros((20, 20))


@pytest.mark.parametrize("power", [1, 2, 3])
class TestPower(Conformance):
    @pytest.fixture
    def pair(self, power):
        A = sparse_symmetric(40)
        return PowerOperator(SparseOperator(A), power), np.linalg.matrix_power(A.toarray(), power)


@pytest.mark.parametrize("power", [1, 2])
class TestShifted(Conformance):
    @pytest.fixture
    def pair(self, power):
        A, shift = sparse_symmetric(40), np.linspace(0.0, 3.0, 40)
        base = SparseOperator(A)
        base = base if power == 1 else PowerOperator(base, power)
        dense = -0.7 * np.linalg.matrix_power(A.toarray(), power) + np.diag(shift)
        return ShiftedOperator(base, -0.7, shift), dense


@pytest.mark.parametrize("rank", [1, 5, 30])
class TestLowRank(Conformance):
    @pytest.fixture
    def pair(self, rank):
        Z = np.random.default_rng(0).normal(size=(30, rank))
        return LowRankOperator(Z), Z @ Z.T


class TestDiagonal(Conformance):
    def make(self):
        values = np.random.default_rng(0).normal(size=30)
        return DiagonalOperator(values), np.diag(values)


@pytest.mark.parametrize("n", [1, 2, 40])
class TestInverse(Conformance):
    tolerance = 1e-8

    @pytest.fixture
    def pair(self, n):
        # A Laplacian-like matrix whose rows differ much in scale.
        W = sparse_symmetric(n, density=0.2)
        W.setdiag(0)
        A = np.diag(W.toarray().sum(axis=0)) - W.toarray() + np.diag(np.logspace(-2, 3, n))
        base = SparseOperator(sp.csr_matrix(A))
        return InverseOperator(base, base.diagonal()), np.linalg.inv(A)


def test_shifted_diagonal():
    A, shift = sparse_symmetric(30), np.arange(30.0)
    operator = ShiftedOperator(SparseOperator(A), 2.0, shift)
    np.testing.assert_allclose(operator.diagonal(), 2.0 * A.toarray().diagonal() + shift)


def test_diagonal_that_is_not_known_says_so():
    with pytest.raises(NotImplementedError, match="LowRankOperator does not know its diagonal"):
        LowRankOperator(np.ones((3, 1))).diagonal()


def test_power_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        PowerOperator(DenseOperator(np.eye(3)), 0)


def test_power_applies_its_base_and_never_multiplies_it_out():
    base = DenseOperator(semidefinite(10))
    PowerOperator(base, 3) @ np.ones(10)
    assert base.passes == 3


def test_sparse_diagonal():
    A = sparse_symmetric(30)
    np.testing.assert_array_equal(SparseOperator(A).diagonal(), A.toarray().diagonal())


def test_tiles_are_asked_for_in_the_lower_triangle_once_a_product():
    A, computed = semidefinite(1030), []

    def tile(i, j):
        computed.append((i, j))
        return tiles_of(A)(i, j)

    TileOperator(1030, tile) @ np.ones((1030, 2))
    assert sorted(computed) == [(i, j) for i in range(3) for j in range(i + 1)]


def test_stored_tiles_are_computed_once():
    A, computed = semidefinite(TILE + 5), []

    def tile(i, j):
        computed.append((i, j))
        return tiles_of(A)(i, j)

    operator = TileOperator.stored(TILE + 5, tile)
    for _ in range(3):
        operator @ np.ones(TILE + 5)
    operator.columns(np.array([0, TILE]))
    assert len(computed) == 3


def test_stored_tiles_accumulate_in_double_precision():
    # Coefficients large and alternating: single precision sums would lose all digits.
    n = 1030
    operator = TileOperator.stored(n, tiles_of(np.ones((n, n))))
    v = np.where(np.arange(n) % 2, -1.0, 1.0) * 1e8
    v[0] += 1e-3
    np.testing.assert_allclose(operator @ v, 1e-3, atol=1e-5)


def test_operator_without_apply_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="Operator must implement _apply"):
        Operator(3) @ np.ones(3)


def test_row_sums_of_constants_in_the_null_space_are_exactly_zero():
    L = sp.csr_matrix(np.array([[0.1, -0.1, 0.0], [-0.1, 0.3, -0.2], [0.0, -0.2, 0.2]]) / 3.0)
    null_space = sp.csr_matrix(np.full((3, 1), 3**-0.5))
    assert (L @ np.ones(3)).any()  # rounding
    assert not SparseOperator(L, null_space).times_ones().any()
    np.testing.assert_array_equal(SparseOperator(L).times_ones(), L @ np.ones(3))
    half = SparseOperator(sp.diags_array([0.0, 1.0, 1.0]), sp.csr_matrix([[1.0], [0.0], [0.0]]))
    np.testing.assert_array_equal(half.times_ones(), [0.0, 1.0, 1.0])
