"""How a solver approached the optimum, from the history of its result."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .canvas import MARK, PALETTE, resolve_axes


class ConvergenceDisplay:
    """Objective and certified gap against the products with the Gram matrix.

    Parameters
    ----------
    passes : array of shape (n_steps,)
        Products with the Gram matrix up to each step.
    objective : array of shape (n_steps,)
        Objective after each step.
    gap : array of shape (n_steps,)
        Upper bound of objective − optimum; NaN where it is not known.
    tolerance : float, optional
        The gap at which the stopping criterion is met, drawn as a line.
    name : str, optional
        Name of the solver, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes drawn on, and their figure.
    lines_ : list of matplotlib Line2D
        The curves.

    Examples
    --------
    >>> from lapwing.displays import ConvergenceDisplay
    >>> ConvergenceDisplay([1, 2], [3.0, 2.5], [1.0, 0.1]).objective
    array([3. , 2.5])
    """

    def __init__(
        self,
        passes: Any,
        objective: Any,
        gap: Any,
        *,
        tolerance: float | None = None,
        name: str | None = None,
    ) -> None:
        self.passes = np.asarray(passes)
        self.objective = np.asarray(objective, dtype=float)
        self.gap = np.asarray(gap, dtype=float)
        self.tolerance = tolerance
        self.name = name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the history of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Its ``result_`` must have a history, which solutions in closed form do not have.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "result_")
        result = estimator.result_
        history = result.history
        if not history:
            raise ValueError(
                f"the solver {result.solver!r} has no iterations to draw: see result_.message"
            )
        passes, objective = ([step[name] for step in history] for name in ("passes", "objective"))
        gap = [
            step.get("estimated_gap") if step["gap"] is None else step["gap"] for step in history
        ]
        display = cls(passes, objective, gap, name=result.solver)
        if len(history) > 1 and np.isfinite(display.gap).any():
            display.tolerance = estimator.tol * result.objective
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw with a logarithmic vertical axis.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        self
        """
        ax = resolve_axes(ax)
        marker = "o" if len(self.passes) <= 40 else None
        style = {"marker": marker, "markersize": 4}
        self.lines_ = ax.plot(
            self.passes, self.objective, color=PALETTE[0], label="objective", **style
        )
        known = np.isfinite(self.gap) & (self.gap > 0)
        if known.any():
            self.lines_ += ax.plot(
                self.passes[known],
                self.gap[known],
                color=PALETTE[5],
                linestyle="--",
                label="distance to the optimum",
                **style,
            )
        if self.tolerance is not None:
            ax.axhline(self.tolerance, color=MARK, linestyle=":", label="tol × objective")
        ax.set_yscale("log")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("products with the Gram matrix")
        ax.set_ylabel("objective, summed over the classes")
        ax.set_title("Convergence" if self.name is None else f"Convergence of {self.name}")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
