"""The solution path of a machine in λ: its curves, the boundary at any λ, a film and a page.

Holds the numbers, read off the breakpoints of a fitted path. Between two of them the multipliers
and λ·f are linear in λ, so all that is drawn between breakpoints is as exact as they are. Does not
know how to draw: that is for `path_curves`, `path_boundary` and `path_page`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .canvas import resolve_axes
from .path_boundary import FINE, draw_boundary, sample_surface, write_film
from .path_curves import draw_curves, three_axes
from .path_page import make_page

#: Values of λ at which an accuracy is tried, where it changes between those of the path.
_TRIALS = 400


class PathDisplay:
    """Multipliers, accuracy and elbow along λ, and the decision boundary at chosen λ.

    The axis of λ is logarithmic and runs from large λ at the left to small λ at the right: the path
    is followed from λ = ∞ downwards, so pictures, film and page read in its direction, from the
    stiff function to the supple one. The last stretch of a path, in which nothing happens until
    its end, is cut short (`span`).

    With more than two classes there is a path for each class against the rest. Multipliers and
    elbow are then means over the paths, and a boundary is where the predicted class changes;
    ``column`` shows the path of one class instead.

    Parameters
    ----------
    lambdas : array of shape (B,)
        Breakpoints, descending.
    multipliers : array of shape (B, n_columns, l)
        Multipliers of the labelled rows at the breakpoints.
    elbow : array of shape (B, n_columns)
        Labelled rows on the margin from each breakpoint down to the next.
    labels : array of shape (l,)
        Classes of the labelled rows.
    classes : array of shape (n_classes,)
        All classes, in the order of the columns; of two, the second is where f > 0.
    accuracy : mapping of str to pair of arrays, optional
        For each kind of rows, values of λ and the accuracies there, between 0 and 1.
    best_interval : pair of float, optional
        Values of λ between which the accuracy is best.
    chosen : float, optional
        The λ that the machine predicts with.
    column : class, optional
        The class whose path is shown; by default all.
    points : array of shape (n, 2), optional
        The training rows, where they lie in the plane; boundaries need them.
    labelled : array of int, shape (l,), optional
        Which of them are labelled.
    decide : function, optional
        ``decide(rows, lams)`` returns f, one leading axis for the values of λ.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and Figure
        What `plot` drew on.
    boundary_ax_ : matplotlib Axes
        What `plot_boundary` drew on.

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
                f"multipliers must have the shape ({shape[0]}, n_columns, {shape[1]}), breakpoints "
                f"by columns by labelled rows, got {self.multipliers.shape}"
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
        """Read the path of a fitted estimator, and draw it.

        Parameters
        ----------
        estimator : fitted `LapSVCPath`
            With ``lambdas_`` and ``coef_path_``.
        X, y : array of shape (n, d) and array of shape (n,), optional
            Rows and their classes, to show the accuracy along the path. The cross-validated
            accuracy is shown without them, if the estimator has it.
        column : class, optional
            The class whose path is shown, where there are more than two; by default all.
        axes : sequence of three matplotlib Axes, optional
            Where to draw; by default on a new figure.
        draw : bool, default=True
            False to read only: for `plot_boundary`, `animate` or `write_html` alone.

        Returns
        -------
        PathDisplay
            After `plot`, unless ``draw`` is false.
        """
        check_is_fitted(estimator, "coef_path_")
        if (X is None) != (y is None):
            raise ValueError("the accuracy needs rows and their classes: pass both X and y")
        accuracy = {}
        if X is not None:
            accuracy["rows given"] = _accuracy(estimator, X, np.asarray(y))
        if estimator.cv_lambdas_ is not None:
            accuracy["cross-validated"] = (estimator.cv_lambdas_, estimator.cv_accuracy_)
        rows = estimator.X_fit_
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

        The smallest lies a little below the last event: a breakpoint where the elbow grows or
        shrinks or a curve has a visible kink, a change of the accuracy, or the λ chosen.
        """
        high, end = self.lambdas[[0, -1]]
        events = [high, *self.lambdas[1:-1][self._bends()]]
        for lams, values in self.accuracy.values():
            events += [lam for lam, gain in zip(lams[1:], np.diff(values), strict=True) if gain]
        if self.chosen is not None:
            events.append(self.chosen)
        last = float(np.clip(min(events), end, high))
        return float(high), float(max(end, last / max(2.0, (high / last) ** 0.2)))

    def multipliers_at(self, lams: Any) -> np.ndarray:
        """Return the multipliers at some λ of the path, shape (n_lams, n_columns, l)."""
        flat = self.multipliers.reshape(len(self.lambdas), -1)
        return _between(self.lambdas, flat, lams).reshape(-1, *self.multipliers.shape[1:])

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
            Points a side.

        Returns
        -------
        x, y : ndarray of shape (resolution,)
            The grid.
        values : ndarray of shape (n_lams, n_columns, resolution, resolution)
            f; rows of the grid go with y.
        """
        return sample_surface(self, lams, resolution)

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
        """Draw the decision boundary at one λ, for training rows of two columns.

        Filled are the regions of the classes; the line is f = 0 and the broken lines, with two
        classes or a ``column``, are the margins f = ±1. ``boundary_ax_.legend()`` adds a legend.

        Parameters
        ----------
        lam : float, optional
            By default the λ that the machine predicts with.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        self
        """
        lam = self.chosen if lam is None else lam
        if lam is None:
            raise ValueError("no λ was chosen by the machine: pass lam")
        x, y, values = self.surface([lam], FINE)
        self.boundary_ax_ = resolve_axes(ax)
        draw_boundary(self, self.boundary_ax_, lam, x, y, values[0])
        return self

    def animate(self, path: Any, *, frames: int = 60, fps: int = 10, dpi: int = 80) -> None:
        """Write a film of the boundary from large λ to small λ, beside the curves.

        Parameters
        ----------
        path : str or Path
            Ends in ``.gif``, or in ``.mp4`` where the program ffmpeg is installed.
        frames : int, default=60
            Pictures, evenly spaced in log λ.
        fps : int, default=10
            Pictures a second.
        dpi : int, default=80
            Dots an inch, of 11 × 6 inches.
        """
        write_film(self, Path(path), frames, fps, dpi)

    def write_html(self, path: Any, *, title: str = "Solution path in λ") -> None:
        """Write a page with a slider for λ, which needs no network and no other file.

        It shows the curves and, for training rows of two columns, the boundary; below about 3 MB.
        Where breakpoints or rows are left out for that, the page says so. Does not need matplotlib.

        Parameters
        ----------
        path : str or Path
            The file; ``file.html#lambda=0.5`` opens it at that λ.
        title : str
            Heading of the page.
        """
        Path(path).write_text(make_page(self, title), encoding="utf-8")

    def _bends(self) -> np.ndarray:
        """Return at which of the inner breakpoints something happens."""
        a = self.multipliers.reshape(len(self.lambdas), -1)
        gaps = -np.diff(self.lambdas)
        share = (gaps[:-1] / (gaps[:-1] + gaps[1:]))[:, None]
        kink = np.abs((1 - share) * a[:-2] + share * a[2:] - a[1:-1]).max(axis=1, initial=0.0)
        moved = (np.diff(self.elbow, axis=0)[:-1] != 0).any(axis=1)
        return moved | (kink > 1e-4 * np.abs(a).max())


def _between(at: np.ndarray, values: np.ndarray, lams: Any) -> np.ndarray:
    """Return values of shape (B, m), known at descending λ, at other λ: linear in between."""
    lams = np.clip(np.atleast_1d(np.asarray(lams, dtype=float)), at[-1], at[0])
    if len(at) == 1:
        return np.repeat(values, len(lams), axis=0)
    right = np.clip(np.searchsorted(-at, -lams), 1, len(at) - 1)
    share = ((at[right - 1] - lams) / (at[right - 1] - at[right]))[:, None]
    return (1 - share) * values[right - 1] + share * values[right]


def _accuracy(estimator: Any, X: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the accuracy along λ, with more λ in wide gaps in which it changes."""
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
