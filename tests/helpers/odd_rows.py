"""Rows of random problems: easy data, and steps that make their rows odd.

Estimators should be indifferent to a step, or refuse its rows. Nothing here runs an estimator.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from helpers.cases import CASES, Case

#: Steps that change no decision: with these alone even convergence is certain.
GENTLE = {"rescale", "move", "permute", "float32", "sparse", "layout", "names", "targets"}


@dataclass(frozen=True)
class Problem:
    """An estimator with data.

    Attributes
    ----------
    seed : int
        Reproduces the problem.
    case : Case
        The configured estimator.
    parameters : dict
        Parameters that differ from those of the case.
    X, y, weights : Any
        Arguments of ``fit``.
    plain : ndarray of shape (n, d)
        The rows without what was done to their values: those from which a reference learns.
    truth : ndarray
        Classes in the spelling of y, or targets, of all rows.
    steps : tuple of str
        What was done to the easy data, in words; the first word is the name of the step.
    learnable : bool
        Whether the rows determine the classes or targets at the parameters of the case.
    """

    seed: int
    case: Case
    X: Any
    y: Any
    truth: np.ndarray
    plain: np.ndarray
    weights: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    learnable: bool = True

    @property
    def gentle(self) -> bool:
        """Whether the model must be as good as without the steps, and without a warning."""
        return self.learnable and all(step.split()[0] in GENTLE for step in self.steps)

    @property
    def hidden(self) -> np.ndarray:
        """Which rows have no label."""
        return np.array([value is None or value != value or value == -1 for value in self.y])

    @property
    def scale_free(self) -> bool:
        """Whether units and origin of the rows cannot matter."""
        given = self.case.new().get_params(deep=False)
        return given.get("kernel", "rbf") == "rbf" and isinstance(given.get("gamma", ""), str)

    def has(self, name: str) -> bool:
        """Whether a step of this name was done."""
        return any(step.split()[0] == name for step in self.steps)

    def then(self, step: str, **changes: Any) -> "Problem":
        """Return the problem after one more step."""
        return replace(self, steps=(*self.steps, step), **changes)


# ---------------------------------------------------------------- easy data


def easy_problem(seed: int, rng: np.random.Generator) -> Problem:
    """Return a case with separated classes, or targets that vary slowly, and some labels."""
    case = CASES[rng.integers(len(CASES))]
    d = int(rng.choice([1, 2, 3, 5, 12, 50]))
    n = int(
        rng.choice([2, 3, 5, 8, 30, 60, 120, 200], p=[0.03, 0.03, 0.04, 0.05, 0.2, 0.4, 0.2, 0.05])
    )
    if not case.is_classifier:
        X = rng.uniform(-1.0, 1.0, size=(n, d))
        truth = 2.0 * X[:, 0] + np.sin(2.0 * X[:, 0])
        labelled = np.arange(n) < max(2, n // 2)
        learnable = n >= 60 and d <= 3
        y = np.where(labelled, truth, np.nan)
        return Problem(seed, case, X, y, truth, X, learnable=learnable)
    k = 2 if d == 1 or rng.random() < 0.6 else 3
    angles = 2.0 * np.pi * np.arange(k) / k
    centres = np.zeros((k, max(d, 2)))
    centres[:, 0], centres[:, 1] = np.cos(angles), np.sin(angles)
    codes = np.arange(n) % k
    X = (4.0 + 0.5 * np.sqrt(d)) * centres[codes, :d] + 0.7 * rng.normal(size=(n, d))
    labelled = np.arange(n) < max(k, min(6 * k, n // 2))
    y = np.where(labelled, codes, -1)
    problem = Problem(seed, case, X, y, codes, X)
    # A kernel whose width is given, not learnt, sees nothing in many columns.
    return replace(problem, learnable=n >= 30 and (problem.scale_free or d <= 5))


# ---------------------------------------------------------------- rows


def rescale(problem: Problem, rng: np.random.Generator) -> Problem:
    return _times(problem, 10.0 ** rng.uniform(-4, 4), "rescale")


def extreme_scale(problem: Problem, rng: np.random.Generator) -> Problem:
    powers = [-300, -170, -100, -30, -12, 12, 30, 100, 160, 300]
    return _times(problem, 10.0 ** float(rng.choice(powers)), "extreme_scale")


def _times(problem: Problem, factor: float, name: str) -> Problem:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        X = problem.X * factor
        lost = np.abs(X / factor - problem.X).max()
        fine = lost <= 1e-9 * np.ptp(problem.X, axis=0).max()  # else rows under- or overflow
    learnable = problem.learnable and problem.scale_free and bool(fine)
    return problem.then(f"{name} {factor:.3g}", X=X, learnable=learnable)


def move(problem: Problem, rng: np.random.Generator) -> Problem:
    size = 10.0 ** rng.uniform(-2, 3)
    with np.errstate(over="ignore", invalid="ignore"):
        X = problem.X + size * rng.normal(size=problem.X.shape[1]) * np.ptp(problem.X, axis=0)
    learnable = problem.learnable and problem.scale_free
    return problem.then(f"move {size:.3g}", X=X, learnable=learnable)


def constant_columns(problem: Problem, rng: np.random.Generator) -> Problem:
    value = float(rng.choice([0.0, 1.0, -1e3, 1e9, 1e15]))
    X = np.column_stack([problem.X, np.full(len(problem.X), value)])
    fine = value == 0.0 or (problem.scale_free and not problem.has("outlier"))  # see `outlier`
    learnable = problem.learnable and fine
    return problem.then(f"constant_column {value:g}", X=X, learnable=learnable)


def repeated_columns(problem: Problem, rng: np.random.Generator) -> Problem:
    return problem.then("repeated_columns", X=np.column_stack([problem.X, problem.X]))


def repeated_rows(problem: Problem, rng: np.random.Generator) -> Problem:
    n = len(problem.X)
    some = np.append(np.arange(n), rng.integers(0, n, size=n // 2))
    # Degrees become uneven, and so do functions that a normalised Laplacian leaves free; a few
    # eigenvectors may not hold a constant any more.
    few = problem.case.has("n_eigenvectors") and problem.case.estimator.n_eigenvectors is not None
    problem = replace(problem, learnable=problem.learnable and not few)
    return _take(problem, some, "repeated_rows")


def equal_rows(problem: Problem, rng: np.random.Generator) -> Problem:
    X = np.repeat(problem.X[:1], len(problem.X), axis=0)
    return problem.then("equal_rows", X=X, learnable=False)


def outlier(problem: Problem, rng: np.random.Generator) -> Problem:
    factor = 10.0 ** float(rng.choice([3, 6, 12, 100]))
    X = problem.X.copy()
    with np.errstate(over="ignore"):
        X[-1] *= factor
    # gamma="scale" and bins between the extremes are documented to follow the largest rows, and
    # k-means gives an outlier one of its few centres: to them it is another problem.
    given = problem.case.new().get_params(deep=False)
    follows = given.get("gamma") == "scale" or "n_bins" in given or "n_anchors" in given
    follows |= isinstance(given.get("n_prototypes"), int)
    # Beside a large constant it sets the unit in which digits are kept, and hides the other rows;
    # so does the same row twice.
    follows |= problem.has("constant_column") or problem.has("outlier")
    learnable = problem.learnable and factor <= 1e6 and problem.scale_free and not follows
    return problem.then(f"outlier {factor:g}", X=X, learnable=learnable)


def zeros(problem: Problem, rng: np.random.Generator) -> Problem:
    X = np.where(rng.random(problem.X.shape) < 0.5, problem.X, 0.0)
    return problem.then("zeros", X=X, learnable=False)


def uneven_columns(problem: Problem, rng: np.random.Generator) -> Problem:
    powers = rng.uniform(-12, 12, size=problem.X.shape[1])
    with np.errstate(over="ignore"):
        X = problem.X * 10.0**powers
    return problem.then("uneven_columns", X=X, learnable=False)


def permute(problem: Problem, rng: np.random.Generator) -> Problem:
    return _take(problem, rng.permutation(len(problem.X)), "permute")


def _take(problem: Problem, index: np.ndarray, step: str) -> Problem:
    kept = {name: getattr(problem, name)[index] for name in ("X", "y", "truth", "plain")}
    return problem.then(step, **kept)


ROW_STEPS: list[Callable[[Problem, np.random.Generator], Problem]] = [
    rescale,
    extreme_scale,
    move,
    constant_columns,
    repeated_columns,
    repeated_rows,
    equal_rows,
    outlier,
    zeros,
    uneven_columns,
    permute,
]


# ---------------------------------------------------------------- types and storage of rows


def _int_indices(X: Any) -> Any:
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _explicit_zeros(X: Any) -> Any:
    X = sp.csr_matrix(X)
    X.data[:: max(len(X.data) // 3, 1)] = 0.0
    return X


SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
    "lil_matrix": sp.lil_matrix,
    "int64": _int_indices,
    "explicit_zeros": _explicit_zeros,
}
LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[:, ::-1],
    "lists": lambda X: X.tolist(),
    "table": lambda X: pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
    "objects": lambda X: X.astype(object),
    "longdouble": lambda X: X.astype(np.longdouble),
}


def store(problem: Problem, rng: np.random.Generator) -> Problem:
    """Change precision or storage of the rows, which come last."""
    X, kind = problem.X, rng.choice(["float32", "float16", "integers", "sparse", "layout"])
    if problem.case.sparse and kind != "integers":
        kind = "sparse"
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if kind == "float32":
            fine = _digits_lost(X, np.float32) < 1e-3
            learnable = problem.learnable and fine
            return problem.then("float32", X=X.astype(np.float32), learnable=learnable)
        if kind == "float16":
            return problem.then("float16", X=X.astype(np.float16), learnable=False)
        if kind == "integers":
            dtype = rng.choice(["int8", "int32", "int64", "uint8", "bool"])
            bounded = np.clip(np.round(X), -100, 100)
            rows = np.abs(bounded) if dtype == "uint8" else bounded
            return problem.then(f"integers {dtype}", X=rows.astype(dtype), learnable=False)
    table = SPARSE if kind == "sparse" else LAYOUTS
    name = str(rng.choice(list(table)))
    learnable = problem.learnable and name != "explicit_zeros"
    if kind == "sparse":  # they are not centred, and not every estimator takes them
        centred = problem.has("move") or problem.has("constant_column")
        learnable &= problem.case.takes_sparse and not centred
    return problem.then(f"{kind} {name}", X=table[name](X), learnable=learnable)


def _digits_lost(X: np.ndarray, dtype: type) -> float:
    """Return by how much rounding moves a row, relative to the spread of the rows."""
    spread = float(np.std(X, axis=0).max())
    rounded = X.astype(dtype).astype(np.float64)
    error = float(np.abs(rounded - X).max())
    return error / spread if spread > 0 and np.isfinite(error) else np.inf
