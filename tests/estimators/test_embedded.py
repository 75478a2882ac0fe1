"""The Laplacian embedded models: equivalences, fitted attributes, and repeated fits."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

import lapwing.plan.embedded as embedded
import lapwing.plan.manifold as manifold
import lapwing.solvers.svr as svr
from helpers.data import gaussian
from lapwing import (
    KNNGraph,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
)

CLASSIFIERS = [LapESVC(tol=1e-6), LapERLSClassifier(tol=1e-9)]
REGRESSORS = [LapESVR(tol=1e-6), LapERLSRegressor(tol=1e-9)]
every_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=["tube", "ridge"])
every_model = pytest.mark.parametrize(
    "model", [*CLASSIFIERS, *REGRESSORS], ids=["tube", "ridge", "tube-r", "ridge-r"]
)
every_count = pytest.mark.parametrize("k", [None, 12])
# Labels moderately firm: large values of λ make for an ill-conditioned dense reference.
MILD = {"reg_labeled": 50.0, "reg_manifold": 0.5, "C": 5.0}


def rows(n=90, n_classes=2, n_labelled=20, d=3, seed=0):
    """Rows around class centres; labels of a few rows, -1 elsewhere; and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = 1.5 * rng.normal(size=(n_classes, d))[truth] + rng.normal(size=(n, d))
    y = np.full(n, -1)
    y[:n_labelled] = truth[:n_labelled]
    return X, y, truth


def data_for(model, **options):
    """Rows, and labels of the kind that the model takes."""
    X, y, truth = rows(**options)
    if is_classifier(model):
        return X, y, truth
    target = 3.0 + np.sin(X[:, 0]) + 0.3 * X[:, 1]
    return X, np.where(y == -1, np.nan, target), target


def values_of(fitted, X):
    return fitted.decision_function(X) if is_classifier(fitted) else fitted.predict(X)


def dense_side(graph, y, lam, mu, k=None):
    """K_G and ỹ, written out; y is NaN for rows without a target."""
    n = len(y)
    Lam = np.diag(np.where(np.isnan(y), 0.0, lam))
    S = graph.laplacian_ @ np.eye(n)
    if k is None:
        K_G = np.linalg.inv(Lam + mu * S)
    else:
        _, phi = graph.eigenpairs(k)
        K_G = phi @ np.linalg.inv(phi.T @ (Lam + mu * S) @ phi) @ phi.T
    return K_G, K_G @ Lam @ np.nan_to_num(y)


# ---------------------------------------------------------------- written out densely


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [None, 5, 30])
@pytest.mark.parametrize("power", [1, 2])
def test_least_squares_is_the_dense_formula(intercept, k, power):
    X, y, _ = data_for(LapERLSRegressor())
    n, graph = len(X), KNNGraph(6, power=power, normalized=False).fit(X)
    model = LapERLSRegressor(
        **MILD, n_eigenvectors=k, gamma=0.3, graph=graph, fit_intercept=intercept
    ).fit(X, y)
    K_G, virtual = dense_side(graph, y, 50.0, 0.5, k)
    A = gaussian(X, X, 0.3) + K_G + np.eye(n) / 5.0
    system = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    if not intercept:
        system[n, :n] = system[:n, n] = 0.0
        system[n, n] = 1.0
    solution = np.linalg.solve(system, np.append(virtual, 0.0))
    np.testing.assert_allclose(model.dual_coef_[0], solution[:n], rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, solution[n:], atol=1e-6)
    # (31) by its definition; ξ = α/C, and g = f + ξ.
    f = gaussian(X, X, 0.3) @ solution[:n] + solution[n]
    g = f + solution[:n] / 5.0
    known = ~np.isnan(y)
    objective = 0.5 * (
        solution[:n] @ gaussian(X, X, 0.3) @ solution[:n]
        + 5.0 * ((f - g) ** 2).sum()
        + 50.0 * ((g - y)[known] ** 2).sum()
        + 0.5 * g @ (graph.laplacian_ @ g)
    )
    assert model.result_.objective == pytest.approx(objective, rel=1e-6)
    if k is not None:
        np.testing.assert_allclose(model.virtual_targets_, virtual, atol=1e-8)
        np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, K_G, atol=1e-8)


@pytest.mark.parametrize("k", [None, 5, 30])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_support_vectors_are_those_of_svr_on_both_kernels(k, power, C):
    X, y, _ = data_for(LapESVR())
    graph = KNNGraph(6, power=power, normalized=False).fit(X)
    options = {**MILD, "C": C, "gamma": 0.3, "epsilon": 0.05}
    model = LapESVR(**options, n_eigenvectors=k, graph=graph, tol=1e-6).fit(X, y)
    K_G, virtual = dense_side(graph, y, 50.0, 0.5, k)
    K = gaussian(X, X, 0.3)
    expected = SVR(kernel="precomputed", C=C, epsilon=0.05, tol=1e-7).fit(K + K_G, virtual)
    alpha = np.zeros(len(X))
    alpha[expected.support_] = expected.dual_coef_[0]
    np.testing.assert_allclose(model.virtual_targets_, virtual, atol=1e-7)
    np.testing.assert_allclose(
        model.predict(X), K @ alpha + expected.intercept_, atol=2e-3 * max(C, 1.0)
    )
    # (14) by its definition, with the g that belongs to f.
    beta, b = model.dual_coef_[0], model.intercept_[0]
    f, g = K @ beta + b, virtual - K_G @ beta
    known, S = ~np.isnan(y), graph.laplacian_
    objective = (
        0.5 * beta @ K @ beta
        + C * np.maximum(np.abs(f - g) - 0.05, 0).sum()
        + 25.0 * ((g - y)[known] ** 2).sum()
        + 0.25 * g @ (S @ g)
    )
    assert model.result_.objective == pytest.approx(objective, rel=1e-4)
    assert model.result_.gap <= 1e-2 * objective


def test_nearly_all_eigenvectors_are_nearly_exact():
    X, y, _ = rows(n=60)
    for model in CLASSIFIERS:
        model = clone(model).set_params(**MILD, gamma=0.3)
        exact = clone(model).fit(X, y).decision_function(X)
        near = clone(model).set_params(n_eigenvectors=59).fit(X, y).decision_function(X)
        few = clone(model).set_params(n_eigenvectors=3).fit(X, y).decision_function(X)
        assert np.abs(near - exact).max() < 0.3 * np.abs(few - exact).max()


# ---------------------------------------------------------------- limits (Proposition 2)


@pytest.mark.parametrize("k", [None, 10])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_without_graph_and_with_firm_labels_it_is_svr(k, C):
    X, y, _ = data_for(LapESVR())
    known = ~np.isnan(y)
    expected = SVR(C=C, epsilon=0.05, gamma=0.3, tol=1e-7).fit(X[known], y[known])
    model = LapESVR(
        C=C, epsilon=0.05, gamma=0.3, reg_manifold=0.0, reg_labeled=1e9, n_eigenvectors=k, tol=1e-6
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-4)
    assert set(model.support_) <= set(np.flatnonzero(known))


@pytest.mark.parametrize("k", [None, 10])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_without_graph_and_with_firm_labels_it_is_ridge_regression(k, C):
    X, y, _ = data_for(LapERLSRegressor())
    known = ~np.isnan(y)
    l = known.sum()
    K = gaussian(X[known], X[known], 0.3) + np.eye(l) / C
    system = np.block([[K, np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y[known], 0.0))
    expected = gaussian(X, X[known], 0.3) @ solution[:l] + solution[l]
    model = LapERLSRegressor(
        C=C, gamma=0.3, reg_manifold=0.0, reg_labeled=1e9, n_eigenvectors=k
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


@pytest.mark.parametrize("power", [1, 2])
def test_least_squares_with_no_room_between_f_and_g_is_laprls(power):
    graph = KNNGraph(6, power=power)
    X, y, _ = rows(n_classes=3)
    ours = LapERLSClassifier(C=1e9, reg_labeled=50.0, reg_manifold=0.5, gamma=0.3, graph=graph)
    theirs = LapRLSClassifier(reg_ambient=1 / 50.0, reg_manifold=0.01, gamma=0.3, graph=graph)
    np.testing.assert_allclose(
        ours.fit(X, y).decision_function(X), theirs.fit(X, y).decision_function(X), atol=1e-5
    )
    X, y, _ = data_for(LapERLSRegressor())
    ours = LapERLSRegressor(C=1e9, reg_labeled=50.0, reg_manifold=0.5, gamma=0.3, graph=graph)
    theirs = LapRLSRegressor(reg_ambient=1 / 50.0, reg_manifold=0.01, gamma=0.3, graph=graph)
    np.testing.assert_allclose(ours.fit(X, y).predict(X), theirs.fit(X, y).predict(X), atol=1e-5)


def test_unlabelled_rows_help_on_two_half_circles():
    angle = np.random.default_rng(0).uniform(0, np.pi, 200)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[100:] = np.array([1.0, 0.5]) - X[100:]
    truth = np.repeat([0, 1], 100)
    y = np.full(200, -1)
    y[[0, 100]] = 0, 1
    for Model in (LapESVC, LapERLSClassifier):
        for k in (None, 10):
            helped = Model(gamma=5.0, reg_manifold=100.0, n_eigenvectors=k).fit(X, y)
            assert (helped.predict(X) == truth).all()
        alone = Model(gamma=5.0, reg_manifold=0.0).fit(X, y)
        assert (alone.predict(X) == truth).mean() < 0.95


# ---------------------------------------------------------------- kernels and rows


@every_model
@every_count
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_linear_kernels_equal_their_gram_matrix_and_sparse_rows(model, k, kernel):
    X, y, _ = data_for(model)
    graph = KNNGraph(6).fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True) if kernel == "cosine" else X
    model = clone(model).set_params(**MILD, n_eigenvectors=k, graph=graph)
    plain = clone(model).set_params(kernel=kernel).fit(X, y)
    gram = clone(model).set_params(kernel="precomputed").fit(unit @ unit.T, y)
    sparse = clone(model).set_params(kernel=kernel, graph=graph.affinity_)
    if not is_classifier(model):  # an affinity is given the Laplacian of the default graph
        sparse.set_params(graph=KNNGraph.from_affinity(graph.affinity_, normalized=True))
    sparse.fit(sp.csr_matrix(X), y)
    expected = values_of(plain, X)
    tolerance = 2e-4 if hasattr(model, "epsilon") else 1e-5
    np.testing.assert_allclose(values_of(gram, unit @ unit.T), expected, atol=tolerance)
    np.testing.assert_allclose(values_of(sparse, sp.csr_matrix(X)), expected, atol=tolerance)
    assert plain.coef_.shape == (1, X.shape[1])
    assert not hasattr(plain, "dual_coef_")
    new = X[:7] + 0.1
    unit_new = new / np.linalg.norm(new, axis=1, keepdims=True) if kernel == "cosine" else new
    np.testing.assert_allclose(
        values_of(plain, new), unit_new @ plain.coef_[0] + plain.intercept_[0], atol=1e-9
    )


@every_model
def test_function_kernel_gets_the_rows_as_they_are(model):
    # Far from zero, where single precision would not tell rows apart.
    X, y, _ = data_for(model)
    graph = KNNGraph(6).fit(X)
    model = clone(model).set_params(**MILD, graph=graph.affinity_, tol=1e-4)
    expected = clone(model).set_params(kernel=lambda A, B: gaussian(A, B, 0.3)).fit(X, y)
    far = clone(model).set_params(kernel=lambda A, B: gaussian(A, B, 0.3)).fit(X + 1e6, y)
    np.testing.assert_allclose(values_of(far, X + 1e6), values_of(expected, X), atol=2e-3)


# ---------------------------------------------------------------- what is stored


@every_model
@every_count
@pytest.mark.parametrize("manifold_weight", [0.0, 0.5])
def test_transduction_is_what_is_predicted(model, k, manifold_weight):
    X, y, _ = data_for(model)
    fitted = clone(model).set_params(**{**MILD, "reg_manifold": manifold_weight}, n_eigenvectors=k)
    fitted.fit(X, y)
    known = y != -1 if is_classifier(model) else ~np.isnan(y)
    np.testing.assert_array_equal(fitted.transduction_[known], y[known])
    if is_classifier(model):
        np.testing.assert_array_equal(fitted.transduction_[~known], fitted.predict(X)[~known])
    else:
        np.testing.assert_allclose(
            fitted.transduction_[~known], fitted.predict(X)[~known], atol=1e-4
        )


def test_transduction_is_what_is_predicted_when_stopped_with_rows_set_aside(monkeypatch):
    monkeypatch.setattr(svr, "_WORKING_SET", 16)
    monkeypatch.setattr(svr, "_SHRINK_STEPS", 1)
    X, y, _ = data_for(LapESVR(), n=300, n_labelled=40)
    model = LapESVR(
        C=50.0, epsilon=0.2, n_eigenvectors=20, memory_limit="80kB", tol=1e-7,
        callback=lambda step: step.details["active"] < 250,
    ).fit(X, y)  # fmt: skip
    assert model.result_.status == "interrupted"
    unknown = np.isnan(y)
    np.testing.assert_allclose(model.transduction_[unknown], model.predict(X)[unknown], atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_support_is_sparse_and_the_rest_does_not_matter(n_classes):
    X, y, _ = rows(n=200, n_classes=n_classes)
    model = LapESVC(epsilon=0.3, n_eigenvectors=8, C=1.0).fit(X, y)
    beta = model.dual_coef_
    np.testing.assert_array_equal(model.support_, np.flatnonzero(beta.any(axis=0)))
    assert 0 < len(model.support_) < 150
    expected = model.decision_function(X)
    points = np.full_like(X, 1e9)
    points[model.support_] = X[model.support_]
    model.predictor_ = replace(model.predictor_, points=points)
    np.testing.assert_array_equal(model.decision_function(X), expected)


@every_classifier
@every_count
def test_fitted_attributes(model, k):
    X, y, truth = rows(n_classes=3)
    fitted = clone(model).set_params(n_eigenvectors=k, **MILD).fit(X, y)
    assert fitted.dual_coef_.shape == (3, len(X))
    assert fitted.intercept_.shape == (3,)
    np.testing.assert_array_equal(fitted.classes_, [0, 1, 2])
    assert fitted.label_reach_.shape == (len(X),)
    assert fitted.result_.status == "converged"
    assert fitted.n_iter_ == fitted.result_.n_iter
    assert fitted.graph_.n_samples_ == len(X)
    assert "reg_ambient" not in fitted.get_params()
    assert hasattr(fitted, "embedding_") == (k is not None)
    if k is not None:
        assert fitted.embedding_.shape == (len(X), k)
    if hasattr(fitted, "virtual_targets_"):
        assert fitted.virtual_targets_.shape == (len(X), 3)
    assert fitted.score(X, truth) == np.mean(fitted.predict(X) == truth)
    # A later fit of another kind leaves nothing of the first behind.
    fitted.set_params(n_eigenvectors=None).fit(X, y)
    assert not hasattr(fitted, "embedding_")
    fitted.set_params(reg_manifold=0.0, n_eigenvectors=5).fit(X, y)
    assert not hasattr(fitted, "embedding_")
    assert not hasattr(fitted, "virtual_targets_")


@every_classifier
@every_count
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_sum_to_one_and_agree_with_the_decision(model, k, n_classes):
    X, y, _ = rows(n_classes=n_classes)
    fitted = clone(model).set_params(n_eigenvectors=k).fit(X, y)
    probability = fitted.predict_proba(X)
    assert probability.shape == (len(X), n_classes)
    assert (probability >= 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_[probability.argmax(axis=1)], fitted.predict(X))


@pytest.mark.parametrize("Model", [LapESVC, LapERLSClassifier])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_probabilities_are_about_right_where_classes_overlap(Model, weight):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + truth[:, None]
    y = np.full(400, -1)
    y[:80] = truth[:80]
    fitted = Model(gamma=0.3, C=1.0, reg_labeled=1.0, reg_manifold=weight).fit(X, y)
    probability = fitted.predict_proba(X[80:])
    correct = probability.argmax(axis=1) == truth[80:]
    assert abs(probability.max(axis=1).mean() - correct.mean()) < 0.12


@every_classifier
@every_count
def test_several_classes_are_the_binary_problems_one_by_one(model, k):
    X, y, _ = rows(n_classes=4, n_labelled=24)
    model = clone(model).set_params(**MILD, n_eigenvectors=k)
    together = clone(model).fit(X, y)
    for c in range(4):
        alone = clone(model).fit(X, np.where(y == -1, -1, (y == c).astype(int)))
        np.testing.assert_allclose(
            together.decision_function(X)[:, c], alone.decision_function(X), atol=2e-4
        )


# ---------------------------------------------------------------- weights


@every_model
@every_count
def test_weights_scale_the_pull_of_labels(model, k):
    X, y, _ = data_for(model)
    model = clone(model).set_params(**MILD, n_eigenvectors=k)
    doubled = clone(model).fit(X, y, sample_weight=np.full(len(X), 2.0))
    firm = clone(model).set_params(reg_labeled=100.0).fit(X, y)
    plain = clone(model).fit(X, y)
    np.testing.assert_allclose(values_of(doubled, X), values_of(firm, X), atol=1e-9)
    assert np.abs(values_of(plain, X) - values_of(firm, X)).max() > 1e-3


@pytest.mark.parametrize("model", [LapESVC(), LapESVR()])
@pytest.mark.parametrize("weight", [1e-70, 1e-30])
def test_weights_that_vanish_beside_the_graph_are_named(model, weight):
    X, y, _ = data_for(model)
    with pytest.raises(ValueError, match=r"the labels weigh .* raise sample_weight"):
        clone(model).fit(X, y, sample_weight=np.full(len(X), weight))


@every_model
@every_count
@pytest.mark.parametrize("manifold_weight", [0.0, 0.5])
def test_weight_zero_takes_the_label_away(model, k, manifold_weight):
    X, y, _ = data_for(model)
    weights = np.ones(len(X))
    weights[4:8] = 0.0
    weights[40:] = 17.0  # of rows without a label: not used
    other = y.copy()
    other[4:8] = -1 if is_classifier(model) else np.nan
    model = clone(model).set_params(**{**MILD, "reg_manifold": manifold_weight}, n_eigenvectors=k)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        values_of(weighted, X), values_of(clone(model).fit(X, other), X), atol=1e-9
    )


@every_classifier
@every_count
def test_balanced_class_weight_is_the_weight_of_the_rows(model, k):
    X, y, truth = rows(n_labelled=15)
    y[np.flatnonzero(y == 1)[2:]] = -1
    counts = np.array([(y == 0).sum(), (y == 1).sum()])
    by_class = counts.sum() / (2 * counts)
    model = clone(model).set_params(**MILD, n_eigenvectors=k)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    given = clone(model).set_params(class_weight=dict(enumerate(by_class))).fit(X, y)
    expected = clone(model).fit(X, y, sample_weight=by_class[truth]).decision_function(X)
    np.testing.assert_allclose(balanced.decision_function(X), expected, atol=1e-9)
    np.testing.assert_allclose(given.decision_function(X), expected, atol=1e-9)
    assert np.abs(clone(model).fit(X, y).decision_function(X) - expected).max() > 1e-3


# ---------------------------------------------------------------- a life of refits


@every_model
@every_count
def test_added_labels_equal_a_fresh_fit(model, k):
    X, y, truth = data_for(model, n_classes=3)
    model = clone(model).set_params(**MILD, n_eigenvectors=k, graph=KNNGraph(7))
    grown = clone(model).fit(X, y)
    graph = grown.graph_
    assert grown.add_labels([50, 60], truth[[50, 60]]) is grown
    y[[50, 60]] = truth[[50, 60]]
    fresh = clone(model).fit(X, y)
    np.testing.assert_allclose(values_of(grown, X), values_of(fresh, X), atol=2e-4)
    np.testing.assert_array_equal(grown.transduction_[[50, 60]], truth[[50, 60]])
    assert grown.graph_ is graph
    assert grown.warm_start is False


@every_count
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_warm_start_begins_at_the_last_solution(k, kernel):
    X, y, _ = data_for(LapESVR())
    model = LapESVR(**MILD, n_eigenvectors=k, kernel=kernel, warm_start=True, tol=1e-5).fit(X, y)
    first, cold = model.predict(X), model.n_iter_
    model.fit(X, y)
    assert cold > 0
    assert model.n_iter_ == 0
    np.testing.assert_allclose(model.predict(X), first, atol=1e-4)
    model.set_params(C=1.0).fit(X, y)  # the last solution is beyond the bounds now
    fresh = clone(model).set_params(warm_start=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X), fresh.predict(X), atol=1e-3)
    model.set_params(reg_manifold=0.0).fit(X, y)
    other, target, _ = data_for(LapESVR(), n=60, seed=3)
    model.fit(other, target)
    fresh = clone(model).set_params(warm_start=False).fit(other, target)
    np.testing.assert_array_equal(model.predict(other), fresh.predict(other))


def test_fit_does_not_change_what_it_is_given():
    X, y, _ = rows()
    K = gaussian(X, X, 0.3)
    graph, copies = KNNGraph(4), (X.copy(), y.copy(), K.copy())
    for model in (LapESVC(graph=graph, n_eigenvectors=5), LapERLSClassifier(graph=graph)):
        model.fit(X, y)
        clone(model).set_params(kernel="precomputed").fit(K, y)
    assert not hasattr(graph, "affinity_")
    for now, then in zip((X, y, K), copies, strict=True):
        np.testing.assert_array_equal(now, then)


# ---------------------------------------------------------------- solvers and memory


@every_count
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_cg_agrees_with_direct(k, kernel):
    X, y, _ = rows(n=150, n_classes=3)
    graph = KNNGraph(6).fit(X)
    given = gaussian(X, X, 0.3) if kernel == "precomputed" else X
    options = {**MILD, "kernel": kernel, "gamma": 0.3, "n_eigenvectors": k, "graph": graph}
    direct = LapERLSClassifier(**options, solver="direct").fit(given, y)
    iterated = LapERLSClassifier(**options, solver="cg", tol=1e-10).fit(given, y)
    assert direct.result_.solver in ("direct", "eliminate")
    assert iterated.result_.solver in ("cg", "manifold_cg")
    assert iterated.result_.status == "converged"
    assert iterated.result_.objective == pytest.approx(direct.result_.objective, rel=1e-6)
    np.testing.assert_allclose(
        iterated.decision_function(given), direct.decision_function(given), atol=1e-3
    )


def test_little_memory_takes_the_iterative_way_and_agrees():
    X, y, _ = rows(n=1200, n_classes=3, n_labelled=40)
    graph = KNNGraph(6).fit(X)
    options = {**MILD, "n_eigenvectors": 10, "graph": graph}
    little = LapERLSClassifier(**options, memory_limit="16MB", tol=1e-8).fit(X, y)
    assert little.result_.solver == "cg"
    plenty = LapERLSClassifier(**options).fit(X, y)
    assert plenty.result_.solver == "direct"
    np.testing.assert_allclose(little.decision_function(X), plenty.decision_function(X), atol=1e-2)
    with pytest.raises(MemoryError, match="memory_limit"):
        LapERLSClassifier(**options, memory_limit="20kB").fit(X, y)
    with pytest.raises(MemoryError, match="solver='direct' with 1200 rows needs"):
        LapERLSClassifier(**options, memory_limit="16MB", solver="direct").fit(X, y)


@every_count
def test_little_memory_for_support_vectors_gives_the_same_model(k, monkeypatch):
    monkeypatch.setattr(svr, "_WORKING_SET", 32)
    X, y, _ = rows(n=300, n_labelled=30)
    options = {**MILD, "n_eigenvectors": k, "tol": 1e-5}
    plenty = LapESVC(**options).fit(X, y)
    # Less than the exact graph kernel takes as a matrix, and than all rows take.
    limit = "800kB" if options["n_eigenvectors"] is None else "120kB"
    little = LapESVC(**options, memory_limit=limit).fit(X, y)
    assert little.result_.status == "converged"
    made = [model.result_.history[-1]["rows_made"] for model in (plenty, little)]
    assert made[1] > made[0]  # rows had to give way
    np.testing.assert_allclose(little.decision_function(X), plenty.decision_function(X), atol=1e-3)


def test_too_little_memory_for_one_working_set_is_refused():
    X, y, _ = rows(n=200)
    with pytest.raises(MemoryError, match=r"200 rows needs .* memory_limit allows 10 kB"):
        LapESVC(n_eigenvectors=5, memory_limit="10kB").fit(X, y)


def test_fit_forgets_what_it_does_not_make():
    X, y, _ = rows(n=120)
    model = LapESVC(n_eigenvectors=5).fit(X, y)
    assert model.embedding_.shape == (120, 5)
    model.set_params(reg_manifold=0.0).fit(X, y)
    assert not hasattr(model, "embedding_")
    assert not hasattr(model, "virtual_targets_")


@every_model
def test_exact_graph_kernel_without_a_matrix(model, monkeypatch):
    # As for more rows than a dense matrix is made for.
    X, y, _ = data_for(model)
    model = clone(model).set_params(**MILD)
    expected = values_of(clone(model).fit(X, y), X)
    monkeypatch.setattr(embedded, "DENSE_ROWS", 0)
    monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    found = clone(model).fit(X, y)
    np.testing.assert_allclose(values_of(found, X), expected, atol=1e-3)
    unknown = y == -1 if is_classifier(model) else np.isnan(y)
    if not is_classifier(model):
        np.testing.assert_allclose(found.transduction_[unknown], expected[unknown], atol=1e-3)


# ---------------------------------------------------------------- telling


@every_model
@every_count
def test_verbose_writes_to_the_error_stream_only(model, k, capsys):
    X, y, _ = data_for(model)
    clone(model).set_params(n_eigenvectors=k, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "objective" in err
    clone(model).set_params(n_eigenvectors=k).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_callback_sees_every_step_and_stops_the_solver(monkeypatch):
    monkeypatch.setattr(svr, "_WORKING_SET", 8)
    X, y, _ = rows()
    seen = []

    def stop_at_three(step):
        seen.append(step.iteration)
        return step.iteration == 3

    model = LapESVC(n_eigenvectors=10, tol=1e-9, callback=stop_at_three).fit(X, y)
    assert model.result_.status == "interrupted"
    assert seen == [0, 1, 2, 3]
    assert [entry["iteration"] for entry in model.result_.history] == seen
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    "model",
    [LapESVC(max_iter=1, tol=1e-9, n_eigenvectors=10),
     LapERLSClassifier(max_iter=1, tol=1e-13, solver="cg", n_eigenvectors=10)],
)  # fmt: skip
def test_not_converged_says_so_at_the_call_of_fit(model, monkeypatch):
    monkeypatch.setattr(svr, "_WORKING_SET", 8)
    X, y, _ = rows()
    with pytest.warns(ConvergenceWarning, match="Not converged after 1 iterations") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.result_.status == "not_converged"
    assert model.result_.gap > 0


def test_no_warning_in_the_plain_case():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (*CLASSIFIERS, *REGRESSORS):
            X, y, _ = data_for(model)
            for k in (None, 10):
                clone(model).set_params(n_eigenvectors=k).fit(X, y).predict(X)
