"""S3VC: names of classes, order, scale and origin of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from helpers.data import fit_quietly
from helpers.s3vc import SOLVERS, blobs, centred_solver, every_solver, tight
from lapwing import S3VC

# ---------------------------------------------------------------- properties

few = settings(max_examples=5)
seeds = st.integers(0, 10_000)
# The others take hundreds of descents: one example of each property has to do.
quick_solver = centred_solver


def assert_mirrored(model, X, y, tolerance):
    first = fit_quietly(clone(model), X, y)
    mirrored = fit_quietly(clone(model), X, np.where(y == -1, -1, 1 - y))
    np.testing.assert_allclose(
        mirrored.decision_function(X), -first.decision_function(X), atol=tolerance
    )
    np.testing.assert_array_equal(mirrored.transduction_, 1 - first.transduction_)


def assert_permuted(model, X, y, order, tolerance):
    first = fit_quietly(clone(model), X, y)
    shuffled = fit_quietly(clone(model), X[order], y[order])
    np.testing.assert_array_equal(shuffled.transduction_, first.transduction_[order])
    np.testing.assert_allclose(
        shuffled.decision_function(X), first.decision_function(X), atol=tolerance
    )


def assert_scaled(model, X, y, s, tolerance):
    first = fit_quietly(clone(model), X, y)
    scaled = fit_quietly(clone(model).set_params(reg=model.reg * s**2), s * X, y)
    np.testing.assert_allclose(
        scaled.decision_function(s * X), first.decision_function(X), atol=tolerance
    )


def small(seed):
    return blobs(n=14, n_labelled=6, gap=3.0, seed=seed)[:2]


@quick_solver
@few
@given(seed=seeds)
def test_other_names_of_the_classes_mirror_the_decision(solver, seed):
    assert_mirrored(tight(solver, tol=1e-8, reg=0.05), *small(seed), 1e-4)


@quick_solver
@few
@given(seed=seeds)
def test_order_of_the_rows_does_not_matter(solver, seed):
    order = np.random.default_rng(seed).permutation(14)
    assert_permuted(tight(solver, tol=1e-8, reg=0.05), *small(seed), order, 1e-4)


@quick_solver
@few
@given(seed=seeds, s=st.floats(0.1, 10.0))
def test_scale_of_the_rows_is_that_of_the_regularisation(solver, seed, s):
    assert_scaled(tight(solver, tol=1e-8, reg=0.05), *small(seed), s, 1e-3)


@pytest.mark.parametrize("solver", SOLVERS[2:])
def test_properties_hold_for_the_slower_solvers_too(solver):
    model = tight(solver, tol=1e-6, reg=0.05)
    X, y = small(0)
    assert_mirrored(model, X, y, 1e-3)
    assert_permuted(model, X, y, np.random.default_rng(0).permutation(14), 1e-3)
    assert_scaled(model, X, y, 3.0, 1e-3)


# ---------------------------------------------------------------- scales, and what reviews found


@every_solver
def test_the_origin_of_the_rows_does_not_matter(solver):
    X, y, _ = blobs(n=40, gap=2.0)
    settings = {"solver": solver, "calibration_folds": 0, "tol": 1e-6, "max_iter": 1000}
    near = S3VC(**settings).fit(X, y)
    far = S3VC(**settings).fit(X + 1e4, y)
    assert far.result_.objective == pytest.approx(near.result_.objective, rel=1e-4)
    np.testing.assert_array_equal(far.transduction_, near.transduction_)


@pytest.mark.parametrize("stretch", [1e-6, 1e3, 1e8])
def test_supervised_columns_of_unlike_scale_reach_the_optimum(stretch):
    X, y, _ = blobs(n=60, gap=1.0)
    known = y != -1
    X = X * np.where(np.arange(X.shape[1]) % 2, stretch, 1.0)
    rough = S3VC(reg_unlabeled=0.0, max_iter=5000).fit(X, y)
    exact = S3VC(reg_unlabeled=0.0, tol=1e-9, max_iter=50_000).fit(X, y)
    assert known.any()
    assert rough.result_.objective <= exact.result_.objective * 1.01 + 1e-12


def test_a_refit_with_other_landmarks_forgets_the_centres():
    X, y, _ = blobs(n=60)
    model = S3VC("rbf", n_landmarks=10, landmarks="kmeans").fit(X, y)
    for landmarks in ("random", "pca", "kmeans"):
        model.set_params(landmarks=landmarks).fit(X, y)
        fresh = S3VC("rbf", n_landmarks=10, landmarks=landmarks).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X), fresh.decision_function(X))
        assert hasattr(model, "landmarks_") == (landmarks == "kmeans")


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_rows_to_predict_may_be_sparse_where_the_fitted_ones_were_not(kernel):
    X, y, _ = blobs(n=60)
    dense = S3VC(kernel).fit(X, y)
    sparse = S3VC(kernel, gamma=0.5).fit(sp.csr_matrix(X), y)
    for model, other in ((dense, sp.csr_matrix(X)), (sparse, X)):
        same = sp.csr_matrix(X) if other is X else X
        np.testing.assert_allclose(
            model.decision_function(other), model.decision_function(same), atol=1e-9
        )
        assert model.predict_proba(other).shape == (60, 2)


def test_rows_without_features_leave_the_constant():
    y = np.full(60, -1)
    y[:10] = np.arange(10) % 2
    model = S3VC(n_landmarks=1).fit(np.zeros((60, 3)), y)
    assert np.isfinite(model.decision_function(np.zeros((4, 3)))).all()


def test_another_set_of_classes_starts_anew():
    X, y, _ = blobs(n=60, gap=1.0)
    model = S3VC(warm_start=True).fit(X, y)
    renamed = np.where(y == -1, -1, np.where(y == 0, 2, 1))  # classes 1 and 2, mirrored
    fresh = S3VC().fit(X, renamed)
    np.testing.assert_array_equal(
        model.fit(X, renamed).decision_function(X), fresh.decision_function(X)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("annealing", (np.inf, 1.0)), ("annealing", (np.nan, 1.0)), ("max_iter", -3),
        ("max_iter", None), ("n_landmarks", 10.0), ("n_init", 2.5), ("reg", "a"), ("reg", None),
        ("positive_ratio", {0: 0.5}), ("positive_ratio", 7), ("positive_ratio", "labelled"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reg_unlabeled", [0.0, 1.0])
def test_odd_parameters_are_value_errors(name, value, reg_unlabeled):
    X, y, _ = blobs(n=60)
    with pytest.raises(ValueError, match=name):
        S3VC(**{"reg_unlabeled": reg_unlabeled, name: value}).fit(X, y)


def test_a_failed_refit_leaves_the_model_as_it_was():
    X, y, _ = blobs(n=60)
    model = S3VC("rbf").fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(MemoryError):
        model.set_params(kernel="linear", memory_limit=10).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)
