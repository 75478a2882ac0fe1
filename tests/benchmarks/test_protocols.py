"""The experiments compute what the estimators compute, and splits are those of the papers."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from experiments import (
    chen2012_book,
    chen2012_large,
    chen2012_moons,
    chen2012_rounds,
    gieseke2013,
    gieseke2013_fits,
    melacci2011,
    melacci2011_splits,
    wang2006,
    zhang2009,
    zhang2009_methods,
)
from experiments.data import DataFolder, few_labels, mean_distance_gamma
from experiments.grids import ManifoldGrid, decided, one_vs_rest, smallest_error
from lapwing import (
    S3VC,
    EigenfunctionClassifier,
    KNNGraph,
    LapERLSClassifier,
    LapESVC,
    LapRLSClassifier,
    LapSVC,
    LGCClassifier,
)
from lapwing.displays import new_figure
from lapwing.kernels.functions import GaussianKernel
from lapwing.losses import Hinge, SquaredHinge, SquaredLoss


@pytest.fixture(scope="module")
def moons():
    return make_moons(150, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, moons):
    """Small data sets under the names of the papers' files."""
    path = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    X, y = moons
    wide = np.hstack([X, 0.1 * rng.standard_normal((len(X), 3))])
    splits = np.array([rng.permutation(len(y))[:20] for _ in range(12)])
    np.savez(path / "g50c.npz", X=np.tile(wide, (2, 1)) + 0.01, y=2 * np.tile(y, 2) - 1)
    np.savez(path / "ssl_digit1.npz", X=wide, y=2 * y - 1, splits10=splits)
    np.savez(path / "ssl_bci.npz", X=wide, y=2 * y - 1)
    return DataFolder(path)


@pytest.mark.parametrize(
    ("loss", "model"),
    [
        (SquaredHinge, LapSVC(solver="newton")),
        (Hinge, LapSVC("hinge", solver="dual")),
        (SquaredLoss, LapRLSClassifier(solver="direct")),
    ],
)
def test_manifold_grid_agrees_with_the_estimators(loss, model, moons):
    X, y = moons
    labelled = np.arange(12)
    graph = KNNGraph(6, power=2).fit(X)
    kernel = GaussianKernel(3.0)
    K = kernel.block(kernel.prepare(X), kernel.prepare(X))
    grid = ManifoldGrid(((K + K.T) / 2).copy(), graph.laplacian_, labelled)
    targets = one_vs_rest(y[labelled], np.array([0, 1]))
    marks = np.where(np.arange(len(y)) < 12, y, -1)
    for ambient, manifold in ((1e-2, 1.0), (1.0, 1e-2)):
        values, theta, b = grid.solve(loss(), targets, ambient, manifold)
        model.set_params(gamma=3.0, graph=graph, reg_ambient=ambient, reg_manifold=manifold)
        expected = model.fit(X, marks).decision_function(X)
        np.testing.assert_allclose(values[:, 0], expected, atol=1e-5)
        np.testing.assert_allclose(K @ grid.expansion(theta)[:, 0] + b, expected, atol=1e-5)


def test_selection_of_a_grid_point():
    assert smallest_error(np.array([2.0, 1.0, 1.0]), np.array([0.0, 3.0, 2.0])) == 2


def test_decisions_of_one_and_of_many_columns():
    classes = np.array([3, 8])
    assert decided(np.array([[-1.0], [1.0]]), classes).tolist() == [3, 8]
    assert decided(np.array([[0.1, 0.2, -1.0]]), np.array([5, 6, 7])).tolist() == [6]


def test_splits_of_melacci(folder):
    found = list(melacci2011_splits.splits(folder, "G50C", 5))
    for split in found:
        parts = [split.labelled, split.unlabelled, split.validation, split.test]
        assert [len(part) for part in parts[::2]] == [50, 50]
        assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts)) == 300
        for part in parts:
            assert set(split.y[part]) == {0, 1}
        assert np.all(split.marks[:50] == split.y[split.labelled])
        assert np.all(split.marks[50:] == -1)
    # The first four share their folds: their test rows cover all rows once.
    tests = np.concatenate([split.test for split in found[:4]])
    assert len(np.unique(tests)) == len(tests) == 300
    assert not np.array_equal(np.sort(found[0].test), np.sort(found[4].test))


@pytest.mark.parametrize("method", ["SVM", "LapSVM Newton", "LapRLSC", "PCG mixed"])
def test_melacci_runs(folder, method, monkeypatch):
    monkeypatch.setattr(melacci2011, "WEIGHTS", (1e-2, 1.0))
    outcome = melacci2011.measure(folder, "G50C", method, 2, None)
    assert {"U", "V", "T", "seconds"} <= set(outcome.values)
    assert all(len(found) == 2 for found in outcome.values.values())
    assert "selected" in outcome.remark
    assert np.mean(outcome.values["T"]) < 30.0


def test_supervised_methods_of_melacci_ignore_the_other_rows(folder):
    [split] = melacci2011_splits.splits(folder, "G50C", 1)
    first = melacci2011.fit_and_measure(split, "G50C", "RLSC", (1e-2, 0.0))
    fewer = melacci2011_splits.Split(
        split.X, split.y, split.labelled, split.unlabelled[:10], split.validation, split.test
    )
    assert melacci2011.fit_and_measure(fewer, "G50C", "RLSC", (1e-2, 0.0))["T"] == first["T"]


def test_embedded_methods_of_chen_agree_with_the_estimators(folder, monkeypatch):
    monkeypatch.setitem(chen2012_book.SETS, "Digit1", ("ssl_digit1.npz", 5, 2, 10))
    task = chen2012_book.Task(folder, "Digit1", 2)
    strength, size = 100.0, 10.0  # the grids of C and μ are one
    common = {
        "C": size,
        "reg_labeled": strength,
        "reg_manifold": size,
        "n_eigenvectors": 10,
        "gamma": task.gamma,
        "graph": task.graph,
        "unlabeled": 0.0,
    }
    for work, model in (
        (chen2012_book.lap_erls, LapERLSClassifier(**common)),
        (chen2012_book.lap_esvr, LapESVC(epsilon=0.1, tol=1e-4, **common)),
    ):
        errors, names = work(task, [size], [strength])
        assert len(names) == 1
        for split, found in zip(task.splits, np.ravel(errors), strict=True):
            marks = np.zeros(len(task.y))
            marks[split] = task.y[split]
            expected = task.error(split, model.fit(task.X, marks).decision_function(task.X))
            assert abs(found - expected) <= 100.0 / 130 + 1e-9  # at most one row on the boundary


def test_eigenfunctions_of_chen_agree_with_the_estimator(moons):
    X, y = moons
    labelled = np.arange(12)
    values = chen2012_book.Eigenfunctions(X, 50)(labelled, 2.0 * y[:12] - 1.0, 10.0)
    marks = np.where(np.arange(len(y)) < 12, y, -1)
    model = EigenfunctionClassifier(2, n_bins=50, n_eigenfunctions=4, reg_labeled=10.0 / len(y))
    np.testing.assert_allclose(values, model.fit(X, marks).decision_function(X), atol=1e-8)


@pytest.mark.parametrize("method", ["SVR(RBF)", "LapRLS", "LapSVR", "PLapSVM", "Eigenfunction"])
def test_chen_runs(folder, method, monkeypatch):
    monkeypatch.setitem(chen2012_book.SETS, "Digit1", ("ssl_digit1.npz", 5, 1, 10))
    grid = {"sizes": [1.0, 10.0], "pulls": [1e4], "weights": [1e-2, 1.0], "bins": [20]}
    outcome = chen2012_book.measure(folder, "Digit1", method, 2, **grid)
    assert len(outcome.values["error"]) == 2
    assert np.mean(outcome.values["error"]) < 35.0


def test_shifted_images():
    image = np.arange(1.0, 5.0)[None]  # 2 × 2
    canvases = chen2012_rounds.shifted(image, shift=1).reshape(9, 4, 4)
    assert len(np.unique(canvases, axis=0)) == 9
    for canvas in canvases:
        assert np.sort(canvas[canvas > 1]).tolist() == [2.0, 3.0, 4.0]
    np.testing.assert_array_equal(canvases[4, 1:3, 1:3], [[1.0, 2.0], [3.0, 4.0]])


def test_mean_distance_gamma(moons):
    X, _ = moons
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert mean_distance_gamma(X) == pytest.approx(1.0 / squares.mean())


def test_columns_of_gieseke_agree_with_the_estimator():
    X, y = gieseke2013_fits.data_set(None, "G4C")
    order = gieseke2013_fits.partition(y, 30, np.random.default_rng(0))[:200]
    X, y = X[order, :20], y[order]
    assert np.mean(y[:30] > 0) == 0.5
    for method, solver in gieseke2013_fits.SOLVERS.items():
        values = gieseke2013_fits._values(solver, X, 200, y[:30], [(0.1, 1.0), (1.0, 0.01)])
        marks = np.where(np.arange(200) < 30, y, 0.0)
        model = S3VC(reg=0.1, reg_unlabeled=1.0, solver=solver, unlabeled=0.0, tol=1e-3)
        decided_by = model.set_params(calibration_folds=0).fit(X, marks).decision_function(X)
        agree = np.mean((values[:, 0] > 0) == (decided_by > 0))
        assert agree >= 0.98, method


@pytest.mark.parametrize("method", ["LIBSVM", "QN-S3VM", "UniverSVM"])
def test_gieseke_runs(method):
    outcome = gieseke2013.measure(DataFolder(None), "G2C", (50, 200, 250), method, 1, [-6, 0])
    assert outcome.values["error"][0] < 15.0


def test_lgc_of_zhang_agrees_with_the_estimator(folder, moons):
    X, y = moons
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    labelled, fold = zhang2009.draw_labels(y, 10, 0)
    others = np.setdiff1d(np.arange(len(y)), labelled)
    grid = zhang2009_methods.MethodGrid("LGC", X, 20, 1)
    grid.set_width(5.0)
    W = np.exp(-5.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0.0)
    marks = np.full(len(y), -1)
    marks[labelled] = y[labelled]
    for C, (_, values) in zip(
        zhang2009_methods.WEIGHTS, grid.cells(0, labelled, others, Y, fold), strict=True
    ):
        if 1e-2 <= C <= 10.0:
            model = LGCClassifier(alpha=1.0 / (1.0 + C), graph=KNNGraph.from_affinity(W))
            found = np.unique(y)[values.argmax(axis=1)]
            assert np.mean(found == model.fit(X, marks).transduction_[others]) > 0.98


def test_landmarks_of_nfi_are_drawn_from_all_rows(moons, monkeypatch):
    X, y = moons
    labelled, fold = zhang2009.draw_labels(y, 5, 0)
    others = np.setdiff1d(np.arange(len(y)), labelled)
    grid = zhang2009_methods.MethodGrid("NFI", X, 40, 1)
    grid.set_width(5.0)
    seen = []
    similarities = zhang2009_methods.Similarities

    def watched(kernel, points):
        seen.append(points)
        return similarities(kernel, points)

    monkeypatch.setattr(zhang2009_methods, "Similarities", watched)
    list(grid.cells(0, labelled, others, np.where(y[:, None] == [0, 1], 1.0, -1.0), fold))
    [points] = seen
    expected = [i for i in grid.points[0] if i not in labelled][:30]
    np.testing.assert_array_equal(points, X[np.concatenate([labelled, expected])])


@pytest.mark.parametrize("method", zhang2009.METHODS)
def test_zhang_runs(folder, method, monkeypatch):
    monkeypatch.setattr(zhang2009_methods, "LAPRLS_WEIGHTS", np.array([1e-4, 1e-2]))
    outcome = zhang2009.measure(folder, "BCI", method, 2, 4)
    for quantity in ("error", "error, one choice"):
        assert len(outcome.values[quantity]) == 2
        assert np.mean(outcome.values[quantity]) < 30.0


def test_each_draw_of_labels_is_different():
    y = np.repeat([0, 1], 100)
    first, fold = zhang2009.draw_labels(y, 50, 0)
    assert np.bincount(y[first]).tolist() == [50, 50]
    assert np.bincount(fold).tolist() == [20] * 5
    assert not np.array_equal(first, zhang2009.draw_labels(y, 50, 1)[0])
    marks = few_labels(y, 3, np.random.default_rng(0))
    assert np.bincount(marks[marks >= 0]).tolist() == [3, 3]


def test_figures_of_wang_are_drawn():
    for outcome, draw in (
        (wang2006.moons(None, 1), wang2006.draw_moons),
        (wang2006.boundary(None, 0.5, 4), wang2006.draw_boundary),
        (wang2006.boundary(None, 1.0, 2), wang2006.draw_boundary),
    ):
        figure = new_figure()
        draw(figure, outcome.curves)
        assert figure.axes
    shares = wang2006.moons(None, 1).curves
    assert np.mean(shares["70%"]["16"]) > 90.0


def test_figures_of_chen_are_drawn():
    outcome = chen2012_moons.moons(None, 0)
    figure = new_figure()
    chen2012_moons.draw_moons(figure, outcome.curves)
    assert len(figure.axes) == 4
    figure = new_figure()
    chen2012_book.draw_eigenvectors(figure, {"counts": [1, 2], "errors": {"a": [3.0, 2.0]}})
    pair = {"axis": "rows", "name": "a", "rows": [(1, 2.0, 3.0), (2, 1.0, 4.0)]}
    chen2012_large.draw_pair(new_figure(), pair)


def test_figures_of_the_others_are_drawn(folder, monkeypatch):
    gieseke2013.draw_moons(new_figure(), {"noise": [0.1], "methods": {"a": [[1.0, 2.0]]}})
    amounts = {"shares": [5, 20], "labelled": {"a": [[1.0], [2.0]]}, "unlabelled": {}}
    gieseke2013.draw_amounts(new_figure(), amounts)
    gieseke2013.draw_times(new_figure(), {str(k): {"a": [(1, 2.0)]} for k in range(6)})
    melacci2011.draw_norms(new_figure(), {"G50C": [[1.0, 0.1]] * 4, "PCMAC": [[1.0, 0.1]] * 4})
    outcome = melacci2011.course(folder, "G50C", 20)
    melacci2011.draw_course(new_figure(), outcome.curves)
    assert 1 <= len(outcome.curves["pcg"]["U"]) <= 20
    found = melacci2011.norms(folder, ["G50C"], 15).curves["G50C"]
    assert [line[0] for line in found] == [1.0] * 4
    assert found[0][-1] < 1.0
    zhang = {
        axis: {"places": [1, 2], "error and seconds": [[(1.0, 2.0)], [(2.0, 3.0)]]}
        for axis in ("rows", "labels a class", "prototypes")
    }
    zhang2009.draw_growth(new_figure(), zhang)
