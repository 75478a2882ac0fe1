"""Values that a parameter cannot have are refused by every estimator, with the parameter's name."""

import numpy as np
import pytest

from helpers.cases import CASES, first_cases
from helpers.data import fit_quietly

NEVER = ("much", None, np.nan, np.inf)  # where a number is asked for
POSITIVE = (0.0, -1.0, *NEVER)
NOT_NEGATIVE = (-1e-9, *NEVER)
COUNT = (0, -3, 2.5, "many", np.nan)
BAD_VALUES = {
    # numbers
    "C": POSITIVE,
    "bandwidth": (0.0, -1.0, "wide", np.nan),
    "alpha": (0.0, 1.0, 2.0, *NEVER),
    "coef0": (np.nan, np.inf, "much", None),
    "degree": (-1, np.nan, "two", None),
    "epsilon": (-1e-9, *NEVER),
    "gamma": (0.0, -1.0, np.inf, np.nan, "narrow", None),
    "lambda_min_ratio": (0.0, -1.0, 2.0, *NEVER),
    "labeled_weight": POSITIVE,
    "reg": POSITIVE,
    "reg_ambient": POSITIVE,
    "reg_labeled": (0.0, -1.0, "much", np.nan, np.inf),
    "reg_manifold": (-1e-9, "much", np.nan, np.inf),
    "reg_unlabeled": NOT_NEGATIVE,
    "rho": (-1.0, *NEVER),
    "surrogate_gamma": POSITIVE,
    "tol": POSITIVE,
    "unlabeled_sharpness": POSITIVE,
    # counts
    "calibration_folds": (1, -3, 2.5, "many"),
    "max_iter": COUNT,
    "n_anchors": (*COUNT, None),
    "n_bins": (*COUNT, None),
    "n_components": (*COUNT, None),
    "n_eigenfunctions": (*COUNT, None),
    "n_eigenvectors": (0, -1, 2.5, 10.0, "ten", 60, 61),
    "n_init": (*COUNT, None),
    "n_landmarks": (0, -1, 2.5, 10.0, "ten"),
    "n_neighbors": (*COUNT, None),
    "n_prototypes": (*COUNT, None),
    # names
    "annealing": ((), (0.0, 1.0), (0.1, 0.5), (np.nan, 1.0), "slow"),
    "class_prior": ("even", [0.5, 0.5, 0.5, 0.5], [-1.0, 1.0, 1.0], {0: 1.0}),
    "class_weight": ("even", {0: -1.0}, {0: np.nan}),
    "cv": ("five", 1, 0, []),
    "kernel": ("gauss", 3, None),
    "landmarks": ("first", None),
    "loss": ("logistic", None),
    "memory_limit": ("plenty", -1, "8 pounds"),
    "method": ("fast", None),
    "positive_ratio": (0.0, 1.0, -0.1, "labelled", [0.2, 0.3]),
    "random_state": ("seed", -1, 2.5),
    "scoring": ("nonsense",),
    "solver": ("fast", None),
    "stopping": ("never", None),
    "weights": ("heat", None),
}
#: Parameters that any value is fine for, or that have tests of their own.
FREE = {
    "callback",
    "fit_intercept",
    "graph",
    "normalize_rows",
    "unlabeled",
    "verbose",
    "warm_start",
}


def test_every_parameter_is_listed():
    parameters = {name for case in CASES for name in case.estimator.get_params(deep=False)}
    assert parameters == set(BAD_VALUES) | FREE


#: Values that are not refused, or not by the name of the parameter: (parameter, values, estimators,
#: what happens); None is all estimators.
LAPLACIAN = ("LapSVC", "LapRLSClassifier", "LapRLSRegressor", "LapSVR")
NOT_REFUSED = [
    ("tol", ("much", None), LAPLACIAN, "TypeError of a multiplication"),
    ("tol", (0.0, -1.0, np.nan, np.inf), LAPLACIAN, "not looked at by the direct solver"),
    ("max_iter", COUNT, LAPLACIAN, "not looked at by the direct solver"),
    ("class_weight", ({0: -1.0}, {0: np.nan}), None, "the class is silently left out"),
    ("degree", (np.nan, "two", None), None, "unclear error of a comparison or a conversion"),
    ("coef0", (np.nan, np.inf), None, "unclear error of the solver, or none"),
    ("coef0", ("much", None), None, "unclear error of a conversion"),
    ("gamma", (None,), None, "unclear error of a conversion"),
    ("annealing", ("slow",), None, "unclear error of a conversion"),
]
#: Parameters that an estimator takes because all do: nothing is drawn.
UNUSED = {("LGCClassifier", "random_state"), ("EigenfunctionClassifier", "random_state")}
#: What a message may say instead of the parameter's name, in the words of scikit-learn.
ALSO = {"random_state": "seed|Seed", "cv": "n_splits"}


def not_refused(name, value, estimator):
    """Why this value is expected to slip through, or None."""
    for parameter, values, estimators, reason in NOT_REFUSED:
        here = estimators is None or type(estimator).__name__ in estimators
        if parameter == name and here and repr(value) in map(repr, values):
            return f"{name}={value!r}: {reason}"
    return None


def every_bad_value():
    for case in first_cases():
        for name in case.estimator.get_params(deep=False):
            if (type(case.estimator).__name__, name) in UNUSED:
                continue
            for value in BAD_VALUES.get(name, ()):
                bug = not_refused(name, value, case.estimator)
                marks = [] if bug is None else [pytest.mark.xfail(reason=bug, strict=True)]
                yield pytest.param(case, name, value, id=f"{case.name}-{name}={value}", marks=marks)


@pytest.mark.parametrize(("case", "name", "value"), list(every_bad_value()))
def test_bad_values_are_refused_by_name(case, name, value):
    X, y, _ = case.data()
    others = {"gamma": {"kernel": "rbf"}, "landmarks": {"n_landmarks": 10}}.get(name, {})
    others = {"kernel": "poly"} if name in ("coef0", "degree") else others
    model = case.new(**others, **{name: value})
    with pytest.raises((ValueError, TypeError), match=f"{name}|{ALSO.get(name, name)}"):
        fit_quietly(model, X, y)
