"""Every fitted estimator can be saved and loaded: same bits, and labels can still be added."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

import lapwing
from helpers.cases import assert_same_outputs, each_case, values_of
from helpers.data import fit_quietly, gaussian, moons
from lapwing import LapSVC, LapSVCPath

ADDED = np.array([30, 31, 40])
save_case = each_case(lambda case: case.name == "LapSVC")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.lapwing"


@pytest.mark.parametrize("n_classes", [2, 3])
@each_case()
def test_a_loaded_model_predicts_the_same_bits(case, n_classes, path):
    X, _, _ = case.data(n_classes)
    model = case.fitted(n_classes)
    lapwing.save(model, path)
    loaded = lapwing.load(path)
    assert type(loaded) is type(model)
    assert str(loaded.get_params()) == str(model.get_params())
    assert_same_outputs(loaded, model, X)
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    if case.is_classifier:
        np.testing.assert_array_equal(loaded.classes_, model.classes_)
        assert loaded.classes_.dtype == model.classes_.dtype


@each_case()
def test_labels_can_be_added_to_a_loaded_model(case, path):
    X, y, truth = case.data()
    lapwing.save(case.fitted(), path)
    loaded = lapwing.load(path)
    model = fit_quietly(case.new(), X, y)
    model.add_labels(ADDED, truth[ADDED])
    loaded.add_labels(ADDED, truth[ADDED])
    np.testing.assert_allclose(values_of(loaded, X), values_of(model, X), atol=1e-12)
    np.testing.assert_array_equal(loaded.transduction_[ADDED], truth[ADDED])


@each_case(one_a_class=True)
def test_saving_twice_gives_the_same_model(case, tmp_path):
    X, _, _ = case.data()
    first, second = tmp_path / "first", tmp_path / "second"
    lapwing.save(case.fitted(), first)
    lapwing.save(lapwing.load(first), second)
    assert_same_outputs(lapwing.load(second), case.fitted(), X)


@each_case(lambda case: case.is_classifier, one_a_class=True)
def test_names_of_classes_are_kept(case, path):
    X, y, _ = case.data()
    names = ["a", "bb", "</script>é"]
    model = fit_quietly(case.new(), X, [None if v == -1 else names[v] for v in y])
    lapwing.save(model, path)
    loaded = lapwing.load(path)
    assert loaded.classes_.tolist() == sorted(names)
    assert_same_outputs(loaded, model, X)


@each_case(one_a_class=True)
def test_what_is_given_in_addition_comes_back(case, path):
    extra = {"columns": ["a", "b", "c"], "number": 1.5, "nested": {"yes": True, "none": None}}
    lapwing.save(case.fitted(), path, extra=extra)
    assert lapwing.load(path).extra_ == extra
    lapwing.save(case.fitted(), path)  # replaces the file
    assert not getattr(lapwing.load(path), "extra_", None)


@each_case(one_a_class=True)
def test_damaged_files_are_refused(case, path):
    lapwing.save(case.fitted(), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [b"", b"not a model", whole[: len(whole) // 2], whole[:-1]]
    for place in rng.integers(0, len(whole), 20):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        damaged.append(bytes(flipped))
    for number, content in enumerate(damaged):
        path.write_bytes(content)
        try:
            loaded = lapwing.load(path)
        except lapwing.ModelFileError:
            continue
        # A byte that means nothing, such as a time stamp of the archive.
        assert number >= 4, "a file that was cut is no model"
        assert_same_outputs(loaded, case.fitted(), case.data()[0])


@each_case(one_a_class=True)
def test_what_is_not_fitted_cannot_be_saved(case, path):
    with pytest.raises((ValueError, AttributeError), match="fitted"):  # NotFittedError is both
        lapwing.save(case.new(), path)
    assert not path.exists()


@each_case(lambda case: case.has("kernel"), one_a_class=True)
def test_a_function_as_kernel_cannot_be_saved(case, path):
    X, y, _ = case.data()
    model = fit_quietly(case.new(kernel=lambda A, B: gaussian(A, B, 0.5)), X, y)
    with pytest.raises(TypeError, match=r"^kernel=.* cannot be stored .* set kernel to a number"):
        lapwing.save(model, path)
    assert not path.exists()


def test_validation_rows_of_a_table_and_extra_values_are_stored(path):
    X, y, truth = moons(n_labelled=12)
    table = pd.DataFrame(X, columns=["a", "b"])
    model = lapwing.LapSVC(solver="pcg", stopping="validation", unlabeled=pd.NA)
    labels = pd.Series(y, dtype="Int64").mask(y == -1)
    model.fit(table, labels, validation=(table[-20:], pd.Series(truth[-20:])))
    lapwing.save(model, path, extra={"a": 1})
    again = lapwing.load(path)
    lapwing.save(again, path)
    assert lapwing.load(path).extra_ == {"a": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in (model, again):
            one.add_labels([30, 31], truth[[30, 31]])
    assert np.array_equal(model.decision_function(table), again.decision_function(table))
    assert not hasattr(again.fit(table, labels, validation=(table, truth)), "extra_")


def test_parameters_that_cannot_be_stored_are_named(path):
    X, y, _ = moons(n_labelled=12)
    model = lapwing.LapSVCCV(cv=StratifiedKFold(3), reg_ambient=[0.1], reg_manifold=[1.0])
    with pytest.raises(TypeError, match=r"^cv=StratifiedKFold.* cannot be stored"):
        lapwing.save(model.fit(X, y), path)
    lapwing.save(model.set_params(cv=3), path)


@save_case
def test_other_objects_cannot_be_saved(case, path):
    for wrong in (3, "model", np.ones(3)):
        with pytest.raises(TypeError):
            lapwing.save(wrong, path)
    assert not path.exists()


@save_case
def test_a_missing_file_is_no_damaged_one(case, path):
    lapwing.save(case.fitted(), path)
    with pytest.raises(FileNotFoundError):
        lapwing.load(path.with_name("other"))


@save_case
def test_a_failed_save_leaves_the_old_file(case, path):
    lapwing.save(case.fitted(), path)
    before = path.read_bytes()
    with pytest.raises((TypeError, ValueError)):
        lapwing.save(case.fitted(), path, extra={"no JSON": object()})
    assert path.read_bytes() == before


@save_case
def test_a_matrix_of_kernel_values(case, path):
    X, y, _ = case.data()
    K = gaussian(X, X, 0.5)
    model = LapSVC(kernel="precomputed").fit(K, y)
    lapwing.save(model, path)
    assert_same_outputs(lapwing.load(path), model, K)


@save_case
def test_the_whole_path_is_kept(case, path):
    X, y, _ = case.data()
    model = LapSVCPath().fit(X, y)
    lapwing.save(model, path)
    loaded = lapwing.load(path)
    np.testing.assert_array_equal(loaded.lambdas_, model.lambdas_)
    for lam in (model.lambdas_[0], float(np.sqrt(model.lambdas_[0] * model.lambdas_[-1]))):
        np.testing.assert_array_equal(
            loaded.decision_function(X, lam=lam), model.decision_function(X, lam=lam)
        )
