"""How a solver approached the optimum, read off the history of its result."""

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
        Bound of objective − optimum; NaN where it is not known.
    tolerance : float, optional
        The gap at which the solver is content, drawn as a line.
    name : str, optional
        The solver.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
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
            With ``result_``.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        ConvergenceDisplay
            After `plot`.
        """
        check_is_fitted(estimator, "result_")
        result = estimator.result_
        gap = [np.nan if step["gap"] is None else step["gap"] for step in result.history]
        certified = len(gap) > 1 and bool(np.isfinite(gap).any())
        return cls(
            [step["passes"] for step in result.history],
            [step["objective"] for step in result.history],
            gap,
            tolerance=estimator.tol * result.objective if certified else None,
            name=result.solver,
        ).plot(ax=ax)

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
                label="certified distance to the optimum",
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
