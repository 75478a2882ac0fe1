"""Estimators that search a grid: bad input, and rows that no label reaches."""

import warnings

import numpy as np
import pytest

from helpers.grid import AXES, FEW, moons
from lapwing import (
    KNNGraph,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
)
from lapwing.model_selection.grid import _nearest

# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("Estimator", [LapSVCCV, LapRLSClassifierCV, LapRLSRegressorCV])
@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"reg_ambient": [1.0, 0.0]}, "reg_ambient must be positive and finite, got .*0.0"),
        ({"reg_ambient": -1.0}, "reg_ambient must be positive"),
        ({"reg_ambient": [np.nan]}, "reg_ambient must be positive and finite"),
        ({"reg_ambient": [np.inf]}, "reg_ambient must be positive and finite"),
        ({"reg_ambient": []}, "reg_ambient is an empty sequence: give"),
        ({"reg_ambient": [[1.0, 2.0]]}, r"reg_ambient must be positive and finite, got \[1"),
        ({"reg_manifold": [1.0, -1e-9]}, "reg_manifold must be finite and not negative"),
        ({"reg_manifold": [np.nan]}, "reg_manifold must be finite and not negative"),
        ({"reg_manifold": ()}, "reg_manifold is an empty sequence: give"),
        ({"reg_manifold": None}, "reg_manifold must be"),
        ({"gamma": []}, "give at least one"),
        ({"gamma": [1.0, -1.0]}, "gamma must be positive"),
        ({"gamma": [1.0, "wide"]}, "gamma must be positive and finite, .*'wide'"),
        ({"graph": []}, "give at least one"),
        ({"kernel": "nonsense"}, "kernel 'nonsense' is unknown"),
        ({"cv": 1}, "cv must be a whole number of at least 2, got 1"),
        ({"cv": 0}, "cv must be a whole number of at least 2, got 0"),
        ({"cv": "five"}, "cv must be a whole number of at least 2, got 'five'"),
        ({"memory_limit": "much"}, "memory"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(Estimator, kwargs, message):
    X, y, _ = moons()
    if Estimator is LapRLSRegressorCV:
        y = np.where(y == -1, np.nan, y)
    with pytest.raises(ValueError, match=message):
        Estimator(**{**FEW, **kwargs}).fit(X, y)


def test_bad_losses_and_graphs_are_named():
    X, y, _ = moons()
    with pytest.raises(ValueError, match="loss must be 'squared_hinge' or 'hinge'"):
        LapSVCCV("squared", **FEW).fit(X, y)
    with pytest.raises(TypeError, match=r"graph must be a KNNGraph.*got str"):
        LapSVCCV(**FEW, graph=[KNNGraph(4), "knn"]).fit(X, y)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"reg_ambient": "much"}, "reg_ambient"),
        ({"reg_manifold": ["a", 1.0]}, "reg_manifold"),
        ({"gamma": np.array([])}, "give at least one"),
        ({"cv": []}, "cv"),
    ],
    ids=["text", "texts", "no widths", "no folds"],
)
def test_more_bad_parameters_are_named(kwargs, message):
    X, y, _ = moons()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=message):
            LapSVCCV(**{**FEW, **kwargs}).fit(X, y)


def test_kernels_without_rank_give_the_constant():
    X, y, _ = moons()
    for K in (np.zeros((60, 60)), np.ones((60, 60))):
        model = LapSVCCV(**FEW, kernel="precomputed", graph=KNNGraph(5).fit(X)).fit(K, y)
        alone = LapSVC(kernel="precomputed", graph=KNNGraph(5).fit(X), **model.best_params_)
        np.testing.assert_allclose(
            model.decision_function(K), alone.fit(K, y).decision_function(K), atol=1e-7
        )


# ---------------------------------------------------------------- one unreached part


def unreached():
    X, y, _ = moons()
    return np.vstack([X, X[:10] + 100.0]), np.append(y, np.full(10, -1))


def test_rows_that_no_label_reaches_are_warned_of_once():
    X, y = unreached()
    options = dict(AXES, gamma=[1.0, 2.0], graph=[KNNGraph(4), KNNGraph(5)])
    with pytest.warns(UserWarning, match="10 rows lie in parts of the graph") as caught:
        model = LapSVCCV(**options).fit(X, y)
    assert len(caught) == 1
    np.testing.assert_array_equal(model.label_reach_, np.arange(70) < 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LapSVCCV(reg_manifold=0, graph=KNNGraph(4)).fit(X, y)


@pytest.mark.parametrize("Estimator", [LapSVCCV, LapRLSRegressorCV])
def test_the_warning_points_to_the_call_of_fit(Estimator):
    X, y = unreached()
    y = np.where(y == -1, np.nan, y)
    with pytest.warns(UserWarning, match="10 rows lie in parts") as caught:
        Estimator(**FEW, graph=KNNGraph(4)).fit(X, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("pairs", "nearest"),
    [
        ([(1.0, 1.0), (1e-3, 1e-2), (1e-6, 1.0)], 1),  # a factor of 10 and of 10
        ([(0.0, 0.1), (1e-9, 1e-9)], 1),  # zero is far away
        ([(1e-4, 1e-1), (1e-1, 1e-1), (1e-2, 1e-3)], 1),
        ([(1e-2, 0.0), (0.0, 0.0)], 0),
    ],
)
def test_nearest_weights_are_those_of_the_smallest_ratios(pairs, nearest):
    assert _nearest(pairs, (1e-2, 1e-1)) == pairs[nearest]
