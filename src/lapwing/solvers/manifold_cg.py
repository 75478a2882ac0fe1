"""Conjugate directions for functions and for expansions, for n beyond the dense range.

Write fᵀSf = max over h of 2hᵀSf − hᵀSh. For given multipliers c of the labels the best function
values h and the best expansion α solve

    (K⁻¹ + μS) h = Jᵀc + b·K⁻¹1 ,        α = Jᵀc − μSh .

Where μKS is large the kernel hardly matters for h, and the Green's function of `graph_filter`
gives it almost at once; α is a small difference of large numbers and takes the iterations.
``benchmarks/mnist3vs8.py`` counts the products with K beside those of Algorithm 1 of the paper.

The multipliers are not known beforehand, so each iteration solves two l × l problems (`reduced`):

* from above: the *true* objective is minimised over the span of expansions {k(·, xᵢ) labelled,
  all earlier residuals r, and r − μSp with p the Green's function applied to r}. It falls
  monotonically, for every loss. r − μSp is what α lacks, up to the error of the Green's function;
* from below: with h in the span of the directions P, orthonormal in uᵀ(S + μSKS)v, the objective
  can only be too small. Its optimum over all c and b, with K_JJ − μ(KSP)_J(KSP)_Jᵀ as reduced
  kernel, is a lower bound that costs no product. P holds the directions p and the values f of the
  earlier solutions from above, whose images come with those of their residuals.

The difference of the two is the certificate; in floating point it means something down to about
1e-7 of the objective, and a lower bound that exceeds the objective by less counts as equal. Where
μ‖S‖‖K‖ is beyond 1e8 the images of the directions lose digits, and the lower bound has been seen a
few per cent above the optimum.

All classes share the directions, so that each pass over K serves them all. The first pass takes one
column per labelled row, so that the answers to all multipliers are known roughly before the search
for the right ones begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..operators import Operator
from ..risk import RegularizedRisk
from ..spaces import Function
from .driver import Step
from .graph_filter import GreenFunction
from .label_problem import LabelProblem, label_problem

#: Nyström columns of the Green's function.
N_LANDMARKS = 400
#: Most columns of the first pass, one per labelled row.
_BLOCK = 128
#: Columns up to which products with a basis are formed one by one.
_FEW = 4
#: Relative excess of the lower bound over the objective that rounding explains.
_CONTRADICTION = 1e-7
#: Share of the norm of K below which a direction is taken to lie in its null space.
_NULL = 1e-11
#: Directions whose squared remainder after orthogonalisation is below this share are dropped.
_DEPENDENT = 1e-11


def manifold_cg_bytes(n: int, n_labelled: int, n_columns: int, n_iter: int) -> int:
    """Return the memory of the vectors beyond K after ``n_iter`` iterations."""
    block = min(n_labelled, _BLOCK)
    directions = 10 * n_columns * n_iter + 5 * block
    return 8 * n * (directions + 5 * n_labelled + 6 * block + 3 * N_LANDMARKS)


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
        The problem, any loss; γ_I > 0.
    tol : float
        Content when the certified gap is below ``tol`` times the objective. Below 1e-7 each
        iteration takes a second product with K.
    rng : numpy.random.Generator
        For the Green's function.
    start : ndarray of shape (n, k), optional
        Expansion coefficients to include in the first subspace (a warm start).
    exact : Operator, optional
        K in double precision, for the last word where the products use a rounded K: convergence is
        said only if it holds for this one, too.
    """
    K, S, mu, labelled = risk.gram, risk.smoothness, risk.ratio, risk.labelled
    n, l = risk.n_rows, len(labelled)
    rounding = risk.rounding
    K_labelled = K.columns(labelled)
    green = GreenFunction(K, S, mu, N_LANDMARKS, rng)
    expansions = _EnergyBasis(risk)
    directions = _ManifoldBasis(risk, K_labelled)
    units = np.zeros((n, l))
    units[labelled, np.arange(l)] = 1.0
    expansions.extend(units, K_labelled)
    if start is not None:
        expansions.extend(start, K @ start)
    mix = np.eye(l) if l <= _BLOCK else rng.standard_normal((l, _BLOCK))
    mixed, K_mixed = units @ mix, K_labelled @ mix
    p = green(mixed)
    Sp = S @ p
    new = mixed - mu * Sp
    K_new = K @ new
    directions.extend(p, Sp, (K_mixed - K_new) / mu)
    expansions.extend(new, K_new)

    c: np.ndarray | None = None
    best: tuple[float, np.ndarray, Function] | None = None
    iteration, lower, complete = 0, 0.0, False
    while True:
        problem = expansions.reduced()
        c, b, _ = problem.solve(c)
        alpha, h = expansions.solution(c, b)
        f = Function(risk.space.coef_of(alpha), b, h + b, S @ (h + b))
        found = f
        if tol < _CONTRADICTION:  # the basis drifts from its images, and h is not that exact
            values = K @ alpha + b
            found = Function(f.coef, b, values, S @ values)
        objective = float(risk.objective(found).sum())
        # Near the end rounding may undo what little is gained.
        if best is None or objective <= best[0]:
            best = objective, alpha, found
        objective, expansion, solution = best
        bound = directions.lower_bound()
        # A bound above the objective says that the directions have lost their orthogonality.
        exhausted = bound > objective * (1.0 + _CONTRADICTION)
        lower = lower if exhausted else max(lower, min(bound, objective))
        iteration += 1
        # A constant that fits all labels is optimal: no multipliers, and no loss but rounding.
        trivial = objective <= rounding or not c.any()
        finished = exhausted or complete or trivial or objective - lower <= tol * objective
        if finished:  # the last word is only of values computed afresh
            values = (K if exact is None else exact) @ expansion + solution.intercept
            solution = Function(solution.coef, solution.intercept, values, S @ values)
            objective = float(risk.objective(solution).sum())
        gap = abs(objective - lower)
        converged = trivial or gap <= tol * objective
        # The lower bound is one for K as it is stored, and says nothing of another K.
        rounded = finished and exact is not None and not converged
        yield Step(
            iteration=iteration,
            function=solution,
            objective=objective,
            gap=None if rounded else gap,
            passes=K.passes + (0 if exact is None else exact.passes),
            converged=converged,
            leave_one_out=partial(problem.leave_one_out, c, solution.values[labelled]),
        )
        if exhausted or complete or rounded:
            return
        residual = -alpha - mu * f.S_values  # minus the gradient over γ_A
        residual[labelled] += c
        p = green(residual)
        Sp = S @ p
        new = np.hstack([residual, residual - mu * Sp])
        K_new = K @ new  # the one pass of the iteration
        K_residual, K_rest = np.hsplit(K_new, 2)
        # The residual says what μSf is, and so its image what μKSf is.
        K_Sf = (K_labelled @ c - (f.values - b) - K_residual) / mu
        grown = directions.extend(
            np.hstack([p, f.values]),
            np.hstack([Sp, f.S_values]),
            np.hstack([(K_residual - K_rest) / mu, K_Sf]),
        )
        # Nothing new for either span: both are complete, up to rounding.
        complete = not expansions.extend(new, K_new) and not grown


class _Columns:
    """A block of columns that grows; contiguous by column."""

    def __init__(self, n: int) -> None:
        self._store = np.empty((n, 0), order="F")
        self._used = 0

    def append(self, block: np.ndarray) -> None:
        needed = self._used + block.shape[1]
        if needed > self._store.shape[1]:
            grown = np.empty((self._store.shape[0], max(needed, needed * 3 // 2)), order="F")
            grown[:, : self._used] = self._store[:, : self._used]
            self._store = grown
        self._store[:, self._used : needed] = block
        self._used = needed

    @property
    def array(self) -> np.ndarray:
        return self._store[:, : self._used]


class _EnergyBasis:
    """Expansions V, orthonormal in the energy αᵀKα + μfᵀSf, f = Kα; and their values KV.

    Kept besides: the values on the labelled rows (KV)_J, and the intercept's intercept_row μ·1ᵀSKV.
    """

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        n = risk.n_rows
        self._V, self._KV = _Columns(n), _Columns(n)
        self._on_labelled, self._intercept_row = _Columns(len(risk.labelled)), _Columns(1)
        self._S_ones = risk.smoothness @ np.ones(n) if risk.fit_intercept else np.zeros(n)
        self._stretch = 0.0  # largest ‖KD‖/‖D‖ seen

    def extend(self, D: np.ndarray, KD: np.ndarray) -> bool:
        """Add directions, orthonormal to the basis and each other; return whether any was new."""
        S, mu = self.risk.smoothness, self.risk.ratio
        V, KV = self._V.array, self._KV.array
        real = self._is_function(D, KD)
        D, KD = D[:, real], KD[:, real]
        S_KD = S @ KD
        norms = np.sqrt(np.maximum((KD * (D + mu * S_KD)).sum(axis=0), 1e-300))
        D, KD, S_KD = D / norms, KD / norms, S_KD / norms
        for _ in range(2):  # twice is enough
            overlap = KV.T @ (D + mu * S_KD)
            D, KD = D - _times(V, overlap), KD - _times(KV, overlap)
            S_KD = S @ KD  # afresh: what is left of KD may be small
            real = self._is_function(D, KD)
            D, KD, S_KD = D[:, real], KD[:, real], S_KD[:, real]
            turn = _orthonormalizer(KD.T @ (D + mu * S_KD), np.ones(D.shape[1]))
            D, KD, S_KD = D @ turn, KD @ turn, S_KD @ turn
        self._V.append(D)
        self._KV.append(KD)
        self._on_labelled.append(KD[self.risk.labelled])
        self._intercept_row.append(mu * (self._S_ones @ KD)[None, :])
        return D.shape[1] > 0

    def _is_function(self, D: np.ndarray, KD: np.ndarray) -> np.ndarray:
        """Return which columns lie outside the null space of K; there KD is rounding."""
        lengths, images = np.linalg.norm(D, axis=0), np.linalg.norm(KD, axis=0)
        stretch = images / np.maximum(lengths, 1e-300)
        self._stretch = max(self._stretch, float(stretch.max(initial=0.0)))
        return stretch > _NULL * self._stretch

    def reduced(self) -> LabelProblem:
        """Return the l × l problem over the span."""
        values, intercept_row = self._on_labelled.array, self._intercept_row.array[0]
        sigma = self.risk.ratio * float(self._S_ones.sum()) - float(intercept_row @ intercept_row)
        return label_problem(self.risk, values @ values.T, 1.0 - values @ intercept_row, sigma)

    def solution(self, c: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the expansion that is best for multipliers c and intercept b, and its values."""
        z = self._on_labelled.array.T @ c - np.outer(self._intercept_row.array[0], b)
        return _times(self._V.array, z), _times(self._KV.array, z)


class _ManifoldBasis:
    """Directions P, orthonormal in uᵀ(S + μSKS)v, and the problem that bounds from below.

    Kept as SP, the images P + μKSP, on the labelled rows (KSP)_J, and the intercept's 1ᵀSP.
    """

    def __init__(self, risk: RegularizedRisk, K_labelled: np.ndarray) -> None:
        self.risk = risk
        self._K = K_labelled[risk.labelled]
        self._SP, self._images = _Columns(risk.n_rows), _Columns(risk.n_rows)
        self._on_labelled, self._intercept_row = _Columns(len(risk.labelled)), _Columns(1)

    def extend(self, p: np.ndarray, Sp: np.ndarray, K_Sp: np.ndarray) -> bool:
        """Add directions, given with their images; return whether any was new."""
        SP, P_images, on_labelled = self._SP.array, self._images.array, self._on_labelled.array
        # Only what S sees of p matters; the rest would be blown up by the scaling.
        p = self.risk.smoothness.without_null_space(p)
        size = np.sqrt(np.maximum((p * Sp).sum(axis=0), 1e-300))
        Sp, images = Sp / size, (p + self.risk.ratio * K_Sp) / size
        values = K_Sp[self.risk.labelled] / size
        before = (Sp * images).sum(axis=0)
        for _ in range(2):  # twice is enough
            overlap = SP.T @ images
            Sp, images = Sp - _times(SP, overlap), images - _times(P_images, overlap)
            values = values - on_labelled @ overlap
        turn = _orthonormalizer(Sp.T @ images, before)
        Sp, images, values = Sp @ turn, images @ turn, values @ turn
        self._SP.append(Sp)
        self._images.append(images)
        self._on_labelled.append(values)
        self._intercept_row.append(Sp.sum(axis=0, keepdims=True))
        return Sp.shape[1] > 0

    def lower_bound(self) -> float:
        """Return a lower bound of the optimum, summed over the columns; see the module."""
        mu, B, v = self.risk.ratio, self._on_labelled.array, self._intercept_row.array[0]
        problem = label_problem(
            self.risk, self._K - mu * (B @ B.T), 1.0 - mu * (B @ v), mu * float(v @ v)
        )
        return float(problem.lower_bound(*problem.solve()[:2]).sum())


def _times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A @ B; where B has few columns, one by one, for which BLAS need not copy A."""
    if not 0 < B.shape[1] <= _FEW:
        return A @ B
    return np.array([A @ column for column in B.T]).T


def _orthonormalizer(gram: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return T with Tᵀ·gram·T = I; dependent directions are dropped.

    ``before`` are the squared lengths before orthogonalisation: what is left of a direction that
    was in the span already is rounding.
    """
    squares = np.diag(gram)
    new = np.flatnonzero(squares > _DEPENDENT * np.maximum(before, 1e-300))
    turn = np.zeros((len(gram), len(new)))
    turn[new, np.arange(len(new))] = 1.0 / np.sqrt(squares[new])
    values, vectors = np.linalg.eigh(turn.T @ ((gram + gram.T) / 2.0) @ turn)
    keep = values > _DEPENDENT
    return turn @ (vectors[:, keep] / np.sqrt(values[keep]))
