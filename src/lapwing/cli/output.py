"""What commands print and write: files, CSV, tables of text, JSON."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ..arrays.archive import plain
from ..displays.page import digits_to_show
from ..tables.numerals import number_or_none

#: What formulas begin with, also in the wide letters of East Asian programs, and what spreadsheets
#: skip before them.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")


def check_out(path: Path, *inputs: Path, option: str = "--out") -> None:
    """Raise a ValueError if a file cannot be written there, before anything is computed.

    Parameters
    ----------
    path : Path
        Where to write.
    *inputs : Path
        The files and folders that the command reads: a path that leads to one of them or into one,
        also by a link, is refused.
    option : str
        The option that names the path.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"{option} {path}: give a file name in a folder that exists")
    for source in inputs:
        if source.is_dir() and path.resolve().is_relative_to(source.resolve()):
            raise ValueError(
                f"{option} {path} is in the folder {source}, all files of which this command "
                "reads: give a file in another folder"
            )
        if path.exists() and source.exists() and path.samefile(source):
            raise ValueError(
                f"{option} {path} is the file {source}, which this command reads and would "
                "overwrite: give another name"
            )


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


def text_table(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as text in columns, with the digits of numbers that show how these differ."""
    columns = [_texts(column) for column in zip(*rows, strict=True)]
    cells = [list(header), *zip(*columns, strict=True)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def _texts(column: Sequence[Any]) -> list[str]:
    n_digits = digits_to_show([v for v in column if isinstance(v, float)])
    return [f"{v:.{n_digits}g}" if isinstance(v, float) else str(v) for v in column]


def print_json(result: dict[str, Any]) -> None:
    """Print an object as JSON; numbers that JSON cannot represent become null."""
    print(json.dumps(plain(result), ensure_ascii=False, allow_nan=False))
