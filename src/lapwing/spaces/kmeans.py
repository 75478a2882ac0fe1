"""k-means centres as landmarks.

Rows drawn in proportion to their squared distances from those drawn before, one by one or in a few
rounds, and then steps of Lloyd's algorithm. Distances are computed tile by tile, on the device if
one is used, and sums on the host in a fixed order, so that results repeat to the bit. Knows neither
kernels nor labels, nor what the centres are for.

Notation: X the rows, V the m centres, w the weights of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus

from ..arrays.blocks import RowBlocks
from ..arrays.device import on_host
from ..arrays.duplicates import distinct_rows
from ..arrays.row_units import column_means
from ..arrays.threads import map_blocks, n_threads, row_blocks
from ..graphs.points import squared_norms
from .prototypes import tile_rows

#: Number of rows used per centre, and in total at least; more would hardly change the centres.
_ROWS_PER_CENTRE = 100
_LEAST_ROWS = 20_000
#: The most multiplications, n·m·d, for which rows are drawn by greedy k-means++, with which the
#: inertia is 2 to 7 % lower where there are few rows per centre; it takes 0.2 s for as many.
_GREEDY_WORK = 2e8
#: Rounds in which rows are drawn above.
_ROUNDS = 8
#: The most steps, and the relative decrease of the inertia below which they end.
_MOST_STEPS, _LEAST_GAIN = 10, 0.01


def kmeans_rows(m: int) -> int:
    """Return the largest number of rows from which m centres are computed."""
    return max(_LEAST_ROWS, _ROWS_PER_CENTRE * m)


def kmeans_landmarks(
    X: np.ndarray | sp.csr_matrix,
    m: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return m centres of the weighted rows, or the distinct rows if there are at most m of these.

    Without weights, a random sample of `kmeans_rows` rows is used if there are more. Centres of
    duplicate rows may be equal. Cost: at most 11·n·m·d operations for n rows in double precision.

    References
    ----------
    Bahmani, Moseley, Vattani, Kumar & Vassilvitskii (2012), Scalable k-means++: the first centres
    are drawn in rounds, though not more of them than are wanted.
    """
    distinct = distinct_rows(X, m)
    if distinct is not None:
        rows = X[distinct]
        return rows.toarray() if sp.issparse(rows) else rows
    if weights is None and X.shape[0] > kmeans_rows(m):
        X = X[np.sort(rng.choice(X.shape[0], kmeans_rows(m), replace=False))]
    level = None if sp.issparse(X) else column_means(X)
    points = _Points.of(X if level is None else X - level, weights)
    V, before = points.rows(_first_rows(points, m, rng)), np.inf
    for _ in range(_MOST_STEPS):
        nearest, distances = points.nearest(V)
        V = _means(points, nearest, distances, m)
        inertia = float(points.weights @ distances)
        if inertia >= (1.0 - _LEAST_GAIN) * before:
            break
        before = inertia
    V = V if level is None else V + level
    return V.astype(np.float32) if X.dtype == np.float32 else V


@dataclass(frozen=True)
class _Points:
    """Rows in double precision, around zero if they are dense: nothing cancels in distances.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows.
    weights : ndarray of shape (n,)
        w.
    """

    X: Any
    weights: np.ndarray

    @classmethod
    def of(cls, X: Any, weights: np.ndarray | None) -> _Points:
        return cls(
            X.astype(np.float64, copy=False), np.ones(X.shape[0]) if weights is None else weights
        )

    @cached_property
    def squares(self) -> np.ndarray:
        return squared_norms(self.X)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return some rows as a dense array."""
        rows = self.X[index]
        return rows.toarray() if sp.issparse(rows) else rows

    def nearest(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest centre of each row, the first of equal ones, and their distance²."""
        across, half = np.ascontiguousarray(V.T), np.einsum("ij,ij->i", V, V) / 2.0

        def of_tile(X: Any) -> np.ndarray:
            # ‖x − v‖² = ‖x‖² − 2(xᵀv − ½‖v‖²)
            scores = X @ across
            scores -= half
            nearest = scores.argmax(axis=1)
            most = np.take_along_axis(scores, nearest[:, None], axis=1)[:, 0]
            return np.column_stack([on_host(nearest), on_host(most)])

        found = RowBlocks.of(self.X).map("k-means", of_tile, tile_rows(len(V)), uses_device=True)
        return found[:, 0].astype(np.intp), np.maximum(self.squares - 2.0 * found[:, 1], 0.0)


def _first_rows(points: _Points, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return m rows far from each other."""
    n, d = points.X.shape
    if n * m * d <= _GREEDY_WORK:
        seed, w = int(rng.integers(2**31)), points.weights
        return kmeans_plusplus(points.X, m, sample_weight=w, random_state=seed)[1]
    return _rows_in_rounds(points, m, rng)


def _rows_in_rounds(points: _Points, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return m rows far from each other; the first round draws by weight alone."""
    n = points.X.shape[0]
    distances, drawn = np.ones(n), np.empty(0, dtype=np.intp)
    while len(drawn) < m:
        size = min(m - len(drawn), -(-m // _ROUNDS))
        mass = np.cumsum(points.weights * distances)
        if mass[-1] == 0.0:  # the others are equal up to rounding
            others = np.setdiff1d(np.arange(n), drawn)
            return np.append(drawn, rng.choice(others, m - len(drawn), replace=False))
        # One from each of as many parts of equal mass, so that few are drawn twice.
        where = (np.arange(size) + rng.random(size)) * (mass[-1] / size)
        new = np.unique(np.minimum(np.searchsorted(mass, where, side="right"), n - 1))
        drawn = np.append(drawn, new)
        near = points.nearest(points.rows(new))[1] if len(drawn) < m else distances
        distances = near if len(drawn) == len(new) else np.minimum(distances, near)
        distances[drawn] = 0.0
    return drawn


def _means(points: _Points, nearest: np.ndarray, distances: np.ndarray, m: int) -> np.ndarray:
    """Return the weighted means of the rows of each centre.

    A centre without rows becomes one of the rows that are farthest from theirs.
    """
    n, w = points.X.shape[0], points.weights

    def of_part(part: slice) -> Any:
        size = part.stop - part.start
        entries = w[part], nearest[part], np.arange(size + 1)
        return sp.csr_array(entries, shape=(size, m)).T @ points.X[part]

    parts = map_blocks(of_part, row_blocks(n, -(-n // n_threads())))
    total, size = sum(parts[1:], parts[0]), np.bincount(nearest, w, minlength=m)
    V = total.toarray() if sp.issparse(total) else total
    V /= np.where(size > 0, size, 1.0)[:, None]
    empty = np.flatnonzero(size == 0)
    if len(empty):
        V[empty] = points.rows(np.argsort(-w * distances, kind="stable")[: len(empty)])
    return V
