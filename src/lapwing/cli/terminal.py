"""Progress and summaries on a terminal: with rich where it is installed, plain otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any

_BAR = 30


class Progress:
    """How far a fit has come, on the error stream.

    A bar on a terminal; elsewhere a line for each stage. Used as a context and as the
    ``callback(stage, share)`` of an estimator.

    Parameters
    ----------
    quiet : bool, default=False
        Show nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.stage = ""
        self._bar: Any = None
        self._task: Any = None
        self._drawn = False

    def __enter__(self) -> Progress:
        if not self.quiet and sys.stderr.isatty():
            self._bar = _rich_bar()
            if self._bar is not None:
                self._bar.start()
                self._task = self._bar.add_task("", total=1.0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, stage: str, share: float) -> None:
        """Show a stage and the share of all work that is done, from 0 to 1."""
        if self.quiet:
            return
        share = min(max(float(share), 0.0), 1.0)
        if self._bar is not None:
            self._bar.update(self._task, completed=share, description=_plain_text(stage))
        elif sys.stderr.isatty():
            filled = "#" * round(_BAR * share)
            line = f"[{filled:<{_BAR}}] {100 * share:3.0f} %  {stage}"
            print(f"\r\x1b[K{line[:100]}", end="", file=sys.stderr, flush=True)
            self._drawn = True
        elif stage != self.stage:
            print(f"{100 * share:3.0f} %  {stage}", file=sys.stderr, flush=True)
        self.stage = stage


def _rich_bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    return Bar(
        BarColumn(_BAR),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )


def _plain_text(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def print_summary(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print facts below each other: a table of rich on a terminal that has it, or plain lines."""
    facts = list(facts)
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
            from rich.text import Text
        except ImportError:
            pass
        else:
            table = Table(title=Text(title), title_justify="left", show_header=False)
            for name, fact in facts:
                table.add_row(Text(name, style="bold"), Text(fact))
            Console().print(table)
            return
    width = max(len(name) for name, _ in facts)
    print(title)
    for name, fact in facts:
        lines = fact.splitlines() or [""]
        print(f"  {name:<{width}}  {lines[0]}")
        for line in lines[1:]:
            print(f"  {'':<{width}}  {line}")
