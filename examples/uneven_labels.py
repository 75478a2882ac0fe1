"""Labels that arrive class by class
=================================

Somebody labels digits one class after the other: ten zeros, then ten ones, and so on, from one
label of every class on. Numbers of labels per class then say nothing about how frequent the
classes are. A model that believes them predicts well-labelled classes too often: logistic
regression is much worse with thirty labels than with ten, and better again only with seventy. The
default recognises that the labels are no random sample and counts classes alike: it falls by two
points at most on average, and gains when the last classes are labelled. Lines are means over three
draws of rows, areas their range.

Run it::

    python examples/uneven_labels.py        # writes output/uneven_labels.png
    python examples/uneven_labels.py --out uneven_labels.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from lapwing import SemiSupervisedClassifier
from lapwing.displays import new_figure

STYLES: dict[str, dict] = {
    "Lapwing's default": {"color": "#0072B2", "linewidth": 2.5, "marker": "o"},
    "LogisticRegression": {"color": "#D55E00", "linestyle": "--", "marker": "s"},
    "LabelSpreading": {"color": "#009E73", "linestyle": ":", "marker": "^"},
}


def accuracies(seed: int) -> dict[str, list[float]]:
    """Return the accuracies on rows that are never labelled, after each class."""
    X, truth = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:400]
    X, truth = X[rows] / 16.0, truth[rows]
    by_class = [np.flatnonzero(truth == digit)[:11] for digit in range(10)]
    never = np.setdiff1d(np.arange(len(X)), np.concatenate(by_class))
    y = np.full(len(X), -1)  # -1: unlabelled
    first = [members[0] for members in by_class]
    y[first] = truth[first]
    default = SemiSupervisedClassifier().fit(X, y)
    found: dict[str, list[float]] = {name: [] for name in STYLES}
    for step in range(11):
        if step > 0:  # ten more labels of one class
            new = by_class[step - 1][1:]
            y[new] = truth[new]
            default.add_labels(new, truth[new])
        labelled = y != -1
        logistic = LogisticRegression(max_iter=1000).fit(X[labelled], y[labelled])
        spreading = LabelSpreading(kernel="knn", max_iter=200).fit(X, y)
        predicted = (default.transduction_, logistic.predict(X), spreading.transduction_)
        for name, labels in zip(STYLES, predicted, strict=True):
            found[name].append(float(np.mean(labels[never] == truth[never])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Accuracy as labels arrive class by class.")
    parser.add_argument("--out", type=Path, default=Path("output/uneven_labels.png"))
    out = parser.parse_args().out
    draws = [accuracies(seed) for seed in range(3)]
    figure = new_figure(7.0, 4.2)
    ax = figure.subplots()
    for name, style in STYLES.items():
        each = np.array([draw[name] for draw in draws])
        means = each.mean(axis=0)
        print(f"{name}: {means[0]:.1%} at first, lowest {means.min():.1%}, at last {means[-1]:.1%}")
        ax.plot(range(11), means, label=name, **style)
        ax.fill_between(
            range(11), each.min(axis=0), each.max(axis=0), alpha=0.15, color=style["color"]
        )
    ax.set_xticks(range(11), ["none", *(str(digit) for digit in range(10))])
    ax.set_xlabel("digit that was last labelled ten times more")
    ax.set_ylabel("accuracy on rows without a label")
    ax.grid(alpha=0.3)
    ax.legend(loc="lower right")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
