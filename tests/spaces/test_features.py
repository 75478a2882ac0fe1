"""Explicit features: their inner products are those of the kernel, as far as they can be."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import data
from lapwing.kernels.functions import make_kernel
from lapwing.spaces.features import landmark_features, principal_features, submatrix_features


def rows(n=40, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 0] *= np.random.default_rng(seed + 1).random(n) < 0.5
    return X


gaussian = partial(data.gaussian, gamma=0.5)


def rbf(X, gamma=0.5):
    return make_kernel("rbf", X, gamma=gamma, degree=3, coef0=0.0)


def rng():
    return np.random.default_rng(0)


def test_landmark_features_have_the_inner_products_of_the_subset_of_regressors():
    X = rows()
    Z = X[[3, 8, 20, 31]] + 0.1
    features = landmark_features(rbf(X), X, Z)
    expected = gaussian(X, Z) @ np.linalg.solve(gaussian(Z, Z), gaussian(Z, X))
    np.testing.assert_allclose(features.values @ features.values.T, expected, atol=1e-10)
    # Weights of the features are coefficients of the landmarks, with the same values and norm.
    w = np.random.default_rng(1).normal(size=features.back.shape[1])
    beta = features.back @ w
    np.testing.assert_allclose(gaussian(X, Z) @ beta, features.values @ w, atol=1e-10)
    assert beta @ gaussian(Z, Z) @ beta == pytest.approx(w @ w, rel=1e-10)


def test_all_rows_as_landmarks_are_the_kernel_itself():
    X = rows()
    features = landmark_features(rbf(X), X, X)
    np.testing.assert_allclose(features.values @ features.values.T, gaussian(X, X), atol=1e-9)


def test_more_rows_than_one_block_keep_their_order():
    X = rows(n=2100)
    features = landmark_features(rbf(X), X, X[:5])
    np.testing.assert_allclose(features.values, gaussian(X, X[:5]) @ features.back, atol=1e-12)


def test_gram_matrix_gives_the_features_of_the_rows():
    X, index = rows(), np.array([2, 7, 30])
    found = submatrix_features(gaussian(X, X), index)
    expected = landmark_features(rbf(X), X, X[index])
    np.testing.assert_allclose(found.values, expected.values, atol=1e-10)
    np.testing.assert_allclose(found.back, expected.back, atol=1e-10)


def test_sparse_rows_give_the_features_of_dense_ones():
    X = rows()
    dense = landmark_features(rbf(X), X, X[:6])
    S = sp.csr_matrix(X)
    sparse = landmark_features(rbf(S), S, S[:6])
    np.testing.assert_allclose(sparse.values, dense.values, atol=1e-9)


def test_repeated_landmarks_add_nothing_and_stay_finite():
    X = rows()
    once = landmark_features(rbf(X), X, X[:5])
    twice = landmark_features(rbf(X), X, np.vstack([X[:5], X[:5]]))
    assert twice.values.shape == (40, 5)
    np.testing.assert_allclose(
        twice.values @ twice.values.T, once.values @ once.values.T, atol=1e-9
    )


@pytest.mark.parametrize("r", [1, 3, 10, 40])  # the first three are below a tenth of the rows
def test_principal_features_are_the_best_of_their_rank(r):
    X = rows(n=40 if r == 40 else 120)
    K = gaussian(X, X)
    features = principal_features(K, r, rng())
    U, s, _ = np.linalg.svd(K)
    kept = features.values.shape[1]
    assert kept == r
    best = (U[:, :r] * s[:r]) @ U[:, :r].T
    np.testing.assert_allclose(features.values @ features.values.T, best, atol=1e-8)
    np.testing.assert_allclose(K @ features.back, features.values, atol=1e-7)
    np.testing.assert_allclose(features.back.T @ K @ features.back, np.eye(r), atol=1e-7)


def test_principal_features_of_low_rank_drop_the_rounding():
    X = rows()
    features = principal_features(X @ X.T, 10, rng())
    assert features.values.shape == (40, 3)
    np.testing.assert_allclose(features.values @ features.values.T, X @ X.T, atol=1e-10)
