"""What all HTML pages share: data as JSON that is no markup, and templates to put them into.

A page is one file that loads nothing. Its template holds style and script; the data stand in a
script element of their own, and text that somebody else wrote (names of classes, rows and files)
reaches the page there, as JSON, or escaped. Knows nothing of models and of what a page shows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np


def fill_template(name: str, parts: Mapping[str, str]) -> str:
    """Return a template of this folder with its ``%%NAME%%`` replaced.

    Parameters
    ----------
    name : str
        File name of the template.
    parts : mapping of str to str
        Markup for each name; it is not looked through for names again.

    Returns
    -------
    str
    """
    template = files("lapwing.displays").joinpath(name).read_text(encoding="utf-8")
    pieces = template.split("%%")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def script_json(data: Any) -> str:
    r"""Return JSON in which nothing can end a script element or begin a tag.

    Parameters
    ----------
    data : anything that JSON knows, finite
        See `plain`.

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
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def plain(value: Any, longest: int = 200) -> Any:
    """Return a value that JSON knows: no array, no NaN, no long text.

    Parameters
    ----------
    value : anything
        Mappings, sequences and arrays are gone through; what is not known becomes text.
    longest : int, default=200
        Characters of a text that are kept.

    Returns
    -------
    dict, list, str, int, float, bool or None
        None in the place of a number that is not finite.

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
    """Return the text of a value, cut where it is longer than that."""
    text = str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def digits(values: Any) -> list[float | None]:
    """Return numbers for JSON, rounded to six digits; None where one is not finite."""
    flat = np.asarray(values, dtype=float).ravel().tolist()
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in flat]


def evenly(n: int, most: int) -> np.ndarray:
    """Return indices of at most so many of n things, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int)) if n else np.arange(0)
