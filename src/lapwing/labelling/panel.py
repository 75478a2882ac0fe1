"""What the page says of the model: accuracy, class shares, the worth of labels, doubts, the map.

All but the map rests on predictions that were made without the label of the row. Must not know
sessions, the server, or how the page draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..displays.model_words import verdict
from ..displays.page import digits, evenly
from .answers import RANDOM, Answers
from .estimates import LEAST_ROWS, Estimate, class_shares, share_of, worth_of_labels
from .learner import Opinion, Snapshot, n_changed, predicted

#: Labels whose worth is estimated.
_MORE = 10
#: Doubted labels that are listed, and how much likelier another class must be for a doubt.
_DOUBTED, _DOUBT = 50, 3.0
#: Rows of the map, and labelled ones among them.
_MAP, _MAP_LABELLED = 3000, 1000


class _Judged(NamedTuple):
    """Whether models that did not know the label of a random row predict it.

    Attributes
    ----------
    right : bool
        Whether the present model does.
    supervised : bool or None
        Whether the best one that does not use the unlabelled rows does; None if that is not known.
    before : (int, bool) or None
        How many labels the model knew when the row was asked for, and whether it was wrong.
    """

    right: bool
    supervised: bool | None
    before: tuple[int, bool] | None


@dataclass(frozen=True)
class Findings:
    """What is known of a model by the labels.

    Parameters
    ----------
    answers : Answers
        What was answered.
    labels : mapping of int to str
        The class of each labelled row.
    last : Snapshot or None
        The model.
    opinions : mapping of int to Opinion
        Predictions of labelled rows that were made without their labels.
    n : int
        Number of rows.
    """

    answers: Answers
    labels: Mapping[int, str]
    last: Snapshot | None
    opinions: Mapping[int, Opinion]
    n: int

    def model(self) -> dict[str, Any] | None:
        """Return what the model has learnt, and how many labels it is behind."""
        if self.last is None:
            return None
        known = self.last.lesson.labels
        behind = n_changed(known, self.labels)
        return {"labels": len(known), "seconds": round(self.last.seconds, 2), "behind": behind}

    @property
    def n_random(self) -> int:
        """The number of random rows that have a label."""
        return len(self._random)

    def accuracy(self) -> dict[str, Any] | None:
        """Return the accuracy on the random rows, with an interval.

        None if there are too few, or if too few were judged by about the present model.
        """
        judged = self._judged
        if len(judged) < LEAST_ROWS:
            return None
        value, low, high = _rounded(share_of(sum(one.right for one in judged), len(judged)))
        known = [one.supervised for one in judged if one.supervised is not None]
        supervised = sum(known) / len(known) if len(known) == len(judged) else None
        found = {"estimate": value, "low": low, "high": high, "rows": len(judged)}
        return {**found, "supervised": supervised}

    def shares(self) -> list[list[Any]] | None:
        """Return the share of each class among all rows, with an interval.

        Where most random rows were judged by worse models, only the rows themselves are counted.
        """
        last = self.last
        names = list(self.answers.classes) if last is None else list(last.classes)
        rows = [row for row in self._random if self._blind_label(row) in names]
        recent = [row for row in rows if row in self._recent]
        if last is not None and 2 * len(recent) >= len(rows):
            rows = recent
        if len(rows) < LEAST_ROWS:
            return None
        codes = np.array([names.index(self._blind_label(row)) for row in rows])
        if last is None or rows is not recent:
            found = class_shares(codes, len(names), None, None)
        else:
            overall, known = last.overall(self.opinions)
            P = predicted(self.opinions, rows, names)
            found = class_shares(codes, len(names), overall, P, known)
        return [[name, *_rounded(share)] for name, share in zip(names, found, strict=True)]

    def worth(self) -> dict[str, Any] | None:
        """Return what ten more labels are worth, in numbers and in words."""
        judged, more = self._judged, min(_MORE, self.n - len(self.labels))
        if len(judged) < LEAST_ROWS or more == 0:
            return None
        wrong = sum(not one.right for one in judged)
        before = [one.before for one in judged if one.before is not None]
        worth = worth_of_labels(wrong, len(judged), before, len(self.labels), more)
        gain, low, high = _rounded(worth.gain)
        return {"labels": worth.labels, "gain": gain, "low": low, "high": high, "text": worth.text}

    def doubted(self) -> list[tuple[int, str, float]]:
        """Return rows whose label the model doubts, the class it would give, and how sure it is."""
        doubts = [(row, self._doubt(row)) for row in self.labels]
        doubted = [(row, *doubt) for row, doubt in doubts if doubt is not None]
        return sorted(doubted, key=lambda one: -one[2])[:_DOUBTED]

    def _doubt(self, row: int) -> tuple[str, float] | None:
        opinion, label = self.opinions.get(row), self.labels[row]
        if opinion is None or opinion.label in (None, label) or row in self.answers.confirmed:
            return None
        p = opinion.probabilities
        # A model that knew no label of the class has no opinion of it.
        if label not in p or p[opinion.label] <= _DOUBT * p[label]:
            return None
        return opinion.label, p[opinion.label]

    @cached_property
    def _random(self) -> list[int]:
        """The random rows that have a label."""
        return [row for row in self.labels if row in self.answers.sample]

    @cached_property
    def _judged(self) -> list[_Judged]:
        """The random rows whose label a model has predicted without knowing it."""
        found: list[_Judged] = []
        if self.last is None:
            return found
        for row in self._random:
            label, before = self._blind_label(row), self.answers.before.get(row)
            if self.answers.why.get(row) != RANDOM:  # the model was asked where it is unsure
                before = None
            then = None if before is None else (before["labels"], before["label"] != label)
            opinion = self._recent.get(row)
            if opinion is not None:
                found.append(_Judged(opinion.label == label, opinion.supervised == label, then))
            elif before is not None and self.last.is_recent(before["labels"]):
                found.append(_Judged(before["label"] == label, None, then))
        return found

    @cached_property
    def _recent(self) -> dict[int, Opinion]:
        """Opinions of models that were about the present one: worse ones show too little."""
        return {} if self.last is None else self.last.recent(self.opinions)

    def _blind_label(self, row: int) -> str:
        """Return the label of a row, as it was before it was changed because of a doubt.

        Nobody looked for errors where the model agreed.
        """
        return self.answers.blind.get(row) or self.labels[row]


def help_of(last: Snapshot | None) -> dict[str, str]:
    """Return a sentence on whether the unlabelled rows help, as `verdict`."""
    if last is None:
        text = "It is not known yet whether the unlabelled rows help."
        return {"kind": "unclear", "text": text}
    return verdict(last.model.report_.to_dict())


def map_of(
    last: Snapshot,
    labels: Mapping[int, str],
    points: np.ndarray,
    name: Callable[[int], str],
) -> dict[str, Any]:
    """Return coordinates of rows, with their labels or what the model predicts.

    Parameters
    ----------
    last : Snapshot
        The model.
    labels : mapping of int to str
        The class of each labelled row.
    points : ndarray of shape (n, 2)
        Coordinates of all rows.
    name : callable
        Returns the name of a row.
    """
    known = np.isfinite(points).all(axis=1)
    labelled = np.array([row for row in labels if known[row]], dtype=int)
    kept = np.zeros(len(points), dtype=bool)
    kept[labelled[evenly(len(labelled), _MAP_LABELLED)] if len(labelled) else []] = True
    rest = np.flatnonzero(known & ~kept)
    free = min(len(rest), _MAP - int(kept.sum()))
    kept[np.random.default_rng(0).choice(rest, free, replace=False)] = True
    rows, codes = np.flatnonzero(kept), {label: i for i, label in enumerate(last.classes)}
    found = last.P[rows].argmax(axis=1).tolist()
    given = [labels.get(row) for row in rows.tolist()]
    return {
        "x": digits(points[rows, 0]),
        "y": digits(points[rows, 1]),
        "row": rows.tolist(),
        "name": [name(row) for row in rows.tolist()],
        "answer": [
            code if label is None else codes.get(label, -1)
            for label, code in zip(given, found, strict=True)
        ],
        "labelled": [int(label is not None) for label in given],
        "classes": last.classes,
    }


def _rounded(estimate: Estimate) -> tuple[float, float, float]:
    return round(estimate.value, 4), round(estimate.low, 4), round(estimate.high, 4)
