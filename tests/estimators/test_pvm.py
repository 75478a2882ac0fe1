"""PVMClassifier and PVMRegressor: labels, added labels, and the life of the estimators."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from helpers.pvm import (
    blobs,
    cut,
    decide,
    every_model,
)
from lapwing import PVMClassifier, PVMRegressor

# ---------------------------------------------------------------- labels


@pytest.mark.parametrize("mark", [None, np.nan, "unknown", pd.NA])
def test_words_and_marks(mark):
    X, y, _ = blobs(n_classes=3)
    words = np.array([mark if v < 0 else "xyz"[v] for v in y], dtype=object)
    model = PVMClassifier(unlabeled="unknown", n_prototypes=12)
    numbers = PVMClassifier(n_prototypes=12).fit(X, y)
    for fitted in (clone(model).fit(X, words), clone(model).fit(cut(X, words, [10]))):
        np.testing.assert_array_equal(fitted.classes_, ["x", "y", "z"])
        np.testing.assert_array_equal(
            fitted.transduction_, np.array(list("xyz"))[numbers.transduction_]
        )


@pytest.mark.parametrize(
    "rest",
    [
        np.full(150, np.nan),
        [np.nan] * 150,
        [None] * 150,
        None,
        pd.Series([pd.NA] * 150),
        np.full(150, -1),
    ],
    ids=["nan", "list of nan", "list of None", "None", "NA", "-1"],
)
@pytest.mark.parametrize("first", ["words", "numbers", "long words"])
def test_other_marks_in_other_blocks_are_no_class(first, rest):
    X, _, truth = blobs()
    classes = {"words": ["a", "b"], "numbers": [0, 1], "long words": ["alpha", "be"]}[first]
    labels = np.array(classes)[truth[:50]]
    for order in (1, -1):
        blocks = [(X[:50], labels), (X[50:], rest)][::order]
        model = PVMClassifier(n_prototypes=10).fit(blocks)
        assert model.classes_.tolist() == classes
        assert set(model.transduction_.tolist()) == set(classes)


def test_classes_in_different_blocks():
    X, _, truth = blobs(n_classes=3)
    blocks = [(X[truth == c], np.full((truth == c).sum(), "xyz"[c] * (c + 1))) for c in (2, 0, 1)]
    model = PVMClassifier(n_prototypes=10).fit(blocks)
    assert model.classes_.tolist() == ["x", "yy", "zzz"]
    assert model.score(X, np.array(["x", "yy", "zzz"])[truth]) > 0.85
    with pytest.raises(ValueError, match="labels mix types"):
        PVMClassifier().fit([(X[:50], truth[:50]), (X[50:], np.full(150, "b"))])


def test_targets_in_blocks():
    X, y, _ = blobs()
    targets = np.where(y < 0, np.nan, 0.5 * y + 0.1)
    plain = PVMRegressor(n_prototypes=10).fit(X, targets)
    blocks = [(X[:30], targets[:30].tolist()), (X[30:90], None), (X[90:], [None] * 110)]
    other = PVMRegressor(n_prototypes=10).fit(blocks)
    np.testing.assert_allclose(other.predict(X), plain.predict(X), atol=1e-10)


# ---------------------------------------------------------------- life


@every_model
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.1])
def test_added_labels_are_those_of_a_new_fit(model, form, reg_unlabeled):
    X, y, truth = blobs()
    model = clone(model).set_params(n_prototypes=12, reg_unlabeled=reg_unlabeled)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    surprising = 1 - truth[[50, 51, 80]]  # so that they change the model
    labels = y.copy()
    labels[[50, 51, 80]] = surprising
    grown = clone(model).fit(form(X), y, sample_weight=weights)
    before = decide(grown, form(X))
    grown.add_labels([50, 51, 80], surprising)
    new = clone(model).fit(form(X), labels, sample_weight=weights)
    np.testing.assert_allclose(decide(grown, form(X)), decide(new, form(X)), atol=1e-9)
    np.testing.assert_allclose(grown.transduction_, new.transduction_, atol=1e-9)
    assert not np.allclose(before, decide(new, form(X)), atol=1e-6)
    assert grown.reg_labeled_ == pytest.approx(new.reg_labeled_)


def test_rows_are_needed_for_added_labels():
    X, y, _ = blobs()
    model = PVMClassifier(n_prototypes=12)
    in_blocks = "the rows came in blocks, which are not kept: fit again"
    for fitted, message in (
        (clone(model).fit([(X, y)]), in_blocks),
        (clone(model).fit(X, y).fit([(X, y)]), in_blocks),
        (
            pickle.loads(pickle.dumps(clone(model).fit(X, y))),
            "the rows are not kept in a copy or a pickle: fit again",
        ),
        (pickle.loads(pickle.dumps(clone(model).fit([(X, y)]))), in_blocks),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.add_labels([100], [1])
        assert np.isfinite(fitted.decision_function(X)).all()


@every_model
def test_a_pickle_is_small_and_predicts_the_same(model):
    X, y, _ = blobs(n=5000, d=40)
    fitted = clone(model).set_params(n_prototypes=200).fit(X, y)
    stored = pickle.dumps(fitted)
    # Prototypes of 40 numbers, twice for the kernel, and labels: no rows, no system.
    assert len(stored) < 3 * 200 * 40 * 8 + 40 * 5000
    again = pickle.loads(stored)
    np.testing.assert_array_equal(decide(again, X), decide(fitted, X))
    np.testing.assert_array_equal(again.transduction_, fitted.transduction_)
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    fitted.add_labels([50], [0])  # the first still has its rows


@every_model
def test_progress_goes_to_the_error_stream(model, capfd):
    X, y, _ = blobs(n=500)
    quiet = clone(model).fit(X, y)
    quiet.predict(X)
    assert capfd.readouterr() == ("", "")
    loud = clone(model).set_params(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    name = type(model).__name__
    for title in ("degrees", "smoothness"):
        assert f"{name}: {title} 100 %" in err
    assert err.endswith("\n")
    assert err.count("\n") == 3
    loud.predict(X)
    assert capfd.readouterr() == ("", "")
    clone(loud).fit(cut(X, y, [100, 100, 400]))
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count(" 100 % ") == 2  # rows in blocks are not predicted
    np.testing.assert_array_equal(decide(loud, X), decide(quiet, X))


def test_same_state_same_model_other_state_another():
    X, y, _ = blobs(n=500)
    first = PVMClassifier(n_prototypes=10, random_state=3).fit(X, y)
    again = PVMClassifier(n_prototypes=10, random_state=3).fit(X, y)
    np.testing.assert_array_equal(first.coef_, again.coef_)
    other = PVMClassifier(n_prototypes=10, random_state=4).fit(X, y)
    assert not np.array_equal(first.prototypes_, other.prototypes_)
    PVMClassifier(n_prototypes=10, random_state=np.random.RandomState(0)).fit(X, y)
    PVMClassifier(n_prototypes=10, random_state=None).fit(X, y)


def test_wide_sparse_rows_are_not_counted_as_dense():
    X = sp.random(200, 50_000, density=1e-4, format="csr", random_state=0)
    y = np.full(200, -1)
    y[:6] = [0, 1, 0, 1, 0, 1]
    PVMClassifier(n_prototypes=3, memory_limit="40MB").fit(X, y)  # dense they are 80 MB
    with pytest.raises(MemoryError, match="lower"):
        PVMClassifier(n_prototypes=3, memory_limit="2MB").fit(X, y)


def test_entries_that_are_stored_in_parts_are_added_up():
    X, y, _ = blobs()
    whole = sp.csr_matrix(X)
    parts = sp.csr_matrix(
        (
            np.repeat(whole.data, 2) * np.tile([0.25, 0.75], whole.nnz),
            np.repeat(whole.indices, 2),
            2 * whole.indptr,
        ),
        shape=X.shape,
    )
    assert parts.nnz == 2 * whole.nnz
    expected = PVMClassifier(n_prototypes=20).fit(whole, y).decision_function(whole)
    found = PVMClassifier(n_prototypes=20).fit(parts, y).decision_function(parts)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_tables():
    X, y, _ = blobs()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PVMClassifier(n_prototypes=12).fit(table, pd.Series(y))
    plain = PVMClassifier(n_prototypes=12).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(
            model.decision_function(table), plain.decision_function(X), atol=1e-9
        )
        model.add_labels([60], [0])
        model.predict(table)
