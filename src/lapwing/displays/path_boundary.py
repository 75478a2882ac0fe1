"""The decision boundary of a solution path at one λ, and a film of it from large λ to small.

Draws f, as a `PathDisplay` gives it, in the plane of the training rows. Knows nothing of
estimators.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .canvas import MARK, PALETTE, new_figure, require_matplotlib
from .path_curves import column_index, draw_curves, of_column, plain

if TYPE_CHECKING:
    from .path import PathDisplay

#: One for each class, so that classes are told apart without colours; ``path_page.html`` has the
#: same.
MARKERS = ("o", "^", "s", "D", "v", "p", "H", "8")
#: Points a side of the grid in a picture and in a film.
FINE, _FILM = 160, 90


def sample_surface(
    display: PathDisplay, lams: Any, resolution: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return f on a grid around the training rows; see `PathDisplay.surface`."""
    points, decide = display.points, display.decide
    if points is None or decide is None or points.shape[1] != 2:
        raise ValueError(
            "a boundary can be drawn for training rows of two columns only (and not for a "
            "precomputed kernel): use plot or write_html, which show the curves"
        )
    low, high = points.min(axis=0), points.max(axis=0)
    edge = 0.12 * np.where(high > low, high - low, 1.0)
    x, y = np.linspace(low - edge, high + edge, resolution).T
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    lams = np.atleast_1d(np.asarray(lams, dtype=float))
    values = np.asarray(decide(grid, lams)).reshape(len(lams), len(grid), -1)
    return x, y, values.transpose(0, 2, 1).reshape(len(lams), -1, resolution, resolution)


def draw_boundary(
    display: PathDisplay, ax: Any, lam: float, x: np.ndarray, y: np.ndarray, values: np.ndarray
) -> None:
    """Draw regions, lines and rows; ``values`` has the shape (n_columns, |y|, |x|)."""
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
            label=f"labelled {plain(name)}",
        )
    ax.set(xlim=x[[0, -1]], ylim=y[[0, -1]], xticks=[], yticks=[])
    ax.set_title(_title(display, lam), fontsize="medium")


def write_film(display: PathDisplay, path: Path, frames: int, fps: int, dpi: int) -> None:
    """Write the boundary beside the curves; see `PathDisplay.animate`."""
    writer = _film_writer(path, fps)
    lams = np.geomspace(*display.span, frames)
    x, y, values = display.surface(lams, _FILM)
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
    cursors, places = _freeze(figure, ax, panels, lams, dpi)
    with writer.saving(figure, str(path), dpi):
        for lam, surface, place in zip(lams, values, places, strict=True):
            ax.clear()
            draw_boundary(display, ax, lam, x, y, surface)
            for cursor in cursors:
                cursor.set_xdata([place, place])
            writer.grab_frame()


def _title(display: PathDisplay, lam: float) -> str:
    """Return λ, the elbow and the first of the accuracies, at the nearest λ that was tried."""
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
    if levels:  # matplotlib warns where there is nothing to draw
        width = 1.6 if style == "solid" else 1.0
        ax.contour(x, y, values, levels, colors=MARK, linestyles=style, linewidths=width)


def _freeze(
    figure: Any, ax: Any, panels: list[Any], lams: np.ndarray, dpi: int
) -> tuple[list[Any], np.ndarray]:
    """Replace all but one of the axes by their picture, which is drawn much faster.

    Returns a cursor for each panel and where it stands, across the figure, at each λ.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.lines import Line2D

    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(dpi)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # or the axes tremble from picture to picture
    ax.set_visible(False)
    canvas.draw()
    picture = np.array(canvas.buffer_rgba())
    ax.set_visible(True)
    at = panels[0].transData.transform(np.column_stack([lams, np.ones_like(lams)]))[:, 0]
    cursors = []
    for panel in panels:
        box = panel.get_position()
        style = {"color": PALETTE[5], "linewidth": 2, "transform": figure.transFigure}
        cursors.append(figure.add_artist(Line2D([0, 0], [box.y0, box.y1], **style)))
        panel.remove()
    figure.legends.clear()
    figure.figimage(picture, zorder=-1)
    return cursors, at / picture.shape[1]


def _film_writer(path: Path, fps: int) -> Any:
    """Return what writes films of this kind."""
    require_matplotlib()
    from matplotlib.animation import FFMpegWriter, PillowWriter

    if path.suffix == ".gif":
        return PillowWriter(fps=fps)
    if path.suffix != ".mp4":
        raise ValueError(f"a film is written as .gif or .mp4, got {path.name!r}: rename it")
    if not FFMpegWriter.isAvailable():
        raise ValueError("an MP4 needs the program ffmpeg, not found: install it, or write a .gif")
    return FFMpegWriter(fps=fps)
