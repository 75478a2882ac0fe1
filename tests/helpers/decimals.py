"""Optima of ill-conditioned problems in arithmetic of 80 digits, and what solvers claim of them.

Doubles are converted without rounding, so that the answer belongs to exactly the matrices that the
solver gets. A quadratic program in double precision guesses the active rows; whether the guess is
right is decided in exact arithmetic, and it is corrected there.
"""

import decimal
from decimal import Decimal

import numpy as np
import scipy.sparse as sp

from lapwing.graphs import KNNGraph
from lapwing.losses import LOSSES
from lapwing.operators.dense import DenseOperator
from lapwing.operators.sparse import PowerOperator, SparseOperator
from lapwing.risk import RegularizedRisk
from lapwing.solvers.box_qp import solve_box_qp
from lapwing.spaces.kernel_space import KernelSpace, LinearSpace

decimal.getcontext().prec = 80
decimal.getcontext().Emax, decimal.getcontext().Emin = 10**6, -(10**6)
convert = np.vectorize(lambda x: Decimal(float(x)), otypes=[object])
ZERO, HALF, ONE = Decimal(0), Decimal("0.5"), Decimal(1)
#: Share of a bound that a guess takes for zero, and violations that are rounding of 80 digits.
TINY, NOTHING = Decimal("1e-9"), Decimal("1e-60")


def solve(A, B):
    """A⁻¹B by elimination with row pivots; singular systems raise ZeroDivisionError."""
    if len(B) == 0:
        return B
    shape, A, B = B.shape, A.copy(), B.reshape(len(B), -1).copy()
    for k in range(len(A)):
        pivot = k + int(np.argmax([abs(x) for x in A[k:, k]]))
        A[[k, pivot]], B[[k, pivot]] = A[[pivot, k]], B[[pivot, k]]
        if A[k, k] == 0:
            raise ZeroDivisionError
        factors = A[k + 1 :, k] / A[k, k]
        A[k + 1 :] = A[k + 1 :] - np.outer(factors, A[k])
        B[k + 1 :] = B[k + 1 :] - np.outer(factors, B[k])
    for k in range(len(A) - 1, -1, -1):
        B[k] = (B[k] - A[k, k + 1 :] @ B[k + 1 :]) / A[k, k]
    return B.reshape(shape)


def is_semi_definite(A):
    """Whether no pivot of a symmetric matrix is negative."""
    A = convert(A)
    nothing = NOTHING * max(abs(x) for x in A.ravel())
    while len(A):
        k = int(np.argmax(np.diag(A)))
        if A[k, k] <= nothing:
            return bool((np.abs(A) <= nothing).all())
        rest = np.arange(len(A)) != k
        A = A[np.ix_(rest, rest)] - np.outer(A[rest, k], A[rest, k]) / A[k, k]
    return True


def made_semi_definite(A):
    """Return a matrix plus the least multiple 2^k·eps of its largest entry that is needed."""
    unit, shift = np.finfo(float).eps * np.abs(A).max(), 0.0
    while not is_semi_definite(A + shift * np.eye(len(A))):
        shift = max(unit, 2.0 * shift)
    return A + shift * np.eye(len(A))


def laplacian_power(smoothness):
    """Lᵖ of the doubles that are stored."""
    base, power = smoothness.as_power()
    L = S = convert(base.matrix.toarray())
    for _ in range(power - 1):
        S = L @ S
    return S


class ExactProblem:
    """One column of a `RegularizedRisk` with the stored doubles as exact numbers."""

    def __init__(self, risk):
        features = risk.space.features
        K = convert(risk.gram.array) if features is None else convert(features)
        K = K if features is None else K @ K.T
        self.n, self.l = len(K), len(risk.labelled)
        self.K, self.loss, self.labelled = K, risk.loss, risk.labelled
        self.S = laplacian_power(risk.smoothness)
        self.y, self.w = convert(risk.targets[:, 0]), convert(risk.weights)
        self.ambient, self.manifold = Decimal(risk.reg_ambient), Decimal(risk.reg_manifold)
        self.intercept = risk.fit_intercept

    def losses(self, f):
        name, y = self.loss.name, self.y
        if name == "squared":
            return (y - f) ** 2
        if name == "epsilon_insensitive":
            epsilon = Decimal(self.loss.epsilon)
            return np.array([max(abs(a - b) - epsilon, ZERO) for a, b in zip(f, y, strict=True)])
        margins = np.array([max(ONE - a * b, ZERO) for a, b in zip(f, y, strict=True)])
        return margins if name == "hinge" else margins**2

    def objective(self, alpha, b):
        h = self.K @ alpha
        f = h + b
        loss = self.w @ self.losses(f[self.labelled])
        return HALF * (loss + self.ambient * (alpha @ h) + self.manifold * (f @ (self.S @ f)))

    def reduced(self):
        """R, t, σ and the columns of (I + μSK)⁻¹[Jᵀ, S1]."""
        mu = self.manifold / self.ambient
        right = convert(np.zeros((self.n, self.l + 1)))
        right[self.labelled, np.arange(self.l)] = ONE
        right[:, self.l] = self.S @ convert(np.ones(self.n))
        columns = solve(mu * (self.S @ self.K) + convert(np.eye(self.n)), right)
        values = self.K @ columns
        t = ONE - mu * (right[:, self.l] @ values[:, : self.l])
        sigma = mu * columns[:, self.l].sum()
        return values[self.labelled, : self.l], t, sigma, columns, mu

    def minimum(self):
        """Least objective, and whether the conditions of optimality hold for it.

        Without them it is the objective of some function, so still an upper bound of the optimum.
        """
        R, t, sigma, columns, mu = self.reduced()
        signs, offsets = _pieces(self.loss, self.y)
        best = None
        for c, b, optimal in self._states(R, t, sigma, signs, offsets):
            value = self.objective(columns @ np.append(c, -mu * b), b)
            best = value if best is None else min(best, value)
            if optimal:
                return value, True
        return best, False

    def _states(self, R, t, sigma, signs, offsets):
        """Yield (c, b, optimal) of sets of active rows, exchanged until they do not change."""
        k, s, m = len(signs), signs.ravel(), offsets.ravel()
        rows, upper = np.tile(np.arange(self.l), k), np.tile(self.w / (2 * self.ambient), k)
        boxed = self.loss.is_sum_of_hinges
        # States of the k·l multipliers: 0 at zero, 1 between, 2 at the upper bound.
        state = np.ones(k * self.l, dtype=int)
        if boxed:
            a, b = self._guess(R, t, sigma, s, m, rows, upper)
            yield self._dual(a, s, rows), b, False
            state = np.where(a <= TINY * upper, 0, np.where(a >= (1 - TINY) * upper, 2, 1))
        seen = set()
        for attempt in range(60):
            if state.tobytes() in seen:
                return
            seen.add(state.tobytes())
            fixed = np.where(state == 2, upper, ZERO)
            try:
                a, b = self._between(R, t, sigma, s, m, rows, state, fixed)
            except ZeroDivisionError:
                return
            f = R @ self._dual(a, s, rows) + (t * b if self.intercept else ZERO)
            new = state.copy()
            if not self.loss.is_quadratic:
                missing = m - s * f[rows]  # what is left to the kink
                new[(state == 1) & (a < 0)] = 0
                new[(state == 1) & (a > upper) & boxed] = 2
                new[
                    ((state == 0) & (missing > NOTHING)) | ((state == 2) & (missing < -NOTHING))
                ] = 1
            optimal = bool((new == state).all())
            clipped = np.minimum(np.maximum(a, ZERO), upper) if boxed else a
            yield self._dual(clipped, s, rows), b, optimal
            if optimal:
                return
            if attempt % 2:  # one exchange at a time ends cycles
                new = np.where(np.arange(len(new)) == (new != state).argmax(), new, state)
            state = new

    def _guess(self, R, t, sigma, s, m, rows, upper):
        """Multipliers and intercept by a quadratic program in double precision."""
        Q = (np.outer(s, s) * R[rows][:, rows]).astype(float)
        q = (s * t[rows]).astype(float) if self.intercept else None
        sigma = max(float(sigma), 0.0)
        a, b = solve_box_qp((Q + Q.T) / 2, m.astype(float), upper.astype(float), q, sigma)
        return convert(a), Decimal(float(b))

    def _dual(self, a, s, rows):
        """Dual coefficients of the labels: c = Σ s·a over the pieces of the loss."""
        return (s * a).reshape(-1, self.l).sum(axis=0)

    def _between(self, R, t, sigma, s, m, rows, state, fixed):
        """Multipliers and intercept, given which multipliers are at which bound."""
        inside, base = np.flatnonzero(state == 1), self._dual(fixed, s, rows)
        k, free = len(inside), int(self.intercept)
        system, right = convert(np.zeros((k + free, k + free))), convert(np.zeros(k + free))
        system[:k, :k] = np.outer(s[inside], s[inside]) * R[rows[inside]][:, rows[inside]]
        right[:k] = m[inside] - s[inside] * (R[rows[inside]] @ base)
        if not self.loss.is_sum_of_hinges:
            system[np.arange(k), np.arange(k)] += self.ambient / self.w[rows[inside]]
        if free:
            system[:k, k] = system[k, :k] = s[inside] * t[rows[inside]]
            system[k, k], right[k] = -sigma, -(t @ base)
        if free and k == 0 and sigma == 0:  # a whole interval of intercepts
            return fixed, _some_intercept(s, m, (R @ base)[rows], t[rows], state)
        found, a = solve(system, right), fixed.copy()
        a[inside] = found[:k]
        return a, found[k] if free else ZERO


def _some_intercept(s, offsets, f, t, state):
    """Return an intercept for which all rows are on their sides of the kinks, if there is one."""
    low, high = [], []
    for i in range(len(s)):  # s(f + tb) ≥ offset at zero, ≤ at the upper bound
        slope, limit = s[i] * t[i], offsets[i] - s[i] * f[i]
        if slope != 0:
            (low if (slope > 0) == (state[i] == 0) else high).append(limit / slope)
    if low and high:
        return (max(low) + min(high)) / 2
    return max(low) if low else min(high) if high else ZERO


def _pieces(loss, y):
    """Signs and offsets of the pieces of a loss: one for each kink, as for sums of hinges."""
    if loss.name == "squared":
        return convert(np.ones((1, len(y)))), y[None, :].copy()
    if loss.name == "epsilon_insensitive":
        epsilon = Decimal(loss.epsilon)
        ones = convert(np.ones(len(y)))
        return np.array([ones, -ones]), np.array([y - epsilon, -y - epsilon])
    return y[None, :].copy(), convert(np.ones((1, len(y))))


def ill_conditioned(seed, loss=None):
    """Return a risk whose numbers differ by many orders of magnitude.

    Its matrices are semi-definite as they are stored: where rounding makes them indefinite there is
    no optimum to compare with.
    """
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 13)), int(rng.integers(1, 4))
    l = int(rng.integers(2, min(n, 7)))
    X = rng.normal(size=(n, d))
    kind = rng.choice(["rbf", "poly", "linear", "constant"], p=[0.6, 0.15, 0.2, 0.05])
    if rng.random() < 0.3:  # duplicates
        X = X[rng.integers(0, max(2, n // 2), n)]
    if rng.random() < 0.2:  # nearly duplicates
        X[: n // 2] = X[-1] + 10.0 ** rng.uniform(-9, -3) * X[: n // 2]
    scale = 10.0 ** rng.uniform(-3, 3)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = {
        "rbf": np.exp(-(10.0 ** rng.uniform(-7, 3)) * distances),
        "poly": (X @ X.T + 1.0) ** 3,
        "linear": X @ X.T,
        "constant": np.ones((n, n)),
    }[kind]
    W = np.triu(rng.uniform(size=(n, n)) * (rng.random((n, n)) < 0.5), 1)
    W[np.arange(n - 1), np.arange(1, n)] += 1.0 * (rng.random(n - 1) < 0.9)
    graph = KNNGraph.from_affinity(
        sp.csr_matrix(W + W.T), normalized=bool(rng.random() < 0.5), power=int(rng.integers(1, 4))
    )
    laplacian, power = graph.laplacian_.as_power()
    L = sp.csr_matrix(made_semi_definite(laplacian.matrix.toarray()))
    S = SparseOperator(L, null_space=laplacian.null_space)
    name = loss or rng.choice(["squared", "squared_hinge", "hinge", "epsilon_insensitive"])
    labelled = np.sort(rng.choice(n, l, replace=False))
    y = np.where(rng.random(l) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    if name in ("squared", "epsilon_insensitive") and rng.random() < 0.5:
        y = rng.normal(size=l)
    ambient = 10.0 ** rng.uniform(-8, 3)
    features = np.sqrt(scale) * X if kind == "linear" else None
    K = np.eye(n) if kind == "linear" else made_semi_definite(scale * K)
    return RegularizedRisk(
        space=LinearSpace(features) if kind == "linear" else KernelSpace(DenseOperator(K)),
        loss=LOSSES[name](),
        labelled=labelled,
        targets=y[:, None],
        weights=rng.uniform(0.2, 3.0, l) if rng.random() < 0.5 else np.ones(l),
        smoothness=S if power == 1 else PowerOperator(S, power),
        reg_ambient=ambient,
        reg_manifold=ambient * 10.0 ** rng.uniform(-12, 12),
        fit_intercept=bool(rng.random() < 0.6),
    )
