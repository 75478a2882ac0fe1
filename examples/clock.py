"""The clock: one label on the rim, one on the hands
=================================================

One class is the rim of a clock, the other its two hands. One row of each is labelled. SVC is
fitted to these two rows and puts a line between them. LapSVC follows the rows along the rim and
along the hands.

The data resemble Fig. 1 of Melacci & Belkin (2011). Both models have the same kernel, whose width
was chosen by eye; the other parameters are defaults. The printed table shows how much the width
matters.

Run it::

    python examples/clock.py            # writes output/clock.png
    python examples/clock.py --out clock.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.svm import SVC

from lapwing import KNNGraph, LapSVC
from lapwing.displays import new_figure

COLORS = np.array(["#0072B2", "#E69F00"])  # distinguishable for colour-blind readers
MARKERS = ("o", "^")
NAMES = ("rim", "hands")


def clock(n_rim: int = 240, n_hand: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the rim (class 0) and of the two hands (class 1)."""
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(n_rim) / n_rim
    rim = np.column_stack([np.cos(angle), np.sin(angle)])
    hands = [
        np.linspace(0.0, length, n_hand)[:, None] * [np.sin(turn), np.cos(turn)]
        for length, turn in ((0.7, 0.3), (0.5, 2.1))  # minutes and hours, clockwise from noon
    ]
    X = np.vstack([rim, *hands])
    truth = np.repeat([0, 1], [n_rim, 2 * n_hand])
    return X + rng.normal(scale=0.02, size=X.shape), truth


def main() -> None:
    parser = argparse.ArgumentParser(description="LapSVC and SVC on a clock with two labels.")
    parser.add_argument("--out", type=Path, default=Path("output/clock.png"))
    out = parser.parse_args().out

    X, truth = clock()
    labelled = np.array([150, 290])  # lower left on the rim; near the tip of the long hand
    y = np.full(len(X), -1)  # -1: unlabelled
    y[labelled] = truth[labelled]
    graph = KNNGraph().fit(X)

    print("gamma     SVC   LapSVC")
    for gamma in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
        supervised = SVC(gamma=gamma).fit(X[labelled], y[labelled]).score(X, truth)
        semi = LapSVC(gamma=gamma, graph=graph).fit(X, y).score(X, truth)
        print(f"{gamma:5} {supervised:7.1%} {semi:8.1%}")

    models = {
        "SVC, 2 labelled rows": SVC(gamma=4.0).fit(X[labelled], y[labelled]),
        f"LapSVC, 2 labelled and {len(X) - 2} unlabelled rows": LapSVC(gamma=4.0, graph=graph),
    }
    models[list(models)[1]].fit(X, y)

    figure = new_figure(10.0, 6.2)
    for ax, (name, model) in zip(figure.subplots(1, 2), models.items(), strict=True):
        options = {
            "response_method": "decision_function",
            "grid_resolution": 200,
            "eps": 0.2,
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
            rows = X[truth == c]
            ax.scatter(*rows.T, s=12, marker=MARKERS[c], color=COLORS[c], label=NAMES[c])
        ax.scatter(*X[labelled].T, s=260, marker="*", c=COLORS, edgecolors="black", zorder=3)
        ax.set_title(f"{name}\naccuracy {model.score(X, truth):.1%}")
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="", aspect="equal")
    ax.scatter([], [], s=260, marker="*", c="white", edgecolors="black", label="labelled")
    ax.plot([], [], "k-", label="boundary")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
