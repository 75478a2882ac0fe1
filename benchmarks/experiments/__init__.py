"""Experiments that anyone can run again: the papers' tables and the comparison with peers.

A `Job` is one unit of work with a name; `runner` runs jobs, each in a process of its own, and keeps
what is finished in a `Store`; `report` sets the outcomes beside the figures of the papers. The
module of a paper (`melacci2011`, …) holds its protocol and nothing else. Whatever a user needs to
learn from data stays below: this storey only measures.
"""

from .jobs import MODES, Job, Outcome, Paper
from .papers import PAPERS, find_papers
from .runner import run_jobs
from .store import Store

__all__ = ["MODES", "PAPERS", "Job", "Outcome", "Paper", "Store", "find_papers", "run_jobs"]
