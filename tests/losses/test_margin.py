"""Losses of the margin: formulas, derivatives, and values far away where naive forms overflow."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.losses.margin import bump, smooth_hinge, squared_hinge, two_sided_hinge

GAMMA, S = 20.0, 3.0

#: Each loss as a function of f alone, with the formula written out.
CASES = {
    "smooth_hinge +": (
        lambda f: smooth_hinge(f, 1.0, GAMMA),
        lambda f: np.logaddexp(0.0, GAMMA * (1 - f)) / GAMMA,
    ),
    "smooth_hinge -": (
        lambda f: smooth_hinge(f, -1.0, GAMMA),
        lambda f: np.logaddexp(0.0, GAMMA * (1 + f)) / GAMMA,
    ),
    "squared_hinge +": (lambda f: squared_hinge(f, 1.0), lambda f: np.maximum(1 - f, 0) ** 2),
    "squared_hinge -": (lambda f: squared_hinge(f, -1.0), lambda f: np.maximum(1 + f, 0) ** 2),
    "bump": (lambda f: bump(f, S), lambda f: np.exp(-S * f**2)),
    "two_sided_hinge": (
        lambda f: two_sided_hinge(f, GAMMA),
        lambda f: (
            np.logaddexp(0.0, GAMMA * (1 - f)) / GAMMA
            + np.logaddexp(0.0, GAMMA * (1 + f)) / GAMMA
            - 1
        ),
    ),
}
every_loss = pytest.mark.parametrize(
    ("loss", "formula"), list(CASES.values()), ids=[name.replace(" ", "") for name in CASES]
)


def grid():
    return (np.linspace(-4, 4, 401) + 0.0013)[:, None]


@every_loss
def test_value_is_its_formula(loss, formula):
    np.testing.assert_allclose(loss(grid())[0], formula(grid()), rtol=1e-12, atol=1e-15)


@every_loss
def test_derivative_is_the_finite_difference(loss, formula):
    f, step = grid(), 1e-6
    slope = (formula(f + step) - formula(f - step)) / (2 * step)
    np.testing.assert_allclose(loss(f)[1], slope, atol=1e-8)


@every_loss
def test_far_away_nothing_overflows(loss, formula):
    f = np.array([[-1e4, 1e4], [-1e8, 1e8], [-1e100, 1e100]])
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        value, slope = loss(f)
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(value, formula(f), rtol=1e-12)


@pytest.mark.parametrize("gamma", [1.0, 20.0, 1e4])
@given(f=st.floats(-50, 50))
def test_smooth_hinge_lies_above_the_hinge_by_at_most_log_two(gamma, f):
    value = smooth_hinge(np.array([f]), 1.0, gamma)[0][0]
    assert 0.0 <= value - max(1 - f, 0.0) + 1e-14 <= np.log(2) / gamma + 1e-13


@pytest.mark.parametrize("gamma", [20.0, 1e4])
def test_two_sided_hinge_is_a_smooth_maximum_of_one_and_the_absolute_value(gamma):
    f = grid()
    value, slope = two_sided_hinge(f, gamma)
    np.testing.assert_allclose(value, np.maximum(1, np.abs(f)), atol=1.01 * np.log(2) / gamma)
    mirrored = two_sided_hinge(-f, gamma)
    np.testing.assert_allclose(mirrored[0], value, rtol=1e-14)
    np.testing.assert_allclose(mirrored[1], -slope, atol=1e-14)


@given(f=st.floats(-30, 30), g=st.floats(-30, 30), y=st.sampled_from([-1.0, 1.0]))
def test_convex_losses_lie_above_their_tangents(f, g, y):
    for loss in (
        lambda v: smooth_hinge(v, y, GAMMA),
        lambda v: squared_hinge(v, y),
        lambda v: two_sided_hinge(v, GAMMA),
    ):
        value, slope = loss(np.array([f]))
        assert loss(np.array([g]))[0][0] >= value[0] + slope[0] * (g - f) - 1e-9


def test_bump_is_even_falls_on_both_sides_and_is_one_at_zero():
    f = np.linspace(0, 5, 101)
    value, slope = bump(f, S)
    assert value[0] == 1.0
    assert slope[0] == 0.0
    assert (np.diff(value) < 0).all()
    np.testing.assert_array_equal(bump(-f, S)[0], value)
    np.testing.assert_array_equal(bump(-f, S)[1], -slope)


def test_small_values_keep_their_digits():
    # Far beyond the margin the smooth hinge is exp(−γ(f − 1))/γ, not zero.
    value, slope = smooth_hinge(np.array([3.0]), 1.0, GAMMA)
    assert value[0] == pytest.approx(np.exp(-40.0) / GAMMA, rel=1e-12)
    assert slope[0] == pytest.approx(-np.exp(-40.0), rel=1e-12)


def test_shapes_and_input_are_left_alone():
    f, y = np.hstack([grid(), grid()]), np.broadcast_to([1.0, -1.0], (401, 2))
    copy = f.copy()
    for found in (
        smooth_hinge(f, y, GAMMA),
        squared_hinge(f, y),
        bump(f, S),
        two_sided_hinge(f, GAMMA),
    ):
        assert [part.shape for part in found] == [f.shape, f.shape]
    np.testing.assert_array_equal(f, copy)
    np.testing.assert_array_equal(
        smooth_hinge(f, y, GAMMA)[0][:, 1:], smooth_hinge(f, -1, GAMMA)[0][:, 1:]
    )
