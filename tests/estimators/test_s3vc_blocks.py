"""S3VC with rows in blocks: the same model as in memory, in few passes and little memory."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from helpers import data
from helpers.data import fit_quietly
from lapwing import S3VC
from lapwing.estimators import block_features
from lapwing.solvers import line_ahead
from lapwing.spaces import feature_blocks

#: Relative difference of coefficients from those of a fit in memory; 1e-12 was the most that 18
#: data sets have shown.
EQUAL = 1e-10


def blobs(n=300, n_classes=2, n_labelled=24, gap=2.0, seed=0):
    """Rows with labels at random places."""
    X, y, _ = data.blobs(n, n_classes, n_labelled, d=6, gap=gap, seed=seed)
    order = np.random.default_rng(seed).permutation(n)
    return X[order], y[order]


def cut(X, y=None, ends=(0, 70, 70, 100, 299)):
    """Blocks of rows, one of them empty, one of one row, with their labels if there are any."""
    bounds = [*ends, X.shape[0]]
    parts = [slice(a, b) for a, b in zip([0, *bounds[:-1]], bounds, strict=True)]
    return [X[part] if y is None else (X[part], y[part]) for part in parts]


def assert_same(model, plain, X):
    """Compare a fit to rows in blocks with one in memory."""
    scale = np.abs(plain.coef_).max()
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=0, atol=EQUAL * scale)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=0, atol=EQUAL * scale)
    np.testing.assert_allclose(model.temperature_, plain.temperature_, rtol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-7)
    found, expected = np.asarray(model.transduction_), plain.transduction_
    np.testing.assert_array_equal(found[~tied(plain, X)], expected[~tied(plain, X)])
    assert model.result_.message == plain.result_.message
    assert model.n_iter_ == plain.n_iter_


def tied(model, X):
    """Rows whose two largest values are equal up to rounding, as fixed means may make them."""
    values = model.decision_function(X)
    two = np.sort(values, axis=1)[:, -2:] if values.ndim == 2 else np.stack([values, -values], 1)
    return np.abs(two[:, 0] - two[:, 1]) <= EQUAL * np.abs(values).max()


# ---------------------------------------------------------------- the model of all rows


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("folds", [0, 3])
@pytest.mark.parametrize("form", ["list", "function", "pairs", "csr", "mixed"])
def test_any_form_gives_the_model_in_memory(n_classes, folds, form):
    X, y = blobs(n_classes=n_classes)
    if form == "csr":
        X = sp.csr_matrix(np.where(X > 0.5, X, 0.0))
    model = S3VC(calibration_folds=folds)
    plain = fit_quietly(model, X, y)
    given = {
        "list": (cut(X), y),
        "function": (lambda: iter(cut(X)), y),
        "pairs": (cut(X, y), None),
        "csr": (cut(X), y),
        "mixed": ([sp.csr_matrix(X[:120]), pd.DataFrame(X[120:]).to_numpy()], y),
    }
    assert_same(fit_quietly(S3VC(calibration_folds=folds), *given[form]), plain, X)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "cosine"},
        {"positive_ratio": None},
        {"positive_ratio": 0.4},
        {"fit_intercept": False},
        {"fit_intercept": False, "positive_ratio": None},
        {"class_weight": "balanced"},
        {"class_shares": {0: 0.4, 1: 0.6}},
        {"class_shares": "labels", "calibration_folds": 0},
        {"annealing": (0.1, 1.0), "reg_unlabeled": 0.3, "surrogate_gamma": 5.0},
        {"reg_unlabeled": 0.0},
        {"reg_unlabeled": 0.0, "positive_ratio": None, "fit_intercept": False},
        {"tol": 1e-6, "max_iter": 500, "reg": 1e-3},
    ],
)
def test_parameters_mean_the_same(options):
    X, y = blobs(gap=1.5)
    plain = fit_quietly(S3VC(**options), X, y)
    model = fit_quietly(S3VC(**options), cut(X), y)
    assert_same(model, plain, X)
    np.testing.assert_allclose(model.class_offsets_, plain.class_offsets_, atol=1e-9)
    for one, other in zip(model.result_.history, plain.result_.history, strict=True):
        assert one["objective"] == pytest.approx(other["objective"], rel=1e-10)
        for name in ("stage", "evaluations", "moved", "iteration"):
            assert one[name] == other[name]


def test_one_label_of_each_class():
    X, y = blobs(n_classes=4, n_labelled=4)
    assert_same(fit_quietly(S3VC(), cut(X), y), fit_quietly(S3VC(), X, y), X)


def test_all_rows_labelled():
    X, y = blobs(n=60, n_labelled=60)
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        model = S3VC().fit([X[:20], X[20:]], y)
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        assert_same(model, S3VC().fit(X, y), X)


@pytest.mark.parametrize("n_unlabelled", [1, 5, 149, 150, 151])
@pytest.mark.parametrize("class_shares", [None, "labels"])
def test_few_unlabelled_rows(n_unlabelled, class_shares):
    X, y = blobs(n_classes=3, n_labelled=300 - n_unlabelled)
    model = S3VC(reg_unlabeled=100.0, calibration_folds=0, class_shares=class_shares)
    plain = fit_quietly(clone(model), X, y)
    found = fit_quietly(model, cut(X), y)
    assert_same(found, plain, X)
    assert not hasattr(found, "X_fit_")
    # If at least half of the rows are labelled, one pass checks them and another one reads all.
    assert (found.result_.passes == 2) == (n_unlabelled <= 150)


def test_integers_single_precision_and_a_distant_origin():
    X, y = blobs()
    for rows in (np.rint(3 * X).astype(np.int32), X.astype(np.float32), X + 1e5):
        plain = fit_quietly(S3VC(), rows, y)
        model = fit_quietly(S3VC(), cut(rows), y)
        np.testing.assert_array_equal(model.transduction_, plain.transduction_)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-8)


def test_nearly_all_rows_in_one_class_is_reported():
    X, y = blobs(n_labelled=6, gap=1.0)
    options = {"positive_ratio": None, "calibration_folds": 0, "reg": 1.0}
    with pytest.warns(UserWarning, match="a degenerate minimum") as in_memory:
        S3VC(**options).fit(X, y)
    with pytest.warns(UserWarning, match="a degenerate minimum") as in_blocks:
        S3VC(**options).fit(cut(X), y)
    assert [str(w.message) for w in in_blocks] == [str(w.message) for w in in_memory]


# ---------------------------------------------------------------- landmarks


@pytest.mark.parametrize("landmarks", ["random", "kmeans"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_landmarks_are_those_of_a_fit_in_memory(landmarks, kernel, form):
    X, y = blobs(n_classes=3)
    if form == "csr":
        X = sp.csr_matrix(np.where(X > 0.5, X, 0.0))
    options = {"kernel": kernel, "n_landmarks": 12, "landmarks": landmarks, "reg": 0.1}
    plain = fit_quietly(S3VC(**options), X, y)
    model = fit_quietly(S3VC(**options), cut(X), y)
    expected = plain.decision_function(X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-8 * scale)
    np.testing.assert_array_equal(model.transduction_, plain.transduction_)
    np.testing.assert_allclose(model.temperature_, plain.temperature_, rtol=1e-6)
    assert model.landmarks_.shape == (12, 6)
    assert model.n_iter_ == plain.n_iter_


def test_more_landmarks_than_rows_are_refused():
    X, y = blobs()
    with pytest.raises(ValueError, match="at most as many landmarks"):
        S3VC(kernel="rbf", n_landmarks=301).fit(cut(X), y)


def test_widths_of_a_sample_are_close_to_those_of_all_rows(monkeypatch):
    X, y = blobs(n=2000)
    monkeypatch.setattr(block_features, "kmeans_rows", lambda m: 400)
    options = {"kernel": "rbf", "n_landmarks": 30}
    plain, model = S3VC(**options).fit(X, y), S3VC(**options).fit([X[:900], X[900:]], y)
    assert model.kernel_.gamma == pytest.approx(plain.kernel_.gamma, rel=0.1)
    assert model.kernel_.gamma != plain.kernel_.gamma
    assert np.mean(model.transduction_ == plain.transduction_) > 0.97


# ---------------------------------------------------------------- Dask


@pytest.mark.parametrize(  # all pairs of values
    ("form", "n_partitions", "n_classes"),
    [
        ("array", 1, 2),
        ("array", 7, 4),
        ("csr", 1, 4),
        ("csr", 7, 2),
        ("dataframe", 1, 2),
        ("dataframe", 7, 4),
    ],
)
def test_dask(form, n_partitions, n_classes):
    dask = pytest.importorskip("dask")
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, y = blobs(n_classes=n_classes)
    rows, labels = da.from_array(X, chunks=(-(-300 // n_partitions), -1)), y
    if form == "csr":
        rows = rows.map_blocks(sp.csr_matrix)
    if form == "dataframe":
        table = pd.DataFrame(X, columns=list("abcdef")).assign(label=y)
        rows, labels = dd.from_pandas(table, npartitions=n_partitions), "label"
    with dask.config.set(scheduler="synchronous"):
        nearby = S3VC(kernel="rbf", n_landmarks=10, calibration_folds=0, max_iter=20)
        np.testing.assert_array_equal(
            np.asarray(fit_quietly(nearby, rows, labels).transduction_),
            fit_quietly(nearby, X, y).transduction_,
        )
        linear = S3VC(annealing=(0.1, 1.0), calibration_folds=2)
        model = fit_quietly(clone(linear), rows, labels)
        names = list("abcdef") if form == "dataframe" else None
        plain = clone(linear).fit(X if names is None else pd.DataFrame(X, columns=names), y)
        assert_same(model, plain, X if names is None else table[names])
        again = fit_quietly(clone(linear), rows, labels)
        np.testing.assert_array_equal(again.coef_, model.coef_)


def test_dask_is_refused_where_all_rows_are_needed():
    da = pytest.importorskip("dask.array")
    X, y = blobs()
    pca = {"kernel": "rbf", "n_landmarks": 9, "landmarks": "pca"}
    for options in ({"kernel": "rbf"}, {"solver": "cccp"}, pca):
        with pytest.raises(TypeError, match=r"solver='quasi-newton' with kernel='linear'"):
            S3VC(**options).fit(da.from_array(X, chunks=(100, -1)), y)


# ---------------------------------------------------------------- what needs all rows


@pytest.mark.parametrize("options", [{"kernel": "rbf"}, {"solver": "label-switching"}])
def test_other_models_gather_blocks(options):
    X, y = blobs()
    plain = fit_quietly(S3VC(**options), X, y)
    model = fit_quietly(S3VC(**options), cut(X), y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


def test_weights_of_unlabelled_rows_must_be_equal():
    X, y = blobs()
    rng = np.random.default_rng(0)
    weights = np.where(y >= 0, rng.uniform(0.5, 2.0, len(y)), 0.7)
    for options in ({}, {"positive_ratio": None}):
        plain = S3VC(**options).fit(X, y, weights)
        assert_same(S3VC(**options).fit(cut(X), y, weights), plain, X)
    weights[np.flatnonzero(y < 0)[5]] = 0.8
    with pytest.raises(ValueError, match="same weight"):
        S3VC().fit(cut(X), y, weights)


def test_weights_in_the_partitions():
    dd = pytest.importorskip("dask.dataframe")
    X, y = blobs()
    weights = np.where(y >= 0, 1.0 + y, 0.5)
    table = pd.DataFrame(X, columns=list("abcdef"))
    plain = S3VC().fit(table, y, weights)
    full = table.assign(label=y, weight=weights)
    model = S3VC().fit(dd.from_pandas(full, npartitions=3), "label", "weight")
    assert_same(model, plain, table)
    rising = dd.from_pandas(full.assign(weight=np.arange(300) // 100), npartitions=3)
    with pytest.raises(ValueError, match="same weight"):  # equal in each partition
        S3VC().fit(rising, "label", "weight")


def test_unlabelled_rows_of_weight_zero_are_not_used():
    X, y = blobs()
    weights = np.where(y >= 0, 1.0, 0.0)
    plain = fit_quietly(S3VC(), X, y, sample_weight=weights)
    assert_same(fit_quietly(S3VC(), cut(X), y, sample_weight=weights), plain, X)


def test_labels_are_not_added_and_no_start_is_kept():
    X, y = blobs()
    model = S3VC(warm_start=True).fit(cut(X), y)
    first = model.coef_
    np.testing.assert_array_equal(model.fit(cut(X), y).coef_, first)
    for fitted in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match="fit again"):
            fitted.add_labels([0], [1])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(copy.fit(X, y).coef_.shape, first.shape)


# ---------------------------------------------------------------- restarts


def test_restarts_do_not_depend_on_the_blocks_and_lower_the_objective():
    X, y = blobs(n=400, n_classes=4, n_labelled=12, gap=1.2, seed=3)
    model = S3VC(n_init=4, calibration_folds=0, reg=1e-3)
    found = fit_quietly(model, cut(X), y)
    objective, coef = found.result_.objective, found.coef_
    other = fit_quietly(model, cut(X, ends=(50, 333)), y)
    np.testing.assert_allclose(other.coef_, coef, rtol=1e-7, atol=1e-9)
    single = fit_quietly(model.set_params(n_init=1), cut(X), y)
    assert objective < single.result_.objective - 1e-6


# ---------------------------------------------------------------- passes and memory


class Counted:
    """A function of blocks that counts how often it is called."""

    def __init__(self, blocks):
        self.blocks, self.calls = blocks, 0

    def __call__(self):
        self.calls += 1
        return iter(self.blocks)


def test_passes_are_counted_and_few():
    X, y = blobs(n_classes=4)
    read = Counted(cut(X))
    model = S3VC(class_shares="labels").fit(read, y)
    assert read.calls == model.result_.passes
    # The check, labelled rows, means, a count for each stage but the first, and the shares.
    assert model.result_.passes <= 1.25 * model.n_iter_ + 3 + 6 + 1


def test_the_supervised_model_needs_no_descent_over_the_blocks():
    X, y = blobs()
    read = Counted(cut(X))
    S3VC(reg_unlabeled=0.0).fit(read, y)
    assert read.calls == 3


def test_steps_are_tried_together(monkeypatch):
    X, y = blobs(n_classes=4)
    ahead = S3VC().fit(cut(X), y)
    monkeypatch.setattr(line_ahead, "AHEAD", 1)
    one_by_one = S3VC().fit(cut(X), y)
    assert ahead.result_.passes < 0.95 * one_by_one.result_.passes
    assert_same(ahead, one_by_one, X)


def test_tiles_and_threads_do_not_matter(monkeypatch):
    X, y = blobs()
    plain = S3VC().fit(X, y)
    for threads, size in (("1", 1), ("3", 7), ("8", 64)):
        monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
        monkeypatch.setattr(feature_blocks, "tile_size", lambda *_, size=size: size)
        assert_same(S3VC().fit(cut(X), y), plain, X)


def test_memory_does_not_grow_with_the_rows():
    X, y = blobs(n=5_000)
    empty = np.full(500, -1)

    def peak(repeats):
        def read():
            for block in range(10 * repeats):
                rows = slice(500 * (block % 10), 500 * (block % 10) + 500)
                yield X[rows], y[rows] if block < 10 else empty

        S3VC(calibration_folds=0, max_iter=5).fit(read)
        tracemalloc.start()
        S3VC(calibration_folds=0, max_iter=5).fit(read)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = fit_peaks(peak)
    assert many < few + 8 * 5_000  # a quarter of one number for each of the further 15 000 rows


def fit_peaks(peak):
    """Peaks of memory for rows and for four times as many."""
    with pytest.warns(UserWarning, match="max_iter"):
        return peak(1), peak(4)


def test_memory_limit_is_for_columns_and_not_for_rows(monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "2")
    X = sp.random(400, 20_000, 0.002, "csr", rng=np.random.default_rng(0))
    y = np.full(400, -1)
    y[:40] = np.arange(40) % 2
    with pytest.raises(MemoryError, match="20000 columns"):
        S3VC(memory_limit="100MB").fit([X[:100], X[100:]], y)
    tracemalloc.start()
    fit_quietly(S3VC(memory_limit="120MB", max_iter=15), [X[:100], X[100:]], y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 15e6 < peak < 120e6 - 64e6  # tiles may take 32 MB for each thread; these are small
