"""The whole MNIST training part, 60 000 rows and 10 classes, with 100 labels.

    python benchmarks/mnist_full.py [--memory 20GB] [--max-iter 60] [--seed 0] [--power 3]

Fits LapSVC with a Gaussian kernel within a memory limit, predicts the 10 000 test rows, and
prints time, error, passes over the Gram matrix and the certificate as the iterations go.
Baseline of the same run: scikit-learn's SVC on the 100 labelled rows.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from common import load, measured
from experiments.data import error, unit_rows
from lapwing import KNNGraph, LapSVC


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--memory", default="20GB")
    parser.add_argument("--max-iter", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--power", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y, train = load("mnist.npz", "X", "y", "train")
    X_train, y_train = unit_rows(X[train])[: options.rows], y[train][: options.rows]
    X_test, y_test = unit_rows(X[~train]), y[~train]
    rng = np.random.default_rng(options.seed)
    labels = np.full(len(y_train), -1)
    for c in range(10):
        labels[rng.choice(np.flatnonzero(y_train == c), 10, replace=False)] = c
    labelled = labels >= 0
    supervised = SVC().fit(X_train[labelled], labels[labelled])
    print(f"SVC on the labels alone: T {error(supervised.predict(X_test), y_test):.2f} %")

    graph, seconds, _, memory = measured(lambda: KNNGraph(20, power=options.power).fit(X_train))
    print(f"graph {seconds:.1f} s, {memory:.0f} MB", flush=True)
    gamma = 1.0 / (2.0 * graph.bandwidth_**2)
    started = time.perf_counter()

    def progress(step):
        decided = step.function.values.argmax(axis=1)
        gap = np.nan if step.gap is None else step.gap / step.objective
        wrong = error(decided[~labelled], y_train[~labelled])
        print(
            f"  iteration {step.iteration:3d} {time.perf_counter() - started:7.1f} s "
            f"{step.passes:3d} passes  objective {step.objective:.5g}  certified gap "
            f"{gap:.1e}  U {wrong:.2f}",
            flush=True,
        )

    model = LapSVC(
        gamma=gamma,
        graph=graph,
        reg_ambient=1e-6,
        reg_manifold=1e-2,
        memory_limit=options.memory,
        max_iter=options.max_iter,
        callback=progress,
    )
    _, seconds, cpu, memory = measured(lambda: model.fit(X_train, labels))
    predicted, predict_seconds, _, _ = measured(lambda: model.predict(X_test))
    print(model.result_.message)
    print(
        f"fit {seconds:.1f} s ({cpu:.0f} CPU s), {memory:.0f} MB, {model.result_.passes} passes; "
        f"10 000 predictions {predict_seconds:.1f} s"
    )
    print(
        f"errors: U {error(model.transduction_[~labelled], y_train[~labelled]):.2f} %, "
        f"T {error(predicted, y_test):.2f} %"
    )


if __name__ == "__main__":
    main()
