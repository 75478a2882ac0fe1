"""The methods of Zhang, Kwok and Parvin (2009), each over all its weights at one kernel width.

Every method yields held-out values of the labelled rows and values of the other rows; how they are
scored, and on which data, is decided in `zhang2009`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from lapwing.arrays.blocks import RowBlocks
from lapwing.kernels.functions import GaussianKernel
from lapwing.solvers.label_problem import fit_hinge
from lapwing.spaces.basis import cholesky_basis
from lapwing.spaces.kmeans import kmeans_landmarks
from lapwing.spaces.prototypes import LowRankGraph, Similarities, penalty_root, smoothness_at_points

WEIGHTS = 10.0 ** np.arange(-3, 6)
LAPRLS_WEIGHTS = 10.0 ** np.arange(-6, 2)
FOLDS = 5
EPSILON = 1e-3  # of NFI
#: Held-out values of the labelled rows, and values of the others.
Values = tuple[np.ndarray, np.ndarray]


class MethodGrid:
    """One method at one width; its cells are the candidate weights."""

    def __init__(self, method: str, X: Any, m: int, draws: int) -> None:
        self.method, self.X, self.m = method, X, m
        self.pairs = [(a, i) for a in LAPRLS_WEIGHTS for i in LAPRLS_WEIGHTS]
        self.n_cells = len(self.pairs) if method == "LapRLS" else len(WEIGHTS)
        if method.startswith("PVM"):
            self.n_cells *= 2
        n = X.shape[0]
        self.points = []
        for seed in range(draws):
            rng = np.random.default_rng(1000 + seed)
            if method.startswith("PVM"):
                self.points.append(np.unique(kmeans_landmarks(X, m, rng), axis=0))
            else:
                self.points.append(rng.choice(n, m, replace=False))
        if method in ("LGC", "LapRLS"):
            self.squares = euclidean_distances(X, squared=True)

    def name_of(self, cell: int) -> str:
        """Return the weights of a cell as text."""
        if self.method == "LapRLS":
            return "γ_A {:g} γ_I {:g}".format(*self.pairs[cell])
        name = f"{WEIGHTS[cell % len(WEIGHTS)]:g}"
        return name + (" not normalised" if cell >= len(WEIGHTS) else "")

    def loss(self, values: np.ndarray, Y: np.ndarray) -> float:
        """Return the mean loss of held-out values."""
        if self.method == "PVM(2)":
            return float(np.maximum(1.0 - values * Y, 0.0).mean())
        distances = np.minimum(np.abs(values - Y), 1e9)  # their squares must not overflow
        return float(np.mean(distances**2))

    def set_width(self, b: float) -> None:
        """Compute what all draws share."""
        self.kernel = GaussianKernel(b)
        if self.method not in ("LGC", "LapRLS"):
            return
        K = np.exp(-b * self.squares)
        np.fill_diagonal(K, 1.0)
        if self.method == "LGC":
            np.fill_diagonal(K, 0.0)
            root = np.sqrt(np.maximum(K.sum(axis=1), 1e-300))
            self.values, self.basis = np.linalg.eigh(K / root[:, None] / root)
            return
        S = np.diag(K.sum(axis=1)) - K
        H, _ = cholesky_basis(K)
        values, vectors = np.linalg.eigh(H.T @ (S @ H))
        self.values, self.basis = np.maximum(values, 0.0), H @ vectors

    def cells(
        self,
        draw: int,
        labelled: np.ndarray,
        others: np.ndarray,
        Y: np.ndarray,
        fold: np.ndarray,
    ) -> Iterator[Values]:
        """Yield held-out values of the labelled rows and values of the others, for every cell."""
        T = Y[labelled]
        if self.method in ("LGC", "NYS-LGC"):
            one_hot = (T + 1.0) / 2.0
            if self.method == "LGC":
                values, P = self.values, self.basis
            else:
                values, P = self._nystrom(self.X[self.points[draw]])
            for C in WEIGHTS:
                alpha = 1.0 / (1.0 + C)
                left = P[labelled] * (alpha / (1.0 - alpha * values))
                R, held_out = left @ P[labelled].T, np.empty(T.shape)
                for k in range(FOLDS):
                    test = fold == k
                    held_out[test] = R[np.ix_(test, ~test)] @ one_hot[~test]
                yield 2.0 * held_out - 1.0, P[others] @ (left.T @ one_hot)
        elif self.method == "LapRLS":
            P, Q = self.basis[labelled], self.basis[others]
            reduced: dict[int, Ridge] = {}
            for a, i in self.pairs:
                ratio = round(np.log10(i / a))
                if ratio not in reduced:
                    left = P / (1.0 + 10.0**ratio * self.values)
                    reduced[ratio] = Ridge(left @ P.T, left @ Q.T, T, fold)
                yield reduced[ratio](a)
        elif self.method == "NFI":
            ridge = self._nfi(draw, labelled, others, T, fold)
            for C in WEIGHTS:
                yield ridge(1.0 / C)
        else:
            for normalise in (True, False):
                P = self._features(self.points[draw], normalise)
                if self.method == "PVM(1)":
                    P_l = P[labelled]
                    ridge = Ridge(P_l @ P_l.T, P_l @ P[others].T, T, fold)
                    for C in WEIGHTS:
                        yield ridge(1.0 / C)
                else:
                    for C in WEIGHTS:
                        yield hinge(P[labelled], P[others], T, fold, C)

    def _features(self, points: np.ndarray, normalise: bool) -> np.ndarray:
        """Return features of all rows for which the penalty of PVM is the squared norm."""
        similarities = Similarities(self.kernel, points, normalise)
        rows = RowBlocks.of(self.X)
        graph = LowRankGraph.build(rows, Similarities(self.kernel, points))
        plus, minus, _ = smoothness_at_points(rows, graph, similarities, with_gram=False)
        return similarities(self.X) @ penalty_root(plus, minus, similarities)

    def _nystrom(self, landmarks: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and unnormalised eigenvectors of the low-rank graph."""
        landmarks = landmarks.toarray() if sp.issparse(landmarks) else landmarks
        similarities = Similarities(self.kernel, landmarks)
        graph = LowRankGraph.build(RowBlocks.of(self.X), similarities)
        E = similarities(self.X)
        P = E @ graph.root
        degree = np.maximum(graph.degrees(E), (P * P).sum(axis=1))
        P /= np.sqrt(np.maximum(degree, 1e-300))[:, None]
        values, vectors = np.linalg.eigh(P.T @ P)
        return np.clip(values, 0.0, 1.0), P @ vectors

    def _nfi(
        self,
        draw: int,
        labelled: np.ndarray,
        others: np.ndarray,
        T: np.ndarray,
        fold: np.ndarray,
    ) -> Ridge:
        """Return NFI as ridge regression whose kernel is the inverse of the smoothness term."""
        drawn = self.points[draw]
        drawn = drawn[~np.isin(drawn, labelled)][: max(self.m - len(labelled), 0)]
        S = np.concatenate([labelled, drawn])
        rest = np.setdiff1d(np.arange(self.X.shape[0]), S)
        rows = self.X[S]
        similarities = Similarities(self.kernel, rows.toarray() if sp.issparse(rows) else rows)
        E, W = similarities(self.X), similarities(rows)
        mean = E / (E.sum(axis=1) + EPSILON)[:, None]
        B = np.diag(W.sum(axis=1) + EPSILON) - W
        B += np.diag(E[rest].sum(axis=0)) - E[rest].T @ mean[rest]
        inverse = np.linalg.inv((B + B.T) / 2.0)
        l = len(labelled)
        mean[S] = np.eye(len(S))  # landmarks have values of their own
        return Ridge(inverse[:l, :l], inverse[:l] @ mean[others].T, T, fold)


class Ridge:
    """Kernel ridge regression for many penalties: held-out values and values of other rows."""

    def __init__(self, R: np.ndarray, cross: np.ndarray, T: np.ndarray, fold: np.ndarray) -> None:
        self.parts = []
        for k in range(FOLDS):
            test = fold == k
            if test.any():
                values, vectors = np.linalg.eigh(R[np.ix_(~test, ~test)])
                left = R[np.ix_(test, ~test)] @ vectors
                self.parts.append((test, left, np.maximum(values, 0.0), vectors.T @ T[~test]))
        values, vectors = np.linalg.eigh((R + R.T) / 2.0)
        self.values, self.left, self.right = (
            np.maximum(values, 0.0),
            cross.T @ vectors,
            vectors.T @ T,
        )
        self.shape = T.shape

    def __call__(self, ridge: float) -> Values:
        """Return the values for one penalty."""
        held_out = np.empty(self.shape)
        for test, left, values, right in self.parts:
            held_out[test] = left @ (right / (values + ridge)[:, None])
        return held_out, self.left @ (self.right / (self.values + ridge)[:, None])


def hinge(P: np.ndarray, Q: np.ndarray, T: np.ndarray, fold: np.ndarray, C: float) -> Values:
    """Return held-out values and values of other rows: PVM with the hinge loss, two classes."""
    held_out, y = np.zeros(T.shape), T[:, 1:]

    def values(rows: Any, P_new: np.ndarray) -> np.ndarray:
        f = P_new @ fit_hinge(P[rows], y[rows], np.full(len(y), C)[rows])[0]
        return np.hstack([-f, f])

    for k in range(FOLDS):
        test = fold == k
        if test.any() and len(y) > 2:
            held_out[test] = values(~test, P[test])
    return held_out, values(slice(None), Q)
