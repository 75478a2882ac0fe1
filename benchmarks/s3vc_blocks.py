"""Linear S3VC on sparse rows in files, which are read in blocks: time, passes and memory.

    python benchmarks/s3vc_blocks.py [--rows 100000] [--columns 50000] [--block 50000] [--folds 5]

Text-like data: two topics, Zipf-distributed words, 60 a row, TF-IDF rows of unit norm, 100 labels.
Another process writes the rows to a temporary folder, one file per block; a function reads them
again for each pass. The peak memory is that of the whole process.

Baselines of the same run: LinearSVC on the labelled rows, and bare passes, X @ W and Xᵀ @ V of each
file with as many columns as the fit has. They are compared by wall time and by CPU time, which
other processes disturb less.
"""

import argparse
import resource
import time
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from common import topics
from experiments.data import error
from lapwing import S3VC
from lapwing.operators.rows import Rows

#: Labels, bare passes, and the share of words by which the topics differ.
LABELS, BARE, OWN = 100, 5, 0.4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=50_000)
    parser.add_argument("--block", type=int, default=50_000, help="rows of a file")
    parser.add_argument("--folds", type=int, default=5, help="folds that calibrate probabilities")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        writer = get_context("spawn").Process(target=write, args=(options, folder))
        writer.start()
        writer.join()
        if writer.exitcode:
            raise SystemExit("the files could not be written")
        measure(options, Files(folder))


def write(options, folder):
    """Write the rows in blocks, and the topics of all rows."""
    truth = []
    for number, first in enumerate(range(0, options.rows, options.block)):
        n = min(options.block, options.rows - first)
        X, y = topics(n, options.columns, np.random.default_rng(number), own=OWN)
        sp.save_npz(Path(folder) / f"{number:05d}.npz", X, compressed=False)
        truth.append(y)
    np.save(Path(folder) / "truth.npy", np.concatenate(truth).astype(np.int8))


class Files:
    """A function of blocks: reads one file after the other."""

    def __init__(self, folder):
        self.paths = sorted(Path(folder).glob("*.npz"))
        self.truth = np.load(Path(folder) / "truth.npy")
        self.bytes = sum(path.stat().st_size for path in self.paths)

    def __call__(self):
        return (sp.load_npz(path) for path in self.paths)


def measure(options, files):
    n, truth = options.rows, files.truth
    chosen = np.sort(np.random.default_rng(0).choice(n, LABELS, replace=False))
    labels = np.full(n, -1, dtype=np.int8)
    labels[chosen] = truth[chosen]
    size, count = files.bytes / 1e6, len(files.paths)
    print(f"{n} x {options.columns}, {count} files of {size:.0f} MB in all", flush=True)
    before = peak()
    started = clocks()
    model = S3VC(calibration_folds=options.folds).fit(files, labels)
    (seconds, cpu), passes = clocks() - started, model.result_.passes + 1
    print(
        f"S3VC: {seconds:.1f} s, {cpu:.1f} CPU s, {model.n_iter_} evaluations, {passes} passes "
        f"over the files, {seconds / passes:.2f} s each; peak memory {peak():.0f} MB, before the "
        f"fit {before:.0f} MB",
        flush=True,
    )
    print(model.result_.message)
    unlabelled = labels == -1
    found = error(model.predict(files)[unlabelled], truth[unlabelled])
    known = sp.vstack([X[rows] for X, rows in rows_of(files, chosen)], format="csr")
    svc = LinearSVC().fit(known, truth[chosen])
    alone = np.concatenate([svc.predict(X) for X in files()])
    alone = error(alone[unlabelled], truth[unlabelled])
    print(f"accuracy {100 - found:.2f} %, of LinearSVC on the labels alone {100 - alone:.2f} %")
    bare, bare_cpu = bare_pass(files, options.columns, 1 + options.folds)
    print(
        f"bare pass with {1 + options.folds} columns: {bare:.2f} s, {bare_cpu:.2f} CPU s; the fit "
        f"takes {seconds / (passes * bare):.2f} times as long as {passes} of them, and "
        f"{cpu / (passes * bare_cpu):.2f} times their CPU time"
    )


def rows_of(files, index):
    """Yield the blocks, and which of their rows are in the index."""
    first = 0
    for X in files():
        here = index[(index >= first) & (index < first + X.shape[0])]
        yield X, here - first
        first += X.shape[0]


def bare_pass(files, columns, width):
    """Seconds and CPU seconds of reading all files, X @ W and Xᵀ @ V; mean of a few passes."""
    W, started = np.random.default_rng(0).normal(size=(columns, width)), clocks()
    for _ in range(BARE):
        total = np.zeros((columns, width))
        for X in files():
            rows = Rows(X)
            total += rows.transposed_times(rows @ W)
    return (clocks() - started) / BARE


def clocks():
    """Wall time and CPU time, in seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def peak():
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
