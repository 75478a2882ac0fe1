"""From a file to a table: which reader a file needs, and whether its rows fit into memory.

Everything is estimated before it is read. Must not know what columns mean, nor how a format is
read: that is with `delimited`, `arrow` and `matrices`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from ..arrays.memory import format_size, memory_budget
from .arrow import read_arrow
from .delimited import open_text, read_delimited
from .matrices import read_npz, read_svmlight
from .table import Table

_DELIMITED = (".csv", ".tsv", ".tab")
_ARROW = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_SVMLIGHT = (".svm", ".svmlight", ".libsvm")


def read_table(
    path: str | Path,
    *,
    memory_limit: float | str | None = None,
    encoding: str = "utf-8",
    as_text: Collection[str] = (),
    drop: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Table:
    """Read a table from a file; the end of its name tells the format.

    ==============================================  ===========================================
    ``.csv``, ``.tsv``, ``.tab``, ``.txt``          names in the first line; cells between
                                                    commas, semicolons, tabs or bars
    ``.parquet``, ``.arrow``, ``.feather``          needs pyarrow: ``pip install
                                                    "lapwing[tables]"``
    ``.npz``                                        an array ``X``, or the parts ``data``,
                                                    ``indices``, ``indptr``, ``shape`` of a CSR
                                                    matrix, and ``y`` if there is one
    ``.svm``, ``.svmlight``, ``.libsvm``, ``.txt``  target, then ``index:value``; an index is
                                                    the number of the column as it stands
    ==============================================  ===========================================

    Files of lines may be packed: ``.csv.gz``.

    Parameters
    ----------
    path : str or Path
    memory_limit : float or str, optional
        Bytes, or a text such as ``"8GB"``; by default a share of what is free.
    encoding : str, default="utf-8"
        Of a file of lines.
    as_text : collection of str
        Columns whose cells must stay texts even if they look like numbers: identifiers, codes.
    drop : collection of str
        Columns that are not wanted.
    only : collection of str, optional
        Columns that are wanted, as far as they are there; by default all.

    Returns
    -------
    Table

    Raises
    ------
    MemoryError
        Before reading, if the table would need more than the limit.
    ValueError
        If the file is not what its name says. The message names the column and the line or row.
    ImportError
        If the format needs pyarrow and that is not installed.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give a file")
    size = path.stat().st_size  # an OSError if there is none
    budget = memory_budget(memory_limit)
    check = partial(_check_memory, path, size, budget)
    kind = _kind(path, encoding)
    if kind == "delimited":
        return read_delimited(
            path, encoding=encoding, check_memory=check, as_text=as_text, drop=drop, only=only
        )
    if size == 0:
        raise ValueError(f"{path.name} is empty")
    if kind == "arrow":
        return read_arrow(path, check, as_text, drop, only)
    if drop:
        raise ValueError(f"{path.name} holds a matrix: its columns have no names to drop")
    return read_npz(path, check) if kind == "npz" else read_svmlight(path, size, check)


def _kind(path: Path, encoding: str) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _DELIMITED:
        return "delimited"
    if suffix in _ARROW:
        return "arrow"
    if suffix == ".npz":
        return "npz"
    if suffix in _SVMLIGHT:
        return "svmlight"
    if suffix == ".txt":
        return "svmlight" if _looks_like_svmlight(path, encoding) else "delimited"
    raise ValueError(
        f"{path.name}: do not know how to read {suffix or 'a file without an ending'}: give "
        ".csv, .tsv, .txt, .parquet, .arrow, .feather, .npz, .svm, .svmlight or .libsvm"
    )


def _looks_like_svmlight(path: Path, encoding: str) -> bool:
    try:
        with open_text(path, encoding) as file:
            words = file.readline(1 << 16).split("#")[0].split()
    except (UnicodeError, LookupError):
        return False  # the reader of lines has the better message
    pairs = [word.partition(":") for word in words[1:]]
    return bool(pairs) and all(index.isdigit() and sep for index, sep, _ in pairs[:-1] or pairs)


def _check_memory(path: Path, size: int, budget: int, rows: int, width: int, need: float) -> None:
    if need > budget:
        extent = f", about {rows:,} rows of {width} columns" if rows else ""
        raise MemoryError(
            f"{path.name} ({format_size(size)}{extent}) needs about {format_size(need)} of memory, "
            f"and {format_size(budget)} may be used: raise "
            "--memory-limit or take fewer rows"
        )
