"""Plans of grids and of the solution path, which need exact solutions of many problems.

A score of a solution that has not converged means nothing, so nothing here is iterative.

Notation: n rows, d columns, l labelled rows, m landmarks.
"""

from __future__ import annotations

from typing import Any

from ..arrays.memory import memory_budget, require_memory
from ..kernels.functions import Kernel
from ..kernels.gram import gram_bytes
from ..solvers.elimination import dense_bytes
from ..solvers.methods import ELIMINATE, ELIMINATE_FEATURES, Sizes
from ..solvers.reduction import basis_bytes
from .base import Plan
from .manifold import plan_landmarks


def plan_basis(
    kernel: Kernel | None,
    sizes: Sizes,
    n_ratios: int,
    *,
    n_landmarks: int | None,
    memory_limit: Any,
) -> Plan:
    """Plan a grid of weights: a basis of the rows, and one reduction for each ratio γ_I/γ_A.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel of the rows.
    sizes : Sizes
        Of the problem.
    n_ratios : int
        Different ratios γ_I/γ_A of the grid.
    n_landmarks : int or None
        Landmarks that span the functions; None for functions of all rows.
    memory_limit : int, str or None
        The user's limit.

    Returns
    -------
    Plan
        ``space`` is "landmarks", "linear" for the columns of X, or "expansion" for the factor of
        the Gram matrix.

    Raises
    ------
    MemoryError
        If the basis and the reductions do not fit.
    """
    if n_landmarks is not None:
        return plan_landmarks(
            kernel, sizes, n_landmarks, memory_limit=memory_limit, n_ratios=n_ratios
        )
    n, d, l = sizes.n_rows, sizes.n_features, sizes.n_labelled
    budget = memory_budget(memory_limit)
    if kernel is not None and kernel.is_linear and d <= n:
        space, storage, advice = "linear", None, "use fewer columns"
        needed = basis_bytes(n, d, l, n_ratios)
    else:
        space, storage = "expansion", "given" if kernel is None else "float64"
        advice = "pass n_landmarks (such as 1000) to search in the span of that many functions"
        needed = gram_bytes(n, "float64") + basis_bytes(n, n, l, n_ratios)
    advice = f"{advice}, fit fewer unlabelled rows"
    require_memory(needed, budget, f"the grid of {n} rows", advice)
    return Plan(kernel, "grid", space, storage, budget, needed)


def plan_path(kernel: Kernel | None, sizes: Sizes, *, memory_limit: Any) -> Plan:
    """Plan the solution path of a kernel: one factorisation, of d × d or of n × n numbers.

    Raises
    ------
    MemoryError
        If the factorisation does not fit.
    """
    n, d, l = sizes.n_rows, sizes.n_features, sizes.n_labelled
    budget = memory_budget(memory_limit)
    linear = kernel is not None and kernel.is_linear
    storage: str | None = "given" if kernel is None else "float64"
    method, needed = ELIMINATE, dense_bytes(n, l)
    if linear and d <= n:
        method, storage, needed = ELIMINATE_FEATURES, None, basis_bytes(n, d, l, 1)
    advice = (
        "fit fewer unlabelled rows, or map the rows to fewer features (such as "
        "sklearn.kernel_approximation.Nystroem) with kernel='linear'"
    )
    require_memory(needed, budget, f"the path of {n} rows", advice)
    space = "linear" if linear else "expansion"
    return Plan(kernel, method.name, space, storage, budget, needed)
