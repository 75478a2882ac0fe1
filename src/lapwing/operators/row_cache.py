"""Rows of a large symmetric matrix, made when they are used and kept while there is room.

For methods that need few of the rows, many times. Rows may be kept in single precision; sums are
formed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays.threads import map_blocks, row_blocks

#: Columns worked on at a time: a few hundred rows of them stay in cache.
_COLUMN_BLOCK = 2048


class RowCache:
    """A bounded store of rows; the ones unused for longest give way to new ones.

    Parameters
    ----------
    submatrix : callable
        ``submatrix(rows, columns)`` returns entries of the matrix for an index of rows, and an
        index or a slice of columns.
    n : int
        Rows of the matrix.
    max_bytes : int
        Room for rows. At least ``least_rows`` are kept whatever it is.
    dtype : type
        Precision in which rows are kept.
    least_rows : int
        The most rows that are used together.

    Attributes
    ----------
    made : int
        Entries of the matrix made so far.
    full : bool
        Whether a row has had to give way.
    """

    def __init__(
        self,
        submatrix: Callable[[np.ndarray, np.ndarray | slice], np.ndarray],
        n: int,
        max_bytes: int,
        dtype: type,
        least_rows: int,
    ) -> None:
        self.submatrix = submatrix
        entries = max(int(max_bytes) // np.dtype(dtype).itemsize, least_rows * n)
        self._buffer: np.ndarray = np.empty(min(entries, n * n), dtype=dtype)
        self._place = np.full(n, -1)  # of each row in the store; -1 is nowhere
        self.made = 0
        self.reset()

    def reset(self) -> None:
        """Empty the store, for rows with all their columns."""
        self._place[:] = -1
        self._lay_out(np.arange(len(self._place)), np.empty(0, dtype=int))

    def keep_columns(self, columns: np.ndarray) -> None:
        """Restrict the rows to some of their present columns, in ascending order."""
        position = np.searchsorted(self.columns, columns)
        width = len(columns)
        for slot in range(self._used):  # towards the front, behind the one moved before
            self._buffer[slot * width : (slot + 1) * width] = self._rows[slot, position]
        self._lay_out(columns, self._owner[: self._used])

    def _lay_out(self, columns: np.ndarray, owners: np.ndarray) -> None:
        """Cut the buffer into rows of these columns, the first of which are there already."""
        self.columns = columns
        slots = min(len(self._buffer) // len(columns), len(self._place))
        self._rows = self._buffer[: slots * len(columns)].reshape(slots, len(columns))
        self._owner = np.full(slots, -1)
        self._owner[: len(owners)] = owners
        self._used = len(owners)
        self._last_use = np.zeros(slots, dtype=np.int64)
        self._clock = 0
        self.full = False

    def fetch(self, index: np.ndarray) -> None:
        """Make sure that these rows are in the store."""
        self._clock += 1
        present = self._place[index]
        self._last_use[present[present >= 0]] = self._clock
        missing = index[present < 0]
        fresh = np.arange(self._used, min(self._used + len(missing), len(self._rows)))
        self._used += len(fresh)
        self._last_use[fresh] = self._clock
        lacking = len(missing) - len(fresh)
        if lacking > 0:
            self.full = True
            oldest = np.argpartition(self._last_use, lacking - 1)[:lacking]
            self._place[self._owner[oldest]] = -1
            fresh = np.concatenate([fresh, oldest])
        self._owner[fresh], self._place[missing] = missing, fresh
        self._last_use[fresh] = self._clock
        if len(missing) == 0:
            return
        whole = len(self.columns) == len(self._place)

        def fill(block: slice) -> None:
            columns = block if whole else self.columns[block]
            self._rows[fresh, block] = self.submatrix(missing, columns)

        map_blocks(fill, row_blocks(len(self.columns), _COLUMN_BLOCK))
        self.made += len(missing) * len(self.columns)

    def square(self, index: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Return the square submatrix of fetched rows, which are at ``position`` among columns."""
        values = self._rows[self._place[index][:, None], position].astype(np.float64)
        return (values + values.T) / 2.0

    def combine(self, index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return Σ weights · row of fetched rows, of shape (columns, c), for weights (rows, c)."""
        slots = self._place[index]

        def part(block: slice) -> np.ndarray:
            return self._rows[slots, block].astype(np.float64).T @ weights

        return np.concatenate(map_blocks(part, row_blocks(len(self.columns), _COLUMN_BLOCK)))
