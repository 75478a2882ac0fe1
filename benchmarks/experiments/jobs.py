"""What is run: jobs, their outcomes, and the papers that list them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: quick: a smoke test; standard: fewer repeats, thinner grids; full: as in the papers.
MODES = ("quick", "standard", "full")


@dataclass(frozen=True)
class Outcome:
    """What a job found.

    Attributes
    ----------
    values : mapping of str to list of float
        For each quantity ("U", "seconds", …) a value for each repeat, errors in percent.
    remark : str
        What the reader should know, such as the parameters that were chosen.
    curves : mapping
        Lists of numbers to draw, for the papers' figures.
    """

    values: Mapping[str, list[float]] = field(default_factory=dict)
    remark: str = ""
    curves: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One unit of work: a method on a data set, with all its repeats, or one figure.

    Attributes
    ----------
    paper, row, method : str
        Its name. Figures of a paper belong to it if row and method are the same.
    work : callable
        ``work(data, **settings)`` returns an `Outcome`; a function of a module, because another
        process runs it.
    settings : mapping
        Everything that the outcome depends on, as JSON knows it.
    files : tuple of str
        Data sets that it reads.
    thinned : str
        How it does less than the paper did, in words.
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
        """Name and settings: what is kept under this key is never run again."""
        settings = json.dumps(self.settings, sort_keys=True)
        digest = hashlib.sha256(settings.encode()).hexdigest()[:12]
        return f"{self.paper} | {self.row} | {self.method} | {digest}"

    @property
    def title(self) -> str:
        """Name for people."""
        return f"{self.paper}: {self.row}, {self.method}"


@dataclass(frozen=True)
class Paper:
    """A paper: where its figures are, and the jobs that measure them.

    Attributes
    ----------
    number, name : str
        What ``--paper`` takes.
    citation : str
        Authors and year, for people.
    tables : tuple of str
        The tables that are compared.
    jobs : callable
        From a mode to the list of jobs.
    protocol : str
        How it is done, and what differs from the paper; the head of its module.
    lost : tuple of str
        Data sets of the paper that cannot be had, by the beginning of their rows.
    instead : str
        What is run in their place.
    plots : mapping of str to callable
        For each job of a figure (its method), ``draw(figure, curves)``.
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
