"""Nearest neighbours of every row among the other rows, for all metrics.

Chooses between exact and approximate search and reduces metrics to Euclidean distances between
points. Knows nothing about graphs or weights.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from ..arrays.blocks import join_rows
from ..arrays.device import active_device
from ..arrays.row_units import Extent, choose_units, largest_value
from ..arrays.threads import map_blocks, n_threads, row_blocks
from .exact_search import exact_neighbors, exact_rows, k_smallest
from .points import Points, squared_norms

logger = logging.getLogger(__name__)

METRICS = ("euclidean", "cosine", "precomputed")
BACKENDS = ("auto", "exact", "approximate")
APPROXIMATE_ROWS = 100_000  # where both searches take about the same time with 784 columns
DEVICE_ROWS = 1_000_000  # the same on a device, with 50 columns
#: Factor by which values of new rows may exceed known ones in one search: beside larger ones,
#: squares of the others underflow in single precision, and all rows would be searched twice.
_FAR = 1e12


def nearest_neighbors(
    X: Any, k: int, metric: str = "euclidean", backend: str = "auto"
) -> tuple[np.ndarray, np.ndarray]:
    """Find the k nearest other rows of every row.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d); a Gram matrix (n, n) for ``"precomputed"``
        The rows. Sparse rows are converted to dense ones in blocks only.
    k : int
        Number of neighbours, 1 <= k < n. The row itself is excluded by its index, so duplicate
        rows are neighbours at distance 0.
    metric : {"euclidean", "cosine", "precomputed"}
        ``"cosine"`` gives 1 - cos; a row of zeros is at distance 1 from every other row.
        ``"precomputed"`` takes a Gram matrix: d(i, j)^2 = K_ii + K_jj - 2 K_ij.
    backend : {"auto", "exact", "approximate"}
        ``"exact"`` finds the neighbours that float64 arithmetic finds. ``"approximate"`` needs
        the package usearch and dense rows. ``"auto"`` is approximate for more than 100 000 dense
        rows if usearch is installed, and exact otherwise.

    Returns
    -------
    distances : float64 array of shape (n, k)
        Ascending in each row.
    indices : integer array of shape (n, k)
        Equal distances are ordered by index.

    Examples
    --------
    >>> from lapwing.graphs.neighbors import nearest_neighbors
    >>> distances, indices = nearest_neighbors([[0.0], [1.0], [3.0]], k=1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {METRICS}, got {metric!r}.")
    X = check_array(X, **input_rules(metric))
    if not 1 <= k < X.shape[0]:
        raise ValueError(
            f"k must be at least 1 and less than the number of rows ({X.shape[0]}), got {k}."
        )
    units = choose_units(Extent(largest_value(X)), any_scale=True, any_origin=False)
    X = units.apply(X)
    if metric == "precomputed":
        distances, index = _gram_neighbors(X, k)
        return np.ldexp(distances, -units.exponent // 2), index
    if sp.issparse(X):
        X = _canonical(X)
    approximate = resolve_backend(X, metric, backend) == "approximate"
    search = _approximate if approximate else exact_neighbors
    if metric == "cosine":
        return _cosine_neighbors(X, k, search)
    squared, index = search(Points(X), k)
    return np.ldexp(np.sqrt(squared), -units.exponent), index


def nearest_known(known: Any, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k nearest of known rows for every row of X.

    Parameters
    ----------
    known : ndarray or CSR matrix of shape (n, d)
        The rows among which neighbours are, at least k. Squares of their values must be finite.
    X : ndarray or CSR matrix of shape (m, d)
        The rows whose neighbours are found; sparse if the known ones are.
    k : int
        Number of neighbours.

    Returns
    -------
    distances : float64 array of shape (m, k)
        Euclidean, ascending in each row.
    indices : integer array of shape (m, k)
        Equal distances are ordered by index.
    """
    far = _row_peaks(X) > _FAR * largest_value(known)
    if far.any() and not far.all():
        distances, index = np.empty((X.shape[0], k)), np.empty((X.shape[0], k), dtype=np.intp)
        for part in (far, ~far):
            distances[part], index[part] = nearest_known(known, X[part], k)
        return distances, index
    rows = join_rows([known, X])
    rows = _canonical(rows) if sp.issparse(rows) else rows
    squared, index = exact_neighbors(Points(rows, n_known=known.shape[0]), k)
    return np.sqrt(squared), index


def _row_peaks(X: Any) -> np.ndarray:
    """Return the largest absolute value of each row."""
    if sp.issparse(X):
        return abs(sp.csr_array(X)).max(axis=1).toarray().ravel()
    return np.maximum(X.max(axis=1, initial=0.0), -X.min(axis=1, initial=0.0))


def _canonical(X: Any) -> sp.csr_array:
    """Return sparse rows that store every column once and no zeros."""
    X = sp.csr_array(X)
    if not X.has_canonical_format or not X.data.all():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def input_rules(metric: str) -> dict[str, Any]:
    """Return the options of scikit-learn's checks of X."""
    accept_sparse = False if metric == "precomputed" else "csr"
    return {"accept_sparse": accept_sparse, "dtype": [np.float64, np.float32]}


def resolve_backend(X: Any, metric: str, backend: str) -> str:
    """Return ``"exact"`` or ``"approximate"``, the meaning of ``backend`` for these rows."""
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {BACKENDS}, got {backend!r}.")
    possible = metric != "precomputed" and not sp.issparse(X)
    if backend == "approximate":
        if not possible:
            raise ValueError(
                'backend="approximate" needs dense rows of X. Use backend="exact", or reduce '
                "sparse rows first, for example with sklearn.decomposition.TruncatedSVD."
            )
        _usearch_index_class()
        return "approximate"
    most = APPROXIMATE_ROWS if active_device() is None else DEVICE_ROWS
    if backend == "exact" or not possible or X.shape[0] <= most:
        return "exact"
    try:
        _usearch_index_class()
    except ImportError:
        logger.info(
            "exact neighbour search for %d rows, which may take long; approximate search is "
            'faster: pip install "lapwing[approx]"',
            X.shape[0],
        )
        return "exact"
    return "approximate"


def _usearch_index_class() -> Any:
    try:
        from usearch.index import Index
    except ImportError as error:
        raise ImportError(
            'Approximate neighbour search needs usearch: pip install "lapwing[approx]", '
            'or use backend="exact".'
        ) from error
    return Index


def _approximate(points: Points, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(points)
    wanted = min(n, k + 1 + max(6, k // 4))
    index = _usearch_index_class()(
        ndim=points.n_features,
        metric="l2sq",
        dtype="f32",
        connectivity=16,
        expansion_add=64,
        expansion_search=max(64, 3 * k),
    )
    rows = np.arange(n)
    centre = points.dense(slice(0, min(n, 1024))).mean(axis=0)
    power = -int(np.frexp(largest_value(points.X))[1])  # squares do not overflow in float32

    def rounded(part: slice) -> np.ndarray:
        return np.ldexp(points.dense(part) - centre, power).astype(np.float32)

    for part in row_blocks(n, 8192):
        # One thread, so that the index, and with it the graph, depends on the data only.
        index.add(rows[part], rounded(part), threads=1)

    enough = np.empty(n, dtype=bool)
    squared = np.empty((n, k))
    neighbors = np.empty((n, k), dtype=np.intp)
    for part in row_blocks(n, 8192):
        block = rounded(part)
        found = index.search(block, wanted, threads=n_threads())
        keys = found.keys.reshape(len(block), -1).astype(np.intp)
        counts = np.asarray(found.counts).reshape(-1)
        valid = (np.arange(keys.shape[1]) < counts[:, None]) & (keys != rows[part, None])
        enough[part] = valid.sum(axis=1) >= k
        valid[~enough[part]] = False
        row, column = np.nonzero(valid)
        other = keys[row, column]
        exact = points.squared_distances(row + part.start, other)
        chosen = rows[part][enough[part]]
        squared[chosen], neighbors[chosen] = k_smallest(row, other, exact, k)
    redo = np.flatnonzero(~enough)
    if len(redo):
        squared[redo], neighbors[redo] = exact_rows(points, redo, k)
    if logger.isEnabledFor(logging.DEBUG):
        sample = np.sort(np.random.default_rng(0).permutation(n)[:100])
        truth = exact_rows(points, sample, k)[1]
        hits = [len(np.intersect1d(a, b)) for a, b in zip(truth, neighbors[sample], strict=True)]
        logger.debug("approximate search: recall %.4f on 100 rows", np.mean(hits) / k)
    return squared, neighbors


def _cosine_neighbors(X: Any, k: int, search: Any) -> tuple[np.ndarray, np.ndarray]:
    """Search unit vectors, for which |u - v|^2 = 2 (1 - cos), and then insert rows of zeros."""
    n = X.shape[0]
    zero = np.flatnonzero(squared_norms(X) == 0)
    rest = np.setdiff1d(np.arange(n), zero)
    distances = np.full((n, k), 1.0)
    indices = np.tile(np.arange(k), (n, 1))
    # A row of zeros has the same distance from all: its neighbours are the first other rows.
    indices[zero] += indices[zero] >= zero[:, None]
    found = min(k, len(rest) - 1)
    near = np.empty((len(rest), 0)), np.empty((len(rest), 0), dtype=np.intp)
    if found > 0:
        squared, index = search(Points(X[rest] if len(zero) else X, unit_length=True), found)
        near = squared / 2, rest[index]
    if len(zero):
        head = zero[:k]
        value = np.hstack((near[0], np.ones((len(rest), len(head)))))
        other = np.hstack((near[1], np.broadcast_to(head, (len(rest), len(head)))))
        row = np.repeat(np.arange(len(rest)), value.shape[1])
        near = k_smallest(row, other.ravel(), value.ravel(), k)
    distances[rest], indices[rest] = near
    return distances, indices


def _gram_neighbors(K: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = K.shape[0]
    _check_gram(K)
    s = K.diagonal().astype(np.float64)

    def search(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        squared = -2.0 * K[rows].astype(np.float64)
        squared += s[rows, None]
        squared += s
        np.maximum(squared, 0.0, out=squared)
        squared[np.arange(len(squared)), np.arange(rows.start, rows.stop)] = np.inf
        limit = np.partition(squared, k - 1, axis=1)[:, k - 1]
        row, other = np.nonzero(squared <= limit[:, None])
        return k_smallest(row, other, squared[row, other], k)

    parts = map_blocks(search, row_blocks(n, max(1, 8_000_000 // (8 * n))))
    squared, index = (np.concatenate(part) for part in zip(*parts, strict=True))
    return np.sqrt(squared), index


def _check_gram(K: np.ndarray) -> None:
    n = K.shape[0]
    if K.shape[1] != n:
        raise ValueError(
            f'metric="precomputed" needs a square Gram matrix, got shape {K.shape}. '
            'Pass the rows themselves with metric="euclidean", or K(X, X).'
        )
    if K.diagonal().min() < 0:
        raise ValueError(
            "The Gram matrix has a negative diagonal entry, so it is not a kernel matrix. "
            "For a matrix of similarities use KNNGraph.from_affinity."
        )
    scale = float(K.diagonal().max())
    tolerance = (1e-4 if K.dtype == np.float32 else 1e-8) * scale
    for rows in row_blocks(n, 512):
        if np.abs(K[rows] - K[:, rows].T).max() > tolerance:
            raise ValueError("The Gram matrix is not symmetric. Symmetrise it: (K + K.T) / 2.")
