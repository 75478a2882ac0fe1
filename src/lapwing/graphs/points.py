"""The rows of a neighbour search, dense or CSR, as given or scaled to unit length.

Computes rows and distances of pairs in double precision directly from the input, so that every
search ranks its candidates by the same numbers. Knows nothing about how candidates are found.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays.device import block_entries, on_host, to_device
from ..arrays.threads import row_blocks

CHUNK_BYTES = 8_000_000  # temporary arrays of about the size of the cache
PAIR_BYTES = 2_000_000  # the same for one of the two arrays of pairs


class Points:
    """Rows of ``X``; with ``unit_length`` each row is divided by its norm (none may be zero).

    Each row looks for neighbours among the others. With ``n_known``, rows after these many are new:
    they look for neighbours among the known ones, which look for none.
    """

    def __init__(self, X: Any, unit_length: bool = False, n_known: int | None = None) -> None:
        self.X = X
        self.n_known = X.shape[0] if n_known is None else n_known
        self.first = 0 if n_known is None else n_known  # row that looks for neighbours
        self.n_others = self.n_known - (n_known is None)  # among which they are
        self.sparse = sp.issparse(X)
        self.rows = X  # where distances are computed
        self.inverse_norms = None
        if unit_length:
            self.inverse_norms = 1.0 / np.sqrt(squared_norms(X))
            if self.sparse:  # takes no more memory than X, and scaling once is cheaper
                self.X = self.rows = sp.diags_array(self.inverse_norms).tocsr() @ X
                self.inverse_norms = None

    def __len__(self) -> int:
        return self.X.shape[0]

    def on_device(self) -> Points:
        """Return the rows with distances that are computed on the device, if one is used."""
        moved = copy(self)
        moved.rows = self.X if self.sparse else to_device(self.X)
        return moved

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    def dense(self, rows: slice | np.ndarray) -> Any:
        """The chosen rows as a new dense float64 array, where distances are computed."""
        block = self.X[rows].toarray() if self.sparse else self.rows[rows]
        block = block.astype(np.float64)
        if self.inverse_norms is not None:
            block *= self.inverse_norms[rows, None]
        return block

    def squared_distances(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Squared distance of each pair ``(rows[i], others[i])`` from the float64 differences.

        Squares of differences: the distance of duplicate rows is exactly 0, whatever their offset.
        """
        result = np.empty(len(rows))
        width = max(1, self.X.nnz // max(len(self), 1)) if self.sparse else self.n_features
        entries = (CHUNK_BYTES if self.sparse else PAIR_BYTES) // 8
        entries = block_entries(self.rows, entries)
        for part in row_blocks(len(rows), max(1, entries // max(width, 1))):
            if self.sparse:
                gap = self.X[rows[part]].astype(np.float64) - self.X[others[part]]
                gap.data **= 2
                result[part] = np.asarray(gap.sum(axis=1)).ravel()
            else:
                gap = self.dense(rows[part])
                gap -= self._dense_like_input(others[part])
                result[part] = on_host(np.einsum("ij,ij->i", gap, gap))
        return result

    def _dense_like_input(self, rows: np.ndarray) -> np.ndarray:
        # Subtracting float32 from float64 in place converts on the fly and saves a copy.
        return self.rows[rows] if self.inverse_norms is None else self.dense(rows)


def squared_norms(X: Any) -> np.ndarray:
    """Squared Euclidean norm of every row in float64."""
    if sp.issparse(X):
        return np.asarray(X.astype(np.float64).multiply(X).sum(axis=1)).ravel()
    result = np.empty(X.shape[0])
    for rows in row_blocks(X.shape[0], max(1, CHUNK_BYTES // (8 * max(X.shape[1], 1)))):
        block = X[rows].astype(np.float64)
        result[rows] = np.einsum("ij,ij->i", block, block)
    return result
