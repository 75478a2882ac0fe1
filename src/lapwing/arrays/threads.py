"""Threads over blocks of work.

NumPy, SciPy and BLAS release the interpreter lock, so that a plain thread pool uses all cores
without copying arrays between processes. Inside the pool BLAS runs on one thread, since two levels
of threads would compete for the same cores. Knows nothing about what a block computes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

_worker = threading.local()
_caller = threading.local()
_limit_lock = threading.Lock()
_limited = 0  # contexts that limit BLAS now
_limit: Any = None


def n_threads() -> int:
    """Return the number of threads: ``LAPWING_NUM_THREADS``, or the CPUs of this process."""
    wanted = os.environ.get("LAPWING_NUM_THREADS", "").strip()
    if wanted:
        if not wanted.isdigit() or int(wanted) < 1:
            raise ValueError(
                f"LAPWING_NUM_THREADS must be a positive whole number, got {wanted!r}. "
                "Unset it to use all CPUs."
            )
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def row_blocks(n: int, size: int) -> list[slice]:
    """Return consecutive slices of at most ``size`` rows that cover ``range(n)``."""
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}.")
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def map_blocks(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed on a pool of `n_threads` threads.

    A single item, and a call from inside another ``map_blocks``, are processed by the calling
    thread, without a limit on BLAS.

    Parameters
    ----------
    function : callable
        Called once per item. It should spend its time in code that releases the interpreter
        lock. Its first exception is raised again, and items that have not been started are
        dropped.
    items : iterable
        The blocks.

    Examples
    --------
    >>> from lapwing.arrays.threads import map_blocks, row_blocks
    >>> map_blocks(lambda rows: rows.stop - rows.start, row_blocks(10, 4))
    [4, 4, 2]
    """
    items = list(items)
    if min(n_threads(), len(items)) <= 1 or getattr(_worker, "active", False):
        return [function(item) for item in items]
    with single_threaded_blas():
        pool = _pool()
        # What holds for the calling thread, such as the device, holds for its blocks.
        futures = [pool.submit(copy_context().run, function, item) for item in items]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()
            wait(futures)


def _pool() -> ThreadPoolExecutor:
    """Return the pool of the calling thread, which is kept for further calls.

    Starting threads takes as long as a small product. Threads do not survive a fork, so that every
    process has its own pool.
    """
    key = os.getpid(), n_threads()
    if getattr(_caller, "key", None) != key:
        _caller.pool = ThreadPoolExecutor(
            n_threads(), thread_name_prefix="lapwing", initializer=_mark_worker
        )
        _caller.key = key
    return _caller.pool


def _mark_worker() -> None:
    _worker.active = True


@cache
def _libraries(user_api: str) -> ThreadpoolController:
    """Return the loaded libraries of one interface, "blas" or "openmp".

    The end of a limit restores all libraries of its controller, also those that it has not limited.
    """
    # Finding the libraries takes milliseconds, much longer than setting their limit.
    return ThreadpoolController().select(user_api=user_api)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread until the last of overlapping contexts ends.

    The limit holds in the whole process, as with the OpenBLAS of NumPy's wheels; libraries that
    keep a limit per thread, such as MKL, are limited in the thread that enters first. Each context
    would restore what it found, which is the limit itself if another one is active.
    """
    global _limit, _limited
    with _limit_lock:
        if _limited == 0:
            with _any_thread_may_limit():
                _limit = _libraries("blas").limit(limits=1)
        _limited += 1
    try:
        yield
    finally:
        with _limit_lock:
            _limited -= 1
            if _limited == 0:
                with _any_thread_may_limit():
                    _limit.restore_original_limits()


@contextmanager
def _any_thread_may_limit() -> Iterator[None]:
    """Let the calling thread set the limit of BLAS, and afterwards any other one.

    Since threadpoolctl 3.8, the first thread that limits OpenBLAS is the only one that can, and
    calls of others do nothing. Here one thread may set the limit and another one restore it.
    """
    _forget_controlling_thread()
    try:
        yield
    finally:
        _forget_controlling_thread()


def _forget_controlling_thread() -> None:
    for library in _libraries("blas").lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in the calling thread alone, as a task that has one core of many does."""
    before = getattr(_worker, "active", False)
    _worker.active = True
    try:
        # The limit of OpenMP, which scikit-learn uses, is that of the calling thread.
        with single_threaded_blas(), _libraries("openmp").limit(limits=1):
            yield
    finally:
        _worker.active = before
