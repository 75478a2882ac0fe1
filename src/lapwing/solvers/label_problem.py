"""The l × l problem that remains when everything but the labelled rows is eliminated.

    min over c, b:   ½ Σ wᵢ loss(yᵢ, (Rc + t·b)ᵢ) + ½ γ_A (cᵀRc + σ b²)

R is the kernel that the manifold term deforms, restricted to the labelled rows; t and σ say how the
intercept acts through it. Every solver ends here: the dense one with the exact R, the iterative one
with the R of the subspace it has built. At the optimum γ_A·c = −g, with g half the weighted
derivative of the loss (a subgradient where it has kinks).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..losses import Hinge, Loss
from ..risk import RegularizedRisk
from .box_qp import solve_box_qp
from .line_search import exact_step_length

_MAX_NEWTON = 100
#: Steps of full length that are tried first, on all columns together.
_FULL_STEPS = 8
#: Entries of the systems of all columns up to which they are solved together.
_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True)
class LabelProblem:
    """See the module.

    Attributes
    ----------
    R : ndarray of shape (l, l)
        Reduced kernel, symmetric positive semi-definite.
    t : ndarray of shape (l,) or None
        Values of the intercept's function on the labelled rows; None without an intercept.
    sigma : float
        Penalty of the intercept.
    loss : Loss
        The loss.
    targets : ndarray of shape (l, c)
        Targets.
    weights : ndarray of shape (l,)
        Positive weights.
    reg_ambient : float
        γ_A.
    """

    R: np.ndarray
    t: np.ndarray | None
    sigma: float
    loss: Loss
    targets: np.ndarray
    weights: np.ndarray
    reg_ambient: float

    def objective(self, c: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the objective per column."""
        Rc = self.R @ c
        f = Rc if self.t is None else Rc + np.outer(self.t, b)
        norm = (c * Rc).sum(axis=0) + self.sigma * b**2
        return 0.5 * (self.weights @ self.loss.value(f, self.targets) + self.reg_ambient * norm)

    def lower_bound(self, c: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the dual objective of c per column: never above the optimum, however c was found.

        The objective minus what −γ_A·c lacks of being a subgradient at the values of c and b.
        """
        f = self.R @ c if self.t is None else self.R @ c + np.outer(self.t, b)
        slope = -self.reg_ambient * c
        slack = self.loss.slack(f, self.targets, self.weights[:, None], slope)
        return self.objective(c, b) - slack.sum(axis=0)

    def solve(self, start: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, int]:
        """Return c of shape (l, columns), b of shape (columns,) and the Newton steps done.

        ``start`` is a guess of c; only which of its entries are zero is used.
        """
        if not self.loss.is_smooth:
            return self._solve_dual()
        if self.loss.is_quadratic:  # one system for all columns
            every = np.ones(len(self.targets), dtype=bool)
            return *self._least_squares(self.targets, every), 1
        active = None if start is None else start != 0
        c, b, steps, left = self._newton_block(active)
        for column in left:
            guess = None if active is None else active[:, column]
            c[:, column], b[column], done = self._newton(self.targets[:, column], guess)
            steps = max(steps, done)
        return c, b, steps

    def leave_one_out(self, c: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return each labelled row's value when its own label is left out, shape (l, columns).

        Exact for the squared loss, and for the others as long as the set of rows with a multiplier
        stays the same; rows without one keep their value.
        """
        values = f.copy()
        ridge = np.zeros(len(self.weights))
        if self.loss.is_smooth:
            ridge = self.reg_ambient / self.weights
        for column in range(c.shape[1]):
            index = np.flatnonzero((c[:, column] != 0) | self.loss.is_quadratic)
            if len(index) == 0:
                continue
            system = np.zeros((len(index) + 1, len(index) + 1))
            system[:-1, :-1] = self.R[np.ix_(index, index)] + np.diag(ridge[index])
            system[-1, -1] = 1.0
            if self.t is not None:
                system[:-1, -1] = system[-1, :-1] = self.t[index]
                system[-1, -1] = -self.sigma
            inverse = np.diag(np.linalg.pinv(system, hermitian=True))[:-1]
            own = np.where(inverse > 0, 1.0 / np.where(inverse > 0, inverse, 1.0), 0.0)
            values[index, column] -= c[index, column] * (own - ridge[index])
        return values

    def _newton_block(
        self, active: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        """Full Newton steps for all columns together, while they are small.

        Returns c, b, the steps done, and the columns that need steps of another length.
        """
        l, columns = self.targets.shape
        c, b, left = np.zeros((l, columns)), np.zeros(columns), np.arange(columns)
        if columns * (l + 1) ** 2 > _BLOCK_ENTRIES:
            return c, b, 0, left
        if active is None:
            active = self.loss.active(np.zeros((l, columns)), self.targets)
        active, steps = active.copy(), 0
        empty = ~active.any(axis=0)
        active[:, empty] = self.loss.active(np.zeros(l)[:, None], self.targets[:, empty])
        t = np.zeros(l) if self.t is None else self.t
        ridge = self.reg_ambient / self.weights
        while len(left) and steps < _FULL_STEPS:
            steps += 1
            on = active[:, left].T  # one row a column: stacks of systems come first
            systems = self.R * (on[:, :, None] & on[:, None, :])
            systems[:, np.arange(l), np.arange(l)] += np.where(on, ridge, 1.0)
            rhs = np.stack([self.targets[:, left].T * on, t * on], axis=2)
            try:
                solved = np.linalg.solve(systems, rhs)
            except np.linalg.LinAlgError:  # singular to the last digit: one by one, with care
                return c, b, steps, np.arange(columns)
            schur = self.sigma + (t * on * solved[:, :, 1]).sum(axis=1)
            up = (t * on * solved[:, :, 0]).sum(axis=1)
            b[left] = np.where(schur > 0, up / np.where(schur > 0, schur, 1.0), 0.0)
            c[:, left] = (solved[:, :, 0] - solved[:, :, 1] * b[left, None]).T
            f = self.R @ c[:, left] + np.outer(t, b[left])
            found = self.loss.active(f, self.targets[:, left])
            changed = (found != active[:, left]).any(axis=0) & found.any(axis=0)
            active[:, left] = found
            left = left[changed]
        return c, b, steps, left

    def _newton(self, y: np.ndarray, active: np.ndarray | None) -> tuple[np.ndarray, float, int]:
        """Newton's method, Melacci & Belkin (2011), eq. (10), with the exact step length.

        Each step solves the least-squares problem of the current error vectors; it ends when
        they no longer change.
        """
        t = np.zeros(len(y)) if self.t is None else self.t
        c, b = np.zeros(len(y)), 0.0
        if active is None or not active.any():
            active = self.loss.active(np.zeros(len(y)), y)
        for step in range(1, _MAX_NEWTON + 1):
            c_new, b_new = self._least_squares(y, active)
            f, f_new = self.R @ c + t * b, self.R @ c_new + t * b_new
            next_active = self.loss.active(f_new, y)
            if np.array_equal(next_active, active):
                return c_new, b_new, step
            # Rarely needed, but a full step can cycle between two sets of error vectors.
            dc, db = c_new - c, b_new - b
            length = exact_step_length(
                self.loss,
                f[:, None],
                (f_new - f)[:, None],
                y[:, None],
                self.weights,
                self.reg_ambient * np.array([dc @ self.R @ c + self.sigma * b * db]),
                self.reg_ambient * np.array([dc @ self.R @ dc + self.sigma * db * db]),
            )[0]
            if length == 0.0 and step > 1:
                return c, b, step
            c, b = c + length * dc, b + length * db
            active = self.loss.active(self.R @ c + t * b, y)
        return c, b, _MAX_NEWTON

    def _least_squares(self, y: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the solution for fixed error vectors: (R + γ_A/W) c + t b = y, tᵀc = σ b.

        y may hold several columns; b then has one entry for each.
        """
        c, index = np.zeros(y.shape), np.flatnonzero(active)
        if len(index) == 0:
            return c, np.zeros(y.shape[1:])
        system = self.R[np.ix_(index, index)].copy()
        system[np.diag_indices(len(index))] += self.reg_ambient / self.weights[index]
        solve = definite_solver(system)
        c[index] = solve(y[index])
        if self.t is None:
            return c, np.zeros(y.shape[1:])
        t = self.t[index]
        solved_t = solve(t)
        schur = self.sigma + t @ solved_t
        b = t @ c[index] / schur if schur > 0 else np.zeros(y.shape[1:])
        c[index] -= np.multiply.outer(solved_t, b)
        return c, b

    def _solve_dual(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Losses made of k hinges by their dual, with c = Σ_k s·a: k·l variables in a box.

        Melacci & Belkin (2011), eq. (6), and Chen et al. (2012), eq. (7).
        """
        c, b = np.empty(self.targets.shape), np.zeros(self.targets.shape[1])
        for column in range(self.targets.shape[1]):
            signs, offsets = self.loss.hinges(self.targets[:, column])
            k, s = len(signs), signs.ravel()
            Q = np.tile(self.R, (k, k)) * s * s[:, None]
            upper = np.tile(self.weights / (2.0 * self.reg_ambient), k)
            q = None if self.t is None else s * np.tile(self.t, k)
            a, b[column] = solve_box_qp(Q, offsets.ravel(), upper, q, self.sigma)
            c[:, column] = (signs * a.reshape(signs.shape)).sum(axis=0)
        return c, b, 1


def label_problem(
    risk: RegularizedRisk, R: np.ndarray, t: np.ndarray, sigma: float
) -> LabelProblem:
    """Return the l × l problem of a risk for a given reduced kernel and intercept."""
    return LabelProblem(
        R=(R + R.T) / 2.0,
        t=t if risk.fit_intercept else None,
        sigma=max(sigma, 0.0),
        loss=risk.loss,
        targets=risk.targets,
        weights=risk.weights,
        reg_ambient=risk.reg_ambient,
    )


def fit_hinge(
    features: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return θ of shape (r, c) that minimises ½‖θ‖² + Σ w·max(1 − y·φᵀθ, 0), and held-out values.

    The first feature may be far larger than the others, as one that is hardly penalised is: it
    takes the place of an intercept, so that the quadratic program keeps the digits of the rest.
    """
    t, rest = features[:, 0], features[:, 1:]
    scale = float(np.abs(t).max()) or 1.0
    problem = LabelProblem(
        R=rest @ rest.T,
        t=t / scale,
        sigma=1.0 / scale**2,
        loss=Hinge(),
        targets=targets,
        weights=2.0 * weights,  # the objective of the reduced problem has a factor ½
        reg_ambient=1.0,
    )
    c, b, _ = problem.solve()
    theta = np.vstack([b / scale, rest.T @ c])
    return theta, problem.leave_one_out(c, features @ theta)


def definite_solver(A: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves A x = rhs, A positive definite up to rounding."""
    try:
        factor = cho_factor(A, lower=True, check_finite=False)
        return lambda rhs: cho_solve(factor, rhs, check_finite=False)
    except LinAlgError:
        values, vectors = np.linalg.eigh(A)
        keep = values > values[-1] * len(A) * np.finfo(float).eps
        vectors, values = vectors[:, keep], values[keep]
        return lambda rhs: (vectors / values) @ (vectors.T @ rhs)
