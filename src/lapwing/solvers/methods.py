"""What each solver needs, takes and runs, declared once for a planner to choose from.

A planner matches sizes, memory and the user's choices against these declarations; nothing here
chooses, and nothing here knows kernels or parameters of estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ..losses import Loss
from ..operators.base import Operator
from ..risk import RegularizedRisk
from .driver import Step
from .elimination import dense_bytes, eliminate, eliminate_features, feature_bytes, supervised_bytes
from .embedded_ridge import ridge_cg, ridge_cg_bytes, ridge_direct, ridge_direct_bytes
from .manifold_cg import manifold_cg, manifold_cg_bytes
from .pcg import pcg, pcg_bytes


@dataclass(frozen=True)
class Sizes:
    """Sizes of a problem, from which the memory of a solver follows.

    Attributes
    ----------
    n_rows, n_features : int
        Training rows; columns of these, explicit features, or functions of a graph basis.
    n_labelled, n_columns : int
        Labelled rows, and problems that are solved together.
    is_sparse : bool
        Whether the rows are sparse.
    is_quadratic : bool
        Whether the loss is quadratic.
    n_iter : int
        Iterations, for methods that keep vectors of all of them.
    """

    n_rows: int
    n_features: int
    n_labelled: int
    n_columns: int
    is_sparse: bool = False
    is_quadratic: bool = False
    n_iter: int = 0

    @classmethod
    def of(cls, X: Any, targets: np.ndarray, *, is_quadratic: bool = False) -> Sizes:
        """Return the sizes of rows X and targets of shape (l, c)."""
        (n, d), (labelled, columns) = X.shape, targets.shape
        return cls(n, d, labelled, columns, sp.issparse(X), is_quadratic)


@dataclass(frozen=True)
class SolverOptions:
    """What a run of a solver may use beside the problem.

    Attributes
    ----------
    tol : float
        Tolerance.
    rng : numpy.random.Generator
        Source of random numbers.
    start : tuple of ndarray or None
        Coefficients and intercepts of a previous solution. They are ignored by direct methods, and
        where they do not fit the problem.
    exact_gram : Operator or None
        K in double precision, where the problem holds a rounded one.
    """

    tol: float
    rng: np.random.Generator
    start: tuple[np.ndarray, np.ndarray] | None = None
    exact_gram: Operator | None = None


@dataclass(frozen=True)
class Method:
    """Declaration of a solver.

    Attributes
    ----------
    name : str
        Its name in results.
    loss_needs : tuple of str
        Attributes of `Loss` that must be true.
    gram : {"array", "products", "columns", "features"}
        How K is used: as a float64 array, in products with blocks, by the columns of the labelled
        rows, or not at all, because the space has explicit features.
    work_bytes : callable
        Memory for given `Sizes`, the storage of K or of the features not included.
    run : callable
        From the problem and `SolverOptions` to the generator of steps.
    """

    name: str
    loss_needs: tuple[str, ...]
    gram: Literal["array", "products", "columns", "features"]
    work_bytes: Callable[[Sizes], int]
    run: Callable[[Any, SolverOptions], Iterator[Step]]

    def accepts(self, loss: Loss) -> bool:
        """Return whether the loss has all that is needed."""
        return all(getattr(loss, need) for need in self.loss_needs)

    def affordable_iterations(self, sizes: Sizes, budget: int) -> int | None:
        """Return how many iterations the budget allows, None if their number takes no memory."""
        fixed = self.work_bytes(replace(sizes, n_iter=0))
        each = self.work_bytes(replace(sizes, n_iter=1)) - fixed
        return None if each == 0 else (budget - fixed) // each


def _run_pcg(risk: RegularizedRisk, options: SolverOptions) -> Iterator[Step]:
    start, shape = None, (risk.space.n_coef, risk.n_columns)
    if options.start is not None and options.start[0].shape == shape:
        start = risk.function(*options.start)
    return pcg(risk, start, options.tol)


def _run_manifold_cg(risk: RegularizedRisk, options: SolverOptions) -> Iterator[Step]:
    start = None
    if options.start is not None and risk.space.is_expansion:
        start = options.start[0] if len(options.start[0]) == risk.n_rows else None
    return manifold_cg(
        risk, tol=options.tol, rng=options.rng, start=start, exact=options.exact_gram
    )


ELIMINATE = Method(
    name="eliminate",
    loss_needs=("is_convex",),
    gram="array",
    work_bytes=lambda sizes: dense_bytes(sizes.n_rows, sizes.n_labelled) - 8 * sizes.n_rows**2,
    run=lambda risk, options: eliminate(risk, options.tol),
)
#: The same without a manifold term, where the unlabelled rows do not matter.
ELIMINATE_SUPERVISED = replace(
    ELIMINATE,
    gram="columns",
    work_bytes=lambda sizes: supervised_bytes(sizes.n_rows, sizes.n_labelled, sizes.n_columns),
)
ELIMINATE_FEATURES = Method(
    name="eliminate_features",
    loss_needs=("is_convex",),
    gram="features",
    work_bytes=lambda sizes: feature_bytes(
        sizes.n_rows,
        sizes.n_features,
        sizes.n_labelled,
        sizes.n_columns,
        is_quadratic=sizes.is_quadratic,
    ),
    run=lambda risk, options: eliminate_features(risk, options.tol),
)
MANIFOLD_CG = Method(
    name="manifold_cg",
    loss_needs=("is_convex",),
    gram="products",
    work_bytes=lambda sizes: manifold_cg_bytes(
        sizes.n_rows, sizes.n_labelled, sizes.n_columns, sizes.n_iter
    ),
    run=_run_manifold_cg,
)
PCG = Method(
    name="pcg",
    loss_needs=("is_piecewise_quadratic",),
    gram="products",
    work_bytes=lambda sizes: pcg_bytes(sizes.n_rows, sizes.n_columns),
    run=_run_pcg,
)
#: Solvers of a `RegularizedRisk` by name.
RISK_METHODS = {method.name: method for method in (ELIMINATE, ELIMINATE_FEATURES, MANIFOLD_CG, PCG)}

RIDGE_DIRECT = Method(
    name="direct",
    loss_needs=("is_quadratic",),
    gram="array",
    work_bytes=lambda sizes: ridge_direct_bytes(sizes.n_rows, sizes.n_features),
    run=lambda problem, options: ridge_direct(problem, options.tol),
)
RIDGE_CG = Method(
    name="cg",
    loss_needs=("is_quadratic",),
    gram="products",
    work_bytes=lambda sizes: ridge_cg_bytes(sizes.n_rows, sizes.n_features + 1),
    run=lambda problem, options: ridge_cg(problem, options.tol, options.rng),
)
#: Solvers of an `EmbeddedRidge` by name; its graph functions are the features.
RIDGE_METHODS = {method.name: method for method in (RIDGE_DIRECT, RIDGE_CG)}
