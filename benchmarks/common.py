"""What the benchmarks share: finding or making data, measuring time and memory."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

ROOT = Path(__file__).resolve().parents[1]


def load(name, *keys):
    """Arrays of a data set, or exit with a message where the folder has it not."""
    folder = Path(os.environ.get("LAPWING_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / name).is_file():
        print(f"No {name} in {folder}: set LAPWING_DATA to its folder. Nothing measured.")
        raise SystemExit(0)
    with np.load(folder / name) as file:
        return [file[key] for key in keys]


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


def unit_rows(X):
    """Rows of unit length, in float64."""
    X = X.astype(np.float64)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def error(predicted, truth):
    """Error in percent."""
    return 100.0 * float(np.mean(predicted != truth))


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


def mean_distance_gamma(X):
    """The width n² / Σ‖xᵢ − xⱼ‖² of Chen, Tsang & Xu (2012)."""
    squares = float(X.multiply(X).sum()) if sp.issparse(X) else float(np.einsum("ij,ij->", X, X))
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    return 1.0 / (2.0 * (squares / X.shape[0] - float(mean @ mean)))


def shifted(images, shift=5):
    """Square images on a larger canvas at all places, shape (121 n, 26²) for 16 × 16 pixels.

    The canvas is ``shift`` pixels wider on every side and has the darkest value of the images, so
    that no pixel is lost: the extension of USPS by Tsang, Kwok & Cheung (2005).
    """
    n, side = len(images), round(images.shape[1] ** 0.5)
    places, wide = 2 * shift + 1, side + 2 * shift
    out = np.full((n, places, places, wide, wide), images.min(), dtype=images.dtype)
    for row in range(places):
        for column in range(places):
            out[:, row, column, row : row + side, column : column + side] = images.reshape(
                n, side, side
            )
    return out.reshape(n * places * places, wide * wide)


def extended_usps(train, images_at_a_time=None):
    """Yield rows and digits, 0 or 1, of extended USPS: 266 079 for training, 75 383 for test."""
    X, y, mask = load("usps.npz", "X", "y", "train")
    keep = (y < 2) & (mask == train)
    X, y = X[keep].astype(np.float32), y[keep].astype(int)
    step = images_at_a_time or len(X)
    for first in range(0, len(X), step):
        part = slice(first, first + step)
        yield shifted(X[part]), np.repeat(y[part], 121)
