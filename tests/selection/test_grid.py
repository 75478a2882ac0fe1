"""The machines that choose γ_A and γ_I: every cell and fold against machines fitted one by one."""

import pickle
import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
)

import lapwing.model_selection.grid as grid_module
from lapwing import (
    KNNGraph,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
)
from lapwing.model_selection import LabeledKFold
from lapwing.model_selection.grid import GRID

AXES = {"reg_ambient": [1e-3, 0.3], "reg_manifold": [0.0, 1e-2, 1.0]}
FEW = {"reg_ambient": [1e-2, 1.0], "reg_manifold": [1e-2, 1.0], "gamma": 2.0}


def moons(n=60, n_labelled=12, seed=0):
    """Rows, labels with −1, and the truth; the labelled rows lie anywhere."""
    X, truth = make_moons(n, noise=0.1, random_state=seed)
    y = np.full(n, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[: n_labelled // 2]] = c
    return X, y, truth


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
    """A scorer that keeps the values of the rows held out, cell by cell and fold by fold."""

    def __init__(self, name):
        self.scorer, self.seen = get_scorer(name), []

    def __call__(self, estimator, X, y):
        assert X.shape[0] == len(y)
        values = getattr(estimator, "decision_function", estimator.predict)(X)
        self.seen.append((np.asarray(values), np.asarray(y)))
        return self.scorer(estimator, X, y)


def one_by_one(single, X, y, folds, marker, weights=None, axes=AXES):
    """Yield, per cell and fold, values and labels of the held-out rows of a machine of its own.

    Folds hold numbers of rows of X; the labels of the second part are hidden.
    """
    for ambient, manifold in product(axes["reg_ambient"], axes["reg_manifold"]):
        for _, test in folds:
            hidden = np.array(y, copy=True)
            hidden[test] = marker
            machine = clone(single).set_params(reg_ambient=ambient, reg_manifold=manifold)
            machine.fit(X, hidden, sample_weight=weights)
            decide = getattr(machine, "decision_function", machine.predict)
            yield decide(X[test]), machine.predict(X[test]), test


def row_folds(y, known, n_splits=3):
    """Stratified folds as numbers of rows."""
    splitter = StratifiedKFold(n_splits) if y.dtype.kind != "f" else KFold(n_splits)
    return [(known[a], known[b]) for a, b in splitter.split(known, y[known])]


CLASSIFIERS = {
    "squared_hinge": (LapSVCCV(), LapSVC()),
    "hinge": (LapSVCCV("hinge"), LapSVC("hinge")),
    "squared": (LapRLSClassifierCV(), LapRLSClassifier()),
}
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
every_machine = pytest.mark.parametrize("name", list(CLASSIFIERS))


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


def case_machines(name, case, X):
    """The machine with a grid, that without, and the rows as they are given to both."""
    chooser, single = CLASSIFIERS[name]
    graph = KNNGraph(6, normalized=case != "poly").fit(X)
    single = clone(single).set_params(**CASES[case], graph=graph)
    if "sparse" in case and "wide" in case:  # no iterations: all digits are compared
        single.set_params(solver={"squared_hinge": "newton", "hinge": "dual"}.get(name, "direct"))
    return clone(chooser).set_params(**CASES[case], **AXES, graph=graph), single


def gram(A, B):
    return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


# ---------------------------------------------------------------- every cell, every fold


@every_machine
@pytest.mark.parametrize("case", list(CASES))
def test_every_cell_and_fold_is_the_machine_with_the_labels_hidden(name, case):
    X, y, weights, new = case_data(case)
    chooser, single = case_machines(name, case, X)
    if case == "precomputed":
        X, new = gram(X, X), gram(new, X)
    folds = row_folds(y, np.flatnonzero(y != -1))
    recorder = Recorder("accuracy")
    chooser.set_params(cv=StratifiedKFold(3), scoring=recorder).fit(X, y, sample_weight=weights)

    expected = list(one_by_one(single, X, y, folds, -1, weights))
    losses, scores = [], []
    for (values, given), (alone, predicted, test) in zip(recorder.seen, expected, strict=True):
        np.testing.assert_allclose(values, alone, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(given, y[test])
        scores.append(np.mean(predicted == y[test]))
        signs = np.where(y[test][:, None] == np.arange(4), 1.0, -1.0)
        signs = signs if alone.ndim == 2 else -signs[:, 0]
        losses.append(np.mean(LOSS[name](signs, alone)))
    table = chooser.cv_results_
    found = np.array([table[f"split{k}_test_score"] for k in range(3)]).T
    np.testing.assert_allclose(found, np.reshape(scores, (6, 3)), atol=1e-6)
    np.testing.assert_allclose(
        table["mean_test_loss"], np.reshape(losses, (6, 3)).mean(axis=1), rtol=1e-6, atol=1e-6
    )
    assert len(np.unique(found)) > 1  # or the scores would tell nothing

    # Two ways to the same optimum, LU and Cholesky; K loses about 1/γ_A of the digits.
    best = clone(single).set_params(**chooser.best_params_).fit(X, y, sample_weight=weights)
    for rows in (X, new):
        np.testing.assert_allclose(
            chooser.decision_function(rows), best.decision_function(rows), rtol=1e-7, atol=1e-7
        )
    np.testing.assert_array_equal(chooser.transduction_, best.transduction_)
    assert chooser.result_.objective == pytest.approx(best.result_.objective, rel=1e-8)
    # The temperature is a search to about six digits over values that agree to seven.
    np.testing.assert_allclose(chooser.predict_proba(new), best.predict_proba(new), atol=1e-4)
    np.testing.assert_allclose(chooser.predict_proba(new).sum(axis=1), 1.0, atol=1e-12)


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
    chooser = LapRLSRegressorCV(**kwargs, **AXES, graph=graph, cv=cv, scoring=recorder)
    chooser.fit(X, y, sample_weight=weights)
    single = LapRLSRegressor(**kwargs, graph=graph)
    expected = [value for value, _, _ in one_by_one(single, X, y, folds, np.nan, weights)]
    seen = [value for value, _ in recorder.seen]
    np.testing.assert_allclose(np.concatenate(seen), np.concatenate(expected), atol=1e-6)

    plain = clone(chooser).set_params(scoring=None).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        plain.cv_results_["mean_test_score"], chooser.cv_results_["mean_test_score"], rtol=1e-12
    )
    np.testing.assert_allclose(
        plain.cv_results_["mean_test_loss"], -plain.cv_results_["mean_test_score"], rtol=1e-12
    )
    best = clone(single).set_params(**chooser.best_params_).fit(X, y, sample_weight=weights)
    new = X[:7] + 0.05
    np.testing.assert_allclose(chooser.predict(X), best.predict(X), atol=1e-8)
    np.testing.assert_allclose(chooser.predict(new), best.predict(new), atol=1e-8)
    np.testing.assert_allclose(chooser.transduction_, best.transduction_, atol=1e-8)


@every_machine
def test_supervised_cell_is_the_supervised_machine(name):
    X, y, _ = moons()
    chooser, single = (clone(machine) for machine in CLASSIFIERS[name])
    chooser.set_params(gamma=2.0, reg_ambient=0.1, reg_manifold=0, cv=3).fit(X, y)
    known = y != -1
    alone = single.set_params(gamma=2.0, reg_ambient=0.1, reg_manifold=0.0).fit(X[known], y[known])
    np.testing.assert_allclose(chooser.decision_function(X), alone.decision_function(X), atol=1e-9)


def test_default_grid_reaches_eight_orders_of_the_ratio():
    """The corners γ_I/γ_A = 1e±8 too agree with the machine itself, as far as they can."""
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
    places = [2 * (7 * i + j) + fold for i, j in cells for fold in (0, 1)]
    for place, (alone, _, _) in zip(places, expected, strict=True):
        np.testing.assert_allclose(recorder.seen[place][0], alone, rtol=1e-5, atol=1e-5)


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


def test_balanced_folds_count_labels_of_weight_zero_as_the_machine_does():
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


# ---------------------------------------------------------------- folds


def losses_of(model, X, y):
    return model.fit(X, y).cv_results_["mean_test_loss"]


@pytest.mark.parametrize("Machine", [LapSVCCV, LapRLSClassifierCV])
def test_ways_to_say_the_same_folds(Machine):
    X, y, _ = moons()
    known = np.flatnonzero(y != -1)
    model = Machine(**FEW)
    expected = losses_of(clone(model).set_params(cv=3), X, y)
    rows = row_folds(y, known)
    # Iterables hold rows of X; unlabelled ones may be in either part, and count for nothing.
    others = np.flatnonzero(y == -1)
    crowded = [(np.append(others, a), np.append(b, others[::2])) for a, b in rows]
    masks = [(np.isin(np.arange(60), a), np.isin(np.arange(60), b)) for a, b in rows]
    for cv in (
        np.int64(3),
        StratifiedKFold(3),
        LabeledKFold(3, shuffle=False),
        rows,
        iter(rows),
        crowded,
        [(a.tolist(), b.tolist()) for a, b in rows],
        masks,
    ):
        found = losses_of(clone(model).set_params(cv=cv), X, y)
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=str(cv))


def test_splitters_see_the_labelled_rows_alone():
    X, y, _ = moons()
    known = np.flatnonzero(y != -1)
    asked = []

    class Spy(StratifiedKFold):
        def split(self, X, y, groups=None):
            asked.append((X, y))
            return super().split(X, y, groups)

    LapSVCCV(**FEW, cv=Spy(3)).fit(X, y)
    np.testing.assert_array_equal(asked[0][0], X[known])
    np.testing.assert_array_equal(asked[0][1], y[known])


def test_random_splits_are_scored_split_by_split():
    X, y, _ = moons()
    known = np.flatnonzero(y != -1)
    cv = ShuffleSplit(4, test_size=3, random_state=0)
    model = LapSVCCV(**FEW, cv=cv).fit(X, y)
    rows = [(known[a], known[b]) for a, b in cv.split(known)]
    same = LapSVCCV(**FEW, cv=rows).fit(X, y)
    assert model.n_splits_ == 4
    for key in [f"split{k}_test_score" for k in range(4)] + ["mean_test_loss"]:
        np.testing.assert_allclose(model.cv_results_[key], same.cv_results_[key])
    # Rows in neither part are not used at all: labels there change nothing.
    assert all(len(a) + len(b) <= len(known) for a, b in rows)


def test_folds_of_a_regression_are_not_stratified():
    X, y = targets()
    model = LapRLSRegressorCV(**FEW)
    expected = losses_of(clone(model).set_params(cv=KFold(4)), X, y)
    np.testing.assert_allclose(losses_of(clone(model).set_params(cv=4), X, y), expected)


@pytest.mark.parametrize("part", [0, 1])
def test_fold_without_labels_is_refused(part):
    X, y, _ = moons()
    known, others = np.flatnonzero(y != -1), np.flatnonzero(y == -1)
    fold = (others, known) if part == 0 else (known, others)
    with pytest.raises(ValueError, match=r"without a labelled row.*label more rows"):
        LapSVCCV(**FEW, cv=[fold]).fit(X, y)


def test_class_with_fewer_labels_than_folds_gets_the_warning_of_scikit_learn():
    X, y, _ = moons()
    y[np.flatnonzero(y == 1)[2:]] = -1
    with pytest.warns(UserWarning, match="least populated class") as caught:
        model = LapSVCCV(**FEW).fit(X, y)
    assert len(caught) == 1
    assert model.n_splits_ == 5
    assert np.isfinite(model.cv_results_["mean_test_loss"]).all()


@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "squared"])
def test_fold_that_hides_a_class_is_learnt_from_the_other_alone(name):
    """One class left: the constant, and every row of the hidden class is wrong."""
    X, y, _ = moons()
    known = np.flatnonzero(y != -1)
    fold = (known[y[known] == 0], known)
    model = clone(CLASSIFIERS[name][0]).set_params(**FEW, cv=[fold], class_weight="balanced")
    model.fit(X, y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], 0.5)


def test_more_folds_than_labels_is_one_fold_a_label():
    X, y = targets(n_labelled=6)
    model = LapRLSRegressorCV(**FEW, cv=50).fit(X, y)
    assert model.n_splits_ == 6
    same = LapRLSRegressorCV(**FEW, cv=LeaveOneOut()).fit(X, y)
    np.testing.assert_allclose(
        model.cv_results_["mean_test_loss"], same.cv_results_["mean_test_loss"]
    )


@pytest.mark.parametrize("n_labelled", [2, 4, 8])
def test_few_labels_of_each_class_work_by_default_or_say_what_to_do(n_labelled):
    X, y, _ = moons(n_labelled=n_labelled)
    try:
        LapSVCCV(**FEW).fit(X, y)
    except ValueError as error:
        assert re.search("cv|label", str(error))  # noqa: PT017


# ---------------------------------------------------------------- the table


def test_table_is_that_of_a_grid_search_without_times():
    X, y, _ = blobs()
    rows = row_folds(y, np.flatnonzero(y != -1))
    everything = [(np.setdiff1d(np.arange(len(X)), test), test) for _, test in rows]
    search = GridSearchCV(LapSVC(gamma=0.2), AXES, cv=everything).fit(X, y)
    model = LapSVCCV(gamma=0.2, **AXES, cv=everything).fit(X, y)
    theirs = {key for key in search.cv_results_ if not key.endswith("_time")}
    assert set(model.cv_results_) == theirs | {"mean_test_loss"}
    assert model.cv_results_["params"] == search.cv_results_["params"]
    for key in theirs - {"params"}:
        assert model.cv_results_[key].shape == search.cv_results_[key].shape == (6,)
        assert type(model.cv_results_[key]) is type(search.cv_results_[key])
        assert model.cv_results_[key].dtype.kind == search.cv_results_[key].dtype.kind
    for key in ("param_reg_ambient", "param_reg_manifold"):
        np.testing.assert_array_equal(model.cv_results_[key], search.cv_results_[key])
    splits = np.array([model.cv_results_[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(model.cv_results_["std_test_score"], splits.std(axis=0))
    assert model.n_splits_ == search.n_splits_ == 3
    frame = pd.DataFrame(model.cv_results_)
    assert len(frame) == 6


class Scores:
    """A scorer that gives what it was told, fold by fold."""

    def __init__(self, *scores):
        self.scores = list(scores)

    def __call__(self, estimator, X, y):
        return self.scores.pop(0)


def test_best_cell_has_the_best_mean_and_ranks_are_shared():
    X, y, _ = moons()
    model = LapSVCCV(**FEW, cv=2, scoring=Scores(0, 1, 1, 0.5, 0.5, 1, 0, 0)).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["mean_test_score"], [0.5, 0.75, 0.75, 0.0])
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], [3, 1, 1, 4])
    np.testing.assert_array_equal(model.cv_results_["std_test_score"], [0.5, 0.25, 0.25, 0.0])
    assert model.best_index_ in (1, 2)
    assert model.best_score_ == 0.75
    assert model.best_params_ == model.cv_results_["params"][model.best_index_]


@pytest.mark.parametrize("backwards", [False, True])
def test_ties_go_to_the_least_loss_on_the_rows_held_out(backwards):
    X, y, _ = moons()
    axes = {name: FEW[name][::-1] if backwards else FEW[name] for name in AXES}
    scoring = Scores(*[0.5] * 8)
    model = LapSVCCV(gamma=2.0, **axes, cv=2, scoring=scoring).fit(X, y)
    losses = model.cv_results_["mean_test_loss"]
    assert model.best_index_ == np.argmin(losses)
    assert model.best_index_ == (3 if backwards else 0)  # neither the first nor the last
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], 1)


def test_score_comes_before_the_loss():
    X, y, _ = moons()
    plain = LapSVCCV(**FEW, cv=2, scoring=Scores(*[0.5] * 8)).fit(X, y)
    worst = int(np.argmax(plain.cv_results_["mean_test_loss"]))
    for better, expected in ((0.6, worst), (np.nextafter(0.5, 1.0), plain.best_index_)):
        scores = [better if cell == worst else 0.5 for cell in range(4) for _ in range(2)]
        model = LapSVCCV(**FEW, cv=2, scoring=Scores(*scores)).fit(X, y)
        assert model.best_index_ == expected  # rounding is no better score


def test_cells_without_a_score_are_never_chosen():
    X, y, _ = moons()
    scores = [np.nan, 0.5, 0.1, 0.1, 0.2, 0.2, np.nan, np.nan]
    model = LapSVCCV(**FEW, cv=2, scoring=Scores(*scores)).fit(X, y)
    assert model.best_index_ == 2
    assert model.best_score_ == pytest.approx(0.2)


def test_cells_without_a_score_are_ranked_last():
    X, y, _ = moons()
    scores = [np.nan, 0.5, 0.1, 0.1, 0.2, 0.2, np.nan, np.nan]
    model = LapSVCCV(**FEW, cv=2, scoring=Scores(*scores)).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], [3, 2, 1, 3])


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "f1_macro", "roc_auc"])
@pytest.mark.parametrize("texts", [False, True])
def test_scores_of_classes_by_name(name, texts):
    X, y, _ = blobs(n_classes=2 if name == "roc_auc" else 4)
    if texts:
        y = np.array([f"class {c}" if c >= 0 else None for c in y], dtype=object)
    known = np.flatnonzero([v is not None for v in y] if texts else y != -1)
    graph = KNNGraph(6).fit(X)
    codes = np.unique(y[known].astype(str if texts else int), return_inverse=True)[1]
    folds = [(known[a], known[b]) for a, b in StratifiedKFold(3).split(known, codes)]
    model = LapSVCCV(gamma=0.2, **AXES, graph=graph, cv=folds, scoring=name).fit(X, y)
    scorer, expected = get_scorer(name), []
    for cell in model.cv_results_["params"]:
        for _, test in folds:
            hidden = y.astype(object)
            hidden[test] = None
            alone = LapSVC(gamma=0.2, graph=graph, **cell).fit(X, hidden)
            expected.append(scorer(alone, X[test], y[test].astype(alone.classes_.dtype)))
    splits = np.array([model.cv_results_[f"split{k}_test_score"] for k in range(3)]).T
    np.testing.assert_allclose(splits, np.reshape(expected, (6, 3)), atol=1e-6)
    assert len(np.unique(splits)) > 2
    if name == "accuracy":
        plain = clone(model).set_params(scoring=None).fit(X, y)
        np.testing.assert_allclose(
            plain.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
        )


@pytest.mark.parametrize("name", ["r2", "neg_mean_absolute_error", "neg_mean_squared_error"])
def test_scores_of_a_regression_by_name(name):
    X, y = targets()
    known = np.flatnonzero(~np.isnan(y))
    recorder = Recorder(name)
    model = LapRLSRegressorCV(**FEW, scoring=recorder).fit(X, y)
    named = LapRLSRegressorCV(**FEW, scoring=name).fit(X, y)
    np.testing.assert_array_equal(
        named.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
    )
    errors = [values - y[known] for values, _ in recorder.seen]
    expected = {
        "r2": lambda e: 1 - (e**2).sum() / ((y[known] - y[known].mean()) ** 2).sum(),
        "neg_mean_absolute_error": lambda e: -np.abs(e).mean(),
        "neg_mean_squared_error": lambda e: -(e**2).mean(),
    }[name]
    np.testing.assert_allclose(
        named.cv_results_["mean_test_score"], [expected(e) for e in errors], rtol=1e-12
    )
    assert named.best_index_ == np.argmax(named.cv_results_["mean_test_score"])


def test_unknown_score_is_refused():
    X, y, _ = moons()
    with pytest.raises(ValueError, match="nonsense"):
        LapSVCCV(**FEW, scoring="nonsense").fit(X, y)


# ---------------------------------------------------------------- several settings


class Counted(KNNGraph):
    """A graph that counts how often it is built."""

    built = []

    def fit(self, X, y=None):
        Counted.built.append(self.n_neighbors)
        return super().fit(X, y)


def merit(model):
    return model.best_score_, -model.cv_results_["mean_test_loss"][model.best_index_]


def test_widths_and_graphs_are_tried_and_the_best_is_used():
    X, y, _ = blobs()
    graphs, gammas = [Counted(4), Counted(9)], [1e-3, 0.2, "scale"]
    options = {**AXES, "cv": 3}
    Counted.built.clear()
    model = LapSVCCV(**options, gamma=gammas, graph=graphs).fit(X, y)
    table = model.cv_results_
    assert len(table["params"]) == 3 * 2 * 6
    parts = {}
    for place, (gamma, graph) in enumerate(product(gammas, graphs)):
        alone = LapSVCCV(**options, gamma=gamma, graph=graph).fit(X, y)
        cells = slice(6 * place, 6 * place + 6)
        for key in ("mean_test_score", "mean_test_loss", "split0_test_score"):
            np.testing.assert_allclose(table[key][cells], alone.cv_results_[key], rtol=1e-9)
        for cell in table["params"][cells]:
            assert cell["gamma"] == gamma
            assert cell["graph"] is graph
        assert all(g is graph for g in table["param_graph"][cells])
        assert table["param_gamma"][cells].tolist() == [gamma] * 6
        assert set(alone.best_params_) == {"reg_ambient", "reg_manifold"}
        parts[gamma, graph.n_neighbors] = alone
    best = max(
        parts.values(), key=lambda m: (m.best_score_, -m.cv_results_["mean_test_loss"].min())
    )
    chosen = model.best_params_
    assert parts[chosen["gamma"], chosen["graph"].n_neighbors] is best
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=1e-10)
    assert model.graph_.n_neighbors == chosen["graph"].n_neighbors
    assert model.best_score_ == table["mean_test_score"].max() == best.best_score_
    assert table["rank_test_score"][model.best_index_] == 1
    assert not any(hasattr(graph, "affinity_") for graph in graphs)  # the user's are left alone
    assert (model.gamma, model.graph) == (gammas, graphs)


def test_best_setting_may_come_last_or_first():
    """What is kept is the best so far, not the last one or the first."""
    X, y, _ = blobs()
    for gammas in ([1e-6, 0.2], [0.2, 1e-6]):
        model = LapSVCCV(**AXES, gamma=gammas, cv=3).fit(X, y)
        assert model.best_params_["gamma"] == 0.2
        assert model.cv_results_["params"][model.best_index_] == model.best_params_
        assert model.kernel_.gamma == 0.2


def test_each_graph_is_built_once_for_the_whole_grid():
    X, y, _ = moons()
    Counted.built.clear()
    LapSVCCV(**FEW, graph=Counted(7)).fit(X, y)
    assert Counted.built == [7]
    Counted.built.clear()
    LapSVCCV(**FEW, graph=[Counted(4), Counted(9)]).fit(X, y)
    assert sorted(Counted.built) == [4, 9]
    Counted.built.clear()
    fitted = Counted(5).fit(X)
    LapSVCCV(**FEW, graph=[fitted, fitted]).fit(X, y)
    assert Counted.built == [5]


def test_each_graph_is_built_once_for_all_widths():
    X, y, _ = moons()
    Counted.built.clear()
    LapSVCCV(**AXES, gamma=[1.0, 2.0, 3.0], graph=Counted(4)).fit(X, y)
    assert Counted.built == [4]


def test_graphs_by_default_are_those_of_the_machines():
    X, y, _ = moons()
    assert LapSVCCV(**FEW).fit(X, y).graph_.get_params() == KNNGraph().get_params()
    numbers = LapRLSRegressorCV(**FEW).fit(X, np.where(y == -1, np.nan, y))
    assert numbers.graph_.get_params() == KNNGraph(normalized=False).get_params()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_affinities_alone_and_in_a_list(make):
    X, y, _ = moons()
    W = KNNGraph(5).fit(X).affinity_.toarray()
    one = LapSVCCV(**FEW, graph=make(W)).fit(X, y)
    several = LapSVCCV(**FEW, graph=[make(W), make(W**2)]).fit(X, y)
    assert set(one.best_params_) == {"reg_ambient", "reg_manifold"}
    assert len(several.cv_results_["params"]) == 8
    np.testing.assert_allclose(
        several.cv_results_["mean_test_loss"][:4], one.cv_results_["mean_test_loss"]
    )


def test_widths_may_be_an_array():
    X, y, _ = moons()
    model = LapSVCCV(**AXES, gamma=np.array([0.5, 2.0])).fit(X, y)
    assert [cell["gamma"] for cell in model.cv_results_["params"]] == [0.5] * 6 + [2.0] * 6


@pytest.mark.parametrize("several", [False, True])
def test_single_numbers_are_grids_of_one_cell(several):
    X, y, _ = moons()
    axes = {"reg_ambient": 0.01, "reg_manifold": 1}
    if several:
        axes = {name: np.array([value]) for name, value in axes.items()}
    model = LapSVCCV(gamma=2.0, **axes).fit(X, y)
    assert model.cv_results_["params"] == [{"reg_ambient": 0.01, "reg_manifold": 1.0}]
    assert model.best_index_ == 0
    alone = LapSVC(gamma=2.0, reg_ambient=0.01, reg_manifold=1.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-8)


def test_one_reduction_serves_all_cells_of_a_ratio(monkeypatch):
    X, y, _ = moons()
    asked = []
    original = grid_module.BasisReductions.at

    def spy(self, mu):
        asked.append(mu)
        return original(self, mu)

    monkeypatch.setattr(grid_module.BasisReductions, "at", spy)
    axes = [1e-3, 1e-2, 0.1, 1.0]  # 0.1/1e-2 and 1e-2/1e-3 differ in the last digit
    LapSVCCV(gamma=2.0, reg_ambient=axes, reg_manifold=axes).fit(X, y)
    np.testing.assert_allclose(asked, 10.0 ** np.arange(-3, 4))


# ---------------------------------------------------------------- landmarks


def test_a_landmark_on_each_distinct_row_is_the_full_method():
    """Every row ten times, so that no batch of k-means misses one: a centre on each."""
    X, _, truth = moons(n=20)
    X, truth = np.tile(X, (10, 1)), np.tile(truth, 10)
    y = np.full(200, -1)
    y[:12] = truth[:12]
    options = dict(AXES, gamma=0.5, graph=KNNGraph(25).fit(X), cv=3)
    model = LapSVCCV(**options, n_landmarks=20).fit(X, y)
    full = LapSVCCV(**options).fit(X, y)
    assert model.landmarks_.shape == (20, 2)
    assert model.dual_coef_.shape == (1, 20)
    nearest = np.abs(model.landmarks_[:, None] - X[None]).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-6
    # Features drop eigenvalues of the landmarks' kernel below 1e-12 of the largest.
    np.testing.assert_allclose(
        model.cv_results_["mean_test_loss"], full.cv_results_["mean_test_loss"], rtol=1e-3
    )
    np.testing.assert_allclose(model.decision_function(X), full.decision_function(X), atol=1e-3)


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("squared_hinge", "two classes"),
        ("squared", "four classes"),
        ("hinge", "poly"),
        ("hinge", "precomputed"),
        ("squared_hinge", "sparse"),
    ],
)
def test_few_landmarks_are_a_machine_in_their_span(name, case):
    """The machine with the kernel K_nm K_mm⁻¹ K_mn, in every cell."""
    X, y, _ = blobs(n_classes=4 if case == "four classes" else 2, n=60)
    graph = KNNGraph(6).fit(X)
    kernel = {"kernel": "poly", "coef0": 1.0, "degree": 2} if case == "poly" else {}
    model = clone(CLASSIFIERS[name][0]).set_params(**AXES, **kernel, gamma=0.2, graph=graph, cv=3)
    rows = X
    if case == "precomputed":
        rows = gram(X, X)
        model.set_params(kernel="precomputed")
    elif case == "sparse":
        rows = sp.csr_matrix(X)
        model.set_params(graph=graph.affinity_)
    model.set_params(n_landmarks=12).fit(rows, y)
    values = model.decision_function(rows)
    shown = model.classes_[values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)]
    unlabelled = y == -1
    np.testing.assert_array_equal(model.transduction_[unlabelled], shown[unlabelled])
    if case == "precomputed":
        assert len(model.support_) <= 12
        assert not hasattr(model, "landmarks_")
        back = np.linalg.pinv(rows[np.ix_(model.support_, model.support_)], hermitian=True)
        K = rows[:, model.support_] @ back @ rows[model.support_]
    else:
        assert model.landmarks_.shape == (12, 3)
        prepared = model.kernel_.prepare(rows), model.kernel_.prepare(model.landmarks_)
        K_m, K_nm = model.kernel_.block(prepared[1], prepared[1]), model.kernel_.block(*prepared)
        K = K_nm @ np.linalg.pinv(K_m, rcond=1e-12, hermitian=True) @ K_nm.T
    single = clone(CLASSIFIERS[name][1]).set_params(kernel="precomputed", graph=graph)
    K = (K + K.T) / 2
    single.set_params(**model.best_params_).fit(K, y)
    np.testing.assert_allclose(values, single.decision_function(K), atol=1e-5)
    folds = row_folds(y, np.flatnonzero(~unlabelled))
    alone = one_by_one(single, K, y, folds, -1)
    scores = [np.mean(predicted == y[test]) for _, predicted, test in alone]
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"], np.reshape(scores, (6, 3)).mean(axis=1), atol=1e-6
    )


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_landmarks_are_not_for_linear_kernels(kernel):
    X, y, _ = moons()
    with pytest.raises(ValueError, match="n_landmarks is for kernels that are not linear"):
        LapSVCCV(**FEW, kernel=kernel, n_landmarks=10).fit(X, y)


@pytest.mark.parametrize(
    ("n_landmarks", "message"),
    [(0, "at least 1, got 0"), (-3, "at least 1, got -3"), (61, r"rows \(60\); got .*=61")],
)
def test_number_of_landmarks_out_of_range_is_refused(n_landmarks, message):
    X, y, _ = moons()
    with pytest.raises(ValueError, match=message):
        LapSVCCV(**FEW, n_landmarks=n_landmarks).fit(X, y)


@pytest.mark.parametrize("n_landmarks", [2.5, "10", True, [5]])
def test_number_of_landmarks_that_is_no_whole_number_is_refused(n_landmarks):
    X, y, _ = moons()
    with pytest.raises(ValueError, match="n_landmarks"):
        LapSVCCV(**FEW, n_landmarks=n_landmarks).fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_landmarks_depend_on_the_seed_alone(kernel):
    X, y, _ = moons()
    rows = gram(X, X) if kernel == "precomputed" else X

    def values(seed):
        model = LapSVCCV(**AXES, gamma=2.0, kernel=kernel, n_landmarks=8, random_state=seed)
        return model.fit(rows, y).decision_function(rows)

    np.testing.assert_array_equal(values(0), values(0))
    assert np.abs(values(0) - values(1)).max() > 1e-6


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("kwargs", "advice"),
    [
        ({}, "pass n_landmarks"),
        ({"kernel": "precomputed"}, "pass n_landmarks"),
        ({"n_landmarks": 30}, "lower n_landmarks"),
        ({"kernel": "linear"}, "use fewer columns"),
    ],
)
def test_too_little_memory_says_what_would_help(kwargs, advice):
    X, y, _ = moons()
    rows = gram(X, X) if kwargs.get("kernel") == "precomputed" else X
    model = LapSVCCV(**FEW, **kwargs, memory_limit="10kB")
    with pytest.raises(MemoryError, match=rf"60 rows needs .*10 kB.*{advice}.*raise"):
        model.fit(rows, y)
    assert not hasattr(model, "cv_results_")


def test_landmarks_fit_where_the_full_method_does_not():
    X, y, _ = moons(n=600)
    needs_less = {"memory_limit": "8MB", "n_landmarks": 20}
    with pytest.raises(MemoryError):
        LapSVCCV(**FEW, memory_limit="8MB").fit(X, y)
    assert LapSVCCV(**FEW, **needs_less).fit(X, y).best_score_ > 0.9


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("Machine", [LapSVCCV, LapRLSClassifierCV, LapRLSRegressorCV])
@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"reg_ambient": [1.0, 0.0]}, "reg_ambient must be positive and finite, got .*0.0"),
        ({"reg_ambient": -1.0}, "reg_ambient must be positive"),
        ({"reg_ambient": [np.nan]}, "reg_ambient must be positive and finite"),
        ({"reg_ambient": [np.inf]}, "reg_ambient must be positive and finite"),
        ({"reg_ambient": []}, "reg_ambient must be a sequence of numbers"),
        ({"reg_ambient": [[1.0, 2.0]]}, "reg_ambient must be a sequence of numbers"),
        ({"reg_manifold": [1.0, -1e-9]}, "reg_manifold must be finite and not negative"),
        ({"reg_manifold": [np.nan]}, "reg_manifold must be finite and not negative"),
        ({"reg_manifold": ()}, "reg_manifold must be a sequence of numbers"),
        ({"reg_manifold": None}, "reg_manifold must be"),
        ({"gamma": []}, "give at least one"),
        ({"gamma": [1.0, -1.0]}, "gamma must be positive"),
        ({"gamma": [1.0, "wide"]}, "gamma must be a positive number.*'wide'"),
        ({"graph": []}, "give at least one"),
        ({"kernel": "nonsense"}, "kernel 'nonsense' is unknown"),
        ({"cv": 1}, "n_splits=1"),
        ({"cv": 0}, "n_splits=0"),
        ({"cv": "five"}, "Expected `cv` as an integer"),
        ({"memory_limit": "much"}, "memory"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(Machine, kwargs, message):
    X, y, _ = moons()
    if Machine is LapRLSRegressorCV:
        y = np.where(y == -1, np.nan, y)
    with pytest.raises(ValueError, match=message):
        Machine(**{**FEW, **kwargs}).fit(X, y)


def test_bad_losses_and_graphs_are_named():
    X, y, _ = moons()
    with pytest.raises(ValueError, match="loss must be 'squared_hinge' or 'hinge'"):
        LapSVCCV("squared", **FEW).fit(X, y)
    with pytest.raises(TypeError, match=r"graph must be a KNNGraph.*got str"):
        LapSVCCV(**FEW, graph=[KNNGraph(4), "knn"]).fit(X, y)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"reg_ambient": "much"}, "reg_ambient"),
        ({"reg_manifold": ["a", 1.0]}, "reg_manifold"),
        ({"gamma": np.array([])}, "give at least one"),
        ({"cv": []}, "cv"),
    ],
    ids=["text", "texts", "no widths", "no folds"],
)
def test_more_bad_parameters_are_named(kwargs, message):
    X, y, _ = moons()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=message):
            LapSVCCV(**{**FEW, **kwargs}).fit(X, y)


def test_bad_rows_and_labels_are_refused():
    X, y, _ = moons()
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LapSVCCV(**FEW).fit(broken, y)
    with pytest.raises(ValueError, match="only one class"):
        LapSVCCV(**FEW).fit(X, np.where(y == 1, 1, -1).astype(float) * np.where(y == 1, 1, np.nan))
    with pytest.raises(ValueError, match="no row is labelled"):
        LapRLSClassifierCV(**FEW).fit(X, np.full(60, -1))
    with pytest.raises(ValueError, match="exactly -1 and"):
        LapSVCCV(**FEW).fit(X, np.where(np.arange(60) % 2, 1, -1))
    with pytest.raises(ValueError, match="X has 60 rows and y has 59"):
        LapSVCCV(**FEW).fit(X, y[:-1])
    with pytest.raises(ValueError, match="at least one row"):
        LapRLSRegressorCV(**FEW).fit(X, np.full(60, np.nan))
    with pytest.raises(ValueError, match="y must hold numbers"):
        LapRLSRegressorCV(**FEW).fit(X, ["a"] * 60)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        LapSVCCV(**FEW).fit(X, y, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="not symmetric"):
        LapSVCCV(**FEW, kernel="precomputed").fit(np.triu(gram(X, X)), y)


def test_kernels_without_rank_give_the_constant():
    X, y, _ = moons()
    for K in (np.zeros((60, 60)), np.ones((60, 60))):
        model = LapSVCCV(**FEW, kernel="precomputed", graph=KNNGraph(5).fit(X)).fit(K, y)
        alone = LapSVC(kernel="precomputed", graph=KNNGraph(5).fit(X), **model.best_params_)
        np.testing.assert_allclose(
            model.decision_function(K), alone.fit(K, y).decision_function(K), atol=1e-7
        )


# ---------------------------------------------------------------- one unreached part


def unreached():
    X, y, _ = moons()
    return np.vstack([X, X[:10] + 100.0]), np.append(y, np.full(10, -1))


def test_rows_that_no_label_reaches_are_warned_of_once():
    X, y = unreached()
    options = dict(AXES, gamma=[1.0, 2.0], graph=[KNNGraph(4), KNNGraph(5)])
    with pytest.warns(UserWarning, match="10 rows lie in parts of the graph") as caught:
        model = LapSVCCV(**options).fit(X, y)
    assert len(caught) == 1
    np.testing.assert_array_equal(model.label_reach_, np.arange(70) < 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LapSVCCV(reg_manifold=0, graph=KNNGraph(4)).fit(X, y)


@pytest.mark.parametrize("Machine", [LapSVCCV, LapRLSRegressorCV])
def test_the_warning_points_to_the_call_of_fit(Machine):
    X, y = unreached()
    y = np.where(y == -1, np.nan, y)
    with pytest.warns(UserWarning, match="10 rows lie in parts") as caught:
        Machine(**FEW, graph=KNNGraph(4)).fit(X, y)
    assert caught[0].filename == __file__


# ---------------------------------------------------------------- like any other machine


def test_new_labels_choose_again_on_the_same_graph():
    X, y, truth = moons()
    Counted.built.clear()
    model = LapSVCCV(**AXES, gamma=[0.5, 2.0], graph=Counted(5), cv=3).fit(X, y)
    Counted.built.clear()
    more = np.flatnonzero(y == -1)[:8]
    assert model.add_labels(more, truth[more]) is model
    assert Counted.built == []
    known = y.copy()
    known[more] = truth[more]
    again = LapSVCCV(**AXES, gamma=[0.5, 2.0], graph=KNNGraph(5), cv=3).fit(X, known)
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-10)
    assert model.best_params_ == again.best_params_
    np.testing.assert_array_equal(model.transduction_[more], truth[more])
    assert not hasattr(model.graph, "affinity_")  # the user's parameter is back


def test_new_targets_choose_again():
    X, y = targets()
    model = LapRLSRegressorCV(**FEW).fit(X, y)
    row = int(np.flatnonzero(np.isnan(y))[0])
    y[row] = 6.0
    again = LapRLSRegressorCV(**FEW).fit(X, y)
    model.add_labels([row], [6.0])
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-10)
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_loss"], again.cv_results_["mean_test_loss"]
    )


def test_texts_frames_and_missing_marks():
    X, y, truth = moons()
    names = np.array(["moon", "sun"])
    frame = pd.DataFrame(X, columns=["a", "b"])
    labels = pd.Series([names[c] if c >= 0 else pd.NA for c in y])
    model = LapSVCCV(**FEW, cv=LabeledKFold(3, shuffle=False)).fit(frame, labels)
    plain = LapSVCCV(**FEW, cv=3).fit(X, y)
    assert model.classes_.tolist() == ["moon", "sun"]
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(frame), names[plain.predict(X)])
    np.testing.assert_allclose(
        model.cv_results_["mean_test_loss"], plain.cv_results_["mean_test_loss"]
    )
    np.testing.assert_array_equal(model.transduction_, names[plain.transduction_])
    model.add_labels([50], [names[truth[50]]])
    assert model.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("n_landmarks", [None, 10])
@pytest.mark.parametrize("Machine", [LapSVCCV, LapRLSClassifierCV, LapRLSRegressorCV])
def test_pickle_and_clone(Machine, n_landmarks):
    X, y, _ = moons()
    y = np.where(y == -1, np.nan, y)
    model = Machine(**FEW, n_landmarks=n_landmarks, graph=KNNGraph(6)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.best_index_ == model.best_index_
    fresh = clone(model)
    assert not hasattr(fresh, "cv_results_")
    np.testing.assert_array_equal(fresh.fit(X, y).predict(X), model.predict(X))
    assert fresh.best_params_.keys() == model.best_params_.keys()


def test_a_second_fit_forgets_the_first():
    X, y, _ = moons()
    model = LapSVCCV(**FEW, n_landmarks=10).fit(X, y)
    model.set_params(n_landmarks=None).fit(X, y)
    fresh = LapSVCCV(**FEW).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), fresh.decision_function(X))
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "dual_coef_")
    assert model.coef_.shape == (1, 2)


def test_input_is_left_as_it_is():
    X, y, _ = moons()
    K = gram(X, X)
    kept = K.copy()
    LapSVCCV(**FEW, kernel="precomputed").fit(K, y)
    np.testing.assert_array_equal(K, kept)


@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "squared"])
def test_result_certifies_the_optimum(name):
    X, y, _ = blobs()
    model = clone(CLASSIFIERS[name][0]).set_params(**FEW, cv=3).fit(X, y)
    assert model.result_.status == "converged"
    assert model.result_.solver == "grid"
    assert 0.0 <= model.result_.gap <= 1e-8 * model.result_.objective


def test_single_precision_rows():
    X, y, _ = moons()
    for kwargs in ({}, {"n_landmarks": 12}, {"kernel": "linear"}):
        wide = LapSVCCV(**FEW, **kwargs).fit(X, y)
        narrow = LapSVCCV(**FEW, **kwargs).fit(X.astype(np.float32), y)
        np.testing.assert_allclose(
            narrow.decision_function(X.astype(np.float32)), wide.decision_function(X), atol=1e-3
        )


def test_kernel_values_beyond_double_precision_are_named():
    X, truth = load_digits(return_X_y=True)  # pixels up to 16, and their sums of products cubed
    X, y = X[:300], np.where(np.arange(300) < 60, truth[:300], -1)
    with pytest.raises(ValueError, match=r"too large\. Scale the columns"):
        LapSVCCV(kernel="poly", gamma=1.0, cv=2).fit(X, y)
    rows = 1e6 * np.random.default_rng(0).normal(size=(60, 3))
    with pytest.warns(ConvergenceWarning, match="too few digits"):
        LapSVCCV(**{**FEW, "kernel": "poly", "gamma": 1.0}).fit(rows, moons()[1])


@pytest.mark.parametrize("Machine", [LapSVCCV, LapRLSClassifierCV])
def test_one_label_a_class_is_too_few(Machine):
    X, y, _ = moons(n_labelled=2)
    with pytest.raises(ValueError, match="no class has two labels"):
        Machine(**FEW).fit(X, y)


def test_gap_is_measured_on_all_rows():
    X, y, _ = moons()
    kernel = {"kernel": "poly", "gamma": 1.0, "degree": 2}
    model = LapSVCCV(**{**FEW, **kernel}).fit(X, y)
    single = LapSVC(**kernel, **model.best_params_).fit(X, y)
    assert model.result_.objective == pytest.approx(single.result_.objective, rel=1e-6)
    assert model.result_.gap <= 1e-6 * model.result_.objective
