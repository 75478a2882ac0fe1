"""The smoothest functions on the neighbour graph of MNIST: ARPACK against Chebyshev filters.

    python benchmarks/graph_spectrum.py [--rows 60000] [--neighbors 20] [--pairs 20 50 100]

Prints, for each number of eigenpairs, method and tolerance: seconds and CPU seconds, columns
multiplied by the Laplacian, the largest residual ‖Lv − σv‖, the same in units of what the
tolerance allows, and the largest eigenvalue. It is why the library uses the filters.

Data: mnist.npz in the folder named by LAPWING_DATA, or in ../shared/data beside the repository.
"""

import argparse
import sys

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from common import load, measured
from lapwing.graphs import KNNGraph, smallest_eigenpairs
from lapwing.graphs.filters import spectrum_bound
from lapwing.graphs.spectrum import FLOOR
from lapwing.operators.sparse import SparseOperator


class CountingOperator(SparseOperator):
    """Counts columns, since the methods multiply blocks of different widths."""

    columns_multiplied = 0

    def _apply(self, V):
        self.columns_multiplied += V.shape[1]
        return super()._apply(V)


def chebyshev(L, k, tol):
    return smallest_eigenpairs(L, k, tol=tol, method="chebyshev")


def lanczos(L, k, tol):
    """ARPACK on upper - L, off the known null space, whose vectors are put in front."""
    n, upper = L.shape[0], spectrum_bound(L)
    known = L.null_space.toarray()[:, :k]
    wanted = k - known.shape[1]
    if wanted == 0:
        return np.zeros(k), known

    def apply(v):
        v = L.without_null_space(v)
        return L.without_null_space(upper * v - L @ v)

    start = np.random.default_rng(0).standard_normal(n)
    _, V = eigsh(
        LinearOperator((n, n), matvec=apply, dtype=np.float64),
        k=wanted,
        which="LA",
        tol=FLOOR * tol,
        v0=L.without_null_space(start),
        ncv=min(n, max(2 * wanted + 1, wanted + 40)),
    )
    V = np.hstack([known, V[:, ::-1]])
    return (V * (L @ V)).sum(axis=0), V


def report(laplacian, pairs, methods=(lanczos, chebyshev), tolerances=(1e-2, 1e-3)):
    upper = spectrum_bound(laplacian)
    for k in pairs:
        for method in methods:
            for tol in tolerances:
                L = CountingOperator(laplacian.matrix, laplacian.null_space)
                (values, V), wall, cpu, _ = measured(
                    lambda L=L, k=k, tol=tol, method=method: method(L, k, tol)
                )
                count = L.columns_multiplied
                residuals = np.linalg.norm(L @ V - V * values, axis=0)
                share = (residuals / np.maximum(values, FLOOR * upper)).max() / tol
                print(
                    f"{k:4d} pairs  {method.__name__:<9}  tol {tol:.0e}  {wall:6.1f} s  "
                    f"{cpu:6.1f} CPU s  "
                    f"{count:6d} columns  residual {residuals.max():.1e} ({share:.1e} of the "
                    f"allowed)  largest eigenvalue {values[-1]:.5f}",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--neighbors", type=int, default=20)
    parser.add_argument("--pairs", type=int, nargs="+", default=[20, 50, 100])
    options = parser.parse_args()
    (X,) = load("mnist.npz", "X")
    X = X[: options.rows].astype(np.float32)
    graph, wall, cpu, _ = measured(lambda: KNNGraph(options.neighbors).fit(X))
    print(
        f"rows {graph.n_samples_}, neighbours {options.neighbors}, components "
        f"{graph.n_components_}; graph {wall:.1f} s, {cpu:.1f} CPU s",
        flush=True,
    )
    report(graph.laplacian_, options.pairs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
