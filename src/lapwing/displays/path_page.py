"""The page of a solution path: one HTML file with a slider for λ, which loads nothing.

Packs the numbers of a `PathDisplay` into JSON and inserts them into ``path_page.html``, whose
script interpolates and draws. Must not know estimators or matplotlib. Names of classes reach the
page as JSON without markup, and the script inserts them as text.

Between breakpoints λ·f is linear in λ. On a grid, the functions f of all breakpoints span a space
of at most l + 1 dimensions, so they are stored as coefficients of a few common surfaces.
"""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from .canvas import PALETTE
from .page import digits, evenly, fill_template, script_json
from .path_curves import column_index

if TYPE_CHECKING:
    from .path import PathDisplay

#: Points per side of the grid on which f is stored, and surfaces of which it is a combination.
_GRID, _SURFACES = 56, 64
#: Limits that keep the page below 3 MB: breakpoints, coefficients and multipliers in total, curves
#: of labelled rows, dots, points of an accuracy curve.
_BREAKPOINTS, _NUMBERS, _CURVES, _DOTS, _ACCURACIES = 500, 200_000, 200, 2500, 1500


def make_page(display: PathDisplay, title: str) -> str:
    """Return the HTML of the page.

    Parameters
    ----------
    display : PathDisplay
        The path; the page has a boundary if the rows have two columns.
    title : str
        Heading of the page.

    Returns
    -------
    str
    """
    notes: list[str] = []
    columns, l = display.multipliers.shape[1:]
    curves = evenly(l, _CURVES)
    if len(curves) < l:
        notes.append(f"Curves are drawn for {len(curves)} of {l} labelled rows.")
    surfaces = 0 if display.points is None else min(_SURFACES, l + 1)
    most = min(_BREAKPOINTS, max(20, _NUMBERS // (columns * (len(curves) + surfaces))))
    lams = _shown(display, most, notes)
    column = column_index(display)
    data: dict[str, Any] = {
        "lambdas": lams.tolist(),
        "columns": columns,
        "column": -1 if column is None else column,
        "multipliers": _pack(display.multipliers_at(lams)[:, :, curves]),
        "elbow": display.elbow_at(lams).tolist(),
        "classes": [str(name) for name in display.classes],
        "labels": (display.labels[:, None] == display.classes).argmax(axis=1).tolist(),
        "curves": curves.tolist(),
        "chosen": display.chosen,
        "best": display.best_shown,
        "accuracy_note": _accuracy_note(display),
        "palette": PALETTE,
        "accuracy": _accuracy(display),
    }
    if display.points is not None:
        data["plane"] = _plane(display, lams, notes)
    page = {
        "TITLE": html.escape(title),
        "FACTS": html.escape(_facts(display)),
        "NOTES": html.escape(" ".join(notes)),
        "DATA": script_json(data),
    }
    return fill_template("path_page.html", page)


def _shown(display: PathDisplay, most: int, notes: list[str]) -> np.ndarray:
    """Return the breakpoints on the page, descending; the last is the end of the axis."""
    high, low = display.span
    inside = display.lambdas[display.lambdas > low * (1 + 1e-12)]
    lams = np.append(inside, low) if high > low else display.lambdas[:1]
    if low > display.lambdas[-1]:
        notes.append(
            f"Nothing changes between the last breakpoint shown and the end of the path at "
            f"λ = {display.lambdas[-1]:.3g}."
        )
    if len(lams) <= most:
        notes.append("Interpolation between breakpoints is exact: λ·f is linear in λ there.")
        return lams
    low_step, high_step = 0.0, float(np.log(lams[0] / lams[-1]))
    for _ in range(40):  # bisection: the smallest step that keeps few enough breakpoints
        middle = (low_step + high_step) / 2
        if len(_spaced(lams, middle)) <= most:
            high_step = middle
        else:
            low_step = middle
    kept = _spaced(lams, high_step)
    notes.append(
        f"The path has {len(lams)} breakpoints; the page contains {len(kept)} of them and is "
        "approximate in between."
    )
    return kept


def _spaced(lams: np.ndarray, step: float) -> np.ndarray:
    """Return the first and last λ, and those in between that are a step apart in log λ."""
    logs = np.log(lams)
    kept = [0]
    for i in range(1, len(lams) - 1):
        if logs[kept[-1]] - logs[i] >= step:
            kept.append(i)
    return lams[[*kept, len(lams) - 1]]


def _plane(display: PathDisplay, lams: np.ndarray, notes: list[str]) -> dict[str, Any]:
    """Return dots, labelled rows, and f at the breakpoints as coefficients of common surfaces."""
    assert display.points is not None and display.labelled is not None
    x, y, values = display.surface(lams, _GRID)
    flat = values.reshape(-1, _GRID * _GRID)
    rank = min(_SURFACES, *flat.shape)
    left, sizes, basis = randomized_svd(flat, rank, n_oversamples=16, n_iter=4, random_state=0)
    needed = max(1, int((sizes > 1e-8 * sizes[0]).sum()))
    coef = (left[:, :needed] * sizes[:needed]).astype("<f4")
    basis = basis[:needed].astype("<f4")
    error = float(np.abs(flat - coef.astype(float) @ basis.astype(float)).max())
    notes.append(f"f is drawn from {_GRID} × {_GRID} points, accurate to {error:.0e}.")
    dots = np.setdiff1d(np.arange(len(display.points)), display.labelled)
    some = dots[evenly(len(dots), _DOTS)]
    if len(some) < len(dots):
        notes.append(f"{len(some)} of {len(dots)} unlabelled rows are drawn.")
    return {
        "size": _GRID,
        "x": [float(x[0]), float(x[-1])],
        "y": [float(y[0]), float(y[-1])],
        "coef": _pack(coef),
        "basis": _pack(basis),
        "surfaces": needed,
        "dots": digits(display.points[some]),
        "labelled": digits(display.points[display.labelled]),
    }


def _accuracy(display: PathDisplay) -> list[dict[str, Any]]:
    curves = []
    for name, (lams, values) in display.accuracy.items():
        some = evenly(len(lams), _ACCURACIES)
        curves.append({"name": name, "at": digits(lams[some]), "values": digits(values[some])})
    return curves


def _accuracy_note(display: PathDisplay) -> str:
    """Return the end of the title of the accuracy chart."""
    if display.best_shown is not None:
        return "; the best λ are shaded"
    _, values = display.accuracy.get("cross-validated", ((), ()))
    return "; all λ are equal in cross-validation" if len(set(values)) == 1 else ""


def _facts(display: PathDisplay) -> str:
    rows = "" if display.points is None else f"{len(display.points)} rows, "
    columns = display.multipliers.shape[1]
    paths = "" if columns == 1 else f" of {columns} classes, each against the rest"
    return f"{rows}{len(display.labels)} labelled; {len(display.lambdas)} breakpoints{paths}."


def _pack(values: np.ndarray) -> str:
    """Return numbers in single precision, encoded in base 64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")
