"""Explicit features: their inner products are those of the kernel, as far as they can be."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans

from helpers import data
from lapwing.kernels.functions import make_kernel
from lapwing.spaces import kmeans
from lapwing.spaces.features import landmark_features, principal_features, submatrix_features
from lapwing.spaces.kmeans import kmeans_landmarks


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


def test_kmeans_landmarks_are_centres_and_seeded():
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    X = centres[np.arange(90) % 3] + 0.1 * np.random.default_rng(0).normal(size=(90, 2))
    found = kmeans_landmarks(X, 3, rng())
    distances = np.linalg.norm(found[:, None] - centres[None], axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]
    assert distances.min(axis=1).max() < 0.2
    np.testing.assert_array_equal(found, kmeans_landmarks(X, 3, rng()))
    assert kmeans_landmarks(sp.csr_matrix(X), 3, rng()).shape == (3, 2)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_kmeans_sees_a_sample_of_many_rows_and_every_weighted_row(kind, monkeypatch):
    assert (kmeans.kmeans_rows(3), kmeans.kmeans_rows(1000)) == (20_000, 100_000)
    monkeypatch.setattr(kmeans, "_LEAST_ROWS", 60)
    monkeypatch.setattr(kmeans, "_ROWS_PER_CENTRE", 20)
    seen = []

    class Spy(MiniBatchKMeans):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(np.asarray(X[:, 0].todense() if sp.issparse(X) else X[:, 0]).ravel())
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(kmeans, "MiniBatchKMeans", Spy)
    X = np.column_stack([np.arange(1.0, 101.0), np.ones(100)])
    for m, n in ((2, 60), (4, 80), (5, 100), (6, 100)):
        kmeans_landmarks(kind(X), m, rng())
        assert len(np.unique(seen[-1])) == len(seen[-1]) == n
    kmeans_landmarks(kind(X), 2, np.random.default_rng(1))
    assert set(seen[-1]) != set(seen[0])
    kmeans_landmarks(kind(X), 2, rng(), weights=np.ones(100))
    np.testing.assert_array_equal(seen[-1], X[:, 0])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("m", [4, 5, 9])
def test_kmeans_landmarks_are_the_distinct_rows_where_these_are_few(kind, m):
    distinct = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [2.0, 1.0]])
    X = kind(distinct[[0, 1, 0, 2, 1, 3, 3, 2, 0]])
    found = kmeans_landmarks(X, m, rng())
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, distinct)
    assert kmeans_landmarks(X, 3, rng()).shape == (3, 2)  # one fewer, and they are centres


@pytest.mark.parametrize(("m", "batch"), [(5, 1024), (300, 1200)])
def test_kmeans_is_that_of_scikit_learn(m, batch):
    X = np.random.default_rng(0).normal(size=(1500, 2))
    seed = int(rng().integers(2**31))
    means = MiniBatchKMeans(m, n_init=1, batch_size=batch, random_state=seed)
    np.testing.assert_array_equal(kmeans_landmarks(X, m, rng()), means.fit(X).cluster_centers_)
