"""Exact nearest neighbours of every row among the others.

Indicators, and many rows that few coordinates describe well, have searches of their own. Otherwise
the search has two stages. Fast tiles in rounded arithmetic give a few more candidates per row than
neighbours. A bound on the rounding error certifies rows whose candidates contain all neighbours:
these candidates are ranked by exact float64 distances. Other rows are searched again in float64.
Knows nothing about graphs or weights.
"""

from __future__ import annotations

import logging

import numpy as np

from ..arrays.device import is_on_device
from ..arrays.threads import map_blocks, row_blocks
from .candidates import device_candidates, tile_candidates, tree_candidates
from .exact_rows import duplicate_neighbors, exact_rows, k_smallest
from .indicator_search import are_indicators, indicator_neighbors
from .points import Points
from .projected_search import choose_projection, projected_neighbors
from .tiles import distance_ceiling, distance_error

logger = logging.getLogger(__name__)

TREE_FEATURES = 8  # number of columns up to which a k-d tree is faster than tiles


def exact_neighbors(
    points: Points, k: int, block_size: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other rows of every row: squared distances (float64) and indices.

    If some rows are new, the k nearest known rows of every new one. Sorted by distance, ties by
    index. The row itself is excluded by its index, so duplicate rows are neighbours at distance 0.
    Cost: n^2 / 2 products of rows, or of a few of their coordinates, and memory for one float32
    copy of the rows plus a few tiles.
    """
    n = len(points) - points.first
    if are_indicators(points):
        return indicator_neighbors(points, k, block_size)
    only_tiles = block_size is not None
    in_tree = not only_tiles and not points.sparse and points.n_features <= TREE_FEATURES
    points = points if only_tiles or in_tree else points.on_device()
    on_device = is_on_device(points.rows)
    skips = only_tiles or on_device or points.first > 0
    projection = None if skips else choose_projection(points, k)
    if projection is not None:
        return projected_neighbors(points, projection, k)
    kept = min(points.n_others, k + max(6, k // 4))
    if in_tree:
        candidates = tree_candidates(points, kept)
    elif on_device:
        candidates = device_candidates(points, kept)
    else:
        candidates = tile_candidates(points, kept, block_size)
    nearest = candidates.squared[:, k - 1].astype(np.float64)
    ceiling = distance_ceiling(candidates.n_terms, candidates.roundoff, candidates.reach, nearest)
    error = distance_error(candidates.n_terms, candidates.roundoff, candidates.reach, ceiling)
    # The computed distance of a true neighbour never exceeds this limit.
    limit = nearest + 2 * error
    settled = candidates.squared[:, -1] > limit
    if kept == points.n_others:
        settled[:] = True

    squared = np.empty((n, k))
    index = np.empty((n, k), dtype=np.intp)

    def rank(rows: slice) -> None:
        close = candidates.squared[rows] <= limit[rows, None]
        close[~settled[rows]] = False
        row, column = np.nonzero(close)
        other = candidates.index[rows][row, column].astype(np.intp)
        chosen = np.flatnonzero(settled[rows]) + rows.start
        exact = points.squared_distances(row + rows.start + points.first, other)
        squared[chosen], index[chosen] = k_smallest(row, other, exact, k)

    map_blocks(rank, row_blocks(n, 2048))
    pending = ~settled
    suspects = np.flatnonzero(pending & (nearest <= 2 * error) & (points.first == 0))
    for rows, others in duplicate_neighbors(points, suspects, k):
        squared[rows], index[rows] = 0.0, others
        pending[rows] = False
    redo = np.flatnonzero(pending)
    logger.debug("exact search: %d of %d rows searched again in float64", len(redo), n)
    if len(redo):
        squared[redo], index[redo] = exact_rows(points, redo + points.first, k)
    return squared, index
