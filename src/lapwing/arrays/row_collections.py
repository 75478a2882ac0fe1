"""Collections of rows that are not one array in memory: blocks, files, stored arrays and Dask.

`open_rows` recognises them and gives their blocks, each with its labels and weights where the
collection holds these as well. Knows neither models nor what labels mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .blocks import RowBlocks
from .file_parts import TextOptions, check_columns
from .files import is_table_files, open_files
from .text_files import as_float64, known_texts

#: Memory of a block of a stored array.
_BLOCK_BYTES = 32_000_000
#: What arrays in memory have, of whichever library: NumPy or scikit-learn converts these.
_IN_MEMORY = ("__array__", "__array_interface__", "__array_namespace__", "__dlpack__")


class Part(NamedTuple):
    """A block of rows, with what the collection holds beside them.

    Attributes
    ----------
    X : array, CSR matrix or table
        The rows.
    y, weights : array or None
        Their labels and weights; None where the collection does not hold them.
    """

    X: Any
    y: Any = None
    weights: Any = None


@dataclass(frozen=True)
class RowCollection:
    """Rows that are read in blocks.

    Attributes
    ----------
    blocks : RowBlocks
        Reads the blocks, each a `Part`.
    names : tuple of str or None
        Names of the columns, where they are known before a block is read.
    y, weights : object
        Labels and weights of all rows that are not in the parts, as they were given.
    unit : str
        What messages call a block.
    """

    blocks: RowBlocks
    names: tuple[str, ...] | None = None
    y: Any = None
    weights: Any = None
    unit: str = "block"


def is_dask(X: Any) -> bool:
    """Return whether this is a Dask collection; Dask is not imported."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "__dask_keys__")


def refuse_dask(X: Any, what: str) -> None:
    """Refuse a Dask collection, which scikit-learn would gather silently."""
    if is_dask(X):
        raise TypeError(
            f"{what} needs all rows in memory, and X is a Dask collection: pass X.compute() if it "
            "fits there"
        )


def open_rows(
    X: Any,
    y: Any = None,
    weights: Any = None,
    *,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> RowCollection | None:
    """Return rows in blocks; None for rows in memory.

    Parameters
    ----------
    X : object
        A Dask array or dataframe; the name of a file or folder, a list of names, a pyarrow dataset
        or table; a list of blocks, or a function that returns them; or an object with ``shape`` and
        slices of rows, such as an array of zarr or h5py. A block is an array, a sparse matrix or a
        table, or a pair (X, y).
    y, weights : object
        Labels and weights of the rows: arrays, names of columns, or Dask collections with the
        partitions of X.
    only : sequence of str, optional
        Columns of files and Dask dataframes that are read, in this order; by default all.
    without : sequence of str
        Columns that are left out where they exist.
    """
    if isinstance(X, RowCollection):
        return X if y is None and weights is None else replace(X, y=y, weights=weights)
    if is_dask(X):
        from .dask_blocks import dask_parts

        if only is not None and hasattr(X, "columns"):
            check_columns(X.columns, only, "the Dask dataframe")
            X = X[list(only)]
        X = without_columns(X, without)
        return RowCollection(*dask_parts(X, y, weights), unit="partition")
    if is_dask(y) or is_dask(weights):
        raise TypeError(
            "y or sample_weight is a Dask collection and X is not: pass X as one with the same "
            "partitions, or compute() them"
        )
    if isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError("X is an empty list, without blocks or rows: give at least two rows")
    if is_table_files(X):
        return _table_rows(X, y, weights, only, without)
    if callable(X) or _is_block_list(X):
        refuse_names(y, weights, "blocks")
        return RowCollection(RowBlocks(partial(_read_blocks, X)), None, y, weights)
    if _is_stored_array(X):
        refuse_names(y, weights, "an array")
        return RowCollection(RowBlocks(partial(_read_slices, X)), None, y, weights)
    if isinstance(X, (str, Path)):
        raise ValueError(
            f"{str(X)!r} is neither a folder nor a file of a known format: give .parquet, "
            ".feather, .arrow, .csv, .tsv or .txt, or a folder of such files"
        )
    if isinstance(X, Iterator):
        raise TypeError(
            "X is an iterator, which can be read only once, and rows are read several times: pass "
            "a function that returns a new iterator at each call"
        )
    return None


def without_columns(X: Any, names: Sequence[str]) -> Any:
    """Return a table without these columns; anything else as it is."""
    columns = list(getattr(X, "columns", ())) if names else []
    kept = [name for name in columns if name not in names]
    return X if len(kept) == len(columns) else X[kept]


def split_columns(X: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Return a table in memory without the columns of labels and weights, and these columns."""
    names = [name for name in (y, weights) if isinstance(name, str)]
    if not names:
        return X, y, weights
    if not hasattr(X, "columns"):
        refuse_names(y, weights, f"of type {type(X).__name__}")
    check_columns(X.columns, names, "X")
    if len(set(names)) == len(X.columns):
        raise ValueError(f"X has no column left to learn from besides {names}")
    beside = [X[one] if isinstance(one, str) else one for one in (y, weights)]
    return without_columns(X, names), *beside


def refuse_names(y: Any, weights: Any, what: str) -> None:
    """Refuse names of columns where rows have none."""
    for name in (y, weights):
        if isinstance(name, str):
            raise TypeError(
                f"{name!r} cannot be the name of a column, since X is {what}: pass one value per "
                "row as an array"
            )


# ---------------------------------------------------------------- blocks


def _is_2d(X: Any) -> bool:
    return len(getattr(X, "shape", ())) == 2


def _is_pair(block: Any) -> bool:
    return isinstance(block, tuple) and len(block) == 2 and not isinstance(block, Part)


def _is_block_list(X: Any) -> bool:
    if not isinstance(X, (list, tuple)) or len(X) == 0:
        return False
    if any(is_dask(block) for block in X):
        raise TypeError(
            "X is a list of Dask collections: join them, for instance by dask.array.concatenate"
        )
    return all(_is_2d(block[0] if _is_pair(block) else block) for block in X)


def _read_blocks(blocks: Iterable[Any] | Callable[[], Iterable[Any]]) -> Iterator[Part]:
    """Yield the blocks of a list, or those that a function returns."""
    found = blocks() if callable(blocks) else blocks
    if not isinstance(found, Iterable):
        raise TypeError(
            f"X is a function that returns {type(found).__name__}: it must return an iterator over "
            "blocks of rows, or over pairs (X, y)"
        )
    for number, block in enumerate(found):
        part = Part(*block) if _is_pair(block) else Part(block)
        if isinstance(block, Part):
            part = block
        if not _is_2d(part.X):
            raise TypeError(
                f"block {number} must hold rows as an array, sparse matrix or table, or be a pair "
                f"(X, y) of them and their labels, got {type(block).__name__}"
            )
        yield part


# ---------------------------------------------------------------- stored arrays


def _is_stored_array(X: Any) -> bool:
    """Return whether this is an array in a file, such as those of zarr and h5py.

    Those can be converted to an array in memory as well; anything else that can be is in memory.
    """
    if isinstance(X, (np.ndarray, memoryview)) or sp.issparse(X) or hasattr(X, "columns"):
        return False
    if not _is_2d(X) or not hasattr(X, "__getitem__"):
        return False
    in_chunks = isinstance(getattr(X, "dtype", None), np.dtype) and hasattr(X, "chunks")
    return in_chunks or not any(hasattr(X, name) for name in _IN_MEMORY)


def _read_slices(X: Any) -> Iterator[Part]:
    """Yield slices of rows, of whole chunks of the stored array where it has any."""
    n, d = X.shape
    chunks = getattr(X, "chunks", None)
    chunk = chunks[0] if chunks else 1
    dtype = getattr(X, "dtype", None)
    if not isinstance(dtype, np.dtype):  # another library's, or none
        dtype = _slice(X, 0, 1).dtype
    rows = max(_BLOCK_BYTES // max(d * dtype.itemsize, 1), 1)
    rows = max(rows - rows % chunk, chunk)
    for first in range(0, n, rows):
        yield Part(_slice(X, first, first + rows))


def _slice(X: Any, first: int, last: int) -> Any:
    rows = X[first:last]
    return rows if sp.issparse(rows) else np.asarray(rows)


# ---------------------------------------------------------------- files


def _table_rows(
    source: Any, y: Any, weights: Any, only: Sequence[str] | None, without: Sequence[str]
) -> RowCollection:
    """Return the rows of files, whose columns must hold numbers."""
    given = [name for name in (y, weights) if isinstance(name, str)]
    files = open_files(source, TextOptions(as_text=(y,) if isinstance(y, str) else ()))
    if len(set(given)) < len(given):
        raise ValueError(f"column {y!r} cannot hold labels and weights: name two columns")
    wanted = files.columns if only is None else only
    check_columns(files.columns, [*given, *wanted], files.name)
    left_out = {*given, *without}
    names = tuple(name for name in wanted if name not in left_out)
    if not names:
        raise ValueError(f"{files.name} has no column left to learn from besides {given}")
    _check_numbers(files, names)
    columns, weighted = [*names, *given], isinstance(weights, str)

    def read() -> Iterator[Part]:
        for batch in files.batches(columns):
            labels = _labels(batch.column(y), files.is_text) if isinstance(y, str) else None
            own = batch.column(weights).to_numpy(zero_copy_only=False) if weighted else None
            yield Part(_matrix(batch, len(names)), labels, own)

    rest = [None if isinstance(one, str) else one for one in (y, weights)]
    return RowCollection(RowBlocks(read), names, rest[0], rest[1])


def _check_numbers(files: Any, names: tuple[str, ...]) -> None:
    import pyarrow as pa

    types = pa.types
    for name in names:
        found = files.schema.field(name).type
        if not (types.is_integer(found) or types.is_floating(found) or types.is_boolean(found)):
            refuse_column(name, found, files.name)


def refuse_column(name: Any, found: Any, source: str) -> None:
    """Raise the error for a column that does not hold numbers."""
    raise ValueError(
        f"column {name!r} of {source} holds {found}, and rows must be numbers: encode it, or leave "
        "it out. The command `lapwing fit` encodes categories, texts and dates"
    )


def _labels(column: Any, from_text: bool) -> np.ndarray:
    """Return labels, missing ones as None or NaN; whole numbers stay whole where some are missing.

    Cells of text files are texts, which may all be numbers.
    """
    import pyarrow as pa

    if from_text:
        column = known_texts(column)
        numbers = as_float64(column)
        column = column if numbers is None else numbers
    if pa.types.is_floating(column.type) and from_text:
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:  # fractions
            return column.to_numpy(zero_copy_only=False)
    if column.null_count == 0 or not pa.types.is_integer(column.type):
        return column.to_numpy(zero_copy_only=False)
    labels = np.full(len(column), None)
    known = column.is_valid().to_numpy(zero_copy_only=False)
    labels[known] = column.drop_null().to_numpy()
    return labels


def _matrix(batch: Any, n_columns: int) -> np.ndarray:
    """Return the first columns of a record batch as rows; missing cells become NaN."""
    columns = [batch.column(i).to_numpy(zero_copy_only=False) for i in range(n_columns)]
    numbers = [c.astype(np.float64) if c.dtype.kind in "Ob" else c for c in columns]
    found = np.result_type(*numbers) if numbers else np.dtype(np.float64)
    X = np.empty((batch.num_rows, n_columns), dtype=found)
    for j, column in enumerate(numbers):
        X[:, j] = column
    return X
