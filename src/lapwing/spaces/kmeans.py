"""k-means centres as landmarks.

Knows neither kernels nor labels, nor what the centres are for.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans

from ..arrays.duplicates import distinct_rows

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
    distinct = distinct_rows(X, m)
    if distinct is not None:
        rows = X[distinct]
        return rows.toarray() if sp.issparse(rows) else rows
    if weights is None and X.shape[0] > kmeans_rows(m):
        X = X[np.sort(rng.choice(X.shape[0], kmeans_rows(m), replace=False))]
    seed = int(rng.integers(2**31))
    means = MiniBatchKMeans(m, n_init=1, batch_size=max(1024, 4 * m), random_state=seed)
    return means.fit(X, sample_weight=weights).cluster_centers_
