"""A loss along lines: steps that may follow are evaluated in the same pass."""

import numpy as np
import pytest

from lapwing.solvers.line_ahead import AHEAD, LineAhead

RNG = np.random.default_rng(0)
X, D = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))


class Counted:
    """Sums of fourth powers times the number of the column, and the columns of each pass."""

    def __init__(self):
        self.passes = []

    def __call__(self, vectors, columns):
        self.passes.append(columns.tolist())
        return columns * (vectors**4).sum(axis=0), columns * 4.0 * vectors**3


def exact(which, t, columns):
    vectors = X[:, which] + t * D[:, which]
    return columns[which] * (vectors**4).sum(axis=0), columns[which] * 4.0 * vectors**3


def line(early):
    loss, columns = Counted(), np.array([5, 7, 9])
    return LineAhead(loss, X, D, columns, early=early), loss, columns


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    ("steps", "bounds"),
    [
        ([1.0, 2.0, 4.0, 8.0], [(0, np.inf), (1, np.inf), (2, np.inf), (4, np.inf)]),
        ([1.0, 0.5, 0.25, 0.125], [(0, np.inf), (0, 1), (0, 0.5), (0, 0.25)]),
        ([1.0, 2.0, 1.5, 1.25], [(0, np.inf), (1, np.inf), (1, 2), (1, 1.5)]),
        ([1.0, 2.0, 1.5, 1.75], [(0, np.inf), (1, np.inf), (1, 2), (1.5, 2)]),
    ],
)
def test_values_and_gradients_are_those_of_each_step(early, steps, bounds):
    along, loss, columns = line(early)
    which = np.array([0, 2])
    for t, (low, high) in zip(steps, bounds, strict=True):
        t, low, high = (np.full(2, float(one)) for one in (t, low, high))
        value, gradient = along.evaluate(which, t, low, high)
        for found, expected in zip((value, gradient), exact(which, t, columns), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_array_equal(along.gradient[:, which], gradient)
        np.testing.assert_array_equal(along.value[which], value)
    assert len(loss.passes) < len(steps)


def test_doubling_and_halving_take_one_pass_for_three_steps():
    for steps, bound in (([2.0, 4.0, 8.0], (1.0, np.inf)), ([0.5, 0.25, 0.125], (0.0, 1.0))):
        along, loss, _ = line(early=True)
        for t in steps:
            along.evaluate(np.array([1]), np.array([t]), *(np.array([one]) for one in bound))
        assert loss.passes == [[7] * AHEAD]


def test_the_first_pass_has_one_step_and_columns_that_are_known_are_not_read_again():
    along, loss, _ = line(early=False)
    every, free = np.arange(3), np.full(3, np.inf)
    along.evaluate(every, np.ones(3), np.zeros(3), free)
    along.evaluate(every[:2], np.array([2.0, 2.0]), np.ones(2), free[:2])
    along.evaluate(every[:2], np.array([4.0, 1.5]), np.array([2.0, 1.0]), np.array([np.inf, 2.0]))
    assert loss.passes == [[5, 7, 9], [5, 7] * 3, [7] * 3]
