"""How a table becomes a matrix: learnt from one table, applied in the same way to all others.

The encoder is stored in the model file, as plain JSON. Must not know file formats or estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays.packing import expect
from .column_types import infer_column
from .columns import Column, NumberColumn, TextColumn, column_from_dict, column_to_dict
from .numerals import NAMES, NOTATIONS
from .stored import from_stored
from .table import Table, as_texts, listing, quoted
from .targets import infer_targets, read_targets

_VERSION = 1
#: Number of features above which a matrix of mostly zeros is stored sparsely.
_WIDE = 200
#: Entries up to which rows that contain numbers are always stored densely: the estimators treat
#: sparse rows as text, of which only the direction matters.
_DENSE_ENTRIES = 25_000_000


@dataclass(frozen=True)
class TableEncoder:
    """Converts tables to a matrix, labels and row names; see `fit_encoder`.

    Attributes
    ----------
    target, id : str or None
        Columns of the labels and of the row names.
    unlabeled : str or None
        Marker of unlabelled rows; rows with an empty cell always count as unlabelled.
    target_is_number : bool
        Whether all labels are numbers.
    n_features : int
        Number of columns of the matrix.
    is_sparse : bool
        Whether the matrix is sparse.
    columns : list of NumberColumn, CategoryColumn and TextColumn
        The columns that become features; none for a table that contains a ready matrix.
    notes : list of str
        What the user should know about the columns.
    """

    target: str | None
    id: str | None
    unlabeled: str | None
    target_is_number: bool
    n_features: int
    is_sparse: bool
    columns: list[Column]
    notes: list[str]

    def __post_init__(self) -> None:
        expect(0 < self.n_features < 2**31, "'n_features' must be a positive number")
        if self.columns:
            names = [column.name for column in self.columns]
            expect(len(set(names)) == len(names), "a column occurs twice")
            agrees = len(self.feature_names) == self.n_features
            expect(agrees, "'n_features' does not agree with the columns")

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, one for each column of the matrix."""
        if not self.columns:
            return [f"column {i}" for i in range(1, self.n_features + 1)]
        return [feature for column in self.columns for feature in column.features]

    @property
    def as_text(self) -> list[str]:
        """Columns that `read_table` must not convert to numbers."""
        texts = [column.name for column in self.columns if not isinstance(column, NumberColumn)]
        return texts + [name for name in (self.target, self.id) if name is not None]

    @property
    def decimal(self) -> dict[str, str]:
        """Decimal marks of columns of numbers, with which `read_table` reads the same numbers."""
        numbers = [column for column in self.columns if isinstance(column, NumberColumn)]
        return {c.name: mark for mark in (",", ".") for c in numbers if c.reading == NAMES[mark]}

    def with_decimal(self, mark: str) -> TableEncoder:
        """Return the encoder for tables whose numbers all have that decimal mark."""
        columns = [
            replace(column, reading=NAMES[mark])
            if isinstance(column, NumberColumn) and column.reading in NOTATIONS
            else column
            for column in self.columns
        ]
        return replace(self, columns=columns)

    @property
    def names(self) -> list[str]:
        """Columns that are used, including those of the labels and of the row names."""
        used = [column.name for column in self.columns]
        return used + [name for name in (self.target, self.id) if name is not None]

    def transform(self, table: Table) -> Any:
        """Return the matrix of a table: an ndarray, or a csr_matrix if most entries are zero.

        Columns that the encoder does not know are ignored.

        Raises
        ------
        ValueError
            If a column is missing, or a cell is not a number where one is needed.
        """
        if not self.columns:
            return self._transform_matrix(table)
        missing = [column.name for column in self.columns if column.name not in table.columns]
        if missing:
            has = (
                "numbered columns" if table.is_matrix else listing(table.names or table.columns, 20)
            )
            raise ValueError(
                f"{table.source} lacks {listing(missing, 10)}, which the model needs; it has "
                f"{has}: rename or add the column, with empty cells where it is not known"
            )
        blocks: list[Any] = [column.block(table) for column in self.columns]
        if self.is_sparse:
            return sparse.csr_matrix(sparse.hstack(blocks, format="csr"))
        return np.hstack([b.toarray() if sparse.issparse(b) else b for b in blocks])

    def _transform_matrix(self, table: Table) -> Any:
        if not table.is_matrix:
            raise ValueError(
                f"the model was fitted to a matrix of {self.n_features} columns without names: "
                f"{table.source} must be .npz or svmlight as well"
            )
        X = sparse.csr_matrix(table.X) if self.is_sparse else table.X
        if sparse.issparse(X) and not self.is_sparse:
            X = X.toarray()
        missing = self.n_features - X.shape[1]
        if missing > 0 and self.is_sparse:  # svmlight does not store columns of zeros at the end
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], self.n_features))
        elif missing:
            raise ValueError(
                f"{table.source} has {X.shape[1]} columns, and the model was fitted to "
                f"{self.n_features}: give the same columns"
            )
        return X

    def target_of(self, table: Table) -> np.ndarray:
        """Return the labels: an object array of int, float or str, None for unlabelled rows."""
        return read_targets(table, self.target, self.unlabeled, self.target_is_number)

    def ids_of(self, table: Table) -> list[str]:
        """Return the row names; numbers from 1 if the table has none."""
        if self.id is None or self.id not in table.columns:
            return [str(row) for row in range(1, table.n_rows + 1)]
        return [name or "" for name in as_texts(table.columns[self.id])]

    def to_dict(self) -> dict[str, Any]:
        """Return everything that was learnt as plain JSON types."""
        columns = [column_to_dict(column) for column in self.columns]
        return {"version": _VERSION, **vars(self), "columns": columns}

    @classmethod
    def from_dict(cls, stored: Any) -> TableEncoder:
        """Return the encoder that `to_dict` described.

        Raises
        ------
        ValueError
            If anything in it is not as `to_dict` writes it.
        """
        try:
            expect(isinstance(stored, dict), "it is not a JSON object")
            values = dict(stored)
            expect(values.pop("version", None) == _VERSION, "another version of lapwing wrote it")
            expect(isinstance(values.get("columns"), list), "'columns' must be a list")
            values["columns"] = [column_from_dict(column) for column in values["columns"]]
            return from_stored(cls, values)
        except ValueError as error:
            raise ValueError(f"the table encoder of the model is damaged: {error}") from None


def fit_encoder(
    table: Table,
    *,
    target: str | None = None,
    id: str | None = None,
    text_columns: Sequence[str] = (),
    categorical_columns: Sequence[str] = (),
    unlabeled: str | None = None,
) -> TableEncoder:
    """Decide what every column of a table becomes.

    - Numbers: a missing cell becomes the median, and if the table has missing cells, a further
      feature indicates them. Where the decimal mark of the table is not known, a column has decimal
      commas if its numbers cannot be written otherwise. Dates such as 2024-01-31 become days, yes
      and no (true and false) become 1 and 0.
    - Categories, which are few different texts: a feature of zeros and ones per value. A value
      that does not occur in the table has zeros in all of them.
    - Texts, of several words per cell: weights of words (TF-IDF), each row of length one.
    - Columns that are constant or empty, count the rows or name them are left out, with a note.

    Numbers are kept as they are if there is nothing else, and have mean zero and variance one
    beside categories or texts. The cells ``NA``, ``N/A``, ``nan``, ``null``, ``None``, ``?``, ``-``
    and empty ones count as missing.

    Parameters
    ----------
    table : Table
        The training rows.
    target : str, optional
        Column of the labels; a table that contains a ready matrix has them in ``y``.
    id : str, optional
        Column of the row names; by default rows are numbered from 1.
    text_columns, categorical_columns : sequence of str
        Columns that are texts or categories, whatever they look like.
    unlabeled : str, optional
        Marker of unlabelled rows; rows with an empty cell always count as unlabelled. For a ready
        matrix it is −1 by default, if that can mean nothing else.

    Examples
    --------
    >>> age = np.array([31.0, 40.0, np.nan])
    >>> colour = np.array(["red", "blue", "red"], dtype=object)
    >>> label = np.array(["a", None, "b"], dtype=object)
    >>> table = Table("t.csv", 3, {"age": age, "colour": colour, "label": label})
    >>> encoder = fit_encoder(table, target="label")
    >>> encoder.feature_names
    ['age', 'age is missing', 'colour = blue', 'colour = red']
    >>> encoder.transform(table).shape
    (3, 4)
    """
    columns: list[Column] = []
    notes: list[str] = []
    _check_names(table, target, id, text_columns, categorical_columns)
    if table.is_matrix:
        n_features, is_sparse = table.X.shape[1], sparse.issparse(table.X)
    else:
        forced = dict.fromkeys(text_columns, "text")
        forced |= dict.fromkeys(categorical_columns, "category")
        columns, notes = _fit_columns(table, {target, id}, forced)
        n_features = sum(len(column.features) for column in columns)
        is_sparse = _is_sparse(columns, n_features, table.n_rows)
    marker, are_numbers, target_notes = infer_targets(table, target, unlabeled)
    notes += target_notes
    return TableEncoder(target, id, marker, are_numbers, n_features, is_sparse, columns, notes)


def _check_names(
    table: Table,
    target: str | None,
    id: str | None,
    text_columns: Sequence[str],
    categorical_columns: Sequence[str],
) -> None:
    """Raise a ValueError if the user names columns that do not exist, or names one twice."""
    others = [name for name in (id, *text_columns, *categorical_columns) if name is not None]
    if table.is_matrix:
        names = others if target in (None, "y") else [target, *others]
        if names:
            raise ValueError(
                f"{table.source} contains a matrix, whose columns have no names, and thus no "
                f"{names[0]!r}: do not name columns; the targets are the array y"
            )
        return
    if target is None:
        raise ValueError(
            "the column of the labels is not known: pass --target with one of the columns of "
            f"{table.source}: {listing(table.columns, 20)}"
        )
    table.column(target, "target column")
    for name in others:
        table.column(name)
    if target in others:
        raise ValueError(f"column {quoted(target)} is the target: do not name it in other options")
    both = set(text_columns) & set(categorical_columns)
    if both:
        raise ValueError(f"column {min(both)!r} is named as text and as category: choose one")


def _fit_columns(
    table: Table, left_out: set[str | None], forced: dict[str, str]
) -> tuple[list[Column], list[str]]:
    """Return the columns that become features, and notes."""
    inferred = [
        infer_column(table, name, forced.get(name))
        for name in table.columns
        if name not in left_out
    ]
    columns = [column for column, _ in inferred if column is not None]
    notes = [note for _, note in inferred if note is not None]
    if not columns:
        raise ValueError(
            f"no column of {table.source} is left to learn from: add features. {'; '.join(notes)}"
        )
    if not all(isinstance(column, NumberColumn) for column in columns):
        columns = [_scaled(column, table) for column in columns]
    return columns, notes


def _scaled(column: Column, table: Table) -> Column:
    """Return a column of numbers with its mean and standard deviation, others unchanged."""
    if not isinstance(column, NumberColumn) or column.reading == "boolean":
        return column
    values = column.block(table)[:, 0]
    return replace(column, mean=float(values.mean()), scale=float(values.std()) or 1.0)


def _is_sparse(columns: Sequence[Column], n_features: int, n_rows: int) -> bool:
    """Return whether to store the matrix sparsely."""
    n_numbers = sum(isinstance(column, NumberColumn) for column in columns)
    if n_numbers and n_rows * n_features <= _DENSE_ENTRIES:
        return False
    has_texts = any(isinstance(column, TextColumn) for column in columns)
    return has_texts or (n_features > _WIDE and n_numbers < 0.2 * n_features)
