"""A bound of objective − optimum that includes its own rounding error, with any BLAS.

For dual coefficients c of the labels and any function values p, α̃ = Jᵀc − μSp with 1ᵀα̃ = 0 gives
the lower bound −Σ loss*(−γ_A c) − (γ_A/2)(α̃ᵀKα̃ + μpᵀSp) of the optimum. Its distance from the
objective at f = Kα + b is a sum of terms none of which is negative,

    slack of −γ_A c as a subgradient + (γ_A/2)‖α − α̃‖² + (γ_I/2)(f − p)ᵀS(f − p),

and small where f is near the optimum, so that its rounding is small as well. What remains are the
rounding of f and of the objective; f is computed in twice double precision (`operators.twofold`),
and bounds of all errors are added. Knows risks and functions, and no solver.

Notation as in `risk`; h = f − b, and r = γ_I Sp + Jᵀg with g = −γ_A c, the row gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..operators import twofold
from ..operators.base import Operator
from ..operators.dense import DenseOperator
from ..operators.sparse import SparseOperator
from ..operators.twofold import EPS, Twofold
from ..risk import RegularizedRisk
from ..spaces.function import Function
from ..spaces.kernel_space import KernelSpace

#: Share of the objective up to which rounding of a plain product does not matter.
_SMALL = 1e-10


@dataclass(frozen=True)
class Certificate:
    """What is known of a function.

    Attributes
    ----------
    function : Function
        The function, with its values computed anew.
    objective : float
        Its objective, summed over the columns.
    gap : float
        Upper bound of objective − optimum, rounding included.
    rounding : float
        The part of the gap that is the rounding of the objective.
    residual : ndarray of shape (m, c)
        Coefficients of the gradient: γ_A times the error of those of the function, as far as the
        dual coefficients determine them.
    """

    function: Function
    objective: float
    gap: float
    rounding: float
    residual: np.ndarray


def certify(
    risk: RegularizedRisk,
    f: Function,
    loss_gradient: np.ndarray,
    *,
    p: np.ndarray | None = None,
    gram: Operator | None = None,
) -> Certificate:
    """Return the objective of coefficients and intercepts, and how far it is from the optimum.

    Cost: two products with K, one of them (or both, if need be) in twice double precision.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    f : Function
        Coefficients and intercepts; the values are computed anew.
    loss_gradient : ndarray of shape (l, c)
        g; any is valid, and those of the optimum give the smallest bound.
    p : ndarray of shape (n, c), optional
        Values for the manifold term of the lower bound; by default those of f.
    gram : Operator, optional
        K, where the problem holds a rounded one.
    """
    gram = risk.gram if gram is None else gram
    rows, features = risk.labelled, risk.space.features
    if risk.reg_manifold > 0 or features is not None or np.delete(f.coef, rows, axis=0).any():
        values = _Values.of(
            risk, twofold.times(gram if features is None else features, f.coef) + f.intercept
        )
        Sp = values.Sf if p is None else twofold.times(risk.smoothness, p)
        return _certify(risk, f, values, _Dual.at(risk, loss_gradient, Sp, p), gram)
    # Without a manifold term the other rows do not matter, and K of the labelled rows suffices.
    l, K = len(rows), DenseOperator(gram.submatrix(rows, rows))
    no_edges = SparseOperator(sp.csr_matrix((l, l)))
    part = replace(risk, space=KernelSpace(K), labelled=np.arange(l), smoothness=no_edges)
    part_f = replace(f, coef=f.coef[rows])
    values = _Values.of(part, twofold.times(K, part_f.coef) + f.intercept)
    found = _certify(part, part_f, values, _Dual.at(part, loss_gradient, values.Sf, None), K)
    residual = np.zeros(f.coef.shape)
    residual[rows] = found.residual
    return replace(found, function=f, residual=residual)


def certify_in_one_pass(
    risk: RegularizedRisk,
    f: Function,
    duals: Sequence[tuple[np.ndarray, np.ndarray]],
    gram: Operator,
) -> Certificate:
    """Return the best certificate of an expansion for pairs of g and p, from a plain product.

    The bound of the rounding of f is that of sums in any order. Unless coefficients are so large
    that it matters, this saves most of the time of `certify`. Cost: one product with K, of the
    columns of f and of as many for each pair.
    """
    lengths = _row_lengths(risk, gram)
    found = [_Dual.at(risk, g, twofold.times(risk.smoothness, p), p) for g, p in duals]
    gradients = [(dual.r + risk.reg_ambient * f.coef).hi for dual in found]
    values, *images = np.split(gram @ np.hstack([f.coef, *gradients]), len(found) + 1, axis=1)
    # |K_ij| is at most the product of the lengths.
    sizes = np.multiply.outer(lengths, lengths @ np.abs(f.coef))
    wide = Twofold(values, np.zeros(values.shape), gram.n_additions * EPS * sizes) + f.intercept
    f_values = _Values.of(risk, wide)
    certificates = [
        _certify(risk, f, f_values, dual, gram, image)
        for dual, image in zip(found, images, strict=True)
    ]
    return min(certificates, key=lambda certificate: certificate.gap)


@dataclass(frozen=True)
class _Values:
    """Values f and Sf, with their rounding."""

    f: Twofold
    Sf: Twofold

    @classmethod
    def of(cls, risk: RegularizedRisk, f: Twofold) -> _Values:
        return cls(f, twofold.times(risk.smoothness, f))


@dataclass(frozen=True)
class _Dual:
    """A dual point: g, Sp and r, and p if it is not f."""

    g: np.ndarray
    Sp: Twofold
    r: Twofold
    p: np.ndarray | None

    @classmethod
    def at(cls, risk: RegularizedRisk, g: np.ndarray, Sp: Twofold, p: np.ndarray | None) -> _Dual:
        g = risk.loss.feasible(g, risk.targets, 0.5 * risk.weights[:, None])
        on_all = np.zeros(Sp.hi.shape)
        on_all[risk.labelled] = g
        return cls(g, Sp, Sp.scaled(risk.reg_manifold) + on_all, p)


def _certify(
    risk: RegularizedRisk,
    f: Function,
    values: _Values,
    dual: _Dual,
    gram: Operator,
    image: np.ndarray | None = None,
) -> Certificate:
    f, width = replace(f, values=values.f.hi, S_values=values.Sf.hi), values.f.width
    objective, rounding = _objective(risk, f, width, values.Sf.width)
    lengths = _row_lengths(risk, gram)
    norm, residual = _gradient_norm(risk, f, dual.r, lengths, gram, objective, image)
    gap = norm**2 / (2.0 * risk.reg_ambient) + _slack(risk, f, width, dual.g) + rounding
    if dual.p is not None:
        gap += _apart(risk, f, width, dual.p, dual.Sp)
    if risk.fit_intercept:  # by as much as 1ᵀα̃ is not zero, b counts in the lower bound
        off = np.abs(twofold.column_sums(dual.r.hi)) + dual.r.width.sum(axis=0)
        gap += off * (np.abs(f.intercept) + _largest_intercept(risk, objective, lengths))
    return Certificate(
        function=f,
        objective=float(objective.sum()),
        gap=float(gap.sum()),
        rounding=float(rounding.sum()),
        residual=residual,
    )


def _gradient_norm(
    risk: RegularizedRisk,
    f: Function,
    r: Twofold,
    lengths: np.ndarray,
    gram: Operator,
    objective: np.ndarray,
    product: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return a bound of ‖γ_A h + representer of r‖ per column, and its coefficients.

    ``product`` is K times these coefficients, where it is known and precise enough.
    """
    features, gamma = risk.space.features, risk.reg_ambient
    image = r if features is None else twofold.times(features.T, r.hi)
    gradient = image + gamma * f.coef
    coef, spread = gradient.hi, gradient.width + EPS * gamma * np.abs(f.coef)
    if features is not None:
        norm = (1.0 + len(coef) * EPS) * np.linalg.norm(coef, axis=0)
        return norm + np.linalg.norm(spread, axis=0) + lengths @ r.width, coef
    squares = (coef * (gram @ coef if product is None else product)).sum(axis=0)
    rounding = 2.0 * len(coef) * EPS * (lengths @ np.abs(coef)) ** 2
    null = (rounding > _SMALL * gamma * objective).any()  # coefficients in the null space of K
    if null and product is None:
        exact = twofold.times(gram, coef)
        squares = (coef * exact.hi).sum(axis=0)
        wide = exact.width + len(coef) * EPS * np.abs(exact.hi)
        rounding = (np.abs(coef) * wide).sum(axis=0)
    return np.sqrt(np.maximum(squares + rounding, 0.0)) + lengths @ (r.width + spread), coef


def _slack(risk: RegularizedRisk, f: Function, width: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the slack of g, with its rounding, per column."""
    values, weights = f.values[risk.labelled], 0.5 * risk.weights[:, None]
    slack = np.maximum(risk.loss.slack(values, risk.targets, weights, g), 0.0)
    size = np.abs(values) + np.abs(risk.targets) + getattr(risk.loss, "epsilon", 0.0)
    rounding = np.abs(g) * (8.0 * EPS * size + width[risk.labelled])
    rounding += 8.0 * EPS * weights * risk.loss.value(values, risk.targets)
    return (slack + rounding).sum(axis=0)


def _apart(
    risk: RegularizedRisk, f: Function, width: np.ndarray, p: np.ndarray, S_p: Twofold
) -> np.ndarray:
    """Return an upper bound of (γ_I/2)(f − p)ᵀS(f − p), per column."""
    away, S_away = f.values - p, f.S_values - S_p.hi
    products = risk.smoothness.without_null_space(away) * S_away
    rounding = risk.n_rows * EPS * np.abs(products).sum(axis=0)
    wide = np.linalg.norm(width + EPS * (np.abs(f.values) + np.abs(p)), axis=0)
    root = np.sqrt(np.maximum(products.sum(axis=0) + rounding, 0.0))
    root += np.sqrt(twofold.norm_bound(risk.smoothness)) * wide
    return 0.5 * risk.reg_manifold * root**2


def _objective(
    risk: RegularizedRisk, f: Function, f_width: np.ndarray, S_width: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the objective per column, and a bound of its error."""
    n, objective = risk.n_rows, risk.objective(f)
    rest = risk.smoothness.without_null_space(f.values)
    left_out = f.values - rest
    wide = f_width + n * EPS * np.abs(f.values)
    manifold = np.abs(rest) * (S_width + n * EPS * np.abs(f.S_values)) + wide * np.abs(f.S_values)
    # The image of what was left out should be zero, and is rounding of the entries of S.
    manifold += (np.abs(left_out) + 2.0 * np.abs(rest)) * np.abs(risk.smoothness @ left_out)
    if risk.space.features is None:
        h = np.abs(f.values - f.intercept)
        ambient = np.abs(f.coef) * (f_width + (n + 1) * EPS * h + EPS * np.abs(f.intercept))
    else:
        ambient = len(f.coef) * EPS * f.coef**2
    f_labelled, weights = f.values[risk.labelled], risk.weights[:, None]
    size = np.abs(f_labelled) + np.abs(risk.targets) + getattr(risk.loss, "epsilon", 0.0)
    on_labelled = f_width[risk.labelled] + 2.0 * EPS * size
    # Near a kink the slope is any up to the weight.
    slope = 0.5 * weights if risk.loss.is_sum_of_hinges else np.abs(risk.loss_gradient(f))
    loss = slope * on_labelled + weights * on_labelled**2
    penalty = risk.reg_manifold * manifold.sum(axis=0) + risk.reg_ambient * ambient.sum(axis=0)
    rounding = (len(risk.labelled) + 4) * EPS * objective
    return objective, rounding + loss.sum(axis=0) + 0.5 * penalty


def _row_lengths(risk: RegularizedRisk, gram: Operator) -> np.ndarray:
    """Return √K_ii, the norms of the rows in the space."""
    features = risk.space.features
    if features is None:
        return np.sqrt(np.maximum(gram.diagonal_at(np.arange(risk.n_rows)), 0.0))
    squares = features**2 if isinstance(features, np.ndarray) else features.multiply(features)
    return np.sqrt(np.asarray(squares.sum(axis=1), dtype=float).ravel())


def _largest_intercept(
    risk: RegularizedRisk, objective: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Return a bound of the optimal |b|, from an objective that the optimum does not exceed.

    It bounds both the norm of h and the loss of each row, and so their values f = h + b.
    """
    weights, excess = risk.weights[:, None], 2.0 * objective
    loss = np.maximum(np.sqrt(excess / weights), excess / weights)
    h = lengths[risk.labelled][:, None] * np.sqrt(excess / risk.reg_ambient)
    epsilon = getattr(risk.loss, "epsilon", 0.0)
    reach = 1.0 + np.abs(risk.targets) + epsilon + loss + h
    # A margin loss bounds f from one side for each class.
    sides = [np.where(risk.targets * side >= 0, reach, np.inf).min(axis=0) for side in (1.0, -1.0)]
    largest = np.maximum(*sides)
    return np.where(np.isfinite(largest), largest, reach.max(axis=0))
