"""LapESVC on extended USPS by size, compared with scikit-learn's SVR on the same dual.

    python benchmarks/embedded_scale.py [--rows 5000 10000 20000 40000 75383] [--memory 3GB]

676 columns, 20 labels, 10 eigenvectors, C = 10, λ = 100, μ = 0.1 (a choice by the protocol of Table
III), ε = 0.1, tolerance 1e-3 (the violation of the optimality conditions, as in LIBSVM). Prints
seconds for the graph, for its eigenvectors and for the quadratic program, working sets, support
rows, rows of K made, the largest violation at the end, the growth of resident memory beyond X in
all three, and the growth exponents of the times.

At 10 000 rows scikit-learn's SVR solves the same dual, its matrix K + K_G formed beforehand (which
counts) and given as precomputed; the dual objectives are printed.
"""

import argparse
import time

import numpy as np
from sklearn.svm import SVR

from common import data_folder, measured
from experiments.chen2012_rounds import extended_usps
from experiments.data import mean_distance_gamma
from lapwing import KNNGraph, LapESVC

C, EPSILON, TOLERANCE = 10.0, 0.1, 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[5000, 10000, 20000, 40000, 75383])
    parser.add_argument("--memory", default="3GB", help="memory_limit of the estimator")
    parser.add_argument("--beside", type=int, default=10000, help="rows for SVR; 0 for none")
    options = parser.parse_args()
    X, y = next(extended_usps(data_folder("usps.npz"), train=False))
    order = np.random.default_rng(0).permutation(len(X))
    labelled = np.concatenate([order[y[order] == c][:10] for c in (0, 1)])
    order = np.concatenate([labelled, order[~np.isin(order, labelled)]])
    sizes, times = [], []
    print(
        "   rows  graph  spectrum     QP  total  sets  support  rows made  violation     MB  error",
        flush=True,
    )
    for n in options.rows:
        part, truth = X[order[:n]], y[order[:n]]
        marks = np.where(np.arange(n) < len(labelled), truth, -1)
        model = LapESVC(
            C=C,
            epsilon=EPSILON,
            reg_labeled=1e2,
            reg_manifold=0.1,
            n_eigenvectors=10,
            gamma=mean_distance_gamma(part),
            graph=KNNGraph(6),
            tol=TOLERANCE,
            memory_limit=options.memory,
        )
        seconds, total, _, grown = measured(lambda: stages(model, part, marks))  # noqa: B023
        last = model.result_.history[-1]
        wrong = 100 * np.mean(model.transduction_ != truth)
        print(
            f"{n:7d} {seconds[0]:6.1f} {seconds[1]:9.1f} {seconds[2]:6.1f} {total:6.1f} "
            f"{model.n_iter_:5d} "
            f"{len(model.support_):8d} {last['rows_made']:10.0f} {last['violation']:10.1e} "
            f"{grown:6.0f} {wrong:6.2f}",
            flush=True,
        )
        sizes.append(n)
        times.append([*seconds, total])
        if n == options.beside:
            beside(model, part, seconds[2])
    if len(sizes) > 1:
        growth = [np.polyfit(np.log(sizes), np.log(t), 1)[0] for t in np.array(times).T]
        names = "graph", "spectrum", "QP", "total"
        print(
            "growth exponents: "
            + ", ".join(f"{k} {v:.2f}" for k, v in zip(names, growth, strict=True))
        )


def stages(model, X, marks):
    """Fit, and return the seconds for the graph, for its eigenvectors and for the rest."""
    clock = [time.perf_counter()]
    model.graph.fit(X)
    clock.append(time.perf_counter())
    model.graph.eigenpairs(model.n_eigenvectors)
    clock.append(time.perf_counter())
    model.fit(X, marks)
    clock.append(time.perf_counter())
    return np.diff(clock)


def beside(model, X, seconds):
    """Print the time of scikit-learn (one thread) on the dual of a fitted estimator."""
    start = time.perf_counter()
    Q = model.kernel_.block(*[model.kernel_.prepare(X)] * 2)
    Q += model.embedding_ @ model.embedding_.T
    formed = time.perf_counter() - start
    svr = SVR(kernel="precomputed", C=C, epsilon=EPSILON, tol=TOLERANCE, cache_size=1000)
    svr.fit(Q, model.virtual_targets_)
    total = time.perf_counter() - start
    other = np.zeros(len(X))
    other[svr.support_] = svr.dual_coef_[0]
    objectives = [
        0.5 * beta @ (Q @ beta) - model.virtual_targets_ @ beta + EPSILON * np.abs(beta).sum()
        for beta in (model.dual_coef_[0], other)
    ]
    print(
        f"        SVR, precomputed: {formed:.1f} s to form the matrix, {total - formed:.1f} s to "
        f"solve; LapESVC took {seconds / total:.2f} times as long. Dual objectives "
        f"{objectives[0]:.6f} (LapESVC) and {objectives[1]:.6f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
