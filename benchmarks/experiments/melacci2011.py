"""Melacci and Belkin (2011), §6: Laplacian classifiers on eight data sets, and the course of PCG.

Twelve splits: four stratified folds, drawn three times; three folds for training, one for test (T).
Labelled (L) and validation rows (V) are drawn from the training rows, at least one of each class; V
is in no graph. γ_A and γ_I are selected from the paper's grid, one pair per data set and method, by
the mean error on V over the splits, with ties broken by the mean loss there. Kernel and graph are
the paper's. MNIST3VS8 and FACEMIT have their own test part and balanced L and V, and use the
weights of the paper's Tables 9 and 10. Seconds are those of `fit` with precomputed Gram matrix and
graph.

The paper does not state how rows of COIL20 are scaled. For pixels from 0 to 1 its kernel width 0.6
is below the distance of any two images, so rows have unit length here. FACEMIT pixels are divided
by 255, and its error is the mean over the two classes, as in the paper.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lapwing.estimators import LapRLSClassifier, LapSVC
from lapwing.graphs import KNNGraph
from lapwing.losses import Hinge, Loss, SquaredHinge, SquaredLoss
from lapwing.operators.dense import DenseOperator
from lapwing.risk import RegularizedRisk
from lapwing.solvers.pcg import pcg
from lapwing.spaces.kernel_space import KernelSpace

from .data import DataFolder, error
from .grids import WEIGHTS, ManifoldGrid, decided, one_vs_rest, smallest_error
from .jobs import Job, Outcome, Paper
from .melacci2011_splits import SETS, Split, gram_matrices, graph_of, kernel_of, splits
from .published import parameters

NAME = "melacci2011"
LARGE = ("MNIST3VS8", "FACEMIT")
LOSSES: dict[str, type[Loss]] = {
    "SVM": Hinge,
    "RLSC": SquaredLoss,
    "LapRLSC": SquaredLoss,
    "LapRLSC direct": SquaredLoss,
    "LapSVM dual": Hinge,
    "LapSVM Newton": SquaredHinge,
}
SUPERVISED = ("SVM", "RLSC")
CHECKS = ("stability", "validation", "mixed")
#: Data sets of Figs. 5 to 7 and of Figs. 8 and 9.
COURSES = {"5": "USPST", "6": "MNIST3VS8", "7": "COIL20"}
NORMS = {"8": ("G50C", "COIL20(B)", "PCMAC"), "9": ("USPST(B)", "COIL20", "USPST")}
REPEATS = {"quick": 1, "standard": 12, "full": 12}
LARGE_REPEATS = {"quick": 1, "standard": 3, "full": 3}
THINNED = {
    "quick": "one split of 12; PCG with the weights of Tables 9 and 10",
    "standard": "PCG with many classes, MNIST3VS8 and FACEMIT: weights of Tables 9 and 10",
    "full": "MNIST3VS8 and FACEMIT: weights of Tables 9 and 10",
}


def jobs(mode: str) -> list[Job]:
    """Return the jobs: every method on every data set, and the course of PCG."""
    found = []
    for name, (file, *_) in SETS.items():
        if mode == "quick" and name in LARGE:
            continue
        repeats = (LARGE_REPEATS if name in LARGE else REPEATS)[mode]
        methods = [*LOSSES, *(f"PCG {check}" for check in CHECKS)]
        if name == "PCMAC":
            methods += [f"LapRLSC PCG {check}" for check in CHECKS]
        else:
            methods.remove("LapRLSC direct")
        if name == "FACEMIT":
            methods = [*SUPERVISED, *(f"PCG {check}" for check in CHECKS)]
        for method in methods:
            weights = _printed(name, method) if _is_printed(mode, name, method) else None
            settings = {"name": name, "method": method, "repeats": repeats, "weights": weights}
            found.append(Job(NAME, name, method, measure, settings, (file,), THINNED[mode]))
    for number, name in COURSES.items():
        if mode != "quick" or name not in LARGE:
            settings = {"name": name, "iterations": 200 if name in LARGE else 400}
            found.append(Job(NAME, name, f"figure {number}", course, settings, (SETS[name][0],)))
    for number, names in NORMS.items():
        if mode != "quick":
            files = tuple(SETS[name][0] for name in names)
            settings = {"names": list(names), "iterations": 300}
            found.append(Job(NAME, "all sets", f"figure {number}", norms, settings, files))
    return found


def _is_printed(mode: str, name: str, method: str) -> bool:
    """Whether the weights are those of the paper's Tables 9 and 10, to save time."""
    if name in LARGE:
        return True
    many_classes = name in ("COIL20", "USPST")
    return "PCG" in method and (mode == "quick" or (mode == "standard" and many_classes))


def _printed(name: str, method: str) -> list[float] | None:
    """Return the paper's γ_A and γ_I, None if it has none."""
    method = {"LapRLSC direct": "LapRLSC"}.get(method, method.removeprefix("LapRLSC "))
    return parameters(NAME).get((name, method))


def measure(
    data: DataFolder, name: str, method: str, repeats: int, weights: list[float] | None
) -> Outcome:
    """Return errors on U, V and T, seconds and iterations of one method on one data set."""
    if name == "FACEMIT":
        return _facemit(data, method, repeats, weights)
    values: dict[str, list[float]] = {}
    remark = ""
    if weights is None:
        by = _errors_by_fits if "PCG" in method else _errors_by_grid
        points = list(product(WEIGHTS, (0.0,) if method in SUPERVISED else WEIGHTS))
        weights = _select(splits(data, name, repeats), name, points, partial(by, method))
        remark = f"selected γ_A {weights[0]:g}, γ_I {weights[1]:g}"
    for split in splits(data, name, repeats):
        for quantity, value in fit_and_measure(split, name, method, weights).items():
            values.setdefault(quantity, []).append(value)
    return Outcome(values, remark)


def _select(
    drawn: Iterator[Split],
    name: str,
    points: list[tuple[float, float]],
    errors: Callable[..., Iterator],
) -> list[float]:
    """Return the weights with the smallest mean error on V."""
    totals = np.zeros((2, len(points)))
    for split in drawn:
        totals += np.array(list(errors(split, name, points))).T
    return list(points[smallest_error(totals[0], totals[1])])


def _errors_by_grid(
    method: str, split: Split, name: str, points: list[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Yield error and loss on V of every grid point, all from one factorisation."""
    train = split.labelled if method in SUPERVISED else split.train
    K, K_v = gram_matrices(split, name, train, split.validation)
    graph = KNNGraph(1) if method in SUPERVISED else graph_of(name)
    loss, classes = LOSSES[method](), np.unique(split.y)
    targets = one_vs_rest(split.y[split.labelled], classes)
    targets_v = one_vs_rest(split.y[split.validation], classes)
    graph.fit(split.X[train])
    grid = ManifoldGrid(K, graph.laplacian_, np.arange(len(split.labelled)))
    for ambient, manifold in points:
        _, theta, b = grid.solve(loss, targets, ambient, manifold)
        values = K_v @ grid.expansion(theta) + b
        wrong = error(decided(values, classes), split.y[split.validation])
        yield wrong, float(loss.value(values, targets_v).mean())


def _errors_by_fits(
    method: str, split: Split, name: str, points: list[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Yield the error on V of every grid point, each fitted separately."""
    K, K_v = gram_matrices(split, name, split.train, split.validation)
    graph = graph_of(name).fit(split.X[split.train])
    held_out = K_v, split.y[split.validation]
    for point in points:
        model = make_estimator(method, point).set_params(graph=graph)
        model.fit(K, split.marks, validation=held_out)
        yield error(model.predict(K_v), held_out[1]), 0.0


def make_estimator(method: str, weights: Any) -> Any:
    """Return an estimator for a precomputed Gram matrix."""
    common = {"kernel": "precomputed", "reg_ambient": weights[0], "reg_manifold": weights[1]}
    for check in CHECKS:
        if method.endswith(f"PCG {check}"):
            estimator = LapRLSClassifier if method.startswith("LapRLSC") else LapSVC
            return estimator(solver="pcg", stopping=check, tol=0.0, **common)
    if method in ("RLSC", "LapRLSC", "LapRLSC direct"):
        return LapRLSClassifier(solver="direct", **common)
    if method in ("SVM", "LapSVM dual"):
        return LapSVC("hinge", solver="dual", **common)
    return LapSVC(solver="newton", **common)


def fit_and_measure(split: Split, name: str, method: str, weights: Any) -> dict[str, float]:
    """Return the errors in percent, the seconds and the iterations of a fit."""
    supervised = method in SUPERVISED
    train = split.labelled if supervised else split.train
    K, K_v, K_t = gram_matrices(split, name, train, split.validation, split.test)
    graph = KNNGraph(1) if supervised else graph_of(name)
    model = make_estimator(method, weights).set_params(graph=graph.fit(split.X[train]))
    start = time.perf_counter()
    held_out = K_v, split.y[split.validation]
    model.fit(K, split.marks[: len(train)], validation=held_out)
    seconds = time.perf_counter() - start
    if supervised:
        _, K_u = gram_matrices(split, name, train, split.unlabelled)
        on_unlabelled = model.predict(K_u)
    else:
        on_unlabelled = model.transduction_[len(split.labelled) :]
    return {
        "U": error(on_unlabelled, split.y[split.unlabelled]),
        "V": error(model.predict(K_v), split.y[split.validation]),
        "T": error(model.predict(K_t), split.y[split.test]),
        "seconds": seconds,
        "steps" if method == "LapSVM Newton" else "iterations": float(model.n_iter_),
    }


def _facemit(data: DataFolder, method: str, repeats: int, weights: list[float] | None) -> Outcome:
    """Return the macro errors on FACEMIT, whose Gram matrix is stored in single precision."""
    assert weights is not None
    values: dict[str, list[float]] = {}
    gamma = kernel_of("FACEMIT").gamma  # type: ignore[attr-defined]
    for split in splits(data, "FACEMIT", repeats):
        supervised = method in SUPERVISED
        model = make_estimator(method, weights).set_params(kernel="rbf", gamma=gamma)
        train = split.labelled if supervised else split.train
        graph = KNNGraph(1) if supervised else graph_of("FACEMIT")
        model.set_params(graph=graph.fit(split.X[train]))
        validation = split.X[split.validation], split.y[split.validation]
        start = time.perf_counter()
        model.fit(split.X[train], split.marks[: len(train)], validation=validation)
        values.setdefault("seconds", []).append(time.perf_counter() - start)
        values.setdefault("iterations", []).append(float(model.n_iter_))
        parts = {"U": split.unlabelled, "V": split.validation, "T": split.test}
        for quantity, rows in parts.items():
            if quantity == "U" and not supervised:
                found = model.transduction_[len(split.labelled) :]
            else:
                found = model.predict(split.X[rows])
            truth = split.y[rows]
            macro = np.mean([error(found[truth == c], truth[truth == c]) for c in (0, 1)])
            values.setdefault(quantity, []).append(float(macro))
    return Outcome(values)


def course(data: DataFolder, name: str, iterations: int) -> Outcome:
    """Return the errors after every iteration of PCG, and those of Newton, on the first split."""
    [split] = splits(data, name, 1)
    weights = _printed(name, "LapSVM Newton")
    exact = fit_and_measure(split, name, "LapSVM Newton", weights)
    K, K_v, K_t = gram_matrices(split, name, split.train, split.validation, split.test)
    classes, l = np.unique(split.y), len(split.labelled)
    curves: dict[str, list[float]] = {"U": [], "V": [], "T": []}

    def watch(step: Any) -> bool:
        f, coef, b = step.function.values, step.function.coef, step.function.intercept
        values = {"U": f[l:], "V": K_v @ coef + b, "T": K_t @ coef + b}
        rows = {"U": split.unlabelled, "V": split.validation, "T": split.test}
        for part, found in values.items():
            curves[part].append(error(decided(found, classes), split.y[rows[part]]))
        return step.iteration >= iterations

    graph = graph_of(name).fit(split.X[split.train])
    model = make_estimator("PCG stability", weights)
    model.set_params(stopping="optimal", graph=graph, callback=watch, max_iter=iterations + 1)
    model.fit(K, split.marks)
    newton = {part: exact[part] for part in ("U", "V", "T")}
    return Outcome(curves={"name": name, "pcg": curves, "newton": newton})


def draw_course(figure: Any, curves: Mapping[str, Any]) -> None:
    """Draw Figs. 5 to 7: errors by iteration, with those of Newton as horizontal lines."""
    for ax, part in zip(figure.subplots(1, 3, sharey=True), ("U", "V", "T"), strict=True):
        errors = curves["pcg"][part]
        ax.plot(range(1, len(errors) + 1), errors, color="#0072B2", label="PCG")
        ax.axhline(curves["newton"][part], color="#D55E00", linestyle="--", label="Newton")
        ax.set_title(f"{curves['name']}, {part}")
        ax.set_xlabel("iterations")
        ax.set_xscale("log")
        ax.grid(alpha=0.3)
    figure.axes[0].set_ylabel("error (%)")
    figure.axes[0].legend()


def norms(data: DataFolder, names: list[str], iterations: int) -> Outcome:
    """Return objective and gradient norms by iteration, divided by their values at zero."""
    curves = {}
    for name in names:
        [split] = splits(data, name, 1)
        weights = _printed(name, "LapSVM Newton")
        assert weights is not None
        [K] = gram_matrices(split, name, split.train)
        classes = np.unique(split.y)
        risk = RegularizedRisk(
            space=KernelSpace(DenseOperator(K)),
            loss=SquaredHinge(),
            labelled=np.arange(len(split.labelled)),
            targets=one_vs_rest(split.y[split.labelled], classes),
            weights=np.ones(len(split.labelled)),
            smoothness=graph_of(name).fit(split.X[split.train]).laplacian_,
            reg_ambient=weights[0],
            reg_manifold=weights[1],
            fit_intercept=True,
        )
        rows = [_norms_at(risk, risk.zero())]
        for step in pcg(risk, tol=0.0):
            rows.append(_norms_at(risk, step.function))
            if step.iteration >= iterations:
                break
        table = np.array(rows)
        curves[name] = (table / table[0]).T.tolist()
    return Outcome(curves=curves)


def _norms_at(risk: RegularizedRisk, f: Any) -> list[float]:
    """Return the objective, ‖∇‖, ‖∇̂‖ and √⟨∇̂, ∇⟩ over all classes."""
    gradient = risk.gradient(f)
    mixed = float(np.maximum(risk.inner(gradient, gradient), 0.0).sum())
    return [
        float(risk.objective(f).sum()),
        float(np.linalg.norm(gradient.values - gradient.intercept)),
        float(np.linalg.norm(gradient.coef)),
        float(np.sqrt(mixed)),
    ]


def draw_norms(figure: Any, curves: Mapping[str, Any]) -> None:
    """Draw Figs. 8 and 9."""
    names = ("objective", "‖∇‖", "‖∇̂‖", "√⟨∇̂, ∇⟩")
    axes = np.atleast_1d(figure.subplots(1, len(curves)))
    for ax, (name, lines) in zip(axes, curves.items(), strict=True):
        for line, label in zip(lines, names, strict=True):
            ax.semilogy(line, label=label)
        ax.set_title(name)
        ax.set_xlabel("PCG iterations")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("relative to the value at zero")
    axes[0].legend()


PAPER = Paper(
    number="000",
    name=NAME,
    citation="Melacci & Belkin (2011)",
    tables=("3", "4", "5", "6", "7", "8"),
    jobs=jobs,
    protocol=__doc__,
    plots={
        **{f"figure {number}": draw_course for number in COURSES},
        **{f"figure {number}": draw_norms for number in NORMS},
    },
)
