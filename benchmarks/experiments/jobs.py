"""Jobs, their outcomes, and the papers that list them: plain values, which run nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: quick: a smoke test; standard: fewer repeats, coarser grids; full: as in the papers.
MODES = ("quick", "standard", "full")


@dataclass(frozen=True)
class Outcome:
    """The results of a job.

    Attributes
    ----------
    values : mapping of str to list of float
        For each quantity ("U", "seconds", …) one value per repeat, errors in percent.
    remark : str
        A note for the reader, such as the selected parameters.
    curves : mapping
        Lists of numbers to plot, for the figures of the papers.
    """

    values: Mapping[str, list[float]] = field(default_factory=dict)
    remark: str = ""
    curves: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One unit of work: a method on a data set with all its repeats, or one figure.

    Attributes
    ----------
    paper, row, method : str
        Its name. Published results of the same row and method are compared with it.
    work : callable
        ``work(data, **settings)`` returns an `Outcome`. A module-level function, because another
        process imports it.
    settings : mapping
        Everything the outcome depends on, as values that JSON can represent.
    files : tuple of str
        Files of the data sets that it reads.
    thinned : str
        How it does less than the paper, in words.
    """

    paper: str
    row: str
    method: str
    work: Callable[..., Outcome]
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    thinned: str = ""

    @property
    def key(self) -> str:
        """Name and settings; a job whose key is in the store is not run again."""
        settings = json.dumps(self.settings, sort_keys=True)
        digest = hashlib.sha256(settings.encode()).hexdigest()[:12]
        return f"{self.paper} | {self.row} | {self.method} | {digest}"

    @property
    def title(self) -> str:
        """Name for display."""
        return f"{self.paper}: {self.row}, {self.method}"


@dataclass(frozen=True)
class Paper:
    """A paper: its published tables and the jobs that repeat them.

    Attributes
    ----------
    number, name : str
        Names that ``--paper`` accepts.
    citation : str
        Authors and year, for display.
    tables : tuple of str
        The tables that are compared.
    jobs : callable
        ``jobs(mode)`` returns the list of jobs.
    protocol : str
        How the experiments are done and what differs from the paper; the docstring of its module.
    lost : tuple of str
        Data sets of the paper that are not available, as prefixes of their rows.
    instead : str
        What is run instead of them.
    plots : mapping of str to callable
        For each figure, by the method of its job, ``draw(figure, curves)``.
    """

    number: str
    name: str
    citation: str
    tables: tuple[str, ...]
    jobs: Callable[[str], list[Job]]
    protocol: str = ""
    lost: tuple[str, ...] = ()
    instead: str = ""
    plots: Mapping[str, Callable[[Any, Mapping[str, Any]], None]] = field(default_factory=dict)
