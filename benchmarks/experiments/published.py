"""The results printed in the papers, read from the files of the folder `printed`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: Quantities that are judged; the others depend on the computer or on what is counted.
ERRORS = ("U", "V", "T", "error", "error on new rows")
ACCURACIES = ("accuracy",)


@dataclass(frozen=True)
class PublishedResult:
    """One number of a paper: a mean, with standard deviation and number of repeats if given."""

    table: str
    row: str
    method: str
    quantity: str
    mean: float
    sd: float | None
    repeats: int | None

    @property
    def judged(self) -> bool:
        """Whether a result of ours can be better or worse."""
        return self.quantity in ERRORS + ACCURACIES


@cache
def published_results(paper: str) -> tuple[PublishedResult, ...]:
    """Return the results of a paper."""
    return tuple(
        PublishedResult(
            line["table"],
            line["row"],
            line["method"],
            line["quantity"],
            float(line["mean"]),
            float(line["sd"]) if line["sd"] else None,
            int(line["repeats"]) if line["repeats"] else None,
        )
        for line in _lines(f"{paper}.csv")
    )


@cache
def parameters(paper: str) -> dict[tuple[str, str], list[float]]:
    """Return the γ_A and γ_I that a paper selected, by row and method."""
    return {
        (line["row"], line["method"]): [
            float(line["reg_ambient"] or "nan"),
            float(line["reg_manifold"] or 0.0),
        ]
        for line in _lines(f"{paper}_parameters.csv")
    }


@cache
def reasons() -> dict[tuple[str, str, str], str]:
    """Return why our results are worse, by paper, row and method; "*" matches any."""
    return {
        (line["paper"], line["row"], line["method"]): line["reason"]
        for line in _lines("reasons.csv")
    }


def reason(paper: str, row: str, method: str) -> str:
    """Return why a result of ours is worse; the most specific reason wins."""
    known = reasons()
    for name in ((row, method), (row, "*"), ("*", method), ("*", "*")):
        if (paper, *name) in known:
            return known[paper, *name]
    return "not understood"


def _lines(name: str) -> Iterator[dict[str, str]]:
    text = (Path(__file__).parent / "printed" / name).read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    yield from csv.DictReader(rows)
