"""Checks of parameters, with errors that name what is wrong; and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices."""
    if not (isinstance(value, str) and value in choices):
        *others, last = (repr(choice) for choice in choices)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name} must be {listed}, got {value!r}")


def check_count(name: str, value: Any, lowest: int = 1) -> None:
    """Refuse what is no whole number of at least ``lowest``."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and int(value) >= lowest):
        raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """Refuse what is no positive finite number."""
    if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) > 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")


def check_not_negative(name: str, value: Any) -> None:
    """Refuse what is no finite number of at least zero."""
    if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) >= 0):
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")


def check_share(name: str, value: Any) -> None:
    """Refuse what is no number between 0 and 1, both excluded."""
    if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
        raise ValueError(f"{name} must be more than 0 and less than 1, got {value!r}")


def check_gamma(gamma: Any) -> None:
    """Refuse a text that names no width, where "local" is one."""
    if isinstance(gamma, str) and gamma not in ("local", "scale", "median"):
        raise ValueError(
            f"gamma must be a positive number, 'local', 'scale' or 'median', got {gamma!r}"
        )


def draw_seed(random_state: Any) -> int:
    """Return a seed from what users give: a number, None, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))
