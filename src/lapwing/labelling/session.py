"""A labelling session: answers go to the journal, the model learns, and the page shows it.

One lock guards the state; the model learns in another thread, and nobody waits for it. Knows the
parts of the loop, and neither the server nor how the page draws.
"""

from __future__ import annotations

import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .answers import RANDOM, SUGGESTED, Answers, last_undoable
from .cards import Cards
from .journal import Journal
from .learner import Learner, Lesson, Snapshot, Values, same_names
from .panel import Findings, help_of, map_of
from .questions import Questions
from .spread import spread_rows

#: Rows that are spread over the data before the model suggests any: at least, per class, at most.
_SPREAD, _SPREAD_PER_CLASS, _MOST_SPREAD = 10, 2, 50
#: Answers that are listed, and classes of an opinion.
_RECENT, _CLASSES = 10, 5
#: Characters of the name of a class.
_CLASS_NAME = 200
#: Characters that change the direction of the text after them.
_DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
#: Characters without a shape, by which two names would look alike: zero-width spaces and the like.
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"

#: Returns a file name, a media type and the content of what is downloaded.
Export = Callable[[str], tuple[str, str, Any]]


class LabelSession:
    """The loop of questions and answers. Its methods may be called from any thread.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All rows.
    cards : Cards
        What is shown of them.
    journal : Journal
        Where answers go; the entries that it has are continued.
    given : mapping of int to str
        Labels that are known already.
    classes : sequence of str
        Classes that are known already, beside those of the labels.
    title : str
        Heading of the page.
    seed : int
        Seed of everything random.
    memory_limit : int, str or None
        As in `SemiSupervisedClassifier`.
    values : callable, optional
        The labels that names of classes stand for; see `Learner`.
    """

    def __init__(
        self,
        X: Any,
        cards: Cards,
        journal: Journal,
        *,
        given: Mapping[int, str] | None = None,
        classes: Sequence[str] = (),
        title: str = "Labels",
        seed: int = 0,
        memory_limit: float | str | None = None,
        values: Values = same_names,
    ) -> None:
        self.title, self.n = title, X.shape[0]
        self._cards, self._journal = cards, journal
        self._answers = Answers.of(journal.entries)
        given = given or {}
        self._name_classes(classes)
        self._name_classes(sorted(set(given.values())))
        class_of = {name: self._answers.class_of(name) for name in set(given.values())}
        self.given = {row: class_of[name] or name for row, name in given.items()}
        self._lock = threading.RLock()
        self._version = len(journal.entries)
        self._panel_version, self._map_version = self._version, 0
        self._points: tuple[Any, np.ndarray, str] | None = None
        self.exports: Export | None = None
        n_spread = min(_SPREAD_PER_CLASS * len(self._answers.classes), _MOST_SPREAD, self.n // 10)
        n_spread = max(_SPREAD, n_spread)
        asked = sum(entry["do"] in ("answer", "skip") for entry in journal.entries)
        spread = [] if len(self.labels) >= n_spread else spread_rows(X, n_spread, seed)
        self._questions = Questions(self.n, spread, seed, asked)
        self._learner = Learner(
            X,
            seed=seed,
            memory_limit=memory_limit,
            on_change=self._note_change,
            values=values,
        )
        self._teach()

    # ---- what the page asks for

    def state(self, tab: str) -> dict[str, Any]:
        """Return the questions of a tab, and what was answered."""
        with self._lock:
            answers, labels = self._answers, self.labels
            questions = self._questions.of(tab, self._is_done)
            recent = list(answers.labels)[: -_RECENT - 1 : -1]
            return {
                "version": self._version,
                "classes": list(answers.classes),
                "questions": [self._question(row, why) for row, why in questions],
                "recent": [self.card(row) for row in recent],
                "answered": len(answers.labels),
                "skipped": len(answers.skipped),
                "flagged": len(answers.flagged),
                "given": len(self.given),
                "rows": self.n,
                "left": self.n - len(labels),
                "can_undo": last_undoable(self._journal.entries, tab) is not None,
            }

    def card(self, row: int) -> dict[str, Any]:
        """Return what is shown of a row, with its label."""
        with self._lock:
            if not 0 <= row < self.n:
                raise LookupError(f"there is no row {row}: the first of {self.n} has the number 0")
            return {
                **self._cards.of(row),
                "why": self._answers.why.get(row, SUGGESTED),
                "opinion": None,
                "flagged": row in self._answers.flagged,
                "label": self._label(row),
            }

    def image(self, row: int) -> tuple[str, bytes]:
        """Return the media type and the content of the picture of a row."""
        if self._cards.picture is None or not 0 <= row < self.n:
            raise LookupError("this row has no picture")
        return self._cards.picture(row)

    def answer(self, tab: str, row: int, label: str, doubt: bool = False) -> dict[str, Any]:
        """Give a row a label; also a row that has another one, which the model may doubt."""
        with self._lock:
            name, old = self._checked(label), self.card(row)["label"]
            entry: dict[str, Any] = {"do": "answer", "row": row, "label": name, "tab": tab}
            if old is None:
                entry |= {"why": self._questions.why(tab, row), "before": self._before(row)}
                if entry["why"] == RANDOM:
                    sample = self._answers.sample
                    met = self._questions.met(row, self._is_done)
                    entry["met"] = [one for one in met if one not in sample]
                return self._append(tab, entry)
            if old == name:
                if not doubt or row in self._answers.confirmed:  # as where a reply was lost
                    return self.state(tab)
                entry["confirms"] = True
            elif doubt or row in self._answers.blind:
                entry["doubted"] = old
            return self._append(tab, entry)

    def remove(self, tab: str, row: int) -> dict[str, Any]:
        """Take the label of a row away."""
        with self._lock:
            if self.card(row)["label"] is None:  # as where a reply was lost
                return self.state(tab)
            return self._append(tab, {"do": "remove", "row": row, "tab": tab})

    def skip(self, tab: str, row: int) -> dict[str, Any]:
        """Ask for other rows instead."""
        with self._lock:
            self.card(row)
            if self._is_done(row):  # as where a reply was lost
                return self.state(tab)
            why = self._questions.why(tab, row)
            return self._append(tab, {"do": "skip", "row": row, "why": why, "tab": tab})

    def ask_again(self, tab: str) -> dict[str, Any]:
        """Ask for the rows that were skipped."""
        with self._lock:
            return self._append(tab, {"do": "again", "tab": tab})

    def flag(self, tab: str, row: int, on: bool) -> dict[str, Any]:
        """Mark a row, for whoever reads the labels."""
        with self._lock:
            self.card(row)
            return self._append(tab, {"do": "flag", "row": row, "on": on, "tab": tab})

    def add_class(self, tab: str, name: str) -> dict[str, Any]:
        """Offer another class."""
        with self._lock:
            name = self._checked(name)
            if name in self._answers.classes:
                return self.state(tab)
            return self._append(tab, {"do": "class", "names": [name], "tab": tab})

    def undo(self, tab: str) -> dict[str, Any]:
        """Undo the last answer of a tab, and ask for that row again."""
        with self._lock:
            entries = self._journal.entries
            number = last_undoable(entries, tab)
            if number is None:
                raise ValueError("there is nothing to undo")
            last = entries[number]
            why = last.get("why") or self._answers.why.get(last["row"], SUGGESTED)
            self._append(tab, {"do": "undo", "entry": number, "tab": tab})
            if self._label(last["row"]) is None:
                self._questions.first(tab, last["row"], why)
            return self.state(tab)

    def panel(self) -> dict[str, Any]:
        """Return how good the model is, what it knows, and what it doubts."""
        learner = self._learner
        with self._lock:
            last, labels = learner.snapshot, self.labels
            counts = Counter(labels.values())
            found = Findings(self._answers, labels, last, dict(learner.opinions), self.n)
            return {
                "version": self._panel_version,
                "model": found.model(),
                "busy": learner.busy,
                "accuracy": found.accuracy(),
                "random": found.n_random,
                "counts": [[name, counts[name]] for name in self._answers.classes],
                "shares": found.shares(),
                "help": help_of(last),
                "worth": found.worth(),
                "doubted": [self._doubted_card(*one) for one in found.doubted()],
                "notes": [] if last is None else list(last.model.report_.warnings),
                "map_version": self._map_version,
                "error": learner.error,
            }

    def map(self) -> dict[str, Any]:
        """Return coordinates of rows, with their labels or what the model predicts."""
        last, labels = self._learner.snapshot, self.labels
        if last is None:
            return {"version": 0, "kind": "", "row": []}
        points, kind = self._map_points(last)
        shown = map_of(last, labels, points, self._cards.name)
        return {"version": last.lesson.version + 1, "kind": kind, **shown}

    def export(self, what: str) -> tuple[str, str, Any]:
        """Return what is downloaded: "table", "model" or "report"."""
        if self.exports is None:
            raise LookupError("there is nothing to download here")
        return self.exports(what)

    # ---- what programs ask for

    @property
    def labels(self) -> dict[int, str]:
        """The class of each labelled row: answers, and labels that were known before."""
        with self._lock:
            answered, removed = self._answers.labels, self._answers.removed
            rest = set(self.given) - set(answered) - removed
            return {row: name for row, name in self.given.items() if row in rest} | answered

    @property
    def answers(self) -> Answers:
        """What was answered."""
        return self._answers

    @property
    def snapshot(self) -> Snapshot | None:
        """The present model; None before there are labels of two classes."""
        return self._learner.snapshot

    @property
    def error(self) -> str | None:
        """Why the labels could not be learnt, if so."""
        return self._learner.error

    def wait(self, seconds: float = 60.0, *, opinions: bool = False) -> bool:
        """Wait until the model knows all labels; see `Learner.wait`."""
        return self._learner.wait(seconds, opinions=opinions)

    def close(self) -> None:
        """End the session; its journal can be continued."""
        self._learner.close()
        with self._lock:
            self._journal.close()

    # ---- the loop

    def _append(self, tab: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Write an entry, let the model learn it, and return the state."""
        self._journal.append({**entry, "at": round(time.time(), 1)})
        if entry["do"] == "undo":
            self._answers = Answers.of(self._journal.entries)
        else:
            self._answers.apply(entry)
        self._version += 1
        self._panel_version += 1
        if entry["do"] in ("remove", "undo", "again"):
            self._questions.look_again()
        if entry["do"] not in ("flag", "class"):
            self._teach()
        return self.state(tab)

    def _teach(self) -> None:
        labels, answers = self.labels, self._answers
        random = frozenset(answers.sample & labels.keys())
        self._learner.teach(Lesson(labels, random, frozenset(answers.skipped), self._version))

    def _note_change(self) -> None:
        """Take the suggestions of a new model."""
        last = self._learner.snapshot
        with self._lock:
            self._panel_version += 1
            self._map_version = 0 if last is None else last.lesson.version + 1
            self._questions.suggest([] if last is None else last.suggested)

    def _label(self, row: int) -> str | None:
        answers = self._answers
        given = None if row in answers.removed else self.given.get(row)
        return answers.labels.get(row, given)

    def _is_done(self, row: int) -> bool:
        return self._label(row) is not None or row in self._answers.skipped

    def _name_classes(self, names: Iterable[str]) -> None:
        """Write classes that the journal does not have, so that they keep their order and keys."""
        new = list(dict.fromkeys(name for name in names if self._answers.class_of(name) is None))
        if new:
            entry = {"do": "class", "names": new}
            self._journal.append({**entry, "at": round(time.time(), 1)})
            self._answers.apply(entry)

    def _checked(self, name: str) -> str:
        """Return the class of a name, or a new name without extra spaces."""
        known = self._answers.class_of(name)
        if known is not None:
            return known
        name = unicodedata.normalize("NFC", " ".join(name.split()))
        if not name or len(name) > _CLASS_NAME:
            raise ValueError(f"a class needs a name of 1 to {_CLASS_NAME} characters")
        if any(
            unicodedata.category(character) in ("Cc", "Cs")
            or unicodedata.bidirectional(character) in _DIRECTIONS
            or character in _INVISIBLE
            for character in name
        ):
            raise ValueError("the name of a class must not contain control or invisible characters")
        return self._answers.class_of(name) or name

    def _question(self, row: int, why: str) -> dict[str, Any]:
        last, opinion = self._learner.snapshot, None
        if why == SUGGESTED and last is not None and row not in last.lesson.labels:
            p = last.P[row]
            best = np.argsort(-p, kind="stable")[:_CLASSES].tolist()
            (label, probability), *others = [[last.classes[i], round(float(p[i]), 4)] for i in best]
            opinion = {"label": label, "probability": probability, "others": others}
        return {**self.card(row), "why": why, "opinion": opinion}

    def _before(self, row: int) -> dict[str, Any] | None:
        """Return what the model says of a row that has no label yet."""
        last = self._learner.snapshot
        if last is None or row in last.lesson.labels:  # as after an undo
            return None
        best = int(last.P[row].argmax())
        found = {"label": last.classes[best], "probability": round(float(last.P[row, best]), 4)}
        return {**found, "labels": len(last.lesson.labels)}

    def _doubted_card(self, row: int, instead: str, probability: float) -> dict[str, Any]:
        return {**self.card(row), "instead": instead, "probability": round(probability, 4)}

    def _map_points(self, last: Snapshot) -> tuple[np.ndarray, str]:
        """Return the coordinates of all rows, which depend on the graph alone."""
        graph = last.model.graph_
        if self._points is None or self._points[0] is not graph:
            self._points = graph, last.model.map_, last.model.map_kind_
        return self._points[1:]
