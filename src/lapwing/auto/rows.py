"""The rows that the candidates of the default see: without duplicates, up to a limit, scaled.

Knows which rows are labelled, and not their labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..arrays.duplicates import representative_rows
from ..arrays.packing import expect, expect_finite, field_values
from ..spaces.predictors import Predictor
from . import limits
from .scaling import RowScaling, learn_scaling


@dataclass(frozen=True)
class UsedRows:
    """The training rows, and which of them the candidates see.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All training rows as they were given.
    index : ndarray of int
        The rows in use, ascending.
    representative : ndarray of int, shape (n,)
        The representative of each row: itself, or the first of its duplicates.
    scaling : RowScaling
        How rows are scaled.
    """

    X: Any
    index: np.ndarray
    representative: np.ndarray
    scaling: RowScaling

    #: Arrays that follow from the fields; a file contains references in their place.
    DERIVED: ClassVar[tuple[str, ...]] = ("scaled",)

    @cached_property
    def scaled(self) -> Any:
        """The rows in use, scaled."""
        every = len(self.index) == self.X.shape[0]
        return self.scaling.apply(self.X if every else self.X[self.index])

    @property
    def n_duplicates(self) -> int:
        """Rows that another one represents."""
        return int(np.sum(self.representative != np.arange(len(self.representative))))

    def including(self, index: np.ndarray) -> UsedRows:
        """Return the rows with these in use as well."""
        representative = self.representative.copy()
        representative[index] = index
        return replace(self, index=np.union1d(self.index, index), representative=representative)

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        n, d = self.X.shape
        for index in (self.index, self.representative):
            expect(index.ndim == 1 and index.dtype.kind == "i")
            expect(len(index) > 1 and index.min() >= 0 and index.max() < n)
        expect(bool(np.all(np.diff(self.index) > 0)) and len(self.representative) == n)
        expect(self.scaling.factor.shape in ((1,), (d,)))
        sparse, center = sp.issparse(self.X), self.scaling.center
        expect(sparse if center is None else not sparse and center.shape == (d,))
        expect_finite(self.X.data if sparse else self.X)

    __getstate__ = field_values  # pickles leave out what is cached


def choose_rows(X: Any, labelled: np.ndarray, *, all_rows: bool, seed: int) -> UsedRows:
    """Return the rows to use: all labelled ones, and others without duplicates up to a limit.

    ``all_rows`` keeps every row, as a graph of the user requires.
    """
    n, scaling = X.shape[0], learn_scaling(X)
    if all_rows:
        return UsedRows(X, np.arange(n), np.arange(n), scaling)
    representative = representative_rows(X, labelled)
    index = np.flatnonzero(representative == np.arange(n))
    if len(index) > limits.MOST_ROWS:
        rng = np.random.default_rng(seed)
        others = np.setdiff1d(index, labelled)
        room = max(limits.MOST_ROWS - len(labelled), 0)
        index = np.sort(np.append(labelled, rng.choice(others, room, replace=False)))
    return UsedRows(X, index, representative, scaling)


@dataclass(frozen=True, eq=False)
class ScaledInput(Predictor):
    """A function of scaled rows.

    Attributes
    ----------
    scaling : RowScaling
        Scales the rows.
    function : Predictor
        The function of scaled rows.
    """

    scaling: RowScaling
    function: Predictor

    def values(self, X: Any) -> np.ndarray:
        """Return the values on rows that are not scaled yet."""
        return self.function.values(self.scaling.apply(X))

    def times(self, factor: float) -> ScaledInput:
        """Return a multiple."""
        return replace(self, function=self.function.times(factor))

    @classmethod
    def _known_types(cls) -> dict[str, type]:
        return {**super()._known_types(), "RowScaling": RowScaling, "ScaledInput": ScaledInput}

    def _shapes_fit(self) -> bool:
        return True
