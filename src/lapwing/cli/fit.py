"""`lapwing fit`: from a table with few labels to a model file."""

from __future__ import annotations

import argparse
import shlex
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.archive import plain
from ..auto import SemiSupervisedClassifier, SemiSupervisedRegressor
from ..estimators.labels import may_be_classes
from ..tables import Table, TableEncoder, fit_encoder, read_table
from .options import add_json, add_reading, class_shares, names, whole_number
from .output import check_out, csv_text, print_json
from .terminal import print_summary, progress

#: Options that decide what is learnt, with their defaults.
_DEFAULTS: dict[str, Any] = {
    "target": None,
    "id": None,
    "unlabeled": None,
    "task": "auto",
    "method": "auto",
    "class_shares": None,
    "encoding": "utf-8",
    "decimal": None,
    "memory_limit": None,
    "seed": 0,
    "text_columns": [],
    "categorical_columns": [],
    "drop": [],
}
#: Whole numbers are quantities if more than _MANY_VALUES of them differ, or if more than
#: _SOME_VALUES of them and more than this share of the labels do.
_MANY_VALUES, _SOME_VALUES, _SHARE = 50, 20, 1 / 3
#: Classes are unbalanced if one has more than this many times the labels of another.
_UNBALANCED = 2


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing fit` to the command line."""
    parser = commands.add_parser(
        "fit",
        help="fit a model to a table in which few rows have a label; writes a model file",
        description="Fits a model to a table (CSV, TSV, Parquet, Arrow, .npz, svmlight) in which "
        "few rows have a label. Rows whose target is empty count as unlabelled; the model learns "
        "from them as well.",
    )
    parser.add_argument("data", type=Path, help="the table: a file, or a folder of its files")
    parser.add_argument("--target", metavar="NAME", help="column of the labels (y in .npz)")
    parser.add_argument("--id", metavar="COL", help="column of the row names (numbers from 1)")
    parser.add_argument(
        "--unlabeled", metavar="MARKER", help="label that marks unlabelled rows, as empty cells do"
    )
    parser.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        help="whether labels are classes or quantities (auto)",
    )
    parser.add_argument("--method", help="family of models, such as manifold or graph (auto)")
    parser.add_argument(
        "--class-shares",
        type=class_shares,
        metavar="A=0.9,B=0.1",
        help="shares of the classes among the unlabelled rows, or labels, if the labels are a "
        "random sample (not known)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("model.lapwing"), help="model file (model.lapwing)"
    )
    parser.add_argument("--text-columns", type=names, metavar="A,B", help="columns that are texts")
    parser.add_argument(
        "--categorical-columns", type=names, metavar="A,B", help="columns that are categories"
    )
    parser.add_argument("--drop", type=names, metavar="A,B", help="columns that are left out")
    add_reading(parser)
    parser.add_argument("--seed", type=whole_number(0), help="seed of everything random (0)")
    add_json(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run, **_DEFAULTS)


@dataclass(frozen=True)
class Task:
    """What is learnt, classification or regression, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class TrainingTable:
    """A table, encoded for a fit."""

    table: Table
    encoder: TableEncoder
    ids: list[str]
    labels: np.ndarray
    n_labelled: int
    task: Task
    X: Any


def run(arguments: argparse.Namespace) -> int:
    """Read the table, fit the model, save it and report on it; return the exit code."""
    started = time.perf_counter()
    check_out(arguments.out, arguments.data)
    data = read_training_table(arguments)
    model, messages = fit_model(data, arguments)
    extra = {
        "encoder": data.encoder.to_dict(),
        "target": data.encoder.target,
        "id": data.encoder.id,
        "ids": data.ids,
        "source": data.table.source,
        "task": data.task.name,
        "labelled": data.n_labelled,
        "command": command_line(arguments),
    }
    model.save(arguments.out, extra=extra)
    result = {
        "command": "fit",
        "model": str(arguments.out),
        "data": str(arguments.data),
        "rows": data.table.n_rows,
        "labelled": data.n_labelled,
        "unlabelled": data.table.n_rows - data.n_labelled,
        "features": data.X.shape[1],
        "task": data.task.name,
        "task_reason": data.task.reason,
        "classes": plain(getattr(model, "classes_", None)),
        **_held_out_recall(model),
        "seconds": round(time.perf_counter() - started, 3),
        "notes": [*_notes(data, arguments.decimal), *messages],
        "report": model.report_.to_dict(),
    }
    if arguments.json:
        print_json(result)
    elif not arguments.quiet:
        _print_result(result, model, _are_unbalanced(data.labels))
    return 0


def read_training_table(arguments: argparse.Namespace) -> TrainingTable:
    """Read and encode the table; raise a ValueError if nothing can be learnt from it."""
    target, id, texts = arguments.target, arguments.id, arguments.text_columns
    categories = arguments.categorical_columns
    for option, name in (("--target", target), ("--id", id)):
        if name is not None and name in arguments.drop:
            raise ValueError(f"{option} {name} is also in --drop: name a column in one of them")
    table = read_table(
        arguments.data,
        memory_limit=arguments.memory_limit,
        encoding=arguments.encoding,
        as_text=[target, id, *texts, *categories],
        drop=arguments.drop,
        decimal=arguments.decimal,
    )
    encoder = fit_encoder(
        table,
        target=target,
        id=id,
        text_columns=texts,
        categorical_columns=categories,
        unlabeled=arguments.unlabeled,
    )
    labels = encoder.target_of(table)
    known = [label for label in labels if label is not None]
    task = choose_task(known, arguments.task)
    if task.name == "regression" and arguments.class_shares is not None:
        raise ValueError(
            f"--class-shares is for classes, and this is a regression ({task.reason}): leave it "
            "out, or pass --task classification"
        )
    check_labels(known, task.name, encoder.target or "y", table.n_rows)
    ids, X = encoder.ids_of(table), encoder.transform(table)
    return TrainingTable(table, encoder, ids, labels, len(known), task, X)


def choose_task(known: list[Any], requested: str) -> Task:
    """Return whether the known labels are classes or quantities.

    By default labels are quantities if some are fractions, or if they are whole numbers of which
    too many differ for classes. The limit is higher than that of `look_like_classes`, which
    decides on folds only: one label of each class must be enough for a classification.
    """
    values, n_values = np.array(known), len(set(known))
    are_texts = values.dtype.kind == "U"
    if requested == "regression" and are_texts:
        raise ValueError(
            f"--task regression needs numbers as targets, and there is {known[0]!r}: leave the "
            "targets of such rows empty, or use --task classification"
        )
    if requested != "auto":
        return Task(requested, "as requested")
    if are_texts:
        return Task("classification", "the targets are texts")
    if not may_be_classes(values):
        return Task("regression", "the targets are numbers with fractions")
    rarely_repeat = n_values > _SOME_VALUES and n_values > _SHARE * len(known)
    if rarely_repeat or n_values > _MANY_VALUES:
        return Task("regression", f"the targets are {n_values} different numbers")
    return Task("classification", f"the targets are {n_values} different whole numbers")


def check_labels(known: list[Any], task: str, target: str, n_rows: int) -> None:
    """Raise a ValueError if nothing can be learnt from the known labels."""
    if not known:
        raise ValueError(
            f"no row has a label in {target!r}: label some rows of each class, and leave the cells "
            "of the others empty"
        )
    if len(set(known)) == 1:
        what = "class" if task == "classification" else "value"
        raise ValueError(
            f"all {len(known)} labelled rows have the label {known[0]!r}, and nothing can be "
            f"learnt from one {what}: label rows of another"
        )
    # One label per class is enough where other rows are left to belong to the classes.
    if task == "classification" and len(set(known)) == len(known) > n_rows / 2:
        raise ValueError(
            f"each of the {len(known)} labelled rows has a label of its own in {target!r}, as if "
            "it named the rows: give the column of the classes as --target, and that of the names "
            "as --id"
        )


def fit_model(data: TrainingTable, arguments: argparse.Namespace) -> tuple[Any, list[str]]:
    """Return the fitted model, and its warnings that its report does not repeat."""
    with progress(arguments.quiet) as callback, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model: Any = SemiSupervisedRegressor()
        if data.task.name == "classification":
            shares = shares_by_class(arguments.class_shares, data.labels)
            model = SemiSupervisedClassifier(unlabeled=None, class_shares=shares)
        model.set_params(
            method=arguments.method,
            random_state=arguments.seed,
            memory_limit=arguments.memory_limit,
            callback=callback,
        )
        model.fit(data.X, data.labels)
    messages = dict.fromkeys(
        str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)
    )
    return model, [message for message in messages if message not in model.report_.warnings]


def shares_by_class(shares: str | dict[str, float] | None, labels: np.ndarray) -> Any:
    """Return the shares with the classes as the table has them: 1 for the text "1"."""
    if not isinstance(shares, dict):
        return shares
    classes = {str(label): label for label in labels if label is not None}
    return {classes.get(name, name): share for name, share in shares.items()}


def command_line(arguments: argparse.Namespace) -> str:
    """Return the command that fits the same model again, without options at their defaults."""
    words = ["lapwing", "fit", str(arguments.data)]
    for name, default in _DEFAULTS.items():
        value = getattr(arguments, name)
        if value != default:
            if isinstance(value, dict):
                value = [f"{key}={number!r}" for key, number in value.items()]
            text = csv_text(value, []).removesuffix("\n") if isinstance(value, list) else str(value)
            option = f"--{name.replace('_', '-')}"  # a text such as -1=0.3 would be taken for one
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return shlex.join([*words, "--out", str(arguments.out)])


def _notes(data: TrainingTable, decimal: str | None) -> list[str]:
    """Return what the user should know about the table."""
    notes = list(data.encoder.notes)
    if data.table.decimal != decimal:
        notes.append("commas are read as decimal marks: pass --decimal . if points are")
    if data.n_labelled == data.table.n_rows:
        notes.append("all rows have a label: there are no unlabelled rows to learn from")
    if len(set(data.ids)) < len(data.ids):
        notes.append(f"column {data.encoder.id!r} gives several rows the same name")
    return notes


def _held_out_recall(model: Any) -> dict[str, Any]:
    """Return the share of held-out labels of each class that was found, and their mean.

    The share of a class of which no label could be held out is None.
    """
    confusion = model.report_.confusion
    if confusion is None:
        return {"recall": None, "balanced_accuracy": None}
    found, given = np.diag(confusion), np.sum(confusion, axis=1)
    known = given > 0
    shares = np.divide(found, given, where=known, out=np.full(len(found), np.nan))
    recall = dict(zip(map(str, plain(model.classes_)), plain(shares), strict=True))
    balanced = float(shares[known].mean()) if known.any() else None
    return {"recall": recall, "balanced_accuracy": balanced}


def _are_unbalanced(labels: np.ndarray) -> bool:
    counts = Counter(label for label in labels if label is not None).values()
    return max(counts) > _UNBALANCED * min(counts)


def _recall_text(result: dict[str, Any]) -> str:
    """Return balanced accuracy and recall as text: the classes that are found least first."""
    known = {name: share for name, share in result["recall"].items() if share is not None}
    worst = sorted(known, key=lambda name: known[name])
    listed = ", ".join(f"{name} {known[name]:.3f}" for name in worst[:10])
    more = " …" if len(worst) > 10 else ""
    return f"{result['balanced_accuracy']:.3f}; recall of held-out labels: {listed}{more}"


def _print_result(result: dict[str, Any], model: Any, are_unbalanced: bool) -> None:
    task = f"{result['task']} ({result['task_reason']})"
    if result["classes"] is not None:
        task += ": " + ", ".join(map(str, result["classes"][:10]))
        task += " …" if len(result["classes"]) > 10 else ""
    rows = f"{result['rows']}: {result['labelled']} labelled, {result['unlabelled']} unlabelled"
    facts = [
        ("data", result["data"]),
        ("rows", rows),
        ("features", str(result["features"])),
        ("task", task),
        ("model", result["model"]),
        ("seconds", f"{result['seconds']:.1f}"),
        *(("note", note) for note in result["notes"]),
    ]
    if are_unbalanced and result["balanced_accuracy"] is not None:
        facts.append(("balanced accuracy", _recall_text(result)))
    print_summary("Fitted", facts)
    print()
    print(model.report_)
