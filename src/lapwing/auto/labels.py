"""The labels as candidates see them: indices among the rows in use, targets and weights.

Unequal numbers of labels per class can mean two things. If the labelled rows are a random sample,
the numbers tell how frequent the classes are. If somebody chose rows by class, they tell nothing,
and a model that believes them predicts the class with most labels nearly everywhere: neither
weights nor intercepts help, because the few labels of the other classes leave them ill-defined.
`Labels.sampled` is the probability of the first, which `sample_probability` estimates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logit, logsumexp, softmax

from ..estimators.targets import Targets

#: Subsets with equal numbers of labels per class over which a model is averaged.
SUBSETS = 8
#: Ratio of the largest to the smallest number of labels of a class that counts as even.
_MOST_UNEVEN = 1.5
#: Labels that the class shares predicted before are worth, when those of a sample are estimated.
_PRIOR_LABELS = 5.0
#: Probability, before any label is seen, that labelled rows are a random sample.
PRIOR = 0.25
#: Probabilities are at least this: a model may be certain and wrong.
_LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Labels:
    """Labelled rows with their targets and weights.

    Attributes
    ----------
    index : ndarray of shape (l,)
        Indices of the labelled rows among the rows in use.
    targets : ndarray of shape (l, c)
        ±1 for each class against the rest, one column for two classes; or quantities.
    weights : ndarray of shape (l,)
        Weights of the losses.
    codes : ndarray of int, shape (l,), or None
        Class codes; None for quantities.
    sampled : float
        Probability that the labelled rows are a random sample, from 0 to 1.
    shares : ndarray of shape (n_classes,) or None
        Expected shares of the classes among the unlabelled rows; None where they are not known.
    """

    index: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    codes: np.ndarray | None = None
    sampled: float = PRIOR
    shares: np.ndarray | None = None

    @classmethod
    def among(cls, rows: np.ndarray, targets: Targets, sampled: float = PRIOR) -> Labels:
        """Return the labels with indices among some rows, which are given in ascending order."""
        codes = None if targets.classes is None else targets.given[targets.index]
        weights = targets.weights / targets.weights.mean()
        index = np.searchsorted(rows, targets.index)
        return cls(index, targets.values, weights, codes, sampled, targets.shares)

    def take(self, index: np.ndarray | slice) -> Labels:
        """Return some of the labels."""
        codes = None if self.codes is None else self.codes[index]
        return replace(
            self,
            index=self.index[index],
            targets=self.targets[index],
            weights=self.weights[index],
            codes=codes,
        )

    @property
    def counts(self) -> np.ndarray:
        """The numbers of labels of the classes that have any; of quantities, their number."""
        if self.codes is None:
            return np.array([len(self.index)])
        counts = np.bincount(self.codes)
        return counts[counts > 0]

    @property
    def is_even(self) -> bool:
        """Whether classes have about the same number of labels."""
        return bool(self.counts.max() <= _MOST_UNEVEN * self.counts.min())

    @property
    def counting(self) -> np.ndarray:
        """What each label counts in a score, mean one.

        Labels of a sample count the same; where they are chosen by class, classes count the same.
        """
        if self.codes is None:
            return np.ones(len(self.index))
        return _counting(self.codes, self.sampled)

    @property
    def worth(self) -> float:
        """How many labels that all count the same would give scores of the same error."""
        return effective_number(self.counting)

    def worth_of(self, codes: np.ndarray | None, l: int) -> float:
        """Return the same for l other labels, which are a sample to the same extent."""
        return float(l) if codes is None else effective_number(_counting(codes, self.sampled))

    @property
    def even_weights(self) -> np.ndarray:
        """Weights under which classes count the same, however many labels they have."""
        return self.weights * replace(self, sampled=0.0).counting

    def even_subsets(self) -> Iterator[np.ndarray]:
        """Yield subsets with as many labels of each class as the class with the fewest has.

        They are spread evenly over the labels of a class.
        """
        assert self.codes is not None
        least = int(self.counts.min())
        members = [np.flatnonzero(self.codes == code) for code in np.unique(self.codes)]
        for number in range(SUBSETS):
            steps = np.arange(least) + number / SUBSETS
            chosen = [own[(steps * (len(own) / least)).astype(int)] for own in members]
            yield np.sort(np.concatenate(chosen))


def _counting(codes: np.ndarray, sampled: float) -> np.ndarray:
    """Return what each label counts, mean one: the same, or such that classes count the same."""
    counts = np.bincount(codes)
    even = len(codes) / (np.count_nonzero(counts) * counts[codes])
    return sampled + (1.0 - sampled) * even


def effective_number(counting: np.ndarray) -> float:
    """Return how many equal weights would give a mean of the same standard error."""
    return float(counting.sum() ** 2 / (counting**2).sum()) if len(counting) else 0.0


def draw_labels(labels: Labels, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return indices of at most ``most`` labels, two of each class before any third."""
    l = len(labels.index)
    order = rng.permutation(l)
    codes = np.zeros(l, dtype=int) if labels.codes is None else labels.codes
    late = np.ones(l, dtype=bool)  # all but the first two labels of each class
    for code in np.unique(codes):
        late[order[codes[order] == code][:2]] = False
    return np.sort(order[np.argsort(late[order], kind="stable")][:most])


def expected_shares(codes: np.ndarray, n_classes: int, known: np.ndarray | None) -> np.ndarray:
    """Return the shares of the classes that have a label, those that are known or equal ones.

    Numbers of labels say how rows were chosen for labelling, and often nothing about the shares.
    """
    shares = np.zeros(n_classes)
    present = np.unique(codes)
    shares[present] = 1.0 if known is None else known[present]
    return shares / shares.sum()


def sample_probability(
    P: np.ndarray, codes: np.ndarray, shares: np.ndarray, prior: float = PRIOR
) -> float:
    """Return the probability that labelled rows are a random sample, not chosen by class.

    Compares the evidence of both. In a sample, the class of a row has the probabilities that the
    model gives it, up to factors per class, because its class shares may be wrong. Of rows chosen
    by class, any numbers per class are equally likely, and the model predicts the rows given the
    class.

    Parameters
    ----------
    P : ndarray of shape (l, C)
        Class probabilities of the rows by models that have not seen their labels.
    codes : ndarray of int, shape (l,)
        The classes.
    shares : ndarray of shape (C,)
        Means of the same probabilities over unlabelled rows.
    prior : float
        The probability without these rows.

    Returns
    -------
    float
        From 0 to 1.
    """
    l, C = P.shape
    log_P = np.log(np.maximum(P, _LEAST_PROBABILITY))
    log_s = np.log(np.maximum(shares, _LEAST_PROBABILITY))
    counts = np.bincount(codes, minlength=C)
    s = np.exp(log_s - logsumexp(log_s))

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        scores = log_P + b
        total = logsumexp(scores, axis=1, keepdims=True)
        prior = logsumexp(log_s + b)
        value = counts @ b + log_P[np.arange(l), codes].sum() - total.sum()
        value += _PRIOR_LABELS * (s @ b - prior)
        slope = counts - np.exp(scores - total).sum(axis=0)
        slope = slope + _PRIOR_LABELS * (s - np.exp(log_s + b - prior))
        return -float(value), -slope

    b = minimize(loss, np.zeros(C), jac=True, method="L-BFGS-B").x
    # What the factors gain by being fitted counts as little as they are determined by the rows:
    # the Laplace approximation of the integral over them, with the first factor fixed.
    before = _PRIOR_LABELS * _covariance(s[None])
    after = _PRIOR_LABELS * _covariance(softmax(log_s + b)[None])
    after += _covariance(softmax(log_P + b, axis=1))
    sample = -loss(b)[0] - 0.5 * (_log_determinant(after) - _log_determinant(before))
    chosen = float((log_P[np.arange(l), codes] - log_s[codes]).sum())
    chosen += gammaln(C) - gammaln(C + l) + float(gammaln(1.0 + counts).sum())
    return float(expit(logit(prior) + sample - chosen))


def _covariance(P: np.ndarray) -> np.ndarray:
    """Return the sum of the covariance matrices of class indicators, without the first class."""
    P = P[:, 1:]
    return np.diag(P.sum(axis=0)) - P.T @ P


def _log_determinant(A: np.ndarray) -> float:
    return float(np.linalg.slogdet(A)[1])
