"""Where S3VC searches: the space of the kernel or of landmarks, chosen before any allocation.

Also the way back: a function found in features of landmarks becomes an expansion over rows or
centres, or weights of a linear function. Knows neither labels nor solvers' stages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..arrays.memory import format_size
from ..kernels import Kernel, LinearKernel, choose_storage, gram_bytes, gram_operator
from ..operators import DenseOperator
from ..solvers import LEAST_MEMORY, affordable_memory, lbfgs_bytes
from ..spaces import (
    KernelSpace,
    Landmarks,
    LinearSpace,
    Space,
    kmeans_landmarks,
    landmark_features,
    principal_features,
    submatrix_features,
)


@dataclass(frozen=True)
class MarginSpace:
    """The space, its landmarks if any, and the pairs that L-BFGS can afford to remember."""

    space: Space
    landmarks: Landmarks | None
    memory: int


def make_space(
    kernel: Kernel | None,
    X: Any,
    n_landmarks: int | None,
    kind: str,
    *,
    n_columns: int,
    budget: int,
    rng: np.random.Generator,
) -> MarginSpace:
    """Choose the space from kernel, landmarks and memory.

    ``kind`` of landmarks is "random", "kmeans" or "pca"; ``budget`` is in bytes.
    """
    n = X.shape[0]
    work = partial(lbfgs_bytes, n, n_columns=n_columns, memory=LEAST_MEMORY)
    landmarks, stored = None, 0
    if n_landmarks is not None:
        if n_landmarks > n:
            raise ValueError(
                f"n_landmarks={n_landmarks} but X has {n} rows: choose at most as many landmarks "
                "as rows, or None for all"
            )
        stored = 16 * n * n_landmarks + (gram_bytes(n, "float64") if kind == "pca" else 0)
        _check_room(stored + work(n_landmarks), budget, n)
        landmarks = _make_landmarks(kernel, X, n_landmarks, kind, rng)
        space: Space = LinearSpace(landmarks.features.values)
    elif isinstance(kernel, LinearKernel):
        _check_room(work(X.shape[1]), budget, n)
        space = LinearSpace(kernel.prepare(X).data)
    elif kernel is None:
        _check_room(work(2 * n), budget, n)
        space = KernelSpace(DenseOperator(np.asarray(X, dtype=np.float64)))
    else:
        storage = "float64"
        if gram_bytes(n, storage) + work(2 * n) > budget:
            storage = choose_storage(n, budget, work(2 * n))
        stored = gram_bytes(n, storage)
        space = KernelSpace(gram_operator(kernel, kernel.prepare(X), storage))
    coordinates = space.n_coef * (2 if isinstance(space, KernelSpace) else 1)
    memory = affordable_memory(n, coordinates, n_columns, budget - stored)
    return MarginSpace(space, landmarks, memory)


def _make_landmarks(
    kernel: Kernel | None, X: Any, m: int, kind: str, rng: np.random.Generator
) -> Landmarks:
    if kind == "kmeans":
        if kernel is None:
            raise ValueError(
                "landmarks='kmeans' needs rows, and kernel='precomputed' has none: use "
                "landmarks='random' or 'pca'"
            )
        centres = kmeans_landmarks(X, m, rng)
        return Landmarks(landmark_features(kernel, X, centres), centres=centres)
    if kind == "pca":
        if kernel is None:
            return Landmarks(principal_features(np.asarray(X, dtype=np.float64), m, rng))
        gram = gram_operator(kernel, kernel.prepare(X), "float64")
        assert isinstance(gram, DenseOperator)
        return Landmarks(principal_features(gram.array, m, rng))
    rows = np.sort(rng.choice(X.shape[0], m, replace=False))
    if kernel is None:
        return Landmarks(submatrix_features(np.asarray(X, dtype=np.float64), rows), rows)
    return Landmarks(landmark_features(kernel, X, X[rows]), rows)


def _check_room(needed: int, budget: int, n: int) -> None:
    if needed > budget:
        raise MemoryError(
            f"fitting {n} rows needs {format_size(needed)} and memory_limit allows "
            f"{format_size(budget)}: raise memory_limit, set n_landmarks or lower it, lower "
            "n_init, or set calibration_folds=0"
        )
