"""S3VC: the balance of the classes that it holds, several classes, and weights."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from helpers.data import fit_quietly
from helpers.s3vc import blobs, centred_solver, every_solver, tight
from lapwing import S3VC

# ---------------------------------------------------------------- balance


@centred_solver
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ratio", ["labeled", 0.3])
def test_mean_over_the_unlabelled_rows_is_held(solver, kernel, sparse, ratio):
    X, y, _ = blobs(n_labelled=9)
    X = sp.csr_matrix(X) if sparse else X
    model = S3VC(kernel, solver=solver, positive_ratio=ratio).fit(X, y)
    expected = 4 / 9 if ratio == "labeled" else ratio
    np.testing.assert_allclose(model.positive_ratio_, [expected])
    mean = model.decision_function(X)[y == -1].mean()
    assert mean == pytest.approx(2 * expected - 1, abs=1e-10)


@centred_solver
def test_mean_is_weighted_as_the_rows_are(solver):
    X, y, _ = blobs()
    weights = np.random.default_rng(0).random(len(X)) * 3
    model = S3VC(solver=solver, positive_ratio=0.6).fit(X, y, sample_weight=weights)
    free = y == -1
    mean = np.average(model.decision_function(X)[free], weights=weights[free])
    assert mean == pytest.approx(0.2, abs=1e-10)
    labelled = S3VC(solver=solver).fit(X, y, sample_weight=weights)
    share = np.average(y[~free], weights=weights[~free])
    np.testing.assert_allclose(labelled.positive_ratio_, [share])


@centred_solver
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("ratio", ["labeled", (0.5, 0.2, 0.3)])
def test_every_class_holds_its_share(solver, kernel, ratio):
    X, y, _ = blobs(n=60, n_classes=3, n_labelled=10)
    model = S3VC(kernel, solver=solver, positive_ratio=ratio).fit(X, y)
    shares = np.array([0.4, 0.3, 0.3]) if ratio == "labeled" else np.array(ratio)
    np.testing.assert_allclose(model.positive_ratio_, shares)
    means = model.decision_function(X)[y == -1].mean(axis=0)
    np.testing.assert_allclose(means, 2 * shares - 1, atol=1e-10)


@pytest.mark.parametrize("solver", ["label-switching", "annealing"])
def test_the_other_solvers_label_by_the_given_ratio(solver):
    X, y, truth = blobs(n=80, gap=3.0, n_labelled=8)
    X, y = np.delete(X, np.arange(9, 59, 2), axis=0), np.delete(y, np.arange(9, 59, 2))
    truth = np.delete(truth, np.arange(9, 59, 2))
    share = truth[y == -1].mean()
    assert share < 0.35
    given = S3VC(solver=solver, positive_ratio=share).fit(X, y)
    np.testing.assert_allclose(given.positive_ratio_, [share])
    np.testing.assert_array_equal(given.transduction_, truth)
    # Half of them positive is wrong here, and is what the labels say.
    labelled = S3VC(solver=solver).fit(X, y)
    np.testing.assert_allclose(labelled.positive_ratio_, [0.5])
    assert labelled.result_.objective > given.result_.objective


def test_ratio_of_two_classes_as_number_and_as_array():
    X, y, _ = blobs()
    one = S3VC(positive_ratio=0.3).fit(X, y).decision_function(X)
    two = S3VC(positive_ratio=[0.7, 0.3]).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(one, two)


@every_solver
def test_without_a_ratio_nothing_is_held(solver):
    X, y, _ = blobs(gap=1.0)
    model = fit_quietly(S3VC(solver=solver, positive_ratio=None), X, y)
    assert model.positive_ratio_ is None
    assert abs(model.decision_function(X)[y == -1].mean()) > 1e-6


@centred_solver
def test_without_an_intercept_nothing_is_held(solver):
    X, y, _ = blobs()
    model = fit_quietly(S3VC(solver=solver, fit_intercept=False), X, y)
    np.testing.assert_array_equal(model.intercept_, 0.0)
    assert abs(model.decision_function(X)[y == -1].mean()) > 1e-3


def test_nearly_all_rows_in_one_class_is_told():
    rng = np.random.default_rng(0)
    X = np.vstack([[[-4.0, 0.0], [4.0, 0.0]], rng.normal(size=(60, 2)) * 0.3 + [3.0, 0.0]])
    y = np.append([0, 1], np.full(60, -1))
    with pytest.warns(UserWarning, match=r"100\.0% of the unlabelled rows are put in class.*1.*50"):
        S3VC(positive_ratio=None).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        S3VC(positive_ratio=0.98).fit(X, y)  # as expected
        S3VC(positive_ratio=0.5).fit(X, y)  # and here it is not so


@every_solver
def test_one_unlabelled_row_is_of_one_class_without_a_warning(solver):
    X, _, truth = blobs()
    y = np.where(np.arange(len(X)) == 5, -1, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        S3VC(solver=solver).fit(X, y)


def test_one_class_of_three_taking_all_is_told():
    X, y, _ = blobs(n=60, n_classes=3, n_labelled=6)
    X[6:] = X[2] + 0.01 * X[6:]
    with pytest.warns(UserWarning, match=r"put in class .*2"):
        S3VC(positive_ratio=None).fit(X, y)


# ---------------------------------------------------------------- classes, weights


@every_solver
def test_several_classes_are_the_binary_problems_one_by_one(solver):
    X, y, truth = blobs(n=60, n_classes=3, n_labelled=12)
    model = S3VC(solver=solver, tol=1e-6, max_iter=1000, calibration_folds=0)
    together = clone(model).fit(X, y)
    assert together.decision_function(X).shape == (60, 3)
    assert together.coef_.shape == (3, 3)
    assert together.intercept_.shape == (3,)
    for k in range(3):
        alone = clone(model).fit(X, np.where(y == -1, -1, (y == k).astype(int)))
        np.testing.assert_allclose(
            together.decision_function(X)[:, k], alone.decision_function(X), atol=1e-3
        )
    assert (together.transduction_ == truth).mean() > 0.9


@every_solver
@pytest.mark.parametrize("ratio", ["labeled", 0.5])
def test_whole_weights_are_repeated_rows(solver, ratio):
    X, y, _ = blobs(n=30, n_labelled=6, gap=1.2)
    repeats = np.array([1, 3, 2] * 10)
    if ratio == 0.5:  # twelve of 24 rows, so that no row would be cut in two
        repeats = np.where(y == -1, 2, repeats)
    model = tight(solver, positive_ratio=ratio)
    if solver in ("label-switching", "annealing"):
        if ratio == "labeled":
            model.set_params(positive_ratio=None)
        model.set_params(tol=1e-8)
    weighted = fit_quietly(clone(model), X, y, sample_weight=repeats)
    repeated = fit_quietly(clone(model), np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)
    if ratio == "labeled":
        plain = fit_quietly(clone(model), X, y)
        assert np.abs(plain.decision_function(X) - weighted.decision_function(X)).max() > 1e-4


@every_solver
def test_rows_of_weight_zero_are_not_there(solver):
    X, y, _ = blobs(n=32, gap=1.5)
    weights = np.random.default_rng(1).random(len(X)) + 0.5
    weights[[1, 4, 11, 17, 30]] = 0.0
    model = tight(solver, tol=1e-8)
    weighted = fit_quietly(clone(model), X, y, sample_weight=weights)
    kept = weights > 0
    without = fit_quietly(clone(model), X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(
        weighted.decision_function(X), without.decision_function(X), atol=1e-6
    )
    assert weighted.transduction_.shape == y.shape


def test_unlabelled_rows_all_of_weight_zero_leave_the_supervised_model():
    X, y, _ = blobs()
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        model = S3VC(tol=1e-8).fit(X, y, sample_weight=(y != -1).astype(float))
    expected = S3VC(reg_unlabeled=0.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)


@every_solver
def test_class_weight_is_the_weight_of_the_labelled_rows(solver):
    X, y, _ = blobs(n=25, n_labelled=9, gap=1.0)
    y[1] = -1  # three of one class, five of the other
    counts = np.bincount(y[y != -1])
    assert counts[0] != counts[1]
    weight = counts.sum() / (2 * counts)
    model = tight(solver, positive_ratio=0.5, tol=1e-6)
    balanced = fit_quietly(clone(model).set_params(class_weight="balanced"), X, y)
    given = fit_quietly(clone(model).set_params(class_weight=dict(enumerate(weight))), X, y)
    by_hand = fit_quietly(
        clone(model), X, y, sample_weight=np.where(y == -1, 1.0, weight[np.maximum(y, 0)])
    )
    plain = fit_quietly(clone(model), X, y)
    expected = by_hand.decision_function(X)
    np.testing.assert_allclose(balanced.decision_function(X), expected, atol=1e-5)
    np.testing.assert_allclose(given.decision_function(X), expected, atol=1e-5)
    assert np.abs(plain.decision_function(X) - expected).max() > 1e-3
