"""`lapwing predict`: a saved model applied to a new table."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..arrays.archive import plain
from ..arrays.atomic import write_text
from ..tables import read_table
from .models import load_table_model
from .options import add_json, add_reading
from .output import check_out, print_json, safe_csv


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing predict` to the command line."""
    parser = commands.add_parser(
        "predict",
        help="apply a model file to a table; writes a CSV file",
        description="Predicts the target of every row. The table must have the columns that the "
        "model was fitted to; others are ignored.",
    )
    parser.add_argument("model", type=Path, help="a model file of `lapwing fit`")
    parser.add_argument("data", type=Path, help="the table: a file, or a folder of its files")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("predictions.csv"),
        help="CSV file of the predictions (predictions.csv)",
    )
    parser.add_argument("--proba", action="store_true", help="write a probability for each class")
    parser.add_argument(
        "--reject",
        type=_confidence,
        metavar="C",
        help="leave predictions empty where the confidence is below C, such as 0.8",
    )
    add_reading(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the predictions; return the exit code."""
    check_out(arguments.out, arguments.model, arguments.data)
    stored = load_table_model(arguments.model)
    model, encoder = stored.model, stored.encoder
    if not is_classifier(model) and (arguments.proba or arguments.reject is not None):
        raise ValueError(
            "--proba and --reject need classes, and this model is a regressor, which has no "
            "probabilities: leave them out"
        )
    if arguments.decimal is not None:
        encoder = encoder.with_decimal(arguments.decimal)
    table = read_table(
        arguments.data,
        memory_limit=arguments.memory_limit,
        encoding=arguments.encoding,
        **encoder.reading,
    )
    id_header = encoder.id if encoder.id in table.columns else "row"
    columns = _predictions(model, encoder.transform(table), arguments)
    rows = zip(encoder.ids_of(table), *columns.values(), strict=True)
    write_text(arguments.out, safe_csv([id_header, *columns], rows))
    _print_result(arguments, columns["prediction"])
    return 0


def _predictions(model: Any, X: Any, arguments: argparse.Namespace) -> dict[str, list[Any]]:
    """Return the columns of the file by their headers."""
    if not is_classifier(model):
        return {"prediction": model.predict(X).tolist()}
    probabilities = model.predict_proba(X)
    columns = {
        "prediction": plain(model.predict(X, reject=arguments.reject)),
        "confidence": _formatted(probabilities.max(axis=1)),
    }
    if arguments.proba:
        for label, probability in zip(plain(model.classes_), probabilities.T, strict=True):
            columns[f"p({label})"] = _formatted(probability)
    return columns


def _formatted(probabilities: np.ndarray) -> list[str]:
    return [f"{probability:.6g}" for probability in probabilities]


def _print_result(arguments: argparse.Namespace, predictions: list[Any]) -> None:
    known = [label for label in predictions if label is not None]
    n_rejected = len(predictions) - len(known)
    are_quantities = any(isinstance(label, float) for label in known)
    counts = [] if are_quantities else Counter(map(str, known)).most_common()
    if arguments.json:
        result = {
            "command": "predict",
            "out": str(arguments.out),
            "rows": len(predictions),
            "rejected": n_rejected,
            "counts": dict(counts),
        }
        print_json(result)
        return
    rejected = f", {n_rejected} of them without a prediction" if n_rejected else ""
    print(f"{len(predictions)} rows{rejected}: {arguments.out}")
    for label, count in counts[:10]:
        print(f"  {label}: {count}")


def _confidence(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError("must be between 0 and 1")
    return value


_confidence.__name__ = "confidence"  # argparse: "invalid confidence value: 'x'"
