"""Damaged and hostile CSV and model files: an error of ours, or a well-defined answer.

    make bench NAME=fuzz_files ARGS="--count 10000 --seed 0"

Each case is a mutation of a good file, made from the seed and the number of the case: bytes, blocks
and cells of CSV files; bytes, members, pages and arrays of model files, with the checksums computed
again where a change must reach the checks of the contents. The address space of the process is
limited, and a case that takes long is interrupted. Prints the outcomes, and the cases of findings:

    python benchmarks/fuzz_files.py --only model --seed 0 --case 4711

repeats one. An error counts as ours if our code raised it, with a message of a few lines.
"""

import argparse
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from common import resident_bytes
from file_cases import FILES
from file_cases.mutations import check_error

#: Seconds after which a case counts as endless.
SECONDS = 20
#: Bytes of address space that all cases together may take in addition to those at the start.
ROOM = 2 * 1024**3


class Endless(Exception):
    """A case took too long."""


@contextmanager
def within(seconds):
    """Interrupt what takes longer."""

    def interrupt(*_):
        raise Endless(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def try_case(files, seed):
    """Return the outcome of a case, and an error if it is a finding."""
    case = files.write(np.random.default_rng(seed))
    try:
        with within(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return files.run(case), None
    except Exception as error:
        if isinstance(error, (ValueError, MemoryError)) and not isinstance(error, UnicodeError):
            with suppress(type(error)):
                check_error(error)
                return f"refused ({type(error).__name__})", None
        return "FINDING", error


def run(count, seed, only=tuple(FILES), first=0, show=print):
    """Run `count` cases of each type of file; return the number of findings.

    Parameters
    ----------
    count, seed : int
        Number of cases, and the seed from which they are made.
    only : sequence of {"csv", "model"}
        Types of files.
    first : int
        Number of the first case.
    show : callable
        Called with each line of the result.
    """
    n_findings = 0
    for number, name in enumerate(FILES):
        if name not in only:
            continue
        outcomes, started, before = Counter(), time.perf_counter(), None
        with TemporaryDirectory() as folder:
            files = FILES[name](folder)
            before = resident_bytes()
            for case in range(first, first + count):
                outcome, error = try_case(files, (seed, number, case))
                outcomes[outcome] += 1
                if error is not None:
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    place = f"{Path(where.filename).name}:{where.lineno}"
                    show(
                        f"{name} case {case}: {type(error).__name__} at {place}: {str(error)[:200]}"
                    )
        seconds, growth = time.perf_counter() - started, (resident_bytes() - before) / 1e6
        counts = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
        show(f"{name}: {count} cases in {seconds:.0f} s, memory +{growth:.0f} MB: {counts}")
        n_findings += outcomes["FINDING"]
    return n_findings


def limit_memory():
    """Limit the address space of the process, where the system can."""
    import resource

    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="cases of each type (1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all cases (0)")
    parser.add_argument("--only", choices=FILES, help="one type of file")
    parser.add_argument("--case", type=int, help="run only this case, with the whole error")
    arguments = parser.parse_args()
    only = [arguments.only] if arguments.only else list(FILES)
    with suppress(ImportError, OSError):
        limit_memory()
    if arguments.case is None:
        return 1 if run(arguments.count, arguments.seed, only) else 0
    for name in only:
        with TemporaryDirectory() as folder:
            seed = (arguments.seed, list(FILES).index(name), arguments.case)
            outcome, error = try_case(FILES[name](folder), seed)
            print(f"{name}: {outcome}")
            if error is not None:
                traceback.print_exception(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
