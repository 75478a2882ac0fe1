"""Fit all estimators to random odd data for a given time, and print what goes wrong: `make fuzz`.

    python tools/fuzz.py [--seconds 600] [--seed 0] [--jobs 1] [--case NAME] [--only SEED ...]

Each seed is a problem: an estimator, data and parameters (`tests/helpers/odd_inputs.py`). A finding
is an answer that is neither right, nor explained by a warning, nor refused with a message of ours
(`tests/helpers/verdicts.py`); `--only SEED` repeats it and prints the traceback. Problems run in
processes of their own with a clock and a limit of memory, so that one that crashes or never ends is
a finding as well. The exit status is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing as mp
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # small problems: more threads only cost time
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.odd_inputs import random_problem  # noqa: E402
from helpers.odd_rows import Problem  # noqa: E402
from helpers.verdicts import Finding, judge  # noqa: E402

#: Seconds on the clock after which a problem counts as endless; a busy machine is slow.
MOST_SECONDS = 60.0
MOST_BYTES = 6 * 2**30


def work(pipe: Connection, case: str) -> None:
    """Judge the seeds that come through the pipe, until its other end is closed."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    with contextlib.suppress(EOFError):
        while True:
            problem = random_problem(pipe.recv())
            wanted = case in problem.case.name
            pipe.send((problem.case.name, judge(problem)) if wanted else (None, None))


class Worker:
    """A process that judges one seed after another, and what it is doing."""

    def __init__(self, case: str) -> None:
        self.pipe, end = mp.get_context("spawn").Pipe()
        self.process = mp.get_context("spawn").Process(target=work, args=(end, case), daemon=True)
        self.process.start()
        end.close()
        self.seed, self.since = -1, 0.0

    def give(self, seed: int) -> None:
        """Start the next problem."""
        self.seed, self.since = seed, time.monotonic()
        self.pipe.send(seed)

    def stop(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()


def hunt(
    first: int, seconds: float, jobs: int, case: str
) -> Iterator[tuple[int, str, Finding | None]]:
    """Yield seed, case and finding of one problem after another."""
    seeds, end = iter(range(first, sys.maxsize)), time.monotonic() + seconds
    workers = [Worker(case) for _ in range(jobs)]
    for worker in workers:
        worker.give(next(seeds))
    while time.monotonic() < end:
        ready = wait([worker.pipe for worker in workers], timeout=1.0)
        for i, worker in enumerate(workers):
            lasted = time.monotonic() - worker.since
            if worker.pipe in ready:
                try:
                    name, finding = worker.pipe.recv()
                except EOFError:
                    worker.process.join()
                    code = worker.process.exitcode
                    yield _lost(worker.seed, Finding("crash", "process", f"exit status {code}"))
                    workers[i] = worker = Worker(case)
                else:
                    if name is not None:
                        yield worker.seed, name, finding
            elif lasted > MOST_SECONDS:
                worker.stop()
                yield _lost(worker.seed, Finding("endless", "process", f"{MOST_SECONDS:.0f} s"))
                workers[i] = worker = Worker(case)
            else:
                continue
            worker.give(next(seeds))
    for worker in workers:
        worker.stop()


def _lost(seed: int, finding: Finding) -> tuple[int, str, Finding]:
    return seed, random_problem(seed).case.name, finding


def describe(problem: Problem) -> str:
    """Return a problem in one line."""
    n, d = problem.X.shape if hasattr(problem.X, "shape") else (len(problem.X), len(problem.X[0]))
    return f"{problem.case.name} {n}×{d} [{'; '.join(problem.steps)}]"


def print_finding(seed: int, finding: Finding) -> None:
    """Print one line that names the problem and how to repeat it."""
    print(
        f"{finding.kind:<13} {describe(random_problem(seed))}: {finding.text[:150]} "
        f"({finding.where})  --only {seed}",
        flush=True,
    )


def print_groups(findings: list[tuple[int, str, Finding]]) -> None:
    """Print findings by cause: kind, place in the library, estimators and seeds."""
    groups: dict[tuple[str, str, str], list[tuple[int, str]]] = defaultdict(list)
    for seed, name, finding in findings:
        place = finding.where.split(":")[0]
        estimator = name.split("-")[0] if finding.kind in ("chance", "slow", "endless") else ""
        groups[finding.kind, place, estimator].append((seed, name))
    for (kind, place, estimator), members in sorted(groups.items(), key=lambda g: -len(g[1])):
        names = estimator or ", ".join(sorted({name.split("-")[0] for _, name in members})[:6])
        seeds = " ".join(str(seed) for seed, _ in members[:5])
        print(f"{len(members):5d}  {kind:<13} {place:<34} {names}  (seeds {seeds})")


def repeat(seed: int) -> Finding | None:
    """Judge one problem in this process, with a traceback of an error in the fit."""
    problem = random_problem(seed)
    print(describe(problem), problem.parameters)
    finding = judge(problem)
    print(finding or "no finding")
    if finding is not None and "error" in finding.kind:
        model = problem.case.new(**problem.parameters)
        weights = {} if problem.weights is None else {"sample_weight": problem.weights}
        model.fit(problem.X, problem.y, **weights)
    return finding


def main() -> int:
    """Run for the given time, or repeat seeds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to look")
    parser.add_argument("--seed", type=int, default=0, help="first seed; each problem has the next")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--case", default="", help="only estimators whose name contains this")
    parser.add_argument("--only", type=int, nargs="+", help="repeat these seeds")
    options = parser.parse_args()
    if options.only:
        return int(sum(repeat(seed) is not None for seed in options.only) > 0)
    findings, count = [], 0
    for seed, name, finding in hunt(options.seed, options.seconds, options.jobs, options.case):
        count += 1
        if finding is not None:
            findings.append((seed, name, finding))
            print_finding(seed, finding)
    print(f"\n{count} problems, {len(findings)} findings (seeds from {options.seed})")
    print_groups(findings)
    return int(bool(findings))


if __name__ == "__main__":
    raise SystemExit(main())
