"""What the comparisons with peers of classes and of quantities share: draws, jobs and words.

A quarter of the rows is kept back as new rows; a few of the others keep their label or target. Draw
k is the same for every method: its rows and labels come from a generator with seed k. Nothing here
knows a method or a data set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .jobs import Job, Outcome

OURS, ALONE = "Lapwing", "Lapwing, supervised"
DRAWS = {"quick": 2, "standard": 10, "full": 20}
MOST_ROWS = {"quick": 300, "standard": 2_000, "full": 2_000}
THINNED = {"quick": "two draws of 300 rows", "standard": "10 draws of 20", "full": ""}


@dataclass(frozen=True)
class Measure:
    """A score by which Lapwing is compared with the other methods, on two sets of rows.

    Attributes
    ----------
    words : str
        Its name in the report.
    unit : str
        The unit of differences.
    unlabelled, new : str
        The names of its values on unlabelled and on new rows.
    sign : int
        1 if higher is better, -1 if lower is.
    duels : str
        The name of the paired comparisons in report.json.
    """

    words: str
    unit: str = "percentage points"
    unlabelled: str = "unlabelled rows"
    new: str = "new rows"
    sign: int = 1
    duels: str = "duels"


@dataclass(frozen=True)
class Task:
    """A comparison with peers: its words and the values that the report compares.

    Attributes
    ----------
    name : str
        Name of its jobs and of the folder of its report.
    title, protocol : str
        Heading and first paragraph of the report.
    labels : tuple of int
        Numbers of labels or targets.
    words, field : str
        What ``labels`` counts, in the text and in report.json.
    measures : tuple of Measure
        The scores that are compared; the first one is drawn.
    unseen, unseen_words : tuple of str, str
        Data sets on which nothing was chosen, and what the report calls them.
    """

    name: str
    title: str
    protocol: str
    labels: tuple[int, ...]
    words: str
    field: str
    measures: tuple[Measure, ...]
    unseen: tuple[str, ...]
    unseen_words: str


def task_jobs(
    task: Task,
    measure: Callable[..., Outcome],
    files: Mapping[str, str | None],
    methods: Iterable[str],
    mode: str,
    first_draw: int,
) -> list[Job]:
    """Return the jobs: every method on every data set with every number of labels.

    Quick mode takes the first two data sets with the second number of labels. The draws are among
    the settings, and so in the key of a stored job: ``range(*seeds)`` are their seeds.
    """
    quick = mode == "quick"
    shared = {"seeds": [first_draw, first_draw + DRAWS[mode]], "most_rows": MOST_ROWS[mode]}
    return [
        Job(
            task.name,
            f"{name}, {labels} {task.words}",
            method,
            measure,
            {"name": name, "labels": labels, "method": method, **shared},
            () if file is None else (file,),
            THINNED[mode],
        )
        for labels in (task.labels[1:2] if quick else reversed(task.labels))
        for name, file in list(files.items())[: 2 if quick else None]
        for method in methods
    ]


def prepared(X: Any, y: np.ndarray, one_unit: bool, most_rows: int) -> tuple[Any, np.ndarray]:
    """Return rows as a user would scale them, at most ``most_rows``, the same in every job.

    Columns with one unit, such as pixels, share one factor; sparse rows stay as they are.
    """
    X = X.astype(np.float64)
    if one_unit:
        X = X / np.abs(X).max()
    elif not sp.issparse(X):
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    if len(y) > most_rows:
        keep = np.random.default_rng(0).permutation(len(y))[:most_rows]
        X, y = X[keep], y[keep]
    return X, y


@dataclass(frozen=True)
class Draw:
    """One draw: training rows with few labels or targets, and new rows."""

    train: np.ndarray
    new: np.ndarray
    marks: np.ndarray
    hidden: np.ndarray  # a mask of the training rows


def take_draw(
    y: np.ndarray, seed: int, hide: Callable[[np.ndarray, np.random.Generator], np.ndarray]
) -> Draw:
    """Return the draw with this seed; ``hide(y, rng)`` marks all but a few training rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    new, train = order[: len(y) // 4], np.sort(order[len(y) // 4 :])
    marks = hide(y[train], rng)
    return Draw(train, new, marks, marks != y[train])  # NaN differs from every target


def over_draws(
    y: np.ndarray,
    seeds: range,
    hide: Callable[[np.ndarray, np.random.Generator], np.ndarray],
    fit: Callable[[Draw], Any],
    scores: Callable[[Any, Draw], Mapping[str, float]],
) -> Outcome:
    """Return the seconds of ``fit(draw)`` and the scores of what it returns, for each draw."""
    values: dict[str, list[float]] = {}
    for seed in seeds:
        draw = take_draw(y, seed, hide)
        start = time.perf_counter()
        fitted = fit(draw)
        seconds = time.perf_counter() - start
        for key, value in {**scores(fitted, draw), "seconds": seconds}.items():
            values.setdefault(key, []).append(float(value))
    return Outcome(values)
