"""Plans of the Laplacian embedded models: how the graph kernel and the Gram matrix are stored."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from ..arrays.device import DEVICE_WORK, active_device, device_budget
from ..arrays.memory import memory_budget, require_memory
from ..kernels.functions import Kernel
from ..kernels.gram import choose_storage, gram_bytes
from ..solvers.methods import RIDGE_CG, RIDGE_DIRECT, Sizes
from ..solvers.svr import tube_bytes
from ..spaces.graph_kernel import graph_kernel_bytes
from .base import Plan
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
        Number of eigenvectors of the graph that span g; None leaves g free.
    reg_manifold : float
        μ; without it only the labelled rows are used.
    memory_limit : int, str or None
        The user's limit.

    Raises
    ------
    MemoryError
        If the graph kernel and the rows of one working set do not fit.
    """
    budget, n = memory_budget(memory_limit), sizes.n_rows
    graph_kernel, stored = None, 0
    if reg_manifold == 0:
        n = sizes.n_labelled
    elif n_eigenvectors is not None:
        graph_kernel = "low_rank"
    elif n <= DENSE_ROWS and graph_kernel_bytes(n) <= budget:
        graph_kernel, stored = "dense", gram_bytes(n, "float64")
    else:
        graph_kernel, stored = "inverse", 8 * tube_bytes(n, 0)  # blocks of conjugate gradients
    needed = stored + tube_bytes(n, sizes.n_columns)
    require_memory(needed, budget, f"fitting {n} rows", "fit fewer unlabelled rows")
    on_device = graph_kernel is not None and _device_memory(kernel, sizes, n_eigenvectors or 0)
    return Plan(
        kernel,
        "decompose",
        "expansion",
        "given" if kernel is None else None,
        budget,
        needed,
        graph_kernel=graph_kernel,
        cache_bytes=on_device or budget - stored,
        on_device=bool(on_device),
    )


def _device_memory(kernel: Kernel | None, sizes: Sizes, n_eigenvectors: int) -> int:
    """Return the memory for `tube_steps` with rows of Q on the device, or 0 to stay on the host."""
    if active_device() is None or kernel is None or not kernel.uses_device or sizes.is_sparse:
        return 0
    n = sizes.n_rows
    # Rows as they are given, centred and rounded, and K of as many of them as a step takes.
    taken = 8 * n * (4 * sizes.n_features + n_eigenvectors) + min(DEVICE_WORK, 32 * n * n)
    memory = device_budget() - taken
    return memory if memory >= tube_bytes(n, sizes.n_columns) else 0


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
    n, budget = sizes.n_rows, memory_budget(memory_limit)
    sizes = replace(sizes, n_features=n_eigenvectors)
    needed = gram_bytes(n, "float64") + RIDGE_DIRECT.work_bytes(sizes)
    what = f"solver={solver!r} with {n} rows"
    if solver == "direct" or (solver == "auto" and n <= DENSE_ROWS and needed <= budget):
        require_memory(needed, budget, what, "use solver='auto'")
        storage: str | None = "given" if kernel is None else "float64"
        method = RIDGE_DIRECT.name
        return Plan(kernel, method, "expansion", storage, budget, needed, graph_kernel="low_rank")
    method, needed = RIDGE_CG.name, RIDGE_CG.work_bytes(sizes)
    if kernel is None or kernel.is_linear:
        require_memory(needed, budget, what, "fit fewer unlabelled rows")
        # A linear K is applied as products with X.
        space, storage = ("expansion", "given") if kernel is None else ("linear", None)
    else:
        space, storage = "expansion", choose_storage(n, budget, needed)
        needed += gram_bytes(n, storage)
        logger.info("%s with the Gram matrix stored as %s", method, storage)
    return Plan(kernel, method, space, storage, budget, needed, graph_kernel="low_rank")
