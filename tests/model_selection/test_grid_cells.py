"""Estimators that search a grid: every cell and fold against models fitted one by one."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import (
    LeaveOneOut,
    StratifiedKFold,
)

from helpers.grid import (
    AXES,
    CLASSIFIERS,
    FEW,
    Recorder,
    blobs,
    each_classifier,
    gram,
    moons,
    one_by_one,
    row_folds,
    targets,
)
from lapwing import (
    KNNGraph,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
)
from lapwing.model_selection.grid import GRID

CASES = {
    "two classes": {"gamma": 1.0},
    "four classes": {"gamma": 0.2},
    "class_weight": {"gamma": 1.0, "class_weight": {0: 3.0, 1: 0.5}},
    "balanced": {"gamma": 0.2, "class_weight": "balanced"},
    "weights": {"gamma": 1.0, "class_weight": "balanced"},
    "no intercept": {"gamma": 1.0, "fit_intercept": False},
    "precomputed": {"kernel": "precomputed"},
    "poly": {"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 2},
    "linear": {"kernel": "linear"},
    "linear, wide": {"kernel": "linear"},
    "linear, sparse": {"kernel": "linear"},
    "linear, sparse and wide": {"kernel": "linear"},
    "cosine": {"kernel": "cosine"},
}


def case_data(case):
    """Rows, labels and weights of a case, and new rows."""
    shape = {"d": 70, "apart": 0.2} if "wide" in case else {}
    X, y, _ = blobs(n_classes=4 if case == "four classes" else 2, **shape)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(X)) if case == "weights" else None
    if case in ("balanced", "weights"):  # classes of unequal size, also within the folds
        y[np.flatnonzero(y == 0)[3:]] = -1
    new = X[:9] + 0.1
    if "sparse" in case:
        X, new = (sp.csr_matrix(np.where(np.abs(A) > 0.5, A, 0.0)) for A in (X, new))
    return X, y, weights, new


def case_estimators(name, case, X):
    """The estimator with a grid, and the one without."""
    search, single = CLASSIFIERS[name]
    graph = KNNGraph(6, normalized=case != "poly").fit(X)
    single = clone(single).set_params(**CASES[case], graph=graph)
    if "sparse" in case and "wide" in case:  # no iterations: all digits are compared
        single.set_params(solver={"squared_hinge": "newton", "hinge": "dual"}.get(name, "direct"))
    return clone(search).set_params(**CASES[case], **AXES, graph=graph), single


# ---------------------------------------------------------------- every cell, every fold


@each_classifier
@pytest.mark.parametrize("case", list(CASES))
def test_every_cell_and_fold_is_a_fit_with_hidden_labels(name, case):
    X, y, weights, new = case_data(case)
    search, single = case_estimators(name, case, X)
    if case == "precomputed":
        X, new = gram(X, X), gram(new, X)
    folds = row_folds(y, np.flatnonzero(y != -1))
    recorder = Recorder("accuracy")
    search.set_params(cv=StratifiedKFold(3), scoring=recorder).fit(X, y, sample_weight=weights)

    expected = list(one_by_one(single, X, y, folds, -1, weights))
    losses, scores = [], []
    for (values, given), (alone, predicted, test) in zip(recorder.seen, expected, strict=True):
        np.testing.assert_allclose(values, alone, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(given, y[test])
        scores.append(np.mean(predicted == y[test]))
        signs = np.where(y[test][:, None] == np.arange(4), 1.0, -1.0)
        signs = signs if alone.ndim == 2 else -signs[:, 0]
        losses.append(np.mean(LOSS[name](signs, alone)))
    table = search.cv_results_
    found = np.array([table[f"split{k}_test_score"] for k in range(3)]).T
    np.testing.assert_allclose(found, np.reshape(scores, (6, 3)), atol=1e-6)
    np.testing.assert_allclose(
        table["mean_test_loss"], np.reshape(losses, (6, 3)).mean(axis=1), rtol=1e-6, atol=1e-6
    )
    assert len(np.unique(found)) > 1  # otherwise the scores would prove nothing

    # Two ways to the same optimum, LU and Cholesky; K loses about 1/γ_A of the digits.
    best = clone(single).set_params(**search.best_params_).fit(X, y, sample_weight=weights)
    for rows in (X, new):
        np.testing.assert_allclose(
            search.decision_function(rows), best.decision_function(rows), rtol=1e-7, atol=1e-7
        )
    np.testing.assert_array_equal(search.transduction_, best.transduction_)
    assert search.result_.objective == pytest.approx(best.result_.objective, rel=1e-8)
    # The temperature is a search to about six digits over values that agree to seven.
    np.testing.assert_allclose(search.predict_proba(new), best.predict_proba(new), atol=1e-4)
    np.testing.assert_allclose(search.predict_proba(new).sum(axis=1), 1.0, atol=1e-12)


LOSS = {
    "squared": lambda y, f: (y - f) ** 2,
    "squared_hinge": lambda y, f: np.maximum(1 - y * f, 0) ** 2,
    "hinge": lambda y, f: np.maximum(1 - y * f, 0),
}


@pytest.mark.parametrize("cv", [None, 3], ids=["leave-one-out", "folds"])
@pytest.mark.parametrize(
    ("kwargs", "weighted"),
    [
        ({"gamma": 0.5}, True),
        ({"gamma": 0.5, "fit_intercept": False}, False),
        ({"kernel": "linear"}, True),
        ({"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}, False),
    ],
    ids=["rbf", "no intercept", "linear", "poly"],
)
def test_every_cell_and_fold_of_a_regression(kwargs, weighted, cv):
    X, y = targets()
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(X)) if weighted else None
    graph = KNNGraph(6, normalized=False).fit(X)
    known = np.flatnonzero(~np.isnan(y))
    folds = row_folds(y, known) if cv else [(np.delete(known, i), known[[i]]) for i in range(12)]
    recorder = Recorder("neg_mean_squared_error")
    search = LapRLSRegressorCV(**kwargs, **AXES, graph=graph, cv=cv, scoring=recorder)
    search.fit(X, y, sample_weight=weights)
    single = LapRLSRegressor(**kwargs, graph=graph)
    expected = [value for value, _, _ in one_by_one(single, X, y, folds, np.nan, weights)]
    seen = [value for value, _ in recorder.seen]
    np.testing.assert_allclose(np.concatenate(seen), np.concatenate(expected), atol=1e-6)

    plain = clone(search).set_params(scoring=None).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        plain.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], rtol=1e-12
    )
    np.testing.assert_allclose(
        plain.cv_results_["mean_test_loss"], -plain.cv_results_["mean_test_score"], rtol=1e-12
    )
    best = clone(single).set_params(**search.best_params_).fit(X, y, sample_weight=weights)
    new = X[:7] + 0.05
    np.testing.assert_allclose(search.predict(X), best.predict(X), atol=1e-8)
    np.testing.assert_allclose(search.predict(new), best.predict(new), atol=1e-8)
    np.testing.assert_allclose(search.transduction_, best.transduction_, atol=1e-8)


@each_classifier
def test_supervised_cell_is_the_supervised_model(name):
    X, y, _ = moons()
    search, single = (clone(model) for model in CLASSIFIERS[name])
    search.set_params(gamma=2.0, reg_ambient=0.1, reg_manifold=0, cv=3).fit(X, y)
    known = y != -1
    alone = single.set_params(gamma=2.0, reg_ambient=0.1, reg_manifold=0.0).fit(X[known], y[known])
    np.testing.assert_allclose(search.decision_function(X), alone.decision_function(X), atol=1e-9)


def test_default_grid_reaches_eight_orders_of_the_ratio():
    """The corners γ_I/γ_A = 1e±8 agree with the model too, as far as they can."""
    X, y, _ = moons()
    graph = KNNGraph(6).fit(X)
    recorder = Recorder("accuracy")
    model = LapSVCCV(gamma=2.0, graph=graph, cv=2, scoring=recorder).fit(X, y)
    assert [tuple(cell.values()) for cell in model.cv_results_["params"]] == list(
        product(GRID, GRID)
    )
    folds = row_folds(y, np.flatnonzero(y != -1), 2)
    single = LapSVC(gamma=2.0, graph=graph)
    corners = {"reg_ambient": [GRID[0], GRID[-1]], "reg_manifold": [GRID[0], GRID[-1]]}
    expected = one_by_one(single, X, y, folds, -1, axes=corners)
    cells = [(i, j) for i in (0, 6) for j in (0, 6)]
    positions = [2 * (7 * i + j) + fold for i, j in cells for fold in (0, 1)]
    for position, (alone, _, _) in zip(positions, expected, strict=True):
        np.testing.assert_allclose(recorder.seen[position][0], alone, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- leave-one-out


@pytest.mark.parametrize("kwargs", [{}, {"fit_intercept": False}, {"class_weight": {0: 2.0}}])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_closed_leave_one_out_equals_its_folds(n_classes, kwargs):
    X, y, _ = blobs(n_classes=n_classes)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    results = []
    for cv in (None, LeaveOneOut()):
        recorder = Recorder("accuracy")
        model = LapRLSClassifierCV(gamma=0.2, **AXES, **kwargs, cv=cv, scoring=recorder)
        model.fit(X, y, sample_weight=weights)
        results.append((model, np.concatenate([values for values, _ in recorder.seen])))
    (closed, values), (folded, expected) = results
    np.testing.assert_allclose(values, expected, atol=1e-8)
    assert (closed.n_splits_, folded.n_splits_) == (1, 16)
    for key in ("mean_test_score", "mean_test_loss", "rank_test_score"):
        np.testing.assert_allclose(closed.cv_results_[key], folded.cv_results_[key], atol=1e-8)
    assert closed.best_index_ == folded.best_index_
    assert np.isnan(closed.cv_results_["std_test_score"]).all()


def test_support_vector_machines_have_folds_by_default():
    X, y, _ = moons()
    model = LapSVCCV(**FEW).fit(X, y)
    same = LapSVCCV(**FEW, cv=StratifiedKFold(5)).fit(X, y)
    assert model.n_splits_ == 5
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_loss"], same.cv_results_["mean_test_loss"]
    )


def test_closed_leave_one_out_has_the_weights_of_all_labels():
    X, y, _ = blobs(n_classes=2)
    y[np.flatnonzero(y == 0)[3:]] = -1
    counts = np.bincount(y[y != -1])
    weights = dict(enumerate(counts.sum() / (2 * counts)))
    closed = LapRLSClassifierCV(**FEW, class_weight="balanced").fit(X, y)
    folded = LapRLSClassifierCV(**FEW, class_weight=weights, cv=LeaveOneOut()).fit(X, y)
    np.testing.assert_allclose(
        closed.cv_results_["mean_test_loss"], folded.cv_results_["mean_test_loss"], rtol=1e-6
    )


def test_closed_leave_one_out_with_a_row_that_is_fitted_exactly():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([1.0, -1.0, 0.0])
    model = LapRLSRegressorCV(kernel="linear", reg_ambient=1.0, reg_manifold=0.0)
    closed, folded = clone(model).fit(X, y), clone(model).set_params(cv=LeaveOneOut()).fit(X, y)
    assert closed.best_score_ == pytest.approx(folded.best_score_)


def test_balanced_folds_count_labels_of_weight_zero_as_a_fit_does():
    X, y, _ = blobs(n_classes=2)
    graph = KNNGraph(6).fit(X)
    weights = np.ones(len(X))
    known = np.flatnonzero(y != -1)
    weights[known[y[known] == 0][:3]] = 0.0
    counted = known[weights[known] > 0]
    recorder = Recorder("accuracy")
    options = {"gamma": 0.2, "class_weight": "balanced", "graph": graph}
    folds = row_folds(y, counted)
    LapSVCCV(**options, **AXES, cv=folds, scoring=recorder).fit(X, y, sample_weight=weights)
    expected = one_by_one(LapSVC(**options), X, y, folds, -1, weights)
    for (values, _), (alone, _, _) in zip(recorder.seen, expected, strict=True):
        np.testing.assert_allclose(values, alone, atol=1e-6)
