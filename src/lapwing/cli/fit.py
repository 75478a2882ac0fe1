"""`lapwing fit`: from a table with few labels to a model file."""

from __future__ import annotations

import argparse
import shlex
import time
import warnings
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.archive import plain
from ..arrays.cluster import dask_cluster
from ..auto import SemiSupervisedClassifier, SemiSupervisedRegressor, view_rows
from ..tables.write import csv_text
from .models import table_facts
from .options import add_json, add_reading, class_shares, names, whole_number
from .output import check_out, print_json
from .passes import PassProgress
from .terminal import Show, print_summary, progress
from .training import TrainingRows, is_distributed, read_training_rows

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
    cluster = parser.add_mutually_exclusive_group()
    cluster.add_argument(
        "--workers",
        type=whole_number(1),
        metavar="N",
        help="read the rows with N processes of Dask: they encode and check the rows and draw the "
        "sample; one process learns the encoding and fits the models",
    )
    cluster.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="the same with the workers of a running scheduler of Dask, such as tcp://host:8786, "
        "which must see the files by the same path",
    )
    parser.add_argument("--seed", type=whole_number(0), help="seed of everything random (0)")
    add_json(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run, **_DEFAULTS)


def run(arguments: argparse.Namespace) -> int:
    """Read the table, fit the model, save it and report on it; return the exit code."""
    started = time.perf_counter()
    check_out(arguments.out, arguments.data)
    with _cluster(arguments), progress(arguments.quiet) as show:
        passes = PassProgress(show)
        data = read_training_rows(arguments, passes)
        model, messages = fit_model(data, arguments, passes.stage)
        names = row_names(data, model)
    facts = table_facts(
        data.encoder,
        ids=names,
        source=data.source,
        task=data.task.name,
        rows=data.n_rows,
        labelled=len(data.known),
    )
    model.save(arguments.out, extra={**facts, "command": command_line(arguments)})
    result = {
        "command": "fit",
        "model": str(arguments.out),
        "data": str(arguments.data),
        "rows": data.n_rows,
        "labelled": len(data.known),
        "unlabelled": data.n_rows - len(data.known),
        "in_blocks": data.in_blocks,
        "features": data.encoder.n_features,
        "task": data.task.name,
        "task_reason": data.task.reason,
        "classes": plain(getattr(model, "classes_", None)),
        **_held_out_recall(model),
        "seconds": round(time.perf_counter() - started, 3),
        "notes": [*_notes(data, names, arguments.decimal), *messages],
        "report": model.report_.to_dict(),
    }
    if arguments.json:
        print_json(result)
    elif not arguments.quiet:
        _print_result(result, model, _are_unbalanced(data.known))
    return 0


def _cluster(arguments: argparse.Namespace) -> AbstractContextManager[None]:
    if not is_distributed(arguments):
        return nullcontext()
    return dask_cluster(arguments.workers, arguments.scheduler)


def row_names(data: TrainingRows, model: Any) -> list[str] | None:
    """Return the names of the rows that the model knows; None if they are numbers of blocks."""
    if not data.in_blocks:
        return data.names(None)
    return None if data.encoder.id is None else data.names(view_rows(model).numbers)


def fit_model(
    data: TrainingRows, arguments: argparse.Namespace, callback: Show | None = None
) -> tuple[Any, list[str]]:
    """Return the fitted model, and its warnings that its report does not repeat."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model: Any = SemiSupervisedRegressor()
        if data.task.name == "classification":
            shares = shares_by_class(arguments.class_shares, data.known)
            model = SemiSupervisedClassifier(unlabeled=None, class_shares=shares)
        model.set_params(
            method=arguments.method,
            random_state=arguments.seed,
            memory_limit=arguments.memory_limit,
            callback=callback,
        )
        model.fit(data.X, data.y)
    messages = dict.fromkeys(
        str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)
    )
    return model, [message for message in messages if message not in model.report_.warnings]


def shares_by_class(shares: str | dict[str, float] | None, known: list[Any]) -> Any:
    """Return the shares with the classes as the table has them: 1 for the text "1"."""
    if not isinstance(shares, dict):
        return shares
    classes = {str(label): label for label in known}
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


def _notes(data: TrainingRows, names: list[str] | None, decimal: str | None) -> list[str]:
    """Return what the user should know about the table."""
    notes = [*data.notes, *data.encoder.notes]
    if data.decimal != decimal:
        notes.append("commas are read as decimal marks: pass --decimal . if points are")
    if len(data.known) == data.n_rows:
        notes.append("all rows have a label: there are no unlabelled rows to learn from")
    if names is not None and len(set(names)) < len(names):
        notes.append(f"column {data.encoder.id!r} gives several rows the same name")
    if data.in_blocks:
        notes.append(
            "the table was read in blocks, several times, because it is large for --memory-limit "
            "or workers read it"
        )
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


def _are_unbalanced(known: list[Any]) -> bool:
    counts = Counter(known).values()
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
