"""Explicit features whose inner products equal or approximate a kernel.

A linear function of the features is a kernel expansion over landmarks: Φ(x) = k(x, Z)A for
landmarks Z, and ⟨w, Φ(x)⟩ = Σ βⱼ k(x, zⱼ) with β = Aw. Knows neither labels nor solvers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from ..arrays.threads import map_blocks, row_blocks
from ..kernels.functions import Kernel
from ..operators.base import Operator

#: Eigenvalues below this share of the largest are treated as zero. Sums over many rows of products
#: of kernel values are not more accurate: a smaller share makes fits depend on the order of rows.
CUTOFF = 1e-10
#: The same for a Gram matrix that may be stored in single precision.
SINGLE_PRECISION_CUTOFF = 1e-6
#: Number of rows of one block of features.
_BLOCK = 1024


@dataclass(frozen=True)
class Features:
    """Features of the training rows.

    Attributes
    ----------
    values : ndarray of shape (n, r)
        Φ of the training rows.
    back : ndarray of shape (m, r)
        A, which maps weights of features to coefficients of the landmarks.
    """

    values: np.ndarray
    back: np.ndarray


@dataclass(frozen=True)
class Landmarks:
    """Features of landmarks.

    Attributes
    ----------
    features : Features
        Features of the training rows.
    rows : ndarray of shape (m,) or None
        Indices of the training rows that are landmarks.
    centres : ndarray of shape (m, d) or None
        Landmarks that are not training rows. If both are None, all rows are landmarks.
    """

    features: Features
    rows: np.ndarray | None = None
    centres: np.ndarray | None = None

    def expansion(self, coef: np.ndarray, kernel: Kernel | None, X: Any) -> np.ndarray:
        """Return the coefficients of all rows or centres for weights of the features.

        For a linear kernel the coefficients are converted to weights of the columns of X.
        """
        coef = self.features.back @ coef
        if self.rows is not None:
            on_rows = np.zeros((X.shape[0], coef.shape[1]))
            on_rows[self.rows] = coef
            coef = on_rows
        if kernel is not None and kernel.is_linear:
            rows = kernel.prepare(X if self.centres is None else self.centres).data
            coef = np.asarray(rows.T @ coef)
        return coef


def landmark_features(kernel: Kernel, X: np.ndarray | sp.csr_matrix, Z: np.ndarray) -> Features:
    """Return the features of the subset of regressors Z, Φ = K_nm K_mm^(−1/2).

    Functions Σ βⱼ k(zⱼ, ·) with norm βᵀK_mmβ, Gieseke et al. (2013), eq. (9). Cost: n·m kernel
    values and n·m² operations; memory n·m.
    """
    landmarks = kernel.prepare(Z)
    back = inverse_root(kernel.block(landmarks, landmarks))
    rows = kernel.prepare(X)
    values = np.empty((len(rows), back.shape[1]))

    def fill(block: slice) -> None:
        np.matmul(kernel.block(rows[block], landmarks), back, out=values[block])

    map_blocks(fill, row_blocks(len(rows), _BLOCK))
    return Features(values, back)


def submatrix_features(K: np.ndarray, index: np.ndarray) -> Features:
    """Return the same features from a Gram matrix and the indices of the landmarks."""
    back = inverse_root(K[np.ix_(index, index)])
    return Features(K[:, index] @ back, back)


def principal_features(K: np.ndarray, r: int, rng: np.random.Generator) -> Features:
    """Return the r leading features of the kernel-PCA map, Φ = KVΛ^(−1/2) = VΛ^(1/2).

    The landmarks are all n rows. Cost: the leading eigenvectors of the Gram matrix K.
    """
    n = len(K)
    if r < n // 10:
        values, vectors = eigsh(K, r, which="LA", v0=rng.standard_normal(n))
    else:
        values, vectors = eigh(K, subset_by_index=[n - r, n - 1])
    keep = values > CUTOFF * max(values.max(), 1e-300)
    values, vectors = values[keep], vectors[:, keep]
    return Features(vectors * np.sqrt(values), vectors / np.sqrt(values))


def nystrom_factor(gram: Operator, index: np.ndarray) -> np.ndarray:
    """Return Z with ZZᵀ ≈ K from some columns of a Gram matrix, which may be stored rounded."""
    columns = gram.columns(index)
    return columns @ inverse_root(columns[index], SINGLE_PRECISION_CUTOFF)


def inverse_root(K: np.ndarray, cutoff: float = CUTOFF) -> np.ndarray:
    """Return A with AᵀKA = I on the range of K.

    Eigenvalues of at most ``cutoff`` times the largest one are treated as zero.
    """
    values, vectors = np.linalg.eigh((K + K.T) / 2.0)
    keep = values > cutoff * max(values[-1], 1e-300)
    return vectors[:, keep] / np.sqrt(values[keep])
