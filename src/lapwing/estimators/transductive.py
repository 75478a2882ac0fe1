"""Classifiers that know the rows they were fitted to and no others."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays.threads import row_blocks
from .checks import valid_rows
from .classifier import LabelClassifier, LabelledData

#: Numbers in the blocks in which rows are hashed and compared.
_BLOCK_SIZE = 2**20


class TransductiveClassifier(LabelClassifier, BaseEstimator):
    """Base of the methods that define values for the training rows alone.

    ``decision_function``, ``predict`` and ``predict_proba`` look rows up among those of the fit, by
    exact equality, and refuse others. A subclass writes ``_solve(data)``, and in its fit:

        data = self._check_labels(X, y, sample_weight)   # X checked
        self._store_rows(X)
        self._solve(data)    # ends with self._store_decisions(data, values, held_out)

    `add_labels` calls ``_solve`` again with the labels of then.
    """

    def _solve(self, data: LabelledData) -> None:
        raise NotImplementedError(f"{type(self).__name__} must implement _solve")

    def _store_rows(self, X: Any) -> None:
        """Keep the rows, and what finds them again: 16 bytes a row."""
        self.X_fit_ = X
        self._row_index = RowIndex(X)

    def _store_decisions(
        self, data: LabelledData, values: np.ndarray, held_out: np.ndarray
    ) -> None:
        super()._store_decisions(data, values, held_out)
        self._values = values

    def _refit(self, y: np.ndarray, **arguments: Any) -> Self:
        self._solve(self._check_labels(self.X_fit_, y, self._row_weights))
        return self

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "transduction_")
        X = valid_rows(self, X, reset=False)
        found = self._row_index.find(X, self.X_fit_)
        if (found < 0).any():
            new = np.flatnonzero(found < 0)
            raise ValueError(
                f"{len(new)} of {X.shape[0]} rows, the first of them row {new[0]}, are not among "
                f"the rows that {type(self).__name__} was fitted to. It is transductive and gives "
                "no prediction for new rows: fit it to them as well, unlabelled, or use a "
                "classifier with a function of the rows, such as NFIClassifier, PVMClassifier or "
                "LapSVC"
            )
        return self._values[found]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RowIndex:
    """Finds rows among others by exact equality of their numbers, by a hash of 8 bytes a row.

    0.0 and -0.0 are equal; float32 is compared as float64; dense and sparse rows find each other.
    Of equal rows the first is found.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows; they are not kept.
    """

    def __init__(self, X: Any) -> None:
        hashes = _hash_rows(X)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._order = hashes[order], order

    def find(self, queries: Any, X: Any) -> np.ndarray:
        """Return for each row of ``queries`` the first equal row of X, or -1 where there is none.

        X are the rows of the index.
        """
        hashes = _hash_rows(queries)
        found = np.full(len(hashes), -1)
        position = np.searchsorted(self._hashes, hashes)
        open_rows = np.arange(len(hashes))
        while len(open_rows):  # more than one round only where hashes of unequal rows collide
            here = position[open_rows]
            same = here < len(self._hashes)
            same[same] = self._hashes[here[same]] == hashes[open_rows[same]]
            open_rows = open_rows[same]
            candidates = self._order[position[open_rows]]
            equal = _equal_rows(queries, open_rows, X, candidates)
            found[open_rows[equal]] = candidates[equal]
            open_rows = open_rows[~equal]
            position[open_rows] += 1
        return found


def _hash_rows(X: Any) -> np.ndarray:
    """Return 64 bits a row: a sum over its numbers, to which zeros add nothing."""
    factors = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * 2 + 1
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for rows in row_blocks(X.shape[0], _block_rows(X)):
        part = X[rows]
        if sp.issparse(part):
            part.sum_duplicates()
            terms = _bits(part.data) * factors[part.indices]
            sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
            hashes[rows] = sums[part.indptr[1:]] - sums[part.indptr[:-1]]
        else:
            hashes[rows] = _bits(part) @ factors
    return hashes


def _bits(numbers: np.ndarray) -> np.ndarray:
    # Adding zero turns -0.0 to 0.0. Round numbers have zeros in their last bits, and so would sums.
    bits = (np.ascontiguousarray(numbers, dtype=np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def _equal_rows(A: Any, rows_A: np.ndarray, B: Any, rows_B: np.ndarray) -> np.ndarray:
    """Return which of the pairs of rows of A and B are equal."""
    equal = np.empty(len(rows_A), dtype=bool)
    for block in row_blocks(len(rows_A), _block_rows(A, B)):
        left, right = A[rows_A[block]], B[rows_B[block]]
        if sp.issparse(left) or sp.issparse(right):
            unequal = sp.csr_array(left) != sp.csr_array(right)
            equal[block] = np.diff(sp.csr_array(unequal).indptr) == 0
        else:
            equal[block] = (left == right).all(axis=1)
    return equal


def _block_rows(*matrices: Any) -> int:
    """Return how many rows make a block of each of these."""
    widths = [X.nnz // max(1, X.shape[0]) if sp.issparse(X) else X.shape[1] for X in matrices]
    return max(1, _BLOCK_SIZE // max(1, *widths))
