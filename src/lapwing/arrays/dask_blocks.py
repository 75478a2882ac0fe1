"""Rows in the partitions of a Dask collection, processed where they are.

One task per partition and pass, with tiles inside it; its results have a fixed size and are merged
in a fixed order, so that repeated passes give equal results. The function of a pass is a task as
well: it is sent once, and made again if its worker is lost. Uses the active client, or else the
scheduler that Dask is configured for, and starts none. Only `arrays` may import Dask.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..messages import warn
from .blocks import RowBlocks, Sums, add_up, join_rows, refuse_change
from .file_parts import check_columns
from .row_collections import Part, RowCollection, is_dask, refuse_column, refuse_names
from .threads import one_thread, row_blocks

#: Results that are merged at a time.
_FAN_IN = 8
#: How often a pass is repeated after workers were lost.
_ATTEMPTS = 3
#: Longest time of a pass, unless Dask's configuration has another under ``lapwing.timeout``.
_TIMEOUT = "1 hour"


def dask_parts(X: Any, y: Any, weights: Any) -> tuple[DaskBlocks, tuple[str, ...] | None, Any, Any]:
    """Return the partitions of a collection, and the names, labels and weights beside them.

    Labels and weights that are Dask collections or columns are in the partitions; others are
    returned as they are.
    """
    if not hasattr(type(X), "ndim"):  # a delayed object seems to have any attribute
        raise TypeError(
            f"X is a {type(X).__name__} of Dask: pass a Dask array or dataframe, for instance by "
            "dask.array.from_delayed or to_dataframe()"
        )
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, and has {X.ndim} dimensions")
    names, split = None, None
    if not hasattr(X, "columns"):
        refuse_names(y, weights, "a Dask array")
    if hasattr(X, "columns"):
        given = [one if isinstance(one, str) else None for one in (y, weights)]
        named = [name for name in given if name is not None]
        check_columns(X.columns, named, "the Dask dataframe")
        columns = [name for name in X.columns if name not in named]
        if len(set(named)) < len(named) or not columns:
            raise ValueError(
                f"{named} name the columns of labels and weights: name two columns, and leave "
                "others to learn from"
            )
        _check_types(X._meta[columns])
        names = tuple(columns) if all(isinstance(name, str) for name in columns) else None
        split = columns, *given
    beside = [one if is_dask(one) else None for one in (y, weights)]
    # Dask joins partitions of small files, in other ways for other columns: not where labels or
    # predictions must have the same ones.
    rows = _partitions(X, as_they_are=not isinstance(y, str))
    sizes, others = _sizes(X), [_aligned(one, X, len(rows)) for one in beside]
    parts = tuple((split, *part) for part in zip(rows, *others, strict=True))
    y, weights = (None if is_dask(one) or isinstance(one, str) else one for one in (y, weights))
    n_rows = 0 if sizes is None else sum(sizes)
    return DaskBlocks(_no_reading, n_rows, sizes=sizes, parts=parts), names, y, weights


def distributed_rows(read: Callable[[Any], Part], keys: Sequence[Any]) -> RowCollection:
    """Return rows that workers read: ``read(key)`` is a block, for each of the keys.

    The function is sent once, and must not depend on this process.
    """
    from dask import delayed

    shipped, one = delayed(read, traverse=False, pure=False), delayed(_read_part, pure=False)
    parts = tuple((one(shipped, key),) for key in keys)
    return RowCollection(DaskBlocks(_no_reading, parts=parts), unit="partition")


def _read_part(read: Callable[[Any], Part], key: Any) -> Part:
    with one_thread():
        return read(key)


def _no_reading() -> list[Any]:
    raise RuntimeError("partitions of a Dask collection are not read in this process")


def _check_types(meta: Any) -> None:
    for name, found in meta.dtypes.items():
        if getattr(found, "kind", "O") not in "biufc" or str(found) == "category":
            refuse_column(name, found, "the Dask dataframe")


def _partitions(X: Any, *, as_they_are: bool) -> list[Any]:
    """Return delayed partitions, each with all columns of some rows."""
    if hasattr(X, "columns") or hasattr(X, "to_frame"):
        return list(X.to_delayed(optimize_graph=not as_they_are))
    if X.ndim == 2 and np.isnan(X.shape[1]):
        raise ValueError(
            "the number of columns of the Dask array is not known: call X.compute_chunk_sizes()"
        )
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X.to_delayed().ravel().tolist()


def _sizes(X: Any) -> tuple[int, ...] | None:
    """Return the rows of each partition, where they are known."""
    chunks = getattr(X, "chunks", None)
    if not chunks or np.isnan(chunks[0]).any():
        return None
    return tuple(int(size) for size in chunks[0])


def _aligned(values: Any, X: Any, n_partitions: int) -> list[Any]:
    """Return delayed labels or weights of each partition; None where they are no collection."""
    if not is_dask(values):
        return [None] * n_partitions
    sizes, own = _sizes(X), _sizes(values)
    if sizes is not None and own is not None and sizes != own and sum(sizes) == sum(own):
        values = values.rechunk({0: sizes})
    found = _partitions(values, as_they_are=True)
    if len(found) != n_partitions:
        raise ValueError(
            f"X has {n_partitions} partitions, and its labels or weights have {len(found)}: give "
            "both the same partitions, for instance as columns of one dataframe"
        )
    return found


def _part(split: Any, X: Any = None, y: Any = None, weights: Any = None) -> Part:
    """Return a partition; ``split`` are the columns of rows, labels and weights of a table.

    A part that was read as such is returned as it is.
    """
    if isinstance(split, Part):
        return split
    for beside in (y, weights):
        if hasattr(X, "index") and hasattr(beside, "index") and not X.index.equals(beside.index):
            raise ValueError(
                "rows and their labels or weights have different indices: give them as columns of "
                "one dataframe, or as arrays"
            )
    if split is None:
        return Part(X, y, weights)
    columns, label, weight = split
    y = y if label is None else X[label]
    weights = weights if weight is None else X[weight]
    return Part(X[columns], y, weights)


@dataclass(frozen=True)
class DaskBlocks(RowBlocks):
    """The rows of a Dask collection; its blocks are partitions.

    Attributes
    ----------
    parts : tuple of tuple
        Arguments of `_part` for each partition, some of them delayed.
    """

    parts: tuple[tuple[Any, ...], ...] = ()

    def each(self, title: str, function: Callable[[int, Any], Any]) -> list[Any]:
        """Return ``function(number, block)`` of every partition."""
        return self._each(title, function, list(enumerate(self.parts)))

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
        """Return sums over all rows, on the hosts of the workers; see `RowBlocks.sum`."""
        from dask import delayed

        functions = delayed((start, add, self.convert, merge), traverse=False, pure=False)
        one, join = delayed(_sum_part, pure=False), delayed(_merge_sums, pure=False)
        level = [one(functions, tile, at, *part) for at, part in self._numbered]
        while len(level) > 1:
            groups = row_blocks(len(level), _FAN_IN)
            level = [join(level[group], functions) for group in groups]
        return self._compute(title, level[0]) if level else start()

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
        """Return a lazy array of the values; see `RowBlocks.map`. ``like`` is required."""
        import dask.array as da
        from dask import delayed

        assert like is not None
        functions = delayed((function, self.convert, like), traverse=False, pure=False)
        one, found = delayed(_map_part, pure=False), []
        sizes = [np.nan] * len(self.parts) if self.sizes is None else list(self.sizes)
        ends = np.cumsum([0, *sizes])
        for number, part in enumerate(self.parts):
            known = None
            if given is not None:
                here = slice(*np.searchsorted(given[0], ends[number : number + 2]))
                known = given[0][here] - int(ends[number]), given[1][here]
            size = None if self.sizes is None or given is None else self.sizes[number]
            values = one(functions, tile, known, (number, size), *part)
            shape = (sizes[number], *like.shape[1:])
            found.append(da.from_delayed(values, shape, dtype=like.dtype, meta=like))
        return da.concatenate(found, allow_unknown_chunksizes=True)

    def take(self, index: np.ndarray) -> Any:
        """Return the rows with these indices, which must be in ascending order."""
        assert self.sizes is not None
        ends, convert, wanted = np.cumsum([0, *self.sizes]), self.convert, []
        for number, (at, part) in enumerate(self._numbered):
            here = index[slice(*np.searchsorted(index, ends[number : number + 2]))]
            if len(here) or number == 0:  # the columns of no rows
                wanted.append(((here - ends[number], at), part))
        return join_rows(
            self._each("rows", lambda at, part: _of_size(convert(part), at[1])[at[0]], wanted)
        )

    @property
    def _numbered(self) -> list[tuple[Any, tuple]]:
        """Each partition with its number and size, or None while these are not known."""
        if self.sizes is None:
            return [(None, part) for part in self.parts]
        return list(zip(enumerate(self.sizes), self.parts, strict=True))

    def _each(
        self, title: str, function: Callable[[Any, Any], Any], wanted: list[tuple[Any, tuple]]
    ) -> list[Any]:
        from dask import delayed

        shipped = delayed(function, traverse=False, pure=False)
        one, join = delayed(_call, pure=False), delayed(list, pure=False)
        return self._compute(title, join([one(shipped, at, *part) for at, part in wanted]))

    def _compute(self, title: str, result: Any) -> Any:
        """Return a result; a pass whose workers were lost is repeated."""
        if self.progress is not None:
            self.progress(title, 0, 1)
        found = _compute(title, result, len(self.parts))
        if self.progress is not None:
            self.progress(title, 1, 1)
        return found


# ---------------------------------------------------------------- tasks


def _call(function: Callable[[Any, Any], Any], at: Any, *part: Any) -> Any:
    with one_thread():
        return function(at, _part(*part))


def _of_size(rows: Any, at: tuple[int, int | None] | None) -> Any:
    """Return rows, or refuse them if they are not as many as in the first pass."""
    if at is not None and at[1] is not None and rows.shape[0] != at[1]:
        refuse_change(at[0], "partition")
    return rows


def _sum_part(functions: tuple, tile: int, at: tuple[int, int] | None, *part: Any) -> Sums:
    start, add, convert, _ = functions
    with one_thread():
        rows, sums = _of_size(convert(_part(*part)), at), start()
        for inner in row_blocks(rows.shape[0], tile):
            add(sums, rows[inner])
        return sums


def _merge_sums(parts: list[Sums], functions: tuple) -> Sums:
    total = [array.copy() for array in parts[0]]
    for sums in parts[1:]:
        functions[-1](total, sums)
    return total


def _map_part(
    functions: tuple, tile: int | None, known: Any, at: tuple[int, int | None], *part: Any
) -> np.ndarray:
    function, convert, like = functions
    with one_thread():
        rows = _of_size(convert(_part(*part)), at)
        n = rows.shape[0]
        if tile is None:
            parts = [function(at[0], rows)] if n else []
        else:
            parts = [function(rows[inner]) for inner in row_blocks(n, tile)]
        values = np.concatenate([like, *parts])
        if known is not None:
            values[known[0]] = known[1]
        return values


# ---------------------------------------------------------------- the scheduler


def _active_client() -> Any:
    """Return the client that Dask would use now, or None."""
    from dask.base import get_scheduler

    try:
        from distributed import Client
    except ImportError:
        return None
    scheduler = getattr(get_scheduler(), "__self__", None)
    return scheduler if isinstance(scheduler, Client) else None


def _compute(title: str, result: Any, n_partitions: int) -> Any:
    client = _active_client()
    if client is None:
        return result.compute()
    import dask
    from dask.utils import parse_timedelta
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    lost = CancelledError, FutureCancelledError, KilledWorker, CommClosedError
    limit = dask.config.get("lapwing.timeout", _TIMEOUT)
    for attempt in range(1, _ATTEMPTS + 1):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # points, sent once
            future = client.compute(result)
        try:
            return future.result(timeout=parse_timedelta(limit))
        except TimeoutError:
            if future.status == "error":  # of a task
                raise
            raise TimeoutError(
                f"the pass {title!r} over {n_partitions} partitions has not ended after {limit}: "
                "look at the dashboard of Dask for what its workers wait for, or allow more time, "
                'dask.config.set({"lapwing.timeout": "4 hours"})'
            ) from None
        except lost as error:
            # Of killed workers there were several, one after the other: the next ones would be too.
            if attempt == _ATTEMPTS or isinstance(error, KilledWorker):
                raise _lost_workers(title, n_partitions, attempt) from error
            warn(f"workers were lost during {title!r}, which is repeated: {error}")
        finally:
            future.cancel()
    raise AssertionError("unreachable")


def _lost_workers(title: str, n_partitions: int, attempts: int) -> OSError:
    times = f"{attempts} attempt{'s' if attempts > 1 else ''}"
    return OSError(
        f"the pass {title!r} over {n_partitions} partitions failed in {times}, because workers "
        "died or their results were lost: give workers more memory or make partitions smaller, "
        "and look for the cause in the logs of the workers"
    )
