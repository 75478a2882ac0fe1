"""Runs jobs, each in a new process: its memory is its own, and its end does not end the others."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, cast

from lapwing import __version__

from .data import DataFolder
from .jobs import Job
from .store import Store

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LAPWING_NUM_THREADS")


def run_jobs(
    jobs: list[Job],
    data: DataFolder,
    store: Store,
    *,
    processes: int = 1,
    report: Callable[[Job, Mapping[str, Any]], None] = lambda job, record: None,
) -> dict[str, Mapping[str, Any]]:
    """Run the jobs that the store does not have, and return the records of all.

    Parameters
    ----------
    jobs : list of Job
        In the order in which they start.
    data : DataFolder
        Where the data sets are; jobs whose files are not there are not run.
    store : Store
        What is finished is kept there; jobs that fail are not.
    processes : int
        Jobs at a time. Each has its share of the cores.
    report : callable
        Called with each job and its record as soon as it has one.

    Returns
    -------
    dict
        For each key a record: status ("done", "failed" or "missing"), values, remark, curves,
        seconds, memory in MB, date and version.
    """
    store.check()
    kept = store.read()
    records: dict[str, Mapping[str, Any]] = {}
    waiting: list[Job] = []
    for job in jobs:
        absent = data.missing(job.files)
        if job.key in kept:
            records[job.key] = kept[job.key]
            report(job, records[job.key])
        elif absent:
            message = f"no {', '.join(absent)} in the folder of data sets"
            records[job.key] = {"key": job.key, "status": "missing", "message": message}
            report(job, records[job.key])
        else:
            waiting.append(job)
    running: dict[Connection, tuple[Job, SpawnProcess]] = {}
    context = multiprocessing.get_context("spawn")
    with _threads_each(processes):
        try:
            while waiting or running:
                while waiting and len(running) < processes:
                    job = waiting.pop(0)
                    ours, theirs = context.Pipe(duplex=False)
                    process = context.Process(target=_work, args=(job, data, theirs), daemon=True)
                    process.start()
                    theirs.close()
                    running[ours] = job, process
                for end in wait(list(running)):
                    end = cast(Connection, end)
                    job, process = running.pop(end)
                    record = _received(end, process) | {"key": job.key}
                    if record["status"] == "done":
                        store.add(record)
                    records[job.key] = record
                    report(job, record)
        finally:
            for _, process in running.values():
                process.kill()
    return records


def _received(end: Connection, process: SpawnProcess) -> dict[str, Any]:
    try:
        record = end.recv()
    except (EOFError, OSError):  # it ended without a word, or amid one
        process.join()
        message = f"the process ended with exit code {process.exitcode}, perhaps for want of memory"
        return {"status": "failed", "message": message}
    finally:
        end.close()
    process.join()
    return record


def _work(job: Job, data: DataFolder, end: Connection) -> None:
    """Run a job, and send its record. The first function of the new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cut graphs, folds without a class: told by errors
            outcome = job.work(data, **job.settings)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        end.send({"status": "failed", "message": message, "trace": traceback.format_exc()})
        return
    end.send(
        {
            "status": "done",
            "seconds": time.perf_counter() - start,
            "memory": peak_memory(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": __version__,
            **dataclasses.asdict(outcome),
        }
    )


def _end_with_parent() -> None:
    """End this process when the one that started it is no more, however that ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def peak_memory() -> float | None:
    """Return the largest resident memory that this process has had, in MB; None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


@contextmanager
def _threads_each(processes: int) -> Iterator[None]:
    """Give each process that starts meanwhile its share of the cores."""
    share = str(max(1, (os.cpu_count() or 1) // processes))
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, share))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
