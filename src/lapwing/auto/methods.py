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
from ..estimators.rows import RowSource, refuse_blocks
from .candidate_settings import FAMILIES, are_known
from .report import SelectionReport
from .sample import SampleResult
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
        Indices of training rows, for `add_labels`. They are among the rows that the models saw,
        ``sample_``.
    """
    check_is_fitted(self, "predictor_")
    rows = self._setup.rows
    labelled = np.searchsorted(rows.used, self.labelled_)
    index = rows.index
    doubt = self._doubt(index) if rows.numbers is None else self._sample.doubt[index]
    found = worth_labelling(rows.scaled, self._setup.graph, doubt, labelled, n)
    return rows.used[found]


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


class OfRowsInMemory:
    """An attribute with an entry per training row, which a fit to rows in blocks does not set.

    A fit to rows in memory sets it on the estimator, which hides this descriptor.

    Parameters
    ----------
    instead : str
        What to use for rows in blocks; ends a sentence.
    """

    def __init__(self, instead: str) -> None:
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type) -> Any:
        text = f"{owner.__name__!r} object has no attribute {self.name!r}"
        if model is not None and "_sample" in vars(model):
            text += f": the rows came in blocks, and it has an entry per row; {self.instead}"
        raise AttributeError(text)


def sample(self: Any) -> np.ndarray:
    """Indices of the training rows that the models saw, ascending."""
    check_is_fitted(self, "predictor_")
    return self._setup.rows.used


def known_rows(self: Any, source: RowSource) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in blocks whose labels or quantities are known, and these."""
    assert source.labelled is not None
    numbers, given = self._setup.rows.numbers, self._targets.given
    index = np.union1d(numbers, source.labelled)
    found = np.empty(len(index), dtype=given.dtype)
    found[np.searchsorted(index, numbers)] = self._sample.found
    found[np.searchsorted(index, source.labelled)] = given
    return index, found if self._targets.classes is None else self._targets.classes[found]


def kept_rows(self: Any) -> Any:
    """Return the rows of the last fit, or refuse those of which a sample is kept."""
    if self._setup.rows.numbers is not None:
        refuse_blocks()
    return self.X_fit_


def row_map(self: Any) -> tuple[np.ndarray, str]:
    """Coordinates of the training rows in the plane, and what they show."""
    check_is_fitted(self, "predictor_")
    rows = self._setup.rows
    points, kind = map_rows(rows.scaled, self._setup.graph)
    whole = np.full((rows.X.shape[0], 2), np.nan)
    whole[rows.index] = points
    return whole[rows.representative], kind


def map_points(self: Any) -> np.ndarray:
    """Coordinates of the training rows in the plane, (n, 2); NaN for those not in use.

    Of rows in blocks, those of the sample that was read.
    """
    return self._row_map[0]


def map_kind(self: Any) -> str:
    """What ``map_`` shows."""
    return self._row_map[1]


def check_candidates(model: Any) -> None:
    """Refuse a model file with settings that no family tries: a fit might take forever."""
    expect(model.method == "auto" or model.method in FAMILIES)
    expect(isinstance(model._setup, Setup) and isinstance(model.report_, SelectionReport))
    rows = model._setup.rows
    shape = (rows.X.shape[0],)
    if rows.numbers is None:
        expect(model.supervised_transduction_.shape == model.label_reach_.shape == shape)
    else:
        expect(isinstance(model._sample, SampleResult) and model._sample.found.shape == shape)
    expect(model.labelled_.ndim == 1 and model.labelled_.dtype.kind == "i")
    expect(bool(np.isin(model.labelled_, rows.used).all()))
    for candidate in model.candidates_:
        expect(isinstance(candidate, Candidate))
        expect(are_known(candidate.family, candidate.settings))
        expect(0.0 <= candidate.weight <= 1.0 and 0.0 < candidate.temperature < np.inf)
