"""S3VC for rows in blocks: labelled rows in memory, sums over all others.

    targets → columns → plan → means → problem → stages → solution → predictor

The stages are those of `margin`. An evaluation of objective and gradient is one pass over the
blocks, for all columns together, and nothing grows with the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..plan.margin import plan_margin_blocks
from ..solvers.margin_blocks import UnlabelledBlocks
from ..solvers.methods import Sizes
from ..solvers.s3vm import MarginProblem
from ..spaces.affine import AffineSpace
from ..spaces.feature_blocks import FeatureBlocks, RowFactors
from ..spaces.kernel_space import LinearSpace
from .block_features import choose_features, sample_size
from .margin import fit_margin, margin_steps, warn_if_all_labelled, warn_of_one_class
from .margin_changes import BlockChanges, StoredChanges
from .margin_columns import Columns, count_columns, make_columns
from .parameters import draw_seed
from .row_source import with_share_values
from .rows import Rows, RowSource
from .run import Solution, held_out_values, run_solver
from .targets import Targets


def fit_margin_blocks(settings: Any, rows: Rows, targets: Targets) -> Solution:
    """Plan, build and solve the problem of an S3VC whose rows come in blocks.

    Parameters
    ----------
    settings : object
        The estimator, of which parameters are read.
    rows : Rows
        Checked rows, with a source of blocks.
    targets : Targets
        Labels of the labelled rows.
    """
    source = rows.source
    assert source is not None and source.labelled is not None
    if settings.n_landmarks is None and source.blocks.n_rows <= 2 * len(source.labelled):
        return _fit_gathered(settings, source, targets)
    n_unlabelled = _count_unlabelled(settings, source)
    how = {"supervised": n_unlabelled == 0, "warm": False}
    seed = draw_seed(settings.random_state)
    for_columns, for_features = np.random.default_rng(seed).spawn(2)
    n, n_columns = source.blocks.n_rows, count_columns(settings, targets, **how)
    plan = plan_margin_blocks(
        Sizes(n, rows.n_features, len(targets.given), n_columns),
        solver=settings.solver,
        n_landmarks=settings.n_landmarks,
        n_sample=sample_size(settings, n),
        row_size=source.row_size,
        memory_limit=settings.memory_limit,
    )
    columns = make_columns(settings, targets, **how, rng=for_columns)
    features = choose_features(settings, rows, source, for_features)
    known = _known(features.rows, source, n_unlabelled)
    problem = _problem(settings, known, targets, columns, plan.lbfgs_memory, for_features)
    changes = StoredChanges(problem, None) if n_unlabelled == 0 else BlockChanges(problem)
    steps = margin_steps(settings, problem, columns, None, changes)
    step, result = run_solver(settings, plan.method, steps, plan.max_iter)
    warn_of_one_class(targets, columns, changes)
    f = step.function
    predictor, attributes = features.model(f)
    attributes["positive_ratio_"] = columns.positive_ratio
    solution = Solution(
        predictor,
        replace(result, passes=features.rows.passes),
        None,
        held_out_values(step, targets.index),
        attributes,
        f.values[targets.index],
    )
    return with_share_values(solution, source, targets, seed)


def _fit_gathered(settings: Any, source: RowSource, targets: Targets) -> Solution:
    """Fit rows of which at least half are labelled, and therefore in memory anyway.

    Sums over a few unlabelled rows would be small differences of sums over all rows.
    """
    assert source.labelled is not None
    n, labelled = source.blocks.n_rows, source.labelled
    X = source.blocks.take(np.arange(n))
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    given, row_weights = np.full(n, -1), np.full(n, _other_weight(source))
    given[labelled], row_weights[labelled] = targets.given, targets.row_weights
    index = labelled[targets.index]
    full = replace(targets, given=given, row_weights=row_weights, index=index)
    found = fit_margin(settings, X, full, None)
    values = found.values
    assert values is not None
    kept = "kernel_", "coef_", "intercept_", "positive_ratio_"
    attributes = {name: found.attributes[name] for name in kept}
    of_unlabelled = None
    if targets.shares is None:
        attributes["class_offsets_"] = np.zeros(targets.n_columns)
    else:
        of_unlabelled = values if (given >= 0).all() else values[given < 0]
    result = replace(found.result, passes=1)
    return Solution(
        found.predictor, result, None, found.held_out, attributes, values[index], of_unlabelled
    )


@dataclass(frozen=True)
class _Known:
    """What is known of the rows before the descent.

    Attributes
    ----------
    features : FeatureBlocks
        All rows.
    labelled : ndarray or CSR matrix of shape (l, m)
        Features of the labelled rows.
    n_unlabelled : int
        Unlabelled rows that are used.
    rest : ndarray of shape (m,)
        Sum of the features of all rows without a label.
    n_rest : int
        Number of these rows.
    weight : float
        Their weight.
    norm : float
        Root mean square of the norms of the features of all rows.
    """

    features: FeatureBlocks
    labelled: Any
    n_unlabelled: int
    rest: np.ndarray
    n_rest: int
    weight: float
    norm: float


def _count_unlabelled(settings: Any, source: RowSource) -> int:
    """Return the number of unlabelled rows that are used."""
    assert source.labelled is not None
    count = source.blocks.n_rows - len(source.labelled) if _other_weight(source) > 0 else 0
    warn_if_all_labelled(settings, count)
    return count if settings.reg_unlabeled > 0 else 0


def _other_weight(source: RowSource) -> float:
    """Return the weight of the unlabelled rows; refuse weights of their own."""
    least, most = source.other_weights
    if not 0.0 <= least == most < np.inf:
        raise ValueError(
            "sample_weight differs between unlabelled rows, and rows in blocks are not weighted "
            "one by one: give all unlabelled rows the same weight, or pass the rows in memory"
        )
    return least


def _known(features: FeatureBlocks, source: RowSource, n_unlabelled: int) -> _Known:
    """Return the labelled rows and the sums over the others. Cost: two passes over the blocks."""
    assert source.labelled is not None
    labelled, n = features.take(source.labelled), source.blocks.n_rows
    total, squares = features.sum_features()
    rest = total - np.asarray(labelled.sum(axis=0)).ravel()
    norm, weight = float(np.sqrt(squares / n)), source.other_weights[0]
    return _Known(features, labelled, n_unlabelled, rest, n - labelled.shape[0], weight, norm)


def _problem(
    settings: Any,
    known: _Known,
    targets: Targets,
    columns: Columns,
    memory: int,
    rng: np.random.Generator,
) -> MarginProblem:
    """Return the objective of all columns; the space has the labelled rows alone."""
    used = known.n_unlabelled > 0
    center = level = disturbance = None
    if settings.fit_intercept:
        # As in memory: any centre serves a free intercept.
        own = targets.row_weights
        largest = max(float(own.max()), known.weight)
        own, other = own / largest, known.weight / largest
        center = other * known.rest + np.asarray(known.labelled.T @ own).ravel()
        center /= other * known.n_rest + own.sum()
    if columns.ratio is not None:
        center, level = known.rest / known.n_rest, 2.0 * columns.ratio - 1.0
    weight, factors, factor_of = 1.0 / max(known.n_rest, 1), None, None
    if used and columns.disturbance is not None:
        factors = RowFactors.draw(len(known.rest), columns.n_init - 1, known.norm, rng)
        restarts = slice(columns.per_run, columns.n_init * columns.per_run)
        factor_of = np.full(columns.size, -1)
        factor_of[restarts] = np.repeat(np.arange(columns.n_init - 1), columns.per_run)
        disturbance = np.ones((len(targets.given), columns.size))
        disturbance[:, restarts] = factors(known.labelled)[:, factor_of[restarts]]
    unlabelled = np.arange(len(targets.given) if used else 0)
    intercept = bool(settings.fit_intercept)
    return MarginProblem(
        space=AffineSpace(
            LinearSpace(known.labelled), None, level, fit_intercept=intercept, center=center
        ),
        labelled=targets.index,
        unlabelled=unlabelled,
        targets=columns.targets,
        labelled_weights=columns.weights,
        unlabelled_weights=np.full((len(unlabelled), 1), -weight),
        reg=np.full(columns.size, float(settings.reg)),
        reg_unlabeled=np.full(columns.size, float(settings.reg_unlabeled)),
        positive_ratio=columns.ratio,
        disturbance=disturbance,
        memory=memory,
        beyond=UnlabelledBlocks(known.features, weight, factors, factor_of) if used else None,
    )
