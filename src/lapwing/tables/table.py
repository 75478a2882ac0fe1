"""A table as it was read: named columns, or a ready matrix with its targets.

Knows which cells count as missing and where a row is in its file, so that every message can point
there. Must not know file formats, nor how columns become features.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays.text_files import MISSING_MARKS
from ..messages import listing, quoted

#: Returns the position of a row in its file as text, such as "line 3".
Place = Callable[[int], str]
#: Called with the rows, columns and bytes of a table; raises a MemoryError if these are too many.
MemoryCheck = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Table:
    """Rows of a file.

    Parameters
    ----------
    source : str
        Name of the file, for messages.
    n_rows : int
        Number of rows.
    columns : dict of str to ndarray
        Columns by name, in the order of the file: float64 with NaN for missing cells, or objects
        that are str, or None where a cell is empty. Empty for a ready matrix.
    X : ndarray or csr_matrix, optional
        The rows of a file that contains a matrix, float64.
    y : ndarray, optional
        The targets stored with the matrix.
    place : callable, optional
        Returns the position of a row in its file, such as "line 3"; by default its number.
    names : tuple of str
        Names of all columns of the file, also of those that were not read.
    decimal : {".", ",", None}
        Decimal mark of all numbers in texts, if one is known.
    first_row : int
        Number of rows of the files before the first one of the table.
    n_bytes : float
        An estimate of the memory that the columns need.

    Examples
    --------
    >>> table = Table("a.npz", 2, {"age": np.array([31.0, 40.0])})
    >>> table.where(1)
    'row 2'
    """

    source: str
    n_rows: int
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    X: Any = None
    y: np.ndarray | None = None
    place: Place | None = None
    names: tuple[str, ...] = ()
    decimal: str | None = None
    first_row: int = 0
    n_bytes: float = 0.0

    @property
    def is_matrix(self) -> bool:
        """Whether the file contained a matrix, whose columns have no names."""
        return self.X is not None

    def where(self, row: int) -> str:
        """Return the position of a row in the file, counted from 1."""
        return f"row {self.first_row + row + 1}" if self.place is None else self.place(row)

    def column(self, name: str, role: str = "column") -> np.ndarray:
        """Return a column, or raise a ValueError that lists the existing ones."""
        check_column(name, self.columns, self.source, role)
        return self.columns[name]


def check_column(name: str, known: Collection[str], source: str, role: str = "column") -> None:
    """Raise a ValueError with the nearest name if there is no column of that name."""
    if name in known:
        return
    names = list(known)
    by_lower_case = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1)
    hint = f"did you mean {quoted(by_lower_case[close[0]])}? It" if close else "it"
    raise ValueError(f"{source} has no {role} {quoted(name)}: {hint} has {listing(names, 20)}")


def select_columns(
    names: Sequence[str], drop: Collection[str], only: Collection[str] | None, source: str
) -> list[str]:
    """Return the columns to read: those of `only`, by default all, without those of `drop`.

    Raises
    ------
    ValueError
        If one of `drop` does not occur.
    """
    for name in drop:
        check_column(name, names, source)
    left_out, wanted = set(drop), set(names if only is None else only)
    return [name for name in names if name in wanted and name not in left_out]


def plain_number(number: float) -> int | float:
    """Return an int for a whole number that a float represents exactly, the float otherwise."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def as_texts(column: np.ndarray, missing: Collection[str] = MISSING_MARKS) -> np.ndarray:
    """Return a column as objects that are str, or None where a cell is missing.

    Whole numbers lose their ``.0``, so that a column of codes gives the same texts whether a
    format stores it as integers or as floats.

    Parameters
    ----------
    column : ndarray
        Numbers, or objects that have a text or are None.
    missing : collection of str
        The cells that count as missing, in lower case.
    """
    texts = np.empty(len(column), dtype=object)
    if column.dtype == object:
        stripped = {cell: str(cell).strip() for cell in set(column) if cell is not None}
        known = {cell: text for cell, text in stripped.items() if text.lower() not in missing}
        texts[:] = [known.get(cell) for cell in column]
    else:
        texts[:] = [None if cell != cell else str(plain_number(cell)) for cell in column.tolist()]
    return texts
