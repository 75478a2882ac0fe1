"""Plans of margin-based models: the space they search, and how many steps L-BFGS remembers.

Notation: n rows, m landmarks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..arrays.device import active_device, device_budget
from ..arrays.device_sparse import sparse_bytes
from ..arrays.memory import memory_budget, require_memory
from ..kernels.functions import Kernel
from ..kernels.gram import gram_bytes
from ..solvers.lbfgs import LEAST_MEMORY, affordable_memory, lbfgs_bytes
from ..solvers.line_ahead import AHEAD
from ..solvers.methods import Sizes
from ..spaces.feature_blocks import pass_bytes
from .base import Plan, storage_for_products

#: Solvers whose steps are computed on a device; the others rank rows or bisect for each column.
ON_DEVICE = ("quasi-newton", "cccp")
#: Times that rows, or their Gram matrix, must fit into its memory.
_ROOM = 4
#: Vectors of the labelled rows per column: targets, weights, and the ratio of their classes.
_LABELLED_VECTORS = 5
#: Vectors of coordinates per column, beside those of L-BFGS and of a pass, where rows come in
#: blocks: functions of the last stage and of the first, and gradients of the loss of the rows now,
#: at the end and at the beginning.
_BLOCK_VECTORS = 6


def plan_margin(
    kernel: Kernel | None,
    sizes: Sizes,
    *,
    stored: int,
    solver: str,
    n_landmarks: int | None,
    landmarks: str,
    memory_limit: Any,
) -> Plan:
    """Plan a margin-based model, which is found by L-BFGS.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel of the rows.
    sizes : Sizes
        Of the problem; its columns are classes, restarts and folds.
    stored : int
        Stored entries of the rows.
    solver : str
        The user's choice.
    n_landmarks : int or None
        m, or None to search all functions of the kernel.
    landmarks : {"random", "kmeans", "pca"}
        How landmarks are found.
    memory_limit : int, str or None
        The user's limit.

    Raises
    ------
    MemoryError
        If there is no room for `LEAST_MEMORY` steps of L-BFGS.
    """
    n, columns, budget = sizes.n_rows, sizes.n_columns, memory_budget(memory_limit)
    if n_landmarks is not None:
        _check_landmarks(kernel, n, n_landmarks, landmarks)
        space, n_coordinates = "landmarks", n_landmarks
    elif kernel is not None and kernel.is_linear:
        space, n_coordinates = "linear", sizes.n_features
    else:  # L-BFGS works on the coefficients of an expansion and on its values
        space, n_coordinates = "expansion", 2 * n
    work = lbfgs_bytes(n, n_coordinates, columns, LEAST_MEMORY)
    work += 8 * columns * (n + _LABELLED_VECTORS * sizes.n_labelled)
    what, advice = f"fitting {n} rows", "lower n_init, set calibration_folds=0"
    require_memory(work, budget, what, advice)
    storage: str | None = None
    if space == "expansion" and kernel is not None:
        storage = storage_for_products(n, budget, work)
        kept = gram_bytes(n, storage)
    else:
        storage = "given" if kernel is None else None
        kept = 0 if n_landmarks is None else 16 * n * n_landmarks  # features, kernel values
        if landmarks == "pca" and n_landmarks is not None:
            kept += gram_bytes(n, "float64")
        require_memory(kept + work, budget, what, f"set n_landmarks or lower it, {advice}")
    memory = affordable_memory(n, n_coordinates, columns, budget - kept)
    plan = Plan(kernel, solver, space, storage, budget, kept + work)
    plan = replace(plan, n_points=n_landmarks or 0, lbfgs_memory=memory)
    there = lbfgs_bytes(n, n_coordinates, columns, memory)
    return replace(plan, on_device=_fits_device(plan, sizes, there, stored))


def _fits_device(plan: Plan, sizes: Sizes, work: int, stored: int) -> bool:
    """Return whether a device is used, and has memory for K or for the rows and for L-BFGS."""
    if active_device() is None or plan.method not in ON_DEVICE:
        return False
    n, d = sizes.n_rows, sizes.n_features
    if plan.space == "landmarks":
        kept = 8 * n * plan.n_points
    elif plan.space == "linear":
        kept = sparse_bytes(n, stored) + sparse_bytes(d, stored) if sizes.is_sparse else 8 * stored
    elif sizes.is_sparse:  # K is computed on the host
        return False
    elif plan.storage == "float64" and plan.kernel is not None and plan.kernel.uses_device:
        kept = gram_bytes(n, "float64") + 8 * stored
    else:
        return False
    return _ROOM * kept + work <= device_budget()


def plan_margin_blocks(
    sizes: Sizes,
    *,
    solver: str,
    n_landmarks: int | None,
    n_sample: int,
    row_size: float,
    memory_limit: Any,
) -> Plan:
    """Plan a margin-based model of rows in blocks; see `plan_margin`.

    The number of rows does not matter: in memory are the labelled ones and, for landmarks, a sample
    of ``n_sample``, with ``row_size`` stored numbers each. The kernel is not in the plan, since its
    width comes from the sample.
    """
    labelled, columns, budget = sizes.n_labelled, sizes.n_columns, memory_budget(memory_limit)
    n_coordinates, space = sizes.n_features + 1, "linear"
    if n_landmarks is not None:
        _check_count(sizes.n_rows, n_landmarks)
        n_coordinates, space = n_landmarks + 1, "landmarks"
    stored = pass_bytes(n_coordinates, AHEAD * columns)
    stored += int(16 * (labelled + n_sample) * row_size)
    if n_landmarks is not None:  # landmarks, their kernel values and eigenvectors
        stored += 8 * n_landmarks * (2 * sizes.n_features + 5 * n_landmarks + labelled)
    stored += 8 * columns * (_BLOCK_VECTORS * n_coordinates + _LABELLED_VECTORS * labelled)
    needed = stored + lbfgs_bytes(labelled, n_coordinates, columns, LEAST_MEMORY)
    what = f"fitting {n_coordinates - 1} {'columns' if n_landmarks is None else 'landmarks'}"
    require_memory(needed, budget, what, "lower n_init, set calibration_folds=0")
    memory = affordable_memory(labelled, n_coordinates, columns, budget - stored)
    points = n_landmarks or 0
    return Plan(None, solver, space, None, budget, needed, n_points=points, lbfgs_memory=memory)


def _check_count(n: int, n_landmarks: int) -> None:
    if n_landmarks > n:
        raise ValueError(
            f"n_landmarks={n_landmarks} but X has {n} rows: choose at most as many landmarks as "
            "rows, or None for all functions of the kernel"
        )


def _check_landmarks(kernel: Kernel | None, n: int, n_landmarks: int, landmarks: str) -> None:
    _check_count(n, n_landmarks)
    if kernel is None and landmarks == "kmeans":
        raise ValueError(
            "landmarks='kmeans' needs rows, and kernel='precomputed' has none: use "
            "landmarks='random' or 'pca'"
        )
