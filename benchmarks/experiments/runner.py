"""Runs each job in a new process, so that its memory and its failure are its own.

The processes are spawned: they inherit ``sys.path`` and import the job's module by its name.
"""

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
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
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
    """Run the jobs that are not in the store, and return the records of all jobs.

    Parameters
    ----------
    jobs : list of Job
        In the order in which they start.
    data : DataFolder
        The data sets; jobs whose files are missing are not run.
    store : Store
        Receives the records of finished jobs; failed jobs are not stored.
    processes : int
        Number of jobs at a time. Each gets an equal share of the cores.
    report : callable
        Called with each job and its record as soon as the record exists.

    Returns
    -------
    dict
        The record of each key: status ("done", "failed" or "missing"), values, remark, curves,
        seconds, memory in MB, date and version.
    """
    store.check()
    stored = store.read()
    records: dict[str, Mapping[str, Any]] = {}
    waiting: list[Job] = []
    for job in jobs:
        record = stored.get(job.key) or _missing(job, data)
        if record is None:
            waiting.append(job)
        else:
            records[job.key] = record
            report(job, record)
    with _threads_each(processes), closing(_finished(waiting, data, processes)) as finished:
        for job, record in finished:
            if record["status"] == "done":
                store.add(record)
            records[job.key] = record
            report(job, record)
    return records


def _missing(job: Job, data: DataFolder) -> dict[str, Any] | None:
    """Return the record of a job whose files are missing, None if it can be run."""
    absent = data.missing(job.files)
    if not absent:
        return None
    message = f"no {', '.join(absent)} in the data folder"
    return {"key": job.key, "status": "missing", "message": message}


def _finished(
    jobs: list[Job], data: DataFolder, processes: int
) -> Generator[tuple[Job, dict[str, Any]], None, None]:
    """Run jobs in parallel and yield each with its record; closing the generator kills the rest."""
    waiting = list(jobs)
    running: dict[Connection, tuple[Job, SpawnProcess]] = {}
    context = multiprocessing.get_context("spawn")
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
                yield job, _received(end, process) | {"key": job.key}
    finally:
        for _, process in running.values():
            process.kill()


def _received(end: Connection, process: SpawnProcess) -> dict[str, Any]:
    try:
        record = end.recv()
    except (EOFError, OSError):  # it ended before or while sending the record
        process.join()
        message = f"the process ended with exit code {process.exitcode}; it may be out of memory"
        return {"status": "failed", "message": message}
    finally:
        end.close()
    process.join()
    return record


def _work(job: Job, data: DataFolder, end: Connection) -> None:
    """Run a job and send its record; the entry point of the new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent
    threading.Thread(target=_end_with_parent, daemon=True).start()
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters shows in the errors
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
    """End this process when its parent has ended, in whatever way."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def peak_memory() -> float | None:
    """Return the peak resident memory of this process in MB; None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


@contextmanager
def _threads_each(processes: int) -> Iterator[None]:
    """Give each process that starts in this context an equal share of the cores."""
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
