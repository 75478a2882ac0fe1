"""The plan of the default: which families the memory has room for.

Notation: n rows in use, d columns, l labelled rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..arrays.memory import memory_budget, require_memory
from ..arrays.threads import n_threads
from ..solvers.lbfgs import lbfgs_bytes

#: Memory of the graph and its filters, in bytes per row.
_GRAPH_BYTES = 4_000
#: Number of labels × labels matrices in memory at once.
_LABEL_SQUARES = 4
#: The most columns of the margin family in one block, and bytes of its solver: a wider block does
#: not make the products faster.
_MARGIN_COLUMNS, MARGIN_WORK = 64, 64_000_000
#: Bytes of the self-training family for each row that it sees: coordinates, probabilities, copies.
_SELF_TRAINING_BYTES = 10_000


@dataclass(frozen=True)
class DefaultPlan:
    """The families that the memory has room for.

    Attributes
    ----------
    budget, n_bytes : int
        Bytes that may be used, and bytes that rows, graph and labels need.
    manifold_fits, margin_fits, self_training_fits : bool
        Whether the kernel matrices of these families fit into the rest.
    """

    budget: int
    n_bytes: int
    manifold_fits: bool
    margin_fits: bool
    self_training_fits: bool


def plan_default(
    n: int,
    d: int,
    *,
    row_bytes: int,
    n_labels: int,
    n_points: int,
    n_systems: int,
    margin_rows: int,
    self_training_rows: int,
    memory_limit: Any,
) -> DefaultPlan:
    """Plan a fit of the default, or refuse rows that do not fit.

    Parameters
    ----------
    n, d : int
        Rows in use, and columns.
    row_bytes : int
        Bytes of the scaled rows.
    n_labels : int
        Labels of one linear system.
    n_points, n_systems : int
        Basis functions of the manifold family, and its systems, each for another graph weight.
    margin_rows, self_training_rows : int
        Rows of these families.
    memory_limit : int, str or None
        The user's limit.
    """
    needed = row_bytes + n * _GRAPH_BYTES + 8 * _LABEL_SQUARES * n_labels**2
    budget = memory_budget(memory_limit)
    require_memory(needed, budget, f"fitting {n} rows of {d} columns", "fit fewer unlabelled rows")
    at_once = min(n_systems, n_threads())
    manifold = 2 * n * n_points + (1 + at_once) * n_points**2  # kernel, basis, systems
    manifold = 8 * (manifold + (2 + n_systems) * n_points * (n_labels + 1))  # and their solutions
    margin = 8 * margin_rows**2 + MARGIN_WORK  # kernel and solver
    self_training = self_training_rows * (2 * 8 * self_training_rows + _SELF_TRAINING_BYTES)
    room = budget - needed
    return DefaultPlan(budget, needed, manifold <= room, margin <= room, self_training <= room)


def margin_columns(n_rows: int, n_coordinates: int) -> int:
    """Return how many columns of the margin family are solved together, within `MARGIN_WORK`."""
    most = int(MARGIN_WORK // lbfgs_bytes(n_rows, n_coordinates, 1))
    return min(max(most, 1), _MARGIN_COLUMNS)
