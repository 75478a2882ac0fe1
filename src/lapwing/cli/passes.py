"""One progress bar for the passes over the rows of a table and the stages of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ..tables import Table, TableReader
from .terminal import Show

#: Shares of all work at which the passes of a fit end: over the columns, over the labels, and three
#: of the model over the rows. Later ones do not move the bar.
_ENDS = (0.25, 0.3, 0.45, 0.6, 0.75)
#: The share of a fit to rows in memory up to which the passes of the model take place.
_LAST_PASS = 0.2


class PassProgress:
    """Shows how far a command is.

    Parameters
    ----------
    show : callable
        Called with the stage and the share of all work that is done.
    ends : tuple of float
        Shares of all work at which the passes over the rows end.

    Attributes
    ----------
    n_rows : int
        Number of rows of a pass, or an estimate; 0 if it is not known.
    """

    def __init__(self, show: Show, ends: tuple[float, ...] = _ENDS) -> None:
        self.n_rows = 0
        self._show, self._ends = show, ends
        self._n_passes, self._share, self._stage = 0, 0.0, ""

    def stage(self, stage: str, share: float) -> None:
        """Show a stage of a fit; a ``callback`` of the default."""
        self._stage = stage
        if self._n_passes == 0:  # all rows are in memory
            self._show(stage, share)
            return
        if share > _LAST_PASS:
            last = self._ends[-1]
            self._share = max(self._share, last + (1 - last) * share)
        self._show(stage, self._share)

    def watched(self, reader: TableReader, title: str) -> TableReader:
        """Return a reader that shows how many of its rows have been read, pass by pass."""
        return replace(reader, watch=partial(self._watch, title=title))

    def _watch(self, tables: Iterator[Table], title: str) -> Iterator[Table]:
        """Yield the tables of a pass, and show how far it is."""
        begin, end = self._share, self._share
        if self._n_passes < len(self._ends):
            end = max(begin, self._ends[self._n_passes])
        self._n_passes += 1
        n = 0
        for table in tables:
            yield table
            n += table.n_rows
            done = min(n / max(self.n_rows, n, 1), 1.0)
            self._share = begin + (end - begin) * done
            self._show(title, self._share)
