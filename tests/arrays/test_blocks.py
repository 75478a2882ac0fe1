"""Rows in blocks: sums, maps and single rows equal those of one array, however they are divided."""

import threading
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lapwing.arrays.blocks import RowBlocks, canonical_rows, plain_rows

N, D = 23, 3
X = np.random.default_rng(0).normal(size=(N, D))


@pytest.fixture(params=["1", "2", "5"])
def threads(request, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", request.param)
    return int(request.param)


def memory_map(folder):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


def cut(rows, ends):
    """Blocks that end at these row numbers."""
    ends = [0, *sorted(ends), rows.shape[0]]
    return [rows[first:last] for first, last in pairwise(ends)]


def dense(part):
    return part.toarray() if sp.issparse(part) else np.asarray(part)


def start():
    return [np.zeros((D, D)), np.zeros(1)]


def add(sums, part):
    part = dense(part)
    sums[0] += part.T @ part
    sums[1] += len(part)


def assert_all_rows(rows, tile):
    gram, count = rows.sum("sums", start, add, tile)
    np.testing.assert_allclose(gram, X.T @ X, rtol=1e-13, atol=1e-13)
    assert count == N
    doubled = rows.map("values", lambda part: 2.0 * dense(part), tile)
    np.testing.assert_array_equal(doubled, 2.0 * X)
    for index in ([0], [N - 1], [3, 4, 11, 22], list(range(N)), []):
        taken = rows.take(np.array(index, dtype=int))
        np.testing.assert_array_equal(dense(taken), X[index])


# ---------------------------------------------------------------- one array


@pytest.mark.parametrize("tile", [1, 4, 23, 100])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csr_array])
def test_array_or_csr(form, tile, threads):
    assert_all_rows(RowBlocks.of(form(X)), tile)


def test_memory_map(tmp_path, threads):
    mapped = memory_map(tmp_path)
    assert_all_rows(RowBlocks.of(mapped), 5)
    assert not mapped.flags.writeable


def test_tiles_are_parts_of_the_array_and_no_copies(threads):
    def check(sums, part):
        assert np.shares_memory(part, X)
        assert len(part) <= 4

    RowBlocks.of(X).sum("sums", start, check, 4)


def test_sparse_tiles_stay_sparse():
    seen = []
    RowBlocks.of(sp.csr_matrix(X)).sum("sums", start, lambda sums, part: seen.append(part), 6)
    assert all(sp.issparse(part) for part in seen)
    assert sum(part.shape[0] for part in seen) == N


# ---------------------------------------------------------------- several blocks


@given(ends=st.lists(st.integers(0, N), max_size=6), tile=st.integers(1, 30))
def test_any_cut_and_any_tile(ends, tile):
    for rows in (X, sp.csr_matrix(X)):
        blocks = cut(rows, ends)
        assert_all_rows(RowBlocks(lambda blocks=blocks: blocks, N), tile)


def test_empty_blocks_before_between_and_behind(threads):
    nothing = X[:0]
    blocks = [nothing, X[:9], nothing, nothing, X[9:], nothing, nothing]
    assert_all_rows(RowBlocks(lambda: blocks, N), 4)


def test_every_pass_reads_the_blocks_once():
    passes = []

    def read():
        passes.append(1)
        yield from cut(X, [7, 15])

    rows = RowBlocks(read, N)
    rows.sum("sums", start, add, 4)
    rows.map("values", dense, 4)
    rows.take(np.array([1, 20]))
    assert len(passes) == 3


def test_blocks_are_read_one_after_the_other(monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "1")
    ready, seen = [], []

    def read():
        for block in cut(X, [7, 15]):
            ready.append(len(block))
            yield block

    RowBlocks(read, N).sum("sums", start, lambda sums, part: seen.append(len(ready)), 100)
    assert ready == [7, 8, 8]
    assert seen == [1, 2, 3]  # none is read before the one in front of it is summed


# ---------------------------------------------------------------- threads


def test_sums_are_the_same_each_time(threads):
    many = np.random.default_rng(1).normal(size=(5000, D)).astype(np.float32)
    rows = RowBlocks.of(many)
    first = rows.sum("sums", start, add, 64)[0]
    for _ in range(5):
        np.testing.assert_array_equal(rows.sum("sums", start, add, 64)[0], first)


def test_no_more_sums_than_threads(threads):
    made = []

    def counted():
        made.append(threading.get_ident())
        return start()

    RowBlocks.of(X).sum("sums", counted, add, 1)
    assert len(made) <= threads + 1  # one for each thread, and the total


@pytest.mark.parametrize("method", ["sum", "map"])
def test_progress_ends_at_all_rows(method, threads):
    reports = []
    blocks = [X[:0], *cut(X, [7, 15]), X[:0]]
    rows = RowBlocks(lambda: blocks, N, lambda *what: reports.append(what))
    if method == "sum":
        rows.sum("title", start, add, 4)
    else:
        rows.map("title", dense, 4)
    assert {(title, total) for title, _, total in reports} == {("title", N)}
    done = [done for _, done, _ in reports]
    assert done == sorted(done)
    assert done[0] <= 4
    assert done[-1] == N
    # A second pass starts at zero again.
    rows.map("title", dense, 4)
    assert reports[len(done)][1] <= 4


@pytest.mark.parametrize("method", ["sum", "map"])
def test_errors_are_raised_again(method, threads):
    def fail(*arguments):
        if (dense(arguments[-1]) == X[13]).all(axis=1).any():
            raise ZeroDivisionError("thirteen")
        return np.zeros((arguments[-1].shape[0], 1))

    rows = RowBlocks.of(X)
    with pytest.raises(ZeroDivisionError, match="thirteen"):
        rows.sum("sums", start, fail, 3) if method == "sum" else rows.map("map", fail, 3)


def test_errors_of_the_blocks_are_raised_again():
    def read():
        yield X[:10]
        raise OSError("the disk is gone")

    for call in (lambda r: r.sum("", start, add, 3), lambda r: r.take(np.array([0]))):
        with pytest.raises(OSError, match="the disk is gone"):
            call(RowBlocks(read, N))


# ---------------------------------------------------------------- blocks that are converted


def test_blocks_are_converted_where_they_are_used():
    blocks = [{"rows": X[:8]}, {"rows": X[8:]}]
    rows = RowBlocks(lambda: blocks, N, convert=lambda block: block["rows"])
    assert_all_rows(rows, 5)
    seen = rows.each("reading", lambda number, block: (number, block["rows"].shape))
    assert seen == [(0, (8, D)), (1, (N - 8, D))]


def test_minima_instead_of_sums(threads):
    def add(lowest, part):
        np.minimum(lowest[0], part.min(axis=0), out=lowest[0])

    def merge(lowest, other):
        np.minimum(lowest[0], other[0], out=lowest[0])

    rows = RowBlocks(lambda: cut(X, [7, 15]), N)
    [lowest] = rows.sum("minima", lambda: [np.full(D, np.inf)], add, 4, merge)
    np.testing.assert_array_equal(lowest, X.min(axis=0))


@pytest.mark.parametrize("tile", [None, 4, 100])
def test_known_values_replace_those_of_the_function(tile):
    rows, numbers = RowBlocks(lambda: [X[:0], *cut(X, [7, 15])], N), []
    given = np.array([0, 8, 22]), np.array([1.0, 2.0, 3.0])

    def of_block(number, A):
        numbers.append(number)
        return A[:, 0]

    function = of_block if tile is None else lambda A: A[:, 0]
    found = rows.map("values", function, tile, like=np.zeros(0), given=given)
    assert numbers == ([1, 2, 3] if tile is None else [])
    expected = X[:, 0].copy()
    expected[given[0]] = given[1]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("later", [[], [X[:9]], [X[:8]], [X[:8], X[8:], X[:1]], [X[8:], X[:8]]])
@pytest.mark.parametrize("method", ["sum", "map", "take"])
def test_blocks_that_change_between_readings_are_refused(later, method):
    rows = RowBlocks(lambda: later, N, sizes=(8, N - 8))
    calls = {
        "sum": lambda: rows.sum("sums", start, add, 4),
        "map": lambda: rows.map("values", dense, 4),
        "take": lambda: rows.take(np.arange(N)),
    }
    with pytest.raises(ValueError, match=r"block [012] was not the same when it was read again"):
        calls[method]()


@pytest.mark.parametrize("kind", ["float64", "float32", "object", "Float64"])
def test_tables_become_numbers(kind):
    frame = pytest.importorskip("pandas").DataFrame(X.astype(np.float32)).astype(kind)
    found = plain_rows(frame)
    assert found.dtype == (np.float32 if kind == "float32" else np.float64)
    np.testing.assert_array_equal(found, X.astype(np.float32))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_long_indices_become_short_where_these_suffice(form):
    X = form(np.arange(1.0, 401.0).reshape(20, 20))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    found = canonical_rows(X)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert X.indices.dtype == X.indptr.dtype == np.int64  # the user's matrix
    np.testing.assert_array_equal(found.toarray(), X.toarray())
