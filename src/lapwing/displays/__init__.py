"""Pictures of results: the only layer that imports a plotting library.

Displays read what a fit has stored and compute nothing costly. As in scikit-learn, a display holds
the numbers, ``from_estimator`` reads them from a fitted model and ``plot`` draws them. matplotlib
is an extra, ``pip install "lapwing[plot]"``, and is imported when the first picture is drawn.
"""

from .accuracy import AccuracyDisplay
from .canvas import new_figure
from .convergence import ConvergenceDisplay
from .path import PathDisplay
from .transduction import TransductionDisplay

__all__ = [
    "AccuracyDisplay",
    "ConvergenceDisplay",
    "PathDisplay",
    "TransductionDisplay",
    "new_figure",
]
