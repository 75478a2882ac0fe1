"""The table of `lapwing label`: what the model learns from, what is shown, and known labels."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.blocks import row_checksum
from ..estimators.labels import may_be_classes
from ..labelling.cards import MOST_FIELDS, Cards, cards_of, cards_of_table
from ..messages import listing, quoted
from ..tables import Table, fit_encoder, read_table
from ..tables.numerals import NOTATIONS, notation
from ..tables.table import as_texts, check_column
from .completed import without_predictions
from .models import table_facts
from .training import file_options

#: Fields that are shown of a row, unless the user names them.
_FIELDS = 30


@dataclass(frozen=True)
class LabelRows:
    """A table to be labelled.

    Attributes
    ----------
    X : ndarray or CSR matrix
        What the model learns from.
    cards : Cards
        What is shown.
    given : dict of int to str
        The labels in the table.
    about : dict
        By which the journal recognises the rows.
    agrees : callable
        Returns whether a journal that says this of its rows is about these: they may have become
        more, and only the names of rows must be the same if the journal knows these.
    ids : list of str
        Names of the rows.
    columns : callable
        Returns the columns of the file, as texts where it contains texts.
    extra : callable
        Returns what is stored with a model, given the number of its labels.
    notes : list of str
        What the user should know about the table.
    """

    X: Any
    cards: Cards
    given: dict[int, str]
    about: dict[str, Any]
    agrees: Callable[[Mapping[str, Any]], bool]
    ids: list[str]
    columns: Callable[[], Mapping[str, Sequence[Any]]]
    extra: Callable[[int], dict[str, Any]]
    notes: list[str]


def read_label_rows(arguments: argparse.Namespace) -> LabelRows:
    """Read and encode the table; raise a ValueError if nothing can be learnt from it."""
    target = arguments.target
    if not target:
        raise ValueError("--target is empty: name the column of the labels, which need not exist")
    table, predicted = without_predictions(_read(arguments), target)
    if table.n_rows < 2:
        raise ValueError(f"{table.source} has a single row: nothing can be learnt from one")
    notes = (_check_matrix if table.is_matrix else _check_columns)(table, arguments)
    if not table.is_matrix and target not in table.columns:
        table = replace(table, columns={**table.columns, target: _no_labels(table.n_rows)})
    if table.is_matrix and table.y is None:
        table = replace(table, y=np.full(table.n_rows, np.nan))
    used = _features(table, arguments)
    encoder = fit_encoder(
        used,
        target=target,
        id=arguments.id,
        text_columns=[name for name in _texts(arguments) if name in used.columns],
        categorical_columns=[n for n in arguments.categorical_columns if n in used.columns],
        unlabeled=arguments.unlabeled,
    )
    given = _given(table, encoder.target_of(table), target)
    ids = encoder.ids_of(table)
    about = _about(table, target, encoder.id, table.n_rows)
    return LabelRows(
        encoder.transform(used),
        _cards(table, None if encoder.id is None else ids, arguments),
        given,
        about,
        partial(_agrees, table, target),
        ids,
        partial(_columns, about, table, ids, arguments),
        lambda labelled: table_facts(
            encoder,
            ids=ids,
            source=table.source,
            task="classification",
            rows=table.n_rows,
            labelled=labelled,
        ),
        [*predicted, *notes, *encoder.notes],
    )


def _read(arguments: argparse.Namespace) -> Table:
    named = [arguments.target, arguments.id, *_texts(arguments), *arguments.categorical_columns]
    return read_table(
        arguments.data, **file_options(arguments), as_text=named, decimal=arguments.decimal
    )


def _texts(arguments: argparse.Namespace) -> list[str]:
    own = [] if arguments.text is None else [arguments.text]
    return list(dict.fromkeys([*own, *arguments.text_columns]))


def _no_labels(n: int) -> np.ndarray:
    return np.full(n, None, dtype=object)


def _check_matrix(table: Table, arguments: argparse.Namespace) -> list[str]:
    """Refuse names of columns, and a matrix of which nothing can be shown."""
    for option in ("text", "image", "fields", "drop", "text-columns", "categorical-columns"):
        if getattr(arguments, option.replace("-", "_")):
            raise ValueError(
                f"--{option} names a column, and {table.source} contains a matrix, whose columns "
                "have no names: leave it out, or give a table"
            )
    if table.X.shape[1] > MOST_FIELDS:
        raise ValueError(
            f"the {table.X.shape[1]} columns of the matrix in {table.source} tell nobody what a "
            "row is: give a table with a column of texts or pictures, or call lapwing.label(X, "
            "show=...) in Python"
        )
    return []


def _check_columns(table: Table, arguments: argparse.Namespace) -> list[str]:
    """Refuse names of columns that do not exist or contradict each other; return notes."""
    if arguments.id is not None and arguments.id in arguments.drop:
        raise ValueError(f"--id {arguments.id} is also in --drop: the model never learns from it")
    if arguments.text is not None and arguments.text == arguments.image:
        raise ValueError(f"--text and --image are both {arguments.text}: name it in one of them")
    _check_image_folder(arguments)
    named = [arguments.id, arguments.image, *(arguments.fields or []), *_texts(arguments)]
    for name in [*named, *arguments.categorical_columns, *arguments.drop]:
        if name is not None:
            check_column(name, table.columns, table.source)
        if name == arguments.target:
            raise ValueError(
                f"column {quoted(name)} is the target: do not name it in other options"
            )
    if arguments.target in table.columns:
        return []
    return [
        f"{table.source} has no column {quoted(arguments.target)}, so no row has a label yet; it "
        f"has {listing(list(table.columns), 20)}"
    ]


def _check_image_folder(arguments: argparse.Namespace) -> None:
    folder = arguments.image_folder
    if folder is not None and arguments.image is None:
        raise ValueError(
            "--image-folder is of no use without --image: name the column of the paths"
        )
    if folder is not None and not folder.is_dir():
        raise ValueError(
            f"there is no folder {folder}: give the folder of the pictures as --image-folder"
        )


def _features(table: Table, arguments: argparse.Namespace) -> Table:
    """Return the table without the columns that the model does not learn from."""
    if table.is_matrix:
        return table
    left_out = {arguments.image, *arguments.drop} - {arguments.id}
    columns = {name: cells for name, cells in table.columns.items() if name not in left_out}
    if not set(columns) - {arguments.target, arguments.id}:
        raise ValueError(
            f"no column of {table.source} is left to learn from: add columns of features"
            + (", such as an embedding of the pictures" if arguments.image is not None else "")
        )
    return replace(table, columns=columns)


def _given(table: Table, labels: np.ndarray, target: str) -> dict[int, str]:
    """Return the labels of the table as names of classes; a class +1 keeps its sign."""
    known = [label for label in labels if label is not None]
    if known and not may_be_classes(np.array(known)):
        raise ValueError(
            f"the labels in {quoted(target)} are numbers with fractions, and this command is for "
            "classes: name another column as --target"
        )
    cells = labels if table.is_matrix else as_texts(table.columns[target], missing={""})
    signed = {label for label, cell in zip(labels, cells, strict=True) if cell == f"+{label}"}
    names = {label: f"+{label}" if label in signed else str(label) for label in set(known)}
    return {row: names[label] for row, label in enumerate(labels) if label is not None}


def _about(table: Table, target: str, id: str | None, n: int) -> dict[str, Any]:
    """Return what a journal says of the first n rows, with a checksum of their names or cells."""
    return {"rows": n, "target": target, "id": id, "checksum": _checksum(table, target, id, n)}


def _agrees(table: Table, target: str, found: Mapping[str, Any]) -> bool:
    """Return whether a journal that says this is about the first rows of a table."""
    n, id = found.get("rows"), found.get("id")
    if not isinstance(n, int) or n > table.n_rows or not (id is None or id in table.columns):
        return False
    return dict(found) == _about(table, target, id, n)


def _checksum(table: Table, target: str, id: str | None, n: int) -> str:
    """Return a checksum of the names of rows, or of all cells if they have none.

    It does not depend on the order of the columns, nor on whether numbers are read as texts.
    """
    if table.is_matrix:
        return repr(row_checksum(table.X[:n]))
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(set(table.columns) - {target}) if id is None else [id]:
        total.update(repr(name).encode("utf-8", "replace"))
        cells = table.columns[name][:n]
        if cells.dtype == object:
            texts = as_texts(cells).tolist()
            known = {text for text in texts if text is not None}
            reading = notation(known, table.decimal)
            if reading is None:
                total.update(repr(texts).encode("utf-8", "replace"))
                continue
            number = {None: np.nan, **{text: NOTATIONS[reading](text) for text in known}}
            cells = np.array([number[text] for text in texts])
        values = cells.astype(float)
        values[np.isnan(values)] = np.nan  # of one sign
        total.update(values.tobytes())
    return total.hexdigest()


def _cards(table: Table, names: list[str] | None, arguments: argparse.Namespace) -> Cards:
    if table.is_matrix:
        return replace(cards_of(None, table.X), names=names)
    text, image = arguments.text, arguments.image
    kept = arguments.fields
    if kept is None:
        apart = {arguments.target, arguments.id, text, image}
        kept = [name for name in table.columns if name not in apart]
        if len(kept) > _FIELDS:
            kept = kept[:_FIELDS] if text is None and image is None else []
    shown = [*kept, *(name for name in (text, image) if name is not None)]
    folder = arguments.image_folder
    if folder is None:
        data: Path = arguments.data.resolve()
        folder = data if data.is_dir() else data.parent
    return cards_of_table(
        {name: table.columns[name] for name in shown},
        table.n_rows,
        names=names,
        text=text,
        image=image,
        folder=folder,
    )


def _columns(
    about: Mapping[str, Any], table: Table, ids: list[str], arguments: argparse.Namespace
) -> Mapping[str, Sequence[Any]]:
    """Read the file again, with all cells as they are; refuse it if it has other rows now."""
    if table.is_matrix:
        return {"row": ids}
    try:
        every = read_table(arguments.data, **file_options(arguments), as_text=table.names)
    except OSError as error:
        raise ValueError(
            f"the table cannot be read again ({error}): put {table.source} back, or end `lapwing "
            "label`. All answers are in the journal"
        ) from error
    now = every
    if arguments.id is None:
        now, _ = without_predictions(_read(arguments), arguments.target)
    if every.n_rows != table.n_rows or not _agrees(now, arguments.target, about):
        raise ValueError(
            f"{table.source} has other rows now than when it was read: end `lapwing label`, and "
            "start it again. All answers are in the journal"
        )
    return {name: cells.tolist() for name, cells in every.columns.items()}
