"""Estimators that search a grid: attributes, labels added later, input, results."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from helpers.grid import (
    AXES,
    CLASSIFIERS,
    FEW,
    Counted,
    blobs,
    gram,
    moons,
    targets,
)
from lapwing import (
    KNNGraph,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
)
from lapwing.model_selection import LabeledKFold


def test_new_labels_choose_again_on_the_same_graph():
    X, y, truth = moons()
    Counted.built.clear()
    model = LapSVCCV(**AXES, gamma=[0.5, 2.0], graph=Counted(5), cv=3).fit(X, y)
    Counted.built.clear()
    more = np.flatnonzero(y == -1)[:8]
    assert model.add_labels(more, truth[more]) is model
    assert Counted.built == []
    known = y.copy()
    known[more] = truth[more]
    again = LapSVCCV(**AXES, gamma=[0.5, 2.0], graph=KNNGraph(5), cv=3).fit(X, known)
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-10)
    assert model.best_params_ == again.best_params_
    np.testing.assert_array_equal(model.transduction_[more], truth[more])
    assert not hasattr(model.graph, "affinity_")  # the user's parameter is back


def test_new_targets_choose_again():
    X, y = targets()
    model = LapRLSRegressorCV(**FEW).fit(X, y)
    row = int(np.flatnonzero(np.isnan(y))[0])
    y[row] = 6.0
    again = LapRLSRegressorCV(**FEW).fit(X, y)
    model.add_labels([row], [6.0])
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-10)
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_loss"], again.cv_results_["mean_test_loss"]
    )


def test_texts_frames_and_missing_marks():
    X, y, truth = moons()
    names = np.array(["moon", "sun"])
    frame = pd.DataFrame(X, columns=["a", "b"])
    labels = pd.Series([names[c] if c >= 0 else pd.NA for c in y])
    model = LapSVCCV(**FEW, cv=LabeledKFold(3, shuffle=False)).fit(frame, labels)
    plain = LapSVCCV(**FEW, cv=3).fit(X, y)
    assert model.classes_.tolist() == ["moon", "sun"]
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(frame), names[plain.predict(X)])
    np.testing.assert_allclose(
        model.cv_results_["mean_test_loss"], plain.cv_results_["mean_test_loss"]
    )
    np.testing.assert_array_equal(model.transduction_, names[plain.transduction_])
    model.add_labels([50], [names[truth[50]]])
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_a_second_fit_forgets_the_first():
    X, y, _ = moons()
    model = LapSVCCV(**FEW, n_landmarks=10).fit(X, y)
    model.set_params(n_landmarks=None).fit(X, y)
    fresh = LapSVCCV(**FEW).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), fresh.decision_function(X))
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "dual_coef_")
    assert model.coef_.shape == (1, 2)


def test_input_is_left_as_it_is():
    X, y, _ = moons()
    K = gram(X, X)
    kept = K.copy()
    LapSVCCV(**FEW, kernel="precomputed").fit(K, y)
    np.testing.assert_array_equal(K, kept)


@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "squared"])
def test_result_certifies_the_optimum(name):
    X, y, _ = blobs()
    model = clone(CLASSIFIERS[name][0]).set_params(**FEW, cv=3).fit(X, y)
    assert model.result_.status == "converged"
    assert model.result_.solver == "grid"
    assert 0.0 <= model.result_.gap <= 1e-8 * model.result_.objective


def test_kernel_values_beyond_double_precision_are_named():
    X, truth = load_digits(return_X_y=True)  # pixels up to 16, and their sums of products cubed
    X, y = X[:300], np.where(np.arange(300) < 60, truth[:300], -1)
    with pytest.raises(ValueError, match=r"too large\. Raise .*, or scale the columns"):
        LapSVCCV(kernel="poly", gamma=1.0, cv=2).fit(X, y)
    rows = 1e6 * np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(ValueError, match="no solution in double precision: with weights"):
        LapSVCCV(**{**FEW, "kernel": "poly", "gamma": 1.0}).fit(rows, moons()[1])


@pytest.mark.parametrize(
    ("search", "plain", "usual"),
    [
        (LapSVCCV, LapSVC, {"reg_ambient": 1e-3, "reg_manifold": 1.0}),
        (LapSVCCV, LapSVC, {"reg_ambient": 1e-3, "reg_manifold": 1.0, "cv": 5}),
        (LapRLSClassifierCV, LapRLSClassifier, {"reg_ambient": 1e-3, "reg_manifold": 1.0}),
        (LapRLSRegressorCV, LapRLSRegressor, {"reg_ambient": 1e-3, "reg_manifold": 1e-2}),
    ],
)
def test_too_few_labels_for_folds_give_the_usual_weights(search, plain, usual):
    X, y, truth = moons(n_labelled=2)
    if plain is LapRLSRegressor:
        y = np.where(y == 0, 2.0, np.nan)
    reason = "one row has a target" if plain is LapRLSRegressor else "no class has two labels"
    folds = {"cv": usual.pop("cv", None)}
    with pytest.warns(UserWarning, match=f"{reason}.*defaults of {plain.__name__}"):
        model = search(**AXES, gamma=[2.0, 0.5], **folds).fit(X, y)
    assert model.best_params_ == usual
    assert model.n_splits_ == 0
    assert np.isnan(model.best_score_)
    expected = plain(gamma=2.0, **usual).fit(X, y)
    np.testing.assert_allclose(
        model.predictor_.values(X), expected.predictor_.values(X), rtol=0, atol=1e-6
    )
    more = np.flatnonzero(truth >= 0)[:20]
    assert model.add_labels(more, truth[more]).best_score_ <= 1.0


def test_gap_is_measured_on_all_rows():
    X, y, _ = moons()
    kernel = {"kernel": "poly", "gamma": 1.0, "degree": 2}
    model = LapSVCCV(**{**FEW, **kernel}).fit(X, y)
    single = LapSVC(**kernel, **model.best_params_).fit(X, y)
    assert model.result_.objective == pytest.approx(single.result_.objective, rel=1e-6)
    assert model.result_.gap <= 1e-6 * model.result_.objective
