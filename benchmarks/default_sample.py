"""What rows beyond the sample of the default are worth: its accuracy, with bounds lowered.

make bench NAME=default_sample
python benchmarks/default_sample.py --sets usps,mnist --draws 2 --first-draw 20

Above 100 000 rows the models see a sample, and other rows weigh the edges of its graph. Here the
sample is a tenth of the rows or so, which is small enough to know what all rows would give. A fifth
of the rows is held out. The columns are accuracies on unlabelled and on held-out rows in per cent:
of the sample alone; with as many other rows as the sample has, which is what the default does from
200 000 rows on; and with all rows.
"""

import argparse
import warnings

import numpy as np

from common import data_folder
from experiments.data import few_labels
from lapwing import SemiSupervisedClassifier
from lapwing.auto import limits

#: Data sets, with the rows of the sample and the labels per class.
SETS = {
    "usps": (1_000, 5),
    "satimage": (700, 5),
    "svmguide1": (700, 5),
    "news20": (2_000, 10),
    "facemit": (3_000, 10),
    "mnist": (5_000, 10),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sets", default=",".join(SETS), help=f"data sets ({','.join(SETS)})")
    parser.add_argument("--draws", type=int, default=6, help="draws of labels (6)")
    parser.add_argument("--first-draw", type=int, default=1000, help="seed of the first one (1000)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'data set':14} {'rows':>6} {'sample':>6}   sample alone  as many others       all rows"
    )
    for name in options.sets.split(","):
        data = data_folder(f"{name}.npz")
        X, [y] = data.rows(f"{name}.npz"), data.load(f"{name}.npz", "y")
        y = np.unique(y, return_inverse=True)[1]
        size, n_labels = SETS[name]
        draws = range(options.first_draw, options.first_draw + options.draws)
        found = np.array([accuracies(X, y, size, n_labels, draw) for draw in draws])
        mean = found.mean(axis=0)
        error = (found - found[:, :1]).std(axis=0, ddof=min(1, len(found) - 1)) / len(found) ** 0.5
        cells = "  ".join(f"{a:6.1f} /{b:6.1f}" for a, b in mean)
        print(
            f"{name:14} {X.shape[0] * 4 // 5:6} {size:6} {cells}   standard errors of the "
            f"differences {error[1:].max():.1f}",
            flush=True,
        )


def accuracies(X, y, size, n_labels, draw):
    """Return accuracies with no other rows, as many as in the sample, and all."""
    order = np.random.default_rng([draw, 1]).permutation(len(y))
    train, test = np.split(order, [4 * len(y) // 5])
    train.sort()
    marks = few_labels(y[train], n_labels, np.random.default_rng(draw))
    rest = marks == -1
    limits.MOST_ROWS = size
    found = []
    for limits.EDGE_ROWS in (0, size, len(y)):
        model = SemiSupervisedClassifier(random_state=draw).fit(X[train], marks)
        right = model.transduction_[rest] == y[train][rest], model.predict(X[test]) == y[test]
        found.append([100.0 * part.mean() for part in right])
    return found


if __name__ == "__main__":
    main()
