"""Parameters: what each may be, by name, the same for all estimators; and seeds.

`check_parameters` looks at all of them before a fit looks at anything else, so that a bad value is
refused by its name even where it would not be used. Knows neither rows nor labels: what depends on
these, such as the number of classes, is checked where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..arrays.memory import parse_size
from ..arrays.row_units import ORDINARY

#: Refuses bad values of a parameter, given its name and the value.
Check = Callable[[str, Any], None]
KERNELS = ("rbf", "linear", "poly", "cosine", "precomputed")
#: Sizes of pure numbers, such as weights of terms, whose fourth powers are in range like those of
#: rows, and of widths, which are in units of squared rows.
_NUMBERS = ORDINARY
_WIDTHS = (ORDINARY[0] ** 2, ORDINARY[1] ** 2)
#: Sizes of what may be as small as one likes, such as a tolerance, or as large.
_SMALL, _LARGE = (0.0, ORDINARY[1]), (ORDINARY[0], np.inf)
#: Sizes of what has those of the data: the fit compares it with them.
_ANY = (0.0, np.inf)
#: By how much shares of classes may miss the sum of 1, as users round them.
_SHARE_ROUNDING = 0.02


def check_parameters(model: Any) -> None:
    """Refuse parameters that have an impossible value, used or not.

    The default of a parameter is always valid, so a parameter may be None or a word such as "auto"
    where that is its default. Estimators list what differs from the shared checks in ``_checks``.
    """
    defaults = signature(type(model)).parameters
    for name, value in model.get_params(deep=False).items():
        default = defaults[name].default
        if value is default or (isinstance(default, str) and is_word(value, default)):
            continue
        check = model._checks.get(name, _SHARED.get(name))
        if check is not None:
            check(name, value)


def is_word(value: Any, word: str) -> bool:
    """Return whether a parameter that may also be a number, an array or a function is this word."""
    return isinstance(value, str) and value == word


def finite_number(value: Any) -> float:
    """Return a finite number; NaN for everything else."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return np.nan
    try:
        number = float(value)
    except OverflowError:
        return np.nan
    return number if np.isfinite(number) else np.nan


def check_positive(name: str, value: Any, sizes: tuple[float, float] = _NUMBERS) -> None:
    """Refuse a value that is not a positive finite number of one of the sizes."""
    if not finite_number(value) > 0:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    _check_size(name, value, sizes)


def check_not_negative(name: str, value: Any, sizes: tuple[float, float] = _NUMBERS) -> None:
    """Refuse a value that is not zero or a positive finite number of one of the sizes."""
    if not finite_number(value) >= 0:
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    _check_size(name, value, sizes)


def check_finite(name: str, value: Any) -> None:
    """Refuse a value that is not a finite number."""
    if np.isnan(finite_number(value)):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    _check_size(name, value, _NUMBERS)


def _check_size(name: str, value: Any, sizes: tuple[float, float]) -> None:
    """Refuse a number so small or so large that results underflow or overflow."""
    low, high = sizes
    size = abs(finite_number(value))
    if size != 0 and not low <= size <= high:
        allowed = f"at least {low:.0e}" if size < low else f"at most {high:.0e}"
        raise ValueError(
            f"{name}={value!r} takes results out of the range of double precision: choose a value "
            f"of {allowed} in size"
        )


check_tolerance = partial(check_not_negative, sizes=_SMALL)
check_positive_in_units = partial(check_positive, sizes=_ANY)
check_not_negative_in_units = partial(check_not_negative, sizes=_ANY)


def check_share(name: str, value: Any) -> None:
    """Refuse a value that is not a number between 0 and 1, both excluded."""
    if not 0.0 < finite_number(value) < 1.0:
        raise ValueError(f"{name} must be more than 0 and less than 1, got {value!r}")


def check_count(name: str, value: Any, lowest: int = 1) -> None:
    """Refuse a value that is not a whole number of at least ``lowest``."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and int(value) >= lowest):
        raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}")


def check_folds(name: str, value: Any) -> None:
    """Refuse what is neither a number of folds, a splitter, pairs of indices nor None."""
    splits = hasattr(value, "split") or isinstance(value, Iterable)
    if value is not None and (isinstance(value, str) or not splits):
        check_count(name, value, lowest=2)


def check_flag(name: str, value: Any) -> None:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_verbosity(name: str, value: Any) -> None:
    """Refuse a value that is neither a truth value nor a whole number of at least zero."""
    if not isinstance(value, (bool, np.bool_)):
        check_count(name, value, lowest=0)


def check_callable(name: str, value: Any) -> None:
    """Refuse a value that cannot be called."""
    if not callable(value):
        raise ValueError(f"{name} must be a function or None, got {value!r}")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices."""
    if not (isinstance(value, str) and value in choices):
        *others, last = (repr(choice) for choice in choices)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name} must be {listed}, got {value!r}")


def check_kernel_name(name: str, value: Any) -> None:
    """Refuse what is neither the name of a kernel nor a function."""
    if not (callable(value) or (isinstance(value, str) and value in KERNELS)):
        raise ValueError(
            f"{name} {value!r} is unknown: use {', '.join(map(repr, KERNELS))} or a function of "
            "two arrays of rows"
        )


def check_kernel_of_any_rows(name: str, value: Any) -> None:
    """Refuse what is not a kernel that has values for rows other than those of the fit."""
    check_kernel_name(name, value)
    if is_word(value, "precomputed"):
        raise ValueError(
            f"{name}='precomputed' has no values for prototypes or landmarks: pass the rows and a "
            "kernel function, or use LapSVC with n_landmarks"
        )


def check_width(name: str, value: Any) -> None:
    """Refuse what is neither a positive number nor the name of a width."""
    if not (finite_number(value) > 0 or (isinstance(value, str) and value in ("scale", "median"))):
        raise ValueError(
            f"{name} must be positive and finite, 'scale' or 'median' (or 'local' where that is "
            f"the default), got {value!r}"
        )
    if not isinstance(value, str):
        _check_size(name, value, _WIDTHS)


def check_class_weight(name: str, value: Any) -> None:
    """Refuse what is neither "balanced" nor a weight for each of some classes."""
    if is_word(value, "balanced"):
        return
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be 'balanced', None or a dict of weights, got {value!r}")
    for label, weight in value.items():
        check_not_negative_in_units(f"{name}[{label!r}]", weight)


def check_class_shares(name: str, value: Any) -> None:
    """Refuse what is neither "labels" nor positive shares that add up to one."""
    if is_word(value, "labels"):
        return
    if not (isinstance(value, dict) and value):
        raise ValueError(
            f"{name} must be None, 'labels' or a dict that gives each class its share of the "
            f"unlabelled rows, got {value!r}"
        )
    for label, share in value.items():
        if not finite_number(share) > 0:
            raise ValueError(
                f"{name}[{label!r}] must be positive and finite, got {share!r}: give a class that "
                "is rare a small share"
            )
    total = sum(map(finite_number, value.values()))
    if not abs(total - 1.0) <= _SHARE_ROUNDING:
        raise ValueError(
            f"the shares of {name} must add up to 1, and their sum is {total:.6g}: give each class "
            "its part of the unlabelled rows, such as 0.9 and 0.1, not per cent or counts"
        )


def check_memory_limit(name: str, value: Any) -> None:
    """Refuse what is neither a number of bytes nor a text such as "8GB"."""
    if isinstance(value, str):
        parse_size(value)
    else:
        check_positive_in_units(name, value)


def check_marker(name: str, value: Any) -> None:
    """Refuse a marker that is not one value, such as a list of several."""
    if np.ndim(value) > 0 or isinstance(value, (dict, set, frozenset)):
        raise ValueError(
            f"{name} must be one value, the marker of unlabelled rows, got {value!r}: replace "
            "other markers in y by None or NaN, which always count as unlabelled"
        )


def check_seed(name: str, value: Any) -> None:
    """Refuse what is neither a seed nor a generator of random numbers."""
    try:
        if not isinstance(value, np.random.Generator):
            check_random_state(value)
    except ValueError as error:
        raise ValueError(f"{name} cannot be used: {error}") from error


def one_of(*choices: str) -> Check:
    """Return a check that refuses what is none of the choices."""
    return partial(check_choice, choices=choices)


def each(check: Check) -> Check:
    """Return a check of a value or of a sequence of at least one, each with the given check."""

    def check_each(name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, (list, tuple)):
            return check(name, value)
        if len(value) == 0:
            raise ValueError(f"{name} is an empty sequence: give at least one value")
        for one in value:
            check(name, one)

    return check_each


_SHARED: dict[str, Check] = {
    **dict.fromkeys(("C", "bandwidth", "labeled_weight", "reg", "reg_ambient"), check_positive),
    **dict.fromkeys(("reg_labeled", "surrogate_gamma", "unlabeled_sharpness"), check_positive),
    "rho": partial(check_positive, sizes=_LARGE),
    "tol": partial(check_positive, sizes=_SMALL),
    **dict.fromkeys(("degree", "epsilon", "reg_manifold", "reg_unlabeled"), check_not_negative),
    **dict.fromkeys(("alpha", "lambda_min_ratio"), check_share),
    **dict.fromkeys(("max_iter", "n_anchors", "n_components", "n_eigenfunctions"), check_count),
    **dict.fromkeys(("n_eigenvectors", "n_init", "n_landmarks", "n_neighbors"), check_count),
    **dict.fromkeys(("n_prototypes",), check_count),
    **dict.fromkeys(("fit_intercept", "normalize_rows", "warm_start"), check_flag),
    "callback": check_callable,
    "class_shares": check_class_shares,
    "class_weight": check_class_weight,
    "coef0": check_finite,
    "cv": check_folds,
    "gamma": check_width,
    "kernel": check_kernel_name,
    "memory_limit": check_memory_limit,
    "n_bins": partial(check_count, lowest=2),
    "random_state": check_seed,
    "unlabeled": check_marker,
    "verbose": check_verbosity,
}


def draw_seed(random_state: Any) -> int:
    """Return a seed from a ``random_state``: a number, None, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))


def without_objects(settings: Any) -> Any:
    """Return an estimator, not fitted, without parameters that workers need not have.

    A callback may refer to what cannot be copied, and a graph may be large.
    """
    model = object.__new__(type(settings))
    model.__dict__ |= {**settings.get_params(deep=False)}
    for name in ("callback", "graph"):
        if name in vars(model):
            setattr(model, name, None)
    return model
