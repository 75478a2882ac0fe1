"""S3VC: equivalences of its kernels and spaces, and of supervised models."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.svm import LinearSVC

import lapwing.plan.base as module
from helpers.data import fit_quietly, gaussian
from helpers.s3vc import SOLVERS, blobs, every_solver, mostly, tight
from lapwing import S3VC

# ---------------------------------------------------------------- kernels and spaces


@mostly(True, False)
def test_linear_kernel_equals_its_gram_matrix_and_sparse_rows(solver, case):
    X, y, _ = blobs(n=24)
    X[np.abs(X) < 0.2] = 0.0
    model = tight(solver, fit_intercept=case)
    linear = fit_quietly(clone(model), X, y)
    expected = linear.decision_function(X)
    sparse = fit_quietly(clone(model), sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.decision_function(X), expected, atol=1e-8)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), expected, atol=1e-8)
    gram = fit_quietly(clone(model).set_params(kernel="precomputed"), X @ X.T, y)
    np.testing.assert_allclose(gram.decision_function(X @ X.T), expected, atol=1e-8)
    assert linear.coef_.shape == (1, 3)
    assert gram.dual_coef_.shape == (1, len(X))
    np.testing.assert_allclose(gram.dual_coef_ @ X, linear.coef_, atol=1e-8)
    if not case:
        np.testing.assert_array_equal(linear.intercept_, 0.0)


@pytest.mark.parametrize("solver", SOLVERS[:3])
@pytest.mark.parametrize("landmarks", ["random", "pca"])
def test_all_rows_as_landmarks_are_the_full_model(solver, landmarks):
    X, y, _ = blobs(n=16, n_labelled=6)
    new = X[:7] + 0.1
    options = {"kernel": "rbf", "gamma": 1.0, "tol": 1e-8}
    full = fit_quietly(tight(solver, **options), X, y)
    some = fit_quietly(tight(solver, **options, n_landmarks=16, landmarks=landmarks), X, y)
    expected = full.decision_function(new)
    np.testing.assert_allclose(some.decision_function(new), expected, atol=1e-5)
    if solver != "quasi-newton":
        return
    K, K_new = gaussian(X, X, 1.0), gaussian(new, X, 1.0)
    gram = tight(solver, **{**options, "kernel": "precomputed"}, n_landmarks=16)
    gram = fit_quietly(gram.set_params(landmarks=landmarks), K, y)
    np.testing.assert_allclose(gram.decision_function(K_new), expected, atol=1e-5)


@pytest.mark.parametrize("landmarks", ["random", "kmeans", "pca"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine", "poly"])
@pytest.mark.parametrize("sparse", [False, True])
def test_prediction_repeats_the_fitted_values(landmarks, kernel, sparse):
    X, y, truth = blobs(n=60)
    X = sp.csr_matrix(X) if sparse else X
    model = S3VC(kernel, n_landmarks=5, landmarks=landmarks, coef0=1.0, calibration_folds=0)
    seen = []
    model.set_params(callback=lambda step: seen.append(step.function.values)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), seen[-1][:, 0], atol=1e-9)
    assert hasattr(model, "landmarks_") == (landmarks == "kmeans")
    if kernel in ("linear", "cosine"):
        assert model.coef_.shape == (1, 3)
    else:
        columns = {"random": 60, "pca": 60, "kmeans": 5}[landmarks]
        assert model.dual_coef_.shape == (1, columns)
        assert len(model.support_) == (60 if landmarks == "pca" else 5)
    assert model.score(X, truth) > 0.8


def test_callable_kernel_equals_the_named_one():
    X, y, _ = blobs()
    named = tight("quasi-newton", kernel="rbf", gamma=0.5, tol=1e-8).fit(X, y)
    own = tight("quasi-newton", kernel=lambda A, B: gaussian(A, B, 0.5), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), named.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("storage", ["triangle64", "tiled"])
def test_storage_of_the_gram_matrix_does_not_change_the_function(storage, monkeypatch):
    X, y, _ = blobs()
    model = tight("quasi-newton", kernel="rbf", tol=1e-8)
    expected = clone(model).fit(X, y).decision_function(X)
    monkeypatch.setattr(module, "choose_storage", lambda *_: storage)
    found = model.set_params(memory_limit=20_000).fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), expected, atol=1e-6)


@mostly("linear", "cosine")
def test_sparse_rows_are_never_made_dense(solver, case, monkeypatch):
    X, y, _ = blobs(d=30)
    X = sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))

    def refuse(*_args, **_kwargs):
        raise AssertionError("sparse rows became dense")

    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array):
        for name in ("toarray", "todense", "__array__"):
            monkeypatch.setattr(kind, name, refuse, raising=False)
    fitted = fit_quietly(S3VC(case, solver=solver, n_init=2), X, y)
    fitted.predict_proba(X)
    fitted.predict(X[:5])
    fitted.add_labels([20], [0])


# ---------------------------------------------------------------- known models


@pytest.mark.parametrize("solver", ["label-switching", "annealing"])
def test_without_unlabelled_weight_it_is_the_linear_svc(solver):
    X, y, _ = blobs(n=60, n_labelled=30, gap=0.8)
    known = y != -1
    model = tight(solver, reg_unlabeled=0.0, fit_intercept=False, reg=0.05).fit(X, y)
    svc = LinearSVC(
        loss="squared_hinge", dual=False, fit_intercept=False, C=1 / (2 * 0.05 * 30), tol=1e-10,
        max_iter=10_000,
    )  # fmt: skip
    svc.fit(X[known], y[known])
    np.testing.assert_allclose(model.coef_, svc.coef_, atol=1e-6)
    assert model.result_.status == "converged"
    assert "supervised" in model.result_.message
    assert len(model.result_.history) == 1
    assert model.positive_ratio_ is None


@every_solver
def test_all_rows_labelled_warns_and_is_the_supervised_model(solver):
    X, _, truth = blobs(gap=1.0)
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        model = tight(solver).fit(X, truth)
    padded = np.vstack([X, X + 5.0])
    labels = np.append(truth, np.full(len(X), -1))
    expected = tight(solver, reg_unlabeled=0.0).fit(padded, labels)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-7)
    np.testing.assert_array_equal(model.transduction_, truth)


@every_solver
def test_restarts_do_not_change_the_supervised_model(solver):
    X, y, _ = blobs(gap=1.0)
    one = tight(solver, reg_unlabeled=0.0).fit(X, y)
    many = tight(solver, reg_unlabeled=0.0, n_init=5).fit(X, y)
    np.testing.assert_array_equal(many.decision_function(X), one.decision_function(X))


@every_solver
def test_unlabelled_rows_move_the_boundary_into_the_gap(solver):
    # Both labels lie at the ends of long clusters: the boundary between them is slanted.
    rng = np.random.default_rng(0)
    truth = np.arange(80) % 2
    X = np.column_stack([6.0 * truth - 3.0, 2.0 * rng.normal(size=80)])
    X[:, 0] += 0.5 * rng.normal(size=80)
    X[:2] = [[-3.0, -4.0], [3.0, 4.0]]
    y = np.where(np.arange(80) < 2, truth, -1)
    alone = S3VC(solver=solver, reg=0.1, reg_unlabeled=0.0).fit(X, y)
    helped = S3VC(solver=solver, reg=0.1).fit(X, y)
    assert (alone.transduction_ == truth).mean() < 0.95
    assert (helped.transduction_ == truth).mean() > 0.97
