"""Data, scorers and references for the tests of the estimators that search a grid."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    KFold,
    StratifiedKFold,
)

from helpers import data
from lapwing import (
    KNNGraph,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapSVC,
    LapSVCCV,
)

AXES = {"reg_ambient": [1e-3, 0.3], "reg_manifold": [0.0, 1e-2, 1.0]}
FEW = {"reg_ambient": [1e-2, 1.0], "reg_manifold": [1e-2, 1.0], "gamma": 2.0}
moons = partial(data.moons, n=60)
gram = partial(data.gaussian, gamma=0.3)


def blobs(n=56, n_classes=4, n_labelled=16, d=3, apart=1.5, seed=0):
    """Overlapping classes, so that some held-out rows are wrong."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = apart * rng.normal(size=(n_classes, d))[truth] + rng.normal(size=(n, d))
    order = rng.permutation(n)
    labelled = np.concatenate(
        [order[truth[order] == c][: n_labelled // n_classes] for c in range(n_classes)]
    )
    y = np.full(n, -1)
    y[labelled] = truth[labelled]
    return X, y, truth


def targets(n=50, n_labelled=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.full(n, np.nan)
    known = rng.permutation(n)[:n_labelled]
    y[known] = 5.0 + np.sin(2 * X[known, 0]) + 0.1 * rng.normal(size=n_labelled)
    return X, y


class Recorder:
    """A scorer that keeps the values of the held-out rows, cell by cell and fold by fold."""

    def __init__(self, name):
        self.scorer, self.seen = get_scorer(name), []

    def __call__(self, estimator, X, y):
        assert X.shape[0] == len(y)
        values = getattr(estimator, "decision_function", estimator.predict)(X)
        self.seen.append((np.asarray(values), np.asarray(y)))
        return self.scorer(estimator, X, y)


def one_by_one(single, X, y, folds, marker, weights=None, axes=AXES):
    """Yield, per cell and fold, values and labels of held-out rows by a model fitted alone.

    Folds are indices of rows of X; the labels of the second part are hidden.
    """
    for ambient, manifold in product(axes["reg_ambient"], axes["reg_manifold"]):
        for _, test in folds:
            hidden = np.array(y, copy=True)
            hidden[test] = marker
            model = clone(single).set_params(reg_ambient=ambient, reg_manifold=manifold)
            model.fit(X, hidden, sample_weight=weights)
            decide = getattr(model, "decision_function", model.predict)
            yield decide(X[test]), model.predict(X[test]), test


def row_folds(y, known, n_splits=3):
    """Stratified folds as indices of rows."""
    splitter = StratifiedKFold(n_splits) if y.dtype.kind != "f" else KFold(n_splits)
    return [(known[a], known[b]) for a, b in splitter.split(known, y[known])]


CLASSIFIERS = {
    "squared_hinge": (LapSVCCV(), LapSVC()),
    "hinge": (LapSVCCV("hinge"), LapSVC("hinge")),
    "squared": (LapRLSClassifierCV(), LapRLSClassifier()),
}
each_classifier = pytest.mark.parametrize("name", list(CLASSIFIERS))


class Counted(KNNGraph):
    """A graph that counts how often it is built."""

    built = []

    def fit(self, X, y=None):
        Counted.built.append(self.n_neighbors)
        return super().fit(X, y)
