"""Learning with local and global consistency: LGCClassifier."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ..graphs.weights import graph_laplacian
from ..messages import warn
from ..plan.lgc import plan_lgc
from ..solvers.driver import SolverResult
from ..solvers.sparse_system import factor_cost, factorise, inverse_diagonal, solve_blocks
from ..spaces.predictors import RowLookup
from .calibration import fit_temperature, one_column
from .class_mass import check_prior, class_scales, mass_shares
from .graph_choice import graph_of_rows
from .model import Classifier
from .parameters import draw_seed, one_of
from .rows import Rows
from .run import Solution, direct_result
from .targets import Targets

SOLVERS = ("auto", "direct", "iterative")
#: Largest number of labelled rows whose own label is left out for the temperature, at one solve
#: each; of more rows a random sample is drawn.
_HELD_OUT_ROWS = {"direct": 500, "iterative": 50}
#: Relative error of the contribution of a row's own label; smaller differences are rounding.
_HELD_OUT_ERROR = {"direct": 1e-10, "iterative": 1e-6}


@dataclass(repr=False, eq=False)
class LGCClassifier(Classifier):
    r"""Learning with local and global consistency: spreads labels along a graph, to its rows only.

    With W the affinity of the graph (zero diagonal), D = diag(W1) and S = D^(-1/2) W D^(-1/2),
    every row takes from its neighbours and from its label, F ← αSF + (1-α)Y, where Y holds the
    indicators of the classes of the labelled rows. The limit is

        F = (1-α)(I - αS)⁻¹Y ,

    and a row belongs to the class of its largest value. The method is transductive: it has values
    for the training rows only, and ``predict`` refuses new rows.

    Parameters
    ----------
    alpha : float, default=0.99
        α, above 0 and below 1: the weight of the neighbours against that of the label.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A graph that was fitted to X is used as it is, another one is fitted
        to X. None is ``KNNGraph()``. Only its affinity is used, not ``normalized`` or ``power``.
    solver : {"auto", "direct", "iterative"}, default="auto"
        "direct" factors I - αS, as a sparse matrix or, where more than a tenth of all pairs are
        joined, as a dense one. "iterative" finds the same F by conjugate gradients for all classes
        together, in a few dozen products with S where F ← αSF + (1-α)Y takes more than a thousand
        for α = 0.99. "auto" is "direct" where at most 3e10 operations are needed: up to 4 500
        rows, and for far more where the graph is sparse.
    class_prior : {None, "labeled", "equal"}, dict or array, default=None
        Expected shares of the classes. The values of each class are scaled so that their sum over
        all training rows is proportional to its share. None does not scale. "labeled" are the
        shares among the labelled rows, (count + 1) / (rows + classes); otherwise the share of each
        class, by name or in the order of ``classes_``.
    tol : float, default=1e-10
        For "iterative": the residual of each class at the end, relative to (1-α)Y.
    max_iter : int, default=1000
        For "iterative": the largest number of products with S.
    unlabeled : object, default=-1
        Marker of unlabelled rows in y; None, NaN and pd.NA always count as unlabelled.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply those of the labelled rows.
    class_shares : dict, "labels" or None, default=None
        Shares of the classes among the unlabelled rows, by class; of all rows, if all are labelled.
        Decision values get an offset per class, with which the mean probabilities of these rows are
        the shares. "labels" takes the shares of the labelled rows, (count + 1) / (rows + classes),
        for labels that are a random sample. None adds no offsets.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the sample of labelled rows that probabilities are fitted to, where there are more
        than 500 ("iterative": 50).
    memory_limit : int, str or None, default=None
        Memory that may be used for the solver, in bytes or as text such as "8GB"; None is 60 % of
        the free memory.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
    label_distributions_ : ndarray of shape (n, n_classes)
        F with its rows divided by their sums, after ``class_prior``. A row that no label reaches
        has the shares of the prior, or with ``class_prior=None`` those of the labelled rows.
    class_mass_ : ndarray of shape (n_classes,)
        The share of each class in the values of all rows, before ``class_prior``.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    graph_ : KNNGraph
        The graph used.
    solver_ : {"direct", "iterative"}
        The solver used.
    temperature_ : float
        Factor of the decision values in `predict_proba`.
    class_offsets_ : ndarray of shape (n_columns,)
        What ``class_shares`` has added to the decision values; zeros without it.
    result_ : SolverResult
        Status, message, products with S and time of the solver.
    n_iter_ : int
        Products with S; 1 for "direct".

    Notes
    -----
    Weights multiply the rows of Y; only their ratios matter. ``decision_function`` returns
    ``label_distributions_``, for two classes the second column minus the first, and adds
    ``class_offsets_``. The temperature of ``predict_proba`` is fitted to labelled rows without
    their own label, F_i - (1-α)[(I - αS)⁻¹]_ii Y_i, which is exact, as F is linear in Y.

    Training rows are recognised by exact equality; of duplicate training rows with different
    values, the first counts. Since new rows are refused, scikit-learn's cross-validation cannot be
    used: hide labels and compare them with ``transduction_``.

    References
    ----------
    D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B. Schölkopf (2003), "Learning with Local and
    Global Consistency", NIPS 16; section 2.

    X. Zhu, Z. Ghahramani and J. Lafferty (2003), "Semi-Supervised Learning Using Gaussian Fields
    and Harmonic Functions", ICML; section 4, for ``class_prior``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LGCClassifier
    >>> X, truth = make_moons(400, noise=0.05, random_state=0)
    >>> y = np.full(400, -1)
    >>> y[:10] = truth[:10]
    >>> model = LGCClassifier().fit(X, y)
    >>> float(np.mean(model.transduction_ == truth)) > 0.95
    True
    """

    alpha: float = 0.99
    _: KW_ONLY
    graph: Any = None
    solver: str = "auto"
    class_prior: Any = None
    tol: float = 1e-10
    max_iter: int = 1000
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    random_state: Any = 0
    memory_limit: Any = None

    _checks = {"solver": one_of(*SOLVERS)}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        check_prior(self.class_prior, targets)
        prior = "they get the class of the prior"
        graph, reach = graph_of_rows(self, rows.X, targets, refit, consequence=prior)
        spread = _spread_labels(self, graph.affinity_, targets, reach)
        mass, solver = spread.F.sum(axis=0), spread.result.solver
        sample = _held_out_sample(self, targets, solver)
        held_out, held_out_mass = _without_own_label(self, spread, mass, targets, sample)
        scales = class_scales(self.class_prior, targets, mass, held_out_mass, sample=sample)
        shares = _distributions(spread.F, scales.factors, scales.shares)
        held_out = one_column(_distributions(held_out, scales.held_out, scales.held_out_shares))
        values, index = one_column(shares), targets.index[sample]
        weights = targets.row_weights[index]
        return self._set_fitted(
            rows,
            targets,
            Solution(RowLookup(rows.X, values), spread.result, values),
            temperature_=fit_temperature(held_out, targets.given[index], weights),
            label_distributions_=shares,
            class_mass_=mass_shares(mass),
            label_reach_=reach,
            graph_=graph,
            solver_=solver,
            X_fit_=rows.X,
        )


@dataclass(frozen=True)
class _Spread:
    """Labels that have been spread over the graph.

    Attributes
    ----------
    F : ndarray of shape (n, n_classes)
        (1-α)(I - αS)⁻¹Y.
    influence : ndarray of shape (n,)
        (I - αS)⁻¹1: the amount that a label adds to the sum over all rows, without the factor 1-α.
    solve : callable
        Returns (I - αS)⁻¹ times other columns, as exactly as `inverse_diagonal` needs it.
    result : SolverResult
        How the solver ended.
    """

    F: np.ndarray
    influence: np.ndarray
    solve: Callable[[np.ndarray], np.ndarray]
    result: SolverResult


def _spread_labels(
    settings: LGCClassifier, W: sp.csr_array, targets: Targets, reach: np.ndarray
) -> _Spread:
    """Solve for the values of all rows."""
    started = time.perf_counter()
    A, B = _system(W, float(settings.alpha)), _right_hand_side(W.shape[0], targets)
    plan = plan_lgc(
        factor_cost(A), *B.shape, solver=settings.solver, memory_limit=settings.memory_limit
    )
    if plan.method == "direct":
        solve = factorise(A)
        solution = solve(B)
        result = direct_result("direct", started, passes=1)
    else:
        solve, solution, result = _iterate(settings, A, B, reach, started)
    F = (1.0 - float(settings.alpha)) * np.maximum(solution[:, :-1], 0.0)  # no rounding below zero
    F[~reach] = 0.0
    return _Spread(F, solution[:, -1], solve, result)


def _system(W: sp.csr_array, alpha: float) -> sp.csr_array:
    """Return I - αS. The diagonal is one everywhere, also where a row has no neighbour."""
    L = graph_laplacian(W, normalized=True)
    return sp.csr_array(alpha * L + sp.diags_array(1.0 - alpha * L.diagonal(), format="csr"))


def _right_hand_side(n: int, targets: Targets) -> np.ndarray:
    """Return Y, and a column of ones that gives the influence of labels on sums over all rows."""
    Y = targets.weighted_one_hot
    B = np.zeros((n, Y.shape[1] + 1))
    B[targets.index, :-1] = Y
    B[:, -1] = 1.0
    return B


def _iterate(
    settings: LGCClassifier, A: sp.csr_array, B: np.ndarray, reach: np.ndarray, started: float
) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray, SolverResult]:
    """Solve by conjugate gradients; the function that is returned is less exact."""
    found = solve_blocks(A, B, settings.tol, settings.max_iter)
    smallest = 1.0 - float(settings.alpha)  # lower bound of the eigenvalues of A
    if found.converged:
        message = f"Converged after {found.n_iter} products with S, to the tolerance tol."
        _drop_rounding(found.X, found.residual / smallest, reach)
    else:
        message = (
            f"Not converged after {found.n_iter} products with S: raise max_iter (now "
            f"{settings.max_iter}) or tol, lower alpha, or use solver='direct'."
        )
        warn(message, ConvergenceWarning)
    result = direct_result(
        "iterative",
        started,
        passes=found.n_iter,
        message=message,
        n_iter=found.n_iter,
        converged=found.converged,
    )
    tol = float(np.sqrt(smallest * _HELD_OUT_ERROR["iterative"]))
    return lambda E: solve_blocks(A, E, tol, settings.max_iter).X, found.X, result


def _drop_rounding(solution: np.ndarray, error: np.ndarray, reach: np.ndarray) -> None:
    """Set rows to zero whose values are all smaller than their possible error, and warn."""
    lost = (solution[:, :-1] <= error[:-1]).all(axis=1)
    solution[lost, :-1] = 0.0
    lost &= reach
    if lost.any():
        warn(
            f"{int(lost.sum())} rows are so far from all labels that the iterations cannot "
            "distinguish their values from zero: they get the class of the prior. Lower tol, "
            "raise alpha, or use solver='direct'"
        )


def _held_out_sample(settings: LGCClassifier, targets: Targets, solver: str) -> np.ndarray:
    """Return which of the labelled rows are used for the temperature: all, or a random sample."""
    n_labelled, most = len(targets.index), _HELD_OUT_ROWS[solver]
    if n_labelled <= most:
        return np.arange(n_labelled)
    rng = np.random.default_rng(draw_seed(settings.random_state))
    return np.sort(rng.choice(n_labelled, most, replace=False))


def _without_own_label(
    settings: LGCClassifier,
    spread: _Spread,
    mass: np.ndarray,
    targets: Targets,
    sample: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return values of labelled rows and the sums over all rows, without the row's own label."""
    index = targets.index[sample]
    Y = (1.0 - float(settings.alpha)) * targets.weighted_one_hot[sample]
    own = Y * inverse_diagonal(spread.solve, len(spread.F), index)[:, None]
    held_out = spread.F[index] - own
    rounding = _HELD_OUT_ERROR[spread.result.solver] * own.sum(axis=1, keepdims=True)
    held_out[held_out < rounding] = 0.0
    return held_out, mass - Y * spread.influence[index, None]


def _distributions(F: np.ndarray, factors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return scaled values with rows that sum to one; rows of zeros get the shares."""
    F = F * factors
    sums = F.sum(axis=1, keepdims=True)
    return np.where(sums > 0, F / np.where(sums > 0, sums, 1.0), shares)
