"""Sparse matrices on a device, with products that repeat to the bit.

Must not know what the matrices mean.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .device_arrays import DeviceArray
from .device_torch import own_errors, tensor_of, torch_module

#: Sparse matrices on a device, and their transposes, by the objects that they belong to.
_kept: WeakKeyDictionary[Any, dict[bool, DeviceSparse]] = WeakKeyDictionary()

#: Stored entries that are summed one after the other; a longer row is cut into parts, of which a
#: device sums many at a time.
_LONGEST = 256


def sparse_on_device(
    owner: Any, matrix: Any, V: DeviceArray, *, transposed: bool = False
) -> DeviceSparse:
    """Return the matrix of an owner where V is; it is kept there for further products."""
    device, kept = V.tensor.device, _kept.setdefault(owner, {})
    if transposed not in kept or kept[transposed].device != device:
        kept[transposed] = DeviceSparse(matrix.T.tocsr() if transposed else matrix, device)
    return kept[transposed]


def sparse_bytes(n: int, stored: float) -> int:
    """Return the memory of a matrix of n rows on a device."""
    return int(16 * (n + stored) + 16 * stored / _LONGEST)


def release_sparse() -> None:
    """Forget the matrices that are kept on a device."""
    _kept.clear()


class DeviceSparse:
    """A sparse matrix on the device, whose products repeat to the bit.

    Each entry of a product is a weighted sum of rows in the order of the stored entries, as of the
    words of a text, or a sum of such sums. Products of cuSPARSE with many columns do not repeat.

    Parameters
    ----------
    matrix : CSR matrix of shape (n, d)
        The matrix, on the host.
    device : torch.device
        Where it is put.
    """

    def __init__(self, matrix: Any, device: Any) -> None:
        self.device = device
        with own_errors():
            self._columns = tensor_of(matrix.indices.astype(np.int64)).to(device)
            starts, parts = _cut(matrix.indptr.astype(np.int64))
            self._starts = tensor_of(starts).to(device)
            self._parts = None if parts is None else tensor_of(parts).to(device)
            self._values = tensor_of(matrix.data.astype(np.float64)).to(device)

    def __matmul__(self, V: DeviceArray) -> DeviceArray:
        """Return the product with a block of columns in float64."""
        with own_errors():
            found = _sums(self._columns, V.tensor, self._starts, self._values)
            if self._parts is not None:
                order = torch_module().arange(len(found), device=self.device)
                found = _sums(order, found, self._parts)
            return DeviceArray(found)


def _sums(index: Any, rows: Any, starts: Any, weights: Any = None) -> Any:
    """Return sums of the rows of an index, of which one starts where the one before has ended."""
    return torch_module().nn.functional.embedding_bag(
        index, rows, starts, mode="sum", per_sample_weights=weights, include_last_offset=True
    )


def _cut(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return where parts of at most `_LONGEST` entries start, and where rows do among the parts.

    The latter is None where all rows are as short.
    """
    counts = np.maximum(-(-np.diff(starts) // _LONGEST), 1)
    if counts.max(initial=1) == 1:
        return starts, None
    rows = np.append(0, np.cumsum(counts))
    within = np.arange(rows[-1]) - np.repeat(rows[:-1], counts)
    return np.append(np.repeat(starts[:-1], counts) + _LONGEST * within, starts[-1]), rows
