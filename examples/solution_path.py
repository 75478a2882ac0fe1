"""Every λ at once
===============

Two moons with four labels: LapSVC for every λ, from the most to the least regularised. Top: the
boundary for a large, a medium and a small λ; if λ is large, it cuts through a moon. Bottom: the
whole path, with λ decreasing from left to right, and the accuracy on test rows. In this draw of
the data λ matters; the last printed lines show other draws.

After Fig. 3 of Wang, Chen, Yeung & Lochovsky (2006): half of 200 rows are for training, four of
them labelled, and the other half is for testing; columns are scaled to [−1, 1], the kernel is
exp(−‖a − b‖²/0.1), ρ = 0.001, and the graph has 6 neighbours with equal weights.

Run it::

    python examples/solution_path.py            # writes output/solution_path.png
    python examples/solution_path.py --out solution_path.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons
from sklearn.preprocessing import MinMaxScaler

from lapwing import KNNGraph, LapSVCPath
from lapwing.displays import PathDisplay, new_figure

DRAW, DRAWS = 6, 8


def fit(draw: int) -> tuple[LapSVCPath, np.ndarray, np.ndarray]:
    """Return the path on one half of the moons, and the other half with its classes."""
    X, truth = make_moons(n_samples=200, noise=0.06, random_state=draw)
    X = MinMaxScaler((-1, 1)).fit_transform(X)
    labelled = np.concatenate([np.flatnonzero(truth[:100] == c)[:2] for c in (0, 1)])
    y = np.full(100, -1)  # -1: unlabelled
    y[labelled] = truth[labelled]
    graph = KNNGraph(n_neighbors=6, weights="binary", normalized=False)
    model = LapSVCPath(rho=1e-3, gamma=10.0, graph=graph).fit(X[:100], y)
    return model, X[100:], truth[100:]


def main() -> None:
    parser = argparse.ArgumentParser(description="The solution path on two moons with 4 labels.")
    parser.add_argument("--out", type=Path, default=Path("output/solution_path.png"))
    out = parser.parse_args().out

    model, X, truth = fit(DRAW)
    figure = new_figure(11.0, 9.5)
    above, below = figure.subfigures(2, 1, height_ratios=[1.0, 1.3])
    display = PathDisplay.from_estimator(model, X, truth, axes=below.subplots(3, 1))
    events = model.lambdas_[:-1]  # the last value is the end of the path
    print(f"{len(events)} breakpoints, at λ = {', '.join(f'{lam:.3g}' for lam in events)}")
    for ax, lam in zip(above.subplots(1, 3), np.geomspace(*events[[0, -1]], 3), strict=True):
        display.plot_boundary(lam, ax=ax)
        accuracy = np.mean(model.predict(X, lam=lam) == truth)
        print(f"λ = {lam:.3g}: accuracy {accuracy:.0%} on {len(X)} test rows")
    accuracy = np.mean(model.predict(X) == truth)
    print(f"λ = {model.lambda_:.3g}, chosen on the four labels: accuracy {accuracy:.0%}")
    above.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5)

    print(f"Lowest and highest accuracy along the path in {DRAWS} draws:")
    for draw in range(DRAWS):
        model, X, truth = fit(draw)
        accuracy = model.accuracy_path(X, truth)[1]
        print(f"  draw {draw}: {accuracy.min():.0%} to {accuracy.max():.0%}")

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
