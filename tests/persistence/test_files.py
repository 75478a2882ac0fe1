"""Model files beyond the contract suite: sizes that are claimed, other estimators, registration."""

import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import lapwing
from lapwing import AnchorGraphClassifier, LapSVC, ModelFileError, SemiSupervisedClassifier
from lapwing.arrays.archive import read_archive, write_archive
from lapwing.persistence import register, types


@pytest.fixture
def data():
    X, truth = make_moons(60, noise=0.1, random_state=0)
    y = np.full(60, -1)
    y[:10] = truth[:10]
    return X, y


def fitted(page):
    return page["model"]["state"]["fitted"]["dict"]


def attribute(page, name):
    return next(pair for pair in fitted(page) if pair[0] == name)


@pytest.mark.parametrize("size", [3, 10**5, 10**8, 10**15, 10**30])
def test_columns_that_are_only_claimed_are_not_allocated(data, tmp_path, size):
    """A model without training rows is tried on a row of zeros, if there is memory for it."""
    lapwing.save(AnchorGraphClassifier(10).fit(*data), tmp_path / "m")
    page, arrays = read_archive(tmp_path / "m")
    attribute(page, "n_features_in_")[1] = size
    write_archive(tmp_path / "m", page, arrays)
    with pytest.raises((ModelFileError, MemoryError), match=r"fit together|memory_limit"):
        lapwing.load(tmp_path / "m", memory_limit="100MB")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "estimator",
    [
        LapSVC(),
        LapSVC(kernel="linear"),
        AnchorGraphClassifier(10),
        lapwing.PVMClassifier(n_prototypes=5),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_arrays_that_are_not_finite_are_refused(data, tmp_path, estimator, bad):
    """Each one, also those that predictions of the first row do not show."""
    lapwing.save(estimator.fit(*data), tmp_path / "m")
    page, arrays = read_archive(tmp_path / "m")
    numbers = [name for name, array in arrays.items() if array.dtype.kind == "f" and array.size]
    assert len(numbers) > 2
    for name in numbers:
        changed = arrays[name].copy()
        changed.flat[-1] = bad
        write_archive(tmp_path / "m", page, {**arrays, name: changed})
        with pytest.raises(ModelFileError, match="NaN or infinite"):
            lapwing.load(tmp_path / "m")


def test_quantities_that_are_not_known_are_stored(tmp_path):
    """The targets of a regressor are NaN in unlabelled rows, and so are some scores of a grid."""
    X, y = np.arange(30.0)[:, None], np.full(30, np.nan)
    y[::3] = X[::3, 0]
    grid = lapwing.LapRLSRegressorCV(reg_ambient=[0.1], reg_manifold=[0.1])
    for model in (lapwing.LapRLSRegressor().fit(X, y), grid.fit(X, y)):
        lapwing.save(model, tmp_path / "m")
        assert np.array_equal(lapwing.load(tmp_path / "m").predict(X), model.predict(X))


def test_sparse_rows_with_a_center_are_refused(tmp_path):
    """Subtracting it would make a dense matrix of any size."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-2, 1, (20, 2)), rng.normal(2, 1, (20, 2))])
    y = np.full(40, -1)
    y[[0, 1, 30, 31]] = 0, 0, 1, 1
    lapwing.save(SemiSupervisedClassifier("supervised").fit(X, y), tmp_path / "m")
    page, arrays = read_archive(tmp_path / "m")
    rows = attribute(page, "_setup")[1]["state"]["rows"]["state"]
    arrays["data"], arrays["indices"] = np.zeros(0), np.zeros(0, dtype=np.int32)
    arrays["indptr"] = np.zeros(41, dtype=np.int32)
    names = ("data", "indices", "indptr")
    rows["X"] = {"csr_matrix": [{"array": name} for name in names], "shape": [40, 2]}
    write_archive(tmp_path / "m", page, arrays)
    with pytest.raises(ModelFileError):
        lapwing.load(tmp_path / "m")


def test_a_model_needs_memory(data, tmp_path):
    X, y = data
    lapwing.save(LapSVC().fit(np.tile(X, 1000), y), tmp_path / "m")
    page = zipfile.ZipFile(tmp_path / "m").getinfo("model.json").file_size
    for limit, message in ((2000, "its page needs"), (40 * page, "the model needs")):
        with pytest.raises(MemoryError, match=rf"{message} .* memory_limit allows"):
            lapwing.load(tmp_path / "m", memory_limit=limit)


def test_other_estimators_are_refused_with_advice(data, tmp_path):
    X, y = data
    for model in (LogisticRegression().fit(X, y), make_pipeline(LapSVC()).fit(X, y)):
        with pytest.raises(TypeError, match="use skops for pipelines"):
            lapwing.save(model, tmp_path / "m")


def test_an_estimator_of_the_user_must_be_registered(data, tmp_path):
    class MyLapSVC(LapSVC):
        pass

    model = MyLapSVC().fit(*data)
    with pytest.raises(TypeError, match="register"):
        lapwing.save(model, tmp_path / "m")
    register(MyLapSVC)
    try:
        lapwing.save(model, tmp_path / "m")
        loaded = lapwing.load(tmp_path / "m")
        assert type(loaded) is MyLapSVC
        assert np.array_equal(loaded.predict(data[0]), model.predict(data[0]))
    finally:
        del types.known_types["MyLapSVC"]
    with pytest.raises(ModelFileError, match="'MyLapSVC', which is not known"):
        lapwing.load(tmp_path / "m")


def test_a_class_of_the_same_name_is_refused(data, tmp_path):
    namesake = type("LapSVC", (LapSVC,), {})
    with pytest.raises(TypeError, match="cannot be stored"):
        lapwing.save(namesake().fit(*data), tmp_path / "m")


def test_trusted_types_are_importable():
    for name in lapwing.TRUSTED_TYPES:
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(__import__(module, fromlist=[cls]), cls), type)


def test_a_model_has_a_function_for_each_class(data, tmp_path):
    lapwing.save(AnchorGraphClassifier(10).fit(*data), tmp_path / "m")
    page, arrays = read_archive(tmp_path / "m")
    name = attribute(page, "classes_")[1]["array"]
    write_archive(tmp_path / "m", page, {**arrays, name: np.arange(3)})
    with pytest.raises(ModelFileError, match="do not fit together"):
        lapwing.load(tmp_path / "m")
