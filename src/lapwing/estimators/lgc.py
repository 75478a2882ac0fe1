"""Learning with local and global consistency: LGCClassifier."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..arrays.memory import format_size, memory_budget
from ..graphs import KNNGraph
from ..graphs.weights import graph_laplacian
from ..solvers.sparse_system import (
    factor_cost,
    factorise,
    inverse_diagonal,
    iterative_bytes,
    solve_blocks,
)
from .checks import check_count, check_magnitude, check_positive, valid_rows
from .class_mass import class_factors, labeled_shares, resolve_prior, warn_lost_mass
from .classifier import LabelledData, one_column, per_class
from .graph_choice import resolve_graph
from .transductive import TransductiveClassifier

#: Solves for a block of columns.
Solve = Callable[[np.ndarray], np.ndarray]

logger = logging.getLogger("lapwing")

SOLVERS = ("auto", "direct", "iterative")
#: Operations up to which solver="auto" factors the matrix, by their upper bound: those of a full
#: matrix of 4 500 rows, about a second. Beyond, conjugate gradients take less.
_FACTOR_OPERATIONS = 3e10
#: Labelled rows whose own part is taken out for the temperature, a solution each; more are sampled.
_HELD_OUT_ROWS = {"direct": 500, "iterative": 50}
#: Relative error of these parts: below it, a difference of two of them is none.
_HELD_OUT_ERROR = {"direct": 1e-10, "iterative": 1e-6}


class LGCClassifier(TransductiveClassifier):
    r"""Learning with local and global consistency: labels spread along a graph, to its rows only.

    With W the affinity of the graph (zero diagonal), D = diag(W1) and S = D^(-1/2) W D^(-1/2),
    every row takes from its neighbours and from its label, F ← αSF + (1-α)Y, where Y holds the
    indicators of the classes of the labelled rows. This comes to rest at

        F = (1-α)(I - αS)⁻¹Y ,

    and a row belongs to the class of its largest value. The method is transductive: it has values
    for the rows of the fit and no others, and ``predict`` refuses new rows.

    Parameters
    ----------
    alpha : float, default=0.99
        α, more than 0 and less than 1: the weight of the neighbours against that of the label.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X; None is
        ``KNNGraph()``. Only its affinity counts, not ``normalized`` or ``power``.
    solver : {"auto", "direct", "iterative"}, default="auto"
        "direct" factors I - αS, as a sparse matrix or, where more than a tenth of all pairs are
        joined, as a full one. "iterative" gets to the same F by conjugate gradients for all
        classes together, in a few dozen products with S where F ← αSF + (1-α)Y takes more than
        a thousand for α = 0.99. "auto" is direct where at most 3e10 operations are needed: up to
        4 500 rows, and for far more where the graph is thin.
    class_prior : {None, "labeled", "equal"}, dict or array, default=None
        Expected shares of the classes. The values of each class are scaled so that their sum over
        all training rows is proportional to its share. None does not scale. "labeled" are the
        shares among the labelled rows, (count + 1) / (rows + classes); else the share of each
        class, by name or in the order of ``classes_``.
    tol : float, default=1e-10
        For "iterative": the residual of each class at the end, relative to (1-α)Y.
    max_iter : int, default=1000
        For "iterative": most products with S.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labelled rows of each class.
    random_state : int, RandomState or None, default=0
        For the labelled rows that probabilities are fitted to, where there are more than 500
        ("iterative": 50); nothing else is drawn.
    memory_limit : int, str or None, default=None
        Most memory to use, in bytes or such as "8GB"; None is 60 % of what is free.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
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
        What was used.
    n_iter_ : int
        Products with S; 1 for "direct".

    Notes
    -----
    Weights multiply the rows of Y; only their ratios count. ``decision_function`` gives
    ``label_distributions_``, for two classes the second column minus the first. The temperature of
    ``predict_proba`` is fitted to labelled rows without their own label,
    F_i - (1-α)[(I - αS)⁻¹]_ii Y_i, which is exact, as F is linear in Y.

    Rows are found again by exact equality; of equal training rows with different values, the first
    counts. Since new rows are refused, scikit-learn's cross-validation cannot be used: hide labels
    and compare them with ``transduction_``.

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

    def __init__(
        self,
        alpha: float = 0.99,
        *,
        graph: Any = None,
        solver: str = "auto",
        class_prior: Any = None,
        tol: float = 1e-10,
        max_iter: int = 1000,
        unlabeled: Any = -1,
        class_weight: Any = None,
        random_state: Any = 0,
        memory_limit: Any = None,
    ) -> None:
        self.alpha = alpha
        self.graph = graph
        self.solver = solver
        self.class_prior = class_prior
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.random_state = random_state
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the labels; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = valid_rows(self, X)
        check_magnitude(X)
        data = self._check_labels(X, y, sample_weight)
        # Refuses a bad one before the graph is built.
        resolve_prior(self.class_prior, self.classes_, np.ones(len(self.classes_)))
        self.graph_ = resolve_graph(self.graph, X, KNNGraph())
        self._store_rows(X)
        self._solve(data)
        return self

    def _solve(self, data: LabelledData) -> None:
        one_hot = (per_class(data.targets) + 1.0) / 2.0
        n, n_classes = self.graph_.n_samples_, one_hot.shape[1]
        weights = data.weights / data.weights.max()
        counts = one_hot.sum(axis=0)
        prior = resolve_prior(self.class_prior, self.classes_, counts)
        self._find_reach(data)
        # The last column says what a label adds to the sum over all rows.
        right = np.zeros((n, n_classes + 1))
        right[data.index, :n_classes] = weights[:, None] * one_hot
        right[:, n_classes] = 1.0
        solution, solve = self._solve_system(right)
        share = 1.0 - float(self.alpha)
        F = share * np.maximum(solution[:, :n_classes], 0.0)  # no rounding below zero
        F[~self.label_reach_] = 0.0
        mass = F.sum(axis=0)
        self.class_mass_ = mass / mass.sum()
        if prior is not None:
            warn_lost_mass(mass, self.classes_, stacklevel=4)
        self.label_distributions_ = _distributions(F, mass, prior, labeled_shares(counts))

        # Each label is taken out of its own row and out of the sums over all rows.
        chosen = self._held_out_rows(len(data.index))
        index, own_class = data.index[chosen], one_hot[chosen]
        pull = share * weights[chosen, None] * own_class
        own = pull * inverse_diagonal(solve, n, index)[:, None]
        held_out = F[index] - own
        rounding = _HELD_OUT_ERROR[self.solver_] * own.sum(axis=1, keepdims=True)
        held_out[held_out < rounding] = 0.0
        held_mass = mass - pull * solution[index, n_classes:]
        held_counts = counts - own_class
        held_prior = resolve_prior(self.class_prior, self.classes_, held_counts)
        held_out = _distributions(held_out, held_mass, held_prior, labeled_shares(held_counts))
        sample = replace(
            data, index=index, targets=data.targets[chosen], weights=data.weights[chosen]
        )
        self._store_decisions(sample, one_column(self.label_distributions_), one_column(held_out))

    def _solve_system(self, right: np.ndarray) -> tuple[np.ndarray, Solve]:
        """Return (I - αS)⁻¹ times a block, and a function that gives it for others, less exactly.

        The function is good enough for diagonals: see `inverse_diagonal`.
        """
        A = _system(self.graph_.affinity_, float(self.alpha))
        self._choose_solver(A, right.shape[1])
        if self.solver_ == "direct":
            self.n_iter_ = 1
            factor = factorise(A)
            return factor(right), factor
        share = 1.0 - float(self.alpha)
        found = solve_blocks(A, right, self.tol, self.max_iter)
        self.n_iter_ = found.n_iter
        if not found.converged:
            warnings.warn(
                f"conjugate gradients did not come to rest in {found.n_iter} products: raise "
                f"max_iter (now {self.max_iter}) or tol, lower alpha, or use solver='direct'",
                ConvergenceWarning,
                stacklevel=4,
            )
        else:
            self._drop_rounding(found.X, found.residual / share)
        rough = float(np.sqrt(share * _HELD_OUT_ERROR["iterative"]))
        return found.X, lambda B: solve_blocks(A, B, rough, self.max_iter).X

    def _drop_rounding(self, solution: np.ndarray, error: np.ndarray) -> None:
        """Set rows to zero whose values are all smaller than their possible error, and warn."""
        lost = (solution[:, :-1] <= error[:-1]).all(axis=1)
        solution[lost, :-1] = 0.0
        lost &= self.label_reach_
        if lost.any():
            warnings.warn(
                f"{int(lost.sum())} rows are so far from all labels that the iterations do not "
                "tell their values from zero: they get the class of the prior. Lower tol, raise "
                "alpha, or use solver='direct'",
                stacklevel=5,
            )

    def _choose_solver(self, A: sp.csr_array, n_columns: int) -> None:
        """Choose from sizes and memory, before anything is factored."""
        budget, n = memory_budget(self.memory_limit), A.shape[0]
        cost = factor_cost(A)
        factor_bytes = cost.n_bytes + 16 * n * n_columns
        cheap = cost.operations <= _FACTOR_OPERATIONS and factor_bytes <= budget
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = "direct" if cheap else "iterative"
        needed, other = factor_bytes, "use solver='iterative', or "
        if self.solver_ == "iterative":
            needed, other = iterative_bytes(n, n_columns), "fit fewer unlabelled rows, or "
        if needed > budget:
            raise MemoryError(
                f"solver={self.solver!r} may need {format_size(needed)} for {n} rows and "
                f"memory_limit allows {format_size(budget)}: {other}raise memory_limit"
            )
        logger.info("%s: %s", type(self).__name__, self.solver_)

    def _find_reach(self, data: LabelledData) -> None:
        """Find the rows that share a part of the graph with a labelled one, and warn of others."""
        component = self.graph_.component_
        self.label_reach_ = np.isin(component, component[data.index])
        if not self.label_reach_.all():
            warnings.warn(
                f"{int((~self.label_reach_).sum())} rows lie in parts of the graph that no label "
                "reaches (see label_reach_): they get the class of the prior. Label a row of each "
                "part, or raise n_neighbors of the graph",
                stacklevel=4,
            )

    def _held_out_rows(self, n_labelled: int) -> np.ndarray:
        """Return numbers of labelled rows, all or a sample."""
        most = _HELD_OUT_ROWS[self.solver_]
        if n_labelled <= most:
            return np.arange(n_labelled)
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(n_labelled, most, replace=False))

    def _check_parameters(self) -> None:
        if not (isinstance(self.alpha, Real) and 0.0 < float(self.alpha) < 1.0):
            raise ValueError(f"alpha must be more than 0 and less than 1, got {self.alpha!r}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)


def _system(W: sp.csr_array, alpha: float) -> sp.csr_array:
    """Return I - αS. The diagonal is one everywhere, also where a row has no neighbour."""
    L = graph_laplacian(W, normalized=True)
    return sp.csr_array(alpha * L + sp.diags_array(1.0 - alpha * L.diagonal(), format="csr"))


def _distributions(
    F: np.ndarray, mass: np.ndarray, prior: np.ndarray | None, shares: np.ndarray
) -> np.ndarray:
    """Return values scaled to the prior, if any, and to rows that sum to one.

    Rows of zeros get the prior, or the shares. All but F may have a line for each row.
    """
    F = F * class_factors(mass, prior)
    shares = shares if prior is None else prior
    sums = F.sum(axis=1, keepdims=True)
    return np.where(sums > 0, F / np.where(sums > 0, sums, 1.0), shares)
