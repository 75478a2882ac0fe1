"""Chen, Tsang and Xu (2012), §V-B: embedded methods on the data sets of the SSL book, and §V-A.

The 12 fixed splits of Chapelle, Schölkopf and Zien (2006) with 10 labels; error of sign(f) on the
unlabelled rows. Parameters are selected as in the paper: from its grids, once per data set and
method, by the mean error over the splits on the very rows for which it is reported. These results
compare implementations; they do not show what to expect on data without known labels. Kernel,
neighbours, power and number of eigenvectors are the paper's. Graph weights are exp(−d²/2σ²), as in
the studies whose set-up the paper follows here; it prints d without the square. It does not give ε,
so LIBSVM's default, 0.1, is used. Both embedded methods have an intercept.

All points of a grid share the Gram matrix and the eigenvectors. A small μ with many eigenvectors
makes the quadratic program of LapESVR very ill-conditioned: points that are not solved within 100
working sets are excluded from the selection, together with those of larger C, and counted.
Eigenfunction uses at most 256 principal axes and 512 functions, the paper two functions per column.
PLapSVM is `LapSVC` by PCG with the stability check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice, product
from typing import Any

import numpy as np
from sklearn.svm import SVR

from lapwing.estimators import LapSVC
from lapwing.graphs import KNNGraph
from lapwing.graphs.eigenfunctions import EigenfunctionBasis
from lapwing.kernels.functions import GaussianKernel, Kernel
from lapwing.losses import EpsilonInsensitive, Loss, SquaredLoss
from lapwing.operators.dense import DenseOperator
from lapwing.solvers.embedded_ridge import EmbeddedRidge, block_solution
from lapwing.solvers.smoother import fit_smoother
from lapwing.solvers.svr import TubeProblem, tube_steps
from lapwing.spaces.graph_kernel import label_precision, reduced_precision, spectral_embedding

from .chen2012_moons import draw_moons, moons
from .data import DataFolder, mean_distance_gamma
from .grids import WEIGHTS, ManifoldGrid
from .jobs import Job, Outcome

NAME = "chen2012"
#: File, neighbours, power, eigenvectors.
SETS: dict[str, tuple[str, int, int, int]] = {
    "g241c": ("ssl_g241c.npz", 5, 2, 2),
    "g241d": ("ssl_g241n.npz", 5, 2, 8),
    "Digit1": ("ssl_digit1.npz", 5, 2, 100),
    "USPS": ("ssl_usps.npz", 5, 2, 100),
    "COIL2": ("ssl_coil2.npz", 5, 2, 100),
    "Text": ("ssl_text.npz", 50, 5, 100),
}
SIZES = [1e-2, 1e-1, 1.0, 10.0, 1e2, 1e4, 1e6]  # of C and of μ
LABEL_STRENGTHS = [1e2, 1e4, 1e6]  # of λ
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)  # of λ of Eigenfunction
#: The keys are settings of stored jobs: "pulls" are the label strengths λ.
FULL_GRID = {
    "sizes": SIZES,
    "pulls": LABEL_STRENGTHS,
    "weights": list(WEIGHTS),
    "bins": [100, 500, 1000],
}
COARSE_GRID = {
    "sizes": [1.0, 1e2, 1e4],
    "pulls": [1e4],
    "weights": [1e-6, 1e-2, 1.0, 100.0],
    "bins": [100],
}
SLOW = ("LapESVR", "PLapSVM")
THINNED = {
    "quick": "Table II: one split of 12, coarse grids",
    "standard": "Table II: coarse grids for LapESVR and PLapSVM, 100 bins",
    "full": "",
}
EPSILON = 0.1
WORKING_SETS = 100


def jobs(mode: str) -> list[Job]:
    """Return the jobs of Table II and of Figs. 1 and 2."""
    found = []
    for name, (file, *_) in SETS.items():
        for method in METHODS:
            coarse = mode == "quick" or (mode == "standard" and method in SLOW)
            grid = COARSE_GRID if coarse else FULL_GRID
            splits = 1 if mode == "quick" else 12
            settings = {"name": name, "method": method, "splits": splits, **grid}
            if mode == "standard":
                settings["bins"] = [100]
            found.append(Job(NAME, name, method, measure, settings, (file,), THINNED[mode]))
    found.append(Job(NAME, "two moons", "figure 1", moons, {"seed": 0}))
    if mode != "quick":
        settings = {"splits": 3 if mode == "standard" else 12}
        files = tuple(row[0] for row in SETS.values())
        thinned = "Fig. 2: LapERLS, 16 grid points, at most 400 eigenvectors"
        found.append(Job(NAME, "six sets", "figure 2", eigenvectors, settings, files, thinned))
    return found


def measure(data: DataFolder, name: str, method: str, splits: int, **grid: list) -> Outcome:
    """Return the errors of the best grid point."""
    task = Task(data, name, splits)
    table, names = METHODS[method](task, **grid)
    table = np.array(table).reshape(len(names), len(task.splits))
    means = table.mean(axis=1)
    best = int(np.nanargmin(means))
    remark = f"selected by the errors shown: {names[best]}"
    missing = int(np.isnan(means).sum())
    if missing:
        remark += f"; {missing} of {len(names)} points excluded"
    return Outcome({"error": table[best].tolist()}, remark)


#: Errors by grid point and split, and the names of the points.
Table = tuple[Any, list[str]]


class Task:
    """One data set: what all splits and grid points share."""

    def __init__(self, data: DataFolder, name: str, splits: int) -> None:
        file, n_neighbors, self.power, self.n_eigenvectors = SETS[name]
        self.X, [y, all_splits] = data.rows(file), data.load(file, "y", "splits10")
        self.y, self.splits = np.where(y == y.max(), 1.0, -1.0), all_splits[:splits]
        self.gamma = mean_distance_gamma(self.X)
        self.graph = KNNGraph(n_neighbors, power=self.power).fit(self.X)

    def gram(self, kernel: Kernel) -> np.ndarray:
        """Return the Gram matrix of all rows."""
        rows = kernel.prepare(self.X)
        K = kernel.block(rows, rows)
        return (K + K.T) / 2.0

    def eigenpairs(self, n_eigenvectors: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and eigenvectors of the graph."""
        # Where there is no gap, as on g241c, the looser default of the estimators gives another
        # subspace.
        return self.graph.eigenpairs(n_eigenvectors or self.n_eigenvectors, tol=1e-8)

    def labels(
        self, split: np.ndarray, strength: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return targets as a column, their strengths, and the diagonal of Λ for all rows."""
        targets, strengths = self.y[split, None], np.full(len(split), strength)
        return targets, strengths, label_precision(self.graph.component_, split, strengths, targets)

    def error(self, split: np.ndarray, f: np.ndarray) -> float:
        """Return the error of the values f on the unlabelled rows, in percent."""
        wrong = np.where(f > 0, 1.0, -1.0) != self.y
        wrong[split] = False
        return float(100.0 * wrong.sum() / (len(self.y) - len(split)))


def svr(task: Task, sizes: list[float], kernel: str, **_: Any) -> Table:
    """Return the errors of support vector regression on the labelled rows."""
    errors = []
    for C in sizes:
        model = SVR(C=C, kernel=kernel, gamma=task.gamma, epsilon=EPSILON)
        errors.append(
            [
                task.error(split, model.fit(task.X[split], task.y[split]).predict(task.X))
                for split in task.splits
            ]
        )
    return errors, [f"C {C:g}" for C in sizes]


def manifold(task: Task, points: list[tuple[float, float, float]], loss: Loss) -> list:
    """Return the errors of Laplacian methods at points (γ_A, γ_I, weight of the losses)."""
    errors = np.empty((len(points), len(task.splits)))
    K = task.gram(GaussianKernel(task.gamma))
    for s, split in enumerate(task.splits):
        grid = ManifoldGrid(K.copy(), task.graph.laplacian_, split)
        for k, (ambient, smooth, weight) in enumerate(points):
            values, _, _ = grid.solve(loss, task.y[split, None], ambient, smooth, weight)
            errors[k, s] = task.error(split, values[:, 0])
    return errors.tolist()


def lap_rls(task: Task, weights: list[float], **_: Any) -> Table:
    """Return the errors of LapRLS."""
    points = [(a, i, 1.0) for a, i in product(weights, weights)]
    names = [f"γ_A {a:g}, γ_I {i:g}" for a, i, _ in points]
    return manifold(task, points, SquaredLoss()), names


def lap_svr(task: Task, sizes: list[float], **_: Any) -> Table:
    """Return the errors of LapSVR: γ_A = 1, γ_I = μ and losses of weight 2C."""
    points = [(1.0, mu, 2.0 * C) for C, mu in product(sizes, sizes)]
    names = [f"C {weight / 2:g}, μ {mu:g}" for _, mu, weight in points]
    return manifold(task, points, EpsilonInsensitive(EPSILON)), names


def lap_svm_pcg(task: Task, weights: list[float], **_: Any) -> Table:
    """Return the errors of LapSVM by PCG, stopped when decisions no longer change."""
    K, errors, names = task.gram(GaussianKernel(task.gamma)), [], []
    for ambient, smooth in product(weights, weights):
        model = LapSVC(
            kernel="precomputed",
            graph=task.graph,
            solver="pcg",
            stopping="stability",
            tol=0.0,
            reg_ambient=ambient,
            reg_manifold=smooth,
        )
        names.append(f"γ_A {ambient:g}, γ_I {smooth:g}")
        row = []
        for split in task.splits:
            marks = np.zeros(len(task.y))
            marks[split] = task.y[split]
            model.set_params(unlabeled=0.0).fit(K, marks)
            row.append(task.error(split, model.transduction_))
        errors.append(row)
    return errors, names


def eigenfunction(task: Task, bins: list[int], **_: Any) -> Table:
    """Return the errors of the eigenfunction method."""
    X = task.X.toarray() if hasattr(task.X, "toarray") else task.X
    errors, names = [], []
    for n_bins in bins:
        values = Eigenfunctions(X, n_bins)
        for strength in STRENGTHS:
            errors.append(
                [task.error(split, values(split, task.y[split], strength)) for split in task.splits]
            )
            names.append(f"{n_bins} bins, λ {strength:g}")
    return errors, names


class Eigenfunctions:
    """The functions of `EigenfunctionClassifier` on all rows; they do not depend on labels."""

    def __init__(self, X: np.ndarray, n_bins: int) -> None:
        d = X.shape[1]
        basis = EigenfunctionBasis.build(X, min(d, 256), n_bins, min(2 * d, 512), None)
        self.values, self.penalty = basis(X), np.diag(basis.eigenvalues)

    def __call__(self, labelled: np.ndarray, targets: np.ndarray, strength: float) -> np.ndarray:
        """Return the values on all rows; λ refers to functions of unit length."""
        weights = np.full(len(labelled), strength / len(self.values))
        at_labels = self.values[labelled]
        coef = fit_smoother(at_labels, targets[:, None], weights, self.penalty).coef
        return (self.values @ coef)[:, 0]


def lap_erls(
    task: Task,
    sizes: list[float],
    pulls: list[float],
    n_eigenvectors: int | None = None,
    **_: Any,
) -> Table:
    """Return the errors of LapERLS, with one factorisation per C."""
    points = list(product(sizes, pulls, sizes))
    errors = np.empty((len(points), len(task.splits)))
    gram = DenseOperator(task.gram(GaussianKernel(task.gamma)))
    values, vectors = task.eigenpairs(n_eigenvectors)
    none = np.empty(0)
    for c, C in enumerate(sizes):
        problem = EmbeddedRidge(
            gram=gram,
            ridge=1.0 / C,
            basis=vectors,
            penalty=none,
            labelled=none.astype(int),
            targets=none,
            label_precision=none,
            fit_intercept=True,
        )
        M, residual = block_solution(problem)
        each = len(pulls) * len(sizes)
        for k, (_C, strength, mu) in enumerate(points[c * each : (c + 1) * each], c * each):
            for s, split in enumerate(task.splits):
                targets, strengths, precision = task.labels(split, strength)
                precision[split] = 0.0  # the rest fixes components without a label
                penalty = reduced_precision(values, vectors, task.power, precision, mu)
                this = replace(
                    problem,
                    penalty=penalty,
                    labelled=split,
                    targets=targets,
                    label_precision=strengths,
                )
                f = this.step(1, M, residual, 1e-3).function.values[:, 0]
                errors[k, s] = task.error(split, f)
    return errors.tolist(), [f"C {C:g}, λ {m:g}, μ {mu:g}" for C, m, mu in points]


def lap_esvr(task: Task, sizes: list[float], pulls: list[float], **_: Any) -> Table:
    """Return the errors of LapESVR, with NaN for excluded points.

    Along C each solution starts from the previous one. Often that is also the next one, because C
    acts only on rows whose coefficient is ±C.
    """
    shape = len(pulls), len(sizes), len(sizes), len(task.splits)
    errors, most = np.full(shape, np.nan), np.full(shape[:2], len(sizes))
    K = task.gram(GaussianKernel(task.gamma))
    values, vectors = task.eigenpairs()
    for s, m, i in product(range(len(task.splits)), range(len(pulls)), range(len(sizes))):
        split = task.splits[s]
        targets, strengths, precision = task.labels(split, pulls[m])
        E = spectral_embedding(values, vectors, task.power, precision, sizes[i])
        Q = DenseOperator(K + E @ E.T)
        problem = TubeProblem(
            submatrix=Q.submatrix,
            values=lambda beta, rows, Q=Q: (Q @ beta)[rows],  # type: ignore[misc]
            targets=E @ (E[split].T @ (strengths[:, None] * targets)),
            C=1.0,
            epsilon=EPSILON,
            fit_intercept=True,
        )
        start = None
        for c in range(most[m, i]):
            memory = 2 * Q.array.nbytes
            this = replace(problem, C=sizes[c])
            steps = tube_steps(this, None, tol=1e-3, memory=memory, start=start)
            *_steps, step = islice(steps, WORKING_SETS + 1)
            if not step.converged:
                most[m, i] = c
                break
            start = step.function.coef
            f = step.function.values - E @ (E.T @ start)
            errors[m, i, c, s] = task.error(split, f[:, 0])
    points = product(pulls, sizes, sizes)
    return errors.tolist(), [f"λ {m:g}, μ {mu:g}, C {C:g}" for m, mu, C in points]


def _svr_linear(task: Task, **grid: list) -> Table:
    return svr(task, kernel="linear", **grid)


def _svr_rbf(task: Task, **grid: list) -> Table:
    return svr(task, kernel="rbf", **grid)


METHODS: dict[str, Callable[..., Table]] = {
    "SVR(Linear)": _svr_linear,
    "SVR(RBF)": _svr_rbf,
    "LapRLS": lap_rls,
    "LapSVR": lap_svr,
    "PLapSVM": lap_svm_pcg,
    "Eigenfunction": eigenfunction,
    "LapERLS": lap_erls,
    "LapESVR": lap_esvr,
}


def eigenvectors(data: DataFolder, splits: int) -> Outcome:
    """Return the smallest error of LapERLS by the number of eigenvectors (Fig. 2)."""
    counts = [1, 2, 4, 8, 16, 32, 64, 100, 200, 400]
    curves: dict[str, Any] = {"counts": counts, "errors": {}}
    for name in SETS:
        task = Task(data, name, splits)
        task.eigenpairs(max(counts))  # the graph caches them
        curves["errors"][name] = [
            float(np.mean(lap_erls(task, [1e-2, 1.0, 1e2, 1e4], [1e4], count)[0], axis=1).min())
            for count in counts
        ]
    return Outcome(curves=curves)


def draw_eigenvectors(figure: Any, curves: Mapping[str, Any]) -> None:
    """Draw Fig. 2."""
    ax = figure.subplots()
    for name, errors in curves["errors"].items():
        ax.semilogx(curves["counts"], errors, marker="o", label=name)
    ax.set_xlabel("eigenvectors")
    ax.set_ylabel("smallest error of the grid (%), LapERLS")
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


PLOTS = {"figure 1": draw_moons, "figure 2": draw_eigenvectors}
