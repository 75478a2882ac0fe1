"""torch itself: its import, copies to a device, its errors and its settings.

Must not know which device is used, nor of arrays that answer NumPy's functions (`device_arrays`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

#: Bytes of arrays that are copied to a device without waiting for it.
_SMALL_COPY = 4_000_000
#: What errors of torch, and of the vendor's libraries for products and decompositions, say.
_NO_MEMORY = ("out of memory", "STATUS_ALLOC_FAILED")

_precision_lock = threading.Lock()
_n_exact = 0  # products in full precision now
_restore_precision: Callable[[], None]


def torch_module() -> Any:
    """Return torch, which is imported here and nowhere else."""
    import torch

    return torch


def tensor_of(X: np.ndarray) -> Any:
    """Return a tensor of an array, over its memory where torch can: copy it, or do not write."""
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    elif X.dtype.kind == "u" and X.dtype.itemsize > 1:
        X = X.astype(np.int64)
    elif not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    if any(stride < 0 or stride % X.dtype.itemsize for stride in X.strides):
        X = X.copy()
    if not X.flags.writeable:  # torch warns
        X = X.view()
        try:
            X.flags.writeable = True
        except ValueError:
            X = X.copy()
    return torch_module().from_numpy(X)


@contextmanager
def own_errors() -> Iterator[None]:
    """Compute in the precision of the arrays; raise our own error if memory does not suffice.

    As a decorator it is for functions that need torch in any case, since it imports it.
    """
    torch = torch_module()
    try:
        if torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu"):
            with torch.autocast("cuda", enabled=False), torch.autocast("cpu", enabled=False):
                yield
        else:
            yield
    except RuntimeError as error:
        if not any(reason in str(error) for reason in _NO_MEMORY):
            raise
        release_memory()
        raise MemoryError(
            "the memory of the device does not suffice: fit fewer rows or columns, use fewer "
            "landmarks or prototypes, close other programs on the device, or use_device(None)"
        ) from error


@own_errors()
def copied_to(X: np.ndarray, device: Any) -> Any:
    """Return a tensor on a device with the entries of an array.

    Small arrays pass through memory that cannot be paged out, so that nothing has to wait until the
    device has done the work before.
    """
    tensor, torch = tensor_of(X), torch_module()
    if torch.device(device).type == "cuda" and X.nbytes <= _SMALL_COPY:
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device, copy=True)


def release_memory() -> None:
    """Give memory that torch keeps for later back to the device."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


@contextmanager
def full_precision(torch: Any) -> Iterator[None]:
    """Compute without TensorFloat-32 until the last of overlapping contexts ends.

    torch has one setting for all threads: that of the user is restored when no product needs it.
    """
    global _n_exact, _restore_precision
    with _precision_lock:
        if _n_exact == 0:
            _restore_precision = _without_tf32(torch)
        _n_exact += 1
    try:
        yield
    finally:
        with _precision_lock:
            _n_exact -= 1
            if _n_exact == 0:
                _restore_precision()


def _without_tf32(torch: Any) -> Callable[[], None]:
    """Set full precision in the one of torch's two settings that the user has changed.

    Returns what sets it back.
    """
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:  # the newer setting, which does not go together with the older one
        matmul = torch.backends.cuda.matmul
        before, matmul.fp32_precision = matmul.fp32_precision, "ieee"
        return lambda: setattr(matmul, "fp32_precision", before)
    if before == "highest":
        return lambda: None
    torch.set_float32_matmul_precision("highest")
    return lambda: torch.set_float32_matmul_precision(before)
