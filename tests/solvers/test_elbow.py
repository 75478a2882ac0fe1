"""ElbowSystem: whatever rows come and go, in whatever order, it is the system solved afresh."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.solvers import elbow
from lapwing.solvers.elbow import ElbowSystem


def make(l, seed=0, sigma=0.0, ridge=0.1):
    """Return Q, q and the system; ``ridge`` keeps Q away from singular."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(l, l))
    Q = A @ A.T / l + ridge * np.eye(l)
    q = rng.choice([-1.0, 1.0], l) if sigma == 0 else rng.normal(1.0, 0.3, l)
    return Q, q, ElbowSystem(Q, q, sigma)


def dense(Q, q, sigma, rows):
    system = np.empty((len(rows) + 1, len(rows) + 1))
    system[0, 0] = -sigma
    system[0, 1:] = system[1:, 0] = q[rows]
    system[1:, 1:] = Q[np.ix_(rows, rows)]
    return system


def expected(Q, q, sigma, rows, rhs):
    return np.linalg.solve(dense(Q, q, sigma, rows), rhs)


@pytest.fixture
def rebuilt(monkeypatch):
    """Count how often the inverse is computed afresh."""
    calls = []
    original = ElbowSystem._rebuild

    def count(self, rows):
        calls.append(len(rows))
        original(self, rows)

    monkeypatch.setattr(ElbowSystem, "_rebuild", count)
    return calls


@pytest.mark.parametrize("sigma", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_come_and_go_one_by_one(sigma, seed, rebuilt):
    Q, q, system = make(260, seed, sigma)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(260)[: elbow._FEW + 10]
    for _ in range(150):
        if rng.random() < 0.5 and len(rows) > elbow._FEW + 1:
            rows = np.delete(rows, rng.integers(len(rows)))
        else:
            rows = np.append(rows, rng.choice(np.setdiff1d(np.arange(260), rows)))
        rows = rng.permutation(rows)  # the answer comes in the order that is asked for
        rhs = rng.normal(size=len(rows) + 1)
        np.testing.assert_allclose(
            system.solve(rows, rhs), expected(Q, q, sigma, rows, rhs), atol=1e-9
        )
    assert len(rebuilt) == 1  # all but the first solution by changes of rank one


def test_more_rows_than_there_is_room_for_at_first(rebuilt):
    Q, q, system = make(420)
    rng = np.random.default_rng(0)
    order = rng.permutation(420)
    for k in range(elbow._FEW + 1, 420):
        rows = order[:k]
        rhs = rng.normal(size=k + 1)
        found = system.solve(rows, rhs)
        if k % 20 == 0 or k > 410:
            np.testing.assert_allclose(found, expected(Q, q, 0.0, rows, rhs), atol=1e-9)
    assert len(rebuilt) == 1
    for k in range(419, elbow._FEW + 1, -1):  # and back
        rhs = rng.normal(size=k + 1)
        found = system.solve(order[:k], rhs)
        if k % 20 == 0:
            np.testing.assert_allclose(found, expected(Q, q, 0.0, order[:k], rhs), atol=1e-8)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_any_sets_of_rows_one_after_another(seed, sigma):
    # Few rows, many rows, small changes, whole new sets, and direct solutions between.
    Q, q, system = make(140, seed, sigma)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(140)[:100]
    for _ in range(8):
        kind = rng.integers(4)
        if kind == 0:
            rows = rng.permutation(140)[: rng.integers(1, 140)]
        elif kind == 1:
            rows = rows[3:] if len(rows) > 5 else rows
        elif kind == 2:
            rows = np.concatenate([rows, np.setdiff1d(np.arange(140), rows)[:4]])
        rhs = rng.normal(size=len(rows) + 1)
        found = system.solve(rows, rhs, direct=bool(rng.random() < 0.2))
        np.testing.assert_allclose(found, expected(Q, q, sigma, rows, rhs), atol=1e-7)


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-7, 0.0])
@pytest.mark.parametrize("direct", [False, True])
def test_row_that_nearly_depends_on_the_others(distance, direct):
    # Row 0 is nearly row 1. What solves the system then is not unique up to rounding; that it
    # solves it is asked for, as far as the inverse reaches.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 250)) / 15.0
    X[0] = X[1] + distance * rng.normal(size=250) / 15.0
    q = np.where(np.arange(200) % 2, 1.0, -1.0)
    q[0] = q[1]
    Q = X @ X.T
    system = ElbowSystem(Q, q, 0.0)
    most = np.arange(1, elbow._FEW + 30)
    rhs = np.append(0.0, np.ones(len(most) + 1))
    system.solve(most, rhs[:-1])
    rows = np.append(most, 0)
    found = system.solve(rows, rhs, direct=direct)
    assert np.isfinite(found).all()
    matrix = dense(Q, q, 0.0, rows)
    left = np.abs(matrix @ found - rhs).max()
    if direct or distance == 0:  # elimination is as good as the numbers it adds up
        assert left <= 1e-13 * (np.abs(matrix) @ np.abs(found)).max()
    else:
        assert left <= len(rows) * np.finfo(float).eps / distance**2 + 1e-9
    # The inverse may be worn now, and a direct solution repairs it for those that follow.
    answer = expected(Q, q, 0.0, most, rhs[:-1])
    if distance >= 1e-5:
        np.testing.assert_allclose(system.solve(most, rhs[:-1]), answer, atol=1e-4)
    for way in (True, False):
        found = system.solve(most, rhs[:-1], direct=way)
        np.testing.assert_allclose(found, answer, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("k", [3, 200])
def test_copies_of_rows_get_a_solution_where_there_is_one(k):
    # Singular to the last digit: any solution will do.
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(k, 5)), 2, axis=0)
    Q, q = X @ X.T, np.ones(2 * k)
    rows = np.arange(2 * k)[: max(k, 4)]
    system = dense(Q, q, 1.0, rows)
    rhs = system @ rng.normal(size=len(rows) + 1)
    found = ElbowSystem(Q, q, 1.0).solve(rows, rhs, direct=True)
    np.testing.assert_allclose(system @ found, rhs, atol=1e-6 * np.abs(rhs).max())


def test_no_rows():
    found = ElbowSystem(np.eye(3), np.ones(3), 4.0).solve(np.zeros(0, dtype=int), np.array([2.0]))
    np.testing.assert_allclose(found, [-0.5])


def test_same_rows_again_change_nothing(rebuilt):
    Q, q, system = make(120)
    rows, rhs = np.arange(100), np.ones(101)
    first = system.solve(rows, rhs)
    np.testing.assert_array_equal(system.solve(rows, rhs), first)
    np.testing.assert_allclose(system.solve(rows[::-1], rhs)[1:], first[1:][::-1], rtol=1e-12)
    assert len(rebuilt) == 1
    np.testing.assert_allclose(first, expected(Q, q, 0.0, rows, rhs), rtol=1e-9)
