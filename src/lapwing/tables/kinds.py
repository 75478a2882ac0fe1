"""Which kind a column is, decided once from the rows of a fit.

Numbers are numbers; dates and yes-or-no columns become numbers; few different texts are
categories; sentences are words. What tells nothing, or names a row, is left out with a note.
Must not know targets.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from .columns import BOOLEANS, CategoryColumn, Column, NumberColumn, TextColumn, days, read_numbers
from .table import Table, as_texts, number_or_none

#: Above this share of numbers, the other cells are taken for mistakes.
_MOSTLY = 0.95
#: Different texts up to which a column is categorical whatever its length, and the share of rows.
_FEW, _FEW_SHARE = 50, 0.1
#: Values with a feature of their own, words of a column, rows from which a word must be in two.
_MOST_VALUES, _MOST_WORDS, _ENOUGH_ROWS = 200, 20_000, 50
#: Rows from which a column that counts them, or in which all texts differ, is taken for a name.
_NAMES = 20
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def decide(table: Table, name: str, forced: str | None = None) -> tuple[Column | None, str | None]:
    """Return what a column becomes, or None, and a note on it or None.

    Parameters
    ----------
    table : Table
    name : str
    forced : {"text", "category"}, optional
        What the user said it is.

    Raises
    ------
    ValueError
        If nearly all cells are numbers and some are not, or if numbers have a decimal comma.
    """
    column = table.columns[name]
    if forced is None and column.dtype != object:
        return _number(table, name, "number")
    texts = [text for text in as_texts(column) if text is not None]
    if not texts:
        return None, f"column {name!r} is empty: left out"
    n_missing = table.n_rows - len(texts)
    counts = Counter(texts)
    if len(counts) == 1 and not n_missing:
        return None, f"column {name!r} holds {texts[0][:40]!r} in all rows: left out"
    reading = None if forced else _reading(table, name, counts)
    if reading is not None:
        return _number(table, name, reading)
    if (forced or _shape(counts, len(texts))) == "text":
        words = _text(name, texts)
        if words is not None or forced == "text":
            return words, None if words else f"column {name!r} holds no words: left out"
    elif forced is None and len(counts) == len(texts) >= _NAMES:
        return None, (
            f"all texts of column {name!r} differ, as names of rows do: left out; "
            "--text-columns or --categorical-columns keeps it"
        )
    return _category(name, counts, n_missing > 0)


def _reading(table: Table, name: str, counts: Counter[str]) -> str | None:
    """Return how texts can be read as numbers, or None if they cannot."""
    total = counts.total()
    other = {text for text in counts if number_or_none(text) is None}
    if not other:
        return "number"
    n_other = sum(counts[text] for text in other)
    if total - n_other > _MOSTLY * total:
        raise ValueError(_not_numbers(table, name, other, n_other))
    if {BOOLEANS.get(text.lower()) for text in counts} == {0.0, 1.0}:
        return "boolean"
    if all(days(text) is not None for text in counts):
        return "date"
    commas = sum(n for text, n in counts.items() if _DECIMAL_COMMA.fullmatch(text))
    if commas and commas + total - n_other > _MOSTLY * total:
        raise ValueError(
            f"column {name!r} of {table.source} seems to hold numbers with a decimal comma: write "
            "them with a point, or name it in --text-columns or --categorical-columns"
        )
    return None


def _not_numbers(table: Table, name: str, other: set[str], n_other: int) -> str:
    texts = as_texts(table.columns[name])
    rows = [row for row, text in enumerate(texts) if text in other][:3]
    shown = ", ".join(f"{texts[row][:40]!r} in {table.where(row)}" for row in rows)
    more = f" and {n_other - len(rows)} more" if n_other > len(rows) else ""
    return (
        f"column {name!r} of {table.source} holds numbers except for {shown}{more}: correct or "
        "empty these cells, or name the column in --text-columns or --categorical-columns, or "
        f"leave it out with --drop {name}"
    )


def _shape(counts: Counter[str], n: int) -> str:
    """Return whether texts are words or categories."""
    words = sum(len(text.split()) * times for text, times in counts.items()) / n
    few = len(counts) <= max(_FEW_SHARE * n, 10)
    if (words >= 3 and not few) or (words >= 1.5 and len(counts) > max(_FEW, _FEW_SHARE * n)):
        return "text"
    return "category"


def _number(table: Table, name: str, reading: str) -> tuple[Column | None, str | None]:
    values = read_numbers(table, name, reading)
    known = values[~np.isnan(values)]
    missing = len(known) < len(values)
    if len(known) == 0:
        return None, f"column {name!r} is empty: left out"
    if not missing and known.min() == known.max():
        return None, f"column {name!r} holds {known[0]:g} in all rows: left out"
    if reading == "number" and len(values) >= _NAMES and (np.diff(values) == 1).all():
        return None, f"column {name!r} counts the rows: left out"
    return NumberColumn(name, reading, float(np.median(known)), missing), None


def _category(
    name: str, counts: Counter[str], has_missing: bool
) -> tuple[CategoryColumn, str | None]:
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    listed = sorted(ordered[:_MOST_VALUES])
    has_other = len(ordered) > _MOST_VALUES
    note = None
    if has_other:
        note = (
            f"column {name!r} has {len(ordered)} different values: the {_MOST_VALUES} commonest "
            "have a feature, the others share one"
        )
    return CategoryColumn(name, listed, has_other, has_missing), note


def _text(name: str, texts: list[str]) -> TextColumn | None:
    """Return the column with its vocabulary, or None if there is no word in it."""
    for least in (2, 1) if len(texts) >= _ENOUGH_ROWS else (1,):
        words = TfidfVectorizer(min_df=least, max_features=_MOST_WORDS)
        try:
            words.fit(texts)
        except ValueError:  # no word is left
            continue
        vocabulary = words.get_feature_names_out().tolist()
        return TextColumn(name, vocabulary, [float(weight) for weight in words.idf_])
    return None
