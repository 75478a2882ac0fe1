"""Input at the edge, for the Laplacian and the embedded family: a clear answer, and never a NaN.

What holds for every estimator is in ``tests/contract``.
"""

import re
import warnings

import numpy as np
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
every_model = pytest.mark.parametrize(
    "model",
    [*CLASSIFIERS, LapRLSRegressor(unlabeled=-1), LapSVR(unlabeled=-1), *EMBEDDED[2:]],
    ids=["squared_hinge", "hinge", "squared", "esvc", "erls", "regressor", "svr", "esvr", "erlsr"],
)
every_embedded = pytest.mark.parametrize("model", EMBEDDED, ids=["esvc", "erls", "esvr", "erlsr"])


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


# ---------------------------------------------------------------- graph


@every_model
def test_part_of_the_graph_without_label_warns_and_stays_finite(model, monkeypatch):
    monkeypatch.setattr(manifold, "DENSE_ROWS", 0)  # iterate; tests/contract has the dense way
    X, y = rows()
    far = np.vstack([X, X + 1000.0])
    labels = np.append(y, np.full(len(y), -1))
    model = clone(model).set_params(graph=KNNGraph(12))
    with pytest.warns(UserWarning, match="40 rows lie in parts of the graph that no label reaches"):
        fitted = model.fit(far, labels)
    np.testing.assert_array_equal(fitted.label_reach_, np.repeat([True, False], 40))
    assert_finite(fitted, far)


def test_no_warning_about_the_graph_when_it_is_not_used():
    X, y = rows()
    far = np.vstack([X, X + 1000.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LapSVC(reg_manifold=0.0).fit(far, np.append(y, np.full(len(y), -1)))


@every_model
def test_graph_without_any_edge(model):
    X, y = rows()
    model = clone(model).set_params(graph=sp.csr_matrix((40, 40)))
    fitted = fit_quietly(clone(model), X, y)
    assert_finite(fitted, X)
    np.testing.assert_array_equal(fitted.label_reach_, y != -1)
    if isinstance(model, LapESVR):
        return  # rows without a label are held loosely at zero
    # L = 0, so it is the supervised model.
    supervised = clone(model).set_params(reg_manifold=0.0).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), supervised.predict(X), atol=1e-8)


# ---------------------------------------------------------------- kernel


@every_model
def test_kernel_that_is_not_symmetric_is_refused(model, monkeypatch):
    monkeypatch.setattr("lapwing.estimators.kernel_choice._TILE", 16)
    X, y = rows()
    for place in ((0, 1), (0, 39), (39, 0), (20, 35)):
        skew = X @ X.T
        skew[place] += 1.0
        with pytest.raises(ValueError, match="not symmetric"):
            clone(model).set_params(kernel="precomputed").fit(skew, y)
    with pytest.raises(ValueError, match="not symmetric"):
        clone(model).set_params(kernel=lambda A, B: A[:, :1] + 0 * B[:, 0]).fit(X, y)


@every_model
@pytest.mark.parametrize("gamma", [1e-12, 1e-6, 1e6, 1e12])
def test_very_wide_and_very_narrow_kernels_stay_finite(model, gamma, monkeypatch):
    monkeypatch.setattr(manifold, "DENSE_ROWS", 0)  # iterate; tests/contract has the dense way
    X, y = rows()
    fitted = fit_quietly(clone(model).set_params(gamma=gamma), X, y)
    assert_finite(fitted, X)
    assert_finite(fitted, X + 100.0)


@every_model
@pytest.mark.parametrize("solver", ["auto", "pcg", "iterative"])
@pytest.mark.parametrize("trouble", ["duplicates", "constant column", "rank one", "all equal"])
def test_singular_kernels_stay_finite(model, solver, trouble, monkeypatch):
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
    model = clone(model).set_params(kernel=kernel)
    if solver == "iterative":
        monkeypatch.setattr(manifold, "DENSE_ROWS", 0)
        monkeypatch.setattr(manifold, "DENSE_FEATURES", 0)
    elif solver == "pcg":
        params = model.get_params()
        if params.get("loss") == "hinge" or isinstance(model, LapSVR) or "C" in params:
            pytest.skip("pcg is for smooth losses of the Laplacian models")
        model.set_params(solver="pcg", max_iter=50)
    assert_finite(fit_quietly(clone(model), X, y), X)


@every_model
def test_rows_of_very_different_scale_stay_finite_or_are_refused(model):
    X, y = rows()
    X[:, 0] *= 1e8
    X[:, 1] *= 1e-8
    if isinstance(model, (LapESVC, LapESVR)):
        model = clone(model).set_params(max_iter=10)  # pairs of rows take for ever
    for kernel in ("rbf", "linear", "cosine", "poly"):
        try:
            fitted = fit_quietly(clone(model).set_params(kernel=kernel, coef0=1.0), X, y)
        except ValueError as error:
            refused = kernel in ("linear", "poly") and "in double precision" in str(error)
            if not refused:  # their kernel values are of order 1e16 or more
                raise
        else:
            assert_finite(fitted, X)


# ---------------------------------------------------------------- memory, parameters


@pytest.mark.parametrize("solver", ["newton", "pcg", "auto"])
def test_too_small_a_memory_limit_is_refused_with_a_figure(solver):
    X, y = rows(n=300)
    with pytest.raises(MemoryError, match=r"needs .*\d (MB|kB|GB).*memory_limit"):
        LapSVC(solver=solver, memory_limit="20kB").fit(X, y)


def test_memory_error_says_the_figure_that_suffices():
    X, y = rows(n=300)
    with pytest.raises(MemoryError) as caught:
        LapSVC(solver="newton", memory_limit="1MB").fit(X, y)
    figure = re.search(r"needs ([\d.]+ MB)", str(caught.value)).group(1)
    amount = float(figure.split()[0])
    LapSVC(solver="newton", memory_limit=f"{1.1 * amount:.2f}MB").fit(X, y)


@pytest.mark.parametrize(
    ("model", "solver"),
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
def test_solver_that_does_not_go_with_the_loss_is_refused(model, solver):
    X, y = rows()
    with pytest.raises(ValueError, match="solver"):
        clone(model).set_params(solver=solver).fit(X, y)


def test_not_converged_says_what_to_do():
    X, y = rows()
    with pytest.warns(UserWarning, match=r"Not converged after 2 .* Raise max_iter"):
        fitted = LapSVC(solver="pcg", max_iter=2, tol=1e-12).fit(X, y)
    assert fitted.result_.status == "not_converged"
    assert_finite(fitted, X)


# ---------------------------------------------------------------- Laplacian embedding


@every_embedded
@pytest.mark.parametrize("k", [1, 39, np.int64(5)])
def test_fewest_and_most_eigenvectors(model, k):
    X, y = rows()
    assert_finite(fit_quietly(clone(model).set_params(n_eigenvectors=k), X, y), X)


@every_embedded
def test_more_parts_of_the_graph_than_eigenvectors(model):
    X, y = rows()
    far = np.vstack([X, X[:30] + 1000.0, X[:25] - 1000.0])
    labels = np.concatenate([y, y[:30], y[:25]])
    model = clone(model).set_params(n_eigenvectors=2, graph=KNNGraph(12))
    with pytest.warns(UserWarning, match=r"3 components and n_eigenvectors is 2: .* Raise") as all_:
        model.fit(far, labels)
    assert all_[0].filename == __file__
    assert_finite(model, far)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_eigenvectors=12).fit(far, labels)


@every_embedded
@pytest.mark.parametrize("k", [None, 6])
@pytest.mark.parametrize("matrix", [True, False])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("normalized", [True, False])
def test_part_without_label_in_the_embedding(model, k, matrix, power, normalized, monkeypatch):
    if not matrix:
        monkeypatch.setattr(embedded, "DENSE_ROWS", 0)
    X, y = rows()
    far = np.vstack([X, X + 1000.0])
    labels = np.append(y, np.full(len(y), -1))
    graph = KNNGraph(12, power=power, normalized=normalized)
    model = clone(model).set_params(n_eigenvectors=k, graph=graph, gamma=0.2)
    with pytest.warns(UserWarning, match="40 rows lie in parts of the graph that no label") as all_:
        model.fit(far, labels)
    assert all_[0].filename == __file__
    assert_finite(model, far)
    if k is None:  # the labels decide where they are, as if the other part were not there
        alone = fit_quietly(clone(model), X, y)
        assert np.abs(model.predict(far)[:40] - alone.predict(X)).mean() < 0.1


@pytest.mark.parametrize("Model", [LapESVR, LapESVC])
@pytest.mark.parametrize("k", [None, 6])
@pytest.mark.parametrize("reg_manifold", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_tube_that_holds_all_targets(Model, k, reg_manifold, intercept):
    X, y = rows()
    model = Model(
        epsilon=50.0, n_eigenvectors=k, unlabeled=-1, reg_manifold=reg_manifold,
        fit_intercept=intercept,
    )  # fmt: skip
    with pytest.warns(UserWarning, match=r"epsilon=50 is so large .* Lower epsilon") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert_finite(model, X)
    assert len(np.unique(model.predict(X))) == 1
    assert len(model.support_) == 0
    assert model.result_.status == "converged"
    if not intercept:
        assert model.intercept_ == 0


@pytest.mark.parametrize("Model", [LapERLSClassifier, LapERLSRegressor])
@pytest.mark.parametrize("k", [None, 5])
def test_unknown_solver_of_least_squares_is_refused(Model, k):
    X, y = rows()
    with pytest.raises(ValueError, match="solver must be"):
        Model(solver="pcg", n_eigenvectors=k).fit(X, y)


@every_embedded
@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("C", [1e-9, 1e9])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_extreme_weights_stay_finite(model, k, C, kernel):
    X, y = rows()
    X[20:] = X[:20]  # K is singular
    model = clone(model).set_params(C=C, n_eigenvectors=k, kernel=kernel, max_iter=10)
    assert_finite(fit_quietly(clone(model), X, y), X)


@every_embedded
@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize(("lam", "mu"), [(1e-8, 1.0), (1e12, 1e-6), (1.0, 1e8), (1e-6, 1e-6)])
def test_extreme_regularization_stays_finite(model, k, lam, mu):
    X, y = rows()
    model = clone(model).set_params(reg_labeled=lam, reg_manifold=mu, n_eigenvectors=k)
    assert_finite(fit_quietly(clone(model).set_params(max_iter=10), X, y), X)


def test_weight_beyond_working_precision_is_refused_with_advice():
    X, y = rows()
    with pytest.raises(ValueError, match="lower C"):
        LapERLSClassifier(C=1e17, kernel="linear", n_eigenvectors=5).fit(X, y)


def test_a_kernel_with_one_negative_direction_is_refused():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    v = X[:, :1] / np.linalg.norm(X[:, 0])
    for least, refused in ((-1e-3, True), (-1e-9, False)):
        K = np.eye(30) + (least - 1.0) * (v @ v.T)  # eigenvalues one, and the least
        if refused:
            with pytest.raises(ValueError, match=r"semi-definite .*from -0\.001 to 1"):
                LapSVC(kernel="precomputed").fit(K, y)
        else:
            LapSVC(kernel="precomputed", graph=KNNGraph().fit(X)).fit(K, y)
