"""What a plan is: the decisions of a fit, made before anything large is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels import Kernel


@dataclass(frozen=True)
class Sizes:
    """The sizes of a problem.

    Attributes
    ----------
    n, d : int
        Rows and columns of X.
    labelled : int
        Labelled rows.
    columns : int
        Functions that are fitted together.
    sparse : bool
        Whether X is sparse.
    """

    n: int
    d: int
    labelled: int
    columns: int
    sparse: bool = False

    @classmethod
    def of(cls, X: Any, targets: np.ndarray) -> Sizes:
        """Return the sizes of rows X and targets of shape (l, c)."""
        (n, d), (labelled, columns) = X.shape, targets.shape
        return cls(n, d, labelled, columns, sp.issparse(X))


@dataclass(frozen=True)
class Plan:
    """What was decided.

    Attributes
    ----------
    kernel : Kernel or None
        The kernel; None if X holds its values.
    method : str
        The solver.
    space : {"expansion", "linear", "landmarks"}
        Where the function is searched: expansions over all rows, linear functions of the columns,
        or functions of landmarks.
    storage : str or None
        How the Gram matrix is stored (see `kernels.choose_storage`), "given" where X holds it, and
        None where it is not formed.
    budget : int
        Bytes that may be used.
    n_bytes : int
        Bytes that are planned for, at most.
    n_points : int
        Landmarks or prototypes, if any.
    max_iter : int
        Iterations that the memory has room for.
    graph_kernel : {"dense", "inverse", "low_rank"} or None
        How the kernel of the graph is held, where a model has one: as a matrix, by conjugate
        gradients, or in the span of eigenvectors.
    cache_bytes : int
        Bytes left for rows of the Gram matrix that a solver keeps, if it does.
    """

    kernel: Kernel | None
    method: str
    space: str
    storage: str | None
    budget: int
    n_bytes: int
    n_points: int = 0
    max_iter: int = np.iinfo(np.int64).max
    graph_kernel: str | None = None
    cache_bytes: int = 0
