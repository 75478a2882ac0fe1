"""Decisions settle before the objective does
==========================================

The conjugate gradient, ``solver="pcg"``, on handwritten digits with 20 labels. Two things are
watched after each iteration: how far the objective is above the optimum, and how many unlabelled
rows are decided otherwise than at the optimum. The optimum comes from the exact solver.
``stopping="stability"`` sees neither: it stops when the decisions no longer change.

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
    graph = KNNGraph().fit(X)  # built once, used three times

    exact = LapSVC(graph=graph).fit(X, y)
    settled = exact.transduction_[unlabelled]

    excess, different, accuracy = [], [], []

    def watch(step):  # called after each iteration; a true value would stop the solver
        decided = step.function.values[unlabelled].argmax(axis=1)
        excess.append(step.objective / exact.result_.objective - 1)
        different.append(np.mean(decided != settled))
        accuracy.append(np.mean(decided == truth[unlabelled]))
        return step.iteration >= ITERATIONS

    LapSVC(graph=graph, solver="pcg", tol=1e-8, callback=watch).fit(X, y)
    early = LapSVC(graph=graph, solver="pcg", tol=1e-8, stopping="stability").fit(X, y)
    stop = early.n_iter_
    print(early.result_.message)
    print("                     objective above optimum   other decisions   accuracy")
    for name, i in (("where it stopped", stop), (f"iteration {len(excess)}", len(excess))):
        print(f"{name:20} {excess[i - 1]:24.1%} {different[i - 1]:17.1%} {accuracy[i - 1]:10.1%}")
    print(f"{'optimum':20} {0:24.1%} {0:17.1%} {np.mean(settled == truth[unlabelled]):10.1%}")

    figure = new_figure(8.0, 6.0)
    top, bottom = figure.subplots(2, 1, sharex=True)
    iterations = np.arange(1, len(excess) + 1)
    top.semilogy(iterations, 100 * np.array(excess), color="#0072B2")
    top.set_ylabel("objective above\nthe optimum (%)")
    top.set_title('Digits, 20 labels: solver="pcg" on its way to the optimum')
    bottom.plot(iterations, 100 * np.array(different), color="#D55E00")
    bottom.set_ylabel("unlabelled rows decided\nunlike at the optimum (%)")
    bottom.set_xlabel("iterations (each one product with the Gram matrix)")
    bottom.set_ylim(bottom=0)
    for ax in (top, bottom):
        ax.axvline(
            stop, color="black", linestyle=":", label=f'stopping="stability" ends here ({stop})'
        )
        ax.grid(alpha=0.3)
    top.legend()

    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
