"""Smooth surrogates: formulas, derivatives, and values far away where naive forms overflow."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.losses import SmoothHat, SmoothHinge, SquaredHinge, TwoSidedHinge

GAMMA, S = 20.0, 3.0

#: Each loss with a target and the formula of f alone, written out.
CASES = {
    "smooth_hinge +": (
        SmoothHinge(GAMMA),
        1.0,
        lambda f: np.logaddexp(0.0, GAMMA * (1 - f)) / GAMMA,
    ),
    "smooth_hinge -": (
        SmoothHinge(GAMMA),
        -1.0,
        lambda f: np.logaddexp(0.0, GAMMA * (1 + f)) / GAMMA,
    ),
    "squared_hinge +": (SquaredHinge(), 1.0, lambda f: np.maximum(1 - f, 0) ** 2),
    "squared_hinge -": (SquaredHinge(), -1.0, lambda f: np.maximum(1 + f, 0) ** 2),
    "smooth_hat": (SmoothHat(S), 0.0, lambda f: np.exp(-S * f**2)),
    **{
        f"two_sided_hinge {side:+g}": (
            TwoSidedHinge(GAMMA),
            side,
            lambda f, side=side: (
                np.logaddexp(0.0, GAMMA * (1 - f)) / GAMMA
                + np.logaddexp(0.0, GAMMA * (1 + f)) / GAMMA
                - 1
                - side * f
            ),
        )
        for side in (0.0, 1.0, -1.0)
    },
}
every_loss = pytest.mark.parametrize(
    ("loss", "y", "formula"), list(CASES.values()), ids=[name.replace(" ", "") for name in CASES]
)


def grid():
    return (np.linspace(-4, 4, 401) + 0.0013)[:, None]


@every_loss
def test_value_is_its_formula(loss, y, formula):
    np.testing.assert_allclose(loss.value(grid(), y), formula(grid()), rtol=1e-12, atol=1e-15)


@every_loss
def test_derivatives_are_finite_differences(loss, y, formula):
    f, step = grid(), 1e-6
    slope = (formula(f + step) - formula(f - step)) / (2 * step)
    np.testing.assert_allclose(loss.derivative(f, y), slope, atol=1e-8)
    change = (loss.derivative(f + step, y) - loss.derivative(f - step, y)) / (2 * step)
    np.testing.assert_allclose(loss.second_derivative(f, y), change, atol=1e-7)


@every_loss
def test_value_and_derivative_are_those_of_the_two_methods(loss, y, formula):
    value, derivative = loss.value_and_derivative(grid(), y)
    np.testing.assert_array_equal(value, loss.value(grid(), y))
    np.testing.assert_array_equal(derivative, loss.derivative(grid(), y))


@every_loss
def test_far_away_nothing_overflows(loss, y, formula):
    f = np.array([[-1e4, 1e4], [-1e8, 1e8], [-1e100, 1e100]])
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        value, slope = loss.value_and_derivative(f, y)
        second = loss.second_derivative(f, y)
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
    assert np.isfinite(second).all()
    np.testing.assert_allclose(value, formula(f), rtol=1e-12)


@pytest.mark.parametrize("gamma", [1.0, 20.0, 1e4])
@given(f=st.floats(-50, 50))
def test_smooth_hinge_lies_above_the_hinge_by_at_most_log_two(gamma, f):
    value = SmoothHinge(gamma).value(np.array([f]), 1.0)[0]
    assert 0.0 <= value - max(1 - f, 0.0) + 1e-14 <= np.log(2) / gamma + 1e-13


@pytest.mark.parametrize("gamma", [20.0, 1e4])
def test_two_sided_hinge_is_a_smooth_maximum_of_one_and_the_absolute_value(gamma):
    f = grid()
    value, slope = TwoSidedHinge(gamma).value_and_derivative(f)
    np.testing.assert_allclose(value, np.maximum(1, np.abs(f)), atol=1.01 * np.log(2) / gamma)
    mirrored = TwoSidedHinge(gamma).value_and_derivative(-f)
    np.testing.assert_allclose(mirrored[0], value, rtol=1e-14)
    np.testing.assert_allclose(mirrored[1], -slope, atol=1e-14)


@given(f=st.floats(-30, 30), g=st.floats(-30, 30), y=st.sampled_from([-1.0, 1.0]))
def test_convex_losses_lie_above_their_tangents(f, g, y):
    for loss in (SmoothHinge(GAMMA), SquaredHinge(), TwoSidedHinge(GAMMA)):
        assert loss.is_convex
        value, slope = loss.value_and_derivative(np.array([f]), y)
        assert loss.value(np.array([g]), y)[0] >= value[0] + slope[0] * (g - f) - 1e-9


def test_smooth_hat_is_symmetric_falls_on_both_sides_and_is_one_at_zero():
    f, loss = np.linspace(0, 5, 101), SmoothHat(S)
    assert not loss.is_convex
    value, slope = loss.value_and_derivative(f)
    assert value[0] == 1.0
    assert slope[0] == 0.0
    assert (np.diff(value) < 0).all()
    np.testing.assert_array_equal(loss.value(-f), value)
    np.testing.assert_array_equal(loss.derivative(-f), -slope)
    np.testing.assert_array_equal(loss.value(f, 1.0), value)


def test_small_values_keep_their_digits():
    # Far beyond the margin the smooth hinge is exp(−γ(f − 1))/γ, not zero.
    value, slope = SmoothHinge(GAMMA).value_and_derivative(np.array([3.0]), 1.0)
    assert value[0] == pytest.approx(np.exp(-40.0) / GAMMA, rel=1e-12)
    assert slope[0] == pytest.approx(-np.exp(-40.0), rel=1e-12)


def test_shapes_and_input_are_left_alone():
    f, y = np.hstack([grid(), grid()]), np.broadcast_to([1.0, -1.0], (401, 2))
    copy = f.copy()
    for loss in (SmoothHinge(GAMMA), SquaredHinge(), SmoothHat(S), TwoSidedHinge(GAMMA)):
        found = *loss.value_and_derivative(f, y), loss.second_derivative(f, y)
        assert [part.shape for part in found] == [f.shape] * 3
        assert loss.active(f, y).shape == f.shape
    np.testing.assert_array_equal(f, copy)
    hinge = SmoothHinge(GAMMA)
    np.testing.assert_array_equal(hinge.value(f, y)[:, 1:], hinge.value(f, -1.0)[:, 1:])
