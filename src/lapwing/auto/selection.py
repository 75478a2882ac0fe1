"""Scores of the candidates over the labelled rows alone, and their shares in the decision.

With few labels, held-out accuracy alone is mostly chance. Each candidate is therefore also judged
by a quantity that needs no labels: how far the models of different folds agree on unlabelled rows.
A model cannot be right where its copies disagree. Agreement beyond chance counts as much as
`AGREEMENT_LABELS` held-out labels.

The decision is shared, so that chance does not decide between equals, by the mean of two rules. One
follows the scores: shares fall by a factor e for each standard error below the best, and supervised
candidates, which are simpler, get a bonus of one. The other follows the evidence: shares are
proportional to the likelihood of the held-out labels, with the agreement as further ones. Scores
are careful and blend many candidates; the evidence is faster to drop one that is sure and wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..estimators.calibration import probabilities
from ..solvers.stopping import decisions
from .candidate_settings import SUPERVISED, without_scale
from .folds import Folds, Trial
from .labels import PRIOR, Labels, effective_number, sample_probability

#: Held-out labels that the agreement of fold models is worth.
AGREEMENT_LABELS = 8.0
#: Standard errors by which candidates that use unlabelled rows must beat supervised ones.
LEAD = 1.0
#: The same for the logarithm of the likelihood.
_LEAD_OF_EVIDENCE = 0.5
#: The smallest variance of a score: that of an accuracy of 99 %.
_LEAST_VARIANCE = 0.01
#: The smallest probability of a held-out class, and share of unexplained variance.
_LEAST_PROBABILITY, _LEAST_ERROR = 1e-12, 1e-3
#: Shares of the blend below this are set to zero.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Candidate:
    """A setting of a family with its scores.

    Attributes
    ----------
    family, settings, seconds
        As in `Trial`.
    score, spread : float
        Score that decides, from held-out labels and agreement together, and its standard error.
    held_out : float
        Score of the held-out labels alone.
    agreement : float
        Agreement of the fold models alone.
    evidence : float
        Logarithm of the likelihood of the held-out labels and of the agreement.
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
    evidence: float = np.nan
    weight: float = 0.0
    temperature: float = 1.0

    @property
    def supervised(self) -> bool:
        """Whether it uses labelled rows only."""
        return self.family == SUPERVISED

    @property
    def scored(self) -> bool:
        """Whether labels were held out for it."""
        return not np.isnan(self.evidence)

    @property
    def factor(self) -> float:
        """Factor of its values in the blend."""
        return self.weight * self.temperature

    def has_settings_of(self, other: Candidate) -> bool:
        """Return whether both are the same model, fitted to whichever labels."""
        same = without_scale(self.settings) == without_scale(other.settings)
        return same and self.family == other.family


@dataclass(frozen=True)
class Selected:
    """The candidates that were compared, and how.

    Attributes
    ----------
    folds : Folds
        The folds on which they were tried.
    trials : list of Trial
        The predictions of their fold models.
    candidates : list of Candidate
        The same settings with scores and shares.
    scored : list of Candidate or None
        The same with shares by these scores alone, if others come from an earlier selection.
    """

    folds: Folds
    trials: list[Trial]
    candidates: list[Candidate]
    scored: list[Candidate] | None = None

    @property
    def blend(self) -> Trial:
        """The weighted sum of the candidates as a trial."""
        pairs = zip(self.trials, self.candidates, strict=True)
        used = [(trial, candidate.factor) for trial, candidate in pairs if candidate.weight > 0]
        n_folds = min(len(trial.on_sample) for trial, _ in used)
        n_held_out = len(self.folds.held_out_index(n_folds))
        held_out = np.zeros((n_held_out, used[0][0].held_out.shape[1]))
        on_sample = np.zeros((n_folds, *used[0][0].on_sample.shape[1:]))
        for trial, factor in used:
            held_out += factor * trial.held_out[:n_held_out]
            on_sample += factor * trial.on_sample[:n_folds]
        return Trial("blend", {}, held_out, on_sample)

    def sample_probability(self) -> float:
        """Return the probability that the labels are a random sample, by held-out predictions."""
        trial, codes = self.blend, self.folds.labels.codes
        if codes is None or not len(trial.held_out) or not trial.on_sample.size:
            return PRIOR
        temperature = self.folds.fit_temperature(trial)
        on_sample = trial.on_sample.reshape(-1, trial.on_sample.shape[2])
        shares = probabilities(on_sample, temperature).mean(axis=0)
        index, l = self.folds.held_out_index(len(trial.on_sample)), len(codes)
        P, times = np.zeros((l, len(shares))), np.bincount(index, minlength=l)[:, None]
        np.add.at(P, index, probabilities(trial.held_out, temperature))
        P = np.where(times > 0, P / np.maximum(times, 1), shares)  # where a class has one label
        return sample_probability(P, codes, shares)

    def averaged_with(self, before: Sequence[Candidate], share: float) -> Selected:
        """Return the same with shares of which some are those of an earlier selection.

        Each selection depends on chance as long as labels are few, and on some of the classes where
        these have most labels. So a model that was selected before is not dropped at once.
        """
        shares = (1.0 - share) * np.array([candidate.weight for candidate in self.candidates])
        for k, candidate in enumerate(self.candidates):
            shares[k] += share * sum(c.weight for c in before if c.has_settings_of(candidate))
        pairs = zip(self.candidates, _without_least(shares), strict=True)
        averaged = [replace(c, weight=weight) for c, weight in pairs]
        return replace(self, candidates=averaged, scored=self.candidates)

    @property
    def shares(self) -> dict[str, float]:
        """The shares of the families in the decision."""
        shares: dict[str, float] = {}
        for candidate in self.candidates:
            shares[candidate.family] = shares.get(candidate.family, 0.0) + candidate.weight
        return shares


def judge(folds: Folds, trials: Sequence[Trial]) -> list[Candidate]:
    """Return the candidates of all trials, scored, with their shares in the decision."""
    candidates = [_candidate(folds, trial) for trial in trials]
    if folds.folds:
        weights = _shares(candidates)
    else:
        weights = _shares_without_scores(candidates, folds.labels)
    return [replace(c, weight=w) for c, w in zip(candidates, weights, strict=True)]


def _candidate(folds: Folds, trial: Trial) -> Candidate:
    """Return a trial with its scores, its evidence and the scale of its values."""
    found, temperature = score(folds, trial), folds.fit_temperature(trial)
    evidence = _evidence(folds, trial, found, temperature) if folds.folds else np.nan
    return replace(found, temperature=temperature, evidence=evidence)


def _evidence(folds: Folds, trial: Trial, found: Candidate, temperature: float) -> float:
    """Return the log likelihood of the held-out labels, each counted once, and of the agreement.

    Quantities are Gaussian, with the variance that makes them most likely.
    """
    labels, index = folds.labels, folds.held_out_index(len(trial.on_sample))
    l = len(np.unique(index))
    if labels.codes is None:
        error = max(1.0 - found.score, _LEAST_ERROR)
        return -0.5 * (l + AGREEMENT_LABELS) * float(np.log(error))
    P = probabilities(trial.held_out, temperature)[np.arange(len(index)), labels.codes[index]]
    likely = np.log(np.maximum(P, _LEAST_PROBABILITY))
    known = folds.worth * float(np.average(likely, weights=labels.counting[index]))
    agreement = 1.0 / max(len(labels.counts), 2) if np.isnan(found.agreement) else found.agreement
    return known + AGREEMENT_LABELS * float(np.log(agreement))


def only(candidates: Sequence[Candidate], family: str) -> list[Candidate]:
    """Return the candidates with the whole decision given to the best of one family."""
    best = best_of([c for c in candidates if c.family == family])
    return [replace(c, weight=float(c is best)) for c in candidates]


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate of the highest score."""
    return max(candidates, key=lambda candidate: candidate.score)


def best_supervised(candidates: Sequence[Candidate]) -> Candidate:
    """Return the supervised candidate of the highest score."""
    return best_of([candidate for candidate in candidates if candidate.supervised])


def score(folds: Folds, trial: Trial) -> Candidate:
    """Return a trial with its scores."""
    index = folds.held_out_index(len(trial.on_sample))
    l = len(np.unique(index))
    measure = _score_quantities if folds.labels.codes is None else _score_classes
    held_out, agreement, combined, spread = measure(folds.labels, trial, index, l)
    return Candidate(
        trial.family, trial.settings, trial.seconds, combined, spread, held_out, agreement
    )


def _score_classes(
    labels: Labels, trial: Trial, index: np.ndarray, l: int
) -> tuple[float, float, float, float]:
    """Return accuracy, agreement of fold models, both combined, and the standard error.

    Where labels are chosen by class, all classes count the same, and the labels are worth as many
    as would give the same standard error if they counted the same.
    """
    assert labels.codes is not None
    right, counting = decisions(trial.held_out) == labels.codes[index], labels.counting[index]
    held_out = float(np.average(right, weights=counting)) if len(right) else np.nan
    worth = effective_number(counting) * l / len(index) if l else 0.0
    votes = decisions(trial.on_sample.reshape(-1, trial.on_sample.shape[2]))
    votes = votes.astype(int).reshape(trial.on_sample.shape[:2])
    agreement = beyond_chance(votes, max(labels.targets.shape[1], 2))
    p = _combine(worth, held_out, agreement)
    agreement = agreement if len(votes) > 1 and votes.size else np.nan  # of one model, none
    spread = np.sqrt(max(p * (1.0 - p), _LEAST_VARIANCE) / (worth + AGREEMENT_LABELS))
    return held_out, agreement, p, float(spread)


def _score_quantities(
    labels: Labels, trial: Trial, index: np.ndarray, l: int
) -> tuple[float, float, float, float]:
    """Return R², the share of variance on which fold models agree, both combined, and its error."""
    targets = labels.targets[:, 0]
    variance = float(np.var(targets)) or 1.0
    squares = (trial.held_out[:, 0] - targets[index]) ** 2 / variance
    held_out, deviation = np.nan, 1.0
    if l:
        held_out, deviation = 1.0 - float(squares.mean()), float(squares.std())
    values = trial.on_sample[:, :, 0]
    compared = len(values) > 1 and values.shape[1] > 0
    agreement = 1.0 - float(values.var(axis=0, ddof=1).mean()) / variance if compared else 0.0
    combined = _combine(l, held_out, agreement)
    agreement = agreement if compared else np.nan
    return held_out, agreement, combined, max(deviation, 0.01) / np.sqrt(l + AGREEMENT_LABELS)


def _combine(l: float, held_out: float, agreement: float) -> float:
    """Return the mean of the held-out score of l labels and of the agreement."""
    known = l * held_out if l else 0.0
    return float(known + AGREEMENT_LABELS * agreement) / (l + AGREEMENT_LABELS)


def _shares_without_scores(candidates: Sequence[Candidate], labels: Labels) -> list[float]:
    """Return the same share for each family, for labels of which none can be held out.

    The supervised family gets none with one label per class: it is worse than each of the others on
    nearly all data, and nothing can show where it is not. With three targets it is not worse.
    """
    families = [candidate.family for candidate in candidates]
    used = set(families)
    if labels.codes is not None and used != {SUPERVISED}:
        used -= {SUPERVISED}
    return [float(family in used) / families.count(family) / len(used) for family in families]


def _shares(candidates: Sequence[Candidate]) -> list[float]:
    """Return the shares of scored candidates: the mean of those by score and by evidence."""
    families = np.array([c.family for c in candidates])
    supervised = families == SUPERVISED
    scores = np.array([c.score for c in candidates])
    scores = scores + LEAD * best_supervised(candidates).spread * supervised
    scores /= candidates[int(scores.argmax())].spread
    evidence = np.array([c.evidence for c in candidates]) + _LEAD_OF_EVIDENCE * supervised
    return _without_least(_exponential(scores, families) + _exponential(evidence, families))


def _without_least(shares: np.ndarray) -> list[float]:
    """Return shares with sum one, the least ones set to zero."""
    shares = np.where(shares < LEAST_SHARE * shares.sum(), 0.0, shares)
    return (shares / shares.sum()).tolist()


def _exponential(logarithms: np.ndarray, families: np.ndarray) -> np.ndarray:
    """Return shares of given logarithms, up to a constant."""
    shares = np.exp(logarithms - logarithms.max())
    for family in dict.fromkeys(families):  # n equal settings of a family count as √n
        own = families == family
        if shares[own].any():
            shares[own] *= np.linalg.norm(shares[own]) / shares[own].sum()
    return shares / shares.sum()


def beyond_chance(votes: np.ndarray, c: int) -> float:
    """Return the mean agreement of fold models, 1/c where it is at most that of chance.

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
