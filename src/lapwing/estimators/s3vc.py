"""The semi-supervised support vector machine with a large margin: S3VC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np

from ..solvers.driver import Step
from .margin import fit_margin, previous_margin
from .margin_blocks import fit_margin_blocks
from .model import Classifier
from .parameters import finite_number, is_word, one_of
from .rows import Rows
from .targets import Targets

SOLVERS = ("quasi-newton", "cccp", "label-switching", "annealing")
LANDMARKS = ("random", "kmeans", "pca")


def _check_annealing(name: str, value: Any) -> None:
    shares = value.tolist() if isinstance(value, np.ndarray) else value
    listed = isinstance(shares, (list, tuple)) and len(shares) > 0
    if not (listed and all(finite_number(v) > 0 for v in shares) and shares[-1] == 1.0):
        raise ValueError(
            f"{name} must be positive shares of reg_unlabeled that end with 1, got {value!r}"
        )


def _check_calibration_folds(name: str, value: Any) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and (value == 0 or int(value) >= 2)):
        raise ValueError(f"{name} must be 0 or at least 2, got {value!r}")


@dataclass(repr=False, eq=False)
class S3VC(Classifier):
    r"""Semi-supervised support vector machine: a boundary that avoids unlabelled rows.

    Minimises, for each class against the rest,

        (1/l) Σ_labelled loss(y·f) + (λ'/u) Σ_unlabelled loss(|f|) + λ‖f‖²

    which is not convex: the result is a local minimum, reached from the supervised solution by
    raising the weight of the unlabelled rows. It suits classes that form clusters with a gap
    between them, and large sparse text, where the linear kernel takes time in proportion to the
    stored entries.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "cosine", "precomputed"} or callable, default="linear"
        Kernel k. A callable takes two arrays of rows and returns the matrix of kernel values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly. "scale" is 1 / Σ Var(column),
        "median" is 1 / (2 · median distance²).
    degree, coef0 : float, default=3 and 0
        Parameters of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg : float, default=1e-2
        λ > 0, weight of the norm.
    reg_unlabeled : float, default=1.0
        λ' ≥ 0, weight of the unlabelled rows; 0 is the supervised model.
    solver : {"quasi-newton", "cccp", "label-switching", "annealing"}, default="quasi-newton"
        "quasi-newton" (QN-S³VM): smooth surrogates of hinge and max(1 - \|f\|, 0). "cccp"
        (UniverSVM): the same losses by the concave-convex procedure. "label-switching"
        (TSVMlin) and "annealing" (deterministic annealing): squared hinge, with labels of the
        unlabelled rows that are switched or cooled down.
    surrogate_gamma : float, default=20
        Sharpness of the smooth hinge ("quasi-newton" and "cccp").
    unlabeled_sharpness : float, default=3
        s of exp(-s·f²), the loss of unlabelled rows ("quasi-newton").
    annealing : sequence of float, default=(1e-6, 1e-4, 1e-2, 0.1, 0.5, 1)
        Shares of λ' in the order in which they are used ("quasi-newton"); the last must be 1.
    positive_ratio : "labeled", float, array of shape (n_classes,) or None, default="labeled"
        Share of the second class among the unlabelled rows, or the share of each class;
        "labeled" uses ``class_shares``, or without it the shares among the labelled rows.
        "quasi-newton" and "cccp" fix the mean of f over the unlabelled rows at 2·ratio - 1 (unless
        ``fit_intercept=False``), the others give that share of them a positive label. None leaves
        it free, which often ends with all rows in one class.
    n_landmarks : int, optional
        Restrict f to that many basis functions: memory and time become linear in the rows
        (except for "pca", which needs the whole Gram matrix).
    landmarks : {"random", "kmeans", "pca"}, default="random"
        Rows drawn at random, centres of k-means, or the leading features of kernel PCA.
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
    n_init : int, default=1
        Number of runs, of which the one with the lowest objective is kept. All but the first give
        the rows random weights until the last stage ("cccp": in the supervised stage).
    calibration_folds : int, default=5
        Folds of the labelled rows that are fitted along, for `predict_proba`. With 0 none are, and
        probabilities are calibrated on the fitted values themselves.
    tol : float, default=1e-3
        A descent ends when the norm of the gradient is below ``tol`` times that at zero and three
        iterations in a row have lowered the objective by less than ``tol**2`` of it.
    max_iter : int, default=200
        Maximum number of iterations of one descent.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the landmarks, the restarts and the folds.
    warm_start : bool, default=False
        Whether a new fit to rows of the same shape starts from the last solution.
    verbose : int, default=0
        1 shows progress on the standard error stream.
    memory_limit : int, str or None, default=None
        Memory that may be used for the Gram matrix, the features and the solver, in bytes or as
        text such as "8GB"; None is 60 % of the free memory.
    callback : callable, optional
        Called with each `Step`; a true return value stops the solver.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    positive_ratio_ : ndarray of shape (n_columns,) or None
        The ratio that was used, if any.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    dual_coef_ : ndarray of shape (n_columns, n) or (n_columns, n_landmarks)
        Coefficients of the expansion (other kernels).
    landmarks_ : ndarray of shape (n_landmarks, d)
        Centres of k-means, where they are used; of rows in blocks, any landmarks.
    intercept_ : ndarray of shape (n_columns,)
        Intercepts, with ``class_offsets_``.
    support_ : ndarray
        Rows, or landmarks of k-means, with a coefficient that is not zero.
    kernel_ : Kernel or None
        The kernel, its width resolved; None if it is precomputed.
    X_fit_ : ndarray or CSR matrix
        The training rows, a copy; in other units if their values are extreme.
    temperature_ : float
        Factor of the decision values in `predict_proba`.
    class_offsets_ : ndarray of shape (n_columns,)
        What ``class_shares`` has added to the decision values; zeros without it.
    result_ : SolverResult
        Status, message, certified gap, passes and history of the solver.
    n_iter_ : int
        Iterations of the solver.

    Notes
    -----
    A step of the solver is one stage, and ``result_.history`` has one entry per stage: its name,
    the objective, the evaluations it took and how many unlabelled rows it moved to another class.
    ``n_iter_`` counts evaluations of objective and gradient, for all columns together; no gap is
    known. A warm start begins with the unlabelled rows at full weight.

    Rows may come in blocks (lists and functions of blocks, files, Dask collections) with
    ``solver="quasi-newton"`` and a linear or cosine kernel, or ``landmarks`` that are random or of
    k-means; other models gather them, and refuse Dask collections. Memory then depends on the
    columns or the landmarks and on the labelled rows alone. An evaluation takes about one pass over
    the rows; ``result_.passes`` counts passes. The model is that of the rows in memory up to
    rounding, with two exceptions: restarts (``n_init``) draw other weights, which are random
    functions of the rows, and the width of a kernel comes from a random sample if there are more
    than 20 000 rows and more than 100 for each landmark. Such a fit keeps no rows: it has no
    ``X_fit_``, and no ``support_`` if the kernel is linear, and it does not use ``warm_start``. All
    unlabelled rows must have the same weight.

    References
    ----------
    F. Gieseke, A. Airola, T. Pahikkala and O. Kramer (2013), "Fast and Simple Gradient-Based
    Optimization for Semi-Supervised Support Vector Machines", Neurocomputing 123, 23-32.
    R. Collobert, F. Sinz, J. Weston and L. Bottou (2006), "Large Scale Transductive SVMs".
    V. Sindhwani and S. S. Keerthi (2006), "Large Scale Semi-Supervised Linear SVMs".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from lapwing import S3VC
    >>> X, truth = make_blobs(200, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> y = np.full(200, -1)
    >>> y[:6] = truth[:6]
    >>> model = S3VC(positive_ratio=0.5).fit(X, y)
    >>> float(np.mean(model.transduction_ == truth))
    1.0
    >>> model.result_.status
    'converged'
    """

    kernel: str | Callable = "linear"
    _: KW_ONLY
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    reg: float = 1e-2
    reg_unlabeled: float = 1.0
    solver: str = "quasi-newton"
    surrogate_gamma: float = 20.0
    unlabeled_sharpness: float = 3.0
    annealing: Sequence[float] = (1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0)
    positive_ratio: Any = "labeled"
    n_landmarks: int | None = None
    landmarks: str = "random"
    fit_intercept: bool = True
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    n_init: int = 1
    calibration_folds: int = 5
    tol: float = 1e-3
    max_iter: int = 200
    random_state: Any = 0
    warm_start: bool = False
    verbose: int = 0
    memory_limit: float | str | None = None
    callback: Callable[[Step], object] | None = None

    _checks = {
        "annealing": _check_annealing,
        "calibration_folds": _check_calibration_folds,
        "landmarks": one_of(*LANDMARKS),
        "solver": one_of(*SOLVERS),
    }

    _for_blocks = (
        "choose solver='quasi-newton' with kernel='linear' or 'cosine', or with n_landmarks and "
        "landmarks='random' or 'kmeans', "
    )

    @property
    def _in_blocks(self) -> bool:
        if self.solver != "quasi-newton" or is_word(self.kernel, "precomputed"):
            return False
        if self.n_landmarks is None:
            return is_word(self.kernel, "linear") or is_word(self.kernel, "cosine")
        return self.landmarks in ("random", "kmeans")

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        if rows.source is not None:
            return self._set_fitted(rows, targets, fit_margin_blocks(self, rows, targets))
        start = previous_margin(self, rows.X, refit)
        found = fit_margin(self, rows.X, targets, start)
        kept = {} if found.held_out is not None else {"temperature_": self.temperature_}
        return self._set_fitted(rows, targets, found, **kept)

    def _kept_rows(self) -> Any:
        if "X_fit_" not in vars(self):
            raise ValueError(
                "the rows came in blocks, which are not kept: fit again with the new labels"
            )
        return super()._kept_rows()
