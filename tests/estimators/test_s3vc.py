"""S3VC: probabilities, added labels, restarts, messages, and the life of the estimator."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.data import fit_quietly
from helpers.s3vc import SOLVERS, blobs, every_solver, mostly
from lapwing import S3VC

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
    # Values that the labels themselves have shaped make a model too sure of itself.
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
    model = S3VC(case, solver=solver, tol=1e-5, max_iter=1000, positive_ratio=0.5)
    grown = clone(model).fit(X, y)
    temperature = grown.temperature_
    cold = grown.result_
    new = np.array([20, 21, 33])
    assert grown.add_labels(new, truth[new]) is grown
    assert grown.temperature_ == temperature
    y[new] = truth[new]
    fresh = clone(model).fit(X, y)
    np.testing.assert_array_equal(grown.transduction_, fresh.transduction_)
    np.testing.assert_allclose(grown.decision_function(X), fresh.decision_function(X), atol=1e-2)
    assert grown.n_iter_ < cold.n_iter
    assert grown.result_.history[0]["stage"] != "supervised"
    assert grown.warm_start is False


@pytest.mark.parametrize("landmarks", ["random", "kmeans", "pca"])
@pytest.mark.parametrize("random_state", [0, None])
def test_added_labels_keep_the_landmarks(landmarks, random_state):
    X, y, truth = blobs(n=120)
    model = S3VC(
        "rbf", n_landmarks=6, landmarks=landmarks, tol=1e-6, max_iter=1000,
        random_state=random_state,
    ).fit(X, y)  # fmt: skip
    rows, before = model.support_, model.decision_function(X)
    model.add_labels(np.array([], dtype=int), [])
    np.testing.assert_array_equal(model.support_, rows)
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-6)
    assert model.n_iter_ <= 4
    model.add_labels([50], [truth[50]])
    np.testing.assert_array_equal(model.support_, rows)


def test_added_labels_may_bring_a_new_class():
    X, y, truth = blobs(n=60, n_classes=3, n_labelled=12)
    grown = S3VC().fit(X, np.where(y == 2, -1, y))
    assert list(grown.classes_) == [0, 1]
    grown.add_labels(np.flatnonzero(y == 2), np.full(4, 2))
    fresh = S3VC().fit(X, y)
    np.testing.assert_array_equal(grown.decision_function(X), fresh.decision_function(X))
    assert (grown.transduction_ == truth).mean() > 0.9


def test_the_last_label_makes_it_the_supervised_model():
    X, _, truth = blobs()
    y = truth.copy()
    y[5] = -1
    grown = S3VC().fit(X, y)
    with pytest.warns(UserWarning, match="no row is unlabelled"):
        grown.add_labels(5, truth[5])
    np.testing.assert_array_equal(grown.transduction_, truth)


def test_warm_start_begins_at_the_last_solution():
    X, y, _ = blobs(gap=1.0)
    model = S3VC(warm_start=True, tol=1e-6, max_iter=1000).fit(X, y)
    values, probability = model.decision_function(X), model.predict_proba(X)
    model.fit(X, y)
    assert model.n_iter_ <= 4
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), probability, atol=1e-6)
    other, labels, _ = blobs(n=30, seed=3)
    fresh = S3VC(tol=1e-6, max_iter=1000).fit(other, labels)
    np.testing.assert_array_equal(
        model.fit(other, labels).decision_function(other), fresh.decision_function(other)
    )


# ---------------------------------------------------------------- restarts and seeds


@mostly(0, 1, 2)
def test_restarts_never_end_higher(solver, case):
    X, y, _ = blobs(n=30, gap=0.6, n_labelled=4, seed=case)
    model = S3VC(solver=solver, tol=1e-5, max_iter=1000, calibration_folds=0, reg=1e-2)
    one = fit_quietly(clone(model), X, y)
    many = fit_quietly(clone(model).set_params(n_init=4), X, y)
    assert many.result_.objective <= one.result_.objective * (1 + 1e-4)


def test_restarts_find_a_lower_minimum_somewhere():
    gains = []
    for seed in range(5):
        X, y, _ = blobs(n=50, gap=0.6, n_labelled=4, seed=seed)
        model = S3VC(calibration_folds=0, reg=1e-3, max_iter=1000)
        one = fit_quietly(clone(model), X, y).result_.objective
        gains.append(one - fit_quietly(clone(model).set_params(n_init=6), X, y).result_.objective)
    assert max(gains) > 1e-3


@every_solver
def test_same_seed_gives_the_same_bits(solver):
    X, y, _ = blobs(n=24, gap=1.5, n_classes=3, n_labelled=6)
    model = S3VC("rbf", solver=solver, n_init=2, n_landmarks=5, random_state=3)
    first, second = (fit_quietly(clone(model), X, y) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    other = fit_quietly(clone(model).set_params(random_state=4), X, y)
    assert np.abs(first.decision_function(X) - other.decision_function(X)).max() > 1e-6


def test_different_seeds_disturb_differently():
    X, y, _ = blobs(n=50, gap=1.0, n_labelled=4, seed=1)
    found = set()
    for seed in range(6):
        model = S3VC(n_init=2, reg=1e-3, calibration_folds=0, random_state=seed, max_iter=1000)
        found.add(round(fit_quietly(model, X, y).result_.objective, 6))
    assert len(found) > 1


# ---------------------------------------------------------------- history, messages, callback


@every_solver
def test_history_tells_every_stage(solver):
    X, y, _ = blobs(gap=1.0)
    seen = []
    model = S3VC(solver=solver, callback=lambda step: seen.append(step.function.values.copy()))
    fit_quietly(model, X, y)
    history = model.result_.history
    assert len(history) == len(seen)
    assert {"stage", "evaluations", "moved", "objective", "iteration", "seconds"} <= set(history[0])
    assert history[0]["stage"] == "supervised"
    assert history[0]["moved"] == 0
    sides = [values[y == -1, 0] > 0 for values in seen]
    moved = [int((a != b).sum()) for a, b in itertools.pairwise(sides)]
    assert [entry["moved"] for entry in history[1:]] == moved
    evaluations = np.cumsum([entry["evaluations"] for entry in history])
    np.testing.assert_array_equal(evaluations, [entry["iteration"] for entry in history])
    assert model.n_iter_ == evaluations[-1]
    total = int((sides[0] != sides[-1]).sum())
    assert f"{total} of 32 unlabelled rows have changed class" in model.result_.message
    assert model.result_.status == "converged"
    assert model.result_.solver == solver


def test_message_counts_rows_that_have_moved():
    X, y, _ = blobs(n=60, gap=0.8, n_labelled=4)
    model = S3VC(calibration_folds=0).fit(X, y)
    alone = S3VC(reg_unlabeled=0.0, calibration_folds=0).fit(X, y)
    assert not model.result_.message.count(": a local minimum; 0 of 56")
    assert len(alone.result_.history) == 1


def test_the_shares_are_the_stages():
    X, y, _ = blobs()
    model = S3VC(annealing=(0.5, 1)).fit(X, y)
    stages = [entry["stage"] for entry in model.result_.history]
    assert stages == ["supervised", "unlabelled rows at 0.5", "unlabelled rows at 1"]
    model = S3VC(annealing=[1, 0.1, 1]).fit(X, y)
    assert len(model.result_.history) == 4


@every_solver
def test_callback_can_stop(solver):
    X, y, _ = blobs()
    model = fit_quietly(S3VC(solver=solver, callback=lambda _: True), X, y)
    assert model.result_.status == "interrupted"
    assert "callback" in model.result_.message
    assert len(model.result_.history) == 1
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("solver", ["quasi-newton", "annealing"])
def test_too_few_iterations_warn_and_say_what_to_do(solver):
    X, y, _ = blobs(gap=1.0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        model = S3VC(solver=solver, max_iter=1).fit(X, y)
    assert model.result_.status == "not_converged"


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
def test_without_unlabelled_rows_the_supervised_stage_is_the_only_one(solver):
    X = np.random.default_rng(0).normal(size=(30, 2))
    steps = []
    with pytest.warns(match="this is the supervised model"):
        S3VC(solver=solver, max_iter=1, callback=steps.append).fit(X, (X[:, 0] > 0).astype(int))
    assert [step.converged for step in steps] == [False]  # nor does a second stage follow
