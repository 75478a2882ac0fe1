"""A gap between clusters
======================

Two clusters with four labels at misleading positions: a supervised classifier against S3VC. Four
labels hardly constrain the boundary, and half-way between them is not half-way between the
clusters. The boundary of S3VC stays away from the unlabelled rows as well, and so finds the gap.

Run it::

    python examples/cluster_margin.py            # writes output/cluster_margin.png
    python examples/cluster_margin.py --out cluster_margin.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.svm import SVC

from lapwing import S3VC
from lapwing.displays import new_figure

COLORS = np.array(["#0072B2", "#E69F00"])  # distinguishable for colour-blind readers
MARKERS = ("o", "^")


def two_clusters(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, their true classes, and the four rows that are labelled."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], n // 2)
    X = rng.normal(size=(n, 2)) * [0.55, 1.6] + np.where(truth, 2.0, -2.0)[:, None] * [1, 0]
    # Class 0 is labelled at the lower end of its cluster, class 1 at the upper end.
    order = np.argsort(np.where(truth, -X[:, 1], X[:, 1]))
    return X, truth, np.concatenate([order[truth[order] == c][4:6] for c in (0, 1)])


def main() -> None:
    parser = argparse.ArgumentParser(description="S3VC and SVC on two clusters with four labels.")
    parser.add_argument("--out", type=Path, default=Path("output/cluster_margin.png"))
    out = parser.parse_args().out

    X, truth, labelled = two_clusters()
    y = np.full(len(X), -1)  # -1: unlabelled
    y[labelled] = truth[labelled]
    unlabelled = y == -1

    supervised = SVC(kernel="linear").fit(X[labelled], y[labelled])
    margin = S3VC().fit(X, y)
    panels = {
        "SVC, 4 labelled rows": (supervised, supervised.predict(X)),
        f"S3VC, 4 labelled and {unlabelled.sum()} unlabelled rows": (margin, margin.transduction_),
    }

    figure = new_figure(11.0, 5.4)
    for ax, (name, (model, predicted)) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        options = {
            "response_method": "decision_function",
            "grid_resolution": 200,
            "eps": 0.6,
            "ax": ax,
        }
        DecisionBoundaryDisplay.from_estimator(
            model,
            X,
            plot_method="contourf",
            levels=[-1e9, 0, 1e9],
            colors=COLORS,
            alpha=0.15,
            **options,
        )
        DecisionBoundaryDisplay.from_estimator(
            model,
            X,
            plot_method="contour",
            levels=[-1, 0, 1],
            colors="black",
            linestyles=["--", "-", "--"],
            **options,
        )
        for c in (0, 1):
            rows = unlabelled & (predicted == c)
            ax.scatter(*X[rows].T, s=14, marker=MARKERS[c], color=COLORS[c], label=f"predicted {c}")
        wrong = predicted != truth
        ax.scatter(
            *X[wrong].T, s=60, facecolors="none", edgecolors="black", linewidths=0.8, label="wrong"
        )
        ax.scatter(*X[labelled].T, s=260, marker="*", c=COLORS[y[labelled]], edgecolors="black")
        accuracy = np.mean(predicted[unlabelled] == truth[unlabelled])
        ax.set_title(f"{name}\naccuracy {accuracy:.1%} on the unlabelled rows")
        ax.set_xticks([])
        ax.set_yticks([])
        print(f"{name}: accuracy on the unlabelled rows {accuracy:.1%}")
    ax.scatter([], [], s=260, marker="*", c="white", edgecolors="black", label="labelled")
    ax.plot([], [], "k-", label="boundary, f = 0")
    ax.plot([], [], "k--", label="margin, f = ±1")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=6)

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
