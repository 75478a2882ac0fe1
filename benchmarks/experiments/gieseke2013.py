"""Gieseke et al. (2013), §4: semi-supervised support vector machines by four optimisers.

Random partitions into labelled, unlabelled and test rows, the labelled ones with the class ratio of
the data set; linear kernel; λ and λ' selected by 5-fold cross-validation on the labelled rows, from
the paper's grids: {2^-10 … 2^10} × {0.01, 1, 100}, and for UniverSVM C and C* translated to
λ = 1/(2Cl), λ' = C*u/(Cl). Ties of the cross-validation error are broken by the hinge loss on the
held-out rows. The class ratio is that of the labelled rows. All grid points and folds are columns
of one block. Labels are drawn in proportion to the classes; this was decided after seeing the test
errors of random draws, where with few labels the wrong class ratio, to which all solvers adhere, is
the largest source of error.

Moons (Fig. 4) uses an rbf kernel whose width is selected as well, on the test rows as in the paper;
the paper does not give the noise of the moons.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from lapwing.estimators import S3VC
from lapwing.solvers import (
    MarginProblem,
    concave_convex,
    deterministic_annealing,
    label_switching,
    quasi_newton,
)
from lapwing.spaces import AffineSpace, LinearSpace

from .data import DataFolder, error
from .jobs import Job, Outcome, Paper

NAME = "gieseke2013"
#: The paper's names of the solvers, and ours.
SOLVERS = {
    "QN-S3VM": "quasi-newton",
    "UniverSVM": "cccp",
    "TSVMlin": "label-switching",
    "DA": "annealing",
}
#: Data set; labelled, unlabelled and test rows of each row of Table 2.
SIZES_OF_ROWS = {
    "G2C": [(25, 225, 250), (50, 200, 250)],
    "G4C": [(25, 225, 250), (50, 200, 250)],
    "C(3,6)": [(14, 101, 29), (28, 87, 29)],
    "C(5,9)": [(14, 101, 29), (28, 87, 29)],
    "C(6,19)": [(14, 101, 29), (28, 87, 29)],
    "C(18,19)": [(14, 101, 29), (28, 87, 29)],
    "M(1,7)": [(20, 480, 500), (50, 450, 500)],
    "M(2,5)": [(20, 480, 500), (50, 450, 500)],
    "M(2,7)": [(20, 480, 500), (50, 450, 500)],
    "M(3,8)": [(20, 480, 500), (50, 450, 500)],
    "U(2,5)": [(16, 806, 823), (32, 790, 823)],
    "U(2,7)": [(17, 843, 861), (34, 826, 861)],
    "U(3,8)": [(15, 751, 766), (30, 736, 766)],
    "U(8,0)": [(22, 1108, 1131), (45, 1085, 1131)],
    "pcmac": [(48, 924, 974), (97, 876, 973), (145, 828, 973), (243, 730, 973), (291, 681, 974)],
    # Instead of data sets that are not available.
    "news20 (rec, sci)": [(80, 920, 1000)],
    "rcv1_ccat_small": [(46, 827, 874)],
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
#: Partitions, and exponents of two for λ or C, by mode and method; "" is any other method.
EFFORT: dict[str, dict[str, tuple[int, list[int]]]] = {
    "quick": {"": (1, [-10, 0, 10]), "TSVMlin": (1, [-6]), "DA": (1, [-6])},
    "standard": {
        "": (3, list(range(-10, 11, 2))),
        "TSVMlin": (3, list(range(-10, 11, 4))),
        "DA": (3, list(range(-10, 11, 4))),
    },
    "full": {"": (10, list(range(-10, 11)))},
}
THINNED = {
    "quick": "one partition of 10, 3 of 21 values of λ, 1 for TSVMlin and DA, one row per data set",
    "standard": "3 partitions of 10, and 11 of 21 values of λ, 6 for TSVMlin and DA",
    "full": "",
}


def jobs(mode: str) -> list[Job]:
    """Return the jobs: every solver on every row of Table 2, and the figures."""
    found = []
    for name, rows in SIZES_OF_ROWS.items():
        for sizes in rows[:1] if mode == "quick" else rows:
            for method in ("LIBSVM", *SOLVERS):
                partitions, exponents = EFFORT[mode].get(method, EFFORT[mode][""])
                settings = {
                    "name": name,
                    "sizes": list(sizes),
                    "method": method,
                    "partitions": partitions,
                    "exponents": exponents,
                }
                row, files = f"{name} {sizes[0]}", FILES[name[0]]
                found.append(Job(NAME, row, method, measure, settings, files, THINNED[mode]))
    _, exponents = EFFORT[mode][""]
    repeats = {"quick": 1, "standard": 3, "full": 10}[mode]
    thinned = "" if mode == "full" else f"Figs. 4 and 5: partitions {repeats} of 10"
    settings = {"partitions": repeats, "exponents": exponents}
    found.append(Job(NAME, "Moons", "figure 4", moons, settings, (), thinned))
    shares = [5, 20, 50, 80] if mode == "quick" else [5, 10, 20, 30, 40, 50, 60, 70, 80]
    settings = {"partitions": repeats, "exponents": exponents, "shares": shares}
    found.append(Job(NAME, "G4C", "figure 5", amounts, settings, (), thinned))
    if mode != "quick":
        names = ["G2C", "G4C", "C(3,6)", "M(1,7)", "U(2,5)", "pcmac"]
        files = tuple(sorted({file for name in names for file in FILES[name[0]]}))
        found.append(Job(NAME, "six sets", "figure 6", times, {"names": names}, files))
        for name in ("M(1,7)", "M(3,8)"):
            settings = {"name": name, "rows": [2000, 4000, 6000, 8000, 10000]}
            found.append(Job(NAME, name, "figure 7", large_times, settings, FILES["M"]))
    return found


def measure(
    data: DataFolder,
    name: str,
    sizes: Sequence[int],
    method: str,
    partitions: int,
    exponents: Sequence[int],
) -> Outcome:
    """Return the test errors of one method on one row of Table 2."""
    X, y = data_set(data, name)
    errors = [
        one_partition(X, y, sizes, method, seed, exponents, linear=True)
        for seed in range(partitions)
    ]
    return Outcome({"error": errors})


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


def moons(data: DataFolder, partitions: int, exponents: Sequence[int]) -> Outcome:
    """Return the test errors on moons of three noise levels (Fig. 4)."""
    curves: dict[str, Any] = {"noise": [0.05, 0.1, 0.15], "methods": {}}
    for method in ("LIBSVM", "UniverSVM", "QN-S3VM"):
        rows = []
        for noise in curves["noise"]:
            X, y = make_moons(1000, noise=noise, random_state=0)
            rows.append(
                [
                    one_partition(X, 2.0 * y - 1.0, (4, 496, 500), method, seed, exponents, False)
                    for seed in range(partitions)
                ]
            )
        curves["methods"][method] = rows
    return Outcome(curves=curves)


def draw_moons(figure: Any, curves: Mapping[str, Any]) -> None:
    """Draw Fig. 4 as bars."""
    ax = figure.subplots()
    positions = np.arange(len(curves["noise"]))
    for shift, (method, rows) in enumerate(curves["methods"].items()):
        means = [np.mean(row) for row in rows]
        ax.bar(positions + 0.25 * (shift - 1), means, 0.23, label=method)
    ax.set_xticks(positions, [f"noise {noise}" for noise in curves["noise"]])
    ax.set_ylabel("test error (%)")
    ax.set_title("Two moons, four labels, rbf kernel, parameters selected on the test rows")
    ax.legend()


def amounts(
    data: DataFolder, partitions: int, exponents: Sequence[int], shares: Sequence[int]
) -> Outcome:
    """Return test errors by the share of labelled and of unlabelled rows (Fig. 5)."""
    X, y = data_set(data, "G4C")
    curves: dict[str, Any] = {"shares": list(shares), "labelled": {}, "unlabelled": {}}
    for method in ("LIBSVM", "QN-S3VM"):
        for part in ("labelled", "unlabelled"):
            rows = []
            for share in shares:
                l = 250 * share // 100 if part == "labelled" else 50
                u = 250 - l if part == "labelled" else 250 * share // 100
                sizes = (l, min(u, 250 - l), 250)
                rows.append(
                    [
                        one_partition(X, y, sizes, method, seed, exponents, True)
                        for seed in range(partitions)
                    ]
                )
            curves[part][method] = rows
    return Outcome(curves=curves)


def draw_amounts(figure: Any, curves: Mapping[str, Any]) -> None:
    """Draw Fig. 5."""
    for ax, part in zip(figure.subplots(1, 2), ("labelled", "unlabelled"), strict=True):
        for method, rows in curves[part].items():
            means, spread = np.mean(rows, axis=1), np.std(rows, axis=1)
            ax.errorbar(curves["shares"], means, spread, label=method, capsize=3)
        ax.set_xlabel(f"{part} rows, % of the training rows")
        ax.set_title("G4C" if part == "labelled" else "G4C, 20 % labelled")
        ax.grid(alpha=0.3)
    figure.axes[0].set_ylabel("test error (%)")
    figure.axes[0].legend()


def times(data: DataFolder, names: Sequence[str]) -> Outcome:
    """Return the seconds of a fit with λ = λ' = 1 by the number of rows (Fig. 6)."""
    curves: dict[str, Any] = {}
    for name in names:
        X, y = data_set(data, name)
        l, u, _ = SIZES_OF_ROWS[name][-1]
        order = partition(y, l, np.random.default_rng(0))
        curves[name] = {}
        for method, solver in SOLVERS.items():
            points = []
            for share in (0.25, 0.5, 0.75, 1.0):
                rows = order[: l + int(share * u)]
                points.append((len(rows), _seconds(X[rows], y[rows], l, solver)))
            curves[name][method] = points
    return Outcome(curves=curves)


def _seconds(X: Any, y: np.ndarray, l: int, solver: str, **settings: Any) -> float:
    """Return the seconds of a fit with λ = λ' = 1, as in the paper."""
    marks = np.where(np.arange(len(y)) < l, y, 0.0)
    model = S3VC(
        reg=1.0, reg_unlabeled=1.0, solver=solver, unlabeled=0.0, calibration_folds=0, **settings
    )
    start = time.perf_counter()
    model.fit(X, marks)
    return time.perf_counter() - start


def draw_times(figure: Any, curves: Mapping[str, Any]) -> None:
    """Draw Figs. 6 and 7."""
    axes = np.ravel(figure.subplots(1 + (len(curves) > 3), min(3, len(curves)), squeeze=False))
    for ax, (name, methods) in zip(axes, curves.items(), strict=True):
        for method, points in methods.items():
            ax.plot(*np.array(points).T, marker="o", label=method)
        ax.set_title(name)
        ax.set_xlabel("training rows")
        ax.set_ylabel("seconds")
        ax.grid(alpha=0.3)
    lines, names = axes[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside upper center", ncols=len(names))


def large_times(data: DataFolder, name: str, rows: Sequence[int]) -> Outcome:
    """Return the seconds of fits to many dense rows, QN-S³VM with about 2000 landmarks (Fig. 7)."""
    X, y = data_set(data, name)
    order = partition(y, 100, np.random.default_rng(0))
    curves: dict[str, list] = {}
    for method, solver in SOLVERS.items():
        basis = {"kernel": "rbf", "n_landmarks": 1999} if method == "QN-S3VM" else {}
        title = f"{method}, rbf, 1999 landmarks" if basis else f"{method}, linear"
        curves[title] = []
        for n in rows:
            part = order[:n]
            curves[title].append((len(part), _seconds(X[part], y[part], 100, solver, **basis)))
    return Outcome(curves={name: curves})


PAPER = Paper(
    number="002",
    name=NAME,
    citation="Gieseke, Airola, Pahikkala & Kramer (2013)",
    tables=("2",),
    jobs=jobs,
    protocol=__doc__,
    lost=("real-sim", "aut-avn", "gcat", "ccat"),
    instead="Instead of the data sets that are not available, and without a published result: "
    "news20 (rec against sci, 2 000 posts) and rcv1_ccat_small, a part of ccat.",
    plots={
        "figure 4": draw_moons,
        "figure 5": draw_amounts,
        "figure 6": draw_times,
        "figure 7": draw_times,
    },
)
