"""Every convex estimator reaches the optimum of an independent solver, or refuses.

``make bench NAME=optimum`` does the same for thousands of problems.
"""

import numpy as np
import pytest

from helpers import reference
from helpers.data import fit_quietly
from helpers.optimum import FITS, NoReference, draw, excess, minimum, problems, solve
from lapwing import (
    KNNGraph,
    LapERLSRegressor,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
    LapSVCPath,
    LapSVR,
)


@pytest.mark.parametrize("name", list(FITS))
def test_optimum_is_reached(name):
    distances = []
    for seed in range(1000, 1004):
        try:
            distances.append(excess(name, seed))
        except NoReference:
            continue
    assert len(distances) >= 2
    assert max(distances) <= 1e-6


def test_extended_elimination_solves_systems():
    rng = np.random.default_rng(0)
    A, X = rng.normal(size=(9, 9)), rng.normal(size=(9, 2))
    np.testing.assert_allclose(solve(A, A @ X).astype(float), X, rtol=1e-12)


def test_reference_of_least_squares_is_that_of_the_convex_solver():
    for problem in problems(draw(0), "squared", 0.1, 0.3, True):
        assert float(minimum(problem)) == pytest.approx(reference.minimum(problem)[0], rel=1e-8)


def fitted_or_refused(model, X, y):
    """The fitted model, or None if it was refused for want of digits, with the remedy."""
    try:
        return fit_quietly(model, X, y)
    except ValueError as refusal:
        message = str(refusal)
    assert "double precision" in message
    assert "aise the weight of the norm (reg_ambient or rho, or lower C)" in message
    return None


RATIOS = [(1e-6, 1e4), (1e-10, 1.0), (1.0, 1e10), (1e-14, 1.0), (1.0, 1e14)]


@pytest.mark.parametrize(("ambient", "manifold"), RATIOS, ids=str)
@pytest.mark.parametrize(
    "make",
    [
        lambda a, m: LapRLSRegressor(reg_ambient=a, reg_manifold=m),
        lambda a, m: LapRLSRegressorCV(reg_ambient=[a], reg_manifold=[m], cv=2),
        lambda a, m: LapSVR(C=0.5 / a, reg_manifold=m / a),
        lambda a, m: LapERLSRegressor(reg_labeled=1.0 / a, reg_manifold=m / a, C=1e3),
    ],
    ids=["LapRLSRegressor", "LapRLSRegressorCV", "LapSVR", "LapERLSRegressor"],
)
def test_regressors_at_extreme_ratios_are_right_or_refused(make, ambient, manifold):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 1))
    y = np.where(np.arange(60) < 15, np.sin(6 * X[:, 0]), np.nan)
    model = make(ambient, manifold).set_params(graph=KNNGraph(6, normalized=False))
    model = fitted_or_refused(model, X, y)
    if model is None:
        return
    # f cannot leave the range of the targets by much where it is smooth.
    assert np.abs(model.predict(X)).max() <= 1.5
    assert model.result_.gap <= max(2e-3 * model.result_.objective, 1e-8)


@pytest.mark.parametrize(("ambient", "manifold"), RATIOS, ids=str)
@pytest.mark.parametrize(
    "make",
    [
        lambda a, m: LapSVC(reg_ambient=a, reg_manifold=m),
        lambda a, m: LapSVC(loss="hinge", reg_ambient=a, reg_manifold=m),
        lambda a, m: LapRLSClassifier(reg_ambient=a, reg_manifold=m),
        lambda a, m: LapRLSClassifierCV(reg_ambient=[a], reg_manifold=[m], cv=2),
        lambda a, m: LapSVCCV(reg_ambient=[a], reg_manifold=[m], cv=2),
        lambda a, m: LapSVCPath(rho=a / m),
    ],
    ids=["LapSVC", "LapSVC-hinge", "LapRLSClassifier", "LapRLSClassifierCV", "LapSVCCV", "path"],
)
def test_classifiers_at_extreme_ratios_are_right_or_refused(make, ambient, manifold):
    rng = np.random.default_rng(1)
    truth = np.arange(60) % 2
    X = np.where(truth, 2.0, -2.0)[:, None] + 0.5 * rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 12, truth, -1)
    model = make(ambient, manifold).set_params(graph=KNNGraph(6, normalized=False))
    model = fitted_or_refused(model, X, y)
    if model is None:
        return
    np.testing.assert_array_equal(model.predict(X), truth)
    assert model.result_.gap <= max(2e-3 * model.result_.objective, 1e-8)
