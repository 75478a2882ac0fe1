"""What a column of a table becomes: a number, a group of zeros and ones, or weights of words.

Each class holds what was learnt from the table of a fit, computes the same features of any other
table, and can be written as plain JSON and read back. Reading checks everything: a model file may
come from anybody. Must not know how the type of a column was inferred.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from ..arrays.packing import expect
from ..messages import quoted
from .numerals import NOTATIONS, decimal_mark
from .stored import from_stored
from .table import Table, as_texts

#: Texts of a yes-or-no column, in lower case.
BOOLEANS = {
    **dict.fromkeys(("true", "yes", "y", "t"), 1.0),
    **dict.fromkeys(("false", "no", "n", "f"), 0.0),
}
#: The squares of larger numbers overflow.
LARGEST_NUMBER = 1e150
TOO_LARGE = "which is too large to compute with"
_DOTTED_DATE = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})(?![0-9])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def days(text: str) -> float | None:
    """Return the days from 1970 to a date such as 2024-01-31 or 31.01.2024, or None.

    Examples
    --------
    >>> days("1970-01-02"), days("1970-01-02 12:00"), days("3.1.1970"), days("soon")
    (1.0, 1.5, 2.0, None)
    """
    if dotted := _DOTTED_DATE.match(text):
        day, month, year = dotted.groups()
        text = f"{year}-{month:0>2}-{day:0>2}{text[dotted.end() :]}"
    if len(text) < 10 or text[4] != "-" or text[7] != "-":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds() / 86400.0


#: How texts can be read as numbers: the function of a text, and what it accepts.
READINGS = {
    "number": (NOTATIONS["number"], "a number"),
    "decimal comma": (NOTATIONS["decimal comma"], "a number such as 1,5"),
    "decimal point": (NOTATIONS["decimal point"], "a number such as 1.5"),
    "date": (days, "a date such as 2024-01-31 or 31.01.2024"),
    "boolean": (lambda text: BOOLEANS.get(text.lower()), "yes or no"),
}


def read_text(text: str, reading: str) -> float | None:
    """Return the number that a text is if it is read in a way of `READINGS`, or None."""
    return READINGS[reading][0](text)


def read_numbers(table: Table, name: str, reading: str) -> np.ndarray:
    """Return a column as float64: numbers, dates as days, yes as 1; NaN where a cell is missing.

    Raises
    ------
    ValueError
        If a cell cannot be read, or is infinite or too large; the message names column and row.
    """
    column = table.column(name)
    if column.dtype != object:
        numbers = column
    else:
        texts = as_texts(column)
        read = {text: read_text(text, reading) for text in set(texts) if text is not None}
        if None in read.values():
            row = next(i for i, text in enumerate(texts) if text and read[text] is None)
            mark = decimal_mark([texts[row]]) if reading in NOTATIONS else None
            problem = f"where the model needs {READINGS[reading][1]}"
            problem += f" (--decimal {mark} reads it)" if mark else ""
            raise bad_cell(name, table.source, quoted(texts[row]), table.where(row), problem)
        numbers = np.array([np.nan if t is None else read[t] for t in texts], dtype=np.float64)
    too_large = np.flatnonzero(np.abs(numbers) > LARGEST_NUMBER)
    if len(too_large):
        row = int(too_large[0])
        cell = quoted(as_texts(column)[row]) if column.dtype == object else f"{numbers[row]:g}"
        raise bad_cell(name, table.source, cell, table.where(row), TOO_LARGE)
    return numbers


def bad_cell(name: str, source: str, cell: str, where: str, problem: str) -> ValueError:
    """Return the error about a cell."""
    cell = "a number" if cell == "inf" else cell
    return ValueError(
        f"column {quoted(name)} of {source} contains {cell} in {where}, {problem}: correct the "
        "cell or leave it empty"
    )


@dataclass(frozen=True)
class NumberColumn:
    """One feature: a number, a date in days, or yes and no as 1 and 0.

    A missing cell becomes the median. If cells were missing in the table of the fit, a second
    feature indicates missing cells.
    """

    name: str
    reading: str  # a key of READINGS
    median: float
    has_indicator: bool
    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        expect(self.reading in READINGS, f"a column cannot be read as {quoted(self.reading)}")
        expect(self.scale > 0, "a scale must be positive")

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.name] + [f"{self.name} is missing"] * self.has_indicator

    def block(self, table: Table) -> np.ndarray:
        """Return the features of the rows."""
        values = read_numbers(table, self.name, self.reading)
        missing = np.isnan(values)
        number = (np.where(missing, self.median, values) - self.mean) / self.scale
        return np.column_stack([number, missing])[:, : len(self.features)].astype(np.float64)


@dataclass(frozen=True)
class CategoryColumn:
    """One feature of zeros and ones per value.

    Values that are not listed share the feature "other" if the table of the fit had such values.
    Otherwise a new value has zeros in all features of the column. Missing cells have a feature of
    their own if that table had missing cells, and zeros otherwise.
    """

    name: str
    values: list[str]
    has_other: bool
    has_missing: bool

    def __post_init__(self) -> None:
        expect(len(set(self.values)) == len(self.values), "a value occurs twice")

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return (
            [f"{self.name} = {value}" for value in self.values]
            + [f"{self.name} is another"] * self.has_other
            + [f"{self.name} is missing"] * self.has_missing
        )

    def block(self, table: Table) -> sparse.csr_matrix:
        """Return the features of the rows."""
        width = len(self.features)
        index: dict[str | None, int] = {value: i for i, value in enumerate(self.values)}
        index[None] = width - 1 if self.has_missing else -1
        other = len(self.values) if self.has_other else -1
        texts = as_texts(table.column(self.name))
        column = np.array([index.get(text, other) for text in texts], dtype=np.intp)
        rows = np.flatnonzero(column >= 0)
        entries = np.ones(len(rows)), (rows, column[rows])
        return sparse.csr_matrix(entries, shape=(table.n_rows, width))


@dataclass(frozen=True)
class TextColumn:
    """Weights of words: (1 + ln count) · idf, each row of length one; an empty cell is zeros."""

    name: str
    words: list[str]
    idf: list[float]

    def __post_init__(self) -> None:
        expect(len(set(self.words)) == len(self.words) > 0, "there must be words, each once")
        expect(len(self.idf) == len(self.words), "each word must have one weight")
        expect(min(self.idf) > 0, "weights of words must be positive")

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name}: {word}" for word in self.words]

    def block(self, table: Table) -> sparse.csr_matrix:
        """Return the features of the rows."""
        texts = [text or "" for text in as_texts(table.column(self.name))]
        weights = TfidfVectorizer(vocabulary=self.words, sublinear_tf=True)
        weights.idf_ = np.array(self.idf)
        return weights.transform(texts)


Column = NumberColumn | CategoryColumn | TextColumn
#: The types of columns by their names in model files.
COLUMN_TYPES: dict[str, Any] = {
    "number": NumberColumn,
    "category": CategoryColumn,
    "text": TextColumn,
}


def column_to_dict(column: Column) -> dict[str, Any]:
    """Return a column as plain JSON."""
    [name] = [name for name, cls in COLUMN_TYPES.items() if isinstance(column, cls)]
    return {"kind": name, **vars(column)}


def column_from_dict(stored: Any) -> Column:
    """Return the column that `column_to_dict` was given.

    Raises
    ------
    ValueError
        If anything in it is not as `column_to_dict` writes it.
    """
    values = dict(stored) if isinstance(stored, dict) else {}
    name = values.pop("kind", None)
    expect(isinstance(name, str) and name in COLUMN_TYPES, "the type of a column is not known")
    return from_stored(COLUMN_TYPES[name], values)
