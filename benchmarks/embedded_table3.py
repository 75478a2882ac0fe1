"""LapESVC by Tables III and IV of Chen, Tsang & Xu (2012): large sets, few labels.

    python benchmarks/embedded_table3.py [--sets facemit mnist1 mnist2 usps] [--rounds 10]
                                         [--anchors 500] [--parameters C LAMBDA MU] [--part]
                                         [--weights printed|heat]

Ten rounds. In each, ten labels a class (a digit for MNIST) and 1000 validation rows are drawn. C, λ
and μ are chosen from the paper's grids by the mean error on the validation rows over all rounds.
With these LapESVC is fitted to the labelled and all other rows, and its error on the rows that are
neither labelled nor validation rows is printed beside the paper's; ties go to the larger μ, then
the smaller C, then the smaller λ.

What differs from the paper:

* It chooses with the labelled and the validation rows alone. The best μ depends on the number of
  rows of the graph: on FACEMIT that choice is a constant machine. Here the graph holds all rows,
  and the choice is made with LapERLS, the same machine with another loss, on 4000 rows of it, the
  labelled and the validation rows among them: one factorisation for each C serves all λ and μ.
  --part chooses as the paper does.
* The validation rows stay in the large graph as unlabelled rows, so that one graph and one set of
  eigenvectors serve all rounds.
* ε, of which the paper says nothing, is 0.1, the default of LIBSVM.
* Images of FACEMIT are equalised (each pixel is its rank in the image), as the files that the
  authors of the set give for learning are said to be. On raw pixels no choice of parameters that
  was tried came below 7 %; the equalisation was adopted after seeing that.

The kernel is rbf of width n²/Σ‖xᵢ − xⱼ‖², the graph and the number of eigenvectors are those of
Table I and §V-C: 6 neighbours and 10 eigenvectors, for MNIST 20 and 20. The weights of the graph
are exp(−d/2σ²) with d not squared, as the paper prints them; --weights heat squares d.

For extended USPS the same machines also predict the 266 079 shifted training images, which no
graph has seen (Table IV).
"""

import argparse
import time
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
from common import extended_usps, load, mean_distance_gamma
from scipy.stats import rankdata

from lapwing import AnchorGraphClassifier, KNNGraph, LapESVC
from lapwing.kernels import GaussianKernel, gram_operator
from lapwing.solvers import EmbeddedRidge, block_solution
from lapwing.spaces import label_pull, reduced_precision

#: Neighbours, eigenvectors, the paper's mean and deviation, the bar.
SETS = {
    "facemit": (6, 10, 2.22, 0.18, 2.6),
    "mnist1": (20, 20, 5.43, 0.83, 6.0),
    "mnist2": (20, 20, 6.00, 1.44, 6.6),
    "usps": (6, 10, 0.41, 0.61, 0.8),
}
SIZES = (1e-2, 1e-1, 1.0, 10.0, 1e2, 1e4, 1e6)
STRENGTHS = (1e2, 1e4, 1e6)
N_VALIDATION = 1000
N_PART = 4000
MOST_WORKING_SETS = 50


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--anchors", type=int, default=0, help="also AnchorGraphClassifier")
    parser.add_argument("--parameters", type=float, nargs=3, help="as chosen in an earlier run")
    parser.add_argument("--part", action="store_true", help="choose on S_l and S_v alone")
    parser.add_argument("--weights", choices=["printed", "heat"], default="printed")
    options = parser.parse_args()
    for name in options.sets:
        run(name, options)


def run(name, options):
    """Print the row of one set."""
    n_rounds, n_anchors = options.rounds, options.anchors
    neighbors, n_eigenvectors, mean, deviation, bar = SETS[name]
    X, y, groups = data_set(name)
    rounds = [draw(groups, np.random.default_rng(seed)) for seed in range(n_rounds)]
    start = time.perf_counter()
    graph = make_graph(X, neighbors, options.weights)
    seconds_graph = time.perf_counter() - start
    graph.eigenpairs(n_eigenvectors)
    seconds_eigen = time.perf_counter() - start - seconds_graph
    print(f"{name}: {len(X)} rows; graph {seconds_graph:.0f} s, eigenvectors {seconds_eigen:.0f} s")
    gamma = mean_distance_gamma(X)
    start = time.perf_counter()
    if options.parameters is not None:
        chosen = dict(zip(("C", "reg_labeled", "reg_manifold"), options.parameters, strict=True))
    elif options.part:
        chosen = choose_on_part(X, y, rounds, neighbors, n_eigenvectors, options.weights)
    else:
        chosen = choose(X, y, rounds, graph, n_eigenvectors, gamma)
    print("  " + ", ".join(f"{k} {v:g}" for k, v in chosen.items()), end="; ")
    print(f"chosen in {time.perf_counter() - start:.0f} s", flush=True)
    errors, virtual, anchored, models = [], [], [], []
    for number, (labelled, validation) in enumerate(rounds):
        start = time.perf_counter()
        marks = np.full(len(y), -1)
        marks[labelled] = y[labelled]
        model = LapESVC(graph=graph, gamma=gamma, n_eigenvectors=n_eigenvectors, **chosen)
        model.fit(X, marks)
        counted = np.ones(len(y), dtype=bool)
        counted[labelled] = counted[validation] = False
        errors.append(100 * np.mean(model.transduction_[counted] != y[counted]))
        virtual.append(100 * np.mean((model.virtual_targets_ > 0)[counted] != y[counted]))
        models.append(model)
        if n_anchors:
            other = AnchorGraphClassifier(n_anchors=n_anchors).fit(X, marks)
            anchored.append(100 * np.mean(other.transduction_[counted] != y[counted]))
        print(
            f"  round {number}: error {errors[-1]:.2f}, virtual labels alone {virtual[-1]:.2f}, "
            f"{len(model.support_)} support rows, {model.n_iter_} working sets, "
            f"{time.perf_counter() - start:.0f} s, {model.result_.status}",
            flush=True,
        )
    verdict = "met" if np.mean(errors) <= bar else "MISSED"
    print(
        f"{name}: LapESVC {np.mean(errors):.2f} ± {np.std(errors):.2f} over {n_rounds} rounds, "
        f"paper {mean:.2f} ± {deviation:.2f}, bar {bar:.1f} {verdict}; "
        f"virtual labels alone {np.mean(virtual):.2f}",
        flush=True,
    )
    if n_anchors:
        print(f"  AnchorGraphClassifier, {n_anchors} anchors: {np.mean(anchored):.2f}", flush=True)
    if name == "usps":
        out_of_sample(models)


def choose(X, y, rounds, graph, n_eigenvectors, gamma):
    """Return C, λ and μ with the least mean error of LapERLS on the validation rows."""
    grid = list(product(SIZES, SIZES, STRENGTHS))
    errors = np.zeros(len(grid))
    values, vectors = graph.eigenpairs(n_eigenvectors)
    kernel = GaussianKernel(gamma, X.mean(axis=0, dtype=np.float64))
    for labelled, validation in rounds:
        others = np.random.default_rng(0).permutation(len(X))
        others = others[~np.isin(others, np.concatenate([labelled, validation]))]
        rows = np.concatenate([labelled, validation, others])[:N_PART]
        held = slice(len(labelled), len(labelled) + len(validation))
        gram = gram_operator(kernel, kernel.prepare(X[rows]), "float64")
        targets = 2.0 * y[labelled][:, None] - 1.0
        index, ones = np.arange(len(labelled)), np.ones(len(labelled))
        blocks = {}
        for C in SIZES:  # each row of the part stands for several
            ridge = len(rows) / (len(X) * C)
            whole = EmbeddedRidge(
                gram, ridge, vectors[rows], np.eye(len(values)), index, targets, ones, True
            )
            blocks[C] = whole, *block_solution(whole)
        for k, (mu, C, strength) in enumerate(grid):
            pull = label_pull(graph.component_, labelled, strength * ones, targets)
            pull[labelled] = 0.0  # what is left holds parts that no label reaches
            penalty = reduced_precision(values, vectors, 1, pull, mu)
            whole, M, residual = blocks[C]
            machine = replace(whole, penalty=penalty, pull=strength * ones)
            found = machine.step(1, M, residual, 0.0).function.values[held, 0] > 0
            errors[k] += np.mean(found != y[validation]) / len(rounds)
    return best_of(grid, errors)


def choose_on_part(X, y, rounds, neighbors, n_eigenvectors, weights):
    """Return C, λ and μ as the paper chooses, on labelled and validation rows alone.

    No machine is given more than 50 working sets: ill-conditioned ones would need thousands.
    """
    grid = list(product(SIZES, SIZES, STRENGTHS))
    errors = np.zeros(len(grid))
    for labelled, validation in rounds:
        rows = np.concatenate([labelled, validation])
        part, truth = X[rows], y[rows]
        graph = make_graph(part, neighbors, weights)
        gamma = mean_distance_gamma(part)
        marks = np.where(np.arange(len(rows)) < len(labelled), truth, -1)
        model = LapESVC(
            graph=graph,
            gamma=gamma,
            n_eigenvectors=n_eigenvectors,
            warm_start=True,
            max_iter=MOST_WORKING_SETS,
        )
        for k, (mu, C, strength) in enumerate(grid):
            model.set_params(C=C, reg_manifold=mu, reg_labeled=strength)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # constants, cut graphs: they lose by their errors
                model.fit(part, marks)
            errors[k] += np.mean((model.transduction_ != truth)[len(labelled) :]) / len(rounds)
    return best_of(grid, errors)


def best_of(grid, errors):
    best = min(range(len(grid)), key=lambda k: (round(errors[k], 9), -grid[k][0], *grid[k][1:]))
    mu, C, strength = grid[best]
    print(f"  validation error {100 * errors[best]:.2f}", flush=True)
    return {"C": C, "reg_labeled": strength, "reg_manifold": mu}


def make_graph(X, neighbors, weights):
    """Return the graph, with heat weights or those that the paper prints, exp(−d/2σ²)."""
    graph = KNNGraph(neighbors).fit(X)
    if weights == "heat":
        return graph
    W, sigma = graph.affinity_.copy(), graph.bandwidth_
    W.data = np.exp(-np.sqrt(-2.0 * np.log(W.data)) / (2.0 * sigma))
    return KNNGraph.from_affinity(W)


def out_of_sample(models):
    """Print the error on the shifted training images of USPS, made in parts."""
    wrong, seconds, total = np.zeros(len(models)), 0.0, 0
    for X, y in extended_usps(train=True, images_at_a_time=200):
        start = time.perf_counter()
        wrong += [np.sum(model.predict(X) != y) for model in models]
        seconds += time.perf_counter() - start
        total += len(y)
    errors = 100 * wrong / total
    verdict = "met" if errors.mean() <= 0.8 else "MISSED"
    print(
        f"usps, {total} new rows: LapESVC {errors.mean():.2f} ± {errors.std():.2f}, paper 0.31 ± "
        f"0.64, bar 0.8 {verdict}; {1e6 * seconds / total / len(models):.0f} µs a row",
        flush=True,
    )


def draw(groups, rng):
    """Return ten labelled rows a group, and validation rows."""
    order = rng.permutation(len(groups))
    labelled = np.concatenate([order[groups[order] == g][:10] for g in np.unique(groups)])
    rest = order[~np.isin(order, labelled)]
    return labelled, rest[:N_VALIDATION]


def data_set(name):
    """Return rows, classes 0 and 1, and the groups of which ten rows each are labelled."""
    if name == "usps":
        X, y = next(extended_usps(train=False))
        return X, y, y
    if name == "facemit":
        X, y = load("facemit.npz", "X", "y")
        y = (y == 1).astype(int)
        return (rankdata(X, method="max", axis=1) / X.shape[1]).astype(np.float32), y, y
    X, digit, train = load("mnist.npz", "X", "y", "train")
    X, digit = X[train].astype(np.float32) / 255, digit[train].astype(int)
    return X, (digit >= 5).astype(int) if name == "mnist1" else digit % 2, digit


if __name__ == "__main__":
    main()
