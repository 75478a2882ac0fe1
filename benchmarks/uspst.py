"""USPST(B), digits 0-4 against 5-9 with 50 labels: Newton, the dual and early-stopped PCG.

    python benchmarks/uspst.py

The ten label splits of the data set; a random quarter of the other rows is held out as test set T.
Parameters of Melacci & Belkin (2011), Tables 9 and 10: σ = 9.4, k = 10, p = 2, γ_A = 1e-6 and
γ_I = 1e-2 (Newton, dual) or 1 (PCG). The paper reports U 8.72, T 9.42 for Newton and, with
the stability check, U 9.11 and T 9.70 on its own twelve splits.
"""

import numpy as np
from common import error, load, measured

from lapwing import KNNGraph, LapRLSClassifier, LapSVC


def main():
    X, y, splits = load("uspst.npz", "X", "y", "splits")
    X, y = X.astype(np.float64), (y >= 5).astype(int)
    shared = {"gamma": 1 / (2 * 9.4**2), "reg_ambient": 1e-6}
    models = {
        "Newton": LapSVC(solver="newton", reg_manifold=1e-2, **shared),
        "auto": LapSVC(reg_manifold=1e-2, **shared),
        "dual hinge": LapSVC("hinge", solver="dual", reg_manifold=1e-2, **shared),
        "LapRLS": LapRLSClassifier(gamma=shared["gamma"], reg_ambient=1e-4, reg_manifold=1e-1),
        "Newton, g_I=1": LapSVC(solver="newton", reg_manifold=1.0, **shared),
        "PCG stability": LapSVC(
            solver="pcg", stopping="stability", tol=0.0, reg_manifold=1.0, **shared
        ),
    }
    rows = {name: [] for name in models}
    for number, split in enumerate(splits):
        rng = np.random.default_rng(number)
        others = rng.permutation(np.setdiff1d(np.arange(len(y)), split))
        test, unlabelled = np.split(others, [len(others) // 4])
        train = np.concatenate([split, unlabelled])
        labels = np.concatenate([y[split], np.full(len(unlabelled), -1)])
        graph = KNNGraph(10, power=2).fit(X[train])
        for name, model in models.items():
            model.set_params(graph=graph)
            _, seconds, _, _ = measured(lambda m=model, t=train, v=labels: m.fit(X[t], v))
            rows[name].append(
                (
                    error(model.transduction_[len(split) :], y[unlabelled]),
                    error(model.predict(X[test]), y[test]),
                    seconds,
                    model.n_iter_,
                )
            )
    print("USPST(B), ten splits, mean (standard deviation) of the error in %")
    for name, values in rows.items():
        mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
        print(
            f"{name:<14} U {mean[0]:5.2f} ({spread[0]:.2f})  T {mean[1]:5.2f} ({spread[1]:.2f})  "
            f"{mean[2]:6.2f} s  {mean[3]:6.1f} iterations"
        )


if __name__ == "__main__":
    main()
