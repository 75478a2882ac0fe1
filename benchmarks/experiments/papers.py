"""The papers, by number and by name."""

from __future__ import annotations

from collections.abc import Sequence

from . import chen2012, gieseke2013, melacci2011, wang2006, zhang2009
from .figures import figures
from .jobs import Job, Paper

PAPERS: tuple[Paper, ...] = (
    melacci2011.PAPER,
    chen2012.PAPER,
    gieseke2013.PAPER,
    wang2006.PAPER,
    zhang2009.PAPER,
)


def find_papers(wanted: Sequence[str] | None) -> list[Paper]:
    """Return the papers with these numbers or names; all if none is given."""
    if not wanted:
        return list(PAPERS)
    known = {key: paper for paper in PAPERS for key in (paper.number, paper.name)}
    for key in wanted:
        if key not in known:
            names = ", ".join(f"{paper.number} ({paper.name})" for paper in PAPERS)
            raise ValueError(f"no paper {key!r}: there are {names}")
    return [paper for paper in PAPERS if {paper.number, paper.name} & set(wanted)]


def jobs_of(papers: list[Paper], mode: str, table: str | None = None) -> list[Job]:
    """Return the jobs of some papers, or of one of their tables."""
    found = [job for paper in papers for job in paper.jobs(mode)]
    if table is None:
        return found
    if not any(table in paper.tables for paper in papers):
        tables = "; ".join(f"{paper.number}: {', '.join(paper.tables)}" for paper in papers)
        raise ValueError(f"no table {table!r} is run: there are {tables}")
    places = {
        (paper.name, figure.row, figure.method)
        for paper in papers
        for figure in figures(paper.name)
        if figure.table == table
    }
    return [job for job in found if (job.paper, job.row, job.method) in places]
