"""The report of a comparison with peers, as Markdown, JSON and a plot.

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
from .peers_scores import BINS, REJECT
from .peers_task import ALONE, OURS, Measure, Task
from .report import about, can_draw, conditions, mean_sd


def write(
    task: Task,
    folder: Path,
    mode: str,
    jobs: list[Job],
    records: Mapping[str, Mapping[str, Any]],
) -> Path:
    """Write report.md, report.json and the plot of a comparison; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    first, stop = jobs[0].settings["seeds"]
    facts = about(mode, jobs, records) | {"draws": [first, stop - 1]}
    cells = [_cell(task, job, records[job.key]) for job in jobs]
    pairs = {m.duels: paired_comparisons(task, m, cells) for m in task.measures}
    document = {"about": facts, "cells": cells, **pairs}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    write_text(folder / "report.json", text + "\n")
    drawn = can_draw() and any(cell["values"] for cell in cells)
    if drawn:
        figure = new_figure()
        draw(figure, task, cells)
        with atomic_file(folder / "peers.png") as file:
            figure.savefig(file, format="png", dpi=110)
    page = folder / "report.md"
    write_text(page, "\n".join(_page(task, facts, cells, pairs, drawn)) + "\n")
    return page


def _cell(task: Task, job: Job, record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "set": job.settings["name"],
        task.field: job.settings["labels"],
        "method": job.method,
        "status": record["status"],
        "values": {key: list(found) for key, found in record.get("values", {}).items()},
        "memory": record.get("memory"),
    }


def paired_comparisons(
    task: Task, measure: Measure, cells: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return Lapwing against every other method, for each data set and number of labels.

    The scores of both are subtracted draw by draw, on the same rows with the same labels. The
    difference is their mean, with half the width of the 95 % interval of Student's t. The verdict
    is "even" if that interval contains zero, otherwise "better" or "worse".
    """
    found: dict[tuple, dict[str, list[float]]] = {}
    for cell in cells:
        for rows, name in (("unlabelled rows", measure.unlabelled), ("new rows", measure.new)):
            key = cell["set"], cell[task.field], rows
            if len(cell["values"].get(name, [])) > 1:
                found.setdefault(key, {})[cell["method"]] = cell["values"][name]
    pairs = []
    for (name, labels, rows), methods in found.items():
        ours = methods.pop(OURS, None)
        if ours is None or not methods:
            continue
        means = {m: measure.sign * float(np.mean(methods[m])) for m in methods if m != ALONE}
        best = max(means, key=means.__getitem__, default=None)
        for method, theirs in methods.items():
            gap = np.subtract(ours, theirs)
            half = float(t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap)))
            lead = measure.sign * float(gap.mean())
            pairs.append(
                {
                    "set": name,
                    task.field: labels,
                    "rows": rows,
                    "method": method,
                    "best": method == best,
                    "difference": float(gap.mean()),
                    "half": half,
                    "verdict": "better" if lead > half else "worse" if lead < -half else "even",
                }
            )
    return pairs


def _counts(measure: Measure, pairs: list[dict[str, Any]]) -> list[str]:
    """Return the numbers of better, even and worse pairs, and of those with no worse a mean."""
    found = [sum(d["verdict"] == v for d in pairs) for v in ("better", "even", "worse")]
    no_worse = sum(measure.sign * d["difference"] >= 0 for d in pairs)
    return [*(str(count) for count in found), f"{100 * no_worse / len(pairs):.0f} %"]


def pair_tables(task: Task, measure: Measure, pairs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how often Lapwing is better, even or worse by one measure, and where."""
    best = [pair for pair in pairs if pair["best"]]
    yield ""
    yield f"## Better, even, worse by {measure.words}"
    yield ""
    yield (
        "Lapwing's default, with no parameter set, against the other methods: paired differences "
        f"of {measure.words} with 95 % intervals. A cell is a data set with a number of "
        f"{task.words}, on unlabelled or on new rows. The best other method is the one with the "
        f"{'highest' if measure.sign > 0 else 'lowest'} mean in the cell, determined afterwards."
    )
    yield ""
    yield "| against | better | even | worse | mean at least as good |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    rows = [("the best other method in each cell", best)]
    rows += [(f"the same, {l} {task.words}", _of(best, task.field, l)) for l in task.labels]
    unseen = [pair for pair in best if pair["set"] in task.unseen]
    rows += [(f"the same, {task.unseen_words} ({', '.join(task.unseen)})", unseen)]
    methods = dict.fromkeys(pair["method"] for pair in pairs)
    rows += [(method, _of(pairs, "method", method)) for method in methods]
    for title, part in rows:
        if part:
            yield f"| {title} | {' | '.join(_counts(measure, part))} |"
    yield ""
    yield (
        f"Lapwing minus the best other method, in {measure.unit} of {measure.words} "
        f"({'positive' if measure.sign > 0 else 'negative'}: Lapwing is better):"
    )
    yield ""
    yield f"| data set | {task.words} | unlabelled rows | new rows | best other method |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for name in dict.fromkeys(pair["set"] for pair in best):
        for labels in task.labels:
            here = _of(_of(best, "set", name), task.field, labels)
            shown = {
                pair["rows"]: f"{pair['difference']:+.1f} ± {pair['half']:.1f}"
                + {"better": " ▲", "worse": " ▼", "even": ""}[pair["verdict"]]
                for pair in here
            }
            if here:
                line = f"{shown.get('unlabelled rows', '')} | {shown.get('new rows', '')}"
                others = ", ".join(dict.fromkeys(pair["method"] for pair in here))
                yield f"| {name} | {labels} | {line} | {others} |"


def _of(entries: list[dict[str, Any]], key: str, value: Any) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry[key] == value]


def probability_table(task: Task, cells: list[dict[str, Any]]) -> Iterator[str]:
    """Yield calibration and abstention by method and number of labels, as means over data sets."""
    yield ""
    yield "## Probabilities"
    yield ""
    yield (
        f"Means over data sets, on unlabelled and new rows together, in %. Calibration error: "
        f"expected calibration error in {BINS} bins of the largest probability. Answered: rows "
        f"whose largest probability is at least {REJECT:g}, with the accuracy on these rows."
    )
    yield ""
    yield f"| {task.words} | method | calibration error | answered | accuracy on answered rows |"
    yield "| ---: | --- | ---: | ---: | ---: |"
    for labels in task.labels:
        here = [c for c in _of(cells, task.field, labels) if "answered" in c["values"]]
        for method in dict.fromkeys(cell["method"] for cell in here):
            error, answered, right = (
                np.mean([np.mean(cell["values"][name]) for cell in _of(here, "method", method)])
                for name in ("calibration error", "answered", "answered and right")
            )
            share = f"{100.0 * right / answered:.1f}" if answered else ""
            yield f"| {labels} | {method} | {error:.1f} | {answered:.1f} | {share} |"


def _page(
    task: Task,
    facts: Mapping[str, Any],
    cells: list[dict],
    pairs: Mapping[str, list[dict]],
    drawn: bool,
) -> Iterator[str]:
    yield f"# {task.title}"
    yield ""
    yield conditions(facts)
    yield ""
    yield f"{task.protocol} Draws {facts['draws'][0]} to {facts['draws'][1]}."
    if drawn:
        yield ""
        yield f"![{task.measures[0].words} by {task.words}](peers.png)"
    for measure in task.measures:
        if pairs[measure.duels]:
            yield from pair_tables(task, measure, pairs[measure.duels])
    if any("answered" in cell["values"] for cell in cells):
        yield from probability_table(task, cells)
    names = [name for measure in task.measures for name in (measure.unlabelled, measure.new)]
    names.append("seconds")
    cells = sorted(cells, key=lambda cell: cell[task.field])
    for name in dict.fromkeys(cell["set"] for cell in cells):
        yield ""
        yield f"## {name}"
        yield ""
        yield f"| {task.words} | method | {' | '.join(names)} | MB |"
        yield f"| ---: | --- |{' ---: |' * len(names)} ---: |"
        for cell in _of(cells, "set", name):
            shown = [mean_sd(cell["values"].get(quantity, [])) for quantity in names]
            memory = "" if cell["memory"] is None else f"{cell['memory']:.0f}"
            if cell["status"] != "done":
                shown[0] = cell["status"]
            yield f"| {' | '.join([str(cell[task.field]), cell['method'], *shown, memory])} |"


def draw(figure: Any, task: Task, cells: list[dict[str, Any]]) -> None:
    """Draw the first measure on unlabelled rows by number of labels, one panel per data set."""
    measure = task.measures[0]
    cells = [cell for cell in cells if cell["values"]]
    sets = list(dict.fromkeys(cell["set"] for cell in cells))
    columns = min(4, len(sets))
    figure.set_size_inches(3.4 * columns, 3.0 * -(-len(sets) // columns) + 0.8)
    axes = np.ravel(figure.subplots(-(-len(sets) // columns), columns, squeeze=False))
    for ax, name in zip(axes, sets, strict=False):
        here = sorted(_of(cells, "set", name), key=lambda cell: cell[task.field])
        for method in dict.fromkeys(cell["method"] for cell in here):
            part = _of(here, "method", method)
            means = [np.mean(cell["values"][measure.unlabelled]) for cell in part]
            ours = method == OURS
            style = {"linewidth": 2.5} if ours else {"linewidth": 1.2, "linestyle": "--"}
            ax.plot([cell[task.field] for cell in part], means, marker="o", label=method, **style)
        ax.set_title(name)
        ax.set_xticks(task.labels)
        ax.set_xlabel(task.words)
        ax.grid(alpha=0.3)
    for ax in axes[len(sets) :]:
        ax.set_visible(False)
    axes[0].set_ylabel(f"{measure.words} on unlabelled rows (%)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=columns)
