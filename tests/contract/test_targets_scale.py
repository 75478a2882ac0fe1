"""The level and the unit of targets, and the size of weights, for every estimator.

A regressor of a·y + b is a times that of y, plus b. Where losses are not squared, ε and C are in
the units of y and are multiplied by |a| as well.
"""

import warnings

import numpy as np
import pytest

from helpers.cases import N_ROWS, assert_finite, each_case, values_of
from helpers.data import fit_quietly
from lapwing import KNNGraph

ROUNDING = np.finfo(float).eps
MAPS = [(1e-6, 0.0), (1e6, 0.0), (1.0, 293.0), (1.0, 1.7e9), (-3.0, 1e4), (1e-100, 0), (1e100, 0)]
every_map = pytest.mark.parametrize(("a", "b"), MAPS, ids=lambda value: f"{value:g}")


def regressor(case):
    return not case.is_classifier


def with_intercept(case):
    return not case.is_classifier and case.has("fit_intercept")


def with_graph(case):
    return not case.is_classifier and case.has("graph")


def in_units(case, a, **parameters):
    """An estimator whose ε and C are in units that are a times smaller."""
    names = ("epsilon", "C") if case.has("epsilon") else ()  # squared losses need no change
    own = {name: abs(a) * getattr(case.estimator, name) for name in names}
    return case.new(**parameters, **own)


def bound(case, a, b):
    """How far predictions for a·y + b may be from those for y, in units of y.

    Rounding is that of y at its new level, and that of two solutions of one system; the condition
    of the systems is below 1e6 here. Iterations end within tol.
    """
    return 4.0 * ROUNDING * abs(b / a) + (case.tol if case.iterates else 1e-9)


# ---------------------------------------------------------------- level and unit


@every_map
@each_case(regressor)
def test_level_and_unit_of_targets_do_not_matter(case, a, b):
    X, y, _ = case.data()
    expected, found = case.fitted(), fit_quietly(in_units(case, a), X, a * y + b)
    allowed = bound(case, a, b)
    np.testing.assert_allclose((found.predict(X) - b) / a, expected.predict(X), atol=allowed)
    np.testing.assert_allclose((found.transduction_ - b) / a, expected.transduction_, atol=allowed)
    assert found.result_.status == expected.result_.status


@each_case(with_graph)
def test_they_do_not_matter_where_constants_are_penalised(case):
    X, y, _ = case.data()
    graph, (a, b) = KNNGraph(5, normalized=True), (-3.0, 1e4)
    expected = fit_quietly(case.new(graph=graph), X, y).predict(X)
    found = fit_quietly(in_units(case, a, graph=graph), X, a * y + b).predict(X)
    np.testing.assert_allclose((found - b) / a, expected, atol=bound(case, a, b))


@each_case(with_intercept)
def test_without_an_intercept_the_unit_does_not_matter(case):
    X, y, _ = case.data()
    expected = fit_quietly(case.new(fit_intercept=False), X, y)
    found = fit_quietly(in_units(case, 1e-6, fit_intercept=False), X, 1e-6 * y)
    np.testing.assert_allclose(
        1e6 * found.predict(X), expected.predict(X), atol=bound(case, 1e-6, 0)
    )
    assert expected.intercept_ == 0  # and they are not centred


@each_case(regressor)
def test_fitted_attributes_are_in_the_units_of_the_targets(case):
    X, y, _ = case.data()
    a, b = -3.0, 100.0
    steps = []
    watched = {"callback": steps.append} if case.has("callback") and case.has("tol") else {}
    expected, found = case.fitted(), fit_quietly(in_units(case, a, **watched), X, a * y + b)

    def check(name, found, value):  # single coefficients are as certain as the largest of them
        atol = case.tol * max(np.abs(value).max(), 1.0)
        np.testing.assert_allclose(found, value, rtol=0, atol=atol, err_msg=name)

    for name, power, shift in (
        ("dual_coef_", 1, 0.0),
        ("coef_", 1, 0.0),
        ("intercept_", 1, b),
        ("virtual_targets_", 1, b),
        ("supervised_transduction_", 1, b),
        ("best_score_", 2, 0.0),
    ):
        if hasattr(expected, name):
            value = a**power * np.asarray(getattr(expected, name)) + shift
            check(name, getattr(found, name), value)
    if hasattr(expected, "report_"):
        for name, values in expected.report_.held_out.items():
            check(name, found.report_.held_out[name], a * np.array(values) + b)
        assert found.report_.score == pytest.approx(expected.report_.score, abs=1e-9)
    result = found.result_
    if result.objective is not None:
        assert result.objective == pytest.approx(a**2 * expected.result_.objective, rel=1e-3)
        assert result.history[-1]["objective"] == result.objective
        assert f"{result.objective:.6g}" in result.message or result.gap is None
    if steps:
        assert steps[-1].objective == result.objective
        np.testing.assert_array_equal(steps[-1].function.intercept, found.intercept_)


@each_case(lambda case: not case.is_classifier and not case.added_differs)
def test_labels_that_change_the_level_equal_a_new_fit(case):
    X, y, truth = case.data()
    y, truth = y + 293.0, truth + 293.0
    new, far = [40, 41, 42], np.array([500.0, 600.0, 700.0])
    grown = fit_quietly(case.new(), X, y).add_labels(new, far)
    y[new] = far
    fresh = fit_quietly(case.new(), X, y)
    # Iterations end within tol, relative to the deviation of the targets.
    allowed = 1e-8 if not case.iterates else case.tol * np.nanstd(y)
    np.testing.assert_allclose(grown.predict(X), fresh.predict(X), atol=allowed)
    np.testing.assert_array_equal(grown.transduction_[new], far)


@each_case(lambda case: not case.is_classifier and case.has("warm_start"))
def test_a_warm_start_from_other_units(case):
    X, y, _ = case.data()
    cold = fit_quietly(in_units(case, 1e-6), X, 1e-6 * y + 2.0)
    warm = fit_quietly(case.new(warm_start=True), X, y)
    scaled = {name: getattr(cold, name) for name in ("epsilon", "C") if case.has(name)}
    warm = fit_quietly(warm.set_params(**scaled), X, 1e-6 * y + 2.0)
    np.testing.assert_allclose(
        1e6 * (warm.predict(X) - 2.0), 1e6 * (cold.predict(X) - 2.0), atol=bound(case, 1e-6, 2.0)
    )


# ---------------------------------------------------------------- constants and extremes


@pytest.mark.parametrize("value", [5.0, 0.0, -1e300, 1e-300, 0.1])
@each_case(regressor)
def test_constant_targets_give_that_constant(case, value):
    X, y, _ = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = case.new().fit(X, np.where(np.isnan(y), np.nan, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-9)
    np.testing.assert_allclose(model.transduction_, value, rtol=1e-9)


@pytest.mark.parametrize("labelled", [[7], [7, 30]], ids=["one", "two"])
@each_case(regressor)
def test_one_target_or_two_that_are_equal(case, labelled):
    X, y, _ = case.data()
    y = np.full(N_ROWS, np.nan)
    y[labelled] = 293.0
    if len(labelled) == 1 and case.has("cv"):
        with pytest.warns(UserWarning, match="one row has a target, so no label can"):
            model = case.new().fit(X, y)
        np.testing.assert_allclose(model.predict(X), 293.0, rtol=1e-9)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = case.new().fit(X, y)
    np.testing.assert_allclose(model.predict(X), 293.0, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-300, 1e300])
@each_case(regressor)
def test_targets_whose_squares_leave_double_precision_are_refused(case, factor):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match=r"targets in y range from .* rescale y"):
        case.new().fit(X, factor * y)


@each_case(regressor)
def test_targets_of_which_rounding_leaves_few_digits(case):
    X, y, _ = case.data()
    with pytest.warns(UserWarning, match="less than three digits"):
        model = case.new().fit(X, y + 1e15)
    assert_finite(model, X)
    assert np.abs(model.predict(X) - 1e15).max() < 10.0


# ---------------------------------------------------------------- weights

OUTSIDE = {
    "small": np.full(N_ROWS, 1e-300),
    "large": np.full(N_ROWS, 1e300),
    "mixed": np.where(np.arange(N_ROWS) % 2, 1e-300, 1.0),
}
INSIDE = {
    "small": np.full(N_ROWS, 1e-75),
    "mixed": np.where(np.arange(N_ROWS) % 2, 1e-75, 1.0),
    "both": np.where(np.arange(N_ROWS) % 2, 1e-75, 1e75),
}


@pytest.mark.parametrize("weights", OUTSIDE.values(), ids=OUTSIDE)
@each_case()
def test_weights_beyond_double_precision_are_refused(case, weights):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match="weights must be zero or between 1e-75 and 1e"):
        case.new().fit(X, y, sample_weight=weights)


@each_case(lambda case: case.has("class_weight"), one_a_class=True)
def test_products_with_class_weights_are_refused_as_well(case):
    X, y, _ = case.data()
    model = case.new(class_weight={0: 1e-70, 1: 1.0, 2: 1.0})
    with pytest.raises(
        ValueError, match=r"product of sample_weight and class_weight holds 1\.0e-80"
    ):
        model.fit(X, y, sample_weight=np.full(N_ROWS, 1e-10))


@pytest.mark.parametrize("weights", INSIDE.values(), ids=INSIDE)
@each_case(lambda case: not case.slow)
def test_extreme_weights_give_finite_values_or_a_reason(case, weights):
    X, y, _ = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model = case.new().fit(X, y, sample_weight=weights)
        except ValueError as error:
            reason = str(error)
        else:
            assert_finite(model, X)
            return
    assert "singular to working precision" in reason or "no solution in double" in reason


@each_case(lambda case: case.has("method") and not case.slow)
def test_the_default_weighs_labels_among_themselves(case):
    X, y, _ = case.data()
    found = fit_quietly(case.new(), X, y, sample_weight=np.full(N_ROWS, 1e-60))
    np.testing.assert_allclose(values_of(found, X), values_of(case.fitted(), X), atol=1e-9)
