"""`lapwing demo`: what unlabelled rows add when twenty handwritten digits are labelled.

Every method runs with its default parameters, and all kernel methods with the rbf kernel, which is
the default of all but S3VC. The only exception is the anchor graph: five anchors per row, so that
labels reach every row. No parameter is chosen by accuracy here; but the default reg_manifold of the
embedded estimators, and the families of SemiSupervisedClassifier, were chosen after looking at
these digits, among other data sets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from .. import auto, estimators, model_selection
from ..arrays.atomic import atomic_file, write_text
from ..displays import AccuracyDisplay, TransductionDisplay, new_figure
from .demo_table import N_LABELLED, N_ROWS, demo_csv
from .options import whole_number
from .output import check_out

LABELS_PER_CLASS = 2
NEW_SHARE = 0.25
BASELINE = "supervised SVM (scikit-learn's SVC)"
LAPSVC = "LapSVC, squared hinge"
#: Methods that do not predict new rows.
TRANSDUCTIVE = ("LGCClassifier",)


@dataclass(frozen=True)
class Draw:
    """One draw of the labels; ``y`` is −1 for the unlabelled training rows."""

    X: np.ndarray
    y: np.ndarray
    truth: np.ndarray
    X_new: np.ndarray
    truth_new: np.ndarray

    @property
    def labelled(self) -> np.ndarray:
        """Which training rows have a label."""
        return self.y != -1


@dataclass
class Scores:
    """Accuracies, seconds and models of one method per draw; NaN where it cannot predict."""

    method: str
    unlabelled: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    models: list[Any] = field(default_factory=list)


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing demo` to the command line."""
    parser = commands.add_parser(
        "demo",
        help="learn handwritten digits from 20 labels; prints a table, draws a picture",
        description="Learns scikit-learn's handwritten digits from 2 labels per class and compares "
        "a supervised support vector machine with the estimators of Lapwing, with the rbf kernel "
        "where they have a kernel and default parameters otherwise, on unlabelled training rows "
        "and on new rows.",
    )
    parser.add_argument("--seed", type=whole_number(0), default=0, help="seed of the draws (0)")
    parser.add_argument(
        "--draws", type=whole_number(1), default=5, help="number of draws of the labels (5)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("lapwing-demo.png"), help="picture (lapwing-demo.png)"
    )
    parser.add_argument(
        "--write-csv",
        type=Path,
        metavar="FILE",
        help="only write a table on which to try `lapwing fit`",
    )
    parser.add_argument("--no-picture", action="store_true", help="only print the table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table and write the picture; return the exit code."""
    if arguments.write_csv is not None:
        check_out(arguments.write_csv, option="--write-csv")
        if arguments.write_csv.exists():
            raise ValueError(
                f"--write-csv {arguments.write_csv}: there is such a file, and it is not "
                "replaced: give another name, or delete it first"
            )
        write_text(arguments.write_csv, demo_csv())
        print(
            f"{N_ROWS} rows, {N_LABELLED} of them labelled: {arguments.write_csv}\n"
            f"Next: lapwing fit {arguments.write_csv} --target label --id id"
        )
        return 0
    if not arguments.no_picture:
        check_out(arguments.out)
    draws = list(draw_labels(arguments.draws, arguments.seed))
    scores = compare(draws)
    print(table(draws[0], scores))
    if arguments.no_picture:
        return 0
    try:
        figure = picture(draws[0], scores)
    except ImportError as error:
        print(f"\nNo picture. {error}")
        return 0
    with atomic_file(arguments.out) as file:
        figure.savefig(file, format=arguments.out.suffix[1:] or "png", dpi=150)
    print(f"\nPicture: {arguments.out}")
    return 0


def draw_labels(n_draws: int, seed: int) -> Iterator[Draw]:
    """Yield draws of the digits: labelled and unlabelled training rows, and new rows."""
    X, truth = load_digits(return_X_y=True)
    X = X / 16.0  # pixels from 0 to 1
    for rng in np.random.default_rng(seed).spawn(n_draws):
        order = rng.permutation(len(X))
        labelled = np.concatenate(
            [order[truth[order] == c][:LABELS_PER_CLASS] for c in np.unique(truth)]
        )
        rest = order[~np.isin(order, labelled)]
        n_new = round(NEW_SHARE * len(rest))
        new, train = rest[:n_new], np.concatenate([labelled, rest[n_new:]])
        y = np.full(len(train), -1)
        y[: len(labelled)] = truth[labelled]
        yield Draw(X[train], y, truth[train], X[new], truth[new])


def methods() -> dict[str, Any]:
    """Return the estimators by their names in the table."""
    return {
        BASELINE: SVC(),
        "SemiSupervisedClassifier": auto.SemiSupervisedClassifier(),
        LAPSVC: estimators.LapSVC(),
        "LapSVC, hinge": estimators.LapSVC(loss="hinge"),
        "LapRLSClassifier": estimators.LapRLSClassifier(),
        # These, like the default, choose parameters by the 20 labels; those of others are fixed.
        "LapSVCCV": model_selection.LapSVCCV(),
        "LapRLSClassifierCV": model_selection.LapRLSClassifierCV(),
        "LapSVCPath": estimators.LapSVCPath(),
        "LapESVC": estimators.LapESVC(),
        "LapERLSClassifier": estimators.LapERLSClassifier(),
        # The default kernel of S3VC is linear, which does not separate one digit from the others;
        # with the kernel of the other estimators the table does not compare kernels. Probabilities
        # are not used here, so no folds are fitted for them; predictions do not depend on that.
        "S3VC, rbf kernel": estimators.S3VC(kernel="rbf", calibration_folds=0),
        "PVMClassifier": estimators.PVMClassifier(),
        "PVMClassifier, hinge": estimators.PVMClassifier("hinge"),
        "LGCClassifier": estimators.LGCClassifier(),
        "NystromLGCClassifier": estimators.NystromLGCClassifier(),
        "NFIClassifier": estimators.NFIClassifier(),
        # By default, with three anchors per row, labels do not reach some rows.
        "AnchorGraphClassifier": estimators.AnchorGraphClassifier(n_neighbors=5),
        "EigenfunctionClassifier": estimators.EigenfunctionClassifier(),
    }


def compare(draws: list[Draw]) -> list[Scores]:
    """Fit every method to every draw."""
    return [_scores(name, estimator, draws) for name, estimator in methods().items()]


def _scores(name: str, estimator: Any, draws: list[Draw]) -> Scores:
    scores = Scores(name)
    for draw in draws:
        rows = draw.labelled if name == BASELINE else slice(None)
        start = time.perf_counter()
        model = clone(estimator).fit(draw.X[rows], draw.y[rows])
        scores.seconds.append(time.perf_counter() - start)
        hidden = ~draw.labelled
        scores.unlabelled.append(model.score(draw.X[hidden], draw.truth[hidden]))
        can_predict = name not in TRANSDUCTIVE
        scores.new.append(model.score(draw.X_new, draw.truth_new) if can_predict else np.nan)
        scores.models.append(model)
    return scores


def table(draw: Draw, scores: list[Scores]) -> str:
    """Return the comparison as text."""
    n_draws, n_labelled = len(scores[0].new), int(draw.labelled.sum())
    width = max(len(row.method) for row in scores)
    repeated = f"mean of {n_draws} draws ± standard deviation" if n_draws > 1 else "one draw"
    lines = [
        f"Handwritten digits: {n_labelled} labelled, {len(draw.y) - n_labelled} unlabelled and "
        f"{len(draw.truth_new)} new rows.",
        f"Accuracy in %, {repeated}; seconds per fit, including the graph.",
        "",
        f"{'':{width}}  {'unlabelled':>12}  {'new rows':>12}  {'seconds':>7}",
    ]
    for row in scores:
        cells = (_percent(row.unlabelled), _percent(row.new))
        lines.append(
            f"{row.method:{width}}  {cells[0]:>12}  {cells[1]:>12}  {np.mean(row.seconds):7.2f}"
        )
    return "\n".join(lines)


def _percent(accuracies: list[float]) -> str:
    if np.isnan(accuracies).all():
        return "-"
    mean = f"{100 * np.mean(accuracies):.1f}"
    return f"{mean} ± {100 * np.std(accuracies, ddof=1):3.1f}" if len(accuracies) > 1 else mean


def picture(draw: Draw, scores: list[Scores]) -> Any:
    """Return a figure: accuracies of all methods, and the map of the first draw."""
    figure = new_figure(14.0, 6.5)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    AccuracyDisplay(
        [row.method.replace(", ", ",\n").replace(" (", "\n(") for row in scores],
        {
            "unlabelled rows": [row.unlabelled for row in scores],
            "new rows": [row.new for row in scores],
        },
    ).plot(ax=left)
    left.set_title(f"Digits from {draw.labelled.sum()} labels, kernels are rbf")
    mapped = next(row for row in scores if row.method == LAPSVC)
    TransductionDisplay.from_estimator(
        mapped.models[0], draw.labelled, points=plane(draw.X), truth=draw.truth, ax=right
    )
    right.set_title(f"Predictions of {LAPSVC}, for the training rows (first draw)")
    right.set_xlabel("t-SNE map of the pixels, which the model does not use")
    return figure


def plane(X: np.ndarray) -> np.ndarray:
    """Return a map of the rows to the plane: t-SNE, stopped early."""
    # One thread: with a few thousand rows, more threads only wait for each other.
    with threadpool_limits(limits=1):
        flat = PCA(20, random_state=0).fit_transform(X)
        return TSNE(max_iter=300, init="pca", random_state=0, n_jobs=1).fit_transform(flat)
