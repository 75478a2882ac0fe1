"""Which type of column a column of a table is, inferred once from a summary of the rows of a fit.

Numbers are numbers; dates and yes-or-no columns become numbers; few different texts are
categories; sentences are words. Columns without information, and those that name the rows, are left
out with a note. Must not know targets.
"""

from __future__ import annotations

import re

from ..messages import quoted
from .columns import BOOLEANS, CategoryColumn, Column, NumberColumn, TextColumn, days
from .numerals import (
    NAMES,
    NOTATIONS,
    looks_like_number,
    may_have_thousands,
    notation,
    number_or_none,
)
from .summaries import NumberSummary, TextSummary

#: Above this share of numbers, the other cells are considered mistakes.
_MOSTLY = 0.95
#: Number of different texts, and their share of the rows, up to which texts are categories.
_FEW, _FEW_SHARE = 50, 0.1
#: Most values with a feature of their own, and most words of a column.
_MOST_VALUES, _MOST_WORDS = 200, 20_000
#: Most characters of a text that may be a number with a unit.
_LONGEST_NUMBER = 50
#: With at least this many rows, a word must occur in two of them.
_ENOUGH_ROWS = 50
#: With at least this many rows, a column that counts them, or whose texts all differ, is left out.
_NAMES = 20
_SLASHES = re.compile(r"[0-9]{1,2}/[0-9]{1,2}/([0-9]{2}|[0-9]{4})")
_WITH_COMMAS = re.compile(r"[+-]?[0-9]+(,[0-9]+)+(\.[0-9]+)?")

#: What a column becomes, or None, and a note about it, or None.
Inferred = tuple[Column | None, str | None]


def infer_column(
    name: str, summary: NumberSummary | TextSummary, decimal: str | None, forced: str | None = None
) -> Inferred:
    """Return what a column becomes, or None, and a note about it, or None.

    Parameters
    ----------
    name : str
        The column.
    summary : NumberSummary or TextSummary
        What is known of its cells.
    decimal : {".", ",", None}
        The decimal mark of its file, if it is known.
    forced : {"text", "category"}, optional
        The type that the user chose.

    Raises
    ------
    ValueError
        If nearly all cells are numbers and some are not, or if the commas of numbers may be decimal
        marks as well as between thousands.
    """
    if summary.n == 0:
        return None, f"column {quoted(name)} is empty: left out"
    if isinstance(summary, NumberSummary):
        return _number(name, NAMES[decimal], summary)
    counts = summary.counts
    if summary.n_texts == 1 and not summary.n_missing:
        return None, f"column {quoted(name)} is {quoted(next(iter(counts)))} in all rows: left out"
    reading = None if forced else _reading(summary)
    if reading is not None:
        column, note = _number(name, reading, summary.numbers(reading))
        return column, note or _other_mark(summary, reading) or _thousands(summary)
    column, note = _words_or_category(summary, forced)
    hint = None if forced else _hint(summary)
    return column, "; ".join(filter(None, (note, hint))) or None


def _reading(summary: TextSummary) -> str | None:
    """Return how texts can be read as numbers, or None if they cannot."""
    counts, total = summary.counts, summary.n
    found = notation(counts, summary.decimal)
    if found is not None and summary.can_be(found):
        return found
    n_read = summary.n_read(NAMES[summary.decimal])
    if n_read > _MOSTLY * total:
        raise ValueError(_not_numbers(summary, total - n_read))
    if {BOOLEANS.get(text.lower()) for text in counts} == {0.0, 1.0} and summary.can_be("boolean"):
        return "boolean"
    if all(days(text) is not None for text in counts) and summary.can_be("date"):
        return "date"
    commas = sum(n for text, n in counts.items() if _WITH_COMMAS.fullmatch(text))
    if commas and commas + n_read > _MOSTLY * total:
        raise ValueError(
            f"column {quoted(summary.name)} of {summary.source} seems to contain numbers with "
            "commas, as decimal marks or between thousands: write all of them alike and pass "
            "--decimal , or --decimal . for the decimal mark, or name the column in "
            "--text-columns or --categorical-columns"
        )
    return None


def _other_mark(summary: TextSummary, reading: str) -> str | None:
    """Return a note if numbers do not have the decimal mark of their file, or None."""
    decimal = summary.decimal
    if decimal is None or reading not in NOTATIONS or reading == NAMES[decimal]:
        return None
    mark = "," if decimal == "." else "."
    return (
        f"column {quoted(summary.name)} is read with the decimal mark {mark!r}, because its cells "
        f"are no numbers with {decimal!r}, the mark of the file"
    )


def _thousands(summary: TextSummary) -> str | None:
    """Return a note if points between thousands may have been read as decimal marks, or None."""
    counts = summary.counts
    if summary.decimal is not None or not may_have_thousands(counts):
        return None
    point, whole = (next(t for t in counts if ("." in t) == has) for has in (True, False))
    return (
        f"column {quoted(summary.name)} has cells such as {quoted(point)} beside {quoted(whole)}: "
        "points are read as decimal marks; pass --decimal , if they stand between thousands"
    )


def _hint(summary: TextSummary) -> str | None:
    """Return a note about texts most of which may be numbers or dates in another notation."""
    name, counts = summary.name, summary.counts
    if all(_SLASHES.fullmatch(text) for text in counts):
        return (
            f"column {quoted(name)} is not read as dates, because the order of day and month in "
            f"{quoted(next(iter(counts)))} is not known: write dates as 2015-01-31"
        )
    alike = [text for text in counts if len(text) <= _LONGEST_NUMBER and looks_like_number(text)]
    if 2 * sum(counts[text] for text in alike) <= counts.total():
        return None
    alike.sort(key=lambda text: number_or_none(text) is not None)  # others are the reason
    return (
        f"column {quoted(name)} is not read as numbers, although cells such as {quoted(alike[0])} "
        "look like them: if they are, write numbers only, without units, and pass --decimal , or "
        "--decimal . for the decimal mark"
    )


def _words_or_category(summary: TextSummary, forced: str | None) -> Inferred:
    """Return what a column of texts that are no numbers becomes, and a note about it."""
    name = summary.name
    if forced == "text" or (forced is None and _has_sentences(summary)):
        words = _text(summary)
        if words is not None or forced:
            return words, None if words else f"column {quoted(name)} contains no words: left out"
    elif forced is None and summary.n_texts == summary.n >= _NAMES:
        return None, (
            f"all texts of column {quoted(name)} differ, like names of rows: left out; "
            "--text-columns or --categorical-columns keeps it"
        )
    return _category(summary)


def _not_numbers(summary: TextSummary, n_other: int) -> str:
    cells = summary.odd[:n_other]
    shown = ", ".join(f"{quoted(text)} in {where(row)}" for text, where, row in cells)
    more = f" and {n_other - len(cells)} more" if n_other > len(cells) else ""
    return (
        f"column {quoted(summary.name)} of {summary.source} contains numbers except for "
        f"{shown}{more}: correct or empty these cells, or name the column in --text-columns or "
        f"--categorical-columns, or leave it out with --drop {summary.name[:60]}"
    )


def _has_sentences(summary: TextSummary) -> bool:
    """Return whether texts are sentences rather than categories."""
    words, n_texts = summary.mean_words, summary.n_texts
    is_short = n_texts <= max(_FEW_SHARE * summary.n, 10)
    return (words >= 3 and not is_short) or (
        words >= 1.5 and n_texts > max(_FEW, _FEW_SHARE * summary.n)
    )


def _number(name: str, reading: str, summary: NumberSummary) -> Inferred:
    """Return a column with its mean and standard deviation, those of yes and no excepted."""
    has_missing = summary.n_missing > 0
    if not has_missing and summary.lowest == summary.highest:
        return None, f"column {quoted(name)} is {summary.lowest:g} in all rows: left out"
    if reading in NOTATIONS and summary.n >= _NAMES and summary.counts_rows and not has_missing:
        return None, f"column {quoted(name)} counts the rows: left out"
    median = summary.median
    scaling = (0.0, 1.0) if reading == "boolean" else summary.scaling(median)
    return NumberColumn(name, reading, median, has_missing, *scaling), None


def _category(summary: TextSummary) -> Inferred:
    name, counts = summary.name, summary.counts
    by_frequency = sorted(counts, key=lambda text: (-counts[text], text))
    listed = sorted(by_frequency[:_MOST_VALUES])
    has_other = summary.n_texts > _MOST_VALUES
    note = (
        f"column {quoted(name)} has {summary.n_texts} different values: the {_MOST_VALUES} most "
        "frequent have a feature each, the others share one"
    )
    column = CategoryColumn(name, listed, has_other, summary.n_missing > 0)
    return column, note if has_other else None


def _text(summary: TextSummary) -> TextColumn | None:
    """Return the column with its vocabulary, or None if there is no word in it."""
    counts = summary.words()
    for min_texts in (2, 1) if summary.n >= _ENOUGH_ROWS else (1,):
        words, weights = counts.vocabulary(min_texts, _MOST_WORDS)
        if words:
            return TextColumn(summary.name, words, weights)
    return None
