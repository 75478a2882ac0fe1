"""What NumPy's functions of whole arrays do with arrays on a device.

`device_arrays` has those of entries; `device` imports this for its effect. Must not know what is
computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .device_arrays import FUNCTIONS, DeviceArray, operand, torch_dtype, wrapped
from .device_torch import own_errors, torch_module


def k_smallest_columns(values: DeviceArray, k: int) -> tuple[DeviceArray, DeviceArray]:
    """Return the k smallest entries of each row, ascending, and their columns."""
    with own_errors():
        found, columns = values.tensor.topk(k, dim=1, largest=False)
    return DeviceArray(found), DeviceArray(columns)


def _answers(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what answers functions of NumPy."""

    def register(answer: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, answer))
        return answer

    return register


@_answers(np.zeros_like)
def _zeros_like(a: DeviceArray, dtype: Any = None, *, shape: Any = None) -> DeviceArray:
    found = _empty_like(a, dtype, shape=shape)
    found.tensor.zero_()
    return found


@_answers(np.empty_like)
def _empty_like(a: DeviceArray, dtype: Any = None, *, shape: Any = None) -> DeviceArray:
    shape = a.shape if shape is None else shape
    kind = a.tensor.dtype if dtype is None else torch_dtype(dtype)
    return DeviceArray(torch_module().empty(shape, dtype=kind, device=a.tensor.device))


@_answers(np.ones_like)
def _ones_like(a: DeviceArray) -> DeviceArray:
    return DeviceArray(torch_module().ones_like(a.tensor))


@_answers(np.where)
def _where(condition: DeviceArray, a: Any, b: Any) -> DeviceArray:
    device = next(x.tensor.device for x in (condition, a, b) if isinstance(x, DeviceArray))
    return DeviceArray(torch_module().where(*(operand(x, device) for x in (condition, a, b))))


@_answers(np.concatenate)
def _concatenate(parts: Any, axis: int = 0) -> DeviceArray:
    device = next(x.tensor.device for x in parts if isinstance(x, DeviceArray))
    return DeviceArray(torch_module().cat([operand(x, device) for x in parts], dim=axis))


@_answers(np.vstack)
def _vstack(parts: Any) -> DeviceArray:
    return _concatenate(parts, axis=0)


@_answers(np.hstack)
def _hstack(parts: Any) -> DeviceArray:
    return _concatenate(parts, axis=1)


@_answers(np.hsplit)
def _hsplit(a: DeviceArray, n: int) -> list[DeviceArray]:
    return [DeviceArray(part) for part in a.tensor.chunk(n, dim=1)]


@_answers(np.einsum)
def _einsum(subscripts: str, *operands: Any) -> DeviceArray:
    device = next(x.tensor.device for x in operands if isinstance(x, DeviceArray))
    tensors = [operand(x, device) for x in operands]
    if subscripts in ("ij,ij->i", "ij,ij->j"):  # without forming a batch of small products
        return DeviceArray((tensors[0] * tensors[1]).sum(dim=1 if subscripts[-1] == "i" else 0))
    return DeviceArray(torch_module().einsum(subscripts, *tensors))


@_answers(np.fill_diagonal)
def _fill_diagonal(a: DeviceArray, value: float) -> None:
    a.tensor.fill_diagonal_(value)


@_answers(np.take_along_axis)
def _take_along_axis(a: DeviceArray, index: DeviceArray, axis: int) -> DeviceArray:
    return DeviceArray(a.tensor.gather(axis, index.tensor))


@_answers(np.partition)
def _partition(a: DeviceArray, kth: int, axis: int = -1) -> DeviceArray:
    """Return the entries in order, which is more than is asked for."""
    return DeviceArray(a.tensor.sort(dim=axis).values)


@_answers(np.flatnonzero)
def _flatnonzero(a: DeviceArray) -> np.ndarray:
    """Return indices on the host, since they are few."""
    return a.tensor.reshape(-1).nonzero()[:, 0].cpu().numpy()


@_answers(np.linalg.norm)
def _norm(a: DeviceArray, axis: int | None = None) -> DeviceArray:
    return DeviceArray(torch_module().linalg.vector_norm(a.tensor, dim=axis))


@_answers(np.linalg.qr)
def _qr(a: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    return wrapped(tuple(torch_module().linalg.qr(a.tensor)))


@_answers(np.linalg.eigh)
def _eigh(a: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    return wrapped(tuple(torch_module().linalg.eigh(a.tensor)))


@_answers(np.shape)
def _shape(a: DeviceArray) -> tuple[int, ...]:
    return a.shape
