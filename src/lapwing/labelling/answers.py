"""What the entries of a journal amount to: labels, skipped and flagged rows, classes.

A fold over the entries, without those that were undone. Knows neither files nor models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Why a row was asked for: it is one of a spread over all rows, it was drawn at random and shown
#: without the model's opinion, or the model suggested it.
SPREAD, RANDOM, SUGGESTED = "spread", "random", "suggested"
#: Entries that change the state, and those of them that can be undone.
_CHANGES = ("answer", "skip", "remove", "flag", "class", "again", "rows")
_UNDOABLE = ("answer", "skip", "remove")
#: Whole numbers as tables write them; "01" is none.
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,200})(\.0*)?")


@dataclass
class Answers:
    """The state of a session.

    Attributes
    ----------
    labels : dict of int to str
        The class of each row that was answered, the last answer last.
    why : dict of int to str
        Why the row was asked for when it was answered first.
    before : dict of int to dict
        What the model said before the first answer of a row: label, probability, and the number of
        labels it knew.
    sample : set of int
        Rows that are a random sample of all: those that were drawn, and those that had a label
        already when it was their turn. Some may have no label now.
    blind : dict of int to str
        The label that a row had before it was changed because the model doubted it.
    confirmed : set of int
        Rows whose label was kept although the model doubted it.
    skipped, flagged : set of int
        Rows that were skipped and not answered since, and rows that were flagged.
    removed : set of int
        Rows whose label was taken away.
    classes : list of str
        The classes, in the order in which they were named.
    """

    labels: dict[int, str] = field(default_factory=dict)
    why: dict[int, str] = field(default_factory=dict)
    before: dict[int, dict[str, Any]] = field(default_factory=dict)
    sample: set[int] = field(default_factory=set)
    blind: dict[int, str] = field(default_factory=dict)
    confirmed: set[int] = field(default_factory=set)
    skipped: set[int] = field(default_factory=set)
    flagged: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    classes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, entries: Iterable[dict[str, Any]]) -> Answers:
        """Return what entries amount to.

        Raises
        ------
        ValueError
            If an entry lacks what it needs, as one that was edited may.

        Examples
        --------
        >>> entries = [{"do": "answer", "row": 3, "label": "ash"}, {"do": "skip", "row": 5}]
        >>> Answers.of([*entries, {"do": "undo", "entry": 1}])
        Answers(labels={3: 'ash'}, ..., skipped=set(), ..., classes=['ash'])
        """
        entries = list(entries)
        undone = _undone(entries)
        answers = cls()
        for number, entry in enumerate(entries):
            if number in undone:
                continue
            try:
                answers.apply(entry)
            except (KeyError, TypeError):
                raise ValueError(
                    f'line {number + 2} of the journal is damaged: replace it by {{"do": "none"}}'
                ) from None
        return answers

    def apply(self, entry: dict[str, Any]) -> None:
        """Add an entry other than "undo"."""
        if entry["do"] in _CHANGES:
            getattr(self, f"_{entry['do']}")(entry)

    def class_of(self, name: str) -> str | None:
        """Return the class of a name: the same one, or the same whole number or truth value."""
        if name in self.classes:
            return name
        value = _value(name)
        return next((one for one in self.classes if _value(one) == value), None)

    def _answer(self, entry: dict[str, Any]) -> None:
        row, label = entry["row"], entry["label"]
        self.labels.pop(row, None)  # so that the last answer is the last entry
        self.confirmed -= {row}
        self.confirmed |= {row} if entry.get("confirms") else set()
        if entry.get("doubted") is not None:
            self.blind.setdefault(row, entry["doubted"])
        elif not entry.get("confirms"):
            self.blind.pop(row, None)
        if entry.get("why") == RANDOM:
            self.sample |= {row, *entry.get("met", ())}
        self.labels[row] = label
        if entry.get("why") is not None:
            self.why.setdefault(row, entry["why"])
        if entry.get("before") is not None:
            self.before.setdefault(row, entry["before"])
        self.skipped -= {row}
        self.removed -= {row}
        self._name(label)

    def _remove(self, entry: dict[str, Any]) -> None:
        row = entry["row"]
        self.labels.pop(row, None)
        self.confirmed -= {row}
        self.removed |= {row}

    def _skip(self, entry: dict[str, Any]) -> None:
        self.skipped |= {entry["row"]}

    def _again(self, entry: dict[str, Any]) -> None:
        self.skipped.clear()

    def _rows(self, entry: dict[str, Any]) -> None:
        self.sample.clear()  # a sample of the rows before is none of all rows

    def _flag(self, entry: dict[str, Any]) -> None:
        self.flagged -= {entry["row"]}
        self.flagged |= {entry["row"]} if entry["on"] else set()

    def _class(self, entry: dict[str, Any]) -> None:
        for name in entry["names"]:
            self._name(name)

    def _name(self, name: str) -> None:
        if name not in self.classes:
            self.classes.append(name)


def last_undoable(entries: Sequence[dict[str, Any]], tab: str) -> int | None:
    """Return the number of the entry to undo, or None.

    It is the last one of a tab. A tab that never had any, as after a restart, undoes those of all.
    """
    undone = _undone(entries)
    own: list[int] = []
    every: list[int] = []
    is_new = True
    for number, entry in enumerate(entries):
        if entry["do"] not in _UNDOABLE:
            continue
        is_own = entry.get("tab") == tab
        is_new = is_new and not is_own
        if number not in undone:
            every.append(number)
            own += [number] if is_own else []
    found = every if is_new else own
    return found[-1] if found else None


def _undone(entries: Iterable[dict[str, Any]]) -> set[Any]:
    return {entry.get("entry") for entry in entries if entry.get("do") == "undo"}


def _value(name: str) -> Any:
    """Return what is equal for names of one class: of 1, +1 and 1.0, or of true and True."""
    if _WHOLE.fullmatch(name):
        return int(name.split(".")[0])
    return name.lower() if name.lower() in ("true", "false") else name
