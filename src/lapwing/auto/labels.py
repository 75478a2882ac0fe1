"""The labels as candidates see them: indices among the rows in use, targets and weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..estimators.targets import Targets


@dataclass(frozen=True)
class Labels:
    """Labelled rows with their targets and weights.

    Attributes
    ----------
    index : ndarray of shape (l,)
        Indices of the labelled rows among the rows in use.
    targets : ndarray of shape (l, c)
        ±1 for each class against the rest, one column for two classes; or quantities.
    weights : ndarray of shape (l,)
        Weights of the losses.
    codes : ndarray of int, shape (l,), or None
        Class codes; None for quantities.
    shares : ndarray of shape (n_classes,) or None
        Expected shares of the classes among the unlabelled rows; None where they are not known.
    """

    index: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    codes: np.ndarray | None = None
    shares: np.ndarray | None = None

    @classmethod
    def among(cls, rows: np.ndarray, targets: Targets) -> Labels:
        """Return the labels with indices among some rows, which are given in ascending order."""
        codes = None if targets.classes is None else targets.given[targets.index]
        weights = targets.weights / targets.weights.mean()
        index = np.searchsorted(rows, targets.index)
        return cls(index, targets.values, weights, codes, targets.shares)

    def take(self, index: np.ndarray | slice) -> Labels:
        """Return some of the labels."""
        codes = None if self.codes is None else self.codes[index]
        kept = self.index[index], self.targets[index], self.weights[index]
        return Labels(*kept, codes, self.shares)

    @property
    def even_weights(self) -> np.ndarray:
        """Weights under which all classes count the same, however many labels they have."""
        if self.codes is None:
            return self.weights
        sums = np.bincount(self.codes, weights=self.weights)
        share = self.weights.sum() / np.count_nonzero(sums)
        return self.weights * share / sums[self.codes]


def draw_labels(labels: Labels, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return indices of at most ``most`` labels, two of each class before any third."""
    l = len(labels.index)
    order = rng.permutation(l)
    codes = np.zeros(l, dtype=int) if labels.codes is None else labels.codes
    late = np.ones(l, dtype=bool)  # all but the first two labels of each class
    for code in np.unique(codes):
        late[order[codes[order] == code][:2]] = False
    return np.sort(order[np.argsort(late[order], kind="stable")][:most])
