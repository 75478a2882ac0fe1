"""The compact inverse Hessian of L-BFGS against the two-loop recursion, one column at a time."""

import numpy as np
import pytest

from lapwing.operators.dense import DenseOperator
from lapwing.solvers import inverse_hessian
from lapwing.solvers.inverse_hessian import InverseHessian
from lapwing.spaces.affine import AffineSpace
from lapwing.spaces.kernel_space import KernelSpace, LinearSpace

N, D, COLUMNS, MEMORY = 9, 6, 4, 3


def space_of(kind, constant):
    X = np.random.default_rng(1).normal(size=(N, D))
    space = LinearSpace(X) if kind == "linear" else KernelSpace(DenseOperator(X @ X.T))
    return AffineSpace(space, fit_intercept=constant)


def vectors(space, rng):
    """Return random functions as vectors."""
    coef = rng.normal(size=(space.space.n_coef, COLUMNS))
    return space.vectors(coef, rng.normal(size=COLUMNS))


def two_loops(space, pairs, scale, gradient):
    """Return H∇ of one column by Nocedal & Wright, Algorithm 7.4."""
    dot = lambda f, g: space.dot(f[:, None], g[:, None])[0]  # noqa: E731
    q, shares = gradient.copy(), []
    for s, y in reversed(pairs):
        shares.append(dot(s, q) / dot(s, y))
        q -= shares[-1] * y
    q *= scale
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        q += (share - dot(y, q) / dot(s, y)) * s
    return q


class Pairs:
    """Pairs of a descent with changes of the gradient that are given, for every column."""

    def __init__(self, space, seed):
        self.space, self.rng = space, np.random.default_rng(seed)
        self.gradient = vectors(space, self.rng)
        self.scale = 0.5 + self.rng.random(COLUMNS)
        self.hessian = InverseHessian(space, MEMORY, self.scale.copy())
        self.columns = np.arange(COLUMNS)
        self.of_columns = [[] for _ in range(COLUMNS)]

    def add(self, downwards=()):
        """Add a pair of positive curvature, except in the columns named."""
        step, other = (vectors(self.space, self.rng)[:, self.columns] for _ in range(2))
        change = step + 0.3 * other
        sign = np.where(self.space.dot(step, change) > 0, 1.0, -1.0)
        sign[np.isin(self.columns, downwards)] *= -1.0
        change *= sign
        self.gradient = self.gradient + change
        self.hessian.add(step, change, self.gradient)
        product, square = self.space.dot(step, change), self.space.dot(change, change)
        for i, j in enumerate(self.columns):
            # A pair that is left out takes the place of an old one.
            pair = (step[:, i], change[:, i]) if product[i] > 0 else None
            self.of_columns[j] = [*self.of_columns[j], pair][-MEMORY:]
            self.scale[j] = product[i] / square[i] if product[i] > 0 else self.scale[j]

    def keep(self, go):
        self.hessian.keep(go)
        self.columns, self.gradient = self.columns[go], self.gradient[:, go]

    def check(self):
        found = self.hessian.times_gradient(self.gradient)
        for i, j in enumerate(self.columns):
            pairs = [pair for pair in self.of_columns[j] if pair is not None]
            expected = two_loops(self.space, pairs, self.scale[j], self.gradient[:, i])
            np.testing.assert_allclose(found[:, i], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("threads", [False, True])
def test_it_is_the_two_loop_recursion(kind, constant, threads, monkeypatch):
    if threads:
        monkeypatch.setattr(inverse_hessian, "THREAD_WORK", 0)
    pairs = Pairs(space_of(kind, constant), seed=2)
    pairs.check()
    for number in range(2 * MEMORY + 2):
        pairs.add(downwards=[1] if number in (1, 4) else [])
        pairs.check()
        if number == MEMORY:
            pairs.keep(np.array([True, True, False, True]))
            pairs.check()
        if number == MEMORY + 1:
            pairs.keep(np.array([False, True, True]))


def test_secant_equation():
    # H takes the last change of the gradient to the last step.
    space = space_of("linear", True)
    pairs = Pairs(space, seed=3)
    pairs.add()
    step, change = pairs.of_columns[0][0]
    hessian = InverseHessian(space, MEMORY, np.ones(1))
    gradient = change[:, None]
    hessian.add(step[:, None], change[:, None], gradient)
    np.testing.assert_allclose(hessian.times_gradient(gradient)[:, 0], step, atol=1e-12)


@pytest.mark.parametrize("power", [-520, 450])
def test_pairs_near_the_ends_of_the_range(power):
    """Where the objective tends to zero, so do inner products of steps and changes."""
    space = space_of("linear", True)
    pairs, size = Pairs(space, seed=4), 2.0**power
    hessian = InverseHessian(space, MEMORY, pairs.scale.copy())
    for _ in range(MEMORY + 2):
        before = pairs.gradient
        pairs.add()
        steps = np.column_stack([column[-1][0] for column in pairs.of_columns])
        hessian.add(size * steps, size * (pairs.gradient - before), size * pairs.gradient)
        expected = size * pairs.hessian.times_gradient(pairs.gradient)
        np.testing.assert_allclose(hessian.times_gradient(size * pairs.gradient), expected, 1e-9)
