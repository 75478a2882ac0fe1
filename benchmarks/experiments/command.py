"""The commands behind `make papers` and `make peers`: arguments, progress and the summary.

Only this module writes to the terminal. What is run, and how, is the business of the modules below;
they report to it through the records of the jobs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import peers, peers_quantities, peers_report, report
from .data import VARIABLE, DataFolder
from .jobs import MODES, Job
from .papers import find_papers, jobs_of
from .runner import run_jobs
from .store import Store

_BAR = 20


def papers_command(argv: Sequence[str] | None = None) -> int:
    """Run the experiments of the papers and write the report.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 after success, 1 after an error or a failed job, 130 after an interrupt.
    """
    parser = argparse.ArgumentParser(
        prog="papers",
        description="Repeats the experiments of the five papers by their own protocols and writes "
        "a report in Markdown and JSON with the published results next to ours. Finished jobs are "
        "stored: a run that was stopped continues where it was.",
    )
    parser.add_argument(
        "--paper",
        action="append",
        metavar="NUMBER",
        help="000 … 004, or a name such as melacci2011; may be given more than once (all)",
    )
    parser.add_argument("--table", help="only the rows of this table, such as 4 or II")
    parser.add_argument("--list", action="store_true", help="list the jobs and run nothing")
    _add_common(parser)
    return _guarded(parser, argv, _run_papers)


def peers_command(argv: Sequence[str] | None = None) -> int:
    """Run the comparison with other libraries and write the report.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 after success, 1 after an error or a failed job, 130 after an interrupt.
    """
    parser = argparse.ArgumentParser(
        prog="peers",
        description="Compares Lapwing with scikit-learn's methods, and with graphlearning if it is "
        "installed, tuned on labelled rows only: classes with 1, 2, 5 and 10 labels each, and "
        "quantities with 10, 20 and 50 targets. Data sets whose files are missing are skipped; "
        "some need no file. Finished jobs are stored: a run that was stopped continues where it "
        "was.",
    )
    parser.add_argument(
        "--task",
        choices=("classes", "quantities", "both"),
        default="both",
        help="what is predicted; each has a report of its own (both)",
    )
    parser.add_argument(
        "--first-draw",
        type=int,
        default=0,
        metavar="N",
        help="seed of the first draw; a standard run uses N to N + 9. Draws on which nothing was "
        "chosen give figures without selection bias (0)",
    )
    _add_common(parser)
    return _guarded(parser, argv, _run_peers)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="quick",
        help="quick: a smoke test; standard: fewer repeats; full: as in the papers (quick)",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time (1)")
    parser.add_argument(
        "--data",
        type=Path,
        help=f"folder of the data sets (the environment variable {VARIABLE})",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results"), help="folder of report and store (results)"
    )


def _guarded(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    run: Callable[[argparse.Namespace], int],
) -> int:
    """Run a command and turn expected errors into a message and an exit code."""
    arguments = parser.parse_args(argv)
    try:
        return run(arguments)
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, MemoryError, ImportError) as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 1


def _run_papers(arguments: argparse.Namespace) -> int:
    papers = find_papers(arguments.paper)
    jobs = jobs_of(papers, arguments.mode, arguments.table)
    if arguments.list:
        for job in jobs:
            print(job.title + (f" ({job.thinned})" if job.thinned else ""))
        return 0
    records = _run("papers", arguments, jobs, data_needed=True)
    parts = [f"papers-{arguments.mode}"]
    parts += [paper.number for paper in papers] if arguments.paper else []
    parts += [arguments.table] if arguments.table else []
    folder = arguments.out / "-".join(parts)
    page, comparisons = report.write(folder, arguments.mode, papers, jobs, records, arguments.table)
    met, judged = report.score(comparisons)
    print(
        f"{met} of {judged} results are better than the published ones or within two standard "
        "errors of them"
    )
    return _summary([page], records)


def _run_peers(arguments: argparse.Namespace) -> int:
    first = arguments.first_draw
    if first < 0:
        raise ValueError(f"--first-draw must be at least 0, got {first}")
    modules = {"classes": peers, "quantities": peers_quantities}
    pages: list[Path] = []
    records: dict[str, Mapping[str, Any]] = {}
    for name in modules if arguments.task == "both" else [arguments.task]:
        task, jobs = modules[name].TASK, modules[name].jobs(arguments.mode, first)
        found = _run("peers", arguments, jobs, data_needed=False)
        folder = f"{task.name}-{arguments.mode}" + (f"-from-{first}" if first else "")
        page = peers_report.write(task, arguments.out / folder, arguments.mode, jobs, found)
        pages.append(page)
        records |= found
    return _summary(pages, records)


def _run(
    name: str, arguments: argparse.Namespace, jobs: list[Job], data_needed: bool
) -> dict[str, Mapping[str, Any]]:
    if arguments.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {arguments.jobs}")
    data = DataFolder.find(arguments.data, needed=data_needed)
    store = Store(arguments.out / f"{name}-{arguments.mode}.jsonl")
    return run_jobs(jobs, data, store, processes=arguments.jobs, report=Progress(len(jobs)))


def _summary(pages: list[Path], records: Mapping[str, Mapping[str, Any]]) -> int:
    """Print what was not run, what failed and where the reports are; return the exit code."""
    failed = [record for record in records.values() if record["status"] == "failed"]
    missing = [record for record in records.values() if record["status"] == "missing"]
    for message in sorted({record["message"] for record in missing}):
        print(f"not run: {message}")
    if not report.can_draw():
        print('No plots: they need matplotlib, pip install "lapwing[plot]"')
    for record in failed:
        print(f"failed: {record['key']}: {record['message']}", file=sys.stderr)
    for page in pages:
        print(f"Report: {page}")
    return 1 if failed else 0


class Progress:
    """Progress on standard error: a bar on a terminal, otherwise one line per job.

    Parameters
    ----------
    total : int
        Number of jobs.
    """

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.start = time.perf_counter()

    def __call__(self, job: Job, record: Mapping[str, Any]) -> None:
        """Report a job that has a record."""
        self.done += 1
        filled = "#" * (_BAR * self.done // self.total)
        spent = time.perf_counter() - self.start
        took = f"{record['seconds']:.0f} s" if "seconds" in record else record["status"]
        line = f"[{filled:<{_BAR}}] {self.done}/{self.total} {spent:.0f} s  {job.title}: {took}"
        if sys.stderr.isatty():
            end = "\n" if self.done == self.total else ""
            print(f"\r\x1b[K{line[:110]}", end=end, file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
