"""The base class of the fitted functions, which `predictors` lists: multiples, sums and files."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from ..arrays.packing import Packed, expect, pack, unpack
from ..kernels.functions import Kernel


@dataclass(frozen=True, eq=False)
class Predictor:
    """Base class of the fitted functions; subclasses implement `values` and `_shapes_fit`.

    Attributes
    ----------
    linear_in : tuple of str
        Fields in which the function is linear. Functions of one type whose other fields agree can
        be added.
    """

    linear_in: ClassVar[tuple[str, ...]] = ("coef",)

    def values(self, X: Any) -> np.ndarray:
        """Return the values on checked rows, shape (n, c)."""
        raise NotImplementedError(f"{type(self).__name__} must implement values")

    def times(self, factor: float) -> Self:
        """Return a multiple."""
        return replace(self, **{name: factor * getattr(self, name) for name in self.linear_in})

    def plus(self, other: Predictor) -> Predictor | None:
        """Return the sum as one function of the same type, or None if it is not one."""
        if type(self) is not type(other) or not self.linear_in:
            return None
        fixed = [field.name for field in fields(self) if field.name not in self.linear_in]
        if not all(_agree(getattr(self, name), getattr(other, name)) for name in fixed):
            return None
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.linear_in}
        return replace(self, **sums)

    def to_arrays(self) -> Packed:
        """Return the function as JSON and plain arrays."""
        return pack(self, self._known_types())

    @classmethod
    def from_arrays(cls, page: Any, arrays: dict[str, np.ndarray]) -> Self:
        """Return the function that `to_arrays` was called on."""
        made = unpack(page, arrays, cls._known_types())
        expect(isinstance(made, cls), f"this is no {cls.__name__}")
        return made

    @classmethod
    def _known_types(cls) -> dict[str, type]:
        from .predictors import PREDICTOR_TYPES  # a module that imports this one

        return {known.__name__: known for known in PREDICTOR_TYPES}

    def check_loaded(self) -> None:
        """Raise an error for contents of a file that do not fit together or are not finite."""
        for field in fields(self):
            value = getattr(self, field.name)
            numbers = value.data if sp.issparse(value) else value
            if isinstance(numbers, np.ndarray):
                expect(numbers.dtype.kind in "biuf" and bool(np.isfinite(numbers).all()))
        expect(self._shapes_fit())

    def _shapes_fit(self) -> bool:
        raise NotImplementedError(f"{type(self).__name__} must implement _shapes_fit")


def _agree(one: Any, other: Any) -> bool:
    """Return whether two fields are one object, equal numbers, or kernels with equal parameters."""
    if isinstance(one, Kernel) and type(one) is type(other):
        return all(np.array_equal(value, vars(other)[name]) for name, value in vars(one).items())
    return one is other or (isinstance(one, (int, float)) and one == other)
