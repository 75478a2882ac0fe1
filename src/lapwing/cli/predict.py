"""`lapwing predict`: a saved model applied to a new table, a batch of rows at a time."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier

from ..arrays.archive import plain
from ..tables import Table, TableEncoder, is_matrix_file, open_table, read_table
from .models import load_table_model
from .options import add_json, add_reading
from .output import check_out, print_json
from .passes import PassProgress
from .prediction_files import PredictionColumns, open_prediction_file
from .terminal import progress
from .training import block_rows, file_options


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing predict` to the command line."""
    parser = commands.add_parser(
        "predict",
        help="apply a model file to a table; writes a CSV or Parquet file",
        description="Predicts the target of every row. The table must have the columns that the "
        "model was fitted to; others are ignored. Rows are read, predicted and written a batch at "
        "a time, so that their number is not bounded by memory.",
    )
    parser.add_argument("model", type=Path, help="a model file of `lapwing fit`")
    parser.add_argument("data", type=Path, help="the table: a file, or a folder of its files")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("predictions.csv"),
        help="file of the predictions, Parquet if it ends in .parquet, otherwise CSV "
        "(predictions.csv)",
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
    counts = _Counts()
    with progress(quiet=not sys.stderr.isatty()) as show:
        tables = _read(arguments, encoder, PassProgress(show, (1.0,)))
        first = next(tables)
        named = encoder.id is not None and encoder.id in first.columns
        columns = PredictionColumns(encoder.id if named else None, _types(model, arguments.proba))
        with open_prediction_file(arguments.out, columns) as write:
            for table in chain([first], tables):
                found = _predictions(model, encoder.transform(table), arguments)
                write(encoder.ids_of(table), found)
                counts.add(found[0])
    _print_result(arguments, counts)
    return 0


def _read(
    arguments: argparse.Namespace, encoder: TableEncoder, passes: PassProgress
) -> Iterator[Table]:
    """Yield the rows as tables of bounded size; a file that contains a matrix is one table."""
    options = {**file_options(arguments), **encoder.reading}
    if is_matrix_file(arguments.data, arguments.encoding):
        yield read_table(arguments.data, **options)
        return
    reader = open_table(arguments.data, **options)
    passes.n_rows = reader.files.n_expected
    yield from passes.watched(reader, "predicting").tables(block_rows(encoder))


def _types(model: Any, with_probabilities: bool) -> dict[str, type]:
    """Return the columns of the predictions by their headers, with the types of their values."""
    if not is_classifier(model):
        return {"prediction": float}
    types = {"prediction": type(plain(model.classes_)[0]), "confidence": float}
    if with_probabilities:
        types |= {f"p({label})": float for label in plain(model.classes_)}
    return types


def _predictions(model: Any, X: Any, arguments: argparse.Namespace) -> list[Any]:
    """Return the columns of the file; a prediction is None where it is not confident enough."""
    if not is_classifier(model):
        return [model.predict(X).tolist()]
    probabilities = model.predict_proba(X)
    confidence = probabilities.max(axis=1)
    found = model.classes_[probabilities.argmax(axis=1)].astype(object)
    if arguments.reject is not None:
        found[confidence < arguments.reject] = None
    columns = [plain(found), confidence]
    return [*columns, *probabilities.T] if arguments.proba else columns


@dataclass
class _Counts:
    """Numbers of rows and of predictions, summed over batches."""

    n_rows: int = 0
    n_rejected: int = 0
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, predictions: list[Any]) -> None:
        """Add the predictions of a batch; quantities are not counted."""
        known = [label for label in predictions if label is not None]
        self.n_rows += len(predictions)
        self.n_rejected += len(predictions) - len(known)
        self.labels.update(str(label) for label in known if not isinstance(label, float))


def _print_result(arguments: argparse.Namespace, counts: _Counts) -> None:
    labels = counts.labels.most_common()
    if arguments.json:
        result = {
            "command": "predict",
            "out": str(arguments.out),
            "rows": counts.n_rows,
            "rejected": counts.n_rejected,
            "counts": dict(labels),
        }
        print_json(result)
        return
    rejected = f", {counts.n_rejected} of them without a prediction" if counts.n_rejected else ""
    print(f"{counts.n_rows} rows{rejected}: {arguments.out}")
    for label, count in labels[:10]:
        print(f"  {label}: {count}")


def _confidence(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError("must be between 0 and 1")
    return value


_confidence.__name__ = "confidence"  # argparse: "invalid confidence value: 'x'"
