"""How a table becomes a matrix: learnt from one table, applied in the same way to all others.

The encoder is stored in the model file, as plain JSON. Must not know file formats or estimators,
nor how it was learnt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays.packing import expect
from ..messages import listing
from .columns import Column, NumberColumn, column_from_dict, column_to_dict
from .numerals import NAMES, NOTATIONS
from .stored import from_stored
from .table import Table, as_texts
from .targets import read_targets

_VERSION = 2


@dataclass(frozen=True)
class TableEncoder:
    """Converts tables to a matrix, labels and row names; see `fit_encoder`.

    Attributes
    ----------
    target, id : str or None
        Columns of the labels and of the row names.
    unlabeled : str or None
        Marker of unlabelled rows; rows with an empty cell always count as unlabelled.
    target_reading : str or None
        The notation of the labels if all are numbers, a key of `NOTATIONS`; None if they are texts.
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
    target_reading: str | None
    n_features: int
    is_sparse: bool
    columns: list[Column]
    notes: list[str]

    def __post_init__(self) -> None:
        expect(0 < self.n_features < 2**31, "'n_features' must be a positive number")
        expect(self.target_reading in (None, *NOTATIONS), "'target_reading' is not known")
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

    @property
    def reading(self) -> dict[str, Any]:
        """Options with which `read_table` and `open_table` read what the encoder needs."""
        return {"as_text": self.as_text, "only": self.names, "decimal": self.decimal}

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
        return read_targets(table, self.target, self.unlabeled, self.target_reading)

    def ids_of(self, table: Table) -> list[str]:
        """Return the row names; if the table has none, the numbers of the rows in their files."""
        if self.id is None or self.id not in table.columns:
            first = table.first_row + 1
            return [str(row) for row in range(first, first + table.n_rows)]
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
            version = values.pop("version", None)
            expect(version in (1, _VERSION), "another version of lapwing wrote it")
            if version == 1:  # it did not store the notation, which predictions do not need
                are_numbers = values.pop("target_is_number", None)
                expect(isinstance(are_numbers, bool), "'target_is_number' must be of the type bool")
                values["target_reading"] = "number" if are_numbers else None
            expect(isinstance(values.get("columns"), list), "'columns' must be a list")
            values["columns"] = [column_from_dict(column) for column in values["columns"]]
            return from_stored(cls, values)
        except ValueError as error:
            raise ValueError(f"the table encoder of the model is damaged: {error}") from None
