"""LGCClassifier against dense algebra, scikit-learn and refits; and finding rows again."""

import warnings
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelSpreading

from helpers import data
from lapwing import KNNGraph, LGCClassifier
from lapwing.estimators import lgc
from lapwing.solvers.sparse_system import BlockSolution

every_solver = pytest.mark.parametrize("solver", ["direct", "iterative"])
PRIORS = (None, "labeled", "equal", {0: 1.0, 1: 2.0, 2: 3.0}, [0.6, 0.3, 0.1])


blobs = data.blobs


def naive_values(W, y, alpha, weights=None):
    """F by dense algebra, for whole numbers y with -1 for unlabelled rows."""
    W = W.toarray() if sp.issparse(W) else W
    n = len(y)
    weights = np.ones(n) if weights is None else weights
    degrees = W.sum(axis=1)
    root = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in degrees])
    S = root[:, None] * W * root
    Y = np.zeros((n, y.max() + 1))
    for i in range(n):
        if y[i] >= 0:
            Y[i, y[i]] = weights[i]
    return (1 - alpha) * np.linalg.solve(np.eye(n) - alpha * S, Y)


def held_out_values(model, X, y, **arguments):
    """What the temperature is fitted to, with the rows it belongs to."""
    seen = {}
    draw, fit = lgc._held_out_sample, lgc.fit_temperature

    def watched_draw(settings, targets, solver):
        sample = draw(settings, targets, solver)
        seen["index"] = targets.index[sample]
        return sample

    def watched_fit(held_out, codes, weights):
        seen["held_out"] = held_out
        return fit(held_out, codes, weights)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lgc, "_held_out_sample", watched_draw)
        patch.setattr(lgc, "fit_temperature", watched_fit)
        clone(model).fit(X, y, **arguments)
    return seen["index"], seen["held_out"]


# ---------------------------------------------------------------- values


@every_solver
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.1, 0.9, 0.999])
def test_values_equal_dense_algebra(solver, n_classes, alpha):
    X, y, _ = blobs(n_classes=n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = LGCClassifier(alpha, solver=solver, tol=1e-12).fit(X, y, sample_weight=weights)
    F = naive_values(KNNGraph().fit(X).affinity_, y, alpha, weights)
    expected = F / F.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-6)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.class_mass_, F.sum(axis=0) / F.sum())
    np.testing.assert_array_equal(model.predict(X), F.argmax(axis=1))
    np.testing.assert_array_equal(model.transduction_, np.where(y >= 0, y, F.argmax(axis=1)))
    values = expected[:, 1] - expected[:, 0] if n_classes == 2 else expected
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-6)
    assert model.solver_ == solver
    assert model.label_reach_.all()


@pytest.mark.parametrize("alpha", [0.2, 0.8, 0.95])
def test_distributions_are_those_of_scikit_learn(alpha):
    X, y, _ = blobs(n=60)

    def affinity(A, B):
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))

    peer = LabelSpreading(kernel=affinity, alpha=alpha, max_iter=5000, tol=1e-14).fit(X, y)
    model = LGCClassifier(alpha, graph=affinity(X, X)).fit(X, y)
    np.testing.assert_allclose(model.label_distributions_, peer.label_distributions_, atol=1e-9)
    sparse = LGCClassifier(alpha, graph=sp.csr_array(affinity(X, X))).fit(X, y)
    np.testing.assert_array_equal(sparse.label_distributions_, model.label_distributions_)


def test_iterative_is_direct_on_a_dense_and_a_sparse_graph():
    X, y, _ = blobs(n=400, n_labelled=30)
    for graph in (KNNGraph(4), np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))):
        direct = LGCClassifier(graph=graph, solver="direct").fit(X, y)
        iterative = LGCClassifier(graph=graph, solver="iterative").fit(X, y)
        np.testing.assert_allclose(
            iterative.label_distributions_, direct.label_distributions_, atol=1e-6
        )
        np.testing.assert_allclose(iterative.predict_proba(X), direct.predict_proba(X), atol=1e-3)
        assert direct.n_iter_ == 1
        assert 5 < iterative.n_iter_ < 200


def test_automatic_solver_looks_at_the_work_and_the_memory(monkeypatch):
    X, y, _ = blobs()
    model = LGCClassifier()
    assert model.fit(X, y).solver_ == "direct"
    monkeypatch.setattr("lapwing.plan.lgc.FACTOR_OPERATIONS", 1.0)
    assert model.fit(X, y).solver_ == "iterative"
    monkeypatch.undo()
    X, y, _ = blobs(n=2000, d=20)
    assert model.set_params(memory_limit="3MB").fit(X, y).solver_ == "iterative"
    with pytest.raises(MemoryError, match=r"solver='direct' .* needs .* use solver='iterative'"):
        model.set_params(solver="direct").fit(X, y)
    with pytest.raises(MemoryError, match=r"solver='iterative' .* needs .* fewer unlabelled rows"):
        model.set_params(solver="iterative", memory_limit="100kB").fit(X, y)


def test_only_the_affinity_of_the_graph_counts():
    X, y, _ = blobs()
    plain = LGCClassifier().fit(X, y)
    fitted = KNNGraph(normalized=False, power=2).fit(X)
    other = LGCClassifier(graph=fitted).fit(X, y)
    assert other.graph_ is fitted
    np.testing.assert_array_equal(other.label_distributions_, plain.label_distributions_)
    few = LGCClassifier(graph=KNNGraph(3)).fit(X, y)
    np.testing.assert_array_equal(
        few.graph_.affinity_.toarray(), KNNGraph(3).fit(X).affinity_.toarray()
    )
    with pytest.raises(TypeError, match="graph must be a KNNGraph, an affinity matrix or None"):
        LGCClassifier(graph="knn").fit(X, y)
    with pytest.raises(ValueError, match="the affinity matrix has 5 rows and X has 120"):
        LGCClassifier(graph=np.ones((5, 5))).fit(X, y)


def test_two_moons():
    X, truth = make_moons(300, noise=0.06, random_state=0)
    y = np.full(300, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:3]] = c
    model = LGCClassifier().fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.97
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X))


@every_solver
@settings(max_examples=25)
@given(order=st.permutations(range(40)))
def test_the_order_of_rows_means_nothing(solver, order):
    X, y, _ = blobs(n=40, n_labelled=9)
    model = LGCClassifier(graph=KNNGraph(4), solver=solver, class_prior="labeled")
    first = clone(model).fit(X, y)
    other = clone(model).fit(X[order], y[order])
    np.testing.assert_allclose(
        other.label_distributions_, first.label_distributions_[order], atol=1e-7
    )
    np.testing.assert_allclose(other.predict_proba(X), first.predict_proba(X), atol=1e-4)


# ---------------------------------------------------------------- classes, weights, priors


def test_weights():
    X, y, _ = blobs(n_classes=2)
    plain = LGCClassifier().fit(X, y)
    by_class = LGCClassifier(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    by_row = LGCClassifier().fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(by_class.label_distributions_, by_row.label_distributions_)
    assert (by_row.label_distributions_[:, 1] > plain.label_distributions_[:, 1]).all()
    for solver, size in product(("direct", "iterative"), (1e-70, 1e70)):
        scaled = LGCClassifier(solver=solver).fit(X, y, sample_weight=np.full(len(y), size))
        np.testing.assert_allclose(
            scaled.label_distributions_, plain.label_distributions_, atol=1e-7
        )
    weights = np.ones(len(y))
    weights[:2] = 0.0
    without = y.copy()
    without[:2] = -1
    np.testing.assert_allclose(
        LGCClassifier().fit(X, y, sample_weight=weights).label_distributions_,
        LGCClassifier().fit(X, without).label_distributions_,
    )


@every_solver
@pytest.mark.parametrize("prior", PRIORS)
def test_values_add_up_to_the_prior(solver, prior):
    X, y, _ = blobs()
    y[[0, 3, 6]] = -1  # classes of 2, 5 and 5 labels
    shares = {
        "labeled": np.array([3, 6, 6]) / 15,
        "equal": np.full(3, 1 / 3),
        str(PRIORS[3]): np.array([1, 2, 3]) / 6,
        str(PRIORS[4]): np.array([0.6, 0.3, 0.1]),
    }.get(str(prior))
    F = naive_values(KNNGraph().fit(X).affinity_, y, 0.99)
    mass = F.sum(axis=0)
    if shares is not None:
        F = F * shares / mass
    model = LGCClassifier(solver=solver, class_prior=prior).fit(X, y)
    P = model.label_distributions_
    np.testing.assert_allclose(P, F / F.sum(axis=1, keepdims=True), atol=1e-6)
    scaled = P * F.sum(axis=1, keepdims=True)
    if shares is not None:
        np.testing.assert_allclose(scaled.sum(axis=0) / scaled.sum(), shares, atol=1e-6)
    np.testing.assert_allclose(model.class_mass_, mass / mass.sum(), rtol=1e-6)


def test_a_prior_helps_where_one_class_floods_the_graph():
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 2
    X = rng.normal(size=(400, 30)) + np.where(truth, 0.42, -0.42)[:, None]
    y = np.where(np.arange(400) < 20, truth, -1)
    y[:14:2] = -1  # three labels against ten
    plain = (LGCClassifier().fit(X, y).transduction_ == truth).mean()
    equal = (LGCClassifier(class_prior="equal").fit(X, y).transduction_ == truth).mean()
    assert plain < 0.6
    assert equal > 0.85


def test_a_class_without_weight_is_told_and_not_divided_by():
    X, y, _ = blobs()
    weights = np.where(y == 2, 0.0, 1.0)
    with pytest.warns(UserWarning, match=r"next to nothing for \[2\].*set class_prior=None"):
        model = LGCClassifier(class_prior="equal").fit(X, y, sample_weight=weights)
    plain = LGCClassifier().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.label_distributions_, plain.label_distributions_)
    assert (model.label_distributions_[:, 2] == 0).all()


# ---------------------------------------------------------------- labels left out


@every_solver
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", [None, "equal", "labeled"])
def test_left_out_labels_are_those_of_refits(solver, n_classes, prior):
    X, y, _ = blobs(n=80, n_classes=n_classes, n_labelled=12)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = LGCClassifier(solver=solver, class_prior=prior)
    index, held_out = held_out_values(model, X, y, sample_weight=weights)
    np.testing.assert_array_equal(index, np.arange(12))
    for i in range(12):
        without = y.copy()
        without[i] = -1
        refit = clone(model).fit(X, without, sample_weight=weights)
        expected = refit.decision_function(X[i : i + 1])[0]
        np.testing.assert_allclose(held_out[i], expected, atol=1e-4)
        if solver == "direct":
            np.testing.assert_allclose(held_out[i], expected, atol=1e-9)


@every_solver
def test_a_label_alone_in_its_part_says_nothing_of_itself(solver):
    X, y, _ = blobs(n=80, n_classes=2, n_labelled=6)
    X = np.vstack([X, X + 100.0])
    y = np.append(y, np.full(80, -1))
    y[80] = 0
    _, held_out = held_out_values(LGCClassifier(solver=solver), X, y)
    # Without it 3 labels of each class are left, and neither reaches the row.
    assert held_out[-1] == 0.0
    assert (held_out[:-1] != 0.0).all()


@pytest.mark.parametrize(("solver", "most"), [("direct", 500), ("iterative", 50)])
def test_many_labels_are_sampled_for_the_temperature(solver, most):
    X, _, truth = blobs(n=600)
    model = LGCClassifier(solver=solver)
    index, held_out = held_out_values(model, X, truth)
    assert len(index) == len(held_out) == len(np.unique(index)) == most
    again, _ = held_out_values(model, X, truth)
    np.testing.assert_array_equal(index, again)
    other, _ = held_out_values(model.set_params(random_state=1), X, truth)
    assert not np.array_equal(index, other)
    np.testing.assert_array_equal(LGCClassifier(solver=solver).fit(X, truth).transduction_, truth)


# ---------------------------------------------------------------- edges


@every_solver
@pytest.mark.parametrize(
    ("prior", "shares"),
    [(None, [7 / 13, 6 / 13]), ("equal", [0.5, 0.5]), ({0: 1, 1: 4}, [0.2, 0.8])],
)
def test_parts_without_a_label_get_the_prior(solver, prior, shares):
    X, y, _ = blobs(n=120, n_classes=2, n_labelled=11)  # 6 and 5 labels
    far = np.vstack([X, X + 1000.0])
    labels = np.append(y, np.full(120, -1))
    model = LGCClassifier(solver=solver, class_prior=prior)
    with pytest.warns(UserWarning, match="120 rows lie in parts of the graph that no label"):
        model.fit(far, labels)
    np.testing.assert_array_equal(model.label_reach_, np.repeat([True, False], 120))
    np.testing.assert_allclose(model.label_distributions_[120:], [shares] * 120)
    assert (model.transduction_[120:] == int(shares[1] > 0.5)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = clone(model).fit(X, y)
        np.testing.assert_allclose(
            model.label_distributions_[:120], near.label_distributions_, atol=1e-7
        )
        model.add_labels([120, 121], [0, 1])
    assert model.label_reach_.all()


@every_solver
def test_rows_without_neighbours(solver):
    W = np.zeros((6, 6))
    W[0, 1] = W[1, 0] = W[1, 2] = W[2, 1] = 1.0
    X, y = np.arange(6.0)[:, None], np.array([0, -1, 1, 1, -1, 1])
    with pytest.warns(UserWarning, match="1 row lies in parts"):
        model = LGCClassifier(graph=W, solver=solver).fit(X, y)
    np.testing.assert_array_equal(model.label_reach_, [1, 1, 1, 1, 0, 1])
    np.testing.assert_allclose(model.label_distributions_[[3, 5]], [[0, 1], [0, 1]], atol=1e-9)
    np.testing.assert_allclose(model.label_distributions_[4], [2 / 6, 4 / 6])
    np.testing.assert_allclose(model.label_distributions_[1], [0.5, 0.5])
    mass = naive_values(W, y, 0.99).sum(axis=0)  # a row alone gives 1 - α
    np.testing.assert_allclose(model.class_mass_, mass / mass.sum(), rtol=1e-6)
    alone = LGCClassifier(graph=np.zeros((6, 6)), solver=solver)
    with pytest.warns(UserWarning, match="4 rows lie in parts"):
        alone.fit(X, np.array([0, 1, -1, -1, -1, -1]))
    np.testing.assert_array_equal(alone.label_distributions_[:2], np.eye(2))
    assert np.isfinite(alone.predict_proba(X)).all()


def test_rows_too_far_for_the_iterations_are_told():
    n = 400
    path = sp.diags_array([np.ones(n - 1)] * 2, offsets=[1, -1])
    X, y = np.arange(n, dtype=float)[:, None], np.full(n, -1)
    y[[0, 10]] = 0, 1
    direct = LGCClassifier(0.9, graph=path, solver="direct").fit(X, y)
    assert (direct.transduction_[11:] == 1).all()
    iterative = LGCClassifier(0.9, graph=path, solver="iterative", tol=1e-12)
    with pytest.warns(UserWarning, match=r"3\d\d rows are so far from all labels"):
        iterative.fit(X, y)
    undecided = (iterative.label_distributions_ == 0.5).all(axis=1)
    assert undecided[-300:].all()
    assert not undecided[:50].any()
    np.testing.assert_array_equal(
        iterative.transduction_[~undecided], direct.transduction_[~undecided]
    )


def test_an_error_of_the_iterations_decides_no_row(monkeypatch):
    """Error along the smoothest vector, which residuals show least: 1-α is its eigenvalue."""
    n, alpha, error = 60, 0.99, 1e-7
    W = np.zeros((n + 2, n + 2))  # two rows with labels, and a star of rows that is far from them
    W[0, 1] = W[1, 0] = W[2, 3:] = W[3:, 2] = 1.0
    W[1, 2] = W[2, 1] = 1e-12
    X, y = np.arange(n + 2.0)[:, None], np.full(n + 2, -1)
    y[[0, 1]] = 0, 1
    smoothest = np.sqrt(W.sum(axis=1))
    smoothest /= smoothest.max()

    def solve_badly(A, B, tol, max_iter):
        solution = np.linalg.solve(A.toarray(), B)
        solution[:, 1:-1] += error * smoothest[:, None]
        residual = np.linalg.norm(B - A @ solution, axis=0)
        residual[:-1] = residual[:-1].max()
        return BlockSolution(solution, residual, 5, True)

    direct = LGCClassifier(alpha, graph=W, solver="direct").fit(X, y)
    monkeypatch.setattr(lgc, "solve_blocks", solve_badly)
    with pytest.warns(UserWarning, match="60 rows are so far from all labels"):
        model = LGCClassifier(alpha, graph=W, solver="iterative").fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_[2:], 0.5)
    np.testing.assert_array_equal(model.transduction_[:2], direct.transduction_[:2])


def test_iterations_that_do_not_suffice_are_told():
    X, y, _ = blobs(n=300, n_classes=2, n_labelled=10)
    far = np.vstack([X + 1000.0, X])
    model = LGCClassifier(0.9, graph=KNNGraph(4), solver="iterative", max_iter=3)
    with (
        pytest.warns(ConvergenceWarning, match=r"after 3 products .* raise max_iter \(now 3\)"),
        pytest.warns(UserWarning, match="300 rows lie in parts"),
    ):
        model.fit(far, np.append(np.full(300, -1), y))
    assert model.n_iter_ == 3
    assert (model.label_distributions_ >= 0).all()  # the iterations go below
    np.testing.assert_array_equal(model.label_distributions_[:300], 0.5)
    assert np.isfinite(model.predict_proba(far)).all()


@pytest.mark.parametrize("trouble", ["duplicates", "constant column", "all equal", "scales"])
@every_solver
def test_awkward_rows_stay_finite(solver, trouble):
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
        model = LGCClassifier(solver=solver).fit(X, y)
    assert np.isfinite(model.label_distributions_).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0.0),
        ("alpha", 1.0),
        ("alpha", np.nan),
        ("alpha", "0.5"),
        ("solver", "cg"),
        ("tol", 0.0),
        ("max_iter", 0),
        ("class_prior", "balanced"),
        ("class_prior", [0.5, 0.5]),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=f"^{name} must "):
        LGCClassifier(**{name: value}).fit(X, y)


# ---------------------------------------------------------------- rows found again


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix, sp.csr_array])
def test_training_rows_are_found_in_any_order(form):
    X, y, _ = blobs()
    X[np.abs(X) < 0.3] = 0.0
    model = LGCClassifier().fit(form(X), y)
    values = model.label_distributions_
    rows = np.random.default_rng(0).integers(0, len(X), 300)
    np.testing.assert_array_equal(model.decision_function(form(X)[rows]), values[rows])
    np.testing.assert_array_equal(model.predict(form(X[rows])), values[rows].argmax(axis=1))
    assert model.score(form(X), model.predict(form(X))) == 1.0
    if form is not np.float32:  # dense finds sparse, and the other way round
        np.testing.assert_array_equal(model.decision_function(X), values)
        np.testing.assert_array_equal(model.decision_function(sp.csr_array(X)), values)
    else:
        np.testing.assert_array_equal(
            model.decision_function(X.astype(np.float32).astype(np.float64)), values
        )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_new_rows_are_refused(form, method):
    X, y, _ = blobs()
    model = LGCClassifier().fit(form(X), y)
    new = X[:10].copy()
    new[[3, 7], 2] = np.nextafter(new[[3, 7], 2], 10.0)
    message = (
        r"2 of 10 rows, the first of them row 3, .* transductive .* no prediction for new rows"
        r".* NFIClassifier, PVMClassifier or LapSVC"
    )
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(form(new))


def test_of_equal_rows_the_first_counts():
    X, y = np.array([[0.0], [1.0], [0.0], [2.0]]), np.array([0, -1, 1, 1])
    W = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], dtype=float)
    model = LGCClassifier(graph=W).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, [0, 0, 1, 1])
    np.testing.assert_array_equal(model.predict(X), [0, 0, 0, 1])


# ---------------------------------------------------------------- life


def test_added_labels_are_those_of_a_new_fit():
    X, y, truth = blobs()
    model = LGCClassifier(class_prior="labeled")
    grown = clone(model).fit(X, y).add_labels([50, 51], truth[[50, 51]])
    labels = y.copy()
    labels[[50, 51]] = truth[[50, 51]]
    new = clone(model).fit(X, labels)
    np.testing.assert_array_equal(grown.label_distributions_, new.label_distributions_)
    np.testing.assert_array_equal(grown.predict_proba(X), new.predict_proba(X))
    np.testing.assert_array_equal(grown.transduction_, new.transduction_)
    before = clone(model).fit(X, y)
    assert not np.allclose(before.label_distributions_, new.label_distributions_)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_tolerance_that_zero_meets_gives_the_prior():
    X, y, _ = blobs()
    with pytest.warns(UserWarning, match="cannot distinguish their values from zero"):
        model = LGCClassifier(solver="iterative", tol=2.0).fit(X, y)
    np.testing.assert_array_equal(model.class_mass_, 0.0)
    assert np.isfinite(model.label_distributions_).all()


@pytest.mark.parametrize(("solver", "most"), [("direct", 500), ("iterative", 50)])
def test_labels_are_held_out_up_to_a_number(solver, most):
    """As the docstring says: of more labelled rows a random sample is drawn."""
    assert f'than 500 ("iterative": {most})' in LGCClassifier.__doc__ or most == 500
    X, truth = make_moons(most + 20, noise=0.1, random_state=0)
    for n_labelled in (most, most + 1):
        y = np.where(np.arange(len(X)) < n_labelled, truth, -1)
        index, _ = held_out_values(LGCClassifier(solver=solver), X, y)
        assert len(index) == most
