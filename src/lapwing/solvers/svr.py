"""The dual of ε-insensitive regression, solved by decomposition.

    min over β:   ½ βᵀQβ − yᵀβ + ε Σ|βᵢ|     with  −C ≤ βᵢ ≤ C  and, for an intercept, Σβᵢ = 0 ,

Chen, Tsang & Xu (2012), eq. (18), with β for their β* − β. Q is never formed. Each step chooses a
working set of a few hundred rows, computes those that are not in the cache by matrix products, and
solves the set (`working_set`) to a tenth of the violation of all rows. Only then are derivatives of
the other rows updated. Columns are separate problems with the same Q: their working sets are
joined, so that each computed row serves all of them.

With G = Qβ − y, βᵢ increases at the rate up = −Gᵢ ∓ ε and decreases at the rate down = −Gᵢ ∓ ε; the
sign depends on the side of zero to which it moves. At the optimum max up ≤ min down, and the
intercept lies between them. The difference max up − min down is the violation, as in LIBSVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..operators.row_cache import RowCache
from ..spaces.function import Function
from .driver import Step
from .working_set import solve_working_set

#: Rows of a working set, share of them chosen anew in each step, and violation to which the set is
#: solved, relative to that of all rows.
_WORKING_SET = 512
_NEW_SHARE = 0.5
_INNER_TOLERANCE = 0.1
#: Once the cache is full, rows that cannot move are removed at intervals of this many steps, if
#: they are at least this share of the active rows.
_SHRINK_STEPS = 10
_SHRINK_SHARE = 0.1
#: Steps in a row that end it, if none of them lowers the smallest violation so far, or decreases
#: the objective by more than its rounding and by more than this share of the duality gap.
_LOST_STEPS, _LEAST_PROGRESS = 100, 1e-10


@dataclass(frozen=True)
class _Rates:
    """Rates at which coefficients can increase and decrease.

    Attributes
    ----------
    up, down : ndarray of shape (rows, c)
        Rates; −∞ and ∞ where β is at its bound.
    highest, lowest : ndarray of shape (c,)
        The largest rate up and the smallest rate down of each column.
    """

    up: np.ndarray
    down: np.ndarray
    highest: np.ndarray
    lowest: np.ndarray

    @property
    def violation(self) -> np.ndarray:
        """Violation of the optimality conditions of each column."""
        return self.highest - self.lowest

    @property
    def worst(self) -> float:
        """The largest violation."""
        return max(float(self.violation.max()), 0.0)


@dataclass(frozen=True)
class TubeProblem:
    """The ε-insensitive dual problem.

    Attributes
    ----------
    submatrix : callable
        ``submatrix(rows, columns)`` returns entries of Q, where ``where`` is.
    values : callable
        ``values(beta, rows)`` returns Qβ on some rows.
    targets : ndarray of shape (n, c)
        y.
    C, epsilon : float
        C > 0 and ε ≥ 0.
    fit_intercept : bool
        Whether there is an intercept, so that Σβᵢ = 0.
    dtype : type
        Precision of the entries of Q.
    constant : float
        Constant that is added to the objective.
    where : array
        Rows of Q are computed and kept where this array is.
    """

    submatrix: Callable[[np.ndarray, np.ndarray | slice], Any]
    values: Callable[[np.ndarray, np.ndarray], np.ndarray]
    targets: np.ndarray
    C: float
    epsilon: float
    fit_intercept: bool
    dtype: type = np.float64
    constant: float = 0.0
    where: Any = field(default_factory=lambda: np.empty(0), repr=False)

    def rates(self, beta: np.ndarray, G: np.ndarray) -> _Rates:
        """Return the rates of some rows."""
        C, cost = self.C, self.epsilon
        up = np.where(beta < C, -G - np.where(beta >= 0, cost, -cost), -np.inf)
        down = np.where(beta > -C, -G - np.where(beta > 0, cost, -cost), np.inf)
        highest, lowest = up.max(axis=0), down.min(axis=0)
        if not self.fit_intercept:  # the intercept, which lies between them, is zero
            highest, lowest = np.maximum(highest, 0.0), np.minimum(lowest, 0.0)
        return _Rates(up, down, highest, lowest)

    def objective_and_gap(
        self, beta: np.ndarray, G: np.ndarray, b: np.ndarray
    ) -> tuple[float, float]:
        """Return the primal objective and its distance from the dual one, summed over columns."""
        over = np.maximum(np.abs(G + b) - self.epsilon, 0.0)
        quadratic = float((beta * (G + self.targets)).sum())
        primal = 0.5 * quadratic + self.C * float(over.sum())
        linear = float((self.targets * beta).sum()) - self.epsilon * float(np.abs(beta).sum())
        return primal + self.constant, max(primal + 0.5 * quadratic - linear, 0.0)


def tube_bytes(n: int, n_columns: int) -> int:
    """Return the smallest memory of `tube_steps`: vectors, and the rows of one working set."""
    return vector_bytes(n, n_columns) + 8 * n * min(_WORKING_SET, n)


def vector_bytes(n: int, n_columns: int) -> int:
    """Return the memory of the vectors of `tube_steps`, which are on the host."""
    return 8 * 12 * n * n_columns


def tube_steps(
    problem: TubeProblem,
    precise: Callable[[], TubeProblem] | None,
    *,
    tol: float,
    memory: int,
    start: np.ndarray | None = None,
) -> Iterator[Step]:
    """Yield steps of `decompose`, and continue in double precision where single is not enough.

    ``precise`` returns the same problem with entries in double precision, or is None if the problem
    has them already. It is used, from the solution so far, when the rounding of Q may change values
    by a tenth of ``tol``, or when rounding allows no further move.
    """
    cache_bytes = memory - vector_bytes(*problem.targets.shape)
    sample = np.unique(np.linspace(0, len(problem.targets) - 1, _WORKING_SET).astype(int))
    size = float(np.abs(problem.submatrix(sample, sample)).max())
    for step in decompose(problem, tol=tol, cache_bytes=cache_bytes, start=start):
        length = float(np.linalg.norm(step.function.coef, axis=0).max())
        if precise is not None and np.finfo(problem.dtype).eps * size * length > 0.1 * tol:
            break
        yield step
        if step.converged:
            return
    if precise is None:
        return
    start, done = step.function.coef, step.iteration
    for step in decompose(precise(), tol=tol, cache_bytes=cache_bytes, start=start):
        yield replace(step, iteration=done + step.iteration)


def decompose(
    problem: TubeProblem, *, tol: float, cache_bytes: int, start: np.ndarray | None = None
) -> Iterator[Step]:
    """Yield steps of the decomposition until the violation is at most ``tol``.

    The coefficients of a step are β; its values are Qβ + b.

    Parameters
    ----------
    problem : TubeProblem
        The problem.
    tol : float
        Violation at which to stop, in units of the targets.
    cache_bytes : int
        Memory for rows of Q.
    start : ndarray of shape (n, c), optional
        Initial guess of β; it is projected onto the constraints.
    """
    state = _Decomposition(problem, tol, cache_bytes, start)
    while True:
        rates = problem.rates(state.beta[state.active], state.G[state.active])
        if rates.worst <= tol and not state.whole:
            state.restore_rows()
            continue
        step = state.step(rates)
        yield step
        if rates.worst <= tol:
            return
        if state.cache.full and state.iteration % _SHRINK_STEPS == 0:
            rates = state.shrink(rates)
        if not state.advance(rates) or state.lost >= _LOST_STEPS:
            lost = "rounding prevents further progress: raise tol, lower C, or raise reg_manifold"
            yield replace(step, remark=f"{step.remark}, and {lost}")
            return


class _Decomposition:
    """State of `decompose`: β, the derivative G = Qβ − y on active rows, and cached rows of Q."""

    def __init__(
        self, problem: TubeProblem, tol: float, cache_bytes: int, start: np.ndarray | None
    ) -> None:
        self.problem, self.tol = problem, tol
        self.n, self.n_columns = problem.targets.shape
        self.size = min(_WORKING_SET, self.n)
        self.cache = RowCache(
            problem.submatrix, self.n, cache_bytes, problem.dtype, self.size, problem.where
        )
        self.beta = _feasible(problem, start)
        self.active = np.arange(self.n)
        self.G = problem.values(self.beta, self.active) - problem.targets
        self.working = np.empty(0, dtype=int)
        self.moves = self.iteration = 0
        self.lost, self._least_violation = 0, np.inf
        self._computed = self._support * self.n  # entries of Q outside the cache
        self._objective, self._gap = np.inf, np.inf

    @property
    def whole(self) -> bool:
        """Whether all rows are active."""
        return len(self.active) == self.n

    @property
    def _support(self) -> int:
        return int(self.beta.any(axis=1).sum())

    def restore_rows(self) -> None:
        """Make all rows active again, with the derivatives of those that had been removed."""
        problem, removed = self.problem, np.ones(self.n, dtype=bool)
        removed[self.active] = False
        rows = np.flatnonzero(removed)
        self.G[rows] = problem.values(self.beta, rows) - problem.targets[rows]
        self._computed += len(rows) * self._support
        self.active = np.arange(self.n)
        self.cache.reset()

    def step(self, rates: _Rates) -> Step:
        """Return the current solution; objective and gap are those of the last whole step."""
        problem, violation, b = self.problem, rates.worst, np.zeros(self.n_columns)
        if problem.fit_intercept:
            b = (rates.highest + rates.lowest) / 2.0
        if self.whole:
            self._objective, self._gap = problem.objective_and_gap(self.beta, self.G, b)
        computed = self._computed + self.cache.made
        values = self.G + problem.targets + b
        return Step(
            iteration=self.iteration,
            function=Function(self.beta.copy(), b, values, np.zeros((0, self.n_columns))),
            objective=self._objective,
            gap=self._gap,
            passes=-(-computed // (self.n * self.n)),
            converged=violation <= self.tol,
            details={
                "violation": violation,
                "rows_made": computed / self.n,
                "active": len(self.active),
                "support": self._support,
                "moves": self.moves,
            },
            remark=f"the optimality conditions hold up to {violation:.2g} (tol is {self.tol:.2g})",
        )

    def shrink(self, rates: _Rates) -> _Rates:
        """Remove active rows that cannot move, if they are many; return the rates of the others.

        In columns that have converged, rows that determine the intercept are kept.
        """
        least = np.minimum(rates.highest, rates.lowest)
        most = np.maximum(rates.highest, rates.lowest)
        can_move = ((rates.up >= least) | (rates.down <= most)).any(axis=1)
        if can_move.mean() >= 1.0 - _SHRINK_SHARE or can_move.sum() < self.size:
            return rates
        self.active = self.active[can_move]
        self.cache.keep_columns(self.active)
        return replace(rates, up=rates.up[can_move], down=rates.down[can_move])

    def advance(self, rates: _Rates) -> bool:
        """Choose a working set, solve it for every open column; return whether β changed."""
        problem, violation, active = self.problem, rates.violation, self.active
        open_columns = np.flatnonzero(violation > self.tol)
        working = self.working = self._choose(rates, open_columns)
        self.cache.fetch(working)
        Q = self.cache.square(working, np.searchsorted(active, working))
        after = self.beta[working]
        # The set is not solved beyond the rounding of its derivatives.
        sums = np.abs(Q) @ np.abs(after) + np.abs(problem.targets[working])
        rounding = np.finfo(float).eps * sums.max(axis=0)
        for column in open_columns:
            least = max(0.5 * self.tol, float(rounding[column]))
            after[:, column], done = solve_working_set(
                Q,
                self.G[working, column],
                after[:, column],
                C=problem.C,
                epsilon=problem.epsilon,
                fit_intercept=problem.fit_intercept,
                tol=max(_INNER_TOLERANCE * float(violation[column]), least),
            )
            self.moves += done
        change = after - self.beta[working]
        touched = change.any(axis=1)
        if not touched.any():
            return False
        lower = rates.worst < self._least_violation
        self._least_violation = min(rates.worst, self._least_violation)
        self.lost = 0 if lower or self._decreases(Q, working, after) else self.lost + 1
        self.G[active] += self.cache.combine(working[touched], change[touched])
        self.beta[working] = after
        self.iteration += 1
        return True

    def _decreases(self, Q: np.ndarray, working: np.ndarray, after: np.ndarray) -> bool:
        """Return whether the objective will be noticeably smaller."""
        before, G, epsilon = self.beta[working], self.G[working], self.problem.epsilon
        change = after - before
        slope = float((change * (G + 0.5 * (Q @ change))).sum())
        cost = epsilon * float((np.abs(after) - np.abs(before)).sum())
        # Rounding of a sum, and of β in it, is relative to its terms without their signs.
        terms = np.abs(self.beta) * (np.abs(self.G) + np.abs(self.problem.targets) + epsilon)
        least = max(float(np.finfo(float).eps * terms.sum()), _LEAST_PROGRESS * self._gap)
        return -(slope + cost) > least

    def _choose(self, rates: _Rates, open_columns: np.ndarray) -> np.ndarray:
        """Return the rows of the next working set: the worst violators, then previous rows."""
        wanted = self.size if self.iteration == 0 else int(_NEW_SHARE * self.size)
        # With very many columns, take those that violate most: pairs must not be split.
        served = open_columns[np.argsort(-rates.violation[open_columns], kind="stable")]
        served = served[: max(wanted // 2, 1)]
        chosen = self.active[_violators(rates, served, wanted)]
        previous = self.working
        if not self.whole:
            previous = previous[np.isin(previous, self.active)]
        previous = previous[~np.isin(previous, chosen)]
        return np.concatenate([chosen, previous])[: self.size]


def _feasible(problem: TubeProblem, start: np.ndarray | None) -> np.ndarray:
    """Return an initial β within the bounds and, for an intercept, with sum zero."""
    if start is None:
        return np.zeros(problem.targets.shape)
    beta = np.clip(start, -problem.C, problem.C)
    if problem.fit_intercept:
        above, below = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        plus, minus = above.sum(axis=0), below.sum(axis=0)
        total = np.minimum(plus, minus)
        beta = above * _ratio(total, plus) - below * _ratio(total, minus)
    return beta


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a/b, and exactly 1 where they differ by rounding, so that β = C stays at the bound."""
    ratio = np.divide(a, b, out=np.zeros_like(a), where=b > 0)
    return np.where(ratio > 1.0 - 1e-12, 1.0, ratio)


def _violators(rates: _Rates, columns: np.ndarray, wanted: int) -> np.ndarray:
    """Return the rows that violate most, as many to increase as to decrease."""
    each = max(wanted // (2 * len(columns)), 1)
    chosen = []
    for column in columns:
        for rate, limit in (
            (rates.up[:, column], rates.lowest[column]),
            (-rates.down[:, column], -rates.highest[column]),
        ):
            rows = np.flatnonzero(rate > limit)
            if len(rows) > each:
                rows = rows[np.argpartition(-rate[rows], each - 1)[:each]]
            chosen.append(rows)
    return np.unique(np.concatenate(chosen))
