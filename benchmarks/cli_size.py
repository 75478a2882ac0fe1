"""`lapwing fit` and `lapwing predict` on a folder of Parquet files of mixed columns.

    python benchmarks/cli_size.py [--rows 1000000 10000000] [--memory-limit 2GB] [--folder F]
                                  [--address-space 8GB] [--no-predict]

Rows have six numbers, of which two have missing cells, two categories of 8 and 40 values, a text of
six words, a date, two columns of yes and no, a name, and one of ten classes, of which 200 rows show
it. Files have one million rows in groups of 65 536 (removed at the end, unless a folder is given).
Each command runs in a process of its own: its memory is the peak of the resident memory of that
process, interpreter and libraries included, and its seconds include starting it.

--address-space is a limit of the operating system for each command, which ends with an error above
it. It counts memory that is reserved and never used, so it must be larger than --memory-limit.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from lapwing.arrays.memory import parse_size

CLASSES, LABELS = 10, 200
FILE_ROWS, GROUP_ROWS = 1_000_000, 65_536
TOPIC_WORDS, COMMON_WORDS = 12, 60


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--memory-limit", default="2GB")
    parser.add_argument("--address-space", help="limit of the operating system, such as 8GB")
    parser.add_argument("--folder", help="for the files, which are kept")
    parser.add_argument("--no-predict", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        for n in options.rows:
            measure(options, Path(options.folder or temporary), n)


def measure(options, folder, n):
    """Print time and memory of both commands, and the error of the predictions."""
    rows = write(folder / f"rows-{n}", n)
    size = sum(file.stat().st_size for file in rows.iterdir()) / 1e6
    model, out = folder / f"{n}.lapwing", folder / f"{n}.parquet"
    given = ["--target", "label", "--id", "name", "--drop", "truth", "--json", "--quiet"]
    limit = ["--memory-limit", options.memory_limit]
    fit = run(options, ["fit", rows, *given, *limit, "--out", model])
    report = fit["result"]["report"]
    print(
        f"{n:>10} rows, {size:.0f} MB of files: fit {fit['seconds']:.0f} s, {fit['peak']:.2f} GB; "
        f"in blocks: {fit['result']['in_blocks']}; {fit['result']['features']} features, "
        f"{report['rows_used']} rows used; model file {model.stat().st_size / 1e6:.0f} MB",
        flush=True,
    )
    if options.no_predict:
        return
    found = run(options, ["predict", model, rows, "--out", out, "--json", *limit])
    print(
        f"           predict {found['seconds']:.0f} s, {found['peak']:.2f} GB, "
        f"{found['result']['rows']} rows, error {error(rows, out):.2f} %, "
        f"{out.stat().st_size / 1e6:.0f} MB of predictions",
        flush=True,
    )


def run(options, arguments):
    """Run a command of Lapwing in a process of its own."""

    def limit():
        if options.address_space is not None:
            size = parse_size(options.address_space)
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

    command = [sys.executable, "-m", "lapwing", *map(str, arguments)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=limit)
    with process.stdout:
        text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}: {text}")
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "peak": usage.ru_maxrss / 1e6, "result": json.loads(text)}


def error(rows, out):
    """Return how many predictions are wrong, in per cent."""
    from pyarrow import compute, parquet

    truth = parquet.read_table(rows, columns=["truth"]).column(0)
    found = parquet.read_table(out, columns=["prediction"]).column(0)
    return 100.0 * (1.0 - compute.mean(compute.equal(truth, found).cast("int8")).as_py())


# ---------------------------------------------------------------- rows


def write(folder, n):
    """Write the files of n rows, if the folder does not exist, and return it."""
    from pyarrow import parquet

    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    for first in range(0, n, FILE_ROWS):
        part = columns(first, min(FILE_ROWS, n - first), LABELS if first == 0 else 0)
        parquet.write_table(part, folder / f"{first:011d}.parquet", row_group_size=GROUP_ROWS)
    return folder


def columns(first, m, n_labels):
    """Return m rows; of the classes, numbers, words and categories each tell a part."""
    import pyarrow as pa

    rng = np.random.default_rng([2, first])
    centres = 1.5 * np.random.default_rng(0).standard_normal((CLASSES, 6))
    truth = rng.integers(0, CLASSES, m)
    X = rng.standard_normal((m, 6)) + centres[truth]
    names = np.array([f"class {code}" for code in range(CLASSES)])
    label = np.full(m, None)
    label[:n_labels] = names[truth[:n_labels]]
    missing = rng.random((m, 2)) < 0.1
    numbers = {f"x{j}": pa.array(X[:, j], mask=missing[:, j] if j < 2 else None) for j in range(6)}
    days = np.datetime64("2020-01-01") + rng.integers(0, 1500, m)
    region = np.where(rng.random(m) < 0.5, truth % 8, rng.integers(0, 8, m))
    answers = np.array(["no", "yes"])
    return pa.table(
        {
            "name": pa.array(np.char.add("r", np.arange(first, first + m).astype(str))),
            **numbers,
            "region": pa.array(np.array(list("ABCDEFGH"))[region]),
            "shop": pa.array(np.array([f"shop {i}" for i in range(40)])[rng.integers(0, 40, m)]),
            "note": pa.array(notes(truth, rng)),
            "day": pa.array(days),
            "paid": pa.array(answers[rng.integers(0, 2, m)]),
            "member": pa.array(rng.random(m) < 0.3 + 0.04 * truth),
            "label": pa.array(label, pa.string()),
            "truth": pa.array(names[truth]),
        }
    )


def notes(truth, rng):
    """Return texts of two words of the class and four common ones."""
    topics = np.array([[f"topic{c}{chr(97 + i)}" for i in range(TOPIC_WORDS)] for c in range(10)])
    common = np.array([f"word{i}" for i in range(COMMON_WORDS)])
    m = len(truth)
    parts = [topics[truth, rng.integers(0, TOPIC_WORDS, m)] for _ in range(2)]
    parts += [common[rng.integers(0, COMMON_WORDS, m)] for _ in range(4)]
    text = parts[0]
    for part in parts[1:]:
        text = np.char.add(np.char.add(text, " "), part)
    return text


if __name__ == "__main__":
    main()
