"""The list of papers, and the selection of papers and tables."""

from __future__ import annotations

from collections.abc import Sequence

from . import chen2012, gieseke2013, melacci2011, wang2006, zhang2009
from .jobs import Job, Paper
from .published import published_results

PAPERS: tuple[Paper, ...] = (
    melacci2011.PAPER,
    chen2012.PAPER,
    gieseke2013.PAPER,
    wang2006.PAPER,
    zhang2009.PAPER,
)


def find_papers(wanted: Sequence[str] | None) -> list[Paper]:
    """Return the papers with these numbers or names; all papers if there are none."""
    if not wanted:
        return list(PAPERS)
    known = {key: paper for paper in PAPERS for key in (paper.number, paper.name)}
    for key in wanted:
        if key not in known:
            names = ", ".join(f"{paper.number} ({paper.name})" for paper in PAPERS)
            raise ValueError(f"no paper {key!r}; choose from {names}")
    return [paper for paper in PAPERS if {paper.number, paper.name} & set(wanted)]


def jobs_of(papers: list[Paper], mode: str, table: str | None = None) -> list[Job]:
    """Return the jobs of the papers, or those of one of their tables."""
    found = [job for paper in papers for job in paper.jobs(mode)]
    if table is None:
        return found
    if not any(table in paper.tables for paper in papers):
        tables = "; ".join(f"{paper.number}: {', '.join(paper.tables)}" for paper in papers)
        raise ValueError(f"no table {table!r}; choose from {tables}")
    names = {
        (paper.name, result.row, result.method)
        for paper in papers
        for result in published_results(paper.name)
        if result.table == table
    }
    return [job for job in found if (job.paper, job.row, job.method) in names]
