"""PVMClassifier on MNIST 3, 5, 6, 8, 9 by Figure 2 of Zhang, Kwok & Parvin (2009): four curves.

    python benchmarks/pvm_mnist.py [--draws 10] [--out pvm_mnist.png]

29 270 rows of 784 pixels (0 to 1), five classes, squared loss, default parameters. Time and error
against the number of rows (200 prototypes, 50 labels a class), error against the number of labels
(200 prototypes), and against the number of prototypes (50 labels a class), all rows in the latter
two. The error is that on the unlabelled rows of the fit, over draws of rows and labels; the time is
the least of the draws. Prints the
figures, and the exponent of the time; --out draws them.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from common import error, load

from lapwing import PVMClassifier

DIGITS = (3, 5, 6, 8, 9)
ROWS = (1_000, 2_000, 5_000, 10_000, 20_000, 29_270)
LABELS = (5, 10, 20, 50, 100, 200)
PROTOTYPES = (20, 50, 100, 200, 400, 800)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--out", type=Path, help="a picture")
    options = parser.parse_args()
    X, y, train = load("mnist.npz", "X", "y", "train")
    keep = train & np.isin(y, DIGITS)
    X, y = X[keep].astype(np.float32) / 255.0, y[keep].astype(int)
    PVMClassifier().fit(X[:500], y[:500])  # threads and libraries are loaded
    curves = {}
    for title, sizes, labels, prototypes in (
        ("rows", ROWS, [50] * len(ROWS), [200] * len(ROWS)),
        ("labels a class", [len(X)] * len(LABELS), LABELS, [200] * len(LABELS)),
        ("prototypes", [len(X)] * len(PROTOTYPES), [50] * len(PROTOTYPES), PROTOTYPES),
    ):
        axis = {"rows": sizes, "labels a class": labels, "prototypes": prototypes}[title]
        found = [
            [fit(X, y, *setting, seed) for seed in range(options.draws)]
            for setting in zip(sizes, labels, prototypes, strict=True)
        ]
        errors, seconds = np.moveaxis(np.array(found), 2, 0)
        curves[title] = axis, errors, seconds
        for value, e, s in zip(axis, errors, seconds, strict=True):
            print(
                f"{value:>6} {title:<14} error {e.mean():5.2f} ± {e.std():4.2f} %, "
                f"{s.min():5.2f} s",
                flush=True,
            )
    axis, _, seconds = curves["rows"]
    slope = np.polyfit(np.log(axis), np.log(seconds.min(axis=1)), 1)[0]
    print(f"time grows as rows^{slope:.2f}")
    if options.out:
        draw(curves, options.out)


def fit(X, y, n, per_class, prototypes, seed):
    """Error in percent on the unlabelled rows, and seconds."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(X))[:n])
    X, truth = X[rows], y[rows]
    given = np.full(n, -1)
    for digit in DIGITS:
        given[rng.choice(np.flatnonzero(truth == digit), per_class, replace=False)] = digit
    start = time.perf_counter()
    model = PVMClassifier(n_prototypes=prototypes, random_state=seed).fit(X, given)
    seconds = time.perf_counter() - start
    hidden = given == -1
    return error(model.transduction_[hidden], truth[hidden]), seconds


def draw(curves, out):
    """Draw the four panels."""
    from lapwing.displays import new_figure

    figure = new_figure(11.0, 7.5)
    panels = figure.subplots(2, 2).ravel()
    axis, errors, seconds = curves["rows"]
    panels[0].plot(axis, seconds.min(axis=1), "o-")
    panels[0].set(xlabel="rows", ylabel="seconds", title="(a) time", ylim=(0, None))
    settings = [
        ("(b) error against rows", "rows", False),
        ("(c) error against labels", "labels a class", True),
        ("(d) error against prototypes", "prototypes", True),
    ]
    for ax, (title, name, logarithmic) in zip(panels[1:], settings, strict=True):
        axis, errors, _ = curves[name]
        ax.errorbar(axis, errors.mean(axis=1), errors.std(axis=1), fmt="o-", capsize=3)
        ax.set(xlabel=name, ylabel="error (%)", title=title, ylim=(0, None))
        if logarithmic:
            ax.set_xscale("log")
            ax.set_xticks(axis, [str(value) for value in axis])
            ax.minorticks_off()
    for ax in panels:
        ax.grid(alpha=0.4)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main()
