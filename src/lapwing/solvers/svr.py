"""The dual of ε-insensitive regression, by decomposition: rows of the matrix in blocks, when used.

    min over β:   ½ βᵀQβ − yᵀβ + ε Σ|βᵢ|     with  −C ≤ βᵢ ≤ C  and, for an intercept, Σβᵢ = 0 ,

Chen, Tsang & Xu (2012), eq. (18), with β for their β* − β. Q is never formed: a step takes a
working set of a few hundred rows, makes those that are not in the cache by matrix products, and
moves pairs of the set one after the other (sequential minimal optimisation, the second of a pair
chosen by the decrease of the objective; where that takes long, Newton steps for all that are inside
their bounds) until the set is ten times nearer its optimum than all rows are. Only then are the
other rows told. Columns are separate problems with one Q: their working sets are joined, so that
each row made serves all of them.

With G = Qβ − y, βᵢ can grow at the rate up = −Gᵢ ∓ ε and shrink at down = −Gᵢ ∓ ε, the sign that of
the side it moves on. At the optimum max up ≤ min down, and the intercept lies between; what is
lacking is the violation, the measure of LIBSVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..operators import RowCache
from ..spaces import Function
from .driver import Step

#: Rows of a working set, the share of them that is chosen anew in each step, and how far the set
#: is solved: to this share of the violation, in at most so many rounds of as many moves as rows;
#: where so many do not settle it, each further one ends with so many Newton steps.
_WORKING_SET = 512
_NEW_SHARE = 0.5
_INNER_TOLERANCE = 0.1
_ROUNDS = 20
_PAIR_ROUNDS = 4
_NEWTON_STEPS = 10
#: Once rows have to give way in the cache, every so many steps rows that cannot move are set
#: aside, if they are at least this share.
_SHRINK_STEPS = 10
_SHRINK_SHARE = 0.1


@dataclass(frozen=True)
class TubeProblem:
    """See the module.

    Attributes
    ----------
    submatrix : callable
        ``submatrix(rows, columns)`` gives entries of Q.
    values : callable
        ``values(beta, rows)`` gives Qβ on some rows.
    targets : ndarray of shape (n, c)
        y.
    C, epsilon : float
        C > 0 and ε ≥ 0.
    fit_intercept : bool
        Whether Σβᵢ = 0.
    dtype : type
        Precision of the entries of Q.
    constant : float
        Added to the objective.
    """

    submatrix: Callable[[np.ndarray, np.ndarray | slice], np.ndarray]
    values: Callable[[np.ndarray, np.ndarray], np.ndarray]
    targets: np.ndarray
    C: float
    epsilon: float
    fit_intercept: bool
    dtype: type = np.float64
    constant: float = 0.0

    def rates(self, beta: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return up and down; −∞ and ∞ where β is at its bound."""
        up = np.where(beta < self.C, -G - np.where(beta >= 0, self.epsilon, -self.epsilon), -np.inf)
        down = np.where(
            beta > -self.C, -G - np.where(beta > 0, self.epsilon, -self.epsilon), np.inf
        )
        return up, down

    def extremes(self, up: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest up and the smallest down of each column."""
        highest, lowest = up.max(axis=0), down.min(axis=0)
        if self.fit_intercept:
            return highest, lowest
        return np.maximum(highest, 0.0), np.minimum(lowest, 0.0)  # the intercept is 0

    def intercept(self, highest: np.ndarray, lowest: np.ndarray) -> np.ndarray:
        """Return b of each column."""
        if not self.fit_intercept:
            return np.zeros(len(highest))
        return (highest + lowest) / 2.0

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
    """Return the least memory of `tube_steps`: vectors, and the rows of one working set."""
    return 8 * n * (12 * n_columns + min(_WORKING_SET, n))


def tube_steps(
    problem: TubeProblem,
    precise: Callable[[], TubeProblem] | None,
    *,
    tol: float,
    memory: int,
    start: np.ndarray | None = None,
) -> Iterator[Step]:
    """Yield steps of `decompose`, and go on in double precision where single does not do.

    ``precise`` makes the same problem with entries in double precision, if there is another: it is
    solved from the solution of the first when the rounding of Q may move values by a tenth of tol,
    or lets no pair of rows move any more.
    """
    cache_bytes = memory - 8 * 12 * problem.targets.size
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
    problem: TubeProblem,
    *,
    tol: float,
    cache_bytes: int,
    start: np.ndarray | None = None,
) -> Iterator[Step]:
    """Yield steps of the decomposition until the violation is at most ``tol``.

    The coefficients of a step are β; its values are Qβ + b.

    Parameters
    ----------
    problem : TubeProblem
        The problem.
    tol : float
        Violation that is small enough, in units of the targets.
    cache_bytes : int
        Room for rows of Q.
    start : ndarray of shape (n, c), optional
        A guess of β; what of it is not feasible is mended.
    """
    n, n_columns = problem.targets.shape
    size = min(_WORKING_SET, n)
    cache = RowCache(problem.submatrix, n, cache_bytes, problem.dtype, size)
    beta = _feasible(problem, start)
    active = np.arange(n)
    G = problem.values(beta, active) - problem.targets
    working = np.empty(0, dtype=int)
    moves = iteration = 0
    made = int(beta.any(axis=1).sum()) * n
    known = np.inf, np.inf
    while True:
        up, down = problem.rates(beta[active], G[active])
        highest, lowest = problem.extremes(up, down)
        violation = highest - lowest
        worst = max(float(violation.max()), 0.0)
        whole = len(active) == n
        if worst <= tol and not whole:  # look at the rows set aside again
            aside = np.ones(n, dtype=bool)
            aside[active] = False
            rest = np.flatnonzero(aside)
            G[rest] = problem.values(beta, rest) - problem.targets[rest]
            made += len(rest) * int(beta.any(axis=1).sum())
            active = np.arange(n)
            cache.reset()
            continue
        b = problem.intercept(highest, lowest)
        if whole:
            known = problem.objective_and_gap(beta, G, b)
        values = G + problem.targets + b
        yield Step(
            iteration=iteration,
            function=Function(beta.copy(), b, values, np.zeros((0, n_columns))),
            objective=known[0],
            gap=known[1],
            passes=-(-(made + cache.made) // (n * n)),
            converged=worst <= tol,
            details={
                "violation": worst,
                "rows_made": (made + cache.made) / n,
                "active": len(active),
                "support": int(beta.any(axis=1).sum()),
                "moves": moves,
            },
            remark=f"the optimality conditions hold up to {worst:.2g} (tol is {tol:.2g}), and "
            f"objective {known[0]:.6g} is at most {known[1]:.2g} above the optimum",
        )
        if worst <= tol:
            return
        if cache.full and iteration % _SHRINK_STEPS == 0:
            # Of columns that are done, the rows that tell the intercept stay.
            limits = np.minimum(highest, lowest), np.maximum(highest, lowest)
            can_move = ((up >= limits[0]) | (down <= limits[1])).any(axis=1)
            if can_move.mean() < 1.0 - _SHRINK_SHARE and can_move.sum() >= size:
                active = active[can_move]
                up, down = up[can_move], down[can_move]
                cache.keep_columns(active)
        wanted = size if iteration == 0 else int(_NEW_SHARE * size)
        open_columns = np.flatnonzero(violation > tol)
        # With very many columns, those that lack most: no pair may be cut apart.
        served = open_columns[np.argsort(-violation[open_columns], kind="stable")]
        served = served[: max(wanted // 2, 1)]
        chosen = active[_violators(up, down, highest, lowest, served, wanted)]
        # The rows of the steps just before stay, the latest first.
        before = working[np.isin(working, active) & ~np.isin(working, chosen)]
        working = np.concatenate([chosen, before])[:size]
        cache.fetch(working)
        Q = cache.square(working, np.searchsorted(active, working))
        after = beta[working]
        for column in open_columns:
            goal = max(_INNER_TOLERANCE * float(violation[column]), 0.5 * tol)
            state = G[working, column], after[:, column]
            after[:, column], done = _solve_set(problem, Q, *state, goal)
            moves += done
        change = after - beta[working]
        touched = change.any(axis=1)
        if not touched.any():
            return  # rounding allows no more
        G[active] += cache.combine(working[touched], change[touched])
        beta[working] = after
        iteration += 1


def _feasible(problem: TubeProblem, start: np.ndarray | None) -> np.ndarray:
    """Return a guess of β within the bounds and, for an intercept, of sum zero."""
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
    """Return a/b, and exactly 1 where only rounding tells them apart: what is at C stays there."""
    ratio = np.divide(a, b, out=np.zeros_like(a), where=b > 0)
    return np.where(ratio > 1.0 - 1e-12, 1.0, ratio)


def _violators(
    up: np.ndarray,
    down: np.ndarray,
    highest: np.ndarray,
    lowest: np.ndarray,
    columns: np.ndarray,
    wanted: int,
) -> np.ndarray:
    """Return the rows that violate most, as many that should grow as that should shrink."""
    each = max(wanted // (2 * len(columns)), 1)
    chosen = []
    for column in columns:
        for rate, limit in (
            (up[:, column], lowest[column]),
            (-down[:, column], -highest[column]),
        ):
            rows = np.argpartition(-rate, each - 1)[:each] if each < len(rate) else slice(None)
            rows = np.arange(len(rate))[rows]
            chosen.append(rows[rate[rows] > limit])
    return np.unique(np.concatenate(chosen))


def _solve_set(
    problem: TubeProblem, Q: np.ndarray, G: np.ndarray, beta: np.ndarray, tol: float
) -> tuple[np.ndarray, int]:
    """Return β after a working set is solved to a violation of ``tol``, and the moves made.

    Pairs are moved in turn, which finds out soon which coordinates end at zero or at a bound, but
    may take long to balance the others; then these are balanced together by Newton steps. Without
    an intercept there is one more coordinate that costs nothing and takes up whatever the sum
    would need.
    """
    size = len(G)
    upper, cost = np.full(size, problem.C), np.full(size, problem.epsilon)
    if not problem.fit_intercept:
        Q = np.pad(Q, (0, 1))
        G, beta = np.append(G, 0.0), np.append(beta, 0.0)
        upper, cost = np.append(upper, np.inf), np.append(cost, 0.0)
    diagonal = np.diag(Q)
    least = 1e-12 * (float(diagonal.max()) or 1.0)
    curvature = np.maximum(diagonal[:, None] + diagonal - 2.0 * Q, least)
    G, beta, moves = G.copy(), beta.copy(), 0
    for round_ in range(_ROUNDS):
        done = _move_pairs(Q, curvature, G, beta, upper, cost, tol)
        moves += done
        if done < len(G):
            break
        for _ in range(_NEWTON_STEPS if round_ >= _PAIR_ROUNDS else 0):
            if not _balance_free(Q, G, beta, upper, cost, problem.fit_intercept):
                break
    return beta[:size], moves


def _balance_free(
    Q: np.ndarray,
    G: np.ndarray,
    beta: np.ndarray,
    upper: np.ndarray,
    cost: np.ndarray,
    fit_intercept: bool,
) -> bool:
    """Move all coordinates inside their bounds, in place, to their joint minimum or towards it.

    Returns whether one of them met zero or its bound on the way, so that the others may go on.
    """
    free = np.flatnonzero((beta != 0) & (np.abs(beta) < upper) & np.isfinite(upper))
    if len(free) < 3:
        return False
    H = Q[np.ix_(free, free)]
    H[np.diag_indices(len(free))] += 1e-10 * max(float(np.diag(H).mean()), 1e-300)
    slope = G[free] + np.sign(beta[free]) * cost[free]
    try:
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    direction = -cho_solve(factor, slope, check_finite=False)
    if fit_intercept:  # the sum stays
        ones = cho_solve(factor, np.ones(len(free)), check_finite=False)
        direction -= ones * (direction.sum() / ones.sum())
        direction -= direction.mean()
    if not direction @ slope < 0:
        return False
    growing = direction * beta[free] > 0
    room = np.where(growing, upper[free] - np.abs(beta[free]), np.abs(beta[free]))
    speed = np.abs(direction)
    lengths = np.divide(room, speed, out=np.full(len(free), np.inf), where=speed > 0)
    length = min(1.0, float(lengths.min()))
    change = length * direction
    stopped = lengths <= length
    change[stopped] = np.where(
        growing, np.copysign(upper[free], beta[free]) - beta[free], -beta[free]
    )[stopped]
    G += Q[:, free] @ change
    beta[free] += change
    beta[free[stopped & ~growing]] = 0.0
    return bool(stopped.any())


def _move_pairs(
    Q: np.ndarray,
    curvature: np.ndarray,
    G: np.ndarray,
    beta: np.ndarray,
    upper: np.ndarray,
    cost: np.ndarray,
    tol: float,
) -> int:
    """Do sequential minimal optimisation, in place; return the moves made, fewer than rows if done.

    A move lets βᵢ grow and βⱼ shrink by the same amount, until the objective falls no further, a
    bound is met, or one of the two changes sign; i has the largest up, and j promises the largest
    decrease.
    """
    # −up and −down are G plus these.
    above = np.where(beta < upper, np.where(beta >= 0, cost, -cost), np.inf)
    below = np.where(beta > -upper, np.where(beta > 0, cost, -cost), -np.inf)
    current = beta.tolist()  # single numbers are quicker in a list
    falls, gains = np.empty(len(G)), np.empty(len(G))
    moves = len(G)
    for move in range(len(G)):
        np.add(G, above, out=falls)
        i = int(falls.argmin())
        highest = -float(falls[i])
        np.add(G, below, out=falls)
        falls += highest  # up of i less down of j: the slope along the move
        np.maximum(falls, 0.0, out=falls)
        np.multiply(falls, falls, out=gains)
        gains /= curvature[i]
        j = int(gains.argmax())
        if falls.max() <= tol:
            moves = move
            break
        first, second = current[i], current[j]
        # As far as zero or the bound, where they land exactly.
        ends = 0.0 if first < 0 else float(upper[i]), 0.0 if second > 0 else -float(upper[j])
        rooms = ends[0] - first, second - ends[1]
        length = min(float(falls[j] / curvature[i, j]), *rooms)
        G += length * (Q[i] - Q[j])
        for k, value in (
            (i, ends[0] if length >= rooms[0] else first + length),
            (j, ends[1] if length >= rooms[1] else second - length),
        ):
            current[k] = value
            above[k] = np.inf if value >= upper[k] else (cost[k] if value >= 0 else -cost[k])
            below[k] = -np.inf if value <= -upper[k] else (cost[k] if value > 0 else -cost[k])
    beta[:] = current
    return moves
