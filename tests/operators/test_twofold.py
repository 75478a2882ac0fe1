"""Twofold products against rational arithmetic: the error bounds hold, and they are small."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.operators import twofold
from lapwing.operators.dense import TILE, DenseOperator, TileOperator
from lapwing.operators.sparse import PowerOperator, SparseOperator
from lapwing.operators.twofold import Twofold

fractions = np.vectorize(Fraction, otypes=[object])


def entries(shape, seed, decades=8):
    """Numbers of very different size."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) * 10.0 ** rng.integers(-decades, decades + 1, size=shape)


def assert_holds(found, exact, relative=1e-24):
    """The numbers are within their bounds, and the bounds small compared with the largest term."""
    away = np.abs(fractions(found.hi) + fractions(found.lo) - exact)
    assert (away <= fractions(found.error)).all()
    rounded = np.abs(fractions(found.hi) - exact)
    assert (rounded <= fractions(found.width)).all()
    assert found.error.max() <= relative


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_product_is_within_its_bound(seed, is_sparse, monkeypatch):
    if seed % 2:  # rows divided among threads
        monkeypatch.setattr(twofold, "THREAD_WORK", 0)
    A, V = entries((7, 23), seed), entries((23, 2), seed + 100)
    if is_sparse:
        A = A * (np.random.default_rng(seed).random(A.shape) < 0.3)
    found = twofold.times(sp.csr_matrix(A) if is_sparse else A, V)
    assert_holds(found, fractions(A) @ fractions(V), 1e-19 * np.abs(A).max() * np.abs(V).max())


def test_cancellation_costs_nothing():
    # 1e16 + 1 − 1e16, and sums of rows that differ by less than a double can hold.
    A = np.array([[1e16, 1.0, -1e16], [1.0, 1e-20, -1.0]])
    np.testing.assert_array_equal(twofold.times(A, np.ones((3, 1))).hi[:, 0], [1.0, 1e-20])


def test_chains_carry_their_errors():
    A, V = entries((20, 20), 0, 2), entries((20, 2), 1, 2)
    S = sp.csr_matrix(entries((20, 20), 2, 2))
    shift = np.array([3.3, -1e5])
    found = twofold.times(S, twofold.times(A, V) + shift).scaled(-7.7e9)
    exact = Fraction(-7.7e9) * (
        fractions(S.toarray()) @ (fractions(A) @ fractions(V) + fractions(shift))
    )
    assert_holds(found, exact, 1e-6 * np.abs(found.hi).max())
    assert (found.error <= 1e-20 * np.abs(found.hi).max()).all()
    both = found + Twofold.exactly(-found.hi)
    assert_holds(both, exact - fractions(found.hi), np.inf)


def test_all_operators_agree():
    rng = np.random.default_rng(0)
    n = TILE + 30
    B = rng.normal(size=(n, 3))
    A, V = B @ B.T, rng.normal(size=(n, 2))

    def tile(i, j):
        return A[i * TILE : (i + 1) * TILE, j * TILE : (j + 1) * TILE]

    expected = twofold.times(A, V)
    for operator in (DenseOperator(A), TileOperator(n, tile)):
        found = twofold.times(operator, V)
        np.testing.assert_array_equal(found.hi, expected.hi)
        assert operator.passes == 1
    sparse = SparseOperator(sp.csr_matrix(A[:9, :9]))
    cubed = twofold.times(PowerOperator(sparse, 3), V[:9])
    exact = fractions(A[:9, :9])
    assert_holds(cubed, exact @ exact @ exact @ fractions(V[:9]), 1e-20)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_empty_products_are_zero(shape):
    found = twofold.times(np.zeros(shape), np.ones((shape[1], 2)))
    np.testing.assert_array_equal(found.hi, np.zeros((shape[0], 2)))
    assert not found.error.any()


def test_norm_bound_and_column_sums():
    A = np.array([[2.0, -1.0], [-1.0, 5.0]])
    assert twofold.norm_bound(DenseOperator(A)) == 6.0
    assert twofold.norm_bound(PowerOperator(SparseOperator(sp.csr_matrix(A)), 2)) == 36.0
    sums = twofold.column_sums(np.array([[1e16, 0.1], [1.0, 0.2], [-1e16, -0.3]]))
    exact = Fraction(0.1) + Fraction(0.2) - Fraction(0.3)
    np.testing.assert_array_equal(sums, [1.0, float(exact)])
