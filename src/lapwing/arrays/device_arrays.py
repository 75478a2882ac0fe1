"""Arrays on a device: torch tensors that answer NumPy's functions.

NumPy lets other arrays answer its functions (NEP 13 and 18), so that code which is written for
NumPy computes where its arrays are: kernels, products and sums know nothing about devices. Small
arrays of the host that meet those of the device follow; the other way is an error, see
`device.on_host`.

Must not know which device is used, nor what is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .device_torch import copied_to, full_precision, own_errors, torch_module


class DeviceArray(NDArrayOperatorsMixin):
    """A torch tensor that answers NumPy's functions, as far as they are used here.

    Operators, indexing and methods are those of an ndarray. Results are on the device. To convert
    one to an ndarray by accident is an error: `on_host` does it.

    Parameters
    ----------
    tensor : torch.Tensor
        The entries.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("an array on a device is not converted silently: call on_host")

    @own_errors()
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or ufunc.__name__ not in _UFUNCS:
            return NotImplemented
        out = options.pop("out", (None,))[0]
        where = options.pop("where", True)
        if options:
            return NotImplemented
        device = next(x.tensor.device for x in (*inputs, out) if isinstance(x, DeviceArray))
        args = [operand(x, device) for x in inputs]
        if any(_is_double(x) for x in inputs):  # a number of NumPy's own is in double precision
            single = torch_module().float32
            args = [x.double() if getattr(x, "dtype", 0) == single else x for x in args]
        if out is None:
            return wrapped(_UFUNCS[ufunc.__name__](*args))
        if not isinstance(out, DeviceArray):
            raise TypeError("the results of an array on a device do not fit into host memory")
        if where is not True:
            found = _UFUNCS[ufunc.__name__](*args)
            out.tensor.copy_(torch_module().where(operand(where, device), found, out.tensor))
        elif ufunc.__name__ in _IN_PLACE and args[0] is out.tensor:
            _IN_PLACE[ufunc.__name__](*args)
        else:
            out.tensor.copy_(_UFUNCS[ufunc.__name__](*args))
        return out

    @own_errors()
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        answer = FUNCTIONS.get(func)
        if answer is None:
            return NotImplemented
        return answer(*args, **kwargs)

    @own_errors()
    def __getitem__(self, key: Any) -> DeviceArray:
        return DeviceArray(self.tensor[_key(key, self.tensor.device)])

    @own_errors()
    def __setitem__(self, key: Any, value: Any) -> None:
        value = operand(value, self.tensor.device)
        if hasattr(value, "dtype"):  # torch converts for slices only
            value = value.to(self.tensor.dtype)
        self.tensor[_key(key, self.tensor.device)] = value

    def __len__(self) -> int:
        return len(self.tensor)

    def __iter__(self) -> Iterator[DeviceArray]:
        return (DeviceArray(row) for row in self.tensor)

    @own_errors()
    def __float__(self) -> float:
        return float(self.tensor)

    @own_errors()
    def __int__(self) -> int:
        return int(self.tensor)

    @own_errors()
    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __repr__(self) -> str:
        return f"DeviceArray({self.tensor!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self.tensor.ndim)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.tensor.numel())

    @property
    def dtype(self) -> np.dtype:
        """Type of the entries, as NumPy's."""
        return np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    @property
    def T(self) -> DeviceArray:
        """The transpose, a view."""
        return DeviceArray(self.tensor.mT if self.ndim > 1 else self.tensor)

    @own_errors()
    def astype(self, dtype: Any, copy: bool = True) -> DeviceArray:
        """Return the entries in another type."""
        return DeviceArray(self.tensor.to(torch_dtype(dtype), copy=copy))

    @own_errors()
    def copy(self, order: str = "C") -> DeviceArray:
        """Return a copy, in the order of rows whatever is asked for."""
        return DeviceArray(self.tensor.clone(memory_format=torch_module().contiguous_format))

    @own_errors()
    def reshape(self, *shape: Any) -> DeviceArray:
        """Return the entries in another shape."""
        return DeviceArray(self.tensor.reshape(*shape))

    @own_errors()
    def ravel(self) -> DeviceArray:
        """Return the entries as a vector."""
        return DeviceArray(self.tensor.reshape(-1))

    @own_errors()
    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> DeviceArray:
        """Return sums."""
        kind = {} if dtype is None else {"dtype": torch_dtype(dtype)}
        axis = tuple(range(self.ndim)) if axis is None else axis
        return DeviceArray(self.tensor.sum(dim=axis, keepdim=keepdims, **kind))

    @own_errors()
    def mean(self, axis: Any = None, keepdims: bool = False) -> DeviceArray:
        """Return means."""
        axis = tuple(range(self.ndim)) if axis is None else axis
        return DeviceArray(self.tensor.mean(dim=axis, keepdim=keepdims))

    @own_errors()
    def max(self, axis: Any = None, keepdims: bool = False, initial: Any = None) -> DeviceArray:
        """Return the largest entries, at least ``initial``."""
        found = self.tensor if axis is None else self.tensor.amax(dim=axis, keepdim=keepdims)
        found = found.max() if axis is None else found
        return DeviceArray(found if initial is None else found.clamp_min(initial))

    @own_errors()
    def min(self, axis: Any = None, keepdims: bool = False, initial: Any = None) -> DeviceArray:
        """Return the smallest entries, at most ``initial``."""
        found = self.tensor if axis is None else self.tensor.amin(dim=axis, keepdim=keepdims)
        found = found.min() if axis is None else found
        return DeviceArray(found if initial is None else found.clamp_max(initial))

    @own_errors()
    def argmax(self, axis: int) -> DeviceArray:
        """Return where the largest entries are, the first ones."""
        return DeviceArray(self.tensor.argmax(dim=axis))

    @own_errors()
    def any(self) -> bool:
        """Return whether an entry is true; waits for the device."""
        return bool(self.tensor.any())

    @own_errors()
    def all(self, axis: int | None = None) -> Any:
        """Return whether all entries are true; over all of them it waits for the device."""
        if axis is None:
            return bool(self.tensor.all())
        return DeviceArray(self.tensor.all(dim=axis))


def operand(value: Any, device: Any) -> Any:
    """Return what torch computes with: a tensor of the device, or a number."""
    if isinstance(value, DeviceArray):
        return value.tensor
    if isinstance(value, np.ndarray):
        return copied_to(value, device)
    return value.item() if isinstance(value, np.generic) else value


def _is_double(value: Any) -> bool:
    return isinstance(value, (np.generic, np.ndarray)) and (value.dtype, value.ndim) == (
        np.float64,
        0,
    )


def wrapped(found: Any) -> Any:
    """Return tensors, one or a tuple of them, as arrays."""
    return tuple(map(DeviceArray, found)) if isinstance(found, tuple) else DeviceArray(found)


def _key(key: Any, device: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_key(part, device) for part in key)
    if isinstance(key, np.ndarray):
        key = key.astype(np.int64, copy=False) if key.dtype.kind in "iu" else key
    return operand(key, device)


def torch_dtype(dtype: Any) -> Any:
    """Return the type of torch for one of NumPy."""
    return getattr(torch_module(), np.dtype(dtype).name)


def _larger(a: Any, b: Any) -> Any:
    return torch_module().clamp(a, min=b) if hasattr(a, "dtype") else torch_module().clamp(b, min=a)


def _smaller(a: Any, b: Any) -> Any:
    return torch_module().clamp(a, max=b) if hasattr(a, "dtype") else torch_module().clamp(b, max=a)


def _floating(a: Any) -> Any:
    """Return whole numbers in double precision, as NumPy divides them."""
    return a.double() if hasattr(a, "dtype") and not a.dtype.is_floating_point else a


def _one(name: str) -> Callable[..., Any]:
    return lambda a: getattr(torch_module(), name)(a)


def _matmul(a: Any, b: Any) -> Any:
    """Return a product in the precision of its factors, whatever the user has allowed torch."""
    torch = torch_module()
    if a.dtype != b.dtype:
        kind = torch.promote_types(a.dtype, b.dtype)
        a, b = a.to(kind), b.to(kind)
    if a.dtype is not torch.float32 or a.device.type != "cuda":
        return a @ b
    with full_precision(torch):
        return a @ b


def _ldexp(a: Any, b: Any) -> Any:
    """Return a·2^b, with powers of two made of their bits: those of torch may be rounded."""
    torch = torch_module()
    bits = (b.to(torch.int64) + 1023).clamp(1, 2046) << 52
    return a * bits.view(torch.float64)


#: Answers to NumPy's functions of entries.
_UFUNCS: dict[str, Callable[..., Any]] = {
    **{
        name: _one(function)
        for name, function in {
            "absolute": "abs",
            "exp": "exp",
            "expit": "sigmoid",
            "isfinite": "isfinite",
            "log": "log",
            "log1p": "log1p",
            "negative": "neg",
            "sign": "sign",
            "square": "square",
        }.items()
    },
    "sqrt": lambda a: _floating(a).sqrt(),
    "frexp": lambda a: tuple(torch_module().frexp(a)),
    "ldexp": _ldexp,
    "matmul": _matmul,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: _floating(a) / _floating(b),
    "power": lambda a, b: a**b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: a & b,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "invert": lambda a: ~a,
    "maximum": _larger,
    "minimum": _smaller,
}
#: Those that change their first operand if it is the output as well.
_IN_PLACE: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a.add_(b),
    "subtract": lambda a, b: a.sub_(b),
    "multiply": lambda a, b: a.mul_(b),
    "divide": lambda a, b: a.div_(b),
    "exp": lambda a: a.exp_(),
    "sqrt": lambda a: a.sqrt_(),
    "negative": lambda a: a.neg_(),
    "maximum": lambda a, b: a.clamp_(min=b),
    "minimum": lambda a, b: a.clamp_(max=b),
}

#: Answers to NumPy's other functions, which `device_functions` gives.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
