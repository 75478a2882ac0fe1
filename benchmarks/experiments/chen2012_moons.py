"""Fig. 1 of Chen, Tsang and Xu (2012): decision boundaries on two moons, one label per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from lapwing.estimators import LapESVC
from lapwing.graphs import KNNGraph

from .data import DataFolder, mean_distance_gamma
from .jobs import Outcome


def moons(data: DataFolder, seed: int) -> Outcome:
    """Return decision values over the plane for four settings (Fig. 1).

    One label per class, C = 10.
    """
    X, truth = make_moons(400, noise=0.1, random_state=seed)
    y = np.full(400, -1)
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[0]] = label
    sides = [np.linspace(x.min() - 0.3, x.max() + 0.3, 70) for x in X.T]
    plane = np.array([(a, b) for b in sides[1] for a in sides[0]])
    panels = []
    for mu, n_eigenvectors in ((0.0, None), (10.0, None), (1e3, None), (10.0, 2)):
        model = LapESVC(
            C=10.0,
            reg_labeled=1e6,
            reg_manifold=mu,
            n_eigenvectors=n_eigenvectors,
            gamma=mean_distance_gamma(X),
            graph=KNNGraph(6),
        ).fit(X, y)
        wrong = 100.0 * np.mean((model.transduction_ != truth)[y < 0])
        kept = "all" if n_eigenvectors is None else n_eigenvectors
        title = f"μ = {mu:g}, {kept} eigenvectors: {wrong:.1f} %"
        panels.append((title, model.decision_function(plane).tolist()))
    return Outcome(
        curves={
            "sides": [side.tolist() for side in sides],
            "rows": X.tolist(),
            "labels": y.tolist(),
            "panels": panels,
        }
    )


def draw_moons(figure: Any, curves: Mapping[str, Any]) -> None:
    """Draw Fig. 1."""
    X, labels = np.array(curves["rows"]), np.array(curves["labels"])
    across, up = (np.array(side) for side in curves["sides"])
    for ax, (title, values) in zip(figure.subplots(1, 4), curves["panels"], strict=True):
        surface = np.array(values).reshape(len(up), len(across))
        if surface.min() < 0 < surface.max():
            ax.contour(across, up, surface, levels=[0.0], colors="black")
        ax.scatter(*X.T, s=3, color="#888888")
        for label, color in ((0, "#0072B2"), (1, "#E69F00")):
            chosen = X[labels == label].T
            ax.scatter(*chosen, s=150, marker="*", color=color, edgecolors="black")
        ax.set_title(title, fontsize=9)
        ax.set_xticks([])
        ax.set_yticks([])
