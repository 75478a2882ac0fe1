"""The anchor graph: every row is connected to a few of m anchors, and to other rows through them.

Computes the weights of rows on anchors, for training rows and new rows alike, and the Laplacian
reduced to the anchors. Knows neither labels nor where the anchors come from.

Notation: Z (n, m) weights of rows on anchors, s of them per row; Λ = diag(Zᵀ1) the load of the
anchors; Ŵ = ZΛ⁻¹Zᵀ the affinity of rows, which is never formed; L̃ = Zᵀ(I - Ŵ)Z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..arrays.blocks import RowBlocks, Sums, as_it_is
from ..arrays.device import device_tiles, is_on_device, moves_to_device, on_host, to_device
from ..arrays.device_functions import k_smallest_columns
from ..arrays.threads import map_blocks, row_blocks
from .points import squared_norms

WEIGHTS = ("kernel", "lae")
#: Memory for the distances of one block of rows to all anchors.
_BLOCK_BYTES = 8_000_000
#: Distances that are computed at a time on a device.
_DEVICE_ENTRIES = 20_000_000
#: Numbers per row while kernel weights of a few anchors are computed.
_WEIGHT_NUMBERS = 30
#: Rows of a tile of sums.
TILE_ROWS = 20_000
#: Smallest descent of the squared error for which a weight joins the active set.
_SLOPE = 1e-12
#: Bound of the rounding of a product, relative to the squared norms of its factors.
_ROUNDING = 2.0**-49


@dataclass(frozen=True)
class AnchorGraph:
    r"""Anchors and the weights of rows on them.

    "kernel" weights decrease with the distance to the s nearest anchors uₖ,

        zₖ ∝ exp(-‖x - uₖ‖² / 2h²),  Σ zₖ = 1,

    and "lae" weights (Local Anchor Embedding) reconstruct the row as a mixture of them,

        min_z ‖x - Σ zₖuₖ‖²  with  zₖ ≥ 0,  Σ zₖ = 1.

    Attributes
    ----------
    anchors : ndarray of shape (m, d)
        The anchors uₖ.
    n_neighbors : int
        s ≤ m, the number of anchors of a row.
    weights : {"kernel", "lae"}
        Type of weights.
    bandwidth : float or None
        h of kernel weights.

    References
    ----------
    W. Liu, J. He and S.-F. Chang (2010), "Large Graph Construction for Scalable Semi-Supervised
    Learning", ICML.
    """

    anchors: np.ndarray
    n_neighbors: int
    weights: str
    bandwidth: float | None = None

    @classmethod
    def of_blocks(
        cls, rows: RowBlocks, anchors: np.ndarray, n_neighbors: int, weights: str
    ) -> Self:
        """Return the graph of rows in blocks, as `build` does. Cost: one pass for "kernel"."""
        graph = cls(np.asarray(anchors, dtype=np.float64), n_neighbors, weights)
        if weights != "kernel":
            return graph

        def add(sums: list[np.ndarray], X: Any) -> None:
            sums[0] += np.sqrt(graph._join(X)[1][:, -1]).sum()

        [total] = rows.sum("bandwidth", lambda: [np.zeros(())], add, TILE_ROWS)
        return cls(graph.anchors, n_neighbors, weights, float(total) / rows.n_rows)

    @classmethod
    def build(
        cls, X: Any, anchors: np.ndarray, n_neighbors: int, weights: str
    ) -> tuple[Self, sp.csr_array]:
        """Return the graph of these rows and their weights Z.

        The bandwidth h is the mean distance of the rows to their s-th anchor. Cost: n·m·d
        operations for the distances and n·s³ for "lae"; memory n·s + m² + a block of n·m.

        Examples
        --------
        >>> import numpy as np
        >>> from lapwing.graphs import AnchorGraph
        >>> X = np.array([[0.0], [0.25], [2.0]])
        >>> graph, Z = AnchorGraph.build(X, np.array([[0.0], [1.0]]), 2, "lae")
        >>> Z.toarray().tolist()
        [[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]
        """
        graph = cls(np.asarray(anchors, dtype=np.float64), n_neighbors, weights)
        index, local = graph._join(X)
        if weights == "kernel":
            bandwidth = float(np.sqrt(local[:, -1]).mean())
            graph = cls(graph.anchors, n_neighbors, weights, bandwidth)
            local = kernel_weights(local, bandwidth)
        return graph, graph._matrix(index, local)

    def __call__(self, X: Any) -> sp.csr_array:
        """Return the weights Z of any rows, shape (n, m)."""
        index, local = self._join(X)
        if self.bandwidth is not None:
            local = kernel_weights(local, self.bandwidth)
        return self._matrix(index, local)

    def _join(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the s nearest anchors of each row, and squared distances or "lae" weights.

        Distances of dense rows are computed on the device, if one is used.
        """
        m, s = len(self.anchors), self.n_neighbors
        index, local = np.empty((X.shape[0], s), dtype=np.int32), np.empty((X.shape[0], s))
        centre = self.anchors.mean(axis=0)  # centring keeps the digits of the products
        U = self.anchors - centre
        squares, shift = np.einsum("ij,ij->i", U, U), U @ centre
        gram = U @ U.T if self.weights == "lae" else None
        moves = moves_to_device(X)
        points, origin, sizes = (
            map(to_device, (U, centre, squares)) if moves else (U, centre, squares)
        )

        def join(rows: slice, part: Any) -> None:
            part = part.astype(np.float64)
            if sp.issparse(part):  # centred rows would be dense: shift the products instead
                size = squared_norms(part) + centre @ centre
                products = part @ U.T - shift
                norms = size - 2 * (part @ centre)
            else:
                part -= origin
                size = norms = np.einsum("ij,ij->i", part, part)
                products = part @ points.T
            nearest = _smallest(sizes - 2 * products, s)
            products = on_host(np.take_along_axis(products, nearest, axis=1))
            size, norms, nearest = on_host(size), on_host(norms), on_host(nearest)
            index[rows] = nearest
            if gram is None:
                local[rows] = np.maximum(norms[:, None] - 2 * products + squares[nearest], 0.0)
                return
            # Gram matrices of the differences uₖ - x, kept positive definite in spite of rounding.
            G = gram[nearest[:, :, None], nearest[:, None, :]]
            G += norms[:, None, None] - products[:, :, None] - products[:, None, :]
            rounding = _ROUNDING * s * (size[:, None] + squares[nearest])
            G[:, np.arange(s), np.arange(s)] += rounding
            local[rows] = simplex_weights(G)

        width = m if sp.issparse(X) else max(m, X.shape[1])
        if moves:
            at_once = max(1, _DEVICE_ENTRIES // width)
            blocks = row_blocks(X.shape[0], at_once)
            for rows, part in zip(blocks, device_tiles(X, at_once), strict=True):
                join(rows, part)
        else:
            blocks = row_blocks(X.shape[0], _block_rows(width))
            map_blocks(lambda rows: join(rows, X[rows]), blocks)
        return index, local

    def _matrix(self, index: np.ndarray, weights: np.ndarray) -> sp.csr_array:
        n, s = index.shape
        starts = s * np.arange(n + 1, dtype=np.int64)
        Z = sp.csr_array((weights.ravel(), index.ravel(), starts), shape=(n, len(self.anchors)))
        Z.sort_indices()
        Z.eliminate_zeros()  # a weight of zero is no connection
        return Z


def join_bytes(n: int, d: int, row_size: float, m: int) -> float:
    """Return the memory for joining a tile of n rows to a few of m anchors.

    Rows have d columns and ``row_size`` stored numbers. Counted are copies of a block of rows,
    three numbers per row and anchor, and the weights of the tile.
    """
    is_sparse, tile = row_size < d, min(n, TILE_ROWS)
    block = min(tile, _block_rows(m if is_sparse else max(m, d)))
    slices = row_size if is_sparse else 0.0  # those of sparse rows are copies
    return 8 * (block * (2 * row_size + 3 * m) + tile * (_WEIGHT_NUMBERS + slices))


def _block_rows(width: int) -> int:
    """Return the rows of a block, of whose numbers per row these are the most."""
    return max(1, _BLOCK_BYTES // (8 * width))


def kernel_weights(squared: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return exp(-d²/2h²), scaled to sum one in each row, from squared distances (n, s).

    The nearest anchor of a distant row still has a positive weight. With h = 0 only the nearest
    anchors have one.
    """
    excess = squared - squared.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # an infinite ratio correctly gives a weight of 0
        scaled = excess / (2 * bandwidth**2) if bandwidth > 0 else np.where(excess > 0, np.inf, 0.0)
    weights = np.exp(-scaled)
    return weights / weights.sum(axis=1, keepdims=True)


def simplex_weights(G: np.ndarray) -> np.ndarray:
    """Return argmin zᵀGz over z ≥ 0, Σz = 1, for many positive semi-definite G (n, s, s) at once.

    The same z, up to its sum, minimises uᵀGu + c(1 - Σu)² over u ≥ 0 for any c > 0: along u = tz
    the minimum cq / (c + q) increases with q = zᵀGz. That is a non-negative least-squares problem,
    solved by the active-set method of Lawson and Hanson, which is exact after a few steps. The
    steps of all rows are done together. Cost: about s solves of s equations per row.
    """
    n, s = G.shape[:2]
    scale = np.einsum("kii->k", G) / s
    # A small multiple of the identity makes the weights of equal anchors unique.
    H = G / np.where(scale > 0, scale, 1.0)[:, None, None] + 1.0 + 1e-13 * np.eye(s)
    u, chosen = np.zeros((n, s)), np.zeros((n, s), dtype=bool)
    rows = np.arange(n)
    for _ in range(3 * s):  # the usual limit; every step is feasible and decreases the error
        slope = 1.0 - np.einsum("kij,kj->ki", H[rows], u[rows])
        slope[chosen[rows]] = -np.inf
        best = slope.argmax(axis=1)
        improvable = slope[np.arange(len(rows)), best] > _SLOPE
        rows, best = rows[improvable], best[improvable]
        if len(rows) == 0:
            break
        chosen[rows, best] = True
        _solve_chosen(H, u, chosen, rows)
    return u / u.sum(axis=1, keepdims=True)


def _solve_chosen(H: np.ndarray, u: np.ndarray, chosen: np.ndarray, rows: np.ndarray) -> None:
    """Solve the least squares of these rows over the chosen entries, dropping negative ones."""
    identity = np.eye(H.shape[1], dtype=bool)
    while len(rows):
        free = chosen[rows]
        system = np.where(free[:, :, None] & free[:, None, :], H[rows], identity)
        v = np.linalg.solve(system, free[:, :, None].astype(float))[:, :, 0]
        bad = free & (v <= 0)
        step = np.ones(free.shape)
        step[bad] = u[rows][bad] / np.maximum(u[rows] - v, 1e-300)[bad]
        length = step.min(axis=1, keepdims=True)
        moved = u[rows] + length * (v - u[rows])
        out = bad & (step <= length)
        moved[out] = 0.0
        u[rows] = moved
        chosen[rows] = free & ~out
        rows = rows[bad.any(axis=1) & chosen[rows].any(axis=1)]


def _smallest(values: Any, s: int) -> Any:
    """Return the indices of the s smallest values of each row, ascending; overwrites the values."""
    if is_on_device(values):
        return k_smallest_columns(values, s)[1]
    # A few passes of argmin are much faster than one partition.
    found = np.empty((len(values), s), dtype=np.intp)
    every = np.arange(len(values))
    for k in range(s):
        found[:, k] = values.argmin(axis=1)
        values[every, found[:, k]] = np.inf
    return found


@dataclass(frozen=True)
class AnchorSums:
    """Sums over all rows from which a function on the anchors is learnt.

    Attributes
    ----------
    gram : ndarray of shape (m, m)
        ZᵀZ.
    load : ndarray of shape (m,)
        Zᵀ1, the diagonal of Λ.
    n_first : ndarray of shape (m,)
        Number of rows of which this is the first anchor, by its index.
    """

    gram: np.ndarray
    load: np.ndarray
    n_first: np.ndarray

    @classmethod
    def of(cls, rows: RowBlocks, m: int, weights: Callable[[Any], sp.csr_array]) -> Self:
        """Return the sums of rows, whose weights Z are a function of them. Cost: one pass."""

        def add(sums: Sums, X: Any) -> None:
            add_weights(sums, weights(X))

        return cls(*rows.sum("anchors", partial(no_weights, m), add, TILE_ROWS))

    @classmethod
    def of_weights(cls, Z: sp.csr_array) -> Self:
        """Return the sums of rows whose weights are known. Cost: n·s² operations."""
        return cls.of(RowBlocks.of(Z), Z.shape[1], as_it_is)

    @property
    def laplacian(self) -> np.ndarray:
        """L̃ = ZᵀZ - (ZᵀZ)Λ⁻¹(ZᵀZ), of shape (m, m): aᵀL̃a is the smoothness term of Za.

        Liu, He & Chang (2010). An anchor without rows has a row of zeros. Cost: m³ operations.
        """
        S = self.gram
        return S - (S * self.inverse_load) @ S

    @property
    def inverse_load(self) -> np.ndarray:
        """The diagonal of Λ⁻¹, with zeros for anchors without rows."""
        return np.divide(1.0, self.load, out=np.zeros_like(self.load), where=self.load > 0)

    @property
    def components(self) -> np.ndarray:
        """Index of the connected component of each anchor, shape (m,)."""
        return connected_components(self.gram > 0, directed=False)[1]

    def reached(self, Z_l: sp.csr_array) -> np.ndarray:
        """Return which anchors a labelled row can reach, shape (m,), given the weights of these."""
        component = self.components
        return np.isin(component, component[first_anchors(Z_l)])


def no_weights(m: int) -> Sums:
    """Return the sums of `AnchorSums` over no rows."""
    return [np.zeros((m, m)), np.zeros(m), np.zeros(m)]


def add_weights(sums: Sums, Z: sp.csr_array) -> None:
    """Add the terms of rows with these weights to the sums of `AnchorSums`, in place."""
    gram, load, n_first = sums
    gram += (Z.T @ Z).toarray()
    load += np.asarray(Z.sum(axis=0)).ravel()
    n_first += np.bincount(first_anchors(Z), minlength=len(load))


def first_anchors(Z: sp.csr_array) -> np.ndarray:
    """Return the first anchor of each row, by its index, shape (n,)."""
    return Z.indices[Z.indptr[:-1]]
