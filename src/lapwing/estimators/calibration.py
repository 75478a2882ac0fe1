"""From decision values to probabilities: a softmax with one temperature, and offsets of classes.

Knows values and labels, and not how values were computed.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from .targets import Targets

#: Logarithm of the usual odds of a class against the second, 7 to 1, where no label can show them.
#: Of 1/2, 1, 2, 4 and 8 it gave the smallest calibration error with one label per class: 24 % on
#: average of 17 data sets of `make peers` and 20 newsgroups, draws 0 to 4.
_USUAL_LOG_ODDS = 2.0
#: The largest logarithm of a temperature, and the least one with the opposite sign.
_MOST_LOG_FACTOR = 6.0
#: Largest difference between scores of a row for which `match_shares` starts with the shares.
_FLAT = 4.0
#: Error of the shares, relative to their roots, at which Newton's method ends.
_EXACT = 1e-9
#: The most steps of Newton's method for scores of one sharpness.
_STEPS = 100
#: Added to eigenvalues of the Hessian, which may be zero up to rounding.
_RIDGE = 1e-12


def per_class(values: np.ndarray) -> np.ndarray:
    """Return one score per class; two classes share a column with opposite signs."""
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def one_column(values: np.ndarray) -> np.ndarray:
    """Return the second column minus the first for two classes; the values of more as they are."""
    return values[:, 1:] - values[:, :1] if values.shape[1] == 2 else values


def probabilities(values: np.ndarray, temperature: float) -> np.ndarray:
    """Return class probabilities, the softmax of the scores times the temperature."""
    return softmax(per_class(values) * temperature, axis=1)


def fit_temperature(values: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> float:
    """Return the factor of the decision values under which the weighted labels are most likely.

    A standard normal prior on its logarithm keeps it finite when few labels are all correct.

    Parameters
    ----------
    values : ndarray of shape (l, c)
        Held-out decision values of labelled rows.
    codes : ndarray of int, shape (l,)
        Their classes.
    weights : ndarray of shape (l,)
        Their weights.
    """
    scores, rows = per_class(values), np.arange(len(codes))

    def loss(log_factor: float) -> float:
        # The softmax of the labelled class; SciPy's would take longer to call than to compute.
        powers = np.exp(log_factor) * scores
        powers = np.exp(powers - powers.max(axis=1, keepdims=True))
        likely = powers[rows, codes] / powers.sum(axis=1)
        return float(-weights @ np.log(np.maximum(likely, 1e-300)) + 0.5 * log_factor**2)

    bounds = -_MOST_LOG_FACTOR, _MOST_LOG_FACTOR
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def usual_temperature(values: np.ndarray) -> float:
    """Return the factor under which half of the rows have at least the usual odds.

    For decision values of which no label has been held out: they have no scale of their own.

    Parameters
    ----------
    values : ndarray of shape (n, c)
        Decision values.
    """
    if not len(values):
        return 1.0
    second, first = np.partition(per_class(values), -2, axis=1)[:, -2:].T
    most = np.exp(_MOST_LOG_FACTOR)
    gap = np.clip(np.median(first - second) / _USUAL_LOG_ODDS, 1.0 / most, most)
    return float(1.0 / gap)


def class_offsets(values: np.ndarray | None, targets: Targets, temperature: float) -> np.ndarray:
    """Return what is added to decision values so that mean probabilities are the expected shares.

    The mean is over the unlabelled rows, or over all rows if there are none. Zeros, where no shares
    are expected.

    Parameters
    ----------
    values : ndarray of shape (n, c) or None
        Decision values of all training rows; None if no shares are expected.
    targets : Targets
        The labels, and the expected shares of the classes.
    temperature : float
        Factor of the values in probabilities.

    Returns
    -------
    ndarray of shape (c,)
    """
    if targets.shares is None:
        return np.zeros(targets.n_columns)
    assert values is not None
    labelled = targets.labelled
    return share_offsets(values if labelled.all() else values[~labelled], targets, temperature)


def share_offsets(values: np.ndarray, targets: Targets, temperature: float) -> np.ndarray:
    """Return the offsets with which the mean probabilities of these rows are the known shares."""
    assert targets.shares is not None
    offsets = match_shares(per_class(values) * temperature, targets.shares) / temperature
    return offsets[1:] if len(offsets) == 2 else offsets


def match_shares(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return offsets of the classes under which the mean softmax of the scores is the shares.

    They minimise mean logsumexp(scores + b) - ⟨shares, b⟩, which is convex and has a minimum. It is
    almost piecewise linear where probabilities are close to 0 and 1, so that Newton's method gets
    stuck. Therefore flattened scores come first, and the solution for scores of one sharpness is
    the start for twice that.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Finite scores of at least one row.
    shares : ndarray of shape (n_classes,)
        Positive, with sum one.

    Returns
    -------
    ndarray of shape (n_classes,)
        b, with mean zero.
    """
    scores = scores - scores.max(axis=1, keepdims=True)
    doublings = int(np.ceil(np.log2(max(-float(scores.min()) / _FLAT, 1.0))))
    level = offsets = np.log(shares)  # exact where all scores of a row are the same
    for power in range(-doublings, 1):
        if power > -doublings:
            offsets = 2.0 * offsets - level
        offsets = _newton(2.0**power * scores, shares, offsets)
    return offsets - offsets.mean()


def _newton(scores: np.ndarray, shares: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return offsets that match the shares, by Newton's method from the given ones.

    Along any step the curvature changes by at most a factor e per unit of its range δ, so that
    log(1 + δ)/δ of a Newton step always decreases the objective.
    """
    root = np.sqrt(shares)
    free = np.outer(root, root) + _RIDGE * np.eye(len(root))  # a constant changes nothing
    for _ in range(_STEPS):
        P = softmax(scores + offsets, axis=1)
        found = P.mean(axis=0)
        error = (found - shares) / root
        if np.abs(error).max() <= _EXACT:
            break
        hessian = (np.diag(found) - P.T @ P / len(P)) / np.outer(root, root)
        step = np.linalg.solve(hessian + free, error) / root
        size = float(np.ptp(step))
        before, offsets = offsets, offsets - step * (np.log1p(size) / max(size, 1e-300))
        if np.array_equal(before, offsets):  # scores so large that the step is rounded away
            break
    return offsets
