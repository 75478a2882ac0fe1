"""`lapwing.label`: the page in a cell of a notebook, and its labels and model as values.

Converts between labels as Python has them and the names of classes that the page knows.
"""

from __future__ import annotations

import copy
import html
import re
import secrets
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from ..arrays.blocks import row_checksum
from ..arrays.memory import memory_budget
from ..estimators.labels import (
    are_signs,
    check_new_classes,
    labelled_rows,
    may_be_classes,
    plain_labels,
)
from .cards import cards_of
from .exports import PATIENCE, Exports
from .journal import Journal
from .server import LabelServer
from .session import LabelSession

#: Whole numbers as they are printed, and that every type of numbers of 64 bits can hold.
_WHOLE = re.compile("0|-?[1-9][0-9]{0,14}")
_CELL = """\
<iframe id="lapwing-{name}" title="{title}" style="width:100%;height:{height}px;border:0"></iframe>
<p>In a tab of its own: <a href="{tab}" target="_blank">{shown}</a> (the link works once).</p>
<script>
document.getElementById("lapwing-{name}").src = "http://" +
  (location.hostname === "localhost" ? "localhost" : "127.0.0.1") + ":{port}/start?token={token}";
</script>
"""


class Labelling:
    """A labelling session that runs beside the notebook; `label` makes it.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The labels of all rows, and the marker where a row has none, or None if there was no y. It
        changes with every answer.
    model : SemiSupervisedClassifier
        The model that has learnt them.
    address : str
        Address of the page, for another tab of the browser. Each address works once.
    """

    def __init__(
        self,
        session: LabelSession,
        server: LabelServer,
        labels: _Labels,
        columns: np.ndarray | None,
        height: int,
        opened: ExitStack,
    ) -> None:
        self._session, self._server, self._labels = session, server, labels
        self._columns, self._height, self._opened = columns, height, opened

    @property
    def labels(self) -> np.ndarray:
        """The labels of all rows: those of y, and the answers."""
        return self._labels.array(self._session.labels)

    @property
    def model(self) -> Any:
        """The model that has learnt all labels; waits until it has."""
        if not self._session.wait(threading.TIMEOUT_MAX):
            raise ValueError(
                "the page was closed before the model had learnt the last labels: fit a "
                "SemiSupervisedClassifier to `labels`"
            )
        last, error = self._session.snapshot, self._session.error
        if error is not None and (last is None or last.lesson.labels != self._session.labels):
            raise ValueError(f"the labels could not be learnt: {error}")
        if last is None:
            raise ValueError("there is no model yet: label rows of at least two classes")
        model = copy.copy(last.model)
        model.callback = None
        # Its add_labels must not share intermediate results with the session, which goes on.
        model._setup = copy.copy(model._setup)
        if self._columns is not None:
            model.feature_names_in_ = self._columns
        return model

    @property
    def address(self) -> str:
        """A new address of the page, which works once."""
        return self._server.start_address()

    def close(self) -> None:
        """End the page; `labels` and `model` remain."""
        self._server.close()
        self._session.wait(PATIENCE)
        self._opened.close()

    def __repr__(self) -> str:
        n = len(self._session.labels)
        return f"Labelling({n} of {self._session.n} rows have a label)"

    def _repr_html_(self) -> str:
        origin, token = self.address.split("/start?token=")
        tab = self.address
        return _CELL.format(
            name=secrets.token_hex(8),
            title=html.escape(self._session.title),
            height=self._height,
            tab=tab,
            shown=origin,
            port=origin.rpartition(":")[2],
            token=token,
        )


class _Labels:
    """Labels of Python, and the names of classes that stand for them on the page.

    Parameters
    ----------
    y : array-like or None
        The labels that are known; None for none.
    n : int
        Number of rows.
    marker : object
        Marker of unlabelled rows.
    classes : sequence
        Classes that are known beside those of y.
    """

    def __init__(self, y: Any, n: int, marker: Any, classes: Sequence[Any] = ()) -> None:
        if y is None:
            y, marker = np.full(n, None, dtype=object), None
        if _is_among([marker], None):  # NaN or pd.NA
            marker = None
        self._y, known = labelled_rows(y, marker)
        self._marker = marker
        values = self._y[known]
        _check_classes(values, "y")
        check_new_classes(values, plain_labels(values)[:0], marker)  # none looks like the marker
        if isinstance(classes, str) or not isinstance(classes, Iterable):
            raise TypeError(f"classes must be a list of classes, got {classes!r}")
        _check_classes(np.array([*classes]), "classes")
        if _is_among(classes, marker):
            raise ValueError(
                f"{marker!r} is one of the classes, and marks unlabelled rows: mark these by None, "
                "and pass unlabeled=None"
            )
        if are_signs(values, self._y[~known], marker) and all(one == 1 for one in classes):
            raise ValueError(
                "the labels are exactly -1 and +1, and -1 also marks unlabelled rows, so it is not "
                "known which rows are labelled. If -1 is a class, pass unlabeled=None and mark "
                "unlabelled rows by None or NaN; if -1 means unlabelled, name the other class, as "
                "in classes=[0, 1]"
            )
        self._known = {_name(value): value for value in [*classes, *values.tolist()]}
        rows = np.flatnonzero(known).tolist()
        self.given = {row: _name(value) for row, value in zip(rows, values.tolist(), strict=True)}

    def values(self, names: Collection[str]) -> Mapping[str, Any]:
        """Return the label that each name stands for: all whole numbers, if y has them, or texts.

        Examples
        --------
        >>> labels = _Labels([3, -1], 2, -1)
        >>> labels.values(["3", "4"]), labels.values(["3", "other"])
        ({'3': 3, '4': 4}, {'3': '3', 'other': 'other'})
        """
        found = {name: self._known.get(name, name) for name in names}
        are_numbers = all(map(_is_whole, self._known.values()))
        if not self._known:
            are_numbers = self._y.dtype.kind in "iuf"
        if are_numbers:
            found = {name: _whole(value) for name, value in found.items()}
        # As a text, a class that looks like the marker is refused by a fit, and not taken for it.
        has_marker = _is_among(found.values(), self._marker)
        has_text = any(isinstance(value, str) for value in found.values())
        return {name: name for name in names} if has_text or has_marker else found

    def array(self, labels: Mapping[int, str]) -> np.ndarray:
        """Return the labels of all rows, in the type of y where it can hold them."""
        value = self.values(set(labels.values()))
        found = np.full(len(self._y), self._marker, dtype=object)
        found[list(labels)] = [value[name] for name in labels.values()]
        return _typed(found, self._y.dtype)


def _check_classes(labels: np.ndarray, where: str) -> None:
    """Refuse labels that cannot be classes."""

    def are_classes(values: np.ndarray) -> bool:
        return may_be_classes(values) and values.dtype.kind != "S"

    plain = plain_labels(labels)
    if not are_classes(plain):
        bad = next((one for one in plain.tolist() if not are_classes(np.array([one]))), None)
        raise ValueError(
            f"{where} contains {bad!r}, which is no class: give classes as texts, truth values or "
            "whole numbers"
        )


def _is_among(values: Collection[Any], marker: Any) -> bool:
    """Return whether values contain the marker of unlabelled rows, None, NaN or pd.NA."""
    return not labelled_rows(np.array([*values], dtype=object), marker)[1].all()


def _typed(labels: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return labels, which are objects, in a type if it can hold them all, NaN for None."""
    try:
        typed = labels.astype(str if dtype.kind == "U" else dtype)
    except (TypeError, ValueError, OverflowError):
        return labels
    return typed if np.all((typed == labels) | (typed != typed)) else labels


def _is_whole(value: Any) -> bool:
    return not isinstance(value, (str, bool, np.bool_)) and float(value).is_integer()


def _whole(value: Any) -> Any:
    """Return a text as the whole number that it is, or anything else as it is: "07" is a text."""
    if not isinstance(value, str) or _WHOLE.fullmatch(value) is None:
        return value
    return int(value)


def _name(value: Any) -> str:
    return str(int(value)) if _is_whole(value) else str(value)


def label(
    X: Any,
    y: Any = None,
    *,
    show: Any = None,
    classes: Sequence[Any] = (),
    unlabeled: Any = -1,
    journal: str | Path | None = None,
    names: Sequence[str] | None = None,
    title: str = "Labels",
    height: int = 900,
    port: int = 0,
    random_state: int = 0,
    memory_limit: float | str | None = None,
) -> Labelling:
    """Label rows in a cell of a notebook, or in a browser, while a model learns from the answers.

    The page asks for one row at a time: first for rows that are spread over the data, then for
    those that a `SemiSupervisedClassifier` learns most from, and about one row in five is drawn at
    random, so that the accuracy and the shares of the classes can be estimated.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows that the model learns from.
    y : array-like of shape (n,), optional
        Labels that are known; by default none is.
    show : sequence of str, array of pictures, dataframe or callable, optional
        What the page shows of each row: texts; pictures as an array of shape (n, height, width) or
        (n, height, width, 3); a dataframe of fields; or a function of the number of a row that
        returns a text or a picture. None shows the entries of X.
    classes : sequence, optional
        The classes, beside those in y. More can be added on the page.
    unlabeled : object, default=-1
        Marker of unlabelled rows in y; None, NaN and pd.NA always count as unlabelled.
    journal : str or Path, optional
        File to which every answer is written, and from which a later call goes on. By default
        answers end with the process.
    names : sequence of str, optional
        Names of the rows; by default they are numbered from 1.
    title : str, default="Labels"
        Heading of the page.
    height : int, default=900
        Height of the cell in pixels.
    port : int, default=0
        Port of the page on this computer; 0 takes any that is free.
    random_state : int, default=0
        Seed of the order of the rows and of the model.
    memory_limit : int, str or None, default=None
        As in `SemiSupervisedClassifier`.

    Returns
    -------
    Labelling
        As the last value of a cell it shows the page. ``labels`` and ``model`` are up to date at
        any time, and ``close()`` ends the page.

    Notes
    -----
    The browser must run on the computer of the notebook: the page is served to it alone.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import lapwing
    >>> digits = load_digits()
    >>> labelling = lapwing.label(digits.data, show=digits.images, classes=range(10))
    >>> labelling
    Labelling(0 of 1797 rows have a label)
    >>> labelling.close()
    """
    rows = _numbers(X)
    memory_budget(memory_limit)  # refuses what is no size
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(f"random_state must be a whole number from 0, got {random_state!r}")
    if y is not None:
        check_consistent_length(rows, y)
    if isinstance(classes, Iterable) and not isinstance(classes, str):
        classes = [*classes]
    if names is not None and not isinstance(names, Iterable):
        raise TypeError(f"names must be a list of names, got {names!r}")
    named = None if names is None else [str(name) for name in names]
    if named is not None and len(named) != rows.shape[0]:
        raise ValueError(
            f"names has {len(named)} entries and X has {rows.shape[0]} rows: give each row a name"
        )
    labels = _Labels(y, rows.shape[0], unlabeled, classes)
    cards = replace(cards_of(show, X if hasattr(X, "columns") else rows), names=named)
    about = {"rows": rows.shape[0], "checksum": row_checksum(rows)}
    with ExitStack() as opened:  # closed here only if something fails
        if journal is None:
            journal = Path(opened.enter_context(TemporaryDirectory())) / "labels.journal"
        session = LabelSession(
            rows,
            cards,
            opened.enter_context(closing(Journal(journal, about))),
            given=labels.given,
            classes=[_name(one) for one in classes],
            title=title,
            seed=random_state,
            memory_limit=memory_limit,
            values=labels.values,
        )
        opened.enter_context(closing(session))
        columns = partial(_row_names, session.n, named)
        session.exports = Exports(session, "labels", "label", columns, named)
        server = LabelServer(session, port=port, framed=True)
        server.start()
        return Labelling(session, server, labels, _column_names(X), height, opened.pop_all())


def _column_names(X: Any) -> np.ndarray | None:
    """Return the names of the columns as an estimator keeps them: if all are texts."""
    names = np.array(getattr(X, "columns", []), dtype=object)
    return names if len(names) and all(isinstance(name, str) for name in names) else None


def _numbers(X: Any) -> Any:
    """Return the rows as numbers, or refuse them."""
    try:
        return check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            estimator="SemiSupervisedClassifier",
            input_name="X",
        )
    except ValueError as error:
        if not hasattr(X, "tocsr") and np.asarray(X).dtype.kind in "OUS":
            raise ValueError(
                "X must contain numbers that describe the rows, such as an embedding of texts; "
                "what the page shows of them is show=. `lapwing label` reads tables with texts "
                f"and categories ({error})"
            ) from error
        raise


def _row_names(n: int, names: Sequence[str] | None) -> Mapping[str, Sequence[Any]]:
    return {"row": range(1, n + 1) if names is None else names}
