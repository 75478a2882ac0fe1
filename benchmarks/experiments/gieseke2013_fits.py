"""Data sets, splits and fits of Gieseke et al. (2013).

All grid points and folds of a solver are columns of one problem, solved together. This module does
not know which experiments there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from lapwing.solvers.s3vm import (
    MarginProblem,
    concave_convex,
    deterministic_annealing,
    label_switching,
    quasi_newton,
)
from lapwing.spaces.affine import AffineSpace
from lapwing.spaces.kernel_space import LinearSpace

from .data import DataFolder, error

#: The paper's names of the solvers, and ours.
SOLVERS = {
    "QN-S3VM": "quasi-newton",
    "UniverSVM": "cccp",
    "TSVMlin": "label-switching",
    "DA": "annealing",
}
FILES = {
    "G": (),
    "C": ("coil20_20x20.npz",),
    "M": ("mnist.npz",),
    "U": ("usps.npz",),
    "p": ("pcmac.npz",),
    "n": ("news20.npz",),
    "r": ("rcv1_ccat_small.npz",),
}
TRUST = (0.01, 1.0, 100.0)
ANNEALING = (1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0)


def one_partition(
    X: Any,
    y: np.ndarray,
    sizes: Sequence[int],
    method: str,
    seed: int,
    exponents: Sequence[int],
    linear: bool,
) -> float:
    """Return the test error of one random partition.

    Parameters are selected on its labelled rows; with the rbf kernel (not ``linear``) on the test
    rows, as in the paper.
    """
    l, u, t = sizes
    order = partition(y, l, np.random.default_rng(seed))[: l + u + t]
    X, y = X[order], y[order]
    labelled, test = slice(0, l), slice(l + u, l + u + t)
    if method == "LIBSVM":
        return _libsvm(X, y, labelled, test, seed, exponents, linear)
    solver = SOLVERS[method]
    grid = grid_of(solver, l, exponents)
    best: tuple[float, float, np.ndarray] | None = None
    for Z in features(X, l + u, linear):
        if linear:
            wrong, loss = held_out(solver, Z[: l + u], y[:l], grid, seed)
            point = best_point(wrong, loss)
            rank = float(wrong[point]), float(loss[point])
            values = _values(solver, Z, l + u, y[:l], [grid[point]])[test, 0]
        else:
            values = _values(solver, Z, l + u, y[:l], grid)[test]
            wrong = np.mean((values > 0) != (y[test, None] > 0), axis=0)
            rank = float(wrong.min()), 0.0
            values = values[:, wrong.argmin()]
        if best is None or rank < best[:2]:
            best = (*rank, values)
    assert best is not None
    return error(best[2] > 0, y[test] > 0)


def _values(
    solver: str, Z: np.ndarray, n_train: int, y: np.ndarray, grid: list[tuple[float, float]]
) -> np.ndarray:
    """Return the decision values of all rows, one column per grid point."""
    weights, intercept = fit(solver, Z[:n_train], y, [np.arange(len(y))], grid, 1e-3)
    return Z @ weights + intercept


def _libsvm(
    X: Any,
    y: np.ndarray,
    labelled: slice,
    test: slice,
    seed: int,
    exponents: Sequence[int],
    linear: bool,
) -> float:
    """Return the test error of the supervised classifier."""
    if not linear:
        candidates = [
            error(SVC(C=2.0**e, gamma=g).fit(X[labelled], y[labelled]).predict(X[test]), y[test])
            for e in exponents
            for g in widths(X[: test.start])
        ]
        return min(candidates)
    wrong, loss = np.zeros(len(exponents)), np.zeros(len(exponents))
    folds = _folds(y[labelled], seed)
    for k, e in enumerate(exponents):
        for keep in folds:
            out = np.setdiff1d(np.arange(labelled.stop), keep)
            model = SVC(C=2.0**e, kernel="linear").fit(X[keep], y[keep])
            margin = y[out] * model.decision_function(X[out])
            wrong[k] += np.sum(margin <= 0)
            loss[k] += np.maximum(1.0 - margin, 0.0).sum()
    best = SVC(C=2.0 ** exponents[best_point(wrong, loss)], kernel="linear")
    return error(best.fit(X[labelled], y[labelled]).predict(X[test]), y[test])


def best_point(errors: np.ndarray, losses: np.ndarray) -> int:
    """Return the grid point with the smallest held-out error; ties go to the smallest loss."""
    best = np.flatnonzero(errors == errors.min())
    return int(best[losses[best].argmin()])


def partition(y: np.ndarray, l: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of the rows whose first l have the class ratio of all rows."""
    order = rng.permutation(len(y))
    positive = round(l * np.mean(y > 0))
    first = np.concatenate([order[y[order] > 0][:positive], order[y[order] < 0][: l - positive]])
    return np.concatenate([rng.permutation(first), order[~np.isin(order, first)]])


def grid_of(solver: str, l: int, exponents: Sequence[int]) -> list[tuple[float, float]]:
    """Return pairs of λ and λ'."""
    sizes = [2.0**e for e in exponents]
    if solver == "cccp":  # grids of C and C*·u
        return [(1.0 / (2.0 * C * l), trust / (C * l)) for C in sizes for trust in TRUST]
    return [(size, trust) for size in sizes for trust in TRUST]


def _folds(y: np.ndarray, seed: int) -> list[np.ndarray]:
    """Return the training rows of each of five folds, which contain both classes."""
    l = len(y)
    if min((y > 0).sum(), (y < 0).sum()) < 2:
        parts = np.array_split(np.arange(l), 5)
        kept = [np.setdiff1d(np.arange(l), part) for part in parts]
        return [keep for keep in kept if len(set(y[keep])) == 2]
    splitter = StratifiedKFold(min(5, max(2, l // 2)), shuffle=True, random_state=seed)
    return [keep for keep, _ in splitter.split(y, y)]


def held_out(
    solver: str,
    Z: np.ndarray,
    y: np.ndarray,
    grid: list[tuple[float, float]],
    seed: int,
    ratio: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return errors and hinge losses on held-out rows, for every grid point."""
    l, folds = len(y), _folds(y, seed)
    weights, intercept = fit(solver, Z, y, folds, grid, 1e-2, ratio)
    values = Z[:l] @ weights + intercept
    wrong, loss, seen = np.zeros(len(grid)), np.zeros(len(grid)), 0
    for j, keep in enumerate(folds):
        out = np.setdiff1d(np.arange(l), keep)
        margin = y[out, None] * values[out, j * len(grid) : (j + 1) * len(grid)]
        wrong += (margin <= 0).sum(axis=0)
        loss += np.maximum(1.0 - margin, 0.0).sum(axis=0)
        seen += len(out)
    return wrong / seen, loss / seen


def fit(
    solver: str,
    Z: np.ndarray,
    y: np.ndarray,
    folds: list[np.ndarray],
    grid: list[tuple[float, float]],
    tol: float,
    given_ratio: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and intercepts of every fold and grid point, folds outermost."""
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
    if solver == "quasi-newton":
        stages = quasi_newton(
            problem,
            annealing=ANNEALING,
            surrogate_gamma=20.0,
            unlabeled_sharpness=3.0,
            tol=tol,
            max_iter=200,
        )
    elif solver == "cccp":
        stages = concave_convex(problem, surrogate_gamma=20.0, tol=tol, max_iter=200)
    elif solver == "label-switching":
        stages = label_switching(problem, tol=tol, max_iter=200)
    else:
        stages = deterministic_annealing(problem, tol=tol, max_iter=200)
    for stage in stages:
        vectors = stage.minimum.vectors
    return problem.space.coef_and_intercept(vectors, np.arange(weights.shape[1]))


def data_set(data: DataFolder, name: str) -> tuple[Any, np.ndarray]:
    """Return rows and labels ±1; generated data sets are the same in every partition."""
    rng = np.random.default_rng(0)
    if name in ("G2C", "G4C"):
        X, y = rng.standard_normal((500, 500)), np.repeat([1.0, -1.0], 250)
        X[:, 0] += 2.5 * y
        if name == "G4C":
            X[:, 1] += 5.0 * np.where(np.arange(500) % 2, 1.0, -1.0)
        return X, y
    if name == "news20 (rec, sci)":
        y, classes = data.load("news20.npz", "y", "classes")
        topics = np.array([str(c).split(".")[0] for c in classes])[y]
        keep = np.flatnonzero(np.isin(topics, ("rec", "sci")))
        keep = rng.permutation(keep)[:2000]
        X = TfidfTransformer(sublinear_tf=True).fit_transform(data.rows("news20.npz")[keep])
        return X.tocsr(), np.where(topics[keep] == "rec", 1.0, -1.0)
    if name in ("pcmac", "rcv1_ccat_small"):
        [y] = data.load(f"{name}.npz", "y")
        X = data.rows(f"{name}.npz").astype(np.float64)
        return X, np.where(y == y.max(), 1.0, -1.0)
    file = FILES[name[0]][0]
    first, second = (int(part) for part in name[2:-1].split(","))
    if name[0] == "C":  # objects are numbered from one
        first, second = first - 1, second - 1
    X, y = data.load(file, "X", "y")
    pair = np.isin(y, (first, second))
    scale = {"C": (0.0, 1.0), "M": (0.0, 255.0), "U": (-1.0, 2.0)}[name[0]]
    return (X[pair].astype(float) - scale[0]) / scale[1], np.where(y[pair] == first, 1.0, -1.0)


def widths(X: np.ndarray) -> list[float]:
    """Return the candidate widths of the rbf kernel."""
    spread = np.sqrt(np.sum(np.ptp(X, axis=0) ** 2))
    return [1.0 / (2.0 * (factor * spread) ** 2) for factor in (0.01, 0.1, 1.0, 10.0, 100.0)]


def features(X: Any, n_train: int, linear: bool) -> list[np.ndarray]:
    """Return features whose inner products are the kernel, at most one per training row."""
    if not linear:
        squares = euclidean_distances(X, squared=True)
        grams = [np.exp(-gamma * squares) for gamma in widths(X[:n_train])]
    elif X.shape[1] <= n_train:
        return [X]
    else:
        K = X @ X.T
        grams = [K.toarray() if sp.issparse(K) else K]
    found = []
    for K in grams:
        values, vectors = np.linalg.eigh(K[:n_train, :n_train])
        keep = values > 1e-12 * values[-1]
        found.append(K[:, :n_train] @ (vectors[:, keep] / np.sqrt(values[keep])))
    return found
