"""What is learnt of the columns of a table, in one pass over batches of its rows.

Exact up to a million rows. Of more rows, medians are those of a random sample, and of texts that
are very many only the frequent ones are counted; sums and counts of words stay exact. Memory does
not grow with the number of rows. Must not know what a column becomes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from ..messages import quoted
from .columns import LARGEST_NUMBER, READINGS, TOO_LARGE, bad_cell, read_text
from .numerals import NAMES
from .table import Place

#: Numbers of which the median is exact, and the size of a sample of more of them.
_EXACT, _SAMPLE = 1_000_000, 100_000
#: Most texts of a column, characters in them, and words, that are counted.
_MOST_TEXTS, _MOST_CHARACTERS, _MOST_WORDS = 1_000_000, 1 << 26, 2_000_000
#: Texts that stay when there are too many.
_KEPT = 10_000


class NumberSummary:
    """Extremes, mean, squares and a sample of numbers.

    Attributes
    ----------
    n, n_missing : int
        Number of known and of missing cells.
    lowest, highest, mean : float
        Of the known cells.
    counts_rows : bool
        Whether each number is the one before it plus 1.
    """

    def __init__(self) -> None:
        self.n = self.n_missing = 0
        self.lowest, self.highest, self.mean, self._squares = np.inf, -np.inf, 0.0, 0.0
        self.counts_rows = True
        self._last: float | None = None
        self._sample: list[tuple[np.ndarray, np.ndarray]] = []
        self._is_sampled = False
        self._counted = np.empty(0), np.empty(0)

    def update(self, values: np.ndarray, keys: np.ndarray) -> None:
        """Add numbers, NaN where a cell is missing.

        Those with the smallest of the random keys are a random sample, whatever the batches are.
        """
        if len(values) == 0:
            return
        before = values[0] - 1 if self._last is None else self._last
        self.counts_rows &= bool((np.diff(values, prepend=before) == 1).all())
        self._last = float(values[-1])
        known = values[~np.isnan(values)]
        self.n_missing += len(values) - len(known)
        self._add(known, np.ones(len(known)))
        self._sample.append((values, keys))
        if sum(len(values) for values, _ in self._sample) > _EXACT:
            self._is_sampled = True
            self._shrink()

    def _shrink(self) -> None:
        values, keys = (np.concatenate(arrays) for arrays in zip(*self._sample, strict=True))
        if len(keys) > _SAMPLE:
            kept = np.argpartition(keys, _SAMPLE)[:_SAMPLE]
            self._sample = [(values[kept], keys[kept])]

    def count(self, values: np.ndarray, counts: np.ndarray, n_missing: int) -> None:
        """Add each number as often as it occurs, and missing cells; to be called once."""
        self.n_missing += n_missing
        self.counts_rows &= bool((np.diff(values) == 1).all() and (counts == 1).all())
        self._add(values, counts)
        self._counted = values, counts

    def _add(self, values: np.ndarray, counts: np.ndarray) -> None:
        """Add each value as often as it occurs to the sums and extremes."""
        n = int(counts.sum())
        if n == 0:
            return
        mean = float((values * counts).sum()) / n
        squares = float((np.square(values - mean) * counts).sum())
        step, total = mean - self.mean, self.n + n
        self._squares += squares + step**2 * self.n * n / total
        self.mean += step * n / total
        self.n = total
        self.lowest = min(self.lowest, float(values.min()))
        self.highest = max(self.highest, float(values.max()))

    @property
    def median(self) -> float:
        """The median of the known cells; that of a sample if they are very many."""
        if self._is_sampled:
            self._shrink()
        counted, counts = self._counted
        sample = np.concatenate([np.empty(0), *(values for values, _ in self._sample)])
        sample = sample[~np.isnan(sample)]
        if len(counted) == 0:
            return float(np.median(sample))
        weight = (self.n - counts.sum()) / max(len(sample), 1)
        values = np.append(sample, counted)
        order = np.argsort(values, kind="stable")
        ends = np.cumsum(np.append(np.full(len(sample), weight), counts)[order])
        # The two cells in the middle, each in the group of equal ones that contains it.
        middle = np.array([(self.n - 1) // 2, self.n // 2]) + 0.5
        return float(values[order[np.searchsorted(ends, middle)]].mean())

    def scaling(self, median: float) -> tuple[float, float]:
        """Return mean and standard deviation with the median in place of missing cells."""
        n = self.n + self.n_missing
        mean = (self.mean * self.n + median * self.n_missing) / n
        squares = self._squares + self.n * (self.mean - mean) ** 2
        squares += self.n_missing * (median - mean) ** 2
        return mean, float(np.sqrt(squares / n)) or 1.0


@dataclass
class WordCounts:
    """In how many texts words occur, and how often."""

    n_texts: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    occurrences: Counter[str] = field(default_factory=Counter)

    def update(self, counts: Mapping[str, int]) -> None:
        """Add texts, each as often as it occurs."""
        analyze = TfidfVectorizer().build_analyzer()
        for text, times in counts.items():
            self.n_texts += times
            for word, n in Counter(analyze(text)).items():
                self.texts[word] += times
                self.occurrences[word] += n * times
            if len(self.texts) > _MOST_WORDS:
                self.texts = Counter(dict(self.texts.most_common(_MOST_WORDS // 2)))
                self.occurrences = Counter({w: self.occurrences[w] for w in self.texts})

    def vocabulary(self, min_texts: int, most: int) -> tuple[list[str], list[float]]:
        """Return the most frequent words in alphabetical order, and their weights (idf)."""
        words = [word for word, n in self.texts.items() if n >= min_texts]
        words = sorted(sorted(words, key=lambda word: (-self.occurrences[word], word))[:most])
        rows = np.array([self.texts[word] for word in words])
        return words, (np.log((1 + self.n_texts) / (1 + rows)) + 1).tolist()


class TextSummary:
    """How often texts occur in a column, of which those that are very many are not kept.

    Attributes
    ----------
    name, source : str
        The column, and the name of its file, for messages.
    decimal : {".", ",", None}
        The decimal mark of the file, if it is known.
    n, n_missing : int
        Number of known and of missing cells.
    counts : Counter
        The frequent texts, or all of them, in the order of the rows.
    odd : list of tuple
        The first three cells that are no numbers: text, function that returns its place, row.
    large : tuple or None
        The same of a number that is too large, if all cells before it are numbers.
    """

    def __init__(self, name: str, source: str, decimal: str | None) -> None:
        self.name, self.source, self.decimal = name, source, decimal
        self.n = self.n_missing = 0
        self.counts: Counter[str] = Counter()
        self.odd: list[tuple[str, Place, int]] = []
        self.large: tuple[str, Place, int] | None = None
        self._characters = 0
        # Of the texts that are not kept: how many, their words, and the numbers among them.
        self._n_dropped_texts = self._n_dropped_words = 0
        self._read = {reading: NumberSummary() for reading in READINGS}
        self._words = WordCounts()
        self._rng = np.random.default_rng(0)

    def update(self, cells: np.ndarray, where: Place) -> None:
        """Add cells that are str, or None where one is missing; `where` returns places of rows."""
        found = Counter(cells)
        n_missing = found.pop(None, 0)
        self.n_missing += n_missing
        self.n += len(cells) - n_missing
        self._note_cells(cells, where)
        self._characters += sum(len(text) for text in found if text not in self.counts)
        self.counts.update(found)
        if len(self.counts) > _MOST_TEXTS or self._characters > _MOST_CHARACTERS:
            self._drop_rare()

    def _note_cells(self, cells: np.ndarray, where: Place) -> None:
        """Keep the places of cells that are no numbers, and of one that is too large."""
        read: dict[str | None, float | None] = {None: 0.0}
        for row, text in enumerate(cells):
            if len(self.odd) == 3:
                return
            if text not in read:
                read[text] = read_text(text, NAMES[self.decimal])
            number = read[text]
            if number is None:
                self.odd.append((text, where, row))
            elif abs(number) > LARGEST_NUMBER and self.large is None:
                self.large = text, where, row

    def _drop_rare(self) -> None:
        """Keep the most frequent texts, and of the others what was learnt."""
        kept = Counter(dict(self.counts.most_common(_KEPT)))
        dropped = {text: n for text, n in self.counts.items() if text not in kept}
        self.counts, self._characters = kept, sum(map(len, kept))
        self._n_dropped_texts += len(dropped)
        self._n_dropped_words += sum(len(text.split()) * n for text, n in dropped.items())
        self._words.update(dropped)
        for reading, summary in self._read.items():
            read = [(read_text(text, reading), n) for text, n in dropped.items()]
            values = np.array([v for v, n in read if v is not None for _ in range(n)], dtype=float)
            values = values[np.abs(values) <= LARGEST_NUMBER]
            summary.update(values, self._rng.random(len(values)))

    @property
    def n_texts(self) -> int:
        """Number of different texts; an upper bound if some were not kept."""
        return len(self.counts) + self._n_dropped_texts

    @property
    def mean_words(self) -> float:
        """Mean number of words of a cell."""
        words = sum(len(text.split()) * n for text, n in self.counts.items())
        return (words + self._n_dropped_words) / self.n

    def n_read(self, reading: str) -> int:
        """Return how many cells can be read as numbers in that way."""
        kept = (n for text, n in self.counts.items() if read_text(text, reading) is not None)
        return sum(kept) + self._read[reading].n

    def can_be(self, reading: str) -> bool:
        """Return whether the texts that are not kept can be read in that way."""
        return self._read[reading].n == self.n - self.counts.total()

    def numbers(self, reading: str) -> NumberSummary:
        """Return the summary of the numbers that all texts are; to be called once, at the end.

        Raises
        ------
        ValueError
            If one of them is infinite or too large.
        """
        summary = self._read[reading]
        read = [read_text(text, reading) for text in self.counts]
        values, counts = np.array(read, dtype=float), np.array([*self.counts.values()], dtype=float)
        too_large = np.flatnonzero(np.abs(values) > LARGEST_NUMBER)
        if len(too_large):
            text, where, row = self.large or ([*self.counts][too_large[0]], None, 0)
            place = "a row" if where is None else where(row)
            raise bad_cell(self.name, self.source, quoted(text), place, TOO_LARGE)
        summary.count(values, counts, self.n_missing)
        return summary

    def words(self) -> WordCounts:
        """Return the counts of the words of all texts."""
        self._words.update(self.counts)
        return self._words
