"""Rows as CSV text, as they are, or such that a spreadsheet runs nothing of them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from itertools import chain
from typing import Any

from .numerals import number_or_none

#: What formulas begin with, also in the wide letters of East Asian programs, and what spreadsheets
#: skip before them.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV; None becomes an empty cell."""
    return _csv_lines(chain([header], rows))


def _csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    lines = _Lines()
    csv.writer(lines).writerows(rows)
    return "".join(lines)


class _Lines(list[str]):
    """Lines of a CSV writer. It puts quotes around a cell only for the line ends that it writes."""

    def write(self, line: str) -> None:
        """Add a line, which ends as `csv` ends lines by default."""
        self.append(line.removesuffix("\r\n") + "\n")


def safe_csv(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    r"""Return rows as CSV of which a spreadsheet runs nothing.

    A text that a spreadsheet would take for a formula, because it begins with ``=``, ``+``, ``-``,
    ``@``, a tab or a line end, gets an apostrophe before it. Numbers stay as they are, also where
    they are negative or written as texts.

    Examples
    --------
    >>> safe_csv(["id", "prediction"], [["-7", "=1+2"], ["-x", -0.5]])
    "id,prediction\n-7,'=1+2\n'-x,-0.5\n"
    """
    return safe_csv_lines(chain([header], rows))


def safe_csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as lines of CSV without a header; see `safe_csv`."""
    return _csv_lines(map(_inert, row) for row in rows)


def _inert(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA_STARTS):
        return cell
    number = number_or_none(cell)
    return cell if number is not None and math.isfinite(number) else f"'{cell}"
