"""Similarities and graphs of a few points, against dense matrices of all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lapwing.arrays.blocks import RowBlocks
from lapwing.kernels.functions import make_kernel
from lapwing.spaces import prototypes
from lapwing.spaces.prototypes import (
    LowRankGraph,
    Similarities,
    localised,
    penalty_root,
    smoothness_at_points,
    tile_rows,
)

GAMMA = 0.4
KERNELS = {
    "rbf": lambda A, B: np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(axis=2)),
    "linear": lambda A, B: A @ B.T,
    "poly": lambda A, B: (GAMMA * (A @ B.T) + 1.0) ** 2,
    "cosine": lambda A, B: (
        (A / np.linalg.norm(A, axis=1)[:, None]) @ (B / np.linalg.norm(B, axis=1)[:, None]).T
    ),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)
every_choice = pytest.mark.parametrize("normalize", [False, True])


def rows(n=300, d=3, seed=0):
    """Positive rows, so that all kernels are."""
    return np.abs(np.random.default_rng(seed).normal(size=(n, d))) + 0.1


def points(X, k, seed=1):
    return X[:k] + 0.05 * np.random.default_rng(seed).normal(size=(k, X.shape[1]))


def make(name, X):
    return make_kernel(name, X, gamma=GAMMA, degree=2, coef0=1.0)


def dense_smoothness(k, X, U, V, normalize):
    """HᵀSH and HᵀH with n × n matrices; the degrees are not negative."""
    E, H = k(X, U), k(X, V)
    if normalize:
        H = H / H.sum(axis=1, keepdims=True)
    K = E @ np.linalg.pinv(k(U, U), rcond=1e-10, hermitian=True) @ E.T
    S = np.diag(np.maximum(K.sum(axis=1), 0.0)) - K
    return H.T @ S @ H, H.T @ H


def build(kernel, X, U, V, normalize, with_gram=True, blocks=None):
    all_rows = RowBlocks.of(X) if blocks is None else blocks
    graph = LowRankGraph.build(all_rows, Similarities(kernel, U))
    plus, minus, gram = smoothness_at_points(
        all_rows, graph, Similarities(kernel, V, normalize), with_gram=with_gram
    )
    return plus - minus, gram


# ---------------------------------------------------------------- similarities


@every_kernel
@every_choice
def test_similarities_are_kernel_values(name, normalize):
    X = rows()
    V = points(X, 7)
    H = Similarities(make(name, X), V, normalize)(X)
    expected = KERNELS[name](X, V)
    np.testing.assert_allclose(Similarities(make(name, X), V, normalize).raw(X), expected)
    if normalize:
        expected = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(H, expected, atol=1e-14)


@given(distance=st.floats(0.0, 1e8), angle=st.floats(0.0, 6.28))
def test_rows_of_normalised_similarities_sum_to_one_anywhere(distance, angle):
    X = rows(d=2)
    V = points(X, 6)
    far = np.array([[np.cos(angle), np.sin(angle)]]) * distance
    H = Similarities(make("rbf", X), V, True)(far)
    assert (H >= 0).all()
    np.testing.assert_allclose(H.sum(), 1.0, rtol=1e-12)


def test_far_rows_get_the_limit_of_the_nearest_points():
    V = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    H = Similarities(make("rbf", V), V, True)
    # In front of the two right points, 1 apart: exp(0) and exp(-γ) of the nearer and the other.
    for distance in (20.0, 60.0, 1e3):
        w = np.array([1.0, np.exp(-GAMMA)]) / (1.0 + np.exp(-GAMMA))
        expected = np.zeros(4)
        expected[[1, 3]] = w
        np.testing.assert_allclose(H(np.array([[distance, 0.0]]))[0], expected, atol=1e-6)
    # On the diagonal one point is the nearest.
    np.testing.assert_allclose(H(np.array([[1e4, 1e4]]))[0], [0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(H(np.array([[-1e7, -1e7]]))[0], [1, 0, 0, 0], atol=1e-12)


def test_far_rows_keep_the_digits_of_the_points():
    # ‖x‖² is the same for all points and must not hide their differences.
    V = np.array([[0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]])
    H = Similarities(make("rbf", V), V, True)
    for distance in (1e9, 1e20, 1e100):
        np.testing.assert_allclose(H(np.array([[distance, 0.0]]))[0], [0.5, 0.5, 0], atol=1e-6)
        np.testing.assert_allclose(H(np.array([[0.0, distance]]))[0], [0, 1, 0], atol=1e-6)


def test_limit_joins_the_similarities_where_they_vanish():
    V = np.array([[0.0], [0.3]])
    H = Similarities(make("rbf", V), V, True)
    x = np.linspace(38.0, 46.0, 200)[:, None]  # exp(-γx²) underflows on the way
    raw = Similarities(make("rbf", V), V).raw(x).sum(axis=1)
    assert raw[0] > 1e-290 > raw[-1]
    odds = GAMMA * (x[:, 0] ** 2 - (x[:, 0] - 0.3) ** 2)
    np.testing.assert_allclose(H(x)[:, 1], 1.0 / (1.0 + np.exp(-odds)), atol=1e-12)


def test_only_far_rows_get_the_limit():
    X = rows()
    V = points(X, 5)
    H = Similarities(make("rbf", X), V, True)
    mixed = np.vstack([X[:3], X[3:5] + 1e4, X[5:8]])
    np.testing.assert_allclose(H(mixed)[[0, 1, 2, 5, 6, 7]], H(X[[0, 1, 2, 5, 6, 7]]))
    np.testing.assert_allclose(H(sp.csr_matrix(mixed)), H(mixed), atol=1e-12)


@pytest.mark.parametrize("name", ["linear", "poly", "cosine"])
def test_sums_that_are_not_positive_are_refused(name):
    X = rows()
    kernel = make_kernel(name, X, gamma=GAMMA, degree=3, coef0=0.0)
    H = Similarities(kernel, points(X, 5), True)
    with pytest.raises(ValueError, match=r"sum to zero or less.*normalize_rows=False"):
        H(-X)
    with pytest.raises(ValueError, match=r"sum to zero or less.*normalize_rows=False"):
        H(np.zeros((1, 3)))


@every_kernel
def test_an_offset_is_added_to_the_sums(name):
    X = rows()
    V, coef = points(X, 5), np.arange(10.0).reshape(5, 2)
    H = Similarities(make(name, X), V, True, offset=0.5)
    E = KERNELS[name](X, V)
    expected = E / (E.sum(axis=1, keepdims=True) + 0.5)
    np.testing.assert_allclose(H(X), expected, atol=1e-14)
    np.testing.assert_allclose(H.values(X, coef), expected @ coef, atol=1e-12)


def test_far_rows_vanish_with_an_offset():
    X = rows()
    for offset in (1e-3, 1e-300):
        H = Similarities(make("rbf", X), points(X, 5), True, offset=offset)
        np.testing.assert_array_equal(H(X + 1e4), 0.0)


@pytest.mark.parametrize("name", ["linear", "poly", "cosine"])
def test_sums_below_the_offset_are_refused(name):
    X = rows()
    kernel = make_kernel(name, X, gamma=GAMMA, degree=3, coef0=0.0)
    H = Similarities(kernel, points(X, 5), True, offset=1e-3)
    assert (H(np.zeros((1, 3))) == 0.0).all()
    with pytest.raises(ValueError, match=r"sum to zero or less.*use kernel='rbf'"):
        H(-X)


@pytest.mark.parametrize("name", ["linear", "poly", "cosine"])
@pytest.mark.parametrize("with_gram", [False, True])
@pytest.mark.parametrize("same", [False, True])
def test_sums_that_are_not_positive_are_refused_in_the_graph(name, with_gram, same):
    X = rows()
    kernel = make_kernel(name, X, gamma=GAMMA, degree=3, coef0=0.0)
    V = points(X, 5)
    U = V if same else points(X, 6, seed=3)
    X[200:] *= -1.0
    with pytest.raises(ValueError, match=r"sum to zero or less.*normalize_rows=False"):
        build(kernel, X, U, V, True, with_gram)


# ---------------------------------------------------------------- graph


def test_graph_is_that_of_the_dense_matrix():
    X = rows()
    U = points(X, 12)
    k = KERNELS["rbf"]
    E, W = k(X, U), k(U, U)
    K = E @ np.linalg.solve(W, E.T)
    graph = LowRankGraph.build(RowBlocks.of(X), Similarities(make("rbf", X), U))
    np.testing.assert_allclose(graph.root @ graph.root.T, np.linalg.inv(W), rtol=1e-7)
    np.testing.assert_allclose(E @ graph.load, K.sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(graph.degrees(E), K.sum(axis=1), rtol=1e-8)
    assert graph.total == pytest.approx(K.sum(), rel=1e-10)


def test_all_rows_as_points_give_the_exact_graph():
    X = rows(n=40)
    k = KERNELS["rbf"]
    graph = LowRankGraph.build(RowBlocks.of(X), Similarities(make("rbf", X), X))
    np.testing.assert_allclose(graph.degrees(k(X, X)), k(X, X).sum(axis=1), rtol=1e-6)


def negative_case():
    """A row beside two points that the low rank makes to have a negative degree."""
    U = np.array([[0.0], [1.0]])
    X = np.vstack([np.linspace(-0.6, -0.4, 50)[:, None], [[2.2], [2.5]]])
    return X, U


def test_negative_degrees_are_zero():
    X, U = negative_case()
    k = KERNELS["rbf"]
    raw = k(X, U) @ np.linalg.solve(k(U, U), k(U, X)).sum(axis=1)
    assert raw[:50].min() > 0 > raw[50:].max()  # or this is no test
    kernel = make("rbf", X)
    graph = LowRankGraph.build(RowBlocks.of(X), Similarities(kernel, U))
    degrees = graph.degrees(k(X, U))
    np.testing.assert_allclose(degrees[:50], raw[:50])
    np.testing.assert_array_equal(degrees[50:], 0.0)
    for normalize in (False, True):
        smooth, _ = build(kernel, X, U, U, normalize)
        expected, _ = dense_smoothness(k, X, U, U, normalize)
        np.testing.assert_allclose(smooth, expected, atol=1e-9)


# ---------------------------------------------------------------- smoothness


@every_kernel
@every_choice
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("with_gram", [False, True])
def test_smoothness_is_that_of_dense_matrices(name, normalize, same, with_gram):
    X = rows()
    V = points(X, 9)
    U = V if same else points(X, 14, seed=5)
    smooth, gram = build(make(name, X), X, U, V, normalize, with_gram)
    expected, expected_gram = dense_smoothness(KERNELS[name], X, U, V, normalize)
    scale = np.abs(expected).max()
    assert scale > 1e-3
    np.testing.assert_allclose(smooth, expected, atol=1e-8 * scale)
    if with_gram:
        np.testing.assert_allclose(gram, expected_gram, rtol=1e-10)
    else:
        assert not np.any(gram)


def test_constants_are_free_with_normalised_rows():
    X = rows()
    V = points(X, 9)
    for U in (V, points(X, 14, seed=5)):
        smooth, _ = build(make("rbf", X), X, U, V, True)
        assert np.abs(smooth.sum(axis=1)).max() < 1e-9 * np.abs(smooth).max()
        np.testing.assert_allclose(smooth, smooth.T, atol=1e-9 * np.abs(smooth).max())


@given(seed=st.integers(0, 10**6), normalize=st.booleans(), k=st.integers(1, 25))
def test_smoothness_of_the_exact_graph_is_never_negative(seed, normalize, k):
    # All rows are points of the graph: K̃ = K, with similarities that are not negative.
    X = np.random.default_rng(seed).normal(size=(25, 2))
    smooth, _ = build(make_kernel("rbf", X, gamma=3.0, degree=1, coef0=0), X, X, X[:k], normalize)
    values = np.linalg.eigvalsh((smooth + smooth.T) / 2)
    assert values[0] > -1e-6 * max(values[-1], 1e-3)


@every_choice
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("with_gram", [False, True])
def test_rows_out_of_reach_say_nothing_and_break_nothing(normalize, same, with_gram):
    X = rows()
    V = points(X, 9)
    U = V if same else points(X, 14, seed=5)
    far = np.vstack([X, X[:70] + 1e4, X[:1] + 1e100])
    kernel = make("rbf", X)
    near, near_gram = build(kernel, X, U, V, normalize, with_gram)
    smooth, gram = build(kernel, far, U, V, normalize, with_gram)
    np.testing.assert_allclose(smooth, near, atol=1e-9 * np.abs(near).max())
    if with_gram:
        H = Similarities(kernel, V, normalize)(far[300:])
        np.testing.assert_allclose(gram, near_gram + H.T @ H, atol=1e-9)
        assert np.isfinite(gram).all()


def test_rows_at_the_edge_of_underflow():
    V = np.array([[0.0], [1.0], [2.0]])
    X = np.concatenate([np.linspace(-1, 3, 40), np.linspace(35, 50, 40)])[:, None]
    for with_gram in (False, True):
        smooth, gram = build(make("rbf", V), X, V, V, True, with_gram)
        expected, _ = build(make("rbf", V), X[:40], V, V, True, with_gram)
        assert np.isfinite(smooth).all()
        assert np.isfinite(gram).all()
        np.testing.assert_allclose(smooth, expected, atol=1e-9 * np.abs(expected).max())


# ---------------------------------------------------------------- the same in other forms


@every_choice
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("tile", [1, 3, 64, 299, 1000])
def test_tiles_do_not_matter(normalize, same, tile, monkeypatch):
    X = rows()
    V = points(X, 9)
    U = V if same else points(X, 14, seed=5)
    smooth, gram = build(make("rbf", X), X, U, V, normalize)
    monkeypatch.setattr(prototypes, "tile_rows", lambda n_points: tile)
    again, gram_again = build(make("rbf", X), X, U, V, normalize)
    np.testing.assert_allclose(again, smooth, atol=1e-10 * np.abs(smooth).max())
    np.testing.assert_allclose(gram_again, gram, rtol=1e-10)


def test_tiles_are_as_many_rows_as_the_points_allow(monkeypatch):
    assert tile_rows(1) == tile_rows(0)
    assert tile_rows(100) > tile_rows(1000) > tile_rows(10**9) > 0
    monkeypatch.setattr(prototypes, "_TILE_ENTRIES", 500_000)
    assert tile_rows(500) == 1000
    assert tile_rows(10**9) == 64


@every_choice
def test_blocks_and_threads_do_not_matter(normalize, monkeypatch):
    X = rows()
    V = points(X, 9)
    smooth, _ = build(make("rbf", X), X, V, V, normalize)
    for threads, ends in (("1", [5, 5, 120]), ("3", [299]), ("7", [1, 2, 3, 250])):
        monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
        blocks = RowBlocks(lambda ends=ends: np.split(X, ends), len(X))
        again, _ = build(make("rbf", X), X, V, V, normalize, blocks=blocks)
        np.testing.assert_allclose(again, smooth, atol=1e-10 * np.abs(smooth).max())


@every_choice
@every_kernel
@pytest.mark.parametrize("form", [np.float32, np.uint8, np.int64, bool, "csr", "csr uint8"])
def test_forms_of_rows_do_not_matter(name, normalize, form):
    X = np.random.default_rng(0).integers(0, 4, size=(300, 4)).astype(float)
    X[:, 0] = 1.0
    if form is bool:
        X = np.minimum(X, 1.0)
    if form == "csr":
        other = sp.csr_matrix(X)
    elif form == "csr uint8":
        other = sp.csr_matrix(X.astype(np.uint8))
    else:
        other = X.astype(form)
    V = points(X, 9)
    smooth, gram = build(make(name, X), X, V, V, normalize)
    again, gram_again = build(make(name, other.astype(float)), other, V, V, normalize)
    assert again.dtype == np.float64
    np.testing.assert_allclose(again, smooth, atol=1e-9 * np.abs(smooth).max())
    np.testing.assert_allclose(gram_again, gram, rtol=1e-9)


# ---------------------------------------------------------------- width


def naive_width(X, V):
    squares = ((X[:, None] - V[None]) ** 2).sum(axis=2)
    squares[squares < 1e-14] = np.inf
    return 6.0 / np.median(np.sort(squares, axis=1)[:, 1])


def test_localised_width_is_that_of_loops(monkeypatch):
    X = rows()
    for V in (points(X, 20), X[:20], X):
        kernel = localised(make("rbf", X), X, V)
        assert kernel.gamma == pytest.approx(naive_width(X, V), rel=1e-9)
        np.testing.assert_array_equal(kernel.center, make("rbf", X).center)
        sparse = sp.csr_matrix(X)
        assert localised(make("rbf", sparse), sparse, V).gamma == pytest.approx(kernel.gamma)
        monkeypatch.setattr(prototypes, "tile_rows", lambda n_points: 7)
        assert localised(make("rbf", X), X, V).gamma == pytest.approx(kernel.gamma, rel=1e-12)
        monkeypatch.undo()


@pytest.mark.parametrize("far", [1e4, 1e7, 1e9])
def test_one_point_far_away_does_not_hide_the_distances_of_others(far):
    X = np.vstack([rows(), np.full((1, 3), far)])
    V = np.vstack([points(X, 20), X[-1:]])
    # The far row is its own nearest point, and its nearest other is as far as it is.
    near = naive_width(X[:-1], V[:-1])
    found = localised(make("rbf", X), X[:-1], V).gamma
    assert found == pytest.approx(near, rel=1e-2)


def test_localised_width_of_rows_that_are_all_one_point():
    X = np.ones((5, 2))
    assert localised(make("rbf", X), X, X[:1]).gamma == 1.0


def test_localised_width_counts_duplicates_of_points_but_not_themselves():
    X = np.array([[0.0], [0.0], [5.0], [1.0]])
    # Second nearest others: 9, 9, 4 and 2 away.
    V = np.array([[0.0], [3.0], [9.0]])
    assert localised(make("rbf", X), X, V).gamma == pytest.approx(6.0 / ((16.0 + 81.0) / 2.0))
    # One point is the second as well: 3, 3, 2 and 2 away.
    one = localised(make("rbf", X), X, V[1:2])
    assert one.gamma == pytest.approx(6.0 / ((4.0 + 9.0) / 2.0))


@pytest.mark.parametrize("name", ["linear", "poly", "cosine"])
def test_other_kernels_have_no_width(name):
    X = rows()
    kernel = make(name, X)
    assert localised(kernel, X, X[:5]) is kernel


def test_penalties_within_the_rounding_of_their_parts_are_raised():
    """Points far apart: A = plus − minus is the penalty of single values, and plus is uneven."""
    similarities = Similarities(make("rbf", rows()), 100.0 * np.eye(3))
    plus = np.diag([1e8, 4.0, 1.0])
    for left in (0.0, -1e-3, 1e-5):
        B = penalty_root(plus, plus - left * np.eye(3), similarities)
        np.testing.assert_allclose(B.T @ B, 1e2 * np.eye(3), atol=1e-6)  # 1 / (1e-10 · 1e8)
    B = penalty_root(plus, 0.0 * plus, similarities)
    np.testing.assert_allclose(B.T @ plus @ B, np.eye(3), atol=1e-12)
