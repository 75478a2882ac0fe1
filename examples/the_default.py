"""What the default chooses
========================

Three data sets with six labels per class, and no parameter set by hand. The bars show the weights
of the families of models in the decision. Where rows lie on curves or in clusters, models that
use the unlabelled rows dominate; where rows are spread evenly, the supervised ones have a larger
weight than elsewhere.

Run it::

    python examples/the_default.py          # writes output/the_default.png
    python examples/the_default.py --out the_default.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

from lapwing import SemiSupervisedClassifier
from lapwing.displays import new_figure

COLORS = np.array(["#0072B2", "#E69F00"])  # distinguishable for colour-blind readers
FAMILIES = {
    "supervised": "#999999",
    "manifold": "#CC79A7",
    "graph": "#009E73",
    "margin": "#56B4E9",
    "self-training": "#D55E00",
}


def two_clusters(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two clusters in forty columns; no two of these show the gap."""
    truth = np.arange(300) % 2
    return rng.standard_normal((300, 40)) + 0.27 * np.where(truth == 1, 1, -1)[:, None], truth


def no_structure(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that are spread evenly, and classes on the two sides of a line."""
    X = rng.uniform(-1.0, 1.0, (300, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description="What the default chooses on three sets.")
    parser.add_argument("--out", type=Path, default=Path("output/the_default.png"))
    out = parser.parse_args().out
    rng = np.random.default_rng(0)
    sets = {
        "two moons": make_moons(300, noise=0.08, random_state=3),
        "two clusters in 40 columns": two_clusters(rng),
        "no structure": no_structure(rng),
    }
    figure = new_figure(11.0, 5.2)
    top, bottom = figure.subplots(2, 3, height_ratios=[5, 1])
    for (name, (X, truth)), above, below in zip(sets.items(), top, bottom, strict=True):
        y = np.full(len(truth), -1)  # -1: unlabelled
        for c in (0, 1):
            y[rng.permutation(np.flatnonzero(truth == c))[:6]] = c
        model = SemiSupervisedClassifier().fit(X, y)
        hidden = y == -1
        accuracy = np.mean(model.transduction_[hidden] == truth[hidden])
        alone = np.mean(model.supervised_transduction_[hidden] == truth[hidden])
        print(f"{name}: accuracy {accuracy:.1%}, supervised {alone:.1%}")
        flat = X if X.shape[1] == 2 else model.map_
        above.scatter(*flat.T, s=9, c=COLORS[model.transduction_])
        above.scatter(*flat[~hidden].T, s=120, marker="*", c=COLORS[y[~hidden]], edgecolors="k")
        above.set_title(f"{name}\naccuracy {accuracy:.1%}, supervised {alone:.1%}")
        above.set_xticks([])
        above.set_yticks([])
        left = 0.0
        for family, color in FAMILIES.items():
            found = model.report_.candidates
            share = sum(c["weight"] for c in found if c["family"] == family)
            below.barh(0, share, left=left, color=color, label=family)
            left += share
        below.set_xlim(0, 1)
        below.set_yticks([])
        below.set_xlabel("weight in the decision")
    figure.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
