"""From a file to a table: which reader a file needs, and whether its rows fit into memory.

Sizes are estimated before anything is read. Must not know what columns mean, nor how a format is
read: `delimited`, `arrow` and `matrices` know that.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from ..arrays.memory import format_size, memory_budget, require_memory
from .arrow import read_arrow
from .delimited import Decimal, read_delimited
from .lines import open_text
from .matrices import read_npz, read_svmlight
from .table import Table

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), "delimited"),
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
    ".npz": "npz",
}


def read_table(
    path: str | Path,
    *,
    memory_limit: float | str | None = None,
    encoding: str = "utf-8",
    as_text: Collection[str] = (),
    drop: Collection[str] = (),
    only: Collection[str] | None = None,
    decimal: Decimal = None,
) -> Table:
    """Read a table from a file; the extension of its name determines the format.

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

    Text files may be compressed: ``.csv.gz``.

    Parameters
    ----------
    path : str or Path
        The file.
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
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give a file")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    size = path.stat().st_size
    budget = memory_budget(memory_limit)

    def check_memory(rows: int, width: int, needed: float) -> None:
        extent = f", about {rows:,} rows of {width} columns" if rows else ""
        what = f"{path.name} ({format_size(size)}{extent})"
        require_memory(needed, budget, what, "use fewer rows or columns")

    file_format = _format(path, encoding)
    if file_format == "delimited":
        return read_delimited(path, check_memory, as_text, drop, only, encoding, decimal)
    if size == 0:
        raise ValueError(f"{path.name} is empty: give a file with rows")
    if file_format == "arrow":
        table = read_arrow(path, check_memory, as_text, drop, only)
        return replace(table, decimal=decimal if isinstance(decimal, str) else None)
    if drop:
        raise ValueError(f"{path.name} contains a matrix: its columns have no names to drop")
    read = read_npz if file_format == "npz" else read_svmlight
    return read(path, check_memory)


def _format(path: Path, encoding: str) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix == ".txt":
        return "svmlight" if _looks_like_svmlight(path, encoding) else "delimited"
    if suffix == ".npy":
        raise ValueError(
            f"{path.name} holds one array, and rows need their labels beside them: write both with "
            f"np.savez({path.stem + '.npz'!r}, X=X, y=y), and give that file"
        )
    if suffix not in _FORMATS:
        raise ValueError(
            f"{path.name}: the format {suffix or 'of a file without an extension'} is not known: "
            "give .csv, .tsv, .txt, .parquet, .arrow, .feather, .npz, .svm, .svmlight or .libsvm"
        )
    return _FORMATS[suffix]


def _looks_like_svmlight(path: Path, encoding: str) -> bool:
    try:
        with open_text(path, encoding) as file:
            words = file.readline(1 << 16).split("#")[0].split()
    except (UnicodeError, LookupError):
        return False  # the error of the reader of text files explains more
    pairs = [word.partition(":") for word in words[1:]]
    return bool(pairs) and all(index.isdigit() and sep for index, sep, _ in pairs[:-1] or pairs)
