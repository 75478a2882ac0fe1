"""From neighbours to matrices: edge weights, symmetric affinity, graph Laplacian.

Formulas on lists of neighbours; knows nothing about how these are found.

Notation: W affinity, D diagonal matrix of its row sums (degrees), L Laplacian.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def heat_weights(distances: np.ndarray, bandwidth: float) -> np.ndarray:
    """Heat kernel exp(-d^2 / (2 bandwidth^2)); bandwidth 0 means all distances are 0: weights 1."""
    if bandwidth == 0:
        return np.ones_like(distances)
    with np.errstate(over="ignore"):  # an infinite ratio correctly gives a weight of 0
        return np.exp(-0.5 * (distances / bandwidth) ** 2)


def local_heat_weights(distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Heat kernel exp(-2 d^2 / (s_i s_j)), with s_i the distance of row i to its last neighbour.

    The weight of an edge is the same seen from both ends. Where all neighbours of one end are at
    distance 0, the s of the other end counts for both.
    """
    if not distances.size:
        return np.zeros_like(distances)
    own = np.broadcast_to(distances[:, -1:], distances.shape)
    other = distances[:, -1][indices]
    own, other = np.where(own > 0, own, other), np.where(other > 0, other, own)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        weights = np.exp(-2.0 * (distances / own) * (distances / other))
    return np.where(distances > 0, weights, 1.0)


def symmetric_affinity(indices: np.ndarray, weights: np.ndarray) -> sp.csr_array:
    """Affinity W (n, n) with the larger of the weights i -> j and j -> i; no stored zeros."""
    n, k = indices.shape
    # 32-bit indices if they suffice: scikit-learn's graph functions accept no others.
    integer = np.int32 if n * max(k, 1) < 2**30 else np.int64
    starts = k * np.arange(n + 1, dtype=integer)
    W = sp.csr_array((weights.ravel(), indices.ravel().astype(integer), starts), shape=(n, n))
    W.eliminate_zeros()
    return larger_of_both(W)


def larger_of_both(W: sp.csr_array) -> sp.csr_array:
    """The elementwise maximum of W and its transpose, CSR with sorted indices."""
    W = sp.csr_array(W.maximum(W.T.tocsr()))
    W.sort_indices()
    return W


def graph_laplacian(W: sp.csr_array, normalized: bool) -> sp.csr_array:
    """Laplacian D - W, or I - D^(-1/2) W D^(-1/2) if normalised.

    An isolated row (degree 0) gives a row of zeros, diagonal included, in both cases: its value is
    not penalised.
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    linked = degrees > 0
    if normalized:
        root = np.zeros_like(degrees)
        root[linked] = 1 / np.sqrt(degrees[linked])
        W = W.copy()
        # The factor of a pair is the same in both orders, so that L is exactly symmetric.
        W.data *= np.repeat(root, np.diff(W.indptr)) * root[W.indices]
        degrees = linked.astype(np.float64)
    L = sp.csr_array(sp.diags_array(degrees, format="csr") - W)
    L.eliminate_zeros()
    return L


def laplacian_null_space(W: sp.csr_array, component: np.ndarray, normalized: bool) -> sp.csr_array:
    """Orthonormal basis (n, components) of the null space of the Laplacian.

    One vector per connected component: constant there, or the root of the degrees if normalised.
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    values = np.where(degrees > 0, np.sqrt(degrees), 1.0) if normalized else np.ones(len(degrees))
    lengths = np.sqrt(np.bincount(component, weights=values**2))
    n = len(component)
    entries = (values / lengths[component], (np.arange(n), component))
    return sp.csr_array(entries, shape=(n, len(lengths)))
