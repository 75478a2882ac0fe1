"""How many labels does the labelling loop need? Simulated answers, and what the panel says of them.

make bench NAME=label_loop
python benchmarks/label_loop.py --sets digits,USPS --methods suggest,random --first-draw 0
python benchmarks/label_loop.py --sets "" --coverage 100 --store output/label_loop.jsonl

Three methods label the same rows, from none to 150. "suggest" is a `LabelSession` as the page uses
it: rows that are spread over the data, then rows that the model suggests, and one in five at
random. It knows the names of the classes and refreshes the model after every answer. It predicts a
part of the random rows without their labels after every second answer, as behind somebody who
answers as fast as the model is refreshed, and all labelled rows at the numbers of labels that are
printed. "random" is `SemiSupervisedClassifier` with random rows, which `add_labels` learns five
or ten at a time, as a random sample. "self-training" is
scikit-learn's SelfTrainingClassifier around logistic regression, in 50 principal components where
dense rows have more; it begins with the first ten random rows of "random", and then asks for the
rows of which it is least certain, five or ten at a time. Before there are two classes, a method
predicts its most frequent label.

The data sets are digits, 3 000 rows of USPS, 10 000 of MNIST and 3 000 of 20-newsgroups (TF-IDF),
and a table of 3 000 rows of satimage with unbalanced classes: 85 % "common", which is four of its
classes, 10 % damp grey soil, which overlaps with two of these, and 5 % cotton crop.

Accuracy is that on the rows that no method of the draw has labelled at the end: they are the same
for all methods, and the models know them without labels. For the unbalanced table it is balanced
accuracy, the mean of the accuracies on the rows of each class. "labels needed" is the number of
labels at which accuracy first reaches 90 % of the final accuracy, that of "random" with all its
labels in the same draw; it is interpolated between numbers of labels 5 or 10 apart, and ">" marks
means in which a draw that never gets there counts with all its labels. A fall is the best accuracy
so far minus the accuracy now, over these numbers of labels. Its standard error (SE) is that of the
difference of two accuracies on the same rows.

The second table compares what the panel of the page shows with the truth: its accuracy with the
rows that have no label at that time, and its class shares with those of all rows. "covered" is the
share of the 95 % intervals that contain the truth; "bias" is the mean of estimate - truth. Each run
of ``--coverage`` is another draw of "suggest" with 50 labels, on ``--coverage-rows`` random rows of
the set ``--coverage-set``: its truth is the accuracy on the other rows, which are new to the model.

Set OPENBLAS_NUM_THREADS=1 where ``--jobs`` is above 1. Results are kept in ``--store``, if given,
and not computed again. Draws 0 to 9, 1000 to 1004 and 1100 to 1102 were seen when the first rows
and the rule for class shares were chosen; draws from 1200 on were not used for any choice in the
library.
"""

import argparse
import base64
import json
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from common import data_folder
from experiments.peers_task import prepared
from experiments.store import Store
from lapwing import SemiSupervisedClassifier
from lapwing.labelling import session as sessions
from lapwing.labelling.cards import Cards
from lapwing.labelling.journal import Journal
from lapwing.labelling.learner import Learner

METHODS = ("suggest", "random", "self-training")
SHOWN = (10, 20, 30, 50, 70, 100, 150)
MOST_ROWS = {"USPS": 3_000, "MNIST": 10_000, "news20": 3_000}
#: Classes of satimage by class of the unbalanced table, and the number of rows of each.
UNBALANCED = {0: ((1, 3, 5, 7), 2_550), 1: ((4,), 300), 2: ((2,), 150)}
GOAL = 0.9
COMPONENTS = 50
COVERAGE_LABELS = 50
PATIENCE = 3_600.0
EVERY = 10**9


# ---------------------------------------------------------------- data


def digits():
    return prepared(*load_digits(return_X_y=True), True, 2_000)


def usps():
    return prepared(*data_folder("usps.npz").load("usps.npz", "X", "y"), True, MOST_ROWS["USPS"])


def mnist():
    return prepared(*data_folder("mnist.npz").load("mnist.npz", "X", "y"), True, MOST_ROWS["MNIST"])


def news20():
    folder = data_folder("news20.npz")
    counts, [y] = folder.rows("news20.npz"), folder.load("news20.npz", "y")
    filled = np.diff(counts.indptr) > 0
    X, y = prepared(counts[filled], y[filled], False, MOST_ROWS["news20"])
    X = X[:, np.asarray((X > 0).sum(axis=0)).ravel() >= 3]
    return TfidfTransformer(sublinear_tf=True).fit_transform(X).tocsr(), y


def unbalanced():
    X, y = data_folder("satimage.npz").load("satimage.npz", "X", "y")
    rng = np.random.default_rng(0)
    rows, codes = [], []
    for code, (classes, count) in UNBALANCED.items():
        rows.append(rng.permutation(np.flatnonzero(np.isin(y, classes)))[:count])
        codes.append(np.full(count, code))
    rows, codes = np.concatenate(rows), np.concatenate(codes)
    order = rng.permutation(len(rows))
    return prepared(X[rows[order]], codes[order], False, len(rows))


SETS = {"digits": digits, "USPS": usps, "MNIST": mnist, "news20": news20, "unbalanced": unbalanced}


# ---------------------------------------------------------------- methods


class PatientLearner(Learner):
    """A learner that predicts labelled rows without their labels only when it is told to.

    So runs repeat exactly: how far it gets between answers would depend on the computer.
    """

    parts_left = 0

    def _due_part(self, *, random=False):
        may_be_others = self.parts_left > 1
        return super()._due_part(random=not may_be_others) if self.parts_left > 0 else None

    def _predict_part(self, part):
        super()._predict_part(part)
        self.parts_left -= 1

    def _learn(self, lesson):
        super()._learn(lesson)
        self._on_change()  # before the next answer, so that it is followed by new suggestions


def numbers(most):
    """Return the numbers of labels at which methods are judged."""
    return [n for n in [*range(5, 50, 5), *range(50, most, 10)] if n < most] + [most]


def most_frequent(y, labelled):
    return Counter(y[labelled].tolist()).most_common(1)[0][0]


def suggest(X, y, draw, most, new=None):
    """Return labelled rows, predictions, seconds and what the panel says, by number of labels.

    New rows with their classes are the truth of the panel, if there are any.
    """
    found, seconds, panels, labelled = [], [], [], []
    names = [str(code) for code in range(y.max() + 1)]
    with tempfile.TemporaryDirectory() as folder:
        with mock.patch.object(sessions, "Learner", PatientLearner):
            journal = Journal(Path(folder) / "journal", {})
            session = sessions.LabelSession(X, Cards(len(y)), journal, classes=names, seed=draw)
        state = session.state("tab")
        for number in range(1, most + 1):
            row = state["questions"][0]["row"]
            learner = session._learner
            with learner._condition:  # it sees both at once
                learner.parts_left = EVERY if number in SHOWN else number % 2
                state = session.answer("tab", row, names[y[row]])
            labelled.append(row)
            if not session.wait(PATIENCE, opinions=True):
                raise TimeoutError("the model was not refreshed")
            last, panel = session.snapshot, session.panel()
            if panel["error"]:
                raise RuntimeError(panel["error"])
            if last is not None:
                seconds.append(last.seconds)
                codes = np.array(last.classes, dtype=int)[last.P.argmax(axis=1)]
            else:
                codes = np.full(len(y), most_frequent(y, labelled))
            if number in numbers(most):
                found.append(codes)
            if number in SHOWN:
                right = codes == y
                hidden = np.setdiff1d(np.arange(len(y)), labelled)
                truth = right[hidden].mean()
                if new is not None and last is not None:
                    truth = np.mean(last.model.predict(new[0]) == np.array(names)[new[1]])
                panels.append(judged_panel(panel, float(truth), y, number))
        session.close()
    return labelled, found, seconds, panels


def judged_panel(panel, truth, y, labels):
    """Return what the panel says, and the truth."""
    shares = np.bincount(y) / len(y)
    return {
        "labels": labels,
        "accuracy": panel["accuracy"],
        "truth": truth,
        "shares": [[*share, shares[int(share[0])]] for share in panel["shares"] or []],
    }


def random(X, y, draw, most):
    """Return the same for random rows, without a panel."""
    order = np.random.default_rng(draw).permutation(len(y))
    found, seconds, model, known = [], [], None, 0
    for number in numbers(most):
        start = time.perf_counter()
        if model is not None:
            model.add_labels(order[known:number], y[order[known:number]], random=True)
        elif len(np.unique(y[order[:number]])) > 1:
            marks = np.full(len(y), -1)
            marks[order[:number]] = y[order[:number]]
            model = SemiSupervisedClassifier(random_state=draw).fit(X, marks)
        if model is None:
            found.append(np.full(len(y), most_frequent(y, order[:number])))
            continue
        known = number
        seconds.append(time.perf_counter() - start)
        found.append(model.transduction_.copy())
    return order[:most].tolist(), found, seconds, []


def self_training(X, y, draw, most):
    """Return the same for scikit-learn."""
    order = np.random.default_rng(draw).permutation(len(y))
    labelled, found, seconds, P = order[: SHOWN[0]].tolist(), [], [], None
    if not sp.issparse(X) and X.shape[1] > COMPONENTS:
        X = PCA(COMPONENTS, random_state=0).fit_transform(X)
    for number in numbers(most):
        if number > len(labelled):
            free = np.setdiff1d(order, labelled) if P is not None else order[len(labelled) :]
            doubt = np.zeros(len(free)) if P is None else 1.0 - P[free].max(axis=1)
            best = np.argsort(-doubt, kind="stable")[: number - len(labelled)]
            labelled += free[best].tolist()
        start = time.perf_counter()
        known, P = labelled[:number], None
        codes = np.full(len(y), most_frequent(y, known))
        if len(np.unique(y[known])) > 1:
            marks = np.full(len(y), -1)
            marks[known] = y[known]
            model = SelfTrainingClassifier(LogisticRegression(C=10.0, max_iter=200)).fit(X, marks)
            P = model.predict_proba(X)
            codes = model.classes_[P.argmax(axis=1)]
            seconds.append(time.perf_counter() - start)
        found.append(codes)
    return labelled, found, seconds, []


RUN = {"suggest": suggest, "random": random, "self-training": self_training}


# ---------------------------------------------------------------- runs


def run(name, method, draw, most, rows=None):
    """Return a record of the store."""
    warnings.simplefilter("ignore")
    X, y = SETS[name]()
    more = {}
    if rows is not None:
        order = np.random.default_rng(draw).permutation(len(y))
        own, other = order[:rows], order[rows:]
        X, y, more["new"] = X[own], y[own], (X[other], y[other])
    labelled, found, seconds, panels = RUN[method](X, y, draw, most, **more)
    right = [np.packbits(codes == y).tobytes() for codes in found]
    key = [name, method, draw, most, *([] if rows is None else [rows])]
    return {
        "key": json.dumps(key),
        "rows": len(y),
        "labelled": [int(row) for row in labelled],
        "numbers": numbers(most),
        "right": [base64.b85encode(bits).decode() for bits in right],
        "seconds": [round(float(one), 3) for one in seconds],
        "panels": panels,
    }


def right_of(record):
    """Return whether predictions are right, of shape (numbers, rows)."""
    bits = [np.frombuffer(base64.b85decode(one), np.uint8) for one in record["right"]]
    return np.unpackbits(np.array(bits), axis=1, count=record["rows"]).astype(bool)


def collect(jobs, path, workers):
    """Return the records of jobs: name, method, draw, number of labels, rows if not all."""
    store = Store(Path(path)) if path else None
    if store is not None:
        store.check()
    stored = store.read() if store is not None else {}
    records = {job: stored[json.dumps(job)] for job in jobs if json.dumps(job) in stored}
    left = [job for job in jobs if job not in records]

    def take(job, record):
        records[job] = record
        if store is not None:
            store.add(record)

    if workers == 1:
        for job in left:
            take(job, run(*job))
    else:
        with ProcessPoolExecutor(workers) as pool:
            futures = {pool.submit(run, *job): job for job in left}
            for future in as_completed(futures):
                take(futures[future], future.result())
    return records


# ---------------------------------------------------------------- figures


def curves(records, y, is_balanced):
    """Return accuracy by method at each number of labels, falls in points and their errors."""
    hidden = np.ones(len(y), dtype=bool)
    for record in records.values():
        hidden[record["labelled"]] = False
    found = {}
    for method, record in records.items():
        right = right_of(record)[:, hidden]
        accuracies = right.mean(axis=1)
        falls = []
        for step in range(1, len(right)):
            best = int(accuracies[:step].argmax())
            fall = max(accuracies[best] - accuracies[step], 0.0)
            error = np.sqrt((right[best] != right[step]).sum()) / hidden.sum()
            falls.append((100 * fall, fall / max(error, 1e-9)))
        if is_balanced:
            of_class = [right[:, y[hidden] == code].mean(axis=1) for code in np.unique(y)]
            accuracies = np.mean(of_class, axis=0)
        found[method] = accuracies, np.array(falls)
    return found


def needed(numbers, accuracies, goal):
    """Return the number of labels at which the goal is first reached; None if it never is."""
    above = np.flatnonzero(accuracies >= goal)
    if not len(above):
        return None
    i = int(above[0])
    if i == 0:
        return float(numbers[0])
    share = (goal - accuracies[i - 1]) / (accuracies[i] - accuracies[i - 1])
    return float(numbers[i - 1] + share * (numbers[i] - numbers[i - 1]))


def print_set(name, methods, draws, most, records):
    """Print the learning curves of a data set and what follows from them."""
    y, is_balanced = SETS[name]()[1], name == "unbalanced"
    per_draw = [
        curves({m: records[name, m, draw, most] for m in methods}, y, is_balanced) for draw in draws
    ]
    at = numbers(most)
    labels = {method: [] for method in methods}
    missed = dict.fromkeys(methods, False)
    for found in per_draw:
        for method in methods if "random" in found else []:
            goal = GOAL * found["random"][0][-1]
            number = needed(at, found[method][0], goal)
            labels[method].append(float(most) if number is None else number)
            missed[method] |= number is None
    for method in methods:
        accuracies = np.mean([found[method][0] for found in per_draw], axis=0)
        falls = [found[method][1] for found in per_draw]
        seconds = np.concatenate([records[name, method, draw, most]["seconds"] for draw in draws])
        shown = [f"{100 * accuracies[at.index(n)]:5.1f}" for n in SHOWN if n in at]
        count = np.mean(labels[method]) if labels[method] else np.nan
        ratio = count / np.mean(labels["random"]) if labels[method] else np.nan
        fall = [one[:, 0].max() for one in falls]
        in_errors = [one[:, 1].max() for one in falls]
        often = np.mean(np.concatenate([one[:, 1] for one in falls]) > 1.0)
        print(
            f"{name + (' (balanced)' if is_balanced else ''):21} {method:14}{' '.join(shown)}  "
            f"{'>' if missed[method] else ' '}{count:5.1f} {ratio:6.2f} {np.mean(fall):5.1f} "
            f"{max(fall):6.1f} {np.mean(in_errors):6.1f} {100 * often:4.0f} % "
            f"{np.mean(seconds):6.2f} {np.quantile(seconds, 0.95):6.2f}",
            flush=True,
        )


def print_panels(name, records):
    """Print how estimates of the panel compare with the truth."""
    for n in SHOWN:
        panels = [p for record in records for p in record["panels"] if p["labels"] == n]
        known = [(p["accuracy"], p["truth"]) for p in panels if p["accuracy"] is not None]
        shares = [share for p in panels for share in p["shares"]]
        if not known:
            continue
        covered = np.mean([shown["low"] <= truth <= shown["high"] for shown, truth in known])
        gaps = np.array([shown["estimate"] - truth for shown, truth in known])
        error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
        width = np.mean([shown["high"] - shown["low"] for shown, _ in known])
        rows = np.mean([shown["rows"] for shown, _ in known])
        truth = np.mean([truth for _, truth in known])
        share = np.mean([low <= true <= high for _, _, low, high, true in shares] or [np.nan])
        share_width = np.mean([high - low for _, _, low, high, _ in shares] or [np.nan])
        print(
            f"{name:12} {n:6} {len(known):5} {rows:6.1f} {100 * truth:9.1f} "
            f"{100 * gaps.mean():+6.1f} ± {100 * error:3.1f} {100 * covered:8.0f} % "
            f"{100 * width:6.1f} {100 * share:9.0f} % {100 * share_width:6.1f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sets", default=",".join(SETS), help=f"data sets ({','.join(SETS)})")
    parser.add_argument("--methods", default=",".join(METHODS), help=f"{','.join(METHODS)} (all)")
    parser.add_argument("--draws", type=int, default=5, help="draws (5)")
    parser.add_argument("--first-draw", type=int, default=1200, help="seed of the first one (1200)")
    parser.add_argument("--labels", type=int, default=SHOWN[-1], help=f"labels ({SHOWN[-1]})")
    parser.add_argument("--coverage", type=int, default=0, help="runs that judge the panel (0)")
    parser.add_argument("--coverage-set", default="digits", help="their data set (digits)")
    parser.add_argument("--coverage-rows", type=int, default=800, help="their rows (800)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--store", help="file of finished runs")
    options = parser.parse_args()
    names, methods = [n for n in options.sets.split(",") if n], options.methods.split(",")
    draws = range(options.first_draw, options.first_draw + options.draws)
    panels = range(options.first_draw, options.first_draw + options.coverage)
    wanted = [(n, m, draw, options.labels) for draw in draws for n in names for m in methods]
    judged = [
        (options.coverage_set, "suggest", draw, COVERAGE_LABELS, options.coverage_rows)
        for draw in panels
    ]
    records = collect([*wanted, *judged], options.store, options.jobs)
    if names:
        shown = " ".join(f"{n:5}" for n in SHOWN if n in numbers(options.labels))
        print("accuracy in % by number of labels, means over draws; falls in points and in SE")
        print(
            f"{'data set':21} {'method':14}{shown}  needed  ratio  fall  worst  in SE  >1 SE  "
            "s mean   95 %"
        )
    for name in names:
        print_set(name, methods, draws, options.labels, records)
    print("\nwhat the panel says, in % and points")
    print(
        f"{'data set':12} {'labels':6} {'runs':>5} {'random':>6} {'accuracy':>9} {'bias':>12} "
        f"{'covered':>10} {'width':>6} {'shares cov.':>11} {'width':>6}"
    )
    for name in names:
        print_panels(
            name, [record for job, record in records.items() if job in wanted and job[0] == name]
        )
    if judged:
        print_panels(f"{options.coverage_set}, new", [records[job] for job in judged])


if __name__ == "__main__":
    main()
