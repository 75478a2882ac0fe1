"""The ε-insensitive dual restricted to a working set, solved in memory.

    min over β:   ½ βᵀQβ + Gᵀβ + Σ cost·|β|     with  |βᵢ| ≤ upperᵢ  and a fixed sum

Pairs are moved in turn (sequential minimal optimisation), which soon identifies the coordinates
that end at zero or at a bound but may take long to balance the others; these are then balanced
together by Newton steps. Knows neither the rows outside the set nor how it was chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

#: Most rounds of as many pair moves as rows, rounds of pair moves alone, and Newton steps at the
#: end of each further round.
_ROUNDS = 20
_PAIR_ROUNDS = 4
_NEWTON_STEPS = 10
#: Curvature of a pair, and diagonal of a Newton system, that count as rounding relative to Q.
_SMALLEST, _RIDGE = 1e-12, 1e-10
#: Entries of Q that count as zero.
_ZERO = 1e-200


def solve_working_set(
    Q: np.ndarray,
    G: np.ndarray,
    beta: np.ndarray,
    *,
    C: float,
    epsilon: float,
    fit_intercept: bool,
    tol: float,
) -> tuple[np.ndarray, int]:
    """Return β after the set is solved to a violation of ``tol``, and the number of pair moves.

    Parameters
    ----------
    Q : ndarray of shape (k, k)
        Matrix of the set.
    G, beta : ndarray of shape (k,)
        Derivative of the smooth part of the objective at β, and β.
    C, epsilon : float
        Bound of |β| and cost of it.
    fit_intercept : bool
        Whether the sum of β is fixed. Without an intercept one more coordinate of no cost takes up
        any change of the sum.
    tol : float
        Violation of the optimality conditions that is small enough.
    """
    size = len(G)
    upper, cost = np.full(size, C), np.full(size, epsilon)
    if not fit_intercept:
        Q = np.pad(Q, (0, 1))
        G, beta = np.append(G, 0.0), np.append(beta, 0.0)
        upper, cost = np.append(upper, np.inf), np.append(cost, 0.0)
    working_set = _WorkingSet(Q, G.copy(), beta.copy(), upper, cost)
    moves = 0
    for round_ in range(_ROUNDS):
        done = working_set.move_pairs(tol)
        moves += done
        if done < len(G):
            break
        for _ in range(_NEWTON_STEPS if round_ >= _PAIR_ROUNDS else 0):
            if not working_set.balance_free(fit_intercept):
                break
    return working_set.beta[:size], moves


@dataclass(frozen=True)
class _WorkingSet:
    """The problem with a bound and a cost for every coordinate; G and β are updated in place."""

    Q: np.ndarray
    G: np.ndarray
    beta: np.ndarray
    upper: np.ndarray
    cost: np.ndarray

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of Q."""
        return np.diag(self.Q).copy()

    @cached_property
    def _curvatures(self) -> dict[int, np.ndarray]:
        return {}

    def curvature(self, i: int) -> np.ndarray:
        """Return the second derivative of the objective along moves of i with each row, positive.

        Few rows of a set move often, so that each is computed when it first does.
        """
        found = self._curvatures.get(i)
        if found is None:
            sums = self.diagonal + self.diagonal[i]
            # The least is that of the pair: other rows may be larger by many orders of magnitude.
            least = np.where(sums > _ZERO, _SMALLEST * sums, _SMALLEST)
            found = self._curvatures[i] = np.maximum(sums - 2.0 * self.Q[i], least)
        return found

    def balance_free(self, fit_intercept: bool) -> bool:
        """Move all free coordinates to their joint minimum or towards it.

        Returns whether one of them reached zero or its bound on the way, so that another step may
        help.
        """
        Q, G, beta, upper = self.Q, self.G, self.beta, self.upper
        free = np.flatnonzero((beta != 0) & (np.abs(beta) < upper) & np.isfinite(upper))
        if len(free) < 3:
            return False
        now, bound = beta[free], upper[free]
        slope = G[free] + np.sign(now) * self.cost[free]
        solve = _scaled_solver(Q[np.ix_(free, free)])
        if solve is None:
            return False
        direction = -solve(slope)
        if fit_intercept:  # the sum stays
            ones = solve(np.ones(len(free)))
            direction -= ones * (direction.sum() / ones.sum())
            direction -= direction.mean()
        if not direction @ slope < 0:
            return False
        growing = direction * now > 0
        room = np.where(growing, bound - np.abs(now), np.abs(now))
        speed = np.abs(direction)
        lengths = np.divide(room, speed, out=np.full(len(free), np.inf), where=speed > 0)
        length = min(1.0, float(lengths.min()))
        stopped = lengths <= length
        ends = np.where(growing, np.copysign(bound, now), 0.0)
        change = np.where(stopped, ends - now, length * direction)
        G += Q[:, free] @ change
        beta[free] = np.where(stopped, ends, now + change)
        return bool(stopped.any())

    def move_pairs(self, tol: float) -> int:
        """Do sequential minimal optimisation; return the moves, fewer than rows if solved.

        A move increases βᵢ and decreases βⱼ by the same amount, until the objective no longer
        decreases, a bound is reached, or one of the two changes sign. i has the largest rate of
        increase, and j the largest predicted decrease of the objective (second-order selection).
        """
        Q, G, beta, upper, cost = self.Q, self.G, self.beta, self.upper, self.cost
        # Minus the rates of increase and of decrease are G plus these.
        above = np.where(beta < upper, np.where(beta >= 0, cost, -cost), np.inf)
        below = np.where(beta > -upper, np.where(beta > 0, cost, -cost), -np.inf)
        current = beta.tolist()  # access to single numbers is faster in a list
        falls, gains = np.empty(len(G)), np.empty(len(G))
        moves = len(G)
        for move in range(len(G)):
            np.add(G, above, out=falls)
            i = int(falls.argmin())
            highest = -float(falls[i])
            np.add(G, below, out=falls)
            falls += highest  # the slope along the move of i and j
            np.maximum(falls, 0.0, out=falls)
            curvature = self.curvature(i)
            np.divide(falls, curvature, out=gains)  # first: squares of slopes may overflow
            gains *= falls
            j = int(gains.argmax())
            if falls.max() <= tol:
                moves = move
                break
            first, second = current[i], current[j]
            # At most to zero or the bound, which are then reached exactly.
            ends = 0.0 if first < 0 else float(upper[i]), 0.0 if second > 0 else -float(upper[j])
            rooms = ends[0] - first, second - ends[1]
            length = min(float(falls[j] / curvature[j]), *rooms)
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


def _scaled_solver(H: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function that solves Hx = rhs, H scaled to a unit diagonal; None if it is singular.

    Rows of H may differ by many orders of magnitude, so that a ridge must be that of each row.
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), _ZERO))
    H = H * scale * scale[:, None]
    H[np.diag_indices(len(H))] += _RIDGE
    try:
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return lambda rhs: scale * cho_solve(factor, scale * rhs, check_finite=False)
