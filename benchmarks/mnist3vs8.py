"""LapSVC on MNIST 3 against 8: the iterative solver, the dense solution and the paper's PCG.

    python benchmarks/mnist3vs8.py [--seeds 3] [--kernels poly rbf] [--passes 60] [--skip-pcg]

All 11 982 training rows of unit norm, 80 of them labelled, k = 20, p = 3, γ_A = 1e-6,
γ_I = 1e-2 (Melacci & Belkin, 2011, Table 9), with the polynomial kernel of degree 9 and with a
Gaussian kernel as wide as the median distance to the neighbours. For each kernel and seed prints

* dense     the exact solution (solver="newton"),
* auto      the iterative solver with a budget of passes over the Gram matrix,
* to tol    the same until its certificate holds,
* pcg       Algorithm 1 in float64, stopped within 1 % of the optimum or after 1000 iterations,
* stability Algorithm 1 as the paper runs it (stability check, γ_I = 0.1, Table 10),

with errors on unlabelled rows (U) and on the 1 984 test rows (T), seconds of the whole fit and of
the fit without the graph (which all share), passes and the certified gap. Then the ratios.
"""

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from common import load, measured
from experiments.data import error, unit_rows
from lapwing import KNNGraph, LapSVC

LINE = "{:<5} {:>4} {:<10} U {:5.2f} T {:5.2f} {:8.1f} s {:6d} passes  gap {:>8}  {:6.0f} MB  {}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kernels", nargs="+", default=["poly", "rbf"])
    parser.add_argument("--passes", type=int, default=60)
    parser.add_argument("--skip-pcg", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y, train = load("mnist.npz", "X", "y", "train")
    pair = np.isin(y, (3, 8))
    X_train, y_train = unit_rows(X[pair & train]), y[pair & train]
    X_test, y_test = unit_rows(X[pair & ~train]), y[pair & ~train]
    graph, graph_seconds, _, _ = measured(lambda: KNNGraph(20, power=3).fit(X_train))
    # The mean distance to the neighbours is the graph's bandwidth; the kernel takes the median.
    median = np.median(_neighbour_distances(graph))
    kernels = {
        "poly": {"kernel": "poly", "gamma": 1.0, "degree": 9, "coef0": 0.0},
        "rbf": {"kernel": "rbf", "gamma": 1.0 / (2.0 * median**2)},
    }
    n = len(y_train)
    print(f"n = {n}, graph {graph_seconds:.1f} s, K in float32 {4 * n * n / 1e6:.0f} MB")
    table = {}
    for kernel in options.kernels:
        for seed in range(options.seeds):
            labels = few_labels(y_train, seed)
            common = {**kernels[kernel], "graph": graph, "reg_ambient": 1e-6}

            def run(
                name,
                reg_manifold=1e-2,
                kernel=kernel,
                seed=seed,
                common=common,
                labels=labels,
                **settings,
            ):
                model = LapSVC(reg_manifold=reg_manifold, **common, **settings)
                _, seconds, _, memory = measured(lambda: model.fit(X_train, labels))
                unlabelled = labels == -1
                result = model.result_
                gap = "-" if result.gap is None else f"{result.relative_gap:.1e}"
                row = (
                    error(model.transduction_[unlabelled], y_train[unlabelled]),
                    error(model.predict(X_test), y_test),
                    seconds,
                    result.passes,
                    memory,
                )
                print(
                    LINE.format(kernel, seed, name, *row[:4], gap, memory, result.status),
                    flush=True,
                )
                table.setdefault((kernel, name), []).append(row)
                return result

            optimum = run("dense", solver="newton").objective
            budget = lambda step: step.passes >= options.passes  # noqa: E731
            run("auto", callback=budget)
            run("to tol")
            if not options.skip_pcg:
                close = lambda step, optimum=optimum: step.objective <= 1.01 * optimum  # noqa: E731
                run("pcg", solver="pcg", tol=0.0, max_iter=1000, callback=close)
                run("stability", 0.1, solver="pcg", stopping="stability", tol=0.0)

    print("\nmeans over seeds, and ratios of seconds (the graph's own time added to each side)")
    for (kernel, name), rows in table.items():
        mean = np.mean(rows, axis=0)
        ratio = {
            other: (np.mean(table[kernel, other], axis=0)[2] + graph_seconds)
            / (mean[2] + graph_seconds)
            for other in ("dense", "pcg")
            if (kernel, other) in table
        }
        ratio_text = ", ".join(f"{r:.1f} times faster than {o}" for o, r in ratio.items())
        share = mean[4] / (4 * n * n / 1e6)
        print(
            f"{kernel:<5} {name:<10} U {mean[0]:5.2f} T {mean[1]:5.2f} {mean[2]:7.1f} s "
            f"{mean[3]:7.1f} passes, memory {share:.2f} K: {ratio_text}"
        )


def few_labels(y, seed, per_class=40):
    """Labels of 40 rows of each class; -1 elsewhere."""
    rng = np.random.default_rng(seed)
    labels = np.full(len(y), -1)
    for c in np.unique(y):
        chosen = rng.choice(np.flatnonzero(y == c), per_class, replace=False)
        labels[chosen] = c
    return labels


def _neighbour_distances(graph):
    """Distances along the edges, from the heat weights exp(-d²/2σ²)."""
    return graph.bandwidth_ * np.sqrt(-2.0 * np.log(graph.affinity_.data))


if __name__ == "__main__":
    main()
