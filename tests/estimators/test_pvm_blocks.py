"""PVMClassifier and PVMRegressor: blocks of rows, tiles, threads, forms of rows, memory."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from helpers.pvm import MODELS, blobs, cut, decide, every_model
from lapwing import PVMClassifier
from lapwing.estimators import pvm, row_source
from lapwing.spaces import prototypes

# ---------------------------------------------------------------- tiles, threads, blocks


@every_model
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.1])
def test_tiles_and_threads_do_not_matter(model, reg_unlabeled, monkeypatch):
    X, y, _ = blobs(n=500)
    model = clone(model).set_params(n_prototypes=15, reg_unlabeled=reg_unlabeled)
    plain = clone(model).fit(X, y)
    for threads, tile in (("1", 1), ("3", 7), ("8", 64), ("2", 10**6)):
        monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
        monkeypatch.setattr(prototypes, "tile_rows", lambda k, tile=tile: tile)
        monkeypatch.setattr(pvm, "tile_rows", lambda k, tile=tile: tile)
        other = clone(model).fit(X, y)
        np.testing.assert_allclose(decide(other, X), decide(plain, X), atol=1e-10)
        np.testing.assert_array_equal(other.transduction_ == y, plain.transduction_ == y)


@every_model
@settings(max_examples=10)
@given(
    ends=st.lists(st.integers(0, 150), max_size=5),
    bare=st.booleans(),
    sample=st.sampled_from([20_000, 60]),
)
def test_any_cut_gives_the_model_of_all_rows(model, ends, bare, sample):
    X, y, _ = blobs(n=150)
    model = clone(model).set_params(n_prototypes=10, reg_unlabeled=0.01)
    blocks = cut(X, y, sorted(ends))
    if bare:
        blocks = [(A, None if (b == -1).all() else b) for A, b in blocks]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_source, "kmeans_rows", lambda k: sample)
        plain = clone(model).fit(X, y)
        for form in (blocks, lambda: iter(blocks)):
            other = clone(model).fit(form)
            np.testing.assert_allclose(other.prototypes_, plain.prototypes_, rtol=1e-12)
            np.testing.assert_allclose(decide(other, X), decide(plain, X), atol=1e-10)
            np.testing.assert_allclose(other.transduction_, plain.transduction_, atol=1e-10)
            if hasattr(model, "predict_proba"):
                np.testing.assert_allclose(
                    other.predict_proba(X), plain.predict_proba(X), atol=1e-6
                )


def test_a_sample_is_drawn_where_rows_are_many(monkeypatch):
    X, y, _ = blobs(n=500)
    full = PVMClassifier(n_prototypes=10).fit(X, y)
    monkeypatch.setattr(row_source, "kmeans_rows", lambda k: 8 * k)
    seen = []
    plain = pvm.kmeans_landmarks
    monkeypatch.setattr(
        pvm, "kmeans_landmarks", lambda A, *rest: seen.append(A.shape) or plain(A, *rest)
    )
    few = PVMClassifier(n_prototypes=10).fit(X, y)
    assert seen == [(80, 3)]
    assert not np.array_equal(few.prototypes_, full.prototypes_)
    again = PVMClassifier(n_prototypes=10).fit(X, y)
    np.testing.assert_array_equal(again.coef_, few.coef_)
    other = PVMClassifier(n_prototypes=10, random_state=1).fit(X, y)
    assert not np.array_equal(other.prototypes_, few.prototypes_)


def test_a_labelled_row_counts_for_so_many_rows(monkeypatch):
    X, y, _ = blobs(n=500)
    monkeypatch.setattr(row_source, "kmeans_rows", lambda k: 100)
    seen = []
    plain = pvm.kmeans_landmarks
    monkeypatch.setattr(
        pvm, "kmeans_landmarks", lambda A, *rest: seen.append((A, rest[-1])) or plain(A, *rest)
    )
    PVMClassifier(n_prototypes=10, labeled_weight=7.0).fit(X, y)
    [(rows, weights)] = seen
    labelled = (rows[:, None] == X[None, :20]).all(axis=2).any(axis=1)
    assert labelled.sum() == 20
    # A row of the sample of 100 stands for 5 rows, and a labelled one for 7.
    np.testing.assert_allclose(weights[labelled] / weights[~labelled][0], 7.0 / 5.0)
    assert np.ptp(weights[~labelled]) == 0


def test_blocks_are_read_four_times():
    X, y, _ = blobs()
    readings = []

    def blocks():
        readings.append(1)
        yield from cut(X, y, [60, 130])

    model = PVMClassifier(n_prototypes=10).fit(blocks)
    assert len(readings) == 4  # as its documentation says
    model.transduction_  # noqa: B018
    assert len(readings) == 5
    model.transduction_  # noqa: B018
    assert len(readings) == 5


def test_sparse_blocks_and_dense_ones():
    X, y, _ = blobs()
    X[np.abs(X) < 0.5] = 0.0
    model = PVMClassifier(n_prototypes=10)
    plain = clone(model).fit(X, y)
    blocks = cut(X, y, [60, 130])
    forms = [sp.csr_matrix, sp.csr_array, sp.coo_matrix, sp.csc_array]
    for form in forms:
        sparse = clone(model).fit([(form(A), b) for A, b in blocks])
        np.testing.assert_allclose(decide(sparse, X), decide(plain, X), atol=1e-9)
    for which in (0, 1, 2):
        mixed = [(sp.csr_matrix(A) if i == which else A, b) for i, (A, b) in enumerate(blocks)]
        other = clone(model).fit(mixed)
        np.testing.assert_allclose(decide(other, X), decide(plain, X), atol=1e-9)


@pytest.mark.parametrize("kind", ["float64", "Float64", "object"])
def test_blocks_of_tables(kind):
    X, y, _ = blobs()
    plain = PVMClassifier(n_prototypes=10).fit(X, y)
    blocks = [
        (pd.DataFrame(A, columns=["a", "b", "c"]).astype(kind), pd.Series(b))
        for A, b in cut(X, y, [60, 130])
    ]
    model = PVMClassifier(n_prototypes=10).fit(blocks)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = model.decision_function(pd.DataFrame(X, columns=["a", "b", "c"]))
    np.testing.assert_allclose(values, plain.decision_function(X), atol=1e-9)
    swapped = [blocks[0], (blocks[1][0][["b", "a", "c"]], blocks[1][1])]
    with pytest.raises(ValueError, match=r"block 1: .*feature names"):
        PVMClassifier(n_prototypes=10).fit(swapped)


# ---------------------------------------------------------------- forms of rows, memory


@every_model
def test_forms_of_rows(model, tmp_path):
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 2
    X = (rng.integers(0, 60, size=(300, 4)) + 100 * truth[:, None]).astype(float)
    y = np.where(np.arange(300) < 20, truth, -1)
    model = clone(model).set_params(n_prototypes=12)
    plain = clone(model).fit(X, y)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for form, tolerance in (
        (np.asfortranarray(X), 1e-9),
        (mapped, 1e-10),
        (X.astype(np.uint8), 1e-10),
        (X.astype(np.int64), 1e-10),
        (X.tolist(), 1e-10),
        (sp.csr_matrix(X), 1e-7),
        (sp.csr_array(X), 1e-7),
        (sp.csc_matrix(X.astype(np.int32)), 1e-7),
        (X.astype(np.float16), 1e-10),
        (X.astype(np.float32), 1e-3),  # k-means computes in this precision
    ):
        other = clone(model).fit(form, y)
        np.testing.assert_allclose(decide(other, form), decide(plain, X), atol=tolerance)
        np.testing.assert_allclose(decide(plain, form), decide(plain, X), atol=1e-7)
        np.testing.assert_allclose(decide(other, X), decide(plain, X), atol=tolerance)


def test_rows_are_not_changed():
    X, y, _ = blobs()
    X.flags.writeable = y.flags.writeable = False
    X_before = X.copy()
    for model in MODELS:
        clone(model).fit(X, y).add_labels([50], [0])
    np.testing.assert_array_equal(X, X_before)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8])
def test_memory_does_not_grow_with_the_rows(kind, monkeypatch):
    monkeypatch.setattr(row_source, "kmeans_rows", lambda k: 1000)
    monkeypatch.setenv("LAPWING_NUM_THREADS", "1")  # or the peak depends on which tiles overlap
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, size=(60_000, 64)).astype(kind)
    y = np.where(np.arange(60_000) < 20, np.arange(60_000) % 2, -1)
    model = PVMClassifier(n_prototypes=5)

    def peak(n):
        tracemalloc.start()
        try:
            clone(model).fit(X[:n], y[:n])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(20_000)
    few, many = peak(20_000), peak(60_000)
    # Labels, weights and classes found; a row of uint8 has 64 bytes, of float64 512.
    assert many - few < 60 * 40_000
    assert few < 10e6 + 60 * 20_000


@pytest.mark.parametrize("threads", ["1", "2", "16"])
def test_memory_stays_within_its_limit(threads, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
    rng = np.random.default_rng(0)
    for n, d, k in ((3000, 3, 300), (4000, 300, 20)):
        X, y = rng.normal(size=(n, d)), np.where(np.arange(n) < 20, np.arange(n) % 2, -1)
        model = PVMClassifier(n_prototypes=k, reg_unlabeled=0.1)
        tracemalloc.start()
        try:
            clone(model).fit(X, y)
            used = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        with pytest.raises(MemoryError, match="memory_limit allows"):
            model.set_params(memory_limit=used // 3).fit(X, y)


def test_memory_limit():
    X, y, _ = blobs()
    with pytest.raises(
        MemoryError, match=r"60 prototypes .* needs .* memory_limit allows 10 kB: .*"
    ):
        PVMClassifier(n_prototypes=60, memory_limit="10kB").fit(X, y)
    with pytest.raises(MemoryError, match="lower n_prototypes"):
        PVMClassifier(n_prototypes=60, memory_limit="10kB").fit([(X, y)])
    with pytest.raises(ValueError, match="is not a size"):
        PVMClassifier(memory_limit="much").fit(X, y)
    PVMClassifier(n_prototypes=60, memory_limit="1GB").fit(X, y)
