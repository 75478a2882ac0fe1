"""S3VC: bad input, bad parameters, too little memory, rows at the edge."""

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.data import fit_quietly
from helpers.s3vc import blobs, every_solver, mostly
from lapwing import S3VC


@pytest.mark.parametrize("ratio", [0.0, 1.0, -0.1, 1.5, np.nan, [0.0, 1.0], [1.2, -0.2]])
def test_ratio_outside_of_zero_and_one_is_refused(ratio):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="between 0 and 1"):
        S3VC(positive_ratio=ratio).fit(X, y)


def test_ratio_of_the_wrong_length_or_sum_or_word_is_refused():
    X, y, _ = blobs(n_classes=3)
    for ratio in (0.5, [0.5, 0.5], [[0.2, 0.3, 0.5]], np.full(4, 0.25)):
        with pytest.raises(ValueError, match="each of the 3 classes"):
            S3VC(positive_ratio=ratio).fit(X, y)
    with pytest.raises(ValueError, match="add up to 1"):
        S3VC(positive_ratio=[0.5, 0.4, 0.3]).fit(X, y)
    with pytest.raises(ValueError, match="'labeled'"):
        S3VC(positive_ratio="labelled").fit(X, y)
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=r"or one number, the share of the second"):
        S3VC(positive_ratio=[0.2, 0.3, 0.5]).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *((name, value, f"{name} must be positive and finite")
          for name in ("reg", "surrogate_gamma", "unlabeled_sharpness", "tol")
          for value in (0.0, -1.0, np.nan, np.inf)),
        *(("reg_unlabeled", value, "reg_unlabeled must be finite and not negative")
          for value in (-1e-9, np.nan, np.inf)),
        ("solver", "newton", "solver must be .quasi-newton., .cccp"),
        ("landmarks", "first", "landmarks must be 'random', 'kmeans' or 'pca'"),
        ("n_landmarks", 0, "n_landmarks must be a whole"),
        ("n_landmarks", 41, "n_landmarks=41 but X has 40 rows"),
        ("n_init", 0, "n_init must be a whole"),
        ("calibration_folds", 1, "calibration_folds must be 0 or at least 2"),
        ("calibration_folds", -3, "calibration_folds must be 0 or at least 2"),
        *(("annealing", value, "annealing must be positive shares")
          for value in ((), (0.1, 0.5), (0.0, 1.0), (-1.0, 1.0), ((0.5, 1.0),))),
        ("kernel", "gauss", "kernel 'gauss' is unknown"),
        ("gamma", -1.0, "gamma must be"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(name, value, message):
    X, y, _ = blobs()
    kernel = {} if name == "kernel" else {"kernel": "rbf"}
    with pytest.raises(ValueError, match=message):
        S3VC(**kernel, **{name: value}).fit(X, y)


@pytest.mark.parametrize("landmarks", ["random", "kmeans", "pca"])
def test_more_landmarks_than_rows_are_refused(landmarks):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="at most as many landmarks as rows"):
        S3VC("rbf", n_landmarks=41, landmarks=landmarks).fit(X, y)


def test_kmeans_needs_rows():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="needs rows"):
        S3VC("precomputed", n_landmarks=5, landmarks="kmeans").fit(X @ X.T, y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "rbf"},
        {"kernel": "rbf", "n_landmarks": 5},
        {"kernel": "rbf", "n_landmarks": 5, "landmarks": "pca"},
    ],
)
def test_too_little_memory_is_told_with_figures(options):
    X, y, _ = blobs()
    message = r"40 rows needs .*\d+(\.\d+)? (kB|MB) and memory_limit allows 999 bytes"
    with pytest.raises(MemoryError, match=message):
        S3VC(**options, memory_limit=999).fit(X, y)
    S3VC(**options, memory_limit="1GB").fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_restarts_that_do_not_fit_are_refused_before_they_are_drawn(kernel):
    X, y, _ = blobs()
    with pytest.raises(MemoryError, match=r"40 rows needs .* lower n_init"):
        S3VC(kernel, n_init=10**12).fit(X, y)


def test_memory_of_a_precomputed_kernel_is_told_with_figures():
    X, y, _ = blobs()
    with pytest.raises(MemoryError, match=r"40 rows needs \d.*memory_limit allows"):
        S3VC("precomputed", memory_limit=999).fit(X @ X.T, y)


@mostly("linear", "cosine", "rbf")
def test_empty_sparse_rows_are_fine(solver, case):
    X, y, _ = blobs(d=6)
    X[[0, 20, 21]] = 0.0
    fitted = fit_quietly(S3VC(case, solver=solver), sp.csr_matrix(X), y)
    assert np.isfinite(fitted.decision_function(sp.csr_matrix(X))).all()
    assert np.isfinite(fitted.predict_proba(sp.csr_matrix(X))).all()


@mostly("linear", "rbf")
@pytest.mark.parametrize("trouble", ["all equal", "all zero", "duplicates", "one unlabelled row"])
def test_degenerate_rows_stay_finite(solver, trouble, case):
    X, y, truth = blobs(n=20, n_labelled=8)
    if trouble == "all equal":
        X = np.ones_like(X)
    elif trouble == "all zero":
        X = np.zeros_like(X)
    elif trouble == "duplicates":
        X, y = np.repeat(X[:4], 5, axis=0), np.where(y == -1, -1, np.repeat(truth[:4], 5))
    else:
        y = truth.copy()
        y[7] = -1
    fitted = fit_quietly(S3VC(case, solver=solver, max_iter=50), X, y)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert np.isfinite(fitted.predict_proba(X)).all()


@every_solver
@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_rows_of_any_size_overflow_nowhere(solver, size):
    X, y, _ = blobs()
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        fitted = fit_quietly(S3VC(solver=solver), size * X, y)
    assert np.isfinite(fitted.decision_function(size * X)).all()
