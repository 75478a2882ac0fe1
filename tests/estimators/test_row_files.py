"""Estimators on files and folders: the model of the same rows in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from helpers.in_blocks import MODELS, data, same_model
from lapwing import LapRLSClassifier, PVMClassifier

pa = pytest.importorskip("pyarrow")

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
NAMES = list("abcd")


def frame_of(X, y):
    return pd.DataFrame(X, columns=NAMES).assign(label=y)


def write(frame, path):
    path.parent.mkdir(exist_ok=True, parents=True)
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=70, index=False)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False)
    return path


def forms(frame, folder):
    from pyarrow import dataset

    halves = frame[:130], frame[130:].reset_index(drop=True)
    parquet = write(frame, folder / "rows.parquet")
    for i, half in enumerate(halves):
        write(half, folder / "parts" / f"{i}.parquet")
        write(half, folder / "texts" / f"{i}.csv")
    return {
        "Parquet": parquet,
        "a name": str(parquet),
        "Feather": write(frame, folder / "rows.feather"),
        "CSV": write(frame, folder / "rows.csv"),
        "a folder": folder / "parts",
        "a folder of CSV": folder / "texts",
        "a list": [folder / "parts" / "0.parquet", folder / "parts" / "1.parquet"],
        "a dataset": dataset.dataset(parquet),
        "a filtered dataset": dataset.dataset(parquet).filter(dataset.field("a") > -1e9),
        "a table": pa.Table.from_pandas(frame),
    }


@every_model
def test_the_model_of_the_same_rows(model, tmp_path):
    X, y = data(model)
    plain = clone(model).fit(X, y)
    frame = frame_of(X, y)
    for name, source in forms(frame, tmp_path).items():
        found = clone(model).fit(source, "label")
        assert list(found.feature_names_in_) == NAMES, name
        same_model(found, plain, X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            predicted = found.predict(source)
        np.testing.assert_allclose(predicted, plain.predict(X), atol=1e-10)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "feather"])
def test_labels_of_whole_numbers_stay_whole_where_some_are_missing(suffix, tmp_path):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    labels = pd.array(y, dtype="Int64")
    labels[y < 0] = pd.NA
    path = write(pd.DataFrame(X, columns=NAMES).assign(label=labels), tmp_path / f"rows.{suffix}")
    found = clone(model).fit(path, "label")
    assert found.classes_.dtype == np.int64
    same_model(found, clone(model).fit(X, y), X)


def test_columns_in_another_order_and_others_beside_them(tmp_path):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    frame = frame_of(X, y)
    fitted = clone(model).fit(write(frame, tmp_path / "rows.parquet"), "label")
    other = frame[["d", "a", "c", "b"]].assign(note="text")
    path = write(other, tmp_path / "other.parquet")
    np.testing.assert_array_equal(fitted.predict(path), fitted.predict(X))
    with pytest.raises(ValueError, match=r"short.parquet has no column 'b'"):
        fitted.predict(write(frame[["a", "c", "d"]], tmp_path / "short.parquet"))


def test_whole_numbers_and_truth_values(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 9, 200),
            "b": rng.integers(0, 9, 200).astype(np.int16),
            "c": rng.normal(size=200).astype(np.float32),
            "d": rng.random(200) < 0.5,
        }
    )
    y = np.where(np.arange(200) < 20, np.arange(200) % 2, -1)
    path = write(frame.assign(label=y), tmp_path / "rows.parquet")
    found = PVMClassifier(n_prototypes=20).fit(path, "label")
    X = frame.to_numpy(dtype=float)
    same_model(found, PVMClassifier(n_prototypes=20).fit(X, y), X)


def test_errors_say_what_to_do(tmp_path):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    frame = frame_of(X, y)
    path = write(frame.assign(colour="red"), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"column 'colour' of rows.parquet holds .*lapwing fit"):
        clone(model).fit(path, "label")
    with pytest.raises(ValueError, match=r"rows.parquet has no column 'lable'"):
        clone(model).fit(path, "lable")
    holes = frame.copy()
    holes.loc[150, "b"] = None
    with pytest.raises(ValueError, match=r"block \d, row \d+, column 'b': .*NaN"):
        clone(model).fit(write(holes, tmp_path / "holes.parquet"), "label")
    fitted = clone(model).fit(frame, "label")
    with pytest.raises(ValueError, match=r"^block 0, row 150, column 'b': .*NaN"):
        fitted.predict(tmp_path / "holes.parquet")
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(model).fit(write(frame, tmp_path / "good.parquet"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        clone(model).fit(tmp_path / "nowhere.parquet", "label")
    with pytest.raises(ValueError, match=r"neither a folder nor a file of a known format"):
        clone(model).fit("rows.xyz", "label")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "feather"])
def test_transduction_after_the_files_are_gone(suffix, tmp_path):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    path = write(frame_of(X, y), tmp_path / f"rows.{suffix}")
    found = clone(model).fit(path, "label")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=rf"and rows\.{suffix} is missing.* predict other"):
        found.transduction_  # noqa: B018


def test_record_batches(tmp_path):
    pa = pytest.importorskip("pyarrow")
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    batch = pa.RecordBatch.from_pandas(frame_of(X, y), preserve_index=False)
    found = clone(model).fit(batch, "label")
    same_model(found, clone(model).fit(X, y), X)
    assert list(found.feature_names_in_) == NAMES
    np.testing.assert_array_equal(found.predict(batch), found.predict(X))


def test_labels_of_texts_with_missing_ones(tmp_path):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    words = np.where(y < 0, None, np.array(["x", "y", "z", ""], dtype=object)[y])
    frame = pd.DataFrame(X, columns=NAMES).assign(label=words)
    found = clone(model).fit(write(frame, tmp_path / "rows.parquet"), "label")
    assert found.classes_.tolist() == ["x", "y", "z"]
    plain = clone(model).fit(X, y)
    np.testing.assert_array_equal(found.transduction_, found.classes_[plain.transduction_])


@pytest.mark.parametrize("reverse", [False, True], ids=["first", "last"])
def test_empty_cells_of_text_files_are_no_class(reverse, tmp_path):
    """Also if the first rows of the file have no label."""
    model = MODELS["PVMClassifier"]
    X, y = data(model, n=1200)
    order = np.argsort(y < 0, kind="stable")[:: -1 if reverse else 1]
    X, y = X[order], y[order]
    words = np.where(y < 0, None, np.array(["x", "y", "z", ""], dtype=object)[y])
    frame = pd.DataFrame(X, columns=NAMES).assign(label=words)
    found = clone(model).fit(write(frame, tmp_path / "rows.csv"), "label")
    assert found.classes_.tolist() == ["x", "y", "z"]
    numbers = frame.assign(label=np.where(y < 0, None, y))
    found = clone(model).fit(write(numbers, tmp_path / "numbers.csv"), "label")
    same_model(found, clone(model).fit(X, y), X)


def test_files_are_in_the_order_of_their_numbers(tmp_path):
    model = MODELS["PVMClassifier"]
    X, y = data(model)
    frame = frame_of(X, y)
    for i in range(12):
        write(frame[25 * i : 25 * (i + 1)], tmp_path / "parts" / f"{i}.parquet")
    (tmp_path / "parts" / "README.md").write_text("about these files", encoding="utf-8")
    plain = clone(model).fit(X, y)
    same_model(clone(model).fit(tmp_path / "parts", "label"), plain, X)
    frame.drop(columns="label").to_parquet(tmp_path / "bare.parquet")
    same_model(clone(model).fit(tmp_path / "bare.parquet", y), plain, X)


def test_columns_are_named_once(tmp_path):
    model = MODELS["PVMClassifier"]
    frame = frame_of(*data(model))
    path = write(frame, tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="cannot hold labels and weights"):
        clone(model).fit(path, "label", "label")
    with pytest.raises(ValueError, match="no column left to learn from"):
        clone(model).fit(write(frame[["label"]], tmp_path / "labels.parquet"), "label")
    with pytest.raises(ValueError, match="no column left to learn from"):
        clone(model).fit(frame[["label"]], "label")


def test_estimators_that_need_all_rows_read_files(tmp_path):
    X, y = data(LapRLSClassifier())
    path = write(frame_of(X, y), tmp_path / "rows.parquet")
    found, plain = LapRLSClassifier().fit(path, "label"), LapRLSClassifier().fit(X, y)
    np.testing.assert_array_equal(found.decision_function(X), plain.decision_function(X))
    assert list(found.feature_names_in_) == NAMES
