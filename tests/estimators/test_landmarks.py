"""The Laplacian estimators over landmarks, against dense references written out here."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits, make_moons

import lapwing.estimators.landmarks as landmarks_module
from helpers import data, reference
from helpers.data import one_vs_rest
from lapwing import (
    KNNGraph,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
)
from lapwing.spaces.kmeans import kmeans_landmarks

GAMMA = 1.5
WEIGHTS = {"reg_ambient": 1e-2, "reg_manifold": 0.5}
ESTIMATORS = {
    "squared_hinge": LapSVC(**WEIGHTS, gamma=GAMMA),
    "hinge": LapSVC("hinge", **WEIGHTS, gamma=GAMMA),
    "squared": LapRLSClassifier(**WEIGHTS, gamma=GAMMA),
    "numbers": LapRLSRegressor(**WEIGHTS, gamma=GAMMA),
}
CHOOSERS = {
    "squared_hinge": LapSVCCV,
    "hinge": lambda **options: LapSVCCV("hinge", **options),
    "squared": LapRLSClassifierCV,
    "numbers": LapRLSRegressorCV,
}
every_estimator = pytest.mark.parametrize("name", list(ESTIMATORS))


def moons(n=80, n_labelled=12, seed=0):
    """Rows of two moons by turns, labels of the first few, and the truth."""
    X, truth = make_moons(n, noise=0.1, random_state=seed)
    order = np.argsort(truth, kind="stable").reshape(2, -1).T.ravel()
    X, truth = X[order], truth[order]
    y = np.where(np.arange(n) < n_labelled, truth, -1)
    return X, y, truth


def task(name, **sizes):
    """Rows, and labels or numbers of few of them."""
    X, y, truth = moons(**sizes)
    if name == "numbers":
        return X, np.where(y == -1, np.nan, np.sin(2 * X[:, 0])), np.sin(2 * X[:, 0])
    return X, y, truth


gaussian = partial(data.gaussian, gamma=GAMMA)


def smoothness(graph):
    """Lᵖ from the affinity, densely."""
    W = graph.affinity_.toarray()
    degree = W.sum(axis=1)
    L = np.diag(degree) - W
    if graph.normalized:
        L = L / np.sqrt(np.outer(degree, degree))
    return np.linalg.matrix_power(L, graph.power)


def values(model, X):
    found = model.decision_function(X) if is_classifier(model) else model.predict(X)
    return found if found.ndim == 2 else found[:, None]


def dense(model, y, weights=None):
    """What the objective is made of: labelled rows, targets, weights of losses, Lᵖ; and a level.

    Targets of a regressor are differences from their level, and so is f in its objective.
    """
    labelled = np.flatnonzero(~np.isnan(y) if not is_classifier(model) else y != -1)
    weights, level = np.ones(len(labelled)) if weights is None else weights[labelled], 0.0
    if is_classifier(model):
        targets = one_vs_rest(y[labelled], model.classes_)
    else:
        level = reference.level_of(y[labelled], weights, model.fit_intercept)
        targets = y[labelled][:, None] - level
    return labelled, targets, weights, smoothness(model.graph_), level


def check_optimum(model, loss, K_nm, K_mm, beta, y, weights=None):
    """The objective ½(Σ w·loss + γ_A βᵀK_mmβ + γ_I fᵀLᵖf) is least at (β, b), in each column."""
    labelled, targets, w, S, level = dense(model, y, weights)
    A = np.linalg.cholesky(K_mm)
    H = np.linalg.solve(A, K_nm.T).T
    for column, b in enumerate(model.intercept_):
        problem = reference.Problem(
            K=H @ H.T,
            S=S,
            labelled=labelled,
            y=targets[:, column],
            weights=w,
            loss=loss,
            reg_ambient=model.reg_ambient,
            reg_manifold=model.reg_manifold,
            fit_intercept=model.fit_intercept,
        )
        best, f_best = reference.minimum(problem)
        f = K_nm @ beta[column] + b - level
        losses = w @ reference.LOSSES[loss](targets[:, column], f[labelled])
        norm = beta[column] @ K_mm @ beta[column]
        found = 0.5 * (losses + model.reg_ambient * norm + model.reg_manifold * f @ S @ f)
        assert found == pytest.approx(best, rel=1e-7)  # what the solver of the reference is asked
        # A distance of 1e-7 from the optimum is its root in the values, over γ_A if at the worst.
        np.testing.assert_allclose(f, f_best, atol=2e-3)


# ---------------------------------------------------------------- the objective


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["squared", "numbers"])
def test_least_squares_solve_the_normal_equations(name, power, normalized, intercept):
    X, y, _ = task(name)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    graph = KNNGraph(6, power=power, normalized=normalized)
    estimator = clone(ESTIMATORS[name]).set_params(
        n_landmarks=12, graph=graph, fit_intercept=intercept
    )
    model = estimator.fit(X, y, sample_weight=weights)
    labelled, targets, w, S, level = dense(model, y, weights)
    Z = model.landmarks_
    K_mm, Phi = gaussian(Z, Z), np.column_stack([gaussian(X, Z), np.ones(len(X))])
    norm = np.zeros((13, 13))
    norm[:12, :12] = K_mm
    system = Phi[labelled].T @ (w[:, None] * Phi[labelled])
    system += model.reg_ambient * norm + model.reg_manifold * Phi.T @ S @ Phi
    right = Phi[labelled].T @ (w[:, None] * targets)
    k = 13 if intercept else 12
    expected = np.linalg.solve(system[:k, :k], right[:k])
    # Both lose as many digits as the condition of the system has, which is below 1e6 here.
    assert np.linalg.cond(system[:k, :k]) < 1e6
    np.testing.assert_allclose(model.dual_coef_.T, expected[:12], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, level + expected[12:].sum(axis=0), atol=1e-8)
    np.testing.assert_allclose(values(model, X), level + Phi[:, :k] @ expected, atol=1e-9)
    assert model.result_.status == "converged"


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_squared_hinge_has_no_slope_left(power, intercept):
    X, y, _ = moons()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    options = {"n_landmarks": 12, "graph": KNNGraph(6, power=power), "fit_intercept": intercept}
    options["reg_manifold"] = 0.01  # small enough for values beyond the margin
    model = clone(ESTIMATORS["squared_hinge"]).set_params(**options)
    model.fit(X, y, sample_weight=weights)
    labelled, targets, w, S, _ = dense(model, y, weights)
    K_nm, beta = gaussian(X, model.landmarks_), model.dual_coef_[0]
    f = K_nm @ beta + model.intercept_[0]
    short = np.maximum(1 - targets[:, 0] * f[labelled], 0)
    assert 0 < np.count_nonzero(short) < len(short)  # the hinge is at work
    slope = model.reg_manifold * S @ f
    slope[labelled] -= w * targets[:, 0] * short
    norm = model.reg_ambient * gaussian(model.landmarks_, model.landmarks_) @ beta
    np.testing.assert_allclose(K_nm.T @ slope, -norm, atol=1e-10)
    if intercept:
        assert slope.sum() == pytest.approx(0.0, abs=1e-10)
    else:
        assert model.intercept_[0] == 0.0


@pytest.mark.parametrize("case", ["two classes", "three classes", "sparse", "power"])
@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "squared"])
def test_no_function_of_the_landmarks_is_better(name, case):
    X, y, truth = moons()
    if case == "three classes":
        truth = np.where(X[:, 0] > 1.2, 2, truth)
        y = np.where(np.arange(80) < 20, truth, -1)
    graph = KNNGraph(6, power=3 if case == "power" else 1).fit(X)
    rows = sp.csr_matrix(X) if case == "sparse" else X
    given = graph.affinity_ if case == "sparse" else graph
    model = clone(ESTIMATORS[name]).set_params(n_landmarks=14, graph=given).fit(rows, y)
    n_columns = 3 if case == "three classes" else 1
    assert model.dual_coef_.shape == (n_columns, 14)
    assert model.landmarks_.shape == (14, 2)
    K_nm, K_mm = gaussian(X, model.landmarks_), gaussian(model.landmarks_, model.landmarks_)
    check_optimum(model, name, K_nm, K_mm, model.dual_coef_, y)
    np.testing.assert_allclose(
        values(model, rows), K_nm @ model.dual_coef_.T + model.intercept_, atol=1e-9
    )
    unlabelled = y == -1
    np.testing.assert_array_equal(model.predict(rows)[unlabelled], model.transduction_[unlabelled])
    assert np.mean(model.transduction_ == truth) > 0.85


@every_estimator
def test_precomputed_kernel_has_landmarks_among_its_rows(name):
    X, y, _ = task(name)
    K, graph = gaussian(X, X), KNNGraph(6, normalized=name != "numbers").fit(X)
    estimator = clone(ESTIMATORS[name]).set_params(
        kernel="precomputed", n_landmarks=10, graph=graph
    )
    model = estimator.fit(K, y)
    rows = model.support_
    assert len(rows) == 10
    assert model.dual_coef_.shape == (1, 80)
    assert not hasattr(model, "landmarks_")
    loss = "squared" if name == "numbers" else name
    beta = model.dual_coef_[:, rows]
    check_optimum(model, loss, K[:, rows], K[np.ix_(rows, rows)], beta, y)
    unlabelled = ~np.isin(np.arange(80), dense(model, y)[0])
    np.testing.assert_allclose(
        model.predict(K)[unlabelled], model.transduction_[unlabelled], atol=1e-9
    )


def test_weights_of_classes_are_weights_of_their_rows():
    X, y, _ = moons()
    estimator = clone(ESTIMATORS["squared_hinge"]).set_params(n_landmarks=10)
    by_class = clone(estimator).set_params(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    by_row = clone(estimator).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(values(by_class, X), values(by_row, X), atol=1e-12)
    assert np.abs(values(by_row, X) - values(estimator.fit(X, y), X)).max() > 1e-3


# ---------------------------------------------------------------- other estimators


@every_estimator
def test_a_landmark_on_each_row_is_the_full_estimator(name):
    X, y, _ = task(name, n=60)
    X = 3 * X  # a kernel that is narrow between the rows has no small eigenvalues to lose
    new = X[::3] + 0.1
    full = clone(ESTIMATORS[name]).fit(X, y)
    model = clone(ESTIMATORS[name]).set_params(n_landmarks=60).fit(X, y)
    np.testing.assert_array_equal(model.landmarks_, X)
    # Features take the root of K_mm: they keep half of the digits that its condition leaves.
    assert np.linalg.cond(gaussian(X, X)) < 1e9
    np.testing.assert_allclose(values(model, X), values(full, X), atol=1e-7)
    np.testing.assert_allclose(values(model, new), values(full, new), atol=1e-6)
    assert model.result_.objective == pytest.approx(full.result_.objective, rel=1e-8)
    assert full.result_.solver == "eliminate"
    assert model.result_.solver == "eliminate_features"


def test_wide_kernels_lose_what_rounding_would_take():
    """Eigenvalues below 1e-12 of the largest are dropped, and the functions hardly need them."""
    X, y, _ = moons(n=60)
    options = dict(WEIGHTS, gamma=0.05)
    full = LapSVC(**options).fit(X, y)
    model = LapSVC(**options, n_landmarks=60).fit(X, y)
    np.testing.assert_allclose(values(model, X), values(full, X), atol=1e-5)


def test_repeated_rows_need_one_landmark_each():
    X, y, _ = moons(n=30)
    X, y = np.tile(3 * X, (4, 1)), np.concatenate([y, np.full(90, -1)])
    model = clone(ESTIMATORS["squared"]).set_params(n_landmarks=50, graph=KNNGraph(8)).fit(X, y)
    full = clone(ESTIMATORS["squared"]).set_params(graph=KNNGraph(8)).fit(X, y)
    np.testing.assert_array_equal(model.landmarks_, X[:30])
    assert model.dual_coef_.shape == (1, 30)
    np.testing.assert_allclose(values(model, X), values(full, X), atol=1e-7)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", "poly"])
@every_estimator
def test_the_estimator_that_chooses_is_the_same_in_a_grid_of_one(name, kernel):
    X, y, _ = task(name)
    graph = KNNGraph(6, normalized=name != "numbers", power=2).fit(X)
    rows = gaussian(X, X) if kernel == "precomputed" else X
    options = {"kernel": kernel, "coef0": 1.0, "n_landmarks": 10, "graph": graph, "gamma": 0.5}
    for a, b in ((1e-2, 0.5), (1e-6, 1.0)):  # the second asks for the digits of a large ratio
        single = clone(ESTIMATORS[name]).set_params(**options, reg_ambient=a, reg_manifold=b)
        chosen = CHOOSERS[name](**options, reg_ambient=[a], reg_manifold=[b])
        found, expected = values(single.fit(rows, y), rows), values(chosen.fit(rows, y), rows)
        np.testing.assert_allclose(found, expected, atol=1e-8)
        np.testing.assert_allclose(single.transduction_, chosen.transduction_, atol=1e-8)


@pytest.mark.parametrize("source", [int, np.random.RandomState, np.random.default_rng])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_landmarks_depend_on_the_seed_alone(kernel, source):
    X, y, _ = moons()
    rows = gaussian(X, X) if kernel == "precomputed" else X
    options = {"gamma": GAMMA, "kernel": kernel, "n_landmarks": 8}

    def single(seed):
        estimator = LapSVC(**WEIGHTS, **options, random_state=source(seed))
        return values(estimator.fit(rows, y), rows)

    grid = {"reg_ambient": [1e-2], "reg_manifold": [0.5], "random_state": source(3)}
    chosen = LapSVCCV(**options, **grid).fit(rows, y)
    np.testing.assert_array_equal(single(3), single(3))
    np.testing.assert_allclose(single(3), values(chosen, rows), atol=1e-10)
    assert np.abs(single(3) - single(4)).max() > 1e-6


def test_all_widths_of_a_grid_have_the_same_landmarks():
    """Scores of two widths differ by the widths, and not by a second draw of centres."""
    X, y, _ = moons()
    options = {"reg_ambient": [1e-2], "reg_manifold": [0.5], "n_landmarks": 8, "cv": 3}
    generator = np.random.default_rng(0)
    model = LapSVCCV(**options, gamma=[GAMMA, GAMMA], random_state=generator).fit(X, y)
    losses = model.cv_results_["mean_test_loss"]
    assert losses[0] == losses[1]


@given(
    m=st.integers(1, 40),
    gamma=st.floats(0.05, 20.0),
    ambient=st.floats(1e-4, 10.0),
    manifold=st.just(0.0) | st.floats(1e-50, 10.0),
    power=st.integers(1, 3),
    name=st.sampled_from(["squared_hinge", "hinge", "squared"]),
)
def test_no_landmarks_are_better_than_all_rows(m, gamma, ambient, manifold, power, name):
    """Of all functions of the space, one of the rows is best: the representer theorem."""
    X, y, _ = moons(n=40)
    options = {"gamma": gamma, "reg_ambient": ambient, "reg_manifold": manifold}
    estimator = clone(ESTIMATORS[name]).set_params(**options, graph=KNNGraph(5, power=power))
    full = clone(estimator).fit(X, y).result_
    few = clone(estimator).set_params(n_landmarks=m).fit(X, y).result_
    assert few.objective >= full.objective * (1 - 1e-9) - full.gap
    if m == 40:
        # Without its eigenvalues below 1e-12 a function of norm 1/γ_A loses so much at most.
        assert few.objective <= full.objective * (1 + 1e-5)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("n_landmarks", "message"),
    [
        (0, "n_landmarks must be a whole number of at least 1, got 0"),
        (-3, "at least 1, got -3"),
        (2.5, "whole number.*got 2.5"),
        ("10", "whole number.*got '10'"),
        (True, "whole number.*got True"),
        (81, r"at most the number of rows \(80\); got n_landmarks=81"),
    ],
)
@every_estimator
def test_number_of_landmarks_out_of_range_is_refused(name, n_landmarks, message):
    X, y, _ = task(name)
    with pytest.raises(ValueError, match=message):
        clone(ESTIMATORS[name]).set_params(n_landmarks=n_landmarks).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_landmarks_are_not_for_linear_kernels(kernel):
    X, y, _ = moons()
    with pytest.raises(ValueError, match="not linear: use n_landmarks=None"):
        LapSVC(kernel=kernel, n_landmarks=10).fit(X, y)


@pytest.mark.parametrize("name", ["squared_hinge", "squared", "numbers"])
def test_landmarks_leave_nothing_to_iterate(name):
    X, y, _ = task(name)
    estimator = clone(ESTIMATORS[name]).set_params(n_landmarks=10)
    with pytest.raises(ValueError, match=r"solver='pcg' does not go with n_landmarks.*'auto'"):
        clone(estimator).set_params(solver="pcg").fit(X, y)
    solver = "newton" if name == "squared_hinge" else "direct"
    named, auto = clone(estimator).set_params(solver=solver).fit(X, y), estimator.fit(X, y)
    np.testing.assert_array_equal(values(named, X), values(auto, X))


def test_rules_for_stopping_are_checked_and_change_nothing():
    X, y, truth = moons()
    estimator = clone(ESTIMATORS["squared_hinge"]).set_params(n_landmarks=10)
    expected = values(clone(estimator).fit(X, y), X)
    estimator.set_params(stopping="mixed")
    with pytest.raises(ValueError, match="pass validation="):
        clone(estimator).fit(X, y)
    model = estimator.fit(X, y, validation=(X[40:], truth[40:]))
    assert model.result_.status == "converged"
    np.testing.assert_array_equal(values(model, X), expected)
    with pytest.raises(ValueError, match="stopping must be"):
        estimator.set_params(stopping="sometimes").fit(X, y)


@pytest.mark.parametrize("estimator", [LapSVC(n_landmarks=300), LapSVC(kernel="linear")])
def test_kernel_values_beyond_double_precision_are_named(estimator):
    X, truth = load_digits(return_X_y=True)
    X, y = X[:300], np.where(np.arange(300) < 60, truth[:300], -1)
    estimator = clone(estimator).set_params(reg_ambient=1e-6, reg_manifold=100.0)
    if estimator.kernel == "linear":
        X = 1e6 * np.hstack([X, X[:, :30]])  # twice the same columns: singular
    else:
        estimator.set_params(kernel="poly", gamma=1.0)
    estimator.set_params(graph=KNNGraph(normalized=False))
    with pytest.raises(ValueError, match=r"no solution in double precision.*[Ss]cale the columns"):
        estimator.fit(X, y)


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@every_estimator
def test_too_little_memory_says_what_would_help(name, kernel):
    X, y, _ = task(name)
    rows = gaussian(X, X) if kernel == "precomputed" else X
    estimator = clone(ESTIMATORS[name]).set_params(
        kernel=kernel, n_landmarks=30, memory_limit="10kB"
    )
    message = r"n_landmarks=30 with 80 rows needs .* allows 10 kB: lower n_landmarks.*raise"
    with pytest.raises(MemoryError, match=message):
        estimator.fit(rows, y)
    assert not hasattr(estimator, "result_")


@pytest.mark.parametrize(
    ("estimator", "n_labelled"),
    [(LapSVC(), 20), (LapSVC("hinge"), 600), (LapRLSClassifier(), 2900)],
)
def test_what_is_counted_is_what_is_used(estimator, n_labelled):
    X, y, _ = moons(n=3000, n_labelled=n_labelled)
    estimator = clone(estimator).set_params(n_landmarks=40, gamma=20.0, graph=KNNGraph().fit(X))
    estimator.fit(X, y)  # imports and caches are not counted
    tracemalloc.start()
    estimator.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 3000**2 / 2  # of an n × n matrix
    with pytest.raises(MemoryError):
        estimator.set_params(memory_limit=peak).fit(X, y)
    estimator.set_params(memory_limit=3 * peak).fit(X, y)


def test_many_labels_need_room_only_where_the_loss_has_a_hinge():
    X, truth = make_moons(1500, noise=0.1, random_state=0)
    y = np.where(np.arange(1500) < 1400, truth, -1)
    options = {"gamma": GAMMA, "n_landmarks": 10, "memory_limit": "20MB"}
    assert LapRLSClassifier(**options).fit(X, y).score(X, truth) > 0.9
    for loss in ("squared_hinge", "hinge"):
        with pytest.raises(MemoryError, match="lower n_landmarks, fit fewer rows"):
            LapSVC(loss, **options).fit(X, y)


# ---------------------------------------------------------------- life of an estimator


@pytest.mark.parametrize("seed", [0, None, "RandomState", "Generator"])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@every_estimator
def test_added_labels_equal_a_fresh_fit(name, kernel, seed):
    X, y, truth = task(name)
    rows = gaussian(X, X) if kernel == "precomputed" else X
    sources = {"RandomState": np.random.RandomState, "Generator": np.random.default_rng}

    def state():
        return sources[seed](7) if seed in sources else seed

    estimator = clone(ESTIMATORS[name]).set_params(kernel=kernel, n_landmarks=9, graph=KNNGraph(7))
    grown = clone(estimator).set_params(random_state=state()).fit(rows, y)
    before = grown.support_ if kernel == "precomputed" else grown.landmarks_
    new = np.arange(20, 26)
    assert grown.add_labels(new, truth[new]) is grown
    after = grown.support_ if kernel == "precomputed" else grown.landmarks_
    np.testing.assert_array_equal(after, before)
    np.testing.assert_array_equal(grown.transduction_[new], truth[new])
    assert grown.warm_start is False
    y = y.copy()
    y[new] = truth[new]
    if seed is None:  # a fresh fit draws others: the objective is what can be checked
        loss, support = "squared" if name == "numbers" else name, grown.support_
        Z = X[support] if kernel == "precomputed" else grown.landmarks_
        beta = grown.dual_coef_[:, support] if kernel == "precomputed" else grown.dual_coef_
        check_optimum(grown, loss, gaussian(X, Z), gaussian(Z, Z), beta, y)
    else:
        fresh = clone(estimator).set_params(random_state=state()).fit(rows, y)
        np.testing.assert_allclose(values(grown, rows), values(fresh, rows), atol=1e-10)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix, np.float32])
def test_added_labels_need_no_new_search_for_centres(rows, monkeypatch):
    X, y, truth = moons()
    estimator = clone(ESTIMATORS["squared"]).set_params(n_landmarks=9, random_state=None)
    grown = estimator.fit(rows(X), y)
    searches = []

    def search(*arguments):
        searches.append(arguments)
        return kmeans_landmarks(*arguments)

    monkeypatch.setattr(landmarks_module, "kmeans_landmarks", search)
    grown.add_labels([20, 21], truth[[20, 21]])
    assert searches == []
    grown.set_params(n_landmarks=8).add_labels([22], truth[[22]])  # another number: another search
    assert grown.landmarks_.shape == (8, 2)
    grown.fit(rows(X), y)
    assert len(searches) == 2


def test_added_labels_keep_the_landmarks_of_the_estimator_that_chooses():
    X, y, truth = moons()
    options = {"reg_ambient": [1e-2, 1.0], "reg_manifold": [0.5], "n_landmarks": 9, "cv": 3}
    model = LapSVCCV(**options, random_state=None).fit(X, y)
    before = model.landmarks_
    model.add_labels([20, 21], truth[[20, 21]])
    np.testing.assert_array_equal(model.landmarks_, before)


def test_a_warm_fit_keeps_the_landmarks_and_another_draws_anew():
    X, y, _ = moons()
    estimator = clone(ESTIMATORS["squared"]).set_params(n_landmarks=9)
    estimator.set_params(random_state=np.random.RandomState(0))
    first = estimator.fit(X, y).landmarks_
    assert np.abs(estimator.fit(X, y).landmarks_ - first).max() > 1e-3
    estimator.set_params(warm_start=True)
    kept = estimator.landmarks_
    np.testing.assert_array_equal(estimator.fit(X, y).landmarks_, kept)


@pytest.mark.parametrize("solver", ["auto", "pcg"])
def test_a_warm_fit_may_leave_the_landmarks_behind(solver):
    X, y, _ = moons()
    model = clone(ESTIMATORS["squared"]).set_params(n_landmarks=9, warm_start=True).fit(X, y)
    model.set_params(n_landmarks=None, solver=solver, tol=1e-6).fit(X, y)
    assert not hasattr(model, "landmarks_")
    assert model.dual_coef_.shape == (1, 80)
    fresh = clone(ESTIMATORS["squared"]).fit(X, y)
    np.testing.assert_allclose(values(model, X), values(fresh, X), atol=1e-4)
    back = model.set_params(n_landmarks=9, solver="auto").fit(X, y)
    assert back.dual_coef_.shape == (1, 9)


@every_estimator
def test_dense_and_sparse_rows_are_predicted_alike(name):
    X, y, _ = task(name)
    graph = KNNGraph(6, normalized=name != "numbers").fit(X)
    estimator = clone(ESTIMATORS[name]).set_params(n_landmarks=10, graph=graph.affinity_)
    for model in (clone(estimator).fit(X, y), clone(estimator).fit(sp.csr_matrix(X), y)):
        assert isinstance(model.landmarks_, np.ndarray)
        new = X[::2] + 0.05
        np.testing.assert_allclose(
            values(model, sp.csr_matrix(new)), values(model, new), atol=1e-10
        )


def test_probabilities_come_from_values_without_the_own_label():
    X, y, _ = moons(n_labelled=16)
    model = clone(ESTIMATORS["squared"]).set_params(n_landmarks=10).fit(X, y)
    chosen = LapRLSClassifierCV(
        n_landmarks=10, gamma=GAMMA, reg_ambient=[1e-2], reg_manifold=[0.5]
    ).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), chosen.predict_proba(X), atol=1e-6)
