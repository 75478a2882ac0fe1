"""What commands print and write: files, CSV, tables of text, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..arrays.archive import plain


def check_out(path: Path, *inputs: Path, option: str = "--out") -> None:
    """Raise a ValueError if a file cannot be written there, before anything is computed.

    Parameters
    ----------
    path : Path
        Where to write.
    *inputs : Path
        The files that the command reads: a path that leads to one of them, also by a link, is
        refused.
    option : str
        The option that names the path.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"{option} {path}: give a file name in a folder that exists")
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            raise ValueError(
                f"{option} {path} is the file {source}, which this command reads and would "
                "overwrite: give another name"
            )


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV; None becomes an empty cell."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return file.getvalue()


def text_table(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as text in columns."""
    cells = [list(header)]
    cells += [[f"{v:.3g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def print_json(result: dict[str, Any]) -> None:
    """Print an object as JSON; numbers that JSON cannot represent become null."""
    print(json.dumps(plain(result), ensure_ascii=False, allow_nan=False))
