"""Fitted functions of a row: what a model is once it has been fitted.

One small immutable class per kind, each with ``values(X)`` for new rows, evaluated in tiles, and
``to_arrays`` / ``from_arrays`` for files. They give one column per class (one for two classes, one
for a quantity) and know neither labels nor how they were found.

Notation: c columns, d columns of X.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from ..arrays.blocks import RowBlocks
from ..arrays.duplicates import RowIndex
from ..arrays.packing import Packed, expect, pack, unpack
from ..arrays.threads import row_blocks
from ..graphs.anchors import AnchorGraph
from ..graphs.eigenfunctions import EigenfunctionBasis
from ..kernels import CosineKernel, GaussianKernel, Kernel, LinearKernel, PolynomialKernel
from .expansion import evaluate
from .prototypes import Similarities, tile_rows

#: Rows for which neighbours are searched at a time.
_NEIGHBOR_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Predictor:
    """Base of the fitted functions; a kind implements `values` and `_shapes_fit`."""

    def values(self, X: Any) -> np.ndarray:
        """Return the values on checked rows, shape (n, c)."""
        raise NotImplementedError(f"{type(self).__name__} must implement values")

    def times(self, factor: float) -> Predictor:
        """Return a multiple."""
        raise NotImplementedError(f"{type(self).__name__} cannot be scaled")

    def plus(self, other: Predictor) -> Predictor | None:
        """Return the sum as one function of the same kind, or None where there is none."""
        return None

    def to_arrays(self) -> Packed:
        """Return the function as JSON and plain arrays."""
        return pack(self, self._known_types())

    @classmethod
    def from_arrays(cls, page: Any, arrays: dict[str, np.ndarray]) -> Self:
        """Return the function that `to_arrays` was called on."""
        made = unpack(page, arrays, cls._known_types())
        expect(isinstance(made, cls), f"this is no {cls.__name__}")
        return made

    @classmethod
    def _known_types(cls) -> dict[str, type]:
        return {known.__name__: known for known in PREDICTOR_TYPES}

    def check_loaded(self) -> None:
        """Refuse contents of a file that do not fit together or are not finite."""
        for field in fields(self):
            value = getattr(self, field.name)
            numbers = value.data if sp.issparse(value) else value
            if isinstance(numbers, np.ndarray):
                expect(numbers.dtype.kind in "biuf" and bool(np.isfinite(numbers).all()))
        expect(self._shapes_fit())

    def _shapes_fit(self) -> bool:
        raise NotImplementedError(f"{type(self).__name__} must implement _shapes_fit")


@dataclass(frozen=True, eq=False)
class KernelExpansion(Predictor):
    """Σ coefⱼ k(zⱼ, x) + intercept.

    Attributes
    ----------
    kernel : Kernel
        k.
    points : ndarray or CSR matrix of shape (m, d)
        z: training rows or landmarks.
    coef : ndarray of shape (m, c)
        Coefficients; points whose coefficients are all zero cost nothing.
    intercept : ndarray of shape (c,)
        Intercepts.
    """

    kernel: Kernel
    points: Any
    coef: np.ndarray
    intercept: np.ndarray

    def values(self, X: Any) -> np.ndarray:
        """Return the values, at a cost in proportion to the points with coefficients."""
        return evaluate(self.kernel, X, self.points, self.coef) + self.intercept

    def times(self, factor: float) -> KernelExpansion:
        """Return a multiple."""
        return replace(self, coef=factor * self.coef, intercept=factor * self.intercept)

    def plus(self, other: Predictor) -> KernelExpansion | None:
        """Return the sum of expansions over the same points with the same kernel."""
        if not isinstance(other, KernelExpansion) or self.points is not other.points:
            return None
        if not _equal(self.kernel, other.kernel):
            return None
        coef, intercept = self.coef + other.coef, self.intercept + other.intercept
        return replace(self, coef=coef, intercept=intercept)

    def _shapes_fit(self) -> bool:
        return self.coef.shape == (self.points.shape[0], len(self.intercept))


@dataclass(frozen=True, eq=False)
class LinearFunction(Predictor):
    """⟨coef, x⟩ + intercept.

    Attributes
    ----------
    coef : ndarray of shape (d, c)
        Weights of the columns. Where rows are kernel values with the training rows
        (``kernel="precomputed"``), these are the coefficients of an expansion.
    intercept : ndarray of shape (c,)
        Intercepts.
    kernel : Kernel or None
        A linear kernel that prepares the rows, as the cosine kernel does; None takes them as they
        are.
    """

    coef: np.ndarray
    intercept: np.ndarray
    kernel: Kernel | None = None

    def values(self, X: Any) -> np.ndarray:
        """Return the values: one product."""
        rows = X if self.kernel is None else self.kernel.prepare(X).data
        return np.asarray(rows @ self.coef) + self.intercept

    def times(self, factor: float) -> LinearFunction:
        """Return a multiple."""
        return replace(self, coef=factor * self.coef, intercept=factor * self.intercept)

    def plus(self, other: Predictor) -> LinearFunction | None:
        """Return the sum of functions of the same rows."""
        if not isinstance(other, LinearFunction) or not _equal(self.kernel, other.kernel):
            return None
        coef, intercept = self.coef + other.coef, self.intercept + other.intercept
        return replace(self, coef=coef, intercept=intercept)

    def _shapes_fit(self) -> bool:
        return self.coef.ndim == 2 and self.intercept.shape == (self.coef.shape[1],)


@dataclass(frozen=True, eq=False)
class PrototypeMixture(Predictor):
    """Values of prototypes, weighted by similarity.

    Attributes
    ----------
    similarities : Similarities
        To the prototypes, divided by their sums where it says so.
    coef : ndarray of shape (k, c)
        Values of the prototypes.
    """

    similarities: Similarities
    coef: np.ndarray

    def values(self, X: Any) -> np.ndarray:
        """Return the mixtures, tile by tile."""
        return RowBlocks.of(X).map("values", self.of_tile, tile_rows(len(self.coef)))

    def of_tile(self, X: Any) -> np.ndarray:
        """Return the mixtures of few rows."""
        return self.similarities.values(X, self.coef)

    def _shapes_fit(self) -> bool:
        return self.coef.ndim == 2 and len(self.coef) == len(self.similarities.points)


@dataclass(frozen=True, eq=False)
class AnchorMixture(Predictor):
    """Values of the nearest anchors, in the mixture of the anchor graph.

    Attributes
    ----------
    graph : AnchorGraph
        Gives the weights of the anchors for any row.
    coef : ndarray of shape (m, c)
        Values of the anchors.
    """

    graph: AnchorGraph
    coef: np.ndarray

    def values(self, X: Any) -> np.ndarray:
        """Return the mixtures."""
        return np.asarray(self.graph(X) @ self.coef)

    def _shapes_fit(self) -> bool:
        return self.coef.ndim == 2 and len(self.coef) == len(self.graph.anchors)


@dataclass(frozen=True, eq=False)
class EigenfunctionSeries(Predictor):
    """A sum of eigenfunctions of the density, interpolated in their tables.

    Attributes
    ----------
    basis : EigenfunctionBasis
        The functions.
    coef : ndarray of shape (1 + k, c)
        Their coefficients, that of the constant first.
    """

    basis: EigenfunctionBasis
    coef: np.ndarray

    def values(self, X: Any) -> np.ndarray:
        """Return the sums, in blocks of rows."""
        return self.basis.combine(X, self.coef)

    def _shapes_fit(self) -> bool:
        return self.coef.ndim == 2 and len(self.coef) == 1 + len(self.basis.functions)


@dataclass(frozen=True, eq=False)
class NeighborAverage(Predictor):
    """The mean of the values of the nearest training rows, near ones counting more.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        The training rows.
    on_rows : ndarray of shape (n, c)
        Their values.
    n_neighbors : int
        How many of them count.
    width : float
        Distance at which a row counts less than the nearest by a factor exp(−½).
    """

    rows: Any
    on_rows: np.ndarray
    n_neighbors: int
    width: float

    def values(self, X: Any) -> np.ndarray:
        """Return the weighted means, in blocks of rows."""
        k = min(self.n_neighbors, self.rows.shape[0])
        search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.rows)
        blocks = row_blocks(X.shape[0], _NEIGHBOR_ROWS)
        found = [self._mean(search, X[block]) for block in blocks]
        return np.concatenate(found) if found else np.zeros((0, self.on_rows.shape[1]))

    def _mean(self, search: Any, X: Any) -> np.ndarray:
        distances, index = search.kneighbors(X)
        squares = distances**2 - distances[:, :1] ** 2
        weights = np.exp(-squares / (2.0 * max(self.width, 1e-150) ** 2))
        weights /= weights.sum(axis=1, keepdims=True)
        return np.einsum("ij,ijc->ic", weights, self.on_rows[index])

    def times(self, factor: float) -> NeighborAverage:
        """Return a multiple."""
        return replace(self, on_rows=factor * self.on_rows)

    def plus(self, other: Predictor) -> NeighborAverage | None:
        """Return the sum of averages over the same rows."""
        if not isinstance(other, NeighborAverage) or self.rows is not other.rows:
            return None
        return replace(self, on_rows=self.on_rows + other.on_rows)

    def _shapes_fit(self) -> bool:
        fine = self.n_neighbors >= 1 and np.isfinite(self.width)
        return fine and self.on_rows.ndim == 2 and len(self.on_rows) == self.rows.shape[0]


@dataclass(frozen=True, eq=False)
class RowLookup(Predictor):
    """Values of the training rows, found again by exact equality; there are no others.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        The training rows.
    on_rows : ndarray of shape (n, c)
        Their values; of duplicate rows the first counts.
    """

    rows: Any
    on_rows: np.ndarray

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.rows)

    def values(self, X: Any) -> np.ndarray:
        """Return the values of known rows; refuse others."""
        found = self._index.find(X, self.rows)
        if (found < 0).any():
            new = np.flatnonzero(found < 0)
            raise ValueError(
                f"{len(new)} of {X.shape[0]} rows, the first of them row {new[0]}, are not among "
                "the training rows. This estimator is transductive and has no prediction for new "
                "rows: fit it to them as well, unlabelled, or use a classifier with a function of "
                "the rows, such as NFIClassifier, PVMClassifier or LapSVC"
            )
        return self.on_rows[found]

    def _shapes_fit(self) -> bool:
        return self.on_rows.ndim == 2 and len(self.on_rows) == self.rows.shape[0]


@dataclass(frozen=True, eq=False)
class WeightedSum(Predictor):
    """A sum of functions, each with its weight folded in.

    Attributes
    ----------
    parts : tuple of Predictor
        At least one.
    """

    parts: tuple[Predictor, ...]

    @classmethod
    def of(cls, parts: list[Predictor]) -> WeightedSum:
        """Return the sum, functions that can be joined as one."""
        joined: list[Predictor] = []
        for part in parts:
            for number, other in enumerate(joined):
                both = other.plus(part)
                if both is not None:
                    joined[number] = both
                    break
            else:
                joined.append(part)
        return cls(tuple(joined))

    def values(self, X: Any) -> np.ndarray:
        """Return the sum of the values."""
        total = self.parts[0].values(X)
        for part in self.parts[1:]:
            total = total + part.values(X)
        return total

    def times(self, factor: float) -> WeightedSum:
        """Return a multiple."""
        return WeightedSum(tuple(part.times(factor) for part in self.parts))

    def _shapes_fit(self) -> bool:
        return len(self.parts) > 0


def _equal(kernel: Kernel | None, other: Kernel | None) -> bool:
    """Return whether two kernels have the same parameters."""
    if kernel is None or other is None or type(kernel) is not type(other):
        return kernel is other
    mine, others = vars(kernel), vars(other)
    return all(np.array_equal(mine[name], others[name]) for name in mine)


#: Types of which predictors are made.
PREDICTOR_TYPES: tuple[type, ...] = (
    AnchorGraph,
    AnchorMixture,
    CosineKernel,
    EigenfunctionBasis,
    EigenfunctionSeries,
    GaussianKernel,
    KernelExpansion,
    LinearFunction,
    LinearKernel,
    NeighborAverage,
    PolynomialKernel,
    PrototypeMixture,
    RowLookup,
    Similarities,
    WeightedSum,
)
