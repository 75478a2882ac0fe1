"""What the default chooses
========================

Three sets with six labels a class, and nothing set by hand. The bars show how the decision is
shared among the families of machines. Where rows follow shapes or fall into clouds, machines that
use the unlabelled rows decide; where rows are spread evenly, those that see the labels alone keep a
larger share than elsewhere.

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

COLORS = np.array(["#0072B2", "#E69F00"])  # told apart by colour-blind readers as well
FAMILIES = {
    "supervised": "#999999",
    "manifold": "#CC79A7",
    "graph": "#009E73",
    "margin": "#56B4E9",
}


def two_clouds(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds in forty columns, of which no two show the gap."""
    truth = np.arange(300) % 2
    return rng.standard_normal((300, 40)) + 0.27 * np.where(truth == 1, 1, -1)[:, None], truth


def no_structure(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are spread evenly, and a line across them."""
    X = rng.uniform(-1.0, 1.0, (300, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description="What the default chooses on three sets.")
    parser.add_argument("--out", type=Path, default=Path("output/the_default.png"))
    out = parser.parse_args().out
    rng = np.random.default_rng(0)
    sets = {
        "two moons": make_moons(300, noise=0.08, random_state=3),
        "two clouds in 40 columns": two_clouds(rng),
        "no structure": no_structure(rng),
    }
    figure = new_figure(11.0, 5.2)
    top, bottom = figure.subplots(2, 3, height_ratios=[5, 1])
    for (name, (X, truth)), above, below in zip(sets.items(), top, bottom, strict=True):
        y = np.full(len(truth), -1)  # -1: not labelled
        for kind in (0, 1):
            y[rng.permutation(np.flatnonzero(truth == kind))[:6]] = kind
        model = SemiSupervisedClassifier().fit(X, y)
        hidden = y == -1
        ours = np.mean(model.transduction_[hidden] == truth[hidden])
        alone = np.mean(model.supervised_transduction_[hidden] == truth[hidden])
        print(f"{name}: {ours:.1%} right, labels alone {alone:.1%}")
        flat = X if X.shape[1] == 2 else model.map_
        above.scatter(*flat.T, s=9, c=COLORS[model.transduction_])
        above.scatter(*flat[~hidden].T, s=120, marker="*", c=COLORS[y[~hidden]], edgecolors="k")
        above.set_title(f"{name}\n{ours:.1%} right, labels alone {alone:.1%}")
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
        below.set_xlabel("share in the decision")
    figure.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
