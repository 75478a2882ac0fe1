"""The page of a fitted model: one HTML file that says how good it is and why, and loads nothing.

Reads the attributes of a `SemiSupervisedClassifier` or `SemiSupervisedRegressor`, takes some of the
rows and packs all that into JSON for ``model_page.html``, whose script draws. Knows nothing of how
a model is fitted, chosen or scored. What others wrote (classes, rows, files) stays text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .canvas import PALETTE
from .model_words import facts, number, snippet, verdict
from .page import digits, evenly, fill_template, plain, script_json, shorten

#: What is shown at most, so that the page stays below 3 MB: rows of the map and those of them that
#: are labelled, characters of a name, rows of a list, candidates, points of the charts.
_ROWS, _LABELLED, _NAME, _LIST, _CANDIDATES, _POINTS = 3000, 1000, 60, 20, 300, 1000
#: Classes up to which the confusions are a matrix, and pairs of classes listed.
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
        Its attributes are read; nothing is fitted again.
    title : str
        Heading of the page.
    ids : sequence of str, optional
        Names of the training rows; by default they are numbered from 1.
    source : str, optional
        Name of the file that the rows came from.

    Returns
    -------
    str
        One file, below 3 MB for any number of rows.
    """
    check_is_fitted(model, "report_")
    report = plain(model.report_.to_dict(), longest=2000)
    rows = _read_rows(model, ids)
    unlabelled = int((~rows.labelled).sum())
    suggested = np.asarray(model.suggest(min(_LIST, unlabelled)) if unlabelled else [], dtype=int)
    changes, changed = _changes(rows)
    missed = np.flatnonzero(~rows.reach)
    data = {
        "named": ids is not None,
        "classes": None if rows.classes is None else [shorten(c, _NAME) for c in rows.classes],
        "palette": PALETTE,
        "verdict": verdict(report),
        "report": _short_report(report),
        "confusion": _confusion(report),
        "counts": None if rows.classes is None else _counts(rows.answer, len(rows.classes)),
        "changes": changes,
        "graph": _graph(model, rows, missed),
        "map": _map(model, rows, np.concatenate([suggested, changed, missed[:_LIST]])),
        "next": rows.table(suggested),
        "snippet": snippet(model, report, source),
    }
    parts = {
        "TITLE": html.escape(title),
        "FACTS": html.escape(facts(report, rows.classes, source)),
        "DATA": script_json(data),
    }
    return fill_template("model_page.html", parts)


@dataclass(frozen=True)
class _Rows:
    """What the model says of each training row; classes are numbered, -1 is none of them."""

    names: Sequence[str] | None
    classes: list[Any] | None
    labelled: np.ndarray
    answer: np.ndarray
    supervised: np.ndarray
    confidence: np.ndarray
    reach: np.ndarray

    def table(self, index: np.ndarray) -> dict[str, list[Any]]:
        """Return columns for JSON of the rows with these indices."""
        listed = (lambda v: v.tolist()) if self.classes is not None else digits
        return {
            "row": index.tolist(),
            "name": [self.name(i) for i in index.tolist()],
            "answer": listed(self.answer[index]),
            "supervised": listed(self.supervised[index]),
            "confidence": digits(self.confidence[index]),
            "labelled": self.labelled[index].astype(int).tolist(),
            "reach": self.reach[index].astype(int).tolist(),
        }

    def name(self, i: int) -> str:
        """Return the name of a row, or its number counted from 1."""
        return str(i + 1) if self.names is None else shorten(self.names[i], _NAME)


def _read_rows(model: Any, ids: Sequence[str] | None) -> _Rows:
    answer = np.asarray(model.transduction_)
    n = len(answer)
    if ids is not None and len(ids) != n:
        raise ValueError(f"ids must name each of the {n} training rows, got {len(ids)} names")
    labelled = np.zeros(n, dtype=bool)
    labelled[np.asarray(model.labelled_, dtype=int)] = True
    supervised = np.asarray(model.supervised_transduction_)
    confidence = np.full(n, np.nan)
    classes = getattr(model, "classes_", None)
    if classes is not None:
        classes = np.asarray(classes).tolist()
        answer, supervised = _numbered(answer, classes), _numbered(supervised, classes)
        confidence = np.asarray(model.label_distributions_, dtype=float).max(axis=1)
    reach = np.asarray(model.label_reach_, dtype=bool)
    names = None if ids is None else list(ids)
    return _Rows(names, classes, labelled, answer, supervised, confidence, reach)


def _numbered(values: np.ndarray, classes: list[Any]) -> np.ndarray:
    place = {name: i for i, name in enumerate(classes)}
    return np.array([place.get(value, -1) for value in values.tolist()], dtype=int)


def _counts(numbers: np.ndarray, n_classes: int) -> list[int]:
    """Return how many rows each class has."""
    return np.bincount(numbers[numbers >= 0], minlength=n_classes).tolist()


def _short_report(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report without its confusions, and its lists cut to what can be shown."""
    kept = {name: value for name, value in report.items() if name != "confusion"}
    tried = report["candidates"]
    kept["candidates"] = sorted(tried, key=_rank)[:_CANDIDATES]
    kept["n_candidates"] = len(tried)
    curve = report.get("curve") or []
    kept["curve"] = [curve[i] for i in evenly(len(curve), _POINTS)]
    held = report.get("held_out")
    if held:
        pair, index = ("truth", "predicted"), evenly(len(held["truth"]), _POINTS)
        kept["held_out"] = {name: digits(np.array(held[name], float)[index]) for name in pair}
    return kept


def _rank(candidate: dict[str, Any]) -> tuple[bool, float]:
    """Return the key by which candidates are sorted: those chosen first, then the best."""
    score = candidate.get("steadied", candidate["score"])
    return not candidate["weight"], -number(score, -math.inf)


def _confusion(report: dict[str, Any]) -> dict[str, Any] | None:
    """Return how often a class was taken for another; a matrix where it is small enough."""
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
    """Return [first, second, count] of the pairs that are counted most."""
    order = np.argsort(-counts, kind="stable")[:_PAIRS]
    return np.column_stack([pairs, counts])[order].tolist()


def _changes(rows: _Rows) -> tuple[dict[str, Any], np.ndarray]:
    """Return where model and supervised model differ on unlabelled rows, and the rows listed."""
    free = np.flatnonzero(~rows.labelled)
    if rows.classes is None:
        size = np.abs(rows.answer[free] - rows.supervised[free])
        known = np.isfinite(size)
        free, size = free[known], size[known]
        listed = free[np.argsort(-size, kind="stable")[:_LIST]]
        middle = [float(np.median(size)), float(size.max())] if len(size) else []
        return {"rows": len(free), "sizes": digits(middle), "listed": rows.table(listed)}, listed
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


def _graph(model: Any, rows: _Rows, missed: np.ndarray) -> dict[str, Any] | None:
    graph = getattr(model, "graph_", None)
    if graph is None:
        return None
    component = np.asarray(graph.component_)
    _, inside, sizes = np.unique(component, return_inverse=True, return_counts=True)
    whole = len(component) == len(rows.labelled)  # or the graph joins other rows than these
    labelled = np.unique(inside[rows.labelled]) if whole else np.arange(0)
    degree = np.diff(graph.affinity_.indptr)
    width = 1 + int(np.ptp(degree)) // 30
    edges = np.arange(degree.min(), degree.max() + width + 1, width)
    return {
        "rows": len(component),
        "sizes": np.sort(sizes)[::-1][:_LIST].tolist(),
        "components": len(sizes),
        "unlabelled": len(sizes) - len(labelled) if whole else None,
        "edges": edges.tolist(),
        "histogram": np.histogram(degree, edges)[0].tolist(),
        "degree": float(f"{degree.mean():.4g}"),
        "missed": len(missed),
        "listed": rows.table(missed[:_LIST]),
    }


def _map(model: Any, rows: _Rows, wanted: np.ndarray) -> dict[str, Any] | None:
    """Return rows and where they lie: those wanted, the labelled ones, and others by chance."""
    places = getattr(model, "map_", None)
    if places is None:
        return None
    places = np.asarray(places, dtype=float)
    known = np.isfinite(places).all(axis=1)
    labelled = np.flatnonzero(rows.labelled & known)
    kept = np.zeros_like(known)
    kept[labelled[evenly(len(labelled), _LABELLED)]] = True
    kept[wanted] = known[wanted]
    rest = np.flatnonzero(known & ~kept & ~rows.labelled)
    free = min(len(rest), _ROWS - int(kept.sum()))
    kept[np.random.default_rng(0).choice(rest, free, replace=False)] = True
    index = np.flatnonzero(kept)
    return {
        "kind": shorten(getattr(model, "map_kind_", ""), _NAME),
        "of": len(known),
        "x": digits(places[index, 0]),
        "y": digits(places[index, 1]),
        **rows.table(index),
    }
