"""The dual of ε-insensitive regression: optimum, feasibility, certificate, bounded cache."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVR

from helpers import reference
from lapwing.solvers import svr, working_set
from lapwing.solvers.svr import TubeProblem, decompose, tube_steps

PLENTY = 10**8
YES_NO = [True, False]


def make_case(kind="plain", n=40, columns=1, seed=0):
    """A matrix Q and targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if kind == "duplicates":
        X = X[np.arange(n) % (n // 2)]
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    if kind == "singular":
        Q = X @ X.T
    elif kind == "large":
        Q = 100.0 * (np.exp(-0.5 * distances) + 0.1 * np.eye(n))
    elif kind == "uneven":  # as where labels hold some rows of a graph firmly and others not
        scale = np.logspace(-3, 2, n)
        Q = np.exp(-distances) * scale * scale[:, None]
    else:
        Q = np.exp(-0.5 * distances) + 0.01 * np.eye(n)
    y = np.sin(2.0 * X[:, :1]) + 0.5 * rng.normal(size=(n, columns)) + 1.0
    return (Q + Q.T) / 2.0, y


def problem_of(Q, y, C=1.0, epsilon=0.1, intercept=True, dtype=np.float64, constant=0.0):
    Q = Q.astype(dtype)

    def submatrix(rows, cols):
        return Q[rows][:, cols]

    return TubeProblem(
        submatrix, lambda beta, rows: Q[rows] @ beta, y, C, epsilon, intercept, dtype, constant
    )


def run(problem, tol=1e-7, cache_bytes=PLENTY, start=None, most=20_000):
    """Return all steps; the last must be converged."""
    steps = []
    for step in decompose(problem, tol=tol, cache_bytes=cache_bytes, start=start):
        steps.append(step)
        assert step.iteration < most
    assert steps[-1].converged, steps[-1].remark
    return steps


def dual(Q, y, epsilon, beta):
    return 0.5 * np.sum(beta * (Q @ beta)) - np.sum(y * beta) + epsilon * np.abs(beta).sum()


def primal(Q, y, C, epsilon, beta, b):
    over = np.maximum(np.abs(Q @ beta + b - y) - epsilon, 0.0)
    return 0.5 * np.sum(beta * (Q @ beta)) + C * over.sum()


def violation(Q, y, C, epsilon, intercept, beta):
    """By the definition: how much can be gained at first order by a feasible move."""
    G = Q @ beta - y
    worst = -np.inf
    for g, column in zip(G.T, beta.T, strict=True):
        up = [
            -x - (epsilon if c >= 0 else -epsilon) for x, c in zip(g, column, strict=True) if c < C
        ]
        down = [
            -x - (epsilon if c > 0 else -epsilon) for x, c in zip(g, column, strict=True) if c > -C
        ]
        highest, lowest = max(up, default=-np.inf), min(down, default=np.inf)
        if not intercept:
            highest, lowest = max(highest, 0.0), min(lowest, 0.0)
        worst = max(worst, highest - lowest)
    return worst


def check_feasible(beta, C, intercept):
    assert (np.abs(beta) <= C).all()  # exactly
    if intercept:
        assert np.abs(beta.sum(axis=0)).max() <= 1e-12 * C * len(beta)


@pytest.fixture
def small_sets(monkeypatch):
    """Working sets and caches so small that rows are evicted and set aside."""
    monkeypatch.setattr(svr, "_WORKING_SET", 16)
    monkeypatch.setattr(svr, "_SHRINK_STEPS", 2)


# ---------------------------------------------------------------- the optimum


@pytest.mark.parametrize("intercept", YES_NO)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
@pytest.mark.parametrize(
    ("kind", "C"),
    [
        *itertools.product(["plain", "duplicates", "singular", "uneven"], [1e-2, 1.0, 1e2]),
        # Coordinates that all but depend on each other would take minutes to this precision.
        *itertools.product(["plain", "duplicates"], [1e4]),
    ],
)
def test_objective_is_that_of_a_convex_solver(kind, C, epsilon, intercept):
    Q, y = make_case(kind, n=24)
    # A violation v costs up to C·n·v.
    step = run(problem_of(Q, y, C, epsilon, intercept), tol=1e-8 / max(C, 1.0))[-1]
    best, values = reference.tube_minimum(Q, y[:, 0], C, epsilon, intercept)
    assert step.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    beta, b = step.function.coef, step.function.intercept
    check_feasible(beta, C, intercept)
    assert primal(Q, y, C, epsilon, beta, b) == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert -dual(Q, y, epsilon, beta) == pytest.approx(best, rel=1e-6, abs=1e-9)
    # Up to b, which is not unique where all coefficients are at their bounds, values are unique.
    shift = (step.function.values[:, 0] - values).mean() if intercept else 0.0
    np.testing.assert_allclose(step.function.values[:, 0] - shift, values, atol=2e-3)
    np.testing.assert_allclose(step.function.values, Q @ beta + b, atol=1e-7 * max(1, C))
    assert intercept or b == 0


@pytest.mark.parametrize("kind", ["plain", "duplicates"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_predictions_are_those_of_libsvm(kind, C, epsilon):
    Q, y = make_case(kind, n=300)  # LIBSVM keeps entries in single precision: none large
    step = run(problem_of(Q, y, C, epsilon), tol=1e-6)[-1]
    model = SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-6).fit(Q, y[:, 0])
    np.testing.assert_allclose(step.function.values[:, 0], model.predict(Q), atol=1e-4)
    expected = np.zeros(300)
    expected[model.support_] = model.dual_coef_[0]
    assert dual(Q, y[:, 0], epsilon, step.function.coef[:, 0]) <= dual(
        Q, y[:, 0], epsilon, expected
    ) + 1e-6 * abs(step.objective)
    # Rows outside the tube are at the bound, rows inside have no coefficient.
    miss = np.abs(step.function.values[:, 0] - y[:, 0])
    beta = step.function.coef[:, 0]
    assert (np.abs(beta[miss > epsilon + 1e-4]) == C).all()
    assert (beta[miss < epsilon - 1e-4] == 0).all()


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 14),
    rank=st.integers(0, 5),
    whole=st.booleans(),
    C=st.sampled_from([1e-2, 1.0, 30.0]),
    epsilon=st.sampled_from([0.0, 0.25, 1.0]),
    intercept=st.booleans(),
)
@settings(max_examples=150)
def test_any_small_problem(seed, n, rank, whole, C, epsilon, intercept):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, rank))
    # Whole numbers: ties, equal rows, targets on the edge of the tube.
    y = rng.integers(-2, 3, (n, 1)) * 1.0 if whole else rng.normal(size=(n, 1))
    if whole:
        Z = np.round(Z)
    Q = Z @ Z.T
    with np.errstate(all="raise", under="ignore"):
        step = run(problem_of(Q, y, C, epsilon, intercept), tol=1e-8)[-1]
    beta = step.function.coef
    check_feasible(beta, C, intercept)
    gap = primal(Q, y, C, epsilon, beta, step.function.intercept) + dual(Q, y, epsilon, beta)
    # Primal and dual objective meet, so both are optimal: no other solver is needed.
    assert gap <= 1e-6 * (1.0 + abs(step.objective))
    assert np.isfinite(step.function.values).all()


# ---------------------------------------------------------------- what is reported


@pytest.mark.parametrize("intercept", YES_NO)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["plain", "large", "duplicates"])
def test_every_step_tells_the_truth(kind, epsilon, intercept, monkeypatch):
    monkeypatch.setattr(svr, "_WORKING_SET", 8)  # many steps
    Q, y = make_case(kind, n=60, columns=2)
    C = 5.0
    problem = problem_of(Q, y, C, epsilon, intercept, constant=3.0)
    steps = run(problem)
    assert len(steps) > 5
    best = -sum(dual(Q, y[:, [j]], epsilon, steps[-1].function.coef[:, [j]]) for j in range(2))
    scale = np.abs(Q).max() * C
    for step in steps:
        f = step.function
        check_feasible(f.coef, C, intercept)
        np.testing.assert_allclose(f.values, Q @ f.coef + f.intercept, atol=1e-11 * scale)
        found = primal(Q, y, C, epsilon, f.coef, f.intercept)
        assert step.objective - 3.0 == pytest.approx(found, rel=1e-9)
        assert step.gap == pytest.approx(
            found + dual(Q, y, epsilon, f.coef), rel=1e-6, abs=1e-9 * found
        )
        assert step.gap >= found - best - 1e-6 * best
        truth = violation(Q, y, C, epsilon, intercept, f.coef)
        assert step.details["violation"] == pytest.approx(truth, abs=1e-10 * scale)
        assert step.details["support"] == f.coef.any(axis=1).sum()
        assert step.converged == (step is steps[-1])
    assert steps[-1].details["violation"] <= 1e-7


@pytest.mark.parametrize("intercept", YES_NO)
@pytest.mark.parametrize("cache_rows", [20, 1000])
def test_dual_objective_never_goes_up(intercept, cache_rows, small_sets):
    Q, y = make_case("plain", n=120)
    steps = run(problem_of(Q, y, 20.0, 0.05, intercept), cache_bytes=cache_rows * 120 * 8)
    objectives = [dual(Q, y, 0.05, step.function.coef) for step in steps]
    assert len(objectives) > 10
    for before, after in itertools.pairwise(objectives):
        assert after <= before + 1e-12 * abs(before)


def test_counts_passes_rows_and_moves():
    Q, y = make_case("plain", n=60)
    asked = 0

    def submatrix(rows, columns):
        nonlocal asked
        block = Q[rows][:, columns]
        asked += block.size
        return block

    steps = run(replace(problem_of(Q, y), submatrix=submatrix))
    assert asked == steps[-1].details["rows_made"] * 60 <= 60 * 60
    assert steps[-1].passes == -(-asked // 3600)
    moves = [step.details["moves"] for step in steps]
    assert moves[0] == 0
    assert moves == sorted(moves)
    assert moves[-1] > 0
    assert [step.iteration for step in steps] == list(range(len(steps)))


def test_step_is_not_changed_by_the_steps_after_it():
    Q, y = make_case()
    steps = decompose(problem_of(Q, y), tol=1e-6, cache_bytes=PLENTY)
    first = next(steps)
    copies = first.function.coef.copy(), first.function.values.copy()
    list(steps)
    np.testing.assert_array_equal(first.function.coef, copies[0])
    np.testing.assert_array_equal(first.function.values, copies[1])


def test_targets_are_left_alone_and_the_same_call_gives_the_same_bits():
    Q, y = make_case(columns=3)
    copy = y.copy()
    first, second = (run(problem_of(Q, y))[-1].function for _ in range(2))
    np.testing.assert_array_equal(y, copy)
    np.testing.assert_array_equal(first.coef, second.coef)
    np.testing.assert_array_equal(first.values, second.values)


# ---------------------------------------------------------------- columns, starts, caches


@pytest.mark.parametrize("intercept", YES_NO)
@pytest.mark.parametrize(("working_set", "columns"), [(512, 3), (8, 3), (8, 12), (512, 12)])
def test_columns_together_are_the_columns_alone(intercept, working_set, columns, monkeypatch):
    monkeypatch.setattr(svr, "_WORKING_SET", working_set)
    Q, y = make_case(n=40, columns=columns)
    y[:, 1] *= 0.01  # within the tube: closed from the start
    together = run(problem_of(Q, y, 3.0, 0.1, intercept))[-1]
    monkeypatch.undo()
    total = 0.0
    for j in range(columns):
        alone = run(problem_of(Q, y[:, [j]], 3.0, 0.1, intercept))[-1]
        total += alone.objective
        np.testing.assert_allclose(
            together.function.values[:, j], alone.function.values[:, 0], atol=1e-5
        )
    assert together.objective == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize("intercept", YES_NO)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("cache_rows", "columns"), [(0, 1), (0, 3), (40, 1)])
def test_small_cache_gives_the_same_optimum(intercept, dtype, cache_rows, columns, small_sets):
    n = 120
    Q, y = make_case(n=n, columns=columns)
    Q = Q.astype(np.float32).astype(np.float64)
    y[:, -1] = np.where(np.arange(n) < 5, 3.0, 0.0)  # soon done, while others go on
    options = {"C": 5.0, "epsilon": 0.2, "intercept": intercept, "dtype": dtype}
    plenty = run(problem_of(Q, y, **options), tol=1e-6)
    size = np.dtype(dtype).itemsize
    tight = run(problem_of(Q, y, **options), tol=1e-6, cache_bytes=cache_rows * n * size)
    active = [step.details["active"] for step in tight]
    assert min(active) < n  # rows were set aside
    assert active[-1] == n  # and looked at again
    assert all(np.isfinite(step.function.intercept).all() for step in tight)
    assert tight[-1].objective == pytest.approx(plenty[-1].objective, rel=1e-6)
    np.testing.assert_allclose(tight[-1].function.values, plenty[-1].function.values, atol=1e-4)
    f = tight[-1].function
    np.testing.assert_allclose(f.values, Q @ f.coef + f.intercept, atol=1e-8)
    assert violation(Q, y, 5.0, 0.2, intercept, f.coef) <= 1.1e-6


def test_rows_set_aside_too_early_come_back(small_sets, monkeypatch):
    # Set aside as soon as may be: some of those rows have to move later.
    monkeypatch.setattr(svr, "_SHRINK_STEPS", 1)
    monkeypatch.setattr(svr, "_SHRINK_SHARE", 0.0)
    Q, y = make_case("large", n=150)
    steps = run(problem_of(Q, y, 50.0, 0.05), tol=1e-9, cache_bytes=0)
    active = [step.details["active"] for step in steps]
    returns = sum(b > a for a, b in itertools.pairwise(active))
    assert returns >= 1
    expected = run(problem_of(Q, y, 50.0, 0.05), tol=1e-9)[-1]
    assert steps[-1].objective == pytest.approx(expected.objective, rel=1e-6)


@pytest.mark.parametrize("intercept", YES_NO)
def test_start_at_the_solution_is_done_at_once(intercept):
    Q, y = make_case(columns=2)
    problem = problem_of(Q, y, 2.0, 0.1, intercept)
    solution = run(problem)[-1].function
    steps = run(problem, start=solution.coef, tol=1e-6)
    assert len(steps) == 1
    np.testing.assert_allclose(steps[0].function.values, solution.values, atol=1e-6)


@pytest.mark.parametrize("intercept", YES_NO)
@pytest.mark.parametrize("kind", ["random", "beyond the bounds", "one side", "zero"])
def test_any_start_leads_to_the_optimum(intercept, kind):
    Q, y = make_case(columns=2)
    rng = np.random.default_rng(5)
    start = {
        "random": rng.normal(size=y.shape),
        "beyond the bounds": 100.0 * rng.normal(size=y.shape),
        "one side": rng.uniform(0, 1, size=y.shape),
        "zero": np.zeros(y.shape),
    }[kind]
    copy = start.copy()
    problem = problem_of(Q, y, 2.0, 0.1, intercept)
    steps = run(problem, start=start)
    np.testing.assert_array_equal(start, copy)
    for step in steps:
        check_feasible(step.function.coef, 2.0, intercept)
    assert steps[-1].objective == pytest.approx(run(problem)[-1].objective, rel=1e-7)


# ---------------------------------------------------------------- single and double precision


def both_precisions(Q, y, **options):
    made = []

    def precise():
        made.append(True)
        return problem_of(Q, y, **options)

    return problem_of(Q, y, dtype=np.float32, **options), precise, made


def test_single_precision_is_enough_for_small_matrices():
    Q, y = make_case()
    problem, precise, made = both_precisions(Q, y)
    steps = list(tube_steps(problem, precise, tol=1e-3, memory=PLENTY))
    assert steps[-1].converged
    assert not made


@pytest.mark.parametrize("intercept", YES_NO)
def test_double_precision_takes_over_where_rounding_matters(intercept):
    Q, y = make_case("large")
    options = {"C": 100.0, "epsilon": 0.1, "intercept": intercept}
    problem, precise, made = both_precisions(Q, y, **options)
    steps = list(tube_steps(problem, precise, tol=1e-6, memory=PLENTY))
    assert made
    assert steps[-1].converged
    iterations = [step.iteration for step in steps]
    assert iterations == sorted(iterations)
    f = steps[-1].function
    assert violation(Q, y, 100.0, 0.1, intercept, f.coef) <= 1.1e-6
    expected = run(problem_of(Q, y, **options), tol=1e-6)[-1]
    assert steps[-1].objective == pytest.approx(expected.objective, rel=1e-3)


def test_double_precision_takes_over_where_single_gets_stuck(monkeypatch):
    Q, y = make_case()
    problem, precise, made = both_precisions(Q, y)

    def stuck(problem, **options):
        steps = decompose(problem, **options)
        return itertools.islice(steps, 2) if problem.dtype is np.float32 else steps

    monkeypatch.setattr(svr, "decompose", stuck)
    monkeypatch.setattr(svr, "_WORKING_SET", 8)
    steps = list(tube_steps(problem, precise, tol=1e-5, memory=PLENTY))
    assert made
    assert steps[-1].converged
    assert [step.iteration for step in steps[:4]] == [0, 1, 1, 2]
    assert violation(Q, y, 1.0, 0.1, True, steps[-1].function.coef) <= 1.1e-5
    assert not list(tube_steps(problem, None, tol=1e-5, memory=PLENTY))[-1].converged


# ---------------------------------------------------------------- edges


@pytest.mark.parametrize("intercept", YES_NO)
def test_tube_that_holds_all_targets_needs_no_row(intercept):
    Q, y = make_case()
    (step,) = run(problem_of(Q, y, 1.0, 100.0, intercept))
    assert not step.function.coef.any()
    assert step.objective == 0.0
    assert step.details["rows_made"] == 0
    if intercept:  # the middle of the targets
        assert step.function.intercept[0] == pytest.approx((y.min() + y.max()) / 2)


@pytest.mark.parametrize("intercept", YES_NO)
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_matrix_that_is_zero(intercept, epsilon):
    _, y = make_case(n=21)
    with np.errstate(all="raise"):
        step = run(problem_of(np.zeros((21, 21)), y, 2.0, epsilon, intercept))[-1]
    b = step.function.intercept[0]
    np.testing.assert_allclose(step.function.values, b, atol=1e-12)
    if intercept and epsilon == 0:
        assert b == pytest.approx(np.median(y))
    over = np.maximum(np.abs(b - y) - epsilon, 0).sum()
    assert step.objective == pytest.approx(2.0 * over)


def test_equal_targets():
    Q, _ = make_case()
    step = run(problem_of(Q, np.full((40, 1), 7.0), 1.0, 0.0))[-1]
    np.testing.assert_allclose(step.function.values, 7.0, atol=1e-7)
    assert step.objective == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_targets_in_other_units(unit):
    # With Q/unit and C·... unchanged, values scale with the unit.
    Q, y = make_case()
    expected = run(problem_of(Q, y, 2.0, 0.1))[-1].function.values
    scaled = run(problem_of(Q, unit * y, 2.0 * unit, 0.1 * unit), tol=1e-7 * unit)[-1]
    np.testing.assert_allclose(scaled.function.values / unit, expected, atol=1e-6)


def test_one_row():
    for intercept in YES_NO:
        y = np.array([[2.0]])
        step = run(problem_of(np.eye(1), y, 10.0, 0.5, intercept))[-1]
        expected = 2.0 if intercept else 1.5
        assert step.function.values[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize("intercept", [True, False])
def test_newton_steps_settle_what_pairs_alone_do_not(monkeypatch, intercept):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 60)) * np.logspace(0, -3, 60)
    problem = problem_of(Z @ Z.T, rng.normal(size=(60, 1)), 1e4, 0.1, intercept)
    moves = {}
    for steps in (0, 10):
        monkeypatch.setattr(working_set, "_NEWTON_STEPS", steps)
        taken = []
        for step in itertools.islice(decompose(problem, tol=1e-3, cache_bytes=PLENTY), 30):
            taken.append(step)
        moves[steps] = taken[-1].details["moves"]
        if steps:
            assert taken[-1].converged
    assert moves[10] < 0.5 * moves[0]


@pytest.mark.parametrize("intercept", YES_NO)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_rows_that_reach_their_bound_are_not_chosen_again(sign, intercept):
    # Most rows end at a bound: one move takes each there, or two at once.
    Q, y = make_case(n=80)
    y, C, epsilon = sign * y, 1e-2, 0.1
    beta, moves = working_set.solve_working_set(
        Q, -y[:, 0], np.zeros(80), C=C, epsilon=epsilon, fit_intercept=intercept, tol=1e-9
    )
    assert (np.abs(beta) == C).sum() > 60
    assert violation(Q, y, C, epsilon, intercept, beta[:, None]) <= 1e-9 + 1e-14
    assert moves <= 160


# ---------------------------------------------------------------- entries of very different size


@pytest.mark.parametrize("size", [1e20, 1e100, 1e300])
@pytest.mark.parametrize("intercept", YES_NO)
def test_rows_that_are_free_leave_the_others_their_optimum(size, intercept):
    # As in an embedded model with next to no manifold term: g is free on half of the rows.
    Q, y = make_case("plain")
    half = len(Q) // 2
    wide = Q.copy()
    wide[half:] = wide[:, half:] = 0.0
    wide[half:, half:] = size * np.eye(half)
    last = run(problem_of(wide, y, intercept=intercept), most=200)[-1]
    alone = run(problem_of(Q[:half, :half], y[:half], intercept=intercept))[-1]
    np.testing.assert_allclose(last.function.coef[:half], alone.function.coef, atol=1e-5)
    assert last.objective == pytest.approx(alone.objective, rel=1e-6)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_start_with_an_extreme_slope_overflows_nowhere():
    Q, y = make_case("plain")
    wide = Q.copy()
    wide[-1] = wide[:, -1] = 0.0
    wide[-1, -1] = 1e192
    start = np.zeros(y.shape)
    start[0], start[-1] = -1e-19, 1e-19
    found = run(problem_of(wide, y), start=start, most=200)[-1]
    alone = run(problem_of(Q[:-1, :-1], y[:-1]))[-1]
    np.testing.assert_allclose(found.function.coef[:-1], alone.function.coef, atol=1e-5)


def test_a_tolerance_below_rounding_ends_without_convergence():
    problem = problem_of(*make_case("large"), C=1e3)
    steps = list(itertools.islice(decompose(problem, tol=1e-25, cache_bytes=PLENTY), 5000))
    assert len(steps) < 100
    assert steps[-1].details["moves"] < 5000
    assert steps[-1].details["violation"] < 1e-12
    assert not steps[-1].converged
    assert "rounding prevents further progress" in steps[-1].remark
    assert np.isfinite(steps[-1].function.values).all()


def test_steps_that_are_invisible_in_the_objective_end():
    """Q is a large multiple of a matrix of rank one, beside which the rest is rounding."""
    rng = np.random.default_rng(0)
    n = 60
    X, V = rng.normal(size=(n, 1)), rng.normal(size=(n, 8))
    y = np.sign(X) * np.where(rng.random((n, 1)) < 0.2, -1.0, 1.0)
    problem = problem_of(1e50 * (X @ X.T) + 0.01 * (V @ V.T), y, C=10.0)
    steps = list(itertools.islice(decompose(problem, tol=1e-3, cache_bytes=PLENTY), 2000))
    assert len(steps) < 1000
    assert not steps[-1].converged
    assert "rounding prevents further progress" in steps[-1].remark
