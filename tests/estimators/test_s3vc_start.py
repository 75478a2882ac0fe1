"""What a fit of S3VC leaves for the next one."""

import numpy as np
import pytest
from sklearn import config_context

from lapwing import S3VC


def rows(n=60, seed=0):
    """Three clusters; labels of the first rows, -1 elsewhere; and the truth."""
    truth = np.arange(n) % 3
    X = 3.0 * np.eye(3)[truth] + np.random.default_rng(seed).normal(size=(n, 3))
    return X, np.where(np.arange(n) < 12, truth, -1), truth


@pytest.mark.parametrize("landmarks", ["random", "kmeans"])
def test_a_new_class_keeps_the_landmarks(landmarks):
    X, y, _ = rows()
    model = S3VC("rbf", n_landmarks=6, landmarks=landmarks, random_state=None)
    model.fit(X, np.where(y == 2, -1, y))
    before = model.landmarks_ if landmarks == "kmeans" else model.support_
    model.add_labels(np.flatnonzero(y == 2), np.full(4, 2))
    after = model.landmarks_ if landmarks == "kmeans" else model.support_
    np.testing.assert_array_equal(after, before)
    assert model.result_.history[0]["stage"] == "supervised"


def test_another_kernel_starts_anew():
    X, y, _ = rows()
    model = S3VC("rbf", gamma=1.0, warm_start=True).fit(X, y)
    model.set_params(gamma=0.3).fit(X, y)
    fresh = S3VC("rbf", gamma=0.3).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), fresh.decision_function(X))
    assert model.temperature_ == fresh.temperature_


def test_without_folds_the_temperature_follows_the_values():
    X, y, truth = rows()
    model = S3VC(calibration_folds=0).fit(X, y)
    before = model.temperature_
    model.add_labels([20, 31], truth[[20, 31]])
    assert model.temperature_ != before


def test_a_fit_keeps_the_metadata_requests():
    X, y, _ = rows()
    with config_context(enable_metadata_routing=True):
        model = S3VC().set_fit_request(sample_weight=True).fit(X, y)
        assert model.get_metadata_routing().fit.requests == {"sample_weight": True}
