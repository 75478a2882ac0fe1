"""Rows in blocks that are read several times, and sums over all rows.

An array, a memory map or a CSR matrix is one block. A stream is read again for each pass, from a
temporary folder if it can be read only once. One tile of rows per thread is in memory at a time.
Knows nothing about what is computed.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp

from .threads import map_blocks, n_threads, row_blocks

#: Numbers that are read at a time for a checksum.
_CHECKSUM_ENTRIES = 1_000_000

#: Called with the title of a pass, the number of rows processed so far and the number of all rows.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class RowBlocks:
    """The rows of a data set, in blocks.

    Attributes
    ----------
    read : callable
        Returns the blocks, arrays or CSR matrices with the same columns. Each call returns the same
        blocks.
    n_rows : int
        Number of rows of all blocks.
    progress : callable, optional
        Called after every tile.

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
    n_rows: int
    progress: Progress | None = None

    @classmethod
    def of(cls, X: Any, progress: Progress | None = None) -> RowBlocks:
        """Return the rows of one array, memory map or CSR matrix."""
        return cls(lambda: [X], X.shape[0], progress)

    def sum(
        self,
        title: str,
        start: Callable[[], list[np.ndarray]],
        add: Callable[[list[np.ndarray], Any], None],
        tile: int,
    ) -> list[np.ndarray]:
        """Return sums over all rows; ``add`` adds the terms of a tile in place.

        Each thread computes sums over its own rows, which depend on the number of threads only, so
        that repeated calls give equal results.
        """
        total, done = start(), _ProgressCounter(self, title)

        def add_part(part: tuple[Any, slice]) -> list[np.ndarray]:
            block, rows = part
            sums = start()
            for inner in row_blocks(rows.stop - rows.start, tile):
                add(sums, block[rows.start + inner.start : rows.start + inner.stop])
                done.add(inner.stop - inner.start)
            return sums

        for block in self.read():
            n = block.shape[0]
            parts = row_blocks(n, max(-(-n // n_threads()), 1))
            for sums in map_blocks(add_part, [(block, rows) for rows in parts]):
                for one, other in zip(total, sums, strict=True):
                    one += other
        return total

    def map(self, title: str, function: Callable[[Any], np.ndarray], tile: int) -> np.ndarray:
        """Return the values of ``function`` on all tiles, concatenated."""
        found, done = [], _ProgressCounter(self, title)

        def of_tile(part: tuple[Any, slice]) -> np.ndarray:
            block, rows = part
            values = function(block[rows])
            done.add(rows.stop - rows.start)
            return values

        for block in self.read():
            tiles = row_blocks(block.shape[0], tile)
            found += map_blocks(of_tile, [(block, rows) for rows in tiles])
        return np.concatenate(found)

    def take(self, index: np.ndarray) -> Any:
        """Return the rows with these indices, which must be in ascending order."""
        parts, first = [], 0
        for block in self.read():
            last = first + block.shape[0]
            here = index[np.searchsorted(index, first) : np.searchsorted(index, last)]
            if len(here) or last == self.n_rows:
                parts.append(block[here - first])
            first = last
        if len(parts) == 1:
            return parts[0]
        if any(sp.issparse(part) for part in parts):
            return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr")
        return np.concatenate(parts)


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


@dataclass(frozen=True)
class Stream:
    """Blocks that have been read once and can be read again.

    Attributes
    ----------
    read : callable
        Returns an iterator over the rows of the blocks.
    labels : list
        The labels of each block.
    n_rows : int
        Number of rows of all blocks.
    """

    read: Callable[[], Iterable[Any]]
    labels: list[Any]
    n_rows: int


@contextmanager
def open_stream(blocks: Any, check: Callable[[int, Any], tuple[Any, Any]]) -> Iterator[Stream]:
    """Read all blocks once, check them, and yield a stream that can read them again.

    ``blocks`` is a function that returns an iterator, or an iterable such as a list. Since an
    iterator or generator can be read only once, its rows are stored in a temporary folder.
    ``check`` takes the number of a block and the block, and returns its rows, as an array or CSR
    matrix, and its labels.
    """
    if not (callable(blocks) or isinstance(blocks, Iterable)):
        raise TypeError(
            "blocks must be a list of pairs (X, y), a function that returns an iterator of them, "
            f"or an iterator, got {type(blocks).__name__}"
        )
    once = not callable(blocks) and iter(blocks) is blocks
    shapes, labels, kept = [], [], []
    with TemporaryDirectory(prefix="lapwing-") as folder:
        for number, block in enumerate(blocks() if callable(blocks) else blocks):
            X, y = check(number, block)
            shapes.append(X.shape)
            labels.append(y)
            if once:
                kept.append(_keep(Path(folder) / str(number), X))

        def read() -> Iterator[Any]:
            if once:
                yield from (load() for load in kept)
                return
            again = []
            for block in blocks() if callable(blocks) else blocks:
                X = _plain(block[0])
                again.append(X.shape)
                if len(again) > len(shapes) or again[-1] != shapes[len(again) - 1]:
                    break
                yield X
            if again != shapes:
                raise ValueError(
                    f"block {max(len(again) - 1, 0)} was not the same when it was read again, but "
                    "missing or of another shape: give the same blocks in every pass, and let a "
                    "function return a new iterator at each call"
                )

        yield Stream(read, labels, sum(n for n, _ in shapes))


def _plain(X: Any) -> Any:
    """Return rows as an array or CSR matrix; tables are converted to numbers."""
    if sp.issparse(X):
        return canonical_rows(sp.csr_matrix(X))
    return X if isinstance(X, np.ndarray) and X.dtype != object else np.asarray(X, dtype=np.float64)


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
        found, width = 0, max(part.size // max(len(part), 1), 1)
        for rows in row_blocks(len(part), max(1, _CHECKSUM_ENTRIES // width)):
            found = zlib.crc32(np.ascontiguousarray(part[rows]).view(np.uint8).data, found)
        sums.append(found)
    return X.shape, str(X.dtype), tuple(sums)


def _keep(path: Path, X: Any) -> Callable[[], Any]:
    """Write rows to a file and return a function that reads them."""
    if sp.issparse(X):
        sp.save_npz(path.with_suffix(".npz"), sp.csr_matrix(X), compressed=False)
        return lambda: sp.load_npz(path.with_suffix(".npz"))
    np.save(path.with_suffix(".npy"), X, allow_pickle=False)
    return lambda: np.load(path.with_suffix(".npy"), mmap_mode="r")
