"""How many unlabelled rows change class from stage to stage of an S3VC.

Of rows in memory the values are known; of rows in blocks they are computed in one pass at the end
of a stage, and only counts are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays.device import on_host
from ..solvers.lbfgs import Minimum
from ..solvers.s3vm import MarginProblem
from ..solvers.stopping import decisions

#: Coefficients and intercepts of some functions.
Affine = tuple[np.ndarray, np.ndarray]


class StoredChanges:
    """Changes of class of rows in memory.

    Parameters
    ----------
    problem : MarginProblem
        The problem.
    start : ndarray or None
        Vectors of the last fit, if this one starts from them.

    Attributes
    ----------
    n_rows : int
        Unlabelled rows that are used.
    moved : int
        Rows that changed class in the last stage.
    changed : int
        Rows that changed class since the first stage, or since the last fit.
    """

    def __init__(self, problem: MarginProblem, start: np.ndarray | None) -> None:
        self.unlabelled, self.n_rows = problem.unlabelled, len(problem.unlabelled)
        self.moved = self.changed = 0
        self._before: np.ndarray | None = None
        self._first: np.ndarray | None = None
        if start is not None:
            self._before = on_host(problem.values(start))[self.unlabelled]
            self._first = decisions(self._before)

    def update(self, minimum: Minimum, best: np.ndarray) -> None:
        """Count the changes of a stage; ``best`` are the columns of its functions."""
        now = decisions(minimum.values[self.unlabelled][:, best])
        self._first = now if self._first is None else self._first
        before = self._before
        self.moved = 0 if before is None else int(np.sum(now != decisions(before[:, best])))
        self.changed = int(np.sum(now != self._first))
        self._before, self._now = minimum.values[self.unlabelled], now

    def class_counts(self) -> np.ndarray:
        """Return the number of rows in each class after the last stage."""
        return np.bincount(self._now.astype(int))


class BlockChanges:
    """Changes of class of rows in blocks; see `StoredChanges`.

    Parameters
    ----------
    problem : MarginProblem
        The problem, with unlabelled rows in blocks.
    """

    def __init__(self, problem: MarginProblem) -> None:
        assert problem.beyond is not None
        self.problem, self.rows = problem, problem.beyond.rows
        self.n_rows = self.rows.blocks.n_rows - len(problem.unlabelled)
        self.moved = self.changed = 0
        self._before: np.ndarray | None = None
        self._first: Affine | None = None
        self._now: Affine | None = None
        self._counts: np.ndarray | None = None

    def update(self, minimum: Minimum, best: np.ndarray) -> None:
        """Count the changes of a stage. Cost: one pass over the blocks, none for the first."""
        space, vectors = self.problem.space, minimum.vectors
        self._now = now = space.coef_and_intercept(vectors[:, best], best)
        if self._before is None or self._first is None:
            self._first = now
        else:
            before = space.coef_and_intercept(self._before[:, best], best)
            self.moved, self.changed, *counts = self._count(now, before, self._first)
            self._counts = np.array(counts)
        self._before = vectors

    def class_counts(self) -> np.ndarray:
        """Return the number of rows in each class after the last stage."""
        if self._counts is None:
            assert self._now is not None
            self._counts = np.array(self._count(self._now, self._now, self._now)[2:])
        return self._counts

    def _count(self, *groups: Affine) -> list[int]:
        """Return the counts of the unlabelled rows, see `_Count`."""
        coef = np.hstack([coef for coef, _ in groups])
        intercept = np.hstack([intercept for _, intercept in groups])
        count = _Count(len(groups[0][1]))
        found = self.rows.sum_values(coef, intercept, count, count.size)
        # The rows in memory are labelled: they do not count.
        found -= count(self.problem.space.space.values_of(coef) + intercept)
        return [int(number) for number in found]


@dataclass(frozen=True)
class _Count:
    """Counts of rows of three groups of functions: now, before, first.

    Attributes
    ----------
    per_run : int
        Columns of one group.
    """

    per_run: int

    @property
    def size(self) -> int:
        """Length of the counts."""
        return 2 + max(self.per_run, 2)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return how many rows differ from before and from first, and the counts of classes."""
        k = self.per_run
        now, before, first = (decisions(values[:, i * k : (i + 1) * k]) for i in range(3))
        counts = np.bincount(now.astype(int), minlength=self.size - 2)
        return np.array([np.sum(now != before), np.sum(now != first), *counts], dtype=float)
