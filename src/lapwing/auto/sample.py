"""Rows that the default has in memory: all that were given, or a sample of rows in blocks.

The sample holds all labelled rows and random others, drawn as for rows in memory, so that the same
rows give the same model whichever way they come. Knows neither candidates nor graphs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays.blocks import Sums
from ..arrays.memory import memory_budget, require_memory
from ..arrays.packing import expect, expect_finite
from ..estimators.rows import Rows, RowSource, other_rows
from ..estimators.targets import Targets
from ..graphs import KNNGraph
from . import limits
from .scaling import RowScaling, count_documents, scaling_of, scaling_step

#: Rows in which words are counted at a time.
_TILE_ROWS = 20_000


@dataclass(frozen=True)
class Sample:
    """Rows in memory, and their labels.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (s, d)
        The rows.
    targets : Targets
        Their labels.
    scaling : RowScaling or None
        How rows are scaled; None where that can be learnt from X.
    numbers : ndarray of int, shape (s,), or None
        Of rows in blocks, the indices of X among all rows, ascending.
    n_given : int
        Number of all rows; 0 means those of X.
    others : ndarray or CSR matrix of shape (o, d), or None
        Of rows in blocks, some that are not in X, to weigh the edges of the graph by.
    """

    X: Any
    targets: Targets
    scaling: RowScaling | None = None
    numbers: np.ndarray | None = None
    n_given: int = 0
    others: Any = None


@dataclass(frozen=True)
class SampleResult:
    """What is kept of the rows of a sample after a fit to rows in blocks.

    Attributes
    ----------
    found, supervised : ndarray of shape (s,)
        Class codes or quantities, given or predicted, and those of the best supervised candidate.
    doubt : ndarray of shape (s,)
        How uncertain the model is of each row, from 0 to 1.
    reach : ndarray of bool, shape (s,)
        Whether a label can reach the row through the graph.
    confidence : ndarray of shape (s,), or None
        The largest probability of a class; None for quantities.
    """

    found: np.ndarray
    supervised: np.ndarray
    doubt: np.ndarray
    reach: np.ndarray
    confidence: np.ndarray | None = None

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        shape, confidence = self.found.shape, self.confidence
        expect(len(shape) == 1 and self.found.dtype.kind in "if")
        expect(self.supervised.shape == self.doubt.shape == self.reach.shape == shape)
        expect(self.supervised.dtype == self.found.dtype and self.reach.dtype == bool)
        expect(confidence is None or confidence.shape == shape)
        expect_finite(self.doubt, confidence)
        if self.found.dtype.kind == "f":
            expect_finite(self.found, self.supervised)


def draw_others(n: int, n_labelled: int, seed: int) -> np.ndarray:
    """Return which of n rows without a label are used beside the labelled ones, in any order."""
    room = max(limits.MOST_ROWS - n_labelled, 0)
    return np.random.default_rng(seed).choice(n, room, replace=False)


def draw_weighing(n: int, most: int, seed: int) -> np.ndarray:
    """Return which of n rows that models do not see weigh the edges of the graph, ascending."""
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng([seed, 1])
    return np.sort(rng.choice(n, most, replace=False))


def read_sample(
    settings: Any, rows: Rows, targets: Targets, seed: int, *, weighing: bool = True
) -> Sample:
    """Return the rows to work with: rows in memory as they are, of rows in blocks a sample.

    ``weighing`` is whether the edges of a graph may be weighed by other rows. Of these as many are
    read as the memory has room for. Cost for rows in blocks: one pass over them, and another one
    for counts of words.
    """
    source = rows.source
    if source is None:
        return Sample(rows.X, targets)
    n = rows.n_rows
    _check_graph(settings.graph, n)
    numbers = _sample_numbers(n, source.index_of(targets), seed)
    of_scaling = np.arange(0, n, scaling_step(n))
    index = np.union1d(numbers, of_scaling)
    size, budget = 2 * 8 * source.row_size, memory_budget(settings.memory_limit)
    what = f"reading {len(index)} of {n} rows with {rows.n_features} columns"
    require_memory(size * len(index), budget, what, "use fewer columns")
    room = budget / size - len(index) if size else limits.EDGE_ROWS
    most = int(min(room, limits.EDGE_ROWS)) if weighing else 0
    further = other_rows(draw_weighing(n - len(numbers), most, seed), numbers)
    index = np.union1d(index, further)
    X = source.blocks.take(index)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    some = X[np.searchsorted(index, of_scaling)]
    scaling = scaling_of(some, n, partial(_count_documents, source, rows.n_features))
    others = X[np.searchsorted(index, further)]
    if len(index) > len(numbers):
        X = X[np.searchsorted(index, numbers)]
    own = _targets_among(numbers, source, targets)
    return Sample(X, own, scaling, numbers, n, others)


def _sample_numbers(n: int, labelled: np.ndarray, seed: int) -> np.ndarray:
    """Return the indices of the labelled rows and of random others, ascending; all if they fit."""
    if n <= limits.MOST_ROWS:
        return np.arange(n)
    chosen = draw_others(n - len(labelled), len(labelled), seed)
    return np.sort(np.append(labelled, other_rows(chosen, labelled)))


def _targets_among(numbers: np.ndarray, source: RowSource, targets: Targets) -> Targets:
    """Return the targets of these rows, given those of the labelled rows alone."""
    assert source.labelled is not None
    position = np.searchsorted(numbers, source.labelled)
    position = np.minimum(position, len(numbers) - 1)
    here = numbers[position] == source.labelled  # those of weight zero may be missing
    unknown = np.nan if targets.classes is None else -1
    given = np.full(len(numbers), unknown, dtype=targets.given.dtype)
    given[position[here]] = targets.given[here]
    weights = np.ones(len(numbers))
    weights[position[here]] = targets.row_weights[here]
    return replace(targets, given=given, row_weights=weights, index=position[targets.index])


def _count_documents(source: RowSource, n_columns: int) -> np.ndarray:
    """Return the number of all rows in which each column has an entry."""
    start = partial(_zero_counts, n_columns)
    return source.blocks.sum("counting words", start, _add_documents, _TILE_ROWS)[0]


def _zero_counts(n_columns: int) -> Sums:
    return [np.zeros(n_columns, dtype=np.int64)]


def _add_documents(sums: Sums, X: Any) -> None:
    sums[0] += count_documents(X)


def _check_graph(graph: Any, n: int) -> None:
    """Refuse a graph of all rows where a sample is used."""
    if graph is None or n <= limits.MOST_ROWS:
        return
    if not isinstance(graph, KNNGraph) or hasattr(graph, "affinity_"):
        raise ValueError(
            f"graph describes all rows, and of {n} rows in blocks the models see "
            f"{limits.MOST_ROWS}: pass an unfitted KNNGraph, which is built over these"
        )
