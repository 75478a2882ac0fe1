"""Training rows that are read several times: in memory, or in blocks that may exceed it.

Checks them and shows progress; knows nothing of what is computed. Of rows in blocks, targets are
those of the labelled rows alone, so that nothing grows with the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from ..arrays.blocks import Progress, RowBlocks, join_rows, located, plain_rows
from ..arrays.memory import memory_budget, require_memory
from ..arrays.row_collections import Part, RowCollection
from ..arrays.row_units import SAME_UNITS, Extent, RowUnits, safe_precision
from ..messages import ProgressLine
from ..spaces.kmeans import kmeans_rows
from .invariance import units_of
from .labels import labelled_rows
from .parameters import without_objects
from .rows import ROW_DTYPE, Rows, RowSource, check_rows
from .run import Solution
from .targets import Targets

#: Rows from which offsets of class shares are computed: the standard error of a share is 0.2 %.
_SHARE_ROWS = 100_000
#: Estimators that fit at a cost linear in the rows, for messages.
_LINEAR = {
    True: "PVMClassifier, AnchorGraphClassifier, linear S3VC, SemiSupervisedClassifier",
    False: "PVMRegressor, SemiSupervisedRegressor",
}


def source_of(settings: Any, rows: Rows) -> RowSource:
    """Return a source of checked rows."""
    if rows.source is not None:
        return rows.source
    return RowSource(RowBlocks.of(rows.X, _progress(settings)), _row_size(rows.X))


def kmeans_sample(
    source: RowSource,
    targets: Targets,
    m: int,
    rng: np.random.Generator,
    labeled_weight: float = 1.0,
) -> tuple[Any, np.ndarray | None, Any]:
    """Return rows from which m centres are computed, their weights, and the labelled rows.

    A labelled row counts for ``labeled_weight`` rows. Cost: one pass over the rows.
    """
    n = source.blocks.n_rows
    size = min(n, kmeans_rows(m))
    chosen = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
    labelled = source.index_of(targets)
    index = np.union1d(chosen, labelled)
    X = source.blocks.take(index)
    X = safe_precision(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))
    X_l = X[np.searchsorted(index, labelled)]
    if labeled_weight == 1:
        return (X if len(index) == size else X[np.searchsorted(index, chosen)]), None, X_l
    # A row of the sample stands for n / size rows, a labelled one for itself.
    weights = np.ones(len(index))
    weights[np.searchsorted(index, labelled)] = labeled_weight * size / n
    return X, weights, X_l


def with_share_values(
    solution: Solution, source: RowSource, targets: Targets, seed: int
) -> Solution:
    """Return the solution with values to match class shares with, where shares are known.

    They are those of the unlabelled rows, or of all if all are labelled; above `_SHARE_ROWS` rows,
    those of a random sample. Cost for rows in blocks: one pass over them.
    """
    if targets.shares is None:
        return solution
    n, labelled = source.blocks.n_rows, source.labelled
    if labelled is None:
        labelled = np.flatnonzero(targets.labelled)
    if n > _SHARE_ROWS:
        index = np.sort(np.random.default_rng(seed).choice(n, _SHARE_ROWS, replace=False))
    else:
        index = np.arange(n)
    unlabelled = np.setdiff1d(index, labelled)
    index = unlabelled if len(unlabelled) else index
    values = solution.values
    if values is None:
        of_unlabelled = solution.predictor.values(source.blocks.take(index))
        result = replace(solution.result, passes=solution.result.passes + 1)
        return replace(solution, of_unlabelled=of_unlabelled, result=result)
    return replace(solution, of_unlabelled=values[index])


@dataclass(frozen=True)
class CheckedBlocks:
    """Rows in blocks after their first reading.

    Attributes
    ----------
    rows : Rows
        The columns and the source of the rows.
    labels, weights : ndarray or None
        Labels and weights of the labelled rows.
    """

    rows: Rows
    labels: np.ndarray
    weights: np.ndarray | None


def check_blocks(settings: Any, collection: RowCollection) -> CheckedBlocks:
    """Read and check all blocks once; return their rows and labels."""
    blocks, unit = replace(collection.blocks, progress=_progress(settings)), collection.unit
    inspect = _Inspection(without_objects(settings), unit, collection.names)
    found: list[_Block] = blocks.each(f"reading the {unit}s", inspect)
    sizes = tuple(block.n_rows for block in found)
    n = sum(sizes)
    if n < 2:
        raise ValueError(f"{n} rows in all {unit}s: there is nothing to fit")
    columns = found[0].columns
    for number, block in enumerate(found):
        if block.columns.n_features != columns.n_features:
            raise ValueError(
                f"{unit} {number} has {block.columns.n_features} columns, and {unit} 0 has "
                f"{columns.n_features}: give all {unit}s the same columns"
            )
    index, labels = _labels(settings, collection, found, sizes)
    weights, others = _weights(collection, found, index, n)
    extent: Extent = reduce(or_, [b.extent for b in found if b.extent is not None])
    own = getattr(settings, "_scales_columns", False) and extent.low is not None
    units = SAME_UNITS if own else units_of(settings, None, extent)
    blocks = replace(blocks, n_rows=n, sizes=sizes, convert=_RowsOf(units, extent.largest))
    source = RowSource(blocks, max(block.row_size for block in found), index, others)
    names = columns.names if collection.names is None else np.array(collection.names, dtype=object)
    rows = Rows(None, columns.n_features, names, units, source)
    return CheckedBlocks(rows, labels, weights if len(index) else None)


def gather(settings: Any, collection: RowCollection) -> tuple[Any, np.ndarray | None, Any, Any]:
    """Return rows in blocks as one array or CSR matrix, names of columns, labels and weights.

    For estimators that need all rows in memory.
    """
    name, linear = type(settings).__name__, _LINEAR[is_classifier(settings)]
    if collection.unit == "partition":
        raise TypeError(
            f"{name} needs all rows in memory, and X is a Dask collection: pass X.compute() if it "
            f"fits there, {settings._for_blocks}or use an estimator whose cost is linear in the "
            f"rows ({linear})"
        )
    budget, size = memory_budget(getattr(settings, "memory_limit", None)), 0
    parts: list[Part] = []
    for part in collection.blocks.read():
        rows = plain_rows(part.X)
        size += rows.data.nbytes + rows.indices.nbytes if sp.issparse(rows) else rows.nbytes
        advice = f"use fewer rows, or an estimator that does not need all of them ({linear})"
        require_memory(2 * size, budget, f"reading the rows for {name}", advice)
        parts.append(Part(rows, part.y, part.weights))
        if len(parts) == 1 and collection.names is None:
            collection = replace(collection, names=_names(part.X))
    if not parts:
        raise ValueError("there are no rows: X is empty")
    y, weights = collection.y, collection.weights
    if any(part.y is not None for part in parts):
        y = _join([_all_labels(part, settings.unlabeled) for part in parts])
    if any(part.weights is not None for part in parts):
        weights = np.concatenate([part.weights for part in parts])
    names = None if collection.names is None else np.array(collection.names, dtype=object)
    return join_rows([part.X for part in parts]), names, y, weights


def _names(X: Any) -> tuple[str, ...] | None:
    names = tuple(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _all_labels(part: Part, marker: Any) -> np.ndarray:
    if part.y is None:
        return np.full(part.X.shape[0], None)
    return labelled_rows(part.y, marker)[0]


@dataclass(frozen=True)
class _RowsOf:
    """The rows of a part, in units; sent to workers of Dask.

    Attributes
    ----------
    units : RowUnits
        The units.
    largest : float
        Largest value of all parts.
    """

    units: RowUnits
    largest: float

    def __call__(self, part: Part) -> Any:
        return self.units.apply(plain_rows(part.X), self.largest)


@dataclass(frozen=True)
class _Block:
    """What is known of a block after its first reading.

    Attributes
    ----------
    n_rows : int
        Its rows.
    columns : Rows
        Its columns.
    extent : Extent or None
        None without rows.
    row_size : float
        Stored numbers per row.
    index, labels, weights : ndarray or None
        The labelled rows, their labels, and their weights, where the block has any; weights of
        all rows, if labels are not in the blocks.
    others : tuple of float or None
        The smallest and the largest weight of rows without a label, where they are known.
    """

    n_rows: int
    columns: Rows
    extent: Extent | None
    row_size: float
    index: np.ndarray | None
    labels: np.ndarray | None
    weights: np.ndarray | None
    others: tuple[float, float] | None


@dataclass
class _Inspection:
    """Checks one block after the other; all must have the columns of the first.

    Attributes
    ----------
    settings : object
        An estimator, not fitted.
    unit : str
        What messages call a block. Partitions, which threads may check in any order, have the same
        columns.
    names : sequence of str or None
        Names of the columns, where the blocks do not have them.
    first : Rows or None
        Columns of the first block.
    """

    settings: Any
    unit: str
    names: Sequence[str] | None
    first: Rows | None = None

    def __call__(self, number: int, part: Part) -> _Block:
        with located(self.unit, number, part.X, self.names):
            return self._inspected(part)

    def _inspected(self, part: Part) -> _Block:
        settings, first = self.settings, self.first
        if first is None:
            found, extent = check_rows(settings, part.X, least=0, dtype=ROW_DTYPE)
            X, columns = found.X, replace(found, X=None)
            self.first = columns if self.unit == "block" else None
        else:
            columns = first
            X, extent = first.check_like(settings, part.X, least=0, dtype=ROW_DTYPE)
        n, index, labels = X.shape[0], None, None
        if part.y is not None:
            values, labelled = labelled_rows(part.y, settings.unlabeled)
            if len(values) != n:
                raise ValueError(f"X has {n} rows and y has {len(values)}")
            index = np.flatnonzero(labelled)
            labels = values[index]
        weights, others = None, None
        if part.weights is not None:
            weights = _checked_weights(part.weights, n)
            others = _range(weights, np.empty(0, dtype=int) if index is None else index)
            weights = weights if index is None else weights[index]
        row_size = _row_size(X)
        return _Block(n, columns, extent if n else None, row_size, index, labels, weights, others)


def _labels(
    settings: Any, collection: RowCollection, found: list[_Block], sizes: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the labelled rows and their labels."""
    inside = [block.labels for block in found if block.labels is not None]
    if not inside:
        if collection.y is None:
            refuse_no_labels(settings)
        values, labelled = labelled_rows(collection.y, settings.unlabeled)
        if len(values) != sum(sizes):
            raise ValueError(
                f"X has {sum(sizes)} rows and y has {len(values)}: give one label or target per "
                "row, the marker for rows that have none"
            )
        return np.flatnonzero(labelled), values[labelled]
    if collection.y is not None:
        raise ValueError("labels are given twice, in the pairs (X, y) and as y: give them once")
    first = np.cumsum([0, *sizes[:-1]])
    index = [
        start + block.index
        for start, block in zip(first, found, strict=True)
        if block.index is not None
    ]
    return np.concatenate(index), _join(inside)


def refuse_no_labels(settings: Any) -> NoReturn:
    """Raise the error for labels that are missing."""
    raise ValueError(
        f"{type(settings).__name__} requires y to be passed, but the target y is None: give one "
        "label or target per row, the marker for rows that have none; or the name of the column "
        "that holds them, if X is a table"
    )


def _weights(
    collection: RowCollection, found: list[_Block], index: np.ndarray, n: int
) -> tuple[np.ndarray | None, tuple[float, float]]:
    """Return the weights of the labelled rows, and the range of those of the other rows."""
    with_labels = [block for block in found if block.labels is not None]
    if all(block.weights is None for block in found):
        if collection.weights is None:
            return None, (1.0, 1.0)
        weights = _checked_weights(collection.weights, n)
    elif any(block.weights is None for block in found):
        raise ValueError("some blocks have weights and others have none: give all of them weights")
    elif with_labels:
        ranges = np.array([block.others for block in found if block.others is not None])
        ends = (float(ranges[:, 0].min()), float(ranges[:, 1].max())) if len(ranges) else (1.0, 1.0)
        return np.concatenate([block.weights for block in with_labels]), ends
    else:
        weights = np.concatenate([block.weights for block in found])
    return weights[index], _range(weights, index) or (1.0, 1.0)


def _checked_weights(weights: Any, n: int) -> np.ndarray:
    """Return weights of all rows, labelled or not."""
    weights = np.asarray(weights)
    if weights.shape != (n,):
        raise ValueError(f"X has {n} rows and sample_weight has shape {weights.shape}")
    if weights.dtype.kind not in "biuf" or not np.isfinite(weights).all():
        raise ValueError("sample_weight must hold one finite number per row")
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative")
    return weights


def _range(weights: np.ndarray, index: np.ndarray) -> tuple[float, float] | None:
    """Return the smallest and the largest weight of rows that are not in the index."""
    others = np.delete(weights, index)
    return (float(others.min()), float(others.max())) if len(others) else None


def _row_size(X: Any) -> float:
    """Return the stored numbers per row, on average."""
    return 1.5 * X.nnz / max(X.shape[0], 1) if sp.issparse(X) else float(X.shape[1])


def _join(labels: list[np.ndarray]) -> np.ndarray:
    """Return the labels of all blocks; as objects where their types differ."""
    labels = [values for values in labels if len(values)] or labels[:1]
    if len({values.dtype.kind for values in labels}) > 1:
        labels = [values.astype(object) for values in labels]
    return np.concatenate(labels)


def _progress(settings: Any) -> Progress | None:
    """Return a function that shows one line per pass over the rows, if ``verbose`` is set."""
    if not getattr(settings, "verbose", 0):
        return None
    line = ProgressLine(type(settings).__name__)

    def show(title: str, done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        line.show(f"{title} {percent:3d} %")
        if percent == 100:
            line.close()

    return show
