"""Targets of a table: which rows have a label, and what their labels are.

Rows with an empty cell are unlabelled, and so are those with the user's marker. Must not know
estimators or features.
"""

from __future__ import annotations

import re

import numpy as np

from .numerals import NOTATIONS, looks_like_number, notation, number_or_none
from .table import MISSING_MARKS, Table, as_texts, plain_number, quoted

#: Labels that may mean that there is none.
_UNLABELLED = frozenset({"unknown", "unlabeled", "unlabelled", "missing", "todo"})
_LEADING_ZERO = re.compile(r"[+-]?0\d")


def infer_targets(
    table: Table, target: str | None, marker: str | None
) -> tuple[str | None, bool, list[str]]:
    """Return how the labels of a table are to be read.

    Parameters
    ----------
    table : Table
        The training rows.
    target : str, optional
        Column of the labels; the array y of a ready matrix if it is None.
    marker : str, optional
        The user's marker of unlabelled rows.

    Returns
    -------
    marker : str or None
        The user's marker, or the default one of a ready matrix.
    are_numbers : bool
        Whether all labels are numbers; "007" is not, because it would lose its zeros.
    notes : list of str
        What the user should know about the labels.
    """
    cells = _cells(table, target)
    if table.is_matrix and marker is None:
        marker = _default_marker(cells, table.source)
    elif marker is None:
        _refuse_minus_one(cells, table.source)
    labels = {cell for cell in _without_marker(cells, marker) if cell is not None}
    marks = {label for label in labels if label.lower() in MISSING_MARKS}
    others = labels - marks
    are_numbers = bool(others) and not any(map(_LEADING_ZERO.match, others))
    are_numbers = are_numbers and notation(others, table.decimal) is not None
    if are_numbers:
        return marker, are_numbers, []
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
    return marker, are_numbers, notes


def read_targets(
    table: Table, target: str | None, marker: str | None, are_numbers: bool
) -> np.ndarray:
    """Return labels as objects: int, float or str, and None for unlabelled rows."""
    cells = _without_marker(_cells(table, target), marker)
    if not are_numbers:
        return cells
    labels = np.empty(len(cells), dtype=object)
    known = {cell for cell in cells if cell is not None and cell.lower() not in MISSING_MARKS}
    read = NOTATIONS[notation(known, table.decimal) or "number"]
    for row, cell in enumerate(cells):
        if cell is None or cell.lower() in MISSING_MARKS:
            continue
        number = read(cell)
        if number is None or not np.isfinite(number):
            raise ValueError(
                f"the target is {quoted(cell)} in {table.where(row)} of {table.source}: it must be "
                "a finite number, or empty"
            )
        labels[row] = plain_number(number)
    return labels


def _cells(table: Table, target: str | None) -> np.ndarray:
    """Return the cells of the target as str, or None where a cell is empty."""
    if not table.is_matrix:
        assert target is not None
        column = table.column(target, "target column")
    elif table.y is None:
        raise ValueError(f"{table.source} has no array y: store the targets of the rows in it")
    else:
        column = table.y.astype(object if table.y.dtype.kind == "U" else np.float64)
    if column.dtype != object:
        return as_texts(column)
    cells = np.empty(len(column), dtype=object)
    cells[:] = [None if cell is None else str(cell).strip() or None for cell in column]
    return cells


def _without_marker(cells: np.ndarray, marker: str | None) -> np.ndarray:
    """Return the cells with None in place of the marker; numbers are compared as numbers."""
    if marker is None:
        return cells
    text, number = marker.strip(), number_or_none(marker)
    kept = cells.copy()
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        if cell == text or (number is not None and number_or_none(cell) == number):
            kept[row] = None
    return kept


def _refuse_minus_one(cells: np.ndarray, source: str) -> None:
    """Refuse classes of which −1 is one, because it may mark unlabelled rows.

    Whole numbers among which −1 is the smallest are classes if each occurs twice on average; where
    cells are empty, these mark the unlabelled rows. Beside texts −1 is refused in any case.
    """
    known = [cell for cell in cells if cell is not None]
    numbers = [number_or_none(cell) for cell in known]
    values = {number for number in numbers if number is not None}
    if -1.0 not in values:
        return
    why = "the other labels are texts"
    if None not in numbers:
        few = len(known) == len(cells) and 2 * len(values) <= len(cells)
        if not few or min(values) < -1.0 or not all(value.is_integer() for value in values):
            return
        why = "no cell of the target is empty"
    raise ValueError(
        f"-1 is among the labels of {source}, and {why}, so it is not known whether -1 marks "
        "unlabelled rows: pass --unlabeled -1 if it does, or --unlabeled nan if -1 is a label"
    )


def _default_marker(cells: np.ndarray, source: str) -> str | None:
    """Return the marker of unlabelled rows for targets of a matrix, where no cell can be empty.

    It is −1, as in the estimators, if all labels are whole numbers and −1 can mean nothing else.
    """
    values = {number_or_none(cell) for cell in cells if cell is not None}
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
