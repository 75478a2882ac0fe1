"""Laplacian embedded least squares: dense formulas, certificate, leave-one-out, both ways to it."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import lapwing.solvers.embedded_ridge as embedded_ridge
from lapwing import LapERLSRegressor
from lapwing.graphs import KNNGraph
from lapwing.operators.dense import DenseOperator
from lapwing.solvers.embedded_ridge import EmbeddedRidge, ridge_cg, ridge_direct
from lapwing.solvers.ridge_certificate import _largest_intercept, certify_ridge
from lapwing.spaces.graph_kernel import label_precision, reduced_precision

YES_NO = [True, False]
every_intercept = pytest.mark.parametrize("intercept", YES_NO)


class Case:
    """A problem in lapwing's words, and its matrices written out."""

    def __init__(
        self, kernel="gaussian", C=10.0, power=1, k=6, columns=2, intercept=True, n=50, mu=0.5,
        strength=30.0, seed=0,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3))
        distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        self.K = {
            "gaussian": np.exp(-0.3 * distances),
            "linear": X @ X.T,
            "large": 1e5 * np.exp(-0.02 * distances),
            "zero": np.zeros((n, n)),
        }[kernel]
        graph = KNNGraph(6, power=power).fit(X)
        values, self.phi = graph.eigenpairs(k)
        self.labelled = np.sort(rng.choice(n, 8, replace=False))
        self.y = rng.normal(size=(8, columns)) + 0.5
        self.weights = strength * rng.uniform(0.5, 2.0, 8)
        Lam = label_precision(graph.component_, self.labelled, self.weights, self.y)
        self.P = reduced_precision(values, self.phi, power, Lam, mu)
        Lam[self.labelled] = 0.0
        penalty = reduced_precision(values, self.phi, power, Lam, mu)
        self.S = graph.laplacian_ @ np.eye(n)
        self.mu, self.C, self.intercept = mu, C, intercept
        self.problem = EmbeddedRidge(
            DenseOperator(self.K), 1.0 / C, self.phi, penalty, self.labelled, self.y,
            self.weights, intercept,
        )  # fmt: skip

    def dense(self, keep=None):
        """α and b by the formula, from some of the labels."""
        n, keep = len(self.K), np.arange(8) if keep is None else keep
        rows, w, y = self.labelled[keep], self.weights[keep], self.y[keep]
        Lam = np.zeros(n)
        Lam[rows] = w
        P = self.phi.T @ np.diag(Lam) @ self.phi + self.mu * self.phi.T @ self.S @ self.phi
        K_G = self.phi @ np.linalg.solve(P, self.phi.T)
        weighted_targets = np.zeros((n, y.shape[1]))
        weighted_targets[rows] = w[:, None] * y
        virtual = K_G @ weighted_targets
        A = self.K + K_G + np.eye(n) / self.C
        if not self.intercept:
            return np.linalg.solve(A, virtual), np.zeros(y.shape[1])
        bordered = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        solution = np.linalg.solve(bordered, np.vstack([virtual, np.zeros((1, y.shape[1]))]))
        return solution[:n], solution[n]

    def objective(self, alpha, b):
        """(31) of f, with the best g in the span of the eigenvectors; summed over columns."""
        f = self.K @ alpha + b
        A = self.C * self.phi.T @ self.phi + self.P
        rhs = self.C * self.phi.T @ f
        rhs += self.phi[self.labelled].T @ (self.weights[:, None] * self.y)
        g = self.phi @ np.linalg.solve(A, rhs)
        miss = self.weights[:, None] * (g[self.labelled] - self.y) ** 2
        return 0.5 * (
            (alpha * (self.K @ alpha)).sum()
            + self.C * ((f - g) ** 2).sum()
            + miss.sum()
            + self.mu * (g * (self.S @ g)).sum()
        )


def last(steps, most=300):
    for step in itertools.islice(steps, most):
        if step.converged:
            break
    return step


def cg(problem, tol=1e-12):
    return ridge_cg(problem, tol, np.random.default_rng(0))


CASES = [
    {"kernel": kernel, "C": C, "power": power}
    for kernel, C, power in itertools.product(
        ["gaussian", "linear", "zero"], [1e-2, 1.0, 1e3], [1, 2]
    )
]


@every_intercept
@pytest.mark.parametrize("settings", CASES, ids=str)
def test_direct_and_cg_equal_the_dense_formula(settings, intercept):
    case = Case(**settings, intercept=intercept)
    alpha, b = case.dense()
    best = case.objective(alpha, b)
    scale = max(np.abs(alpha).max(), 1e-12)
    for step in (last(ridge_direct(case.problem)), last(cg(case.problem))):
        f = step.function
        assert step.converged
        np.testing.assert_allclose(f.coef, alpha, rtol=0, atol=5e-5 * scale)
        np.testing.assert_allclose(f.intercept, b, rtol=0, atol=1e-6)
        np.testing.assert_allclose(f.values, case.K @ f.coef + f.intercept, rtol=0, atol=1e-9)
        assert step.objective == pytest.approx(best, rel=1e-9)
        assert case.objective(f.coef, f.intercept) == pytest.approx(best, rel=1e-9)
        if intercept:
            np.testing.assert_allclose(f.coef.sum(axis=0), 0.0, atol=1e-8 * scale)


@every_intercept
def test_solution_is_a_minimum(intercept):
    case = Case(intercept=intercept)
    (step,) = ridge_direct(case.problem)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0):
        alpha = step.function.coef + size * rng.normal(size=step.function.coef.shape)
        b = step.function.intercept + (size * rng.normal(size=2) if intercept else 0.0)
        assert case.objective(alpha, b) > step.objective


@every_intercept
@pytest.mark.parametrize("kernel", ["gaussian", "linear", "large"])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_gap_is_no_less_than_the_distance_at_every_step(intercept, kernel, C, monkeypatch):
    monkeypatch.setattr(embedded_ridge, "N_LANDMARKS", 3)  # many steps
    case = Case(kernel, C, intercept=intercept)
    best = last(ridge_direct(case.problem)).objective
    distances = []
    for step in itertools.islice(cg(case.problem, tol=1e-9), 100):
        assert np.isfinite(step.objective)
        assert step.gap >= step.objective - best - 1e-9 * best
        # What is said is true of the function that is handed over.
        true = case.objective(step.function.coef, step.function.intercept)
        assert true <= step.objective * (1 + 1e-7)
        distances.append(step.objective - best)
        if step.converged:
            break
    assert step.converged
    assert len(distances) > 1
    assert abs(distances[-1]) <= 2e-8 * best
    assert distances[0] > 1e-6 * best  # the certificate had something to certify


@every_intercept
def test_gap_of_any_coefficients_is_that_of_the_formula(intercept):
    """Multipliers are the coefficients without their mean, where there is an intercept."""
    case, rng = Case(intercept=intercept), np.random.default_rng(0)
    n, C, phi = len(case.K), case.C, case.phi
    alpha, b = (part + 0.1 * rng.normal(size=part.shape) for part in case.dense())
    b, zeta = b if intercept else np.zeros(2), rng.normal(size=(6, 2))
    found = certify_ridge(case.problem, alpha, b, zeta)
    mean = alpha.mean(axis=0) if intercept else np.zeros(2)
    left = case.K @ alpha + (alpha - mean) / C + b - phi @ zeta
    weighted = case.weights[:, None] * case.y
    q = case.P @ zeta + phi.T @ (alpha - mean) - phi[case.labelled].T @ weighted
    gap = C / 2 * (left**2).sum() + 0.5 * (q * np.linalg.solve(case.P, q)).sum()
    assert found.objective - gap - 0.5 * mean @ mean * case.K.sum() <= case.objective(*case.dense())
    # Of the values of K only the diagonal, which is one, is used for the last term.
    assert found.gap == pytest.approx(gap + 0.5 * mean @ mean * n**2, rel=1e-9)


def test_gap_includes_the_rounding_of_a_penalty_that_cancels():
    """Without a kernel the optimum is ½(‖y‖² − yᵀA⁻¹y) with A = 2I + P; exact arithmetic judges."""
    penalty, zeta = 1e10 * np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[1 / 3], [1 / 3 + 1e-9]])
    y = 2.0 * zeta + penalty @ zeta
    problem = EmbeddedRidge(
        DenseOperator(np.zeros((2, 2))), 1.0, np.eye(2), penalty, np.arange(2), y, np.ones(2), False
    )
    found = certify_ridge(problem, zeta, np.zeros(1), zeta)
    (s, t), p = (Fraction(value) for value in y[:, 0]), Fraction(1e10)
    explained = (s**2 * (2 + p) + 2 * s * t * p + t**2 * (2 + p)) / ((2 + p) ** 2 - p**2)
    best = (s**2 + t**2 - explained) / 2
    assert best - Fraction(1e-4) <= Fraction(found.objective) - Fraction(found.gap) <= best


def test_largest_intercept_by_hand():
    """Targets 1 and 3, no kernel and one graph function, the constant: the optimal b is 2."""
    constant, y = np.full((2, 1), np.sqrt(0.5)), np.array([[1.0], [3.0]])
    problem = EmbeddedRidge(
        DenseOperator(np.zeros((2, 2))), 1e-6, constant, np.zeros((1, 1)), np.arange(2), y,
        np.full(2, 5.0), True,
    )  # fmt: skip
    (step,) = ridge_direct(problem)
    assert step.function.intercept[0] == pytest.approx(2.0, rel=1e-6)
    assert step.objective == pytest.approx(5.0, rel=1e-6)
    # The row of target 1 has an error of at most √(2·5/5), and h is zero.
    bound = _largest_intercept(problem, np.array([5.0]))
    np.testing.assert_allclose(bound, 1.0 + np.sqrt(2.0), rtol=2e-3)


@every_intercept
@pytest.mark.parametrize("method", ["direct", "cg"])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_leave_one_out_equals_fits_without_the_label(method, intercept, kernel):
    case = Case(kernel, intercept=intercept)
    steps = ridge_direct(case.problem) if method == "direct" else cg(case.problem)
    found = last(steps).leave_one_out()
    assert found.shape == (8, 2)
    for i in range(8):
        alpha, b = case.dense(np.setdiff1d(np.arange(8), [i]))
        row = case.labelled[i]
        np.testing.assert_allclose(found[i], case.K[row] @ alpha + b, atol=1e-6)


def test_columns_are_solved_like_separate_problems():
    case = Case(columns=3)
    together = last(ridge_direct(case.problem))
    total = 0.0
    for j in range(3):
        alone = last(ridge_direct(replace(case.problem, targets=case.y[:, [j]])))
        np.testing.assert_allclose(together.function.coef[:, [j]], alone.function.coef, atol=1e-10)
        total += alone.objective
    assert together.objective == pytest.approx(total)


def test_large_kernel_values_keep_their_digits():
    case = Case("large", C=1e4)
    f = last(ridge_direct(case.problem)).function
    residual = case.K @ f.coef + f.intercept - f.values
    assert np.abs(residual).max() < 1e-6
    assert np.abs(f.coef.sum(axis=0)).max() < 1e-6 * np.abs(f.coef).max()


def test_direct_leaves_the_gram_matrix_alone_and_counts_its_passes():
    case = Case()
    K = case.K.copy()
    (step,) = ridge_direct(case.problem)
    np.testing.assert_array_equal(case.problem.gram.array, K)
    assert step.iteration == 1
    assert step.passes == case.problem.gram.passes


def test_cg_counts_one_pass_a_step_and_gives_the_same_bits():
    runs = []
    for _ in range(2):
        case = Case()
        before = case.problem.gram.passes
        steps = list(itertools.islice(cg(case.problem), 4))
        assert [step.passes - before for step in steps] == [1, 2, 3, 4]
        assert [step.iteration for step in steps] == [1, 2, 3, 4]
        runs.append(steps[-1].function.coef)
    np.testing.assert_array_equal(*runs)


def test_more_eigenvectors_than_the_kernel_has_rank():
    case = Case("linear", C=1e6, k=40, intercept=True)
    alpha, b = case.dense()
    for step in (last(ridge_direct(case.problem)), last(cg(case.problem, 1e-9))):
        np.testing.assert_allclose(
            step.function.values, case.K @ alpha + b, atol=1e-3 * np.abs(case.y).max()
        )


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_targets_far_from_zero_cost_the_certificate_no_digits(offset):
    X = np.linspace(0, 1, 120)[:, None]
    y = np.where(np.arange(120) % 10 == 0, np.sin(6 * X[:, 0]) + offset, np.nan)
    options = {
        "n_eigenvectors": 15,
        "reg_labeled": 1.0,
        "C": 1.0,
        "graph": KNNGraph(4, normalized=False),
    }
    model = LapERLSRegressor(**options).fit(X, y)
    near = LapERLSRegressor(**options).fit(X, y - offset)
    assert model.result_.status == "converged"
    assert model.result_.objective == pytest.approx(near.result_.objective, rel=1e-3)
    np.testing.assert_allclose(
        model.predict(X) - offset, near.predict(X), atol=1e-5 * max(1, offset / 1e6)
    )


def test_constant_targets_are_an_optimum_of_zero():
    X = np.linspace(0, 1, 50)[:, None]
    y = np.where(np.arange(50) % 5 == 0, 3.0, np.nan)
    result = LapERLSRegressor(n_eigenvectors=10).fit(X, y).result_
    assert result.status == "converged"
    assert 0.0 <= result.objective < 1e-8


def test_directions_that_are_not_determined_are_zero():
    """A row without any weight, and two equal ones: the smallest solution."""
    H = np.array([[1e8, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 4.0], [0, 0, 4, 4]])
    found = embedded_ridge._solve_definite(H, np.array([[3e8], [0.0], [8.0], [8.0]]))
    np.testing.assert_allclose(found[:, 0], [3.0, 0.0, 1.0, 1.0], rtol=1e-12)
