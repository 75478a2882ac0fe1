"""What a GPU gains: neighbours, exact Laplacian models, prototypes and the default, beside the CPU.

    python benchmarks/gpu.py [--device cuda] [--parts neighbours exact same margin ...]
                             [--scale 1.0] [--cpu] [--data FOLDER]

Each part is run twice on the device, which includes copies from and to the host, and the second
time is printed with the peak of its memory; the first one loads libraries and reserves memory.
``--cpu`` runs it without a device as well, where that takes minutes at most. ``--scale`` shrinks
all sizes, and ``--device cpu`` computes with torch on the host: a check of the script.

neighbours  15 exact neighbours of MNIST, 70 000 rows, and of a million rows of 50 columns.
exact       LapSVC over 60 000 rows of MNIST, 10 labels per class, from rows on the host to the
            classes of the 10 000 test rows, for odd and even powers of the Laplacian.
same        Decision values of LapSVC over 8 000 of these rows, on the device and on the CPU.
margin      S3VC over 72 000 generated texts of 21 000 words, 20 restarts as columns of one problem:
            the time of an evaluation with its share of the direction, and of the whole fit.
prototypes  PVMClassifier with 500 prototypes over 10 million rows of 50 columns in float32.
default     SemiSupervisedClassifier over MNIST and over a million rows of 50 columns.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from common import load, topics
from lapwing import S3VC, KNNGraph, LapSVC, PVMClassifier, SemiSupervisedClassifier, use_device
from lapwing.graphs.neighbors import nearest_neighbors

PARTS = ("neighbours", "exact", "same", "margin", "prototypes", "default")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    if options.data:
        os.environ["LAPWING_DATA"] = str(options.data)
    with use_device(options.device):
        print(f"device {options.device}{device_name()}, {os.cpu_count()} CPUs")
    for part in options.parts:
        globals()[part](options)


def neighbours(options):
    """Print the time of exact neighbours."""
    X, *_ = mnist(options, 70_000)
    report(options, f"15 neighbours, {len(X)} x {X.shape[1]}", lambda: nearest_neighbors(X, 15))
    X, _, _ = clusters(options, 1_000_000)
    title = f"15 neighbours, {len(X)} x {X.shape[1]}"
    report(
        options,
        title,
        lambda: nearest_neighbors(X, 15, backend="exact"),
        on_cpu=options.scale < 0.2,
    )


def exact(options):
    """Print the time of exact fits with predictions, and their errors."""
    X, truth, T, truth_T = mnist(options, 60_000, test=True)
    y = some_labels(truth, 10)
    for power in (1, 2, 3):

        def fit(power=power):
            graph = KNNGraph(20, power=power)
            model = LapSVC(
                graph=graph, gamma=0.7, reg_ambient=1e-6, reg_manifold=1e-2, solver="newton"
            )
            return model.fit(X, y).predict(T)

        title = f"LapSVC, {len(X)} rows, p = {power}"
        found = report(options, title, fit, on_cpu=len(X) <= 8_000)
        print(f"    test error {100 * np.mean(found != truth_T):.2f} %")


def same(options):
    """Print how far decision values on the device are from those of the CPU."""
    X, truth, T, _ = mnist(options, 8_000, test=True)
    y = some_labels(truth, 10)
    for power in (1, 2):
        model = LapSVC(graph=KNNGraph(20, power=power), reg_ambient=1e-6, reg_manifold=1e-2)
        host = model.fit(X, y).decision_function(T)
        with use_device(options.device):
            device = model.fit(X, y).decision_function(T)
            again = model.fit(X, y).decision_function(T)
        print(
            f"LapSVC, {len(X)} rows, p = {power}: decision values differ by "
            f"{np.abs(host - device).max():.1e} of {np.abs(host).max():.2f} at most; "
            f"repeated to the bit: {np.array_equal(device, again)}"
        )


def margin(options):
    """Print the time of a linear S3VC with 20 columns over sparse rows."""
    n, d = int(72_000 * options.scale), int(21_000 * options.scale)
    X, truth = topics(n, d, np.random.default_rng(0), words=51, own=0.3)
    y = some_labels(truth, 100)
    model = S3VC(reg=1e-3, n_init=20, calibration_folds=0)
    title = f"S3VC, {n} x {d} sparse, 20 columns"
    report(options, title, lambda: model.fit(X, y), each=lambda found: found.n_iter_)
    print(f"    error {100 * np.mean(model.transduction_ != truth):.2f} %")


def prototypes(options):
    """Print the time of a prototype vector machine over rows in memory."""
    X, truth, _ = clusters(options, 10_000_000)
    y = some_labels(truth, 20)
    title = f"PVMClassifier, {len(X)} x {X.shape[1]}"
    fit = PVMClassifier(n_prototypes=500).fit
    report(options, title, lambda: fit(X, y), on_cpu=options.scale <= 1.0)
    model = fit(X, y)
    report(options, "    its predictions", lambda: model.predict(X), on_cpu=False)


def default(options):
    """Print the time of the default."""
    X, truth, T, truth_T = mnist(options, 60_000, test=True)
    y = some_labels(truth, 10)
    model = SemiSupervisedClassifier()
    report(options, f"default, {len(X)} rows of MNIST", lambda: model.fit(X, y))
    print(f"    test error {100 * np.mean(model.predict(T) != truth_T):.2f} %")
    X, truth, _ = clusters(options, 1_000_000)
    y = some_labels(truth, 20)
    report(options, f"default, {len(X)} x {X.shape[1]}", lambda: model.fit(X, y))


def report(options, title, function, *, on_cpu=True, each=None):
    """Print the seconds of the second call on the device, its memory, and those of the CPU.

    ``each`` takes the result to a number of evaluations, whose milliseconds are printed, too.
    """
    with use_device(options.device):
        first = timed(options, function)[0]
        seconds, peak, found = timed(options, function)
    line = f"{title}: {seconds:.2f} s ({first:.2f} s the first time), {peak:.1f} GB"
    if each is not None:
        line += f", {1e3 * seconds / each(found):.1f} ms for each of {each(found)} evaluations"
    if options.cpu and on_cpu:
        on_host, _, found = timed(None, function)
        line += f"; CPU {on_host:.2f} s"
        line += "" if each is None else f", {1e3 * on_host / each(found):.1f} ms"
    print(line, flush=True)
    return found


def timed(options, function):
    """Return seconds, peak of device memory in GB, and the result."""
    torch = None
    if options is not None and options.device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    found = function()
    if torch is not None:
        torch.cuda.synchronize()
    seconds = time.perf_counter() - started
    return seconds, 0.0 if torch is None else torch.cuda.max_memory_allocated() / 1e9, found


def device_name():
    import torch

    return f" ({torch.cuda.get_device_name()})" if torch.cuda.is_available() else ""


def mnist(options, n, test=False):
    """Return rows of unit length with their classes, and those of the test part."""
    X, y, train = load("mnist.npz", "X", "y", "train")
    X = X.astype(np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    n = int(n * options.scale)
    if not test:
        return X[:n], y[:n].astype(int)
    own, other = np.flatnonzero(train)[:n], np.flatnonzero(~train.astype(bool))
    return X[own], y[own].astype(int), X[other], y[other].astype(int)


def clusters(options, n):
    """Return rows of 50 columns in float32 from 20 Gaussians, two to a class."""
    n, rng = int(n * options.scale), np.random.default_rng(0)
    centres = 2.0 * rng.standard_normal((20, 50))
    code = rng.integers(0, 20, n)
    X = rng.standard_normal((n, 50), dtype=np.float32)
    for cluster in range(20):
        X[code == cluster] += centres[cluster].astype(np.float32)
    return X, code % 10, centres


def some_labels(truth, each):
    """Return the labels of some random rows per class, and -1 for the others."""
    rng, y = np.random.default_rng(0), np.full(len(truth), -1)
    for code in np.unique(truth):
        y[rng.choice(np.flatnonzero(truth == code), each, replace=False)] = code
    return y


if __name__ == "__main__":
    main()
