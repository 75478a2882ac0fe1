"""Checks of parameters, with errors that name the parameter and what it may be; and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def is_word(value: Any, word: str) -> bool:
    """Return whether a parameter that may also be a number, an array or a function is this word."""
    return isinstance(value, str) and value == word


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices."""
    if not (isinstance(value, str) and value in choices):
        *others, last = (repr(choice) for choice in choices)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name} must be {listed}, got {value!r}")


def check_count(name: str, value: Any, lowest: int = 1) -> None:
    """Refuse a value that is not a whole number of at least ``lowest``."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and int(value) >= lowest):
        raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """Refuse a value that is not a positive finite number."""
    if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) > 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")


def check_not_negative(name: str, value: Any) -> None:
    """Refuse a value that is not a finite number of at least zero."""
    if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) >= 0):
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")


def check_share(name: str, value: Any) -> None:
    """Refuse a value that is not a number between 0 and 1, both excluded."""
    if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
        raise ValueError(f"{name} must be more than 0 and less than 1, got {value!r}")


def check_gamma(gamma: Any) -> None:
    """Refuse a text that does not name a width, where "local" does."""
    if isinstance(gamma, str) and gamma not in ("local", "scale", "median"):
        raise ValueError(
            f"gamma must be a positive number, 'local', 'scale' or 'median', got {gamma!r}"
        )


def draw_seed(random_state: Any) -> int:
    """Return a seed from a ``random_state``: a number, None, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))
