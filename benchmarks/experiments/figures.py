"""The papers' own figures: the data files of the folder `printed`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

#: Quantities that are judged; the others depend on the machine or on counting.
ERRORS = ("U", "V", "T", "error", "error on new rows")
ACCURACIES = ("accuracy",)


@dataclass(frozen=True)
class Figure:
    """One number of a paper: a mean, with deviation and number of repeats where it has them."""

    table: str
    row: str
    method: str
    quantity: str
    mean: float
    sd: float | None
    repeats: int | None

    @property
    def judged(self) -> bool:
        """Whether a figure of ours can be better or worse."""
        return self.quantity in ERRORS + ACCURACIES


@cache
def figures(paper: str) -> tuple[Figure, ...]:
    """Return the figures of a paper."""
    return tuple(
        Figure(
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
    """Return γ_A and γ_I that a paper chose, by row and method."""
    return {
        (line["row"], line["method"]): [
            float(line["reg_ambient"] or "nan"),
            float(line["reg_manifold"] or 0.0),
        ]
        for line in _lines(f"{paper}_parameters.csv")
    }


@cache
def reasons() -> dict[tuple[str, str, str], str]:
    """Return why figures miss those of a paper, by paper, row and method; "*" is any."""
    return {
        (line["paper"], line["row"], line["method"]): line["reason"]
        for line in _lines("reasons.csv")
    }


def reason(paper: str, row: str, method: str) -> str:
    """Return why a figure misses, the most special reason first."""
    known = reasons()
    for place in ((row, method), (row, "*"), ("*", method), ("*", "*")):
        if (paper, *place) in known:
            return known[paper, *place]
    return "not understood"


def _lines(name: str) -> Iterator[dict[str, str]]:
    text = (files(__package__) / "printed" / name).read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    yield from csv.DictReader(rows)
