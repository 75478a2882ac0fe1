"""Regression along a rolled-up sheet
==================================

A thousand rows on a Swiss roll, thirty of them with a target: the position of the row along the
sheet. Rows on two neighbouring turns of the roll are close in space and far apart along the
sheet. A supervised regressor has large errors where targets are sparse; with the graph, values
follow the sheet. Beyond the last target, at both ends, neither can extrapolate.

Both models are LapRLSRegressorCV, which chooses its weights by leave-one-out on the thirty
targets; the supervised one has the single manifold weight 0. The roll is seen from its end. The
result depends on the draw of the targets; the last printed line shows the range over five draws.

Run it::

    python examples/regression.py            # writes output/regression.png
    python examples/regression.py --out regression.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_swiss_roll

from lapwing import KNNGraph, LapRLSRegressorCV
from lapwing.displays import new_figure

TARGETS, DRAWS = 30, 5


def main() -> None:
    parser = argparse.ArgumentParser(description="Regression on a Swiss roll with 30 targets.")
    parser.add_argument("--out", type=Path, default=Path("output/regression.png"))
    out = parser.parse_args().out

    X, along = make_swiss_roll(1000, noise=0.2, random_state=0)
    along = (along - along.min()) / np.ptp(along)  # from 0 to 1
    graph = KNNGraph(normalized=False).fit(X)  # built once, used in all fits

    def fit(draw: int, **settings) -> tuple[LapRLSRegressorCV, np.ndarray, float]:
        """Return the model, the rows with a target, and the mean error on the others."""
        known = np.random.default_rng(draw).permutation(len(X))[:TARGETS]
        y = np.full(len(X), np.nan)  # NaN: unknown
        y[known] = along[known]
        model = LapRLSRegressorCV(graph=graph, **settings).fit(X, y)
        error = np.abs(model.predict(X) - along)
        return model, known, np.delete(error, known).mean()

    models = {"without the graph": {"reg_manifold": [0.0]}, "with the graph": {}}
    figure = new_figure(13.5, 4.8)
    truth, *axes = figure.subplots(1, 3, width_ratios=[1.08, 1.0, 1.08])
    view = X[:, 0], X[:, 2]
    points = truth.scatter(*view, c=along, s=12)
    truth.set_title(f"true values, and the {TARGETS} rows with a target")
    figure.colorbar(points, ax=truth, label="position along the sheet", shrink=0.8)
    for ax, (name, settings) in zip(axes, models.items(), strict=True):
        model, known, error = fit(0, **settings)
        errors = np.abs(model.predict(X) - along)
        points = ax.scatter(*view, c=errors, s=12, cmap="YlOrRd", vmin=0.0, vmax=0.3)
        ax.set_title(f"{name}\nmean error {error:.3f}")
        print(f"{name}: mean error {error:.3f}, chosen {model.best_params_}")
    figure.colorbar(points, ax=axes[-1], label="error (darkest: 0.3 and above)", shrink=0.8)
    for ax in (truth, *axes):
        rows = X[known, 0], X[known, 2]
        ax.scatter(*rows, s=90, facecolors="none", edgecolors="black", linewidths=0.8)
        ax.set(xticks=[], yticks=[], aspect="equal")

    means = {
        name: [fit(draw, **settings)[2] for draw in range(DRAWS)]
        for name, settings in models.items()
    }
    ranges = (f"{name} {np.min(e):.3f} to {np.max(e):.3f}" for name, e in means.items())
    print(f"mean error in {DRAWS} draws:", ", ".join(ranges))

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
