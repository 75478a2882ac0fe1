"""The path is the optimum at every λ: by its duality gap, by libsvm, by an interior-point solver.

libsvm keeps the kernel in single precision: it is compared on kernels of few binary digits, which
it holds as they are. Its optimum is taken from the dual objective, which is smooth: what its
multipliers are off by the objective feels squared. By duality primal and dual have one optimum.
"""

import warnings
from dataclasses import dataclass

import clarabel
import numpy as np
import pytest
import sklearn
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from helpers import reference
from lapwing.solvers.path import _FLOOR, _HingePath, hinge_path
from lapwing.solvers.tracer import LeastNorm

RELATIVE = 1e-8
EPS = np.finfo(float).eps
KINDS = ["gaussian", "low rank", "copies", "same classes", "grid", "constant"]
N_LAMBDAS = 50


@dataclass
class Problem:
    """min Σ w·max(1 − yf, 0) + (λ/2)(cᵀGc + σb²) with f = Gc + t·b, and its dual."""

    G: np.ndarray
    y: np.ndarray
    w: np.ndarray
    t: np.ndarray | None
    sigma: float

    @property
    def size(self):
        """The largest part that λf can have, whatever the multipliers."""
        return float((np.abs(self.G) @ self.w).max())

    def path(self, ratio=1e-4):
        return hinge_path(self.G, self.y, self.w, self.t, self.sigma, ratio=ratio)

    def values(self, lam, a, beta):
        """Return f at k values of λ, shape (k, l)."""
        f = (a * self.y) @ self.G
        if self.t is not None:
            f = f + beta[:, None] * self.t
        return f / lam[:, None]

    def primal(self, lam, a, beta):
        loss = np.maximum(1.0 - self.y * self.values(lam, a, beta), 0.0) @ self.w
        norm = np.einsum("ki,ij,kj->k", a * self.y, self.G, a * self.y, optimize=True) / lam**2
        if self.t is not None:
            norm = norm + self.sigma * (beta / lam) ** 2
        return loss + lam / 2.0 * norm

    def dual(self, lam, a):
        """Return the dual objective, whose maximum is the minimum of the primal one."""
        quadratic = np.einsum("ki,ij,kj->k", a * self.y, self.G, a * self.y, optimize=True)
        if self.t is not None and self.sigma > 0:
            quadratic = quadratic + (a @ (self.y * self.t)) ** 2 / self.sigma
        return a.sum(axis=1) - quadratic / (2.0 * lam)

    def rounding(self, lam):
        """What rounding adds to the objective.

        λf is a sum of numbers up to `size`, so it is known to a few ε·size, whatever the solver
        does; f and the losses therefore to ε·size/λ. (`_FLOOR` ends the path where that is 1e-8.)
        With a penalised intercept β counts as well.
        """
        size = self.size
        if self.t is not None and self.sigma > 0:
            size += float(np.abs(self.t).max() * (np.abs(self.t) @ self.w)) / self.sigma
        return 20.0 * EPS * size / lam * self.w.sum()


@st.composite
def problems(draw, sizes=(2, 3, 4, 5, 6, 8, 12, 16), intercepts=("free", "none", "penalised")):
    kind = draw(st.sampled_from(KINDS))
    l = draw(st.sampled_from(sizes))
    share = draw(st.sampled_from(["balanced", 0.3, 0.1]))
    weights = draw(st.sampled_from(["one", "one", "few values", "any"]))
    intercept = draw(st.sampled_from(intercepts))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    event(kind)
    event(f"intercept {intercept}")
    event(f"share {share}, weights {weights}")
    return make_problem(rng, kind, l, share, weights, intercept)


def make_problem(rng, kind, l, share, weights, intercept):
    X = rng.normal(size=(l, int(rng.integers(1, 4))))
    if kind == "copies":
        X = X[rng.integers(0, max(1, l // 3), l)]
    elif kind == "grid":
        X = np.round(X)
    elif kind == "same classes":
        X[1::2] = X[: 2 * (l // 2) : 2]
    y = np.where(np.arange(l) % 2, -1.0, 1.0)
    if share != "balanced":
        y = np.where(rng.random(l) < share, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    if kind in ("low rank", "grid"):
        G = X @ X.T
    elif kind == "constant":
        G = np.ones((l, l))
    else:
        G = np.exp(-rng.choice([0.1, 1.0, 10.0]) * ((X[:, None] - X) ** 2).sum(axis=2))
    G = G * 10.0 ** rng.integers(-3, 4)
    w = {
        "one": np.ones(l), "few values": rng.choice([0.5, 1.0, 2.0], l),
        "any": rng.uniform(0.1, 3.0, l),
    }[weights]  # fmt: skip
    if intercept == "none":
        return Problem(G, y, w, None, 0.0)
    if intercept == "penalised":
        return Problem(G, y, w, rng.normal(1.0, 0.3, l), 10.0 ** rng.integers(-3, 3))
    return Problem(G, y, w, np.ones(l), 0.0)


def some_lambdas(path, k=N_LAMBDAS, seed=0):
    """Return k values of λ from the end of the path to above its start."""
    low = path.lambdas[-1] if len(path.lambdas) > 1 else 1e-4 * path.lambdas[0]
    ends = np.log([low, 10.0 * path.lambdas[0]])
    return np.exp(np.random.default_rng(seed).uniform(*ends, k))


def assert_optimal(problem, path, lam, relative=RELATIVE):
    """The multipliers are feasible and their duality gap is nothing but rounding."""
    a, beta = path.at(lam)
    assert (a >= 0).all()
    assert (a <= problem.w * (1 + 4 * EPS)).all()
    primal = problem.primal(lam, a, beta)
    gap = primal - problem.dual(lam, a)
    if problem.t is not None and problem.sigma == 0:
        # By as much as a is infeasible the dual may be above the optimum.
        gap = np.abs(gap) + np.abs(beta / lam * (a @ problem.y))
        assert (np.abs(a @ problem.y) <= 1e-11 * problem.w.sum()).all()
    assert (gap <= relative * primal + problem.rounding(lam)).all(), (
        f"gap of {np.max(gap / primal):.2g} at λ = {lam[np.argmax(gap / primal)]:.4g}"
    )


def optimum(problem, lam):
    """Optimal objective by an interior-point solver, in the variables (z, b, ξ) with h = Rz."""
    R = reference.root(problem.G)
    l, m = R.shape
    k = m if problem.t is None else m + 1
    H = R if problem.t is None else np.column_stack([R, problem.t])
    P = np.zeros((k + l, k + l))
    P[:m, :m] = lam * np.eye(m)
    if problem.t is not None:
        P[m, m] = lam * problem.sigma
    margins = np.hstack([-problem.y[:, None] * H, -np.eye(l)])
    A = np.vstack([margins, np.hstack([np.zeros((l, k)), -np.eye(l)])])
    right = np.append(-np.ones(l), np.zeros(l))
    u = reference.quadratic_program(
        P, np.append(np.zeros(k), problem.w), A, right, [clarabel.NonnegativeConeT(2 * l)]
    )
    loss = np.maximum(1.0 - problem.y * (H @ u[:k]), 0.0) @ problem.w
    return loss + u[:k] @ P[:k, :k] @ u[:k] / 2.0


def in_few_digits(problem):
    """Return the problem with a kernel near the given one that single precision holds."""
    scale = max(float(problem.G.max()), 1e-300)
    Z = np.round(64.0 * reference.root(problem.G / scale)) / 64.0
    G = Z @ Z.T * 2.0 ** np.round(np.log2(scale))
    assert (G.astype(np.float32) == G).all()
    return Problem(G, problem.y, problem.w, problem.t, problem.sigma)


def svc_objectives(problem, lambdas, steps):
    """Return optimal objectives by libsvm, see the module, and whether it found each of them."""
    found, done = [], []
    for lam in lambdas:
        model = SVC(kernel="precomputed", C=1.0 / lam, tol=1e-9, max_iter=steps, cache_size=20)
        with (
            sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(problem.G, problem.y, sample_weight=problem.w)
        a = np.zeros((1, len(problem.y)))
        a[0, model.support_] = lam * np.abs(model.dual_coef_[0])
        found.append(float(problem.dual(np.array([lam]), a)[0]))
        done.append(model.n_iter_[0] < steps)
    return np.array(found), np.array(done)


def assert_objective_of_svc(problem, path, lam, steps=20_000):
    found = problem.primal(lam, *path.at(lam))
    expected, done = svc_objectives(problem, lam, steps)
    np.testing.assert_allclose(found[done], expected[done], rtol=RELATIVE)
    # Where it was cut short: a lower bound still.
    assert (found >= (1.0 - RELATIVE) * expected).all()
    return np.abs(found - expected) <= RELATIVE * found


# ---------------------------------------------------------------- the optimum at every λ


@settings(max_examples=300)
@given(problems(sizes=(2, 3, 4, 5, 8, 13, 20, 40, 80)), st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_duality_gap_is_rounding_everywhere(problem, ratio):
    path = problem.path(ratio)
    assert path.complete
    assert_optimal(problem, path, some_lambdas(path))
    # No piece is too short to be looked at.
    assert_optimal(problem, path, path.lambdas)
    assert_optimal(problem, path, np.sqrt(path.lambdas[1:] * path.lambdas[:-1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("l", "share", "weights", "intercept"),
    [
        (150, 0.3, "any", "free"),
        (200, "balanced", "one", "none"),
        (300, "balanced", "one", "free"),
        (300, 0.1, "few values", "penalised"),
    ],
)
def test_duality_gap_is_rounding_for_many_rows(kind, l, share, weights, intercept):
    problem = make_problem(np.random.default_rng(l), kind, l, share, weights, intercept)
    path = problem.path()
    assert path.complete
    assert_optimal(problem, path, np.concatenate([some_lambdas(path), path.lambdas]))


def test_elbow_with_more_rows_than_are_solved_afresh():
    # A narrow Gaussian kernel puts most rows on the elbow, which then is kept as an inverse.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    G = np.exp(-2.0 * ((X[:, None] - X) ** 2).sum(axis=2))
    problem = Problem(G, np.sign(X[:, 0] + rng.normal(size=300)), np.ones(300), np.ones(300), 0.0)
    path = problem.path()
    assert path.elbows.max() > 120
    assert_optimal(problem, path, np.concatenate([some_lambdas(path), path.lambdas]))


def test_objective_is_that_of_svc():
    equal = []

    @settings(max_examples=100)
    @given(problems(intercepts=["free"]))
    def compare(problem):
        problem = in_few_digits(problem)
        path = problem.path(1e-2)
        equal.append(assert_objective_of_svc(problem, path, some_lambdas(path)))

    compare()
    assert len(equal) >= 100
    # Nearly all say something: libsvm was not cut short. How many depends on the examples, and
    # those of Hypothesis depend on which modules the process has imported.
    assert np.mean(equal) > 0.95


@pytest.mark.parametrize(
    ("kind", "l", "share", "weights"),
    [
        ("gaussian", 100, 0.3, "one"),
        ("copies", 200, "balanced", "one"),
        ("same classes", 100, 0.3, "few values"),
        ("gaussian", 300, "balanced", "any"),
    ],
)
def test_objective_is_that_of_svc_for_many_rows(kind, l, share, weights):
    rng = np.random.default_rng(1)
    problem = in_few_digits(make_problem(rng, kind, l, share, weights, "free"))
    path = problem.path()
    lam = path.lambdas[0] * np.array([0.9, 0.5, 0.1, 0.03])
    assert assert_objective_of_svc(problem, path, lam, steps=50_000).all()


@settings(max_examples=25)
@given(problems(intercepts=["none", "penalised"]))
def test_objective_is_that_of_a_convex_solver_where_svc_has_no_such_intercept(problem):
    path = problem.path(1e-2)
    unit = float(np.diag(problem.G).mean())  # the other solver likes numbers near one
    same = Problem(problem.G / unit, problem.y, problem.w, problem.t, problem.sigma * unit)
    lam = path.lambdas[0] * np.array([2.0, 0.7, 0.05])
    found = problem.primal(lam, *path.at(lam))
    expected = [optimum(same, each / unit) for each in lam]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# ---------------------------------------------------------------- breakpoints and pieces


@settings(max_examples=100)
@given(problems(sizes=(2, 3, 5, 8, 13, 20, 40)))
def test_optimality_conditions_hold_at_every_breakpoint(problem):
    path = problem.path()
    lam, a, beta = path.lambdas, path.multipliers, path.offsets
    assert (np.diff(lam) < 0).all()
    q = np.zeros(len(problem.y)) if problem.t is None else problem.y * problem.t
    g = (a * problem.y) @ problem.G * problem.y + beta[:, None] * q - lam[:, None]
    size = problem.rounding(1.0) / problem.w.sum()
    off = 1e-9 * lam[:, None] + 10.0 * size
    low, high = a == 0, a == problem.w
    assert (g >= -off)[low].all()
    assert (g <= off)[high].all()
    assert (np.abs(g) <= off)[~low & ~high].all()
    balance = a @ q - problem.sigma * beta
    assert (np.abs(balance) <= 1e-11 * (np.abs(a) @ np.abs(q))).all()


@settings(max_examples=50)
@given(problems())
def test_path_is_linear_between_breakpoints_and_continuous(problem):
    path = problem.path()
    a, beta = path.at(path.lambdas)
    np.testing.assert_allclose(a, path.multipliers, atol=1e-14)
    np.testing.assert_allclose(beta, path.offsets, rtol=1e-14)
    scale = np.abs(path.offsets).max() + path.lambdas[0]
    for high, low in zip(path.lambdas[:-1], path.lambdas[1:], strict=True):
        (top, *inner, bottom), betas = path.at(np.linspace(high, low, 6))
        for share, each in zip((0.2, 0.4, 0.6, 0.8), inner, strict=True):
            np.testing.assert_allclose(each, (1 - share) * top + share * bottom, atol=1e-9)
        np.testing.assert_allclose(np.diff(betas, 2), 0.0, atol=1e-9 * scale)
        # Just above and below: as near as this piece and the next are steep.
        for place in (high, low):
            step = 1e-6 * min(high - low, *np.abs(np.diff(path.lambdas)))
            (over, under), (beta_over, beta_under) = path.at([place + step, place - step])
            np.testing.assert_allclose(over, under, atol=1e-5)
            np.testing.assert_allclose(beta_over, beta_under, atol=1e-5 * scale)


@given(problems())
def test_above_the_first_breakpoint_only_the_intercept_moves(problem):
    path = problem.path()
    first = path.lambdas[0]
    a, beta = path.at(np.array([first, 3.0 * first, 1e6 * first]))
    for each in a:
        np.testing.assert_array_equal(each, path.multipliers[0])
    scale = np.abs(beta).max()
    assert beta[1] == pytest.approx(beta[0] + 2.0 * first * path.slope, abs=1e-12 * scale)
    assert beta[2] == pytest.approx(beta[0] + (1e6 - 1.0) * first * path.slope, abs=1e-12 * scale)


@settings(max_examples=30)
@given(problems())
def test_short_path_is_the_beginning_of_a_long_one(problem):
    short, long = problem.path(1e-1), problem.path(1e-4)
    lam = np.geomspace(short.lambdas[-1], 2 * short.lambdas[0], 20)
    found, expected = (problem.primal(lam, *path.at(lam)) for path in (short, long))
    np.testing.assert_allclose(found, expected, rtol=RELATIVE)
    if len(short.lambdas) > 1:
        # The first breakpoint, unless it is that of a weakly penalised intercept alone.
        first = min(short.lambdas[0], 2.0 * float((np.abs(problem.G) @ problem.w).max()))
        assert short.lambdas[-1] == pytest.approx(0.1 * first)
        assert long.lambdas[-1] <= max(1e-4 * long.lambdas[0], _FLOOR * long_size(problem))


def long_size(problem):
    """Return what `_FLOOR` is a share of, at most."""
    return problem.rounding(1.0) / (20.0 * EPS * problem.w.sum()) * (1 + 1e-9)


def test_below_the_end_the_values_of_the_end_are_given():
    path = make_problem(np.random.default_rng(0), "gaussian", 8, 0.3, "one", "free").path()
    a, beta = path.at(path.lambdas[-1] / 7)
    assert a.shape == (1, 8)
    np.testing.assert_array_equal(a[0], path.multipliers[-1])
    assert beta[0] == path.offsets[-1]


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_units_of_the_kernel_and_the_weights_do_not_matter(scale, intercept):
    rng = np.random.default_rng(3)
    problem = make_problem(rng, "gaussian", 15, 0.3, "any", intercept)
    path = problem.path()
    kernel = Problem(scale * problem.G, problem.y, problem.w, problem.t, 0.0).path()
    weights = Problem(problem.G, problem.y, scale * problem.w, problem.t, 0.0).path()
    np.testing.assert_allclose(kernel.lambdas, scale * path.lambdas, rtol=1e-7)
    np.testing.assert_allclose(kernel.multipliers, path.multipliers, atol=1e-7)
    np.testing.assert_allclose(weights.lambdas, scale * path.lambdas, rtol=1e-7)
    np.testing.assert_allclose(weights.multipliers, scale * path.multipliers, atol=1e-7 * scale)


# ---------------------------------------------------------------- by hand


def points(X, y, weights=None):
    """Return the problem of the linear kernel with a free intercept."""
    X, y = np.asarray(X, dtype=float).reshape(len(y), -1), np.asarray(y, dtype=float)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    return Problem(X @ X.T, y, w, np.ones(len(y)), 0.0)


@pytest.mark.parametrize(("same", "other", "between"), [(1.0, 1.0, 0.2), (3.0, 1.0, -0.5)])
def test_two_points(same, other, between):
    G = np.array([[same, between], [between, other]])
    problem = Problem(G, np.array([1.0, -1.0]), np.ones(2), np.ones(2), 0.0)
    path = problem.path()
    # Wang et al. (2006), eq. (16) and (17), with (α⁰)ᵀPᵀk(x) = k(x, x₊) − k(x, x₋).
    plus, minus = same - between, between - other
    lam = (plus - minus) / 2.0
    assert path.lambdas[0] == pytest.approx(lam, rel=1e-14)
    assert path.offsets[0] / lam == pytest.approx(-(plus + minus) / (plus - minus), rel=1e-13)
    # Below, both stay on the elbow: f does not change and the multipliers are λ/λ⁰.
    assert len(path.lambdas) == 2
    below = lam * np.array([1.0, 0.5, 1e-3])
    a, beta = path.at(below)
    np.testing.assert_allclose(a, np.outer(below / lam, [1.0, 1.0]), rtol=1e-12)
    np.testing.assert_allclose(problem.values(below, a, beta), [[1.0, -1.0]] * 3, rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 10))
def test_balanced_start(seed, pairs):
    # Lemma 1 and eq. (14) to (17).
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * pairs, 2))
    G = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    y = rng.permutation(np.repeat([1.0, -1.0], pairs))
    problem = Problem(G, y, np.ones(2 * pairs), np.ones(2 * pairs), 0.0)
    path = problem.path()
    reach = G @ y
    plus, minus = reach[y > 0].max(), reach[y < 0].min()
    assert path.lambdas[0] == pytest.approx((plus - minus) / 2.0, rel=1e-12)
    assert path.offsets[0] / path.lambdas[0] == pytest.approx(
        -(plus + minus) / (plus - minus), rel=1e-10, abs=1e-12
    )
    above = path.lambdas[0] * np.array([1.0, 1.001, 10.0, 1e9])
    a, beta = path.at(above)
    np.testing.assert_array_equal(a, 1.0)
    assert (y * problem.values(above, a, beta) <= 1.0 + 1e-12).all()
    assert abs(beta[-1] / above[-1]) <= 1.0
    loss = np.maximum(1.0 - y * problem.values(above, a, beta), 0.0).sum(axis=1)
    norm = np.array([y @ G @ y / each for each in above])
    np.testing.assert_allclose(loss, 2 * pairs - norm, atol=1e-12 * pairs)


def least_norm(problem):
    """Return the optimum of Lemma 2 by an interior-point solver: aᵀQa and a."""
    y, w, l = problem.y, problem.w, len(problem.y)
    few = 1.0 if w[y > 0].sum() < w[y < 0].sum() else -1.0
    Q = y[:, None] * problem.G * y
    fixed = np.eye(l)[y == few]
    A = np.vstack([fixed, (y != few)[None].astype(float), -np.eye(l), np.eye(l)])
    right = np.concatenate([w[y == few], [w[y == few].sum()], np.zeros(l), w])
    cones = [clarabel.ZeroConeT(len(fixed) + 1), clarabel.NonnegativeConeT(2 * l)]
    a = reference.quadratic_program(2.0 * Q, np.zeros(l), A, right, cones)
    return a @ Q @ a, a


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 12), st.booleans(), st.booleans())
def test_unbalanced_start(seed, few, more, weighted, positive):
    # Lemma 2; an independent solver finds the multipliers, by which no others have this norm.
    rng = np.random.default_rng(seed)
    l = 2 * few + more
    X = rng.normal(size=(l, 3))
    G = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    y = np.where(np.arange(l) < few, -1.0, 1.0) * (1.0 if positive else -1.0)
    w = np.where(np.arange(l) < few, rng.uniform(0.2, 1.0, l), rng.uniform(1.0, 2.0, l))
    problem = Problem(G, y, w if weighted else np.ones(l), np.ones(l), 0.0)
    path = problem.path()
    best, expected = least_norm(problem)
    a = path.multipliers[0]
    assert (a * y) @ G @ (a * y) == pytest.approx(best, rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(a, expected, atol=1e-4)
    # The intercept tends to the sign of the majority.
    far = 1e8 * path.lambdas[0]
    assert path.at(far)[1][0] / far == pytest.approx(1.0 if positive else -1.0, abs=1e-6)


def test_unbalanced_start_with_multipliers_inside():
    # Lemma 2, case 1. Positive rows at 1 and 3 hold the mean 2 of the negative one at 2.
    problem = points([1.0, 3.0, 2.0], [1, 1, -1])
    path = problem.path()
    np.testing.assert_allclose(path.multipliers[0], [0.5, 0.5, 1.0], atol=1e-12)
    assert len(path.lambdas) == 1  # no line separates them better than the constant 1
    assert_optimal(problem, path, some_lambdas(path))


def test_unbalanced_start_with_all_multipliers_at_bounds():
    # Lemma 2, case 2. The positive row at 1 is nearest to the negative one at 0: it has all.
    problem = points([1.0, 5.0, 0.0], [1, 1, -1])
    path = problem.path()
    np.testing.assert_allclose(path.multipliers[0], [1.0, 0.0, 1.0], atol=1e-12)
    # λw = 1·1, and eq. (16): λ⁰ = (1 − 0)/2. The line is 2x − 1.
    assert path.lambdas[0] == pytest.approx(0.5, rel=1e-12)
    assert path.offsets[0] / path.lambdas[0] == pytest.approx(-1.0, rel=1e-12)
    a, beta = path.at(np.array([1e-3]))
    np.testing.assert_allclose(
        problem.values(np.array([1e-3]), a, beta), [[1.0, 9.0, -1.0]], rtol=1e-9
    )
    np.testing.assert_allclose(least_norm(problem)[1], path.multipliers[0], atol=1e-6)


def test_empty_elbow():
    # λw = 2 + 6a with a of the rows at ±3, on the elbow (3w = 1) from λ = 24 to λ = 6. Then all
    # multipliers are at bounds until the rows at ±1 come, at λ = 2.
    problem = points([1.0, 3.0, -1.0, -3.0], [1, 1, -1, -1])
    path = problem.path(1e-3)
    lam = np.array([30.0, 24.0, 15.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.024])
    for each in (24.0, 6.0, 2.0, 0.024):
        assert np.abs(path.lambdas / each - 1.0).min() < 1e-12
    a, beta = path.at(lam)
    inner, outer = np.minimum(lam / 2.0, 1.0), np.clip((lam - 6.0) / 18.0, 0.0, 1.0)
    np.testing.assert_allclose(a, np.column_stack([inner, outer, inner, outer]), atol=1e-12)
    held = (lam > 2) & (lam < 6)  # b may be anything that keeps the rows on their sides
    np.testing.assert_allclose(beta[~held & (lam <= 24)], 0.0, atol=1e-12)
    assert not ((a > 0) & (a < 1))[held].any()
    assert_optimal(problem, path, some_lambdas(path))
    assert_optimal(problem, path, np.linspace(2.0, 6.0, 50))


def test_intercept_follows_a_row_over_an_empty_elbow():
    # As above, but moved: w grows as λ falls, and b has to keep the line where the rows are.
    for shift in (0.3, -40.0, 1000.0):
        problem = points(np.array([1.0, 3.0, -1.0, -3.0]) + shift, [1, 1, -1, -1])
        path = problem.path(1e-2)
        for each in (24.0, 6.0, 2.0, 0.24):
            assert np.abs(path.lambdas / each - 1.0).min() < 1e-6
        assert_optimal(problem, path, some_lambdas(path))
        assert_optimal(problem, path, np.linspace(2.0, 6.0, 50))


def test_events_at_once():
    # The rows at (±3, ±1) reach the elbow together and leave it together: λw = (2 + 12a, 0).
    X = [[3, 1], [3, -1], [1, 0], [-3, 1], [-3, -1], [-1, 0]]
    problem = points(X, [1, 1, 1, -1, -1, -1])
    path = problem.path(1e-3)
    for lam in (42.0, 6.0, 2.0):
        assert np.abs(path.lambdas / lam - 1.0).min() < 1e-12
    lam = np.array([50.0, 42.0, 20.0, 6.0, 3.0, 2.0, 0.1])
    a, beta = path.at(lam)
    outer = np.clip((lam / 3.0 - 2.0) / 6.0, 0.0, 2.0)
    np.testing.assert_allclose(a[:, [0, 1]].sum(axis=1), outer, atol=1e-11)
    np.testing.assert_allclose(a[:, [3, 4]].sum(axis=1), outer, atol=1e-11)
    np.testing.assert_allclose(a[:, 2], np.minimum(lam / 2.0, 1.0), atol=1e-11)
    slope = np.where(lam > 42, 14.0 / lam, np.where(lam > 6, 1 / 3, np.minimum(2 / lam, 1.0)))
    f = problem.values(lam, a, beta)
    np.testing.assert_allclose((f[:, 0] - f[:, 3]) / 6.0, slope, rtol=1e-11)
    np.testing.assert_allclose(f[:, 0], f[:, 1], rtol=1e-11)
    assert_optimal(problem, path, some_lambdas(path))


@pytest.mark.parametrize("side", [4, 6])
@pytest.mark.parametrize("intercept", [True, False])
def test_symmetric_grid(side, intercept):
    # Eight rows at once, at every event.
    place = np.arange(side) - (side - 1) / 2.0
    X = np.array([(i, j) for i in place for j in place])
    G = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    y = np.where((np.abs(X) < 1).all(axis=1), 1.0, -1.0)
    l = len(y)
    problem = Problem(G, y, np.ones(l), np.ones(l) if intercept else None, 0.0)
    path = problem.path()
    lam = np.concatenate([some_lambdas(path), path.lambdas])
    assert_optimal(problem, path, lam)
    # The strictly convex problem has one solution, as symmetric as the rows.
    f = problem.values(lam, *path.at(lam)).reshape(-1, side, side)
    for other in (f[:, ::-1], f[:, :, ::-1], f.transpose(0, 2, 1)):
        np.testing.assert_allclose(f, other, atol=1e-6)


def entries(path, w):
    """Return how often each multiplier leaves a bound."""
    bound = (path.multipliers == 0) | (path.multipliers == w)
    return (bound[:-1] & ~bound[1:]).sum(axis=0)


def test_rows_pass_the_elbow_several_times():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    G = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    problem = Problem(G, y, np.ones(40), np.ones(40), 0.0)
    path = problem.path(1e-5)
    assert entries(path, problem.w).max() >= 3
    assert_optimal(problem, path, np.concatenate([some_lambdas(path), path.lambdas]))


# ---------------------------------------------------------------- nothing ever happens


def constant_problems():
    X = np.random.default_rng(0).normal(size=(5, 2))
    G = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    y = np.repeat([1.0, -1.0], 5)
    weights = np.tile([0.3, 1.0, 2.0, 1.0, 0.7], 2)
    same = np.tile(G, (2, 2))
    yield "identical classes", Problem(same, y, np.ones(10), np.ones(10), 0.0)
    yield "identical classes, weights", Problem(same, y, weights, np.ones(10), 0.0)
    yield "identical classes, no intercept", Problem(same, y, weights, None, 0.0)
    for name, kernel in (("constant", np.ones((10, 10))), ("zero", np.zeros((10, 10)))):
        yield f"{name} kernel, balanced", Problem(kernel, y, np.ones(10), np.ones(10), 0.0)
        one = np.where(np.arange(10) < 3, 1.0, -1.0)
        yield f"{name} kernel, unbalanced", Problem(kernel, one, weights, np.ones(10), 0.0)
        yield f"{name} kernel, no intercept", Problem(kernel, y, np.ones(10), None, 0.0)


@pytest.mark.parametrize(("name", "problem"), list(constant_problems()))
def test_where_nothing_ever_happens_there_is_one_breakpoint(name, problem):
    path = problem.path()
    assert len(path.lambdas) == 1
    assert path.complete
    lam = np.array([1e-6, 1e-2, 1.0, 100.0]) * path.lambdas[0]
    a, beta = path.at(lam)
    f = problem.values(lam, a, beta)
    np.testing.assert_allclose(f, np.broadcast_to(f[:, :1], f.shape), atol=1e-7)
    majority = np.sign(problem.w @ problem.y)
    if abs(problem.w @ problem.y) < 1e-12:
        assert (np.abs(f) <= 1.0 + 1e-9).all()
    else:
        np.testing.assert_allclose(f, majority, atol=1e-7)
    assert_optimal(problem, path, lam[1:])


@pytest.mark.parametrize("intercept", ["free", "none", "penalised"])
def test_one_class(intercept):
    # A fold of a cross-validation may hold one class alone.
    t, sigma = {"free": (np.ones(4), 0.0), "none": (None, 0.0), "penalised": (np.ones(4), 2.0)}[
        intercept
    ]
    problem = Problem(np.eye(4) + 1.0, -np.ones(4), np.ones(4), t, sigma)
    path = problem.path()
    lam = path.lambdas[0] * np.array([0.5, 1.0, 2.0])
    assert_optimal(problem, path, lam)
    if intercept == "free":  # f = −1 costs nothing
        np.testing.assert_allclose(problem.values(lam, *path.at(lam)), -1.0, rtol=1e-9)


def test_zero_kernel_with_a_penalised_intercept():
    y, t, sigma = np.array([1.0, -1.0]), np.array([0.69, 1.17]), 1e-3
    path = hinge_path(np.zeros((2, 2)), y, np.ones(2), t, sigma)
    lambdas = np.geomspace(path.lambdas[-1], 10 * path.lambdas[0], 30)
    for lam, beta in zip(lambdas, path.at(lambdas)[1], strict=True):
        tried = np.linspace(-5.0, 5.0, 200_001)
        f = y[:, None] * t[:, None] * tried
        best = (np.maximum(1.0 - f, 0.0).sum(axis=0) + lam / 2 * sigma * tried**2).min()
        b = beta / lam
        ours = np.maximum(1.0 - y * t * b, 0.0).sum() + lam / 2 * sigma * b**2
        assert ours <= best * (1 + 1e-8)


# ---------------------------------------------------------------- rounding


def test_errors_of_all_rows_are_removed(monkeypatch):
    """The solver is right about the first row at once, and about the second if it is exact."""
    path = _HingePath(np.diag([1.0, 2.0, 4.0]), np.ones(3), None, 0.0)
    path.reach, path.lam, path.elbow = 8.0, 0.5, np.array([0, 1])
    path.a, path.beta = np.array([0.4, 0.1, 1.0]), 0.0
    solve = path.system.solve

    def worn(rows, rhs, *, direct):
        return solve(rows, rhs, direct=direct) * [1.0, 1.0, 1.0 if direct else 0.5]

    monkeypatch.setattr(path.system, "solve", worn)
    path._refresh()
    np.testing.assert_allclose(path.a, [0.5, 0.25, 1.0], rtol=1e-14)


@pytest.mark.parametrize(("distance", "independent"), [(1e-3, True), (1e-11, False), (0.0, False)])
def test_rows_that_are_nearly_equal_are_not_independent(distance, independent):
    Q = np.array([[1.0, 1.0 - distance], [1.0 - distance, 1.0]])
    assert LeastNorm(Q, np.ones(2), np.zeros(2))._independent(np.arange(2)) == independent
