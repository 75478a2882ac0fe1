"""The semi-supervised support vector machine by margin: S3VC.

One row of loss × space × solver: the objective and its four optimisers are in `solvers.s3vm`, the
columns and the space they work on in `margin_columns` and `margin_space`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ..arrays.memory import memory_budget
from ..kernels import Kernel
from ..solvers import (
    MarginProblem,
    SolverResult,
    Stage,
    Step,
    concave_convex,
    decisions,
    deterministic_annealing,
    label_switching,
    quasi_newton,
)
from ..spaces import AffineSpace, Function, Landmarks
from .classifier import KernelClassifier, LabelledData
from .margin_columns import Columns, given_ratio, make_columns, margin_steps
from .margin_space import MarginSpace, make_space

SOLVERS = ("quasi-newton", "cccp", "label-switching", "annealing")
#: Those whose functions are held at the mean 2·ratio − 1; the others label by ratio.
_CENTERED = ("quasi-newton", "cccp")
#: Share of the unlabelled rows in one class that deserves a warning, if the ratio expects less.
_ONE_SIDED, _EXPECTED = 0.99, 0.95
#: Probability below which it is no chance that all rows are in one class.
_BY_CHANCE = 0.01


class S3VC(KernelClassifier):
    r"""Semi-supervised support vector machine: a boundary that avoids unlabelled rows.

    Minimises, for each class against the rest,

        (1/l) Σ_labelled loss(y·f) + (λ'/u) Σ_unlabelled loss(|f|) + λ‖f‖²

    which is not convex: the result is a local minimum, reached from the supervised solution by
    raising the weight of the unlabelled rows. It suits classes that form clusters with a gap
    between them, and large sparse text, where the linear kernel costs time proportional to the
    stored entries.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "cosine", "precomputed"} or callable, default="linear"
        Kernel k. A function takes two arrays of rows and returns the matrix of values.
    gamma : float, "scale" or "median", default="scale"
        Width of rbf, exp(-gamma·‖x-z‖²), and factor of poly.
    degree, coef0 : float, default=3 and 0
        Of poly, (gamma·⟨x,z⟩ + coef0)^degree.
    reg : float, default=1e-2
        λ > 0, weight of the norm.
    reg_unlabeled : float, default=1.0
        λ' ≥ 0, weight of the unlabelled rows; 0 is the supervised machine.
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
        Shares of λ' in the order they are taken ("quasi-newton"); the last must be 1.
    positive_ratio : "labeled", float, array of shape (n_classes,) or None, default="labeled"
        Share of the second class among the unlabelled rows, or the share of each class;
        "labeled" takes those of the labelled rows. "quasi-newton" and "cccp" hold the mean of f
        over the unlabelled rows at 2·ratio - 1, the others give that share of them a positive
        label. None lets the machine choose, which often ends with all rows in one class.
    n_landmarks : int, optional
        Restrict f to that many basis functions: memory and time become linear in the rows
        (except for "pca", which needs the whole Gram matrix).
    landmarks : {"random", "kmeans", "pca"}, default="random"
        Rows drawn at random, centres of k-means, or the leading features of kernel PCA.
    fit_intercept : bool, default=True
        Whether f has a constant; without one the mean of f is not held.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labelled rows of each class.
    n_init : int, default=1
        Runs, of which the one with the lowest objective is kept. All but the first give the rows
        random weights until the last stage ("cccp": in the supervised one).
    calibration_folds : int, default=5
        Folds of the labelled rows that are fitted along, for `predict_proba`; 0 fits none, and
        probabilities then rest on the fitted values themselves.
    tol : float, default=1e-3
        A descent ends when the gradient's norm is below ``tol`` times that at zero and three
        iterations in a row have lowered the objective by less than ``tol**2`` of it.
    max_iter : int, default=200
        Most iterations of one descent.
    random_state : int, RandomState or None, default=0
        For landmarks, restarts and folds.
    warm_start : bool, default=False
        Whether a new fit on rows of the same shape starts from the last solution, with the
        unlabelled rows at full weight.
    verbose : int, default=0
        1 shows progress on the error stream.
    memory_limit : int, str or None, default=None
        Most memory for the Gram matrix, the features and the solver, in bytes or such as "8GB";
        None is 60 % of what is free.
    callback : callable, optional
        Called with a `Step` after each stage; a true return value stops the fit.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    positive_ratio_ : ndarray of shape (n_columns,) or None
        The ratio that was asked for, where one is held.
    coef_ : ndarray of shape (n_columns, d)
        Weights of the columns (linear and cosine kernels only).
    dual_coef_ : ndarray of shape (n_columns, n) or (n_columns, n_landmarks)
        Coefficients of the expansion (other kernels).
    landmarks_ : ndarray of shape (n_landmarks, d)
        Centres of k-means, where they are used.
    intercept_ : ndarray of shape (n_columns,)
        Constants.
    support_ : ndarray
        Rows, or landmarks of k-means, with a coefficient that is not zero.
    result_ : SolverResult
        Status and message; ``history`` has one entry a stage: its name, the objective, the
        evaluations it took and how many unlabelled rows it moved to another class.
    n_iter_ : int
        Evaluations of objective and gradient, for all columns together.

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

    def __init__(
        self,
        kernel: str | Callable = "linear",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        reg: float = 1e-2,
        reg_unlabeled: float = 1.0,
        solver: str = "quasi-newton",
        surrogate_gamma: float = 20.0,
        unlabeled_sharpness: float = 3.0,
        annealing: Sequence[float] = (1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0),
        positive_ratio: Any = "labeled",
        n_landmarks: int | None = None,
        landmarks: str = "random",
        fit_intercept: bool = True,
        unlabeled: Any = -1,
        class_weight: Any = None,
        n_init: int = 1,
        calibration_folds: int = 5,
        tol: float = 1e-3,
        max_iter: int = 200,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        memory_limit: float | str | None = None,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.reg = reg
        self.reg_unlabeled = reg_unlabeled
        self.solver = solver
        self.surrogate_gamma = surrogate_gamma
        self.unlabeled_sharpness = unlabeled_sharpness
        self.annealing = annealing
        self.positive_ratio = positive_ratio
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.fit_intercept = fit_intercept
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.n_init = n_init
        self.calibration_folds = calibration_folds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.memory_limit = memory_limit
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or Gram matrix (n, n) if precomputed
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses, of unlabelled rows too.

        Returns
        -------
        self
        """
        self._check_parameters()
        classes = getattr(self, "classes_", [])
        data = self._check_data(X, y, sample_weight)
        given_ratio(self.positive_ratio, len(self.classes_))
        unlabelled = np.flatnonzero(~data.labelled & (data.row_weights > 0))
        supervised = len(unlabelled) == 0 or self.reg_unlabeled == 0
        if len(unlabelled) == 0:
            warnings.warn(
                "no row is unlabelled: this is the supervised machine. Mark unlabelled rows of y "
                f"by {self.unlabeled!r}, None or NaN",
                stacklevel=2,
            )
        previous = self._previous_solution(data.X) if self.warm_start and not supervised else None
        warm = previous is not None and np.array_equal(classes, self.classes_)
        if not warm:
            self._seed = check_random_state(self.random_state).randint(2**31)
        # A warm fit draws no folds but needs the landmarks of the last one: two streams.
        for_columns, for_landmarks = np.random.default_rng(self._seed).spawn(2)
        columns = make_columns(
            data,
            len(self.classes_),
            None if supervised else self.positive_ratio,
            n_init=1 if warm or supervised else self.n_init,
            n_folds=0 if warm else self.calibration_folds,
            rng=for_columns,
        )
        kernel = self._make_kernel(data.X)
        where = make_space(
            kernel,
            data.X,
            self.n_landmarks,
            self.landmarks,
            n_columns=columns.size,
            budget=memory_budget(self.memory_limit),
            rng=for_landmarks,
        )
        problem = self._problem(data, unlabelled, columns, where)
        start = before = None
        if warm and previous is not None and previous[0].shape[0] == where.space.n_coef:
            start = problem.space.vectors(*previous)
            before = decisions(problem.values(start)[unlabelled])
        ratio = columns.ratio
        if not self.fit_intercept and self.solver in _CENTERED:
            ratio = None
        self.positive_ratio_ = None if ratio is None else ratio[: columns.n_classes]
        steps = margin_steps(
            self._stages(problem, start), problem, columns, only_first=supervised, start=before
        )
        step, result = self._drive(self.solver, steps, np.iinfo(int).max, [], stacklevel=3)
        self._store_solution(kernel, data.X, where.landmarks, step.function, result)
        known = self._temperature if warm else None
        self._store_labels(data, step)
        if known is not None and self._calibrated:  # no folds were fitted along: keep it
            self._temperature = known
        else:
            self._calibrated: bool = len(columns.folds) > 0
        if not supervised:
            self._warn_of_one_class(unlabelled, problem)
        return self

    def _problem(
        self, data: LabelledData, unlabelled: np.ndarray, columns: Columns, where: MarginSpace
    ) -> MarginProblem:
        row_weights = data.row_weights / data.row_weights.max()
        weights = row_weights[unlabelled] / max(row_weights[unlabelled].sum(), 1e-300)
        balance = level = None
        if self.fit_intercept:
            # Any centre serves a free constant, and makes the descent independent of the origin.
            balance = row_weights / row_weights.sum()
        if columns.ratio is not None and self.solver in _CENTERED and self.fit_intercept:
            balance = np.zeros(data.X.shape[0])
            balance[unlabelled] = weights
            level = 2.0 * columns.ratio - 1.0
        return MarginProblem(
            space=AffineSpace(where.space, balance, level, fit_intercept=bool(self.fit_intercept)),
            labelled=data.index,
            unlabelled=unlabelled,
            targets=columns.targets,
            labelled_weights=columns.weights,
            unlabelled_weights=weights[:, None],
            reg=np.full(columns.size, float(self.reg)),
            reg_unlabeled=np.full(columns.size, float(self.reg_unlabeled)),
            positive_ratio=columns.ratio,
            disturbance=columns.disturbance,
            memory=where.memory,
        )

    def _stages(self, problem: MarginProblem, start: np.ndarray | None) -> Iterator[Stage]:
        common: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "start": start}
        if self.solver == "quasi-newton":
            return quasi_newton(
                problem,
                annealing=tuple(self.annealing),
                surrogate_gamma=self.surrogate_gamma,
                unlabeled_sharpness=self.unlabeled_sharpness,
                **common,
            )
        if self.solver == "cccp":
            return concave_convex(problem, surrogate_gamma=self.surrogate_gamma, **common)
        if self.solver == "label-switching":
            return label_switching(problem, **common)
        return deterministic_annealing(problem, **common)

    def _store_solution(
        self,
        kernel: Kernel | None,
        X: Any,
        landmarks: Landmarks | None,
        f: Function,
        result: SolverResult,
    ) -> None:
        """Store the functions as expansions over rows or landmarks, or as weights."""
        self.kernel_ = kernel
        self._space_coef = coef = f.coef
        self._fitted_basis = self._basis()
        if landmarks is not None:
            coef = landmarks.expansion(coef, kernel, X)
        self._store(X, Function(coef, f.intercept, f.values, f.S_values), result)
        if landmarks is not None and landmarks.centres is not None:
            self.landmarks_ = landmarks.centres

    def _previous_solution(self, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
        if super()._previous_solution(X) is None or self._basis() != self._fitted_basis:
            return None
        return self._space_coef, self.intercept_

    def _basis(self) -> tuple:
        """Return the parameters under which coefficients mean the same."""
        return self.kernel, self.gamma, self.degree, self.coef0, self.n_landmarks, self.landmarks

    def _warn_of_one_class(self, unlabelled: np.ndarray, problem: MarginProblem) -> None:
        """Warn when nearly all unlabelled rows are in one class though the labels say otherwise."""
        names, counts = np.unique(self.transduction_[unlabelled], return_counts=True)
        most = int(counts.argmax())
        name = names.tolist()[most]
        share = counts[most] / counts.sum()
        positive = self.positive_ratio_
        if positive is None:
            positive = ((problem.targets > 0) * problem.labelled_weights).sum(axis=0)
        shares = [1.0 - positive[0], positive[0]] if len(self.classes_) == 2 else positive
        expected = shares[int(np.searchsorted(self.classes_, names[most]))]
        by_chance = expected ** counts.sum()  # a few rows may well be of one class
        if share >= _ONE_SIDED and expected < _EXPECTED and by_chance < _BY_CHANCE:
            warnings.warn(
                f"{share:.1%} of the unlabelled rows are put in class {name!r}, where "
                f"{expected:.1%} were expected: a degenerate minimum. Set positive_ratio, raise "
                "reg_unlabeled slowly from a small value, lower reg, or try n_init=10",
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        for name in ("reg", "surrogate_gamma", "unlabeled_sharpness", "tol", "reg_unlabeled"):
            value, zero = getattr(self, name), name == "reg_unlabeled"
            fine = isinstance(value, Real) and np.isfinite(float(value))
            if not (fine and (value > 0 or (zero and value == 0))):
                allowed = "finite and not negative" if zero else "positive and finite"
                raise ValueError(f"{name} must be {allowed}, got {value!r}")
        for name in ("n_init", "max_iter", "n_landmarks"):
            value = getattr(self, name)
            optional = name == "n_landmarks" and value is None
            if not (optional or (isinstance(value, Integral) and int(value) >= 1)):
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        if self.landmarks not in ("random", "kmeans", "pca"):
            raise ValueError(
                f"landmarks must be 'random', 'kmeans' or 'pca', got {self.landmarks!r}"
            )
        folds = self.calibration_folds
        if not (isinstance(folds, Integral) and (folds == 0 or folds >= 2)):
            raise ValueError(f"calibration_folds must be 0 or at least 2, got {folds!r}")
        shares = np.asarray(self.annealing, dtype=float)
        fine = shares.ndim == 1 and len(shares) > 0 and np.isfinite(shares).all()
        if not (fine and np.all(shares > 0) and shares[-1] == 1.0):
            raise ValueError(
                f"annealing must be positive shares of reg_unlabeled that end with 1, got "
                f"{self.annealing!r}"
            )
