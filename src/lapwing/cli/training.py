"""The training table of `lapwing fit`: read at once, or in blocks if it may exceed the memory.

Both ways give the same encoder, labels and task, and the rows in a form that the default fits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays.dask_blocks import distributed_rows
from ..arrays.memory import memory_budget
from ..auto.limits import MOST_ROWS
from ..estimators.labels import may_be_classes
from ..tables import (
    EncodedParts,
    Table,
    TableEncoder,
    TableReader,
    fit_encoder,
    is_matrix_file,
    open_table,
    read_table,
)
from .completed import refuse_completed, without_predictions
from .passes import PassProgress

#: Whole numbers are quantities if more than _MANY_VALUES of them differ, or if more than
#: _SOME_VALUES of them and more than this share of the labels do.
_MANY_VALUES, _SOME_VALUES, _SHARE = 50, 20, 1 / 3
#: How many times a table is in memory while a model is fitted to it, about: as it was read, as a
#: matrix, and twice in between.
_COPIES = 4
#: Bytes of a fit beside the table, about: interpreter and libraries, the sample and its models. The
#: peak of fits in blocks (benchmarks/cli_size.py), where no more than that is in memory.
_FIT_BYTES = 700_000_000
#: Rows up to which a table is always read at once: the model is fitted to all of them.
_AT_ONCE = MOST_ROWS
#: Most entries of a block, if it is dense.
_BLOCK_ENTRIES = 4_000_000
#: Rows that a worker reads at a time, about, if they are sparse.
_PART_ROWS = 200_000


@dataclass(frozen=True)
class Task:
    """What is learnt, classification or regression, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class TrainingRows:
    """A table, encoded for a fit.

    Attributes
    ----------
    source : str
        Name of the file or folder.
    n_rows : int
        Number of rows.
    encoder : TableEncoder
        The conversion of the table to rows of features.
    known : list
        The labels of the labelled rows.
    task : Task
        What is learnt.
    decimal : str or None
        The decimal mark of the numbers of the table, if it is known.
    X, y : object
        The arguments of `fit`: a matrix and the labels of all rows, or a function that returns
        blocks, and None.
    names : callable
        Returns the names of rows: of all, which are in memory, if it is called with None, and of
        rows of blocks if it is called with their indices, ascending.
    in_blocks : bool
        Whether the rows are in blocks.
    notes : list of str
        What the user should know about the table, beside what the encoder notes.
    """

    source: str
    n_rows: int
    encoder: TableEncoder
    known: list[Any]
    task: Task
    decimal: str | None
    X: Any
    y: np.ndarray | None
    names: Callable[[np.ndarray | None], list[str]]
    in_blocks: bool = False
    notes: list[str] = field(default_factory=list)


def read_training_rows(arguments: argparse.Namespace, passes: PassProgress) -> TrainingRows:
    """Read and encode the table; raise a ValueError if nothing can be learnt from it."""
    for option, name in (("--target", arguments.target), ("--id", arguments.id)):
        if name is not None and name in arguments.drop:
            raise ValueError(f"{option} {name} is also in --drop: name a column in one of them")
    texts = [*arguments.text_columns, *arguments.categorical_columns]
    reading = {
        **file_options(arguments),
        "as_text": [arguments.target, arguments.id, *texts],
        "drop": arguments.drop,
        "decimal": arguments.decimal,
    }
    if not is_matrix_file(arguments.data, arguments.encoding):
        reader = open_table(arguments.data, **reading)
        n, size = reader.expected_size()
        if is_distributed(arguments) or _is_large(n, size, memory_budget(arguments.memory_limit)):
            refuse_completed(reader.files.name, reader.columns, arguments.target)
            passes.n_rows = n
            return _rows_in_blocks(arguments, reader, passes)
    elif is_distributed(arguments):
        raise ValueError(
            f"{arguments.data.name} contains a matrix, which is read at once: leave out --workers "
            "and --scheduler"
        )
    return _rows_at_once(arguments, read_table(arguments.data, **reading))


def file_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options with which every table of a command is read."""
    return {"memory_limit": arguments.memory_limit, "encoding": arguments.encoding}


def is_distributed(arguments: argparse.Namespace) -> bool:
    """Return whether workers of Dask read the rows."""
    return arguments.workers is not None or arguments.scheduler is not None


def _is_large(n: int, size: float, budget: float) -> bool:
    """Return whether a table of n rows is to be read in blocks; n is 0 if it is not known."""
    return n == 0 or (n > _AT_ONCE and _COPIES * size + _FIT_BYTES > budget)


def _encoder(table: Table | TableReader, arguments: argparse.Namespace) -> TableEncoder:
    return fit_encoder(
        table,
        target=arguments.target,
        id=arguments.id,
        text_columns=arguments.text_columns,
        categorical_columns=arguments.categorical_columns,
        unlabeled=arguments.unlabeled,
    )


def _rows_at_once(arguments: argparse.Namespace, table: Table) -> TrainingRows:
    table, notes = without_predictions(table, arguments.target)
    encoder = _encoder(table, arguments)
    labels = encoder.target_of(table)
    known = [label for label in labels if label is not None]
    task = _checked_task(known, encoder, table.n_rows, arguments)

    def names(_: np.ndarray | None) -> list[str]:
        return encoder.ids_of(table)

    X, source = encoder.transform(table), table.source
    return TrainingRows(
        source, table.n_rows, encoder, known, task, table.decimal, X, labels, names, notes=notes
    )


def _rows_in_blocks(
    arguments: argparse.Namespace, reader: TableReader, passes: PassProgress
) -> TrainingRows:
    """Learn the encoder and the labels in a pass each; the rows are read again by the fit."""
    encoder = _encoder(passes.watched(reader, "reading the columns"), arguments)
    again = open_table(arguments.data, **file_options(arguments), **encoder.reading)
    assert encoder.target is not None
    target = again.select([encoder.target], [])
    known: list[Any] = []
    n_rows = 0
    for table in passes.watched(target, "reading the labels").tables():
        known += [label for label in encoder.target_of(table) if label is not None]
        n_rows += table.n_rows
    passes.n_rows = n_rows
    task = _checked_task(known, encoder, n_rows, arguments)
    most = block_rows(encoder)

    def blocks() -> Iterator[tuple[Any, np.ndarray]]:
        for table in passes.watched(again, "reading the rows").tables(most):
            yield encoder.transform(table), encoder.target_of(table)

    def names(rows: np.ndarray | None) -> list[str]:
        assert encoder.id is not None and rows is not None
        column = again.select([encoder.id], [])
        return _names(encoder, passes.watched(column, "reading the names"), rows)

    X: Any = blocks
    if is_distributed(arguments):
        source = str(arguments.data.resolve())
        parts = EncodedParts(source, arguments.encoding, encoder, most or _PART_ROWS)
        X = distributed_rows(parts, range(len(parts)))
    source, mark = reader.files.name, reader.decimal
    return TrainingRows(source, n_rows, encoder, known, task, mark, X, None, names, in_blocks=True)


def block_rows(encoder: TableEncoder) -> int | None:
    """Return the most rows of a block whose matrix takes little memory; None means any number."""
    return None if encoder.is_sparse else max(_BLOCK_ENTRIES // encoder.n_features, 1)


def _names(encoder: TableEncoder, reader: TableReader, rows: np.ndarray) -> list[str]:
    """Return the names of rows in files, in one pass over the column of the names."""
    found: list[str] = []
    for table in reader.tables():
        end = table.first_row + table.n_rows
        here = rows[np.searchsorted(rows, table.first_row) : np.searchsorted(rows, end)]
        if len(here):
            own = encoder.ids_of(table)
            found += [own[row] for row in (here - table.first_row).tolist()]
    return found


def _checked_task(
    known: list[Any], encoder: TableEncoder, n_rows: int, arguments: argparse.Namespace
) -> Task:
    """Return the task, or raise a ValueError if nothing can be learnt from the labels."""
    task = choose_task(known, arguments.task)
    if task.name == "regression" and arguments.class_shares is not None:
        raise ValueError(
            f"--class-shares is for classes, and this is a regression ({task.reason}): leave it "
            "out, or pass --task classification"
        )
    check_labels(known, task.name, encoder.target or "y", n_rows)
    return task


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
