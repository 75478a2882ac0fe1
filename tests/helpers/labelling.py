"""Small labelling sessions for tests: tables, a running server, and the page in a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.datasets import load_digits

from lapwing.labelling.cards import Cards, cards_of
from lapwing.labelling.exports import Exports
from lapwing.labelling.journal import Journal
from lapwing.labelling.server import LabelServer
from lapwing.labelling.session import LabelSession

from .browser import Browser

TREES = ("ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine")


def blobs(n: int = 90, n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of well separated classes, and the index of the class of each row."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    angle = 2 * np.pi * truth / n_classes
    centres = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.round(centres + rng.normal(0, 0.15, (n, 2)), 3), truth


def digit_pictures(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of digits of shape (n, 8, 8), and the digits."""
    digits = load_digits()
    return digits.images[:n], digits.target[:n]


class Loop:
    """A session with its server, to be used in a ``with`` statement.

    Parameters
    ----------
    folder : Path
        Where the journal is.
    X : array of shape (n, d)
    cards : Cards, optional
        By default the entries of X.
    given, classes, title
        As in `LabelSession`.
    """

    def __init__(
        self,
        folder: Path,
        X: Any,
        cards: Cards | None = None,
        *,
        given: Mapping[int, str] | None = None,
        classes: Sequence[str] = (),
        title: str = "rows.csv",
    ) -> None:
        self.journal = Journal(folder / "rows.csv.journal", {"rows": len(X)})
        self.session = LabelSession(
            X, cards or cards_of(None, X), self.journal, given=given, classes=classes, title=title
        )
        self._n_before = len(self.journal.entries)
        names = [f"row {row + 1}" for row in range(len(X))]
        self.session.exports = Exports(
            self.session, "rows", "label", lambda: {"name": names}, names, lambda labels: {}
        )
        self.server = LabelServer(self.session)

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.close()
        self.session.close()

    @property
    def done(self) -> list[tuple[Any, ...]]:
        """What was done since the start: of each entry of the journal what, the row, the label."""
        keys = ("do", "row", "label")
        return [
            tuple(e[key] for key in keys if key in e)
            for e in self.journal.entries[self._n_before :]
        ]


class Page:
    """The page on which rows are labelled, as somebody with a keyboard and no mouse uses it.

    Parameters
    ----------
    window : Browser
    address : str
        The start address.
    """

    def __init__(self, window: Browser, address: str) -> None:
        self.window = window
        window.open(address)
        self.wait_for_rows()

    def wait_for_rows(self) -> None:
        """Wait until the page has its first state."""
        self.window.until('window.page && !document.getElementById("asking").hidden')

    @property
    def card(self) -> Any:
        """The card on the screen."""
        return self.window.read("page.shown()")

    @property
    def row(self) -> int:
        """The number of the row on the screen."""
        return self.window.read("page.shown().row")

    def wait_until_saved(self) -> None:
        """Wait until the server has acknowledged everything."""
        self.window.until("page.unsaved() === 0")

    def wait_until_learnt(self, loop: Loop) -> None:
        """Wait until the model has learnt everything, and the page shows it."""
        assert loop.session.wait(60, opinions=True)
        self.window.until(f"page.version() === {loop.session.panel()['version']}")

    def press(self, key: str, *modifiers: str) -> None:
        """Press a key, and wait until the server has acknowledged what it does."""
        self.window.press(key, *modifiers)
        self.wait_until_saved()

    def answer(self, key: str) -> int:
        """Answer the row on the screen by a key, and return it."""
        row = self.row
        self.press(key)
        self.window.until(f"!page.shown() || page.shown().row !== {row}")
        return row

    def text(self, name: str) -> str:
        """Return the text of an element, with plain spaces."""
        return self.window.text(f"#{name}").replace("\u00a0", " ").strip()

    def is_shown(self, name: str) -> bool:
        """Return whether an element is to be seen."""
        return self.window.read(f"document.getElementById('{name}').offsetParent !== null")

    def texts(self, selector: str) -> list[str]:
        """Return the texts of elements."""
        found = f"Array.from(document.querySelectorAll('{selector}'), e => e.textContent)"
        return self.window.read(found)

    @property
    def focus(self) -> str:
        """What has the focus: the name of its element, or the words for a screen reader."""
        return self.window.read(
            "((e) => e.id || e.getAttribute('aria-label') || e.textContent)(document.activeElement)"
        )

    def tab_to(self, name: str) -> None:
        """Press Tab until an element has the focus."""
        first = self.focus
        for _ in range(200):
            self.window.press("Tab")
            if self.focus == name:
                return
        raise AssertionError(f"Tab does not reach {name} from {first}")

    def find(self, expression: str) -> None:
        """Skip rows until an expression of the card on the screen is true."""
        while not self.window.read(f"(card => {expression})(page.shown())"):
            self.answer(" ")
