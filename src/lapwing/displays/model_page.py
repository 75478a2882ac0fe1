"""The page of a fitted model: one HTML file that shows how good it is and why, and loads nothing.

Reads the attributes of a `SemiSupervisedClassifier` or `SemiSupervisedRegressor`, selects rows to
show and packs everything into JSON for ``model_page.html``, whose script draws. Must not know how a
model is fitted, selected or scored. Names of classes, rows and files are inserted as text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..auto import view_rows
from ..auto.report_words import settings_text
from .canvas import PALETTE
from .model_words import facts, number, snippet, verdict
from .page import digits, digits_to_show, evenly, fill_template, plain, script_json, shorten

#: Limits that keep the page below 3 MB: rows of the map and labelled rows among them, characters of
#: the name of a row and of a class, rows of a list, candidates, points of the charts.
_ROWS, _LABELLED, _NAME, _CLASS, _LIST, _CANDIDATES, _POINTS = 3000, 1000, 60, 200, 20, 300, 1000
#: The largest number of classes for which a confusion matrix is shown, and pairs of classes listed.
_MATRIX, _PAIRS = 30, 12


def make_page(
    model: Any,
    *,
    title: str,
    ids: Sequence[str] | None = None,
    source: str | None = None,
) -> str:
    """Return the HTML of a page about a fitted model.

    Parameters
    ----------
    model : fitted SemiSupervisedClassifier or SemiSupervisedRegressor
        Its attributes are read; nothing is fitted.
    title : str
        Heading of the page.
    ids : sequence of str, optional
        Names of the training rows, of rows in blocks of those that `view_rows` returns; by default
        they are numbered from 1.
    source : str, optional
        Name of the file that the rows came from.

    Returns
    -------
    str
        The page, below 3 MB for any number of rows.
    """
    check_is_fitted(model, "report_")
    report = plain(model.report_.to_dict(), longest=2000)
    rows = _read_rows(model, ids)
    unlabelled = int((~rows.labelled).sum())
    suggested = rows.positions(model.suggest(min(_LIST, unlabelled)) if unlabelled else [])
    changes, changed = _changes(rows)
    unreached = np.flatnonzero(~rows.reach)
    classes = rows.classes
    data = {
        "named": ids is not None,
        "classes": None if classes is None else [shorten(c, _CLASS) for c in classes],
        "digits": rows.n_digits,
        "palette": PALETTE,
        "verdict": verdict(report),
        "report": _short_report(report),
        "confusion": _confusion(report),
        "counts": None if classes is None else _class_counts(rows.answer, len(classes)),
        "changes": changes,
        "graph": _graph(model, rows, unreached),
        "map": _map(model, rows, np.concatenate([suggested, changed, unreached[:_LIST]])),
        "next": rows.table(suggested),
        "snippet": snippet(model, report, source),
    }
    parts = {
        "TITLE": html.escape(title),
        "FACTS": html.escape(facts(report, classes, source) + _part_text(rows, report["rows"])),
        "DATA": script_json(data),
    }
    return fill_template("model_page.html", parts)


@dataclass(frozen=True)
class _Rows:
    """The predictions for each training row, as class codes; -1 stands for no class.

    Of rows in blocks they are those that were read, whose indices are ``numbers``.
    """

    names: Sequence[str] | None
    numbers: np.ndarray | None
    classes: list[Any] | None
    labelled: np.ndarray
    answer: np.ndarray
    supervised: np.ndarray
    confidence: np.ndarray
    reach: np.ndarray

    @property
    def n_digits(self) -> int:
        """Digits that show how the predictions of a regressor differ."""
        return digits_to_show(self.answer) if self.classes is None else 3

    def positions(self, rows: Any) -> np.ndarray:
        """Return where rows are among these, given their indices among all rows."""
        rows = np.asarray(rows, dtype=int)
        return rows if self.numbers is None else np.searchsorted(self.numbers, rows)

    def table(self, index: np.ndarray) -> dict[str, list[Any]]:
        """Return the columns of the rows with these indices, for JSON."""
        predictions = self.answer[index], self.supervised[index]
        regression = self.classes is None
        n_digits = self.n_digits + 3
        answer, supervised = (
            digits(p, n_digits) if regression else p.tolist() for p in predictions
        )
        rows = index if self.numbers is None else self.numbers[index]
        names = rows + 1 if self.names is None else [self.names[i] for i in index]
        return {
            "row": rows.tolist(),
            "name": [shorten(name, _NAME) for name in names],
            "answer": answer,
            "supervised": supervised,
            "confidence": digits(self.confidence[index]),
            "labelled": self.labelled[index].astype(int).tolist(),
            "reach": self.reach[index].astype(int).tolist(),
        }


def _read_rows(model: Any, ids: Sequence[str] | None) -> _Rows:
    view = view_rows(model)
    n, answer, supervised = len(view.found), view.found, view.supervised
    if ids is not None and len(ids) != n:
        raise ValueError(f"ids must name each of the {n} training rows, got {len(ids)} names")
    classes = getattr(model, "classes_", None)
    if classes is not None:
        classes = np.asarray(classes).tolist()
        answer, supervised = _class_codes(answer, classes), _class_codes(supervised, classes)
    names = None if ids is None else list(ids)
    parts = view.labelled, answer, supervised, view.confidence, view.reach
    return _Rows(names, view.numbers, classes, *parts)


def _part_text(rows: _Rows, n: int) -> str:
    """Return a sentence about a sample, or nothing if the page is about all rows."""
    shown = len(rows.answer)
    if shown == n:
        return ""
    return f" Lists, counts and the map are about the {shown:,} rows that the model was fitted to."


def _class_codes(values: np.ndarray, classes: list[Any]) -> np.ndarray:
    codes = {name: i for i, name in enumerate(classes)}
    return np.array([codes.get(value, -1) for value in values.tolist()], dtype=int)


def _class_counts(codes: np.ndarray, n_classes: int) -> list[int]:
    return np.bincount(codes[codes >= 0], minlength=n_classes).tolist()


def _short_report(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report without its confusion matrix, with lists cut to what can be shown."""
    kept = {name: value for name, value in report.items() if name != "confusion"}
    tried = report["candidates"]
    kept["candidates"] = [
        candidate | {"text": settings_text(candidate["settings"])}
        for candidate in sorted(tried, key=_rank)[:_CANDIDATES]
    ]
    kept["n_candidates"] = len(tried)
    curve = report.get("curve") or []
    kept["curve"] = [curve[i] for i in evenly(len(curve), _POINTS)]
    if report.get("held_out"):
        kept["held_out"] = {
            name: digits(np.array(values, dtype=float)[evenly(len(values), _POINTS)])
            for name, values in report["held_out"].items()
        }
    return kept


def _rank(candidate: dict[str, Any]) -> tuple[bool, float]:
    """Return the sort key of a candidate: candidates in the blend first, then the best score."""
    score = candidate.get("steadied", candidate["score"])
    return not candidate["weight"], -number(score, -math.inf)


def _confusion(report: dict[str, Any]) -> dict[str, Any] | None:
    """Return how often classes are confused; as a matrix, if it is small enough to show."""
    if not report.get("confusion"):
        return None
    counts = np.array(report["confusion"], dtype=int)
    wrong = counts - np.diag(np.diag(counts))
    return {
        "matrix": counts.tolist() if len(counts) <= _MATRIX else None,
        "right": int(np.trace(counts)),
        "total": int(counts.sum()),
        "pairs": _largest(np.argwhere(wrong), wrong[wrong != 0]),
    }


def _largest(pairs: np.ndarray, counts: np.ndarray) -> list[list[int]]:
    """Return [first, second, count] of the most frequent pairs."""
    order = np.argsort(-counts, kind="stable")[:_PAIRS]
    return np.column_stack([pairs, counts])[order].tolist()


def _changes(rows: _Rows) -> tuple[dict[str, Any], np.ndarray]:
    """Return how model and supervised model differ on unlabelled rows, and the rows listed."""
    free = np.flatnonzero(~rows.labelled)
    if rows.classes is None:
        size = np.abs(rows.answer[free] - rows.supervised[free])
        known = np.isfinite(size)
        free, size = free[known], size[known]
        listed = free[np.argsort(-size, kind="stable")[:_LIST]]
        sizes = digits([np.median(size), size.max()] if len(size) else [])
        return {"rows": len(free), "sizes": sizes, "listed": rows.table(listed)}, listed
    differ = free[rows.answer[free] != rows.supervised[free]]
    sure = np.nan_to_num(rows.confidence[differ], nan=-1.0)
    listed = differ[np.argsort(-sure, kind="stable")[:_LIST]]
    both = np.stack([rows.supervised[differ], rows.answer[differ]], axis=1)
    pairs, counts = np.unique(both[(both >= 0).all(axis=1)], axis=0, return_counts=True)
    changes = {
        "rows": len(free),
        "count": len(differ),
        "pairs": _largest(pairs, counts),
        "listed": rows.table(listed),
    }
    return changes, listed


def _graph(model: Any, rows: _Rows, unreached: np.ndarray) -> dict[str, Any] | None:
    """Return components and degrees of the graph, and the rows that no label reaches."""
    graph = getattr(model, "graph_", None)
    if graph is None:
        return None
    component = np.asarray(graph.component_)
    sizes = np.bincount(component)
    same_rows = len(component) == len(rows.labelled)  # otherwise the graph is one of a sample
    labelled = np.unique(component[rows.labelled]) if same_rows else np.arange(0)
    degree = np.diff(graph.affinity_.indptr)
    width = 1 + int(np.ptp(degree)) // 30
    edges = np.arange(degree.min(), degree.max() + width + 1, width)
    return {
        "sizes": np.sort(sizes)[::-1][:_LIST].tolist(),
        "components": len(sizes),
        "unlabelled": len(sizes) - len(labelled) if same_rows else None,
        "edges": edges.tolist(),
        "histogram": np.histogram(degree, edges)[0].tolist(),
        "degree": float(f"{degree.mean():.4g}"),
        "unreached": len(unreached),
        "listed": rows.table(unreached[:_LIST]),
    }


def _map(model: Any, rows: _Rows, listed: np.ndarray) -> dict[str, Any] | None:
    """Return rows and their coordinates: listed rows, labelled ones, and a random sample."""
    points = getattr(model, "map_", None)
    if points is None:
        return None
    points = np.asarray(points, dtype=float)
    known = np.isfinite(points).all(axis=1)
    labelled = np.flatnonzero(rows.labelled & known)
    kept = np.zeros_like(known)
    kept[labelled[evenly(len(labelled), _LABELLED)]] = True
    kept[listed] = known[listed]
    rest = np.flatnonzero(known & ~kept & ~rows.labelled)
    free = min(len(rest), _ROWS - int(kept.sum()))
    kept[np.random.default_rng(0).choice(rest, free, replace=False)] = True
    index = np.flatnonzero(kept)
    return {
        "kind": shorten(getattr(model, "map_kind_", ""), _NAME),
        "of": len(known),
        "x": digits(points[index, 0]),
        "y": digits(points[index, 1]),
        **rows.table(index),
    }
