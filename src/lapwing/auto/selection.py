"""Scores of the candidates over the labelled rows alone, and their shares in the decision.

With a handful of labels held-out accuracy alone says little, and much of what it says is luck. Each
candidate is therefore judged by a second quantity, which needs no labels: whether the models of
different folds agree on unlabelled rows. A model cannot be right where its copies disagree.
Agreement beyond chance counts as `AGREEMENT_LABELS` labels beside those held out.

Supervised candidates are the simpler ones: they get a standard error more. Candidates within about
a standard error of the best share the decision, so that chance between equals does not decide.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..estimators.calibration import fit_temperature
from ..solvers import decisions
from .families import MARGIN, SUPERVISED, LinearSetting
from .labels import Labels

#: Labels that the agreement of fold models counts for.
AGREEMENT_LABELS = 8.0
#: Standard errors by which candidates with unlabelled rows must win over supervised ones.
LEAD = 1.0
#: The least variance of a score: that of an accuracy of 99 %.
_LEAST_VARIANCE = 0.01
#: Shares of the blend below this are left out.
LEAST_SHARE = 0.02
#: Folds at most, least number of fold models, and those of families that are slow to fit.
FOLDS, FOLD_MODELS, SLOW_FOLD_MODELS = 5, 10, 5

Fold = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Trial:
    """What the fold models of one setting predict.

    Attributes
    ----------
    family : str
        "supervised", "manifold", "graph" or "margin"; "blend" for their weighted sum.
    settings : dict
        Parameters.
    held_out : ndarray of shape (h, c)
        Values of the labelled rows, fold by fold, by models that have not seen their labels.
    on_sample : ndarray of shape (folds, s, c)
        Values of the fold models on a sample of unlabelled rows.
    seconds : float
        What trying it took.
    """

    family: str
    settings: dict[str, Any]
    held_out: np.ndarray
    on_sample: np.ndarray
    seconds: float = 0.0


@dataclass(frozen=True)
class Candidate:
    """A setting of a family with its scores.

    Attributes
    ----------
    family, settings, seconds
        As in `Trial`.
    score, spread : float
        Score that decides, of held-out labels and agreement together, and its standard error.
    held_out : float
        The held-out score alone.
    agreement : float
        Agreement of the fold models alone.
    weight : float
        Share in the blend.
    temperature : float
        Factor that brings its values to the scale of the others.
    """

    family: str
    settings: dict[str, Any]
    seconds: float = 0.0
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

    @property
    def factor(self) -> float:
        """Factor of its values in the blend."""
        return self.weight * self.temperature


@dataclass(frozen=True)
class Folds:
    """On what candidates are compared.

    Attributes
    ----------
    labels : Labels
        The labelled rows that are used for the selection.
    folds : list of Fold
        Indices among them: to learn from, and held out.
    sample : ndarray
        Rows on which fold models are compared.
    """

    labels: Labels
    folds: list[Fold]
    sample: np.ndarray

    def held_out_index(self, count: int) -> np.ndarray:
        """Return the indices of the first ``count`` labels held out, fold by fold."""
        index = [test for _, test in self.folds]
        return np.concatenate(index)[:count] if index else np.zeros(0, dtype=int)

    @property
    def n_held_out(self) -> int:
        """How many labels are held out, each counted once."""
        return len(np.unique(self.held_out_index(sum(len(test) for _, test in self.folds))))

    def run_linear(self, settings: Iterator[LinearSetting]) -> Iterator[Trial]:
        """Yield trials of settings that are linear in the labels."""
        start = time.perf_counter()
        for setting in settings:
            held_out, on_sample = [], []
            R, t, A = setting.reduction.R, setting.reduction.t, setting.on_sample
            for train, test in self.folds:
                c, b = setting.solve(self.labels, train)
                held_out.append(R[np.ix_(test, train)] @ c + np.outer(t[test], b))
                on_sample.append(A[:, train] @ c + np.outer(A[:, -1], b))
            yield self._trial(setting.family, setting.settings, held_out, on_sample, start)
            start = time.perf_counter()

    def run_margin(self, family: Any, X: Any) -> Iterator[Trial]:
        """Yield trials of a family that is fitted again for each fold; X are its rows."""
        folds = self.folds[: max(SLOW_FOLD_MODELS, self._splits())]
        for settings in family.settings():
            start = time.perf_counter()
            held_out, on_sample = [], []
            for train, test in folds:
                function = family.fit_fold(settings, self.labels, train)
                held_out.append(function.values(X[self.labels.index[test]]))
                on_sample.append(function.values(X[self.sample]))
            yield self._trial(MARGIN, settings, held_out, on_sample, start)

    def _splits(self) -> int:
        """Return how many folds hold every label out once."""
        seen = np.zeros(len(self.labels.index), dtype=bool)
        for number, (_, test) in enumerate(self.folds, start=1):
            seen[test] = True
            if seen.all():
                return number
        return len(self.folds)

    def _trial(
        self, family: str, settings: dict, held_out: list, on_sample: list, start: float
    ) -> Trial:
        columns = self.labels.targets.shape[1]
        return Trial(
            family,
            settings,
            np.vstack(held_out) if held_out else np.zeros((0, columns)),
            np.array(on_sample).reshape(len(on_sample), len(self.sample), columns),
            time.perf_counter() - start,
        )

    def fit_temperature(self, held_out: np.ndarray) -> float:
        """Return the factor of held-out values; a label held out several times counts once."""
        assert self.labels.codes is not None
        index = self.held_out_index(len(held_out))
        weights = np.full(len(index), len(np.unique(index)) / len(index))
        return fit_temperature(held_out, self.labels.codes[index], weights)


@dataclass(frozen=True)
class Selected:
    """What was tried and chosen.

    Attributes
    ----------
    folds : Folds
        On what candidates were compared.
    trials : list of Trial
        What their fold models predict.
    candidates : list of Candidate
        The same with scores and shares.
    """

    folds: Folds
    trials: list[Trial]
    candidates: list[Candidate]

    @property
    def temperature(self) -> float:
        """Factor of the blend's values in probabilities of classes."""
        if self.folds.labels.codes is None or not self.folds.folds:
            return 1.0
        held_out = blend(self.folds, self.trials, self.candidates).held_out
        return self.folds.fit_temperature(held_out)


def judge(folds: Folds, trials: Sequence[Trial]) -> list[Candidate]:
    """Return the candidates of all trials, scored, with their shares in the decision."""
    candidates = []
    for trial in trials:
        candidate = score(folds, trial)
        if folds.labels.codes is not None and folds.folds:
            temperature = folds.fit_temperature(trial.held_out)
            candidate = replace(candidate, temperature=temperature)
        candidates.append(candidate)
    weights = _shares(candidates) if folds.folds else _even_shares(candidates)
    return [replace(c, weight=float(w)) for c, w in zip(candidates, weights, strict=True)]


def only(candidates: Sequence[Candidate], family: str) -> list[Candidate]:
    """Return the candidates with the whole decision given to the best of one family."""
    best = best_of([c for c in candidates if c.family == family])
    return [replace(c, weight=float(c is best)) for c in candidates]


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate of the highest score."""
    return max(candidates, key=lambda candidate: candidate.score)


def blend(folds: Folds, trials: Sequence[Trial], candidates: Sequence[Candidate]) -> Trial:
    """Return the weighted sum of the candidates as a trial."""
    pairs = [(t, c.factor) for t, c in zip(trials, candidates, strict=True) if c.weight > 0]
    n_folds = min(len(trial.on_sample) for trial, _ in pairs)
    count = sum(len(test) for _, test in folds.folds[:n_folds])
    held_out = np.zeros((count, folds.labels.targets.shape[1]))
    on_sample = np.zeros((n_folds, *pairs[0][0].on_sample.shape[1:]))
    for trial, factor in pairs:
        held_out += factor * trial.held_out[:count]
        on_sample += factor * trial.on_sample[:n_folds]
    return Trial("blend", {}, held_out, on_sample)


def score(folds: Folds, trial: Trial) -> Candidate:
    """Return a trial with its scores."""
    index = folds.held_out_index(len(trial.held_out))
    if folds.labels.codes is None:
        return _score_quantities(folds, trial, index)
    return _score_classes(folds, trial, index, folds.labels.codes)


def _score_classes(folds: Folds, trial: Trial, index: np.ndarray, codes: np.ndarray) -> Candidate:
    """Accuracy on held-out labels, together with agreement beyond chance."""
    c = max(folds.labels.targets.shape[1], 2)
    l = len(np.unique(index))
    right = decisions(trial.held_out) == codes[index]
    held_out = float(right.mean()) if len(right) else np.nan
    votes = decisions(trial.on_sample.reshape(-1, trial.on_sample.shape[2]))
    agreement = beyond_chance(votes.astype(int).reshape(trial.on_sample.shape[:2]), c)
    known, total = l * held_out if l else 0.0, l + AGREEMENT_LABELS
    p = float(known + AGREEMENT_LABELS * agreement) / total
    spread = float(np.sqrt(max(p * (1.0 - p), _LEAST_VARIANCE) / total))
    return Candidate(trial.family, trial.settings, trial.seconds, p, spread, held_out, agreement)


def _score_quantities(folds: Folds, trial: Trial, index: np.ndarray) -> Candidate:
    """R² of held-out targets, together with the share of variance on which models agree."""
    targets = folds.labels.targets[:, 0]
    variance = float(np.var(targets)) or 1.0
    l = len(np.unique(index))
    squares = (trial.held_out[:, 0] - targets[index]) ** 2 / variance
    held_out = 1.0 - (float(squares.mean()) if len(squares) else np.nan)
    votes = trial.on_sample[:, :, 0]
    compared = len(votes) > 1 and votes.shape[1] > 0
    noise = float(votes.var(axis=0, ddof=1).mean()) / variance if compared else 1.0
    agreement, total = 1.0 - noise, l + AGREEMENT_LABELS
    known = l * held_out if l else 0.0
    combined = float(known + AGREEMENT_LABELS * agreement) / total
    deviation = float(squares.std()) if len(squares) else 1.0
    spread = max(deviation, 0.01) / np.sqrt(total)
    return Candidate(
        trial.family, trial.settings, trial.seconds, combined, spread, held_out, agreement
    )


def _even_shares(candidates: Sequence[Candidate]) -> list[float]:
    """Return the same share for each family, where nothing can be held out."""
    families = [candidate.family for candidate in candidates]
    return [1.0 / families.count(family) / len(set(families)) for family in families]


def _shares(candidates: Sequence[Candidate]) -> np.ndarray:
    """Return the shares of scored candidates."""
    supervised = best_of([c for c in candidates if c.supervised])
    standing = np.array([c.score + LEAD * supervised.spread * c.supervised for c in candidates])
    best = candidates[int(standing.argmax())]
    weights = np.exp((standing - standing.max()) / best.spread)
    names = np.array([c.family for c in candidates])
    for family in dict.fromkeys(names):  # many good settings of a family are hardly wiser
        own = names == family
        weights[own] *= np.linalg.norm(weights[own]) / weights[own].sum()
    weights /= weights.sum()
    weights[weights < LEAST_SHARE] = 0.0
    return weights / weights.sum()


def make_folds(codes: np.ndarray | None, l: int, seed: int) -> list[Fold]:
    """Return folds over l labelled rows that hold out every label equally often.

    Classes are spread evenly. The only label of a class is never held out: nothing would be left
    to learn it from. Without two labels of any class there is no fold.
    """
    rng = np.random.default_rng(seed)
    groups = (
        [np.arange(l)] if codes is None else [np.flatnonzero(codes == k) for k in np.unique(codes)]
    )
    groups = [group for group in groups if len(group) > 1]
    if not groups:
        return []
    splits = min(FOLDS, max(2, int(np.median([len(group) for group in groups]))))
    folds: list[Fold] = []
    while len(folds) < FOLD_MODELS:
        fold = np.full(l, -1)
        for group in groups:
            start = rng.integers(splits)
            fold[rng.permutation(group)] = (start + np.arange(len(group))) % splits
        for k in range(splits):
            test = np.flatnonzero(fold == k)
            if len(test):
                folds.append((np.flatnonzero(fold != k), test))
    return folds


def beyond_chance(votes: np.ndarray, c: int) -> float:
    """Return the mean agreement of fold models, 1/c where it is no more than chance.

    A model that puts all rows into one class agrees with its copies and has learnt nothing.
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
