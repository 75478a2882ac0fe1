"""Pieces of the docstrings that several machines share, written once."""

from __future__ import annotations

_KERNEL = """\
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is
        1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
"""
_REGULARIZATION = """\
    reg_ambient : float, default=1e-4
        γ_A > 0, weight of the norm in the space of the kernel.
    reg_manifold : float, default=1.0 (regressors 0.1)
        γ_I ≥ 0, weight of the smoothness over the graph; 0 is the supervised machine.
"""
_GRAPH = """\
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows. A fitted graph is used as it is, another is fitted to X. None is
        ``KNNGraph()``, for regressors ``KNNGraph(normalized=False)``. Its ``power`` is the p of Lᵖ.
    fit_intercept : bool, default=True
        Whether f has a constant b.
"""
_TOL = """\
    tol : float, default=1e-3
        Iterative solvers are content when the certified distance to the optimum is below
        ``tol`` times the objective ("auto"), or the gradient's norm below ``tol`` times its
        first ("pcg").
    max_iter : int, default=1000
        Most iterations.
    random_state : int, RandomState or None, default=0
        For the landmarks of the iterative solver.
"""
_RUN = """\
    warm_start : bool, default=False
        Whether a new fit on rows of the same shape starts from the last solution.
    verbose : int, default=0
        1 shows progress on the error stream.
    memory_limit : int, str or None, default=None
        Most memory for the Gram matrix, or the rows of it that are kept, and the solver, in bytes
        or such as "8GB"; None is 60 % of what is free. Storage in float64, float32 or tiles is
        chosen to fit, before anything is allocated.
    callback : callable, optional
        Called with each `Step`; a true return value stops the solver.
"""
_EMBEDDING = """\
    reg_labeled : float, default=1e4
        λ > 0, weight of the distance between g and the labels.
    reg_manifold : float, default=100.0
        μ ≥ 0, weight of the smoothness of g over the graph; 0 is the supervised machine. Small
        values let g follow f instead of the graph.
    n_eigenvectors : int or None, default=None
        g is a combination of so many eigenvectors of the graph, those of the smallest eigenvalues;
        10 to 100 are usual. None leaves g free: exact, up to about 10 000 rows.
"""
_EMBEDDING_ATTRIBUTES = """\
    virtual_targets_ : ndarray of shape (n,) or (n, n_columns)
        ỹ, what the graph alone makes of the labels: g where f has no say. Not for LapERLS with
        ``n_eigenvectors=None``, which does not form them.
    embedding_ : ndarray of shape (n, n_eigenvectors)
        The rows in coordinates whose inner products are the graph kernel, for other estimators to
        use; only if ``n_eigenvectors`` is a number.
"""
_EMBEDDING_NOTES = """\
    The power p is that of the graph, ``KNNGraph(power=p)``. Where no label reaches a part of the
    graph, the level of g is free there, within ten times the size of the targets.
"""
_KERNEL_GRID = """\
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale", "median", or a sequence of these, default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly; each of a sequence is tried, for the
        price of a grid of its own.
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
"""
_GRID = """\
    reg_ambient, reg_manifold : sequences of float, default=(1e-6, 1e-4, 1e-2, 0.1, 1, 10, 100)
        The values of γ_A > 0 and γ_I ≥ 0 to try, in all pairs. The time is that of one
        factorisation for each ratio γ_I/γ_A.
"""
_GRAPH_GRID = """\
    graph : KNNGraph, affinity matrix, a list of these, or None, default=None
        The graph of the rows; each of a list is tried, and built once. A fitted graph is used as
        it is, another is fitted to X. None is ``KNNGraph()``, for regressors
        ``KNNGraph(normalized=False)``.
    fit_intercept : bool, default=True
        Whether f has a constant b.
"""
_CV_SQUARED = """\
    cv : int, splitter, iterable or None, default=None
        None is leave-one-out, exact and in closed form (with weights of classes from all labels).
        Else folds over the labelled rows: a splitter sees these alone, and an iterable of (train,
        test) holds numbers of rows of X.
"""
_GRID_RUN = """\
    scoring : str, callable or None, default=None
        Score of the rows held out, by scikit-learn's names, from classes or decision values (not
        from probabilities); None is accuracy for classes and the negative mean squared error for
        numbers. Of cells with the same score, that with the least
        mean loss on the rows held out is taken.
    n_landmarks : int or None, default=None
        Search among functions of so many k-means centres instead of all rows: n·m² operations and
        n·m numbers, for more rows than an n × n matrix has room for.
    random_state : int, Generator or None, default=0
        For the landmarks.
    memory_limit : int, str or None, default=None
        Most memory to use, in bytes or such as "8GB"; None is 60 % of what is free.
"""
_GRID_ATTRIBUTES = """\
    cv_results_ : dict of arrays
        As scikit-learn's `GridSearchCV` gives it, without times; ``mean_test_loss`` breaks ties.
        Leave-one-out has one split, with all rows together.
    best_params_, best_score_, best_index_ : dict, float, int
        The cell that is used.
"""
_LINEAR = """\
    Linear and cosine kernels are solved for their d weights, by a d × d matrix, where d is at most
    n and at most 5 000 (for dense rows up to n = 10 000, and for direct solvers, at most n). With
    more columns, sparse rows and more than 10 000 dense ones are worked on by products with X
    alone; for fewer dense rows the n × n Gram matrix is formed.
"""
_ATTRIBUTES = """\
    dual_coef_ : ndarray of shape (n_columns, n)
        Coefficients of the expansion (not for linear and cosine kernels).
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    intercept_ : ndarray of shape (n_columns,)
        Constants.
    support_ : ndarray
        Rows with a coefficient that is not zero.
    graph_ : KNNGraph
        The graph used.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    result_ : SolverResult
        Status, message, certified gap, passes over the Gram matrix and history.
    n_iter_ : int
        Iterations of the solver.
"""
_MELACCI = """\
    S. Melacci and M. Belkin (2011), "Laplacian Support Vector Machines Trained in the Primal",
    Journal of Machine Learning Research 12, 1149-1184.
"""
_CHEN = """\
    L. Chen, I. W. Tsang and D. Xu (2012), "Laplacian Embedded Regression for Scalable Manifold
    Regularization", IEEE Transactions on Neural Networks and Learning Systems 23(6), 902-915.
"""
_PIECES = {
    "kernel": _KERNEL,
    "regularization": _REGULARIZATION,
    "graph": _GRAPH,
    "common": _TOL + _RUN,
    "run": _RUN,
    "embedding": _EMBEDDING,
    "embedding_attributes": _EMBEDDING_ATTRIBUTES,
    "embedding_notes": _EMBEDDING_NOTES,
    "kernel_grid": _KERNEL_GRID,
    "grid": _GRID,
    "graph_grid": _GRAPH_GRID,
    "cv_squared": _CV_SQUARED,
    "grid_run": _GRID_RUN,
    "grid_attributes": _GRID_ATTRIBUTES,
    "linear": _LINEAR,
    "attributes": _ATTRIBUTES,
    "melacci": _MELACCI,
    "chen": _CHEN,
}


def documented(cls: type) -> type:
    """Fill in the parts of the docstring that the machines share."""
    assert cls.__doc__ is not None
    cls.__doc__ = cls.__doc__.format(**{name: text.strip() for name, text in _PIECES.items()})
    return cls
