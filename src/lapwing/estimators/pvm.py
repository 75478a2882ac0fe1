"""Prototype vector machines: from checked rows to a solution.

    targets → plan → prototypes and sums over the rows → solution → predictor

A few k-means centres carry the function and the graph, so that a fit is a few passes over the rows,
in tiles, whatever their number. Sums over rows are computed in `spaces.prototypes`; what remains is
a problem in as many features as there are prototypes. Shared by `PVMClassifier` and `PVMRegressor`.

Notation: as there; H_l the rows of H with a label, A = HᵀSH + C₂H_uᵀH_u.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.blocks import RowBlocks, row_checksum
from ..arrays.device import on_host
from ..arrays.row_units import RowsInUnits
from ..messages import warn
from ..plan.base import Plan
from ..plan.points import plan_prototypes
from ..solvers.driver import SolverResult
from ..solvers.label_problem import fit_hinge
from ..solvers.methods import Sizes
from ..solvers.smoother import Ridge, fit_ridge
from ..solvers.stopping import decisions
from ..spaces.kmeans import kmeans_landmarks
from ..spaces.predictors import PrototypeMixture
from ..spaces.prototypes import (
    LowRankGraph,
    Similarities,
    penalty_root,
    smoothness_at_points,
    tile_rows,
)
from .base import Model
from .kernel_choice import resolve_local_kernel
from .parameters import draw_seed, is_word
from .row_source import kmeans_sample, source_of, with_share_values
from .rows import Rows, RowSource
from .run import Solution, direct_result, restored_predictor
from .targets import Targets

#: Largest value of a prototype that labels determine, as a multiple of the largest target, and the
#: largest factor of errors of targets in it.
_FARTHEST, _MOST_GAIN = 2.0, 10.0
#: Share of prototypes that labels do not reach above which a fit warns: a few rows far from all
#: others are common.
_FEW = 0.1


@dataclass(frozen=True)
class PrototypeSums:
    """What a fit needs to know of the rows, whatever their labels are.

    Attributes
    ----------
    similarities : Similarities
        Gives H, the similarities of rows to the prototypes of the function.
    landmarks : ndarray of shape (m, d)
        The prototypes of the graph.
    plus, minus : ndarray of shape (k, k)
        HᵀD̃H and HᵀK̃H, whose difference is HᵀSH.
    gram : ndarray of shape (k, k) or (0, 0)
        HᵀH, where C₂ is not zero.
    total_degree : float
        Sum of all degrees of the graph.
    """

    similarities: Similarities
    landmarks: np.ndarray
    plus: np.ndarray
    minus: np.ndarray
    gram: np.ndarray
    total_degree: float


@dataclass(frozen=True)
class KeptRows:
    """What `add_labels` needs; a pickle does not hold it, nor a fit to rows in blocks.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows.
    sums : PrototypeSums
        Their sums.
    checksum : tuple or None
        Of the rows at the time of the fit: a copy of them would take the memory that prototypes
        save.
    """

    X: Any
    sums: PrototypeSums
    checksum: tuple | None = None

    @classmethod
    def of(cls, X: Any, sums: PrototypeSums) -> KeptRows:
        """Return the rows as they are now."""
        return cls(X, sums, _checksum(X))


def fit_prototypes(
    settings: Any, rows: Rows, targets: Targets, sums: PrototypeSums | None = None
) -> Solution:
    """Choose prototypes, sum over the rows, solve, and predict rows in memory.

    ``settings`` is the estimator, of which parameters are read; ``sums`` are those of the last fit
    to the same rows, if there are any.
    """
    source = source_of(settings, rows)
    started, passes = time.perf_counter(), 1
    seed = draw_seed(settings.random_state)
    if sums is None:
        passes = 3
        shape = (source.blocks.n_rows, rows.n_features, *targets.values.shape)
        plan = plan_prototypes(
            Sizes(*shape),
            n_prototypes=settings.n_prototypes,
            n_landmarks=settings.n_landmarks,
            loss=settings.loss,
            row_size=source.row_size,
            memory_limit=settings.memory_limit,
        )
        sums, X_l = _sum_rows(settings, plan, source, targets, np.random.default_rng(seed))
    else:
        X_l = rows.X[targets.index]
    weight = _label_weight(settings, sums, targets)
    H_l = sums.similarities(X_l)
    coef, held_out = _solve(settings, sums, H_l, targets, weight)
    mixture = PrototypeMixture(sums.similarities, coef)
    attributes = {
        "prototypes_": sums.similarities.points,
        "landmarks_": sums.landmarks,
        "kernel_": sums.similarities.kernel,
        "coef_": targets.scale * coef.T,
        "reg_labeled_": weight,
        "_kept": KeptRows.of(rows.X, sums) if source.in_memory else None,
    }
    if targets.classes is None:
        attributes["intercept_"] = np.array([targets.level])
    solution = Solution(
        restored_predictor(mixture, targets),
        _result(settings.loss, started, passes),
        _values_of_all(mixture, source.blocks, targets) if source.in_memory else None,
        targets.restored(held_out),
        attributes,
        targets.restored(H_l @ coef),
    )
    return with_share_values(solution, source, targets, seed)


def kept_rows(model: Any) -> Any:
    """Return the rows of the last fit, or refuse."""
    kept = getattr(model, "_kept", None)
    if kept is None:
        raise ValueError(
            "the rows are not kept in a copy or a pickle: fit again with the new labels"
        )
    if kept.checksum is not None and kept.checksum != _checksum(kept.X):
        raise ValueError(
            "the rows have changed since the fit, which keeps no copy of them: fit again with the "
            "new labels"
        )
    return kept.X


def _checksum(X: Any) -> tuple:
    return row_checksum(X.X if isinstance(X, RowsInUnits) else X)


def state_without_rows(model: Any) -> dict[str, Any]:
    """Return the state of a pickle, which holds the prototypes and not the rows."""
    state = Model.__getstate__(model)
    return {name: value for name, value in state.items() if name != "_kept"}


def _sum_rows(
    settings: Any, plan: Plan, source: RowSource, targets: Targets, rng: np.random.Generator
) -> tuple[PrototypeSums, Any]:
    """Choose the prototypes and sum over all rows; return the sums and the labelled rows."""
    blocks = source.blocks
    if blocks.progress is not None:
        blocks.progress("choosing prototypes", 0, 1)
    k, m = plan.n_points, plan.n_graph_points
    weight = settings.labeled_weight
    sample, weights, X_l = kmeans_sample(source, targets, max(k, m), rng, weight)
    # Centres may be duplicates.
    V = U = np.unique(kmeans_landmarks(sample, k, rng, weights), axis=0)
    if settings.n_landmarks is not None:
        U = np.unique(kmeans_landmarks(sample, m, rng, weights), axis=0)
    kernel = resolve_local_kernel(settings, sample, V)
    del sample
    similarities = Similarities(kernel, V, bool(settings.normalize_rows))
    graph = LowRankGraph.build(blocks, Similarities(kernel, U))
    with_gram = settings.reg_unlabeled > 0
    sums = smoothness_at_points(blocks, graph, similarities, with_gram=with_gram)
    return PrototypeSums(similarities, U, *sums, graph.total), X_l


def _label_weight(settings: Any, sums: PrototypeSums, targets: Targets) -> float:
    """Return C₁."""
    if not is_word(settings.reg_labeled, "scale"):
        return float(settings.reg_labeled)
    return max(sums.total_degree, 1e-300) / float(targets.weights.sum())


def _solve(
    settings: Any, sums: PrototypeSums, H_l: np.ndarray, targets: Targets, weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the prototypes, shape (k, c), and held-out values."""
    plus = sums.plus
    if settings.reg_unlabeled > 0:
        plus = plus + settings.reg_unlabeled * (sums.gram - H_l.T @ H_l)
    back = penalty_root(plus, sums.minus, sums.similarities)
    features, weights, ones = H_l @ back, weight * targets.weights, np.ones((len(H_l), 1))
    ridge = fit_ridge(features, np.hstack([targets.values, ones]), weights)
    coef, held_out = ridge.coef[:, :-1], ridge.held_out[:, :-1]
    if settings.loss == "hinge":
        coef, held_out = fit_hinge(features, targets.values, weights)
    if settings.normalize_rows and settings.reg_unlabeled == 0:
        own = sums.similarities(sums.similarities.points) @ back
        _warn_of_islands(own, coef, ridge, targets)
    return back @ coef, held_out


def _warn_of_islands(
    features: np.ndarray, coef: np.ndarray, ridge: Ridge, targets: Targets
) -> None:
    """Warn of prototypes, given by their features, whose values the labels do not determine.

    The last column of the ridge is the solution for targets of one: it is the same at all
    prototypes that labels reach, since mixtures of normalised similarities include constants, which
    are not penalised. Quantities may also be undetermined where small errors become large ones.
    """
    values, reach = np.abs(features @ coef), features @ ridge.coef[:, -1]
    far = (values > _FARTHEST * float(np.abs(targets.values).max())).any(axis=1)
    if targets.classes is None:
        far |= ridge.gains(features) > _MOST_GAIN
    free = far | (reach < 0.5 * reach.max())
    if far.any() or free.mean() > _FEW:
        warn(
            f"{int(free.sum())} of {len(free)} prototypes are hardly connected to a label, which "
            "leaves the predictions near them undetermined. Lower n_prototypes or gamma, set "
            "reg_unlabeled, or label rows there"
        )


def _values_of_all(predictor: PrototypeMixture, blocks: RowBlocks, targets: Targets) -> np.ndarray:
    """Return the class codes of all rows; their values for quantities or known class shares."""
    uses_device, tile = predictor.similarities.uses_device, tile_rows(len(predictor.coef))
    if targets.classes is None or targets.shares is not None:
        return targets.restored(
            blocks.map("targets", predictor.of_tile, tile, uses_device=uses_device)
        )

    def codes(X: Any) -> np.ndarray:
        return on_host(decisions(predictor.of_tile(X))).astype(np.int32)

    return blocks.map("labels", codes, tile, uses_device=uses_device)


def _result(loss: str, started: float, passes: int) -> SolverResult:
    if loss == "squared":
        return direct_result("ridge", started, passes=passes)
    message = "Solved as a quadratic program of the labelled rows: exact up to rounding."
    return direct_result("box_qp", started, passes=passes, message=message)
