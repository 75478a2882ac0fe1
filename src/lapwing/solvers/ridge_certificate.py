"""Objective and certified gap of Laplacian embedded least squares, with their rounding errors.

For multipliers a with 1ᵀa = 0 the distance of the objective at (α, b, ζ) from the dual objective is

    ‖Kα + a/C + b1 − Φζ‖²·C/2 + ½(α − a)ᵀK(α − a) + ½qᵀP⁻¹q ,    q = Pζ + Φᵀa − r ,

in the notation of `embedded_ridge`; a is α without its mean, which is rounding. All that is a small
difference is computed in twice double precision, and bounds of the errors that remain are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..operators import twofold
from ..operators.twofold import EPS, Twofold

if TYPE_CHECKING:
    from .embedded_ridge import EmbeddedRidge


@dataclass(frozen=True)
class RidgeCertificate:
    """What is known of a solution.

    Attributes
    ----------
    objective, gap : float
        The objective, and an upper bound of its distance from the optimum, over all columns.
    values : ndarray of shape (n, c)
        Kα + b.
    """

    objective: float
    gap: float
    values: np.ndarray


def certify_ridge(
    problem: EmbeddedRidge, alpha: np.ndarray, b: np.ndarray, zeta: np.ndarray
) -> RidgeCertificate:
    """Return the certificate of coefficients. Cost: one product in twice double precision."""
    ridge, n = problem.ridge, len(alpha)
    h = twofold.times(problem.gram, alpha)
    g = twofold.times(problem.basis, zeta)
    error = (h + b) + g.scaled(-1.0)
    mean = twofold.column_sums(alpha) / n if problem.fit_intercept else np.zeros(len(b))
    left = (error + Twofold.exactly(alpha).scaled(ridge)) + -ridge * mean
    norm = np.abs(alpha) * (h.width + n * EPS * np.abs(h.hi))
    squares = (2.0 * np.abs(error.hi) + error.width) * error.width + n * EPS * error.hi**2
    rounding = 0.5 * (norm + squares / ridge).sum(axis=0)
    phi, l, k = problem.basis[problem.labelled], len(problem.labelled), len(zeta)
    distance = problem.label_precision @ (g.hi[problem.labelled] - problem.targets) ** 2
    smoothness = (zeta * (problem.penalty @ zeta)).sum(axis=0)
    small = np.abs(zeta) * (np.abs(problem.penalty) @ np.abs(zeta))
    rounding += 2.0 * EPS * ((l + 2) * distance + k * small.sum(axis=0))
    size = np.abs(g.hi[problem.labelled]) + np.abs(problem.targets)
    away = np.abs(g.hi[problem.labelled] - problem.targets)
    rounding += problem.label_precision @ (away * (EPS * size + g.width[problem.labelled]))
    objective = 0.5 * ((alpha * h.hi).sum(axis=0) + (error.hi**2).sum(axis=0) / ridge)
    objective += 0.5 * (distance + smoothness)
    length = np.linalg.norm(left.hi, axis=0) + np.linalg.norm(left.width, axis=0)
    gap = 0.5 * length**2 / ridge + _penalty_part(problem, phi, alpha, zeta, mean) + rounding
    if problem.fit_intercept:
        lengths = np.sqrt(np.maximum(problem.gram.diagonal_at(np.arange(n)), 0.0))
        gap += 0.5 * (mean * lengths.sum()) ** 2
        gap += EPS * n * np.abs(mean) * (np.abs(b) + _largest_intercept(problem, objective))
    values = (h + b).hi
    return RidgeCertificate(float(objective.sum()), float(gap.sum()), values)


def _penalty_part(
    problem: EmbeddedRidge,
    phi: np.ndarray,
    alpha: np.ndarray,
    zeta: np.ndarray,
    mean: np.ndarray,
) -> np.ndarray:
    """Return a bound of ½qᵀP⁻¹q, with multipliers α − mean."""
    weights, k, l = problem.label_precision[:, None], len(zeta), len(phi)
    P = problem.penalty + phi.T @ (weights * phi)
    image = twofold.times(problem.basis.T, alpha)
    shift = np.outer(problem.basis.sum(axis=0), mean)
    q = P @ zeta - phi.T @ (weights * problem.targets) + image.hi - shift
    sizes = np.abs(phi).T @ (weights * np.abs(problem.targets)) + np.abs(P) @ np.abs(zeta)
    width = image.width + 4.0 * (k + l) * EPS * (sizes + np.abs(image.hi) + np.abs(shift))
    values, vectors = np.linalg.eigh((P + P.T) / 2.0)
    values = np.maximum(values, k * EPS * max(float(values[-1]), 1e-300))
    root = np.linalg.norm((vectors.T @ q) / np.sqrt(values)[:, None], axis=0)
    return 0.5 * (root + np.linalg.norm(width, axis=0) / np.sqrt(values[0])) ** 2


def _largest_intercept(problem: EmbeddedRidge, objective: np.ndarray) -> np.ndarray:
    """Return a bound of the optimal |b|: all terms of the objective bound the value of a row."""
    rows, excess = problem.labelled, 2.0 * objective
    lengths = np.sqrt(np.maximum(problem.gram.diagonal_at(rows), 0.0))[:, None]
    target = np.abs(problem.targets) + np.sqrt(excess / problem.label_precision[:, None])
    reach = target + (lengths + np.sqrt(problem.ridge)) * np.sqrt(excess)
    return reach.min(axis=0)
