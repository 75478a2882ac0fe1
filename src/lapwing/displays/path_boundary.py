"""The decision boundary of a solution path at one λ, and its animation from large to small λ.

Draws the f of a `PathDisplay` in the plane of the training rows. Must not know estimators.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .canvas import MARK, PALETTE, new_figure, require_matplotlib
from .path_curves import column_index, draw_curves, escape_math, of_column

if TYPE_CHECKING:
    from .path import PathDisplay

#: One for each class, so that classes can be distinguished without colours; ``path_page.html`` uses
#: the same.
MARKERS = ("o", "^", "s", "D", "v", "p", "H", "8")
#: Points per side of the grid in an animation.
_GRID = 90


def draw_boundary(
    display: PathDisplay, ax: Any, lam: float, x: np.ndarray, y: np.ndarray, values: np.ndarray
) -> None:
    """Draw regions, lines and rows; ``values`` has shape (n_columns, |y|, |x|)."""
    assert display.points is not None
    colors = [PALETTE[i % len(PALETTE)] for i in range(len(display.classes))]
    column = column_index(display)
    if len(values) > 1 and column is None:
        for i, color in enumerate(colors):
            lead = values[i] - np.delete(values, i, axis=0).max(axis=0)
            _fill(ax, x, y, lead, color)
            _line(ax, x, y, lead, [0.0], "solid")
        line = "boundary"
    else:
        f = values[column or 0]
        _fill(ax, x, y, f, colors[1 if column is None else column])
        _fill(ax, x, y, -f, colors[0] if column is None else "#AAAAAA")
        _line(ax, x, y, f, [0.0], "solid")
        _line(ax, x, y, f, [-1.0, 1.0], "dashed")
        ax.plot([], [], "k--", linewidth=1, label="margins, f = ±1")
        line = "boundary, f = 0"
    ax.plot([], [], "k-", linewidth=1.6, label=line)
    ax.scatter(*display.points.T, s=7, color="#777777", linewidths=0, label="not labelled")
    rows = display.points[display.labelled]
    for i, name in enumerate(display.classes):
        ax.scatter(
            *rows[display.labels == name].T,
            s=90,
            marker=MARKERS[i % len(MARKERS)],
            color=colors[i],
            edgecolors=MARK,
            zorder=3,
            label=f"labelled {escape_math(name)}",
        )
    ax.set(xlim=x[[0, -1]], ylim=y[[0, -1]], xticks=[], yticks=[])
    ax.set_title(_title(display, lam), fontsize="medium")


def write_animation(display: PathDisplay, path: Path, frames: int, fps: int, dpi: int) -> None:
    """Write the boundary next to the curves; see `PathDisplay.animate`."""
    writer = _animation_writer(path, fps)
    lams = np.geomspace(*display.span, frames)
    x, y, values = display.surface(lams, _GRID)
    figure = new_figure(11.0, 6.0)
    parts = figure.subplot_mosaic(
        [["boundary", name] for name in ("multipliers", "accuracy", "elbow")],
        width_ratios=[1.25, 1.0],
    )
    ax = parts.pop("boundary")
    panels = [*parts.values()]
    draw_curves(display, panels)
    draw_boundary(display, ax, lams[0], x, y, values[0])
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=6)
    cursors, positions = _freeze(figure, ax, panels, lams, dpi)
    with writer.saving(figure, str(path), dpi):
        for lam, surface, position in zip(lams, values, positions, strict=True):
            ax.clear()
            draw_boundary(display, ax, lam, x, y, surface)
            for cursor in cursors:
                cursor.set_xdata([position, position])
            writer.grab_frame()


def _title(display: PathDisplay, lam: float) -> str:
    """Return λ, the elbow, and the first accuracy at the nearest λ at which it is known."""
    elbow = float(of_column(display, display.elbow_at(lam))[0])
    title = f"λ = {lam:.3g}, {elbow:.3g} rows on the margin"
    for name, (lams, accuracy) in [*display.accuracy.items()][:1]:
        nearest = int(np.abs(np.log(lams / lam)).argmin())
        title += f"\naccuracy {accuracy[nearest]:.1%}, {name}"
    return title


def _fill(ax: Any, x: np.ndarray, y: np.ndarray, values: np.ndarray, color: str) -> None:
    if values.max() > 0:
        ax.contourf(x, y, values, levels=[0.0, values.max() + 1.0], colors=[color], alpha=0.25)


def _line(
    ax: Any, x: np.ndarray, y: np.ndarray, values: np.ndarray, levels: list[float], style: str
) -> None:
    levels = [level for level in levels if values.min() < level < values.max()]
    if levels:  # matplotlib warns if there is nothing to draw
        width = 1.6 if style == "solid" else 1.0
        ax.contour(x, y, values, levels, colors=MARK, linestyles=style, linewidths=width)


def _freeze(
    figure: Any, ax: Any, panels: list[Any], lams: np.ndarray, dpi: int
) -> tuple[list[Any], np.ndarray]:
    """Replace the panels by an image of them, which is drawn much faster.

    Returns a cursor for each panel, and its horizontal position in the figure at each λ.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.lines import Line2D

    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(dpi)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # otherwise the axes move between frames
    ax.set_visible(False)
    canvas.draw()
    image = np.array(canvas.buffer_rgba())
    ax.set_visible(True)
    at = panels[0].transData.transform(np.column_stack([lams, np.ones_like(lams)]))[:, 0]
    cursors = []
    for panel in panels:
        box = panel.get_position()
        style = {"color": PALETTE[5], "linewidth": 2, "transform": figure.transFigure}
        cursors.append(figure.add_artist(Line2D([0, 0], [box.y0, box.y1], **style)))
        panel.remove()
    figure.legends.clear()
    figure.figimage(image, zorder=-1)
    return cursors, at / image.shape[1]


def _animation_writer(path: Path, fps: int) -> Any:
    """Return matplotlib's writer for this type of file."""
    require_matplotlib()
    from matplotlib.animation import FFMpegWriter, PillowWriter

    if path.suffix == ".gif":
        return PillowWriter(fps=fps)
    if path.suffix != ".mp4":
        raise ValueError(f"an animation must be a .gif or .mp4 file, got {path.name!r}: rename it")
    if not FFMpegWriter.isAvailable():
        raise ValueError("an .mp4 needs the program ffmpeg: install it, or write a .gif instead")
    return FFMpegWriter(fps=fps)
