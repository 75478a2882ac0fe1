"""What models over points and graphs share: results, what files and pickles hold, failing fits."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from lapwing import (
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LGCClassifier,
    NFIClassifier,
    NystromLGCClassifier,
    PVMClassifier,
    PVMRegressor,
)

MODELS = [
    LGCClassifier(),
    LGCClassifier(solver="iterative"),
    NystromLGCClassifier(n_landmarks=20),
    NFIClassifier(20),
    AnchorGraphClassifier(20),
    EigenfunctionClassifier(),
    PVMClassifier(n_prototypes=15),
    PVMClassifier("hinge", n_prototypes=15),
    PVMRegressor(n_prototypes=15, unlabeled=-1),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model))


def two_blobs(n=120):
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, 4)) + 4.0 * truth[:, None]
    return X, np.where(np.arange(n) < 12, truth, -1), truth


@every_model
def test_results_say_how_the_solution_was_found(model):
    X, y, truth = two_blobs()
    fitted = clone(model).fit(X, y)
    result = fitted.result_
    assert result.status == "converged"
    assert result.message.endswith(".")
    assert result.passes >= 1
    assert result.n_iter == fitted.n_iter_ >= 1
    assert 0 < result.seconds < 60
    if isinstance(model, LGCClassifier):
        assert result.solver == fitted.solver_
        assert result.passes == fitted.n_iter_
    assert fitted.add_labels([50], [truth[50]]).result_ is not result


def test_iterations_that_do_not_suffice_are_reported():
    X, y, _ = two_blobs()
    with pytest.warns(UserWarning, match="Not converged after 2 products"):
        model = LGCClassifier(solver="iterative", max_iter=2).fit(X, y)
    assert model.result_.status == "not_converged"
    assert "raise max_iter" in model.result_.message


@every_model
def test_a_fit_that_fails_changes_nothing(model):
    X, y, _ = two_blobs()
    fitted = clone(model).fit(X, y)
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match="no row"):
        fitted.fit(X, np.full(len(y), -1))
    with pytest.raises(ValueError, match="row numbers"):
        fitted.add_labels([10_000], [0])
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is value for name, value in before.items())


@every_model
def test_a_state_is_a_model_that_takes_labels(model):
    X, y, truth = two_blobs()
    fitted = clone(model).fit(X, y)
    again = type(model).from_state(fitted.to_state())
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    for one in (again, fitted):
        one.add_labels([50, 51], truth[[50, 51]])
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_states_hold_the_rows_of_prototype_models_and_pickles_do_not():
    X, y, _ = two_blobs()
    model = PVMClassifier(n_prototypes=15).fit(X, y)
    assert model.to_state()["fitted"]["_kept"].X is X
    assert not hasattr(pickle.loads(pickle.dumps(model)), "_kept")
    blocks = PVMClassifier(n_prototypes=15).fit([(X, y)])
    state = blocks.to_state()["fitted"]
    assert state["_kept"] is None
    assert "_source" not in state
    assert "_source" not in vars(pickle.loads(pickle.dumps(blocks)))


def test_what_users_set_on_a_model_survives_a_fit():
    X, y, _ = two_blobs()
    model = AnchorGraphClassifier(20).fit(X, y)
    model.remark = "mine"
    assert model.fit(X, y).remark == "mine"
    assert "remark" not in model.to_state()["fitted"]


@pytest.mark.parametrize("seed", [np.random.default_rng(0), np.random.RandomState(0), None])
def test_landmarks_are_drawn_once(seed):
    X, y, _ = two_blobs()
    model = NFIClassifier(30, random_state=seed).fit(X, y)
    before = model.landmarks_
    np.testing.assert_array_equal(model.add_labels([], []).landmarks_, before)
