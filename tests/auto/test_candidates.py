"""Families of the default against naive dense formulas, and folds against fits without labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs

from lapwing import S3VC, KNNGraph, LapRLSClassifier
from lapwing.auto import limits
from lapwing.auto.candidate_settings import SETTINGS
from lapwing.auto.folds import Folds, make_folds
from lapwing.auto.graph_family import GraphFamily
from lapwing.auto.labels import Labels
from lapwing.auto.manifold_family import ManifoldFamily
from lapwing.auto.margin_family import MarginFamily
from lapwing.auto.scaling import learn_scaling
from lapwing.auto.supervised_family import SupervisedFamily
from lapwing.graphs.weights import graph_laplacian
from lapwing.kernels.functions import resolve_gamma
from lapwing.solvers import reduction
from lapwing.solvers.reduction import BasisReductions


@pytest.fixture(scope="module")
def data():
    """Digits: scaled rows, class codes, and four labels of each of three classes."""
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:240], y[:240]
    index = np.sort(np.concatenate([np.flatnonzero(y == k)[:4] for k in range(3)]))
    targets = np.where(y[index][:, None] == np.arange(3), 1.0, -1.0)
    weights = np.linspace(0.5, 1.5, len(index))
    return learn_scaling(X).apply(X), y, Labels(index, targets, weights, y[index])


@pytest.fixture(scope="module")
def graph(data):
    return KNNGraph().fit(data[0])


def ridge(K, labels, reg, weights=None):
    """Values on all rows of weighted least squares with kernel K and intercept, by one system."""
    l, index = len(labels.index), labels.index
    weights = labels.weights if weights is None else weights
    system = np.ones((l + 1, l + 1))
    system[:l, :l] = K[np.ix_(index, index)] + reg * np.diag(1.0 / weights)
    system[l, l] = 0.0
    right = np.vstack([labels.targets, np.zeros(labels.targets.shape[1])])
    solution = np.linalg.solve(system, right)
    return K[:, index] @ solution[:l] + solution[l]


@pytest.mark.parametrize("settings", [{"width": None, "reg": 0.1}, {"width": 4.0, "reg": 0.01}])
def test_supervised_is_ridge_regression(data, settings):
    X, _, labels = data
    values, function = SupervisedFamily(X, resolve_gamma("median", X)).fit(settings, labels)
    K = X @ X.T
    if settings["width"] is not None:
        squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        K = np.exp(-settings["width"] * resolve_gamma("median", X) * squares)
    assert np.allclose(values, ridge(K, labels, settings["reg"]), atol=1e-8)
    assert np.allclose(function.values(X), values, atol=1e-10)


@pytest.mark.parametrize("landmarks", [False, True])
def test_manifold_is_laprls(data, graph, landmarks, monkeypatch):
    X, y, labels = data
    if landmarks:  # all rows are landmarks: the same functions
        monkeypatch.setattr(limits, "EXACT_ROWS", 10)
        monkeypatch.setattr(limits, "LANDMARKS", len(X))
    settings = {"width": 4.0, "ratio": 10.0, "reg": 0.1}
    median = resolve_gamma("median", X)
    family = ManifoldFamily(X, median, graph, labels.index, 0)
    values, function = family.fit(settings, labels)
    marks = np.full(len(X), -1)
    marks[labels.index] = y[labels.index]
    weights = np.ones(len(X))
    weights[labels.index] = labels.weights
    gamma = 4.0 * median
    same = LapRLSClassifier(gamma=gamma, reg_ambient=0.1, reg_manifold=1.0, graph=graph)
    same.fit(X, marks, sample_weight=weights)
    assert np.allclose(function.values(X), values, atol=1e-6)
    assert np.allclose(values, same.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("neighbours", ["all", "half"])
@pytest.mark.parametrize(("power", "floor"), [(1, 0.01), (2, 0.01), (3, 0.1)])
def test_graph_kernel_is_the_inverse(data, graph, neighbours, power, floor):
    X, _, labels = data
    settings = {"neighbours": neighbours, "power": power, "floor": floor, "scale": 2.0, "reg": 0.1}
    values, _ = GraphFamily(X, graph).fit(settings, labels)
    W = graph.affinity_.toarray()
    if neighbours == "half":
        kept = np.zeros_like(W)
        for row in range(len(W)):
            near = np.argsort(-W[row])[:5]
            kept[row, near] = W[row, near]
        W = np.maximum(kept, kept.T)
    L = graph_laplacian(sp.csr_array(W), normalized=True).toarray()
    system = np.linalg.matrix_power(L, power) + floor**power * np.eye(len(L))
    expected = ridge(np.linalg.inv(system) / 2.0, labels, 0.1)
    assert np.abs(values - expected).max() < 1e-3 * np.abs(expected).max()


def test_manifold_factors_each_ratio_once_per_set_of_labels(data, graph, monkeypatch):
    X, _, labels = data
    median, sample = resolve_gamma("median", X), np.arange(50, 60)
    ratios, smoothness = [], []
    at, made = BasisReductions.at, reduction.smoothness_in_basis
    monkeypatch.setattr(BasisReductions, "at", lambda self, mu: ratios.append(mu) or at(self, mu))
    monkeypatch.setattr(
        reduction, "smoothness_in_basis", lambda H, S: smoothness.append(H) or made(H, S)
    )
    family = ManifoldFamily(X, median, graph, labels.index, 0)
    settings = SETTINGS["manifold"]
    list(family.candidates(labels, sample))
    kept = [family.fit(own, labels)[0] for own in settings]
    assert sorted(ratios) == sorted({own["ratio"] for own in settings})
    fewer = labels.take(slice(1, None))
    expected = ManifoldFamily(X, median, graph, labels.index, 0).fit(settings[0], fewer)[0]
    np.testing.assert_array_equal(family.fit(settings[0], fewer)[0], expected)
    np.testing.assert_array_equal(family.fit(settings[0], labels)[0], kept[0])
    assert len(smoothness) == 2  # one per family


def test_new_rows_of_the_graph_get_what_their_neighbours_pass_on(data, graph):
    X, _, labels = data
    settings = {"neighbours": "all", "power": 2, "floor": 0.01, "scale": 2.0, "reg": 0.1}
    values, function = GraphFamily(X, graph).fit(settings, labels)
    found = function.values(X[:7] + 1e-9)
    centred = values - values.mean(axis=1, keepdims=True)
    largest = np.abs(centred).max(axis=1)
    usual = np.median(largest)
    capped = [
        v * usual / size if size > usual else v for v, size in zip(centred, largest, strict=True)
    ]
    degrees = graph.affinity_.toarray().sum(axis=1)
    distances = np.sqrt(((X[:7, None] - X[None]) ** 2).sum(axis=2))
    for row in range(7):
        near = np.argsort(distances[row])[:10]
        squares = distances[row, near] ** 2
        weights = np.exp(-2 * squares / squares.max()) / degrees[near]
        expected = weights @ np.array(capped)[near] / weights.sum()
        assert np.allclose(found[row], expected, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_isolated_rows_of_a_given_graph_pass_on_nothing(data, unit):
    X, _, labels = data
    W = KNNGraph().fit(X).affinity_.toarray()
    alone = np.setdiff1d(np.arange(len(X)), labels.index)[::4]
    W[alone] = W[:, alone] = 0.0
    family = GraphFamily(X, KNNGraph.from_affinity(unit * W))
    settings = {"neighbours": "all", "power": 2, "floor": 0.01, "scale": 2.0, "reg": 0.1}
    _, function = family.fit(settings, labels)
    weights = function.weights
    assert weights[alone].max() < 1e-6 * np.delete(weights, alone).min()
    plain = GraphFamily(X, KNNGraph.from_affinity(W)).fit(settings, labels)[1]
    np.testing.assert_allclose(weights, plain.weights, rtol=1e-9)


def test_new_rows_of_quantities_get_plain_means():
    X = np.random.default_rng(0).normal(size=(60, 2))
    labels = Labels(np.arange(5), X[:5, :1] + 100.0, np.ones(5))
    settings = {"neighbours": "all", "power": 2, "floor": 0.01, "scale": 1.0, "reg": 0.1}
    values, function = GraphFamily(X, KNNGraph().fit(X)).fit(settings, labels)
    assert np.array_equal(function.on_rows, values)


def test_margin_is_s3vc():
    X, y = make_blobs(80, centers=2, cluster_std=2.0, random_state=0)
    X = learn_scaling(X).apply(X)
    labels = Labels(np.arange(8), np.where(y[:8] == 1, 1.0, -1.0)[:, None], np.ones(8))
    family = MarginFamily(X, resolve_gamma("median", X), 0)
    values, function = family.fit({"width": 2.0, "reg": 1e-3}, labels)
    marks = np.full(80, -1)
    marks[:8] = y[:8]
    gamma = 2.0 * family.median_gamma
    same = S3VC("rbf", gamma=gamma, reg=1e-3, positive_ratio=0.5, random_state=0)
    assert np.allclose(values[:, 0], same.fit(X, marks).decision_function(X))
    assert np.array_equal(function.values(X), values)


def test_margin_sees_a_sample_of_many_rows(monkeypatch):
    monkeypatch.setattr(limits, "MARGIN_ROWS", 60)
    X, y = make_blobs(300, centers=[[-5.0, 0.0], [5.0, 0.0]], random_state=0)  # wide apart
    X = learn_scaling(X).apply(X)
    labels = Labels(np.array([250, 280, 290, 299]), np.ones((4, 1)), np.ones(4))
    labels.targets[:, 0] = np.where(y[labels.index] == 1, 1.0, -1.0)
    family = MarginFamily(X, resolve_gamma("median", X), 0)
    for settings in SETTINGS["margin"]:
        values, _ = family.fit(settings, labels)
        assert np.mean((values[:, 0] > 0) == y) == 1.0


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_margin_where_a_class_has_no_label(missing):
    X, y = make_blobs(90, centers=[[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], random_state=0)
    X = learn_scaling(X).apply(X)
    index = np.flatnonzero(y != missing)[:10]
    targets = np.where(y[index][:, None] == np.arange(3), 1.0, -1.0)
    labels = Labels(index, targets, np.ones(10), y[index])
    family = MarginFamily(X, resolve_gamma("median", X), 0)
    for settings in SETTINGS["margin"]:
        values, function = family.fit(settings, labels)
        assert values.shape == (90, 3)
        assert np.all(values[:, missing] == -1.0)
        others = y != missing
        assert np.mean(values.argmax(axis=1)[others] == y[others]) > 0.95
        assert np.array_equal(function.values(X), values)


@pytest.mark.parametrize("columns", [64, 4, 1])
def test_margin_folds_in_one_block_are_fits_of_s3vc(data, monkeypatch, columns):
    monkeypatch.setattr("lapwing.plan.default._MARGIN_COLUMNS", columns)
    X, _, labels = data
    family, sample = MarginFamily(X, resolve_gamma("median", X), 0), np.arange(100, 140)
    folds = make_folds(labels.codes, len(labels.index), 0)[:4]
    for setting in family.candidates(labels, sample):
        linear = setting.settings["width"] is None
        found = setting.values_of_folds(labels, folds)
        assert len(found) == len(folds)
        for (train, test), (held_out, on_sample) in zip(folds, found, strict=True):
            used = labels.take(train)
            marks, weights = np.full(len(X), -1), np.ones(len(X))
            marks[used.index], weights[used.index] = used.codes, used.weights
            model = S3VC(
                "linear" if linear else "rbf",
                gamma=1.0 if linear else setting.settings["width"] * family.median_gamma,
                reg=setting.settings["reg"],
                positive_ratio=np.full(3, 1 / 3),
                calibration_folds=0,
            ).fit(X, marks, sample_weight=weights)
            values = model.decision_function(X)
            np.testing.assert_allclose(held_out, values[labels.index[test]], atol=1e-5)
            np.testing.assert_allclose(on_sample, values[sample], atol=1e-5)


def test_margin_without_unlabelled_rows_is_supervised(data):
    X, _, labels = data
    X = X[labels.index]
    labels = Labels(np.arange(len(X)), labels.targets, labels.weights, labels.codes)
    family = MarginFamily(X, resolve_gamma("median", X), 0)
    values, _ = family.fit({"width": 2.0, "reg": 1e-3}, labels)
    gamma = 2.0 * family.median_gamma
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        model = S3VC("rbf", gamma=gamma, reg=1e-3, calibration_folds=0).fit(
            X, labels.codes, sample_weight=labels.weights
        )
    np.testing.assert_allclose(values, model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("many", [0, 1])
def test_margin_with_many_labels_of_one_class(many):
    """Numbers of labels are not taken for shares of the classes."""
    X, y = make_blobs(300, centers=[[-2.0, 0.0], [2.0, 0.0]], random_state=0)
    X = learn_scaling(X).apply(X)
    index = np.r_[np.flatnonzero(y == many)[:40], np.flatnonzero(y != many)[:2]]
    index.sort()
    targets = np.where(y[index] == 1, 1.0, -1.0)[:, None]
    labels = Labels(index, targets, np.ones(len(index)), y[index])
    family = MarginFamily(X, resolve_gamma("median", X), 0)
    for settings in SETTINGS["margin"]:
        values, _ = family.fit(settings, labels)
        assert np.mean((values[:, 0] > 0) == y) > 0.93


def test_margin_without_folds_has_no_values(data):
    X, _, labels = data
    for setting in MarginFamily(X, 1.0, 0).candidates(labels, np.arange(100, 140)):
        assert setting.values_of_folds(labels, []) == []


@pytest.mark.parametrize("name", ["supervised", "manifold", "graph"])
def test_folds_are_fits_without_the_labels_held_out(data, graph, name):
    X, y, labels = data
    sample, median = np.arange(100, 140), resolve_gamma("median", X)
    make = {
        "supervised": lambda: SupervisedFamily(X, median),
        "manifold": lambda: ManifoldFamily(X, median, graph, labels.index, 0),
        "graph": lambda: GraphFamily(X, graph),
    }[name]
    folds = Folds(labels, make_folds(y[labels.index], len(labels.index), 0), sample)
    trials = list(folds.run(make().candidates(labels, sample)))
    start = 0
    for number, (train, test) in enumerate(folds.folds[:3]):
        for trial in trials[:: max(len(trials) // 3, 1)]:
            values, _ = make().fit(trial.settings, labels.take(train))
            held_out = trial.held_out[start : start + len(test)]
            assert np.allclose(held_out, values[labels.index[test]], atol=1e-6)
            assert np.allclose(trial.on_sample[number], values[sample], atol=1e-6)
        start += len(test)


def test_graph_kernels_have_unit_mean_diagonal(data, graph):
    X, _, labels = data
    found = list(GraphFamily(X, graph).candidates(labels, np.arange(5)))
    assert len(found) == len(SETTINGS["graph"])
    for setting in found:
        assert np.diag(setting.reduction.R).mean() == pytest.approx(1.0, rel=1e-6)


def test_settings_are_those_of_the_guide():
    """Constants that scores hardly show."""
    assert [(s["width"], s["reg"]) for s in SETTINGS["supervised"]] == [
        (width, reg) for width in (None, 1.0, 4.0) for reg in (0.01, 0.1, 1.0)
    ]
    assert [(s["width"], s["ratio"], s["reg"]) for s in SETTINGS["manifold"]] == [
        (4.0, ratio, reg) for ratio in (0.1, 1.0, 10.0, 100.0) for reg in (0.01, 0.1)
    ]
    assert [tuple(s.values()) for s in SETTINGS["graph"]] == [
        ("all", 2, 0.01, 0.1),
        ("all", 3, 0.1, 0.1),
        ("half", 1, 0.01, 0.1),
        ("half", 2, 0.01, 0.1),
    ]
    assert [tuple(s.values()) for s in SETTINGS["margin"]] == [(None, 0.01), (2.0, 0.001)]
