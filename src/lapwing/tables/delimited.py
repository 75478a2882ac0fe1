"""Tables in text files: cells separated by comma, semicolon, tab or bar, names in the first line.

Files are read in portions: a portion of a column that contains only numbers is kept as numbers, at
eight bytes per cell. A column in which texts first occur later is read a second time, as texts,
so that no text is changed by conversion to a number ("007"). Must not know what columns mean.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .lines import Lines, bad_encoding, check_encoding, open_text, unpacked_size
from .numerals import decimal_mark, may_have_thousands, number_with
from .table import MISSING_MARKS, MemoryCheck, Table, is_missing, select_columns

DELIMITERS = ",;\t|"
#: The decimal mark of all columns, or those of some columns by name, or None if it is not known.
Decimal = str | Mapping[str, str] | None
#: A line of the file and the cells of the row that ends there.
_Row = tuple[int, list[str]]
#: Number of lines, and of characters in them, that are inspected before anything is read.
_SAMPLE, _SAMPLE_CHARACTERS = 500, 1 << 20
#: Cells and characters per portion, and texts per column that are stored once.
_PORTION, _PORTION_CHARACTERS, _SHARED = 200_000, 1 << 25, 10_000
#: Most characters of a cell: a quote that is not closed makes one cell of the rest of the file.
_LONGEST_CELL = 1 << 24
#: Held while cells may be long.
_CSV_LOCK = threading.Lock()
#: Bytes of a number, in its column and in the matrix, and of a text apart from its characters.
_NUMBER_BYTES, _TEXT_BYTES = 16, 64


@dataclass(frozen=True)
class _Layout:
    """What the first rows show: delimiter, columns, and bytes per row in the file and in memory.

    `marks` has the decimal mark of each column; `decimal` is the one of all columns, or None.
    """

    delimiter: str
    names: list[str]
    selected: set[str]
    texts: set[str]
    decimal: str | None
    marks: Mapping[str, str | None]
    row_bytes: float
    row_memory: float


def read_delimited(
    path: Path,
    check_memory: MemoryCheck,
    as_text: Collection[str],
    drop: Collection[str],
    only: Collection[str] | None,
    encoding: str,
    decimal: Decimal,
) -> Table:
    """Read a text file; see `read_table`."""
    check_encoding(encoding)
    try:
        with _long_cells():
            layout = _inspect(path, encoding, as_text, drop, only, check_memory, decimal)
            rows = int(unpacked_size(path) / layout.row_bytes)
            check_memory(rows, len(layout.names), rows * layout.row_memory)
            texts = layout.texts | set(as_text)
            columns, lines, mixed = _read(path, encoding, layout, texts, check_memory)
            if mixed:
                columns, lines, _ = _read(path, encoding, layout, texts | mixed, check_memory)
    except UnicodeError:
        raise ValueError(bad_encoding(path, encoding)) from None
    except (csv.Error, EOFError, zlib.error, gzip.BadGzipFile) as error:
        if "field limit" in str(error):
            raise ValueError(
                f"{path.name} has a cell of more than {_LONGEST_CELL:,} characters: look for a "
                "quote that is not closed, or shorten the cell"
            ) from None
        raise ValueError(f"{path.name} cannot be read: {error}") from None
    names = tuple(layout.names)
    return Table(path.name, len(lines), columns, lines=lines, names=names, decimal=layout.decimal)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let cells be long: `csv` has one limit for the whole process, which is restored."""
    with _CSV_LOCK:
        limit = csv.field_size_limit(_LONGEST_CELL)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


# ---------------------------------------------------------------- before reading


def _inspect(
    path: Path,
    encoding: str,
    as_text: Collection[str],
    drop: Collection[str],
    only: Collection[str] | None,
    check_memory: MemoryCheck,
    decimal: Decimal,
) -> _Layout:
    with open_text(path, encoding) as file:
        lines = list(_first_lines(Lines(file, path.name, check_memory)))
    if not "".join(lines).strip():
        raise ValueError(
            f"{path.name} is empty: the first line must contain the names of the columns"
        )
    is_tsv = any(suffix.lower() in (".tsv", ".tab") for suffix in path.suffixes)
    delimiter = "\t" if is_tsv else _sniff(lines)
    rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    names = [cell.strip() or f"column {i}" for i, cell in enumerate(rows[0], start=1)]
    selected = set(select_columns(names, drop, only, path.name))
    if len(rows) == 1:
        raise ValueError(f"{path.name} has a line of names and no rows: add at least one row")
    sample = [row for row in rows[1:] if len(row) == len(names)]
    by_column = zip(names, zip(*sample, strict=True), strict=bool(sample))
    columns = {name: cells for name, cells in by_column if name in selected}
    if decimal is None:
        decimal = _sniff_decimal(cells for name, cells in columns.items() if name not in as_text)
    marks = decimal if isinstance(decimal, Mapping) else dict.fromkeys(names, decimal)
    texts, memory = set(), 0.0
    for name, cells in columns.items():
        # What points mean can be seen in texts only.
        unclear = decimal is None and may_have_thousands(cells)
        if not unclear and as_floats(cells, marks.get(name)) is not None:
            memory += _NUMBER_BYTES
        else:
            texts.add(name)
            memory += _TEXT_BYTES + sum(map(len, cells)) / len(cells)
    size = sum(len(line.encode("utf-8", "replace")) for line in lines) / len(rows)
    one_mark = None if isinstance(decimal, Mapping) else decimal
    sizes = max(size, 1.0), max(memory, 8.0)
    return _Layout(delimiter, names, selected, texts, one_mark, marks, *sizes)


def _first_lines(lines: Lines) -> Iterator[str]:
    """Yield the first lines; if they are long, only the line of names and a few rows."""
    characters = n_filled = 0
    for line in itertools.islice(lines, _SAMPLE):
        yield line
        lines.characters = 0
        characters += len(line)
        n_filled += not line.isspace()
        if n_filled > 1 and characters > _SAMPLE_CHARACTERS:
            return


def _sniff(lines: list[str]) -> str:
    """Return the delimiter that splits most rows into as many cells as the first one."""

    def merit(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
        return (widths.count(widths[0]) / len(widths) if widths[0] > 1 else 0.0, widths[0])

    sample = [line[:_SAMPLE_CHARACTERS] for line in lines[:50]]
    return max(DELIMITERS, key=merit)


def _sniff_decimal(columns: Iterable[Sequence[str]]) -> str | None:
    """Return a comma if the numbers of a column need it as decimal mark and no other a point.

    Then "1.234" in other columns is a number of thousands.
    """
    known = [[cell for cell in cells if not is_missing(cell)] for cells in columns]
    with_commas = (cells for cells in known if any("," in cell for cell in cells))
    if not any(decimal_mark(cells) == "," for cells in with_commas):
        return None
    return None if any(decimal_mark(cells) == "." for cells in known) else ","


# ---------------------------------------------------------------- reading


def _read(
    path: Path,
    encoding: str,
    layout: _Layout,
    texts: set[str],
    check_memory: MemoryCheck,
) -> tuple[dict[str, np.ndarray], np.ndarray, set[str]]:
    """Return columns, lines of the rows, and names of columns that must be read as texts."""
    width = len(layout.names)
    parts: dict[str, list[np.ndarray]] = {n: [] for n in layout.names if n in layout.selected}
    shared: dict[str, dict[str, str]] = {name: {} for name in parts}
    lines: list[np.ndarray] = []
    n_rows, n_bytes = 0, 0.0
    for portion in _portions(_rows(path, encoding, layout, check_memory), width):
        lines.append(np.array([line for line, _ in portion]))
        n_rows += len(portion)
        by_column = zip(*(row for _, row in portion), strict=True)
        for name, cells in zip(layout.names, by_column, strict=True):
            if name not in parts:
                continue
            numbers = None if name in texts else as_floats(cells, layout.marks.get(name))
            if numbers is not None:
                parts[name].append(numbers)
                n_bytes += _NUMBER_BYTES * len(cells)
            else:
                part, added = _texts(cells, shared[name])
                parts[name].append(part)
                n_bytes += added
        check_memory(n_rows, width, n_bytes)
    columns = {name: np.concatenate(part) for name, part in parts.items()}
    mixed = {name for name, part in parts.items() if len({piece.dtype for piece in part}) > 1}
    return columns, np.concatenate(lines), mixed


def _portions(rows: Iterator[_Row], width: int) -> Iterator[list[_Row]]:
    """Yield rows in groups of a bounded number of cells and characters."""
    portion: list[_Row] = []
    characters = 0
    for row in rows:
        portion.append(row)
        characters += sum(map(len, row[1]))
        if len(portion) * width >= _PORTION or characters >= _PORTION_CHARACTERS:
            yield portion
            portion, characters = [], 0
    if portion:
        yield portion


def _rows(path: Path, encoding: str, layout: _Layout, check_memory: MemoryCheck) -> Iterator[_Row]:
    """Yield the line and the cells of each row."""
    width = len(layout.names)
    with open_text(path, encoding) as file:
        lines = Lines(file, path.name, check_memory)
        reader = csv.reader(lines, delimiter=layout.delimiter, strict=True)
        try:
            rows = filter(None, reader)  # without empty lines
            next(rows, None)  # the names
            for row in rows:
                if len(row) != width:
                    raise ValueError(
                        f"line {reader.line_num} of {path.name} has {len(row)} cells, the line of "
                        f"names has {width}: a cell that contains {layout.delimiter!r} needs "
                        "quotes around it"
                    )
                lines.characters = 0
                yield reader.line_num, row
        except csv.Error as error:
            if "field limit" in str(error):
                raise
            raise ValueError(
                f"line {reader.line_num} of {path.name} cannot be read ({error}): look for a "
                "quote that is not closed"
            ) from None


def as_floats(cells: Sequence[str], decimal: str | None = None) -> np.ndarray | None:
    """Return cells as numbers, NaN for missing ones, or None if a cell is not a number."""
    joined = "".join(cells)
    if decimal == "," and ("." in joined or "," in joined):
        return _as_written(cells, decimal)
    numbers = _as_floats(cells, joined)
    return numbers if numbers is not None or decimal is None else _as_written(cells, decimal)


def _as_floats(cells: Sequence[str], joined: str) -> np.ndarray | None:
    if "_" in joined or not joined.isascii():  # numpy accepts "1_000" and digits of other scripts
        return None
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        pass
    known = ["nan" if cell.strip().lower() in MISSING_MARKS else cell for cell in cells]
    try:
        return np.array(known, dtype=np.float64)
    except ValueError:
        return None


def _as_written(cells: Sequence[str], decimal: str) -> np.ndarray | None:
    """Return numbers with that decimal mark, and perhaps marks between thousands."""
    numbers = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if is_missing(cell):
            continue
        number = number_with(cell, decimal)
        if number is None:
            return None
        numbers[i] = number
    return numbers


def _texts(cells: Sequence[str], shared: dict[str, str]) -> tuple[np.ndarray, float]:
    """Return cells as objects, equal texts as one object, and the bytes that they take."""
    part = np.empty(len(cells), dtype=object)
    n_bytes = 8.0 * len(cells)
    for i, cell in enumerate(cells):
        if not cell.strip():
            continue  # None
        if cell not in shared:
            n_bytes += _TEXT_BYTES + len(cell)
            if len(shared) < _SHARED:
                shared[cell] = cell
        part[i] = shared.get(cell, cell)
    return part, n_bytes
