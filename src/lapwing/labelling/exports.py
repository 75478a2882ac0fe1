"""What the page offers to download: the table with all labels, the model, and the report.

Labels are those that were given; the model fills in the others. Must not know HTTP or files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..displays.model_page import make_page
from ..tables.write import csv_text
from .learner import Snapshot
from .session import LabelSession

#: Seconds for which a download waits until the model knows the last answers.
PATIENCE = 60.0


@dataclass(frozen=True)
class Exports:
    """The downloads of a session; an instance is called with "table", "model" or "report".

    Parameters
    ----------
    session : LabelSession
        Has the labels and the model.
    stem : str
        What file names begin with.
    target : str
        Column of the labels.
    columns : callable
        Returns the other columns of the table, by name in their order; a column of the labels
        among them is replaced.
    names : sequence of str, optional
        Names of the rows, for the report.
    extra : callable, optional
        Returns what is stored with the model, given the number of its labels.
    """

    session: LabelSession
    stem: str
    target: str
    columns: Callable[[], Mapping[str, Sequence[Any]]]
    names: Sequence[str] | None = None
    extra: Callable[[int], dict[str, Any]] = field(default=lambda labels: {})

    def __call__(self, what: str) -> tuple[str, str, bytes]:
        """Return the name, the media type and the content of a file."""
        self.session.wait(PATIENCE)
        if what == "table":
            return f"{self.stem}-labelled.csv", "text/csv; charset=utf-8", self._table().encode()
        last = self.session.snapshot
        if last is None:
            raise LookupError(
                "there is no model yet: label rows of two classes first"
                if self.session.error is None
                else f"the labels could not be learnt: {self.session.error}"
            )
        if what == "model":
            return f"{self.stem}.lapwing", "application/octet-stream", self._model(last)
        title = f"{self.stem}: {self.target}"
        page = make_page(last.model, title=title, ids=self.names, source=self.stem)
        return f"{self.stem}-report.html", "text/html; charset=utf-8", page.encode()

    def _table(self) -> str:
        """Return the rows with a label each, where it is from, and how probable it is if predicted.

        Columns of these names that the table has already, as one that was downloaded here, are
        replaced.
        """
        labels, last, n = self.session.labels, self.session.snapshot, self.session.n
        found: list[Any] = [None] * n
        probability: list[Any] = [None] * n
        if last is not None:
            found = [last.classes[code] for code in last.P.argmax(axis=1).tolist()]
            probability = [f"{p:.4f}" for p in last.P.max(axis=1).tolist()]
        flagged = self.session.answers.flagged
        source, share, flags = added_columns(self.target)
        added = {
            self.target: [labels.get(row, found[row]) for row in range(n)],
            source: [_source(row in labels, last) for row in range(n)],
            share: [None if row in labels else probability[row] for row in range(n)],
            flags: ["yes" if row in flagged else None for row in range(n)],
        }
        columns = {**self.columns(), **added}
        return csv_text(columns, zip(*columns.values(), strict=True))

    def _model(self, last: Snapshot) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.lapwing"
            last.model.save(path, extra=self.extra(len(last.lesson.labels)))
            return path.read_bytes()


def added_columns(target: str) -> tuple[str, str, str]:
    """Return the columns of the completed table that say how each label came about."""
    return f"{target}_source", f"{target}_probability", f"{target}_flagged"


def _source(is_given: bool, last: Snapshot | None) -> str | None:
    return "given" if is_given else None if last is None else "predicted"
