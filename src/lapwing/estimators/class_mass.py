"""Class-mass normalisation: scaling classes so that their values add up to what is expected.

Values that are spread over a graph may favour a class only because of where its labelled rows lie.
With a prior q_c and the mass m_c = Σ_i f_ic, f_ic is replaced by f_ic · q_c · M / m_c, where M
is the same for all classes: Zhu, Ghahramani & Lafferty (2003), section 4. They sum over unlabelled
rows; here the sum is over all training rows.

Estimators use `check_prior` before anything is computed and `class_scales` afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..messages import warn
from .class_shares import labeled_shares
from .targets import Targets

#: Mass of a class, relative to that of all classes, below which it is not divided by.
_LEAST_SHARE = 1e-12
_FORMS = (
    "None, 'labeled', 'equal', a dict that gives each class its share, or the shares in the order "
    "of the sorted classes"
)


@dataclass(frozen=True)
class ClassScales:
    """Factors of the values of the classes, with all labels and without one at a time.

    Attributes
    ----------
    factors : ndarray of shape (n_classes,)
        With all labels.
    held_out : ndarray of shape (k, n_classes)
        Without the label of one row each.
    shares, held_out_shares : ndarray that broadcast to these
        The expected shares of the classes: the prior, or without one those of the labelled rows.
    """

    factors: np.ndarray
    held_out: np.ndarray
    shares: np.ndarray
    held_out_shares: np.ndarray


def check_prior(class_prior: Any, targets: Targets) -> None:
    """Refuse a prior that does not match the classes, before anything is computed."""
    assert targets.classes is not None
    resolve_prior(class_prior, targets.classes, np.ones(len(targets.classes)))


def class_scales(
    class_prior: Any,
    targets: Targets,
    mass: np.ndarray,
    held_out_mass: np.ndarray,
    *,
    sample: np.ndarray | None = None,
    total: float | None = None,
    least: float | None = None,
    advice: str = "",
) -> ClassScales:
    """Return the factors that bring the classes to their prior, and warn where that is impossible.

    Parameters
    ----------
    class_prior : {None, "labeled", "equal"}, dict or array
        As users give it.
    targets : Targets
        The labels.
    mass : ndarray of shape (n_classes,)
        Sums of the values over all rows.
    held_out_mass : ndarray of shape (k, n_classes)
        The same without the label of one row each.
    sample : ndarray of int, shape (k,), optional
        The labelled rows that are left out; by default all.
    total, least : float, optional
        See `class_factors`.
    advice : str, optional
        See `warn_lost_mass`.
    """
    assert targets.classes is not None
    one_hot = targets.one_hot
    counts = one_hot.sum(axis=0)
    held_out_counts = counts - (one_hot if sample is None else one_hot[sample])
    prior = resolve_prior(class_prior, targets.classes, counts)
    held_out_prior = resolve_prior(class_prior, targets.classes, held_out_counts)
    if prior is not None:
        warn_lost_mass(mass, targets.classes, advice=advice, least=least)
    return ClassScales(
        class_factors(mass, prior, total=total, least=least),
        class_factors(held_out_mass, held_out_prior, total=total, least=least),
        labeled_shares(counts) if prior is None else prior,
        labeled_shares(held_out_counts) if held_out_prior is None else held_out_prior,
    )


def resolve_prior(class_prior: Any, classes: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """Return the expected shares of the classes, which sum to one; None for None.

    Parameters
    ----------
    class_prior : {None, "labeled", "equal"}, dict or array
        As users give it. "labeled" is (count + 1) / (rows + classes), in which a class with few
        labels is less rare than among the labels.
    classes : ndarray of shape (n_classes,)
        The classes, sorted.
    counts : ndarray of shape (n_classes,) or (k, n_classes)
        Labelled rows of each class; or one row per case, for instance with one label left out.

    Returns
    -------
    ndarray of shape (n_classes,), or that of ``counts`` for "labeled"; or None
        The shares.

    Examples
    --------
    >>> classes, counts = np.array(["no", "yes"]), np.array([4, 1])
    >>> resolve_prior("labeled", classes, counts).round(3)
    array([0.714, 0.286])
    >>> resolve_prior({"no": 3, "yes": 1}, classes, counts)
    array([0.75, 0.25])
    """
    if class_prior is None:
        return None
    if isinstance(class_prior, str):
        if class_prior == "equal":
            return np.full(len(classes), 1.0 / len(classes))
        if class_prior == "labeled":
            return labeled_shares(counts)
        raise ValueError(f"class_prior must be {_FORMS}, got {class_prior!r}")
    if isinstance(class_prior, Mapping):
        if set(class_prior) != set(classes.tolist()):
            raise ValueError(
                f"class_prior must give a share to each of the classes {classes.tolist()} and to "
                f"no other, got {list(class_prior)}"
            )
        class_prior = [class_prior[c] for c in classes.tolist()]
    try:
        shares = np.asarray(class_prior, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_prior must be {_FORMS}, got {class_prior!r}") from error
    if shares.shape != classes.shape:
        raise ValueError(
            f"class_prior must hold one share for each of the {len(classes)} classes, got shape "
            f"{shares.shape}"
        )
    if not (np.isfinite(shares).all() and (shares > 0).all()):
        raise ValueError(f"class_prior must hold positive, finite shares, got {class_prior!r}")
    shares = shares / shares.max()  # or the sum may overflow
    return shares / shares.sum()


def mass_shares(mass: np.ndarray) -> np.ndarray:
    """Return masses divided by the sum of their absolute values; zeros where all are zero."""
    return mass / (float(np.abs(mass).sum()) or 1.0)


def class_factors(
    mass: np.ndarray,
    prior: np.ndarray | None,
    *,
    total: float | np.ndarray | None = None,
    least: float | None = None,
) -> np.ndarray:
    """Return the factor of each class, q_c · M / m_c.

    Parameters
    ----------
    mass : ndarray of shape (n_classes,) or (k, n_classes)
        m, sums of the values over all rows; or one row per case.
    prior : ndarray that broadcasts to it, or None
        q; None scales nothing.
    total : float, optional
        M, by default the sum of m, so that scaling does not change the sum of all values.
    least : float, optional
        Smallest mass that is divided by; by default a tiny share of the sum.

    Returns
    -------
    ndarray of the shape of ``mass``
        The factors; all are 1 in a case in which one class has too little mass.

    Examples
    --------
    >>> class_factors(np.array([6.0, 2.0]), np.array([0.5, 0.5]))
    array([0.667, 2.   ])
    """
    if prior is None:
        return np.ones_like(mass)
    if total is None:
        total = mass.sum(axis=-1, keepdims=True)
    fine = _has_mass(mass, least).all(axis=-1, keepdims=True)
    # The inverse of 1/k is k to the last bit, so that equal shares are a division by k.
    return np.where(fine, total / ((1.0 / prior) * np.where(fine, mass, 1.0)), 1.0)


def warn_lost_mass(
    mass: np.ndarray, classes: np.ndarray, *, advice: str = "", least: float | None = None
) -> None:
    """Warn if a class has too little mass, so that `class_factors` gives 1 for all classes.

    ``advice`` continues the sentence "Label more rows of them, give them more weight…".
    """
    lost = ~_has_mass(mass, least)
    if lost.any():
        warn(
            f"the values of all rows add up to next to nothing for {classes[lost].tolist()}: the "
            "classes are compared without dividing by their sums. Label more rows of them, give "
            f"them more weight{advice}, or set class_prior=None"
        )


def _has_mass(mass: np.ndarray, least: float | None) -> np.ndarray:
    """Return which classes have enough mass to be divided by."""
    smallest = least if least is not None else _LEAST_SHARE * np.abs(mass).sum(-1, keepdims=True)
    return mass >= np.maximum(smallest, np.finfo(np.float64).tiny)  # zero cannot be divided by
