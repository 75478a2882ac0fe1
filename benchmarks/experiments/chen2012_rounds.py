"""The large data sets of Chen, Tsang and Xu (2012), their rounds and graphs, without any method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import rankdata

from lapwing.graphs import KNNGraph

from .data import DataFolder, mean_distance_gamma

#: File, neighbours, eigenvectors.
SETS = {
    "FACEMIT": ("facemit.npz", 6, 10),
    "MNIST1": ("mnist.npz", 20, 20),
    "MNIST2": ("mnist.npz", 20, 20),
    "extended USPS": ("usps.npz", 6, 10),
}
N_VALIDATION = 1000


@dataclass
class Round:
    """One draw: labelled rows, validation rows, and the rows on which errors are counted."""

    labelled: np.ndarray
    validation: np.ndarray
    counted: np.ndarray


class Task:
    """One data set with its rounds."""

    def __init__(
        self, data: DataFolder, name: str, rounds: int, bins: Sequence[int] = (100,)
    ) -> None:
        _, self.neighbors, self.n_eigenvectors = SETS[name]
        self.bins = bins
        self.X, self.y, groups = data_set(data, name)
        self.gamma = mean_distance_gamma(self.X)
        self.rounds = [self._draw(groups, np.random.default_rng(seed)) for seed in range(rounds)]

    def _draw(self, groups: np.ndarray, rng: np.random.Generator) -> Round:
        order = rng.permutation(len(groups))
        labelled = np.concatenate([order[groups[order] == g][:10] for g in np.unique(groups)])
        rest = order[~np.isin(order, labelled)]
        return Round(labelled, rest[:N_VALIDATION], np.sort(rest[N_VALIDATION:]))

    def marks(self, draw: Round) -> np.ndarray:
        """Return labels of all rows, -1 for unlabelled rows."""
        marks = np.full(len(self.y), -1)
        marks[draw.labelled] = self.y[draw.labelled]
        return marks

    def graph(self) -> KNNGraph:
        """Return the graph with the weights that the paper prints, exp(−d/2σ²)."""
        return printed_graph(self.X, self.neighbors)


def printed_graph(X: np.ndarray, neighbors: int) -> KNNGraph:
    """Return a graph with weights exp(−d/2σ²), d not squared."""
    graph = KNNGraph(neighbors).fit(X)
    assert graph.bandwidth_ is not None
    W, sigma = graph.affinity_.copy(), graph.bandwidth_
    W.data = np.exp(-np.sqrt(-2.0 * np.log(W.data)) / (2.0 * sigma))
    return KNNGraph.from_affinity(W)


def data_set(data: DataFolder, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, class codes 0 and 1, and the groups of which ten rows each are labelled."""
    if name == "extended USPS":
        X, y = next(extended_usps(data, train=False))
        return X, y, y
    if name == "FACEMIT":
        X, y = data.load("facemit.npz", "X", "y")
        y = (y == 1).astype(int)
        return (rankdata(X, method="max", axis=1) / X.shape[1]).astype(np.float32), y, y
    X, digit, train = data.load("mnist.npz", "X", "y", "train")
    X, digit = X[train].astype(np.float32) / 255, digit[train].astype(int)
    return X, (digit >= 5).astype(int) if name == "MNIST1" else digit % 2, digit


def shifted(images: np.ndarray, shift: int = 5) -> np.ndarray:
    """Return square images at all positions of a larger canvas, (121 n, 26²) for 16 × 16 pixels.

    The canvas is ``shift`` pixels wider on every side, so that no pixel is lost, and has the
    darkest value of the images: the extension of USPS by Tsang, Kwok and Cheung (2005).
    """
    n, side = len(images), round(images.shape[1] ** 0.5)
    positions, wide = 2 * shift + 1, side + 2 * shift
    out = np.full((n, positions, positions, wide, wide), images.min(), dtype=images.dtype)
    for row, column in product(range(positions), range(positions)):
        out[:, row, column, row : row + side, column : column + side] = images.reshape(
            n, side, side
        )
    return out.reshape(n * positions * positions, wide * wide)


def extended_usps(
    data: DataFolder, train: bool, images_at_a_time: int | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows and digits, 0 or 1, of extended USPS: 266 079 for training, 75 383 for test."""
    X, y, mask = data.load("usps.npz", "X", "y", "train")
    keep = (y < 2) & (mask == train)
    X, y = X[keep].astype(np.float32), y[keep].astype(int)
    step = images_at_a_time or len(X)
    for first in range(0, len(X), step):
        part = slice(first, first + step)
        yield shifted(X[part]), np.repeat(y[part], 121)
