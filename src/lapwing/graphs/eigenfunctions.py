"""Smooth functions with respect to the density of the rows, for one principal axis at a time.

As the number of rows grows, eigenvectors of the normalised graph Laplacian converge to
eigenfunctions of an operator that depends on the density only. If the density is a product over the
axes, functions of one coordinate are among them, and they follow from a histogram of that
coordinate: no graph is built, and values on new rows are interpolated. Knows no labels.

Notation: s the centres of the bins of one coordinate, p their shares of the rows, P = diag(p),
W̃ the affinity of the centres, σ eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import eigh

from ..arrays.blocks import RowBlocks

#: Default width of the affinity relative to the standard deviation along the first axis.
_RELATIVE_BANDWIDTH = 0.2
#: Axes with a smaller share of the variance of the first one are rounding.
_RANK = 1e-12
#: Memory for the rows that one thread converts to double precision at a time.
_BLOCK_BYTES = 8_000_000


@dataclass(frozen=True)
class EigenfunctionBasis:
    """The constant and the smoothest functions of a single principal coordinate.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        Mean of the rows.
    axes : ndarray of shape (d, c)
        Principal axes.
    bandwidth : float
        ε of the affinity.
    eigenvalues : ndarray of shape (1 + k,)
        σ, ascending; 0 for the constant, which comes first.
    functions : tuple of k (int, ndarray, ndarray)
        Index of the axis, centres of its bins, and values there.

    References
    ----------
    R. Fergus, Y. Weiss and A. Torralba (2009), "Semi-Supervised Learning in Gigantic Image
    Collections", NIPS 22.
    """

    mean: np.ndarray
    axes: np.ndarray
    bandwidth: float
    eigenvalues: np.ndarray
    functions: tuple[tuple[int, np.ndarray, np.ndarray], ...]

    @classmethod
    def build(
        cls,
        X: np.ndarray | RowBlocks,
        n_components: int,
        n_bins: int,
        n_functions: int,
        bandwidth: float | None = None,
    ) -> Self:
        """Return the basis of these rows, in an array or in blocks.

        Cost: n·d² operations for the axes (n²·d if there are fewer rows than columns), three more
        passes over the rows, and an eigenproblem of ``n_bins`` bins per axis; memory d² + a block.
        """
        rows = X if isinstance(X, RowBlocks) else RowBlocks.of(X)
        mean = _mean(rows)
        axes, deviations = principal_axes(rows, mean, n_components)
        if bandwidth is None:
            bandwidth = _RELATIVE_BANDWIDTH * float(deviations.max(initial=0.0)) or 1.0
        sigmas, functions = [], []
        for axis, (centres, counts) in enumerate(_histograms(rows, mean, axes, n_bins)):
            filled = counts > 0  # bins without rows have no weight and are left out
            if filled.sum() < 2:
                continue
            points = centres[filled]
            sigma, values = coordinate_eigenfunctions(points, counts[filled], bandwidth)
            for k in range(min(n_functions, len(sigma))):
                sigmas.append(sigma[k])
                functions.append((axis, points, values[:, k]))
        smoothest = np.argsort(sigmas, kind="stable")[:n_functions]
        eigenvalues = np.append(0.0, np.array(sigmas)[smoothest])
        return cls(mean, axes, bandwidth, eigenvalues, tuple(functions[i] for i in smoothest))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the functions at any rows, shape (n, 1 + k); constant outside the histogram."""
        T = (X - self.mean) @ self.axes
        U = np.ones((len(X), 1 + len(self.functions)))
        for k, (axis, points, values) in enumerate(self.functions, start=1):
            U[:, k] = np.interp(T[:, axis], points, values)
        return U

    def combine(self, X: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return combinations of the functions at any rows, shape (n, columns), in blocks."""
        tile = _tile_rows(X.shape[1])
        return RowBlocks.of(X).map("values", lambda part: self(part) @ coef, tile)


def coordinate_eigenfunctions(
    points: np.ndarray, density: np.ndarray, bandwidth: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the eigenfunctions of one coordinate, the smoothest first, without the constant.

    They solve

        (D̃ - PW̃P) g = σ P D̂ g,   W̃ᵢⱼ = exp(-(sᵢ - sⱼ)² / 2ε²)

    with D̃ the row sums of PW̃P and D̂ the column sums of PW̃, the density smoothed by the affinity.
    So PD̂ = D̃, and this is the normalised Laplacian of the affinity PW̃P.

    Parameters
    ----------
    points : array of shape (B,)
        Centres s of the bins.
    density : array of shape (B,)
        Shares or counts of the rows; all positive.
    bandwidth : float
        ε > 0.

    Returns
    -------
    sigma : ndarray of shape (B - 1,)
        Eigenvalues, from 0 (as smooth as the constant) to 2.
    values : ndarray of shape (B, B - 1)
        The functions g at the points, with mean square one under the density.

    Examples
    --------
    Under a uniform density they are cosines; the first has half a period:

    >>> import numpy as np
    >>> from lapwing.graphs.eigenfunctions import coordinate_eigenfunctions
    >>> s = (np.arange(200) + 0.5) / 200
    >>> sigma, g = coordinate_eigenfunctions(s, np.ones(200), 0.02)
    >>> bool(abs(np.corrcoef(g[:, 0], np.cos(np.pi * s))[0, 1]) > 0.999)
    True
    """
    p = density / density.sum()
    with np.errstate(over="ignore"):  # distant bins: the affinity is 0
        W = np.exp(-0.5 * ((points[:, None] - points) / bandwidth) ** 2)
    A = p[:, None] * W * p
    root = np.sqrt(A.sum(axis=1))
    constant = root / np.linalg.norm(root)
    # The eigenvalue of the constant is raised above all others (σ ≤ 2), so that it does not mix
    # with them, not even if the density has several components and σ = 0 is multiple.
    S = 4.0 * np.outer(constant, constant) - A / root[:, None] / root
    S[np.diag_indices(len(S))] += 1.0
    sigma, vectors = eigh(S, subset_by_index=[0, len(S) - 2])
    values = _with_signs(vectors / root[:, None])
    return np.maximum(sigma, 0.0), values / np.sqrt(p @ values**2)


def _with_signs(vectors: np.ndarray) -> np.ndarray:
    """Return columns whose first entry of some size is positive: their signs are arbitrary."""
    sizes = np.abs(vectors)
    first = (sizes > 0.1 * sizes.max(axis=0)).argmax(axis=0)
    return vectors * np.where(vectors[first, np.arange(len(first))] < 0, -1.0, 1.0)


def _mean(rows: RowBlocks) -> np.ndarray:
    """Return the mean of each column, exactly for a constant column."""
    first = rows.take(np.array([0]))[0].astype(np.float64)

    def add(sums: list[np.ndarray], X: np.ndarray) -> None:
        sums[0] += (X - first).sum(axis=0)

    [total] = rows.sum("mean", lambda: [np.zeros(len(first))], add, _tile_rows(len(first)))
    return first + total / rows.n_rows


def principal_axes(
    rows: RowBlocks, mean: np.ndarray, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading principal axes (d, c) and the standard deviations along them (c,)."""
    n, d = rows.n_rows, len(mean)
    if d <= n:

        def add(sums: list[np.ndarray], X: np.ndarray) -> None:
            centred = X - mean
            sums[0] += centred.T @ centred

        [gram] = rows.sum("axes", lambda: [np.zeros((d, d))], add, _tile_rows(d))
        variances, vectors = eigh(gram / n)
    else:  # fewer rows than columns: from the Gram matrix of the rows
        centred = rows.take(np.arange(n)) - mean
        variances, vectors = eigh(centred @ centred.T / n)
        vectors = centred.T @ vectors
    keep = np.flatnonzero(variances > _RANK * max(variances[-1], 0.0))[::-1][:n_components]
    axes = _with_signs(vectors[:, keep])
    return axes / np.linalg.norm(axes, axis=0), np.sqrt(variances[keep])


def _histograms(
    rows: RowBlocks, mean: np.ndarray, axes: np.ndarray, n_bins: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return centres of equal bins between the extremes, and counts, for each axis."""
    k, tile = axes.shape[1], _tile_rows(len(mean))

    def widen(ends: list[np.ndarray], X: np.ndarray) -> None:
        T = (X - mean) @ axes
        merge(ends, [T.min(axis=0), T.max(axis=0)])

    def merge(ends: list[np.ndarray], others: list[np.ndarray]) -> None:
        np.minimum(ends[0], others[0], out=ends[0])
        np.maximum(ends[1], others[1], out=ends[1])

    low, high = rows.sum(
        "ends", lambda: [np.full(k, np.inf), np.full(k, -np.inf)], widen, tile, merge
    )

    def count(sums: list[np.ndarray], X: np.ndarray) -> None:
        T = (X - mean) @ axes
        for j, ends in enumerate(zip(low, high, strict=True)):
            sums[0][j] += np.histogram(T[:, j], n_bins, ends)[0]

    [counts] = rows.sum("histograms", lambda: [np.zeros((k, n_bins), dtype=np.int64)], count, tile)
    middle = (np.arange(n_bins) + 0.5) / n_bins
    return [(low[j] + (high[j] - low[j]) * middle, counts[j]) for j in range(k)]


def _tile_rows(d: int) -> int:
    return max(1, _BLOCK_BYTES // (8 * d))
