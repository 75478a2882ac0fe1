"""The label problem: what remains when everything but the labelled rows is eliminated.

    min over c, b:   ½ Σ wᵢ loss(yᵢ, (Rc + t·b)ᵢ) + ½ γ_A (cᵀRc + σ b²)

R is the kernel deformed by the manifold term, restricted to the l labelled rows; t and σ are the
intercept's values and penalty after the elimination. Elimination forms this problem with the exact
R, and iterative solvers form it with the R of the subspace they have built. At the optimum
γ_A·c = −g, with g = ½w·loss′ the derivative of the loss terms (a subgradient at kinks): c are the
dual coefficients.

How it is solved depends on what the loss declares: one linear system (quadratic), Newton's method
on the active rows (piecewise quadratic), a quadratic program (sum of hinges), or iteratively
reweighted least squares (any other smooth convex loss).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..losses import Hinge, Loss
from ..risk import RegularizedRisk
from .box_qp import solve_box_qp
from .line_search import exact_step_length

_MAX_NEWTON = 100
#: Number of full Newton steps that are tried first, on all columns together.
_FULL_STEPS = 8
#: Largest number of entries of all columns' systems for which they are solved together.
_BLOCK_ENTRIES = 4_000_000
#: Reweighted least squares: predicted relative decrease at convergence, smallest curvature of a row
#: relative to its weight, share of the predicted decrease that a step must bring, shortest step.
_DECREMENT, _LEAST_CURVATURE, _DECREASE, _SHORTEST = 1e-14, 1e-8, 1e-4, 1e-10


#: c, b and the number of Newton steps, of one column or of several.
Solution = tuple[np.ndarray, Any, int]


@dataclass(frozen=True)
class LabelProblem:
    """The problem in the dual coefficients c of the labelled rows and the intercept b.

    Attributes
    ----------
    R : ndarray of shape (l, l)
        Reduced kernel, symmetric positive semi-definite.
    t : ndarray of shape (l,) or None
        Change of f on the labelled rows per unit of b; None without an intercept.
    sigma : float
        Penalty of the intercept, in units of γ_A.
    loss : Loss
        The loss, convex.
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

    def values(self, c: np.ndarray, b: np.ndarray | float) -> np.ndarray:
        """Return f on the labelled rows, for one column or several."""
        f = self.R @ c
        return f if self.t is None else f + np.multiply.outer(self.t, b)

    def objective(self, c: np.ndarray, b: np.ndarray | float) -> np.ndarray:
        """Return the objective per column."""
        norm = (c * (self.R @ c)).sum(axis=0) + self.sigma * b**2
        loss = self.weights @ self.loss.value(self.values(c, b), self.targets)
        return 0.5 * (loss + self.reg_ambient * norm)

    def lower_bound(self, c: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the dual objective of c per column, which never exceeds the optimum.

        It is the objective minus the slack of g = −γ_A·c as a subgradient at the values of c and b.
        """
        f, weights = self.values(c, b), 0.5 * self.weights[:, None]
        slack = self.loss.slack(f, self.targets, weights, -self.reg_ambient * c)
        return self.objective(c, b) - slack.sum(axis=0)

    def solve(self, start: np.ndarray | None = None) -> Solution:
        """Return c of shape (l, columns), b of shape (columns,) and the number of Newton steps.

        ``start`` is an initial guess of c. Only its set of non-zero entries is used.
        """
        loss = self.loss
        if loss.is_sum_of_hinges:
            return self._solve_columns(self._solve_dual)
        if loss.is_quadratic:  # one system for all columns
            return *self._least_squares(self.targets, self.weights), 1
        if loss.is_piecewise_quadratic:
            return self._solve_active_set(start)
        if loss.is_smooth and loss.is_convex:
            return self._solve_columns(self._solve_reweighted)
        raise TypeError(
            f"no solver for the label problem with {type(loss).__name__}: the loss must be convex, "
            "and smooth or a sum of hinges"
        )

    def solve_subsets(self, subsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the solutions for subsets of the rows, of the squared loss.

        Parameters
        ----------
        subsets : ndarray of int, shape (s, m)
            Rows of each subset.

        Returns
        -------
        c : ndarray of shape (s, m, columns)
            Dual coefficients.
        b : ndarray of shape (s, columns)
            Intercepts.
        """
        if subsets.shape[0] * (subsets.shape[1] + 1) ** 2 <= _BLOCK_ENTRIES:
            try:
                return self._solve_stack(subsets)
            except np.linalg.LinAlgError:  # exactly singular
                pass
        found = [self._subset(index).solve()[:2] for index in subsets]
        return np.stack([c for c, _ in found]), np.stack([b for _, b in found])

    def _subset(self, index: np.ndarray) -> LabelProblem:
        """Return the problem of some of the rows."""
        return replace(
            self,
            R=self.R[np.ix_(index, index)],
            t=None if self.t is None else self.t[index],
            targets=self.targets[index],
            weights=self.weights[index],
        )

    def _solve_stack(self, subsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve the least-squares problems of subsets as one stack of systems."""
        y, weights = self.targets[subsets], self.weights[subsets]
        t = np.zeros(subsets.shape) if self.t is None else self.t[subsets]
        used = weights > 0
        systems = self.R[subsets[:, :, None], subsets[:, None, :]]
        systems *= used[:, :, None] & used[:, None, :]
        diagonal = np.arange(subsets.shape[1])
        ridge = self.reg_ambient / np.where(used, weights, self.reg_ambient)
        systems[:, diagonal, diagonal] += ridge
        rhs = np.concatenate([y, t[:, :, None]], axis=2) * used[:, :, None]
        solved = np.linalg.solve(systems, rhs)
        c, solved_t = solved[:, :, :-1], solved[:, :, -1]
        schur = self.sigma + (t * solved_t).sum(axis=1)
        schur = np.where(schur > 0, schur, np.inf)  # without t there is no intercept
        b = np.einsum("sm,smc->sc", t, c) / schur[:, None]
        return c - solved_t[:, :, None] * b[:, None, :], b

    def leave_one_out(self, c: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return each labelled row's value when its own label is left out, shape (l, columns).

        Exact for the squared loss. For other losses it is exact as long as the set of rows with
        non-zero c and, for smooth losses, the curvature of the loss stay the same. Rows with c = 0
        keep their value.
        """
        values, ridges = f.copy(), self._ridges(f)
        for column in range(c.shape[1]):
            index = np.flatnonzero((c[:, column] != 0) | self.loss.is_quadratic)
            ridge = ridges[index, column]
            system = np.zeros((len(index) + 1, len(index) + 1))
            system[:-1, :-1] = self.R[np.ix_(index, index)] + np.diag(ridge)
            system[-1, -1] = 1.0
            if self.t is not None:
                system[:-1, -1] = system[-1, :-1] = self.t[index]
                system[-1, -1] = -self.sigma
            inverse = np.diag(np.linalg.pinv(system, hermitian=True))[:-1]
            own = np.divide(1.0, inverse, out=np.zeros(len(index)), where=inverse > 0)
            values[index, column] -= c[index, column] * (own - ridge)
        return values

    def _ridges(self, f: np.ndarray) -> np.ndarray:
        """Return γ_A over the curvature of the loss terms, zero for sums of hinges."""
        if self.loss.is_sum_of_hinges:
            return np.zeros(f.shape)
        if self.loss.is_piecewise_quadratic:
            return np.broadcast_to((self.reg_ambient / self.weights)[:, None], f.shape)
        return self.reg_ambient / self._curvature(f, self.targets, self.weights[:, None])

    def _curvature(self, f: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the second derivatives ½w·loss″, at least a small share of w."""
        curvature = 0.5 * weights * self.loss.second_derivative(f, y)
        return np.maximum(curvature, _LEAST_CURVATURE * weights)

    def _solve_columns(self, solve: Callable[[np.ndarray], Solution]) -> Solution:
        """Solve one column after the other, given a function of its targets."""
        c, b, steps = zip(*(solve(y) for y in self.targets.T), strict=True)
        return np.column_stack(c), np.array(b, dtype=float), max(steps)

    def _solve_active_set(self, start: np.ndarray | None) -> Solution:
        """Newton's method on the active rows, beginning with all columns together."""
        active = self.loss.active(np.zeros(self.targets.shape), self.targets)
        if start is not None:
            active = np.where(start.any(axis=0), start != 0, active)
        c, b, steps, left = self._newton_block(active)
        for column in left:
            c[:, column], b[column], done = self._newton(self.targets[:, column], active[:, column])
            steps = max(steps, done)
        return c, b, steps

    def _newton_block(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        """Do full Newton steps for all columns together, if their systems are small.

        Returns c, b, the number of steps, and the columns that did not converge.
        """
        l, columns = self.targets.shape
        c, b, left, steps = np.zeros((l, columns)), np.zeros(columns), np.arange(columns), 0
        if columns * (l + 1) ** 2 > _BLOCK_ENTRIES:
            return c, b, steps, left
        active = active.copy()
        t = np.zeros(l) if self.t is None else self.t
        ridge = self.reg_ambient / self.weights
        while len(left) and steps < _FULL_STEPS:
            steps += 1
            on = active[:, left].T  # transposed: the first axis of the stack counts the systems
            systems = self.R * (on[:, :, None] & on[:, None, :])
            systems[:, np.arange(l), np.arange(l)] += np.where(on, ridge, 1.0)
            rhs = np.stack([self.targets[:, left].T * on, t * on], axis=2)
            try:
                solved = np.linalg.solve(systems, rhs)
            except np.linalg.LinAlgError:  # exactly singular: columns are solved one by one
                return c, b, steps, np.arange(columns)
            schur = self.sigma + (t * on * solved[:, :, 1]).sum(axis=1)
            rhs_b = (t * on * solved[:, :, 0]).sum(axis=1)
            b[left] = np.where(schur > 0, rhs_b / np.where(schur > 0, schur, 1.0), 0.0)
            c[:, left] = (solved[:, :, 0] - solved[:, :, 1] * b[left, None]).T
            found = self.loss.active(self.values(c[:, left], b[left]), self.targets[:, left])
            changed = (found != active[:, left]).any(axis=0) & found.any(axis=0)
            active[:, left] = found
            left = left[changed]
        return c, b, steps, left

    def _newton(self, y: np.ndarray, active: np.ndarray) -> Solution:
        """Newton's method, Melacci & Belkin (2011), eq. (10), with the exact step length.

        Each step solves the least-squares problem of the current active rows. The method ends when
        these no longer change.
        """
        c, b = np.zeros(len(y)), 0.0
        for step in range(1, _MAX_NEWTON + 1):
            c_new, b_new = self._least_squares(y, np.where(active, self.weights, 0.0))
            f, f_new = self.values(c, b), self.values(c_new, b_new)
            next_active = self.loss.active(f_new, y)
            if np.array_equal(next_active, active):
                return c_new, b_new, step
            # Rarely needed, but full steps can cycle between two sets of active rows.
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
            active = self.loss.active(self.values(c, b), y)
        return c, b, _MAX_NEWTON

    def _least_squares(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, Any]:
        """Solve weighted least squares: (R + γ_A/W) c + t b = y on rows of weight w > 0, tᵀc = σ b.

        y may have several columns; b then has one entry for each.
        """
        c, b, index = np.zeros(y.shape), np.zeros(y.shape[1:]), np.flatnonzero(weights)
        if len(index) == 0:
            return c, b
        system = self.R[np.ix_(index, index)]
        system[np.diag_indices(len(index))] += self.reg_ambient / weights[index]
        solve = definite_solver(system)
        c[index] = solve(y[index])
        if self.t is not None:
            t = self.t[index]
            solved_t = solve(t)
            schur = self.sigma + t @ solved_t
            if schur > 0:
                b = t @ c[index] / schur
                c[index] -= np.multiply.outer(solved_t, b)
        return c, b

    def _solve_reweighted(self, y: np.ndarray) -> Solution:
        """Iteratively reweighted least squares: Newton's method for smooth convex losses.

        Steps are shortened until the objective decreases; every step keeps tᵀc = σb.
        """
        column, half = replace(self, targets=y), 0.5 * self.weights
        c, b = np.zeros(len(y)), 0.0
        value = column.objective(c, b)
        for step in range(1, _MAX_NEWTON + 1):
            f = self.values(c, b)
            g, curvature = half * self.loss.derivative(f, y), self._curvature(f, y, self.weights)
            c_new, b_new = self._least_squares(f - g / curvature, curvature)
            dc, db = c_new - c, b_new - b
            slope = float((self.reg_ambient * c + g) @ self.values(dc, db))  # as tᵀc = σb
            if -slope <= _DECREMENT * value:  # the full step is below the rounding of the objective
                return c_new, b_new, step
            length = 1.0
            while length > _SHORTEST:
                found = column.objective(c + length * dc, b + length * db)
                if found < value and found <= value + _DECREASE * length * slope:
                    break
                length /= 2.0
            else:  # rounding allows no further decrease
                return c, b, step
            c, b, value = c + length * dc, b + length * db, found
        return c, b, _MAX_NEWTON

    def _solve_dual(self, y: np.ndarray) -> Solution:
        """Solve the dual for a sum of k hinges, with c = Σ_k s·a: k·l variables in a box.

        Melacci & Belkin (2011), eq. (6), and Chen et al. (2012), eq. (7).
        """
        signs, offsets = self.loss.hinges(y)
        k, s = len(signs), signs.ravel()
        Q = np.tile(self.R, (k, k)) * s * s[:, None]
        upper = np.tile(self.weights / (2.0 * self.reg_ambient), k)
        q = None if self.t is None else s * np.tile(self.t, k)
        a, b = solve_box_qp(Q, offsets.ravel(), upper, q, self.sigma)
        return (signs * a.reshape(signs.shape)).sum(axis=0), b, 1


def label_problem(
    risk: RegularizedRisk, R: np.ndarray, t: np.ndarray, sigma: float
) -> LabelProblem:
    """Return the label problem of a risk for a given reduced kernel and intercept."""
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

    The first feature may be far larger than the others (it is hardly penalised). It is treated as
    an intercept, so that the quadratic program does not lose digits of the others.
    """
    t, rest = features[:, 0], features[:, 1:]
    scale = float(np.abs(t).max()) or 1.0
    problem = LabelProblem(
        R=rest @ rest.T,
        t=t / scale,
        sigma=1.0 / scale**2,
        loss=Hinge(),
        targets=targets,
        weights=2.0 * weights,  # the objective of the label problem has a factor ½
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
