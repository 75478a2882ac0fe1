"""Methods that both default estimators have: suggestions, a map of the rows, files.

They are functions of a fitted estimator, which the public classes take as methods.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import persistence
from ..arrays.packing import expect
from .candidate_settings import FAMILIES, are_known
from .report import SelectionReport
from .selection import Candidate
from .setup import Setup
from .suggestions import map_rows, worth_labelling


def suggest(self: Any, n: int = 10) -> np.ndarray:
    """Return the training rows that are most worth labelling next, the best first.

    These are rows that the model is uncertain about, that represent many others, and that differ
    from each other. Rows that no label reaches come first, one of each large component of the
    graph.

    Parameters
    ----------
    n : int, default=10
        Number of rows.

    Returns
    -------
    ndarray of int
        Indices of training rows, for `add_labels`.
    """
    check_is_fitted(self, "predictor_")
    rows = self._setup.rows
    labelled = np.searchsorted(rows.index, self.labelled_)
    doubt = self._doubt()[rows.index]
    return rows.index[worth_labelling(rows.scaled, self._setup.graph, doubt, labelled, n)]


def save(self: Any, path: str | Path, extra: dict[str, Any] | None = None) -> None:
    """Write the model to a file that `lapwing.load` reads; see `lapwing.save`.

    Parameters
    ----------
    path : str or Path
        Where to write. An older file is replaced once the new one is complete.
    extra : dict, optional
        Values that JSON can represent; `lapwing.load` puts them into ``extra_``.
    """
    persistence.save(self, path, extra)


def row_map(self: Any) -> tuple[np.ndarray, str]:
    """Coordinates of the training rows in the plane, and what they show."""
    check_is_fitted(self, "predictor_")
    rows = self._setup.rows
    points, kind = map_rows(rows.scaled, self._setup.graph)
    whole = np.full((rows.X.shape[0], 2), np.nan)
    whole[rows.index] = points
    return whole[rows.representative], kind


def map_points(self: Any) -> np.ndarray:
    """Coordinates of the training rows in the plane, (n, 2); NaN for those not in use."""
    return self._row_map[0]


def map_kind(self: Any) -> str:
    """What ``map_`` shows."""
    return self._row_map[1]


def check_candidates(model: Any) -> None:
    """Refuse a model file with settings that no family tries: a fit might take forever."""
    expect(model.method == "auto" or model.method in FAMILIES)
    expect(isinstance(model._setup, Setup) and isinstance(model.report_, SelectionReport))
    n = model._setup.rows.X.shape[0]
    expect(model.supervised_transduction_.shape == model.label_reach_.shape == (n,))
    expect(model.labelled_.ndim == 1 and model.labelled_.dtype.kind == "i")
    expect(bool(np.isin(model.labelled_, model._setup.rows.index).all()))
    for candidate in model.candidates_:
        expect(isinstance(candidate, Candidate))
        expect(are_known(candidate.family, candidate.settings))
        expect(0.0 <= candidate.weight <= 1.0 and 0.0 < candidate.temperature < np.inf)
