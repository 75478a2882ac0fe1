"""k-means centres as landmarks.

Knows neither kernels nor labels, nor what the centres are for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans

#: Number of rows used per centre, and in total at least; more would hardly change the centres.
_ROWS_PER_CENTRE = 100
_LEAST_ROWS = 20_000


def kmeans_rows(m: int) -> int:
    """Return the largest number of rows from which m centres are computed."""
    return max(_LEAST_ROWS, _ROWS_PER_CENTRE * m)


def kmeans_landmarks(
    X: np.ndarray | sp.csr_matrix,
    m: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return m centres of the weighted rows, or the distinct rows if there are at most m of these.

    Mini-batch k-means with k-means++ initialisation. Without weights, a random sample of
    `kmeans_rows` rows is used if there are more. Centres of duplicate rows may be equal.
    """
    distinct = _distinct_rows(X, m)
    if distinct is not None:
        return distinct
    if weights is None and X.shape[0] > kmeans_rows(m):
        X = X[np.sort(rng.choice(X.shape[0], kmeans_rows(m), replace=False))]
    seed = int(rng.integers(2**31))
    means = MiniBatchKMeans(m, n_init=1, batch_size=max(1024, 4 * m), random_state=seed)
    return means.fit(X, sample_weight=weights).cluster_centers_


def _distinct_rows(X: Any, most: int) -> np.ndarray | None:
    """Return the distinct rows in order of occurrence, or None if they are more than ``most``.

    Rows are compared one by one. Usually all are distinct, and the search ends after few rows.
    """
    first: dict[bytes, int] = {}
    for i in range(X.shape[0]):
        first.setdefault(_row_bytes(X, i), i)
        if len(first) > most:
            return None
    rows = X[list(first.values())]
    return rows.toarray() if sp.issparse(rows) else rows


def _row_bytes(X: Any, i: int) -> bytes:
    """Return a row as bytes, the same for rows of equal values."""
    if not sp.issparse(X):
        return (X[i] + 0.0).tobytes()  # the sum turns -0.0 into 0.0
    row = X[[i]]
    row.sum_duplicates()  # also sorts the indices
    row.eliminate_zeros()
    return row.indices.tobytes() + row.data.tobytes()


__all__ = ["kmeans_landmarks", "kmeans_rows"]
