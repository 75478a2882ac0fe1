"""Numbers as texts: decimal points, decimal commas, and marks between thousands.

"1.234" is a number in two notations, and only other cells, or the user, can tell which one is
meant. Must not know columns or files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
#: The mark between thousands by the decimal mark; others are spaces and apostrophes.
_THOUSANDS_MARKS = {".": ",", ",": "."}
_SPACES = "'\u2019 \u00a0\u202f"
#: A number with a mark between thousands and, or, a decimal mark; the groups are its parts.
_WRITTEN = {
    decimal: re.compile(
        rf"([+-]?)([1-9]\d{{0,2}}(?:(?P<mark>[{_SPACES}{thousands}])\d{{3}})(?:(?P=mark)\d{{3}})*"
        rf"|\d*)(?:[{decimal}](\d*))?((?:[eE][+-]?\d+)?)",
        re.ASCII,
    )
    for decimal, thousands in _THOUSANDS_MARKS.items()
}
#: A number of thousands with points between them.
_WITH_POINTS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+\s*")
#: What may stand before and after a number: signs or codes of currencies, a percent sign, spaces,
#: and after a space a short word.
_UNIT = re.compile(r"^([A-Z]{3}\s|[^\w.,+-]{1,3})|([^\w.,]{1,3}|\s[^\W\d_]{1,5}[²³]?)$")


def number_or_none(cell: str) -> float | None:
    """Return the number in a cell, or None if the cell is not a number."""
    text = cell.strip().replace("\N{MINUS SIGN}", "-")
    # float() alone would accept "1_000".
    return float(text) if _NUMBER.fullmatch(text) else None


def number_with(cell: str, decimal: str) -> float | None:
    """Return the number in a cell with that decimal mark, or None if the cell is not one.

    Parameters
    ----------
    cell : str
        The cell.
    decimal : {".", ","}
        The decimal mark. The other one, a space or an apostrophe may stand between thousands.

    Examples
    --------
    >>> number_with("1.623,50", ","), number_with("3,5", ","), number_with("1.623", ",")
    (1623.5, 3.5, 1623.0)
    >>> number_with("1,623.50", "."), number_with("1.623", "."), number_with("2.5", ",")
    (1623.5, 1.623, None)
    """
    text = cell.strip().replace("\N{MINUS SIGN}", "-")
    written = _WRITTEN[decimal].fullmatch(text)
    if written is None:
        return number_or_none(text) if decimal == "." or "." not in text else None
    sign, whole, mark, fraction, exponent = written.group(1, 2, "mark", 4, 5)
    digits = whole.replace(mark, "") if mark else whole
    return number_or_none(f"{sign}{digits}.{fraction or ''}{exponent}")


#: How texts are read as numbers, by the name of the notation, and its name by the decimal mark.
NOTATIONS: dict[str, Callable[[str], float | None]] = {
    "number": number_or_none,
    "decimal comma": lambda text: number_with(text, ","),
    "decimal point": lambda text: number_with(text, "."),
}
NAMES: dict[str | None, str] = {None: "number", ",": "decimal comma", ".": "decimal point"}


def notation(texts: Collection[str], decimal: str | None = None) -> str | None:
    """Return the name in `NOTATIONS` with which all texts are numbers, or None.

    Parameters
    ----------
    texts : collection of str
        The different cells of a column.
    decimal : {".", ",", None}
        The decimal mark of the file, if it is known. Texts that are no numbers with it are read as
        they show themselves.

    Examples
    --------
    >>> notation(["1", "2.5"]), notation(["1,5", "1.000"]), notation(["1,000"]), notation(["a"])
    ('number', 'decimal comma', None, None)
    >>> notation(["1.000"], ","), notation(["1,000"], "."), notation(["2.5"], ",")
    ('decimal comma', 'decimal point', 'number')
    >>> notation(["1 000", "2"]), notation(["1'000,5", "2'000"])
    ('decimal point', 'decimal comma')
    """
    for name in (NAMES[decimal], "number"):
        if all(NOTATIONS[name](text) is not None for text in texts):
            return name
    mark = decimal_mark(texts)
    if mark is not None:
        return NAMES[mark]
    both = ((number_with(text, "."), number_with(text, ",")) for text in texts)
    return NAMES["."] if all(one is not None and one == other for one, other in both) else None


def decimal_mark(texts: Collection[str]) -> str | None:
    """Return the decimal mark with which all texts are numbers, if there is only one.

    Examples
    --------
    >>> decimal_mark(["1,5", "2"]), decimal_mark(["1,234", "2"]), decimal_mark(["1,234.5"])
    (',', None, '.')
    """
    able = [
        decimal
        for decimal in _THOUSANDS_MARKS
        if all(number_with(text, decimal) is not None for text in texts)
    ]
    return able[0] if len(able) == 1 else None


def may_have_thousands(texts: Collection[str]) -> bool:
    """Return whether the points of numbers may stand between thousands: others have none.

    Numbers with three decimals would have them all.

    Examples
    --------
    >>> may_have_thousands(["1.830", "353"]), may_have_thousands(["1.830", "3.530"])
    (True, False)
    """
    with_point = [text for text in texts if "." in text]
    if not with_point or not all(map(_WITH_POINTS.fullmatch, with_point)):
        return False
    return any(text.strip().isdigit() for text in texts)


def looks_like_number(text: str) -> bool:
    """Return whether a text is a number with either decimal mark, perhaps with the sign of a unit.

    Examples
    --------
    >>> [looks_like_number(text) for text in ("3,5", "1.000,5 %", "€ 3.50", "a, b", "1,2 or 3")]
    [True, True, True, False, False]
    """
    bare = _UNIT.sub("", text.strip())
    return any(number_with(bare, decimal) is not None for decimal in _THOUSANDS_MARKS)
