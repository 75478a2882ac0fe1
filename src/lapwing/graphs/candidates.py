"""Candidates for the nearest neighbours: fast searches in rounded arithmetic.

Tiles of distances are filtered against the worst candidate so far; in few dimensions a k-d tree is
used. More candidates than neighbours are kept, with the accuracy of their distances, and the caller
decides which rows need a second search.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from ..arrays.device import block_entries, on_host
from ..arrays.device_functions import k_smallest_columns
from ..arrays.threads import map_blocks, n_threads, row_blocks
from .points import Points
from .tiles import DOUBLE, DenseTiles, Frame, choose_tiles

BLOCK_SIZE = 1024  # a float32 tile of 4 MB: good for BLAS, and filtered while still in cache
TILES_PER_TASK = 8  # the left factor of a strip is prepared once per task
_DEVICE_ROWS = 8192  # most rows of a tile on a device
_GROUP = 100  # most columns of a group of a tile on a device


@dataclass
class Candidates:
    """The nearest other rows of each row by rounded squared distance, sorted.

    Attributes
    ----------
    squared : ndarray of shape (n, kept)
        Squared distances, in the units of the search, which may scale the rows.
    index : ndarray of shape (n, kept)
        Indices of the candidates.
    reach : ndarray of shape (n,)
        Norms of the rows, in the same units, enlarged by the error of centring.
    n_terms : int
        Number of terms of an inner product.
    roundoff : float
        Unit roundoff of the arithmetic.
    scale : float
        Units of the search per unit of the rows.
    """

    squared: np.ndarray
    index: np.ndarray
    reach: np.ndarray
    n_terms: int
    roundoff: float
    scale: float


def tree_candidates(points: Points, kept: int) -> Candidates:
    """Candidates from a k-d tree in float64; for dense rows of few dimensions."""
    frame = Frame(points)
    X = frame.rows(slice(None))
    known, X = X[: points.n_known], X[points.first :]
    n, found = len(X), kept + (points.first == 0)
    distance, index = cKDTree(known).query(X, k=[*range(1, found + 1)], workers=n_threads())
    if points.first == 0:
        is_self = index == np.arange(n)[:, None]
        is_self[~is_self.any(axis=1), kept] = True  # many duplicate rows: drop the farthest instead
        distance, index = (values[~is_self].reshape(n, kept) for values in (distance, index))
    reach = frame.reach(np.sqrt(np.einsum("ij,ij->i", X, X)), DOUBLE)
    return Candidates(distance**2, index, reach, points.n_features, DOUBLE, frame.scale)


def device_candidates(points: Points, kept: int) -> Candidates:
    """Candidates from wide tiles on the device; for dense rows.

    The columns of a tile are cut into groups, each of columns far apart, so that minima over groups
    read along rows. The ``kept`` nearest rows lie in the ``kept`` groups with the smallest minima.
    """
    n, m = len(points), points.n_known
    tiles = DenseTiles(points, np.arange(n), block_entries(points.rows, 1) // points.n_features)
    members = int(np.clip(m // (4 * kept), 1, _GROUP))
    n_groups = -(-m // members)
    columns = tiles.padded(slice(0, m), members * n_groups).T
    members_of = np.arange(members) * n_groups
    size = max(1, min(_DEVICE_ROWS, 8 * block_entries(points.rows, 1) // m))
    squared = np.empty((n - points.first, kept), dtype=tiles.dtype)
    index = np.empty((n - points.first, kept), dtype=np.int32)
    for rows in row_blocks(n - points.first, size):
        own = slice(points.first + rows.start, points.first + rows.stop)
        tile: Any = tiles.left(own) @ columns
        if points.first == 0:
            own_columns = np.arange(own.start, own.stop)
            tile[own_columns - own.start, own_columns] = np.inf
        nearest: Any = tile.reshape(-1, members, n_groups).min(axis=1)
        groups: Any = k_smallest_columns(nearest, kept)[1]
        near = (groups[:, :, None] + members_of).reshape(len(tile), -1)
        values, position = k_smallest_columns(_at(tile, near), kept)
        squared[rows] = 2 * on_host(values)
        index[rows] = on_host(_at(near, position).astype(np.int32))
    reach = tiles.reach[points.first :]
    return Candidates(squared, index, reach, tiles.n_terms, tiles.roundoff, tiles.scale)


def _at(values: Any, index: Any) -> Any:
    """Return the entries of each row at its indices."""
    return np.take_along_axis(values, index, 1)


def tile_candidates(
    points: Points, kept: int, block_size: int | None = None, choose: Any = choose_tiles
) -> Candidates:
    """Candidates from tiles, of the type to choose.

    Each tile serves its rows and its columns; those of new rows serve these alone.
    """
    n, first = len(points), points.first
    # In random order the first tiles are a random sample, whose thresholds discard nearly all
    # later entries, even if the input is sorted by class.
    order = np.random.default_rng(0).permutation(points.n_known)
    order = np.append(order, np.arange(points.n_known, n))
    tiles, block_size = choose(points, order, block_size or BLOCK_SIZE)
    known = row_blocks(points.n_known, block_size)
    blocks = [slice(first + b.start, first + b.stop) for b in row_blocks(n - first, block_size)]
    best = [_Best(block.stop - block.start, kept, tiles.dtype) for block in blocks]
    tasks = [
        (i, range(j, min(j + TILES_PER_TASK, len(known))))
        for i in range(len(blocks))
        for j in range(0 if first else i, len(known), TILES_PER_TASK)
    ]
    buffers = threading.local()

    def search(task: tuple[int, range]) -> None:
        i, strip = task
        if not hasattr(buffers, "tile"):
            buffers.tile = np.empty(block_size * block_size, dtype=tiles.dtype)
        rows = blocks[i]
        left = tiles.left(rows)
        for j in strip:
            columns = known[j]
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            out = buffers.tile[: shape[0] * shape[1]].reshape(shape)
            tile = tiles.tile(left, rows, columns, out)
            if i == j and not first:
                np.fill_diagonal(tile, np.inf)
            elif not first:
                best[j].update(tile.T, rows.start)
            best[i].update(tile, columns.start)

    map_blocks(search, tasks)
    squared = np.empty((n - first, kept), dtype=tiles.dtype)
    index = np.empty((n - first, kept), dtype=np.int32)
    reach = np.empty(n)
    for block, found in zip(blocks, best, strict=True):
        found.finish()
        ascending = np.argsort(found.value, axis=1)
        squared[order[block] - first] = 2 * np.take_along_axis(found.value, ascending, axis=1)
        index[order[block] - first] = order[np.take_along_axis(found.index, ascending, axis=1)]
    reach[order] = tiles.reach
    return Candidates(squared, index, reach[first:], tiles.n_terms, tiles.roundoff, tiles.scale)


class _Best:
    """The ``kept`` smallest values of each row of one block so far.

    Values below the thresholds are collected and inserted together, which takes a fraction of the
    time; meanwhile the thresholds are a little too large.
    """

    def __init__(self, n_rows: int, kept: int, dtype: npt.DTypeLike) -> None:
        self.value = np.full((n_rows, kept), np.inf, dtype=dtype)
        self.index = np.zeros((n_rows, kept), dtype=np.int32)
        self.threshold = np.full(n_rows, np.inf, dtype=dtype)
        self._found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._n_found = 0
        self._lock = threading.Lock()

    def update(self, tile: np.ndarray, first: int) -> None:
        """Insert smaller values; column j of the tile is the point ``first + j``."""
        if np.isinf(self.threshold).any():
            self._update_all(tile, first)
            return
        if tile.flags.c_contiguous:
            row, column = np.divmod(np.flatnonzero(tile < self.threshold[:, None]), tile.shape[1])
        else:  # the transpose of a C-ordered tile: scan in memory order
            column, row = np.divmod(np.flatnonzero(self.threshold > tile.T), tile.shape[0])
        if len(row) == 0:
            return
        value = tile[row, column]
        with self._lock:
            self._found.append((row, column.astype(np.int32) + np.int32(first), value))
            self._n_found += len(row)
            if self._n_found >= len(self.value) * max(self.value.shape[1] // 4, 1):
                self._merge()

    def finish(self) -> None:
        """Insert what has been found and not inserted yet."""
        with self._lock:
            self._merge()

    def _merge(self) -> None:
        if not self._found:
            return
        row, index, value = (np.concatenate(part) for part in zip(*self._found, strict=True))
        self._found, self._n_found = [], 0
        by_row = np.argsort(row.astype(np.uint16), kind="stable")  # radix sort
        row, index, value = row[by_row], index[by_row], value[by_row]
        counts = np.bincount(row, minlength=len(self.value))
        active = np.flatnonzero(counts)
        position = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        line = np.repeat(np.arange(len(active)), counts[active])
        kept = self.value.shape[1]
        values = np.full((len(active), kept + counts.max()), np.inf, dtype=value.dtype)
        indices = np.zeros(values.shape, dtype=np.int32)
        values[line, kept + position] = value
        indices[line, kept + position] = index
        values[:, :kept], indices[:, :kept] = self.value[active], self.index[active]
        self._keep_smallest(active, values, indices)

    def _update_all(self, tile: np.ndarray, first: int) -> None:
        """Partition whole strips of the tile, as long as there are no thresholds to filter by."""
        kept = self.value.shape[1]
        for rows in row_blocks(len(tile), 128):
            part = np.ascontiguousarray(tile[rows])
            index = np.broadcast_to(
                np.arange(first, first + part.shape[1], dtype=np.int32), part.shape
            )
            if part.shape[1] > kept:
                smallest = np.argpartition(part, kept - 1, axis=1)[:, :kept]
                part, index = np.take_along_axis(part, smallest, axis=1), first + smallest
            with self._lock:
                values = np.hstack((self.value[rows], part))
                indices = np.hstack((self.index[rows], index)).astype(np.int32)
                self._keep_smallest(rows, values, indices)

    def _keep_smallest(
        self, rows: slice | np.ndarray, values: np.ndarray, indices: np.ndarray
    ) -> None:
        kept = self.value.shape[1]
        smallest = np.argpartition(values, kept - 1, axis=1)[:, :kept]
        values = np.take_along_axis(values, smallest, axis=1)
        self.value[rows] = values
        self.index[rows] = np.take_along_axis(indices, smallest, axis=1)
        self.threshold[rows] = values.max(axis=1)
