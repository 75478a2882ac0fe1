"""`lapwing suggest`: the training rows whose labels would teach a model most."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.archive import plain
from .models import TableModel, add_common, check_out, print_json, text_table, write_whole


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing suggest` to the command line."""
    parser = commands.add_parser(
        "suggest",
        help="which training rows to label next",
        description="Lists the unlabelled rows of the training file whose labels would teach the "
        "model most, the most useful first.",
    )
    parser.add_argument("model", type=Path, help="a file of `lapwing fit`")
    parser.add_argument("--n", type=_count, default=20, help="rows (20)")
    parser.add_argument("--out", type=Path, help="write them to this CSV file")
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List the rows; return the exit code."""
    if arguments.out is not None:
        check_out(arguments.out)
    stored = TableModel(arguments.model)
    n_unlabelled = len(stored.ids) - stored.n_labelled
    if n_unlabelled < 1:
        raise ValueError(
            f"all rows of {stored.source} are labelled: add unlabelled rows and fit again"
        )
    rows = suggestions(stored, min(arguments.n, n_unlabelled))
    if not rows:
        raise ValueError(
            f"no row of {stored.source} is worth a label: those without one equal others that have "
            "one. Add other rows and fit again"
        )
    if arguments.out is not None:
        write_whole(arguments.out, _csv(rows))
    if arguments.json:
        out = None if arguments.out is None else str(arguments.out)
        print_json({"command": "suggest", "source": stored.source, "out": out, "rows": rows})
    elif arguments.out is not None:
        print(f"{len(rows)} rows of {stored.source}: {arguments.out}")
    else:
        print(f"Rows of {stored.source} to label next:")
        print(text_table(list(rows[0]), [list(row.values()) for row in rows]))
    return 0


def suggestions(stored: TableModel, n: int) -> list[dict[str, Any]]:
    """Return the rows, with what the model takes them for."""
    model, found = stored.model, []
    chances = getattr(model, "label_distributions_", None)
    for row in np.asarray(model.suggest(n)).tolist():
        entry: dict[str, Any] = {"row": row + 1}
        if stored.encoder.id is not None:
            entry = {stored.encoder.id: stored.ids[row], **entry}
        entry["prediction"] = plain(model.transduction_[row])
        if stored.is_classifier and chances is not None:
            entry["confidence"] = round(float(np.max(chances[row])), 4)
        found.append(entry)
    return found


def _csv(rows: list[dict[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


_count.__name__ = "whole number"  # argparse: "invalid whole number value: 'x'"
