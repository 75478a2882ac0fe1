"""Shares of the classes among the unlabelled rows, as users know them.

Labels are often balanced by class although the classes are not; then labels do not tell how often
classes occur. What is done with the shares is the matter of `calibration`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .labels import listed


def resolve_shares(class_shares: Any, classes: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """Return the expected shares of the classes among the unlabelled rows; None for None.

    Parameters
    ----------
    class_shares : dict, "labels" or None
        As users give it, its numbers checked. "labels" is (count + 1) / (rows + classes).
    classes : ndarray of shape (n_classes,)
        The classes, sorted.
    counts : ndarray of shape (n_classes,)
        Labelled rows of positive weight of each class.

    Examples
    --------
    >>> classes, counts = np.array(["no", "yes"]), np.array([6, 2])
    >>> resolve_shares("labels", classes, counts)
    array([0.7, 0.3])
    >>> resolve_shares({"yes": 0.1, "no": 0.9}, classes, counts)
    array([0.9, 0.1])
    """
    if class_shares is None:
        return None
    if counts.min() == 0:
        raise ValueError(
            f"class_shares needs a labelled row of positive weight of each class, and there is "
            f"none of {listed(classes[counts == 0])}: give one of its rows a weight, or remove its "
            "labels"
        )
    if isinstance(class_shares, str):
        return labeled_shares(counts)
    names = classes.tolist()
    unknown = [name for name in class_shares if name not in names]
    if unknown:
        raise ValueError(
            f"class_shares names {unknown[0]!r}, and no row has this label: the classes are "
            f"{listed(classes)}. Label a row of it, or leave it out"
        )
    missing = np.array([name not in class_shares for name in names])
    if missing.any():
        raise ValueError(
            f"class_shares has no share for {listed(classes[missing])}: give one to each of the "
            f"classes {listed(classes)}"
        )
    shares = np.array([float(class_shares[name]) for name in names])
    return shares / shares.sum()


def labeled_shares(counts: np.ndarray) -> np.ndarray:
    """Return (count + 1) / (rows + classes), the shares of the classes among labelled rows."""
    return (counts + 1.0) / (counts + 1.0).sum(axis=-1, keepdims=True)
