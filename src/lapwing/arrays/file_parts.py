"""The files of a table, one by one: which there are, and how each format is read in batches.

pyarrow is imported inside functions. Must not know how files are put together to one table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..messages import listing, quoted
from .text_files import LONGEST_ROW, TextFile, as_float64, known_texts, open_text_file
from .text_source import is_packed, unpacked_size

#: Formats by the suffixes of their files; text files may also end in ``.gz``.
FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow"),
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "text"),
}
_KNOWN = ".parquet, .feather, .arrow, .csv, .tsv or .txt"
#: Bytes that are buffered for a column of a Parquet file: column chunks are not read as a whole.
_BUFFER = 1 << 18
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
#: Yields batches of some columns, with at most the given number of rows.
_Read = Callable[[list[str], int], Iterator[Any]]


@dataclass(frozen=True)
class TextOptions:
    """How text files are read: encoding, which cells stay texts (or all), most bytes of a row."""

    encoding: str = "utf-8"
    texts: bool = False
    longest_row: int = LONGEST_ROW
    as_text: tuple[str, ...] = ()


@dataclass(frozen=True)
class FilePart:
    """A file or dataset.

    Attributes
    ----------
    name : str
        Its name, for messages.
    schema : pyarrow.Schema
        Its columns.
    n_rows : int or None
        Number of rows, if it is known without reading.
    read : callable
        Yields batches.
    constants : dict
        Columns that the names of the folders give.
    n_expected : int
        An estimate of the number of rows where it is not known.
    line_of : callable, optional
        For text files, returns the line on which a row ends.
    split : callable, optional
        Returns the file in parts of at most the given number of rows, or of one row group.
    """

    name: str
    schema: Any
    n_rows: int | None
    read: _Read
    constants: dict[str, str | None] = field(default_factory=dict)
    n_expected: int = 0
    line_of: Callable[[int], int] | None = None
    split: Callable[[int], list[FilePart]] | None = None


def check_names(names: Sequence[str], source: str) -> None:
    """Raise a ValueError if two columns have the same name."""
    for name, count in Counter(names).most_common(1):
        if count > 1:
            positions = [str(i) for i, other in enumerate(names, start=1) if other == name][:10]
            raise ValueError(
                f"{source} has {count} columns named {quoted(name)}, at positions "
                f"{', '.join(positions)}: rename all but one"
            )


def check_columns(columns: Iterable[str], names: Iterable[str], source: str) -> None:
    """Raise a ValueError for the first name that no column has."""
    known = dict.fromkeys(columns)
    for name in names:
        if name not in known:
            raise ValueError(
                f"{source} has no column {quoted(name)}: it has {listing(map(str, known), 20)}"
            )


def format_suffix(path: Path) -> str:
    """Return the suffix that shows the format, in lower case: that before ``.gz`` if it is packed.

    Examples
    --------
    >>> format_suffix(Path("a.of.2024.CSV.gz")), format_suffix(Path("a.parquet"))
    ('.csv', '.parquet')
    """
    return (path.with_suffix("") if is_packed(path) else path).suffix.lower()


def file_format(path: Path) -> str | None:
    """Return the format that the suffix of a file shows, or None if it is not known."""
    found = FORMATS.get(format_suffix(path))
    return None if is_packed(path) and found != "text" else found


def open_folder(folder: Path, options: TextOptions) -> list[FilePart]:
    """Open the files of a folder and of those within it, sorted by name, 2 before 10.

    Files of formats that are not known are ignored beside others.
    """
    paths = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    paths = [path for path in paths if file_format(path) is not None] or paths
    paths.sort(key=lambda path: _natural(str(path.relative_to(folder))))
    if not paths:
        raise ValueError(f"the folder {folder} contains no files: give one with {_KNOWN} files")
    parts = open_paths(paths, options)
    constants = [_partition(path.relative_to(folder).parent) for path in paths]
    for path, own in zip(paths, constants, strict=True):
        if own.keys() != constants[0].keys():
            raise ValueError(
                f"{path.relative_to(folder)} and {paths[0].relative_to(folder)} are in folders "
                "that name other columns: give all folders the same ones, such as year=2024"
            )
    return [
        replace(
            part,
            name=str(path.relative_to(folder)),
            constants={name: v for name, v in own.items() if name not in part.schema.names},
        )
        for path, part, own in zip(paths, parts, constants, strict=True)
    ]


def _natural(name: str) -> list[tuple[bool, int | str]]:
    """Return a key by which numbers in names are ordered as numbers, as Dask does."""
    words = re.split(r"(\d+)", name)
    return [(word.isdigit(), int(word) if word.isdigit() else word) for word in words]


def _partition(folder: Path) -> dict[str, str | None]:
    """Return the columns and values in the names of folders."""
    pairs = [name.partition("=") for name in folder.parts]
    values = {unquote(name): unquote(value) for name, equals, value in pairs if equals}
    return {name: None if value == _NO_PARTITION else value for name, value in values.items()}


def open_paths(paths: list[Path], options: TextOptions) -> list[FilePart]:
    """Open files, which must be of one format."""
    formats = {path: file_format(path) for path in paths}
    for path, found in formats.items():
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}")
        if found is None:
            raise ValueError(
                f"{path.name}: the format {path.suffix or 'of a file without an extension'} is not "
                f"known: give {_KNOWN} files"
            )
    if len(set(formats.values())) > 1:
        other = next(path for path in paths if formats[path] != formats[paths[0]])
        raise ValueError(
            f"{paths[0].name} and {other.name} are of different formats: give files of one format"
        )
    open_part = {"parquet": _parquet_part, "arrow": _arrow_part}.get(formats[paths[0]] or "")
    if open_part is None:
        return _text_parts(paths, options)
    parts = []
    for path in paths:
        with explained(path.name):
            parts.append(open_part(path))
    return parts


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn errors of reading a file into ones that name it and say what to do."""
    import pyarrow as pa

    try:
        yield
    except PermissionError:
        raise PermissionError(
            f"{name} must not be read: change its permissions, or give a copy"
        ) from None
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{name} is missing, which was there before") from error
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise ValueError(f"{name} cannot be read: {reason}. Write it again") from None


# ---------------------------------------------------------------- one file


def _parquet_part(path: Path) -> FilePart:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        schema, stored = file.schema_arrow, file.metadata
        sizes = [stored.row_group(i).num_rows for i in range(stored.num_row_groups)]

    def part(groups: list[int]) -> FilePart:
        def read(columns: list[str], rows: int) -> Iterator[Any]:
            # Without a buffer whole column chunks are read at once; `to_batches` keeps many.
            with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
                found = file.iter_batches(rows, groups, columns=columns, use_threads=False)
                yield from _validated(found)

        return FilePart(path.name, schema, sum(sizes[i] for i in groups), read)

    def split(rows: int) -> list[FilePart]:
        return [part(groups) for groups in _joined_groups(sizes, rows)]

    return replace(part(list(range(len(sizes)))), split=split)


def _joined_groups(sizes: list[int], rows: int) -> list[list[int]]:
    """Return row groups in order, joined up to a number of rows."""
    found: list[list[int]] = []
    n = 0
    for group, size in enumerate(sizes):
        if not found or n + size > rows:
            found.append([])
            n = 0
        found[-1].append(group)
        n += size
    return found or [[]]


def _validated(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield batches; damaged ones, which can end the process later, raise an error."""
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _arrow_part(path: Path) -> FilePart:
    """Open a file or a stream of Arrow; Feather is the former."""
    import pyarrow as pa

    with open(path, "rb") as start:
        is_stream = start.read(6) != b"ARROW1"

    def read(columns: list[str], rows: int) -> Iterator[Any]:
        with pa.OSFile(str(path)) as source:
            indices = [schema.get_field_index(name) for name in columns]
            options = pa.ipc.IpcReadOptions(included_fields=indices)
            if is_stream:
                yield from _validated(pa.ipc.open_stream(source, options=options))
                return
            stored = pa.ipc.open_file(source, options=options)
            yield from _validated(map(stored.get_batch, range(stored.num_record_batches)))

    with pa.OSFile(str(path)) as source:
        schema = (pa.ipc.open_stream if is_stream else pa.ipc.open_file)(source).schema
    if is_stream:
        return FilePart(path.name, schema, None, read)
    from pyarrow import dataset

    return FilePart(path.name, schema, dataset.dataset(path, format="ipc").count_rows(), read)


def _text_parts(paths: list[Path], options: TextOptions) -> list[FilePart]:
    """Open text files; columns are numbers if they are in the first rows of the first file."""
    import pyarrow as pa

    numbers: set[str] | None = set() if options.texts else None
    parts = []
    for path in paths:
        with explained(path.name):
            file = open_text_file(path, options.encoding, options.longest_row)
            n_expected = int(unpacked_size(path) / file.row_bytes)
        check_names(file.names, path.name)
        if numbers is None:
            rows = [row for row in file.sample if len(row) == len(file.names)]
            numbers = {
                name
                for i, name in enumerate(file.names)
                if name not in options.as_text
                and _numbers(pa.array([row[i] for row in rows], "string")) is not None
            }
        types = {name: pa.float64() if name in numbers else pa.string() for name in file.names}
        schema = pa.schema(list(types.items()))
        read = _text_reader(file, numbers, options.longest_row)
        parts.append(FilePart(path.name, schema, None, read, {}, n_expected, file.line_of))
    return parts


def _numbers(cells: Any) -> Any | None:
    return as_float64(known_texts(cells))


def _text_reader(file: TextFile, numbers: set[str], longest_row: int) -> _Read:
    import pyarrow as pa

    def read(columns: list[str], rows: int) -> Iterator[Any]:
        n_read = 0
        for batch in file.batches(columns, longest_row):
            arrays = [
                checked_numbers(batch.column(name), name, n_read) if name in numbers else cells
                for name, cells in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, batch.schema.names)
            n_read += batch.num_rows

    def checked_numbers(cells: Any, name: str, n_read: int) -> Any:
        found = _numbers(cells)
        if found is None:
            row = next(i for i in range(len(cells)) if _numbers(cells[i : i + 1]) is None)
            raise ValueError(
                f"column {name!r} of {file.path.name} contains {cells[row].as_py()!r} in line "
                f"{file.line_of(n_read + row)}, and the first rows of the table contain numbers: "
                "correct or empty the cell, or leave out the column"
            )
        return found

    return read


def dataset_part(source: Any) -> FilePart:
    """Return a table or dataset in memory or on disk, with its filter if it has one."""
    import pyarrow as pa
    from pyarrow import dataset

    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        source = dataset.dataset(source)
    # By default dozens of batches of many files are read ahead, and groups of rows as a whole.
    slow: dict[str, Any] = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
    if isinstance(getattr(source, "format", None), dataset.ParquetFileFormat):
        slow["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True, buffer_size=_BUFFER
        )

    def read(columns: list[str], rows: int) -> Iterator[Any]:
        yield from source.to_batches(columns=columns, batch_size=rows, **slow)

    is_text = isinstance(getattr(source, "format", None), dataset.CsvFileFormat)
    n_rows = None if is_text else source.count_rows(**slow)
    return FilePart("the table", source.schema, n_rows, read)
