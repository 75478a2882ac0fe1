"""Fitted functions of a row: what a model is once it has been fitted.

One small immutable class per type of function, each with ``values(X)`` for new rows, evaluated in
tiles, and ``to_arrays`` and ``from_arrays`` for files. There is one column of values per class (one
for two classes, one for a quantity). Predictors know neither labels nor how they were computed.

Notation: c columns of values, d columns of X.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from ..arrays.blocks import RowBlocks
from ..arrays.device import active_device
from ..arrays.duplicates import RowIndex
from ..arrays.threads import row_blocks
from ..graphs.anchors import AnchorGraph
from ..graphs.eigenfunctions import EigenfunctionBasis
from ..graphs.neighbors import nearest_known
from ..kernels.expansion import evaluate
from ..kernels.functions import CosineKernel, GaussianKernel, Kernel, LinearKernel, PolynomialKernel
from .fitted_function import Predictor
from .prototypes import LowRankGraph, Similarities, tile_rows
from .spread import SpreadShares as SpreadShares

#: Number of rows whose neighbours are searched at a time.
_NEIGHBOR_ROWS = 20_000


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
        Coefficients. Points whose coefficients are all zero are skipped.
    intercept : ndarray of shape (c,)
        Intercepts.
    """

    kernel: Kernel
    points: Any
    coef: np.ndarray
    intercept: np.ndarray

    linear_in = ("coef", "intercept")

    def values(self, X: Any) -> np.ndarray:
        """Return the values. Cost: a kernel value for each row and point."""
        return evaluate(self.kernel, X, self.points, self.coef) + self.intercept

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

    linear_in = ("coef", "intercept")

    def values(self, X: Any) -> np.ndarray:
        """Return the values. Cost: one product with X."""
        rows = X if self.kernel is None else self.kernel.prepare(X).data
        return np.asarray(rows @ self.coef) + self.intercept

    def _shapes_fit(self) -> bool:
        return self.coef.ndim == 2 and self.intercept.shape == (self.coef.shape[1],)


@dataclass(frozen=True, eq=False)
class PrototypeMixture(Predictor):
    """Values of prototypes, weighted by similarity.

    Attributes
    ----------
    similarities : Similarities
        Of rows to the prototypes; their ``normalize`` makes the values weighted means.
    coef : ndarray of shape (k, c)
        Values of the prototypes.
    """

    similarities: Similarities
    coef: np.ndarray

    def values(self, X: Any) -> np.ndarray:
        """Return the mixtures, tile by tile."""
        uses_device, tile = self.similarities.uses_device, tile_rows(len(self.coef))
        return RowBlocks.of(X).map("values", self.of_tile, tile, uses_device=uses_device)

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


def neighbor_shares(distances: np.ndarray) -> np.ndarray:
    """Return exp(−2(d² − d_1²)/d_k²) of distances d_1, …, d_k, ascending in each row."""
    squares = (distances / np.maximum(distances[:, -1:], 1e-150)) ** 2
    return np.exp(2.0 * (squares[:, :1] - squares))


@dataclass(frozen=True, eq=False)
class NeighborAverage(Predictor):
    """The mean of the values of the nearest rows, weighted by `neighbor_shares` times weights.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        The training rows.
    on_rows : ndarray of shape (n, c)
        Their values.
    weights : ndarray of shape (n,)
        Their weights, which are positive.
    n_neighbors : int
        How many of them count.
    """

    rows: Any
    on_rows: np.ndarray
    weights: np.ndarray
    n_neighbors: int

    linear_in = ("on_rows",)

    def values(self, X: Any) -> np.ndarray:
        """Return the weighted means, in blocks of rows."""
        blocks = row_blocks(X.shape[0], _NEIGHBOR_ROWS)
        found = [self._mean(X[block]) for block in blocks]
        return np.concatenate(found) if found else np.zeros((0, self.on_rows.shape[1]))

    def _mean(self, X: Any) -> np.ndarray:
        k = min(self.n_neighbors, self.rows.shape[0])
        if sp.issparse(self.rows) or active_device() is not None:
            distances, index = nearest_known(self.rows, X, k)
        else:
            search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.rows)
            distances, index = search.kneighbors(X)
        weights = neighbor_shares(distances) * self.weights[index]
        weights /= weights.sum(axis=1, keepdims=True)
        return np.einsum("ij,ijc->ic", weights, self.on_rows[index])

    def _shapes_fit(self) -> bool:
        n = self.rows.shape[0]
        fine = (
            self.n_neighbors >= 1 and self.weights.shape == (n,) and bool((self.weights > 0).all())
        )
        return fine and self.on_rows.ndim == 2 and len(self.on_rows) == n


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

    linear_in = ("on_rows",)

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
class Constant(Predictor):
    """The same value for every row.

    Attributes
    ----------
    level : ndarray of shape (c,)
        The value.
    """

    level: np.ndarray

    linear_in = ("level",)

    def values(self, X: Any) -> np.ndarray:
        """Return the value once per row."""
        return np.tile(self.level, (X.shape[0], 1))

    def _shapes_fit(self) -> bool:
        return self.level.ndim == 1


@dataclass(frozen=True, eq=False)
class WeightedSum(Predictor):
    """A sum of functions, each with its weight folded in.

    Attributes
    ----------
    parts : tuple of Predictor
        At least one.
    """

    parts: tuple[Predictor, ...]

    linear_in = ()

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
        return reduce(np.add, (part.values(X) for part in self.parts))

    def times(self, factor: float) -> WeightedSum:
        """Return a multiple."""
        return WeightedSum(tuple(part.times(factor) for part in self.parts))

    def _shapes_fit(self) -> bool:
        return len(self.parts) > 0


#: The predictors, and the types of their fields.
PREDICTOR_TYPES: tuple[type, ...] = (
    *Predictor.__subclasses__(),
    AnchorGraph,
    CosineKernel,
    EigenfunctionBasis,
    GaussianKernel,
    LinearKernel,
    LowRankGraph,
    PolynomialKernel,
    Similarities,
)
