"""From decision values to probabilities: a softmax with one temperature.

Knows values and labels, and not how values were computed.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax


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

    return float(np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x))
