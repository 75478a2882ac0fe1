"""Dataclasses from JSON of a model file, which may come from anybody: every field is checked.

Must not know what the fields mean.
"""

from __future__ import annotations

import math
from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_origin

from ..arrays.packing import expect, field_hints


def from_stored(cls: type, values: dict[str, Any]) -> Any:
    """Return a dataclass with the given values of its fields.

    Raises
    ------
    ValueError
        If the values are not those of its fields, are not of the annotated types, or not finite.
    """
    types = {field.name: field.type for field in fields(cls)}
    expect(set(values) == set(types), f"it needs {', '.join(types)}")
    hints = field_hints(cls)
    for name, value in values.items():
        expect(_matches(value, hints[name]), f"{name!r} must be of the type {types[name]}")
    return cls(**values)


def _matches(value: Any, hint: Any) -> bool:
    if get_origin(hint) is list:
        return isinstance(value, list) and all(_matches(v, get_args(hint)[0]) for v in value)
    if get_origin(hint) is UnionType:
        return any(_matches(value, option) for option in get_args(hint))
    return type(value) is hint and (hint is not float or math.isfinite(value))
