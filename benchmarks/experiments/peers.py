"""Lapwing and what a user would use instead, on the same splits, tuned on labelled rows only.

A quarter of the rows (of at most 2 000) is kept back as new rows; of the others 1, 2, 5 or 10 per
class are labelled. Every method sees the same rows, scaled in the same way. Lapwing's default runs
without any parameter set, and so does the supervised classifier that it would select. Parameters of
the other methods are selected by cross-validation over the labelled rows, with as many folds as
there are labels per class, at most five; with one label per class nothing can be held out and
nothing is selected. LabelSpreading and LabelPropagation use nearest neighbours instead of their
default kernel, which does worse. SelfTrainingClassifier has its default threshold, and
graphlearning's Poisson learning its defaults with ten neighbours. Folds of the graph methods hide
labels and keep the rows; those of the other methods hide the rows. Columns of tables are scaled by
the statistics of all rows, new rows included; no label is used.

Seconds are those of selection and fit. Memory is the peak of a process that does nothing else, data
and libraries included.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from lapwing import LabeledKFold, SemiSupervisedClassifier, labeled_scorer

from .data import DataFolder, few_labels
from .jobs import Job, Outcome

NAME = "peers"
FILES: dict[str, str | None] = {
    "digits": None,
    "USPST": "uspst.npz",
    "G50C": "g50c.npz",
    "G10N": "g10n.npz",
    "BCI": "ssl_bci.npz",
    "Digit1": "ssl_digit1.npz",
    "g241c": "ssl_g241c.npz",
    "splice": "splice.npz",
    "satimage": "satimage.npz",
    "COIL20": "coil20.npz",
    "DNA": "dna.npz",
    "PCMAC": "pcmac.npz",
    "USPS": "ssl_usps.npz",
    "COIL": "ssl_coil.npz",
    "MNIST": "mnist.npz",
    "breast cancer": None,
    "madelon-like": None,
}
#: Data sets that were first used after the default was finished.
UNSEEN = ("USPS", "COIL", "MNIST", "breast cancer", "madelon-like")
#: Data sets whose columns share one unit; they are scaled together.
_IMAGES = ("digits", "USPST", "COIL20", "MNIST")
MOST_ROWS = 2_000
LABELS = (1, 2, 5, 10)
DRAWS = {"quick": 1, "standard": 10, "full": 20}
THINNED = {"quick": "one draw", "standard": "10 draws of 20", "full": ""}
OURS, ALONE = "Lapwing", "Lapwing, supervised"


def jobs(mode: str) -> list[Job]:
    """Return the jobs: every method on every data set with every number of labels."""
    sets = list(FILES)[:2] if mode == "quick" else list(FILES)
    methods = [m for m in METHODS if m != "graphlearning" or _has_graphlearning()]
    return [
        Job(
            NAME,
            f"{name}, {per_class} a class",
            method,
            measure,
            {"name": name, "per_class": per_class, "method": method, "draws": DRAWS[mode]},
            () if FILES[name] is None else (str(FILES[name]),),
            THINNED[mode],
        )
        for per_class in reversed(LABELS)
        for name in sets
        for method in methods
    ]


def measure(data: DataFolder, name: str, per_class: int, method: str, draws: int) -> Outcome:
    """Return accuracies in percent on unlabelled and on new rows, and seconds, for each draw."""
    X, y = data_set(data, name)
    values: dict[str, list[float]] = {"unlabelled rows": [], "new rows": [], "seconds": []}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        new, train = order[: len(y) // 4], np.sort(order[len(y) // 4 :])
        marks = few_labels(y[train], per_class, rng)
        hidden = marks == -1
        if method == "graphlearning":
            importlib.import_module(method)  # not part of the time
        start = time.perf_counter()
        on_train, predict = METHODS[method](X[train], marks, min(per_class, 5))
        values["seconds"].append(time.perf_counter() - start)
        right = on_train[hidden] == y[train][hidden]
        values["unlabelled rows"].append(100.0 * float(np.mean(right)))
        if predict is not None:
            values["new rows"].append(100.0 * float(np.mean(predict(X[new]) == y[new])))
    return Outcome({key: found for key, found in values.items() if found})


def data_set(data: DataFolder, name: str) -> tuple[Any, np.ndarray]:
    """Return rows, scaled as a user would scale them, and class codes from 0."""
    file = FILES[name]
    if file is None:
        X, y = _GENERATED[name]()
    else:
        X, [y] = data.rows(file), data.load(file, "y")
    y = np.unique(y, return_inverse=True)[1]
    X = X.astype(np.float64)
    if name in _IMAGES:
        X /= np.abs(X).max()
    elif not sp.issparse(X):
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    if len(y) > MOST_ROWS:
        keep = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        X, y = X[keep], y[keep]
    return X, y


def _madelon_like() -> tuple[np.ndarray, np.ndarray]:
    """Sixteen clusters per class at corners of a cube in five columns; eighty columns of noise."""
    return make_classification(
        MOST_ROWS,
        100,
        n_informative=5,
        n_redundant=15,
        n_clusters_per_class=16,
        random_state=0,
    )


#: Data sets that need no file.
_GENERATED: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "digits": partial(load_digits, return_X_y=True),
    "breast cancer": partial(load_breast_cancer, return_X_y=True),
    "madelon-like": _madelon_like,
}

#: Predictions for the training rows, and a function for new rows if the method has one.
Fitted = tuple[np.ndarray, Callable[[Any], np.ndarray] | None]


def _supervised(model: Any, grid: Mapping[str, list], X: Any, y: np.ndarray, folds: int) -> Any:
    """Return a supervised model fitted to the labelled rows."""
    labelled = y != -1
    if folds > 1:
        cv = StratifiedKFold(folds, shuffle=True, random_state=0)
        model = GridSearchCV(model, dict(grid), cv=cv)
    return model.fit(X[labelled], y[labelled])


_SVC_GRID: dict[str, list] = {"C": [0.1, 1.0, 10.0, 100.0], "kernel": ["linear", "rbf"]}
_LOGISTIC_GRID = {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}


def svc(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit scikit-learn's SVC."""
    model = _supervised(SVC(), _SVC_GRID, X, y, folds)
    return model.predict(X), model.predict


def logistic(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit scikit-learn's LogisticRegression."""
    model = _supervised(LogisticRegression(max_iter=1000), _LOGISTIC_GRID, X, y, folds)
    return model.predict(X), model.predict


def self_training(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit scikit-learn's SelfTrainingClassifier around a tuned LogisticRegression."""
    base = _supervised(LogisticRegression(max_iter=1000), _LOGISTIC_GRID, X, y, folds)
    base = getattr(base, "best_estimator_", base)
    model = SelfTrainingClassifier(base).fit(X, y)
    return model.predict(X), model.predict


def _spread(model: Any, grid: Mapping[str, list], X: Any, y: np.ndarray, folds: int) -> Fitted:
    if folds > 1:
        cv = LabeledKFold(folds, shuffle=True, random_state=0)
        model = GridSearchCV(
            model, dict(grid), cv=cv, scoring=labeled_scorer("accuracy"), error_score=0.0
        )
    model.fit(X, y)
    fitted = getattr(model, "best_estimator_", model)
    return fitted.transduction_, fitted.predict


def label_spreading(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit scikit-learn's LabelSpreading over nearest neighbours."""
    model = LabelSpreading(kernel="knn", max_iter=200)
    return _spread(model, {"n_neighbors": [5, 10, 20], "alpha": [0.2, 0.9]}, X, y, folds)


def label_propagation(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit scikit-learn's LabelPropagation over nearest neighbours."""
    model = LabelPropagation(kernel="knn", max_iter=1000)
    return _spread(model, {"n_neighbors": [5, 10, 20]}, X, y, folds)


def graph_learning(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit Poisson learning of the package graphlearning, which predicts its training rows only."""
    import graphlearning

    X = X.toarray() if sp.issparse(X) else X
    W = graphlearning.weightmatrix.knn(X, 10)
    labelled = np.flatnonzero(y != -1)
    return graphlearning.ssl.poisson(W).fit_predict(labelled, y[labelled]), None


def _has_graphlearning() -> bool:
    return importlib.util.find_spec("graphlearning") is not None


def lapwing(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit SemiSupervisedClassifier with its defaults."""
    model = SemiSupervisedClassifier().fit(X, y)
    return model.transduction_, model.predict


def lapwing_alone(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit the supervised candidate of SemiSupervisedClassifier."""
    model = SemiSupervisedClassifier("supervised").fit(X, y)
    return model.transduction_, model.predict


METHODS: dict[str, Callable[[Any, np.ndarray, int], Fitted]] = {
    "LogisticRegression": logistic,
    "SVC": svc,
    "SelfTrainingClassifier": self_training,
    "LabelPropagation": label_propagation,
    "LabelSpreading": label_spreading,
    "graphlearning": graph_learning,
    OURS: lapwing,
    ALONE: lapwing_alone,
}


def draw(figure: Any, table: Mapping[tuple[str, int, str], float]) -> None:
    """Draw accuracy on unlabelled rows by labels per class, one panel per data set."""
    sets = list(dict.fromkeys(name for name, _, _ in table))
    columns = min(4, len(sets))
    figure.set_size_inches(3.4 * columns, 3.0 * -(-len(sets) // columns) + 0.8)
    axes = np.ravel(figure.subplots(-(-len(sets) // columns), columns, squeeze=False))
    for ax, name in zip(axes, sets, strict=False):
        for method in dict.fromkeys(m for s, _, m in table if s == name):
            points = [(l, table[name, l, method]) for l in LABELS if (name, l, method) in table]
            ours = method == OURS
            style = {"linewidth": 2.5} if ours else {"linewidth": 1.2, "linestyle": "--"}
            ax.plot(*np.array(points).T, marker="o", label=method, **style)
        ax.set_title(name)
        ax.set_xticks(LABELS)
        ax.set_xlabel("labels per class")
        ax.grid(alpha=0.3)
    for ax in axes[len(sets) :]:
        ax.set_visible(False)
    axes[0].set_ylabel("accuracy on unlabelled rows (%)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
