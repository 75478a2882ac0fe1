"""Folds over the labelled rows, and the predictions of models that are fitted to them.

Labels are held out, rows are not. Knows no scores.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.calibration import fit_temperature
from .candidate_settings import Fold
from .labels import Labels, effective_number

#: Targets of a regressor with which models can be compared: R² of fewer means nothing.
FEWEST_TARGETS = 4
#: The most folds, the least number of fold models, and that of families that are slow to fit.
FOLDS, FOLD_MODELS, SLOW_FOLD_MODELS = 5, 10, 5


@dataclass(frozen=True)
class Trial:
    """The predictions of the fold models of one setting.

    Attributes
    ----------
    family : str
        Name of the family; "blend" for the weighted sum of candidates.
    settings : dict
        Parameters.
    held_out : ndarray of shape (h, c)
        Values of the labelled rows, fold by fold, by models that have not seen their labels.
    on_sample : ndarray of shape (folds, s, c)
        Values of the fold models on a sample of unlabelled rows.
    seconds : float
        Time of the trial.
    """

    family: str
    settings: dict[str, Any]
    held_out: np.ndarray
    on_sample: np.ndarray
    seconds: float = 0.0


@dataclass(frozen=True)
class Folds:
    """The labels, folds and rows by which candidates are compared.

    Attributes
    ----------
    labels : Labels
        The labels that are used for the selection.
    folds : list of Fold
        The folds; empty where no label can be held out.
    sample : ndarray of int
        Rows on which fold models are compared.
    """

    labels: Labels
    folds: list[Fold]
    sample: np.ndarray

    def held_out_index(self, n_folds: int) -> np.ndarray:
        """Return the indices of the labels that the first folds hold out, fold by fold."""
        index = [test for _, test in self.folds[:n_folds]]
        return np.concatenate([np.zeros(0, dtype=int), *index])

    @property
    def worth(self) -> float:
        """How many held-out labels that all count the same give scores of the same error."""
        index = np.unique(self.held_out_index(len(self.folds)))
        return effective_number(self.labels.counting[index])

    def run(self, settings: Iterable[Any], *, slow: bool = False) -> Iterator[Trial]:
        """Yield the trial of each setting of a family; slow ones are tried on fewer folds."""
        folds, c = self._first_folds() if slow else self.folds, self.labels.targets.shape[1]
        start = time.perf_counter()
        for setting in settings:
            found = setting.values_of_folds(self.labels, folds)
            held_out = np.vstack([np.zeros((0, c)), *(of_test for of_test, _ in found)])
            on_sample = np.array([of_sample for _, of_sample in found])
            on_sample = on_sample.reshape(len(folds), len(self.sample), c)
            seconds = time.perf_counter() - start
            yield Trial(setting.family, setting.settings, held_out, on_sample, seconds)
            start = time.perf_counter()

    def _first_folds(self) -> list[Fold]:
        """Return the first folds that hold out every label, or all folds if none do."""
        for number in range(SLOW_FOLD_MODELS, len(self.folds)):
            if len(np.unique(self.held_out_index(number))) == len(self.labels.index):
                return self.folds[:number]
        return self.folds

    def fit_temperature(self, trial: Trial) -> float:
        """Return the factor of a trial's values in probabilities; 1 where it is not known.

        A label that is held out several times counts once.
        """
        if self.labels.codes is None or not self.folds:
            return 1.0
        index = self.held_out_index(len(trial.on_sample))
        weights = self.labels.counting[index] * len(np.unique(index)) / len(index)
        return fit_temperature(trial.held_out, self.labels.codes[index], weights)


def make_folds(codes: np.ndarray | None, l: int, seed: int) -> list[Fold]:
    """Return folds over l labelled rows that hold out every label equally often.

    Classes are spread evenly. The only label of a class is never held out: nothing would be left
    to learn it from. Without two labels of any class, or with fewer than `FEWEST_TARGETS`
    quantities, there is no fold.
    """
    if codes is None and l < FEWEST_TARGETS:
        return []
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
