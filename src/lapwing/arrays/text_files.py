"""Text files of a table: cells separated by comma, semicolon, tab or bar, names in the first line.

pyarrow parses them, a block at a time, so that memory does not grow with the file. What pyarrow
does not report is found here, by a second look at the file: the line of an error, and quotes that
are not closed. Must not know what columns mean.
"""

from __future__ import annotations

import atexit
import csv
import io
import itertools
import threading
import time
import weakref
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .text_source import DAMAGED, TextSource, bad_encoding, check_encoding, open_text

#: Cells that mean "not known", in lower case and without the spaces around them.
MISSING_MARKS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-"})
_DELIMITERS = ",;\t|"
#: Bytes per block, and most of a row: a quote that is not closed makes one row of the whole rest.
_BLOCK, LONGEST_ROW = 1 << 19, 1 << 26
#: Number of lines, and of bytes, that are inspected before anything is read.
_SAMPLE_LINES, _SAMPLE_BYTES = 500, 1 << 20
#: Held while cells may be longer than the limit of `csv`, which is one for the whole process.
_CSV_LOCK = threading.Lock()
#: Files that are being read, which end before the process does: see `TextSource`.
_READING: weakref.WeakSet[Generator[Any, None, None]] = weakref.WeakSet()
#: Seconds in which a thread that has given up its file has left Python, on a busy machine as well,
#: and when a file was last given up before its end.
_LEAVING = 0.5
_given_up = -_LEAVING


class LongRowError(ValueError):
    """A row is longer than the limit."""


@dataclass(frozen=True)
class TextFile:
    """A text file of which the first rows are known; see `open_text_file`.

    Attributes
    ----------
    path : Path
        The file.
    encoding : str
        Its encoding.
    delimiter : str
        What separates cells.
    names : list of str
        Names of all columns, in the order of the file; an empty one is replaced by "column 3".
    sample : list of list of str
        Cells of the first rows.
    row_bytes : float
        Mean length of the first lines in UTF-8.
    may_have_rows : bool
        False if the names are all there is.
    """

    path: Path
    encoding: str
    delimiter: str
    names: list[str]
    sample: list[list[str]]
    row_bytes: float
    may_have_rows: bool

    def batches(self, columns: Sequence[str], longest_row: int = LONGEST_ROW) -> Iterator[Any]:
        """Yield the rows as batches of pyarrow, whose cells are texts.

        Parameters
        ----------
        columns : sequence of str
            The columns to read.
        longest_row : int
            Most bytes of a row.

        Raises
        ------
        LongRowError
            If a row is longer than the limit.
        ValueError
            If the file is not what it should be; the message names the line.
        """
        n_read, block = 0, min(_BLOCK, longest_row)
        while self.may_have_rows:  # pyarrow takes a first line without an end for an error
            try:
                batches = self._read(columns, block, n_read)
                _READING.add(batches)
                for batch in batches:
                    n_read += batch.num_rows
                    yield batch
                return
            except LongRowError:
                if block >= longest_row:
                    raise
                block = min(8 * block, longest_row)  # read once more, from where it was

    def _read(
        self, columns: Sequence[str], block: int, n_skipped: int
    ) -> Generator[Any, None, None]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        options = (
            # A block is parsed while the next one is read; more threads gain nothing.
            arrow_csv.ReadOptions(
                use_threads=False,
                block_size=block,
                column_names=self.names,
                skip_rows_after_names=1,
            ),
            arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                include_columns=list(columns) or self.names[:1],  # none would mean all
            ),
        )
        with _noted_if_given_up(), TextSource(self.path, self.encoding) as source:
            try:
                for batch in arrow_csv.open_csv(pa.PythonFile(source.handle(), "r"), *options):
                    skipped = min(n_skipped, batch.num_rows)
                    n_skipped -= skipped
                    if batch.num_rows > skipped:
                        yield batch.slice(skipped)
            except (pa.ArrowException, UnicodeError, *DAMAGED) as error:
                raise self._explained(error, block, source.n_bytes) from None
            if source.n_quotes % 2:  # pyarrow takes the rest of the file for a cell
                self._check_rows()

    def _explained(self, error: Exception, block: int, n_bytes: int) -> ValueError:
        """Return an error of reading with the line."""
        name, reason = self.path.name, (str(error).splitlines() or ["it is damaged"])[0]
        if "straddling" in reason and n_bytes > block:
            return LongRowError(
                f"{name} has a row of more than {block:,} bytes: look for a quote that is not "
                "closed, or shorten the row"
            )
        if isinstance(error, UnicodeError) or "UTF8" in reason:
            return ValueError(bad_encoding(self.path, self.encoding))
        if "Expected" in reason or "straddling" in reason:
            try:
                self._check_rows()
            except UnicodeError:
                return ValueError(bad_encoding(self.path, self.encoding))
            except ValueError as explained:
                return explained
        return ValueError(f"{name} cannot be read: {reason}")

    def _check_rows(self) -> None:
        """Raise a ValueError with the line of a row of more or fewer cells, or of an open quote."""
        last = 0
        for line, row in self._rows():
            if row[-1].endswith("\0") and row != ["\0"]:
                raise ValueError(
                    f"the row that begins in line {last + 1} of {self.path.name} does not end: "
                    "look for a quote that is not closed"
                )
            if len(row) != len(self.names) and row != ["\0"]:
                closed = ", and each quote must be closed" if "\n" in "".join(row) else ""
                raise ValueError(
                    f"line {line} of {self.path.name} has {len(row)} cells, the line of names has "
                    f"{len(self.names)}: a cell that contains {self.delimiter!r} needs quotes "
                    f"around it{closed}"
                )
            last = line

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line and cells of each row with `csv` of Python, which counts lines.

        The names come first, and a NUL last, which becomes part of a cell that is not closed. Only
        errors and messages need it.
        """
        with open_text(self.path, self.encoding) as file, _long_cells():
            reader = csv.reader(itertools.chain(file, ["\0"]), delimiter=self.delimiter)
            for row in filter(None, reader):
                yield reader.line_num, row

    def line_of(self, row: int) -> int:
        """Return the line of the file on which a row ends, both counted as a user sees them."""
        for number, (line, _) in enumerate(self._rows(), start=-1):
            if number == row:
                return line
        raise IndexError(f"{self.path.name} has no row {row}")


@contextmanager
def _noted_if_given_up() -> Iterator[None]:
    """Note the time if reading ends before the file does."""
    global _given_up
    try:
        yield
    except BaseException:
        _given_up = time.monotonic()
        raise


@atexit.register
def _stop_reading() -> None:
    global _given_up
    for batches in list(_READING):
        try:
            batches.close()
        except ValueError:  # another thread is at it
            _given_up = time.monotonic()
    # A thread of pyarrow that is still in Python when that ends would abort the process.
    time.sleep(max(0.0, _given_up + _LEAVING - time.monotonic()))


def open_text_file(path: Path, encoding: str = "utf-8", longest_row: int = LONGEST_ROW) -> TextFile:
    """Inspect the first rows of a text file.

    Raises
    ------
    ValueError
        If the file is empty, or not text in that encoding.
    LongRowError
        If the first row is longer than the limit.
    """
    check_encoding(encoding)
    try:
        sample, is_whole = _first_lines(path, encoding, longest_row)
        text = sample.decode("utf-8")
    except UnicodeError:
        raise ValueError(bad_encoding(path, encoding)) from None
    except DAMAGED as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None
    if not text.strip():
        raise ValueError(
            f"{path.name} is empty: the first line must contain the names of the columns"
        )
    lines = list(io.StringIO(text, newline=""))
    is_tsv = any(suffix.lower() in (".tsv", ".tab") for suffix in path.suffixes)
    with _long_cells():
        delimiter = "\t" if is_tsv else _sniff(lines)
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    names = [cell.strip() or f"column {i}" for i, cell in enumerate(rows[0], start=1)]
    row_bytes = max(len(sample) / len(rows), 1.0)
    may_have_rows = len(rows) > 1 or not is_whole
    return TextFile(path, encoding, delimiter, names, rows[1:], row_bytes, may_have_rows)


def _first_lines(path: Path, encoding: str, longest_row: int) -> tuple[bytes, bool]:
    """Return the first lines in UTF-8, a few if they are long, and whether they are the file."""
    data, line_end = b"", b"\n"
    with TextSource(path, encoding) as source:
        while piece := source.read(min(_SAMPLE_BYTES, longest_row)):
            data += piece
            line_end = b"\n" if b"\n" in data else b"\r"  # of old Macs
            if data.count(line_end) > 1:
                break
            if len(data) > longest_row:
                raise LongRowError(f"the first lines of {path.name} are too long to be names")
        else:
            return data, True
    lines = data.split(line_end, _SAMPLE_LINES)
    return data[: len(data) - len(lines[-1])], False


def _sniff(lines: list[str]) -> str:
    """Return the delimiter that splits most rows into as many cells as the first one."""

    def merit(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
        return (widths.count(widths[0]) / len(widths) if widths[0] > 1 else 0.0, widths[0])

    sample = lines[:50]
    return max(_DELIMITERS, key=merit)


def known_texts(cells: Any) -> Any:
    """Return texts of pyarrow without the spaces around them, and null for missing ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(cells)
    is_missing = pc.is_in(pc.ascii_lower(texts), pa.array(sorted(MISSING_MARKS)))
    return pc.if_else(is_missing, None, texts)


def as_float64(texts: Any) -> Any | None:
    """Return texts of pyarrow as float64, or None if one is not a number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_float64(known_texts(pa.array(["1", " 2.5", "NA"]))).to_pylist()
    [1.0, 2.5, None]
    >>> as_float64(pa.array(["1", "x"]))
    """
    import pyarrow as pa

    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let cells be long: `csv` has one limit for the whole process, which is restored."""
    with _CSV_LOCK:
        limit = csv.field_size_limit(LONGEST_ROW)
        try:
            yield
        finally:
            csv.field_size_limit(limit)
