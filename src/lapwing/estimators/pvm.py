"""Prototype vector machines: PVMClassifier, PVMRegressor.

A few k-means centres carry the function and the graph, so that a fit is a few passes over the rows,
in tiles, whatever their number. Sums over rows are made in `spaces.prototypes`; what remains is a
machine in as many features as there are prototypes.

Notation: as there; H_l the rows of H with a label, A = HᵀSH + C₂H_uᵀH_u.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays.blocks import Progress, RowBlocks, open_stream
from ..arrays.memory import format_size, memory_budget
from ..arrays.threads import n_threads
from ..solvers import decisions, fit_hinge, fit_ridge
from ..spaces import (
    LowRankGraph,
    Similarities,
    kmeans_landmarks,
    kmeans_rows,
    penalty_root,
    smoothness_at_points,
    tile_rows,
)
from .base import draw_seed, local_kernel
from .checks import (
    check_count,
    check_gamma,
    check_magnitude,
    check_not_negative,
    check_positive,
    valid_rows,
)
from .classifier import LabelClassifier, LabelledData
from .regressor import LabelRegressor
from .targets import labelled_rows

#: n_prototypes="auto": a tenth of the rows, within these bounds.
_AUTO_BOUNDS = (100, 500)
#: Matrices of prototypes by prototypes that are held at once, for each thread and beside.
_SQUARES = 4


class PrototypeEstimator(BaseEstimator):
    """What both machines share. See the public classes for the parameters."""

    # Set by __init__ of the public classes.
    n_prototypes: Any
    n_landmarks: Any
    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    reg_labeled: Any
    reg_unlabeled: float
    normalize_rows: bool
    labeled_weight: float
    unlabeled: Any
    random_state: Any
    verbose: int
    memory_limit: Any

    #: Loss of the labelled rows.
    loss = "squared"

    def _check_targets(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        raise NotImplementedError(f"{type(self).__name__} must implement _check_targets")

    def _store_values(
        self, data: LabelledData, rows: RowBlocks, values: Callable, held_out: np.ndarray
    ) -> None:
        """Store what is predicted for all rows; ``values`` are those of a tile."""
        raise NotImplementedError(f"{type(self).__name__} must implement _store_values")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows with and without labels.

        Parameters
        ----------
        X : array, memory map or CSR matrix of shape (n, d)
            All rows. They are read in tiles and not copied.
        y : array of shape (n,)
            Labels or targets; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = self._check_rows(X, reset=True)
        data = self._check_targets(X, y, sample_weight)
        self._fit_rows(RowBlocks.of(X, self._progress()), data, _row_size(X))
        self._rows = X
        return self

    def fit_blocks(self, blocks: Any) -> Self:
        """Fit to rows that come in blocks, such as files that do not fit into memory together.

        The blocks are read five times: to check them, to choose the prototypes, for the degrees
        of the graph, for its smoothness, and for ``transduction_``. The model is that of `fit` with
        all rows in one array. Blocks of some thousand rows or more are fast.

        Parameters
        ----------
        blocks : list, function or iterator
            Pairs (X, y) as `fit` takes them; y may be None where no row of a block has a label.
            A function is called for each reading and returns an iterator. The rows of an
            iterator, which can be read only once, are kept in a temporary folder meanwhile.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from lapwing import PVMClassifier
        >>> def blocks():
        ...     rng = np.random.default_rng(0)
        ...     for i in range(3):
        ...         truth = rng.integers(0, 2, 1000)
        ...         X = rng.normal(6.0 * truth[:, None], 1.0, (1000, 2))
        ...         yield X, np.where(np.arange(1000) < 5, truth, -1) if i == 0 else None
        >>> model = PVMClassifier(n_prototypes=20).fit_blocks(blocks)
        >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
        array([0, 1])
        """
        self._check_parameters()
        progress, largest = self._progress(), 0.0

        def check(number: int, pair: Any) -> tuple[Any, np.ndarray]:
            nonlocal largest
            X, values = self._check_block(number, pair)
            largest = max(largest, _row_size(X))
            return X, values

        if progress is not None:
            progress("reading the blocks", 0, 1)
        with open_stream(blocks, check) as stream:
            if stream.n_rows < 2:
                raise ValueError(f"{stream.n_rows} rows in all blocks: there is nothing to fit")
            rows = RowBlocks(stream.read, stream.n_rows, progress)
            no_columns = np.empty((rows.n_rows, 0))  # stands for X where only its rows are counted
            data = self._check_targets(no_columns, _join(stream.labels), None)
            self._fit_rows(rows, data, largest)
        self._rows = None
        return self

    # Checks.

    def _check_parameters(self) -> None:
        if self.loss not in ("squared", "hinge"):
            raise ValueError(f"loss must be 'squared' or 'hinge', got {self.loss!r}")
        if self.n_prototypes != "auto":
            check_count("n_prototypes", self.n_prototypes)
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks)
        if self.reg_labeled != "scale":
            check_positive("reg_labeled", self.reg_labeled)
        check_not_negative("reg_unlabeled", self.reg_unlabeled)
        check_positive("labeled_weight", self.labeled_weight)
        check_gamma(self.gamma)
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' has no values for prototypes, which are not rows: pass the "
                "rows and a kernel function, or use LapSVC with n_landmarks"
            )

    def _check_rows(self, X: Any, *, reset: bool, least: int = 2) -> Any:
        """Return X as numbers, without a copy of an array or a memory map."""
        X = valid_rows(self, X, reset=reset, least=least, dtype="numeric")
        if X.dtype.kind == "f":
            check_magnitude(X, np.float64)  # in which tiles are computed
        return X

    def _check_block(self, number: int, pair: Any) -> tuple[Any, np.ndarray]:
        if not (isinstance(pair, tuple) and len(pair) == 2):
            what = f"a tuple of {len(pair)}" if isinstance(pair, tuple) else type(pair).__name__
            raise TypeError(
                f"block {number} must be a tuple (X, y), got {what}: give y=None for a block "
                "without any label; weights of rows are for fit"
            )
        X, y = pair
        try:
            X = self._check_rows(X, reset=number == 0, least=0)
            values = np.full(X.shape[0], None)
            if y is not None:
                values, _ = labelled_rows(y, self.unlabeled)
        except ValueError as error:
            raise ValueError(f"block {number}: {error}") from error
        if len(values) != X.shape[0]:
            raise ValueError(f"block {number}: X has {X.shape[0]} rows and y has {len(values)}")
        return X, values

    def _progress(self) -> Progress | None:
        return _Progress(type(self).__name__) if self.verbose else None

    # The fit.

    def _fit_rows(self, rows: RowBlocks, data: LabelledData, row_size: float) -> None:
        """Choose prototypes, sum over the rows, solve. ``row_size`` is in stored numbers."""
        k, m = self._sizes(rows.n_rows, len(data.index), row_size)
        if rows.progress is not None:
            rows.progress("choosing prototypes", 0, 1)
        rng = np.random.default_rng(draw_seed(self.random_state))
        sample, weights, X_l = self._sample(rows, data, max(k, m), rng)
        V = np.unique(kmeans_landmarks(sample, k, rng, weights), axis=0)  # centres may be equal
        U = V
        if self.n_landmarks is not None:
            U = np.unique(kmeans_landmarks(sample, m, rng, weights), axis=0)
        self.prototypes_, self.landmarks_ = V, U
        self.kernel_ = local_kernel(self, sample, V)
        del sample
        self._similarities = Similarities(self.kernel_, V, bool(self.normalize_rows))
        graph = LowRankGraph.build(rows, Similarities(self.kernel_, U))
        self._sums = smoothness_at_points(
            rows, graph, self._similarities, with_gram=self.reg_unlabeled > 0
        )
        self._total_degree = graph.total
        self._solve(rows, data, self._similarities(X_l))

    def _solve(self, rows: RowBlocks, data: LabelledData, H_l: np.ndarray) -> None:
        """Solve for the values of the prototypes, and store what follows for all rows."""
        plus, minus, gram = self._sums
        if self.reg_unlabeled > 0:
            plus = plus + self.reg_unlabeled * (gram - H_l.T @ H_l)
        self.reg_labeled_ = self._label_weight(data)
        back = penalty_root(plus, minus, self._similarities)
        features, weights = H_l @ back, self.reg_labeled_ * data.weights
        if self.loss == "squared":
            coef, held_out = fit_ridge(features, data.targets, weights)
        else:
            coef, held_out = fit_hinge(features, data.targets, weights)
        self.coef_ = (back @ coef).T
        values = self.coef_.T
        self._store_values(data, rows, lambda X: self._similarities.values(X, values), held_out)

    def _sizes(self, n: int, n_labelled: int, row_size: float) -> tuple[int, int]:
        """Return the numbers of prototypes, after looking at the memory."""
        d, k = self.n_features_in_, self.n_prototypes
        if k == "auto":
            k = min(n, int(np.clip(n // 10, *_AUTO_BOUNDS)))
        m = k if self.n_landmarks is None else self.n_landmarks
        k, m = min(int(k), n), min(int(m), n)
        most = max(k, m)
        sample = 2 * min(n, kmeans_rows(most)) * row_size + 3 * most * d
        sums = _SQUARES * (n_threads() + 1) * (most**2 + tile_rows(m + k) * (m + k))
        solution = n_labelled * (row_size + 4 * k) + (
            6 * n_labelled**2 if self.loss == "hinge" else 0
        )
        needed, budget = 8 * (max(sample, sums) + solution), memory_budget(self.memory_limit)
        if needed > budget:
            raise MemoryError(
                f"{most} prototypes of {d} columns and {n_labelled} labelled rows may need "
                f"{format_size(needed)} and memory_limit allows {format_size(budget)}: lower "
                "n_prototypes or n_landmarks, use loss='squared', or raise memory_limit"
            )
        return k, m

    def _sample(
        self, rows: RowBlocks, data: LabelledData, most: int, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray | None, Any]:
        """Return rows for k-means, their weights, and the labelled rows."""
        n = rows.n_rows
        size = min(n, kmeans_rows(most))
        chosen = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
        index = np.union1d(chosen, data.index)
        X = rows.take(index)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        X_l = X[np.searchsorted(index, data.index)]
        if self.labeled_weight == 1:
            return (X if len(index) == size else X[np.searchsorted(index, chosen)]), None, X_l
        # A row of the sample stands for n / size rows, a labelled one for itself.
        weights = np.ones(len(index))
        weights[np.searchsorted(index, data.index)] = self.labeled_weight * size / n
        return X, weights, X_l

    def _label_weight(self, data: LabelledData) -> float:
        if self.reg_labeled != "scale":
            return float(self.reg_labeled)
        return max(self._total_degree, 1e-300) / float(data.weights.sum())

    # After the fit.

    def _refit(self, y: np.ndarray, **arguments: Any) -> Self:
        if getattr(self, "_rows", None) is None:
            raise ValueError(
                "the rows are not kept by fit_blocks, nor in a copy or a pickle: fit again with "
                "the new labels"
            )
        data = self._check_targets(self._rows, y, self._row_weights)
        rows = RowBlocks.of(self._rows, self._progress())
        self._solve(rows, data, self._similarities(self._rows[data.index]))
        return self

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")
        rows = RowBlocks.of(self._check_rows(X, reset=False))
        coef = self.coef_.T
        return rows.map(
            "values", lambda X: self._similarities.values(X, coef), tile_rows(len(coef))
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__().copy()
        for name in ("_rows", "_sums"):  # a stored model holds its prototypes and not the data
            state.pop(name, None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PVMClassifier(LabelClassifier, PrototypeEstimator):
    r"""Prototype vector machine: labels and a graph carried by a few k-means centres.

    The function is a mixture of the values of k prototypes vⱼ, f(x) = Σⱼ fⱼ h(x, vⱼ), with h the
    kernel, divided by its sum over the prototypes if ``normalize_rows``. The graph of all rows is
    K̃ = E W⁻¹ Eᵀ, with E the similarities of the rows to m prototypes uᵢ and W those of the uᵢ to
    each other, and S = D̃ - K̃ its Laplacian. For each class against the rest,

        squared:  min fᵀSf + C₁ Σ_labelled (y - f)² + C₂ Σ_unlabelled f²
        hinge:    min ½(fᵀSf + C₂ Σ_unlabelled f²) + C₁ Σ_labelled max(1 - yf, 0)

    over the values of the prototypes. Time is linear in the rows; memory does not grow with them.

    Parameters
    ----------
    loss : {"squared", "hinge"}, default="squared"
        Loss of the labelled rows.
    n_prototypes : int or "auto", default="auto"
        k, the prototypes of the function: k-means centres, or the distinct rows where these are
        no more. "auto" is a tenth of the rows, from 100 to 500.
    n_landmarks : int or None, default=None
        m, the prototypes of the graph where they shall be others; None takes the same for both.
    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        Kernel k, which is also the similarity of the graph and should not be negative.
    gamma : float, "local", "scale" or "median", default="local"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "local" is 6 over the median squared
        distance of the rows to the second nearest prototype (for poly it is "scale"): a graph must
        join near rows. "scale" is 1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_labeled : float or "scale", default="scale"
        C₁ > 0, weight of the losses. The graph's term grows with the rows and their degrees;
        "scale" grows along: the sum of all degrees over the sum of the labelled rows' weights.
    reg_unlabeled : float, default=0.0
        C₂ ≥ 0, pulls the values of unlabelled rows to zero.
    normalize_rows : bool, default=True
        Whether f is a weighted mean of the prototypes' values. Constants are then free, and f is
        bounded far from all rows, where it would otherwise go to zero.
    labeled_weight : float, default=1.0
        How many rows a labelled row counts for in k-means: more makes prototypes come closer to
        them.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labelled rows of each class.
    random_state : int, RandomState or None, default=0
        For k-means and the rows it looks at.
    verbose : int, default=0
        1 shows progress on the error stream.
    memory_limit : int, str or None, default=None
        Most memory to use beside X, in bytes or such as "8GB"; None is 60 % of what is free.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    prototypes_ : ndarray of shape (k, d)
        The prototypes vⱼ of the function.
    landmarks_ : ndarray of shape (m, d)
        The prototypes uᵢ of the graph.
    coef_ : ndarray of shape (n_columns, k)
        The values fⱼ of the prototypes.
    kernel_ : Kernel
        The kernel, with the number behind ``gamma``.
    reg_labeled_ : float
        The C₁ used.

    Notes
    -----
    Cost: n·(m + k)·d operations for the similarities in each of three passes over the rows, and
    n·k·(m + k) for the products; k-means looks at 100 rows a prototype, at least 20 000, and so do
    "local", "scale" and "median". Memory: some m² + k² numbers, a tile of rows for each thread, and
    those 100 rows. X is not copied; integers are turned into floats tile by tile.

    Degrees of the low-rank graph may come out negative for rows that are far from all prototypes:
    they are taken for zero. Eigenvalues of A = HᵀSH + C₂H_uᵀH_u that are negative, or lost in
    rounding, are raised to 1e-10 of the largest, in coordinates of the prototypes from which
    directions are left out in which their kernel matrix is zero up to rounding.

    A pickle, or a copy, holds the prototypes but not the rows: `add_labels` needs these.

    References
    ----------
    K. Zhang, J. T. Kwok and B. Parvin (2009), "Prototype Vector Machine for Large Scale
    Semi-Supervised Learning", ICML; eqs. (4)-(6), (9), (10). The right-hand side of (9) lacks C₁.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import PVMClassifier
    >>> X, truth = make_moons(1000, noise=0.05, random_state=0)
    >>> y = np.full(1000, -1)
    >>> y[:10] = truth[:10]
    >>> model = PVMClassifier(n_prototypes=20).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth)) > 0.99
    True
    """

    def __init__(
        self,
        loss: str = "squared",
        *,
        n_prototypes: int | str = "auto",
        n_landmarks: int | None = None,
        kernel: str | Callable = "rbf",
        gamma: float | str = "local",
        degree: float = 3,
        coef0: float = 0.0,
        reg_labeled: float | str = "scale",
        reg_unlabeled: float = 0.0,
        normalize_rows: bool = True,
        labeled_weight: float = 1.0,
        unlabeled: Any = -1,
        class_weight: Any = None,
        random_state: Any = 0,
        verbose: int = 0,
        memory_limit: float | str | None = None,
    ) -> None:
        self.loss = loss
        self.n_prototypes = n_prototypes
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.reg_labeled = reg_labeled
        self.reg_unlabeled = reg_unlabeled
        self.normalize_rows = normalize_rows
        self.labeled_weight = labeled_weight
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.memory_limit = memory_limit

    def _check_targets(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        return self._check_labels(X, y, sample_weight)

    def _store_values(
        self, data: LabelledData, rows: RowBlocks, values: Callable, held_out: np.ndarray
    ) -> None:
        tile = tile_rows(len(self.prototypes_))
        found = rows.map("labels", lambda X: decisions(values(X)).astype(np.int32), tile)
        self._store_classes(data, found, held_out)


class PVMRegressor(LabelRegressor, PrototypeEstimator):
    r"""Prototype vector machine for numbers, known for few rows.

    The function is a mixture of the values of k prototypes, f(x) = Σⱼ fⱼ h(x, vⱼ), and the graph
    of all rows is one of low rank, as in `PVMClassifier`; they minimise

        fᵀSf + C₁ Σ_labelled (y - f)² + C₂ Σ_unlabelled f².

    Time is linear in the rows, and memory does not grow with them.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        k, the prototypes of the function: k-means centres, or the distinct rows where these are
        no more. "auto" is a tenth of the rows, from 100 to 500.
    n_landmarks : int or None, default=None
        m, the prototypes of the graph where they shall be others; None takes the same for both.
    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        Kernel k, which is also the similarity of the graph and should not be negative.
    gamma : float, "local", "scale" or "median", default="local"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "local" is 6 over the median squared
        distance of the rows to the second nearest prototype (for poly it is "scale"): a graph must
        join near rows. "scale" is 1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg_labeled : float or "scale", default="scale"
        C₁ > 0, weight of the losses. The graph's term grows with the rows and their degrees;
        "scale" grows along: the sum of all degrees over the sum of the labelled rows' weights.
    reg_unlabeled : float, default=0.0
        C₂ ≥ 0, pulls the values of unlabelled rows to zero.
    normalize_rows : bool, default=True
        Whether f is a weighted mean of the prototypes' values. Constants are then free, and f is
        bounded far from all rows, where it would otherwise go to zero.
    labeled_weight : float, default=1.0
        How many rows a labelled row counts for in k-means: more makes prototypes come closer to
        them.
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    random_state : int, RandomState or None, default=0
        For k-means and the rows it looks at.
    verbose : int, default=0
        1 shows progress on the error stream.
    memory_limit : int, str or None, default=None
        Most memory to use beside X, in bytes or such as "8GB"; None is 60 % of what is free.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    prototypes_ : ndarray of shape (k, d)
        The prototypes vⱼ of the function.
    landmarks_ : ndarray of shape (m, d)
        The prototypes uᵢ of the graph.
    coef_ : ndarray of shape (n_columns, k)
        The values fⱼ of the prototypes.
    kernel_ : Kernel
        The kernel, with the number behind ``gamma``.
    reg_labeled_ : float
        The C₁ used.

    Notes
    -----
    Cost: n·(m + k)·d operations for the similarities in each of three passes over the rows, and
    n·k·(m + k) for the products; k-means looks at 100 rows a prototype, at least 20 000, and so do
    "local", "scale" and "median". Memory: some m² + k² numbers, a tile of rows for each thread, and
    those 100 rows. X is not copied; integers are turned into floats tile by tile.

    Degrees of the low-rank graph may come out negative for rows that are far from all prototypes:
    they are taken for zero. Eigenvalues of A = HᵀSH + C₂H_uᵀH_u that are negative, or lost in
    rounding, are raised to 1e-10 of the largest, in coordinates of the prototypes from which
    directions are left out in which their kernel matrix is zero up to rounding.

    A pickle, or a copy, holds the prototypes but not the rows: `add_labels` needs these.

    References
    ----------
    K. Zhang, J. T. Kwok and B. Parvin (2009), "Prototype Vector Machine for Large Scale
    Semi-Supervised Learning", ICML; eqs. (4)-(6), (9), (10). The right-hand side of (9) lacks C₁.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import PVMRegressor
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> y = np.where(np.arange(500) % 10 == 0, X[:, 0] ** 2, np.nan)
    >>> model = PVMRegressor(reg_labeled=1e6).fit(X, y)
    >>> bool(np.abs(model.predict([[0.5]]) - 0.25)[0] < 0.01)
    True
    """

    def __init__(
        self,
        *,
        n_prototypes: int | str = "auto",
        n_landmarks: int | None = None,
        kernel: str | Callable = "rbf",
        gamma: float | str = "local",
        degree: float = 3,
        coef0: float = 0.0,
        reg_labeled: float | str = "scale",
        reg_unlabeled: float = 0.0,
        normalize_rows: bool = True,
        labeled_weight: float = 1.0,
        unlabeled: Any = np.nan,
        random_state: Any = 0,
        verbose: int = 0,
        memory_limit: float | str | None = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.reg_labeled = reg_labeled
        self.reg_unlabeled = reg_unlabeled
        self.normalize_rows = normalize_rows
        self.labeled_weight = labeled_weight
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.verbose = verbose
        self.memory_limit = memory_limit

    def _check_targets(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        return self._check_numbers(X, y, sample_weight)

    def _store_values(
        self, data: LabelledData, rows: RowBlocks, values: Callable, held_out: np.ndarray
    ) -> None:
        found = rows.map("targets", values, tile_rows(len(self.prototypes_)))
        self._store_targets(data, found[:, 0])


def _row_size(X: Any) -> float:
    """Return the numbers that a row takes on average."""
    return 1.5 * X.nnz / max(X.shape[0], 1) if sp.issparse(X) else float(X.shape[1])


def _join(labels: list[np.ndarray]) -> np.ndarray:
    """Return the labels of all blocks; as objects where their types differ."""
    if len({values.dtype.kind for values in labels}) > 1:
        labels = [values.astype(object) for values in labels]
    return np.concatenate(labels)


class _Progress:
    """One line on the error stream, rewritten at every percent (verbose=1)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shown: tuple[str, int] | None = None

    def __call__(self, title: str, done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        if (title, percent) != self.shown:
            self.shown = title, percent
            end = "\n" if percent == 100 else ""
            sys.stderr.write(f"\r{self.name}: {title} {percent:3d} %   {end}")
            sys.stderr.flush()


__all__ = ["PVMClassifier", "PVMRegressor"]
