"""Accuracies of several methods side by side, with a dot for each draw of the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from .canvas import MARK, PALETTE, resolve_axes


class AccuracyDisplay:
    """Bars of the mean accuracy, with a dot for each repetition.

    Parameters
    ----------
    methods : sequence of str
        Names of the methods, from top to bottom.
    accuracy : mapping of str to array of shape (n_methods, n_repetitions)
        Accuracies between 0 and 1 for each group of rows, such as unlabelled and new ones.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes drawn on, and their figure.

    Examples
    --------
    >>> from lapwing.displays import AccuracyDisplay
    >>> AccuracyDisplay(["SVC", "LapSVC"], {"new rows": [[0.7, 0.8], [0.9, 0.9]]}).methods
    ['SVC', 'LapSVC']
    """

    def __init__(self, methods: Sequence[str], accuracy: Mapping[str, Any]) -> None:
        self.methods = list(methods)
        self.accuracy = {name: np.asarray(values) for name, values in accuracy.items()}
        for name, values in self.accuracy.items():
            if values.ndim != 2 or len(values) != len(self.methods):
                raise ValueError(
                    f"the accuracies of {name!r} must have one row for each of the "
                    f"{len(self.methods)} methods, got shape {values.shape}"
                )

    def plot(self, ax: Any = None) -> Self:
        """Draw horizontal bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        self
        """
        ax = resolve_axes(ax)
        height = 0.8 / max(len(self.accuracy), 1)
        positions = np.arange(len(self.methods))
        for i, (name, values) in enumerate(self.accuracy.items()):
            at = positions + (i - (len(self.accuracy) - 1) / 2) * height
            percent = 100 * values
            color = PALETTE[i % len(PALETTE)]
            ax.barh(at, percent.mean(axis=1), 0.9 * height, color=color, label=name, zorder=2)
            ax.scatter(
                percent.ravel(),
                np.repeat(at, percent.shape[1]),
                s=16,
                facecolors="white",
                edgecolors=MARK,
                linewidths=0.8,
                label="one draw of the labels" if i == len(self.accuracy) - 1 else None,
                zorder=3,
            )
        ax.set_yticks(positions, self.methods)
        ax.invert_yaxis()
        ax.set_xlim(0, 100)
        ax.set_xlabel("accuracy (%)")
        ax.grid(axis="x", alpha=0.4, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
