"""Limited-memory BFGS in function space, many columns at once.

Minimises, for every column on its own, Σᵢ lossᵢ(f(xᵢ)) + λ‖f‖² over an `AffineSpace`. Gradients
and inner products are those of the space, so that kernel expansions, linear functions and explicit
features take the same steps. The values of a direction on the training rows are computed once:
after that the line search costs no product, however many steps it tries. An iteration costs one
product with K, or one with X and one with Xᵀ, for all columns together.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..spaces import AffineSpace

#: Pairs of steps and gradient changes that are remembered (m of Gieseke et al., 2013, §4.1.1).
MEMORY = 50
#: Fewer than these make it steepest descent.
LEAST_MEMORY = 5
#: Sufficient decrease and curvature of the weak Wolfe conditions.
_DECREASE, _CURVATURE = 1e-4, 0.9
#: Steps tried along a direction.
_TRIALS = 40
#: Iterations in a row that must promise and bring little before a small gradient is believed:
#: how small a gradient is, depends on the scale of the columns, and the memory must grow first.
_CALM = 3
#: Share of the objective that is rounding: a decrease below it cannot be seen.
_ROUNDING = 1e-14
#: Iterations in which neither objective nor gradient gets smaller, after which neither ever will.
_IDLE = 20


def lbfgs_bytes(n_rows: int, n_coordinates: int, n_columns: int, memory: int = MEMORY) -> int:
    """Return the memory of the history and of the vectors of one iteration."""
    return 8 * n_columns * ((2 * memory + 8) * n_coordinates + 8 * n_rows)


def affordable_memory(n_rows: int, n_coordinates: int, n_columns: int, budget: int) -> int:
    """Return how many pairs fit into a budget of bytes, from `LEAST_MEMORY` to `MEMORY`."""
    bare = lbfgs_bytes(n_rows, n_coordinates, n_columns, 0)
    pair = max(lbfgs_bytes(n_rows, n_coordinates, n_columns, 1) - bare, 1)
    return int(np.clip((budget - bare) // pair, LEAST_MEMORY, MEMORY))


class RowLoss(Protocol):
    """Loss of all rows as a function of the values on the training rows."""

    def __call__(self, values: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the losses (k,) and the derivatives (n, k) of the named columns."""


@dataclass(frozen=True)
class Minimum:
    """Where the descent ended.

    Attributes
    ----------
    vectors : ndarray of shape (n_coordinates, c)
        The functions.
    objective : ndarray of shape (c,)
        Objectives.
    values : ndarray of shape (n, c)
        Values on the training rows, level included.
    evaluations : int
        Objectives and gradients computed that cost products; a block of columns counts once.
    converged : ndarray of bool, shape (c,)
        Whether the gradient of the column is small.
    """

    vectors: np.ndarray
    objective: np.ndarray
    values: np.ndarray
    evaluations: int
    converged: np.ndarray


def lbfgs(
    space: AffineSpace,
    loss: RowLoss,
    reg: np.ndarray,
    start: np.ndarray,
    *,
    small_decrease: float,
    small_gradient: np.ndarray,
    small_intercept_gradient: np.ndarray | None = None,
    max_iter: int,
    memory: int = MEMORY,
) -> Minimum:
    """Return a local minimum for each column.

    Parameters
    ----------
    space : AffineSpace
        Where to search.
    loss : RowLoss
        Differentiable.
    reg : ndarray of shape (c,)
        λ of each column.
    start : ndarray of shape (n_coordinates, c)
        Where to begin.
    small_decrease : float
        Share of the objective; decreases below it are little.
    small_gradient : ndarray of shape (c,)
        Norm of the gradient, without its constant, below which a column has converged if the last
        iterations have brought little.
    small_intercept_gradient : ndarray of shape (c,), optional
        The same for the constant, whose scale is not that of the functions; by default the same.
    max_iter : int
        Most iterations.
    memory : int
        Pairs of steps and gradient changes that are remembered.
    """
    level = 0.0 if space.level is None else space.level
    if small_intercept_gradient is None:
        small_intercept_gradient = small_gradient
    found, final = start.copy(), space.values(start) + level
    objective, converged = np.empty(len(reg)), np.zeros(len(reg), dtype=bool)
    columns = np.arange(len(reg))  # those still moving

    x, f = start, final
    total, row_gradient = loss(f, columns)
    phi = total + reg * space.norm_dot(x, x)
    objective[:] = phi
    g = space.gradient(row_gradient) + 2.0 * reg * space.without_constant(x)
    evaluations, iteration = 1, 0
    history: deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = deque(maxlen=memory)
    # The first step is at most one long; rows of large norm would overflow with another.
    scale = 1.0 / np.maximum(1.0 + 2.0 * reg, np.sqrt(np.maximum(space.dot(g, g), 0.0)))
    stuck = np.zeros(len(reg), dtype=bool)
    calm = np.zeros(len(reg), dtype=int)
    little = max(small_decrease, _ROUNDING)
    idle, smallest = np.zeros(len(reg), dtype=int), np.full(len(reg), np.inf)
    while True:
        square = space.dot(g, g)
        content = space.norm_dot(g, g) <= small_gradient[columns] ** 2
        content &= np.abs(space.constants(g)) <= small_intercept_gradient[columns]
        content &= (calm >= _CALM) | (square <= 0.0)
        stop = content | stuck | (iteration >= max_iter)
        if stop.any():
            ended = columns[stop]
            found[:, ended], final[:, ended] = x[:, stop], f[:, stop]
            objective[ended], converged[ended] = phi[stop], content[stop]
            go = ~stop
            columns, x, f, g = columns[go], x[:, go], f[:, go], g[:, go]
            phi, scale, stuck = phi[go], scale[go], stuck[go]
            idle, smallest, square, calm = idle[go], smallest[go], square[go], calm[go]
            history = deque(((s[:, go], y[:, go], r[go]) for s, y, r in history), memory)
            if len(columns) == 0:
                return Minimum(found, objective, final, evaluations, converged)
        direction = _direction(space, g, history, scale)
        slope = space.dot(g, direction)
        uphill = slope >= 0.0  # rounding has spoilt the memory: steepest descent
        if uphill.any():
            direction[:, uphill] = -g[:, uphill] * scale[uphill]
            slope[uphill] = space.dot(g, direction)[uphill]
        change = space.values(direction)
        step, phi_new, row_gradient = _line_search(
            space, loss, reg[columns], columns, x, f, phi, direction, change, slope
        )
        most = np.maximum(phi - phi_new, -slope)
        calm = np.where(most <= little * np.abs(phi), calm + 1, 0)
        progress = (phi - phi_new > _ROUNDING * np.abs(phi)) | (square < smallest)
        idle, smallest = np.where(progress, 0, idle + 1), np.minimum(square, smallest)
        stuck = (step == 0.0) | (idle >= _IDLE)
        taken = direction * step
        x, f = x + taken, f + step * change
        g_new = space.gradient(row_gradient) + 2.0 * reg[columns] * space.without_constant(x)
        bend = g_new - g
        product, curvature = space.dot(taken, bend), space.dot(bend, bend)
        useful = (product > 0.0) & (curvature > 0.0)
        inverse = np.divide(1.0, product, out=np.zeros_like(product), where=useful)
        history.append((taken, bend, inverse))
        scale = np.divide(product, curvature, out=scale.copy(), where=useful)
        phi, g = phi_new, g_new
        evaluations += 1
        iteration += 1


def _direction(space: AffineSpace, g: np.ndarray, history: deque, scale: np.ndarray) -> np.ndarray:
    """Return −H∇ by the two-loop recursion (Nocedal & Wright, Algorithm 7.4)."""
    q = -g
    along = []
    for s, y, inverse in reversed(history):
        share = inverse * space.dot(s, q)
        q -= share * y
        along.append(share)
    q *= scale
    for (s, y, inverse), share in zip(history, reversed(along), strict=True):
        q += (share - inverse * space.dot(y, q)) * s
    return q


def _line_search(
    space: AffineSpace,
    loss: RowLoss,
    reg: np.ndarray,
    columns: np.ndarray,
    x: np.ndarray,
    f: np.ndarray,
    phi: np.ndarray,
    direction: np.ndarray,
    change: np.ndarray,
    slope: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return steps that meet the weak Wolfe conditions, with objectives and row derivatives.

    Doubling and bisection (Lewis & Overton, 2013), every column on its own. A step of zero says
    that no decrease can be seen.
    """
    constant, linear = space.norm_dot(x, x), 2.0 * space.norm_dot(x, direction)
    quadratic = space.norm_dot(direction, direction)
    k = len(columns)
    low, high, step = np.zeros(k), np.full(k, np.inf), np.ones(k)
    phi_new, row_gradient = phi.copy(), np.empty_like(f)
    searching = np.arange(k)
    for _ in range(_TRIALS):
        t = step[searching]
        total, slopes = loss(f[:, searching] + t * change[:, searching], columns[searching])
        norm = constant[searching] + t * (linear[searching] + t * quadratic[searching])
        value = total + reg[searching] * norm
        bend = reg[searching] * (linear[searching] + 2.0 * t * quadratic[searching])
        steepness = np.einsum("ij,ij->j", slopes, change[:, searching]) + bend
        rounding = _ROUNDING * np.abs(phi[searching])
        falls = value <= phi[searching] + _DECREASE * t * slope[searching] + rounding
        flat = steepness >= _CURVATURE * slope[searching]
        good = falls & flat
        at = searching[good]
        phi_new[at], row_gradient[:, at] = value[good], slopes[:, good]
        high[searching[~falls]] = t[~falls]
        low[searching[falls & ~flat]] = t[falls & ~flat]
        searching = searching[~good]
        if len(searching) == 0:
            return step, phi_new, row_gradient
        ceiling = high[searching]
        middle = 0.5 * (low[searching] + np.minimum(ceiling, 1e300))
        step[searching] = np.where(np.isinf(ceiling), 2.0 * t[~good], middle)
    # The last resort: a decrease without the curvature, or no step at all.
    t = step[searching] = low[searching]
    total, slopes = loss(f[:, searching] + t * change[:, searching], columns[searching])
    norm = constant[searching] + t * (linear[searching] + t * quadratic[searching])
    phi_new[searching], row_gradient[:, searching] = total + reg[searching] * norm, slopes
    return step, phi_new, row_gradient
