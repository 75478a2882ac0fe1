"""Lapwing's regressor and what a user would use instead, on the same splits.

A quarter of the rows (of at most 2 000) is kept back as new rows; 10, 20 or 50 random rows of the
others have a target. Lapwing's default runs without any parameter set, and so does the supervised
regressor that it would select. Parameters of the other methods are selected by cross-validation
over the rows with a target, in five folds: weights and widths, numbers of neighbours, and for
GaussianProcessRegressor the kernel, whose width and noise maximise the marginal likelihood. Widths
are multiples of the median distance between rows.

scikit-learn has no semi-supervised regressor. Self-training here is a tuned KNeighborsRegressor
that gives pseudo-targets to the rows without a target, in ten rounds and the nearest rows first. In
each round it predicts the next tenth of the rows and is fitted again to all targets and
pseudo-targets so far. Self-training of KernelRidge is left out, because a fit to its own
predictions hardly changes it.

The score is the root mean squared error in percent of the standard deviation of the targets of the
same rows: 100 is as good as their mean, and 100 √(1 − R²) is the same number. Targets are judged
with their noise. Rows of pictures and points in space are scaled by one factor, columns of tables
each by its own, by the statistics of all rows, new rows included; no target is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from lapwing import SemiSupervisedRegressor

from .data import DataFolder
from .jobs import Job, Outcome
from .peers_task import ALONE, OURS, Draw, Measure, Task, over_draws, prepared, task_jobs

FILES: dict[str, str | None] = {
    "diabetes": None,
    "Swiss roll": None,
    "S-curve": None,
    "friedman1": None,
    "robot arm": None,
    "satimage": "satimage.npz",
    "wine": None,
    "friedman2": None,
    "Mackey-Glass": None,
    "COIL20": "coil20.npz",
}
#: Data sets whose columns share one unit; they are scaled together.
_ONE_UNIT = ("Swiss roll", "S-curve", "Mackey-Glass", "COIL20")
TASK = Task(
    name="peers-quantities",
    title="Lapwing and its peers: quantities",
    protocol="All methods have the same splits. Parameters are selected on the rows with a target "
    "only. Relative error: root mean squared error in % of the standard deviation of the targets, "
    "mean ± standard deviation over draws of rows and targets; 100 is as good as the mean of the "
    "targets. Seconds of selection and fit; peak memory of a process.",
    labels=(10, 20, 50),
    words="targets",
    field="targets",
    measures=(Measure("relative error", sign=-1),),
    unseen=("wine", "friedman2", "Mackey-Glass", "COIL20"),
    unseen_words="data sets not used for any choice",
)


def jobs(mode: str, first_draw: int = 0) -> list[Job]:
    """Return the jobs: every method on every data set with every number of targets."""
    return task_jobs(TASK, measure, FILES, METHODS, mode, first_draw)


def measure(
    data: DataFolder, name: str, labels: int, method: str, seeds: list[int], most_rows: int
) -> Outcome:
    """Return relative errors on unlabelled and on new rows, and seconds, for each draw."""
    X, y = data_set(data, name, most_rows)
    return over_draws(
        y,
        range(*seeds),
        lambda truth, rng: few_targets(truth, labels, rng),
        lambda draw: METHODS[method](X[draw.train], draw.marks),
        partial(_scores, X, y),
    )


def _scores(X: np.ndarray, y: np.ndarray, fitted: Fitted, draw: Draw) -> dict[str, float]:
    on_train, predict = fitted
    return {
        "unlabelled rows": relative_error(on_train()[draw.hidden], y[draw.train][draw.hidden]),
        "new rows": relative_error(predict(X[draw.new]), y[draw.new]),
    }


def relative_error(predicted: np.ndarray, y: np.ndarray) -> float:
    """Return the root mean squared error in percent of the standard deviation of y."""
    return 100.0 * float(np.sqrt(np.mean((predicted - y) ** 2)) / y.std())


def few_targets(y: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Return the targets of ``number`` random rows, and NaN for the others."""
    targets = np.full(len(y), np.nan)
    keep = rng.permutation(len(y))[:number]
    targets[keep] = y[keep]
    return targets


def data_set(data: DataFolder, name: str, most_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, scaled as a user would scale them, and quantities."""
    X, y = _SETS[name](data)
    return prepared(X, y.astype(np.float64), name in _ONE_UNIT, most_rows)


_Set = tuple[np.ndarray, np.ndarray]
_ROWS = 2_000


def _wine(data: DataFolder) -> _Set:
    """The alcohol content of wines, from twelve other measurements."""
    X, _ = datasets.load_wine(return_X_y=True)
    return X[:, 1:], X[:, 0]


def _satimage(data: DataFolder) -> _Set:
    """The last of four spectral bands of a pixel, from all bands of the eight pixels around it."""
    X = data.rows("satimage.npz")
    return np.delete(X, np.s_[16:20], axis=1), X[:, 19]


def _coil20(data: DataFolder) -> _Set:
    """The cosine of the angle from which an object is seen: the first four objects.

    The pictures of an object are in steps of five degrees, in order.
    """
    X, y = data.load("coil20.npz", "X", "y")
    angle = np.deg2rad(5.0 * (np.arange(len(y)) % 72))
    keep = y < 4
    return X[keep], np.cos(angle[keep])


def _robot_arm(data: DataFolder) -> _Set:
    """The distance from a point to the end of a planar arm with eight links, with noise.

    The rows are the angles of its joints, so that there is no structure in them.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(-np.pi / 4, np.pi / 4, (_ROWS, 8))
    direction = np.cumsum(X, axis=1)
    end = np.column_stack([np.cos(direction).mean(axis=1), np.sin(direction).mean(axis=1)])
    y = np.linalg.norm(end - 0.5, axis=1)
    return X, y + rng.normal(scale=0.1 * y.std(), size=_ROWS)


def _mackey_glass(data: DataFolder) -> _Set:
    """A chaotic series, 84 time units after four values that are six time units apart.

    The series is that of x' = 0.2 x(t − 17) / (1 + x(t − 17)¹⁰) − 0.1 x, by Euler's method.
    """
    per_unit, delay, start, ahead = 10, 17, 500, 84
    x = np.full((start + _ROWS + ahead + 18) * per_unit, 1.2)
    for k in range(delay * per_unit, len(x) - 1):
        before = x[k - delay * per_unit]
        x[k + 1] = x[k] + (0.2 * before / (1.0 + before**10) - 0.1 * x[k]) / per_unit
    x = x[start * per_unit :: per_unit]
    X = np.column_stack([x[shift : shift + _ROWS] for shift in (0, 6, 12, 18)])
    return X, x[18 + ahead : 18 + ahead + _ROWS]


_SETS: dict[str, Callable[[DataFolder], _Set]] = {
    "diabetes": lambda data: datasets.load_diabetes(return_X_y=True),
    "Swiss roll": lambda data: datasets.make_swiss_roll(_ROWS, noise=0.5, random_state=0),
    "S-curve": lambda data: datasets.make_s_curve(_ROWS, noise=0.1, random_state=0),
    "friedman1": lambda data: datasets.make_friedman1(_ROWS, noise=1.0, random_state=0),
    "robot arm": _robot_arm,
    "satimage": _satimage,
    "wine": _wine,
    "friedman2": lambda data: datasets.make_friedman2(_ROWS, noise=100.0, random_state=0),
    "Mackey-Glass": _mackey_glass,
    "COIL20": _coil20,
}

#: Predictions for the training rows and for new rows.
Fitted = tuple[Callable[[], np.ndarray], Callable[[np.ndarray], np.ndarray]]


def _tuned(model: Any, grid: Mapping[str, list], X: np.ndarray, y: np.ndarray) -> Any:
    """Return a model tuned on and fitted to the rows with a target."""
    known = ~np.isnan(y)
    cv = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(model, dict(grid), cv=cv, scoring="neg_mean_squared_error")
    return search.fit(X[known], y[known]).best_estimator_


def _median_distance(X: np.ndarray) -> float:
    sample = X[np.random.default_rng(0).permutation(len(X))[:500]]
    distances = pairwise_distances(sample)
    return float(np.median(distances[np.triu_indices(len(sample), 1)]))


def ridge(X: np.ndarray, y: np.ndarray) -> Any:
    """Fit scikit-learn's Ridge."""
    return _tuned(Ridge(), {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0]}, X, y)


def kernel_ridge(X: np.ndarray, y: np.ndarray) -> Any:
    """Fit scikit-learn's KernelRidge with a Gaussian kernel to centred and scaled targets."""
    model = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    widths = [factor / _median_distance(X) ** 2 for factor in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)]
    weights = [1e-4, 1e-3, 0.01, 0.1, 1.0]
    return _tuned(model, {"regressor__alpha": weights, "regressor__gamma": widths}, X, y)


def neighbours(X: np.ndarray, y: np.ndarray) -> Any:
    """Fit scikit-learn's KNeighborsRegressor."""
    grid: dict[str, list] = {"n_neighbors": [1, 2, 3, 5, 8], "weights": ["uniform", "distance"]}
    return _tuned(KNeighborsRegressor(), grid, X, y)


def gaussian_process(X: np.ndarray, y: np.ndarray) -> Any:
    """Fit scikit-learn's GaussianProcessRegressor; its targets have unit variance."""
    width = _median_distance(X)
    kernels = [1.0 * kernel + WhiteKernel(0.1) for kernel in (RBF(width), Matern(width, nu=1.5))]
    model = GaussianProcessRegressor(normalize_y=True, random_state=0)
    return _tuned(model, {"kernel": kernels}, X, y)


def self_training(X: np.ndarray, y: np.ndarray, rounds: int = 10) -> Any:
    """Fit a tuned KNeighborsRegressor to the targets and to its own pseudo-targets.

    In each round those rows get pseudo-targets that are nearest to rows with a target or one.
    """
    model, y = neighbours(X, y), y.copy()
    for left in range(rounds, 0, -1):
        known = ~np.isnan(y)
        unknown = np.flatnonzero(~known)
        distances, _ = NearestNeighbors(n_neighbors=1).fit(X[known]).kneighbors(X[unknown])
        take = unknown[np.argsort(distances[:, 0])[: -(-len(unknown) // left)]]
        y[take] = model.predict(X[take])
        known[take] = True
        model = clone(model).fit(X[known], y[known])
    return model


def lapwing(X: np.ndarray, y: np.ndarray, method: str = "auto") -> Fitted:
    """Fit SemiSupervisedRegressor with its defaults, or one of its families."""
    model = SemiSupervisedRegressor(method).fit(X, y)
    return lambda: model.transduction_, model.predict


_MODELS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "Ridge": ridge,
    "KernelRidge": kernel_ridge,
    "KNeighborsRegressor": neighbours,
    "GaussianProcessRegressor": gaussian_process,
    "self-training": self_training,
}


def _peer(name: str, X: np.ndarray, y: np.ndarray) -> Fitted:
    """Fit a model to which training rows are like new ones."""
    model = _MODELS[name](X, y)
    return lambda: model.predict(X), model.predict


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Fitted]] = {
    **{name: partial(_peer, name) for name in _MODELS},
    OURS: lapwing,
    ALONE: partial(lapwing, method="supervised"),
}
