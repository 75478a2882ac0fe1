"""Estimators that search a grid: several widths and graphs, landmarks, memory."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import lapwing.model_selection.grid as grid_module
from helpers.grid import AXES, CLASSIFIERS, FEW, Counted, blobs, gram, moons, one_by_one, row_folds
from lapwing import (
    KNNGraph,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
)

# ---------------------------------------------------------------- several settings


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
    for number, (gamma, graph) in enumerate(product(gammas, graphs)):
        alone = LapSVCCV(**options, gamma=gamma, graph=graph).fit(X, y)
        cells = slice(6 * number, 6 * number + 6)
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


def test_default_graphs_are_those_of_the_estimators_without_a_grid():
    X, y, _ = moons()
    assert LapSVCCV(**FEW).fit(X, y).graph_.get_params() == KNNGraph().get_params()
    regressor = LapRLSRegressorCV(**FEW).fit(X, np.where(y == -1, np.nan, y))
    assert regressor.graph_.get_params() == KNNGraph(normalized=False).get_params()


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
def test_few_landmarks_give_a_model_in_their_span(name, case):
    """The model with the kernel K_nm K_mm⁻¹ K_mn, in every cell."""
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
