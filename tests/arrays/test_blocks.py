"""Rows in blocks: sums, maps and single rows equal those of one array, however they are divided."""

import tempfile
import threading
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lapwing.arrays.blocks import RowBlocks, canonical_rows, open_stream

N, D = 23, 3
X = np.random.default_rng(0).normal(size=(N, D))


@pytest.fixture(params=["1", "2", "5"])
def threads(request, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", request.param)
    return int(request.param)


@pytest.fixture
def spool(tmp_path, monkeypatch):
    """The folder in which temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


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


# ---------------------------------------------------------------- streams


def pairs(rows=X):
    labels = np.arange(N)
    return [(rows[:8], labels[:8]), (rows[8:8], None), (rows[8:], labels[8:])]


def unchecked(number, pair):
    return pair


def assert_blocks(found, expected):
    found = list(found)
    assert len(found) == len(expected)
    for one, (other, _) in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(dense(one), dense(other))


def test_lists_and_functions_are_read_as_they_are(spool):
    blocks = pairs()
    for given_blocks in (blocks, tuple(blocks), lambda: iter(blocks)):
        with open_stream(given_blocks, unchecked) as stream:
            for _ in range(3):
                assert all(x is pair[0] for x, pair in zip(stream.read(), blocks, strict=True))
            assert [list(folder.iterdir()) for folder in spool.iterdir()] == [[]]
            assert stream.n_rows == N
            assert all(y is pair[1] for y, pair in zip(stream.labels, blocks, strict=True))


@pytest.mark.parametrize(
    "form",
    [np.asarray, np.float32, lambda A: (10 * A).astype(np.uint8), sp.csr_matrix, sp.csr_array],
    ids=["float64", "float32", "uint8", "csr_matrix", "csr_array"],
)
def test_a_generator_is_stored_in_a_temporary_folder(form, spool):
    blocks = pairs(form(np.abs(X)))
    with open_stream((block for block in blocks), unchecked) as stream:
        assert len(list(spool.iterdir())) == 1
        for _ in range(3):
            assert_blocks(stream.read(), blocks)
    assert list(spool.iterdir()) == []


def test_rows_of_a_generator_are_on_disk_and_not_in_memory(spool):
    with open_stream(iter(pairs()), unchecked) as stream:
        for rows in stream.read():
            assert isinstance(rows, np.memmap) or rows.shape[0] == 0


def test_the_checked_block_is_stored(spool):
    numbers = []

    def check(number, pair):
        numbers.append(number)
        return 2.0 * pair[0], number

    with open_stream(iter(pairs()), check) as stream:
        assert_blocks(stream.read(), [(2.0 * rows, None) for rows, _ in pairs()])
    assert stream.labels == numbers == [0, 1, 2]


def test_the_folder_is_removed_after_an_error(spool):
    def breaking():
        yield pairs()[0]
        raise OSError("the line is cut")

    with pytest.raises(OSError, match="the line is cut"), open_stream(breaking(), unchecked):
        pass
    assert list(spool.iterdir()) == []
    with pytest.raises(KeyError), open_stream(iter(pairs()), unchecked):
        raise KeyError
    assert list(spool.iterdir()) == []


def test_tables_are_read_again_as_numbers():
    frame = pytest.importorskip("pandas").DataFrame(X).astype(object)
    with open_stream([(frame, None), (X.tolist(), None)], lambda i, pair: (X, None)) as stream:
        for rows in stream.read():
            assert rows.dtype == np.float64
            np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("later", [[], [(X[:9], None)], [(X[:8], None)], [(X[:8, :1], None)]])
def test_blocks_that_change_between_readings_are_refused(later):
    first = [(X[:8], None), (X[8:], None)]
    readings = iter([first, later])
    with (
        open_stream(lambda: next(readings), unchecked) as stream,
        pytest.raises(ValueError, match=r"block [01] was not the same"),
    ):
        list(stream.read())


@pytest.mark.parametrize("blocks", [3, None, 1.5])
def test_objects_that_are_no_stream_are_refused(blocks):
    with (
        pytest.raises(TypeError, match=rf"list of pairs .*, got {type(blocks).__name__}$"),
        open_stream(blocks, unchecked),
    ):
        pass


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_long_indices_become_short_where_these_suffice(form):
    X = form(np.arange(1.0, 401.0).reshape(20, 20))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    found = canonical_rows(X)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert X.indices.dtype == X.indptr.dtype == np.int64  # the user's matrix
    np.testing.assert_array_equal(found.toarray(), X.toarray())
