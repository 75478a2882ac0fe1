"""Data sets of the experiments, read from a folder that the user names, and small helpers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Environment variable with the folder of the data sets.
VARIABLE = "LAPWING_DATA"


@dataclass(frozen=True)
class DataFolder:
    """A folder of npz files."""

    path: Path

    @classmethod
    def find(cls, given: Path | None, needed: bool = True) -> DataFolder:
        """Return the given folder, or the one named by the environment variable."""
        path = given or os.environ.get(VARIABLE)
        if not path and not needed:
            return cls(Path("no data folder"))
        if not path or not Path(path).is_dir():
            wrong = f"{path} is not a folder" if path else "the folder of the data sets is unknown"
            raise ValueError(f"{wrong}: pass --data FOLDER or set the variable {VARIABLE}")
        return cls(Path(path))

    def missing(self, names: tuple[str, ...]) -> list[str]:
        """Return the names of files that are missing."""
        return [name for name in names if not (self.path / name).is_file()]

    def load(self, name: str, *keys: str) -> list[np.ndarray]:
        """Return arrays of a file."""
        with np.load(self.path / name) as file:
            return [file[key] for key in keys]

    def rows(self, name: str) -> np.ndarray | sp.csr_matrix:
        """Return the rows of a data set, as CSR if they are sparse."""
        with np.load(self.path / name) as file:
            if "X" in file:
                return file["X"]
            parts = (file["data"], file["indices"], file["indptr"])
            return sp.csr_matrix(parts, shape=tuple(file["shape"]))


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Return rows of unit length, in float64."""
    X = X.astype(np.float64)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def error(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the error in percent."""
    return 100.0 * float(np.mean(predicted != truth))


def mean_distance_gamma(X: Any) -> float:
    """Return the width n² / Σ‖xᵢ − xⱼ‖² of Chen, Tsang and Xu (2012)."""
    squares = float(X.multiply(X).sum()) if sp.issparse(X) else float(np.einsum("ij,ij->", X, X))
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    return 1.0 / (2.0 * (squares / X.shape[0] - float(mean @ mean)))


def few_labels(y: np.ndarray, per_class: int, rng: np.random.Generator) -> np.ndarray:
    """Return labels of ``per_class`` random rows of each class, and -1 for the others."""
    labels = np.full(len(y), -1)
    for label in np.unique(y):
        labels[rng.permutation(np.flatnonzero(y == label))[:per_class]] = label
    return labels
