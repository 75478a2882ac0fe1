"""Plans of manifold-regularised models: over all rows, or in the span of landmarks.

Chooses among the methods that `solvers` declares, by the memory that they declare.

Notation: n rows, d columns, m landmarks.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays.device import active_device, device_budget
from ..arrays.memory import memory_budget, require_memory
from ..arrays.threads import n_threads
from ..graphs.anchors import join_bytes
from ..kernels.functions import Kernel
from ..kernels.gram import choose_storage, gram_bytes
from ..solvers.elimination import blocks_bytes, dense_bytes, device_bytes
from ..solvers.methods import (
    ELIMINATE,
    ELIMINATE_FEATURES,
    ELIMINATE_SUPERVISED,
    MANIFOLD_CG,
    PCG,
    Method,
    Sizes,
)
from ..solvers.reduction import BASIS_ROWS, basis_bytes
from .base import Plan, storage_for_products
from .points import row_sums_bytes

logger = logging.getLogger("lapwing")

#: Rows up to which solver="auto" factors a dense matrix: with more rows, its (2/3)n³ operations
#: take longer than the iterations.
DENSE_ROWS = 10_000
#: Columns up to which linear kernels are solved by a d × d factorisation.
DENSE_FEATURES = 5_000
#: Iterations for which the iterative solver reserves memory.
PLANNED_ITERATIONS = 40


def plan_manifold(
    kernel: Kernel | None,
    sizes: Sizes,
    *,
    solver: str,
    reg_manifold: float,
    memory_limit: Any,
    ridge: float = 0.0,
) -> Plan:
    """Plan a manifold-regularised model over all rows.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel of the rows.
    sizes : Sizes
        Of the problem.
    solver : str
        The user's choice: "auto", "pcg", "cg", or one of the direct solvers.
    reg_manifold : float
        γ_I; without it the supervised solution needs only a few columns of K.
    memory_limit : int, str or None
        The user's limit.
    ridge : float
        What is added to the diagonal of the Gram matrix.

    Raises
    ------
    MemoryError
        If nothing fits.
    """
    budget, n = memory_budget(memory_limit), sizes.n_rows
    linear = kernel is not None and kernel.is_linear and ridge == 0
    direct = solver in ("auto", "newton", "dual", "direct") and reg_manifold > 0
    if direct and kernel is not None and _fits_device(kernel, sizes, budget):
        needed = (dense_bytes if n <= BASIS_ROWS else blocks_bytes)(n, sizes.n_labelled)
        require_memory(needed, budget, f"fitting {n} rows", "fit fewer unlabelled rows")
        logger.info("%s on the device, with the whole Gram matrix", ELIMINATE.name)
        plan = Plan(kernel, ELIMINATE.name, "expansion", "float64", budget, needed)
        return replace(plan, on_device=True)
    method = _choose_method(sizes, solver, reg_manifold > 0, linear, budget)
    sizes = replace(sizes, n_iter=PLANNED_ITERATIONS)
    work = method.work_bytes(sizes)
    storage: str | None = None
    if kernel is None:
        storage = "given"
    elif not linear or method.gram in ("array", "columns"):
        storage = _choose_storage(method, sizes, budget, work)
        logger.info("%s with the Gram matrix stored as %s", method.name, storage)
    stored = 0
    if method.gram == "array":  # copied if it is given in single precision
        stored = gram_bytes(n, "float64")
    elif method.gram == "products" and storage not in ("given", None):
        stored = gram_bytes(n, storage)  # chosen so that it fits
    needed = stored + work
    if method.gram != "products" or storage in ("given", None):
        advice = "use solver='auto'" if method.gram == "array" else "fit fewer unlabelled rows"
        require_memory(needed, budget, f"solver={solver!r} with {n} rows", advice)
    space = "linear" if linear else "expansion"
    plan = Plan(kernel, method.name, space, storage, budget, needed)
    room = method.affordable_iterations(sizes, budget - stored)
    return plan if room is None else replace(plan, max_iter=max(room, PLANNED_ITERATIONS))


def _fits_device(kernel: Kernel, sizes: Sizes, budget: int) -> bool:
    """Return whether a device is used, and has the memory for K and its factorisation."""
    if active_device() is None or not kernel.uses_device or sizes.is_sparse:
        return False
    if sizes.n_rows <= BASIS_ROWS and dense_bytes(sizes.n_rows, sizes.n_labelled) > budget:
        return False
    needed = device_bytes(sizes.n_rows, sizes.n_features, sizes.n_labelled)
    return needed <= device_budget()


def _choose_method(
    sizes: Sizes, solver: str, over_graph: bool, linear: bool, budget: int
) -> Method:
    n, d = sizes.n_rows, sizes.n_features
    direct = solver in ("newton", "dual", "direct")
    # A d × d matrix is better than an n × n one, but not always better than none.
    forms_gram = over_graph and (direct or (n <= DENSE_ROWS and not sizes.is_sparse))
    few_features = d <= (n if forms_gram else min(n, DENSE_FEATURES))
    if linear and solver != "pcg" and few_features and 24 * d * d <= budget:
        return ELIMINATE_FEATURES
    if solver in ("pcg", "cg"):
        return PCG if solver == "pcg" else MANIFOLD_CG
    if not over_graph:
        return ELIMINATE_SUPERVISED
    if solver == "auto" and linear and sizes.is_sparse:
        return MANIFOLD_CG  # wide text: K is never formed
    dense = n <= DENSE_ROWS and dense_bytes(n, sizes.n_labelled) <= budget
    return ELIMINATE if direct or dense else MANIFOLD_CG


def _choose_storage(method: Method, sizes: Sizes, budget: int, work: int) -> str:
    n = sizes.n_rows
    if method.gram in ("array", "columns"):
        return "float64" if method.gram == "array" else "tiled"
    if method is PCG:
        return storage_for_products(n, budget, work)
    dense = dense_bytes(n, sizes.n_labelled) if n <= DENSE_ROWS else np.inf
    return choose_storage(n, budget, work, dense)


def plan_landmarks(
    kernel: Kernel | None,
    sizes: Sizes,
    n_landmarks: int,
    *,
    memory_limit: Any,
    n_ratios: int | None = None,
) -> Plan:
    """Plan a manifold-regularised model in the span of landmarks, which is solved exactly.

    ``n_ratios`` is the number of ratios γ_I/γ_A, for a grid of these.
    """
    n, d, m = sizes.n_rows, sizes.n_features, n_landmarks
    check_not_linear(kernel)
    _check_number(n, m)
    if n_ratios is None:
        work = ELIMINATE_FEATURES.work_bytes(replace(sizes, n_features=m))
    else:
        work = basis_bytes(n, m, sizes.n_labelled, n_ratios)
    needed, budget = 8 * m * (n + d) + work, memory_budget(memory_limit)
    advice = "lower n_landmarks, fit fewer rows"
    require_memory(needed, budget, f"n_landmarks={m} with {n} rows", advice)
    return Plan(kernel, ELIMINATE_FEATURES.name, "landmarks", None, budget, needed, n_points=m)


def plan_anchored(sizes: Sizes, m: int, *, row_size: float, memory_limit: Any) -> Plan:
    """Plan the same with m landmarks and a graph of these, of which sums over rows are stored.

    ``row_size`` is the number of stored numbers per row. The kernel may depend on rows that are
    not read yet: the plan has none.
    """
    n, d, l = sizes.n_rows, sizes.n_features, sizes.n_labelled
    _check_number(n, m)
    solution = ELIMINATE_FEATURES.work_bytes(replace(sizes, n_rows=l, n_features=m))
    joined = n_threads() * join_bytes(n, d, row_size, m)
    passes = max(row_sums_bytes(n, d, row_size, m, m), joined)
    needed = int(passes + 8 * l * (row_size + m) + solution)
    budget = memory_budget(memory_limit)
    what = f"n_landmarks={m} with rows of {d} columns"
    require_memory(needed, budget, what, "lower n_landmarks")
    return Plan(None, ELIMINATE_FEATURES.name, "landmarks", None, budget, needed, n_points=m)


def check_not_linear(kernel: Kernel | None) -> None:
    """Refuse landmarks for linear kernels."""
    if kernel is not None and kernel.is_linear:
        raise ValueError(
            "n_landmarks is for kernels that are not linear: use n_landmarks=None with linear and "
            "cosine kernels"
        )


def _check_number(n: int, m: int) -> None:
    """Refuse more landmarks than rows."""
    if m > n:
        raise ValueError(
            f"n_landmarks must be at most the number of rows ({n}); got n_landmarks={m}"
        )
