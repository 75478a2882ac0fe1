"""Iterative refinement of linear systems with residuals in twice double precision.

A factorisation in double precision has as many wrong digits as the condition number of the system.
Refinement makes them right as long as some are (Higham, 2002, "Accuracy and Stability of Numerical
Algorithms", ch. 12). Knows neither where the system comes from nor how it is factored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays.threads import row_blocks
from ..operators.twofold import EPS, Twofold

#: Condition number above which residuals in double precision are not good enough for 1e-6.
ILL_CONDITIONED = 1e8
#: Relative size of the first correction up to which they are.
_SETTLED = 1e-10
#: Largest number of refinements.
_REFINEMENTS = 10
#: Entries of the columns for which residuals are computed at once, and least number of columns.
_ENTRIES, _FEWEST = 1 << 19, 32
#: Solves a system for a block of right-hand sides.
Solve = Callable[[np.ndarray], np.ndarray]


def refined(
    solve: Solve,
    product: Callable[[np.ndarray], np.ndarray],
    twofold_product: Callable[[np.ndarray], Twofold],
    rhs: np.ndarray,
    n: int,
) -> tuple[np.ndarray, bool]:
    """Return X with X + product(X) = rhs to working precision, and whether it was ill-conditioned.

    The first correction shows how many digits a solution has. If they are few, further residuals
    are computed in twice double precision, for blocks of columns; n is the length of the longest
    vector in a product.
    """
    solution = solve(rhs)
    change = solve(rhs - solution - product(solution))
    solution += change
    rate = relative_size(change, solution)  # by which solutions and corrections are wrong
    if rate <= _SETTLED:
        return solution, False
    for columns in row_blocks(rhs.shape[1], columns_at_once(n)):
        solution[:, columns] = _refined_further(
            solve, twofold_product, rhs[:, columns], solution[:, columns], rate
        )
    return solution, True


def columns_at_once(n: int) -> int:
    """Return for how many columns of length n twofold products are formed at once."""
    return max(_FEWEST, _ENTRIES // max(n, 1))


def _refined_further(
    solve: Solve,
    product: Callable[[np.ndarray], Twofold],
    rhs: np.ndarray,
    solution: np.ndarray,
    rate: float,
) -> np.ndarray:
    """Return a solution with more correct digits; it ends when corrections do not shrink."""
    previous = np.inf
    for _ in range(_REFINEMENTS):
        change = solve(-((product(solution) + solution) + -rhs).hi)
        size = relative_size(change, solution)
        if not size < 0.5 * previous:
            break
        solution, rate, previous = solution + change, max(rate, size / previous), size
        if rate * size <= 4.0 * EPS:  # so is what is left
            break
    return solution


def relative_size(change: np.ndarray, X: np.ndarray) -> float:
    """Return the largest entry of a change relative to that of its column."""
    largest = np.abs(X).max(axis=0, initial=0.0)
    sizes = np.abs(change).max(axis=0, initial=0.0) / np.where(largest > 0, largest, 1.0)
    return float(np.max(sizes, initial=0.0))
