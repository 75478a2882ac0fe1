"""Plans of manifold-regularised models: over all rows, or in the span of landmarks.

Notation: n rows, d columns, l labelled rows, c columns of targets, m landmarks.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays.memory import memory_budget, require_memory
from ..kernels import Kernel, choose_storage, gram_bytes
from ..solvers import basis_bytes, dense_bytes, manifold_cg_bytes
from .base import Plan, Sizes

logger = logging.getLogger("lapwing")

#: Rows up to which solver="auto" factors a dense matrix: (2/3)n³ operations beyond this take
#: longer than the iterations.
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
        γ_I; without it the supervised solution needs a few columns of K only.
    memory_limit : int, str or None
        The user's limit.
    ridge : float
        What is added to the diagonal of the Gram matrix.

    Raises
    ------
    MemoryError
        If nothing fits.
    """
    budget = memory_budget(memory_limit)
    linear = kernel is not None and kernel.is_linear and ridge == 0
    method = _manifold_method(sizes, solver, reg_manifold > 0, linear, budget)
    work = _work_bytes(method, sizes, reg_manifold > 0)
    storage: str | None = None
    if kernel is None:
        storage = "given"
    elif not linear or method == "eliminate":
        storage = _storage(method, sizes, reg_manifold > 0, budget, work)
        logger.info("%s with the Gram matrix stored as %s", method, storage)
    if storage in ("given", "float64", None):
        _require_work(method, solver, sizes, work, budget)
    stored = gram_bytes(sizes.n, storage) if storage not in ("given", "float64", None) else 0
    plan = Plan(kernel, method, "linear" if linear else "expansion", storage, budget, stored + work)
    if method == "manifold_cg":
        return replace(plan, max_iter=_iteration_room(sizes, budget - stored))
    return plan


def _manifold_method(sizes: Sizes, solver: str, over_graph: bool, linear: bool, budget: int) -> str:
    n, d = sizes.n, sizes.d
    direct = solver in ("newton", "dual", "direct")
    # A d × d matrix is better than an n × n one, but not always better than none.
    forms_gram = over_graph and (direct or (n <= DENSE_ROWS and not sizes.sparse))
    few_features = d <= (n if forms_gram else min(n, DENSE_FEATURES))
    if linear and solver != "pcg" and few_features and 24 * d * d <= budget:
        return "eliminate_features"
    if solver in ("pcg", "cg"):
        return "pcg" if solver == "pcg" else "manifold_cg"
    if solver == "auto" and linear and sizes.sparse and over_graph:
        return "manifold_cg"  # wide text: K is never formed
    dense = n <= DENSE_ROWS and dense_bytes(n, sizes.labelled) <= budget
    return "eliminate" if direct or not over_graph or dense else "manifold_cg"


def _work_bytes(method: str, sizes: Sizes, over_graph: bool) -> int:
    """Return the memory of a solver, K included where it must be an array."""
    n = sizes.n
    if method == "eliminate":
        return dense_bytes(n, sizes.labelled) if over_graph else 0
    if method == "manifold_cg":
        return manifold_cg_bytes(n, sizes.labelled, sizes.columns, PLANNED_ITERATIONS)
    if method == "pcg":
        return 8 * n * sizes.columns * 24
    return 24 * sizes.d**2


def _storage(method: str, sizes: Sizes, over_graph: bool, budget: int, work: int) -> str:
    n = sizes.n
    if method == "eliminate":
        return "float64" if over_graph else "tiled"
    if method == "pcg":
        if gram_bytes(n, "float64") + work <= budget:
            return "float64"
        return choose_storage(n, budget, work)
    dense = dense_bytes(n, sizes.labelled) if n <= DENSE_ROWS else np.inf
    return choose_storage(n, budget, work, dense)


def _require_work(method: str, solver: str, sizes: Sizes, work: int, budget: int) -> None:
    """Refuse what does not fit where there is no choice of how K is stored."""
    advice = {
        "eliminate": "use solver='auto'",
        "manifold_cg": "fit fewer unlabelled rows",
    }.get(method)
    if advice is not None:
        require_memory(work, budget, f"solver={solver!r} with {sizes.n} rows", advice)


def _iteration_room(sizes: Sizes, room: int) -> int:
    """Return how many iterations of growing subspaces the memory has room for."""
    shape = sizes.n, sizes.labelled, sizes.columns
    fixed = manifold_cg_bytes(*shape, 0)
    each = manifold_cg_bytes(*shape, 1) - fixed
    return max(int((room - fixed) // each), PLANNED_ITERATIONS)


def plan_landmarks(
    kernel: Kernel | None,
    sizes: Sizes,
    n_landmarks: int,
    *,
    quadratic: bool,
    memory_limit: Any,
    n_ratios: int | None = None,
) -> Plan:
    """Plan a manifold-regularised model in the span of landmarks, which is solved exactly.

    ``quadratic`` is whether the loss is; ``n_ratios`` counts the ratios γ_I/γ_A of a grid.
    """
    n, d, m, l = sizes.n, sizes.d, n_landmarks, sizes.labelled
    if kernel is not None and kernel.is_linear:
        raise ValueError(
            "n_landmarks is for kernels that are not linear: use n_landmarks=None with linear and "
            "cosine kernels"
        )
    if m > n:
        raise ValueError(
            f"n_landmarks must be at most the number of rows ({n}); got n_landmarks={m}"
        )
    work = basis_bytes(n, m, 0, 1) + 8 * 6 * m * l
    if n_ratios is not None:
        work = basis_bytes(n, m, l, n_ratios)
    elif not quadratic:
        work += 8 * 6 * l**2  # the problem of the labelled rows
    needed, budget = 8 * m * (n + d) + work, memory_budget(memory_limit)
    advice = "lower n_landmarks, fit fewer rows"
    require_memory(needed, budget, f"n_landmarks={m} with {n} rows", advice)
    return Plan(kernel, "eliminate_features", "landmarks", None, budget, needed, n_points=m)
