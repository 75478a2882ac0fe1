"""S3VC on PCMAC: its ten splits of 50 labels, the true class ratio given.

    python benchmarks/pcmac.py [--solvers quasi-newton …]

λ and λ' are selected by 5-fold cross-validation on the 50 labels, from the grids of Gieseke et al.
(2013); then S3VC is fitted to the sparse rows. Prints the error on the unlabelled rows, and
that of the supervised LinearSVC with C selected in the same way. The authors' code is reported to
reach 4.5.
"""

import argparse
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from common import data_folder, measured
from experiments.data import error
from experiments.gieseke2013_fits import SOLVERS, best_point, data_set, features, grid_of, held_out
from lapwing import S3VC

EXPONENTS = range(-10, 11)  # of two: the paper's grid of λ


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--solvers", nargs="+", default=list(SOLVERS.values()), choices=list(SOLVERS.values())
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = data_folder("pcmac.npz")
    X, truth = data_set(data, "pcmac")
    (splits,) = data.load("pcmac.npz", "splits")
    (Z,) = features(X, len(truth), linear=True)
    ratio = float(np.mean(truth > 0))
    supervised = []
    for labelled in splits:
        search = GridSearchCV(LinearSVC(), {"C": 2.0 ** np.arange(-10, 11)}, cv=5)
        search.fit(X[labelled], truth[labelled])
        hidden = np.setdiff1d(np.arange(len(truth)), labelled)
        supervised.append(error(search.predict(X[hidden]), truth[hidden]))
    print(f"LinearSVC         U {np.mean(supervised):5.2f} ± {np.std(supervised):4.2f}")
    for solver in options.solvers:
        wrong, seconds, chosen = [], [], []
        for split, labelled in enumerate(splits):
            hidden = np.setdiff1d(np.arange(len(truth)), labelled)
            order = np.concatenate([labelled, hidden])
            grid = grid_of(solver, len(labelled), EXPONENTS)
            held = held_out(solver, Z[order], truth[labelled], grid, split, ratio)
            reg, trust = grid[best_point(*held)]
            y = np.full(len(truth), 0.0)
            y[labelled] = truth[labelled]
            model = S3VC(
                reg=reg,
                reg_unlabeled=trust,
                solver=solver,
                positive_ratio=ratio,
                unlabeled=0.0,
                calibration_folds=0,
            )
            _, used, _, _ = measured(lambda model=model, y=y: model.fit(X, y))
            wrong.append(error(model.transduction_[hidden], truth[hidden]))
            seconds.append(used)
            chosen.append((reg, trust))
        print(
            f"{solver:<16}  U {np.mean(wrong):5.2f} ± {np.std(wrong):4.2f}, "
            f"{np.mean(seconds):.2f} s a fit; chosen λ {sorted({f'{r:.2g}' for r, _ in chosen})}, "
            f"λ' {sorted({f'{t:.2g}' for _, t in chosen})}",
            flush=True,
        )


if __name__ == "__main__":
    main()
