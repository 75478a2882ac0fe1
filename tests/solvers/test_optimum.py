"""Every solver reaches the optimum that an independent convex solver finds, and knows it.

Problems are small, the regularisation spans six orders of magnitude, and the kernels have unit
mean diagonal, so that μ‖S‖‖K‖ stays below 10⁸: there 10⁻⁶ of the objective is far above rounding.
"""

import importlib
import itertools
from functools import cache
from unittest.mock import Mock

import clarabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from helpers import reference
from helpers.data import gaussian
from lapwing.graphs import KNNGraph
from lapwing.losses import LOSSES
from lapwing.operators.dense import DenseOperator
from lapwing.risk import RegularizedRisk
from lapwing.solvers import box_qp
from lapwing.solvers.box_qp import solve_box_qp
from lapwing.solvers.certificate import certify
from lapwing.solvers.elimination import eliminate, eliminate_features
from lapwing.solvers.label_problem import LabelProblem
from lapwing.solvers.line_search import exact_step_length
from lapwing.solvers.manifold_cg import manifold_cg
from lapwing.solvers.pcg import pcg
from lapwing.spaces.function import Function
from lapwing.spaces.kernel_space import KernelSpace, LinearSpace

RELATIVE = 1e-6  # agreement with the reference
ROUNDING = 1e-9  # of the objective: allowed to certificates and to monotony
REGULARIZATION = [(1.0, 1e-2), (1e-2, 1.0), (1e-4, 1e-1), (1e-6, 1e-2), (1e-2, 1e2)]
KERNELS = ["gaussian", "poly", "linear"]
YES_NO = [True, False]
CASES = [
    (seed, loss, kernel, normalized, power, intercept, *REGULARIZATION[seed % 5])
    for seed, (loss, kernel, normalized, power, intercept) in enumerate(
        [
            *itertools.product(
                ["squared", "squared_hinge", "hinge"], KERNELS, YES_NO, [1, 2, 3], YES_NO
            ),
            *itertools.product(["epsilon_insensitive"], KERNELS, YES_NO, [1, 2], YES_NO),
        ]
    )
]


def name(case):
    _, loss, kernel, normalized, power, intercept, ambient, manifold = case
    parts = [loss, kernel, "normalized" if normalized else "plain", f"p{power}"]
    parts += ["intercept" if intercept else "through0", f"{ambient:g}-{manifold:g}"]
    return "-".join(parts)


def only(**wanted):
    keys = ("seed", "loss", "kernel", "normalized", "power", "intercept", "ambient", "manifold")
    chosen = [
        case
        for case in CASES
        if all(dict(zip(keys, case, strict=True))[key] in ok for key, ok in wanted.items())
    ]
    return pytest.mark.parametrize("case", chosen, ids=name)


class Case:
    """A random problem in lapwing's words and in those of the reference."""

    def __init__(self, seed, loss, kernel, normalized, power, intercept, ambient, manifold):
        rng = np.random.default_rng(seed)
        n, l = int(rng.integers(25, 41)), int(rng.integers(8, 15))
        X = rng.normal(size=(n, 3))
        X[: n // 2] += 1.0
        if kernel == "linear":
            X /= np.sqrt((X**2).sum() / n)
        self.X = X
        distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        K = {
            "gaussian": np.exp(-0.5 * distances),
            "poly": (0.5 * X @ X.T + 1.0) ** 3,
            "linear": X @ X.T,
        }[kernel]
        self.K = K / (np.trace(K) / n)
        graph = KNNGraph(4, normalized=normalized, power=power).fit(X)
        S = graph.laplacian_ @ np.eye(n)
        labelled = np.sort(rng.choice(n, l, replace=False))
        y = np.where(rng.random(l) < 0.5, -1.0, 1.0)
        y[:2] = -1.0, 1.0
        weights = rng.uniform(0.2, 3.0, l)
        if loss == "epsilon_insensitive":
            y = 2.0 + rng.normal(size=l)
        assert manifold / ambient * np.linalg.norm(S, 2) * np.linalg.norm(self.K, 2) < 1e8
        self.problem = reference.Problem(
            self.K, (S + S.T) / 2, labelled, y, weights, loss, ambient, manifold, intercept
        )
        self.smoothness = graph.laplacian_
        self.rng = rng

    def risk(self, space=None):
        p = self.problem
        return RegularizedRisk(
            space=KernelSpace(DenseOperator(self.K)) if space is None else space,
            loss=LOSSES[p.loss](),
            labelled=p.labelled,
            targets=p.y[:, None],
            weights=p.weights,
            smoothness=self.smoothness,
            reg_ambient=p.reg_ambient,
            reg_manifold=p.reg_manifold,
            fit_intercept=p.fit_intercept,
        )

    def true_objective(self, f):
        """Objective of a solver's coefficients, all values computed anew."""
        return reference.objective(self.problem, f.coef[:, 0], f.intercept[0])


@cache
def optimum(case):
    return reference.minimum(Case(*case).problem)[0]


def last_step(steps, max_iter):
    step = None
    for step in steps:
        if step.converged or step.iteration >= max_iter:
            break
    assert step is not None, "the solver gave up without a step"
    return step


@cache
def manifold_cg_steps(case):
    problem = Case(*case)
    found = []
    for step in manifold_cg(problem.risk(), tol=1e-9, rng=np.random.default_rng(0)):
        step = step if step.certified is None else step.certified()
        found.append((step.objective, problem.true_objective(step.function), step.gap, step))
        if step.converged or step.iteration >= 200:
            break
    return found


@pytest.fixture
def few_landmarks(monkeypatch):
    # The package also exports the function of this name, so ask for the module.
    module = importlib.import_module("lapwing.solvers.manifold_cg")
    monkeypatch.setattr(module, "N_LANDMARKS", 8)


# ---------------------------------------------------------------- the reference itself


@pytest.mark.parametrize("intercept", [True, False])
def test_reference_agrees_with_the_normal_equations(intercept):
    case = Case(1, "squared", "gaussian", True, 1, intercept, 1e-2, 1.0)
    p = case.problem
    n = len(p.K)
    # (JᵀWJ K + γ_A I + γ_I S K) α + (JᵀWJ 1 + γ_I S 1) b = JᵀW y; row gradients sum to 0.
    W = np.zeros(n)
    W[p.labelled] = p.weights
    A = np.diag(W) @ p.K + p.reg_manifold * p.S @ p.K
    column = W + p.reg_manifold * p.S.sum(axis=1)
    right = np.zeros(n)
    right[p.labelled] = p.weights * p.y
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = A + p.reg_ambient * np.eye(n)
    system[:n, n] = column
    system[n] = np.append(A.sum(axis=0), column.sum())
    if not intercept:
        system[n], system[:n, n] = 0.0, 0.0
        system[n, n] = 1.0
    solution = np.linalg.solve(system, np.append(right, right.sum() if intercept else 0.0))
    expected = reference.objective(p, solution[:n], solution[n])
    found, f = reference.minimum(p)
    assert found == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(f, p.K @ solution[:n] + solution[n], atol=1e-6)


# ---------------------------------------------------------------- optimum and certificate


@only()
def test_eliminate_reaches_the_optimum(case):
    problem = Case(*case)
    (step,) = eliminate(problem.risk())
    assert step.objective == pytest.approx(optimum(case), rel=RELATIVE)
    assert problem.true_objective(step.function) == pytest.approx(step.objective, rel=RELATIVE)
    assert step.converged


@only()
def test_eliminate_certifies_its_distance_to_the_optimum(case):
    (step,) = eliminate(Case(*case).risk())
    assert step.gap >= step.objective - optimum(case) - ROUNDING * step.objective
    assert step.gap <= RELATIVE * step.objective


@only(kernel=["linear"])
def test_eliminate_features_reaches_the_optimum(case):
    problem = Case(*case)
    (step,) = eliminate_features(problem.risk(LinearSpace(problem.X)))
    assert step.objective == pytest.approx(optimum(case), rel=RELATIVE)
    assert step.gap >= step.objective - optimum(case) - ROUNDING * step.objective
    assert step.function.coef.shape == (3, 1)


@only(kernel=["linear"])
def test_eliminate_on_linear_functions_returns_their_weights(case):
    problem = Case(*case)
    (step,) = eliminate(problem.risk(LinearSpace(problem.X, DenseOperator(problem.K))))
    f = step.function
    np.testing.assert_allclose(problem.X @ f.coef + f.intercept, f.values, atol=1e-6)
    assert step.objective == pytest.approx(optimum(case), rel=RELATIVE)


@only(loss=["squared", "squared_hinge"], ambient=[1.0, 1e-2], manifold=[1e-2, 1.0])
def test_pcg_reaches_the_optimum(case):
    problem = Case(*case)
    step = last_step(pcg(problem.risk(), tol=1e-7), 2000)
    assert step.converged
    assert step.objective == pytest.approx(optimum(case), rel=RELATIVE)
    assert problem.true_objective(step.function) == pytest.approx(step.objective, rel=RELATIVE)


@only(loss=["squared", "squared_hinge"], kernel=["linear"], ambient=[1.0], manifold=[1e-2])
def test_pcg_works_on_linear_functions(case):
    problem = Case(*case)
    step = last_step(pcg(problem.risk(LinearSpace(problem.X)), tol=1e-7), 2000)
    assert step.objective == pytest.approx(optimum(case), rel=RELATIVE)


@only(loss=["squared"], kernel=["gaussian"], ambient=[1e-2])
def test_pcg_asked_for_more_than_rounding_allows_stays_at_the_optimum(case):
    problem = Case(*case)
    step = last_step(pcg(problem.risk(), tol=1e-14), 300)
    assert problem.true_objective(step.function) == pytest.approx(optimum(case), rel=RELATIVE)


@only(
    loss=["squared_hinge"], kernel=["gaussian", "poly"], ambient=[1.0, 1e-2], manifold=[1e-2, 1.0]
)
def test_pcg_from_the_optimum_stays_there(case):
    problem = Case(*case)
    risk = problem.risk()
    (exact,) = eliminate(risk)
    step = next(pcg(risk, start=exact.function, tol=1e-4))
    assert step.converged
    assert step.iteration == 0
    assert step.objective == exact.objective


@only()
def test_manifold_cg_reaches_the_optimum(case, few_landmarks):
    # The steps end when 1e-9 is certified or, for μ‖S‖‖K‖ near 1e8, at what rounding allows.
    objective, true, gap, _ = manifold_cg_steps(case)[-1]
    assert objective == pytest.approx(optimum(case), rel=RELATIVE)
    assert true == pytest.approx(objective, rel=RELATIVE)
    assert gap <= 1e-7 * objective


@only()
def test_manifold_cg_certifies_every_step(case, few_landmarks):
    best = optimum(case)
    for _, true, gap, step in manifold_cg_steps(case):
        assert gap >= true - best - ROUNDING * true, f"iteration {step.iteration}"


@only()
def test_manifold_cg_never_goes_up(case, few_landmarks):
    objectives = [objective for objective, _, _, _ in manifold_cg_steps(case)]
    for before, after in itertools.pairwise(objectives):
        assert after <= before * (1 + ROUNDING)


@only(kernel=["linear"], ambient=[1e-2])
def test_manifold_cg_on_linear_functions_returns_their_weights(case, few_landmarks):
    problem = Case(*case)
    steps = manifold_cg(
        problem.risk(LinearSpace(problem.X)), tol=1e-9, rng=np.random.default_rng(0)
    )
    step = last_step(steps, 200)
    f = step.function
    np.testing.assert_allclose(problem.X @ f.coef + f.intercept, f.values, atol=1e-7)
    assert step.objective == pytest.approx(optimum(case), rel=RELATIVE)


@only(kernel=["gaussian"], ambient=[1e-2], manifold=[1.0])
def test_manifold_cg_from_the_solution_is_done_at_once(case, few_landmarks):
    problem = Case(*case)
    risk = problem.risk()
    (exact,) = eliminate(risk)
    steps = manifold_cg(risk, tol=1e-6, rng=np.random.default_rng(0), start=exact.function.coef)
    assert next(steps).objective == pytest.approx(optimum(case), rel=RELATIVE)


def test_columns_are_solved_like_separate_problems(few_landmarks):
    case = Case(3, "squared_hinge", "gaussian", True, 2, True, 1e-2, 1.0)
    risk = case.risk()
    second = np.where(case.rng.random(len(risk.labelled)) < 0.5, -1.0, 1.0)
    columns = [risk.targets[:, 0], second]
    both = RegularizedRisk(**{**vars(risk), "targets": np.column_stack(columns)})
    alone = [RegularizedRisk(**{**vars(risk), "targets": c[:, None]}) for c in columns]
    expected = np.hstack([next(eliminate(r)).function.values for r in alone])
    total = sum(next(eliminate(r)).objective for r in alone)

    def solve(solver, **options):
        return last_step(solver(both, **options), 2000)

    rng = np.random.default_rng(0)
    for step in (
        solve(eliminate),
        solve(pcg, tol=1e-8),
        solve(manifold_cg, tol=1e-10, rng=rng),
    ):
        assert step.objective == pytest.approx(total, rel=1e-8)
        np.testing.assert_allclose(step.function.values, expected, atol=1e-4)


def test_without_manifold_term_only_the_labelled_rows_get_coefficients():
    case = Case(5, "hinge", "gaussian", True, 1, True, 1e-2, 0.0)
    (step,) = eliminate(case.risk())
    outside = np.setdiff1d(np.arange(len(case.K)), case.problem.labelled)
    assert not step.function.coef[outside].any()
    assert step.objective == pytest.approx(reference.minimum(case.problem)[0], rel=RELATIVE)


# ---------------------------------------------------------------- gradient, gap, line search


def random_function(case, space, rng):
    coef = rng.normal(size=(space.n_coef, 1))
    b = rng.normal(size=1) if case.problem.fit_intercept else np.zeros(1)
    h = case.K @ coef if isinstance(space, KernelSpace) else case.X @ coef
    return Function(coef, b, h + b, case.smoothness @ (h + b))


@only(ambient=[1e-2])
def test_gradient_is_the_representer_of_the_derivative(case):
    problem = Case(*case)
    spaces = [KernelSpace(DenseOperator(problem.K))]
    if case[2] == "linear":
        spaces.append(LinearSpace(problem.X))
    for space in spaces:
        risk = problem.risk(space)
        f, d = (random_function(problem, space, problem.rng) for _ in range(2))
        step = 1e-6
        ahead, behind = (risk.objective(f + d.scaled(s))[0] for s in (step, -step))
        slope = risk.inner(risk.gradient(f), d)[0]
        scale = risk.objective(f)[0] + risk.objective(d)[0]
        assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-6, abs=1e-8 * scale)


@only(loss=["squared", "squared_hinge"], intercept=[False], ambient=[1.0, 1e-2])
def test_certificate_holds_for_any_function(case):
    problem = Case(*case)
    space = KernelSpace(DenseOperator(problem.K))
    risk = problem.risk(space)
    for scale in (1e-3, 1.0, 1e2):
        f = random_function(problem, space, problem.rng).scaled(scale)
        found = certify(risk, f, risk.loss_gradient(f))
        assert found.objective == pytest.approx(risk.objective(f)[0])
        assert found.gap >= found.objective - optimum(case)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@given(seed=st.integers(0, 10**6), l=st.integers(1, 12), whole=st.booleans(), flat=st.booleans())
def test_exact_step_length_minimises_along_the_line(loss, seed, l, whole, flat):
    rng = np.random.default_rng(seed)
    # Whole numbers: several rows bend at the same place, start on a bend, or do not move.
    draw = (lambda: rng.integers(-2, 3, (l, 1)) * 1.0) if whole else lambda: rng.normal(size=(l, 1))
    f, d = draw(), draw()
    y = rng.choice([-1.0, 1.0], (l, 1))
    weights = rng.uniform(0.1, 3.0, l)
    curvature = 0.0 if flat else rng.exponential()
    slope = 0.0 if flat else 3.0 * rng.normal()

    def along(s):
        value = weights @ reference.LOSSES[loss](y[:, 0], f[:, 0] + s * d[:, 0])
        return 0.5 * value + s * slope + 0.5 * s * s * curvature

    (found,) = exact_step_length(
        LOSSES[loss](), f, d, y, weights, np.array([slope]), np.array([curvature])
    )
    assert found >= 0
    brute = minimize_scalar(along, bounds=(0, 1e3), method="bounded", options={"xatol": 1e-10})
    lowest = min(brute.fun, along(0.0))
    grid = min(along(s) for s in np.linspace(0, 20, 401))
    assert along(found) <= min(lowest, grid) + 1e-9 * (1 + abs(along(0.0)))


def test_exact_step_length_treats_columns_separately_and_refuses_kinks():
    rng = np.random.default_rng(0)
    f, d = rng.normal(size=(2, 7, 3))
    d[:, 1] = 0.0
    y, w = rng.choice([-1.0, 1.0], (7, 3)), rng.uniform(0.1, 2.0, 7)
    slope, curvature = np.array([-1.0, 0.0, 2.0]), np.array([0.3, 0.0, 1.0])
    loss = LOSSES["squared_hinge"]()
    together = exact_step_length(loss, f, d, y, w, slope, curvature)
    for j in range(3):
        part = slice(j, j + 1)
        alone = exact_step_length(
            loss, f[:, part], d[:, part], y[:, part], w, slope[part], curvature[part]
        )
        assert together[j] == alone[0]
    assert together[1] == 0.0
    for kinked in ("hinge", "epsilon_insensitive"):
        with pytest.raises(TypeError, match="not piecewise quadratic"):
            exact_step_length(LOSSES[kinked](), f, d, y, w, slope, curvature)


# ---------------------------------------------------------------- the dual of hinges


def box_qp_value(Q, linear, q, sigma, a):
    pull = 0.0 if q is None or sigma == 0 else (q @ a) ** 2 / (2 * sigma)
    return 0.5 * a @ Q @ a - linear @ a + pull


def box_qp_minimum(Q, linear, upper, q, sigma):
    l = len(Q)
    P = Q if q is None or sigma == 0 else Q + np.outer(q, q) / sigma
    A = np.vstack([-np.eye(l), np.eye(l)])
    right, cones = np.append(np.zeros(l), upper), [clarabel.NonnegativeConeT(2 * l)]
    if q is not None and sigma == 0:
        A, right = np.vstack([q, A]), np.append(0.0, right)
        cones = [clarabel.ZeroConeT(1), *cones]
    # The solution is of the size of the box or of the size of 1/Q: in units of either.
    found = []
    for unit in (1.0, upper.mean(), 1.0 / np.diag(Q).mean(), 1.0 / np.diag(Q).min()):
        try:
            a = reference.quadratic_program(unit * P, -linear, A, right / unit, cones)
        except AssertionError:
            continue
        found.append(box_qp_value(Q, linear, q, sigma, unit * a))
    return min(found, default=None)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6], ids=lambda u: f"box{u:g}")
@pytest.mark.parametrize("rank", ["full", "low"])
@pytest.mark.parametrize("intercept", ["none", "free", "held"])
@pytest.mark.parametrize("seed", range(4))
def test_box_qp_finds_the_minimum(seed, intercept, rank, size):
    rng = np.random.default_rng(seed)
    l = int(rng.integers(5, 13))
    B = rng.normal(size=(l, l if rank == "full" else 3)) / np.sqrt(l)
    Q = B @ B.T
    upper = size * rng.uniform(0.3, 2.0, l)
    q = None if intercept == "none" else rng.choice([-1.0, 1.0], l) * rng.uniform(0.2, 2.0, l)
    if q is not None:
        q[:2] = -1.0, 1.0
    sigma = 0.7 if intercept == "held" else 0.0
    linear = np.ones(l) if seed % 2 else rng.normal(size=l)
    a, b = solve_box_qp(Q, linear, upper, q, sigma)
    assert (a >= 0).all()
    assert (a <= upper).all()

    if intercept == "free":
        assert abs(q @ a) <= 1e-9 * np.abs(q) @ a
    expected = box_qp_minimum(Q, linear, upper, q, sigma)
    if expected is not None:  # else clarabel gave up, and the conditions below decide alone
        assert box_qp_value(Q, linear, q, sigma, a) == pytest.approx(expected, rel=RELATIVE)
    # The multiplier b: Qa + qb is at least m at a = 0, at most m at the upper bound.
    excess = Q @ a + (0.0 if q is None else q * b) - linear
    assert (excess[a < 1e-7 * upper] > -1e-5).all()
    assert (excess[a > upper * (1 - 1e-7)] < 1e-5).all()
    inside = (a >= 1e-7 * upper) & (a <= upper * (1 - 1e-7))
    np.testing.assert_allclose(excess[inside], 0.0, atol=1e-5)


@pytest.mark.parametrize("sigma", [0.0, 2.0])
def test_box_qp_with_a_zero_matrix(sigma):
    # Two rows of opposite sign and no kernel at all: both multipliers at their bounds.
    upper, q = np.array([3.0, 3.0]), np.array([1.0, -1.0])
    a, b = solve_box_qp(np.zeros((2, 2)), np.ones(2), upper, q, sigma)
    np.testing.assert_allclose(a, 3.0, rtol=1e-6)
    assert abs(b) <= 1.0 + 1e-6


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("mean", [0.0, 1e3])
def test_box_qp_has_no_units(unit, mean):
    # The dual of ε-insensitive regression, with targets in other units and far from zero.
    rng = np.random.default_rng(0)
    R, y = (lambda B: B @ B.T)(rng.normal(size=(8, 8))), rng.normal(size=8)
    Q, q = np.block([[R, -R], [-R, R]]), np.repeat([1.0, -1.0], 8)
    linear = np.append(y, -y) - 0.1
    a, b = solve_box_qp(Q, linear, np.full(16, 0.2), q, 0.0)
    shifted = unit * (linear + mean * q)
    a_unit, b_unit = solve_box_qp(Q, shifted, np.full(16, 0.2 * unit), q, 0.0)
    assert ((a > 1e-6) & (a < 0.2)).any()
    np.testing.assert_allclose(a_unit / unit, a, atol=1e-9)
    assert b_unit / unit == pytest.approx(b + mean, abs=1e-9)


def random_box_qp(seed):
    """The dual of a hinge loss: Q, upper, q, σ."""
    rng = np.random.default_rng(seed)
    l = int(rng.integers(2, 14))
    X = rng.normal(size=(l, int(rng.integers(1, l + 1))))
    if rng.random() < 0.5:
        X = X[rng.integers(0, max(1, l // 2), l)]
    linear = rng.random() < 0.5
    K = X @ X.T if linear else gaussian(X, X, 10 ** rng.uniform(-4, 2))
    y = rng.choice([-1.0, 1.0], l)
    size = 10 ** rng.uniform(-3, 5)
    upper = size * (rng.uniform(0.2, 3, l) if rng.random() < 0.5 else np.ones(l))
    q = None if rng.random() < 0.4 else y
    sigma = 0.0 if rng.random() < 0.5 else 10 ** rng.uniform(-4, 2)
    return K * np.outer(y, y), upper, q, sigma


@pytest.mark.parametrize("seed", [14876, 15926, 19235, 4, 1277, 2601])
def test_box_qp_does_not_cycle(seed):
    # Of 20 000 random programs some on which a predictor-corrector method goes round in circles.
    Q, upper, q, sigma = random_box_qp(seed)
    a, b = solve_box_qp(Q, np.ones(len(Q)), upper, q, sigma)
    gradient = Q @ a - 1.0 + (0.0 if q is None else q * b)
    primal = 0.5 * a @ Q @ a + upper @ np.maximum(-gradient, 0.0)
    dual = a.sum() - 0.5 * a @ Q @ a
    if q is not None:
        primal += 0.5 * sigma * b * b
        dual -= (q @ a) ** 2 / (2 * sigma) if sigma > 0 else 0.0
    assert primal - dual <= 1e-8 * primal


@pytest.mark.parametrize("seed", [49, 245, 1006, 2948, 3651])
def test_box_qp_needs_few_iterations(seed, monkeypatch):
    # Of predictor, corrector and plain steps one that goes wrong makes 25 to 160 of them.
    calls = Mock(side_effect=box_qp._factor)
    monkeypatch.setattr(box_qp, "_factor", calls)
    Q, upper, q, sigma = random_box_qp(seed)
    solve_box_qp(Q, np.ones(len(Q)), upper, q, sigma)
    assert 1 <= calls.call_count <= 18


def test_box_qp_without_linear_term_is_exactly_zero():
    Q, q = np.ones((4, 4)), np.array([1.0, 1.0, -1.0, -1.0])
    a, b = solve_box_qp(Q, np.array([2.9, 3.1, -3.3, -3.2]), np.full(4, 5.0), q, 0.0)
    np.testing.assert_array_equal(a, 0.0)
    assert 3.1 <= b <= 3.2


@pytest.mark.parametrize("q", [[1.0, -1.0], [4.0, -2.0], [0.5, -3.0]])
def test_an_intercept_that_is_not_unique_is_in_the_middle(q):
    # Both are at their bounds for every b with m − qb ≥ 0, so for −m₂/|q₂| ≤ b ≤ m₁/q₁.
    q, linear = np.array(q), np.array([7.0, 3.0])
    upper = 1.0 / np.abs(q)
    a, b = solve_box_qp(np.zeros((2, 2)), linear, upper, q, 0.0)
    np.testing.assert_allclose(a, upper, rtol=1e-9)
    assert b == pytest.approx((7.0 / q[0] + 3.0 / q[1]) / 2.0, rel=1e-9)


# ---------------------------------------------------------------- leave one out


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_leave_one_out_of_least_squares_is_exact(intercept, normalized, kernel):
    case = Case(11, "squared", kernel, normalized, 2, intercept, 1e-2, 1.0)
    if kernel == "linear":  # more labelled rows than columns: solved for the weights
        risk = case.risk(LinearSpace(case.X))
        (step,) = eliminate_features(risk)
        risk = RegularizedRisk(**{**vars(risk), "space": KernelSpace(DenseOperator(case.K))})
    else:
        risk = case.risk()
        (step,) = eliminate(risk)
    found = step.leave_one_out()[:, 0]
    for i, row in enumerate(risk.labelled):
        without = {
            key: np.delete(getattr(risk, key), i, axis=0)
            for key in ("labelled", "targets", "weights")
        }
        (other,) = eliminate(RegularizedRisk(**{**vars(risk), **without}))
        assert found[i] == pytest.approx(other.function.values[row, 0], abs=1e-9)


def test_leave_one_out_of_the_tube():
    # Rows inside the tube keep their value; a row that holds itself up alone falls to zero.
    R, y = np.eye(4) * 5.0, np.array([[1.0], [-1.0], [0.05], [0.0]])
    loss = LOSSES["epsilon_insensitive"]()
    problem = LabelProblem(R, None, 0.0, loss, y, np.ones(4), 0.1)
    c, _, _ = problem.solve()
    np.testing.assert_allclose(R @ c, [[0.9], [-0.9], [0.0], [0.0]], atol=1e-9)
    np.testing.assert_array_equal(c[2:], 0.0)
    f = np.array([[0.9], [-0.9], [0.1], [0.2]])
    np.testing.assert_allclose(problem.leave_one_out(c, f), [[0.0], [0.0], [0.1], [0.2]], atol=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_leave_one_out_of_margin_losses(loss):
    R = np.eye(4) * 5.0
    problem = LabelProblem(
        R=R,
        t=None,
        sigma=0.0,
        loss=LOSSES[loss](),
        targets=np.array([[1.0], [-1.0], [1.0], [-1.0]]),
        weights=np.ones(4),
        reg_ambient=0.1,
    )
    # Two rows beyond the margin keep their value, whatever the others do.
    c = np.array([[0.2], [0.0], [0.2], [0.0]])
    f = np.array([[1.0], [-7.0], [1.0], [-7.0]])
    np.testing.assert_array_equal(problem.leave_one_out(c, f)[[1, 3]], -7.0)
    # Nothing but its own label supports a row here: without it the value is 0.
    c, _, _ = problem.solve()
    np.testing.assert_allclose(problem.leave_one_out(c, R @ c), 0.0, atol=1e-9)
