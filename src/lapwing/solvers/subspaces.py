"""The two growing subspaces of `manifold_cg`, and the label problems over them.

`EnergyBasis` spans expansions and gives upper bounds of the optimum; `ManifoldBasis` spans function
values and gives lower bounds. Both orthonormalise new directions and multiply by S; products with K
are passed in. See `manifold_cg` for the mathematics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..operators.rows import times
from ..risk import RegularizedRisk
from .label_problem import LabelProblem, label_problem

#: Share of the norm of K below which a direction is taken to lie in its null space.
_NULL = 1e-11
#: Directions whose squared remainder after orthogonalisation is below this share are dropped.
_DEPENDENT = 1e-11


class _Columns:
    """Arrays that grow by the same number of columns, contiguous by column."""

    def __init__(self, *n_rows: int) -> None:
        self._stores = [np.empty((n, 0), order="F") for n in n_rows]
        self._used = 0

    def append(self, *blocks: np.ndarray) -> None:
        needed = self._used + blocks[0].shape[1]
        for i, (store, block) in enumerate(zip(self._stores, blocks, strict=True)):
            if needed > store.shape[1]:
                self._stores[i] = np.empty((len(store), max(needed, needed * 3 // 2)), order="F")
                self._stores[i][:, : self._used] = store[:, : self._used]
            self._stores[i][:, self._used : needed] = block
        self._used = needed

    @property
    def arrays(self) -> list[np.ndarray]:
        return [store[:, : self._used] for store in self._stores]


class EnergyBasis:
    """Expansions V, orthonormal in the energy αᵀKα + μfᵀSf with f = Kα, and their values KV.

    Stored are V, KV, the values (KV)_J on the labelled rows, and the intercept row μ·1ᵀSKV.
    """

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        n = risk.n_rows
        self._columns = _Columns(n, n, len(risk.labelled), 1)
        self._S_ones = risk.smoothness.times_ones() if risk.fit_intercept else np.zeros(n)
        self._stretch = 0.0  # largest ‖KD‖/‖D‖ so far

    def extend(self, D: np.ndarray, KD: np.ndarray) -> bool:
        """Add directions after orthonormalisation; return whether any of them was new."""
        S, mu = self.risk.smoothness, self.risk.ratio
        V, KV, *_ = self._columns.arrays
        outside = self._outside_null_space(D, KD)
        D, KD = D[:, outside], KD[:, outside]
        S_KD = S @ KD
        norms = np.sqrt(np.maximum((KD * (D + mu * S_KD)).sum(axis=0), 1e-300))
        D, KD, S_KD = D / norms, KD / norms, S_KD / norms
        for _ in range(2):  # Gram-Schmidt twice is enough
            overlap = times(KV.T, D + mu * S_KD)
            D, KD = D - times(V, overlap), KD - times(KV, overlap)
            S_KD = S @ KD  # recomputed, since the remainder of KD may be small
            outside = self._outside_null_space(D, KD)
            D, KD, S_KD = D[:, outside], KD[:, outside], S_KD[:, outside]
            T = _orthonormalizer(KD.T @ (D + mu * S_KD), np.ones(D.shape[1]))
            D, KD, S_KD = D @ T, KD @ T, S_KD @ T
        self._columns.append(D, KD, KD[self.risk.labelled], mu * (self._S_ones @ KD)[None, :])
        return D.shape[1] > 0

    def _outside_null_space(self, D: np.ndarray, KD: np.ndarray) -> np.ndarray:
        """Return which columns lie outside the null space of K, where KD is only rounding."""
        lengths, images = np.linalg.norm(D, axis=0), np.linalg.norm(KD, axis=0)
        stretch = images / np.maximum(lengths, 1e-300)
        self._stretch = max(self._stretch, float(stretch.max(initial=0.0)))
        return stretch > _NULL * self._stretch

    def label_problem(self) -> LabelProblem:
        """Return the label problem over the span."""
        *_, values, (intercept_row,) = self._columns.arrays
        sigma = self.risk.ratio * float(self._S_ones.sum()) - float(intercept_row @ intercept_row)
        return label_problem(self.risk, values @ values.T, 1.0 - values @ intercept_row, sigma)

    def solution(self, c: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the optimal expansion for dual coefficients c and intercept b, and its values."""
        V, KV, values, (intercept_row,) = self._columns.arrays
        z = values.T @ c - np.outer(intercept_row, b)
        return times(V, z), times(KV, z)


@dataclass(frozen=True)
class LowerBound:
    """Dual coefficients and function values that bound the optimum from below.

    Attributes
    ----------
    value : float
        The bound, a difference of large numbers; see `certificate` for a sum of squares.
    c : ndarray of shape (l, columns)
        Dual coefficients of the labels.
    p, Sp, image : ndarray of shape (n, columns)
        Function values p, Sp, and p + μKSp.
    """

    value: float
    c: np.ndarray
    p: np.ndarray
    Sp: np.ndarray
    image: np.ndarray


class ManifoldBasis:
    """Directions P, orthonormal in uᵀ(S + μSKS)v, and the problem that bounds from below.

    Stored are P, the images P + μKSP, the values (KSP)_J on the labelled rows, and 1ᵀSP.
    """

    def __init__(self, risk: RegularizedRisk, K_labelled: np.ndarray) -> None:
        self.risk = risk
        self._K = K_labelled[risk.labelled]
        self._columns = _Columns(risk.n_rows, risk.n_rows, len(risk.labelled), 1)

    def extend(self, p: np.ndarray, Sp: np.ndarray, K_Sp: np.ndarray) -> bool:
        """Add directions, given with Sp and KSp; return whether any of them was new."""
        P, P_images, on_labelled, _ = self._columns.arrays
        # A component in the null space of S has no effect, but the scaling would enlarge it.
        S, p = self.risk.smoothness, self.risk.smoothness.without_null_space(p)
        size = np.sqrt(np.maximum((p * Sp).sum(axis=0), 1e-300))
        images, p = (p + self.risk.ratio * K_Sp) / size, p / size
        values = K_Sp[self.risk.labelled] / size
        before = (Sp / size * images).sum(axis=0)
        for _ in range(2):  # Gram-Schmidt twice is enough
            overlap = times(P.T, S @ images)
            p, images = p - times(P, overlap), images - times(P_images, overlap)
            values = values - on_labelled @ overlap
        T = _orthonormalizer(p.T @ (S @ images), before)
        p = p @ T
        self._columns.append(p, images @ T, values @ T, (S @ p).sum(axis=0, keepdims=True))
        return p.shape[1] > 0

    def lower_bound(self) -> LowerBound:
        """Return the dual solution over the span."""
        mu, (P, images, B, (v,)) = self.risk.ratio, self._columns.arrays
        R, t, sigma = self._K - mu * (B @ B.T), 1.0 - mu * (B @ v), mu * float(v @ v)
        problem = label_problem(self.risk, R, t, sigma)
        c, b, _ = problem.solve()
        z = B.T @ c + np.outer(v, b)
        value = float(problem.lower_bound(c, b).sum())
        p = times(P, z)
        return LowerBound(value, c, p, self.risk.smoothness @ p, times(images, z))


def _orthonormalizer(gram: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return T with Tᵀ·gram·T = I, without linearly dependent directions.

    ``before`` are the squared lengths before orthogonalisation: the remainder of a direction that
    was in the span already is rounding.
    """
    squares = np.diag(gram)
    new = np.flatnonzero(squares > _DEPENDENT * np.maximum(before, 1e-300))
    T = np.zeros((len(gram), len(new)))
    T[new, np.arange(len(new))] = 1.0 / np.sqrt(squares[new])
    values, vectors = np.linalg.eigh(T.T @ ((gram + gram.T) / 2.0) @ T)
    keep = values > _DEPENDENT
    return T @ (vectors[:, keep] / np.sqrt(values[keep]))
