"""AnchorGraphClassifier against loops, quadratic programs and the dense graph; and its life."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import make_moons

from helpers import data
from lapwing import AnchorGraphClassifier
from lapwing.graphs import AnchorGraph
from lapwing.graphs.anchors import (
    AnchorSums,
    kernel_weights,
    simplex_weights,
)

every_rule = pytest.mark.parametrize("weights", ["kernel", "lae"])


moons = partial(data.moons, n=300, n_labelled=8, noise=0.06)


blobs = data.blobs


def naive_weights(X, anchors, s, rule):
    """Row by row, with a general optimiser for the reconstruction."""
    Z = np.zeros((len(X), len(anchors)))
    squared = ((X[:, None] - anchors[None]) ** 2).sum(axis=2)
    order = np.argsort(squared, axis=1, kind="stable")[:, :s]
    h = np.mean([np.sqrt(squared[i, order[i, -1]]) for i in range(len(X))])
    for i, row in enumerate(X):
        near = order[i]
        if rule == "kernel":
            w = np.exp(-squared[i, near] / (2 * h**2))
        else:
            U = anchors[near]
            w = minimize(
                lambda z, U=U, row=row: ((row - z @ U) ** 2).sum(),
                np.full(s, 1 / s),
                bounds=[(0, 1)] * s,
                constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
                method="SLSQP",
                options={"ftol": 1e-15, "maxiter": 500},
            ).x
        Z[i, near] = w / w.sum()
    return Z


def naive_values(Z, index, Y, weights, reg):
    """Values of all rows by the dense n × n graph: f = Za minimises over a."""
    load = Z.sum(axis=0)
    W = Z @ np.diag(1 / load) @ Z.T
    L = np.diag(W.sum(axis=1)) - W
    H = Z[index].T @ np.diag(weights) @ Z[index] + reg * Z.T @ L @ Z
    A = np.linalg.pinv(H, hermitian=True) @ Z[index].T @ np.diag(weights) @ Y
    return A


# ---------------------------------------------------------------- weights


@every_rule
@pytest.mark.parametrize("s", [1, 3, 5])
@pytest.mark.parametrize("d", [1, 2, 8])
def test_weights_equal_those_of_loops(weights, s, d):
    rng = np.random.default_rng(s * 10 + d)
    X, anchors = rng.normal(size=(40, d)), rng.normal(size=(12, d))
    graph, Z = AnchorGraph.build(X, anchors, s, weights)
    expected = naive_weights(X, anchors, s, weights)
    np.testing.assert_allclose(Z.toarray() @ anchors, expected @ anchors, atol=2e-6)
    if d >= s or weights == "kernel":  # in few dimensions several mixtures may fit exactly
        np.testing.assert_allclose(Z.toarray(), expected, atol=2e-5)
    np.testing.assert_allclose(graph(X).toarray(), Z.toarray())


@every_rule
def test_rows_of_weights_are_mixtures(weights):
    X, _, _ = blobs()
    graph, _ = AnchorGraph.build(X, X[::7] + 0.1, 4, weights)
    for rows in (X, 1e6 * X, X[:3] + 1e3, X[::7] + 0.1):
        Z = graph(rows)
        assert (Z.data > 0).all()
        np.testing.assert_allclose(np.asarray(Z.sum(axis=1)).ravel(), 1.0, atol=1e-12)
        assert np.diff(Z.indptr).max() <= 4


@pytest.mark.parametrize(("s", "d"), [(1, 2), (2, 1), (3, 2), (3, 9), (6, 3), (10, 4)])
def test_reconstruction_satisfies_its_optimality_conditions(s, d):
    rng = np.random.default_rng(0)
    D = rng.normal(size=(300, s, d)) + 0.5 * rng.normal(size=(300, 1, d))
    D[:40, 0] = D[:40, -1]  # equal anchors
    D[40:60, 0] = 0.0  # the row is an anchor
    G = D @ D.transpose(0, 2, 1)
    z = simplex_weights(G)
    slope = np.einsum("kij,kj->ki", G, z)
    multiplier = (slope * z).sum(axis=1, keepdims=True)
    assert (z >= 0).all()
    np.testing.assert_allclose(z.sum(axis=1), 1.0)
    assert (slope - multiplier).min() > -1e-9  # no entry would lower the error
    assert np.abs(z * (slope - multiplier)).max() < 1e-9  # and those in use agree


def test_reconstruction_of_equal_anchors_is_finite():
    z = simplex_weights(np.zeros((2, 3, 3)))
    np.testing.assert_allclose(z.sum(axis=1), 1.0)


def test_kernel_weights_far_away_and_without_bandwidth():
    squared = np.array([[0.0, 1.0, 4.0], [1e8, 1e8 + 1, 2e8]])
    w = kernel_weights(squared, 1.0)
    np.testing.assert_allclose(w[0], np.exp([0, -0.5, -2]) / np.exp([0, -0.5, -2]).sum())
    np.testing.assert_allclose(w[1], np.array([1, np.exp(-0.5), 0]) / (1 + np.exp(-0.5)))
    np.testing.assert_array_equal(kernel_weights(squared, 0.0)[0], [1.0, 0.0, 0.0])


@every_rule
def test_sparse_rows_and_blocks_change_nothing(weights, monkeypatch):
    X, _, _ = blobs(d=6)
    X[np.abs(X) < 0.4] = 0.0
    X[:, 1] += 100.0  # far from the origin
    dense, Z = AnchorGraph.build(X, X[::6], 3, weights)
    sparse, Z_sparse = AnchorGraph.build(sp.csr_matrix(X), X[::6], 3, weights)
    np.testing.assert_allclose(Z_sparse.toarray(), Z.toarray(), atol=1e-6)
    monkeypatch.setattr("lapwing.graphs.anchors._BLOCK_BYTES", 2000)
    np.testing.assert_allclose(dense(X).toarray(), Z.toarray(), atol=1e-9)
    np.testing.assert_allclose(sparse(X).toarray(), Z.toarray(), atol=1e-6)


def test_reduced_laplacian_is_that_of_the_dense_graph():
    X, _, _ = blobs(n=40)
    _, Z = AnchorGraph.build(X, X[::4], 3, "kernel")
    dense = Z.toarray()
    W = dense @ np.diag(1 / dense.sum(axis=0)) @ dense.T
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    L = AnchorSums.of_weights(Z).laplacian
    np.testing.assert_allclose(L, dense.T @ (np.eye(40) - W) @ dense, atol=1e-12)
    np.testing.assert_allclose(L @ np.ones(10), 0.0, atol=1e-12)
    assert np.linalg.eigvalsh(L)[0] > -1e-12
    # An anchor that no row uses has a row of zeros and is a part of its own.
    padded = sp.hstack([Z, sp.csr_array((40, 1))]).tocsr()
    np.testing.assert_allclose(AnchorSums.of_weights(padded).laplacian[-1], 0.0)
    assert len(np.unique(AnchorSums.of_weights(padded).components)) == 2


# ---------------------------------------------------------------- solution


@every_rule
@pytest.mark.parametrize("n_classes", [2, 3])
def test_solution_is_that_of_the_dense_graph(weights, n_classes):
    X, y, _ = blobs(n_classes=n_classes)
    rng = np.random.default_rng(0)
    sample_weight = rng.uniform(0.5, 2.0, size=len(X))
    model = AnchorGraphClassifier(20, weights=weights, reg_manifold=0.3)
    model.set_params(n_neighbors=4).fit(X, y, sample_weight=sample_weight)
    Z = naive_weights(X, model.anchors_, 4, weights)
    index = np.flatnonzero(y != -1)
    A = naive_values(Z, index, np.eye(n_classes)[y[index]], sample_weight[index], 0.3)
    mass = (Z @ A).sum(axis=0)
    assert (mass > 1).all()
    scores = Z @ A / mass  # eq. (12), up to a factor of all classes
    np.testing.assert_allclose(model.class_mass_, mass / len(X), atol=1e-4)
    np.testing.assert_allclose(model.class_mass_.sum(), 1.0)
    values = scores * len(X) / n_classes
    if n_classes == 2:
        values = values[:, 1] - values[:, 0]
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-3)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))


@every_rule
@pytest.mark.parametrize("prior", ["equal", None, "labeled", [0.5, 0.3, 0.2]])
def test_left_out_labels_are_those_of_refits(weights, prior):
    X, y, _ = blobs(n=80, n_classes=3, n_labelled=12)
    model = AnchorGraphClassifier(20, weights=weights, n_neighbors=4, reg_manifold=0.5)
    model.set_params(class_prior=prior).fit(X, y)
    seen = {}

    class Watched(AnchorGraphClassifier):
        def _set_fitted(self, rows, targets, solution, **more):
            seen["held_out"] = solution.held_out
            return super()._set_fitted(rows, targets, solution, **more)

    watched = Watched(**model.get_params()).fit(X, y)
    for i in range(12):
        without = y.copy()
        without[i] = -1
        watched_again = clone(model).fit(X, without)
        expected = watched_again.decision_function(X[i : i + 1])[0]
        np.testing.assert_allclose(seen["held_out"][i], expected, atol=1e-5)
    assert watched.score(X, model.predict(X)) == 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", [None, "labeled", "equal", "dict", "shares"])
def test_values_add_up_to_the_prior(prior, n_classes):
    X, y, _ = blobs(n_classes=n_classes, n_labelled=14)
    y[:3] = -1
    counts = np.bincount(y[y >= 0], minlength=n_classes)
    shares = {
        "labeled": (counts + 1) / (counts + 1).sum(),
        "equal": np.full(n_classes, 1 / n_classes),
    }.get(prior, np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    given = {"dict": dict(enumerate(shares)), "shares": 7 * shares}.get(prior, prior)
    model = AnchorGraphClassifier(20, class_prior=given).fit(X, y)
    plain = AnchorGraphClassifier(20, class_prior=None).fit(X, y)
    np.testing.assert_allclose(model.class_mass_, plain.class_mass_)
    mass = plain.class_mass_ if prior is None else shares
    sums = model.decision_function(X).sum(axis=0) / len(X)
    if n_classes == 2:
        np.testing.assert_allclose(sums, mass[1] - mass[0], atol=1e-9)
    else:
        np.testing.assert_allclose(sums, mass)
        factor = model.decision_function(X) / plain.decision_function(X)
        np.testing.assert_allclose(factor, np.tile(mass / plain.class_mass_, (len(X), 1)))


def test_equal_shares_are_the_default_and_lost_mass_needs_a_prior(monkeypatch):
    X, y, _ = blobs()
    default = AnchorGraphClassifier(20).fit(X, y)
    equal = AnchorGraphClassifier(20, class_prior=np.ones(3)).fit(X, y)
    np.testing.assert_allclose(default.coef_, equal.coef_)
    monkeypatch.setattr("lapwing.estimators.anchor_graph._LEAST_MASS", 39.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AnchorGraphClassifier(20, class_prior=None).fit(X, y)


@every_rule
def test_two_moons(weights):
    X, y, truth = moons()
    model = AnchorGraphClassifier(60, weights=weights).fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.97
    X_new, truth_new = make_moons(200, noise=0.06, random_state=7)
    assert model.score(X_new, truth_new) > 0.95
    probability = model.predict_proba(X_new)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X_new))


@every_rule
@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
def test_prediction_repeats_the_fitted_values(weights, kind):
    X, y, _ = blobs(n=200)
    X = sp.csr_matrix(X) if kind == "sparse" else X.astype(kind)
    model = AnchorGraphClassifier(30, weights=weights).fit(X, y)
    again = model.predict(X)
    np.testing.assert_array_equal(model.transduction_[15:], again[15:])
    np.testing.assert_array_equal(model.transduction_[:15], y[:15])
    np.testing.assert_allclose(model.decision_function(X), model._Z @ model.coef_.T, atol=1e-10)
    one_by_one = np.vstack([model.decision_function(X[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(one_by_one, model.decision_function(X)[:20], atol=1e-9)


# ---------------------------------------------------------------- edges


def test_parts_without_a_label_are_told_and_finite():
    X, y, _ = blobs(n=120, n_classes=2, n_labelled=10)
    far = np.vstack([X, X + 1000.0])
    labels = np.append(y, np.full(120, -1))
    with pytest.warns(UserWarning, match="120 rows lie in parts of the graph that no label"):
        model = AnchorGraphClassifier(30).fit(far, labels)
    np.testing.assert_array_equal(model.label_reach_, np.repeat([True, False], 120))
    values = model.decision_function(far)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values[120:], 0.0, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(far)[120:], 0.5, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.add_labels([120, 121], [0, 1])
    assert model.label_reach_.all()


def test_a_class_without_mass_is_told(monkeypatch):
    X, y, _ = blobs()
    monkeypatch.setattr("lapwing.estimators.anchor_graph._LEAST_MASS", 39.0)
    with pytest.warns(UserWarning, match="without dividing by their sums"):
        model = AnchorGraphClassifier(30).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X[15:], model.transduction_[15:]) == 1.0


@every_rule
@pytest.mark.parametrize("trouble", ["duplicates", "constant column", "all equal", "scales"])
def test_awkward_rows_stay_finite(weights, trouble):
    X, y, _ = blobs(n=60, n_classes=2)
    if trouble == "duplicates":
        X = np.repeat(X[:6], 10, axis=0)
    elif trouble == "constant column":
        X[:, 1] = 3.0
    elif trouble == "all equal":
        X = np.ones((60, 4))
    else:
        X[:, 0] *= 1e8
        X[:, 1] *= 1e-8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AnchorGraphClassifier(12, weights=weights).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X + 100.0)).all()


@every_rule
@pytest.mark.parametrize("n", [2, 3, 5])
def test_fewest_rows_and_more_anchors_than_rows(weights, n):
    X = np.array([[0.0], [1.0], [0.4], [0.9], [0.1]])[:n]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AnchorGraphClassifier(weights=weights).fit(X, np.array([0, 1, -1, -1, -1])[:n])
    assert len(model.anchors_) <= max(1, n // 4)
    assert np.isfinite(model.predict_proba(X)).all()


def test_there_are_500_anchors_where_rows_suffice():
    X = np.random.default_rng(0).normal(size=(2100, 2))
    model = AnchorGraphClassifier().fit(X, (X[:, 0] > 0).astype(int))
    assert model.anchors_.shape == (500, 2)


def test_no_more_anchors_than_a_quarter_of_the_rows():
    X, y, _ = blobs()
    assert AnchorGraphClassifier(1000).fit(X, y).anchors_.shape == (30, 4)
    assert AnchorGraphClassifier(7, n_neighbors=20).fit(X, y).graph_.n_neighbors == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_anchors", 0),
        ("n_anchors", 2.5),
        ("n_neighbors", 0),
        ("weights", "heat"),
        ("reg_manifold", 0.0),
        ("reg_manifold", -1.0),
        ("reg_manifold", np.nan),
        ("class_prior", "balanced"),
        ("class_prior", {0: 1.0, 1: 1.0}),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=f"^{name} must "):
        AnchorGraphClassifier(**{name: value}).fit(X, y)


def test_anchors_that_do_not_fit_the_memory_are_refused(monkeypatch):
    X, y, _ = blobs()
    monkeypatch.setattr("lapwing.plan.points.memory_budget", lambda _: 1000)
    with pytest.raises(MemoryError, match=r"30 anchors needs .* lower n_anchors$"):
        AnchorGraphClassifier().fit(X, y)


# ---------------------------------------------------------------- life


def test_same_seed_same_model_and_pickle():
    X, y, _ = blobs()
    first, again = (AnchorGraphClassifier(20, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(X), again.decision_function(X))
    other = AnchorGraphClassifier(20, random_state=4).fit(X, y)
    assert not np.array_equal(first.anchors_, other.anchors_)
    copy = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(copy.predict_proba(X), first.predict_proba(X))


def test_class_weights_and_words():
    X, y, _ = blobs(n_classes=2)
    words = np.array([{0: "no", 1: "yes"}.get(v) for v in y], dtype=object)
    plain = AnchorGraphClassifier(20).fit(X, words)
    assert set(plain.predict(X)) == {"no", "yes"}
    weighted = AnchorGraphClassifier(20, class_weight={"no": 1.0, "yes": 5.0}).fit(X, words)
    repeated = AnchorGraphClassifier(20).fit(X, words, sample_weight=np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X))
    assert not np.allclose(weighted.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e30])
def test_reconstruction_does_not_depend_on_the_unit(unit):
    D = np.random.default_rng(0).normal(size=(50, 4, 2))
    G = D @ D.transpose(0, 2, 1)
    np.testing.assert_allclose(simplex_weights(unit * G), simplex_weights(G), rtol=0, atol=1e-9)
