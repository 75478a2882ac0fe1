"""Local and global consistency over a graph of low rank: NystromLGCClassifier."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from ..arrays.blocks import RowBlocks
from ..messages import warn
from ..plan.points import plan_landmark_rows
from ..spaces.features import CUTOFF
from ..spaces.predictors import Predictor, SpreadShares, WeightedSum
from ..spaces.prototypes import LowRankGraph, Similarities, tile_rows
from ..spaces.spread import drop_rounding, shares
from .class_mass import check_prior, class_scales, mass_shares
from .landmarks import landmark_rows
from .model import Classifier
from .parameters import check_kernel_of_any_rows, draw_seed
from .row_source import source_of, with_share_values
from .rows import Rows
from .run import Solution, direct_result
from .targets import Targets


@dataclass(repr=False, eq=False)
class NystromLGCClassifier(Classifier):
    r"""Local and global consistency with the Nyström method, in time linear in the rows.

    The method of `LGCClassifier` over the full graph of a kernel, including the similarities of
    rows to themselves, approximated by K̃ = E W⁻¹ Eᵀ, where E holds the similarities of the rows to
    m landmarks and W those of the landmarks. With the degrees D̃ = diag(K̃1) and
    Φ = D̃^(-1/2) E W^(-1/2), only an m × m matrix is inverted (Woodbury),

        F = (1-α)(I - αΦΦᵀ)⁻¹Y = (1-α)(Y + αΦ(I - αΦᵀΦ)⁻¹ΦᵀY) .

    A new row gets what an unlabelled training row gets, αφ(x)(I - αΦᵀΦ)⁻¹ΦᵀY times 1 - α, where
    φ(x) are its features in the graph of the training rows, which it does not change. The method is
    meant for comparisons: `PVMClassifier` costs as much.

    Parameters
    ----------
    alpha : float, default=0.99
        α, above 0 and below 1: the weight of the graph against that of the label.
    n_landmarks : int, default=500
        m, rows that stand for the others; at most all.
    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        Kernel, which is the similarity of the graph and should not be negative.
    gamma : float, "local", "scale" or "median", default="local"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "local" is 6 over the median squared
        distance of the rows to the second nearest landmark (for poly it is "scale"): a graph must
        join near rows. "scale" is 1 / Σ Var(column), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Parameters of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    class_prior : {None, "labeled", "equal"}, dict or array, default=None
        Expected shares of the classes. The values of each class are scaled so that their sum over
        all training rows is proportional to its share. None does not scale. "labeled" are the
        shares among the labelled rows, (count + 1) / (rows + classes); otherwise the share of each
        class, by name or in the order of ``classes_``.
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
        Seed of the landmarks.
    memory_limit : int, str or None, default=None
        Memory that may be used for matrices of landmarks, in bytes or as text such as "8GB"; None
        is 60 % of the free memory.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
    landmarks_ : ndarray of shape (m, d)
        The landmarks.
    class_mass_ : ndarray of shape (n_classes,)
        The share of each class in the values of all rows, before ``class_prior``.
    kernel_ : Kernel
        The kernel, with the value of ``gamma``.
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
    Cost: n·m·d operations for the similarities in each of three passes over the rows, and n·m²;
    memory m², a tile of rows, the labelled rows and, unless rows come in blocks, n numbers per
    class. Decision values are the rows of F divided by the sum of their absolute values, and zero
    for rows whose values are rounding; ``fit`` warns of such training rows.

    ``predict`` recognises labelled training rows by exact equality and adds the part Y of their
    label; of labelled duplicates the first counts. Unlabelled duplicates of a labelled row thus get
    its value as well. In ``transduction_`` they have theirs without that label.

    The approximate degrees may be too small or negative. They are replaced by K̃_ii, the part of a
    row in its own degree, where that is larger, and eigenvalues of ΦᵀΦ are cut off at 1, the
    largest of a true graph.

    References
    ----------
    G. Camps-Valls, T. Bandos Marsheva and D. Zhou (2007), "Semi-Supervised Graph-Based
    Hyperspectral Image Classification", IEEE Transactions on Geoscience and Remote Sensing 45(10).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import NystromLGCClassifier
    >>> X, truth = make_moons(400, noise=0.05, random_state=0)
    >>> y = np.full(400, -1)
    >>> y[:10] = truth[:10]
    >>> model = NystromLGCClassifier(n_landmarks=60).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth)) > 0.95
    True
    >>> X_new, truth_new = make_moons(100, noise=0.05, random_state=1)
    >>> model.score(X_new, truth_new) > 0.95
    True
    """

    alpha: float = 0.99
    _: KW_ONLY
    n_landmarks: int = 500
    kernel: str | Callable = "rbf"
    gamma: float | str = "local"
    degree: float = 3
    coef0: float = 0.0
    class_prior: Any = None
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    random_state: Any = 0
    memory_limit: float | str | None = None

    _in_blocks = True
    _checks = {"kernel": check_kernel_of_any_rows}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        check_prior(self.class_prior, targets)
        source = source_of(self, rows)
        started, index = time.perf_counter(), source.index_of(targets)
        seed = self._seed if refit else draw_seed(self.random_state)
        passes = 1 if refit else 3 if source.in_memory else 5  # landmarks and labelled rows as well
        system = self._system if refit else self._build_system(source.blocks, seed)
        labelled, Y = source.blocks.take(index), targets.weighted_one_hot
        spread = system.spread(labelled, Y)
        F = spread.values(source.blocks, index) if source.in_memory else None
        mass, n_lost = spread.sums(source.blocks) if F is None else _sums(F, spread.least)
        if n_lost:
            warn(
                f"{n_lost} rows are so far from all labels that rounding hides their values, "
                "which are set to zero. Lower n_landmarks or gamma, or label rows near them"
            )
        scales = class_scales(self.class_prior, targets, mass, mass - spread.own_mass)
        predictor = SpreadShares(
            system.graph, spread.coef, scales.factors, spread.least, labelled, Y
        )
        # Class shares are those of the unlabelled rows, if there are any.
        given = source.labelled
        all_labelled = given is not None and len(given) == source.blocks.n_rows
        solution = Solution(
            predictor if all_labelled else predictor.without_rows(),
            direct_result("woodbury", started, passes=passes),
            None if F is None else shares(F * scales.factors),
            shares(spread.without_own() * scales.held_out),
            of_labelled=shares(spread.of_labelled * scales.factors),
        )
        solution = with_share_values(solution, source, targets, seed)
        similarities = system.graph.similarities
        return self._set_fitted(
            rows,
            targets,
            replace(solution, predictor=predictor),
            class_mass_=mass_shares(mass),
            landmarks_=similarities.points,
            kernel_=similarities.kernel,
            X_fit_=rows.X,
            _system=system,
            _seed=seed,
        )

    def _build_system(self, blocks: RowBlocks, seed: int) -> NystromSystem:
        plan = plan_landmark_rows(blocks.n_rows, self.n_landmarks, memory_limit=self.memory_limit)
        similarities = landmark_rows(self, plan, blocks, seed)
        return NystromSystem.build(blocks, similarities, float(self.alpha))

    @property
    def _of_unlabelled(self) -> Predictor:
        found = self.predictor_
        parts = found.parts if isinstance(found, WeightedSum) else (found,)
        return WeightedSum(
            tuple(one.without_rows() if isinstance(one, SpreadShares) else one for one in parts)
        )


@dataclass(frozen=True)
class NystromSystem:
    """The system I - αΦΦᵀ of all rows, whatever their labels are.

    Attributes
    ----------
    graph : LowRankGraph
        The graph K̃.
    alpha : float
        α.
    inverse : ndarray of shape (r, r)
        (I - αΦᵀΦ)⁻¹, with the eigenvalues of ΦᵀΦ cut off at 1.
    total : ndarray of shape (r,)
        Φᵀ1.
    """

    graph: LowRankGraph
    alpha: float
    inverse: np.ndarray
    total: np.ndarray

    @classmethod
    def build(cls, rows: RowBlocks, similarities: Similarities, alpha: float) -> NystromSystem:
        """Return the system of these rows. Cost: two passes over them, and n·m² operations."""
        graph = LowRankGraph.build(rows, similarities)
        r = graph.root.shape[1]

        def add(sums: list[np.ndarray], X: Any) -> None:
            phi = graph.normalized_features(X)
            sums[0] += phi.T @ phi
            sums[1] += phi.sum(axis=0)

        def start() -> list[np.ndarray]:
            return [np.zeros((r, r)), np.zeros(r)]

        gram, total = rows.sum("graph", start, add, _tile(graph))
        values, vectors = np.linalg.eigh(gram)
        # Features are scaled so that no eigenvalue of the graph is above 1.
        gain = np.minimum(1.0, 1.0 / np.maximum(values, 1e-300))
        gain /= 1.0 - alpha * np.clip(values, 0.0, 1.0)
        return cls(graph, alpha, (vectors * gain) @ vectors.T, total)

    def spread(self, labelled: Any, Y: np.ndarray) -> _Spread:
        """Return F/(1-α) for labelled rows and Y of shape (l, n_classes), zero for all others."""
        phi = self.graph.normalized_features(labelled)
        coef = self.alpha * (self.inverse @ (phi.T @ Y))
        through = self.alpha * (phi @ self.inverse)
        own = Y * (1.0 + np.einsum("ij,ij->i", through, phi))[:, None]
        own_mass = Y * (1.0 + through @ self.total)[:, None]
        return _Spread(self.graph, coef, CUTOFF * self.alpha, Y, phi @ coef, own, own_mass)


@dataclass(frozen=True)
class _Spread:
    """F/(1-α): Φ(x)·coef of any row, and Y in addition for labelled ones.

    Attributes
    ----------
    graph : LowRankGraph
        Gives Φ.
    coef : ndarray of shape (r, n_classes)
        Coefficients.
    least : float
        Sum of absolute values up to which a row holds the rounding of α times a label.
    Y, reached : ndarray of shape (l, n_classes)
        The labels, and Φ·coef of the labelled rows.
    own, own_mass : ndarray of shape (l, n_classes)
        What each label adds to its own row, and to the sum of all rows.
    """

    graph: LowRankGraph
    coef: np.ndarray
    least: float
    Y: np.ndarray
    reached: np.ndarray
    own: np.ndarray
    own_mass: np.ndarray

    def of_rows(self, X: Any) -> np.ndarray:
        """Return the values of rows without a label."""
        return self.graph.normalized_features(X) @ self.coef

    @property
    def of_labelled(self) -> np.ndarray:
        """The values of the labelled rows."""
        F = self.reached + self.Y
        drop_rounding(F, self.least)
        return F

    def without_own(self) -> np.ndarray:
        """Return the values that the labelled rows would have without their own label."""
        F = self.reached + self.Y - self.own
        drop_rounding(F, self.least)
        return F

    def values(self, blocks: RowBlocks, index: np.ndarray) -> np.ndarray:
        """Return the values of all rows, of which these are labelled. Cost: a pass over them."""
        F = blocks.map("values", self.of_rows, _tile(self.graph))
        F[index] += self.Y
        return F

    def sums(self, blocks: RowBlocks) -> tuple[np.ndarray, int]:
        """Return `_sums` of all rows, whose values are not stored. Cost: a pass over them."""

        def start() -> list[np.ndarray]:
            return [np.zeros(self.coef.shape[1]), np.zeros(1, dtype=int)]

        def add(sums: list[np.ndarray], X: Any) -> None:
            mass, n_lost = _sums(self.of_rows(X), self.least)
            sums[0] += mass
            sums[1] += n_lost

        mass, [n_lost] = blocks.sum("values", start, add, _tile(self.graph))
        # So far the labelled rows were without their labels.
        before, lost_before = _sums(self.reached.copy(), self.least)
        after, lost_after = _sums(self.reached + self.Y, self.least)
        return mass + (after - before), int(n_lost) + lost_after - lost_before


def _sums(F: np.ndarray, least: float) -> tuple[np.ndarray, int]:
    """Set rows to zero that are rounding; return the sums of all rows, and how many these are."""
    n_lost = int(drop_rounding(F, least).sum())
    return F.sum(axis=0), n_lost


def _tile(graph: LowRankGraph) -> int:
    return tile_rows(2 * len(graph.similarities.points))
