"""`lapwing suggest`: the training rows whose labels would improve a model most."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier

from ..arrays.archive import plain
from ..arrays.atomic import write_text
from ..auto import view_rows
from ..tables.write import safe_csv
from .models import TableModel, load_table_model
from .options import add_json, whole_number
from .output import check_out, print_json, text_table


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing suggest` to the command line."""
    parser = commands.add_parser(
        "suggest",
        help="list the training rows to label next",
        description="Lists the unlabelled rows of the training file whose labels would improve "
        "the model most, the most useful first. Of a table that was read in blocks, they are "
        "among the rows that the model was fitted to.",
    )
    parser.add_argument("model", type=Path, help="a model file of `lapwing fit`")
    parser.add_argument("--n", type=whole_number(1), default=20, help="number of rows (20)")
    parser.add_argument("--out", type=Path, help="write the rows to this CSV file")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List the rows; return the exit code."""
    if arguments.out is not None:
        check_out(arguments.out, arguments.model)
    stored = load_table_model(arguments.model)
    if arguments.out is not None and arguments.out.exists():
        _check_not_source(arguments.out, stored.source)
    n_unlabelled = stored.n_rows - stored.n_labelled
    if n_unlabelled < 1:
        raise ValueError(
            f"all rows of {stored.source} are labelled: add unlabelled rows and fit again"
        )
    rows = suggestions(stored, min(arguments.n, n_unlabelled))
    if not rows:
        raise ValueError(
            f"no row of {stored.source} is worth a label: the unlabelled rows are duplicates of "
            "labelled ones. Add other rows and fit again"
        )
    header, cells = list(rows[0]), [row.values() for row in rows]
    if arguments.out is not None:
        write_text(arguments.out, safe_csv(header, cells))
    if arguments.json:
        out = None if arguments.out is None else str(arguments.out)
        print_json({"command": "suggest", "source": stored.source, "out": out, "rows": rows})
    elif arguments.out is not None:
        print(f"{len(rows)} rows of {stored.source}: {arguments.out}")
    else:
        print(f"Rows of {stored.source} to label next:")
        print(text_table(header, cells))
    return 0


def _check_not_source(out: Path, source: str) -> None:
    """Refuse to replace a file that has the name of the training rows, which hold the labels."""
    if out.name == Path(source).name:
        raise ValueError(
            f"--out {out} has the name of the rows that the model was fitted to, and would replace "
            "them: give another name"
        )


def suggestions(stored: TableModel, n: int) -> list[dict[str, Any]]:
    """Return the rows to label, with the predictions of the model."""
    model, view, found = stored.model, view_rows(stored.model), []
    rows = model.suggest(n)
    for row, at in zip(rows.tolist(), view.positions(rows).tolist(), strict=True):
        entry: dict[str, Any] = {"row": row + 1, "prediction": plain(view.found[at])}
        if stored.encoder.id is not None and stored.ids is not None:
            entry = {stored.encoder.id: stored.ids[at], **entry}
        if is_classifier(model):
            entry["confidence"] = round(float(view.confidence[at]), 4)
        found.append(entry)
    return found
