"""Numbers are read back in the notation in which they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.tables.numerals import (
    decimal_mark,
    looks_like_number,
    notation,
    number_or_none,
    number_with,
)

OTHER = {".": ",", ",": "."}


def written(number, decimal, thousands):
    """Return a number as Python writes it, with other marks."""
    return f"{number:,.3f}".replace(",", "T").replace(".", decimal).replace("T", thousands)


@given(st.floats(-1e9, 1e9), st.sampled_from(".,"), st.sampled_from(["", " ", "'", "\u202f", "O"]))
def test_numbers_are_read_as_they_were_written(number, decimal, thousands):
    text = written(number, decimal, OTHER[decimal] if thousands == "O" else thousands)
    assert number_with(f" {text} ", decimal) == float(f"{number:.3f}")


@pytest.mark.parametrize("text", ["2.5", "1.62", "1.6230", "0.623", "1.623.00", "1,2,3", ".5", ","])
def test_points_that_are_not_between_thousands(text):
    assert number_with(text, ",") is None
    mirrored = text.replace(",", "T").replace(".", ",").replace("T", ".")
    assert number_with(mirrored, ".") is None


def test_plain_numbers_are_numbers_in_both_notations():
    for text in ("3", "-4e-2", "+007", "inf", "12345"):
        assert number_with(text, ".") == number_with(text, ",") == number_or_none(text)
    for text in ("", "a", "1_000", "-", "e5", "nan"):
        assert number_with(text, ".") is None
        assert number_with(text, ",") is None


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["3,5"], ","), (["0,500"], ","), (["1234,567"], ","), (["1.623,500", "1.000"], ","),
        (["1.623.000"], ","), (["1.623", "3,5"], ","), (["2.5"], "."), (["1,623,000"], "."),
        (["1,623", "1.623"], None), (["1.623"], None), (["3,5", "2.5"], None), ([], None),
        (["3,5", "a"], None),
    ],
)  # fmt: skip
def test_what_shows_the_decimal_mark(texts, mark):
    assert decimal_mark(texts) == mark
    assert decimal_mark([*texts, "7"]) == mark


def test_what_a_file_shows_decides_where_a_column_shows_nothing():
    assert notation(["1.623"]) == notation(["2.5"], ",") == "number"
    assert notation(["1.623"], ",") == notation(["3,5"]) == "decimal comma"
    assert notation(["1,623"], ".") == notation(["1,623.5"], ",") == "decimal point"
    assert notation(["1,623"]) is notation(["3,5", "a"], ",") is None


@pytest.mark.parametrize("mark", [" ", "'", "\u2019", "\u00a0", "\u202f"])
def test_spaces_and_apostrophes_between_thousands_need_no_decimal_mark(mark):
    texts = [f"2{mark}032", "17", f"1{mark}000{mark}000"]
    assert notation(texts) == "decimal point"
    assert notation(texts, ",") == "decimal comma"
    assert notation([*texts, "1,623"]) is None
    assert notation([f"2{mark}03"]) is None


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        ("20.3 %", True), ("€ 203.20", True), ("-3,5 %", True), ("$1,000", True), ("12°", True),
        ("3 km", True), ("209.60 USD", True), ("EUR 20", True), ("\u22121.94", True),
        ("1.2.3", False), ("3 of 4", False), ("12B", False),
        ("3 kilometres", False), ("%", False), ("", False), ("192.168.0.1", False),
    ],
)  # fmt: skip
def test_numbers_with_signs_of_units(text, alike):
    assert looks_like_number(text) is alike


def test_the_sign_of_negative_numbers_may_be_a_minus_sign():
    assert number_or_none("\u22121.94") == -1.94
    assert number_with("\u22121.234,5", ",") == -1234.5
    assert notation(["\u22121.94", "2.08"]) == "number"
