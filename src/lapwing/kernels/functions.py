"""Kernel functions on blocks of rows.

A kernel first prepares rows (centres or normalises them, computes squared norms) and then evaluates
blocks of prepared rows, so that the tiles of a large Gram matrix repeat no work. Nothing here knows
where the Gram matrix is stored or what it is used for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from ..arrays.device import on_host
from ..arrays.row_units import column_variances, largest_value

#: Number of evenly spaced rows from which medians are computed.
_MEDIAN_ROWS = 1000
#: Variances and squared distances below this value are treated as zero.
_TINY = 1e-300
#: Error of γ‖a − b‖² that is not seen in kernel values, and exponent above which these vanish.
_UNSEEN, _EXPONENT = 1e-6, 40.0
#: Largest value of rows up to which the rounding of their squared distances is below 1e-9.
_LEVEL = 1e3


@dataclass(frozen=True)
class PreparedRows:
    """Rows ready for kernel evaluation: the data and, where needed, their squared norms."""

    data: np.ndarray | sp.csr_matrix
    squared_norms: np.ndarray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.data.shape[0]

    def __getitem__(self, rows: slice | np.ndarray) -> PreparedRows:
        """Return some of the rows."""
        norms = None if self.squared_norms is None else self.squared_norms[rows]
        return PreparedRows(self.data[rows], norms)


class Kernel:
    """A positive semi-definite function of two rows.

    Subclasses implement `block`; `prepare` has a default.

    Attributes
    ----------
    is_linear : bool
        Whether k(a, b) is the inner product of prepared rows, so that a kernel expansion is a
        linear function of these.
    is_radial : bool
        Whether k(a, b) is a decreasing function of gamma·‖a − b‖², so that `squared_distances`,
        `relative_block` and `with_gamma` apply.
    has_unit_diagonal : bool
        Whether k(a, a) = 1 for every row.
    is_user_defined : bool
        Whether the values come from a function that the library does not know.
    uses_device : bool
        Whether dense rows may be on a device.
    """

    is_linear: bool = False
    is_radial: bool = False
    has_unit_diagonal: bool = False
    is_user_defined: bool = False
    uses_device: bool = False

    @property
    def is_positive_semidefinite(self) -> bool:
        """Whether every Gram matrix is known to be positive semi-definite."""
        return not self.is_user_defined

    def prepare(self, X: np.ndarray | sp.csr_matrix, dtype: type = np.float64) -> PreparedRows:
        """Return rows in the form and precision that `block` takes."""
        return PreparedRows(X.astype(dtype, copy=False))

    def block(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return the matrix of k(a, b), of shape (len(A), len(B))."""
        raise NotImplementedError(f"{type(self).__name__} must implement block")

    def single_precision_error(self, A: PreparedRows) -> float:
        """Return a bound of the relative error of values computed from float32 rows."""
        return float(np.finfo(np.float32).eps)

    def squared_distances(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return ‖a − b‖², of a radial kernel."""
        raise NotImplementedError(f"{type(self).__name__} is not a function of distances")

    def relative_block(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return `block` with each row divided by its largest value, of a radial kernel.

        Rows of A may be so far from B that all their values underflow in `block`.
        """
        raise NotImplementedError(f"{type(self).__name__} is not a function of distances")

    def with_gamma(self, gamma: float) -> Kernel:
        """Return the kernel of another width, of a radial kernel."""
        raise NotImplementedError(f"{type(self).__name__} is not a function of distances")


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def _squared_norms(X: Any) -> Any:
    return row_norms(X, squared=True) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)


def _inner_products(A: PreparedRows, B: PreparedRows) -> np.ndarray:
    return safe_sparse_dot(A.data, B.data.T, dense_output=True)


@dataclass(frozen=True)
class LinearKernel(Kernel):
    """⟨a, b⟩."""

    is_linear = True

    def block(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return the inner products."""
        return _inner_products(A, B)


@dataclass(frozen=True)
class CosineKernel(LinearKernel):
    """⟨a, b⟩ / (‖a‖ ‖b‖); a zero row has similarity zero to all."""

    def prepare(self, X: np.ndarray | sp.csr_matrix, dtype: type = np.float64) -> PreparedRows:
        """Return rows of unit norm."""
        return PreparedRows(normalize(X.astype(dtype, copy=False)))


@dataclass(frozen=True)
class PolynomialKernel(Kernel):
    """(gamma·⟨a, b⟩ + coef0)^degree."""

    gamma: float
    coef0: float
    degree: float

    uses_device = True

    @property
    def is_positive_semidefinite(self) -> bool:
        """Whether the degree is a whole number and coef0 is not negative."""
        return self.coef0 >= 0 and self.degree == int(self.degree)

    def block(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return the powers of the shifted inner products."""
        base = _inner_products(A, B)
        base *= self.gamma
        base += self.coef0
        if self.degree != int(self.degree):
            return np.power(base, self.degree, out=base)
        # Repeated squaring: NumPy's general power is much slower.
        exponent, result = int(self.degree), None
        while exponent:
            if exponent & 1:
                result = base.copy() if result is None else np.multiply(result, base, out=result)
            exponent >>= 1
            if exponent:
                np.multiply(base, base, out=base)
        return np.ones_like(base) if result is None else result


@dataclass(frozen=True)
class GaussianKernel(Kernel):
    """exp(−gamma·‖a − b‖²).

    Parameters
    ----------
    gamma : float
        Inverse width.
    center : ndarray of shape (n_features,) or None
        Subtracted from dense rows. Distances do not change, but ‖a‖² becomes small, so that the
        difference ‖a‖² + ‖b‖² − 2⟨a, b⟩ keeps its digits.
    """

    gamma: float
    center: np.ndarray | None = None

    is_radial = True
    has_unit_diagonal = True
    uses_device = True

    def prepare(self, X: np.ndarray | sp.csr_matrix, dtype: type = np.float64) -> PreparedRows:
        """Return centred rows and their squared norms."""
        if self.center is not None:  # the training rows are dense, so these can be, too
            X = _dense(X) - self.center
        X = X.astype(dtype, copy=False)
        return PreparedRows(X, _squared_norms(X))

    def block(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return the Gaussian of the squared distances."""
        distances = self.squared_distances(A, B)
        self._correct_near_pairs(A, B, distances)
        distances *= -self.gamma
        return np.exp(distances, out=distances)

    def _correct_near_pairs(self, A: PreparedRows, B: PreparedRows, distances: np.ndarray) -> None:
        """Compute distances from differences where the rounding of norms would be seen in k.

        These are pairs of rows that are close to each other and, relative to the width, far from
        the centre. Without this, values of duplicate rows are 0 or 1 by chance, and K is
        indefinite. In single precision, which is used where `single_precision_error` is small,
        there are none.
        """
        assert A.squared_norms is not None and B.squared_norms is not None
        if distances.dtype != np.float64:
            return
        rounding = 8.0 * float(np.finfo(np.float64).eps)
        far = _UNSEEN / (rounding * self.gamma)
        others = np.flatnonzero(B.squared_norms > far)
        for row in np.flatnonzero(A.squared_norms > far) if len(others) else ():
            error = rounding * (A.squared_norms[row] + B.squared_norms[others])
            near = others[on_host(distances[row, others] < _EXPONENT / self.gamma + error)]
            differences = A.data[np.full(len(near), row)] - B.data[near]
            distances[row, near] = _squared_norms(differences)

    def squared_distances(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return ‖a − b‖², never negative."""
        assert A.squared_norms is not None and B.squared_norms is not None
        if A.data.size < B.data.size:  # to scale the smaller one is exact, too
            distances = _inner_products(replace(A, data=-2.0 * A.data), B)
        else:
            distances = _inner_products(A, replace(B, data=-2.0 * B.data))
        distances += A.squared_norms[:, None]
        distances += B.squared_norms[None, :]
        return np.maximum(distances, 0.0, out=distances)

    def relative_block(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return the values divided by the largest of each row, without underflow."""
        assert B.squared_norms is not None
        # Without ‖a‖², which is the same for all of B and would cost digits of the differences.
        distances = B.squared_norms - 2.0 * (A.data @ B.data.T)
        distances -= distances.min(axis=1, keepdims=True)
        return np.exp(-self.gamma * distances)

    def with_gamma(self, gamma: float) -> GaussianKernel:
        """Return the kernel with another gamma."""
        return replace(self, gamma=gamma)

    def single_precision_error(self, A: PreparedRows) -> float:
        """Return the error of the exponent, a difference of squared norms."""
        assert A.squared_norms is not None
        largest = float(A.squared_norms.max(initial=0.0))
        return self.gamma * largest * 4.0 * float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A user's function of two arrays of rows that returns the matrix of values."""

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]

    is_user_defined = True

    def block(self, A: PreparedRows, B: PreparedRows) -> np.ndarray:
        """Return the user's values, checked for shape."""
        values = np.asarray(self.function(A.data, B.data))
        if values.shape != (len(A), len(B)):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for {len(A)} and {len(B)} "
                f"rows; it must return an array of shape {(len(A), len(B))}"
            )
        return values


def resolve_gamma(gamma: float | str, X: np.ndarray | sp.csr_matrix) -> float:
    """Return ``gamma`` as a number.

    ``"scale"`` is 1 over the sum of the variances of the columns. ``"median"`` is 1 / (2·m²), where
    m is the median distance between distinct rows among at most 1000 evenly spaced ones.
    """
    if not isinstance(gamma, str):
        value = float(gamma)
        if not (value > 0 and np.isfinite(value)):
            raise ValueError(f"gamma must be positive and finite, got {gamma!r}")
        return value
    if gamma == "scale":
        variance = float(column_variances(X).sum())
        return 1.0 / variance if variance > _TINY else gamma_of_equal_rows(X)
    if gamma == "median":
        some = _spread_rows(X)
        rows = GaussianKernel(1.0, _center(X)).prepare(some)
        norms = rows.squared_norms
        assert norms is not None
        sizes = norms[:, None] + norms[None, :]
        distances = sizes - 2.0 * _inner_products(rows, rows)
        pairs = np.triu_indices(some.shape[0], 1)
        distances = distances[pairs][distances[pairs] > 1e-12 * np.maximum(sizes[pairs], 1e-300)]
        median = float(np.median(distances)) if len(distances) else 0.0
        return 1.0 / (2.0 * median) if median > _TINY else gamma_of_equal_rows(X)
    raise ValueError(f"gamma must be a positive number, 'median' or 'scale', got {gamma!r}")


def gamma_of_equal_rows(X: np.ndarray | sp.csr_matrix) -> float:
    """Return 1, or less where the rounding of a distance of zero would be seen."""
    return 1.0 / max(1.0, largest_value(X) / _LEVEL) ** 2


def _spread_rows(X: np.ndarray | sp.csr_matrix) -> np.ndarray | sp.csr_matrix:
    """Return at most 1000 evenly spaced rows."""
    return X[np.unique(np.linspace(0, X.shape[0] - 1, _MEDIAN_ROWS).astype(int))]


def _center(X: np.ndarray | sp.csr_matrix) -> np.ndarray | None:
    """Return the coordinate-wise median of dense rows, which outliers hardly affect."""
    return None if sp.issparse(X) else np.median(_spread_rows(X), axis=0).astype(np.float64)


def make_kernel(
    kernel: str | Callable,
    X: np.ndarray | sp.csr_matrix,
    *,
    gamma: float | str,
    degree: float,
    coef0: float,
) -> Kernel:
    """Return the kernel for the public parameters, with its width resolved from the rows X."""
    if callable(kernel):
        return CallableKernel(kernel)
    if kernel == "linear":
        return LinearKernel()
    if kernel == "cosine":
        return CosineKernel()
    if kernel == "rbf":
        return GaussianKernel(resolve_gamma(gamma, X), _center(X))
    if kernel == "poly":
        if degree < 0:
            raise ValueError(f"degree must not be negative, got {degree!r}")
        return PolynomialKernel(resolve_gamma(gamma, X), float(coef0), float(degree))
    raise ValueError(
        f"kernel {kernel!r} is unknown: use 'rbf', 'linear', 'poly', 'cosine', 'precomputed' "
        "or a function of two arrays of rows"
    )
