"""Manifold-regularised models over the anchor graph of their landmarks, linear in the rows.

A row is joined to its nearest landmarks, so that the smoothness term of a function of landmarks is
a sum over rows: nothing of the size of the data is stored, and rows may come in blocks.

Notation: Φ features of the landmarks, Z weights of rows on landmarks, Λ = diag(Zᵀ1), and
L = I − ZΛ⁻¹Zᵀ the Laplacian of the rows; M = ΦᵀLΦ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..arrays.blocks import RowBlocks, Sums
from ..graphs.anchors import (
    TILE_ROWS,
    AnchorGraph,
    AnchorSums,
    add_weights,
    first_anchors,
    no_weights,
)
from ..losses import Loss
from ..operators.sparse import DiagonalOperator
from ..plan.manifold import check_not_linear, plan_anchored
from ..risk import RegularizedRisk, weight_ratio
from ..solvers.methods import RISK_METHODS, Sizes, SolverOptions
from ..spaces.features import inverse_root
from ..spaces.kernel_space import LinearSpace
from ..spaces.kmeans import kmeans_landmarks
from ..spaces.prototypes import Similarities, tile_rows
from .graph_choice import KERNEL_ALONE, warn_unreached
from .kernel_choice import resolve_kernel
from .landmarks import check_landmarks
from .manifold import kernel_model
from .parameters import draw_seed, is_word
from .row_source import kmeans_sample, source_of, with_share_values
from .rows import Rows
from .run import Solution, held_out_values, restored_steps, run_solver
from .targets import Targets

#: Landmarks that a row is joined to.
_N_NEIGHBORS = 3
#: Passes over the rows: for the sample, the bandwidth of the graph, and the sums.
_PASSES = 3


def over_anchors(settings: Any) -> bool:
    """Return whether the graph of an estimator is that of anchors; refuse what does not fit it."""
    if not is_word(settings.graph, "anchors"):
        if isinstance(settings.graph, str):
            raise TypeError(
                "graph must be a KNNGraph, an affinity matrix, 'anchors' or None, got "
                f"{settings.graph!r}"
            )
        return False
    if settings.n_landmarks is None:
        raise ValueError(
            "graph='anchors' joins rows through landmarks: give their number, such as "
            "n_landmarks=500, or use graph=None"
        )
    if is_word(settings.kernel, "precomputed"):
        raise ValueError(
            "graph='anchors' needs the rows, and kernel='precomputed' has none: use graph=None, or "
            "pass the rows and a kernel function"
        )
    check_landmarks(settings)
    return True


def fit_anchored(
    settings: Any, rows: Rows, targets: Targets, loss: Loss, *, refit: bool
) -> Solution:
    """Plan and solve a problem with an ambient norm and the smoothness over an anchor graph.

    Parameters
    ----------
    settings : object
        The estimator, of which parameters are read.
    rows : Rows
        Checked rows, in memory or in blocks.
    targets : Targets
        Their labels.
    loss : Loss
        Loss of the labelled rows.
    refit : bool
        Whether the seed, and with it the landmarks, are those of the last fit.
    """
    source = source_of(settings, rows)
    seed = settings._seed if refit else draw_seed(settings.random_state)
    rng, m = np.random.default_rng(seed), settings.n_landmarks
    n, d, (l, c), limit = rows.n_rows, rows.n_features, targets.values.shape, settings.memory_limit
    sizes = Sizes(n, d, l, c, is_quadratic=loss.is_quadratic)
    plan = plan_anchored(sizes, m, row_size=source.row_size, memory_limit=limit)
    sample, _, X_l = kmeans_sample(source, targets, m, rng)
    kernel = resolve_kernel(settings, sample)
    check_not_linear(kernel)
    # Duplicate rows may give duplicate centres.
    centres = np.unique(kmeans_landmarks(sample, m, rng), axis=0)
    del sample
    joined = min(_N_NEIGHBORS, len(centres))
    graph = AnchorGraph.of_blocks(source.blocks, centres, joined, "kernel")
    assert kernel is not None
    term = _Smoothness.of(source.blocks, graph, Similarities(kernel, centres))
    basis = term.basis(float(settings.reg_ambient), float(settings.reg_manifold))
    features = term.similarities.raw(X_l) @ basis
    steps = RISK_METHODS[plan.method].run(
        _risk_in_basis(settings, features, targets, loss), SolverOptions(settings.tol, rng)
    )
    steps = restored_steps(steps, targets)
    step, result = run_solver(settings, plan.method, steps, settings.max_iter)
    function = replace(step.function, coef=basis @ step.function.coef)
    predictor, attributes = kernel_model(kernel, rows.X, function, centres)
    attributes |= {"graph_": graph, "_seed": seed}
    reached = term.sums.reached(graph(X_l))
    if settings.reg_manifold > 0:
        warn_unreached(
            int(term.sums.n_first[~reached].sum()),
            KERNEL_ALONE,
            "or lower n_landmarks",
            mask="label_reach_" if source.in_memory else None,
        )
    if source.in_memory:
        first = source.blocks.map("reach of labels", lambda X: first_anchors(graph(X)), TILE_ROWS)
        attributes["label_reach_"] = reached[first]
    solution = Solution(
        predictor,
        replace(result, passes=_PASSES),
        predictor.values(rows.X) if source.in_memory else None,
        held_out_values(step, np.arange(len(targets.index))),
        attributes,
        of_labelled=function.values,
    )
    return with_share_values(solution, source, targets, seed)


def _risk_in_basis(
    settings: Any, features: np.ndarray, targets: Targets, loss: Loss
) -> RegularizedRisk:
    """Return the problem in features whose norm has both penalties, of the labelled rows alone."""
    l = len(features)
    return RegularizedRisk(
        space=LinearSpace(features),
        loss=loss,
        labelled=np.arange(l),
        targets=targets.values,
        weights=targets.weights,
        smoothness=DiagonalOperator(np.zeros(l)),
        reg_ambient=1.0,
        reg_manifold=0.0,
        fit_intercept=bool(settings.fit_intercept),
    )


@dataclass(frozen=True)
class _Smoothness:
    """The smoothness term fᵀLf of functions of landmarks over all rows.

    A constant has none, so that intercepts need not be known.

    Attributes
    ----------
    similarities : Similarities
        Of rows to the landmarks.
    back : ndarray of shape (m, r)
        From weights of the features to coefficients of the landmarks.
    matrix : ndarray of shape (r, r)
        M, of its quadratic form in the weights of the features.
    sums : AnchorSums
        Of the graph.
    """

    similarities: Similarities
    back: np.ndarray
    matrix: np.ndarray
    sums: AnchorSums

    @classmethod
    def of(cls, rows: RowBlocks, graph: AnchorGraph, similarities: Similarities) -> Self:
        """Return the term of these rows. Cost: a pass over them, n·m·(d + 2m) operations."""
        m, back = len(similarities.points), inverse_root(similarities.raw(similarities.points))
        r = back.shape[1]

        def start() -> Sums:
            return [*no_weights(m), np.zeros((r, r)), np.zeros((m, r))]

        def add(sums: Sums, X: Any) -> None:
            Z, features = graph(X), similarities.raw(X) @ back
            add_weights(sums[:-2], Z)
            sums[-2] += features.T @ features
            sums[-1] += Z.T @ features

        *of_graph, gram, means = rows.sum("smoothness", start, add, tile_rows(m))
        sums = AnchorSums(*of_graph)
        means *= np.sqrt(sums.inverse_load)[:, None]
        return cls(similarities, back, gram - means.T @ means, sums)

    def basis(self, reg_ambient: float, reg_manifold: float) -> np.ndarray:
        """Return B of shape (m, r), with the features k(X, C)B of norm γ_A‖f‖² + γ_I fᵀLf."""
        weight_ratio(reg_ambient, reg_manifold)
        values, vectors = np.linalg.eigh(self.matrix)
        values = reg_ambient + reg_manifold * np.maximum(values, 0.0)  # negative ones are rounding
        return self.back @ (vectors / np.sqrt(values))
