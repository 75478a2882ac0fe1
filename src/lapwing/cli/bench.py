"""`lapwing bench papers` and `lapwing bench peers`: experiments that anyone can run again."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..bench import MODES, Job, Store, find_papers, peers, peers_report, report, run_jobs
from ..bench.data import VARIABLE, DataFolder
from ..bench.papers import jobs_of

_BAR = 20


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing bench` to the command line."""
    parser = commands.add_parser(
        "bench",
        help="run the papers' experiments again, or compare with other libraries",
        description="Measures and reports. Finished parts are kept: a run that was stopped goes on "
        "where it was.",
    )
    kinds = parser.add_subparsers(dest="kind", metavar="kind", required=True)
    papers = kinds.add_parser(
        "papers",
        help="the tables of the five papers, with their figures beside ours",
        description="Runs the papers' experiments by their own protocols and writes a report in "
        "Markdown and JSON with the papers' figures beside ours.",
    )
    papers.add_argument(
        "--paper",
        action="append",
        metavar="NUMBER",
        help="000 … 004, or a name such as melacci2011; may be given more than once (all)",
    )
    papers.add_argument("--table", help="only the rows of this table, such as 4 or II")
    papers.add_argument("--list", action="store_true", help="show what would run, and run nothing")
    papers.set_defaults(run=run_papers)
    _add_common(papers)
    beside = kinds.add_parser(
        "peers",
        help="Lapwing beside scikit-learn's methods, and graphlearning where it is installed",
        description="Compares Lapwing with what a user would pick instead, with 1, 5 and 10 labels "
        "a class, tuned on labelled rows only. Sets whose files are not found are left out; the "
        "digits of scikit-learn need none.",
    )
    beside.set_defaults(run=run_peers)
    _add_common(beside)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="quick",
        help="quick: a smoke test; standard: fewer repeats; full: as in the papers (quick)",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time (1)")
    parser.add_argument(
        "--data", type=Path, help=f"folder of the data sets (the variable {VARIABLE})"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results"), help="folder of report and store (results)"
    )


def run_papers(arguments: argparse.Namespace) -> int:
    """Run the jobs and write the report; return the exit code."""
    papers = find_papers(arguments.paper)
    jobs = jobs_of(papers, arguments.mode, arguments.table)
    if arguments.list:
        for job in jobs:
            print(job.title + (f" ({job.thinned})" if job.thinned else ""))
        return 0
    records = _run(arguments, jobs)
    chosen = [f"papers-{arguments.mode}"]
    chosen += [paper.number for paper in papers] if arguments.paper else []
    chosen += [arguments.table] if arguments.table else []
    folder = arguments.out / "-".join(chosen)
    page, comparisons = report.write(folder, arguments.mode, papers, jobs, records, arguments.table)
    met, judged = report.score(comparisons)
    print(f"{met} of {judged} figures are within two standard errors of the paper's or better")
    return _end(page, records)


def run_peers(arguments: argparse.Namespace) -> int:
    """Run the comparison and write the report; return the exit code."""
    jobs = peers.jobs(arguments.mode)
    records = _run(arguments, jobs)
    folder = arguments.out / f"peers-{arguments.mode}"
    page = peers_report.write(folder, arguments.mode, jobs, records)
    return _end(page, records)


def _run(arguments: argparse.Namespace, jobs: list[Job]) -> dict[str, Mapping[str, Any]]:
    if arguments.jobs < 1:
        raise ValueError("--jobs must be at least 1")
    data = DataFolder.find(arguments.data, needed=arguments.kind == "papers")
    store = Store(arguments.out / f"{arguments.kind}-{arguments.mode}.jsonl")
    return run_jobs(jobs, data, store, processes=arguments.jobs, told=Progress(len(jobs)))


def _end(page: Path, records: Mapping[str, Mapping[str, Any]]) -> int:
    failed = [record for record in records.values() if record["status"] == "failed"]
    missing = [record for record in records.values() if record["status"] == "missing"]
    for message in sorted({record["message"] for record in missing}):
        print(f"not run: {message}")
    if not report.can_draw():
        print('No pictures: they need matplotlib, pip install "lapwing[plot]"')
    for record in failed:
        print(f"failed: {record['key']}: {record['message']}", file=sys.stderr)
    print(f"Report: {page}")
    return 1 if failed else 0


class Progress:
    """A bar on standard error: one line that grows on a terminal, one line a job elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.start = time.perf_counter()

    def __call__(self, job: Job, record: Mapping[str, Any]) -> None:
        """Tell of a job that has a record."""
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
