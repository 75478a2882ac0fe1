"""Values that are spread over a graph of low rank, as a function of any row.

Knows neither labels nor how the coefficients were computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays.blocks import RowBlocks
from ..arrays.duplicates import RowIndex
from .fitted_function import Predictor
from .prototypes import LowRankGraph, tile_rows


@dataclass(frozen=True, eq=False)
class SpreadShares(Predictor):
    """Shares of the columns in what a graph of low rank spreads to a row.

    A row gets φ(x)·coef, where φ(x) are its normalised features, and a known row an addition of its
    own. The columns are multiplied by factors and divided by the sum of their absolute values; two
    of them become one, the second minus the first.

    Attributes
    ----------
    graph : LowRankGraph
        Gives the features.
    coef : ndarray of shape (r, k)
        Coefficients of the features.
    factors : ndarray of shape (k,)
        Factors of the columns.
    least : float
        Sum of absolute values, before the factors, up to which they are rounding and become zero.
    rows : ndarray or CSR matrix of shape (l, d)
        Known rows, found again by exact equality.
    on_rows : ndarray of shape (l, k)
        What is added to their values; of duplicate rows the first counts.
    weight : float
        Factor of the shares.
    """

    graph: LowRankGraph
    coef: np.ndarray
    factors: np.ndarray
    least: float
    rows: Any
    on_rows: np.ndarray
    weight: float = 1.0

    linear_in = ("weight",)

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.rows)

    def without_rows(self) -> SpreadShares:
        """Return the function that knows no rows."""
        return replace(self, rows=self.rows[:0], on_rows=self.on_rows[:0])

    def values(self, X: Any) -> np.ndarray:
        """Return the shares, tile by tile."""
        tile = tile_rows(2 * len(self.graph.similarities.points))
        return RowBlocks.of(X).map("values", self._of_tile, tile, like=shares(self.on_rows[:0]))

    def _of_tile(self, X: Any) -> np.ndarray:
        F = self.graph.normalized_features(X) @ self.coef
        if len(self.on_rows):
            found = self._index.find(X, self.rows)
            known = found >= 0
            F[known] += self.on_rows[found[known]]
        drop_rounding(F, self.least)
        return self.weight * shares(F * self.factors)

    def _shapes_fit(self) -> bool:
        (m, d), k = self.graph.similarities.points.shape, len(self.factors)
        fine = self.graph.root.ndim == 2 and self.graph.root.shape[0] == m
        fine = fine and self.graph.load.shape == (m,)
        fine = fine and self.coef.shape == (self.graph.root.shape[1], k) and k >= 2
        fine = fine and self.factors.ndim == 1 and 0.0 <= self.least < np.inf
        fine = fine and bool(np.isfinite(self.weight))
        return fine and self.rows.shape[1] == d and self.on_rows.shape == (self.rows.shape[0], k)


def drop_rounding(F: np.ndarray, least: float) -> np.ndarray:
    """Set rows to zero whose absolute values add up to at most ``least``; return which."""
    lost = np.abs(F).sum(axis=1) <= least
    F[lost] = 0.0
    return lost


def shares(F: np.ndarray) -> np.ndarray:
    """Return values over the sum of their absolute values; one column for two classes."""
    sizes = np.abs(F).sum(axis=1, keepdims=True)
    found = F / np.where(sizes > 0, sizes, 1.0)
    return found[:, 1:] - found[:, :1] if found.shape[1] == 2 else found
