"""Plans of models in which a few points carry the function: landmark rows, anchors, prototypes.

Their matrices are m × m for m points, never n × n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.memory import memory_budget, require_memory
from ..arrays.threads import n_threads
from ..solvers.methods import Sizes
from ..spaces.kmeans import kmeans_rows
from ..spaces.prototypes import tile_rows
from .base import Plan

#: Number of landmarks × landmarks matrices in memory at once, without one for each thread.
_LANDMARK_SQUARES = 8
#: Number of bins × bins matrices in memory at once.
_BIN_SQUARES = 4
#: Smallest number of rows per anchor: an anchor of a single row spreads no labels.
_ROWS_PER_ANCHOR = 4
#: Number of anchors × anchors matrices in memory at once.
_ANCHOR_SQUARES = 6
#: n_prototypes="auto": a tenth of the rows, within these bounds.
_AUTO_BOUNDS = (100, 500)
#: Number of points × points matrices and of tiles in memory at once, for each thread and once more:
#: up to three sums over its rows, and a term that is being added.
_SUM_SQUARES = 4


def plan_landmark_rows(n: int, n_landmarks: int, *, n_labelled: int = 0, memory_limit: Any) -> Plan:
    """Plan a model over landmarks that are rows, of which ``n_labelled`` are given."""
    m = min(max(n_landmarks, n_labelled), n)
    needed, budget = 8 * (_LANDMARK_SQUARES + n_threads()) * m**2, memory_budget(memory_limit)
    advice = "lower n_landmarks, label fewer rows" if n_labelled else "lower n_landmarks"
    require_memory(needed, budget, f"fitting {m} landmarks", advice)
    return Plan(None, "direct", "landmarks", None, budget, needed, n_points=m)


def plan_anchors(n: int, n_anchors: int) -> Plan:
    """Plan a model over anchors, of which there are at most a quarter of the rows."""
    m = min(n_anchors, max(1, n // _ROWS_PER_ANCHOR))
    needed, budget = _ANCHOR_SQUARES * 8 * m**2, memory_budget(None)
    require_memory(needed, budget, f"fitting {m} anchors", "lower n_anchors", adjustable=False)
    return Plan(None, "direct", "anchors", None, budget, needed, n_points=m)


def check_bins(n: int, n_axes: int, n_bins: int) -> None:
    """Refuse histograms of n rows, or eigenproblems of their filled bins, that are too large."""
    needed = 16 * (1 + n_threads()) * n_axes * n_bins + 8 * _BIN_SQUARES * min(n, n_bins) ** 2
    what = f"making {n_axes} histograms of {n_bins} bins"
    require_memory(needed, memory_budget(None), what, "lower n_bins", adjustable=False)


def row_sums_bytes(n: int, d: int, row_size: float, n_points: int, width: int) -> float:
    """Return the memory of choosing points by k-means, and of sums over n rows by tiles of these.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    row_size : float
        Stored numbers per row.
    n_points : int
        The most points that are chosen at once; sums are matrices of points × points.
    width : int
        Values per row of a tile.
    """
    # Two copies of the sample, its indices, distances and the centres of its rows.
    sample = min(n, kmeans_rows(n_points)) * (2 * row_size + 12) + 3 * n_points * d
    rows = min(n, tile_rows(width))
    sums = _SUM_SQUARES * (n_points**2 + rows * width) + rows * row_size
    return 8 * max(sample, (n_threads() + 1) * sums)


def plan_prototypes(
    sizes: Sizes,
    *,
    n_prototypes: int | str,
    n_landmarks: int | None,
    loss: str,
    row_size: float,
    memory_limit: Any,
) -> Plan:
    """Plan a prototype vector machine.

    Parameters
    ----------
    sizes : Sizes
        Of the problem.
    n_prototypes : int or "auto"
        Prototypes of the function.
    n_landmarks : int or None
        Prototypes of the graph; None takes the same for both.
    loss : {"squared", "hinge"}
        Loss of the labelled rows.
    row_size : float
        Stored numbers per row.
    memory_limit : int, str or None
        The user's limit.

    Raises
    ------
    MemoryError
        If it does not fit.
    """
    n, d, l = sizes.n_rows, sizes.n_features, sizes.n_labelled
    k = int(np.clip(n // 10, *_AUTO_BOUNDS)) if n_prototypes == "auto" else n_prototypes
    k = min(int(k), n)
    m = k if n_landmarks is None else min(int(n_landmarks), n)
    most = max(k, m)
    solution = l * (row_size + 4 * k) + (6 * l**2 if loss == "hinge" else 0)
    needed = int(row_sums_bytes(n, d, row_size, most, m + k) + 8 * solution)
    budget = memory_budget(memory_limit)
    what = f"fitting {most} prototypes of {d} columns with {l} labelled rows"
    advice = "lower n_prototypes or n_landmarks"
    if loss == "hinge":
        advice += ", use loss='squared'"
    require_memory(needed, budget, what, advice)
    method = "box_qp" if loss == "hinge" else "ridge"
    return Plan(None, method, "prototypes", None, budget, needed, n_points=k, n_graph_points=m)
