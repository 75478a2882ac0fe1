"""What a fitted default knows of its training rows, for lists and pictures of them.

Of rows in memory these are all rows, of rows in blocks those that were read. Knows nothing of how
they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RowView:
    """Training rows that a model knows.

    Attributes
    ----------
    numbers : ndarray of int, shape (s,), or None
        Of rows in blocks, the indices of the rows among all training rows, ascending. None means
        all rows.
    found, supervised : ndarray of shape (s,)
        Their labels, given or predicted, and those of the best supervised candidate.
    confidence : ndarray of shape (s,)
        The largest probability of a class; NaN for quantities.
    reach : ndarray of bool, shape (s,)
        Whether a label can reach the row through the graph.
    labelled : ndarray of bool, shape (s,)
        Which of the rows have a label.
    """

    numbers: np.ndarray | None
    found: np.ndarray
    supervised: np.ndarray
    confidence: np.ndarray
    reach: np.ndarray
    labelled: np.ndarray

    def positions(self, rows: Any) -> np.ndarray:
        """Return where rows are among those of the view, given their indices among all rows."""
        rows = np.asarray(rows, dtype=int)
        return rows if self.numbers is None else np.searchsorted(self.numbers, rows)


def view_rows(model: Any) -> RowView:
    """Return what a SemiSupervisedClassifier or SemiSupervisedRegressor knows of its rows."""
    sample, classes = vars(model).get("_sample"), getattr(model, "classes_", None)
    if sample is None:
        numbers, found = None, np.asarray(model.transduction_)
        supervised, reach = model.supervised_transduction_, model.label_reach_
        confidence = np.full(len(found), np.nan)
        if classes is not None:
            confidence = np.asarray(model.label_distributions_, dtype=float).max(axis=1)
    else:
        numbers, reach = model._setup.rows.numbers, sample.reach
        found, supervised = sample.found, sample.supervised
        confidence = np.full(len(found), np.nan) if classes is None else sample.confidence
        if classes is not None:
            found, supervised = classes[found], classes[supervised]
    reach, labelled = np.asarray(reach, dtype=bool), np.zeros(len(found), dtype=bool)
    view = RowView(numbers, found, np.asarray(supervised), confidence, reach, labelled)
    labelled[view.positions(model.labelled_)] = True
    return view
