"""Whether a model depends on the unit and the origin of its rows, read off its parameters.

A width that comes from the data follows their unit, and distances do not depend on the origin.
Rows of extreme values may then enter in other units, see `arrays.row_units`. Knows no data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.row_units import (
    SAME_UNITS,
    Extent,
    RowUnits,
    check_inner_products,
    check_kernel_matrix,
    check_outliers,
    choose_units,
)
from ..graphs import KNNGraph
from .parameters import is_word


def units_of(settings: Any, X: Any, extent: Extent) -> RowUnits:
    """Return the units in which the rows of an estimator enter, or refuse the rows.

    Parameters
    ----------
    settings : object
        An estimator; ``kernel``, ``gamma``, ``graph``, ``bandwidth`` and ``fit_intercept`` are
        read, where it has them.
    X : ndarray, CSR matrix or None
        Checked rows, or their Gram matrix; None if they come in blocks.
    extent : Extent
        Of the rows.
    """
    if is_word(getattr(settings, "kernel", None), "precomputed"):
        check_kernel_matrix(extent.largest)
        return SAME_UNITS
    units = choose_units(
        extent,
        any_scale=_any_scale(settings, X),
        any_origin=_any_origin(settings),
    )
    if X is not None:
        check_outliers(X, units)
    if X is not None and (extent.low is None or _by_inner_products(settings)):
        check_inner_products(X, extent)
    return units


def _any_scale(settings: Any, X: Any) -> bool:
    """Return whether kernel and graph have widths that come from the rows."""
    kernel, gamma = getattr(settings, "kernel", None), getattr(settings, "gamma", "scale")
    if callable(kernel) or is_word(kernel, "linear"):
        return False
    if kernel in ("rbf", "poly") and not all(isinstance(one, str) for one in _choices(gamma)):
        return False
    if getattr(settings, "bandwidth", None) is not None:
        return False
    return all(_graph_of_any_scale(graph, X) for graph in _graphs(settings))


def _any_origin(settings: Any) -> bool:
    """Return whether kernel and graph are functions of differences of rows."""
    kernel, free = getattr(settings, "kernel", "rbf"), getattr(settings, "fit_intercept", False)
    if not (is_word(kernel, "rbf") or (is_word(kernel, "linear") and free)):
        return False
    return all("cosine" not in (graph.metric, graph.weights) for graph in _graphs(settings))


def _by_inner_products(settings: Any) -> bool:
    """Return whether the kernel is a function of inner products of rows as they are.

    What a user's function does is not known.
    """
    kernel = getattr(settings, "kernel", None)
    known = isinstance(kernel, str) and kernel in ("linear", "poly", "cosine")
    return known and not _any_origin(settings)


def _graph_of_any_scale(graph: KNNGraph, X: Any) -> bool:
    has_unit = graph.weights == "heat" and graph.metric == "euclidean"
    given = has_unit and not isinstance(graph.bandwidth, str)
    return not given or (X is not None and graph.fitted_to(X))


def _graphs(settings: Any) -> list[KNNGraph]:
    """Return the graphs that are yet to be fitted, or are fitted to some rows."""
    found = _choices(getattr(settings, "graph", None))
    return [graph for graph in found if isinstance(graph, KNNGraph)]


def _choices(value: Any) -> list:
    """Return the values of a parameter that may be a list."""
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]
