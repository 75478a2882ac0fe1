"""What every loss must do: value, derivative and second derivative belong together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.losses import LOSSES, EpsilonInsensitive, Loss

every_loss = pytest.mark.parametrize("loss", [cls() for cls in LOSSES.values()], ids=list(LOSSES))
values = st.floats(-5, 5)
signs = st.sampled_from([-1.0, 1.0])

FORMULAS = {
    "squared": lambda f, y: (y - f) ** 2,
    "squared_hinge": lambda f, y: max(1 - y * f, 0) ** 2,
    "hinge": lambda f, y: max(1 - y * f, 0),
    "epsilon_insensitive": lambda f, y: max(abs(f - y) - 0.1, 0),
    "smooth_hinge": lambda f, y: np.logaddexp(0.0, 20.0 * (1 - y * f)) / 20.0,
}


def grid():
    """Values away from the kinks at yf = 1 and |f − y| = 0.1, with both targets."""
    f = np.linspace(-3, 3, 61)[:, None] + 0.013
    return np.hstack([f, f]), np.broadcast_to([1.0, -1.0], (61, 2))


def test_every_loss_is_registered_under_its_name():
    assert all(isinstance(cls(), Loss) and cls.name == name for name, cls in LOSSES.items())
    assert set(LOSSES) == set(FORMULAS)


@every_loss
@given(f=values, y=signs)
def test_value_is_its_formula(loss, f, y):
    found = loss.value(np.array([[f]]), np.array([[y]]))[0, 0]
    rounding = 1e-14 if loss.name == "smooth_hinge" else 0.0
    assert found == pytest.approx(FORMULAS[loss.name](f, y), rel=rounding, abs=0.0)


@every_loss
def test_derivative_is_the_finite_difference(loss):
    f, y = grid()
    step = 1e-6
    slope = (loss.value(f + step, y) - loss.value(f - step, y)) / (2 * step)
    np.testing.assert_allclose(loss.derivative(f, y), slope, atol=2e-8)


@every_loss
def test_value_and_derivative_are_those_of_the_two_methods(loss):
    value, derivative = loss.value_and_derivative(*grid())
    np.testing.assert_array_equal(value, loss.value(*grid()))
    np.testing.assert_array_equal(derivative, loss.derivative(*grid()))


@every_loss
def test_second_derivative_is_the_finite_difference(loss):
    f, y = grid()
    step = 1e-6
    change = loss.derivative(f + step, y) - loss.derivative(f - step, y)
    np.testing.assert_allclose(loss.second_derivative(f, y), change / (2 * step), atol=2e-8)


@every_loss
@given(f=values, g=values, y=signs, share=st.floats(0, 1))
def test_is_convex(loss, f, g, y, share):
    def value(v):
        return loss.value(np.array([[v]]), np.array([[y]]))[0, 0]

    chord = share * value(f) + (1 - share) * value(g)
    assert value(share * f + (1 - share) * g) <= chord + 1e-9 * (1 + chord)


@every_loss
@given(f=values, g=values, y=signs)
def test_derivative_is_a_subgradient(loss, f, g, y):
    at = lambda v: (np.array([[v]]), np.array([[y]]))  # noqa: E731
    line = loss.value(*at(f)) + loss.derivative(*at(f)) * (g - f)
    assert loss.value(*at(g)) >= line - 1e-9


@every_loss
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivative_at_the_kink_is_a_subgradient(loss, y):
    f = np.array([[y]])  # margin exactly one
    slope = y * loss.derivative(f, np.array([[y]]))[0, 0]
    assert -1.0 <= slope <= 0.0
    expected = np.log(2.0) / 20.0 if loss.name == "smooth_hinge" else 0.0
    assert loss.value(f, np.array([[y]]))[0, 0] == pytest.approx(expected, rel=1e-14)


@every_loss
def test_flat_where_not_active(loss):
    f, y = grid()
    active = loss.active(f, y)
    assert active.dtype == bool
    assert active.shape == f.shape
    assert not loss.derivative(f, y)[~active].any()
    assert not loss.value(f, y)[~active].any()
    assert not loss.second_derivative(f, y)[~active].any()


@every_loss
def test_shapes_and_input_are_left_alone(loss):
    f, y = grid()
    copy = f.copy()
    for method in (loss.value, loss.derivative, loss.second_derivative):
        found = method(f, y)
        assert found.shape == f.shape
        assert found.dtype == np.float64
    np.testing.assert_array_equal(f, copy)


@every_loss
@given(f=values, y=signs, weight=st.floats(0.1, 10), share=st.floats(-1, 1))
def test_slack_is_the_gap_of_fenchel_and_young(loss, f, y, weight, share):
    at = lambda v: (np.array([[v]]), np.array([[y]]), np.array([[weight]]))  # noqa: E731
    # A slope that the loss has somewhere: only there is its conjugate finite.
    slope = weight * loss.derivative(np.array([[5 * share]]), np.array([[y]]))
    grid = np.append(np.linspace(-60, 60, 4001), [y, y - 0.1, y + 0.1])
    conjugate = (slope[0, 0] * grid - weight * loss.value(grid, np.full(grid.shape, y))).max()
    expected = weight * FORMULAS[loss.name](f, y) + conjugate - slope[0, 0] * f
    found = loss.slack(*at(f), slope)[0, 0]
    assert found == pytest.approx(expected, abs=1e-2 * weight)
    assert found >= -1e-12
    own = weight * loss.derivative(*at(f)[:2])
    assert loss.slack(*at(f), own)[0, 0] == pytest.approx(0.0, abs=1e-9)


kinked = pytest.mark.parametrize("loss", [cls() for cls in LOSSES.values() if cls.is_sum_of_hinges])


@kinked
@given(f=values, y=signs)
def test_sum_of_hinges(loss, f, y):
    sign, offset = loss.hinges(np.array([y]))
    assert sign.shape == offset.shape
    found = np.maximum(offset - sign * f, 0.0).sum()
    assert found == pytest.approx(FORMULAS[loss.name](f, y), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_edges_of_the_tube(epsilon, side):
    loss, y = EpsilonInsensitive(epsilon), np.array([[3.0]])
    edge = y + side * epsilon
    assert loss.value(edge, y)[0, 0] == 0.0
    assert 0.0 <= side * loss.derivative(edge, y)[0, 0] <= 1.0
    for slope in (0.0, 0.4, 1.0):  # every one of them is a subgradient there
        w = np.ones((1, 1))
        assert loss.slack(edge, y, w, side * slope * w)[0, 0] == pytest.approx(0.0, abs=1e-15)
    assert not loss.active(edge, y).any()
    assert loss.active(edge + side * 1e-9, y).all()


def test_what_losses_declare():
    def having(capability):
        return [name for name, cls in LOSSES.items() if getattr(cls, capability)]

    assert having("is_convex") == list(LOSSES)
    assert having("is_smooth") == ["squared", "squared_hinge", "smooth_hinge"]
    assert having("is_piecewise_quadratic") == ["squared", "squared_hinge"]
    assert having("is_quadratic") == ["squared"]
    assert having("is_sum_of_hinges") == ["hinge", "epsilon_insensitive"]


@pytest.mark.parametrize("loss", [cls() for cls in LOSSES.values() if cls.is_piecewise_quadratic])
@given(f=values, y=signs)
def test_piecewise_quadratic_losses_are_squares_where_they_are_active(loss, f, y):
    f, y = np.array([[f]]), np.array([[y]])
    expected = np.where(loss.active(f, y), (y - f) ** 2, 0.0)
    np.testing.assert_allclose(loss.value(f, y), expected, rtol=1e-12, atol=1e-30)


def test_smooth_losses_are_no_sums_of_hinges():
    with pytest.raises(NotImplementedError, match="SquaredHinge must implement hinges"):
        LOSSES["squared_hinge"]().hinges(np.ones(2))


@pytest.mark.parametrize("method", ["value", "derivative", "second_derivative"])
def test_interface_says_what_is_missing(method):
    with pytest.raises(NotImplementedError, match=f"Loss must implement {method}"):
        getattr(Loss(), method)(np.zeros((1, 1)), np.ones((1, 1)))
