"""The neighbour search finds what a naive float64 search finds, on hard data too."""

import logging
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import lapwing.graphs.neighbors as neighbors_module
from helpers import data, graph_oracle
from lapwing.graphs import exact_search, indicator_search, projected_search, tiles
from lapwing.graphs.candidates import tile_candidates, tree_candidates
from lapwing.graphs.exact_search import exact_neighbors, exact_rows
from lapwing.graphs.indicator_search import are_indicators
from lapwing.graphs.neighbors import nearest_known, nearest_neighbors
from lapwing.graphs.points import Points
from lapwing.graphs.projected_search import choose_projection


def normal(n, d, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def assert_same(found, expected, rtol=1e-9, atol=0.0):
    np.testing.assert_allclose(found[0], expected[0], rtol=rtol, atol=atol)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 20, 100])  # tree and tiles
@pytest.mark.parametrize("k", [1, 7, 199])
def test_equals_naive_search(d, k, dtype):
    X = normal(200, d, dtype=dtype)
    distances, index = nearest_neighbors(X, k)
    assert distances.dtype == np.float64
    assert_same((distances, index), graph_oracle.neighbors(X, k))


@pytest.mark.parametrize("block_size", [1, 7, 64, 100, 1000])
def test_block_size_does_not_matter(block_size):
    X = normal(150, 12)
    squared, index = exact_neighbors(Points(X), 5, block_size=block_size)
    assert_same((np.sqrt(squared), index), graph_oracle.neighbors(X, 5))


@pytest.mark.parametrize("d", [2, 30])
def test_integer_data_with_many_ties_follow_the_index(d):
    X = np.random.default_rng(0).integers(0, 2, size=(120, d)).astype(float)
    assert_same(nearest_neighbors(X, 6), graph_oracle.neighbors(X, 6))


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("d", [2, 20])
def test_duplicates_are_neighbours_at_distance_zero(d, as_sparse):
    X = np.repeat(normal(4, d), 30, axis=0)[np.random.default_rng(1).permutation(120)]
    found = nearest_neighbors(sp.csr_array(X) if as_sparse else X, 5)
    assert_same(found, graph_oracle.neighbors(X, 5))
    assert not found[0].any()


def test_signed_zeros_are_equal_rows():
    X = np.zeros((40, 12))
    X[::2] = -0.0
    assert_same(nearest_neighbors(X, 3), graph_oracle.neighbors(X, 3))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: 1e6 + normal(300, 20), id="large offset"),
        pytest.param(lambda: 1e6 * (np.arange(300) % 2)[:, None] + normal(300, 20), id="two far"),
        pytest.param(lambda: np.r_[normal(299, 20), np.full((1, 20), 1e12)], id="outlier"),
        pytest.param(lambda: 1e-30 * normal(300, 20), id="tiny"),
        pytest.param(lambda: 1e30 * normal(300, 20), id="huge"),
        pytest.param(lambda: normal(300, 20) * np.logspace(-12, 12, 300)[:, None], id="all scales"),
        pytest.param(lambda: 1 + 1e-9 * normal(300, 20), id="below float32"),
        pytest.param(
            lambda: np.repeat(normal(10, 20), 30, axis=0) + 1e-10 * normal(300, 20, seed=1),
            id="tight clusters",
        ),
    ],
)
def test_hard_for_float32(make):
    X = make()
    squared, index = exact_neighbors(Points(X), 5, block_size=64)
    assert_same((np.sqrt(squared), index), graph_oracle.neighbors(X, 5))


@pytest.mark.parametrize("n", range(7, 16))
def test_few_rows_that_float32_cannot_tell_apart(n):
    """All others, or all but one or two, are candidates."""
    X = 1 + 1e-9 * normal(n, 20)
    squared, index = exact_neighbors(Points(sp.csr_array(X)), 5)  # these are not centred
    assert_same((np.sqrt(squared), index), graph_oracle.neighbors(X, 5))


@pytest.mark.parametrize("d", [2, 20])  # tree and tiles
def test_more_rows_than_a_block_of_ranks(d):
    X = normal(2500, d)
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    expected = np.argsort(distances, axis=1)[:, :3]
    found = nearest_neighbors(X, 3)
    assert_same(found, (np.take_along_axis(distances, expected, axis=1), expected))


def test_error_bound_covers_the_rounding_of_tiles():
    X = 50 + normal(200, 40) * np.logspace(-3, 2, 200)[:, None]
    dense = tiles.DenseTiles(Points(X), np.arange(200), 200)
    tile = dense.tile(
        dense.left(slice(0, 200)), slice(0, 200), slice(0, 200), np.empty((200, 200), np.float32)
    )
    true = (graph_oracle.pair_distances(X) * dense.frame.scale) ** 2
    bound = tiles.distance_error(dense.n_terms, dense.roundoff, dense.reach[:, None], np.sqrt(true))
    error = np.abs(2 * tile.astype(float) - true)
    assert (error <= bound).all()
    assert error.max() > 0  # the bound has something to cover


def test_error_bound_does_not_depend_on_the_unit():
    reach, distance = np.array([0.01, 1.0, 30.0]), np.array([0.001, 2.0, 5.0])
    bound = tiles.distance_error(40, 2.0**-24, reach, distance)
    larger = tiles.distance_error(40, 2.0**-24, 8 * reach, 8 * distance)
    np.testing.assert_allclose(larger, 64 * bound, rtol=1e-12)


def test_rows_that_float32_cannot_settle_are_searched_again(caplog):
    X = np.repeat(normal(10, 20), 30, axis=0) + 1e-10 * normal(300, 20, seed=1)
    with caplog.at_level(logging.DEBUG, logger="lapwing"):
        exact_neighbors(Points(X), 5)
        exact_neighbors(Points(normal(300, 20)), 5)
    messages = [r.getMessage() for r in caplog.records]
    assert "300 of 300 rows" in messages[0]
    assert " 0 of 300 rows" in messages[1]


@pytest.mark.parametrize("as_sparse", [False, True])
def test_second_stage_alone_is_exact(as_sparse):
    X = data.sparse_rows(150, 30, 0.3)
    rows = np.array([3, 4, 149])
    squared, index = exact_rows(Points(X if as_sparse else X.toarray()), rows, 6)
    expected = graph_oracle.neighbors(X.toarray(), 6)
    assert_same((np.sqrt(squared), index), (expected[0][rows], expected[1][rows]))


@pytest.mark.parametrize("density", [0.02, 0.6])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_equals_dense(metric, density, dtype):
    X = data.sparse_rows(150, 60, density).astype(dtype)
    chosen, _ = tiles.choose_tiles(Points(X), np.arange(150), 64)
    assert isinstance(chosen, tiles.SparseTiles if density < 0.1 else tiles.DenseTiles)
    found = nearest_neighbors(X, 6, metric)
    dense = nearest_neighbors(X.toarray(), 6, metric)
    np.testing.assert_allclose(found[0], dense[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        found[0], graph_oracle.neighbors(X.toarray(), 6, metric)[0], rtol=1e-9, atol=1e-12
    )
    if density > 0.1:  # no ties
        np.testing.assert_array_equal(found[1], dense[1])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_rows_of_unequal_length_that_share_columns(metric):
    rng = np.random.default_rng(0)
    n, d = 200, 1500
    lengths = rng.integers(2, 60, size=n)
    columns = [rng.choice(d, size=length, replace=False) for length in lengths]
    X = sp.csr_array(
        (rng.lognormal(size=lengths.sum()), np.concatenate(columns), np.r_[0, lengths.cumsum()]),
        (n, d),
    )
    chosen, _ = tiles.choose_tiles(Points(X), np.arange(n), 64)
    assert isinstance(chosen, tiles.SparseTiles)
    expected = graph_oracle.neighbors(X.toarray(), 6, metric)
    assert_same(nearest_neighbors(X, 6, metric), expected, rtol=1e-9)
    if metric == "cosine":
        return
    rows, others = slice(3, 90), slice(50, 150)
    half = graph_oracle.pair_distances(X.toarray())[rows, others] ** 2 / 2
    tile = chosen.tile(chosen.left(rows), rows, others, np.empty(0))
    np.testing.assert_allclose(tile, half, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(chosen.reach, np.linalg.norm(X.toarray(), axis=1), rtol=1e-12)


def test_sparse_input_is_neither_changed_nor_trusted_to_be_canonical():
    X = sp.csr_array(
        (np.array([1.0, 2.0, 0.0, 5.0]), np.array([1, 0, 1, 0]), np.array([0, 2, 3, 4])), (3, 2)
    )
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    found = nearest_neighbors(X, 2)
    assert_same(found, graph_oracle.neighbors(X.toarray(), 2))
    for array, old in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("n_zero", [0, 1, 3, 19, 20])
def test_cosine_with_rows_of_zeros(n_zero, as_sparse):
    X = normal(20, 12)
    X[np.random.default_rng(2).permutation(20)[:n_zero]] = 0
    k = 8
    distances, index = nearest_neighbors(sp.csr_array(X) if as_sparse else X, k, "cosine")
    expected = graph_oracle.neighbors(X, k, "cosine")
    np.testing.assert_allclose(distances, expected[0], atol=1e-12)
    np.testing.assert_array_equal(index, expected[1])


def test_cosine_ignores_row_lengths():
    X = normal(60, 15)
    scaled = X * np.random.default_rng(1).uniform(1e-3, 1e3, size=(60, 1))
    assert_same(nearest_neighbors(scaled, 5, "cosine"), nearest_neighbors(X, 5, "cosine"))


@pytest.mark.parametrize(("k", "dtype"), [(5, np.float32), (5, np.float64), (79, np.float64)])
def test_precomputed_equals_euclidean(k, dtype):
    X = normal(80, 15).astype(dtype).astype(np.float64)
    found = nearest_neighbors((X @ X.T).astype(dtype), k, "precomputed")
    assert_same(found, nearest_neighbors(X, k), rtol=1e-4 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("d", [2, 100])  # tree and tiles
def test_candidates_are_near_their_squared_distances(d):
    points = Points(normal(50, d))
    found = (tree_candidates if d == 2 else tile_candidates)(points, 10)
    X = tiles.Frame(points).rows(slice(None))
    exact = cdist(X, X, "sqeuclidean")
    expected = np.take_along_axis(exact, found.index.astype(int), axis=1)
    np.testing.assert_allclose(found.squared, expected, rtol=1e-3)


@given(st.integers(2, 40), st.integers(1, 12), st.integers(0, 10**6), st.data())
def test_any_small_integer_data(n, d, seed, data):
    k = data.draw(st.integers(1, n - 1))
    X = np.random.default_rng(seed).integers(-2, 3, size=(n, d)).astype(float)
    assert_same(nearest_neighbors(X, k), graph_oracle.neighbors(X, k))
    assert_same(nearest_neighbors(sp.csr_array(X), k), graph_oracle.neighbors(X, k))


def test_approximate_search_agrees_and_repeats(caplog):
    pytest.importorskip("usearch", reason="usearch is the approx extra")
    X = normal(2000, 10, dtype=np.float32)
    with caplog.at_level(logging.DEBUG, logger="lapwing"):
        distances, index = nearest_neighbors(X, 10, backend="approximate")
    assert "recall" in caplog.text
    exact = nearest_neighbors(X, 10, backend="exact")
    same = [len(np.intersect1d(a, b)) for a, b in zip(index, exact[1], strict=True)]
    assert np.mean(same) > 9.7
    assert (index != np.arange(2000)[:, None]).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    np.testing.assert_array_equal(nearest_neighbors(X, 10, backend="approximate")[1], index)


def test_approximate_search_completes_rows_with_too_few_results():
    pytest.importorskip("usearch", reason="usearch is the approx extra")
    X = np.repeat(normal(3, 10), 8, axis=0)
    distances, index = nearest_neighbors(X, 10, backend="approximate")
    np.testing.assert_allclose(distances, graph_oracle.neighbors(X, 10)[0], rtol=1e-9)
    assert all(len(set(row)) == 10 for row in index.tolist())


def test_auto_without_usearch_is_exact_and_says_what_helps(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    monkeypatch.setattr(neighbors_module, "APPROXIMATE_ROWS", 50)
    X = normal(60, 10)
    with caplog.at_level(logging.INFO, logger="lapwing"):
        assert_same(nearest_neighbors(X, 3), graph_oracle.neighbors(X, 3))
    assert 'pip install "lapwing[approx]"' in caplog.text
    with pytest.raises(ImportError, match=r'pip install "lapwing\[approx\]"'):
        nearest_neighbors(X, 3, backend="approximate")


def test_auto_above_the_limit_is_approximate(monkeypatch):
    pytest.importorskip("usearch", reason="usearch is the approx extra")
    monkeypatch.setattr(neighbors_module, "APPROXIMATE_ROWS", 50)
    X = normal(60, 10)
    assert neighbors_module.resolve_backend(X, "euclidean", "auto") == "approximate"
    assert neighbors_module.resolve_backend(X[:50], "euclidean", "auto") == "exact"
    assert neighbors_module.resolve_backend(sp.csr_array(X), "euclidean", "auto") == "exact"
    assert neighbors_module.resolve_backend(X, "precomputed", "auto") == "exact"


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "precomputed"])
@pytest.mark.parametrize("power", [-1040, -700, 700, 1000])
def test_neighbours_do_not_depend_on_the_unit_of_rows(metric, power):
    X = np.random.default_rng(0).integers(-9, 9, (30, 4)).astype(float)
    X = X @ X.T if metric == "precomputed" else X
    distances, index = nearest_neighbors(X, 5, metric)
    scaled, same = nearest_neighbors(np.ldexp(X, power), 5, metric)
    np.testing.assert_array_equal(same, index)
    power = {"euclidean": power, "cosine": 0, "precomputed": power // 2}[metric]
    np.testing.assert_allclose(scaled, np.ldexp(distances, power), rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.full((3, 2), np.nan)}, "NaN"),
        ({"X": np.full((3, 2), np.inf)}, "infinity"),
        ({"X": np.ones((3, 2), dtype=complex)}, "[Cc]omplex"),
        ({"X": np.ones((3, 2)), "k": 3}, r"less than the number of rows \(3\)"),
        ({"X": np.ones((3, 2)), "k": 0}, "at least 1"),
        ({"X": np.ones((3, 2)), "metric": "manhattan"}, "metric must be one of"),
        ({"X": np.ones((3, 2)), "backend": "fast"}, "backend must be one of"),
        ({"X": np.ones((3, 2)), "metric": "precomputed"}, "square Gram matrix"),
        ({"X": -np.eye(3), "metric": "precomputed"}, "negative diagonal"),
        ({"X": np.tri(3), "metric": "precomputed"}, r"\(K \+ K.T\) / 2"),
        ({"X": sp.eye_array(3).tocsr(), "backend": "approximate"}, "TruncatedSVD"),
    ],
)
def test_bad_input_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        nearest_neighbors(**({"k": 1} | arguments))


def low_rank(n, d, rank, noise, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + noise * normal(n, d, seed + 1)


def projected(X, k, monkeypatch, **constants):
    """Neighbours through the projection that is found for any number of rows."""
    for name, value in {"WORTHWHILE": np.inf, **constants}.items():
        monkeypatch.setattr(projected_search, name, value)
    points = Points(X)
    projection = projected_search.best_projection(points, k)
    squared, index = projected_search.projected_neighbors(points, projection, k)
    return np.sqrt(squared), index


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: low_rank(300, 80, 5, 0.1), id="low rank"),
        pytest.param(lambda: normal(300, 80), id="no structure"),
        pytest.param(lambda: low_rank(300, 80, 5, 0.1).astype(np.float32), id="float32"),
        pytest.param(lambda: 1e6 + low_rank(300, 80, 5, 0.1), id="large offset"),
        pytest.param(lambda: 1e30 * low_rank(300, 80, 5, 0.1), id="huge"),
        pytest.param(lambda: np.r_[low_rank(299, 80, 5, 0.1), np.full((1, 80), 1e9)], id="outlier"),
        pytest.param(lambda: 1 + 1e-9 * low_rank(300, 80, 5, 0.1), id="below float32"),
        pytest.param(lambda: np.repeat(low_rank(10, 80, 5, 0.1), 30, axis=0), id="duplicates"),
        pytest.param(lambda: np.zeros((300, 80)), id="zeros"),
    ],
)
@pytest.mark.parametrize("most_kept", [16, 96, 299])
def test_neighbours_through_a_projection_are_exact(make, most_kept, monkeypatch):
    X = make()
    found = projected(X, 10, monkeypatch, MOST_KEPT=most_kept)
    assert_same(found, graph_oracle.neighbors(X, 10), atol=1e-300)


@pytest.mark.parametrize("pair_cost", [1e-9, 1e9])
def test_rows_that_a_projection_does_not_settle_are_searched_again(pair_cost, monkeypatch, caplog):
    """By pairs if they are cheap, and otherwise in all columns."""
    X = normal(400, 80)
    with caplog.at_level(logging.DEBUG, logger="lapwing.graphs"):
        found = projected(X, 5, monkeypatch, PAIR_COST=pair_cost, MOST_KEPT=11)
    assert "400 of 400 rows searched again" in caplog.text
    assert_same(found, graph_oracle.neighbors(X, 5))


@given(st.integers(20, 60), st.integers(1, 9), st.integers(0, 10**6))
def test_a_projection_of_any_small_integer_data(n, k, seed):
    X = np.random.default_rng(seed).integers(-2, 3, size=(n, 70)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        assert_same(projected(X, k, patch), graph_oracle.neighbors(X, k))


def test_coordinates_are_never_farther_apart_than_rows(monkeypatch):
    monkeypatch.setattr(projected_search, "WORTHWHILE", np.inf)
    X = 100 + low_rank(200, 80, 5, 0.01)
    projection = projected_search.best_projection(Points(X), 5)
    distances = graph_oracle.pair_distances(X)
    between = cdist(projection.Z, projection.Z)
    for i in range(len(X)):
        assert (between[i] <= projection.ceiling(distances[i], np.full(len(X), i))).all()
    # The bound is of use: for these rows, the first coordinates contain nearly everything.
    assert np.median(between[distances > 0] / distances[distances > 0]) > 0.9 * projection.scale


def test_projections_are_for_many_dense_rows_of_many_columns(monkeypatch):
    monkeypatch.setattr(projected_search, "LEAST_ROWS", 2000)
    useful = low_rank(2000, 200, 3, 1e-3)
    assert choose_projection(Points(useful), 5) is not None
    assert choose_projection(Points(useful[:1999]), 5) is None
    assert choose_projection(Points(sp.csr_array(useful)), 5) is None
    assert choose_projection(Points(useful[:, :64]), 5) is None
    assert choose_projection(Points(normal(2000, 200)), 5) is None
    squared, index = exact_neighbors(Points(useful), 5, block_size=512)  # without a projection
    assert_same(nearest_neighbors(useful, 5), (np.sqrt(squared), index))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("value", [1.0, 1 / np.sqrt(7), 1e-200])
def test_indicators_with_many_ties_follow_the_index(metric, value):
    """Rows of seven categories: at most seven different distances."""
    codes = np.random.default_rng(0).integers(0, 4, size=(400, 7))
    X = (codes[:, :, None] == np.arange(4)).reshape(400, 28).astype(float)
    found = nearest_neighbors(sp.csr_array(value * X), 10, metric=metric)
    expected = graph_oracle.neighbors(X, 10)  # whole numbers, whose sums are exact
    np.testing.assert_array_equal(found[1], expected[1])
    expected = value * expected[0] if metric == "euclidean" else expected[0] ** 2 / 14
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)


@given(st.integers(3, 60), st.integers(1, 30), st.floats(0.02, 0.9), st.integers(0, 10**6))
def test_any_indicators(n, d, density, seed):
    """Rows with different numbers of ones, empty rows and duplicates."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < density).astype(float)
    k = int(rng.integers(1, n))
    points = Points(sp.csr_array(X))
    block_size = int(rng.integers(1, 80))
    squared, index = exact_neighbors(points, k, block_size=block_size)
    assert_same((np.sqrt(squared), index), graph_oracle.neighbors(X, k))
    assert are_indicators(points) == bool(X.any())


@pytest.mark.parametrize(("ones", "packed"), [(7, 4), (200, 3), (5000, 1), (30_000, 3)])
@pytest.mark.parametrize("stored", [True, False])
def test_tiles_of_indicators_are_exact(ones, packed, stored, monkeypatch):
    """Half the squared distances, and a fraction that orders equal ones, in either precision."""
    monkeypatch.setattr(indicator_search, "STORED_BYTES", 10**9 if stored else 0)
    rng = np.random.default_rng(0)
    n = 300 if ones > 10_000 else 50
    X = (rng.random((n, ones)) < 0.3).astype(np.float32)
    X[3] = 1.0
    order = rng.permutation(n)
    found = indicator_search.IndicatorTiles(Points(sp.csr_array(X)), order, 20)
    assert found.packed == packed
    assert found.dtype == (np.float64 if ones > 10_000 else np.float32)
    rows, columns = slice(5, 28), slice(9, 40)
    tile = np.empty((23, 31), dtype=found.dtype)
    found.tile(found.left(rows), rows, columns, tile)
    i, j = order[rows, None], order[None, columns]
    half = np.sum(X[i] != X[j], axis=2) / 2
    step = 1 / 1024 if n == 300 else 1 / 128  # n steps are at most one half
    np.testing.assert_array_equal(tile, half + step * (i + j))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@given(st.integers(2, 60), st.integers(1, 30), st.floats(0.02, 0.9), st.integers(0, 10**6))
def test_known_neighbours_of_new_rows(form, n, d, density, seed):
    """Indicators and other values, of few columns and of many, among them duplicates and ties."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < density) * rng.integers(1, rng.integers(2, 5), (n, d))
    n_known = int(rng.integers(1, n))
    k = int(rng.integers(1, n_known + 1))
    X = X.astype(float)
    found = nearest_known(form(X[:n_known]), form(X[n_known:]), k)
    distances = cdist(X[n_known:], X[:n_known])
    index = np.argsort(distances, axis=1, kind="stable")[:, :k]
    assert_same(found, (np.take_along_axis(distances, index, axis=1), index), rtol=1e-12)


@pytest.mark.parametrize("d", [2, 40])  # of which few are searched by trees
def test_known_neighbours_of_dense_rows(d):
    X = np.random.default_rng(0).normal(size=(90, d))
    squared, index = exact_neighbors(Points(X, n_known=60), 4)
    distances = cdist(X[60:], X[:60])
    expected = np.argsort(distances, axis=1)[:, :4]
    assert np.array_equal(index, expected)
    np.testing.assert_allclose(squared, np.take_along_axis(distances, expected, axis=1) ** 2)


@pytest.mark.parametrize("highest", [2, 5])  # indicators, and values that are searched again
@pytest.mark.parametrize("d", [20, 2000])
def test_known_neighbours_in_several_blocks(highest, d):
    rng = np.random.default_rng(0)
    X = (rng.random((3500, d)) < 10 / d) * rng.integers(1, highest, (3500, d))
    X[1:50], X[2200:2300] = X[0], X[0]  # more duplicates than candidates
    known, new = X[:2200].astype(float), X[2200:].astype(float)
    found = nearest_known(sp.csr_matrix(known), sp.csr_matrix(new), 8)
    squares = (new**2).sum(axis=1)[:, None] + (known**2).sum(axis=1) - 2.0 * new @ known.T
    distances = np.sqrt(squares)  # of whole numbers, so that nothing was rounded before
    index = np.argsort(distances, axis=1, kind="stable")[:, :8]
    assert_same(found, (np.take_along_axis(distances, index, axis=1), index), rtol=1e-12)


def test_candidates_of_new_rows_have_the_reach_of_these():
    X = data.sparse_rows(60, 30, 0.3)
    found = tile_candidates(Points(X, n_known=40), 5)
    norms = found.scale * np.linalg.norm(X.toarray(), axis=1)
    np.testing.assert_allclose(found.reach, norms[40:], rtol=1e-6)
    assert found.squared.shape == found.index.shape == (20, 5)


def test_other_values_are_no_indicators():
    X = sp.csr_array(np.eye(5))
    assert are_indicators(Points(X))
    assert not are_indicators(Points(X.toarray()))
    assert not are_indicators(Points(sp.csr_array(np.diag([1.0, 1.0, 2.0, 1.0, 1.0]))))
    assert not are_indicators(Points(sp.csr_array((5, 5))))


def test_a_huge_new_row_does_not_slow_the_others(monkeypatch):
    X = sp.random(600, 30, 0.3, format="lil", random_state=0)
    X[405, 3] = 1e30
    known, new = X[:400].tocsr(), X[400:].tocsr()
    others = np.delete(np.arange(200), 5)
    expected = nearest_known(known, new[others], 7)
    searched = []

    def watched(points, rows, k):
        searched.extend(rows)
        return exact_rows(points, rows, k)

    monkeypatch.setattr(exact_search, "exact_rows", watched)
    distances, index = nearest_known(known, new, 7)
    assert len(searched) <= 1
    assert np.array_equal(index[others], expected[1])
    assert np.array_equal(distances[others], expected[0])
    assert np.allclose(distances[5], 1e30)
