"""Tables in files of any size, read in record batches of pyarrow with bounded memory.

One file, a folder of them, a list, or a dataset of pyarrow: all become `TableFiles`. pyarrow is an
optional dependency and is imported inside functions. Must not know what columns mean.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from .file_parts import (
    FilePart,
    TextOptions,
    check_columns,
    check_names,
    dataset_part,
    explained,
    file_format,
    open_folder,
    open_paths,
)


@dataclass(frozen=True)
class TableFiles:
    """Files of one table, read in batches; see `open_files`.

    Attributes
    ----------
    name : str
        Name of the file or folder, for messages.
    columns : tuple of str
        Names of the columns: those of the first file in its order, then those of the folders
        (``year=2024/``).
    n_rows : int or None
        Number of rows, or None if only reading tells it, as for text files.
    schema : pyarrow.Schema
        Types of the columns. Types that differ between files are widened; whole numbers in text
        files are float64.
    """

    name: str
    columns: tuple[str, ...]
    n_rows: int | None
    schema: Any
    _parts: tuple[FilePart, ...] = field(repr=False)

    @property
    def n_expected(self) -> int:
        """The number of rows, or an estimate for files of which it is not known."""
        return sum(part.n_rows or part.n_expected for part in self._parts)

    @property
    def is_text(self) -> bool:
        """Whether the files are text files."""
        return self._parts[0].line_of is not None

    def split(self, rows: int) -> list[TableFiles]:
        """Return the table in parts that can be read apart, in order.

        A part is a file, or row groups of a Parquet file of about this many rows. Places of rows
        are counted from the start of their part.
        """
        parts: list[FilePart] = []
        for part in self._parts:
            own = [part] if part.split is None else part.split(rows)
            parts += [replace(one, name=part.name, constants=part.constants) for one in own]
        return [replace(self, n_rows=part.n_rows, _parts=(part,)) for part in parts]

    def batches(self, columns: Sequence[str] | None = None, rows: int = 65_536) -> Iterator[Any]:
        """Yield the rows from the start, in the order of the files.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns to read, in this order; by default all.
        rows : int
            Most rows of a batch.

        Yields
        ------
        pyarrow.RecordBatch
            At least one row of the columns, with the types of `schema`.

        Raises
        ------
        ValueError
            If there is no such column, or a file is damaged; the message names both.
        """
        for batch, _ in self.located(columns, rows):
            yield batch

    def located(
        self, columns: Sequence[str] | None = None, rows: int = 65_536
    ) -> Iterator[tuple[Any, Callable[[int], str]]]:
        """Yield the same as `batches`, each with a function of a row of it that returns its place.

        The place is a text such as "line 7", or "row 7 of b.parquet" if there are several files.
        """
        names = list(self.columns if columns is None else columns)
        check_columns(self.columns, names, self.name)
        for part in self._parts:
            stored = [name for name in names if name not in part.constants]
            n_read = 0
            with explained(part.name):
                for batch in part.read(stored, rows):
                    for start in range(0, batch.num_rows, rows):
                        piece = self._converted(batch.slice(start, rows), names, part)
                        yield piece, partial(self._where, part, n_read)
                        n_read += piece.num_rows

    def _where(self, part: FilePart, n_before: int, row: int) -> str:
        number = n_before + row
        where = f"row {number + 1}" if part.line_of is None else f"line {part.line_of(number)}"
        return f"{where} of {part.name}" if len(self._parts) > 1 else where

    def _converted(self, batch: Any, names: list[str], part: FilePart) -> Any:
        """Return a batch with the columns in order, of the types of the schema."""
        import pyarrow as pa

        arrays = []
        for name in names:
            type_ = self.schema.field(name).type
            if name in part.constants:
                values = pa.repeat(pa.scalar(part.constants[name], pa.string()), batch.num_rows)
            else:
                values = batch.column(batch.schema.get_field_index(name))
            # Whole numbers above 2⁵³ are rounded where another file has fractions.
            arrays.append(values if values.type == type_ else values.cast(type_, safe=False))
        return pa.RecordBatch.from_arrays(arrays, names=names)


def is_table_files(source: Any) -> bool:
    """Return whether `open_files` is for it: a path, paths, or a table or dataset of pyarrow.

    A path must name a folder, or have a suffix that is known; the file need not exist.

    Examples
    --------
    >>> is_table_files("rows.parquet"), is_table_files(["a.csv", "b.csv.gz"]), is_table_files([[1]])
    (True, True, False)
    """
    if isinstance(source, (list, tuple)):
        return bool(source) and all(
            isinstance(path, (str, Path)) and file_format(Path(path)) is not None for path in source
        )
    if isinstance(source, (str, Path)):
        return file_format(Path(source)) is not None or Path(source).is_dir()
    return any(isinstance(source, cls) for cls in _arrow_classes())


def open_files(source: Any, text: TextOptions | None = None) -> TableFiles:
    """Open the files of a table: only their types and sizes are read.

    Parameters
    ----------
    source : str, Path, sequence of them, or table, record batch or dataset of pyarrow
        A Parquet, Feather, Arrow or text file (CSV, TSV, also ``.gz``), a folder of files of one
        format, also in folders such as ``year=2024``, or a list of such files. In a folder the
        order is that of the names; files whose names begin with ``.`` or ``_`` are ignored.
    text : TextOptions, optional
        How text files are read; by default in UTF-8, with types that the first rows show.

    Returns
    -------
    TableFiles

    Raises
    ------
    ValueError
        If the files are not of one known format, have other columns or types, or are damaged.
    FileNotFoundError, PermissionError
        If a file does not exist, or must not be read.
    ImportError
        If pyarrow is not installed.
    """
    name = Path(source).name if isinstance(source, (str, Path)) else "a list of files"
    _require_pyarrow(name)
    text = text or TextOptions()
    if isinstance(source, _arrow_classes()):
        return _joined("the table", [dataset_part(source)])
    if isinstance(source, (list, tuple)):
        paths = [Path(path) for path in source]
        if not paths:
            raise ValueError("the list of files is empty: give at least one file")
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return _joined(f"{paths[0].name}{more}", open_paths(paths, text))
    path = Path(source)
    if not path.is_dir():
        return _joined(path.name, open_paths([path], text))
    return _joined(path.name or str(path), open_folder(path, text))


def _require_pyarrow(name: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            f'{name} needs pyarrow, which is not installed: pip install "lapwing[tables]"'
        ) from None


def _arrow_classes() -> tuple[type, ...]:
    """Return the classes of pyarrow that hold tables, if it was imported."""
    if "pyarrow" not in sys.modules:
        return ()
    import pyarrow as pa
    from pyarrow import dataset

    return pa.Table, pa.RecordBatch, dataset.Dataset


# ---------------------------------------------------------------- files of one table


def _joined(name: str, parts: list[FilePart]) -> TableFiles:
    """Return the files as one table, whose types are wide enough for all of them."""
    import pyarrow as pa

    first = parts[0]
    check_names(first.schema.names, first.name)
    types = {field.name: _plain(field.type) for field in first.schema}
    for part in parts[1:]:
        check_names(part.schema.names, part.name)
        _check_columns(part, first)
        for field_ in part.schema:
            types[field_.name] = _widened(types[field_.name], field_, part.name, first.name)
    for column in first.constants:
        values = [part.constants[column] for part in parts]
        are_whole = all(value is None or value.isdecimal() for value in values)
        types[column] = pa.int64() if are_whole and any(values) else pa.string()
    counts = [part.n_rows for part in parts]
    n_rows = None if None in counts else sum(count or 0 for count in counts)
    return TableFiles(name, tuple(types), n_rows, pa.schema(list(types.items())), tuple(parts))


def _check_columns(part: FilePart, first: FilePart) -> None:
    own, others = part.schema.names, first.schema.names
    remedy = "give files with the same columns"
    for name in set(others) - set(own):
        raise ValueError(f"{part.name} lacks column {name!r}, which {first.name} has: {remedy}")
    for name in set(own) - set(others):
        raise ValueError(f"{part.name} has column {name!r}, which {first.name} lacks: {remedy}")


def _plain(type_: Any) -> Any:
    """Return the type of the values of a dictionary, other types unchanged."""
    import pyarrow as pa

    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _widened(known: Any, field_: Any, name: str, first: str) -> Any:
    """Return the type for values of both types, such as float64 for whole numbers and fractions."""
    import pyarrow as pa

    other = _plain(field_.type)
    if known == other:
        return known
    try:
        schemas = [pa.schema([(field_.name, type_)]) for type_ in (known, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        raise ValueError(
            f"column {field_.name!r} of {name} contains {other}, and that of {first} {known}: "
            "store the same type in all files"
        ) from None
