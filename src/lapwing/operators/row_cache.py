"""A cache for rows of a large symmetric matrix, which are computed when they are needed.

For methods that need few of the rows many times. Rows may be stored in single precision, and on a
device, where sums of them are then formed, in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.device import block_entries, like, map_where, on_host
from ..arrays.threads import row_blocks

#: Number of columns processed at a time: a few hundred rows of them stay in the CPU cache.
_COLUMN_BLOCK = 2048
#: Columns and rows summed at a time: in double precision they fit into the cache of a core.
_SUM_COLUMNS, _ROWS_AT_ONCE = 8192, 16
_HOST = np.empty(0)


class RowCache:
    """A store of bounded size; the least recently used rows are replaced by new ones.

    Parameters
    ----------
    submatrix : callable
        ``submatrix(rows, columns)`` returns entries of the matrix for an index of rows, and an
        index or a slice of columns.
    n : int
        Number of rows of the matrix.
    max_bytes : int
        Memory for rows. At least ``least_rows`` are stored in any case.
    dtype : type
        Precision of the stored rows.
    least_rows : int
        The largest number of rows that are used together.
    where : array, optional
        Rows are stored where this array is, on a device for instance.

    Attributes
    ----------
    made : int
        Number of entries of the matrix computed so far.
    full : bool
        Whether a row has been replaced.
    """

    def __init__(
        self,
        submatrix: Callable[[np.ndarray, np.ndarray | slice], Any],
        n: int,
        max_bytes: int,
        dtype: type,
        least_rows: int,
        where: Any = _HOST,
    ) -> None:
        self.submatrix = submatrix
        entries = max(int(max_bytes) // np.dtype(dtype).itemsize, least_rows * n)
        self._buffer: Any = np.empty_like(where, dtype, shape=(min(entries, n * n),))
        self._slot = np.full(n, -1)  # position of each row in the store, -1 if it is not there
        self.made = 0
        self.reset()

    def reset(self) -> None:
        """Empty the store; from now on rows have all their columns."""
        self._slot[:] = -1
        self._lay_out(np.arange(len(self._slot)), np.empty(0, dtype=int))

    def keep_columns(self, columns: np.ndarray) -> None:
        """Restrict the rows to some of their present columns, in ascending order."""
        position = np.searchsorted(self.columns, columns)
        width = len(columns)
        for slot in range(self._used):  # move rows to the front of the buffer, one after another
            self._buffer[slot * width : (slot + 1) * width] = self._rows[slot, position]
        self._lay_out(columns, self._owner[: self._used])

    def _lay_out(self, columns: np.ndarray, owners: np.ndarray) -> None:
        """Divide the buffer into rows of these columns; the first ones belong to ``owners``."""
        self.columns = columns
        slots = min(len(self._buffer) // len(columns), len(self._slot))
        self._rows = self._buffer[: slots * len(columns)].reshape(slots, len(columns))
        self._owner = np.full(slots, -1)
        self._owner[: len(owners)] = owners
        self._used = len(owners)
        self._last_use = np.zeros(slots, dtype=np.int64)
        self._clock = 0
        self.full = False

    def fetch(self, index: np.ndarray) -> None:
        """Compute those of these rows that are not in the store."""
        self._clock += 1
        present = self._slot[index]
        self._last_use[present[present >= 0]] = self._clock
        missing = index[present < 0]
        fresh = np.arange(self._used, min(self._used + len(missing), len(self._rows)))
        self._used += len(fresh)
        self._last_use[fresh] = self._clock
        lacking = len(missing) - len(fresh)
        if lacking > 0:
            self.full = True
            oldest = np.argpartition(self._last_use, lacking - 1)[:lacking]
            self._slot[self._owner[oldest]] = -1
            fresh = np.concatenate([fresh, oldest])
        self._owner[fresh], self._slot[missing] = missing, fresh
        self._last_use[fresh] = self._clock
        if len(missing) == 0:
            return
        whole = len(self.columns) == len(self._slot)

        def fill(block: slice) -> None:
            columns = block if whole else self.columns[block]
            self._rows[fresh, block] = self.submatrix(missing, columns)

        at_once = block_entries(self._buffer, 0) // len(missing)
        blocks = row_blocks(len(self.columns), max(at_once, _COLUMN_BLOCK))
        map_where(self._buffer, fill, blocks)
        self.made += len(missing) * len(self.columns)

    def square(self, index: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Return the square submatrix of fetched rows; ``position`` are their column positions."""
        values = on_host(self._rows[self._slot[index][:, None], position])
        square = np.add(values, values.T, dtype=np.float64)
        square /= 2.0
        return square

    def combine(self, index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return Σ weights · row of fetched rows, of shape (columns, c), for weights (rows, c)."""
        slots, weights = self._slot[index], like(self._buffer, weights)
        width = max(block_entries(self._buffer, 0), _SUM_COLUMNS)
        at_once = max(block_entries(self._buffer, 0) // len(self.columns), _ROWS_AT_ONCE)

        def part(block: slice) -> np.ndarray:
            n, (most, c) = block.stop - block.start, weights.shape
            total = np.zeros_like(self._buffer, np.float64, shape=(n, c))
            # One array for all parts in turn: new memory would take longer than the sums.
            double = np.empty_like(self._buffer, np.float64, shape=(min(at_once, most), n))
            for some in row_blocks(most, at_once):
                rows = double[: some.stop - some.start]
                rows[:] = self._rows[slots[some], block]
                total += rows.T @ weights[some]
            return on_host(total)

        blocks = row_blocks(len(self.columns), width)
        return np.concatenate(map_where(self._buffer, part, blocks))
