"""EigenfunctionClassifier against loops and known functions; and its life."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.linalg import eig
from sklearn.base import clone
from sklearn.decomposition import PCA

from helpers import data
from lapwing import EigenfunctionClassifier
from lapwing.arrays.blocks import RowBlocks
from lapwing.graphs.eigenfunctions import (
    EigenfunctionBasis,
    coordinate_eigenfunctions,
    principal_axes,
)

blobs = partial(data.blobs, gap=4.0)


# ---------------------------------------------------------------- functions


@pytest.mark.parametrize("n_points", [2, 5, 20])
def test_functions_solve_the_generalised_problem(n_points):
    rng = np.random.default_rng(n_points)
    s, p = np.sort(rng.normal(size=n_points)), rng.uniform(0.1, 1.0, size=n_points)
    sigma, g = coordinate_eigenfunctions(s, p, 0.6)
    p = p / p.sum()
    P = np.diag(p)
    W = np.array([[np.exp(-((a - b) ** 2) / (2 * 0.6**2)) for b in s] for a in s])
    left = np.diag((P @ W @ P).sum(axis=1)) - P @ W @ P
    right = P @ np.diag((P @ W).sum(axis=0))
    np.testing.assert_allclose(left @ g, right @ g * sigma, atol=1e-12)
    expected = np.sort(eig(left, right)[0].real)
    assert abs(expected[0]) < 1e-10  # the constant
    np.testing.assert_allclose(sigma, expected[1:], atol=1e-9)
    np.testing.assert_allclose(p @ g**2, 1.0)
    assert g.shape == (n_points, n_points - 1)


def test_uniform_density_gives_cosines():
    s = (np.arange(400) + 0.5) / 400
    sigma, g = coordinate_eigenfunctions(s, np.ones(400), 0.01)
    for k in range(1, 6):
        cosine = np.sqrt(2) * np.cos(np.pi * k * s)
        sign = np.sign(g[:, k - 1] @ cosine)
        np.testing.assert_allclose(sign * g[:, k - 1], cosine, atol=0.08)
    # σ grows as the square of the frequency, with (ε·π)²/2 for half a period.
    np.testing.assert_allclose(sigma[:5], 0.5 * (0.01 * np.pi * np.arange(1, 6)) ** 2, rtol=0.06)


def test_parts_of_the_density_are_told_apart_without_roughness():
    s = np.concatenate([np.linspace(0, 1, 20), np.linspace(50, 51, 20)])
    sigma, g = coordinate_eigenfunctions(s, np.repeat([1.0, 3.0], 20), 0.2)
    assert sigma[0] < 1e-12 < 1e-3 < sigma[1]
    np.testing.assert_allclose(g[:20, 0], g[0, 0])
    np.testing.assert_allclose(g[20:, 0], g[20, 0])
    np.testing.assert_allclose(g[0, 0] / g[20, 0], -9.0)  # orthogonal under PD̂, here p²


@pytest.mark.parametrize("shape", [(50, 4), (5, 9)])
def test_axes_are_those_of_principal_components(shape):
    X = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1) + 1e4
    axes, deviations = principal_axes(RowBlocks.of(X), X.mean(axis=0), 3)
    reference = PCA(3, svd_solver="full").fit(X)
    np.testing.assert_allclose(np.abs(np.diag(reference.components_ @ axes)), 1.0, atol=1e-8)
    scale = np.sqrt((len(X) - 1) / len(X))
    np.testing.assert_allclose(deviations, scale * np.sqrt(reference.explained_variance_))


def test_basis_equals_loops(monkeypatch):
    X, _, _ = blobs(n=80, d=3)
    mean, axes = X.mean(axis=0), principal_axes(RowBlocks.of(X), X.mean(axis=0), 2)[0]
    found = []
    for axis in range(2):
        t = (X - mean) @ axes[:, axis]
        counts, edges = np.histogram(t, 10)
        centres = (edges[1:] + edges[:-1]) / 2
        filled = counts > 0
        sigma, g = coordinate_eigenfunctions(centres[filled], counts[filled], 0.9)
        found += [(sigma[k], np.interp(t, centres[filled], g[:, k])) for k in range(len(sigma))]
    found = sorted(found, key=lambda pair: pair[0])[:6]
    monkeypatch.setattr("lapwing.graphs.eigenfunctions._BLOCK_BYTES", 500)  # several blocks
    basis = EigenfunctionBasis.build(X, 2, 10, 6, 0.9)
    np.testing.assert_allclose(basis.eigenvalues, [0.0, *(sigma for sigma, _ in found)], atol=1e-12)
    U = basis(X)
    np.testing.assert_array_equal(U[:, 0], 1.0)
    for k, (_, column) in enumerate(found, start=1):
        np.testing.assert_allclose(np.abs(U[:, k]), np.abs(column), atol=1e-8)
    coef = np.random.default_rng(0).normal(size=(7, 2))
    np.testing.assert_allclose(basis.combine(X, coef), U @ coef)
    # Beyond the histogram the functions stay at their last values.
    far, farther = basis(X + 1e5 * axes[:, 0]), basis(X + 1e6 * axes[:, 0])
    np.testing.assert_allclose(far, farther, atol=1e-8)  # 1e6 has ten digits behind the point


# ---------------------------------------------------------------- solution


@pytest.mark.parametrize("n_classes", [2, 3])
def test_solution_satisfies_the_equation(n_classes):
    X, y, _ = blobs(n_classes=n_classes)
    sample_weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    model = EigenfunctionClassifier(reg_labeled=0.2, n_eigenfunctions=20)
    model.fit(X, y, sample_weight=sample_weight)
    U = model.basis_(X)
    Lambda = np.diag(np.where(y == -1, 0.0, 0.2 * sample_weight))
    Y = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
    Y = Y[:, 1:] if n_classes == 2 else Y
    alpha = np.linalg.solve(np.diag(model.eigenvalues_) + U.T @ Lambda @ U, U.T @ Lambda @ Y)
    np.testing.assert_allclose(model.coef_, alpha.T, atol=1e-6)
    values = model.decision_function(X)
    np.testing.assert_allclose(values.reshape(len(X), -1), U @ alpha, atol=1e-6)


def test_left_out_labels_are_those_of_refits():
    X, y, _ = blobs(n_labelled=12)
    seen = {}

    class Watched(EigenfunctionClassifier):
        def _set_fitted(self, rows, targets, solution, **more):
            seen["held_out"] = solution.held_out
            return super()._set_fitted(rows, targets, solution, **more)

    model = Watched(reg_labeled=0.1).fit(X, y)
    held_out = seen["held_out"]
    for i in range(12):
        without = y.copy()
        without[i] = -1
        expected = clone(model).fit(X, without).decision_function(X[i : i + 1])[0]
        np.testing.assert_allclose(held_out[i], expected, atol=1e-6)


def test_with_the_constant_alone_it_is_the_mean_of_the_labels():
    # Both coordinates constant: nothing but the constant is left.
    y = np.array([0, 1, 1, 1, -1, -1])
    model = EigenfunctionClassifier().fit(np.ones((6, 2)), y)
    np.testing.assert_array_equal(model.eigenvalues_, [0.0])
    np.testing.assert_allclose(model.decision_function(np.ones((1, 2))), [0.5])


def test_clusters_and_new_rows():
    X, y, truth = blobs(n=400, n_labelled=12)
    model = EigenfunctionClassifier().fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.97
    X_new, _, truth_new = blobs(n=200, seed=5)
    assert model.score(X_new, truth_new) > 0.97
    probability = model.predict_proba(X_new)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X_new))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_prediction_repeats_the_fitted_values(dtype):
    X, y, _ = blobs()
    X = X.astype(dtype)
    model = EigenfunctionClassifier().fit(X, y)
    np.testing.assert_array_equal(model.transduction_[15:], model.predict(X)[15:])
    one_by_one = np.vstack([model.decision_function(X[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(one_by_one, model.decision_function(X)[:20], atol=1e-9)


# ---------------------------------------------------------------- edges


@pytest.mark.parametrize("trouble", ["duplicates", "constant column", "scales", "outlier", "wide"])
def test_awkward_rows_stay_finite(trouble):
    X, y, _ = blobs(n=60, n_classes=2)
    if trouble == "duplicates":
        X = np.repeat(X[:6], 10, axis=0)
    elif trouble == "constant column":
        X[:, 1] = 3.0
    elif trouble == "scales":
        X[:, 0] *= 1e8
        X[:, 1] *= 1e-8
    elif trouble == "outlier":
        X[40] = 1e9
    else:
        X = np.random.default_rng(0).normal(size=(60, 200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if trouble == "outlier":  # it hides all others
            warnings.filterwarnings("ignore", "the decision function is the same for labelled rows")
        model = EigenfunctionClassifier().fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X + 100.0)).all()


@pytest.mark.parametrize("n", [2, 3])
def test_fewest_rows_and_bins(n):
    X = np.array([[0.0], [1.0], [0.4]])[:n]
    model = EigenfunctionClassifier(n_bins=2).fit(X, np.array([0, 1, -1])[:n])
    np.testing.assert_array_equal(model.predict(X[:2]), [0, 1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", 0),
        ("n_bins", 1),
        ("n_bins", 2.5),
        ("n_eigenfunctions", 0),
        ("reg_labeled", 0.0),
        ("reg_labeled", np.inf),
        ("bandwidth", -1.0),
        ("bandwidth", "mean"),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=f"^{name} must be"):
        EigenfunctionClassifier(**{name: value}).fit(X, y)


# ---------------------------------------------------------------- life


def test_bandwidth_is_a_fifth_of_the_first_deviation():
    X, y, _ = blobs()
    model = EigenfunctionClassifier().fit(X, y)
    deviation = np.sqrt(np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1])
    np.testing.assert_allclose(model.bandwidth_, 0.2 * deviation)
    given = EigenfunctionClassifier(bandwidth=0.2 * deviation).fit(X, y)
    np.testing.assert_allclose(given.decision_function(X), model.decision_function(X), atol=1e-6)


def test_equal_rows_have_no_axes():
    X, y, _ = data.blobs(40, 2, 8)
    X = np.full((40, 13), 0.1)
    X[:, 1] = -1.0 / 3.0
    model = EigenfunctionClassifier().fit(X, y)
    assert model.basis_.axes.shape == (13, 0)
    assert np.ptp(model.decision_function(X)) == 0.0


def test_histograms_that_do_not_fit_are_refused():
    X, y, _ = data.blobs(40, 2, 8)
    with pytest.raises(MemoryError, match=r"histograms of 10{12} bins needs .*lower n_bins"):
        EigenfunctionClassifier(n_bins=10**12).fit(X, y)
