"""The report of the papers: published results next to ours, as Markdown, JSON and plots."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from lapwing import __version__
from lapwing.arrays.atomic import atomic_file, write_text
from lapwing.displays import new_figure

from .jobs import Job, Paper
from .published import ACCURACIES, PublishedResult, published_results, reason

#: Differences of at most this many standard errors count as none.
SAME = 2.0
#: With fewer repeats our own standard deviation is noise, and the paper's is used instead.
ENOUGH = 3


@dataclass(frozen=True)
class Comparison:
    """A published result and ours.

    ``difference`` is in standard errors, positive if ours is worse. The verdict is "better", "same"
    or "worse" by two standard errors; "not judged" for seconds and iterations; "missing", "failed"
    or "not run" if there is no outcome. ``remark`` is the note of the job, such as the selected
    parameters; ``reason`` explains why our result is worse or does not exist.
    """

    paper: str
    table: str
    row: str
    method: str
    quantity: str
    theirs: float
    theirs_sd: float | None
    ours: float | None
    ours_sd: float | None
    repeats: int
    difference: float | None
    verdict: str
    seconds: float | None
    memory: float | None
    remark: str
    reason: str


def compare(
    paper: Paper,
    jobs: list[Job],
    records: Mapping[str, Mapping],
    table: str | None = None,
) -> list[Comparison]:
    """Return the comparisons of a paper, or of one of its tables, in the order of the paper."""
    by_name = {(job.row, job.method): job for job in jobs if job.paper == paper.name}
    found = []
    for published in published_results(paper.name):
        if table not in (None, published.table):
            continue
        job = by_name.get((published.row, published.method))
        if job is not None:
            record = records.get(job.key, {"status": "not run"})
        elif published.row.startswith(paper.lost):
            record = {"status": "missing", "message": "the data set is not available"}
        else:
            record = {"status": "not run", "message": "not in this mode"}
        found.append(_comparison(paper.name, published, record))
    return found


def _comparison(paper: str, published: PublishedResult, record: Mapping[str, Any]) -> Comparison:
    ours: list[float] = record.get("values", {}).get(published.quantity, [])
    mean = sd = difference = None
    verdict, why = record["status"], ""
    if ours:
        mean = float(np.mean(ours))
        sd = float(np.std(ours, ddof=1)) if len(ours) > 1 else None
        difference = _difference(published, mean, sd, len(ours)) if published.judged else None
        verdict = "not judged" if difference is None else _verdict(difference)
    elif verdict == "done":
        verdict = "not measured"
    if verdict == "worse":
        why = reason(paper, published.row, published.method)
    return Comparison(
        paper,
        published.table,
        published.row,
        published.method,
        published.quantity,
        published.mean,
        published.sd,
        mean,
        sd,
        len(ours),
        difference,
        verdict,
        record.get("seconds"),
        record.get("memory"),
        record.get("remark", ""),
        why or record.get("message", ""),
    )


def _difference(published: PublishedResult, mean: float, sd: float | None, repeats: int) -> float:
    """Return how much worse we are, in standard errors of the difference of the means.

    With few repeats of ours, the paper's standard deviation is used for ours; if the paper does not
    give its number of repeats, ours is used.
    """
    theirs = published.sd or 0.0
    squares = theirs**2 / (published.repeats or repeats)
    squares += (theirs if sd is None or repeats < ENOUGH else sd) ** 2 / repeats
    worse = mean - published.mean
    if published.quantity in ACCURACIES:
        worse = -worse
    if squares == 0:  # 100 instead of infinity, which JSON cannot represent
        return 0.0 if worse == 0 else float(np.copysign(100.0, worse))
    return worse / float(np.sqrt(squares))


def _verdict(difference: float) -> str:
    if abs(difference) <= SAME:
        return "same"
    return "worse" if difference > 0 else "better"


def write(
    folder: Path,
    mode: str,
    papers: list[Paper],
    jobs: list[Job],
    records: Mapping[str, Mapping[str, Any]],
    table: str | None = None,
) -> tuple[Path, list[Comparison]]:
    """Write report.md, report.json and the plots; return the page and the comparisons."""
    folder.mkdir(parents=True, exist_ok=True)
    comparisons = [c for paper in papers for c in compare(paper, jobs, records, table)]
    facts = about(mode, jobs, records)
    plot_files = _draw(folder, papers, jobs, records)
    beside = [
        {"paper": job.paper, "row": job.row, "method": job.method, "quantity": q, "values": v}
        for job, q, v in _unpublished(jobs, records)
    ]
    document = {"about": facts, "cells": [asdict(c) for c in comparisons], "beside": beside}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    write_text(folder / "report.json", text + "\n")
    page = folder / "report.md"
    lines = _page(facts, papers, jobs, records, comparisons, plot_files)
    write_text(page, "\n".join(lines) + "\n")
    return page, comparisons


def mean_sd(values: list[float]) -> str:
    """Return mean and standard deviation as text."""
    if not values:
        return ""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return _shown(float(np.mean(values)), sd)


def conditions(facts: Mapping[str, Any]) -> str:
    """Return the facts of `about` as text."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    measured = " to ".join(facts["measured"])
    return (
        f"Mode {facts['mode']}; measured {measured}; {facts['machine']}; {versions}. The jobs took "
        f"{facts['seconds of all jobs'] / 60:.0f} minutes in total."
    )


def score(comparisons: list[Comparison], min_repeats: int = 1) -> tuple[int, int]:
    """Return how many judged results are the same or better, and how many are judged.

    A result in two tables counts once; one with fewer repeats than ``min_repeats`` does not count.
    """
    verdicts = {
        (c.paper, c.row, c.method, c.quantity): c.verdict
        for c in comparisons
        if c.difference is not None and c.repeats >= min_repeats
    }
    return sum(v != "worse" for v in verdicts.values()), len(verdicts)


def about(mode: str, jobs: list[Job], records: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return when, where and with which versions the jobs were run."""
    done = [records[job.key] for job in jobs if job.key in records]
    dates = sorted(record["date"] for record in done if "date" in record)
    return {
        "mode": mode,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "measured": [dates[0], dates[-1]] if dates else [],
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "versions": {
            "lapwing": ", ".join(sorted({r["version"] for r in done if "version" in r}))
            or __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "seconds of all jobs": round(sum(record.get("seconds", 0.0) for record in done), 1),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
        return re.search(r"model name\s*:\s*(.*)", text)[1]  # type: ignore[index]
    except (OSError, TypeError):
        return platform.processor() or platform.machine()


def can_draw() -> bool:
    """Whether plots can be drawn; without matplotlib a report has none."""
    return importlib.util.find_spec("matplotlib") is not None


def _draw(
    folder: Path,
    papers: list[Paper],
    jobs: list[Job],
    records: Mapping[str, Mapping[str, Any]],
) -> dict[str, str]:
    """Draw the figures that have curves, and return their files by job key."""
    drawn: dict[str, str] = {}
    if not can_draw():
        return drawn
    plots = {paper.name: paper.plots for paper in papers}
    for job in jobs:
        draw = plots[job.paper].get(job.method)
        curves = records.get(job.key, {}).get("curves")
        if draw is None or not curves:
            continue
        figure = new_figure(11.0, 4.2)
        draw(figure, curves)
        name = re.sub(r"[^a-z0-9]+", "-", f"{job.paper} {job.method} {job.row}".lower()).strip("-")
        with atomic_file(folder / f"{name}.png") as file:
            figure.savefig(file, format="png", dpi=110)
        drawn[job.key] = f"{name}.png"
    return drawn


def _page(
    facts: Mapping[str, Any],
    papers: list[Paper],
    jobs: list[Job],
    records: Mapping[str, Mapping[str, Any]],
    comparisons: list[Comparison],
    plot_files: Mapping[str, str],
) -> Iterator[str]:
    yield "# The tables of the papers, repeated"
    yield ""
    yield conditions(facts)
    yield ""
    yield from _totals(comparisons)
    yield ""
    yield "| paper | judged | same or better | not run, missing or failed |"
    yield "| --- | ---: | ---: | ---: |"
    for paper in papers:
        own = [c for c in comparisons if c.paper == paper.name]
        met, judged = score(own)
        absent = sum(c.verdict in ("missing", "failed", "not run") for c in own)
        yield f"| {paper.citation} | {judged} | {met} | {absent} |"
    for paper in papers:
        own_jobs = [job for job in jobs if job.paper == paper.name]
        own = [c for c in comparisons if c.paper == paper.name]
        yield from _section(paper, own_jobs, records, own, plot_files)


def _totals(comparisons: list[Comparison]) -> Iterator[str]:
    met, judged = score(comparisons)
    if judged:
        yield (
            f"**{met} of {judged} results ({met / judged:.0%}) are better than the published ones "
            f"or within {SAME:g} standard errors of them.** Errors and accuracies are judged, each "
            "once; seconds and iterations are shown but not judged, because computers and ways of "
            "counting differ."
        )
        firm, counted = score(comparisons, ENOUGH)
        if 0 < counted < judged:
            yield (
                f"Of the {counted} results with at least {ENOUGH} repeats it is {firm} "
                f"({firm / counted:.0%}); with fewer repeats few differences are significant."
            )
    yield ""
    yield (
        "The difference is that of the means, divided by its standard error; it is positive if "
        f"ours is worse. With fewer than {ENOUGH} repeats of ours, the standard deviation of the "
        "paper is used for ours. Seconds and MB are those of the whole job, including loading the "
        "data, parameter selection and all repeats."
    )


def _section(
    paper: Paper,
    jobs: list[Job],
    records: Mapping[str, Mapping[str, Any]],
    comparisons: list[Comparison],
    plot_files: Mapping[str, str],
) -> Iterator[str]:
    """Yield the section of one paper, given its own jobs and comparisons."""
    yield ""
    yield f"## {paper.citation}"
    yield ""
    yield paper.protocol.strip()
    thinned = sorted({job.thinned for job in jobs if job.thinned})
    if thinned:
        yield ""
        yield "**Reduced compared with the paper.** " + ". ".join(thinned) + "."
    if paper.instead:
        yield ""
        yield paper.instead
    for table in paper.tables:
        part = [c for c in comparisons if c.table == table]
        if part:
            yield from _table(table, part)
    yield from _extra(jobs, records)
    for job in jobs:
        if job.key in plot_files:
            yield ""
            yield f"### {job.method.capitalize()}, {job.row}"
            yield ""
            yield f"![{job.method}, {job.row}]({plot_files[job.key]})"


def _table(table: str, part: list[Comparison]) -> Iterator[str]:
    yield ""
    yield f"### Table {table}"
    yield ""
    names = (
        "row | method | quantity | paper | ours | repeats | difference | verdict | s | MB | remarks"
    )
    yield f"| {names} |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | --- |"
    for c in part:
        difference = "" if c.difference is None else f"{c.difference:+.1f}"
        seconds = "" if c.seconds is None else f"{c.seconds:.0f}"
        memory = "" if c.memory is None else f"{c.memory:.0f}"
        yield (
            f"| {c.row} | {c.method} | {c.quantity} | {_shown(c.theirs, c.theirs_sd)} | "
            f"{_shown(c.ours, c.ours_sd)} | {c.repeats or ''} | {difference} | {c.verdict} | "
            f"{seconds} | {memory} | {'; '.join(filter(None, [c.reason, c.remark]))} |"
        )


def _unpublished(
    jobs: list[Job], records: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[Job, str, list[float]]]:
    """Yield the quantities for which there is no published result."""
    for job in jobs:
        known = {
            result.quantity
            for result in published_results(job.paper)
            if (result.row, result.method) == (job.row, job.method)
        }
        for quantity, values in records.get(job.key, {}).get("values", {}).items():
            # Seconds and iterations without a published result are of little interest.
            if quantity not in known and quantity not in ("seconds", "iterations", "steps"):
                yield job, quantity, values


def _extra(jobs: list[Job], records: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    found = list(_unpublished(jobs, records))
    if not found:
        return
    yield ""
    yield "### Without a published result"
    yield ""
    yield "| row | method | quantity | ours | repeats |"
    yield "| --- | --- | --- | ---: | ---: |"
    for job, quantity, values in found:
        yield f"| {job.row} | {job.method} | {quantity} | {mean_sd(values)} | {len(values)} |"


def _shown(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return ""
    return f"{mean:.4g}" + ("" if sd is None else f" ± {sd:.2g}")
