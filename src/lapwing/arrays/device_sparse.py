"""Sparse matrices on a device, with products that repeat to the bit.

Must not know what the matrices mean.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .device_arrays import DeviceArray, own_errors, tensor_of, torch_module

#: Sparse matrices on a device, by the objects that they belong to.
_kept: WeakKeyDictionary[Any, DeviceSparse] = WeakKeyDictionary()


def sparse_on_device(owner: Any, matrix: Any, V: DeviceArray) -> DeviceSparse:
    """Return the matrix of an owner where V is; it is kept there for further products."""
    device = V.tensor.device
    found: DeviceSparse | None = _kept.get(owner)
    if found is None or found.device != device:
        _kept[owner] = found = DeviceSparse(matrix, device)
    return found


def release_sparse() -> None:
    """Forget the matrices that are kept on a device."""
    _kept.clear()


class DeviceSparse:
    """A sparse matrix on the device, whose products repeat to the bit.

    Each entry of a product is a weighted sum of rows in the order of the stored entries, as of the
    words of a text. Products of cuSPARSE with many columns do not repeat.

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
            self._starts = tensor_of(matrix.indptr.astype(np.int64)).to(device)
            self._values = tensor_of(matrix.data.astype(np.float64)).to(device)

    def __matmul__(self, V: DeviceArray) -> DeviceArray:
        """Return the product with a block of columns in float64."""
        with own_errors():
            return DeviceArray(
                torch_module().nn.functional.embedding_bag(
                    self._columns,
                    V.tensor,
                    self._starts,
                    mode="sum",
                    per_sample_weights=self._values,
                    include_last_offset=True,
                )
            )
