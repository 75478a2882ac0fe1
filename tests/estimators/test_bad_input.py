"""Input that cannot be meant, or that is at the edge: a clear answer, and never a NaN."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import lapwing.estimators.manifold as manifold
from lapwing import KNNGraph, LapRLSClassifier, LapRLSRegressor, LapSVC

CLASSIFIERS = [LapSVC(), LapSVC("hinge"), LapRLSClassifier()]
every_classifier = pytest.mark.parametrize(
    "machine", CLASSIFIERS, ids=["squared_hinge", "hinge", "squared"]
)
every_machine = pytest.mark.parametrize(
    "machine",
    [*CLASSIFIERS, LapRLSRegressor(unlabeled=-1)],
    ids=["squared_hinge", "hinge", "squared", "regressor"],
)


def rows(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.full(n, -1)
    y[:10] = np.arange(10) % 2
    X += 2.0 * (np.arange(n) % 2)[:, None]
    return X, y


def fit_quietly(machine, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(machine).fit(X, y)


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
    expected = fit_quietly(machine, X, y)
    labels = np.array([missing if v == -1 else int(v) for v in y], dtype=object)
    fitted = clone(machine).set_params(unlabeled=marker).fit(X, labels)
    np.testing.assert_array_equal(fitted.classes_, [0, 1])
    np.testing.assert_array_equal(fitted.decision_function(X), expected.decision_function(X))


@every_classifier
def test_pandas_columns_of_labels(machine):
    X, y = rows()
    expected = fit_quietly(machine, X, y).decision_function(X)
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
    expected = fit_quietly(machine, X, y)
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
    expected = fit_quietly(machine, X, y)
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


def test_regressor_targets():
    X, y = rows()
    target = np.where(y == -1, np.nan, X[:, 0])
    expected = LapRLSRegressor().fit(X, target)
    assert_finite(expected, X)
    objects = np.array([pd.NA if np.isnan(t) else t for t in target], dtype=object)
    marked = np.where(np.isnan(target), -99.0, target)
    for machine, labels in (
        (LapRLSRegressor(), objects),
        (LapRLSRegressor(), [None if np.isnan(t) else float(t) for t in target]),
        (LapRLSRegressor(), pd.Series(objects, dtype="Float64")),
        (LapRLSRegressor(unlabeled=-99.0), marked),
    ):
        np.testing.assert_array_equal(machine.fit(X, labels).predict(X), expected.predict(X))
    np.testing.assert_array_equal(expected.transduction_[:10], target[:10])
    np.testing.assert_allclose(expected.transduction_[10:], expected.predict(X)[10:], atol=1e-9)


def test_regressor_refuses_infinite_words_and_nothing_at_all():
    X, y = rows()
    target = np.where(y == -1, np.nan, X[:, 0])
    for bad in (np.inf, -np.inf):
        with pytest.raises(ValueError, match="infinity"):
            LapRLSRegressor().fit(X, np.where(np.arange(40) == 2, bad, target))
    with pytest.raises(ValueError, match="must hold numbers"):
        LapRLSRegressor().fit(X, np.array(["a"] * 40, dtype=object))
    with pytest.raises(ValueError, match="no row has a target"):
        LapRLSRegressor().fit(X, np.full(40, np.nan))
    with pytest.raises(ValueError, match="no row has a target"):
        LapRLSRegressor().fit(X, target, sample_weight=np.isnan(target).astype(float))


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
    fitted = fit_quietly(machine, X, y)
    assert_finite(fitted, X)
    np.testing.assert_array_equal(fitted.label_reach_, y != -1)
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
def test_kernel_that_is_not_symmetric_is_refused(machine):
    X, y = rows()
    skew = X @ X.T
    skew[0, 1] += 1.0
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
        if machine.get_params().get("loss") == "hinge":
            pytest.skip("pcg is for smooth losses")
        machine.set_params(solver="pcg", max_iter=50)
    assert_finite(fit_quietly(machine, X, y), X)


@every_machine
def test_rows_of_very_different_scale_stay_finite(machine):
    X, y = rows()
    X[:, 0] *= 1e8
    X[:, 1] *= 1e-8
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
    X, y = rows()
    with pytest.raises(ValueError, match=name):
        clone(machine).set_params(**{name: value}).fit(X, y)


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
    assert_finite(fit_quietly(machine, X, np.array([0, 1, -1])[:n]), X)
