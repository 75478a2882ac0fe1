"""S3VC's cost: one evaluation against SciPy's own products, and time against the number of rows.

    python benchmarks/s3vm_speed.py [--rows 72000] [--columns 21000]

Sparse: generated text-like rows of two topics with 0.23 % stored entries and 200 labels. Prints
the time of one objective and gradient beside that of one X @ w and one X.T @ a by SciPy, and the
annealed fit with its evaluations a stage, beside scikit-learn's supervised LinearSVC. With 20
columns, the time of an evaluation beside that of the direction from 50 pairs.

Dense: MNIST 1 against 7 with 2 000 random basis functions of an rbf kernel, 2 000 … 10 000 rows;
time should grow in proportion to the rows.
"""

import argparse
import time

import numpy as np
from sklearn.svm import LinearSVC

from common import load, measured, topics
from experiments.data import error
from lapwing import S3VC
from lapwing.losses import SmoothHat, SmoothHinge
from lapwing.solvers.inverse_hessian import InverseHessian
from lapwing.solvers.s3vm import MarginProblem, with_targets
from lapwing.spaces.affine import AffineSpace
from lapwing.spaces.kernel_space import LinearSpace


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=72_000)
    parser.add_argument("--columns", type=int, default=21_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, truth = topics(options.rows, options.columns, rng, words=51, own=0.3)
    y = np.full(len(truth), -1)
    labelled = rng.choice(len(truth), 200, replace=False)
    y[labelled] = truth[labelled]
    share = X.nnz / np.prod(X.shape)
    print(f"sparse: {X.shape[0]} x {X.shape[1]}, {X.nnz} stored entries ({share:.2%})")
    one_evaluation(X, y)
    one_iteration(X, y)
    whole_fit(X, y, truth)
    rows_against_time()


def best_of(function, repeats=15):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def problem_of(X, y, columns):
    """Return the problem of so many columns with the same labels, and its loss."""
    labelled, unlabelled = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
    balance = np.zeros(len(y))
    balance[unlabelled] = 1.0 / len(unlabelled)
    space = AffineSpace(LinearSpace(X), balance, np.zeros(columns))
    targets = np.where(y[labelled] == 1, 1.0, -1.0)[:, None]
    problem = MarginProblem(
        space,
        labelled,
        unlabelled,
        np.repeat(targets, columns, axis=1),
        np.full((len(labelled), columns), 1.0 / len(labelled)),
        np.full((len(unlabelled), 1), 1.0 / len(unlabelled)),
        np.full(columns, 1e-3),
        np.full(columns, 1.0),
    )
    loss = problem.row_loss(SmoothHinge(20.0), with_targets(SmoothHat(3.0)), share=1.0)
    return space, loss


def evaluation(space, loss, vectors):
    """Return the gradient, from a product with X and one with its transpose."""
    _, row_gradient = loss(space.values(vectors), np.arange(vectors.shape[1]))
    return space.gradient(row_gradient)


def one_evaluation(X, y):
    space, loss = problem_of(X, y, 1)
    rng = np.random.default_rng(0)
    w, a = rng.standard_normal(X.shape[1]), rng.standard_normal(X.shape[0])
    ours = best_of(lambda: evaluation(space, loss, w[:, None]))
    forward, backward = best_of(lambda: X @ w), best_of(lambda: X.T @ a)
    print(
        f"  one evaluation {ours:.2f} ms; SciPy X @ w {forward:.2f} ms, X.T @ a {backward:.2f} ms: "
        f"{ours / (forward + backward):.2f} times both (bar 2.5)"
    )


def one_iteration(X, y, columns=20, memory=50):
    space, loss = problem_of(X, y, columns)
    shape, rng = (space.n_coordinates, columns), np.random.default_rng(0)
    hessian = InverseHessian(space, memory, np.ones(columns))
    for _ in range(memory):
        step = rng.standard_normal(shape)
        hessian.add(step, step, step)

    def direction():
        hessian.add(step, step, step)
        return hessian.times_gradient(step)

    ours = best_of(lambda: evaluation(space, loss, step), 5)
    print(
        f"  {columns} columns: one evaluation {ours:.1f} ms, the direction from {memory} pairs "
        f"{best_of(direction, 5):.1f} ms"
    )


def whole_fit(X, y, truth):
    hidden = y < 0
    for folds in (0, 5):
        model = S3VC(reg=1e-3, calibration_folds=folds)
        _, seconds, _, memory = measured(lambda model=model: model.fit(X, y))
        history = model.result_.history
        mean = np.mean([entry["evaluations"] for entry in history])
        print(
            f"  S3VC, {folds} calibration folds: {seconds:.1f} s, {memory:.0f} MB beyond X, "
            f"{mean:.1f} evaluations a stage (bar 40) {[e['evaluations'] for e in history]}, "
            f"error on unlabelled rows {error(model.transduction_[hidden], truth[hidden]):.2f} %"
        )
    svm, seconds, _, _ = measured(lambda: LinearSVC().fit(X[~hidden], y[~hidden]))
    print(
        f"  LinearSVC on the labelled rows: {seconds:.1f} s, error "
        f"{error(svm.predict(X[hidden]), truth[hidden]):.2f} %"
    )


def rows_against_time():
    X, y = load("mnist.npz", "X", "y")
    pair = np.flatnonzero(np.isin(y, (1, 7)))
    order = np.random.default_rng(0).permutation(pair)[:10_000]
    X, truth = X[order] / 255.0, y[order].astype(int)
    print("dense: MNIST 1 against 7, rbf kernel, 2000 random basis functions, 100 labels")
    for n in (2_000, 4_000, 6_000, 8_000, 10_000):
        labels = np.where(np.arange(n) < 100, truth[:n], -1)
        model = S3VC("rbf", gamma="median", n_landmarks=2_000, calibration_folds=0)
        _, seconds, _, memory = measured(lambda: model.fit(X[:n], labels))  # noqa: B023
        wrong = error(model.transduction_[100:], truth[100:n])
        print(
            f"  {n:6d} rows {seconds:6.1f} s, {1e3 * seconds / n:.2f} ms a row, "
            f"{model.n_iter_} evaluations, {memory:.0f} MB, error {wrong:.2f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
