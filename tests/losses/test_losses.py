"""What every loss must do: value, half derivative and curvature belong together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.losses import LOSSES, Loss

every_loss = pytest.mark.parametrize("loss", [cls() for cls in LOSSES.values()], ids=list(LOSSES))
values = st.floats(-5, 5)
signs = st.sampled_from([-1.0, 1.0])

FORMULAS = {
    "squared": lambda f, y: (y - f) ** 2,
    "squared_hinge": lambda f, y: max(1 - y * f, 0) ** 2,
    "hinge": lambda f, y: max(1 - y * f, 0),
}


def grid():
    """Values away from the kink at yf = 1, with both targets."""
    f = np.linspace(-3, 3, 61)[:, None] + 0.013
    return np.hstack([f, f]), np.broadcast_to([1.0, -1.0], (61, 2))


def test_every_loss_is_registered_under_its_name():
    assert all(isinstance(cls(), Loss) and cls.name == name for name, cls in LOSSES.items())
    assert set(LOSSES) == set(FORMULAS)


@every_loss
@given(f=values, y=signs)
def test_value_is_its_formula(loss, f, y):
    assert loss.value(np.array([[f]]), np.array([[y]]))[0, 0] == FORMULAS[loss.name](f, y)


@every_loss
def test_half_derivative_is_half_the_finite_difference(loss):
    f, y = grid()
    step = 1e-6
    slope = (loss.value(f + step, y) - loss.value(f - step, y)) / (2 * step)
    np.testing.assert_allclose(loss.half_derivative(f, y), slope / 2, atol=1e-8)


@every_loss
def test_curvature_is_half_the_second_derivative(loss):
    f, y = grid()
    step = 1e-6
    change = loss.half_derivative(f + step, y) - loss.half_derivative(f - step, y)
    np.testing.assert_allclose(loss.curvature(f, y), change / (2 * step), atol=1e-8)


@every_loss
@given(f=values, g=values, y=signs, share=st.floats(0, 1))
def test_is_convex(loss, f, g, y, share):
    def value(v):
        return loss.value(np.array([[v]]), np.array([[y]]))[0, 0]

    chord = share * value(f) + (1 - share) * value(g)
    assert value(share * f + (1 - share) * g) <= chord + 1e-9 * (1 + chord)


@every_loss
@given(f=values, g=values, y=signs)
def test_half_derivative_is_a_subgradient(loss, f, g, y):
    at = lambda v: (np.array([[v]]), np.array([[y]]))  # noqa: E731
    line = loss.value(*at(f)) + 2 * loss.half_derivative(*at(f)) * (g - f)
    assert loss.value(*at(g)) >= line - 1e-9


@every_loss
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivative_at_the_kink_is_a_subgradient(loss, y):
    f = np.array([[y]])  # margin exactly one
    slope = y * loss.half_derivative(f, np.array([[y]]))[0, 0]
    assert -0.5 <= slope <= 0.0
    assert loss.value(f, np.array([[y]]))[0, 0] == 0.0


@every_loss
def test_flat_where_not_active(loss):
    f, y = grid()
    active = loss.active(f, y)
    assert active.dtype == bool
    assert active.shape == f.shape
    assert not loss.half_derivative(f, y)[~active].any()
    assert not loss.value(f, y)[~active].any()
    assert not loss.curvature(f, y)[~active].any()


@every_loss
def test_shapes_and_input_are_left_alone(loss):
    f, y = grid()
    copy = f.copy()
    for method in (loss.value, loss.half_derivative, loss.curvature):
        found = method(f, y)
        assert found.shape == f.shape
        assert found.dtype == np.float64
    np.testing.assert_array_equal(f, copy)


def test_only_the_hinge_is_not_smooth():
    assert [name for name, cls in LOSSES.items() if not cls.is_smooth] == ["hinge"]


@pytest.mark.parametrize("method", ["value", "half_derivative", "active"])
def test_interface_says_what_is_missing(method):
    with pytest.raises(NotImplementedError, match=f"Loss must implement {method}"):
        getattr(Loss(), method)(np.zeros((1, 1)), np.ones((1, 1)))
