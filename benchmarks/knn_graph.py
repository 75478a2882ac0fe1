"""Exact neighbours of all MNIST rows: Lapwing against scikit-learn's brute force, same run.

    python benchmarks/knn_graph.py [--rows 70000] [--neighbors 15]

Prints seconds and CPU seconds of both, their ratios, the share of rows whose neighbour sets are
identical, and the growth of resident memory. Bar: a ratio of at least 1.5. The core dependencies
alone reach more than 2, so the search uses no tensor library.

Data: mnist.npz in the folder named by LAPWING_DATA, or in ../shared/data beside the repository.
"""

import argparse
import sys

import numpy as np
from sklearn.neighbors import NearestNeighbors

from common import load, measured
from lapwing.graphs import nearest_neighbors

BAR = 1.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=70_000)
    parser.add_argument("--neighbors", type=int, default=15)
    options = parser.parse_args()
    (X,) = load("mnist.npz", "X")
    X = X[: options.rows].astype(np.float32)
    k = options.neighbors

    # Small runs first, so that neither side pays for loading libraries.
    nearest_neighbors(X[:2000], k, backend="exact")
    NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X[:2000]).kneighbors()

    ours, wall, cpu, memory = measured(lambda: nearest_neighbors(X, k, backend="exact"))
    print(f"rows {X.shape[0]}, columns {X.shape[1]}, neighbours {k}")
    line = "{:<22} {:8.1f} s {:8.1f} CPU s {:8.0f} MB more memory"
    print(line.format("lapwing", wall, cpu, memory), flush=True)
    baseline = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
    theirs, their_wall, their_cpu, their_memory = measured(baseline.kneighbors)
    print(line.format("scikit-learn brute", their_wall, their_cpu, their_memory))
    same = (np.sort(ours[1], axis=1) == np.sort(theirs[1], axis=1)).all(axis=1)
    # Equal distances to different rows: both answers are right.
    tied = ~same & np.isclose(ours[0], theirs[0], rtol=1e-6).all(axis=1)
    print(f"ratio {their_wall / wall:.2f} (bar {BAR}), in CPU seconds {their_cpu / cpu:.2f}")
    print(
        f"identical neighbour sets {100 * same.mean():.3f} % of the rows; "
        f"{(~same).sum()} differ, {tied.sum()} of them by ties"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
