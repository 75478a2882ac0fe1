"""`lapwing demo`: what unlabelled rows add when twenty handwritten digits are labelled.

Every method runs with its default parameters, and every kernel machine with the rbf kernel, which
is the default of all but S3VC; anchors alone are five a row, so that labels reach every row.
Nothing is chosen here by looking at the accuracy; but the default reg_manifold of the embedded
machines, and the families of SemiSupervisedClassifier, were set after a look at these digits, among
other sets.
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

from ..auto import SemiSupervisedClassifier
from ..displays import AccuracyDisplay, TransductionDisplay, new_figure
from ..estimators import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapERLSClassifier,
    LapESVC,
    LapRLSClassifier,
    LapSVC,
    LapSVCPath,
    LGCClassifier,
    NFIClassifier,
    NystromLGCClassifier,
    PVMClassifier,
)
from ..model_selection import LapRLSClassifierCV, LapSVCCV
from .demo_table import N_LABELLED, N_ROWS, demo_csv
from .models import check_out, write_whole

LABELS_PER_CLASS = 2
NEW_SHARE = 0.25
BASELINE = "supervised SVM (scikit-learn's SVC)"
LAPSVC = "LapSVC, squared hinge"


@dataclass(frozen=True)
class Draw:
    """One draw of the labels; ``y`` holds −1 for the unlabelled training rows."""

    X: np.ndarray
    y: np.ndarray
    truth: np.ndarray
    X_new: np.ndarray
    truth_new: np.ndarray

    @property
    def labelled(self) -> np.ndarray:
        """The rows with a label."""
        return self.y != -1


@dataclass
class Scores:
    """Accuracies, seconds and models of one method, an entry for each draw; NaN if it has none."""

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
        description="Learns scikit-learn's handwritten digits from 2 labels a class and compares "
        "a supervised support vector machine with the estimators of Lapwing, those with a "
        "kernel all with rbf and otherwise with default parameters, on unlabelled training rows "
        "and on new rows.",
    )
    parser.add_argument("--seed", type=_whole_number(0), default=0, help="of the draws (0)")
    parser.add_argument(
        "--draws", type=_whole_number(1), default=5, help="draws of the labels to average (5)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("lapwing-demo.png"), help="picture (lapwing-demo.png)"
    )
    parser.add_argument(
        "--write-csv",
        type=Path,
        metavar="FILE",
        help="write a table to try `lapwing fit` on, and do nothing else",
    )
    parser.add_argument("--no-picture", action="store_true", help="print the table only")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table and write the picture; return the exit code."""
    if arguments.write_csv is not None:
        check_out(arguments.write_csv, "--write-csv")
        write_whole(arguments.write_csv, demo_csv())
        print(
            f"{N_ROWS} rows, {N_LABELLED} of them labelled: {arguments.write_csv}\n"
            f"Next: lapwing fit {arguments.write_csv} --target label --id id"
        )
        return 0
    wanted = not arguments.no_picture
    if wanted and (arguments.out.is_dir() or not arguments.out.parent.is_dir()):
        raise ValueError(f"--out {arguments.out}: give a file name in a folder that exists")
    draws = list(draw_labels(arguments.draws, arguments.seed))
    scores = compare(draws)
    print(table(draws[0], scores))
    if not wanted:
        return 0
    try:
        figure = picture(draws[0], scores)
    except ImportError as error:
        print(f"\nNo picture. {error}")
        return 0
    figure.savefig(arguments.out, dpi=150)
    print(f"\nPicture: {arguments.out}")
    return 0


def draw_labels(n_draws: int, seed: int) -> Iterator[Draw]:
    """Yield draws of the digits: labelled rows, unlabelled rows, and new rows kept back."""
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
    """Return the machines by their names in the table."""
    return {
        BASELINE: SVC(),
        "SemiSupervisedClassifier": SemiSupervisedClassifier(),
        LAPSVC: LapSVC(),
        "LapSVC, hinge": LapSVC(loss="hinge"),
        "LapRLSClassifier": LapRLSClassifier(),
        # These, as the first, choose their weights on the 20 labels; the others have fixed ones.
        "LapSVCCV": LapSVCCV(),
        "LapRLSClassifierCV": LapRLSClassifierCV(),
        "LapSVCPath": LapSVCPath(),
        # Where the norm has weight one, two labels a class need the graph to weigh more than that.
        "LapESVC": LapESVC(),
        "LapERLSClassifier": LapERLSClassifier(),
        # The default kernel of S3VC is linear. One digit against nine others is no matter of a
        # half-space, and with the kernel of the other machines the table does not compare kernels.
        # Nobody asks for probabilities here, so no folds are fitted for them; the decisions do
        # not depend on that.
        "S3VC, rbf kernel": S3VC(kernel="rbf", calibration_folds=0),
        "PVMClassifier": PVMClassifier(),
        "PVMClassifier, hinge": PVMClassifier("hinge"),
        # These two have no prediction for new rows.
        "LGCClassifier": LGCClassifier(),
        "NystromLGCClassifier": NystromLGCClassifier(),
        "NFIClassifier": NFIClassifier(),
        # With four rows an anchor, joined to three, some rows lie apart from all labels.
        "AnchorGraphClassifier": AnchorGraphClassifier(n_neighbors=5),
        "EigenfunctionClassifier": EigenfunctionClassifier(),
    }


def compare(draws: list[Draw]) -> list[Scores]:
    """Fit every method to every draw."""
    return [_scores(name, machine, draws) for name, machine in methods().items()]


def _scores(name: str, machine: Any, draws: list[Draw]) -> Scores:
    scores = Scores(name)
    for draw in draws:
        rows = draw.labelled if name == BASELINE else slice(None)
        start = time.perf_counter()
        model = clone(machine).fit(draw.X[rows], draw.y[rows])
        scores.seconds.append(time.perf_counter() - start)
        hidden = ~draw.labelled
        scores.unlabelled.append(model.score(draw.X[hidden], draw.truth[hidden]))
        transductive = isinstance(model, (LGCClassifier, NystromLGCClassifier))
        scores.new.append(np.nan if transductive else model.score(draw.X_new, draw.truth_new))
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
        f"Accuracy in %, {repeated}; seconds of a fit, with its graph if any.",
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
    right.set_title(f"Training rows as {LAPSVC}, calls them (first draw)")
    right.set_xlabel("t-SNE map of the pixels, for the eye only: the learner does not see it")
    return figure


def plane(X: np.ndarray) -> np.ndarray:
    """Return a map of the rows to the plane: t-SNE, stopped early."""
    # One thread: for some thousand rows more of them only wait for each other.
    with threadpool_limits(limits=1):
        flat = PCA(20, random_state=0).fit_transform(X)
        return TSNE(max_iter=300, init="pca", random_state=0, n_jobs=1).fit_transform(flat)


def _whole_number(lowest: int) -> Any:
    """Return a converter for argparse that refuses numbers below the lowest."""

    def convert(text: str) -> int:
        number = int(text)
        if number < lowest:
            raise argparse.ArgumentTypeError(f"must be at least {lowest}")
        return number

    convert.__name__ = "whole number"  # argparse: "invalid whole number value: 'x'"
    return convert
