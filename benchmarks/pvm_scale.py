"""PVMClassifier from 100 000 to 10 million rows: time, memory, and the exponent of the time.

    python benchmarks/pvm_scale.py [--rows 100000 300000 1000000 3000000] [--prototypes 500]
                                   [--mapped 10000000] [--blocks] [--kmeans [digits ...]]

Rows of 50 columns from 20 Gaussians, two to a class, 20 labels a class, in float64; the whole fit,
k-means and `transduction_` included, with default parameters. Beside it, in the same run: two bare
tiled products with the kernel matrix of rows and prototypes, which is evaluated anew in each; once
with a vector (K v and Kᵀ1), and once the products that the method needs (KᵀDK and KᵀK). Memory is
the growth of the process's resident memory, beyond X.

--mapped N writes N rows of float32 to a file (200 bytes a row, removed at the end) and fits from
the memory map, whose pages the system may count or drop; --blocks reads the same file in blocks.

--kmeans compares the centres alone with scikit-learn's, on the sample that they are computed from:
MiniBatchKMeans and ten iterations of KMeans, both from k-means++. The inertia is the mean squared
distance to the nearest centre, relative to that of ours. Without names, all data sets are used;
KMeans is left out above 10^10 distances times columns, where it takes minutes.
"""

import argparse
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits

from common import load, measured
from experiments.data import error
from lapwing import PVMClassifier
from lapwing.arrays.blocks import RowBlocks
from lapwing.spaces.kmeans import kmeans_landmarks, kmeans_rows
from lapwing.spaces.prototypes import Similarities, tile_rows

COLUMNS, CLUSTERS, CLASSES, LABELS = 50, 20, 10, 20
BLOCK = 100_000
#: Data sets for k-means, with numbers of centres.
CENTRES = {"digits": (100, 500), "usps": (500,), "clusters": (500,), "mnist": (500, 2000)}
SEEDS, MOST_OF_KMEANS = 2, 1e10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=int, nargs="*", default=[100_000, 300_000, 1_000_000, 3_000_000]
    )
    parser.add_argument("--prototypes", type=int, default=500)
    parser.add_argument("--mapped", type=int, help="rows in a memory-mapped file")
    parser.add_argument("--blocks", action="store_true", help="and in blocks")
    parser.add_argument("--kmeans", nargs="*", choices=CENTRES, help="compare the centres alone")
    options = parser.parse_args()
    if options.kmeans is not None:
        for name in options.kmeans or CENTRES:
            for m in CENTRES[name]:
                centres(name, m)
        return
    seconds = []
    for n in options.rows:
        X = np.empty((n, COLUMNS))
        y, truth = write(X)
        model = PVMClassifier(n_prototypes=options.prototypes)
        model.fit(X[:2000], y[:2000])  # threads and libraries are loaded
        model, wall, cpu, grown = measured(lambda X=X, y=y, model=model: model.fit(X, y))
        seconds.append(wall)
        print(
            f"{n:>9} rows: {wall:6.2f} s, {cpu:6.2f} CPU s, {grown:5.0f} MB beyond X "
            f"({X.nbytes / 1e6:.0f} MB), error {error(model.transduction_, truth):.2f} %",
            flush=True,
        )
        vector, gram = bare_products(X, model)
        print(
            f"           two bare products: with vectors {vector:.2f} s, the fit takes "
            f"{wall / vector:.1f} times that; with the matrix itself {gram:.2f} s, "
            f"{wall / gram:.1f} times",
            flush=True,
        )
        del X
    if len(seconds) > 1:
        slope = np.polyfit(np.log(options.rows), np.log(seconds), 1)[0]
        print(f"time grows as rows^{slope:.2f}")
    if options.mapped:
        mapped(options)


def write(X):
    """Fill X with rows, in blocks; return labels, -1 for most, and the classes."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.standard_normal((CLUSTERS, COLUMNS))
    cluster = rng.integers(0, CLUSTERS, len(X))
    for first in range(0, len(X), BLOCK):
        part = slice(first, first + BLOCK)
        own = centres[cluster[part]]
        X[part] = own + rng.standard_normal(own.shape)
    truth = cluster % CLASSES
    y = np.full(len(X), -1)
    for label in range(CLASSES):
        y[np.flatnonzero(truth == label)[:LABELS]] = label
    return y, truth


def bare_products(X, model):
    """Seconds of two products with the kernel matrix: with vectors, and with itself."""
    rows, m = RowBlocks.of(X), len(model.prototypes_)
    kernel = Similarities(model.kernel_, model.prototypes_)
    v = np.ones(m)

    def timed(*functions):
        start = time.perf_counter()
        for function in functions:
            function()
        return time.perf_counter() - start

    def add_sum(sums, tile):
        sums[0] += kernel.raw(tile).sum(axis=0)

    def add_gram(sums, tile):
        K = kernel.raw(tile)
        sums[0] += K.T @ K

    def gram():
        rows.sum("", lambda: [np.zeros((m, m))], add_gram, tile_rows(m))

    vector = timed(
        lambda: rows.sum("", lambda: [np.zeros(m)], add_sum, tile_rows(m)),
        lambda: rows.map("", lambda tile: kernel.raw(tile) @ v, tile_rows(m)),
    )
    return vector, timed(gram, gram)


def centres(name, m):
    """Print the time and the inertia of centres, beside those of scikit-learn."""
    X = rows_of(name).astype(float)
    if len(X) > kmeans_rows(m):
        X = X[np.random.default_rng(0).choice(len(X), kmeans_rows(m), replace=False)]
    methods = {
        "ours": lambda seed: kmeans_landmarks(X, m, np.random.default_rng(seed)),
        "MiniBatchKMeans": partial(
            of_sklearn, MiniBatchKMeans(m, n_init=1, batch_size=max(1024, 4 * m)), X
        ),
    }
    if X.size * m <= MOST_OF_KMEANS:
        methods["KMeans"] = partial(of_sklearn, KMeans(m, n_init=1, max_iter=10), X)
    own = None
    for method, centres_of in methods.items():
        runs = [measured(partial(centres_of, seed)) for seed in range(SEEDS)]
        found = np.mean([inertia(X, V) for V, *_ in runs])
        wall, cpu = np.mean([run[1:3] for run in runs], axis=0)
        own = found if own is None else own
        print(
            f"{name:>8}, {len(X)} x {X.shape[1]}, {m:>4} centres, {method:<15}: {wall:6.2f} s, "
            f"{cpu:6.2f} CPU s, inertia {found / own:.3f}",
            flush=True,
        )


def rows_of(name):
    if name == "digits":
        return load_digits().data
    if name == "clusters":
        X = np.empty((1_000_000, COLUMNS))
        write(X)
        return X
    if name == "usps":
        return load("usps11000.npz", "X")[0]
    X, train = load("mnist.npz", "X", "train")
    return X[train.astype(bool)]


def of_sklearn(model, X, seed):
    return model.set_params(random_state=seed).fit(X).cluster_centers_


def inertia(X, V):
    """Return the mean squared distance to the nearest centre."""
    X, V = X - X.mean(axis=0), V - X.mean(axis=0)
    half = (V * V).sum(axis=1) / 2.0
    parts = np.array_split(X, max(len(X) * len(V) // 10_000_000, 1))
    most = np.concatenate([(part @ V.T - half).max(axis=1) for part in parts])
    return float((X * X).sum(axis=1).mean() - 2.0 * most.mean())


def mapped(options):
    """Fit from a file."""
    with TemporaryDirectory() as folder:
        path, shape = Path(folder) / "rows.f32", (options.mapped, COLUMNS)
        start = time.perf_counter()
        X = np.memmap(path, dtype=np.float32, mode="w+", shape=shape)
        y, truth = write(X)
        X.flush()
        print(f"{options.mapped} rows written in {time.perf_counter() - start:.0f} s", flush=True)
        X = np.memmap(path, dtype=np.float32, mode="r", shape=shape)
        parts = [slice(i, i + BLOCK) for i in range(0, len(X), BLOCK)]
        fits = {"from the memory map": lambda model: model.fit(X, y)}
        if options.blocks:
            fits["in blocks"] = lambda model: model.fit(
                lambda: ((np.array(X[part]), y[part]) for part in parts)
            )
        for how, fit in fits.items():
            model = PVMClassifier(n_prototypes=options.prototypes)
            model, wall, cpu, grown = measured(lambda fit=fit, model=model: fit(model))
            print(
                f"{how}: {wall:.0f} s, {cpu:.0f} CPU s, resident memory grows by {grown:.0f} MB "
                f"(file {X.nbytes / 1e6:.0f} MB), error {error(model.transduction_, truth):.2f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
