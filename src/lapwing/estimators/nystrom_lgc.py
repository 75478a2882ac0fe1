"""Local and global consistency over a graph of low rank: NystromLGCClassifier."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..arrays.blocks import RowBlocks
from ..messages import warn
from ..plan.points import plan_landmark_rows
from ..spaces.features import CUTOFF
from ..spaces.predictors import RowLookup
from ..spaces.prototypes import LowRankGraph, Similarities, tile_rows
from .calibration import one_column
from .class_mass import check_prior, class_scales, mass_shares
from .landmarks import landmark_rows
from .model import Classifier
from .parameters import check_kernel_of_any_rows, draw_seed
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

    The method is transductive: it has values for the training rows only, and ``predict`` refuses
    new rows. It is meant for comparisons: `PVMClassifier` costs as much and predicts new rows.

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
    memory m², a tile of rows, and n numbers per class. Decision values are the rows of F divided by
    the sum of their absolute values, and zero, with a warning, for rows whose values are rounding.

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

    _checks = {"kernel": check_kernel_of_any_rows}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        check_prior(self.class_prior, targets)
        started, passes = time.perf_counter(), 1 if refit else 3
        system = self._system if refit else self._build_system(rows.X)
        F, own, own_mass = system.solve(rows.X, targets.index, targets.weighted_one_hot)
        lost = _drop_rounding(F, self.alpha)
        if lost.any():
            warn(
                f"{int(lost.sum())} rows are so far from all labels that rounding hides their "
                "values, which are set to zero. Lower n_landmarks or gamma, or label rows near them"
            )
        mass = F.sum(axis=0)
        scales = class_scales(self.class_prior, targets, mass, mass - own_mass)
        alone = F[targets.index] - own
        _drop_rounding(alone, self.alpha)
        held_out = _shares(alone * scales.held_out)
        values = _shares(F * scales.factors)
        similarities = system.graph.similarities
        result = direct_result("woodbury", started, passes=passes)
        return self._set_fitted(
            rows,
            targets,
            Solution(RowLookup(rows.X, values), result, values, held_out),
            class_mass_=mass_shares(mass),
            landmarks_=similarities.points,
            kernel_=similarities.kernel,
            X_fit_=rows.X,
            _system=system,
        )

    def _build_system(self, X: Any) -> NystromSystem:
        plan = plan_landmark_rows(X.shape[0], self.n_landmarks, memory_limit=self.memory_limit)
        similarities = landmark_rows(self, plan, RowBlocks.of(X), draw_seed(self.random_state))
        return NystromSystem.build(RowBlocks.of(X), similarities, float(self.alpha))


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
            phi = normalized_features(graph, X)
            sums[0] += phi.T @ phi
            sums[1] += phi.sum(axis=0)

        def start() -> list[np.ndarray]:
            return [np.zeros((r, r)), np.zeros(r)]

        tile = tile_rows(2 * len(similarities.points))
        gram, total = rows.sum("graph", start, add, tile)
        values, vectors = np.linalg.eigh(gram)
        # Features are scaled so that no eigenvalue of the graph is above 1.
        gain = np.minimum(1.0, 1.0 / np.maximum(values, 1e-300))
        gain /= 1.0 - alpha * np.clip(values, 0.0, 1.0)
        return cls(graph, alpha, (vectors * gain) @ vectors.T, total)

    def solve(
        self, X: Any, index: np.ndarray, Y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return F/(1-α) of all rows, and what each label adds to its own row and to the sums.

        ``index`` are the labelled rows, and Y of shape (l, n_classes) their rows of the right-hand
        side, of which the others are zero.
        """
        graph = self.graph
        phi = normalized_features(graph, X[index])
        coef = self.alpha * (self.inverse @ (phi.T @ Y))
        tile = tile_rows(2 * len(graph.similarities.points))
        F = RowBlocks.of(X).map(
            "values", lambda part: normalized_features(graph, part) @ coef, tile
        )
        F[index] += Y
        through = self.alpha * (phi @ self.inverse)
        own = Y * (1.0 + np.einsum("ij,ij->i", through, phi))[:, None]
        return F, own, Y * (1.0 + through @ self.total)[:, None]


def normalized_features(graph: LowRankGraph, X: Any) -> np.ndarray:
    """Return Φ of some rows, with degrees of at least what a row adds to its own."""
    E = graph.similarities.raw(X)
    P = E @ graph.root
    own = np.einsum("ij,ij->i", P, P)
    degrees = np.maximum(graph.degrees(E), own)
    return P / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]


def _drop_rounding(F: np.ndarray, alpha: float) -> np.ndarray:
    """Set rows to zero that hold the rounding of α times a label; return which."""
    lost = np.abs(F).sum(axis=1) <= CUTOFF * alpha
    F[lost] = 0.0
    return lost


def _shares(F: np.ndarray) -> np.ndarray:
    """Return values over the sum of their absolute values; one column for two classes."""
    sizes = np.abs(F).sum(axis=1, keepdims=True)
    return one_column(F / np.where(sizes > 0, sizes, 1.0))
