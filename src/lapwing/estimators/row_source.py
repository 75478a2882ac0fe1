"""Training rows that are read several times: in memory, or in blocks that may exceed it.

Checks them and shows progress; knows nothing of what is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.blocks import Progress, RowBlocks, open_stream
from ..arrays.row_units import Extent
from ..messages import ProgressLine
from .invariance import units_of
from .labels import labelled_rows
from .rows import ROW_DTYPE, Rows, check_rows


@dataclass(frozen=True)
class RowSource:
    """Training rows that are read several times, in memory or in blocks.

    Attributes
    ----------
    rows : Rows
        The checked rows; for blocks only their number and the names of their columns.
    blocks : RowBlocks
        Reads the rows.
    row_size : float
        Stored numbers per row, in the block that has most.
    labels : ndarray or None
        The labels of blocks; None for rows in memory.
    """

    rows: Rows
    blocks: RowBlocks
    row_size: float
    labels: np.ndarray | None = None


def source_of(settings: Any, rows: Rows) -> RowSource:
    """Return a source of checked rows."""
    return RowSource(rows, RowBlocks.of(rows.X, _progress(settings)), _row_size(rows.X))


@contextmanager
def rows_in_blocks(settings: Any, blocks: Any) -> Iterator[RowSource]:
    """Check blocks of rows, and give a source that reads them again."""
    progress, largest = _progress(settings), 0.0
    first: Rows | None = None  # the columns of the first block
    extents: list[Extent] = []

    def check(number: int, pair: Any) -> tuple[Any, np.ndarray]:
        nonlocal first, largest
        rows, values = _check_block(settings, number, pair, first)
        first = replace(rows, X=None)
        largest = max(largest, _row_size(rows.X))
        if rows.X.shape[0]:
            extents.append(Extent.of(rows.X))
        return rows.X, values

    if progress is not None:
        progress("reading the blocks", 0, 1)
    with open_stream(blocks, check) as stream:
        if stream.n_rows < 2 or first is None:
            raise ValueError(f"{stream.n_rows} rows in all blocks: there is nothing to fit")
        units = units_of(settings, None, reduce(or_, extents))
        # Of the rows themselves only the number is used.
        rows = replace(first, X=np.empty((stream.n_rows, 0)), units=units)
        read = RowBlocks(lambda: map(units.apply, stream.read()), stream.n_rows, progress)
        yield RowSource(rows, read, largest, _join(stream.labels))


def _check_block(
    settings: Any, number: int, pair: Any, first: Rows | None
) -> tuple[Rows, np.ndarray]:
    """Return rows and labels of a block, which must have the columns of the first."""
    if not (isinstance(pair, tuple) and len(pair) == 2):
        what = f"a tuple of {len(pair)}" if isinstance(pair, tuple) else type(pair).__name__
        raise TypeError(
            f"block {number} must be a tuple (X, y), got {what}: give y=None for a block "
            "without any label; weights of rows can be passed to fit only"
        )
    X, y = pair
    try:
        if first is None:
            rows = check_rows(settings, X, least=0, dtype=ROW_DTYPE)
        else:
            rows = replace(first, X=first.check_like(settings, X, least=0, dtype=ROW_DTYPE))
        values = np.full(rows.X.shape[0], None)
        if y is not None:
            values, _ = labelled_rows(y, settings.unlabeled)
    except ValueError as error:
        raise ValueError(f"block {number}: {error}") from error
    if len(values) != rows.X.shape[0]:
        raise ValueError(f"block {number}: X has {rows.X.shape[0]} rows and y has {len(values)}")
    return rows, values


def _row_size(X: Any) -> float:
    """Return the stored numbers per row, on average."""
    return 1.5 * X.nnz / max(X.shape[0], 1) if sp.issparse(X) else float(X.shape[1])


def _join(labels: list[np.ndarray]) -> np.ndarray:
    """Return the labels of all blocks; as objects where their types differ."""
    if len({values.dtype.kind for values in labels}) > 1:
        labels = [values.astype(object) for values in labels]
    return np.concatenate(labels)


def _progress(settings: Any) -> Progress | None:
    """Return a function that shows one line per pass over the rows, if ``verbose`` is set."""
    if not settings.verbose:
        return None
    line = ProgressLine(type(settings).__name__)

    def show(title: str, done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        line.show(f"{title} {percent:3d} %")
        if percent == 100:
            line.close()

    return show
