"""Certificates hold for ill-conditioned problems, with exact arithmetic as the judge."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers.certificates import claims
from helpers.data import gaussian
from helpers.decimals import ExactProblem, convert, ill_conditioned
from lapwing.losses import LOSSES
from lapwing.operators.dense import DenseOperator
from lapwing.operators.twofold import EPS, Twofold
from lapwing.solvers.certificate import _gradient_norm, certify, certify_in_one_pass
from lapwing.solvers.elimination import eliminate, eliminate_features
from lapwing.spaces.function import Function
from lapwing.spaces.kernel_space import KernelSpace


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_no_claim_is_false(first):
    found = [claim for seed in range(first, first + 10) for claim in claims(seed)]
    assert [claim for claim in found if claim.is_false] == []
    assert sum(claim.steps for claim in found) >= 15
    assert sum(claim.outcome == "converged" for claim in found) >= 12


def test_the_judge_finds_the_optimum():
    # The exact minimum is below the objective of any other function, and reached by a minimiser.
    for seed, loss in ((0, "squared"), (3, "squared_hinge"), (5, "hinge")):
        risk = ill_conditioned(seed, loss)
        exact = ExactProblem(risk)
        best, verified = exact.minimum()
        assert verified
        rng = np.random.default_rng(0)
        for _ in range(5):
            other = exact.objective(convert(rng.normal(size=exact.n)), Decimal(0))
            assert other >= best
    risk = replace(ill_conditioned(0, "squared"), reg_ambient=1.0, reg_manifold=0.5)
    K = gaussian(*[np.linspace(0, 1, risk.n_rows)[:, None]] * 2, 50.0)
    risk = replace(risk, space=KernelSpace(DenseOperator(K)))
    S, y = risk.smoothness @ np.eye(risk.n_rows), risk.targets[:, 0]

    def value(x):
        f = K @ x[:-1] + x[-1] * risk.fit_intercept
        loss = risk.weights @ (y - f[risk.labelled]) ** 2
        return 0.5 * (loss + x[:-1] @ K @ x[:-1] + 0.5 * f @ S @ f)

    near = minimize(value, np.zeros(risk.n_rows + 1), method="BFGS", options={"gtol": 1e-8})
    assert float(ExactProblem(risk).minimum()[0]) == pytest.approx(near.fun, rel=1e-9)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_any_dual_and_any_p_give_a_valid_bound(loss):
    if not LOSSES[loss]().is_convex:
        pytest.skip("certificates need a convex loss")
    for seed in range(12):
        risk = ill_conditioned(seed, loss)
        best = ExactProblem(risk).minimum()[0]
        rng, n = np.random.default_rng(seed), risk.n_rows
        columns = (risk.space.n_coef, 1)
        f = Function(rng.normal(size=columns), np.zeros(1), np.zeros((n, 1)), np.zeros((n, 1)))
        g = rng.normal(size=risk.targets.shape)  # not even feasible
        if risk.fit_intercept:
            risk = replace(risk, fit_intercept=False)
            best = ExactProblem(risk).minimum()[0]
        for p in (None, rng.normal(size=(n, 1))):
            found = certify(risk, f, g, p=p)
            assert Decimal(found.objective) - Decimal(found.gap) <= best
            assert found.gap >= 0


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
def test_certificates_of_one_pass_are_valid_and_the_best_is_returned(loss):
    compared = 0
    for seed in range(20):
        risk = replace(ill_conditioned(seed, loss), fit_intercept=False)
        if risk.space.features is not None:
            continue
        best = ExactProblem(risk).minimum()[0]
        (step,) = eliminate(replace(risk, reg_ambient=1.0))  # far from the optimum
        rng, f = np.random.default_rng(seed), step.function
        duals = [(risk.loss_gradient(f), f.values), (rng.normal(size=risk.targets.shape), f.values)]
        found = certify_in_one_pass(risk, f, duals, risk.gram)
        assert Decimal(found.objective) - Decimal(found.gap) <= best
        each = [certify_in_one_pass(risk, f, [dual], risk.gram).gap for dual in duals]
        assert found.gap == pytest.approx(min(each), rel=1e-9)
        precise = min(certify(risk, f, g, p=p).gap for g, p in duals)
        assert found.gap >= precise * (1 - 1e-6)
        compared += 1
    assert compared >= 5


def test_rounding_of_a_plain_product_counts():
    """Coefficients of opposite signs, whose values are nothing but rounding."""
    risk = replace(ill_conditioned(0, "squared"), fit_intercept=False)
    K = np.ones((risk.n_rows, risk.n_rows))
    risk = replace(risk, space=KernelSpace(DenseOperator(K)))
    coef = np.random.default_rng(0).normal(size=(risk.n_rows, 1)) * 1e12
    coef -= coef.mean()
    f = Function(coef, np.zeros(1), np.zeros(coef.shape), np.zeros(coef.shape))
    found = certify_in_one_pass(risk, f, [(risk.loss_gradient(f), f.values)], risk.gram)
    assert found.rounding > certify(risk, f, risk.loss_gradient(f)).rounding
    exact = sum(Fraction(x) for x in coef[:, 0])
    error = abs(Fraction(found.function.values[0, 0]) - exact)
    assert error <= risk.gram.n_additions * Fraction(EPS) * sum(
        abs(Fraction(x)) for x in coef[:, 0]
    )


def solved(seed, ratio):
    """A problem of least squares with this γ_I/γ_A, and the function that solves it."""
    risk = replace(ill_conditioned(seed, "squared"), reg_ambient=1e-5, reg_manifold=1e-5 * ratio)
    if risk.space.features is not None:
        return risk, lambda: next(eliminate_features(risk))
    # Above rounding, which would decide otherwise.
    K = risk.gram.to_array()
    K = K + 1e-10 * np.abs(K).max() * np.eye(len(K))
    risk = replace(risk, space=KernelSpace(DenseOperator(K)))
    return risk, lambda: next(eliminate(risk))


@pytest.mark.parametrize("seed", range(12))
def test_large_ratios_are_exact(seed):
    for ratio in (1e-10, 1e3, 1e10):
        risk, run = solved(seed, ratio)
        try:
            step = run()
        except ValueError:
            if ratio < 1e10:  # what is larger may be beyond double precision
                raise
            continue
        best = float(ExactProblem(risk).minimum()[0])
        assert step.objective == pytest.approx(best, rel=1e-6)
        assert step.objective - step.gap <= best * (1 + 1e-14)
        assert step.gap <= 1e-3 * step.objective


@pytest.mark.parametrize("m", [10, 3000])
def test_norm_of_a_gradient_of_features_is_an_upper_bound(m):
    """Of one row with a loss gradient of one the gradient is the row itself."""
    features = np.random.default_rng(0).uniform(size=(1, m))
    risk = SimpleNamespace(space=SimpleNamespace(features=features), reg_ambient=1.0)
    f, r = SimpleNamespace(coef=np.zeros((m, 1))), Twofold.exactly(np.ones((1, 1)))
    norm, coef = _gradient_norm(risk, f, r, np.ones(1), None, np.ones(1))
    np.testing.assert_array_equal(coef, features.T)
    exact = sum(Fraction(x) ** 2 for x in features[0])
    assert exact <= Fraction(norm[0]) ** 2 <= exact * (1 + 4 * m * Fraction(EPS))


def hopeless():
    """Weights so far apart that rounding of the kernel decides."""
    risk = replace(ill_conditioned(0, "squared"), reg_ambient=1e-15, reg_manifold=1.0)
    K = gaussian(*[np.linspace(0, 1, risk.n_rows)[:, None]] * 2, 0.1)
    return replace(risk, space=KernelSpace(DenseOperator(K)))


def test_a_problem_without_digits_is_refused_with_its_weights():
    risk = hopeless()
    with pytest.raises(
        ValueError, match=r"no solution in double precision: .*\(reg_ambient or rho"
    ):
        next(eliminate(risk))
    with pytest.raises(
        ValueError, match=r"γ_I = 1e\+145, is more than 1e\+100 times .* γ_A = 1e-05:"
    ):
        solved(0, 1e150)[1]()
