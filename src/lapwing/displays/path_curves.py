"""The curves of a solution path: multipliers, accuracy and elbow along λ, one above the other.

Draws the numbers of a `PathDisplay`, and knows which of its paths is shown. Must not know
estimators or the plane of the training rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .canvas import MARK, PALETTE, require_matplotlib

if TYPE_CHECKING:
    from .path import PathDisplay

#: One for each class, so that classes can be distinguished without colours; ``path_page.html`` uses
#: the same.
DASHES = ("-", "--", "-.", ":")
#: Values of λ at which curves are drawn, in addition to the breakpoints.
_POINTS = 400


def column_index(display: PathDisplay) -> int | None:
    """Return which column of the path is shown; None if all are."""
    if display.column is None:
        return None
    return int(np.flatnonzero(display.classes == display.column)[0])


def of_column(display: PathDisplay, values: np.ndarray) -> np.ndarray:
    """Return the column shown, or the mean over all columns (axis 1)."""
    column = column_index(display)
    return values.mean(axis=1) if column is None else values[:, column]


def escape_math(name: Any) -> str:
    """Return the name of a class for matplotlib, in which $ would begin a formula."""
    return str(name).replace("$", r"\$")


def three_axes(axes: Any) -> np.ndarray:
    """Return the given axes, if there are three, or those of a new pyplot figure."""
    require_matplotlib()
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(3, 1, figsize=(6.4, 7.2), layout="constrained")[1]
    axes = np.ravel(np.asarray(axes, dtype=object))
    if len(axes) != 3:
        raise ValueError(f"the path has three panels: pass three axes, got {len(axes)}")
    return axes


def draw_curves(display: PathDisplay, axes: Any) -> tuple[list[Any], list[Any], Any]:
    """Draw on three axes; return the lines of the labelled rows, the accuracies and the elbow."""
    from matplotlib.ticker import LogLocator, NullLocator

    lines = _draw_multipliers(display, axes[0])
    accuracies = _draw_accuracy(display, axes[1])
    elbow = _draw_elbow(display, axes[2])
    high, low = display.span
    ticks = [1.0, 2.0, 5.0] if high / low < 1000 else [1.0]
    if high / low < 4:
        ticks = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0]
    for ax in axes:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=ticks, numticks=99))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlim(high * 1.03, low / 1.03)
        ax.grid(axis="y", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if display.chosen is not None:
            ax.axvline(display.chosen, color=MARK, linestyle=":", linewidth=1.2)
    for ax in axes[:2]:
        ax.tick_params(labelbottom=False)
    axes[2].set_xlabel("λ, from large to small")
    return lines, accuracies, elbow


def _draw_multipliers(display: PathDisplay, ax: Any) -> list[Any]:
    high, low = display.span
    between = np.geomspace(high, max(low / 1.1, display.lambdas[-1]), _POINTS)[1:]
    lams = np.unique([*display.lambdas, *between])[::-1]  # curved on a log axis
    values = of_column(display, display.multipliers_at(lams))
    width = 1.4 if len(display.labels) < 60 else 0.8
    drawn = ax.plot(lams, values, linewidth=width)
    for i, name in enumerate(display.classes):
        style = {"color": PALETTE[i % len(PALETTE)], "linestyle": DASHES[i % len(DASHES)]}
        for row in np.flatnonzero(display.labels == name):
            drawn[row].set(**style)
        ax.plot([], [], label=escape_math(name), **style)
    ax.set_ylabel(f"multipliers α{_of_which(display)}")
    if len(display.classes) <= 12:
        ax.legend(title="class", ncols=(len(display.classes) + 3) // 4, fontsize="small")
    return drawn


def _draw_accuracy(display: PathDisplay, ax: Any) -> list[Any]:
    drawn = []
    if display.best_shown is not None:
        ax.axvspan(*display.best_shown, color="#DDDDDD", label="best interval")
    for i, (name, (lams, values)) in enumerate(display.accuracy.items()):
        style = {"color": PALETTE[(5, 7)[i % 2]], "linestyle": DASHES[i % len(DASHES)]}
        marker = "o" if len(lams) < 3 else None
        drawn += ax.plot(lams, 100 * values, marker=marker, label=name, **style)
    if display.chosen is not None:
        ax.plot([], [], color=MARK, linestyle=":", label=f"chosen λ, {display.chosen:.3g}")
    ax.set_ylabel("accuracy (%)")
    if not display.accuracy:
        ax.text(0.5, 0.5, "not available: pass X and y", ha="center", transform=ax.transAxes)
        ax.set_yticks([])
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")
    return drawn


def _draw_elbow(display: PathDisplay, ax: Any) -> Any:
    values = of_column(display, display.elbow)
    (drawn,) = ax.plot(
        display.lambdas, values, color=PALETTE[2], drawstyle="steps-post", marker="o", markersize=3
    )
    ax.set_ylim(0, max(1.0, values.max()) * 1.1)
    if display.column is not None or display.multipliers.shape[1] == 1:
        ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel(f"rows on the margin{_of_which(display)}")
    return drawn


def _of_which(display: PathDisplay) -> str:
    """Return the end of a label that names the path shown."""
    if display.multipliers.shape[1] == 1:
        return ""
    return ", mean" if display.column is None else f", {escape_math(display.column)}"
