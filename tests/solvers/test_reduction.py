"""The reduction to the labelled rows: all ways to it against exact rational arithmetic."""

import tracemalloc
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.graphs import KNNGraph
from lapwing.losses import Hinge, SmoothHat, SmoothHinge, SquaredHinge, SquaredLoss
from lapwing.operators.dense import DenseOperator
from lapwing.operators.sparse import SparseOperator
from lapwing.risk import RegularizedRisk
from lapwing.solvers import label_problem as label_problem_module
from lapwing.solvers import reduction
from lapwing.solvers.elimination import eliminate
from lapwing.solvers.label_problem import LabelProblem
from lapwing.solvers.reduction import (
    COLUMN_BLOCK,
    BasisReductions,
    basis_bytes,
    reduce_dense,
    smoothness_in_basis,
)
from lapwing.spaces.basis import cholesky_basis, expansion_of
from lapwing.spaces.kernel_space import KernelSpace

EPS = np.finfo(float).eps
RATIOS = [0.0, 1e-8, 1e-4, 1.0, 1e4, 1e8]
LABELLED = np.array([7, 0, 3])  # in no order

# ---------------------------------------------------------------- exact answers


@dataclass(frozen=True)
class Answer:
    """The reduction, and h on all rows for each entry of (c, −μb)."""

    R: np.ndarray
    t: np.ndarray
    sigma: float
    values: np.ndarray


def exact(K, S, labelled, mu):
    """The definition, A = I + μSK, by Gaussian elimination in rational numbers.

    R = JKA⁻¹Jᵀ, t = 1 − μJKA⁻¹S1, σ = μ1ᵀA⁻¹S1; doubles are rational, so nothing is rounded.
    """
    n, l, mu = len(K), len(labelled), Fraction(mu)
    rough = S @ np.full(n, Fraction(1))
    system = mu * (S @ K) + _fractions(np.eye(n))
    rhs = np.column_stack([_fractions(np.eye(n)[:, labelled]), rough])
    solution = _solve(system, rhs)
    values = K @ solution
    t = 1 - mu * values[labelled, l]
    sigma = mu * solution[:, l].sum()
    parts = values[labelled, :l], t, np.array(sigma), values
    return Answer(*(part.astype(float) for part in parts))


def _fractions(A):
    """The same array of rational numbers."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(A, dtype=float))


def _solve(A, B):
    A, B = A.copy(), B.copy()
    n = len(A)
    for i in range(n):
        pivot = i + next(k for k in range(n - i) if A[i + k, i] != 0)
        A[[i, pivot]], B[[i, pivot]] = A[[pivot, i]], B[[pivot, i]]
        scale = 1 / A[i, i]
        A[i], B[i] = A[i] * scale, B[i] * scale
        for k in range(n):
            if k != i and A[k, i] != 0:
                factor = A[k, i]
                A[k], B[k] = A[k] - factor * A[i], B[k] - factor * B[i]
    return B


# ---------------------------------------------------------------- problems


def features(kind, n=10):
    """Rows in quarters, so that their inner products are not rounded."""
    rng = np.random.default_rng(3)
    X = rng.integers(-4, 5, size=(n, 3)) / 4.0
    if kind == "duplicated":
        X[5:] = X[:5]
    elif kind == "full":  # more columns than rows: K has full rank
        X = rng.integers(-4, 5, size=(n, n + 3)) / 4.0
    elif kind == "constant":
        X = np.full((n, 1), 0.5)
    elif kind == "zero":
        X = np.zeros((n, 2))
    return X


def graph(kind, normalized=True, power=1, n=10):
    rng = np.random.default_rng(5)
    W = np.triu(rng.integers(0, 3, size=(n, n)) * (rng.random((n, n)) < 0.5), 1) / 2.0
    if kind == "disconnected":  # two parts, and a row without an edge
        W[:4, 4:] = 0.0
        W[:, 9] = 0.0
    return KNNGraph.from_affinity(W + W.T, normalized=normalized, power=power)


def laplacian(fitted):
    """Lᵖ of the doubles that are stored, in rational numbers."""
    base = fitted.laplacian_
    base = base if fitted.power == 1 else base.base
    L = S = _fractions(base.matrix.toarray())
    for _ in range(fitted.power - 1):
        S = L @ S
    return S


def ways(X, S, labelled):
    """Each way to the reductions, as a function of μ, with the way to coefficients over all rows.

    The expansion is None where the coefficients are weights of the columns.
    """
    K = X @ X.T
    H, pivots = cholesky_basis(K.copy())
    by_factor = BasisReductions(H, S, labelled)
    dense, sparse = (BasisReductions(F, S, labelled) for F in (X, sp.csr_matrix(X)))
    return {
        "elimination": (lambda mu: reduce_dense(DenseOperator(K), S, labelled, mu), lambda c: c),
        "factor": (by_factor.at, lambda theta: expansion_of(H, pivots, theta)),
        "columns": (dense.at, None),
        "sparse columns": (sparse.at, None),
    }


PROBLEMS = [
    ("low rank", "connected"),
    ("low rank", "disconnected"),
    ("duplicated", "connected"),
    ("full", "connected"),
    ("full", "disconnected"),
    ("constant", "connected"),
    ("zero", "connected"),
]


# ---------------------------------------------------------------- all ways agree


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(("rows", "edges"), PROBLEMS)
def test_all_ways_agree_with_rational_arithmetic(rows, edges, normalized, power):
    X, fitted = features(rows), graph(edges, normalized, power)
    K, S = X @ X.T, laplacian(fitted)
    plain = S.astype(float)
    size = np.linalg.norm(plain, 2) * max(np.linalg.norm(K, 2), 1.0)
    c, b = np.array([[1.0, 0.5], [-2.0, 0.25], [1.5, 1.0]]), np.array([0.75, -0.5])
    found = ways(X, fitted.laplacian_, LABELLED)
    for mu in RATIOS:
        answer = exact(_fractions(K), S, LABELLED, mu)
        for name, (at, expand) in found.items():
            got, where = at(mu), f"{name}, μ = {mu:g}"
            # Rounding of I + μSK costs its condition, about μ‖S‖‖K‖; that of I + μM, symmetric and
            # refined without M above a condition of 1e6, less.
            if name == "elimination":
                close = close_sigma = EPS * (8.0 + mu * size)
            else:
                close = EPS * (8.0 + 10.0 * mu + min(mu * size, 1e6))
                close_sigma = 64.0 * EPS
            assert_near(got.R, answer.R, close, where)
            assert_near(got.t, answer.t, close, where, least=1.0)
            # σ is at most μ1ᵀS1, of which it is a difference.
            most = max(1.0, mu * plain.sum())
            assert_near(got.sigma, max(answer.sigma, 0.0), close_sigma, where, least=most)
            np.testing.assert_array_equal(got.R, got.R.T)
            assert got.sigma >= 0.0
            assert got.ratio == mu
            coefficients, f = got.expand(c, b)
            assert_near(f, answer.values @ np.vstack([c, -mu * b]) + b, close, where)
            h = K @ expand(coefficients) if expand else X @ coefficients
            assert_near(h + b, f, close, where)


@pytest.mark.parametrize(("mu", "close"), [(1.0, 5e-13), (100.0, 5e-11)])
def test_elimination_is_refined_where_kernel_values_are_large(mu, close):
    """One to two digits more than the factor alone gives (3e-12 and 8e-10 here)."""
    X, fitted = 100.0 * features("full"), graph("connected")
    K = X @ X.T
    answer = exact(_fractions(K), laplacian(fitted), LABELLED, mu)
    got = reduce_dense(DenseOperator(K), fitted.laplacian_, LABELLED, mu)
    assert_near(got.R, answer.R, close)


def assert_near(got, expected, close, where="", least=0.0):
    """Compare relative to the largest entry, or to ``least`` if that is more."""
    scale = max(float(np.abs(expected).max()), least)
    np.testing.assert_allclose(got, expected, rtol=0, atol=close * scale, err_msg=where)


def rbf_problem(n, power=1, normalized=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    fitted = KNNGraph(6, normalized=normalized, power=power).fit(X)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    return X, K, fitted.laplacian_, rng.permutation(n)[:9]


@pytest.mark.parametrize("normalized", [True, False])
def test_blocks_of_columns_agree_with_the_naive_formula(normalized):
    n = COLUMN_BLOCK + 20
    _, K, S, labelled = rbf_problem(n, power=2, normalized=normalized)
    plain, mu = S @ np.eye(n), 3.0
    inverse = np.linalg.inv(np.eye(n) + mu * plain @ K)
    deformed = K @ inverse
    ones = np.ones(n)
    H, _ = cholesky_basis(K.copy())
    assert H.shape[1] > COLUMN_BLOCK  # both ways work on two blocks
    for got in (
        reduce_dense(DenseOperator(K), S, labelled, mu),
        BasisReductions(H, S, labelled).at(mu),
    ):
        assert_near(got.R, deformed[np.ix_(labelled, labelled)], 1e-11)
        assert_near(got.t, 1.0 - mu * (deformed @ plain @ ones)[labelled], 1e-11, least=1.0)
        assert_near(got.sigma, mu * ones @ inverse @ plain @ ones, 1e-11, least=1.0)


def test_smoothness_in_basis_is_the_product_in_blocks(monkeypatch):
    monkeypatch.setattr(reduction, "_BLOCK_ENTRIES", 12 * 40)  # forty columns at once
    rng = np.random.default_rng(0)
    L = graph("connected", n=12).laplacian_
    H = rng.normal(size=(12, 2 * 40 + 5)) * (rng.random((12, 1)) < 0.7)
    expected = np.tril(H.T @ (L @ np.eye(12)) @ H)
    for basis in (H, sp.csr_matrix(H)):
        M = smoothness_in_basis(basis, L)
        np.testing.assert_allclose(np.tril(M), expected, atol=1e-12)
        assert M.flags.f_contiguous
        assert isinstance(M, np.ndarray)


def test_supervised_elimination_reads_only_the_labelled_columns():
    _, K, S, labelled = rbf_problem(40)

    class Columns(SparseOperator):  # no array to factor, and no product
        def _apply(self, V):
            raise AssertionError("a product with K")

        def columns(self, index):
            return K[:, index]

    got = reduce_dense(Columns(sp.csr_matrix(K)), S, labelled, 0.0)
    np.testing.assert_array_equal(got.R, K[np.ix_(labelled, labelled)])
    np.testing.assert_array_equal(got.t, np.ones(len(labelled)))
    assert got.sigma == 0.0


def test_one_basis_serves_ratios_in_any_order():
    _, K, S, labelled = rbf_problem(40)
    reductions = BasisReductions(cholesky_basis(K.copy())[0], S, labelled)
    first = reductions.at(1.0)
    reductions.at(1e6)
    reductions.at(0.0)
    again = reductions.at(1.0)
    np.testing.assert_array_equal(first.R, again.R)
    np.testing.assert_array_equal(first.coefficients, again.coefficients)


def test_penalty_of_the_intercept_is_not_negative_by_rounding():
    """S1 is zero for D − W but for rounding, of either sign, which a large μ brings out."""
    signs = set()
    for seed in range(8):
        _, K, S, labelled = rbf_problem(25, normalized=False, seed=seed)
        H, _ = cholesky_basis(K.copy())
        signs.add(float(np.sign((S @ np.ones(25)).sum())))
        assert BasisReductions(H, S, labelled).at(1e8).sigma >= 0.0
        assert reduce_dense(DenseOperator(K), S, labelled, 1e8).sigma >= 0.0
    assert -1.0 in signs


# ---------------------------------------------------------------- the pivoted factor


@pytest.mark.parametrize("kind", ["low rank", "duplicated", "full", "constant", "zero"])
def test_pivoted_factor_spans_the_kernel_with_as_many_rows_as_its_rank(kind):
    X = features(kind)
    K = X @ X.T
    H, pivots = cholesky_basis(K.copy())
    rank = int(np.linalg.matrix_rank(K))
    assert H.shape == (len(K), rank)
    assert len(np.unique(pivots)) == len(pivots) == rank
    np.testing.assert_allclose(H @ H.T, K, atol=1e-14 * max(np.trace(K), 1.0))
    triangle = H[pivots]
    np.testing.assert_array_equal(triangle, np.tril(triangle))
    assert (np.diag(triangle) > 0).all()


def test_expansion_is_the_same_function_over_the_pivots_alone():
    _, K, _, _ = rbf_problem(50)
    H, pivots = cholesky_basis(K.copy())
    theta = np.random.default_rng(1).normal(size=(H.shape[1], 3))
    theta = H.T @ (H @ theta)  # not among the directions that K hardly has
    coef = expansion_of(H, pivots, theta)
    np.testing.assert_allclose(K @ coef, H @ theta, atol=1e-10)
    np.testing.assert_allclose((coef * (K @ coef)).sum(axis=0), (theta**2).sum(axis=0), rtol=1e-10)
    few, rows = cholesky_basis(features("low rank") @ features("low rank").T)
    coef = expansion_of(few, rows, np.ones((3, 1)))
    assert set(np.flatnonzero(coef)) <= set(rows.tolist())
    np.testing.assert_allclose(
        features("low rank") @ (features("low rank").T @ coef), few @ np.ones((3, 1)), atol=1e-13
    )


# ---------------------------------------------------------------- properties


@st.composite
def small_problems(draw):
    """Features and an affinity, with duplicated rows, zero rows and rows without an edge."""
    n, d = draw(st.integers(3, 9)), draw(st.integers(1, 4))
    number = st.integers(-3, 3)
    X = np.array(draw(st.lists(number, min_size=n * d, max_size=n * d)), float).reshape(n, d) / 2
    W = np.zeros((n, n))
    weights = st.integers(0, 3)
    size = n * (n - 1) // 2
    W[np.triu_indices(n, 1)] = draw(st.lists(weights, min_size=size, max_size=size))
    labelled = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True))
    fitted = KNNGraph.from_affinity(W + W.T, draw(st.booleans()), draw(st.sampled_from([1, 2, 3])))
    return X, fitted.laplacian_, np.array(labelled)


exponents = st.floats(-8, 8)


@settings(max_examples=60)
@given(small_problems(), exponents, exponents)
def test_reduced_kernel_is_definite_and_falls_with_the_ratio(problem, first, second):
    X, S, labelled = problem
    K = X @ X.T
    low, high = 10.0 ** min(first, second), 10.0 ** max(first, second)
    H, _ = cholesky_basis(K.copy())
    basis = BasisReductions(H, S, labelled)
    ladder = [basis.at(mu) for mu in (0.0, low, high)]
    # Each is known to about eps·μ of the largest.
    rounding = EPS * (64.0 + 10.0 * high) * max(np.abs(K).max(), 1.0)
    for step in ladder:
        np.testing.assert_array_equal(step.R, step.R.T)
        assert np.linalg.eigvalsh(step.R)[0] >= -rounding
        assert step.sigma >= 0.0
    for above, below in pairwise(ladder):
        assert np.linalg.eigvalsh(above.R - below.R)[0] >= -rounding
    # The more the graph counts, the more it holds the intercept back.
    assert ladder[1].sigma <= ladder[2].sigma + rounding * max(1.0, high)


@settings(max_examples=40)
@given(small_problems(), st.floats(-6, 6), st.booleans())
def test_reduced_optimum_is_that_of_the_whole_objective(problem, exponent, intercept):
    """Least squares over (θ, b) of all rows at once, by an orthogonal factorisation."""
    X, S, labelled = problem
    n, d, mu, ambient = *X.shape, 10.0**exponent, 0.5
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=(len(labelled), 2)), rng.uniform(0.5, 2.0, len(labelled))
    values, vectors = np.linalg.eigh(S @ np.eye(n))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T  # rootᵀ·root = S
    whole = np.column_stack([X, np.ones(n)]) if intercept else X
    system = np.vstack(
        [
            np.sqrt(w)[:, None] * whole[labelled],
            np.sqrt(ambient) * np.eye(d, whole.shape[1]),
            np.sqrt(ambient * mu) * (root @ whole),
        ]
    )
    rhs = np.zeros((len(system), 2))
    rhs[: len(labelled)] = np.sqrt(w)[:, None] * y
    expected = whole @ np.linalg.lstsq(system, rhs, rcond=None)[0]
    gram = DenseOperator(X @ X.T)
    for got in (
        reduce_dense(gram, S, labelled, mu),
        BasisReductions(X, S, labelled).at(mu),
        BasisReductions(cholesky_basis(X @ X.T)[0], S, labelled).at(mu),
    ):
        c, b, _ = got.problem(SquaredLoss(), y, w, ambient, intercept).solve()
        np.testing.assert_allclose(got.expand(c, b)[1], expected, atol=1e-7)
        assert intercept or not b.any()


# ---------------------------------------------------------------- the problem that remains


def small_problem(loss, intercept=True, columns=3, sigma=0.2, l=8, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(l, 5))
    t = rng.uniform(0.5, 1.0, l) if intercept else None
    y = np.where(rng.random((l, columns)) < 0.5, -1.0, 1.0)
    return LabelProblem(A @ A.T, t, sigma, loss, y, rng.uniform(0.2, 3.0, l), 0.3)


@pytest.mark.parametrize("sigma", [0.0, 0.2])
@pytest.mark.parametrize("intercept", [True, False])
def test_squared_loss_solves_all_columns_by_one_factorisation(intercept, sigma, monkeypatch):
    problem = small_problem(SquaredLoss(), intercept, sigma=sigma)
    calls = []
    original = label_problem_module.definite_solver
    monkeypatch.setattr(
        label_problem_module, "definite_solver", lambda A: calls.append(0) or original(A)
    )
    c, b, steps = problem.solve()
    assert len(calls) == steps == 1
    l = len(problem.targets)
    ridge = problem.R + np.diag(problem.reg_ambient / problem.weights)
    t = problem.t if intercept else np.zeros(l)
    corner = -sigma if intercept else 1.0
    system = np.block([[ridge, t[:, None]], [t[None], np.array([[corner]])]])
    expected = np.linalg.solve(system, np.vstack([problem.targets, np.zeros((1, 3))]))
    np.testing.assert_allclose(c, expected[:-1], atol=1e-11)
    np.testing.assert_allclose(b, expected[-1], atol=1e-11)
    assert b.shape == (3,)
    # ½Σw·loss + ½γ_A(cᵀRc + σb²) does not fall in any direction.
    best, rng = problem.objective(c, b), np.random.default_rng(2)
    for _ in range(5):
        near = problem.objective(
            c + 1e-3 * rng.normal(size=c.shape), b + 1e-3 * intercept * rng.normal(size=3)
        )
        assert (near > best).all()


@pytest.mark.parametrize("full_steps", [0, 1, None])
@pytest.mark.parametrize("entries", [0, None])
@pytest.mark.parametrize("intercept", [True, False])
def test_squared_hinge_is_optimal_however_its_columns_are_solved(
    intercept, entries, full_steps, monkeypatch
):
    """In one block, one by one, or begun in a block: −γ_A·c is the slope, and tᵀc = σb."""
    if entries is not None:
        monkeypatch.setattr(label_problem_module, "_BLOCK_ENTRIES", entries)
    if full_steps is not None:
        monkeypatch.setattr(label_problem_module, "_FULL_STEPS", full_steps)
    for seed in range(5):
        problem = small_problem(SquaredHinge(), intercept, columns=5, l=15, seed=seed)
        guess = np.random.default_rng(seed).integers(0, 2, size=(15, 5)).astype(float)
        guess[:, 0] = 0.0
        for start in (None, guess):
            c, b, _ = problem.solve(start)
            f = problem.R @ c + (np.outer(problem.t, b) if intercept else 0.0)
            g = 0.5 * problem.weights[:, None] * problem.loss.derivative(f, problem.targets)
            np.testing.assert_allclose(problem.reg_ambient * c, -g, atol=1e-11)
            if intercept:
                np.testing.assert_allclose(problem.t @ c, problem.sigma * b, atol=1e-11)
            np.testing.assert_allclose(problem.lower_bound(c, b), problem.objective(c, b))


def test_newtons_method_ends_where_no_direction_descends(monkeypatch):
    """Labels of one class: f = 1 has no loss, and whether its rows are active is rounding."""
    monkeypatch.setattr(label_problem_module, "_FULL_STEPS", 0)
    y = np.ones((4, 1))
    c, b, steps = LabelProblem(np.eye(4), np.ones(4), 0.0, SquaredHinge(), y, y[:, 0], 0.1).solve()
    np.testing.assert_allclose(c, 0.0, atol=1e-12)
    np.testing.assert_allclose(b, 1.0)
    assert steps <= 3


@pytest.mark.parametrize("ambient", [1e-4, 0.3, 100.0])
@pytest.mark.parametrize("sharpness", [1.0, 5.0, 20.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_any_smooth_convex_loss_is_solved_by_reweighted_least_squares(
    intercept, sharpness, ambient
):
    loss = SmoothHinge(sharpness)
    for seed in range(3):
        problem = replace(
            small_problem(loss, intercept, columns=3, l=15, seed=seed), reg_ambient=ambient
        )
        c, b, steps = problem.solve()
        assert steps < 30
        f = problem.R @ c + (np.outer(problem.t, b) if intercept else 0.0)
        g = 0.5 * problem.weights[:, None] * loss.derivative(f, problem.targets)
        np.testing.assert_allclose(ambient * c, -g, atol=1e-5)
        if intercept:
            np.testing.assert_allclose(problem.t @ c, problem.sigma * b, rtol=1e-6, atol=1e-9)
        objective = problem.objective(c, b)
        np.testing.assert_allclose(problem.lower_bound(c, b), objective, rtol=1e-11)
        rng = np.random.default_rng(seed)
        for size in (1e-3, 1e-1):
            near = problem.objective(
                c + size * rng.normal(size=c.shape), b + size * intercept * rng.normal(size=3)
            )
            assert (near >= objective * (1 - 1e-12)).all()


def test_smooth_convex_loss_has_a_leave_one_out_and_a_certificate():
    problem = small_problem(SmoothHinge(2.0), l=25)
    c, b, _ = problem.solve()
    f = problem.R @ c + np.outer(problem.t, b)
    found, exact = problem.leave_one_out(c, f), without_each(problem)
    # An approximation of second order: far nearer than the values with all labels.
    assert np.median(np.abs(found - exact)) < 0.1 * np.median(np.abs(f - exact))
    K = 0.5 * np.eye(25) + problem.R
    chain = sp.diags_array([np.ones(24), np.ones(24)], offsets=[-1, 1], format="csr")
    risk = RegularizedRisk(
        KernelSpace(DenseOperator(K)), SmoothHinge(), np.arange(25), problem.targets,
        problem.weights, KNNGraph.from_affinity(chain).laplacian_, 0.1, 1.0, True,
    )  # fmt: skip
    (step,) = eliminate(risk, 1e-9)
    assert step.converged
    assert step.gap <= 1e-9 * step.objective


def test_losses_that_are_not_convex_are_refused():
    with pytest.raises(TypeError, match="no solver for the label problem with SmoothHat"):
        small_problem(SmoothHat()).solve()


@pytest.mark.parametrize(
    "loss",
    [SquaredLoss(), SquaredHinge()],
    ids=["squared", "squared_hinge"],
)
def test_ridge_below_rounding_still_has_a_solution(loss):
    """Rows that are all the same, and a γ_A that a sum with R does not show."""
    y = np.ones((4, 1))
    problem = LabelProblem(np.ones((4, 4)), None, 0.0, loss, y, np.ones(4), 1e-18)
    c, _, _ = problem.solve()
    np.testing.assert_allclose(problem.R @ c, y, atol=1e-9)


@pytest.mark.parametrize("loss", [SquaredLoss(), SquaredHinge(), Hinge()], ids=lambda s: s.name)
def test_problem_of_some_rows_is_that_of_their_labels_alone(loss):
    _, K, S, labelled = rbf_problem(30)
    rows = np.array([4, 1, 7, 2])
    y = np.where(np.arange(9) % 2, 1.0, -1.0)[:, None]
    w = np.linspace(0.5, 2.0, 9)
    whole = reduce_dense(DenseOperator(K), S, labelled, 2.0)
    some = whole.problem(loss, y, w, 0.1, True, rows)
    alone = reduce_dense(DenseOperator(K), S, labelled[rows], 2.0)
    alone = alone.problem(loss, y[rows], w[rows], 0.1, True)
    for got, expected in zip(some.solve(), alone.solve(), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-9)
    assert (
        reduce_dense(DenseOperator(K), S, labelled, 2.0).problem(loss, y, w, 1.0, False).t is None
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_of_the_squared_loss_is_that_of_problems_without_the_row(intercept):
    problem = small_problem(SquaredLoss(), intercept)
    c, b, _ = problem.solve()
    t = problem.t if intercept else np.zeros(len(c))
    got = problem.leave_one_out(c, problem.R @ c + np.outer(t, b))
    np.testing.assert_allclose(got, without_each(problem), atol=1e-10)


def test_leave_one_out_counts_rows_that_are_fitted_exactly():
    """Three rows on a line through the middle one: its coefficient is zero, not its influence."""
    x = np.array([-1.0, 0.0, 1.0])
    problem = LabelProblem(
        np.outer(x, x), np.ones(3), 0.0, SquaredLoss(), x[:, None], np.ones(3), 1.0
    )
    c, b, _ = problem.solve()
    assert abs(c[1, 0]) < 1e-15
    c[1, 0] = 0.0  # as it is without rounding
    got = problem.leave_one_out(c, problem.R @ c + b)
    np.testing.assert_allclose(got, without_each(problem), atol=1e-12)


def without_each(problem):
    """The value of each row from the problem of the others."""
    values = np.empty(problem.targets.shape)
    for i in range(len(values)):
        rest = np.delete(np.arange(len(values)), i)
        t = None if problem.t is None else problem.t[rest]
        c, b, _ = LabelProblem(
            problem.R[np.ix_(rest, rest)],
            t,
            problem.sigma,
            problem.loss,
            problem.targets[rest],
            problem.weights[rest],
            problem.reg_ambient,
        ).solve()
        values[i] = problem.R[i, rest] @ c + (0.0 if t is None else problem.t[i] * b)
    return values


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("n", "m", "l", "n_ratios"),
    [(900, 300, 20, 3), (400, 400, 60, 8)],
)
def test_memory_is_what_was_announced(n, m, l, n_ratios, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "1")  # or the peak depends on which blocks overlap
    rng = np.random.default_rng(0)
    # The columns depend on each other, so that some reductions are refined.
    H = (rng.normal(size=(n, m)) * np.logspace(0, -6, m)) @ rng.normal(size=(m, m)) / m
    chain = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="csr")
    S = KNNGraph.from_affinity(chain).laplacian_
    labelled = np.arange(l)
    BasisReductions(H[:, :3], S, labelled).at(1.0)  # what is imported late is not counted
    tracemalloc.start()
    try:
        basis = BasisReductions(H, S, labelled)
        kept = [basis.at(10.0**k) for k in np.linspace(0, 10, n_ratios)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(kept) == n_ratios
    announced = basis_bytes(n, m, l, n_ratios)
    assert peak <= announced <= 2.5 * peak


@pytest.mark.parametrize("with_intercept", [False, True])
@pytest.mark.parametrize("size", [1, 5, 12])
@pytest.mark.parametrize("together", [True, False])
def test_subsets_are_solved_as_problems_of_their_own(with_intercept, size, together, monkeypatch):
    if not together:
        monkeypatch.setattr(label_problem_module, "_BLOCK_ENTRIES", 0)
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(12, 4)), rng.choice([-1.0, 1.0], size=(12, 3))
    weights = rng.uniform(0.2, 3.0, 12)
    weights[[2, 7]] = 0.0
    t = rng.uniform(0.5, 1.5, 12) if with_intercept else None
    problem = LabelProblem(A @ A.T, t, 0.1, SquaredLoss(), y, weights, 0.3)
    subsets = np.array([np.sort(rng.permutation(12)[:size]) for _ in range(6)])
    c, b = problem.solve_subsets(subsets)
    assert c.shape == (6, size, 3)
    assert b.shape == (6, 3)
    for index, c_own, b_own in zip(subsets, c, b, strict=True):
        # Minimise Σ w (y − Kc − tb)² + γ(cᵀKc + σb²) over the rows of positive weight, written out.
        own = index[weights[index] > 0]
        K, n_own = A[own] @ A[own].T, len(own)
        t_own = np.zeros(n_own) if t is None else t[own]
        system = np.block(
            [
                [K + 0.3 * np.diag(1.0 / weights[own]), t_own[:, None]],
                [t_own[None], np.full((1, 1), -0.1)],
            ]
        )
        solved = np.linalg.solve(system, np.vstack([y[own], np.zeros((1, 3))]))
        expected = np.zeros((size, 3))
        expected[weights[index] > 0] = solved[:-1]
        np.testing.assert_allclose(c_own, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(b_own, solved[-1], rtol=1e-9, atol=1e-9)


def test_singular_subsets_are_solved_one_by_one():
    problem = LabelProblem(
        np.zeros((4, 4)), None, 0.0, SquaredLoss(), np.ones((4, 1)), np.ones(4), 1e-320
    )
    problem.R[:2, :2] = 1.0
    c, b = problem.solve_subsets(np.array([[0, 1]]))
    np.testing.assert_allclose(c[0], 0.5, rtol=1e-9)
    assert b.shape == (1, 1)


@pytest.mark.parametrize("normalized", [False, True])  # without and with a penalty of constants
def test_reductions_to_other_rows_are_those_made_anew(normalized):
    X = np.random.default_rng(0).normal(size=(40, 3))
    S = KNNGraph(5, normalized=normalized).fit(X).laplacian_
    H = cholesky_basis(np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)))[0]
    first, second = np.arange(6), np.array([3, 17, 30, 39])
    reductions = BasisReductions(H, S, first)
    found, expected = reductions.to(second).at(2.0), BasisReductions(H, S, second).at(2.0)
    for name in ("R", "t", "sigma", "coefficients"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert len(reductions.at(2.0).R) == 6
