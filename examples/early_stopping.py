"""Decisions settle before the objective does
==========================================

The conjugate gradient method, ``solver="pcg"``, on handwritten digits with 20 labels. Two
quantities are recorded after each iteration: how far the objective is above the optimum, and how
many unlabelled rows have another decision than at the optimum, which the exact solver computes.
``stopping="stability"`` uses neither: it stops when the decisions no longer change.

Run it::

    python examples/early_stopping.py            # writes output/early_stopping.png
    python examples/early_stopping.py --out early_stopping.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from lapwing import KNNGraph, LapSVC
from lapwing.displays import new_figure

ITERATIONS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description="Early stopping on handwritten digits.")
    parser.add_argument("--out", type=Path, default=Path("output/early_stopping.png"))
    out = parser.parse_args().out

    X, truth = load_digits(return_X_y=True)
    X = X / 16.0
    labelled = np.concatenate([np.flatnonzero(truth == c)[:2] for c in range(10)])
    y = np.full(len(X), -1)
    y[labelled] = truth[labelled]
    unlabelled = y == -1
    graph = KNNGraph().fit(X)  # built once, used in three fits

    exact = LapSVC(graph=graph).fit(X, y)
    optimal = exact.transduction_[unlabelled]

    excess, different, accuracy = [], [], []

    def record(step):  # called after each iteration; a true return value stops the solver
        decisions = step.function.values[unlabelled].argmax(axis=1)
        excess.append(step.objective / exact.result_.objective - 1)
        different.append(np.mean(decisions != optimal))
        accuracy.append(np.mean(decisions == truth[unlabelled]))
        return step.iteration >= ITERATIONS

    LapSVC(graph=graph, solver="pcg", tol=1e-8, callback=record).fit(X, y)
    early = LapSVC(graph=graph, solver="pcg", tol=1e-8, stopping="stability").fit(X, y)
    stop = early.n_iter_
    print(early.result_.message)
    print("                     objective above optimum   other decisions   accuracy")
    for name, i in ((f"stopped after {stop}", stop), (f"iteration {len(excess)}", len(excess))):
        print(f"{name:20} {excess[i - 1]:24.1%} {different[i - 1]:17.1%} {accuracy[i - 1]:10.1%}")
    print(f"{'optimum':20} {0:24.1%} {0:17.1%} {np.mean(optimal == truth[unlabelled]):10.1%}")

    figure = new_figure(8.0, 6.0)
    top, bottom = figure.subplots(2, 1, sharex=True)
    iterations = np.arange(1, len(excess) + 1)
    top.semilogy(iterations, 100 * np.array(excess), color="#0072B2")
    top.set_ylabel("objective above\nthe optimum (%)")
    top.set_title('Digits with 20 labels: convergence of solver="pcg"')
    bottom.plot(iterations, 100 * np.array(different), color="#D55E00")
    bottom.set_ylabel("unlabelled rows with another\ndecision than at the optimum (%)")
    bottom.set_xlabel("iterations (one product with the Gram matrix each)")
    bottom.set_ylim(bottom=0)
    for ax in (top, bottom):
        ax.axvline(
            stop, color="black", linestyle=":", label=f'stopping="stability" stops here ({stop})'
        )
        ax.grid(alpha=0.3)
    top.legend()

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
