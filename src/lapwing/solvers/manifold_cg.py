"""Conjugate directions for functions and for expansions, for more rows than a dense matrix allows.

Write fᵀSf = max over h of 2hᵀSf − hᵀSh. For given dual coefficients c of the labels the optimal
function values h and the optimal expansion α solve

    (K⁻¹ + μS) h = Jᵀc + b·K⁻¹1 ,        α = Jᵀc − μSh .

Where μKS is large the kernel hardly matters for h, and the Green's function of `graph_filter` is
nearly exact; α is a small difference of large numbers and takes the iterations.
``benchmarks/mnist3vs8.py`` counts the products with K beside those of Algorithm 1 of the paper.

The dual coefficients are not known in advance, so each iteration solves two label problems over
subspaces that grow (`subspaces`):

* An upper bound. The *true* objective is minimised over the span of expansions {k(·, xᵢ) labelled,
  all earlier residuals r, and r − μSp with p the Green's function applied to r}. It decreases
  monotonically, for every loss. r − μSp is the error of α, up to that of the Green's function.
* A lower bound. With h restricted to the span of the directions P, orthonormal in uᵀ(S + μSKS)v,
  the objective can only be too small. Its optimum over all c and b, with the reduced kernel
  K_JJ − μ(KSP)_J(KSP)_Jᵀ, is a lower bound that costs no product. P holds the directions p and the
  values f of the earlier minimisers, whose images come with those of their residuals.

On the way the distance of the two bounds is estimated from the images of the basis, as the sum of
squares of `certificate`. Before convergence is reported, and for the last step, it is computed anew
for the exact K and with a bound of its rounding error.

All columns share the directions, so that each pass over K serves them all. The first pass takes one
column per labelled row, so that the answers to all dual coefficients are known roughly before the
search for the optimal ones begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..operators.base import Operator
from ..risk import RegularizedRisk
from ..spaces.function import Function
from .certificate import certify, certify_in_one_pass
from .driver import Step
from .graph_filter import GreenFunction
from .label_problem import LabelProblem
from .subspaces import EnergyBasis, LowerBound, ManifoldBasis

#: Nyström columns of the Green's function.
N_LANDMARKS = 400
#: Largest number of columns of the first pass, one per labelled row.
_BLOCK = 128
#: Relative excess of the lower bound over the objective that rounding explains, and tolerance below
#: which values are computed anew in every iteration.
_CONTRADICTION = 1e-7


def manifold_cg_bytes(n: int, n_labelled: int, n_columns: int, n_iter: int) -> int:
    """Return the memory of the vectors, beside K, after ``n_iter`` iterations."""
    block = min(n_labelled, _BLOCK)
    directions = 10 * n_columns * n_iter + 5 * block
    certificate = 32 * n_columns
    return 8 * n * (directions + 5 * n_labelled + 6 * block + 3 * N_LANDMARKS + certificate)


def manifold_cg(
    risk: RegularizedRisk,
    *,
    tol: float = 1e-3,
    rng: np.random.Generator,
    start: np.ndarray | None = None,
    exact: Operator | None = None,
) -> Iterator[Step]:
    """Yield minimisers over growing subspaces. Cost: one product with K an iteration.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem, with any convex loss and γ_I > 0.
    tol : float
        The stopping criterion is a certified gap of at most ``tol`` times the objective. Below 1e-7
        each iteration takes a second product with K.
    rng : numpy.random.Generator
        For the Green's function.
    start : ndarray of shape (n, k), optional
        Expansion coefficients to include in the first subspace (a warm start).
    exact : Operator, optional
        K in double precision, where the products use a rounded K. Convergence is reported only if
        it holds for the exact K, too.
    """
    K, S = risk.gram, risk.smoothness
    rounding, target = risk.rounding, tol
    spans = _GrowingSpans(risk, rng, start)
    c: np.ndarray | None = None
    best: tuple[float, np.ndarray, Function] | None = None
    iteration, lower, complete = 0, 0.0, False
    while True:
        minimum = spans.minimise(c)
        c, candidate = minimum.c, minimum.function
        if tol < _CONTRADICTION:  # the values of the basis are not accurate enough
            candidate = _with_values(candidate, K @ minimum.expansion, S)
        objective = float(risk.objective(candidate).sum())
        # Near the optimum rounding may exceed the decrease: keep the best so far.
        if best is None or objective <= best[0]:
            best = objective, minimum.expansion, candidate
        objective, expansion, solution = best
        bound = spans.directions.lower_bound()
        # A bound above the objective means that the directions have lost their orthogonality.
        exhausted = bound.value > objective * (1.0 + _CONTRADICTION)
        lower = max(lower, objective - spans.distance(bound, expansion, solution))
        iteration += 1
        # An intercept that fits all labels is optimal: c is zero, or the loss is zero to rounding.
        trivial = objective <= rounding or not c.any()
        finished = exhausted or complete or trivial or objective - lower <= target * objective
        step = Step(
            iteration=iteration,
            function=solution,
            objective=objective,
            gap=None,
            passes=K.passes + (0 if exact is None else exact.passes),
            converged=trivial,
            leave_one_out=partial(minimum.problem.leave_one_out, c, solution.values[risk.labelled]),
            estimated_gap=objective - lower,
        )
        certified = partial(_certified, risk, step, (c, bound), tol, exact)
        step = certified() if finished else replace(step, certified=certified)
        if finished:  # the decision is made with values that are computed anew
            # The images of the basis have lost their digits if they gave another objective.
            lost = abs(step.objective - objective) > _CONTRADICTION * objective
            exhausted = exhausted or (lost and exact is None)
            target *= 0.5
        yield step
        # What a rounded K does not converge to is not improved by more of its products.
        if exhausted or complete or (finished and exact is not None and not step.converged):
            return
        complete = not spans.extend(minimum)


def _certified(
    risk: RegularizedRisk,
    step: Step,
    duals: tuple[np.ndarray, LowerBound],
    tol: float,
    exact: Operator | None,
) -> Step:
    """Return a step with values and objective of the exact K, and a gap that holds for it.

    Lower bounds come from both spans: near the optimum that of the function itself may be better.
    Where the rounding of a plain product shows, all is computed in twice double precision.
    """
    c, bound = duals
    f, gram = step.function, risk.gram if exact is None else exact
    g, g_of_f = -risk.reg_ambient * bound.c, -risk.reg_ambient * c
    gap, is_precise = np.inf, False
    if risk.space.features is None:
        found = certify_in_one_pass(risk, f, [(g, bound.p), (g_of_f, f.values)], gram)
        gap = found.gap
        # The estimate may have lost its digits as well.
        is_precise = found.rounding <= 0.5 * gap <= (step.estimated_gap or 0.0)
    if gap > tol * step.objective and not is_precise:
        found = certify(risk, f, g, p=bound.p, gram=gram)
        gap = found.gap
        if gap > tol * found.objective:
            gap = min(gap, certify(risk, f, g_of_f, p=f.values, gram=gram).gap)
    return replace(
        step,
        function=found.function,
        objective=found.objective,
        gap=gap,
        passes=risk.gram.passes + (0 if exact is None else exact.passes),
        converged=step.converged or gap <= tol * found.objective,
        certified=None,
    )


@dataclass(frozen=True)
class _Minimum:
    """The minimiser over the span of expansions, with the label problem that gave it."""

    problem: LabelProblem
    c: np.ndarray
    expansion: np.ndarray
    function: Function


class _GrowingSpans:
    """Both subspaces: `expansions` for the upper bound and `directions` for the lower bound."""

    def __init__(
        self, risk: RegularizedRisk, rng: np.random.Generator, start: np.ndarray | None
    ) -> None:
        K, S, mu, labelled = risk.gram, risk.smoothness, risk.ratio, risk.labelled
        n, l = risk.n_rows, len(labelled)
        self.risk = risk
        self._K_labelled = K.columns(labelled)
        self._green = GreenFunction(K, S, mu, N_LANDMARKS, rng)
        self.expansions = EnergyBasis(risk)
        self.directions = ManifoldBasis(risk, self._K_labelled)
        units = np.zeros((n, l))
        units[labelled, np.arange(l)] = 1.0
        self.expansions.extend(units, self._K_labelled)
        if start is not None:
            self.expansions.extend(start, K @ start)
        # The first pass: residuals of unit dual coefficients, or of random mixtures of them.
        mix = np.eye(l) if l <= _BLOCK else rng.standard_normal((l, _BLOCK))
        residual, K_residual = units @ mix, self._K_labelled @ mix
        p = self._green(residual)
        Sp = S @ p
        new = residual - mu * Sp
        K_new = K @ new
        self.directions.extend(p, Sp, (K_residual - K_new) / mu)
        self.expansions.extend(new, K_new)

    def minimise(self, c: np.ndarray | None) -> _Minimum:
        """Return the minimiser of the objective over the expansions; c is a guess."""
        risk, problem = self.risk, self.expansions.label_problem()
        c, b, _ = problem.solve(c)
        alpha, h = self.expansions.solution(c, b)
        function = Function(risk.space.coef_of(alpha), b, h + b, risk.smoothness @ (h + b))
        return _Minimum(problem, c, alpha, function)

    def distance(self, bound: LowerBound, expansion: np.ndarray, f: Function) -> float:
        """Return the distance of the objective of f from a lower bound, without a product.

        It is the sum of squares of `certificate`, from the images of the basis and their rounding.
        """
        risk, weights = self.risk, 0.5 * self.risk.weights[:, None]
        g = risk.loss.feasible(-risk.reg_ambient * bound.c, risk.targets, weights)
        error = expansion + risk.ratio * bound.Sp
        error[risk.labelled] += g / risk.reg_ambient
        K_error = f.values - f.intercept + (bound.image - bound.p)
        K_error += self._K_labelled @ (g / risk.reg_ambient)
        apart = risk.smoothness.without_null_space(f.values - bound.p) * (f.S_values - bound.Sp)
        slack = risk.loss.slack(f.values[risk.labelled], risk.targets, weights, g)
        squares = risk.reg_ambient * np.maximum((error * K_error).sum(axis=0), 0.0)
        squares += risk.reg_manifold * np.maximum(apart.sum(axis=0), 0.0)
        return float((0.5 * squares + np.maximum(slack.sum(axis=0), 0.0)).sum())

    def extend(self, minimum: _Minimum) -> bool:
        """Extend both spans by one pass over K; return whether anything was new."""
        risk, f, c = self.risk, minimum.function, minimum.c
        K, S, mu = risk.gram, risk.smoothness, risk.ratio
        residual = -minimum.expansion - mu * f.S_values  # minus the gradient over γ_A
        residual[risk.labelled] += c
        p = self._green(residual)
        Sp = S @ p
        new = np.hstack([residual, residual - mu * Sp])
        K_new = K @ new  # the one pass of the iteration
        K_residual, K_rest = np.hsplit(K_new, 2)
        # μSf follows from the residual, and so its image μKSf from that of the residual.
        K_Sf = (self._K_labelled @ c - (f.values - f.intercept) - K_residual) / mu
        grown = self.directions.extend(
            np.hstack([p, f.values]),
            np.hstack([Sp, f.S_values]),
            np.hstack([(K_residual - K_rest) / mu, K_Sf]),
        )
        # If nothing is new in either span, both are complete up to rounding.
        return self.expansions.extend(new, K_new) or grown


def _with_values(f: Function, h: np.ndarray, S: Operator) -> Function:
    """Return the function with its values without intercept replaced by h."""
    values = h + f.intercept
    return Function(f.coef, f.intercept, values, S @ values)
