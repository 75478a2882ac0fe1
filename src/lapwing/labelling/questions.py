"""Which row is asked for next.

The first rows are spread over the data. Then the model suggests rows, and about one row in five is
drawn at random: these tell how good the model is, because nobody chose them. Every tab of a browser
has its own questions. Knows neither labels nor models, only which rows are done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from .answers import RANDOM, SPREAD, SUGGESTED

#: Share of the questions that are drawn at random.
RANDOM_SHARE = 0.2
#: Questions that a tab has at a time: the present one and the next, which the page shows at once.
AHEAD = 2
#: Seconds after which the questions of a tab that is gone are asked elsewhere.
_LEASE = 600.0


@dataclass
class Questions:
    """The order of questions.

    Parameters
    ----------
    n : int
        Number of rows.
    spread : sequence of int
        Rows spread over the data, in the order in which they are asked.
    seed : int
        Seed of the random rows.
    asked : int
        Questions asked before.

    Attributes
    ----------
    suggested : list of int
        Rows that the model suggests, the best first; `suggest` replaces them.
    """

    n: int
    spread: list[int]
    seed: int = 0
    asked: int = 0
    suggested: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._order = np.random.default_rng([self.seed, 0]).permutation(self.n).tolist()
        self._tabs: dict[str, list[tuple[int, str]]] = {}
        self._seen: dict[str, float] = {}
        self._random = 0  # all rows before this position of the order were done

    def suggest(self, rows: Iterable[int]) -> None:
        """Take new suggestions of the model; questions that tabs already have are kept."""
        self.suggested = list(rows)

    def of(self, tab: str, is_done: Callable[[int], bool]) -> list[tuple[int, str]]:
        """Return the questions of a tab: rows, and why each of them is asked.

        Parameters
        ----------
        tab : str
            The tab.
        is_done : callable
            Whether a row is labelled or skipped.
        """
        now = time.monotonic()
        self._seen[tab] = now
        for other in [name for name, seen in self._seen.items() if now - seen > _LEASE]:
            self._tabs.pop(other, None), self._seen.pop(other)
        own = [(row, why) for row, why in self._tabs.get(tab, []) if not is_done(row)]
        self._tabs[tab] = own
        while len(own) < AHEAD:
            found = self._next(is_done)
            if found is None:
                break
            own.append(found)
        return list(own)

    def why(self, tab: str, row: int) -> str | None:
        """Return why a row is a question of a tab; None if it is not."""
        return dict(self._tabs.get(tab, [])).get(row)

    def met(self, row: int, is_done: Callable[[int], bool]) -> list[int]:
        """Return the rows that come before a random row in the random order.

        They had a label, were skipped or were asked for when it was drawn, so that rows that are
        labelled for another reason are not missing from the random sample. There are none if the
        row was drawn in another order, as before rows were added to the table.
        """
        before, leased = self._order[: self._order.index(row)], self._leased()
        return before if all(row in leased or is_done(row) for row in before) else []

    def look_again(self) -> None:
        """Begin at the start of the random order: labels were taken away."""
        self._random = 0

    def first(self, tab: str, row: int, why: str) -> None:
        """Ask for a row before the other questions of a tab, and in no other tab."""
        for name, own in self._tabs.items():
            self._tabs[name] = [one for one in own if one[0] != row]
        self._tabs[tab] = [(row, why), *self._tabs.get(tab, [])][:AHEAD]

    def _leased(self) -> set[int]:
        return {row for own in self._tabs.values() for row, _ in own}

    def _next(self, is_done: Callable[[int], bool]) -> tuple[int, str] | None:
        leased = self._leased()

        def is_free(row: int) -> bool:
            return row not in leased and not is_done(row)

        number, self.asked = self.asked, self.asked + 1
        if np.random.default_rng([self.seed, 1, number]).random() >= RANDOM_SHARE:
            for why, rows in ((SPREAD, self.spread), (SUGGESTED, self.suggested)):
                for row in rows:
                    if is_free(row):
                        return row, why
        while self._random < self.n and is_done(self._order[self._random]):
            self._random += 1
        # Rows before the position are asked for again only if their labels were taken away.
        for position in chain(range(self._random, self.n), range(self._random)):
            if is_free(self._order[position]):
                return self._order[position], RANDOM
        return None
