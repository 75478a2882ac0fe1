"""`lapwing fit`: from a table with few labels to a model file."""

from __future__ import annotations

import argparse
import csv
import io
import shlex
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.archive import plain
from ..tables import TableEncoder, read_table
from .models import add_common, add_reading, check_out, names, print_json
from .terminal import Progress, print_summary

#: Different whole numbers from which a target is a quantity: if they are many beside the labels,
#: and in any case.
_SOME_VALUES, _SHARE, _MANY_VALUES = 20, 1 / 3, 50


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing fit` to the command line."""
    parser = commands.add_parser(
        "fit",
        help="learn from a table in which few rows have a label; writes a model file",
        description="Learns from a table (CSV, TSV, Parquet, Arrow, .npz, svmlight) in which few "
        "rows have a label. Rows whose target is empty count as unlabelled, and are learnt from "
        "as well.",
    )
    parser.add_argument("data", type=Path, help="the table")
    parser.add_argument("--target", metavar="NAME", help="column of the labels (y in .npz)")
    parser.add_argument("--id", metavar="COL", help="column that names the rows (counted from 1)")
    parser.add_argument(
        "--unlabeled", metavar="MARKER", help="label of unlabelled rows, beside empty cells"
    )
    parser.add_argument(
        "--task", choices=("auto", "classification", "regression"), default="auto", help="(auto)"
    )
    parser.add_argument(
        "--method", default="auto", help="family of machines, such as manifold or graph (auto)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("model.lapwing"), help="model file (model.lapwing)"
    )
    for option, what in (
        ("--text-columns", "are texts"),
        ("--categorical-columns", "are categories"),
        ("--drop", "are left out"),
    ):
        parser.add_argument(
            option, type=names, default=[], metavar="A,B", help=f"columns that {what}"
        )
    add_reading(parser)
    parser.add_argument("--seed", type=int, default=0, help="of everything random (0)")
    add_common(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Task:
    """What is learnt, and why."""

    name: str
    reason: str


def run(arguments: argparse.Namespace) -> int:
    """Read, learn, save and tell; return the exit code."""
    start = time.perf_counter()
    check_out(arguments.out)
    table = read_table(
        arguments.data,
        memory_limit=arguments.memory_limit,
        encoding=arguments.encoding,
        as_text=[
            name
            for name in (
                arguments.target,
                arguments.id,
                *arguments.text_columns,
                *arguments.categorical_columns,
            )
            if name is not None
        ],
        drop=arguments.drop,
    )
    encoder = TableEncoder(
        text_columns=arguments.text_columns,
        categorical_columns=arguments.categorical_columns,
        unlabeled=arguments.unlabeled,
    ).fit(table, target=arguments.target, id=arguments.id)
    labels = encoder.target_of(table)
    notes = list(encoder.notes)
    task = choose_task(labels, arguments.task, encoder.target_is_number)
    labelled = check_labels(labels, task.name, encoder.target or "y", notes)
    ids = encoder.ids_of(table)
    if len(set(ids)) < len(ids):
        notes.append(f"some names in column {encoder.id!r} name more than one row")
    X = encoder.transform(table)
    model = learn(X, labels, task.name, arguments, notes)
    extra = {
        "encoder": encoder.to_dict(),
        "target": encoder.target,
        "id": encoder.id,
        "ids": ids.tolist(),
        "source": table.source,
        "task": task.name,
        "labelled": labelled,
        "command": command_line(arguments),
    }
    model.save(arguments.out, extra=extra)
    result = {
        "command": "fit",
        "model": str(arguments.out),
        "data": str(arguments.data),
        "rows": table.n_rows,
        "labelled": labelled,
        "unlabelled": table.n_rows - labelled,
        "features": X.shape[1],
        "task": task.name,
        "task_reason": task.reason,
        "classes": plain(model.classes_) if task.name == "classification" else None,
        "seconds": round(time.perf_counter() - start, 3),
        "notes": notes,
        "report": model.report_.to_dict(),
    }
    if arguments.json:
        print_json(result)
    elif not arguments.quiet:
        _tell(result, model)
    return 0


def command_line(arguments: argparse.Namespace) -> str:
    """Return the command that learns the same again: the data, and what is not the default."""
    words = ["lapwing", "fit", str(arguments.data)]
    for name in ("target", "id", "unlabeled", "task", "method", "encoding", "memory_limit", "seed"):
        value = getattr(arguments, name)
        if value not in (None, "auto", "utf-8", 0):
            words += [f"--{name.replace('_', '-')}", str(value)]
    for name in ("text_columns", "categorical_columns", "drop"):
        if getattr(arguments, name):
            file = io.StringIO()
            csv.writer(file, lineterminator="").writerow(getattr(arguments, name))
            words += [f"--{name.replace('_', '-')}", file.getvalue()]
    return shlex.join([*words, "--out", str(arguments.out)])


def choose_task(labels: np.ndarray, wanted: str, numbers: bool) -> Task:
    """Return whether classes or quantities are to be learnt.

    By default a quantity is a target with fractions, or with so many different whole numbers that
    they can hardly be classes.
    """
    if wanted == "regression" and not numbers and any(label is not None for label in labels):
        example = next(label for label in labels if label is not None)
        raise ValueError(
            f"--task regression needs numbers as targets, and there is {example!r}: give its rows "
            "no target, or use --task classification"
        )
    if wanted != "auto":
        return Task(wanted, "as asked for")
    if not numbers:
        return Task("classification", "the targets are texts")
    known = [label for label in labels if label is not None]
    n_values = len(set(known))
    if any(float(label) != int(label) for label in known):
        return Task("regression", "the targets are numbers with fractions")
    many = n_values > _MANY_VALUES or (n_values > _SOME_VALUES and n_values > _SHARE * len(known))
    if many:
        return Task("regression", f"the targets are {n_values} different numbers")
    return Task("classification", f"the targets are {n_values} different whole numbers")


def check_labels(labels: np.ndarray, task: str, target: str, notes: list[str]) -> int:
    """Return the number of labelled rows; raise a ValueError if nothing can be learnt from them."""
    known = [label for label in labels if label is not None]
    if not known:
        raise ValueError(
            f"no row has a label in {target!r}: give some rows of each class one, and leave the "
            "cells of the others empty"
        )
    if len(set(known)) == 1:
        what = "one class" if task == "classification" else "one value"
        raise ValueError(
            f"all {len(known)} labelled rows have the label {known[0]!r}: with {what} there is "
            "nothing to tell apart; label rows of another"
        )
    if len(known) == len(labels):
        notes.append("all rows have a label: there are no unlabelled rows to learn from")
    return len(known)


def learn(
    X: Any, labels: np.ndarray, task: str, arguments: argparse.Namespace, notes: list[str]
) -> Any:
    """Fit the estimator; what it warns of goes to the notes."""
    from .. import SemiSupervisedClassifier, SemiSupervisedRegressor

    with Progress(arguments.quiet) as progress, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shared = {
            "method": arguments.method,
            "random_state": arguments.seed,
            "memory_limit": arguments.memory_limit,
            "callback": progress,
        }
        if task == "classification":
            model = SemiSupervisedClassifier(unlabeled=None, **shared).fit(X, labels)
        else:
            y = np.array([np.nan if label is None else label for label in labels], dtype=float)
            model = SemiSupervisedRegressor(**shared).fit(X, y)
    told = model.report_.to_dict().get("warnings") or []
    for warning in caught:
        message = str(warning.message)
        if issubclass(warning.category, UserWarning) and message not in (*notes, *told):
            notes.append(message)
    return model


def _tell(result: dict[str, Any], model: Any) -> None:
    classes = result["classes"]
    shown = "" if classes is None else ": " + ", ".join(map(str, classes[:10]))
    shown += " …" if classes is not None and len(classes) > 10 else ""
    facts = [
        ("data", result["data"]),
        (
            "rows",
            f"{result['rows']}: {result['labelled']} labelled, {result['unlabelled']} unlabelled",
        ),
        ("features", str(result["features"])),
        ("task", f"{result['task']} ({result['task_reason']}){shown}"),
        ("model", result["model"]),
        ("seconds", f"{result['seconds']:.1f}"),
    ]
    facts += [("note", note) for note in result["notes"]]
    print_summary("Learnt", facts)
    print()
    print(model.report_)
