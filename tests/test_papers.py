"""Errors of the papers, on their data."""

import numpy as np
import pytest

from lapwing import KNNGraph, LapSVC

# Melacci & Belkin (2011), USPST(B): digits 0-4 against 5-9, 50 labels, Gaussian of width 9.4.
PARAMETERS = {"gamma": 1 / (2 * 9.4**2), "reg_ambient": 1e-6, "reg_manifold": 1e-2}


@pytest.fixture(scope="module")
def uspst(data_path):
    with np.load(data_path / "uspst.npz") as data:
        return data["X"].astype(np.float64), (data["y"] >= 5).astype(int), data["splits"]


def parts(uspst, split):
    """Rows to train on, their labels with -1 on U, the truth of U, and the held-out rows T."""
    X, truth, splits = uspst
    labelled = splits[split]
    others = np.setdiff1d(np.arange(len(X)), labelled)
    others = np.random.default_rng(split).permutation(others)
    held_out = others[: len(others) // 4]
    train = np.append(labelled, others[len(others) // 4 :])
    y = truth[train].copy()
    y[len(labelled) :] = -1
    return X[train], y, truth[train], X[held_out], truth[held_out]


def errors(machine, uspst, split):
    """Errors in percent on U and on T."""
    X, y, truth, X_test, truth_test = parts(uspst, split)
    machine.fit(X, y)
    unlabelled = y == -1
    return (
        100 * np.mean(machine.transduction_[unlabelled] != truth[unlabelled]),
        100 * np.mean(machine.predict(X_test) != truth_test),
    )


def newton(**options):
    settings = {"solver": "newton", "graph": KNNGraph(10, power=2), **PARAMETERS}
    return LapSVC(**{**settings, **options})


def test_uspst_binary_newton(uspst):
    found = [errors(newton(), uspst, split) for split in range(3)]
    on_unlabelled, _ = np.mean(found, axis=0)
    assert on_unlabelled < 13.0


def test_uspst_binary_auto_is_newton(uspst):
    X, y, _, X_test, _ = parts(uspst, 0)
    machine = newton().fit(X, y)
    auto = newton(solver="auto").fit(X, y)
    np.testing.assert_array_equal(auto.decision_function(X_test), machine.decision_function(X_test))
    np.testing.assert_array_equal(auto.transduction_, machine.transduction_)


@pytest.mark.slow
def test_uspst_binary_all_splits(uspst):
    exact = np.mean([errors(newton(), uspst, split) for split in range(10)], axis=0)
    assert exact[0] < 10.0
    assert exact[1] < 11.0


@pytest.mark.slow
def test_uspst_binary_stability_check(uspst):
    exact = np.mean([errors(newton(), uspst, split) for split in range(10)], axis=0)
    # Early stopping is a regulariser of its own; the paper takes γ_I = 1 with it.
    early = {"solver": "pcg", "stopping": "stability", "reg_manifold": 1.0}
    found = np.mean([errors(newton(**early), uspst, split) for split in range(10)], axis=0)
    assert np.abs(found - exact).max() < 1.5
