"""Small data sets with few labels, and the short formulas that many tests compare with.

Nothing here uses lapwing.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_moons


def blobs(n=120, n_classes=3, n_labelled=15, d=4, gap=2.0, seed=0):
    """Rows around class centres, labels of the first rows and -1 elsewhere, and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = gap * np.eye(max(n_classes, d))[truth, :d] + 0.7 * rng.normal(size=(n, d))
    return X, np.where(np.arange(n) < n_labelled, truth, -1), truth


def moons(n=120, n_labelled=12, noise=0.1, seed=0):
    """Rows of two moons in random order, labels of a few and -1 elsewhere, and the truth."""
    X, truth = make_moons(n, noise=noise, random_state=seed)
    y = np.full(n, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[: n_labelled // 2]] = c
    return X, y, truth


def sparse_rows(n, d, density, seed=0):
    """CSR rows with random values from 0 to 1 in a share of their cells."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(n * d, round(density * n * d), replace=False)
    return sp.csr_array((rng.random(len(cells)), np.divmod(cells, d)), shape=(n, d))


def gaussian(A, B, gamma):
    """Gaussian kernel, written out."""
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def one_vs_rest(y, classes):
    """Targets ±1, one column for two classes and one a class for more."""
    columns = classes[1:] if len(classes) == 2 else classes
    return np.where(np.asarray(y)[:, None] == np.asarray(columns), 1.0, -1.0)


def fit_quietly(model, X, y, **arguments):
    """The fitted model, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **arguments)


def unbalanced(n=400, rare=0.1, gap=3.0, per_class=8, seed=0):
    """Two Gaussian clouds, of which the second is rare, with equally many labels of both."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < rare).astype(int)
    X = rng.normal(size=(n, 2)) + gap * truth[:, None] * [1.0, 0.0]
    y = np.full(n, -1)
    for code in (0, 1):
        y[rng.permutation(np.flatnonzero(truth == code))[:per_class]] = code
    return X, y, truth
