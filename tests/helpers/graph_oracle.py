"""Naive references: everything dense, in float64, straight from the definitions."""

import numpy as np


def pair_distances(X, metric="euclidean"):
    X = np.asarray(X, dtype=np.float64)
    if metric == "cosine":
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        U = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
        return 1 - U @ U.T
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


def neighbors(X, k, metric="euclidean"):
    """Stable sort: equal distances stay in the order of their index."""
    D = pair_distances(X, metric)
    np.fill_diagonal(D, np.inf)
    index = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, index, axis=1), index


def heat_affinity(X, k):
    distances, index = neighbors(X, k)
    sigma = distances.mean()
    W = np.zeros((len(X), len(X)))
    for i, (d, js) in enumerate(zip(distances, index, strict=True)):
        W[i, js] = np.exp(-(d**2) / (2 * sigma**2))
    return np.maximum(W, W.T), sigma


def laplacian(W, normalized):
    degrees = W.sum(axis=1)
    if not normalized:
        return np.diag(degrees) - W
    L = np.zeros_like(W)
    for i in range(len(W)):
        for j in range(len(W)):
            if i == j and degrees[i] > 0:
                L[i, i] = 1.0
            elif W[i, j] > 0:
                L[i, j] = -W[i, j] / np.sqrt(degrees[i] * degrees[j])
    return L
