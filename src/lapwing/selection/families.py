"""The machines that the default lets race: supervised, manifold, graph and margin.

The first three are linear in the labels: for each of their settings a `Reduction` holds what any
labels would give, so that folds and classes cost small systems only. The margin machine is not
convex and is fitted again for each fold. The graph machine has a module of its own,
`graph_family`. No family looks at a score.

Notation: J selects the labelled rows, S the Laplacian, H a basis with HHᵀ = K.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from ..estimators import S3VC
from ..graphs import KNNGraph
from ..kernels import gram_operator, resolve_gamma
from ..losses import SquaredLoss
from ..operators import DenseOperator
from ..solvers import BasisReductions, Reduction, cholesky_basis, expansion_of
from ..spaces import landmark_features
from .parts import KernelPart, Part, kernel_of

SUPERVISED, MANIFOLD, GRAPH, MARGIN = "supervised", "manifold", "graph", "margin"
FAMILIES = (SUPERVISED, MANIFOLD, GRAPH, MARGIN)

#: Rows up to which kernel machines span the functions of all rows; above, of so many landmarks.
EXACT_ROWS, LANDMARKS = 2_500, 1_000
#: Widths of the Gaussian kernel in units of the median one, 1/(2·median²).
WIDTHS = (1.0, 4.0)
#: Weights of the norm, for supervised machines and for those over the graph.
REGS, MANIFOLD_REGS = (0.01, 0.1, 1.0), (0.01, 0.1)
#: Ratios γ_I/γ_A, and the width of the kernel they go with.
RATIOS, MANIFOLD_WIDTH = (0.1, 1.0, 10.0, 100.0), 4.0
#: Powers p and floors ε of the graph kernels (Lᵖ + εᵖ)⁻¹ over all neighbours, and over half of
#: them, which follow thin shapes better.
GRAPH_KERNELS = {"all": ((2, 0.01), (3, 0.1)), "half": ((1, 0.01), (2, 0.01))}
GRAPH_REG = 0.1
#: Rows of the margin machine at most, and its kernels: width (None: linear) and weight λ.
MARGIN_ROWS, MARGIN_KERNELS = 3_000, ((None, 1e-2), (2.0, 1e-3))
#: Labels above which only supervised machines are fitted, as explicit functions of few features.
MOST_LABELS = 3_000
#: Labels times rows above which the graph machine would take minutes.
GRAPH_WORK = 2e7
#: The sample of a cell that is fitted, not compared.
NO_SAMPLE = np.empty((0, 0))


@dataclass(frozen=True)
class Labels:
    """Labelled rows with their targets and weights.

    Attributes
    ----------
    index : ndarray of shape (l,)
        Numbers of the rows.
    targets : ndarray of shape (l, c)
        ±1 for each class against the rest, one column for two classes; or numbers.
    weights : ndarray of shape (l,)
        Weights of the losses.
    kinds : ndarray of int, shape (l,), or None
        Number of the class of each; None for targets that are quantities.
    """

    index: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    kinds: np.ndarray | None = None

    def take(self, places: np.ndarray | slice) -> Labels:
        """Return some of them."""
        kinds = None if self.kinds is None else self.kinds[places]
        return Labels(self.index[places], self.targets[places], self.weights[places], kinds)

    @property
    def even_weights(self) -> np.ndarray:
        """Weights under which all classes count the same, however many labels they have."""
        if self.kinds is None:
            return self.weights
        sums = np.bincount(self.kinds, weights=self.weights)
        share = self.weights.sum() / np.count_nonzero(sums)
        return self.weights * share / sums[self.kinds]


@dataclass(frozen=True)
class Cell:
    """One setting of a family that is linear in the labels.

    Attributes
    ----------
    family : str
        Name.
    settings : dict
        What was set, for people and for `fit`.
    reduction : Reduction
        From labels to values on the labelled rows.
    reg : float
        γ_A.
    on_sample : ndarray of shape (s, l + 1)
        From (c, b) to values on the rows of the sample.
    """

    family: str
    settings: dict[str, Any]
    reduction: Reduction
    reg: float
    on_sample: np.ndarray

    def solve(self, labels: Labels, rows: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
        """Return c and b for some of the labels.

        Over the graph alone a class with more labels would take rows from the others: there all
        classes count the same.
        """
        weights = labels.weights.copy()
        if self.family == GRAPH:
            weights[rows] = labels.take(rows).even_weights
        problem = self.reduction.problem(
            SquaredLoss(), labels.targets, weights, self.reg, True, rows
        )
        c, b, _ = problem.solve()
        return c, b


def kernel_reduction(R: np.ndarray) -> Reduction:
    """Return the reduction of a kernel that is given on the labelled rows."""
    return Reduction(0.0, (R + R.T) / 2.0, np.ones(len(R)), 0.0, np.empty((0, 0)), lambda x: x)


class SupervisedFamily:
    """Least squares on the labelled rows alone, with a linear or Gaussian kernel.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    """

    def __init__(self, X: Any) -> None:
        self.X = X

    @cached_property
    def _median(self) -> float:
        return resolve_gamma("median", self.X)

    def _gamma(self, width: float | None) -> float | None:
        return None if width is None else width * self._median

    def cells(self, labels: Labels, sample: np.ndarray) -> Iterator[Cell]:
        """Yield the settings."""
        for width in (None, *WIDTHS):
            kernel = kernel_of(self._gamma(width))
            rows = kernel.prepare(self.X[labels.index])
            R = kernel.block(rows, rows)
            on_sample = kernel.block(kernel.prepare(self.X[sample]), rows)
            on_sample = np.column_stack([on_sample, np.ones(len(sample))])
            for reg in REGS:
                settings = {"width": width, "reg": reg}
                yield Cell(SUPERVISED, settings, kernel_reduction(R), reg, on_sample)

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Part]:
        """Return the values on all rows, and the machine, of one setting fitted to labels."""
        gamma = self._gamma(settings["width"])
        kernel, at = kernel_of(gamma), self.X[labels.index]
        if len(labels.index) > MOST_LABELS:
            part = self._fit_features(gamma, at, settings["reg"], labels)
            return part.values(self.X), part
        rows = kernel.prepare(at)
        reduction = kernel_reduction(kernel.block(rows, rows))
        cell = Cell(SUPERVISED, settings, reduction, settings["reg"], NO_SAMPLE)
        c, b = cell.solve(labels, slice(None))
        if gamma is None:
            part = KernelPart(None, None, np.asarray(at.T @ c), b)
        else:
            part = KernelPart(gamma, at, c, b)
        return part.values(self.X), part

    @staticmethod
    def _fit_features(gamma: float | None, at: Any, reg: float, labels: Labels) -> KernelPart:
        """Return the machine over the columns, or over landmarks, for labels beyond number."""
        features, back, centres = at, None, None
        if gamma is not None:
            centres = at[np.linspace(0, at.shape[0] - 1, LANDMARKS).astype(int)]
            found = landmark_features(kernel_of(gamma), at, centres)
            features, back = found.values, found.back
        ridge = Ridge(alpha=reg).fit(features, labels.targets, sample_weight=labels.weights)
        coef = ridge.coef_.reshape(labels.targets.shape[1], -1).T
        intercept = np.asarray(ridge.intercept_).reshape(-1)
        return KernelPart(gamma, centres, coef if back is None else back @ coef, intercept)


class ManifoldFamily:
    """Least squares with a Gaussian kernel and the manifold term.

    Up to `EXACT_ROWS` over all rows, above over landmarks.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    graph : KNNGraph
        The graph of the rows.
    labelled : ndarray
        Rows that are landmarks in any case, unless they are many.
    seed : int
        For the other landmarks.
    """

    def __init__(self, X: Any, graph: KNNGraph, labelled: np.ndarray, seed: int) -> None:
        self.X, self.graph = X, graph
        self.labelled, self.seed = labelled, seed

    @cached_property
    def _basis(self) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], Any, float]:
        """H, the way from coefficients there to those of the centres, the centres, and gamma."""
        X, n = self.X, self.X.shape[0]
        gamma = MANIFOLD_WIDTH * resolve_gamma("median", X)
        kernel = kernel_of(gamma)
        if n > EXACT_ROWS:
            Z = X[self._landmarks(n)]
            features = landmark_features(kernel, X, Z)
            return features.values, lambda theta: features.back @ theta, Z, gamma
        gram = gram_operator(kernel, kernel.prepare(X), "float64")
        assert isinstance(gram, DenseOperator)
        H, pivots = cholesky_basis(gram.array)
        return H, lambda theta: expansion_of(H, pivots, theta), X, gamma

    def _landmarks(self, n: int) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        first = self.labelled if len(self.labelled) <= LANDMARKS // 2 else self.labelled[:0]
        others = np.setdiff1d(np.arange(n), first)
        return np.append(first, rng.choice(others, LANDMARKS - len(first), replace=False))

    def _reductions(self, labels: Labels) -> BasisReductions:
        kept = self.__dict__.get("_kept")
        if kept is None or not np.array_equal(kept.labelled, labels.index):
            kept = BasisReductions(self._basis[0], self.graph.laplacian_, labels.index)
            self._kept = kept
        return kept

    def cells(self, labels: Labels, sample: np.ndarray) -> Iterator[Cell]:
        """Yield the settings."""
        reductions, some = self._reductions(labels), self._basis[0][sample]
        for ratio in RATIOS:
            reduction = reductions.at(ratio)
            on_sample = some @ reduction.coefficients
            on_sample[:, -1] = 1.0 - ratio * on_sample[:, -1]
            for reg in MANIFOLD_REGS:
                settings = {"width": MANIFOLD_WIDTH, "ratio": ratio, "reg": reg}
                yield Cell(MANIFOLD, settings, reduction, reg, on_sample)

    def fit(self, settings: dict[str, Any], labels: Labels) -> tuple[np.ndarray, Part]:
        """Return the values on all rows, and the machine, of one setting fitted to labels."""
        reduction = self._reductions(labels).at(settings["ratio"])
        c, b = Cell(MANIFOLD, settings, reduction, settings["reg"], NO_SAMPLE).solve(
            labels, slice(None)
        )
        theta, values = reduction.expand(c, b)
        _, back, centres, gamma = self._basis
        return values, KernelPart(gamma, centres, back(theta), b)


def known_settings(family: str, settings: Any) -> bool:
    """Return whether a family tries such settings: others may take forever."""
    own: dict[str, set] = {
        SUPERVISED: {(width, reg) for width in (None, *WIDTHS) for reg in REGS},
        MANIFOLD: {(MANIFOLD_WIDTH, ratio, reg) for ratio in RATIOS for reg in MANIFOLD_REGS},
        GRAPH: {(name, *k, GRAPH_REG) for name, kernels in GRAPH_KERNELS.items() for k in kernels},
        MARGIN: set(MARGIN_KERNELS),
    }
    scale = settings.get("scale", 1.0)
    said = tuple(value for key, value in settings.items() if key != "scale")
    return said in own[family] and isinstance(scale, float) and 0.0 < scale < np.inf


def manifold_bytes(n: int) -> int:
    """Return the memory of the manifold machines for n rows: kernel, basis, systems."""
    m = n if n <= EXACT_ROWS else LANDMARKS
    return 8 * (2 * n * m + 4 * m * m)


def margin_bytes(n: int) -> int:
    """Return the memory of the margin machine for n rows: kernel and work of the solver."""
    return 8 * 3 * min(n, MARGIN_ROWS) ** 2


@dataclass
class MarginFamily:
    """The semi-supervised support vector machine, which wants a gap between the classes.

    Above `MARGIN_ROWS` it sees all labelled rows and a sample of the others.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Scaled rows.
    seed : int
        For the sample of rows.
    """

    X: Any
    seed: int

    def settings(self) -> list[dict[str, Any]]:
        """Return what is tried."""
        return [{"width": width, "reg": reg} for width, reg in MARGIN_KERNELS]

    def fit(
        self, settings: dict[str, Any], labels: Labels, places: np.ndarray | None = None
    ) -> tuple[Callable[[np.ndarray], np.ndarray], Part]:
        """Return a function from numbers of rows to values, and the machine.

        ``places`` picks some of the labels; the rows of the others count as unlabelled.
        """
        X, n = self.X, self.X.shape[0]
        rows = np.arange(n)
        if n > MARGIN_ROWS:
            rng = np.random.default_rng(self.seed)
            drawn = rng.choice(n, MARGIN_ROWS, replace=False)
            rows = np.union1d(labels.index, drawn)
            X = X[rows]
        used = labels if places is None else labels.take(places)
        columns = used.targets.shape[1]
        kind = (used.targets[:, 0] > 0).astype(int) if columns == 1 else used.targets.argmax(1)
        y = np.full(len(rows), -1)
        y[np.searchsorted(rows, used.index)] = kind
        weights = np.ones(len(rows))
        weights[np.searchsorted(rows, used.index)] = used.weights
        counts = np.bincount(kind, minlength=max(columns, 2)) + 1.0
        width = settings["width"]
        machine = S3VC(
            kernel="linear" if width is None else "rbf",
            gamma=1.0 if width is None else width * self._median,
            reg=settings["reg"],
            positive_ratio=counts / counts.sum(),
            calibration_folds=0,
            random_state=self.seed,
        )
        with warnings.catch_warnings():  # of a minimum that is no good: its score will tell
            warnings.simplefilter("ignore")
            machine.fit(X, y, sample_weight=weights)
        if width is None:
            part = KernelPart(None, None, machine.coef_.T, machine.intercept_)
        else:
            centres = self.X if len(rows) == n else machine.X_fit_
            part = KernelPart(
                width * self._median, centres, machine.dual_coef_.T, machine.intercept_
            )
        return lambda index: part.values(self.X[index]), part

    @cached_property
    def _median(self) -> float:
        return resolve_gamma("median", self.X)
