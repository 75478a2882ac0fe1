"""The graph as a second kernel: Laplacian embedding.

The values g of an unknown function on the rows of a graph have the energy ½gᵀPg with the precision

    P = Λ + μS ,    S = Lᵖ ,

where the diagonal Λ is the label precision: how strongly g is tied to the target of each row. The
graph kernel is K_G = P⁻¹, Chen, Tsang & Xu (2012), eq. (19), or, in the span of a few eigenvectors
of L, ΦP̄⁻¹Φᵀ, eq. (25)-(29). Knows neither losses nor classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ..arrays.device import block_entries, like, map_where, on_host
from ..arrays.threads import row_blocks
from ..kernels.functions import Kernel
from ..operators.base import Operator
from ..operators.dense import DenseOperator
from ..operators.inverse import InverseOperator
from ..operators.sparse import ShiftedOperator

#: Number of kernel values computed at a time per thread.
_BLOCK_ENTRIES = 4_000_000
#: Standard deviation of the level of g in components without labels, relative to the targets.
_FREE_LEVEL = 10.0


class EmbeddedKernel:
    """Q = K + K_G, computed by blocks of entries, where the rows are.

    Parameters
    ----------
    kernel : Kernel or None
        Kernel of the rows; None if ``rows`` is the Gram matrix K.
    rows : PreparedRows or ndarray of shape (n, n)
        Rows in the precision of the entries, or K.
    graph_kernel : Operator
        K_G.

    Attributes
    ----------
    where : array
        An array of the rows; entries are computed where it is.
    """

    def __init__(self, kernel: Kernel | None, rows: Any, graph_kernel: Operator) -> None:
        self.graph_kernel = graph_kernel
        self._kernel_block: Callable[[np.ndarray, np.ndarray | slice], Any]
        self.where: Any
        if kernel is None:
            self.where = np.asarray(rows)
            self._kernel_block = DenseOperator(self.where).submatrix
        else:
            self.where = rows.data
            self._kernel_block = lambda i, j: kernel.block(rows[i], rows[j])
        self._graph_block = graph_kernel.moved_to(self.where).submatrix

    def submatrix(self, rows: np.ndarray, columns: np.ndarray | slice) -> Any:
        """Return some entries of Q as a new array in double precision."""
        block = like(self.where, self._graph_block(rows, columns))
        block += self._kernel_block(rows, columns)
        return block

    def values(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return Q·weights on some rows. Cost: a kernel value for each row and non-zero weight."""
        support = np.flatnonzero(weights.any(axis=1))
        if len(support) == 0 or len(rows) == 0:
            return np.zeros((len(rows), weights.shape[1]))

        beta = like(self.where, weights[support])

        def part(block: slice) -> np.ndarray:
            K = self._kernel_block(rows[block], support)
            return on_host(K.astype(np.float64, copy=False) @ beta)

        at_once = block_entries(self.where, _BLOCK_ENTRIES) // len(support)
        parts = map_where(self.where, part, row_blocks(len(rows), max(1, at_once)))
        return np.concatenate(parts) + (self.graph_kernel @ weights)[rows]


def label_precision(
    component: np.ndarray, labelled: np.ndarray, strength: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """Return the diagonal of Λ, shape (n,), not all zero in any component of the graph.

    The precision of labelled rows is their strength. In a component without labels the level of g
    would be free, and P singular. There a small precision ties g to zero, with a standard deviation
    of its level of ten times the size of the targets.
    """
    label_precision = np.zeros(len(component))
    label_precision[labelled] = strength
    sizes = np.bincount(component)
    reached = np.zeros(len(sizes), dtype=bool)
    reached[component[labelled]] = True
    size = float(np.mean(targets**2))
    variance = _FREE_LEVEL**2 * (size if size > 0 else 1.0)
    loose = ~reached[component]
    label_precision[loose] = 1.0 / (variance * sizes[component[loose]])
    return label_precision


def graph_kernel_bytes(n: int) -> int:
    """Return the memory that it takes to form a graph kernel as a matrix."""
    return 4 * 8 * n * n


def graph_kernel(S: Operator, label_precision: np.ndarray, mu: float, *, dense: bool) -> Operator:
    """Return (Λ + μS)⁻¹ as a matrix, or as an operator by conjugate gradients.

    Cost of the matrix: n³ operations and 8n² bytes.
    """
    n = len(label_precision)
    precision = ShiftedOperator(S, mu, label_precision)
    if not dense:
        return InverseOperator(precision, precision.diagonal())
    P = precision @ np.eye(n)
    # The mean of Λ bounds the smallest eigenvalue, that of functions which S does not penalise.
    if label_precision.mean() < np.finfo(float).eps * np.diag(P).max():
        raise ValueError(
            f"the labels weigh {label_precision.max():.1e}, too little beside the edges of the "
            "graph, whose kernel is singular to working precision: raise sample_weight or "
            "reg_labeled, or lower reg_manifold"
        )
    # Scaled to a unit diagonal, the matrix is conditioned like S alone, whatever Λ is.
    scale = 1.0 / np.sqrt(np.diag(P))
    P *= scale
    P *= scale[:, None]
    inverse, failed = dpotrf(P, lower=1, overwrite_a=1, clean=0)
    if not failed:
        inverse, failed = dpotri(inverse, lower=1, overwrite_c=1)
    if failed:
        raise ValueError(
            "the graph kernel is singular to working precision: lower the power of the graph or "
            "reg_labeled, raise reg_manifold, or set n_eigenvectors"
        )
    inverse = np.tril(inverse)
    inverse *= scale
    inverse *= scale[:, None]
    inverse += np.tril(inverse, -1).T
    return DenseOperator(inverse)


def reduced_precision(
    values: np.ndarray, vectors: np.ndarray, power: int, label_precision: np.ndarray, mu: float
) -> np.ndarray:
    """Return P̄ = ΦᵀΛΦ + μΣᵖ, Chen, Tsang & Xu (2012), eq. (29), for any diagonal Λ."""
    rows = np.flatnonzero(label_precision)
    phi = vectors[rows]
    return phi.T @ (label_precision[rows, None] * phi) + mu * np.diag(values**power)


def spectral_embedding(
    values: np.ndarray, vectors: np.ndarray, power: int, label_precision: np.ndarray, mu: float
) -> np.ndarray:
    """Return Φ̃ with Φ̃Φ̃ᵀ = ΦP̄⁻¹Φᵀ, Chen, Tsang & Xu (2012), eq. (28); shape (n, k).

    Computed from the singular values of a root of P̄, [√Λ Φ; √μ Σ^(p/2)], so that small eigenvalues
    of P̄ keep their digits beside the large ones of the labels. Directions of g that are not
    determined are left out.
    """
    rows = np.flatnonzero(label_precision)
    label_root = np.sqrt(label_precision[rows, None]) * vectors[rows]
    root = np.vstack([label_root, np.diag(np.sqrt(mu) * values ** (power / 2))])
    _, singular, V = np.linalg.svd(root, full_matrices=False)
    keep = singular > np.finfo(float).eps * len(root) * singular[0]
    return vectors @ (V[keep].T / singular[keep])
