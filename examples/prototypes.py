"""Twenty prototypes represent a thousand rows
===========================================

Two moons, two of their thousand rows labelled. Left: the prototypes, which are k-means centres,
coloured by the sign of their values, and the function they define. Right: a supervised classifier
fitted to the two labels.

Run it::

    python examples/prototypes.py            # writes output/prototypes.png
    python examples/prototypes.py --out prototypes.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.svm import SVC

from lapwing import PVMClassifier
from lapwing.displays import new_figure

COLORS = ["#0072B2", "#E69F00"]  # distinguishable for colour-blind readers


def main() -> None:
    parser = argparse.ArgumentParser(description="PVMClassifier on two moons with two labels.")
    parser.add_argument("--out", type=Path, default=Path("output/prototypes.png"))
    out = parser.parse_args().out

    X, truth = make_moons(1000, noise=0.08, random_state=0)
    y = np.full(1000, -1)  # -1: unlabelled
    labelled = [int(np.flatnonzero(truth == c)[0]) for c in (0, 1)]
    y[labelled] = truth[labelled]

    model = PVMClassifier(n_prototypes=20).fit(X, y)
    supervised = SVC().fit(X[labelled], y[labelled])
    panels = {
        "PVMClassifier, 2 labelled and 998 unlabelled rows": (model, model.transduction_),
        "SVC, 2 labelled rows": (supervised, supervised.predict(X)),
    }

    figure = new_figure(11.5, 4.8)
    for ax, (name, (shown, predicted)) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        accuracy = np.delete(predicted == truth, labelled).mean()
        DecisionBoundaryDisplay.from_estimator(
            shown,
            X,
            response_method="predict",
            plot_method="contourf",
            levels=[-0.5, 0.5, 1.5],
            colors=COLORS,
            alpha=0.15,
            grid_resolution=300,
            eps=0.4,
            ax=ax,
        )
        for c in (0, 1):
            rows = X[truth == c]
            ax.scatter(*rows.T, s=6, color=COLORS[c], alpha=0.35, linewidths=0)
            ax.scatter([], [], s=30, color=COLORS[c], label=f"class {c}")
        ax.scatter(
            *X[labelled].T, s=170, marker="*", c=COLORS, edgecolors="black", label="labelled"
        )
        if shown is model:
            classes = (model.coef_[0] > 0).astype(int)
            ax.scatter(
                *model.prototypes_.T,
                s=60,
                marker="X",
                c=[COLORS[c] for c in classes],
                edgecolors="black",
                label="prototypes",
            )
        ax.set_title(f"{name}\naccuracy {accuracy:.1%} on the unlabelled rows", fontsize=10)
        ax.set(xticks=[], yticks=[])
        ax.legend(loc="lower left", fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
