"""The Laplacian models: equivalences between their ways to the same function."""

import importlib
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import lapwing.estimators.manifold as fitting
import lapwing.plan.base as base
import lapwing.plan.manifold as manifold
from helpers import reference
from helpers.data import gaussian
from lapwing import KNNGraph, LapRLSClassifier, LapRLSRegressor, LapSVC
from lapwing.estimators.early_stopping import early_stopping

MODERATE = {"reg_ambient": 1e-2, "reg_manifold": 1.0}


def blobs(n=120, n_classes=2, n_labelled=12, d=4, seed=0):
    """Rows around class centres; labels of a few rows, -1 elsewhere; and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = 1.5 * rng.normal(size=(n_classes, d))[truth] + rng.normal(size=(n, d))
    y = np.full(n, -1)
    labelled = np.append(np.arange(n_classes), n_classes + rng.permutation(n - n_classes))
    labelled = labelled[:n_labelled]
    y[labelled] = truth[labelled]
    return X, y, truth


@pytest.fixture
def iterative(monkeypatch):
    """Let "auto" iterate however few rows there are, as it does for many."""
    monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    monkeypatch.setattr(manifold, "DENSE_FEATURES", 0)


MODELS = [LapSVC(), LapSVC("hinge"), LapRLSClassifier()]
every_model = pytest.mark.parametrize("model", MODELS, ids=["squared_hinge", "hinge", "squared"])


# ---------------------------------------------------------------- kernels and spaces


@every_model
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_equals_its_gram_matrix_and_sparse_rows(model, intercept):
    X, y, _ = blobs()
    graph = KNNGraph(6).fit(X)
    model = clone(model).set_params(**MODERATE, fit_intercept=intercept, graph=graph)
    linear = clone(model).set_params(kernel="linear").fit(X, y)
    sparse = clone(model).set_params(kernel="linear", graph=graph.affinity_)
    sparse.fit(sp.csr_matrix(X), y)
    gram = clone(model).set_params(kernel="precomputed").fit(X @ X.T, y)
    expected = linear.decision_function(X)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), expected, atol=1e-8)
    np.testing.assert_allclose(gram.decision_function(X @ X.T), expected, atol=1e-7)
    assert linear.coef_.shape == (1, X.shape[1])
    assert linear.result_.solver == "eliminate_features"
    assert gram.dual_coef_.shape == (1, len(X))


@every_model
def test_more_columns_than_rows_give_the_same_linear_function(model):
    X, y, _ = blobs(n=40, d=60)
    model = clone(model).set_params(**MODERATE)
    linear = clone(model).set_params(kernel="linear").fit(X, y)
    graph = KNNGraph().fit(X)
    gram = clone(model).set_params(kernel="precomputed", graph=graph).fit(X @ X.T, y)
    assert linear.result_.solver == "eliminate"
    np.testing.assert_allclose(
        linear.decision_function(X), gram.decision_function(X @ X.T), atol=1e-7
    )


@every_model
def test_rbf_equals_its_gram_matrix_with_the_graph_of_the_rows(model):
    X, y, _ = blobs()
    new = X[:20] + 0.1
    graph = KNNGraph(6, power=2).fit(X)
    model = clone(model).set_params(**MODERATE, graph=graph)
    direct = clone(model).set_params(gamma=0.3).fit(X, y)
    gram = clone(model).set_params(kernel="precomputed").fit(gaussian(X, X, 0.3), y)
    np.testing.assert_allclose(
        gram.decision_function(gaussian(new, X, 0.3)), direct.decision_function(new), atol=1e-8
    )
    np.testing.assert_array_equal(gram.transduction_, direct.transduction_)


def test_precomputed_kernel_builds_its_graph_from_kernel_distances():
    X, y, _ = blobs()
    gram = LapRLSClassifier(kernel="precomputed", graph=KNNGraph(5)).fit(X @ X.T, y)
    rows = LapRLSClassifier(kernel="linear", graph=KNNGraph(5)).fit(X, y)
    np.testing.assert_allclose(
        gram.graph_.affinity_.toarray(), rows.graph_.affinity_.toarray(), atol=1e-9
    )


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_callable_kernel_equals_the_named_one(kernel):
    X, y, _ = blobs()
    functions = {
        "rbf": lambda A, B: gaussian(A, B, 0.5),
        "poly": lambda A, B: (0.5 * A @ B.T + 1.0) ** 3,
        "cosine": lambda A, B: (
            (A @ B.T) / np.linalg.norm(A, axis=1)[:, None] / np.linalg.norm(B, axis=1)
        ),
    }
    options = dict(MODERATE, gamma=0.5, coef0=1.0, degree=3)
    named = LapSVC(kernel=kernel, **options).fit(X, y)
    own = LapSVC(kernel=functions[kernel], **options).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), named.decision_function(X), atol=1e-6)


# ---------------------------------------------------------------- solvers


@every_model
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("stored", ["float64", "float32"])
def test_iterative_path_agrees_with_the_dense_one(model, normalized, n_classes, stored, iterative):
    X, y, _ = blobs(n=300, n_classes=n_classes, n_labelled=20)
    graph = KNNGraph(6, normalized=normalized).fit(X)
    model = clone(model).set_params(**MODERATE, graph=graph, gamma=0.3)
    if stored == "float64":
        X = gaussian(X, X, 0.3)
        model.set_params(kernel="precomputed")
    dense = {"hinge": "dual", "squared_hinge": "newton"}.get(model.get_params().get("loss"))
    exact = clone(model).set_params(solver=dense or "direct").fit(X, y)
    found = clone(model).set_params(tol=1e-8).fit(X, y)
    assert exact.result_.solver == "eliminate"
    assert found.result_.solver == "manifold_cg"
    assert found.result_.status == "converged"
    # Kernel values computed and kept in single precision are known to about six digits.
    relative = 1e-7 if stored == "float64" else 1e-5
    assert found.result_.objective == pytest.approx(exact.result_.objective, rel=relative)
    np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("model", [LapSVC(), LapRLSClassifier()], ids=["svc", "rls"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine", "poly"])
def test_pcg_agrees_with_the_dense_solver(model, kernel):
    X, y, _ = blobs()
    model = clone(model).set_params(**MODERATE, kernel=kernel, coef0=1.0, gamma=0.2)
    exact = clone(model).fit(X, y)
    found = clone(model).set_params(solver="pcg", tol=1e-7, max_iter=5000).fit(X, y)
    assert found.result_.solver == "pcg"
    assert found.result_.objective == pytest.approx(exact.result_.objective, rel=1e-6)
    np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("storage", ["triangle32", "tiled"])
@pytest.mark.parametrize("solver", ["auto", "pcg"])
def test_storage_of_the_gram_matrix_does_not_change_the_function(
    storage, solver, iterative, monkeypatch
):
    X, y, _ = blobs(n=700, n_labelled=20)
    model = LapSVC(**MODERATE, solver=solver, tol=1e-6, max_iter=3000)
    exact = LapSVC(**MODERATE, solver="newton").fit(X, y)
    chosen = []

    def choose(*_sizes):
        chosen.append(storage)
        return storage

    for module in (manifold, base):
        monkeypatch.setattr(module, "choose_storage", choose)
    if solver == "pcg":  # no room for float64, so that the choice is asked for
        model.set_params(memory_limit=1)
    found = model.fit(X, y)
    assert chosen == [storage]
    assert found.result_.objective == pytest.approx(exact.result_.objective, rel=1e-4)
    np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=2e-2)


def test_small_memory_limit_computes_tiles_instead_of_storing(iterative):
    X, y, _ = blobs(n=3000, n_labelled=20)
    asked = {}
    original = fitting.gram_operator

    def spy(kernel, rows, storage, *more):
        asked["storage"] = storage
        return original(kernel, rows, storage, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "gram_operator", spy)
        LapSVC(**MODERATE, solver="pcg", memory_limit="19MB", tol=0.1).fit(X, y)
        assert asked["storage"] == "tiled"
        LapSVC(**MODERATE, solver="pcg", memory_limit="30MB", tol=0.1).fit(X, y)
        assert asked["storage"] == "triangle32"
        LapSVC(**MODERATE, solver="pcg", memory_limit="1GB", tol=0.1).fit(X, y)
        assert asked["storage"] == "float64"


# ---------------------------------------------------------------- known models


def test_least_squares_without_manifold_term_is_kernel_ridge():
    X, _, _ = blobs()
    rng = np.random.default_rng(1)
    target = np.sin(X[:, 0]) + 0.1 * rng.normal(size=len(X))
    labelled = rng.permutation(len(X))[:40]
    y = np.full(len(X), np.nan)
    y[labelled] = target[labelled]
    # ½(Σ(y − f)² + γ‖f‖²) against Σ(y − f)² + α‖f‖²: the same γ.
    ours = LapRLSRegressor(gamma=0.3, reg_ambient=0.05, reg_manifold=0.0, fit_intercept=False)
    ridge = KernelRidge(alpha=0.05, kernel="rbf", gamma=0.3).fit(X[labelled], target[labelled])
    np.testing.assert_allclose(ours.fit(X, y).predict(X), ridge.predict(X), atol=1e-10)


def test_kernel_ridge_with_little_regularization():
    # Kernel values must be known far better than the regularisation is small
    # because the supervised model computes them in single precision.
    X, _, _ = blobs(n=80)
    X *= 0.3
    y = np.where(np.arange(80) < 40, np.sin(5 * X[:, 0]), np.nan)
    ours = LapRLSRegressor(gamma=0.3, reg_ambient=1e-7, reg_manifold=0.0, fit_intercept=False)
    ridge = KernelRidge(alpha=1e-7, kernel="rbf", gamma=0.3).fit(X[:40], y[:40])
    np.testing.assert_allclose(ours.fit(X, y).predict(X), ridge.predict(X), atol=1e-5)


@pytest.mark.parametrize("reg_ambient", [1.0, 1e-1, 1e-3])
def test_hinge_without_manifold_term_is_svc(reg_ambient):
    X, y, _ = blobs(n_labelled=30)
    known = y != -1
    # ½Σ hinge + ½γ‖f‖²  =  γ(½‖f‖² + C Σ hinge),  C = 1/(2γ).
    svc = SVC(C=1 / (2 * reg_ambient), kernel="rbf", gamma=0.3, tol=1e-9)
    svc.fit(X[known], y[known])
    ours = LapSVC("hinge", gamma=0.3, reg_ambient=reg_ambient, reg_manifold=0.0).fit(X, y)
    # libsvm keeps kernel values in single precision.
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))


@every_model
def test_several_classes_are_the_binary_problems_one_by_one(model):
    X, y, _ = blobs(n_classes=4, n_labelled=24)
    model = clone(model).set_params(**MODERATE)
    together = clone(model).fit(X, y)
    assert together.decision_function(X).shape == (len(X), 4)
    for k in range(4):
        one = np.where(y == -1, -1, (y == k).astype(int))
        alone = clone(model).fit(X, one)
        np.testing.assert_allclose(
            together.decision_function(X)[:, k], alone.decision_function(X), atol=1e-8
        )


@every_model
def test_weight_two_counts_the_loss_twice_and_leaves_the_graph_alone(model):
    X, y, _ = blobs()
    weights = np.ones(len(X))
    weights[np.flatnonzero(y != -1)[:5]] = 2.0
    weights[y == -1] = 17.0  # not used
    fitted = clone(model).set_params(**MODERATE, gamma=0.3).fit(X, y, sample_weight=weights)
    labelled = np.flatnonzero(y != -1)
    L = fitted.graph_.laplacian_ @ np.eye(len(X))
    loss = model.get_params().get("loss", "squared")
    problem = reference.Problem(
        gaussian(X, X, 0.3), L, labelled, 2.0 * y[labelled] - 1, weights[labelled], loss,
        1e-2, 1.0, True,
    )  # fmt: skip
    best, f = reference.minimum(problem)
    assert fitted.result_.objective == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(fitted.decision_function(X), f, atol=1e-4)
    plain = clone(model).set_params(**MODERATE, gamma=0.3).fit(X, y)
    assert abs(plain.result_.objective - best) > 1e-3 * best
    np.testing.assert_array_equal(
        plain.graph_.affinity_.toarray(), fitted.graph_.affinity_.toarray()
    )


@every_model
def test_balanced_class_weight_is_the_weight_of_the_rows(model):
    X, y, truth = blobs(n_labelled=15)
    y[np.flatnonzero(y == 1)[2:]] = -1
    counts = np.array([(y == 0).sum(), (y == 1).sum()])
    assert counts[0] != counts[1]
    weights = (counts.sum() / (2 * counts))[truth]
    model = clone(model).set_params(**MODERATE)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    by_hand = clone(model).fit(X, y, sample_weight=weights)
    given = clone(model).set_params(class_weight=dict(enumerate(counts.sum() / (2 * counts))))
    expected = by_hand.decision_function(X)
    np.testing.assert_allclose(balanced.decision_function(X), expected, atol=1e-9)
    np.testing.assert_allclose(given.fit(X, y).decision_function(X), expected, atol=1e-9)
    plain = clone(model).fit(X, y).decision_function(X)
    assert np.abs(plain - expected).max() > 1e-3


def test_unlabelled_rows_help_on_two_half_circles():
    angle = np.random.default_rng(0).uniform(0, np.pi, 200)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[100:] = np.array([1.0, 0.5]) - X[100:]
    truth = np.repeat([0, 1], 100)
    y = np.full(200, -1)
    y[[0, 100]] = 0, 1
    helped = LapSVC(gamma=5.0).fit(X, y)
    alone = LapSVC(gamma=5.0, reg_manifold=0.0).fit(X, y)
    assert (helped.predict(X) == truth).all()
    assert (alone.predict(X) == truth).mean() < 0.95


# ---------------------------------------------------------------- stopping


def test_stability_check_stops_early_and_says_so():
    X, y, _ = blobs(n=400)
    options = {"reg_ambient": 1e-6, "solver": "pcg", "tol": 1e-10, "max_iter": 400}
    stopped = LapSVC(**options, stopping="stability").fit(X, y)
    assert stopped.result_.status == "stopped_early"
    assert "decisions on unlabelled rows" in stopped.result_.message
    assert stopped.n_iter_ % 10 == 0  # θ = √400 / 2
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        full = LapSVC(**options).fit(X, y)
    assert full.result_.status == "not_converged"
    assert full.n_iter_ == 400 > stopped.n_iter_


@pytest.mark.parametrize("stopping", ["validation", "mixed"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_validation_rows_stop_the_solver(stopping, n_classes):
    X, y, _ = blobs(n=400, n_classes=n_classes)
    X_v, _, truth_v = blobs(n=60, n_classes=n_classes, seed=0)
    options = {"solver": "pcg", "reg_ambient": 1e-6, "tol": 1e-10, "max_iter": 400}
    model = LapRLSClassifier(**options, stopping=stopping)
    model.fit(X, y, validation=(X_v, truth_v))
    assert model.result_.status == "stopped_early"
    assert "validation error" in model.result_.message
    assert ("decisions" in model.result_.message) == (stopping == "mixed")
    with pytest.raises(ValueError, match="validation="):
        model.fit(X, y)


def test_validation_rows_of_other_classes_are_always_wrong():
    given = np.array([0, 1, -1])
    targets = SimpleNamespace(classes=np.array([2, 5]), given=given, labelled=given >= 0)
    X_v, y_v = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([2, 5, 5, 7])
    rules = early_stopping("validation", targets, (X_v, y_v))
    (rule,) = rules(lambda step: SimpleNamespace(values=lambda X: X))
    assert rule.error_rate(None) == 0.5  # the last two


def test_unknown_stopping_rule_is_refused():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="stopping must be"):
        LapSVC(stopping="sometimes").fit(X, y)


def test_callback_stops_the_solver_and_sees_every_step():
    X, y, _ = blobs()
    seen = []

    def stop_at_three(step):
        seen.append(step.iteration)
        return step.iteration == 3

    model = LapSVC(solver="pcg", tol=1e-12, callback=stop_at_three).fit(X, y)
    assert model.result_.status == "interrupted"
    assert "callback" in model.result_.message
    assert seen == [1, 2, 3]
    assert model.n_iter_ == 3
    assert [entry["iteration"] for entry in model.result_.history] == seen


@pytest.mark.parametrize("solver", ["newton", "pcg", "auto"])
def test_verbose_writes_to_the_error_stream_only(solver, capsys, iterative):
    X, y, _ = blobs()
    LapSVC(**MODERATE, solver=solver, verbose=1).fit(X, y).predict(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert "objective" in err
    LapSVC(**MODERATE, solver=solver).fit(X, y).predict_proba(X)
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------- life of an estimator


@every_model
@pytest.mark.parametrize("path", ["dense", "iterative"])
def test_added_labels_equal_a_fresh_fit(model, path, monkeypatch):
    if path == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    X, y, truth = blobs(n=200, n_classes=3, n_labelled=12)
    new = np.flatnonzero(y == -1)[:6]
    model = clone(model).set_params(**MODERATE, tol=1e-8, graph=KNNGraph(7))
    grown = clone(model).fit(X, y)
    graph = grown.graph_
    assert grown.add_labels(new, truth[new]) is grown
    y[new] = truth[new]
    fresh = clone(model).fit(X, y)
    tolerance = 1e-9 if path == "dense" else 2e-3
    np.testing.assert_allclose(
        grown.decision_function(X), fresh.decision_function(X), atol=tolerance
    )
    np.testing.assert_array_equal(grown.transduction_[new], truth[new])
    assert grown.graph_ is graph
    assert grown.graph.n_neighbors == 7
    assert grown.warm_start is False
    np.testing.assert_array_equal(grown.classes_, fresh.classes_)


def test_added_targets_equal_a_fresh_fit():
    X, _, _ = blobs()
    target = X[:, 0] ** 2
    y = np.where(np.arange(len(X)) % 5 == 0, target, np.nan)
    grown = LapRLSRegressor(**MODERATE).fit(X, y).add_labels([1, 2], target[[1, 2]])
    y[[1, 2]] = target[[1, 2]]
    np.testing.assert_allclose(
        grown.predict(X), LapRLSRegressor(**MODERATE).fit(X, y).predict(X), atol=1e-10
    )


@pytest.mark.parametrize("solver", ["pcg", "auto"])
def test_warm_start_begins_at_the_last_solution(solver, iterative, monkeypatch):
    # With few landmarks the preconditioner alone does not give the solution away.
    module = importlib.import_module("lapwing.solvers.manifold_cg")
    monkeypatch.setattr(module, "N_LANDMARKS", 10)
    X, y, _ = blobs(n=300)
    model = LapRLSClassifier(**MODERATE, solver=solver, tol=1e-5, warm_start=True).fit(X, y)
    first, cold = model.decision_function(X), model.result_
    model.fit(X, y)
    assert cold.history[0]["objective"] > 1.01 * cold.objective
    assert model.result_.history[0]["objective"] < (1 + 1e-4) * cold.objective
    assert model.n_iter_ <= cold.n_iter
    np.testing.assert_allclose(model.decision_function(X), first, atol=2e-2)


def test_gap_of_an_ill_conditioned_problem_is_not_that_of_rounding(iterative, monkeypatch):
    """The estimate of the gap has lost its digits there, as has a certificate from plain sums."""
    X, truth = make_moons(300, noise=0.15, random_state=0)
    model, gaps = LapSVC(reg_ambient=1e-9, max_iter=60), []
    solver = importlib.import_module("lapwing.solvers.manifold_cg")
    plain = solver.certify_in_one_pass
    for found in (plain, lambda *values: replace(plain(*values), gap=np.inf)):  # in twice double
        monkeypatch.setattr(solver, "certify_in_one_pass", found)
        gaps.append(model.fit(X, np.where(np.arange(300) < 20, truth, -1)).result_.gap)
    assert gaps[0] <= 2.0 * gaps[1]


def test_warm_start_on_other_rows_starts_anew():
    X, y, _ = blobs()
    model = LapSVC(**MODERATE, solver="pcg", warm_start=True).fit(X, y)
    other, labels, _ = blobs(n=80, seed=3)
    fresh = LapSVC(**MODERATE, solver="pcg").fit(other, labels)
    np.testing.assert_array_equal(
        model.fit(other, labels).decision_function(other), fresh.decision_function(other)
    )


@every_model
def test_same_call_gives_the_same_bits(model, iterative):
    X, y, _ = blobs(n=600, n_classes=3, n_labelled=20)
    model = clone(model).set_params(**MODERATE, random_state=3)
    first, second = (clone(model).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_fit_does_not_change_the_given_graph_or_data():
    X, y, _ = blobs()
    graph = KNNGraph(4)
    copies = X.copy(), y.copy()
    LapSVC(graph=graph).fit(X, y)
    assert not hasattr(graph, "affinity_")
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])


def test_fitted_graph_is_shared_and_an_outdated_one_is_not():
    X, y, _ = blobs()
    graph = KNNGraph(4).fit(X)
    assert LapSVC(graph=graph).fit(X, y).graph_ is graph
    other = LapSVC(graph=graph).fit(X + np.arange(4), y).graph_
    assert other is not graph
    given = LapSVC(graph=graph.affinity_).fit(X, y)
    np.testing.assert_allclose(
        given.decision_function(X), LapSVC(graph=graph).fit(X, y).decision_function(X), atol=1e-9
    )


def test_pipeline_and_grid_search_over_the_graph():
    X, y, truth = blobs(n=90, n_classes=3, n_labelled=90)
    pipeline = make_pipeline(StandardScaler(), LapSVC(**MODERATE, graph=KNNGraph()))
    grid = {"lapsvc__graph__n_neighbors": [2, 8], "lapsvc__reg_manifold": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.6
    best = search.best_estimator_[-1]
    assert best.graph_.n_neighbors == search.best_params_["lapsvc__graph__n_neighbors"]
    assert (search.predict(X) == truth).mean() > 0.6


def test_grid_search_with_a_precomputed_kernel_cuts_rows_and_columns():
    X, y, _ = blobs(n=90, n_labelled=90)
    search = GridSearchCV(
        LapRLSClassifier(kernel="precomputed"), {"reg_ambient": [1e-3, 1e-1]}, cv=3,
        error_score="raise",
    )  # fmt: skip
    search.fit(gaussian(X, X, 0.3), y)
    assert search.best_score_ > 0.7


# ---------------------------------------------------------------- what is stored


@every_model
def test_fitted_attributes(model):
    X, y, truth = blobs(n_classes=3)
    fitted = clone(model).fit(X, y)
    assert fitted.dual_coef_.shape == (3, len(X))
    assert fitted.intercept_.shape == (3,)
    np.testing.assert_array_equal(fitted.classes_, [0, 1, 2])
    known = y != -1
    np.testing.assert_array_equal(fitted.transduction_[known], y[known])
    np.testing.assert_array_equal(fitted.transduction_[~known], fitted.predict(X)[~known])
    assert fitted.label_reach_.shape == (len(X),)
    assert fitted.result_.status == "converged"
    assert fitted.result_.relative_gap < 1e-6
    np.testing.assert_array_equal(
        fitted.support_, np.flatnonzero((fitted.dual_coef_ != 0).any(axis=0))
    )
    assert fitted.score(X, truth) == np.mean(fitted.predict(X) == truth)


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_sum_to_one_and_agree_with_the_decision(model, n_classes):
    X, y, _ = blobs(n=150, n_classes=n_classes, n_labelled=20)
    fitted = clone(model).fit(X, y)
    probability = fitted.predict_proba(X)
    assert probability.shape == (len(X), n_classes)
    assert (probability >= 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_[probability.argmax(axis=1)], fitted.predict(X))


def test_probabilities_are_calibrated_where_classes_overlap():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    X = rng.normal(size=(600, 2)) + 1.0 * truth[:, None]
    y = np.full(600, -1)
    y[:80] = truth[:80]
    probability = LapRLSClassifier(gamma=0.3, **MODERATE).fit(X, y).predict_proba(X[80:])
    confidence = probability.max(axis=1)
    correct = probability.argmax(axis=1) == truth[80:]
    assert abs(confidence.mean() - correct.mean()) < 0.06


def test_no_warning_in_the_plain_case():
    X, y, _ = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LapSVC().fit(X, y).predict(X)
        LapRLSRegressor().fit(X, np.where(y == -1, np.nan, y)).predict(X)
