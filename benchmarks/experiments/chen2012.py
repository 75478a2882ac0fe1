"""Chen, Tsang and Xu (2012): the data sets of the SSL book and the large ones, as one paper."""

from __future__ import annotations

from . import chen2012_book, chen2012_large
from .jobs import Job, Paper


def jobs(mode: str) -> list[Job]:
    """Return the jobs of all tables and figures."""
    return chen2012_book.jobs(mode) + chen2012_large.jobs(mode)


PAPER = Paper(
    number="001",
    name=chen2012_book.NAME,
    citation="Chen, Tsang & Xu (2012)",
    tables=("II", "III", "IV"),
    jobs=jobs,
    protocol=f"{chen2012_book.__doc__}\n{chen2012_large.__doc__}",
    plots=chen2012_book.PLOTS | chen2012_large.PLOTS,
)
