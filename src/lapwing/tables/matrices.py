"""Files that hold a ready matrix and perhaps its targets: ``.npz`` and svmlight.

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

from .delimited import MemoryCheck
from .table import Table

#: What reading a damaged archive can raise.
_DAMAGED = (
    ValueError,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    struct.error,
    zlib.error,
)
_SPARSE_PARTS = ("data", "indices", "indptr", "shape")


def read_npz(path: Path, check: MemoryCheck) -> Table:
    """Read arrays of numpy; see `read_table`."""
    try:
        with zipfile.ZipFile(path) as packed:
            need = sum(member.file_size for member in packed.infolist())
        check(0, 0, 2.0 * need)
        with np.load(path, allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays.files}
    except zipfile.BadZipFile:
        raise ValueError(f"{path.name} is no .npz file: write it with numpy.savez") from None
    except _DAMAGED as error:
        if "allow_pickle" not in str(error):
            raise ValueError(f"{path.name} cannot be read: {error}") from None
        raise ValueError(
            f"{path.name} holds Python objects, which are not read: store texts as an array of "
            "type str, and numbers as float64"
        ) from None
    X = _matrix_of(held, path.name)
    y = held.get("y")
    if y is not None:
        if y.ndim != 1 or len(y) != X.shape[0]:
            raise ValueError(f"{path.name}: X has {X.shape[0]} rows, y has the shape {y.shape}")
        if y.dtype.kind not in "iufbU":
            raise ValueError(f"{path.name}: y must hold numbers or texts, not {y.dtype}")
    return _matrix_table(path.name, X, y)


def _matrix_of(held: dict[str, np.ndarray], source: str) -> Any:
    if "X" in held:
        X = held["X"]
        if X.ndim != 2 or X.dtype.kind not in "iufb":
            raise ValueError(
                f"{source}: X must be a matrix of numbers, it has shape {X.shape} of {X.dtype}"
            )
        return np.ascontiguousarray(X, dtype=np.float64)
    if not all(part in held for part in _SPARSE_PARTS):
        raise ValueError(
            f"{source} needs an array X, or data, indices, indptr and shape of a CSR matrix; it "
            f"has {', '.join(held) or 'nothing'}"
        )
    stored = held.get("format")
    if stored is not None and stored.item() not in (b"csr", "csr"):
        raise ValueError(f"{source}: the sparse matrix must be CSR: store X.tocsr()")
    try:
        rows, columns = (int(side) for side in held["shape"].ravel())
        parts = (held["data"].astype(np.float64), held["indices"], held["indptr"])
        X = sparse.csr_matrix(parts, shape=(rows, columns))
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{source} holds no CSR matrix: {error}") from None
    X.sum_duplicates()
    return X


def read_svmlight(path: Path, size: int, check: MemoryCheck) -> Table:
    """Read a file of targets and ``index:value``; see `read_table`."""
    unpacked = 4 * size if path.suffix.lower() == ".gz" else size
    check(0, 0, 4.0 * unpacked)  # "7:1" and a space become twelve bytes or sixteen
    try:
        # Never shifted: whether a file begins to count at 0 or at 1 cannot be seen on a part of
        # it, and new rows must go to the columns of the old ones.
        X, y = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OverflowError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be read as svmlight: {error}") from None
    check(X.shape[0], X.shape[0], 16.0 * X.shape[1])  # a few numbers for each column
    return _matrix_table(path.name, sparse.csr_matrix(X, dtype=np.float64), y)


def _matrix_table(source: str, X: Any, y: np.ndarray | None) -> Table:
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{source} has {X.shape[0]} rows and {X.shape[1]} columns: nothing to use")
    values = X.data if sparse.issparse(X) else X
    if not np.isfinite(values).all():
        bad = ~np.isfinite(values)
        if sparse.issparse(X):
            entry = int(np.flatnonzero(bad)[0])
            row, column = np.searchsorted(X.indptr, entry, side="right") - 1, X.indices[entry]
        else:
            row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{source}: column {column + 1} of X is NaN or infinite in row {row + 1}: fill or "
            "remove such entries first"
        )
    return Table(source, X.shape[0], X=X, y=y)
