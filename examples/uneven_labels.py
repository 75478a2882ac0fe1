"""Labels that arrive class by class
===================================

Somebody labels digits one class after the other: ten zeros, then ten ones, and so on, from one
label of every class on. Numbers of labels per class then say nothing about how frequent the
classes are. A model that believes them predicts well-labelled classes too often: logistic
regression is worse with thirty labels than with ten, and better again only with eighty. The default
recognises that the labels are no random sample and counts classes alike: it stays within three
points of its best, and gains when the last classes are labelled.

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

STYLES = {
    "Lapwing's default": {"color": "#0072B2", "linewidth": 2.5, "marker": "o"},
    "LogisticRegression": {"color": "#D55E00", "linestyle": "--", "marker": "s"},
    "LabelSpreading": {"color": "#009E73", "linestyle": ":", "marker": "^"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Accuracy as labels arrive class by class.")
    parser.add_argument("--out", type=Path, default=Path("output/uneven_labels.png"))
    out = parser.parse_args().out
    X, truth = load_digits(return_X_y=True)
    X = X / 16.0
    order = np.random.default_rng(0).permutation(len(X))
    by_class = [order[truth[order] == digit][:11] for digit in range(10)]
    never = np.setdiff1d(order, np.concatenate(by_class))  # rows that are never labelled
    y = np.full(len(X), -1)  # -1: unlabelled
    first = [rows[0] for rows in by_class]
    y[first] = truth[first]
    default = SemiSupervisedClassifier().fit(X, y)
    found: dict[str, list[float]] = {name: [] for name in STYLES}
    for step in range(11):
        if step > 0:  # ten more labels of one class
            rows = by_class[step - 1][1:]
            y[rows] = truth[rows]
            default.add_labels(rows, truth[rows])
        labelled = y != -1
        logistic = LogisticRegression(max_iter=1000).fit(X[labelled], y[labelled])
        spreading = LabelSpreading(kernel="knn", max_iter=200).fit(X, y)
        predicted = (default.transduction_, logistic.predict(X), spreading.transduction_)
        for name, labels in zip(STYLES, predicted, strict=True):
            found[name].append(float(np.mean(labels[never] == truth[never])))
    figure = new_figure(7.0, 4.2)
    ax = figure.subplots()
    for name, style in STYLES.items():
        print(f"{name}: {found[name][0]:.1%} at first, lowest {min(found[name]):.1%}")
        ax.plot(range(11), found[name], label=name, **style)
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
