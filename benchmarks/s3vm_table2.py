"""S3VC by Table 2 of Gieseke et al. (2013): four solvers beside the paper's figures.

    python benchmarks/s3vm_table2.py [--partitions 10] [--solvers quasi-newton cccp …]
                                     [--sets G2C pcmac …] [--jobs 2]

Random partitions into labelled, unlabelled and test rows, the labelled ones with the class ratio of
the set (--plain draws them without); linear kernel; λ and λ' chosen by
5-fold cross-validation on the labelled rows, from the paper's grids: {2^-10 … 2^10} × {0.01, 1,
100}, and for cccp C and C* translated to λ = 1/(2Cl), λ' = C*u/(Cl). Ties of the cross-validation
error are broken by the hinge loss on the held-out rows. The class ratio is that of the labelled
rows. All grid points and folds are columns of one block. Moons is fitted with an rbf kernel
whose width is chosen along (the paper shows no figure for it).

Prints the mean test error beside the paper's, and whether it is at most the paper's mean plus one
standard error of it.
"""

import argparse
import os
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import scipy.sparse as sp
from common import load
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from lapwing.solvers import (
    MarginProblem,
    concave_convex,
    deterministic_annealing,
    label_switching,
    quasi_newton,
)
from lapwing.spaces import AffineSpace, LinearSpace

SOLVERS = ("quasi-newton", "cccp", "label-switching", "annealing")
#: set, labelled, unlabelled, test rows; mean and deviation of UniverSVM, TSVMlin, DA, QN-S³VM.
TABLE = [
    ("G2C", 25, 225, 250, (1.8, 0.9), (5.6, 2.4), (2.2, 0.7), (1.9, 0.9)),
    ("G2C", 50, 200, 250, (1.8, 0.8), (2.8, 1.5), (2.5, 1.7), (2.1, 0.9)),
    ("G4C", 25, 225, 250, (13.3, 15.2), (14.7, 12.0), (14.2, 12.4), (11.4, 11.7)),
    ("G4C", 50, 200, 250, (3.0, 1.8), (3.4, 0.7), (2.5, 1.4), (2.2, 1.0)),
    ("C(3,6)", 14, 101, 29, (16.9, 13.9), (12.4, 7.4), (20.7, 17.8), (8.3, 7.9)),
    ("C(3,6)", 28, 87, 29, (5.2, 5.8), (4.1, 5.5), (4.1, 6.5), (4.5, 4.1)),
    ("C(5,9)", 14, 101, 29, (19.3, 10.9), (17.6, 10.6), (14.1, 7.6), (12.1, 8.9)),
    ("C(5,9)", 28, 87, 29, (7.2, 9.1), (6.6, 9.9), (6.2, 7.5), (6.9, 10.1)),
    ("C(6,19)", 14, 101, 29, (21.0, 12.0), (12.8, 11.9), (15.5, 13.2), (10.7, 10.8)),
    ("C(6,19)", 28, 87, 29, (4.5, 5.1), (4.8, 6.6), (3.8, 5.7), (3.1, 4.2)),
    ("C(18,19)", 14, 101, 29, (7.6, 8.8), (12.4, 9.0), (10.7, 9.6), (3.4, 8.3)),
    ("C(18,19)", 28, 87, 29, (5.2, 9.7), (3.1, 7.3), (2.4, 6.2), (1.0, 3.1)),
    ("M(1,7)", 20, 480, 500, (4.3, 2.8), (8.2, 5.2), (9.9, 5.7), (2.8, 1.2)),
    ("M(1,7)", 50, 450, 500, (3.7, 2.5), (2.8, 1.5), (2.7, 1.5), (2.7, 1.1)),
    ("M(2,5)", 20, 480, 500, (6.3, 3.9), (8.6, 4.5), (10.3, 4.6), (6.3, 2.2)),
    ("M(2,5)", 50, 450, 500, (4.2, 1.6), (5.5, 2.1), (5.7, 2.2), (4.3, 1.2)),
    ("M(2,7)", 20, 480, 500, (8.0, 4.7), (10.7, 5.1), (11.5, 5.9), (5.3, 2.3)),
    ("M(2,7)", 50, 450, 500, (5.1, 1.6), (4.7, 1.9), (4.4, 1.8), (4.0, 0.9)),
    ("M(3,8)", 20, 480, 500, (16.2, 4.0), (15.8, 4.5), (16.1, 5.3), (12.9, 5.2)),
    ("M(3,8)", 50, 450, 500, (9.5, 4.1), (9.4, 3.4), (9.4, 3.0), (8.3, 2.9)),
    ("U(2,5)", 16, 806, 823, (9.0, 5.6), (12.2, 7.6), (14.3, 9.7), (4.6, 1.7)),
    ("U(2,5)", 32, 790, 823, (5.6, 1.8), (5.8, 3.5), (5.8, 3.7), (4.5, 1.4)),
    ("U(2,7)", 17, 843, 861, (6.1, 5.3), (9.2, 7.4), (10.5, 12.7), (2.3, 1.0)),
    ("U(2,7)", 34, 826, 861, (3.4, 2.4), (5.6, 4.6), (5.8, 4.9), (2.0, 1.1)),
    ("U(3,8)", 15, 751, 766, (8.7, 3.9), (9.8, 5.7), (9.3, 4.8), (5.4, 1.9)),
    ("U(3,8)", 30, 736, 766, (6.4, 1.6), (7.8, 3.5), (8.3, 3.3), (5.7, 1.8)),
    ("U(8,0)", 22, 1108, 1131, (3.2, 2.2), (6.4, 5.5), (8.2, 6.0), (2.2, 1.2)),
    ("U(8,0)", 45, 1085, 1131, (3.3, 1.8), (3.5, 2.1), (3.6, 2.2), (8.1, 11.4)),
    ("pcmac", 48, 924, 974, (10.4, 2.6), (9.6, 2.3), (8.5, 2.1), (7.3, 1.4)),
    ("pcmac", 97, 876, 973, (8.5, 4.2), (8.1, 3.5), (7.6, 3.5), (7.1, 2.7)),
    ("pcmac", 145, 828, 973, (6.9, 2.2), (7.3, 1.4), (7.0, 1.4), (6.6, 1.1)),
    ("pcmac", 243, 730, 973, (5.6, 1.2), (6.0, 1.0), (6.0, 1.1), (5.5, 0.8)),
    ("pcmac", 291, 681, 974, (5.4, 1.2), (6.1, 1.1), (5.7, 0.9), (5.1, 1.0)),
    ("Moons", 20, 480, 500, None, None, None, None),
]
COLUMN = {"cccp": 4, "label-switching": 5, "annealing": 6, "quasi-newton": 7}
SIZES = [2.0**k for k in range(-10, 11)]
TRUST = [0.01, 1.0, 100.0]
ANNEALING = (1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--solvers", nargs="+", default=SOLVERS, choices=SOLVERS)
    parser.add_argument("--sets", nargs="+", help="such as G2C 'C(3,6)' pcmac")
    parser.add_argument("--plain", action="store_true", help="labels drawn without strata")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    rows = [row for row in TABLE if options.sets is None or row[0] in options.sets]
    met = {solver: [] for solver in options.solvers}
    with ProcessPoolExecutor(options.jobs, initializer=one_thread) as pool:
        for solver in options.solvers:
            for row in rows:
                tasks = [
                    (solver, row, seed, not options.plain) for seed in range(options.partitions)
                ]
                errors = 100.0 * np.array(list(pool.map(one_partition, tasks)))
                paper = row[COLUMN[solver]]
                text = f"{solver:<16} {row[0]:<9} l {row[1]:4d}   "
                text += f"{errors.mean():5.1f} ± {errors.std():4.1f}"
                if paper is not None:
                    met[solver].append(errors.mean() <= paper[0] + paper[1] / np.sqrt(10))
                    verdict = "" if met[solver][-1] else "   above"
                    text += f"   paper {paper[0]:5.1f} ± {paper[1]:4.1f}{verdict}"
                print(text, flush=True)
    for solver, verdicts in met.items():
        print(
            f"{solver}: {sum(verdicts)} of {len(verdicts)} rows at most the paper's mean plus one "
            "standard error"
        )


def one_thread():
    """One process a core: no threads inside it."""
    os.environ["LAPWING_NUM_THREADS"] = "1"
    threadpool_limits(1)


def one_partition(task):
    """Test error of one random partition, with parameters chosen on its labelled rows."""
    solver, (name, l, u, t, *_), seed, stratified = task
    warnings.simplefilter("ignore")  # classes with fewer labels than folds
    rng = np.random.default_rng(seed)
    X, y = data_set(name)
    order = partition(y, l, rng, stratified)[: l + u + t]
    X, y = X[order], y[order]
    held, loss, values = [], [], []
    grid = grid_of(solver, l)
    for features in feature_sets(name, X, l + u):
        columns = fit_grid(solver, features[: l + u], y[:l], l, grid, rng_seed=seed)
        held.append(columns[0])
        loss.append(columns[1])
        values.append(features)
    held, loss = np.array(held), np.array(loss)
    width, point = np.unravel_index(choose(held.ravel(), loss.ravel()), held.shape)
    features = values[width]
    weights, intercept = fit(solver, features[: l + u], y[:l], [np.arange(l)], [grid[point]], 1e-3)
    decided = features[l + u :] @ weights[:, 0] + intercept[0]
    return np.mean(np.where(decided > 0, 1.0, -1.0) != y[l + u :])


def choose(errors, losses):
    """The grid point with the least held-out error; of several, that with the least hinge loss."""
    best = np.flatnonzero(errors == errors.min())
    return best[losses[best].argmin()]


def partition(y, l, rng, stratified):
    """A random order of the rows whose first l have both classes, in proportion if stratified."""
    order = rng.permutation(len(y))
    if stratified:
        positive = round(l * np.mean(y > 0))
        first = np.concatenate(
            [order[y[order] > 0][:positive], order[y[order] < 0][: l - positive]]
        )
        return np.concatenate([rng.permutation(first), order[~np.isin(order, first)]])
    while len(set(y[order[:l]])) < 2:
        order = rng.permutation(len(y))
    return order


def grid_of(solver, l):
    if solver == "cccp":  # grids of C and C*·u
        return [(1.0 / (2.0 * C * l), trust / (C * l)) for C in SIZES for trust in TRUST]
    return [(size, trust) for size in SIZES for trust in TRUST]


def fit_grid(solver, Z, y, l, grid, rng_seed, given_ratio=None):
    """Errors and hinge losses on held-out rows, for each grid point."""
    smallest = int(min((y > 0).sum(), (y < 0).sum()))
    splitter = StratifiedKFold(min(5, max(2, l // 2)), shuffle=True, random_state=rng_seed)
    if smallest < 2:
        folds = [np.setdiff1d(np.arange(l), part) for part in np.array_split(np.arange(l), 5)]
        folds = [keep for keep in folds if len(set(y[keep])) == 2]
    else:
        folds = [keep for keep, _ in splitter.split(y, y)]
    weights, intercept = fit(solver, Z, y, folds, grid, 1e-2, given_ratio)
    values = Z[:l] @ weights + intercept
    wrong, loss, seen = np.zeros(len(grid)), np.zeros(len(grid)), 0
    for j, keep in enumerate(folds):
        out = np.setdiff1d(np.arange(l), keep)
        margin = y[out, None] * values[out, j * len(grid) : (j + 1) * len(grid)]
        wrong += (margin <= 0).sum(axis=0)
        loss += np.maximum(1.0 - margin, 0.0).sum(axis=0)
        seen += len(out)
    return wrong / seen, loss / seen


def fit(solver, Z, y, folds, grid, tol, given_ratio=None):
    """Weights and intercepts of each fold and grid point, folds outermost."""
    l, n = len(y), len(Z)
    unlabelled = np.arange(l, n)
    weights = np.zeros((l, len(folds) * len(grid)))
    ratio = np.zeros(weights.shape[1])
    for j, keep in enumerate(folds):
        columns = slice(j * len(grid), (j + 1) * len(grid))
        weights[keep, columns] = 1.0 / len(keep)
        ratio[columns] = np.mean(y[keep] > 0)
    if given_ratio is not None:
        ratio[:] = given_ratio
    reg, trust = (np.tile(part, len(folds)) for part in np.array(grid).T)
    balance, level = np.full(n, 1.0 / n), None
    if solver in ("quasi-newton", "cccp"):
        balance = np.zeros(n)
        balance[unlabelled] = 1.0 / len(unlabelled)
        level = 2.0 * ratio - 1.0
    problem = MarginProblem(
        space=AffineSpace(LinearSpace(Z), balance, level),
        labelled=np.arange(l),
        unlabelled=unlabelled,
        targets=np.repeat(y[:, None], weights.shape[1], axis=1),
        labelled_weights=weights,
        unlabelled_weights=np.full((n - l, 1), 1.0 / (n - l)),
        reg=reg,
        reg_unlabeled=trust,
        positive_ratio=ratio,
    )
    common = {"tol": tol, "max_iter": 200}
    if solver == "quasi-newton":
        stages = quasi_newton(
            problem,
            annealing=ANNEALING,
            surrogate_gamma=20.0,
            unlabeled_sharpness=3.0,
            **common,
        )
    elif solver == "cccp":
        stages = concave_convex(problem, surrogate_gamma=20.0, **common)
    elif solver == "label-switching":
        stages = label_switching(problem, **common)
    else:
        stages = deterministic_annealing(problem, **common)
    for stage in stages:
        vectors = stage.minimum.vectors
    return problem.space.coef_and_intercept(vectors, np.arange(weights.shape[1]))


def data_set(name):
    """Rows and labels ±1; made sets are the same in every partition."""
    rng = np.random.default_rng(0)
    if name in ("G2C", "G4C"):
        X, y = rng.standard_normal((500, 500)), np.repeat([1.0, -1.0], 250)
        X[:, 0] += 2.5 * y
        if name == "G4C":
            X[:, 1] += 5.0 * np.where(np.arange(500) % 2, 1.0, -1.0)
        return X, y
    if name == "Moons":
        X, y = make_moons(1000, noise=0.1, random_state=0)
        return X, 2.0 * y - 1.0
    if name == "pcmac":
        data, indices, indptr, shape, y = load(
            "pcmac.npz", "data", "indices", "indptr", "shape", "y"
        )
        X = sp.csr_matrix((data, indices, indptr), shape=tuple(shape))
        return X, np.where(y == y.max(), 1.0, -1.0)
    file = {"C": "coil20_20x20.npz", "M": "mnist.npz", "U": "usps.npz"}[name[0]]
    first, second = (int(part) for part in name[2:-1].split(","))
    if name[0] == "C":  # objects are numbered from one
        first, second = first - 1, second - 1
    X, y = load(file, "X", "y")
    pair = np.isin(y, (first, second))
    scale = {"C": (0.0, 1.0), "M": (0.0, 255.0), "U": (-1.0, 2.0)}[name[0]]
    return (X[pair].astype(float) - scale[0]) / scale[1], np.where(y[pair] == first, 1.0, -1.0)


def feature_sets(name, X, n_train):
    """Coordinates with the inner products of the kernel, at most as many as training rows."""
    if name == "Moons":
        spread = np.sqrt(np.sum(np.ptp(X[:n_train], axis=0) ** 2))
        squares = euclidean_distances(X, squared=True)
        grams = [
            np.exp(-squares / (2.0 * (factor * spread) ** 2))
            for factor in (0.01, 0.1, 1.0, 10.0, 100.0)
        ]
    elif X.shape[1] <= n_train:
        return [X]
    else:
        grams = [X @ X.T]
    grams = [g.toarray() if sp.issparse(g) else g for g in grams]
    features = []
    for K in grams:
        values, vectors = np.linalg.eigh(K[:n_train, :n_train])
        keep = values > 1e-12 * values[-1]
        features.append(K[:, :n_train] @ (vectors[:, keep] / np.sqrt(values[keep])))
    return features


if __name__ == "__main__":
    main()
