"""Five ways to spread two labels
==============================

Two moons of 500 rows each, one label per moon, and the five graph methods with their defaults,
except for 100 landmarks or anchors. Local and global consistency (LGC) propagates labels along
the neighbour graph itself. The Nyström method, function induction (NFI) and anchors approximate
the graph by the 100 points; eigenfunctions use one axis at a time and cannot follow a bend.

Rows are coloured by their predicted class, and errors are marked by a ring. Six draws of the two
labels show how much depends on chance.

Run it::

    python examples/graph_methods.py            # writes output/graph_methods.png
    python examples/graph_methods.py --out graph_methods.png
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

from lapwing import (
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LGCClassifier,
    NFIClassifier,
    NystromLGCClassifier,
)
from lapwing.displays import new_figure

COLORS = np.array(["#0072B2", "#E69F00"])  # distinguishable for colour-blind readers
MARKERS = ("o", "^")
DRAWS = 6
MODELS = {
    "LGCClassifier": LGCClassifier(),
    "NystromLGCClassifier": NystromLGCClassifier(n_landmarks=100),
    "NFIClassifier": NFIClassifier(100),
    "AnchorGraphClassifier": AnchorGraphClassifier(100),
    "EigenfunctionClassifier": EigenfunctionClassifier(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Five graph methods on two moons.")
    parser.add_argument("--out", type=Path, default=Path("output/graph_methods.png"))
    out = parser.parse_args().out

    X, truth = make_moons(1000, noise=0.1, random_state=0)
    predicted, accuracy = {}, {name: [] for name in MODELS}
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        labelled = np.array([rng.choice(np.flatnonzero(truth == c)) for c in (0, 1)])
        y = np.full(len(X), -1)  # -1: unlabelled
        y[labelled] = truth[labelled]
        for name, model in MODELS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rows that no label reaches are scored as well
                labels = model.fit(X, y).transduction_
            accuracy[name].append(np.mean(np.delete(labels == truth, labelled)))
            if draw == 0:
                predicted[name], stars = labels, labelled

    figure = new_figure(12.5, 6.6)
    figure.get_layout_engine().set(wspace=0.03, hspace=0.03)
    axes = figure.subplots(2, 3)
    for ax, (name, labels) in zip(axes.flat, predicted.items(), strict=False):
        for c in (0, 1):
            rows = X[labels == c]
            ax.scatter(*rows.T, s=9, marker=MARKERS[c], color=COLORS[c], label=f"predicted {c}")
        wrong = X[labels != truth]
        ax.scatter(
            *wrong.T, s=40, facecolors="none", edgecolors="black", linewidths=0.6, label="wrong"
        )
        ax.scatter(*X[stars].T, s=240, marker="*", c=COLORS, edgecolors="black", zorder=3)
        ax.set_title(f"{name}\naccuracy {accuracy[name][0]:.1%}")
        ax.set(xticks=[], yticks=[])
    box = axes.flat[-1]
    box.boxplot([100 * np.array(values) for values in accuracy.values()], orientation="horizontal")
    # The names are inside the panel: beside it they would leave an empty column above.
    box.set_yticks([])
    for row, name in enumerate(accuracy, 1):
        box.text(1, row - 0.27, name.removesuffix("Classifier"), va="bottom")
    box.set(xlim=(0, 103), ylim=(5.6, 0.35))
    box.set_xlabel("accuracy on the unlabelled rows (%)")
    box.set_title(f"{DRAWS} draws of two labels")
    box.grid(alpha=0.3)
    ax.scatter([], [], s=240, marker="*", c="white", edgecolors="black", label="labelled")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    for name, values in accuracy.items():
        print(f"{name:24} median {np.median(values):6.1%}, worst {min(values):6.1%}")

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
