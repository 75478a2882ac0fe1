"""Sums over rows in blocks: features, values, losses with random factors; and a given centre."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import kstest

from lapwing.arrays.blocks import RowBlocks
from lapwing.kernels.functions import make_kernel
from lapwing.spaces.affine import AffineSpace
from lapwing.spaces.feature_blocks import FeatureBlocks, KernelRows, RowFactors, tile_size
from lapwing.spaces.kernel_space import LinearSpace


def rows(form="dense", n=50, d=4):
    X = np.random.default_rng(0).normal(size=(n, d))
    return X if form == "dense" else sp.csr_matrix(np.where(X > 0, X, 0.0))


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def blocks_of(X, kernel="linear"):
    made = make_kernel(kernel, X, gamma=1.0, degree=3, coef0=0.0)
    parts = RowBlocks(lambda: [X[:0], X[:17], X[17:]], X.shape[0])
    return FeatureBlocks(parts, KernelRows(made), X.shape[1], 4.0)


def square(values):
    return values**2, 2.0 * values


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize("k", [1, 3])
def test_sums_are_those_of_all_rows(form, kernel, k):
    X = rows(form)
    blocks, Z = blocks_of(X, kernel), dense(X)
    if kernel == "cosine":
        Z = Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-300)
    total, squares = blocks.sum_features()
    np.testing.assert_allclose(total, Z.sum(axis=0), atol=1e-12)
    assert squares == pytest.approx((Z**2).sum())
    coef, intercept = np.arange(4.0 * k).reshape(4, k), np.arange(float(k)) - 0.5
    values = Z @ coef + intercept
    signs = blocks.sum_values(coef, intercept, lambda f: (f > 0).sum(axis=0), k)
    np.testing.assert_array_equal(signs, (values > 0).sum(axis=0))
    value, products, totals = blocks.sum_losses(coef, intercept, square)
    np.testing.assert_allclose(value, (values**2).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(products, Z.T @ (2 * values), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(totals, 2 * values.sum(axis=0), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(dense(blocks.take(np.array([0, 20]))), Z[[0, 20]])
    assert blocks.passes == 4


def test_factors_weight_the_rows_of_some_columns():
    X = rows()
    factors = RowFactors.draw(4, 2, 2.0, np.random.default_rng(1))
    weights = factors(X)[:, [0, 1, 1]]
    weights[:, 1] = 1.0
    coef, intercept = np.random.default_rng(2).normal(size=(4, 3)), np.zeros(3)
    value, products, totals = blocks_of(X).sum_losses(
        coef, intercept, square, factors, np.array([0, -1, 1])
    )
    values = X @ coef
    np.testing.assert_allclose(value, (weights * values**2).sum(axis=0), rtol=1e-8)
    np.testing.assert_allclose(products, X.T @ (weights * 2 * values), rtol=1e-8)
    np.testing.assert_allclose(totals, (weights * 2 * values).sum(axis=0), rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_factors_have_the_exponential_distribution_whatever_the_scale(scale):
    X = scale * np.random.default_rng(0).normal(size=(4000, 3))
    factors = RowFactors.draw(3, 2, np.sqrt(3.0) * scale, np.random.default_rng(1))(X)
    for j in range(2):
        assert kstest(factors[:, j], "expon").pvalue > 0.01
    assert abs(np.corrcoef(factors.T)[0, 1]) < 0.06
    assert kstest(factors[:, 0], "norm").pvalue < 1e-6  # the test can tell


def test_tiles_are_smaller_for_more_columns():
    assert tile_size(100.0, 1) > tile_size(100.0, 100) > tile_size(1e9, 1) == 16


@pytest.mark.parametrize("level", [None, np.array([0.3, -0.2])])
@pytest.mark.parametrize("free", [True, False])
def test_a_given_centre_is_that_of_the_balance(level, free):
    X, rng = rows(), np.random.default_rng(3)
    balance = rng.random(50) / 25.0
    balance /= balance.sum()
    full = AffineSpace(LinearSpace(X), balance, level, fit_intercept=free)
    some = np.arange(7, 20)
    part = AffineSpace(LinearSpace(X[some]), None, level, fit_intercept=free, center=balance @ X)
    vectors, gradient = rng.normal(size=(full.n_coordinates, 2)), rng.normal(size=(13, 2))
    np.testing.assert_allclose(part.values(vectors), full.values(vectors)[some], atol=1e-12)
    of_all = np.zeros((50, 2))
    of_all[some] = gradient
    expected = full.gradient(of_all)
    np.testing.assert_allclose(part.gradient(gradient), expected, atol=1e-12)
    sums = part.gradient_of_sums(X[some].T @ gradient, gradient.sum(axis=0))
    np.testing.assert_allclose(sums, expected, atol=1e-12)
    for one, other in zip(
        part.coef_and_intercept(vectors, np.arange(2)),
        full.coef_and_intercept(vectors, np.arange(2)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
