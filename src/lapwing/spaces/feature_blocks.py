"""Functions of explicit features on rows in blocks: sums over all rows, one pass each.

A function of a row is ⟨w, φ(x)⟩ + b, with features φ that are computed tile by tile: the rows
themselves, rows of unit norm, or features of landmarks. Only sums are kept, so that memory does not
grow with the number of rows. Knows neither labels nor losses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.blocks import RowBlocks, Sums
from ..arrays.threads import n_threads
from ..kernels.functions import Kernel, PreparedRows
from ..operators.rows import times
from .features import inverse_root

#: Memory of the features and values of a tile.
_TILE_BYTES = 32_000_000
#: Deviation of the projections whose fractional parts are random factors of rows, in multiples of
#: the typical norm of features.
_MIXING = 1e6

#: Values (rows, k) of some rows to their losses and derivatives, both (rows, k).
LossOfValues = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def tile_size(row_size: float, n_columns: int) -> int:
    """Return the rows of a tile, for stored numbers per row and columns of values."""
    return max(int(_TILE_BYTES / (8.0 * (2.0 * row_size + 6.0 * n_columns))), 16)


def pass_bytes(n_features: int, n_columns: int) -> int:
    """Return the memory of a pass over the losses.

    Each thread has a tile, its sums and the terms of the tile. The vectors, the sums of all threads
    and what becomes of them are four more blocks of the size of the vectors.
    """
    return n_threads() * _TILE_BYTES + 8 * (2 * n_threads() + 4) * n_features * n_columns


@dataclass(frozen=True)
class KernelRows:
    """The features of a linear kernel: rows as it prepares them."""

    kernel: Kernel

    def __call__(self, X: Any) -> Any:
        """Return the rows in double precision, of unit norm for the cosine kernel."""
        return self.kernel.prepare(X).data


@dataclass(frozen=True)
class LandmarkRows:
    """The features of landmarks Z, Φ(x) = k(x, Z)A, as `landmark_features` has them.

    Attributes
    ----------
    kernel : Kernel
        k.
    points : ndarray or CSR matrix of shape (m, d)
        Z.
    back : ndarray of shape (m, r)
        A, which maps weights of features to coefficients of the landmarks.
    """

    kernel: Kernel
    points: Any
    back: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, points: Any) -> LandmarkRows:
        """Return the features of these landmarks. Cost: of the order of m³ operations."""
        prepared = kernel.prepare(points)
        return cls(kernel, points, inverse_root(kernel.block(prepared, prepared)))

    @cached_property
    def _prepared(self) -> PreparedRows:
        return self.kernel.prepare(self.points)

    def __call__(self, X: Any) -> np.ndarray:
        """Return the features of rows."""
        return self.kernel.block(self.kernel.prepare(X), self._prepared) @ self.back


@dataclass(frozen=True)
class RowFactors:
    """Random factors of rows that are functions of their features, so that none are stored.

    They have the exponential distribution of mean one: −log(1 − u), u the fractional part of a
    random projection. Equal rows have equal factors.

    Attributes
    ----------
    directions : ndarray of shape (m, r)
        Projections.
    shifts : ndarray of shape (r,)
        Added to them.
    """

    directions: np.ndarray
    shifts: np.ndarray

    @classmethod
    def draw(
        cls, n_features: int, n_factors: int, norm: float, rng: np.random.Generator
    ) -> RowFactors:
        """Return random projections for features of this typical norm."""
        directions = rng.standard_normal((n_features, n_factors))
        directions *= _MIXING / max(norm, 1e-300)
        return cls(directions, rng.uniform(size=n_factors))

    def __call__(self, features: Any) -> np.ndarray:
        """Return the factors of rows, shape (rows, r)."""
        projections = times(features, self.directions) + self.shifts
        return -np.log1p(np.floor(projections) - projections)


class FeatureBlocks:
    """Rows in blocks and their features.

    Parameters
    ----------
    blocks : RowBlocks
        Reads the rows.
    features : callable
        From the rows of a tile to their features, an array or CSR matrix.
    n_features : int
        m.
    row_size : float
        Stored numbers per row.

    Attributes
    ----------
    passes : int
        Passes over the blocks so far.
    """

    def __init__(
        self, blocks: RowBlocks, features: Callable[[Any], Any], n_features: int, row_size: float
    ) -> None:
        self.blocks, self.features = blocks, features
        self.n_features, self.row_size = n_features, row_size
        self.passes = 0

    def take(self, index: np.ndarray) -> Any:
        """Return the features of some rows, whose indices must be in ascending order."""
        self.passes += 1
        return self.features(self.blocks.take(index))

    def sum_features(self) -> tuple[np.ndarray, float]:
        """Return the sum of the features and the sum of their squares, over all rows."""
        add = _AddFeatures(self.features, self.n_features)
        total, squares = self._sum("means", add, 1)
        return total, float(squares[0])

    def sum_values(
        self,
        coef: np.ndarray,
        intercept: np.ndarray,
        function: Callable[[np.ndarray], np.ndarray],
        size: int,
    ) -> np.ndarray:
        """Return the sum over all tiles of a function of their values; ``size`` numbers."""
        add = _AddValues(self.features, coef, intercept, function, size)
        return self._sum("values", add, coef.shape[1])[0]

    def sum_losses(
        self,
        coef: np.ndarray,
        intercept: np.ndarray,
        loss: LossOfValues,
        factors: RowFactors | None = None,
        factor_of: np.ndarray | None = None,
    ) -> Sums:
        """Return the sums of the losses (k,), of φ(x)·derivative (m, k), and of derivatives (k,).

        Parameters
        ----------
        coef, intercept : ndarray of shape (m, k) and (k,)
            The functions.
        loss : callable
            From values to losses and derivatives.
        factors : RowFactors, optional
            Weights of the rows; ones without it.
        factor_of : ndarray of int, shape (k,), optional
            The factor of each column, −1 for none.
        """
        coef = np.ascontiguousarray(coef)  # SciPy would copy it for each tile
        add = _AddLosses(self.features, coef, intercept, loss, factors, factor_of)
        return self._sum("losses", add, coef.shape[1])

    def _sum(self, title: str, add: Any, n_columns: int) -> Sums:
        self.passes += 1
        tile = tile_size(self.row_size, n_columns)
        return self.blocks.sum(title, add.start, add, tile)


# ---------------------------------------------------------------- what a pass adds up


@dataclass(frozen=True)
class _AddFeatures:
    features: Callable[[Any], Any]
    n_features: int

    def start(self) -> Sums:
        return [np.zeros(self.n_features), np.zeros(1)]

    def __call__(self, sums: Sums, X: Any) -> None:
        F = self.features(X)
        numbers = F.data if sp.issparse(F) else F.ravel()
        sums[0] += np.asarray(F.sum(axis=0)).ravel()
        sums[1] += numbers @ numbers


@dataclass(frozen=True)
class _AddValues:
    features: Callable[[Any], Any]
    coef: np.ndarray
    intercept: np.ndarray
    function: Callable[[np.ndarray], np.ndarray]
    size: int

    def start(self) -> Sums:
        return [np.zeros(self.size)]

    def __call__(self, sums: Sums, X: Any) -> None:
        sums[0] += self.function(times(self.features(X), self.coef) + self.intercept)


@dataclass(frozen=True)
class _AddLosses:
    features: Callable[[Any], Any]
    coef: np.ndarray
    intercept: np.ndarray
    loss: LossOfValues
    factors: RowFactors | None
    factor_of: np.ndarray | None

    def start(self) -> Sums:
        k = len(self.intercept)
        return [np.zeros(k), np.zeros(self.coef.shape), np.zeros(k)]

    def __call__(self, sums: Sums, X: Any) -> None:
        F = self.features(X)
        value, derivative = self.loss(times(F, self.coef) + self.intercept)
        if self.factors is not None and self.factor_of is not None:
            disturbed = np.flatnonzero(self.factor_of >= 0)
            weights = self.factors(F)[:, self.factor_of[disturbed]]
            value[:, disturbed] *= weights
            derivative[:, disturbed] *= weights
        sums[0] += value.sum(axis=0)
        sums[1] += times(F.T, derivative)
        sums[2] += derivative.sum(axis=0)
