"""What a fit says of itself is true, also where numbers or labels are awkward."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from helpers.cases import each_case
from helpers.data import sparse_rows
from lapwing import (
    S3VC,
    KNNGraph,
    LapERLSClassifier,
    LapESVC,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVCCV,
    PVMClassifier,
    PVMRegressor,
)
from lapwing.plan import manifold


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:400] / 16.0, truth[:400]
    y = np.full(400, -1)
    chosen = np.random.default_rng(0).choice(400, 40, replace=False)
    y[chosen] = truth[chosen]
    return X, y, truth


def test_a_rounded_kernel_is_not_called_converged(digits, monkeypatch):
    # So wide a kernel and so little regularisation need more digits than float32 has.
    X, y, _ = digits
    monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    monkeypatch.setattr(manifold, "choose_storage", lambda *_: "triangle32")
    settings = {"gamma": 1e-3, "reg_ambient": 1e-6, "reg_manifold": 100.0}
    with pytest.warns(ConvergenceWarning, match="rounding prevents further progress"):
        rounded = LapSVC(**settings).fit(X, y)
    assert rounded.result_.status == "not_converged"
    exact = LapSVC(**settings, solver="newton").fit(X, y).result_.objective
    # What is known is known of the exact kernel.
    assert rounded.result_.gap >= rounded.result_.objective - exact > 1e-3 * exact


def test_an_elimination_without_digits_is_refused(digits):
    X, y, _ = digits
    with pytest.raises(
        ValueError, match=r"double precision.* Raise the weight of the norm \(reg_ambient"
    ):
        LapSVC(kernel="poly", gamma=1e3, degree=5, coef0=1.0).fit(X, y)


@pytest.mark.parametrize("missing", [None, float("nan"), -1])
def test_lists_of_text_labels_may_hold_any_marker(digits, missing):
    X, y, _ = digits
    labels = [missing if v == -1 else "even" if v % 2 == 0 else "odd" for v in y]
    assert list(LapSVC().fit(X, labels).classes_) == ["even", "odd"]


def test_boolean_classes_stay_boolean_when_labels_are_added(digits):
    X, y, truth = digits
    labels = np.array([None if v == -1 else bool(v % 2) for v in y], dtype=object)
    model = LapSVC().fit(X, labels)
    more = np.flatnonzero(y == -1)[:5]
    model.add_labels(more, truth[more] % 2 == 1)
    assert model.classes_.dtype == bool


def test_pcg_started_at_the_optimum_stops_there(digits):
    X, y, _ = digits
    settings = {"solver": "pcg", "reg_ambient": 1.0, "reg_manifold": 0.1, "tol": 1e-12}
    model = LapSVC(**settings, warm_start=True, max_iter=3000)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    first = model.result_.objective
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    again = model.result_.objective
    assert again == pytest.approx(first, rel=1e-9)


def test_warm_start_survives_a_change_of_kernel(digits, monkeypatch):
    X, y, _ = digits
    monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    model = LapSVC(kernel="linear", warm_start=True).fit(X, y)
    model.set_params(kernel="rbf").fit(X, y)
    assert model.result_.status == "converged"
    assert not hasattr(model, "coef_")


def test_a_graph_of_other_rows_is_refused_for_a_precomputed_kernel(digits):
    X, y, _ = digits
    graph = KNNGraph().fit(X[:300])
    with pytest.raises(ValueError, match="300 rows"):
        LapSVC(kernel="precomputed", graph=graph).fit(X @ X.T, y)


def test_memory_limit_holds_for_a_precomputed_kernel(digits):
    X, y, _ = digits
    with pytest.raises(MemoryError, match="MB"):
        LapSVC(kernel="precomputed", solver="newton", memory_limit="0.1MB").fit(X @ X.T, y)


def test_wide_sparse_rows_never_form_the_gram_matrix():
    X = sparse_rows(300, 2000, 0.02)
    y = np.full(300, -1)
    y[:20] = np.arange(20) % 2
    model = LapSVC(kernel="linear", reg_ambient=1.0, tol=1e-2).fit(X, y)
    assert model.result_.solver == "manifold_cg"


def test_unlabelled_validation_rows_are_left_out(digits):
    X, y, truth = digits
    settings = {"solver": "pcg", "stopping": "validation", "tol": 0.0}
    rows = np.flatnonzero(y == -1)[:100]
    marked = np.where(np.arange(100) < 50, truth[rows], -1)
    with_marks = LapSVC(**settings).fit(X, y, validation=(X[rows], marked))
    without = LapSVC(**settings).fit(X, y, validation=(X[rows[:50]], truth[rows[:50]]))
    assert with_marks.n_iter_ == without.n_iter_


def test_an_affinity_matrix_gets_the_regressors_own_laplacian(digits):
    X, _, truth = digits
    y = np.where(np.arange(400) < 40, truth, np.nan)
    affinity = KNNGraph().fit(X).affinity_
    assert LapRLSRegressor(graph=affinity).fit(X, y).graph_.normalized is False


# ---------------------------------------------------------------- functions that are constant


def constant_warnings(model, X, y):
    """Return the warnings of a fit that the decision function is constant."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [w for w in caught if "decision function is the same" in str(w.message)]


LINEAR = {"kernel": "linear"}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("factor", [1e-10, 1e-20])
@pytest.mark.parametrize(
    "model",
    [
        S3VC(),
        LapSVC(**LINEAR),
        LapSVC(**LINEAR, loss="hinge"),
        LapRLSClassifier(**LINEAR),
        LapSVCCV(**LINEAR),
        LapESVC(**LINEAR),
        LapERLSClassifier(**LINEAR),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_constant_decision_function_is_warned_of(model, factor, n_classes):
    """The labels are not balanced, so that the intercept decides."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % n_classes
    X = rng.normal(size=(60, 3)) + 4.0 * np.eye(3)[truth]
    y = np.where(np.arange(60) < 13, truth, -1)
    assert constant_warnings(model, X, y) == []
    found, one = constant_warnings(model, factor * X, y), model.predict(factor * X)
    if getattr(model, "loss", "") == "hinge" and (n_classes, factor) == (3, 1e-10):
        # All intercepts are -1 here: the small rest decides, and is right.
        np.testing.assert_array_equal(one, truth)
        assert found == []
        return
    [found] = found
    assert len(np.unique(one)) == 1
    assert f"get the class {one.tolist()[0]!r}: correct or remove rows" in str(found.message)
    assert found.filename == __file__


def test_small_values_that_differ_are_not_constant():
    """Here the labels are balanced: the intercept vanishes, and decisions are right."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = 1e-10 * (rng.normal(size=(60, 3)) + 4.0 * np.eye(3)[truth])
    y = np.where(np.arange(60) < 12, truth, -1)
    model = LapSVC(**LINEAR)
    assert constant_warnings(model, X, y) == []
    assert model.score(X, truth) > 0.9


@each_case(lambda case: case.is_classifier, one_a_class=True)
def test_ordinary_decision_functions_are_not_constant(case):
    X, y, _ = case.data()
    assert constant_warnings(case.new(), X, y) == []


@pytest.mark.parametrize(
    "model",
    [
        PVMClassifier(gamma=1e-12),
        PVMRegressor(gamma=1e-12),
        LapESVC(gamma=1e-12),
        LapERLSClassifier(gamma=1e-12),
        LapRLSRegressor(gamma=1e-12, reg_ambient=1.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_functions_that_do_not_tell_labelled_rows_apart_are_warned_of(model):
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 4.0 * np.eye(3)[truth]
    labelled = np.arange(60) < 13
    y = np.where(labelled, truth, -1) if is_classifier(model) else np.where(labelled, truth, np.nan)
    with pytest.warns(UserWarning, match=r"targets are the same|for labelled rows of diff"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        clone(model).set_params(gamma=0.3).fit(X, y)


def test_labelled_rows_of_extreme_values_do_not_hide_that_others_are_alike():
    """One of twelve labelled rows differs, and the other eleven are the same."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 4.0 * np.eye(3)[truth]
    X[3] *= 1e12
    y = np.where(np.arange(60) < 12, truth, -1)
    assert len(constant_warnings(LapSVC(), X, y)) == 1


def test_small_decision_values_may_be_rounding():
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 4.0 * np.eye(3)[truth]
    y = np.where(np.arange(60) < 12, truth, -1)
    with pytest.warns(UserWarning, match="may be rounding"):
        LapRLSClassifier(reg_ambient=1e15).fit(X, y)


def test_the_class_that_all_labelled_rows_get_is_named():
    X = 1e-20 * np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(np.arange(60) < 13, np.arange(60) % 3 > 0, -1).astype(int)  # more of class 1
    [found] = constant_warnings(LapSVC(**LINEAR), X, y)
    assert "which all get the class 1" in str(found.message)
