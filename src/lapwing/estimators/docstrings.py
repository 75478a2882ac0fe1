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
        For landmarks, those that the iterative solver uses included.
"""
_LANDMARKS = """\
    n_landmarks : int or None, default=None
        Search among functions of so many k-means centres instead of all rows (of random rows if
        the kernel is precomputed): n·m² operations and n·m numbers, for more rows than an n × n
        matrix has room for. Narrow kernels, with which a centre speaks for few rows, want many.
"""
_LANDMARKS_EXACT = """\
        The solution is exact, from one m × m matrix; ``solver="pcg"`` is refused.
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
_GRID_SCORING = """\
    scoring : str, callable or None, default=None
        Score of the rows held out, by scikit-learn's names, from classes or decision values (not
        from probabilities); None is accuracy for classes and the negative mean squared error for
        numbers. Of cells with the same score, that with the least
        mean loss on the rows held out is taken.
"""
_GRID_RUN = """\
    random_state : int, RandomState, Generator or None, default=0
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
_LANDMARK_ATTRIBUTES = """\
    landmarks_ : ndarray of shape (m, d)
        The centres, if ``n_landmarks`` is a number m; all distinct rows, if those are no more.
        ``dual_coef_`` and ``support_`` are then of centres instead of rows. Not for precomputed
        kernels, where coefficients of m rows are not zero.
"""
_MELACCI = """\
    S. Melacci and M. Belkin (2011), "Laplacian Support Vector Machines Trained in the Primal",
    Journal of Machine Learning Research 12, 1149-1184.
"""
_CHEN = """\
    L. Chen, I. W. Tsang and D. Xu (2012), "Laplacian Embedded Regression for Scalable Manifold
    Regularization", IEEE Transactions on Neural Networks and Learning Systems 23(6), 902-915.
"""
_PROTOTYPES = """\
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
"""
_PROTOTYPES_RUN = """\
    random_state : int, RandomState or None, default=0
        For k-means and the rows it looks at.
    verbose : int, default=0
        1 shows progress on the error stream.
    memory_limit : int, str or None, default=None
        Most memory to use beside X, in bytes or such as "8GB"; None is 60 % of what is free.
"""
_PROTOTYPES_ATTRIBUTES = """\
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
"""
_PROTOTYPES_NOTES = """\
    Cost: n·(m + k)·d operations for the similarities in each of three passes over the rows, and
    n·k·(m + k) for the products; k-means looks at 100 rows a prototype, at least 20 000, and so do
    "local", "scale" and "median". Memory: some m² + k² numbers, a tile of rows for each thread, and
    those 100 rows. X is not copied; integers are turned into floats tile by tile.

    Degrees of the low-rank graph may come out negative for rows that are far from all prototypes:
    they are taken for zero. Eigenvalues of A = HᵀSH + C₂H_uᵀH_u that are negative, or lost in
    rounding, are raised to 1e-10 of the largest, in coordinates of the prototypes from which
    directions are left out in which their kernel matrix is zero up to rounding.

    A pickle, or a copy, holds the prototypes but not the rows: `add_labels` needs these.
"""
_LANDMARK_ROWS = """\
    n_landmarks : int, default=500
        m, rows that stand for the others; at most all.
    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        Kernel, which is the similarity of the graph and should not be negative.
    gamma : float, "local", "scale" or "median", default="local"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "local" is 6 over the median squared
        distance of the rows to the second nearest landmark (for poly it is "scale"): a graph must
        join near rows. "scale" is 1 / (n_features · Var X), "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
"""
_CLASS_PRIOR = """\
    class_prior : {None, "labeled", "equal"}, dict or array, default=None
        Expected shares of the classes. The values of each class are scaled so that their sum over
        all training rows is proportional to its share. None does not scale. "labeled" are the
        shares among the labelled rows, (count + 1) / (rows + classes); else the share of each
        class, by name or in the order of ``classes_``.
"""
_LANDMARK_RUN = """\
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labelled rows of each class.
    random_state : int, RandomState or None, default=0
        For the landmarks.
    memory_limit : int, str or None, default=None
        Most memory for matrices of landmarks, in bytes or such as "8GB"; None is 60 % of what is
        free.
"""
_ZHANG = """\
    K. Zhang, J. T. Kwok and B. Parvin (2009), "Prototype Vector Machine for Large Scale
    Semi-Supervised Learning", ICML; eqs. (4)-(6), (9), (10). The right-hand side of (9) lacks C₁.
"""
_PIECES = {
    "prototypes": _PROTOTYPES,
    "prototypes_run": _PROTOTYPES_RUN,
    "prototypes_attributes": _PROTOTYPES_ATTRIBUTES,
    "prototypes_notes": _PROTOTYPES_NOTES,
    "zhang": _ZHANG,
    "landmark_rows": _LANDMARK_ROWS,
    "class_prior": _CLASS_PRIOR,
    "landmark_run": _LANDMARK_RUN,
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
    "grid_run": _GRID_SCORING + _LANDMARKS + _GRID_RUN,
    "grid_attributes": _GRID_ATTRIBUTES,
    "landmarks": _LANDMARKS + _LANDMARKS_EXACT,
    "landmark_attributes": _LANDMARK_ATTRIBUTES,
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
