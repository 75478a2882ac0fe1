"""What commands print: tables of text, JSON. Where they may write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..arrays.archive import plain
from ..displays.page import digits_to_show


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
