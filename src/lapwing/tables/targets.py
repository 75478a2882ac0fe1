"""Targets of a table: which rows have a label, and what their labels are.

Rows with an empty cell are unlabelled, and so are those with the user's marker. Must not know
estimators or features.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np

from ..messages import quoted
from .numerals import NOTATIONS, looks_like_number, notation, number_or_none
from .table import MISSING_MARKS, Table, as_texts, plain_number

#: Labels that may mean that there is none.
_UNLABELLED = frozenset({"unknown", "unlabeled", "unlabelled", "missing", "todo"})
#: Most labels that are counted.
_MOST_LABELS = 1_000_000
_LEADING_ZERO = re.compile(r"[+-]?0\d")


class TargetSummary:
    """How often the labels of a table occur; of very many only the frequent ones are kept."""

    def __init__(self, target: str | None) -> None:
        self.counts: Counter[str | None] = Counter()
        self.source, self.is_matrix = "", False
        self.decimal: str | None = None
        self._target = target

    def update(self, table: Table) -> None:
        """Add the rows of a table."""
        self.source, self.is_matrix, self.decimal = table.source, table.is_matrix, table.decimal
        self.counts.update(_cells(table, self._target))
        if len(self.counts) > _MOST_LABELS:
            self.counts = Counter(dict(self.counts.most_common(_MOST_LABELS // 2)))


def infer_targets(
    summary: TargetSummary, marker: str | None
) -> tuple[str | None, str | None, list[str]]:
    """Return how the labels of a table are to be read.

    Parameters
    ----------
    summary : TargetSummary
        The labels of the training rows.
    marker : str, optional
        The user's marker of unlabelled rows.

    Returns
    -------
    marker : str or None
        The user's marker, or the default one of a ready matrix.
    reading : str or None
        The notation of the labels if all are numbers; "007" is not one: it would lose its zeros.
    notes : list of str
        What the user should know about the labels.
    """
    if marker is None:
        if summary.is_matrix:
            marker = _default_marker(summary.counts, summary.source)
        else:
            _refuse_minus_one(summary.counts, summary.source)
    is_marker = _marker_test(marker)
    labels = {cell for cell in summary.counts if cell is not None and not is_marker(cell)}
    marks = {label for label in labels if label.lower() in MISSING_MARKS}
    others = labels - marks
    if others and not any(map(_LEADING_ZERO.match, others)):
        reading = notation(others, summary.decimal)
        if reading is not None:
            return marker, reading, []
    notes = [
        f"{mark!r} is used as a label: if it marks unlabelled rows, pass --unlabeled {mark!r}"
        for mark in sorted(marks)[:1]
        + sorted(label for label in others if label.lower() in _UNLABELLED)[:1]
    ]
    alike = sorted(label for label in others if looks_like_number(label))
    if 2 * len(alike) > len(others):
        notes.append(
            f"the targets are not read as numbers, although cells such as {quoted(alike[0])} look "
            "like them: if they are, write numbers only, without units"
        )
    return marker, None, notes


def read_targets(
    table: Table, target: str | None, marker: str | None, reading: str | None
) -> np.ndarray:
    """Return labels as objects: int, float or str, and None for unlabelled rows."""
    cells, is_marker = _cells(table, target), _marker_test(marker)
    labels = np.empty(len(cells), dtype=object)
    known: dict[str | None, int | float | str | None] = {None: None}
    for row, cell in enumerate(cells):
        if cell not in known:
            known[cell] = None if is_marker(cell) else cell
            if reading is not None and known[cell] is not None:
                known[cell] = _label(cell, reading, table, row)
        labels[row] = known[cell]
    return labels


def _label(cell: str, reading: str, table: Table, row: int) -> int | float | None:
    """Return a label that must be a number, or None if it is missing."""
    if cell.lower() in MISSING_MARKS:
        return None
    number = NOTATIONS[reading](cell)
    if number is None or not np.isfinite(number):
        raise ValueError(
            f"the target is {quoted(cell)} in {table.where(row)} of {table.source}: it must be "
            "a finite number, or empty"
        )
    return plain_number(number)


def _cells(table: Table, target: str | None) -> np.ndarray:
    """Return the cells of the target as str, or None where a cell is empty."""
    if not table.is_matrix:
        assert target is not None
        column = table.column(target, "target column")
    elif table.y is None:
        raise ValueError(f"{table.source} has no array y: store the targets of the rows in it")
    else:
        column = table.y.astype(object if table.y.dtype.kind == "U" else np.float64)
    return as_texts(column, missing={""})


def _marker_test(marker: str | None) -> Callable[[str], bool]:
    """Return whether a cell is the marker; numbers are compared as numbers."""
    text = None if marker is None else marker.strip()
    number = None if marker is None else number_or_none(marker)
    return lambda cell: cell == text or (number is not None and number_or_none(cell) == number)


def _refuse_minus_one(counts: Counter[str | None], source: str) -> None:
    """Refuse classes of which −1 is one, because it may mark unlabelled rows.

    Whole numbers among which −1 is the smallest are classes if each occurs twice on average; where
    cells are empty, these mark the unlabelled rows. Beside texts −1 is refused in any case.
    """
    numbers = {number_or_none(cell) for cell in counts if cell is not None}
    values = {number for number in numbers if number is not None}
    if -1.0 not in values:
        return
    why = "the other labels are texts"
    if None not in numbers:
        few = None not in counts and 2 * len(values) <= counts.total()
        if not few or min(values) < -1.0 or not all(value.is_integer() for value in values):
            return
        why = "no cell of the target is empty"
    raise ValueError(
        f"-1 is among the labels of {source}, and {why}, so it is not known whether -1 marks "
        "unlabelled rows: pass --unlabeled -1 if it does, or --unlabeled nan if -1 is a label"
    )


def _default_marker(counts: Counter[str | None], source: str) -> str | None:
    """Return the marker of unlabelled rows for targets of a matrix, where no cell can be empty.

    It is −1, as in the estimators, if all labels are whole numbers and −1 can mean nothing else.
    """
    values = {number_or_none(cell) for cell in counts if cell is not None}
    if -1.0 not in values or any(value is None or not value.is_integer() for value in values):
        return None
    if values <= {-1.0, 0.0, 1.0}:
        present = ", ".join(label for label in ("-1", "0", "1") if float(label) in values)
        raise ValueError(
            f"the labels of {source} are {present}, and it is not known which of them marks "
            "unlabelled rows: pass --unlabeled -1 or --unlabeled 0, or --unlabeled nan if all rows "
            "are labelled"
        )
    return "-1"
