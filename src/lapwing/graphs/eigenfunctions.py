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

from ..arrays.row_units import column_means
from ..arrays.threads import map_blocks, row_blocks

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
        X: np.ndarray,
        n_components: int,
        n_bins: int,
        n_functions: int,
        bandwidth: float | None = None,
    ) -> Self:
        """Return the basis of these rows.

        Cost: n·d² operations for the axes (n²·d if there are fewer rows than columns), two more
        passes over the rows, and an eigenproblem of ``n_bins`` bins per axis; memory d² + a block.
        """
        mean = column_means(X)
        axes, deviations = principal_axes(X, mean, n_components)
        if bandwidth is None:
            bandwidth = _RELATIVE_BANDWIDTH * float(deviations.max(initial=0.0)) or 1.0
        sigmas, functions = [], []
        for axis, (centres, counts) in enumerate(_histograms(X, mean, axes, n_bins)):
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
        return np.concatenate(map_blocks(lambda rows: self(X[rows]) @ coef, _blocks(X)))


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
    values = vectors / root[:, None]
    return np.maximum(sigma, 0.0), values / np.sqrt(p @ values**2)


def principal_axes(
    X: np.ndarray, mean: np.ndarray, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading principal axes (d, c) and the standard deviations along them (c,)."""
    n, d = X.shape
    if d <= n:
        parts = map_blocks(lambda rows: _gram(X[rows] - mean), _blocks(X))
        variances, vectors = eigh(np.sum(parts, axis=0) / n)
    else:  # fewer rows than columns: from the Gram matrix of the rows
        centred = X - mean
        variances, vectors = eigh(centred @ centred.T / n)
        vectors = centred.T @ vectors
    keep = np.flatnonzero(variances > _RANK * max(variances[-1], 0.0))[::-1][:n_components]
    axes = vectors[:, keep]
    return axes / np.linalg.norm(axes, axis=0), np.sqrt(variances[keep])


def _gram(A: np.ndarray) -> np.ndarray:
    return A.T @ A


def _histograms(
    X: np.ndarray, mean: np.ndarray, axes: np.ndarray, n_bins: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return centres of equal bins between the extremes, and counts, for each axis."""

    def extremes_of(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        T = (X[rows] - mean) @ axes
        return T.min(axis=0), T.max(axis=0)

    extremes = map_blocks(extremes_of, _blocks(X))
    low = np.min([e[0] for e in extremes], axis=0)
    high = np.max([e[1] for e in extremes], axis=0)

    def count(rows: slice) -> np.ndarray:
        T = (X[rows] - mean) @ axes
        counts = np.empty((len(low), n_bins), dtype=np.int64)
        for j, ends in enumerate(zip(low, high, strict=True)):
            counts[j] = np.histogram(T[:, j], n_bins, ends)[0]
        return counts

    counts = np.sum(map_blocks(count, _blocks(X)), axis=0)
    middle = (np.arange(n_bins) + 0.5) / n_bins
    return [(low[j] + (high[j] - low[j]) * middle, counts[j]) for j in range(len(low))]


def _blocks(X: np.ndarray) -> list[slice]:
    return row_blocks(len(X), max(1, _BLOCK_BYTES // (8 * X.shape[1])))
