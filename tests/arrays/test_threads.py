"""Threads over blocks: order, errors, limits."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy  # noqa: F401  brings a BLAS library to limit
import pytest
import sklearn.utils._openmp_helpers  # noqa: F401  brings an OpenMP library
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from lapwing.arrays.threads import (
    map_blocks,
    n_threads,
    one_thread,
    row_blocks,
    single_threaded_blas,
)


def limits_of(user_api):
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == user_api]


def blas_threads():
    return limits_of("blas")


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "4")


@pytest.fixture(autouse=True)
def two_threads_of_libraries():
    """Libraries use two threads, also on one core, so that a limit makes a difference."""
    with threadpool_limits(2):
        assert set(blas_threads()) == set(limits_of("openmp")) == {2}
        yield


@pytest.fixture
def other_thread():
    with ThreadPoolExecutor(1) as pool:
        yield lambda function, *args: pool.submit(function, *args).result(20)


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


@pytest.mark.parametrize("first_to_enter", ["main", "other"])
@pytest.mark.parametrize("first_to_leave", ["main", "other"])
def test_contexts_of_two_threads_overlap(first_to_enter, first_to_leave, other_thread):
    before = blas_threads()
    contexts = {"main": single_threaded_blas(), "other": single_threaded_blas()}

    def step(thread, name):
        function = getattr(contexts[thread], name)
        args = () if name == "__enter__" else (None, None, None)
        function(*args) if thread == "main" else other_thread(function, *args)

    def rest(first):
        return "other" if first == "main" else "main"

    step(first_to_enter, "__enter__")
    assert set(blas_threads()) == {1}
    step(rest(first_to_enter), "__enter__")
    step(first_to_leave, "__exit__")
    assert set(blas_threads()) == {1}
    step(rest(first_to_leave), "__exit__")
    assert blas_threads() == before


def test_every_thread_can_limit_after_another_one(other_thread):
    before = blas_threads()

    def ours():
        with single_threaded_blas():
            return blas_threads()

    def of_the_user():
        with threadpool_limits(1, user_api="blas"):
            return blas_threads()

    for limited in (ours, of_the_user, ours):
        assert set(ours()) == {1}
        assert blas_threads() == before
        assert set(other_thread(limited)) == {1}
        assert blas_threads() == before


def test_limits_of_openmp_are_those_of_each_thread(other_thread):
    def enter():
        ThreadpoolController().select(user_api="openmp").limit(limits=1)
        context.__enter__()

    context = single_threaded_blas()
    other_thread(enter)
    with single_threaded_blas():
        other_thread(context.__exit__, None, None, None)
    assert set(limits_of("openmp")) == {2}
    assert set(other_thread(limits_of, "openmp")) == {1}


def test_one_thread_limits_openmp_for_the_caller_alone(other_thread):
    before = other_thread(limits_of, "openmp")
    with one_thread():
        assert set(blas_threads()) == set(limits_of("openmp")) == {1}
        assert map_blocks(lambda _: threading.get_ident(), [0, 1]) == [threading.get_ident()] * 2
        assert other_thread(limits_of, "openmp") == before
    assert set(blas_threads()) == set(limits_of("openmp")) == {2}


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
