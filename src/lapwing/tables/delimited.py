"""Tables in files of lines: comma, semicolon, tab or bar between the cells, names on top.

Read in portions: a portion of a column that holds nothing but numbers is kept as numbers, at eight
bytes a cell. A column that turns out to hold texts further down is read a second time, as texts,
so that no text is lost on the way through a number ("007"). Must not know what columns mean.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from .table import MISSING_MARKS, Table, did_you_mean

DELIMITERS = ",;\t|"
#: Lines, and letters in them, looked at before anything is read.
_SAMPLE, _SAMPLE_LETTERS = 500, 1 << 20
#: Cells in a portion, and texts of a column that are kept once however often they occur.
_PORTION, _SHARED = 200_000, 10_000
#: Bytes of a number, in its column and in the matrix made of it, and of a text beside its letters.
_NUMBER_BYTES, _TEXT_BYTES = 16, 64
#: Called with rows, columns and bytes that a table needs; raises a MemoryError if that is too much.
MemoryCheck = Callable[[int, int, float], None]


@dataclass(frozen=True)
class _Layout:
    """What the first rows tell: delimiter, names, columns with texts, and bytes a row."""

    delimiter: str
    names: list[str]
    wanted: set[str]
    texts: set[str]
    row_bytes: float
    row_memory: float


def read_delimited(
    path: Path,
    *,
    encoding: str,
    check_memory: MemoryCheck,
    as_text: Collection[str] = (),
    drop: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Table:
    """Read a file of lines; see `read_table`."""
    try:
        layout = _look(path, encoding, drop, only)
        rows = int(_unpacked_size(path) / layout.row_bytes)
        check_memory(rows, len(layout.names), rows * layout.row_memory)
        texts = layout.texts | set(as_text)
        columns, lines, mixed = _read(path, encoding, layout, texts, check_memory)
        if mixed:
            texts |= mixed
            columns, lines, _ = _read(path, encoding, layout, texts, check_memory)
    except UnicodeError as error:
        raise ValueError(_bad_encoding(path, encoding, error)) from None
    except (csv.Error, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}: try 'utf-8', 'latin-1' or 'utf-16'"
        ) from None
    return Table(path.name, len(lines), columns, lines=lines)


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a file of lines, packed by gzip or not, without touching its line ends."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"  # some programs write a mark of three bytes first
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return open(path, encoding=encoding, newline="")


# ---------------------------------------------------------------- before reading


def _look(
    path: Path, encoding: str, drop: Collection[str], only: Collection[str] | None
) -> _Layout:
    with open_text(path, encoding) as file:
        whole = list(_first_lines(file))
    if not "".join(whole).strip():
        raise ValueError(f"{path.name} is empty: the first line must hold the names of the columns")
    delimiter = "\t" if _is_tsv(path) else _sniff(whole)
    rows = [row for row in csv.reader(whole, delimiter=delimiter) if row]
    names = _names(rows[0], path.name)
    for name in drop:
        if name not in names:
            raise ValueError(f"{path.name} has no column {name!r}{did_you_mean(name, names)}")
    if len(rows) == 1:
        raise ValueError(f"{path.name} has a line of names and no rows: give it at least one")
    wanted = {n for n in names if n not in drop and (only is None or n in only)}
    sample = [row for row in rows[1:] if len(row) == len(names)]
    texts, memory = set(), 0.0
    for name, cells in zip(names, zip(*sample, strict=True), strict=bool(sample)):
        if name not in wanted:
            continue
        if as_floats(list(cells)) is not None:
            memory += _NUMBER_BYTES
        else:
            texts.add(name)
            memory += _TEXT_BYTES + sum(map(len, cells)) / len(cells)
    size = sum(len(line.encode("utf-8", "replace")) for line in whole) / len(rows)
    return _Layout(delimiter, names, wanted, texts, max(size, 1.0), max(memory, 8.0))


def _first_lines(file: IO[str]) -> Iterator[str]:
    """Yield some lines, and not much of a file without line ends."""
    letters = 0
    for _ in range(_SAMPLE):
        line = file.readline(_SAMPLE_LETTERS)
        letters += len(line)
        if not line or letters > 2 * _SAMPLE_LETTERS:
            return
        yield line


def _is_tsv(path: Path) -> bool:
    return any(suffix.lower() in (".tsv", ".tab") for suffix in path.suffixes)


def _sniff(lines: list[str]) -> str:
    """Return the delimiter that cuts most rows into as many cells as the first one."""

    def merit(delimiter: str) -> tuple[float, int]:
        rows = [row for row in csv.reader(lines[:50], delimiter=delimiter) if row]
        width = len(rows[0])
        return (sum(len(row) == width for row in rows) / len(rows) if width > 1 else 0.0, width)

    return max(DELIMITERS, key=merit)


def _names(row: list[str], source: str) -> list[str]:
    names = [cell.strip() or f"column {i}" for i, cell in enumerate(row, start=1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        at = [i for i, name in enumerate(names, start=1) if name == twice[0]]
        raise ValueError(
            f"{source} has {len(at)} columns named {twice[0]!r}, at places "
            f"{', '.join(map(str, at))}: rename all but one in line 1"
        )
    return names


def _unpacked_size(path: Path) -> int:
    """Return the bytes of a file; of a packed one what its end says, or a usual share."""
    size = path.stat().st_size
    if path.suffix.lower() != ".gz" or size < 18:
        return size
    with open(path, "rb") as file:
        file.seek(-4, 2)  # modulo 2³²: a lower bound
        return max(int.from_bytes(file.read(4), "little"), 2 * size)


# ---------------------------------------------------------------- reading


def _read(
    path: Path,
    encoding: str,
    layout: _Layout,
    texts: set[str],
    check_memory: MemoryCheck,
) -> tuple[dict[str, np.ndarray], np.ndarray, set[str]]:
    """Return columns, lines of the rows, and names of columns that need to be read as texts."""
    width = len(layout.names)
    parts: dict[str, list[np.ndarray]] = {n: [] for n in layout.names if n in layout.wanted}
    shared: dict[str, dict[str, str]] = {name: {} for name in parts}
    lines: list[np.ndarray] = []
    held, n_rows = 0.0, 0
    rows = _rows(path, encoding, layout)
    while portion := list(itertools.islice(rows, max(1, _PORTION // width))):
        lines.append(np.array([line for line, _ in portion]))
        n_rows += len(portion)
        for name, cells in zip(
            layout.names, zip(*(row for _, row in portion), strict=True), strict=True
        ):
            if name not in parts:
                continue
            numbers = None if name in texts else as_floats(list(cells))
            if numbers is not None:
                parts[name].append(numbers)
                held += _NUMBER_BYTES * len(cells)
            else:
                part, added = _texts(cells, shared[name])
                parts[name].append(part)
                held += 8 * len(cells) + added
        check_memory(n_rows, width, held)
    columns = {name: np.concatenate(part) for name, part in parts.items()}
    mixed = {name for name, part in parts.items() if len({piece.dtype for piece in part}) > 1}
    return columns, np.concatenate(lines), mixed


def _rows(path: Path, encoding: str, layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    width = len(layout.names)
    with open_text(path, encoding) as file:
        reader = csv.reader(file, delimiter=layout.delimiter, strict=True)
        try:
            for row in reader:
                if row:
                    break  # the names
            for row in reader:
                if not row:
                    continue  # an empty line
                if len(row) != width:
                    raise ValueError(
                        f"line {reader.line_num} of {path.name} has {len(row)} cells, the line of "
                        f"names has {width}: a cell that contains {layout.delimiter!r} needs "
                        "quotes around it"
                    )
                yield reader.line_num, row
        except csv.Error as error:
            raise ValueError(
                f"line {reader.line_num} of {path.name} cannot be read ({error}): look for a "
                "quote that is not closed"
            ) from None


def as_floats(cells: list[str]) -> np.ndarray | None:
    """Return cells as numbers, NaN for missing ones, or None if one of them is no number."""
    joined = "".join(cells)
    if "_" in joined or not joined.isascii():  # taken for digits by numpy: "1_000", other scripts
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


def _texts(cells: tuple[str, ...], shared: dict[str, str]) -> tuple[np.ndarray, float]:
    """Return cells as objects, equal texts as one object, and the bytes that were added."""
    part = np.empty(len(cells), dtype=object)
    added = 0.0
    for i, cell in enumerate(cells):
        if not cell.strip():
            continue  # None
        text = shared.get(cell)
        if text is None:
            text = cell
            added += _TEXT_BYTES + len(cell)
            if len(shared) < _SHARED:
                shared[cell] = cell
        part[i] = text
    return part, added


# ---------------------------------------------------------------- text that cannot be decoded


def _bad_encoding(path: Path, encoding: str, error: UnicodeError) -> str:
    place = ""
    if encoding.lower().replace("-", "") == "utf8":
        place = _first_bad_byte(path)
    other = "latin-1" if encoding.lower() != "latin-1" else "utf-8"
    if place.startswith(" (line 1, byte 1,"):
        other = "utf-16"  # its mark stands at the beginning
    return (
        f"{path.name} is not text in {encoding}{place}: save it as UTF-8, or say how it is "
        f"written, such as --encoding {other}"
    )


def _unpacked(path: Path, file: IO[bytes]) -> Any:
    return gzip.open(file) if path.suffix.lower() == ".gz" else file


def _first_bad_byte(path: Path) -> str:
    with open(path, "rb") as stored, _unpacked(path, stored) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f" (line {number}, byte {error.start + 1}, 0x{line[error.start]:02x})"
    return ""
