"""How a table becomes a matrix: learnt from one table, done again for every other.

The encoder travels inside the model file, as plain JSON. Must not know file formats or estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .columns import COLUMNS, Column, NumberColumn, TextColumn, flag_in
from .kinds import decide
from .table import Table, as_texts
from .targets import (
    are_numbers,
    default_marker,
    marks_among,
    parse_labels,
    raw_labels,
    without_marker,
)

_VERSION = 1
_KEYS = {
    "version", "target", "id", "unlabeled", "target_is_number",
    "n_features", "is_sparse", "columns", "notes",
}  # fmt: skip
#: Features from which mostly empty ones are stored sparsely.
_WIDE = 200
#: Entries up to which rows with numbers in them are stored densely in any case: the estimators take
#: sparse rows for text, of which the direction counts and not the length.
_DENSE_ENTRIES = 25_000_000


class TableEncoder:
    """Makes a matrix, targets and names of rows of a table, always in the same way.

    Kinds of columns are decided at `fit`:

    - numbers: a missing cell becomes the median, and a further feature says that it was missing if
      any was at fit. Dates such as 2024-01-31 count days, yes and no (true and false) are 1 and 0;
    - categories, few different texts: a feature of zeros and ones a value. A value that `fit` did
      not see has zeros in all of them;
    - texts, several words a cell: weights of words (TF-IDF), each row of length one;
    - columns that are constant, empty, count the rows or name them are left out; `notes` says so.

    Numbers are passed on as they are if there is nothing else, and with mean zero and variance one
    beside categories or texts. The cells ``NA``, ``N/A``, ``nan``, ``null``, ``None``, ``?``, ``-``
    and empty ones count as missing.

    Parameters
    ----------
    text_columns, categorical_columns : sequence of str
        Columns whose kind is not to be decided.
    drop : sequence of str
        Columns that are left out.
    unlabeled : str, optional
        A marker of unlabelled rows; empty cells of the target are unlabelled in any case. Beside a
        matrix it is −1 if that can mean nothing else.

    Attributes
    ----------
    notes : list of str
        What the user should know of the columns.

    Examples
    --------
    >>> age = np.array([31.0, 40.0, np.nan])
    >>> colour = np.array(["red", "blue", "red"], dtype=object)
    >>> label = np.array(["a", None, "b"], dtype=object)
    >>> table = Table("t.csv", 3, {"age": age, "colour": colour, "label": label})
    >>> encoder = TableEncoder().fit(table, target="label")
    >>> encoder.feature_names
    ['age', 'age is missing', 'colour = blue', 'colour = red']
    >>> encoder.transform(table).shape
    (3, 4)
    """

    def __init__(
        self,
        *,
        text_columns: Sequence[str] = (),
        categorical_columns: Sequence[str] = (),
        drop: Sequence[str] = (),
        unlabeled: str | None = None,
    ) -> None:
        self.text_columns = tuple(text_columns)
        self.categorical_columns = tuple(categorical_columns)
        self.drop = tuple(drop)
        self.unlabeled = unlabeled
        self.target: str | None = None
        self.id: str | None = None
        self.target_is_number = False
        self.n_features = 0
        self.is_sparse = False
        self.columns: list[Column] = []
        self.notes: list[str] = []

    # ------------------------------------------------------------ learning

    def fit(
        self, table: Table, *, target: str | None = None, id: str | None = None
    ) -> TableEncoder:
        """Decide what every column becomes.

        Parameters
        ----------
        table : Table
        target : str, optional
            Column of the labels; a table with a ready matrix has them in ``y``.
        id : str, optional
            Column that names the rows; by default they are counted from 1.
        """
        self.target, self.id, self.notes = target, id, []
        if table.is_matrix:
            self._fit_matrix(table)
        else:
            self._fit_columns(table)
        cells = raw_labels(table, target)
        if table.is_matrix and self.unlabeled is None:
            self.unlabeled = default_marker(cells, table.source)
        cells = without_marker(cells, self.unlabeled)
        self.target_is_number = are_numbers(cells)
        marks = marks_among(cells)
        if marks and not self.target_is_number:
            self.notes.append(
                f"{marks[0]!r} is taken for a label: if it marks unlabelled rows, say --unlabeled "
                f"{marks[0]!r}"
            )
        return self

    def _fit_matrix(self, table: Table) -> None:
        given = [self.target, self.id, *self.text_columns, *self.categorical_columns, *self.drop]
        names = [name for name in given if name is not None and (name, name) != (self.target, "y")]
        if names:
            raise ValueError(
                f"{table.source} holds a matrix, whose columns have no names: there is no "
                f"{names[0]!r}. Its targets are the array y"
            )
        self.columns, self.n_features = [], table.X.shape[1]
        self.is_sparse = sparse.issparse(table.X)

    def _fit_columns(self, table: Table) -> None:
        if self.target is None:
            raise ValueError(
                f"say with --target which column of {table.source} holds the labels: it has "
                f"{', '.join(map(repr, table.columns))}"
            )
        table.column(self.target, "target column")
        for name in (self.id, *self.text_columns, *self.categorical_columns):
            if name is not None:
                table.column(name)
        if self.target in (self.id, *self.text_columns, *self.categorical_columns):
            raise ValueError(f"column {self.target!r} is the target and cannot be anything else")
        both = set(self.text_columns) & set(self.categorical_columns)
        if both:
            raise ValueError(f"column {min(both)!r} cannot be both text and category")
        self.columns = self._decide(table)
        if not self.columns:
            raise ValueError(
                f"no column of {table.source} is left to learn from. {'; '.join(self.notes)}"
            )
        if not all(isinstance(column, NumberColumn) for column in self.columns):
            self.columns = [_scaled(column, table) for column in self.columns]
        self.n_features = sum(len(column.features) for column in self.columns)
        numbers = sum(isinstance(column, NumberColumn) for column in self.columns)
        mostly_zero = any(isinstance(column, TextColumn) for column in self.columns) or (
            self.n_features > _WIDE and numbers < 0.2 * self.n_features
        )
        small = table.n_rows * self.n_features <= _DENSE_ENTRIES
        self.is_sparse = mostly_zero and not (numbers and small)

    def _decide(self, table: Table) -> list[Column]:
        columns = []
        for name in table.columns:
            if name in (self.target, self.id, *self.drop):
                continue
            forced = "text" if name in self.text_columns else None
            forced = "category" if name in self.categorical_columns else forced
            column, note = decide(table, name, forced)
            if note:
                self.notes.append(note)
            if column is not None:
                columns.append(column)
        return columns

    # ------------------------------------------------------------ using what was learnt

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, one for each column of the matrix."""
        if not self.columns:
            return [f"column {i}" for i in range(1, self.n_features + 1)]
        return [feature for column in self.columns for feature in column.features]

    @property
    def as_text(self) -> list[str]:
        """Columns that `read_table` must not turn into numbers."""
        kept = [column.name for column in self.columns if not isinstance(column, NumberColumn)]
        return kept + [name for name in (self.target, self.id) if name is not None]

    @property
    def names(self) -> list[str]:
        """Columns that are used, with those of the target and of the names of rows."""
        used = [column.name for column in self.columns]
        return used + [name for name in (self.target, self.id) if name is not None]

    def transform(self, table: Table) -> Any:
        """Return the matrix of a table: an ndarray, or a csr_matrix where most of it is zero.

        Columns that the encoder does not know are ignored.

        Raises
        ------
        ValueError
            If a column is lacking, or a cell holds no number where one is needed.
        """
        if not self.columns:
            return self._matrix(table)
        needed = [column.name for column in self.columns]
        lacking = [name for name in needed if name not in table.columns]
        if table.is_matrix or lacking:
            names = ", ".join(map(repr, lacking[:10])) + (", …" if len(lacking) > 10 else "")
            has = ", ".join(map(repr, list(table.columns)[:20])) or "a matrix without names"
            raise ValueError(
                f"{table.source} lacks {names}, which the model needs; it has {has}: rename or add "
                "the column, with empty cells where it is not known"
            )
        blocks: list[Any] = [column.block(table) for column in self.columns]
        if self.is_sparse:
            return sparse.csr_matrix(sparse.hstack(blocks, format="csr"))
        return np.hstack([b.toarray() if sparse.issparse(b) else b for b in blocks])

    def _matrix(self, table: Table) -> Any:
        if not table.is_matrix:
            raise ValueError(
                f"the model learnt from a matrix of {self.n_features} columns without names: "
                f"{table.source} must be .npz or svmlight as well"
            )
        X = table.X if not self.is_sparse else sparse.csr_matrix(table.X)
        if not self.is_sparse and sparse.issparse(X):
            X = X.toarray()
        lacking = self.n_features - X.shape[1]
        if lacking > 0 and self.is_sparse:  # svmlight does not store columns of zeros at the end
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], self.n_features))
        elif lacking:
            raise ValueError(
                f"{table.source} has {X.shape[1]} columns, the model learnt from {self.n_features}"
            )
        return X

    def target_of(self, table: Table) -> np.ndarray:
        """Return the labels: an object array of int, float or str, None for unlabelled rows."""
        cells = without_marker(raw_labels(table, self.target), self.unlabeled)
        return parse_labels(cells, self.target_is_number, table)

    def ids_of(self, table: Table) -> np.ndarray:
        """Return names of the rows, an object array of str; counted from 1 if none are given."""
        if self.id is None or table.is_matrix:
            return np.array([str(row) for row in range(1, table.n_rows + 1)], dtype=object)
        names = as_texts(table.column(self.id, "id column"))
        names[:] = [name or "" for name in names]
        return names

    # ------------------------------------------------------------ the model file

    def to_dict(self) -> dict[str, Any]:
        """Return all that was learnt as plain JSON types."""
        return {
            "version": _VERSION,
            "target": self.target,
            "id": self.id,
            "unlabeled": self.unlabeled,
            "target_is_number": self.target_is_number,
            "n_features": self.n_features,
            "is_sparse": self.is_sparse,
            "columns": [column.to_dict() for column in self.columns],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, stored: Any) -> TableEncoder:
        """Return an encoder from what `to_dict` gave.

        Raises
        ------
        ValueError
            If anything in it is not as `to_dict` writes it.
        """
        try:
            return cls._checked(stored)
        except ValueError as error:
            raise ValueError(f"the table encoder of the model is damaged: {error}") from None

    @classmethod
    def _checked(cls, stored: Any) -> TableEncoder:
        if not isinstance(stored, dict) or set(stored) != _KEYS:
            raise ValueError("it needs " + ", ".join(sorted(_KEYS)))
        if stored["version"] != _VERSION:
            raise ValueError("it was written by another version of lapwing")
        encoder = cls()
        for key in ("target", "id", "unlabeled"):
            if not (stored[key] is None or isinstance(stored[key], str)):
                raise ValueError(f"{key!r} must be a text or null")
            setattr(encoder, key, stored[key])
        encoder.target_is_number = flag_in(stored, "target_is_number")
        encoder.is_sparse = flag_in(stored, "is_sparse")
        columns, notes, width = stored["columns"], stored["notes"], stored["n_features"]
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            raise ValueError("'notes' must be a list of texts")
        if not isinstance(columns, list):
            raise ValueError("'columns' must be a list")
        encoder.notes, encoder.columns = list(notes), [_column(column) for column in columns]
        names = [column.name for column in encoder.columns]
        if len(set(names)) < len(names):
            raise ValueError("a column occurs twice")
        if not isinstance(width, int) or isinstance(width, bool) or not 0 < width < 2**31:
            raise ValueError("'n_features' must be a whole number")
        encoder.n_features = width
        if columns and len(encoder.feature_names) != width:
            raise ValueError("'n_features' does not agree with the columns")
        return encoder


def _column(stored: Any) -> Column:
    if not isinstance(stored, dict) or not isinstance(stored.get("kind"), str):
        raise ValueError("a column must have a kind")
    if stored["kind"] not in COLUMNS:
        raise ValueError(f"there is no kind of column {stored['kind'][:40]!r}")
    return COLUMNS[stored["kind"]].from_dict(stored)


def _scaled(column: Column, table: Table) -> Column:
    """Return a column of numbers with its mean and deviation; others as they are."""
    if not isinstance(column, NumberColumn) or column.reading == "boolean":
        return column
    values = column.block(table)[:, 0]
    scale = float(values.std())
    return replace(column, mean=float(values.mean()), scale=scale if scale > 0 else 1.0)
