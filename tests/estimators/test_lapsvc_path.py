"""LapSVCPath: LapSVC at every λ, the optimum of a convex solver, and the best λ by hand."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold

from helpers import reference
from helpers.data import gaussian, one_vs_rest
from lapwing import KNNGraph, LapSVC, LapSVCPath
from lapwing.arrays.packing import pack, unpack
from lapwing.estimators import solution_path
from lapwing.estimators.solution_path import ClassPaths, PathFunctions
from lapwing.solvers.path import SolutionPath

N = 60


def blobs(n_classes=2, n=N, n_labelled=18, d=2, seed=0, noise=1.2):
    """Rows of classes that overlap, labels of the first few, and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, d))
    X[:, 0] += 2.0 * truth / noise
    return X, np.where(np.arange(n) < n_labelled, truth, -1), truth


def on_the_path(model, n=5):
    """Return a few λ, above the first breakpoint, near its end and between."""
    first, last = model.lambdas_[0], model.lambdas_[-1]
    return np.append(2.0 * first, np.geomspace(0.9 * first, 1.01 * last, n))


def at(model, lam):
    """Return multipliers (l, columns) and b at λ, by what the attributes are said to be."""
    lambdas = model.lambdas_[::-1]
    shape = model.coef_path_.shape
    flat = model.coef_path_[::-1].reshape(shape[0], -1)
    a = np.array([np.interp(lam, lambdas, column) for column in flat.T])
    beta = (model.intercept_path_ * model.lambdas_[:, None])[::-1]
    b = np.array([np.interp(lam, lambdas, column) for column in beta.T]) / lam
    return a.reshape(shape[1:]).T, b


def objective_at(model, K, lam, values, targets, weights):
    """Objective of each column from its multipliers alone, and what its values are off.

    Where the derivative vanishes λρα + λSf = Jᵀ(ya), so that α follows from values and
    multipliers; then Kα + b must be the values again.
    """
    S = model.graph_.laplacian_ @ np.eye(len(K))
    a, b = at(model, lam)
    pull = np.zeros(values.shape)
    pull[model.labelled_] = targets * a
    alpha = (pull / lam - S @ values) / model.rho
    off = np.abs(K @ alpha + b - values).max()
    f = values[model.labelled_]
    loss = weights @ np.maximum(1.0 - targets * f, 0.0)
    norms = model.rho * (alpha * (K @ alpha)).sum(axis=0) + (values * (S @ values)).sum(axis=0)
    return loss + lam / 2.0 * norms, off


def convex_optimum(K, model, lam, targets, weights):
    """Optimal objective of each column by an interior-point solver."""
    S = model.graph_.laplacian_ @ np.eye(len(K))
    best = []
    for y in targets.T:
        problem = reference.Problem(
            K, (S + S.T) / 2, model.labelled_, y, weights, "hinge", lam * model.rho / 2.0,
            lam / 2.0, model.fit_intercept,
        )  # fmt: skip
        best.append(2.0 * reference.minimum(problem)[0])
    return np.array(best)


def lapsvc(model, lam, **options):
    """The model that the path is at λ."""
    kernel = {name: getattr(model, name) for name in ("kernel", "gamma", "degree", "coef0")}
    return LapSVC(
        reg_ambient=lam * model.rho / 2.0, reg_manifold=lam / 2.0, loss="hinge",
        graph=model.graph_, fit_intercept=model.fit_intercept, class_weight=model.class_weight,
        **{**kernel, **options},
    )  # fmt: skip


# ---------------------------------------------------------------- the model at every λ

CASES = {
    "rbf": ({"gamma": 0.5}, {}, {}),
    "rbf, small rho": ({"gamma": 0.5, "rho": 1e-3}, {}, {}),
    "rbf, normalised": ({"gamma": 0.5}, {"normalized": True}, {}),
    "rbf, power 2": ({"gamma": 0.5}, {"power": 2}, {}),
    "rbf, normalised, power 2": ({"gamma": 0.5}, {"normalized": True, "power": 2}, {}),
    "rbf, no intercept": ({"gamma": 0.5, "fit_intercept": False}, {}, {}),
    "rbf, normalised, no intercept": (
        {"gamma": 0.5, "fit_intercept": False}, {"normalized": True}, {},
    ),
    "linear": ({"kernel": "linear"}, {}, {}),
    "linear, normalised": ({"kernel": "linear"}, {"normalized": True}, {}),
    "linear, wide": ({"kernel": "linear"}, {}, {"d": 80}),
    "linear, wide, normalised": ({"kernel": "linear"}, {"normalized": True}, {"d": 80}),
    "poly": ({"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2}, {}, {}),
    "cosine": ({"kernel": "cosine"}, {}, {}),
    "three classes": ({"gamma": 0.5}, {}, {"n_classes": 3}),
    "three classes, normalised": ({"gamma": 0.5}, {"normalized": True}, {"n_classes": 3}),
    "balanced weights": ({"gamma": 0.5, "class_weight": "balanced"}, {}, {"n_labelled": 17}),
}  # fmt: skip


def gram(model, X):
    if model.kernel == "rbf":
        return gaussian(X, X, model.gamma)
    if model.kernel == "cosine":
        Z = X / np.linalg.norm(X, axis=1, keepdims=True)
        return Z @ Z.T
    if model.kernel == "poly":
        return (model.gamma * X @ X.T + model.coef0) ** model.degree
    return X @ X.T


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_path_is_the_optimum_and_lapsvc(name, weighted):
    options, graph, data = CASES[name]
    X, y, _ = blobs(**data)
    rows = np.random.default_rng(1).uniform(0.2, 3.0, N) if weighted else np.ones(N)
    graph = KNNGraph(5, **{"normalized": False, **graph}).fit(X)
    model = LapSVCPath(**{"rho": 0.1, "lambda_min_ratio": 1e-3, "graph": graph, **options})
    model.fit(X, y, sample_weight=rows if weighted else None)
    K, known = gram(model, X), y[y >= 0]
    targets, weights = one_vs_rest(known, model.classes_), rows[y >= 0].copy()
    if options.get("class_weight") == "balanced":
        counts = np.bincount(known)
        assert counts[0] != counts[1]
        weights *= (len(known) / (2.0 * counts))[known]
    lambdas = on_the_path(model, 3)[1:]
    together = model.decision_function(X, lambdas)
    for lam, values in zip(lambdas, together, strict=True):
        values = values.reshape(N, -1)
        objective, off = objective_at(model, K, lam, values, targets, weights)
        assert off <= 1e-7 * max(1.0, np.abs(values).max())
        best = convex_optimum(K, model, lam, targets, weights)
        np.testing.assert_allclose(objective, best, rtol=1e-6)
        other = lapsvc(model, lam).fit(X, y, sample_weight=rows)
        assert objective.sum() / 2.0 == pytest.approx(other.result_.objective, rel=1e-7)
        expected = other.decision_function(X).reshape(N, -1)
        np.testing.assert_allclose(values, expected, atol=1e-5)
    # What the result says of the chosen model.
    assert model.result_.status == "converged"
    chosen = lapsvc(model, model.lambda_).fit(X, y, sample_weight=rows)
    assert model.result_.objective == pytest.approx(chosen.result_.objective, rel=1e-7)
    assert 0.0 <= model.result_.gap <= 1e-8 * model.result_.objective


@pytest.mark.parametrize("d", [3, 80])
@pytest.mark.parametrize("normalized", [True, False])
def test_linear_kernel_equals_its_gram_matrix_and_sparse_rows(d, normalized):
    X, y, _ = blobs(d=d)
    X[np.abs(X) < 0.5] = 0.0
    graph = KNNGraph(6, normalized=normalized).fit(X)
    options = {"rho": 0.1, "graph": graph, "lambda_min_ratio": 1e-3}
    linear = LapSVCPath(kernel="linear", **options).fit(X, y)
    given = LapSVCPath(kernel="precomputed", **options).fit(X @ X.T, y)
    affinity = KNNGraph.from_affinity(graph.affinity_, normalized=normalized)
    rows = LapSVCPath(kernel="linear", **{**options, "graph": affinity})
    rows.fit(sp.csr_matrix(X), y)
    lam = on_the_path(linear)
    expected = linear.decision_function(X, lam)
    np.testing.assert_allclose(given.decision_function(X @ X.T, lam), expected, atol=1e-6)
    np.testing.assert_allclose(rows.decision_function(sp.csr_matrix(X), lam), expected, atol=1e-6)
    assert linear.coef_.shape == (1, d)
    assert given.dual_coef_.shape == (1, N)
    np.testing.assert_allclose(
        X @ linear.coef_[0] + linear.intercept_, linear.decision_function(X), atol=1e-9
    )


def test_weight_two_is_the_row_twice_in_the_loss_alone():
    # Not a node more: compare multipliers' bounds and the model with LapSVC, which is tested.
    X, y, _ = blobs()
    weights = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    model = LapSVCPath(gamma=0.5, rho=0.1).fit(X, y, sample_weight=weights)
    bound = weights[model.labelled_]
    assert (model.coef_path_ <= bound + 1e-12).all()
    assert (model.coef_path_.max(axis=(0, 1)) > 1.5)[bound == 2].any()
    zero = np.where(np.arange(N) == 0, 0.0, 1.0)
    without = LapSVCPath(gamma=0.5, rho=0.1).fit(X, y, sample_weight=zero)
    np.testing.assert_array_equal(without.labelled_, np.arange(1, 18))


# ---------------------------------------------------------------- λ of users


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_one_lambda_equals_an_array_of_them(n_classes, kernel):
    X, y, _ = blobs(n_classes)
    model = LapSVCPath(kernel=kernel).fit(X, y)
    new = X[:7] + 0.1
    lam = on_the_path(model)
    values, labels = model.decision_function(new, lam), model.predict(new, lam)
    assert values.shape == ((6, 7) if n_classes == 2 else (6, 7, 3))
    assert labels.shape == (6, 7)
    for each, value, label in zip(lam, values, labels, strict=True):
        np.testing.assert_allclose(model.decision_function(new, each), value, atol=1e-9)
        np.testing.assert_array_equal(model.predict(new, lam=each), label)
        winner = (value > 0).astype(int) if n_classes == 2 else value.argmax(axis=1)
        np.testing.assert_array_equal(model.classes_[winner], label)
    assert model.decision_function(new, [lam[0]]).shape == (1, *values.shape[1:])
    # The default is lambda_.
    np.testing.assert_array_equal(model.predict(X), model.predict(X, lam=model.lambda_))
    np.testing.assert_allclose(
        model.decision_function(X), model.decision_function(X, model.lambda_), atol=1e-9
    )


def test_accuracy_path():
    X, y, truth = blobs()
    model = LapSVCPath(gamma=0.5).fit(X, y)
    lambdas, accuracy = model.accuracy_path(X, truth)
    assert lambdas.shape == accuracy.shape == (2 * len(model.lambdas_) - 1,)
    assert (np.diff(lambdas) < 0).all()
    np.testing.assert_array_equal(lambdas[::2], model.lambdas_)
    for place in range(0, len(lambdas), 5):
        right = model.predict(X, lam=lambdas[place]) == truth
        assert accuracy[place] == right.mean()
    assert len(np.unique(accuracy)) > 1


@pytest.mark.parametrize(
    "lam", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], [1.0, np.inf], [[1.0]]], ids=str
)
def test_lambda_must_be_positive_and_finite(lam):
    X, y, _ = blobs()
    model = LapSVCPath().fit(X, y)
    with pytest.raises(ValueError, match="lam must be"):
        model.decision_function(X, lam)
    with pytest.raises(ValueError, match="lam must be"):
        model.predict(X, lam)


def test_large_lambda_gives_a_constant():
    X, y, _ = blobs(n_labelled=17)  # nine rows of class 0, eight of class 1
    model = LapSVCPath(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X, 1e12), -1.0, atol=1e-6)


def test_lambda_below_the_end_of_the_path():
    X, y, _ = blobs()
    model = LapSVCPath(lambda_min_ratio=0.1).fit(X, y)
    assert model.lambdas_[-1] == pytest.approx(0.1 * model.lambdas_[0])
    model.predict(X, lam=model.lambdas_[-1])
    with pytest.raises(ValueError, match="smaller lambda_min_ratio"):
        model.predict(X, lam=0.99 * model.lambdas_[-1])
    with pytest.raises(ValueError, match="below the end"):
        model.decision_function(X, [model.lambdas_[0], 0.5 * model.lambdas_[-1]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rho": 0.0}, "rho"),
        ({"rho": -1.0}, "rho"),
        ({"rho": np.nan}, "rho"),
        ({"lambda_min_ratio": 0.0}, "lambda_min_ratio"),
        ({"lambda_min_ratio": 1.0}, "lambda_min_ratio"),
        ({"lambda_min_ratio": -0.5}, "lambda_min_ratio"),
        ({"cv": 1}, "cv must be"),
        ({"cv": 0}, "cv must be"),
        ({"kernel": "nonsense"}, "kernel"),
    ],
)
def test_bad_parameters(options, message):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=message):
        LapSVCPath(**options).fit(X, y)


def test_bad_labels_and_weights():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="class"):
        LapSVCPath().fit(X, np.where(y == 1, 1, -1))
    with pytest.raises(ValueError, match="class"):
        LapSVCPath().fit(X, np.full(N, -1))
    with pytest.raises(ValueError, match="two classes"):
        LapSVCPath().fit(X, y, sample_weight=(y != 0).astype(float))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_too_little_memory(kernel):
    X, y, _ = blobs()
    with pytest.raises(MemoryError, match="memory_limit"):
        LapSVCPath(kernel=kernel, memory_limit=10_000).fit(X, y)
    LapSVCPath(kernel=kernel, memory_limit="10MB").fit(X, y)


# ---------------------------------------------------------------- the path that is stored


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stored_path(n_classes):
    X, y, _ = blobs(n_classes)
    model = LapSVCPath(gamma=0.5, lambda_min_ratio=1e-2).fit(X, y)
    B, columns, l = model.coef_path_.shape
    assert (columns, l) == (1 if n_classes == 2 else 3, 18)
    assert model.lambdas_.shape == (B,)
    assert (np.diff(model.lambdas_) < 0).all()
    assert model.intercept_path_.shape == model.elbow_path_.shape == (B, columns)
    np.testing.assert_array_equal(model.labelled_, np.arange(18))
    assert model.n_iter_ == B
    assert (model.coef_path_ >= 0).all()
    assert (model.coef_path_ <= 1).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_number_of_rows_on_the_margin(n_classes):
    # Values of labelled rows at the middle of each piece say which rows are on it.
    X, y, _ = blobs(n_classes)
    model = LapSVCPath(gamma=0.5, lambda_min_ratio=1e-2).fit(X, y)
    B, columns, _ = model.coef_path_.shape
    middle = np.sqrt(model.lambdas_[1:] * model.lambdas_[:-1])
    values = model.decision_function(X[:18], middle).reshape(B - 1, 18, columns)
    margins = values * one_vs_rest(y[:18], model.classes_)
    on_margin = (np.abs(margins - 1.0) < 1e-6).sum(axis=1)
    np.testing.assert_array_equal(model.elbow_path_[:-1], on_margin)


def test_path_of_a_column_that_never_changes_does_not_end_the_others():
    # The row in the middle against both neighbours: no line is better than a constant.
    X = np.array([[-1.0], [0.0], [1.0]])
    W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    model = LapSVCPath(kernel="linear", graph=W, cv=None).fit(X, [0, 1, 2])
    assert model.lambdas_[-1] == pytest.approx(1e-4 * 0.249875062, rel=1e-6)
    values = model.decision_function(X, model.lambdas_[-1])
    np.testing.assert_allclose(values[:, 1], -1.0, atol=1e-6)
    assert (values.argmax(axis=1)[[0, 2]] == [0, 2]).all()
    other = lapsvc(model, 0.01).fit(X, [0, 1, 2])
    np.testing.assert_allclose(
        model.decision_function(X, 0.01), other.decision_function(X), atol=1e-6
    )


@pytest.mark.parametrize("cv", [None, 5])
@pytest.mark.parametrize("kind", ["identical classes", "zero kernel"])
def test_where_nothing_ever_happens(kind, cv):
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(10, 2)), (2, 1)) * (kind == "identical classes")
    graph = np.ones((20, 20)) - np.eye(20)
    model = LapSVCPath(kernel="linear", graph=graph, cv=cv).fit(X, np.repeat([0, 1], 10))
    assert len(model.lambdas_) == 1
    assert np.isfinite(model.lambda_)
    values = model.decision_function(X, [1e-9, 1.0, 1e9])
    assert (np.abs(values) <= 1 + 1e-6).all()
    np.testing.assert_allclose(values, np.broadcast_to(values[:, :1], values.shape), atol=1e-6)
    assert model.predict(X).shape == (20,)


# ---------------------------------------------------------------- the best λ


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("normalized", [True, False])
def test_cross_validated_accuracy_by_separate_fits(n_classes, normalized):
    X, y, _ = blobs(n_classes, n_labelled=24)
    graph = KNNGraph(5, normalized=normalized).fit(X)
    model = LapSVCPath(gamma=0.5, rho=0.1, graph=graph, cv=4).fit(X, y)
    labelled = np.flatnonzero(y >= 0)
    best = np.flatnonzero(model.cv_accuracy_ == model.cv_accuracy_.max())
    worst = int(model.cv_accuracy_.argmin())
    for place in (1, len(model.cv_lambdas_) // 2, best[0], worst):
        lam, right = model.cv_lambdas_[place], 0
        for train, test in StratifiedKFold(4).split(labelled, y[labelled]):
            held_out = y.copy()
            held_out[labelled[test]] = -1
            separate = lapsvc(model, lam).fit(X, held_out)
            assert len(train) == np.sum(held_out >= 0)
            right += np.sum(separate.predict(X[labelled[test]]) == y[labelled[test]])
        assert model.cv_accuracy_[place] == right / 24
    assert model.cv_accuracy_[worst] < model.best_score_  # or there was nothing to find


@pytest.mark.parametrize("names", [(1, 2), ("cat", "dog")])
def test_weights_of_classes_have_their_names(names):
    X, y, _ = blobs(n_labelled=24)
    options = {"gamma": 0.5, "rho": 0.1, "cv": 4}
    expected = LapSVCPath(**options, class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    named = np.array([*names, None], dtype=object)[y]
    weights = dict(zip(names, (3.0, 0.5), strict=True))
    found = LapSVCPath(**options, unlabeled=None, class_weight=weights).fit(X, named)
    np.testing.assert_allclose(found.lambdas_, expected.lambdas_, rtol=1e-12)
    np.testing.assert_array_equal(found.cv_accuracy_, expected.cv_accuracy_)
    assert not np.array_equal(expected.lambdas_, LapSVCPath(**options).fit(X, y).lambdas_)


def test_best_interval():
    X, y, _ = blobs(n_labelled=24, seed=51)  # three runs of best points, the second is widest
    model = LapSVCPath(gamma=0.5, rho=0.1).fit(X, y)
    low, high = model.best_interval_
    assert low <= model.lambda_ <= high
    assert model.lambda_ == pytest.approx(np.sqrt(low * high))
    assert model.best_score_ == model.cv_accuracy_.max()
    inside = (model.cv_lambdas_ >= low) & (model.cv_lambdas_ <= high)
    assert (model.cv_accuracy_[inside] == model.best_score_).all()
    # It ends where the accuracy falls, and no other run of best points is wider.
    runs, start = [], None
    for place, best in enumerate([*(model.cv_accuracy_ == model.best_score_), False]):
        if best and start is None:
            start = place
        elif not best and start is not None:
            runs.append((model.cv_lambdas_[place - 1], model.cv_lambdas_[start]))
            start = None
    assert (low, high) in runs
    assert high / low == pytest.approx(max(top / bottom for bottom, top in runs))
    assert len(runs) > 1
    assert (low, high) != runs[0]
    assert high > 2.0 * low


def test_one_label_per_class_cannot_be_split():
    X, _, truth = blobs()
    y = np.full(N, -1)
    y[:2] = truth[:2]
    with pytest.warns(UserWarning, match="a class has one label"):
        model = LapSVCPath().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LapSVCPath(cv=None).fit(X, y).lambda_ == model.lambda_
    assert model.best_interval_ is None
    assert model.best_score_ is None
    assert model.cv_lambdas_ is None
    assert model.cv_accuracy_ is None
    assert model.lambda_ == model.lambdas_[-1]
    none = LapSVCPath(cv=None).fit(*blobs()[:2])
    assert none.lambda_ == none.lambdas_[-1]


def test_fewer_folds_than_asked_for_where_a_class_has_few_labels():
    X, _, truth = blobs(n_labelled=18)
    y = np.where((np.arange(N) < 18) & ((truth == 0) | (np.arange(N) < 6)), truth, -1)
    assert np.sum(y == 1) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = LapSVCPath(cv=5).fit(X, y)
    three = LapSVCPath(cv=StratifiedKFold(3)).fit(X, y)
    np.testing.assert_array_equal(few.cv_accuracy_, three.cv_accuracy_)
    assert few.lambda_ == three.lambda_


@pytest.mark.parametrize(
    "cv",
    [
        LeaveOneOut(),
        KFold(2),  # the classes one after the other: each fold trains on one of them
        ShuffleSplit(5, test_size=0.3, random_state=0),
        [(np.arange(9), np.arange(9, 18))],
    ],
    ids=["leave one out", "sorted", "shuffled", "pairs"],
)
def test_splitters(cv):
    X, y, _ = blobs()
    if isinstance(cv, KFold):
        order = np.argsort(y[:18], kind="stable")
        X[:18], y[:18] = X[:18][order], y[:18][order]
    elif isinstance(cv, LeaveOneOut):
        y[3:18:2] = -1  # one label of class 1 is left
    model = LapSVCPath(gamma=0.5, cv=cv).fit(X, y)
    assert 0.0 <= model.best_score_ <= 1.0
    low, high = model.best_interval_
    assert low <= model.lambda_ <= high


# ---------------------------------------------------------------- life


def test_added_labels_equal_a_fresh_fit():
    X, y, truth = blobs()
    grown = LapSVCPath(gamma=0.5).fit(X, y)
    before = grown.lambdas_
    assert grown.add_labels([30, 41], truth[[30, 41]]) is grown
    grown.add_labels([], [])
    y[[30, 41]] = truth[[30, 41]]
    fresh = LapSVCPath(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(grown.lambdas_, fresh.lambdas_)
    assert not np.array_equal(grown.lambdas_, before)
    assert grown.lambda_ == pytest.approx(fresh.lambda_)
    np.testing.assert_allclose(
        grown.decision_function(X, fresh.lambdas_), fresh.decision_function(X, fresh.lambdas_),
        atol=1e-7,
    )  # fmt: skip
    assert "warm_start" not in grown.get_params()


def test_frames_with_words_for_classes():
    X, y, _ = blobs()
    frame = pd.DataFrame(X, columns=["width", "height"])
    words = pd.Series([None if each < 0 else ["oak", "elm"][each] for each in y], dtype=object)
    model = LapSVCPath(gamma=0.5).fit(frame, words)
    numbers = LapSVCPath(gamma=0.5).fit(X, np.where(y < 0, -1, 1 - y))  # elm comes before oak
    assert list(model.classes_) == ["elm", "oak"]
    assert list(model.feature_names_in_) == ["width", "height"]
    expected = np.array(["elm", "oak"])[numbers.predict(X)]
    np.testing.assert_array_equal(model.predict(frame), expected)
    lam = on_the_path(model)
    np.testing.assert_array_equal(
        model.predict(frame, lam), np.array(["elm", "oak"])[numbers.predict(X, lam)]
    )
    _, accuracy = model.accuracy_path(frame, pd.Series(expected))
    assert accuracy.max() == 1.0
    assert set(model.transduction_) == {"elm", "oak"}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities(n_classes):
    X, y, _ = blobs(n_classes)
    model = LapSVCPath(gamma=0.5).fit(X, y)
    probability = model.predict_proba(X)
    assert probability.shape == (N, n_classes)
    assert (probability >= 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))


def test_rows_in_another_order():
    X, y, _ = blobs()
    order = np.random.default_rng(0).permutation(N)
    model = LapSVCPath(gamma=0.5, cv=None).fit(X, y)
    other = LapSVCPath(gamma=0.5, cv=None).fit(X[order], y[order])
    np.testing.assert_allclose(other.lambdas_, model.lambdas_, rtol=1e-6)
    lam = on_the_path(model)
    np.testing.assert_allclose(
        other.decision_function(X, lam), model.decision_function(X, lam), atol=1e-6
    )
    # Labels renamed: the sign of f turns.
    turned = LapSVCPath(gamma=0.5, cv=None).fit(X, np.where(y < 0, -1, 1 - y))
    np.testing.assert_allclose(
        turned.decision_function(X, lam), -model.decision_function(X, lam), atol=1e-6
    )


def test_default_graph_does_not_penalise_constants():
    X, y, _ = blobs()
    model = LapSVCPath().fit(X, y)
    assert model.graph_.normalized is False
    assert model.get_params()["graph"] is None


def test_transduction_keeps_the_labels_that_were_given():
    X, y, _ = blobs()
    model = LapSVCPath(gamma=0.5).fit(X, y)
    known = y >= 0
    np.testing.assert_array_equal(model.transduction_[known], y[known])
    np.testing.assert_array_equal(model.transduction_[~known], model.predict(X)[~known])


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_clone_and_pickle(kernel):
    X, y, _ = blobs()
    rows = X @ X.T if kernel == "precomputed" else X
    model = LapSVCPath(rho=0.2, kernel=kernel, lambda_min_ratio=1e-2).fit(rows, y)
    again = pickle.loads(pickle.dumps(model))
    lam = on_the_path(model)
    np.testing.assert_array_equal(
        again.decision_function(rows, lam), model.decision_function(rows, lam)
    )
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "lambdas_")
    np.testing.assert_array_equal(copy.fit(rows, y).lambdas_, model.lambdas_)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_functions_of_all_lambdas_can_be_packed(kernel):
    X, y, _ = blobs(3)
    model = LapSVCPath(kernel=kernel).fit(X, y)
    known = {kind.__name__: kind for kind in (PathFunctions, ClassPaths, SolutionPath)}
    again = clone(model).fit(X, y)
    again._functions = unpack(*pack(model._functions, known), known)
    lam = on_the_path(model)
    np.testing.assert_array_equal(again.decision_function(X, lam), model.decision_function(X, lam))
    broken = replace(model._functions, coefficients=model._functions.coefficients[:, 1:])
    with pytest.raises(ValueError, match="do not fit together"):
        unpack(*pack(broken, known), known)


def test_parameters_that_change_after_the_fit_do_not_change_it():
    X, y, _ = blobs()
    model = LapSVCPath(rho=0.2).fit(X, y)
    lam = on_the_path(model)
    before = model.decision_function(X, lam)
    np.testing.assert_array_equal(model.set_params(rho=5.0).decision_function(X, lam), before)


def test_single_precision_rows():
    X, y, _ = blobs()
    model = LapSVCPath(gamma=0.5).fit(X, y)
    single = LapSVCPath(gamma=0.5, graph=model.graph_.affinity_).fit(X.astype(np.float32), y)
    lam = on_the_path(model)[:-1]
    np.testing.assert_allclose(
        single.decision_function(X.astype(np.float32), lam), model.decision_function(X, lam),
        atol=1e-2,
    )  # fmt: skip


def test_small_rho_keeps_its_digits_or_is_refused():
    X, y, _ = few_moons()
    model = LapSVCPath(rho=1e-9, gamma=5.0, cv=None).fit(X, y)
    assert model.result_.status == "converged"
    assert model.result_.gap <= 1e-3 * model.result_.objective
    with pytest.raises(ValueError, match=r"double precision.* \(reg_ambient or rho"):
        LapSVCPath(rho=1e-18, gamma=5.0, cv=None).fit(X, y)
    with pytest.raises(ValueError, match="rho=1e-300 takes results out of the range"):
        LapSVCPath(rho=1e-300).fit(X, y)


def test_unlabelled_rows_do_not_count_in_accuracies():
    X, y, truth = few_moons()
    model = LapSVCPath(gamma=5.0, cv=None).fit(X, y)
    known = y != -1
    lambdas, accuracy = model.accuracy_path(X, y)
    np.testing.assert_array_equal(accuracy, model.accuracy_path(X[known], truth[known])[1])
    np.testing.assert_array_equal(
        accuracy[3], np.mean(model.predict(X[known], lambdas[3]) == y[known])
    )
    with pytest.raises(ValueError, match="none of the 80 rows to score is labelled"):
        model.accuracy_path(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[80, 79\]"):
        model.accuracy_path(X, truth[1:])


def test_pairs_of_rows_mean_rows_of_x():
    X, y, _ = few_moons()
    known = np.flatnonzero(y != -1)
    pairs = [(np.setdiff1d(np.arange(80), known[k::4]), known[k::4]) for k in range(4)]
    model = LapSVCPath(gamma=5.0, cv=pairs).fit(X, y)
    places = [
        (np.flatnonzero(~np.isin(known, test)), np.flatnonzero(np.isin(known, test)))
        for _, test in pairs
    ]

    class Same:
        def split(self, X, y=None, groups=None):
            return iter(places)

        def get_n_splits(self, *args):
            return 4

    same = LapSVCPath(gamma=5.0, cv=Same()).fit(X, y)
    np.testing.assert_array_equal(model.cv_accuracy_, same.cv_accuracy_)
    with pytest.raises(ValueError, match="without a labelled row"):
        LapSVCPath(gamma=5.0, cv=[(known, np.flatnonzero(y == -1))]).fit(X, y)


def few_moons():
    X, truth = make_moons(80, noise=0.15, random_state=0)
    y = np.full(80, -1)
    for kind in (0, 1):
        y[np.flatnonzero(truth == kind)[:8]] = kind
    return X, y, truth


# ---------------------------------------------------------------- folds of separate blobs


def separate_blobs(seed, n_classes=2, dtype=np.float64, n_labelled=12):
    """Rows of classes far apart, in turn: the graph has one component for each of them."""
    rng = np.random.default_rng(seed)
    truth = np.arange(90) % n_classes
    centres = np.array([[2.0, 2, 0, 0], [-2, -2, 0, 0], [2, -2, 3, 0]])
    X = (centres[truth] + 0.6 * rng.normal(size=(90, 4))).astype(dtype)
    return X, np.where(np.arange(90) < n_labelled, truth, -1), truth


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_folds_of_separate_blobs_find_the_classes(seed, n_classes, dtype):
    # Alternating signs are constant on each component here, so S takes them to zero.
    X, y, truth = separate_blobs(seed, n_classes, dtype)
    model = LapSVCPath().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), truth)
    assert model.best_score_ == 1.0
    assert model.best_interval_[0] < 1e-2 * model.best_interval_[1]


@pytest.mark.parametrize("gamma", [1e-2, 3.0])
@pytest.mark.parametrize("n_labelled", [7, 31])
def test_folds_of_separate_blobs_for_other_widths(gamma, n_labelled):
    X, y, truth = separate_blobs(0, n_labelled=n_labelled)
    model = LapSVCPath(gamma=gamma).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), truth)


@pytest.mark.parametrize("rho", [1e200, 1e300])
def test_huge_rho_is_the_supervised_path(rho):
    X, y, _ = separate_blobs(0)
    model, usual = LapSVCPath(rho=rho).fit(X, y), LapSVCPath(rho=1e10).fit(X, y)
    np.testing.assert_allclose(model.lambdas_ * (rho / 1e10), usual.lambdas_, rtol=1e-6)
    found, expected = (m.decision_function(X) for m in (model, usual))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_rho_whose_lambdas_underflow_is_refused():
    X, y, _ = separate_blobs(0)
    with pytest.raises(ValueError, match=r"rho=1e\+306.*choose rho closer to 1"):
        LapSVCPath(rho=1e306).fit(X, y)


@pytest.mark.parametrize("ended", [0, 1, 5])
def test_folds_whose_path_rounding_has_ended_are_warned_of(ended, monkeypatch):
    """Some of five are enough."""
    X, truth = make_moons(60, noise=0.1, random_state=0)
    y = np.where(np.arange(60) < 20, truth, -1)
    follow, seen = solution_path.follow_paths, []

    def shortened(settings, problem, train):
        paths = follow(settings, problem, train)
        seen.append(train)
        if len(seen) > ended:
            return paths
        short = [replace(path, complete=False) for path in paths.paths]
        for path in short:
            path.lambdas[-1] = 0.9 * path.lambdas[-2]  # far above the end of the path of all labels
        return replace(paths, paths=tuple(short))

    monkeypatch.setattr(solution_path, "follow_paths", shortened)
    warned = pytest.warns(ConvergenceWarning, match="rounding has ended the path of a fold")
    with warned if ended else warnings.catch_warnings():
        if not ended:
            warnings.simplefilter("error", ConvergenceWarning)
        LapSVCPath(lambda_min_ratio=1e-3).fit(X, y)
    assert len(seen) == 5
