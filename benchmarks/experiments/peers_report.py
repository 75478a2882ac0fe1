"""The report of the comparison with peers, as Markdown, JSON and a plot.

The names of the JSON fields stay as they are, so that reports of different versions compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

from lapwing.arrays.atomic import atomic_file, write_text
from lapwing.displays import new_figure

from .jobs import Job
from .peers import ALONE, LABELS, OURS, UNSEEN, draw
from .report import about, can_draw, conditions, mean_sd


def write(
    folder: Path, mode: str, jobs: list[Job], records: Mapping[str, Mapping[str, Any]]
) -> Path:
    """Write report.md, report.json and the plot of the comparison; return the page."""
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
            cell = job.settings["name"], job.settings["per_class"], job.method
            means[cell] = float(np.mean(values["unlabelled rows"]))
    pairs = paired_comparisons(cells)
    document = {"about": facts, "cells": cells, "duels": pairs}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    write_text(folder / "report.json", text + "\n")
    drawn = bool(means) and can_draw()
    if drawn:
        figure = new_figure()
        draw(figure, means)
        with atomic_file(folder / "peers.png") as file:
            figure.savefig(file, format="png", dpi=110)
    page = folder / "report.md"
    write_text(page, "\n".join(_page(facts, cells, pairs, drawn)) + "\n")
    return page


def paired_comparisons(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return Lapwing against every other method, for each data set and number of labels.

    The accuracies of both are subtracted draw by draw, on the same rows with the same labels. The
    difference is their mean, with half the width of the 95 % interval of Student's t. The verdict
    is "even" if that interval contains zero, otherwise "better" or "worse".
    """
    found: dict[tuple, dict[str, list[float]]] = {}
    for cell in cells:
        for rows in ("unlabelled rows", "new rows"):
            key = cell["set"], cell["labels a class"], rows
            if len(cell["values"].get(rows, [])) > 1:
                found.setdefault(key, {})[cell["method"]] = cell["values"][rows]
    pairs = []
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
            pairs.append(
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
    return pairs


def _counts(pairs: list[dict[str, Any]]) -> list[int]:
    return [sum(d["verdict"] == v for d in pairs) for v in ("better", "even", "worse")]


def _pair_tables(pairs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how often Lapwing is better, even or worse, and where."""
    best = [pair for pair in pairs if pair["best"]]
    yield ""
    yield "## Better, even, worse"
    yield ""
    yield (
        "Lapwing's default, with no parameter set, against the other methods: paired differences "
        "of accuracy with 95 % intervals. A cell is a data set with a number of labels per class, "
        "on unlabelled or on new rows. The best other method is the one with the highest mean in "
        "the cell, determined afterwards."
    )
    yield ""
    yield "| against | better | even | worse |"
    yield "| --- | ---: | ---: | ---: |"
    rows = [("the best other method in each cell", best)]
    rows += [(f"the same, {l} labels per class", _of(best, "labels a class", l)) for l in LABELS]
    unseen = [pair for pair in best if pair["set"] in UNSEEN]
    rows += [(f"the same, on data sets not used before ({', '.join(UNSEEN)})", unseen)]
    methods = dict.fromkeys(pair["method"] for pair in pairs)
    rows += [(method, _of(pairs, "method", method)) for method in methods]
    for title, part in rows:
        if part:
            yield f"| {title} | {' | '.join(str(count) for count in _counts(part))} |"
    yield ""
    yield "Lead of Lapwing over the best other method, in percentage points of accuracy:"
    yield ""
    yield "| data set | labels per class | unlabelled rows | new rows | best other method |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for name in dict.fromkeys(pair["set"] for pair in best):
        for labels in LABELS:
            here = _of(_of(best, "set", name), "labels a class", labels)
            shown = {
                pair["rows"]: f"{pair['difference']:+.1f} ± {pair['half']:.1f}"
                + {"better": " ▲", "worse": " ▼", "even": ""}[pair["verdict"]]
                for pair in here
            }
            if here:
                line = f"{shown.get('unlabelled rows', '')} | {shown.get('new rows', '')}"
                yield f"| {name} | {labels} | {line} | {here[0]['method']} |"


def _of(pairs: list[dict[str, Any]], key: str, value: Any) -> list[dict[str, Any]]:
    return [pair for pair in pairs if pair[key] == value]


def _page(
    facts: Mapping[str, Any], cells: list[dict], pairs: list[dict], drawn: bool
) -> Iterator[str]:
    yield "# Lapwing and its peers"
    yield ""
    yield conditions(facts)
    yield ""
    yield (
        "All methods have the same splits. Parameters are selected on the labelled rows only; with "
        "one label per class none are selected. Accuracy in %, mean ± standard deviation over "
        "draws of rows and labels; seconds of selection and fit; peak memory of a process."
    )
    if drawn:
        yield ""
        yield "![accuracy by labels per class](peers.png)"
    if pairs:
        yield from _pair_tables(pairs)
    cells = sorted(cells, key=lambda cell: cell["labels a class"])
    for name in dict.fromkeys(cell["set"] for cell in cells):
        yield ""
        yield f"## {name}"
        yield ""
        yield "| labels per class | method | unlabelled rows | new rows | seconds | MB |"
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
