"""When unlabelled rows hurt
=========================

Three clusters, and the line between the two classes runs through the middle one. The graph
implies that rows of one cluster belong to one class, which is wrong here, and the larger its
weight, the worse LapSVC becomes. Left and middle: one draw of 20 labels, without the graph (γ_I =
0, the supervised model) and with a large weight. Right: ten draws, all weights. The crosses mark
the weights that five-fold cross-validation on the 20 labels chooses.

On average over the draws, cross-validation detects the harm. With one draw of 20 labels it often
does not: its score has steps of 5 %, and in half of the draws it chooses a weight that is worse
than none, in three of them by far. A few labels cannot show whether the graph is appropriate;
knowledge about the data can. The clusters were designed so that the graph is wrong; in a first
attempt with two clusters, both cut by the line, the graph did little harm. No parameter was
chosen by hand.

Run it::

    python examples/unlabelled_hurt.py            # writes output/unlabelled_hurt.png
    python examples/unlabelled_hurt.py --out unlabelled_hurt.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay

from lapwing import KNNGraph, LapSVC, LapSVCCV
from lapwing.displays import new_figure

COLORS = np.array(["#0072B2", "#E69F00"])  # distinguishable for colour-blind readers
MARKERS = ("o", "^")
WEIGHTS = np.array([0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0])
DRAWS, LABELS = 10, 20


def three_clusters(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three clusters, and classes that cut the middle one in half."""
    rng = np.random.default_rng(0)
    where = np.repeat([-1, 0, 1], [n // 4, n // 2, n // 4])
    X = rng.normal(size=(n, 2)) * [0.4, 1.0] + 2.5 * where[:, None] * [1, 0]
    return X, (X[:, 0] > 0).astype(int)


def draw_labels(truth: np.ndarray, seed: int) -> np.ndarray:
    """Return y with equally many random labels of each class, -1 elsewhere."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in (0, 1):
        y[rng.permutation(np.flatnonzero(truth == c))[: LABELS // 2]] = c
    return y


def main() -> None:
    parser = argparse.ArgumentParser(description="LapSVC on clusters that are not the classes.")
    parser.add_argument("--out", type=Path, default=Path("output/unlabelled_hurt.png"))
    out = parser.parse_args().out

    X, truth = three_clusters()
    graph = KNNGraph().fit(X)  # built once, used in all fits

    accuracy = np.empty((DRAWS, len(WEIGHTS)))
    score, chosen = np.empty_like(accuracy), np.empty(DRAWS, dtype=int)
    for seed in range(DRAWS):
        y = draw_labels(truth, seed)
        rest = y == -1
        for j, weight in enumerate(WEIGHTS):
            model = LapSVC(reg_manifold=weight, graph=graph).fit(X, y)
            accuracy[seed, j] = np.mean(model.transduction_[rest] == truth[rest])
        search = LapSVCCV(reg_ambient=[1e-4], reg_manifold=WEIGHTS, graph=graph).fit(X, y)
        score[seed] = search.cv_results_["mean_test_score"]
        chosen[seed] = np.flatnonzero(search.best_params_["reg_manifold"] == WEIGHTS)[0]
    selected = accuracy[np.arange(DRAWS), chosen]
    print("weight      accuracy   cross-validated")
    for j, weight in enumerate(WEIGHTS):
        print(f"{weight:7g} {accuracy[:, j].mean():12.1%} {score[:, j].mean():17.1%}")
    worse, better = np.sum(selected < accuracy[:, 0]), np.sum(selected > accuracy[:, 0])
    print(
        f"chosen by cross-validation: {selected.mean():.1%}; worse than without the graph in "
        f"{worse} of {DRAWS} draws, better in {better}"
    )

    figure = new_figure(14.0, 4.8)
    *maps, curve = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 1.3])
    y = draw_labels(truth, 0)
    labelled = y != -1
    for ax, weight in zip(maps, (0.0, 100.0), strict=True):
        model = LapSVC(reg_manifold=weight, graph=graph).fit(X, y)
        DecisionBoundaryDisplay.from_estimator(
            model,
            X,
            response_method="predict",
            plot_method="contourf",
            levels=[-0.5, 0.5, 1.5],
            colors=COLORS,
            alpha=0.2,
            grid_resolution=200,
            eps=0.3,
            ax=ax,
        )
        for c in (0, 1):
            rows, given = X[(truth == c) & ~labelled], X[(truth == c) & labelled]
            style = {"marker": MARKERS[c], "color": COLORS[c]}
            ax.scatter(*rows.T, s=10, alpha=0.7, linewidths=0, label=f"class {c}", **style)
            ax.scatter(*given.T, s=70, edgecolors="black", label=f"class {c}, labelled", **style)
        unlabelled = np.mean(model.transduction_[~labelled] == truth[~labelled])
        ax.set_title(f"LapSVC, γ_I = {weight:g}\naccuracy {unlabelled:.1%} on the unlabelled rows")
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=4)

    position = np.arange(len(WEIGHTS))
    curve.plot(position, 100 * accuracy.T, color="#888888", alpha=0.5, linewidth=0.8)
    curve.plot(position, 100 * accuracy.mean(axis=0), "k-o", label="accuracy, mean of ten draws")
    curve.plot(position, 100 * score.mean(axis=0), "--s", color="#D55E00", label="cross-validated")
    curve.plot(
        chosen, 100 * selected, "x", color="#0072B2", ms=9, mew=2.5, label="chosen in each draw"
    )
    curve.set_xticks(position, [f"{weight:g}" for weight in WEIGHTS], fontsize=9)
    curve.set_xlabel("γ_I, weight of the graph")
    curve.set_ylabel("accuracy on the unlabelled rows (%)")
    curve.set_title("Ten draws of 20 labels")
    curve.legend(loc="lower left", fontsize=9)
    curve.grid(alpha=0.3)

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
