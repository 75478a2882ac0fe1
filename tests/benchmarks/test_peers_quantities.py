"""The comparison of regressors: its data sets, methods and score."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from experiments import peers_quantities as quantities
from experiments.data import DataFolder
from lapwing import SemiSupervisedRegressor


@pytest.fixture(scope="module")
def roll():
    X, y = quantities.data_set(DataFolder(None), "Swiss roll", 400)
    return X, y, quantities.few_targets(y, 40, np.random.default_rng(0))


@pytest.mark.parametrize("method", quantities.METHODS)
def test_methods_learn(method):
    X, y = quantities.data_set(DataFolder(None), "friedman2", 200)
    known = quantities.few_targets(y, 40, np.random.default_rng(0))
    on_train, predict = quantities.METHODS[method](X, known)
    hidden = np.isnan(known)
    for found in (on_train(), predict(X)):
        assert found.shape == y.shape
        assert quantities.relative_error(found[hidden], y[hidden]) < 80.0


def test_predictions_of_lapwing_are_those_of_the_model(roll):
    X, _, known = roll
    on_train, predict = quantities.METHODS["Lapwing"](X, known)
    model = SemiSupervisedRegressor().fit(X, known)
    np.testing.assert_array_equal(on_train(), model.transduction_)
    np.testing.assert_array_equal(predict(X[:9]), model.predict(X[:9]))


def test_self_training_follows_the_roll(roll):
    """Pseudo-targets spread from row to row; distances from targets alone cross the gaps."""
    X, y, known = roll
    hidden = np.isnan(known)
    errors = [
        quantities.relative_error(fit(X, known).predict(X[hidden]), y[hidden])
        for fit in (quantities.neighbours, quantities.self_training)
    ]
    assert errors[1] < errors[0]


def test_self_training_takes_the_nearest_rows_first():
    """A row far away from all targets gets the value of the rows that lead to it.

    On the line the nearest target of x = 1.9 is the one at 2.5; the rows between it and the target
    at 0 are dense, and those between it and 2.5 are missing.
    """
    X = np.r_[np.linspace(0.0, 1.9, 96), np.linspace(2.5, 2.6, 5)][:, None]
    y = np.full(len(X), np.nan)
    y[:5], y[-5:] = 0.0, 1.0
    assert quantities.neighbours(X, y).predict([[1.9]]) == 1.0
    assert quantities.self_training(X, y).predict([[1.9]]) == 0.0


def test_targets_are_not_changed(roll):
    X, _, known = roll
    before = known.copy()
    quantities.self_training(X, known)
    np.testing.assert_array_equal(known, before)


def test_relative_error_is_that_of_the_explained_variance():
    rng = np.random.default_rng(0)
    y = 3.0 + 2.0 * rng.standard_normal(50)
    found = y + 0.5 * rng.standard_normal(50)
    expected = 100.0 * np.sqrt(1.0 - r2_score(y, found))
    assert quantities.relative_error(found, y) == pytest.approx(expected, rel=1e-12)
    assert quantities.relative_error(np.full(50, y.mean()), y) == pytest.approx(100.0)


def test_few_targets():
    y = np.arange(30.0)
    known = quantities.few_targets(y, 7, np.random.default_rng(0))
    kept = ~np.isnan(known)
    assert kept.sum() == 7
    np.testing.assert_array_equal(known[kept], y[kept])


@pytest.mark.parametrize("name", quantities.FILES)
def test_data_sets(name, data_path):
    X, y = quantities.data_set(DataFolder(data_path), name, 2_000)
    assert len(X) == len(y) >= 150
    assert np.isfinite(X).all()
    assert np.isfinite(y).all()
    assert y.std() > 0
    assert not any(np.abs(np.corrcoef(column, y)[0, 1]) > 0.999 for column in X.T if column.std())


def test_series_obeys_its_equation():
    """Columns are the same series with delays; central differences agree with the equation."""
    X, y = quantities._mackey_glass(None)
    np.testing.assert_array_equal(X[6:, 0], X[:-6, 1])
    np.testing.assert_array_equal(X[102:, 0], y[:-102])  # 18 + 84 later
    x = X[:, 0]
    slope = (x[18:] - x[16:-2]) / 2.0
    late = x[:-18]
    expected = 0.2 * late / (1.0 + late**10) - 0.1 * x[17:-1]
    assert np.corrcoef(slope, expected)[0, 1] > 0.99


def test_robot_arm_ends_where_its_links_lead():
    X, y = quantities._robot_arm(None)
    distances = []
    for angles in X:
        end, direction = 0j, 0.0
        for angle in angles:
            direction += angle
            end += np.exp(1j * direction) / 8
        distances.append(abs(end - (0.5 + 0.5j)))
    assert np.corrcoef(distances, y)[0, 1] == pytest.approx(1.0 / np.sqrt(1.01), abs=2e-3)


def test_views_of_objects_are_in_order(data_path):
    """The nearest picture of each picture is at most one step of five degrees away."""
    X, y = quantities.data_set(DataFolder(data_path), "COIL20", 2_000)
    assert X.shape == (288, 1024)
    distances = ((X[:, None, ::8] - X[None, :, ::8]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    step = np.abs(y[distances.argmin(axis=1)] - y)
    assert np.mean(step <= np.deg2rad(5.0)) > 0.95
