"""Exact neighbours through a projection of the rows to few coordinates.

A projection does not enlarge distances, so that it bounds them from below. Rows whose projections
are nearest have distances that bound those of the neighbours from above; rows whose projections are
farther away than that are no neighbours, and the others, few if the leading principal components
hold most of the variance, are ranked by float64 distances. The neighbours are exact for every
projection; a good one saves most of the products. Knows nothing about graphs or weights.

Notation: n rows, d columns, p coordinates.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from ..arrays.threads import map_blocks, row_blocks
from .candidates import BLOCK_SIZE, Candidates, tile_candidates
from .exact_rows import duplicate_neighbors, exact_rows, k_smallest
from .points import CHUNK_BYTES, Points
from .tiles import (
    DOUBLE,
    GEMM_COST,
    DenseTiles,
    Frame,
    SparseTiles,
    choose_tiles,
    distance_error,
)

logger = logging.getLogger(__name__)

#: Rows and columns from which a projection is tried, and columns above which the principal
#: components would take too long.
LEAST_ROWS, LEAST_FEATURES, MOST_FEATURES = 20_000, 64, 2_000
#: Numbers of coordinates to choose from.
COORDINATES = (32, 64, 96, 128, 192, 256)
#: Nanoseconds per column for the float64 distance of one pair; compare with `GEMM_COST`.
PAIR_COST = 2.0
#: Rows from which principal components are computed, and on which projections are compared.
SAMPLE_ROWS, TEST_ROWS = 4_000, 64
#: The most candidates per row; rows with more are searched again.
MOST_KEPT = 96
#: Share of the cost of all products above which a projection is not worth its overhead.
WORTHWHILE = 0.7
#: Directions are shortened by this share: rounding leaves them orthonormal only nearly.
_CONTRACTION = 1e-9


@dataclass(frozen=True)
class Projection:
    """Coordinates of the rows whose distances are at most those of the rows.

    Attributes
    ----------
    Z : ndarray of shape (n, p)
        The coordinates.
    reach : ndarray of shape (n,)
        Norms of the rows in the units of Z, enlarged by the error of centring.
    scale : float
        Units of Z per unit of the rows.
    error : float
        Error of a row of Z relative to its reach.
    kept : int
        Number of candidates that is enough for most rows.
    """

    Z: np.ndarray
    reach: np.ndarray
    scale: float
    error: float
    kept: int

    def ceiling(self, distance: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
        """Largest distance of the coordinates of a row to those of one within ``distance``."""
        distance = distance * self.scale
        return distance + self.error * (2 * self.reach[rows] + distance)


def choose_projection(points: Points, k: int) -> Projection | None:
    """Return a projection that makes the search cheaper, or None if there is none.

    The pairs that a projection does not exclude are counted for a sample of the rows.
    """
    n, d = len(points), points.n_features
    if points.sparse or n < LEAST_ROWS or not LEAST_FEATURES < d <= MOST_FEATURES:
        return None
    return best_projection(points, k)


def best_projection(points: Points, k: int) -> Projection | None:
    """Return the cheapest projection to some principal components of a sample of the rows."""
    n, d = len(points), points.n_features
    frame = Frame(points)
    sample = np.random.default_rng(0).permutation(n)[:SAMPLE_ROWS]
    block = frame.rows(np.sort(sample))
    block -= block.mean(axis=0)
    V = np.linalg.eigh(block.T @ block)[1][:, ::-1]
    sizes = [p for p in COORDINATES if p <= d // 2]
    if not sizes:
        return None
    V = np.ascontiguousarray(V[:, : sizes[-1]]) * (1.0 - _CONTRACTION)
    tested = sample[:TEST_ROWS]
    Z, norms, squared = _project(frame, V, tested)
    squared[np.arange(len(tested)), tested] = np.inf
    nearest = np.partition(squared, k - 1, axis=1)[:, k - 1]
    costs, counts, start = [], [], 0
    left = np.zeros_like(squared)
    for p in sizes:
        left += _squared_distances(Z[tested, start:p], Z[:, start:p])
        counts.append(np.sum(left <= nearest[:, None], axis=1))
        costs.append(GEMM_COST * n / 2 * p + PAIR_COST * d * float(counts[-1].mean()))
        start = p
    best = int(np.argmin(costs))
    logger.debug("projection to %d coordinates: %s", sizes[best], costs)
    if costs[best] > WORTHWHILE * GEMM_COST * n / 2 * d:
        return None
    kept = int(np.clip(np.percentile(counts[best], 90), k + max(6, k // 4), MOST_KEPT))
    p = sizes[best]
    error = 1.01 * (d + 10) * np.sqrt(p) * DOUBLE
    reach = frame.reach(norms, DOUBLE)
    return Projection(Z[:, :p].copy(), reach, frame.scale, error, min(kept, n - 1))


def _project(
    frame: Frame, V: np.ndarray, tested: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coordinates and norms of all rows, and squared distances from the tested ones."""
    n, d = len(frame.points), frame.points.n_features
    Z, norms, squared = np.empty((n, V.shape[1])), np.empty(n), np.empty((len(tested), n))
    queries = frame.rows(tested)

    def fill(rows: slice) -> None:
        block = frame.rows(rows)
        Z[rows] = block @ V
        norms[rows] = np.sqrt(np.einsum("ij,ij->i", block, block))
        squared[:, rows] = _squared_distances(queries, block)

    map_blocks(fill, row_blocks(n, max(1, CHUNK_BYTES // (8 * d))))
    return Z, norms, squared


def _squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    result = A @ B.T
    result *= -2
    result += np.einsum("ij,ij->i", A, A)[:, None]
    result += np.einsum("ij,ij->i", B, B)
    return result


def projected_neighbors(
    points: Points, projection: Projection, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other rows of every row: squared distances (float64) and indices.

    Sorted as by `exact_search.exact_neighbors`.
    """
    n = len(points)
    candidates = tile_candidates(Points(projection.Z), projection.kept)
    first = min(candidates.squared.shape[1], k + max(6, k // 4))
    squared, index = np.empty((n, k)), np.empty((n, k), dtype=np.intp)
    radius = np.empty(n)  # distance within which k other rows are known
    settled = np.empty(n, dtype=bool)

    def rank(rows: slice) -> None:
        m = rows.stop - rows.start
        own = candidates.squared[rows]
        near = np.repeat(np.arange(m), first)
        others = candidates.index[rows].astype(np.intp)
        exact = points.squared_distances(near + rows.start, others[:, :first].ravel())
        radius[rows] = np.sqrt(np.partition(exact.reshape(m, first), k - 1, axis=1)[:, k - 1])
        limit = _limit(projection, candidates, radius[rows], rows)
        settled[rows] = (own[:, -1] > limit) | (own.shape[1] == n - 1)
        close = own[:, first:] <= limit[:, None]
        close[~settled[rows]] = False
        row, column = np.nonzero(close)
        other = others[row, column + first]
        exact = np.append(exact, points.squared_distances(row + rows.start, other))
        row, other = np.append(near, row), np.append(others[:, :first].ravel(), other)
        by_row = np.argsort(row, kind="stable")
        squared[rows], index[rows] = k_smallest(row[by_row], other[by_row], exact[by_row], k)

    map_blocks(rank, row_blocks(n, 2048))
    pending = ~settled
    for rows, others in duplicate_neighbors(points, np.flatnonzero(pending & (radius == 0)), k):
        squared[rows], index[rows] = 0.0, others
        pending[rows] = False
    redo = np.flatnonzero(pending)
    logger.debug("projected search: %d of %d rows searched again", len(redo), n)
    if len(redo):
        squared[redo], index[redo] = _rows_within(points, projection, redo, radius[redo], k)
    return squared, index


def _limit(
    projection: Projection,
    search: Candidates | DenseTiles | SparseTiles,
    radius: np.ndarray,
    rows: slice | np.ndarray,
) -> np.ndarray:
    """Return what computed squared distances of the coordinates never exceed within the radius."""
    ceiling = projection.ceiling(radius, rows) * search.scale
    error = distance_error(search.n_terms, search.roundoff, search.reach[rows], ceiling)
    return ceiling**2 + error


def _rows_within(
    points: Points, projection: Projection, rows: np.ndarray, radius: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of the chosen rows, which have k other rows within the radius.

    If the projection leaves too many rows, all distances in all columns are cheaper.
    """
    n = len(points)
    tiles, block_size = choose_tiles(Points(projection.Z), np.arange(n), BLOCK_SIZE)
    squared, index = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.intp)
    many = np.zeros(len(rows), dtype=bool)
    most = max(2 * GEMM_COST / PAIR_COST * n, k + 1)  # products in float64 take twice as long

    def search(part: slice) -> None:
        mine, left = rows[part], tiles.left(rows[part])
        limit = _limit(projection, tiles, radius[part], mine)[:, None] / 2
        limit = np.nextafter(limit.astype(tiles.dtype), np.inf, dtype=tiles.dtype)
        found = []
        counts = np.zeros(len(mine), dtype=int)
        for columns in row_blocks(n, block_size):
            shape = (len(mine), columns.stop - columns.start)
            tile = tiles.tile(left, mine, columns, np.empty(shape, tiles.dtype))
            row, column = np.divmod(np.flatnonzero(tile <= limit), shape[1])
            counts += np.bincount(row, minlength=len(mine))
            few = counts[row] <= most
            found.append((row[few], column[few] + columns.start))
        row, other = (np.concatenate(part) for part in zip(*found, strict=True))
        many[part] = counts > most
        chosen = np.flatnonzero(~many[part][row] & (other != mine[row]))
        chosen = chosen[np.argsort(row[chosen], kind="stable")]
        row, other = row[chosen], other[chosen]
        exact = points.squared_distances(mine[row], other)
        few = np.flatnonzero(~many[part]) + part.start
        squared[few], index[few] = k_smallest(row, other, exact, k)

    map_blocks(search, row_blocks(len(rows), block_size))
    if many.any():
        squared[many], index[many] = exact_rows(points, rows[many], k)
    return squared, index
