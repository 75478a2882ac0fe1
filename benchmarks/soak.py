"""Thousands of fits of mixed estimators in one process: does memory grow, and do fits interfere?

    python benchmarks/soak.py [--fits 2000] [--warm-up 100]

Every fit is followed by predictions, a file that is written and read again, and added labels. The
cases are those of the contract suite (`tests/helpers/cases.py`), in turn, with their rows in
another order each time. Prints resident memory after the warm-up, after every tenth of the fits and
at the end, its peak, and the growth per fit. Then every case is fitted twice at once, in two
threads and in two processes, and the bits are compared with those of a single fit.
Bar: at most 20 MB of growth, and no bit that differs.
"""

import argparse
import gc
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # small problems: more threads only cost time
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np  # noqa: E402

import lapwing  # noqa: E402
from common import resident_bytes  # noqa: E402
from helpers.at_once import differing, fingerprints, two_processes, two_threads  # noqa: E402
from helpers.cases import CASES, outputs_of  # noqa: E402

MOST_GROWTH = 20.0  # MB, from the end of the warm-up to the end


def live(case, number, folder):
    """Fit one case, and do with the model what a user would."""
    X, y, truth = case.data(2 + number % 2)
    rng = np.random.default_rng(number)
    rows = rng.permutation(X.shape[0])
    X, y, truth = X[rows], y[rows], truth[rows]
    model = case.new().fit(X, y)
    outputs_of(model, X)
    lapwing.save(model, folder / "model")
    again = lapwing.load(folder / "model")
    hidden = np.flatnonzero(y == -1 if case.is_classifier else np.isnan(y))[:3]
    again.add_labels(hidden, truth[hidden])
    outputs_of(again, X)


def soak(n_fits, warm_up):
    """Return the resident megabytes after the warm-up, at every tenth of the way, and the peak."""
    sizes, peak, began = [], 0.0, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(warm_up + n_fits):
            live(CASES[number % len(CASES)], number, Path(folder))
            peak = max(peak, resident_bytes() / 1e6)
            done = number + 1 - warm_up
            if done >= 0 and done % max(n_fits // 10, 1) == 0:
                gc.collect()
                sizes.append(resident_bytes() / 1e6)
                seconds = time.perf_counter() - began
                print(f"{done:6d} fits {seconds:7.0f} s {sizes[-1]:8.1f} MB", flush=True)
    return sizes, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=2000)
    parser.add_argument("--warm-up", type=int, default=100)
    options = parser.parse_args()
    sizes, peak = soak(options.fits, options.warm_up)
    growth = sizes[-1] - sizes[0]
    print(
        f"first {sizes[0]:.1f} MB, last {sizes[-1]:.1f} MB, peak {peak:.1f} MB: "
        f"{growth:+.1f} MB, {1e3 * growth / options.fits:+.2f} kB per fit"
    )
    names = [case.name for case in CASES]
    expected = fingerprints(names)
    different = {
        "threads": differing(names, expected, two_threads()),
        "processes": differing(names, expected, two_processes()),
    }
    for kind, found in different.items():
        print(f"two {kind} at once: {len(found)} of {len(names)} cases differ", *found)
    passed = growth <= MOST_GROWTH and not any(different.values())
    print("pass" if passed else "FAIL")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
