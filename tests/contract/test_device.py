"""Every estimator with a device: the same model as without, an ordinary one, and tensors.

The device is that of `helpers.device`. ``make gpu-test`` runs the other tests of this folder on a
GPU as well.
"""

import pickle

import numpy as np
import pytest

import lapwing
from helpers.cases import assert_same_outputs, each_case, outputs_of
from helpers.data import fit_quietly
from helpers.device import DEVICE, torch_or_skip
from lapwing import KNNGraph, use_device
from lapwing.graphs.neighbors import nearest_known, nearest_neighbors

torch = torch_or_skip()

#: Rows have more columns than a search in a tree takes, and no equal distances.
COLUMNS = 12


def data_of(case):
    """Rows of a case with many columns, and its labels."""
    X, y, _ = case.data()
    X = X.toarray() if case.sparse else X
    noise = 0.1 * np.random.default_rng(0).standard_normal((len(X), COLUMNS - X.shape[1]))
    return case.rows(np.hstack([X, noise])), y


def fit_on_device(case, X, y):
    with use_device(DEVICE):
        return fit_quietly(case.new(), X, y)


@each_case()
def test_the_model_is_that_of_the_host(case):
    X, y = data_of(case)
    host, found = fit_quietly(case.new(), X, y), fit_on_device(case, X, y)
    with use_device(DEVICE):
        there = outputs_of(found, X)
    for name, expected in outputs_of(host, X).items():
        for values in (getattr(found, name)(X), there[name]):
            assert isinstance(values, np.ndarray)
            if name == "predict" and case.is_classifier:
                assert np.mean(values != expected) <= (0.05 if case.iterates else 0.0)
            else:
                size = max(np.abs(expected).max(), 1.0)
                np.testing.assert_allclose(values, expected, rtol=0, atol=case.tol * size)
    assert np.mean(found.transduction_ != host.transduction_) <= 0.05 or not case.is_classifier


@each_case()
def test_fits_repeat_to_the_bit(case):
    X, y = data_of(case)
    first, second = fit_on_device(case, X, y), fit_on_device(case, X, y)
    with use_device(DEVICE):
        assert_same_outputs(first, second, X)


@each_case(lambda case: not case.name.startswith("AnchorSVC"))
def test_nothing_of_the_device_is_left_in_a_model(case, tmp_path):
    X, y = data_of(case)
    model = fit_on_device(case, X, y)
    assert b"torch" not in pickle.dumps(model)
    lapwing.save(model, tmp_path / "a.lapwing")
    assert_same_outputs(lapwing.load(tmp_path / "a.lapwing"), model, X)


@each_case(lambda case: not case.sparse)
def test_tensors_give_tensors(case):
    X, y = data_of(case)
    T = torch.tensor(X, device=DEVICE)
    model = fit_quietly(case.new(), T, torch.tensor(y, device=DEVICE))
    assert isinstance(model.transduction_, np.ndarray)
    with use_device(None if DEVICE == "cpu" else DEVICE):  # tensors of the host are arrays
        expected = outputs_of(fit_quietly(case.new(), X, y), X)
    for name, values in outputs_of(model, T).items():
        assert isinstance(values, torch.Tensor)
        assert values.device.type == torch.device(DEVICE).type
        np.testing.assert_array_equal(values.cpu().numpy(), expected[name])
    assert isinstance(model.predict(X), np.ndarray)
    score = model.score(T[:10], torch.tensor(y[:10]))
    assert score == pytest.approx(model.score(X[:10], y[:10]))


def test_labels_that_are_no_numbers_stay_arrays():
    X = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = np.array(["a", "b", *[None] * 18], dtype=object)
    model = lapwing.LapSVC().fit(X, y)
    assert set(model.predict(X)) <= {"a", "b"}
    assert isinstance(model.decision_function(X), torch.Tensor)


def test_graphs_and_more_labels_take_tensors():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 12)), np.where(np.arange(40) < 4, np.arange(40) % 2, -1)
    T = torch.tensor(X, device=DEVICE)
    graph = KNNGraph().fit(T)
    assert graph.fitted_to(T)
    assert graph.fitted_to(X)
    model = lapwing.LapSVC(graph=graph).fit(T, y)
    model.add_labels(torch.tensor([7, 8], device=DEVICE), torch.tensor([1, 0], device=DEVICE))
    assert model.transduction_[[7, 8]].tolist() == [1, 0]


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("reg_ambient", [1e-6, 1e-9])
def test_ill_conditioned_problems_are_solved_as_on_the_host(power, reg_ambient):
    X = np.random.default_rng(0).standard_normal((400, 12))
    y = np.where(np.arange(400) < 6, np.arange(400) % 2, -1)
    model = lapwing.LapSVC(graph=KNNGraph(power=power), reg_ambient=reg_ambient)
    host = model.fit(X, y).decision_function(X)
    with use_device(DEVICE):
        found = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(found, host, rtol=0, atol=1e-6 * np.abs(host).max())


def test_rows_of_yes_and_no():
    X = np.random.default_rng(0).standard_normal((60, 12)) > 0
    y = np.where(np.arange(60) < 6, np.arange(60) % 2, -1)
    host = lapwing.PVMClassifier(n_prototypes=20).fit(X, y).decision_function(X)
    with use_device(DEVICE):
        found = lapwing.PVMClassifier(n_prototypes=20).fit(X, y).decision_function(X)
    np.testing.assert_allclose(found, host, atol=1e-9)


# ---------------------------------------------------------------- neighbours


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("oddity", ["none", "duplicates", "outlier", "offset", "tiny"])
def test_neighbours_are_those_of_the_host(dtype, metric, oddity):
    X = np.random.default_rng(0).standard_normal((700, 20))
    if oddity == "duplicates":
        X[100:130] = X[0]
    X[5] *= 1e9 if oddity == "outlier" else 1.0
    X = (X + (1e6 if oddity == "offset" and dtype is np.float64 else 0.0)).astype(dtype)
    X *= 1e-30 if oddity == "tiny" else 1.0
    expected = nearest_neighbors(X, 7, metric)
    with use_device(DEVICE):
        distances, index = nearest_neighbors(X, 7, metric)
    np.testing.assert_array_equal(index, expected[1])
    np.testing.assert_allclose(distances, expected[0], rtol=1e-10)


@pytest.mark.parametrize("n", [10, 60, 900])
def test_neighbours_of_new_rows(n):
    rng = np.random.default_rng(0)
    known, X = rng.standard_normal((n, 20)), rng.standard_normal((50, 20))
    expected = nearest_known(known, X, 9)
    with use_device(DEVICE):
        found = nearest_known(known, X, 9)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)


def test_eigenvectors_are_those_of_the_host():
    X = np.random.default_rng(0).standard_normal((900, 20))
    X[450:] += 40.0  # two components, whose null vectors are known
    values, vectors = KNNGraph().fit(X).eigenpairs(6, tol=1e-6)
    with use_device(DEVICE):
        found, same = KNNGraph().fit(X).eigenpairs(6, tol=1e-6)
    np.testing.assert_allclose(found, values, atol=1e-12)
    np.testing.assert_allclose(same, vectors, atol=1e-9)


# ---------------------------------------------------------------- memory


def test_fits_that_do_not_fit_the_device_are_those_of_the_host(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 20)), np.where(np.arange(300) < 6, np.arange(300) % 2, -1)
    host = lapwing.LapSVC().fit(X, y).decision_function(X)
    monkeypatch.setattr("lapwing.plan.manifold.device_budget", lambda: 1_000_000)
    moved = []
    monkeypatch.setattr("lapwing.estimators.manifold.to_device", moved.append)
    with use_device(DEVICE):
        found = lapwing.LapSVC().fit(X, y).decision_function(X)
    assert not moved
    np.testing.assert_allclose(found, host, atol=1e-9)
