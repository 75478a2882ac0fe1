"""The default on rows in blocks, which may exceed the memory."""

import pickle
import tracemalloc
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons

import lapwing
from lapwing import KNNGraph, SemiSupervisedClassifier, SemiSupervisedRegressor
from lapwing.arrays.blocks import RowBlocks
from lapwing.arrays.row_collections import Part, RowCollection
from lapwing.auto import limits

CUTS = [0, 40, 40, 250, 600]


def blocks_of(X):
    """Rows in blocks of different lengths, one of them empty."""
    return [X[a:b] for a, b in pairwise(CUTS)]


def dask_of(X, n_partitions):
    return da.from_array(X, chunks=(-(-len(X) // n_partitions), X.shape[1]))


FORMS = {
    "list": lambda X, y: (blocks_of(X), y),
    "pairs": lambda X, y: (list(zip(blocks_of(X), blocks_of(y), strict=True)), None),
    "function": lambda X, y: (lambda: iter(blocks_of(X)), y),
    "dask of 1": lambda X, y: (dask_of(X, 1), y),
    "dask of 2": lambda X, y: (dask_of(X, 2), y),
    "dask of 7": lambda X, y: (dask_of(X, 7), da.from_array(y, chunks=200)),
}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    y = np.full(600, -1)
    for digit in range(10):
        y[np.flatnonzero(truth == digit)[-4:]] = digit
    return X, y, truth


@pytest.fixture(scope="module")
def curve():
    t = np.linspace(0.0, 3.0, 600)
    X = np.column_stack([np.cos(2 * t), np.sin(2 * t), t])
    return X, np.where(np.arange(600) % 20 == 0, np.sin(3 * t), np.nan), np.sin(3 * t)


@pytest.fixture
def few_rows(monkeypatch):
    """Bounds at which a data set for a test is a large one."""
    monkeypatch.setattr(limits, "MOST_ROWS", 300)


def draw_blobs(n, seed=0):
    """Two classes of rows, and labels of six of each."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) + 4.0 * truth[:, None]
    return X, np.where(np.arange(n) < 12, truth, -1), truth


# The same model whichever way rows come.


@pytest.fixture(scope="module")
def duplicated(digits):
    """Rows with duplicates in other blocks, their labels, and the model of them in memory."""
    X, y, _ = digits
    X = X.copy()
    X[500:520] = X[100:120]
    return X, y, SemiSupervisedClassifier().fit(X, y)


@pytest.fixture(scope="module")
def sampled(digits):
    """The model of a sample of the rows in memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_ROWS", 300)
        return SemiSupervisedClassifier().fit(*digits[:2])


def test_few_rows_give_the_same_bits(form, duplicated):
    X, y, model = duplicated
    other = SemiSupervisedClassifier().fit(*form(X, y))
    assert model.n_duplicates_ == other.n_duplicates_ == 20
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))
    assert np.array_equal(model.transduction_, np.asarray(other.transduction_))
    assert np.array_equal(model.suggest(7), other.suggest(7))
    assert model.report_.warnings == other.report_.warnings


def test_many_rows_give_the_same_model(form, digits, few_rows, sampled):
    """The sample is the same; sums over all rows differ by rounding."""
    X, y, _ = digits
    model, other = sampled, SemiSupervisedClassifier().fit(*form(X, y))
    assert np.array_equal(model.sample_, other.sample_)
    assert len(other.sample_) == 300
    assert np.isin(np.flatnonzero(y >= 0), other.sample_).all()
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-8)
    assert np.array_equal(model.transduction_, np.asarray(other.transduction_))
    assert np.array_equal(model.suggest(7), other.suggest(7))
    assert model.report_.warnings == other.report_.warnings
    assert np.array_equal(model.labelled_, other.labelled_)


def test_regressors_of_many_rows(form, curve, few_rows):
    X, y, truth = curve
    model, other = (SemiSupervisedRegressor().fit(*rows) for rows in ((X, y), form(X, y)))
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.transduction_, np.asarray(other.transduction_), atol=1e-10)
    assert np.array_equal(model.suggest(5), other.suggest(5))
    assert other.report_.rows_used == 300
    assert np.abs(np.asarray(other.transduction_) - truth).max() < 0.1
    known = ~np.isnan(y)
    assert np.array_equal(np.asarray(other.transduction_)[known], y[known])


@pytest.mark.parametrize("kind", ["counts", "text"])
def test_sparse_rows(kind, few_rows):
    """Frequencies of words are those in all rows, not those in the sample."""
    rng = np.random.default_rng(0)
    truth = np.arange(600) % 2
    rates = np.where((np.arange(40) < 20) == truth[:, None], 0.5, 0.1)
    X = sp.csr_matrix(rng.poisson(rates).astype(float))
    X = X if kind == "counts" else X.multiply(0.37).tocsr()
    y = np.where(np.arange(600) < 14, truth, -1)
    model, other = (SemiSupervisedClassifier().fit(rows, y) for rows in (X, blocks_of(X)))
    assert model.scaling_.kind == other.scaling_.kind == kind
    assert np.array_equal(model.scaling_.factor, other.scaling_.factor)
    if not model.n_duplicates_:  # which are removed before a sample is drawn in memory alone
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-8)
    assert np.mean(other.transduction_ == truth) > 0.85


def test_integers_and_halves(digits, few_rows):
    X, y, _ = digits
    model = SemiSupervisedClassifier().fit(X, y)
    for dtype in (np.uint8, np.float16):
        other = SemiSupervisedClassifier().fit(blocks_of(X.astype(dtype)), y)
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-8)


def test_one_label_per_class(form, digits, few_rows):
    """Probabilities have a conventional scale, which is that of the rows in use."""
    X, y, truth = digits
    y = np.full(600, -1)
    first = [np.flatnonzero(truth == digit)[3] for digit in range(10)]
    y[first] = truth[first]
    model, other = (SemiSupervisedClassifier().fit(*rows) for rows in ((X, y), form(X, y)))
    np.testing.assert_allclose(model.temperature_, other.temperature_, rtol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-7)


@pytest.mark.parametrize("shares", ["labels", {0: 0.2, 1: 0.8}])
def test_class_shares(shares, few_rows):
    X, y, _ = draw_blobs(900)
    forms = X, [X[:500], X[500:]]
    model, other = (SemiSupervisedClassifier(class_shares=shares).fit(rows, y) for rows in forms)
    assert np.abs(other.class_offsets_).max() > 0 or shares == "labels"
    np.testing.assert_allclose(model.class_offsets_, other.class_offsets_, rtol=1e-7, atol=1e-12)
    unseen = np.setdiff1d(other.sample_, np.flatnonzero(y >= 0))
    expected = other.predict_proba(X[unseen]).mean(axis=0)
    wanted = [0.5, 0.5] if shares == "labels" else [0.2, 0.8]
    np.testing.assert_allclose(expected, wanted, atol=0.02)


# Memory and reports.


def peak_of_fit(n):
    """Return the most memory that a fit to n rows in blocks of 10 000 takes, in bytes."""

    def blocks():
        for number in range(n // 10_000):
            X, y, _ = draw_blobs(10_000, seed=number)
            yield X, y if number == 0 else np.full(10_000, -1)

    tracemalloc.start()
    try:
        model = SemiSupervisedClassifier().fit(blocks)
        return tracemalloc.get_traced_memory()[1], model
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_rows(few_rows, monkeypatch):
    monkeypatch.setattr(limits, "EDGE_ROWS", 500)
    monkeypatch.setenv("LAPWING_NUM_THREADS", "1")  # how tiles of threads overlap is chance
    peak_of_fit(20_000)  # what modules keep
    small, other = peak_of_fit(20_000)
    large, model = peak_of_fit(200_000)
    assert large - small < 0.5 * 8 * 180_000  # not even half a number per row
    assert model.report_.rows == 200_000
    assert model.report_.rows_weighed == 800
    sizes = [len(pickle.dumps(one)) for one in (other, model)]
    assert abs(sizes[1] - sizes[0]) < 0.1 * sizes[0]


def test_the_report_counts_rows(digits, few_rows):
    X, y, _ = digits
    for rows in (X, blocks_of(X)):
        report = SemiSupervisedClassifier().fit(rows, y).report_
        assert (report.rows, report.labels, report.columns) == (600, 40, 64)
        assert (report.rows_used, report.rows_weighed) == (300, 600)
        assert "600 rows (300 used), 40 labelled" in repr(report)
        assert any("fitted to 300 of 600 rows" in message for message in report.warnings)
        assert any("all rows weigh the edges" in message for message in report.warnings)
        assert report.to_dict()["rows_used"] == 300
    report = SemiSupervisedClassifier("supervised").fit(blocks_of(X), y).report_
    assert report.rows_weighed == 300
    assert not any("edges" in message for message in report.warnings)


def test_stages_are_reported(digits, few_rows):
    X, y, _ = digits
    stages = []
    SemiSupervisedClassifier(callback=lambda *stage: stages.append(stage)).fit(blocks_of(X), y)
    assert "weighing edges" in [name for name, _ in stages]
    shares = [share for _, share in stages]
    assert shares == sorted(shares)
    assert stages[-1] == ("done", 1.0)


def test_memory_limit(digits):
    X, y, _ = digits
    with pytest.raises(MemoryError, match="reading 600 of 600 rows with 64 columns"):
        SemiSupervisedClassifier(memory_limit=100_000).fit(blocks_of(X), y)


def read_by(X, y, **parameters):
    """Return a fitted model, and the indices of the rows that were read for its sample."""
    taken = []

    class Watched(RowBlocks):
        def take(self, index):
            taken.append(index)
            return super().take(index)

    model = SemiSupervisedClassifier(**parameters)
    model.fit(RowCollection(Watched(lambda: [Part(X[:500], y[:500]), Part(X[500:], y[500:])])))
    return model, taken[0]


@pytest.mark.parametrize(
    ("parameters", "needed"),
    [
        ({}, True),
        ({"method": "graph"}, True),
        ({"method": "manifold"}, True),
        ({"method": "supervised"}, False),
        ({"method": "margin"}, False),
        ({"graph": KNNGraph(5)}, False),
    ],
    ids=str,
)
def test_other_rows_are_read_if_they_may_weigh_edges(parameters, needed, monkeypatch):
    monkeypatch.setattr(limits, "MOST_ROWS", 300)
    monkeypatch.setattr("lapwing.auto.sample.scaling_step", lambda n: n)
    X, y, _ = draw_blobs(1000)
    model, read = read_by(X, y, **parameters)
    assert len(read) == 1000 if needed else len(read) <= 301
    assert model.report_.rows_weighed == (1000 if needed else 300)
    assert not any("the memory has room" in message for message in model.report_.warnings)


def test_no_other_rows_are_read_where_many_labels_leave_no_graph(few_rows, monkeypatch):
    monkeypatch.setattr(limits, "MOST_LABELS", 50)
    monkeypatch.setattr("lapwing.auto.sample.scaling_step", lambda n: n)
    X, _, truth = draw_blobs(1000)
    _, read = read_by(X, np.where(np.arange(1000) < 60, truth, -1))
    assert len(read) <= 301


@pytest.mark.parametrize("room", [450, 301])
def test_fewer_other_rows_are_read_where_memory_is_short(room, monkeypatch):
    """Wide rows whose sample fits are not refused."""
    monkeypatch.setattr(limits, "MOST_ROWS", 300)
    monkeypatch.setattr("lapwing.auto.sample.scaling_step", lambda n: n)
    X, y, _ = draw_blobs(1000)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(1000, 1200))])
    X[:, :3] *= 30.0
    model, read = read_by(X, y, method="graph", memory_limit=16 * X.shape[1] * room)
    assert 300 <= len(read) <= room
    assert model.report_.rows_weighed == len(read) + 300 - len(np.union1d(model.sample_, [0]))
    n = model.report_.rows_weighed - 300
    note = f"the memory has room for {n} of 700 rows beside the sample that would weigh"
    assert any(note in message for message in model.report_.warnings)
    with pytest.raises(MemoryError, match=r"reading 30[01] of 1000 rows with 1203 columns"):
        read_by(X, y, method="graph", memory_limit=16 * X.shape[1] * 299)


# What a fitted model has.


def test_attributes_with_an_entry_per_row(digits, few_rows):
    X, y, _ = digits
    model = SemiSupervisedClassifier().fit(blocks_of(X), y)
    for name in ("label_distributions_", "supervised_transduction_", "label_reach_"):
        with pytest.raises(AttributeError, match=f"{name}.*rows came in blocks"):
            getattr(model, name)
        assert not hasattr(SemiSupervisedClassifier(), name)
    assert not hasattr(model, "X_fit_")
    assert model.graph_.n_samples_ == 300
    assert model.map_.shape == (300, 2)
    model.fit(X, y)
    assert len(model.label_reach_) == len(model.label_distributions_) == 600
    model.fit(blocks_of(X), y)
    assert not hasattr(model, "label_reach_")


def test_dask_predictions_are_lazy(digits, few_rows):
    X, y, _ = digits
    rows = dask_of(X, 3)
    model = SemiSupervisedClassifier().fit(rows, y)
    for found in (model.predict(rows), model.predict(rows, reject=0.9), model.transduction_):
        assert isinstance(found, da.Array)
        assert found.shape == (600,)
    expected = model.predict(X, reject=0.9)
    assert np.array_equal(model.predict(rows, reject=0.9).compute(), expected)
    assert np.array_equal(model.predict(blocks_of(X), reject=0.9), expected)
    assert 0 < sum(label is None for label in expected) < 600


def test_labels_cannot_be_added(digits, few_rows):
    X, y, _ = digits
    model = SemiSupervisedClassifier().fit(blocks_of(X), y)
    for one in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match="fit again with the new labels"):
            one.add_labels([0], [1])


@pytest.mark.parametrize("estimator", [SemiSupervisedClassifier, SemiSupervisedRegressor])
def test_files_and_pickles(estimator, digits, curve, few_rows, tmp_path):
    X, y, _ = digits if estimator is SemiSupervisedClassifier else curve
    model = estimator().fit(dask_of(X, 2), y)
    assert model.transduction_.shape == (600,)
    model.save(tmp_path / "model.lapwing")
    for other in (lapwing.load(tmp_path / "model.lapwing"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(model.predict(X), other.predict(X))
        assert np.array_equal(model.suggest(4), other.suggest(4))
        assert np.array_equal(model.sample_, other.sample_)
        assert str(model.report_) == str(other.report_)
        with pytest.raises(AttributeError, match="predict these rows"):
            _ = other.transduction_
        with pytest.raises(ValueError, match="fit again with the new labels"):
            other.add_labels([0], [1])


def test_labels_can_be_added_to_rows_in_memory(digits, few_rows):
    """Rows that were not in use get into the graph, whose edges all rows weigh again."""
    X, y, truth = digits
    model = SemiSupervisedClassifier().fit(X, y)
    other = np.setdiff1d(np.arange(600), model.sample_)[:3]
    model.add_labels(other, truth[other])
    assert (model.report_.rows_used, model.report_.rows_weighed) == (303, 600)


# Odd input.


def test_labels_in_the_last_block_only(few_rows):
    X, y, truth = draw_blobs(800)
    X, y, truth = X[::-1], y[::-1], truth[::-1]
    blocks = [(X[:0], None), (X[:300], None), (X[300:700], None), (X[700:], y[700:])]
    model = SemiSupervisedClassifier().fit(blocks)
    assert np.array_equal(model.labelled_, np.flatnonzero(y >= 0))
    assert np.mean(model.transduction_ == truth) > 0.97


def test_texts_and_names_of_columns(few_rows):
    X, y, truth = draw_blobs(700)
    table = pd.DataFrame(X, columns=["length", "width", "mass"])
    table["bird"] = np.array(["hen", "cock", None], dtype=object)[y]
    names = np.array(["hen", "cock"])[truth]
    parts = [table.iloc[:300, :3], table.iloc[300:, :3]]
    for rows, y in ((dd.from_pandas(table, npartitions=3), "bird"), (parts, table["bird"])):
        model = SemiSupervisedClassifier(unlabeled=None).fit(rows, y)
        assert list(model.feature_names_in_) == ["length", "width", "mass"]
        assert list(model.classes_) == ["cock", "hen"]
        assert np.mean(np.asarray(model.transduction_) == names) > 0.97
        assert np.mean(np.asarray(model.predict(rows)) == names) > 0.97
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[["width", "length", "mass"]])


def test_labels_of_weight_zero(few_rows):
    """They count as unlabelled rows in the sample, and keep their labels."""
    X, y, _ = draw_blobs(700)
    y[20:60] = 0
    weights = np.where(np.arange(700) < 20, 1.0, 0.0)
    model, other = (
        SemiSupervisedClassifier().fit(rows, y, weights) for rows in (X, [X[:50], X[50:]])
    )
    assert np.array_equal(model.sample_, other.sample_)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-8)
    assert np.array_equal(other.transduction_, model.transduction_)
    assert (other.transduction_[20:60] == 0).all()


def test_more_labels_than_rows_in_use(monkeypatch):
    monkeypatch.setattr(limits, "MOST_ROWS", 50)
    X, _, truth = draw_blobs(400)
    y = np.where(np.arange(400) < 80, truth, -1)
    model = SemiSupervisedClassifier().fit([X[:100], X[100:]], y)
    assert np.array_equal(model.sample_, np.arange(80))
    assert not any("every row is labelled" in message for message in model.report_.warnings)
    assert np.mean(model.transduction_ == truth) > 0.97


def test_a_graph_of_the_user(digits, few_rows):
    X, y, _ = digits
    model = SemiSupervisedClassifier(graph=KNNGraph(5)).fit(blocks_of(X), y)
    assert model.graph_.n_neighbors == 5
    assert model.report_.rows_weighed == 300
    for graph in (KNNGraph(5).fit(X), KNNGraph(5).fit(X).affinity_):
        with pytest.raises(ValueError, match="pass an unfitted KNNGraph"):
            SemiSupervisedClassifier(graph=graph).fit(blocks_of(X), y)


def test_moons_with_few_rows_in_use(monkeypatch):
    monkeypatch.setattr(limits, "MOST_ROWS", 200)
    X, truth = make_moons(4000, noise=0.1, random_state=0)
    y = np.where(np.arange(4000) < 10, truth, -1)
    model = SemiSupervisedClassifier().fit(lambda: iter([X[:1500], X[1500:]]), y)
    assert np.mean(model.transduction_ == truth) > 0.95
