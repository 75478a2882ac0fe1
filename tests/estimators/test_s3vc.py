"""S3VC: equivalences of its spaces, the balance it holds, and the life of the estimator."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import lapwing.plan.margin as module
from lapwing import S3VC

SOLVERS = ["quasi-newton", "cccp", "label-switching", "annealing"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
centred_solver = pytest.mark.parametrize("solver", SOLVERS[:2])


def mostly(first, *others):
    """Every solver with the first case, and the default solver with the others too."""
    cases = [*((solver, first) for solver in SOLVERS), *((SOLVERS[0], case) for case in others)]
    return pytest.mark.parametrize(("solver", "case"), cases)


def blobs(n=40, n_classes=2, n_labelled=8, d=3, gap=2.0, seed=0):
    """Rows around class centres; labels of the first rows, -1 elsewhere; and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    centres = gap * np.eye(max(n_classes, d))[:n_classes, :d]
    X = centres[truth] + 0.7 * rng.normal(size=(n, d))
    y = np.where(np.arange(n) < n_labelled, truth, -1)
    return X, y, truth


def tight(solver, **options):
    """A machine whose descents end at rounding."""
    settings = {"solver": solver, "tol": 1e-10, "max_iter": 3000, "calibration_folds": 0}
    return S3VC(**{**settings, **options})


def fit_quietly(machine, X, y, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return machine.fit(X, y, **arguments)


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


# ---------------------------------------------------------------- kernels and spaces


@mostly(True, False)
def test_linear_kernel_equals_its_gram_matrix_and_sparse_rows(solver, case):
    X, y, _ = blobs(n=24)
    X[np.abs(X) < 0.2] = 0.0
    machine = tight(solver, fit_intercept=case)
    linear = fit_quietly(clone(machine), X, y)
    expected = linear.decision_function(X)
    sparse = fit_quietly(clone(machine), sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.decision_function(X), expected, atol=1e-8)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), expected, atol=1e-8)
    gram = fit_quietly(clone(machine).set_params(kernel="precomputed"), X @ X.T, y)
    np.testing.assert_allclose(gram.decision_function(X @ X.T), expected, atol=1e-8)
    assert linear.coef_.shape == (1, 3)
    assert gram.dual_coef_.shape == (1, len(X))
    np.testing.assert_allclose(gram.dual_coef_ @ X, linear.coef_, atol=1e-8)
    if not case:
        np.testing.assert_array_equal(linear.intercept_, 0.0)


@pytest.mark.parametrize("solver", SOLVERS[:3])
@pytest.mark.parametrize("landmarks", ["random", "pca"])
def test_all_rows_as_landmarks_are_the_full_machine(solver, landmarks):
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
    machine = S3VC(kernel, n_landmarks=5, landmarks=landmarks, coef0=1.0, calibration_folds=0)
    seen = []
    machine.set_params(callback=lambda step: seen.append(step.function.values)).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), seen[-1][:, 0], atol=1e-9)
    assert hasattr(machine, "landmarks_") == (landmarks == "kmeans")
    if kernel in ("linear", "cosine"):
        assert machine.coef_.shape == (1, 3)
    else:
        columns = {"random": 60, "pca": 60, "kmeans": 5}[landmarks]
        assert machine.dual_coef_.shape == (1, columns)
        assert len(machine.support_) == (60 if landmarks == "pca" else 5)
    assert machine.score(X, truth) > 0.8


def test_callable_kernel_equals_the_named_one():
    X, y, _ = blobs()
    named = tight("quasi-newton", kernel="rbf", gamma=0.5, tol=1e-8).fit(X, y)
    own = tight("quasi-newton", kernel=lambda A, B: gaussian(A, B, 0.5), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), named.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("storage", ["triangle64", "tiled"])
def test_storage_of_the_gram_matrix_does_not_change_the_function(storage, monkeypatch):
    X, y, _ = blobs()
    machine = tight("quasi-newton", kernel="rbf", tol=1e-8)
    expected = clone(machine).fit(X, y).decision_function(X)
    monkeypatch.setattr(module, "choose_storage", lambda *_: storage)
    found = machine.set_params(memory_limit=1).fit(X, y)
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


# ---------------------------------------------------------------- known machines


@pytest.mark.parametrize("solver", ["label-switching", "annealing"])
def test_without_unlabelled_weight_it_is_the_linear_svc(solver):
    X, y, _ = blobs(n=60, n_labelled=30, gap=0.8)
    known = y != -1
    machine = tight(solver, reg_unlabeled=0.0, fit_intercept=False, reg=0.05).fit(X, y)
    svc = LinearSVC(
        loss="squared_hinge", dual=False, fit_intercept=False, C=1 / (2 * 0.05 * 30), tol=1e-10,
        max_iter=10_000,
    )  # fmt: skip
    svc.fit(X[known], y[known])
    np.testing.assert_allclose(machine.coef_, svc.coef_, atol=1e-6)
    assert machine.result_.status == "converged"
    assert "supervised" in machine.result_.message
    assert len(machine.result_.history) == 1
    assert machine.positive_ratio_ is None


@every_solver
def test_all_rows_labelled_warns_and_is_the_supervised_machine(solver):
    X, _, truth = blobs(gap=1.0)
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        machine = tight(solver).fit(X, truth)
    padded = np.vstack([X, X + 5.0])
    labels = np.append(truth, np.full(len(X), -1))
    expected = tight(solver, reg_unlabeled=0.0).fit(padded, labels)
    np.testing.assert_allclose(
        machine.decision_function(X), expected.decision_function(X), atol=1e-7
    )
    np.testing.assert_array_equal(machine.transduction_, truth)


@every_solver
def test_restarts_do_not_change_the_supervised_machine(solver):
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


# ---------------------------------------------------------------- balance


@centred_solver
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ratio", ["labeled", 0.3])
def test_mean_over_the_unlabelled_rows_is_held(solver, kernel, sparse, ratio):
    X, y, _ = blobs(n_labelled=9)
    X = sp.csr_matrix(X) if sparse else X
    machine = S3VC(kernel, solver=solver, positive_ratio=ratio).fit(X, y)
    expected = 4 / 9 if ratio == "labeled" else ratio
    np.testing.assert_allclose(machine.positive_ratio_, [expected])
    mean = machine.decision_function(X)[y == -1].mean()
    assert mean == pytest.approx(2 * expected - 1, abs=1e-10)


@centred_solver
def test_mean_is_weighted_as_the_rows_are(solver):
    X, y, _ = blobs()
    weights = np.random.default_rng(0).random(len(X)) * 3
    machine = S3VC(solver=solver, positive_ratio=0.6).fit(X, y, sample_weight=weights)
    free = y == -1
    mean = np.average(machine.decision_function(X)[free], weights=weights[free])
    assert mean == pytest.approx(0.2, abs=1e-10)
    labelled = S3VC(solver=solver).fit(X, y, sample_weight=weights)
    share = np.average(y[~free], weights=weights[~free])
    np.testing.assert_allclose(labelled.positive_ratio_, [share])


@centred_solver
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("ratio", ["labeled", (0.5, 0.2, 0.3)])
def test_every_class_holds_its_share(solver, kernel, ratio):
    X, y, _ = blobs(n=60, n_classes=3, n_labelled=10)
    machine = S3VC(kernel, solver=solver, positive_ratio=ratio).fit(X, y)
    shares = np.array([0.4, 0.3, 0.3]) if ratio == "labeled" else np.array(ratio)
    np.testing.assert_allclose(machine.positive_ratio_, shares)
    means = machine.decision_function(X)[y == -1].mean(axis=0)
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
    machine = fit_quietly(S3VC(solver=solver, positive_ratio=None), X, y)
    assert machine.positive_ratio_ is None
    assert abs(machine.decision_function(X)[y == -1].mean()) > 1e-6


@centred_solver
def test_without_an_intercept_nothing_is_held(solver):
    X, y, _ = blobs()
    machine = fit_quietly(S3VC(solver=solver, fit_intercept=False), X, y)
    np.testing.assert_array_equal(machine.intercept_, 0.0)
    assert abs(machine.decision_function(X)[y == -1].mean()) > 1e-3


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
    machine = S3VC(solver=solver, tol=1e-6, max_iter=1000, calibration_folds=0)
    together = clone(machine).fit(X, y)
    assert together.decision_function(X).shape == (60, 3)
    assert together.coef_.shape == (3, 3)
    assert together.intercept_.shape == (3,)
    for k in range(3):
        alone = clone(machine).fit(X, np.where(y == -1, -1, (y == k).astype(int)))
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
    machine = tight(solver, positive_ratio=ratio)
    if solver in ("label-switching", "annealing"):
        if ratio == "labeled":
            machine.set_params(positive_ratio=None)
        machine.set_params(tol=1e-8)
    weighted = fit_quietly(clone(machine), X, y, sample_weight=repeats)
    repeated = fit_quietly(clone(machine), np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)
    if ratio == "labeled":
        plain = fit_quietly(clone(machine), X, y)
        assert np.abs(plain.decision_function(X) - weighted.decision_function(X)).max() > 1e-4


@every_solver
def test_rows_of_weight_zero_are_not_there(solver):
    X, y, _ = blobs(n=32, gap=1.5)
    weights = np.random.default_rng(1).random(len(X)) + 0.5
    weights[[1, 4, 11, 17, 30]] = 0.0
    machine = tight(solver, tol=1e-8)
    weighted = fit_quietly(clone(machine), X, y, sample_weight=weights)
    kept = weights > 0
    without = fit_quietly(clone(machine), X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(
        weighted.decision_function(X), without.decision_function(X), atol=1e-6
    )
    assert weighted.transduction_.shape == y.shape


def test_unlabelled_rows_all_of_weight_zero_leave_the_supervised_machine():
    X, y, _ = blobs()
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        machine = S3VC(tol=1e-8).fit(X, y, sample_weight=(y != -1).astype(float))
    expected = S3VC(reg_unlabeled=0.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        machine.decision_function(X), expected.decision_function(X), atol=1e-6
    )


@every_solver
def test_class_weight_is_the_weight_of_the_labelled_rows(solver):
    X, y, _ = blobs(n=25, n_labelled=9, gap=1.0)
    y[1] = -1  # three of one class, five of the other
    counts = np.bincount(y[y != -1])
    assert counts[0] != counts[1]
    weight = counts.sum() / (2 * counts)
    machine = tight(solver, positive_ratio=0.5, tol=1e-6)
    balanced = fit_quietly(clone(machine).set_params(class_weight="balanced"), X, y)
    given = fit_quietly(clone(machine).set_params(class_weight=dict(enumerate(weight))), X, y)
    by_hand = fit_quietly(
        clone(machine), X, y, sample_weight=np.where(y == -1, 1.0, weight[np.maximum(y, 0)])
    )
    plain = fit_quietly(clone(machine), X, y)
    expected = by_hand.decision_function(X)
    np.testing.assert_allclose(balanced.decision_function(X), expected, atol=1e-5)
    np.testing.assert_allclose(given.decision_function(X), expected, atol=1e-5)
    assert np.abs(plain.decision_function(X) - expected).max() > 1e-3


# ---------------------------------------------------------------- probabilities


@every_solver
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_sum_to_one_and_tell_more_than_chance(solver, n_classes):
    X, y, truth = blobs(n=90, n_classes=n_classes, n_labelled=18, gap=2.5)
    fitted = S3VC(solver=solver).fit(X, y)
    probability = fitted.predict_proba(X)
    assert probability.shape == (90, n_classes)
    assert (probability >= 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), fitted.predict(X))
    assert log_loss(truth[18:], probability[18:]) < 0.3 * np.log(n_classes)


def test_folds_change_the_probabilities_and_nothing_else():
    X, y, truth = blobs(n=90, n_labelled=12, gap=1.0)
    with_folds = S3VC().fit(X, y)
    without = S3VC(calibration_folds=0).fit(X, y)
    np.testing.assert_allclose(
        with_folds.decision_function(X), without.decision_function(X), atol=1e-10
    )
    assert np.abs(with_folds.predict_proba(X) - without.predict_proba(X)).max() > 1e-3
    # Values that the labels themselves have shaped make a machine too sure of itself.
    assert log_loss(truth[12:], with_folds.predict_proba(X)[12:]) < log_loss(
        truth[12:], without.predict_proba(X)[12:]
    )


def test_one_label_a_class_leaves_nothing_to_fold():
    X, y, _ = blobs(n_labelled=2)
    probability = S3VC().fit(X, y).predict_proba(X)
    assert np.isfinite(probability).all()


# ---------------------------------------------------------------- labels added later


@mostly("linear", "rbf")
def test_added_labels_agree_with_labels_given(solver, case):
    X, y, truth = blobs(n=40, gap=2.5)
    machine = S3VC(case, solver=solver, tol=1e-5, max_iter=1000, positive_ratio=0.5)
    grown = clone(machine).fit(X, y)
    temperature = grown.temperature_
    cold = grown.result_
    new = np.array([20, 21, 33])
    assert grown.add_labels(new, truth[new]) is grown
    assert grown.temperature_ == temperature
    y[new] = truth[new]
    fresh = clone(machine).fit(X, y)
    np.testing.assert_array_equal(grown.transduction_, fresh.transduction_)
    np.testing.assert_allclose(grown.decision_function(X), fresh.decision_function(X), atol=1e-2)
    assert grown.n_iter_ < cold.n_iter
    assert grown.result_.history[0]["stage"] != "supervised"
    assert grown.warm_start is False


@pytest.mark.parametrize("landmarks", ["random", "kmeans", "pca"])
@pytest.mark.parametrize("random_state", [0, None])
def test_added_labels_keep_the_landmarks(landmarks, random_state):
    X, y, truth = blobs(n=120)
    machine = S3VC(
        "rbf", n_landmarks=6, landmarks=landmarks, tol=1e-6, max_iter=1000,
        random_state=random_state,
    ).fit(X, y)  # fmt: skip
    rows, before = machine.support_, machine.decision_function(X)
    machine.add_labels(np.array([], dtype=int), [])
    np.testing.assert_array_equal(machine.support_, rows)
    np.testing.assert_allclose(machine.decision_function(X), before, atol=1e-6)
    assert machine.n_iter_ <= 4
    machine.add_labels([50], [truth[50]])
    np.testing.assert_array_equal(machine.support_, rows)


def test_added_labels_may_bring_a_new_class():
    X, y, truth = blobs(n=60, n_classes=3, n_labelled=12)
    grown = S3VC().fit(X, np.where(y == 2, -1, y))
    assert list(grown.classes_) == [0, 1]
    grown.add_labels(np.flatnonzero(y == 2), np.full(4, 2))
    fresh = S3VC().fit(X, y)
    np.testing.assert_array_equal(grown.decision_function(X), fresh.decision_function(X))
    assert (grown.transduction_ == truth).mean() > 0.9


def test_the_last_label_makes_it_the_supervised_machine():
    X, _, truth = blobs()
    y = truth.copy()
    y[5] = -1
    grown = S3VC().fit(X, y)
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        grown.add_labels(5, truth[5])
    np.testing.assert_array_equal(grown.transduction_, truth)


def test_warm_start_begins_at_the_last_solution():
    X, y, _ = blobs(gap=1.0)
    machine = S3VC(warm_start=True, tol=1e-6, max_iter=1000).fit(X, y)
    values, probability = machine.decision_function(X), machine.predict_proba(X)
    machine.fit(X, y)
    assert machine.n_iter_ <= 4
    np.testing.assert_allclose(machine.decision_function(X), values, atol=1e-6)
    np.testing.assert_allclose(machine.predict_proba(X), probability, atol=1e-6)
    other, labels, _ = blobs(n=30, seed=3)
    fresh = S3VC(tol=1e-6, max_iter=1000).fit(other, labels)
    np.testing.assert_array_equal(
        machine.fit(other, labels).decision_function(other), fresh.decision_function(other)
    )


# ---------------------------------------------------------------- restarts and seeds


@mostly(0, 1, 2)
def test_restarts_never_end_higher(solver, case):
    X, y, _ = blobs(n=30, gap=0.6, n_labelled=4, seed=case)
    machine = S3VC(solver=solver, tol=1e-5, max_iter=1000, calibration_folds=0, reg=1e-2)
    one = fit_quietly(clone(machine), X, y)
    many = fit_quietly(clone(machine).set_params(n_init=4), X, y)
    assert many.result_.objective <= one.result_.objective * (1 + 1e-4)


def test_restarts_find_a_lower_minimum_somewhere():
    gains = []
    for seed in range(5):
        X, y, _ = blobs(n=50, gap=0.6, n_labelled=4, seed=seed)
        machine = S3VC(calibration_folds=0, reg=1e-3, max_iter=1000)
        one = fit_quietly(clone(machine), X, y).result_.objective
        gains.append(one - fit_quietly(clone(machine).set_params(n_init=6), X, y).result_.objective)
    assert max(gains) > 1e-3


@every_solver
def test_same_seed_gives_the_same_bits(solver):
    X, y, _ = blobs(n=24, gap=1.5, n_classes=3, n_labelled=6)
    machine = S3VC("rbf", solver=solver, n_init=2, n_landmarks=5, random_state=3)
    first, second = (fit_quietly(clone(machine), X, y) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    other = fit_quietly(clone(machine).set_params(random_state=4), X, y)
    assert np.abs(first.decision_function(X) - other.decision_function(X)).max() > 1e-6


def test_different_seeds_disturb_differently():
    X, y, _ = blobs(n=50, gap=1.0, n_labelled=4, seed=1)
    found = set()
    for seed in range(6):
        machine = S3VC(n_init=2, reg=1e-3, calibration_folds=0, random_state=seed, max_iter=1000)
        found.add(round(fit_quietly(machine, X, y).result_.objective, 6))
    assert len(found) > 1


# ---------------------------------------------------------------- history, messages, callback


@every_solver
def test_history_tells_every_stage(solver):
    X, y, _ = blobs(gap=1.0)
    seen = []
    machine = S3VC(solver=solver, callback=lambda step: seen.append(step.function.values.copy()))
    fit_quietly(machine, X, y)
    history = machine.result_.history
    assert len(history) == len(seen)
    assert {"stage", "evaluations", "moved", "objective", "iteration", "seconds"} <= set(history[0])
    assert history[0]["stage"] == "supervised"
    assert history[0]["moved"] == 0
    sides = [values[y == -1, 0] > 0 for values in seen]
    moved = [int((a != b).sum()) for a, b in itertools.pairwise(sides)]
    assert [entry["moved"] for entry in history[1:]] == moved
    evaluations = np.cumsum([entry["evaluations"] for entry in history])
    np.testing.assert_array_equal(evaluations, [entry["iteration"] for entry in history])
    assert machine.n_iter_ == evaluations[-1]
    total = int((sides[0] != sides[-1]).sum())
    assert f"{total} of 32 unlabelled rows have changed class" in machine.result_.message
    assert machine.result_.status == "converged"
    assert machine.result_.solver == solver


def test_message_counts_rows_that_have_moved():
    X, y, _ = blobs(n=60, gap=0.8, n_labelled=4)
    machine = S3VC(calibration_folds=0).fit(X, y)
    alone = S3VC(reg_unlabeled=0.0, calibration_folds=0).fit(X, y)
    assert not machine.result_.message.count(": a local minimum; 0 of 56")
    assert len(alone.result_.history) == 1


def test_the_shares_are_the_stages():
    X, y, _ = blobs()
    machine = S3VC(annealing=(0.5, 1)).fit(X, y)
    stages = [entry["stage"] for entry in machine.result_.history]
    assert stages == ["supervised", "unlabelled rows at 0.5", "unlabelled rows at 1"]
    machine = S3VC(annealing=[1, 0.1, 1]).fit(X, y)
    assert len(machine.result_.history) == 4


@every_solver
def test_callback_can_stop(solver):
    X, y, _ = blobs()
    machine = fit_quietly(S3VC(solver=solver, callback=lambda _: True), X, y)
    assert machine.result_.status == "interrupted"
    assert "callback" in machine.result_.message
    assert len(machine.result_.history) == 1
    assert np.isfinite(machine.decision_function(X)).all()


@pytest.mark.parametrize("solver", ["quasi-newton", "annealing"])
def test_too_few_iterations_warn_and_say_what_to_do(solver):
    X, y, _ = blobs(gap=1.0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        machine = S3VC(solver=solver, max_iter=1).fit(X, y)
    assert machine.result_.status == "not_converged"


@every_solver
def test_verbose_writes_to_the_error_stream_only(solver, capsys):
    X, y, _ = blobs()
    S3VC(solver=solver, verbose=1).fit(X, y).predict(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert solver in err
    assert "objective" in err
    S3VC(solver=solver).fit(X, y).predict_proba(X)
    assert capsys.readouterr() == ("", "")


def test_no_warning_in_the_plain_case():
    X, y, _ = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for solver in SOLVERS:
            S3VC(solver=solver).fit(X, y).predict(X)


# ---------------------------------------------------------------- life of an estimator


@pytest.mark.parametrize("solver", ["quasi-newton", "label-switching"])
@pytest.mark.parametrize("landmarks", [None, "random", "kmeans"])
def test_pickle_predicts_alike(solver, landmarks):
    X, y, _ = blobs(n_classes=3, n_labelled=9)
    machine = S3VC("rbf", solver=solver)
    if landmarks is not None:
        machine.set_params(n_landmarks=6, landmarks=landmarks)
    fitted = fit_quietly(machine, X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(again.transduction_, fitted.transduction_)
    assert again.result_ == fitted.result_
    fit_quietly(again, X, y)


def test_clone_forgets_the_fit_and_keeps_the_parameters():
    X, y, _ = blobs()
    machine = S3VC("rbf", gamma="median", solver="cccp", positive_ratio=0.4, annealing=(0.5, 1))
    machine.fit(X, y)
    copy = clone(machine)
    assert not hasattr(copy, "result_")
    assert copy.get_params() == machine.get_params()
    np.testing.assert_array_equal(copy.fit(X, y).decision_function(X), machine.decision_function(X))


def test_fit_leaves_its_input_alone():
    X, y, _ = blobs()
    weights = np.arange(len(X), dtype=float)
    copies = X.copy(), y.copy(), weights.copy()
    S3VC().fit(X, y, sample_weight=weights)
    for before, after in zip(copies, (X, y, weights), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_documented_attributes_exist(kernel):
    X, y, truth = blobs(n_classes=3, n_labelled=9)
    fitted = S3VC(kernel).fit(X, y)
    np.testing.assert_array_equal(fitted.classes_, [0, 1, 2])
    known = y != -1
    np.testing.assert_array_equal(fitted.transduction_[known], y[known])
    np.testing.assert_array_equal(fitted.transduction_[~known], fitted.predict(X)[~known])
    assert fitted.positive_ratio_.shape == (3,)
    assert fitted.intercept_.shape == (3,)
    assert hasattr(fitted, "coef_") == (kernel == "linear")
    assert hasattr(fitted, "dual_coef_") == (kernel == "rbf")
    assert not hasattr(fitted, "landmarks_")
    assert fitted.support_.max() < len(X)
    assert fitted.n_iter_ == fitted.result_.n_iter > 0
    assert fitted.result_.gap is None
    assert fitted.score(X, truth) == np.mean(fitted.predict(X) == truth)
    # Another kernel takes what belonged to the last one away.
    fitted.set_params(kernel="linear" if kernel == "rbf" else "rbf").fit(X, y)
    assert hasattr(fitted, "coef_") == (kernel == "rbf")


def test_pipeline_and_grid_search():
    X, y, truth = blobs(n=60, n_labelled=60, gap=3.5)
    y[::3] = -1
    pipeline = make_pipeline(StandardScaler(), S3VC())
    grid = {"s3vc__reg": [1e-3, 1e-1], "s3vc__solver": ["quasi-newton", "label-switching"]}

    def score(model, rows, labels):
        return np.mean(model.predict(rows)[labels != -1] == labels[labels != -1])

    search = GridSearchCV(pipeline, grid, cv=2, scoring=score, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.9
    assert (search.predict(X) == truth).mean() > 0.9


@every_solver
def test_labels_may_be_words(solver):
    X, y, _ = blobs()
    expected = fit_quietly(S3VC(solver=solver), X, y)
    words = np.array([None if v == -1 else ("no", "yes")[v] for v in y], dtype=object)
    fitted = fit_quietly(S3VC(solver=solver), X, words)
    np.testing.assert_array_equal(fitted.decision_function(X), expected.decision_function(X))
    assert set(fitted.transduction_) == {"no", "yes"}
    fitted.add_labels([20], ["no"])


# ---------------------------------------------------------------- properties

few = settings(max_examples=5)
seeds = st.integers(0, 10_000)
# The others take hundreds of descents: one example of each property has to do.
quick_solver = centred_solver


def assert_mirrored(machine, X, y, tolerance):
    first = fit_quietly(clone(machine), X, y)
    mirrored = fit_quietly(clone(machine), X, np.where(y == -1, -1, 1 - y))
    np.testing.assert_allclose(
        mirrored.decision_function(X), -first.decision_function(X), atol=tolerance
    )
    np.testing.assert_array_equal(mirrored.transduction_, 1 - first.transduction_)


def assert_permuted(machine, X, y, order, tolerance):
    first = fit_quietly(clone(machine), X, y)
    shuffled = fit_quietly(clone(machine), X[order], y[order])
    np.testing.assert_array_equal(shuffled.transduction_, first.transduction_[order])
    np.testing.assert_allclose(
        shuffled.decision_function(X), first.decision_function(X), atol=tolerance
    )


def assert_scaled(machine, X, y, s, tolerance):
    first = fit_quietly(clone(machine), X, y)
    scaled = fit_quietly(clone(machine).set_params(reg=machine.reg * s**2), s * X, y)
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
    machine = tight(solver, tol=1e-6, reg=0.05)
    X, y = small(0)
    assert_mirrored(machine, X, y, 1e-3)
    assert_permuted(machine, X, y, np.random.default_rng(0).permutation(14), 1e-3)
    assert_scaled(machine, X, y, 3.0, 1e-3)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_missing_or_infinite_values_are_refused(bad, sparse):
    X, y, _ = blobs()
    broken = X.copy()
    broken[3, 1] = bad
    wrap = sp.csr_matrix if sparse else np.asarray
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        S3VC().fit(wrap(broken), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        S3VC().fit(wrap(X), y).predict(wrap(broken))


def test_one_class_and_no_label_are_refused():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="only one class"):
        S3VC().fit(X, np.where(y == 1, 1, -1) * 5 + 4 * (y != 1))
    with pytest.raises(ValueError, match="no row is labelled"):
        S3VC().fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match="at least two classes"):
        S3VC().fit(X, y, sample_weight=(y != 0).astype(float))


@pytest.mark.parametrize("ratio", [0.0, 1.0, -0.1, 1.5, np.nan, [0.0, 1.0], [1.2, -0.2]])
def test_ratio_outside_of_zero_and_one_is_refused(ratio):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="between 0 and 1"):
        S3VC(positive_ratio=ratio).fit(X, y)


def test_ratio_of_the_wrong_length_or_sum_or_word_is_refused():
    X, y, _ = blobs(n_classes=3)
    for ratio in (0.5, [0.5, 0.5], [[0.2, 0.3, 0.5]], np.full(4, 0.25)):
        with pytest.raises(ValueError, match="each of the 3 classes"):
            S3VC(positive_ratio=ratio).fit(X, y)
    with pytest.raises(ValueError, match="add up to 1"):
        S3VC(positive_ratio=[0.5, 0.4, 0.3]).fit(X, y)
    with pytest.raises(ValueError, match="'labeled'"):
        S3VC(positive_ratio="labelled").fit(X, y)
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=r"or one number, the share of the second"):
        S3VC(positive_ratio=[0.2, 0.3, 0.5]).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *((name, value, f"{name} must be positive and finite")
          for name in ("reg", "surrogate_gamma", "unlabeled_sharpness", "tol")
          for value in (0.0, -1.0, np.nan, np.inf)),
        *(("reg_unlabeled", value, "reg_unlabeled must be finite and not negative")
          for value in (-1e-9, np.nan, np.inf)),
        ("solver", "newton", "solver must be .quasi-newton., .cccp"),
        ("landmarks", "first", "landmarks must be 'random', 'kmeans' or 'pca'"),
        ("n_landmarks", 0, "n_landmarks must be a whole"),
        ("n_landmarks", 41, "n_landmarks=41 but X has 40 rows"),
        ("n_init", 0, "n_init must be a whole"),
        ("calibration_folds", 1, "calibration_folds must be 0 or at least 2"),
        ("calibration_folds", -3, "calibration_folds must be 0 or at least 2"),
        *(("annealing", value, "annealing must be positive shares")
          for value in ((), (0.1, 0.5), (0.0, 1.0), (-1.0, 1.0), ((0.5, 1.0),))),
        ("kernel", "gauss", "kernel 'gauss' is unknown"),
        ("gamma", -1.0, "gamma must be"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(name, value, message):
    X, y, _ = blobs()
    kernel = {} if name == "kernel" else {"kernel": "rbf"}
    with pytest.raises(ValueError, match=message):
        S3VC(**kernel, **{name: value}).fit(X, y)


@pytest.mark.parametrize("landmarks", ["random", "kmeans", "pca"])
def test_more_landmarks_than_rows_are_refused(landmarks):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="at most as many landmarks as rows"):
        S3VC("rbf", n_landmarks=41, landmarks=landmarks).fit(X, y)


def test_kmeans_needs_rows():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="needs rows"):
        S3VC("precomputed", n_landmarks=5, landmarks="kmeans").fit(X @ X.T, y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "rbf"},
        {"kernel": "rbf", "n_landmarks": 5},
        {"kernel": "rbf", "n_landmarks": 5, "landmarks": "pca"},
    ],
)
def test_too_little_memory_is_told_with_figures(options):
    X, y, _ = blobs()
    message = r"40 rows needs .*\d+(\.\d+)? (kB|MB) and memory_limit allows 999 bytes"
    with pytest.raises(MemoryError, match=message):
        S3VC(**options, memory_limit=999).fit(X, y)
    S3VC(**options, memory_limit="1GB").fit(X, y)


def test_memory_of_a_precomputed_kernel_is_told_with_figures():
    X, y, _ = blobs()
    with pytest.raises(MemoryError, match=r"40 rows needs \d.*memory_limit allows"):
        S3VC("precomputed", memory_limit=999).fit(X @ X.T, y)


@mostly("linear", "cosine", "rbf")
def test_empty_sparse_rows_are_fine(solver, case):
    X, y, _ = blobs(d=6)
    X[[0, 20, 21]] = 0.0
    fitted = fit_quietly(S3VC(case, solver=solver), sp.csr_matrix(X), y)
    assert np.isfinite(fitted.decision_function(sp.csr_matrix(X))).all()
    assert np.isfinite(fitted.predict_proba(sp.csr_matrix(X))).all()


@mostly("linear", "rbf")
@pytest.mark.parametrize("trouble", ["all equal", "all zero", "duplicates", "one unlabelled row"])
def test_degenerate_rows_stay_finite(solver, trouble, case):
    X, y, truth = blobs(n=20, n_labelled=8)
    if trouble == "all equal":
        X = np.ones_like(X)
    elif trouble == "all zero":
        X = np.zeros_like(X)
    elif trouble == "duplicates":
        X, y = np.repeat(X[:4], 5, axis=0), np.where(y == -1, -1, np.repeat(truth[:4], 5))
    else:
        y = truth.copy()
        y[7] = -1
    fitted = fit_quietly(S3VC(case, solver=solver, max_iter=50), X, y)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert np.isfinite(fitted.predict_proba(X)).all()


@every_solver
@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_rows_of_any_size_overflow_nowhere(solver, size):
    X, y, _ = blobs()
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        fitted = fit_quietly(S3VC(solver=solver), size * X, y)
    assert np.isfinite(fitted.decision_function(size * X)).all()


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
    machine = S3VC("rbf", n_landmarks=10, landmarks="kmeans").fit(X, y)
    for landmarks in ("random", "pca", "kmeans"):
        machine.set_params(landmarks=landmarks).fit(X, y)
        fresh = S3VC("rbf", n_landmarks=10, landmarks=landmarks).fit(X, y)
        np.testing.assert_array_equal(machine.decision_function(X), fresh.decision_function(X))
        assert hasattr(machine, "landmarks_") == (landmarks == "kmeans")


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_rows_to_predict_may_be_sparse_where_the_fitted_ones_were_not(kernel):
    X, y, _ = blobs(n=60)
    dense = S3VC(kernel).fit(X, y)
    sparse = S3VC(kernel, gamma=0.5).fit(sp.csr_matrix(X), y)
    for machine, other in ((dense, sp.csr_matrix(X)), (sparse, X)):
        same = sp.csr_matrix(X) if other is X else X
        np.testing.assert_allclose(
            machine.decision_function(other), machine.decision_function(same), atol=1e-9
        )
        assert machine.predict_proba(other).shape == (60, 2)


def test_rows_without_features_leave_the_constant():
    y = np.full(60, -1)
    y[:10] = np.arange(10) % 2
    machine = S3VC(n_landmarks=1).fit(np.zeros((60, 3)), y)
    assert np.isfinite(machine.decision_function(np.zeros((4, 3)))).all()


def test_another_set_of_classes_starts_anew():
    X, y, _ = blobs(n=60, gap=1.0)
    machine = S3VC(warm_start=True).fit(X, y)
    renamed = np.where(y == -1, -1, np.where(y == 0, 2, 1))  # classes 1 and 2, mirrored
    fresh = S3VC().fit(X, renamed)
    np.testing.assert_array_equal(
        machine.fit(X, renamed).decision_function(X), fresh.decision_function(X)
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


def test_a_failed_refit_leaves_the_machine_as_it_was():
    X, y, _ = blobs(n=60)
    machine = S3VC("rbf").fit(X, y)
    before = machine.decision_function(X)
    with pytest.raises(MemoryError):
        machine.set_params(kernel="linear", memory_limit=10).fit(X, y)
    np.testing.assert_array_equal(machine.decision_function(X), before)
