"""Conjugate directions in the inner product of the manifold, for n beyond the dense range.

Write fᵀSf = max over h of 2hᵀSf − hᵀSh. For given multipliers c of the labels the best function
values h solve

    (I + μKS) h = K Jᵀc + b·1 ,        α = Jᵀc − μSh ,

a system that is symmetric in the inner product uᵀSv. In this inner product, unlike in the kernel's,
filters of the graph are symmetric too, so the preconditioner of `graph_filter` is a good one.
``benchmarks/mnist3vs8.py`` counts the products with K beside those of Algorithm 1 of the paper.

The multipliers are not known beforehand, so each iteration solves two l × l problems (`reduced`):

* from above: the *true* objective is minimised over the span of expansions {k(·, xᵢ) labelled,
  Sp for all directions p, all earlier residuals}. It falls monotonically, for every loss. Its
  multipliers c give the right-hand side, and what the directions leave of it, filtered, is the
  next direction;
* from below: with h in the span of the directions P, orthonormal in uᵀ(S + μSKS)v, the objective
  can only be too small. Its optimum over all c and b, with K_JJ − μ(KSP)_J(KSP)_Jᵀ as reduced
  kernel, is a lower bound that costs no product.

The difference of the two is the certificate; in floating point it means something down to about
1e-7 of the objective, and a lower bound that exceeds the objective by less counts as equal. All
classes share the directions, so that each pass over K serves them all. The first passes take one
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
from .graph_filter import ManifoldPreconditioner
from .reduced import ReducedProblem, reduced_problem

#: Nyström columns of the preconditioner.
N_LANDMARKS = 200
#: Passes that take one column per labelled row (at most _BLOCK) before the search begins.
_BLOCK_PASSES = 2
_BLOCK = 128
#: Relative excess of the lower bound over the objective that rounding explains.
_CONTRADICTION = 1e-7
#: Share of the norm of K below which a direction is taken to lie in its null space.
_NULL = 1e-11
#: Directions whose squared remainder after orthogonalisation is below this share are dropped.
_DEPENDENT = 1e-11


def manifold_cg_bytes(n: int, n_labelled: int, n_columns: int, n_iter: int) -> int:
    """Return the memory of the vectors beyond K after ``n_iter`` iterations."""
    block = min(n_labelled, _BLOCK)
    directions = 8 * n_columns * n_iter + 5 * _BLOCK_PASSES * block
    return 8 * n * (directions + 5 * n_labelled + 6 * block + 2 * N_LANDMARKS)


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
        Content when the certified gap is below ``tol`` times the objective.
    rng : numpy.random.Generator
        For the preconditioner.
    start : ndarray of shape (n, k), optional
        Expansion coefficients to include in the first subspace (a warm start).
    exact : Operator, optional
        K in double precision, for the last word where the products use a rounded K: convergence is
        said only if it holds for this one, too.
    """
    K, S, mu, labelled = risk.gram, risk.smoothness, risk.ratio, risk.labelled
    n, l = risk.n_rows, len(labelled)
    K_labelled = K.columns(labelled)
    precondition = ManifoldPreconditioner(K, S, mu, N_LANDMARKS, rng)
    expansions = _EnergyBasis(risk)
    directions = _ManifoldBasis(risk, K_labelled)
    units = np.zeros((n, l))
    units[labelled, np.arange(l)] = 1.0
    expansions.extend(units, K_labelled)
    if start is not None:
        expansions.extend(start, K @ start)
    mixed = K_labelled if l <= _BLOCK else K_labelled @ rng.standard_normal((l, _BLOCK))
    for _ in range(_BLOCK_PASSES):
        p = precondition(directions.residual(mixed))
        Sp, K_Sp = directions.extend(p, K)
        expansions.extend(Sp, K_Sp)

    c: np.ndarray | None = None
    ones_rough = S @ np.ones(n) if risk.fit_intercept else np.zeros(n)
    iteration, lower, complete = 0, -np.inf, False
    while True:
        problem, pull = expansions.reduced(ones_rough)
        c, b, _ = problem.solve(c)
        z = expansions.KV[labelled].T @ c - np.outer(pull, b)
        alpha, h = expansions.V @ z, expansions.KV @ z
        f = Function(risk.space.coef_of(alpha), b, h + b, S @ (h + b))
        objective = float(risk.objective(f).sum())
        bound = directions.lower_bound()
        # A bound above the objective says that the directions have lost their orthogonality.
        exhausted = bound > objective * (1.0 + _CONTRADICTION)
        lower = lower if exhausted else max(lower, min(bound, objective))
        iteration += 1
        finished = exhausted or complete or objective - lower <= tol * objective
        if finished:  # the last word is only of values computed afresh
            values = (K if exact is None else exact) @ alpha + b
            f = Function(f.coef, b, values, S @ values)
            objective = float(risk.objective(f).sum())
        gap = abs(objective - lower)
        converged = gap <= tol * objective
        # The lower bound is one for K as it is stored, and says nothing of another K.
        rounded = finished and exact is not None and not converged
        yield Step(
            iteration=iteration,
            function=f,
            objective=objective,
            gap=None if rounded else gap,
            passes=K.passes + (0 if exact is None else exact.passes),
            converged=converged,
            leave_one_out=partial(problem.leave_one_out, c, f.values[labelled]),
        )
        if exhausted or complete or rounded:
            return
        residual = -alpha - mu * f.rough  # minus the gradient over γ_A
        residual[labelled] += c
        p = precondition(directions.residual(K_labelled @ c + b))
        size = directions.size
        new, K_new = directions.extend(p, K, beside=residual)  # the one pass of the iteration
        # Nothing new for either span: both are complete, up to rounding.
        complete = not expansions.extend(new, K_new) and directions.size == size


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
    """Expansions V, orthonormal in the energy αᵀKα + μfᵀSf, f = Kα; their values KV, and SKV."""

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        n = risk.n_rows
        self._V, self._KV, self._SKV = _Columns(n), _Columns(n), _Columns(n)
        self._stretch = 0.0  # largest ‖KD‖/‖D‖ seen

    @property
    def V(self) -> np.ndarray:
        return self._V.array

    @property
    def KV(self) -> np.ndarray:
        return self._KV.array

    def extend(self, D: np.ndarray, KD: np.ndarray) -> bool:
        """Add directions, orthonormal to the basis and each other; return whether any was new."""
        S, mu = self.risk.smoothness, self.risk.ratio
        real = self._is_function(D, KD)
        D, KD = D[:, real], KD[:, real]
        S_KD = S @ KD
        norms = np.sqrt(np.maximum((D * KD + mu * KD * S_KD).sum(axis=0), 1e-300))
        D, KD, S_KD = D / norms, KD / norms, S_KD / norms
        for _ in range(2):  # twice is enough
            overlap = self.KV.T @ (D + mu * S_KD)
            D, KD = D - self.V @ overlap, KD - self.KV @ overlap
            S_KD -= self._SKV.array @ overlap
        real = self._is_function(D, KD)
        D, KD, S_KD = D[:, real], KD[:, real], S_KD[:, real]
        turn = _orthonormalizer(D.T @ KD + mu * (KD.T @ S_KD), np.ones(D.shape[1]))
        for columns, block in ((self._V, D), (self._KV, KD), (self._SKV, S_KD)):
            columns.append(block @ turn)
        return turn.shape[1] > 0

    def _is_function(self, D: np.ndarray, KD: np.ndarray) -> np.ndarray:
        """Return which columns lie outside the null space of K; there KD is rounding."""
        lengths, images = np.linalg.norm(D, axis=0), np.linalg.norm(KD, axis=0)
        stretch = images / np.maximum(lengths, 1e-300)
        self._stretch = max(self._stretch, float(stretch.max(initial=0.0)))
        return stretch > _NULL * self._stretch

    def reduced(self, ones_rough: np.ndarray) -> tuple[ReducedProblem, np.ndarray]:
        """Return the l × l problem over the span, and the intercept's pull on the basis."""
        risk = self.risk
        mu = risk.ratio
        values = self.KV[risk.labelled]
        pull = mu * (self.KV.T @ ones_rough)
        problem = reduced_problem(
            risk,
            values @ values.T,
            1.0 - values @ pull,
            mu * float(ones_rough.sum()) - float(pull @ pull),
        )
        return problem, pull


class _ManifoldBasis:
    """Directions P, orthonormal in uᵀ(S + μSKS)v, and the problem that bounds from below.

    Kept as SP, the images P + μKSP, and on the labelled rows (KSP)_J.
    """

    def __init__(self, risk: RegularizedRisk, K_labelled: np.ndarray) -> None:
        self.risk = risk
        self._K = K_labelled[risk.labelled]
        self._SP, self._images = _Columns(risk.n_rows), _Columns(risk.n_rows)
        self._on_labelled = _Columns(len(risk.labelled))

    @property
    def size(self) -> int:
        """Number of directions."""
        return self._SP.array.shape[1]

    def residual(self, rhs: np.ndarray) -> np.ndarray:
        """Return rhs − (I + μKS)h for the h in the span that is best for it."""
        return rhs - self._images.array @ (self._SP.array.T @ rhs)

    def extend(
        self, p: np.ndarray, K: Operator, beside: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add directions; return [Sp, beside] and K times them. Cost: one product with K."""
        # Only what S sees of p matters; the rest would be blown up by the scaling.
        S = self.risk.smoothness
        p = S.without_null_space(p)
        Sp = S @ p
        size = np.sqrt(np.maximum((p * Sp).sum(axis=0), 1e-300))
        p, Sp = p / size, Sp / size
        block = Sp if beside is None else np.hstack([Sp, beside])
        K_block = K @ block
        K_Sp = K_block[:, : p.shape[1]]
        images, on_labelled = p + self.risk.ratio * K_Sp, K_Sp[self.risk.labelled]
        before = (Sp * images).sum(axis=0)
        for _ in range(2):  # twice is enough
            overlap = self._SP.array.T @ images
            Sp, images = Sp - self._SP.array @ overlap, images - self._images.array @ overlap
            on_labelled = on_labelled - self._on_labelled.array @ overlap
        turn = _orthonormalizer(Sp.T @ images, before)
        self._SP.append(Sp @ turn)
        self._images.append(images @ turn)
        self._on_labelled.append(on_labelled @ turn)
        return block, K_block

    def lower_bound(self) -> float:
        """Return a lower bound of the optimum, summed over the columns; see the module."""
        mu, B = self.risk.ratio, self._on_labelled.array
        pull = self._SP.array.sum(axis=0)  # PᵀS1
        problem = reduced_problem(
            self.risk, self._K - mu * (B @ B.T), 1.0 - mu * (B @ pull), mu * float(pull @ pull)
        )
        return float(problem.lower_bound(*problem.solve()[:2]).sum())


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
