"""Input that cannot be meant, or that is at the edge: a clear answer, and never a NaN."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import lapwing.plan.embedded as embedded
import lapwing.plan.manifold as manifold
from helpers.data import fit_quietly
from lapwing import (
    KNNGraph,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)

EMBEDDED = [
    LapESVC(),
    LapERLSClassifier(),
    LapESVR(unlabeled=-1),
    LapERLSRegressor(unlabeled=-1),
]
CLASSIFIERS = [LapSVC(), LapSVC("hinge"), LapRLSClassifier(), *EMBEDDED[:2]]
every_classifier = pytest.mark.parametrize(
    "machine", CLASSIFIERS, ids=["squared_hinge", "hinge", "squared", "esvc", "erls"]
)
every_machine = pytest.mark.parametrize(
    "machine",
    [*CLASSIFIERS, LapRLSRegressor(unlabeled=-1), LapSVR(unlabeled=-1), *EMBEDDED[2:]],
    ids=["squared_hinge", "hinge", "squared", "esvc", "erls", "regressor", "svr", "esvr", "erlsr"],
)
every_regressor = pytest.mark.parametrize(
    "Regressor", [LapRLSRegressor, LapSVR, LapESVR, LapERLSRegressor]
)
every_embedded = pytest.mark.parametrize("machine", EMBEDDED, ids=["esvc", "erls", "esvr", "erlsr"])


def rows(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.full(n, -1)
    y[:10] = np.arange(10) % 2
    X += 2.0 * (np.arange(n) % 2)[:, None]
    return X, y


def assert_finite(fitted, X):
    assert np.isfinite(fitted.predict(X)).all()
    if hasattr(fitted, "decision_function"):
        assert np.isfinite(fitted.decision_function(X)).all()
        assert np.isfinite(fitted.predict_proba(X)).all()
    assert np.isfinite(fitted.result_.objective)


# ---------------------------------------------------------------- rows


@every_machine
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_missing_or_infinite_values_in_the_rows_are_refused(machine, bad, sparse):
    X, y = rows()
    broken = X.copy()
    broken[3, 1] = bad
    wrap = sp.csr_matrix if sparse else np.asarray
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        clone(machine).fit(wrap(broken), y)
    fitted = clone(machine).fit(wrap(X), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted.predict(wrap(broken))


@every_machine
def test_labels_of_the_wrong_length_are_refused(machine):
    X, y = rows()
    with pytest.raises(ValueError, match="40 rows and y has 39"):
        clone(machine).fit(X, y[:-1])


@every_machine
def test_other_columns_at_prediction_are_refused(machine):
    X, y = rows()
    with pytest.raises(ValueError, match="features"):
        clone(machine).fit(X, y).predict(X[:, :2])


@every_machine
@pytest.mark.parametrize("weights", [np.ones(7), -np.ones(40), np.full(40, np.nan)])
def test_bad_weights_are_refused(machine, weights):
    X, y = rows()
    with pytest.raises(ValueError, match=r"sample_weight|weight"):
        clone(machine).fit(X, y, sample_weight=weights)


# ---------------------------------------------------------------- labels


@every_classifier
def test_no_labelled_row_is_refused(machine):
    X, y = rows()
    with pytest.raises(ValueError, match="no row is labelled"):
        clone(machine).fit(X, np.full(len(y), -1))
    with pytest.raises(ValueError, match="no row is labelled"):
        clone(machine).fit(X, [None] * len(y))


@every_classifier
def test_one_class_is_refused_with_its_name(machine):
    X, y = rows()
    with pytest.raises(ValueError, match=r"only one class \(.*5.*\) is labelled"):
        clone(machine).fit(X, np.where(y == 1, 5, -1))
    with pytest.raises(ValueError, match="at least two classes"):
        clone(machine).fit(X, y, sample_weight=np.where(y == 1, 1.0, 0.0))


@every_classifier
def test_labels_minus_one_and_one_are_refused_with_the_way_out(machine):
    X, y = rows()
    signs = np.where(np.arange(len(y)) % 2, 1, -1)
    with pytest.raises(ValueError, match="unlabeled="):
        clone(machine).fit(X, signs)
    with pytest.raises(ValueError, match="unlabeled="):
        clone(machine).fit(X, signs.astype(float))
    # The way out works.
    labels = [int(s) if i < 10 else None for i, s in enumerate(signs)]
    fitted = clone(machine).set_params(unlabeled=None).fit(X, labels)
    np.testing.assert_array_equal(fitted.classes_, [-1, 1])
    assert (fitted.transduction_ == signs).mean() > 0.7


@every_classifier
@pytest.mark.parametrize(
    "missing", [None, np.nan, pd.NA, float("nan")], ids=["None", "nan", "NA", "float"]
)
@pytest.mark.parametrize("marker", [-1, None, "?"])
def test_missing_values_always_mark_unlabelled_rows(machine, missing, marker):
    X, y = rows()
    expected = fit_quietly(clone(machine), X, y)
    labels = np.array([missing if v == -1 else int(v) for v in y], dtype=object)
    fitted = clone(machine).set_params(unlabeled=marker).fit(X, labels)
    np.testing.assert_array_equal(fitted.classes_, [0, 1])
    np.testing.assert_array_equal(fitted.decision_function(X), expected.decision_function(X))


@every_classifier
def test_pandas_columns_of_labels(machine):
    X, y = rows()
    expected = fit_quietly(clone(machine), X, y).decision_function(X)
    known = [None if v == -1 else int(v) for v in y]
    for column in (
        pd.Series(known, dtype="Int64"),
        pd.Series(known, dtype="float64"),
        pd.Series(known, dtype=object),
        pd.Series(y),
    ):
        fitted = clone(machine).fit(X, column)
        np.testing.assert_array_equal(fitted.decision_function(X), expected)


@every_classifier
@pytest.mark.parametrize("kind", ["list", "object", "numpy", "pandas", "category"])
def test_labels_may_be_words(machine, kind):
    X, y = rows()
    words = [None if v == -1 else ("no", "yes")[v] for v in y]
    marker = None
    if kind == "numpy":
        words, marker = np.array([w or "?" for w in words]), "?"
    elif kind == "object":
        words = np.array(words, dtype=object)
    elif kind == "pandas":
        words = pd.Series(words)
    elif kind == "category":
        words = pd.Series(words, dtype="category")
    fitted = clone(machine).set_params(unlabeled=marker).fit(X, words)
    assert list(fitted.classes_) == ["no", "yes"]
    assert set(fitted.predict(X)) <= {"no", "yes"}
    expected = fit_quietly(clone(machine), X, y)
    np.testing.assert_array_equal(fitted.decision_function(X), expected.decision_function(X))


@every_classifier
@pytest.mark.parametrize("marker", [-99, 7.5, "none of them"])
def test_marker_of_the_user(machine, marker):
    X, y = rows()
    labels = np.array([marker if v == -1 else int(v) for v in y])
    if isinstance(marker, str):
        labels = np.array([marker if v == -1 else str(v) for v in y])
    fitted = clone(machine).set_params(unlabeled=marker).fit(X, labels)
    assert len(fitted.classes_) == 2
    expected = fit_quietly(clone(machine), X, y)
    np.testing.assert_array_equal(fitted.decision_function(X), expected.decision_function(X))


@every_classifier
def test_minus_one_is_a_class_under_another_marker(machine):
    X, y = rows()
    labels = np.where(y == -1, -99, np.where(y == 0, -1, 1))
    fitted = clone(machine).set_params(unlabeled=-99).fit(X, labels)
    np.testing.assert_array_equal(fitted.classes_, [-1, 1])


@every_classifier
def test_numbers_that_are_no_classes_are_refused(machine):
    X, _ = rows()
    with pytest.raises(ValueError, match=r"[Uu]nknown label type|continuous"):
        clone(machine).fit(X, X[:, 0])


@every_classifier
def test_mixed_types_of_labels_are_refused(machine):
    X, y = rows()
    labels = np.array([None if v == -1 else (0, "one")[v] for v in y], dtype=object)
    with pytest.raises(ValueError, match="mix types"):
        clone(machine).fit(X, labels)


@every_regressor
def test_regressor_targets(Regressor):
    X, y = rows()
    target = np.where(y == -1, np.nan, X[:, 0])
    expected = Regressor().fit(X, target)
    assert_finite(expected, X)
    objects = np.array([pd.NA if np.isnan(t) else t for t in target], dtype=object)
    marked = np.where(np.isnan(target), -99.0, target)
    for machine, labels in (
        (Regressor(), objects),
        (Regressor(), [None if np.isnan(t) else float(t) for t in target]),
        (Regressor(), pd.Series(objects, dtype="Float64")),
        (Regressor(unlabeled=-99.0), marked),
    ):
        np.testing.assert_array_equal(machine.fit(X, labels).predict(X), expected.predict(X))
    np.testing.assert_array_equal(expected.transduction_[:10], target[:10])
    np.testing.assert_allclose(expected.transduction_[10:], expected.predict(X)[10:], atol=1e-9)


@every_regressor
def test_regressor_refuses_infinite_words_and_nothing_at_all(Regressor):
    X, y = rows()
    target = np.where(y == -1, np.nan, X[:, 0])
    for bad in (np.inf, -np.inf):
        with pytest.raises(ValueError, match="infinity"):
            Regressor().fit(X, np.where(np.arange(40) == 2, bad, target))
    with pytest.raises(ValueError, match="must hold numbers"):
        Regressor().fit(X, np.array(["a"] * 40, dtype=object))
    with pytest.raises(ValueError, match="no row has a target"):
        Regressor().fit(X, np.full(40, np.nan))
    with pytest.raises(ValueError, match="no row has a target"):
        Regressor().fit(X, target, sample_weight=np.isnan(target).astype(float))


# ---------------------------------------------------------------- graph


@every_machine
@pytest.mark.parametrize("path", ["dense", "iterative"])
def test_part_of_the_graph_without_label_warns_and_stays_finite(machine, path, monkeypatch):
    if path == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    X, y = rows()
    far = np.vstack([X, X + 1000.0])
    labels = np.append(y, np.full(len(y), -1))
    machine = clone(machine).set_params(graph=KNNGraph(12))
    with pytest.warns(UserWarning, match="40 rows lie in parts of the graph that no label reaches"):
        fitted = machine.fit(far, labels)
    np.testing.assert_array_equal(fitted.label_reach_, np.repeat([True, False], 40))
    assert_finite(fitted, far)


def test_no_warning_about_the_graph_when_it_is_not_used():
    X, y = rows()
    far = np.vstack([X, X + 1000.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LapSVC(reg_manifold=0.0).fit(far, np.append(y, np.full(len(y), -1)))


@every_machine
@pytest.mark.parametrize("normalized", [True, False])
def test_isolated_rows(machine, normalized):
    X, y = rows()
    W = KNNGraph(5).fit(X).affinity_.tolil()
    for i in (0, 20):  # a labelled and an unlabelled row
        W[i, :] = 0
        W[:, i] = 0
    graph = KNNGraph.from_affinity(W.tocsr(), normalized=normalized)
    fitted = fit_quietly(clone(machine).set_params(graph=graph), X, y)
    assert_finite(fitted, X)
    assert not fitted.label_reach_[20]
    assert fitted.label_reach_[0]


@every_machine
def test_graph_without_any_edge(machine):
    X, y = rows()
    machine = clone(machine).set_params(graph=sp.csr_matrix((40, 40)))
    fitted = fit_quietly(clone(machine), X, y)
    assert_finite(fitted, X)
    np.testing.assert_array_equal(fitted.label_reach_, y != -1)
    if isinstance(machine, LapESVR):
        return  # rows without a label are held loosely at zero
    # L = 0, so it is the supervised machine.
    supervised = clone(machine).set_params(reg_manifold=0.0).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), supervised.predict(X), atol=1e-8)


@every_machine
def test_affinity_of_the_wrong_size_is_refused(machine):
    X, y = rows()
    for W in (sp.eye(39, format="csr"), np.ones((41, 41))):
        with pytest.raises(ValueError, match=r"affinity matrix has \d+ rows and X has 40"):
            clone(machine).set_params(graph=W).fit(X, y)
    with pytest.raises(ValueError, match="square"):
        clone(machine).set_params(graph=np.ones((40, 39))).fit(X, y)


@every_machine
@pytest.mark.parametrize("graph", ["knn", 10, KNNGraph])
def test_graph_of_the_wrong_type_is_refused(machine, graph):
    X, y = rows()
    with pytest.raises(TypeError, match="graph must be a KNNGraph"):
        clone(machine).set_params(graph=graph).fit(X, y)


# ---------------------------------------------------------------- kernel


@every_machine
def test_kernel_that_is_not_semidefinite_is_refused(machine):
    X, y = rows()
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    machine = clone(machine)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        machine.set_params(kernel="precomputed").fit(distances, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        machine.set_params(kernel=lambda A, B: -(A @ B.T)).fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        machine.set_params(kernel="poly", coef0=-5.0, degree=3).fit(X, y)


@every_machine
def test_kernel_that_is_not_symmetric_is_refused(machine, monkeypatch):
    monkeypatch.setattr("lapwing.estimators.kernel_choice._TILE", 16)
    X, y = rows()
    for place in ((0, 1), (0, 39), (39, 0), (20, 35)):
        skew = X @ X.T
        skew[place] += 1.0
        with pytest.raises(ValueError, match="not symmetric"):
            clone(machine).set_params(kernel="precomputed").fit(skew, y)
    with pytest.raises(ValueError, match="not symmetric"):
        clone(machine).set_params(kernel=lambda A, B: A[:, :1] + 0 * B[:, 0]).fit(X, y)


@every_machine
def test_kernel_of_the_wrong_shape_is_refused(machine):
    X, y = rows()
    with pytest.raises(ValueError, match="square"):
        clone(machine).set_params(kernel="precomputed").fit(X @ X[:39].T, y)
    with pytest.raises(ValueError, match="must return an array of shape"):
        clone(machine).set_params(kernel=lambda A, B: np.ones(len(A))).fit(X, y)
    with pytest.raises(ValueError, match="kernel 'gauss' is unknown"):
        clone(machine).set_params(kernel="gauss").fit(X, y)


@every_machine
@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf, np.nan, "narrow"])
def test_bad_gamma_is_refused(machine, gamma):
    X, y = rows()
    with pytest.raises(ValueError, match="gamma must be"):
        clone(machine).set_params(gamma=gamma).fit(X, y)


@every_machine
@pytest.mark.parametrize("gamma", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("path", ["dense", "iterative"])
def test_very_wide_and_very_narrow_kernels_stay_finite(machine, gamma, path, monkeypatch):
    if path == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
    X, y = rows()
    fitted = fit_quietly(clone(machine).set_params(gamma=gamma), X, y)
    assert_finite(fitted, X)
    assert_finite(fitted, X + 100.0)


@every_machine
@pytest.mark.parametrize("solver", ["auto", "pcg", "iterative"])
@pytest.mark.parametrize("trouble", ["duplicates", "constant column", "rank one", "all equal"])
def test_singular_kernels_stay_finite(machine, solver, trouble, monkeypatch):
    X, y = rows()
    kernel = "rbf"
    if trouble == "duplicates":
        X = np.repeat(X[:10], 4, axis=0)
    elif trouble == "constant column":
        X[:, 1] = 3.0
    elif trouble == "rank one":
        X, kernel = np.outer(np.linspace(-1, 1, 40), np.ones(3)), "linear"
    else:
        X = np.ones((40, 3))
    machine = clone(machine).set_params(kernel=kernel)
    if solver == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
        monkeypatch.setattr(manifold, "DENSE_FEATURES", 0)
    elif solver == "pcg":
        params = machine.get_params()
        if params.get("loss") == "hinge" or isinstance(machine, LapSVR) or "C" in params:
            pytest.skip("pcg is for smooth losses of the Laplacian machines")
        machine.set_params(solver="pcg", max_iter=50)
    assert_finite(fit_quietly(clone(machine), X, y), X)


@every_machine
def test_rows_of_very_different_scale_stay_finite(machine):
    X, y = rows()
    X[:, 0] *= 1e8
    X[:, 1] *= 1e-8
    if isinstance(machine, (LapESVC, LapESVR)):
        machine = clone(machine).set_params(max_iter=10)  # pairs of rows take for ever
    for kernel in ("rbf", "linear", "cosine", "poly"):
        assert_finite(fit_quietly(clone(machine).set_params(kernel=kernel, coef0=1.0), X, y), X)


# ---------------------------------------------------------------- memory, parameters


@pytest.mark.parametrize("solver", ["newton", "pcg", "auto"])
def test_too_small_a_memory_limit_is_refused_with_a_figure(solver):
    X, y = rows(n=300)
    with pytest.raises(MemoryError, match=r"needs .*\d (MB|kB|GB).*memory_limit"):
        LapSVC(solver=solver, memory_limit="20kB").fit(X, y)


def test_memory_limit_that_is_no_size_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="is not a size"):
        LapSVC(memory_limit="plenty").fit(X, y)


def test_memory_error_says_the_figure_that_suffices():
    X, y = rows(n=300)
    with pytest.raises(MemoryError) as caught:
        LapSVC(solver="newton", memory_limit="1MB").fit(X, y)
    figure = re.search(r"needs ([\d.]+ MB)", str(caught.value)).group(1)
    amount = float(figure.split()[0])
    LapSVC(solver="newton", memory_limit=f"{1.1 * amount:.2f}MB").fit(X, y)


@pytest.mark.parametrize(
    ("machine", "solver"),
    [
        (LapSVC(), "dual"),
        (LapSVC(), "direct"),
        (LapSVC("hinge"), "newton"),
        (LapSVC("hinge"), "pcg"),
        (LapRLSClassifier(), "newton"),
        (LapRLSRegressor(unlabeled=-1), "dual"),
        (LapSVR(unlabeled=-1), "direct"),
        (LapSVR(unlabeled=-1), "pcg"),
        (LapSVC(), "fast"),
    ],
)
def test_solver_that_does_not_go_with_the_loss_is_refused(machine, solver):
    X, y = rows()
    with pytest.raises(ValueError, match="solver"):
        clone(machine).set_params(solver=solver).fit(X, y)


def test_unknown_loss_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="loss must be"):
        LapSVC("logistic").fit(X, y)


@every_machine
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reg_ambient", 0.0),
        ("reg_ambient", -1.0),
        ("reg_ambient", np.nan),
        ("reg_ambient", np.inf),
        ("reg_manifold", -1e-9),
        ("reg_manifold", np.nan),
        ("reg_manifold", np.inf),
    ],
)
def test_bad_regularization_is_refused_by_name(machine, name, value):
    if name not in machine.get_params():
        pytest.skip("it weighs the losses instead, by C")
    X, y = rows()
    with pytest.raises(ValueError, match=name):
        clone(machine).set_params(**{name: value}).fit(X, y)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", ["C", "epsilon"])
def test_bad_scales_of_support_vector_regression_are_refused_by_name(name, value):
    X, y = rows()
    with pytest.raises(ValueError, match=name):
        LapSVR(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="C must be"):
        LapSVR(C=0.0).fit(X, y)


def test_not_converged_says_what_to_do():
    X, y = rows()
    with pytest.warns(UserWarning, match=r"Not converged after 2 .* Raise max_iter"):
        fitted = LapSVC(solver="pcg", max_iter=2, tol=1e-12).fit(X, y)
    assert fitted.result_.status == "not_converged"
    assert_finite(fitted, X)


@every_machine
@pytest.mark.parametrize("n", [2, 3])
def test_fewest_rows(machine, n):
    X = np.array([[0.0], [1.0], [0.4]])[:n]
    assert_finite(fit_quietly(clone(machine), X, np.array([0, 1, -1])[:n]), X)


# ---------------------------------------------------------------- Laplacian embedding


@every_embedded
@pytest.mark.parametrize("k", [0, -1, 2.5, 10.0, "ten", 40, 41])
def test_count_of_eigenvectors_that_cannot_be_is_refused(machine, k):
    X, y = rows()
    with pytest.raises(ValueError, match="n_eigenvectors"):
        clone(machine).set_params(n_eigenvectors=k).fit(X, y)


@every_embedded
@pytest.mark.parametrize("k", [1, 39, np.int64(5)])
def test_fewest_and_most_eigenvectors(machine, k):
    X, y = rows()
    assert_finite(fit_quietly(clone(machine).set_params(n_eigenvectors=k), X, y), X)


@every_embedded
def test_more_parts_of_the_graph_than_eigenvectors(machine):
    X, y = rows()
    far = np.vstack([X, X[:30] + 1000.0, X[:25] - 1000.0])
    labels = np.concatenate([y, y[:30], y[:25]])
    machine = clone(machine).set_params(n_eigenvectors=2, graph=KNNGraph(12))
    with pytest.warns(UserWarning, match=r"3 components and n_eigenvectors is 2: .* Raise") as all_:
        machine.fit(far, labels)
    assert all_[0].filename == __file__
    assert_finite(machine, far)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.set_params(n_eigenvectors=12).fit(far, labels)


@every_embedded
@pytest.mark.parametrize("k", [None, 6])
@pytest.mark.parametrize("matrix", [True, False])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("normalized", [True, False])
def test_part_without_label_in_the_embedding(machine, k, matrix, power, normalized, monkeypatch):
    if not matrix:
        monkeypatch.setattr(embedded, "DENSE_ROWS", 0)
    X, y = rows()
    far = np.vstack([X, X + 1000.0])
    labels = np.append(y, np.full(len(y), -1))
    graph = KNNGraph(12, power=power, normalized=normalized)
    machine = clone(machine).set_params(n_eigenvectors=k, graph=graph, gamma=0.2)
    with pytest.warns(UserWarning, match="40 rows lie in parts of the graph that no label") as all_:
        machine.fit(far, labels)
    assert all_[0].filename == __file__
    assert_finite(machine, far)
    if k is None:  # the labels decide where they are, as if the other part were not there
        alone = fit_quietly(clone(machine), X, y)
        assert np.abs(machine.predict(far)[:40] - alone.predict(X)).mean() < 0.1


@pytest.mark.parametrize("Machine", [LapESVR, LapESVC])
@pytest.mark.parametrize("k", [None, 6])
@pytest.mark.parametrize("reg_manifold", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_tube_that_holds_all_targets(Machine, k, reg_manifold, intercept):
    X, y = rows()
    machine = Machine(
        epsilon=50.0, n_eigenvectors=k, unlabeled=-1, reg_manifold=reg_manifold,
        fit_intercept=intercept,
    )  # fmt: skip
    with pytest.warns(UserWarning, match=r"epsilon=50 is so large .* Lower epsilon") as caught:
        machine.fit(X, y)
    assert caught[0].filename == __file__
    assert_finite(machine, X)
    assert len(np.unique(machine.predict(X))) == 1
    assert len(machine.support_) == 0
    assert machine.result_.status == "converged"
    if not intercept:
        assert machine.intercept_ == 0


@every_embedded
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "much", None])
@pytest.mark.parametrize("name", ["C", "reg_labeled", "tol"])
def test_bad_scales_of_the_embedding_are_refused_by_name(machine, name, value):
    X, y = rows()
    with pytest.raises(ValueError, match=f"{name} must be"):
        clone(machine).set_params(**{name: value}).fit(X, y)


@every_embedded
@pytest.mark.parametrize("value", [0, 2.5, -3])
def test_bad_count_of_iterations_is_refused(machine, value):
    X, y = rows()
    with pytest.raises(ValueError, match="max_iter must be"):
        clone(machine).set_params(max_iter=value).fit(X, y)


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf])
@pytest.mark.parametrize("Machine", [LapESVC, LapESVR])
def test_bad_tube_is_refused(Machine, value):
    X, y = rows()
    with pytest.raises(ValueError, match="epsilon must be"):
        Machine(epsilon=value).fit(X, y)


@pytest.mark.parametrize("Machine", [LapERLSClassifier, LapERLSRegressor])
@pytest.mark.parametrize("k", [None, 5])
def test_unknown_solver_of_least_squares_is_refused(Machine, k):
    X, y = rows()
    with pytest.raises(ValueError, match="solver must be"):
        Machine(solver="pcg", n_eigenvectors=k).fit(X, y)


@every_embedded
@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("C", [1e-9, 1e9])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_extreme_weights_stay_finite(machine, k, C, kernel):
    X, y = rows()
    X[20:] = X[:20]  # K is singular
    machine = clone(machine).set_params(C=C, n_eigenvectors=k, kernel=kernel, max_iter=10)
    assert_finite(fit_quietly(clone(machine), X, y), X)


@every_embedded
@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize(("lam", "mu"), [(1e-8, 1.0), (1e12, 1e-6), (1.0, 1e8), (1e-6, 1e-6)])
def test_extreme_regularization_stays_finite(machine, k, lam, mu):
    X, y = rows()
    machine = clone(machine).set_params(reg_labeled=lam, reg_manifold=mu, n_eigenvectors=k)
    assert_finite(fit_quietly(clone(machine).set_params(max_iter=10), X, y), X)


def test_weight_beyond_working_precision_is_refused_with_advice():
    X, y = rows()
    with pytest.raises(ValueError, match="lower C"):
        LapERLSClassifier(C=1e17, kernel="linear", n_eigenvectors=5).fit(X, y)
