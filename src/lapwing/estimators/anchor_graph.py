"""The classifier over a graph of anchors: AnchorGraphClassifier."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..graphs.anchors import WEIGHTS, AnchorGraph, anchor_components, reduced_laplacian
from ..plan.points import plan_anchors
from ..solvers.smoother import fit_smoother
from ..spaces.kmeans import kmeans_landmarks
from ..spaces.predictors import AnchorMixture
from .calibration import one_column
from .class_mass import check_prior, class_scales
from .graph_choice import label_reach
from .model import Classifier
from .parameters import check_positive, draw_seed, one_of
from .rows import Rows
from .run import Solution, direct_result
from .targets import Targets

#: Sum of the values of a class over all rows that is large enough to divide by.
_LEAST_MASS = 0.5


@dataclass(repr=False, eq=False)
class AnchorGraphClassifier(Classifier):
    r"""Spreads labels over a graph in which rows are joined through anchors; linear in the rows.

    The anchors are k-means centres. Each row x is joined to its s nearest anchors with weights
    that sum to one, a row of the sparse matrix Z, and values of rows are mixtures of those of the
    anchors, f = ZA. Two rows are the closer the more anchors they share, Ŵ = ZΛ⁻¹Zᵀ with
    Λ = diag(Zᵀ1), and the Laplacian I - Ŵ reduced to the m anchors is
    L̃ = ZᵀZ - (ZᵀZ)Λ⁻¹(ZᵀZ). With Y the indicators of the classes of the labelled rows,

        min_A ‖Z_l A - Y‖² + γ tr AᵀL̃A,   A = (Z_lᵀZ_l + γL̃)⁻¹ Z_lᵀ Y,

    and a row belongs to the class of the largest q_j f_j / λ_j, where λ_j is the sum of f_j over
    all training rows and q_j the expected share of the class, by default the same for all. New
    rows are joined to the anchors in the same way.

    Parameters
    ----------
    n_anchors : int, default=500
        Largest number m of anchors. There are at most a quarter as many as rows, since anchors of
        single rows would spread nothing.
    n_neighbors : int, default=3
        s, the anchors that each row is joined to; at most all.
    weights : {"kernel", "lae"}, default="kernel"
        "kernel": Gaussian of the distance to the anchor, exp(-d²/2h²), where h is the mean
        distance of the training rows to their s-th anchor. "lae" (Local Anchor Embedding): the
        mixture of the s anchors that is closest to the row; better with many rows per anchor,
        while with few it may leave rows unconnected that "kernel" joins.
    reg_manifold : float, default=0.1
        γ > 0, weight of the graph.
    class_prior : {None, "labeled", "equal"}, dict or array, default="equal"
        q, the expected shares of the classes: the values of each class are scaled so that their
        sum over all training rows is proportional to its share. "equal" is that of the source;
        None does not scale. "labeled" are the shares among the labelled rows,
        (count + 1) / (rows + classes); otherwise the share of each class, by name or in the order
        of ``classes_``.
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
        Seed of k-means.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
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
        Whether a label can reach the row through the graph.
    temperature_ : float
        Factor of the decision values in `predict_proba`.
    class_offsets_ : ndarray of shape (n_columns,)
        What ``class_shares`` has added to the decision values; zeros without it.
    result_ : SolverResult
        Status, message, passes over the rows and time of the solver.
    n_iter_ : int
        Iterations of the solver: 1.

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

    n_anchors: int = 500
    _: KW_ONLY
    n_neighbors: int = 3
    weights: str = "kernel"
    reg_manifold: float = 0.1
    class_prior: Any = "equal"
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    random_state: Any = 0

    _checks = {"reg_manifold": check_positive, "weights": one_of(*WEIGHTS)}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        check_prior(self.class_prior, targets)
        started, passes = time.perf_counter(), 0 if refit else 1
        graph, Z = (self.graph_, self._Z) if refit else self._join_rows(rows.X)
        component = anchor_components(Z)[Z.indices[Z.indptr[:-1]]]
        reach = label_reach(
            component,
            targets.index,
            "their values are zero and their classes mean nothing",
            "raise n_neighbors or lower n_anchors",
        )
        penalty = self.reg_manifold * reduced_laplacian(Z)
        smoother = fit_smoother(Z[targets.index], targets.one_hot, targets.weights, penalty)
        n, load = Z.shape[0], np.asarray(Z.sum(axis=0)).ravel()
        mass = load @ smoother.coef
        scales = class_scales(
            self.class_prior,
            targets,
            mass,
            smoother.held_out_product(load),
            total=float(n),
            least=_LEAST_MASS,
            advice=", lower reg_manifold",
        )
        coef = one_column(smoother.coef * scales.factors)
        result = direct_result("cholesky", started, passes=passes)
        held_out = one_column(smoother.held_out * scales.held_out)
        return self._set_fitted(
            rows,
            targets,
            Solution(AnchorMixture(graph, coef), result, np.asarray(Z @ coef), held_out),
            graph_=graph,
            anchors_=graph.anchors,
            coef_=coef.T,
            class_mass_=mass / n,
            label_reach_=reach,
            _Z=Z,
        )

    def _join_rows(self, X: Any) -> tuple[AnchorGraph, sp.csr_array]:
        """Return the graph of the rows and their weights Z."""
        plan = plan_anchors(X.shape[0], self.n_anchors)
        rng = np.random.default_rng(draw_seed(self.random_state))
        # Duplicate rows may give duplicate centres.
        anchors = np.unique(kmeans_landmarks(X, plan.n_points, rng), axis=0)
        return AnchorGraph.build(X, anchors, min(self.n_neighbors, len(anchors)), self.weights)

    def _kept_rows(self) -> Any:
        return self._Z
