"""Data sets, splits, kernels and graphs of Melacci and Belkin (2011), without any method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from lapwing.graphs import KNNGraph
from lapwing.kernels.functions import GaussianKernel, Kernel, PolynomialKernel

from .data import DataFolder, unit_rows

#: File; number of labelled and validation rows; kernel width (or degree), neighbours, power.
SETS: dict[str, tuple[str, int, int, float, int, int]] = {
    "G50C": ("g50c.npz", 50, 50, 17.5, 50, 5),
    "COIL20(B)": ("coil20.npz", 40, 40, 0.6, 2, 1),
    "PCMAC": ("pcmac.npz", 50, 50, 2.7, 50, 5),
    "USPST(B)": ("uspst.npz", 50, 50, 9.4, 10, 2),
    "COIL20": ("coil20.npz", 40, 40, 0.6, 2, 1),
    "USPST": ("uspst.npz", 50, 50, 9.4, 10, 2),
    "MNIST3VS8": ("mnist.npz", 80, 80, 9, 20, 3),
    "FACEMIT": ("facemit.npz", 2, 50, 4.3, 6, 1),
}


@dataclass(frozen=True)
class Split:
    """One split: labelled and unlabelled training rows, and the rows of V and T."""

    X: Any
    y: np.ndarray
    labelled: np.ndarray
    unlabelled: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    @property
    def train(self) -> np.ndarray:
        """Labelled rows, then unlabelled ones."""
        return np.concatenate([self.labelled, self.unlabelled])

    @property
    def marks(self) -> np.ndarray:
        """Labels of the training rows, -1 for unlabelled rows."""
        marks = np.full(len(self.train), -1)
        marks[: len(self.labelled)] = self.y[self.labelled]
        return marks


def splits(data: DataFolder, name: str, repeats: int) -> Iterator[Split]:
    """Yield the first splits of a data set."""
    _, n_labelled, n_validation, *_ = SETS[name]
    X, y, train = data_set(data, name)
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        if train is None:
            folds = StratifiedKFold(4, shuffle=True, random_state=seed // 4).split(y, y)
            inside, test = list(folds)[seed % 4]
        else:
            inside, test = np.flatnonzero(train), np.flatnonzero(~train)
        order = rng.permutation(inside)
        labelled = _drawn(order, y, n_labelled, balanced=train is not None)
        order = order[~np.isin(order, labelled)]
        validation = _drawn(order, y, n_validation, balanced=train is not None)
        yield Split(X, y, labelled, order[~np.isin(order, validation)], validation, test)


def _drawn(order: np.ndarray, y: np.ndarray, size: int, balanced: bool) -> np.ndarray:
    """Return the first rows of an order that contain every class, or every class equally often."""
    classes = np.unique(y)
    least_of_each = size // len(classes) if balanced else 1
    first = np.concatenate([order[y[order] == c][:least_of_each] for c in classes])
    rest = order[~np.isin(order, first)]
    return np.concatenate([first, rest[: size - len(first)]])


def data_set(data: DataFolder, name: str) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return rows, class codes from 0, and the mask of the training part (None: it is drawn)."""
    file = SETS[name][0]
    [y] = data.load(file, "y")
    if name == "MNIST3VS8":
        X, train = data.load(file, "X", "train")
        pair = np.isin(y, (3, 8))
        return unit_rows(X[pair]), (y[pair] == 8).astype(int), train[pair]
    if name == "FACEMIT":  # training and test part are swapped
        X, train = data.load(file, "X", "train")
        return (X / 255.0).astype(np.float32), (y == 1).astype(int), ~train
    X = data.rows(file)
    if name.startswith("COIL20"):
        X = unit_rows(X)
    y = np.unique(y, return_inverse=True)[1]
    if name.endswith("(B)"):
        y = (y >= (y.max() + 1) // 2).astype(int)
    return X if X.dtype == np.float64 else X.astype(np.float64), y, None


def kernel_of(name: str) -> Kernel:
    """Return the kernel of a data set."""
    width = SETS[name][3]
    if name == "MNIST3VS8":
        return PolynomialKernel(gamma=1.0, coef0=0.0, degree=width)
    return GaussianKernel(1.0 / (2.0 * width**2))


def graph_of(name: str) -> KNNGraph:
    """Return the graph of a data set, not fitted."""
    *_, neighbors, power = SETS[name]
    return KNNGraph(neighbors, power=power)


def gram_matrices(
    split: Split, name: str, train: np.ndarray, *others: np.ndarray
) -> list[np.ndarray]:
    """Return the Gram matrix of the training rows, and those between other rows and them."""
    kernel = kernel_of(name)
    rows = kernel.prepare(split.X[train])
    grams = [kernel.block(kernel.prepare(split.X[part]), rows) for part in (train, *others)]
    grams[0] = (grams[0] + grams[0].T) / 2.0
    return grams
