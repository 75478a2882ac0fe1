"""Limited-memory BFGS in function space, for many columns at once.

Minimises Σᵢ lossᵢ(f(xᵢ)) + λ‖f‖² over an `AffineSpace`, separately for every column. Gradients and
inner products are those of the space, so that kernel expansions, linear functions and explicit
features take the same steps. The values of a direction on the training rows are computed once, so
that the line search costs no product, however many steps it tries. An iteration costs one product
with K, or one with X and one with Xᵀ, for all columns together.

Losses of rows that are not in memory are added as a function of the vectors, whose evaluation is a
pass over these rows. A pass evaluates the steps that the line search is likely to try next as well.

Vectors and values of rows are where the space has them, and what is one number per column is on the
host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from ..arrays.device import on_host
from ..spaces.affine import AffineSpace
from .inverse_hessian import InverseHessian
from .line_ahead import LineAhead, VectorLoss

#: Number of pairs of steps and gradient changes in the history (m of Gieseke et al., 2013, §4.1.1).
MEMORY = 50
#: With fewer pairs the method is close to steepest descent.
LEAST_MEMORY = 5
#: Sufficient decrease and curvature of the weak Wolfe conditions.
_DECREASE, _CURVATURE = 1e-4, 0.9
#: Largest number of steps tried along a direction.
_TRIALS = 40
#: Iterations in a row with little decrease before a small gradient means convergence: the scale of
#: gradients depends on that of the columns, and the history must be filled first.
_CALM = 3
#: Share of the objective that is rounding: a smaller decrease is not visible.
_ROUNDING = 1e-14
#: Iterations in which neither objective nor gradient decreases, after which a column is stopped.
_IDLE = 20
#: Largest norm whose square is finite.
_LARGE = 1e150

#: Loss of all rows: from the values (n, k) on the training rows and the indices of the columns to
#: the sums of the losses (k,) and the row gradients (n, k).
RowLoss = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def lbfgs_bytes(n_rows: int, n_coordinates: int, n_columns: int, memory: int = MEMORY) -> int:
    """Return the memory of the history and of the vectors of one iteration."""
    return 8 * n_columns * ((2 * memory + 8) * n_coordinates + 8 * n_rows)


def affordable_memory(n_rows: int, n_coordinates: int, n_columns: int, budget: int) -> int:
    """Return the number of pairs for a budget in bytes, from `LEAST_MEMORY` to `MEMORY`."""
    bare = lbfgs_bytes(n_rows, n_coordinates, n_columns, 0)
    pair = max(lbfgs_bytes(n_rows, n_coordinates, n_columns, 1) - bare, 1)
    return int(np.clip((budget - bare) // pair, LEAST_MEMORY, MEMORY))


@dataclass(frozen=True)
class Minimum:
    """The functions at which the descent ended.

    Attributes
    ----------
    vectors : ndarray of shape (n_coordinates, c)
        The functions.
    objective : ndarray of shape (c,)
        Objectives.
    values : ndarray of shape (n, c)
        Values on the training rows, level included.
    evaluations : int
        Number of evaluations of objective and gradient; a block of columns counts once.
    converged : ndarray of bool, shape (c,)
        Whether the gradient of the column is small.
    beyond : tuple of ndarray of shape (c,) and (n_coordinates, c), or None
        Values and gradients of the loss of rows that are not those of the space.
    """

    vectors: np.ndarray
    objective: np.ndarray
    values: np.ndarray
    evaluations: int
    converged: np.ndarray
    beyond: tuple[np.ndarray, np.ndarray] | None = None


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
    beyond: VectorLoss | None = None,
    known: tuple[np.ndarray, np.ndarray] | None = None,
) -> Minimum:
    """Return a local minimum for each column.

    Parameters
    ----------
    space : AffineSpace
        Space of the functions.
    loss : RowLoss
        Differentiable loss of all rows.
    reg : ndarray of shape (c,)
        λ of each column.
    start : ndarray of shape (n_coordinates, c)
        Initial functions.
    small_decrease : float
        Share of the objective below which a decrease is small.
    small_gradient : ndarray of shape (c,)
        Norm of the gradient, without its constant, below which a column has converged if the last
        decreases were small.
    small_intercept_gradient : ndarray of shape (c,), optional
        The same for the constant, whose scale differs from that of the functions; by default equal.
    max_iter : int
        Largest number of iterations.
    memory : int
        Number of pairs of steps and gradient changes in the history.
    beyond : VectorLoss, optional
        The loss of rows that are not those of the space.
    known : tuple of ndarray, optional
        Its values and gradients at the start, if they are known.
    """
    if small_intercept_gradient is None:
        small_intercept_gradient = small_gradient
    moving = _Moving(space, loss, reg, start, memory, beyond, known)
    last = None if moving.more is None else (moving.more[0].copy(), moving.more[1].copy())
    found, values, objective = start.copy(), moving.f, moving.phi.copy()
    converged = np.zeros(len(reg), dtype=bool)
    little = max(small_decrease, _ROUNDING)
    for iteration in count():
        small = moving.has_small_gradient(small_gradient, small_intercept_gradient)
        stop = small | moving.stuck | (iteration >= max_iter)
        if stop.any():
            ended = moving.columns[stop]
            found[:, ended], values[:, ended] = moving.x[:, stop], moving.f[:, stop]
            objective[ended], converged[ended] = moving.phi[stop], small[stop]
            if last is not None and moving.more is not None:
                last[0][ended], last[1][:, ended] = moving.more[0][stop], moving.more[1][:, stop]
            moving.keep(~stop)
        if len(moving.columns) == 0:
            break
        moving.advance(little)
    return Minimum(found, objective, values, moving.evaluations, converged, last)


class _Moving:
    """State of the columns that have not stopped: functions x, values f, gradients g."""

    def __init__(
        self,
        space: AffineSpace,
        loss: RowLoss,
        reg: np.ndarray,
        start: np.ndarray,
        memory: int,
        beyond: VectorLoss | None,
        known: tuple[np.ndarray, np.ndarray] | None,
    ) -> None:
        k = len(reg)
        self.space, self.loss, self.reg, self.beyond = space, loss, reg, beyond
        self.columns = np.arange(k)
        level = 0.0 if space.level is None else space.level
        self.x, self.f = start, space.values(start) + level
        total, row_gradient = loss(self.f, self.columns)
        self.phi = total + reg * space.norm_dot(start, start)
        self.g = space.gradient(row_gradient) + 2.0 * reg * space.without_constant(start)
        self.more = known  # value and gradient of the loss beyond the rows
        if beyond is not None:
            self.more = beyond(start, self.columns) if known is None else known
            self.phi += self.more[0]
            self.g += self.more[1]
        self.evaluations = 1
        self.square = space.dot(self.g, self.g)
        # The first step has length one at most; with rows of large norm it would overflow.
        scale = 1.0 / np.maximum(1.0 + 2.0 * reg, np.sqrt(np.maximum(self.square, 0.0)))
        self.hessian = InverseHessian(space, memory, scale)
        self.stuck = np.zeros(k, dtype=bool)
        self.calm = np.zeros(k, dtype=int)  # iterations in a row with little decrease
        self.idle = np.zeros(k, dtype=int)  # iterations without progress of any kind
        self.smallest = np.full(k, np.inf)  # squared gradient norm so far

    def has_small_gradient(
        self, small_gradient: np.ndarray, small_intercept_gradient: np.ndarray
    ) -> np.ndarray:
        """Return which columns meet the stopping criterion."""
        space, g = self.space, self.g
        least = np.minimum(small_gradient[self.columns], _LARGE)
        small = space.norm_dot(g, g) <= least**2
        small &= np.abs(space.constants(g)) <= small_intercept_gradient[self.columns]
        return small & ((self.calm >= _CALM) | (self.square <= 0.0))

    def keep(self, go: np.ndarray) -> None:
        """Drop the columns that have stopped."""
        self.space = self.space.of_columns(go)
        self.columns, self.reg, self.phi = self.columns[go], self.reg[go], self.phi[go]
        self.square, self.smallest = self.square[go], self.smallest[go]
        self.hessian.keep(go)
        self.stuck, self.calm, self.idle = self.stuck[go], self.calm[go], self.idle[go]
        self.x, self.f, self.g = self.x[:, go], self.f[:, go], self.g[:, go]
        if self.more is not None:
            self.more = self.more[0][go], self.more[1][:, go]

    def advance(self, little: float) -> None:
        """Do one iteration of all columns; ``little`` is the share of a small decrease."""
        space, x, g, phi = self.space, self.x, self.g, self.phi
        direction, slope = self._descent_direction()
        change = space.values(direction)
        step, phi_new, row_gradient = self._line_search(direction, change, slope)
        most = np.maximum(phi - phi_new, -slope)
        self.calm = np.where(most <= little * np.abs(phi), self.calm + 1, 0)
        progress = (phi - phi_new > _ROUNDING * np.abs(phi)) | (self.square < self.smallest)
        self.idle = np.where(progress, 0, self.idle + 1)
        self.smallest = np.minimum(self.square, self.smallest)
        self.stuck = (step == 0.0) | (self.idle >= _IDLE)
        taken = direction * step
        self.x, self.f, self.phi = x + taken, self.f + step * change, phi_new
        penalty = 2.0 * self.reg * space.without_constant(self.x)
        self.g = space.gradient(row_gradient) + penalty
        if self.more is not None:
            self.g += self.more[1]
        self.square = space.dot(self.g, self.g)
        self.hessian.add(taken, self.g - g, self.g)
        self.evaluations += 1

    def _descent_direction(self) -> tuple[np.ndarray, np.ndarray]:
        """Return directions −H∇ and the slopes along them, which are negative."""
        space, g = self.space, self.g
        direction = -self.hessian.times_gradient(g)
        slope = space.dot(g, direction)
        uphill = slope >= 0.0  # rounding has spoilt the pairs: use steepest descent
        if uphill.any():
            direction[:, uphill] = -g[:, uphill] * self.hessian.scale[uphill]
            slope[uphill] = space.dot(g, direction)[uphill]
        return direction, slope

    def _line_search(
        self, direction: np.ndarray, change: np.ndarray, slope: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return steps that meet the weak Wolfe conditions, with objectives and row gradients.

        Doubling and bisection (Lewis & Overton, 2013), separately for every column. ``change`` are
        the values of the directions. A step of zero means that no decrease is visible.
        """
        space, reg, phi, k = self.space, self.reg, self.phi, len(self.columns)
        constant, linear = space.norm_dot(self.x, self.x), 2.0 * space.norm_dot(self.x, direction)
        quadratic = space.norm_dot(direction, direction)
        line = None
        if self.beyond is not None:
            early = self.hessian.n_pairs == 0  # the first step is too short as a rule
            line = LineAhead(self.beyond, self.x, direction, self.columns, early=early)
            self.more = line.value, line.gradient

        def evaluate(which: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Return objectives, slopes without penalty and row gradients after steps t."""
            along = change[:, which]
            value, row_gradient = self.loss(self.f[:, which] + t * along, self.columns[which])
            steepness = on_host(np.einsum("ij,ij->j", row_gradient, along))
            if line is not None:
                more, found = line.evaluate(which, t, low[which], high[which])
                value = value + more
                steepness = steepness + space.dot(found, direction[:, which])
            norm = constant[which] + t * (linear[which] + t * quadratic[which])
            return value + reg[which] * norm, steepness, row_gradient

        low, high, step = np.zeros(k), np.full(k, np.inf), np.ones(k)
        phi_new, row_gradient = phi.copy(), np.empty_like(self.f)
        searching = np.arange(k)
        for _ in range(_TRIALS):
            t = step[searching]
            value, steepness, slopes = evaluate(searching, t)
            steepness += reg[searching] * (linear[searching] + 2.0 * t * quadratic[searching])
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
        # Otherwise a step of sufficient decrease without the curvature condition, or no step.
        step[searching] = low[searching]
        phi_new[searching], _, row_gradient[:, searching] = evaluate(searching, low[searching])
        return step, phi_new, row_gradient
