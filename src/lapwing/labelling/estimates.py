"""How good the model is, and what more labels are worth, judged by rows that were drawn at random.

All judge predictions that were made without the label of the row. Knows neither sessions nor
models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv
from scipy.stats import chi2, norm

#: Probability that an interval contains the truth.
LEVEL = 0.95
#: Random rows below which nothing is said.
LEAST_ROWS = 3
#: Random rows by which the shares of the model count as much as those of the random rows.
_SHARE_ROWS = 10.0
#: Exponents of the learning curve, error ∝ 1/labels^β, and errors that are compared.
_EXPONENTS = np.linspace(0.0, 1.0, 21)
_ERRORS = (np.arange(200) + 0.5) / 200
#: Gain of accuracy that is not worth ten answers, and random rows that can show this.
_SMALL_GAIN, _ROWS_TO_STOP = 0.005, 15


@dataclass(frozen=True)
class Estimate:
    """An estimate with an interval.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends of the interval, which contains the truth with probability
        `LEVEL`.
    """

    value: float
    low: float
    high: float


def share_of(right: int, rows: int) -> Estimate:
    """Return a share by a random sample, with the interval of Jeffreys.

    Examples
    --------
    >>> share_of(18, 20)
    Estimate(value=0.9, low=0.71..., high=0.97...)
    """
    a, b, tail = right + 0.5, rows - right + 0.5, (1.0 - LEVEL) / 2.0
    low = 0.0 if right == 0 else float(betaincinv(a, b, tail))
    high = 1.0 if right == rows else float(betaincinv(a, b, 1.0 - tail))
    return Estimate(right / rows, low, high)


def class_shares(
    codes: np.ndarray,
    n_classes: int,
    overall: np.ndarray | None,
    P: np.ndarray | None,
    known: np.ndarray | float = 0.0,
) -> list[Estimate]:
    """Return the shares of the classes among all rows.

    Without a model these are the counts of the random rows. With one they are its mean
    probabilities, corrected by its mean error on the random rows, which varies less, and within
    what the known labels leave open.

    Parameters
    ----------
    codes : ndarray of int, shape (m,)
        Classes of the random rows.
    n_classes : int
        Number of classes.
    overall : ndarray of shape (n_classes,), optional
        Mean probabilities of all rows, predicted without their own labels.
    P : ndarray of shape (m, n_classes), optional
        Probabilities of the random rows, predicted without their labels; zero where that could not
        be done.
    known : ndarray of shape (n_classes,)
        Rows that have a label of each class, as a share of all rows.
    """
    if overall is None or P is None:
        counts = np.bincount(codes, minlength=n_classes)
        return [share_of(int(count), len(codes)) for count in counts]
    shares, variance = _corrected(codes, overall, P, known)
    unknown = 1.0 - np.sum(known)
    width = norm.ppf((1.0 + LEVEL) / 2.0) * np.sqrt(variance)
    low, high = np.maximum(shares - width, known), np.minimum(shares + width, known + unknown)
    return [Estimate(*map(float, ends)) for ends in zip(shares, low, high, strict=True)]


def _corrected(
    codes: np.ndarray, overall: np.ndarray, P: np.ndarray, known: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return shares corrected by the mean error of the model, and their variance."""
    m = len(codes)
    errors = np.eye(len(overall))[codes] - np.where(P.any(axis=1, keepdims=True), P, overall)
    error, unknown = errors.mean(axis=0), 1.0 - np.sum(known)
    rest = np.maximum(overall + error - known, 0.0) + 1e-300
    shares = known + unknown * rest / rest.sum()
    # One more row of which the model knows nothing: few rows without an error prove little.
    variance = (((errors - error) ** 2).sum(axis=0) + shares * (1.0 - shares)) / m
    return shares, np.maximum(variance, 0.0) / m


def steadied_shares(
    codes: np.ndarray,
    n_classes: int,
    overall: np.ndarray,
    P: np.ndarray | None = None,
    known: np.ndarray | float = 0.0,
) -> np.ndarray | None:
    """Return class shares by random rows, moved towards those of the model; None if unknown.

    There must be at least three random rows, and as many as classes. The shares are those of
    `class_shares`, and those of the model count as much as ten more rows. Without ``P``, random
    rows are counted where they contradict the model (Pearson's statistic): the shares are moved as
    in the estimate of James and Stein, and those of the model count as one more row per class.

    Parameters
    ----------
    codes, n_classes, overall, P, known
        See `class_shares`.

    Examples
    --------
    >>> overall = np.array([0.6, 0.4])
    >>> steadied_shares(np.array([0, 0, 0, 1, 1, 0]), 2, overall) is None
    True
    >>> steadied_shares(np.zeros(12, dtype=int), 2, overall)
    array([0.9, 0.1])
    """
    m = len(codes)
    if m < max(LEAST_ROWS, n_classes):
        return None
    least = 0.5 / (m + n_classes)  # few rows do not show that a class has no more of them
    prior = np.maximum(overall, least)
    prior /= prior.sum()
    if P is not None:
        found = _corrected(codes, overall, P, known)[0]
        weight = m / (m + _SHARE_ROWS)
    else:
        found, free = np.bincount(codes, minlength=n_classes) / m, n_classes - 1
        difference = float((m * (found - prior) ** 2 / prior).sum())
        if chi2.sf(difference, free) > 1.0 - LEVEL:
            return None
        weight = m / (m + n_classes) * (1.0 - free / difference)
    shares = np.maximum(weight * found + (1.0 - weight) * prior, least)
    return shares / shares.sum()


@dataclass(frozen=True)
class Worth:
    """What more labels are worth: the gain of accuracy, with an interval, by some random rows."""

    labels: int
    gain: Estimate
    rows: int

    @property
    def text(self) -> str:
        """The gain in words."""
        gain, may_stop = self.gain, self.rows >= _ROWS_TO_STOP
        more = "1 more label" if self.labels == 1 else f"{self.labels} more labels"
        if gain.high < _SMALL_GAIN and may_stop:
            return (
                f"{more} would change the accuracy by less than {100 * _SMALL_GAIN:g} points: it "
                "is time to stop."
            )
        text = (
            f"{more} {'is' if self.labels == 1 else 'are'} worth about {100 * gain.value:.1f} "
            f"points of accuracy ({100 * gain.low:.1f} to {100 * gain.high:.1f})"
        )
        is_small = gain.value < _SMALL_GAIN and may_stop
        return f"{text}: little, so it may be time to stop." if is_small else f"{text}."


def worth_of_labels(
    wrong: int, rows: int, before: Sequence[tuple[int, bool]], labels: int, more: int = 10
) -> Worth:
    """Return what more labels are worth by the learning curve, error ∝ 1/labels^β.

    Parameters
    ----------
    wrong, rows : int
        Errors of the present model on random rows, and their number.
    before : sequence of (int, bool)
        For random rows, the number of labels when they were asked for, and whether the model of
        that time was wrong.
    labels : int
        Number of labels now.
    more : int
        How many more.
    """
    labels = max(labels, 1)
    beta, error = _EXPONENTS[:, None], _ERRORS[None, :]
    log_weight = (wrong - 0.5) * np.log(error) + (rows - wrong - 0.5) * np.log1p(-error)
    log_weight = np.repeat(log_weight, len(_EXPONENTS), axis=0)
    for known, was_wrong in before:
        then = np.minimum(error * (labels / max(known, 1)) ** beta, 0.99)
        log_weight += np.log(then) if was_wrong else np.log1p(-then)
    weight = np.exp(log_weight - log_weight.max())
    gain_of = error * (1.0 - (labels / (labels + more)) ** beta)
    order = np.argsort(gain_of, axis=None)
    gains, summed = gain_of.ravel()[order], np.cumsum(weight.ravel()[order])
    low, high = (
        float(gains[np.searchsorted(summed, q * summed[-1])])
        for q in ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
    )
    mean = float((weight * gain_of).sum() / weight.sum())
    gain = Estimate(mean, min(low, mean), max(high, mean))  # the mean may be in a long tail
    return Worth(more, gain, rows)
