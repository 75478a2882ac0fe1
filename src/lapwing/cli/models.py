"""What the commands about models share: options, model files with their tables, results, JSON.

`lapwing fit`, `predict`, `suggest` and `report` each have a module of their own.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..arrays.archive import plain
from ..arrays.memory import parse_size
from ..tables import TableEncoder


class TableModel:
    """A model that `lapwing fit` saved, with the table it learnt from.

    Attributes
    ----------
    model : SemiSupervisedClassifier or SemiSupervisedRegressor
    encoder : TableEncoder
    ids : list of str
        Names of the training rows.
    source : str
        Name of the training file.
    n_labelled : int
    """

    def __init__(self, path: Path) -> None:
        from .. import load

        self.model: Any = load(path)
        extra = getattr(self.model, "extra_", None)
        if not isinstance(extra, dict) or "encoder" not in extra:
            raise ValueError(
                f"{path} holds a model without its table: make it with `lapwing fit`, or use "
                "lapwing.load in Python"
            )
        self.encoder = TableEncoder.from_dict(extra["encoder"])
        ids, source, labelled = (extra.get(key) for key in ("ids", "source", "labelled"))
        good = isinstance(ids, list) and all(isinstance(name, str) for name in ids)
        if not good or not isinstance(source, str) or not isinstance(labelled, int):
            raise ValueError(f"{path} is damaged: names of the training rows are not as written")
        self.ids: list[str] = list(ids or [])
        self.source, self.n_labelled = source, labelled

    @property
    def is_classifier(self) -> bool:
        """Whether the model tells classes; it predicts numbers otherwise."""
        return hasattr(self.model, "classes_")


# ---------------------------------------------------------------- options


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command about models has."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading a table."""
    parser.add_argument(
        "--encoding", default="utf-8", metavar="E", help="of a file of lines, as latin-1 (utf-8)"
    )
    parser.add_argument(
        "--memory-limit", type=_size, metavar="SIZE", help="such as 8GB (a share of what is free)"
    )


def names(text: str) -> list[str]:
    """Return names between commas; one that holds a comma stands in quotes."""
    found = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in found if name.strip()]


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).replace("memory_limit ", "")) from None


# ---------------------------------------------------------------- results


def check_out(path: Path, option: str = "--out") -> None:
    """Raise a ValueError if a file cannot be written there, before anything is computed."""
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"{option} {path}: give a file name in a folder that exists")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def print_json(result: dict[str, Any]) -> None:
    """Print an object as JSON; numbers that JSON does not have become null."""
    print(json.dumps(plain(result), ensure_ascii=False, allow_nan=False))


def text_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as text in columns, numbers to the right."""
    cells = [list(header)] + [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [
        "  ".join(f"{text:<{w}}" for text, w in zip(row, widths, strict=True)) for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
