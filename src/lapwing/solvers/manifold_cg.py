"""Conjugate directions in the inner product of the manifold, for n beyond the dense range.

At the optimum α = Jᵀc − μSF with F = h(X) + b, c = −g/γ_A, so the function values solve

    (I + μKS) F = K Jᵀc + b·1 ,

a system that is symmetric in the inner product uᵀSv. In this inner product, unlike in the kernel's,
filters of the graph are symmetric too, so the preconditioner of `graph_filter` is a good one:
conjugate gradient converges in some tens of products with K, where the K-preconditioned gradient
of the primal problem needs thousands.

With D the curvature of the loss on the labelled rows, c = D(y − F_J)/γ_A, the labels are part of the
same system: S + JᵀDJ/γ_I takes the place of S. An intercept is a constant added to the kernel.

D changes with the error vectors, so every direction p also extends a basis of expansions
{k(·, xᵢ) labelled, Sp₁, Sp₂, …} over whose span the *true* objective is minimised in each
iteration, an l × l problem (`reduced`) that says which rows are error vectors now. The objective
falls monotonically for every loss, and each pass over K serves all classes.

Certificate. For the residual r = Jᵀc − α − μSf of an iterate and any function values h,
objective − optimum ≤ (γ_A/2)(r₁ᵀKr₁ + μhᵀSh), r₁ = r − μSh. With h taken from the span of the
directions, orthonormal in uᵀ(S + μSKS)v, the best bound is (γ_A/2)(rᵀKr − μ‖PᵀSKr‖²): it tightens
for an iterate already passed while later directions come in, and bounds the optimum from below.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..risk import RegularizedRisk
from ..spaces import Function
from .driver import Step
from .graph_filter import ManifoldPreconditioner
from .reduced import ReducedProblem

#: Nyström columns of the preconditioner.
N_LANDMARKS = 400
#: Constant added to the kernel for the intercept, in units of its mean diagonal.
_INTERCEPT_KERNEL = 1e3
#: Residuals kept for the certificate.
_KEPT_RESIDUALS = 12
#: Directions whose remainder after orthogonalisation is below this share are dropped.
_DEPENDENT = 1e-12


def manifold_cg_bytes(n: int, n_labelled: int, n_columns: int, n_iter: int) -> int:
    """Return the memory of the vectors beyond K after ``n_iter`` iterations."""
    directions = 6 * n_columns * n_iter + _KEPT_RESIDUALS * n_columns
    return 8 * n * (directions + 4 * n_labelled + 2 * N_LANDMARKS)


def manifold_cg(
    risk: RegularizedRisk,
    *,
    tol: float = 1e-3,
    rng: np.random.Generator,
    start: np.ndarray | None = None,
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
    """
    K, S, mu, labelled = risk.gram, risk.smoothness, risk.ratio, risk.labelled
    n, l = risk.n_rows, len(labelled)
    K_labelled = K.columns(labelled)
    constant = _INTERCEPT_KERNEL * float(np.trace(K_labelled[labelled])) / l
    constant = constant if risk.fit_intercept else 0.0
    precondition = ManifoldPreconditioner(K, S, mu, N_LANDMARKS, constant, rng)
    ones_rough = S @ np.ones(n) if risk.fit_intercept else np.zeros(n)
    expansions = _EnergyBasis(risk)
    units = np.zeros((n, l))
    units[labelled, np.arange(l)] = 1.0
    expansions.extend(units, K_labelled)
    if start is not None:
        expansions.extend(start, K @ start)
    directions = _LabelledSystem(risk, K_labelled, constant, precondition)
    bound = _LowerBound(risk)
    c: np.ndarray | None = None
    iteration = 0
    while True:
        # Minimise the true objective over the span of the expansions.
        problem, pull = expansions.reduced(ones_rough)
        c, b, _ = problem.solve(c)
        z = expansions.KV[labelled].T @ c - np.outer(pull, b)
        alpha, h = expansions.V @ z, expansions.KV @ z
        f = Function(alpha, b, h + b, S @ (h + b))
        objective = _objective(risk, f, alpha, h)
        if iteration:
            total, gap = float(objective.sum()), bound.gap(objective)
            yield Step(
                iteration=iteration,
                function=Function(risk.space.coef_of(alpha), b, f.values, f.rough),
                objective=total,
                gap=gap,
                passes=K.passes,
                converged=gap <= tol * total,
                leave_one_out=partial(problem.leave_one_out, c, f.values[labelled]),
            )
        iteration += 1
        p = directions.next(f, c)
        residual = -alpha - mu * f.rough
        residual[labelled] += c
        Sp = S @ p
        products = K @ np.hstack([Sp, residual])  # the one pass of the iteration
        K_Sp, K_residual = products[:, : p.shape[1]], products[:, p.shape[1] :]
        expansions.extend(Sp, K_Sp)
        expansions.extend(residual, K_residual)
        bound.add(objective, residual, K_residual, directions.SP)
        bound.tighten(directions.extend(p, Sp, K_Sp))


def _objective(
    risk: RegularizedRisk, f: Function, alpha: np.ndarray, h: np.ndarray
) -> np.ndarray:
    loss = risk.weights @ risk.loss.value(f.values[risk.labelled], risk.targets)
    ambient, manifold = (alpha * h).sum(axis=0), (f.values * f.rough).sum(axis=0)
    return 0.5 * (loss + risk.reg_ambient * ambient + risk.reg_manifold * manifold)


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
    """Expansions V, orthonormal in the energy αᵀKα + μfᵀSf, f = Kα, and their values KV."""

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        self._V, self._KV = _Columns(risk.n_rows), _Columns(risk.n_rows)

    @property
    def V(self) -> np.ndarray:
        return self._V.array

    @property
    def KV(self) -> np.ndarray:
        return self._KV.array

    def extend(self, D: np.ndarray, KD: np.ndarray) -> None:
        """Add directions, made orthonormal to the basis and to each other."""
        S, mu = self.risk.smoothness, self.risk.ratio
        norms = np.sqrt(np.maximum((D * KD + mu * KD * (S @ KD)).sum(axis=0), 1e-300))
        D, KD = D / norms, KD / norms
        for _ in range(2):  # twice is enough
            overlap = self.KV.T @ (D + mu * (S @ KD))
            D, KD = D - self.V @ overlap, KD - self.KV @ overlap
        turn = _orthonormalizer(D.T @ KD + mu * (KD.T @ (S @ KD)))
        self._V.append(D @ turn)
        self._KV.append(KD @ turn)

    def reduced(self, ones_rough: np.ndarray) -> tuple[ReducedProblem, np.ndarray]:
        """Return the l × l problem over the span, and the intercept's pull on the basis."""
        risk = self.risk
        mu = risk.ratio
        values = self.KV[risk.labelled]
        pull = mu * (self.KV.T @ ones_rough)
        problem = ReducedProblem(
            R=values @ values.T,
            t=1.0 - values @ pull if risk.fit_intercept else None,
            sigma=max(mu * float(ones_rough.sum()) - float(pull @ pull), 0.0),
            loss=risk.loss,
            targets=risk.targets,
            weights=risk.weights,
            reg_ambient=risk.reg_ambient,
        )
        return problem, pull


class _LabelledSystem:
    """The system of the values, labelled rows included, and its conjugate directions.

    Directions P are kept orthonormal in uᵀ(S + μSKS)v, which does not depend on the labels, as P on
    the labelled rows, SP, and the images Q = P + μKSP. The system restricted to their span is then
    small: μI plus terms of the labelled rows and of the intercept.
    """

    def __init__(
        self,
        risk: RegularizedRisk,
        K_labelled: np.ndarray,
        constant: float,
        precondition: ManifoldPreconditioner,
    ) -> None:
        self.risk = risk
        self.K_labelled = K_labelled
        self.constant = constant
        self.precondition = precondition
        self._response = precondition(K_labelled + constant)
        inner = self._response[risk.labelled]
        self._inner_response = (inner + inner.T) / 2.0
        n = risk.n_rows
        self._P, self._SP, self._Q = _Columns(n), _Columns(n), _Columns(n)

    @property
    def SP(self) -> np.ndarray:
        return self._SP.array

    def next(self, f: Function, c: np.ndarray) -> np.ndarray:
        """Return one preconditioned residual a column, scaled to unit length."""
        risk = self.risk
        curvature = risk.weights[:, None] * risk.loss.curvature(f.values[risk.labelled], risk.targets)
        stiffness = curvature / risk.reg_ambient
        rho = np.empty((risk.n_rows, risk.n_columns))
        for j in range(risk.n_columns):
            rho[:, j] = self._residual(stiffness[:, j], risk.targets[:, j], c[:, j])
        p = self.precondition(rho)
        for j in range(risk.n_columns):
            stiff = stiffness[:, j] > 0
            if stiff.any():  # Woodbury: the labelled rows on top of the graph and the kernel
                inner = self._inner_response[np.ix_(stiff, stiff)] + np.diag(
                    1.0 / stiffness[stiff, j]
                )
                answer = np.linalg.solve(inner, p[risk.labelled[stiff], j])
                p[:, j] -= self._response[:, stiff] @ answer
        return p / np.maximum(np.linalg.norm(p, axis=0), 1e-300)

    def _residual(self, D: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return what the best F = Pz in the span leaves of the system.

        Rows without curvature keep the multiplier c that the reduced problem gave them.
        """
        mu, labelled, tau = self.risk.ratio, self.risk.labelled, self.constant
        fixed = np.where(D > 0, D * y, c)
        P, Q = self._P.array[labelled], self._Q.array[labelled]
        KSP = (Q - P) / mu
        K = self.K_labelled[labelled]
        DP = D[:, None] * P
        v = mu * self._SP.array.sum(axis=0) + DP.sum(axis=0)  # 1ᵀ of the forces on P
        system = DP.T @ Q + Q.T @ DP - P.T @ DP + DP.T @ (K @ DP) + tau * np.outer(v, v)
        system[np.diag_indices(len(v))] += mu
        rhs = mu * (KSP.T @ fixed) + DP.T @ (K @ fixed) + tau * v * fixed.sum()
        z = np.linalg.solve(system, rhs) if len(v) else np.zeros(0)
        forces = fixed - DP @ z
        constant = tau * (fixed.sum() - v @ z)
        return self.K_labelled @ forces + constant - self._Q.array @ z

    def extend(self, p: np.ndarray, Sp: np.ndarray, K_Sp: np.ndarray) -> np.ndarray:
        """Add directions; return the new columns of SP."""
        images = p + self.risk.ratio * K_Sp
        for _ in range(2):
            overlap = self.SP.T @ images
            p, Sp = p - self._P.array @ overlap, Sp - self.SP @ overlap
            images = images - self._Q.array @ overlap
        turn = _orthonormalizer(Sp.T @ images)
        for columns, block in ((self._P, p), (self._SP, Sp), (self._Q, images)):
            columns.append(block @ turn)
        return Sp @ turn


def _orthonormalizer(gram: np.ndarray) -> np.ndarray:
    """Return T with Tᵀ·gram·T = I; dependent directions are dropped."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh((gram + gram.T) / (2.0 * np.outer(scale, scale)))
    keep = values > _DEPENDENT * max(values[-1], 1e-300)
    return vectors[:, keep] / (scale[:, None] * np.sqrt(values[keep]))


class _LowerBound:
    """Lower bound of the optimum, per column, from residuals of earlier iterates."""

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        self.value: np.ndarray | None = None
        self._kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def gap(self, objective: np.ndarray) -> float:
        """Return the sum over the columns of objective − bound."""
        if self.value is None:
            return float("inf")
        return float(np.maximum(objective - self.value, 0.0).sum())

    def add(
        self, objective: np.ndarray, residual: np.ndarray, K_residual: np.ndarray, SP: np.ndarray
    ) -> None:
        """Keep an iterate's objective and residual."""
        square = np.maximum((residual * K_residual).sum(axis=0), 0.0)
        square = square - self.risk.ratio * ((SP.T @ K_residual) ** 2).sum(axis=0)
        self._kept.append((objective, square, K_residual))
        del self._kept[:-_KEPT_RESIDUALS]

    def tighten(self, new_SP: np.ndarray) -> None:
        """Use new directions for all kept residuals."""
        mu, half = self.risk.ratio, self.risk.reg_ambient / 2.0
        for i, (objective, square, K_residual) in enumerate(self._kept):
            square = square - mu * ((new_SP.T @ K_residual) ** 2).sum(axis=0)
            self._kept[i] = (objective, square, K_residual)
            below = objective - half * np.maximum(square, 0.0)
            self.value = below if self.value is None else np.maximum(self.value, below)
