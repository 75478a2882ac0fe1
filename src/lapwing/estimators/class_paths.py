"""The solution paths of all classes in λ, as values: coefficients at any λ, and what is stored.

Knows neither how paths are followed nor how one λ is chosen (`path_problem`).

Notation: B breakpoints, l labelled rows, c columns (classes against the rest), k values of λ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays.packing import expect
from ..solvers import SolutionPath


@dataclass(frozen=True)
class ClassPaths:
    """One path for each column of the targets, over the same labelled rows.

    Attributes
    ----------
    paths : tuple of SolutionPath
        The paths.
    targets : ndarray of shape (l, c)
        ±1.
    rho : float
        ρ.
    """

    paths: tuple[SolutionPath, ...]
    targets: np.ndarray
    rho: float

    @property
    def constant(self) -> bool:
        """Whether nothing ever happens on any path."""
        return all(path.constant for path in self.paths)

    @property
    def end(self) -> float:
        """The smallest λ that all paths have reached; 0 if they are constant."""
        return max((path.lambdas[-1] for path in self.paths if not path.constant), default=0.0)

    @property
    def breakpoints(self) -> np.ndarray:
        """Breakpoints of all paths down to the end, in descending order."""
        lambdas = np.unique(np.concatenate([path.lambdas for path in self.paths]))[::-1]
        return lambdas[lambdas >= self.end]

    def at(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients of the labelled rows, shape (k, l, c), and b, shape (k, c)."""
        found = [path.at(lam) for path in self.paths]
        a, beta = (np.stack(part, axis=-1) for part in zip(*found, strict=True))
        return a * self.targets / (self.rho * lam[:, None, None]), beta / lam[:, None]

    def attributes(self) -> dict[str, np.ndarray]:
        """Return the fitted attributes that show the paths at the breakpoints of all of them."""
        lambdas = self.breakpoints
        found = [path.at(lambdas) for path in self.paths]
        return {
            "lambdas_": lambdas,
            "coef_path_": np.stack([a for a, _ in found], axis=1),
            "intercept_path_": np.stack([beta for _, beta in found], axis=1) / lambdas[:, None],
            "elbow_path_": np.stack([_elbow(path, lambdas) for path in self.paths], axis=1),
        }


@dataclass(frozen=True)
class PathFunctions:
    """Paths with the way to functions of any row: what a prediction at a chosen λ needs.

    Attributes
    ----------
    paths : ClassPaths
        Of all labelled rows.
    coefficients : ndarray of shape (m, l + 1)
        Coefficients of the model for each entry of (c, −b/ρ).
    """

    paths: ClassPaths
    coefficients: np.ndarray

    def at(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (c, −b/ρ), shape (k, l + 1, c), and the intercepts b, shape (k, c)."""
        c, b = self.paths.at(lam)
        return np.concatenate([c, -(1.0 / self.paths.rho) * b[:, None, :]], axis=1), b

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        paths, (l, columns) = self.paths.paths, self.paths.targets.shape
        expect(len(paths) == columns and self.coefficients.shape[1:] == (l + 1,))
        expect(all(path.multipliers.shape == (len(path.lambdas), l) for path in paths))
        expect(bool(np.isfinite(self.coefficients).all()) and self.paths.rho > 0)


def _elbow(path: SolutionPath, lambdas: np.ndarray) -> np.ndarray:
    """Return the number of rows on the margin just below each λ."""
    last = np.searchsorted(-path.lambdas, -lambdas, side="right") - 1
    return np.where(last < 0, path.above, path.elbows[last])
