"""The protocol of a loss of one row.

A loss is pure mathematics, vectorised over rows and columns. It declares what it provides, and a
solver declares what it needs, so that no solver has to know a loss by name. Derivatives are those
of the loss itself: the factor ½ of the objective belongs to `risk` and to the label problem.

Notation: f are decision values, y targets (±1 for margin losses), usually of shape (l, c).
"""

from __future__ import annotations

import numpy as np

#: Targets of the rows, or one target for all of them.
Targets = np.ndarray | float
#: Values and derivatives.
Pair = tuple[np.ndarray, np.ndarray]


class Loss:
    """Base class of the losses.

    Attributes
    ----------
    name : str
        Name in the public API.
    is_convex : bool
        Whether the loss is convex in f, so that there is a dual and `slack` certifies optimality.
    is_smooth : bool
        Whether the derivative is continuous.
    is_piecewise_quadratic : bool
        Whether the loss is (y − f)² where it is `active` and zero elsewhere, so that exact line
        searches and Newton's method on the active rows apply.
    is_quadratic : bool
        Whether the loss is (y − f)² everywhere, so that one linear system gives the optimum.
    is_sum_of_hinges : bool
        Whether the loss is a sum of `hinges`, so that its dual is a quadratic program in a box.
    """

    name: str
    is_convex: bool = True
    is_smooth: bool = True
    is_piecewise_quadratic: bool = False
    is_quadratic: bool = False
    is_sum_of_hinges: bool = False

    def value(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return the loss of every entry."""
        raise NotImplementedError(f"{type(self).__name__} must implement value")

    def derivative(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return d loss / d f of every entry, a subgradient at a kink."""
        raise NotImplementedError(f"{type(self).__name__} must implement derivative")

    def value_and_derivative(self, f: np.ndarray, y: Targets) -> Pair:
        """Return both; losses whose formulas share work override this method."""
        return self.value(f, y), self.derivative(f, y)

    def second_derivative(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return d² loss / d f² of every entry, a generalised one (zero) at a kink."""
        if self.is_piecewise_quadratic:
            return 2.0 * self.active(f, y)
        if self.is_sum_of_hinges:
            return np.zeros(np.shape(f))
        raise NotImplementedError(f"{type(self).__name__} must implement second_derivative")

    def slack(
        self, f: np.ndarray, y: np.ndarray, weights: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Return how far a slope is from being a subgradient of the weighted loss, per entry.

        This is the Fenchel-Young gap: w·loss(f), plus the convex conjugate of w·loss at the slope,
        minus slope·f. It is zero for a subgradient at f and positive otherwise.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement slack")

    def feasible(self, slope: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the nearest slopes at which the convex conjugate is finite; by default the same.

        Subgradients of the weighted loss are such slopes. `slack` is valid for them alone.
        """
        return slope

    def hinges(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return signs s and offsets m, both of shape (k, l), with loss(f) = Σ_k max(m − s·f, 0).

        Only for a loss that is a sum of hinges; y has shape (l,).
        """
        raise NotImplementedError(f"{type(self).__name__} must implement hinges")

    def active(self, f: np.ndarray, y: Targets) -> np.ndarray:
        """Return where the loss is not flat; by default everywhere.

        These rows are the error vectors of Melacci & Belkin (2011), §3.1.
        """
        return np.ones(np.shape(f), dtype=bool)
