"""The smoothest functions on a graph
==================================

Six eigenvectors of the Laplacian of a neighbour graph, plotted over the rows of a ring and two
blobs. No label is used. The first has one sign everywhere. Only a few edges join the three
clusters, so two more eigenvalues are nearly zero, and their eigenvectors separate the clusters.
The next ones vary within a cluster, as slowly as the graph permits: once around the ring, then
twice. The embedded models build their functions from such vectors, with coefficients that are
fitted to the labels.

Run it::

    python examples/eigenvectors.py            # writes output/eigenvectors.png
    python examples/eigenvectors.py --out eigenvectors.png
"""

import argparse
from pathlib import Path

import numpy as np

from lapwing import KNNGraph
from lapwing.displays import new_figure


def ring_and_blobs() -> np.ndarray:
    """Return 300 rows on a ring and 150 in each of two blobs."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2 * np.pi, 300)
    ring = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    ring += rng.normal(scale=0.12, size=ring.shape)
    blobs = [rng.normal(size=(150, 2)) * [1.1, 0.3] + [5.0, height] for height in (-1.3, 1.3)]
    return np.vstack([ring, *blobs])


def main() -> None:
    parser = argparse.ArgumentParser(description="Eigenvectors of a neighbour graph.")
    parser.add_argument("--out", type=Path, default=Path("output/eigenvectors.png"))
    out = parser.parse_args().out

    X = ring_and_blobs()
    graph = KNNGraph().fit(X)
    values, vectors = graph.eigenpairs(8)
    print(f"components of the graph: {graph.n_components_}")
    print("eigenvalues:", np.round(values, 4))

    figure = new_figure(12.0, 4.4)
    axes = figure.subplots(2, 3)
    for i, ax in enumerate(axes.flat):
        v = vectors[:, i]
        bound = np.abs(v).max()
        points = ax.scatter(*X.T, c=v, s=12, cmap="PuOr", vmin=-bound, vmax=bound)
        ax.set_title(f"eigenvector {i + 1}, eigenvalue {abs(values[i].round(5)):g}")
        ax.set(xticks=[], yticks=[], aspect="equal", facecolor="#e8e8e8")
    bar = figure.colorbar(points, ax=axes, shrink=0.6)
    bar.set_ticks([-bound, 0.0, bound], labels=["negative", "0", "positive"])

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
