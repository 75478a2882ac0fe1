"""Candidates by self-training: logistic regression that learns from its own predictions.

The boundaries are linear, and the unlabelled rows decide where they lie. That suits many classes
and text, where a graph connects rows of different classes. Not linear in the labels, so every fold
is a fit of its own; all fits share few coordinates of the rows, which do not depend on labels.

Notation: n rows, d columns, m rows drawn, k coordinates, C classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.utils.extmath import randomized_svd

from ..arrays.threads import map_blocks, single_threaded_blas
from ..estimators.calibration import one_column
from ..kernels.functions import LinearKernel
from ..solvers.stopping import decisions
from ..spaces.predictors import LinearFunction, Predictor
from . import limits
from .candidate_settings import SELF_TRAINING, SETTINGS, Fold, FoldValues
from .labels import Labels, expected_shares

#: Rounds in which predictions become pseudo-labels.
ROUNDS = 8
#: Weight of a pseudo-label relative to a label, and the most that all of them weigh relative to all
#: labels: without this limit two labels per class are forgotten.
_PSEUDO_WEIGHT, _PSEUDO_LABELS = 0.5, 5.0
#: Probability above which a prediction is probable.
_PROBABLE = 0.75
#: Shares of classes are at least this in logarithms.
_LEAST_SHARE = 1e-6
#: Score of a class without labels. The largest of the other scores is never negative.
_NO_LABEL = -10.0
#: Share of the largest eigenvalue below which eigenvalues are rounding.
_ROUNDING = 1e-10
#: When L-BFGS ends: ten times as exact, predictions are as accurate.
_STOP = {"maxiter": 100, "gtol": 1e-3, "ftol": 1e-5}


@dataclass(frozen=True)
class Coordinates:
    """The first principal coordinates of rows, by inner products with some of them.

    Those of a row x are ⟨x, rowᵢ⟩ᵢ @ factor. They keep distances as well as possible, and sparse
    rows remain sparse.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (m, d)
        The rows that the coordinates were computed from.
    factor : ndarray of shape (m, k)
        Eigenvectors of their inner products, divided by the roots of the eigenvalues.
    """

    rows: Any
    factor: np.ndarray

    @classmethod
    def fit(cls, rows: Any, seed: int) -> Coordinates:
        """Return coordinates, at most `SELF_TRAINING_COLUMNS`. Cost: k products with (m, m)."""
        k = min(limits.SELF_TRAINING_COLUMNS, *rows.shape)
        K = _inner_products(rows, rows)
        vectors, values, _ = randomized_svd(
            K, k, n_iter=2, power_iteration_normalizer="QR", random_state=seed
        )  # powers of K without QR would lose small eigenvalues
        kept = values > _ROUNDING * values[0]
        return cls(rows, vectors[:, kept] / np.sqrt(values[kept]))

    def of(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows, shape (n, k)."""
        return _inner_products(X, self.rows) @ self.factor

    def function(self, W: np.ndarray) -> LinearFunction:
        """Return the function with weights of the coordinates, and intercepts in the last row."""
        return LinearFunction(np.asarray(self.rows.T @ (self.factor @ W[:-1])), W[-1])


def _inner_products(A: Any, B: Any) -> np.ndarray:
    kernel = LinearKernel()
    return kernel.block(kernel.prepare(A), kernel.prepare(B))


@dataclass(frozen=True)
class SelfTrainingFamily:
    """Multinomial logistic regression with pseudo-labels: its own predictions, round by round.

    Above `SELF_TRAINING_ROWS` it sees all labelled rows and a sample of the others.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    seed : int
        Seed of the sample of rows and of the coordinates.
    """

    X: Any
    seed: int

    @cached_property
    def drawn(self) -> np.ndarray:
        """The rows that become pseudo-labels, ascending."""
        n, most = self.X.shape[0], limits.SELF_TRAINING_ROWS
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.default_rng(self.seed).choice(n, most, replace=False))

    @cached_property
    def coordinates(self) -> Coordinates:
        """The coordinates of rows."""
        every = len(self.drawn) == self.X.shape[0]
        return Coordinates.fit(self.X if every else self.X[self.drawn], self.seed)

    @cached_property
    def drawn_coordinates(self) -> np.ndarray:
        """The coordinates of the rows drawn, shape (m, k)."""
        return self.coordinates.of(self.coordinates.rows)

    def candidates(self, labels: Labels, sample: np.ndarray) -> Iterator[SelfTrainingSetting]:
        """Yield the settings."""
        for settings in SETTINGS[SELF_TRAINING]:
            yield SelfTrainingSetting(self, settings, sample)

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Predictor]:
        """Fit one setting to labels; return the values on all rows, and the function."""
        function = self.coordinates.function(self.train(settings, labels))
        return function.values(self.X), function

    def train(self, settings: dict[str, Any], labels: Labels) -> np.ndarray:
        """Return weights of the coordinates, and intercepts in the last row, shape (k + 1, c)."""
        n_classes = max(labels.targets.shape[1], 2)
        codes = decisions(labels.targets).astype(int)
        shares = expected_shares(codes, n_classes, labels.shares)
        present = np.flatnonzero(shares)
        Z, known = self.coordinates.of(self.X[labels.index]), np.searchsorted(present, codes)
        U = self.drawn_coordinates[~np.isin(self.drawn, labels.index)]
        with single_threaded_blas():  # threads would wait for each other longer than they compute
            W = self_train(Z, known, labels.even_weights, U, shares[present], **settings)
        whole = np.zeros((len(W), n_classes))
        whole[-1] = _NO_LABEL
        whole[:, present] = W - W.mean(axis=1, keepdims=True)
        return one_column(whole)


@dataclass(frozen=True)
class SelfTrainingSetting:
    """One setting of the self-training family.

    Attributes
    ----------
    members : SelfTrainingFamily
        The family.
    settings : dict
        Parameters.
    sample : ndarray of int
        Rows on which fold models are compared.
    """

    members: SelfTrainingFamily
    settings: dict[str, Any]
    sample: np.ndarray

    family: ClassVar[str] = SELF_TRAINING

    def values_of_folds(self, labels: Labels, folds: Sequence[Fold]) -> list[FoldValues]:
        """Return what a model of each fold predicts for held-out labels and for the sample."""
        X, coordinates = self.members.X, self.members.coordinates
        labelled, sample = coordinates.of(X[labels.index]), coordinates.of(X[self.sample])
        _ = self.members.drawn_coordinates  # computed once, before threads ask for them

        def values(fold: Fold) -> FoldValues:
            train, test = fold
            W = self.members.train(self.settings, labels.take(train))
            return _scores(labelled[test], W), _scores(sample, W)

        return map_blocks(values, folds)


def self_train(
    Z: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
    U: np.ndarray,
    shares: np.ndarray,
    *,
    added: str,
    reg: float,
) -> np.ndarray:
    """Return logistic regression on labels and on its own predictions.

    Intercepts follow the shares, so that no class takes the rows of the others round by round.

    Parameters
    ----------
    Z, U : ndarray of shape (l, k) and (u, k)
        Labelled rows, and unlabelled ones, of which there may be none.
    codes : ndarray of int, shape (l,)
        Classes of the labelled rows; all C classes are among them.
    weights : ndarray of shape (l,)
        Their weights.
    shares : ndarray of shape (C,)
        Expected shares of the classes among the unlabelled rows.
    added : {"surest", "probable"}
        The predictions that become pseudo-labels: in round t of T the surest t/T of each class, or
        those with a probability above 0.75.
    reg : float
        Weight of the penalty ‖W‖²/2; that of a label is one.

    Returns
    -------
    ndarray of shape (k + 1, C)
        W, with the intercepts in the last row.
    """
    W = fit_logistic(Z, codes, weights, reg, np.zeros((Z.shape[1] + 1, len(shares))))
    if not len(U):
        return W
    for number in range(1, ROUNDS + 1):
        P = softmax(_scores(U, W) + _offsets(U, W, shares), axis=1)
        sure = _surest(P, number / ROUNDS) if added == "surest" else P.max(axis=1) > _PROBABLE
        most = _PSEUDO_LABELS * weights.sum() / max(sure.sum(), 1)
        pseudo = np.full(sure.sum(), min(_PSEUDO_WEIGHT, most))
        rows, known = np.vstack([Z, U[sure]]), np.append(codes, P.argmax(axis=1)[sure])
        W = fit_logistic(rows, known, np.append(weights, pseudo), reg, W)
    W[-1] += _offsets(U, W, shares)
    return W


def _scores(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    return Z @ W[:-1] + W[-1]


def _offsets(U: np.ndarray, W: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the first step from the mean probabilities to the shares, which goes part of the way.

    Shares are often a guess, and probabilities of a model of few labels are too even.
    """
    found = softmax(_scores(U, W), axis=1).mean(axis=0)
    return np.log(np.maximum(shares, _LEAST_SHARE) / np.maximum(found, _LEAST_SHARE))


def _surest(P: np.ndarray, share: float) -> np.ndarray:
    """Return which rows are among the surest of the class that they are predicted to be in."""
    guess, sure = P.argmax(axis=1), P.max(axis=1)
    counts = np.bincount(guess, minlength=P.shape[1])
    order = np.lexsort((-sure, guess))
    rank = np.empty(len(P), dtype=int)
    rank[order] = np.arange(len(P)) - (np.cumsum(counts) - counts)[guess[order]]
    return rank < np.ceil(share * counts[guess])


def fit_logistic(
    Z: np.ndarray, codes: np.ndarray, weights: np.ndarray, reg: float, start: np.ndarray
) -> np.ndarray:
    """Return the minimum of Σ weightᵢ lossᵢ + reg/2 ‖W‖², with the softmax loss.

    By L-BFGS. Intercepts are in units in which they curve as much as the largest coordinate. The
    coordinates keep their units: few labels leave most directions open, and in other units an
    early stop would not be close to the minimum in these.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Coordinates of the rows.
    codes : ndarray of int, shape (n,)
        Classes.
    weights : ndarray of shape (n,)
        Weights.
    reg : float
        Weight of the penalty; intercepts have none.
    start : ndarray of shape (k + 1, C)
        Weights to start from, intercepts in the last row.

    Returns
    -------
    ndarray of shape (k + 1, C)
    """
    rows, shape = np.arange(len(Z)), start.shape
    penalty = np.append(np.full(Z.shape[1], reg), 0.0)[:, None]
    curvature = np.full(shape[0], (weights @ Z**2).max(initial=0.0) / shape[1])
    curvature[-1] = weights.sum() / shape[1]
    scale = 1.0 / np.sqrt(curvature[:, None] + penalty)

    def loss(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        W = scaled.reshape(shape) * scale
        S = _scores(Z, W)
        S -= S.max(axis=1, keepdims=True)
        right = S[rows, codes]
        P = np.exp(S, out=S)
        total = P.sum(axis=1)
        value = weights @ (np.log(total) - right) + 0.5 * float((penalty * W**2).sum())
        P *= (weights / total)[:, None]
        P[rows, codes] -= weights
        slope = np.vstack([Z.T @ P, P.sum(axis=0)]) + penalty * W
        return float(value), (slope * scale).ravel()

    found = minimize(loss, (start / scale).ravel(), jac=True, method="L-BFGS-B", options=_STOP)
    return found.x.reshape(shape) * scale
