"""Non-parametric function induction: NFIClassifier."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..arrays.blocks import RowBlocks
from ..plan.points import plan_landmark_rows
from ..solvers.smoother import fit_smoother
from ..spaces.predictors import PrototypeMixture
from ..spaces.prototypes import Similarities, tile_rows
from .calibration import one_column
from .class_mass import check_prior, class_scales, mass_shares
from .landmarks import landmark_rows
from .model import Classifier
from .parameters import check_kernel_of_any_rows, check_positive, draw_seed, is_word
from .row_source import source_of, with_share_values
from .rows import Rows
from .run import Solution, direct_result
from .targets import Targets


@dataclass(repr=False, eq=False)
class NFIClassifier(Classifier):
    r"""Non-parametric function induction: values at a few rows, a weighted mean elsewhere.

    The values f_S of m landmarks S, which are the labelled rows and others drawn at random,
    determine those of every row, whether a training row, a new row or a row of S, as

        f(x) = Σ_{j∈S} w(x, x_j) f_j / (Σ_{j∈S} w(x, x_j) + ε) ,

    with w the kernel. They minimise, for the indicator of each class,

        Σ_labelled (f - y)² + λ (½ Σ_ij w_ij (f_i - f_j)² + ε Σ_i f_i²)

    where pairs i, j of two rows outside S are left out: a system of m equations.

    Parameters
    ----------
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
    reg_manifold : float or "scale", default="scale"
        λ > 0, weight of the graph. "scale" is the sum of the weights of the labelled rows over the
        sum of all similarities between S and the rows, so that labels and graph have the same
        weight whatever their numbers.
    epsilon : float, default=1e-3
        ε > 0, shrinks values to zero, the more so the farther rows are from S.
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
        The rows S.
    coef_ : ndarray of shape (n_columns, m)
        Their values, after ``class_prior``; for two classes one column, the second minus the first.
    class_mass_ : ndarray of shape (n_classes,)
        The share of each class in the values of all rows, before ``class_prior``.
    kernel_ : Kernel
        The kernel, with the value of ``gamma``.
    reg_manifold_ : float
        The λ used.
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
    Cost: n·m·d operations for the similarities in each of two passes over the rows, n·m² for the
    system and 3m³ for its solution; memory 8m² and a tile of rows. There are at least as many
    landmarks as labelled rows. `add_labels` adds the rows to S, and fits again from the beginning.

    References
    ----------
    O. Delalleau, Y. Bengio and N. Le Roux (2005), "Efficient Non-Parametric Function Induction in
    Semi-Supervised Learning", AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import NFIClassifier
    >>> X, truth = make_moons(400, noise=0.05, random_state=0)
    >>> y = np.full(400, -1)
    >>> y[:10] = truth[:10]
    >>> model = NFIClassifier(n_landmarks=60).fit(X, y)
    >>> float(np.mean(model.predict(X) == truth)) > 0.95
    True
    """

    n_landmarks: int = 500
    _: KW_ONLY
    kernel: str | Callable = "rbf"
    gamma: float | str = "local"
    degree: float = 3
    coef0: float = 0.0
    reg_manifold: float | str = "scale"
    epsilon: float = 1e-3
    class_prior: Any = None
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    random_state: Any = 0
    memory_limit: float | str | None = None

    _in_blocks = True
    _checks = {
        "epsilon": check_positive,
        "kernel": check_kernel_of_any_rows,
        "reg_manifold": check_positive,
    }

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        check_prior(self.class_prior, targets)
        source, l = source_of(self, rows), len(targets.index)
        started, n = time.perf_counter(), source.blocks.n_rows
        seed = self._seed if refit else draw_seed(self.random_state)
        plan = plan_landmark_rows(n, self.n_landmarks, n_labelled=l, memory_limit=self.memory_limit)
        labelled = source.index_of(targets)
        similarities = landmark_rows(self, plan, source.blocks, seed, labelled)
        similarities = replace(similarities, normalize=True, offset=float(self.epsilon))
        term = _smoothness(source.blocks, similarities)
        weight = self.reg_manifold
        if is_word(weight, "scale"):
            weight = targets.weights.sum() / max(term.total_similarity, 1e-300)
        weight = float(weight)
        own = sp.eye_array(l, plan.n_points, format="csr")  # the first of S are labelled
        smoother = fit_smoother(own, targets.one_hot, targets.weights, weight * term.matrix)
        mass = term.load @ smoother.coef
        held_out_mass = smoother.held_out_product(term.load)
        scales = class_scales(self.class_prior, targets, mass, held_out_mass)
        coef = one_column(smoother.coef * scales.factors)
        predictor = PrototypeMixture(similarities, coef)
        result = direct_result("cholesky", started, passes=2)
        solution = Solution(
            predictor,
            result,
            predictor.values(rows.X) if source.in_memory else None,
            one_column(smoother.held_out * scales.held_out),
            of_labelled=predictor.values(similarities.points[:l]),
        )
        return self._set_fitted(
            rows,
            targets,
            with_share_values(solution, source, targets, seed),
            coef_=coef.T,
            class_mass_=mass_shares(mass),
            landmarks_=similarities.points,
            kernel_=similarities.kernel,
            reg_manifold_=weight,
            X_fit_=rows.X,
            _seed=seed,
        )


@dataclass(frozen=True)
class _Smoothness:
    """The terms of the graph as a function of the values of S, and sums over all rows.

    Attributes
    ----------
    matrix : ndarray of shape (m, m)
        The matrix of its quadratic form, without λ.
    load : ndarray of shape (m,)
        Σ_i w_ij / (Σ_j w_ij + ε): how much the value of a landmark adds to the sum of all values.
    total_similarity : float
        The sum of all w_ij.
    """

    matrix: np.ndarray
    load: np.ndarray
    total_similarity: float


def _smoothness(rows: RowBlocks, similarities: Similarities) -> _Smoothness:
    """Return the terms of the graph. Cost: a pass over the rows.

    For rows outside S, λ(Σ_j w_ij (f_i - f_j)² + εf_i²) is, with their f inserted,
    λ(Σ_j w_ij f_j² - (Σ_j w_ij + ε) f_i²). This is summed over all rows, and subtracted again for
    those of S, whose terms are the Laplacian of S.
    """
    m = len(similarities.points)

    def add(sums: list[np.ndarray], X: Any) -> None:
        E = similarities.raw(X)
        if E.min() < 0.0:
            raise ValueError(
                "the kernel gives negative similarities, and edges of a graph have positive "
                "weights: use kernel='rbf', or another kernel without negative values"
            )
        totals = E.sum(axis=1) + similarities.offset
        similarities.check_totals(totals)
        root = np.sqrt(totals)[:, None]
        sums[1] += E.sum(axis=0)
        E /= root
        sums[0] += E.T @ E
        E /= root
        sums[2] += E.sum(axis=0)

    def start() -> list[np.ndarray]:
        return [np.zeros((m, m)), np.zeros(m), np.zeros(m)]

    paired, degrees, load = rows.sum("graph", start, add, tile_rows(m))
    landmarks = RowBlocks.of(similarities.points)
    own, own_degrees, _ = landmarks.sum("graph", start, add, tile_rows(m))
    W = similarities.raw(similarities.points)
    matrix = np.diag(W.sum(axis=1) + similarities.offset) - (W + W.T) / 2.0
    matrix += np.diag(degrees - own_degrees) - (paired - own)
    return _Smoothness(matrix, load, float(degrees.sum()))
