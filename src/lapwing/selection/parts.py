"""What a fitted blend is made of: functions of a row that can be added up, kept and read again.

A kernel expansion, or values on the training rows that new rows take from their neighbours. Both
give one column a class (one for two classes, one for a target) and know neither labels nor scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from ..arrays.threads import row_blocks
from ..kernels import GaussianKernel, Kernel, LinearKernel
from ..spaces import evaluate

_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True)
class KernelPart:
    """Σ coefᵢ k(zᵢ, x) + intercept.

    Attributes
    ----------
    gamma : float or None
        Width of the Gaussian kernel; None is the linear one, whose ``coef`` has a row a column.
    centres : ndarray, CSR matrix or None
        z; None for the linear kernel.
    coef : ndarray of shape (m, c)
        Coefficients.
    intercept : ndarray of shape (c,)
        Constants.
    """

    gamma: float | None
    centres: Any
    coef: np.ndarray
    intercept: np.ndarray

    def values(self, X: Any) -> np.ndarray:
        """Return the values on rows, shape (n, c)."""
        if self.gamma is None:
            return np.asarray(X @ self.coef) + self.intercept
        return evaluate(gaussian(self.gamma), X, self.centres, self.coef) + self.intercept

    def times(self, factor: float) -> KernelPart:
        """Return a multiple."""
        return replace(self, coef=factor * self.coef, intercept=factor * self.intercept)

    def plus(self, other: Part) -> KernelPart | None:
        """Return the sum as one part, or None if that is not possible."""
        if not isinstance(other, KernelPart) or self.gamma != other.gamma:
            return None
        if self.centres is not other.centres:
            return None
        coef, intercept = self.coef + other.coef, self.intercept + other.intercept
        return replace(self, coef=coef, intercept=intercept)


@dataclass(frozen=True)
class NeighbourPart:
    """The mean of the values of the nearest training rows, near ones counting more.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        The training rows.
    on_rows : ndarray of shape (n, c)
        Their values.
    n_neighbors : int
        How many rows are asked.
    width : float
        Distance at which a row counts less than the nearest by a factor exp(−½).
    """

    rows: Any
    on_rows: np.ndarray
    n_neighbors: int
    width: float

    def values(self, X: Any) -> np.ndarray:
        """Return the values on rows, shape (n, c)."""
        k = min(self.n_neighbors, self.rows.shape[0])
        search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.rows)
        found = [self._mean(search, X[block]) for block in row_blocks(X.shape[0], _ROWS_AT_ONCE)]
        return np.concatenate(found) if found else np.zeros((0, self.on_rows.shape[1]))

    def _mean(self, search: Any, X: Any) -> np.ndarray:
        distances, index = search.kneighbors(X)
        squares = distances**2 - distances[:, :1] ** 2
        weights = np.exp(-squares / (2.0 * max(self.width, 1e-150) ** 2))
        weights /= weights.sum(axis=1, keepdims=True)
        return np.einsum("ij,ijc->ic", weights, self.on_rows[index])

    def times(self, factor: float) -> NeighbourPart:
        """Return a multiple."""
        return replace(self, on_rows=factor * self.on_rows)

    def plus(self, other: Part) -> NeighbourPart | None:
        """Return the sum as one part, or None if that is not possible."""
        if not isinstance(other, NeighbourPart) or self.rows is not other.rows:
            return None
        return replace(self, on_rows=self.on_rows + other.on_rows)


Part = KernelPart | NeighbourPart


def add_up(parts: list[Part]) -> list[Part]:
    """Return parts with the same sum, those that can be joined as one."""
    joined: list[Part] = []
    for part in parts:
        for place, other in enumerate(joined):
            both = other.plus(part)
            if both is not None:
                joined[place] = both
                break
        else:
            joined.append(part)
    return joined


def gaussian(gamma: float) -> GaussianKernel:
    """Return the Gaussian kernel of rows that are centred already."""
    return GaussianKernel(gamma)


def kernel_of(gamma: float | None) -> Kernel:
    """Return the Gaussian kernel of a width, or the linear one."""
    return LinearKernel() if gamma is None else gaussian(gamma)


# Keeping and reading: plain dictionaries and arrays.


def pack(
    parts: list[Part], known: dict[int, str]
) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Return parts as what a model file holds; rows that several share are kept once.

    ``known`` has names for rows, by identity, that the reader has already.
    """
    pages: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    shared = dict(known)
    for number, part in enumerate(parts):
        rows = part.centres if isinstance(part, KernelPart) else part.rows
        key = None
        if rows is not None:
            key = shared.get(id(rows))
            if key is None:
                key = shared[id(rows)] = f"rows{len(shared)}"
                arrays |= pack_rows(key, rows)
        if isinstance(part, KernelPart):
            page: dict[str, Any] = {"part": "kernel", "gamma": part.gamma}
            arrays[f"part{number}.coef"] = part.coef
            arrays[f"part{number}.intercept"] = part.intercept
        else:
            page = {"part": "neighbours", "n_neighbors": part.n_neighbors, "width": part.width}
            arrays[f"part{number}.on_rows"] = part.on_rows
        pages.append(page | {"rows": key})
    return pages, arrays


def unpack(
    pages: list[dict[str, Any]],
    arrays: dict[str, np.ndarray],
    d: int,
    c: int,
    known: dict[str, Any],
) -> list[Part]:
    """Return the parts of a model file, checked for shape.

    Parameters
    ----------
    pages, arrays
        From `pack`.
    d, c : int
        Columns of the rows, and of the values.
    known : dict
        Rows by name that the reader has already.
    """
    rows = dict(known)
    parts: list[Part] = []
    for number, page in enumerate(pages):
        key = page["rows"]
        if key is not None and key not in rows:
            rows[key] = unpack_rows(str(key), arrays, d)
        at: Any = None if key is None else rows[key]
        if page["part"] == "kernel":
            gamma = None if page["gamma"] is None else float(page["gamma"])
            coef = arrays[f"part{number}.coef"]
            intercept = arrays[f"part{number}.intercept"]
            m = d if gamma is None else at.shape[0]
            check(coef.shape == (m, c) and intercept.shape == (c,))
            check_finite(coef, intercept)
            check(gamma is None or (gamma > 0 and np.isfinite(gamma)))
            parts.append(KernelPart(gamma, None if gamma is None else at, coef, intercept))
        else:
            check(page["part"] == "neighbours")
            on_rows = arrays[f"part{number}.on_rows"]
            check(on_rows.shape == (at.shape[0], c))
            check_finite(on_rows)
            k, width = int(page["n_neighbors"]), float(page["width"])
            check(k >= 1 and np.isfinite(width))
            parts.append(NeighbourPart(at, on_rows, k, width))
    return parts


def pack_rows(key: str, rows: Any) -> dict[str, np.ndarray]:
    """Return rows as arrays."""
    if not sp.issparse(rows):
        return {key: np.asarray(rows)}
    rows = sp.csr_matrix(rows)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    parts["shape"] = np.array(rows.shape)
    return {f"{key}.{name}": part for name, part in parts.items()}


def unpack_rows(key: str, arrays: dict[str, np.ndarray], d: int | None) -> Any:
    """Return rows from arrays, checked: ``d`` columns if it is given."""
    if key in arrays:
        rows = arrays[key]
        check(rows.ndim == 2)
        check_finite(rows)
    else:
        data, indices, indptr = (arrays[f"{key}.{name}"] for name in ("data", "indices", "indptr"))
        shape = tuple(int(s) for s in arrays[f"{key}.shape"])
        check(len(shape) == 2 and min(shape) >= 0)
        check(data.ndim == indices.ndim == indptr.ndim == 1 and len(indptr) == shape[0] + 1)
        check(indices.dtype.kind == "i" and indptr.dtype.kind == "i")
        check_finite(data)
        check(len(data) == len(indices) == indptr[-1] and indptr[0] == 0)
        check(bool(np.all(np.diff(indptr) >= 0)))
        check(len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
        rows = sp.csr_matrix((data, indices, indptr), shape=shape)
    check(d is None or rows.shape[1] == d)
    return rows


def check_finite(*arrays: np.ndarray) -> None:
    """Refuse arrays that hold anything but finite real numbers."""
    for array in arrays:
        check(array.dtype.kind == "f" and bool(np.isfinite(array).all()))


def check(right: bool) -> None:
    """Refuse a model file whose arrays do not fit together."""
    if not right:
        raise ValueError("its arrays do not fit together")
