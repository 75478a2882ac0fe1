"""Two moons through a few eigenvectors
====================================

The effect of the graph and of its eigenvectors on LapESVC, with one label per moon. LapESVC fits
f to a function g that follows the labels and, with weight μ, the graph. Without the graph (μ = 0)
two labels do not determine the moons. With μ = 10, g is drawn towards f; with μ = 1000, less so.
With two eigenvectors, one for each moon, g can only be constant on each moon.

The settings are those of Chen, Tsang & Xu (2012), Fig. 1: C = 10, λ = 1e6, 6 neighbours.

Run it::

    python examples/embedding.py            # writes output/embedding.png
    python examples/embedding.py --out embedding.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from lapwing import KNNGraph, LapESVC
from lapwing.displays import new_figure

COLORS = np.array(["#0072B2", "#E69F00"])  # distinguishable for colour-blind readers
MARKERS = ("o", "^")
PANELS = {
    "μ = 0: labels alone": {"reg_manifold": 0.0},
    "μ = 10": {"reg_manifold": 10.0},
    "μ = 1000": {"reg_manifold": 1000.0},
    "μ = 10, two eigenvectors": {"reg_manifold": 10.0, "n_eigenvectors": 2},
}


def main() -> None:
    parser = argparse.ArgumentParser(description="LapESVC on two moons with two labels.")
    parser.add_argument("--out", type=Path, default=Path("output/embedding.png"))
    out = parser.parse_args().out

    X, truth = make_moons(n_samples=400, noise=0.06, random_state=0)
    labelled = np.array([np.flatnonzero(truth == c)[0] for c in (0, 1)])
    y = np.full(len(X), -1)  # -1: unlabelled
    y[labelled] = truth[labelled]
    graph = KNNGraph(n_neighbors=6).fit(X)
    gamma = 1.0 / (2.0 * X.var(axis=0).sum())  # 1 / the mean squared distance of two rows

    figure = new_figure(11.0, 8.4)
    for ax, (name, settings) in zip(figure.subplots(2, 2).flat, PANELS.items(), strict=True):
        model = LapESVC(C=10.0, reg_labeled=1e6, gamma=gamma, graph=graph, **settings).fit(X, y)
        options = {
            "response_method": "decision_function",
            "grid_resolution": 200,
            "eps": 0.4,
            "ax": ax,
        }
        DecisionBoundaryDisplay.from_estimator(
            model,
            X,
            plot_method="contourf",
            levels=[-1e9, 0, 1e9],
            colors=COLORS,
            alpha=0.2,
            **options,
        )
        DecisionBoundaryDisplay.from_estimator(
            model, X, plot_method="contour", levels=[0], colors="black", **options
        )
        support = np.zeros(len(X), dtype=bool)
        support[model.support_] = True
        for c in (0, 1):
            style = {"s": 16, "marker": MARKERS[c], "linewidths": 0.8}
            rows, rest = support & (truth == c), ~support & (truth == c)
            ax.scatter(*X[rest].T, facecolors="none", edgecolors=COLORS[c], alpha=0.7, **style)
            ax.scatter(*X[rows].T, color=COLORS[c], label=f"class {c}, support", **style)
        ax.scatter(*X[labelled].T, s=260, marker="*", c=COLORS, edgecolors="black")
        error = np.mean(model.predict(X) != truth)
        ax.set_title(f"{name}\nerror {error:.1%}, {support.sum()} support rows")
        ax.set_xticks([])
        ax.set_yticks([])
        print(f"{name}: error {error:.2%}, {support.sum()} support rows")
    for c in (0, 1):
        style = {"facecolors": "none", "edgecolors": COLORS[c], "marker": MARKERS[c]}
        ax.scatter([], [], label=f"class {c}, other", **style)
    ax.scatter([], [], s=260, marker="*", c="white", edgecolors="black", label="labelled")
    ax.plot([], [], "k-", label="boundary, f = 0")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=6)

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
