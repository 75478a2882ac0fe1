"""Candidates over the graph alone: kernels of the Laplacian, applied as polynomials of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import Chebyshev

from ..arrays.threads import map_blocks, row_blocks
from ..graphs import KNNGraph
from ..graphs.filters import GraphFilter, spectrum_bound
from ..operators.base import Operator
from ..spaces.predictors import NeighborAverage, Predictor
from .candidate_settings import GRAPH, GRAPH_KERNELS, SETTINGS, LinearSetting, kernel_reduction
from .labels import Labels

#: Power p and floor ε of (Lᵖ + εᵖ)⁻¹.
GraphKernel = tuple[int, float]
#: Error of the polynomial that replaces a graph kernel, relative to its largest value.
_FILTER_ERROR = 1e-5
#: Labels whose columns of a graph kernel are computed at once by each thread.
_LABELS_AT_ONCE = 16
#: Degree in units of the median that a row has at least when its value is passed on, and the
#: share of rows without neighbours.
_LEAST_DEGREE, _ISOLATED = 1e-3, 1e-9
#: Rows above which graph kernels are applied in single precision.
_SINGLE_ROWS = 10_000


class GraphFamily:
    """Least squares over the graph alone, with the kernel (Lᵖ + εᵖ)⁻¹ of unit mean diagonal.

    The kernel is approximated by a polynomial of the Laplacian: each label costs as many sparse
    products as the degree of the polynomial, once. New rows get the mean of what their neighbours
    pass on.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    graph : KNNGraph
        Their graph.
    """

    def __init__(self, X: Any, graph: KNNGraph) -> None:
        self.X, self.graph = X, graph
        self._filters: dict[str, GraphFilter] = {}
        self._kept: dict[tuple[str, int, float], tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def _laplacians(self) -> dict[str, tuple[Operator, float]]:
        """For each choice of neighbours the Laplacian and a bound of its spectrum."""
        half = max(self.graph.n_neighbors // 2, 1)
        near = KNNGraph.from_affinity(_nearest(self.graph.affinity_, half))
        found = {"all": self.graph.laplacian_, "half": near.laplacian_}
        return {name: (L, max(spectrum_bound(L), 1e-6)) for name, L in found.items()}

    def _filter(self, neighbours: str, kernels: Sequence[GraphKernel]) -> GraphFilter:
        """Return the polynomials of some kernels over the same neighbours, in one recurrence."""
        L, upper = self._laplacians[neighbours]
        together = {*kernels, *GRAPH_KERNELS[neighbours]}  # the same degree for each alone
        degree = max(_degree(*kernel, upper) for kernel in together)
        curves = [_curve(*kernel, degree, upper) for kernel in kernels]
        found = self._filters.get(neighbours)
        if found is None:
            found = GraphFilter(L, upper, np.ones(1))
            found = found.single_precision() if self.X.shape[0] > _SINGLE_ROWS else found
            self._filters[neighbours] = found
        return found.with_coefficients(np.column_stack(curves))

    def _columns(
        self, neighbours: str, kernels: Sequence[GraphKernel], index: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Return the entries of the kernels in some rows and columns, one matrix per kernel."""
        apply, n = self._filter(neighbours, kernels), self.X.shape[0]
        found = np.empty((len(kernels), len(rows), len(index)))

        def fill(block: slice) -> None:
            J = np.zeros((n, block.stop - block.start), dtype=apply.coefficients.dtype)
            J[index[block], np.arange(J.shape[1])] = 1.0
            images = apply(J, rows).reshape(len(rows), len(kernels), -1)
            found[:, :, block] = images.transpose(1, 0, 2)

        map_blocks(fill, row_blocks(len(index), _LABELS_AT_ONCE))
        return found

    def candidates(self, labels: Labels, sample: np.ndarray) -> Iterator[LinearSetting]:
        """Yield the settings, each with the factor that gives its kernel unit mean diagonal."""
        l, rows = len(labels.index), np.append(labels.index, sample)
        for neighbours, group in groupby(SETTINGS[GRAPH], itemgetter("neighbours")):
            kernels = GRAPH_KERNELS[neighbours]
            found = self._columns(neighbours, kernels, labels.index, rows)
            for settings, kernel, columns in zip(group, kernels, found, strict=True):
                self._kept[neighbours, *kernel] = labels.index, columns[:l].copy()
                scale = max(float(np.diag(columns[:l]).mean()), 1e-300)
                columns /= scale
                on_sample = np.column_stack([columns[l:], np.ones(len(sample))])
                scaled, reduction = {**settings, "scale": scale}, kernel_reduction(columns[:l])
                yield LinearSetting(GRAPH, scaled, reduction, on_sample)

    def _on_labels(self, kernel: tuple[str, int, float], index: np.ndarray) -> np.ndarray:
        """Return a kernel on the labelled rows; only columns of new ones are computed."""
        old, R_old = self._kept.get(kernel, (np.zeros(0, dtype=int), np.zeros((0, 0))))
        kept = np.isin(index, old)
        R = np.empty((len(index), len(index)))
        position = np.searchsorted(old, index[kept])
        R[np.ix_(kept, kept)] = R_old[np.ix_(position, position)]
        if not kept.all():
            [new] = self._columns(kernel[0], [kernel[1:]], index[~kept], index)
            R[:, ~kept] = new
            R[~kept] = new.T
        self._kept[kernel] = index, R
        return R

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Predictor]:
        """Fit one setting to labels; return the values on all rows, and the function."""
        neighbours, power, floor = (settings[name] for name in ("neighbours", "power", "floor"))
        R = self._on_labels((neighbours, power, floor), labels.index) / settings["scale"]
        c, b = LinearSetting(GRAPH, settings, kernel_reduction(R)).solve(labels)
        apply = self._filter(neighbours, [(power, floor)])
        dual = np.zeros((self.X.shape[0], c.shape[1]), dtype=apply.coefficients.dtype)
        dual[labels.index] = c / settings["scale"]
        values = apply(dual).astype(np.float64) + b
        passed_on = values if labels.codes is None else _capped(values)
        k = self.graph.n_neighbors
        return values, NeighborAverage(self.X, passed_on, self._passed_to_each, k)

    @cached_property
    def _passed_to_each(self) -> np.ndarray:
        """The share of its value that a row passes on to each of its neighbours: 1/degree.

        Otherwise rows that are near to many others, as there are in many dimensions, decide.
        """
        degrees = np.asarray(self.graph.affinity_.sum(axis=1)).ravel()
        usual = float(np.median(degrees[degrees > 0])) if degrees.any() else 1.0
        shares = usual / np.maximum(degrees, _LEAST_DEGREE * usual)
        return np.where(degrees > 0, shares, _ISOLATED)  # which knows nothing


def _capped(values: np.ndarray) -> np.ndarray:
    """Return decision values, centred over the classes, no row larger than half of the rows are.

    Those of labelled rows and their neighbours can be larger than others by orders of magnitude,
    and would decide every mean in which they take part.
    """
    if values.shape[1] > 1:
        values = values - values.mean(axis=1, keepdims=True)
    largest = np.abs(values).max(axis=1, keepdims=True)
    return values * np.minimum(1.0, np.median(largest) / np.maximum(largest, 1e-300))


def _nearest(W: sp.csr_array, k: int) -> sp.csr_array:
    """Return the k largest weights of each row, made symmetric."""
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    order = np.lexsort((-W.data, rows))
    kept = order[np.arange(len(order)) - W.indptr[rows] < k]
    near = sp.csr_array((W.data[kept], (rows[kept], W.indices[kept])), shape=W.shape)
    return sp.csr_array(near.maximum(near.T))


def _curve(power: int, floor: float, degree: int, upper: float) -> np.ndarray:
    """Return the Chebyshev coefficients of 1/(xᵖ + εᵖ) on [0, upper]."""

    def kernel(x: np.ndarray) -> np.ndarray:
        return 1.0 / (np.maximum(x, 0.0) ** power + floor**power)

    return Chebyshev.interpolate(kernel, degree, [0.0, upper]).coef


def _degree(power: int, floor: float, upper: float) -> int:
    """Return the degree of a polynomial that approximates 1/(xᵖ + εᵖ) on [0, upper].

    The error falls by the factor ρ with each degree, where ρ is that of the ellipse through the
    nearest pole.
    """
    angles = np.pi * (2 * np.arange(power) + 1) / power
    poles = 2.0 * floor * np.exp(1j * angles) / upper - 1.0
    root = np.sqrt(poles * poles - 1.0)
    rho = float(np.maximum(np.abs(poles + root), np.abs(poles - root)).min())
    return int(np.ceil(-np.log(_FILTER_ERROR) / np.log(rho)))
