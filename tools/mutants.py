"""Do the tests notice small errors? Changes the package at random places: `make mutants`.

    python tools/mutants.py [--count 200] [--seed 0] [--seconds 30] [--path SUBSTRING]
    python tools/mutants.py --record [-- OPTIONS OF PYTEST]

Each mutant (`tools/mutation.py`) runs, in a copy of the repository, the tests that execute the
changed lines, quick ones first, until one fails or the time is over. `--record` runs the suite once
to find out which tests these are, and stores them in build/mutants; the first run does so itself.
Prints what became of each mutant, and lists survivors. A survivor is either equivalent, which a
human must judge, or a missing test. Not for CI.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest
from mutation import Mutant, mutants

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / "build" / "mutants"
COVERAGE, DURATIONS, TREE = (STORE / name for name in ("coverage", "durations.json", "tree"))
#: Test files that check other things than results: style, documents, commands of developers.
NOT_ABOUT_RESULTS = ("tests/test_house.py", "tests/test_docs.py", "tests/test_imports.py")
MOST_TESTS = 600
START_SECONDS = 60.0


# ---------------------------------------------------------------- which tests run which lines


class _Recorder:
    """Collects the seconds of every test that passes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration


def record(options: Iterable[str]) -> int:
    """Run the suite and store the lines and the seconds of each test."""
    STORE.mkdir(parents=True, exist_ok=True)
    os.environ["COVERAGE_FILE"] = str(COVERAGE)
    recorder = _Recorder()
    measure = ["--cov=lapwing", "--cov-context=test", "--cov-report="]
    code = pytest.main([*measure, "-q", "-n", "auto", *options], plugins=[recorder])
    DURATIONS.write_text(json.dumps(recorder.seconds))
    return int(code)


@dataclass(frozen=True)
class Record:
    """Tests by file and line, and their seconds."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    @classmethod
    def load(cls) -> Record:
        """Read what `record` has stored."""
        data = coverage.CoverageData(basename=str(COVERAGE))
        data.read()
        lines: dict[str, dict[int, list[str]]] = {}
        for file in data.measured_files():
            short = "src/lapwing/" + file.split("src/lapwing/")[-1]
            lines[short] = data.contexts_by_lineno(file)
        return cls(lines, json.loads(DURATIONS.read_text()))

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the lines, those of the same part and quick ones first.

        Lines that are run by the import alone, such as constants, have the tests of the file.
        """
        by_line = self.lines.get(mutant.path, {})
        found = {t for i in range(mutant.line, mutant.end + 1) for t in by_line.get(i, ())}
        if found <= {""}:
            found = {test for tests in by_line.values() for test in tests}
        names = {test.rsplit("|", 1)[0] for test in found} & self.seconds.keys()
        about = [name for name in names if not name.startswith(NOT_ABOUT_RESULTS)]
        part = f"tests/{mutant.path.split('/')[2]}/"
        return sorted(about, key=lambda n: (not n.startswith(part), self.seconds[n], n))


# ---------------------------------------------------------------- running


def copy_tree() -> None:
    """Copy what the tests need to a place where files can be changed."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    for name in filter(None, names):
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, TREE / name)


def verdict(mutant: Mutant, tests: list[str], seconds: float, number: int) -> str:
    """Run the tests against a mutant: "killed", "survived", "timeout" or "not run"."""
    if not tests:
        return "not run"
    target = TREE / mutant.path
    original = target.read_bytes()
    (STORE / "tests.txt").write_text("\n".join(tests))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    environment = {**os.environ, "PYTHONPATH": str(TREE / "src")}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        target.write_bytes(mutant.source)
        os.utime(target, (2e9 + number, 2e9 + number))  # so that no compiled file is up to date
        done = subprocess.run(
            [*command, f"@{STORE / 'tests.txt'}"],
            cwd=TREE,
            env=environment,
            capture_output=True,
            timeout=START_SECONDS + 5.0 * seconds,  # an endless loop, not a busy machine
            check=False,
        )
        return "survived" if done.returncode in (0, 5) else "killed"
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        target.write_bytes(original)
        os.utime(target, (1e9 + number, 1e9 + number))


def quick_ones(record: Record, tests: list[str], seconds: float) -> list[str]:
    """Return the first tests, of so many seconds together."""
    chosen, total = [], 0.0
    for test in tests[:MOST_TESTS]:
        total += record.seconds[test]
        if chosen and total > seconds:
            break
        chosen.append(test)
    return chosen


def sample(count: int, seed: int, path: str) -> list[Mutant]:
    """Return random mutants of the package, from any place with the same probability."""
    found: list[Mutant] = []
    for file in sorted((ROOT / "src" / "lapwing").rglob("*.py")):
        short = file.relative_to(ROOT).as_posix()
        if path in short:
            found += mutants(short, file.read_text(encoding="utf-8"))
    random.Random(seed).shuffle(found)
    print(f"{len(found)} mutants possible, {min(count, len(found))} of them drawn", flush=True)
    return list(itertools.islice((mutant for mutant in found if mutant.differs), count))


def main() -> int:
    """Record, or run mutants and print what became of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--seconds", type=float, default=30.0, help="of tests for each mutant")
    parser.add_argument("--path", default="", help="only files whose path contains this")
    parser.add_argument("--record", action="store_true", help="run the suite and note the lines")
    options, rest = parser.parse_known_args()
    if options.record or not DURATIONS.exists():
        code = record([option for option in rest if option != "--"])
        if options.record:
            return code
    known = Record.load()
    copy_tree()
    results: list[tuple[str, Mutant]] = []
    for number, mutant in enumerate(sample(options.count, options.seed, options.path)):
        began = time.perf_counter()
        tests = quick_ones(known, known.tests_of(mutant), options.seconds)
        result = verdict(mutant, tests, options.seconds, number)
        results.append((result, mutant))
        lasted = time.perf_counter() - began
        print(
            f"{number:4d} {result:<9} {lasted:5.1f} s {len(tests):4d} tests  {mutant}", flush=True
        )
    print_summary(results)
    return 0


def print_summary(results: list[tuple[str, Mutant]]) -> None:
    """Print the counts, and the mutants that no test noticed."""
    counts = Counter(result for result, _ in results)
    print("\n" + ", ".join(f"{count} {result}" for result, count in counts.most_common()))
    noticed = counts["killed"] + counts["timeout"]
    print(f"{noticed} of {len(results)} noticed ({noticed / max(len(results), 1):.0%})")
    for result, mutant in results:
        if result in ("survived", "not run"):
            print(f"  {result:<9} {mutant}")


if __name__ == "__main__":
    raise SystemExit(main())
