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

LabelSpreading and LabelPropagation assign rows that no label reaches to the first class, which
flatters them where it is the largest one. Their results are means over all orders of the classes:
classes that tie for a row share it (`peers_scores`). Their parameters are selected once, as
scikit-learn does it, with the classes in the order of their codes.

Balanced accuracy is the mean of the accuracies on the rows of each class. Probabilities are judged
on unlabelled and new rows together, because the calibration error of few rows is mostly noise: by
the expected calibration error in 15 bins, and by the rows that are answered if the largest
probability must be at least 0.9, as with `predict(reject=0.9)`. SVC and graphlearning have none.

Seconds are those of selection and fit. Memory is the peak of a process that does nothing else, data
and libraries included.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_classification,
    make_gaussian_quantiles,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from lapwing import LabeledKFold, SemiSupervisedClassifier, labeled_scorer

from .data import DataFolder, few_labels
from .jobs import Job, Outcome
from .peers_scores import (
    Answers,
    abstention,
    accuracy,
    balanced_accuracy,
    calibration_error,
    shared_answers,
)
from .peers_task import ALONE, OURS, Draw, Measure, Task, over_draws, prepared, task_jobs

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
    "faces": "facemit.npz",
    "RCV1": "rcv1_ccat_small.npz",
    "g241n": "ssl_g241n.npz",
    "wine": None,
    "quantiles": None,
}
#: Data sets whose columns share one unit; they are scaled together.
_IMAGES = ("digits", "USPST", "COIL20", "MNIST", "faces")
TASK = Task(
    name="peers",
    title="Lapwing and its peers",
    protocol="All methods have the same splits. Parameters are selected on the labelled rows only; "
    "with one label per class none are selected. LabelPropagation and LabelSpreading are averaged "
    "over the orders of the classes. Accuracy and balanced accuracy in %, mean ± standard "
    "deviation over draws of rows and labels; seconds of selection and fit; peak memory of a "
    "process.",
    labels=(1, 2, 5, 10),
    words="labels per class",
    field="labels a class",
    measures=(
        Measure("accuracy"),
        Measure(
            "balanced accuracy",
            unlabelled="balanced, unlabelled rows",
            new="balanced, new rows",
            duels="duels by balanced accuracy",
        ),
    ),
    unseen=("faces", "RCV1", "g241n", "wine", "quantiles"),
    unseen_words="data sets first used after the default was finished",
)


def jobs(mode: str, first_draw: int = 0) -> list[Job]:
    """Return the jobs: every method on every data set with every number of labels."""
    methods = [m for m in METHODS if m != "graphlearning" or _has_graphlearning()]
    return task_jobs(TASK, measure, FILES, methods, mode, first_draw)


def measure(
    data: DataFolder, name: str, labels: int, method: str, seeds: list[int], most_rows: int
) -> Outcome:
    """Return scores in percent on unlabelled and on new rows, and seconds, for each draw."""
    X, y = data_set(data, name, most_rows)
    if method == "graphlearning":
        importlib.import_module(method)  # not part of the time
    return over_draws(
        y,
        range(*seeds),
        lambda truth, rng: few_labels(truth, labels, rng),
        lambda draw: METHODS[method](X[draw.train], draw.marks, min(labels, 5)),
        partial(_scores, X, y),
    )


def _scores(X: Any, y: np.ndarray, fitted: Fitted, draw: Draw) -> dict[str, float]:
    on_train, on_new = fitted
    answers, truth = on_train(), y[draw.train][draw.hidden]
    known, P = answers.classes[draw.hidden], answers.probabilities
    values = {
        "unlabelled rows": accuracy(known, truth),
        "balanced, unlabelled rows": balanced_accuracy(known, truth),
    }
    if on_new is None:
        return values
    answers, truth_new = on_new(X[draw.new]), y[draw.new]
    values["new rows"] = accuracy(answers.classes, truth_new)
    values["balanced, new rows"] = balanced_accuracy(answers.classes, truth_new)
    if P is not None and answers.probabilities is not None:
        P = np.vstack([P[draw.hidden], answers.probabilities])
        truth = np.concatenate([truth, truth_new])
        values["calibration error"] = calibration_error(P, truth)
        values["answered"], values["answered and right"] = abstention(P, truth)
    return values


def data_set(data: DataFolder, name: str, most_rows: int) -> tuple[Any, np.ndarray]:
    """Return rows, scaled as a user would scale them, and class codes from 0."""
    file = FILES[name]
    if file is None:
        X, y = _GENERATED[name]()
    else:
        X, [y] = data.rows(file), data.load(file, "y")
    y = np.unique(y, return_inverse=True)[1]
    return prepared(X, y, name in _IMAGES, most_rows)


def _madelon_like() -> tuple[np.ndarray, np.ndarray]:
    """Sixteen clusters per class at corners of a cube in five columns; eighty columns of noise."""
    return make_classification(
        2_000,
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
    "wine": partial(load_wine, return_X_y=True),
    "quantiles": partial(
        make_gaussian_quantiles, n_samples=2_000, n_features=4, n_classes=3, random_state=0
    ),
}

#: Functions that return the answers for the training rows, and for new rows if the method can.
Fitted = tuple[Callable[[], Answers], Callable[[Any], Answers] | None]


def _answers(model: Any, X: Any) -> Answers:
    has_probabilities = hasattr(model, "predict_proba")
    return Answers(model.predict(X), model.predict_proba(X) if has_probabilities else None)


def _inductive(model: Any, X: Any) -> Fitted:
    """Return the answers of a model to which training rows are like new ones."""
    return partial(_answers, model, X), partial(_answers, model)


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
    return _inductive(model, X)


def logistic(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit scikit-learn's LogisticRegression."""
    model = _supervised(LogisticRegression(max_iter=1000), _LOGISTIC_GRID, X, y, folds)
    return _inductive(model, X)


def self_training(X: Any, y: np.ndarray, folds: int) -> Fitted:
    """Fit scikit-learn's SelfTrainingClassifier around a tuned LogisticRegression."""
    base = _supervised(LogisticRegression(max_iter=1000), _LOGISTIC_GRID, X, y, folds)
    base = getattr(base, "best_estimator_", base)
    model = SelfTrainingClassifier(base).fit(X, y)
    return _inductive(model, X)


def _spread(model: Any, grid: Mapping[str, list], X: Any, y: np.ndarray, folds: int) -> Fitted:
    if folds > 1:
        cv = LabeledKFold(folds, shuffle=True, random_state=0)
        model = GridSearchCV(
            model, dict(grid), cv=cv, scoring=labeled_scorer("accuracy"), error_score=0.0
        )
    model.fit(X, y)
    fitted = getattr(model, "best_estimator_", model)
    return (
        lambda: shared_answers(fitted.label_distributions_),
        lambda rows: shared_answers(fitted.predict_proba(rows)),
    )


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

    if X.shape[1] > X.shape[0]:  # its search takes minutes for many columns
        X = _rotated(X)
    X = X.toarray() if sp.issparse(X) else X
    W = graphlearning.weightmatrix.knn(X, 10)
    labelled = np.flatnonzero(y != -1)
    found = graphlearning.ssl.poisson(W).fit_predict(labelled, y[labelled])
    return lambda: Answers(found), None


def _rotated(X: Any) -> np.ndarray:
    """Return n rows in n columns, with the same distances between them."""
    G = X @ X.T
    eigenvalues, V = np.linalg.eigh(G.toarray() if sp.issparse(G) else G)
    return V * np.sqrt(np.maximum(eigenvalues, 0.0))


def _has_graphlearning() -> bool:
    return importlib.util.find_spec("graphlearning") is not None


def lapwing(X: Any, y: np.ndarray, folds: int, method: str = "auto") -> Fitted:
    """Fit SemiSupervisedClassifier with its defaults, or one of its families."""
    model = SemiSupervisedClassifier(method).fit(X, y)
    known = Answers(model.transduction_, model.label_distributions_)
    return lambda: known, partial(_answers, model)


METHODS: dict[str, Callable[[Any, np.ndarray, int], Fitted]] = {
    "LogisticRegression": logistic,
    "SVC": svc,
    "SelfTrainingClassifier": self_training,
    "LabelPropagation": label_propagation,
    "LabelSpreading": label_spreading,
    "graphlearning": graph_learning,
    OURS: lapwing,
    ALONE: partial(lapwing, method="supervised"),
}
