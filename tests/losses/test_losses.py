"""What every loss must do: value, half derivative and curvature belong together."""

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


@every_loss
@given(f=values, y=signs, weight=st.floats(0.1, 10), share=st.floats(-1, 1))
def test_slack_is_the_gap_of_fenchel_and_young(loss, f, y, weight, share):
    at = lambda v: (np.array([[v]]), np.array([[y]]), np.array([[weight]]))  # noqa: E731
    # A slope that the loss has somewhere: only there is its conjugate finite.
    slope = weight * loss.half_derivative(np.array([[5 * share]]), np.array([[y]]))
    grid = np.append(np.linspace(-60, 60, 4001), [y, y - 0.1, y + 0.1])
    half = 0.5 * weight * loss.value(grid, np.full(grid.shape, y))
    conjugate = (slope[0, 0] * grid - half).max()
    expected = 0.5 * weight * FORMULAS[loss.name](f, y) + conjugate - slope[0, 0] * f
    found = loss.slack(*at(f), slope)[0, 0]
    assert found == pytest.approx(expected, abs=1e-2 * weight)
    assert found >= -1e-12
    own = weight * loss.half_derivative(*at(f)[:2])
    assert loss.slack(*at(f), own)[0, 0] == pytest.approx(0.0, abs=1e-9)


kinked = pytest.mark.parametrize("loss", [cls() for cls in LOSSES.values() if not cls.is_smooth])


@kinked
@given(f=values, y=signs)
def test_loss_that_is_not_smooth_is_a_sum_of_hinges(loss, f, y):
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
    assert 0.0 <= side * loss.half_derivative(edge, y)[0, 0] <= 0.5
    for slope in (0.0, 0.2, 0.5):  # every one of them is a subgradient there
        w = np.ones((1, 1))
        assert loss.slack(edge, y, w, side * slope * w)[0, 0] == pytest.approx(0.0, abs=1e-15)
    assert not loss.active(edge, y).any()
    assert loss.active(edge + side * 1e-9, y).all()


def test_which_losses_are_smooth_and_which_quadratic():
    kinks = [name for name, cls in LOSSES.items() if not cls.is_smooth]
    assert kinks == ["hinge", "epsilon_insensitive"]
    assert [name for name, cls in LOSSES.items() if cls.is_quadratic] == ["squared"]


def test_smooth_losses_are_no_sums_of_hinges():
    with pytest.raises(NotImplementedError, match="SquaredHinge must implement hinges"):
        LOSSES["squared_hinge"]().hinges(np.ones(2))


@pytest.mark.parametrize("method", ["value", "half_derivative", "active"])
def test_interface_says_what_is_missing(method):
    with pytest.raises(NotImplementedError, match=f"Loss must implement {method}"):
        getattr(Loss(), method)(np.zeros((1, 1)), np.ones((1, 1)))
