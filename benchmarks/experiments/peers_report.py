"""The comparison with peers as a page for people, JSON for programs, and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

from lapwing.displays import new_figure

from .jobs import Job
from .peers import ALONE, LABELS, OURS, UNSEEN, draw
from .report import about, can_draw, mean_sd, told


def write(
    folder: Path, mode: str, jobs: list[Job], records: Mapping[str, Mapping[str, Any]]
) -> Path:
    """Write report.md, report.json and the picture of the comparison with peers."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = about(mode, jobs, records)
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
    duels = find_duels(cells)
    document = {"about": facts, "cells": cells, "duels": duels}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    drawn = bool(means) and can_draw()
    if drawn:
        figure = new_figure()
        draw(figure, means)
        figure.savefig(folder / "peers.png", dpi=110)
    page = folder / "report.md"
    page.write_text("\n".join(_page(facts, cells, duels, drawn)) + "\n", encoding="utf-8")
    return page


def find_duels(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return Lapwing against each other method, draw by draw, on each set with each few labels.

    The difference of the accuracies on the same rows with the same labels, its mean and the 95 %
    interval of Student's t; "worse", "even" or "better" by whether that holds zero.
    """
    found: dict[tuple, dict[str, list[float]]] = {}
    for cell in cells:
        for rows in ("unlabelled rows", "new rows"):
            place = cell["set"], cell["labels a class"], rows
            if len(cell["values"].get(rows, [])) > 1:
                found.setdefault(place, {})[cell["method"]] = cell["values"][rows]
    duels = []
    for (name, labels, rows), methods in found.items():
        ours = methods.pop(OURS, None)
        if ours is None or not methods:
            continue
        others = [method for method in methods if method != ALONE]
        best = max(others, key=lambda method: float(np.mean(methods[method])), default=None)
        for method, theirs in methods.items():
            gap = np.subtract(ours, theirs)
            half = float(t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap)))
            mean = float(gap.mean())
            duels.append(
                {
                    "set": name,
                    "labels a class": labels,
                    "rows": rows,
                    "method": method,
                    "best": method == best,
                    "difference": mean,
                    "half": half,
                    "verdict": "better" if mean > half else "worse" if mean < -half else "even",
                }
            )
    return duels


def _counts(duels: list[dict[str, Any]]) -> list[int]:
    return [sum(d["verdict"] == v for d in duels) for v in ("better", "even", "worse")]


def _duel_tables(duels: list[dict[str, Any]]) -> Iterator[str]:
    """Say how often Lapwing is better, even or worse, and where."""
    best = [duel for duel in duels if duel["best"]]
    yield ""
    yield "## Better, even, worse"
    yield ""
    yield (
        "Lapwing's default, untouched, against the others: differences of accuracy draw by draw, "
        "with 95 % intervals. A cell is a set with so many labels a class, on unlabelled or on new "
        "rows. The best of the others is the one with the highest mean there, found afterwards."
    )
    yield ""
    yield "| against | better | even | worse |"
    yield "| --- | ---: | ---: | ---: |"
    rows = [("the best of them in each cell", best)]
    rows += [(f"the same, {l} labels a class", _of(best, "labels a class", l)) for l in LABELS]
    unseen = [duel for duel in best if duel["set"] in UNSEEN]
    rows += [(f"the same, on sets not looked at before ({', '.join(UNSEEN)})", unseen)]
    methods = dict.fromkeys(duel["method"] for duel in duels)
    rows += [(method, _of(duels, "method", method)) for method in methods]
    for title, part in rows:
        if part:
            yield f"| {title} | {' | '.join(str(count) for count in _counts(part))} |"
    yield ""
    yield "Points of accuracy by which Lapwing leads the best of the others:"
    yield ""
    yield "| set | labels a class | unlabelled rows | new rows | the best there |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for name in dict.fromkeys(duel["set"] for duel in best):
        for labels in LABELS:
            here = _of(_of(best, "set", name), "labels a class", labels)
            shown = {
                duel["rows"]: f"{duel['difference']:+.1f} ± {duel['half']:.1f}"
                + {"better": " ▲", "worse": " ▼", "even": ""}[duel["verdict"]]
                for duel in here
            }
            if here:
                line = f"{shown.get('unlabelled rows', '')} | {shown.get('new rows', '')}"
                yield f"| {name} | {labels} | {line} | {here[0]['method']} |"


def _of(duels: list[dict[str, Any]], key: str, value: Any) -> list[dict[str, Any]]:
    return [duel for duel in duels if duel[key] == value]


def _page(
    facts: Mapping[str, Any], cells: list[dict], duels: list[dict], drawn: bool
) -> Iterator[str]:
    yield "# Lapwing beside its peers"
    yield ""
    yield told(facts)
    yield ""
    yield (
        "The same splits for all, parameters chosen on the labelled rows alone, and with one label "
        "a class none chosen. Accuracy in %, mean ± standard deviation over draws of rows and "
        "labels; seconds of choosing and fitting; the peak memory of a process."
    )
    if drawn:
        yield ""
        yield "![accuracy by labels a class](peers.png)"
    if duels:
        yield from _duel_tables(duels)
    cells = sorted(cells, key=lambda cell: cell["labels a class"])
    for name in dict.fromkeys(cell["set"] for cell in cells):
        yield ""
        yield f"## {name}"
        yield ""
        yield "| labels a class | method | unlabelled rows | new rows | seconds | MB |"
        yield "| ---: | --- | ---: | ---: | ---: | ---: |"
        for cell in (cell for cell in cells if cell["set"] == name):
            shown = [
                mean_sd(cell["values"].get(quantity, []))
                for quantity in ("unlabelled rows", "new rows", "seconds")
            ]
            memory = "" if cell["memory"] is None else f"{cell['memory']:.0f}"
            if cell["status"] != "done":
                shown[0] = cell["status"]
            line = " | ".join([str(cell["labels a class"]), cell["method"], *shown, memory])
            yield f"| {line} |"
