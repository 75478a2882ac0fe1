"""Ridge regression of features, against formulas with one system."""

import numpy as np

from lapwing.solvers.smoother import fit_ridge


def test_gains_are_standard_errors_of_the_values():
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(12, 5)), rng.uniform(0.5, 2.0, size=12)
    found = fit_ridge(features, rng.normal(size=(12, 2)), weights)
    smoother = np.linalg.solve(
        features.T @ (weights[:, None] * features) + np.eye(5), features.T * weights
    )
    new = rng.normal(size=(7, 5))
    variances = weights.mean() / weights
    expected = np.sqrt((new @ smoother) ** 2 @ variances)
    np.testing.assert_allclose(found.gains(new), expected, rtol=1e-10)
