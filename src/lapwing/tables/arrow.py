"""Tables in the formats of Arrow: Parquet, Feather, and files or streams of Arrow itself.

The only module that names pyarrow, an extra, and imports it inside functions. Must not know what
columns mean: numbers become float64, all else that can be written becomes text.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from .delimited import MemoryCheck
from .table import Table, did_you_mean


def read_arrow(
    path: Path,
    check: MemoryCheck,
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
        stored = _open_arrow(path, check, drop, only)
        stored.validate(full=True)  # what is damaged can end the process later
    except (pa.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, (MemoryError, FileNotFoundError)):
            raise
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise ValueError(f"{path.name} cannot be read: {reason}") from None
    if stored.num_rows == 0:
        raise ValueError(f"{path.name} has columns and no rows: give it at least one")
    columns = {
        name: _arrow_column(stored.column(name), name, path.name, name in as_text)
        for name in stored.column_names
    }
    return Table(path.name, stored.num_rows, columns)


def _open_arrow(
    path: Path, check: MemoryCheck, drop: Collection[str], only: Collection[str] | None
) -> Any:
    """Return the wanted columns as a table of pyarrow; sizes are checked first."""
    if path.suffix.lower() in (".parquet", ".pq"):
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            wanted = _wanted(file.schema_arrow.names, drop, only, path.name)
            meta = file.metadata
            # What is packed grows: numbers become eight bytes, texts objects.
            size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
            need = max(3.0 * size, 16.0 * meta.num_rows * len(wanted))
            check(meta.num_rows, len(wanted), need)
            return file.read(columns=wanted)
    import pyarrow as pa
    from pyarrow import feather

    check(0, 0, 3.0 * path.stat().st_size)
    with open(path, "rb") as file:
        is_file = file.read(6) in (b"ARROW1", b"FEA1\x00\x00") or path.suffix.lower() == ".feather"
    if is_file:
        stored = feather.read_table(path)
    else:
        with pa.OSFile(str(path)) as source:
            stored = pa.ipc.open_stream(source).read_all()
    return stored.select(_wanted(stored.column_names, drop, only, path.name))


def _wanted(
    names: list[str], drop: Collection[str], only: Collection[str] | None, source: str
) -> list[str]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{source} has {names.count(twice[0])} columns named {twice[0]!r}")
    for name in drop:
        if name not in names:
            raise ValueError(f"{source} has no column {name!r}{did_you_mean(name, names)}")
    return [n for n in names if n not in drop and (only is None or n in only)]


def _arrow_column(column: Any, name: str, source: str, text: bool) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if pa.types.is_null(kind) or (is_number and not text):
        return column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
    elif not (is_number or _has_text(pa.types, kind)):
        raise ValueError(
            f"column {name!r} of {source} holds {kind}, which is neither number nor text: leave "
            f"it out with --drop {name}"
        )
    cells = np.empty(len(column), dtype=object)
    cells[:] = [
        cell if cell and cell.strip() else None for cell in column.cast("string").to_pylist()
    ]
    return cells


def _has_text(types: Any, kind: Any) -> bool:
    return (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_boolean(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )
