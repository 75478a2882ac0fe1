"""Chen, Tsang and Xu (2012), §V-C: large data sets and few labels, in the graph and outside it.

In each round ten labels per class (per digit for MNIST) and 1000 validation rows are drawn.
Parameters are selected from the paper's grids by the mean error on the validation rows over all
rounds, those of Eigenfunction by the errors shown, as in the paper. Errors are those on the rows
that are neither labelled nor validation rows. For extended USPS the same models also predict the
266 079 shifted training images, which are in no graph (Table IV).

Differences from the paper:

* It selects with the labelled and the validation rows only. The best μ of LapESVR depends on the
  number of rows of the graph: on FACEMIT that selection gives a constant function. Here the graph
  contains all rows, and the selection uses LapERLS, the same model with another loss, on 4000 of
  the rows: one factorisation per C serves all λ and μ. Ties go to the larger μ, then to the
  smaller C and λ.
* The validation rows stay in the large graph as unlabelled rows, so that one graph and one set of
  eigenvectors serve all rounds. They also stay among the unlabelled rows of the other methods.
* The paper does not give ε; it is 0.1, the default of LIBSVM.
* Images of FACEMIT are equalised (each pixel is replaced by its rank in the image), as the training
  files published by the authors of the data set are said to be. On raw pixels no parameters that
  were tried gave an error below 7 %; the equalisation was adopted after seeing that.
* Eigenfunction uses at most 256 principal axes and 512 functions, and parameters of the anchor
  graph are the defaults of `AnchorGraphClassifier`.

The kernel is rbf of width n²/Σ‖xᵢ − xⱼ‖²; the graph and the number of eigenvectors are those of
Table I and §V-C: 6 neighbours and 10 eigenvectors, for MNIST 20 and 20. The weights of the graph
are exp(−d/2σ²) with d not squared, as the paper prints them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.svm import SVR

from lapwing.estimators import (
    AnchorGraphClassifier,
    LapESVC,
    LapRLSClassifier,
    LapSVC,
)
from lapwing.graphs import KNNGraph
from lapwing.kernels.functions import GaussianKernel
from lapwing.kernels.gram import gram_operator
from lapwing.losses import SquaredLoss
from lapwing.solvers.embedded_ridge import EmbeddedRidge, block_solution
from lapwing.spaces.graph_kernel import label_precision, reduced_precision

from .chen2012_book import EPSILON, LABEL_STRENGTHS, NAME, SIZES, STRENGTHS, Eigenfunctions
from .chen2012_rounds import SETS, Round, Task, extended_usps, printed_graph
from .data import DataFolder, error
from .grids import WEIGHTS, ManifoldGrid
from .jobs import Job, Outcome

ANCHORS = (500, 1000, 2000, 5000)
METHODS = (
    "SVR(Linear)",
    "SVR(RBF)",
    "LapRLS(Linear)",
    "Eigenfunction",
    *(f"AnchorGraphReg({m})" for m in ANCHORS),
    "LapESVR",
)
#: Rounds of the paper, and those of standard mode on FACEMIT and on the larger data sets.
ROUNDS = 10
STANDARD_ROUNDS = {
    "SVR(Linear)": (10, 10),
    "SVR(RBF)": (10, 10),
    "LapRLS(Linear)": (10, 2),
    "Eigenfunction": (10, 10),
    "AnchorGraphReg(500)": (10, 3),
    "AnchorGraphReg(1000)": (3, 1),
    "AnchorGraphReg(2000)": (1, 0),
    "AnchorGraphReg(5000)": (0, 0),
    "LapESVR": (2, 1),
    "PLapSVM": (0, 0),
}
THINNED = {
    "quick": "Tables III and IV: one round of 10; on the larger data sets supervised methods only",
    "standard": "Tables III and IV: fewer than 10 rounds for the slower methods (see the repeats), "
    "100 bins; 2000 anchors on FACEMIT only; no PLapSVM and no 5000 anchors",
    "full": "",
}
#: Data sets and numbers of eigenvectors of Fig. 3, and numbers of rows of Fig. 4.
FIGURES: dict[str, tuple[tuple[str, ...], list[int], list[int]]] = {
    "standard": (("FACEMIT",), [4, 10, 30, 100], [1000, 3000, 10000, 30000]),
    "full": (
        ("FACEMIT", "extended USPS"),
        [4, 8, 10, 20, 30, 50, 100],
        [1000, 3000, 10000, 30000, 75383],
    ),
}
FIGURES_THINNED = {
    "standard": "Fig. 3: one round, FACEMIT only, 4 numbers of eigenvectors; Fig. 4: one round, "
    "up to 30 000 rows, a tenth of the new rows",
    "full": "Fig. 3: one round, FACEMIT and extended USPS; Fig. 4: one round, a tenth of the new "
    "rows",
}
N_PART = 4000
#: Training images whose shifted copies are predicted at once.
IMAGES = 200


def jobs(mode: str) -> list[Job]:
    """Return the jobs of Tables III and IV and of Figs. 3 and 4."""
    found = []
    for name, (file, *_) in SETS.items():
        methods = [*METHODS, "PLapSVM"] if name == "FACEMIT" else list(METHODS)
        if mode == "quick":
            methods = ["SVR(Linear)", "SVR(RBF)"]
            if name == "FACEMIT":
                methods += ["AnchorGraphReg(500)", "LapESVR"]
        for method in methods:
            rounds = 1 if mode == "quick" else ROUNDS
            if mode == "standard":
                rounds = STANDARD_ROUNDS[method][name != "FACEMIT"]
            if rounds == 0:
                continue
            bins = [100, 500, 1000] if mode == "full" else [100]
            settings = {"name": name, "method": method, "rounds": rounds, "bins": bins}
            found.append(Job(NAME, name, method, measure, settings, (file,), THINNED[mode]))
    if mode != "quick":
        names, counts, sizes = FIGURES[mode]
        thinned = FIGURES_THINNED[mode]
        for name in names:
            settings = {"name": name, "counts": counts}
            files = (SETS[name][0],)
            found.append(Job(NAME, name, "figure 3", counts_of, settings, files, thinned))
        settings, files = {"sizes": sizes}, ("usps.npz",)
        found.append(Job(NAME, "extended USPS", "figure 4", unlabelled, settings, files, thinned))
    return found


#: From rows to class codes 0 and 1.
Predict = Callable[[np.ndarray], np.ndarray]


def measure(data: DataFolder, name: str, method: str, rounds: int, bins: Sequence[int]) -> Outcome:
    """Return the errors of a method on a data set, and on new rows if there are any."""
    task = Task(data, name, rounds, bins)
    fit, remark = _selected(task, method)
    values: dict[str, list[float]] = {"error": [], "seconds": []}
    models: list[Predict] = []
    for draw in task.rounds:
        start = time.perf_counter()
        decisions, predict = fit(draw)
        values["seconds"].append(time.perf_counter() - start)
        values["error"].append(error(decisions[draw.counted], task.y[draw.counted]))
        models.append(predict)
    if name == "extended USPS" and method not in ("LapRLS(Linear)", "Eigenfunction"):
        errors, seconds = _on_new_rows(data, models)
        values["error on new rows"], values["seconds a new row"] = errors, [seconds]
    return Outcome(values, remark)


#: From a round to the predictions for all rows and a function for new ones.
Fit = Callable[[Round], tuple[np.ndarray, Predict]]


def _selected(task: Task, method: str) -> tuple[Fit, str]:
    """Return a method with selected parameters, and a remark on them."""
    if method.startswith("SVR"):
        return _svr(task, "linear" if method == "SVR(Linear)" else "rbf")
    if method == "LapRLS(Linear)":
        return _lap_rls_linear(task)
    if method == "PLapSVM":
        return _lap_svm_pcg(task)
    if method == "Eigenfunction":
        return _eigenfunction(task)
    if method.startswith("AnchorGraphReg"):
        n_anchors = int(method.split("(")[1].rstrip(")"))
        return partial(_fit_model, task, AnchorGraphClassifier(n_anchors)), "defaults"
    graph = task.graph()
    selected = select_embedded(task, graph, task.n_eigenvectors)
    model = LapESVC(graph=graph, gamma=task.gamma, n_eigenvectors=task.n_eigenvectors, **selected)
    remark = ", ".join(f"{key} {value:g}" for key, value in selected.items())
    return partial(_fit_model, task, model), remark


def _fit_model(task: Task, model: Any, draw: Round) -> tuple[np.ndarray, Predict]:
    model = type(model)(**model.get_params(deep=False)).fit(task.X, task.marks(draw))
    return model.transduction_, model.predict


def _svr(task: Task, kernel: str) -> tuple[Fit, str]:
    def fit(C: float, draw: Round) -> Predict:
        model = SVR(C=C, kernel=kernel, gamma=task.gamma, epsilon=EPSILON)
        model.fit(task.X[draw.labelled], 2.0 * task.y[draw.labelled] - 1.0)
        return lambda X: (model.predict(X) > 0).astype(int)

    def on_validation(C: float) -> float:
        return _mean_error(task, lambda draw: fit(C, draw)(task.X[draw.validation]))

    C = min(SIZES, key=on_validation)

    def run(draw: Round) -> tuple[np.ndarray, Predict]:
        predict = fit(C, draw)
        return predict(task.X), predict

    return run, f"C {C:g}"


def _mean_error(task: Task, predicted: Callable[[Round], np.ndarray]) -> float:
    return float(np.mean([error(predicted(draw), task.y[draw.validation]) for draw in task.rounds]))


def _lap_rls_linear(task: Task) -> tuple[Fit, str]:
    """Linear LapRLS, weights selected on labelled and validation rows, as in the paper."""
    points = list(product(WEIGHTS, WEIGHTS))
    errors = np.zeros(len(points))
    for draw in task.rounds:
        rows = np.concatenate([draw.labelled, draw.validation])
        X, l = task.X[rows].astype(np.float64), len(draw.labelled)
        grid = ManifoldGrid(X @ X.T, printed_graph(X, task.neighbors).laplacian_, np.arange(l))
        targets = 2.0 * task.y[draw.labelled, None] - 1.0
        for k, (ambient, smooth) in enumerate(points):
            values, _, _ = grid.solve(SquaredLoss(), targets, ambient, smooth)
            errors[k] += error(values[l:, 0] > 0, task.y[draw.validation] == 1)
    ambient, smooth = points[int(errors.argmin())]
    model = LapRLSClassifier(
        kernel="linear", graph=task.graph(), reg_ambient=ambient, reg_manifold=smooth
    )
    return partial(_fit_model, task, model), f"γ_A {ambient:g}, γ_I {smooth:g}"


def _lap_svm_pcg(task: Task) -> tuple[Fit, str]:
    """LapSVM by PCG with the stability check, weights selected on labelled and validation rows."""
    points = list(product(WEIGHTS, WEIGHTS))
    errors = np.zeros(len(points))
    pcg: dict[str, Any] = {"solver": "pcg", "stopping": "stability", "tol": 0.0}
    pcg["gamma"] = task.gamma
    for draw in task.rounds:
        rows = np.concatenate([draw.labelled, draw.validation])
        l, part = len(draw.labelled), printed_graph(task.X[rows], task.neighbors)
        marks = np.where(np.arange(len(rows)) < l, task.y[rows], -1)
        for k, (ambient, smooth) in enumerate(points):
            model = LapSVC(graph=part, reg_ambient=ambient, reg_manifold=smooth, **pcg)
            model.fit(task.X[rows], marks)
            errors[k] += error(model.transduction_[l:], task.y[draw.validation])
    ambient, smooth = points[int(errors.argmin())]
    model = LapSVC(graph=task.graph(), reg_ambient=ambient, reg_manifold=smooth, **pcg)
    return partial(_fit_model, task, model), f"γ_A {ambient:g}, γ_I {smooth:g}"


def _eigenfunction(task: Task) -> tuple[Fit, str]:
    """Eigenfunction, λ and the bins selected by the errors shown, as in the paper."""
    best: tuple[float, Fit, str] | None = None
    for n_bins in task.bins:
        functions = Eigenfunctions(task.X, n_bins)
        for strength in STRENGTHS:

            def fit(draw: Round, functions: Any = functions, strength: float = strength) -> Any:
                targets = 2.0 * task.y[draw.labelled] - 1.0
                values = functions(draw.labelled, targets, strength)
                return (values > 0).astype(int), None

            wrong = np.mean(
                [error(fit(draw)[0][draw.counted], task.y[draw.counted]) for draw in task.rounds]
            )
            if best is None or wrong < best[0]:
                best = float(wrong), fit, f"{n_bins} bins, λ {strength:g}"
    assert best is not None
    return best[1], best[2] + ", by the errors shown"


def select_embedded(task: Task, graph: KNNGraph, n_eigenvectors: int) -> dict[str, Any]:
    """Return C, λ and μ with the smallest mean error of LapERLS on the validation rows."""
    grid = list(product(SIZES, SIZES, LABEL_STRENGTHS))
    errors = np.zeros(len(grid))
    values, vectors = graph.eigenpairs(n_eigenvectors)
    kernel = GaussianKernel(task.gamma, task.X.mean(axis=0, dtype=np.float64))
    for draw in task.rounds:
        labelled, validation = draw.labelled, draw.validation
        others = np.random.default_rng(0).permutation(draw.counted)
        rows = np.concatenate([labelled, validation, others])[:N_PART]
        held_out = slice(len(labelled), len(labelled) + len(validation))
        gram = gram_operator(kernel, kernel.prepare(task.X[rows]), "float64")
        targets = 2.0 * task.y[labelled][:, None] - 1.0
        index, ones = np.arange(len(labelled)), np.ones(len(labelled))
        blocks = {}
        for C in SIZES:  # each row of the subset stands for several
            ridge = len(rows) / (len(task.X) * C)
            whole = EmbeddedRidge(
                gram, ridge, vectors[rows], np.eye(len(values)), index, targets, ones, True
            )
            blocks[C] = whole, *block_solution(whole)
        for k, (mu, C, strength) in enumerate(grid):
            precision = label_precision(graph.component_, labelled, strength * ones, targets)
            precision[labelled] = 0.0  # the rest fixes components without a label
            penalty = reduced_precision(values, vectors, 1, precision, mu)
            whole, M, residual = blocks[C]
            problem = replace(whole, penalty=penalty, label_precision=strength * ones)
            found = problem.step(1, M, residual, 0.0).function.values[held_out, 0] > 0
            errors[k] += np.mean(found != task.y[validation]) / len(task.rounds)
    rounded = errors.round(9).tolist()
    best = min(range(len(grid)), key=lambda k: (rounded[k], -grid[k][0], *grid[k][1:]))
    mu, C, strength = grid[best]
    return {"C": C, "reg_labeled": strength, "reg_manifold": mu}


def _on_new_rows(data: DataFolder, models: list[Predict]) -> tuple[list[float], float]:
    """Return the errors on the shifted training images of USPS, and seconds per row."""
    wrong, seconds, total = np.zeros(len(models)), 0.0, 0
    for X, y in extended_usps(data, train=True, images_at_a_time=IMAGES):
        start = time.perf_counter()
        wrong += [np.sum(predict(X) != y) for predict in models]
        seconds += time.perf_counter() - start
        total += len(y)
    return (100.0 * wrong / total).tolist(), seconds / total / len(models)


def counts_of(data: DataFolder, name: str, counts: Sequence[int]) -> Outcome:
    """Return error and seconds by the number of eigenvectors, one round (Fig. 3)."""
    task = Task(data, name, 1)
    graph, rows = task.graph(), []
    graph.eigenpairs(max(counts))  # the graph caches them
    selected = select_embedded(task, graph, task.n_eigenvectors)
    for count in counts:
        model = LapESVC(graph=graph, gamma=task.gamma, n_eigenvectors=count, **selected)
        start = time.perf_counter()
        decisions, _ = _fit_model(task, model, task.rounds[0])
        seconds = time.perf_counter() - start
        counted = task.rounds[0].counted
        rows.append((count, error(decisions[counted], task.y[counted]), seconds))
    return Outcome(curves={"axis": "eigenvectors", "name": name, "rows": rows})


def unlabelled(data: DataFolder, sizes: Sequence[int]) -> Outcome:
    """Return error on new rows and seconds by the number of rows, one round (Fig. 4)."""
    whole = Task(data, "extended USPS", 1)
    draw, rows = whole.rounds[0], []
    selected = select_embedded(whole, whole.graph(), whole.n_eigenvectors)
    new = [part for k, part in enumerate(extended_usps(data, True, 50)) if k % 10 == 0]
    X_new, y_new = (np.concatenate(parts) for parts in zip(*new, strict=True))
    for size in sizes:
        part = np.concatenate([draw.labelled, draw.validation, draw.counted])
        part = np.concatenate([part[:20], np.random.default_rng(0).permutation(part[20:])])[:size]
        marks = np.where(np.arange(len(part)) < 20, whole.y[part], -1)
        model = LapESVC(
            graph=printed_graph(whole.X[part], whole.neighbors),
            gamma=whole.gamma,
            n_eigenvectors=whole.n_eigenvectors,
            **selected,
        )
        start = time.perf_counter()
        model.fit(whole.X[part], marks)
        seconds = time.perf_counter() - start
        rows.append((len(part), error(model.predict(X_new), y_new), seconds))
    return Outcome(curves={"axis": "rows", "name": "extended USPS, new rows", "rows": rows})


def draw_pair(figure: Any, curves: Mapping[str, Any]) -> None:
    """Draw error and seconds side by side (Figs. 3 and 4)."""
    sizes, errors, seconds = np.array(curves["rows"]).T
    left, right = figure.subplots(1, 2)
    left.semilogx(sizes, errors, "o-")
    left.set(xlabel=curves["axis"], ylabel="error (%)", title=curves["name"], ylim=(0, None))
    right.plot(sizes, seconds, "o-", color="#D55E00")
    right.set(xlabel=curves["axis"], ylabel="seconds of a fit, graph given", ylim=(0, None))
    for ax in (left, right):
        ax.grid(alpha=0.3)


PLOTS = {"figure 3": draw_pair, "figure 4": draw_pair}
