"""The classifier over a graph of anchors: AnchorGraphClassifier."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays.memory import format_size, memory_budget
from ..graphs.anchors import WEIGHTS, AnchorGraph, anchor_components, reduced_laplacian
from ..solvers import fit_smoother
from ..spaces import kmeans_landmarks
from .base import draw_seed
from .checks import check_count, check_magnitude, check_positive, valid_rows
from .class_mass import class_factors, resolve_prior, warn_lost_mass
from .classifier import LabelClassifier, LabelledData, one_column, per_class

#: Rows an anchor stands for, at least: an anchor of a single row spreads no labels.
_ROWS_PER_ANCHOR = 4
#: Matrices of anchors by anchors that are held at once.
_SQUARES = 6
#: Rows that a class must get in total before its values can be divided by that.
_LEAST_MASS = 0.5


class AnchorGraphClassifier(LabelClassifier, BaseEstimator):
    r"""Labels spread over a graph in which rows meet at anchors; linear in the rows.

    The anchors are k-means centres. Each row x is joined to its s nearest anchors with weights
    that sum to one, a row of the sparse matrix Z, and values of rows are those of anchors in
    that mixture, f = ZA. Two rows are as near as the anchors they share, Ŵ = ZΛ⁻¹Zᵀ with
    Λ = diag(Zᵀ1), and the Laplacian I - Ŵ reduced to the m anchors is
    L̃ = ZᵀZ - (ZᵀZ)Λ⁻¹(ZᵀZ). With Y the indicators of the classes of the labelled rows,

        min_A ‖Z_l A - Y‖² + γ tr AᵀL̃A,   A = (Z_lᵀZ_l + γL̃)⁻¹ Z_lᵀ Y,

    and a row belongs to the class of the largest q_j f_j / λ_j, where λ_j is the sum of f_j over
    all training rows and q_j the expected share of the class, by default the same for all. New
    rows are joined to the anchors in the same way.

    Parameters
    ----------
    n_anchors : int, default=500
        Most anchors m. There are no more than a quarter of the rows, since anchors of single
        rows would spread nothing.
    n_neighbors : int, default=3
        s, the anchors each row is joined to; at most all.
    weights : {"kernel", "lae"}, default="kernel"
        "kernel": Gaussian of the distance to the anchor, exp(-d²/2h²), where h is the mean
        distance of the training rows to their s-th anchor. "lae" (Local Anchor Embedding): the
        mixture of the s anchors that comes closest to the row; better with many rows an anchor,
        while with few it may leave rows apart that "kernel" joins.
    reg_manifold : float, default=0.1
        γ > 0, weight of the graph.
    class_prior : {None, "labeled", "equal"}, dict or array, default="equal"
        q, the expected shares of the classes: the values of each class are scaled so that their
        sum over all training rows is proportional to its share. "equal" is that of the source;
        None does not scale. "labeled" are the shares among the labelled rows,
        (count + 1) / (rows + classes); else the share of each class, by name or in the order of
        ``classes_``.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labelled rows of each class.
    random_state : int, RandomState or None, default=0
        For k-means.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    graph_ : AnchorGraph
        The anchors and the rule; ``graph_(X)`` gives the weights of any rows.
    anchors_ : ndarray of shape (m, d)
        The anchors.
    coef_ : ndarray of shape (n_columns, m)
        Values of the anchors, A with its columns times q_j n / λ_j (times 1 for
        ``class_prior=None``); for two classes one column, the second minus the first.
    class_mass_ : ndarray of shape (n_classes,)
        λ/n, the share of each class in the values of all rows.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label reaches the row through the graph.

    Notes
    -----
    Cost: n·m·d operations for the nearest anchors and for every pass of k-means, and about 5m³
    for the solution; memory n·s + 6m² and a block of rows. X may be sparse; anchors are dense.

    References
    ----------
    W. Liu, J. He and S.-F. Chang (2010), "Large Graph Construction for Scalable Semi-Supervised
    Learning", ICML; Algorithm 1 and eqs. (3), (4), (9)-(12).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import AnchorGraphClassifier
    >>> X, truth = make_moons(400, noise=0.05, random_state=0)
    >>> y = np.full(400, -1)
    >>> y[:10] = truth[:10]
    >>> model = AnchorGraphClassifier(n_anchors=60).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth)) > 0.95
    True
    """

    def __init__(
        self,
        n_anchors: int = 500,
        *,
        n_neighbors: int = 3,
        weights: str = "kernel",
        reg_manifold: float = 0.1,
        class_prior: Any = "equal",
        unlabeled: Any = -1,
        class_weight: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.reg_manifold = reg_manifold
        self.class_prior = class_prior
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        check_count("n_anchors", self.n_anchors)
        check_count("n_neighbors", self.n_neighbors)
        check_positive("reg_manifold", self.reg_manifold)
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights must be one of {', '.join(WEIGHTS)}, got {self.weights!r}")
        X = valid_rows(self, X)
        check_magnitude(X)
        data = self._check_labels(X, y, sample_weight)
        # Refuses a bad one before the anchors are looked for.
        resolve_prior(self.class_prior, self.classes_, np.ones(len(self.classes_)))
        n_anchors = min(self.n_anchors, max(1, X.shape[0] // _ROWS_PER_ANCHOR))
        _check_room(n_anchors)
        rng = np.random.default_rng(draw_seed(self.random_state))
        # Equal rows may give equal centres.
        anchors = np.unique(kmeans_landmarks(X, n_anchors, rng), axis=0)
        self.graph_, self._Z = AnchorGraph.build(
            X, anchors, min(self.n_neighbors, len(anchors)), self.weights
        )
        self.anchors_ = self.graph_.anchors
        self._solve(data)
        return self

    def _solve(self, data: LabelledData) -> None:
        Z, n = self._Z, self._Z.shape[0]
        one_hot = (per_class(data.targets) + 1.0) / 2.0
        counts = one_hot.sum(axis=0)
        self._find_reach(data)
        penalty = self.reg_manifold * reduced_laplacian(Z)
        smoother = fit_smoother(Z[data.index], one_hot, data.weights, penalty)
        load = np.asarray(Z.sum(axis=0)).ravel()
        mass = load @ smoother.coef
        self.class_mass_ = mass / n
        if self.class_prior is not None:
            advice = ", lower reg_manifold"
            warn_lost_mass(mass, self.classes_, least=_LEAST_MASS, advice=advice, stacklevel=4)
        self.coef_ = one_column(smoother.coef * self._class_scale(mass, counts)).T
        held_mass = smoother.held_out_product(load)
        held_scale = self._class_scale(held_mass, counts - one_hot)
        self._store_decisions(
            data, np.asarray(Z @ self.coef_.T), one_column(smoother.held_out * held_scale)
        )

    def _class_scale(self, mass: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the factors of the classes, for these sums of values and labelled rows."""
        prior = resolve_prior(self.class_prior, self.classes_, counts)
        return class_factors(mass, prior, total=float(self._Z.shape[0]), least=_LEAST_MASS)

    def _find_reach(self, data: LabelledData) -> None:
        """Find the rows that share a part of the graph with a labelled one, and warn of others."""
        component = anchor_components(self._Z)[self._Z.indices[self._Z.indptr[:-1]]]
        self.label_reach_ = np.isin(component, component[data.index])
        if not self.label_reach_.all():
            warnings.warn(
                f"{int((~self.label_reach_).sum())} rows lie in parts of the graph that no label "
                "reaches (see label_reach_): their values are zero and their classes mean nothing. "
                "Label a row of each part, raise n_neighbors or lower n_anchors",
                stacklevel=4,
            )

    def _refit(self, y: np.ndarray, **arguments: Any) -> Self:
        self._solve(self._check_labels(self._Z, y, self._row_weights))
        return self

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "graph_")
        X = valid_rows(self, X, reset=False)
        return np.asarray(self.graph_(X) @ self.coef_.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _check_room(n_anchors: int) -> None:
    needed, budget = _SQUARES * 8 * n_anchors**2, memory_budget(None)
    if needed > budget:
        raise MemoryError(
            f"{n_anchors} anchors need {format_size(needed)} and {format_size(budget)} may be "
            "used: lower n_anchors"
        )
