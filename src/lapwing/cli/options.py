"""Options that several commands have, and converters for their values."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable

from ..arrays.memory import parse_size


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that all commands about models have."""
    parser.add_argument(
        "--json", action="store_true", help="print the result, or the error, as one JSON object"
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading a table."""
    parser.add_argument(
        "--encoding",
        default="utf-8",
        metavar="E",
        help="encoding of a text file, such as latin-1 (utf-8)",
    )
    parser.add_argument(
        "--decimal",
        choices=(".", ","),
        help="decimal mark of numbers (that of the first rows, or of the rows of the fit); the "
        "other one may stand between thousands",
    )
    parser.add_argument(
        "--memory-limit",
        type=_size,
        metavar="SIZE",
        help="memory that may be used, such as 8GB (60 %% of the free memory)",
    )


def names(text: str) -> list[str]:
    """Return the names between commas; a name that contains a comma is written in quotes."""
    found = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in found if name.strip()]


def class_shares(text: str) -> str | dict[str, float]:
    """Return "labels", or the share of each class in a text such as a=0.9,b=0.1."""
    if text.strip() == "labels":
        return "labels"
    pairs = [name.rpartition("=") for name in names(text)]
    try:
        shares = {name.strip(): float(share) for name, _, share in pairs}
    except ValueError:
        shares = {}
    if len(shares) < max(len(pairs), 1) or "" in shares:
        raise argparse.ArgumentTypeError(
            f"must be labels, or each class once with its share, such as a=0.9,b=0.1, got {text!r}"
        )
    return shares


def whole_number(lowest: int) -> Callable[[str], int]:
    """Return a converter for argparse that refuses numbers below the lowest."""

    def convert(text: str) -> int:
        number = int(text)
        if number < lowest:
            raise argparse.ArgumentTypeError(f"must be at least {lowest}")
        return number

    convert.__name__ = "whole number"  # argparse: "invalid whole number value: 'x'"
    return convert


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).replace("memory_limit ", "")) from None
