"""A map of the training rows: their classes, which of them were labelled, which are wrong."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimators.rows import given_rows
from .canvas import MARK, PALETTE, resolve_axes


class TransductionDisplay:
    """Rows in the plane, coloured by their class.

    Classes whose names have one character are drawn as that character, so that they can be
    distinguished without colours, and in black where they are wrong. Other classes are dots with a
    legend, and errors are crossed out.

    Parameters
    ----------
    points : array of shape (n, 2)
        Coordinates of the rows.
    labels : array of shape (n,)
        The class of each row, given or predicted.
    labelled : bool array of shape (n,)
        Which rows have a given label; they are drawn with a ring.
    truth : array of shape (n,), optional
        The true classes, where they are known.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes drawn on, and their figure.

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
                f"points must have shape ({len(self.labels)}, 2), two coordinates per row, got "
                f"{self.points.shape}: map rows of more columns to the plane first"
            )

    @property
    def errors(self) -> np.ndarray:
        """Which rows have a wrong class; none if the truth is not known."""
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
            Which rows have a given label.
        points : array of shape (n, 2), optional
            Coordinates of the rows; by default the training rows themselves, which must have two
            columns.
        truth : array of shape (n,), optional
            The true classes.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        TransductionDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "transduction_")
        points = given_rows(estimator) if points is None else points
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
            members = self.labels == name
            if not letters:
                dots = self.points[members]
                ax.scatter(*dots.T, s=14, linewidths=0, color=color, label=str(name))
                continue
            for rows, shade in ((members & ~self.errors, color), (members & self.errors, MARK)):
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
