"""What the power p of Lᵖ does
===========================

Rows along a line, five of them with a target, and the curve that LapRLSRegressor fits to these.
The kernel is so narrow that the graph determines the curve. With p = 1, differences between
neighbours are penalised: the curve is piecewise linear between targets and constant beyond the
last ones, like a string. With p = 2, second differences are penalised: the curve has no kinks,
like a bent rod. With p = 3 it is smoother still and overshoots more.

The power changes the scale of the smoothness term, because the eigenvalues of L are small. So
each power has its own weight γ_I: first one so small that the targets are nearly met, then one
that is a hundred times as large.

Run it::

    python examples/effect_of_power.py            # writes output/effect_of_power.png
    python examples/effect_of_power.py --out effect_of_power.png
"""

import argparse
from pathlib import Path

import numpy as np

from lapwing import KNNGraph, LapRLSRegressor
from lapwing.displays import new_figure

WEIGHTS = {1: 0.1, 2: 10.0, 3: 300.0}  # of each power; the targets are nearly met
KNOWN = np.array([20, 60, 100, 140, 180])
TARGETS = np.array([0.0, 1.0, -0.5, 0.5, 0.2])


def main() -> None:
    parser = argparse.ArgumentParser(description="Powers of the Laplacian on a line.")
    parser.add_argument("--out", type=Path, default=Path("output/effect_of_power.png"))
    out = parser.parse_args().out

    X = np.linspace(0.0, 1.0, 201)[:, None]
    y = np.full(len(X), np.nan)  # NaN: unknown
    y[KNOWN] = TARGETS

    figure = new_figure(12.0, 4.4)
    for ax, (power, weight) in zip(
        figure.subplots(1, 3, sharey=True), WEIGHTS.items(), strict=True
    ):
        graph = KNNGraph(2, weights="binary", normalized=False, power=power).fit(X)
        for factor, style in ((1.0, "-"), (100.0, "--")):
            model = LapRLSRegressor(gamma=2000.0, reg_manifold=weight * factor, graph=graph).fit(
                X, y
            )
            f = model.predict(X)
            miss, kink = np.abs(f[KNOWN] - TARGETS).max(), np.abs(np.diff(f, 2)).max()
            print(
                f"p = {power}, weight {weight * factor:7g}: largest error at a target {miss:.2f}, "
                f"largest second difference {kink:.4f}"
            )
            color = "#0072B2" if factor == 1 else "#D55E00"
            ax.plot(X[:, 0], f, style, color=color, label=f"γ_I = {weight * factor:g}")
        ax.scatter(X[KNOWN, 0], TARGETS, s=150, marker="*", c="white", edgecolors="black", zorder=3)
        ax.set_title(f"p = {power}")
        ax.set_xlabel("position of the row")
        ax.grid(alpha=0.3)
        ax.legend(loc="upper right", fontsize=9)
    figure.axes[0].set_ylabel("f")

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
