"""Rows in any form give the model of the same rows in one array: blocks, stored arrays, tables."""

import pickle
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import lapwing
from helpers.in_blocks import MODELS, cut, data, same_model
from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    LapRLSClassifier,
    LapSVC,
    NystromLGCClassifier,
    PVMClassifier,
    SemiSupervisedClassifier,
)
from lapwing.arrays.blocks import RowBlocks
from lapwing.arrays.row_collections import Part, RowCollection

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


class Stored:
    """An array as zarr and h5py have them: shape, dtype, chunks and slices of rows."""

    def __init__(self, X, chunks):
        self.X, self.shape, self.dtype, self.chunks = X, X.shape, X.dtype, chunks
        self.read = []

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.read.append(rows)
        return self.X[rows]


@every_model
@pytest.mark.parametrize("ends", [[], [100], [0, 57, 57, 200, 299]])
def test_blocks_with_labels_beside_them_or_inside(model, ends):
    X, y = data(model)
    plain = clone(model).fit(X, y)
    blocks = cut(X, ends)
    for form in (blocks, tuple(blocks), lambda: iter(blocks)):
        same_model(clone(model).fit(form, y), plain, X)
    pairs = list(zip(blocks, cut(y, ends), strict=True))
    for form in (pairs, lambda: iter(pairs)):
        same_model(clone(model).fit(form), plain, X)


@every_model
def test_stored_arrays_are_read_in_whole_chunks(model, monkeypatch):
    X, y = data(model)
    plain = clone(model).fit(X, y)
    monkeypatch.setattr("lapwing.arrays.row_collections._BLOCK_BYTES", 8 * X.shape[1] * 70)
    for chunks, length in (((32, 2), 64), ((100, 1), 100), (None, 70)):
        stored = Stored(X, chunks)
        found = clone(model).fit(stored, y)
        same_model(found, plain, X)
        assert all(rows.stop - rows.start == length for rows in stored.read)
        np.testing.assert_allclose(found.predict(stored), found.predict(X), atol=1e-12)


class Slices:
    """Rows with a shape and slices, and nothing else."""

    def __init__(self, X):
        self._X, self.shape, self.lengths = X, X.shape, []

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        found = self._X[rows]
        self.lengths.append(found.shape[0])
        return found


class SlicesOfKnownLength(Slices):
    """They might be taken for a sequence of rows."""

    def __len__(self):
        return self.shape[0]


class TypedSlices(Slices):
    """The type is that of another library."""

    dtype = "double"


@pytest.mark.parametrize("kind", [Slices, SlicesOfKnownLength, TypedSlices])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
def test_shape_and_slices_are_enough(kind, form, monkeypatch):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    X = form(X)
    plain = clone(model).fit(X, y)
    monkeypatch.setattr("lapwing.arrays.row_collections._BLOCK_BYTES", X.dtype.itemsize * 4 * 70)
    stored = kind(X)
    found = clone(model).fit(stored, y)
    assert max(stored.lengths) == 70
    np.testing.assert_allclose(found.predict(stored), plain.predict(X), atol=1e-5)
    np.testing.assert_allclose(found.coef_, plain.coef_, rtol=1e-4)
    same = LapRLSClassifier().fit(kind(X), y)  # gathered
    np.testing.assert_array_equal(same.predict(kind(X)), LapRLSClassifier().fit(X, y).predict(X))


class InMemory(Slices):
    """What other libraries call an array or tensor."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._X, dtype=dtype)


@pytest.mark.parametrize("form", [InMemory, memoryview])
def test_arrays_of_other_libraries_are_rows_in_memory(form):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    found = clone(model).fit(form(X), y)
    np.testing.assert_array_equal(found.coef_, clone(model).fit(X, y).coef_)
    found.add_labels([50], y[:1])  # which blocks do not allow


@every_model
def test_labels_as_a_column(model):
    X, y = data(model)
    plain = clone(model).fit(X, y)
    names = [f"column {i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    frame.insert(1, "label", y)
    weights = np.where(np.arange(len(y)) < 5, 2.0, 1.0)
    weighted = clone(model).fit(X, y, weights)
    found = clone(model).fit(frame, "label")
    same_model(found, plain, X)
    assert list(found.feature_names_in_) == names
    # With the column of labels or without it.
    np.testing.assert_array_equal(found.predict(frame), found.predict(frame[names]))
    found = clone(model).fit(frame.assign(w=weights), "label", sample_weight="w")
    same_model(found, weighted, X)
    with pytest.raises(ValueError, match=r"X has no column 'lable'.*'label'"):
        clone(model).fit(frame, "lable")
    with pytest.raises(TypeError, match="'label' cannot be the name of a column"):
        clone(model).fit(X, "label")


@every_model
def test_weights_of_blocks(model):
    X, y = data(model)
    weights = np.ones(len(y))
    weights[np.flatnonzero(y >= 0)[:5]] = 3.0
    plain = clone(model).fit(X, y, weights)
    same_model(clone(model).fit(cut(X, [120]), y, weights), plain, X)
    with pytest.raises(ValueError, match="X has 300 rows and sample_weight has shape"):
        clone(model).fit(cut(X, [120]), y, weights[:9])
    with pytest.raises(ValueError, match="not be negative"):
        clone(model).fit(cut(X, [120]), y, -weights)


@every_model
def test_predictions_in_blocks(model):
    X, y = data(model)
    fitted = clone(model).fit(X, y)
    for name in ("predict", "decision_function", "predict_proba"):
        if not hasattr(fitted, name):
            continue
        expected = getattr(fitted, name)(X)
        for form in (cut(X, [0, 100, 100]), lambda: iter(cut(X, [1]))):
            found = getattr(fitted, name)(form)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, atol=1e-12)


@every_model
def test_a_model_of_blocks_is_an_ordinary_one(model, tmp_path):
    X, y = data(model)
    fitted = clone(model).fit(cut(X, [120]), y)
    assert fitted.transduction_.shape == y.shape
    for again in (
        pickle.loads(pickle.dumps(fitted)),
        lapwing.load(
            lapwing.save(fitted, tmp_path / "model.lapwing") or tmp_path / "model.lapwing"
        ),
    ):
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    never_asked = clone(model).fit(cut(X, [120]), y)
    again = pickle.loads(pickle.dumps(never_asked))
    with pytest.raises(AttributeError, match="not kept: predict these rows"):
        again.transduction_  # noqa: B018
    for one in (fitted, again):
        with pytest.raises(ValueError, match=r"came in blocks, .* fit again with the new labels"):
            one.add_labels([50], y[:1])
    # A later fit to rows in memory is as any other.
    same_model(fitted.fit(X, y), clone(model).fit(X, y), X)
    fitted.add_labels([50], y[:1])


@every_model
def test_a_failed_fit_changes_nothing(model):
    X, y = data(model)
    fitted = clone(model).fit(X, y)
    before = fitted.predict(X)
    broken = X.copy()
    broken[250, 0] = np.nan
    for form in (np.asarray, pd.DataFrame, sp.csr_matrix):
        if form is sp.csr_matrix and isinstance(model, EigenfunctionClassifier):
            continue
        with pytest.raises(ValueError, match=r"block 1, row 130, column 0: .*NaN"):
            fitted.fit([form(block) for block in cut(broken, [120])], y)
    np.testing.assert_array_equal(fitted.predict(X), before)


@every_model
def test_errors_of_predictions_name_the_block(model):
    X, y = data(model)
    fitted = clone(model).fit(X, y)
    broken = X.copy()
    broken[250, 2] = np.inf
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(fitted, name):
            with pytest.raises(ValueError, match=r"^block 1, row 130, column 2: .*infinity"):
                getattr(fitted, name)(cut(broken, [120]))
    with pytest.raises(ValueError, match=r"^block 1: X has 2 features.* expecting 4"):
        fitted.predict([X[:120], X[120:, :2]])
    for rows in (broken, X[:, :2]):  # in memory there are none
        with pytest.raises(ValueError, match=r"^(Input X|X has 2 features)"):
            fitted.predict(rows)


def test_rows_and_columns_are_named_for_values_that_are_not_finite_alone():
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    broken = X.copy()
    broken[250, 2] = np.nan
    weights = np.ones(len(y))
    weights[299] = np.inf
    with pytest.raises(ValueError, match=r"^block 1, row 130, column 2: Input X contains NaN"):
        clone(model).fit([X[:120], broken[120:]], y)
    with pytest.raises(ValueError, match=r"^block 1: X has 3 features"):
        clone(model).fit([X[:120], X[120:, :3]], y)
    with pytest.raises(ValueError, match=r"^block 1: X has 180 rows and y has 170"):
        clone(model).fit([(X[:120], y[:120]), (X[120:], y[130:])])
    blocks = [Part(X[:120], y[:120], weights[:120]), Part(broken[120:], y[120:], weights[120:])]
    blocks[1].X[130] = 0.0
    with pytest.raises(ValueError, match=r"^block 1: sample_weight must hold one finite number"):
        clone(model).fit(RowCollection(RowBlocks(lambda: blocks)))
    broken[250, 2] = np.nan
    frames = [pd.DataFrame(X[:120], columns=list("abcd"))]
    frames += [pd.DataFrame(broken[120:], columns=list("abdc"))]
    with pytest.raises(ValueError, match=r"^block 1: The feature names"):
        clone(model).fit(frames, y)


def test_weights_of_blocks_of_which_some_have_labels():
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    y[150:] = -1
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    parts = [Part(X[:150], y[:150], weights[:150]), Part(X[150:], None, weights[150:])]
    found = clone(model).fit(RowCollection(RowBlocks(lambda: parts)))
    same_model(found, clone(model).fit(X, y, weights), X)
    parts[1] = Part(X[150:])
    with pytest.raises(ValueError, match="some blocks have weights and others have none"):
        clone(model).fit(RowCollection(RowBlocks(lambda: parts)))
    weights[200] = np.nan
    with pytest.raises(ValueError, match="sample_weight must hold one finite number per row"):
        clone(model).fit(cut(X, [120]), y, weights)


@pytest.mark.parametrize("model", [SemiSupervisedClassifier(), S3VC()], ids=["default", "S3VC"])
def test_callbacks_are_not_copied(model):
    class Bar:
        def __init__(self):
            self.lock, self.calls = threading.Lock(), 0

        def update(self, *what):
            self.calls += 1

    X, y = data(model)
    bar = Bar()
    fitted = clone(model).set_params().fit(cut(X, [120]), y)
    fitted.set_params(callback=bar.update).fit(cut(X, [120]), y)
    assert bar.calls
    np.testing.assert_array_equal(fitted.predict(cut(X, [50])), fitted.predict(X))


def test_estimators_that_need_all_rows_gather_blocks():
    X, y = data(PVMClassifier())
    plain = LapRLSClassifier().fit(X, y)
    found = LapRLSClassifier().fit(cut(X, [0, 120]), y)
    np.testing.assert_array_equal(found.decision_function(X), plain.decision_function(X))
    pairs = list(zip(cut(X, [120]), cut(y, [120]), strict=True))
    found = LapRLSClassifier().fit(pairs)
    np.testing.assert_array_equal(found.decision_function(X), plain.decision_function(X))
    frames = [pd.DataFrame(block, columns=list("abcd")) for block in cut(X, [120])]
    found = LapRLSClassifier().fit(frames, y)
    assert list(found.feature_names_in_) == list("abcd")
    found = LapRLSClassifier().fit(lambda: (sp.csr_matrix(block) for block in cut(X, [120])), y)
    np.testing.assert_allclose(
        found.decision_function(sp.csr_matrix(X)), plain.decision_function(X), atol=1e-7
    )
    with pytest.raises(MemoryError, match=r"reading the rows for LapSVC .*PVMClassifier"):
        LapSVC(memory_limit="2kB").fit(cut(X, [120]), y)


COUNTED = {
    **MODELS,
    "AnchorGraphClassifier without shares": AnchorGraphClassifier(20),
    "PVMClassifier shares": PVMClassifier(n_prototypes=20, class_shares="labels"),
    "EigenfunctionClassifier without shares": EigenfunctionClassifier(),
    "NystromLGCClassifier without shares": NystromLGCClassifier(n_landmarks=20),
    "S3VC shares": S3VC(class_shares="labels"),
    "default": SemiSupervisedClassifier(method="supervised"),
}


@pytest.mark.parametrize("model", COUNTED.values(), ids=COUNTED)
def test_passes_are_the_readings_of_all_blocks(model):
    X, y = data(model)
    readings = []

    def blocks():
        readings.append(1)
        return iter(cut(X, [120]))

    found = clone(model).fit(blocks, y)
    assert found.result_.passes == len(readings)


def test_passes_over_counts_of_words():
    rng = np.random.default_rng(0)
    X, y = sp.csr_matrix(rng.poisson(0.5, size=(200, 30)).astype(float)), np.arange(200) % 2
    readings = []

    def blocks():
        readings.append(1)
        return iter([X[:90], X[90:]])

    found = SemiSupervisedClassifier(method="supervised").fit(blocks, np.where(y < 3, y, -1))
    assert found.result_.passes == len(readings) == 3


def test_an_empty_list_has_no_blocks():
    model, (X, y) = MODELS["PVMClassifier"], data(MODELS["PVMClassifier"])
    fitted = clone(model).fit(X, y)
    for call in (lambda: clone(model).fit([], []), lambda: fitted.predict([])):
        with pytest.raises(ValueError, match="X is an empty list, without blocks or rows"):
            call()


def test_complex_numbers_are_refused_without_the_array():
    model, (X, y) = MODELS["PVMClassifier"], data(MODELS["PVMClassifier"])
    for rows in (X + 1j, cut(X + 1j, [120]), [pd.DataFrame(X + 1j)]):
        with pytest.raises(ValueError, match="Complex data not supported: pass real") as caught:
            clone(model).fit(rows, y)
        assert len(str(caught.value)) < 120


def test_dask_is_not_gathered_silently():
    da = pytest.importorskip("dask.array")
    X, y = data(PVMClassifier())
    lazy = da.from_array(X, chunks=(100, -1))
    with pytest.raises(TypeError, match=r"LapSVC needs all rows in memory.*PVMClassifier"):
        LapSVC().fit(lazy, y)
    with pytest.raises(TypeError, match="Dask collection"):
        KNNGraph().fit(lazy)
    with pytest.raises(TypeError, match="y or sample_weight is a Dask collection and X is not"):
        PVMClassifier().fit(X, da.from_array(y))
    fitted = PVMClassifier(n_prototypes=20).fit(X, y)
    for rows in (lazy, cut(X, [100])):
        with pytest.raises(TypeError, match=r"score takes rows in memory.*predict"):
            fitted.score(rows, y)
