"""What all pictures share: the late import of matplotlib, figures, axes and colours.

Must not know models or results.
"""

from __future__ import annotations

from typing import Any

#: The colours of Okabe and Ito, which colour-blind readers can distinguish, and three darker ones
#: for more classes. Black is reserved for marks.
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#B8A800",
    "#332288",
    "#882255",
    "#888888",
)
MARK = "#000000"


def require_matplotlib() -> None:
    """Raise an ImportError that names the extra if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401 - only to see whether it is installed
    except ImportError as error:
        raise ImportError(
            'pictures need matplotlib, which is not installed: pip install "lapwing[plot]"'
        ) from error


def new_figure(width: float = 6.4, height: float = 4.8) -> Any:
    """Return an empty figure that needs no display.

    Parameters
    ----------
    width, height : float
        Size in inches.

    Returns
    -------
    matplotlib.figure.Figure
        Created without pyplot: it opens no window and is freed like any other object.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def resolve_axes(ax: Any) -> Any:
    """Return the given axes, or those of a new pyplot figure, which notebooks show."""
    require_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]
