"""The default on many rows, ten labels per class: seconds by stage, memory, accuracy.

The rows are MNIST digits, one-hot indicators of categories, or the small digits of scikit-learn.

make bench NAME=default
python benchmarks/default.py --labels 10 --rows 60000
python benchmarks/default.py --data indicators --rows 80000
python benchmarks/default.py --data digits --rows 1500 --labels 5
"""

import argparse
import resource
import time

import numpy as np
from sklearn.datasets import load_digits

from common import indicators, load
from experiments.data import few_labels
from lapwing import SemiSupervisedClassifier

TEST_ROWS = 10_000  # indicators; MNIST has test rows of its own


def rows_of(data, rows):
    """Return rows to fit with their classes, and new rows with theirs."""
    if data == "mnist":
        X, y, train = load("mnist.npz", "X", "y", "train")
        return X[train][:rows], y[train][:rows], X[~train], y[~train]
    if data == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        X, y = indicators(rows + TEST_ROWS, np.random.default_rng(0))
    return X[:rows], y[:rows], X[rows:], y[rows:]


class Stages:
    """Prints the wall and CPU seconds of each stage when the next one begins."""

    def __init__(self):
        self.stage, self.wall, self.cpu = None, time.perf_counter(), time.process_time()

    def __call__(self, stage, share=None):
        wall, cpu = time.perf_counter(), time.process_time()
        if self.stage is not None:
            print(
                f"{wall - self.wall:6.1f} s {cpu - self.cpu:6.1f} s CPU  {self.stage}", flush=True
            )
        self.stage, self.wall, self.cpu = stage, wall, cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", choices=("mnist", "indicators", "digits"), default="mnist")
    parser.add_argument("--labels", type=int, default=10, help="labels per class (10)")
    parser.add_argument("--rows", type=int, default=60_000, help="rows to fit (60000)")
    options = parser.parse_args()
    X_fit, truth, X_new, y_new = rows_of(options.data, options.rows)
    marks = few_labels(truth, options.labels, np.random.default_rng(0))
    hidden = marks == -1
    stages = Stages()
    start = time.perf_counter()
    model = SemiSupervisedClassifier(callback=stages).fit(X_fit, marks)
    print(f"fit: {time.perf_counter() - start:.1f} s, {X_fit.shape[0]} x {X_fit.shape[1]}")
    print(f"unlabelled rows: {np.mean(model.transduction_[hidden] == truth[hidden]):.4f}")
    alone = np.mean(model.supervised_transduction_[hidden] == truth[hidden])
    print(f"the same, labelled rows alone: {alone:.4f}")
    start = time.perf_counter()
    right = np.mean(model.predict(X_new) == y_new)
    print(f"new rows: {right:.4f}, {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    rows = model.suggest(20)
    model.callback = None
    model.add_labels(rows, truth[rows])
    found = np.mean(model.transduction_[hidden] == truth[hidden])
    print(f"20 suggested labels more: {time.perf_counter() - start:.1f} s, {found:.4f}")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")
    print(model.report_)


if __name__ == "__main__":
    main()
