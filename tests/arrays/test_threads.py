"""Threads over blocks: order, errors, limits."""

import threading

import numpy  # noqa: F401  brings a BLAS library to limit
import pytest
from threadpoolctl import threadpool_info

from lapwing.arrays.threads import map_blocks, n_threads, row_blocks


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "4")


@pytest.mark.parametrize("width", ["", "1", "2", "5"])
def test_order_is_kept(width, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", width)
    assert map_blocks(lambda i: i * i, range(50)) == [i * i for i in range(50)]
    assert map_blocks(str, []) == []


def test_one_item_or_one_thread_runs_in_the_caller(monkeypatch):
    here = threading.get_ident()
    assert map_blocks(lambda _: threading.get_ident(), [0]) == [here]
    monkeypatch.setenv("LAPWING_NUM_THREADS", "1")
    assert set(map_blocks(lambda _: threading.get_ident(), [0, 1, 2])) == {here}


def test_items_run_at_the_same_time():
    barrier = threading.Barrier(3, timeout=20)
    map_blocks(lambda _: barrier.wait(), range(3))


def test_calls_inside_a_worker_stay_in_that_worker():
    def outer(_):
        return set(map_blocks(lambda _: threading.get_ident(), range(4))) == {threading.get_ident()}

    assert all(map_blocks(outer, range(4)))


def test_blas_is_single_threaded_inside_and_restored_after():
    before = blas_threads()
    inside = map_blocks(lambda _: blas_threads(), range(2))
    assert all(set(counts) == {1} for counts in inside)
    assert blas_threads() == before


@pytest.mark.parametrize("first_to_end", [(0, 1), (1, 0)])
def test_overlapping_pools_restore_the_original_limit(first_to_end):
    before = blas_threads()
    runs = threading.Event(), threading.Event()
    may_end = threading.Event(), threading.Event()

    def pool(number):
        def hold(_):
            runs[number].set()
            assert may_end[number].wait(20)

        map_blocks(hold, range(2))

    threads = [threading.Thread(target=pool, args=(number,)) for number in (0, 1)]
    for number in (0, 1):
        threads[number].start()
        assert runs[number].wait(20)
    for number in first_to_end:
        may_end[number].set()
        threads[number].join()
    assert blas_threads() == before


def test_errors_reach_the_caller_and_limits_are_restored():
    before = blas_threads()

    def fail(i):
        raise KeyError(i)

    with pytest.raises(KeyError):
        map_blocks(fail, range(4))
    assert blas_threads() == before


def test_environment_sets_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "3")
    assert n_threads() == 3
    monkeypatch.setenv("LAPWING_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="LAPWING_NUM_THREADS"):
        n_threads()
    monkeypatch.delenv("LAPWING_NUM_THREADS")
    assert n_threads() >= 1


def test_row_blocks_cover_all_rows_once():
    for n in (0, 1, 7, 8, 9):
        assert [i for b in row_blocks(n, 4) for i in range(b.start, b.stop)] == list(range(n))
    with pytest.raises(ValueError, match="size"):
        row_blocks(3, 0)
