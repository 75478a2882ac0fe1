"""Shared by the single scripts: finding or generating data, measuring time and memory."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from experiments.data import VARIABLE, DataFolder

ROOT = Path(__file__).resolve().parents[1]


def data_folder(name):
    """Return the folder of the data sets, or exit with a message if this file is missing."""
    folder = DataFolder(Path(os.environ.get(VARIABLE) or ROOT.parent / "shared" / "data"))
    if folder.missing((name,)):
        print(f"No {name} in {folder.path}: set {VARIABLE} to its folder. Nothing measured.")
        raise SystemExit(0)
    return folder


def load(name, *keys):
    """Return arrays of a data set, or exit with a message if its file is missing."""
    return data_folder(name).load(name, *keys)


def resident_bytes():
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not Linux
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE")


def measured(function):
    """Result, seconds, CPU seconds and peak growth of resident memory in MB."""
    before = peak = resident_bytes()
    done = threading.Event()

    def watch():
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, resident_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        result = function()
    finally:
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        done.set()
        watcher.join()
    return result, wall, cpu, (peak - before) / 1e6


def topics(rows, columns, rng, words=60, own=0.2):
    """TF-IDF of words from two Zipf distributions that differ in the share ``own``; topics."""
    y = rng.integers(0, 2, rows)
    popularity = 1.0 / np.arange(10, columns + 10)
    cumulated = []
    for topic in range(2):
        tilt = np.random.default_rng(topic).gamma(0.5, 2.0, columns)
        share = popularity * (1.0 - own + own * tilt)
        cumulated.append(np.cumsum(share / share.sum()))
    drawn = rng.random((rows, words))
    column = np.where(
        y[:, None] == 0, np.searchsorted(cumulated[0], drawn), np.searchsorted(cumulated[1], drawn)
    )
    column = np.minimum(column, columns - 1)
    row = np.repeat(np.arange(rows), words)
    counts = sp.csr_matrix((np.ones(rows * words), (row, column.ravel())), shape=(rows, columns))
    return TfidfTransformer().fit_transform(counts).tocsr(), y


def indicators(rows, rng, columns=40, clusters=50, classes=5, typical=0.5):
    """One-hot CSR rows of categories with 5 to 12 values, and classes that are sets of clusters.

    With the probability ``typical`` a row has the value that is typical of its cluster.
    """
    sizes = rng.integers(5, 13, columns)
    cluster = rng.integers(0, clusters, rows)
    usual, other = (
        rng.integers(0, sizes, (clusters, columns)),
        rng.integers(0, sizes, (rows, columns)),
    )
    value = np.where(rng.random((rows, columns)) < typical, usual[cluster], other)
    column = value + np.cumsum(sizes) - sizes
    starts = np.arange(0, rows * columns + 1, columns)
    X = sp.csr_matrix((np.ones(rows * columns), column.ravel(), starts), (rows, sizes.sum()))
    return X, cluster % classes
