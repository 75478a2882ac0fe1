"""Every estimator with a device: the same model as without, an ordinary one, and tensors.

The device is that of `helpers.device`. The other tests of this folder run on it as well, for the
estimators that use it. Here rows have so many columns that the graphs of all do.
"""

import pickle

import numpy as np
import pytest

import lapwing
from helpers.cases import assert_same_outputs, each_case, outputs_of
from helpers.data import fit_quietly
from helpers.device import DEVICE, torch_or_skip
from lapwing import KNNGraph, use_device
from lapwing.arrays.device import device_tiles, is_on_device
from lapwing.arrays.device_arrays import DeviceArray
from lapwing.graphs.anchors import AnchorGraph
from lapwing.graphs.neighbors import nearest_known, nearest_neighbors
from lapwing.operators.row_cache import RowCache

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


@each_case(host_only=True)
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


@each_case(host_only=True)
def test_fits_repeat_to_the_bit(case):
    X, y = data_of(case)
    first, second = fit_on_device(case, X, y), fit_on_device(case, X, y)
    with use_device(DEVICE):
        assert_same_outputs(first, second, X)


@each_case(lambda case: not case.name.startswith("AnchorSVC"), host_only=True)
def test_nothing_of_the_device_is_left_in_a_model(case, tmp_path):
    X, y = data_of(case)
    model = fit_on_device(case, X, y)
    assert b"torch" not in pickle.dumps(model)
    lapwing.save(model, tmp_path / "a.lapwing")
    assert_same_outputs(lapwing.load(tmp_path / "a.lapwing"), model, X)


@each_case(lambda case: not case.sparse, host_only=True)
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


@each_case(lambda case: not case.sparse, one_a_class=True, host_only=True)
def test_everything_may_be_given_in_tensors(case):
    """Rows in single precision and part of a graph, labels, weights, and labels that are added."""
    X, y = data_of(case)
    X, weights, more = X.astype(np.float32), np.linspace(1.0, 2.0, len(y)), np.array([30, 41])
    labels = case.data()[2][more]
    T, *others = (torch.tensor(given, device=DEVICE) for given in (X, y, weights, more, labels))
    found = fit_quietly(case.new(), T.requires_grad_(), others[0], sample_weight=others[1])
    with use_device(None if DEVICE == "cpu" else DEVICE):
        expected = fit_quietly(case.new(), X, y, sample_weight=weights)
        assert_same_outputs(found, expected, X)
        expected.add_labels(more, labels)
    found.add_labels(*others[2:])
    np.testing.assert_array_equal(found.transduction_, expected.transduction_)


@each_case(host_only=True)
def test_the_suite_knows_which_cases_use_a_device(case, monkeypatch):
    moved = []

    def made(self, tensor):
        moved.append(tensor.shape)
        self.tensor = tensor

    X, y, _ = case.data()
    monkeypatch.setattr(DeviceArray, "__init__", made)
    with use_device(DEVICE):
        outputs_of(fit_quietly(case.new(), X, y), X)
    assert bool(moved) == case.uses_device


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


def test_a_fit_without_a_step_on_the_device_says_so(caplog):
    X = np.random.default_rng(0).standard_normal((60, 12))
    y = np.where(np.arange(60) < 6, np.arange(60) % 2, -1)
    caplog.set_level("INFO", logger="lapwing")
    message = "no step of this fit has a path on the device"
    for model, stays in ((lapwing.S3VC(solver="annealing"), True), (lapwing.S3VC(), False)):
        caplog.clear()
        model.fit(X, y)
        assert message not in caplog.text
        with use_device(DEVICE):
            model.fit(X, y)
        assert (message in caplog.text) == stays


def test_rows_of_yes_and_no():
    # Five different rows: with more of them than prototypes, centres at equal distances are
    # ranked by rounding.
    X = np.tile(np.random.default_rng(0).standard_normal((5, 12)) > 0, (12, 1))
    y = np.where(np.arange(60) < 5, np.arange(60) % 2, -1)
    host = lapwing.PVMClassifier(n_prototypes=5).fit(X, y).decision_function(X)
    with use_device(DEVICE):
        found = lapwing.PVMClassifier(n_prototypes=5).fit(X, y).decision_function(X)
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
    model = lapwing.LapSVC(graph=KNNGraph().fit(X))
    host = model.fit(X, y).decision_function(X)
    monkeypatch.setattr("lapwing.plan.manifold.device_budget", lambda: 1_000_000)
    moved = []
    monkeypatch.setattr("lapwing.estimators.manifold.to_device", moved.append)
    with use_device(DEVICE):
        found = model.fit(X, y).decision_function(X)
    assert not moved
    np.testing.assert_allclose(found, host, atol=1e-9)


# ---------------------------------------------------------------- rows of the Gram matrix


def rows_and_few_labels(n=400):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 12)), np.where(np.arange(n) < 6, np.arange(n) % 2, -1)


@pytest.mark.parametrize("n_eigenvectors", [None, 8])
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("cache_bytes", [None, 50_000])
def test_rows_of_the_gram_matrix_are_kept_there(n_eigenvectors, single, cache_bytes, monkeypatch):
    X, y = rows_and_few_labels()
    tol = 1e-4
    monkeypatch.setattr("lapwing.estimators.embedded.single_precision_suffices", lambda *_: single)
    model = lapwing.LapESVC(n_eigenvectors=n_eigenvectors, C=1.0, tol=tol)
    monkeypatch.setattr("lapwing.solvers.svr._WORKING_SET", 32)
    host = model.fit(X, y)
    expected, steps = host.decision_function(X), host.result_.history[-1]
    kept = []
    new_cache = RowCache.__init__

    def small(self, submatrix, n, max_bytes, *others):
        new_cache(self, submatrix, n, cache_bytes or max_bytes, *others)
        kept.append(is_on_device(self._buffer))

    monkeypatch.setattr(RowCache, "__init__", small)
    with use_device(DEVICE):
        found = model.fit(X, y)
    assert kept
    assert all(kept)
    assert found.result_.status == "converged"
    np.testing.assert_allclose(found.decision_function(X), expected, rtol=0, atol=10 * tol)
    if cache_bytes is None:
        assert found.result_.history[-1]["rows_made"] <= 1.5 * steps["rows_made"]
    assert found.result_.history[-1]["violation"] <= tol


def test_rows_that_do_not_fit_the_device_are_kept_on_the_host(monkeypatch):
    X, y = rows_and_few_labels()
    model = lapwing.LapESVC(n_eigenvectors=8)
    expected = model.fit(X, y).decision_function(X)
    monkeypatch.setattr("lapwing.plan.embedded.device_budget", lambda: 1_000_000)
    monkeypatch.setattr("lapwing.estimators.embedded.to_device", None)  # not called
    with use_device(DEVICE):
        found = model.fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), expected, rtol=0, atol=1e-9)


# ---------------------------------------------------------------- anchors


@pytest.mark.parametrize("weights", ["kernel", "lae"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("entries", [20_000_000, 700])
def test_weights_of_anchors_are_those_of_the_host(weights, dtype, entries, monkeypatch):
    X, _ = rows_and_few_labels()
    X = (X + 1e3).astype(dtype)
    anchors = X[::20].astype(np.float64) + 0.1
    graph, Z = AnchorGraph.build(X, anchors, 4, weights)
    monkeypatch.setattr("lapwing.graphs.anchors._DEVICE_ENTRIES", entries)
    moved = []
    monkeypatch.setattr(
        "lapwing.graphs.anchors.device_tiles",
        lambda X, size: moved.append(size) or device_tiles(X, size),
    )
    with use_device(DEVICE):
        same, found = AnchorGraph.build(X, anchors, 4, weights)
        again = graph(X)
        none = graph(X[:0])
    assert moved[0] == entries // 20
    assert none.shape == (0, len(anchors))
    np.testing.assert_array_equal(found.indices, Z.indices)
    for there in (found, again):
        np.testing.assert_allclose(there.toarray(), Z.toarray(), rtol=0, atol=1e-7)
    if weights == "kernel":
        np.testing.assert_allclose(same.bandwidth, graph.bandwidth, rtol=1e-9)
