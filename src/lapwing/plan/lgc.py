"""Plans of local and global consistency over a graph: a factorisation, or conjugate gradients."""

from __future__ import annotations

import logging
from typing import Any

from ..arrays.memory import memory_budget, require_memory
from ..solvers.sparse_system import FactorCost, iterative_bytes
from .base import Plan

logger = logging.getLogger("lapwing")

#: Operations up to which solver="auto" factors the matrix, by their upper bound: those of a full
#: matrix of 4 500 rows, about a second. Above, conjugate gradients are faster.
FACTOR_OPERATIONS = 3e10


def plan_lgc(cost: FactorCost, n: int, n_columns: int, *, solver: str, memory_limit: Any) -> Plan:
    """Plan the solution of a sparse system of n rows.

    Parameters
    ----------
    cost : FactorCost
        Upper bounds of the memory and operations of its factorisation.
    n, n_columns : int
        Rows, and columns of the right-hand side.
    solver : {"auto", "direct", "iterative"}
        The user's choice.
    memory_limit : int, str or None
        The user's limit.

    Raises
    ------
    MemoryError
        If it does not fit.
    """
    budget = memory_budget(memory_limit)
    needed = {
        "direct": cost.n_bytes + 16 * n * n_columns,
        "iterative": iterative_bytes(n, n_columns),
    }
    method = solver
    if solver == "auto":
        cheap = cost.operations <= FACTOR_OPERATIONS and needed["direct"] <= budget
        method = "direct" if cheap else "iterative"
    advice = {"direct": "use solver='iterative'", "iterative": "fit fewer unlabelled rows"}
    require_memory(needed[method], budget, f"solver={solver!r} with {n} rows", advice[method])
    logger.info("labels are spread by the %s solver", method)
    return Plan(None, method, "graph", None, budget, needed[method])
