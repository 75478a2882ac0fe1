"""The default on all MNIST training rows, ten labels per class: seconds by stage, memory, accuracy.

make bench NAME=default
python benchmarks/default.py --labels 10 --rows 60000
"""

import argparse
import resource
import time

import numpy as np

from common import load
from experiments.data import few_labels
from lapwing import SemiSupervisedClassifier


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--labels", type=int, default=10, help="labels per class (10)")
    parser.add_argument("--rows", type=int, default=60_000, help="rows to fit (60000)")
    options = parser.parse_args()
    X, y, train = load("mnist.npz", "X", "y", "train")
    X_fit, truth = X[train][: options.rows], y[train][: options.rows]
    marks = few_labels(truth, options.labels, np.random.default_rng(0))
    hidden = marks == -1
    start = time.perf_counter()

    def report(stage, share):
        print(f"{time.perf_counter() - start:6.1f} s  {stage}", flush=True)

    model = SemiSupervisedClassifier(callback=report).fit(X_fit, marks)
    print(f"fit: {time.perf_counter() - start:.1f} s, {X_fit.shape[0]} x {X_fit.shape[1]}")
    print(f"unlabelled rows: {np.mean(model.transduction_[hidden] == truth[hidden]):.4f}")
    alone = np.mean(model.supervised_transduction_[hidden] == truth[hidden])
    print(f"the same, labelled rows alone: {alone:.4f}")
    start = time.perf_counter()
    right = np.mean(model.predict(X[~train]) == y[~train])
    print(f"new rows: {right:.4f}, {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    rows = model.suggest(20)
    model.add_labels(rows, truth[rows])
    found = np.mean(model.transduction_[hidden] == truth[hidden])
    print(f"20 suggested labels more: {time.perf_counter() - start:.1f} s, {found:.4f}")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")
    print(model.report_)


if __name__ == "__main__":
    main()
