"""The whole 7 × 7 grid with five folds: LapSVCCV against fitting every cell and fold by itself.

    python benchmarks/grid.py [--sets uspst mnist3vs8] [--fits 3]

USPST, 10 classes, 50 labels (first split of the set), σ = 9.4, k = 10: all 245 single fits are
done, with the same graph, each with the labels of its fold hidden, by the fastest solver for the
size. MNIST 3 against 8, all 11 982 rows, 80 labels, degree-9 polynomial, k = 20: the time of 245
dense fits is that of a few of them times 245 / few, and the scores of these few are compared. The
graph is built before and counted nowhere.
"""

import argparse
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from common import load, measured
from experiments.data import unit_rows
from lapwing import KNNGraph, LapSVC, LapSVCCV


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["uspst", "mnist3vs8"])
    parser.add_argument("--fits", type=int, default=3, help="single fits of MNIST")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if "uspst" in options.sets:
        X, y, splits = load("uspst.npz", "X", "y", "splits")
        X, labels = X.astype(np.float64), np.full(len(y), -1)
        labels[splits[0]] = y[splits[0]]
        compare("USPST", X, labels, {"gamma": 1 / (2 * 9.4**2)}, KNNGraph(10), None)
    if "mnist3vs8" in options.sets:
        X, y, train = load("mnist.npz", "X", "y", "train")
        rows = np.isin(y, (3, 8)) & train
        X, y = unit_rows(X[rows]), y[rows]
        labels, rng = np.full(len(y), -1), np.random.default_rng(0)
        for digit in (3, 8):
            chosen = rng.permutation(np.flatnonzero(y == digit))[:40]
            labels[chosen] = digit
        kernel = {"kernel": "poly", "gamma": 1.0, "degree": 9, "coef0": 0.0}
        compare("MNIST 3 vs 8", X, labels, kernel, KNNGraph(20), options.fits)


def compare(name, X, labels, kernel, graph, n_fits):
    graph = graph.fit(X)
    folds = StratifiedKFold(5)
    model = LapSVCCV(graph=graph, cv=folds, **kernel)
    _, seconds, cpu, memory = measured(lambda: model.fit(X, labels))
    results, known = model.cv_results_, np.flatnonzero(labels != -1)
    parts = [known[test] for _, test in folds.split(known, labels[known])]
    jobs = [(cell, fold) for cell in range(len(results["params"])) for fold in range(5)]
    total = len(jobs)
    if n_fits is not None:
        jobs = [jobs[i] for i in np.random.default_rng(0).choice(total, n_fits, replace=False)]
    solver = "newton" if n_fits is not None else "auto"

    def fit_singly():
        return [single(X, labels, kernel, graph, results, parts, solver, job) for job in jobs]

    away, single_seconds, single_cpu, _ = measured(fit_singly)
    scale = total / len(jobs)
    print(f"{name}: n = {len(X)}, {len(known)} labels, {len(np.unique(labels)) - 1} classes")
    print(f"  grid     {seconds:8.1f} s ({cpu:.1f} CPU), {memory:.0f} MB beyond X and graph")
    print(
        f"  {total} fits {single_seconds * scale:8.1f} s ({single_cpu * scale:.1f} CPU), "
        f"{len(jobs)} of them done: {single_seconds / seconds * scale:.1f} times the grid"
    )
    print(f"  largest difference of a score: {max(away):.2g}")
    print(f"  best {model.best_params_}, cross-validated accuracy {model.best_score_:.3f}")


def single(X, labels, kernel, graph, results, parts, solver, job):
    """Difference of the accuracies of one cell and fold."""
    cell, fold = job
    hidden = labels.copy()
    hidden[parts[fold]] = -1
    model = LapSVC(solver=solver, graph=graph, **kernel, **results["params"][cell])
    model.fit(X, hidden)
    score = np.mean(model.transduction_[parts[fold]] == labels[parts[fold]])
    return abs(score - results[f"split{fold}_test_score"][cell])


if __name__ == "__main__":
    main()
