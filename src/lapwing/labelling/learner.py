"""A model that learns in the background: the newest labels win, and nobody waits for it.

Between fits it predicts labelled rows without their labels, a tenth of the random rows or of the
others at a time: these predictions show how good the model is, and which labels it doubts. Knows
neither pages nor files.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from ..auto import SemiSupervisedClassifier
from ..estimators.calibration import per_class
from .estimates import steadied_shares

logger = logging.getLogger(__name__)

#: Parts of the random rows and of the other labelled ones that are predicted without their labels,
#: one at a time. Random rows have parts of their own, because the accuracy that they show is that
#: of a model which lacks the labels of a part: few if these are all random.
_FOLDS = 10
#: Share of the labels that must have changed until a part is predicted again, and how many more
#: changes ago it seems to have been for parts of random rows, whose turn so comes earlier.
_GROWTH, _EARLIER = 0.05, 5
#: Fits after which a due part of the random rows comes next even if there are new labels: nobody
#: would know how good the model is while labels come faster than they are learnt.
_FITS_PER_CHECK = 2
#: How many labels, or which share of them, a model may lack to be judged as the present one.
_LAG, _LAG_SHARE = 3, 0.2
#: Rows that are suggested at a time, beside those that are of no use because they were skipped.
_SUGGESTED = 40


#: Returns the label that the model is given for each name of a class.
Values = Callable[[Collection[str]], Mapping[str, Any]]


def same_names(names: Collection[str]) -> Mapping[str, Any]:
    """Return each name as the label that it stands for."""
    return {name: name for name in names}


@dataclass(frozen=True)
class Lesson:
    """Labels to learn.

    Attributes
    ----------
    labels : mapping of int to str
        The class of each labelled row.
    random : collection of int
        Those of them that were drawn at random.
    skipped : collection of int
        Rows that need not be suggested.
    version : int
        Number of the entry that made them.
    """

    labels: Mapping[int, str]
    random: Collection[int] = ()
    skipped: Collection[int] = ()
    version: int = 0


@dataclass(frozen=True)
class Opinion:
    """What a model said of a row without knowing its label.

    Attributes
    ----------
    probabilities : dict of str to float
        By class, without offsets for class shares; empty where the class of the row had no other
        label, so that it could not be predicted.
    label, supervised : str or None
        The class by the model, and by the best model that does not use the unlabelled rows.
    labels : int
        How many labels there were, of which the model knew all but those of a part.
    """

    probabilities: dict[str, float]
    label: str | None
    supervised: str | None
    labels: int


@dataclass(frozen=True)
class Snapshot:
    """A fitted model and what the page needs of it.

    Attributes
    ----------
    model : SemiSupervisedClassifier
        The model.
    lesson : Lesson
        What it has learnt.
    classes : list of str
        Names of the classes, in the order of the model.
    P : ndarray of shape (n, n_classes)
        Probabilities of all rows.
    free : ndarray of shape (n, n_classes)
        The same without the offsets that class shares give.
    suggested : list of int
        Rows to ask for, the best first.
    seconds : float
        Time of the fit.
    """

    model: Any
    lesson: Lesson
    classes: list[str]
    P: np.ndarray
    free: np.ndarray
    suggested: list[int]
    seconds: float

    def is_recent(self, labels: int) -> bool:
        """Return whether a model is about as good as this one, given its number of labels."""
        n = len(self.lesson.labels)
        return labels >= n - max(_LAG, _LAG_SHARE * n)

    def recent(self, opinions: Mapping[int, Opinion]) -> dict[int, Opinion]:
        """Return the opinions of models that are about as good as this one."""
        return {row: one for row, one in opinions.items() if self.is_recent(one.labels)}

    def overall(self, opinions: Mapping[int, Opinion]) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean probabilities of all rows, and labels per class as shares of all rows.

        Probabilities of labelled rows are those of models that did not know their label; a row that
        has none counts by its label.
        """
        labels, n = self.lesson.labels, len(self.free)
        counts = Counter(labels.values())
        judged = [row for row in labels if row in opinions and opinions[row].probabilities]
        rest = counts - Counter(labels[row] for row in judged)
        total = self.free.sum(axis=0) - self.free[list(labels)].sum(axis=0)
        total += [rest[name] for name in self.classes]
        if judged:
            total += predicted(opinions, judged, self.classes).sum(axis=0)
        return total / n, np.array([counts[name] for name in self.classes]) / n


class _Closed(Exception):
    """The learner is closed while it fits a model."""


class Learner:
    """Fits a model to labels as they come, in a thread of its own.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All rows.
    seed : int
        Seed of the model and of the parts of the labelled rows.
    memory_limit : int, str or None
        As in `SemiSupervisedClassifier`.
    on_change : callable, optional
        Called after each fit, in the thread of the learner.
    values : callable, optional
        Returns the label that the model is given for each of some names of classes; by default
        their names. It depends on all of them: whether they are numbers, for instance.

    Attributes
    ----------
    snapshot : Snapshot or None
        The last model; None before there are labels of two classes.
    opinions : dict of int to Opinion
        The last prediction of each labelled row that was made without its label.
    busy : str or None
        What is being done.
    error : str or None
        Why the last fit failed.
    """

    def __init__(
        self,
        X: Any,
        *,
        seed: int = 0,
        memory_limit: float | str | None = None,
        on_change: Callable[[], None] = lambda: None,
        values: Values = same_names,
    ) -> None:
        self._X, self._seed, self._memory_limit = X, seed, memory_limit
        self._on_change, self._values = on_change, values
        self._part = np.random.default_rng([seed, 2]).permutation(X.shape[0]) % _FOLDS
        self._part_at: dict[int, int] = {}
        self._changes = 0  # labels that were given, changed or taken away
        self._fits = 0  # since a part was predicted
        self._wanted = self._learnt = Lesson({})
        self._closed = False
        self._condition = threading.Condition()
        self.snapshot: Snapshot | None = None
        self.opinions: dict[int, Opinion] = {}
        self.busy: str | None = None
        self.error: str | None = None
        context = copy_context()  # the device of the caller
        self._thread = threading.Thread(
            target=lambda: context.run(self._run), name="lapwing learner", daemon=True
        )
        self._thread.start()

    def teach(self, lesson: Lesson) -> None:
        """Learn these labels as soon as the present step is done, instead of any before."""
        with self._condition:
            self._wanted = lesson
            self._condition.notify_all()

    def wait(self, seconds: float, *, opinions: bool = False) -> bool:
        """Wait until the newest labels are learnt, and also every opinion is up to date if asked.

        Return whether that is so. What `on_change` does may follow a moment later.
        """

        def is_done() -> bool:
            learnt = self._learnt is self._wanted
            return learnt and not (opinions and (self.busy or self._due_part() is not None))

        with self._condition:
            self._condition.wait_for(lambda: self._closed or is_done(), seconds)
            return is_done()

    def close(self) -> None:
        """End the thread after the present step."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(self._has_work)
                if self._closed:
                    return
                lesson, part = self._wanted, self._next_part()
                self.busy = "learning" if part is None else "checking"
            try:
                with warnings.catch_warnings():  # the report repeats what matters
                    warnings.simplefilter("ignore")
                    self._learn(lesson) if part is None else self._predict_part(part)
                if part is None:
                    self.error = None
            except _Closed:
                return
            except Exception as error:  # the page shows it, and the next answer is a new try
                logger.exception("learning %d labels has failed", len(lesson.labels))
                self.error = str(error) or type(error).__name__
            with self._condition:
                if part is None:
                    self._learnt = lesson
                    self._fits += 1
                else:
                    self._part_at[part] = self._changes
                    self._fits = 0
                self.busy = None
                self._condition.notify_all()
            self._on_change()

    def _has_work(self) -> bool:
        behind = self._learnt is not self._wanted
        return self._closed or behind or self._due_part() is not None

    def _learn(self, lesson: Lesson) -> None:
        started = time.perf_counter()
        known = {} if self.snapshot is None else self.snapshot.lesson.labels
        self._changes += n_changed(known, lesson.labels)
        if len(set(lesson.labels.values())) < 2:
            self.snapshot = None
            self.opinions.clear()
            return
        model = self._fitted(lesson.labels, self._shares(lesson))
        P, classes = model.label_distributions_, self._names(model, lesson.labels)
        suggested = model.suggest(_SUGGESTED + len(lesson.skipped)).tolist()
        seconds = time.perf_counter() - started
        free = _without_offsets(model)
        self.snapshot = Snapshot(model, lesson, classes, P, free, suggested, seconds)
        for row in set(self.opinions) - set(lesson.labels):
            del self.opinions[row]

    def _fitted(self, labels: Mapping[int, str], shares: dict[Any, float] | None) -> Any:
        """Return a model of these labels; from the last one where there is one."""
        last = self.snapshot
        known = {} if last is None else last.lesson.labels
        value, before = self._values(set(labels.values())), self._values(set(known.values()))
        if last is None or any(value.get(name, old) != old for name, old in before.items()):
            y = np.full(self._X.shape[0], None, dtype=object)
            y[list(labels)] = [value[name] for name in labels.values()]
            model = SemiSupervisedClassifier(
                unlabeled=None,
                random_state=self._seed,
                memory_limit=self._memory_limit,
                class_shares=shares,
                callback=self._note_stage,
            )
            return model.fit(self._X, y)
        changed = {row: value[name] for row, name in labels.items() if known.get(row) != name}
        changed |= {row: None for row in known if row not in labels}
        model = copy.copy(last.model)
        model.class_shares = shares
        y = np.array(list(changed.values()), dtype=object)
        return model.add_labels(np.array(list(changed), dtype=int), y, random=False)

    def _names(self, model: Any, labels: Mapping[int, str]) -> list[str]:
        """Return the names of the classes of a model, in its order."""
        name = {value: name for name, value in self._values(set(labels.values())).items()}
        return [name[value] for value in model.classes_.tolist()]

    def _note_stage(self, stage: str, share: float) -> None:
        if self._closed:
            raise _Closed
        if stage != "done":
            self.busy = stage

    def _shares(self, lesson: Lesson) -> dict[Any, float] | None:
        """Return class shares of the unlabelled rows, if random rows show them.

        The model may take the rows that it suggested for a sample of all. If models have judged as
        many random rows as there are classes, and half of all, the shares are corrected by their
        errors; otherwise random rows are counted, where they contradict the model. Models that are
        much worse than the last one do not count: what it has learnt since would be added a second
        time.
        """
        last, n_rest = self.snapshot, self._X.shape[0] - len(lesson.labels)
        if last is None or n_rest == 0:
            return None
        value = self._values(set(lesson.labels.values()))
        names = last.classes if set(last.classes) == set(value) else sorted(value)
        overall, known = last.overall(self.opinions)
        by_name = dict(zip(last.classes, overall.tolist(), strict=True))
        prior, P = np.array([by_name.get(name, 0.0) for name in names]), None
        random = [row for row in lesson.random if row in lesson.labels]
        recent = last.recent(self.opinions)
        judged = [row for row in random if row in recent]
        if names is last.classes and len(judged) >= max(len(names), len(random) / 2):
            random, P = judged, predicted(recent, judged, names)
        codes = np.array([names.index(lesson.labels[row]) for row in random], dtype=int)
        shares = steadied_shares(codes, len(names), prior, P, known)
        if shares is None:
            return None
        counts = Counter(lesson.labels.values())
        rest = shares * self._X.shape[0] - [counts[name] for name in names]
        rest = np.maximum(rest / n_rest, 0.5 / (len(codes) + len(names)))
        rest = rest / rest.sum()
        return {value[name]: share for name, share in zip(names, rest.tolist(), strict=True)}

    def _part_of(self, row: int, lesson: Lesson) -> int:
        return int(self._part[row]) + (0 if row in lesson.random else _FOLDS)

    def _next_part(self) -> int | None:
        """Return the part that is predicted next; None if new labels are learnt before."""
        if self._learnt is self._wanted:
            return self._due_part()
        return self._due_part(random=True) if self._fits >= _FITS_PER_CHECK else None

    def _due_part(self, *, random: bool = False) -> int | None:
        """Return the part that has not been predicted for longest, of random rows if asked."""
        if self.snapshot is None or self.error is not None:
            return None
        lesson = self.snapshot.lesson
        newest = self._changes - max(1.0, _GROWTH * len(lesson.labels))
        due: dict[int, int] = {}
        for row in lesson.labels:
            if random and row not in lesson.random:
                continue
            part = self._part_of(row, lesson)
            at = self._part_at.get(part, 0)
            if at <= newest or row not in self.opinions:
                due[part] = at - (_EARLIER if part < _FOLDS else 0)
        return min(due, key=lambda part: (due[part], part)) if due else None

    def _predict_part(self, part: int) -> None:
        """Predict the labelled rows of a part by a model that does not know their labels."""
        assert self.snapshot is not None
        lesson, model = self.snapshot.lesson, self.snapshot.model
        labels = lesson.labels
        own = {row for row in labels if self._part_of(row, lesson) == part}
        left = Counter(label for row, label in labels.items() if row not in own)
        rows = {row for row in own if left[labels[row]]}
        rest = {row: label for row, label in labels.items() if row not in rows}
        for row in own - rows:  # the only labels of their class cannot be predicted by others
            self.opinions[row] = Opinion({}, None, None, len(labels))
        if not rows:
            return
        fitted = self._fitted(rest, model.class_shares)
        free, classes = _without_offsets(fitted), self._names(fitted, rest)
        name = dict(zip(fitted.classes_.tolist(), classes, strict=True))
        supervised = fitted.supervised_transduction_.tolist()
        for row in rows:
            probabilities = dict(zip(classes, free[row].tolist(), strict=True))
            found = classes[int(fitted.label_distributions_[row].argmax())]
            self.opinions[row] = Opinion(probabilities, found, name[supervised[row]], len(labels))


def n_changed(before: Mapping[int, str], after: Mapping[int, str]) -> int:
    """Return how many labels were given, changed or taken away."""
    changed = sum(before.get(row) != label for row, label in after.items())
    return changed + sum(row not in after for row in before)


def predicted(
    opinions: Mapping[int, Opinion], rows: Collection[int], classes: Collection[str]
) -> np.ndarray:
    """Return the probabilities that opinions give to the classes of rows, by row."""
    found = [opinions[row].probabilities for row in rows]
    return np.array([[one.get(name, 0.0) for name in classes] for one in found])


def _without_offsets(model: Any) -> np.ndarray:
    """Return the probabilities of all rows without the offsets that class shares give."""
    P = model.label_distributions_
    offsets = per_class(np.atleast_2d(model.class_offsets_)) * model.temperature_
    return softmax(np.log(np.maximum(P, 1e-300)) - offsets, axis=1) if offsets.any() else P
