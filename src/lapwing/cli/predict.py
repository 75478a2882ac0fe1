"""`lapwing predict`: a saved model applied to a new table."""

from __future__ import annotations

import argparse
import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.archive import plain
from ..tables import Table, read_table
from .models import TableModel, add_common, add_reading, check_out, print_json, write_whole


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing predict` to the command line."""
    parser = commands.add_parser(
        "predict",
        help="apply a model file to a table; writes a CSV file",
        description="Predicts the target of every row. The table must have the columns that the "
        "model learnt from; others are ignored.",
    )
    parser.add_argument("model", type=Path, help="a file of `lapwing fit`")
    parser.add_argument("data", type=Path, help="the table")
    parser.add_argument(
        "--out", type=Path, default=Path("predictions.csv"), help="(predictions.csv)"
    )
    parser.add_argument("--proba", action="store_true", help="write a probability for each class")
    parser.add_argument(
        "--reject",
        type=_confidence,
        metavar="C",
        help="leave predictions empty where the confidence is below C, such as 0.8",
    )
    add_reading(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the predictions; return the exit code."""
    check_out(arguments.out)
    stored = TableModel(arguments.model)
    if not stored.is_classifier and (arguments.proba or arguments.reject is not None):
        raise ValueError(
            "--proba and --reject need classes: this model predicts numbers, which have no "
            "probabilities"
        )
    encoder = stored.encoder
    table = read_table(
        arguments.data,
        memory_limit=arguments.memory_limit,
        encoding=arguments.encoding,
        as_text=encoder.as_text,
        only=encoder.names,
    )
    header, ids = _names(stored, table)
    columns = _predictions(stored.model, encoder.transform(table), arguments)
    rows = zip(ids, *columns.values(), strict=True)
    write_whole(arguments.out, _csv([header, *columns], rows))
    _tell(arguments, columns["prediction"])
    return 0


def _names(stored: TableModel, table: Table) -> tuple[str, Any]:
    """Return the heading and the names of the rows; counted if the table does not name them."""
    name = stored.encoder.id
    if name is None or name not in table.columns:
        return "row", [str(row) for row in range(1, table.n_rows + 1)]
    return name, stored.encoder.ids_of(table)


def _predictions(model: Any, X: Any, arguments: argparse.Namespace) -> dict[str, list[Any]]:
    """Return columns of the file by their headings."""
    if not hasattr(model, "classes_"):
        return {"prediction": [float(value) for value in model.predict(X)]}
    chances = np.asarray(model.predict_proba(X))
    columns = {
        "prediction": plain(model.predict(X, reject=arguments.reject)),
        "confidence": [f"{chance:.6g}" for chance in chances.max(axis=1)],
    }
    if arguments.proba:
        for label, chance in zip(plain(model.classes_), chances.T, strict=True):
            columns[f"p({label})"] = [f"{value:.6g}" for value in chance]
    return columns


def _csv(header: list[str], rows: Any) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)  # None becomes an empty cell
    return file.getvalue()


def _tell(arguments: argparse.Namespace, predictions: list[Any]) -> None:
    known = [label for label in predictions if label is not None]
    rejected = len(predictions) - len(known)
    is_counted = not any(isinstance(label, float) for label in known)
    counts = Counter(map(str, known)).most_common() if is_counted else []
    if arguments.json:
        print_json(
            {
                "command": "predict",
                "out": str(arguments.out),
                "rows": len(predictions),
                "rejected": rejected,
                "counts": dict(counts),
            }
        )
        return
    without = f", {rejected} of them without a prediction" if rejected else ""
    print(f"{len(predictions)} rows{without}: {arguments.out}")
    for label, count in counts[:10]:
        print(f"  {label}: {count}")


def _confidence(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError("must lie between 0 and 1")
    return value


_confidence.__name__ = "confidence"  # argparse: "invalid confidence value: 'x'"
