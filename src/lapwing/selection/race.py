"""The race: candidates, their scores over the labelled rows alone, and the blend that wins.

With a handful of labels held-out accuracy alone says little, and much of what it says is luck. Each
candidate is therefore asked a second question, which needs no labels: do the machines that saw
different labels agree on the rows that have none? A machine cannot be right where its copies
disagree. Agreement beyond chance counts as `AGREEMENT_LABELS` labels beside those held out.

Machines that see the labelled rows alone are the simpler ones: they get a standard error more. The
winners are blended: candidates within about a standard error of the best share the decision, so
that chance between equals does not decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..solvers import decisions
from .families import MARGIN, SUPERVISED, Labels

#: Labels that the agreement of fold machines counts for.
AGREEMENT_LABELS = 8.0
#: Standard errors by which machines with unlabelled rows must win over supervised ones.
LEAD = 1.0
#: The least variance of a score: that of an accuracy of 99 %.
_LEAST_VARIANCE = 0.01
#: Shares of the blend below this are left out.
LEAST_SHARE = 0.02
#: Folds at most, least number of fold machines, and those of machines that are slow to fit.
FOLDS, MACHINES, SLOW_MACHINES = 5, 10, 5

Fold = tuple[np.ndarray, np.ndarray]
#: From values, targets and weights to a factor of the values.
Temperature = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


@dataclass
class Candidate:
    """A setting of a family in the race.

    Attributes
    ----------
    family : str
        "supervised", "manifold", "graph" or "margin".
    settings : dict
        Its parameters.
    held : ndarray of shape (h, c)
        Values of the labelled rows, fold by fold, by machines that have not seen their labels.
    votes : ndarray of shape (machines, s, c)
        Values of the fold machines on a sample of unlabelled rows.
    seconds : float
        What trying it took.
    score, spread : float
        Steadied score, and the standard error of the held-out one.
    held_out : float
        The held-out score alone.
    agreement : float
        Agreement of the fold machines alone.
    weight : float
        Share in the blend.
    temperature : float
        Factor that brings its values to the scale of the others.
    """

    family: str
    settings: dict[str, Any]
    held: np.ndarray
    votes: np.ndarray
    seconds: float
    score: float = np.nan
    spread: float = np.nan
    held_out: float = np.nan
    agreement: float = np.nan
    weight: float = 0.0
    temperature: float = 1.0

    @property
    def supervised(self) -> bool:
        """Whether it sees labelled rows only."""
        return self.family == SUPERVISED


@dataclass
class Race:
    """Who runs and on what.

    Attributes
    ----------
    labels : Labels
        The labelled rows that are used to choose.
    folds : list of Fold
        Places among them: to learn from, and held out.
    sample : ndarray
        Rows on which fold machines are compared.
    kinds : ndarray or None
        The class of each labelled row; None for targets.
    candidates : list of Candidate
        Those that have run.
    """

    labels: Labels
    folds: list[Fold]
    sample: np.ndarray
    kinds: np.ndarray | None
    candidates: list[Candidate] = field(default_factory=list)

    def run_linear(self, cells: Iterator[Any]) -> None:
        """Let cells run that are linear in the labels, all fold machines of each."""
        start = time.perf_counter()
        for cell in cells:
            held, votes = [], []
            R, t = cell.reduction.R, cell.reduction.t
            for train, test in self.folds:
                c, b = cell.solve(self.labels, train)
                held.append(R[np.ix_(test, train)] @ c + np.outer(t[test], b))
                votes.append(cell.on_sample[:, train] @ c + np.outer(cell.on_sample[:, -1], b))
            self._add(cell.family, cell.settings, held, votes, start)
            start = time.perf_counter()

    def run_margin(self, family: Any) -> None:
        """Let the machines run that are fitted again for each fold."""
        folds = self.folds[: max(SLOW_MACHINES, self._splits())]
        for settings in family.settings():
            start = time.perf_counter()
            held, votes = [], []
            for train, test in folds:
                values, _ = family.fit(settings, self.labels, train)
                held.append(values(self.labels.index[test]))
                votes.append(values(self.sample))
            self._add(MARGIN, settings, held, votes, start)

    def _splits(self) -> int:
        """Return how many folds hold every label out once."""
        seen = np.zeros(len(self.labels.index), dtype=bool)
        for number, (_, test) in enumerate(self.folds, start=1):
            seen[test] = True
            if seen.all():
                return number
        return len(self.folds)

    def _add(self, family: str, settings: dict, held: list, votes: list, start: float) -> None:
        seconds = time.perf_counter() - start
        shape = (len(self.folds), len(self.sample), self.labels.targets.shape[1])
        candidate = Candidate(
            family,
            settings,
            np.vstack(held) if held else np.zeros((0, shape[2])),
            np.array(votes).reshape(len(votes), *shape[1:]),
            seconds,
        )
        self.candidates.append(candidate)

    def held_places(self, count: int) -> np.ndarray:
        """Return the places of the first rows held out, fold by fold."""
        places = [test for _, test in self.folds]
        return np.concatenate(places)[:count] if places else np.zeros(0, dtype=int)

    @property
    def n_held_out(self) -> int:
        """How many labels are held out, each counted once."""
        return len(np.unique(np.concatenate([test for _, test in self.folds]))) if self.folds else 0

    def judge(self, temperature: Temperature) -> None:
        """Score the candidates and share the decision among them.

        ``temperature`` fits the factor of values to held-out targets with weights.
        """
        for candidate in self.candidates:
            self._score(candidate)
            if self.kinds is not None and self.folds:
                candidate.temperature = self.fit_temperature(candidate.held, temperature)
        self._share()

    def fit_temperature(self, held: np.ndarray, fit: Temperature) -> float:
        """Return the factor of held-out values; a label held out several times counts once."""
        places = self.held_places(len(held))
        weights = np.full(len(places), len(np.unique(places)) / len(places))
        return fit(held, self.labels.targets[places], weights)

    def _score_classes(self, candidate: Candidate, places: np.ndarray, kinds: np.ndarray) -> None:
        c = max(self.labels.targets.shape[1], 2)
        l = len(np.unique(places))
        right = decisions(candidate.held) == kinds[places]
        candidate.held_out = float(right.mean()) if len(right) else np.nan
        votes = decisions(candidate.votes.reshape(-1, candidate.votes.shape[2]))
        votes = votes.astype(int).reshape(candidate.votes.shape[:2])
        candidate.agreement = _beyond_chance(votes, c)
        known = l * candidate.held_out if l else 0.0
        total = l + AGREEMENT_LABELS
        candidate.score = float(known + AGREEMENT_LABELS * candidate.agreement) / total
        p = candidate.score
        candidate.spread = float(np.sqrt(max(p * (1.0 - p), _LEAST_VARIANCE) / total))

    def _score_numbers(self, candidate: Candidate, places: np.ndarray) -> None:
        """R² of held-out targets, steadied by the share of variance on which machines agree."""
        targets = self.labels.targets[:, 0]
        variance = float(np.var(targets)) or 1.0
        l = len(np.unique(places))
        squares = (candidate.held[:, 0] - targets[places]) ** 2 / variance
        mean = float(squares.mean()) if len(squares) else np.nan
        candidate.held_out = 1.0 - mean
        votes = candidate.votes[:, :, 0]
        compared = len(votes) > 1 and votes.shape[1] > 0
        noise = float(votes.var(axis=0, ddof=1).mean()) / variance if compared else 1.0
        candidate.agreement = 1.0 - noise
        total = l + AGREEMENT_LABELS
        known = l * candidate.held_out if l else 0.0
        candidate.score = float(known + AGREEMENT_LABELS * candidate.agreement) / total
        spread = float(squares.std()) if len(squares) else 1.0
        candidate.spread = max(spread, 0.01) / np.sqrt(total)

    def best(self, supervised: bool | None = None) -> Candidate:
        """Return the candidate of the highest score: of all, of supervised ones or of others."""
        chosen = [
            candidate
            for candidate in self.candidates
            if supervised is None or candidate.supervised == supervised
        ]
        return max(chosen, key=lambda candidate: candidate.score)

    def blend(self) -> Candidate:
        """Return the blend as if it were a candidate, scored, with what it held out."""
        chosen = [candidate for candidate in self.candidates if candidate.weight > 0]
        folds = min(len(c.votes) for c in chosen)
        count = sum(len(test) for _, test in self.folds[:folds])
        held = np.zeros((count, self.labels.targets.shape[1]))
        votes = np.zeros((folds, *chosen[0].votes.shape[1:]))
        for candidate in chosen:
            factor = candidate.weight * candidate.temperature
            held += factor * candidate.held[:count]
            votes += factor * candidate.votes[:folds]
        blend = Candidate("blend", {}, held, votes, 0.0)
        self._score(blend)
        return blend

    def _score(self, candidate: Candidate) -> None:
        places = self.held_places(len(candidate.held))
        if self.kinds is None:
            self._score_numbers(candidate, places)
        else:
            self._score_classes(candidate, places, self.kinds)

    def _share(self) -> None:
        field_ = self.candidates
        if not self.folds:  # nothing can be held out: the families share the decision evenly
            for candidate in field_:
                others = sum(other.family == candidate.family for other in field_)
                candidate.weight = 1.0 / others / len({other.family for other in field_})
            return
        plain = self.best(supervised=True)
        standing = np.array([c.score + LEAD * plain.spread * c.supervised for c in field_])
        best = field_[int(standing.argmax())]
        weights = (standing - standing.max()) / best.spread
        weights = np.exp(weights)
        names = np.array([c.family for c in field_])
        for family in dict.fromkeys(names):  # many good settings of a family are hardly wiser
            own = names == family
            weights[own] *= np.linalg.norm(weights[own]) / weights[own].sum()
        weights /= weights.sum()
        weights[weights < LEAST_SHARE] = 0.0
        weights /= weights.sum()
        for candidate, weight in zip(field_, weights, strict=True):
            candidate.weight = float(weight)


def make_folds(kinds: np.ndarray | None, l: int, seed: int) -> list[Fold]:
    """Return folds over l labelled rows that hold out every label equally often.

    Classes are spread evenly. The only label of a class is never held out: nothing would be left
    to learn it from. Without two labels of any class there is no fold.
    """
    rng = np.random.default_rng(seed)
    groups = (
        [np.arange(l)] if kinds is None else [np.flatnonzero(kinds == k) for k in np.unique(kinds)]
    )
    groups = [group for group in groups if len(group) > 1]
    if not groups:
        return []
    splits = min(FOLDS, max(2, int(np.median([len(group) for group in groups]))))
    folds: list[Fold] = []
    while len(folds) < MACHINES:
        fold = np.full(l, -1)
        for group in groups:
            start = rng.integers(splits)
            fold[rng.permutation(group)] = (start + np.arange(len(group))) % splits
        for k in range(splits):
            test = np.flatnonzero(fold == k)
            if len(test):
                folds.append((np.flatnonzero(fold != k), test))
    return folds


def _beyond_chance(votes: np.ndarray, c: int) -> float:
    """Return the mean agreement of voters, 1/c where it is no more than chance.

    A machine that calls all rows the same agrees with its copies and has learnt nothing.
    """
    m, s = votes.shape
    if m < 2 or s == 0:
        return 1.0 / c
    counts = np.stack([(votes == k).sum(axis=0) for k in range(c)], axis=1).astype(float)
    agree = float(((counts * (counts - 1.0)).sum(axis=1) / (m * (m - 1.0))).mean())
    shares = counts.sum(axis=0) / (m * s)
    chance = float((shares**2).sum())
    beyond = (agree - chance) / max(1.0 - chance, 0.02)
    return 1.0 / c + (1.0 - 1.0 / c) * float(np.clip(beyond, 0.0, 1.0))
