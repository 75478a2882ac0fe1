"""LapSVC with a linear kernel on 50 000 × 20 000 sparse rows: memory follows the non-zeros.

    python benchmarks/sparse_text.py [--rows 50000] [--columns 20000]

Text-like data: two topics, Zipf-distributed words, TF-IDF rows of unit norm, 100 labels. Prints
the memory of the fit beside the bytes of X and of the dense Gram matrix that is never formed.
Baseline of the same run: scikit-learn's LinearSVC on the labelled rows.
"""

import argparse

import numpy as np
from sklearn.svm import LinearSVC

from common import measured, topics
from experiments.data import error
from lapwing import KNNGraph, LapSVC


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=20_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, y = topics(options.rows, options.columns, rng)
    labels = np.full(options.rows, -1)
    chosen = rng.choice(options.rows, 100, replace=False)
    labels[chosen] = y[chosen]
    unlabelled = labels == -1
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(f"X {X.shape}, {X.nnz} non-zeros, {stored / 1e6:.0f} MB", flush=True)
    baseline, seconds, _, _ = measured(lambda: LinearSVC().fit(X[chosen], y[chosen]))
    print(f"LinearSVC: U {error(baseline.predict(X[unlabelled]), y[unlabelled]):.2f} %")
    graph, seconds, _, memory = measured(lambda: KNNGraph(10, metric="cosine").fit(X))
    print(f"graph {seconds:.1f} s, {memory:.0f} MB more", flush=True)
    model = LapSVC(kernel="linear", graph=graph, reg_ambient=1e-2, reg_manifold=1e-2)
    _, seconds, _, memory = measured(lambda: model.fit(X, labels))
    print(
        f"LapSVC: U {error(model.transduction_[unlabelled], y[unlabelled]):.2f} %, "
        f"{seconds:.1f} s, {memory:.0f} MB more ({memory / (stored / 1e6):.1f} times X; a dense K "
        f"would take {8 * options.rows**2 / 1e6:.0f} MB)"
    )
    print(model.result_.message)


if __name__ == "__main__":
    main()
