"""k-means centres, which stand for all rows.

Knows neither kernels nor labels, nor what the centres are for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans

#: Rows that are looked at for each centre, and at least; more would move no centre by much.
_ROWS_PER_CENTRE = 100
_LEAST_ROWS = 20_000


def kmeans_rows(m: int) -> int:
    """Return how many rows m centres are found from, at most."""
    return max(_LEAST_ROWS, _ROWS_PER_CENTRE * m)


def kmeans_landmarks(
    X: np.ndarray | sp.csr_matrix,
    m: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return m centres of the weighted rows, or the distinct rows if there are at most m of these.

    k-means by mini-batches, from seeds that are drawn far from each other (k-means++). Without
    weights, a sample of `kmeans_rows` is used of more rows. Centres may be equal, where rows are.
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
    """Return the distinct rows in the order they come in, or None if they are more than ``most``.

    Rows are looked at one by one: usually all are distinct, and few need be looked at.
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
    row.sum_duplicates()  # which sorts them too
    row.eliminate_zeros()
    return row.indices.tobytes() + row.data.tobytes()


__all__ = ["kmeans_landmarks", "kmeans_rows"]
