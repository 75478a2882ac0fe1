"""The estimator of CONTRIBUTING.md does what the guide says; the contract suite includes it."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import make_moons

import lapwing
from helpers.contributing import SOURCE, AnchorSVC
from helpers.data import blobs, moons
from lapwing.graphs.anchors import AnchorSums


@pytest.fixture(scope="module")
def data():
    X, truth = make_moons(300, noise=0.1, random_state=0)
    y = np.full(300, -1)
    y[:12] = truth[:12]
    return X, y, truth


def test_it_is_short():
    assert SOURCE.count('"""') == 2  # the docstring has one line
    lines = [line.strip() for line in SOURCE.splitlines()]
    code = [line for line in lines if line and not line.startswith(("#", '"""'))]
    assert len(code) <= 60
    modules = [cls.__module__.split(".")[0] for cls in AnchorSVC.__mro__]
    assert sum(module in ("lapwing", "anchor_svc") for module in modules) == 3


def test_it_learns(data):
    X, y, truth = data
    model = AnchorSVC(60).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.95
    assert np.mean(model.predict(X) == truth) > 0.95
    assert model.score(X, truth) > 0.95
    assert model.result_.status == "converged"
    assert repr(clone(model)) == "AnchorSVC(n_anchors=60)"


def test_it_minimises_its_objective():
    X, y, _ = moons(80, 10)
    model = AnchorSVC(12, reg_manifold=0.5).fit(X, y)
    Z = model.graph_(X).toarray()
    penalty = 0.5 * AnchorSums.of_weights(model.graph_(X)).laplacian + 1e-6 * np.eye(Z.shape[1])
    labelled, signs = y >= 0, np.where(y[y >= 0] == 1, 1.0, -1.0)

    def objective(a):
        slack = np.maximum(1.0 - signs * (Z[labelled] @ a), 0.0)
        gradient = -2.0 * Z[labelled].T @ (signs * slack) + 2.0 * penalty @ a
        return slack @ slack + a @ penalty @ a, gradient

    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-12}
    best = minimize(objective, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B", options=options)
    np.testing.assert_allclose(model.decision_function(X), Z @ best.x, atol=1e-4)


def test_added_labels_equal_a_new_fit(data):
    X, y, truth = data
    rows = [100, 150, 200]
    more = y.copy()
    more[rows] = truth[rows]
    grown = AnchorSVC(40).fit(X, y).add_labels(rows, truth[rows])
    new = AnchorSVC(40).fit(X, more)
    np.testing.assert_allclose(grown.decision_function(X), new.decision_function(X), atol=1e-12)


def test_a_loaded_model_predicts_the_same_bits(tmp_path):
    X, y, truth = blobs()
    model = AnchorSVC(20).fit(X, y)
    lapwing.save(model, tmp_path / "m")
    loaded = lapwing.load(tmp_path / "m")
    assert type(loaded) is AnchorSVC
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.add_labels([50], truth[[50]]).transduction_[50] == truth[50]
