"""Tables in the formats of Arrow: Parquet, Feather, and files or streams of Arrow itself.

The only module that names pyarrow, an optional dependency, and it imports it inside functions. Must
not know what columns mean: numbers become float64, everything else that has a text becomes text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

from .table import MemoryCheck, Table, quoted, select_columns


def read_arrow(
    path: Path,
    check_memory: MemoryCheck,
    as_text: Collection[str],
    drop: Collection[str],
    only: Collection[str] | None,
) -> Table:
    """Read a file of a format of Arrow; see `read_table`."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(
            f"{path.name} needs pyarrow, which is not installed: pip install "
            '"lapwing[tables]", or give the table as CSV'
        ) from None
    try:
        stored, names = _open_arrow(path, check_memory, drop, only)
        stored.validate(full=True)  # damaged data can end the process later
    except (MemoryError, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError, UnicodeError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise ValueError(f"{path.name} cannot be read: {reason}") from None
    if stored.num_rows == 0:
        raise ValueError(f"{path.name} has columns and no rows: add at least one row")
    columns = {
        name: _convert(stored.column(name), name, path.name, name in as_text)
        for name in stored.column_names
    }
    return Table(path.name, stored.num_rows, columns, names=names)


def _open_arrow(
    path: Path, check_memory: MemoryCheck, drop: Collection[str], only: Collection[str] | None
) -> tuple[Any, tuple[str, ...]]:
    """Return the selected columns as a table of pyarrow, and all names; sizes are checked first."""
    if path.suffix.lower() in (".parquet", ".pq"):
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            selected = select_columns(file.schema_arrow.names, drop, only, path.name)
            meta = file.metadata
            # Data grow when they are unpacked: numbers take eight bytes, texts become objects.
            size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
            needed = max(3.0 * size, 16.0 * meta.num_rows * len(selected))
            check_memory(meta.num_rows, len(selected), needed)
            return file.read(columns=selected), tuple(file.schema_arrow.names)
    import pyarrow as pa
    from pyarrow import feather

    check_memory(0, 0, 3.0 * path.stat().st_size)
    with open(path, "rb") as file:
        is_file = file.read(6) in (b"ARROW1", b"FEA1\x00\x00") or path.suffix.lower() == ".feather"
    if is_file:
        stored = feather.read_table(path)
    else:
        with pa.OSFile(str(path)) as source:
            stored = pa.ipc.open_stream(source).read_all()
    selected = select_columns(stored.column_names, drop, only, path.name)
    return stored.select(selected), tuple(stored.column_names)


def _convert(column: Any, name: str, source: str, as_text: bool) -> np.ndarray:
    """Return a column of pyarrow as numbers, or as objects that are str or None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def is_any(*tests: Callable[[Any], bool]) -> bool:
        return any(test(column.type) for test in tests)

    types = pa.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    is_number = is_any(types.is_integer, types.is_floating, types.is_decimal)
    is_text = is_any(types.is_string, types.is_large_string)
    if types.is_null(column.type) or (is_number and not as_text):
        return column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    if types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    elif not (is_number or is_text or is_any(types.is_boolean, types.is_date, types.is_timestamp)):
        remedy = f"leave it out with --drop {name[:60]}"
        if is_any(types.is_list, types.is_large_list, types.is_fixed_size_list):
            remedy = (
                "store each of its entries as a column of its own, or all rows as the array X of "
                f"an .npz file with the targets as y; {remedy}, otherwise"
            )
        raise ValueError(
            f"column {quoted(name)} of {source} contains {column.type}, which is neither number "
            f"nor text: {remedy}"
        )
    cells = np.empty(len(column), dtype=object)
    cells[:] = [
        cell if cell and cell.strip() else None for cell in column.cast("string").to_pylist()
    ]
    return cells
