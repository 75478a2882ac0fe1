"""Values as JSON and plain arrays, and back: the contents of model files.

Numbers, texts, lists, tuples, dicts, dense and sparse arrays can be packed, and objects of types
that the caller lists. Nothing is imported or called by a name from a file, and every field is
checked against its annotation. An object that occurs several times is stored once. Knows nothing of
models.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp

#: A page, which JSON can represent, and arrays by name.
Packed = tuple[Any, dict[str, np.ndarray]]

_SPECIAL = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
#: Kinds of data types of arrays in files: booleans, integers, floats, strings.
ARRAY_KINDS = "biufU"


def pack(value: Any, known: Mapping[str, type]) -> Packed:
    """Return a value as JSON and arrays.

    Parameters
    ----------
    value : object
        The value to pack.
    known : mapping of str to type
        The types of objects that may occur in it, by name.

    Dataclasses are packed by their fields. Other classes define ``to_state()``, which returns a
    dict of values to pack, and the class method ``from_state(state)``. ``DERIVED`` of a class names
    arrays that follow from its fields: where they occur later, a reference is stored.

    Arrays of objects contain finite numbers. ``MAY_BE_NAN`` of a class names the fields, and keys
    of dicts in them, to which this does not apply.

    Raises
    ------
    TypeError
        If the value contains something that cannot be stored, such as a function.
    ValueError
        If an array of an object contains NaN or an infinite number.

    Examples
    --------
    >>> import numpy as np
    >>> page, arrays = pack({"weights": np.ones(2), "name": "a"}, {})
    >>> unpack(page, arrays, {})
    {'weights': array([1., 1.]), 'name': 'a'}
    """
    packer = _Packer(known)
    return packer.page(value), packer.arrays


def unpack(page: Any, arrays: Mapping[str, np.ndarray], known: Mapping[str, type]) -> Any:
    """Return the value that `pack` was given.

    Objects with a method ``check_loaded`` are checked by it.

    Parameters
    ----------
    page, arrays
        From `pack`.
    known : mapping of str to type
        The types that may be created, by name.

    Raises
    ------
    ValueError, TypeError, LookupError, AttributeError or RecursionError
        If the page is not one that `pack` returns.
    """
    return _Unpacker(arrays, known).value(page)


def expect(condition: bool, what: str = "its arrays do not fit together") -> None:
    """Refuse contents of a file that make no sense."""
    if not condition:
        raise ValueError(what)


def expect_finite(*arrays: Any) -> None:
    """Refuse arrays of a file that hold something else than finite floats; None is left out."""
    for array in arrays:
        expect(array is None or (array.dtype.kind == "f" and bool(np.isfinite(array).all())))


class _Finite:
    """Whether the array at the present position must be finite; see `pack`."""

    def __init__(self) -> None:
        self._required, self._exempt = False, ()

    @contextmanager
    def within(self, cls: type) -> Iterator[None]:
        """Apply the rule of a class to what is stored of an object."""
        before = self._required, self._exempt
        self._required, self._exempt = True, getattr(cls, "MAY_BE_NAN", ())
        try:
            yield
        finally:
            self._required, self._exempt = before

    @contextmanager
    def at(self, name: Any) -> Iterator[None]:
        """Apply the rule of a field, or of a key of a dict."""
        before = self._required
        self._required = before and not (isinstance(name, str) and name in self._exempt)
        try:
            yield
        finally:
            self._required = before

    def check(self, array: np.ndarray) -> None:
        """Refuse an array that is not finite and must be."""
        if self._required and array.dtype.kind == "f":
            expect(bool(np.isfinite(array).all()), "its arrays contain NaN or infinite numbers")


class _Packer:
    def __init__(self, known: Mapping[str, type]) -> None:
        self._known, self._finite = known, _Finite()
        self.arrays: dict[str, np.ndarray] = {}
        self._stored: dict[int, Any] = {}  # pages that refer to a value, by its identity
        self._alive: list[Any] = []  # an identity is unique only while its object exists
        self._n_objects = 0

    def page(self, value: Any) -> Any:
        if isinstance(value, np.generic) and value.dtype.kind in ARRAY_KINDS:
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"float": str(value)}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.page(inner) for inner in value]}
        if isinstance(value, dict):
            return {"dict": [[self.page(key), self._entry(key, v)] for key, v in value.items()]}
        return self._stored[id(value)] if id(value) in self._stored else self._store(value)

    def _entry(self, name: Any, value: Any) -> Any:
        with self._finite.at(name):
            return self.page(value)

    def _store(self, value: Any) -> Any:
        """Return the page of an array or an object, and remember how to refer to it."""
        page = reference = self._describe(value)
        if "array" not in page:
            page["number"] = number = self._n_objects
            reference = {"same": number}
            self._n_objects += 1
            for name in getattr(value, "DERIVED", ()):
                self._remember(getattr(value, name), {"derived": name, "of": number})
        self._remember(value, reference)
        return page

    def _remember(self, value: Any, reference: Any) -> None:
        self._stored[id(value)] = reference
        self._alive.append(value)

    def _describe(self, value: Any) -> dict[str, Any]:
        if isinstance(value, np.ma.MaskedArray):
            return {"masked": self.page(value.data), "mask": self.page(np.ma.getmaskarray(value))}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if sp.issparse(value):
            form = "csr_array" if isinstance(value, sp.sparray) else "csr_matrix"
            csr = value.tocsr()
            parts = [self._array(part) for part in (csr.data, csr.indices, csr.indptr)]
            return {form: parts, "shape": list(csr.shape)}
        name = type(value).__name__
        if self._known.get(name) is not type(value):
            raise TypeError(f"{value!r} cannot be stored in a model file")
        state = value.to_state() if hasattr(value, "to_state") else field_values(value)
        with self._finite.within(type(value)):
            stored = {key: self._entry(key, inner) for key, inner in state.items()}
        return {"type": name, "state": stored}

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        if array.dtype == object:
            return {"objects": [self.page(v) for v in array.ravel()], "shape": list(array.shape)}
        if array.dtype.kind not in ARRAY_KINDS:
            raise TypeError(f"an array of type {array.dtype} cannot be stored in a model file")
        self._finite.check(array)
        name = f"a{len(self.arrays)}"
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            array = array.copy(order="K")  # the order of columns matters for the last bits
        self.arrays[name] = array
        return {"array": name}


class _Unpacker:
    def __init__(self, arrays: Mapping[str, np.ndarray], known: Mapping[str, type]) -> None:
        self._known, self._arrays, self._finite = known, arrays, _Finite()
        self._made: dict[int, Any] = {}  # objects by number
        self._readers = {
            "float": lambda page: _SPECIAL[page["float"]],
            "list": lambda page: [self.value(inner) for inner in page["list"]],
            "tuple": lambda page: tuple(self.value(inner) for inner in page["tuple"]),
            "dict": lambda page: dict(self._entry(self.value(k), v) for k, v in page["dict"]),
            "array": self._array,
            "same": lambda page: self._made[page["same"]],
            "derived": self._derived,
            "objects": self._objects,
            "masked": self._masked,
            "csr_array": lambda page: sp.csr_array(*self._csr(page["csr_array"], page["shape"])),
            "csr_matrix": lambda page: sp.csr_matrix(*self._csr(page["csr_matrix"], page["shape"])),
            "type": self._object,
        }

    def value(self, page: Any) -> Any:
        if not isinstance(page, dict):
            expect(page is None or isinstance(page, (bool, int, float, str)))
            return page
        [form] = self._readers.keys() & page.keys()
        made = self._readers[form](page)
        if "number" in page:
            # Lists are never shared: references among them could multiply without end.
            expect(form in ("type", "objects", "masked", "csr_array", "csr_matrix"))
            self._made[page["number"]] = made
        return made

    def _entry(self, name: Any, page: Any) -> tuple[Any, Any]:
        with self._finite.at(name):
            return name, self.value(page)

    def _array(self, page: dict[str, Any]) -> np.ndarray:
        array = self._arrays[page["array"]]
        self._finite.check(array)
        return array

    def _derived(self, page: dict[str, Any]) -> Any:
        owner = self._made[page["of"]]
        expect(page["derived"] in type(owner).DERIVED)
        return getattr(owner, page["derived"])

    def _objects(self, page: dict[str, Any]) -> np.ndarray:
        expect(all(size >= 0 for size in page["shape"]))
        array = np.empty(len(page["objects"]), dtype=object)
        array[:] = [self.value(inner) for inner in page["objects"]]
        return array.reshape(page["shape"])

    def _masked(self, page: dict[str, Any]) -> np.ma.MaskedArray:
        data, mask = self.value(page["masked"]), self.value(page["mask"])
        expect(mask.dtype == bool and mask.shape == data.shape)
        return np.ma.MaskedArray(data, mask=mask)

    def _csr(self, parts: Any, shape: Any) -> tuple[Any, tuple[int, int]]:
        data, indices, indptr = (self.value(part) for part in parts)
        n, d = (int(size) for size in shape)
        expect(data.ndim == indices.ndim == indptr.ndim == 1 and len(indptr) == n + 1)
        expect(indices.dtype.kind == indptr.dtype.kind == "i" and data.dtype.kind in "biuf")
        expect(len(data) == len(indices) == indptr[-1] and indptr[0] == 0)
        expect(bool(np.all(np.diff(indptr) >= 0)))
        expect(len(indices) == 0 or (indices.min() >= 0 and indices.max() < d))
        return (data, indices, indptr), (n, d)

    def _object(self, page: dict[str, Any]) -> Any:
        name = page["type"]
        expect(name in self._known, f"it contains a {name!r}, which is not known here")
        cls = self._known[name]
        with self._finite.within(cls):
            state = dict(self._entry(key, inner) for key, inner in page["state"].items())
        if hasattr(cls, "from_state"):
            made = cls.from_state(state)
        else:
            hints = field_hints(cls)
            for key, inner in state.items():
                expect(key in hints and _matches(inner, hints[key]), f"{key} of {name} is wrong")
            made = cls(**state)
        if hasattr(made, "check_loaded"):
            made.check_loaded()
        return made


def field_values(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without its cached properties."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


@cache
def field_hints(cls: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass by name."""
    return get_type_hints(cls)


def _matches(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type, contents of containers included."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_matches(value, option) for option in arguments)
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if origin is None:
        return isinstance(value, hint)
    if not isinstance(value, origin):
        return False
    if origin is dict:
        key_hint, value_hint = arguments
        return all(_matches(k, key_hint) and _matches(v, value_hint) for k, v in value.items())
    if origin is tuple and Ellipsis not in arguments:
        return len(value) == len(arguments) and all(map(_matches, value, arguments))
    return all(_matches(inner, arguments[0]) for inner in value)
