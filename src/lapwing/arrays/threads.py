"""Threads over blocks of work.

NumPy, SciPy and BLAS release the interpreter lock, so a plain thread pool keeps every core busy
without copying arrays between processes. BLAS runs on one thread inside the pool: two levels of
threads would fight for the same cores. Knows nothing about what a block computes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

_worker = threading.local()
_caller = threading.local()
_limit_lock = threading.Lock()


def n_threads() -> int:
    """Threads to use: ``LAPWING_NUM_THREADS`` if set, else the CPUs this process may run on."""
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
    """Consecutive slices of at most ``size`` rows that cover ``range(n)``."""
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}.")
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def map_blocks(
    function: Callable[[Item], Result], items: Sequence[Item], n_threads: int | None = None
) -> list[Result]:
    """Apply ``function`` to every item on a thread pool and keep the order.

    Parameters
    ----------
    function : callable
        Called once per item. It should spend its time in code that releases the interpreter
        lock. The first exception it raises is passed on; items not yet started are dropped.
    items : sequence
        The work. One item, one thread, or a call from inside another ``map_blocks`` runs in
        the calling thread, with BLAS threads as they are.
    n_threads : int, optional
        Number of threads; by default see :func:`n_threads`.

    Returns
    -------
    list
        ``[function(item) for item in items]``.

    Examples
    --------
    >>> from lapwing.arrays.threads import map_blocks, row_blocks
    >>> map_blocks(lambda rows: rows.stop - rows.start, row_blocks(10, 4))
    [4, 4, 2]
    """
    items = list(items)
    width = min(_default_width() if n_threads is None else n_threads, len(items))
    if width <= 1 or getattr(_worker, "active", False):
        return [function(item) for item in items]
    with single_threaded_blas():
        pool = _pool(width)
        futures = [pool.submit(function, item) for item in items]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()
            wait(futures)


_default_width = n_threads  # the parameter of map_blocks hides the function's name


def _pool(width: int) -> ThreadPoolExecutor:
    """Return the calling thread's pool.

    It is kept from call to call, since starting threads takes as long as a small product. Its
    threads do not survive a fork, hence one pool a process.
    """
    key = os.getpid(), width
    if getattr(_caller, "key", None) != key:
        _caller.pool = ThreadPoolExecutor(
            width, thread_name_prefix="lapwing", initializer=_mark_worker
        )
        _caller.key = key
    return _caller.pool


def _mark_worker() -> None:
    _worker.active = True


@cache
def _controller() -> ThreadpoolController:
    # Looking up the loaded libraries takes milliseconds, far more than setting their limit.
    return ThreadpoolController()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread; of pools that overlap, only the first does so.

    The limit belongs to the process. A second pool would take the first one's limit for the
    original setting and might restore that for good. Not owning the limit costs speed at worst.
    """
    if not _limit_lock.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limit_lock.release()
