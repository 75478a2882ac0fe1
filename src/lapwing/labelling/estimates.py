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
    m, counts = len(codes), np.bincount(codes, minlength=n_classes)
    if overall is None or P is None:
        return [share_of(int(count), m) for count in counts]
    given = np.eye(n_classes)[codes]
    error = given - np.where(P.any(axis=1, keepdims=True), P, overall)
    unknown = 1.0 - np.sum(known)
    rest = np.maximum(overall + error.mean(axis=0) - known, 0.0) + 1e-300
    shares = known + unknown * rest / rest.sum()
    # One more row of which the model knows nothing: few rows without an error prove little.
    variance = (((error - error.mean(axis=0)) ** 2).sum(axis=0) + shares * (1.0 - shares)) / m
    width = norm.ppf((1.0 + LEVEL) / 2.0) * np.sqrt(np.maximum(variance, 0.0) / m)
    low, high = np.maximum(shares - width, known), np.minimum(shares + width, known + unknown)
    return [Estimate(*map(float, ends)) for ends in zip(shares, low, high, strict=True)]


def steadied_shares(shares: Sequence[Estimate], overall: np.ndarray, rows: int) -> np.ndarray:
    """Return estimated shares moved towards those of the model, the more the fewer random rows."""
    weight = rows / (rows + _SHARE_ROWS)
    found = weight * np.array([share.value for share in shares]) + (1.0 - weight) * overall
    found = np.maximum(found, 0.5 / (rows + len(found)))
    return found / found.sum()


def contradicting_shares(
    codes: np.ndarray, n_classes: int, overall: np.ndarray
) -> np.ndarray | None:
    """Return class shares by random rows where these contradict the shares of the model.

    None if there are fewer rows than classes, or if their difference (Pearson's statistic) may be
    due to chance. Otherwise the counts are moved towards the model as in the estimate of James and
    Stein, and by one more row per class.

    Parameters
    ----------
    codes, n_classes, overall
        See `class_shares`.

    Examples
    --------
    >>> overall = np.array([0.6, 0.4])
    >>> contradicting_shares(np.array([0, 0, 0, 1, 1, 0]), 2, overall) is None
    True
    >>> contradicting_shares(np.zeros(12, dtype=int), 2, overall)
    array([0.9, 0.1])
    """
    m, free = len(codes), n_classes - 1
    if m < max(LEAST_ROWS, n_classes):
        return None
    least = 0.5 / (m + n_classes)  # few rows do not show that a class has no more of them
    shares = np.maximum(overall, least)
    shares /= shares.sum()
    counts = np.bincount(codes, minlength=n_classes)
    difference = float(((counts - m * shares) ** 2 / (m * shares)).sum())
    if chi2.sf(difference, free) > 1.0 - LEVEL:
        return None
    weight = (1.0 - free / difference) * m / (m + n_classes)
    found = np.maximum(weight * counts / m + (1.0 - weight) * shares, least)
    return found / found.sum()


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
