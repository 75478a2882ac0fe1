"""Sparse definite systems against dense algebra, and what factors cost."""

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.graphs import KNNGraph
from lapwing.solvers import sparse_system
from lapwing.solvers.sparse_system import (
    factor_cost,
    factorise,
    inverse_diagonal,
    iterative_bytes,
    solve_blocks,
)


def systems():
    rng = np.random.default_rng(0)
    n = 150
    path = sp.diags_array([np.ones(n - 1)] * 2, offsets=[1, -1])
    star = sp.lil_array((n, n))
    star[0, 1:] = star[1:, 0] = 1.0
    full = rng.uniform(size=(n, n))
    yield "plane", KNNGraph(5).fit(rng.normal(size=(n, 2))).affinity_
    yield "many dimensions", KNNGraph(5).fit(rng.normal(size=(n, 30))).affinity_
    yield "path", path
    yield "star", star
    yield "full", full + full.T
    yield "no edges", sp.csr_array((n, n))


def matrix(W):
    """D - W + (0.1 and more) I."""
    W = sp.csr_array(W)
    shift = np.linspace(0.1, 5.0, W.shape[0])
    return sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + shift) - W)


every_system = pytest.mark.parametrize("W", [pytest.param(W, id=name) for name, W in systems()])


@every_system
def test_solutions_equal_dense_ones(W):
    A = matrix(W)
    B = np.random.default_rng(1).normal(size=(A.shape[0], 60))  # several blocks
    B[:, 3], B[:, 4] = 0.0, B[:, 5]  # nothing to do, and dependent columns
    expected = np.linalg.solve(A.toarray(), B)
    np.testing.assert_allclose(factorise(A)(B), expected, atol=1e-10)
    found = solve_blocks(A, B, 1e-12, 500)
    assert found.converged
    np.testing.assert_allclose(found.X, expected, atol=1e-9)
    np.testing.assert_allclose(found.residual, np.linalg.norm(B - A @ found.X, axis=0), atol=1e-9)


@every_system
def test_entries_of_the_inverse_diagonal(W):
    A, index = matrix(W), np.array([0, 140, 3, *range(40, 80)])
    expected = np.diag(np.linalg.inv(A.toarray()))[index]
    np.testing.assert_allclose(inverse_diagonal(factorise(A), 150, index), expected)
    tol = 1e-3
    rough = inverse_diagonal(lambda B: solve_blocks(A, B, tol, 500).X, 150, index)
    # Residuals are relative to the scaled columns, whose length squared is 1/A_ii.
    bound = tol**2 / A.diagonal()[index] / np.linalg.eigvalsh(_scaled(A)).min()
    assert (np.abs(rough - expected) <= bound + 1e-12).all()


def _scaled(A):
    root = np.sqrt(A.diagonal())
    return A.toarray() / root / root[:, None]


@every_system
def test_costs_are_upper_bounds(W):
    A, cost = matrix(W), factor_cost(matrix(W))
    n = A.shape[0]
    assert cost.operations <= 1.1 * n**3 / 3
    if A.nnz > 0.1 * n * n:
        assert cost.n_bytes >= 8 * n * n
        return
    factor = sp.linalg.splu(
        sp.csc_matrix(A),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    assert cost.n_bytes >= 12 * factor.nnz


def test_thin_graphs_are_cheap():
    n = 3000
    cost = factor_cost(matrix(sp.diags_array([np.ones(n - 1)] * 2, offsets=[1, -1])))
    # Two triangles of a diagonal and one entry beside it in all rows but one.
    assert 12 <= cost.n_bytes / (2 * (2 * n - 1)) <= 16
    assert cost.operations == 4 * n - 3


def test_full_graphs_are_factored_dense(monkeypatch):
    monkeypatch.setattr(sparse_system, "splu", None)
    A = matrix(dict(systems())["full"])
    np.testing.assert_allclose(A @ factorise(A)(np.ones((150, 1))), 1.0)


def test_too_few_iterations_are_told():
    A = matrix(dict(systems())["path"])
    found = solve_blocks(A, np.eye(150)[:, :2], 1e-12, 3)
    assert not found.converged
    assert found.n_iter == 3
    assert not solve_blocks(A, np.eye(150)[:, :2], 1e-300, 500).converged
    assert iterative_bytes(1000, 3) > 8 * 1000 * 3
