"""Values as JSON and plain arrays, and back: what model files hold.

Packed are numbers, texts, lists, dicts, dense and sparse arrays, and objects of types that the
reader names: nothing is imported or called by a name from a file, and every field is checked
against its annotation. Objects that occur several times are stored once. Knows nothing of models.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp

#: What JSON makes of a value, and arrays by name.
Packed = tuple[Any, dict[str, np.ndarray]]

_ATTRIBUTE = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")
_SPECIAL = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def pack(value: Any, known: Mapping[str, type]) -> Packed:
    """Return a value as JSON and arrays.

    Parameters
    ----------
    value : object
        What to pack.
    known : mapping of str to type
        The types of objects that may occur in it, by name.

    Dataclasses are packed by their fields. Other classes define ``to_state()``, which returns a
    dict of values to pack, and the class method ``from_state(state)``. ``DERIVED`` of a class names
    arrays that follow from its fields: where they occur later, a reference is stored.

    Raises
    ------
    TypeError
        If the value holds something that cannot be stored, such as a function.

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

    Parameters
    ----------
    page, arrays
        From `pack`.
    known : mapping of str to type
        The types that may be made, by name.

    Raises
    ------
    ValueError
        If the parts do not fit together.
    """
    return _Unpacker(arrays, known).value(page)


def expect(condition: bool, what: str = "its arrays do not fit together") -> None:
    """Refuse contents that make no sense."""
    if not condition:
        raise ValueError(what)


class _Packer:
    def __init__(self, known: Mapping[str, type]) -> None:
        self._known = known
        self.arrays: dict[str, np.ndarray] = {}
        self._stored: dict[int, Any] = {}  # pages of arrays and objects by identity
        self._alive: list[Any] = []  # an identity is only one as long as its object lives
        self._n_objects = 0

    def page(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"float": str(value)}
        if isinstance(value, (list, tuple)):
            return {type(value).__name__: [self.page(inner) for inner in value]}
        if isinstance(value, dict):
            return {"dict": [[self.page(k), self.page(v)] for k, v in value.items()]}
        if id(value) not in self._stored:
            page = self._object(value)
            self._alive.append(value)
            # Arrays are named and may be named again; of objects later pages hold the number.
            again = {"same": page["number"]} if "number" in page else page
            self._stored[id(value)] = again
            return page
        return self._stored[id(value)]

    def _object(self, value: Any) -> Any:
        if isinstance(value, np.ma.MaskedArray):
            return {"masked": self.page(value.data), "mask": self.page(np.ma.getmaskarray(value))}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if sp.issparse(value):
            return self._sparse(value)
        if type(value) not in self._known.values():
            raise TypeError(f"{value!r} cannot be kept in a model file")
        if hasattr(value, "to_state"):
            state = value.to_state()
        else:
            state = {field.name: getattr(value, field.name) for field in fields(value)}
        page = {name: self.page(inner) for name, inner in state.items()}
        number = self._n_objects
        self._n_objects += 1
        for name in getattr(value, "DERIVED", ()):
            derived = getattr(value, name)
            self._alive.append(derived)
            self._stored[id(derived)] = {"derived": name, "of": number}
        return {"type": type(value).__name__, "state": page, "number": number}

    def _array(self, array: np.ndarray) -> Any:
        if array.dtype == object:
            return {"objects": [self.page(v) for v in array.ravel()], "shape": list(array.shape)}
        if array.dtype.kind not in "biufU":
            raise TypeError(f"an array of type {array.dtype} cannot be kept in a model file")
        name = f"a{len(self.arrays)}"
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            array = array.copy(order="K")  # the order of columns matters for the last bits
        self.arrays[name] = array
        return {"array": name}

    def _sparse(self, matrix: Any) -> Any:
        kind = "csr_array" if isinstance(matrix, sp.sparray) else "csr_matrix"
        matrix = matrix.tocsr()
        parts = {part: self._array(getattr(matrix, part)) for part in ("data", "indices", "indptr")}
        return {kind: parts, "shape": list(matrix.shape)}


class _Unpacker:
    def __init__(self, arrays: Mapping[str, np.ndarray], known: Mapping[str, type]) -> None:
        self._arrays, self._known = arrays, known
        self._objects: dict[int, Any] = {}
        self._sparse_made: dict[str, Any] = {}

    def value(self, page: Any) -> Any:
        if not isinstance(page, dict):
            expect(page is None or isinstance(page, (bool, int, float, str)))
            return page
        if "float" in page:
            return _SPECIAL[page["float"]]
        for name, kind in (("list", list), ("tuple", tuple)):
            if name in page:
                return kind(self.value(inner) for inner in page[name])
        if "dict" in page:
            return {self.value(k): self.value(v) for k, v in page["dict"]}
        if "same" in page:
            return self._objects[page["same"]]
        if "derived" in page:
            owner = self._objects[page["of"]]
            expect(page["derived"] in type(owner).DERIVED)
            return getattr(owner, page["derived"])
        if "type" in page:
            return self._object(page)
        return self._array(page)

    def _array(self, page: dict[str, Any]) -> Any:
        if "array" in page:
            return self._arrays[page["array"]]
        if "objects" in page:
            values = [self.value(inner) for inner in page["objects"]]
            array = np.empty(len(values), dtype=object)
            array[:] = values
            return array.reshape(page["shape"])
        if "masked" in page:
            return np.ma.MaskedArray(self.value(page["masked"]), mask=self.value(page["mask"]))
        [kind] = {"csr_array", "csr_matrix"} & set(page)
        key = str(page[kind]["data"])
        if key not in self._sparse_made:
            self._sparse_made[key] = self._csr(kind, page)
        return self._sparse_made[key]

    def _csr(self, kind: str, page: dict[str, Any]) -> Any:
        data, indices, indptr = (self.value(page[kind][p]) for p in ("data", "indices", "indptr"))
        n, d = (int(size) for size in page["shape"])
        expect(data.ndim == indices.ndim == indptr.ndim == 1 and len(indptr) == n + 1)
        expect(indices.dtype.kind == indptr.dtype.kind == "i" and data.dtype.kind in "biuf")
        expect(len(data) == len(indices) == indptr[-1] and indptr[0] == 0)
        expect(bool(np.all(np.diff(indptr) >= 0)))
        expect(len(indices) == 0 or (indices.min() >= 0 and indices.max() < d))
        return getattr(sp, kind)((data, indices, indptr), shape=(n, d))

    def _object(self, page: dict[str, Any]) -> Any:
        name = page["type"]
        expect(name in self._known, f"it holds a {name!r}, which this Lapwing does not know")
        cls = self._known[name]
        state = {str(key): self.value(inner) for key, inner in page["state"].items()}
        expect(all(_ATTRIBUTE.fullmatch(key) for key in state))
        if hasattr(cls, "from_state"):
            made = cls.from_state(state)
        else:
            hints = _hints(cls)
            for key, inner in state.items():
                expect(key in hints and _matches(inner, hints[key]), f"{key} of {name} is wrong")
            made = cls(**state)
        if hasattr(made, "check_loaded"):
            made.check_loaded()
        self._objects[page["number"]] = made
        return made


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _matches(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type, as far as its outermost layer."""
    if hint is Any:
        return True
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_matches(value, option) for option in get_args(hint))
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is tuple and len(get_args(hint)) == 2 and get_args(hint)[1] is Ellipsis:
        inner = get_args(hint)[0]
        return isinstance(value, tuple) and all(_matches(part, inner) for part in value)
    kind = origin or hint
    return isinstance(kind, type) and isinstance(value, kind)
