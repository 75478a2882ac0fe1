"""The device that is used, and what moves to it and back.

Which device that is, if any, is one setting, `use_device`. Nothing moves unless `to_device`, `like`
or `on_host` is called, in the few places where a step is heavy; the steps themselves are written
for NumPy, and compute where their arrays are (`device_arrays`). Must not know what is computed.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, Token, copy_context
from functools import cache, wraps
from typing import Any, TypeGuard, TypeVar
from weakref import ref

import numpy as np

from . import device_functions as device_functions
from .device_arrays import DeviceArray
from .device_sparse import release_sparse
from .device_torch import copied_to, own_errors, release_memory, tensor_of, torch_module
from .memory import memory_budget
from .threads import Item, Result, map_blocks

#: The devices that calls have set for this process, with those calls: the last one counts. And the
#: device of a context. "" is the host. Where nothing is set, the environment decides.
_calls: tuple[tuple[str, ref[use_device]], ...] = ()
_calls_lock = threading.Lock()
_within: ContextVar[str | None] = ContextVar("lapwing_device", default=None)
Method = TypeVar("Method", bound=Callable[..., Any])

#: Number of arrays that were moved to a device.
_moves = 0
logger = logging.getLogger(__name__)
_ON_HOST = "%s: no step of this fit has a path on the device %s, so it runs on the host"

#: Share of the memory of a device that results computed at a time may take, and their most bytes.
_BLOCK_SHARE, _BLOCK_BYTES = 0.03, 4_000_000_000
#: Bytes of intermediate results on a device, at most.
DEVICE_WORK = 2 * _BLOCK_BYTES
#: Bytes of arrays that fit in any case, and times that others must fit.
_SMALL, _ROOM = 100_000_000, 4
#: Numbers that are computed from a tile of the host, and the most bytes of a tile on a device.
_HOST_ENTRIES, _TILE_BYTES = 1_000_000, 256_000_000
#: Intermediate results beside the final one, and the entries where torch computes on the host.
_COPIES, _CPU_ENTRIES = 4, 4_000_000
#: Share of the free memory of a device that is used: libraries need some for themselves.
_DEVICE_SHARE = 0.95


# ---------------------------------------------------------------- the device


class use_device:
    """Compute on a device from now on, or within a context.

    Arrays stay NumPy arrays; what is large is copied to the device, and results are copied back. A
    fitted model does not depend on it. Steps that have no path on a device run on the host.

    Parameters
    ----------
    name : str or None
        A device of torch such as "cuda" or "cuda:1"; "cpu" computes with torch on the host, which
        is for tests. None is NumPy on the host.

    Notes
    -----
    As a call it holds for all threads of the process, as a context for the present one and those
    that it starts; before the context is entered, it is a call. The environment variable
    ``LAPWING_DEVICE`` is the default, also of processes that are started, such as workers.

    Examples
    --------
    >>> import lapwing
    >>> with lapwing.use_device(None):  # "cuda", where there is one
    ...     model = lapwing.LapSVC().fit([[0.0], [1.0], [4.0], [5.0]], [0, -1, -1, 1])
    >>> model.predict([[0.5]])
    array([0])
    """

    def __init__(self, name: str | None) -> None:
        global _calls
        self._name = _checked(name)
        self._tokens: list[Token[str | None]] = []
        with _calls_lock:
            # A call whose object is gone stays in effect, so that those before it do not matter.
            gone = [at for at, (_, call) in enumerate(_calls) if call() is None]
            _calls = (*_calls[gone[-1] if gone else 0 :], (self._name, ref(self)))

    def __enter__(self) -> None:
        global _calls
        with _calls_lock:  # this call turns out to be for a context only, others may be as well
            _calls = tuple(entry for entry in _calls if entry[1]() is not self)
        self._tokens.append(_within.set(self._name))

    def __exit__(self, *_: object) -> None:
        _release()
        _within.reset(self._tokens.pop())


def active_device() -> str | None:
    """Return the device that is used, or None for the host."""
    name, calls = _within.get(), _calls
    if name is None and calls:
        name = calls[-1][0]
    if name is None:
        name = _of_environment(os.environ.get("LAPWING_DEVICE", "").strip())
    return name or None


@cache
def _of_environment(name: str) -> str:
    """Return `_checked`, which waits for the device, once per name."""
    return _checked(name or None)


def _checked(name: str | None) -> str:
    """Return the name of a device of torch that exists, or "" for the host."""
    if name is None:
        return ""
    try:
        torch = torch_module()
        device = torch.device(name)
        with own_errors():
            torch.zeros(1, dtype=torch.float64, device=device).cpu().item()
    except ImportError as error:
        raise ImportError(
            f'the device {name!r} needs torch: pip install "lapwing[gpu]", or use_device(None)'
        ) from error
    except (RuntimeError, TypeError, AssertionError) as error:
        reason = str(error).partition(":")[0].splitlines()[0]
        raise ValueError(
            f"the device {name!r} cannot be used ({reason}): name a device of torch with double "
            "precision, such as 'cuda', or compute on the host by use_device(None) and without "
            "the environment variable LAPWING_DEVICE"
        ) from error
    return str(device)


def _release() -> None:
    """Give memory that is kept for later back to the device."""
    release_sparse()
    release_memory()


def device_budget() -> int:
    """Return the bytes that may be allocated on the device; ``memory_limit`` is for the host."""
    torch, device = torch_module(), torch_module().device(active_device())
    if device.type != "cuda":
        return memory_budget(None)
    free, _ = torch.cuda.mem_get_info(device)
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(_DEVICE_SHARE * (free + cached))


# ---------------------------------------------------------------- between host and device


def is_on_device(X: Any) -> TypeGuard[DeviceArray]:
    """Return whether an array is on a device."""
    return isinstance(X, DeviceArray)


def moves_to_device(X: Any) -> bool:
    """Return whether `to_device` moves an array: a dense one of numbers, if a device is used."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiu" and active_device() is not None


def to_device(X: Any) -> Any:
    """Return a dense array on the device that is used; without one, or sparse, as it is.

    So is one that, with what is computed from it, does not fit into the memory of the device.
    """
    if not moves_to_device(X) or (X.nbytes > _SMALL and _ROOM * X.nbytes > device_budget()):
        return X
    _count_move()
    return DeviceArray(copied_to(X, active_device()))


def like(X: Any, V: Any) -> Any:
    """Return V where X is, and as it is if that is the host."""
    if not isinstance(X, DeviceArray) or not isinstance(V, np.ndarray):
        return V
    return DeviceArray(copied_to(V, X.tensor.device))


def on_host(X: Any) -> Any:
    """Return an array of the device as one of NumPy; others as they are."""
    if not isinstance(X, DeviceArray):
        return X
    with own_errors():
        return X.tensor.cpu().numpy()


def block_entries(X: Any, on_host: int) -> int:
    """Return how many numbers to compute at a time where X is, given that of the host.

    A host has caches to stay in, and a device has many cores to keep busy.
    """
    if not isinstance(X, DeviceArray):
        return on_host
    device = X.tensor.device
    return _entries(device) if device.type == "cuda" else max(on_host, _entries(device))


def _entries(device: Any) -> int:
    """Return how many numbers are computed at a time on a device of torch."""
    if device.type != "cuda":
        return _CPU_ENTRIES
    room = _BLOCK_SHARE * torch_module().cuda.get_device_properties(device).total_memory
    return int(min(room, _BLOCK_BYTES)) // (8 * _COPIES)


def map_where(X: Any, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``[function(item) for item in items]``, on all threads if X is on the host.

    A device has threads of its own, and memory for one block at a time.
    """
    if isinstance(X, DeviceArray):
        return [function(item) for item in items]
    return map_blocks(function, items)


def device_rows(X: Any, tile: int) -> int:
    """Return the rows of a tile on the device, given those of a tile of the host.

    They are as many times more as a device computes numbers at a time.
    """
    times = max(_entries(torch_module().device(active_device())) // _HOST_ENTRIES, 1)
    return max(min(tile * times, _TILE_BYTES // max(X[:1].nbytes, 1)), tile)


def device_tiles(X: Any, size: int) -> Iterator[DeviceArray]:
    """Yield consecutive dense rows on the device, the next ones copied meanwhile.

    Rows pass through two buffers that cannot be paged out, which doubles the speed of copies, by a
    thread of its own, since the work on rows may wait for the device. A buffer is overwritten only
    when its copy has ended, and rows on the device only when the work on them has.
    """
    torch, name = torch_module(), active_device()
    _count_move()
    n = X.shape[0]
    starts = range(0, n, size)
    if torch.device(name).type != "cuda":
        for first in starts:
            yield DeviceArray(copied_to(X[first : first + size], name))
        return
    dtype, shape = tensor_of(X[:1]).dtype, (min(size, n), *X.shape[1:])
    with own_errors():
        # The host is named because the user may have set another default of torch.
        pinned = [torch.empty(shape, dtype=dtype, device="cpu", pin_memory=True) for _ in range(2)]
        tiles = [torch.empty(shape, dtype=dtype, device=name) for _ in range(2)]
    copies, work = torch.cuda.Stream(name), torch.cuda.current_stream(name)
    copies.wait_stream(work)  # the memory of the buffers may have been used just before
    copied = [torch.cuda.Event() for _ in range(2)]
    used = [torch.cuda.Event() for _ in range(2)]

    def copy(number: int) -> int:
        slot, first = number % 2, starts[number]
        rows = min(size, n - first)
        copied[slot].synchronize()
        pinned[slot][:rows].copy_(tensor_of(X[first : first + rows]))
        with torch.cuda.stream(copies):
            copies.wait_event(used[slot])
            tiles[slot][:rows].copy_(pinned[slot][:rows], non_blocking=True)
            copied[slot].record(copies)
        return rows

    copier = ThreadPoolExecutor(1)
    try:
        following = copier.submit(copy_context().run, copy, 0) if len(starts) else None
        for number in range(len(starts)):
            assert following is not None
            ready, slot = following.result(), number % 2
            if number + 1 < len(starts):
                following = copier.submit(copy_context().run, copy, number + 1)
            work.wait_event(copied[slot])
            yield DeviceArray(tiles[slot])[:ready]
            used[slot].record(work)
    finally:  # also where the work on a tile has failed
        copier.shutdown()
        copies.synchronize()


def _count_move() -> None:
    global _moves
    _moves += 1


# ---------------------------------------------------------------- tensors of users


def is_tensor(X: Any) -> bool:
    """Return whether an object is a tensor of torch, which is not imported for this."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def follows_tensors(method: Method) -> Method:
    """Let a method of rows X take tensors: it computes on their device, and returns tensors there.

    X is the first argument, or has that name. Labels and checks are on the host, to which tensors
    are copied. Tensors of the host are arrays of the host. At the end of a fit, memory that is kept
    on a device is given back, and a fit without any step there is logged.
    """

    @wraps(method)
    def following(self: Any, *args: Any, **kwargs: Any) -> Any:
        X: Any = kwargs.get("X", args[0] if args else None)
        args, kwargs = _as_arrays(args), _as_arrays(kwargs)
        own = _checked(str(X.device)) if is_tensor(X) and X.device.type != "cpu" else None
        token = _within.set(own) if own else None
        before, uses_device = _moves, method.__name__ == "fit" and active_device() is not None
        try:
            found = method(self, *args, **kwargs)
        finally:
            if uses_device:
                _release()
                if _moves == before:
                    logger.info(_ON_HOST, type(self).__name__, active_device())
            if token is not None:
                _within.reset(token)
        if is_tensor(X) and isinstance(found, np.ndarray) and found.dtype.kind in "fbiu":
            found = copied_to(found, X.device)
        return found

    return following  # type: ignore[return-value]


def _as_arrays(given: Any) -> Any:
    """Return tensors as arrays of the host, also those in a tuple or a dictionary."""
    if is_tensor(given):
        return _as_array(given)
    if isinstance(given, tuple):
        return tuple(map(_as_arrays, given))
    if type(given) is dict:
        return {name: _as_arrays(value) for name, value in given.items()}
    return given


@own_errors()
def _as_array(tensor: Any) -> np.ndarray:
    torch = torch_module()
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        raise TypeError(
            f"tensors must be dense and have values, and this one is {tensor.layout} on "
            f"{tensor.device}: pass X.to_dense(), or a sparse matrix of SciPy"
        )
    tensor = tensor.detach().cpu().resolve_neg().resolve_conj()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    found: np.ndarray = tensor.numpy()
    return found
