"""What all HTML pages share: templates, and data as JSON that cannot be taken for markup.

A page is one file that loads nothing. Its template contains style and script; the data are in a
script element of their own. Text from users (names of classes, rows and files) reaches the page as
JSON in that element, or escaped. Must not know models or what a page shows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np


def fill_template(name: str, parts: Mapping[str, str]) -> str:
    """Return a template of this package with its ``%%NAME%%`` placeholders replaced.

    ``%%STYLE%%`` and ``%%HELPERS%%`` are the style and the functions that all pages share.

    Parameters
    ----------
    name : str
        File name of the template.
    parts : mapping of str to str
        Markup for each name; placeholders in it are not replaced.

    Returns
    -------
    str
    """
    own = {"STYLE": _read("page.css"), "HELPERS": _read("page.js"), **parts}
    pieces = _read(name).split("%%")
    return "".join(own[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def _read(name: str) -> str:
    return files("lapwing.displays").joinpath(name).read_text(encoding="utf-8").rstrip("\n")


def script_json(data: Any) -> str:
    r"""Return JSON that cannot end a script element or begin a tag.

    Parameters
    ----------
    data : dict, list, str, int, float, bool or None
        What `plain` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> from lapwing.displays.page import script_json
    >>> print(script_json(["</script>"]))
    ["\u003c/script\u003e"]
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plain(value: Any, longest: int = 200) -> Any:
    """Return a value that JSON can represent: no array, no NaN, no long text.

    Parameters
    ----------
    value : object
        Mappings, sequences and arrays are converted recursively; other objects become text.
    longest : int, default=200
        Number of characters after which a text is cut.

    Returns
    -------
    dict, list, str, int, float, bool or None
        With None in place of numbers that are not finite.

    Examples
    --------
    >>> from lapwing.displays.page import plain
    >>> plain({"gamma": float("inf"), "grid": (1, 2)})
    {'gamma': None, 'grid': [1, 2]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {shorten(key, longest): plain(item, longest) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, longest) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return shorten(value, longest)


def shorten(value: Any, longest: int) -> str:
    """Return a value as text of at most ``longest`` characters."""
    text = str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def digits(values: Any, n_digits: int = 6) -> list[float | None]:
    """Return numbers for JSON, rounded to some digits; None replaces those that are not finite."""
    flat = np.asarray(values, dtype=float).ravel().tolist()
    return [float(f"{v:.{n_digits}g}") if math.isfinite(v) else None for v in flat]


def digits_to_show(values: Any) -> int:
    """Return how many digits show the differences of numbers to three digits.

    Examples
    --------
    >>> digits_to_show([1.5, 40.0]), digits_to_show([293.15, 294.02]), digits_to_show([7.0])
    (3, 6, 3)
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if known.size == 0 or np.ptp(known) == 0:
        return 3
    ratio = float(np.abs(known).max()) / float(np.ptp(known))
    return min(3 + max(0, round(math.log10(ratio))), 15)


def evenly(n: int, most: int) -> np.ndarray:
    """Return at most ``most`` indices of n items, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))
