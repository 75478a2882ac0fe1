"""What a column of a table becomes: a number, a group of zeros and ones, or weights of words.

Each kind holds what was learnt at fit, makes the same features of any table again, and can be
written as plain JSON and read back. Reading checks everything: a model file may come from anybody.
Must not know how a kind was decided on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from .table import Table, as_numbers, as_texts

#: Texts of a yes-or-no column, in lower case.
BOOLEANS = {
    **dict.fromkeys(("true", "yes", "y", "t"), 1.0),
    **dict.fromkeys(("false", "no", "n", "f"), 0.0),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def days(text: str) -> float | None:
    """Return the days from 1970 to a date such as 2024-01-31, or None if it is none.

    Examples
    --------
    >>> days("1970-01-02"), days("1970-01-02 12:00"), days("soon")
    (1.0, 1.5, None)
    """
    if len(text) < 10 or text[4] != "-" or text[7] != "-":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds() / 86400.0


@dataclass(frozen=True)
class NumberColumn:
    """One feature: a number, a date in days, or yes and no as 1 and 0.

    A missing cell becomes the median. If cells were missing at fit, a second feature says where.
    """

    kind: ClassVar[str] = "number"
    name: str
    reading: str  # "number", "date" or "boolean"
    median: float
    has_indicator: bool
    mean: float = 0.0
    scale: float = 1.0

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.name] + [f"{self.name} is missing"] * self.has_indicator

    def values(self, table: Table) -> np.ndarray:
        """Return the column as numbers, NaN where a cell is missing."""
        return read_numbers(table, self.name, self.reading)

    def block(self, table: Table) -> np.ndarray:
        """Return the features of the rows."""
        values = self.values(table)
        missing = np.isnan(values)
        number = (np.where(missing, self.median, values) - self.mean) / self.scale
        return np.column_stack([number, missing])[:, : len(self.features)].astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return all that was learnt as plain JSON."""
        return {"kind": self.kind, **vars(self)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> NumberColumn:
        """Return a column from what `to_dict` gave."""
        reading = text_in(stored, "reading")
        if reading not in ("number", "date", "boolean"):
            raise ValueError(f"a column cannot be read as {reading!r}")
        scale = number_in(stored, "scale")
        if scale <= 0:
            raise ValueError("a scale must be positive")
        return cls(
            text_in(stored, "name"),
            reading,
            number_in(stored, "median"),
            flag_in(stored, "has_indicator"),
            number_in(stored, "mean"),
            scale,
        )


@dataclass(frozen=True)
class CategoryColumn:
    """One feature of zeros and ones a value.

    Values beyond the listed ones share the feature "other" if there were such at fit. If there
    were none, a value never seen has zero in all features of the column. A missing cell has a
    feature of its own if there was one at fit, and zeros otherwise.
    """

    kind: ClassVar[str] = "category"
    name: str
    values: list[str]
    has_other: bool
    has_missing: bool

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
        place: dict[str | None, int] = {value: i for i, value in enumerate(self.values)}
        other = len(place) if self.has_other else -1
        if self.has_missing:
            place[None] = len(self.features) - 1
        else:
            place[None] = -1
        column = np.array(
            [place.get(text, other) for text in as_texts(table.column(self.name))], dtype=np.intp
        )
        rows = np.flatnonzero(column >= 0)
        shape = (table.n_rows, len(self.features))
        return sparse.csr_matrix((np.ones(len(rows)), (rows, column[rows])), shape=shape)

    def to_dict(self) -> dict[str, Any]:
        """Return all that was learnt as plain JSON."""
        return {"kind": self.kind, **vars(self)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> CategoryColumn:
        """Return a column from what `to_dict` gave."""
        return cls(
            text_in(stored, "name"),
            texts_in(stored, "values"),
            flag_in(stored, "has_other"),
            flag_in(stored, "has_missing"),
        )


@dataclass(frozen=True)
class TextColumn:
    """Weights of words: (1 + ln count) · idf, each row of length one; an empty cell is zeros."""

    kind: ClassVar[str] = "text"
    name: str
    words: list[str]
    idf: list[float]

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name}: {word}" for word in self.words]

    def block(self, table: Table) -> sparse.csr_matrix:
        """Return the features of the rows."""
        texts = [text or "" for text in as_texts(table.column(self.name))]
        vocabulary = {word: i for i, word in enumerate(self.words)}
        counts = CountVectorizer(vocabulary=vocabulary).transform(texts).astype(np.float64)
        counts.data = 1.0 + np.log(counts.data)
        return normalize(sparse.csr_matrix(counts @ sparse.diags(self.idf)))

    def to_dict(self) -> dict[str, Any]:
        """Return all that was learnt as plain JSON."""
        return {"kind": self.kind, **vars(self)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> TextColumn:
        """Return a column from what `to_dict` gave."""
        words, idf = texts_in(stored, "words"), stored.get("idf")
        if not isinstance(idf, list) or len(idf) != len(words) or not words:
            raise ValueError("there must be a weight for each word, and a word")
        weights = [_number(weight, "a weight of a word") for weight in idf]
        if min(weights) <= 0:
            raise ValueError("weights of words must be positive")
        return cls(text_in(stored, "name"), words, weights)


Column = NumberColumn | CategoryColumn | TextColumn
COLUMNS: dict[str, Any] = {c.kind: c for c in (NumberColumn, CategoryColumn, TextColumn)}


def read_numbers(table: Table, name: str, reading: str) -> np.ndarray:
    """Return a column as numbers, dates as days and yes as 1, with NaN where a cell is missing."""
    column = table.column(name)
    if reading == "number" or column.dtype != object:
        return as_numbers(table, name)
    numbers = np.full(table.n_rows, np.nan)
    for row, text in enumerate(as_texts(column)):
        if text is None:
            continue
        number = days(text) if reading == "date" else BOOLEANS.get(text.lower())
        if number is None:
            wanted = "a date such as 2024-01-31" if reading == "date" else "yes or no"
            raise ValueError(
                f"column {name!r} of {table.source} holds {text!r} in {table.where(row)}, where "
                f"the model needs {wanted}: correct the cell or leave it empty"
            )
        numbers[row] = number
    return numbers


# ---------------------------------------------------------------- what is read from a model file


def text_in(stored: dict[str, Any], key: str) -> str:
    """Return a text, or raise a ValueError."""
    value = stored.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key!r} must be a text")
    return value


def texts_in(stored: dict[str, Any], key: str) -> list[str]:
    """Return a list of texts that all differ, or raise a ValueError."""
    values = stored.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{key!r} must be a list of texts")
    if len(set(values)) < len(values):
        raise ValueError(f"{key!r} must hold no text twice")
    return list(values)


def flag_in(stored: dict[str, Any], key: str) -> bool:
    """Return true or false, or raise a ValueError."""
    value = stored.get(key)
    if not isinstance(value, bool):
        raise ValueError(f"{key!r} must be true or false")
    return value


def number_in(stored: dict[str, Any], key: str) -> float:
    """Return a finite number, or raise a ValueError."""
    return _number(stored.get(key), repr(key))


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number")
    return number
