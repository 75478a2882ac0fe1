"""The exact solution path of the Laplacian support vector machine in λ: LapSVCPath.

rows → targets → graph → plan → reduction to the labelled rows → paths → λ → predictor
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays.device import follows_tensors
from ..arrays.threads import row_blocks
from ..plan.grid import plan_path
from ..solvers.methods import Sizes
from .graph_choice import graph_of_rows, regression_graph
from .kernel_choice import resolve_kernel
from .labels import labelled_part
from .manifold import build_space, expansion_predictor, kernel_model
from .model import Classifier
from .rows import Rows
from .run import Solution, held_out_values, run_solver
from .solution_path import (
    BLOCK_ENTRIES,
    PathFunctions,
    choose_lambda,
    decide_each,
    follow_paths,
    path_problem,
    step_at,
    with_midpoints,
)
from .targets import Targets


@dataclass(repr=False, eq=False)
class LapSVCPath(Classifier):
    """Laplacian support vector machine for every λ at once: the exact solution path.

    For each class against the rest, and every λ from infinity down to a small share of the first
    breakpoint, the minimiser of

        Σ_labelled max(1 - yf, 0) + (λ/2)·( ρ ‖f‖² + fᵀLᵖf )

    whose coefficients are piecewise linear in λ. It is `LapSVC(loss="hinge")` with γ_A = λρ/2 and
    γ_I = λ/2.

    Parameters
    ----------
    rho : float, default=1e-3
        ρ > 0, weight of the norm in the space of the kernel, relative to that of the graph.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A callable takes two arrays of rows and returns the matrix of kernel values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is 1 / Σ Var(column),
        "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Parameters of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    lambda_min_ratio : float, default=1e-4
        The path ends at this share of its first breakpoint, or where f consists of rounding errors.
        Where the graph penalises constants only weakly, it is a share of the largest λ at which the
        kernel can matter, if that is smaller.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A graph that was fitted to X is used as it is, another one is fitted
        to X. None is ``KNNGraph(normalized=False)``, with which constants are not penalised, as in
        the source. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has an intercept.
    unlabeled : object, default=-1
        Marker of unlabelled rows in y; None, NaN and pd.NA always count as unlabelled.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply those of the labelled rows.
    class_shares : dict, "labels" or None, default=None
        Shares of the classes among the unlabelled rows, by class; of all rows, if all are labelled.
        Decision values get an offset per class, with which the mean probabilities of these rows are
        the shares. "labels" takes the shares of the labelled rows, (count + 1) / (rows + classes),
        for labels that are a random sample. None adds no offsets.
    cv : int, splitter, iterable or None, default=5
        Folds over the labelled rows by which ``lambda_`` is chosen; a path is followed for each. A
        splitter gets the labelled rows alone; pairs (train, test) hold indices of rows of X.
        Fewer folds are used where a class has fewer labels, and none if a class has one label:
        ``lambda_`` then is the smallest λ, as with None, and a warning is issued.
    memory_limit : int, str or None, default=None
        Memory that may be used for the Gram matrix and its factor, in bytes or as text such as
        "8GB"; None is 60 % of the free memory.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    lambdas_ : ndarray of shape (B,)
        Breakpoints of all classes, in descending order.
    coef_path_ : ndarray of shape (B, n_columns, l)
        Multipliers of the labelled rows at each breakpoint, between 0 and the row's weight; linear
        in λ between breakpoints, constant above the first.
    intercept_path_ : ndarray of shape (B, n_columns)
        The intercepts b, without ``class_offsets_``; λb is linear in λ between breakpoints.
    elbow_path_ : ndarray of shape (B, n_columns)
        Number of labelled rows on the margin just below each breakpoint.
    lambda_ : float
        The λ that `predict` uses by default: the middle, on the log scale, of the best interval.
    best_interval_ : tuple (low, high) or None
        The widest interval of λ with the best cross-validated accuracy, which is computed at
        breakpoints and half-way between them.
    best_score_ : float or None
        That accuracy.
    cv_lambdas_, cv_accuracy_ : ndarrays or None
        Accuracy along λ by cross-validation.
    labelled_ : ndarray of shape (l,)
        Indices of the labelled rows.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    dual_coef_, coef_, intercept_, support_
        The model at ``lambda_``, as in `LapSVC`.
    predictor_ : Predictor
        The fitted function at ``lambda_``; ``predictor_.values(X)`` are the decision values.
    temperature_ : float
        Factor of the decision values in `predict_proba`.
    class_offsets_ : ndarray of shape (n_columns,)
        What ``class_shares`` has added to the decision values, the same for every λ; zeros without
        it. They match the shares at ``lambda_``.
    graph_ : KNNGraph
        The graph used.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    result_ : SolverResult
        Status, message, certified gap, passes and history of the solver.
    n_iter_ : int
        Breakpoints of the path.

    Notes
    -----
    Cost: one factorisation of an n × n matrix, (2/3)n³ operations, and for each breakpoint a
    product with an l × l matrix. Where the graph penalises constants (a normalised Laplacian), the
    intercept is part of fᵀLᵖf as it is in `LapSVC`.

    References
    ----------
    G. Wang, T. Chen, D.-Y. Yeung and F. H. Lochovsky (2006), "Solution Path for Semi-Supervised
    Classification with Manifold Regularization", International Conference on Data Mining.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LapSVCPath
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> y[:10] = truth[:10]
    >>> model = LapSVCPath(gamma=5.0).fit(X, y)
    >>> float(np.mean(model.predict(X) == truth))
    1.0
    >>> model.predict(X[:3], lam=model.lambdas_[0]).shape
    (3,)
    """

    rho: float = 1e-3
    _: KW_ONLY
    kernel: str | Callable = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    lambda_min_ratio: float = 1e-4
    graph: Any = None
    fit_intercept: bool = True
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    cv: Any = 5
    memory_limit: float | str | None = None

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        X = rows.X
        graph, reach = graph_of_rows(self, X, targets, refit, default=regression_graph())
        kernel, sizes = resolve_kernel(self, X), Sizes.of(X, targets.values)
        plan = plan_path(kernel, sizes, memory_limit=self.memory_limit)
        space, _ = build_space(plan, X)
        problem = path_problem(plan, space, targets, graph.laplacian_, float(self.rho))
        paths = follow_paths(self, problem)
        chosen = choose_lambda(self, X, problem, paths.breakpoints)
        step = step_at(self, problem, paths, chosen["lambda_"])
        step, result = run_solver(self, "path", iter([step]), step.iteration + 1)
        predictor, attributes = kernel_model(kernel, X, step.function)
        held_out = held_out_values(step, targets.index)
        return self._set_fitted(
            rows,
            targets,
            Solution(predictor, result, step.function.values, held_out, attributes),
            graph_=graph,
            label_reach_=reach,
            labelled_=targets.index,
            _functions=PathFunctions(paths, problem.reduction.coefficients),
            **paths.attributes(),
            **chosen,
        )

    @follows_tensors
    def decision_function(self, X: Any, lam: Any = None) -> np.ndarray:
        """Return the values of f at a λ: one column per class, or one number for two classes.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        lam : float or array of shape (k,), optional
            λ; by default ``lambda_``. An array puts an axis of k in front of the result.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes), with k in front if ``lam`` is an array
        """
        values = self._values_at(X, lam)
        return values[..., 0] if len(self.classes_) == 2 else values

    @follows_tensors
    def predict(self, X: Any, lam: Any = None) -> np.ndarray:
        """Return the class of each row at a λ, by default ``lambda_``; see `decision_function`."""
        codes = decide_each(self._values_at(X, lam)).astype(int)
        return self.classes_[codes]

    def accuracy_path(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return λ at the breakpoints and between them, descending, and the accuracy there.

        Rows without a label do not count.
        """
        check_is_fitted(self, "predictor_")
        lambdas = with_midpoints(self.lambdas_)
        return lambdas, self.accuracy(X, y, lambdas)

    def accuracy(self, X: Any, y: Any, lambdas: Any) -> np.ndarray:
        """Return the accuracy at each λ of an array, on the rows of X that have a label in y."""
        X, truth, _ = labelled_part(X, y, self.unlabeled)
        lambdas = np.atleast_1d(lambdas)
        blocks = row_blocks(len(lambdas), max(1, BLOCK_ENTRIES // (len(truth) + 1)))
        found = [np.mean(self.predict(X, lambdas[block]) == truth, axis=1) for block in blocks]
        return np.concatenate(found)

    def _values_at(self, X: Any, lam: Any) -> np.ndarray:
        """Return values of shape (n, columns), or (k, n, columns) if ``lam`` is an array."""
        if lam is None:
            return self._values(X)
        check_is_fitted(self, "predictor_")
        lambdas = self._check_lambdas(lam)
        X = self._new_rows(X)
        multipliers, b = self._functions.at(lambdas)
        b = b + self.class_offsets_
        coefficients = self._functions.coefficients
        if np.ndim(lam) == 0:
            coef = coefficients @ multipliers[0]
            return expansion_predictor(self.kernel_, self.X_fit_, coef, b[0]).values(X)
        no_intercept = np.zeros(coefficients.shape[1])
        terms = expansion_predictor(self.kernel_, self.X_fit_, coefficients, no_intercept)
        return terms.values(X) @ multipliers + b[:, None, :]  # the same terms for every λ

    def _check_lambdas(self, lam: Any) -> np.ndarray:
        lambdas = np.atleast_1d(np.asarray(lam, dtype=float))
        if lambdas.ndim != 1 or not ((lambdas > 0) & np.isfinite(lambdas)).all():
            raise ValueError(
                f"lam must be a positive, finite number or a 1-D array of these, got {lam!r}"
            )
        below = lambdas < (1.0 - 1e-12) * self.lambdas_[-1]
        if below.any() and not self._functions.paths.constant:
            raise ValueError(
                f"lam={lambdas.min():.3g} is below the end of the path, {self.lambdas_[-1]:.3g}: "
                "fit with a smaller lambda_min_ratio, unless f would consist of rounding errors"
            )
        return lambdas
