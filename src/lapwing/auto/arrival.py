"""Labels that arrive after a selection: what they are a sample of, and whether it is outdated.

Both are judged by what the selected models predicted for these rows before they were labelled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays.packing import expect, expect_finite
from ..estimators.targets import Targets
from .labels import Labels, sample_probability

#: Factor by which the labels that count may grow before models are selected again.
MOST_GROWTH = 2
#: Standard errors by which new labels may be predicted worse than the probabilities promised.
MOST_DISAPPOINTMENT = 2.0


@dataclass(frozen=True)
class LastSelection:
    """What is kept of a selection to judge labels that arrive later.

    Attributes
    ----------
    labelled : ndarray of int
        The rows that were labelled.
    sampled : float
        Probability that they were a random sample.
    said : float or None
        The same if the user said it, 0 or 1.
    codes : ndarray of int or None
        Their classes; None for quantities.
    classes : ndarray or None
        The classes by code.
    probabilities : ndarray of shape (n, n_classes) or None
        Class probabilities of all rows by the models that were selected.
    """

    labelled: np.ndarray
    sampled: float
    said: float | None = None
    codes: np.ndarray | None = None
    classes: np.ndarray | None = None
    probabilities: np.ndarray | None = None

    def outdated(self, targets: Targets, labels: Labels) -> str:
        """Return why models should be selected again, an empty text if there is no reason.

        Many labels of one class say little about which models are better.
        """
        if self.classes is not None and not self._has_classes_of(targets):
            return "the classes have changed"
        if labels.worth >= MOST_GROWTH * labels.worth_of(self.codes, len(self.labelled)):
            return f"there are {len(targets.index)} labels instead of {len(self.labelled)}"
        if self.codes is None:
            return ""
        if self._corrected(targets):
            return "labels have been corrected"
        if np.bincount(self.codes).max() < 2:  # nothing was held out, so nothing was promised
            return ""
        P, codes = self._arrived(targets)
        promised = P.max(axis=1)
        error = np.sqrt((promised * (1.0 - promised)).sum())
        missed = promised.sum() - np.sum(P.argmax(axis=1) == codes)
        if missed > max(MOST_DISAPPOINTMENT * error, 1.0):
            return "labels that were added differ from the predictions more than expected"
        return ""

    def share(self, targets: Targets, labels: Labels) -> float:
        """Return the share that its models have in a repeated selection, at most one half.

        Selections count as much as their labels. One by labels that were wrong does not count.
        """
        if self._has_classes_of(targets) and self._corrected(targets):
            return 0.0
        before = labels.worth_of(self.codes, len(self.labelled))
        return before / (before + max(labels.worth, before))

    def sampled_now(self, targets: Targets) -> float:
        """Return the probability that the labels are a random sample, given those that arrived."""
        if self.said is not None:
            return self.said
        if self.probabilities is None or not self._has_classes_of(targets):
            return self.sampled
        P, codes = self._arrived(targets)
        if not len(P):  # as where every row was labelled
            return self.sampled
        unlabelled = np.ones(len(self.probabilities), dtype=bool)
        unlabelled[self.labelled] = False
        shares = self.probabilities[unlabelled].mean(axis=0)
        return sample_probability(P, codes, shares, self.sampled)

    def _corrected(self, targets: Targets) -> bool:
        """Return whether rows that were labelled have other classes now."""
        given = targets.given[self.labelled]
        return self.codes is not None and bool(np.any((given >= 0) & (given != self.codes)))

    def _has_classes_of(self, targets: Targets) -> bool:
        return np.array_equal(np.asarray(self.classes), np.asarray(targets.classes))

    def _arrived(self, targets: Targets) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities and codes of the rows that were labelled since."""
        assert self.probabilities is not None
        new = np.setdiff1d(targets.index, self.labelled)
        return self.probabilities[new], targets.given[new]

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        expect(self.labelled.ndim == 1 and self.labelled.dtype.kind == "i")
        expect(len(self.labelled) > 0 and self.labelled.min() >= 0)
        expect(0.0 <= self.sampled <= 1.0 and self.said in (None, 0.0, 1.0))
        if self.codes is None or self.classes is None or self.probabilities is None:
            expect(self.codes is None and self.classes is None and self.probabilities is None)
            return
        expect(self.codes.shape == self.labelled.shape and self.codes.dtype.kind == "i")
        expect(0 <= self.codes.min() <= self.codes.max() < len(self.classes))
        expect(self.probabilities.ndim == 2 and self.labelled.max() < len(self.probabilities))
        expect(self.probabilities.shape[1] == len(self.classes))
        expect_finite(self.probabilities)
