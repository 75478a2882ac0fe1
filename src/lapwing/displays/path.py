"""The solution path of a model in λ: curves, the boundary at any λ, an animation and a page.

Holds the numbers, read from the breakpoints of a fitted path. Between two breakpoints the
multipliers and λ·f are linear in λ, so everything drawn there is as exact as the breakpoints. Must
not know how to draw: `path_curves`, `path_boundary` and `path_page` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays.atomic import write_text
from ..estimators.rows import given_rows
from .canvas import resolve_axes
from .path_boundary import draw_boundary, write_animation
from .path_curves import draw_curves, three_axes
from .path_page import make_page

#: Additional values of λ at which the accuracy is computed, in the range in which it changes.
_TRIALS = 400
#: Points per side of the grid on which a boundary is drawn.
_GRID = 160


class PathDisplay:
    """Multipliers, accuracy and elbow along λ, and the decision boundary at chosen λ.

    The axis of λ is logarithmic and runs from large λ on the left to small λ on the right, because
    the path is followed from λ = ∞ downwards, from the stiffest function to the most flexible one.
    The last part of a path, in which nothing changes, is cut short (`span`).

    With more than two classes there is one path for each class against the rest. Multipliers and
    elbow are then means over the paths, and the boundary is where the predicted class changes;
    ``column`` shows the path of one class instead.

    Parameters
    ----------
    lambdas : array of shape (B,)
        Breakpoints, descending.
    multipliers : array of shape (B, n_columns, l)
        Multipliers of the labelled rows at the breakpoints.
    elbow : array of shape (B, n_columns)
        Number of labelled rows on the margin from each breakpoint down to the next.
    labels : array of shape (l,)
        Classes of the labelled rows.
    classes : array of shape (n_classes,)
        All classes, in the order of the columns. Of two classes, the second is where f > 0.
    accuracy : mapping of str to pair of arrays, optional
        For each group of rows, values of λ and the accuracies there, between 0 and 1.
    best_interval : pair of float, optional
        Values of λ between which the accuracy is best.
    chosen : float, optional
        The λ that the model predicts with.
    column : class, optional
        The class whose path is shown; by default all.
    points : array of shape (n, 2), optional
        The training rows, if they have two columns; boundaries need them.
    labelled : array of int, shape (l,), optional
        Indices of the labelled rows.
    decide : function, optional
        ``decide(rows, lams)`` returns f, with a leading axis for the values of λ.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and Figure
        The axes that `plot` drew on, and their figure.
    boundary_ax_ : matplotlib Axes
        The axes that `plot_boundary` drew on.

    Examples
    --------
    >>> from lapwing.displays import PathDisplay
    >>> display = PathDisplay([4.0, 1.0], [[[1.0, 1.0]], [[0.0, 0.5]]], [[2], [1]], "ab", "ab")
    >>> display.multipliers_at([2.0]).tolist()  # a third of the way down
    [[[0.33, 0.67]]]
    """

    def __init__(
        self,
        lambdas: Any,
        multipliers: Any,
        elbow: Any,
        labels: Any,
        classes: Any,
        *,
        accuracy: Mapping[str, Any] | None = None,
        best_interval: tuple[float, float] | None = None,
        chosen: float | None = None,
        column: Any = None,
        points: Any = None,
        labelled: Any = None,
        decide: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.lambdas = np.asarray(lambdas, dtype=float)
        self.multipliers = np.asarray(multipliers, dtype=float)
        self.elbow = np.asarray(elbow)
        self.labels = np.asarray(list(labels))
        self.classes = np.asarray(list(classes))
        self.accuracy = {
            name: (np.asarray(lams, dtype=float), np.asarray(values, dtype=float))
            for name, (lams, values) in (accuracy or {}).items()
        }
        self.best_interval = best_interval
        self.chosen = chosen
        self.column = column
        self.points = None if points is None else np.asarray(points, dtype=float)
        self.labelled = None if labelled is None else np.asarray(labelled)
        self.decide = decide
        shape = (len(self.lambdas), len(self.labels))
        if self.multipliers.ndim != 3 or self.multipliers.shape[::2] != shape:
            raise ValueError(
                f"multipliers must have shape ({shape[0]}, n_columns, {shape[1]}), breakpoints by "
                f"columns by labelled rows, got {self.multipliers.shape}"
            )
        if (self.lambdas <= 0).any() or (np.diff(self.lambdas) >= 0).any():
            raise ValueError("lambdas must be positive and descending: sort the breakpoints")
        if column is not None and (len(self.classes) < 3 or column not in self.classes):
            raise ValueError(
                f"column={column!r} must be None or one of at least three classes: "
                f"{', '.join(map(str, self.classes))}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        column: Any = None,
        axes: Any = None,
        draw: bool = True,
    ) -> Self:
        """Read the path of a fitted estimator and draw it.

        Parameters
        ----------
        estimator : fitted `LapSVCPath`
            The model.
        X, y : array of shape (n, d) and array of shape (n,), optional
            Rows and their classes, to show the accuracy along the path. The cross-validated
            accuracy is shown in any case, if the estimator has it.
        column : class, optional
            The class whose path is shown, if there are more than two; by default all.
        axes : sequence of three matplotlib Axes, optional
            Where to draw; by default on a new figure.
        draw : bool, default=True
            False reads the path only, for `plot_boundary`, `animate` or `write_html`.

        Returns
        -------
        PathDisplay
            The display; drawn, unless ``draw`` is false.
        """
        check_is_fitted(estimator, "coef_path_")
        if (X is None) != (y is None):
            raise ValueError("the accuracy needs rows and their classes: pass both X and y")
        accuracy = {}
        if X is not None:
            accuracy["given rows"] = _accuracy(estimator, X, np.asarray(y))
        if estimator.cv_lambdas_ is not None:
            accuracy["cross-validated"] = (estimator.cv_lambdas_, estimator.cv_accuracy_)
        rows = given_rows(estimator)
        flat = rows.shape[1] == 2 and estimator.kernel != "precomputed"
        display = cls(
            estimator.lambdas_,
            estimator.coef_path_,
            estimator.elbow_path_,
            estimator.transduction_[estimator.labelled_],
            estimator.classes_,
            accuracy=accuracy,
            best_interval=estimator.best_interval_,
            chosen=estimator.lambda_,
            column=column,
            points=(rows.toarray() if hasattr(rows, "toarray") else rows) if flat else None,
            labelled=estimator.labelled_,
            decide=lambda rows, lams: estimator.decision_function(rows, lam=lams),
        )
        return display.plot(axes) if draw else display

    @property
    def span(self) -> tuple[float, float]:
        """The largest and the smallest λ shown.

        The smallest is a little below the last event: a breakpoint at which the elbow changes or a
        curve has a visible kink, a change of the accuracy, or the chosen λ.
        """
        high, end = self.lambdas[[0, -1]]
        events = [high, *self.lambdas[1:-1][self._has_event()]]
        for lams, values in self.accuracy.values():
            events += [lam for lam, gain in zip(lams[1:], np.diff(values), strict=True) if gain]
        if self.chosen is not None:
            events.append(self.chosen)
        last = float(np.clip(min(events), end, high))
        return float(high), float(max(end, last / max(2.0, (high / last) ** 0.2)))

    @property
    def best_shown(self) -> tuple[float, float] | None:
        """The part of the best interval that is shown; None where no λ is better than another."""
        if self.best_interval is None:
            return None
        (low, high), (top, end) = self.best_interval, self.span
        known = np.array([end, top])
        if "cross-validated" in self.accuracy:  # its last λ may be above the end
            known = self.accuracy["cross-validated"][0]
            known = known[(known >= end) & (known <= top)]
        low, high = max(low, end), min(high, top)
        if low >= high or ((known >= low) & (known <= high)).all():
            return None
        return low, high

    def multipliers_at(self, lams: Any) -> np.ndarray:
        """Return the multipliers at some λ of the path, shape (n_lams, n_columns, l)."""
        last = len(self.lambdas) - 1
        at = np.interp(np.atleast_1d(lams), self.lambdas[::-1], np.arange(last, -1, -1))
        left = at.astype(int)
        share = (at - left)[:, None, None]
        right = np.minimum(left + 1, last)
        return (1 - share) * self.multipliers[left] + share * self.multipliers[right]

    def elbow_at(self, lams: Any) -> np.ndarray:
        """Return the size of the elbow at some λ of the path, shape (n_lams, n_columns)."""
        at = np.searchsorted(-self.lambdas, -np.atleast_1d(lams), side="right") - 1
        return self.elbow[np.clip(at, 0, None)]

    def surface(self, lams: Any, resolution: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return f on a grid around the training rows.

        Parameters
        ----------
        lams : array of shape (n_lams,)
            Values of λ.
        resolution : int
            Points per side.

        Returns
        -------
        x, y : ndarray of shape (resolution,)
            The grid.
        values : ndarray of shape (n_lams, n_columns, resolution, resolution)
            f on the grid, y by x.
        """
        if self.points is None or self.decide is None or self.points.shape[1] != 2:
            raise ValueError(
                "a boundary can only be drawn for training rows with two columns, and not for a "
                "precomputed kernel: use plot or write_html, which show the curves"
            )
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        edge = 0.12 * np.where(high > low, high - low, 1.0)
        x, y = np.linspace(low - edge, high + edge, resolution).T
        grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
        lams = np.atleast_1d(np.asarray(lams, dtype=float))
        values = np.asarray(self.decide(grid, lams)).reshape(len(lams), len(grid), -1)
        return x, y, values.transpose(0, 2, 1).reshape(len(lams), -1, resolution, resolution)

    def plot(self, axes: Any = None) -> Self:
        """Draw multipliers, accuracy and elbow, one above the other.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        self
        """
        axes = three_axes(axes)
        self.lines_, self.accuracy_lines_, self.elbow_line_ = draw_curves(self, axes)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def plot_boundary(self, lam: float | None = None, ax: Any = None) -> Self:
        """Draw the decision boundary at one λ, for training rows with two columns.

        The regions of the classes are filled. The line is f = 0; with two classes or a ``column``,
        dashed lines are the margins f = ±1. ``boundary_ax_.legend()`` adds a legend.

        Parameters
        ----------
        lam : float, optional
            By default the λ that the model predicts with.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        self
        """
        lam = self.chosen if lam is None else lam
        if lam is None:
            raise ValueError("the model has not chosen a λ: pass lam")
        x, y, values = self.surface([lam], _GRID)
        self.boundary_ax_ = resolve_axes(ax)
        draw_boundary(self, self.boundary_ax_, lam, x, y, values[0])
        return self

    def animate(self, path: Any, *, frames: int = 60, fps: int = 10, dpi: int = 80) -> None:
        """Write an animation of the boundary from large to small λ, next to the curves.

        Parameters
        ----------
        path : str or Path
            A file ending in ``.gif``, or in ``.mp4`` if the program ffmpeg is installed.
        frames : int, default=60
            Number of frames, evenly spaced in log λ.
        fps : int, default=10
            Frames per second.
        dpi : int, default=80
            Dots per inch; the animation has 11 × 6 inches.
        """
        write_animation(self, Path(path), frames, fps, dpi)

    def write_html(self, path: Any, *, title: str = "Solution path in λ") -> None:
        """Write an HTML page with a slider for λ, which needs no network and no other file.

        It shows the curves and, for training rows with two columns, the boundary. The page stays
        below about 3 MB; a note on it reports breakpoints and rows that are omitted for that. Does
        not need matplotlib.

        Parameters
        ----------
        path : str or Path
            The file to write; ``file.html#lambda=0.5`` opens the page at that λ.
        title : str
            Heading of the page.
        """
        write_text(path, make_page(self, title))

    def _has_event(self) -> np.ndarray:
        """Return at which inner breakpoints the elbow changes or a multiplier has a kink."""
        a = self.multipliers.reshape(len(self.lambdas), -1)
        gaps = -np.diff(self.lambdas)
        share = (gaps[:-1] / (gaps[:-1] + gaps[1:]))[:, None]
        kink = np.abs((1 - share) * a[:-2] + share * a[2:] - a[1:-1]).max(axis=1, initial=0.0)
        moved = (np.diff(self.elbow, axis=0)[:-1] != 0).any(axis=1)
        return moved | (kink > 1e-4 * np.abs(a).max())


def _accuracy(estimator: Any, X: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the accuracy along λ, at more values of λ where it changes in a wide gap."""
    lams, values = map(np.asarray, estimator.accuracy_path(X, y))
    changes = np.flatnonzero(np.diff(values))
    if len(changes) == 0:
        return lams, values
    more = np.geomspace(lams[changes[0]], lams[changes[-1] + 1], _TRIALS)[1:-1]
    more = more[np.isin(np.searchsorted(-lams, -more) - 1, changes)]
    if len(more) == 0:
        return lams, values
    lams = np.append(lams, more)
    values = np.append(values, estimator.accuracy(X, y, more))
    order = np.argsort(-lams, kind="stable")
    return lams[order], values[order]
