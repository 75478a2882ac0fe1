"""Exact minimisation of the objective along a line, Melacci & Belkin (2011), §3.2.1.

Along a line the derivative of the objective is increasing and piecewise linear: it bends where a
labelled row enters or leaves the set of error vectors. All bends are sorted and the one crossing
of zero is read off, for every column at once.
"""

from __future__ import annotations

import numpy as np

from ..losses import Loss, SquaredHinge, SquaredLoss


def exact_step_length(
    loss: Loss,
    f: np.ndarray,
    d: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    slope: np.ndarray,
    curvature: np.ndarray,
) -> np.ndarray:
    """Return the s ≥ 0 that minimises ½Σ w·loss(f + s·d) + s·slope + ½s²·curvature.

    Parameters
    ----------
    loss : Loss
        Squared loss or squared hinge.
    f, d, y : ndarray of shape (l, c)
        Values, direction and targets on the labelled rows.
    weights : ndarray of shape (l,)
        Weights of the rows.
    slope, curvature : ndarray of shape (c,)
        Derivatives of the quadratic part at s = 0.

    Returns
    -------
    ndarray of shape (c,)
        Zero where the direction does not descend.
    """
    w = weights[:, None]
    if isinstance(loss, SquaredLoss):
        return _root(slope + (w * (f - y) * d).sum(axis=0), curvature + (w * d * d).sum(axis=0))
    if not isinstance(loss, SquaredHinge):
        raise TypeError(f"no exact line search for {type(loss).__name__}: it is not smooth")

    margin, change = 1.0 - y * f, y * d
    inside = (margin > 0) | ((margin == 0) & (change < 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = np.where(change != 0, margin / change, np.inf)
    # Rows that never change sides ahead bend at infinity.
    bend[(bend < 0) | ((bend == 0) & (margin != 0)) | np.isnan(bend)] = np.inf
    bend[(margin == 0)] = np.inf
    order = np.argsort(bend, axis=0, kind="stable")
    bend = np.take_along_axis(bend, order, axis=0)
    sign = np.where(inside, -1.0, 1.0)  # leaves the error vectors (Q1) or enters them (Q2)

    constant = w * (f - y) * d
    linear = w * d * d
    first_constant = slope + np.where(inside, constant, 0.0).sum(axis=0)
    first_linear = curvature + np.where(inside, linear, 0.0).sum(axis=0)
    # Derivative psi_j(s) = constants[j] + s·linears[j] on the j-th interval.
    steps_constant = np.take_along_axis(sign * constant, order, axis=0)
    steps_linear = np.take_along_axis(sign * linear, order, axis=0)
    constants = np.vstack([first_constant, first_constant + np.cumsum(steps_constant, axis=0)])
    linears = np.vstack([first_linear, first_linear + np.cumsum(steps_linear, axis=0)])
    ends = np.vstack([bend, np.full((1, bend.shape[1]), np.inf)])
    with np.errstate(invalid="ignore"):
        at_end = np.where(np.isinf(ends), np.inf, constants + ends * linears)
    interval = np.argmax(at_end >= 0, axis=0)
    columns = np.arange(bend.shape[1])
    return np.where(
        first_constant < 0,
        _root(constants[interval, columns], linears[interval, columns]),
        0.0,
    )


def _root(constant: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Return −constant/linear where that is a positive step, else zero."""
    safe = np.where(linear > 0, linear, 1.0)
    return np.where((linear > 0) & (constant < 0), -constant / safe, 0.0)
