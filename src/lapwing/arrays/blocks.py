"""Rows in blocks that are read several times, and sums over all rows.

An array, a memory map or a CSR matrix is one block; files and functions give many, which are read
again for each pass. One tile of rows per thread is in memory at a time. `dask_blocks` has the same
methods for the partitions of a Dask collection. Knows nothing about what is computed.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .device import device_rows, device_tiles, moves_to_device, on_host, to_device
from .row_units import RowsInUnits
from .threads import map_blocks, n_threads, row_blocks

#: Numbers that are read at a time for a checksum.
_CHECKSUM_ENTRIES = 1_000_000

#: Called with the title of a pass, the number of rows processed so far and the number of all rows.
Progress = Callable[[str, int, int], None]
#: Sums over rows, or other arrays of fixed shape.
Sums = list[np.ndarray]


def add_up(total: Sums, sums: Sums) -> None:
    """Add sums over some rows to those over others, in place."""
    for one, other in zip(total, sums, strict=True):
        one += other


def as_it_is(block: Any) -> Any:
    """Return a block that holds rows as an array or CSR matrix."""
    return block


@dataclass(frozen=True)
class RowBlocks:
    """The rows of a data set, in blocks.

    Attributes
    ----------
    read : callable
        Returns the blocks. Each call returns the same blocks.
    n_rows : int
        Number of rows of all blocks; 0 where it is not known yet.
    progress : callable, optional
        Called after every tile.
    convert : callable
        Returns the rows of a block, as an array or CSR matrix.
    sizes : tuple of int or None
        Number of rows of each block, where it is known.

    Examples
    --------
    >>> import numpy as np
    >>> rows = RowBlocks.of(np.arange(6.0).reshape(3, 2))
    >>> def add(sums, tile):
    ...     sums[0] += tile.sum(axis=0)
    >>> rows.sum("adding", lambda: [np.zeros(2)], add, tile=2)
    [array([6., 9.])]
    """

    read: Callable[[], Iterable[Any]]
    n_rows: int = 0
    progress: Progress | None = None
    convert: Callable[[Any], Any] = as_it_is
    sizes: tuple[int, ...] | None = None

    @classmethod
    def of(cls, X: Any, progress: Progress | None = None) -> RowBlocks:
        """Return the rows of one array, memory map or CSR matrix."""
        return cls(lambda: [X], X.shape[0], progress)

    def each(self, title: str, function: Callable[[int, Any], Any]) -> list[Any]:
        """Return ``function(number, block)`` of every block, which is not converted."""
        if self.progress is not None:
            self.progress(title, 0, 1)
        return [function(number, block) for number, block in enumerate(self.read())]

    def sum(
        self,
        title: str,
        start: Callable[[], Sums],
        add: Callable[[Sums, Any], None],
        tile: int,
        merge: Callable[[Sums, Sums], None] = add_up,
        *,
        uses_device: bool = False,
    ) -> Sums:
        """Return sums over all rows; ``add`` adds the terms of a tile in place.

        Each thread computes sums over its own rows, which depend on the number of threads only, so
        that repeated calls give equal results. ``merge`` adds sums over other rows, in place; with
        another one, the results may be minima, for instance. With ``uses_device``, tiles and sums
        are on the device, if one is used and the rows are dense.
        """
        total, done = start(), _ProgressCounter(self, title)

        def add_part(part: tuple[Any, slice]) -> Sums:
            block, rows = part
            sums = start()
            for inner in row_blocks(rows.stop - rows.start, tile):
                add(sums, block[rows.start + inner.start : rows.start + inner.stop])
                done.add(inner.stop - inner.start)
            return sums

        for block in self._blocks():
            n = block.shape[0]
            if uses_device and _moves_to_device(block):
                sums = [to_device(one) for one in start()]
                for rows in device_tiles(block, device_rows(block, tile)):
                    add(sums, rows)
                    done.add(len(rows))
                merge(total, [on_host(one) for one in sums])
                continue
            parts = row_blocks(n, max(-(-n // n_threads()), 1))
            for sums in map_blocks(add_part, [(block, rows) for rows in parts]):
                merge(total, sums)
        return total

    def map(
        self,
        title: str,
        function: Callable[..., np.ndarray],
        tile: int | None,
        *,
        like: np.ndarray | None = None,
        given: tuple[np.ndarray, np.ndarray] | None = None,
        uses_device: bool = False,
    ) -> Any:
        """Return the values of ``function`` on all tiles, concatenated.

        Parameters
        ----------
        title : str
            Of the pass.
        function : callable
            Of the rows of a tile; ``function(number, block)`` where tile is None.
        tile : int or None
            Rows of a tile; None is a whole block.
        like : ndarray, optional
            The value of no rows, which lazy arrays need for their shape and type.
        given : tuple of index and values, optional
            Rows whose values are known, and these values, which replace those of the function.
        uses_device : bool
            Whether tiles may be on the device, if one is used; values are then as well.
        """
        found, done = [] if like is None else [like], _ProgressCounter(self, title)

        def of_tile(part: tuple[Any, slice]) -> np.ndarray:
            block, rows = part
            values = function(block[rows])
            done.add(rows.stop - rows.start)
            return values

        for number, block in enumerate(self._blocks()):
            if tile is None:
                found += [function(number, block)] if block.shape[0] else []
                continue
            if uses_device and _moves_to_device(block):
                for rows in device_tiles(block, device_rows(block, tile)):
                    found.append(on_host(function(rows)))
                    done.add(len(rows))
                continue
            tiles = row_blocks(block.shape[0], tile)
            found += map_blocks(of_tile, [(block, rows) for rows in tiles])
        values = np.concatenate(found)
        if given is not None:
            values[given[0]] = given[1]
        return values

    def take(self, index: np.ndarray) -> Any:
        """Return the rows with these indices, which must be in ascending order."""
        parts, first = [], 0
        for block in self._blocks():
            last = first + block.shape[0]
            here = index[np.searchsorted(index, first) : np.searchsorted(index, last)]
            if len(here) or last == self.n_rows:
                parts.append(block[here - first])
            first = last
        return join_rows(parts)

    def _blocks(self) -> Iterator[Any]:
        """Yield the rows of each block; refuse blocks that are not those of the first reading."""
        number = -1
        for number, block in enumerate(self.read()):
            rows = self.convert(block)
            if self.sizes is not None and (
                number >= len(self.sizes) or rows.shape[0] != self.sizes[number]
            ):
                refuse_change(number)
            yield rows
        if self.sizes is not None and number + 1 < len(self.sizes):
            refuse_change(number + 1)


def refuse_change(number: int, unit: str = "block") -> None:
    """Raise the error for a block that is not that of the first reading."""
    remedy = "and let a function return a new iterator at each call"
    if unit == "partition":
        remedy = "for instance by persist()"
    raise ValueError(
        f"{unit} {number} was not the same when it was read again, but missing or of another "
        f"length: give the same {unit}s in every pass, {remedy}"
    )


def join_rows(parts: list[Any]) -> Any:
    """Return arrays or CSR matrices below each other."""
    if len(parts) == 1:
        return parts[0]
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr")
    return np.concatenate(parts)


def _moves_to_device(block: Any) -> bool:
    """Return whether the tiles of a block move to the device."""
    return moves_to_device(block.X if isinstance(block, RowsInUnits) else block)


class _ProgressCounter:
    """Counts processed rows and reports progress; shared by all threads."""

    def __init__(self, rows: RowBlocks, title: str) -> None:
        self.rows, self.title = rows, title
        self.done, self.lock = 0, threading.Lock()

    def add(self, n: int) -> None:
        if self.rows.progress is not None:
            with self.lock:
                self.done += n
                self.rows.progress(self.title, self.done, self.rows.n_rows)


def plain_rows(X: Any) -> Any:
    """Return rows as an array or CSR matrix; tables are converted to numbers."""
    if sp.issparse(X):
        return canonical_rows(sp.csr_matrix(X))
    if not isinstance(X, np.ndarray):
        X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    return X.astype(np.float64) if X.dtype == object else X


@contextmanager
def located(unit: str, number: int, X: Any, names: Sequence[str] | None) -> Iterator[None]:
    """Let errors about the rows of a block say which block it is, and where it is not finite.

    Parameters
    ----------
    unit : str
        What messages call a block.
    number : int
        Its number.
    X : array, CSR matrix or table
        Its rows.
    names : sequence of str or None
        Names of the columns, where the block does not have them.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        # As scikit-learn says it: other errors are about other things, even if there are NaN.
        is_about_values = str(error).startswith(("Input X contains NaN", "Input X contains inf"))
        where = _first_not_finite(X, names) if is_about_values else ""
        raise kind(f"{unit} {number}{where}: {error}") from error
    except Exception as error:
        error.add_note(f"in {unit} {number}")
        raise


def _first_not_finite(X: Any, names: Sequence[str] | None) -> str:
    """Return where the first value is that is NaN or infinite, for messages."""
    try:
        rows = plain_rows(X)
        found = sp.coo_array(rows) if sp.issparse(rows) else rows
        bad = ~np.isfinite(found.data if sp.issparse(found) else found)
    except (TypeError, ValueError):  # not numbers at all
        return ""
    if not bad.any():
        return ""
    if sp.issparse(found):
        row, column = (int(index[bad.argmax()]) for index in found.coords)
    else:
        row, column = divmod(int(bad.argmax()), bad.shape[1])
    names = getattr(X, "columns", names)
    return f", row {row}, column {column if names is None else names[column]!r}"


def canonical_rows(X: Any) -> Any:
    """Return sparse rows without repeated entries, and with 32-bit indices where these suffice.

    The values of repeated entries are added up, as norms require; scikit-learn's functions accept
    32-bit indices only.
    """
    if not sp.issparse(X):
        return X
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < 2**31:
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)  # a new object
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def row_checksum(X: Any) -> tuple:
    """Return shape, type and checksums of rows, to see whether they are the same later."""
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    sums = []
    for part in parts:
        width = max(part.size // max(len(part), 1), 1)
        blocks = row_blocks(len(part), max(1, _CHECKSUM_ENTRIES // width))

        def checksum(rows: slice, part: Any = part) -> int:
            return zlib.crc32(np.ascontiguousarray(part[rows]).view(np.uint8).data)

        sums.append(zlib.crc32(np.array(map_blocks(checksum, blocks), dtype="<u4").tobytes()))
    return X.shape, str(X.dtype), tuple(sums)
