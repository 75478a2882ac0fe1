"""Two moons, one label each
=========================

A supervised classifier against LapSVC. Two labels contain no information about the shape of the
classes, but the unlabelled rows do: LapSVC puts the boundary between the moons, SVC half-way
between the two labelled rows.

Run it::

    python examples/two_moons.py            # writes output/two_moons.png
    python examples/two_moons.py --out two_moons.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.svm import SVC

from lapwing import LapSVC
from lapwing.displays import new_figure

COLORS = np.array(["#0072B2", "#E69F00"])  # distinguishable for colour-blind readers


def main() -> None:
    parser = argparse.ArgumentParser(description="LapSVC and SVC on two moons with two labels.")
    parser.add_argument("--out", type=Path, default=Path("output/two_moons.png"))
    out = parser.parse_args().out

    X, truth = make_moons(n_samples=400, noise=0.06, random_state=0)
    labelled = np.array([np.flatnonzero(truth == c)[0] for c in (0, 1)])
    y = np.full(len(X), -1)  # -1: unlabelled
    y[labelled] = truth[labelled]

    models = {
        "SVC, 2 labelled rows": SVC(gamma=2.0).fit(X[labelled], y[labelled]),
        "LapSVC, 2 labelled and 398 unlabelled rows": LapSVC(gamma=2.0).fit(X, y),
    }

    figure = new_figure(11.0, 4.6)
    for ax, (name, model) in zip(figure.subplots(1, 2), models.items(), strict=True):
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
        for c in (0, 1):
            ax.scatter(*X[truth == c].T, s=10, color=COLORS[c], label=f"class {c}")
        ax.scatter(*X[labelled].T, s=220, marker="*", c=COLORS, edgecolors="black")
        accuracy = model.score(X, truth)
        ax.set_title(f"{name}\naccuracy {accuracy:.1%}")
        ax.set_xticks([])
        ax.set_yticks([])
        print(f"{name}: accuracy {accuracy:.1%}")
    ax.scatter([], [], s=220, marker="*", c="white", edgecolors="black", label="labelled")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
