"""Which type of column a column of a table is, inferred once from the rows of a fit.

Numbers are numbers; dates and yes-or-no columns become numbers; few different texts are
categories; sentences are words. Columns without information, and those that name the rows, are left
out with a note. Must not know targets.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from .columns import BOOLEANS, CategoryColumn, Column, NumberColumn, TextColumn, days, read_numbers
from .numerals import (
    NAMES,
    NOTATIONS,
    looks_like_number,
    may_have_thousands,
    notation,
    number_or_none,
)
from .table import Table, as_texts, quoted

#: Above this share of numbers, the other cells are considered mistakes.
_MOSTLY = 0.95
#: Number of different texts, and their share of the rows, up to which texts are categories.
_FEW, _FEW_SHARE = 50, 0.1
#: Most values with a feature of their own, and most words of a column.
_MOST_VALUES, _MOST_WORDS = 200, 20_000
#: With at least this many rows, a word must occur in two of them.
_ENOUGH_ROWS = 50
#: With at least this many rows, a column that counts them, or whose texts all differ, is left out.
_NAMES = 20
_SLASHES = re.compile(r"[0-9]{1,2}/[0-9]{1,2}/([0-9]{2}|[0-9]{4})")
_WITH_COMMAS = re.compile(r"[+-]?[0-9]+(,[0-9]+)+(\.[0-9]+)?")

#: What a column becomes, or None, and a note about it, or None.
Inferred = tuple[Column | None, str | None]


def infer_column(table: Table, name: str, forced: str | None = None) -> Inferred:
    """Return what a column becomes, or None, and a note about it, or None.

    Parameters
    ----------
    table : Table
        The training rows.
    name : str
        The column.
    forced : {"text", "category"}, optional
        The type that the user chose.

    Raises
    ------
    ValueError
        If nearly all cells are numbers and some are not, or if the commas of numbers may be decimal
        marks as well as between thousands.
    """
    cells = table.columns[name]
    if forced is None and cells.dtype != object:
        return _number(table, name, NAMES[table.decimal])
    texts = [text for text in as_texts(cells) if text is not None]
    if not texts:
        return None, f"column {quoted(name)} is empty: left out"
    n_missing = table.n_rows - len(texts)
    counts = Counter(texts)
    if len(counts) == 1 and not n_missing:
        return None, f"column {quoted(name)} is {quoted(texts[0])} in all rows: left out"
    reading = None if forced else _reading(table, name, counts)
    if reading is not None:
        column, note = _number(table, name, reading)
        return column, note or _other_mark(table, name, reading) or _thousands(table, name, counts)
    column, note = _words_or_category(name, texts, n_missing > 0, forced)
    hint = None if forced else _hint(name, counts)
    return column, "; ".join(filter(None, (note, hint))) or None


def _reading(table: Table, name: str, counts: Counter[str]) -> str | None:
    """Return how texts can be read as numbers, or None if they cannot."""
    found = notation(counts, table.decimal)
    if found is not None:
        return found
    total = counts.total()
    read = NOTATIONS[NAMES[table.decimal]]
    other = {text for text in counts if read(text) is None}
    n_other = sum(counts[text] for text in other)
    if total - n_other > _MOSTLY * total:
        raise ValueError(_not_numbers(table, name, other, n_other))
    if {BOOLEANS.get(text.lower()) for text in counts} == {0.0, 1.0}:
        return "boolean"
    if all(days(text) is not None for text in counts):
        return "date"
    commas = sum(n for text, n in counts.items() if _WITH_COMMAS.fullmatch(text))
    if commas and commas + total - n_other > _MOSTLY * total:
        raise ValueError(
            f"column {quoted(name)} of {table.source} seems to contain numbers with commas, as "
            "decimal marks or between thousands: write all of them alike and pass --decimal , or "
            "--decimal . for the decimal mark, or name the column in --text-columns or "
            "--categorical-columns"
        )
    return None


def _other_mark(table: Table, name: str, reading: str) -> str | None:
    """Return a note if numbers do not have the decimal mark of their file, or None."""
    if table.decimal is None or reading not in NOTATIONS or reading == NAMES[table.decimal]:
        return None
    mark = "," if table.decimal == "." else "."
    return (
        f"column {quoted(name)} is read with the decimal mark {mark!r}, because its cells are no "
        f"numbers with {table.decimal!r}, the mark of the file"
    )


def _thousands(table: Table, name: str, counts: Counter[str]) -> str | None:
    """Return a note if points between thousands may have been read as decimal marks, or None."""
    if table.decimal is not None or not may_have_thousands(counts):
        return None
    point, whole = (next(t for t in counts if ("." in t) == has) for has in (True, False))
    return (
        f"column {quoted(name)} has cells such as {quoted(point)} beside {quoted(whole)}: points "
        "are read as decimal marks; pass --decimal , if they stand between thousands"
    )


def _hint(name: str, counts: Counter[str]) -> str | None:
    """Return a note about texts most of which may be numbers or dates in another notation."""
    if all(_SLASHES.fullmatch(text) for text in counts):
        return (
            f"column {quoted(name)} is not read as dates, because the order of day and month in "
            f"{quoted(next(iter(counts)))} is not known: write dates as 2015-01-31"
        )
    alike = [text for text in counts if looks_like_number(text)]
    if 2 * sum(counts[text] for text in alike) <= counts.total():
        return None
    alike.sort(key=lambda text: number_or_none(text) is not None)  # others are the reason
    return (
        f"column {quoted(name)} is not read as numbers, although cells such as {quoted(alike[0])} "
        "look like them: if they are, write numbers only, without units, and pass --decimal , or "
        "--decimal . for the decimal mark"
    )


def _words_or_category(
    name: str, texts: list[str], has_missing: bool, forced: str | None
) -> Inferred:
    """Return what a column of texts that are no numbers becomes, and a note about it."""
    counts = Counter(texts)
    if forced == "text" or (forced is None and _has_sentences(counts)):
        words = _text(name, texts)
        if words is not None or forced:
            return words, None if words else f"column {quoted(name)} contains no words: left out"
    elif forced is None and len(counts) == len(texts) >= _NAMES:
        return None, (
            f"all texts of column {quoted(name)} differ, like names of rows: left out; "
            "--text-columns or --categorical-columns keeps it"
        )
    return _category(name, counts, has_missing)


def _not_numbers(table: Table, name: str, other: set[str], n_other: int) -> str:
    texts = as_texts(table.columns[name])
    rows = [row for row, text in enumerate(texts) if text in other][:3]
    shown = ", ".join(f"{quoted(texts[row])} in {table.where(row)}" for row in rows)
    more = f" and {n_other - len(rows)} more" if n_other > len(rows) else ""
    return (
        f"column {quoted(name)} of {table.source} contains numbers except for {shown}{more}: "
        "correct or empty these cells, or name the column in --text-columns or "
        f"--categorical-columns, or leave it out with --drop {name[:60]}"
    )


def _has_sentences(counts: Counter[str]) -> bool:
    """Return whether texts are sentences rather than categories."""
    n = counts.total()
    words = sum(len(text.split()) * times for text, times in counts.items()) / n
    is_short = len(counts) <= max(_FEW_SHARE * n, 10)
    return (words >= 3 and not is_short) or (
        words >= 1.5 and len(counts) > max(_FEW, _FEW_SHARE * n)
    )


def _number(table: Table, name: str, reading: str) -> Inferred:
    values = read_numbers(table, name, reading)
    known = values[~np.isnan(values)]
    missing = len(known) < len(values)
    if len(known) == 0:
        return None, f"column {quoted(name)} is empty: left out"
    if not missing and known.min() == known.max():
        return None, f"column {quoted(name)} is {known[0]:g} in all rows: left out"
    if reading in NOTATIONS and len(values) >= _NAMES and (np.diff(values) == 1).all():
        return None, f"column {quoted(name)} counts the rows: left out"
    return NumberColumn(name, reading, float(np.median(known)), missing), None


def _category(name: str, counts: Counter[str], has_missing: bool) -> Inferred:
    by_frequency = sorted(counts, key=lambda text: (-counts[text], text))
    listed = sorted(by_frequency[:_MOST_VALUES])
    has_other = len(counts) > _MOST_VALUES
    note = (
        f"column {quoted(name)} has {len(counts)} different values: the {_MOST_VALUES} most "
        "frequent have a feature each, the others share one"
    )
    return CategoryColumn(name, listed, has_other, has_missing), note if has_other else None


def _text(name: str, texts: list[str]) -> TextColumn | None:
    """Return the column with its vocabulary, or None if there is no word in it."""
    for min_rows in (2, 1) if len(texts) >= _ENOUGH_ROWS else (1,):
        vectorizer = TfidfVectorizer(min_df=min_rows, max_features=_MOST_WORDS)
        try:
            vectorizer.fit(texts)
        except ValueError:  # no word is left
            continue
        words = vectorizer.get_feature_names_out().tolist()
        return TextColumn(name, words, vectorizer.idf_.tolist())
    return None
