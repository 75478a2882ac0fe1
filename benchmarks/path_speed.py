"""A whole solution path against single fits of scikit-learn's SVC on the same reduced kernel.

    python benchmarks/path_speed.py [--repeats 5]

USPST(B), digits 0-4 against 5-9, all 2 007 rows in the graph, l = 100 and 400 of them labelled; σ =
9.4, k = 10, ρ = 0.001 and 1. The path runs from infinity down to 1e-4 of its first breakpoint; SVC
is fitted at ten values of λ over that range, with its default tolerance and with 1e-8. The
shortest time of the repeats counts. Also prints the largest relative distance between the path's
objective and that of SVC at 1e-8 (below zero: SVC's is the larger one).
"""

import argparse
import time

import numpy as np
from sklearn.svm import SVC

from common import load
from lapwing import KNNGraph
from lapwing.kernels.functions import GaussianKernel
from lapwing.kernels.gram import gram_operator
from lapwing.solvers.path import hinge_path
from lapwing.solvers.reduction import reduce_dense


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    X, digits = load("uspst.npz", "X", "y")
    X, y = X.astype(np.float64), np.where(digits >= 5, 1.0, -1.0)
    graph = KNNGraph(10, normalized=False).fit(X)
    kernel = GaussianKernel(1 / (2 * 9.4**2))
    gram = gram_operator(kernel, kernel.prepare(X), "float64")
    print("rho     l   breakpoints   path      10 SVC    10 SVC 1e-8   ratio   objective")
    for rho in (1e-3, 1.0):
        for l in (100, 400):
            rows = np.sort(np.random.default_rng(l).choice(len(y), l, replace=False))
            began = time.perf_counter()
            G = reduce_dense(gram, graph.laplacian_, rows, 1.0 / rho).R / rho
            reduction = time.perf_counter() - began
            compare(rho, G, y[rows], options.repeats, reduction)


def compare(rho, G, y, repeats, reduction):
    ones = np.ones(len(y))
    path, seconds = least(lambda: hinge_path(G, y, ones, ones), repeats)
    lambdas = np.geomspace(path.lambdas[0], path.lambdas[-1], 10)
    _, plain = least(lambda: fits(G, y, lambdas, 1e-3), repeats)
    models, tight = least(lambda: fits(G, y, lambdas, 1e-8), repeats)
    far = [
        objective(G, y, lam, a, beta / lam) / svc_objective(G, y, lam, model) - 1.0
        for lam, a, beta, model in zip(lambdas, *path.at(lambdas), models, strict=True)
    ]
    print(
        f"{rho:5g} {len(y):4d} {len(path.lambdas):8d}    {1e3 * seconds:8.1f} ms "
        f"{1e3 * plain:8.1f} ms {1e3 * tight:8.1f} ms   {seconds / plain:6.2f}  "
        f"{min(far):9.1e} {max(far):9.1e}   (reduction {reduction:.2f} s)"
    )


def fits(G, y, lambdas, tol):
    return [SVC(C=1 / lam, kernel="precomputed", tol=tol).fit(G, y) for lam in lambdas]


def objective(G, y, lam, a, b):
    c = y * a / lam
    f = G @ c
    return np.maximum(1.0 - y * (f + b), 0.0).sum() + lam / 2.0 * (c @ f)


def svc_objective(G, y, lam, model):
    a = np.zeros(len(y))
    a[model.support_] = np.abs(model.dual_coef_[0]) * lam
    return objective(G, y, lam, a, float(model.intercept_[0]))


def least(function, repeats):
    """Result and least time of several calls."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - began)
    return result, min(times)


if __name__ == "__main__":
    main()
