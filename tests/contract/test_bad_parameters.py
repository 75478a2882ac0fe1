"""Values that a parameter cannot have are refused by every estimator, with the parameter's name.

Whether the parameter is used or not: a bad value is a mistake in both cases.
"""

import re
import warnings

import numpy as np
import pytest

from helpers.cases import (
    CASES,
    assert_finite,
    assert_same_outputs,
    each_case,
    first_cases,
    values_of,
)
from helpers.data import fit_quietly
from helpers.odd_rows import Problem
from helpers.verdicts import judge
from lapwing import KNNGraph, LapSVC
from lapwing.estimators.parameters import check_width

NEVER = ("much", None, np.nan, np.inf)  # where a number is asked for
POSITIVE = (0.0, -1.0, True, 10**400, *NEVER)
NOT_NEGATIVE = (-1e-9, *NEVER)
COUNT = (0, -3, 2.5, True, "many", np.nan)
FLAG = ("no", None, 0, 1.0)
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
    "annealing": ((), (0.0, 1.0), (0.1, 0.5), (np.nan, 1.0), ("a", 1.0), "slow", 1.0, None),
    "callback": ("print", 3),
    "class_prior": ("even", [0.5, 0.5, 0.5, 0.5], [-1.0, 1.0, 1.0], {0: 1.0}),
    "class_shares": (
        "even",
        [0.5, 0.3, 0.2],
        {0: 1.0},
        {0: 0.5, 1: 0.3, 3: 0.2},
        {0: 0.7, 1: 0.5, 2: -0.2},
        {0: 50, 1: 30, 2: 20},
    ),
    "class_weight": ("even", [1.0, 2.0], {0: -1.0}, {0: np.nan}, {0: "much"}),
    "cv": ("five", 1, 0, 2.5, True, []),
    "fit_intercept": FLAG,
    "kernel": ("gauss", 3, None),
    "landmarks": ("first", None),
    "loss": ("logistic", None),
    "memory_limit": ("plenty", -1, 0, np.nan, np.inf, "8 pounds", [8]),
    "method": ("fast", None),
    "normalize_rows": FLAG,
    "positive_ratio": (0.0, 1.0, -0.1, "labelled", [0.2, 0.3]),
    "random_state": ("seed", -1, 2.5),
    "scoring": ("nonsense",),
    "solver": ("fast", None),
    "stopping": ("never", None),
    "unlabeled": ([-1, -2], np.array([-1]), {-1: 0}),
    "verbose": ("loud", -1, 1.5, None),
    "warm_start": FLAG,
    "weights": ("heat", None),
}
#: Parameters that have tests of their own.
FREE = {"graph"}


def test_every_parameter_is_listed():
    parameters = {name for case in CASES for name in case.estimator.get_params(deep=False)}
    assert parameters == set(BAD_VALUES) | FREE


#: What a message may say instead of the parameter's name, in the words of scikit-learn.
ALSO = {"random_state": "seed|Seed", "cv": "n_splits"}
#: Estimators whose iterations may be left to end by themselves, with tol=0.
ENDLESS = {"LapSVC", "LapRLSClassifier", "LapRLSRegressor"}


def every_bad_value():
    for case in first_cases():
        for name in case.estimator.get_params(deep=False):
            for value in BAD_VALUES.get(name, ()):
                if (name, value) == ("tol", 0.0) and type(case.estimator).__name__ in ENDLESS:
                    continue
                yield pytest.param(case, name, value, id=f"{case.name}-{name}={value}")


@pytest.mark.parametrize(("case", "name", "value"), list(every_bad_value()))
def test_bad_values_are_refused_by_name(case, name, value):
    X, y, _ = case.data()
    model = case.new(**{name: value})
    with pytest.raises((ValueError, TypeError), match=f"{name}|{ALSO.get(name, name)}"):
        fit_quietly(model, X, y)


# ---------------------------------------------------------------- sequences of a grid


def searches(case):
    """Whether several values of a parameter are tried."""
    return type(case.estimator).__name__.endswith("CV")


@each_case(searches, one_a_class=True)
@pytest.mark.parametrize("name", ["reg_ambient", "reg_manifold", "gamma"])
@pytest.mark.parametrize(
    "values", [(), [1.0, -1.0], [np.nan], [1.0, "many"], np.array([[1.0]]), [None]], ids=str
)
def test_sequences_of_a_grid_are_refused_by_name(case, name, values):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match=name):
        case.new(**{name: values}).fit(X, y)


@each_case(searches, one_a_class=True)
def test_an_empty_list_of_graphs_is_refused_by_name(case):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match="graph is an empty list"):
        case.new(graph=[]).fit(X, y)


@each_case(searches, one_a_class=True)
def test_values_that_are_tried_twice_change_nothing(case):
    X, y, _ = case.data()
    weights = list(case.estimator.reg_ambient)
    model = fit_quietly(case.new(reg_ambient=np.array([*weights, weights[0]])), X, y)
    assert model.best_params_ == case.fitted().best_params_
    assert_same_outputs(model, case.fitted(), X)


# ---------------------------------------------------------------- numbers of NumPy

NUMPY_TYPES = {float: np.float32, int: np.int64, bool: np.bool_}


@each_case(one_a_class=True)
def test_numbers_of_numpy_are_those_of_python(case):
    X, y, _ = case.data()
    parameters = {
        name: NUMPY_TYPES[type(value)](value)
        for name, value in case.estimator.get_params(deep=False).items()
        if type(value) in NUMPY_TYPES
    }
    as_python = {name: value.item() for name, value in parameters.items()}
    found = fit_quietly(case.new(**parameters), X, y)
    expected = fit_quietly(case.new(**as_python), X, y)
    np.testing.assert_allclose(values_of(found, X), values_of(expected, X), rtol=0, atol=1e-12)


def test_numbers_of_numpy_in_a_graph_are_those_of_python():
    X, y, _ = CASES[0].data()
    options = {"n_neighbors": np.int64(6), "bandwidth": np.float32(0.5), "normalized": np.bool_(0)}
    found = LapSVC(graph=KNNGraph(**options, power=np.int8(2))).fit(X, y)
    expected = LapSVC(graph=KNNGraph(6, bandwidth=0.5, normalized=False, power=2)).fit(X, y)
    assert_same_outputs(found, expected, X)
    with pytest.raises(ValueError, match="normalized must be True or False"):
        LapSVC(graph=KNNGraph(normalized="no")).fit(X, y)


# ---------------------------------------------------------------- extreme, but possible


#: The ends of the ranges of numbers, and a value beyond each.
ENDS = {"gamma": (1e-100, 1e100), "tol": (1e-300, 1e50), "rho": (1e-50, 1e300)}
BEYOND = {"gamma": (1e-101, 1e101), "tol": (1e51,), "rho": (1e-51,)}
PURE = ("bandwidth", "labeled_weight", "reg", "reg_ambient", "reg_labeled", "reg_manifold")
PURE += ("reg_unlabeled", "surrogate_gamma", "unlabeled_sharpness")
ENDS |= dict.fromkeys(PURE, (1e-50, 1e50))
BEYOND |= dict.fromkeys((*PURE, "coef0"), (1e-51, 1e51))


def each_value(table):
    for case in first_cases():
        for name in case.estimator.get_params(deep=False):
            for value in table.get(name, ()):
                yield pytest.param(case, name, value, id=f"{case.name}-{name}={value:g}")


@pytest.mark.parametrize(("case", "name", "value"), list(each_value(ENDS)))
def test_numbers_at_the_ends_of_their_ranges_are_answered_or_refused(case, name, value):
    parameters = {name: value} | ({"max_iter": 20} if case.has("max_iter") else {})
    X, y, truth = case.data()
    problem = Problem(0, case, X, y, truth, X, parameters=parameters, learnable=False)
    assert judge(problem) is None


@pytest.mark.parametrize(("case", "name", "value"), list(each_value(BEYOND)))
def test_numbers_that_leave_double_precision_are_refused_by_name(case, name, value):
    X, y, _ = case.data()
    message = rf"{name}={value!r} takes results out of the range.* choose a value of at"
    with pytest.raises(ValueError, match=re.escape(message).replace(r"\.\*", ".*")):
        case.new(**{name: value}).fit(X, y)


@pytest.mark.parametrize("gamma", ENDS["gamma"])
def test_widths_at_the_ends_of_their_range_are_allowed(gamma):
    """They are in units of squared rows, so that their range is that of squares."""
    check_width("gamma", gamma)


@each_case(lambda case: case.has("C"), one_a_class=True)
@pytest.mark.parametrize("value", [1e-200, 1e200])
def test_a_bound_of_extreme_size_is_refused_by_name(case, value):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match="C="):
        case.new(C=value).fit(X, y)


@each_case(lambda case: not case.is_classifier and case.has("epsilon"), one_a_class=True)
@pytest.mark.parametrize("value", [1e-60, 1e60])
def test_a_tube_far_from_the_spread_of_the_targets_is_refused_by_name(case, value):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match=r"epsilon=.* is in units of y, whose spread is"):
        case.new(epsilon=value).fit(X, y)


@each_case(lambda case: case.has("degree"), one_a_class=True)
def test_equal_rows_under_a_polynomial(case):
    """The variance of equal rows is zero, and not the square of a rounding error."""
    X, y, _ = case.data()
    X = case.rows(np.full(X.shape, 0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        assert_finite(case.new(kernel="poly").fit(X, y), X)


@each_case(lambda case: case.has("degree"), one_a_class=True)
def test_a_degree_that_overflows_is_refused_by_name(case):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match="degree"):
        case.new(kernel="poly", degree=1e300).fit(X, y)


# ---------------------------------------------------------------- other ways to fit


@each_case(lambda case: case.has("unlabeled"), one_a_class=True)
def test_labels_are_not_added_with_a_bad_parameter(case):
    X, y, truth = case.data()
    model = fit_quietly(case.new(), X, y)
    model.set_params(unlabeled=[-1, -2])
    with pytest.raises(ValueError, match="unlabeled"):
        model.add_labels([20], truth[[20]])
    assert_same_outputs(model, case.fitted(), X)


@each_case(lambda case: case.estimator._in_blocks, one_a_class=True)
def test_blocks_are_not_read_with_a_bad_parameter(case):
    def blocks():
        raise AssertionError("read")

    with pytest.raises(ValueError, match="coef0"):
        case.new(coef0=np.nan).fit(blocks)
