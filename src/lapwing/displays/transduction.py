"""A map of the training rows: what they were called, which were labelled, which are wrong."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .canvas import MARK, PALETTE, resolve_axes


class TransductionDisplay:
    """Rows in the plane, coloured by the class they were given.

    Classes whose names have one character are drawn as that character, so that they can be told
    apart without colours, and black where they are wrong; other classes are dots with a legend,
    and errors are crossed out.

    Parameters
    ----------
    points : array of shape (n, 2)
        Where to draw each row.
    labels : array of shape (n,)
        The class of each row, given or predicted.
    labelled : bool array of shape (n,)
        Rows whose label was given; drawn with a ring.
    truth : array of shape (n,), optional
        The true classes, where they are known.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.

    Examples
    --------
    >>> from lapwing.displays import TransductionDisplay
    >>> display = TransductionDisplay([[0, 0], [1, 1]], ["a", "b"], [True, False], ["a", "a"])
    >>> display.errors.tolist()
    [False, True]
    """

    def __init__(self, points: Any, labels: Any, labelled: Any, truth: Any = None) -> None:
        self.points = np.asarray(points)
        self.labels = np.asarray(labels)
        self.labelled = np.asarray(labelled, dtype=bool)
        self.truth = None if truth is None else np.asarray(truth)
        if self.points.shape != (len(self.labels), 2):
            raise ValueError(
                f"points must have the shape ({len(self.labels)}, 2), two coordinates a row, got "
                f"{self.points.shape}: map rows of more columns to the plane first"
            )

    @property
    def errors(self) -> np.ndarray:
        """The rows whose class is wrong; none if the truth is not known."""
        if self.truth is None:
            return np.zeros(len(self.labels), dtype=bool)
        return self.labels != self.truth

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        labelled: Any,
        *,
        points: Any = None,
        truth: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw ``transduction_`` of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            With ``transduction_``.
        labelled : bool array of shape (n,)
            Rows whose label was given.
        points : array of shape (n, 2), optional
            Where to draw the rows; by default the training rows themselves, if they have two
            columns.
        truth : array of shape (n,), optional
            The true classes.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        TransductionDisplay
            After `plot`.
        """
        check_is_fitted(estimator, "transduction_")
        points = estimator.X_fit_ if points is None else points
        return cls(points, estimator.transduction_, labelled, truth).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        self
        """
        ax = resolve_axes(ax)
        classes = np.unique(self.labels)
        letters = all(len(str(name)) == 1 for name in classes)
        for i, name in enumerate(classes):
            color = PALETTE[i % len(PALETTE)]
            of = self.labels == name
            if not letters:
                ax.scatter(*self.points[of].T, s=14, linewidths=0, color=color, label=str(name))
                continue
            for rows, shade in ((of & ~self.errors, color), (of & self.errors, MARK)):
                ax.scatter(
                    *self.points[rows].T, s=26, linewidths=0, color=shade, marker=f"${name}$"
                )
        ax.scatter(
            *self.points[self.labelled].T,
            s=110,
            facecolors="none",
            edgecolors=MARK,
            linewidths=1.6,
            label=f"labelled ({self.labelled.sum()})",
        )
        if self.truth is not None:
            wrong = self.points[self.errors] if not letters else np.empty((0, 2))
            ax.scatter(
                *wrong.T,
                color=MARK,
                marker="s" if letters else "x",
                linewidths=1.0,
                label=f"{'black: ' if letters else ''}wrong ({self.errors.sum()})",
            )
        ax.set_xticks([])
        ax.set_yticks([])
        ax.legend(loc="best", framealpha=0.9)
        self.ax_, self.figure_ = ax, ax.figure
        return self
