"""The four semi-supervised machines against their objectives, written out one row at a time."""

import itertools
import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from helpers import data
from lapwing.kernels.functions import make_kernel
from lapwing.kernels.gram import gram_operator
from lapwing.losses import SmoothHat, SmoothHinge, SquaredHinge, TwoSidedHinge
from lapwing.operators.dense import DenseOperator
from lapwing.solvers.free_energy import FreeEnergy
from lapwing.solvers.lbfgs import lbfgs
from lapwing.solvers.s3vm import (
    MarginProblem,
    _labels_by_rank,
    concave_convex,
    deterministic_annealing,
    label_switching,
    quasi_newton,
    with_targets,
)
from lapwing.spaces.affine import AffineSpace
from lapwing.spaces.features import landmark_features, principal_features
from lapwing.spaces.kernel_space import KernelSpace, LinearSpace
from lapwing.spaces.kmeans import kmeans_landmarks

GAMMA, S = 20.0, 3.0
TIGHT = {"tol": 1e-8, "max_iter": 2000}
METHODS = {
    "quasi-newton": lambda problem, **options: quasi_newton(
        problem,
        annealing=(1e-4, 1e-2, 0.1, 1.0),
        surrogate_gamma=GAMMA,
        unlabeled_sharpness=S,
        **{**TIGHT, **options},
    ),
    "cccp": lambda problem, **options: concave_convex(
        problem, surrogate_gamma=GAMMA, **{**TIGHT, **options}
    ),
    "label-switching": lambda problem, **options: label_switching(problem, **{**TIGHT, **options}),
    "annealing": lambda problem, **options: deterministic_annealing(
        problem, **{**TIGHT, **options}
    ),
}
every_method = pytest.mark.parametrize("method", list(METHODS))


def clusters(n=30, n_labelled=6, gap=2.0, seed=0, d=2, ratio=0.5):
    """Rows of two clusters, the first ones labelled, and the true sides ±1."""
    rng = np.random.default_rng(seed)
    sides = np.where(rng.random(n) < ratio, 1.0, -1.0)
    sides[:n_labelled] = np.where(np.arange(n_labelled) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, d))
    X[:, 0] += gap * sides
    return X, sides


def make_problem(
    X, sides, n_labelled=6, *, space=None, hold=False, ratio=None, columns=1, **options
):
    """A problem of equal columns over linear functions, with equal weights."""
    n, u = len(sides), len(sides) - n_labelled
    space = LinearSpace(X) if space is None else space
    balance = None
    if hold:
        balance = np.append(np.zeros(n_labelled), np.full(u, 1.0 / u))
    ratio = None if ratio is None else np.broadcast_to(ratio, columns).astype(float)
    settings = {
        "reg": np.full(columns, 0.05),
        "reg_unlabeled": np.full(columns, 0.5),
        "targets": np.repeat(sides[:n_labelled, None], columns, axis=1),
        "fit_intercept": True,
        **options,
    }
    fit_intercept = settings.pop("fit_intercept")
    level = 2.0 * ratio - 1.0 if hold else None
    return MarginProblem(
        space=AffineSpace(space, balance, level, fit_intercept=fit_intercept),
        labelled=np.arange(n_labelled),
        unlabelled=np.arange(n_labelled, n),
        labelled_weights=np.full((n_labelled, columns), 1.0 / n_labelled),
        unlabelled_weights=np.full((u, 1), 1.0 / u),
        positive_ratio=ratio,
        **settings,
    )


def functions(problem, stage):
    """Values on all rows and squared norms, from coefficients and intercepts."""
    columns = np.arange(len(problem.reg))
    coef, intercept = problem.space.coef_and_intercept(stage.minimum.vectors, columns)
    return problem.space.space.features @ coef + intercept, (coef**2).sum(axis=0)


# ---------------------------------------------------------------- gradient of the objective

LABELLED = {
    "smooth_hinge": (
        SmoothHinge(GAMMA),
        lambda f, y: np.logaddexp(0, GAMMA * (1 - y * f)) / GAMMA,
    ),
    "squared_hinge": (SquaredHinge(), lambda f, y: np.maximum(1 - y * f, 0) ** 2),
}
UNLABELLED = {
    "none": (None, lambda f: 0.0 * f),
    "smooth_hat": (with_targets(SmoothHat(S)), lambda f: np.exp(-S * f**2)),
    "two_sided_hinge": (
        with_targets(TwoSidedHinge(GAMMA)),
        lambda f: (np.logaddexp(0, GAMMA * (1 - f)) + np.logaddexp(0, GAMMA * (1 + f))) / GAMMA - 1,
    ),
    "squared_hinge": (
        lambda f, _: SquaredHinge().value_and_derivative(f, -1.0),
        lambda f: np.maximum(1 + f, 0) ** 2,
    ),
}
SPACES = [
    "linear", "sparse", "kernel", "tiled", "precomputed", "random landmarks", "kmeans landmarks",
    "pca",
]  # fmt: skip


gaussian = partial(data.gaussian, gamma=0.3)


def make_space(kind, X):
    """Return a space, and B and G with f = B·coef and ‖f‖² = coefᵀG·coef, by formula."""
    kernel = make_kernel("rbf", X, gamma=0.3, degree=3, coef0=0.0)
    K = gaussian(X, X)
    if kind in ("linear", "sparse"):
        return LinearSpace(sp.csr_matrix(X) if kind == "sparse" else X), X, np.eye(X.shape[1])
    if kind in ("kernel", "tiled"):
        storage = "float64" if kind == "kernel" else "tiled"
        return KernelSpace(gram_operator(kernel, kernel.prepare(X), storage)), K, K
    if kind == "precomputed":
        return KernelSpace(DenseOperator(X @ X.T)), X @ X.T, X @ X.T
    if kind == "pca":
        features, Z = principal_features(K, 7, np.random.default_rng(0)), X
    else:
        Z = X[[1, 5, 9, 20]]
        if kind == "kmeans landmarks":
            Z = kmeans_landmarks(X, 4, np.random.default_rng(0))
        features = landmark_features(kernel, X, Z)
    back = features.back
    return LinearSpace(features.values), gaussian(X, Z) @ back, back.T @ gaussian(Z, Z) @ back


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("constant", ["held", "free", "none"])
@pytest.mark.parametrize("on_labelled", list(LABELLED))
@pytest.mark.parametrize("on_unlabelled", list(UNLABELLED))
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_gradient_of_the_objective(kind, constant, on_labelled, on_unlabelled, size):
    n_labelled, share = 6, 0.3
    X, sides = clusters(d=3)
    X[np.abs(X) < 0.3] = 0.0
    space, B, G = make_space(kind, X)
    problem = make_problem(
        X, sides, space=space, columns=2, hold=constant == "held", ratio=[0.4, 0.7],
        fit_intercept=constant == "free",
        reg=np.array([0.1, 1e-3]), reg_unlabeled=np.array([0.5, 2.0]),
        targets=np.column_stack([sides, -sides])[:n_labelled],
    )  # fmt: skip
    full = problem.space
    rng = np.random.default_rng(1)

    def some_function(size):
        coef, b = rng.normal(size=(space.n_coef, 2)), rng.normal(size=2)
        factor = size / np.abs(B @ coef).max(axis=0)
        return full.vectors(factor * coef, size * b)

    def objective(vectors):
        coef, intercept = full.coef_and_intercept(vectors, np.arange(2))
        f = B @ coef + intercept
        labelled = LABELLED[on_labelled][1](f[:n_labelled], problem.targets).mean(axis=0)
        unlabelled = UNLABELLED[on_unlabelled][1](f[n_labelled:]).mean(axis=0)
        norm = np.einsum("ij,ik,kj->j", coef, G, coef)
        return labelled + share * problem.reg_unlabeled * unlabelled + problem.reg * norm

    x, direction = some_function(size), some_function(1.0)
    loss = problem.row_loss(LABELLED[on_labelled][0], UNLABELLED[on_unlabelled][0], share)
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise"):
        warnings.simplefilter("error")
        at = lbfgs(
            full,
            loss,
            problem.reg,
            x,
            small_decrease=0.0,
            small_gradient=np.full(2, np.inf),
            max_iter=0,
        )
        _, row_gradient = loss(at.values, np.arange(2))
        # The gradient as the descent forms it.
        gradient = full.gradient(row_gradient) + 2.0 * problem.reg * full.without_constant(x)
    np.testing.assert_allclose(at.objective, objective(x), rtol=1e-8)
    step = 1e-6 if size == 1.0 else 1e-2
    rise = (objective(x + step * direction) - objective(x - step * direction)) / (2 * step)
    scale = np.abs(objective(x)) / size
    np.testing.assert_allclose(full.dot(gradient, direction), rise, atol=1e-6 * scale.max() + 1e-7)


def test_descents_on_the_concave_convex_bound_and_on_the_free_energy_converge():
    # Losses with wrong derivatives would not.
    X, sides = clusters()
    for method in ("cccp", "annealing"):
        problem = make_problem(X, sides, ratio=0.5, hold=method == "cccp")
        stages = list(METHODS[method](problem))
        assert all(stage.minimum.converged.all() for stage in stages)


# ---------------------------------------------------------------- the supervised start


def test_supervised_start_is_the_linear_svc():
    X, sides = clusters(n=60, n_labelled=40, gap=0.7)
    problem = make_problem(X, sides, 40, fit_intercept=False)
    for method in ("label-switching", "annealing"):
        stage = next(iter(METHODS[method](problem)))
        # (1/l) Σ hinge² + λ‖w‖² = 2λ(½‖w‖² + C Σ hinge²), C = 1/(2λl).
        svc = LinearSVC(
            loss="squared_hinge", dual=False, fit_intercept=False, C=1 / (2 * 0.05 * 40), tol=1e-10,
            max_iter=10_000,
        )  # fmt: skip
        svc.fit(X[:40], sides[:40])
        assert stage.name == "supervised"
        np.testing.assert_allclose(stage.minimum.vectors[:, 0], svc.coef_[0], atol=1e-6)


@every_method
def test_supervised_start_is_a_naive_minimum(method):
    X, sides = clusters(n=40, n_labelled=20, gap=0.7)
    problem = make_problem(X, sides, 20, ratio=0.6)
    formula = LABELLED["smooth_hinge" if method in ("quasi-newton", "cccp") else "squared_hinge"][1]

    def objective(z):
        f = X[:20] @ z[:2] + z[2]
        return formula(f, sides[:20]).mean() + 0.05 * (z[:2] @ z[:2])

    best = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    stage = next(iter(METHODS[method](problem)))
    assert stage.minimum.objective[0] == pytest.approx(best.fun, rel=1e-7)


# ---------------------------------------------------------------- stages


@every_method
@pytest.mark.parametrize("hold", [False, True])
def test_stages_end_with_one_that_has_settled(method, hold):
    if hold and method in ("label-switching", "annealing"):
        pytest.skip("these label by ratio")
    X, sides = clusters()
    stages = list(METHODS[method](make_problem(X, sides, ratio=0.5, hold=hold)))
    assert [stage.settled is not None for stage in stages] == [False] * (len(stages) - 1) + [True]
    assert stages[-1].settled.all()
    assert stages[0].name == "supervised"
    assert len({stage.name for stage in stages}) == len(stages)
    assert all(stage.evaluations >= 1 for stage in stages)


@every_method
def test_a_start_goes_straight_to_full_weight(method):
    X, sides = clusters()
    problem = make_problem(X, sides, ratio=0.5)
    found = list(METHODS[method](problem))[-1]
    again = list(METHODS[method](problem, start=found.minimum.vectors))
    assert all(stage.name != "supervised" for stage in again)
    assert len(again) <= 2
    np.testing.assert_allclose(again[-1].minimum.values, found.minimum.values, atol=1e-4)


@every_method
def test_columns_do_not_know_of_each_other(method):
    X, sides = clusters(gap=1.0)
    options = {
        "reg": np.array([0.02, 0.1, 0.05]),
        "reg_unlabeled": np.array([0.2, 1.0, 0.5]),
        "targets": np.column_stack([sides, -sides, np.roll(sides, 1)])[:6],
    }
    ratio = np.array([0.5, 0.3, 0.6])
    hold = method in ("quasi-newton", "cccp")
    together = make_problem(X, sides, columns=3, ratio=ratio, hold=hold, **options)
    block = list(METHODS[method](together, tol=1e-7))[-1].minimum
    for k in range(3):
        alone = make_problem(
            X, sides, ratio=ratio[k], hold=hold, reg=options["reg"][[k]],
            reg_unlabeled=options["reg_unlabeled"][[k]], targets=options["targets"][:, [k]],
        )  # fmt: skip
        own = list(METHODS[method](alone, tol=1e-7))[-1].minimum
        np.testing.assert_allclose(block.values[:, [k]], own.values, atol=1e-6)


@every_method
def test_disturbed_columns_take_another_way_to_the_same_objective(method):
    X, sides = clusters(n=40, gap=0.8)
    drawn = np.random.default_rng(2).exponential(size=(40, 1))
    problem = make_problem(X, sides, ratio=0.5, columns=2)
    problem = replace(problem, disturbance=np.hstack([np.ones((40, 1)), drawn]))
    stages = list(METHODS[method](problem))
    plain = list(METHODS[method](make_problem(X, sides, ratio=0.5)))
    assert np.abs(np.diff(stages[0].minimum.values, axis=1)).max() > 1e-3
    # The first column is not disturbed.
    np.testing.assert_allclose(
        stages[0].minimum.values[:, 0], plain[0].minimum.values[:, 0], atol=1e-9
    )
    tolerance = 1e-4 if method == "annealing" else 1e-7  # without disturbance it may end earlier
    assert stages[-1].minimum.objective[0] == pytest.approx(
        plain[-1].minimum.objective[0], rel=tolerance
    )
    # The last objective has the true weights: evaluate it for the disturbed column.
    f, norm = functions(problem, stages[-1])
    f, norm = f[:, 1], norm[1]
    if method in ("quasi-newton", "cccp"):
        loss = LABELLED["smooth_hinge"][1](f[:6], sides[:6]).mean()
    else:
        loss = LABELLED["squared_hinge"][1](f[:6], sides[:6]).mean()
    if method == "quasi-newton":
        loss += 0.5 * np.exp(-S * f[6:] ** 2).mean()
    elif method == "cccp":
        loss += 0.5 * (UNLABELLED["two_sided_hinge"][1](f[6:]) - np.abs(f[6:])).mean()
    else:
        labels = np.where(f[6:] >= np.sort(f[6:])[-17], 1.0, -1.0)  # half of 34 rows
        loss += 0.5 * LABELLED["squared_hinge"][1](f[6:], labels).mean()
    assert stages[-1].minimum.objective[1] == pytest.approx(loss + 0.05 * norm, rel=1e-4)


# ---------------------------------------------------------------- quasi-Newton


@pytest.mark.parametrize("hold", [False, True])
def test_every_share_ends_in_a_stationary_point_of_its_objective(hold):
    X, sides = clusters(gap=1.0)
    problem = make_problem(X, sides, ratio=0.4, hold=hold)
    shares = [0.0, 1e-4, 1e-2, 0.1, 1.0]
    stages = list(METHODS["quasi-newton"](problem))
    assert len(stages) == len(shares)
    for share, stage in zip(shares, stages, strict=True):
        w = stage.minimum.vectors[:2, 0]
        f, _ = functions(problem, stage)
        b = f[0, 0] - X[0] @ w

        def objective(z, share=share):
            shift = -0.2 - X[6:].mean(axis=0) @ z[:2] if hold else z[2]
            f = X @ z[:2] + shift
            labelled = LABELLED["smooth_hinge"][1](f[:6], sides[:6]).mean()
            unlabelled = np.exp(-S * f[6:] ** 2).mean()
            return labelled + share * 0.5 * unlabelled + 0.05 * (z[:2] @ z[:2])

        z = np.append(w, b)
        assert stage.minimum.objective[0] == pytest.approx(objective(z), rel=1e-10)
        steps = 1e-5 * np.eye(3)
        slope = [(objective(z + s) - objective(z - s)) / 2e-5 for s in steps]
        np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_shares_may_repeat_or_fall():
    X, sides = clusters(gap=1.0)
    problem = make_problem(X, sides, ratio=0.5)
    stages = list(
        quasi_newton(
            problem, annealing=(1.0, 0.1, 1.0), surrogate_gamma=GAMMA, unlabeled_sharpness=S,
            **TIGHT,
        )
    )  # fmt: skip
    assert [stage.settled is not None for stage in stages] == [False, False, False, True]


# ---------------------------------------------------------------- concave-convex procedure


@pytest.mark.parametrize("hold", [False, True])
def test_concave_convex_rounds_never_raise_the_objective(hold):
    rounds = []
    for seed in range(5):
        X, sides = clusters(n=60, gap=0.3, seed=seed)
        problem = make_problem(
            X, sides, ratio=0.5, hold=hold, reg=np.array([1e-3]), reg_unlabeled=np.array([2.0])
        )
        stages = list(METHODS["cccp"](problem, tol=1e-6))
        path = []
        for stage in stages:
            f, norm = functions(problem, stage)
            labelled = LABELLED["smooth_hinge"][1](f[:6, 0], sides[:6]).mean()
            unlabelled = UNLABELLED["two_sided_hinge"][1](f[6:, 0]) - np.abs(f[6:, 0])
            path.append(labelled + 2.0 * unlabelled.mean() + 1e-3 * norm[0])
        path = np.array(path)
        assert (np.diff(path) <= 1e-8 * path[:-1]).all()
        assert path[-1] < path[0]
        # Each round's objective is a bound, which touches once no row changes sides.
        bound = np.array([stage.minimum.objective[0] for stage in stages[1:]])
        assert (bound >= path[1:] - 1e-8).all()
        assert bound[-1] == pytest.approx(path[-1], rel=1e-8)
        rounds.append(len(bound))
    assert max(rounds) > 2


# ---------------------------------------------------------------- label switching


@pytest.mark.parametrize("ratio", [0.1, 0.25, 1 / 3, 0.5, 0.77, 0.99])
@pytest.mark.parametrize("u", [1, 2, 7, 24])
def test_labels_by_rank_respect_the_ratio(ratio, u):
    X, sides = clusters(n=6 + u)
    problem = make_problem(X, sides, ratio=ratio)
    values = np.random.default_rng(u).normal(size=(6 + u, 1))
    labels = _labels_by_rank(problem, values)
    assert set(np.unique(labels)) <= {-1.0, 1.0}
    assert abs((labels > 0).sum() - ratio * u) <= 0.5 + 1e-9
    positive = values[6:][labels > 0]
    if 0 < len(positive) < u:
        assert positive.min() > values[6:][labels < 0].max()
    free = replace(problem, positive_ratio=None)
    np.testing.assert_array_equal(_labels_by_rank(free, values), np.sign(values[6:]))


def naive_switching(X, sides, share, ratio, labels):
    """Descend by scipy and relabel by rank in turn; return the objectives and the labels."""
    u = len(sides) - 6
    positive = round(ratio * u)

    def objective(z, labels):
        f = X @ z[:2] + z[2]
        labelled = np.maximum(1 - sides[:6] * f[:6], 0) ** 2
        unlabelled = np.maximum(1 - labels * f[6:], 0) ** 2
        return labelled.mean() + share * unlabelled.mean() + 0.05 * (z[:2] @ z[:2])

    path = []
    while True:
        found = minimize(objective, np.zeros(3), labels, method="BFGS", options={"gtol": 1e-9})
        path.append(found.fun)
        f = X[6:] @ found.x[:2] + found.x[2]
        other = np.full(u, -1.0)
        other[np.argsort(-f)[:positive]] = 1.0
        if np.array_equal(other, labels):
            return path, labels
        labels = other


@pytest.mark.parametrize("seed", range(3))
def test_label_switching_falls_and_ends_with_stable_labels(seed):
    X, sides = clusters(gap=0.8, seed=seed)
    problem = make_problem(X, sides, ratio=0.5)
    stages = list(METHODS["label-switching"](problem))
    for stage in stages[1:]:
        labels = _labels_by_rank(problem, stage.minimum.values)
        assert (labels > 0).sum() == 12
    # One more round of the naive method, from the labels found, changes nothing.
    labels = _labels_by_rank(problem, stages[-1].minimum.values)[:, 0]
    path, after = naive_switching(X, sides, 0.5, 0.5, labels)
    assert len(path) == 1
    np.testing.assert_array_equal(after, labels)
    assert stages[-1].minimum.objective[0] == pytest.approx(path[0], rel=1e-6)
    # From random labels at a fixed share the objective falls round by round.
    start = np.random.default_rng(seed).permutation(np.repeat([-1.0, 1.0], 12))
    path, _ = naive_switching(X, sides, 0.5, 0.5, start)
    assert len(path) > 1
    assert (np.diff(path) < 0).all()


def test_label_switching_from_a_start_takes_the_naive_rounds():
    X, sides = clusters(gap=0.8, seed=1)
    problem = make_problem(X, sides, ratio=0.5)
    w = np.array([[0.0], [1.0], [0.0]])  # across the clusters
    (stage,) = METHODS["label-switching"](problem, start=w)
    labels = np.where(X[6:, 1] >= np.sort(X[6:, 1])[12], 1.0, -1.0)
    path, after = naive_switching(X, sides, 0.5, 0.5, labels)
    assert len(path) > 2
    assert stage.minimum.objective[0] == pytest.approx(path[-1], rel=1e-6)
    np.testing.assert_array_equal(_labels_by_rank(problem, stage.minimum.values)[:, 0], after)


# ---------------------------------------------------------------- deterministic annealing


def probabilities(problem, values, temperature):
    f = values[problem.unlabelled]
    weights = np.full(f.shape, 1.0 / len(f))
    return FreeEnergy(temperature, weights, problem.positive_ratio).probabilities(f)


@pytest.mark.parametrize("temperature", [10.0, 1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("ratio", [0.05, 0.5, 0.7])
def test_probabilities_have_the_given_mean(temperature, ratio):
    X, sides = clusters(n=26)
    problem = make_problem(X, sides, ratio=[ratio, 1 - ratio], columns=2)
    values = np.random.default_rng(0).normal(size=(26, 2)) * [1.0, 30.0]
    p = probabilities(problem, values, temperature)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.mean(axis=0), [ratio, 1 - ratio], atol=1e-10)
    # Higher values are more likely positive, and p is the logistic function of the gain.
    order = np.argsort(values[6:], axis=0)
    assert (np.diff(np.take_along_axis(p, order, axis=0), axis=0) >= -1e-12).all()
    inner = (p[:, 0] > 1e-8) & (p[:, 0] < 1 - 1e-8)
    f = values[6:][inner, 0]
    gain = (np.maximum(1 + f, 0) ** 2 - np.maximum(1 - f, 0) ** 2) / temperature
    logit = np.log(p[inner, 0]) - np.log1p(-p[inner, 0])
    if inner.any():
        assert np.ptp(logit - gain) < 1e-5 * (1 + np.abs(gain).max())


def test_cold_probabilities_are_labels_by_rank():
    X, sides = clusters(n=26)
    problem = make_problem(X, sides, ratio=0.3)
    values = np.random.default_rng(0).normal(size=(26, 1))
    p = probabilities(problem, values, 1e-5)
    np.testing.assert_allclose(p, (_labels_by_rank(problem, values) + 1) / 2, atol=1e-8)
    free = replace(problem, positive_ratio=None)
    np.testing.assert_allclose(probabilities(free, values, 1e-5), values[6:] > 0, atol=1e-8)
    hot = probabilities(problem, values, 1e8)
    np.testing.assert_allclose(hot, 0.3, atol=1e-6)


@pytest.mark.parametrize("ratio", [None, 0.3])
@pytest.mark.parametrize("temperature", [10.0, 0.5, 0.05])
def test_free_energy_is_the_least_over_all_probabilities(temperature, ratio):
    rng = np.random.default_rng(0)
    f, columns = rng.normal(size=(20, 2)), np.array([2, 0])
    weights = rng.exponential(size=(20, 3))
    energy = FreeEnergy(temperature, weights, None if ratio is None else np.full(3, ratio))
    found = (weights[:, columns] * energy(f, columns)[0]).sum(axis=0)
    even = 0.5 if ratio is None else ratio
    most = -even * np.log(even) - (1 - even) * np.log(1 - even)
    for k in range(2):
        v = weights[:, columns[k]]

        def at(p, k=k, v=v):
            hinge = p * np.maximum(1 - f[:, k], 0) ** 2 + (1 - p) * np.maximum(1 + f[:, k], 0) ** 2
            entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
            return v @ (hinge - temperature * (entropy - most))

        share = {"type": "eq", "fun": lambda p, v=v: v @ p / v.sum() - ratio}
        least = minimize(
            at, np.full(20, even), bounds=[(1e-9, 1 - 1e-9)] * 20,
            constraints=() if ratio is None else share, method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )  # fmt: skip
        assert found[k] == pytest.approx(least.fun, rel=1e-5, abs=1e-5)
        assert found[k] > 0.0


@pytest.mark.parametrize("ratio", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("temperature", [10.0, 0.5, 0.05])
@pytest.mark.parametrize("share", [1.0, np.nextafter(1.0, 0.0)])
def test_derivative_of_the_free_energy_as_annealing_has_it(temperature, ratio, share):
    rng = np.random.default_rng(0)
    X, sides = clusters(n=26)
    problem = make_problem(X, sides, ratio=ratio, columns=3)
    weights = rng.exponential(size=(20, 3))
    weights[:4] = 0.0
    problem = replace(
        problem,
        disturbance=rng.exponential(size=(26, 3)),
        unlabelled_weights=weights / weights.sum(axis=0),
    )
    energy = FreeEnergy(temperature, problem.weights(share)[1], problem.positive_ratio)
    loss = problem.row_loss(SquaredHinge(), energy, share)
    f, columns = rng.normal(size=(26, 2)), np.array([2, 0])
    _, slope = loss(f, columns)
    for row in range(26):  # a share of labels ties the rows together
        step = np.where(np.arange(26) == row, 1e-5, 0.0)[:, None]
        change = (loss(f + step, columns)[0] - loss(f - step, columns)[0]) / 2e-5
        np.testing.assert_allclose(slope[row], change, atol=1e-7)


def test_rows_in_a_tie_do_not_hold_up_the_search_for_their_probability(monkeypatch):
    # Three quarters of the rows share a value, and half of all are to be positive.
    f = np.repeat([[5.0, 1.0], [-1.0, 2.0]], [30, 10], axis=0)
    calls = []
    monkeypatch.setattr(
        "lapwing.solvers.free_energy.expit", lambda x: calls.append(1) or 1 / (1 + np.exp(-x))
    )
    energy = FreeEnergy(1e-4, np.full((40, 2), 1 / 40), np.full(2, 0.5))
    with np.errstate(over="ignore"):
        p = energy.probabilities(f)
    np.testing.assert_allclose(p.mean(axis=0), 0.5, atol=1e-9)
    assert len(calls) < 70


def test_annealing_finds_what_probabilities_and_functions_in_turn_find():
    X, sides = clusters(n=40, gap=1.0)
    problem = make_problem(X, sides, ratio=0.5)
    stages = list(METHODS["annealing"](problem))
    f = stages[0].minimum.values[:, 0]
    for i, stage in enumerate(stages[1:9]):
        temperature = 10.0 / 1.5**i
        assert stage.name == f"temperature {temperature:.3g}"
        for _ in range(400):  # the two steps of the source
            before = f
            p = probabilities(problem, f[:, None], temperature)[:, 0]
            doubled = np.vstack([X[:6], X[6:], X[6:]])
            y = np.concatenate([sides[:6], np.ones(34), -np.ones(34)])
            weights = np.concatenate([np.full(6, 1 / 6), 0.5 * p / 34, 0.5 * (1 - p) / 34])
            _, w = fit_squared_hinge(doubled, y, weights)
            f = X @ w[:2] + w[2]
            if np.abs(f - before).max() < 1e-10:
                break
        np.testing.assert_allclose(stage.minimum.values[:, 0], f, atol=1e-5)


@pytest.mark.parametrize("method", ["cccp", "label-switching"])
def test_settled_columns_rest(method, monkeypatch):
    X, sides = clusters(n=60, gap=0.5, seed=3)
    hold = method == "cccp"
    # The second column hears nothing of unlabelled rows, so that their labels settle at once.
    problem = make_problem(
        X, sides, ratio=[0.5, 0.5], columns=2, hold=hold, reg_unlabeled=np.array([2.0, 1e-12])
    )
    moved = []

    def watched(space, loss, reg, start, **options):
        moved.append(len(reg))
        return lbfgs(space, loss, reg, start, **options)

    monkeypatch.setattr("lapwing.solvers.s3vm.lbfgs", watched)
    stages = list(METHODS[method](problem))
    assert moved[0] == 2
    assert 1 in moved
    assert stages[-1].settled.all()
    alone = make_problem(X, sides, ratio=0.5, hold=hold, reg_unlabeled=np.array([2.0]))
    own = list(METHODS[method](alone))[-1].minimum
    np.testing.assert_allclose(stages[-1].minimum.values[:, [0]], own.values, atol=1e-6)


def test_annealing_ends_with_decided_labels():
    X, sides = clusters(gap=1.0)
    problem = make_problem(X, sides, ratio=0.5)
    stages = list(METHODS["annealing"](problem))
    f, norm = functions(problem, stages[-1])
    labels = _labels_by_rank(problem, stages[-1].minimum.values)[:, 0]
    hard = np.maximum(1 - labels * f[6:, 0], 0) ** 2
    labelled = np.maximum(1 - sides[:6] * f[:6, 0], 0) ** 2
    objective = labelled.mean() + 0.5 * hard.mean() + 0.05 * norm[0]
    assert stages[-1].minimum.objective[0] == pytest.approx(objective, rel=1e-5)
    temperatures = [float(stage.name.split()[-1]) for stage in stages[1:]]
    assert (np.diff(temperatures) < 0).all()


# ---------------------------------------------------------------- brute force


def fit_squared_hinge(X, y, weights, reg=0.05):
    """Optimum and minimiser of Σ weights·max(1 − y(w·x + b), 0)² + reg‖w‖² by Newton's method."""
    A = np.column_stack([X, np.ones(len(X))])
    R = np.diag([reg, reg, 0.0])
    z = np.zeros(3)

    def objective(z):
        return weights @ np.maximum(1 - y * (A @ z), 0) ** 2 + z @ R @ z

    for _ in range(100):
        over = np.maximum(1 - y * (A @ z), 0)
        active = A * (over > 0)[:, None]
        g = -2 * A.T @ (weights * y * over) + 2 * R @ z
        H = 2 * active.T @ (weights[:, None] * active) + 2 * R + 1e-12 * np.eye(3)
        step = np.linalg.solve(H, g)
        t = 1.0
        while objective(z - t * step) > objective(z) - 1e-4 * t * (g @ step) and t > 1e-10:
            t /= 2
        z = z - t * step
        if np.abs(g).max() < 1e-11:
            break
    return objective(z), z


@dataclass
class Tiny:
    """Four labelled and eight unlabelled rows in the plane, half of the latter positive."""

    gap: float
    seed: int

    def __post_init__(self):
        self.X, self.sides = clusters(n=12, n_labelled=4, gap=self.gap, seed=self.seed)
        self.sides[4:] = np.where(np.arange(8) % 2, 1.0, -1.0)
        noise = np.random.default_rng(self.seed).normal(size=(12, 2))
        self.X = 0.5 * noise + self.gap * self.sides[:, None] * [1.0, 0.3]

    def problem(self):
        return make_problem(self.X, self.sides, 4, ratio=0.5)

    def optimum(self):
        weights = np.append(np.full(4, 1 / 4), np.full(8, 0.5 / 8))
        best = np.inf
        for positive in itertools.combinations(range(8), 4):
            labels = np.full(8, -1.0)
            labels[list(positive)] = 1.0
            y = np.append(self.sides[:4], labels)
            best = min(best, fit_squared_hinge(self.X, y, weights)[0])
        return best


@pytest.mark.parametrize("method", ["label-switching", "annealing"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gap", [0.3, 2.0])
def test_no_labelling_is_better_than_the_best_of_all(method, seed, gap):
    tiny = Tiny(gap, seed)
    best = tiny.optimum()
    found = list(METHODS[method](tiny.problem()))[-1].minimum
    assert found.objective[0] >= best * (1 - 1e-6)
    if gap == 2.0:
        assert found.objective[0] == pytest.approx(best, rel=1e-5)
        np.testing.assert_array_equal(np.sign(found.values[:, 0]), tiny.sides)


@pytest.mark.parametrize("kind", ["tangent", "hard"])
def test_losses_of_unlabelled_rows_against_finite_differences(kind):
    rng = np.random.default_rng(0)
    f, columns = rng.normal(size=(20, 2)), np.array([2, 0])
    loss = {
        "tangent": with_targets(TwoSidedHinge(GAMMA), np.sign(rng.normal(size=(20, 3)))),
        "hard": with_targets(SquaredHinge(), np.sign(rng.normal(size=(20, 3)))),
    }[kind]
    step = 1e-6
    change = (loss(f + step, columns)[0] - loss(f - step, columns)[0]) / (2 * step)
    np.testing.assert_allclose(loss(f, columns)[1], change, atol=1e-6)


# ---------------------------------------------------------------- labels of each column


@every_method
@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_columns_with_labels_of_their_own_are_separate_problems(method, kind):
    """A row with a label in one column is an unlabelled row of another one."""
    X, sides = clusters(n=40, n_labelled=8, gap=1.5, seed=3)
    labels = [np.arange(8), np.arange(6), np.array([0, 1, 5, 6, 7])]
    ratio, reg, c = np.array([0.5, 0.4, 0.6]), np.array([0.05, 0.1, 0.02]), len(labels)
    space = LinearSpace(X) if kind == "linear" else KernelSpace(DenseOperator(gaussian(X, X)))

    def problem(columns):
        weights = np.zeros((8, len(columns)))
        for j, column in enumerate(columns):
            weights[labels[column], j] = 1.0 / len(labels[column])
        unlabelled = np.ones((40, len(columns)))
        unlabelled[:8] = weights == 0.0
        unlabelled /= unlabelled.sum(axis=0)
        return MarginProblem(
            space=AffineSpace(space, unlabelled, 2.0 * ratio[columns] - 1.0),
            labelled=np.arange(8),
            unlabelled=np.arange(40),
            targets=np.repeat(sides[:8, None], len(columns), axis=1),
            labelled_weights=weights,
            unlabelled_weights=unlabelled,
            reg=reg[columns],
            reg_unlabeled=np.full(len(columns), 0.5),
            positive_ratio=ratio[columns],
        )

    *_, together = METHODS[method](problem(np.arange(c)))
    for j, own in enumerate(labels):
        others = np.setdiff1d(np.arange(40), own)
        balance = np.zeros(40)
        balance[others] = 1.0 / len(others)
        alone = MarginProblem(  # only rows that count in this column are listed
            space=AffineSpace(space, balance, 2.0 * ratio[[j]] - 1.0),
            labelled=own,
            unlabelled=others,
            targets=sides[own, None],
            labelled_weights=np.full((len(own), 1), 1.0 / len(own)),
            unlabelled_weights=np.full((len(others), 1), 1.0 / len(others)),
            reg=reg[[j]],
            reg_unlabeled=np.array([0.5]),
            positive_ratio=ratio[[j]],
        )
        *_, single = METHODS[method](alone)
        np.testing.assert_allclose(
            together.minimum.values[:, j], single.minimum.values[:, 0], atol=1e-5
        )
        # A block is cooled until all its columns are cold, up to the entropy that counts as none.
        rtol = 1e-6 if method == "annealing" else 1e-8
        np.testing.assert_allclose(
            together.minimum.objective[j], single.minimum.objective[0], rtol=rtol
        )
        mean = together.minimum.values[others, j].mean()
        assert mean == pytest.approx(2.0 * ratio[j] - 1.0, abs=1e-10)
