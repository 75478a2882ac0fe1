"""Centres of k-means: those of Lloyd's algorithm from rows that are far from each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits

import lapwing
from helpers.device import DEVICE, torch_or_skip
from lapwing.spaces import kmeans
from lapwing.spaces.kmeans import _first_rows, _means, _Points, kmeans_landmarks

each_start = pytest.mark.parametrize("greedy", [True, False], indirect=True)


@pytest.fixture
def greedy(request, monkeypatch):
    """Whether the first rows are drawn one by one; otherwise they are drawn in rounds."""
    monkeypatch.setattr(kmeans, "_GREEDY_WORK", np.inf if request.param else 0)


def rng(seed=0):
    return np.random.default_rng(seed)


def rows(n=600, d=4):
    X = rng().normal(size=(n, d))
    return np.where(X < 0.3, 0.0, X)


def inertia(X, V, weights=None):
    squares = ((X[:, None] - V[None]) ** 2).sum(axis=2).min(axis=1)
    return float(squares.sum() if weights is None else weights @ squares)


@each_start
def test_landmarks_are_centres_and_seeded(greedy):
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    X = centres[np.arange(90) % 3] + 0.1 * rng().normal(size=(90, 2))
    found = kmeans_landmarks(X, 3, rng())
    distances = np.linalg.norm(found[:, None] - centres[None], axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]
    assert distances.min(axis=1).max() < 0.2
    np.testing.assert_array_equal(found, kmeans_landmarks(X, 3, rng()))
    assert kmeans_landmarks(sp.csr_matrix(X), 3, rng()).shape == (3, 2)


@each_start
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 6])
def test_the_steps_are_those_of_scikit_learn(greedy, kind, weighted, steps, monkeypatch):
    monkeypatch.setattr(kmeans, "_MOST_STEPS", steps)
    monkeypatch.setattr(kmeans, "_LEAST_GAIN", -np.inf)
    X, m = kind(rows()), 20
    w = rng(1).uniform(0.1, 5.0, X.shape[0]) if weighted else None
    level = 0.0 if sp.issparse(X) else X.mean(axis=0)
    points = _Points.of(X if sp.issparse(X) else X - level, w)
    start = points.rows(_first_rows(points, m, rng())) + level
    expected = KMeans(m, init=start, n_init=1, max_iter=steps, tol=0.0).fit(X, sample_weight=w)
    found = kmeans_landmarks(X, m, rng(), w)
    np.testing.assert_allclose(found, expected.cluster_centers_, rtol=1e-9, atol=1e-12)


@each_start
@pytest.mark.parametrize("m", [20, 100])
def test_the_inertia_is_about_that_of_other_implementations(greedy, m):
    X = load_digits().data
    found = np.mean([inertia(X, kmeans_landmarks(X, m, rng(seed))) for seed in range(3)])
    for other in (KMeans(m, n_init=1, max_iter=10), MiniBatchKMeans(m, n_init=1)):
        fits = [other.set_params(random_state=seed).fit(X).cluster_centers_ for seed in range(3)]
        assert found < 1.05 * np.mean([inertia(X, V) for V in fits])


@each_start
def test_the_first_rows_are_far_from_each_other(greedy):
    """Of 8000 rows, 16 are in clusters of their own, which random rows would miss."""
    X = 0.1 * rng().normal(size=(8000, 3))
    X[::500] += 100.0 * rng(1).normal(size=(16, 3))
    for seed in range(5):
        points = _Points.of(X, None)
        drawn = _first_rows(points, 32, rng(seed))
        assert len(np.unique(drawn)) == len(drawn) == 32
        assert set(range(0, 8000, 500)) <= set(drawn.tolist())
        assert inertia(X, kmeans_landmarks(X, 32, rng(seed))) < 8000 * 3 * 0.1**2


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_centres_without_rows_become_the_rows_that_are_farthest_from_theirs(kind):
    X, w = kind(np.array([[0.0], [1.0], [2.0], [9.0], [5.0]])), np.array([1.0, 1.0, 1.0, 0.1, 1.0])
    points = _Points.of(X, w)
    nearest, distances = points.nearest(np.array([[0.0], [1.0], [1.0], [1.0]]))
    assert nearest.tolist() == [0, 1, 1, 1, 1]
    np.testing.assert_allclose(distances, [0.0, 0.0, 1.0, 64.0, 16.0], atol=1e-12)
    found = _means(points, nearest, distances, 4)
    expected = [[0.0], [(1.0 + 2.0 + 0.9 + 5.0) / 3.1], [5.0], [9.0]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@each_start
@pytest.mark.parametrize("m", [5, 60])
def test_duplicate_rows_leave_no_centre_undefined(greedy, m):
    X = np.repeat(rng().normal(size=(m + 1, 2)), 30, axis=0)
    X[:180] = X[0] + 1e-9 * np.arange(180)[:, None]  # distinct, but equal up to rounding
    found = kmeans_landmarks(X, m, rng())
    assert found.shape == (m, 2)
    assert np.isfinite(found).all()
    weights = np.where(np.arange(len(X)) < 180, 1.0, 1e-12)
    assert np.isfinite(kmeans_landmarks(X[:180], m, rng(), weights[:180])).all()
    assert np.isfinite(kmeans_landmarks(X, m, rng(), weights)).all()


@each_start
@pytest.mark.parametrize(("offset", "factor"), [(1e6, 1.0), (0.0, 1e40), (0.0, 1e-40)])
def test_centres_follow_the_rows(greedy, offset, factor):
    X, m = rows(), 15
    expected = factor * kmeans_landmarks(X, m, rng()) + offset
    found = kmeans_landmarks(factor * X + offset, m, rng())
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * factor)


@each_start
def test_the_precision_is_that_of_the_rows(greedy):
    X = rows().astype(np.float32) + np.float32(1000)
    found, expected = kmeans_landmarks(X, 9, rng()), kmeans_landmarks(X.astype(float), 9, rng())
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_sample_of_many_rows_and_every_weighted_row_is_used(kind, monkeypatch):
    assert (kmeans.kmeans_rows(3), kmeans.kmeans_rows(1000)) == (20_000, 100_000)
    monkeypatch.setattr(kmeans, "_LEAST_ROWS", 60)
    monkeypatch.setattr(kmeans, "_ROWS_PER_CENTRE", 20)
    seen, plain = [], _Points.of

    def spy(X, weights):
        seen.append(np.asarray(X[:, 0].todense() if sp.issparse(X) else X[:, 0]).ravel())
        return plain(X, weights)

    monkeypatch.setattr(_Points, "of", spy)
    X = np.column_stack([np.arange(1.0, 101.0), np.ones(100)])
    for m, n in ((2, 60), (4, 80), (5, 100), (6, 100)):
        kmeans_landmarks(kind(X), m, rng())
        assert len(np.unique(seen[-1])) == len(seen[-1]) == n
    first = seen[0]
    kmeans_landmarks(kind(X), 2, rng(1))
    assert set(seen[-1] - seen[-1][0]) != set(first - first[0])
    kmeans_landmarks(kind(X), 2, rng(), weights=np.ones(100))
    assert len(seen[-1]) == 100


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("m", [4, 5, 9])
def test_landmarks_are_the_distinct_rows_where_these_are_few(kind, m):
    distinct = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [2.0, 1.0]])
    X = kind(distinct[[0, 1, 0, 2, 1, 3, 3, 2, 0]])
    found = kmeans_landmarks(X, m, rng())
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, distinct)
    assert kmeans_landmarks(X, 3, rng()).shape == (3, 2)  # one fewer, and they are centres


@each_start
@pytest.mark.parametrize("kind", [np.asarray, np.float32, sp.csr_matrix])
def test_centres_repeat_and_are_those_of_a_device(greedy, kind, monkeypatch):
    torch_or_skip()
    X = kind(rows(3000))
    for threads in ("1", "3"):
        monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
        host = kmeans_landmarks(X, 30, rng())
        np.testing.assert_array_equal(host, kmeans_landmarks(X, 30, rng()))
        with lapwing.use_device(DEVICE):
            device = kmeans_landmarks(X, 30, rng())
            np.testing.assert_array_equal(device, kmeans_landmarks(X, 30, rng()))
        np.testing.assert_allclose(device, host, rtol=1e-6, atol=1e-9)
