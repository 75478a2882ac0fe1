"""Dask collections: the model of the same rows in memory, lazy predictions, workers that fail."""

import contextlib
import os
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from helpers.in_blocks import MODELS, cut, data, same_model
from lapwing import PVMClassifier
from lapwing.arrays import dask_blocks
from lapwing.arrays.threads import map_blocks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytest.importorskip("dask.bag")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
NAMES = list("abcd")


@pytest.fixture(autouse=True)
def one_process(request):
    """Without a cluster, tasks run in the calling thread."""
    if {"cluster", "strict_cluster"} & set(request.fixturenames):
        yield
        return
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=None,
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


def frame_of(X, y):
    return pd.DataFrame(X, columns=NAMES).assign(label=y)


# ---------------------------------------------------------------- the same model


@every_model
@pytest.mark.parametrize("n_partitions", [1, 2, 7])
def test_any_number_of_partitions(model, n_partitions):
    X, y = data(model)
    plain = clone(model).fit(X, y)
    rows = -(-len(X) // n_partitions)
    lazy, labels = da.from_array(X, chunks=(rows, 3)), da.from_array(y, chunks=rows)
    found = clone(model).fit(lazy, labels)
    same_model(found, plain, X)
    again = clone(model).fit(lazy, labels)
    np.testing.assert_array_equal(again.predictor_.values(X), found.predictor_.values(X))
    same_model(clone(model).fit(lazy, y), plain, X)  # labels in memory
    frame = dd.from_pandas(frame_of(X, y), npartitions=n_partitions)
    found = clone(model).fit(frame, "label")
    same_model(found, plain, X)
    assert list(found.feature_names_in_) == NAMES


def odd_collections(X, y):
    frame = frame_of(X, y)
    lazy = da.from_array(X, chunks=((100, 100, 100), (2, 2)))
    labels = da.from_array(y, chunks=(100,))
    keep = lazy[:, 0] > -np.inf
    parts = [dask.delayed(block) for block in cut(frame, [0, 120, 120])]
    arrow = frame.astype("float64[pyarrow]")
    return {
        "unknown chunk sizes": (lazy[keep], labels[keep]),
        "chunks along columns": (da.from_array(X, chunks=(60, 1)), y),
        "labels in other chunks": (lazy, da.from_array(y, chunks=(70,))),
        "a series of labels": (dd.from_pandas(frame[NAMES], 3), dd.from_pandas(frame["label"], 3)),
        "empty partitions": (dd.from_delayed(parts, meta=frame), "label"),
        "Arrow-backed": (dd.from_pandas(arrow, npartitions=3), "label"),
        "labels that are floats": (lazy, labels.astype(float)),
        "sparse": (lazy.map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, 0))), labels),
    }


@pytest.mark.parametrize("kind", odd_collections(*data(PVMClassifier())))
def test_odd_collections(kind):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    form = sp.csr_matrix if kind == "sparse" else np.asarray
    lazy, labels = odd_collections(X, y)[kind]
    if kind in ("Arrow-backed", "labels that are floats"):
        y = y.astype(float)
    same_model(clone(model).fit(lazy, labels), clone(model).fit(form(X), y), form(X))


def test_files(tmp_path):
    """Dask reads small files together, and decides so by the columns that are read."""
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    for i, part in enumerate(cut(frame_of(X, y), [50, 100, 150, 200, 250])):
        part.to_parquet(tmp_path / f"{i}.parquet", index=False)
    plain = clone(model).fit(X, y)
    frame = dd.read_parquet(tmp_path)
    assert frame.npartitions > 1
    found = clone(model).fit(frame, "label")
    same_model(found, plain, X)
    same_model(clone(model).fit(frame[NAMES], frame["label"]), plain, X)
    frame["found"] = found.predict(frame)
    np.testing.assert_array_equal(frame["found"].compute(), plain.predict(X))


def test_weights():
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    weights = np.where(np.arange(300) < 5, 3.0, 1.0)
    plain = clone(model).fit(X, y, weights)
    lazy, labels = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    for given in (weights, da.from_array(weights, chunks=100), da.from_array(weights, chunks=50)):
        same_model(clone(model).fit(lazy, labels, given), plain, X)
    frame = dd.from_pandas(frame_of(X, y).assign(w=weights), npartitions=3)
    found = clone(model).fit(frame, "label", "w")
    same_model(found, plain, X)
    np.testing.assert_array_equal(found.predict(frame).compute(), found.predict(X))


# ---------------------------------------------------------------- predictions


@every_model
def test_predictions_are_lazy(model):
    X, y = data(model)
    fitted = clone(model).fit(X, y)
    lazy = da.from_array(X, chunks=(100, 2))
    frame = dd.from_pandas(frame_of(X, y), npartitions=3)
    by_label = clone(model).fit(frame, "label")
    for one, rows, known in ((fitted, lazy, True), (by_label, frame, False)):
        for name in ("predict", "predict_proba", "decision_function"):
            if not hasattr(one, name):
                continue
            found, expected = getattr(one, name)(rows), getattr(one, name)(X)
            assert isinstance(found, da.Array)
            assert found.dtype == expected.dtype
            assert found.ndim == expected.ndim
            assert found.shape[1:] == expected.shape[1:]
            assert (found.shape == expected.shape) == known
            np.testing.assert_allclose(found.compute(), expected, atol=1e-12)
        transduction = clone(one).fit(lazy, y).transduction_
        assert isinstance(transduction, da.Array)
        assert transduction.shape == (300,)
    frame["found"] = by_label.predict(frame)
    np.testing.assert_allclose(frame["found"].compute(), by_label.predict(X), atol=1e-12)


def test_what_is_sent_for_predictions_is_small():
    X, y = data(PVMClassifier(), n=20_000)
    fitted = PVMClassifier(n_prototypes=20).fit(X, y)
    from distributed.protocol.pickle import dumps

    assert len(dumps(fitted._for_prediction())) < 20_000
    streamed = PVMClassifier(n_prototypes=20).fit([X[:9000], X[9000:]], y)
    assert streamed.transduction_.shape == (20_000,)  # kept once it was asked for
    assert len(dumps(streamed._for_prediction())) < 20_000
    assert fitted.transduction_.shape == (20_000,)  # nothing was removed from the model itself


# ---------------------------------------------------------------- errors


def test_errors_name_the_partition():
    model = PVMClassifier(n_prototypes=20)
    X, y = data(model)
    broken = X.copy()
    broken[150, 2] = np.nan
    with pytest.raises(ValueError, match=r"partition 1, row 50, column 2: .*NaN"):
        model.fit(da.from_array(broken, chunks=(100, -1)), y)
    with pytest.raises(ValueError, match=r"partition 1, row 50, column '.': .*NaN"):
        model.fit(dd.from_pandas(frame_of(broken, y), npartitions=3), "label")
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=r"^partition 1, row 50, column 2: .*NaN"):
        fitted.predict(da.from_array(broken, chunks=(100, -1))).compute()
    text = frame_of(X, y).assign(colour="red")
    with pytest.raises(ValueError, match="column 'colour' of the Dask dataframe holds"):
        model.fit(dd.from_pandas(text, npartitions=3), "label")
    with pytest.raises(ValueError, match="no column 'lable'"):
        model.fit(dd.from_pandas(frame_of(X, y), npartitions=3), "lable")
    lazy = da.from_array(X, chunks=(100, -1))
    with pytest.raises(ValueError, match=r"partition \d: Complex data not supported: pass real"):
        model.fit(lazy.astype(complex), y)
    with pytest.raises(ValueError, match="3 partitions, and its labels or weights have 2"):
        model.fit(lazy[lazy[:, 0] > -np.inf], da.from_array(y, chunks=150))
    with pytest.raises(ValueError, match="X has 300 rows and y has 200"):
        model.fit(lazy, y[:200])
    with pytest.raises(ValueError, match="X must have rows and columns, and has 1 dim"):
        model.fit(lazy[:, 0], y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(lazy)
    with pytest.raises(ValueError, match=r"number of columns .* is not known"):
        model.fit(lazy[:, lazy[0] > -np.inf], y)


def test_rows_and_labels_must_belong_together():
    model = PVMClassifier(n_prototypes=20)
    X, y = data(model)
    frame = frame_of(X, y)
    shuffled = frame["label"].sample(frac=1.0, random_state=0)
    labels = dd.from_pandas(shuffled, npartitions=3, sort=False)
    with pytest.raises(ValueError, match=r"partition 0: .*different indices|different indices"):
        model.fit(dd.from_pandas(frame[NAMES], npartitions=3), labels)
    lazy = da.from_array(X, chunks=(100, -1))
    for arguments in ((lazy, "label"), (lazy, y, "w")):
        with pytest.raises(TypeError, match="cannot be the name of a column"):
            model.fit(*arguments)
    for wrong in (dask.delayed(X), dask.bag.from_sequence(X.tolist())):
        with pytest.raises(TypeError, match="pass a Dask array or dataframe"):
            model.fit(wrong, y)
    with pytest.raises(TypeError, match=r"dask\.array\.concatenate"):
        model.fit([lazy, lazy], y)


@pytest.mark.parametrize("name", ["PVMClassifier", "EigenfunctionClassifier", "NFIClassifier"])
def test_partitions_that_change_are_refused(name):
    X, y = data(MODELS[name])
    calls = []

    def fewer(part):
        calls.append(1)
        return part[: len(part) - len(calls) % 7]

    frame = frame_of(X, y)
    lazy = dd.from_pandas(frame, npartitions=3).map_partitions(fewer, meta=frame.iloc[:0])
    with pytest.raises(ValueError, match=r"partition \d was not the same when it was read again"):
        clone(MODELS[name]).fit(lazy, "label")


def test_partitions_that_change_after_the_fit_are_refused():
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    lost = []
    lazy = da.from_array(X, chunks=(100, -1)).map_blocks(
        lambda block: block[len(lost) :], meta=np.zeros((0, 4))
    )
    labels = clone(model).fit(lazy, y).transduction_
    assert labels.compute().shape == (300,)
    lost.append("a row")
    with pytest.raises(ValueError, match=r"partition \d was not the same when it was read again"):
        labels.compute()


def test_columns_of_predictions_are_checked_before_anything_is_computed():
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    frame = frame_of(X, y)
    fitted = clone(model).fit(dd.from_pandas(frame, npartitions=3), "label")
    other = frame[["d", "a", "label", "c", "b"]].assign(note="text")
    found = fitted.predict(dd.from_pandas(other, npartitions=2))
    np.testing.assert_array_equal(found.compute(), fitted.predict(X))
    with pytest.raises(ValueError, match="has no column 'b'"):
        fitted.predict(dd.from_pandas(frame[["a", "c", "d"]], npartitions=2))
    with pytest.raises(ValueError, match="X has 3 features, but PVMClassifier is expecting 4"):
        fitted.predict(da.from_array(X[:, :3]))


# ---------------------------------------------------------------- threads


def test_tasks_use_one_thread(monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "4")
    X, _ = data(PVMClassifier())
    seen = set()

    def watch(block):
        seen.update(map_blocks(lambda _: threading.get_ident(), range(8)))
        return block

    with dask.config.set(scheduler="threads", num_workers=2):
        lazy = da.from_array(X, chunks=(100, -1))
        blocks = dask_blocks.dask_parts(lazy, None, None)[0]
        blocks.each("watching", lambda number, part: watch(part))
    assert threading.get_ident() not in seen
    assert len(seen) <= 2
    assert (
        len(set(map_blocks(lambda _: (time.sleep(0.01), threading.get_ident())[1], range(8)))) > 1
    )


# ---------------------------------------------------------------- a cluster


@every_model
def test_a_cluster_gives_the_same_model(cluster, model):
    X, y = data(model)
    plain = clone(model).fit(X, y)
    lazy, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)
    found = clone(model).fit(lazy, labels)
    same_model(found, plain, X)
    np.testing.assert_allclose(found.predict(lazy).compute(), plain.predict(X), atol=1e-10)


def test_an_error_of_a_task_is_raised_soon(cluster):
    X, y = data(PVMClassifier())

    def broken(block):
        raise OSError("the disk is gone")

    lazy = da.from_array(X, chunks=(100, -1)).map_blocks(broken, meta=np.zeros((0, 4)))
    started = time.perf_counter()
    with pytest.raises(OSError, match="the disk is gone"):
        PVMClassifier().fit(lazy, y)
    assert time.perf_counter() - started < 20


def test_a_timeout_of_a_task_is_its_own_error(cluster):
    X, y = data(PVMClassifier())

    def silent(block):
        raise TimeoutError("the store did not answer")

    lazy = da.from_array(X, chunks=(100, -1)).map_blocks(silent, meta=np.zeros((0, 4)))
    with pytest.raises(TimeoutError, match="the store did not answer"):
        PVMClassifier().fit(lazy, y)


def test_a_pass_has_a_time_limit(cluster):
    X, y = data(PVMClassifier())

    def slow(block):
        time.sleep(5)
        return block

    lazy = da.from_array(X, chunks=(100, -1)).map_blocks(slow, meta=np.zeros((0, 4)))
    with (
        dask.config.set({"lapwing.timeout": "300 ms"}),
        pytest.raises(TimeoutError, match=r"'reading the partitions' over 3 .* after 300 ms"),
    ):
        PVMClassifier().fit(lazy, y)


def test_a_killed_worker_costs_time_only(cluster, tmp_path):
    """A worker dies in the middle of the second pass; the model is that of an undisturbed fit."""
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    plain = clone(model).fit(X, y)

    def fatal(block, fifteenth=14):
        for call in range(fifteenth + 2):
            with contextlib.suppress(FileExistsError):
                (tmp_path / str(call)).touch(exist_ok=False)
                if call == fifteenth:
                    os.kill(os.getpid(), signal.SIGKILL)
                break
        return block

    lazy = da.from_array(X, chunks=(30, -1)).map_blocks(fatal, meta=np.zeros((0, 4)))
    before = set(cluster.run(os.getpid).values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = clone(model).fit(lazy, y)
    cluster.wait_for_workers(2, timeout=60)
    assert len(before & set(cluster.run(os.getpid).values())) == 1
    same_model(found, plain, X)


@pytest.fixture
def strict_cluster():
    """One worker, and a scheduler that gives up a task whose worker has died."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


def test_a_partition_that_kills_its_workers_ends_the_fit(strict_cluster):
    """Dask tries it on several workers by default, and it is not tried again after that."""
    X, y = data(PVMClassifier())
    lazy = da.from_array(X, chunks=(100, -1)).map_blocks(_die, meta=np.zeros((0, 4)))
    message = r"'reading the partitions' over 3 .* in 1 attempt, .* give workers more memory or"
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of a repetition
        with pytest.raises(OSError, match=message) as caught:
            PVMClassifier().fit(lazy, y)
    assert isinstance(caught.value.__cause__, distributed.KilledWorker)


def _die(block):
    os._exit(1)


def test_results_that_are_lost_again_and_again_end_the_fit(monkeypatch):
    class Future:
        status = "cancelled"

        def result(self, timeout):
            raise distributed.client.FutureCancelledError("sum-1", "unknown")

        def cancel(self):
            pass

    class Client:
        def compute(self, result):
            return Future()

    monkeypatch.setattr(dask_blocks, "_active_client", Client)
    X, y = data(PVMClassifier())
    with (
        pytest.warns(UserWarning, match="which is repeated") as found,
        pytest.raises(OSError, match=r"in 3 attempts, .* make partitions smaller") as caught,
    ):
        PVMClassifier().fit(da.from_array(X, chunks=(100, -1)), y)
    assert len(found) == 2
    assert isinstance(caught.value.__cause__, distributed.client.FutureCancelledError)


def test_the_client_does_not_see_the_rows(cluster):
    """What reaches the client does not grow with the rows, nor does what a pass sends."""
    model = PVMClassifier(n_prototypes=10)
    sizes = []
    for n in (2_000, 40_000):
        X, y = data(model, n)
        lazy = da.from_array(X, chunks=(n // 4, -1)).persist()
        labels = da.from_array(y, chunks=n // 4).persist()
        distributed.wait([lazy, labels])
        import tracemalloc

        tracemalloc.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("lapwing.estimators.row_source.kmeans_rows", lambda m: 500)
            clone(model).fit(lazy, labels)
        sizes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert sizes[1] < sizes[0] + 400_000  # an array of n numbers would have 320 kB, the rows 1.3 MB


def test_no_cluster_is_started(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a cluster was started")

    monkeypatch.setattr(distributed.LocalCluster, "__init__", refuse)
    monkeypatch.setattr(distributed.Client, "__init__", refuse)
    X, y = data(PVMClassifier())
    with dask.config.set(scheduler="threads"):
        PVMClassifier(n_prototypes=10).fit(da.from_array(X, chunks=(100, -1)), y)
