"""What all kernel machines share, with a graph or without: kernel, solver run, solution.

An estimator is a loss, a space and a solver with names for their parameters; nothing is computed
here, and nothing here knows graphs or classes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..arrays.threads import map_blocks, row_blocks
from ..kernels import CallableKernel, Kernel, LinearKernel, PolynomialKernel, make_kernel
from ..solvers import SolverResult, Step, StoppingRule, drive
from ..spaces import Function, evaluate, localised
from .checks import valid_rows

#: Rows of the sample on which a kernel is checked for being positive semi-definite.
_PSD_ROWS = 300
#: Side of the tiles in which it is checked for being symmetric.
_TILE = 256


class KernelEstimator(BaseEstimator):
    """Base of the kernel machines. See the public classes for the parameters."""

    # Set by __init__ of the public classes.
    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    random_state: Any
    warm_start: bool
    verbose: int
    memory_limit: Any
    callback: Callable[[Step], object] | None

    def _make_kernel(self, X: Any) -> Kernel | None:
        """Return the kernel of these rows, checked; None if X holds its values already."""
        if self.kernel == "precomputed":
            _check_gram(X)
            return None
        kernel = make_kernel(self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        check_kernel(kernel, X)
        return kernel

    def _draw_seed(self) -> None:
        """Draw the seed of a fit; a warm one keeps that of the last, and with it the landmarks."""
        if self.warm_start and hasattr(self, "_seed"):
            return
        self._seed = draw_seed(self.random_state)

    def _rng(self) -> np.random.Generator:
        """Return random numbers, the same at each call of one fit."""
        return np.random.default_rng(self._seed)

    def _drive(
        self,
        method: str,
        steps: Iterator[Step],
        max_iter: int,
        rules: list[StoppingRule],
        *,
        stacklevel: int,
    ) -> tuple[Step, SolverResult]:
        """Run a solver with progress and callback, and warn if it does not converge.

        ``stacklevel`` leads from here to the user's call of fit.
        """
        callback = _Progress(method, self.callback) if self.verbose else self.callback
        step, result = drive(method, steps, max_iter=max_iter, rules=rules, callback=callback)
        if self.verbose:
            sys.stderr.write("\n")
        if result.status == "not_converged":
            warnings.warn(result.message, ConvergenceWarning, stacklevel=stacklevel)
        return step, result

    def _store(self, X: Any, function: Function, result: SolverResult) -> None:
        self.result_ = result
        self.n_iter_ = result.n_iter
        self.intercept_ = function.intercept
        self.X_fit_ = X
        for name in ("coef_", "dual_coef_", "landmarks_"):  # of an earlier fit with another kernel
            self.__dict__.pop(name, None)
        if isinstance(self.kernel_, LinearKernel):
            self.coef_ = function.coef.T
            self.support_ = np.arange(X.shape[0])
        else:
            self.dual_coef_ = function.coef.T
            self.support_ = np.flatnonzero(np.any(function.coef != 0, axis=1))

    def _refit(self, y: np.ndarray, **arguments: Any) -> Any:
        """Fit again to the same rows with other labels, from the present solution."""
        settings = self._refit_settings()
        own = {name: getattr(self, name) for name in settings}
        names = getattr(self, "feature_names_in_", None)
        try:
            self.__dict__.update(settings)
            self.fit(self.X_fit_, y, sample_weight=self._row_weights, **arguments)
        finally:
            self.__dict__.update(own)
            if names is not None:  # X_fit_ is a plain array
                self.feature_names_in_ = names
        return self

    def _refit_settings(self) -> dict[str, Any]:
        """Return the parameters that have other values while the machine is fitted again."""
        return {"warm_start": True}

    def _previous_solution(self, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return coefficients and intercept of the last fit, if they fit these rows."""
        if not hasattr(self, "X_fit_") or self.X_fit_.shape != X.shape:
            return None
        return getattr(self, "dual_coef_", getattr(self, "coef_", np.empty(0))).T, self.intercept_

    def _decide(self, X: Any) -> np.ndarray:
        """Return the values of the fitted functions on new rows, shape (n, columns)."""
        check_is_fitted(self, "result_")
        X = valid_rows(self, X, reset=False)
        coef = self.coef_ if isinstance(self.kernel_, LinearKernel) else self.dual_coef_
        return (
            values_on(self.kernel_, X, getattr(self, "landmarks_", self.X_fit_), coef.T)
            + self.intercept_
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def check_rows(estimator: KernelEstimator, X: Any) -> Any:
    """Return X as a float array or CSR matrix, checked as scikit-learn does."""
    X = valid_rows(estimator, X, sparse=estimator.kernel != "precomputed")
    if estimator.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed kernel must be a square matrix, got shape {X.shape}")
    return X


def check_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Return one non-negative weight a row."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative")
    return weights


def values_on(kernel: Kernel | None, X_new: Any, X: Any, coef: np.ndarray) -> np.ndarray:
    """Return the expansion on new rows; X_new holds kernel values if the kernel is precomputed."""
    if kernel is None:
        return np.asarray(X_new @ coef)
    if isinstance(kernel, LinearKernel):
        return np.asarray(kernel.prepare(X_new).data @ coef)
    return evaluate(kernel, X_new, X, coef)


def _check_gram(K: np.ndarray) -> None:
    """Refuse a matrix that is not symmetric or not positive semidefinite; tiles need no memory."""
    n = len(K)

    def look(rows: slice) -> tuple[float, float]:
        odd = 0.0
        for start in range(rows.start, n, _TILE):
            columns = slice(start, start + _TILE)
            odd = max(odd, float(np.abs(K[rows, columns] - K[columns, rows].T).max()))
        return odd, float(np.abs(K[rows]).max())

    odd, scale = np.max(map_blocks(look, row_blocks(n, _TILE)), axis=0)
    if odd > 1e-8 * scale:
        raise ValueError("the precomputed kernel is not symmetric: pass K with K equal to K.T")
    _check_semidefinite(K[np.ix_(*[_sample(n)] * 2)])


def draw_seed(random_state: Any) -> int:
    """Return a seed from what users give: a number, None, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))


def local_kernel(estimator: Any, X: Any, points: np.ndarray) -> Kernel:
    """Return the kernel of an estimator for which gamma may be "local", the width of the points."""
    local = isinstance(estimator.gamma, str) and estimator.gamma == "local"
    kernel = make_kernel(
        estimator.kernel,
        X,
        gamma="scale" if local else estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
    )
    check_kernel(kernel, X)
    return localised(kernel, X, points) if local else kernel


def check_kernel(kernel: Kernel, X: Any) -> None:
    """Refuse a kernel that is visibly not positive semi-definite on a sample of the rows."""
    doubtful = isinstance(kernel, CallableKernel) or (
        isinstance(kernel, PolynomialKernel)
        and (kernel.coef0 < 0 or kernel.degree != int(kernel.degree))
    )
    if doubtful:
        rows = kernel.prepare(X[_sample(X.shape[0])])
        K = kernel.block(rows, rows)
        if not np.isfinite(K).all():
            raise ValueError("the kernel gives NaN or infinite values: rescale the rows or gamma")
        if not np.allclose(K, K.T, atol=1e-8 * max(float(np.abs(K).max()), 1e-300)):
            raise ValueError("the kernel is not symmetric: k(a, b) must equal k(b, a)")
        _check_semidefinite(K)


def _check_semidefinite(K: np.ndarray) -> None:
    values = np.linalg.eigvalsh((K + K.T) / 2.0)
    if values[0] < -1e-6 * max(abs(values[-1]), 1e-300):
        raise ValueError(
            f"the kernel is not positive semi-definite (eigenvalues from {values[0]:.3g} to "
            f"{values[-1]:.3g} on {len(K)} rows): use a valid kernel, or add a multiple of the "
            "identity to a precomputed one"
        )


def _sample(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, _PSD_ROWS).astype(int))


class _Progress:
    """One line on the error stream, rewritten at each step (verbose=1)."""

    def __init__(self, method: str, callback: Callable[[Step], object] | None) -> None:
        self.method = method
        self.callback = callback

    def __call__(self, step: Step) -> object:
        gap = "" if step.gap is None else f", at most {step.gap:.3g} above the optimum"
        sys.stderr.write(
            f"\r{self.method}: iteration {step.iteration}, objective {step.objective:.6g}{gap}   "
        )
        sys.stderr.flush()
        return self.callback(step) if self.callback is not None else None


__all__ = [
    "KernelEstimator",
    "check_kernel",
    "check_rows",
    "check_weights",
    "draw_seed",
    "local_kernel",
    "values_on",
]
