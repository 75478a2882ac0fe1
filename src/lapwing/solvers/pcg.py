"""Preconditioned conjugate gradient in the primal, Melacci & Belkin (2011), Algorithm 1.

Written in function space: the gradient is a function, ⟨·,·⟩ the inner product, and plain conjugate
gradient there is the K-preconditioned method of the paper, with one product with K an iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from ..risk import RegularizedRisk
from ..spaces.function import Function
from .driver import Step
from .line_search import exact_step_length

#: Share of ⟨∇, ∇⟩ at zero below which it is rounding.
_ROUNDING = 1e-15


def pcg_bytes(n: int, n_columns: int) -> int:
    """Return the memory of `pcg` beside K: its functions with all their fields."""
    return 8 * n * n_columns * 24


def pcg(risk: RegularizedRisk, start: Function | None = None, tol: float = 1e-3) -> Iterator[Step]:
    """Yield the iterates of Algorithm 1, all columns together.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem, with a piecewise quadratic loss.
    start : Function, optional
        Warm start; zero by default, as in the paper.
    tol : float
        The stopping criterion is √⟨∇, ∇⟩ of at most ``tol`` times its value at zero, per column.

    Yields
    ------
    Step
        Without a gap, since the derivative with respect to the intercept is not zero on the way.
    """
    f = risk.zero() if start is None else start
    gradient = risk.gradient(f)
    square = risk.inner(gradient, gradient)
    first = square if start is None else risk.inner(g0 := risk.gradient(risk.zero()), g0)
    direction = gradient.scaled(-1.0)
    for iteration in count():
        step = line_step(risk, f, direction)
        if not step.any():  # restart from steepest descent, once
            direction = gradient.scaled(-1.0)
            step = line_step(risk, f, direction)
        # Below the rounding of ⟨∇, ∇⟩ steps no longer descend.
        exhausted = not step.any() or np.all(square <= _ROUNDING * first)
        # Compare squares: a singular K can make ⟨∇, ∇⟩ slightly negative.
        converged = bool(np.all(square <= tol**2 * first))
        if iteration > 0 or converged or exhausted:
            objective = float(risk.objective(f).sum())
            yield Step(iteration, f, objective, None, risk.gram.passes, converged)
        if exhausted:
            return
        f = f + direction.scaled(step)
        previous, previous_square = gradient, square
        gradient = risk.gradient(f)
        square = risk.inner(gradient, gradient)
        # Polak-Ribière; a negative value restarts from steepest descent.
        change = square - risk.inner(gradient, previous)
        where = previous_square > 0
        rho = np.divide(change, previous_square, out=np.zeros_like(square), where=where)
        direction = gradient.scaled(-1.0) + direction.scaled(np.maximum(rho, 0.0))


def line_step(risk: RegularizedRisk, f: Function, d: Function) -> np.ndarray:
    """Return the exact step from f along d, per column (§3.2.1; closed form for least squares)."""

    def quadratic(g: Function) -> np.ndarray:
        manifold = (d.values * g.S_values).sum(axis=0)
        return risk.reg_ambient * risk.space.dot(d, g) + risk.reg_manifold * manifold

    rows = risk.labelled
    return exact_step_length(
        risk.loss,
        f.values[rows],
        d.values[rows],
        risk.targets,
        risk.weights,
        quadratic(f),
        quadratic(d),
    )
