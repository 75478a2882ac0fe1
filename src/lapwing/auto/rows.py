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
from .sample import Sample, draw_others, draw_weighing
from .scaling import RowScaling, learn_scaling


@dataclass(frozen=True)
class UsedRows:
    """The training rows, and which of them the candidates see.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All training rows as they were given; of rows in blocks, those that were read.
    index : ndarray of int
        The rows of X in use, ascending.
    representative : ndarray of int, shape (n,)
        The representative of each row: itself, or the first of its duplicates.
    scaling : RowScaling
        How rows are scaled.
    numbers : ndarray of int, shape (n,), or None
        Of rows in blocks, the indices of X among all training rows, ascending.
    n_given : int
        Number of all training rows; 0 means those of X.
    """

    X: Any
    index: np.ndarray
    representative: np.ndarray
    scaling: RowScaling
    numbers: np.ndarray | None = None
    n_given: int = 0

    #: Arrays that follow from the fields; a file contains references in their place.
    DERIVED: ClassVar[tuple[str, ...]] = ("scaled",)

    @cached_property
    def scaled(self) -> Any:
        """The rows in use, scaled."""
        every = len(self.index) == self.X.shape[0]
        return self.scaling.apply(self.X if every else self.X[self.index])

    @property
    def n_rows(self) -> int:
        """Number of all training rows."""
        return self.n_given or self.X.shape[0]

    @property
    def used(self) -> np.ndarray:
        """The rows in use by their indices among all training rows."""
        return self.index if self.numbers is None else self.numbers[self.index]

    @property
    def seen(self) -> np.ndarray:
        """Which rows of X are in use, or have a duplicate that is."""
        return np.isin(self.representative, self.index)

    @property
    def all_seen(self) -> bool:
        """Whether all training rows are in use, or have a duplicate that is."""
        return self.n_rows == np.count_nonzero(self.seen)

    @property
    def n_duplicates(self) -> int:
        """Rows that another one represents."""
        return int(np.sum(self.representative != np.arange(len(self.representative))))

    def others(self, seed: int) -> Any:
        """Return the rows of X that are not in use, or a random sample of many."""
        index = np.setdiff1d(np.arange(self.X.shape[0]), self.index)
        return self.X[index[draw_weighing(len(index), limits.EDGE_ROWS, seed)]]

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
        if self.numbers is not None:
            expect(self.numbers.shape == (n,) and self.numbers.dtype.kind == "i")
            expect(bool(np.all(np.diff(self.numbers) > 0)) and self.numbers[0] >= 0)
            expect(int(self.numbers[-1]) < self.n_given)

    __getstate__ = field_values  # pickles leave out what is cached


def choose_rows(sample: Sample, *, all_rows: bool, seed: int) -> UsedRows:
    """Return the rows to use: all labelled ones, and others without duplicates up to a limit.

    ``all_rows`` keeps every row, as a graph of the user requires.
    """
    X, labelled = sample.X, sample.targets.index
    n, scaling = X.shape[0], sample.scaling or learn_scaling(X)
    if all_rows:
        index = representative = np.arange(n)
    else:
        representative = representative_rows(X, labelled)
        index = np.flatnonzero(representative == np.arange(n))
    if not all_rows and len(index) > limits.MOST_ROWS:
        others = np.setdiff1d(index, labelled)
        chosen = others[draw_others(len(others), len(labelled), seed)]
        index = np.sort(np.append(labelled, chosen))
    return UsedRows(X, index, representative, scaling, sample.numbers, sample.n_given)


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
