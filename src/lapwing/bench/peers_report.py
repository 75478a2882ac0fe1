"""The comparison with peers as a page for people, JSON for programs, and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..displays import new_figure
from .jobs import Job
from .peers import draw
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
    document = {"about": facts, "cells": cells}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    drawn = bool(means) and can_draw()
    if drawn:
        figure = new_figure()
        draw(figure, means)
        figure.savefig(folder / "peers.png", dpi=110)
    page = folder / "report.md"
    page.write_text("\n".join(_page(facts, cells, drawn)) + "\n", encoding="utf-8")
    return page


def _page(facts: Mapping[str, Any], cells: list[dict], drawn: bool) -> Iterator[str]:
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
