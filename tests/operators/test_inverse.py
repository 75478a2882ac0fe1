"""Conjugate gradients on blocks: dense solves as the oracle, and right-hand sides of every kind."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import lapwing.operators.inverse as inverse
from lapwing.operators.dense import DenseOperator
from lapwing.operators.inverse import InverseOperator, block_cg
from lapwing.operators.sparse import SparseOperator


def definite(n, condition=1e4, seed=0):
    U = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    A = (U * np.logspace(0, -np.log10(condition), n)) @ U.T
    return (A + A.T) / 2


def solve(A, B, most=500):
    """Return the last approximation, its residual, and the number of products."""
    goal = 1e-11 * np.linalg.norm(B)
    for products, (X, residual) in enumerate(block_cg(lambda P: A @ P, B)):  # noqa: B007
        if np.linalg.norm(residual) <= goal or products == most:
            break
    return X, residual, products


def right_hand_sides(kind, n, rng):
    B = rng.normal(size=(n, 4))
    return {
        "one": B[:, :1],
        "independent": B,
        "repeated": B[:, [0, 1, 0, 0]],
        "dependent": B @ rng.normal(size=(4, 7)),
        "with zeros": B * [1.0, 0.0, 1.0, 0.0],
        "all zero": 0.0 * B,
        "many scales": B * [1e-8, 1.0, 1e8, 1e-3],
        "nearly dependent": B[:, :1] + 1e-13 * B,
        "more than rows": rng.normal(size=(n, n + 5)),
        "ones": np.ones((n, 2)),
    }[kind]


KINDS = ["one", "independent", "repeated", "dependent", "with zeros", "all zero", "many scales"]
KINDS += ["nearly dependent", "more than rows", "ones"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [8, 60])
def test_equals_a_dense_solve(kind, n):
    A, rng = definite(n), np.random.default_rng(1)
    B = right_hand_sides(kind, n, rng)
    X, _, _ = solve(A, B)
    expected = np.linalg.solve(A, B)
    scale = np.abs(expected).max(axis=0) if kind != "many scales" else np.abs(expected).max()
    assert (np.abs(X - expected) <= 1e-6 * np.maximum(scale, 1e-300)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_residuals_are_true_at_every_step(kind):
    A, rng = definite(40), np.random.default_rng(2)
    B = right_hand_sides(kind, 40, rng)
    scale = max(np.abs(B).max(), 1e-300)
    for X, residual in itertools.islice(block_cg(lambda P: A @ P, B), 30):
        np.testing.assert_allclose(residual, B - A @ X, rtol=0, atol=1e-9 * scale)


def test_first_is_zero_and_each_step_costs_one_product():
    A = DenseOperator(definite(30))
    B = np.random.default_rng(0).normal(size=(30, 3))
    steps = block_cg(lambda P: A @ P, B)
    X, residual = next(steps)
    assert not X.any()
    np.testing.assert_array_equal(residual, B)
    for products in range(1, 6):
        next(steps)
        assert A.passes == products


def test_columns_share_their_krylov_space():
    A = definite(200, condition=1e5)
    B = np.random.default_rng(0).normal(size=(200, 20))
    _, _, together = solve(A, B)
    alone = max(solve(A, B[:, [j]])[2] for j in range(3))
    assert together < alone / 4


def test_error_in_the_energy_norm_never_grows():
    A = definite(50)
    B = np.random.default_rng(0).normal(size=(50, 3))
    exact = np.linalg.solve(A, B)
    errors = [
        np.trace((X - exact).T @ A @ (X - exact))
        for X, _ in itertools.islice(block_cg(lambda P: A @ P, B), 60)
    ]
    rounding = 1e-14 * errors[0]
    assert all(after <= before + rounding for before, after in itertools.pairwise(errors))
    assert errors[-1] < 1e-12 * errors[0]


def test_ends_by_itself_where_the_map_is_not_definite():
    A = np.diag([1.0, 2.0, -3.0])
    assert len(list(itertools.islice(block_cg(lambda P: A @ P, np.eye(3)), 50))) < 50


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 25),
    c=st.integers(1, 8),
    whole=st.booleans(),
)
def test_any_block_of_right_hand_sides(seed, n, c, whole):
    rng = np.random.default_rng(seed)
    A = definite(n, condition=100.0, seed=seed)
    # Whole numbers of few values make for dependent columns and zeros.
    B = rng.integers(-1, 2, (n, c)) * 1.0 if whole else rng.normal(size=(n, c))
    X, _, _ = solve(A, B)
    np.testing.assert_allclose(A @ X, B, atol=1e-8)


# ---------------------------------------------------------------- the operator


def path_laplacian(n):
    W = sp.diags([np.ones(n - 1), np.ones(n - 1)], [-1, 1])
    return sp.csr_matrix(sp.diags(np.asarray(W.sum(axis=0)).ravel()) - W)


@pytest.mark.parametrize("hold", [1e4, 1e-2, 1e-4])
def test_a_long_path_held_at_one_end(hold):
    # The condition grows with the square of the length and with the inverse of the hold.
    A = sp.csr_matrix(path_laplacian(200) + sp.diags([hold] + [0.0] * 199))
    base = SparseOperator(A)
    B = np.random.default_rng(0).normal(size=(200, 3))
    X = InverseOperator(base, base.diagonal()) @ B
    np.testing.assert_allclose(X, np.linalg.solve(A.toarray(), B), rtol=1e-5)


def test_singular_map_is_an_error_and_not_a_wrong_answer():
    base = SparseOperator(path_laplacian(50))
    with pytest.raises(np.linalg.LinAlgError, match="close to singular"):
        InverseOperator(base, base.diagonal()) @ np.ones(50)


def test_no_convergence_is_an_error(monkeypatch):
    monkeypatch.setattr(inverse, "_MAX_PRODUCTS", 5)
    base = SparseOperator(sp.csr_matrix(path_laplacian(300) + 1e-6 * sp.eye(300)))
    with pytest.raises(np.linalg.LinAlgError, match="in 5 products"):
        InverseOperator(base, base.diagonal()) @ np.random.default_rng(0).normal(size=300)


def test_zero_needs_no_product():
    base = SparseOperator(sp.csr_matrix(sp.eye(10)))
    np.testing.assert_array_equal(InverseOperator(base, np.ones(10)) @ np.zeros((10, 2)), 0.0)
    assert base.passes == 0


def test_other_columns_of_the_same_rows_are_not_solved_for_again():
    A = definite(40)
    base = DenseOperator(A)
    operator = InverseOperator(base, np.diag(A))
    rows = np.array([3, 1, 20])
    first = operator.submatrix(rows, slice(0, 10))
    passes = base.passes
    second = operator.submatrix(rows, np.array([30, 2]))
    assert base.passes == passes
    expected = np.linalg.inv(A)[rows]
    np.testing.assert_allclose(first, expected[:, :10], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(second, expected[:, [30, 2]], rtol=1e-6, atol=1e-6)
    first += 1.0  # what was handed out is the caller's own
    np.testing.assert_allclose(operator.submatrix(rows, slice(0, 10)), first - 1.0, atol=1e-12)
    operator.submatrix(rows[:2], slice(0, 10))
    assert base.passes > passes
