"""What every column of a table becomes, learnt in one pass over the rows of a fit.

Must not know file formats or estimators.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from ..messages import listing, quoted
from .column_types import infer_column
from .columns import Column, NumberColumn, TextColumn, read_numbers
from .encode import TableEncoder
from .numerals import NAMES
from .read import TableReader
from .summaries import NumberSummary, TextSummary
from .table import Table, as_texts, check_column
from .targets import TargetSummary, infer_targets

#: Number of features above which a matrix of mostly zeros is stored sparsely.
_WIDE = 200
#: Entries up to which rows that contain numbers are always stored densely: the estimators treat
#: sparse rows as text, of which only the direction matters.
_DENSE_ENTRIES = 25_000_000


def fit_encoder(
    table: Table | TableReader,
    *,
    target: str | None = None,
    id: str | None = None,
    text_columns: Sequence[str] = (),
    categorical_columns: Sequence[str] = (),
    unlabeled: str | None = None,
) -> TableEncoder:
    """Decide what every column of a table becomes, in one pass over its rows.

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
    table : Table or TableReader
        The training rows, in memory or in files that may be larger than it: open these with the
        target and the row names in `as_text`. Texts that first occur late in a column of numbers
        take a second pass over that column.
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
    if isinstance(table, Table) and table.is_matrix:
        _check_matrix(table, [target, id, *text_columns, *categorical_columns])
        targets = TargetSummary(target)
        targets.update(table)
        marker, reading, notes = infer_targets(targets, unlabeled)
        shape = table.X.shape[1], sparse.issparse(table.X)
        return TableEncoder(target, id, marker, reading, *shape, [], notes)
    source = table.source if isinstance(table, Table) else table.files.name
    both = set(text_columns) & set(categorical_columns)
    if both:
        raise ValueError(f"column {min(both)!r} is named as text and as category: choose one")
    forced = dict.fromkeys(text_columns, "text") | dict.fromkeys(categorical_columns, "category")
    target = _check_names(table.columns, source, target, [id, *forced])
    summary, targets = _summarize(table, target, id, forced)
    columns, notes = _infer_columns(summary, source, forced)
    n_features = sum(len(column.features) for column in columns)
    is_sparse = _is_sparse(columns, n_features, summary.n_rows)
    marker, reading, target_notes = infer_targets(targets, unlabeled)
    notes += target_notes
    return TableEncoder(target, id, marker, reading, n_features, is_sparse, columns, notes)


class _TableSummary:
    """What is learnt of the rows of a fit: a summary of each column.

    Attributes
    ----------
    columns : dict of str to NumberSummary or TextSummary
        The summaries, in the order of the columns.
    mixed : set of str
        Columns in which texts occur after a batch of numbers.
    """

    def __init__(self, left_out: Collection[str | None], texts: Collection[str]) -> None:
        self.n_rows = 0
        self.decimal: str | None = None
        self.columns: dict[str, NumberSummary | TextSummary] = {}
        self.mixed: set[str] = set()
        self._left_out, self._texts = left_out, texts
        self._rng = np.random.default_rng(0)

    def update(self, table: Table) -> None:
        """Add the rows of a table."""
        self.n_rows, self.decimal = self.n_rows + table.n_rows, table.decimal
        keys = self._rng.random(table.n_rows)
        for name, cells in table.columns.items():
            if name in self._left_out or name in self.mixed:
                continue
            is_text = cells.dtype == object or name in self._texts
            if name not in self.columns:
                self.columns[name] = (
                    TextSummary(name, table.source, table.decimal) if is_text else NumberSummary()
                )
            summary = self.columns[name]
            if isinstance(summary, TextSummary):
                summary.update(as_texts(cells), table.place or table.where)
            elif is_text:
                self.mixed.add(name)
            else:
                summary.update(read_numbers(table, name, NAMES[table.decimal]), keys)


def _summarize(
    table: Table | TableReader, target: str, id: str | None, forced: Collection[str]
) -> tuple[_TableSummary, TargetSummary]:
    """Return what is learnt of the columns and of the labels."""
    summary, targets = _TableSummary([target, id], forced), TargetSummary(target)
    if isinstance(table, Table):
        summary.update(table)
        targets.update(table)
        return summary, targets
    read = [name for name in table.columns if name != id]
    for batch in table.select(read, [target, *forced]).tables():
        summary.update(batch)
        targets.update(batch)
    if summary.mixed:
        # No cell may be changed by conversion to a number ("007").
        again = _TableSummary([], summary.mixed)
        for batch in table.select(summary.mixed, summary.mixed).tables():
            again.update(batch)
        summary.columns |= again.columns
    return summary, targets


def _check_matrix(table: Table, named: Sequence[str | None]) -> None:
    """Raise a ValueError if the user names columns of a matrix, which have no names."""
    names = [name for name in named if name not in (None, "y")]
    if names:
        raise ValueError(
            f"{table.source} contains a matrix, whose columns have no names, and thus no "
            f"{names[0]!r}: do not name columns; the targets are the array y"
        )


def _check_names(
    names: Collection[str], source: str, target: str | None, others: Sequence[str | None]
) -> str:
    """Return the target, or raise a ValueError if there is no column of one of the names."""
    if target is None:
        raise ValueError(
            "the column of the labels is not known: pass --target with one of the columns of "
            f"{source}: {listing(names, 20)}"
        )
    check_column(target, names, source, "target column")
    for name in others:
        if name is not None:
            check_column(name, names, source)
    if target in others:
        raise ValueError(f"column {quoted(target)} is the target: do not name it in other options")
    return target


def _infer_columns(
    summary: _TableSummary, source: str, forced: Mapping[str, str]
) -> tuple[list[Column], list[str]]:
    """Return the columns that become features, and notes."""
    inferred = [
        infer_column(name, column, summary.decimal, forced.get(name))
        for name, column in summary.columns.items()
    ]
    columns = [column for column, _ in inferred if column is not None]
    notes = [note for _, note in inferred if note is not None]
    if not columns:
        why = f" ({'; '.join(notes)})" if notes else ""
        raise ValueError(f"no column of {source} is left to learn from{why}: add features")
    numbers = [column for column in columns if isinstance(column, NumberColumn)]
    if len(numbers) == len(columns):
        return [replace(column, mean=0.0, scale=1.0) for column in numbers], notes
    return columns, notes


def _is_sparse(columns: Sequence[Column], n_features: int, n_rows: int) -> bool:
    """Return whether to store the matrix sparsely."""
    n_numbers = sum(isinstance(column, NumberColumn) for column in columns)
    if n_numbers and n_rows * n_features <= _DENSE_ENTRIES:
        return False
    has_texts = any(isinstance(column, TextColumn) for column in columns)
    return has_texts or (n_features > _WIDE and n_numbers < 0.2 * n_features)
