"""The smoothest functions of a graph: the eigenvectors of its smallest Laplacian eigenvalues.

Chen, Tsang & Xu (2012, Section III-B) approximate the whole graph by such functions. All of them
cost n³ operations, the first few only sparse products. Knows only the Laplacian: no data, no
kernels, no labels.

Notation: L Laplacian, N its known null space, V and σ its eigenvectors and eigenvalues.
"""

from __future__ import annotations

import numbers

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.linalg import eigh

from ..arrays.device import on_host, to_device
from ..messages import warn
from ..operators.base import Operator
from .filters import GraphFilter, spectrum_bound

METHODS = ("auto", "dense", "chebyshev")

#: Eigenvalues below this share of the spectrum count as this share in the tolerance: the number of
#: products to resolve smaller ones is proportional to the inverse root of the share.
FLOOR = 1e-3
#: Number of rows up to which, and share of all pairs from which, a dense decomposition is fastest.
_DENSE_SIZE, _DENSE_SHARE = 500, 0.25
#: Largest amplification of eigenvalue 0 over the unwanted ones: more would cost digits.
_GAIN = 1e4
#: Largest number of filtered subspace iterations.
_SWEEPS = 60
#: Largest number of known null vectors with which a device is used, where they are dense.
_MOST_KNOWN = 64


def smallest_eigenpairs(
    laplacian: Operator,
    k: int,
    *,
    tol: float = 1e-2,
    method: str = "auto",
    rng: np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k smallest eigenvalues of a graph Laplacian, with their eigenvectors.

    Each pair, with ‖v‖ = 1, satisfies

        ‖Lv − σv‖ ≤ tol · max(σ, upper / 1000) ,    upper = spectrum_bound(L) ,

    so that L has an eigenvalue within that distance of σ.

    Parameters
    ----------
    laplacian : Operator
        L, symmetric positive semi-definite. For a power Lᵖ the base L is used. The vectors of its
        ``null_space`` are used as they are, those of the largest components first, and only the
        others are computed.
    k : int
        Number of pairs, less than the number of rows.
    tol : float, default=1e-2
        Tolerance as above, at least 1e-8 and below 1. In any case the vectors are orthonormal and
        the values are their Rayleigh quotients vᵀLv.
    method : {"auto", "dense", "chebyshev"}, default="auto"
        ``"dense"`` decomposes the full matrix and is exact. ``"chebyshev"`` is filtered subspace
        iteration, which finds all copies of a multiple eigenvalue. ``"auto"`` is ``"dense"`` for at
        most 500 rows or at least n / 4 pairs, and ``"chebyshev"`` otherwise.
    rng : numpy.random.Generator, optional
        For the initial vectors; by default seeded with 0.

    Returns
    -------
    values : ndarray of shape (k,)
        Ascending, not negative.
    vectors : ndarray of shape (n, k)
        Orthonormal columns. The entry of largest absolute value of each, the first if there are
        several, is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.graphs import KNNGraph, smallest_eigenpairs
    >>> step = np.roll(np.eye(6), 1, axis=0)
    >>> ring = KNNGraph.from_affinity(step + step.T)
    >>> values, vectors = smallest_eigenpairs(ring.laplacian_, 4)
    >>> values.round(6)
    array([0. , 0.5, 0.5, 1.5])
    """
    laplacian, _ = laplacian.as_power()
    n = laplacian.shape[0]
    check_request(n, k, tol, method)
    rng = np.random.default_rng(0) if rng is None else rng
    known = _null_vectors(laplacian, k)
    wanted = k - known.shape[1]
    if wanted == 0:
        return np.zeros(k), _with_fixed_signs(known)
    upper = spectrum_bound(laplacian)
    if method == "auto":
        method = "dense" if n <= _DENSE_SIZE or k >= _DENSE_SHARE * n else "chebyshev"
    solve = {"dense": _dense, "chebyshev": _chebyshev}[method]
    values, vectors = solve(laplacian, wanted, upper, tol, rng)
    values = np.concatenate([np.zeros(known.shape[1]), np.maximum(values, 0.0)])
    return values, _with_fixed_signs(np.hstack([known, vectors]))


def check_request(n: int, k: int, tol: float, method: str = "auto") -> None:
    """Raise ValueError if the request is not possible for a graph of n rows."""
    if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}.")
    if k >= n:
        raise ValueError(
            f"k={k} eigenpairs were requested, but the graph has {n} rows: request at most "
            f"{n - 1}, or compute all by numpy.linalg.eigh(laplacian @ numpy.eye(n))."
        )
    if not isinstance(tol, numbers.Real) or not 1e-8 <= tol < 1:
        raise ValueError(f"tol must be at least 1e-8 and less than 1, got {tol!r}.")
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")


def _null_vectors(laplacian: Operator, k: int) -> np.ndarray:
    """Return at most k vectors of the known null space, those with the most entries first."""
    N = laplacian.null_space
    if N is None:
        return np.zeros((laplacian.shape[0], 0))
    sizes = np.bincount(N.nonzero()[1], minlength=N.shape[1])
    return N[:, np.argsort(-sizes, kind="stable")[:k]].toarray()


def _with_fixed_signs(V: np.ndarray) -> np.ndarray:
    size = np.abs(V)
    first = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    return V * np.sign(V[first, np.arange(V.shape[1])])


def _dense(
    laplacian: Operator, k: int, upper: float, tol: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    L = laplacian @ np.eye(laplacian.shape[0])
    if laplacian.null_space is not None:  # shifted above the spectrum
        L += 2 * upper * (laplacian.null_space @ laplacian.null_space.T).toarray()
    return eigh(L, subset_by_index=[0, k - 1])


def _chebyshev(
    laplacian: Operator, k: int, upper: float, tol: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Subspace iteration with polynomials of L that are small on [cut, upper]."""
    n, N = laplacian.shape[0], laplacian.null_space
    rank = n - (0 if N is None else N.shape[1])
    width = min(k + 8 + k // 5, rank)  # with guard vectors, which speed up convergence
    V = rng.standard_normal((n, width))
    if laplacian.matrix is not None and (N is None or N.shape[1] <= _MOST_KNOWN):
        V = to_device(V)
    cut, degree = upper / 2, 6
    for _ in range(_SWEEPS):
        V = GraphFilter(laplacian, upper, _low_pass(degree, cut, upper))(V)
        values, V, residuals = _rayleigh_ritz(laplacian, V)
        excess = _excess(values[:k], residuals[:k], upper, tol)
        if excess <= 1:
            break
        # Above the guard vectors, and above a cluster of more eigenvalues than these.
        cut = min(max(values[-1], 1.1 * values[k - 1], FLOOR * upper), 0.95 * upper)
        # T(x) = cosh(degree · arccosh x) below the cut: the degree is as large as needed, within
        # the largest amplification.
        zero, last = (upper + cut - 2 * np.array([0.0, values[k - 1]])) / (upper - cut)
        most = np.arccosh(_GAIN) / np.arccosh(zero)
        needed = np.arccosh(2 * excess) / np.arccosh(max(last, 1 + 1e-6))
        degree = int(np.ceil(min(most, needed)))
    else:
        warn(
            f"The residuals of the eigenvectors exceed the tolerance by a factor of {excess:.2g}. "
            f"Raise tol={tol}, or request fewer eigenvectors."
        )
    return values[:k], on_host(V[:, :k])


def _low_pass(degree: int, cut: float, upper: float) -> np.ndarray:
    """Return Chebyshev coefficients on [0, upper]: 1 at 0, and as small as possible above cut."""
    polynomial = Chebyshev.basis(degree, domain=[cut, upper])
    coefficients: np.ndarray = Chebyshev.interpolate(polynomial, degree, domain=[0, upper]).coef
    return coefficients / float(polynomial(0.0))


def _excess(values: np.ndarray, residuals: np.ndarray, upper: float, tol: float) -> float:
    """Return the largest residual in units of the allowed one."""
    return float((residuals / np.maximum(values, FLOOR * upper)).max() / tol)


def _rayleigh_ritz(laplacian: Operator, V: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Ritz pairs of L in the span of V without the null space, and their residuals."""
    Q = np.linalg.qr(laplacian.without_null_space(V))[0]
    again = laplacian.without_null_space(Q)
    if np.abs(again - Q).max() > 1e-14:  # V was rank-deficient, and QR added rounding errors
        Q = np.linalg.qr(again)[0]
    LQ = laplacian @ Q
    values, turn = np.linalg.eigh(Q.T @ LQ)
    V = Q @ turn
    return on_host(values), V, on_host(np.linalg.norm(LQ @ turn - V * values, axis=0))
