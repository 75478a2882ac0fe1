"""Exact minimisation of the objective along a line, Melacci & Belkin (2011), §3.2.1.

For a loss that is (y − f)² on its active rows and zero elsewhere, the derivative of the objective
along a line is increasing and piecewise linear, with a breakpoint where a labelled row enters or
leaves the active set. All breakpoints are sorted and the zero of the derivative is found, for every
column at once.
"""

from __future__ import annotations

import numpy as np

from ..losses import Loss


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
        Piecewise quadratic.
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
    if not loss.is_piecewise_quadratic:
        raise TypeError(
            f"no exact line search for {type(loss).__name__}: it is not piecewise quadratic"
        )
    # Derivative and second derivative of ½w(y − f − s·d)² at s = 0, for active rows.
    constant = weights[:, None] * (f - y) * d
    linear = weights[:, None] * d * d
    if loss.is_quadratic:
        return _root(slope + constant.sum(axis=0), curvature + linear.sum(axis=0))

    # A row at its boundary f = y is active if it moves to the active side.
    active = loss.active(np.where(f == y, y + np.sign(d), f), y)
    reached = (y != f) & (np.sign(y - f) == np.sign(d))
    breakpoints = np.divide(y - f, d, out=np.full(d.shape, np.inf), where=reached)
    order = np.argsort(breakpoints, axis=0, kind="stable")
    breakpoints = np.take_along_axis(breakpoints, order, axis=0)
    sign = np.where(active, -1.0, 1.0)  # leaves the active rows (Q1) or enters them (Q2)

    first_constant = slope + np.where(active, constant, 0.0).sum(axis=0)
    first_linear = curvature + np.where(active, linear, 0.0).sum(axis=0)
    # Derivative psi_j(s) = constants[j] + s·linears[j] on the j-th interval.
    steps_constant = np.take_along_axis(sign * constant, order, axis=0)
    steps_linear = np.take_along_axis(sign * linear, order, axis=0)
    constants = np.vstack([first_constant, first_constant + np.cumsum(steps_constant, axis=0)])
    linears = np.vstack([first_linear, first_linear + np.cumsum(steps_linear, axis=0)])
    ends = np.vstack([breakpoints, np.full((1, breakpoints.shape[1]), np.inf)])
    with np.errstate(invalid="ignore"):
        at_end = np.where(np.isinf(ends), np.inf, constants + ends * linears)
    interval = np.argmax(at_end >= 0, axis=0)
    columns = np.arange(breakpoints.shape[1])
    root = _root(constants[interval, columns], linears[interval, columns])
    return np.where(first_constant < 0, root, 0.0)


def _root(constant: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Return −constant/linear where that is a positive step, else zero."""
    positive = (linear > 0) & (constant < 0)
    return np.divide(-constant, linear, out=np.zeros(constant.shape), where=positive)
