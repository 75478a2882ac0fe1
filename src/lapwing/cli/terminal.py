"""Progress and summaries on a terminal: with rich where it is installed, plain otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

#: Called with the stage of a fit and the share of all work that is done, from 0 to 1.
Show = Callable[[str, float], None]
_BAR = 30


@contextmanager
def progress(quiet: bool = False) -> Iterator[Show]:
    """Yield a ``callback`` for an estimator that shows the progress on the error stream.

    It draws a bar on a terminal, prints a line at the start of each stage elsewhere, and nothing if
    `quiet`.
    """
    if quiet:
        yield lambda stage, share: None
    elif not sys.stderr.isatty():
        yield _line_printer()
    else:
        with _rich_bar() if _has_rich() else _plain_bar() as show:
            yield show


def _line_printer() -> Show:
    last = None

    def show(stage: str, share: float) -> None:
        nonlocal last
        if stage != last:
            print(f"{100 * share:3.0f} %  {stage}", file=sys.stderr)
        last = stage

    return show


def _has_rich() -> bool:
    return find_spec("rich") is not None


@contextmanager
def _plain_bar() -> Iterator[Show]:
    def show(stage: str, share: float) -> None:
        line = f"[{'#' * round(_BAR * share):<{_BAR}}] {100 * share:3.0f} %  {stage}"
        print(f"\r\x1b[K{line[:100]}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def _rich_bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(_BAR),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda stage, share: bar.update(task, completed=share, description=stage)


def print_summary(title: str, facts: Sequence[tuple[str, str]]) -> None:
    """Print facts below each other: a table of rich on a terminal that has it, or plain lines."""
    if sys.stdout.isatty() and _has_rich():
        _print_rich_table(title, facts)
        return
    print(title)
    width = max(len(name) for name, _ in facts)
    line_end = "\n" + " " * (width + 4)
    for name, fact in facts:
        print(f"  {name:<{width}}  {fact}".replace("\n", line_end))


def _print_rich_table(title: str, facts: Sequence[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", show_header=False)
    for name, fact in facts:
        table.add_row(Text(name, style="bold"), Text(fact))
    Console().print(table)
