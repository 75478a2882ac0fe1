"""Losses of one row: pure mathematics that knows neither functions nor solvers."""

from .base import Loss, Pair, Targets
from .convex import EpsilonInsensitive, Hinge, SquaredHinge, SquaredLoss
from .surrogates import SmoothHat, SmoothHinge, TwoSidedHinge

#: Losses of labelled rows by their public name.
LOSSES: dict[str, type[Loss]] = {
    cls.name: cls for cls in (SquaredLoss, SquaredHinge, Hinge, EpsilonInsensitive, SmoothHinge)
}
