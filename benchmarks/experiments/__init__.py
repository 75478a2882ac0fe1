"""Experiments that anyone can repeat: the tables of the papers and the comparison with peers.

A `Job` is a named unit of work. `runner` runs jobs, each in a process of its own, and appends the
results to a `Store`; `report` compares them with the published results. The module of a paper
(`melacci2011`, …) lists its jobs and describes its protocol. Nothing here is part of the installed
package, and the package must not import it.
"""

from .jobs import MODES, Job, Outcome, Paper
from .papers import PAPERS, find_papers
from .runner import run_jobs
from .store import Store

__all__ = ["MODES", "PAPERS", "Job", "Outcome", "Paper", "Store", "find_papers", "run_jobs"]
