"""The Green's function of manifold regularisation: a graph filter plus Nyström columns.

In (K⁻¹ + μS)⁻¹ the kernel is replaced by K̂ = ZZᵀ + φ(L): m Nyström columns for the smooth and large
part of K, and a function of the graph Laplacian L for the rest. With S = Lᵖ and B = 1 + μSφ(L),

    (K̂⁻¹ + μS)⁻¹ = q(L) + W (I + μZᵀSW)⁻¹ Wᵀ ,    q = φ/(1 + μλᵖφ) ,    W = B⁻¹Z ,

needs only polynomials of L (sparse products) and an m × m system. Where μKS is large, which is the
usual case, the kernel hardly matters for the function h = (K̂⁻¹ + μS)⁻¹r, but it matters for its
expansion K̂⁻¹h = r − μSh, a small difference of large numbers. So B⁻¹ = 1 − μSq(L) is required to
hold exactly, and q is fitted such that the relative error of this difference is small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from ..graphs.filters import GraphFilter, spectrum_bound
from ..operators.base import Operator
from ..spaces.features import nystrom_factor

#: Degrees of the filter that are tried until the relative error of 1 − μλᵖq is small enough.
_DEGREES = (8, 12, 16, 24, 32, 48, 64, 96)
_RELATIVE_ERROR = 0.7
#: Edges of the frequency bands on which K is measured, as shares of the largest eigenvalue of L.
_BANDS = (1 / 64, 1 / 16, 1 / 8, 1 / 4, 0.4, 0.6, 0.8)
_BAND_DEGREE = 48


def green_filter(
    phi: Callable[[np.ndarray], np.ndarray], ratio: float, power: int, upper: float
) -> np.ndarray:
    """Return Chebyshev coefficients of a polynomial q close to 1/(1/φ + μλᵖ) on [0, upper].

    The polynomial is so close that 1 − μλᵖq, a small difference of large numbers, equals
    1/(1 + μλᵖφ) up to the allowed *relative* error. Reweighted least squares makes the largest
    error small.
    """
    coefficients = np.ones(1)
    for degree in _DEGREES:
        nodes = np.cos((np.arange(16 * degree) + 0.5) / (16 * degree) * np.pi)
        x = upper / 2 * (1 + nodes)
        smooth = ratio * x**power
        target = smooth * phi(x)
        system = chebyshev.chebvander(nodes, degree) * (smooth * (1.0 + target))[:, None]
        weights = np.ones(len(nodes))
        for _ in range(12):
            weighted = system * weights[:, None]
            coefficients = np.linalg.lstsq(weighted, target * weights, rcond=None)[0]
            error = np.abs(system @ coefficients - target)
            weights *= np.sqrt(error + 1e-3 * error.max() + 1e-300)
            weights /= weights.mean()
        if error.max() < _RELATIVE_ERROR:
            break
    return coefficients


def _complement(coefficients: np.ndarray, ratio: float, power: int, upper: float) -> np.ndarray:
    """Return the Chebyshev coefficients of 1 − μλᵖq."""
    for _ in range(power):
        coefficients = chebyshev.chebmul(coefficients, [upper / 2, upper / 2])
    return chebyshev.chebsub([1.0], ratio * coefficients)


class GreenFunction:
    """Symmetric approximate inverse of K⁻¹ + μS. Set-up: one product with K and m of its columns.

    Parameters
    ----------
    gram : Operator
        K.
    smoothness : Operator
        S = Lᵖ.
    ratio : float
        μ > 0.
    n_landmarks : int
        m, the number of random Nyström columns; at most a quarter of the rows are used.
    rng : numpy.random.Generator
        For the landmarks and the probes.
    """

    def __init__(
        self,
        gram: Operator,
        smoothness: Operator,
        ratio: float,
        n_landmarks: int,
        rng: np.random.Generator,
    ) -> None:
        laplacian, power = smoothness.as_power()
        n = gram.shape[0]
        upper = spectrum_bound(laplacian)
        landmarks = np.sort(rng.choice(n, min(n_landmarks, -(-n // 4)), replace=False))
        Z = nystrom_factor(gram, landmarks)
        phi = _spectral_profile(gram, Z, laplacian, upper, rng)
        coefficients = green_filter(phi, ratio, power, upper)
        self._filter = GraphFilter(laplacian, upper, coefficients)
        # Single precision is enough for W = B⁻¹Z, but not for q(L), whose values span many orders;
        # nor for values far from one: Z is divided by its size s, and s² is put into the inverse.
        size = _power_of_two(Z)
        Z = Z / size
        inverse = GraphFilter(laplacian, upper, _complement(coefficients, ratio, power, upper))
        self._W = inverse.single_precision()(Z.astype(np.float32))
        inner = self._W.T @ (smoothness @ Z).astype(np.float32)
        values, vectors = np.linalg.eigh((inner + inner.T).astype(np.float64) / 2.0)
        # Negative eigenvalues are rounding, or the error of a filter of insufficient degree.
        values = ratio * np.maximum(values, 1e-7 * values.max(initial=0.0))
        self._inverse = (vectors / (1.0 / size**2 + values)) @ vectors.T

    def __call__(self, rhs: np.ndarray) -> np.ndarray:
        """Return an approximation of (K⁻¹ + μS)⁻¹·rhs for a block. Cost: sparse products."""
        coefficients = self._inverse @ (self._W.T @ rhs.astype(np.float32))
        size = _power_of_two(coefficients)
        return self._filter(rhs) + size * (self._W @ (coefficients / size).astype(np.float32))


def _power_of_two(A: np.ndarray) -> np.float64:
    """Return the power of two just above the absolute values of a matrix; 1 for zeros."""
    return np.ldexp(np.float64(1.0), np.frexp(np.abs(A).max(initial=0.0))[1])


def _spectral_profile(
    gram: Operator, Z: np.ndarray, laplacian: Operator, upper: float, rng: np.random.Generator
) -> Callable[[np.ndarray], np.ndarray]:
    """Return φ: the mean of K − ZZᵀ over random functions of each graph frequency.

    Cost: one product with K.
    """
    nodes = np.cos((np.arange(4 * _BAND_DEGREE) + 0.5) / (4 * _BAND_DEGREE) * np.pi)
    share = (1 + nodes) / 2
    below = [1 / (1 + (share / edge) ** 6) for edge in _BANDS]
    bands = np.diff([np.zeros_like(share), *below, np.ones_like(share)], axis=0)
    coefficients = chebyshev.chebfit(nodes, bands.T, _BAND_DEGREE)
    probes = GraphFilter(laplacian, upper, coefficients)(rng.standard_normal((gram.shape[0], 1)))
    probes /= np.linalg.norm(probes, axis=0)
    frequency = (probes * (laplacian @ probes)).sum(axis=0)
    whole = (probes * (gram @ probes)).sum(axis=0)
    rest = whole - ((Z.T @ probes) ** 2).sum(axis=0)
    rest = np.log(np.maximum(rest, 1e-6 * max(whole.max(), 1e-300)))
    if np.ptp(frequency) == 0.0:  # no edges
        return lambda x: np.full_like(x, np.exp(rest.mean()))
    fit = np.polynomial.Polynomial.fit(frequency, rest, 3)
    low, high = rest.min() - 1.0, rest.max() + 1.0
    return lambda x: np.exp(np.clip(fit(x), low, high))
