"""Estimators that read rows in blocks, and what is the same whatever the form of the rows."""

from itertools import pairwise

import numpy as np

from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    NFIClassifier,
    NystromLGCClassifier,
    PVMClassifier,
    PVMRegressor,
)

#: One of each kind, by name. A task of Dask costs more than a pass over these rows, so S3VC, which
#: makes a pass for each step, descends in two stages.
MODELS = {
    "PVMClassifier": PVMClassifier(n_prototypes=20),
    "PVMClassifier hinge": PVMClassifier("hinge", n_prototypes=20, class_shares="labels"),
    "PVMRegressor": PVMRegressor(n_prototypes=20),
    "AnchorGraphClassifier": AnchorGraphClassifier(20, class_shares="labels"),
    "AnchorGraphClassifier lae": AnchorGraphClassifier(20, weights="lae"),
    "EigenfunctionClassifier": EigenfunctionClassifier(class_shares="labels"),
    "S3VC": S3VC(annealing=(0.1, 1.0), calibration_folds=2),
    "LapSVC": LapSVC(n_landmarks=20, graph="anchors", class_shares="labels"),
    "LapRLSClassifier": LapRLSClassifier(n_landmarks=20, graph="anchors"),
    "LapRLSRegressor": LapRLSRegressor(n_landmarks=20, graph="anchors"),
    "NFIClassifier": NFIClassifier(30, class_prior="equal"),
    "NystromLGCClassifier": NystromLGCClassifier(
        n_landmarks=30, class_prior="equal", class_shares="labels"
    ),
}


def data(model, n=300):
    """Rows of two or three overlapping groups, with labels or quantities for a few of them."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    X = rng.normal(size=(n, 4)) + 2.5 * truth[:, None] * [1.0, 0.0, 1.0, 0.5]
    order = rng.permutation(n)
    X, truth = X[order], truth[order]
    few = rng.choice(n, 18, replace=False)
    if hasattr(model, "predict_proba"):
        y = np.full(n, -1)
        y[few] = truth[few]
    else:
        y = np.full(n, np.nan)
        y[few] = X[few] @ [1.0, -0.5, 0.25, 0.0]
    return X, y


def cut(rows, ends):
    """Blocks that end at these row numbers."""
    ends = [0, *sorted(ends), len(rows)]
    return [rows[first:last] for first, last in pairwise(ends)]


def same_model(found, plain, X):
    """Same coefficients and values to 1e-10, same decisions."""
    if hasattr(plain, "coef_"):
        np.testing.assert_allclose(found.coef_, plain.coef_, rtol=0, atol=1e-10)
    # Offsets of class shares come from iterations that end at 1e-9.
    shifts = [getattr(model, "class_offsets_", 0.0) for model in (found, plain)]
    np.testing.assert_allclose(*shifts, rtol=0, atol=1e-8)
    values = [model.predictor_.values(X) for model in (found, plain)]
    np.testing.assert_allclose(values[0] - shifts[0], values[1] - shifts[1], rtol=0, atol=1e-10)
    predicted = found.predict(X), plain.predict(X)
    transduced = np.asarray(found.transduction_), plain.transduction_
    for one, other in (predicted, transduced):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)
