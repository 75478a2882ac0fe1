"""Scores of predicted classes and of their probabilities.

scikit-learn breaks ties in favour of the class that comes first; a row that no label reaches is a
tie of all classes. The mean over all orders of the classes is computed exactly and without another
fit: classes that tie for a row share it equally.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Bins of the calibration error, and the probability from which a row counts as answered.
BINS = 15
REJECT = 0.9


@dataclass(frozen=True)
class Answers:
    """Predictions for some rows.

    Attributes
    ----------
    classes : ndarray of shape (n,) or (n, c)
        Class codes, or for each row the shares of the classes over all class orders.
    probabilities : ndarray of shape (n, c), optional
        Probabilities of the classes.
    """

    classes: np.ndarray
    probabilities: np.ndarray | None = None


def shared_answers(P: np.ndarray) -> Answers:
    """Return the answers of a graph method, averaged over class orders.

    Parameters
    ----------
    P : ndarray of shape (n, c)
        Its probabilities; zero or NaN in rows that no label reaches, where all are set to 1/c.
    """
    P = np.where(P.sum(axis=1, keepdims=True) > 0, P, 1.0 / P.shape[1])
    return Answers(shares(P), P)


def shares(P: np.ndarray) -> np.ndarray:
    """Return the share of class orders in which a row is assigned to each class."""
    largest = np.equal(P, P.max(axis=1, keepdims=True))
    return largest / largest.sum(axis=1, keepdims=True)


def credit(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return 1 for a row that is right, 0 for a wrong one, and the share of the right class."""
    if classes.ndim == 1:
        return (classes == y).astype(np.float64)
    return classes[np.arange(len(y)), y]


def accuracy(classes: np.ndarray, y: np.ndarray) -> float:
    """Return the accuracy in percent."""
    return 100.0 * float(credit(classes, y).mean())


def balanced_accuracy(classes: np.ndarray, y: np.ndarray) -> float:
    """Return the mean over the classes of y of the accuracy on their rows, in percent."""
    got = credit(classes, y)
    return 100.0 * float(np.mean([got[y == label].mean() for label in np.unique(y)]))


def calibration_error(P: np.ndarray, y: np.ndarray) -> float:
    """Return the expected calibration error in percent.

    Rows are put into equal-width bins by their largest probability. The error is the mean over the
    rows of the difference between accuracy and mean probability of their bin.
    """
    largest = P.max(axis=1)
    bins = np.minimum((BINS * largest).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=credit(shares(P), y) - largest, minlength=BINS)
    return 100.0 * float(np.abs(gaps).sum()) / len(y)


def abstention(P: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the rows that are answered, and answered correctly, in percent of all rows."""
    answered = P.max(axis=1) >= REJECT
    right = np.where(answered, credit(shares(P), y), 0.0)
    return 100.0 * float(answered.mean()), 100.0 * float(right.mean())
