"""What a plan is: the decisions of a fit, made before anything large is allocated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.functions import Kernel
from ..kernels.gram import choose_storage, gram_bytes


@dataclass(frozen=True)
class Plan:
    """The decisions of a fit.

    Attributes
    ----------
    kernel : Kernel or None
        The kernel; None if X holds its values.
    method : str
        The solver, as it is named in results.
    space : {"expansion", "linear", "landmarks", "anchors", "prototypes", "graph"}
        Where the function is searched: expansions over all rows, linear functions of the columns,
        functions of landmarks, anchors or prototypes, or values on the nodes of a graph.
    storage : str or None
        How the Gram matrix is stored (see `kernels.gram.choose_storage`), "given" where X holds it,
        and None where it is not formed.
    budget : int
        Bytes that may be used.
    n_bytes : int
        Upper bound of the bytes that are needed.
    n_points : int
        Landmarks, anchors or prototypes, if any.
    n_graph_points : int
        Points of a graph of low rank, where they may differ from those of the function.
    max_iter : int
        Iterations that the memory has room for.
    graph_kernel : {"dense", "inverse", "low_rank"} or None
        How the kernel of the graph is represented, if a model has one: as a matrix, by conjugate
        gradients, or in the span of eigenvectors.
    cache_bytes : int
        Bytes left for rows of the Gram matrix, for solvers that keep some.
    lbfgs_memory : int
        Steps that L-BFGS remembers, where it is used.
    on_device : bool
        Whether the Gram matrix, or the rows of it that are used, are on the device that is used;
        for L-BFGS, whether functions and their values are there.
    """

    kernel: Kernel | None
    method: str
    space: str
    storage: str | None
    budget: int
    n_bytes: int
    n_points: int = 0
    n_graph_points: int = 0
    max_iter: int = np.iinfo(np.int64).max
    graph_kernel: str | None = None
    cache_bytes: int = 0
    lbfgs_memory: int = 0
    on_device: bool = False


def storage_for_products(n: int, budget: int, work: int) -> str:
    """Return how to store K for many products: as a whole array if it fits, which is fastest."""
    if gram_bytes(n, "float64") + work <= budget:
        return "float64"
    return choose_storage(n, budget, work)
