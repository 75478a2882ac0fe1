"""Files of predictions, CSV or Parquet, written a batch at a time, completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..arrays.atomic import atomic_file
from ..tables.write import safe_csv_lines

#: Called with the names of rows and the columns of their predictions.
Write = Callable[[Sequence[str], Sequence[Any]], None]


@dataclass(frozen=True)
class PredictionColumns:
    """The columns of a file of predictions.

    Attributes
    ----------
    id : str or None
        Header of the row names; None if rows have numbers.
    types : dict of str to type
        Headers of the predictions and of what is known of them, and their types: str, int, bool or
        float.
    """

    id: str | None
    types: dict[str, type]

    @property
    def header(self) -> list[str]:
        """Names of all columns."""
        return ["row" if self.id is None else self.id, *self.types]


@contextmanager
def open_prediction_file(path: Path, columns: PredictionColumns) -> Iterator[Write]:
    """Yield a function that writes batches to a file, which exists once the block has ended.

    The suffix ``.parquet`` or ``.pq`` means Parquet, any other one CSV that is safe to open in a
    spreadsheet.

    Raises
    ------
    ImportError
        If Parquet is wanted and pyarrow is not installed.
    """
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    if is_parquet:
        _require_pyarrow(path)
    with atomic_file(path) as file, (_parquet if is_parquet else _csv)(file, columns) as write:
        yield write


@contextmanager
def _csv(file: BinaryIO, columns: PredictionColumns) -> Iterator[Write]:
    file.write(safe_csv_lines([columns.header]).encode())

    def write(names: Sequence[str], values: Sequence[Any]) -> None:
        cells = [_formatted(column) for column in values]
        file.write(safe_csv_lines(zip(names, *cells, strict=True)).encode())

    yield write


def _formatted(column: Any) -> Any:
    """Return predictions as they are, and probabilities, which are an array, with six digits."""
    return [f"{p:.6g}" for p in column] if isinstance(column, np.ndarray) else column


def _require_pyarrow(path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            f"{path.name} is to be a Parquet file, for which pyarrow is not installed: "
            'pip install "lapwing[tables]", or write .csv'
        ) from None


@contextmanager
def _parquet(file: BinaryIO, columns: PredictionColumns) -> Iterator[Write]:
    import pyarrow as pa
    from pyarrow import parquet

    known = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
    types = [pa.int64() if columns.id is None else pa.string()]
    types += [known[type_] for type_ in columns.types.values()]
    schema = pa.schema(list(zip(columns.header, types, strict=True)))

    with parquet.ParquetWriter(file, schema) as writer:

        def write(names: Sequence[str], values: Sequence[Any]) -> None:
            rows = names if columns.id is not None else list(map(int, names))
            cells = zip([rows, *values], types, strict=True)
            arrays = [pa.array(column, type_) for column, type_ in cells]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))

        yield write
