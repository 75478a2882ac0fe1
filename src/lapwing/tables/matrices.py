"""Files that contain a ready matrix and perhaps its targets: ``.npz`` and svmlight.

Nothing in a file is executed: arrays of Python objects are refused. Must not know what a target
means.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from ..arrays.text_source import unpacked_size
from .table import MemoryCheck, Table

#: Errors that reading a damaged archive can raise.
_DAMAGED = (
    ValueError,
    EOFError,
    KeyError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    struct.error,
    zlib.error,
)


def read_npz(path: Path, check_memory: MemoryCheck) -> Table:
    """Read arrays of numpy; see `read_table`."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(member.file_size for member in packed.infolist())
        check_memory(0, 0, 2.0 * size)
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except zipfile.BadZipFile:
        raise ValueError(f"{path.name} is not an .npz file: write it with numpy.savez") from None
    except _DAMAGED as error:
        if "allow_pickle" not in str(error):
            raise ValueError(f"{path.name} cannot be read: {error}") from None
        raise ValueError(
            f"{path.name} contains Python objects, which are not read: store texts as an array of "
            "type str, and numbers as float64"
        ) from None
    X = _stored_matrix(arrays, path.name)
    y = arrays.get("y")
    if y is not None and (y.shape != (X.shape[0],) or y.dtype.kind not in "iufbU"):
        raise ValueError(
            f"{path.name}: y must be an array of {X.shape[0]} numbers or texts, one for each row "
            f"of X; it has shape {y.shape} and type {y.dtype}"
        )
    return _matrix_table(path.name, X, y)


def _stored_matrix(arrays: dict[str, np.ndarray], source: str) -> Any:
    if "X" in arrays:
        X = arrays["X"]
        if X.ndim != 2 or X.dtype.kind not in "iufb":
            raise ValueError(
                f"{source}: X must be a matrix of numbers; it has shape {X.shape} and type "
                f"{X.dtype}"
            )
        return np.ascontiguousarray(X, dtype=np.float64)
    if not {"data", "indices", "indptr", "shape"} <= set(arrays):
        raise ValueError(
            f"{source} needs an array X, or data, indices, indptr and shape of a CSR matrix; it "
            f"has {', '.join(arrays) or 'nothing'}"
        )
    if "format" in arrays and arrays["format"].item() not in (b"csr", "csr"):
        raise ValueError(f"{source}: the sparse matrix must be CSR: store X.tocsr()")
    try:
        rows, columns = (int(side) for side in arrays["shape"].ravel())
        parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
        X = sparse.csr_matrix(parts, shape=(rows, columns))
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{source} contains no CSR matrix: {error}") from None
    X.sum_duplicates()
    return X


def read_svmlight(path: Path, check_memory: MemoryCheck) -> Table:
    """Read a file of targets and ``index:value``; see `read_table`."""
    # "7:1" and a space become twelve or sixteen bytes.
    check_memory(0, 0, 4.0 * unpacked_size(path))
    try:
        # Indices are never shifted: a part of a file does not show whether it counts from 0 or
        # from 1, and new rows must use the columns of the training rows.
        X, y = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OverflowError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be read as svmlight: {error}") from None
    check_memory(X.shape[0], X.shape[1], 16.0 * X.shape[1])  # a few numbers for each column
    return _matrix_table(path.name, sparse.csr_matrix(X, dtype=np.float64), y)


def _matrix_table(source: str, X: Any, y: np.ndarray | None) -> Table:
    if 0 in X.shape:
        raise ValueError(
            f"{source} has {X.shape[0]} rows and {X.shape[1]} columns: give at least one of each"
        )
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        entries = sparse.coo_matrix(X)
        first = np.flatnonzero(~np.isfinite(entries.data))[0]
        raise ValueError(
            f"{source}: column {entries.col[first] + 1} of X is NaN or infinite in row "
            f"{entries.row[first] + 1}: fill or remove such entries first"
        )
    return Table(source, X.shape[0], X=X, y=y)
