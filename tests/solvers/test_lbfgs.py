"""L-BFGS in function space against a dense formulation and scipy's minimiser."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from lapwing.losses import SmoothHinge, SquaredHinge, TwoSidedHinge
from lapwing.operators.dense import DenseOperator
from lapwing.solvers.lbfgs import lbfgs, lbfgs_bytes
from lapwing.spaces.affine import AffineSpace
from lapwing.spaces.kernel_space import KernelSpace, LinearSpace

N, D, GAMMA = 24, 5, 20.0
REG = np.array([1e-3, 1e-2, 0.1, 1.0])
LEVEL = np.array([0.2, -0.5, 0.0, 0.7])

#: Convex losses of values and targets: (value, derivative).
LOSSES = {
    "squared_hinge": SquaredHinge().value_and_derivative,
    "smooth_hinge": SmoothHinge(GAMMA).value_and_derivative,
    "two_sided_hinge": lambda f, y: TwoSidedHinge(GAMMA).value_and_derivative(f - y),
}
FORMULAS = {
    "squared_hinge": lambda f, y: np.maximum(1 - y * f, 0) ** 2,
    "smooth_hinge": lambda f, y: np.logaddexp(0, GAMMA * (1 - y * f)) / GAMMA,
    "two_sided_hinge": lambda f, y: (
        (np.logaddexp(0, GAMMA * (1 - f + y)) + np.logaddexp(0, GAMMA * (1 + f - y))) / GAMMA - 1
    ),
}


@dataclass
class Case:
    """Four columns with their own targets, weights and regularisation."""

    kind: str
    constant: str
    loss: str

    def __post_init__(self):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(N, D)) + 0.5
        self.targets = np.where(self.X @ rng.normal(size=(D, 4)) + rng.normal(size=4) > 0, 1.0, -1)
        self.weights = rng.random((N, 4)) / N
        self.balance = rng.random(N)
        self.balance /= self.balance.sum()
        if self.kind == "kernel":
            self.K = np.exp(-0.2 * ((self.X[:, None] - self.X[None]) ** 2).sum(axis=2))
            space = KernelSpace(DenseOperator(self.K))
        else:
            self.K = self.X @ self.X.T
            space = LinearSpace(sp.csr_matrix(self.X) if self.kind == "sparse" else self.X)
        held = self.constant == "held"
        self.space = AffineSpace(
            space,
            self.balance if held else None,
            LEVEL if held else None,
            fit_intercept=self.constant == "free",
        )

    def row_loss(self, values, columns):
        value, slope = LOSSES[self.loss](values, self.targets[:, columns])
        weights = self.weights[:, columns]
        return (weights * value).sum(axis=0), weights * slope

    def descend(self, *, tol=1e-9, max_iter=1000, start=None, columns=None, loss=None):
        columns = np.arange(4) if columns is None else columns
        space = self.space
        if self.constant == "held":
            space = AffineSpace(space.space, self.balance, LEVEL[columns])
        row_loss = loss or (lambda values, chosen: self.row_loss(values, columns[chosen]))
        return lbfgs(
            space,
            row_loss,
            REG[columns],
            space.zeros(len(columns)) if start is None else start[:, columns],
            small_decrease=0.0,
            small_gradient=np.full(len(columns), tol),
            max_iter=max_iter,
        )

    def naive(self, column):
        """Return the optimum of one column: f = Rz + b with RRᵀ = K, by scipy."""
        values, vectors = np.linalg.eigh(self.K)
        keep = values > 1e-12 * values[-1]
        R = vectors[:, keep] * np.sqrt(values[keep])
        if self.constant == "held":
            R = R - self.balance @ R
        y, w = self.targets[:, column], self.weights[:, column]

        def f(z):
            if self.constant == "held":
                return R @ z[:-1] + LEVEL[column]
            return R @ z[:-1] + (z[-1] if self.constant == "free" else 0.0)

        def objective(z):
            return w @ FORMULAS[self.loss](f(z), y) + REG[column] * (z[:-1] @ z[:-1])

        def gradient(z):
            step = 1e-6
            slope = FORMULAS[self.loss](f(z) + step, y) - FORMULAS[self.loss](f(z) - step, y)
            row_gradient = w * slope / (2 * step)
            b = row_gradient.sum() if self.constant == "free" else 0.0
            return np.append(R.T @ row_gradient + 2 * REG[column] * z[:-1], b)

        z = minimize(
            objective, np.zeros(R.shape[1] + 1), jac=gradient, method="L-BFGS-B",
            options={"maxiter": 2000, "maxcor": 50, "ftol": 1e-15, "gtol": 1e-9},
        ).x  # fmt: skip
        return objective(z), f(z)


every_space = pytest.mark.parametrize("kind", ["dense", "sparse", "kernel"])
every_constant = pytest.mark.parametrize("constant", ["held", "free", "none"])
every_loss = pytest.mark.parametrize("loss", list(LOSSES))


@every_space
@every_constant
@every_loss
def test_reaches_the_optimum_of_convex_problems(kind, constant, loss):
    case = Case(kind, constant, loss)
    found = case.descend()
    assert found.converged.all()
    for column in (0, 2):
        best, f = case.naive(column)
        assert found.objective[column] == pytest.approx(best, rel=1e-6)
        # The norm is λ-strongly convex: values agree where the objective does.
        np.testing.assert_allclose(found.values[:, column], f, atol=2e-3)


@every_space
@every_constant
def test_values_and_objective_belong_to_the_vectors(kind, constant):
    case = Case(kind, constant, "smooth_hinge")
    found = case.descend(max_iter=7)
    coef, intercept = case.space.coef_and_intercept(found.vectors, np.arange(4))
    basis = case.K if kind == "kernel" else case.X
    f = basis @ coef + intercept
    np.testing.assert_allclose(found.values, f, atol=1e-10)
    h = basis @ coef
    norm = (coef * h).sum(axis=0) if kind == "kernel" else (coef**2).sum(axis=0)
    loss = (case.weights * FORMULAS["smooth_hinge"](f, case.targets)).sum(axis=0)
    np.testing.assert_allclose(found.objective, loss + REG * norm, rtol=1e-10)


@every_space
@every_constant
@every_loss
def test_a_block_gives_what_each_column_gives_alone(kind, constant, loss):
    case = Case(kind, constant, loss)
    together = case.descend(tol=1e-7)
    for column in range(4):
        alone = case.descend(tol=1e-7, columns=np.array([column]))
        np.testing.assert_allclose(together.values[:, [column]], alone.values, atol=1e-8)
        assert together.objective[column] == pytest.approx(alone.objective[0], rel=1e-10)
    backwards = case.descend(tol=1e-7, columns=np.array([3, 1]))
    np.testing.assert_allclose(backwards.values, together.values[:, [3, 1]], atol=1e-8)


@every_space
@every_constant
@every_loss
def test_objective_never_rises(kind, constant, loss):
    case = Case(kind, constant, loss)
    path = np.array(
        [case.descend(tol=0.0, max_iter=i).objective for i in (0, 1, 2, 3, 5, 8, 12, 20)]
    )
    assert (np.diff(path, axis=0) <= 1e-13 * path[:-1]).all()
    assert (path[-1] < path[0]).all()


def test_objective_falls_where_the_loss_is_not_convex():
    case = Case("kernel", "free", "smooth_hinge")

    def loss(values, columns):
        value = np.exp(-3.0 * values**2)
        weights = case.weights[:, columns]
        total, slope = case.row_loss(values, columns)
        row_gradient = slope - 30.0 * weights * values * value
        return total + (5.0 * weights * value).sum(axis=0), row_gradient

    start = case.descend(max_iter=3).vectors
    path = np.array(
        [
            case.descend(tol=1e-7, max_iter=i, start=start, loss=loss).objective
            for i in (0, 1, 2, 3, 5, 8, 12, 20, 40)
        ]
    )
    assert (np.diff(path, axis=0) <= 1e-13 * path[:-1]).all()
    assert case.descend(tol=1e-7, start=start, loss=loss).converged.all()


def test_more_regularisation_means_a_smaller_norm():
    case = Case("dense", "free", "squared_hinge")
    case.targets[:], case.weights[:] = case.targets[:, :1], case.weights[:, :1]
    found = case.descend()
    norms = case.space.norm_dot(found.vectors, found.vectors)
    assert (np.diff(norms) < 0).all()


def test_a_start_at_the_optimum_costs_few_evaluations():
    case = Case("kernel", "held", "squared_hinge")
    found = case.descend(tol=1e-6)
    again = case.descend(tol=1e-6, start=found.vectors)
    assert again.evaluations <= 4  # three iterations must bring little before it is believed
    assert again.converged.all()
    np.testing.assert_allclose(again.values, found.values, atol=1e-6)


def test_starts_are_left_alone():
    case = Case("dense", "free", "squared_hinge")
    start = np.random.default_rng(1).normal(size=(D + 1, 4))
    copy = start.copy()
    case.descend(start=start)
    np.testing.assert_array_equal(start, copy)


def test_too_few_iterations_are_told_column_by_column():
    case = Case("dense", "free", "squared_hinge")
    assert not case.descend(max_iter=1).converged.any()
    tolerance = np.array([1e9, 1e-12, 1e-12, 1e9])
    found = lbfgs(
        case.space, case.row_loss, REG, case.space.zeros(4),
        small_decrease=1e9, small_gradient=tolerance, max_iter=5,
    )  # fmt: skip
    np.testing.assert_array_equal(found.converged, [True, False, False, True])


def test_a_small_gradient_is_believed_only_when_little_is_gained():
    # Rows of tiny norm have tiny gradients, however far the optimum is.
    case = Case("dense", "held", "squared_hinge")
    space = AffineSpace(LinearSpace(1e-6 * case.X), case.space.balance, case.space.level)
    found = lbfgs(
        space, case.row_loss, REG * 1e-12, space.zeros(4),
        small_decrease=1e-12, small_gradient=np.full(4, 1e3), max_iter=5000,
    )  # fmt: skip
    np.testing.assert_allclose(found.objective, case.descend().objective, rtol=1e-6)


def test_a_tolerance_below_rounding_ends_all_the_same():
    case = Case("dense", "free", "smooth_hinge")
    found, best = case.descend(tol=0.0, max_iter=1000), case.descend(tol=1e-8)
    assert best.converged.all()
    assert not found.converged.all()  # rounding may make the gradient of a column zero
    assert found.evaluations < 300
    np.testing.assert_allclose(found.objective, best.objective, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_the_rows_does_not_matter(scale):
    case, scaled = (Case("dense", "free", "squared_hinge") for _ in range(2))
    scaled.space = AffineSpace(LinearSpace(scale * case.X))
    found = lbfgs(
        scaled.space, case.row_loss, REG * scale**2, scaled.space.zeros(4),
        small_decrease=0.0, small_gradient=np.full(4, 1e-9 * min(scale, 1.0)), max_iter=5000,
    )  # fmt: skip
    expected = case.descend()
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-6)


def test_one_product_an_evaluation():
    case = Case("kernel", "free", "squared_hinge")
    gram = case.space.space.gram
    before = gram.passes
    found = case.descend()
    assert gram.passes - before == found.evaluations


def test_memory_grows_with_rows_coordinates_and_columns():
    assert lbfgs_bytes(10, 20, 2) == 2 * lbfgs_bytes(10, 20, 1)
    assert lbfgs_bytes(10, 21, 1) - lbfgs_bytes(10, 20, 1) >= 8 * 100
    assert lbfgs_bytes(11, 20, 1) > lbfgs_bytes(10, 20, 1)
