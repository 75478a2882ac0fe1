"""Random problems for the estimators: easy data, made odd step by step.

A seed gives a `Problem`: a configured estimator and well separated data, changed by a few random
steps of rows (`helpers.odd_rows`), labels, targets, weights and parameters. Nothing here runs an
estimator.
"""

from typing import Any

import numpy as np

from helpers.odd_rows import ROW_STEPS, Problem, easy_problem, store
from lapwing import S3VC

# ---------------------------------------------------------------- labels, targets and weights

NAMES: list[list[Any]] = [
    ["a", "b", "c"],
    [3, 70, 9],
    [10**12, 5, 7],
    [0.0, 1.0, 2.0],
    ["", "x", "-1"],
    [True, False],
    ["ä", "β", "名"],
]


def names(problem: Problem, rng: np.random.Generator) -> Problem:
    """Call the classes something else, with another marker."""
    chosen = NAMES[rng.integers(len(NAMES))]
    if len(chosen) <= problem.truth.max():
        chosen = NAMES[0]
    spelled = np.empty(len(problem.truth), dtype=object)
    spelled[:] = [chosen[code] for code in problem.truth]
    marker = [None, np.nan, -1][rng.integers(3)]
    y = spelled.copy()
    for i in np.flatnonzero(problem.y == -1):
        y[i] = marker
    hard = "" in chosen  # a class that looks like a marker may be refused
    return problem.then(
        f"names {chosen[0]!r} {marker}",
        y=y,
        truth=spelled,
        learnable=problem.learnable and not hard,
    )


def few_labels(problem: Problem, rng: np.random.Generator) -> Problem:
    kind = rng.choice(["one_per_class", "one_class", "none", "all", "uneven"])
    y = problem.y.copy()
    classes = np.unique(problem.truth)
    if kind in ("one_per_class", "uneven"):
        for c in classes if kind == "one_per_class" else classes[:1]:
            y[np.flatnonzero(y == c)[1:]] = -1
    elif kind == "one_class":
        y[y > 0] = -1
    elif kind == "none":
        y[:] = -1
    else:
        y = problem.truth.copy()
    hard = kind in ("one_class", "none", "uneven")
    hard |= isinstance(problem.case.estimator, S3VC)  # has local minima
    hard |= problem.case.name.endswith(("-landmarks", "-prototypes"))  # a label, and few points
    return problem.then(f"few_labels {kind}", y=y, learnable=problem.learnable and not hard)


def targets(problem: Problem, rng: np.random.Generator) -> Problem:
    """Other units and origin of the targets; ε, and C beside it, have the unit of the targets."""
    factor, shift = 10.0 ** rng.uniform(-5, 5), 10.0 ** rng.uniform(-2, 5)
    shift *= factor
    parameters = dict(problem.parameters)
    if problem.case.has("epsilon"):
        given = problem.case.new().get_params(deep=False)
        parameters |= {name: given[name] * factor for name in ("epsilon", "C")}
    return problem.then(
        f"targets {factor:.3g} {shift:.3g}",
        y=problem.y * factor + shift,
        truth=problem.truth * factor + shift,
        parameters=parameters,
    )


def extreme_targets(problem: Problem, rng: np.random.Generator) -> Problem:
    kind = rng.choice(["constant", "1e-300", "1e200", "offset 1e12", "one", "outlier", "integers"])
    y = problem.y.copy()
    known = np.flatnonzero(np.isfinite(y))
    if kind == "constant":
        y[known] = 5.0
    elif kind == "one":
        y[known[1:]] = np.nan
    elif kind == "outlier":
        y[known[0]] = 1e9
    elif kind == "integers":
        y[known] = np.round(y[known])
    elif kind.startswith("offset"):
        y += 1e12
    else:
        y *= float(kind)
    return problem.then(f"extreme_targets {kind}", y=y, learnable=False)


def weigh(problem: Problem, rng: np.random.Generator) -> Problem:
    n = problem.X.shape[0]
    kind = rng.choice(["ones", "random", "some_zero", "tiny", "huge", "ratio", "zero"])
    weights = {
        "ones": np.ones(n),
        "random": rng.uniform(0.5, 2.0, size=n),
        "some_zero": (rng.random(n) < 0.5).astype(float),
        "tiny": np.full(n, 1e-300),
        "huge": np.full(n, 1e300),
        "ratio": 10.0 ** rng.uniform(-300, 300, size=n),
        "zero": np.zeros(n),
    }[str(kind)]
    learnable = problem.learnable and kind in ("ones", "random")
    return problem.then(f"weigh {kind}", weights=weights, learnable=learnable)


# ---------------------------------------------------------------- parameters

CHOICES: dict[str, list[Any]] = {
    "kernel": ["rbf", "linear", "poly", "cosine"],
    "loss": ["squared", "hinge", "squared_hinge", "logistic"],
    "solver": ["auto", "direct", "iterative", "cg", "pcg", "newton", "cccp", "annealing"],
    "class_shares": [None, "labels", {0: 0.9, 1: 0.1}],
    "class_weight": ["balanced", None, {0: 1e-300, 1: 1e300}],
    "class_prior": ["equal", "labeled", None],
    "weights": ["kernel", "lae"],
    "landmarks": ["random", "kmeans", "pca"],
    "stopping": ["optimal", "stability", "validation"],
    "fit_intercept": [True, False],
    "normalize_rows": [True, False],
    "warm_start": [True, False],
    "random_state": [0, None, 2**32 - 1],
    "memory_limit": [None, "1kB", "1GB", 0],
    "method": ["auto", "supervised", "manifold", "graph", "margin"],
    "n_eigenvectors": [None, 1, 8, 10**6],
    "n_landmarks": [None, 1, 2, 10, 10**6],
    "cv": [2, 3, 10, 1000, None],
}
#: Parameters that are left alone: functions, and what the data decide.
LEFT = {"unlabeled", "callback", "graph", "scoring", "verbose", "memory"}
NUMBERS = [0.0, -1.0, 1e-300, 1e-100, 1e-30, 1e-12, 1e-6, 1e6, 1e12, 1e30, 1e100, 1e300]
NUMBERS += [0.1, 0.5, 1.0, 2.0, np.nan, np.inf]
COUNTS = [0, -1, 1, 2, 3, 7, 100, 10**4, 10**9]


def configure(problem: Problem, rng: np.random.Generator) -> Problem:
    """Set a parameter to a value within or beyond its range."""
    given = problem.case.new().get_params(deep=False)
    name = str(rng.choice(sorted(set(given) - LEFT)))
    old = given[name]
    if name in CHOICES:
        value = CHOICES[name][rng.integers(len(CHOICES[name]))]
    elif isinstance(old, int) and not isinstance(old, bool):
        value = int(rng.choice(COUNTS))
        if (name, value) == ("n_init", 10**4):
            value = 10  # whoever asks for so many restarts waits for them
    elif isinstance(old, tuple):
        value = tuple(float(v) for v in rng.choice(NUMBERS, size=2))
    else:
        value = float(rng.choice(NUMBERS))
    parameters = {**problem.parameters, name: value}
    return problem.then(f"configure {name}={value!r}", parameters=parameters, learnable=False)


# ---------------------------------------------------------------- the whole


def random_problem(seed: int) -> Problem:
    """Return the problem of a seed; every second one can be learnt at ordinary parameters."""
    rng = np.random.default_rng(seed)
    problem = _draw(seed, rng)
    while seed % 2 and not problem.learnable:
        problem = _draw(seed, rng)
    return problem


def _draw(seed: int, rng: np.random.Generator) -> Problem:
    problem = easy_problem(seed, rng)
    for _ in range(rng.choice([0, 1, 2, 3], p=[0.2, 0.4, 0.25, 0.15])):
        problem = ROW_STEPS[rng.integers(len(ROW_STEPS))](problem, rng)
    if problem.case.is_classifier:
        if rng.random() < 0.25:
            problem = few_labels(problem, rng)
        if rng.random() < 0.3:
            problem = names(problem, rng)
    else:
        if rng.random() < 0.5:
            problem = targets(problem, rng)
        if rng.random() < 0.2:
            problem = extreme_targets(problem, rng)
    if rng.random() < 0.2:
        problem = weigh(problem, rng)
    for _ in range(rng.choice([0, 1, 2], p=[0.6, 0.3, 0.1])):
        problem = configure(problem, rng)
    if problem.case.sparse or rng.random() < 0.4:
        problem = store(problem, rng)
    return problem
