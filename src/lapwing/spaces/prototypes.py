"""Prototypes: similarities of all rows to a few points, and a graph of low rank.

Everything is a sum over rows, accumulated tile by tile; no matrix with n rows is formed. Knows
neither labels nor solvers nor how the points are chosen.

Notation: U the m points of the graph, V the k points of the function, E = k(X, U), H = k(X, V)
(divided by the sums of its rows if ``normalize``), W = k(U, U). The graph is K̃ = E W⁻¹ Eᵀ with
degrees D̃ = diag(K̃1), and S = D̃ − K̃ its Laplacian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays.blocks import RowBlocks
from ..arrays.device import on_host
from ..kernels.functions import Kernel, PreparedRows, gamma_of_equal_rows
from .features import CUTOFF, inverse_root

#: Number of similarities of one tile: small enough for the cache, large enough for fast products.
_TILE_ENTRIES = 1_000_000
#: Sums of similarities below this value have underflowed.
_SMALLEST_TOTAL = np.finfo(np.float64).tiny / np.finfo(np.float64).eps
#: Penalties below this value would give features whose squares overflow.
_SMALLEST_PENALTY = 1e-200
#: Squared distances below this share of the squared norms are rounding.
_SAME = 1e-12


def tile_rows(n_points: int) -> int:
    """Return the number of rows of a tile."""
    return int(np.clip(_TILE_ENTRIES // max(n_points, 1), 64, 4096))


@dataclass(frozen=True)
class Similarities:
    """Kernel values of rows at the points, H.

    Attributes
    ----------
    kernel : Kernel
        k.
    points : ndarray of shape (k, d)
        V.
    normalize : bool
        Whether each row is divided by its sum. If a row is so far from all points that its
        similarities underflow, the limit is used instead, which depends on the nearest points.
    offset : float
        Added to the sums that rows are divided by. Rows far from all points then tend to zero.
    """

    kernel: Kernel
    points: np.ndarray
    normalize: bool = False
    offset: float = 0.0

    @cached_property
    def _prepared(self) -> PreparedRows:
        return self.kernel.prepare(self.points)

    @property
    def uses_device(self) -> bool:
        """Whether rows may be on a device."""
        return self.kernel.uses_device

    def __call__(self, X: Any) -> np.ndarray:
        """Return H of rows, shape (rows, k). Cost: rows·k·d operations."""
        return self._divided(X, lambda H: H)

    def values(self, X: Any, coef: np.ndarray) -> np.ndarray:
        """Return H·coef of rows, without forming H."""
        return self._divided(X, lambda H: H @ coef)

    def _divided(self, X: Any, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return a linear function of H; the rows are divided by their sums afterwards."""
        E = self.raw(X)
        if not self.normalize:
            return function(E)
        total = E.sum(axis=1) + self.offset
        far = self.check_totals(total)
        values = function(E)
        values /= np.where(far, 1.0, total)[:, None]
        if far.any():
            values[far] = function(self._limit(X[np.flatnonzero(far)]))
        return values

    def raw(self, X: Any) -> np.ndarray:
        """Return the kernel values, rows not divided by their sums."""
        return self.kernel.block(self.kernel.prepare(X), self._prepared)

    def check_totals(self, total: np.ndarray) -> np.ndarray:
        """Return the rows whose similarities underflow; refuse sums that are not positive.

        ``total`` are the sums of the rows, the offset included.
        """
        far = on_host(total <= 0 if self.offset > 0 else total < _SMALLEST_TOTAL)
        if far.any() and not self.kernel.is_radial:
            advice = "use kernel='rbf', or another kernel without negative values"
            if self.offset == 0:
                advice = "pass normalize_rows=False, or use kernel='rbf'"
            raise ValueError(
                "the kernel values of a row sum to zero or less, so they cannot be divided by "
                f"their sum: {advice}"
            )
        return far

    def _limit(self, X: Any) -> np.ndarray:
        H = self.kernel.relative_block(self.kernel.prepare(X), self._prepared)
        return H / H.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class LowRankGraph:
    """The graph K̃ = E W⁻¹ Eᵀ of all rows, Zhang, Kwok & Parvin (2009), eq. (4).

    Directions in which W is zero up to rounding are left out.

    Attributes
    ----------
    similarities : Similarities
        Computes E.
    root : ndarray of shape (m, r)
        W⁻¹ = root rootᵀ.
    load : ndarray of shape (m,)
        W⁻¹Eᵀ1, such that the degrees are E·load.
    total : float
        Sum of all degrees, 1ᵀK̃1.
    """

    similarities: Similarities
    root: np.ndarray
    load: np.ndarray
    total: float

    @classmethod
    def build(cls, rows: RowBlocks, similarities: Similarities) -> LowRankGraph:
        """Return the graph of these rows. Cost: one pass over them, n·m·d operations."""
        m, uses_device = len(similarities.points), similarities.uses_device

        def start() -> list[np.ndarray]:
            return [np.zeros(m)]

        def add(sums: list[np.ndarray], X: Any) -> None:
            sums[0] += similarities.raw(X).sum(axis=0)

        [total] = rows.sum("degrees", start, add, tile_rows(m), uses_device=uses_device)
        root = inverse_root(similarities.raw(similarities.points))
        half = root.T @ total
        return cls(similarities, root, root @ half, float(half @ half))

    def degrees(self, E: np.ndarray) -> np.ndarray:
        """Return the degrees of rows, with negative values replaced by zero.

        The exact degrees are sums of similarities. If the approximation gives a negative value, the
        row lies far from the points, and the graph has no information about it.
        """
        return np.maximum(E @ self.load, 0.0)

    def normalized_features(self, X: Any) -> np.ndarray:
        """Return Φ = D̃^(-1/2) E W^(-1/2) of rows, shape (rows, r).

        Degrees are at least K̃_ii, the part of a row in its own, so that no row is longer than one.
        """
        E = self.similarities.raw(X)
        P = E @ self.root
        own = np.einsum("ij,ij->i", P, P)
        degrees = np.maximum(self.degrees(E), own)
        return P / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]


def localised(kernel: Kernel, X: Any, points: np.ndarray) -> Kernel:
    """Return a radial kernel with a width that fits the points; other kernels are not changed.

    gamma is 6 divided by the median squared distance of the rows to their second nearest point, a
    row itself not counted. The nearest point would be enough in many dimensions, but along a line
    it is so close to most rows that similarities between adjacent points would vanish.
    """
    if not kernel.is_radial:
        return kernel
    prepared = kernel.prepare(points)

    def nearest(part: Any) -> np.ndarray:
        rows = kernel.prepare(part)
        assert rows.squared_norms is not None and prepared.squared_norms is not None
        squares = kernel.squared_distances(rows, prepared)
        sizes = rows.squared_norms[:, None] + prepared.squared_norms
        squares[squares <= _SAME * sizes] = np.inf
        # If there is only one point, it is used.
        return np.partition(squares, min(1, squares.shape[1] - 1), axis=1)[:, :2].max(axis=1)

    tile = tile_rows(len(points))
    found = RowBlocks.of(X).map("width", nearest, tile, uses_device=kernel.uses_device)
    found = found[np.isfinite(found)]
    typical = float(np.median(found)) if len(found) else 0.0
    # Smaller distances are those of rows that are equal up to rounding.
    return kernel.with_gamma(6.0 / typical if typical > 1e-300 else gamma_of_equal_rows(points))


def smoothness_at_points(
    rows: RowBlocks, graph: LowRankGraph, similarities: Similarities, *, with_gram: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return HᵀD̃H and HᵀK̃H, whose difference is HᵀSH, and HᵀH if ``with_gram``; all (k, k).

    Zhang, Kwok & Parvin (2009), §4.1. Cost: a pass over the rows, n(m + k)d operations for the
    similarities (once if U are V) and n·k² to 2n·k·m for the products.
    """
    U, V = graph.similarities, similarities
    m, k, same = len(U.points), len(V.points), U.points is V.points

    def start() -> list[np.ndarray]:
        wide = np.zeros((k, k if same else m))
        gram = np.zeros((k, k) if with_gram else (0, 0))
        return [np.zeros((k, k)), wide, gram]

    def add(sums: list[np.ndarray], X: Any) -> None:
        E = U.raw(X)
        degrees = graph.degrees(E)
        H = E if same and not (V.normalize and with_gram) else V(X)
        if with_gram:
            sums[2] += H.T @ H
        if not same:
            sums[1] += H.T @ E
            H *= np.sqrt(degrees)[:, None]
            sums[0] += H.T @ H  # NumPy computes half of a symmetric product
            return
        # H and E differ by at most a factor per row, so E is scaled in place: by the root of the
        # factor for HᵀE, and then for HᵀD̃H.
        if V.normalize:
            total = E.sum(axis=1)
            V.check_totals(total)  # raises if the rows cannot be normalised
            factor = 1.0 / np.maximum(total, _SMALLEST_TOTAL)
            E *= np.sqrt(factor)[:, None]
            degrees *= factor
        sums[1] += E.T @ E
        E *= np.sqrt(degrees)[:, None]
        sums[0] += E.T @ E

    tile = tile_rows(m + k)
    weighted, products, gram = rows.sum("smoothness", start, add, tile, uses_device=V.uses_device)
    M = products @ graph.root
    return weighted, M @ M.T, gram


def penalty_root(plus: np.ndarray, minus: np.ndarray, similarities: Similarities) -> np.ndarray:
    """Return B of shape (k, r) with BᵀAB = I, for a penalty A = plus − minus on values of points.

    In the features HB the penalty is the squared norm. The first feature is the least penalised
    one, often a constant. B is computed in coordinates in which similar points do not make A
    singular. Eigenvalues that are negative, because the graph is approximate, or within the
    rounding of ``plus`` are raised to `CUTOFF` times the largest. Zhang, Kwok & Parvin (2009),
    §4.2, remove them and invert the rest, which forbids a constant that the graph does not
    penalise instead of leaving it free. Cost: of the order of k³ operations.
    """
    root = inverse_root(similarities.raw(similarities.points))
    A = plus - minus
    values, vectors = np.linalg.eigh(root.T @ ((A + A.T) / 2.0) @ root)
    largest = float(np.einsum("ij,ij->j", root, plus @ root).max())
    values = np.maximum(values, CUTOFF * max(values[-1], largest, _SMALLEST_PENALTY))
    return root @ (vectors / np.sqrt(values))
