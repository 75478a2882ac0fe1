"""Does accuracy fall as labels arrive? From two labels per class to 100 labels in steps of ten.

make bench NAME=label_arrival
python benchmarks/label_arrival.py --sets digits,PCMAC --ways random,skewed --first-draw 20

The labels are added by `add_labels`, or with `--refit` by a new `fit` to all of them, in one of
five ways: "random" rows; rows that `suggest` returns; "one class" after the other, in random order;
labels of "two classes" only; and "skewed", where each class is labelled in proportion to 1, 1/2,
1/3 … in random order, whatever its share among the rows. A fall is the accuracy on all rows that
are unlabelled at the end, with the best of the smaller numbers of labels, minus the accuracy
now. Its standard error is that of the difference of two accuracies on the same rows.

Draws from 1000 on were not used for any choice in the library.
"""

import argparse
import time
import warnings
from dataclasses import dataclass

import numpy as np

from common import data_folder
from experiments.data import few_labels
from experiments.peers import FILES, data_set
from lapwing import SemiSupervisedClassifier

SETS = ("digits", "USPST", "G50C", "Digit1", "PCMAC", "USPS")
WAYS = ("random", "suggested", "one class", "two classes", "skewed")
FIRST, LAST, STEP = 2, 100, 10
MOST_ROWS = 2_000


@dataclass(frozen=True)
class Run:
    """One run: accuracies in per cent after each step, and the seconds of the steps.

    Attributes
    ----------
    accuracies : ndarray of shape (steps + 1,)
        On rows that are never labelled.
    falls, errors : ndarray of shape (steps,)
        Points below the best accuracy so far, and their standard errors.
    seconds : float
        Mean time of a step.
    """

    accuracies: np.ndarray
    falls: np.ndarray
    errors: np.ndarray
    seconds: float


def arrival(y, way, labelled, classes, rng):
    """Return the next ten rows to label; those that are suggested are asked for elsewhere."""
    free = np.setdiff1d(np.arange(len(y)), labelled)
    if way == "random":
        return rng.permutation(free)[:STEP]
    if way == "one class":  # the next class begins when one has ten labels more
        counts = np.bincount(y[labelled], minlength=len(classes))
        wanted = np.repeat(classes, STEP)[len(labelled) - FIRST * len(classes) :]
        wanted = wanted if len(wanted) else classes[counts[classes].argmin()][None]
        chosen = np.bincount(wanted[:STEP], minlength=len(classes))
    elif way == "two classes":
        chosen = np.zeros(len(classes), dtype=int)
        chosen[classes[:2]] = STEP // 2
    else:
        shares = np.zeros(len(classes))
        shares[classes] = 1.0 / np.arange(1, len(classes) + 1)
        chosen = rng.multinomial(STEP, shares / shares.sum())
    rows = [rng.permutation(free[y[free] == k])[:count] for k, count in enumerate(chosen)]
    return np.concatenate(rows)


def run(X, y, way, draw, refit):
    """Return what happens as labels arrive."""
    rng = np.random.default_rng(draw)
    marks = few_labels(y, FIRST, rng)
    classes = rng.permutation(int(y.max()) + 1)
    found, steps, start = [], 0, time.perf_counter()
    model = SemiSupervisedClassifier().fit(X, marks)
    first = time.perf_counter() - start
    while True:
        found.append(model.transduction_.copy())
        labelled = np.flatnonzero(marks != -1)
        if len(labelled) >= LAST:
            break
        rows = (
            model.suggest(STEP) if way == "suggested" else arrival(y, way, labelled, classes, rng)
        )
        if not len(rows):
            break
        marks[rows] = y[rows]
        model = (
            SemiSupervisedClassifier().fit(X, marks) if refit else model.add_labels(rows, y[rows])
        )
        steps += 1
    seconds = (time.perf_counter() - start - first) / max(steps, 1)
    hidden = marks == -1
    right = np.array([labels[hidden] == y[hidden] for labels in found])
    accuracies = right.mean(axis=1)
    falls, errors = np.zeros(steps), np.zeros(steps)
    for step in range(steps):
        best = int(accuracies[: step + 1].argmax())
        falls[step] = max(accuracies[best] - accuracies[step + 1], 0.0)
        errors[step] = np.sqrt((right[best] != right[step + 1]).sum()) / hidden.sum()
    return Run(100 * accuracies, 100 * falls, 100 * errors, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sets", default=",".join(SETS), help=f"data sets ({','.join(SETS)})")
    parser.add_argument("--ways", default=",".join(WAYS), help=f"of {', '.join(WAYS)} (all)")
    parser.add_argument("--draws", type=int, default=5, help="draws of labels (5)")
    parser.add_argument("--first-draw", type=int, default=1000, help="seed of the first one (1000)")
    parser.add_argument("--refit", action="store_true", help="fit again instead of add_labels")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names, ways = options.sets.split(","), options.ways.split(",")
    print("falls in points and standard errors (SE), mean over draws and the worst")
    print(f"{'data set':14} {'arrival':12} start   end  largest fall  worst  in SE  >1 SE  s/step")
    runs = {way: [] for way in ways}
    for name in names:
        folder = data_folder(FILES[name]) if FILES[name] else None
        X, y = data_set(folder, name, MOST_ROWS)
        for way in ways:
            draws = range(options.first_draw, options.first_draw + options.draws)
            here = [run(X, y, way, draw, options.refit) for draw in draws]
            runs[way] += here
            print(f"{name:14} {way:12} {summary(here)}", flush=True)
    for way in ways:
        print(f"{'all':14} {way:12} {summary(runs[way])}")


def summary(runs):
    """Return the line of a table: accuracies, falls, and how often they exceed an error."""
    largest = [run.falls.max() for run in runs]
    in_errors = [(run.falls / np.maximum(run.errors, 1e-9)).max() for run in runs]
    often = np.mean([step for run in runs for step in run.falls > run.errors])
    start = np.mean([run.accuracies[0] for run in runs])
    end = np.mean([run.accuracies[-1] for run in runs])
    seconds = np.mean([run.seconds for run in runs])
    return (
        f"{start:5.1f} {end:5.1f} {np.mean(largest):13.1f} {max(largest):6.1f} "
        f"{np.mean(in_errors):6.1f} {100 * often:4.0f} % {seconds:7.2f}"
    )


if __name__ == "__main__":
    main()
