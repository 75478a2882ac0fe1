"""The classifier over a graph of anchors: AnchorGraphClassifier."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..graphs.anchors import WEIGHTS, AnchorGraph, AnchorSums, first_anchors
from ..plan.points import plan_anchors
from ..solvers.smoother import fit_smoother
from ..spaces.kmeans import kmeans_landmarks
from ..spaces.predictors import AnchorMixture
from .calibration import one_column
from .class_mass import check_prior, class_scales
from .graph_choice import warn_unreached
from .model import Classifier
from .parameters import check_positive, draw_seed, one_of
from .row_source import kmeans_sample, source_of, with_share_values
from .rows import Rows, RowSource
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
        Whether a label can reach the row through the graph; only for rows in memory.
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

    _in_blocks = True
    _checks = {"reg_manifold": check_positive, "weights": one_of(*WEIGHTS)}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        check_prior(self.class_prior, targets)
        started, seed = time.perf_counter(), draw_seed(self.random_state)
        source = source_of(self, rows)
        joined = self._joined(rows, source, targets, seed, refit)
        graph, Z, sums, n = joined.graph, joined.Z, joined.sums, source.blocks.n_rows
        reached = self._reached(joined)
        penalty = self.reg_manifold * sums.laplacian
        smoother = fit_smoother(joined.Z_l, targets.one_hot, targets.weights, penalty)
        mass = sums.load @ smoother.coef
        scales = class_scales(
            self.class_prior,
            targets,
            mass,
            smoother.held_out_product(sums.load),
            total=float(n),
            least=_LEAST_MASS,
            advice=", lower reg_manifold",
        )
        coef = one_column(smoother.coef * scales.factors)
        predictor = AnchorMixture(graph, coef)
        solution = Solution(
            predictor,
            direct_result("cholesky", started, passes=joined.passes),
            None if Z is None else np.asarray(Z @ coef),
            one_column(smoother.held_out * scales.held_out),
            of_labelled=np.asarray(joined.Z_l @ coef),
        )
        kept = {} if Z is None else {"label_reach_": reached[first_anchors(Z)], "_Z": Z}
        return self._set_fitted(
            rows,
            targets,
            with_share_values(solution, source, targets, seed),
            graph_=graph,
            anchors_=graph.anchors,
            coef_=coef.T,
            class_mass_=mass / n,
            **kept,
        )

    def _joined(
        self, rows: Rows, source: RowSource, targets: Targets, seed: int, refit: bool
    ) -> _JoinedRows:
        """Choose anchors and join all rows to them."""
        blocks, rng = source.blocks, np.random.default_rng(seed)
        if refit:
            graph, Z = self.graph_, self._Z
            return _JoinedRows(graph, AnchorSums.of_weights(Z), Z[targets.index], Z, 0)
        m = plan_anchors(blocks.n_rows, self.n_anchors).n_points
        sample, _, X_l = kmeans_sample(source, targets, m, rng)
        # Duplicate rows may give duplicate centres.
        anchors = np.unique(kmeans_landmarks(sample, m, rng), axis=0)
        s = min(self.n_neighbors, len(anchors))
        if source.in_memory:
            graph, Z = AnchorGraph.build(rows.X, anchors, s, self.weights)
            return _JoinedRows(graph, AnchorSums.of_weights(Z), Z[targets.index], Z, 1)
        graph = AnchorGraph.of_blocks(blocks, anchors, s, self.weights)
        sums, passes = AnchorSums.of(blocks, len(anchors), graph), 2 + (self.weights == "kernel")
        return _JoinedRows(graph, sums, graph(X_l), None, passes)

    def _reached(self, joined: _JoinedRows) -> np.ndarray:
        """Return which anchors a label can reach, and warn of rows at others."""
        reached = joined.sums.reached(joined.Z_l)
        warn_unreached(
            int(joined.sums.n_first[~reached].sum()),
            "their values are zero and their classes mean nothing",
            "raise n_neighbors or lower n_anchors",
            mask="label_reach_" if joined.Z is not None else None,
        )
        return reached

    def _kept_rows(self) -> Any:
        return self._Z


@dataclass(frozen=True)
class _JoinedRows:
    """Rows, joined to anchors.

    Attributes
    ----------
    graph : AnchorGraph
        The anchors and the rule.
    sums : AnchorSums
        Over all rows.
    Z_l, Z : CSR array
        Weights of the labelled rows, and of all; None for rows in blocks.
    passes : int
        Passes over the rows.
    """

    graph: AnchorGraph
    sums: AnchorSums
    Z_l: sp.csr_array
    Z: sp.csr_array | None
    passes: int
