"""k-means centres, which stand for all rows.

Knows neither kernels nor labels, nor what the centres are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus

from ..arrays.threads import map_blocks, row_blocks
from ..graphs.points import squared_norms

#: Rows that are looked at for each centre, and at least; more would move no centre by much.
_ROWS_PER_CENTRE = 100
_LEAST_ROWS = 20_000
#: Rows among which the seeds are drawn, for each centre.
_SEED_ROWS = 10
#: Rows of a mini-batch, for each centre and at least.
_BATCH_PER_CENTRE = 4
_LEAST_BATCH = 1024
#: It ends when the smoothed error has not fallen for so many batches, or after so many passes.
_PATIENCE = 10
_MAX_PASSES = 100
#: Distances of one block of rows to all centres.
_BLOCK_ENTRIES = 250_000


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

    k-means by mini-batches, from seeds that are drawn far from each other (k-means++): every batch
    moves its nearest centres towards its rows, the less the more rows a centre has had. Without
    weights, a sample of `kmeans_rows` is used of more rows. Centres may be equal, where rows are.
    Cost: m·d operations a row of a batch.

    References
    ----------
    D. Sculley (2010), "Web-Scale k-Means Clustering", WWW.
    """
    distinct = _distinct_rows(X, m)
    if distinct is not None:
        return distinct
    n = X.shape[0]
    if weights is None and n > kmeans_rows(m):
        X = X[np.sort(rng.choice(n, kmeans_rows(m), replace=False))]
        n = X.shape[0]
    # Around the mean, products lose the fewest digits; centred sparse rows would be dense.
    mean = np.zeros(X.shape[1]) if sp.issparse(X) else X.mean(axis=0, dtype=np.float64)
    X = X.astype(np.float64) - mean if not sp.issparse(X) else X.astype(np.float64)
    weights = np.ones(n) if weights is None else weights
    some = np.sort(rng.choice(n, min(n, _SEED_ROWS * m), replace=False))
    centres, _ = kmeans_plusplus(
        X[some],
        m,
        sample_weight=weights[some],
        random_state=int(rng.integers(2**31)),
        n_local_trials=1,
    )
    centres = centres.toarray() if sp.issparse(centres) else centres
    counts, smooth, best, since = np.zeros(m), 0.0, np.inf, 0
    size = max(_LEAST_BATCH, _BATCH_PER_CENTRE * m)
    smoothing = min(1.0, 2.0 * size / (n + 1))
    for number, batch in enumerate(_batches(n, size, rng)):
        rows, mass = X[batch], weights[batch]
        nearest, error = _nearest(rows, centres)
        members = sp.csr_array((mass, (nearest, np.arange(len(batch)))), shape=(m, len(batch)))
        sums = members @ rows
        sums = sums.toarray() if sp.issparse(sums) else sums
        total = np.asarray(members.sum(axis=1)).ravel()
        counts += total
        moved = total > 0  # a centre without rows stays where it is, at a row
        step = (total[moved] / counts[moved])[:, None]
        centres[moved] += step * (sums[moved] / total[moved, None] - centres[moved])
        # As scikit-learn does it: an average of the batches' errors, the older the less.
        mean_error = float(mass @ error) / float(mass.sum())
        smooth += (smoothing if number else 1.0) * (mean_error - smooth)
        best, since = (smooth, 0) if smooth < best else (best, since + 1)
        if since >= _PATIENCE:
            break
    return centres + mean


def _batches(n: int, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield batches of rows, all rows in every pass."""
    for _ in range(_MAX_PASSES):
        order = rng.permutation(n)
        for rows in row_blocks(n, size):
            yield order[rows]


def _nearest(X: Any, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest centre of each row, and its squared distance."""
    squares, transposed = (centres * centres).sum(axis=1), -2.0 * centres.T

    def of_block(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        part = X[rows]
        distances = part @ transposed
        distances += squares
        nearest = distances.argmin(axis=1)
        return nearest, distances[np.arange(len(nearest)), nearest] + squared_norms(part)

    blocks = row_blocks(X.shape[0], max(1, _BLOCK_ENTRIES // len(centres)))
    nearest, distances = zip(*map_blocks(of_block, blocks), strict=True)
    return np.concatenate(nearest), np.concatenate(distances)


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
