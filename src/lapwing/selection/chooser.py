"""What the two default estimators share: scale, graph, race, blend, files, more labels.

Knows neither classes nor targets; the public classes in `default` say how values become answers.
Everything that is computed lives in the modules below; here it is put in order and stored.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from ..arrays.archive import write_archive
from ..arrays.duplicates import representative_rows
from ..arrays.memory import format_size, memory_budget
from ..estimators.base import draw_seed
from ..estimators.checks import valid_rows
from ..estimators.classifier import (
    LabelledData,
    fit_temperature,
)
from ..estimators.graph_choice import resolve_graph
from ..graphs import KNNGraph
from . import families, model_file, suggestions
from .families import FAMILIES, GRAPH, MANIFOLD, MARGIN, SUPERVISED, Labels
from .graph_family import GraphFamily
from .parts import NeighbourPart, Part, add_up
from .race import Candidate, Race, make_folds
from .report import after_refit, make_report
from .scaling import learn_scaling

logger = logging.getLogger("lapwing")

METHODS = ("auto", *FAMILIES)
#: Rows that the machines see at most; others are predicted.
MOST_ROWS = 100_000
#: Labels that are used to choose, and rows on which fold machines are compared, at most.
RACE_LABELS, SAMPLE_ROWS = 400, 500
#: Memory of the graph and its filters, in bytes a row.
_GRAPH_BYTES = 4_000
#: Matrices of labels by labels that are held at once.
_LABEL_SQUARES = 4
#: Classes up to which the margin machine races: each is fitted against the rest, fold by fold.
_MARGIN_CLASSES = 3

Progress = Callable[[str, float], object]


@dataclass
class _Field:
    """The families on these rows, by name."""

    machines: dict[str, Any]

    def fit(self, candidate: Candidate, labels: Labels, n: int) -> tuple[np.ndarray, Part]:
        """Return the values on all rows, and the machine, of a candidate fitted to labels."""
        machine = self.machines[candidate.family]
        values, part = machine.fit(candidate.settings, labels)
        if candidate.family == MARGIN:
            values = values(np.arange(n))
        return values, part


class Chooser(BaseEstimator):
    """Base of the default estimators. See the public classes for the parameters."""

    _confusion: np.ndarray | None

    # Set by __init__ of the public classes.
    method: str
    graph: Any
    unlabeled: Any
    random_state: Any
    memory_limit: Any
    callback: Progress | None

    def _kinds(self, data: LabelledData) -> np.ndarray | None:
        raise NotImplementedError(f"{type(self).__name__} must implement _kinds")

    def _check_rows(self, X: Any, reset: bool) -> Any:
        return valid_rows(self, X, reset=reset)

    def _fit(self, data: LabelledData) -> None:
        """Scale, build the graph, race, blend, store."""
        start = time.perf_counter()
        allowed = [name for name in METHODS if name != MARGIN or is_classifier(self)]
        if self.method not in allowed:
            raise ValueError(f"method must be one of {allowed}, got {self.method!r}")
        self._seed = draw_seed(self.random_state)
        self._forget()
        self._tell("scaling", 0.0)
        self.scaling_ = learn_scaling(data.X)
        self._rows = self._choose_rows(data)
        self._check_room(data)
        self.X_fit_ = data.X
        self._tell("graph", 0.05)
        X = self._scaled
        self.graph_ = resolve_graph(self.graph, X, KNNGraph())
        self._labels_in = self._place_labels(data)
        self._first = self._labels_in.index  # landmarks stay when labels are added
        race = self._race(X, data)
        self._tell("fitting the blend", 0.9)
        race.judge(fit_temperature)
        self._restrict(race)
        self.candidates_ = race.candidates
        self._store_blend(data, race)
        seconds = time.perf_counter() - start
        self.report_ = make_report(self, data, race, seconds)
        for candidate in race.candidates:  # what judged them is not needed again
            candidate.held = candidate.votes = np.empty((0, 0))
        self._tell("done", 1.0)

    def _forget(self) -> None:
        for name in ("_scaled", "_field", "_map", "map_", "map_kind_"):
            self.__dict__.pop(name, None)

    def _tell(self, stage: str, share: float) -> None:
        logger.info("%s: %s", type(self).__name__, stage)
        if self.callback is not None:
            self.callback(stage, share)

    def _choose_rows(self, data: LabelledData) -> np.ndarray:
        """Return the rows that the machines see: those labelled, and others, each once."""
        n = data.X.shape[0]
        # Duplicates would crowd out a row's other neighbours, and a label would reach only them.
        twin = np.arange(n) if self.graph is not None else representative_rows(data.X, data.index)
        rows = np.flatnonzero(twin == np.arange(n))
        self.n_copies_ = n - len(rows)
        if len(rows) > MOST_ROWS and self.graph is None:
            rng = np.random.default_rng(self._seed)
            others = np.setdiff1d(rows, data.index)
            room = max(MOST_ROWS - len(data.index), 0)
            rows = np.sort(np.append(data.index, rng.choice(others, room, replace=False)))
        self._twin = twin
        return rows

    def _check_room(self, data: LabelledData) -> None:
        """Refuse rows that do not fit before anything is built from them."""
        n, d = len(self._rows), data.X.shape[1]
        rows = data.X.nnz * 12 if sp.issparse(data.X) else 8 * n * d
        square = min(len(data.index), families.MOST_LABELS) ** 2
        needed = rows + n * _GRAPH_BYTES + 8 * _LABEL_SQUARES * square
        budget = memory_budget(self.memory_limit)
        if needed > budget:
            raise MemoryError(
                f"{n} rows of {d} columns need {format_size(needed)} and memory_limit allows "
                f"{format_size(budget)}: fit fewer unlabelled rows, or raise memory_limit"
            )
        self._room = budget - needed

    @cached_property
    def _scaled(self) -> Any:
        """The rows that the machines see, scaled; made again after a model was read from a file."""
        rows = self._rows
        X = self.X_fit_ if len(rows) == self.X_fit_.shape[0] else self.X_fit_[rows]
        return self.scaling_.apply(X)

    def _place_labels(self, data: LabelledData) -> Labels:
        index = np.searchsorted(self._rows, data.index)
        weights = data.weights / data.weights.mean()
        return Labels(index, data.targets, weights, self._kinds(data))

    # The race.

    @cached_property
    def _field(self) -> _Field:
        X = self._scaled
        machines: dict[str, Any] = {SUPERVISED: families.SupervisedFamily(X)}
        machines[GRAPH] = GraphFamily(X, self.graph_)
        machines[MANIFOLD] = families.ManifoldFamily(X, self.graph_, self._first, self._seed)
        machines[MARGIN] = families.MarginFamily(X, self._seed)
        return _Field(machines)

    def _entered(self, columns: int, classes: bool, alone: bool) -> list[str]:
        """Return the families that race: the supervised one always, and alone if so."""
        if self.method != "auto":
            return list(dict.fromkeys([SUPERVISED, self.method]))
        n, l = len(self._rows), len(self._labels_in.index)
        if alone or l > families.MOST_LABELS:
            return [SUPERVISED]
        entered = [SUPERVISED]
        entered += [GRAPH] if l * n <= families.GRAPH_WORK else []
        entered += [MANIFOLD] if families.manifold_bytes(n) <= self._room else []
        small = classes and columns <= _MARGIN_CLASSES and families.margin_bytes(n) <= self._room
        return [*entered, MARGIN] if small else entered

    def _race(self, X: Any, data: LabelledData) -> Race:
        labels = self._labels_in
        rng = np.random.default_rng(self._seed)
        if len(labels.index) > RACE_LABELS:
            labels = labels.take(_some_of_each(labels.kinds, len(labels.index), rng))
        kinds = labels.kinds
        free = np.setdiff1d(np.arange(X.shape[0]), self._labels_in.index)
        sample = np.sort(rng.permutation(free)[:SAMPLE_ROWS])
        folds = make_folds(kinds, len(labels.index), self._seed)
        race = Race(labels, folds, sample, kinds)
        entered = self._entered(labels.targets.shape[1], kinds is not None, len(free) == 0)
        for number, name in enumerate(entered):
            self._tell(f"trying {name} machines", 0.2 + 0.7 * number / len(entered))
            machine = self._field.machines[name]
            if name == MARGIN:
                race.run_margin(machine)
            else:
                race.run_linear(machine.cells(labels, sample))
        return race

    def _restrict(self, race: Race) -> None:
        """Give the whole decision to the family that the user asked for."""
        if self.method == "auto":
            return
        best = max((c for c in race.candidates if c.family == self.method), key=lambda c: c.score)
        for candidate in race.candidates:
            candidate.weight = float(candidate is best)

    # The blend.

    def _store_blend(self, data: LabelledData, race: Race) -> None:
        """Fit the candidates that share the decision to all labels, and add them up."""
        n = len(self._rows)
        values: Any = 0.0
        parts: list[Part] = []
        for candidate in race.candidates:
            if candidate.weight > 0:
                on_rows, part = self._field.fit(candidate, self._labels_in, n)
                share = candidate.weight * candidate.temperature
                values = values + share * on_rows
                parts.append(part.times(share))
        self.parts_ = add_up(parts)
        plain = race.best(supervised=True)
        if plain.weight == 1.0:
            alone = values
        else:
            alone = self._field.fit(plain, self._labels_in, n)[0] * plain.temperature
        component = self.graph_.component_
        reach = np.isin(component, component[self._labels_in.index])
        self.labelled_ = data.index
        if n < data.X.shape[0]:
            values, alone, reach = self._spread(data, values, alone, reach)
        self.label_reach_ = reach
        self._store_values(data, values, alone, race)

    def _spread(
        self, data: LabelledData, values: np.ndarray, alone: np.ndarray, reach: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what the rows that the machines saw say about all rows.

        Copies are as their twins; others are predicted, or are as the nearest row.
        """
        n, c = data.X.shape[0], values.shape[1]
        seen = np.column_stack([values, alone, reach])
        whole = np.empty((n, seen.shape[1]))
        whole[self._rows] = seen
        others = np.setdiff1d(np.flatnonzero(self._twin == np.arange(n)), self._rows)
        if len(others):
            X = self.scaling_.apply(data.X[others])
            whole[others] = NeighbourPart(self._scaled, seen, 1, 1.0).values(X)
            whole[others, :c] = self._values(X)
        whole = whole[self._twin]
        return whole[:, :c], whole[:, c:-1], whole[:, -1] > 0.5

    def _store_values(
        self, data: LabelledData, values: np.ndarray, alone: np.ndarray, race: Race
    ) -> None:
        raise NotImplementedError(f"{type(self).__name__} must implement _store_values")

    def _values(self, X: Any) -> np.ndarray:
        """Return the blend on scaled rows."""
        total = self.parts_[0].values(X)
        for part in self.parts_[1:]:
            total = total + part.values(X)
        return total

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "parts_")
        return self._values(self.scaling_.apply(self._check_rows(X, reset=False)))

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        raise NotImplementedError(f"{type(self).__name__} must implement _check_data")

    def _refit(self, y: np.ndarray) -> Any:
        """Fit the blend to other labels of the same rows, with the choice that was made.

        The graph, the settings and their shares stay; `fit` lets the families race again.
        """
        names = getattr(self, "feature_names_in_", None)
        try:
            data = self._check_data(self.X_fit_, y, self._row_weights)
        finally:
            if names is not None:  # X_fit_ is a plain array
                self.feature_names_in_ = names
        if not np.isin(data.index, self._rows).all():
            first = self._rows[self._first]
            self._rows = np.union1d(self._rows, data.index)
            self._twin[data.index] = data.index
            self._first = np.searchsorted(self._rows, first)
            self._forget()
            self.graph_ = resolve_graph(None, self._scaled, KNNGraph())
        self._labels_in = self._place_labels(data)
        race = Race(self._labels_in, [], np.zeros(0, dtype=int), None, self.candidates_)
        self._store_blend(data, race)
        self.report_ = after_refit(self.report_, self, len(data.index))
        return self

    # What people look at.

    @cached_property
    def map_(self) -> np.ndarray:
        """Coordinates of the training rows in the plane, (n, 2); NaN for those not seen."""
        return self._map[0]

    @cached_property
    def map_kind_(self) -> str:
        """What ``map_`` shows."""
        return self._map[1]

    @cached_property
    def _map(self) -> tuple[np.ndarray, str]:
        points, kind = suggestions.map_rows(self._scaled, self.graph_)
        whole = np.full((self.X_fit_.shape[0], 2), np.nan)
        whole[self._rows] = points
        return whole[self._twin], kind

    def suggest(self, n: int = 10) -> np.ndarray:
        """Return training rows that are most worth labelling next, the best first.

        Rows about which the model is not sure, that stand for many others, and that differ from
        each other. Rows that no label reaches come first, one of each large part of the graph.

        Parameters
        ----------
        n : int, default=10
            How many.

        Returns
        -------
        ndarray of int
            Numbers of rows of the training data, for `add_labels`.
        """
        check_is_fitted(self, "parts_")
        place = np.full(self.X_fit_.shape[0], -1)
        place[self._rows] = np.arange(len(self._rows))
        labelled = place[self.labelled_]
        found = suggestions.worth_labelling(
            self._scaled, self.graph_, self._doubt()[self._rows], labelled, n
        )
        return self._rows[found]

    def _doubt(self) -> np.ndarray:
        """Return how unsure the model is of each training row, from 0 to 1."""
        raise NotImplementedError(f"{type(self).__name__} must implement _doubt")

    def save(self, path: str | Path, extra: dict[str, Any] | None = None) -> None:
        """Write the model to a file that `lapwing.load` reads, on any machine.

        A zip of JSON and plain arrays; nothing in it is ever run. It holds the training rows.

        Parameters
        ----------
        path : str or Path
            Where. An older file is replaced once the new one is complete.
        extra : dict, optional
            Anything JSON can hold; `lapwing.load` puts it into ``extra_``.
        """
        check_is_fitted(self, "parts_")
        page, arrays = model_file.to_file(self, extra)
        write_archive(path, page, arrays)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        for name in ("_field", "_scaled", "_map"):  # made again when they are needed
            state.pop(name, None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _some_of_each(kinds: np.ndarray | None, l: int, rng: np.random.Generator) -> np.ndarray:
    """Return places of so many labels as race, two of each class before any third."""
    order = rng.permutation(l)
    kinds = np.zeros(l, dtype=int) if kinds is None else kinds
    turn = np.empty(l, dtype=int)  # how many of its class come before a label
    for kind in np.unique(kinds):
        mine = order[kinds[order] == kind]
        turn[mine] = np.arange(len(mine))
    late = turn[order] >= 2
    return np.sort(order[np.argsort(late, kind="stable")][:RACE_LABELS])
