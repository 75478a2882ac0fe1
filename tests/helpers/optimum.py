"""Random small problems for every convex estimator, each with the optimum by other means.

Hinges and tubes are solved by an interior-point solver (`reference`), least squares by its normal
equations in extended precision. What a model reaches is computed from its coefficients alone. All
targets have mean zero and standard deviation one, so that centring them changes nothing.
"""

import warnings
from dataclasses import dataclass

import clarabel
import numpy as np

from helpers import reference
from helpers.data import gaussian, one_vs_rest
from lapwing import (
    KNNGraph,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
    LapSVCPath,
    LapSVR,
    PVMClassifier,
    PVMRegressor,
)

Extended = np.longdouble


class NoReference(Exception):
    """The reference itself did not converge."""


@dataclass(frozen=True)
class Draw:
    """Random rows with a graph, labels or quantities, weights, and a kernel.

    Attributes
    ----------
    rng : numpy.random.Generator
        For what else the problem needs.
    X, y, weights : ndarray
        Rows; classes with -1 for unlabelled rows, or quantities with NaN; weights of the rows.
    graph : KNNGraph
        Fitted and connected.
    kernel : dict
        Parameters of the estimator.
    targets : ndarray of shape (l, c)
        What the columns fit on the labelled rows.
    """

    rng: np.random.Generator
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    graph: KNNGraph
    kernel: dict
    targets: np.ndarray

    @property
    def labelled(self):
        return np.flatnonzero(~np.isnan(self.y) if self.y.dtype == float else self.y >= 0)

    @property
    def S(self):
        S = self.graph.laplacian_ @ np.eye(len(self.X))
        return (S + S.T) / 2

    def gram(self, A=None, B=None):
        """Kernel values of two sets of rows, by default of all rows."""
        A, B = self.X if A is None else A, self.X if B is None else B
        gamma, name = self.kernel.get("gamma"), self.kernel["kernel"]
        if name == "rbf":
            return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))
        return A @ B.T if name == "linear" else (gamma * A @ B.T + 1.0) ** 2

    def fit(self, model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(self.X, self.y, sample_weight=self.weights)


def draw(seed, *, quantities=False):
    """Return a random problem."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(16, 41)), int(rng.integers(1, 5))
    n_classes = int(rng.integers(2, 5))
    truth = rng.permutation(np.arange(n) % n_classes)
    X = rng.choice([0.5, 1.0, 2.0]) * rng.normal(size=(n_classes, d))[truth]
    X += rng.normal(size=(n, d))
    if rng.random() < 0.1:  # duplicates
        X[: n // 4] = X[n // 4 : 2 * (n // 4)]
    l = int(rng.integers(2 * n_classes, max(n // 2, 2 * n_classes) + 1))
    known = np.append(
        rng.permutation(n)[: l - n_classes], [truth.tolist().index(c) for c in range(n_classes)]
    )
    known = np.unique(known)
    weights = rng.uniform(0.2, 3.0, n) if rng.random() < 0.5 else np.ones(n)
    options = {"normalized": bool(rng.random() < 0.5), "power": int(rng.integers(1, 4))}
    for neighbors in range(int(rng.integers(3, 7)), n):
        graph = KNNGraph(neighbors, **options).fit(X)
        if graph.n_components_ == 1:
            break
    kernel = [
        {"kernel": "rbf", "gamma": float(10 ** rng.uniform(-1.5, 0.5))},
        {"kernel": "linear"},
        {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 1.0},
    ][rng.choice(3, p=[0.5, 0.25, 0.25])]
    if quantities:
        values = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)
        mean = np.average(values[known], weights=weights[known])
        spread = np.sqrt(np.average((values[known] - mean) ** 2, weights=weights[known]))
        y = np.full(n, np.nan)
        y[known] = (values[known] - mean) / spread
        targets = y[known, None]
    else:
        y = np.full(n, -1)
        y[known] = truth[known]
        targets = one_vs_rest(truth[known], range(n_classes))
    return Draw(rng, X, y, weights, graph, kernel, targets)


# ---------------------------------------------------------------- least squares, extended


def solve(A, B):
    """A⁻¹B in extended precision, by elimination with row pivots."""
    A, B = np.array(A, dtype=Extended), np.array(B, dtype=Extended)
    vector = B.ndim == 1
    B = B.reshape(len(A), -1)
    for k in range(len(A)):
        pivot = k + int(np.abs(A[k:, k]).argmax())
        A[[k, pivot]], B[[k, pivot]] = A[[pivot, k]], B[[pivot, k]]
        factors = A[k + 1 :, k] / A[k, k]
        A[k + 1 :] -= np.outer(factors, A[k])
        B[k + 1 :] -= np.outer(factors, B[k])
    for k in range(len(A) - 1, -1, -1):
        B[k] = (B[k] - A[k, k + 1 :] @ B[k + 1 :]) / A[k, k]
    return B[:, 0] if vector else B


def bordered(A, column, row, corner, right, right_corner, intercept):
    """Solution (x, b) of a system with an equation for the intercept, which may be left out."""
    if not intercept:
        return solve(A, right), Extended(0)
    n = len(A)
    system = np.zeros((n + 1, n + 1), dtype=Extended)
    system[:n, :n], system[:n, n], system[n, :n], system[n, n] = A, column, row, corner
    x = solve(system, np.append(right, right_corner))
    return x[:n], x[n]


def value(problem, alpha, b):
    """Objective of an expansion in extended precision."""
    K, S = problem.K.astype(Extended), problem.S.astype(Extended)
    h = K @ alpha
    f = h + b
    loss = problem.weights @ reference.LOSSES[problem.loss](problem.y, f[problem.labelled])
    return 0.5 * (loss + problem.reg_ambient * (alpha @ h) + problem.reg_manifold * (f @ S @ f))


def minimum(problem):
    """Least objective of one column."""
    if problem.loss != "squared":
        return reference.minimum(problem)[0]
    K, S, n = problem.K.astype(Extended), problem.S.astype(Extended), len(problem.K)
    W = np.zeros(n, dtype=Extended)
    W[problem.labelled] = problem.weights
    A = (np.diag(W) + problem.reg_manifold * S) @ K
    column, right = W + problem.reg_manifold * S.sum(axis=1), np.zeros(n, dtype=Extended)
    right[problem.labelled] = problem.weights * problem.y
    alpha, b = bordered(
        A + problem.reg_ambient * np.eye(n), column, A.sum(axis=0), column.sum(), right,
        right.sum(), problem.fit_intercept,
    )  # fmt: skip
    return value(problem, alpha, b)


# ---------------------------------------------------------------- manifold models


def problems(data, loss, ambient, manifold, intercept, scale=1.0, K=None):
    """One problem of the reference for each column."""
    rows = data.labelled
    return [
        reference.Problem(
            data.gram() if K is None else K, data.S, rows, y, scale * data.weights[rows], loss,
            ambient, manifold, intercept,
        )
        for y in data.targets.T
    ]  # fmt: skip


def reached(data, model, columns, centres=None):
    """Objective of the coefficients of a model, summed over the columns."""
    total, intercepts = Extended(0), np.atleast_1d(model.intercept_)
    for j, problem in enumerate(columns):
        if data.kernel["kernel"] == "linear":
            w = model.coef_[j].astype(Extended)
            f = data.X.astype(Extended) @ w + intercepts[j]
            norm = w @ w
        else:
            points = data.X if centres is None else centres
            alpha = model.dual_coef_[j].astype(Extended)
            f = data.gram(data.X, points).astype(Extended) @ alpha + intercepts[j]
            norm = alpha @ data.gram(points, points).astype(Extended) @ alpha
        loss = problem.weights @ reference.LOSSES[problem.loss](problem.y, f[problem.labelled])
        smooth = f @ problem.S.astype(Extended) @ f
        total += 0.5 * (loss + problem.reg_ambient * norm + problem.reg_manifold * smooth)
    return total


def weights_of_norms(rng):
    return float(10 ** rng.uniform(-4, 1)), float(10 ** rng.uniform(-4, 1))


def fit_manifold(seed, make, loss, quantities=False):
    data = draw(seed, quantities=quantities)
    ambient, manifold = weights_of_norms(data.rng)
    intercept = bool(data.rng.random() < 0.7)
    model = make(
        reg_ambient=ambient, reg_manifold=manifold, fit_intercept=intercept, graph=data.graph,
        **data.kernel,
    )  # fmt: skip
    data.fit(model)
    columns = problems(data, loss, ambient, manifold, intercept)
    return reached(data, model, columns), sum(minimum(p) for p in columns)


def fit_landmarks(seed):
    """Landmarks of k-means: the span of the kernel at the centres."""
    data = draw(seed)
    ambient, manifold = weights_of_norms(data.rng)
    m = int(data.rng.integers(3, 9))
    kernel = {"kernel": "rbf", "gamma": 0.5}
    data = Draw(**{**vars(data), "kernel": kernel})
    model = LapRLSClassifier(
        reg_ambient=ambient, reg_manifold=manifold, n_landmarks=m, graph=data.graph, **kernel
    )
    data.fit(model)
    centres = model.landmarks_
    values, vectors = np.linalg.eigh(data.gram(centres, centres))
    own = values > 1e-10 * values[-1]  # smaller ones do not belong to the space
    H = data.gram(data.X, centres) @ (vectors[:, own] / np.sqrt(values[own]))
    columns = problems(data, "squared", ambient, manifold, True, K=H @ H.T)
    return reached(data, model, columns, centres), sum(minimum(p) for p in columns)


def fit_tube(seed):
    data = draw(seed, quantities=True)
    C, manifold = float(10 ** data.rng.uniform(-1, 2)), float(10 ** data.rng.uniform(-3, 1))
    intercept = bool(data.rng.random() < 0.7)
    model = LapSVR(
        C=C, epsilon=reference.EPSILON, reg_manifold=manifold, fit_intercept=intercept,
        graph=data.graph, **data.kernel,
    )  # fmt: skip
    data.fit(model)
    columns = problems(data, "epsilon_insensitive", 1.0, manifold, intercept, scale=2.0 * C)
    return reached(data, model, columns), sum(minimum(p) for p in columns)


def fit_grid(seed, make, loss, quantities=False):
    data = draw(seed, quantities=quantities)
    axes = [10.0 ** data.rng.uniform(-4, 1, 2) for _ in range(2)]
    model = make(reg_ambient=axes[0], reg_manifold=axes[1], cv=2, graph=data.graph, **data.kernel)
    data.fit(model)
    best = model.best_params_
    columns = problems(data, loss, best["reg_ambient"], best["reg_manifold"], True)
    return reached(data, model, columns), sum(minimum(p) for p in columns)


def fit_path(seed):
    data = draw(seed)
    rho = float(10 ** data.rng.uniform(-4, 2))
    intercept = bool(data.rng.random() < 0.7)
    cv = None if data.rng.random() < 0.5 else 2
    model = LapSVCPath(rho=rho, fit_intercept=intercept, cv=cv, graph=data.graph, **data.kernel)
    data.fit(model)
    ends = np.log(model.lambdas_[[-1, 0]])
    lam = float(np.exp(data.rng.uniform(*ends)))
    columns = problems(data, "hinge", lam * rho / 2, lam / 2, intercept)
    multipliers, b = model._functions.at(np.array([lam]))
    coef = (model._functions.coefficients @ multipliers[0]).T
    total, linear = Extended(0), data.kernel["kernel"] == "linear"
    for j, problem in enumerate(columns):
        K, c = problem.K.astype(Extended), coef[j].astype(Extended)
        f = (data.X.astype(Extended) @ c if linear else K @ c) + b[0, j]
        norm = c @ c if linear else c @ K @ c
        loss = problem.weights @ reference.LOSSES["hinge"](problem.y, f[problem.labelled])
        smooth = f @ problem.S.astype(Extended) @ f
        total += 0.5 * (loss + problem.reg_ambient * norm + problem.reg_manifold * smooth)
    # The objective of f = 0 is the same for all λ: the unit of a path.
    nothing = 0.5 * sum(problem.weights.sum() for problem in columns)
    return total, sum(minimum(p) for p in columns), nothing


# ---------------------------------------------------------------- embedded models


def graph_side(data, firmness, mu, k):
    """(Λ + μS) in the span of g, its basis Φ (None for all g), and Λy in that basis, extended."""
    n = len(data.X)
    Lam = np.zeros(n, dtype=Extended)
    Lam[data.labelled] = firmness * data.weights[data.labelled]
    P = np.diag(Lam) + mu * data.S.astype(Extended)
    weighted = np.zeros((n, data.targets.shape[1]), dtype=Extended)
    weighted[data.labelled] = Lam[data.labelled, None] * data.targets
    if k is None:
        return P, np.eye(n, dtype=Extended), weighted, Lam
    phi = data.graph.eigenpairs(k)[1].astype(Extended)
    return phi.T @ P @ phi, phi, phi.T @ weighted, Lam


def embedded_parameters(data):
    rng, n = data.rng, len(data.X)
    options = {
        "C": float(10 ** rng.uniform(-1, 2)),
        "reg_labeled": float(10 ** rng.uniform(0, 3)),
        "reg_manifold": float(10 ** rng.uniform(-2, 1)),
        "n_eigenvectors": None if rng.random() < 0.5 else int(rng.integers(2, n // 2)),
        "fit_intercept": bool(rng.random() < 0.7),
        "graph": data.graph,
    }
    return {**options, **data.kernel}


def coefficients(data, model, j):
    """Values without intercept and squared norm of one column of a model."""
    if data.kernel["kernel"] == "linear":
        w = model.coef_[j].astype(Extended)
        return data.X.astype(Extended) @ w, w @ w
    K, alpha = data.gram().astype(Extended), model.dual_coef_[j].astype(Extended)
    return K @ alpha, alpha @ K @ alpha


def draw_embedded(seed, quantities):
    """A problem with Λ + μS of moderate condition, and its parameters.

    A power of the Laplacian of nearly separate parts has no digits left in double precision.
    """
    data = draw(seed, quantities=quantities)
    options = embedded_parameters(data)
    P, *_ = graph_side(data, options["reg_labeled"], options["reg_manifold"], None)
    if np.linalg.cond(P.astype(float)) < 1e8:
        return data, options
    graph = KNNGraph(len(data.X) // 2, normalized=data.graph.normalized).fit(data.X)
    return Draw(**{**vars(data), "graph": graph}), {**options, "graph": graph}


def fit_embedded_ridge(seed, make, quantities):
    data, options = draw_embedded(seed, quantities)
    model, C = data.fit(make(**options)), options["C"]
    P, phi, right, Lam = graph_side(
        data, options["reg_labeled"], options["reg_manifold"], options["n_eigenvectors"]
    )
    K, n = data.gram().astype(Extended), len(data.X)
    inner = solve(C * phi.T @ phi + P, np.hstack([C * phi.T, right]))
    Q = C * np.eye(n) - C * phi @ inner[:, :n]  # objective ½‖f‖² + ½fᵀQf − vᵀf + constant
    V = C * phi @ inner[:, n:]
    rest = (Lam[data.labelled, None] * data.targets**2).sum(axis=0)
    rest -= (right * inner[:, n:]).sum(axis=0)
    found = best = Extended(0)
    for j, v in enumerate(V.T):
        alpha, b = bordered(
            np.eye(n) + Q @ K, Q.sum(axis=1), (Q @ K).sum(axis=0), Q.sum(), v, v.sum(),
            options["fit_intercept"],
        )  # fmt: skip

        def total(values, square, v=v, j=j):
            return 0.5 * (square + values @ Q @ values + rest[j]) - v @ values

        h, norm = coefficients(data, model, j)
        found += total(h + np.atleast_1d(model.intercept_)[j], norm)
        best += total(K @ alpha + b, alpha @ K @ alpha)
    return found, best


def fit_embedded_tube(seed, make, quantities):
    data, options = draw_embedded(seed, quantities)
    data = Draw(**{**vars(data), "kernel": {"kernel": "rbf", "gamma": 0.3}})
    options |= {"kernel": "rbf", "gamma": 0.3, "epsilon": 0.1}
    options = {name: value for name, value in options.items() if name not in ("degree", "coef0")}
    model = data.fit(make(**options, tol=1e-9, max_iter=100_000))
    P, phi, right, _ = graph_side(
        data, options["reg_labeled"], options["reg_manifold"], options["n_eigenvectors"]
    )
    inner = solve(P, np.hstack([phi.T, right]))
    K_G = (phi @ inner[:, : len(data.X)]).astype(float)
    virtual = (phi @ inner[:, len(data.X) :]).astype(float)
    Q, C, found, best = data.gram() + (K_G + K_G.T) / 2, options["C"], 0.0, 0.0
    firmness = options["reg_labeled"] * data.weights[data.labelled]
    for j, y in enumerate(virtual.T):
        target = data.targets[:, j]
        constant = 0.5 * firmness @ (target * (target - y[data.labelled]))  # what ỹ itself costs
        beta, b = model.dual_coef_[j], np.atleast_1d(model.intercept_)[j]
        over = np.maximum(np.abs(Q @ beta + b - y) - 0.1, 0.0).sum()
        found += constant + 0.5 * beta @ Q @ beta + C * over
        best += constant + reference.tube_minimum(Q, y, C, 0.1, options["fit_intercept"])[0]
    return found, best


# ---------------------------------------------------------------- prototype models


def fit_prototypes(seed, loss, quantities=False):
    data = draw(seed, quantities=quantities)
    rng, rows = data.rng, data.labelled
    C, free = float(10 ** rng.uniform(-1, 2)), float(10 ** rng.uniform(-2, 0))
    options = {"n_prototypes": int(rng.integers(3, 8)), "gamma": float(10 ** rng.uniform(-1, 0))}
    options |= {"reg_labeled": C, "reg_unlabeled": free, "normalize_rows": bool(rng.random() < 0.5)}
    model = data.fit(PVMRegressor(**options) if quantities else PVMClassifier(loss, **options))
    landmarks = gaussian(model.landmarks_, model.landmarks_, model.kernel_.gamma)
    if (
        np.linalg.cond(landmarks) > 1e6
    ):  # the model leaves small eigenvalues out, the formula does not
        raise NoReference
    H, A = prototype_terms(model, data.X)
    others = np.setdiff1d(np.arange(len(data.X)), rows)
    A = A + free * H[others].T @ H[others]
    A, H, w = (A + A.T) / 2, H[rows], C * data.weights[rows]
    A_double, H_double = A.astype(float), H.astype(float)
    found = best = Extended(0)
    for j, y in enumerate(data.targets.T):
        if loss == "hinge":
            other = prototype_hinge(A_double, H_double, y, w)
        else:
            other = solve(A + H.T @ (w[:, None] * H), H.T @ (w * y))

        def total(part, y=y):
            f = H @ part
            losses = 2 * np.maximum(1 - y * f, 0) if loss == "hinge" else (y - f) ** 2
            return 0.5 * (part @ A @ part + w @ losses)

        found, best = found + total(model.coef_[j]), best + total(other)
    return found, best


def prototype_terms(model, X):
    """H and HᵀSH of a fitted model, in extended precision."""
    U, V, gamma = (
        np.asarray(a, dtype=Extended)
        for a in (model.landmarks_, model.prototypes_, model.kernel_.gamma)
    )
    X = X.astype(Extended)
    H, E = gaussian(X, V, gamma), gaussian(X, U, gamma)
    if model.normalize_rows:
        H = H / H.sum(axis=1, keepdims=True)
    K = E @ solve(gaussian(U, U, gamma), E.T)
    S = np.diag(np.maximum(K.sum(axis=1), 0.0)) - K
    return H, H.T @ S @ H


def prototype_hinge(A, H, y, weights):
    """The f with least ½fᵀAf + Σ w·max(1 − yhᵀf, 0), by an interior-point solver."""
    l, k = H.shape
    P = np.zeros((k + l, k + l))
    P[:k, :k] = A
    margins = np.hstack([-y[:, None] * H, -np.eye(l)])
    slacks = np.hstack([np.zeros((l, k)), -np.eye(l)])
    return reference.quadratic_program(
        P, np.append(np.zeros(k), weights), np.vstack([margins, slacks]),
        np.append(-np.ones(l), np.zeros(l)), [clarabel.NonnegativeConeT(2 * l)],
    )[:k]  # fmt: skip


#: From a seed to the objective that a model reaches and the optimum, both over all columns.
FITS = {
    "LapSVC squared_hinge": lambda s: fit_manifold(s, LapSVC, "squared_hinge"),
    "LapSVC hinge": lambda s: fit_manifold(s, lambda **p: LapSVC(loss="hinge", **p), "hinge"),
    "LapRLSClassifier": lambda s: fit_manifold(s, LapRLSClassifier, "squared"),
    "LapRLSClassifier landmarks": fit_landmarks,
    "LapRLSRegressor": lambda s: fit_manifold(s, LapRLSRegressor, "squared", quantities=True),
    "LapSVR": fit_tube,
    "LapSVCCV squared_hinge": lambda s: fit_grid(s, LapSVCCV, "squared_hinge"),
    "LapSVCCV hinge": lambda s: fit_grid(s, lambda **p: LapSVCCV(loss="hinge", **p), "hinge"),
    "LapRLSClassifierCV": lambda s: fit_grid(s, LapRLSClassifierCV, "squared"),
    "LapRLSRegressorCV": lambda s: fit_grid(s, LapRLSRegressorCV, "squared", quantities=True),
    "LapSVCPath": fit_path,
    "LapERLSClassifier": lambda s: fit_embedded_ridge(s, LapERLSClassifier, quantities=False),
    "LapERLSRegressor": lambda s: fit_embedded_ridge(s, LapERLSRegressor, quantities=True),
    "LapESVC": lambda s: fit_embedded_tube(s, LapESVC, quantities=False),
    "LapESVR": lambda s: fit_embedded_tube(s, LapESVR, quantities=True),
    "PVMClassifier squared": lambda s: fit_prototypes(s, "squared"),
    "PVMClassifier hinge": lambda s: fit_prototypes(s, "hinge"),
    "PVMRegressor": lambda s: fit_prototypes(s, "squared", quantities=True),
}


def excess(name, seed):
    """Relative distance of what an estimator reaches from the optimum.

    For a path it is relative to the objective of f = 0.
    """
    try:
        found, best, *scale = FITS[name](seed)
    except (AssertionError, np.linalg.LinAlgError) as error:  # of the interior-point solver, of K
        raise NoReference from error
    return float(abs(found - best) / max([best, *scale]))
