"""Polynomials of a graph Laplacian, applied by sparse products, and a bound of its spectrum.

The Green's function of the solvers and the eigenvectors of the graph are computed with them. Knows
only the Laplacian: no data, no kernels, no labels.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ..arrays.device import is_on_device, map_where
from ..arrays.threads import row_blocks
from ..operators.base import Operator

#: Number of columns filtered at a time: n × 16 numbers stay in cache for n of the order of 10⁴.
_COLUMN_BLOCK = 16


class GraphFilter:
    """A polynomial of the Laplacian, applied by the Chebyshev recurrence.

    Parameters
    ----------
    laplacian : Operator
        L, with spectrum in [0, upper].
    upper : float
        Upper bound of the spectrum.
    coefficients : ndarray of shape (degree + 1,) or (degree + 1, k)
        Chebyshev coefficients on [0, upper]; k columns give k polynomials from one recurrence.
    """

    def __init__(self, laplacian: Operator, upper: float, coefficients: np.ndarray) -> None:
        self.laplacian = laplacian
        self.upper = upper
        self.coefficients = coefficients.reshape(len(coefficients), -1)
        self._matrix: sp.csr_matrix | None = None  # 4L/upper − 2I, of rows in another order
        self._order = self._position = np.empty(0, dtype=int)

    def single_precision(self) -> GraphFilter:
        """Return the same filter in float32, several times as fast on wide blocks.

        Neighbours are moved near to each other in memory, which halves the time of a product. A
        Laplacian that is not stored as a sparse matrix has none, and the filter is returned.
        """
        if self.laplacian.matrix is None:
            return self
        L = sp.csr_matrix(self.laplacian.matrix)
        single = GraphFilter(self.laplacian, self.upper, self.coefficients.astype(np.float32))
        single._order = reverse_cuthill_mckee(L, symmetric_mode=True).astype(int)
        single._position = np.argsort(single._order)
        shifted = L * (4.0 / self.upper) - 2.0 * sp.eye_array(L.shape[0], format="csr")
        single._matrix = sp.csr_matrix(shifted[single._order][:, single._order], dtype=np.float32)
        single._matrix.sort_indices()
        return single

    def with_coefficients(self, coefficients: np.ndarray) -> GraphFilter:
        """Return another polynomial of the same Laplacian in the same precision."""
        other = copy(self)
        other.coefficients = coefficients.reshape(len(coefficients), -1)
        other.coefficients = other.coefficients.astype(self.coefficients.dtype)
        return other

    def __call__(self, V: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the polynomials of L times V, side by side; of some rows only, if these are given.

        Without ``rows`` every polynomial costs two more passes over V per degree.
        """
        if V.shape[1] == 0:
            kept = V if rows is None else V[rows]
            return np.repeat(kept, self.coefficients.shape[1], axis=1)
        blocks = row_blocks(V.shape[1], V.shape[1] if is_on_device(V) else _COLUMN_BLOCK)
        return np.hstack(map_where(V, lambda b: self._apply(V[:, b], rows), blocks))

    def _apply(self, V: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        reordered = self._matrix is not None
        V = V[self._order] if reordered else V.copy(order="C")
        picked: Any = slice(None)
        if rows is not None:
            picked = self._position[rows] if reordered else rows
        before, current = V, self._twice(V)
        current *= 0.5
        results = [
            c0 * before[picked] + c1 * current[picked]
            for c0, c1 in zip(*self.coefficients[:2], strict=True)
        ]
        for row in self.coefficients[2:]:
            following = self._twice(current)
            following -= before
            before, current = current, following
            for result, c in zip(results, row, strict=True):
                result += c * current[picked]
        return np.hstack(results if rows is not None or not reordered else self._restored(results))

    def _restored(self, results: list[np.ndarray]) -> list[np.ndarray]:
        """Return results with their rows in the order of the Laplacian."""
        return [result[self._position] for result in results]

    def _twice(self, V: np.ndarray) -> np.ndarray:
        """Return 2(2L/upper − I)V in a new array."""
        if self._matrix is not None:
            return self._matrix @ V
        image = self.laplacian @ V
        image *= 4.0 / float(self.upper)
        image -= 2.0 * V
        return image


def spectrum_bound(laplacian: Operator) -> float:
    """Return an upper bound of the largest eigenvalue, a few percent above it."""
    n = laplacian.shape[0]
    rng = np.random.default_rng(0)
    if n <= 64:
        return 1.01 * float(np.linalg.eigvalsh(laplacian @ np.eye(n))[-1]) + 1e-12
    try:
        v0 = rng.standard_normal(n)
        L = LinearOperator((n, n), matvec=laplacian.__matmul__, dtype=np.float64)
        largest = eigsh(L, k=1, which="LA", tol=1e-2, v0=v0)[0][0]
        return 1.05 * float(largest) + 1e-12
    except ArpackError:
        # Power iteration from below, doubled: safe for a symmetric positive semi-definite L.
        v = rng.standard_normal(n)
        for _ in range(30):
            v = laplacian @ (v / max(float(np.linalg.norm(v)), 1e-300))
        return 2.0 * float(np.linalg.norm(v)) + 1e-12
