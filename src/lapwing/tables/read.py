"""From files to tables, all rows at once or a batch at a time, within a memory limit.

Sizes are estimated before anything is read. Must not know what columns mean, nor how a format is
read: `arrays.files`, `cells` and `matrices` know that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.file_parts import FORMATS, TextOptions, format_suffix
from ..arrays.files import TableFiles, open_files
from ..arrays.memory import format_size, memory_budget, require_memory
from ..arrays.text_files import LONGEST_ROW, LongRowError
from ..arrays.text_source import open_text
from .cells import as_numbers, convert, first_cells, sniff_decimal
from .matrices import read_npz, read_svmlight
from .numerals import may_have_thousands
from .table import MemoryCheck, Table, select_columns

#: The decimal mark of all columns, or those of some columns by name, or None if it is not known.
Decimal = str | Mapping[str, str] | None
_MATRICES = {**dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"), ".npz": "npz"}
#: Most rows and cells of a batch.
_BATCH_ROWS, _BATCH_CELLS = 65_536, 4_000_000
#: Bytes that one byte of a row of a text file may take until the row is stored: pyarrow reads 32
#: blocks ahead, each of which holds a row, and copies follow.
_ROW_COPIES = 48


@dataclass(frozen=True)
class TableReader:
    """The rows of files as tables, a batch at a time; see `open_table`.

    Attributes
    ----------
    files : TableFiles
        The files.
    columns : list of str
        The columns that are read.
    texts : frozenset of str
        Columns whose cells stay texts.
    decimal : {".", ",", None}
        Decimal mark of numbers in texts, if it is known.
    marks : mapping of str to str
        Decimal marks of columns that have one of their own.
    watch : callable, optional
        Called with the tables of a pass; yields them.
    """

    files: TableFiles
    columns: list[str]
    texts: frozenset[str]
    decimal: str | None
    marks: Mapping[str, str]
    watch: Callable[[Iterator[Table]], Iterator[Table]] = iter

    def tables(self, most: int | None = None) -> Iterator[Table]:
        """Return the rows from the start, as tables with bounded memory.

        Cells of a text file that all are numbers are float64. From the first table on in which
        they are not, a column contains texts: read it with `as_text` if all tables must agree.

        Parameters
        ----------
        most : int, optional
            Most rows of a table; by default as many as reading them takes little memory for.

        Raises
        ------
        ValueError
            If a file is damaged, or there is no row.
        """
        return self.watch(self._tables(most))

    def _tables(self, most: int | None) -> Iterator[Table]:
        source, texts, n_read = self.files.name, set(self.texts), 0
        shared: dict[str, dict[str, str]] = {name: {} for name in self.columns}
        names = self.columns or list(self.files.columns[:1])
        rows = max(1, min(most or _BATCH_ROWS, _BATCH_ROWS, _BATCH_CELLS // len(names)))
        for batch, place in self.files.located(names, rows):
            columns, n_bytes = {}, 0.0
            for name in self.columns:
                cells = batch.column(name)
                if self.files.is_text and cells.type == "string" and name not in texts:
                    numbers = as_numbers(cells, self.marks.get(name, self.decimal))
                    if numbers is None:
                        texts.add(name)
                    else:
                        cells = numbers
                columns[name], size = convert(cells, name, source, name in texts, shared[name])
                n_bytes += size
            yield Table(
                source,
                batch.num_rows,
                columns,
                place=place,
                names=self.files.columns,
                decimal=self.decimal,
                first_row=n_read,
                n_bytes=n_bytes,
            )
            n_read += batch.num_rows
        if n_read == 0:
            raise ValueError(f"{source} has columns and no rows: add at least one row")

    def expected_size(self) -> tuple[int, float]:
        """Return the number of rows and the bytes of all in memory, estimated by the first ones.

        The number is 0 where it is not known.
        """
        first = next(self.tables())
        n = self.files.n_expected
        return n, first.n_bytes * max(n, first.n_rows) / first.n_rows

    def select(self, columns: Collection[str], as_text: Collection[str]) -> TableReader:
        """Return a reader of fewer columns, and with more texts."""
        kept = [name for name in self.columns if name in columns]
        return replace(self, columns=kept, texts=self.texts | set(as_text))


def open_table(
    source: Any,
    *,
    memory_limit: float | str | None = None,
    encoding: str = "utf-8",
    as_text: Collection[str | None] = (),
    drop: Collection[str] = (),
    only: Collection[str] | None = None,
    decimal: Decimal = None,
) -> TableReader:
    """Open the files of a table, which may be larger than memory; parameters as in `read_table`.

    Parameters
    ----------
    source : str, Path, sequence of them, or dataset of pyarrow
        Parquet, Feather, Arrow or text files, or a folder of files of one of these formats.
    memory_limit, encoding, as_text, drop, only, decimal
        See `read_table`. Of the memory only that of one row is checked.

    Returns
    -------
    TableReader
    """
    budget = memory_budget(memory_limit)
    with _checked_rows(source, budget):
        text = TextOptions(encoding, texts=True, longest_row=_longest_row(budget))
        files = open_files(source, text)
        columns = select_columns(files.columns, drop, only, files.name)
        texts = {name for name in as_text if name is not None}
        if isinstance(decimal, Mapping):
            return TableReader(files, columns, frozenset(texts), None, decimal)
        if files.is_text and decimal is None:
            first = first_cells(files, [name for name in columns if name not in texts])
            decimal = sniff_decimal(first.values())
            if decimal is None:  # what points mean can be seen in texts only
                texts |= {name for name, cells in first.items() if may_have_thousands(cells)}
    return TableReader(files, columns, frozenset(texts), decimal, {})


def read_table(
    path: Any,
    *,
    memory_limit: float | str | None = None,
    encoding: str = "utf-8",
    as_text: Collection[str | None] = (),
    drop: Collection[str] = (),
    only: Collection[str] | None = None,
    decimal: Decimal = None,
) -> Table:
    """Read a table; the extension of the name of a file determines the format.

    ==============================================  ===========================================
    ``.csv``, ``.tsv``, ``.tab``, ``.txt``          names in the first line; cells separated by
                                                    commas, semicolons, tabs or bars
    ``.parquet``, ``.arrow``, ``.feather``          needs pyarrow: ``pip install
                                                    "lapwing[tables]"``
    ``.npz``                                        an array ``X``, or the arrays ``data``,
                                                    ``indices``, ``indptr``, ``shape`` of a CSR
                                                    matrix, and ``y`` if there are targets
    ``.svm``, ``.svmlight``, ``.libsvm``, ``.txt``  target, then ``index:value``; an index is
                                                    the number of the column and is not shifted
    ==============================================  ===========================================

    Text files may be compressed: ``.csv.gz``. All but matrices need pyarrow: ``pip install
    "lapwing[tables]"``.

    Parameters
    ----------
    path : str, Path or sequence of them
        The file, or a folder or list of files of one table, all of one format.
    memory_limit : int, str or None, default=None
        Memory that may be used for the table, in bytes or as text such as "8GB"; None is 60 % of
        the free memory.
    encoding : str, default="utf-8"
        Encoding of a text file.
    as_text : collection of str
        Columns whose cells must stay texts even if they look like numbers: identifiers, codes.
    drop : collection of str
        Columns that are not read.
    only : collection of str, optional
        Columns that are read, if they exist; by default all.
    decimal : {".", ","} or mapping from str, optional
        Decimal mark of numbers in texts, of all columns or by column. The other mark may stand
        between thousands. By default it is a comma in a text file of which a column shows that, and
        none shows the contrary; `Table.decimal` says so.

    Returns
    -------
    Table

    Raises
    ------
    MemoryError
        Before reading, if the table would need more than the limit.
    ValueError
        If the file is not of the format of its name. The message names the column and the line or
        row.
    ImportError
        If the format needs pyarrow and pyarrow is not installed.
    """
    budget = memory_budget(memory_limit)
    size, name = _size(path)

    def check_memory(rows: int, width: int, needed: float) -> None:
        extent = f", about {rows:,} rows of {width} columns" if rows else ""
        what = f"{name} ({format_size(size)}{extent})"
        require_memory(needed, budget, what, "use fewer rows or columns")

    matrix = None if not isinstance(path, (str, Path)) else _matrix_format(Path(path), encoding)
    if matrix is not None:
        if size == 0:
            raise ValueError(f"{name} is empty: give a file with rows")
        if drop:
            raise ValueError(f"{name} contains a matrix: its columns have no names to drop")
        return (read_npz if matrix == "npz" else read_svmlight)(Path(path), check_memory)
    reader = open_table(
        path,
        memory_limit=memory_limit,
        encoding=encoding,
        as_text=as_text,
        drop=drop,
        only=only,
        decimal=decimal,
    )
    with _checked_rows(path, budget):
        return _read(reader, check_memory)


def is_matrix_file(path: Path, encoding: str = "utf-8") -> bool:
    """Return whether a file contains a matrix, which `open_table` does not read.

    Raises
    ------
    ValueError
        If its format is not known.
    FileNotFoundError
        If there is no such file.
    """
    _size(path)
    return _matrix_format(path, encoding) is not None


def _read(reader: TableReader, check_memory: MemoryCheck) -> Table:
    """Return all rows as one table."""
    expected, width = reader.files.n_expected, len(reader.files.columns)
    check_memory(expected, width, 8.0 * expected * len(reader.columns))
    parts: list[Table] = []
    n_bytes, n_rows = 0.0, 0
    for part in reader.tables():
        parts.append(part)
        n_bytes, n_rows = n_bytes + part.n_bytes, n_rows + part.n_rows
        expected = max(expected, n_rows) if len(parts) == 1 else n_rows
        check_memory(expected, width, n_bytes * expected / n_rows)
    columns = {}
    for name in reader.columns:
        pieces = [part.columns[name] for part in parts]
        # Where texts occur late, no cell may have been changed by conversion to a number ("007").
        if len({piece.dtype for piece in pieces}) > 1:
            pieces = [_read(reader.select([name], [name]), check_memory).columns[name]]
        columns[name] = np.concatenate(pieces)
    starts = [part.first_row for part in parts]
    places: list[Any] = [part.place for part in parts]

    def place(row: int) -> str:
        index = bisect_right(starts, row) - 1
        return str(places[index](row - starts[index]))

    return replace(parts[0], n_rows=n_rows, columns=columns, place=place, n_bytes=n_bytes)


def _size(source: Any) -> tuple[int, str]:
    """Return the bytes of files, and their name for messages."""
    if isinstance(source, (list, tuple)):
        return sum(_size(path)[0] for path in source), f"{len(source)} files"
    if not isinstance(source, (str, Path)):
        return 0, "the table"
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files), path.name


def _longest_row(budget: int) -> int:
    return min(LONGEST_ROW, max(budget // _ROW_COPIES, 1))


@contextmanager
def _checked_rows(source: Any, budget: int) -> Iterator[None]:
    """Raise a MemoryError if a row of a text file needs more memory than the limit."""
    try:
        yield
    except LongRowError:
        longest = _longest_row(budget)
        if longest < LONGEST_ROW:
            what = f"a row of {_size(source)[1]} is longer than {format_size(longest)} and"
            advice = "look for a quote that is not closed"
            require_memory(_ROW_COPIES * (longest + 1), budget, what, advice)
        raise


def _matrix_format(path: Path, encoding: str) -> str | None:
    """Return the format of a file that contains a matrix, or None if it is a table."""
    suffix = format_suffix(path)
    if suffix == ".txt" and _looks_like_svmlight(path, encoding):
        return "svmlight"
    if suffix == ".npy":
        raise ValueError(
            f"{path.name} holds one array, and rows need their labels beside them: write both with "
            f"np.savez({path.stem + '.npz'!r}, X=X, y=y), and give that file"
        )
    if suffix not in _MATRICES and suffix not in FORMATS and not path.is_dir():
        raise ValueError(
            f"{path.name}: the format {suffix or 'of a file without an extension'} is not known: "
            "give .csv, .tsv, .txt, .parquet, .arrow, .feather, .npz, .svm, .svmlight or .libsvm"
        )
    return _MATRICES.get(suffix)


def _looks_like_svmlight(path: Path, encoding: str) -> bool:
    try:
        with open_text(path, encoding) as file:
            words = file.readline(1 << 16).split("#")[0].split()
    except (UnicodeError, LookupError):
        return False  # the error of the reader of text files explains more
    pairs = [word.partition(":") for word in words[1:]]
    return bool(pairs) and all(index.isdigit() and sep for index, sep, _ in pairs[:-1] or pairs)
