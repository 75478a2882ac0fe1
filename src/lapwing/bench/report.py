"""Outcomes beside the figures of the papers: a table for people, JSON for programs, pictures."""

from __future__ import annotations

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

from .. import __version__
from ..displays import new_figure
from .figures import ACCURACIES, Figure, figures, reason
from .jobs import Job, Paper
from .peers import draw as draw_peers

#: Differences of up to so many standard errors count as none.
SAME = 2.0


@dataclass(frozen=True)
class Comparison:
    """A figure of a paper beside ours.

    ``difference`` is in standard errors, positive where ours is worse. The verdict is "better",
    "same" or "worse" by two standard errors; "not judged" for seconds and iterations; "missing",
    "failed" or "not run" where there is no outcome.
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
    reason: str


def compare(paper: Paper, jobs: list[Job], records: Mapping[str, Mapping]) -> list[Comparison]:
    """Return the comparisons of a paper, in the order of its figures."""
    by_name = {(job.row, job.method): job for job in jobs if job.paper == paper.name}
    found = []
    for figure in figures(paper.name):
        job = by_name.get((figure.row, figure.method))
        if figure.table in paper.tables and job is not None:
            record = records.get(job.key, {"status": "not run"})
            found.append(_comparison(paper.name, figure, record))
    return found


def _comparison(paper: str, figure: Figure, record: Mapping[str, Any]) -> Comparison:
    ours: list[float] = record.get("values", {}).get(figure.quantity, [])
    mean = sd = difference = None
    verdict, why = record["status"], ""
    if ours:
        mean = float(np.mean(ours))
        sd = float(np.std(ours, ddof=1)) if len(ours) > 1 else None
        difference = _difference(figure, mean, sd, len(ours)) if figure.judged else None
        verdict = "not judged" if difference is None else _verdict(difference)
    elif verdict == "done":
        verdict = "not measured"
    if verdict == "worse":
        why = reason(paper, figure.row, figure.method)
    return Comparison(
        paper,
        figure.table,
        figure.row,
        figure.method,
        figure.quantity,
        figure.mean,
        figure.sd,
        mean,
        sd,
        len(ours),
        difference,
        verdict,
        record.get("seconds"),
        record.get("memory"),
        why or record.get("message", ""),
    )


def _difference(figure: Figure, mean: float, sd: float | None, repeats: int) -> float:
    """Return how much worse we are, in standard errors of the difference of the means.

    Where we have one repeat the paper's deviation stands for ours; where the paper does not tell
    its repeats, ours stand for them.
    """
    theirs = figure.sd or 0.0
    squares = theirs**2 / (figure.repeats or repeats)
    squares += (theirs if sd is None else sd) ** 2 / repeats
    worse = mean - figure.mean
    if figure.quantity in ACCURACIES:
        worse = -worse
    if squares == 0:
        return 0.0 if worse == 0 else float(np.copysign(np.inf, worse))
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
) -> tuple[Path, list[Comparison]]:
    """Write report.md, report.json and the pictures; return the report and the comparisons."""
    folder.mkdir(parents=True, exist_ok=True)
    comparisons = [c for paper in papers for c in compare(paper, jobs, records)]
    about = _about(mode, jobs, records)
    pictures = _draw(folder, papers, jobs, records)
    document = {"about": about, "cells": [asdict(c) for c in comparisons]}
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=True)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    page = folder / "report.md"
    lines = _page(about, papers, jobs, records, comparisons, pictures)
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page, comparisons


def write_peers(
    folder: Path, mode: str, jobs: list[Job], records: Mapping[str, Mapping[str, Any]]
) -> Path:
    """Write report.md, report.json and the picture of the comparison with peers."""
    folder.mkdir(parents=True, exist_ok=True)
    about = _about(mode, jobs, records)
    cells, means = [], {}
    for job in jobs:
        record = records[job.key]
        values = {key: list(found) for key, found in record.get("values", {}).items()}
        cells.append(
            {
                "set": job.settings["name"],
                "labels a class": job.settings["per_class"],
                "method": job.method,
                "status": record["status"],
                "values": values,
                "memory": record.get("memory"),
            }
        )
        if "unlabelled rows" in values:
            place = job.settings["name"], job.settings["per_class"], job.method
            means[place] = float(np.mean(values["unlabelled rows"]))
    document = {"about": about, "cells": cells}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    if means:
        figure = new_figure()
        draw_peers(figure, means)
        figure.savefig(folder / "peers.png", dpi=110)
    page = folder / "report.md"
    page.write_text("\n".join(_peers_page(about, cells, bool(means))) + "\n", encoding="utf-8")
    return page


def _peers_page(about: Mapping[str, Any], cells: list[dict], drawn: bool) -> Iterator[str]:
    yield "# Lapwing beside its peers"
    yield ""
    yield _told(about)
    yield ""
    yield (
        "The same splits for all, parameters chosen on the labelled rows alone, and with one label "
        "a class every method has its defaults. Accuracy in %, mean ± standard deviation over "
        "draws of rows and labels; seconds of choosing and fitting; the peak memory of a process."
    )
    if drawn:
        yield ""
        yield "![accuracy by labels a class](peers.png)"
    for name in dict.fromkeys(cell["set"] for cell in cells):
        yield ""
        yield f"## {name}"
        yield ""
        yield "| labels a class | method | unlabelled rows | new rows | seconds | MB |"
        yield "| ---: | --- | ---: | ---: | ---: | ---: |"
        for cell in (cell for cell in cells if cell["set"] == name):
            shown = [
                _mean_sd(cell["values"].get(quantity, []))
                for quantity in ("unlabelled rows", "new rows", "seconds")
            ]
            memory = "" if cell["memory"] is None else f"{cell['memory']:.0f}"
            if cell["status"] != "done":
                shown[0] = cell["status"]
            line = " | ".join([str(cell["labels a class"]), cell["method"], *shown, memory])
            yield f"| {line} |"


def _mean_sd(values: list[float]) -> str:
    if not values:
        return ""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return _shown(float(np.mean(values)), sd)


def _told(about: Mapping[str, Any]) -> str:
    """Return when, where and with what was measured."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    measured = " to ".join(about["measured"])
    return (
        f"Mode {about['mode']}; measured {measured}; {about['machine']}; {versions}. The jobs took "
        f"{about['seconds of all jobs'] / 60:.0f} minutes, one after the other."
    )


def score(comparisons: list[Comparison]) -> tuple[int, int]:
    """Return how many judged figures are the same or better, and how many are judged."""
    verdicts = [c.verdict for c in comparisons if c.difference is not None]
    return sum(v != "worse" for v in verdicts), len(verdicts)


def _about(mode: str, jobs: list[Job], records: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    done = [records[job.key] for job in jobs if job.key in records]
    dates = sorted(record["date"] for record in done if "date" in record)
    return {
        "mode": mode,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "measured": [dates[0], dates[-1]] if dates else [],
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "versions": {
            "lapwing": __version__,
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


def _draw(
    folder: Path,
    papers: list[Paper],
    jobs: list[Job],
    records: Mapping[str, Mapping[str, Any]],
) -> dict[str, str]:
    """Draw the figures that have curves, and return the files by the keys of their jobs."""
    drawn = {}
    plots = {paper.name: paper.plots for paper in papers}
    for job in jobs:
        draw = plots[job.paper].get(job.method)
        curves = records.get(job.key, {}).get("curves")
        if draw is None or not curves:
            continue
        figure = new_figure(11.0, 4.2)
        draw(figure, curves)
        name = re.sub(r"[^a-z0-9]+", "-", f"{job.paper} {job.method} {job.row}".lower()).strip("-")
        figure.savefig(folder / f"{name}.png", dpi=110)
        drawn[job.key] = f"{name}.png"
    return drawn


def _page(
    about: Mapping[str, Any],
    papers: list[Paper],
    jobs: list[Job],
    records: Mapping[str, Mapping[str, Any]],
    comparisons: list[Comparison],
    pictures: Mapping[str, str],
) -> Iterator[str]:
    met, judged = score(comparisons)
    yield "# The papers' tables, run again"
    yield ""
    yield _told(about)
    yield ""
    if judged:
        yield (
            f"**{met} of {judged} figures ({met / judged:.0%}) are within {SAME:g} standard errors "
            "of the paper's or better.** Errors and accuracies are judged; seconds and "
            "iterations are shown and not judged, since machines and counting differ."
        )
    yield ""
    yield (
        "A difference is that of the means over the standard error of both, positive where ours "
        "is worse. Seconds and MB are those of the whole job, with data, choice of parameters and "
        "all repeats."
    )
    yield ""
    yield "| paper | judged | same or better | missing or failed |"
    yield "| --- | ---: | ---: | ---: |"
    for paper in papers:
        own = [c for c in comparisons if c.paper == paper.name]
        met, judged = score(own)
        gone = sum(c.verdict in ("missing", "failed", "not run") for c in own)
        yield f"| {paper.citation} | {judged} | {met} | {gone} |"
    for paper in papers:
        yield ""
        yield f"## {paper.citation}"
        thinned = sorted({job.thinned for job in jobs if job.paper == paper.name and job.thinned})
        if thinned:
            yield ""
            yield "Less than in the paper: " + "; ".join(thinned) + "."
        for line in paper.missing:
            yield ""
            yield line
        own = [c for c in comparisons if c.paper == paper.name]
        for table in paper.tables:
            part = [c for c in own if c.table == table]
            if part:
                yield from _table(table, part)
        extra = [
            job
            for job in jobs
            if job.paper == paper.name
            and records.get(job.key, {}).get("values")
            and not any((c.row, c.method) == (job.row, job.method) for c in own)
        ]
        yield from _extra(extra, records)
        for job in jobs:
            if job.paper == paper.name and job.key in pictures:
                yield ""
                yield f"### {job.method.capitalize()}, {job.row}"
                yield ""
                yield f"![{job.method}, {job.row}]({pictures[job.key]})"


def _table(table: str, part: list[Comparison]) -> Iterator[str]:
    yield ""
    yield f"### Table {table}"
    yield ""
    yield (
        "| row | method | quantity | paper | ours | repeats | difference | verdict | s | MB | why |"
    )
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | --- |"
    for c in part:
        difference = "" if c.difference is None else f"{c.difference:+.1f}"
        seconds = "" if c.seconds is None else f"{c.seconds:.0f}"
        memory = "" if c.memory is None else f"{c.memory:.0f}"
        yield (
            f"| {c.row} | {c.method} | {c.quantity} | {_shown(c.theirs, c.theirs_sd)} | "
            f"{_shown(c.ours, c.ours_sd)} | {c.repeats or ''} | {difference} | {c.verdict} | "
            f"{seconds} | {memory} | {c.reason} |"
        )


def _extra(jobs: list[Job], records: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the outcomes that stand beside no figure of the paper."""
    if not jobs:
        return
    yield ""
    yield "### Without a figure in the paper"
    yield ""
    yield "| row | method | quantity | ours | repeats | s |"
    yield "| --- | --- | --- | ---: | ---: | ---: |"
    for job in jobs:
        record = records[job.key]
        for quantity, values in record["values"].items():
            yield (
                f"| {job.row} | {job.method} | {quantity} | {_mean_sd(values)} | {len(values)} | "
                f"{record['seconds']:.0f} |"
            )


def _shown(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return ""
    return f"{mean:.4g}" + ("" if sd is None else f" ± {sd:.2g}")
