"""What the tests of the prototype vector machines share."""

from functools import partial

import numpy as np
import pytest

from helpers import data
from helpers.data import gaussian
from lapwing import PVMClassifier, PVMRegressor

every_loss = pytest.mark.parametrize("loss", ["squared", "hinge"])
every_choice = pytest.mark.parametrize("normalize", [False, True])
MODELS = [PVMClassifier(), PVMClassifier("hinge"), PVMRegressor(unlabeled=-1)]
every_model = pytest.mark.parametrize("model", MODELS, ids=["squared", "hinge", "regressor"])
GAMMA = 0.5
blobs = partial(data.blobs, n=200, n_classes=2, n_labelled=20, d=3)


def cut(X, y, ends):
    return list(zip(np.split(X, ends), np.split(y, ends), strict=True))


def decide(model, X):
    return model.predict(X) if isinstance(model, PVMRegressor) else model.decision_function(X)


def dense_terms(model, X):
    """H and HᵀSH of a fitted model, with n × n matrices."""
    U, V, gamma = model.landmarks_, model.prototypes_, model.kernel_.gamma
    H, E = gaussian(X, V, gamma), gaussian(X, U, gamma)
    if model.normalize_rows:
        H = H / H.sum(axis=1, keepdims=True)
    K = E @ np.linalg.solve(gaussian(U, U, gamma), E.T)
    S = np.diag(np.maximum(K.sum(axis=1), 0.0)) - K
    return H, H.T @ S @ H, K
