"""A table as it was read: named columns, or a ready matrix with its targets.

Knows which cells count as missing and where a row stands in its file, so that every message can
point there. Must not know file formats, nor how columns become features.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Cells that mean "not known", in lower case and without the spaces around them.
MISSING_MARKS = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
#: Squares of numbers beyond this are infinite.
_HUGE = 1e150
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Rows of a file.

    Parameters
    ----------
    source : str
        Name of the file, for messages.
    n_rows : int
    columns : dict of str to ndarray
        Columns by name, in the order of the file: float64 with NaN for missing cells, or objects
        that are str, or None where a cell is empty. Empty for a ready matrix.
    X : ndarray or csr_matrix, optional
        The rows of a file that holds a matrix, float64.
    y : ndarray, optional
        The targets beside the matrix.
    lines : ndarray of int, optional
        Line of the file on which each row ends, for a file of lines.

    Examples
    --------
    >>> table = Table("a.csv", 2, {"age": np.array([31.0, 40.0])}, lines=np.array([2, 3]))
    >>> table.where(1)
    'line 3'
    """

    source: str
    n_rows: int
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    X: Any = None
    y: np.ndarray | None = None
    lines: np.ndarray | None = None

    @property
    def is_matrix(self) -> bool:
        """Whether the file held a matrix, whose columns have no names."""
        return self.X is not None

    def where(self, row: int) -> str:
        """Return where a row stands in the file, as people count: from 1."""
        if self.lines is None:
            return f"row {row + 1}"
        return f"line {int(self.lines[row])}"

    def column(self, name: str, role: str = "column") -> np.ndarray:
        """Return a column, or raise a ValueError that names those there are."""
        try:
            return self.columns[name]
        except KeyError:
            raise ValueError(
                f"{self.source} has no {role} {name!r}{did_you_mean(name, self.columns)}"
            ) from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about a name that is not there."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if not close:  # difflib minds the case
        lower = {other.lower(): other for other in names}
        close = [lower[found] for found in difflib.get_close_matches(name.lower(), lower, n=1)]
    shown = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    hint = f": did you mean {close[0]!r}?" if close else ":"
    return f"{hint} It has {shown}" if close else f"{hint} it has {shown}"


def is_missing(cell: Any) -> bool:
    """Return whether a cell counts as missing: None, NaN or one of the usual marks."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING_MARKS
    return bool(cell != cell)


def number_or_none(cell: str) -> float | None:
    """Return the number that a cell holds, or None if it is no number."""
    text = cell.strip()
    # float() would take "1_000" and digits of all scripts.
    return float(text) if _NUMBER.fullmatch(text) else None


def as_texts(column: np.ndarray) -> np.ndarray:
    """Return a column as objects that are str, or None where a cell is missing.

    Whole numbers lose their ``.0``, so that a column of codes gives the same texts whether a
    format stores it as integers or as floats.
    """
    texts = np.empty(len(column), dtype=object)
    if column.dtype == object:
        texts[:] = [None if is_missing(cell) else str(cell).strip() for cell in column]
    else:
        texts[:] = [None if cell != cell else number_text(cell) for cell in column.tolist()]
    return texts


def number_text(number: float) -> str:
    """Return the shortest text of a number; whole ones without a point."""
    whole = float(number).is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else repr(float(number))


def as_numbers(table: Table, name: str) -> np.ndarray:
    """Return a column as float64 with NaN where a cell is missing.

    Raises
    ------
    ValueError
        If a cell holds something else or an infinite number; it names the column and the row.
    """
    column = table.column(name)
    if column.dtype == object:
        numbers = np.full(len(column), np.nan)
        for row, cell in enumerate(column):
            if is_missing(cell):
                continue
            number = number_or_none(str(cell))
            if number is None:
                raise ValueError(
                    f"column {name!r} of {table.source} holds {str(cell)!r} in {table.where(row)}, "
                    "where the model needs a number: correct the cell or leave it empty"
                )
            numbers[row] = number
    else:
        numbers = np.asarray(column, dtype=np.float64)
    huge = np.flatnonzero(np.abs(numbers) > _HUGE)
    if len(huge):
        raise ValueError(
            f"column {name!r} of {table.source} holds {numbers[huge[0]]:g} in "
            f"{table.where(huge[0])}, more than can be computed with: correct the cell or leave it "
            "empty"
        )
    return numbers
