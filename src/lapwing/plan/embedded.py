"""Plans of the Laplacian embedded models: how the graph kernel and the Gram matrix are held.

Notation: n rows, c columns of targets, k eigenvectors.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from ..arrays.memory import memory_budget, require_memory
from ..kernels import Kernel, choose_storage, gram_bytes
from ..solvers import ridge_cg_bytes, tube_bytes
from ..spaces import graph_kernel_bytes
from .base import Plan, Sizes
from .manifold import DENSE_ROWS

logger = logging.getLogger("lapwing")


def plan_tube(
    kernel: Kernel | None,
    sizes: Sizes,
    *,
    n_eigenvectors: int | None,
    reg_manifold: float,
    memory_limit: Any,
) -> Plan:
    """Plan an embedded model of the ε-insensitive loss, which is solved by decomposition.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel of the rows.
    sizes : Sizes
        Of the problem.
    n_eigenvectors : int or None
        Eigenvectors of the graph that span g; None leaves g free.
    reg_manifold : float
        μ; without it only the labelled rows are used.
    memory_limit : int, str or None
        The user's limit.

    Raises
    ------
    MemoryError
        If the rows of one working set do not fit beside the graph kernel.
    """
    budget, n = memory_budget(memory_limit), sizes.n if reg_manifold > 0 else sizes.labelled
    graph_kernel, stored = None, 0
    if reg_manifold > 0 and n_eigenvectors is not None:
        graph_kernel = "low_rank"
    elif reg_manifold > 0 and n <= DENSE_ROWS and graph_kernel_bytes(n) <= budget:
        graph_kernel, stored = "dense", 8 * n * n
    elif reg_manifold > 0:
        graph_kernel, stored = "inverse", 8 * tube_bytes(n, 0)  # blocks of conjugate gradients
    needed = stored + tube_bytes(n, sizes.columns)
    require_memory(needed, budget, f"fitting {n} rows", "fit fewer unlabelled rows")
    return Plan(
        kernel,
        "decompose",
        "expansion",
        "given" if kernel is None else None,
        budget,
        needed,
        graph_kernel=graph_kernel,
        cache_bytes=budget - stored,
    )


def plan_embedded_ridge(
    kernel: Kernel | None,
    sizes: Sizes,
    *,
    n_eigenvectors: int,
    solver: str,
    memory_limit: Any,
) -> Plan:
    """Plan an embedded model of the squared loss in the span of eigenvectors of the graph.

    ``solver`` is the user's choice: "auto", "direct" or "cg".

    Raises
    ------
    MemoryError
        If nothing fits.
    """
    n, k, budget = sizes.n, n_eigenvectors, memory_budget(memory_limit)
    needed = 24 * n * n + 8 * n * 4 * k
    what = f"solver={solver!r} with {n} rows"
    if solver == "direct" or (solver == "auto" and n <= DENSE_ROWS and needed <= budget):
        require_memory(needed, budget, what, "use solver='auto'")
        storage = "given" if kernel is None else "float64"
        return Plan(kernel, "direct", "expansion", storage, budget, needed, graph_kernel="low_rank")
    work = ridge_cg_bytes(n, k + 1)
    plan = Plan(kernel, "cg", "expansion", "given", budget, work, graph_kernel="low_rank")
    if kernel is None or kernel.is_linear:
        require_memory(work, budget, what, "fit fewer unlabelled rows")
        # A linear K is applied as products with X.
        return plan if kernel is None else replace(plan, space="linear", storage=None)
    storage = choose_storage(n, budget, work)
    logger.info("%s with the Gram matrix stored as %s", plan.method, storage)
    return replace(plan, storage=storage, n_bytes=work + gram_bytes(n, storage))
